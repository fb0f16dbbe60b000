"""Gao & Gao (2022), the ReLU implicit network: Theorems 4.2 and 4.4, Lemmas 3.1, 3.2, 4.1, 4.3, 5.1.

Paper: "Gradient Descent Optimizes Infinite-Depth ReLU Implicit Networks with Linear Widths",
T. Gao and H. Gao, 2022 (arXiv:2205.07463). Numbers in parentheses are the paper's equation numbers.

Setting: inputs X in R^{N x d}, labels y in R^N, equilibrium Z = relu(gamma Z A + Phi) with features
Phi = relu(X W), prediction Z b, loss 1/2 ||Z b - y||^2, all of W, A, b trained.

Readings of the print:
- sigma_min(Z) is the square root of lambda_min(Z Z^T), as the proofs use it. For m < N this is 0,
  although the smallest singular value in the usual sense may be positive; the theorems then do not
  apply. No statement asks for m >= N, and the usual reading would make them false (see NARROW).
- gamma is part of the model, since Z(0) depends on it. "Choose gamma small enough" is therefore a
  condition on the given gamma; it limits C_2.
- The constants C_1, C_2, C_3 are given positive numbers: any choice that works will do.
"""

from dataclasses import replace

from sympy import Abs, Eq, Max, Min, Rational, Symbol, symbols

