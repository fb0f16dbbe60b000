"""A regression run in words, as a table and as JSON; and the one place that writes a baseline."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from deqcheck.enclosure import Enclosure
from deqcheck.regress import Baseline, Change, Comparison, Report, Trend, to_document, updated
from deqcheck.report import json, terminal
from deqcheck.report.number import decimal, listed
from deqcheck.report.write import write_atomically
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from deqcheck.verdict import Json, Result

COLOUR = {Trend.REGRESSED: "red", Trend.CHANGED: "red", Trend.GONE: "red", Trend.NEW: "yellow", Trend.IMPROVED: "green"}
MARK = {
    Trend.REGRESSED: "✗ regressed",
    Trend.CHANGED: "✗ changed",
    Trend.GONE: "✗ gone",
    Trend.NEW: "+ new",
    Trend.IMPROVED: "✓ improved",
    Trend.UNCHANGED: "✓ unchanged",
}


def sentence(change: Change) -> str:
    """One change in words."""
    before, after = _plain(change.before), _plain(change.after)
    match change.kind:
        case "expectation":
            return f"expected {before}, found {after}"
        case "verdict":
            return f"{change.what} was {before} and is {after}" if change.what != "verdict" else f"{before} → {after}"
        case "margin":
            verb = "fell" if change.trend is Trend.REGRESSED else "rose"
            return f"margin of {change.what} {verb} from {before} to {after} decades"
        case "rate":
            verb = "fell" if change.trend is Trend.REGRESSED else "rose"
            return f"{change.what} {verb} from {before} to {after}"
        case "quantity":
            return f"{change.what} was {before} and is {after}, although the settings are the same"
        case "instance":
            return f"{change.what} was {before} and is {after}"
        case _:
            return f"{change.what} is {'no longer' if change.after is None else 'now'} part of the statement"


def _plain(value: Truth | Enclosure | str | None) -> str:
    if isinstance(value, Truth):
        return value.value
    if isinstance(value, Enclosure):
        return _digits(value)
    return "not there" if value is None else value


def _digits(x: Enclosure) -> str:
    """As many digits as the two ends share, at least four: enough to see two enclosures apart."""
    for count in (12, 10, 8, 6, 4):
        lo, hi = (decimal(end, count) for end in x.decimals(count + 2))
        if lo == hi:
            return lo
    return f"[{lo}, {hi}]"


def advice(one: Comparison) -> str:
    """What to do about a check that is not simply better, worse or the same."""
    match one.trend:
        case Trend.CHANGED if any(c.kind == "quantity" for c in one.changes):
            return "the data or the model differ, or one of the two enclosures is wrong; --update accepts the new ones"
        case Trend.CHANGED:
            return "the baseline is of another check; --update accepts this one"
        case Trend.GONE:
            return "only the baseline has it; --update drops it"
        case _:
            return ""


def details(one: Comparison) -> str:
    """Everything that a reader needs about one check, in one line."""
    return "; ".join(filter(None, [*(sentence(c) for c in one.changes), advice(one)]))


def complaint(one: Comparison, *, require: bool = False) -> str:
    """Why a check does not pass."""
    if (words := details(one)) or one.trend is not Trend.NEW:
        return words
    verdict = one.result.verdict.value if one.result is not None else ""
    return "not in the baseline" if require else f"{verdict}, and neither a baseline nor expect says that it should be"


def conclusion(report: Report) -> str:
    """One line: how many checks stand how."""
    counts = {t: sum(c.trend is t for c in report.comparisons) for t in Trend}
    words = [f"{n} {trend.value}" for trend, n in counts.items() if n]
    total = len(report.comparisons)
    text = f"{total} check{'' if total == 1 else 's'}: {listed(words)}." if words else "No check was finished."
    return f"{text} Interrupted before {listed(list(report.left))}." if report.interrupted else text


def table(report: Report) -> RenderableType:
    """One row per check, and the changes below it."""
    rows = terminal._table(("check", "left"), ("", "left"), ("verdict", "left"), ("", "left"))
    for one in report.comparisons:
        verdict = terminal.MARK[one.result.verdict.value] if one.result is not None else "–"
        rows.add_row(
            Text(one.name, style="bold"),
            Text(MARK[one.trend], style=COLOUR.get(one.trend, "dim")),
            verdict,
            Text(details(one), style="" if one.trend in COLOUR else "dim"),
        )
    return Group(rows, Text(conclusion(report), style="bold"))


def text(renderable: RenderableType) -> str:
    """What a pipe would show, for messages that are not printed at once."""
    out = io.StringIO()
    Console(file=out, width=80, no_color=True, highlight=False).print(renderable)
    return out.getvalue()


def result_text(result: Result) -> str:
    """The report of one check as plain text."""
    return text(terminal.report(result))


def to_json(report: Report, *, require: bool = False, update: bool = False) -> dict[str, Any]:
    """Every check with its trend and its changes."""
    return {
        "schema_version": 1,
        "config": report.config.path.name,
        "verdict": report.truth(require=require, update=update).value,
        "left": list(report.left),
        "checks": [_entry(one, one.truth(require=require, update=update)) for one in report.comparisons],
        "conclusion": conclusion(report),
    }


def _entry(one: Comparison, truth: Truth) -> dict[str, Json]:
    return {
        "name": one.name,
        "theorem": one.theorem,
        "trend": one.trend.value,
        "passes": {HOLDS: True, FAILS: False, UNDECIDED: None}[truth],
        "verdict": None if one.result is None else one.result.verdict.value,
        "expect": None if one.expect is None else one.expect.value,
        "changes": [
            {
                "what": c.what,
                "kind": c.kind,
                "trend": c.trend.value,
                "before": _json(c.before),
                "after": _json(c.after),
                "text": sentence(c),
            }
            for c in one.changes
        ],
    }


def _json(value: Truth | Enclosure | str | None) -> Json:
    if isinstance(value, Enclosure):
        return json.bounds(value)
    return value.value if isinstance(value, Truth) else value


def write_baseline(path: Path, report: Report, baseline: Baseline) -> None:
    """The next baseline, complete or not at all; a line per value, so that a diff shows what moved."""
    dumped = json.dumps(to_document(updated(report, baseline)))
    write_atomically(path, re.sub(r'\{\s+("lo": "[^"]*"),\s+("hi": "[^"]*")\s+\}', r"{\1, \2}", dumped))
