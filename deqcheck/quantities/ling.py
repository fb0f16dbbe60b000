"""Measured quantities of the vanilla DEQ (Ling et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.quantities import quantity
from deqcheck.statement import Evidence
from deqcheck.truth import FAILS, HOLDS, Truth, every

if TYPE_CHECKING:
    from deqcheck.family.ling import Draw, LingPoint

# --- the instance ------------------------------------------------------------------------------------


@quantity("lambda_0", "λ₀", r"\lambda_0", "least eigenvalue of the Gram matrix G(0) = ZᵀZ")
def lambda_0(point: LingPoint, effort: int) -> Enclosure:
    """sigma_min(Z)^2, with the distance of the computed Z from the true one."""
    return point.lambda_0(effort)


@quantity("norm_W", "‖W(0)‖", r"\|W(0)\|_2", "operator norm of the implicit weights")
def norm_implicit_weights(point: LingPoint, _effort: int) -> Enclosure:
    """||W||, which the proof of the equilibrium needs as well."""
    return point.norm_W


@quantity("norm_U", "‖U(0)‖", r"\|U(0)\|_2", "operator norm of the input weights")
def norm_input_weights(point: LingPoint, _effort: int) -> Enclosure:
    """||U||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.model.U)


@quantity("norm_a", "‖a(0)‖", r"\|a(0)\|_2", "norm of the output weights")
def norm_output_weights(point: LingPoint, _effort: int) -> Enclosure:
    """||a||."""
    from deqcheck import rigor

    return rigor.frobenius(point.model.a)


@quantity("norm_X_F", "‖X‖_F", r"\|X\|_F", "Frobenius norm of the inputs")
def frobenius_norm_inputs(point: LingPoint, _effort: int) -> Enclosure:
    """||X||_F."""
    from deqcheck import rigor

    return rigor.frobenius(point.X)


@quantity("z_0", "‖Z(0)‖", r"\|Z(0)\|_2", "operator norm of the equilibrium")
def norm_equilibrium(point: LingPoint, effort: int) -> Enclosure:
    """||Z||, with the distance of the computed Z from the true one."""
    from deqcheck import rigor

    Z, radius = point.Z
    return rigor.spectral_norm(Z, effort).widen(radius).maximum(0)


@quantity("x_0", "‖X‖", r"\|X\|_2", "operator norm of the inputs")
def norm_inputs(point: LingPoint, effort: int) -> Enclosure:
    """||X||."""
    from deqcheck import rigor

    return rigor.spectral_norm(point.X, effort)


@quantity("r_0", "‖ŷ(0)−y‖", r"\|\hat y(0) - y\|_2", "distance of the predictions from the labels")
def initial_residual(point: LingPoint, _effort: int) -> Enclosure:
    """||a^T Z - y|| at the true equilibrium."""
    from deqcheck.equilibrium import ling

    return ling.norm(point.residual)


@quantity("sigma2", "σ_w²", r"\sigma_w^2", "variance factor of the implicit weights")
def sigma2(point: LingPoint, _effort: int) -> Enclosure:
    """Exactly the float that was given."""
    return Enclosure.exact(point.sigma2)


@quantity("n", "n", "n", "number of samples")
def samples(point: LingPoint, _effort: int) -> Enclosure:
    """n."""
    return Enclosure.exact(point.n)


@quantity("m", "m", "m", "width of the implicit layer")
def width(point: LingPoint, _effort: int) -> Enclosure:
    """m."""
    return Enclosure.exact(point.m)


@quantity("l", "l", "l", "depth at which the statement is checked")
def depth(point: LingPoint, _effort: int) -> Enclosure:
    """l."""
    return Enclosure.exact(point.depth)


# --- Assumption 2 ------------------------------------------------------------------------------------


@quantity(
    "norm_defect", "max |‖x_i‖²/d − 1|", r"\max_i |\|x_i\|^2/d - 1|",
    "how far the inputs are from norm √d",
)  # fmt: skip
def norm_defect(point: LingPoint, _effort: int) -> Enclosure:
    """Squares summed in floats, with the classical error bound."""
    from deqcheck import rigor

    squares = (point.X * point.X).sum(dim=0) / point.d
    error = rigor.relative_error(point.d + 8) * (1 + float(squares.max()))
    return Enclosure.exact(float((squares - 1).abs().max())).widen(error).maximum(0)


