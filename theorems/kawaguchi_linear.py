"""Kawaguchi (2021), the deep equilibrium linear model: Proposition 1, Theorems 1 and 2, Corollaries 1 and 2.

Paper: "On the Theory of Implicit Deep Learning: Global Convergence with Implicit Layers", K. Kawaguchi,
ICLR 2021. Numbers in parentheses are the paper's equation numbers.

Setting: z = gamma sigma(A) z + phi(x), output B z, sigma the softmax of each column, so that
f(x) = B U^-1 phi(x) with U = I - gamma sigma(A). Gradient flow on L(A, B) = sum_i l(f(x_i), y_i); the linear
model with weights W = B U^-1 has the objective L_0(W), and L(A, B) = L_0(B U^-1). Norms with index 1 are
induced by the vector 1-norm (largest absolute column sum).

Readings of the print:
- sigma_min(Phi) is the min(n, m)-th singular value, as the paper defines it.
- ||B_t||_1 < (1 - gamma) R is about the whole path. At t = 0 it is checked; later it is assumed. It is written
  with 1/R, so that R = infinity is the number 0.
- lambda_T is an infimum over a path that has not been run. What is used for it is a lower bound that holds
  for the path: the printed 1/(m (1 + gamma)^2), or a larger one where it can be proved (see LAMBDA).
- L* and L*_R (over A and B) are replaced by L*_0 and L*_{0,R}, which are not larger; as every W is a B U^-1,
  L* = L*_0.
"""

from dataclasses import replace

from sympy import Eq, Expr, Max, Rational, Symbol, log, sqrt, symbols

from deqcheck.quantities import kawaguchi as q
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
)

PAPER = "On the Theory of Implicit Deep Learning: Global Convergence with Implicit Layers"


def _source(number: str) -> Source:
    return Source(PAPER, "Kawaguchi", 2021, number)


# --- notation --------------------------------------------------------------------------------------

gamma, m, lamD, lamT, nU, horizon, kappa, Rinv, B1, Z1 = symbols(
    "gamma m lambda_D lambda_T norm_U horizon kappa R_inv norm_B_1 norm_Z_1", real=True
)
L0, Ls, g, decay, eps, T, sigma, tau, rho = symbols("L_0 L_star norm_grad decay epsilon T sigma_Phi tau rho", real=True)
lam_low, lam_any, T_any, tol = symbols("lambda_low lambda_any T_any t", real=True)
Lt, lam_t = symbols("L_t lambda_t", real=True)

TOLERANCE = fixed(Rational(1, 10**6))
UNIT = (Hypothesis("γ > 0", gamma > 0), Hypothesis("γ < 1", gamma < 1))
MONITORED: dict[Symbol, Quantity] = {
    Lt: replace(q.loss, name="L_t", text="L(A_T,B_T)", latex="L(A_T, B_T)"),
    lam_t: replace(q.lambda_min_D, name="lambda_t", text="λ_min(D_t)", latex=r"\lambda_{\min}(D_t)"),
}
FLOW = {
    gamma: q.gamma,
    m: q.width,
    lamD: q.lambda_min_D,
    nU: q.norm_U,
    horizon: q.horizon,
    L0: q.loss,
    Ls: q.infimum,
    decay: q.decay,
    eps: q.accuracy,
}
LAMBDA = {
    lam_low: 1 / (m * (1 + gamma) ** 2),
    # At all times ||U_t|| <= 1 + gamma ||sigma||_2 <= 1 + gamma sqrt(m).
    lam_any: (1 + gamma * sqrt(m)) ** -2,
    # Up to the horizon ||U_t - U_0|| <= gamma/2 ||A_t - A_0||_F (the softmax has slope 1/2), where gradient flow
    # moves by at most sqrt(time x loss spent).
    lamT: Max(
        lam_low,
        lam_any,
        (nU + gamma / 2 * sqrt(horizon * (L0 - Ls))) ** -2,
    ),
}
READING_LAMBDA = (
    "λ_T, an infimum over the path of gradient flow, is replaced by a proved lower bound: the printed 1/(m(1+γ)²), "
    "or 1/(1+γ√m)², or one from ‖U₀‖ and how far the flow can move A within the horizon, whichever is largest. "
    "λ_min(D₀) is what λ_T starts from."
)
READING_TIME = (
    "T(ε) is the time after which the printed bound, with λ_T = 1/(m(1+γ)²), is below the accuracy ε; beside it stands "
    "the time that follows in the same way from 1/(1+γ√m)², which holds at all times as well."
)


def _flow_definitions(k: Expr) -> dict[Symbol, Expr]:
    """kappa and the times of (9), (10), (11) and (12)."""
    spent = Max(log((L0 - Ls) / eps), 0)
    return {
        **LAMBDA,
        T: m * (1 + gamma) ** 2 / (2 * k) * spent,
        T_any: spent / (2 * k * lam_any),
    }


def _flow_conclusions(k: Symbol, bound: str, time: str) -> tuple[Conclusion, ...]:
    return (
        Conclusion("λ_min(D₀)", lamD >= lam_low, "the printed bound on λ_T, at t = 0"),
        Conclusion(
            f"{bound} at t = 0",
            decay >= 2 * k * lamD * (L0 - Ls),
            "the loss starts to fall at least at the promised rate",
        ),
        Conclusion("λ_T", lam_t >= lam_low, "and so at every later time"),
        Conclusion(
            "T(ε)",
            T_any <= (1 + tol) * T,
            "time to accuracy ε with 1/(1+γ√m)², and on the right as printed",
        ),
        Conclusion(time, Lt - Ls <= eps, "after the time T(ε) the accuracy ε is reached"),
    )


# --- Proposition 1 -----------------------------------------------------------------------------------

S1, ell, err, V1 = symbols("norm_sigma_1 l error_l norm_U_inv_1", real=True)
# Of the proof: P_k = ||(gamma sigma)^k||_1, g_k = gamma^k, sums of g_k, and one column of sigma(A).
P_k, P_next, g_k, g_next, g_l, g_tail, g_rest = symbols(
    "P_k P_next gamma_k gamma_next gamma_l gamma_tail gamma_rest", real=True
)
partial, tail, norms, sjj, off = symbols("partial_sum tail_sum norm_sum sigma_jj sigma_off", real=True)
z_0, z_1, phi_1 = symbols("z_0 z_1 phi_1", real=True)
COLUMN = Fact("softmax", Eq(sjj + off, 1), "a column of σ(A) sums to 1", cited=True)
COLUMN_SIGNS = (Fact("σ_jj ≥ 0", sjj >= 0), Fact("Σ σ_ij ≥ 0", off >= 0))