from deqcheck.quantities import relu as q
from deqcheck.statement import (
    Conclusion,
    Fact,
    Growth,
    Hypothesis,
    Quantity,
    Rate,
    Reference,
    Source,
    Step,
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
NARROW = (
    "Neither Theorem 4.2 nor 4.4 asks for m ≥ N. With σ_min(Z) the smallest of the min(m, N) singular values, (14), "
    "(15) and (17)-(20) hold for m = 1, N = 2, X = (3/5, 4/5)ᵀ, y = (−4/5, 3/5)ᵀ, W = 100, A = 1, b = 0, γ = 1/100, "
    "C₁ = C₂ = C₃ = 1, η = 10⁻⁸; every gradient is zero there, the loss stays at 1/2, and (iii) fails."
)

QUICK = {"width": "60", "dim": "20"}

# --- proofs of Theorems 4.2 and 4.4 -----------------------------------------------------------------
# A name with _s is at a time at which (i)-(iii) hold already, by induction. Two abbreviations keep the
# formulas polynomial: x = ||X||_F/(1 - gamma_0) and g = gamma_0 lambda_1/((1 - gamma_0) lambda_2).

x, xop, g, q_, cb, cW, cA, cZ = symbols("x x_op g q c_b c_W c_A c_Z", real=True)
Xop, Ws, Phi_s, PhiF_s, Z_s, ZF_s, e, bs, gb, gW, gA, Qinv, Z0 = symbols(
    "norm_X norm_W_s norm_Phi_s norm_Phi_F_s norm_Z_s norm_Z_F_s residual_s norm_b_s grad_b grad_W grad_A "
    "norm_Q_inverse norm_Z_0_F",
    real=True,
)
Qb, ZQb = symbols("Q_b Z_Q_b", real=True)

SIGNS = (
    Fact("α₀ ≥ 0", alpha0 >= 0),
    Fact("‖W‖ ≥ 0", nW >= 0),
    Fact("‖A‖ ≥ 0", nA >= 0),
    Fact("‖b‖ ≥ 0", nb >= 0),
    Fact("‖X‖_F > 0", XF > 0, "with X = 0 nothing moves, and (20) divides by zero"),
    Fact("r₀ > 0", r0 > 0, "with r₀ = 0 nothing moves"),
    Fact("residual ≥ 0", e >= 0),
    Fact("N ≥ 1", N >= 1),
)
INDUCTION = (
    Fact("x", Eq(x, XF / (1 - gamma0)), "abbreviation", cited=True),
    Fact("g", Eq(g, gamma0 * lam1 / ((1 - gamma0) * lam2)), "abbreviation", cited=True),
    Fact("x_op", Eq(xop, Xop / (1 - gamma0)), "abbreviation", cited=True),
    Fact("q", Eq(q_, x * r0), "abbreviation", cited=True),
    Fact("c_b", Eq(cb, lam1 * x * r0), "abbreviation", cited=True),
    Fact("c_W", Eq(cW, lam3 * x * r0), "abbreviation", cited=True),
    Fact("c_A", Eq(cA, g * lam3 * x * r0), "abbreviation", cited=True),
    Fact("c_Z", Eq(cZ, B * lam3 * x**2 * r0), "abbreviation", cited=True),
    Fact("‖X‖ ≤ ‖X‖_F", Xop <= XF, cited=True),
    Fact("‖X‖ ≥ 0", Xop >= 0, cited=True),
    Fact("‖X‖_F² ≤ N‖X‖²", XF**2 <= N * Xop**2, cited=True),
    Fact("(i) W at s", Ws <= lam1, "inductive hypothesis", cited=True),
    Fact("(i) b at s", bs <= lam3, "inductive hypothesis", cited=True),
    Fact("relu", PhiF_s <= Ws * XF, "‖σ(XW)‖_F ≤ ‖XW‖_F ≤ ‖X‖_F ‖W‖", cited=True),
    Fact("‖Φ‖ ≤ ‖Φ‖_F", Phi_s <= PhiF_s, cited=True),
    Fact("Lemma 3.1", ZF_s <= PhiF_s / (1 - gamma0), cited=True),
    Fact("‖Z‖ ≤ ‖Z‖_F", Z_s <= ZF_s, cited=True),
    Fact("‖Z‖ ≥ 0", Z_s >= 0, cited=True),
    Fact("‖b(s)‖ ≥ 0", bs >= 0, cited=True),
    Fact("Lemma 3.2", Qinv <= 1 / (1 - gamma0), "‖Q⁻¹‖ ≤ 1/σ_min(Q)", cited=True),
    Fact("‖Q⁻¹‖ ≥ 0", Qinv >= 0, cited=True),
    Fact("‖Q⁻¹‖‖b‖", Eq(Qb, Qinv * bs), "abbreviation", cited=True),
    Fact("γ‖Z‖‖Q⁻¹‖‖b‖", Eq(ZQb, gamma * Z_s * Qb), "abbreviation", cited=True),
    Fact("(9)", gb <= Z_s * e, "submultiplicativity", cited=True),
    Fact("(7)", gW <= XF * Qb * e, "submultiplicativity, ‖D‖ ≤ 1, ‖E‖ ≤ 1", cited=True),
    Fact("(8)", gA <= ZQb * e, "submultiplicativity, ‖D‖ ≤ 1", cited=True),
    Fact("‖Z(0)‖_F", Z0 * (1 - gamma * nA) <= nW * XF, "Lemma 3.1 and (34) at the start", cited=True),
    Fact("‖Z(0)‖_F ≥ 0", Z0 >= 0, cited=True),
)


def _start(number: str, k: int) -> tuple[Step, ...]:
    """Signs, and (14) or (17) in the forms in which the drift bounds use it."""
    return (
        Step("λ₁ > 0", lam1 > 0),
        Step("λ₂ > 0", lam2 > 0),
        Step("λ₃ > 0", lam3 > 0),
        Step("λ₃ ≥ C₃", lam3 >= C3),
        Step("γ₀ > 0", gamma0 > 0, ("γ > 0", "λ₂ > 0")),
        Step("1 − γ₀ > 0", 1 - gamma0 > 0, ("γ₀ < 1",)),
        Step("x > 0", x > 0, ("x", "1 − γ₀ > 0")),
        Step("g > 0", g > 0, ("g", "γ₀ > 0", "λ₁ > 0", "λ₂ > 0", "1 − γ₀ > 0")),
        Step("γ₀ = γλ₂", Eq(gamma0, gamma * lam2)),
        Step("g(1−γ₀)λ₂", Eq(g * (1 - gamma0) * lam2, gamma0 * lam1), ("g", "λ₂ > 0", "1 − γ₀ > 0")),
        Step("g(1−γ₀)λ₂ = γλ₂λ₁", Eq(g * (1 - gamma0) * lam2, gamma * lam2 * lam1), ("g(1−γ₀)λ₂", "γ₀ = γλ₂")),
        Step("g = γλ₁/(1−γ₀)", Eq(g * (1 - gamma0), gamma * lam1), ("g(1−γ₀)λ₂ = γλ₂λ₁", "λ₂ > 0")),
        Step("B", Eq(B, 1 + gamma0**2 / (1 - gamma0) ** 2 * lam1**2 / lam2**2), text="its definition"),
        Step("B = 1 + g²", Eq(B, 1 + g**2), ("B", "g", "λ₂ > 0", "1 − γ₀ > 0")),
        Step("λ₀ ≥ λ₁/C₃", lam0 >= lam1 / C3),
        Step("λ₀ ≥ λ₃/C₁", lam0 >= lam3 / C1),
        Step("λ₀ ≥ γ₀λ₁λ₃/…", lam0 >= gamma0 * lam1 * lam3 / ((1 - gamma0) * C2 * lam2)),
        Step("λ₀ ≥ gλ₃/C₂", lam0 >= g * lam3 / C2, ("λ₀ ≥ γ₀λ₁λ₃/…", "g", "λ₂ > 0", "1 − γ₀ > 0")),
        Step("q > 0", q_ > 0, ("q", "x > 0")),
        Step("c_b > 0", cb > 0, ("c_b", "λ₁ > 0", "x > 0")),
        Step("c_W > 0", cW > 0, ("c_W", "λ₃ > 0", "x > 0")),
        Step("c_A > 0", cA > 0, ("c_A", "g > 0", "λ₃ > 0", "x > 0")),
        Step(f"{number} x", alpha0**2 >= k * lam0 * x * r0, (number, "x", "1 − γ₀ > 0")),
        Step(f"{number} q", alpha0**2 >= k * lam0 * q_, (f"{number} x", "q")),
        *(
            step
            for name, C, c, top, bound in (
                ("b", C3, cb, lam1, "λ₀ ≥ λ₁/C₃"),
                ("W", C1, cW, lam3, "λ₀ ≥ λ₃/C₁"),
                ("A", C2, cA, g * lam3, "λ₀ ≥ gλ₃/C₂"),
            )
            for step in (
                Step(f"{number} {name} 1", lam0 * C >= top, (bound, "g > 0", "λ₁ > 0", "λ₃ > 0")),
                Step(f"{number} {name} 2", alpha0**2 * C >= k * (lam0 * C) * q_, (f"{number} q",)),
                Step(f"{number} {name} 3", lam0 * C * q_ >= top * q_, (f"{number} {name} 1", "q > 0")),
                Step(f"{number} {name} 4", Eq(c, top * q_), (f"c_{name}", "q")),
                Step(f"{number} {name}", alpha0**2 * C >= k * c, tuple(f"{number} {name} {i}" for i in (2, 3, 4))),
            )
        ),
    )


def _gradients(a: str, phi: str) -> tuple[Step, ...]:
    """The bounds on Z(s) and on the three gradients; `a` is the appendix, `phi` the line that bounds Φ."""
    return (
        Step("(35)", ZF_s <= lam1 * x, ("Lemma 3.1", phi, "x", "1 − γ₀ > 0")),
        Step(f"{a} ‖Z(s)‖", Z_s <= lam1 * x, ("‖Z‖ ≤ ‖Z‖_F", "(35)")),
        Step(f"{a} ∂L/∂b", gb <= lam1 * x * e, ("(9)", f"{a} ‖Z(s)‖")),
        Step(
            f"{a} ‖Q⁻¹‖‖b‖",
            Qb <= lam3 / (1 - gamma0),
            ("‖Q⁻¹‖‖b‖", "Lemma 3.2", "(i) b at s", "‖b(s)‖ ≥ 0", "‖Q⁻¹‖ ≥ 0", "1 − γ₀ > 0"),
        ),
        Step(f"{a} ‖Q⁻¹‖‖b‖ ≥ 0", Qb >= 0, ("‖Q⁻¹‖‖b‖", "‖b(s)‖ ≥ 0", "‖Q⁻¹‖ ≥ 0")),
        Step(f"{a} ‖X‖_F‖Q⁻¹‖‖b‖", XF * Qb <= lam3 * x, (f"{a} ‖Q⁻¹‖‖b‖", "x")),
        Step(f"{a} ∂L/∂W", gW <= lam3 * x * e, ("(7)", f"{a} ‖X‖_F‖Q⁻¹‖‖b‖")),
        Step(f"{a} (1−γ₀)‖Q⁻¹‖‖b‖", (1 - gamma0) * Qb <= lam3, (f"{a} ‖Q⁻¹‖‖b‖", "1 − γ₀ > 0")),
        Step(f"{a} g(1−γ₀)‖Q⁻¹‖‖b‖", g * (1 - gamma0) * Qb <= g * lam3, (f"{a} (1−γ₀)‖Q⁻¹‖‖b‖", "g > 0")),
        Step(f"{a} γ‖Q⁻¹‖‖b‖", gamma * lam1 * Qb <= g * lam3, (f"{a} g(1−γ₀)‖Q⁻¹‖‖b‖", "g = γλ₁/(1−γ₀)")),
        Step(
            f"{a} ‖Z‖‖Q⁻¹‖‖b‖", gamma * Z_s * Qb <= gamma * lam1 * x * Qb, (f"{a} ‖Z(s)‖", f"{a} ‖Q⁻¹‖‖b‖ ≥ 0", "γ > 0")
        ),
        Step(f"{a} γ‖Z‖‖Q⁻¹‖‖b‖", ZQb <= g * lam3 * x, (f"{a} ‖Z‖‖Q⁻¹‖‖b‖", f"{a} γ‖Q⁻¹‖‖b‖", "γ‖Z‖‖Q⁻¹‖‖b‖", "x > 0")),
        Step(f"{a} ∂L/∂A", gA <= g * lam3 * x * e, ("(8)", f"{a} γ‖Z‖‖Q⁻¹‖‖b‖")),
    )


tI, decay, es, hmin, dLdt, pairing, quadratic = symbols(
    "integral_t decay_t decay_s lambda_min_H dL_dt residual_dot_velocity residual_H_residual",
    real=True,
)
Db, DW, DA, DZ, vZ, JA, JW, gZ = symbols(
    "drift_b drift_W drift_A drift_Z speed_Z norm_dZ_dA norm_dZ_dW grad_Z", real=True
)
GF_FACTS = (
    *SIGNS,
    *INDUCTION,
    Fact("α₀ ≤ ‖Z(0)‖_F", alpha0 <= Z0, cited=True),
    Fact("(iii) at s", e**2 <= es**2 * r0**2, "inductive hypothesis; decay_s = exp(−α₀²s/4)", cited=True),
    Fact("decay_s > 0", es > 0, cited=True),
    Fact("∫ exp", Eq(tI, 4 / alpha0**2 * (1 - decay)), "∫₀ᵗ exp(−α₀²s/4) ds", cited=True),
    Fact("decay_t > 0", decay > 0, "exp(−α₀²t/4)", cited=True),
    Fact("∫ b", Db <= cb * tI, "(37) integrated", cited=True),
    Fact("∫ W", DW <= cW * tI, "the bound on ∂L/∂W integrated", cited=True),
    Fact("∫ A", DA <= cA * tI, "the bound on ∂L/∂A integrated", cited=True),
    Fact("∫ Z", DZ <= cZ * tI, "the bound on the speed integrated", cited=True),
    Fact("triangle b", bt <= Db + nb, cited=True),
    Fact("triangle W", Wt <= DW + nW, cited=True),
    Fact("triangle A", At <= DA + nA, cited=True),
    Fact("∂Z/∂A", JA <= gamma * Z_s * Qinv, "submultiplicativity", cited=True),
    Fact("∂Z/∂W", JW <= XF * Qinv, "submultiplicativity", cited=True),
    Fact("‖∂Z/∂A‖ ≥ 0", JA >= 0, cited=True),
    Fact("‖∂Z/∂W‖ ≥ 0", JW >= 0, cited=True),
    Fact("∂L/∂Z", gZ <= bs * e, "‖b ⊗ I‖ = ‖b‖", cited=True),
    Fact("‖∂L/∂Z‖ ≥ 0", gZ >= 0, cited=True),
    Fact("chain rule Z", vZ <= (JA**2 + JW**2) * gZ, cited=True),
    Fact("Weyl", Zt >= alpha0 - DZ, cited=True),
    Fact("λ_min(H) ≥ λ_min(ZZᵀ)", hmin >= Zt**2, "H − ZZᵀ is positive semidefinite", cited=True),
    Fact("chain rule L", Eq(dLdt, pairing), "L = ½‖ŷ − y‖²", cited=True),
    Fact("(10)", Eq(pairing, -quadratic), "Lemma 4.1", cited=True),
    Fact("Rayleigh", quadratic >= hmin * e**2, cited=True),
)
GF_PROOF = (
    *_start("(14)", 4),
    Step("α₀ > 0", alpha0 > 0, ("(14) b", "c_b > 0"), text="else (14) fails"),
    Step("(15) x", alpha0**3 >= 8 * B * lam3 * x**2 * r0, ("(15)", "x", "1 − γ₀ > 0")),
    Step("(15) c", alpha0**3 >= 8 * cZ, ("(15) x", "c_Z")),
    Step("(34)", PhiF_s <= lam1 * XF, ("relu", "(i) W at s")),
    *_gradients("A.4", "(34)"),
    Step("A.4 residual", e <= es * r0, ("(iii) at s", "decay_s > 0")),
    Step("(37)", gb <= cb * es, ("A.4 ∂L/∂b", "A.4 residual", "c_b", "λ₁ > 0", "x > 0")),
    Step("A.4 ∂L/∂W decay", gW <= cW * es, ("A.4 ∂L/∂W", "A.4 residual", "c_W", "λ₃ > 0", "x > 0")),
    Step("A.4 ∂L/∂A decay", gA <= cA * es, ("A.4 ∂L/∂A", "A.4 residual", "c_A", "g > 0", "λ₃ > 0", "x > 0")),
    Step("A.4 ∫ exp", tI < 4 / alpha0**2, ("∫ exp", "decay_t > 0", "α₀ > 0"), text="strict at every finite time"),
    Step("A.4 ∫ exp α₀²", alpha0**2 * tI < 4, ("A.4 ∫ exp", "α₀ > 0")),
    Step("A.4 b drift", alpha0**2 * Db < 4 * cb, ("∫ b", "A.4 ∫ exp α₀²", "c_b > 0")),
    Step("A.4 b drift ≤ C₃", Db < C3, ("A.4 b drift", "(14) b", "α₀ > 0")),
    Step("A.4 (i) b", bt <= lam3, ("A.4 b drift ≤ C₃", "triangle b")),
    Step("A.4 W drift", alpha0**2 * DW < 4 * cW, ("∫ W", "A.4 ∫ exp α₀²", "c_W > 0")),
    Step("A.4 W drift ≤ C₁", DW < C1, ("A.4 W drift", "(14) W", "α₀ > 0")),
    Step("A.4 (i) W", Wt <= lam1, ("A.4 W drift ≤ C₁", "triangle W")),
    Step("A.4 A drift", alpha0**2 * DA < 4 * cA, ("∫ A", "A.4 ∫ exp α₀²", "c_A > 0")),
    Step("A.4 A drift ≤ C₂", DA < C2, ("A.4 A drift", "(14) A", "α₀ > 0")),
    Step("A.4 (i) A", At <= lam2, ("A.4 A drift ≤ C₂", "triangle A")),
    Step("A.4 γ‖Z‖ 1", gamma * Z_s <= gamma * lam1 * x, ("A.4 ‖Z(s)‖", "γ > 0")),
    Step("A.4 γ‖Z‖", gamma * Z_s <= g * (1 - gamma0) * x, ("A.4 γ‖Z‖ 1", "g = γλ₁/(1−γ₀)")),
    Step("A.4 ‖Q⁻¹‖", Qinv * (1 - gamma0) <= 1, ("Lemma 3.2", "1 − γ₀ > 0")),
    Step("A.4 γ‖Z‖‖Q⁻¹‖", gamma * Z_s * Qinv <= g * (1 - gamma0) * x * Qinv, ("A.4 γ‖Z‖", "‖Q⁻¹‖ ≥ 0")),
    Step("A.4 gx‖Q⁻¹‖", g * x * (Qinv * (1 - gamma0)) <= g * x, ("A.4 ‖Q⁻¹‖", "g > 0", "x > 0")),
    Step("A.4 ∂Z/∂A", JA <= g * x, ("∂Z/∂A", "A.4 γ‖Z‖‖Q⁻¹‖", "A.4 gx‖Q⁻¹‖")),
    Step("A.4 ∂Z/∂W", JW <= x, ("∂Z/∂W", "Lemma 3.2", "x", "1 − γ₀ > 0")),
    Step("A.4 ∂L/∂Z", gZ <= lam3 * e, ("∂L/∂Z", "(i) b at s")),
    Step(
        "A.4 Jacobians",
        JA**2 + JW**2 <= B * x**2,
        ("A.4 ∂Z/∂A", "A.4 ∂Z/∂W", "B = 1 + g²", "‖∂Z/∂A‖ ≥ 0", "‖∂Z/∂W‖ ≥ 0", "x > 0", "g > 0"),
    ),
    Step("A.4 B ≥ 1", B >= 1, ("B = 1 + g²",)),
    Step("A.4 speed 1", (JA**2 + JW**2) * gZ <= B * x**2 * gZ, ("A.4 Jacobians", "‖∂L/∂Z‖ ≥ 0")),
    Step("A.4 speed 2", B * x**2 * gZ <= B * x**2 * (lam3 * e), ("A.4 ∂L/∂Z", "A.4 B ≥ 1")),
    Step("A.4 speed", vZ <= B * x**2 * (lam3 * e), ("chain rule Z", "A.4 speed 1", "A.4 speed 2")),
    Step("A.4 c_Z > 0", cZ > 0, ("c_Z", "A.4 B ≥ 1", "λ₃ > 0", "x > 0")),
    Step(
        "A.4 speed decay",
        vZ <= cZ * es,
        ("A.4 speed", "A.4 residual", "c_Z", "A.4 B ≥ 1", "λ₃ > 0", "x > 0"),
    ),
    Step("A.4 Z drift c", alpha0**2 * DZ < 4 * cZ, ("∫ Z", "A.4 ∫ exp α₀²", "A.4 c_Z > 0")),
    Step(
        "A.4 Z drift",
        alpha0**2 * DZ <= 4 * B * lam3 * xop**2 * r0,
        ("A.4 Z drift c", "c_Z", "x", "x_op", "‖X‖ ≤ ‖X‖_F", "‖X‖ ≥ 0", "‖X‖_F² ≤ N‖X‖²", "1 − γ₀ > 0"),
        fix=alpha0**2 * DZ < 4 * B * lam3 * x**2 * r0,
        text="‖X‖² stands for ‖X‖_F²",
    ),
    Step("A.4 Z drift ≤ α₀/2", DZ < alpha0 / 2, ("A.4 Z drift c", "(15) c", "α₀ > 0")),
    Step("A.4 (ii)", Zt >= alpha0 / 2, ("Weyl", "A.4 Z drift ≤ α₀/2")),
    Step("A.4 λ_min(H)", hmin >= alpha0**2 / 4, ("λ_min(H) ≥ λ_min(ZZᵀ)", "A.4 (ii)")),
    Step("A.4 dL/dt", Eq(dLdt, -pairing), ("chain rule L",), fix=Eq(dLdt, pairing), text="the sign is lost"),
    Step("A.4 dL/dt = −eᵀHe", Eq(dLdt, -quadratic), ("A.4 dL/dt", "(10)")),
    Step("A.4 dL/dt bound", dLdt <= -(alpha0**2) / 4 * e**2, ("A.4 dL/dt = −eᵀHe", "Rayleigh", "A.4 λ_min(H)")),
    Step("A.4 (iii)", dLdt <= -(alpha0**2) / 2 * (e**2 / 2), ("A.4 dL/dt bound",), text="L = ½ residual²"),
)

beta, ps, pk, S0, S1, D0, D1, W0, W1, E0, E1, Y0, Y1 = symbols(
    "beta beta_s beta_k sum_old sum_new drift_b_old drift_b_new drift_W_old drift_W_new drift_A_old drift_A_new "
    "drift_Z_old drift_Z_new",
    real=True,
)
dZs, dWs, dAs, dbs, dy, inner, inner1, inner2, L0, L1, Q1, Q2, u, v = symbols(
    "step_Z step_W step_A step_b step_y inner inner_1 inner_2 loss_old loss_new Q_1 Q_2 u v", real=True
)
t, T, f, P1, k1, k2, k3, k4, h, G, sk = symbols("t T f P_1 k_1 k_2 k_3 k_4 h G sigma_min_Z_s", real=True)
ex, dymax, zmax, wr, gl, al, ux = symbols("eta_x2 step_y_max norm_Z_max w g_lambda_3 alpha_lambda u_x", real=True)
GD_FACTS = (
    *SIGNS,
    *INDUCTION,
    Fact("N α₀² ≤ ‖Z(0)‖_F²", N * alpha0**2 <= Z0**2, "the smallest of N eigenvalues is below their mean", cited=True),
    Fact("(iii) at s", e**2 <= ps**2 * r0**2, "inductive hypothesis; beta_s = β^s", cited=True),
    Fact("β^s ≥ 0", ps >= 0, cited=True),
    Fact("β", beta**2 <= 1 - eta * alpha0**2 / 4, "β = √(1 − η α₀²/4), so this is an equality", cited=True),
    Fact("β ≥ 0", beta >= 0, cited=True),
    Fact("Σ", Eq(S1 * (1 - beta), 1 - pk), "geometric sum over s = 0 … k; beta_k = β^(k+1)", cited=True),
    Fact("β^(k+1) ≥ 0", pk >= 0, cited=True),
    Fact("Σ next", Eq(S1, S0 + ps), cited=True),
    Fact("Σ ≥ 0", S0 >= 0, cited=True),
    Fact("t", Eq(t, eta * S1), "abbreviation", cited=True),
    Fact("b moves", D1 <= D0 + eta * gb, "triangle inequality", cited=True),
    Fact("b drift so far", D0 <= eta * cb * S0, "induction over the sum", cited=True),
    Fact("triangle b", bt <= D1 + nb, cited=True),
    Fact("‖b(k+1)‖ ≥ 0", bt >= 0, cited=True),
    Fact("W moves", W1 <= W0 + eta * gW, "triangle inequality", cited=True),
    Fact("‖W(k) − W(0)‖ ≥ 0", W0 >= 0, cited=True),
    Fact("‖W(k+1)‖ ≥ 0", Wt >= 0, cited=True),
    Fact("W drift so far", W0 <= eta * cW * S0, "induction over the sum", cited=True),
    Fact("triangle W", Wt <= W1 + nW, cited=True),
    Fact("A moves", E1 <= E0 + eta * gA, "triangle inequality", cited=True),
    Fact("A drift so far", E0 <= eta * cA * S0, "induction over the sum", cited=True),
    Fact("triangle A", At <= E1 + nA, cited=True),
    Fact("W step", dWs <= eta * gW, cited=True),
    Fact("A step", dAs <= eta * gA, cited=True),
    Fact("b step", dbs <= eta * gb, cited=True),
    Fact("Lemma 4.3", dZs <= x * (g * dAs + dWs), cited=True),
    Fact("‖ΔZ‖ ≥ 0", dZs >= 0, cited=True),
    Fact("‖Δb‖ ≥ 0", dbs >= 0, cited=True),
    Fact("Z moves", Y1 <= Y0 + dZs, "triangle inequality", cited=True),
    Fact("Z drift so far", Y0 <= eta * cZ * S0, "induction over the sum", cited=True),
    Fact("Weyl", Zt >= alpha0 - Y1, cited=True),
    Fact("Δŷ", dy <= dZs * bt + Z_s * dbs, "triangle inequality and submultiplicativity", cited=True),
    Fact("‖Δŷ‖ ≥ 0", dy >= 0, cited=True),
    Fact("inner 1", inner1 <= dZs * bt * e, "Cauchy-Schwarz", cited=True),
    Fact("inner 2", inner2 <= -eta * sk**2 * e**2, "eᵀZ(k)Z(k)ᵀe ≥ σ_min(Z(k))² ‖e‖²", cited=True),
    Fact("(ii) at s", sk >= alpha0 / 2, "inductive hypothesis", cited=True),
    Fact("inner", Eq(inner, inner1 + inner2), cited=True),
    Fact("½‖a + b‖²", Eq(L1, dy**2 / 2 + inner + L0), cited=True),
    Fact("L(k)", Eq(L0, e**2 / 2), cited=True),
    Fact("f", Eq(f, eta * lam3 * x * e), "abbreviation", cited=True),
    Fact("T", Eq(T, B * lam1**-2 + lam3**-2), "the bracket in λ̄ and Q₁", cited=True),
    Fact("λ̄", Eq(lam_bar, B * T**-2), "its definition", cited=True),
    Fact("P₁", Eq(P1, T * lam1**2 * lam3**2), "abbreviation", cited=True),
    Fact("Q₁", Eq(Q1, P1 * x**2), "with 1/(1−γ₀)² ‖X‖_F² = x²", cited=True),
    Fact("k₁", Eq(k1, lam1**-4 * lam3**-2 * XF**-2), "abbreviation", cited=True),
    Fact("k₂", Eq(k2, lam1**4 * lam3**2 * XF**2), "abbreviation", cited=True),
    Fact("k₄", Eq(k4, 2 * (1 - gamma0) ** 2 * lam_bar), "abbreviation", cited=True),
    Fact("k₃", Eq(k3, eta * lam1**4 * lam3**2), "abbreviation", cited=True),
    Fact("Q₂", Eq(Q2, B * lam3**2 * x**2), cited=True),
    Fact("h", Eq(h, 1 - gamma0), "abbreviation", cited=True),
    Fact("G", Eq(G, gamma * lam1), "abbreviation", cited=True),
    Fact("u", Eq(u, B * lam3**2), "abbreviation", cited=True),
    Fact("v", Eq(v, lam1**2), "abbreviation", cited=True),
    Fact("ηx²", Eq(ex, eta * x**2), "abbreviation", cited=True),
    Fact("ηQ₁e", Eq(dymax, eta * Q1 * e), "abbreviation", cited=True),
    Fact("λ₁x", Eq(zmax, lam1 * x), "abbreviation", cited=True),
    Fact("w", Eq(wr * h, gamma * lam3), "abbreviation", cited=True),
    Fact("gλ₃", Eq(gl, g * lam3), "abbreviation", cited=True),
    Fact("α₀λ₁", Eq(al, alpha0 * lam1), "abbreviation", cited=True),
    Fact("16ux", Eq(ux, 16 * u * x), "abbreviation", cited=True),
)
STEP = 2 * (1 - gamma0) ** 2 * lam_bar * lam1**-4 * lam3**-2 * XF**-2
GD_PROOF = (
    *_start("(17)", 8),
    Step("B ≥ 1", B >= 1, ("B = 1 + g²",)),
    Step("A.6 c_Z > 0", cZ > 0, ("c_Z", "B ≥ 1", "λ₃ > 0", "x > 0")),
    Step("(19) x", alpha0**2 >= 16 * B * lam3**2 * x**2, ("(19)", "x", "1 − γ₀ > 0")),
    Step("α₀ > 0", alpha0 > 0, ("(19) x", "B ≥ 1", "λ₃ > 0", "x > 0"), text="else (19) fails"),
    # Beyond the print: (17) and (19) give (18), since Lemma 3.1 bounds alpha_0 from above.
    Step("note γ‖A(0)‖", gamma * nA <= gamma0, ("γ > 0",)),
    Step("note ‖Z(0)‖_F h", Z0 * (1 - gamma0) <= nW * XF, ("‖Z(0)‖_F", "note γ‖A(0)‖", "‖Z(0)‖_F ≥ 0")),
    Step("note ‖Z(0)‖_F x", Z0 <= nW * x, ("note ‖Z(0)‖_F h", "x", "1 − γ₀ > 0")),
    Step("note ‖W(0)‖ ≤ λ₁", nW <= lam1),
    Step("note ‖Z(0)‖_F", Z0 <= lam1 * x, ("note ‖Z(0)‖_F x", "note ‖W(0)‖ ≤ λ₁", "x > 0")),
    Step("note ‖Z(0)‖_F max", Z0 <= zmax, ("note ‖Z(0)‖_F", "λ₁x")),
    Step("note ‖Z(0)‖_F²", Z0**2 <= zmax**2, ("note ‖Z(0)‖_F max", "‖Z(0)‖_F ≥ 0")),
    Step("note α₀ x", N * alpha0**2 <= zmax**2, ("N α₀² ≤ ‖Z(0)‖_F²", "note ‖Z(0)‖_F²")),
    Step("note α₀", N * alpha0**2 <= v * x**2, ("note α₀ x", "v", "λ₁x")),
    Step("note u > 0", u > 0, ("u", "B ≥ 1", "λ₃ > 0")),
    Step("note v > 0", v > 0, ("v", "λ₁ > 0")),
    Step("note (19)", alpha0**2 >= 16 * u * x**2, ("(19) x", "u")),
    Step("note (19) N", N * alpha0**2 >= 16 * (N * u) * x**2, ("note (19)",)),
    Step("note N and λ₁ x", 16 * (N * u) * x**2 <= v * x**2, ("note (19) N", "note α₀")),
    Step("note N and λ₁", 16 * (N * u) <= v, ("note N and λ₁ x", "x > 0")),
    Step("note 16u ≤ v", 16 * u <= v, ("note N and λ₁", "note u > 0")),
    Step("note (18) a", alpha0**3 * C3 >= 8 * (alpha0 * lam1) * x * r0, ("(17) b", "c_b", "α₀ > 0")),
    Step("note (18) b 1", alpha0**2 * v >= 16 * u * x**2 * v, ("note (19)", "note v > 0")),
    Step("note (18) b 2", 16 * u * x**2 * v >= (16 * u * x) ** 2, ("note 16u ≤ v", "note u > 0")),
    Step("note (18) b 3", alpha0**2 * v >= (16 * u * x) ** 2, ("note (18) b 1", "note (18) b 2")),
    Step("note (18) b 4", alpha0**2 * v >= ux**2, ("note (18) b 3", "16ux")),
    Step("note (18) b 5", Eq(al**2, alpha0**2 * v), ("α₀λ₁", "v")),
    Step("note (18) b 6", al > 0, ("α₀λ₁", "α₀ > 0", "λ₁ > 0")),
    Step("note (18) b 7", al**2 >= ux**2, ("note (18) b 4", "note (18) b 5")),
    Step("note (18) b 8", al >= ux, ("note (18) b 7", "note (18) b 6")),
    Step("note (18) b", alpha0 * lam1 >= 16 * u * x, ("note (18) b 8", "α₀λ₁", "16ux")),
    Step("note (18) c", alpha0 * lam1 * (x * r0) >= 16 * u * x * (x * r0), ("note (18) b", "x > 0")),
    Step("note (18) d", alpha0**3 * C3 >= 128 * u * x**2 * r0, ("note (18) a", "note (18) c")),
    Step("note (18) e", u >= B * lam3 * C3, ("u", "λ₃ ≥ C₃", "B ≥ 1", "λ₃ > 0")),
    Step("note (18) f", u * (x**2 * r0) >= cZ * C3, ("note (18) e", "c_Z", "x > 0")),
    Step("note (18) g", alpha0**3 * C3 >= 128 * cZ * C3, ("note (18) d", "note (18) f")),
    Step(
        "note (18) is implied",
        alpha0**3 >= 8 * (16 * cZ),
        ("note (18) g",),
        text="by (17), (19) and Lemma 3.1, with a factor 8 to spare",
    ),
    Step(
        "(18) c",
        alpha0**3 >= 16 * cZ,
        ("(18)", "x", "c_Z", "1 − γ₀ > 0", "A.6 c_Z > 0", "note (18) is implied"),
        text="(18) with c_Z; it follows without (18) as well",
    ),
    Step(
        "(38)",
        Phi_s <= lam1 * Xop,
        ("relu", "(i) W at s", "‖Φ‖ ≤ ‖Φ‖_F", "‖X‖ ≤ ‖X‖_F", "‖X‖ ≥ 0", "‖X‖_F² ≤ N‖X‖²"),
        fix=PhiF_s <= lam1 * XF,
        text="relu can enlarge the operator norm; (34) has the Frobenius norms that are used",
    ),
    *_gradients("A.6", "(38)"),
    Step("(20) first", eta < 4 / alpha0**2, ("(20)",)),
    Step("A.6 β is real", eta * alpha0**2 / 4 < 1, ("(20) first", "α₀ > 0")),
    Step("A.6 residual", e <= ps * r0, ("(iii) at s", "β^s ≥ 0")),
    Step("(40)", gb <= cb * ps, ("A.6 ∂L/∂b", "A.6 residual", "c_b", "λ₁ > 0", "x > 0")),
    Step("A.6 β < 1", beta < 1, ("β", "β ≥ 0", "α₀ > 0")),
    Step("A.6 1 − β", eta * alpha0**2 <= 8 * (1 - beta), ("β", "β ≥ 0", "A.6 β < 1")),
    Step("A.6 η/(1 − β)", eta / (1 - beta) <= 8 / alpha0**2, ("A.6 1 − β", "A.6 β < 1", "α₀ > 0")),
    Step("A.6 Σ", S1 <= 1 / (1 - beta), ("Σ", "β^(k+1) ≥ 0", "A.6 β < 1")),
    Step("A.6 η Σ", alpha0**2 * t <= 8, ("A.6 Σ", "t", "A.6 1 − β", "A.6 β < 1", "α₀ > 0")),
    Step("A.6 b sum", D1 <= cb * t, ("b moves", "b drift so far", "(40)", "Σ next", "t")),
    Step("A.6 b drift", alpha0**2 * D1 <= 8 * cb, ("A.6 b sum", "A.6 η Σ", "c_b > 0")),
    Step("A.6 b drift ≤ C₃", D1 <= C3, ("A.6 b drift", "(17) b", "α₀ > 0")),
    Step("A.6 (i) b", bt <= lam3, ("A.6 b drift ≤ C₃", "triangle b")),
    Step("(41)", gW <= cW * ps, ("A.6 ∂L/∂W", "A.6 residual", "c_W", "λ₃ > 0", "x > 0")),
    Step("A.6 W sum", W1 <= cW * t, ("W moves", "W drift so far", "(41)", "Σ next", "t")),
    Step("A.6 W drift", alpha0**2 * W1 <= 8 * cW, ("A.6 W sum", "A.6 η Σ", "c_W > 0")),
    Step("A.6 W drift ≤ C₁", W1 <= C1, ("A.6 W drift", "(17) W", "α₀ > 0")),
    Step(
        "A.6 ‖W(k+1)‖",
        Wt <= W0 + nW,
        ("triangle W", "A.6 W drift ≤ C₁", "‖W(k) − W(0)‖ ≥ 0", "‖W(k+1)‖ ≥ 0"),
        fix=Wt <= W1 + nW,
        text="W(k) stands for W(k+1)",
    ),
    Step("A.6 (i) W", Wt <= lam1, ("A.6 ‖W(k+1)‖", "A.6 W drift ≤ C₁")),
    Step("(42)", gA <= cA * ps, ("A.6 ∂L/∂A", "A.6 residual", "c_A", "g > 0", "λ₃ > 0", "x > 0")),
    Step(
        "A.6 A sum",
        E1 <= eta * g * lam3 * xop * r0 * S1,
        (
            "A moves",
            "A drift so far",
            "(42)",
            "Σ next",
            "t",
            "c_A",
            "g > 0",
            "λ₃ > 0",
            "Σ ≥ 0",
            "β^s ≥ 0",
            "‖X‖ ≤ ‖X‖_F",
            "‖X‖ ≥ 0",
            "‖X‖_F² ≤ N‖X‖²",
            "x",
            "x_op",
            "1 − γ₀ > 0",
        ),
        fix=E1 <= cA * t,
        text="‖X‖ stands for ‖X‖_F",
    ),
    Step("A.6 A drift", alpha0**2 * E1 <= 8 * cA, ("A.6 A sum", "A.6 η Σ", "c_A > 0")),
    Step("A.6 A drift ≤ C₂", E1 <= C2, ("A.6 A drift", "(17) A", "α₀ > 0")),
    Step("A.6 (i) A", At <= lam2, ("A.6 A drift ≤ C₂", "triangle A")),
    Step("(43) W", dWs <= f, ("W step", "A.6 ∂L/∂W", "f")),
    Step("(43) A", dAs <= g * f, ("A step", "A.6 ∂L/∂A", "f")),
    Step("(43) sum", g * dAs + dWs <= B * f, ("(43) W", "(43) A", "B = 1 + g²", "g > 0")),
    Step("(43) f", dZs <= x * (B * f), ("Lemma 4.3", "(43) sum", "x > 0")),
    Step("(43)", dZs <= eta * B * lam3 * x**2 * e, ("(43) f", "f")),
    Step("(43) decay", dZs <= eta * cZ * ps, ("(43)", "A.6 residual", "c_Z", "B ≥ 1", "λ₃ > 0", "x > 0")),
    Step(
        "A.6 Z sum",
        Y1 <= eta * B * lam3 * xop**2 * r0 * S1,
        (
            "Z moves",
            "Z drift so far",
            "(43) decay",
            "Σ next",
            "t",
            "c_Z",
            "‖X‖ ≤ ‖X‖_F",
            "‖X‖ ≥ 0",
            "‖X‖_F² ≤ N‖X‖²",
            "x",
            "x_op",
            "1 − γ₀ > 0",
        ),
        fix=Y1 <= cZ * t,
        text="‖X‖² stands for ‖X‖_F², and Z(k) for Z(k+1), which the sum bounds and the induction needs",
    ),
    Step("A.6 Z drift", alpha0**2 * Y1 <= 8 * cZ, ("A.6 Z sum", "A.6 η Σ", "A.6 c_Z > 0")),
    Step("A.6 Z drift ≤ α₀/2", Y1 <= alpha0 / 2, ("A.6 Z drift", "(18) c", "α₀ > 0")),
    Step("(44)", Zt >= alpha0 / 2, ("Weyl", "A.6 Z drift ≤ α₀/2")),
    Step("A.6 Δb", dbs <= eta * lam1 * x * e, ("b step", "A.6 ∂L/∂b")),
    Step("A.6 ΔZ b", dZs * bt <= dZs * lam3, ("A.6 (i) b", "‖ΔZ‖ ≥ 0")),
    Step("A.6 ΔZ λ₃", dZs * lam3 <= eta * Q2 * e, ("(43)", "Q₂", "λ₃ > 0")),
    Step("A.6 Z Δb", Z_s * dbs <= lam1 * x * dbs, ("A.6 ‖Z(s)‖", "‖Δb‖ ≥ 0")),
    Step("A.6 λ₁x Δb", lam1 * x * dbs <= eta * (lam1 * x) ** 2 * e, ("A.6 Δb", "λ₁ > 0", "x > 0")),
    Step("A.6 T", Eq(T * lam1**2 * lam3**2, B * lam3**2 + lam1**2), ("T", "λ₁ > 0", "λ₃ > 0")),
    Step("A.6 P₁", Eq(P1, B * lam3**2 + lam1**2), ("P₁", "A.6 T")),
    Step("A.6 Q₁", Eq(Q1, Q2 + (lam1 * x) ** 2), ("Q₁", "Q₂", "A.6 P₁")),
    Step("A.6 Δŷ", dy <= eta * Q1 * e, ("Δŷ", "A.6 ΔZ b", "A.6 ΔZ λ₃", "A.6 Z Δb", "A.6 λ₁x Δb", "A.6 Q₁")),
    Step("A.6 inner 1", inner1 <= eta * Q2 * e**2, ("inner 1", "A.6 ΔZ b", "A.6 ΔZ λ₃")),
    Step("A.6 σ_min²", sk**2 >= alpha0**2 / 4, ("(ii) at s",)),
    Step("A.6 ηe²", eta * e**2 >= 0, ()),
    Step("A.6 inner 2", inner2 <= -(alpha0**2) / 4 * (eta * e**2), ("inner 2", "A.6 σ_min²", "A.6 ηe²")),
    Step("A.6 Δŷ max", dy <= dymax, ("A.6 Δŷ", "ηQ₁e")),
    Step("A.6 Δŷ² max", dy**2 <= dymax**2, ("A.6 Δŷ max", "‖Δŷ‖ ≥ 0")),
    Step("A.6 Δŷ²", dy**2 <= (eta * Q1 * e) ** 2, ("A.6 Δŷ² max", "ηQ₁e")),
    Step(
        "A.6 L(k+1)",
        L1 <= (1 - eta * alpha0**2 / 2 + eta**2 * Q1**2 + 2 * eta * Q2) * L0,
        ("½‖a + b‖²", "inner", "A.6 inner 2", "L(k)", "A.6 Δŷ²", "A.6 inner 1"),
    ),
    Step("(20) second", eta < STEP, ("(20)",)),
    Step("(20) k₁", eta < 2 * (1 - gamma0) ** 2 * lam_bar * k1, ("(20) second", "k₁")),
    Step("(20) k₁k₄", eta < k4 * k1, ("(20) k₁", "k₄")),
    Step("(20) k₁k₂", Eq(k1 * k2, 1), ("k₁", "k₂", "λ₁ > 0", "λ₃ > 0")),
    Step("(20) k₂ > 0", k2 > 0, ("k₂", "λ₁ > 0", "λ₃ > 0")),
    Step("(20) ηk₂", eta * k2 < k4, ("(20) k₁k₄", "(20) k₁k₂", "(20) k₂ > 0")),
    Step("(20) k₃‖X‖_F²", k3 * XF**2 < k4, ("(20) ηk₂", "k₂", "k₃")),
    Step("(20) x(1−γ₀)", Eq(x * (1 - gamma0), XF), ("x", "1 − γ₀ > 0")),
    Step("(20) k₃x²(1−γ₀)²", k3 * (x * (1 - gamma0)) ** 2 < k4, ("(20) k₃‖X‖_F²", "(20) x(1−γ₀)")),
    Step("(20) k₃x²", k3 * x**2 < 2 * lam_bar, ("(20) k₃x²(1−γ₀)²", "k₄", "1 − γ₀ > 0")),
    Step("(20) T > 0", T > 0, ("T", "B ≥ 1", "λ₁ > 0", "λ₃ > 0")),
    Step("λ̄ T²", Eq(lam_bar * T**2, B), ("λ̄", "(20) T > 0")),
    Step("(20) T", k3 * x**2 * T**2 < 2 * B, ("(20) k₃x²", "λ̄ T²", "(20) T > 0")),
    Step("(20) P₁", Eq(k3 * lam3**2 * T**2, eta * P1**2), ("k₃", "P₁")),
    Step("(20) P₁x²", Eq(k3 * x**2 * T**2 * lam3**2, eta * P1**2 * x**2), ("(20) P₁",)),
    Step("(20) Tλ₃", k3 * x**2 * T**2 * lam3**2 < 2 * B * lam3**2, ("(20) T", "λ₃ > 0")),
    Step("(20) Q₁", eta * P1**2 * x**2 < 2 * B * lam3**2, ("(20) Tλ₃", "(20) P₁x²")),
    Step("A.6 by (20)", eta * Q1**2 <= 2 * Q2, ("(20) Q₁", "Q₁", "Q₂", "x > 0")),
    Step("A.6 by (19)", 16 * Q2 <= alpha0**2, ("(19) x", "Q₂")),
    Step("A.6 L(k+1) 4Q₂", L1 <= (1 - eta * (alpha0**2 / 2 - 4 * Q2)) * L0, ("A.6 L(k+1)", "A.6 by (20)", "L(k)")),
    Step("A.6 (iii)", L1 <= (1 - eta * alpha0**2 / 4) * L0, ("A.6 L(k+1) 4Q₂", "A.6 by (19)", "L(k)")),
    # What the hypotheses and Lemma 3.1 say of the step size and of gamma, beyond the print.
    Step("note (20) P₁", eta * (u + v) ** 2 * x**2 < 2 * u, ("(20) Q₁", "A.6 P₁", "u", "v")),
    Step("note (20)", ex * (u + v) ** 2 < 2 * u, ("note (20) P₁", "ηx²")),
    Step("note ηx² > 0", ex > 0, ("ηx²", "x > 0")),
    Step("note step", 2 * ex * v < 1, ("note (20)", "note u > 0", "note ηx² > 0"), text="4uv ≤ (u + v)²"),
    Step("note ηα₀²", N * (eta * alpha0**2) <= v * ex, ("note α₀", "ηx²")),
    Step("note Nηα₀²", N * (eta * alpha0**2) < Rational(1, 2), ("note ηα₀²", "note step")),
    Step(
        "note 4/α₀² never binds",
        eta * alpha0**2 < Rational(1, 2),
        ("note Nηα₀²",),
        text="(20) asks for η α₀² < 4",
    ),
    Step("note η 1", ex * v**2 < 2 * u, ("note (20)", "note u > 0", "note v > 0", "note ηx² > 0")),
    Step("note η 2", N * (ex * v**2) < 2 * (N * u), ("note η 1",)),
    Step("note η 3", 8 * (N * (ex * v**2)) < v, ("note η 2", "note N and λ₁")),
    Step("note η", 8 * (N * ex * v) < 1, ("note η 3", "note v > 0")),
    Step("note rate 1", N * (N * (eta * alpha0**2)) <= N * (v * ex), ("note ηα₀²",)),
    Step("note rate", 32 * N**2 * (eta * alpha0**2 / 4) < 1, ("note rate 1", "note η"), text="1 − rate < 1/(32 N²)"),
    Step("note u ≥ g²λ₃²", u >= (g * lam3) ** 2, ("u", "B = 1 + g²")),
    Step("note γ 1", u >= gl**2, ("note u ≥ g²λ₃²", "gλ₃")),
    Step("note γ 2", 16 * (N * gl**2) <= v, ("note N and λ₁", "note γ 1")),
    Step("note γ 3", Eq(g * h, gamma * lam1), ("g = γλ₁/(1−γ₀)", "h")),
    Step("note γ 4", Eq(gl * h, gamma * lam1 * lam3), ("note γ 3", "gλ₃")),
    Step("note γ 5", Eq(gl * h, lam1 * (wr * h)), ("note γ 4", "w")),
    Step("note h > 0", h > 0, ("h", "1 − γ₀ > 0")),
    Step("note γ 6", Eq(gl, lam1 * wr), ("note γ 5", "note h > 0")),
    Step("note γ 7", Eq(gl**2, v * wr**2), ("note γ 6", "v")),
    Step("note γ 8", 16 * (N * (v * wr**2)) <= v, ("note γ 2", "note γ 7")),
    Step(
        "note γ",
        16 * (N * wr**2) <= 1,
        ("note γ 8", "note v > 0"),
        text="(19) with Lemma 3.1: γ λ₃ is at most (1 − γ₀)/(4√N), whatever the width",
    ),
    Step("note x ≥ ‖X‖_F", x >= XF, ("x", "γ₀ > 0", "1 − γ₀ > 0")),
    Step("note x²", eta * XF**2 <= ex, ("note x ≥ ‖X‖_F", "ηx²")),
    Step("note u ≥ λ₃²", u >= lam3**2, ("u", "B ≥ 1")),
    Step("note v ≥ 16Nλ₃²", 16 * (N * lam3**2) <= v, ("note N and λ₁", "note u ≥ λ₃²")),
    Step("note η λ₃ 1", 16 * (N * lam3**2) * ex <= v * ex, ("note v ≥ 16Nλ₃²", "note ηx² > 0")),
    Step("note η λ₃ 2", 128 * N * (N * lam3**2 * ex) < 1, ("note η λ₃ 1", "note η")),
    Step("note η λ₃ 3", N * lam3**2 * (eta * XF**2) <= N * lam3**2 * ex, ("note x²",)),
    Step(
        "note η λ₃",
        128 * N * (N * lam3**2 * (eta * XF**2)) < 1,
        ("note η λ₃ 2", "note η λ₃ 3"),
        text="with ‖x_i‖ = 1 and C₃ = 1 as in Section 5: η < 1/(128 N³), although Section 7 sets η = 1/N",
    ),
)

# --- statements ------------------------------------------------------------------------------------

HALF = Rational(1, 2)
POWERS = {
    alpha0: (HALF, 0), nW: (HALF, 0), nA: (1, 0), gamma: (-1, 0), XF: (0, HALF), r0: (0, HALF),
    C1: (HALF, 0), C2: (1, 0),
}  # fmt: skip
RANDOM = {"scale": "1", "init": "random"}
GROWTH = Growth(
    POWERS,
    width={**RANDOM, "dim": "20", "samples": "10"},
    samples={**RANDOM, "dim": "400", "width": "800"},
    widths=(200, 400, 800, 1600),
    counts=(4, 8, 16, 32),
    text="initialisation (27) with γ = 1/(2‖A‖): α₀ and ‖W‖ grow as √m, ‖A‖ as m; inputs of norm 1 in general position",
)

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
    facts=GF_FACTS,
    proof=GF_PROOF,
    reading=(*READING, NARROW),
    growth=GROWTH,
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
    facts=GD_FACTS,
    proof=GD_PROOF,
    references=(Reference(eta, 1 / N, "the paper's step size 1/N"),),
    reading=(*READING, NARROW),
    settings=("eta",),
    growth=replace(GROWTH, powers={**POWERS, N: (0, 1)}),
    quick=QUICK,
)

