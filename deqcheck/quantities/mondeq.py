"""Measured quantities of the monotone DEQ (Nguyen 2022).

Parameters scale in one way only: U times beta and u over beta, which multiplies Z and keeps the prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.quantities import degree, quantity
from deqcheck.statement import Evidence

if TYPE_CHECKING:
    from deqcheck.family.mondeq import MonPoint


# --- parameters and data ---------------------------------------------------------------------------


@quantity("m", "m", "m", "strong monotonicity that the parametrisation gives", degree(0))
def monotonicity(point: MonPoint, _effort: int) -> Enclosure:
    """Exactly the float that the model holds."""
    return Enclosure.exact(point.model.m)


@quantity("norm_A", "‖A(0)‖", r"\|A(0)\|", "operator norm of A", degree(0))
def norm_A(point: MonPoint, _effort: int) -> Enclosure:
    """||A||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.model.A)


@quantity("norm_B", "‖B(0)‖", r"\|B(0)\|", "operator norm of B", degree(0))
def norm_B(point: MonPoint, _effort: int) -> Enclosure:
    """||B||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.model.B)


@quantity("norm_U", "‖U(0)‖", r"\|U(0)\|", "operator norm of the input weights", degree(1))
def norm_U(point: MonPoint, _effort: int) -> Enclosure:
    """||U||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.model.U)


@quantity("norm_u", "‖u(0)‖", r"\|\mathbf{u}(0)\|", "norm of the output weights", degree(-1))
def norm_u(point: MonPoint, _effort: int) -> Enclosure:
    """||u||."""
    from deqcheck import rigor

    return rigor.frobenius(point.model.u)


@quantity("norm_X_F", "‖X‖_F", r"\|X\|_F", "Frobenius norm of the inputs", degree(0))
def frobenius_norm_inputs(point: MonPoint, _effort: int) -> Enclosure:
    """||X||_F."""
    from deqcheck import rigor

    return rigor.frobenius(point.X)


@quantity("norm_X", "‖X‖", r"\|X\|", "operator norm of the inputs", degree(0))
def norm_inputs(point: MonPoint, _effort: int) -> Enclosure:
    """||X||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.X)


@quantity("N", "N", "N", "number of samples", degree(0))
def samples(point: MonPoint, _effort: int) -> Enclosure:
    """N."""
    return Enclosure.exact(point.X.shape[0])


@quantity("n", "n", "n", "width of the implicit layer", degree(0))
def width(point: MonPoint, _effort: int) -> Enclosure:
    """n."""
    return Enclosure.exact(point.model.A.shape[0])


# --- the operator ----------------------------------------------------------------------------------


@quantity(
    "lambda_min_F", "λ_min(sym(I−W))", r"\lambda_{\min}(\mathrm{sym}(I - W))",
    "strong monotonicity of I − W, found from W itself",
)  # fmt: skip
def strong_monotonicity(point: MonPoint, effort: int) -> Enclosure:
    """From the float W; when that is too coarse, from sym(I - W) = m I + A^T A."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE:
        return point.bottom.intersect(point.weights.monotone)
    return point.bottom


@quantity(
    "rebuilt", "‖W − W(A′,B′)‖", r"\|W - W(A', B')\|",
    "distance of W from what A′, B′ rebuild, found from W and m alone",
)  # fmt: skip
def rebuilding_error(point: MonPoint, _effort: int) -> Enclosure:
    """[0, bound] on ||W - W'||_F, with A'^T A' = sym(I - W) - m I and B' = (W - W^T)/4, as in Proposition 1."""
    import torch

    from deqcheck import rigor
    from deqcheck.equilibrium import mondeq as proof
    from deqcheck.models.mondeq import MonDEQ

    W = point.model.W
    identity = torch.eye(W.shape[0], dtype=W.dtype, device=W.device)
    rest = identity - (W + W.T) / 2 - point.model.m * identity
    values, Q = torch.linalg.eigh(rest)
    A = values.clamp(min=0).sqrt()[:, None] * Q.T
    again = MonDEQ(A, (W - W.T) / 4, point.model.U, point.model.u, point.model.m)
    gap = rigor.frobenius(again.W - W) * (1 + rigor.relative_error(1))
    return Enclosure.from_zero(gap + proof.weights(again).slip + point.weights.slip)


@quantity("L", "L[I−W]", "L[I-W]", "Lipschitz constant of I − W, which is ‖I − W‖")
def lipschitz(point: MonPoint, _effort: int) -> Enclosure:
    """||I - W||."""
    return point.weights.lipschitz


@quantity("alpha", "α", r"\alpha", "step of the forward-backward operator")
def step(point: MonPoint, _effort: int) -> Enclosure:
    """Exactly the float used."""
    return Enclosure.exact(point.alpha)


