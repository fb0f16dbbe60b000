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
DENSE = 10**10
"""Multiplications that factorising every sample's system may take: about a second."""
ADJOINT_TOLERANCE = 1e-14
__all__ = ["adjoint", "advance", "newton", "resolvent", "solve", "solve_active", "step_size"]


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


def adjoint(model: MonDEQ, active: Tensor, right: Tensor) -> Tensor:
    """g_i = D_i (I - W^T D_i)^-1 r_i for every sample, as rows: dense and exact where that is cheap.

    At the papers' sizes one factorisation per sample would take minutes; there the adjoint equation
    g = D (g W + r) goes through the same solvers as the forward one.
    """
    mask = active.to(model.W.dtype)
    samples, n = mask.shape
    if samples * n**3 <= DENSE:
        return mask * solve_active(model.W.T.contiguous(), active, right)
    return auto.solve(Equation(model.W, right, mask, monotone=model.m), None, ADJOINT_TOLERANCE).Z
