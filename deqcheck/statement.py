"""A theorem as data: frozen values over sympy, validated when they are built.

Nothing here knows torch or numbers. The numeric check, the audit, the terminal and the documents all
read these objects, so a formula is written once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import sympy
from sympy import Expr, Symbol
from sympy.core.relational import Relational

from deqcheck.enclosure import Enclosure
from deqcheck.error import InputError, unknown


class Status(Enum):
    """How a line of a theorem is accounted for in a report; nothing is silently assumed."""

    CHECKED = "CHECKED"
    CHOSEN = "CHOSEN"
    ASSUMED = "ASSUMED"
    IMPLIED = "IMPLIED"


@dataclass(frozen=True)
class Source:
    """Where a result is printed."""

    paper: str
    authors: str
    year: int
    number: str
    section: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}), {self.number}"


class Evidence(Enum):
    """What stands behind a measured number."""

    PROOF = "certified"
    COMPARISON = "compared in floats, not certified"
    STATISTICS = "estimated from samples, with a confidence interval"


@dataclass(frozen=True)
class Quantity:
    """Something measured on an instance: how it reads and how it is enclosed.

    `measure(point, effort)` returns an enclosure of the exact value for the float64 weights and data;
    a higher effort costs more and is asked for only where it decides something. `scaled(point, beta)`
    predicts the value after the parameters are multiplied by beta, as a float, for choosing beta.
    """

    name: str
    text: str
    latex: str
    meaning: str
    measure: Callable[[Any, int], Enclosure]
    scaled: Callable[[Any, float, float], float] | None = None
    evidence: Evidence = Evidence.PROOF

    def __repr__(self) -> str:
        return f"Quantity({self.name})"


class Rule(Enum):
    """How the checker picks a symbol that the theorem leaves open."""

    FREE = "free"
    LARGEST = "largest"
    LEAST = "least"
    FIXED = "fixed"


@dataclass(frozen=True)
class Choice:
    """A symbol that the statement lets us choose, and the rule by which it is chosen."""

    rule: Rule
    of: str | Expr | None = None


free = Choice(Rule.FREE)


def largest(hypothesis: str) -> Choice:
    """As large as the (strict) upper bound in the named hypothesis allows."""
    return Choice(Rule.LARGEST, hypothesis)


def least(bound: Expr) -> Choice:
    """The tightest admissible constant: "for some M >= ..." is strongest at the smallest M."""
    return Choice(Rule.LEAST, bound)


def fixed(value: Expr) -> Choice:
    """A tolerance that turns an equality into something an enclosure can certify."""
    return Choice(Rule.FIXED, value)


@dataclass(frozen=True)
class Hypothesis:
    """A condition, numbered as in the paper. `text` says in words what an ASSUMED one assumes."""

    id: str
    claim: Relational | None
    text: str = ""

    @property
    def assumed(self) -> bool:
        """Whether no measurement on the instance could settle it."""
        return self.claim is None


@dataclass(frozen=True)
class Conclusion:
    """What the theorem promises. With only measured symbols it is checked; else it is implied."""

    id: str
    claim: Relational | None
    text: str = ""


@dataclass(frozen=True)
class Rate:
    """A linear rate: the loss shrinks by 1 - `gap` each step, or by exp(-`gap`) per unit time."""

    id: str
    gap: Expr
    per: str  # "step" or "unit time"
    of: str = "loss"


@dataclass(frozen=True)
class Fact:
    """Something true of the symbols whatever the hypotheses: a sign, or a lemma that bounds a quantity."""

    id: str
    claim: Relational
    text: str = ""
    cited: bool = False
    """A lemma that only the steps naming it may use; otherwise a sign that every step may use."""


@dataclass(frozen=True)
class Step:
    """One line of the printed proof: a claim and what it is derived from.

    `since` names hypotheses, facts and earlier steps. `fix` is what the line must have meant where the
    print is an obvious slip; later steps build on the fix.
    """

    id: str
    claim: Relational
    since: tuple[str, ...] = ()
    fix: Relational | None = None
    text: str = ""


@dataclass(frozen=True)
class Growth:
    """How an instance grows under the paper's own initialisation, and where that is measured.

    `powers` gives for a measured or free symbol its exponents in the width and in the number of samples; a symbol
    that is left out stays as it is. The exponents of both sides of every hypothesis follow from these. `width` and
    `samples` are the settings at which each is varied over `widths` and `counts`.
    """

    powers: Mapping[Symbol, tuple[Expr, Expr]]
    width: Mapping[str, str]
    samples: Mapping[str, str]
    widths: tuple[int, ...]
    counts: tuple[int, ...]
    text: str = ""


@dataclass(frozen=True)
class Reference:
    """A value that the paper itself recommends for a chosen symbol, checked beside our choice."""

    symbol: Symbol
    value: Expr
    text: str


@dataclass(frozen=True, eq=False)
class Theorem:
    """One result of one paper, as printed (or as repaired, under the key `KEY:repaired`)."""

    key: str
    title: str
    source: Source
    family: str
    setting: str
    measured: Mapping[Symbol, Quantity]
    hypotheses: tuple[Hypothesis, ...]
    conclusions: tuple[Conclusion, ...]
    chosen: Mapping[Symbol, Choice] = field(default_factory=dict)
    monitored: Mapping[Symbol, Quantity] = field(default_factory=dict)
    """Quantities that only conclusions about training speak of."""
    definitions: Mapping[Symbol, Expr] = field(default_factory=dict)
    rate: Rate | None = None
    facts: tuple[Fact, ...] = ()
    proof: tuple[Step, ...] = ()
    references: tuple[Reference, ...] = ()
    reading: tuple[str, ...] = ()
    flaw: str = ""
    """Why the print cannot be relied on, where that is known; nothing is then called guaranteed."""
    counterexample: str = ""
    """A certified instance on which every hypothesis holds and a conclusion fails, in words; see the tests."""
    never: str = ""
    """Why the paper's own recipe never meets the hypotheses, where that is known."""
    growth: Growth | None = None
    """The scaling law under the paper's initialisation, where it has one."""
    settings: tuple[str, ...] = ()
    """Settings of the family that only some of its theorems use."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Where this theorem's default settings differ from those of its family."""
    quick: Mapping[str, str] = field(default_factory=dict)
    """Settings of a small instance, for a run of the whole catalogue."""

    def __post_init__(self) -> None:
        for name in ("measured", "chosen", "monitored", "definitions", "defaults", "quick"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _validate(self)

    @property
    def symbols(self) -> Mapping[str, Symbol]:
        """Every symbol of the statement by its name."""
        return {s.name: s for s in (*self.measured, *self.chosen, *self.definitions)}

    def hypothesis(self, number: str) -> Hypothesis:
        """The hypothesis with this number in the paper."""
        for hypothesis in self.hypotheses:
            if hypothesis.id == number:
                return hypothesis
        raise unknown(f"hypothesis of {self.key}", number, (h.id for h in self.hypotheses))

    def expand(self, expr: sympy.Basic) -> sympy.Basic:
        """`expr` with every definition substituted, in measured and chosen symbols only."""
        for symbol in reversed(list(self.definitions)):
            expr = expr.subs(symbol, self.definitions[symbol])
        return expr

    def latex(self, expr: sympy.Basic) -> str:
        """LaTeX with the paper's names for the measured quantities."""
        names = {s: q.latex for s, q in (*self.measured.items(), *self.monitored.items())}
        return str(sympy.latex(expr, symbol_names=names))

    def pretty(self, expr: sympy.Basic) -> str:
        """Two-dimensional unicode, for the terminal, with the paper's names."""
        named = self._named(expr).replace(sympy.Max, sympy.Function("max"))
        named = named.replace(sympy.Min, sympy.Function("min"))
        return str(sympy.pretty(named, use_unicode=True, wrap_line=False))

    def plain(self, expr: sympy.Basic) -> str:
        """One line of unicode, for tables and messages."""
        if isinstance(expr, sympy.Eq):
            return f"{self.plain(expr.lhs)} = {self.plain(expr.rhs)}"
        marks = self._marks(expr)
        line = str(expr.xreplace(marks))
        for python, paper in ((">=", "≥"), ("<=", "≤"), ("**", "^"), ("*", " ")):
            line = line.replace(python, paper)
        for symbol, mark in marks.items():
            line = line.replace(mark.name, self._named(symbol).name)
        return line

    def mathml(self, expr: sympy.Basic) -> str:
        """Presentation MathML, for pages that need no script to show it."""
        marks = self._marks(expr)
        inner = sympy.mathml(expr.xreplace(marks), printer="presentation")
        # sympy leaves '<' unescaped and uses entities that XML does not know.
        inner = inner.replace("<mo><</mo>", "<mo>&lt;</mo>")
        inner = re.sub(r"&(?!amp;|lt;|gt;|quot;)[A-Za-z]+;", lambda entity: html.unescape(entity[0]), inner)
        for symbol, mark in marks.items():
            inner = inner.replace(f"<mi>{mark.name}</mi>", _identifier(self._named(symbol).name))
        return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inner}</math>'

    def rule(self, choice: Choice) -> str:
        """How a symbol is chosen, in words."""
        of = choice.of if choice.of is None or isinstance(choice.of, str) else self.plain(choice.of)
        match choice.rule:
            case Rule.LARGEST:
                return f"the largest that {of} allows"
            case Rule.LEAST:
                return f"the smallest float that is at least {of}"
            case Rule.FIXED:
                return f"{of}, a tolerance of this check, not of the paper"
            case _:
                return "free: best worst margin, then best rate"

    @staticmethod
    def _marks(expr: sympy.Basic) -> dict[Symbol, Symbol]:
        """Stand-ins for the symbols, so that printers cannot take a name like max_l Z^l apart."""
        return {s: Symbol(f"QQ{i}QQ", real=True) for i, s in enumerate(sorted(expr.free_symbols, key=str))}

    def _named(self, expr: sympy.Basic) -> sympy.Basic:
        texts = {s: q.text for s, q in (*self.measured.items(), *self.monitored.items())}
        return expr.xreplace({s: Symbol(texts.get(s) or sympy.pretty(s), real=True) for s in expr.free_symbols})


