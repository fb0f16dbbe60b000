"""Fixed points from a warm start: what one training step needs of the forward and of the adjoint equation.

Along a trajectory the last equilibrium is a good guess, and its residual is small but not structured. Anderson
mixing then needs a handful of layers where plain iteration needs dozens. Nothing is proved here; certified steps
enclose the equilibrium afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from deqcheck.equilibrium.solution import NotConverged

TOLERANCE = 1e-11
"""Relative residual of a solve along the trajectory."""
MEMORY = 5
RIDGE = 1e-14
PATIENCE, HOPELESS = 150, 1e-2
"""After so many iterations a relative residual that was never below this means that there is no contraction."""


def fixed_point(
    f: Callable[[Tensor], Tensor], start: Tensor, what: str, tolerance: float = TOLERANCE, limit: int = 1000
) -> Tensor:
    """z with ||f(z) - z|| <= tolerance ||f(z)||, or at the rounding floor just above it."""
    z, best = start, math.inf
    kept: list[tuple[Tensor, Tensor]] = []
    gram: list[list[float]] = []
    residuals: list[float] = []
    for _ in range(limit):
        image = f(z)
        gap = image - z
        square, size = _dot(gap, gap), float(image.norm())
        residuals.append(math.sqrt(square) / size if size > 0 else math.sqrt(square))
        floor = residuals[-1] < 20 * tolerance and len(residuals) > 12 and residuals[-1] >= min(residuals[-12:-6])
        if residuals[-1] <= tolerance or floor:
            return image
        if not residuals[-1] < math.inf or (len(residuals) > PATIENCE and best > HOPELESS):
            break
        if residuals[-1] > 4 * best:  # a bad mixture: forget it and let the contraction work
            kept, gram = [], []
        best = min(best, residuals[-1])
        if len(kept) == MEMORY:
            kept, gram = kept[1:], [row[1:] for row in gram[1:]]
        column = [_dot(gap, other) for _, other in kept]
        kept, gram = [*kept, (image, gap)], [[*row, x] for row, x in zip(gram, column, strict=True)]
        gram.append([*column, square])
        z = _mixed(kept, gram)
    raise NotConverged(what, tuple(residuals))


def _dot(x: Tensor, y: Tensor) -> float:
    return float(torch.dot(x.reshape(-1), y.reshape(-1)))


def _mixed(kept: list[tuple[Tensor, Tensor]], gram: list[list[float]]) -> Tensor:
    """The affine combination of the images whose combined residual is smallest."""
    last = kept[-1][0]
    if len(kept) == 1:
        return last
    # The residuals span decades: scaled to length 1 they are told apart by their directions.
    lengths = torch.tensor([math.sqrt(row[k]) for k, row in enumerate(gram)], dtype=torch.float64)
    scaled = torch.tensor(gram, dtype=torch.float64) / (lengths[:, None] * lengths)
    scaled.diagonal().add_(RIDGE)
    weights = torch.linalg.solve_ex(scaled, 1 / lengths)[0] / lengths
    weights = weights / weights.sum()
    if not bool(torch.isfinite(weights).all()):
        return last
    *older, newest = weights.tolist()
    z = torch.mul(last, newest)
    for w, (image, _) in zip(older, kept[:-1], strict=True):
        z.add_(image, alpha=w)
    return z
