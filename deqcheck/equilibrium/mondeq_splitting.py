"""Peaceman-Rachford splitting for the monotone DEQ: one factorisation, then one product per iteration."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.mondeq import MonDEQ

# Newton factorises once per sample, so it waits until the splitting has shown that it is slow.
NEWTON_AT = (150, 600, 2400, 9600)
CHUNK_NUMBERS = 2**24
"""How many numbers a batch of n x n systems may hold (128 MiB)."""


def step_size(lipschitz: float, m: float) -> float:
    """1/sqrt(m L): the best step where I - W is symmetric, and a good one here."""
    return 1 / math.sqrt(m * lipschitz)


def resolvent(W: Tensor, alpha: float) -> Tensor:
    """(I + alpha (I - W))^-1, in differentiable operations."""
    identity = torch.eye(W.shape[0], dtype=W.dtype, device=W.device)
    # A numerically singular system gives infinities, which end the iteration, and no exception.
    inverse: Tensor = torch.linalg.inv_ex(identity + alpha * (identity - W))[0]
    return inverse


def advance(V: Tensor, alpha: float, injected: Tensor, state: Tensor, Z: Tensor) -> tuple[Tensor, Tensor]:
    """One iteration: reflect through the resolvent of the affine part, then through the relu."""
    reflected = 2 * Z - state
    state = 2 * ((reflected + alpha * injected) @ V.T) - reflected
    return state, torch.relu(state)


def solve(
    model: MonDEQ,
    injected: Tensor,
    lipschitz: float,
    tolerance: float = 1e-14,
    limit: int = 20_000,
) -> Solution:
    """Iterate until one layer moves Z by less than `tolerance`, relatively, or by rounding only."""
    alpha = step_size(lipschitz, model.m)
    V = resolvent(model.W, alpha)
    state = Z = torch.zeros_like(injected)
    residuals: list[float] = []
    floor = 64 * 2.0**-53 * (1 + lipschitz)
    for count in range(1, limit + 1):
        state, Z = advance(V, alpha, injected, state, Z)
        residuals += [_residual(model, injected, Z)]
        if residuals[-1] <= max(tolerance, floor):
            return Solution(Z, "Peaceman-Rachford", tuple(residuals))
        if not residuals[-1] < math.inf:
            break
        if count in NEWTON_AT:
            polished = newton(model, injected, Z)
            if _residual(model, injected, polished) <= max(tolerance, 16 * floor):
                residuals += [_residual(model, injected, polished)]
                return Solution(polished, "Peaceman-Rachford and Newton", tuple(residuals))
    raise NotConverged("Peaceman-Rachford splitting", tuple(residuals))


def _residual(model: MonDEQ, injected: Tensor, Z: Tensor) -> float:
    after = model.layer(Z, injected)
    size = float(after.norm())
    moved = float((after - Z).norm())
    return moved / size if size > 0 else moved


def newton(model: MonDEQ, injected: Tensor, Z: Tensor, rounds: int = 12) -> Tensor:
    """Solve each sample on its active units, update the active units, and stop when they stay."""
    before = None
    for _ in range(rounds):
        active = Z @ model.W.T + injected > 0
        if before is not None and bool((active == before).all()):
            return Z
        before = active
        Z = solve_active(model.W, active, injected)
    return Z


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
