"""Choose the constants that a theorem leaves open.

This is a search, not a proof: it works on floats at the middle of the enclosures, and whatever it
returns is judged afterwards with the enclosures themselves. For the theorems of Gao & Gao every
logarithm of a right-hand side is convex in the logarithms of the constants, so the best worst margin
is a concave problem and Newton's method on a smoothed minimum finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol

from deqcheck.conditions.judge import oriented
from deqcheck.statement import Rule, Theorem

# Extended precision where the platform has it: conditions span hundreds of decades.
Floats = NDArray[np.longdouble]
Objective = Callable[[Floats], Floats]
Compiled = Callable[..., Sequence[object]]

LARGEST_SCALE = 40.0
"""Decades of scale that the search for beta goes up to."""
SAFE_MARGIN = 2e-5
"""Decades kept in hand at the smallest scale, so that enclosures of that width still decide."""


@dataclass(frozen=True)
class Landscape:
    """The margins and the rate of one theorem as vectorised functions of its free constants."""

    free: tuple[Symbol, ...]
    inputs: tuple[Symbol, ...]
    margin_of: Compiled
    rate_of: Compiled | None

    def margins(self, known: Mapping[Symbol, float], logs: Floats) -> Floats:
        """Margins in decades, one row per inequality, at each row of natural logs of the constants."""
        return self._call(self.margin_of, known, logs)

    def rate(self, known: Mapping[Symbol, float], logs: Floats) -> Floats:
        """log10 of the rate's gap at each row of natural logs."""
        assert self.rate_of is not None
        row: Floats = self._call(self.rate_of, known, logs)[0]
        return row

    def _call(self, f: Compiled, known: Mapping[Symbol, float], logs: Floats) -> Floats:
        fixed = [np.longdouble(known[s]) for s in self.inputs]
        with np.errstate(all="ignore"):
            out = f(*fixed, *np.exp(logs).T)
            rows = [np.broadcast_to(np.asarray(row, dtype=np.longdouble), logs.shape[:1]) for row in out]
        stack: Floats = np.stack(rows) if rows else np.zeros((0, len(logs)), dtype=np.longdouble)
        stack[np.isnan(stack)] = -np.inf
        return stack


@cache
def landscape(theorem: Theorem, pinned: frozenset[Symbol]) -> Landscape:
    """Compile the hypotheses that constrain the free constants.

    A condition that only limits a LARGEST choice from above can always be met by choosing it small,
    unless that choice is pinned; such conditions do not take part.
    """
    free = tuple(s for s, c in theorem.chosen.items() if c.rule is Rule.FREE and s not in pinned)
    steps = {s: c for s, c in theorem.chosen.items() if c.rule is Rule.LARGEST and s not in pinned}
    known = {*theorem.measured, *theorem.chosen} - set(free) - set(steps)
    inputs = tuple(sorted(known, key=lambda s: str(s.name)))
    rows: list[Expr] = []
    for hypothesis in theorem.hypotheses:
        if hypothesis.claim is None or hypothesis.claim.free_symbols & set(steps):
            continue
        larger, smaller = (theorem.expand(side) for side in oriented(hypothesis.claim))
        if smaller == 0:
            continue
        rows += [
            sympy.log(big, 10) - sympy.log(small, 10)
            for big, small in product(_branches(larger, sympy.Min), _branches(smaller, sympy.Max))
        ]
    arguments = (*inputs, *free)
    margin_of = sympy.lambdify(arguments, rows, modules="numpy", cse=True)
    rate_of = None
    if theorem.rate is not None:
        gap = theorem.rate.gap
        for symbol, choice in steps.items():
            claim = theorem.hypothesis(str(choice.of)).claim
            assert claim is not None
            gap = gap.subs(symbol, claim.rhs)
        decades = sympy.log(theorem.expand(gap), 10)
        rate_of = sympy.lambdify(arguments, [decades], modules="numpy", cse=True)
    return Landscape(free, inputs, margin_of, rate_of)


def _branches(expr: Expr, kind: type) -> list[Expr]:
    """c * Max(a, b) is below a bound when c * a and c * b are; a smooth function for each."""
    peaks = list(expr.atoms(kind))
    if not peaks:
        return [expr]
    peak = peaks[0]
    return [b for arg in peak.args for b in _branches(expr.xreplace({peak: arg}), kind)]


# --- concave maximisation ----------------------------------------------------------------------------


def _newton(objective: Objective, start: Floats, step: float, rounds: int = 60) -> Floats:
    """Damped Newton ascent with derivatives by central differences, all points in one call."""
    x: Floats = start
    n = start.size
    units = np.eye(n, dtype=np.longdouble) * step
    for _ in range(rounds):
        pairs = [(i, j) for i in range(n) for j in range(i)]
        stencil = [x, *(x + u for u in units), *(x - u for u in units)]
        stencil += [x + s * units[i] + t * units[j] for i, j in pairs for s in (1, -1) for t in (1, -1)]
        values = objective(np.stack(stencil))
        if not np.all(np.isfinite(values)):
            step /= 4
            units = units / 4
            if step < 1e-9:
                return x
            continue
        here, up, down = values[0], values[1 : n + 1], values[n + 1 : 2 * n + 1]
        gradient = ((up - down) / (2 * step)).astype(np.float64)
        hessian = np.diag((up - 2 * here + down) / step**2).astype(np.float64)
        for number, (i, j) in enumerate(pairs):
            pp, pm, mp, mm = values[2 * n + 1 + 4 * number : 2 * n + 5 + 4 * number]
            hessian[i, j] = hessian[j, i] = (pp - pm - mp + mm) / (4 * step**2)
        curvature, axes = np.linalg.eigh(hessian)
        bent = -np.maximum(np.abs(curvature), 1e-3)
        direction = -axes @ ((axes.T @ gradient) / bent)
        direction *= min(1.0, 20 / max(1e-300, float(np.abs(direction).max())))
        lengths = 0.5 ** np.arange(0, 30, dtype=np.longdouble)
        trials = x + lengths[:, None] * direction
        results = objective(trials)
        best = int(np.nanargmax(np.where(np.isnan(results), -np.inf, results)))
        if not results[best] > here + 1e-15 * abs(here):
            return x
        gain = results[best] - here
        x = trials[best]
        if gain < 1e-12:
            return x
    return x


