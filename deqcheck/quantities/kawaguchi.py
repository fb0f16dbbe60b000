"""Measured quantities of the deep equilibrium linear model (Kawaguchi 2021)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.quantities import quantity

if TYPE_CHECKING:
    from deqcheck.family.kawaguchi import LinearPoint


@quantity("gamma", "γ", r"\gamma", "the fixed scalar in front of σ(A)")
def gamma(point: LinearPoint, _effort: int) -> Enclosure:
    """Exactly the float that the model holds."""
    return Enclosure.exact(point.model.gamma)


@quantity("m", "m", "m", "width: the number of features")
def width(point: LinearPoint, _effort: int) -> Enclosure:
    """m."""
    return Enclosure.exact(point.model.A.shape[0])


# --- Proposition 1 -----------------------------------------------------------------------------------


@quantity("norm_sigma_1", "‖σ(A)‖₁", r"\|\sigma(A)\|_1", "largest column sum of the softmax")
def norm_sigma_1(point: LinearPoint, _effort: int) -> Enclosure:
    """||sigma(A)||_1 as computed, with the error of its entries; the exact value is 1."""
    S, e = point.resolvent.sigma, point.resolvent.relative
    from deqcheck.equilibrium.kawaguchi import LOST
    from deqcheck.equilibrium.kawaguchi_near import Near

    m = S.value.shape[0]
    return Near.exact(S.value).norm_1() * Enclosure.between(1 - e, 1 + e) + Enclosure.between(-m * LOST, m * LOST)


@quantity("l", "ℓ", r"\ell", "number of transitions after which the iterate is compared")
def transitions(point: LinearPoint, _effort: int) -> Enclosure:
    """As many as keep gamma^(l+1) well above the rounding errors, and at most 20."""
    return Enclosure.exact(_transitions(point.model.gamma))


def _transitions(gamma: float) -> int:
    return max(0, min(20, math.floor(math.log(1e-6) / math.log(gamma)) - 1))


@quantity(
    "error_l", "max_i ‖z^ℓ − z⋆‖₁/‖φ‖₁", r"\max_i \|z^{(\ell)} - z^*\|_1 / \|\phi(x_i)\|_1",
    "largest relative distance of the ℓ-th iterate from U⁻¹φ",
)  # fmt: skip
def iterate_distance(point: LinearPoint, _effort: int) -> Enclosure:
    """The exact iterate of eq. (4) from z^(0) = phi(x) against the exact solution, worst sample."""
    from deqcheck.equilibrium.kawaguchi import iterate_distance as distance

    return distance(point.resolvent, point.objective.Phi, _transitions(point.model.gamma))


@quantity("norm_U_inv_1", "‖U⁻¹‖₁", r"\|U^{-1}\|_1", "1-norm of the inverse of I − γσ(A)")
def norm_inverse_1(point: LinearPoint, _effort: int) -> Enclosure:
    """||U^-1||_1, from a verified inverse."""
    return point.resolvent.inverse.norm_1()


# --- Theorem 1 ---------------------------------------------------------------------------------------


@quantity("lambda_D", "λ_min(D₀)", r"\lambda_{\min}(D_0)", "smallest eigenvalue of D at t = 0")
def lambda_min_D(point: LinearPoint, _effort: int) -> Enclosure:
    """lambda_min(D_0); D is never formed."""
    return point.lambda_min_D


@quantity("norm_U", "‖U₀‖", r"\|U_0\|", "operator norm of I − γσ(A₀)")
def norm_U(point: LinearPoint, _effort: int) -> Enclosure:
    """||U||."""
    return point.resolvent.norm_U


@quantity("horizon", "T̄", r"\bar T", "time up to which λ_T is bounded from the initialisation")
def horizon(point: LinearPoint, _effort: int) -> Enclosure:
    """A setting."""
    return Enclosure.exact(point.horizon)


@quantity("kappa", "κ", r"\kappa", "parameter of the PL inequality of the loss")
def kappa(point: LinearPoint, effort: int) -> Enclosure:
    """2 sigma_min(Phi)^2 (square) or (2 tau + rho(R)) sigma_min(Phi)^2 (logistic)."""
    return point.objective.kappa(point.radius_R, effort)


@quantity("R_inv", "1/R", "1/R", "reciprocal of the radius of the PL inequality; 0 for R = ∞")
def inverse_radius(point: LinearPoint, _effort: int) -> Enclosure:
    """1/R, so that R = infinity is an ordinary number."""
    if math.isinf(point.radius_R):
        return Enclosure.exact(0)
    return 1 / Enclosure.exact(point.radius_R)


@quantity("norm_B_1", "‖B₀‖₁", r"\|B_0\|_1", "1-norm of the output weights")
def norm_B_1(point: LinearPoint, _effort: int) -> Enclosure:
    """||B||_1, the largest absolute column sum."""
    from deqcheck.equilibrium.kawaguchi_near import Near

    return Near.exact(point.model.B).norm_1()


@quantity("norm_Z_1", "‖B₀U₀⁻¹‖₁", r"\|B_0 U_0^{-1}\|_1", "1-norm of the equivalent linear weights")
def norm_Z_1(point: LinearPoint, _effort: int) -> Enclosure:
    """||B U^-1||_1."""
    return point.Z.norm_1()


@quantity("L_0", "L(A₀,B₀)", r"L(A_0, B_0)", "objective at the start")
def loss(point: LinearPoint, _effort: int) -> Enclosure:
    """The sum of the losses over the samples."""
    return point.loss


@quantity("L_star", "L⋆₀", r"L^*_{0,R}", "infimum of the linear model's objective over ‖W‖₁ < R")
def infimum(point: LinearPoint, effort: int) -> Enclosure:
    """Above by a computed W, below by strong convexity or by the Frank-Wolfe gap."""
    return point.infimum(effort)


@quantity("norm_grad", "‖∇L₀‖_F", r"\|\nabla L_0\|_F", "gradient of the linear model's objective at B₀U₀⁻¹")
def gradient_norm(point: LinearPoint, _effort: int) -> Enclosure:
    """||grad L_0(B U^-1)||_F."""
    return point.G.norm()


@quantity("decay", "−dL/dt", r"-\tfrac{d}{dt} L", "speed at which gradient flow decreases L at t = 0")
def decay(point: LinearPoint, _effort: int) -> Enclosure:
    """||dL/dA||_F^2 + ||dL/dB||_F^2."""
    dA, dB = point.gradients
    return dA.norm() ** 2 + dB.norm() ** 2


@quantity("epsilon", "ε", r"\epsilon", "accuracy asked for")
def accuracy(point: LinearPoint, _effort: int) -> Enclosure:
    """epsilon, a setting."""
    return Enclosure.exact(point.accuracy)


# --- corollaries ---------------------------------------------------------------------------------------


@quantity("sigma_Phi", "σ_min(Φ)", r"\sigma_{\min}(\Phi)", "min(n, m)-th singular value of the features")
def sigma_min_features(point: LinearPoint, effort: int) -> Enclosure:
    """Positive exactly when rank(Phi) = min(n, m)."""
    return point.objective.sigma_min(effort)


@quantity("sigma_Phi", "σ_m(Φ)", r"\sigma_m(\Phi)", "m-th singular value of the features")
def sigma_m_features(point: LinearPoint, effort: int) -> Enclosure:
    """Positive exactly when rank(Phi) = m; with fewer samples than features it is 0."""
    m, n = point.objective.Phi.shape
    return Enclosure.exact(0) if m > n else point.objective.sigma_min(effort)


@quantity("tau", "τ", r"\tau", "strength of the penalty on the output")
def tau(point: LinearPoint, _effort: int) -> Enclosure:
    """tau, a setting."""
    return Enclosure.exact(point.objective.tau)


@quantity("rho", "ρ(R)", r"\rho(R)", "smallest curvature of the logistic loss over ‖W‖₁ < R")
def rho(point: LinearPoint, _effort: int) -> Enclosure:
    """inf of p(1 - p); 0 for R = infinity."""
    return point.objective.rho(point.radius_R)


# --- Theorem 2 -------------------------------------------------------------------------------------------


@quantity("delta", "δ", r"\delta", "size of the trust region step")
def delta(point: LinearPoint, _effort: int) -> Enclosure:
    """delta_t as given, or half of the largest at which G_t is positive definite."""
    return Enclosure.exact(point.delta)


@quantity("norm_SF", "λ_max(SF)", r"\lambda_{\max}(S^{1/2} F S^{1/2})", "largest curvature along the step")
def norm_SF(point: LinearPoint, _effort: int) -> Enclosure:
    """G_t is positive definite exactly when delta times this is below 1."""
    return point.norm_SF


@quantity("lambda_G", "λ_min(G)", r"\lambda_{\min}(G)", "smallest eigenvalue of the trust region's metric")
def lambda_min_G(point: LinearPoint, _effort: int) -> Enclosure:
    """lambda_min(G_t)."""
    return point.lambda_min_G


@quantity(
    "kkt", "‖∇L₀ᵗ(v)+2μGv‖", r"\|\nabla L_0^t(v) + 2\mu G v\|",
    "stationarity residual of the trust region problem at v = δ d/dt vec(BU⁻¹), μ = 1/(2δ)",
)  # fmt: skip
def kkt_residual(point: LinearPoint, _effort: int) -> Enclosure:
    """A certified bound on a quantity that the theorem says is 0."""
    return point.kkt_residual


@quantity("flow", "‖d/dt BU⁻¹ + D∇L₀‖", r"\|\tfrac{d}{dt} BU^{-1} + D \nabla L_0\|", "residual of eq. (26)")
def flow_residual(point: LinearPoint, _effort: int) -> Enclosure:
    """The chain rule through A and B against the action of D; 0 if (26) is right."""
    return point.flow_residual


@quantity("speed", "‖d/dt BU⁻¹‖", r"\|\tfrac{d}{dt} BU^{-1}\|", "speed of the equivalent linear weights")
def speed(point: LinearPoint, _effort: int) -> Enclosure:
    """||d/dt (B U^-1)||_F under gradient flow."""
    return point.velocity.norm()
