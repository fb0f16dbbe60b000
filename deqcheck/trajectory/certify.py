"""The conclusions of a theorem at one point of a trajectory, decided at enclosures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Symbol

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.evaluate import decide, evaluate, sides
from deqcheck.statement import Conclusion, Theorem
from deqcheck.trajectory.model import Tensors, Training, Warm, due, infimum
from deqcheck.trajectory.value import Bounds, Line, Mark
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth

DIGITS = 20
EFFORTS = (rigor.CHEAP, rigor.THOROUGH, rigor.PRECISE)


def ends(x: Enclosure) -> Bounds:
    """Decimal strings rounded outward."""
    return x.decimals(DIGITS)


@dataclass
class Promise:
    """What the theorem says of every later time, given what was measured at the start."""

    theorem: Theorem
    training: Training
    origin: Any
    values: Mapping[Symbol, Enclosure]
    point: Any = None
    """The point that was certified last."""
    found: dict[Symbol, Enclosure] = field(default_factory=dict)
    """What was measured there."""
    _initial: dict[int, Enclosure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.theorem.rate is not None
        self.gap = evaluate(self.theorem.rate.gap, self.values)
        self.floor = infimum(self.theorem, self.values)

    @property
    def decay(self) -> Enclosure | None:
        """The guaranteed decrease of log loss per step or unit time; None where the formula means nothing."""
        if not self.gap.is_finite or (self.gap >= 0) is not HOLDS:
            return None
        if self.theorem.rate is not None and self.theorem.rate.per == "unit time":
            return self.gap
        return -((-self.gap).log1p()) if (self.gap < 1) is HOLDS else None

    def initial(self, effort: int) -> Enclosure:
        """The loss at the start."""
        if effort not in self._initial:
            self._initial[effort] = self.training.loss(self.origin, effort)
        return self._initial[effort]

    def bound(self, time: float, effort: int = rigor.CHEAP) -> Enclosure | None:
        """(1 - gap)^k L(0), or exp(-gap t) L(0), above the infimum; a gap of 1e-16 is not lost in 1 - gap."""
        decay = self.decay
        if decay is None:
            return None
        factor = (-(decay * Enclosure.exact(time))).exp()
        # L* + (L(0) - L*) factor, arranged so that the width of L* enters once.
        return self.initial(effort) * factor + self.floor * (1 - factor)

    def above_floor(self, x: Enclosure) -> Enclosure:
        """The quantity that shrinks."""
        return x - self.floor

    def certify(self, step: int, time: float, parameters: Tensors, warm: Warm, error: float) -> Mark:
        """Every conclusion at these parameters. `error` is what rounding may have done to the loss so far."""
        point = self.point = self.origin if step == 0 else self.training.point(parameters, warm)
        lines = self._conclusions(point, time)
        loss = self.training.loss(point, rigor.CHEAP)
        if step > 0:
            line, loss = self._rate(point, time, error)
            lines.append(line)
        return Mark(step, time, ends(loss), tuple(lines))

    def due(self, time: float) -> list[Conclusion]:
        """The conclusions that speak of training at this time."""
        return [c for c in self.theorem.conclusions if self._watched(c) and due(self.theorem, c, self.values, time)]

    def _conclusions(self, point: Any, time: float) -> list[Line]:
        theorem = self.theorem
        claims = self.due(time)
        found = self.found = {}
        lines: dict[str, Line] = {}
        for effort in EFFORTS:
            waiting = [c for c in claims if c.id not in lines or lines[c.id].truth is UNDECIDED]
            for c in waiting:
                assert c.claim is not None
                for s in c.claim.free_symbols & set(theorem.monitored):
                    if effort > rigor.CHEAP or s not in found:
                        better = theorem.monitored[s].measure(point, effort)
                        found[s] = found[s].intersect(better) if s in found else better
                lhs, rhs = sides(c.claim, {**self.values, **found})
                lines[c.id] = Line(c.id, decide(c.claim, lhs, rhs), ends(lhs), ends(rhs))
        return [lines[c.id] for c in claims]

    def _watched(self, conclusion: Conclusion) -> bool:
        """Whether it speaks of training: the others were settled at the start."""
        return conclusion.claim is not None and bool(conclusion.claim.free_symbols & set(self.theorem.monitored))

    def _rate(self, point: Any, time: float, error: float) -> tuple[Line, Enclosure]:
        assert self.theorem.rate is not None
        number = self.theorem.rate.id
        truth, note = UNDECIDED, ""
        loss, bound = self.training.loss(point, rigor.CHEAP), self.bound(time)
        if bound is None:
            everything = Enclosure.between(-float("inf"), float("inf"))
            return Line(number, UNDECIDED, ends(loss), ends(everything), "the formula gives no rate here"), loss
        for effort in EFFORTS:
            if effort > rigor.CHEAP:
                loss = loss.intersect(self.training.loss(point, effort))
                bound = bound.intersect(self.bound(time, effort) or bound)
            truth, note = self._compare(loss, bound, error)
            if truth is not UNDECIDED:
                break
        return Line(number, truth, ends(self.above_floor(loss)), ends(self.above_floor(bound)), note), loss

    @staticmethod
    def _compare(loss: Enclosure, bound: Enclosure, error: float) -> tuple[Truth, str]:
        truth = loss <= bound
        if truth is not FAILS or (loss - Enclosure.exact(error) > bound) is HOLDS:
            return truth, ""
        return UNDECIDED, f"above the bound by no more than rounding may have added (about {error:.1e})"
