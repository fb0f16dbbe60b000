"""Dormand and Prince's Runge-Kutta pair of orders 5 and 4, with the error that its difference estimates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Tensors = tuple[Tensor, ...]

A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""The stages; the last row is the solution of order 5, so its slope is the first of the next step."""
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""Weights of order 5 minus weights of order 4."""


@dataclass(frozen=True)
class Step:
    """One attempted step: where it leads, how wrong it may be, and the size to try next."""

    y: Tensors
    error: float
    """The estimated error of this step, in the Euclidean norm of all parameters together."""
    accepted: bool
    following: float


def attempt(
    slope: Callable[[Tensors], Tensors], y: Tensors, first: Tensors, h: float, tolerance: float
) -> tuple[Step, Tensors]:
    """One step of size h from y, where the slope is `first`, and the slope at its end.

    The error is measured for every parameter against its own size, so that a small one is not drowned.
    """
    slopes = [first]
    new = y
    for row in A:
        new = _combined(y, slopes, row, h)
        slopes.append(slope(new))
    off = [sum(e * k[j] for e, k in zip(E, slopes, strict=True) if e) * h for j in range(len(y))]
    sizes = [float(d.norm()) for d in off]  # type: ignore[union-attr]
    scales = [tolerance * max(float(a.norm()), float(b.norm())) for a, b in zip(y, new, strict=True)]
    worst = max(_share(s, t) for s, t in zip(sizes, scales, strict=True))
    error = sum(s * s for s in sizes) ** 0.5
    factor = min(5.0, max(0.2, 0.9 * worst**-0.2)) if worst > 0 else 5.0
    return Step(new, error, worst <= 1, h * factor), slopes[-1]


def _share(size: float, scale: float) -> float:
    """size / scale; what is not finite is infinitely wrong, and nothing out of nothing is right."""
    if size == 0:
        return 0.0
    share = size / scale if scale > 0 else math.inf
    return share if share < math.inf else math.inf


def _combined(y: Tensors, slopes: list[Tensors], row: tuple[float, ...], h: float) -> Tensors:
    out = []
    for j, start in enumerate(y):
        total = start
        for a, k in zip(row, slopes, strict=True):
            if a:
                total = total + (h * a) * k[j]
        out.append(total)
    return tuple(out)
