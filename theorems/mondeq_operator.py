"""Nguyen (2022), the monotone DEQ: Propositions 1, 3 and 4, Lemmas 3.2.1-3.2.3, 3.3.2-3.3.4 and 3.3.6.

Thesis: "An Analysis of Applying Neural Tangent Kernels for Deep Equilibrium Models", Nguyen Ngoc Hieu,
VNU University of Engineering and Technology, Hanoi, 2022. Numbers are the thesis's.

Setting: inputs x in R^d, equilibrium z = relu(W z + U x) in R^n with W = (1 - m) I - A^T A + B - B^T,
eq. (3.3), prediction u^T z, loss 1/2 sum_i (u^T z_i - y_i)^2, all of A, B, U, u trained.

Readings of the print:
- m is a given positive number. I - W >= m I is meant of the symmetric part; Lemma 2.3.2 drops a factor 2.
- The step alpha lies in the open interval (0, 2m/L^2). The text closes it once; at its right end the bound
  of Proposition 3 is 1.
- vec stacks the samples, so the prediction is (I_N kron u^T) vec[Z]. The print has (u^T kron I_N), which is
  the other order; the proof of Lemma 3.3.2 takes row i to be u^T (I - J_i W)^-1, as here.
- In Proposition 4 K is the N x N matrix J J^T; the print transposes the factors. P_A holds the identity of
  size n^2.
- Lemma 3.2.2 and its copy in the appendix differ in signs; the main text is right.

Lemma 3.3.2 is false as printed, for every m: see MONDEQ_RESOLVENT and its repair.
"""

from sympy import Eq, Rational, Symbol, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import mondeq as q
from deqcheck.statement import Conclusion, Fact, Hypothesis, Source, Step, Theorem, fixed

THESIS = "An Analysis of Applying Neural Tangent Kernels for Deep Equilibrium Models"
QUICK = {"width": "40", "samples": "20", "dim": "20"}


def _source(number: str) -> Source:
    return Source(THESIS, "Nguyen", 2022, number)


m, L, alpha, LT, mu, rebuilt, tau = symbols("m L alpha L_T lambda_min_F rebuilt tau", real=True)
XF, ZF, nU, nu, gap = symbols("norm_X_F norm_Z_F norm_U norm_u gap", real=True)

POSITIVE = Hypothesis("m > 0", m > 0)
SMOOTH = Hypothesis("σ′", gap > 0, "no pre-activation is 0, so that D exists; the thesis assumes it without saying so")


def _cite(name: str, claim: Relational, text: str = "") -> Fact:
    return Fact(name, claim, text, cited=True)


def _signs(*names: Symbol) -> tuple[Fact, ...]:
    return tuple(Fact(f"{s.name} ≥ 0", s >= 0) for s in names)