KAWAGUCHI_WELLPOSED = Theorem(
    key="kawaguchi-wellposed",
    title="the iterates of a deep equilibrium linear model converge for every A",
    source=_source("Proposition 1"),
    family="kawaguchi",
    setting="any A, any features, z⁰ = φ(x)",
    measured={
        gamma: q.gamma,
        S1: q.norm_sigma_1,
        ell: q.transitions,
        err: q.iterate_distance,
        V1: q.norm_inverse_1,
    },
    chosen={tol: TOLERANCE},
    hypotheses=UNIT,
    conclusions=(
        Conclusion("contraction", gamma * S1 < 1, "the layer contracts in the 1-norm"),
        Conclusion(
            "(36)",
            err <= (1 + tol) * gamma ** (ell + 1) / (1 - gamma),
            "the iterates approach U⁻¹φ as fast as the tail of the series",
        ),
        Conclusion("‖U⁻¹‖₁", V1 <= (1 + tol) / (1 - gamma), "the limit depends boundedly on φ"),
        Conclusion("limit", None, "z^ℓ converges to U⁻¹φ(x) for every x"),
    ),
    facts=(
        *COLUMN_SIGNS,
        Fact("γ^k ≥ 0", g_k >= 0),
        Fact("γ^(ℓ+1) ≥ 0", g_l >= 0),
        Fact("γ^(n+1) ≥ 0", g_rest >= 0),
        Fact("‖(γσ)^k‖₁ ≥ 0", P_k >= 0),
        COLUMN,
        Fact("1-norm", Eq(S1, sjj + off), "the largest column sum, of non-negative entries", cited=True),
        Fact("(4)", Eq(z_1, gamma * z_0 + phi_1), "the first iterate at width 1, where σ(A) = 1", cited=True),
        Fact("A.5 powers k", P_k <= g_k, "the assumption of the induction; equality at k = 0", cited=True),
        Fact("γ^(k+1)", Eq(g_next, gamma * g_k), cited=True),
        Fact("submultiplicative", P_next <= P_k * gamma * S1, "‖(γσ)^(k+1)‖₁ ≤ ‖(γσ)^k‖₁ ‖γσ‖₁", cited=True),
        Fact("Σ γ^k", Eq((1 - gamma) * partial, 1 - g_l), "telescoping of γ^0 + … + γ^ℓ", cited=True),
        Fact("Σ ‖(γσ)^k‖₁", norms <= partial, "the comparison, term by term", cited=True),
        Fact("tail", Eq((1 - gamma) * tail, g_l - g_rest), "telescoping of γ^(ℓ+1) + … + γ^n", cited=True),
        Fact("limit", err <= tail + tol * g_l / (1 - gamma), "z^n → z*, so this holds for large n", cited=True),
        Fact("Neumann", V1 <= partial + tol / (1 - gamma), "s_ℓ → U⁻¹, so this holds for large ℓ", cited=True),
    ),
    proof=(
        Step(
            "(36) at ℓ = 1",
            Eq(z_1, phi_1 + gamma * phi_1),
            since=("(4)", "γ > 0", "γ < 1"),
            fix=Eq(z_1 - (phi_1 + gamma * phi_1), gamma * (z_0 - phi_1)),
            text="(1) starts at z⁰ = x, the sum at z⁰ = φ(x); the difference vanishes with γ^ℓ",
        ),
        Step("A.5 ‖σ‖₁", Eq(S1, 1), since=("softmax", "1-norm")),
        Step("A.5 ‖γσ‖₁", gamma * S1 < 1, since=("A.5 ‖σ‖₁", "γ < 1")),
        Step(
            "A.5 powers",
            P_next <= g_next,
            since=("A.5 ‖σ‖₁", "submultiplicative", "γ^(k+1)", "A.5 powers k", "γ > 0"),
            text="the induction from k to k + 1",
        ),
        Step("A.5 sum", partial <= 1 / (1 - gamma), since=("Σ γ^k", "γ < 1")),
        Step("A.5 comparison", norms <= 1 / (1 - gamma), since=("Σ ‖(γσ)^k‖₁", "A.5 sum")),
        Step("A.5 Cauchy", tail <= g_l / (1 - gamma), since=("tail", "γ < 1")),
        Step("A.5 error", err <= (1 + tol) * g_l / (1 - gamma), since=("A.5 Cauchy", "limit")),
        Step("A.5 ‖U⁻¹‖₁", V1 <= (1 + tol) / (1 - gamma), since=("A.5 sum", "Neumann")),
    ),
    reading=(
        "(36) starts the iteration at z⁰ = φ(x); (1) says z⁰ = x. The limit is the same.",
        "For non-negative φ both bounds are equalities, so they are certified up to the relative tolerance t.",
    ),
    quick={"samples": "100"},
)

# --- Theorem 1 -----------------------------------------------------------------------------------------

# Of the proof, at any time s: y = L_0(Z_s) - L*_{0,R} and dy its derivative, the form g^T D g, lambda_min(D_s);
# h = y e^{cs} with c = 2 kappa lambda_T, dh its derivative, e_s = e^{cs}; y_T, h_T, E = e^{-cT} at the end.
y, dy, form, g_s, lam_s, lam_inf, e_s, dh, h_T, E_T, F_T, time = symbols(
    "y_s dy_s form_s g_s lambda_s lambda_inf e_s dh_s h_T E_T F_T time", real=True
)
vDv, vUv, rest, nU_t, s_inv, nU_1, L_R, spent, surplus, e_surplus = symbols(
    "vDv vUv vRv norm_U_t sigma_min_U_inv norm_U_1 L_star_R log_spent surplus e_surplus", real=True
)
# m (1 + gamma)^2, and its product with log((L_0 - L*)/eps), which the printed times divide.
cap, need = symbols("cap need", real=True)
# Sharper than (33): sqrt(m), the 2-norm and inf-norm of sigma(A), how far A has moved and a bound for it.
rm, S2, S_inf, reach, lam_wide, move, root_move, span, lam_path = symbols(
    "sqrt_m norm_sigma_2 norm_sigma_inf reach_any lambda_wide moved_A root_move span lambda_path", real=True
)
# T(eps) and the sharper time, alone and times 2 kappa; the positive part of the logarithm.
t_low, t_wide, k_low, k_wide, spent_plus = symbols("time_low time_wide ktime_low ktime_wide log_plus", real=True)

