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

from sympy import Eq, Max, Min, Rational, Symbol, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import ling as q
from deqcheck.statement import (
    Conclusion,
    Fact,
    Hypothesis,
    Quantity,
    Rate,
    Source,
    Step,
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
dW, dU, da, grad2, Phi, lamH = symbols("diff_W diff_U diff_a grad2 Phi lambda_H", real=True)


def _at(quantity: Quantity, name: str, text: str, latex: str) -> Quantity:
    return replace(quantity, name=name, text=text, latex=latex)


MONITORED: dict[Symbol, Quantity] = {
    Wt: _at(q.norm_implicit_weights, "norm_W_t", "‖W(τ)‖", r"\|W(\tau)\|_2"),
    lamt: _at(q.lambda_0, "lambda_t", "λ_τ", r"\lambda_\tau"),
}

# --- the proof of Theorem 1: Lemma 8 and Appendix B.1 ----------------------------------------------

# Lemma 8, at steps s and k: norms of the parameters, of Z, J^-1, R and D, of the gradients, of differences.
W_s, U_s, a_s, Z_s, r_s, r_tau, W_k, a_k = symbols("W_s U_s a_s Z_s r_s r_tau W_k a_k", real=True)
J_inv, R_s, D_s, g_W, g_U, g_a = symbols("J_inv R_s D_s g_W g_U g_a", real=True)
d_Z, d_W, d_U, d_a, d_y = symbols("d_Z d_W d_U d_a d_y", real=True)
# B.1: u = sqrt(1 - eta lambda_0/2), T = u^tau; E_. = ||.(tau) - .(0)||_F, F_. = ||.(tau+1) - .(0)||_F.
u, T, E_W, E_U, E_a, F_W, F_U, F_a, F_Z = symbols("u T E_W E_U E_a F_W F_U F_a F_Z", real=True)
W_1, U_1, a_1, sig_1, lam_1 = symbols("W_1 U_1 a_1 sigma_1 lambda_1", real=True)
# B.1 (3): one step from tau to tau+1; G_W, ... are the gradients at tau.
G_W, G_U, G_a, e_Z, e_W, e_U, e_a, e_y = symbols("G_W G_U G_a e_Z e_W e_U e_a e_y", real=True)
Phi_0, Phi_1, in_2, in_3, eGe, lam_tau, C1 = symbols("Phi_0 Phi_1 in_2 in_3 eGe lambda_tau C_1", real=True)
n = symbols("n", real=True)
# Section 2.3: least eigenvalues of H_2 and H_3, and r^T H r.
lam_2, lam_3, rHr = symbols("lambda_2 lambda_3 rHr", real=True)
# Abbreviations that keep the polynomials small.
B_Z, N_Z, N_1, M, K_8, S_2, S_3, k_W, k_U, k_a = symbols("B_Z N_Z N_1 M K_8 S_2 S_3 k_W k_U k_a", real=True)


def _cited(number: str, claim: Relational, text: str) -> Fact:
    return Fact(number, claim, text, cited=True)


FACTS = (
    Fact("‖W(0)‖ ≥ 0", nW >= 0),
    Fact("‖U(0)‖ ≥ 0", nU >= 0),
    Fact("‖a(0)‖ ≥ 0", na >= 0),
    Fact("‖X‖ > 0", XF > 0, "(10) divides by it"),
    Fact("‖r₀‖ ≥ 0", r0 >= 0),
    _cited("n ≥ 1", n >= 1, "there is a sample"),
    _cited("λ₀ ≤ ‖Z‖²/n", n * lam0 <= (c_a * XF) ** 2, "trace of G(0), and (15) at s = 0"),
    # Lemma 8
    _cited("W(s)", W_s <= rho_w, "assumed in Lemma 8"),
    _cited("U(s)", U_s <= rho_u, "assumed in Lemma 8"),
    _cited("a(s)", a_s <= rho_a, "assumed in Lemma 8"),
    _cited("W(k)", W_k <= rho_w, "assumed in Lemma 8"),
    _cited("a(k)", a_k <= rho_a, "assumed in Lemma 8"),
    _cited("‖a(s)‖ ≥ 0", a_s >= 0, "a norm"),
    _cited("‖Z(s)‖ ≥ 0", Z_s >= 0, "a norm"),
    _cited("‖r(s)‖ ≥ 0", r_s >= 0, "a norm"),
    _cited("‖r(τ)‖ ≥ 0", r_tau >= 0, "a norm"),
    _cited("‖J⁻¹‖ ≥ 0", J_inv >= 0, "a norm"),
    _cited("‖R‖ ≥ 0", R_s >= 0, "a norm"),
    _cited("‖ΔZ‖ ≥ 0", d_Z >= 0, "a norm"),
    _cited("‖ΔW‖ ≥ 0", d_W >= 0, "a norm"),
    _cited("‖ΔU‖ ≥ 0", d_U >= 0, "a norm"),
    _cited("‖Δa‖ ≥ 0", d_a >= 0, "a norm"),
    _cited("layer", Z_s <= W_s * Z_s + U_s * XF, "|φ(x)| ≤ |x| and ‖AB‖_F ≤ ‖A‖‖B‖_F"),
    _cited("Neumann", J_inv * (1 - W_s) <= 1, "‖D(I ⊗ W)‖ ≤ ‖W‖ < 1"),
    _cited("D", D_s <= 1, "the slopes of φ are 0 or 1"),
    _cited("‖D‖ ≥ 0", D_s >= 0, "a norm"),
    _cited("R", R_s <= a_s * J_inv * D_s, "submultiplicativity"),
    _cited("∇W", g_W <= Z_s * R_s * r_s, "Lemma 2, ‖Z‖ ≤ ‖Z‖_F"),
    _cited("∇U", g_U <= XF * R_s * r_s, "Lemma 2, ‖X‖ ≤ ‖X‖_F"),
    _cited("∇a", g_a <= Z_s * r_s, "Lemma 2"),
    _cited("layers", d_Z <= W_k * d_Z + d_W * Z_s + d_U * XF, "φ is 1-Lipschitz; triangle inequality"),
    _cited("B", Eq(B_Z, c_a * d_W * XF + d_U * XF, evaluate=False), "abbreviation"),
    _cited("N", Eq(N_Z, (c_w * d_W + c_u * d_U) * XF, evaluate=False), "abbreviation"),
    _cited("predictions", d_y <= a_k * d_Z + d_a * Z_s, "triangle inequality"),
    # B.1 (1) and (2)
    _cited("u", Eq(u**2, 1 - eta * lam0 / 2, evaluate=False), "definition of u"),
    _cited("u ≥ 0", u >= 0, "definition of u"),
    _cited("T ≥ 0", T >= 0, "T = u^τ"),
    _cited("T ≤ 1", T <= 1, "T = u^τ, u < 1"),
    _cited("(19) loss", r_tau <= T * r0, "induction: Φ(τ) ≤ u^(2τ) Φ(0)"),
    _cited("(16) W at τ", G_W <= c_w * XF * r_tau, "(16) at s = τ"),
    _cited("(16) U at τ", G_U <= c_u * XF * r_tau, "(16) at s = τ"),
    _cited("(16) a at τ", G_a <= c_a * XF * r_tau, "(16) at s = τ"),
    _cited("k W", Eq(k_W, c_w * XF * r0, evaluate=False), "abbreviation"),
    _cited("ΣW", E_W <= eta * k_W * (1 - T) / (1 - u), "the sum up to τ − 1; T = 1 at τ = 0"),
    _cited("k U", Eq(k_U, c_u * XF * r0, evaluate=False), "abbreviation"),
    _cited("ΣU", E_U <= eta * k_U * (1 - T) / (1 - u), "the sum up to τ − 1; T = 1 at τ = 0"),
    _cited("k a", Eq(k_a, c_a * XF * r0, evaluate=False), "abbreviation"),
    _cited("Σa", E_a <= eta * k_a * (1 - T) / (1 - u), "the sum up to τ − 1; T = 1 at τ = 0"),
    _cited("△W", F_W <= E_W + eta * G_W, "triangle inequality and W(τ+1) = W(τ) − η∇_W"),
    _cited("△U", F_U <= E_U + eta * G_U, "triangle inequality and U(τ+1) = U(τ) − η∇_U"),
    _cited("△a", F_a <= E_a + eta * G_a, "triangle inequality and a(τ+1) = a(τ) − η∇_a"),
    _cited("Weyl W", W_1 <= nW + F_W, "Weyl"),
    _cited("Weyl U", U_1 <= nU + F_U, "Weyl"),
    _cited("Weyl a", a_1 <= na + F_a, "Weyl"),
    _cited("(17) at τ+1, 0", F_Z * rho_a <= (c_w * F_W + c_u * F_U) * XF, "(17) with k = τ+1, s = 0"),
    _cited("M", Eq(M, (c_w**2 + c_u**2) * XF**2 * r0, evaluate=False), "abbreviation"),
    _cited("K", Eq(K_8, 4 / rho_a * M, evaluate=False), "abbreviation"),
    _cited("Weyl Z", sig_1 >= sqrt(lam0) - F_Z, "Weyl"),
    _cited("λ = σ²", Eq(lam_1, sig_1**2, evaluate=False), "λ_{τ+1} = σ_min(Z(τ+1))², m ≥ n as λ₀ > 0"),
    # B.1 (3)
    _cited("C₁", Eq(C1, (c_w**2 + c_u**2 + c_a**2) * XF**2, evaluate=False), "definition of C₁"),
    _cited("C₂", Eq(C2, (c_w**2 + c_u**2) * XF**2, evaluate=False), "definition of C₂"),
    _cited("Φ(τ)", Eq(Phi_0, r_tau**2 / 2, evaluate=False), "the loss"),
    _cited("Φ(τ+1)", Eq(Phi_1, Phi_0 + e_y**2 / 2 + in_2 + in_3, evaluate=False), "expansion of the square"),
    _cited("Φ(τ+1) ≥ 0", Phi_1 >= 0, "a square"),
    _cited("‖Δŷ‖ ≥ 0", e_y >= 0, "a norm"),
    _cited("‖ΔZ‖ at τ ≥ 0", e_Z >= 0, "a norm"),
    _cited("step W", e_W <= eta * G_W, "gradient step, ‖·‖ ≤ ‖·‖_F"),
    _cited("step U", e_U <= eta * G_U, "gradient step, ‖·‖ ≤ ‖·‖_F"),
    _cited("step a", e_a <= eta * G_a, "gradient step"),
    _cited("N at τ", Eq(N_1, (c_w * e_W + c_u * e_U) * XF, evaluate=False), "abbreviation"),
    _cited("(17) at τ+1, τ", e_Z * rho_a <= N_1, "(17) with k = τ+1, s = τ"),
    _cited("S", Eq(S_3, c_w**2 + c_u**2 + c_a**2, evaluate=False), "abbreviation"),
    _cited("S₂", Eq(S_2, c_w**2 + c_u**2, evaluate=False), "abbreviation"),
    _cited("(18) at τ+1, τ", e_y <= (c_w * e_W + c_u * e_U + c_a * e_a) * XF, "(18) with k = τ+1, s = τ"),
    _cited("Cauchy", in_2 <= a_1 * e_Z * r_tau, "Cauchy-Schwarz; in₂ = (ŷ(τ+1) − g)ᵀ(ŷ(τ) − y)"),
    _cited("in₃", Eq(in_3, -eta * eGe, evaluate=False), "a(τ+1) − a(τ) = −η Z(τ)(ŷ(τ) − y)"),
    _cited("Rayleigh", eGe >= lam_tau * r_tau**2, "eGe = (ŷ(τ) − y)ᵀ G(τ) (ŷ(τ) − y)"),
    _cited("(19) λ", lam_tau >= lam0 / 2, "induction"),
    _cited("(5) at τ", grad2 >= 2 * lam_tau * Phi_0, "(5)"),
)

LEMMA_8 = (
    Step("ρ̄_u > 0", rho_u > 0),
    Step("ρ̄_a > 0", rho_a > 0),
    Step("c_a(1 − ρ̄_w)", Eq(c_a * (1 - rho_w), rho_u), ("ρ̄_w < 1",), text="definition of c_a"),
    Step("c_u(1 − ρ̄_w)", Eq(c_u * (1 - rho_w), rho_a), ("ρ̄_w < 1",), text="definition of c_u"),
    Step("c_w", Eq(c_w, c_u * c_a), ("ρ̄_w < 1",), text="definition of c_w"),
    Step("c_a > 0", c_a > 0, ("c_a(1 − ρ̄_w)", "ρ̄_u > 0", "ρ̄_w < 1")),
    Step("c_u > 0", c_u > 0, ("c_u(1 − ρ̄_w)", "ρ̄_a > 0", "ρ̄_w < 1")),
    Step("c_w > 0", c_w > 0, ("c_w", "c_u > 0", "c_a > 0")),
    Step("(15) layer", Z_s <= rho_w * Z_s + rho_u * XF, ("layer", "W(s)", "U(s)", "‖Z(s)‖ ≥ 0")),
    Step("(15) solved", Z_s * (1 - rho_w) <= c_a * (1 - rho_w) * XF, ("(15) layer", "c_a(1 − ρ̄_w)")),
    Step("(15)", Z_s <= c_a * XF, ("(15) solved", "ρ̄_w < 1")),
    Step("(16) J⁻¹", J_inv <= 1 / (1 - rho_w), ("Neumann", "W(s)", "ρ̄_w < 1", "‖J⁻¹‖ ≥ 0")),
    Step(
        "(16) R product",
        R_s <= rho_a * J_inv,
        ("R", "D", "‖D‖ ≥ 0", "a(s)", "‖a(s)‖ ≥ 0", "‖J⁻¹‖ ≥ 0"),
    ),
    Step("(16) R", R_s <= rho_a / (1 - rho_w), ("(16) R product", "(16) J⁻¹", "ρ̄_a > 0", "ρ̄_w < 1")),
    Step("(16) R ≤ c_u", R_s <= c_u, ("(16) R", "c_u(1 − ρ̄_w)", "ρ̄_w < 1")),
    Step(
        "(16) ZR",
        Z_s * R_s <= c_a * XF * c_u,
        ("(15)", "(16) R ≤ c_u", "‖Z(s)‖ ≥ 0", "‖R‖ ≥ 0", "c_u > 0", "c_a > 0"),
    ),
    Step("(16) W product", g_W <= c_a * XF * c_u * r_s, ("∇W", "(16) ZR", "‖r(s)‖ ≥ 0")),
    Step(
        "(16) W",
        g_W <= c_w * XF * r_tau,
        ("(16) W product", "c_w", "‖r(s)‖ ≥ 0", "‖r(τ)‖ ≥ 0"),
        fix=g_W <= c_w * XF * r_s,
        text="the residual on the right belongs to step s, not to τ",
    ),
    Step(
        "(16) U",
        g_U <= c_u * XF * r_tau,
        ("∇U", "(16) R ≤ c_u", "‖r(s)‖ ≥ 0", "‖r(τ)‖ ≥ 0"),
        fix=g_U <= c_u * XF * r_s,
        text="the residual on the right belongs to step s, not to τ",
    ),
    Step(
        "(16) a",
        g_a <= c_a * XF * r_tau,
        ("∇a", "(15)", "‖r(s)‖ ≥ 0", "‖r(τ)‖ ≥ 0"),
        fix=g_a <= c_a * XF * r_s,
        text="the residual on the right belongs to step s, not to τ",
    ),
    Step(
        "(17) layer",
        d_Z <= rho_w * d_Z + c_a * d_W * XF + d_U * XF,
        ("layers", "W(k)", "(15)", "‖ΔZ‖ ≥ 0", "‖ΔW‖ ≥ 0"),
    ),
    Step("(17) solved", d_Z * (1 - rho_w) <= B_Z, ("(17) layer", "B")),
    Step("(17) times c_u", c_u * (1 - rho_w) * d_Z <= c_u * B_Z, ("(17) solved", "c_u > 0")),
    Step("(17) N", Eq(c_u * B_Z, N_Z), ("B", "N", "c_w")),
    Step("(17) ρ̄_a", Eq(c_u * (1 - rho_w) * d_Z, rho_a * d_Z), ("c_u(1 − ρ̄_w)",)),
    Step("(17) cleared", d_Z * rho_a <= N_Z, ("(17) times c_u", "(17) N", "(17) ρ̄_a")),
    Step("(17) divided", d_Z <= N_Z / rho_a, ("(17) cleared", "ρ̄_a > 0")),
    Step("(17)", d_Z <= (c_w * d_W + c_u * d_U) * XF / rho_a, ("(17) divided", "N")),
    Step("(18) aZ", a_k * d_Z <= N_Z, ("(17) cleared", "a(k)", "‖ΔZ‖ ≥ 0")),
    Step(
        "(18)",
        d_y <= (c_w * d_W + c_u * d_U + c_a * d_a) * XF,
        ("predictions", "(18) aZ", "N", "(15)", "‖Δa‖ ≥ 0"),
    ),
)


def _drift(name: str, c: Symbol, k: Symbol, after: Symbol, gradient: Symbol, printed: str) -> tuple[Step, ...]:
    """B.1 (1) for one parameter. The print drops eta in the lines on U and a, and cites (8) and (9) there for (7)."""
    line = eta * gradient <= eta * c * XF * r_tau
    step, positive = f"(1) {name}", f"c_{name.lower()} > 0"
    return (
        Step(
            f"{step} gradient",
            line if name == "W" else eta * gradient <= c * XF * r_tau,
            (f"(16) {name} at τ", "‖r(τ)‖ ≥ 0"),
            fix=None if name == "W" else line,
            text="" if name == "W" else "the print drops η",
        ),
        Step(f"{step} induction", eta * c * XF * r_tau <= eta * k * T, (f"k {name}", "(19) loss", positive)),
        Step(
            f"{step} sum",
            after <= eta * k * (1 - u * T) / (1 - u),
            (f"Σ{name}", f"△{name}", f"{step} gradient", f"{step} induction", "u < 1"),
        ),
        Step(
            f"{step} u",
            after <= 2 / lam0 * (1 - u**2) * (1 - u * T) / (1 - u) * k,
            (f"{step} sum", "η = 2(1 − u²)/λ₀", "u < 1", "λ₀ > 0"),
        ),
        Step(f"k_{name} ≥ 0", k >= 0, (f"k {name}", positive)),
        Step(
            f"{step} 1 + u",
            after <= 2 / lam0 * (1 + u) * k,
            (f"{step} u", "geometric sum", f"k_{name} ≥ 0", "λ₀ > 0"),
        ),
        Step(f"{step} 4", after <= 4 / lam0 * k, (f"{step} 1 + u", "u < 1", f"k_{name} ≥ 0", "λ₀ > 0")),
        Step(f"{step} (7)", lam0 >= 4 / delta * c * XF * r0, ("(7)",)),
        Step(f"{step} (7) k", lam0 >= 4 / delta * k, (f"{step} (7)", f"k {name}")),
        Step(f"{step} (7) cleared", delta * lam0 >= 4 * k, (f"{step} (7) k",)),
        Step(f"{step} δ", 4 / lam0 * k <= delta, (f"{step} (7) cleared", "λ₀ > 0"), text=printed),
        Step(step, after <= delta, (f"{step} 4", f"{step} δ")),
    )


def _scaled(name: str, c: Symbol, step: Symbol) -> tuple[Step, ...]:
    """B.1 (3): one gradient step of one parameter, times its constant; the gradient is bounded in B.1 (1)."""
    return (
        Step(f"(3) step {name}", step <= eta * c * XF * r_tau, (f"step {name}", f"(1) {name} gradient")),
        Step(
            f"(3) c·step {name}",
            c * step <= eta * c**2 * XF * r_tau,
            (f"(3) step {name}", f"c_{name.lower()} > 0"),
        ),
    )


SQUARES = c_w**2 + c_u**2


def _theorem_1(factor: int) -> tuple[Step, ...]:
    """Appendix B.1, with `factor` in (9)."""
    return (
        Step("λ₀ > 0", lam0 > 0, ("(9)", "c_w > 0", "c_u > 0"), text="used throughout"),
        Step("η = 2(1 − u²)/λ₀", Eq(eta, 2 / lam0 * (1 - u**2)), ("u", "λ₀ > 0"), text="B.1 (1)"),
        Step("η < 2/λ₀", eta < 2 / lam0, ("(10)",), text="B.1 (1)"),
        Step("u² > 0", 1 - eta * lam0 / 2 > 0, ("η < 2/λ₀", "λ₀ > 0"), text="B.1 (1): u is real by (10)"),
        Step("u < 1", u < 1, ("u", "u ≥ 0", "η > 0", "λ₀ > 0"), text="B.1 (1)"),
        Step(
            "geometric sum",
            (1 - u**2) * (1 - u * T) / (1 - u) <= 1 + u,
            ("u < 1", "u ≥ 0", "T ≥ 0"),
            text="B.1 (1): and 1 + u ≤ 2",
        ),
        *_drift("W", c_w, k_W, F_W, G_W, "by (7), as printed"),
        *_drift("U", c_u, k_U, F_U, G_U, "by (7); the print cites (8)"),
        *_drift("a", c_a, k_a, F_a, G_a, "by (7); the print cites (9)"),
        Step("(19) W", W_1 <= rho_w, ("Weyl W", "(1) W")),
        Step("(i)", W_1 < 1, ("(19) W", "ρ̄_w < 1")),
        Step("(19) U", U_1 <= rho_u, ("Weyl U", "(1) U")),
        Step("(19) a", a_1 <= rho_a, ("Weyl a", "(1) a")),
        Step("(2) W", c_w * F_W <= 2 / lam0 * (1 + u) * c_w * k_W, ("(1) W 1 + u", "c_w > 0")),
        Step("(2) U", c_u * F_U <= 2 / lam0 * (1 + u) * c_u * k_U, ("(1) U 1 + u", "c_u > 0")),
        Step(
            "(2) sum",
            (c_w * F_W + c_u * F_U) * XF <= 2 / lam0 * (1 + u) * (c_w * k_W + c_u * k_U) * XF,
            ("(2) W", "(2) U"),
        ),
        Step("(2) M", Eq((c_w * k_W + c_u * k_U) * XF, M), ("k W", "k U", "M")),
        Step("(2) cleared", F_Z * rho_a <= 2 / lam0 * (1 + u) * M, ("(17) at τ+1, 0", "(2) sum", "(2) M")),
        Step("Kρ̄_a", Eq(K_8 * rho_a, 4 * M), ("K", "ρ̄_a > 0")),
        Step("(2) K", F_Z * rho_a <= (1 + u) / 2 * K_8 / lam0 * rho_a, ("(2) cleared", "Kρ̄_a")),
        Step("(2) divided", F_Z <= (1 + u) / 2 * K_8 / lam0, ("(2) K", "ρ̄_a > 0")),
        Step("K ≥ 0", K_8 >= 0, ("K", "M", "ρ̄_a > 0", "c_w > 0", "c_u > 0")),
        Step("(2) drift", F_Z <= K_8 / lam0, ("(2) divided", "K ≥ 0", "u < 1", "λ₀ > 0")),
        Step("(2) (8)", lam0 ** Rational(3, 2) >= (2 + sqrt(2)) * K_8, ("(8)", "K", "M")),
        Step("(2) by (8)", K_8 / lam0 <= (2 - sqrt(2)) / 2 * sqrt(lam0), ("(2) (8)", "λ₀ > 0")),
        Step("(2)", F_Z <= (2 - sqrt(2)) / 2 * sqrt(lam0), ("(2) drift", "(2) by (8)")),
        Step("(2) σ", sig_1 >= sqrt(lam0 / 2), ("Weyl Z", "(2)", "λ₀ > 0")),
        Step("(2) λ", lam_1 >= lam0 / 2, ("(2) σ", "λ = σ²", "λ₀ > 0")),
        Step(
            "(2) strict",
            F_Z < (2 - sqrt(2)) / 2 * sqrt(lam0),
            ("(2) divided", "(2) by (8)", "K ≥ 0", "u < 1", "u ≥ 0", "λ₀ > 0"),
            text="not printed: 1 + u < 2 makes (ii) strict",
        ),
        Step("(ii)", lam_1 > lam0 / 2, ("Weyl Z", "(2) strict", "λ = σ²", "λ₀ > 0")),
        Step("(ii) PL", grad2 >= lam0 * Phi_0, ("(5) at τ", "(19) λ", "Φ(τ)"), text="the second half of (ii)"),
        *_scaled("W", c_w, e_W),
        *_scaled("U", c_u, e_U),
        *_scaled("a", c_a, e_a),
        Step(
            "(3) Δŷ",
            e_y <= eta * (SQUARES + c_a**2) * XF**2 * r_tau,
            ("(18) at τ+1, τ", "(3) c·step W", "(3) c·step U", "(3) c·step a"),
        ),
        Step("(3) C₁", e_y <= eta * C1 * r_tau, ("(3) Δŷ", "C₁")),
        Step("C₁ > 0", C1 > 0, ("C₁", "c_w > 0", "c_u > 0", "c_a > 0")),
        Step("C₂ > 0", C2 > 0, ("C₂", "c_w > 0", "c_u > 0")),
        Step("(3) C₁ once", e_y**2 <= e_y * eta * C1 * r_tau, ("(3) C₁", "‖Δŷ‖ ≥ 0")),
        Step("(3) C₁ twice", e_y * eta * C1 * r_tau <= eta**2 * C1**2 * r_tau**2, ("(3) C₁", "‖Δŷ‖ ≥ 0")),
        Step("(3) first", e_y**2 <= eta**2 * C1**2 * r_tau**2, ("(3) C₁ once", "(3) C₁ twice")),
        Step("(3) aZ", a_1 * e_Z <= N_1, ("(19) a", "(17) at τ+1, τ", "N at τ", "‖ΔZ‖ at τ ≥ 0")),
        Step("(3) in₂ by (17)", in_2 <= N_1 * r_tau, ("Cauchy", "(3) aZ", "‖r(τ)‖ ≥ 0")),
        Step("(3) N", N_1 <= eta * SQUARES * XF**2 * r_tau, ("N at τ", "(3) c·step W", "(3) c·step U")),
        Step("(3) N C₂", N_1 <= eta * C2 * r_tau, ("(3) N", "C₂")),
        Step("(3) second", in_2 <= eta * C2 * r_tau**2, ("(3) in₂ by (17)", "(3) N C₂", "‖r(τ)‖ ≥ 0")),
        Step("(3) third", in_3 <= -eta * lam0 / 2 * r_tau**2, ("in₃", "Rayleigh", "(19) λ", "η > 0")),
        Step(
            "(3) together",
            Eq(Phi_1, (1 - eta * (lam0 - eta * C1**2 - 2 * C2)) * Phi_0),
            (
                "Φ(τ)",
                "Φ(τ+1)",
                "(3) first",
                "(3) second",
                "(3) third",
                "‖r(τ)‖ ≥ 0",
                "‖Δŷ‖ ≥ 0",
                "Φ(τ+1) ≥ 0",
                "λ₀ > 0",
                "C₁ > 0",
                "C₂ > 0",
            ),
            fix=Phi_1 <= (1 - eta * (lam0 - eta * C1**2 - 2 * C2)) * Phi_0,
            text="printed as an equality; what is bounded is an inequality",
        ),
        Step("S > 0", S_3 > 0, ("S", "c_w > 0")),
        Step("S/S", Eq(S_3 / (SQUARES + c_a**2), 1), ("S", "S > 0")),
        Step("1/S", Eq(1 / S_3, 1 / (SQUARES + c_a**2)), ("S", "S > 0", "S/S")),
        Step("(3) (10)", eta < 2 * SQUARES / (S_3**2 * XF**2), ("(10)", "1/S")),
        Step("(3) (10) S₂", eta < 2 * S_2 / (S_3**2 * XF**2), ("(3) (10)", "S₂")),
        Step("(3) (10) cleared", eta * S_3**2 * XF**2 <= 2 * S_2, ("(3) (10) S₂", "S > 0")),
        Step("C₁ = S‖X‖²", Eq(C1, S_3 * XF**2), ("C₁", "S")),
        Step("C₂ = S₂‖X‖²", Eq(C2, S_2 * XF**2), ("C₂", "S₂")),
        Step("(3) ηC₁²", eta * C1**2 <= 2 * C2, ("(3) (10) cleared", "C₁ = S‖X‖²", "C₂ = S₂‖X‖²")),
        Step("Φ ≥ 0", Phi_0 >= 0, ("Φ(τ)",)),
        Step(
            "(3) by (10)",
            Phi_1 <= (1 - eta * (lam0 - 4 * C2)) * Phi_0,
            ("(3) together", "(3) ηC₁²", "Φ ≥ 0", "η > 0"),
        ),
        Step("(3) by (9)", lam0 - 4 * C2 >= lam0 / 2, ("(9)", "C₂"), text="what the last line needs of (9)"),
        Step(
            "(iii)",
            Phi_1 <= (1 - eta * lam0 / 2) * Phi_0,
            ("(3) by (10)", "(9)", "C₂", "Φ ≥ 0", "η > 0", "u² > 0"),
            text="the last line of the proof",
        ),
    )


def _corrected(proof: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same chain with every misprint put right."""
    return tuple(replace(step, claim=step.fix, fix=None) if step.fix is not None else step for step in proof)


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
    facts=FACTS,
    proof=(*LEMMA_8, *_theorem_1(4)),
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
    proof=_corrected((*LEMMA_8, *_theorem_1(8))),
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
    facts=(
        Fact("‖r‖ ≥ 0", r_s >= 0),
        _cited("Φ", Eq(Phi, r_s**2 / 2, evaluate=False), "the loss"),
        _cited("Lemma 2", Eq(grad2, rHr, evaluate=False), "‖∇Φ‖² = rᵀHr by (3), r = ŷ − y"),
        _cited("Rayleigh", rHr >= lamH * r_s**2, "λ_min is the least Rayleigh quotient"),
        _cited("Weyl", lamH >= lam0 + lam_2 + lam_3, "H = H₁ + H₂ + H₃, H₁ = G"),
        _cited("H₂", lam_2 >= 0, "H₂ = R(G ⊗ I)Rᵀ is positive semi-definite"),
        _cited("H₃", lam_3 >= 0, "H₃ = R(XᵀX ⊗ I)Rᵀ is positive semi-definite"),
        _cited("G", lam0 >= 0, "G is positive semi-definite"),
        _cited("‖W‖ ≥ 0", nW >= 0, "a norm"),
        _cited("differences W", dW >= 0, "a norm"),
        _cited("differences U", dU >= 0, "a norm"),
        _cited("differences a", da >= 0, "a norm"),
    ),
    proof=(
        Step("Section 2.3 (4)", grad2 >= 2 * lamH * Phi, ("Lemma 2", "Rayleigh", "Φ")),
        Step("Section 2.3 λ_min(H) ≥ λ_τ", lamH >= lam0, ("Weyl", "H₂", "H₃")),
        Step("Section 2.3 Φ ≥ 0", Phi >= 0, ("Φ",)),
        Step(
            "Section 2.3 (5)",
            grad2 >= 2 * lam0 * Phi,
            ("Section 2.3 (4)", "Section 2.3 λ_min(H) ≥ λ_τ", "Section 2.3 Φ ≥ 0"),
        ),
    ),
    defaults={"width": "400", "samples": "20"},
    quick={"width": "60", "samples": "8", "dim": "20"},
)