# Proofs. A limit of the step alpha -> 0 enters through the one alpha at which it decides.
vFv, Av, Fv, Tv, bound, root, ql, Sl, Zl, Zp, a0, vWv = symbols(
    "v_F_v norm_Av norm_Fv norm_Tv bound root q_l S_l norm_Z_l norm_Z_p alpha_0 v_W_v", real=True
)
WELLPOSED_FACTS = (
    *_signs(XF, nU, ZF, L, LT, Av, Fv, Tv, root, ql, Sl, Zl, Zp),
    _cite("3.3", Eq(vFv, m + Av**2), "⟨v, (I − W)v⟩ for ‖v‖ = 1: the skew part drops out"),
    _cite("μ", mu >= vFv, "at the v where the minimum is reached"),
    _cite("Lemma 2.3.2", 2 * vWv >= m, "W + Wᵀ ⪰ mI, at some v with ‖v‖ = 1"),
    _cite("‖Fv‖", Fv <= L, "‖v‖ = 1, F = I − W"),
    _cite("⟨v, Fv⟩ ≤ ‖Fv‖", vFv <= Fv, "Cauchy–Schwarz"),
    _cite("Tv", Eq(Tv**2, 1 - 2 * alpha * vFv + alpha**2 * Fv**2), "T_α v = v − αFv, at the v where ‖T_α‖ is reached"),
    _cite("‖T‖", LT <= Tv, "the norm is reached"),
    _cite("bound", Eq(bound, 1 - 2 * alpha * m + alpha**2 * L**2), "an abbreviation"),
    _cite("root", Eq(root**2, bound), "an abbreviation"),
    _cite("α closed", alpha <= 2 * m / L**2, "the interval as the text has it once"),
    _cite("relu", Zl <= LT * Zp + alpha * XF * nU, "‖relu(x)‖ ≤ ‖x‖ and the triangle inequality"),
    _cite("previous", Zp <= alpha * XF * nU * Sl, "the iterate before, S = Σ q^i over i < l"),
    _cite("Σ", Eq(Sl * (1 - LT), 1 - ql), "q^l = q_l"),
    _cite("limit", ZF <= alpha * XF * nU / (1 - LT), "l → ∞"),
    _cite("at α₀", ZF * (2 * m - a0 * L**2) <= 2 * XF * nU, "the line before at α = α₀"),
    _cite("α₀", Eq(a0 * ZF * L**2, m * ZF - XF * nU), "α₀ > 0 unless the claim holds already"),
)
WELLPOSED_PROOF = (
    Step("2.3.2", vWv >= m, ("Lemma 2.3.2", "m > 0"), fix=vWv >= m / 2, text="a factor 2 is missing"),
    Step("Prop. 1 v", vFv >= m, ("3.3",)),
    Step("Prop. 1 ⇐", mu >= m, ("μ", "Prop. 1 v")),
    Step("L ≥ m", L >= m, ("Prop. 1 v", "‖Fv‖", "⟨v, Fv⟩ ≤ ‖Fv‖")),
    Step("Prop. 3 v", Tv**2 <= 1 - 2 * alpha * m + alpha**2 * L**2, ("Tv", "Prop. 1 v", "‖Fv‖", "α > 0")),
    Step("Prop. 3 b", Tv**2 <= bound, ("Prop. 3 v", "bound")),
    Step("Prop. 3 √", Tv <= root, ("Prop. 3 b", "root")),
    Step("Prop. 3", LT <= root, ("Prop. 3 √", "‖T‖")),
    Step("(3.5)", 1 - 2 * alpha * m + alpha**2 * L**2 < 1, ("α closed", "α > 0", "m > 0", "L ≥ m"),
         fix=1 - 2 * alpha * m + alpha**2 * L**2 <= 1, text="at the right end the bound is 1"),
    Step("Prop. 3 <", alpha * L**2 < 2 * m, ("α < 2m/L²", "L ≥ m", "m > 0")),
    Step("Prop. 3 b < 1", bound < 1, ("bound", "Prop. 3 <", "α > 0")),
    Step("Prop. 3 root", root < 1, ("root", "Prop. 3 b < 1")),
    Step("Prop. 3 α", LT < 1, ("Prop. 3", "Prop. 3 root")),
    Step("C.0.3 l", Zl <= alpha * XF * nU * (1 + LT * Sl), ("relu", "previous"), text="1 + qS is the next S"),
    Step("C.0.3 S", Sl * (1 - LT) <= 1, ("Σ",)),
    Step("C.0.3 Σ", Sl <= 1 / (1 - LT), ("C.0.3 S", "Prop. 3 α")),
    Step("C.0.3 √", 1 / (1 - LT) <= 1 / (1 - root), ("Prop. 3", "Prop. 3 α", "Prop. 3 root")),
    Step("C.0.3 1", Eq((1 - root) * (1 + root), 2 * alpha * m - alpha**2 * L**2), ("root", "bound")),
    Step("C.0.3 2", alpha * (2 * m - alpha * L**2) <= 2 * (1 - root), ("C.0.3 1", "Prop. 3 root")),
    Step("C.0.3 α", alpha / (1 - root) <= 2 / (2 * m - alpha * L**2), ("C.0.3 2", "Prop. 3 <", "Prop. 3 root")),
    Step("Lemma 3.3.3 ×", m * ZF <= XF * nU, ("at α₀", "α₀")),
    Step("Lemma 3.3.3", ZF <= XF * nU / m, ("Lemma 3.3.3 ×", "m > 0"), text="α → 0"),
)  # fmt: skip

