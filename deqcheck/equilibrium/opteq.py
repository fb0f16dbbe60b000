"""Deep OptEq with its rounding: matrices known to a Frobenius radius, and the proof that encloses z*."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.engine import Equilibrium
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.models.opteq import Activation, Layer, OptEq
from deqcheck.truth import HOLDS

ITERATIONS = 5000
TOLERANCE = 2e-15
ZERO = Enclosure.exact(0)


# --- matrices with an error ------------------------------------------------------------------------


@dataclass(frozen=True)
class Weights:
    """Exactly known weights with what a product with them needs."""

    value: Tensor
    norm: Enclosure
    """Contains the operator norm; its upper end is used."""

    @cached_property
    def spread(self) -> Enclosure:
        """[0, bound] on the operator norm of |W|."""
        return rigor.mixed_bound(self.value).minimum(rigor.frobenius(self.value))

    @cached_property
    def T(self) -> Weights:
        """Transpose."""
        return Weights(self.value.T, self.norm)

    def slip(self, size: Enclosure, rows: int) -> Enclosure:
        """[0, bound] on the rounding error of x @ W for any x of these rows and this Frobenius norm."""
        k, columns = self.value.shape
        magnitude = size * self.spread
        if (magnitude < 2**1023) is not HOLDS:
            return Enclosure.from_zero(float("inf"))
        lost = k * rigor.TINY * (2 + size + self.spread) * (rows * columns)
        return Enclosure.from_zero(magnitude * rigor.relative_error(k + 3) + lost)


def weights(value: Tensor) -> Weights:
    """Weights with their certified operator norm."""
    return Weights(value, operator_norm(value))


@dataclass(frozen=True)
class Near:
    """A matrix of which we know that the true one lies within `error` of `value` in Frobenius norm."""

    value: Tensor
    error: Enclosure = ZERO

    @cached_property
    def size(self) -> Enclosure:
        """The Frobenius norm of the computed matrix."""
        return rigor.frobenius(self.value)

    @property
    def norm(self) -> Enclosure:
        """The Frobenius norm of the true matrix."""
        return self.size.widen(self.error).maximum(0)

    def __add__(self, other: Near) -> Near:
        total = Near(self.value + other.value)
        return Near(total.value, self.error + other.error + total.rounded(1))

    def __sub__(self, other: Near) -> Near:
        return self + Near(-other.value, other.error)

    def rounded(self, roundings: int) -> Enclosure:
        """[0, bound] on so many relative roundings of every entry."""
        return _rounding(self.size, self.value.numel(), roundings)

    def times(self, factor: float, roundings: int = 1) -> Near:
        """Multiplied by a real that `factor` gives up to `roundings - 1` relative roundings."""
        scaled = Near(factor * self.value)
        return Near(scaled.value, _stretched(self.error, factor, roundings) + scaled.rounded(roundings))

    def __matmul__(self, other: Near) -> Near:
        slip = rigor.product_error(self.value, other.value)
        error = self.error * other.size + self.norm * other.error + slip
        return Near(self.value @ other.value, Enclosure.from_zero(error))

    def through(self, W: Weights) -> Near:
        """The product with exactly known weights."""
        error = self.error * W.norm + W.slip(self.size, self.value.shape[0])
        return Near(self.value @ W.value, Enclosure.from_zero(error))

    def activated(self, s: Activation) -> Near:
        """s of every entry, with the rounding of s and its Lipschitz constant."""
        error = s.lipschitz * self.error
        if s.roundings:
            error = error + Near(s.size(self.value)).rounded(s.roundings + 2)
        return Near(s.value(self.value), Enclosure.from_zero(error))

    @property
    def T(self) -> Near:
        """Transpose."""
        return Near(self.value.T, self.error)


@dataclass(frozen=True)
class Plain:
    """The floats alone: the same operations in the same order, for long iterations."""

    value: Tensor

    def __add__(self, other: Plain | Near) -> Plain:
        return Plain(self.value + other.value)

    def __sub__(self, other: Plain | Near) -> Plain:
        return Plain(self.value - other.value)

    def times(self, factor: float, _roundings: int = 1) -> Plain:
        """Multiplied."""
        return Plain(factor * self.value)

    def through(self, W: Weights) -> Plain:
        """The product."""
        return Plain(self.value @ W.value)

    def activated(self, s: Activation) -> Plain:
        """s of every entry."""
        return Plain(s.value(self.value))


@dataclass(frozen=True)
class Size:
    """The errors alone: what Near would bound, for every matrix of this shape and at most this norm."""

    shape: tuple[int, int]
    size: Enclosure
    error: Enclosure = ZERO

    def __add__(self, other: Size | Near) -> Size:
        size = Enclosure.from_zero((self.size + other.size) * (1 + rigor.relative_error(1)))
        rounding = _rounding(size, self.shape[0] * self.shape[1], 1)
        return Size(self.shape, size, self.error + other.error + rounding)

    __sub__ = __add__

    def times(self, factor: float, roundings: int = 1) -> Size:
        """Multiplied."""
        size = Enclosure.from_zero(abs(Enclosure.exact(factor)) * self.size * (1 + rigor.relative_error(1)))
        rounding = _rounding(size, self.shape[0] * self.shape[1], roundings)
        return Size(self.shape, size, _stretched(self.error, factor, roundings) + rounding)

    def through(self, W: Weights) -> Size:
        """The product."""
        slip = W.slip(self.size, self.shape[0])
        shape = (self.shape[0], W.value.shape[1])
        return Size(shape, Enclosure.from_zero(self.size * W.norm + slip), self.error * W.norm + slip)

    def activated(self, s: Activation) -> Size:
        """s of every entry; |s(a)| <= L |a|, and no intermediate result passes 2 |a| + 4."""
        count = self.shape[0] * self.shape[1]
        error = s.lipschitz * self.error
        if s.roundings:
            middle = 2 * self.size + 4 * Enclosure.exact(count).sqrt()
            error = error + _rounding(middle, count, s.roundings + 3)
        size = s.lipschitz * self.size + _rounding(2 * self.size + count, count, s.roundings + 3)
        return Size(self.shape, Enclosure.from_zero(size), Enclosure.from_zero(error))


Matrix = TypeVar("Matrix", Near, Plain, Size)


def _rounding(size: Enclosure, count: int, roundings: int) -> Enclosure:
    return size * rigor.relative_error(roundings) + 4 * count * rigor.TINY


def _stretched(error: Enclosure, factor: float, roundings: int) -> Enclosure:
    return abs(Enclosure.exact(factor)) * (1 + rigor.relative_error(roundings + 1)) * error


def sloped(s: Activation, P: Near, G: Near) -> Near:
    """s'(P) o G for a smooth s."""
    if s.smooth is None:
        raise ValueError(f"{s.name} has no Lipschitz slope")
    product = s.slope(P.value) * G.value
    largest = float(G.value.abs().max()) if G.value.numel() else 0.0
    error = s.lipschitz * G.error + s.smooth * P.error * (largest + G.error) + G.rounded(s.roundings + 2) * 4
    return Near(product, Enclosure.from_zero(error))


