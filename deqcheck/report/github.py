"""Annotations for GitHub Actions: workflow commands on standard output.

One annotation per result, because GitHub shows only the first ten of a kind for each step.
"""

from collections.abc import Sequence

from deqcheck.regress import Comparison, Report, Trend
from deqcheck.report import regression, sentence
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from deqcheck.verdict import Result

LEVEL = {FAILS: "error", UNDECIDED: "warning", HOLDS: "notice"}


def annotations(results: Sequence[Result]) -> str:
    """FAILS is an error, UNDECIDED a warning, HOLDS a notice; the message is the conclusion in words."""
    return "".join(
        _command(LEVEL[r.verdict], sentence.conclusion(r), title=f"{r.key}: {r.verdict.value}") for r in results
    )


def regressions(report: Report, *, require: bool = False, update: bool = False) -> str:
    """Every check that does not pass, every one that is new or improved, and a summary."""
    shown = [
        _compared(report, one, one.truth(require=require, update=update), require)
        for one in report.comparisons
        if one.trend is not Trend.UNCHANGED
    ]
    level = LEVEL[report.truth(require=require, update=update)]
    return "".join([*shown, _command(level, regression.conclusion(report), title="deqcheck regress")])


def _compared(report: Report, one: Comparison, truth: Truth, require: bool) -> str:
    verdict = f" ({one.result.verdict.value})" if one.result is not None else ""
    words = regression.details(one) if truth is HOLDS else regression.complaint(one, require=require)
    path = report.config.path
    file = {} if path.is_absolute() else {"file": path.as_posix()}
    return _command(
        LEVEL[truth], words or "not in the baseline", **file, title=f"{one.name}: {one.trend.value}{verdict}"
    )


def _command(level: str, message: str, **properties: str) -> str:
    pairs = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {pairs}::{_data(message)}\n"


def _data(text: str) -> str:
    """A line break would end the command, and a bare % would start an escape."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """In a property, colons and commas are syntax too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
