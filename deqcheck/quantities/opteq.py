"""Measured quantities of deep OptEq (Xie et al. 2021). The work is done, once, by the point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.quantities import quantity
from deqcheck.statement import Evidence, Quantity

if TYPE_CHECKING:
    from deqcheck.family.opteq import OptEqPoint


# --- the network -----------------------------------------------------------------------------------


@quantity("slope_min", "inf σ'", r"\inf \sigma'", "least slope of the activation, over all chords")
def slope_min(point: OptEqPoint, _effort: int) -> Enclosure:
    """A property of the named activation, known exactly."""
    return Enclosure.exact(point.model.activation.least)


@quantity("L_sigma_0", "L̃_σ", r"\tilde L_\sigma", "Lipschitz constant of the activation")
def lipschitz(point: OptEqPoint, _effort: int) -> Enclosure:
    """A property of the named activation, known exactly."""
    return Enclosure.exact(point.model.activation.lipschitz)


@quantity("norm_W", "‖W‖", r"\|W\|_2", "operator norm of the weights of the layer")
def norm_weights(point: OptEqPoint, _effort: int) -> Enclosure:
    """||W_1||."""
    return point.net.norms[0]


@quantity("max_norm_W", "max ‖W_l‖", r"\max_l \|W_l\|_2", "largest operator norm of a layer")
def largest_norm(point: OptEqPoint, _effort: int) -> Enclosure:
    """max_l ||W_l||."""
    return point.norm("largest")


@quantity("min_norm_W", "min ‖W_l‖", r"\min_l \|W_l\|_2", "smallest operator norm of a layer")
def smallest_norm(point: OptEqPoint, _effort: int) -> Enclosure:
    """min_l ||W_l||."""
    return point.norm("smallest")


@quantity("alpha", "α", r"\alpha", "weight of the layer against the skip connection")
def alpha(point: OptEqPoint, _effort: int) -> Enclosure:
    """Exactly the float that the model holds."""
    return Enclosure.exact(point.model.alpha)


@quantity("L", "L", "L", "number of layers")
def layers(point: OptEqPoint, _effort: int) -> Enclosure:
    """L."""
    return Enclosure.exact(len(point.model.layers))


@quantity("norm_z", "‖z*‖", r"\|z^*\|", "norm of the equilibrium, all samples together")
def norm_equilibrium(point: OptEqPoint, _effort: int) -> Enclosure:
    """||z*|| of the true equilibrium."""
    return point.Z.norm


# --- Theorem 1 -------------------------------------------------------------------------------------


@quantity("mu", "μ", r"\mu", "divisor of the layer")
def mu(point: OptEqPoint, _effort: int) -> Enclosure:
    """Exactly the float that the model holds."""
    return Enclosure.exact(point.model.mu)


@quantity(
    "gradient_gap", "|∇ψ − f|/|f|", r"\|\nabla\psi - f\| / \|f\|",
    "relative distance of the layer from the gradient of ψ, by autograd at a random point",
    evidence=Evidence.COMPARISON,
)  # fmt: skip
def gradient_gap(point: OptEqPoint, _effort: int) -> Enclosure:
    """A comparison of two float computations."""
    return point.gradient_gap()


@quantity(
    "expansion", "max |f(w)−f(w')|/|w−w'|", r"\max \|f(w) - f(w')\| / \|w - w'\|",
    "largest stretch of the layer between trial points",
)  # fmt: skip
def expansion(point: OptEqPoint, _effort: int) -> Enclosure:
    """At most 1 for a proximal operator."""
    return point.expansion()


@quantity(
    "prox_margin", "min Δ_prox", r"\min \Delta_{\mathrm{prox}}",
    "least surplus of φ(v) + |v−z|²/2 over its value at f(z), less |v−f(z)|²/2, over trial points",
)  # fmt: skip
def prox_margin(point: OptEqPoint, _effort: int) -> Enclosure:
    """Negative somewhere: f(z) is not the proximal point of a convex φ."""
    return point.prox_margin()


@quantity(
    "phi_margin", "min φ(v) − φ(z*)", r"\min \varphi(v) - \varphi(z^*)",
    "least surplus of φ over its value at the equilibrium, over trial points",
)  # fmt: skip
def minimum_margin(point: OptEqPoint, _effort: int) -> Enclosure:
    """Negative somewhere: the equilibrium does not minimise φ."""
    return point.minimum_margin()


@quantity(
    "distance", "|z* − argmin φ|", r"\|z^* - \arg\min\varphi\|",
    "distance of the equilibrium from the minimiser that a convex solver finds",
)  # fmt: skip
def minimiser_distance(point: OptEqPoint, _effort: int) -> Enclosure:
    """Known to the accuracy of both sides."""
    return point.minimiser_distance()


# --- Theorem 2, Corollary 1 ------------------------------------------------------------------------


@quantity(
    "inclusion", "|∂Φ(z*) + (I−P)z*|", r"\|\partial\Phi(\tilde z^*) + (I - P)\tilde z^*\|",
    "residual of the monotone inclusion (7) at the true equilibrium",
)  # fmt: skip
def inclusion_residual(point: OptEqPoint, _effort: int) -> Enclosure:
    """Known to the accuracy of both sides."""
    return point.inclusion_residual()


@quantity(
    "pair_distance", "|(z_1*, z_0*) − argmin|", r"\|(z_1^*, z_0^*) - \arg\min\|",
    "distance of the two-layer equilibrium from the solution that a convex solver finds",
)  # fmt: skip
def corollary_distance(point: OptEqPoint, _effort: int) -> Enclosure:
    """Known to the accuracy of both sides."""
    return point.corollary_distance()


# --- Theorem 3 -------------------------------------------------------------------------------------


@quantity("mean_norm_square", "mean ‖W_l‖²", r"\frac1L \sum_l \|W_l\|_2^2", "mean square norm")
def mean_square(point: OptEqPoint, _effort: int) -> Enclosure:
    """The contraction of the wide layer."""
    total = Enclosure.exact(0)
    for norm in point.net.norms:
        total = total + norm**2
    return total / len(point.net.norms)


@quantity("norm_y", "‖y‖", r"\|y\|", "norm of the solution of the wide problem")
def norm_wide(point: OptEqPoint, _effort: int) -> Enclosure:
    """||y||."""
    return Enclosure.positive() if point.wide is None else point.wide.norm


@quantity(
    "wide_residual", "|L y − Σ W_lᵀσ(W_l y + …)|", r"\|L y - \sum_l W_l^T \sigma(\cdot)\|",
    "residual of the wide layer at the solution of the convex problem",
)  # fmt: skip
def wide_residual(point: OptEqPoint, _effort: int) -> Enclosure:
    """Known to the accuracy of both sides."""
    return point.wide_residual()


def _distance(divisor: int, name: str, label: str, latex: str) -> Quantity:
    @quantity(
        f"distance_{name}", f"max_l |z_l({label}) − y|", rf"\max_l \|z_l^*({latex}) - y\|",
        f"largest distance of a block from the wide solution, at {label}",
    )  # fmt: skip
    def measure(point: OptEqPoint, _effort: int) -> Enclosure:
        return point.deep(divisor)[0]

    return measure


def _drift(divisor: int, name: str, label: str, latex: str) -> Quantity:
    @quantity(
        f"drift_{name}", f"H({label})", rf"H({latex})",
        f"Σ_l |prox_l(z_(l−1)) − z_(l−1)| along the layers, at {label}",
    )  # fmt: skip
    def measure(point: OptEqPoint, _effort: int) -> Enclosure:
        return point.deep(divisor)[1]

    return measure


_STEPS = ((1, "1", "α", r"\alpha"), (8, "8", "α/8", r"\alpha/8"), (64, "64", "α/64", r"\alpha/64"))
deep_distance = {step[0]: _distance(*step) for step in _STEPS}
deep_drift = {step[0]: _drift(*step) for step in _STEPS}


# --- Theorem 4 -------------------------------------------------------------------------------------


@quantity("Lip_T", "Lip T", r"\mathrm{Lip}\,\mathcal T", "certified Lipschitz constant of T")
def lipschitz_composed(point: OptEqPoint, _effort: int) -> Enclosure:
    """An upper bound is what matters; the product of the layers' constants."""
    return point.net.lipschitz


