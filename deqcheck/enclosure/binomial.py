"""The exact (Clopper-Pearson) confidence interval of a probability."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from deqcheck.enclosure.interval import Enclosure

LEVEL = Fraction(1, 1000)
"""The chance, at most, that an interval misses the probability it is about."""


def clopper_pearson(least: int, most: int, trials: int, level: Fraction = LEVEL) -> Enclosure:
    """What `trials` independent trials say of a probability, with between `least` and `most` successes.

    A trial whose outcome could not be decided counts as a failure in `least` and as a success in
    `most`. The ends are rounded outward, so the coverage is at least 1 - `level`.
    """
    if not 0 <= least <= most <= trials or trials < 1:
        raise ValueError(f"{least} to {most} successes in {trials} trials make no sense")
    tail = arb(fmpq(level.numerator, level.denominator)) / 2
    lower = arb(0) if least == 0 else _quantile(least, trials - least + 1, tail, up=False)
    upper = arb(1) if most == trials else _quantile(most + 1, trials - most, 1 - tail, up=True)
    return Enclosure(lower, upper)


def _quantile(a: int, b: int, level: arb, up: bool) -> arb:
    """A number certainly below (or, with `up`, above) the x at which I_x(a, b) = level."""
    lo, hi = arb(0), arb(1)
    for _ in range(50):
        middle = ((lo + hi) / 2).mid()
        value = arb(middle).beta_lower(a, b, 1)
        if value < level:
            lo = middle
        elif value > level:
            hi = middle
        else:
            break
    return hi if up else lo
