"""The rate that a run shows, beside the one that is guaranteed. All of it is floats and says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from deqcheck.enclosure import Enclosure
from deqcheck.trajectory.value import Fit

VISIBLE = 1e-11
"""A change of log loss below this, over the steps that are fitted, is rounding."""
CONVERGED = 1e-24
"""Below this share of its initial value the loss is the square of rounding errors."""
SHARES = ("1e-3", "1e-6")


def fitted(loss: Sequence[float], times: Sequence[float], per: str, noise: float) -> tuple[Fit, float] | None:
    """The fit and its slope in log loss; None where the loss does not visibly move. `noise`: what L* leaves open."""
    least = max(CONVERGED * loss[0], 1e3 * noise)
    end = next((k for k, x in enumerate(loss) if not x > least), len(loss))
    start = end // 2
    if end - start < 2:
        return None
    xs, ys = times[start:end], [math.log(x) for x in loss[start:end]]
    if not abs(ys[-1] - ys[0]) > VISIBLE + noise / loss[end - 1]:
        return None
    middle, height = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - middle) ** 2 for x in xs)
    slope = math.fsum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / spread
    ratios = [after / before for before, after in pairwise(loss[:end])]
    gap = -math.expm1(slope) if per == "step" else -slope
    return Fit(gap, start, end - 1, min(ratios), max(ratios)), slope


def over_measured(decay: Enclosure | None, slope: float) -> str | None:
    """Guaranteed over measured decay as a decimal, whatever its exponent; None where the loss did not fall."""
    if decay is None or not slope < 0:
        return None
    return (decay / Enclosure.exact(-slope)).decimals(4)[1]


def reached(loss: Sequence[float], times: Sequence[float]) -> Mapping[str, float | None]:
    """When the loss first was below a share of its initial value."""
    return {
        share: next((t for x, t in zip(loss, times, strict=True) if x <= float(share) * loss[0]), None)
        for share in SHARES
    }
