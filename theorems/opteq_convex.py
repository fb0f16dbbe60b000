"""Xie et al. (2021), OptEq: Theorems 1 to 4 and Corollary 1, the optimisation problems behind the layers.

Paper: "Optimization Induced Equilibrium Networks", X. Xie, Q. Wang, Z. Ling, X. Li, Y. Wang, G. Liu,
Z. Lin, 2021 (arXiv:2105.13228; an earlier text than v3, by its abstract). Numbers in parentheses are the
paper's equation numbers.

Setting: f_l(z) = alpha W_l^T s(W_l z + U_l x + b_l) + (1 - alpha) z, T = f_L o ... o f_1, z* = T(z*).

Readings of the print (the text at hand is badly damaged; each formula was checked against its proof):
- Theorem 1: f(z) = (1/mu) W^T s(W z + U x + b), psi(z) = (1/mu) 1^T s~(W z + U x + b), phi = psi* - |.|^2/2.
- (7): 0 in dPhi(z~) + (I - P) z~ with (P z~)_i = z_{i-1}; Phi = sum_i alpha M_i^{1-alpha}, where
  M_i^t(z) = inf_u phi_i(u) + |z - u|^2 / (2 t), as the last lines of its proof have it.
- Theorem 4: beta_k = eta k^-p, lambda_k = eta k^-c, gamma = 1/(2 L_z), eta = min(sqrt(2 L_z), 1/2, L_z/2):
  the proof needs gamma eta^2 <= 1, beta_k <= 1/2 and lambda_k <= L_z/2, in this order.
"""

from dataclasses import replace

from sympy import Eq, Max, Rational, sqrt, symbols

from deqcheck.quantities import opteq as q
from deqcheck.statement import Conclusion, Fact, Hypothesis, Source, Step, Theorem, fixed, least

PAPER = "Optimization Induced Equilibrium Networks"
TOLERANCE = Rational(1, 10**9)
EQUALITY = "An equality of reals is certified as agreement to a relative tolerance τ."


def _source(number: str) -> Source:
    return Source(PAPER, "Xie et al.", 2021, number)


# --- notation --------------------------------------------------------------------------------------

smin, Ls, nW, wmax, wmin, mu, alpha, L, Z, tau = symbols(
    "slope_min L_sigma_0 norm_W max_norm_W min_norm_W mu alpha L norm_z tau", real=True
)
gap, stretch, prox, phi, dist = symbols("gradient_gap expansion prox_margin phi_margin distance", real=True)

# --- Theorem 1 -------------------------------------------------------------------------------------

# Of the proof: distances |y - y'|, of the arguments of s, of its values, of f; the product <f(y) - f(y'), y - y'>;
# phi at f(w), at a trial point v, and the subgradient w - f(w) against v - f(w).
dy, da, ds, df, ip, ip_s, phi_v, phi_f, sub, energy_v, energy_f, gap_v = symbols(
    "d_y d_a d_s d_f inner_f inner_s phi_v phi_f subgradient energy_v energy_f d_v", real=True
)

# The slopes of s between the arguments in two entries, and the differences of the arguments there.
t_1, t_2, e_1, e_2 = symbols("t_1 t_2 e_1 e_2", real=True)
SLOPES = (
    Fact("σ chords below", smin <= t_1, "slopes of chords of σ in two entries; more entries are alike", cited=True),
    Fact("σ chords below, 2", smin <= t_2, cited=True),
    Fact("σ chords above", t_1 <= Ls, cited=True),
    Fact("σ chords above, 2", t_2 <= Ls, cited=True),
    Fact("⟨σ, a⟩", Eq(ip_s, t_1 * e_1**2 + t_2 * e_2**2), cited=True),
    Fact("|σ|²", ds**2 <= t_1**2 * e_1**2 + t_2**2 * e_2**2, cited=True),
    Fact("|a|²", da**2 <= e_1**2 + e_2**2, cited=True),
)
COCOERCIVE = (
    Step("σ entry 1", t_1**2 * e_1**2 <= Ls * t_1 * e_1**2, since=("σ chords below", "σ chords above", "Assumption 1")),
    Step(
        "σ entry 2",
        t_2**2 * e_2**2 <= Ls * t_2 * e_2**2,
        since=("σ chords below, 2", "σ chords above, 2", "Assumption 1"),
    ),
    Step("cocoercive", Ls * ip_s >= ds**2, since=("σ entry 1", "σ entry 2", "⟨σ, a⟩", "|σ|²")),
)