def _starts(n: int) -> Floats:
    """A spread of starting points over the decades, every constant at its own size."""
    if n == 0:
        return np.zeros((1, 0), dtype=np.longdouble)
    decades = np.arange(-40, 41, 4 if n < 3 else 8, dtype=np.longdouble)
    if n > 3:
        decades = np.arange(-24, 25, 8, dtype=np.longdouble)
    grid = np.array(list(product(decades, repeat=min(n, 5))), dtype=np.longdouble)
    if n > 5:
        grid = np.concatenate([grid, np.repeat(grid[:, -1:], n - 5, axis=1)], axis=1)
    logs: Floats = grid * np.log(np.longdouble(10))
    return logs


def best_worst_margin(
    land: Landscape, known: Mapping[Symbol, float], start: Floats | None = None
) -> tuple[float, Floats]:
    """The largest worst margin found, in decades, and where (natural logs of the constants)."""

    def worst(points: Floats) -> Floats:
        low: Floats = np.min(land.margins(known, points), axis=0, initial=np.inf)
        return low

    n = len(land.free)
    x = start
    if x is None or not np.isfinite(worst(x[None])[0]):
        grid = _starts(n)
        x = grid[int(np.argmax(worst(grid)))]
    if n:
        for temperature in (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5):

            def smooth(points: Floats, T: float = temperature) -> Floats:
                rows = land.margins(known, points)
                with np.errstate(all="ignore"):
                    low = np.min(rows, axis=0)
                    soft: Floats = low - T * np.log(np.sum(np.exp(-(rows - low) / T), axis=0))
                return soft

            moved = _newton(smooth, x, step=min(1e-2, temperature))
            if worst(moved[None])[0] >= worst(x[None])[0]:
                x = moved
    return float(worst(x[None])[0]), x


def best_rate(land: Landscape, known: Mapping[Symbol, float], start: Floats) -> Floats:
    """From a point inside, climb the rate while a barrier keeps every margin positive."""
    if land.rate_of is None or not len(start):
        return start
    x = start
    for weight in (1.0, 0.1, 0.01, 1e-3, 1e-4):

        def inside(points: Floats, w: float = weight) -> Floats:
            rows = land.margins(known, points)
            with np.errstate(all="ignore"):
                barrier = np.where(rows > 0, np.log(np.maximum(rows, 1e-300)), -np.inf).sum(axis=0)
                value: Floats = land.rate(known, points) + w * barrier
            return value

        x = _newton(inside, x, step=1e-4)
    margins = land.margins(known, x[None])
    return x if np.all(margins > 0) else start


def choose_constants(
    theorem: Theorem, known: Mapping[Symbol, float], pinned: frozenset[Symbol]
) -> tuple[dict[Symbol, float], float]:
    """Values for the free constants, and the worst margin they reach in decades."""
    land = landscape(theorem, pinned)
    margin, x = best_worst_margin(land, known)
    if margin > 1e-6:
        x = best_rate(land, known, x)
    values = (float(v) for v in np.exp(x))
    return dict(zip(land.free, values, strict=True)), margin


def smallest_scale(land: Landscape, predict: Callable[[float], Mapping[Symbol, float]]) -> tuple[float | None, float]:
    """The smallest beta >= 1 at which the best worst margin is positive, and that margin.

    (None, best margin seen) if no beta up to 10^LARGEST_SCALE does it.
    """
    start: Floats | None = None

    def reach(decades: float) -> float:
        nonlocal start
        margin, start = best_worst_margin(land, predict(10.0**decades), start)
        return margin - SAFE_MARGIN

    low, high, at_low = 0.0, 0.0, reach(0.0)
    if at_low >= 0:
        return 1.0, at_low
    best = at_low
    while True:
        high = low + (0.5 if low < 8 else 2.0)
        at_high = reach(high)
        best = max(best, at_high)
        if at_high >= 0:
            break
        low, at_low = high, at_high
        if high >= LARGEST_SCALE:
            return None, best
    while high - low > 1e-5:
        slope = (at_high - at_low) / (high - low) if math.isfinite(at_low) else math.nan
        middle = low - at_low / slope + 2e-6 if slope > 0 else (low + high) / 2
        middle = min(max(middle, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = reach(middle)
        if value >= 0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return rounded_up(10.0**high), reach(high)


def rounded_up(x: float, digits: int = 4) -> float:
    """x rounded up to a few significant digits: readable, and a hair on the safe side."""
    unit = 10.0 ** (math.floor(math.log10(x)) - digits + 1)
    return float(f"{math.ceil(x / unit) * unit:.{digits}g}")