@quantity("L_T", "L[T_α]", r"L[T_\alpha]", "Lipschitz constant of T_α = I − α(I − W), which is its norm")
def lipschitz_forward(point: MonPoint, _effort: int) -> Enclosure:
    """||I - alpha (I - W)||, with the rounding of W and of forming it."""
    import torch

    from deqcheck import rigor
    from deqcheck.equilibrium import mondeq as proof

    W = point.model.W
    identity = torch.eye(W.shape[0], dtype=W.dtype, device=W.device)
    F = identity - W
    moved = point.alpha * F
    T = identity - moved
    alpha, one = Enclosure.exact(point.alpha), rigor.relative_error(1)
    off = (
        alpha * (point.weights.slip + one * rigor.frobenius(F))
        + one * (rigor.frobenius(moved) + rigor.frobenius(T))
        + 4 * T.numel() * rigor.TINY
    )
    return proof.operator_norm(T).widen(off).maximum(0)


# --- the equilibrium -------------------------------------------------------------------------------


@quantity("lambda_0", "λ₀", r"\lambda_0", "smallest singular value of the equilibrium Z(0)", degree(1))
def sigma_min_equilibrium(point: MonPoint, effort: int) -> Enclosure:
    """sqrt(lambda_min(Z^T Z)) for Z in R^{n x N}, moved by at most the radius of the equilibrium."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE and (precise := point.precise) is not None:
        matrix, radius = precise
        return matrix.sigma_min().widen(radius).maximum(0)
    if point.Z.shape[0] > point.Z.shape[1]:
        return Enclosure.exact(0)
    return rigor.sigma_min(point.Z, effort).widen(point.radius).maximum(0)


@quantity("norm_Z", "‖Z(0)‖", r"\|Z(0)\|", "operator norm of the equilibrium Z(0)", degree(1))
def norm_equilibrium(point: MonPoint, effort: int) -> Enclosure:
    """||Z|| of the true equilibrium."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.Z, effort).widen(point.radius).maximum(0)


@quantity("norm_Z_F", "‖Z‖_F", r"\|Z\|_F", "Frobenius norm of the equilibrium", degree(1))
def frobenius_norm_equilibrium(point: MonPoint, effort: int) -> Enclosure:
    """||Z||_F of the true equilibrium."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE and (precise := point.precise) is not None:
        matrix, radius = precise
        return matrix.frobenius().widen(radius).maximum(0)
    return rigor.frobenius(point.Z).widen(point.radius).maximum(0)


@quantity(
    "r_0", "‖ŷ(0)−y‖", r"\|\hat{\mathbf y}(0) - \mathbf y\|",
    "distance of the predictions from the labels, √(2𝓛(θ₀))", degree(0),
)  # fmt: skip
def initial_residual(point: MonPoint, effort: int) -> Enclosure:
    """||Z u - y||, with the distance of the computed Z from the true one."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE and (precise := point.precise) is not None:
        from deqcheck.enclosure.matrix import Matrix

        matrix, radius = precise
        u, y = (Matrix.exact([[t] for t in v.tolist()]) for v in (point.model.u, point.y))
        return (matrix @ u - y).frobenius().widen(radius * u.frobenius()).maximum(0)
    norm = rigor.frobenius(point.model.u)
    return rigor.product_norm(point.Z, point.model.u, point.y, point.radius, norm)


# --- derivatives -----------------------------------------------------------------------------------


@quantity(
    "gap", "min|Wz+Ux|", r"\min_{ij} |(WZ + UX)_{ij}|",
    "smallest pre-activation in absolute value: the relu is differentiable where it is not 0",
)  # fmt: skip
def kink_distance(point: MonPoint, _effort: int) -> Enclosure:
    """For the true pre-activations at the true equilibrium."""
    return point.pattern.gap


def _unless_kinked(point: MonPoint, value: Enclosure) -> Enclosure:
    """A quantity that depends on D means nothing certain while a unit may be on either side of its kink."""
    return value if point.pattern.certain else Enclosure.between(0, float("inf"))


@quantity(
    "norm_uQ", "‖(uᵀ⊗I)Q⁻¹‖", r"\|(\mathbf{u}^\top \otimes I_N) Q^{-1}\|",
    "norm of the output weights carried through Q⁻¹",
)  # fmt: skip
def norm_carried(point: MonPoint, _effort: int) -> Enclosure:
    """max_i |(I - W^T J_i)^-1 u|: the rows of this matrix live on different samples."""
    from deqcheck.equilibrium import mondeq as proof

    found = point.adjoint
    return _unless_kinked(point, proof.longest_row(found.V, found.V_radius))


@quantity(
    "norm_uQD", "‖(uᵀ⊗I)Q⁻¹D‖", r"\|(\mathbf{u}^\top \otimes I_N) Q^{-1} D\|",
    "norm of the output weights carried through Q⁻¹D",
)  # fmt: skip
def norm_carried_active(point: MonPoint, _effort: int) -> Enclosure:
    """max_i |J_i (I - W^T J_i)^-1 u|."""
    from deqcheck.equilibrium import mondeq as proof

    found = point.adjoint
    return _unless_kinked(point, proof.longest_row(found.G, found.G_radius))


