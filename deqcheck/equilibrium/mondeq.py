"""Proofs for the monotone DEQ: how far the computed W, Z, pre-activations and adjoints are from the true ones.

The exact model is given by the floats A, B, U, u, m; its W = (1 - m) I - A^T A + B - B^T is a real matrix
near the float one. Everything rests on one inequality. Let mu I <= sym(I - W), and let y = relu(W y + c + e)
while z* = relu(W z* + c). The relu is firmly nonexpansive, so with d = y - z*

    |d|^2 <= <d, W d + e>,  hence  mu |d|^2 <= <d, (I - W) d> <= <d, e>,  hence  |d| <= |e| / mu.

For any z, y = relu(W z + c + delta) solves the layer with e = W (z - y) + delta, where delta is the
rounding of the one evaluation. So no contraction is needed, and no trust in the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.matrix import Matrix
from deqcheck.equilibrium import mondeq_splitting as splitting
from deqcheck.equilibrium.engine import Equilibrium
from deqcheck.models.mondeq import MonDEQ
from deqcheck.truth import HOLDS

ONE = rigor.relative_error(1)


@dataclass(frozen=True)
class Weights:
    """What is certified of W: the distance of the float W from the real one, and norms of the real one."""

    slip: Enclosure
    """[0, s] with ||fl(W) - W||_F <= s."""
    norm: Enclosure
    """||W||."""
    lipschitz: Enclosure
    """L[I - W] = ||I - W||."""
    monotone: Enclosure
    """lambda_min of the symmetric part of I - W, which is m + sigma_min(A)^2."""


@dataclass(frozen=True)
class Pattern:
    """Which units are active at the true equilibrium, and how clearly."""

    active: Tensor
    gap: Enclosure
    """min over all units of |pre-activation| at the true equilibrium, for the true pre-activation."""

    @property
    def certain(self) -> bool:
        """Whether no unit can be on the other side of zero."""
        return self.gap.is_positive


def _minus_identity(W: Tensor) -> Tensor:
    return torch.eye(W.shape[0], dtype=W.dtype, device=W.device) - W


def weights(model: MonDEQ) -> Weights:
    """Bound the rounding of W operation by operation, then its norms."""
    W, n = model.W, model.W.shape[0]
    skew = model.B - model.B.T
    lower = skew - model.A.T @ model.A
    slip = Enclosure.from_zero(
        rigor.product_error(model.A.T, model.A)
        + ONE * (rigor.frobenius(skew) + rigor.frobenius(lower) + rigor.frobenius(W))
        + ONE * abs(1 - model.m) * Enclosure.exact(n).sqrt()
        + 8 * n * n * rigor.TINY
    )
    F = _minus_identity(W)
    return Weights(
        slip,
        operator_norm(W).widen(slip).maximum(0),
        operator_norm(F).widen(slip + ONE * rigor.frobenius(F)).maximum(0),
        Enclosure.exact(model.m) + rigor.sigma_min(model.A, rigor.THOROUGH) ** 2,
    )


def _eigenvalue(S: Tensor, which: int) -> Enclosure:
    """The smallest (0) or largest (-1) eigenvalue of a symmetric S, by the residual of an eigendecomposition.

    With f >= ||Q^T Q - I|| the eigenvalues of Q diag(d) Q^T are those of d, each times a factor in
    [1 - f, 1 + f] (Ostrowski); S is off by the residual.
    """
    values, Q = torch.linalg.eigh(S)
    half = Q * values
    residual = rigor.frobenius(S - half @ Q.T) * (1 + rigor.relative_error(2))
    e = residual + rigor.product_error(half, Q.T) + ONE * rigor.frobenius(half) * rigor.frobenius(Q)
    n = Q.shape[0]
    defect = Q.T @ Q - torch.eye(n, dtype=Q.dtype, device=Q.device)
    f = rigor.frobenius(defect) * (1 + rigor.relative_error(2)) + rigor.product_error(Q.T, Q)
    extreme = Enclosure.exact(float(values[which]))
    return extreme.widen(abs(extreme) * (f + 2 * n * rigor.UNIT) + e)


def operator_norm(x: Tensor) -> Enclosure:
    """||x||, also where the largest singular values are so close that Lanczos cannot part them."""
    norm = rigor.spectral_norm(x)
    if not norm.relative_width() > 1e-6 or not norm.is_finite:
        return norm
    gram = x.T @ x
    square = _eigenvalue((gram + gram.T) / 2, -1).widen(rigor.product_error(x.T, x) + ONE * 2 * rigor.frobenius(gram))
    return norm.intersect(square.maximum(0).sqrt())


def symmetric_bottom(model: MonDEQ, slip: Enclosure) -> Enclosure:
    """lambda_min of sym(I - W) from the float W alone.

    It does not use that sym(I - W) = m I + A^T A, so that Proposition 1 can be checked rather than assumed.
    """
    F = _minus_identity(model.W)
    S = (F + F.T) / 2
    off = slip + ONE * (rigor.frobenius(F) + 2 * rigor.frobenius(S))
    return _eigenvalue(S, 0).widen(off)


def preactivation(model: MonDEQ, X: Tensor, Z: Tensor, slip: Enclosure) -> tuple[Tensor, Enclosure]:
    """W z + U x in floats, and [0, delta] for its distance (Frobenius) from the exact value at this Z."""
    product, injected = Z @ model.W.T, model.injection(X)
    total = product + injected
    delta = (
        rigor.product_error(Z, model.W.T)
        + slip * rigor.frobenius(Z)
        + rigor.product_error(X, model.U.T)
        + ONE * rigor.frobenius(total)
        + 4 * total.numel() * rigor.TINY
    )
    return total, Enclosure.from_zero(delta)


def enclose(model: MonDEQ, X: Tensor, known: Weights) -> Equilibrium:
    """Solve, apply the layer once more, and bound the distance to the true equilibrium."""
    # The contraction shown is that of forward-backward splitting at alpha = m / L^2, from Proposition 3.
    ratio = Enclosure.exact(model.m) / known.lipschitz
    contraction = (1 - ratio**2).maximum(0).sqrt()
    guess = splitting.solve(model, model.injection(X), known.lipschitz.floats()[1])
    total, delta = preactivation(model, X, guess.Z, known.slip)
    Z = torch.relu(total)
    step = guess.Z - Z
    moved = step @ model.W.T
    e = (
        rigor.frobenius(moved)
        + rigor.product_error(step, model.W.T)
        + (known.slip + ONE * known.norm) * rigor.frobenius(step)
        + delta
    )
    radius = Enclosure.from_zero(e / known.monotone)
    return Equilibrium(Z, radius, contraction, guess.method, guess.residuals)


INFLATE = 1 + 2.0**-30
"""Covers the rounding of a bound that is itself computed in floats from terms without a minus sign."""
UNDERFLOW = 1e-280


def _entry_errors(model: MonDEQ, X: Tensor, Z: Tensor, total: Tensor) -> Tensor:
    """For each entry of W z + U x, a bound on its rounding: any order of summation, and W itself rounded."""
    n, d = model.U.shape
    u, k, k_in = (rigor.relative_error(j).floats()[1] for j in (1, n + 3, d + 3))
    skew = (model.B - model.B.T).abs()
    square = model.A.abs().T @ model.A.abs()
    identity = torch.eye(n, dtype=Z.dtype, device=Z.device)
    slip = k * square + u * (2 * skew + square + model.W.abs() + abs(1 - model.m) * identity)
    weighed = Z.abs() @ (k * model.W.abs() + slip).T + k_in * (X.abs() @ model.U.abs().T)
    return (weighed + u * total.abs()) * INFLATE + UNDERFLOW


def pattern(model: MonDEQ, X: Tensor, known: Weights, near: Equilibrium) -> Pattern:
    """The signs of the pre-activations, with how far each true one can be from the computed one.

    The layer is applied once more, from Z to y = relu(W Z + U X). Sample by sample the true equilibrium is
    within rho of y, by the inequality above, and so within |Z - y| + rho of Z; for all samples together it is
    within the radius. The pre-activation of unit j moves by |W_j| times the smaller of the two. The first
    wins over many samples, where the smallest of N n pre-activations is small; the second where ||W|| is large.
    """
    W = model.W
    total = near.Z @ W.T + model.injection(X)
    errors = _entry_errors(model, X, near.Z, total)
    norm, mu = known.norm.floats()[1], known.monotone.floats()[0]
    moved = (near.Z - torch.relu(total)).norm(dim=1) * INFLATE + UNDERFLOW
    rho = (norm * moved + errors.norm(dim=1)) / mu * INFLATE
    apart = torch.clamp((moved + rho) * INFLATE, max=near.radius.floats()[1])
    rows = (W.norm(dim=1) + known.slip.floats()[1]) * INFLATE
    off = (errors + apart[:, None] * rows) * INFLATE + UNDERFLOW
    low = float((total.abs() - off).min()) if bool(torch.isfinite(off).all()) else float("nan")
    high = float((total.abs() + off).min())
    slack = Fraction(1, 2**40) * abs(Enclosure.exact(low)) + Enclosure.exact(UNDERFLOW)
    gap = Enclosure.between(Enclosure.exact(low) - slack, Enclosure.exact(high) * INFLATE)
    return Pattern(total > 0, gap.maximum(0))


@dataclass(frozen=True)
class Adjoint:
    """g_i = J_i (I - W^T J_i)^-1 u and v_i = (I - W^T J_i)^-1 u for every sample, as rows."""

    G: Tensor
    G_radius: Enclosure
    V: Tensor
    V_radius: Enclosure


def adjoint(model: MonDEQ, active: Tensor, known: Weights) -> Adjoint:
    """Solve on the active units and bound the error by the residual over mu.

    On the active set a, (I - W_aa)^T g_a = u_a, and sym(I - W_aa) >= mu I as a principal block. Off it
    g = 0 and v = W^T g + u, which holds on the active units as well.
    """
    mask = active.to(model.W.dtype)
    repeated = model.u.expand_as(mask)
    G = splitting.adjoint(model, active, repeated)
    image = G @ model.W
    V = image + repeated
    slack = (
        rigor.product_error(G, model.W)
        + known.slip * rigor.frobenius(G)
        + ONE * rigor.frobenius(V)
        + 4 * G.numel() * rigor.TINY
    )
    residual = mask * (V - G)
    off = rigor.frobenius(residual) * (1 + ONE) + slack
    G_radius = Enclosure.from_zero(off / known.monotone)
    return Adjoint(G, G_radius, V, Enclosure.from_zero(known.norm * G_radius + slack))


def longest_row(x: Tensor, radius: Enclosure) -> Enclosure:
    """max_i |x_i| over the rows, for any matrix within `radius` (Frobenius) of x."""
    longest = Enclosure.exact(0)
    for row in x:
        longest = longest.maximum(rigor.frobenius(row))
    return longest.widen(radius).maximum(0)


# --- 192 bits --------------------------------------------------------------------------------------


def exact_weights(model: MonDEQ) -> Matrix:
    """W in ball arithmetic."""
    A, B = Matrix.exact(model.A.tolist()), Matrix.exact(model.B.tolist())
    identity = Matrix.exact(torch.eye(model.A.shape[0]).tolist())
    return identity - identity.times(model.m) - A.T @ A + B - B.T


def enclose_precisely(model: MonDEQ, X: Tensor, known: Weights, near: Equilibrium) -> tuple[Matrix, Enclosure] | None:
    """The equilibrium to tens of digits: the active pattern of Z solved in balls, then the same bound."""
    n, width = near.Z.shape
    W = exact_weights(model)
    injected = Matrix.exact(X.tolist()) @ Matrix.exact(model.U.T.tolist())
    system = Matrix.exact(torch.eye(width).tolist()) - W
    rows = []
    for i in range(n):
        active = [j for j in range(width) if near.Z[i, j] > 0]
        if not active:
            rows.append(Matrix.zeros(1, width))
            continue
        try:
            part = system.submatrix(active, active).solve(injected.submatrix([i], active).T)
        except ZeroDivisionError:
            return None
        rows.append(part.scatter(active, width))
    z = Matrix.stack(rows).midpoint()
    y = (z @ W.T + injected).relu()
    centre = y.midpoint()
    e = ((z - y) @ W.T).frobenius() / known.monotone + (y - centre).frobenius()
    radius = Enclosure.from_zero(e)
    if (radius <= near.radius) is not HOLDS:
        return None
    return centre, radius