OPTEQ_PROX = Theorem(
    key="opteq-prox",
    title="the layer is the proximal operator of a convex φ, and its equilibrium minimises φ",
    source=_source("Theorem 1"),
    family="opteq",
    setting="one layer f(z) = (1/μ) Wᵀσ(Wz + Ux + b)",
    measured={
        smin: q.slope_min,
        Ls: q.lipschitz,
        mu: q.mu,
        nW: q.norm_weights,
        Z: q.norm_equilibrium,
        gap: q.gradient_gap,
        stretch: q.expansion,
        prox: q.prox_margin,
        phi: q.minimum_margin,
        dist: q.minimiser_distance,
    },
    chosen={tau: fixed(TOLERANCE)},
    hypotheses=(
        Hypothesis("Assumption 1", smin >= 0, "the activation is monotone; L̃_σ is its Lipschitz constant"),
        Hypothesis("μ ≥ L̃_σ‖W‖²", mu >= Ls * nW**2),
    ),
    conclusions=(
        Conclusion("f = ∇ψ", gap <= tau, "the layer is the gradient of ψ"),
        Conclusion("nonexpansive", stretch <= 1 + tau, "the layer stretches no distance"),
        Conclusion("f = prox_φ", prox >= 0, "f(z) minimises φ + |·−z|²/2, which is 1-strongly convex"),
        Conclusion("φ(v) ≥ φ(z*)", phi >= 0, "no trial point has a smaller φ than the equilibrium"),
        Conclusion("z* = argmin φ", dist <= tau * (1 + Z), "a convex solver for φ finds the equilibrium"),
    ),
    facts=(
        Fact("μ > 0", mu > 0),
        Fact("‖W‖ ≥ 0", nW >= 0),
        Fact("L̃_σ ≥ 0", Ls >= 0),
        Fact("|y − y′| ≥ 0", dy >= 0),
        Fact("|a − a′| ≥ 0", da >= 0),
        Fact("|σ − σ′| ≥ 0", ds >= 0),
        Fact("|f − f′| ≥ 0", df >= 0),
        Fact("Wy", da <= nW * dy, "the arguments of σ", cited=True),
        Fact("σ Lipschitz", ds <= Ls * da, "entry by entry", cited=True),
        Fact("Wᵀσ", mu * df <= nW * ds, cited=True),
        Fact("adjoint", Eq(mu * ip, ip_s), "μ⟨f − f′, y − y′⟩ = ⟨σ(a) − σ(a′), a − a′⟩", cited=True),
        *SLOPES,
        Fact("∂φ", phi_v >= phi_f + sub, "w − f(w) is a subgradient of φ = ψ* − |·|²/2 at f(w)", cited=True),
        Fact("w = z*", Eq(sub, 0), "the equilibrium is a fixed point, w − f(w) = 0", cited=True),
        Fact(
            "energy",
            Eq(energy_v - energy_f, phi_v - phi_f - sub + gap_v**2 / 2),
            "φ(v) + |v − w|²/2 against v = f(w): completing the square",
            cited=True,
        ),
    ),
    proof=(
        Step("E.2 σ nonexpansive", ds <= Ls * nW * dy, since=("Wy", "σ Lipschitz")),
        Step("E.2 f Lipschitz", mu * df <= Ls * nW**2 * dy, since=("E.2 σ nonexpansive", "Wᵀσ")),
        Step("E.2 nonexpansive", df <= dy, since=("E.2 f Lipschitz", "μ ≥ L̃_σ‖W‖²")),
        *COCOERCIVE,
        Step("slope 1", smin * e_1**2 <= t_1 * e_1**2, since=("σ chords below",)),
        Step("slope 2", smin * e_2**2 <= t_2 * e_2**2, since=("σ chords below, 2",)),
        Step("slope", ip_s >= smin * da**2, since=("slope 1", "slope 2", "⟨σ, a⟩", "|a|²", "Assumption 1")),
        Step("E.2 ψ convex", ip >= 0, since=("adjoint", "slope", "Assumption 1")),
        Step("E.2 Wᵀσ squared", mu**2 * df**2 <= nW**2 * ds**2, since=("Wᵀσ",)),
        Step("E.2 cocoercive σ", nW**2 * ds**2 <= nW**2 * Ls * ip_s, since=("cocoercive",)),
        Step("E.2 both", mu**2 * df**2 <= nW**2 * Ls * ip_s, since=("E.2 Wᵀσ squared", "E.2 cocoercive σ")),
        Step("E.2 ⟨σ, a⟩ ≥ 0", ip_s >= 0, since=("slope", "Assumption 1")),
        Step("E.2 step", nW**2 * Ls * ip_s <= mu * ip_s, since=("E.2 ⟨σ, a⟩ ≥ 0", "μ ≥ L̃_σ‖W‖²")),
        Step("E.2 cocoercive", mu**2 * df**2 <= mu * ip_s, since=("E.2 both", "E.2 step")),
        Step(
            "Lemma 5 φ convex",
            ip - df**2 >= 0,
            since=("E.2 cocoercive", "adjoint"),
            text="⟨(y − f) − (y′ − f′), f − f′⟩ ≥ 0: y − f(y) is monotone in f(y)",
        ),
        Step("Lemma 5 prox", energy_v >= energy_f + gap_v**2 / 2, since=("energy", "∂φ")),
        Step("Theorem 1 argmin", phi_v >= phi_f, since=("∂φ", "w = z*")),
    ),
    reading=(
        EQUALITY,
        "φ is evaluated where it can be written down: φ(f(w)) = ⟨w, f(w)⟩ − ψ(w) − |f(w)|²/2, at random w.",
        "The minimiser of φ comes from an accelerated proximal gradient method on "
        "φ(Wᵀp/μ) = (1/μ)(1ᵀσ̃*(p) − ⟨Ux + b, p⟩) − |Wᵀp|²/(2μ²); it never applies the layer.",
        "At μ = L̃_σ‖W‖² exactly, φ need not have a minimiser and the layer need not have an equilibrium; the "
        "conclusions about z* are then left open.",
    ),
    settings=("mu", "trials"),
    defaults={"layers": "1", "alpha": "1"},
    quick={"width": "16", "dim": "10"},
)

# --- Theorem 2 and Corollary 1 ---------------------------------------------------------------------

res, pair = symbols("inclusion pair_distance", real=True)
ASSUMPTION_2 = (
    Hypothesis("Assumption 1", smin >= 0, "the activation is monotone"),
    Hypothesis("Assumption 2 σ", Ls <= 1, "the activation is 1-Lipschitz"),
    Hypothesis("Assumption 2 W", wmax <= 1),
    Hypothesis("α > 0", alpha > 0),
    Hypothesis("α ≤ 1", alpha <= 1),
)

# Of the proof: |F| between two points in two blocks, the layers there; Lemma 6 in one dimension with A(y) = a y,
# psi = c y^2/2 and f = psi' o A; phi_i(u), its conjugate partner, and the envelope; blocks of z.
f_1, f_2, h_1, h_2, d_1, d_2, gap_1 = symbols("f_1 f_2 h_1 h_2 d_1 d_2 abs_gap", real=True)
slope_A, slope_psi, at, f_of_A, f_of_inverse = symbols("a_A c_psi y_A f_A_y f_A_inv_y", real=True)
u_i, z_i, phi_u, conj, before_envelope = symbols("u_i z_i phi_u psi_conj Phi_u", real=True)
z_a, z_b, z_c, form_2, form_3 = symbols("z_a z_b z_c form_2 form_3", real=True)

