"""Semismooth Newton on the activation pattern: solve each sample on its active units until the pattern stays.

Exact after finitely many steps when it ends, because the equation is piecewise linear. It may also cycle between
patterns, even for a monotone equation; that is noticed and said.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deqcheck.equilibrium.equation import Equation, of
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit

CHUNK_NUMBERS = 2**24
"""How many numbers a batch of m x m systems may hold (128 MiB)."""


def solve_active(W: Tensor, active: Tensor, right: Tensor) -> Tensor:
    """(I - D_i W)^-1 D_i c_i for every sample i, where D_i keeps the active units; a few samples at a time."""
    n = W.shape[0]
    identity = torch.eye(n, dtype=W.dtype, device=W.device)
    mask = active.to(W.dtype)
    size = max(1, CHUNK_NUMBERS // max(1, n * n))
    parts = []
    for part, c in zip(torch.split(mask, size), torch.split(mask * right, size), strict=True):
        systems = identity - part[:, :, None] * W
        parts.append(torch.linalg.solve_ex(systems, c[:, :, None])[0][:, :, 0])
    return torch.cat(parts)


def solve(
    equation: Equation | ReluImplicit, start: Tensor | None = None, tolerance: float = 1e-14, limit: int = 30
) -> Solution:
    """Solve on the pattern of the last iterate, sample by sample; a sample that is done is left alone.

    A sample that sees one of its patterns again while its residual is above the tolerance is in a cycle.
    """
    equation, start = of(equation, start)
    if equation.low is not None:
        raise ValueError("Newton's method needs the plain relu; shift the equation so that low is 0")
    Z = equation.start(start)
    seen: list[set[bytes]] = [set() for _ in range(Z.shape[0])]
    open_ = torch.arange(Z.shape[0], device=Z.device)
    residuals: list[float] = []
    each = torch.zeros(Z.shape[0], dtype=Z.dtype, device=Z.device)
    fixed = isinstance(equation.phi, Tensor) or equation.phi == "identity"
    for count in range(limit + 1):
        total = equation.preactivation(Z)
        pattern = _pattern(equation, total)
        image = equation.activate(total)
        each = equation.relative(image - Z, image)
        residuals.append(float(each.max()) if each.numel() else 0.0)
        floor = torch.clamp(8 * equation.floor(Z).clamp_(max=1e-3), min=tolerance)
        # The first pattern is a guess that was never solved on, so the floor means nothing there.
        done = each <= (floor if count else torch.full_like(floor, tolerance))
        if bool(done.all()):
            return Solution(Z, "Newton", tuple(residuals), each, (count + 1, 0))
        open_ = torch.nonzero(~done)[:, 0]
        active = pattern[open_]
        for i, row in zip(open_.tolist(), active.cpu().numpy(), strict=True):
            key = row.tobytes()
            if key in seen[i] or (fixed and count > 1):
                what = "Newton's method could not solve a linear system" if fixed else "Newton's method cycled and"
                raise NotConverged(what, tuple(residuals), Z)
            seen[i].add(key)
        Z = Z.clone()
        Z[open_] = solve_active(equation.M.T.contiguous(), active, equation.c[open_])
    raise NotConverged("Newton's method", tuple(residuals), Z)


def _pattern(equation: Equation, total: Tensor) -> Tensor:
    if isinstance(equation.phi, Tensor):
        return equation.phi > 0
    return torch.ones_like(total, dtype=torch.bool) if equation.phi == "identity" else total > 0
