"""The one equation that every solver of this package solves: z = phi(z M + c), one sample per row.

    from deqcheck.equilibrium import auto
    from deqcheck.equilibrium.equation import Equation

    forward = Equation(gamma * A, Phi, contraction=q)             # z = relu(gamma z A + Phi)
    Z = auto.solve(forward, start=last_Z, tolerance=1e-12).Z
    backward = forward.adjoint(forward.active(Z), G)               # v = D (v M^T + G), D the active units
    V = auto.solve(backward, start=last_V, tolerance=1e-10).Z

phi is the relu, the identity, or a fixed 0/1 mask. The adjoint of the relu equation is the mask equation with M^T, so
implicit differentiation goes through the same solvers and no graph is stored. `start` may be anything of the right
shape, and is best the last solution along a trajectory. Models with samples as columns are transposed by the caller
(a view, not a copy).

The residual of a sample is |f(z) - z| / |f(z)|, in the Euclidean norm of its row. A tolerance is met when every
sample meets it, or is at `floor`, the rounding error that evaluating f in these floats must be expected to have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from deqcheck.models.relu import ReluImplicit

HONEST = 1e-3
"""A residual above this is not excused by the rounding of ordinary numbers."""
Phi = Literal["relu", "identity"] | Tensor
"""The activation: relu, none, or a fixed pattern of zeros and ones with the shape of c."""


@dataclass(frozen=True)
class Equation:
    """z = phi(z M + c) with what is known of M, by proof or by estimate; solvers use it to choose, never to claim."""

    M: Tensor
    c: Tensor
    phi: Phi = "relu"
    contraction: float | None = None
    """q with ||M|| <= q; None: unknown."""
    monotone: float | None = None
    """m with sym(I - M) >= m I; None: unknown."""
    low: Tensor | None = None
    """With the relu: z = max(z M + c, low) in place of 0. A correction to a guess has this form."""
    size: Tensor | None = None
    """Per sample, the least size that residuals are compared with; it asks for less where less is needed."""

    def activate(self, total: Tensor) -> Tensor:
        """phi, in place."""
        if isinstance(self.phi, Tensor):
            return total.mul_(self.phi)
        if self.phi == "identity":
            return total
        return total.clamp_(min=0) if self.low is None else torch.maximum(total, self.low, out=total)

    def preactivation(self, Z: Tensor, out: Tensor | None = None) -> Tensor:
        """Z M + c: one product."""
        return torch.addmm(self.c, Z, self.M) if out is None else torch.mm(Z, self.M, out=out).add_(self.c)

    def layer(self, Z: Tensor, c: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """phi(Z M + c), with this c or another."""
        if c is not None:
            return replace(self, c=c).layer(Z, out=out)
        return self.activate(self.preactivation(Z, out))

    def active(self, Z: Tensor) -> Tensor:
        """D: 1 where the pre-activation at Z is positive, which at an equilibrium is where Z is (relu'(0) = 0)."""
        return (Z > 0).to(Z.dtype)

    def adjoint(self, active: Tensor, G: Tensor) -> Equation:
        """v = D (v M^T + G). The bounds on M are those of M^T."""
        return Equation(self.M.T, G, active.to(G.dtype), self.contraction, self.monotone)

    def start(self, given: Tensor | None) -> Tensor:
        """A copy of the guess, or phi(c), which is one layer from zero without a product."""
        return self.activate(self.c.clone()) if given is None else given.to(self.c.dtype).clone()

    def relative(self, gap: Tensor, image: Tensor) -> Tensor:
        """|gap| / |image| per sample; 0 where both are 0, and infinite where a number is not finite."""
        top = row_norm(gap)
        base = row_norm(image) if self.size is None else torch.maximum(row_norm(image), self.size)
        ratio = torch.where(top > 0, top / base, top)
        return torch.where(torch.isfinite(ratio), ratio, torch.full_like(ratio, math.inf))

    @property
    def contracts(self) -> bool:
        """Whether a layer is known not to increase the residual. A correction is judged later, so it need not be."""
        return self.size is not None or (self.contraction is not None and self.contraction <= 1)

    def better(self, Z: Tensor, image: Tensor) -> Tensor:
        """The image of Z where its residual is known to be no larger; else Z, whose residual was measured."""
        return image if self.contracts else Z

    @cached_property
    def frobenius(self) -> float:
        """||M||_F, the factor by which the rounding of a product with M grows."""
        return float(self.M.norm())

    def floor(self, Z: Tensor) -> Tensor:
        """Per sample, the relative residual that rounding alone can leave: about u (||M||_F |z| + |c|) / |z|.

        Where numbers are so small that they lose digits, every product may be off by the smallest of them.
        """
        kind = torch.finfo(self.c.dtype)
        base = row_norm(Z)
        noise = kind.eps * (self.frobenius * base + torch.minimum(row_norm(self.c), base))
        lost = kind.smallest_normal * kind.eps * self.M.shape[0] ** 1.5
        each = (noise / base).clamp_(max=HONEST) + lost / base
        return torch.where(base > 0, each, torch.zeros_like(base))

    def converged(self, residuals: list[float], Z: Tensor, each: Tensor, tolerance: float, window: int = 10) -> bool:
        """Whether every sample meets the tolerance, or is left with rounding and has stopped improving."""
        if residuals[-1] <= tolerance:
            return True
        if len(residuals) <= window or not residuals[-1] >= 0.7 * min(residuals[:-window]):
            return False
        floor = 4 * self.floor(Z)
        return bool((each <= torch.clamp(floor, min=tolerance)).all())

    @cached_property
    def least(self) -> tuple[float, float]:
        """The smallest entries of M and of c, in one pass that also finds what is not finite: then NaN."""
        return _least(self.M), _least(self.c)

    @property
    def finite(self) -> bool:
        """Whether M and c hold numbers."""
        return not (math.isnan(self.least[0]) or math.isnan(self.least[1]))

    @property
    def work(self) -> int:
        """Multiplications of one layer."""
        return int(self.c.shape[0]) * int(self.M.shape[0]) ** 2


def _least(x: Tensor) -> float:
    if x.numel() == 0:
        return 0.0
    low, high = (float(bound) for bound in torch.aminmax(x))
    return low if math.isfinite(low) and math.isfinite(high) else math.nan


def row_norm(x: Tensor) -> Tensor:
    """Euclidean norms of the rows, also where squares overflow or vanish."""
    norm: Tensor = torch.linalg.vector_norm(x, dim=1)
    if bool(((norm > 1e-150) & (norm < 1e150)).all()) or x.numel() == 0:
        return norm
    top = x.abs().amax(dim=1)
    safe = torch.where((top > 0) & torch.isfinite(top), top, torch.ones_like(top))
    scaled: Tensor = torch.linalg.vector_norm(x / safe[:, None], dim=1)
    return scaled * safe


def of(problem: Equation | ReluImplicit, start: Tensor | None) -> tuple[Equation, Tensor | None]:
    """An equation as it is; a relu model with its features Phi as the equation that it stands for, started at Phi."""
    if isinstance(problem, Equation):
        return problem, start
    if start is None:
        raise TypeError("a model needs its features Phi = relu(X W) as second argument")
    return Equation(problem.gamma * problem.A, start), start