@quantity(
    "cosine", "max |x_iᵀx_j|/d", r"\max_{i \neq j} |x_i^\top x_j|/d",
    "largest inner product of two inputs, over d: 0 if orthogonal, 1 if parallel",
)  # fmt: skip
def largest_cosine(point: LingPoint, _effort: int) -> Enclosure:
    """The off-diagonal of X^T X / d; 0 for a single sample."""
    from deqcheck import rigor

    inner = (point.X.T @ point.X) / point.d
    largest = float(inner.diagonal().max())
    inner.fill_diagonal_(0)
    error = rigor.relative_error(point.d + 8) * largest if point.n > 1 else Enclosure.exact(0)
    return Enclosure.exact(float(inner.abs().max())).widen(error).maximum(0)


# --- gradients ---------------------------------------------------------------------------------------


def _disagreement(point: LingPoint, which: int) -> Enclosure:
    """||formula - autograd|| / ||autograd||, a plain comparison of floats."""
    ours, theirs = point.formula()[which], point.autograd[which]
    size = float(theirs.norm())
    gap = float((ours - theirs).norm())
    return Enclosure.exact(gap / size if size > 0 else gap)


_FLOATS = "(compared in floats, not a proof)"


@quantity(
    "diff_W",
    "Δ_W",
    r"\Delta_W",
    f"relative distance of ∇_W from automatic differentiation {_FLOATS}",
    evidence=Evidence.COMPARISON,
)
def gradient_gap_W(point: LingPoint, _effort: int) -> Enclosure:
    """(3), first line."""
    return _disagreement(point, 0)


@quantity(
    "diff_U",
    "Δ_U",
    r"\Delta_U",
    f"relative distance of ∇_U from automatic differentiation {_FLOATS}",
    evidence=Evidence.COMPARISON,
)
def gradient_gap_U(point: LingPoint, _effort: int) -> Enclosure:
    """(3), second line."""
    return _disagreement(point, 1)


@quantity(
    "diff_a",
    "Δ_a",
    r"\Delta_a",
    f"relative distance of ∇_a from automatic differentiation {_FLOATS}",
    evidence=Evidence.COMPARISON,
)
def gradient_gap_a(point: LingPoint, _effort: int) -> Enclosure:
    """(3), third line."""
    return _disagreement(point, 2)


@quantity("grad2", "‖∇Φ‖²", r"\|\nabla_\theta \Phi\|_2^2", "squared norm of the gradient")
def gradient_square(point: LingPoint, _effort: int) -> Enclosure:
    """From (3) at the true equilibrium, error included."""
    return point.gradient_square


@quantity("Phi", "Φ", r"\Phi", "loss, 1/2 ‖ŷ − y‖²")
def loss(point: LingPoint, effort: int) -> Enclosure:
    """r_0^2 / 2."""
    r = initial_residual.measure(point, effort)
    return r * r / 2


@quantity("lambda_H", "λ_min(H)", r"\lambda_{\min}(H)", "least eigenvalue of H = H₁ + H₂ + H₃")
def lambda_H(point: LingPoint, _effort: int) -> Enclosure:
    """Of G + (G + X^T X) o (B^T B); unknown where the activation pattern is not proved."""
    from deqcheck.equilibrium import ling

    if point.gradient is None:
        return Enclosure.positive()
    return ling.lambda_min(point.gradient.H)


# --- the population ----------------------------------------------------------------------------------


@quantity("lambda_star", "λ_*", r"\lambda_*", "least eigenvalue of the population Gram matrix K")
def lambda_star(point: LingPoint, _effort: int) -> Enclosure:
    """K by its fixed point in ball arithmetic, its least eigenvalue by a verified factorisation."""
    return point.lambda_star


@quantity(
    "ratio_K", "max_l ‖K−K^(l)‖_F/(n l σ_w^(2l))",
    r"\max_l \frac{\|K - K^{(l)}\|_F}{n\, l\, \sigma_w^{2l}}",
    "distance of layer l from the limit over n l σ_w^(2l), the largest for l = 1 to the depth",
)  # fmt: skip
def depth_ratio(point: LingPoint, _effort: int) -> Enclosure:
    """In 192-bit balls, since the distances fall far below float resolution."""
    ratios = [
        point.limit.distance(K) / (Enclosure.exact(point.sigma2) ** layer * (point.n * layer))
        for layer, K in enumerate(point.layers)
        if layer
    ]
    return reduce(Enclosure.maximum, ratios)


@quantity(
    "gap_12", "max_l |K^(l) − (12)|", r"\max_{l,i,j} |K^{(l)}_{ij} - \rho^{(l)} Q(\cos\theta^{(l)}_{ij})|",
    "largest distance between the recursion (6) and the closed form (12), (13)",
)  # fmt: skip
def closed_form_gap(point: LingPoint, _effort: int) -> Enclosure:
    """Over all layers up to the depth and all pairs."""
    return _closed_form_gap(point, printed=False)


