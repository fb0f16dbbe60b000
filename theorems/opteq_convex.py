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

from sympy import Max, Rational, sqrt, symbols

from deqcheck.quantities import opteq as q
from deqcheck.statement import Conclusion, Hypothesis, Source, Theorem, fixed, least

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
    reading=(
        EQUALITY,
        "A limit is not seen at finitely many α. The bound α H (1 + (L−1)/(L m₀)), m₀ = 1 − L̃_σ mean ‖W_l‖², "
        "makes the proof quantitative: Σ_l (prox_l(z_{l−1}) − z_{l−1}) = 0 at the equilibrium, each term is "
        "1-Lipschitz, and the sum is L m₀-strongly monotone. H stays bounded, so the bound is O(α).",
        "y comes from an accelerated proximal gradient method on the convex problem of the theorem.",
        "The sum over l of (−1)^p and binomials in (15) starts at p = 2 and carries α^(p−1)/L.",
    ),
    defaults={"alpha": "0.01"},
    quick={"width": "16", "dim": "10"},
)

# --- Theorem 4 -------------------------------------------------------------------------------------

LipT, Lz, p, c, mR, sup, B1 = symbols("Lip_T L_z p c m_R sup_fix B_1", real=True)
gamma, bK, lK, zt, before, after, Rbar, Rtil, eK, GK, dbar, dK16, dK4, dK = symbols(
    "gamma beta_K lambda_K norm_zt before_K after_K R_bar R_tilde e_K G_K d_bar d_K16 d_K4 d_K", real=True
)
REACH = (lK * zt + sqrt(lK**2 * zt**2 + 2 * mR * GK * eK)) / mR

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
