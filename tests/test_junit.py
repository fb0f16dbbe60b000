"""JUnit files: valid for CI servers, true to the verdicts, and the same for the same results."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from deqcheck import check
from deqcheck.report import junit
from deqcheck.statement import Status
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Line, Outcome, Result

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parent / "golden" / "junit.xsd"))
SETTINGS = {"width": "30", "samples": "10", "dim": "8"}


@pytest.fixture(scope="module")
def holds() -> Result:
    return check.verify("relu-lipschitz", SETTINGS)


@pytest.fixture(scope="module")
def fails() -> Result:
    return check.verify("gf-relu", {**SETTINGS, "scale": "1"})


def parsed(text: str) -> ET.Element:
    SCHEMA.validate(text)
    return ET.fromstring(text)


def case(root: ET.Element, name: str) -> ET.Element:
    (found,) = (c for c in root.iter("testcase") if c.get("name") == name)
    return found


def test_a_theorem_is_a_suite_and_its_checked_lines_are_cases(holds: Result, fails: Result) -> None:
    root = parsed(junit.to_junit([holds, fails]))
    assert [s.get("name") for s in root] == ["relu-lipschitz", "gf-relu"]
    for suite, result in zip(root, (holds, fails), strict=True):
        checked = [x.id for x in (*result.hypotheses, *result.conclusions) if x.verdict is not None]
        assert [c.get("name") for c in suite] == checked and checked
        assert {c.get("classname") for c in suite} == {result.key}


def test_what_was_not_tested_is_left_out(fails: Result) -> None:
    names = {c.get("name") for c in parsed(junit.to_junit([fails])).iter("testcase")}
    untested = {x.id for x in (*fails.hypotheses, *fails.conclusions) if x.status in (Status.ASSUMED, Status.IMPLIED)}
    assert untested and not names & untested


def test_a_failure_says_by_how_much_and_of_what(fails: Result) -> None:
    root = parsed(junit.to_junit([fails]))
    line = next(h for h in fails.hypotheses if h.verdict is FAILS)
    failure = case(root, line.id).find("failure")
    assert failure is not None and failure.get("type") == "FAILS"
    assert f"{line.id} fails by " in str(failure.get("message")) and "decades" in str(failure.get("message"))
    assert line.formula in str(failure.text) and "left side" in str(failure.text)


def test_counts_add_up(holds: Result, fails: Result) -> None:
    root = parsed(junit.to_junit([holds, fails], crashed=[("gd-relu", "Traceback\nZeroDivisionError: x")]))
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        total = len(list(root.iter(tag)))
        assert root.get(name) == str(total) and sum(int(s.get(name, "")) for s in root) == total
    assert int(root.get("failures", "")) == sum(h.verdict is FAILS for h in fails.hypotheses) > 0


def _with(result: Result, line: Line, **changes: object) -> Result:
    return replace(result, hypotheses=(replace(line, **changes), *result.hypotheses[1:]))  # type: ignore[arg-type]


def test_undecided_is_skipped_with_the_reason(holds: Result) -> None:
    line = holds.hypotheses[0]
    open_ = replace(_with(holds, line, verdict=UNDECIDED, note="too wide"), verdict=UNDECIDED)
    skipped = case(parsed(junit.to_junit([open_])), line.id).find("skipped")
    assert skipped is not None and skipped.get("message") == "UNDECIDED: too wide"
    stuck = replace(open_, outcome=Outcome.NOT_CONVERGED, remarks=("No fixed point after 7 steps.",))
    skipped = case(parsed(junit.to_junit([stuck])), line.id).find("skipped")
    assert skipped is not None and "No fixed point after 7 steps" in str(skipped.get("message"))


def test_a_broken_conclusion_fails_only_where_it_was_promised(holds: Result) -> None:
    broken = replace(holds.conclusions[0], verdict=FAILS, margin=-0.5)
    assert holds.conclusions[0].verdict is HOLDS
    lost = replace(holds, conclusions=(broken,), verdict=FAILS, outcome=Outcome.COUNTEREXAMPLE)
    failure = case(parsed(junit.to_junit([lost])), broken.id).find("failure")
    assert failure is not None and failure.get("type") == "counterexample"
    idle = replace(lost, outcome=Outcome.DOES_NOT_APPLY)
    outcome = case(parsed(junit.to_junit([idle])), broken.id)
    assert outcome.find("failure") is None
    assert "not promised here" in str(outcome.find("skipped").get("message"))  # type: ignore[union-attr]


def test_a_crash_is_an_error() -> None:
    root = parsed(junit.to_junit([], crashed=[("gd-relu", "Traceback\n  line\nValueError: boom\n"), ("x", "")]))
    error = root[0][0].find("error")
    assert error is not None and error.get("message") == "ValueError: boom" and "Traceback" in str(error.text)
    assert root[1][0].find("error").get("message") == "no message"  # type: ignore[union-attr]


def test_properties_only_on_request(holds: Result) -> None:
    assert "<propert" not in junit.to_junit([holds])
    root = parsed(junit.to_junit([holds], properties=True))
    facts = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert facts["setting.width"] == "30" and facts["verdict"] == "HOLDS" and "environment.torch" in facts
    assert list(facts) == sorted(map(str, facts))


def test_no_characters_that_xml_cannot_hold(holds: Result) -> None:
    nasty = "a\x00b\x1b[31m\ud800\ufffe <&>\"' ]]> \x85 \U0001f600 ünï\tx"
    line = replace(holds.hypotheses[0], verdict=FAILS, id=nasty, formula=nasty, text=nasty, note=nasty)
    text = junit.to_junit([replace(holds, key=nasty, hypotheses=(line,))], True, [(nasty, nasty)])
    text.encode("utf-8")
    root = parsed(text)
    assert root[0].get("name") == nasty.translate(dict.fromkeys(map(ord, "\x00\x1b\ud800\ufffe"), "\ufffd"))


def test_the_same_results_give_the_same_text(holds: Result, fails: Result) -> None:
    assert junit.to_junit([holds, fails], True) == junit.to_junit([holds, fails], True)
    assert parsed(junit.to_junit([])).get("tests") == "0"


@pytest.mark.parametrize(
    ("old", "new"),
    [('tests="', 'tets="'), ("<testcase ", "<testcas "), (' failures="', ' failures="many'), ("</testsuites>", "")],
)
def test_the_schema_can_refuse(holds: Result, old: str, new: str) -> None:
    text = junit.to_junit([holds])
    assert old in text
    with pytest.raises((xmlschema.XMLSchemaException, ET.ParseError)):
        SCHEMA.validate(text.replace(old, new))