MONDEQ_WELLPOSED = Theorem(
    key="mondeq-wellposed",
    title="the monotone DEQ has one equilibrium, and it is bounded",
    source=_source("Propositions 1 and 3 with Lemma 3.3.3"),
    family="mondeq",
    setting="any A, B and U",
    measured={
        m: q.monotonicity,
        mu: q.strong_monotonicity,
        rebuilt: q.rebuilding_error,
        L: q.lipschitz,
        alpha: q.step,
        LT: q.lipschitz_forward,
        XF: q.frobenius_norm_inputs,
        nU: q.norm_U,
        ZF: q.frobenius_norm_equilibrium,
    },
    chosen={tau: fixed(Rational(1, 10**9))},
    hypotheses=(
        POSITIVE,
        Hypothesis("α > 0", alpha > 0),
        Hypothesis("α < 2m/L²", alpha < 2 * m / L**2, "where the bound of Proposition 3 is below 1"),
    ),
    conclusions=(
        Conclusion("Prop. 1 ⇐", mu >= m, "I − W is m-strongly monotone"),
        Conclusion("Prop. 1 ⇒", rebuilt <= tau * L, "W has the parametrisation, to the tolerance τ"),
        Conclusion("Prop. 3", LT <= sqrt(1 - 2 * alpha * m + alpha**2 * L**2), "T_α is bounded"),
        Conclusion("Prop. 3 α", LT < 1, "T_α is a contraction"),
        Conclusion("Lemma 3.3.3", ZF <= XF * nU / m, "the equilibrium is bounded"),
        Conclusion("unique", None, "the equilibrium exists and is unique"),
    ),
    facts=WELLPOSED_FACTS,
    proof=WELLPOSED_PROOF,
    reading=(
        "I − W ⪰ mI is meant of the symmetric part of I − W; Lemma 2.3.2 misses a factor 2.",
        "α lies in the open interval (0, 2m/L²); the text closes it once, but there the bound is 1.",
        "The converse half of Proposition 1 is checked by rebuilding A and B from W and m.",
    ),
    settings=("alpha",),
    quick=QUICK,
)

# --- derivatives -----------------------------------------------------------------------------------

og, oZ, oL, oK = symbols("off_g off_Z off_loss off_K", real=True)

kappa, PA2, nA2, d, z, A1, dA1, dW1, dU1, x1, W1 = symbols("kappa sq_PA norm_A d_z z A_1 d_A d_W d_U x W_1", real=True)
GRADIENT_FACTS = (
    *_signs(nA2),
    _cite("K² = I", Eq(kappa**2, 1), "an eigenvalue of the commutation matrix"),
    _cite("P_A P_Aᵀ", PA2 <= (1 + kappa) * (nA2**2 + nA2**2), "an eigenvalue of (I + K)(AᵀA ⊕ AᵀA)"),
    _cite("C.1", Eq(d - W1 * d - dW1 * z - dU1 * x1, 0), "one active unit: dg = 0 along the equilibrium"),
    _cite("dW", Eq(dW1, -2 * A1 * dA1), "of (1 − m) − A² + B − B, one unit"),
    _cite("1 − W", Eq(1 - W1, m + A1**2), "one unit"),
)
GRADIENT_PROOF = (
    Step("‖I + K‖", (1 + kappa) ** 2 <= 4, ("K² = I",)),
    Step("‖I − K‖", (1 - kappa) ** 2 <= 4, ("K² = I",)),
    Step("P_B P_Bᵀ", Eq((1 - kappa) ** 2, 2 * (1 - kappa)), ("K² = I",)),
    Step("1 + κ", 1 + kappa <= 2, ("‖I + K‖",)),
    Step("‖P_A‖²", PA2 <= 4 * nA2**2, ("P_A P_Aᵀ", "1 + κ")),
    Step("Q", 1 - W1 > 0, ("1 − W", "m > 0")),
    Step("Lemma C.0.2", Eq(d * (1 - W1), -(z * dW1 + x1 * dU1)), ("C.1",), fix=Eq(d * (1 - W1), z * dW1 + x1 * dU1),
         text="the appendix has the signs of g; the main text has them right"),
    Step("Lemma 3.2.2", Eq(d * (1 - W1), -2 * z * A1 * dA1 + x1 * dU1), ("Lemma C.0.2", "dW")),
)  # fmt: skip

