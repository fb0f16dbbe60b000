"""Reports for a terminal: readable at 80 columns, without colour, and when piped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from deqcheck.report import thresholds
from deqcheck.report.number import certain, decades, decimal, enclosed, short
from deqcheck.report.sentence import conclusion, headline
from deqcheck.statement import Evidence, Theorem
from deqcheck.truth import FAILS, HOLDS, Truth
from deqcheck.verdict import Line, Outcome, Result

if TYPE_CHECKING:
    from deqcheck.threshold import Threshold
    from deqcheck.trajectory.value import Mark, Trajectory

COLOUR = {HOLDS: "green", FAILS: "red", None: "dim"}
MARK = {"HOLDS": "✓ HOLDS", "FAILS": "✗ FAILS", "UNDECIDED": "? UNDECIDED"}


def console(*, stderr: bool = False) -> Console:
    """A console no wider than 100 columns, and of exactly 80 when piped, so that output is stable."""
    out = Console(stderr=stderr, highlight=False)
    if not out.is_terminal:
        return Console(stderr=stderr, highlight=False, width=80, no_color=True)
    return Console(stderr=stderr, highlight=False, width=min(out.width, 100))


def _colour(truth: Truth | None) -> str:
    return COLOUR.get(truth, "yellow")


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False, show_edge=False)
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def report(result: Result) -> RenderableType:
    """Everything about one check, the conclusion first."""
    parts: list[RenderableType] = [
        Panel(
            Text(conclusion(result)),
            title=Text(f" {MARK[result.verdict.value]} ", style=f"bold {_colour(result.verdict)}"),
            subtitle=Text(f" {result.key} · {result.source} "),
            border_style=_colour(result.verdict),
            padding=(1, 2),
        ),
        _section("Instance", _instance(result)),
    ]
    if result.quantities:
        parts.append(_section("Measured (certified enclosures)", _quantities(result)))
    if result.constants:
        parts.append(_section("Constants", _constants(result)))
    parts.append(_section("Hypotheses", _lines(result.hypotheses)))
    if result.conclusions:
        doubt = "" if result.outcome is Outcome.APPLIES else " (not guaranteed here)"
        parts.append(_section(f"Conclusions{doubt}", _lines(result.conclusions)))
    if result.rate is not None:
        parts.append(_section("Rate", _rate(result)))
    if result.trajectory is not None:
        parts.append(_section("Training", _training(result.trajectory)))
    if result.reading:
        parts.append(_section("How the print is read", _notes(result.reading)))
    total = sum(result.timings.values())
    parts.append(Text(f"{total:.1f} s on {result.environment.get('device')}", style="dim"))
    return Group(*parts)


def _notes(lines: tuple[str, ...]) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row("·", line)
    return grid


def _section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(title, style="bold"), Padding(body, (0, 0, 1, 2)))


def _instance(result: Result) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    settings = result.instance["settings"]
    assert isinstance(settings, dict)
    data = f"{settings['data']}, {result.instance['samples']} samples of dimension {result.instance['dim']}"
    if settings.get("classes"):
        data += f", classes {settings['classes']}"
    shown = ("samples", "dim", "data", "classes", "scale", "eta")
    rest = [f"{k} {v}" for k, v in settings.items() if k not in shown and v is not None]
    facts = [("data", data), ("model", ", ".join(rest))]
    scale = result.instance.get("scale")
    if isinstance(scale, float) and "scale" in settings:
        facts.append(
            (
                "scale",
                f"{short(scale)} ({settings['scale'] if settings['scale'] == 'auto' else 'given'})",
            )
        )
    if (found := result.equilibrium) is not None:
        steps = len(found.residuals)
        how = f"{found.method}, {steps} iterations" if steps else found.method
        facts.append(("equilibrium", f"{how}; true Z within {enclosed_radius(result)} (Frobenius)"))
    for name, value in facts:
        grid.add_row(Text(name, style="dim"), value)
    return grid


def enclosed_radius(result: Result) -> str:
    """The certified distance between the computed and the true equilibrium."""
    assert result.equilibrium is not None
    return short(result.equilibrium.radius.floats()[1], 2)


def _quantities(result: Result) -> RenderableType:
    table = _table(("", "left"), ("value", "right"), ("known to", "right"), ("meaning", "left"))
    for q in result.quantities:
        known = certain(q.value) if q.evidence is Evidence.PROOF else f"{q.evidence.name.lower()}"
        table.add_row(q.text, enclosed(q.value, 6), known, Text(q.meaning, style="dim"))
    return table


def _constants(result: Result) -> RenderableType:
    table = _table(("", "left"), ("value", "right"), ("chosen", "left"))
    for c in result.constants:
        table.add_row(c.text, short(c.value), Text(c.how, style="dim"))
    return table


def _lines(lines: tuple[Line, ...]) -> RenderableType:
    checked = [line for line in lines if line.lhs is not None]
    others = [line for line in lines if line.lhs is None]
    parts = [*([_checked(checked)] if checked else []), *([_unchecked(others)] if others else [])]
    notes = sorted({line.note for line in lines if line.note})
    if checked:
        words = "margins in decades" + "".join(f"; {note}" for note in notes)
        parts.append(Text(words, style="dim"))
    return Group(*parts)


def _checked(lines: list[Line]) -> RenderableType:
    table = _table(
        ("", "left"), ("", "left"), ("", "left"), ("left side", "right"), ("", "center"),
        ("right side", "right"), ("margin", "right"),
    )  # fmt: skip
    for line in lines:
        assert line.verdict is not None and line.lhs is not None and line.rhs is not None
        table.add_row(
            line.id,
            Text(line.status.value, style="dim"),
            Text(MARK[line.verdict.value], style=_colour(line.verdict)),
            enclosed(line.lhs),
            _relation(line.formula),
            enclosed(line.rhs),
            decades(line.margin),
        )
    return table


def _unchecked(lines: list[Line]) -> RenderableType:
    """What is assumed, or implied by the theorem, rather than measured on the instance."""
    table = _table(("", "left"), ("", "left"), ("", "left"), ("", "left"))
    table.show_header = False
    for line in lines:
        verdict = f" {MARK[line.verdict.value]}" if line.verdict is not None else ""
        table.add_row(
            line.id,
            Text(line.status.value + verdict, style="dim"),
            line.formula,
            Text(line.text, style="dim"),
        )
    return table


def _relation(formula: str) -> str:
    return next((sign for sign in "≥≤><" if f" {sign} " in formula), "")


def _rate(result: Result) -> RenderableType:
    rate = result.rate
    assert rate is not None
    grid = Table.grid(padding=(0, 2))
    doubt = (
        "what the formula gives; the print cannot be relied on" if result.flaw else "would be, if the hypotheses held"
    )
    word = "guaranteed" if rate.guaranteed else doubt
    name = "1 − rate" if rate.per == "step" else "exponent"
    grid.add_row(Text(f"{name} per {rate.per}", style="dim"), f"{enclosed(rate.one_minus_rate)}  ({word})")
    unit = "steps" if rate.per == "step" else "units of time"
    grid.add_row(Text("half-life", style="dim"), f"{enclosed(rate.half_life)} {unit}")
    if (course := result.trajectory) is not None:
        seen = "not visible in float64" if rate.measured is None else short(rate.measured)
        grid.add_row(Text("measured", style="dim"), seen)
        if course.ratio is not None:
            grid.add_row(Text("guaranteed / measured", style="dim"), decimal(course.ratio, 3))
    grid.add_row(Text("formula", style="dim"), rate.formula)
    return grid


SHOWN = 8
"""Certified steps in the table; the JSON has them all."""


def _training(course: Trajectory) -> RenderableType:
    step = course.per == "step"
    table = _table(
        ("step" if step else "time", "right"), ("loss", "right"), ("bound", "right"), ("", "left"), ("", "left")
    )
    for mark in _spread(course.marks):
        k = course.steps.index(mark.step)
        worst = min(mark.lines, key=lambda x: {FAILS: 0, HOLDS: 2}.get(x.truth, 1), default=None)
        truth = HOLDS if worst is None else worst.truth
        doubt = [x.id for x in mark.lines if x.truth is not HOLDS]
        table.add_row(
            f"{mark.step}" if step else short(mark.time),
            short(course.loss[k], 6),
            decimal(course.bound[k], 6),
            Text(MARK[truth.value], style=_colour(truth)),
            ", ".join(doubt),
        )
    facts = Table.grid(padding=(0, 2))
    if not course.covered:
        facts.add_row(Text("theorem", style="dim"), "not covered: its hypotheses are not certified for this run")
    if course.eta is not None:
        facts.add_row(Text("step size", style="dim"), short(course.eta))
    for share, at in course.reached.items():
        unit = "step" if step else "time"
        when = "not reached" if at is None else f"{unit} {short(at)}"
        facts.add_row(Text(f"loss below {share} of L(0)", style="dim"), when)
    start, end = course.kernel_min
    if start is not None:
        after = "" if end is None else f", {short(end)} at the end"
        facts.add_row(Text("λ_min of the tangent kernel", style="dim"), f"{short(start)} at the start{after}")
    how = "rounding and solver" if step else "integrator"
    facts.add_row(Text(f"error of the loss, {how}", style="dim"), f"about {short(course.error[-1], 2)} at the end")
    if course.integrator:
        done, undone = int(course.integrator["accepted"]), int(course.integrator["rejected"])
        facts.add_row(Text("integrator", style="dim"), f"Dormand-Prince 5(4), {done} steps, {undone} rejected")
    return Group(table, Text(""), facts)


def _spread(marks: tuple[Mark, ...]) -> list[Mark]:
    """A few certified instants: the first, the last, those that do not hold, and some between."""
    if len(marks) <= SHOWN:
        return list(marks)
    bad = [k for k, mark in enumerate(marks) if any(x.truth is not HOLDS for x in mark.lines)][:2]
    even = [round(j * (len(marks) - 1) / (SHOWN - 1)) for j in range(SHOWN)]
    return [marks[k] for k in sorted({*even, *bad})]


def summary(results: list[Result]) -> RenderableType:
    """One row per theorem, for a run of the whole catalogue."""
    table = _table(("key", "left"), ("verdict", "left"), ("", "left"), ("s", "right"))
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for r in results:
        words = headline(r).partition(". ")[2]
        mark = Text(MARK[r.verdict.value], style=_colour(r.verdict))
        table.add_row(Text(r.key, style="bold"), mark, Text(words, style="dim"), f"{sum(r.timings.values()):.1f}")
    counts = {name: sum(r.verdict.value == name for r in results) for name in MARK}
    total = sum(sum(r.timings.values()) for r in results)
    words = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    return Group(table, Text(f"{len(results)} theorems in {total:.0f} s: {words}", style="bold"))


def threshold(found: Threshold) -> RenderableType:
    """The answer, then every value tried."""
    truth = HOLDS if found.holds else FAILS
    table = _table((found.vary, "right"), ("verdict", "left"), ("worst", "left"), ("margin", "right"))
    for t in found.tried:
        mark = Text("– refused" if t.why else MARK[t.truth.value], style=_colour(None if t.why else t.truth))
        table.add_row(short(t.value, 5), mark, t.worst, decades(t.margin))
    return Group(
        Panel(
            Text(thresholds.conclusion(found)),
            title=Text(f" {found.vary} ", style="bold"),
            subtitle=Text(f" {found.key} · {found.source} "),
            border_style=_colour(truth),
            padding=(1, 2),
        ),
        _section("Values tried (each a certified check)", table),
    )


# --- statements ------------------------------------------------------------------------------------


def catalogue(theorems: list[Theorem]) -> RenderableType:
    """One row per theorem, paper by paper."""
    parts: list[RenderableType] = []
    for paper in dict.fromkeys(t.source.paper for t in theorems):
        own = [t for t in theorems if t.source.paper == paper]
        table = _table(("", "left"), ("", "left"), ("", "left"))
        table.show_header = False
        table.columns[0].no_wrap = True
        table.columns[0].min_width = 27
        table.columns[1].min_width = 13
        for t in own:
            table.add_row(Text(t.key, style="bold"), t.source.number, Text(t.title, style="dim"))
        parts.append(_section(f"{own[0].source.authors} ({own[0].source.year})", table))
    return Group(*parts)


def statement(theorem: Theorem) -> RenderableType:
    """A theorem typeset from its sympy objects."""
    parts: list[RenderableType] = [
        Panel(
            Group(
                Text(theorem.title, style="bold"),
                Text(f"{theorem.source}. {theorem.source.paper}."),
                Text(f"Setting: {theorem.setting}."),
            ),
            title=Text(f" {theorem.key} ", style="bold"),
        )
    ]
    grid = _table(("", "left"), ("", "left"), ("", "left"))
    grid.show_header = False
    for symbol, q in theorem.measured.items():
        grid.add_row(theorem.pretty(symbol), Text("measured", style="green"), q.meaning)
    for symbol, choice in theorem.chosen.items():
        grid.add_row(theorem.pretty(symbol), Text("chosen", style="yellow"), theorem.rule(choice))
    parts.append(_section("Symbols", grid))
    if theorem.definitions:
        body = Group(
            *(_formula("", f"{theorem.pretty(s)} :=", theorem.pretty(e)) for s, e in theorem.definitions.items())
        )
        parts.append(_section("where", body))
    for title, lines in (("Hypotheses", theorem.hypotheses), ("Conclusions", theorem.conclusions)):
        rows = [_formula(x.id, "", theorem.pretty(x.claim) if x.claim is not None else "", x.text) for x in lines]
        if title == "Conclusions" and theorem.rate is not None:
            rate = theorem.rate
            words = (
                f"the {rate.of} shrinks by 1 − this per step"
                if rate.per == "step"
                else f"the {rate.of} shrinks like exp(−this · t)"
            )
            rows.append(_formula(rate.id, "", theorem.pretty(rate.gap), words))
        parts.append(_section(title, Group(*rows)))
    if theorem.reading:
        parts.append(_section("How the print is read", _notes(theorem.reading)))
    if theorem.flaw:
        parts.append(_section("Why the print cannot be relied on", Text(theorem.flaw)))
    return Group(*parts)


def _formula(number: str, head: str, body: str, words: str = "") -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=9, vertical="middle")
    grid.add_column(vertical="middle", no_wrap=True, overflow="fold")
    left = "\n".join(_beside(head, body)) if head else body
    grid.add_row(
        Text(number, style="bold cyan"),
        Group(Text(left, no_wrap=True), Text(words, style="dim")) if words else Text(left, no_wrap=True),
    )
    return Padding(grid, (0, 0, 1, 0))


def _beside(head: str, body: str) -> list[str]:
    """A one-line head at the middle of a two-dimensional formula."""
    lines = body.splitlines() or [""]
    middle = (len(lines) - 1) // 2
    return [(head if i == middle else " " * len(head)) + " " + line for i, line in enumerate(lines)]
