"""Gao & Gao (2022), the ReLU implicit network: Theorems 4.2 and 4.4, Lemmas 3.1, 3.2, 4.1, 4.3, 5.1.

Paper: "Gradient Descent Optimizes Infinite-Depth ReLU Implicit Networks with Linear Widths",
T. Gao and H. Gao, 2022 (arXiv:2205.07463). Numbers in parentheses are the paper's equation numbers.

Setting: inputs X in R^{N x d}, labels y in R^N, equilibrium Z = relu(gamma Z A + Phi) with features
Phi = relu(X W), prediction Z b, loss 1/2 ||Z b - y||^2, all of W, A, b trained.

Readings of the print:
- sigma_min(Z) is the square root of lambda_min(Z Z^T), as the proofs use it. For m < N this is 0,
  although the smallest singular value in the usual sense may be positive; the theorems then do not
  apply, and the usual reading would make them false.
- gamma is part of the model, since Z(0) depends on it. "Choose gamma small enough" is therefore a
  condition on the given gamma; it limits C_2.
- The constants C_1, C_2, C_3 are given positive numbers: any choice that works will do.
"""

from dataclasses import replace

from sympy import Max, Min, Rational, Symbol, symbols

from deqcheck.quantities import relu as q
from deqcheck.statement import (
    Conclusion,
    Hypothesis,
    Quantity,
    Rate,
    Reference,
    Source,
    Theorem,
    fixed,
    free,
    largest,
    least,
)

PAPER = "Gradient Descent Optimizes Infinite-Depth ReLU Implicit Networks with Linear Widths"


def _source(number: str) -> Source:
    return Source(PAPER, "Gao & Gao", 2022, number)


# --- notation --------------------------------------------------------------------------------------

alpha0, nW, nA, nb, XF, r0, gamma, N = symbols("alpha_0 norm_W norm_A norm_b norm_X_F r_0 gamma N", real=True)
C1, C2, C3, eta = symbols("C_1 C_2 C_3 eta", real=True)
lam0, lam1, lam2, lam3, gamma0, B, lam_bar = symbols(
    "lambda_0 lambda_1 lambda_2 lambda_3 gamma_0 B lambda_bar", real=True
)
Wt, At, bt, Zt = symbols("norm_W_t norm_A_t norm_b_t sigma_min_Z_t", real=True)

MEASURED = {
    alpha0: q.sigma_min_equilibrium,
    nW: q.norm_input_weights,
    nA: q.norm_implicit_weights,
    nb: q.norm_output_weights,
    XF: q.frobenius_norm_inputs,
    r0: q.initial_residual,
    gamma: q.gamma,
}


def _monitored(time: str) -> dict[Symbol, Quantity]:
    """The quantities of conclusions (i) and (ii) at time `time` of training."""
    return {
        s: replace(quantity, name=s.name, text=f"{text}({time}){end}", latex=rf"{latex}({time}){tail}")
        for s, quantity, text, end, latex, tail in (
            (Wt, q.norm_input_weights, "‖W", "‖", r"\|W", r"\|"),
            (At, q.norm_implicit_weights, "‖A", "‖", r"\|A", r"\|"),
            (bt, q.norm_output_weights, "‖b", "‖", r"\|b", r"\|"),
            (Zt, q.sigma_min_equilibrium, "σ_min(Z", ")", r"\sigma_{\min}(Z", ")"),
        )
    }


RADII = {
    lam1: nW + C1,
    lam2: nA + C2,
    lam3: nb + C3,
    gamma0: gamma * lam2,
    lam0: Max(lam1 / C3, gamma0 * lam1 * lam3 / ((1 - gamma0) * C2 * lam2), lam3 / C1),
    # The bracket that the paper writes out in (15), (18), (19) and (20).
    B: 1 + gamma0**2 / (1 - gamma0) ** 2 * lam1**2 / lam2**2,
}
WELL_POSED = (Hypothesis("γ > 0", gamma > 0), Hypothesis("γ₀ < 1", gamma0 < 1))
READING = (
    "σ_min(Z) is read as the square root of λ_min(Z Zᵀ), as the proof uses it; it is 0 when m < N.",
    "γ belongs to the model and is fixed before anything is measured; γ₀ < 1 then limits C₂.",
)

QUICK = {"width": "60", "dim": "20"}

# --- statements ------------------------------------------------------------------------------------

