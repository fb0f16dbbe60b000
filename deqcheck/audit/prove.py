"""Decide a step: a printable slack proof, or two solvers that agree; a refutation needs an exact witness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from sympy import Rational, Symbol

from deqcheck.audit import slack, smt
from deqcheck.audit.problem import Problem, is_witness
from deqcheck.audit.smt import Answer

SAMPLES = 400
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
    """Try in order: falsify at rationals, slack substitution, z3 with cvc5.

    Without `refute` no witness is looked for: abbreviations are opaque then, and a witness would not count.
    """
    for point in slack.samples(problem, SAMPLES if refute and problem.claim is not None else 0):
        if is_witness(problem, point):
            return Finding(Status.REFUTED, "rational search", witness=point)
    if (text := slack.prove(problem)) is not None:
        return Finding(Status.PROVED, "slack substitution", text)
    first, point = ask("z3", problem, seconds)
    if first is Answer.SAT:
        if refute and point and is_witness(problem, point):
            return Finding(Status.REFUTED, "z3 model, checked exactly", witness=point)
        return Finding(Status.UNPROVED, "z3 says it is false, but its model does not check exactly")
    if first is Answer.UNKNOWN:
        return Finding(Status.UNPROVED, "rational search, slack substitution and z3 left it open")
    second, _ = ask("cvc5", problem, seconds)
    if second is Answer.UNSAT:
        return Finding(Status.PROVED, "z3 and cvc5 agree")
    return Finding(Status.UNPROVED, f"z3 says it is true, cvc5 says {second.value}")