OPTEQ_INCLUSION = Theorem(
    key="opteq-inclusion",
    title="the equilibrium of deep OptEq solves a monotone inclusion, and for two layers a convex problem",
    source=_source("Theorem 2 and Corollary 1"),
    family="opteq",
    setting="L layers; Corollary 1 on the first two of them",
    measured={
        smin: q.slope_min,
        Ls: q.lipschitz,
        wmax: q.largest_norm,
        alpha: q.alpha,
        Z: q.norm_equilibrium,
        res: q.inclusion_residual,
        pair: q.corollary_distance,
    },
    chosen={tau: fixed(TOLERANCE)},
    hypotheses=ASSUMPTION_2,
    conclusions=(
        Conclusion("(7)", res <= tau * (1 + Z), "0 ∈ ∂Φ(z̃*) + (I − P)z̃*, to the tolerance τ"),
        Conclusion("Corollary 1", pair <= tau * (1 + Z), "a convex solver finds the equilibrium of two layers"),
    ),
    facts=(
        Fact("d₁ ≥ 0", d_1 >= 0),
        Fact("d₂ ≥ 0", d_2 >= 0),
        Fact("h₁ ≥ 0", h_1 >= 0),
        Fact("h₂ ≥ 0", h_2 >= 0),
        Fact("f₁ ≥ 0", f_1 >= 0),
        Fact("f₂ ≥ 0", f_2 >= 0),
        Fact("max ‖W‖ ≥ 0", wmax >= 0),
        Fact("L̃_σ ≥ 0", Ls >= 0),
        Fact("∇ψ₁", h_1 <= Ls * wmax**2 * d_1, "two values of W₁ᵀσ(W₁ · + …)", cited=True),
        Fact("∇ψ₂", h_2 <= Ls * wmax**2 * d_2, "two values of W₂ᵀσ(W₂ · + …)", cited=True),
        Fact("triangle 1", f_1 <= alpha * h_1 + gap_1 * d_1, "|1 − α| times the distance", cited=True),
        Fact("triangle 2", f_2 <= alpha * h_2 + gap_1 * d_2, cited=True),
        Fact("|1 − α|", Eq(gap_1, Max(1 - alpha, alpha - 1)), cited=True),
        *SLOPES,
        Fact("|a − a′| ≥ 0", da >= 0),
        Fact("|σ − σ′| ≥ 0", ds >= 0),
        Fact("adjoint", Eq(ip, ip_s), "⟨∇ψ_i − ∇ψ_i′, z − z′⟩ = ⟨σ(a) − σ(a′), a − a′⟩", cited=True),
        Fact("∇ψ_i", df**2 <= wmax**2 * ds**2, "|Wᵀ(σ − σ′)|²", cited=True),
        Fact("a ≠ 0", slope_A > 0, "Lemma 6 in one dimension: A(y) = ay with 0 < a ≤ 1", cited=True),
        Fact("f(A(y))", Eq(f_of_A, slope_psi * slope_A * (slope_A * at)), "f = ∇ψ ∘ A, ∇ψ(y) = cy", cited=True),
        Fact("f(A⁻¹(y))", Eq(f_of_inverse, slope_psi * slope_A * (at / slope_A)), cited=True),
        Fact("A 1-Lipschitz", slope_A <= 1, cited=True),
        Fact("α ≠ 1", alpha < 1, "at α = 1 the envelope is φ itself and nothing is left to show", cited=True),
        Fact("ψ*", Eq(conj, phi_u + u_i**2 / 2), "ψ* = φ + |·|²/2", cited=True),
        Fact(
            "conjugate of a sum",
            Eq(before_envelope, alpha * conj + (alpha * u_i - z_i) ** 2 / (2 * (1 - alpha)) - z_i**2 / 2),
            "what the infimum over u is taken of, with (αψ)*(αu) = αψ*(u)",
            cited=True,
        ),
        Fact("I − P, L = 2", Eq(form_2, z_a**2 - z_a * z_b + z_b**2 - z_b * z_a), cited=True),
        Fact(
            "I − P, L = 3",
            Eq(form_3, z_a**2 + z_b**2 + z_c**2 - z_a * z_b - z_b * z_c - z_c * z_a),
            cited=True,
        ),
    ),
    proof=(
        Step("E.4 ψ₁", h_1 <= d_1, since=("∇ψ₁", "Assumption 2 σ", "Assumption 2 W")),
        Step("E.4 ψ₂", h_2 <= d_2, since=("∇ψ₂", "Assumption 2 σ", "Assumption 2 W")),
        Step("E.4 1 − α", gap_1 <= 1 - alpha, since=("|1 − α|", "α ≤ 1")),
        Step("E.4 block 1", f_1 <= d_1, since=("triangle 1", "E.4 ψ₁", "α > 0", "E.4 1 − α")),
        Step("E.4 block 2", f_2 <= d_2, since=("triangle 2", "E.4 ψ₂", "α > 0", "E.4 1 − α")),
        Step("E.4 F nonexpansive", f_1**2 + f_2**2 <= d_1**2 + d_2**2, since=("E.4 block 1", "E.4 block 2")),
        Step(
            "Lemma 6 (ii)(a)",
            Eq(f_of_A, slope_psi * at),
            since=("f(A(y))", "f(A⁻¹(y))", "a ≠ 0", "A 1-Lipschitz"),
            fix=Eq(f_of_inverse, slope_psi * at),
            text="the condition must read f(A⁻¹(y)) = ∇ψ(y), as it is applied with A = P",
        ),
        Step(
            "E.4 envelope",
            Eq(before_envelope, alpha * phi_u + alpha / (2 * (1 - alpha)) * (u_i - z_i) ** 2),
            since=("conjugate of a sum", "ψ*", "α ≠ 1"),
        ),
        *COCOERCIVE,
        Step(
            "E.4 ⟨σ, a⟩ ≥ 0",
            ip_s >= 0,
            since=("σ chords below", "σ chords below, 2", "⟨σ, a⟩", "Assumption 1"),
        ),
        Step("E.4 |σ|²", ds**2 <= ip_s, since=("cocoercive", "Assumption 2 σ", "E.4 ⟨σ, a⟩ ≥ 0")),
        Step("E.4 |∇ψ_i|²", wmax**2 * ds**2 <= ds**2, since=("Assumption 2 W",)),
        Step(
            "E.4 φ_i convex",
            ip >= df**2,
            since=("∇ψ_i", "E.4 |∇ψ_i|²", "E.4 |σ|²", "adjoint"),
            text="∇ψ_i is firmly nonexpansive, so it is the proximal operator of a convex φ_i",
        ),
        Step("E.5 gradient", Eq(form_2, (z_a - z_b) ** 2), since=("I − P, L = 2",)),
        Step("E.4 I − P monotone", form_3 >= 0, since=("I − P, L = 3",), text="for three layers"),
    ),
    reading=(
        EQUALITY,
        "The gradient of αM at z_i is α(w − prox(w)), where w solves α prox(w) + (1 − α)w = z_i; w is found "
        "from z_i alone. At α = 1 the envelope is φ_i itself, and the subgradient z_{i−1} − z_i is taken.",
        "Corollary 1 speaks of two layers: it is checked on the first two, or on the one layer taken twice.",
    ),
    defaults={"layers": "2"},
    quick={"width": "16", "dim": "10"},
)

