"""Matrices known up to a Frobenius distance: float64 products whose errors are carried along.

A chain of ten products needs its error bound at every link. Here the bound travels with the matrix, so
that a formula is written once and its certificate comes with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure


@dataclass(frozen=True)
class Near:
    """Every real matrix within `radius` (an interval [0, r]) of `value` in Frobenius norm."""

    value: Tensor
    radius: Enclosure

    @classmethod
    def exact(cls, value: Tensor) -> Near:
        """The real matrix that these floats denote."""
        return cls(value, Enclosure.exact(0))

    @property
    def T(self) -> Near:
        """Transpose; what is known of the norms is known of both."""
        other = Near(self.value.T, self.radius)
        for name in ("size", "mixed", "largest"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    # Norms of `value`, each computed once: for wide matrices they cost as much as the products.

    @cached_property
    def size(self) -> Enclosure:
        """The Frobenius norm of `value`."""
        return rigor.frobenius(self.value)

    @cached_property
    def mixed(self) -> Enclosure:
        """A bound of the spectral norm of `value` and of its absolute values."""
        return rigor.mixed_bound(self.value)

    @cached_property
    def largest(self) -> Enclosure:
        """The largest magnitude in `value`."""
        return Enclosure.exact(float(self.value.abs().max()))

    def bound(self) -> Enclosure:
        """An upper bound of the spectral norm of `value`, from entries alone."""
        return self.size.minimum(self.mixed)

    def __matmul__(self, other: Near) -> Near:
        k = self.value.shape[1]
        # As rigor.product_error, with the norms that are already known.
        magnitude = self.size * other.size
        magnitude = magnitude.minimum(self.size * other.mixed).minimum(self.mixed * other.size)
        value = torch.matmul(self.value, other.value)
        entries = Enclosure.exact(value.numel()).sqrt()
        underflow = k * rigor.TINY * (2 + self.largest + other.largest)
        radius = (
            magnitude * rigor.relative_error(k + 3)
            + underflow * entries
            + self.radius * other.bound()
            + self.bound() * other.radius
            + self.radius * other.radius
        )
        return Near(value, Enclosure.from_zero(radius))

    def __add__(self, other: Near) -> Near:
        return _rounded(self.value + other.value, self.radius + other.radius)

    def __sub__(self, other: Near) -> Near:
        return _rounded(self.value - other.value, self.radius + other.radius)

    def __mul__(self, other: Near) -> Near:
        """Entry by entry; a row or a column is spread over the other factor."""
        value = self.value * other.value
        # Spread over k copies, an error grows by sqrt(k).
        rx = self.radius * _root(value.numel(), self.value.numel())
        ry = other.radius * _root(value.numel(), other.value.numel())
        return _rounded(value, rx * other.largest + ry * self.largest + rx * ry)

    def times(self, scalar: float) -> Near:
        """Every entry multiplied by an exact float."""
        return _rounded(self.value * scalar, self.radius * abs(Enclosure.exact(scalar)))

    def norm(self) -> Enclosure:
        """The Frobenius norm."""
        return self.size.widen(self.radius).maximum(0)

    def spectral_norm(self) -> Enclosure:
        """The operator norm."""
        return rigor.spectral_norm(self.value).widen(self.radius).maximum(0)

    def norm_1(self) -> Enclosure:
        """The operator norm for the vector 1-norm: the largest absolute column sum."""
        rows = self.value.shape[0]
        largest = Enclosure.exact(float(self.value.abs().sum(dim=0).max()))
        error = rigor.relative_error(rows + 3)
        spread = self.radius * Enclosure.exact(rows).sqrt() + rows * rigor.TINY
        return Enclosure.between(largest * (1 - error), largest * (1 + error)).widen(spread).maximum(0)

    def column_squares(self) -> tuple[Tensor, Enclosure]:
        """The squared norm of every column, and [0, e] for the error of each of them."""
        squares = (self.value**2).sum(dim=0)
        top = Enclosure.exact(float(squares.max()))
        tiny = self.value.numel() * rigor.TINY
        slip = top * rigor.relative_error(self.value.shape[0] + 4) + tiny
        longest = (top * 2 + tiny).sqrt()
        return squares, Enclosure.from_zero(slip + self.radius * (2 * longest + self.radius))


def _root(copies: int, size: int) -> Enclosure:
    return Enclosure.exact(math.ceil(copies / max(size, 1))).sqrt()


def _rounded(value: Tensor, radius: Enclosure) -> Near:
    """The rounded result of one operation per entry on operands whose errors add up to `radius`."""
    size = rigor.frobenius(value)
    slip = rigor.relative_error(1) * size + value.numel() * rigor.TINY
    near = Near(value, Enclosure.from_zero(radius + slip))
    near.__dict__["size"] = size
    return near
