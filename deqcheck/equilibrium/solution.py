"""What a solver returns: a guess and how it was reached. Proofs come afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


class NotConverged(Exception):  # noqa: N818 - a state of the world, not a programming error
    """The iteration ended above its tolerance; carries the residuals so that they can be shown."""

    def __init__(self, method: str, residuals: tuple[float, ...]) -> None:
        self.method, self.residuals = method, residuals
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

    @property
    def iterations(self) -> int:
        """How many times the layer was applied."""
        return len(self.residuals)
