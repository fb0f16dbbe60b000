"""The monotone DEQ as an equation of the engine, and its splitting in differentiable operations."""

from __future__ import annotations

import torch
from torch import Tensor

from deqcheck.equilibrium import auto, peaceman_rachford
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.newton import solve_active
from deqcheck.equilibrium.peaceman_rachford import resolvent, step_size
from deqcheck.equilibrium.solution import Solution
from deqcheck.models.mondeq import MonDEQ

UNLIMITED = 20_000
__all__ = ["advance", "newton", "resolvent", "solve", "solve_active", "step_size"]


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
    limit: int = UNLIMITED,
) -> Solution:
    """Peaceman-Rachford, and what follows it where it fails; `limit` is for those who want the splitting alone."""
    equation = Equation(model.W.T, injected, monotone=model.m)
    if limit < UNLIMITED:
        return peaceman_rachford.solve(equation, None, tolerance, limit, step_size(lipschitz, model.m))
    return auto.solve(equation, None, tolerance)


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
