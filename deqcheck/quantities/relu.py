"""Measured quantities of the ReLU implicit network (Gao & Gao 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.quantities import degree, quantity
from deqcheck.statement import Evidence

if TYPE_CHECKING:
    from deqcheck.family.relu import ReluPoint

COMPARISON = Evidence.COMPARISON


@quantity("alpha_0", "α₀", r"\alpha_0", "smallest singular value of the equilibrium Z(0)", degree(1))
def sigma_min_equilibrium(point: ReluPoint, effort: int) -> Enclosure:
    """sqrt(lambda_min(Z Z^T)), moved by at most the distance between the computed and the true Z."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE and (precise := point.precise) is not None:
        matrix, radius = precise
        return matrix.sigma_min().widen(radius).maximum(0)
    if point.Z.shape[0] > point.Z.shape[1]:
        return Enclosure.exact(0)
    return rigor.sigma_min(point.Z, effort).widen(point.radius).maximum(0)


@quantity("norm_W", "‖W(0)‖", r"\|W(0)\|", "operator norm of the input weights", degree(1))
def norm_input_weights(point: ReluPoint, _effort: int) -> Enclosure:
    """||W||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.model.W)


@quantity("norm_A", "‖A(0)‖", r"\|A(0)\|", "operator norm of the implicit weights", degree(1))
def norm_implicit_weights(point: ReluPoint, _effort: int) -> Enclosure:
    """||A||, which the proof of the equilibrium needs as well."""
    return point.norm_A


@quantity("norm_b", "‖b(0)‖", r"\|b(0)\|", "norm of the output weights", degree(1))
def norm_output_weights(point: ReluPoint, _effort: int) -> Enclosure:
    """||b||."""
    from deqcheck import rigor

    return rigor.frobenius(point.model.b)


@quantity("norm_X_F", "‖X‖_F", r"\|X\|_F", "Frobenius norm of the inputs", degree(0))
def frobenius_norm_inputs(point: ReluPoint, _effort: int) -> Enclosure:
    """||X||_F."""
    from deqcheck import rigor

    return rigor.frobenius(point.X)


@quantity("norm_X", "‖X‖", r"\|X\|", "operator norm of the inputs", degree(0))
def norm_inputs(point: ReluPoint, _effort: int) -> Enclosure:
    """||X||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.X)