@quantity("L_z", "L_z", "L_z", "Lipschitz constant of ∇R_z")
def lipschitz_regulariser(point: OptEqPoint, _effort: int) -> Enclosure:
    """||V||^2."""
    return point.sam.R.lipschitz


@quantity("p", "p", "p", "exponent of β_k")
def exponent_beta(point: OptEqPoint, _effort: int) -> Enclosure:
    """As given."""
    return Enclosure.exact(point.p)


@quantity("c", "c", "c", "exponent of λ_k")
def exponent_lambda(point: OptEqPoint, _effort: int) -> Enclosure:
    """As given."""
    return Enclosure.exact(point.c)


@quantity("m_R", "m_R", "m_R", "modulus of strong convexity of R_z along Fix(T)")
def convexity_on_fix(point: OptEqPoint, _effort: int) -> Enclosure:
    """1 where Fix(T) is a single point, on which any modulus serves."""
    return point.fixed.convexity


@quantity(
    "sup_fix", "sup ‖z‖", r"\sup \|z\|",
    "bound on the fixed points of all averaged steps, β in [0, 1/2] and λ in [0, L_z/2]",
)  # fmt: skip
def fixed_points_bound(point: OptEqPoint, _effort: int) -> Enclosure:
    """The upper end is the bound; nothing is claimed below it."""
    return point.fixed.bound


