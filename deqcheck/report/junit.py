"""Results as JUnit XML, the form that CI servers read.

A theorem is a test suite and each checked hypothesis or conclusion a test case. FAILS is a failure with
its margin, UNDECIDED is skipped with the reason, a crash is an error. ASSUMED and IMPLIED lines are left
out: nothing was tested. A conclusion that fails where not every hypothesis holds was never promised, so
it is skipped, not failed; where all of them hold it is a counterexample to the theorem.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from deqcheck.regress import Comparison, Report
from deqcheck.report import regression
from deqcheck.report.number import decades, enclosed
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Line, Outcome, Result

# XML 1.0 has no way at all to write these, not even escaped.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
KINDS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


@dataclass(frozen=True)
class Case:
    """One test case; `kind` is empty where it passes."""

    classname: str
    name: str
    kind: str = ""
    type: str = ""
    message: str = ""
    body: str = ""


@dataclass(frozen=True)
class Suite:
    """One test suite, with properties only where they were asked for."""

    name: str
    cases: tuple[Case, ...]
    seconds: float = 0.0
    properties: tuple[tuple[str, str], ...] = ()


def to_junit(results: Sequence[Result], properties: bool = False, crashed: Sequence[tuple[str, str]] = ()) -> str:
    """One suite per result, then one per crash: (key, traceback)."""
    suites = [_suite(result, properties) for result in results]
    for key, trace in crashed:
        last = trace.strip().splitlines()[-1] if trace.strip() else "no message"
        suites.append(Suite(key, (Case(key, "check", "error", "crash", last, trace),)))
    return _document("deqcheck", suites)


def regression_to_junit(report: Report, *, require: bool = False, update: bool = False) -> str:
    """One suite for the run and one test case per check; what was not run is skipped."""
    cases = [_compared(one, require=require, update=update) for one in report.comparisons]
    cases += [
        Case(report.config.check(n).theorem, n, "skipped", "", "interrupted before this check") for n in report.left
    ]
    seconds = sum(sum(r.timings.values()) for r in report.results)
    return _document("deqcheck", [Suite("regress", tuple(sorted(cases, key=lambda c: c.name)), seconds)])


# --- what becomes of a result ------------------------------------------------------------------------


def _suite(result: Result, properties: bool) -> Suite:
    checked = [_case(result, h, promised=True) for h in result.hypotheses if h.verdict is not None]
    promised = result.outcome in (Outcome.APPLIES, Outcome.COUNTEREXAMPLE)
    checked += [_case(result, c, promised=promised) for c in result.conclusions if c.verdict is not None]
    return Suite(result.key, tuple(checked), sum(result.timings.values()), _properties(result) if properties else ())


def _case(result: Result, line: Line, *, promised: bool) -> Case:
    body = "\n".join(filter(None, [line.formula, _sides(line), line.text, line.note]))
    if line.verdict is FAILS:
        by = f" by {decades(line.margin).lstrip('−+')} decades" if line.margin is not None else ""
        if not promised:
            why = "not promised here, since not every hypothesis is certified to hold"
            return Case(result.key, line.id, "skipped", "", f"{line.id} fails{by}, but it is {why}", body)
        broken = result.outcome is Outcome.COUNTEREXAMPLE and line in result.conclusions
        kind = "counterexample" if broken else "FAILS"
        return Case(result.key, line.id, "failure", kind, f"{line.id} fails{by}", body)
    if line.verdict is UNDECIDED:
        return Case(result.key, line.id, "skipped", "", f"UNDECIDED: {_reason(result, line)}", body)
    return Case(result.key, line.id)


def _sides(line: Line) -> str:
    if line.lhs is None or line.rhs is None:
        return ""
    return f"left side {enclosed(line.lhs)}, right side {enclosed(line.rhs)}, margin {decades(line.margin)} decades"


def _reason(result: Result, line: Line) -> str:
    if result.outcome is Outcome.NOT_CONVERGED:
        return " ".join(result.remarks) or "the equilibrium was not reached"
    return line.note or "the enclosures of the two sides overlap"


def _properties(result: Result) -> tuple[tuple[str, str], ...]:
    settings = result.instance.get("settings")
    facts: dict[str, object] = {}
    facts |= {f"setting.{k}": v for k, v in (settings if isinstance(settings, dict) else {}).items() if v is not None}
    facts |= {f"constant.{c.name}": c.value for c in result.constants}
    facts |= {f"environment.{k}": v for k, v in result.environment.items()}
    facts |= {"verdict": result.verdict.value, "outcome": result.outcome.name, "source": result.source}
    return tuple((name, str(facts[name])) for name in sorted(facts))


def _compared(one: Comparison, *, require: bool, update: bool) -> Case:
    truth, words = one.truth(require=require, update=update), regression.complaint(one, require=require)
    if truth is HOLDS:
        return Case(one.theorem, one.name)
    if truth is UNDECIDED:
        return Case(one.theorem, one.name, "skipped", "", words)
    body = regression.result_text(one.result) if one.result is not None else ""
    return Case(one.theorem, one.name, "failure", one.trend.value, words, body)


# --- XML ---------------------------------------------------------------------------------------------


def _document(name: str, suites: Sequence[Suite]) -> str:
    """The attributes that the schema of the Jenkins xUnit plugin requires, and no others that it does not know."""
    cases = [case for suite in suites for case in suite.cases]
    totals = {**_counts(cases), "time": f"{sum(s.seconds for s in suites):.3f}"}
    del totals["skipped"]  # the schema knows it on a suite only
    root = ET.Element("testsuites", {"name": name, **totals})
    for suite in suites:
        node = ET.SubElement(root, "testsuite", {"name": _legal(suite.name), **_counts(suite.cases)})
        node.set("time", f"{suite.seconds:.3f}")
        if suite.properties:
            bag = ET.SubElement(node, "properties")
            for key, value in suite.properties:
                ET.SubElement(bag, "property", name=_legal(key), value=_legal(value))
        for case in suite.cases:
            _append(node, case)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _append(suite: ET.Element, case: Case) -> None:
    node = ET.SubElement(suite, "testcase", classname=_legal(case.classname), name=_legal(case.name))
    if not case.kind:
        return
    inner = ET.SubElement(node, case.kind)
    if case.type:
        inner.set("type", case.type)
    inner.set("message", _legal(case.message))
    inner.text = _legal(case.body) or None


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    counts = {plural: sum(c.kind == kind for c in cases) for kind, plural in KINDS.items()}
    return {"tests": str(len(cases)), **{name: str(n) for name, n in counts.items()}}


def _legal(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