@quantity(
    "off_g", "Δ(∂g)", r"\Delta(\partial g)",
    "relative difference of Lemma 3.2.1 from automatic differentiation",
    evidence=Evidence.COMPARISON,
)  # fmt: skip
def difference_layer(point: MonPoint, _effort: int) -> Enclosure:
    """A float comparison."""
    return Enclosure.exact(point.disagreement.layer)


@quantity(
    "off_Z", "Δ(∂Z)", r"\Delta(\partial Z)",
    "relative difference of Lemma 3.2.2 from automatic differentiation",
    evidence=Evidence.COMPARISON,
)  # fmt: skip
def difference_equilibrium(point: MonPoint, _effort: int) -> Enclosure:
    """A float comparison."""
    return Enclosure.exact(point.disagreement.equilibrium)


@quantity(
    "off_loss", "Δ(∂𝓛)", r"\Delta(\partial \mathcal{L})",
    "relative difference of Lemma 3.2.3 from automatic differentiation",
    evidence=Evidence.COMPARISON,
)  # fmt: skip
def difference_loss(point: MonPoint, _effort: int) -> Enclosure:
    """A float comparison."""
    return Enclosure.exact(point.disagreement.loss)


@quantity(
    "off_K", "Δ(K)", r"\Delta(K)",
    "relative difference of Proposition 4 from automatic differentiation",
    evidence=Evidence.COMPARISON,
)  # fmt: skip
def difference_kernel(point: MonPoint, _effort: int) -> Enclosure:
    """A float comparison."""
    return Enclosure.exact(point.disagreement.kernel)


# --- pairs (Lemmas 3.3.4 and 3.3.6); k is the second set of parameters, s the first -----------------


@quantity("norm_A_s", "‖A(s)‖", r"\|A(s)\|", "operator norm of the first A")
def norm_A_s(point: MonPoint, effort: int) -> Enclosure:
    """||A_s||."""
    return norm_A.measure(point, effort)


@quantity("norm_U_s", "‖U(s)‖", r"\|U(s)\|", "operator norm of the first input weights")
def norm_U_s(point: MonPoint, effort: int) -> Enclosure:
    """||U_s||."""
    return norm_U.measure(point, effort)


@quantity("norm_u_k", "‖u(k)‖", r"\|\mathbf{u}(k)\|", "norm of the second output weights")
def norm_u_k(point: MonPoint, effort: int) -> Enclosure:
    """||u_k||."""
    return norm_u.measure(point.neighbour, effort)


@quantity("diff_A", "‖ΔA‖", r"\|\Delta_A\|", "distance of the two A")
def distance_A(point: MonPoint, _effort: int) -> Enclosure:
    """||A_k - A_s||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.neighbour.model.A, point.model.A)


@quantity("diff_B", "‖ΔB‖", r"\|\Delta_B\|", "distance of the two B")
def distance_B(point: MonPoint, _effort: int) -> Enclosure:
    """||B_k - B_s||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.neighbour.model.B, point.model.B)


@quantity("diff_U", "‖ΔU‖", r"\|\Delta_U\|", "distance of the two input weights")
def distance_U(point: MonPoint, _effort: int) -> Enclosure:
    """||U_k - U_s||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.neighbour.model.U, point.model.U)


@quantity("diff_u", "‖Δu‖", r"\|\Delta_{\mathbf u}\|", "distance of the two output weights")
def distance_u(point: MonPoint, _effort: int) -> Enclosure:
    """||u_k - u_s||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.neighbour.model.u, point.model.u)


@quantity("diff_W", "‖ΔW‖", r"\|\Delta_W\|", "distance of the two W")
def distance_W(point: MonPoint, _effort: int) -> Enclosure:
    """||W_k - W_s|| of the real matrices."""
    from deqcheck import rigor

    other = point.neighbour
    norm = rigor.difference_norm(other.model.W, point.model.W)
    return norm.widen(point.weights.slip + other.weights.slip).maximum(0)


@quantity("diff_Z", "‖ΔZ‖_F", r"\|Z(k) - Z(s)\|_F", "distance of the two equilibria")
def distance_equilibria(point: MonPoint, _effort: int) -> Enclosure:
    """||Z_k - Z_s||_F of the true equilibria."""
    from deqcheck import rigor

    other = point.neighbour
    gap = other.Z - point.Z
    slip = rigor.frobenius(gap) * rigor.relative_error(1)
    return rigor.frobenius(gap).widen(slip + point.radius + other.radius).maximum(0)


@quantity(
    "diff_y", "‖Δŷ‖", r"\|\hat{\mathbf y}(k) - \hat{\mathbf y}(s)\|",
    "distance of the two predictions",
)  # fmt: skip
def distance_predictions(point: MonPoint, _effort: int) -> Enclosure:
    """||Z_k u_k - Z_s u_s|| of the true predictions."""
    from deqcheck import rigor

    other = point.neighbour
    ours = point.model.predict(point.Z)
    slack = rigor.product_error(point.Z, point.model.u.reshape(-1, 1))
    slack = slack + point.radius * rigor.frobenius(point.model.u)
    norm = rigor.frobenius(other.model.u)
    return rigor.product_norm(other.Z, other.model.u, ours, other.radius, norm).widen(slack).maximum(0)
