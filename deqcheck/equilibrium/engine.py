"""Pick a solver, then prove how far its answer is from the true equilibrium."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.matrix import Matrix
from deqcheck.equilibrium import auto
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.solution import Solution
from deqcheck.models.relu import ReluImplicit
from deqcheck.truth import HOLDS

TOLERANCE = 1e-14
"""Relative residual of an equilibrium that is to be enclosed; the rounding floor ends it earlier where it must."""


@dataclass(frozen=True)
class Equilibrium:
    """Z, the certified radius of a Frobenius ball around it that holds the true equilibrium, and how."""

    Z: Tensor
    radius: Enclosure
    contraction: Enclosure
    method: str
    residuals: tuple[float, ...]


def solve(model: ReluImplicit, Phi: Tensor, contraction: Enclosure, start: Tensor | None = None) -> Solution:
    """The cheapest method that suits; a slow one takes over only when a fast one says it failed."""
    equation = Equation(model.gamma * model.A, Phi, contraction=contraction.floats()[1])
    return auto.solve(equation, Phi if start is None else start, TOLERANCE)


def apply_layer(model: ReluImplicit, X: Tensor, Z: Tensor) -> tuple[Tensor, Enclosure]:
    """relu(gamma Z A + relu(X W)) in floats, and [0, delta] for its rounding error in Frobenius norm."""
    scaled = model.gamma * (Z @ model.A)
    total = scaled + model.features(X)
    one = rigor.relative_error(1)
    delta = (
        rigor.product_error(X, model.W)
        + abs(Enclosure.exact(model.gamma)) * rigor.product_error(Z, model.A)
        + one * (rigor.frobenius(scaled) + rigor.frobenius(total))
        + 4 * total.numel() * rigor.TINY
    )
    return torch.relu(total), delta


def enclose(model: ReluImplicit, X: Tensor, norm_A: Enclosure, start: Tensor | None = None) -> Equilibrium:
    """Solve, apply the layer once more, and bound the distance to the fixed point.

    `start` may be any guess, such as the last equilibrium of a training run.
    With contraction q < 1 and y = f(z): ||y - z*|| <= (q ||z - y|| + delta) / (1 - q), where delta
    bounds the rounding error of evaluating f. Without a certified q < 1 nothing is claimed: the radius
    is infinite and every quantity that depends on Z is unknown.
    """
    q = norm_A * abs(Enclosure.exact(model.gamma))
    Phi = model.features(X)
    if (q < 1) is not HOLDS:
        return Equilibrium(Phi, Enclosure.between(0, float("inf")), q, "none: gamma ||A|| >= 1", ())
    guess = solve(model, Phi, q, start)
    Z, delta = apply_layer(model, X, guess.Z)
    step = rigor.frobenius(guess.Z - Z) * (1 + rigor.relative_error(1))
    radius = Enclosure.from_zero((q * step + delta) / (1 - q))
    return Equilibrium(Z, radius, q, guess.method, guess.residuals)


def enclose_precisely(model: ReluImplicit, X: Tensor, near: Equilibrium) -> tuple[Matrix, Enclosure]:
    """The same bound in 192-bit arithmetic for a small model: an equilibrium good to tens of digits.

    The activation pattern of the float solution gives a linear system per sample; its solution is a
    guess, polished by the layer itself, and the contraction bound then needs no pattern at all.
    """
    A = Matrix.exact(model.A.tolist())
    Phi = (Matrix.exact(X.tolist()) @ Matrix.exact(model.W.tolist())).relu()

    def layer(Z: Matrix) -> Matrix:
        return ((Z @ A).times(model.gamma) + Phi).relu()

    z = _pattern_solution(model, A, Phi, near.Z).midpoint()
    y = layer(z)
    for _ in range(60):
        z = y.midpoint()
        y = layer(z)
        if (near.contraction * (y - z).frobenius() <= Enclosure.exact(2) ** -120 * y.frobenius()) is HOLDS:
            break
    q = near.contraction
    spread = (y - y.midpoint()).frobenius()
    radius = (q * (y - z).frobenius() + spread) / (1 - q)
    return y.midpoint(), Enclosure.from_zero(radius)


def _pattern_solution(model: ReluImplicit, A: Matrix, Phi: Matrix, Z: Tensor) -> Matrix:
    """Solve each sample on the units that are active in Z; elsewhere the value is zero."""
    n, m = Z.shape
    identity = Matrix.exact(torch.eye(m).tolist())
    system = identity - A.times(model.gamma)
    rows = []
    for i in range(n):
        active = [j for j in range(m) if Z[i, j] > 0]
        if active:
            square = system.submatrix(active, active).T
            rows.append(square.solve(Phi.submatrix([i], active).T).scatter(active, m))
        else:
            rows.append(Matrix.zeros(1, m))
    return Matrix.stack(rows)
