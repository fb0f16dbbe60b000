"""What is measured on an instance, one function per quantity, each returning an enclosure.

Importing this package does not import torch: statements refer to quantities, and listing statements
must be quick. A quantity receives a point (see deqcheck.family) and an effort.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deqcheck.enclosure import Enclosure
from deqcheck.statement import Evidence, Quantity

Measure = Callable[[Any, int], Enclosure]
Scaled = Callable[[Any, float, float], float]


def quantity(
    name: str,
    text: str,
    latex: str,
    meaning: str,
    scaled: Scaled | None = None,
    evidence: Evidence = Evidence.PROOF,
) -> Callable[[Measure], Quantity]:
    """Turn a measuring function into a Quantity, keeping its notation beside its code."""

    def wrap(measure: Measure) -> Quantity:
        return Quantity(name, text, latex, meaning, measure, scaled, evidence)

    return wrap


def degree(k: int) -> Scaled:
    """A quantity that is multiplied by beta^k when the parameters are multiplied by beta."""
    return lambda _point, value, beta: value * beta**k
