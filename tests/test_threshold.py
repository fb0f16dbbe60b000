"""Thresholds: brackets between certified verdicts, in both directions, and honest failure."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deqcheck import check
from deqcheck.error import InputError
from deqcheck.report import thresholds
from deqcheck.threshold import threshold
from deqcheck.truth import HOLDS
from tests.cli import Seen, run

SMALL = {"width": "30", "samples": "8", "dim": "12"}


@pytest.fixture
def deqcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Seen]:
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def test_the_smallest_scale_agrees_with_scale_auto() -> None:
    found = threshold("gd-relu", "scale", SMALL)
    assert found.holds is not None
    low, high = found.holds
    below = found.neighbour(low, -1)
    assert below is not None and below.truth is not HOLDS and low / below.value <= 1.011
    assert high == found.tried[-1].value, "larger scales keep holding"
    auto = check.verify("gd-relu", SMALL).instance["scale"]
    assert isinstance(auto, float) and below.value < auto <= low * 1.011


def test_the_largest_step_is_the_one_that_auto_takes() -> None:
    settings = {**SMALL, "scale": "1e4"}
    found = threshold("gd-relu", "eta", settings)
    assert found.holds is not None
    above = found.neighbour(found.holds[1], +1)
    eta = next(c.value for c in check.verify("gd-relu", settings).constants if c.name == "eta")
    assert above is not None and found.holds[1] / 1.02 <= eta <= above.value * 1.02


def test_a_constant_can_be_varied() -> None:
    found = threshold("gd-relu", "C3", {**SMALL, "scale": "1e4"})
    assert found.holds is not None
    assert found.neighbour(found.holds[0], -1) is not None and found.neighbour(found.holds[1], +1) is not None


def test_when_nothing_works_the_nearest_is_named() -> None:
    found = threshold("gd-relu", "dim", {"width": "20", "samples": "6", "scale": "1"}, high="16")
    assert found.holds is None
    text = thresholds.conclusion(found)
    assert text.startswith("No dim between") and "decades" in text


def test_refused_values_are_told_apart_from_failures() -> None:
    found = threshold("relu-nonnegative", "gamma", {"width": "10", "dim": "4"}, low="0.1", high="10")
    assert any(t.why for t in found.tried)
    assert "not admissible" in thresholds.conclusion(found)


@pytest.mark.parametrize(
    ("vary", "given", "low", "part"),
    [
        ("speed", {}, None, "speed"),
        ("scale", {"scale": "3"}, None, "varied here"),
        ("scale", {}, "-1", "positive and increasing"),
        ("scale", {}, "many", "numbers"),
        ("data", {}, None, "data"),
    ],
)
def test_bad_requests(vary: str, given: dict[str, str], low: str | None, part: str) -> None:
    with pytest.raises(InputError, match=part):
        threshold("gd-relu", vary, {**SMALL, **given}, low=low)


def test_the_command(deqcheck: Callable[..., Seen], tmp_path: Path) -> None:
    small = ("--width", "20", "--samples", "5", "--dim", "9")
    file = tmp_path / "t.json"
    seen = deqcheck("threshold", "-t", "gd-relu", "--vary", "scale", *small, "--json", str(file))
    assert seen.code == 0 and "smallest scale" in seen.out.replace("\n", " ")
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["holds"]["smallest"] > 1 and len(document["tried"]) > 13
    assert deqcheck("threshold", "-t", "gd-relu").code == 2
    assert deqcheck("threshold", "-t", "gd-relu", "--vary", "sacle").code == 2
    assert (
        deqcheck("threshold", "-t", "gd-relu", "--vary", "dim", "--scale", "1", *small[:4], "--to", "12", "-q").code
        == 1
    )