FLOW_SIGNS = (
    Fact("m ≥ 1", m >= 1),
    Fact("L ≥ L*", L0 >= Ls, "L* is an infimum"),
    Fact("ε > 0", eps > 0),
    Fact("‖∇L₀‖ ≥ 0", g >= 0),
)
# (32) and (33), for any (A, B).
SPECTRUM = (
    *COLUMN_SIGNS,
    Fact("‖U_t‖ > 0", nU_t > 0),
    Fact("‖U_t‖₁ > 0", nU_1 > 0),
    COLUMN,
    Fact("m(1+γ)²", Eq(cap, m * (1 + gamma) ** 2), "an abbreviation", cited=True),
    Fact("printed bound", Eq(lam_low * cap, 1), "the definition", cited=True),
    Fact("(27)", Eq(vDv, vUv + rest), "v is a unit eigenvector of the smallest eigenvalue of D_t", cited=True),
    Fact("λ_min(D_t)", Eq(lam_t, vDv), cited=True),
    Fact("(29)", rest >= 0, "a sum of Kronecker products of positive semidefinite matrices", cited=True),
    Fact("Kronecker", vUv >= s_inv**2, "λ_min(U⁻ᵀU⁻¹ ⊗ I) = σ_min(U⁻¹)²", cited=True),
    Fact("σ_min(U⁻¹)", Eq(s_inv * nU_t, 1), cited=True),
    Fact("‖U‖₂ ≤ √m ‖U‖₁", nU_t**2 <= m * nU_1**2, cited=True),
    Fact("‖U‖₁", Eq(nU_1, (1 - gamma * sjj) + gamma * off), "the largest column sum of |I − γσ|", cited=True),
    Fact("√m ≥ 0", rm >= 0),
    Fact("‖σ‖₂ ≥ 0", S2 >= 0),
    Fact("‖U₀‖ > 0", nU > 0),
    Fact("√m", Eq(rm**2, m), cited=True),
    Fact("‖σ‖∞", S_inf <= m, "m entries in a row, none above 1", cited=True),
    Fact("‖σ‖₂² ≤ ‖σ‖₁‖σ‖∞", S2**2 <= (sjj + off) * S_inf, cited=True),
    Fact("triangle", nU_t <= 1 + gamma * S2, "U = I − γσ(A)", cited=True),
    Fact("1 + γ√m", Eq(reach, 1 + gamma * rm), "an abbreviation", cited=True),
    Fact("1/(1+γ√m)²", Eq(lam_wide * reach**2, 1), "the definition", cited=True),
    Fact("softmax is ½-Lipschitz", nU_t <= nU + gamma / 2 * move, "‖U_t − U₀‖ ≤ γ‖σ(A_t) − σ(A₀)‖_F", cited=True),
    Fact("path", move**2 <= root_move**2, "‖A_t − A₀‖² ≤ t ∫‖dA/dt‖² ≤ t(L₀ − L*)", cited=True),
    Fact("√(t(L₀ − L*))", Eq(root_move**2, horizon * (L0 - Ls)), cited=True),
    Fact("root ≥ 0", root_move >= 0, cited=True),
    Fact("‖A_t − A₀‖ ≥ 0", move >= 0, cited=True),
    Fact("‖U₀‖ + γ/2 √", Eq(span, nU + gamma / 2 * root_move), "an abbreviation", cited=True),
    Fact("(‖U₀‖ + γ/2 √)⁻²", Eq(lam_path * span**2, 1), "the definition", cited=True),
    Fact("t ≥ 0", tol >= 0),
    Fact("log₊ ≥ 0", spent_plus >= 0),
    Fact("T(ε) printed", Eq(k_low, cap * spent_plus), "the definition, times 2κ", cited=True),
    Fact("T(ε) sharper", Eq(lam_wide * k_wide, spent_plus), "the definition, times 2κ", cited=True),
    Fact("2κT", Eq(k_low, 2 * kappa * t_low), cited=True),
    Fact("2κT sharper", Eq(k_wide, 2 * kappa * t_wide), cited=True),
    Fact("λ_T attained", Eq(lam_inf, lam_t), "a continuous function on [0, T], at its smallest", cited=True),
    Fact("0 ≤ T", lamD >= lam_inf, "t = 0 belongs to [0, T]", cited=True),
)
SPECTRUM_STEPS = (
    Step("(32) D", vDv >= vUv, since=("(27)", "(29)")),
    Step("(32) σ_min", lam_t >= s_inv**2, since=("(32) D", "Kronecker", "λ_min(D_t)")),
    Step("(32) ‖U‖₂", Eq(s_inv**2, 1 / nU_t**2), since=("σ_min(U⁻¹)",)),
    Step("(32) ‖U‖₁", 1 / nU_t**2 >= 1 / (m * nU_1**2), since=("‖U‖₂ ≤ √m ‖U‖₁",)),
    Step(
        "(32)",
        lam_t >= 1 / (m * nU_1**2),
        since=("(32) σ_min", "(32) ‖U‖₂", "(32) ‖U‖₁"),
    ),
    Step("A.1.7 column of U", Eq(nU_1, 1 + gamma * (off - sjj)), since=("‖U‖₁",)),
    Step("A.1.7 ‖U‖₁", nU_1 <= 1 + gamma, since=("A.1.7 column of U", "softmax", "γ > 0")),
    Step("m(1+γ)² > 0", cap > 0, since=("m(1+γ)²", "γ > 0")),
    Step("λ_low > 0", lam_low > 0, since=("printed bound", "m(1+γ)² > 0")),
    Step("(33) monotone", m * nU_1**2 <= cap, since=("A.1.7 ‖U‖₁", "m(1+γ)²", "γ > 0")),
    Step("(33) inverse", 1 / (m * nU_1**2) >= lam_low, since=("(33) monotone", "printed bound", "λ_low > 0")),
    Step("(33)", lam_t >= lam_low, since=("(32)", "(33) inverse")),
    Step("λ_T ≥", lam_inf >= lam_low, since=("(33)", "λ_T attained")),
    Step("(30)", lam_inf > 0, since=("λ_T ≥", "λ_low > 0")),
    Step("λ_min(D₀) ≥", lamD >= lam_low, since=("λ_T ≥", "0 ≤ T")),
    # Not of the paper: (33) loses a factor where it goes through the 1-norm.
    Step("sharper ‖σ‖₂²", S2**2 <= m, since=("‖σ‖₂² ≤ ‖σ‖₁‖σ‖∞", "softmax", "‖σ‖∞")),
    Step("sharper ‖σ‖₂", S2 <= rm, since=("sharper ‖σ‖₂²", "√m")),
    Step("sharper ‖U‖₂", nU_t <= reach, since=("triangle", "sharper ‖σ‖₂", "1 + γ√m", "γ > 0")),
    Step("sharper σ_min", s_inv * reach >= 1, since=("sharper ‖U‖₂", "σ_min(U⁻¹)")),
    Step("sharper square", s_inv**2 * reach**2 >= 1, since=("sharper σ_min",)),
    Step("sharper 1 + γ√m > 0", reach > 0, since=("1 + γ√m", "γ > 0")),
    Step("sharper s²", s_inv**2 >= lam_wide, since=("sharper square", "1/(1+γ√m)²", "sharper 1 + γ√m > 0")),
    Step("sharper λ", lam_t >= lam_wide, since=("(32) σ_min", "sharper s²")),
    Step("sharper √m ≥ 1", rm >= 1, since=("√m",)),
    Step("sharper 1 + γ√m", reach <= rm * (1 + gamma), since=("1 + γ√m", "sharper √m ≥ 1", "γ > 0")),
    Step(
        "sharper (1 + γ√m)²",
        reach**2 <= cap,
        since=("sharper 1 + γ√m", "sharper 1 + γ√m > 0", "√m", "m(1+γ)²"),
    ),
    Step(
        "sharper than printed",
        lam_wide >= lam_low,
        since=("sharper (1 + γ√m)²", "1/(1+γ√m)²", "printed bound", "sharper 1 + γ√m > 0", "m(1+γ)² > 0"),
        text="by m(1+γ)²/(1+γ√m)², which tends to (1+γ)²/γ² for wide layers",
    ),
    Step("path ‖A_t − A₀‖", move <= root_move, since=("path", "root ≥ 0")),
    Step(
        "path ‖U_t‖",
        nU_t <= span,
        since=("softmax is ½-Lipschitz", "path ‖A_t − A₀‖", "‖U₀‖ + γ/2 √", "γ > 0"),
    ),
    Step("path σ_min", s_inv * span >= 1, since=("path ‖U_t‖", "σ_min(U⁻¹)")),
    Step("path square", s_inv**2 * span**2 >= 1, since=("path σ_min",)),
    Step("path > 0", span > 0, since=("path ‖U_t‖",)),
    Step("path s²", s_inv**2 >= lam_path, since=("path square", "(‖U₀‖ + γ/2 √)⁻²", "path > 0")),
    Step("path λ", lam_t >= lam_path, since=("(32) σ_min", "path s²")),
    Step("T(ε) log", Eq(lam_low * k_low, spent_plus), since=("T(ε) printed", "printed bound")),
    Step("T(ε) ≥ 0", k_low >= 0, since=("T(ε) printed", "m(1+γ)² > 0")),
    Step("T(ε) λ", lam_low * k_low <= lam_wide * k_low, since=("sharper than printed", "T(ε) ≥ 0")),
    Step("T(ε) λ > 0", lam_wide > 0, since=("sharper than printed", "λ_low > 0")),
    Step(
        "T(ε) times 2κ",
        k_wide <= k_low,
        since=("T(ε) λ", "T(ε) log", "T(ε) sharper", "T(ε) λ > 0"),
    ),
    Step("T(ε) ≤", t_wide <= t_low, since=("T(ε) times 2κ", "2κT", "2κT sharper", "κ > 0")),
    Step("T(ε) printed ≥ 0", t_low >= 0, since=("T(ε) ≥ 0", "2κT", "κ > 0")),
    Step("T(ε) both", t_wide <= (1 + tol) * t_low, since=("T(ε) ≤", "T(ε) printed ≥ 0")),
)
# The inverse of U, and where the PL inequality is known.
INVERSE = (
    Fact("‖U⁻¹‖₁ > 0", V1 > 0),
    Fact("Varah", V1 * ((1 - gamma * sjj) - gamma * off) <= 1, "j is the column with the least dominance", cited=True),
)
INVERSE_STEPS = (
    Step("A.1.7 dominance", 1 - gamma * sjj > gamma * off, since=("softmax", "γ < 1")),
    Step("A.1.7 margin", Eq((1 - gamma * sjj) - gamma * off, 1 - gamma), since=("softmax",)),
    Step("A.1.7 ‖U⁻¹‖₁", V1 <= 1 / (1 - gamma), since=("Varah", "A.1.7 margin", "γ < 1")),
)
RADIUS = (
    Fact("‖B‖₁ ≥ 0", B1 >= 0),
    Fact("1/R ≥ 0", Rinv >= 0),
    Fact("submultiplicative", Z1 <= B1 * V1, "‖BU⁻¹‖₁ ≤ ‖B‖₁‖U⁻¹‖₁", cited=True),
)
RADIUS_STEPS = (
    Step("A.1.7 ‖Z‖₁", Z1 <= B1 / (1 - gamma), since=("submultiplicative", "A.1.7 ‖U⁻¹‖₁", "γ < 1")),
    Step("A.1.7 ‖Z‖₁ < R", Z1 * Rinv < 1, since=("A.1.7 ‖Z‖₁", "‖B₀‖₁ < (1−γ)R", "γ < 1")),
    Step("A.1.7 B_R strict", B1 * V1 * Rinv < (1 - gamma) * V1, since=("‖B₀‖₁ < (1−γ)R",)),
    Step("A.1.7 B_R", (1 - gamma) * V1 <= 1, since=("A.1.7 ‖U⁻¹‖₁", "γ < 1")),
)
# The time to accuracy, from (7): the printed T makes the exponent at least log((L_0 - L*)/eps).
ACCURACY_FACTS = (
    Fact("E", E_T > 0, "e^(−2κλ_T T)", cited=True),
    Fact("surplus", Eq(surplus, 2 * kappa * lam_inf * time - spent), "what the exponent has too much", cited=True),
    Fact(
        "functional equation",
        Eq(E_T * e_surplus * (L0 - Ls), eps),
        "e^(−2κλ_T T) e^surplus = e^(−log((L₀ − L*)/ε))",
        cited=True,
    ),
    Fact("e^x ≥ 1 + x", e_surplus >= 1 + surplus, cited=True),
    Fact("T > 0", time > 0, cited=True),
    Fact("m(1+γ)² log", Eq(need, cap * spent), "an abbreviation", cited=True),
)
CANCEL = Step("m(1+γ)² log / m(1+γ)²", Eq(lam_low * need, spent), since=("m(1+γ)² log", "printed bound"))