# --- a sharper statement ----------------------------------------------------------------------------
# Ours, not the paper's. Write e = Zb - y, and a prime for the next step. As b' = b - eta Z^T e,
#     e' = (I - eta Z Z^T) e + (Z' - Z) b',
# exactly: no term of second order is dropped. While eta ||Z||^2 <= 1 the first term is at most
# (1 - eta sigma_min(Z)^2) ||e||. The second is at most ||Z' - Z|| ||b'||, and by the Lipschitz property of relu
#     (1 - gamma ||A'||) ||Z' - Z||_F <= gamma ||Z|| ||A' - A||_F + ||X|| ||W' - W||_F,
# which the gradients (7) and (8) turn into ||Z' - Z||_F <= eta K lambda_3 ||e||, with operator norms of X and Z;
# ||Z|| is measured at the start and followed. So ||e'|| <= (1 - eta mu) ||e||.
# The path of b is shorter than the sum of ||Z|| ||e||: from ||(I - eta Z Z^T)e||^2 <= ||e||^2 - eta ||Z^T e||^2,
#     eta ||Z^T e||^2 / ||e|| <= 2 (||e|| - ||e'|| + eta lambda_3^2 K ||e||),
# which is summable, and ||Z^T e|| >= sigma ||e||. The norm of b' inside e' is bounded before, by one crude step.

