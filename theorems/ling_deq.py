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
- `ling-gd:sharp` is not in the paper; its proof is sketched where it is stated and audited step by step.
"""

from dataclasses import replace

from sympy import Eq, Expr, Max, Min, Rational, Symbol, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import ling as q
from deqcheck.statement import (
    Conclusion,
    Fact,
    Growth,
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
n, Z_F, v_w = symbols("n Z_F v", real=True)
# (iii) another way: A = (c_a ||X||_F)^2 bounds ||Z(tau)||^2, s_0 = sqrt(lambda_0), r_1 = ||y(tau+1) - y||, F_t and
# sigma_t are ||Z(tau) - Z(0)||_F and sigma_min(Z(tau)), eig an eigenvalue of G(tau), cont = ||I - eta G(tau)||,
# kept = ||(I - eta G) e||, rest = ||(Z(tau+1) - Z(tau))^T a(tau+1)||.
A_X, s_0, r_1, F_t, sig_t, rat_t, eig, cont, kept, rest = symbols(
    "A s_0 r_1 F_t sigma_t kappa eig cont kept rest", real=True
)
# Section 2.3: least eigenvalues of H_2 and H_3, and r^T H r.
lam_2, lam_3, rHr = symbols("lambda_2 lambda_3 rHr", real=True)
# Abbreviations that keep the polynomials small.
B_Z, N_Z, N_1, M, K_8, S_2, S_3, k_W, k_U, k_a = symbols("B_Z N_Z N_1 M K_8 S_2 S_3 k_W k_U k_a", real=True)


def _cited(number: str, claim: Relational, text: str) -> Fact:
    return Fact(number, claim, text, cited=True)


def _meaning(symbol: Symbol, value: Expr) -> Fact:
    """A definition as a fact: steps that name it need not expand every other definition."""
    return _cited(f"{symbol.name} :=", Eq(symbol, value, evaluate=False), "definition")


DEFINITIONS = {
    rho_w: nW + delta,
    rho_u: nU + delta,
    rho_a: na + delta,
    c_w: rho_u * rho_a / (1 - rho_w) ** 2,
    c_u: rho_a / (1 - rho_w),
    c_a: rho_u / (1 - rho_w),
}

FACTS = (
    *(_meaning(symbol, DEFINITIONS[symbol]) for symbol in (c_w, c_u, c_a)),
    Fact("‖W(0)‖ ≥ 0", nW >= 0),
    Fact("‖U(0)‖ ≥ 0", nU >= 0),
    Fact("‖a(0)‖ ≥ 0", na >= 0),
    Fact("‖X‖ > 0", XF > 0, "(10) divides by it"),
    Fact("‖r₀‖ ≥ 0", r0 >= 0),
    _cited("n ≥ 1", n >= 1, "there is a sample"),
    _cited("v", Eq(v_w, 1 - rho_w, evaluate=False), "abbreviation"),
    _cited("trace", n * lam0 <= Z_F**2, "n eigenvalues of G(0), trace ‖Z(0)‖_F²"),
    _cited("(15) at 0", Z_F <= c_a * XF, "(15) at s = 0"),
    _cited("‖Z(0)‖ ≥ 0", Z_F >= 0, "a norm"),
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
    # (iii) another way
    _cited("A", Eq(A_X, (c_a * XF) ** 2, evaluate=False), "abbreviation"),
    _cited("s₀ ≥ 0", s_0 >= 0, "s₀ = √λ₀"),
    _cited("s₀", Eq(s_0**2, lam0, evaluate=False), "s₀ = √λ₀"),
    _cited("(2) at τ", F_t <= (1 + u) / 2 * K_8 / lam0, "(2) divided, at τ; 0 at τ = 0"),
    _cited("Weyl at τ", sig_t >= s_0 - F_t, "Weyl"),
    _cited("σ/s₀", Eq(sig_t, rat_t * s_0, evaluate=False), "abbreviation; s₀ > 0"),
    _cited("eigenvalue below", eig >= sig_t**2, "every eigenvalue of G(τ)"),
    _cited("eigenvalue above", eig <= A_X, "every eigenvalue of G(τ), by (15)"),
    _cited("contraction", cont <= Max(1 - eta * eig, eta * eig - 1), "‖I − ηG‖ is at some eigenvalue"),
    _cited("kept", kept <= cont * r_tau, "‖(I − ηG)e‖"),
    _cited("remainder", rest <= a_1 * e_Z, "(ΔZ)ᵀa(τ+1)"),
    _cited("e moves", r_1 <= kept + rest, "e(τ+1) = (I − ηG)e + (ΔZ)ᵀa(τ+1)"),
    _cited("‖r(τ+1)‖ ≥ 0", r_1 >= 0, "a norm"),
    _cited("Φ(τ+1) again", Eq(Phi_1, r_1**2 / 2, evaluate=False), "the loss"),
    _cited("(5) at τ", grad2 >= 2 * lam_tau * Phi_0, "(5)"),
)

LEMMA_8 = (
    Step("ρ̄_u > 0", rho_u > 0),
    Step("ρ̄_a > 0", rho_a > 0),
    Step("c_a(1 − ρ̄_w)", Eq(c_a * (1 - rho_w), rho_u), ("ρ̄_w < 1", "c_a :=")),
    Step("c_u(1 − ρ̄_w)", Eq(c_u * (1 - rho_w), rho_a), ("ρ̄_w < 1", "c_u :=")),
    Step("c_w", Eq(c_w, c_u * c_a), ("ρ̄_w < 1", "c_w :=", "c_u :=", "c_a :=")),
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
        Step(
            "(3) by (9)",
            lam0 - 4 * C2 >= lam0 / 2,
            ("(9)", "C₂", "c_u > 0", "c_w > 0"),
            text="what the last line needs of (9)",
        ),
        Step(
            "(iii)",
            Phi_1 <= (1 - eta * lam0 / 2) * Phi_0,
            ("(3) by (10)", "(9)", "C₂", "c_u > 0", "c_w > 0", "Φ ≥ 0", "η > 0", "u² > 0"),
            text="the last line of the proof",
        ),
    )


def _forced(factor: int) -> tuple[Step, ...]:
    """What (9) with `factor` forces, whatever the width: the a of Assumption 1 has norm close to 1."""
    return (
        Step("(9) c_w", lam0 >= factor * c_w**2 * XF**2, ("(9)",)),
        Step("(9) λ₀ above", n * lam0 <= (c_a * XF) ** 2, ("trace", "(15) at 0", "‖Z(0)‖ ≥ 0")),
        Step("(9) c_u c_a", lam0 >= factor * (c_u * c_a) ** 2 * XF**2, ("(9) c_w", "c_w")),
        Step("(9) times n", n * factor * (c_u * c_a) ** 2 * XF**2 <= n * lam0, ("(9) c_u c_a", "n ≥ 1")),
        Step("(9) both", n * factor * c_u**2 * (c_a * XF) ** 2 <= (c_a * XF) ** 2, ("(9) times n", "(9) λ₀ above")),
        Step("(9) n c_u²", factor * n * c_u**2 <= 1, ("(9) both", "c_a > 0")),
        Step("(9) v", factor * n * (c_u * v_w) ** 2 <= v_w**2, ("(9) n c_u²",)),
        Step("(9) ρ̄_a", Eq(rho_a, c_u * v_w), ("c_u(1 − ρ̄_w)", "v")),
        Step("(9) ρ̄_a²", factor * n * rho_a**2 <= v_w**2, ("(9) v", "(9) ρ̄_a")),
        Step(
            "(9) forces",
            factor * n * rho_a**2 <= (1 - rho_w) ** 2,
            ("(9) ρ̄_a²", "v"),
            text="not printed: ‖a(0)‖ + δ ≤ (1 − ρ̄_w)/(2√n) with the printed 4",
        ),
        Step("(9) v > 0", v_w > 0, ("v", "ρ̄_w < 1")),
        Step("(9) v < 1", v_w < 1, ("v",)),
        Step("(9) 4ρ̄_a²", 4 * rho_a**2 <= v_w**2, ("(9) ρ̄_a²", "n ≥ 1")),
        Step("(9) 2ρ̄_a", 2 * rho_a <= v_w, ("(9) 4ρ̄_a²", "(9) v > 0")),
        Step("(9) ‖a(0)‖", na < Rational(1, 2), ("(9) 2ρ̄_a", "(9) v < 1"), text="not printed; see `never`"),
    )


# What is left of sigma_min(Z(tau)) / sqrt(lambda_0): 1 - (1 + u)/2 (2 - sqrt 2)/2.
KEPT = sqrt(2) / 2 + (2 - sqrt(2)) / 4 * (1 - u)
# (iii) with the printed 4, by the contraction of I - eta G in place of the expansion of the square. The drift (2)
# leaves lambda_tau >= (1/2 + (1 - u)/5) lambda_0, a little more than half, and that little pays for the square.
SURVIVES = (
    Step("other C₁", Eq(C1, C2 + A_X), ("C₁", "C₂", "A")),
    Step("other A > 0", A_X > 0, ("A", "c_a > 0")),
    Step(
        "other ηA",
        eta * A_X <= Rational(1, 2),
        ("(3) ηC₁²", "other C₁", "C₂ > 0", "other A > 0"),
        text="4ab ≤ (a + b)²",
    ),
    Step("other λ₀", lam0 <= A_X, ("(9) λ₀ above", "A", "n ≥ 1", "λ₀ > 0")),
    Step("other ηλ₀", eta * lam0 <= Rational(1, 2), ("other ηA", "other λ₀")),
    Step("other u", u >= Rational(1, 4), ("u", "u ≥ 0", "other ηλ₀")),
    Step("other √λ₀", Eq(sqrt(lam0), s_0), ("s₀", "s₀ ≥ 0")),
    Step("other K", K_8 / lam0 <= (2 - sqrt(2)) / 2 * s_0, ("(2) by (8)", "other √λ₀")),
    Step("other F", F_t <= (1 + u) / 2 * ((2 - sqrt(2)) / 2 * s_0), ("(2) at τ", "other K", "u ≥ 0", "λ₀ > 0")),
    Step("other σ", sig_t >= s_0 * KEPT, ("Weyl at τ", "other F")),
    Step("other s₀ > 0", s_0 > 0, ("s₀", "s₀ ≥ 0", "λ₀ > 0")),
    Step("other κs₀", rat_t * s_0 >= s_0 * KEPT, ("other σ", "σ/s₀")),
    Step("other κ", rat_t >= KEPT, ("other κs₀", "other s₀ > 0")),
    Step("other half", rat_t**2 >= Rational(1, 2) + (1 - u) / 5, ("other κ", "u < 1", "u ≥ 0")),
    Step("other λ 1", Eq(sig_t**2, rat_t**2 * lam0), ("σ/s₀", "s₀")),
    Step("other λ", sig_t**2 >= lam0 * (Rational(1, 2) + (1 - u) / 5), ("other λ 1", "other half", "λ₀ > 0")),
    Step("other eig", eig >= lam0 * (Rational(1, 2) + (1 - u) / 5), ("other λ", "eigenvalue below")),
    Step("other ηeig", eta * eig <= 1, ("eigenvalue above", "other ηA")),
    Step(
        "other cont",
        cont <= 1 - eta * lam0 * (Rational(1, 2) + (1 - u) / 5),
        ("contraction", "other eig", "other ηeig"),
    ),
    Step(
        "other kept",
        kept <= (1 - eta * lam0 * (Rational(1, 2) + (1 - u) / 5)) * r_tau,
        ("kept", "other cont", "‖r(τ)‖ ≥ 0"),
    ),
    Step("other rest 1", rest <= eta * C2 * r_tau, ("remainder", "(3) aZ", "(3) N C₂")),
    Step("other (9)", lam0 >= 4 * C2, ("(9)", "C₂")),
    Step("other rest", rest <= eta * lam0 / 4 * r_tau, ("other rest 1", "other (9)", "‖r(τ)‖ ≥ 0")),
    Step(
        "other e",
        r_1 <= (1 - eta * lam0 * (Rational(1, 4) + (1 - u) / 5)) * r_tau,
        ("e moves", "other kept", "other rest"),
    ),
    Step("other ηλ₀ = 2(1 − u²)", Eq(eta * lam0, 2 * (1 - u**2)), ("u",)),
    Step("other u 1", 2 * (1 - u**2) * (Rational(1, 4) + (1 - u) / 5) >= 1 - u, ("other u", "u < 1")),
    Step(
        "other u 2",
        1 - eta * lam0 * (Rational(1, 4) + (1 - u) / 5) <= u,
        ("other u 1", "other ηλ₀ = 2(1 − u²)"),
    ),
    Step("other e ≤ ur", r_1 <= u * r_tau, ("other e", "other u 2", "‖r(τ)‖ ≥ 0")),
    Step("other Φ", Phi_1 <= u**2 * Phi_0, ("other e ≤ ur", "Φ(τ)", "Φ(τ+1) again", "‖r(τ+1)‖ ≥ 0", "u ≥ 0")),
    Step(
        "(iii) another way",
        Phi_1 <= (1 - eta * lam0 / 2) * Phi_0,
        ("other Φ", "u"),
        text="not printed: the rate survives with the printed 4",
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


HALF = Rational(1, 2)
GROWTH = Growth(
    {lam0: (1, 0), nU: (HALF, 0), XF: (0, HALF), r0: (0, HALF)},
    width={"samples": "5", "dim": "20"},
    samples={"width": "1600", "dim": "100"},
    widths=(200, 400, 800, 1600),
    counts=(3, 6, 12, 24),
    text="Assumptions 1 and 2: λ₀ grows as m and ‖U‖ as √m, ‖W‖ and ‖a‖ stay; orthogonal inputs of one norm",
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
    definitions=DEFINITIONS,
    hypotheses=_condition_1(4),
    conclusions=(
        Conclusion("(i)", Wt < 1, "the equilibrium exists throughout training"),
        Conclusion("(ii)", lamt > lam0 / 2, "half of the initial eigenvalue is kept"),
    ),
    rate=Rate("(iii)", gap=eta * lam0 / 2, per="step"),
    facts=FACTS,
    proof=(*LEMMA_8, *_theorem_1(4), *_forced(4), *SURVIVES),
    reading=(
        "Theorem 1 needs Condition 1 only; Assumptions 1 and 2 are the paper's way to Condition 1.",
        "The proof ends with λ₀ − 4C₂ ≥ λ₀/2, C₂ = (c_w² + c_u²)‖X‖_F², by (9); that needs 8 in place "
        "of the printed 4. See ling-gd:repaired.",
        "The rate survives with the printed 4 all the same: the audit proves it another way, by the contraction of "
        "I − ηG and the strict form of (ii).",
    ),
    flaw="with the printed 4 in (9) the last step of the proof fails (λ₀ − 4C₂ ≥ λ₀/2 needs λ₀ ≥ 8C₂), so the "
    "print does not prove the rate. It survives by another argument (the steps “other”); ling-gd:repaired has the 8.",
    never="No width helps: by (15), λ₀ ≤ ‖Z‖_F²/n ≤ c_a²‖X‖_F²/n, so (9) forces ‖a(0)‖ + δ ≤ (1 − ρ̄_w)/(2√n) < 1/2, "
    "while the a of Assumption 1 has norm close to 1.",
    settings=("eta", "delta"),
    growth=GROWTH,
    quick={"width": "200", "samples": "10", "dim": "20"},
)

LING_GD_REPAIRED = replace(
    LING_GD,
    key="ling-gd:repaired",
    title="gradient descent trains a vanilla DEQ to zero loss, with the constant that the proof needs",
    source=_source("Theorem 1 with 8 in (9)"),
    hypotheses=_condition_1(8),
    proof=_corrected((*LEMMA_8, *_theorem_1(8), *_forced(8))),
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

# --- a sharper statement ---------------------------------------------------------------------------

# Measured besides: z_0 = ||Z(0)||, x_0 = ||X||, both operator norms. Chosen: radii delta for W, delta_a for a, zeta
# for Z; h, the part of 1/||Z||^2 that the step may use. e is the norm of the residual at tau, p = (1 - eta mu)^tau,
# D_. the distance from the start at tau and D_.' at tau+1 (for a: the length of its path), kept = ||(I - eta G) e||,
# rest = ||(Z(tau+1) - Z(tau))^T a(tau+1)||.
#
# Induction over tau: ||W - W(0)|| <= delta, ||a - a(0)|| <= delta_a, ||Z - Z(0)||_F <= zeta, e <= (1 - eta mu)^tau r_0.
# 1. The gradients of Lemma 2 give W(tau+1), then a(tau+1), from the sums up to tau; (W) and (a) keep them in.
# 2. phi is 1-Lipschitz, so (1 - rho_w) ||Z(tau+1) - Z(tau)||_F <= eta c_u (z^2 + x_0^2) e; the sum is in by (Z).
# 3. Weyl: sigma_min(Z) >= sigma. So kept <= (1 - eta sigma^2) e, rest <= eta C e, and e shrinks by 1 - eta mu.
# The path of a: kept^2 <= e^2 - 2 gamma eta ||Z e||^2 and ||Z e|| >= sigma e give gamma sigma eta ||Z e|| <= e - kept.
# Summed, with kept >= e(tau+1) - eta C e, that is gamma sigma (path) <= r_0 (1 + C/mu) = r_0 sigma^2/mu.
z_0, x_0, delta_a, zeta, h = symbols("z_0 x_0 delta_a zeta h", real=True)
sig, zb, slip, mu, k_Z, gam, k_a1 = symbols("sigma z C mu k_Z gamma k_1", real=True)
e_s, e_1, p_s, q_s, sum_0, sum_1 = symbols("e e_1 p q Sigma_0 Sigma_1", real=True)
D_W, D_a, D_Z, D_W1, D_a1, D_Z1, Z_1 = symbols("D_W D_a D_Z D_W' D_a' D_Z' Z_1", real=True)
WZ, UX, Ge, sig_s = symbols("WZ UX Ge sigma_s", real=True)

SHARP_DEFINITIONS = {
    rho_w: nW + delta,
    rho_a: na + delta_a,
    c_u: rho_a / (1 - rho_w),
    sig: sqrt(lam0) - zeta,
    zb: z_0 + zeta,
    k_Z: c_u / (1 - rho_w) * (zb**2 + x_0**2),
    slip: c_u**2 * (zb**2 + x_0**2),
    mu: sig**2 - slip,
    gam: 1 - h / 2,
}

SHARP_FACTS = (
    *(_meaning(symbol, SHARP_DEFINITIONS[symbol]) for symbol in (c_u, k_Z, slip, mu, gam)),
    Fact("‖W(0)‖ ≥ 0", nW >= 0),
    Fact("‖a(0)‖ ≥ 0", na >= 0),
    Fact("‖X‖ ≥ 0", x_0 >= 0),
    Fact("‖r₀‖ ≥ 0", r0 >= 0),
    Fact("λ₀ ≥ 0", lam0 >= 0),
    Fact("‖Z(0)‖ ≥ 0", z_0 >= 0),
    _cited("λ₀ ≤ ‖Z(0)‖²", lam0 <= z_0**2, "the least eigenvalue of G(0) and the largest"),
    # the induction hypothesis at tau
    _cited("W at τ", W_s <= rho_w, "induction; ‖W(0)‖ at τ = 0"),
    _cited("a at τ", a_s <= rho_a, "induction; ‖a(0)‖ at τ = 0"),
    _cited("Z at τ", Z_s <= zb, "induction: ‖Z(τ) − Z(0)‖ ≤ ζ; ‖Z(0)‖ at τ = 0"),
    _cited("σ at τ", sig_s >= sig, "induction: Weyl, ‖Z(τ) − Z(0)‖ ≤ ζ; √λ₀ at τ = 0"),
    _cited("e at τ", e_s <= p_s * r0, "induction; p = 1 at τ = 0"),
    _cited("W so far", D_W <= c_u * zb * r0 * (eta * sum_0), "induction; 0 at τ = 0"),
    _cited("Z so far", D_Z <= k_Z * r0 * (eta * sum_0), "induction; 0 at τ = 0"),
    _cited(
        "a so far",
        gam * sig * D_a <= r0 - e_s + slip * r0 * (eta * sum_0),
        "induction; 0 ≤ 0 at τ = 0",
    ),
    _cited("Σ", Eq(eta * mu * sum_0, 1 - p_s, evaluate=False), "Σ₀ = 1 + q + … + q^(τ−1), p = q^τ"),
    _cited("Σ₀ ≥ 0", sum_0 >= 0, "a sum of powers of q ≥ 0"),
    _cited("Σ next", Eq(sum_1, sum_0 + p_s, evaluate=False), "one more term"),
    _cited("q", Eq(q_s, 1 - eta * mu, evaluate=False), "abbreviation"),
    _cited("p ≥ 0", p_s >= 0, "a power of q ≥ 0"),
    _cited("e ≥ 0", e_s >= 0, "a norm"),
    _cited("e next ≥ 0", e_1 >= 0, "a norm"),
    _cited("‖W‖ at τ ≥ 0", W_s >= 0, "a norm"),
    _cited("‖a‖ at τ ≥ 0", a_s >= 0, "a norm"),
    _cited("‖Z‖ at τ ≥ 0", Z_s >= 0, "a norm"),
    _cited("J⁻¹ ≥ 0", J_inv >= 0, "a norm"),
    _cited("R ≥ 0", R_s >= 0, "a norm"),
    _cited("kept ≥ 0", kept >= 0, "a norm"),
    _cited("‖∇a‖ ≥ 0", g_a >= 0, "a norm"),
    _cited("‖Ge‖ ≥ 0", Ge >= 0, "a norm"),
    _cited("‖ΔZ‖ ≥ 0", d_Z >= 0, "a norm"),
    # one step; V has the columns e_i b_i of Lemma 2, ||V||_F <= R ||e||
    _cited("Neumann", J_inv * (1 - W_s) <= 1, "‖D(I ⊗ W)‖ ≤ ‖W‖ < 1"),
    _cited("R", R_s <= a_s * J_inv, "‖b_i‖ ≤ ‖a‖ ‖J⁻¹‖, slopes 0 or 1"),
    _cited("∇W", g_W <= Z_s * R_s * e_s, "∇_W = V Zᵀ"),
    _cited("ΔW Z", WZ <= eta * (Z_s**2 * R_s * e_s), "ΔW Z = −η V ZᵀZ"),
    _cited("ΔU X", UX <= eta * (x_0**2 * R_s * e_s), "ΔU X = −η V XᵀX"),
    _cited("W moves", D_W1 <= D_W + eta * g_W, "triangle inequality"),
    _cited("a moves", D_a1 <= D_a + eta * g_a, "triangle inequality, ∇_a = Z e"),
    _cited("Z moves", D_Z1 <= D_Z + d_Z, "triangle inequality"),
    _cited("triangle W", W_1 <= nW + D_W1, "triangle inequality"),
    _cited("triangle a", a_1 <= na + D_a1, "triangle inequality"),
    _cited("triangle Z", Z_1 <= z_0 + D_Z1, "triangle inequality"),
    _cited("layers", d_Z <= W_1 * d_Z + WZ + UX, "φ is 1-Lipschitz; triangle inequality"),
    _cited("Weyl", sig_1 >= sqrt(lam0) - D_Z1, "Weyl, at τ + 1"),
    _cited("λ = σ²", Eq(lam_1, sig_1**2, evaluate=False), "λ_{τ+1} = σ_min(Z(τ+1))², m ≥ n as λ₀ > 0"),
    _cited("eigenvalue below", eig >= sig_s**2, "every eigenvalue of G(τ)"),
    _cited("eigenvalue above", eig <= Z_s**2, "every eigenvalue of G(τ)"),
    _cited("contraction", cont <= Max(1 - eta * eig, eta * eig - 1), "‖I − ηG‖ is at some eigenvalue"),
    _cited("kept", kept <= cont * e_s, "‖(I − ηG)e‖"),
    _cited("kept²", Eq(kept**2, e_s**2 - 2 * eta * g_a**2 + eta**2 * Ge**2, evaluate=False), "‖Ze‖² = eᵀGe"),
    _cited("Ge", Ge <= Z_s * g_a, "Ge = Zᵀ(Ze)"),
    _cited("∇a below", g_a >= sig_s * e_s, "‖Ze‖ ≥ σ_min(Z)‖e‖"),
    _cited("∇a above", g_a <= Z_s * e_s, "‖Ze‖ ≤ ‖Z‖‖e‖"),
    _cited("k₁", Eq(k_a1, gam * (eta * g_a), evaluate=False), "abbreviation"),
    _cited("remainder", rest <= a_1 * d_Z, "(ΔZ)ᵀa(τ+1)"),
    _cited("e moves", e_1 <= kept + rest, "e(τ+1) = (I − ηG)e + (ΔZ)ᵀa(τ+1)"),
    _cited("Φ(τ)", Eq(Phi_0, e_s**2 / 2, evaluate=False), "the loss"),
    _cited("Φ(τ+1)", Eq(Phi_1, e_1**2 / 2, evaluate=False), "the loss"),
)

SHARP_PROOF = (
    # constants
    Step("1 − ρ̄_w > 0", 1 - rho_w > 0, ("ρ̄_w < 1",)),
    Step("ρ̄_a > 0", rho_a > 0),
    Step("c_u(1 − ρ̄_w)", Eq(c_u * (1 - rho_w), rho_a), ("ρ̄_w < 1", "c_u :=")),
    Step("c_u > 0", c_u > 0, ("c_u(1 − ρ̄_w)", "ρ̄_a > 0", "ρ̄_w < 1")),
    Step("k(1 − ρ̄_w)", Eq(k_Z * (1 - rho_w), c_u * (zb**2 + x_0**2)), ("ρ̄_w < 1", "k_Z :=")),
    Step("σ > 0", sig > 0, ("ζ < σ₀",)),
    Step("z > 0", zb > 0),
    Step("k ≥ 0", k_Z >= 0, ("k(1 − ρ̄_w)", "c_u > 0", "ρ̄_w < 1")),
    Step("C ≥ 0", slip >= 0, ("C :=",)),
    Step("kρ̄_a 1", Eq(rho_a * k_Z, c_u * (k_Z * (1 - rho_w))), ("c_u(1 − ρ̄_w)",)),
    Step("kρ̄_a", Eq(rho_a * k_Z, slip), ("kρ̄_a 1", "k(1 − ρ̄_w)", "C :=")),
    Step("√λ₀ ≤ z₀", sqrt(lam0) <= z_0, ("λ₀ ≤ ‖Z(0)‖²",)),
    Step("σ ≤ z", sig <= zb, ("√λ₀ ≤ z₀",)),
    Step("γ > 0", gam > 0, ("gamma :=", "h ≤ 1")),
    Step("ηz²", eta * zb**2 < h, ("step", "z > 0")),
    Step("σ² ≤ z²", sig**2 <= zb**2, ("σ ≤ z", "σ > 0")),
    Step("ησ²", eta * sig**2 <= eta * zb**2, ("σ² ≤ z²",)),
    Step("ημ", eta * mu <= eta * sig**2, ("mu :=", "C ≥ 0")),
    Step("ημ < 1", eta * mu < 1, ("ημ", "ησ²", "ηz²", "h ≤ 1")),
    Step("q ≥ 0", q_s >= 0, ("q", "ημ < 1")),
    # sums
    Step("Σ closed", Eq(eta * mu * sum_1, 1 - q_s * p_s), ("Σ", "Σ next", "q")),
    Step("Σ bound", mu * (eta * sum_1) <= 1, ("Σ closed", "q ≥ 0", "p ≥ 0")),
    Step("Σ₀ bound", mu * (eta * sum_0) <= 1, ("Σ", "p ≥ 0")),
    # the gradients at tau
    Step("J⁻¹ 1", J_inv * (1 - rho_w) <= 1, ("Neumann", "W at τ", "J⁻¹ ≥ 0")),
    Step("R 1", R_s <= rho_a * J_inv, ("R", "a at τ", "J⁻¹ ≥ 0")),
    Step("R 2", rho_a * J_inv * (1 - rho_w) <= rho_a, ("J⁻¹ 1", "ρ̄_a > 0")),
    Step("R 3", R_s * (1 - rho_w) <= rho_a * J_inv * (1 - rho_w), ("R 1", "1 − ρ̄_w > 0")),
    Step("R 4", R_s * (1 - rho_w) <= c_u * (1 - rho_w), ("R 3", "R 2", "c_u(1 − ρ̄_w)")),
    Step("R ≤ c_u", R_s <= c_u, ("R 4", "1 − ρ̄_w > 0")),
    Step("ZR", Z_s * R_s <= zb * c_u, ("Z at τ", "R ≤ c_u", "‖Z‖ at τ ≥ 0", "R ≥ 0", "z > 0")),
    Step("∇W bound", g_W <= c_u * zb * e_s, ("∇W", "ZR", "e ≥ 0")),
    Step("Z²", Z_s**2 <= zb**2, ("Z at τ", "‖Z‖ at τ ≥ 0")),
    Step("Z²R", Z_s**2 * R_s <= zb**2 * c_u, ("Z²", "R ≤ c_u", "R ≥ 0", "c_u > 0")),
    Step("x²R", x_0**2 * R_s <= x_0**2 * c_u, ("R ≤ c_u",)),
    Step("Z²Re", Z_s**2 * R_s * e_s <= zb**2 * c_u * e_s, ("Z²R", "e ≥ 0")),
    Step("x²Re", x_0**2 * R_s * e_s <= x_0**2 * c_u * e_s, ("x²R", "e ≥ 0")),
    Step("ΔW Z bound", WZ <= eta * (zb**2 * c_u * e_s), ("ΔW Z", "Z²Re")),
    Step("ΔU X bound", UX <= eta * (x_0**2 * c_u * e_s), ("ΔU X", "x²Re")),
    Step("ΔWZ + ΔUX", WZ + UX <= eta * (c_u * (zb**2 + x_0**2)) * e_s, ("ΔW Z bound", "ΔU X bound")),
    # W
    Step("W 1", c_u * zb * e_s <= c_u * zb * (p_s * r0), ("e at τ", "c_u > 0", "z > 0")),
    Step("W 2", g_W <= c_u * zb * r0 * p_s, ("∇W bound", "W 1")),
    Step("W so far, next", D_W1 <= c_u * zb * r0 * (eta * sum_1), ("W moves", "W so far", "W 2", "Σ next")),
    Step("W 3", c_u * zb * r0 >= 0, ("c_u > 0", "z > 0")),
    Step("W 4", c_u * zb * r0 * (mu * (eta * sum_1)) <= c_u * zb * r0, ("Σ bound", "W 3")),
    Step("W 5", mu * D_W1 <= mu * (c_u * zb * r0 * (eta * sum_1)), ("W so far, next", "μ > 0")),
    Step("W drift", mu * D_W1 <= c_u * zb * r0, ("W 4", "W 5")),
    Step("W radius", D_W1 <= delta, ("W drift", "(W)", "μ > 0")),
    Step("W next", W_1 <= rho_w, ("W radius", "triangle W")),
    Step("(i)", W_1 < 1, ("W next", "ρ̄_w < 1")),
    # a: along its path the residual must fall
    Step("ηZ²", eta * Z_s**2 <= h, ("Z²", "ηz²")),
    Step("‖Ge‖²", Ge**2 <= Z_s**2 * g_a**2, ("Ge", "‖Ge‖ ≥ 0")),
    Step("η‖Ge‖² 1", eta * Ge**2 <= eta * Z_s**2 * g_a**2, ("‖Ge‖²",)),
    Step("η‖Ge‖² 2", eta * Z_s**2 * g_a**2 <= h * g_a**2, ("ηZ²",)),
    Step("η‖Ge‖²", eta * Ge**2 <= h * g_a**2, ("η‖Ge‖² 1", "η‖Ge‖² 2")),
    Step("k₁ ≥ 0", k_a1 >= 0, ("k₁", "γ > 0", "‖∇a‖ ≥ 0")),
    Step("path 1", kept**2 <= e_s**2 - 2 * eta * g_a**2 + eta * (h * g_a**2), ("kept²", "η‖Ge‖²")),
    Step("path 2", Eq(2 * eta * g_a**2 - eta * (h * g_a**2), 2 * k_a1 * g_a), ("k₁", "gamma :=")),
    Step("path 3", kept**2 <= e_s**2 - 2 * k_a1 * g_a, ("path 1", "path 2")),
    Step("path 4", kept * e_s <= e_s**2 - k_a1 * g_a, ("path 3",), text="2ab ≤ a² + b²"),
    Step("path 5", g_a >= sig * e_s, ("∇a below", "σ at τ", "e ≥ 0")),
    Step("path 6", k_a1 * g_a >= k_a1 * sig * e_s, ("path 5", "k₁ ≥ 0")),
    Step("path 7", kept * e_s <= (e_s - k_a1 * sig) * e_s, ("path 4", "path 6")),
    Step("path 8", kept <= e_s, ("path 3", "k₁ ≥ 0", "‖∇a‖ ≥ 0", "e ≥ 0")),
    Step("path 9", k_a1 <= gam * eta * Z_s * e_s, ("k₁", "∇a above", "γ > 0")),
    Step(
        "path",
        kept <= e_s - k_a1 * sig,
        ("path 7", "path 8", "path 9", "k₁ ≥ 0", "e ≥ 0"),
        text="where e = 0 nothing moves",
    ),
    Step("a 1", gam * D_a1 <= gam * D_a + k_a1, ("a moves", "k₁", "γ > 0")),
    Step("a 2", gam * sig * D_a1 <= gam * sig * D_a + k_a1 * sig, ("a 1", "σ > 0")),
    Step("a 3", gam * sig * D_a1 <= r0 - kept + slip * r0 * (eta * sum_0), ("a 2", "a so far", "path")),
    Step("a 4", gam * sig * D_a1 <= r0 + slip * r0 * (eta * sum_0), ("a 3", "kept ≥ 0")),
    Step("a 5", mu * (gam * sig * D_a1) <= mu * (r0 + slip * r0 * (eta * sum_0)), ("a 4", "μ > 0")),
    Step("a 6", slip * r0 * (mu * (eta * sum_0)) <= slip * r0, ("Σ₀ bound", "C ≥ 0")),
    Step("a 7", mu * (gam * sig * D_a1) <= (mu + slip) * r0, ("a 5", "a 6")),
    Step("a 8", sig * (mu * gam * D_a1) <= sig * (sig * r0), ("a 7", "mu :=")),
    Step("a drift", mu * gam * D_a1 <= sig * r0, ("a 8", "σ > 0")),
    Step("a 9", mu * gam > 0, ("γ > 0", "μ > 0")),
    Step("a 10", mu * gam * D_a1 <= mu * gam * delta_a, ("a drift", "(a)")),
    Step("a radius", D_a1 <= delta_a, ("a 10", "a 9")),
    Step("a next", a_1 <= rho_a, ("a radius", "triangle a")),
    # Z
    Step("ΔZ 1", d_Z <= rho_w * d_Z + WZ + UX, ("layers", "W next", "‖ΔZ‖ ≥ 0")),
    Step("ΔZ 2", (1 - rho_w) * d_Z <= eta * (c_u * (zb**2 + x_0**2)) * e_s, ("ΔZ 1", "ΔWZ + ΔUX")),
    Step("ΔZ 3", Eq((1 - rho_w) * (eta * k_Z * e_s), eta * (c_u * (zb**2 + x_0**2)) * e_s), ("k(1 − ρ̄_w)",)),
    Step("ΔZ 4", (1 - rho_w) * d_Z <= (1 - rho_w) * (eta * k_Z * e_s), ("ΔZ 2", "ΔZ 3")),
    Step("ΔZ", d_Z <= eta * k_Z * e_s, ("ΔZ 4", "1 − ρ̄_w > 0")),
    Step("Z 1", k_Z * e_s <= k_Z * (p_s * r0), ("e at τ", "k ≥ 0")),
    Step("Z so far, next", D_Z1 <= k_Z * r0 * (eta * sum_1), ("Z moves", "Z so far", "ΔZ", "Z 1", "Σ next")),
    Step("Z 2", k_Z * r0 * (mu * (eta * sum_1)) <= k_Z * r0, ("Σ bound", "k ≥ 0")),
    Step("Z 3", mu * D_Z1 <= mu * (k_Z * r0 * (eta * sum_1)), ("Z so far, next", "μ > 0")),
    Step("Z drift", mu * D_Z1 <= k_Z * r0, ("Z 2", "Z 3")),
    Step("Z radius", D_Z1 <= zeta, ("Z drift", "(Z)", "μ > 0")),
    Step("Z next", Z_1 <= zb, ("Z radius", "triangle Z")),
    Step("σ next", sig_1 >= sig, ("Z radius", "Weyl")),
    Step("(ii)", lam_1 >= sig**2, ("σ next", "λ = σ²", "σ > 0")),
    # the residual
    Step("λ_min", eig >= sig**2, ("eigenvalue below", "σ at τ", "σ > 0")),
    Step("λ_max", eig <= zb**2, ("eigenvalue above", "Z²")),
    Step("ηλ_max", eta * eig <= 1, ("λ_max", "ηz²", "h ≤ 1")),
    Step("contraction bound", cont <= 1 - eta * sig**2, ("contraction", "λ_min", "ηλ_max")),
    Step("contraction e", cont * e_s <= (1 - eta * sig**2) * e_s, ("contraction bound", "e ≥ 0")),
    Step("remainder 1", a_1 * d_Z <= rho_a * d_Z, ("a next", "‖ΔZ‖ ≥ 0")),
    Step("remainder 2", rho_a * d_Z <= rho_a * (eta * k_Z * e_s), ("ΔZ", "ρ̄_a > 0")),
    Step("remainder 3", Eq(rho_a * (eta * k_Z * e_s), eta * slip * e_s), ("kρ̄_a",)),
    Step("remainder bound", rest <= eta * slip * e_s, ("remainder", "remainder 1", "remainder 2", "remainder 3")),
    Step("residual", e_1 <= (1 - eta * mu) * e_s, ("e moves", "kept", "contraction e", "remainder bound", "mu :=")),
    Step("residual q", e_1 <= q_s * e_s, ("residual", "q")),
    Step("e next", e_1 <= q_s * p_s * r0, ("residual q", "e at τ", "q ≥ 0")),
    Step("a 11", slip * e_s <= slip * (p_s * r0), ("e at τ", "C ≥ 0")),
    Step(
        "a so far, next",
        gam * sig * D_a1 <= r0 - e_1 + slip * r0 * (eta * sum_1),
        ("a 3", "e moves", "remainder bound", "a 11", "Σ next"),
    ),
    Step("Φ", Phi_1 <= q_s**2 * Phi_0, ("residual q", "q ≥ 0", "e next ≥ 0", "Φ(τ)", "Φ(τ+1)")),
    Step("(iii)", Phi_1 <= (1 - eta * mu * (2 - eta * mu)) * Phi_0, ("Φ", "q")),
    # what the hypotheses force
    Step("forced 1", slip < zb**2, ("μ > 0", "mu :=", "σ² ≤ z²")),
    Step("forced 2", c_u**2 * (zb**2 + x_0**2) < zb**2, ("forced 1", "C :=")),
    Step("forced 3", c_u**2 * zb**2 < zb**2, ("forced 2",)),
    Step("forced 4", c_u < 1, ("forced 3", "z > 0")),
    Step("forced", rho_a < 1 - rho_w, ("forced 4", "c_u(1 − ρ̄_w)", "1 − ρ̄_w > 0"), text="‖a(0)‖ + δ_a < 1 − ρ̄_w"),
)

LING_GD_SHARP = Theorem(
    key="ling-gd:sharp",
    title="gradient descent trains a vanilla DEQ to zero loss: measured ‖Z‖, step up to 1/‖Z‖²",
    source=_source("Theorem 1 (sharpened)"),
    family="ling",
    setting="gradient descent with step η on 1/2 ‖aᵀZ − y‖², W, U and a trained",
    measured={
        lam0: q.lambda_0,
        z_0: q.norm_equilibrium,
        x_0: q.norm_inputs,
        nW: q.norm_implicit_weights,
        na: q.norm_output_weights,
        r0: q.initial_residual,
    },
    chosen={delta: free, delta_a: free, zeta: free, h: free, eta: largest("step")},
    monitored=MONITORED,
    definitions=SHARP_DEFINITIONS,
    hypotheses=(
        Hypothesis("ρ̄_w < 1", rho_w < 1, "‖W(0)‖ + δ < 1"),
        Hypothesis("ζ < σ₀", zeta < sqrt(lam0), "Z keeps its rank"),
        Hypothesis("h ≤ 1", h <= 1),
        Hypothesis("μ > 0", mu > 0),
        Hypothesis("(W)", mu * delta >= c_u * zb * r0, "W stays within δ"),
        Hypothesis("(a)", mu * gam * delta_a >= sig * r0, "a stays within δ_a"),
        Hypothesis("(Z)", mu * zeta >= k_Z * r0, "Z stays within ζ"),
        Hypothesis("step", eta < h / zb**2),
    ),
    conclusions=(
        Conclusion("(i)", Wt < 1, "the equilibrium exists throughout training"),
        Conclusion("(ii)", lamt >= sig**2, "the least eigenvalue is kept up to the drift of Z"),
    ),
    rate=Rate("(iii)", gap=eta * mu * (2 - eta * mu), per="step"),
    facts=SHARP_FACTS,
    proof=SHARP_PROOF,
    reading=(
        "Not in the paper: a sharper form of its Theorem 1, proved step by step in the audit. The residual moves by "
        "e(τ+1) = (I − ηG)e + (Z(τ+1) − Z(τ))ᵀa(τ+1). While η‖Z‖² ≤ 1 the first part shrinks by 1 − ησ², and the "
        "second is at most ηC‖e‖, so ‖e‖ shrinks by 1 − ημ, μ = σ² − C.",
        "‖Z‖ and ‖X‖ are measured operator norms. They replace c_a‖X‖_F and ‖X‖_F of the print, so U does not "
        "occur: ΔW Z = −ηV ZᵀZ and ΔU X = −ηV XᵀX, where V has the columns e_i b_i of Lemma 2.",
        "Condition 1 with 8 in (9) implies these hypotheses wherever ‖Z(0)‖ + 3√λ₀/10 ≤ c_a‖X‖_F, with the same δ, "
        "δ_a = δ, ζ = 3√λ₀/10 and h = 1.",
        "a is followed along its path: ηγσ‖Ze‖ ≤ ‖e‖ − ‖(I − ηG)e‖ with γ = 1 − h/2, so the length of the path is at "
        "most σ‖e(0)‖/(γμ), without the condition number of Z.",
    ),
    never="No width helps with the a of Assumption 1: μ > 0 forces ‖a(0)‖ + δ_a < 1 − ρ̄_w, and that a has norm close "
    "to 1. It holds for --with init=zero-output and a wide layer.",
    settings=("eta", "delta"),
    quick={"width": "1000", "samples": "2", "dim": "20", "init": "zero-output", "sigma2": "0.01"},
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
