"""Ling, Xie, Wang, Zhang & Lin (2023), over-parameterized DEQs: Theorem 1 with Condition 1, Lemmas 1 and 2.

Paper: "Global Convergence of Over-parameterized Deep Equilibrium Models", Z. Ling, X. Xie, Q. Wang,
Z. Zhang and Z. Lin, AISTATS 2023 (PMLR 206). Numbers in parentheses are the paper's equation numbers.

Setting: inputs X in R^{d x n} (samples as columns), equilibrium Z = relu(W Z + U X) in R^{m x n},
prediction a^T Z, loss 1/2 ||a^T Z - y||^2, all of W, U, a trained. What the paper says of random
initialisations and of the population Gram matrix is in ling_random.py.

Readings of the print:
- lambda_0 is lambda_min(Z^T Z); for m < n it is 0.
- Lemma 2 prints R = (a kron I_n) J^-1 D, which does not have n rows; R = (I_n kron a^T) J^-1 D is
  what the prediction a^T Z gives with column-wise vec, and what autograd confirms.
- J is invertible whenever ||W|| < 1; that is what is checked, as the paper does.
- Theorem 1 needs Condition 1 only, not Assumptions 1 and 2.
- The proof of Theorem 1 ends with lambda_0 - 4 C_2 >= lambda_0 / 2 "by (9)", C_2 = (c_w^2 + c_u^2) ||X||_F^2.
  That takes lambda_0 >= 8 C_2, but (9) prints 4 C_2. `ling-gd` is the print, `ling-gd:repaired` has the 8.
"""

from dataclasses import replace

from sympy import Max, Min, Rational, Symbol, sqrt, symbols

from deqcheck.quantities import ling as q
from deqcheck.statement import (
    Conclusion,
    Hypothesis,
    Quantity,
    Rate,
    Source,
    Theorem,
    fixed,
    free,
    largest,
)

PAPER = "Global Convergence of Over-parameterized Deep Equilibrium Models"


def _source(number: str) -> Source:
    return Source(PAPER, "Ling, Xie, Wang, Zhang & Lin", 2023, number)


# --- notation --------------------------------------------------------------------------------------

lam0, nW, nU, na, XF, r0 = symbols("lambda_0 norm_W norm_U norm_a norm_X_F r_0", real=True)
delta, eta, tau = symbols("delta eta tau", real=True)
rho_w, rho_u, rho_a, c_w, c_u, c_a, C2 = symbols("rho_w rho_u rho_a c_w c_u c_a C_2", real=True)
Wt, lamt = symbols("norm_W_t lambda_t", real=True)


def _at(quantity: Quantity, name: str, text: str, latex: str) -> Quantity:
    return replace(quantity, name=name, text=text, latex=latex)


MONITORED: dict[Symbol, Quantity] = {
    Wt: _at(q.norm_implicit_weights, "norm_W_t", "‖W(τ)‖", r"\|W(\tau)\|_2"),
    lamt: _at(q.lambda_0, "lambda_t", "λ_τ", r"\lambda_\tau"),
}

# --- Theorem 1 -------------------------------------------------------------------------------------


def _condition_1(factor: int) -> tuple[Hypothesis, ...]:
    """Condition 1 with `factor` in (9), and the step size (10)."""
    return (
        Hypothesis("ρ̄_w < 1", rho_w < 1, "‖W(0)‖ + δ < 1"),
        Hypothesis("(7)", lam0 >= 4 / delta * Max(c_w, c_u, c_a) * XF * r0),
        Hypothesis(
            "(8)",
            lam0 ** Rational(3, 2) >= 4 * (2 + sqrt(2)) / rho_a * (c_w**2 + c_u**2) * XF**2 * r0,
        ),
        Hypothesis("(9)", lam0 >= factor * (c_w**2 + c_u**2) * XF**2),
        Hypothesis("η > 0", eta > 0),
        Hypothesis(
            "(10)",
            eta < Min(2 / lam0, 2 * (c_w**2 + c_u**2) / ((c_w**2 + c_u**2 + c_a**2) ** 2 * XF**2)),
        ),
    )