nZ, delta, sigma, zeta, K, mu = symbols("norm_Z delta sigma zeta K mu", real=True)
SHARP_DEFINITIONS = {
    lam2: nA + C2,
    lam3: nb + C3,
    gamma0: gamma * lam2,
    sigma: alpha0 - delta,
    zeta: nZ + delta,
    K: (gamma**2 * zeta**2 + Xop**2) / (1 - gamma0) ** 2,
    mu: sigma**2 - lam3**2 * K,
}
As, kept, ZZe, e1, eig, rest, qk, cont, slip, sum0, sum1, gz = symbols(
    "norm_A_s kept Z_Z_residual residual_next eigenvalue remainder q contraction slip sum_old sum_new g", real=True
)
SHARP_FACTS = (
    *(f for f in SIGNS if f.id not in ("‖X‖_F > 0", "N ≥ 1")),
    Fact("‖X‖ ≥ 0", Xop >= 0),
    Fact("‖Z(0)‖ ≥ 0", nZ >= 0),
    Fact("α₀ ≤ ‖Z(0)‖", alpha0 <= nZ, cited=True),
    Fact("h", Eq(h, 1 - gamma0), "abbreviation", cited=True),
    Fact("G", Eq(G, gamma * zeta), "abbreviation", cited=True),
    Fact("x", Eq(x, Xop / h), "abbreviation", cited=True),
    Fact("g", Eq(gz, G / h), "abbreviation", cited=True),
    Fact("slip", Eq(slip, lam3**2 * K), "abbreviation", cited=True),
    Fact("q", Eq(qk, 1 - eta * mu), "the contraction per step", cited=True),
    Fact("c_A", Eq(cA, lam3 * gz * r0), "abbreviation", cited=True),
    Fact("c_W", Eq(cW, lam3 * x * r0), "abbreviation", cited=True),
    Fact("c_Z", Eq(cZ, lam3 * K * r0), "abbreviation", cited=True),
    Fact("‖Z(s)‖ ≥ 0", Z_s >= 0, cited=True),
    Fact("‖b(s)‖ ≥ 0", bs >= 0, cited=True),
    Fact("‖Q⁻¹‖ ≥ 0", Qinv >= 0, cited=True),
    Fact("(i) A at s", As <= lam2, "inductive hypothesis", cited=True),
    Fact("b drift at s", mu * D0 <= 2 * sigma * r0, "inductive hypothesis, for ‖b(s) − b(0)‖", cited=True),
    Fact("Z drift at s", Y0 <= delta, "inductive hypothesis, for ‖Z(s) − Z(0)‖_F", cited=True),
    Fact("triangle b at s", bs <= nb + D0, cited=True),
    Fact("triangle Z", Z_s <= nZ + Y0, cited=True),
    Fact("Weyl at s", sk >= alpha0 - Y0, cited=True),
    Fact("Lemma 3.2", Qinv * (1 - gamma * As) <= 1, "‖Q⁻¹‖ ≤ 1/(1 − γ‖A‖)", cited=True),
    Fact("‖Q⁻¹‖‖b‖", Eq(Qb, Qinv * bs), "abbreviation", cited=True),
    Fact("(7)", gW <= Xop * Qb * e, "submultiplicativity, ‖D‖ ≤ 1, ‖E‖ ≤ 1", cited=True),
    Fact("(8)", gA <= gamma * Z_s * Qb * e, "submultiplicativity, ‖D‖ ≤ 1", cited=True),
    Fact("(9)", gb <= Z_s * e, "submultiplicativity", cited=True),
    Fact("(9) below", gb >= sk * e, "‖Zᵀe‖ ≥ σ_min(Z) ‖e‖, for N ≤ m", cited=True),
    Fact("‖∂L/∂b‖ ≥ 0", gb >= 0, cited=True),
    Fact("(iii) at s", e <= ps * r0, "inductive hypothesis; beta_s = (1 − ημ)^s", cited=True),
    Fact("power ≤ 1", ps <= 1, "for 0 ≤ 1 − ημ ≤ 1", cited=True),
    Fact("Σ", Eq(sum1 * (1 - qk), 1 - pk), "geometric sum over s = 0 … k", cited=True),
    Fact("power k ≥ 0", pk >= 0, "for 1 − ημ ≥ 0", cited=True),
    Fact("Σ next", Eq(sum1, sum0 + ps), cited=True),
    Fact("b moves", D1 <= D0 + eta * gb, cited=True),
    Fact(
        "b so far",
        sigma * D0 <= 2 * (r0 - e) + 2 * slip * r0 * (eta * sum0),
        "induction; equality at s = 0",
        cited=True,
    ),
    Fact("W moves", W1 <= W0 + eta * gW, cited=True),
    Fact("W so far", W0 <= eta * cW * sum0, "induction over the sum", cited=True),
    Fact("A moves", E1 <= E0 + eta * gA, cited=True),
    Fact("A so far", E0 <= eta * cA * sum0, "induction over the sum", cited=True),
    Fact("Z moves", Y1 <= Y0 + dZs, cited=True),
    Fact("Z so far", Y0 <= eta * cZ * sum0, "induction over the sum", cited=True),
    Fact("triangle b", bt <= D1 + nb, cited=True),
    Fact("triangle W", Wt <= W1 + nW, cited=True),
    Fact("triangle A", At <= E1 + nA, cited=True),
    Fact("‖ΔZ‖ ≥ 0", dZs >= 0, cited=True),
    Fact("A step", dAs <= eta * gA, cited=True),
    Fact("W step", dWs <= eta * gW, cited=True),
    Fact("‖ΔA‖ ≥ 0", dAs >= 0, cited=True),
    Fact(
        "two equilibria",
        dZs <= gamma * Z_s * dAs + gamma * At * dZs + Xop * dWs,
        "relu is 1-Lipschitz, twice; Frobenius norms of the differences",
        cited=True,
    ),
    Fact("Weyl", Zt >= alpha0 - Y1, cited=True),
    Fact("eigenvalue above", eig <= Z_s**2, "eigenvalue: the one of ZZᵀ with the largest |1 − η ·|", cited=True),
    Fact("eigenvalue below", eig >= sk**2, cited=True),
    Fact("contraction", Eq(cont, Abs(1 - eta * eig)), "the norm of I − ηZZᵀ", cited=True),
    Fact("kept", kept <= cont * e, "‖(I − ηZZᵀ)e‖", cited=True),
    Fact("kept ≥ 0", kept >= 0, cited=True),
    Fact("kept²", kept**2 <= e**2 - 2 * eta * gb**2 + eta**2 * ZZe**2, "an equality; this half is used", cited=True),
    Fact("‖ZZᵀe‖", ZZe <= Z_s * gb, "submultiplicativity", cited=True),
    Fact("‖ZZᵀe‖ ≥ 0", ZZe >= 0, cited=True),
    Fact("remainder", rest <= dZs * bt, "‖(Z(k+1) − Z(k)) b(k+1)‖", cited=True),
    Fact("residual moves", e1 <= kept + rest, "e' = (I − ηZZᵀ)e + (Z' − Z)b'", cited=True),
    Fact("residual next ≥ 0", e1 >= 0, cited=True),
    Fact("residual > 0", e > 0, "with residual 0 nothing moves any more", cited=True),
    Fact("L(k)", Eq(L0, e**2 / 2), cited=True),
    Fact("L(k+1)", Eq(L1, e1**2 / 2), cited=True),
)