GF_RELU = Theorem(
    key="gf-relu",
    title="gradient flow trains a ReLU implicit network to zero loss at a linear rate",
    source=_source("Theorem 4.2"),
    family="relu",
    setting="gradient flow on 1/2 ‖Z b − y‖², W, A and b trained",
    measured=MEASURED,
    chosen={C1: free, C2: free, C3: free},
    monitored=_monitored("t"),
    definitions=RADII,
    hypotheses=(
        *WELL_POSED,
        Hypothesis("(14)", alpha0**2 >= 4 / (1 - gamma0) * lam0 * XF * r0),
        Hypothesis("(15)", alpha0**3 >= B * 8 * lam3 / (1 - gamma0) ** 2 * XF**2 * r0),
    ),
    conclusions=(
        Conclusion("(i) W", Wt <= lam1),
        Conclusion("(i) A", At <= lam2),
        Conclusion("(i) b", bt <= lam3),
        Conclusion("(ii)", Zt >= alpha0 / 2, "half of the initial value is kept"),
    ),
    rate=Rate("(iii)", gap=alpha0**2 / 2, per="unit time"),
    reading=READING,
    quick=QUICK,
)

GD_RELU = Theorem(
    key="gd-relu",
    title="gradient descent trains a ReLU implicit network to zero loss at a linear rate",
    source=_source("Theorem 4.4"),
    family="relu",
    setting="gradient descent with step η on 1/2 ‖Z b − y‖², W, A and b trained",
    measured={**MEASURED, N: q.samples},
    chosen={C1: free, C2: free, C3: free, eta: largest("(20)")},
    monitored=_monitored("k"),
    definitions={**RADII, lam_bar: B * (B * lam1**-2 + lam3**-2) ** -2},
    hypotheses=(
        *WELL_POSED,
        Hypothesis("(17)", alpha0**2 >= 8 / (1 - gamma0) * lam0 * XF * r0),
        Hypothesis("(18)", alpha0**3 >= B * 16 * lam3 / (1 - gamma0) ** 2 * XF**2 * r0),
        Hypothesis("(19)", alpha0**2 >= B * 16 * lam3**2 / (1 - gamma0) ** 2 * XF**2),
        Hypothesis("η > 0", eta > 0),
        Hypothesis(
            "(20)",
            eta < Min(4 / alpha0**2, 2 * (1 - gamma0) ** 2 * lam_bar * lam1**-4 * lam3**-2 * XF**-2),
        ),
    ),
    conclusions=(
        Conclusion("(i) W", Wt <= lam1),
        Conclusion("(i) A", At <= lam2),
        Conclusion("(i) b", bt <= lam3),
        Conclusion("(ii)", Zt >= alpha0 / 2, "half of the initial value is kept"),
    ),
    rate=Rate("(iii)", gap=eta * alpha0**2 / 4, per="step"),
    references=(Reference(eta, 1 / N, "the paper's step size 1/N"),),
    reading=READING,
    settings=("eta",),
    quick=QUICK,
)

# --- lemmas ----------------------------------------------------------------------------------------

M, ZF, Zl, PhiF = symbols("M norm_Z_F max_Z_l_F norm_Phi_F", real=True)

RELU_WELLPOSED = Theorem(
    key="relu-wellposed",
    title="a small γ makes the equilibrium exist, unique and bounded",
    source=_source("Lemma 3.1"),
    family="relu",
    setting="any W and A; ‖A‖ ≤ M for some M > 0",
    measured={
        gamma: q.gamma,
        nA: q.norm_implicit_weights,
        PhiF: q.frobenius_norm_features,
        ZF: q.frobenius_norm_equilibrium,
        Zl: q.frobenius_norm_iterates,
    },
    chosen={M: least(nA * (1 + Rational(1, 10**9)))},
    definitions={gamma0: gamma * M},
    hypotheses=(
        Hypothesis("γ > 0", gamma > 0),
        Hypothesis("‖A‖ ≤ M", nA <= M),
        Hypothesis("γ₀ < 1", gamma0 < 1),
    ),
    conclusions=(
        Conclusion("unique", None, "the layer is a contraction, so Z exists and is unique"),
        Conclusion("‖Z^ℓ‖", Zl <= PhiF / (1 - gamma0), "the first 20 iterates are bounded"),
        Conclusion("‖Z‖", ZF <= PhiF / (1 - gamma0), "the equilibrium is bounded"),
    ),
    reading=(
        "M is taken just above ‖A‖, where the lemma says most; the room of 1e-9 lets an instance that "
        "attains the bound (such as A = I) be decided.",
    ),
    quick=QUICK,
)

Wa, Wb, Aa, Ab, dW, dA, dZ = symbols("norm_W_a norm_W_b norm_A_a norm_A_b diff_W diff_A diff_Z", real=True)

