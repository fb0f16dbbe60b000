"""Anderson acceleration: Picard with memory, for contractions close to 1."""

from __future__ import annotations

import torch
from torch import Tensor

from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit


def solve(
    model: ReluImplicit,
    Phi: Tensor,
    tolerance: float = 1e-14,
    limit: int = 500,
    memory: int = 6,
    ridge: float = 1e-12,
) -> Solution:
    """Mix the last `memory` iterates, one mixture for all samples, by regularised least squares."""
    Z = Phi
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    residuals: list[float] = []
    for _ in range(limit):
        after = model.layer(Z, Phi)
        size = float(after.abs().max())  # not a sum of squares, which overflows first
        residuals.append(float((after - Z).abs().max()) / size if size > 0 else 0.0)
        floor = residuals[-1] < 1e-12 and len(residuals) > 10 and residuals[-1] >= residuals[-6]
        if residuals[-1] <= tolerance or floor:
            return Solution(after, "Anderson", tuple(residuals))
        if not residuals[-1] < float("inf"):
            break
        inputs, outputs = [*inputs, Z][-memory:], [*outputs, after][-memory:]
        Z = _mix(inputs, outputs, ridge)
    raise NotConverged("Anderson acceleration", tuple(residuals))


def _mix(inputs: list[Tensor], outputs: list[Tensor], ridge: float) -> Tensor:
    gaps = torch.stack([(g - z).reshape(-1) for z, g in zip(inputs, outputs, strict=True)])
    gram = gaps @ gaps.T
    gram = gram + ridge * gram.diagonal().max() * torch.eye(len(gaps), dtype=gaps.dtype, device=gaps.device)
    ones = torch.ones(len(gaps), 1, dtype=gaps.dtype, device=gaps.device)
    weights = torch.linalg.lstsq(gram.cpu(), ones.cpu()).solution[:, 0]
    weights = weights / weights.sum()
    return torch.stack([w * g for w, g in zip(weights.tolist(), outputs, strict=True)]).sum(dim=0)
