"""The scaling law of a theorem under its paper's initialisation: which side of a hypothesis wins as the instance grows?

Predicted from the exponents of the measured quantities, and confirmed by measuring the sides at several sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Rational, Symbol

from deqcheck import check, library
from deqcheck.audit.problem import is_strict
from deqcheck.statement import Growth, Rule, Theorem
from deqcheck.verdict import Result

TOLERANCE = 0.25
"""A measured exponent further than this from the predicted one does not confirm it: the sizes are finite."""
FAR = 10**400
"""Large enough that lower powers have died out, whatever the constants in front of them."""


@dataclass(frozen=True)
class Law:
    """One hypothesis as one size grows."""

    hypothesis: str
    vary: str
    larger: Rational
    smaller: Rational
    """Predicted exponents of the side that should be larger, and of the other."""
    measured_larger: float | None
    measured_smaller: float | None
    sizes: tuple[int, ...]

    @property
    def confirmed(self) -> bool:
        """Whether both measured exponents are close to the predicted ones."""
        pairs = ((self.larger, self.measured_larger), (self.smaller, self.measured_smaller))
        return all(seen is not None and abs(seen - float(said)) <= TOLERANCE for said, seen in pairs)

    @property
    def says(self) -> str:
        """Which side wins, in words."""
        size, letter = {"width": ("width", "m"), "samples": ("number of samples", "N")}[self.vary]
        if self.larger > self.smaller:
            return f"a larger {size} helps: the margin grows as {letter}^({self.larger - self.smaller})"
        if self.larger == self.smaller:
            return f"both sides grow alike: no {size} helps or hurts"
        return f"a larger {size} hurts: the margin shrinks as {letter}^(-{self.smaller - self.larger})"

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "hypothesis": self.hypothesis,
            "vary": self.vary,
            "predicted": {"larger": str(self.larger), "smaller": str(self.smaller)},
            "measured": {"larger": _rounded(self.measured_larger), "smaller": _rounded(self.measured_smaller)},
            "sizes": list(self.sizes),
            "confirmed": self.confirmed,
            "says": self.says,
        }


def laws(key: str) -> list[dict[str, Any]]:
    """Every law of one theorem; none where the paper has no initialisation to scale."""
    theorem = library.theorem(key)
    growth = theorem.growth
    if growth is None or ":" in key:  # a variant inherits the growth of the print, and adds no law of the paper
        return []
    return [
        law.document()
        for vary, base, sizes in (("width", growth.width, growth.widths), ("samples", growth.samples, growth.counts))
        for law in _laws(theorem, growth, vary, base, sizes)
    ]


def _laws(theorem: Theorem, growth: Growth, vary: str, base: Mapping[str, str], sizes: tuple[int, ...]) -> list[Law]:
    """Measure at every size, with the free constants growing as they are said to."""
    index = 0 if vary == "width" else 1
    first = check.verify(theorem.key, {**base, vary: str(sizes[0])}, device="cpu")
    start = {c.name: c.value for c in first.constants}
    free = [s for s, c in theorem.chosen.items() if c.rule is Rule.FREE]
    runs = []
    for size in sizes:
        pins = {
            s.name: repr(start[s.name] * (size / sizes[0]) ** float(growth.powers.get(s, (0, 0))[index])) for s in free
        }
        runs.append(check.verify(theorem.key, {**base, vary: str(size)}, pins, device="cpu"))
    found = []
    for hypothesis in theorem.hypotheses:
        claim = hypothesis.claim
        if claim is None or not theorem.expand(claim).free_symbols & set(growth.powers) or _is_sign(theorem, claim):
            continue
        predicted = [exponent(theorem, growth, side, index, first, start) for side in (claim.lhs, claim.rhs)]
        seen = [slope(sizes, [_side(run, hypothesis.id, k) for run in runs]) for k in (0, 1)]
        if isinstance(claim, sympy.LessThan | sympy.StrictLessThan):
            predicted, seen = predicted[::-1], seen[::-1]
        found.append(Law(hypothesis.id, vary, predicted[0], predicted[1], seen[0], seen[1], sizes))
    return found


def _is_sign(theorem: Theorem, claim: Any) -> bool:
    """A sign has no scaling law, and neither has a step that is chosen to satisfy its own bound."""
    steps = {s for s, c in theorem.chosen.items() if c.rule is Rule.LARGEST}
    return bool((is_strict(claim) and 0 in (claim.lhs, claim.rhs)) or claim.free_symbols & steps)


def exponent(
    theorem: Theorem, growth: Growth, side: Expr, index: int, first: Result, start: Mapping[str, float]
) -> Rational:
    """lim log(side) / log(t) as every symbol grows like t to its power, from the values of the first instance."""
    values = {q.name: q.value.midpoint() for q in first.quantities}
    at: dict[Symbol, Expr] = {}
    t = Symbol("t", positive=True)
    for symbol, quantity in theorem.measured.items():
        at[symbol] = Rational(values[quantity.name]) * t ** growth.powers.get(symbol, (0, 0))[index]
    for symbol in theorem.chosen:
        at[symbol] = Rational(start[symbol.name]) * t ** growth.powers.get(symbol, (0, 0))[index]
    expr = theorem.expand(side).subs(at)
    near, far = (sympy.N(expr.subs(t, sympy.Integer(FAR) ** k), 60) for k in (1, 2))
    if not (near.is_real and far.is_real and near > 0 and far > 0):
        return Rational(0)
    return Rational(sympy.nsimplify(sympy.N(sympy.log(far / near) / sympy.log(FAR), 20), tolerance=Rational(1, 10**6)))


def _side(run: Result, number: str, side: int) -> float:
    line = next(h for h in run.hypotheses if h.id == number)
    value = (line.lhs, line.rhs)[side]
    return math.nan if value is None else value.midpoint()


def slope(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """Least squares of log value on log size; None where a value is not positive."""
    if not all(0 < v < math.inf for v in values):
        return None
    xs, ys = [math.log(s) for s in sizes], [math.log(v) for v in values]
    middle, height = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - middle) ** 2 for x in xs)
    return math.fsum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / spread


def _rounded(x: float | None) -> float | None:
    return None if x is None else round(x, 3)