# --- Theorem 3 -------------------------------------------------------------------------------------

mean, y, wide = symbols("mean_norm_square norm_y wide_residual", real=True)
d1, d8, d64, H1, H8, H64, m0 = symbols("distance_1 distance_8 distance_64 drift_1 drift_8 drift_64 m_0", real=True)
SPREAD = 1 + (L - 1) / (L * m0)

# Of the proof: w_l = |W_l|; (1 - alpha)^L written out for two and three layers; the Lipschitz bound of T_alpha;
# the sum of prox_l - id at z_0, its distance from the sum at y, and how far the blocks are apart.
w_1, w_2, lip_T, total, d_0, spread, d_block = symbols("w_1 w_2 Lip_T_alpha total d_0 spread d_block", real=True)
# (15) on one entry: a point, prox_1 of it; one |z - prox(z) - (z' - prox(z'))|, |z - z'|; the bound on the drift:
# |z_0|, |z_{l-1}|, the sum c of the |prox_l(0)|, and H.
z_in, p_1, dres, dzz, z_00, z_ll, c_0, H_a, mix, lip_d = symbols(
    "z_in prox_1 d_residual d_zz norm_z_0 norm_z_l c_0 H_alpha drift_sum Lip_direct", real=True
)

WIDE_FACTS = (
    Fact("L ≥ 1", L >= 1),
    Fact("L̃_σ ≥ 0", Ls >= 0),
    Fact("min ‖W‖ ≥ 0", wmin >= 0),
    Fact("mean ‖W‖² ≥ 0", mean >= 0),
    Fact("|z₀ − y| ≥ 0", d_0 >= 0),
    Fact("drift ≥ 0", H1 >= 0),
    Fact("m₀ definition", Eq(m0, 1 - Ls * mean), cited=True),
    Fact("mean", mean * L <= (L - 1) * wmax**2 + wmin**2, "all but one are at most the largest", cited=True),
    Fact("max", wmax >= wmin, cited=True),
    Fact("strongly monotone", L * m0 * d_0**2 <= total * d_0, "of Σ (z − prox_l(z)), with Cauchy–Schwarz", cited=True),
    Fact("residuals", total <= (L - 1) * dres, "Σ_l over the blocks l ≥ 2, at z₀ and at z_(l−1)", cited=True),
    Fact("z − prox(z)", dres**2 <= dzz**2 - 2 * ip + df**2, "the square, written out", cited=True),
    Fact("spread", dzz <= spread, cited=True),
    Fact("|z − prox(z)| ≥ 0", dres >= 0),
    Fact("|z − z′| ≥ 0", dzz >= 0),
    Fact("spread ≥ 0", spread >= 0),
    *SLOPES,
    Fact("adjoint", Eq(ip, ip_s), "⟨prox(z) − prox(z′), z − z′⟩ = ⟨σ(a) − σ(a′), a − a′⟩", cited=True),
    Fact("Wᵀσ", df**2 <= wmax**2 * ds**2, cited=True),
    Fact("max ‖W‖ ≥ 0", wmax >= 0),
    # The drift H stays bounded as α → 0.
    Fact("|z₀| ≥ 0", z_00 >= 0),
    Fact("c₀ ≥ 0", c_0 >= 0),
    Fact("|z_l| ≥ 0", z_ll >= 0),
    Fact(
        "T_α(z₀) = z₀",
        z_00 <= (1 - alpha + alpha * Ls * wmin**2) * z_00 + alpha * c_0,
        "the layer with ‖W_l‖ < 1 contracts, the others expand nothing; |T_α(0)| ≤ α Σ|prox_l(0)| = αc₀",
        cited=True,
    ),
    Fact("z_l", z_ll <= z_00 + alpha * c_0, "every layer is nonexpansive and moves 0 by α|prox_l(0)|", cited=True),
    Fact("H", H_a <= 2 * L * z_ll + c_0, "Σ|prox_l(z_(l−1)) − z_(l−1)|", cited=True),
    Fact("Lip", lip_d <= Ls * mean + mix, "of z + (1/L) Σ (prox_l(z_(l−1)) − z_(l−1))", cited=True),
    Fact("Σ 2α(l − 1)/L", Eq(mix, alpha * (L - 1)), "z_(l−1) − z is 2α(l − 1)-Lipschitz", cited=True),
    Fact("blocks", spread <= alpha * H1, "the blocks lie this near to z₀", cited=True),
    Fact("block", d_block <= d_0 + spread, cited=True),
)
WIDE_STEPS = (
    Step(
        "E.6 mean < 1",
        mean < 1,
        since=("mean", "max", "Assumption 2 W", "one ‖W_l‖ < 1"),
    ),
    Step("m₀ > 0", m0 > 0, since=("m₀ definition", "E.6 mean < 1", "Assumption 2 σ")),
    *COCOERCIVE,
    Step(
        "⟨σ, a⟩ ≥ 0",
        ip_s >= 0,
        since=("σ chords below", "σ chords below, 2", "⟨σ, a⟩", "Assumption 1"),
    ),
    Step("|σ|² ≤", ds**2 <= ip_s, since=("cocoercive", "Assumption 2 σ", "⟨σ, a⟩ ≥ 0")),
    Step("|Wᵀσ|²", wmax**2 * ds**2 <= ds**2, since=("Assumption 2 W",)),
    Step("firmly nonexpansive", ip >= df**2, since=("Wᵀσ", "|Wᵀσ|²", "|σ|² ≤", "adjoint")),
    Step("residual squared", dres**2 <= dzz**2, since=("z − prox(z)", "firmly nonexpansive")),
    Step("residual", dres <= dzz, since=("residual squared",)),
    Step("α residual", dres <= alpha * H1, since=("residual", "spread", "blocks")),
    Step("α total", total <= (L - 1) * alpha * H1, since=("residuals", "α residual")),
    Step("α z₀", L * m0 * d_0 <= (L - 1) * alpha * H1, since=("strongly monotone", "α total", "m₀ > 0", "α > 0")),
    Step(
        "α bound",
        d_block <= alpha * H1 * (1 + (L - 1) / (L * m0)),
        since=("block", "blocks", "α z₀", "m₀ > 0"),
    ),
    Step("α w²", Ls * wmin**2 < 1, since=("Assumption 2 σ", "one ‖W_l‖ < 1")),
    Step("α |z₀| times α", alpha * (1 - Ls * wmin**2) * z_00 <= alpha * c_0, since=("T_α(z₀) = z₀",)),
    Step("α |z₀|", (1 - Ls * wmin**2) * z_00 <= c_0, since=("α |z₀| times α", "α > 0")),
    Step("α |z_l|", z_ll <= z_00 + c_0, since=("z_l", "α ≤ 1")),
    Step("α H", H_a <= 2 * L * (z_00 + c_0) + c_0, since=("H", "α |z_l|"), text="no α on the right: H stays bounded"),
    Step(
        "E.6 Lipschitz",
        lip_d <= 1 - m0 + alpha * (L - 1),
        since=("Lip", "Σ 2α(l − 1)/L", "m₀ definition"),
        text="what E.6 needs of T_α, without the expansion (15): a contraction for α(L − 1) < m₀",
    ),
)