@quantity("gamma", "γ", r"\gamma", "step 1/(2 L_z), as a float")
def gamma(point: OptEqPoint, _effort: int) -> Enclosure:
    """As used by the iteration."""
    return Enclosure.exact(point.sam.gamma)


@quantity("beta_K", "β_K", r"\beta_K", "weight of the regulariser in step K")
def beta_K(point: OptEqPoint, _effort: int) -> Enclosure:
    """As used by the iteration."""
    return Enclosure.exact(point.sam.beta(point.K))


@quantity("lambda_K", "λ_K", r"\lambda_K", "weight of |z|²/2 in step K")
def lambda_K(point: OptEqPoint, _effort: int) -> Enclosure:
    """As used by the iteration."""
    return Enclosure.exact(point.sam.lam(point.K))


@quantity("norm_zt", "‖z̃‖", r"\|\tilde z\|", "norm of the minimiser of R_z on Fix(T)")
def norm_minimiser(point: OptEqPoint, _effort: int) -> Enclosure:
    """||z~||."""
    return point.fixed.minimiser.norm


@quantity("before_K", "|z^(K−1) − z̄^K|", r"\|z^{K-1} - \bar z^K\|", "distance before step K")
def before_step(point: OptEqPoint, _effort: int) -> Enclosure:
    """To the fixed point of step K."""
    return (point.iterates[point.K - 1] - point.averaged).norm


@quantity("after_K", "|z^K − z̄^K|", r"\|z^K - \bar z^K\|", "distance after step K")
def after_step(point: OptEqPoint, _effort: int) -> Enclosure:
    """To the fixed point of step K."""
    return (point.iterates[point.K] - point.averaged).norm


@quantity("R_bar", "R_λ(z̄^K)", r"R_\lambda(\bar z^K)", "R_z + λ_K|·|²/2 at the fixed point of step K")
def value_averaged(point: OptEqPoint, _effort: int) -> Enclosure:
    """The regularised value that the proof compares."""
    return point.regularised(point.averaged)


@quantity("R_tilde", "R_λ(z̃)", r"R_\lambda(\tilde z)", "R_z + λ_K|·|²/2 at the minimiser z̃")
def value_minimiser(point: OptEqPoint, _effort: int) -> Enclosure:
    """The regularised value that the proof compares."""
    return point.regularised(point.fixed.minimiser)


@quantity("e_K", "e_K", "e_K", "distance of z̄^K from a point π of Fix(T)")
def distance_from_fix(point: OptEqPoint, _effort: int) -> Enclosure:
    """An exact member of Fix(T) near the fixed point of step K."""
    return (point.averaged - point.inside).norm


@quantity("G_K", "G_K", "G_K", "norm of the gradient of R_λ at that point π")
def slope_in_fix(point: OptEqPoint, _effort: int) -> Enclosure:
    """For the bound on the distance."""
    return point.regularised_slope()


@quantity("d_bar", "|z̄^K − z̃|", r"\|\bar z^K - \tilde z\|", "distance of the fixed point from z̃")
def distance_averaged(point: OptEqPoint, _effort: int) -> Enclosure:
    """How far the K-th averaged problem is from the limit."""
    return (point.averaged - point.fixed.minimiser).norm


def _iterate(which: int, name: str, label: str) -> Quantity:
    @quantity(
        f"d_{name}", f"|z^{label} − z̃|", rf"\|z^{{{label}}} - \tilde z\|",
        f"distance of iterate {label} from the minimiser of R_z on Fix(T)",
    )  # fmt: skip
    def measure(point: OptEqPoint, _effort: int) -> Enclosure:
        return (point.iterates[point.marks[which]] - point.fixed.minimiser).norm

    return measure


distance_K16 = _iterate(0, "K16", "K/16")
distance_K4 = _iterate(1, "K4", "K/4")
distance_K = _iterate(3, "K", "K")


# --- Theorem 5 -------------------------------------------------------------------------------------


@quantity("K", "K", "K", "number of unrolled iterations")
def iterations(point: OptEqPoint, _effort: int) -> Enclosure:
    """K."""
    return Enclosure.exact(point.K)


@quantity("N", "N", "N", "number of samples")
def samples(point: OptEqPoint, _effort: int) -> Enclosure:
    """N."""
    return Enclosure.exact(point.X.shape[0])


