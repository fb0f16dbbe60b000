"""Where along one setting or constant every hypothesis holds: a scan, then bisection between verdicts.

Each value tried is a full certified check, so both ends of a bracket are proved; that nothing happens
between the values of the scan is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from deqcheck import check, library
from deqcheck.error import InputError, unknown
from deqcheck.family import Family, load
from deqcheck.statement import Rule, Status, Theorem
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from deqcheck.verdict import Result

SCAN = 13
"""Values of the first scan."""
CLOSE = 1.01
"""Bisection stops when the two ends of a bracket are this close in ratio."""
SPANS: Mapping[str, tuple[float, float]] = {
    "scale": (1e-3, 1e12),
    "eta": (1e-40, 1e3),
    "gamma": (1e-3, 1e3),
    "width": (8, 1024),
    "samples": (1, 512),
    "dim": (1, 512),
}
DEFAULT_SPAN = (1e-9, 1e9)


@dataclass(frozen=True)
class Tried:
    """One value and what the check said; `worst` is the hypothesis with the smallest margin."""

    value: float
    truth: Truth
    worst: str
    margin: float | None
    why: str = ""


@dataclass(frozen=True)
class Threshold:
    """The values tried, in order, and the brackets between certified verdicts."""

    key: str
    source: str
    vary: str
    tried: tuple[Tried, ...]
    never: str = ""
    """Why nothing can work, where that is known."""

    @property
    def holds(self) -> tuple[float, float] | None:
        """The smallest and the largest value at which everything is certified to hold."""
        good = [t.value for t in self.tried if t.truth is HOLDS]
        return (min(good), max(good)) if good else None

    def neighbour(self, value: float, step: int) -> Tried | None:
        """The value tried next to `value`, below (-1) or above (+1)."""
        place = [t.value for t in self.tried].index(value) + step
        return self.tried[place] if 0 <= place < len(self.tried) else None


def threshold(
    key: str,
    vary: str,
    given: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
    *,
    low: str | None = None,
    high: str | None = None,
    device: str = "auto",
    show: check.Progress = check.silent,
) -> Threshold:
    """Scan `vary` over its range by ratio and bisect every change of verdict."""
    theorem = library.theorem(key)
    given, pins = dict(given or {}), dict(pins or {})
    as_pin = _is_constant(theorem, load(theorem.family), vary)
    if vary in given or vary in pins:
        raise InputError(f"{vary} is varied here, so it cannot be given a value as well.")
    span = SPANS.get(vary, DEFAULT_SPAN)
    start, stop = (_bound(vary, text, usual) for text, usual in zip((low, high), span, strict=True))
    if not 0 < start < stop:
        raise InputError(f"the range of {vary} must be positive and increasing, not {start:g} to {stop:g}.")
    whole = vary in ("width", "samples", "dim", "seed")
    seen: dict[float, Tried] = {}

    def attempt(value: float) -> Tried:
        if value not in seen:
            show(f"{vary} = {value:g}")
            text = str(int(value)) if whole else repr(value)
            try:
                result = check.verify(
                    key, given if as_pin else {**given, vary: text}, {**pins, vary: text} if as_pin else pins, device
                )
                seen[value] = _summary(value, result)
            except InputError as refusal:
                seen[value] = Tried(value, UNDECIDED, "", None, str(refusal))
        return seen[value]

    values = [_snap(start * (stop / start) ** (i / (SCAN - 1)), whole) for i in range(SCAN)]
    row = [attempt(v) for v in dict.fromkeys(values)]
    if all(t.why for t in row):
        raise InputError(row[-1].why)
    for before, after in pairwise(row):
        if (before.truth is HOLDS) != (after.truth is HOLDS):
            _bisect(before, after, attempt, whole)
    return Threshold(key, str(theorem.source), vary, tuple(seen[v] for v in sorted(seen)), theorem.never)


def _bisect(low: Tried, high: Tried, attempt: Callable[[float], Tried], whole: bool) -> None:
    while high.value / low.value > CLOSE:
        middle = _snap(math.sqrt(low.value * high.value), whole)
        if middle in (low.value, high.value):
            if not whole or high.value - low.value <= 1:
                return
            middle = low.value + 1
        between = attempt(middle)
        if (between.truth is HOLDS) == (low.truth is HOLDS):
            low = between
        else:
            high = between


def _summary(value: float, result: Result) -> Tried:
    """The hypothesis that binds: the worst margin among those that are not met by choosing a step."""
    lines = [h for h in result.hypotheses if h.verdict is not None and h.status is not Status.CHOSEN]
    truths = {h.verdict for h in lines}
    truth = FAILS if FAILS in truths else UNDECIDED if UNDECIDED in truths else HOLDS
    bad = [h for h in lines if h.verdict is not HOLDS]
    with_margin = [h for h in bad or lines if h.margin is not None]
    worst = min(with_margin, key=lambda h: h.margin or 0.0, default=None)
    if worst is None:
        return Tried(value, truth, bad[0].id if bad else "", None)
    return Tried(value, truth, worst.id, worst.margin)


def _is_constant(theorem: Theorem, family: Family, name: str) -> bool:
    """Whether `name` is a constant of the statement (pinned) rather than a setting of the instance."""
    settings = {s.name for s in family.settings if not s.special or s.name in theorem.settings}
    constants = {s.name.replace("_", "") for s, c in theorem.chosen.items() if c.rule is not Rule.FIXED}
    if name in settings - {"data", "classes", "init", "seed"}:
        return False
    if name.replace("_", "") in constants:
        return True
    raise unknown(f"thing to vary in {theorem.key}", name, settings | {s.name for s in theorem.chosen})


def _bound(name: str, text: str | None, usual: float) -> float:
    if text is None:
        return usual
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the range of {name} must be numbers, not {text!r}.") from None


def _snap(value: float, whole: bool) -> float:
    return float(round(value)) if whole else float(f"{value:.4g}")