MONDEQ_GRADIENT = Theorem(
    key="mondeq-gradient",
    title="gradients and tangent kernel of the monotone DEQ",
    source=_source("Lemmas 3.2.1 to 3.2.3 with Proposition 4"),
    family="mondeq",
    setting="any parameters at which the relu is differentiable",
    measured={
        m: q.monotonicity,
        gap: q.kink_distance,
        og: q.difference_layer,
        oZ: q.difference_equilibrium,
        oL: q.difference_loss,
        oK: q.difference_kernel,
    },
    chosen={tau: fixed(Rational(1, 10**8))},
    hypotheses=(POSITIVE, SMOOTH),
    conclusions=(
        Conclusion("Lemma 3.2.1", og <= tau, "∂g in Z, A, B and U"),
        Conclusion("Lemma 3.2.2", oZ <= tau, "∂Z in A, B and U"),
        Conclusion("Lemma 3.2.3", oL <= tau, "the gradient of the loss in A, B, U and u"),
        Conclusion("Prop. 4", oK <= tau, "dŷ/dt = −K(ŷ − y), K on three vectors"),
    ),
    facts=GRADIENT_FACTS,
    proof=GRADIENT_PROOF,
    reading=(
        "Formulas and automatic differentiation are both floats: agreement to τ, not a proof.",
        "The prediction is (I_N ⊗ uᵀ) vec[Z]; the print has the factors in the other order.",
        "K is J Jᵀ, an N × N matrix; the print has Jᵀ J. The identity in P_A has size n².",
        "The appendix repeats Lemma 3.2.2 with other signs; the main text is checked.",
    ),
    defaults={"width": "100"},
    quick=QUICK,
)

# --- Lemma 3.3.2 -----------------------------------------------------------------------------------

uQ, uQD = symbols("norm_uQ norm_uQD", real=True)

muJ, pi, vbar, vstar, ri, Vi, wi, g, ua, gu = symbols(
    "mu_J pi_max norm_v_bar norm_v r_i norm_V_i norm_v_i g_a u_a g_u", real=True
)
RESOLVENT_FACTS = (
    *_signs(nu, uQ, vbar, vstar, Vi, wi, pi),
    _cite("μ > 0", muJ > 0),
    _cite("μ < 1", muJ < 1, "on the way to 0"),
    _cite("Π", Eq(pi, 1 / muJ), "the largest entry of (J + μ(I − J))⁻¹ where a unit is off"),
    _cite("Π⁻¹", Eq(ri, muJ), "an entry of Π⁻¹ where a unit is off"),
    _cite("v = Πv̄", vstar <= pi * vbar),
    _cite("v̄", vbar <= nu / m, "as in Lemma 3.3.3, for a contraction"),
    _cite("C–S", gu**2 <= Vi**2 * wi**2, "one summand"),
    _cite("V", Vi <= vstar, "row i"),
    _cite("sup", uQ <= Vi, "the rows live on different samples"),
)
RESOLVENT_PROOF = (
    Step("C.0.4 Π⁻¹", ri <= 1, ("Π⁻¹", "μ < 1")),
    Step("C.0.4 Π", 1 / muJ <= 1, ("μ > 0", "μ < 1"), text="‖Π‖ ≤ 1 is claimed; it is 1/μ where a unit is off"),
    Step("C.0.4 Π v", pi <= 1, ("Π", "C.0.4 Π")),
    Step("C.0.4 v", vstar <= vbar, ("v = Πv̄", "C.0.4 Π v")),
    Step("Lemma C.0.4", vstar <= nu / m, ("C.0.4 v", "v̄")),
    Step("C.0.5", gu**2 <= (nu / m) ** 2 * wi**2, ("C–S", "V", "Lemma C.0.4", "m > 0")),
    Step("Lemma 3.3.2", uQ <= nu / m, ("sup", "V", "Lemma C.0.4")),
)
REPAIRED_FACTS = (
    *_signs(nu, uQD, g, ua),
    _cite("monotone", m * g**2 <= gu, "g = (I − W_aa)⁻ᵀu_a on the active units, gu = ⟨g, u_a⟩"),
    _cite("C–S", gu <= g * ua),
    _cite("part", ua <= nu, "a part of u"),
    _cite("sup", uQD <= g, "the sample where the norm is reached"),
)
REPAIRED_PROOF = (
    Step("‖g‖²", m * g**2 <= g * nu, ("monotone", "C–S", "part")),
    Step("‖g‖", m * g <= nu, ("‖g‖²", "m > 0")),
    Step("Lemma 3.3.2", uQD <= nu / m, ("‖g‖", "sup", "m > 0")),
)