# --- operator norms --------------------------------------------------------------------------------


def operator_norm(W: Tensor) -> Enclosure:
    """||W||; exactly, when the rows are exactly orthogonal short binary fractions.

    A float bound can never certify ||W|| <= 1 for an isometry; integers can.
    """
    squares = _row_squares(W)
    return rigor.spectral_norm(W) if squares is None else Enclosure.exact(max(squares)).sqrt()


def is_isometry(W: Tensor) -> bool:
    """Whether W W^T = I, seen in integers."""
    squares = _row_squares(W)
    return squares is not None and all(square == 1 for square in squares)


def _row_squares(W: Tensor) -> list[Fraction] | None:
    """The squared norms of the rows if they are orthogonal in exact arithmetic; None if that is not seen."""
    scaled = W.cpu().numpy() * 2.0**20
    if not np.all(np.isfinite(scaled)) or np.any(scaled != np.rint(scaled)):
        return None
    if np.abs(scaled).max(initial=0.0) > 2**20 or W.shape[1] > 2**22:
        return None
    whole = scaled.astype(np.int64)
    gram = whole @ whole.T
    diagonal = np.diagonal(gram)
    if np.any(gram - np.diag(diagonal)):
        return None
    return [Fraction(int(square), 2**40) for square in diagonal]


# --- layers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Net:
    """A model on inputs, with certified norms and the input part of every pre-activation."""

    model: OptEq
    weights: tuple[Weights, ...]
    inputs: tuple[Near, ...]

    @classmethod
    def of(cls, model: OptEq, X: Near) -> Net:
        """Measure the norms once."""
        each = tuple(weights(layer.W) for layer in model.layers)
        return cls(model, each, tuple(_input(layer, X) for layer in model.layers))

    def at(self, alpha: float) -> Net:
        """Another alpha, the same norms."""
        return Net(self.model.at(alpha), self.weights, self.inputs)

    @property
    def norms(self) -> tuple[Enclosure, ...]:
        """||W_l||."""
        return tuple(W.norm for W in self.weights)

    @cached_property
    def lipschitz(self) -> Enclosure:
        """prod_l (1 - alpha + alpha L_s ||W_l||^2 / mu): a Lipschitz constant of T.

        The Jacobian alpha W^T D W / mu + (1 - alpha) I is symmetric with |D| <= L_s.
        """
        alpha, out = Enclosure.exact(self.model.alpha), Enclosure.exact(1)
        for W in self.weights:
            inner = self.model.activation.lipschitz * W.norm**2 / Enclosure.exact(self.model.mu)
            out = out * ((1 - alpha) + alpha * inner)
        return out

    def preactivation(self, number: int, Z: Matrix) -> Matrix:
        """W z + U x + b."""
        return Z.through(self.weights[number].T) + self.inputs[number]

    def proximal(self, number: int, Z: Matrix) -> Matrix:
        """W^T s(W z + U x + b) / mu: the layer at alpha = 1."""
        hidden = self.preactivation(number, Z).activated(self.model.activation)
        inner = hidden.through(self.weights[number])
        return inner if self.model.mu == 1 else inner.times(1 / self.model.mu, 2)

    def layer(self, number: int, Z: Matrix) -> Matrix:
        """f_l(z)."""
        inner = self.proximal(number, Z)
        alpha = self.model.alpha
        return inner if alpha == 1 else inner.times(alpha) + Z.times(1 - alpha, 2)

    def composed(self, Z: Matrix) -> Matrix:
        """T(z) = f_L o ... o f_1(z)."""
        for number in range(len(self.weights)):
            Z = self.layer(number, Z)
        return Z

    def blocks(self, Z: Near) -> tuple[Near, ...]:
        """z_1 = f_1(z), ..., z_L = f_L(z_{L-1})."""
        out = []
        for number in range(len(self.weights)):
            Z = self.layer(number, Z)
            out.append(Z)
        return tuple(out)


