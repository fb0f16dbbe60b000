"""Decide a step: a printable slack proof, or two solvers that agree; a refutation needs an exact witness."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from sympy import Rational, Symbol

from deqcheck.audit import slack, smt
from deqcheck.audit.problem import Problem, is_witness
from deqcheck.audit.smt import Answer

SAMPLES, FIRST = 400, 20
"""Rational points to try, and how many of them before anything else."""
SECONDS = 5.0
Ask = Callable[[str, Problem, float], tuple[Answer, dict[Symbol, Rational]]]


class Status(Enum):
    """The state of a step."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    UNPROVED = "UNPROVED"
    MISPRINT = "MISPRINT"


@dataclass(frozen=True)
class Finding:
    """What was decided and on what ground."""

    status: Status
    method: str
    proof: str = ""
    witness: dict[Symbol, Rational] = field(default_factory=dict)


def decide(problem: Problem, seconds: float = SECONDS, ask: Ask = smt.ask, refute: bool = True) -> Finding:
    """Try in order: a few rational points, slack substitution, z3 with cvc5, and where z3 leaves it open more points.

    Without `refute` no witness is looked for: abbreviations are opaque then, and a witness would not count.
    """
    points = slack.samples(problem, SAMPLES if refute and problem.claim is not None else 0)
    if (found := _search(problem, islice(points, FIRST))) is not None:
        return found
    if (text := slack.prove(problem)) is not None:
        return Finding(Status.PROVED, "slack substitution", text)
    first, point = ask("z3", problem, seconds)
    if first is Answer.UNSAT:
        second, _ = ask("cvc5", problem, seconds)
        if second is Answer.UNSAT:
            return Finding(Status.PROVED, "z3 and cvc5 agree")
        return _search(problem, points) or Finding(Status.UNPROVED, f"z3 says it is true, cvc5 says {second.value}")
    if refute and point and is_witness(problem, point):
        return Finding(Status.REFUTED, "z3 model, checked exactly", witness=point)
    if (found := _search(problem, points)) is not None:
        return found
    if first is Answer.SAT:
        return Finding(Status.UNPROVED, "z3 says it is false, but its model does not check exactly")
    return Finding(Status.UNPROVED, "rational search, slack substitution and z3 left it open")


def _search(problem: Problem, points: Iterable[dict[Symbol, Rational]]) -> Finding | None:
    for point in points:
        if is_witness(problem, point):
            return Finding(Status.REFUTED, "rational search", witness=point)
    return None