@quantity(
    "gap_print", "… with ρ^(l−1) as printed", r"\ldots \rho^{(l-1)}",
    "the same distance if (13) is taken as printed (for information)",
)  # fmt: skip
def printed_gap(point: LingPoint, _effort: int) -> Enclosure:
    """(13) with the index of the print, which divides by zero at l = 1 and is left out there."""
    return _closed_form_gap(point, printed=True)


def _closed_form_gap(point: LingPoint, printed: bool) -> Enclosure:
    closed = point.population.closed_forms(point.depth, printed)
    gaps = [K.largest_difference(C) for K, C in zip(point.layers[1:], closed, strict=True)]
    return reduce(Enclosure.maximum, gaps)


# --- random models -----------------------------------------------------------------------------------

_INTERVAL = "(99.9 % Clopper-Pearson interval over the draws: statistics, not a proof)"


def _probability(outcomes: list[Truth]) -> Enclosure:
    from deqcheck.enclosure.binomial import clopper_pearson

    sure = sum(truth is HOLDS for truth in outcomes)
    possible = sum(truth is not FAILS for truth in outcomes)
    return clopper_pearson(sure, possible, len(outcomes))


@quantity(
    "epsilon", "ε", r"\varepsilon",
    "what the draws cannot resolve: the width of the interval when every draw succeeds",
)  # fmt: skip
def resolution(point: LingPoint, _effort: int) -> Enclosure:
    """Shrinks with the number of draws; one percent of room keeps a perfect score decidable."""
    from deqcheck.enclosure.binomial import clopper_pearson

    low = clopper_pearson(point.trials, point.trials, point.trials).fractions()[0]
    return Enclosure.exact((1 - low) * Fraction(101, 100))


def _norms_below(point: LingPoint, factor: int, threshold: Enclosure) -> Enclosure:
    """How often ||W|| <= threshold; a float norm within 1e-9 of the threshold counts on both sides."""
    close = Enclosure.between(Fraction(10**9 - 1, 10**9), Fraction(10**9 + 1, 10**9))
    return _probability([Enclosure.exact(x) * close <= threshold for x in point.drawn_norms[factor * point.m]])


def _edge(point: LingPoint) -> Enclosure:
    """2 sqrt(2) sigma_w."""
    return (8 * Enclosure.exact(point.sigma2)).sqrt()