OPTEQ_WIDE = Theorem(
    key="opteq-wide",
    title="as α → 0 deep OptEq becomes a wide one-layer OptEq",
    source=_source("Theorem 3"),
    family="opteq",
    setting="L layers at α, α/8 and α/64",
    measured={
        smin: q.slope_min,
        Ls: q.lipschitz,
        wmax: q.largest_norm,
        wmin: q.smallest_norm,
        mean: q.mean_square,
        alpha: q.alpha,
        L: q.layers,
        y: q.norm_wide,
        wide: q.wide_residual,
        d1: q.deep_distance[1],
        d8: q.deep_distance[8],
        d64: q.deep_distance[64],
        H1: q.deep_drift[1],
        H8: q.deep_drift[8],
        H64: q.deep_drift[64],
    },
    chosen={tau: fixed(TOLERANCE)},
    definitions={m0: 1 - Ls * mean},
    hypotheses=(*ASSUMPTION_2, Hypothesis("one ‖W_l‖ < 1", wmin < 1)),
    conclusions=(
        Conclusion("wide layer", wide <= tau * (1 + y), "the convex problem and the wide layer share y"),
        Conclusion("α", d1 <= alpha * H1 * SPREAD + tau * (1 + y), "every block is this near to y"),
        Conclusion("α/8", d8 <= alpha / 8 * H8 * SPREAD + tau * (1 + y), "every block is this near to y"),
        Conclusion("α/64", d64 <= alpha / 64 * H64 * SPREAD + tau * (1 + y), "every block is this near to y"),
        Conclusion("α → 0", None, "all blocks tend to y"),
    ),
    facts=(
        *WIDE_FACTS,
        Fact("w₁ ≥ 0", w_1 >= 0),
        Fact("w₂ ≥ 0", w_2 >= 0),
        Fact("w₁ ≤ 1", w_1 <= 1, "two layers, the first may be an isometry", cited=True),
        Fact("w₂ < 1", w_2 < 1, cited=True),
        Fact(
            "Lip(T_α)",
            lip_T <= alpha / 2 + (1 - alpha) / 2 * (w_1**2 + w_2**2) + alpha / 2 * w_1**2 * w_2**2,
            "the bound after (15) for two layers",
            cited=True,
        ),
    ),
    proof=(
        Step(
            "(15) L = 2",
            Eq(((1 - alpha) ** 2 - 1) / (2 * alpha) + 1, alpha / 2),
            since=("α > 0",),
            text="Σ_(p=2)^L (−1)^p C(L, p) α^(p−1) / L",
        ),
        Step(
            "(15) L = 3",
            Eq(((1 - alpha) ** 3 - 1) / (3 * alpha) + 1, (3 * alpha - alpha**2) / 3),
            since=("α > 0",),
        ),
        Step(
            "(15) expansion, L = 2",
            Eq(Max(alpha * p_1 + (1 - alpha) * z_in, 0), alpha * Max(p_1, 0) + (1 - alpha) * Max(z_in, 0)),
            since=("α > 0", "α ≤ 1"),
            text="prox₂(α prox₁(z) + (1 − α)z) is expanded as if prox₂ were linear; here prox₂ is the positive part",
        ),
        Step(
            "E.6 contraction, L = 2",
            lip_T < 1,
            since=("Lip(T_α)", "w₁ ≤ 1", "w₂ < 1", "α > 0", "α ≤ 1"),
            text="for every α, not only near 0",
        ),
        *WIDE_STEPS,
    ),
    reading=(
        EQUALITY,
        "A limit is not seen at finitely many α. The bound α H (1 + (L−1)/(L m₀)), m₀ = 1 − L̃_σ mean ‖W_l‖², "
        "makes the proof quantitative: Σ_l (prox_l(z_{l−1}) − z_{l−1}) = 0 at the equilibrium, each term is "
        "1-Lipschitz, and the sum is L m₀-strongly monotone. H stays bounded, so the bound is O(α).",
        "y comes from an accelerated proximal gradient method on the convex problem of the theorem.",
        "The sum over l of (−1)^p and binomials in (15) starts at p = 2 and carries α^(p−1)/L.",
        "(15) holds for linear proximal operators only; the theorem is true all the same, see opteq-wide:repaired.",
    ),
    defaults={"alpha": "0.01"},
    quick={"width": "16", "dim": "10"},
)