@quantity("m", "m", "m", "width of the equilibrium")
def width(point: OptEqPoint, _effort: int) -> Enclosure:
    """m."""
    return Enclosure.exact(point.model.width)


@quantity("n", "n_l", "n_l", "rows of W_l")
def units(point: OptEqPoint, _effort: int) -> Enclosure:
    """n_l."""
    return Enclosure.exact(point.model.layers[0].W.shape[0])


@quantity("sigma_0", "|σ(0)|", r"|\sigma(0)|", "the activation at 0")
def activation_at_zero(_point: OptEqPoint, _effort: int) -> Enclosure:
    """0 for every named activation."""
    return Enclosure.exact(0)


@quantity("L_sigma", "L_σ", r"L_\sigma", "Lipschitz constant of the slope of the activation")
def smoothness(point: OptEqPoint, _effort: int) -> Enclosure:
    """A property of the named activation."""
    smooth = point.model.activation.smooth
    return Enclosure.positive() if smooth is None else Enclosure.exact(smooth)


@quantity("sigma_min_W", "min σ_min(W_l)", r"\min_l \sigma_{\min}(W_l)", "least singular value of a layer")
def sigma_min_layers(point: OptEqPoint, effort: int) -> Enclosure:
    """sqrt(lambda_min(W W^T)), as Lemma 16 uses it: 0 for more rows than columns."""
    from deqcheck import rigor

    values = [rigor.sigma_min(layer.W, effort) for layer in point.trained.model.layers]
    out = values[0]
    for other in values[1:]:
        out = out.minimum(other)
    return out


@quantity("norm_Ub", "max{‖U_l‖, ‖b_l‖}", r"\max_l\{\|U_l\|_2, \|b_l\|_2\}", "size of input weights and biases")
def norm_inputs(point: OptEqPoint, _effort: int) -> Enclosure:
    """The largest over the layers."""
    from deqcheck import rigor

    out = Enclosure.exact(0)
    for layer in point.trained.model.layers:
        out = out.maximum(rigor.spectral_norm(layer.U)).maximum(rigor.frobenius(layer.b))
    return out


@quantity("norm_X", "‖X(0)‖_F", r"\|X^0\|_F", "Frobenius norm of the extracted inputs")
def norm_features(point: OptEqPoint, _effort: int) -> Enclosure:
    """||X_0 W_0^T||_F."""
    return point.trained.inputs.norm


@quantity("L_g", "L_g", "L_g", "Lipschitz constant of the extractor g(X_0, W_0) = X_0 W_0ᵀ")
def lipschitz_extractor(point: OptEqPoint, _effort: int) -> Enclosure:
    """||X_0||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.X)


@quantity("norm_out", "‖W_(L+1)‖", r"\|W_{L+1}\|_2", "operator norm of the output weights")
def norm_output(point: OptEqPoint, _effort: int) -> Enclosure:
    """||W_{L+1}||."""
    return point.trained.output.norm


@quantity("sigma_out", "σ_min(W_(L+1))", r"\sigma_{\min}(W_{L+1})", "least singular value of the output weights")
def sigma_min_output(point: OptEqPoint, effort: int) -> Enclosure:
    """sqrt(lambda_min(W W^T))."""
    from deqcheck import rigor

    return rigor.sigma_min(point.trained.out, effort)


@quantity("gamma", "γ", r"\gamma", "step of the regulariser")
def gamma_unrolled(point: OptEqPoint, _effort: int) -> Enclosure:
    """As used by the iteration."""
    return Enclosure.exact(point.trained.gamma)


@quantity("r_0", "‖y(0) − y_0‖", r"\|y^0 - y_0\|", "distance of the predictions from the labels")
def initial_residual(point: OptEqPoint, _effort: int) -> Enclosure:
    """For the exact unrolled network."""
    return point.trained.residual.norm


@quantity(
    "gradient_square", "‖∇ℓ(θ(0))‖²", r"\|\nabla \ell(\theta^0)\|^2", "squared gradient of the loss, all parameters"
)
def gradient_square(point: OptEqPoint, _effort: int) -> Enclosure:
    """Backwards by hand, with certified errors."""
    return point.trained.gradient_square()


@quantity(
    "bias_gradient_square",
    "Σ‖∇_b ℓ(θ(0))‖²",
    r"\sum_l\|\nabla_{b_l} \ell(\theta^0)\|^2",
    "squared gradient in the biases",
)
def bias_gradient_square(point: OptEqPoint, _effort: int) -> Enclosure:
    """Backwards by hand, with certified errors."""
    return point.trained.gradient_square("b_")