def _drift(name: str, moved: Symbol, grown: str, c: Symbol, radius: Symbol | None) -> tuple[Step, ...]:
    """Sum the moves of one parameter: at most c/mu in all, which the hypothesis compares with the radius."""
    return (
        Step(f"{name} sum", moved <= eta * c * sum1, (f"{name} moves", f"{name} so far", grown, "Σ next")),
        Step(f"{name} cΣ", c * (eta * mu * sum1) <= c, ("Σ bound", f"c_{name} ≥ 0")),
        Step(f"{name} μ sum", mu * moved <= c * (eta * mu * sum1), (f"{name} sum", "μ > 0")),
        Step(f"{name} drift", mu * moved <= c, (f"{name} μ sum", f"{name} cΣ")),
        *(
            ()
            if radius is None
            else (Step(f"{name} radius", moved <= radius, (f"{name} drift", f"{name} 1", "μ > 0")),)
        ),
    )


SHARP_PROOF = (
    Step("λ₂ > 0", lam2 > 0),
    Step("λ₃ > 0", lam3 > 0),
    Step("ζ > 0", zeta > 0),
    Step("γ₀ > 0", gamma0 > 0, ("γ > 0", "λ₂ > 0")),
    Step("h > 0", h > 0, ("h", "γ₀ < 1")),
    Step("G > 0", G > 0, ("G", "γ > 0", "ζ > 0")),
    Step("x ≥ 0", x >= 0, ("x", "h > 0")),
    Step("g > 0", gz > 0, ("g", "G > 0", "h > 0")),
    Step("gh", Eq(gz * h, G), ("g", "h > 0")),
    Step("xh", Eq(x * h, Xop), ("x", "h > 0")),
    Step("K 1", Eq(K, (gamma**2 * zeta**2 + Xop**2) / (1 - gamma0) ** 2), text="its definition"),
    Step("K 2", Eq(K, (G**2 + Xop**2) / h**2), ("K 1", "G", "h")),
    Step("K = g² + x²", Eq(K, gz**2 + x**2), ("K 2", "g", "x", "h > 0")),
    Step("K > 0", K > 0, ("K = g² + x²", "g > 0")),
    Step("σ", Eq(sigma, alpha0 - delta), text="its definition"),
    Step("σ > 0", sigma > 0, ("σ", "δ < α₀")),
    Step("ζ", Eq(zeta, nZ + delta), text="its definition"),
    Step("σ ≤ ζ", sigma <= zeta, ("σ", "ζ", "α₀ ≤ ‖Z(0)‖")),
    Step("μ 1", Eq(mu, sigma**2 - lam3**2 * K), text="its definition"),
    Step("μ", Eq(mu, sigma**2 - slip), ("μ 1", "slip")),
    Step("slip ≥ 0", slip >= 0, ("slip", "K > 0")),
    Step("μ ≤ σ²", mu <= sigma**2, ("μ", "slip ≥ 0")),
    Step("μ ≤ σζ", mu <= sigma * zeta, ("μ ≤ σ²", "σ ≤ ζ", "σ > 0")),
    Step("μ ≤ ζ²", mu <= zeta**2, ("μ ≤ σζ", "σ ≤ ζ", "ζ > 0")),
    Step("ηζ² < 1", eta * zeta**2 < 1, ("step", "ζ > 0")),
    Step("ημ < 1", eta * mu < 1, ("ηζ² < 1", "μ ≤ ζ²")),
    Step("q ≥ 0", qk >= 0, ("q", "ημ < 1"), text="so the powers of q are at least 0"),
    Step("q ≤ 1", qk <= 1, ("q", "μ > 0"), text="so the powers of q are at most 1"),
    Step("Σ bound", eta * mu * sum1 <= 1, ("Σ", "q", "power k ≥ 0")),
    # what holds at step s
    Step("b hypothesis", mu * C3 >= 2 * sigma * r0, ("b", "σ > 0")),
    Step("‖b(s) − b(0)‖", D0 <= C3, ("b drift at s", "b hypothesis", "μ > 0")),
    Step("(i) b at s", bs <= lam3, ("triangle b at s", "‖b(s) − b(0)‖")),
    Step("‖Z(s)‖", Z_s <= zeta, ("triangle Z", "Z drift at s", "ζ")),
    Step("(ii) at s", sk >= sigma, ("Weyl at s", "Z drift at s", "σ")),
    Step("γ‖A(s)‖", gamma * As <= gamma0, ("(i) A at s", "γ > 0")),
    Step("h‖Q⁻¹‖", h * Qinv <= 1, ("Lemma 3.2", "γ‖A(s)‖", "h", "‖Q⁻¹‖ ≥ 0")),
    Step("h‖Q⁻¹‖‖b‖", h * Qb <= bs, ("h‖Q⁻¹‖", "‖Q⁻¹‖‖b‖", "‖b(s)‖ ≥ 0")),
    Step("h‖Q⁻¹‖‖b‖ bound", h * Qb <= lam3, ("h‖Q⁻¹‖‖b‖", "(i) b at s")),
    Step("‖Q⁻¹‖‖b‖ ≥ 0", Qb >= 0, ("‖Q⁻¹‖‖b‖", "‖b(s)‖ ≥ 0", "‖Q⁻¹‖ ≥ 0")),
    # gradients
    Step("∂L/∂b", gb <= zeta * e, ("(9)", "‖Z(s)‖")),
    Step("xh‖Q⁻¹‖‖b‖", x * (h * Qb) <= lam3 * x, ("h‖Q⁻¹‖‖b‖ bound", "x ≥ 0")),
    Step("‖X‖‖Q⁻¹‖‖b‖", Xop * Qb <= lam3 * x, ("xh‖Q⁻¹‖‖b‖", "xh")),
    Step("∂L/∂W", gW <= lam3 * x * e, ("(7)", "‖X‖‖Q⁻¹‖‖b‖")),
    Step("γ‖Z‖", gamma * Z_s <= G, ("‖Z(s)‖", "G", "γ > 0")),
    Step("γ‖Z‖‖Q⁻¹‖‖b‖ 1", gamma * Z_s * Qb <= G * Qb, ("γ‖Z‖", "‖Q⁻¹‖‖b‖ ≥ 0")),
    Step("gh‖Q⁻¹‖‖b‖", gz * (h * Qb) <= gz * lam3, ("h‖Q⁻¹‖‖b‖ bound", "g > 0")),
    Step("γζ‖Q⁻¹‖‖b‖", G * Qb <= lam3 * gz, ("gh‖Q⁻¹‖‖b‖", "gh")),
    Step("γ‖Z‖‖Q⁻¹‖‖b‖", gamma * Z_s * Qb <= lam3 * gz, ("γ‖Z‖‖Q⁻¹‖‖b‖ 1", "γζ‖Q⁻¹‖‖b‖")),
    Step("∂L/∂A", gA <= lam3 * gz * e, ("(8)", "γ‖Z‖‖Q⁻¹‖‖b‖")),
    Step("c_W ≥ 0", cW >= 0, ("c_W", "λ₃ > 0", "x ≥ 0")),
    Step("c_A ≥ 0", cA >= 0, ("c_A", "λ₃ > 0", "g > 0")),
    Step("c_Z ≥ 0", cZ >= 0, ("c_Z", "λ₃ > 0", "K > 0")),
    Step("∂L/∂W decay", gW <= cW * ps, ("∂L/∂W", "(iii) at s", "c_W", "λ₃ > 0", "x ≥ 0")),
    Step("∂L/∂A decay", gA <= cA * ps, ("∂L/∂A", "(iii) at s", "c_A", "λ₃ > 0", "g > 0")),
    # W and A at step k + 1
    *_drift("W", W1, "∂L/∂W decay", cW, None),
    Step("W radius", W1 <= cW / mu, ("W drift", "μ > 0")),
    Step("(i) W c", Wt <= nW + cW / mu, ("W radius", "triangle W")),
    Step("c_W h", Eq(cW, lam3 * Xop * r0 / (1 - gamma0)), ("c_W", "x", "h", "h > 0")),
    Step("(i) W", Wt <= nW + lam3 * Xop * r0 / (1 - gamma0) / mu, ("(i) W c", "c_W h", "μ > 0")),
    Step("A h", mu * C2 * h >= G * (lam3 * r0), ("A", "G", "h")),
    Step("A gh", mu * C2 * h >= gz * h * (lam3 * r0), ("A h", "gh")),
    Step("A c", mu * C2 * h >= cA * h, ("A gh", "c_A")),
    Step("A 1", mu * C2 >= cA, ("A c", "h > 0")),
    *_drift("A", E1, "∂L/∂A decay", cA, C2),
    Step("(i) A", At <= lam2, ("A radius", "triangle A")),
    # Z at step k + 1, which exists as γ‖A(k+1)‖ < 1
    Step("γ‖A(k+1)‖", gamma * At <= gamma0, ("(i) A", "γ > 0")),
    Step("well-posed", gamma * At < 1, ("γ‖A(k+1)‖", "γ₀ < 1")),
    Step("ΔZ 1", gamma * At * dZs <= gamma0 * dZs, ("γ‖A(k+1)‖", "‖ΔZ‖ ≥ 0")),
    Step("ΔZ 2", gamma * Z_s * dAs <= G * dAs, ("γ‖Z‖", "‖ΔA‖ ≥ 0")),
    Step("ΔZ G", dZs * h <= G * dAs + Xop * dWs, ("two equilibria", "ΔZ 1", "ΔZ 2", "h")),
    Step("ΔZ 3", dZs * h <= (gz * dAs + x * dWs) * h, ("ΔZ G", "gh", "xh")),
    Step("ΔZ 4", dZs <= gz * dAs + x * dWs, ("ΔZ 3", "h > 0")),
    Step("ΔA", dAs <= eta * lam3 * gz * e, ("A step", "∂L/∂A")),
    Step("ΔW", dWs <= eta * lam3 * x * e, ("W step", "∂L/∂W")),
    Step("gΔA", gz * dAs <= gz**2 * (eta * lam3 * e), ("ΔA", "g > 0")),
    Step("xΔW", x * dWs <= x**2 * (eta * lam3 * e), ("ΔW", "x ≥ 0")),
    Step("ΔZ", dZs <= K * (eta * lam3 * e), ("ΔZ 4", "gΔA", "xΔW", "K = g² + x²")),
    Step("ΔZ c", lam3 * K * e <= cZ * ps, ("(iii) at s", "c_Z", "K > 0", "λ₃ > 0")),
    Step("ΔZ decay", dZs <= eta * (cZ * ps), ("ΔZ", "ΔZ c")),
    Step("Z 1", mu * delta >= cZ, ("Z", "c_Z")),
    *_drift("Z", Y1, "ΔZ decay", cZ, delta),
    Step("(ii)", Zt >= sigma, ("Weyl", "Z radius", "σ")),
    # a first bound on b at step k + 1, for the remainder
    Step("ηζ‖e‖ 1", eta * zeta * e <= eta * zeta * r0, ("(iii) at s", "power ≤ 1", "ζ > 0")),
    Step("ηζ‖e‖ 2", mu * (eta * zeta) <= sigma * (eta * zeta**2), ("μ ≤ σζ", "ζ > 0")),
    Step("ηζ‖e‖ 3", sigma * (eta * zeta**2) <= sigma, ("ηζ² < 1", "σ > 0")),
    Step("ηζ‖e‖ 4", mu * (eta * zeta) <= sigma, ("ηζ‖e‖ 2", "ηζ‖e‖ 3")),
    Step("ηζ‖e‖", mu * (eta * zeta) * r0 <= sigma * r0, ("ηζ‖e‖ 4",)),
    Step("Δb", eta * gb <= eta * zeta * r0, ("∂L/∂b", "ηζ‖e‖ 1")),
    Step("μΔb", mu * (eta * gb) <= mu * (eta * zeta * r0), ("Δb", "μ > 0")),
    Step("b crude", mu * D1 <= 3 * sigma * r0, ("b moves", "b drift at s", "μΔb", "ηζ‖e‖", "μ > 0")),
    Step("b radius", D1 <= C3, ("b crude", "b", "μ > 0")),
    Step("(i) b", bt <= lam3, ("b radius", "triangle b")),
    # the residual
    Step("λ_min", eig >= sigma**2, ("eigenvalue below", "(ii) at s", "σ > 0")),
    Step("‖Z(s)‖²", Z_s**2 <= zeta**2, ("‖Z(s)‖", "‖Z(s)‖ ≥ 0")),
    Step("λ_max", eig <= zeta**2, ("eigenvalue above", "‖Z(s)‖²")),
    Step("η λ_max", eta * eig < 1, ("λ_max", "ηζ² < 1")),
    Step("contraction bound", cont <= 1 - eta * sigma**2, ("contraction", "λ_min", "η λ_max")),
    Step("contraction e", cont * e <= (1 - eta * sigma**2) * e, ("contraction bound",)),
    Step("ΔZ b", dZs * bt <= dZs * lam3, ("(i) b", "‖ΔZ‖ ≥ 0")),
    Step("ΔZ λ₃", dZs * lam3 <= eta * slip * e, ("ΔZ", "slip", "λ₃ > 0")),
    Step("remainder bound", rest <= eta * slip * e, ("remainder", "ΔZ b", "ΔZ λ₃")),
    Step("residual", e1 <= (1 - eta * mu) * e, ("residual moves", "kept", "contraction e", "remainder bound", "μ")),
    Step("residual q", e1 <= qk * e, ("residual", "q")),
    Step("residual decays", e1 <= qk * ps * r0, ("residual q", "(iii) at s", "q ≥ 0")),
    Step("L", L1 <= qk**2 * L0, ("residual q", "q ≥ 0", "residual next ≥ 0", "L(k)", "L(k+1)")),
    Step("(iii)", L1 <= (1 - eta * mu * (2 - eta * mu)) * L0, ("L", "q")),
    # the path of b
    Step("η‖Z(s)‖²", eta * Z_s**2 <= 1, ("‖Z(s)‖²", "ηζ² < 1")),
    Step("‖ZZᵀe‖²", ZZe**2 <= Z_s**2 * gb**2, ("‖ZZᵀe‖", "‖ZZᵀe‖ ≥ 0")),
    Step("η‖ZZᵀe‖² 1", eta * ZZe**2 <= eta * (Z_s**2 * gb**2), ("‖ZZᵀe‖²",)),
    Step("η‖ZZᵀe‖² 2", eta * Z_s**2 * gb**2 <= gb**2, ("η‖Z(s)‖²",)),
    Step("η‖ZZᵀe‖²", eta * ZZe**2 <= gb**2, ("η‖ZZᵀe‖² 1", "η‖ZZᵀe‖² 2")),
    Step("path 1", kept**2 <= e**2 - eta * gb**2, ("kept²", "η‖ZZᵀe‖²")),
    Step("path 2", 2 * (kept * e) <= 2 * e**2 - eta * gb**2, ("path 1",), text="2ab ≤ a² + b²"),
    Step("path 3", gb**2 >= sigma * e * gb, ("(9) below", "(ii) at s", "‖∂L/∂b‖ ≥ 0")),
    Step("path 4", 2 * (kept * e) <= 2 * e**2 - eta * (sigma * e * gb), ("path 2", "path 3")),
    Step("path 5", 2 * kept <= 2 * e - eta * (sigma * gb), ("path 4", "residual > 0")),
    Step(
        "path",
        sigma * (eta * gb) <= 2 * (e - e1) + 2 * slip * (eta * e),
        ("path 5", "residual moves", "remainder bound"),
    ),
    Step("path decay", slip * (eta * e) <= slip * (eta * (ps * r0)), ("(iii) at s", "slip ≥ 0")),
    Step("path next", sigma * D1 <= sigma * D0 + sigma * (eta * gb), ("b moves", "σ > 0")),
    Step(
        "b so far, next",
        sigma * D1 <= 2 * (r0 - e1) + 2 * slip * r0 * (eta * sum1),
        ("path next", "b so far", "path", "path decay", "Σ next"),
    ),
    Step("b path", sigma * D1 <= 2 * r0 + 2 * slip * r0 * (eta * sum1), ("b so far, next", "residual next ≥ 0")),
    Step("b path 1", slip * r0 * (eta * mu * sum1) <= slip * r0, ("Σ bound", "slip ≥ 0")),
    Step("b path μ", mu * (sigma * D1) <= mu * (2 * r0 + 2 * slip * r0 * (eta * sum1)), ("b path", "μ > 0")),
    Step("b path 2", mu * (sigma * D1) <= 2 * r0 * (mu + slip), ("b path μ", "b path 1")),
    Step("b path 3", sigma * (mu * D1) <= sigma * (2 * sigma * r0), ("b path 2", "μ")),
    Step("b drift", mu * D1 <= 2 * sigma * r0, ("b path 3", "σ > 0")),
)

