"""Deep OptEq of Xie et al. (2021): z = f_L o ... o f_1(z), f_l(z) = a W_l^T s(W_l z + U_l x + b_l) / mu + (1 - a) z.

Rows are samples, so a layer reads a s(Z W^T + X U^T + b) W / mu + (1 - a) Z. The activations are
algebraic: IEEE arithmetic rounds every operation in them correctly, so their rounding can be bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from deqcheck.enclosure import Enclosure


@dataclass(frozen=True)
class Activation:
    """A scalar map with what is known of it: the range of its slope and of its second derivative."""

    name: str
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    integral: Callable[[Tensor], Tensor]
    """The primitive that vanishes at 0."""
    resolvent: Callable[[Tensor, float, float], Tensor] | None
    """x with b x + a s(x) = v, for a convex solver; None where s is not monotone."""
    least: Fraction
    """The infimum of the difference quotients."""
    largest: Fraction
    """The supremum of the difference quotients."""
    smooth: Fraction | None
    """A Lipschitz constant of the slope; None where the slope jumps."""
    bound: Fraction | None = None
    """A bound on |s|; None where s is unbounded."""
    roundings: int = 0
    """Relative roundings of `value` and `slope`, measured against `size`."""
    size: Callable[[Tensor], Tensor] = torch.abs
    """A bound, entry by entry, on every intermediate result of `value`."""
    algebraic: Callable[[Tensor], Tensor] = torch.zeros_like
    """The part of the primitive without logarithms."""
    algebraic_size: Callable[[Tensor], Tensor] = torch.zeros_like
    """A bound, entry by entry, on every intermediate result of `algebraic`."""
    logarithm: Callable[[float], Enclosure] | None = None
    """The rest of the primitive, enclosed: float logarithms come without an error bound."""

    @property
    def lipschitz(self) -> Fraction:
        """The Lipschitz constant of s."""
        return max(abs(self.least), abs(self.largest))


def _two_slopes(name: str, low: Fraction) -> Activation:
    """max(a, low a)."""
    k = float(low)

    def integral(a: Tensor) -> Tensor:
        return torch.where(a > 0, a * a, k * a * a) / 2

    return Activation(
        name,
        lambda a: torch.where(a > 0, a, k * a),
        lambda a: torch.where(a > 0, torch.ones_like(a), torch.full_like(a, k)),
        integral,
        lambda v, a, b: torch.where(v > 0, v / (a + b), v / (k * a + b)),
        low, Fraction(1), None, roundings=1 if low else 0,
        algebraic=integral, algebraic_size=lambda a: a * a,
    )  # fmt: skip


def _smooth(name: str, low: Fraction, high: Fraction) -> Activation:
    """A a + B (sqrt(a^2 + 4) - 2): slopes in (low, high), second derivative at most (high - low)/4."""
    A, B = float(high + low) / 2, float(high - low) / 2

    def resolvent(v: Tensor, a: float, b: float) -> Tensor:
        e, f = b + a * A, a * B
        w = v + 2 * f
        return (e * w - f * torch.sqrt(w * w + 4 * (e * e - f * f))) / (e * e - f * f)

    def algebraic(a: Tensor) -> Tensor:
        return A * a * a / 2 + B * (a * torch.sqrt(a * a + 4) / 2 - 2 * a)

    def logarithm(a: float) -> Enclosure:
        """2 B asinh(a / 2), odd in a."""
        half = Enclosure.exact(abs(a)) / 2
        whole = 2 * (half + (half**2 + 1).sqrt()).log() * Enclosure.exact(B)
        return whole if a >= 0 else -whole

    return Activation(
        name,
        lambda a: A * a + B * (torch.sqrt(a * a + 4) - 2),
        lambda a: A + B * a / torch.sqrt(a * a + 4),
        lambda a: algebraic(a) + 2 * B * torch.asinh(a / 2),
        resolvent, low, high, (high - low) / 4, roundings=8,
        size=lambda a: A * a.abs() + B * (torch.sqrt(a * a + 4) + 2),
        algebraic=algebraic, logarithm=logarithm,
        algebraic_size=lambda a: a * a + a.abs() * torch.sqrt(a * a + 4) + 2 * a.abs(),
    )  # fmt: skip


def _clip_integral(a: Tensor) -> Tensor:
    return torch.where(a.abs() <= 1, a * a / 2, a.abs() - 0.5)


_CLIP = Activation(
    "clip",
    lambda a: a.clamp(-1, 1),
    lambda a: (a.abs() < 1).to(a.dtype),
    _clip_integral,
    lambda v, a, b: torch.where(
        v.abs() <= a + b, v / (a + b), torch.where(v > 0, v - a, v + a) / b
    ),
    Fraction(0), Fraction(1), None, bound=Fraction(1),
    algebraic=_clip_integral, algebraic_size=lambda a: a.abs() + a * a + 1,
)  # fmt: skip
_BUMP = Activation(
    "bump",
    lambda a: a / (1 + a * a),
    lambda a: (1 - a * a) / (1 + a * a) ** 2,
    lambda a: torch.log1p(a * a) / 2,
    None, Fraction(-1, 8), Fraction(1), Fraction(3, 2), bound=Fraction(1, 2), roundings=8,
    logarithm=lambda a: (1 + Enclosure.exact(a) ** 2).log() / 2,
)  # fmt: skip

ACTIVATIONS: Mapping[str, Activation] = {
    a.name: a
    for a in (
        _two_slopes("relu", Fraction(0)),
        _two_slopes("leaky", Fraction(1, 8)),
        _smooth("smooth", Fraction(1, 2), Fraction(15, 16)),
        _smooth("squareplus", Fraction(0), Fraction(1)),
        _CLIP,
        _BUMP,
    )
}
"""relu and leaky; smooth: strongly monotone, smooth, slope below 1; squareplus: smooth,
slopes from 0 to 1; clip: a bounded fixed point set is
possible; bump: a/(1 + a^2), which is not monotone and so breaks Assumption 1."""


@dataclass(frozen=True)
class Layer:
    """W in R^{n x m}, U in R^{n x d}, b in R^n."""

    W: Tensor
    U: Tensor
    b: Tensor


@dataclass(frozen=True)
class OptEq:
    """The layers, the skip weight alpha, the divisor mu of Theorem 1, and the activation."""

    layers: tuple[Layer, ...]
    alpha: float
    activation: Activation
    mu: float = 1.0

    @property
    def width(self) -> int:
        """m, the size of z."""
        return int(self.layers[0].W.shape[1])

    def preactivation(self, layer: Layer, Z: Tensor, X: Tensor) -> Tensor:
        """W z + U x + b."""
        return Z @ layer.W.T + (X @ layer.U.T + layer.b)

    def apply(self, layer: Layer, Z: Tensor, X: Tensor) -> Tensor:
        """One layer, eq. (5)."""
        inner = self.activation.value(self.preactivation(layer, Z, X)) @ layer.W
        return self.alpha * (inner / self.mu) + (1 - self.alpha) * Z

    def potential(self, layer: Layer, Z: Tensor, X: Tensor) -> Tensor:
        """psi(z) of Theorem 1, summed over the samples; its gradient is the layer at alpha = 1."""
        return self.activation.integral(self.preactivation(layer, Z, X)).sum() / self.mu

    def composed(self, Z: Tensor, X: Tensor) -> Tensor:
        """T(z), eq. (4)."""
        for layer in self.layers:
            Z = self.apply(layer, Z, X)
        return Z

    def at(self, alpha: float) -> OptEq:
        """The same weights with another alpha."""
        return replace(self, alpha=alpha)


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def _gaussian(d: int, m: int, n: int, norm: float, L: int, rng: Generator) -> list[Arrays]:
    """W Gaussian, scaled to operator norm `norm`; U_ij ~ N(0, 1/d), b_i ~ N(0, 1/n)."""
    out = []
    for _ in range(L):
        W = rng.standard_normal((n, m))
        W *= norm * (1 - 2.0**-40) / np.linalg.norm(W, 2)
        U = rng.standard_normal((n, d)) / math.sqrt(d)
        out.append((W, U, rng.standard_normal(n) / math.sqrt(n)))
    return out


def _orthogonal(d: int, m: int, n: int, norm: float, L: int, rng: Generator) -> list[Arrays]:
    """As gaussian, but every singular value of W is `norm`."""
    out = []
    for W, U, b in _gaussian(d, m, n, norm, L, rng):
        left, _, right = np.linalg.svd(W, full_matrices=False)
        out.append((norm * (1 - 2.0**-40) * (left @ right), U, b))
    return out


def _isometry(d: int, m: int, n: int, norm: float, L: int, rng: Generator) -> list[Arrays]:
    """Exactly orthonormal rows, shared by the layers; a quarter of the units see no input.

    Their pre-activation is then exactly their own value, so a whole box of values is fixed and Fix(T)
    is not a single point. `norm` is not used: the norm is 1.
    """
    rows = np.eye(m)
    block = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    for start in range(0, m - 3, 4):
        rows[start : start + 4, start : start + 4] = block
    W = rows[rng.permutation(m)][:, rng.permutation(m)] * rng.choice([-1.0, 1.0], m)
    W = np.ascontiguousarray(W[:n])
    driven = np.arange(n) >= (n + 3) // 4
    U = rng.standard_normal((n, d)) / math.sqrt(d) * driven[:, None]
    b = rng.standard_normal(n) / math.sqrt(n) * driven
    return [(W, U * 2.0**-k, b * 2.0**-k) for k in range(L)]


Initialise = Callable[[int, int, int, float, int, Generator], list[Arrays]]
INITIALISATIONS: Mapping[str, Initialise] = {
    "gaussian": _gaussian,
    "orthogonal": _orthogonal,
    "isometry": _isometry,
}
DEFAULT_INITIALISATION = "gaussian"
