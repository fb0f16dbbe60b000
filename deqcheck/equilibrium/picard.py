"""Plain fixed-point iteration from Z = 0: the sequence of the papers, linear at the contraction rate."""

from __future__ import annotations

from torch import Tensor

from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.relu import ReluImplicit


def solve(model: ReluImplicit, Phi: Tensor, tolerance: float = 1e-14, limit: int = 10_000) -> Solution:
    """Iterate until the step is below `tolerance` relative to the iterate."""
    Z, residuals = Phi, []
    for _ in range(limit):
        after = model.layer(Z, Phi)
        size = float(after.abs().max())  # not a sum of squares, which overflows first
        residuals.append(float((after - Z).abs().max()) / size if size > 0 else 0.0)
        Z = after
        if residuals[-1] <= tolerance:
            return Solution(Z, "Picard", tuple(residuals))
        if not residuals[-1] < float("inf"):
            break
        # At the rounding floor the residual stops falling; the proof measures what is left.
        if len(residuals) > 20 and residuals[-1] < 1e-12 and residuals[-1] >= min(residuals[-20:-10]):
            return Solution(Z, "Picard", tuple(residuals))
    raise NotConverged("Picard iteration", tuple(residuals))
