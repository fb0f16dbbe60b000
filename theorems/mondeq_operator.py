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

from sympy import Rational, sqrt, symbols

from deqcheck.quantities import mondeq as q
from deqcheck.statement import Conclusion, Hypothesis, Source, Theorem, fixed

THESIS = "An Analysis of Applying Neural Tangent Kernels for Deep Equilibrium Models"
QUICK = {"width": "40", "samples": "20", "dim": "20"}


def _source(number: str) -> Source:
    return Source(THESIS, "Nguyen", 2022, number)


m, L, alpha, LT, mu, rebuilt, tau = symbols("m L alpha L_T lambda_min_F rebuilt tau", real=True)
XF, ZF, nU, nu, gap = symbols("norm_X_F norm_Z_F norm_U norm_u gap", real=True)

POSITIVE = Hypothesis("m > 0", m > 0)
SMOOTH = Hypothesis("σ′", gap > 0, "no pre-activation is 0, so that D exists; the thesis assumes it without saying so")

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

MONDEQ_RESOLVENT = Theorem(
    key="mondeq-resolvent",
    title="the output weights carried through Q⁻¹ are bounded by ‖u‖/m",
    source=_source("Lemma 3.3.2"),
    family="mondeq",
    setting="any parameters at which the relu is differentiable",
    measured={m: q.monotonicity, gap: q.kink_distance, nu: q.norm_u, uQ: q.norm_carried},
    hypotheses=(POSITIVE, SMOOTH),
    conclusions=(Conclusion("Lemma 3.3.2", uQ <= nu / m, "the bound of the lemma"),),
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
    reading=(
        "The left side of the second part of Lemma 3.3.4 is ‖ŷ(k) − ŷ(s)‖; the print loses a hat.",
        "Lemma 3.3.6 writes ΔW with the signs of its A-terms reversed. Its norm is the same: they are "
        "symmetric, the B-terms skew, and a matrix and its transpose have one norm.",
    ),
    settings=("distance",),
    quick=QUICK,
)