GD_SHARP = Theorem(
    key="gd-relu:sharp",
    title="gradient descent trains a ReLU implicit network: measured ‖Z‖, step up to 1/‖Z‖²",
    source=_source("Theorem 4.4 (sharpened)"),
    family="relu",
    setting="gradient descent with step η on 1/2 ‖Z b − y‖², W, A and b trained",
    measured={
        **{s: quantity for s, quantity in MEASURED.items() if s != XF},
        Xop: q.norm_inputs,
        nZ: q.norm_equilibrium,
        N: q.samples,
    },
    chosen={C2: free, C3: free, delta: free, eta: largest("step")},
    monitored=_monitored("k"),
    definitions=SHARP_DEFINITIONS,
    hypotheses=(
        *WELL_POSED,
        Hypothesis("δ < α₀", delta < alpha0),
        Hypothesis("μ > 0", mu > 0),
        Hypothesis("b", mu * C3 >= 3 * sigma * r0),
        Hypothesis("A", mu * C2 * (1 - gamma0) >= gamma * zeta * lam3 * r0),
        Hypothesis("Z", mu * delta >= lam3 * K * r0),
        Hypothesis("η > 0", eta > 0),
        Hypothesis("step", eta < zeta**-2),
    ),
    conclusions=(
        Conclusion("(i) W", Wt <= nW + lam3 * Xop * r0 / ((1 - gamma0) * mu)),
        Conclusion("(i) A", At <= lam2),
        Conclusion("(i) b", bt <= lam3),
        Conclusion("(ii)", Zt >= sigma, "all but δ of the initial value is kept"),
    ),
    rate=Rate("(iii)", gap=eta * mu * (2 - eta * mu), per="step"),
    facts=SHARP_FACTS,
    proof=SHARP_PROOF,
    references=(Reference(eta, 1 / N, "the paper's step size 1/N"),),
    reading=(
        "Not in the paper: a sharper form of its Theorem 4.4, proved step by step in the audit. The residual moves "
        "by I − η Z Zᵀ and a remainder, so the step may be as large as 1/‖Z‖² and no square of it is lost; ‖Z‖ and "
        "‖X‖ are operator norms, measured at the start; ‖W(k)‖ needs no bound of its own.",
        "C₂, C₃ and δ bound how far A, b and Z move; μ is what the remainder leaves of σ_min(Z)².",
        *READING,
    ),
    settings=("eta",),
    quick=QUICK,
)

# --- lemmas ----------------------------------------------------------------------------------------