MONDEQ_RESOLVENT = Theorem(
    key="mondeq-resolvent",
    title="the output weights carried through Q⁻¹ are bounded by ‖u‖/m",
    source=_source("Lemma 3.3.2"),
    family="mondeq",
    setting="any parameters at which the relu is differentiable",
    measured={m: q.monotonicity, gap: q.kink_distance, nu: q.norm_u, uQ: q.norm_carried},
    hypotheses=(POSITIVE, SMOOTH),
    conclusions=(Conclusion("Lemma 3.3.2", uQ <= nu / m, "the bound of the lemma"),),
    facts=RESOLVENT_FACTS,
    proof=RESOLVENT_PROOF,
    counterexample="n = 2, N = 1, m = 1, A = 0, B − Bᵀ = [[0, 1], [−1, 0]], U x = (1, −3), "
    "so that only the first unit is active, and u = (1, 0): ‖(uᵀ ⊗ I)Q⁻¹‖ = √2, the bound is 1.",
    reading=(
        "Row i of (uᵀ ⊗ I)Q⁻¹ is uᵀ(I − J_i W)⁻¹, as in the proof, so the norm is the largest over i.",
        "The lemma is false in general: for A = 0, B − Bᵀ = [[0, b], [−b, 0]], one unit active and "
        "u = (1, 0), the left side is √(1 + b²)/m and the right side 1/m. The proof bounds ‖Π‖ by 1, "
        "but Π = (J + μ(I − J))⁻¹ grows like 1/μ where a unit is off.",
        "What the later proofs use is (uᵀ ⊗ I)Q⁻¹D; see mondeq-resolvent:repaired.",
    ),
    flaw="the lemma is false for every m: with A = 0, B − Bᵀ = [[0, b], [−b, 0]], one unit active and u = (1, 0) the "
    "left side is √(1 + b²)/m and the bound 1/m. A single instance may still satisfy it. See "
    "mondeq-resolvent:repaired.",
    quick=QUICK,
)

MONDEQ_RESOLVENT_REPAIRED = Theorem(
    key="mondeq-resolvent:repaired",
    title="the output weights carried through Q⁻¹D are bounded by ‖u‖/m",
    source=_source("Lemma 3.3.2 (repaired)"),
    family="mondeq",
    setting="any parameters at which the relu is differentiable",
    measured={m: q.monotonicity, gap: q.kink_distance, nu: q.norm_u, uQD: q.norm_carried_active},
    hypotheses=(POSITIVE, SMOOTH),
    conclusions=(Conclusion("Lemma 3.3.2", uQD <= nu / m, "the bound with the factor D"),),
    facts=REPAIRED_FACTS,
    proof=REPAIRED_PROOF,
    reading=(
        "Repair: the factor D is added. On the active units a of a sample (I − W_aa)ᵀ g = u_a, and the "
        "block I − W_aa is m-strongly monotone, so ‖g‖ ≤ ‖u_a‖/m.",
    ),
    quick=QUICK,
)

# --- two sets of parameters ------------------------------------------------------------------------

As, Us, uk, dA, dB, dU, du, dW, dZ, dy = symbols(
    "norm_A_s norm_U_s norm_u_k diff_A diff_B diff_U diff_u diff_W diff_Z diff_y", real=True
)