def _validate(theorem: Theorem) -> None:
    """Refuse a malformed statement at once: the checker trusts what it finds here."""

    def refuse(reason: str) -> None:
        raise InputError(f"theorem {theorem.key!r} is malformed: {reason}.")

    def formula(where: str, expr: object, known: set[Symbol]) -> None:
        if not isinstance(expr, sympy.Basic):
            refuse(f"{where} is {expr!r}, not a formula")
        elif expr.has(sympy.Float):
            refuse(f"{where} holds a Float; write exact Rationals")
        elif missing := expr.free_symbols - known:
            refuse(f"{where} uses the unknown {_names(missing)}")

    def relation(where: str, claim: object, known: set[Symbol]) -> None:
        if not isinstance(claim, INEQUALITIES):
            refuse(f"{where} is {claim!r}, not an inequality; sympy may have decided it already")
        formula(where, claim, known)

    known: set[Symbol] = {*theorem.measured, *theorem.chosen}
    if len(known) != len(theorem.measured) + len(theorem.chosen):
        refuse("a symbol is both measured and chosen")
    for symbol, value in theorem.definitions.items():
        if symbol in known:
            refuse(f"{symbol} is defined although it is measured, chosen or defined already")
        formula(f"the definition of {symbol}", value, known)
        known.add(symbol)
    everything = known | set(theorem.monitored)
    for symbol in everything:
        if symbol != Symbol(symbol.name, real=True):
            refuse(f"symbol {symbol} must be real=True and nothing more; signs are hypotheses")
    if len({s.name for s in everything}) != len(everything):
        refuse("two symbols share a name")
    ids = [h.id for h in theorem.hypotheses] + [c.id for c in theorem.conclusions]
    if len(set(ids)) != len(ids):
        refuse("two statements share a number")
    for hypothesis in theorem.hypotheses:
        if hypothesis.claim is not None:
            relation(hypothesis.id, hypothesis.claim, known)
        elif not hypothesis.text:
            refuse(f"{hypothesis.id} assumes nothing in words")
    for conclusion in theorem.conclusions:
        if conclusion.claim is not None:
            relation(conclusion.id, conclusion.claim, everything)
    if theorem.rate is not None:
        formula("the rate", theorem.rate.gap, known)
    for symbol, choice in theorem.chosen.items():
        if choice.rule is Rule.LARGEST:
            claim = theorem.hypothesis(str(choice.of)).claim
            if not isinstance(claim, sympy.StrictLessThan) or claim.lhs != symbol or symbol in claim.rhs.free_symbols:
                refuse(f"{symbol} can be the largest only in a hypothesis '{symbol} < bound'")
        elif choice.rule is not Rule.FREE:
            formula(f"the choice of {symbol}", choice.of, set(theorem.measured))
    for symbol in theorem.growth.powers if theorem.growth is not None else ():
        if symbol not in theorem.measured and symbol not in theorem.chosen:
            refuse(f"the growth of {symbol} is given, which is neither measured nor chosen")
    for reference in theorem.references:
        if reference.symbol not in theorem.chosen:
            refuse(f"{reference.text} is about {reference.symbol}, which is not chosen")
        formula(reference.text, reference.value, known)
    sources: set[str] = set()
    # What is assumed in words may return as a fact, in the form in which the proof uses it.
    for name in (*(h.id for h in theorem.hypotheses if not h.assumed), *(f.id for f in theorem.facts)):
        if name in sources:
            refuse(f"two premises are called {name}")
        sources.add(name)
    sources |= {h.id for h in theorem.hypotheses}
    for step in theorem.proof:
        if step.id in sources:
            refuse(f"step {step.id} is called like a hypothesis, a fact or an earlier step")
        if not isinstance(step.claim, Relational):
            refuse(f"step {step.id} is {step.claim!r}, not a relation; sympy has decided it already")
        if step.claim.has(sympy.Float):
            refuse(f"step {step.id} holds a Float; write exact Rationals")
        for source in step.since:
            if source not in sources:
                refuse(f"step {step.id} rests on {source}, which does not come before it")
        sources.add(step.id)


INEQUALITIES = (sympy.LessThan, sympy.StrictLessThan, sympy.GreaterThan, sympy.StrictGreaterThan)


def _identifier(name: str) -> str:
    """A name as the paper sets it: one index of letters or none; anything longer stays one identifier."""
    indexed = re.fullmatch(r"([^_^ ]+)_([A-Za-z]+)", name)
    if indexed is None:
        return f"<mi>{html.escape(name)}</mi>"
    return f"<msub><mi>{html.escape(indexed[1])}</mi><mi>{html.escape(indexed[2])}</mi></msub>"


def _names(symbols: Iterable[Symbol]) -> str:
    return ", ".join(sorted(s.name for s in symbols))
