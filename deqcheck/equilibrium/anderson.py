"""Anderson acceleration: Picard with memory, for contractions close to 1.

Each sample has its own mixture. A stiff direction, such as the Perron vector of a non-negative M, has a different
share in every sample, so that one mixture for all would have to learn them one after the other.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from deqcheck.equilibrium import picard
from deqcheck.equilibrium.equation import Equation, of
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit

MEMORY = 6
GROWTH = 4.0
"""A sample whose residual grows by this factor over its best forgets its past and takes a plain step."""
QUICK = 0.45
"""While the plain iteration gains more than this per step it is left alone: nothing is won by mixing."""
PATIENCE = 200
"""Iterations without a new best residual after which there is no hope."""


class Memory:
    """The last images and gaps of every sample, and the Gram matrix of the gaps, kept up to date column by column."""

    def __init__(self, like: Tensor, length: int, ridge: float) -> None:
        n, m = like.shape
        self.length, self.count, self.ridge = length, 0, ridge
        self.images = torch.empty(n, length, m, dtype=like.dtype, device=like.device)
        self.gaps = torch.empty_like(self.images)
        self.gram = torch.zeros(n, length, length, dtype=torch.float64, device=like.device)
        self.valid = torch.zeros(n, length, dtype=torch.bool, device=like.device)

    @property
    def slot(self) -> int:
        """Where the next image and gap belong."""
        return self.count % self.length

    @property
    def image(self) -> Tensor:
        """The place for the next image."""
        return self.images[:, self.slot]

    @property
    def gap(self) -> Tensor:
        """The place for the next gap."""
        return self.gaps[:, self.slot]

    def forget(self, which: Tensor) -> None:
        """Drop the past of these samples."""
        self.valid &= ~which[:, None]

    def mix(self, out: Tensor) -> Tensor:
        """Take in the image and gap just written, and write the mixture of images with the smallest mixed gap."""
        k, used = self.slot, min(self.count + 1, self.length)
        newest = self.gaps[:, k]
        for j in range(used):
            dots = torch.mul(self.gaps[:, j], newest, out=out).sum(dim=1)
            self.gram[:, k, j] = dots
            self.gram[:, j, k] = dots
        self.valid[:, k] = True
        self.count += 1
        weights = self._weights(used).to(out.dtype)
        torch.bmm(weights[:, None], self.images[:, :used], out=out[:, None])
        return out

    def _weights(self, used: int) -> Tensor:
        """Least squares with sum 1, on gaps scaled to length 1: they span decades, but differ by direction."""
        gram, valid = self.gram[:, :used, :used], self.valid[:, :used]
        lengths = gram.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
        still = lengths == 0
        lengths = torch.where(still | ~valid, torch.ones_like(lengths), lengths)
        both = (valid[:, :, None] & valid[:, None]).to(gram.dtype)
        scaled = gram / (lengths[:, :, None] * lengths[:, None]) * both
        scaled.diagonal(dim1=1, dim2=2).clamp_(min=0).add_(torch.where(valid, self.ridge, 1.0))
        right = torch.where(valid, 1 / lengths, torch.zeros_like(lengths))
        right = right / right.amax(dim=1, keepdim=True).clamp(min=1e-300)
        weights = torch.linalg.solve_ex(scaled, right)[0] / lengths
        weights = torch.where(valid, weights, torch.zeros_like(weights))
        weights = weights / weights.sum(dim=1, keepdim=True)
        newest = torch.zeros_like(weights)
        newest[:, (self.count - 1) % self.length] = 1
        good = torch.isfinite(weights).all(dim=1) & (weights.abs().amax(dim=1) < 1e8)
        stands = still[:, (self.count - 1) % self.length]
        return torch.where((good & ~stands)[:, None], weights, newest)


def ridge_of(dtype: torch.dtype) -> float:
    """The Gram matrix is only as good as its dot products; the ridge covers that."""
    return 1e-14 if dtype == torch.float64 else 1e-7


def solve(
    equation: Equation | ReluImplicit,
    start: Tensor | None = None,
    tolerance: float = 1e-14,
    limit: int = 1000,
    memory: int = MEMORY,
    ridge: float | None = None,
    quick: float = QUICK,
) -> Solution:
    """Mix the last `memory` images of each sample by regularised least squares; room for them and no more.

    It begins with plain steps and leaves them alone while they gain a factor `quick` each.
    """
    equation, start = of(equation, start)
    first = picard.run(equation, equation.start(start), tolerance, limit, quick)
    if first.done:
        return Solution(first.Z, "Picard", tuple(first.residuals), first.each, (first.count, 0))
    Z, residuals = first.Z, first.residuals
    past = Memory(Z, memory, ridge_of(Z.dtype) if ridge is None else ridge)
    best = torch.full((Z.shape[0],), math.inf, dtype=Z.dtype, device=Z.device)
    lowest, since, confirming = math.inf, 0, False
    for count in range(first.count + 1, limit + 1):
        if residuals[-1] == math.inf or since > PATIENCE:
            break
        image = equation.layer(Z, out=past.image)
        gap = torch.sub(image, Z, out=past.gap)
        each = equation.relative(gap, image)
        residuals.append(float(each.max()) if each.numel() else 0.0)
        if equation.converged(residuals, image, each, tolerance):
            if equation.contracts or confirming:
                return Solution(equation.better(Z, image).clone(), "Anderson", tuple(residuals), each, (count, 0))
            # A mixture is not exactly 0 where a unit is off, and its image may have a larger residual: measure that.
            confirming = True
            Z.copy_(image)
            continue
        confirming = False
        lowest, since = (residuals[-1], 0) if residuals[-1] < lowest else (lowest, since + 1)
        past.forget(each > GROWTH * best)
        best = torch.minimum(best, each)
        past.mix(Z)
    raise NotConverged("Anderson acceleration", tuple(residuals), Z)
