"""Plain fixed-point iteration: the sequence of the papers, linear at the contraction rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from deqcheck.equilibrium.equation import Equation, of
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit

FARTHEST = 4
"""A residual costs a few passes over the samples, a twentieth of a product, and rates change: no long leaps."""


@dataclass(frozen=True)
class Run:
    """How far plain iteration got."""

    Z: Tensor
    residuals: list[float]
    each: Tensor
    count: int
    done: bool


def run(equation: Equation, Z: Tensor, tolerance: float, limit: int, slow: float | None = None) -> Run:
    """Apply the layer to Z, which is overwritten, until it is done, at the limit, or not finite.

    With `slow` it also stops when a step gains less than that factor; and while the steps gain more, the next
    residual is measured only where the tolerance may have been reached. Each step is then little but its product.
    """
    after, gap = torch.empty_like(Z), torch.empty_like(Z)
    residuals: list[float] = []
    each = torch.zeros(Z.shape[0], dtype=Z.dtype, device=Z.device)
    count, steps = 0, 1
    while count < limit:
        for _ in range(min(steps, limit - count)):
            equation.layer(Z, out=after)
            Z, after = after, Z
            count += 1
        each = equation.relative(torch.sub(Z, after, out=gap), Z)
        residuals.append(float(each.max()) if each.numel() else 0.0)
        if equation.converged(residuals, Z, each, tolerance):
            return Run(equation.better(after, Z), residuals, each, count, True)
        if residuals[-1] == math.inf:
            break
        if slow is not None and len(residuals) > 1:
            if residuals[-1] > slow**steps * residuals[-2]:
                break
            steps = stride(residuals, steps, tolerance)
    return Run(Z, residuals, each, count, False)


def stride(residuals: list[float], steps: int, tolerance: float) -> int:
    """How many steps may be taken before the residual is worth measuring again, at most `FARTHEST`.

    `steps` lie between the last two residuals; it aims just short of the tolerance at the rate seen between them.
    """
    if len(residuals) < 2 or not 0 < residuals[-1] < residuals[-2]:
        return 1
    gain = math.log(residuals[-1] / residuals[-2]) / steps
    return max(1, min(FARTHEST, math.ceil(math.log(tolerance / residuals[-1]) / gain - 0.2)))


def solve(
    equation: Equation | ReluImplicit,
    start: Tensor | None = None,
    tolerance: float = 1e-14,
    limit: int = 10_000,
) -> Solution:
    """Apply the layer until no sample moves by more than `tolerance`, relative to its size, or than rounding."""
    equation, start = of(equation, start)
    found = run(equation, equation.start(start), tolerance, limit)
    if not found.done:
        raise NotConverged("Picard iteration", tuple(found.residuals), found.Z)
    return Solution(found.Z, "Picard", tuple(found.residuals), found.each, (found.count, 0))
