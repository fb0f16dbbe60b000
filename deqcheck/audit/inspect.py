"""Audit one theorem: its steps, its hypotheses, and whether the hypotheses can hold together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import sympy
from sympy import Rational, Symbol
from sympy.core.relational import Relational

from deqcheck.audit import prove
from deqcheck.audit.problem import Problem
from deqcheck.audit.prove import Finding, Status
from deqcheck.statement import Rule, Step, Theorem

Progress = Callable[[str], None]


class Verdict(Enum):
    """What the audit says of a theorem as printed."""

    SOUND = "sound"
    MISPRINTED = "misprinted"
    GAP = "gap"
    VACUOUS = "vacuous"
    FALSE = "false"
    OPEN = "open"


@dataclass(frozen=True)
class StepResult:
    """One step with what was decided, and for a misprint the finding on the corrected line."""

    step: Step
    finding: Finding
    fixed: Finding | None = None

    @property
    def status(self) -> Status:
        """MISPRINT where the print is refuted and the fix is proved."""
        if self.finding.status is Status.REFUTED and self.fixed is not None and self.fixed.status is Status.PROVED:
            return Status.MISPRINT
        return self.finding.status


@dataclass(frozen=True)
class HypothesisUse:
    """Which steps use a hypothesis, and whether the proof survives without it."""

    id: str
    used_by: tuple[str, ...]
    idle: bool


@dataclass(frozen=True)
class Satisfiability:
    """Whether all hypotheses can hold together with the facts."""

    status: str
    method: str
    witness: Mapping[Symbol, Rational] = field(default_factory=dict)


@dataclass(frozen=True)
class Audit:
    """Everything the audit found about one theorem."""

    theorem: Theorem
    steps: tuple[StepResult, ...]
    hypotheses: tuple[HypothesisUse, ...]
    satisfiability: Satisfiability
    repaired: str | None

    @property
    def verdict(self) -> Verdict:
        """The worst finding decides; a known counterexample is the worst."""
        statuses = {s.status for s in self.steps}
        if self.theorem.counterexample:
            return Verdict.FALSE
        if self.satisfiability.status == "VACUOUS":
            return Verdict.VACUOUS
        if Status.REFUTED in statuses:
            return Verdict.GAP
        if Status.UNPROVED in statuses or not self.steps:
            return Verdict.OPEN
        return Verdict.MISPRINTED if Status.MISPRINT in statuses else Verdict.SOUND


def audit(theorem: Theorem, repaired: str | None = None, show: Progress = lambda _stage: None) -> Audit:
    """Decide every step, drop every hypothesis in turn, and ask whether the hypotheses can hold."""
    steps = []
    for step in theorem.proof:
        show(f"{theorem.key} {step.id}")
        finding = _decide(theorem, step, step.claim)
        fixed = _decide(theorem, step, step.fix) if step.fix is not None else None
        steps.append(StepResult(step, finding, fixed))
    show(f"{theorem.key} hypotheses")
    return Audit(theorem, tuple(steps), _uses(theorem, steps), satisfiability(theorem), repaired)


def _decide(theorem: Theorem, step: Step, claim: Relational, without: str = "") -> Finding:
    """First with abbreviations opaque, which is cheap; then with their definitions, which may refute."""
    premises = _premises(theorem, step, without)
    opaque = prove.decide(Problem(premises, claim).relevant(), refute=False)
    if opaque.status is Status.PROVED:
        return opaque
    meant = _definitions(theorem, (*premises, claim))
    return prove.decide(Problem((*premises, *meant), claim).relevant())


def _premises(theorem: Theorem, step: Step, without: str = "") -> tuple[Relational, ...]:
    known: dict[str, Relational] = {h.id: h.claim for h in theorem.hypotheses if h.claim is not None}
    known |= {f.id: f.claim for f in theorem.facts}
    known |= {s.id: _meant(s) for s in theorem.proof}
    cited = [known[source] for source in step.since if source in known and source != without]
    return (*_signs(theorem), *cited)


def _meant(step: Step) -> Relational:
    """The corrected line where the print is a slip."""
    return step.claim if step.fix is None else step.fix


def _signs(theorem: Theorem) -> tuple[Relational, ...]:
    """What may always be used: constants are positive, and the facts that need no citation."""
    free = [s > 0 for s, c in theorem.chosen.items() if c.rule in (Rule.FREE, Rule.LARGEST)]
    return (*free, *(f.claim for f in theorem.facts if not f.cited))


def _definitions(theorem: Theorem, relations: tuple[Relational, ...]) -> tuple[Relational, ...]:
    """Defining equations of the abbreviations that occur, directly or through one another."""
    wanted = {s for r in relations for s in r.free_symbols}
    equations = []
    for symbol in reversed(list(theorem.definitions)):
        if symbol in wanted:
            value = sympy.sympify(theorem.definitions[symbol])
            equations.append(sympy.Eq(symbol, value, evaluate=False))
            wanted |= value.free_symbols
    return tuple(reversed(equations))


def _uses(theorem: Theorem, steps: list[StepResult]) -> tuple[HypothesisUse, ...]:
    uses = []
    for hypothesis in theorem.hypotheses:
        if hypothesis.claim is None:
            continue
        citing = [s for s in steps if hypothesis.id in s.step.since]
        proved = [s for s in citing if s.status in (Status.PROVED, Status.MISPRINT)]
        idle = bool(proved) and all(
            _decide(theorem, s.step, _meant(s.step), hypothesis.id).status is Status.PROVED for s in proved
        )
        uses.append(HypothesisUse(hypothesis.id, tuple(s.step.id for s in citing), idle))
    return tuple(uses)


def satisfiability(theorem: Theorem) -> Satisfiability:
    """Can every hypothesis hold together with every fact?"""
    claims = tuple(h.claim for h in theorem.hypotheses if h.claim is not None)
    facts = tuple(f.claim for f in theorem.facts if f.cited)
    relations = (*_signs(theorem), *facts, *claims)
    problem = Problem((*relations, *_definitions(theorem, relations)), None)
    finding = prove.decide(problem)
    match finding.status:
        case Status.REFUTED:
            return Satisfiability("SATISFIABLE", finding.method, finding.witness)
        case Status.PROVED:
            return Satisfiability("VACUOUS", finding.method)
        case _:
            return Satisfiability("UNKNOWN", finding.method)