@quantity(
    "p_m", "P_m(‖W‖ ≤ 2√2σ_w)", r"P_m(\|W\|_2 \le 2\sqrt2\sigma_w)",
    f"probability of the event at width m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def norm_probability(point: LingPoint, _effort: int) -> Enclosure:
    """Lemma 1 at the width m."""
    return _norms_below(point, 1, _edge(point))


@quantity(
    "p_2m", "P_2m(‖W‖ ≤ 2√2σ_w)", r"P_{2m}(\|W\|_2 \le 2\sqrt2\sigma_w)",
    f"probability of the event at width 2m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def norm_probability_double(point: LingPoint, _effort: int) -> Enclosure:
    """Lemma 1 at the width 2 m."""
    return _norms_below(point, 2, _edge(point))


@quantity(
    "p_m_one", "P_m(‖W‖ < 1)", r"P_m(\|W\|_2 < 1)",
    f"probability that the layer is a contraction, at width m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def contraction_probability(point: LingPoint, _effort: int) -> Enclosure:
    """What well-posedness needs, at the width m."""
    return _norms_below(point, 1, Enclosure.exact(1))


@quantity(
    "p_2m_one", "P_2m(‖W‖ < 1)", r"P_{2m}(\|W\|_2 < 1)",
    f"probability that the layer is a contraction, at width 2m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def contraction_probability_double(point: LingPoint, _effort: int) -> Enclosure:
    """What well-posedness needs, at the width 2 m."""
    return _norms_below(point, 2, Enclosure.exact(1))


Event = Callable[["LingPoint", "Draw"], Truth]


def _frequency(point: LingPoint, factor: int, event: Event) -> Enclosure:
    return _probability([event(point, draw) for draw in point.draws[factor * point.m]])


def _kept(point: LingPoint, draw: Draw) -> Truth:
    """Theorem 2: lambda_0 >= (m/2) lambda_*."""
    return 2 * draw.lambda_0 >= draw.width * point.lambda_star


def _decays(point: LingPoint, draw: Draw) -> Truth:
    """Theorem 4 for every l up to the depth, with the constant of its proof."""
    edge = _edge(point)
    constant = DEPTH_CONSTANT / ((1 - edge) * (1 - edge))
    return every(gap <= constant * point.n * edge**layer for layer, gap in enumerate(draw.to_equilibrium, start=1))


def _concentrates(point: LingPoint, draw: Draw) -> Truth:
    """Theorem 5 at the depth l."""
    return draw.to_population[-1] <= point.n * _edge(point) ** point.depth


DEPTH_CONSTANT = 4
"""2 (1 + t) with t = 1: the constant of the proof of Theorem 4 before division by (1 - 2 sqrt(2) sigma_w)^2."""


@quantity(
    "p_m", "P_m(λ₀ ≥ mλ_*/2)", r"P_m(\lambda_0 \ge m\lambda_*/2)",
    f"probability of the event at width m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def gram_probability(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 2 at the width m."""
    return _frequency(point, 1, _kept)


@quantity(
    "p_2m", "P_2m(λ₀ ≥ mλ_*/2)", r"P_{2m}(\lambda_0 \ge m\lambda_*/2)",
    f"probability of the event at width 2m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def gram_probability_double(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 2 at the width 2 m."""
    return _frequency(point, 2, _kept)


@quantity(
    "least_ratio", "min λ₀/(mλ_*)", r"\min \lambda_0/(m\lambda_*)",
    "the smallest over all draws at both widths (for information)",
)  # fmt: skip
def least_ratio(point: LingPoint, _effort: int) -> Enclosure:
    """Certified for each draw."""
    ratios = [d.lambda_0 / (d.width * point.lambda_star) for d in _all(point)]
    return reduce(Enclosure.minimum, ratios)


@quantity(
    "p_m", "P_m(decay)", r"P_m(\text{decay})",
    f"probability at width m of ‖G−G^(l)‖_F/m ≤ C n (2√2σ_w)^l for all l up to the depth {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def decay_probability(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 4 at the width m."""
    return _frequency(point, 1, _decays)


@quantity(
    "p_2m", "P_2m(decay)", r"P_{2m}(\text{decay})",
    f"probability at width 2m of ‖G−G^(l)‖_F/m ≤ C n (2√2σ_w)^l for all l up to the depth {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def decay_probability_double(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 4 at the width 2 m."""
    return _frequency(point, 2, _decays)


@quantity(
    "worst_decay", "max ‖G−G^(l)‖_F/(m n (2√2σ_w)^l)",
    r"\max \frac{\|G - G^{(l)}\|_F}{m\, n\, (2\sqrt2\sigma_w)^l}",
    "the largest over all draws, widths and layers: the constant that was needed (for information)",
)  # fmt: skip
def worst_decay(point: LingPoint, _effort: int) -> Enclosure:
    """Certified for each draw."""
    return _worst(point, [d.to_equilibrium for d in _all(point)])


@quantity(
    "p_m", "P_m(‖G^(l)/m−K^(l)‖_F ≤ n(2√2σ_w)^l)",
    r"P_m(\|\tfrac1m G^{(l)} - K^{(l)}\|_F \le n (2\sqrt2\sigma_w)^l)",
    f"probability of the event at width m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def concentration_probability(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 5 at the width m."""
    return _frequency(point, 1, _concentrates)


@quantity(
    "p_2m", "P_2m(‖G^(l)/m−K^(l)‖_F ≤ n(2√2σ_w)^l)",
    r"P_{2m}(\|\tfrac1m G^{(l)} - K^{(l)}\|_F \le n (2\sqrt2\sigma_w)^l)",
    f"probability of the event at width 2m {_INTERVAL}",
    evidence=Evidence.STATISTICS,
)  # fmt: skip
def concentration_probability_double(point: LingPoint, _effort: int) -> Enclosure:
    """Theorem 5 at the width 2 m."""
    return _frequency(point, 2, _concentrates)


@quantity(
    "worst_gap", "max ‖G^(l)/m−K^(l)‖_F/(n (2√2σ_w)^l)",
    r"\max \frac{\|\tfrac1m G^{(l)} - K^{(l)}\|_F}{n\, (2\sqrt2\sigma_w)^l}",
    "the largest over all draws, widths and layers up to the depth (for information)",
)  # fmt: skip
def worst_gap(point: LingPoint, _effort: int) -> Enclosure:
    """Certified for each draw."""
    return _worst(point, [d.to_population for d in _all(point)])


def _all(point: LingPoint) -> list[Draw]:
    return [draw for draws in point.draws.values() for draw in draws]


def _worst(point: LingPoint, gaps: list[tuple[Enclosure, ...]]) -> Enclosure:
    edge = _edge(point)
    bounds = [point.n * edge**layer for layer in range(1, point.depth + 1)]
    ratios = [gap / b for row in gaps for gap, b in zip(row, bounds, strict=True)]
    return reduce(Enclosure.maximum, ratios)
