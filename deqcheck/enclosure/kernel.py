"""The dual activation of ReLU in ball arithmetic, and the population Gram matrices built from it.

A matrix here is symmetric with one number on its whole diagonal, as in Definition 1 of Ling et al.
(2023), and is stored as that number and the entries above the diagonal, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from deqcheck.enclosure.interval import Enclosure

# Beyond so many entries the fixed points are left at the sixteen digits of their float guess.
REFINED = 50_000


def dual(c: arb) -> arb:
    """Q(c) = (sqrt(1 - c^2) + (pi - arccos c) c) / pi for every c of the ball inside [-1, 1].

    Q has slope between 0 and 1, so one evaluation at the centre and the radius of the ball suffice;
    evaluating on the ball itself would lose everything near c = 1.
    """
    middle = _clamped(c.mid())
    pi = arb.pi()
    root = ((1 - middle) * (1 + middle)).sqrt()
    value = (root + (pi - middle.acos()) * middle) / pi
    return value + arb(0, c.rad())


def _clamped(x: arb) -> arb:
    return arb(1) if x > 1 else arb(-1) if x < -1 else x


def dual_at(c: Enclosure) -> Enclosure:
    """Q of an enclosure."""
    value = dual((c.lo + c.hi) / 2 + arb(0, ((c.hi - c.lo) / 2).upper()))
    return Enclosure(value.lower(), value.upper())


@dataclass(frozen=True)
class Symmetric:
    """A constant diagonal and the entries above it, as balls."""

    n: int
    diagonal: arb
    above: tuple[arb, ...]

    def distance(self, other: Symmetric) -> Enclosure:
        """The Frobenius norm of the difference."""
        square = self.n * (self.diagonal - other.diagonal) ** 2
        for x, y in zip(self.above, other.above, strict=True):
            square += 2 * (x - y) ** 2
        return Enclosure(arb.max(square.lower(), arb(0)), square.upper()).sqrt()

    def largest_difference(self, other: Symmetric) -> Enclosure:
        """The largest absolute difference of two entries."""
        gap = abs(self.diagonal - other.diagonal)
        for x, y in zip(self.above, other.above, strict=True):
            gap = arb.max(gap, abs(x - y))
        return Enclosure(arb.max(gap.lower(), arb(0)), gap.upper())

    def rows(self) -> tuple[list[list[float]], Enclosure]:
        """Nearest floats, and [0, r] with r a bound on the error of each of them."""
        full = [[0.0] * self.n for _ in range(self.n)]
        entries = iter(self.above)
        centre = float(self.diagonal.mid())
        worst = abs(self.diagonal - arb(centre)).upper()
        for i in range(self.n):
            full[i][i] = centre
            for j in range(i + 1, self.n):
                ball = next(entries)
                value = float(ball.mid())
                off = abs(ball - arb(value)).upper()
                worst = off if off > worst else worst
                full[i][j] = full[j][i] = value
        return full, Enclosure(arb(0), worst)

    def entries(self) -> Iterator[Enclosure]:
        """The diagonal, then everything above it."""
        for x in (self.diagonal, *self.above):
            yield Enclosure(x.lower(), x.upper())


@dataclass(frozen=True)
class Population:
    """Definition 1: sigma_w^2 and the balls x_i^T x_j / d above the diagonal."""

    n: int
    sigma2: float
    inputs: tuple[arb, ...]

    @classmethod
    def exact(cls, samples: Sequence[Sequence[float]], sigma2: float) -> Population:
        """The inner products of the samples in 192 bits, for data of moderate size."""
        X = arb_mat([[arb(x) for x in row] for row in samples])
        gram, n, d = X * X.transpose(), X.nrows(), X.ncols()
        return cls(n, sigma2, tuple(gram[i, j] / d for i in range(n) for j in range(i + 1, n)))

    @classmethod
    def near(cls, n: int, cosines: Sequence[float], radius: float, sigma2: float) -> Population:
        """Inner products known only to within `radius`, row by row above the diagonal."""
        return cls(n, sigma2, tuple(arb(t, radius) for t in cosines))

    def layers(self, depth: int) -> list[Symmetric]:
        """K^(0), ..., K^(depth) by the recursion (6), with E[relu relu] from (11)."""
        s, t = arb(self.sigma2), self.inputs
        K = Symmetric(self.n, arb(0), tuple(arb(0) for _ in t))
        out = [K]
        for _ in range(depth):
            rho = s * K.diagonal + 1
            above = tuple(rho * dual((s * k + x) / rho) for k, x in zip(K.above, t, strict=True))
            K = Symmetric(self.n, rho, above)
            out.append(K)
        return out

    def closed_forms(self, depth: int, printed: bool = False) -> list[Symmetric]:
        """(12) for l = 1, ..., depth: (13) with rho^(l) as in its proof, or rho^(l-1) as printed.

        As printed, (13) divides by rho^(0) = 0 at l = 1; there the definition of the cosine is used.
        """
        s, cosine = arb(self.sigma2), list(self.inputs)
        out = []
        for layer in range(1, depth + 1):
            if layer > 1:
                rho = _rho(s, layer - 1 if printed else layer)
                pairs = zip(cosine, self.inputs, strict=True)
                cosine = [(1 - 1 / rho) * dual(c) + x / rho for c, x in pairs]
            rho = _rho(s, layer)
            out.append(Symmetric(self.n, rho, tuple(rho * dual(c) for c in cosine)))
        return out

    def limit(self) -> Symmetric:
        """K of (14): the fixed point of each cosine, proved by the contraction sigma_w^2 < 1."""
        s = arb(self.sigma2)
        steps = 2 if len(self.inputs) <= REFINED else 0
        above = []
        for x in self.inputs:
            c = arb(self._guess(float(x.mid())))
            for _ in range(steps):
                slope = 1 - s * (1 - _clamped(c).acos() / arb.pi())
                c = (c - (c - s * dual(c) - (1 - s) * x.mid()) / slope).mid()
            off = (abs(s * dual(c) + (1 - s) * x - c) / (1 - s)).upper()
            above.append(dual(c + arb(0, off)) / (1 - s))
        return Symmetric(self.n, 1 / (1 - s), tuple(above))

    def _guess(self, t: float) -> float:
        """The fixed point in floats; a poor one costs width and never truth."""
        t, c = max(-1.0, min(1.0, t)), max(-1.0, min(1.0, t))
        for _ in range(60):
            q = (math.sqrt(1 - c * c) + (math.pi - math.acos(c)) * c) / math.pi
            after = max(-1.0, min(1.0, self.sigma2 * q + (1 - self.sigma2) * t))
            if abs(after - c) < 1e-17:
                break
            c = after
        return c


def _rho(s: arb, layer: int) -> arb:
    """rho^(l) = (1 - sigma_w^(2l)) / (1 - sigma_w^2)."""
    return (1 - s**layer) / (1 - s)
