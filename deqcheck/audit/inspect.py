"""Audit one theorem: its steps, its hypotheses, and whether the hypotheses can hold together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import MappingProxyType

import sympy
from sympy import Rational, Symbol
from sympy.core.relational import Relational

from deqcheck.audit.pool import SECONDS, Pool
from deqcheck.audit.problem import Problem
from deqcheck.audit.prove import Finding, Status
from deqcheck.statement import Hypothesis, Rule, Step, Theorem

Progress = Callable[[str], None]
WEIGHING = 1.0
"""Seconds for a question about a changed hypothesis: a failure there costs a remark, not a proof."""
ALTOGETHER = 20.0
"""Seconds for the question whether all hypotheses can hold together."""
HARDEST = 6
"""Constants are weighed by powers of two up to this one."""


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
    """Which steps use a hypothesis, and how much of it the proof needs."""

    id: str
    used_by: tuple[str, ...]
    sufficient: bool | None
    """Whether every step that cites it follows; None where that is open or no step cites it."""
    idle: bool
    """Every step that cites it follows without it."""
    factor: Rational | None = None
    """The least power of two by which its smaller side may be multiplied so that every citing step follows."""

    def needed(self, theorem: Theorem) -> Relational | None:
        """The hypothesis with the constant that the proof needs; None where nothing is known."""
        claim = theorem.hypothesis(self.id).claim
        return None if claim is None or self.factor is None else _weighted(claim, self.factor)


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


def audit(
    theorem: Theorem,
    show: Progress = lambda _stage: None,
    pool: Pool | None = None,
) -> Audit:
    """Decide every step, weigh and drop every hypothesis in turn, and ask whether the hypotheses can hold."""
    if pool is None:
        with Pool() as own:
            return audit(theorem, show, own)

    def examine(step: Step) -> StepResult:
        show(f"{theorem.key} {step.id}")
        finding = _decide(pool, theorem, step, step.claim)
        fixed = _decide(pool, theorem, step, step.fix) if step.fix is not None else None
        return StepResult(step, finding, fixed)

    def weigh(hypothesis: Hypothesis) -> HypothesisUse:
        show(f"{theorem.key} {hypothesis.id}")
        return _use(pool, theorem, hypothesis, steps)

    steps = pool.each([partial(examine, step) for step in theorem.proof])
    signs = _signs(theorem)  # that a constant is chosen positive is no demand on the instance
    uses = pool.each([partial(weigh, h) for h in theorem.hypotheses if h.claim is not None and h.claim not in signs])
    show(f"{theorem.key} satisfiability")
    return Audit(theorem, tuple(steps), tuple(uses), satisfiability(theorem, pool))


def _decide(
    pool: Pool,
    theorem: Theorem,
    step: Step,
    claim: Relational,
    instead: Mapping[str, Relational | None] = MappingProxyType({}),
    seconds: float = SECONDS,
) -> Finding:
    """First with abbreviations opaque, which is cheap; then with their definitions, which may refute.

    `instead` replaces hypotheses by other claims, or by nothing.
    """
    if claim == sympy.true:
        return Finding(Status.PROVED, "both sides are numbers")
    premises = _premises(theorem, step, instead)
    opaque = pool.decide(Problem(premises, claim).relevant(), refute=False, seconds=seconds)
    if opaque.status is Status.PROVED:
        return opaque
    meant = _definitions(theorem, (*premises, claim))
    return pool.decide(Problem((*premises, *meant), claim).relevant(), seconds=seconds)


def _premises(theorem: Theorem, step: Step, instead: Mapping[str, Relational | None]) -> tuple[Relational, ...]:
    known: dict[str, Relational | None] = {h.id: h.claim for h in theorem.hypotheses}
    known |= {f.id: f.claim for f in theorem.facts}
    known |= {s.id: _meant(s) for s in theorem.proof}
    known |= instead
    cited = [known[source] for source in step.since if source in known]
    return (*_signs(theorem), *(claim for claim in cited if isinstance(claim, Relational)))


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


def _use(pool: Pool, theorem: Theorem, hypothesis: Hypothesis, steps: Sequence[StepResult]) -> HypothesisUse:
    """Which steps cite it, whether they survive without it, and which multiple of its constant they need."""
    citing = [s for s in steps if hypothesis.id in s.step.since]
    statuses = {s.status for s in citing}

    def proved(claim: Relational | None) -> bool:
        return all(
            _decide(pool, theorem, s.step, _meant(s.step), {hypothesis.id: claim}, WEIGHING).status is Status.PROVED
            for s in citing
        )

    used_by = tuple(s.step.id for s in citing)
    if not citing or Status.UNPROVED in statuses:
        return HypothesisUse(hypothesis.id, used_by, None, idle=False)
    assert hypothesis.claim is not None
    if Status.REFUTED in statuses:
        stronger = (2**k for k in range(1, HARDEST + 1))
        enough = next((t for t in stronger if proved(_weighted(hypothesis.claim, Rational(t)))), None)
        factor = None if enough is None else Rational(enough)
        return HypothesisUse(hypothesis.id, used_by, False, idle=False, factor=factor)
    if proved(None):
        return HypothesisUse(hypothesis.id, used_by, True, idle=True)
    factor = Rational(1)
    if _scalable(theorem, hypothesis.claim):
        for k in range(1, HARDEST + 1):
            if not proved(_weighted(hypothesis.claim, Rational(1, 2**k))):
                break
            factor = Rational(1, 2**k)
    return HypothesisUse(hypothesis.id, used_by, True, idle=False, factor=factor)


def _scalable(theorem: Theorem, claim: Relational) -> bool:
    """Whether a multiple of the smaller side says something: not for a sign, nor for a tolerance of ours."""
    tolerances = {s for s, c in theorem.chosen.items() if c.rule is Rule.FIXED}
    return bool(claim.lhs != 0 and claim.rhs != 0 and not claim.free_symbols & tolerances)


def _weighted(claim: Relational, t: Rational) -> Relational:
    """`larger >= smaller` with t times the smaller side."""
    if isinstance(claim, sympy.LessThan | sympy.StrictLessThan):
        return claim.func(t * claim.lhs, claim.rhs, evaluate=False)
    return claim.func(claim.lhs, t * claim.rhs, evaluate=False)


def satisfiability(theorem: Theorem, pool: Pool) -> Satisfiability:
    """Can every hypothesis hold together with every fact?"""
    claims = tuple(h.claim for h in theorem.hypotheses if h.claim is not None)
    facts = tuple(f.claim for f in theorem.facts if f.cited)
    relations = (*_signs(theorem), *facts, *claims)
    problem = Problem((*relations, *_definitions(theorem, relations)), None)
    finding = pool.decide(problem, seconds=ALTOGETHER)
    match finding.status:
        case Status.REFUTED:
            return Satisfiability("SATISFIABLE", finding.method, finding.witness)
        case Status.PROVED:
            return Satisfiability("VACUOUS", finding.method)
        case _:
            return Satisfiability("UNKNOWN", finding.method)