def _input(layer: Layer, X: Near) -> Near:
    fed = X.through(Weights(layer.U.T, rigor.frobenius(layer.U)))
    return fed + Near(layer.b.expand_as(fed.value))


# --- the equilibrium -------------------------------------------------------------------------------


def solve(net: Net, X: Tensor) -> tuple[Tensor, tuple[float, ...], str]:
    """Relaxed fixed point iteration z + (T(z) - z) / min(1, L alpha), the map (15) of the paper.

    For small alpha, T is nearly the identity and plain iteration would crawl. Where the relaxed
    iteration does not contract, the plain one takes over.
    """
    model = net.model
    Z = torch.zeros(X.shape[0], model.width, dtype=X.dtype, device=X.device)
    strength = max(1.0, 1 / (len(model.layers) * model.alpha))
    residuals: list[float] = []
    best = float("inf")
    stalled = 0
    for _ in range(ITERATIONS):
        step = model.composed(Z, X) - Z
        size = float(step.norm()) * strength / max(1.0, float(Z.norm()))
        residuals.append(size)
        if not size < 1e6:
            if strength == 1:
                break
            Z, strength, best = torch.zeros_like(Z), 1.0, float("inf")
            continue
        Z = Z + strength * step
        stalled = 0 if size < 0.99 * best else stalled + 1
        best = min(best, size)
        if size <= TOLERANCE * strength or (size < 1e-11 and stalled > 20):
            return Z, tuple(residuals), "relaxed Picard" if strength > 1 else "Picard"
    raise NotConverged("Picard", tuple(residuals))


def enclose(net: Net, X: Tensor) -> Equilibrium:
    """Solve, then bound the distance to the fixed point by (||T(z) - z|| + rounding) / (1 - q)."""
    q = net.lipschitz
    if (q < 1) is not HOLDS:
        Z = torch.zeros(X.shape[0], net.model.width, dtype=X.dtype, device=X.device)
        nowhere = Enclosure.between(0, float("inf"))
        return Equilibrium(Z, nowhere, q, "none: T is not a certified contraction", ())
    Z, residuals, method = solve(net, X)
    gap = (net.composed(Near(Z)) - Near(Z)).norm
    return Equilibrium(Z, Enclosure.from_zero(gap / (1 - q)), q, method, residuals)


# --- scalars ---------------------------------------------------------------------------------------


def inner(A: Near, B: Near) -> Enclosure:
    """<A, B>, with the rounding of the sum and the errors of both."""
    products = A.value * B.value
    total = Enclosure.exact(float(products.sum()))
    size = Enclosure.exact(float(products.abs().sum())) * (1 + rigor.relative_error(2))
    slip = size * rigor.relative_error(products.numel() + 3) * 2 + products.numel() * rigor.TINY
    return total.widen(slip + A.error * B.norm + rigor.frobenius(A.value) * B.error)


def primitive(s: Activation, P: Near) -> Enclosure:
    """1^T s~(P): the sum of the primitives of the activation over all entries."""
    algebraic, size = s.algebraic(P.value), s.algebraic_size(P.value)
    count = P.value.numel()
    scale = Enclosure.exact(float(size.sum())) * (1 + rigor.relative_error(count + 8))
    slip = scale * rigor.relative_error(count + 16) + 4 * count * rigor.TINY
    total = Enclosure.exact(float(algebraic.sum())).widen(slip)
    if s.logarithm is not None:
        for a in P.value.flatten().tolist():
            total = total + s.logarithm(a)
    # s~ has derivative s: the error of P enters through |s(P)| and half the slope.
    moved = P.error * P.activated(s).norm + s.lipschitz * P.error**2
    return total.widen(moved)
