"""Equilibria without iteration: one factorisation.

Without an activation z (I - M) = c. With the relu the same system is the answer where its solution has no negative
entry, which is certain when neither M nor c has one and z M < z is possible (Lemma 5.1). Where M has a few negative
entries it is nearly certain, and cheap to check; else it is still a good guess.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deqcheck.equilibrium.equation import Equation, of
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit

NEARLY = 0.02
"""M counts as nearly non-negative when this share of the sum of its absolute values is negative."""


def applies(problem: Equation | ReluImplicit) -> bool:
    """Whether the closed form is the equilibrium: no activation, or nothing negative."""
    if isinstance(problem, ReluImplicit):
        return bool((problem.A >= 0).all())
    if isinstance(problem.phi, Tensor):
        return False
    if problem.phi == "identity":
        return True
    return problem.low is None and min(problem.least) >= 0


def nearly(equation: Equation) -> bool:
    """Whether the linear system is a good guess for the relu: little of M is negative."""
    if equation.phi != "relu" or equation.low is not None:
        return False
    total, signed = float(torch.linalg.vector_norm(equation.M, 1)), float(equation.M.sum())
    return (total - signed) / 2 <= NEARLY * total


def is_diagonal(M: Tensor) -> bool:
    """Whether nothing stands off the diagonal; the first row answers for most matrices."""
    if int(torch.count_nonzero(M[:1, 1:])):
        return False
    return int(torch.count_nonzero(M)) == int(torch.count_nonzero(M.diagonal()))


def linear(equation: Equation) -> Tensor:
    """phi of the solution of z (I - M) = c; not checked."""
    if is_diagonal(equation.M):  # as where the papers start, A = I
        return equation.activate(equation.c / (1 - equation.M.diagonal()))
    system = equation.M.neg()
    system.diagonal().add_(1)
    # Transposed, rows are the columns that LAPACK wants, and nothing is copied. A numerically singular system gives
    # infinities, which no residual survives, and no exception.
    factors, pivots, _ = torch.linalg.lu_factor_ex(system.T)
    Z: Tensor = torch.linalg.lu_solve(factors, pivots, equation.c.T).T
    return equation.activate(Z)


def solve(
    equation: Equation | ReluImplicit, start: Tensor | None = None, tolerance: float = 1e-14, limit: int = 3
) -> Solution:
    """Solve the linear system, check by one layer, and refine up to `limit` times where rounding was large.

    The result is a guess like any other and is verified later; `start` is not needed. The history holds the
    refinements only: a direct solution has none.
    """
    equation, _ = of(equation, start)
    Z = linear(equation)
    residuals: list[float] = []
    for count in range(1, limit + 2):
        image = equation.layer(Z, out=torch.empty_like(Z))
        each = equation.relative(image - Z, image)
        residuals.append(float(each.max()) if each.numel() else 0.0)
        if equation.converged(residuals, Z, each, tolerance, 1):
            return Solution(Z, "closed form", tuple(residuals[1:]), each, (count, 0))
        # One layer of refinement damps what rounding left in all but the stiffest direction.
        Z = image
    floor = 64 * equation.floor(Z)
    if bool((each <= torch.clamp(floor, min=tolerance)).all()):
        return Solution(Z, "closed form", tuple(residuals[1:]), each, (count, 0))
    raise NotConverged("the closed form", tuple(residuals), Z)