@quantity("norm_Z", "‖Z(0)‖", r"\|Z(0)\|", "operator norm of the equilibrium Z(0)", degree(1))
def norm_equilibrium(point: ReluPoint, effort: int) -> Enclosure:
    """||Z||, moved by at most the distance between the computed and the true Z."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.Z, effort).widen(point.radius).maximum(0)


def _residual_after_scaling(point: ReluPoint, _value: float, beta: float) -> float:
    """The prediction is of degree two in the parameters (Z and b), the labels do not move."""
    prediction = point.model.predict(point.Z)
    return float((beta * (beta * prediction) - point.y).norm())


@quantity(
    "r_0", "‖ŷ(0)−y‖", r"\|\hat y(0) - y\|", "distance of the predictions from the labels",
    _residual_after_scaling,
)  # fmt: skip
def initial_residual(point: ReluPoint, effort: int) -> Enclosure:
    """||Z b - y||, with the distance of the computed Z from the true one."""
    from deqcheck import rigor

    if effort >= rigor.PRECISE and (precise := point.precise) is not None:
        from deqcheck.enclosure.matrix import Matrix

        matrix, radius = precise
        b, y = (Matrix.exact([[t] for t in v.tolist()]) for v in (point.model.b, point.y))
        return (matrix @ b - y).frobenius().widen(radius * b.frobenius()).maximum(0)
    b_norm = rigor.frobenius(point.model.b)
    return rigor.product_norm(point.Z, point.model.b, point.y, point.radius, b_norm)


@quantity("gamma", "γ", r"\gamma", "the fixed scalar in front of A", degree(-1))
def gamma(point: ReluPoint, _effort: int) -> Enclosure:
    """Exactly the float that the model holds."""
    return Enclosure.exact(point.model.gamma)


@quantity("N", "N", "N", "number of samples", degree(0))
def samples(point: ReluPoint, _effort: int) -> Enclosure:
    """N."""
    return Enclosure.exact(point.X.shape[0])


@quantity("norm_Z_F", "‖Z‖_F", r"\|Z\|_F", "Frobenius norm of the equilibrium", degree(1))
def frobenius_norm_equilibrium(point: ReluPoint, _effort: int) -> Enclosure:
    """||Z||_F of the true equilibrium."""
    from deqcheck import rigor

    return rigor.frobenius(point.Z).widen(point.radius).maximum(0)


@quantity(
    "max_Z_l_F", "max_ℓ ‖Z^ℓ‖_F", r"\max_\ell \|Z^\ell\|_F",
    "largest Frobenius norm among the first iterates from zero", degree(1),
)  # fmt: skip
def frobenius_norm_iterates(point: ReluPoint, _effort: int) -> Enclosure:
    """max over l <= 20 of ||Z^l||_F for the exact iterates of eq. (1)."""
    return point.iterate_norm(20)


@quantity("norm_Phi_F", "‖Φ‖_F", r"\|\Phi\|_F", "Frobenius norm of the features", degree(1))
def frobenius_norm_features(point: ReluPoint, _effort: int) -> Enclosure:
    """||relu(X W)||_F."""
    from deqcheck import rigor

    slip = rigor.product_error(point.X, point.model.W)
    return rigor.frobenius(point.model.features(point.X)).widen(slip).maximum(0)


@quantity("min_A", "min A_ij", r"\min_{ij} A_{ij}", "smallest entry of A", degree(1))
def smallest_entry(point: ReluPoint, _effort: int) -> Enclosure:
    """Exact: a comparison of floats has no rounding."""
    return Enclosure.exact(float(point.model.A.min()))


@quantity(
    "distance", "‖Z − Φ(I−γA)⁻¹‖_F", r"\|Z - \Phi (I_m - \gamma A)^{-1}\|_F",
    "distance between the equilibrium and the closed form",
)  # fmt: skip
def distance_to_closed_form(point: ReluPoint, _effort: int) -> Enclosure:
    """[0, bound]: how far apart the two enclosures can be."""
    return point.distance_to_closed_form()


# --- pairs (Lemma 4.3) -----------------------------------------------------------------------------


@quantity("norm_W_a", "‖W_a‖", r"\|W_a\|", "operator norm of the first input weights")
def norm_input_weights_a(point: ReluPoint, effort: int) -> Enclosure:
    """||W_a||."""
    return norm_input_weights.measure(point, effort)


@quantity("norm_W_b", "‖W_b‖", r"\|W_b\|", "operator norm of the second input weights")
def norm_input_weights_b(point: ReluPoint, effort: int) -> Enclosure:
    """||W_b||."""
    return norm_input_weights.measure(point.neighbour, effort)


@quantity("norm_A_a", "‖A_a‖", r"\|A_a\|", "operator norm of the first implicit weights")
def norm_implicit_weights_a(point: ReluPoint, _effort: int) -> Enclosure:
    """||A_a||."""
    return point.norm_A


@quantity("norm_A_b", "‖A_b‖", r"\|A_b\|", "operator norm of the second implicit weights")
def norm_implicit_weights_b(point: ReluPoint, _effort: int) -> Enclosure:
    """||A_b||."""
    return point.neighbour.norm_A


@quantity("diff_W", "‖W_a − W_b‖", r"\|W_a - W_b\|", "distance of the input weights")
def distance_input_weights(point: ReluPoint, _effort: int) -> Enclosure:
    """||W_a - W_b||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.model.W, point.neighbour.model.W)


@quantity("diff_A", "‖A_a − A_b‖", r"\|A_a - A_b\|", "distance of the implicit weights")
def distance_implicit_weights(point: ReluPoint, _effort: int) -> Enclosure:
    """||A_a - A_b||."""
    from deqcheck import rigor

    return rigor.difference_norm(point.model.A, point.neighbour.model.A)


@quantity("diff_Z", "‖Z_a − Z_b‖", r"\|Z_a - Z_b\|", "distance of the equilibria")
def distance_equilibria(point: ReluPoint, _effort: int) -> Enclosure:
    """||Z_a - Z_b|| for the true equilibria."""
    from deqcheck import rigor

    other = point.neighbour
    norm = rigor.difference_norm(point.Z, other.Z)
    return norm.widen(point.radius + other.radius).maximum(0)


# --- gradients and the tangent kernel (Lemmas 3.2 and 4.1) -----------------------------------------


@quantity(
    "sigma_min_Q", "σ_min(Q)", r"\sigma_{\min}(Q)", "smallest singular value of the blocks of Q that were checked"
)
def sigma_min_linearisation(point: ReluPoint, _effort: int) -> Enclosure:
    """The smallest singular value over the checked samples' blocks."""
    return point.block_sigma_min


@quantity(
    "gradient_difference",
    "Δ∇L",
    r"\Delta_{\nabla L}",
    "relative difference of (7)-(9) from autograd",
    evidence=COMPARISON,
)
def gradient_difference(point: ReluPoint, _effort: int) -> Enclosure:
    """A comparison of two float computations, not a proof."""
    return Enclosure.exact(point.gradient_difference)


@quantity("kernel_difference", "ΔH", r"\Delta_H", "relative difference of (11)-(13) from autograd", evidence=COMPARISON)
def kernel_difference(point: ReluPoint, _effort: int) -> Enclosure:
    """A comparison of two float computations, not a proof."""
    return Enclosure.exact(point.kernel_difference)
