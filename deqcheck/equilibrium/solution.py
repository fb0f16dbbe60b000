"""What a solver returns: a guess and how it was reached. Proofs come afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


class NotConverged(Exception):  # noqa: N818 - a state of the world, not a programming error
    """The iteration ended above its tolerance; carries the residuals so that they can be shown."""

    def __init__(self, method: str, residuals: tuple[float, ...], Z: Tensor | None = None) -> None:
        self.method, self.residuals = method, residuals
        self.Z = Z
        """The last iterate, from which another method may go on; None if there is none worth it."""
        last = residuals[-1] if residuals else float("nan")
        super().__init__(
            f"{method} did not reach the equilibrium: relative residual {last:.2e} after {len(residuals)} iterations"
        )


@dataclass(frozen=True)
class Solution:
    """An approximate equilibrium, with the relative residual after each iteration."""

    Z: Tensor
    method: str
    residuals: tuple[float, ...]
    """The largest over the samples, once per evaluation of the layer that was checked."""
    per_sample: Tensor | None = None
    """The last relative residual of each sample; None where the method gives no iteration to measure."""
    products: tuple[int, int] = (0, 0)
    """Products of all samples with an m x m matrix: in the precision of the equation, and in float32 below it."""

    @property
    def iterations(self) -> int:
        """How many times the layer was applied."""
        return sum(self.products) or len(self.residuals)