RELU_LIPSCHITZ = Theorem(
    key="relu-lipschitz",
    title="the equilibrium is Lipschitz in the parameters",
    source=_source("Lemma 4.3"),
    family="relu",
    setting="two parameter pairs (W_a, A_a), (W_b, A_b) on the same inputs",
    measured={
        gamma: q.gamma,
        XF: q.frobenius_norm_inputs,
        Wa: q.norm_input_weights_a,
        Wb: q.norm_input_weights_b,
        Aa: q.norm_implicit_weights_a,
        Ab: q.norm_implicit_weights_b,
        dW: q.distance_input_weights,
        dA: q.distance_implicit_weights,
        dZ: q.distance_equilibria,
    },
    definitions={lam1: Max(Wa, Wb), lam2: Max(Aa, Ab), gamma0: gamma * lam2},
    hypotheses=WELL_POSED,
    conclusions=(
        Conclusion(
            "(16)",
            dZ <= XF / (1 - gamma0) * (gamma0 / (1 - gamma0) * lam1 / lam2 * dA + dW),
            "the equilibria are at most this far apart",
        ),
    ),
    settings=("distance",),
    quick=QUICK,
)

minA, dist, tau = symbols("min_A distance tau", real=True)

RELU_NONNEGATIVE = Theorem(
    key="relu-nonnegative",
    title="for a non-negative A the equilibrium is Φ (I − γA)⁻¹",
    source=_source("Lemma 5.1"),
    family="relu",
    setting="A with no negative entry",
    measured={
        gamma: q.gamma,
        nA: q.norm_implicit_weights,
        minA: q.smallest_entry,
        ZF: q.frobenius_norm_equilibrium,
        dist: q.distance_to_closed_form,
    },
    chosen={tau: fixed(Rational(1, 10**9))},
    hypotheses=(
        Hypothesis("A_ij ≥ 0", minA >= 0),
        Hypothesis("γ > 0", gamma > 0),
        Hypothesis("γ‖A‖ < 1", gamma * nA < 1),
    ),
    conclusions=(Conclusion("Z", dist <= tau * ZF, "both sides agree to the relative tolerance τ"),),
    reading=("An equality of reals is certified as agreement to a relative tolerance τ.",),
    quick=QUICK,
)

sQ, dG, dH = symbols("sigma_min_Q gradient_difference kernel_difference", real=True)
SMALL = {"width": "60", "samples": "24", "dim": "20", "init": "random"}
BOUND_ON_A = (
    Hypothesis("γ > 0", gamma > 0),
    Hypothesis("‖A‖ ≤ M", nA <= M),
    Hypothesis("γ₀ < 1", gamma0 < 1),
)
KINK = (
    "relu'(0) is taken as 0. At A(0) = I, as in Section 7, every inactive unit sits exactly at the kink, where the "
    "loss has no gradient in A; the formulas then give one of several one-sided derivatives."
)

RELU_GRADIENT = Theorem(
    key="relu-gradient",
    title="the gradients by the implicit function theorem, and the invertibility of Q",
    source=_source("Lemma 3.2"),
    family="relu",
    setting="‖A‖ ≤ M; Q = I − γ D (Aᵀ ⊗ I_N)",
    measured={gamma: q.gamma, nA: q.norm_implicit_weights, sQ: q.sigma_min_linearisation, dG: q.gradient_difference},
    chosen={M: least(nA * (1 + Rational(1, 10**9))), tau: fixed(Rational(1, 10**9))},
    definitions={gamma0: gamma * M},
    hypotheses=BOUND_ON_A,
    conclusions=(
        Conclusion("(6)", sQ > 1 - gamma0, "Q is invertible, and by how much"),
        Conclusion("γ₀ gap", 1 - gamma0 > 0),
        Conclusion("(7)-(9)", dG <= tau, "the gradients agree with autograd"),
    ),
    reading=(
        "(6) prints λ_min of a matrix that is not symmetric; its proof (29) bounds a norm. It is read as the smallest "
        "singular value, which is what the proof of Theorem 4.2 uses. Q is block-diagonal over samples, and the "
        "blocks of the first samples are checked.",
        "The strict sign in (6) needs M > ‖A‖: at M = ‖A‖, A = I and all units active both sides are equal.",
        KINK,
    ),
    settings=("blocks",),
    defaults=SMALL,
    quick={"width": "30", "samples": "10", "dim": "8", "init": "random"},
)

RELU_NTK = Theorem(
    key="relu-ntk",
    title="the predictions move by the kernel H = Z Zᵀ + M Mᵀ + Π Πᵀ",
    source=_source("Lemma 4.1"),
    family="relu",
    setting="gradient flow; ‖A(t)‖ ≤ M at all times",
    measured={gamma: q.gamma, nA: q.norm_implicit_weights, dH: q.kernel_difference},
    chosen={M: least(nA * (1 + Rational(1, 10**9))), tau: fixed(Rational(1, 10**9))},
    definitions={gamma0: gamma * M},
    hypotheses=BOUND_ON_A,
    conclusions=(Conclusion("(10)-(13)", dH <= tau, "H agrees with J Jᵀ from autograd"),),
    reading=("The bound on ‖A(t)‖ is checked at the given instant, where H is formed.", KINK),
    defaults=SMALL,
    quick={"width": "30", "samples": "10", "dim": "8", "init": "random"},
)