LING_GD = Theorem(
    key="ling-gd",
    title="gradient descent trains a vanilla DEQ to zero loss at a linear rate",
    source=_source("Theorem 1"),
    family="ling",
    setting="gradient descent with step η on 1/2 ‖aᵀZ − y‖², W, U and a trained",
    measured={
        lam0: q.lambda_0,
        nW: q.norm_implicit_weights,
        nU: q.norm_input_weights,
        na: q.norm_output_weights,
        XF: q.frobenius_norm_inputs,
        r0: q.initial_residual,
    },
    chosen={delta: free, eta: largest("(10)")},
    monitored=MONITORED,
    definitions={
        rho_w: nW + delta,
        rho_u: nU + delta,
        rho_a: na + delta,
        c_w: rho_u * rho_a / (1 - rho_w) ** 2,
        c_u: rho_a / (1 - rho_w),
        c_a: rho_u / (1 - rho_w),
    },
    hypotheses=_condition_1(4),
    conclusions=(
        Conclusion("(i)", Wt < 1, "the equilibrium exists throughout training"),
        Conclusion("(ii)", lamt > lam0 / 2, "half of the initial eigenvalue is kept"),
    ),
    rate=Rate("(iii)", gap=eta * lam0 / 2, per="step"),
    reading=(
        "Theorem 1 needs Condition 1 only; Assumptions 1 and 2 are the paper's way to Condition 1.",
        "The proof ends with λ₀ − 4C₂ ≥ λ₀/2, C₂ = (c_w² + c_u²)‖X‖_F², by (9); that needs 8 in place "
        "of the printed 4. See ling-gd:repaired.",
    ),
    flaw="with the printed 4 in (9) the last step of the proof fails (λ₀ − 4C₂ ≥ λ₀/2 needs λ₀ ≥ 8C₂), so the rate is "
    "not proved. ling-gd:repaired has the 8.",
    never="No width helps: by (15), λ₀ ≤ ‖Z‖_F²/n ≤ c_a²‖X‖_F²/n, so (9) forces ‖a(0)‖ + δ ≤ (1 − ρ̄_w)/(2√n) < 1/2, "
    "while the a of Assumption 1 has norm close to 1.",
    settings=("eta", "delta"),
    quick={"width": "200", "samples": "10", "dim": "20"},
)

LING_GD_REPAIRED = replace(
    LING_GD,
    key="ling-gd:repaired",
    title="gradient descent trains a vanilla DEQ to zero loss, with the constant that the proof needs",
    source=_source("Theorem 1 with 8 in (9)"),
    hypotheses=_condition_1(8),
    flaw="",
    conclusions=(
        Conclusion("(i)", Wt < 1, "the equilibrium exists throughout training"),
        Conclusion("(ii)", lamt >= lam0 / 2, "half of the initial eigenvalue is kept"),
    ),
    reading=(
        LING_GD.reading[0],
        "(9) has 8 in place of 4: the last step of the proof needs λ₀ ≥ 8C₂. (ii) is not strict, as in the proof.",
    ),
)

# --- Lemma 2 and the PL inequalities ---------------------------------------------------------------

dW, dU, da, grad2, Phi, lamH = symbols("diff_W diff_U diff_a grad2 Phi lambda_H", real=True)

LING_GRADIENT = Theorem(
    key="ling-gradient",
    title="the gradient of a vanilla DEQ and its Polyak-Łojasiewicz inequality",
    source=_source("Lemma 2 with (4) and (5)"),
    family="ling",
    setting="the equilibrium at one parameter vector; the loss is 1/2 ‖aᵀZ − y‖²",
    measured={
        nW: q.norm_implicit_weights,
        dW: q.gradient_gap_W,
        dU: q.gradient_gap_U,
        da: q.gradient_gap_a,
        grad2: q.gradient_square,
        Phi: q.loss,
        lamH: q.lambda_H,
        lam0: q.lambda_0,
    },
    chosen={tau: fixed(Rational(1, 10**9))},
    hypotheses=(Hypothesis("J", nW < 1, "‖W‖ < 1, so that J is invertible"),),
    conclusions=(
        Conclusion("(3) W", dW <= tau, "the formula agrees with automatic differentiation"),
        Conclusion("(3) U", dU <= tau, "the formula agrees with automatic differentiation"),
        Conclusion("(3) a", da <= tau, "the formula agrees with automatic differentiation"),
        Conclusion("(4)", (1 + tau) * grad2 >= 2 * lamH * Phi, "certified"),
        Conclusion("H ⪰ G", (1 + tau) * lamH >= lam0, "certified: H₂ and H₃ only add"),
        Conclusion("(5)", (1 + tau) * grad2 >= 2 * lam0 * Phi, "certified"),
    ),
    reading=(
        "R is read as (Iₙ ⊗ aᵀ) J⁻¹ D; the printed (a ⊗ Iₙ) J⁻¹ D has the wrong number of rows.",
        "R is block diagonal with blocks bᵢᵀ, bᵢ = Dᵢ(I − WᵀDᵢ)⁻¹a, so H = G + (G + XᵀX) ∘ (BᵀB).",
        "The room of τ in (4) and (5) lets an instance that attains them (n = 1, or a = 0) be decided.",
    ),
    defaults={"width": "400", "samples": "20"},
    quick={"width": "60", "samples": "8", "dim": "20"},
)
