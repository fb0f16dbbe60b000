"""Fixed points from a warm start: what one training step needs of the forward and of the adjoint equation.

Along a trajectory the last equilibrium is a good guess, and its residual is small but not structured. Anderson
mixing then needs a handful of layers where plain iteration needs dozens. Nothing is proved here; certified steps
enclose the equilibrium afterwards.

Large equations are solved by refinement: the residual of the guess is computed once in float64, the correction,
which is small, in float32. The correction d of z = s max(z R + c, 0) itself solves d = max(r + d R s, -z), where r is
the residual before the maximum; so no digit is lost by working with d alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from deqcheck.equilibrium.solution import NotConverged

TOLERANCE = 1e-11
"""Relative residual of a solve along the trajectory."""
MEMORY = 5
RIDGE = 1e-14
PATIENCE, HOPELESS = 150, 1e-2
"""After so many iterations a relative residual that was never below this means that there is no contraction."""
FEW, SHORT_RIDGE = 4, 1e-7
"""Memory and ridge in float32."""
GROWN = 1e6
"""A residual this many times the first one means that the iteration diverges."""
ROUNDED = 5e-7
"""What float32 products leave of a correction, relative to it."""


def fixed_point(
    f: Callable[[Tensor], Tensor], start: Tensor, what: str, tolerance: float = TOLERANCE, limit: int = 1000
) -> Tensor:
    """z with ||f(z) - z|| <= tolerance ||f(z)||, or at the rounding floor just above it."""
    z, best = start, math.inf
    mixer = Mixer(MEMORY, RIDGE)
    residuals: list[float] = []
    for _ in range(limit):
        image = f(z)
        gap = image - z
        square, size = _dot(gap, gap), float(image.norm())
        residuals.append(math.sqrt(square) / size if size > 0 else math.sqrt(square))
        floor = residuals[-1] < 20 * tolerance and len(residuals) > 12 and residuals[-1] >= min(residuals[-12:-6])
        if residuals[-1] <= tolerance or floor:
            return image
        if not residuals[-1] < math.inf or (len(residuals) > PATIENCE and best > HOPELESS):
            break
        if residuals[-1] > 4 * best:  # a bad mixture: forget it and let the contraction work
            mixer.forget()
        best = min(best, residuals[-1])
        z = mixer.mixed(image, gap, square, torch.empty_like(image))
    raise NotConverged(what, tuple(residuals))


@dataclass
class Correction:
    """d = max(r + d M, low) entry by entry, or d = r + (d M^T) mask, in float32 with buffers that are used again."""

    shape: tuple[int, int]
    device: str
    rest: Tensor = field(init=False)
    """M."""
    r: Tensor = field(init=False)
    other: Tensor = field(init=False)
    """`low` of the relu equation, `mask` of the adjoint one."""
    _z: Tensor = field(init=False)
    _images: Tensor = field(init=False)
    _gaps: Tensor = field(init=False)
    """One iterate per row, so that all products with a new one are one pass."""

    def __post_init__(self) -> None:
        n, m = self.shape

        def room(*size: int) -> Tensor:
            return torch.zeros(*size, dtype=torch.float32, device=self.device)

        self.rest, self.r, self.other, self._z = room(m, m), room(n, m), room(n, m), room(n, m)
        self._images, self._gaps = room(FEW, n * m), room(FEW, n * m)

    def solve(self, relu: bool, goal: float, what: str, limit: int = 400) -> tuple[Tensor, float, int]:
        """The correction, an estimate of its error, and the products taken.

        `goal` is the absolute error to reach; float32 may leave more than that, and the estimate then says so.
        The correction lives in a buffer that the next call writes over.
        """
        z = self._z
        if relu:
            torch.maximum(self.r, self.other, out=z)
        else:
            z.copy_(self.r)
        first = float(z.norm())
        residuals: list[float] = [first]
        kept: list[int] = []
        gram = torch.zeros(FEW, FEW, dtype=torch.float64)
        q = 0.5
        for count in range(1, limit + 1):
            slot = count % FEW
            image, gap = self._images[slot].view(self.shape), self._gaps[slot].view(self.shape)
            self._layer(relu, z, image)
            torch.sub(image, z, out=gap)
            residuals.append(float(gap.norm()))
            if not residuals[-1] <= GROWN * first:
                break
            if count == 1 and first > 0:  # no mixture yet: the factor by which plain iteration shrinks this error
                q = min(0.95, max(0.3, residuals[-1] / first))
            floor = ROUNDED * float(image.norm())
            error = residuals[-1] * q / (1 - q)
            if error <= max(goal, floor):
                return image, max(error, floor), count
            stuck = count > 40 and residuals[-1] > 0.5 * min(residuals[-20:-10])
            if stuck and residuals[-1] > 0.1 * first:
                break
            if residuals[-1] > 4 * min(residuals[:-1]):
                kept = []
            kept = [k for k in kept if k != slot] + [slot]
            gram[slot] = gram[:, slot] = torch.mv(self._gaps, self._gaps[slot]).double().cpu()
            weights = _weights(gram[kept][:, kept], SHORT_RIDGE)
            if weights is None:
                z.copy_(image)
                continue
            spread = torch.zeros(FEW, dtype=torch.float32, device=self.device)
            spread[kept] = weights.to(spread)
            torch.mv(self._images.T, spread, out=z.view(-1))
        for buffer in (self._images, self._gaps):  # a weight of zero does not hide what is not finite
            buffer.zero_()
        raise NotConverged(what, tuple(r / first if first > 0 else r for r in residuals))

    def _layer(self, relu: bool, z: Tensor, out: Tensor) -> None:
        if relu:
            torch.addmm(self.r, z, self.rest, out=out)
            torch.maximum(out, self.other, out=out)
        else:
            torch.mm(z, self.rest.T, out=out)
            out.mul_(self.other).add_(self.r)


@dataclass
class Mixer:
    """Anderson mixing: the affine combination of the last images whose combined residual is smallest."""

    memory: int
    ridge: float
    kept: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    gram: list[list[float]] = field(default_factory=list)

    def forget(self) -> None:
        """Let the contraction work alone again."""
        self.kept, self.gram = [], []

    def take(self) -> tuple[Tensor, Tensor]:
        """Drop the oldest pair and hand its tensors over."""
        oldest, *self.kept = self.kept
        self.gram = [row[1:] for row in self.gram[1:]]
        return oldest

    def mixed(self, image: Tensor, gap: Tensor, square: float, out: Tensor) -> Tensor:
        """Keep the pair and write the mixture to `out`."""
        if len(self.kept) == self.memory:
            self.take()
        column = [_dot(gap, other) for _, other in self.kept]
        self.kept = [*self.kept, (image, gap)]
        self.gram = [[*row, x] for row, x in zip(self.gram, column, strict=True)] + [[*column, square]]
        found = _weights(torch.tensor(self.gram, dtype=torch.float64), self.ridge)
        if found is None:
            return out.copy_(image)
        *older, newest = found.tolist()
        torch.mul(image, newest, out=out)
        for w, (before, _) in zip(older, self.kept[:-1], strict=True):
            out.add_(before, alpha=w)
        return out


def _weights(gram: Tensor, ridge: float) -> Tensor | None:
    """The affine combination of residuals with these inner products that is shortest; None for the newest alone."""
    if gram.shape[0] == 1:
        return None
    # The residuals span decades: scaled to length 1 they are told apart by their directions.
    lengths = gram.diagonal().sqrt()
    scaled = gram / (lengths[:, None] * lengths)
    scaled.diagonal().add_(ridge)
    weights: Tensor = torch.linalg.solve_ex(scaled, 1 / lengths)[0] / lengths
    weights = weights / weights.sum()
    return weights if bool(torch.isfinite(weights).all()) else None


def _dot(x: Tensor, y: Tensor) -> float:
    return float(torch.dot(x.reshape(-1), y.reshape(-1)))
