"""Derivatives of the monotone DEQ: the formulas of Section 3.2.3, and the same by automatic differentiation.

The formulas act through their structure: with g_i = J_i (I - W^T J_i)^-1 u, row i of J_U is g_i x_i^T,
of dy/dW it is g_i z_i^T, and P_A, P_B act as dW = -(A^T dA + dA^T A) + dB - dB^T. No Kronecker product
is formed. The other side knows none of this: it differentiates a long unrolled Peaceman-Rachford
iteration from Z = 0, in which A, B and U enter through W and its resolvent. Both sides are floats, so
what comes out is an agreement of two computations, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from deqcheck.equilibrium import mondeq_splitting as splitting
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.models.mondeq import MonDEQ, weights

Direction = tuple[Tensor, Tensor, Tensor]
"""(dA, dB, dU)."""


@dataclass(frozen=True)
class Disagreement:
    """Relative differences between the formulas and automatic differentiation, largest over the parts."""

    layer: float
    """Lemma 3.2.1: the partial derivatives of g = Z - relu(W Z + U X)."""
    equilibrium: float
    """Lemma 3.2.2: the derivatives of Z."""
    loss: float
    """Lemma 3.2.3: the gradient of the loss."""
    kernel: float
    """Proposition 4: K applied to the residual and to random vectors."""


# --- formulas --------------------------------------------------------------------------------------


def change_of_weights(model: MonDEQ, dA: Tensor, dB: Tensor) -> Tensor:
    """P_A vec[dA] + P_B vec[dB] as a matrix."""
    product = model.A.T @ dA
    return -(product + product.T) + dB - dB.T


def layer_change(model: MonDEQ, X: Tensor, Z: Tensor, dZ: Tensor, d: Direction) -> Tensor:
    """Lemma 3.2.1: dg = dZ - D (dZ W^T + Z dW^T + X dU^T)."""
    D = (Z @ model.W.T + model.injection(X) > 0).to(Z.dtype)
    dA, dB, dU = d
    dW = change_of_weights(model, dA, dB)
    return dZ - D * (dZ @ model.W.T + Z @ dW.T + X @ dU.T)


def equilibrium_change(model: MonDEQ, X: Tensor, Z: Tensor, active: Tensor, d: Direction) -> Tensor:
    """Lemma 3.2.2: dz_i = (I - J_i W)^-1 J_i (dW z_i + dU x_i)."""
    dA, dB, dU = d
    dW = change_of_weights(model, dA, dB)
    return splitting.solve_active(model.W, active, Z @ dW.T + X @ dU.T)


def gradient(model: MonDEQ, X: Tensor, Z: Tensor, G: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    """Lemma 3.2.3: the gradient of 1/2 |Z u - y|^2 in A, B, U, u, where r = Z u - y."""
    M = G.T @ (r[:, None] * Z)
    return -model.A @ (M + M.T), M - M.T, G.T @ (r[:, None] * X), Z.T @ r


def kernel(model: MonDEQ, X: Tensor, Z: Tensor, G: Tensor) -> Tensor:
    """Proposition 4: K = J_A J_A^T + J_B J_B^T + J_U J_U^T + Z Z^T, from N x N products only."""
    GA, ZA = G @ model.A.T, Z @ model.A.T
    gg, zz, gz = G @ G.T, Z @ Z.T, G @ Z.T
    cross = GA @ ZA.T
    of_A = (GA @ GA.T) * zz + cross * gz.T + cross.T * gz + (ZA @ ZA.T) * gg
    of_B = 2 * (gg * zz - gz * gz.T)
    return of_A + of_B + gg * (X @ X.T) + zz


# --- automatic differentiation ---------------------------------------------------------------------


def unrolled(model: MonDEQ, X: Tensor, alpha: float, count: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """(A, B, U) -> Z by `count` iterations from zero."""

    def run(A: Tensor, B: Tensor, U: Tensor) -> Tensor:
        V = splitting.resolvent(weights(A, B, model.m), alpha)
        injected = X @ U.T
        state = Z = torch.zeros_like(injected)
        for _ in range(count):
            state, Z = splitting.advance(V, alpha, injected, state, Z)
        return Z

    return run


def schedule(model: MonDEQ, X: Tensor, Z: Tensor, lipschitz: float, limit: int = 1000) -> tuple[float, int]:
    """A step and twice the iterations that bring the iterate to rounding: derivatives follow at its rate."""
    long, short = splitting.step_size(lipschitz, model.m), 1 / lipschitz
    injected = model.injection(X)
    off = []
    for alpha in (long, (long * short) ** 0.5, short):
        V = splitting.resolvent(model.W, alpha)
        state = iterate = torch.zeros_like(injected)
        for count in range(1, limit + 1):
            state, iterate = splitting.advance(V, alpha, injected, state, iterate)
            off.append(float((iterate - Z).norm()) / max(float(Z.norm()), 1e-300))
            if off[-1] < 1e-12:
                return alpha, 2 * count + 20
    raise NotConverged("the iteration to differentiate", tuple(off))


class Linearised:
    """A function at one point: its value, and its Jacobian applied from either side.

    J v is the derivative in w of <J^T w, v>, which needs no forward mode.
    """

    def __init__(self, f: Callable[..., Tensor], *inputs: Tensor) -> None:
        self._leaves = [x.detach().clone().requires_grad_() for x in inputs]
        value = f(*self._leaves)
        self.value = value.detach()
        self._weights = torch.zeros_like(value, requires_grad=True)
        self._pulled = torch.autograd.grad(value, self._leaves, self._weights, create_graph=True)
        self._output = value

    def push(self, *tangents: Tensor) -> Tensor:
        """J v."""
        inner = torch.stack([(g * t).sum() for g, t in zip(self._pulled, tangents, strict=True)])
        return torch.autograd.grad(inner.sum(), self._weights, retain_graph=True)[0]

    def pull(self, cotangent: Tensor) -> tuple[Tensor, ...]:
        """J^T w."""
        return torch.autograd.grad(self._output, self._leaves, cotangent, retain_graph=True)


def _apart(parts: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> float:
    """Largest over the parts of |a - b| / |b|; two zeros agree."""
    worst = 0.0
    for a, b in zip(parts, others, strict=True):
        size, gap = float(b.norm()), float((a - b).norm())
        worst = max(worst, gap / size if size > 0 else gap)
    return worst


def compare(
    model: MonDEQ,
    X: Tensor,
    y: Tensor,
    Z: Tensor,
    active: Tensor,
    G: Tensor,
    lipschitz: float,
    seed: int,
) -> Disagreement:
    """Every formula against automatic differentiation, in a few random directions."""
    rng = np.random.default_rng([seed, 4])

    def noise(like: Tensor) -> Tensor:
        return torch.from_numpy(rng.standard_normal(tuple(like.shape))).to(like.device)

    theta = (model.A, model.B, model.U)
    zero = tuple(torch.zeros_like(p) for p in theta)
    directions: list[Direction] = []
    for k in range(3):
        parts = list(zero)
        parts[k] = noise(theta[k])
        directions.append((parts[0], parts[1], parts[2]))
    solve = unrolled(model, X, *schedule(model, X, Z, lipschitz))

    def g(Z: Tensor, A: Tensor, B: Tensor, U: Tensor) -> Tensor:
        return Z - torch.relu(Z @ weights(A, B, model.m).T + X @ U.T)

    dZ, still = noise(Z), torch.zeros_like(Z)
    layer_map = Linearised(g, Z, *theta)
    layer = _apart(
        (
            layer_change(model, X, Z, dZ, (zero[0], zero[1], zero[2])),
            *(layer_change(model, X, Z, still, d) for d in directions),
        ),
        (layer_map.push(dZ, *zero), *(layer_map.push(still, *d) for d in directions)),
    )
    solution = Linearised(solve, *theta)
    equilibrium = _apart(
        tuple(equilibrium_change(model, X, Z, active, d) for d in directions),
        tuple(solution.push(*d) for d in directions),
    )
    prediction = Linearised(lambda A, B, U, u: solve(A, B, U) @ u, *theta, model.u)
    r = prediction.value - y
    loss = _apart(gradient(model, X, Z, G, r), prediction.pull(r))
    K = kernel(model, X, Z, G)
    probes = (r, noise(r), noise(r))
    images = tuple(prediction.push(*prediction.pull(probe)) for probe in probes)
    return Disagreement(layer, equilibrium, loss, _apart(tuple(K @ probe for probe in probes), images))
