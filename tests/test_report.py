"""What reports promise: schema, outward rounding, complete files, digits that are true."""

import json
import math
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from deqcheck import check
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError
from deqcheck.report import json as report_json
from deqcheck.report import number, sentence, terminal
from deqcheck.report.write import check_writable, write_atomically
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Outcome, Result

SETTINGS = {"width": "30", "samples": "10", "dim": "8"}


@pytest.fixture(scope="module")
def result() -> Result:
    return check.verify("gd-relu", SETTINGS)


@pytest.mark.parametrize("key", ["gd-relu", "gf-relu", "relu-wellposed", "relu-lipschitz", "relu-nonnegative"])
def test_every_result_satisfies_the_schema(key: str) -> None:
    document = json.loads(report_json.dumps(report_json.to_json(check.verify(key, SETTINGS))))
    jsonschema.validate(document, report_json.schema())


def test_the_schema_can_fail(result: Result) -> None:
    document = report_json.to_json(result)
    document["quantities"]["alpha_0"]["lo"] = 0.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, report_json.schema())


def test_bounds_are_rounded_outward(result: Result) -> None:
    document = report_json.to_json(result)
    for q in result.quantities:
        lo, hi = q.value.fractions()
        stored = document["quantities"][q.name]
        assert Fraction(stored["lo"]) <= lo and hi <= Fraction(stored["hi"])
        assert Fraction(stored["hi"]) - Fraction(stored["lo"]) <= (hi - lo) * 2 + Fraction(hi) / 10**18


def test_the_rate_is_never_collapsed(result: Result) -> None:
    tiny = Enclosure.between(Fraction(24, 10**17), Fraction(25, 10**17))
    assert result.rate is not None
    changed = replace(result, rate=replace(result.rate, one_minus_rate=tiny))
    assert "1 − 2.4" in sentence.conclusion(changed) or "[2.4e-16, 2.5e-16]" in sentence.conclusion(changed)
    assert result.rate.half_life.is_finite


def test_a_run_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from deqcheck.equilibrium import engine

    def stuck(*_: object) -> None:
        raise NotConverged("Picard iteration", (1.0, 0.9))

    monkeypatch.setattr(engine, "solve", stuck)
    result = check.verify("gd-relu", SETTINGS)
    assert result.verdict is UNDECIDED and result.outcome is Outcome.NOT_CONVERGED
    assert "9.00e-01 after 2 iterations" in sentence.conclusion(result)
    jsonschema.validate(report_json.to_json(result), report_json.schema())
    terminal.console().print(terminal.report(result))


def test_a_counterexample_is_the_loudest_thing(result: Result) -> None:
    lemma = check.verify("relu-wellposed", SETTINGS)
    broken = tuple(replace(c, verdict=FAILS, margin=-1.5) if c.id == "‖Z‖" else c for c in lemma.conclusions)
    text = sentence.conclusion(replace(lemma, conclusions=broken, verdict=FAILS, outcome=Outcome.COUNTEREXAMPLE))
    assert text.startswith("COUNTEREXAMPLE to Lemma 3.1") and "‖Z‖ fails by 1.50 decades" in text


def test_undecided_names_the_widest_quantity(result: Result) -> None:
    wide = tuple(replace(q, value=Enclosure.between(1, 2)) if q.name == "alpha_0" else q for q in result.quantities)
    lines = tuple(replace(h, verdict=UNDECIDED) if h.id == "(17)" else h for h in result.hypotheses)
    text = sentence.conclusion(
        replace(result, quantities=wide, hypotheses=lines, verdict=UNDECIDED, outcome=Outcome.UNDECIDED)
    )
    assert "undecided at (17)" in text and "α₀" in text and "0.5" in text


def test_margins_are_certified(result: Result) -> None:
    for line in result.hypotheses:
        if line.margin is not None and line.lhs is not None and line.rhs is not None:
            assert (line.verdict is HOLDS) == (line.margin > 0)


# --- numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0, "0"), (1.0, "1"), (31.6228, "31.62"), (581900.0, "5.819e5"), (3.487e-16, "3.487e-16"), (math.inf, "∞")],
)
def test_short(x: float, text: str) -> None:
    assert number.short(x) == text


def test_enclosed_shows_only_what_is_known() -> None:
    assert number.enclosed(Enclosure.between(1.0, 1.5)) == "[1, 1.5]"
    assert number.enclosed(Enclosure.exact(1.5)) == "1.5"
    assert number.enclosed(Enclosure.exact(Fraction(10) ** -400)) == "1e-400"
    assert "∞" in number.enclosed(Enclosure.between(1, math.inf))


# --- files -------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.json"
    target.write_text("old", encoding="utf-8")

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_is_readable_by_others(tmp_path: Path) -> None:
    write_atomically(tmp_path / "r.json", "x")
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) & stat.S_IRUSR


def test_check_writable(tmp_path: Path) -> None:
    check_writable(tmp_path / "r.json")
    for bad in (tmp_path, tmp_path / "no" / "r.json"):
        with pytest.raises(InputError):
            check_writable(bad)