OPTEQ_WIDE_REPAIRED = replace(
    OPTEQ_WIDE,
    key="opteq-wide:repaired",
    source=_source("Theorem 3 (proof repaired)"),
    facts=WIDE_FACTS,
    proof=WIDE_STEPS,
    flaw="",
    reading=(
        "The statement is that of opteq-wide; only the proof differs. (15) expands a composition of proximal operators "
        "as if they were linear; here the limit rests on Σ_l (prox_l(z_(l−1)) − z_(l−1)) = 0 at the equilibrium, which "
        "needs no expansion, and on H ≤ 2L(|z₀| + c₀) + c₀ with (1 − L̃_σ min ‖W_l‖²)|z₀| ≤ c₀ = Σ|prox_l(0)|, for "
        "every α.",
        *OPTEQ_WIDE.reading[:3],
    ),
)

# --- Theorem 4 -------------------------------------------------------------------------------------

LipT, Lz, p, c, mR, sup, B1 = symbols("Lip_T L_z p c m_R sup_fix B_1", real=True)
gamma, bK, lK, zt, before, after, Rbar, Rtil, eK, GK, dbar, dK16, dK4, dK = symbols(
    "gamma beta_K lambda_K norm_zt before_K after_K R_bar R_tilde e_K G_K d_bar d_K16 d_K4 d_K", real=True
)
REACH = (lK * zt + sqrt(lK**2 * zt**2 + 2 * mR * GK * eK)) / mR

# Of the proof. Lemma 9: |x - y|, gamma |g| for the gradient difference g of l + lambda/2 |.|^2, gamma <g, x - y>,
# |S(x) - S(y)|.
lam, dxy, nG, gd, dS, rate_s, eta = symbols("lambda d_xy gamma_norm_g gamma_inner_g d_S rate_S eta", real=True)
# F.2: a_k = |z^k - zbar^k|, the fixed points of successive steps, beta and lambda of both, the rest terms.
a_k, a_next, move, beta, beta_n, lam_n, rest, B3, B1b, rest_lam, dbl, b_k, c_k, a_N, Pi, Pi_n, eps = symbols(
    "a_k a_next move_k beta_k beta_next lambda_next rest_k B_3 B_1b rest_lambda dbl b_k c_k a_N Pi_k Pi_next epsilon",
    real=True,
)
# The variational inequality at zbar, values of R_z and of R_lambda, the distance within Fix(T).
inner_R, inner_T, inner_z, R_bar, R_til, zb, d_fix, root, cross = symbols(
    "inner_R inner_T inner_z Rz_bar Rz_tilde norm_zbar d_fix root_REACH inner_zz", real=True
)