qk, qs, al, step_l, step_p, Zs, ck, cs, AD, DA, DD = symbols(
    "q_k q_s alpha d_l d_p norm_Z_s c_k c_s norm_AtD norm_DtA norm_DtD", real=True
)
LIPSCHITZ_FACTS = (
    *_signs(XF, As, Us, uk, dA, dB, dU, du, dW, dZ, dy, qk, qs, step_l, step_p, Zs, AD, DA, DD),
    _cite("α > 0", al > 0),
    _cite("q < 1", qk < 1, "Proposition 3"),
    _cite("q_s < 1", qs < 1, "Proposition 3"),
    _cite("relu", step_l <= step_p * qk + Zs * al * dW + al * XF * dU, "relu is 1-Lipschitz; T_k − T_s = α(W_k − W_s)"),
    _cite("Z_s", Zs <= al * XF * Us / (1 - qs), "Lemma 3.3.3 before its limit"),
    _cite("fixed point", step_l >= step_p, "l → ∞: the two iterates have one limit"),
    _cite("d", dZ <= step_p, "the limit"),
    _cite("c_k", Eq(ck * (1 - qk), al), "an abbreviation"),
    _cite("c_s", Eq(cs * (1 - qs), al), "an abbreviation"),
    _cite("α → 0 k", ck <= 1 / m, "the limit of α/(1 − q_k), see Lemma 3.3.3"),
    _cite("α → 0 s", cs <= 1 / m, "the limit of α/(1 − q_s), see Lemma 3.3.3"),
    _cite("Z_s m", Zs <= XF * Us / m, "Lemma 3.3.3"),
    _cite("split", dy <= dZ * uk + Zs * du, "Z_k u_k − Z_s u_s"),
    _cite("ΔW", dW <= AD + DA + DD + 2 * dB, "the triangle inequality"),
    _cite("AΔ", AD <= As * dA),
    _cite("ΔA", DA <= As * dA),
    _cite("ΔΔ", DD <= dA**2),
)
LIPSCHITZ_PROOF = (
    Step("C.0.6 c", cs >= 0, ("c_s", "q_s < 1", "α > 0")),
    Step("C.0.6 c_k", ck >= 0, ("c_k", "q < 1", "α > 0")),
    Step("C.0.6 Z", Zs <= cs * XF * Us, ("Z_s", "c_s", "q_s < 1")),
    Step("C.0.6 l", step_p * (1 - qk) <= al * (Zs * dW + XF * dU), ("relu", "fixed point")),
    Step("C.0.6 Σ", step_p <= ck * (Zs * dW + XF * dU), ("C.0.6 l", "c_k", "q < 1")),
    Step("C.0.6 W", ck * Zs * dW <= ck * cs * XF * Us * dW, ("C.0.6 Z", "C.0.6 c_k")),
    Step("C.0.6 ∞", dZ <= ck * cs * XF * Us * dW + ck * XF * dU, ("d", "C.0.6 Σ", "C.0.6 W")),
    Step("C.5 m", 1 / m > 0, ("m > 0",)),
    Step("C.5 kk", ck * cs <= 1 / m**2, ("α → 0 k", "α → 0 s", "C.0.6 c", "C.0.6 c_k", "C.5 m")),
    Step("C.5 W", ck * cs * XF * Us * dW <= XF * Us * dW / m**2, ("C.5 kk",)),
    Step("C.5 U", ck * XF * dU <= XF * dU / m, ("α → 0 k",)),
    Step("(3.15)", dZ <= XF * (dU / m + dW * Us / m**2), ("C.0.6 ∞", "C.5 W", "C.5 U")),
    Step("C.6 Z", dZ * uk <= XF * (dU / m + dW * Us / m**2) * uk, ("(3.15)",)),
    Step("C.6 u", Zs * du <= XF * Us / m * du, ("Z_s m",)),
    Step("Lemma 3.3.4", dy <= XF * (uk * dU / m + uk * dW * Us / m**2 + Us * du / m), ("split", "C.6 Z", "C.6 u")),
    Step("Lemma 3.3.6", dW <= 2 * As * dA + dA**2 + 2 * dB, ("ΔW", "AΔ", "ΔA", "ΔΔ")),
)

MONDEQ_LIPSCHITZ = Theorem(
    key="mondeq-lipschitz",
    title="equilibrium and prediction are Lipschitz in the parameters",
    source=_source("Lemmas 3.3.4 and 3.3.6"),
    family="mondeq",
    setting="two sets of parameters, of steps k and s, on the same inputs",
    measured={
        m: q.monotonicity,
        XF: q.frobenius_norm_inputs,
        As: q.norm_A_s,
        Us: q.norm_U_s,
        uk: q.norm_u_k,
        dA: q.distance_A,
        dB: q.distance_B,
        dU: q.distance_U,
        du: q.distance_u,
        dW: q.distance_W,
        dZ: q.distance_equilibria,
        dy: q.distance_predictions,
    },
    hypotheses=(POSITIVE,),
    conclusions=(
        Conclusion("(3.15)", dZ <= XF * (dU / m + dW * Us / m**2), "the equilibria"),
        Conclusion(
            "Lemma 3.3.4",
            dy <= XF * (uk * dU / m + uk * dW * Us / m**2 + Us * du / m),
            "the predictions",
        ),
        Conclusion("Lemma 3.3.6", dW <= 2 * As * dA + dA**2 + 2 * dB, "the change of W"),
    ),
    facts=LIPSCHITZ_FACTS,
    proof=LIPSCHITZ_PROOF,
    reading=(
        "The left side of the second part of Lemma 3.3.4 is ‖ŷ(k) − ŷ(s)‖; the print loses a hat.",
        "Lemma 3.3.6 writes ΔW with the signs of its A-terms reversed. Its norm is the same: they are "
        "symmetric, the B-terms skew, and a matrix and its transpose have one norm.",
    ),
    settings=("distance",),
    quick=QUICK,
)
