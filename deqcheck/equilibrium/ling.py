"""The vanilla DEQ: its equilibrium with a proof, its iterates, and the matrices built from them.

Every function that returns a tensor with an enclosure [0, r] promises that the exact matrix lies
within r of the tensor in Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import auto
from deqcheck.equilibrium.engine import Equilibrium
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.solution import Solution
from deqcheck.models.ling import VanillaDeq
from deqcheck.truth import HOLDS

Known = tuple[Tensor, Enclosure]

UNKNOWN = Enclosure.between(0, float("inf"))


def solve(model: VanillaDeq, UX: Tensor, tolerance: float = 1e-14, contraction: float | None = None) -> Solution:
    """The equilibrium of (1); its samples are columns here, so the equation is transposed, in a view."""
    found = auto.solve(Equation(model.W.T, UX.T, contraction=contraction), None, tolerance)
    return replace(found, Z=found.Z.T)


def preactivation(model: VanillaDeq, X: Tensor, Z: Tensor) -> Known:
    """W Z + U X for this very Z, with the rounding of computing it."""
    UX = model.U @ X
    total = model.W @ Z + UX
    delta = (
        rigor.product_error(model.W, Z)
        + rigor.product_error(model.U, X)
        + rigor.relative_error(1) * rigor.frobenius(total)
        + 4 * total.numel() * rigor.TINY
    )
    return total, Enclosure.from_zero(delta)


def enclose(model: VanillaDeq, X: Tensor, norm_W: Enclosure) -> Equilibrium:
    """Solve, apply the layer once more, and bound the distance to the fixed point by contraction.

    Without a certified ||W|| < 1 nothing is claimed: the radius is infinite.
    """
    UX = model.U @ X
    if (norm_W < 1) is not HOLDS:
        return Equilibrium(torch.relu(UX), UNKNOWN, norm_W, "none: ||W|| >= 1", ())
    guess = solve(model, UX, contraction=norm_W.floats()[1])
    total, delta = preactivation(model, X, guess.Z)
    Z = torch.relu(total)
    step = rigor.frobenius(guess.Z - Z) * (1 + rigor.relative_error(1))
    radius = Enclosure.from_zero((norm_W * step + delta) / (1 - norm_W))
    return Equilibrium(Z, radius, norm_W, guess.method, guess.residuals)


def iterates(model: VanillaDeq, X: Tensor, norm_W: Enclosure, depth: int) -> Iterator[Known]:
    """Z^(1), ..., Z^(depth) of eq. (1) from Z^(0) = 0, each with its accumulated error."""
    Z = torch.zeros(model.W.shape[0], X.shape[1], dtype=X.dtype, device=X.device)
    error = Enclosure.exact(0)
    for _ in range(depth):
        total, delta = preactivation(model, X, Z)
        Z, error = torch.relu(total), Enclosure.from_zero(norm_W * error + delta)
        yield Z, error


def pattern(model: VanillaDeq, X: Tensor, at: Equilibrium) -> Tensor | None:
    """D = 1{W Z + U X >= 0} at the true equilibrium, or None if some unit is too close to zero."""
    total, delta = preactivation(model, X, at.Z)
    off = delta + at.contraction * at.radius
    if (off < float(total.abs().min())) is not HOLDS:
        return None
    return (total > 0).to(total.dtype)


def adjoint(model: VanillaDeq, D: Tensor, norm_W: Enclosure) -> Known:
    """B with columns b_i = D_i (I - W^T D_i)^-1 a: the blocks of R^T, which is block diagonal.

    Solved by the equilibrium engine; the residual and the contraction ||W^T D_i|| <= ||W|| < 1 give the error.
    """
    a = model.a[:, None].expand(-1, D.shape[1])
    equation = Equation(model.W, a.T, D.T, contraction=norm_W.floats()[1])
    active = auto.solve(equation, None, 1e-14).Z.T  # D P = D (W^T (D P) + a)
    P = model.W.T @ active + a
    image = model.W.T @ (D * P)
    residual = (image + a) - P
    slip = (
        rigor.product_error(model.W.T, D * P)
        + rigor.relative_error(3) * (rigor.frobenius(image) + rigor.frobenius(P))
        + rigor.relative_error(3) * rigor.frobenius(a)
        + 4 * P.numel() * rigor.TINY
    )
    error = (rigor.frobenius(residual) + slip) / (1 - norm_W)
    return D * P, Enclosure.from_zero(error)


# --- certified matrices ------------------------------------------------------------------------------


def gram(known: Known) -> Known:
    """Z^T Z."""
    Z, r = known
    G = Z.T @ Z
    error = rigor.product_error(Z.T, Z) + r * (2 * rigor.frobenius(Z) + r)
    return (G + G.T) / 2, Enclosure.from_zero(error + rigor.relative_error(2) * rigor.frobenius(G))


def product(left: Known, right: Known) -> Known:
    """The product of two matrices."""
    (A, a), (B, b) = left, right
    error = rigor.product_error(A, B) + a * rigor.frobenius(B) + b * rigor.frobenius(A) + a * b
    return A @ B, Enclosure.from_zero(error)


def add(left: Known, right: Known) -> Known:
    """The sum of two matrices."""
    total = left[0] + right[0]
    rounding = rigor.relative_error(1) * rigor.frobenius(total)
    return total, Enclosure.from_zero(left[1] + right[1] + rounding)


def hadamard(left: Known, right: Known) -> Known:
    """The entrywise product."""
    (A, a), (B, b) = left, right
    C = A * B
    error = (
        a * float(B.abs().max())
        + b * float(A.abs().max())
        + a * b
        + rigor.relative_error(1) * rigor.frobenius(C)
        + C.numel() * rigor.TINY
    )
    return C, Enclosure.from_zero(error)


def distance(left: Known, right: Known, scale: int = 1) -> Enclosure:
    """|| left / scale - right ||_F."""
    (A, a), (B, b) = left, right
    scaled = A / scale
    gap = scaled - B
    rounding = rigor.relative_error(2) * (rigor.frobenius(scaled) + rigor.frobenius(gap))
    slack = a / scale + b + rounding + A.numel() * rigor.TINY
    return rigor.frobenius(gap).widen(slack).maximum(0)


def norm(known: Known) -> Enclosure:
    """The Frobenius norm of the exact matrix."""
    return rigor.frobenius(known[0]).widen(known[1]).maximum(0)


def lambda_min(known: Known) -> Enclosure:
    """The least eigenvalue of a symmetric matrix: a Rayleigh quotient above, a Cholesky factor below."""
    S, error = known
    if not error.is_finite or not bool(torch.isfinite(S).all()):
        return Enclosure.between(-float("inf"), float("inf"))
    n = S.shape[0]
    S = (S + S.T) / 2
    error = error + rigor.relative_error(2) * rigor.frobenius(S)
    values, vectors = torch.linalg.eigh(S)
    v = vectors[:, :1].contiguous()
    image = S @ v
    rounding = rigor.relative_error(n + 3) * rigor.frobenius(v) * rigor.frobenius(image)
    top = Enclosure.exact(float((v * image).sum())).widen(
        rounding + rigor.frobenius(v) * rigor.product_error(S, v) + n * rigor.TINY
    )
    upper = top / (rigor.frobenius(v) * rigor.frobenius(v))
    lower = -rigor.frobenius(S)
    size = float(S.abs().sum(dim=1).max())
    for share in (1e-14, 1e-13, 1e-12, 1e-10, 1e-7, 1e-3):
        shift = float(values[0]) - share * max(1, n**0.5) * size
        shifted = S - shift * torch.eye(n, dtype=S.dtype, device=S.device)
        factor, info = torch.linalg.cholesky_ex(shifted)
        if int(info) == 0 and bool(torch.isfinite(factor).all()):
            residual = factor @ factor.T - shifted
            # A residual of norm r, and the rounding of the shift on the diagonal, move it by that much.
            slip = (
                rigor.mixed_bound(residual) * (1 + rigor.relative_error(2))
                + rigor.product_error(factor, factor.T)
                + rigor.relative_error(2) * float(shifted.abs().max())
                + n * rigor.TINY
            )
            lower = Enclosure.exact(shift) - slip
            break
    return Enclosure.between(lower, upper).widen(error)