M, ZF, Zl, PhiF = symbols("M norm_Z_F max_Z_l_F norm_Phi_F", real=True)
d0, d1, d2, power, tail, geo, Dpq = symbols(
    "step_l step_next distance_fixed power_l power_q geometric_sum distance_p_q", real=True
)
WELLPOSED_FACTS = (
    Fact("‖A‖ ≥ 0", nA >= 0),
    Fact("M > 0", M > 0),
    Fact("‖Φ‖_F ≥ 0", PhiF >= 0),
    Fact("steps ≥ 0", d0 >= 0),
    Fact("powers ≥ 0", power >= 0, "γ₀^ℓ"),
    Fact("tail ≥ 0", tail >= 0, "γ₀^q"),
    Fact("‖Z‖_F ≥ 0", ZF >= 0),
    Fact("Lipschitz", d1 <= gamma * nA * d0, "relu is 1-Lipschitz; ‖ZA‖_F ≤ ‖Z‖_F ‖A‖", cited=True),
    Fact("so far", d0 <= power * PhiF, "induction, ‖Z¹ − Z⁰‖_F = ‖Φ‖_F", cited=True),
    Fact("Σ", Eq(geo * (1 - gamma0), power - tail), "γ₀^p + … + γ₀^(q−1)", cited=True),
    Fact("triangle", Dpq <= geo * PhiF, "‖Z^p − Z^q‖_F", cited=True),
    Fact("p = 0", Zl <= geo * PhiF, "Z⁰ = 0", cited=True),
    Fact("γ₀⁰", power <= 1, cited=True),
    Fact("fixed point", ZF <= gamma * nA * ZF + PhiF, "Z = σ(γZA + Φ)", cited=True),
    Fact("two fixed points", d2 <= gamma * nA * d2, cited=True),
    Fact("distance ≥ 0", d2 >= 0, cited=True),
)
WELLPOSED_PROOF = (
    Step("1 − γ₀ > 0", 1 - gamma0 > 0, ("γ₀ < 1",)),
    Step("γ‖A‖ ≤ γ₀", gamma * nA <= gamma0, ("γ > 0", "‖A‖ ≤ M")),
    Step(
        "A.1 contraction",
        d1 < gamma0 * d0,
        ("Lipschitz", "γ‖A‖ ≤ γ₀", "γ > 0", "‖A‖ ≤ M", "1 − γ₀ > 0"),
        fix=d1 <= gamma0 * d0,
        text="‖A‖ ≤ M and equal iterates allow equality",
    ),
    Step("γ₀ ≥ 0", gamma0 >= 0, ("γ > 0", "‖A‖ ≤ M")),
    Step("A.1 powers", d1 <= gamma0 * power * PhiF, ("A.1 contraction", "so far", "γ₀ ≥ 0")),
    Step("A.1 Σ", geo <= power / (1 - gamma0), ("Σ", "1 − γ₀ > 0")),
    Step("A.1 Cauchy", Dpq <= power / (1 - gamma0) * PhiF, ("triangle", "A.1 Σ")),
    Step("A.1 Σ from 0", geo <= 1 / (1 - gamma0), ("A.1 Σ", "γ₀⁰", "1 − γ₀ > 0")),
    Step("A.1 ‖Z^ℓ‖", Zl <= PhiF / (1 - gamma0), ("p = 0", "A.1 Σ from 0")),
    Step("A.1 ‖Z‖ 1", ZF * (1 - gamma0) <= PhiF, ("fixed point", "γ‖A‖ ≤ γ₀")),
    Step("A.1 ‖Z‖", ZF <= PhiF / (1 - gamma0), ("A.1 ‖Z‖ 1", "1 − γ₀ > 0")),
    Step("A.1 unique", d2 <= 0, ("two fixed points", "distance ≥ 0", "γ‖A‖ ≤ γ₀", "1 − γ₀ > 0")),
)

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
    facts=WELLPOSED_FACTS,
    proof=WELLPOSED_PROOF,
    reading=(
        "M is taken just above ‖A‖, where the lemma says most; the room of 1e-9 lets an instance that "
        "attains the bound (such as A = I) be decided.",
    ),
    quick=QUICK,
)

Wa, Wb, Aa, Ab, dW, dA, dZ = symbols("norm_W_a norm_W_b norm_A_a norm_A_b diff_W diff_A diff_Z", real=True)
za, zaF, phia, dAF, AbF, dl, dlop, dn, dPhi = symbols(
    "norm_Z_a norm_Z_a_F norm_Phi_a_F diff_A_F norm_A_b_F diff_Z_l_F diff_Z_l diff_Z_next_F diff_Phi_F", real=True
)
t1, t1p, t2, C, ra, dfirst, pl, Sl, dZF = symbols(
    "term_1 term_1_printed term_2 C g_a diff_Z_1_F power_l sum_l diff_Z_F", real=True
)
LIPSCHITZ_FACTS = (
    Fact("‖X‖_F ≥ 0", XF >= 0),
    Fact("‖W_a‖ ≥ 0", Wa >= 0),
    Fact("‖A_a‖ ≥ 0", Aa >= 0),
    Fact("‖A_b‖ ≥ 0", Ab >= 0),
    Fact("‖ΔA‖ ≥ 0", dA >= 0),
    Fact("‖ΔW‖ ≥ 0", dW >= 0),
    Fact("λ₂ > 0", lam2 > 0, "(16) divides by it; for A_a = A_b = 0 its first term is 0/0 and stands for 0"),
    Fact("‖Z_a‖ ≥ 0", za >= 0, cited=True),
    Fact("‖ΔZ^ℓ‖_F ≥ 0", dl >= 0, cited=True),
    Fact("‖ΔZ^ℓ‖ ≥ 0", dlop >= 0, cited=True),
    Fact("‖ΔA‖ ≤ ‖ΔA‖_F", dA <= dAF, cited=True),
    Fact("‖A_b‖ ≤ ‖A_b‖_F", Ab <= AbF, cited=True),
    Fact("‖Z_a‖ ≤ ‖Z_a‖_F", za <= zaF, cited=True),
    Fact("Lemma 3.1", zaF <= phia / (1 - gamma0), cited=True),
    Fact("‖Φ_a‖_F", phia <= Wa * XF, cited=True),
    Fact("‖Φ_a‖_F ≥ 0", phia >= 0, cited=True),
    Fact("term 1", t1 <= za * dAF, "‖Z_a (A_a − A_b)‖_F", cited=True),
    Fact("term 1 F", t1 <= zaF * dA, "‖Z_a (A_a − A_b)‖_F", cited=True),
    Fact("term 1 printed", t1p <= t1 + t2, "‖Z_a A_a − Z_b A_b‖_F", cited=True),
    Fact("term 2", t2 <= dl * Ab, "‖(Z_a − Z_b) A_b‖_F", cited=True),
    Fact("terms", dn <= gamma * t1 + gamma * t2 + dPhi, "relu is 1-Lipschitz", cited=True),
    Fact("‖ΔΦ‖_F", dPhi <= XF * dW, "relu is 1-Lipschitz", cited=True),
    Fact("g_a", Eq(ra * (1 - gamma0), gamma), "abbreviation", cited=True),
    Fact("C", Eq(C, gamma0 / (1 - gamma0) * lam1 / lam2 * XF * dA + XF * dW), cited=True),
    Fact("so far", dl <= pl * dfirst + Sl * C, "induction over ℓ", cited=True),
    Fact("Σ", Eq(Sl * (1 - gamma0), 1 - pl), "1 + γ₀ + … + γ₀^(ℓ−1)", cited=True),
    Fact("γ₀^ℓ ≥ 0", pl >= 0, cited=True),
    Fact("limit", dZF <= gamma0 * dZF + C, "the recursion at the limit", cited=True),
    Fact("‖ΔZ‖ ≤ ‖ΔZ‖_F", dZ <= dZF, cited=True),
)
LIPSCHITZ_PROOF = (
    Step("1 − γ₀ > 0", 1 - gamma0 > 0, ("γ₀ < 1",)),
    Step("γ₀ = γλ₂", Eq(gamma0, gamma * lam2)),
    Step("‖W_a‖ ≤ λ₁", Wa <= lam1),
    Step("‖A_b‖ ≤ λ₂", Ab <= lam2),
    Step("γ₀ ≥ 0", gamma0 >= 0, ("γ > 0", "γ₀ = γλ₂")),
    Step(
        "A.5 display",
        gamma * t1p + gamma * t2 + dPhi <= gamma * za * dAF + gamma * dl * Ab + dPhi,
        ("term 1", "term 2", "term 1 printed", "‖Z_a‖ ≥ 0", "‖ΔA‖ ≤ ‖ΔA‖_F", "‖ΔZ^ℓ‖_F ≥ 0", "γ > 0"),
        fix=gamma * t1 + gamma * t2 + dPhi <= gamma * za * dAF + gamma * dl * Ab + dPhi,
        text="the first term is ‖Z_a A_a − Z_a A_b‖, not ‖Z_a A_a − Z_b A_b‖",
    ),
    Step("γ/(1−γ₀) ≥ 0", ra > 0, ("g_a", "γ > 0", "1 − γ₀ > 0")),
    Step("A.5 ‖Z_a‖", zaF * (1 - gamma0) <= phia, ("Lemma 3.1", "1 − γ₀ > 0")),
    Step("A.5 γ‖Z_a‖ 1", ra * (zaF * (1 - gamma0)) <= ra * phia, ("A.5 ‖Z_a‖", "γ/(1−γ₀) ≥ 0")),
    Step("A.5 γ‖Z_a‖", gamma * zaF <= ra * phia, ("A.5 γ‖Z_a‖ 1", "g_a")),
    Step("A.5 γ‖Z_a‖‖ΔA‖", gamma * zaF * dA <= ra * phia * dA, ("A.5 γ‖Z_a‖",)),
    Step("A.5 γ term 1", gamma * t1 <= gamma * zaF * dA, ("term 1 F", "γ > 0")),
    Step(
        "A.5 first term",
        gamma * za * dAF <= ra * phia * dA,
        ("A.5 γ term 1", "A.5 γ‖Z_a‖‖ΔA‖", "‖Z_a‖ ≤ ‖Z_a‖_F", "‖ΔA‖ ≤ ‖ΔA‖_F", "γ/(1−γ₀) ≥ 0", "‖Z_a‖ ≥ 0", "γ > 0"),
        fix=gamma * t1 <= ra * phia * dA,
        text="‖A_a − A_b‖_F becomes ‖A_a − A_b‖; right with ‖Z_a‖_F ‖A_a − A_b‖",
    ),
    Step("A.5 ‖Φ_a‖", phia <= lam1 * XF, ("‖Φ_a‖_F", "‖W_a‖ ≤ λ₁")),
    Step("A.5 ‖Φ_a‖‖ΔA‖", ra * phia * dA <= ra * lam1 * XF * dA, ("A.5 ‖Φ_a‖", "γ/(1−γ₀) ≥ 0")),
    Step("A.5 γ/(1−γ₀)", Eq(ra, gamma0 / ((1 - gamma0) * lam2)), ("g_a", "γ₀ = γλ₂", "1 − γ₀ > 0")),
    Step("A.5 C", Eq(C, ra * lam1 * XF * dA + XF * dW), ("C", "A.5 γ/(1−γ₀)", "1 − γ₀ > 0")),
    Step(
        "A.5 second term",
        gamma * dlop * AbF <= gamma0 * dlop,
        ("γ₀ = γλ₂", "‖A_b‖ ≤ λ₂", "‖A_b‖ ≤ ‖A_b‖_F", "‖ΔZ^ℓ‖_F ≥ 0", "‖ΔZ^ℓ‖ ≥ 0", "γ > 0"),
        fix=gamma * (dl * Ab) <= gamma0 * dl,
        text="the norms are exchanged: ‖Z_a − Z_b‖_F ‖A_b‖",
    ),
    Step("A.5 γ term 2", gamma * t2 <= gamma * (dl * Ab), ("term 2", "γ > 0")),
    Step(
        "A.5 combined",
        dn <= gamma0 * dl + C,
        ("terms", "A.5 first term", "A.5 ‖Φ_a‖‖ΔA‖", "A.5 C", "A.5 γ term 2", "A.5 second term", "‖ΔΦ‖_F"),
    ),
    Step("A.5 ℓ times", dn <= gamma0 * pl * dfirst + (1 + gamma0 * Sl) * C, ("A.5 combined", "so far", "γ₀ ≥ 0")),
    Step("A.5 Σ", Sl <= 1 / (1 - gamma0), ("Σ", "γ₀^ℓ ≥ 0", "1 − γ₀ > 0")),
    Step("A.5 limit", dZF * (1 - gamma0) <= C, ("limit",)),
    Step("A.5 ‖ΔZ‖", dZ <= C / (1 - gamma0), ("A.5 limit", "‖ΔZ‖ ≤ ‖ΔZ‖_F", "1 − γ₀ > 0")),
    Step("(16)", dZ <= XF / (1 - gamma0) * (ra * lam1 * dA + dW), ("A.5 ‖ΔZ‖", "A.5 C", "1 − γ₀ > 0")),
)

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
    facts=LIPSCHITZ_FACTS,
    proof=LIPSCHITZ_PROOF,
    settings=("distance",),
    quick=QUICK,
)

minA, dist, tau = symbols("min_A distance tau", real=True)