def _accuracy(number: str, bound: str, more: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """From the bound on the loss to the time after which the accuracy is reached."""
    return (
        Step(
            f"{number} solved",
            2 * kappa * time >= need,
            since=(f"{number} T", "κ > 0", *more),
        ),
        Step(
            f"{number} exponent",
            2 * kappa * time * lam_low >= spent,
            since=(f"{number} solved", "m(1+γ)² log / m(1+γ)²", "λ_low > 0"),
        ),
        Step(
            f"{number} worst case",
            2 * kappa * lam_inf * time >= spent,
            since=(f"{number} exponent", "λ_T ≥", "κ > 0", "T > 0"),
        ),
        Step(
            f"{number} E",
            (L0 - Ls) * E_T <= eps,
            since=(f"{number} worst case", "surplus", "functional equation", "e^x ≥ 1 + x", "E"),
        ),
        Step(number, Lt - L_R <= eps, since=(bound, f"{number} E")),
    )


KAWAGUCHI_PL = Theorem(
    key="kawaguchi-pl",
    title="gradient flow reaches the global minimum linearly when the loss has the PL inequality",
    source=_source("Theorem 1"),
    family="kawaguchi",
    setting="gradient flow on L(A, B), both trained; L₀ has the PL inequality with radius R and parameter κ",
    measured={**FLOW, kappa: q.kappa, Rinv: q.inverse_radius, B1: q.norm_B_1, Z1: q.norm_Z_1, g: q.gradient_norm},
    chosen={tol: TOLERANCE},
    monitored=MONITORED,
    definitions=_flow_definitions(kappa),
    hypotheses=(
        *UNIT,
        Hypothesis("κ > 0", kappa > 0),
        Hypothesis("‖B₀‖₁ < (1−γ)R", B1 * Rinv < 1 - gamma, "the condition on B at t = 0"),
        Hypothesis("‖B_t‖₁ < (1−γ)R", None, "the same for 0 < t ≤ T, which is void for R = ∞"),
        Hypothesis("Definition 1", g**2 / 2 >= kappa * (L0 - Ls), "the PL inequality at W = B₀U₀⁻¹"),
        Hypothesis("PL", None, "the inequality at every other W, which Appendices A.3 and A.4 prove for this κ"),
    ),
    conclusions=(
        Conclusion("‖B₀U₀⁻¹‖₁ < R", Z1 * Rinv < 1, "B₀U₀⁻¹ lies where the PL inequality is known"),
        *_flow_conclusions(kappa, "(7)", "(9)"),
    ),
    facts=(
        *FLOW_SIGNS,
        *SPECTRUM,
        *INVERSE,
        *RADIUS,
        Fact("(26)", Eq(dy, -form), "d/dt L₀(Z) = −vec(∇L₀)ᵀ D vec(∇L₀)", cited=True),
        Fact("Rayleigh", form >= lam_s * g_s**2, cited=True),
        Fact("PL at Z_t", g_s**2 / 2 >= kappa * y, "Definition 1 wherever ‖Z_t‖₁ < R", cited=True),
        Fact("y ≥ 0", y >= 0, "L*_{0,R} is an infimum over ‖W‖₁ < R", cited=True),
        Fact("λ_min(D_t) ≥ λ_T", lam_s >= lam_inf, cited=True),
        Fact("e^(ct) > 0", e_s > 0, cited=True),
        Fact(
            "dh",
            Eq(dh, (dy + 2 * kappa * lam_inf * y) * e_s),
            "the product rule for h = y e^(ct), c = 2κλ_T",
            cited=True,
        ),
        Fact("mean value", Eq(h_T - (L0 - Ls), time * dh), "h(T) − h(0) = T h′(s) for some s", cited=True),
        Fact("h(T)", Eq(h_T, (Lt - Ls) * F_T), "y(T) e^(cT), and L(A, B) = L₀(BU⁻¹)", cited=True),
        Fact("e^(cT) e^(−cT)", Eq(E_T * F_T, 1), cited=True),
        Fact("L*_{0,R} ≤ L*_R", Ls <= L_R, "B ∈ B_R gives ‖BU⁻¹‖₁ < R, so the infimum is over less", cited=True),
        *ACCURACY_FACTS,
        Fact("(9) T", time >= need / (2 * kappa), "the printed time", cited=True),
        Fact("Rayleigh at t = 0", decay >= lamD * g**2, "the loss falls at the speed vec(∇L₀)ᵀ D vec(∇L₀)", cited=True),
    ),
    proof=(
        *SPECTRUM_STEPS,
        *INVERSE_STEPS,
        *RADIUS_STEPS,
        Step("A.1.7 λ_min", dy <= -lam_s * g_s**2, since=("(26)", "Rayleigh")),
        Step("A.1.7 λ_min(D_t) > 0", lam_s > 0, since=("(30)", "λ_min(D_t) ≥ λ_T")),
        Step("A.1.7 PL", dy <= -2 * kappa * lam_s * y, since=("A.1.7 λ_min", "A.1.7 λ_min(D_t) > 0", "PL at Z_t")),
        Step(
            "A.1.7 λ_T",
            -2 * kappa * lam_s * y <= -2 * kappa * lam_inf * y,
            since=("λ_min(D_t) ≥ λ_T", "κ > 0", "y ≥ 0"),
        ),
        Step("A.1.7 flow", dy <= -2 * kappa * lam_inf * y, since=("A.1.7 PL", "A.1.7 λ_T")),
        Step("A.1.7 e^(ct) y falls", dh <= 0, since=("dh", "e^(ct) > 0", "A.1.7 flow")),
        Step("A.1.7 e^(cT) y(T)", h_T <= L0 - Ls, since=("mean value", "T > 0", "A.1.7 e^(ct) y falls")),
        Step(
            "(31)",
            Lt <= Ls + (L0 - Ls) * E_T,
            since=("A.1.7 e^(cT) y(T)", "h(T)", "e^(cT) e^(−cT)", "E"),
        ),
        Step("(7)", Lt <= L_R + (L0 - Ls) * E_T, since=("(31)", "L*_{0,R} ≤ L*_R")),
        Step(
            "(7) decay",
            decay >= 2 * kappa * lamD * (L0 - Ls),
            since=("Rayleigh at t = 0", "Definition 1", "λ_min(D₀) ≥", "λ_low > 0"),
        ),
        CANCEL,
        *_accuracy("(9)", "(7)"),
    ),
    rate=Rate("(7)", gap=2 * kappa * lamT, per="unit time", of="loss above its infimum"),
    reading=(
        "κ is the one that the corollaries prove for the chosen loss; Theorem 1 allows any loss with some κ.",
        READING_LAMBDA,
        READING_TIME,
    ),
    settings=("loss", "tau", "radius", "accuracy", "horizon"),
    quick={"samples": "100"},
)

# --- Corollaries -----------------------------------------------------------------------------------------

# Of the proofs: L_0 at W and anywhere else, at distance d; its slope; the Hessian in a direction v; the residual.
L_w, L_any, d_w, inner, nv, vHv, quad, weighted, r_w, Vr = symbols(
    "L_w L_any d_w inner_w norm_v vHv vPhiPhiv weighted_sum norm_r norm_SigmaVr", real=True
)
THEOREM_1 = (
    *FLOW_SIGNS,
    *SPECTRUM,
    *INVERSE,
    Fact("Theorem 1", Lt <= L_R + (L0 - Ls) * E_T, "with E = e^(−2κλ_T T)", cited=True),
    Fact("Rayleigh at t = 0", decay >= lamD * g_s**2, "g is the slope at W = B₀U₀⁻¹", cited=True),
    Fact("L₀(W)", Eq(L_w, L0), "W = B₀U₀⁻¹", cited=True),
    Fact("infimum", Eq(L_any, Ls), "a minimiser, or in the limit a sequence of points", cited=True),
    *ACCURACY_FACTS,
)
STRONG = (
    Fact("‖∇L₀(W)‖ ≥ 0", g_s >= 0),
    Fact("d ≥ 0", d_w >= 0),
    Fact("‖v‖ ≥ 0", nv >= 0),
    Fact("Cauchy–Schwarz", inner >= -g_s * d_w, cited=True),
    Fact(
        "strong convexity",
        L_any >= L_w + inner + kappa / 2 * d_w**2,
        "Taylor's formula on the segment, with the Hessian bound",
        cited=True,
    ),
)
STRONG_STEPS = (
    Step("PL square", inner + kappa / 2 * d_w**2 >= -(g_s**2) / (2 * kappa), since=("Cauchy–Schwarz", "κ > 0")),
    Step("PL below", L_any >= L_w - g_s**2 / (2 * kappa), since=("strong convexity", "PL square")),
    Step("PL", g_s**2 / 2 >= kappa * (L_w - L_any), since=("PL below", "κ > 0")),
)
COROLLARY_STEPS = (
    *SPECTRUM_STEPS,
    *INVERSE_STEPS,
    Step(
        "decay",
        decay >= 2 * kappa * lamD * (L0 - Ls),
        since=("Rayleigh at t = 0", "PL", "L₀(W)", "infimum", "λ_min(D₀) ≥", "λ_low > 0"),
    ),
)

KAWAGUCHI_SQUARE = Theorem(
    key="kawaguchi-square",
    title="gradient flow on the square loss reaches the global minimum linearly from everywhere",
    source=_source("Corollary 1"),
    family="kawaguchi",
    setting="gradient flow on the square loss, A and B trained, any initialisation",
    measured={**FLOW, sigma: q.sigma_min_features},
    chosen={tol: TOLERANCE},
    monitored=MONITORED,
    definitions={kappa: 2 * sigma**2, **_flow_definitions(kappa)},
    hypotheses=(
        *UNIT,
        Hypothesis("rank(Φ) = min(n, m)", sigma > 0, "the features have full rank"),
    ),
    conclusions=_flow_conclusions(kappa, "Corollary 1", "(10)"),
    facts=(
        *THEOREM_1,
        *STRONG,
        Fact("Hessian", Eq(vHv, 2 * quad), "vᵀ∇²L₀v with 2ΦΦᵀ ⊗ I", cited=True),
        Fact("σ_min(Φ), m ≤ n", quad >= sigma**2 * nv**2, cited=True),
        Fact("∇L₀", Eq(g_s**2, 4 * Vr**2), "‖2(WΦ − Y)Φᵀ‖_F² = 4‖ΣVᵀ(WΦ − Y)ᵀ‖_F²", cited=True),
        Fact("σ_min(Φ), m > n", Vr**2 >= sigma**2 * r_w**2, "V is square and Σ has n positive entries", cited=True),
        Fact("L₀", Eq(L_w, r_w**2), cited=True),
        Fact("L** ≥ 0", L_any >= 0, cited=True),
        Fact("(10) T", time >= need / (4 * sigma**2), "the printed time", cited=True),
    ),
    proof=(
        Step("κ > 0", kappa > 0, since=("rank(Φ) = min(n, m)",)),
        Step("A.3 Hessian, m ≤ n", vHv >= kappa * nv**2, since=("Hessian", "σ_min(Φ), m ≤ n")),
        *STRONG_STEPS,
        Step("A.3 ∇L₀, m > n", g_s**2 / 2 >= 2 * sigma**2 * r_w**2, since=("∇L₀", "σ_min(Φ), m > n")),
        Step("A.3 L₀, m > n", g_s**2 / 2 >= 2 * sigma**2 * L_w, since=("A.3 ∇L₀, m > n", "L₀")),
        Step("A.3 PL, m > n", g_s**2 / 2 >= kappa * (L_w - L_any), since=("A.3 L₀, m > n", "L** ≥ 0")),
        *COROLLARY_STEPS,
        Step("Corollary 1 exponent", Eq(2 * kappa * lam_inf * time, 4 * sigma**2 * lam_inf * time)),
        CANCEL,
        *_accuracy("(10)", "Theorem 1", ("rank(Φ) = min(n, m)",)),
    ),
    rate=Rate("Corollary 1", gap=4 * sigma**2 * lamT, per="unit time", of="loss above its infimum"),
    reading=(READING_LAMBDA, READING_TIME),
    settings=("accuracy", "horizon"),
    quick={"samples": "100"},
)

KAWAGUCHI_LOGISTIC = Theorem(
    key="kawaguchi-logistic",
    title="gradient flow on the logistic loss reaches the global minimum linearly",
    source=_source("Corollary 2"),
    family="kawaguchi",
    setting="gradient flow on the logistic loss + τ q², labels in {0, 1}, A and B trained",
    measured={
        **FLOW,
        sigma: q.sigma_m_features,
        tau: q.tau,
        rho: q.rho,
        Rinv: q.inverse_radius,
        B1: q.norm_B_1,
    },
    chosen={tol: TOLERANCE},
    monitored=MONITORED,
    definitions={kappa: (2 * tau + rho) * sigma**2, **_flow_definitions(kappa)},
    hypotheses=(
        *UNIT,
        Hypothesis("τ ≥ 0", tau >= 0),
        Hypothesis("rank(Φ) = m", sigma > 0, "the features have full row rank, so n ≥ m"),
        Hypothesis("‖B₀‖₁ < (1−γ)R", B1 * Rinv < 1 - gamma, "the condition on B at t = 0"),
        Hypothesis("‖B_t‖₁ < (1−γ)R", None, "the same for 0 < t ≤ T, which is void for R = ∞"),
    ),
    conclusions=_flow_conclusions(kappa, "Corollary 2", "(11), (12)"),
    facts=(
        *THEOREM_1,
        *STRONG,
        *RADIUS,
        Fact("ρ ≥ 0", rho >= 0),
        Fact("(R, τ) ≠ (∞, 0)", 2 * tau + rho > 0, "else the bound does not fall", cited=True),
        Fact("Hessian", Eq(vHv, weighted + 2 * tau * quad), "weights p(1 − p)", cited=True),
        Fact("ρ(R)", weighted >= rho * quad, "p(1 − p) ≥ ρ(R) where ‖W‖₁ < R", cited=True),
        Fact("σ_min(Φ)", quad >= sigma**2 * nv**2, cited=True),
        Fact("the loss does not rise", Lt <= L0, cited=True),
        Fact("L*_{0,R} ≤ L*_R", Ls <= L_R, cited=True),
        Fact("τ > 0", tau > 0, "for (11)", cited=True),
        Fact("(11) T", time >= need / (4 * tau * sigma**2), "the printed time", cited=True),
        Fact("ρ > 0", rho > 0, "for (12)", cited=True),
        Fact("(12) T", time >= need / (2 * rho * sigma**2), "the printed time", cited=True),
        Fact("log ≥ 0", spent >= 0, "the accuracy is not reached at the start", cited=True),
    ),
    proof=(
        Step("κ > 0", kappa > 0, since=("rank(Φ) = m", "(R, τ) ≠ (∞, 0)")),
        Step("κ ≥ 2τσ²", kappa >= 2 * tau * sigma**2, text="equal for R = ∞, where ρ = 0"),
        Step("κ ≥ ρσ²", kappa >= rho * sigma**2, since=("τ ≥ 0",), text="equal for τ = 0"),
        Step("A.4 trivial", Lt <= L_R + (L0 - Ls), since=("the loss does not rise", "L*_{0,R} ≤ L*_R")),
        Step("A.4 ρ", vHv >= (2 * tau + rho) * quad, since=("Hessian", "ρ(R)")),
        Step(
            "A.4 σ_min",
            (2 * tau + rho) * quad >= (2 * tau + rho) * sigma**2,
            since=("σ_min(Φ)", "τ ≥ 0", "rank(Φ) = m"),
            fix=(2 * tau + rho) * quad >= (2 * tau + rho) * sigma**2 * nv**2,
            text="the norm of v is missing",
        ),
        Step("A.4 Hessian", vHv >= kappa * nv**2, since=("A.4 ρ", "A.4 σ_min")),
        *STRONG_STEPS,
        *COROLLARY_STEPS,
        *RADIUS_STEPS,
        CANCEL,
        Step("m(1+γ)² log ≥ 0", need >= 0, since=("m(1+γ)² log", "m(1+γ)² > 0", "log ≥ 0")),
        *_accuracy("(11)", "Theorem 1", ("τ > 0", "rank(Φ) = m", "m(1+γ)² log ≥ 0", "κ ≥ 2τσ²")),
        *_accuracy("(12)", "Theorem 1", ("ρ > 0", "rank(Φ) = m", "m(1+γ)² log ≥ 0", "κ ≥ ρσ²")),
    ),
    rate=Rate(
        "Corollary 2",
        gap=2 * (2 * tau + rho) * sigma**2 * lamT,
        per="unit time",
        of="loss above its infimum",
    ),
    reading=(
        "The built-in labels −1 and +1 are read as 0 and 1 (targets=binary); a file's labels must be −1, +1 or 0, 1.",
        "The paper names no τ; 0.01 is the default of this check. τ = 0 needs a finite radius.",
        READING_LAMBDA,
        READING_TIME,
    ),
    settings=("tau", "radius", "accuracy", "horizon"),
    quick={"samples": "100"},
)

# --- Theorem 2 ---------------------------------------------------------------------------------------------

delta, SF, lamG, kkt, flow, speed = symbols("delta norm_SF lambda_G kkt flow speed", real=True)
# Of the proof: the forms w^T S^-1 w, w^T F w and v^T G v with w = U^T v; mu; norms of v and d = d/dt vec(BU^-1) in G.
wSw, wFw, vGv, vS, S_k, mu, nvG, ndG, L_model_w, lagrangian_w, L_model_v, nwG = symbols(
    "wSw wFw vGv v_S S_k mu norm_v_G norm_d_G Q_w Lagrangian_w Q_v norm_w_G", real=True
)
# (34) with all matrices 1 by 1; the tests check it with exact matrices.
U_1, F_1, G_1, H_1, D_1, g_1, v_1, d_1 = symbols("U_1 F_1 G_1 H_1 D_1 grad_1 v_1 d_1", real=True)

KAWAGUCHI_TRUST_REGION = Theorem(
    key="kawaguchi-trust-region",
    title="gradient flow on the implicit layer is a trust region Newton step of the linear model",
    source=_source("Theorem 2"),
    family="kawaguchi",
    setting="one output, any time t (here t = 0); v = δ d/dt vec(BU⁻¹), μ = 1/(2δ)",
    measured={
        gamma: q.gamma,
        delta: q.delta,
        SF: q.norm_SF,
        lamG: q.lambda_min_G,
        g: q.gradient_norm,
        speed: q.speed,
        flow: q.flow_residual,
        kkt: q.kkt_residual,
    },
    chosen={tol: TOLERANCE},
    hypotheses=(
        *UNIT,
        Hypothesis("δ > 0", delta > 0),
        Hypothesis("δ ≤ δ̄", delta * SF < 1, "δ is small enough for G to be positive definite"),
    ),
    conclusions=(
        Conclusion("G ≻ 0", lamG > 0, "the trust region is an ellipsoid"),
        Conclusion("(26)", flow <= tol * speed, "the induced flow is −D∇L₀"),
        Conclusion("(34)", kkt <= tol * g, "v is stationary for the Lagrangian"),
        Conclusion("(13)", None, "v minimises the quadratic model in the trust region and d/dt f = Vφ/δ"),
    ),
    facts=(
        *COLUMN_SIGNS,
        COLUMN,
        Fact("v^S ≥ 0", vS >= 0),
        Fact("‖v‖_G ≥ 0", nvG >= 0),
        Fact("‖w‖_G ≥ 0", nwG >= 0),
        Fact("‖d‖_G ≥ 0", ndG >= 0),
        Fact("S", Eq(S_k, 1 + gamma**2 * vS), cited=True),
        Fact("S⁻¹ ≻ 0", wSw > 0, "w = Uᵀv ≠ 0, as U is regular", cited=True),
        Fact("λ_max", wFw <= SF * wSw, "wᵀFw ≤ λ_max(S^½FS^½) wᵀS⁻¹w", cited=True),
        Fact("G", Eq(vGv, wSw - delta * wFw), cited=True),
        Fact("λ_min(G)", Eq(lamG, vGv), "v a unit eigenvector", cited=True),
        Fact("μ", Eq(mu, 1 / (2 * delta)), cited=True),
        Fact("v", Eq(nvG, delta * ndG), "v = δ d/dt vec(BU⁻¹)", cited=True),
        Fact("U ≠ 0", U_1 > 0, "1 − γσ, width 1", cited=True),
        Fact("(35)", Eq(H_1, U_1**2 * F_1), "∇²L₀ = UFUᵀ", cited=True),
        Fact("G, width 1", Eq(G_1, U_1**2 * (1 / S_k - delta * F_1)), cited=True),
        Fact("D, width 1", Eq(D_1, S_k / U_1**2), cited=True),
        Fact("(26), width 1", Eq(d_1, -D_1 * g_1), cited=True),
        Fact("v, width 1", Eq(v_1, delta * d_1), cited=True),
        Fact("w feasible", nwG <= delta * ndG, cited=True),
        Fact(
            "Lagrangian at w",
            Eq(lagrangian_w, L_model_w + mu * (nwG**2 - delta**2 * ndG**2)),
            cited=True,
        ),
        Fact("Lagrangian at v", lagrangian_w >= L_model_v, "its minimum, as it is convex and (34) is 0", cited=True),
    ),
    proof=(
        Step("A.1.7 dominance", 1 - gamma * sjj > gamma * off, since=("softmax", "γ < 1"), text="U is regular"),
        Step("A.2 S ≥ 1", S_k >= 1, since=("S",)),
        Step("A.2 dominated", vGv >= (1 - delta * SF) * wSw, since=("G", "λ_max", "δ > 0")),
        Step("A.2 G ≻ 0", lamG > 0, since=("A.2 dominated", "λ_min(G)", "S⁻¹ ≻ 0", "δ ≤ δ̄")),
        Step(
            "A.2 convex",
            H_1 >= 0,
            since=("(35)", "G, width 1", "μ", "A.2 S ≥ 1", "U ≠ 0", "δ > 0"),
            fix=H_1 + 2 * mu * G_1 > 0,
            text="the loss is arbitrary, so the quadratic model need not be convex; its Lagrangian is",
        ),
        Step("A.2 μ ≥ 0", mu >= 0, since=("μ", "δ > 0")),
        Step("A.2 slackness", Eq(mu * (nvG**2 - delta**2 * ndG**2), 0), since=("v",)),
        Step(
            "(34) μ",
            Eq(g_1 + H_1 * v_1 + 2 * mu * G_1 * v_1, g_1 + U_1**2 / S_k * v_1 / delta),
            since=("(35)", "G, width 1", "μ", "δ > 0", "A.2 S ≥ 1"),
        ),
        Step(
            "(34) v",
            Eq(U_1**2 / S_k * v_1 / delta, U_1**2 / S_k * d_1),
            since=("v, width 1", "δ > 0", "A.2 S ≥ 1"),
        ),
        Step("(34) D", Eq(U_1**2 / S_k * d_1, -g_1), since=("(26), width 1", "D, width 1", "U ≠ 0", "A.2 S ≥ 1")),
        Step(
            "(34) = 0",
            Eq(g_1 + H_1 * v_1 + 2 * mu * G_1 * v_1, 0),
            since=("(34) μ", "(34) v", "(34) D"),
        ),
        Step(
            "A.2 optimal",
            L_model_w >= L_model_v,
            since=("Lagrangian at w", "Lagrangian at v", "w feasible", "A.2 μ ≥ 0", "δ > 0"),
        ),
    ),
    reading=(
        "The print asks for a differentiable loss, but F and the quadratic model need a second derivative.",
        "δ̄ is not given; S^(−1) − δF is positive definite exactly for δ λ_max(S^(1/2) F S^(1/2)) < 1.",
        "H + 2μG = U S^(−1) Uᵀ/δ is positive definite, so stationarity suffices even for a loss that is not convex.",
        "Equalities are certified as agreement to the relative tolerance t; H and v are computed without D and F.",
    ),
    settings=("loss", "tau", "delta"),
    quick={"samples": "100"},
)
