"""Annotations: one line each, whatever the text, and the level that the verdict asks for."""

import re
from dataclasses import replace

import pytest

from deqcheck import check
from deqcheck.report import github, sentence
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from deqcheck.verdict import Outcome, Result

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)\n")


@pytest.fixture(scope="module")
def result() -> Result:
    return check.verify("relu-wellposed", {"width": "20", "samples": "6", "dim": "5"})


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read commands as the runner does: split first, unescape afterwards."""
    found = COMMAND.findall(text)
    assert "".join(f"::{level} {pairs}::{data}\n" for level, pairs, data in found) == text, "not only commands"

    def plain(value: str) -> str:
        for code, mark in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(code, mark)
        return value

    return [
        (level, {k: plain(v) for k, v in (pair.split("=", 1) for pair in pairs.split(","))}, plain(data))
        for level, pairs, data in found
    ]


@pytest.mark.parametrize(("truth", "level"), [(FAILS, "error"), (UNDECIDED, "warning"), (HOLDS, "notice")])
def test_the_level_is_the_verdict(result: Result, truth: Truth, level: str) -> None:
    outcome = {FAILS: Outcome.DOES_NOT_APPLY, UNDECIDED: Outcome.UNDECIDED, HOLDS: Outcome.APPLIES}[truth]
    seen = replace(result, verdict=truth, outcome=outcome)
    ((found, properties, message),) = read(github.annotations([seen]))
    assert found == level and properties == {"title": f"relu-wellposed: {truth.value}"}
    assert message == sentence.conclusion(seen)


@pytest.mark.parametrize("nasty", ["a\nb\r\nc", "100% sure", "%0A", "a::b, c=d", "::error title=x::y", ""])
def test_no_text_escapes_its_command(result: Result, nasty: str) -> None:
    seen = replace(result, key=nasty, remarks=(nasty,))
    ((level, properties, message),) = read(github.annotations([seen]))
    assert level == "notice" and properties == {"title": f"{nasty}: HOLDS"}
    assert message == sentence.conclusion(seen) and message.endswith(nasty)


def test_one_annotation_per_result(result: Result) -> None:
    assert len(read(github.annotations([result, result]))) == 2
    assert github.annotations([]) == ""