# Section 5 follows Lemma 5.1. Its symbols are apart from those of the lemma: they speak of the recipe of
# Sections 5.1 and 5.2, in which C_1 = C_2 = C_3 = lambda_3 = 1 and gamma_0 = 1/2.
sPhi, sZ5, nIA, g5, w5, l1, l2, l0, B5, X5, y5, scale, gscale = symbols(
    "sigma_min_Phi sigma_min_Z_5 norm_I_minus gamma_0_5 norm_W_5 lambda_1_5 lambda_2_5 lambda_0_5 B_5 norm_X_F_5 "
    "norm_y beta gamma_beta",
    real=True,
)
m5, rm, mean, rms, nA5, K5, N5, lstar, sPhi5, trace = symbols(
    "m sqrt_m mean_A rms_A norm_A_5 K N_5 lambda_star sigma_min_Phi_5 trace_G", real=True
)
sumA, powA, phi, nZ5, PhiF5, w52 = symbols("neumann_sum power_l entry_Phi norm_Z_5 norm_Phi_F_5 norm_W_52", real=True)
third = 2 * sPhi / 3
SECTION_5_FACTS = (
    *(Fact(f"{s.name} ≥ 0", s >= 0) for s in (nA, ZF, dist, sPhi, w5, X5, y5, mean, rms, nA5, N5, lstar, rm, phi)),
    Fact("K > 0", K5 > 0),
    Fact("Neumann", Eq(sumA * (1 - gamma * nA), 1 - powA), "1 + γ‖A‖ + … + (γ‖A‖)^ℓ", cited=True),
    Fact("power ≥ 0", powA >= 0, cited=True),
    Fact("fixed points", dist <= gamma * nA * dist, "Z and Φ(I − γA)⁻¹ are both fixed points", cited=True),
    Fact("σ_min(Φ)", sPhi <= sZ5 * nIA, "Φ = Z (I − γA)", cited=True),
    Fact("σ_min(Z) ≥ 0", sZ5 >= 0, cited=True),
    Fact("‖I − γA‖", nIA <= 1 + g5, "γ‖A‖ ≤ γ₀", cited=True),
    Fact("γ₀ = ½", Eq(g5, Rational(1, 2)), cited=True),
    Fact("λ₁", Eq(l1, w5 + 1), "C₁ = 1", cited=True),
    Fact("λ₂ = λ₁", Eq(l2, l1), "‖A(0)‖ = ‖W(0)‖, C₂ = 1", cited=True),
    Fact("λ₀", Eq(l0, Max(l1, g5 * l1 / ((1 - g5) * l2), 1)), "C₁ = C₂ = C₃ = λ₃ = 1", cited=True),
    Fact("B", Eq(B5, 1 + g5**2 / (1 - g5) ** 2 * l1**2 / l2**2), cited=True),
    Fact("(21) holds", third**2 >= 16 * l1 * X5 * y5, cited=True),
    Fact("(22) holds", third**3 >= 128 * X5**2 * y5, cited=True),
    Fact("(23) holds", third**2 >= 128 * X5**2, cited=True),
    Fact("β ≥ 1", scale >= 1, cited=True),
    Fact("β large 1", scale * sPhi**2 >= 36 * (w5 + 1) * X5 * y5, cited=True),
    Fact("β large 2", scale * sPhi >= 17 * X5, cited=True),
    Fact("β large 3", 2 * scale * sPhi >= 3 * y5, cited=True),
    Fact("γ for β", Eq(gscale * (2 * (scale * nA + 1)), 1), "γ chosen again, for γ₀ = ½ with C₂ = 1", cited=True),
    Fact("m", Eq(m5, rm**2), cited=True),
    Fact("ones", nA5 >= mean * m5, "‖A‖ ≥ 1ᵀA1/m", cited=True),
    Fact("‖A‖ ≤ ‖A‖_F", nA5 <= rms * m5, cited=True),
    Fact("m large", rm * mean > K5, cited=True),
    Fact("√m > 0", rm > 0, cited=True),
    Fact("Chernoff", sPhi5**2 >= m5 * lstar / 4, cited=True),
    Fact("m = Ω(N²/λ*²)", rm * lstar >= 144 * K5 * N5, cited=True),
    Fact("trace", N5 * lstar <= trace, "the smallest eigenvalue is below the mean", cited=True),
    Fact("E‖σ(Xw)‖²", trace <= X5**2, cited=True),
    Fact("‖x_i‖ = 1", Eq(X5**2, N5), cited=True),
    Fact("N ≥ 1", N5 >= 1, cited=True),
    Fact("‖Z‖ ≥ σ_min(Z)", nZ5 >= 2 * sPhi5 / 3, "‖Z(0)‖ ≥ σ_min(Z(0)) ≥ σ_min(Φ(0))/(1 + γ₀), γ₀ = ½", cited=True),
    Fact("σ_min(Φ) ≥ 0", sPhi5 >= 0, cited=True),
    Fact("‖Z‖ ≤ ‖Φ‖_F/(1−γ₀)", nZ5 <= 2 * PhiF5, "Lemma 3.1, γ₀ = ½", cited=True),
    Fact("‖Φ‖_F ≤ ‖W‖‖X‖_F", PhiF5 <= w52 * X5, cited=True),
    Fact("‖W(0)‖ ≤ K√m", w52 <= K5 * rm, cited=True),
    Fact("m large for Z", m5 * lstar > 9 * K5**2 * N5, cited=True),
)
SECTION_5_PROOF = (
    Step("A.7 relu", gamma * (phi * minA) + phi >= 0, ("A_ij ≥ 0", "γ > 0"), text="so relu changes nothing"),
    Step("A.7 Neumann", sumA <= 1 / (1 - gamma * nA), ("Neumann", "power ≥ 0", "γ‖A‖ < 1")),
    Step("A.7 closed form", dist <= 0, ("fixed points", "γ‖A‖ < 1")),
    Step("5 σ_min(Z) 1", sPhi <= sZ5 * (1 + g5), ("σ_min(Φ)", "σ_min(Z) ≥ 0", "‖I − γA‖")),
    Step("5 σ_min(Z)", sZ5 >= third, ("5 σ_min(Z) 1", "γ₀ = ½")),
    Step("5.1 λ₁ ≥ 1", l1 >= 1, ("λ₁",)),
    Step("5.1 λ₀", Eq(l0, l1), ("λ₀", "γ₀ = ½", "λ₂ = λ₁", "5.1 λ₁ ≥ 1")),
    Step("5.1 B", Eq(B5, 2), ("B", "γ₀ = ½", "λ₂ = λ₁", "5.1 λ₁ ≥ 1")),
    Step("5.1 σ²", sZ5**2 >= third**2, ("5 σ_min(Z)",)),
    Step("5.1 σ³", sZ5**3 >= third**3, ("5 σ_min(Z)",)),
    Step("(21) gives (17)", sZ5**2 >= 8 / (1 - g5) * l0 * X5 * y5, ("5.1 σ²", "5.1 λ₀", "(21) holds", "γ₀ = ½")),
    Step(
        "(22) gives (18)", sZ5**3 >= B5 * 16 / (1 - g5) ** 2 * X5**2 * y5, ("5.1 σ³", "5.1 B", "(22) holds", "γ₀ = ½")
    ),
    Step("(23) gives (19)", sZ5**2 >= B5 * 16 / (1 - g5) ** 2 * X5**2, ("5.1 σ²", "5.1 B", "(23) holds", "γ₀ = ½")),
    Step("(24) 1", scale**2 * sPhi**2 >= 36 * scale * (w5 + 1) * X5 * y5, ("β large 1", "β ≥ 1")),
    Step("(24) 2", scale * (w5 + 1) * (X5 * y5) >= (scale * w5 + 1) * (X5 * y5), ("β ≥ 1",)),
    Step("(24)", (scale * third) ** 2 >= 16 * (scale * w5 + 1) * X5 * y5, ("(24) 1", "(24) 2")),
    Step("(26)", (scale * third) ** 2 >= 128 * X5**2, ("β large 2", "β ≥ 1")),
    Step("(25) 1", (scale * third) ** 2 * (scale * third) >= 128 * X5**2 * (scale * third), ("(26)", "β ≥ 1")),
    Step("(25) 2", scale * third >= y5, ("β large 3",)),
    Step("(25)", (scale * third) ** 3 >= 128 * X5**2 * y5, ("(25) 1", "(25) 2")),
    Step(
        "5.1 γ after scaling",
        gamma * (scale * nA) < 1,
        ("γ‖A‖ < 1", "β ≥ 1", "γ for β"),
        fix=gscale * (scale * nA) < Rational(1, 2),
        text="γ must be chosen again after the scaling",
    ),
    Step(
        "5.2 ‖A(0)‖",
        nA5 <= K5 * rm,
        ("m", "ones", "‖A‖ ≤ ‖A‖_F", "m large", "√m > 0"),
        fix=nA5 <= rms * m5,
        text="entries with a positive mean give ‖A(0)‖ of order m; the theorem cited is for mean zero",
    ),
    Step("5.2 ‖A(0)‖ exceeds K√m", nA5 > K5 * rm, ("m", "ones", "m large", "√m > 0")),
    Step("5.2 σ_min(Φ)²", sPhi5**2 > 9 * (K5 * X5) ** 2 / 4, ("Chernoff", "m large for Z", "‖x_i‖ = 1")),
    Step("5.2 σ_min(Φ)", sPhi5 > 3 * K5 * X5 / 2, ("5.2 σ_min(Φ)²", "σ_min(Φ) ≥ 0")),
    Step(
        "5.2 ‖Z(0)‖",
        nZ5 <= K5 * X5,
        (
            "5.2 σ_min(Φ)",
            "‖Z‖ ≥ σ_min(Z)",
            "‖Z‖ ≤ ‖Φ‖_F/(1−γ₀)",
            "‖Φ‖_F ≤ ‖W‖‖X‖_F",
            "‖W(0)‖ ≤ K√m",
        ),
        fix=nZ5 <= 2 * (K5 * rm * X5),
        text="‖Φ(I − γA)⁻¹‖ grows like √m by the bound on α₁; ŷ(0) does not, since b(0) is independent of Z(0)",
    ),
    Step("5.2 ‖Z(0)‖ exceeds K‖X‖_F", nZ5 > K5 * X5, ("5.2 σ_min(Φ)", "‖Z‖ ≥ σ_min(Z)")),
    Step("5.2 α₁²", sPhi5**2 >= rm * (rm * lstar) / 4, ("Chernoff", "m")),
    Step("(28)", 4 * sPhi5**2 / 9 >= 16 * K5 * N5 * rm, ("5.2 α₁²", "m = Ω(N²/λ*²)", "√m > 0")),
    Step("5.2 λ*", lstar <= 1, ("trace", "E‖σ(Xw)‖²", "‖x_i‖ = 1", "N ≥ 1")),
)

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
    facts=SECTION_5_FACTS,
    proof=SECTION_5_PROOF,
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

GRADIENT_FACTS = (
    Fact("‖A‖ ≥ 0", nA >= 0),
    Fact("M > 0", M > 0),
    Fact("reverse triangle", sQ >= 1 - gamma * nA, "‖Qv‖ ≥ ‖v‖ − γ‖D(Aᵀ⊗I)v‖, for every v", cited=True),
)
GRADIENT_PROOF = (
    Step("γ‖A‖ ≤ γ₀", gamma * nA <= gamma0, ("γ > 0", "‖A‖ ≤ M")),
    Step(
        "(29)",
        sQ > 1 - gamma0,
        ("reverse triangle", "γ > 0", "‖A‖ ≤ M", "γ₀ < 1"),
        fix=sQ >= 1 - gamma0,
        text="‖A‖ ≤ M allows equality; and a bound on ‖Q‖, as printed, would not make Q invertible",
    ),
    Step("(29) last", 1 - gamma0 > 0, ("γ₀ < 1",)),
    Step("(6) invertible", sQ > 0, ("(29)", "(29) last")),
)

sM, sPi, sQi, sZ, sX, minD, minE, bnorm, dLt, Lt, lamH, eHe = symbols(
    "sigma_min_M sigma_min_Pi sigma_min_Q_inverse sigma_min_Z sigma_min_X min_D min_E norm_b_at_t dL_dt loss_t "
    "lambda_min_H residual_H_residual",
    real=True,
)
NTK_FACTS = (
    Fact("‖A‖ ≥ 0", nA >= 0),
    Fact("M > 0", M > 0),
    *(
        Fact(f"{name} ≥ 0", s >= 0)
        for name, s in (("‖b‖", bnorm), ("σ_min(Z)", sZ), ("σ_min(X)", sX), ("min D", minD), ("min E", minE))
    ),
    Fact("‖Q‖", sQi >= 1 / (1 + gamma * nA), "σ_min(Q⁻¹) = 1/‖Q‖ and ‖Q‖ ≤ 1 + γ‖A‖", cited=True),
    Fact("(12)", sM >= gamma * bnorm * sQi * minD * sZ, "σ_min of a product of wide matrices", cited=True),
    Fact("(13)", sPi >= bnorm * sQi * minD * minE * sX, "σ_min of a product of wide matrices", cited=True),
    Fact("(10)", Eq(dLt, -eHe), cited=True),
    Fact("Rayleigh", eHe >= lamH * (2 * Lt), "L = ½ residual²", cited=True),
    Fact("λ_min(H) ≥ 0", lamH >= 0, cited=True),
    Fact("L ≥ 0", Lt >= 0, cited=True),
)
NTK_PROOF = (
    Step("γ‖A‖ ≤ γ₀", gamma * nA <= gamma0, ("γ > 0", "‖A‖ ≤ M")),
    Step("Q is invertible", 1 - gamma * nA > 0, ("γ‖A‖ ≤ γ₀", "γ₀ < 1"), text="Lemma 3.2"),
    Step("‖Q⁻¹‖", sQi >= 1 / (1 + gamma0), ("‖Q‖", "γ‖A‖ ≤ γ₀", "γ > 0")),
    Step("bD ≥ 0", bnorm * minD * sZ >= 0),
    Step("bDE ≥ 0", bnorm * minD * minE * sX >= 0),
    Step(
        "4.1 σ_min(M)",
        sM >= gamma / (1 - gamma0) * (bnorm * minD * sZ),
        ("(12)", "‖Q⁻¹‖", "bD ≥ 0", "γ > 0", "γ₀ < 1", "‖A‖ ≤ M"),
        fix=sM >= gamma / (1 + gamma0) * (bnorm * minD * sZ),
        text="1/(1 − γ₀) bounds ‖Q⁻¹‖ from above; below it is 1/(1 + γ₀)",
    ),
    Step(
        "4.1 σ_min(Π)",
        sPi >= 1 / (1 - gamma0) * (bnorm * minD * minE * sX),
        ("(13)", "‖Q⁻¹‖", "bDE ≥ 0", "γ > 0", "γ₀ < 1", "‖A‖ ≤ M"),
        fix=sPi >= 1 / (1 + gamma0) * (bnorm * minD * minE * sX),
        text="as for M",
    ),
    Step(
        "4.1 decay",
        dLt <= -lamH * Lt,
        ("(10)", "Rayleigh", "λ_min(H) ≥ 0", "L ≥ 0"),
        text="holds with 2 λ_min(H) in place of λ_min(H)",
    ),
    Step("4.1 decay, twice", dLt <= -2 * lamH * Lt, ("(10)", "Rayleigh")),
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
    facts=GRADIENT_FACTS,
    proof=GRADIENT_PROOF,
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
    facts=NTK_FACTS,
    proof=NTK_PROOF,
    reading=("The bound on ‖A(t)‖ is checked at the given instant, where H is formed.", KINK),
    defaults=SMALL,
    quick={"width": "30", "samples": "10", "dim": "8", "init": "random"},
)
