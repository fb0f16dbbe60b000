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

from sympy import Expr, Max, Rational, Symbol, log, sqrt, symbols

from deqcheck.quantities import kawaguchi as q
from deqcheck.statement import (
    Conclusion,
    Hypothesis,
    Quantity,
    Rate,
    Source,
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
    reading=(
        "(36) starts the iteration at z⁰ = φ(x); (1) says z⁰ = x. The limit is the same.",
        "For non-negative φ both bounds are equalities, so they are certified up to the relative tolerance t.",
    ),
    quick={"samples": "100"},
)

# --- Theorem 1 -----------------------------------------------------------------------------------------

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
    reading=(
        "The print asks for a differentiable loss, but F and the quadratic model need a second derivative.",
        "δ̄ is not given; S^(−1) − δF is positive definite exactly for δ λ_max(S^(1/2) F S^(1/2)) < 1.",
        "H + 2μG = U S^(−1) Uᵀ/δ is positive definite, so stationarity suffices even for a loss that is not convex.",
        "Equalities are certified as agreement to the relative tolerance t; H and v are computed without D and F.",
    ),
    settings=("loss", "tau", "delta"),
    quick={"samples": "100"},
)