OPTEQ_SAM = Theorem(
    key="opteq-sam",
    title="the modified SAM iteration finds the minimiser of R_z on Fix(T)",
    source=_source("Theorem 4"),
    family="opteq",
    setting="R_z(z) = ½|Vz − t|² with V of m/2 rows, z⁰ = 0, K steps of (10)",
    measured={
        LipT: q.lipschitz_composed,
        Lz: q.lipschitz_regulariser,
        p: q.exponent_beta,
        c: q.exponent_lambda,
        mR: q.convexity_on_fix,
        sup: q.fixed_points_bound,
        gamma: q.gamma,
        bK: q.beta_K,
        lK: q.lambda_K,
        zt: q.norm_minimiser,
        before: q.before_step,
        after: q.after_step,
        Rbar: q.value_averaged,
        Rtil: q.value_minimiser,
        eK: q.distance_from_fix,
        GK: q.slope_in_fix,
        dbar: q.distance_averaged,
        dK16: q.distance_K16,
        dK4: q.distance_K4,
        dK: q.distance_K,
    },
    chosen={B1: least(sup), tau: fixed(TOLERANCE)},
    hypotheses=(
        Hypothesis("T nonexpansive", LipT <= 1, "used throughout the proof"),
        Hypothesis("L_z > 0", Lz > 0),
        Hypothesis("bounded", sup <= B1, "the fixed points of all averaged steps are bounded by B₁*"),
        Hypothesis("unique", mR > 0, "R_z has one minimiser on Fix(T): it is strongly convex along Fix(T)"),
        Hypothesis("p > 0", p > 0),
        Hypothesis("c > 0", c > 0),
        Hypothesis("p + 2c < 1", p + 2 * c < 1),
    ),
    conclusions=(
        Conclusion(
            "step", after <= (1 - gamma * bK * lK / 2) * before + tau, "step K contracts towards its fixed point"
        ),
        Conclusion("value", Rbar <= Rtil + tau * Max(1, Rtil), "the fixed point of step K has no larger R_λ than z̃"),
        Conclusion("z̄", dbar <= eK + REACH + tau, "the fixed point of step K is this near to z̃"),
        Conclusion("z", dK <= after + eK + REACH + tau, "iterate K is this near to z̃"),
        Conclusion("z → z̃", None, "the iterates converge to z̃"),
    ),
    facts=(
        Fact("γ > 0", gamma > 0),
        Fact("|x − y| ≥ 0", dxy >= 0),
        Fact("γ|g| ≥ 0", nG >= 0),
        Fact("|S(x) − S(y)| ≥ 0", dS >= 0),
        Fact("a_k ≥ 0", a_k >= 0),
        Fact("move ≥ 0", move >= 0),
        Fact("|z̄^K| ≥ 0", zb >= 0),
        Fact("d ≥ 0", d_fix >= 0),
        Fact("e_K ≥ 0", eK >= 0),
        Fact("|z̃| ≥ 0", zt >= 0),
        Fact("G_K ≥ 0", GK >= 0),
        Fact("γ", Eq(2 * gamma * Lz, 1), "γ = 1/(2L_z)", cited=True),
        Fact("λ > 0", lam > 0, cited=True),
        Fact("λ ≤ L_z/2", lam <= Lz / 2, cited=True),
        Fact(
            "Sabach–Shtern",
            dS**2 <= (1 - rate_s) * dxy**2,
            "for a λ-strongly convex, (L_z + λ)-smooth function and γ ≤ 2/(L_z + 2λ)",
            cited=True,
        ),
        Fact("contraction", Eq(rate_s, 2 * gamma * lam * (Lz + lam) / (Lz + 2 * lam)), cited=True),
        Fact("square", Eq(dS**2, dxy**2 - 2 * gd + nG**2), "S(x) = x − γg(x)", cited=True),
        Fact("Cauchy–Schwarz", gd <= nG * dxy, cited=True),
        Fact("smooth", nG <= gamma * (Lz + lam) * dxy, cited=True),
        Fact("η ≤ √(2L_z)", eta**2 <= 2 * Lz, cited=True),
        Fact("β > 0", beta > 0, cited=True),
        Fact("β ≤ 1/2", beta <= Rational(1, 2), cited=True),
        Fact("B₃ ≥ 0", B3 >= 0, cited=True),
        Fact("fixed points", move <= beta * (1 - gamma * lam / 2) * move + (1 - beta) * LipT * move + rest, cited=True),
        Fact("rest of λ", rest_lam <= gamma * dbl * zb, "γ|β_kλ_k − β_(k+1)λ_(k+1)| |z̄^(k+1)|", cited=True),
        Fact("dbl", dbl >= 0, "|β_kλ_k − β_(k+1)λ_(k+1)|", cited=True),
        Fact("z̄ is a fixed point", zb <= sup, cited=True),
        Fact(
            "step K",
            a_next <= beta * (1 - gamma * lam / 2) * (a_k + move) + (1 - beta) * LipT * (a_k + move),
            "both maps at z^k and z̄^(k+1), with |z^k − z̄^(k+1)| ≤ a_k + move",
            cited=True,
        ),
        Fact("move", move <= gamma * lam * beta / 2 * c_k, "B₅ k^(p+2c−1) with the factors γβλ/2", cited=True),
        Fact("b_k", Eq(b_k, gamma * beta * lam / 2), cited=True),
        Fact("c_k ≤ ε", c_k <= eps, "from some N on", cited=True),
        Fact("induction", a_k <= Pi * a_N + eps, cited=True),
        Fact("Π", Eq(Pi_n, (1 - b_k) * Pi), cited=True),
        Fact(
            "fixed point",
            Eq(beta * gamma * (inner_R + lam * inner_z), (1 - beta) * inner_T),
            "tested with z − z̄",
            cited=True,
        ),
        Fact("z in Fix(T)", inner_T >= cross**2 - LipT * cross * cross, "⟨T(z̄) − z̄, z − z̄⟩ with z = T(z)", cited=True),
        Fact("R_z convex", R_til >= R_bar + inner_R, cited=True),
        Fact("|z̃|²", Eq(zt**2 - zb**2, 2 * inner_z + cross**2), "|z̃ − z̄|² is what is left", cited=True),
        Fact("R_λ(z̄)", Eq(Rbar, R_bar + lam / 2 * zb**2), cited=True),
        Fact("R_λ(z̃)", Eq(Rtil, R_til + lam / 2 * zt**2), cited=True),
        Fact("λ_K ≥ 0", lK >= 0, cited=True),
        Fact(
            "along Fix(T)",
            mR / 2 * d_fix**2 <= lK * zt * d_fix + GK * eK,
            "d between z̃ and the projection of z̄^K on Fix(T)",
            cited=True,
        ),
        Fact("root", Eq(root**2, lK**2 * zt**2 + 2 * mR * GK * eK), cited=True),
        Fact("root ≥ 0", root >= 0, cited=True),
        Fact("projection", dbar <= eK + d_fix, cited=True),
        Fact("iterate", dK <= after + dbar, cited=True),
    ),
    proof=(
        Step("Lemma 9 step", gamma * (Lz + 2 * lam) <= 2, since=("γ", "λ ≤ L_z/2", "L_z > 0")),
        Step("Lemma 9 rate", rate_s >= gamma * lam, since=("contraction", "λ > 0", "L_z > 0")),
        Step("Lemma 9 root", dS**2 <= (1 - gamma * lam) * dxy**2, since=("Sabach–Shtern", "Lemma 9 rate")),
        Step("Lemma 9 γλ ≤ 1/4", gamma * lam <= Rational(1, 4), since=("γ", "λ ≤ L_z/2", "L_z > 0")),
        Step(
            "Lemma 9 contraction",
            dS <= (1 - gamma * lam / 2) * dxy,
            since=("Lemma 9 root", "Lemma 9 γλ ≤ 1/4", "λ > 0"),
        ),
        Step(
            "Lemma 9 Cauchy–Schwarz",
            2 * gd <= Rational(4, 3) * nG**2 + Rational(3, 4) * dxy**2,
            since=("Cauchy–Schwarz",),
        ),
        Step(
            "Lemma 9 below",
            dS**2 >= dxy**2 / 4 - nG**2 / 3,
            since=("square", "Lemma 9 Cauchy–Schwarz"),
        ),
        Step("Lemma 9 γ|g|", nG <= Rational(3, 4) * dxy, since=("smooth", "γ", "λ ≤ L_z/2", "L_z > 0")),
        Step("Lemma 9 1/16", dS**2 >= dxy**2 / 16, since=("Lemma 9 below", "Lemma 9 γ|g|")),
        Step("Lemma 9 lower", dS >= dxy / 4, since=("Lemma 9 1/16",)),
        Step("F.2 γη² ≤ 1", gamma * eta**2 <= 1, since=("γ", "η ≤ √(2L_z)", "L_z > 0")),
        Step(
            "F.2 fixed points",
            gamma * beta * lam / 2 * move <= rest,
            since=("fixed points", "T nonexpansive", "β ≤ 1/2"),
        ),
        Step("F.2 |z̄| ≤ B₁*", zb <= B1, since=("z̄ is a fixed point", "bounded")),
        Step(
            "F.2 rest of λ",
            rest_lam <= B1 * dbl,
            since=("rest of λ", "dbl", "F.2 |z̄| ≤ B₁*", "γ", "L_z > 0"),
            fix=rest_lam <= gamma * B1 * dbl,
            text="the factor γ is lost, which matters for γ > 1, that is L_z < 1/2; only a constant changes",
        ),
        Step("F.2 exponent β", Eq(-p - 1 + (p + c) + (p + c), p + 2 * c - 1, evaluate=False)),
        Step("F.2 exponent λ", -p - c - 1 + 2 * (p + c) <= p + 2 * c - 1, since=("c > 0",)),
        Step("F.2 exponent < 0", p + 2 * c - 1 < 0, since=("p + 2c < 1",)),
        Step("F.2 t₁ < 1", p + c < 1, since=("p + 2c < 1", "c > 0")),
        Step("F.2 t₁ > 0", p + c > 0, since=("p > 0", "c > 0")),
        Step(
            "F.2 iteration",
            a_next <= (1 - gamma * beta * lam / 2) * (a_k + move),
            since=("step K", "T nonexpansive", "β ≤ 1/2"),
        ),
        Step("F.2 b_k", b_k > 0, since=("b_k", "β > 0", "λ > 0")),
        Step("F.2 b_k < 1", b_k < 1, since=("b_k", "β > 0", "β ≤ 1/2", "Lemma 9 γλ ≤ 1/4", "λ > 0")),
        Step(
            "F.2 recursion",
            a_next <= (1 - b_k) * a_k + b_k * c_k,
            since=("F.2 iteration", "move", "b_k", "F.2 b_k", "F.2 b_k < 1"),
        ),
        Step(
            "Lemma 8 induction",
            a_next <= Pi_n * a_N + eps,
            since=("F.2 recursion", "c_k ≤ ε", "induction", "Π", "F.2 b_k", "F.2 b_k < 1"),
        ),
        Step("Lemma 10", inner_T >= 0, since=("z in Fix(T)", "T nonexpansive")),
        Step(
            "F.2 variational inequality",
            inner_R + lam * inner_z >= 0,
            since=("fixed point", "Lemma 10", "β > 0", "β ≤ 1/2"),
        ),
        Step("F.2 |z̃|²", zt**2 - zb**2 >= 2 * inner_z, since=("|z̃|²",)),
        Step("F.2 λ|z̃|²", lam / 2 * (zt**2 - zb**2) >= lam * inner_z, since=("F.2 |z̃|²", "λ > 0")),
        Step("F.2 R_z", R_til - R_bar >= -lam * inner_z, since=("R_z convex", "F.2 variational inequality")),
        Step("F.2 value", Rbar <= Rtil, since=("F.2 R_z", "F.2 λ|z̃|²", "R_λ(z̄)", "R_λ(z̃)")),
        Step(
            "reading square",
            (mR * d_fix - lK * zt) ** 2 <= root**2,
            since=("along Fix(T)", "root", "unique"),
            text="the quadratic inequality in d, times 2m_R",
        ),
        Step("reading m_R", mR * d_fix - lK * zt <= root, since=("reading square", "root ≥ 0")),
        Step("reading z̄", dbar <= eK + (lK * zt + root) / mR, since=("projection", "reading m_R", "unique")),
        Step("reading z", dK <= after + eK + (lK * zt + root) / mR, since=("iterate", "reading z̄")),
    ),
    reading=(
        "β_k = η k^−p, λ_k = η k^−c, γ = 1/(2L_z), η = min{√(2L_z), 1/2, L_z/2}: the figures are lost in the "
        "text; they are what the proof needs (γη² ≤ 1, β_k ≤ 1/2, λ_k ≤ L_z/2).",
        "A limit is not seen at one K. Checked are the two inequalities that the proof rests on, and the "
        "bound on |z̄^K − z̃| that follows from them and from m_R; it tends to 0 with λ_K and e_K.",
        "β = 0 belongs to the range in the boundedness assumption, so Fix(T) itself must be bounded.",
        "γ, β_k and λ_k are floats; the iteration that is checked is the one with these floats. τ absorbs "
        "the rounding of the enclosures, not an error of the theorem.",
        "Fix(T) is known exactly for a contraction (one point) and for init isometry with activation clip (a "
        "box); for other networks the hypotheses about it stay undecided.",
    ),
    settings=("iterations", "p", "c"),
    defaults={"init": "isometry", "activation": "clip", "iterations": "2000", "width": "32", "samples": "8"},
    quick={"width": "16", "samples": "4", "dim": "10", "iterations": "60"},
)
