"""Regression of bounds: what the file may say, what counts as worse, and that the machine does not matter."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deqcheck import check, library, regress
from deqcheck.enclosure import Enclosure
from deqcheck.error import InputError
from deqcheck.regress import Bounds, Change, Config, Judged, Record, Trend
from deqcheck.report import github, junit, regression
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from tests.test_github import read
from tests.test_junit import parsed

ROOT = Path(__file__).parent.parent
SMALL = 'theorem = "relu-wellposed"\nwidth = 20\nsamples = 6\ndim = 5\n'


def written(folder: Path, text: str, name: str = "deqcheck.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# --- the file ----------------------------------------------------------------------------------------


def test_a_file_of_checks(tmp_path: Path) -> None:
    text = """
        baseline = "b.json"
        [checks.second]
        theorem = "gd-relu"
        width = 60
        scale = "auto"
        gamma = 0.25
        set = { C1 = 1.0, C_2 = 2 }
        expect = "HOLDS"
        [checks.first]
        theorem = "relu-ntk"
        quick = true
    """
    config = regress.load(written(tmp_path, text))
    first, second = config.checks
    assert config.baseline == tmp_path / "b.json"
    assert first == regress.Check("first", "relu-ntk", {}, {}, quick=True)
    assert second.given == {"width": "60", "scale": "auto", "gamma": "0.25"}
    assert second.pins == {"C1": "1.0", "C_2": "2"} and second.expect is HOLDS


def test_pyproject_and_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither"):
        regress.find(tmp_path)
    project = written(tmp_path, "[tool.other]\nx = 1\n", "pyproject.toml")
    with pytest.raises(InputError, match="neither"):
        regress.find(tmp_path)
    with pytest.raises(InputError, match=r"no \[tool.deqcheck\]"):
        regress.load(project)
    written(tmp_path, "[tool.deqcheck.checks.a]\n" + SMALL, "pyproject.toml")
    assert regress.find(tmp_path) == project
    assert [c.name for c in regress.load(project).checks] == ["a"]
    assert regress.load(project).baseline == tmp_path / "reports" / "baseline.json"
    written(tmp_path, "[checks.a]\n" + SMALL)
    with pytest.raises(InputError, match="keep one"):
        regress.find(tmp_path)


def test_the_whole_catalogue_in_one_word(tmp_path: Path) -> None:
    text = 'catalogue = "quick"\n[checks.gd-relu]\ntheorem = "gd-relu"\nwidth = 12\nexpect = "HOLDS"\n'
    config = regress.load(written(tmp_path, text))
    assert {c.name for c in config.checks} == set(library.catalogue())
    assert config.check("gd-relu").given == {"width": "12"}, "a table of the same name replaces the short form"
    assert all(c.quick for c in config.checks if c.name != "gd-relu")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "names no check"),
        ("[check.a]\n" + SMALL, "did you mean 'checks'"),
        ("baselin = 'x'\n[checks.a]\n" + SMALL, "did you mean 'baseline'"),
        ("baseline = 3\n[checks.a]\n" + SMALL, "must be a string, not 3"),
        ("checks = 3", "must be a table"),
        ("[checks]\na = 3", "must be a table"),
        ("catalogue = 'quik'", "did you mean 'quick'"),
        ("catalogue = true", "known: quick"),
        ("[checks.a]\nwidth = 3", "names no theorem"),
        ("[checks.a]\ntheorm = 'gd-relu'", "did you mean 'theorem'"),
        ("[checks.a]\ntheorem = 3", "must be a string"),
        ("[checks.a]\ntheorem = 'gd-rleu'", "did you mean 'gd-relu'"),
        ("[checks.a]\nwdith = 3\n" + SMALL, "did you mean 'width'"),
        ("[checks.a]\nexpct = 'HOLDS'\n" + SMALL, "did you mean 'expect'"),
        ("[checks.a]\nexpect = 'HOLD'\n" + SMALL, "did you mean 'HOLDS'"),
        ("[checks.a]\nexpect = true\n" + SMALL, "known: FAILS, HOLDS, UNDECIDED"),
        ("[checks.a]\nquick = 1\n" + SMALL, "true or false"),
        ("[checks.a]\nset = 1\n" + SMALL, "must be a table"),
        ("[checks.a]\nset = {C9 = 1}\n" + SMALL, "C9"),
        ("[checks.a]\ntheorem = 'gd-relu'\nset = {C1 = -1}", "positive"),
        ("[checks.a]\ntheorem = 'gd-relu'\nset = {C1 = [1]}", "a number or a string"),
        ("[checks.a]\ntheorem = 'gd-relu'\nwidth = 2.5", "whole number"),
        ("[checks.a]\ntheorem = 'gd-relu'\nwidth = true", "not true"),
        ("[checks.a]\ntheorem = 'gd-relu'\nwidth = 0", "at least 1"),
        ("[checks.a]\ntheorem = 'gf-relu'\neta = 0.1", "eta"),
        ("[checks.a\n", "not valid TOML"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputError) as error:
        regress.load(written(tmp_path, text))
    sentence = str(error.value)
    assert part in sentence and "deqcheck.toml" in sentence and "\n" not in sentence


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        regress.load(tmp_path / "deqcheck.toml")


# --- what counts as worse ----------------------------------------------------------------------------


def between(lo: float, hi: float) -> Bounds:
    return Bounds.of(Enclosure.between(lo, hi))


def around(x: float) -> Bounds:
    return between(x - abs(x) * 1e-12, x + abs(x) * 1e-12)


def sample(**changes: Any) -> Record:
    base = Record(
        "gd-relu",
        {"settings": {"width": 60, "data": "sphere"}, "pins": {}, "rows": 30, "columns": 20},
        HOLDS,
        {"(17)": Judged(HOLDS, around(1.0)), "(18)": Judged(HOLDS)},
        {"(ii)": HOLDS},
        around(1e-9),
        {"alpha_0": around(2.0), "N": between(30, 30)},
    )
    return replace(base, **changes)


def only(changes: tuple[Change, ...]) -> Change:
    (change,) = changes
    return change


def test_the_same_is_unchanged() -> None:
    assert regress.compare(sample(), sample()) == ()


@pytest.mark.parametrize("before", list(Truth))
@pytest.mark.parametrize("after", list(Truth))
def test_verdicts(before: Truth, after: Truth) -> None:
    order = [FAILS, UNDECIDED, HOLDS]
    trend = Trend.REGRESSED if order.index(after) < order.index(before) else Trend.IMPROVED
    for field, values in (
        ("verdict", (before, after)),
        ("hypotheses", ({"(17)": Judged(before)}, {"(17)": Judged(after)})),
        ("conclusions", ({"(ii)": before}, {"(ii)": after})),
    ):
        changes = regress.compare(*(sample(**{field: value}) for value in values))
        assert [c.trend for c in changes] == ([] if before is after else [trend])


@pytest.mark.parametrize(
    ("now", "trend"),
    [
        (1.0, None),
        (0.985, None),
        (1.015, None),
        (0.975, Trend.REGRESSED),
        (-3.0, Trend.REGRESSED),
        (1.03, Trend.IMPROVED),
    ],
)
def test_margins_move_by_more_than_the_search_may_differ(now: float, trend: Trend | None) -> None:
    changes = regress.compare(sample(), sample(hypotheses={"(17)": Judged(HOLDS, around(now)), "(18)": Judged(HOLDS)}))
    assert [c.trend for c in changes] == ([] if trend is None else [trend])
    assert all(c.kind == "margin" and c.what == "(17)" for c in changes)


@pytest.mark.parametrize(
    ("now", "trend"),
    [(1.04e-9, None), (0.96e-9, None), (0.94e-9, Trend.REGRESSED), (1.06e-9, Trend.IMPROVED), (1e-30, Trend.REGRESSED)],
)
def test_rates(now: float, trend: Trend | None) -> None:
    changes = regress.compare(sample(), sample(one_minus_rate=around(now)))
    assert [c.trend for c in changes] == ([] if trend is None else [trend])


def test_a_wide_enclosure_is_not_a_regression() -> None:
    """Smaller in the middle is not smaller: only disjoint enclosures are proof."""
    wide = between(1e-12, 2e-9)
    assert regress.compare(sample(), sample(one_minus_rate=wide)) == ()
    endless = between(0, float("inf"))
    assert regress.compare(sample(one_minus_rate=endless), sample(one_minus_rate=around(1e-30))) == ()


def quantity(x: Bounds, **settings: str) -> Record:
    base = sample(quantities={"alpha_0": x})
    return replace(base, instance={**base.instance, "settings": {"width": 60, "data": "sphere", **settings}})


def test_quantities_enclose_one_number() -> None:
    assert regress.compare(quantity(around(2.0)), quantity(between(1, 5))) == ()
    assert regress.compare(quantity(around(2.0)), quantity(around(2.0 * (1 + 5e-10)))) == ()
    for other in (2.0 * (1 + 1e-8), 2.0 * (1 - 1e-8), -2.0):
        change = only(regress.compare(quantity(around(2.0)), quantity(around(other))))
        assert change.kind == "quantity" and change.trend is Trend.CHANGED


def test_quantities_at_a_scale_that_was_searched_for() -> None:
    before = quantity(around(2.0), scale="auto")
    assert regress.compare(before, quantity(around(2.06), scale="auto")) == ()
    assert only(regress.compare(before, quantity(around(2.2), scale="auto"))).trend is Trend.CHANGED


def test_rounding_noise_is_not_compared_by_its_value() -> None:
    assert regress.compare(quantity(around(3.4e-16)), quantity(around(9e-17))) == ()
    assert only(regress.compare(quantity(around(3.4e-16)), quantity(around(1e-6)))).trend is Trend.CHANGED


def test_another_instance_is_not_compared() -> None:
    other = replace(sample(verdict=FAILS), instance={**sample().instance, "rows": 31})
    change = only(regress.compare(sample(), other))
    assert (change.what, change.kind, change.before, change.after) == ("rows", "instance", "30", "31")
    assert only(regress.compare(sample(), sample(theorem="gf-relu"))).what == "theorem"
    pinned = replace(sample(), instance={**sample().instance, "pins": {"C_1": 1.0}})
    assert only(regress.compare(sample(), pinned)).what == "set C_1"


def test_an_edited_statement_is_named() -> None:
    fewer = sample(hypotheses={"(17)": Judged(HOLDS, around(1.0))}, one_minus_rate=None)
    assert {(c.what, c.trend) for c in regress.compare(sample(), fewer)} == {
        ("(18)", Trend.CHANGED), ("the rate", Trend.CHANGED),
    }  # fmt: skip


def test_the_worst_comes_first() -> None:
    after = sample(verdict=FAILS, one_minus_rate=around(1), quantities={"alpha_0": around(7), "N": between(30, 30)})
    trends = [c.trend for c in regress.compare(sample(), after)]
    assert trends == [Trend.REGRESSED, Trend.CHANGED, Trend.IMPROVED]


# --- running -----------------------------------------------------------------------------------------


def config(folder: Path, text: str = "[checks.a]\n" + SMALL + "[checks.b]\n" + SMALL + "seed = 1\n") -> Config:
    return regress.load(written(folder, "baseline = 'b.json'\n" + text))


def accepted(one: Config) -> dict[str, Record]:
    regression.write_baseline(one.baseline, regress.run(one, {}), {})
    return regress.read_baseline(one.baseline)


def test_from_new_to_unchanged(tmp_path: Path) -> None:
    one = config(tmp_path)
    first = regress.run(one, {})
    assert [c.trend for c in first.comparisons] == [Trend.NEW, Trend.NEW]
    assert first.truth() is HOLDS and first.truth(require=True) is FAILS
    baseline = accepted(one)
    again = regress.run(one, baseline)
    assert [c.trend for c in again.comparisons] == [Trend.UNCHANGED, Trend.UNCHANGED]
    assert again.truth(require=True) is HOLDS


def test_the_file_reads_back_what_was_found(tmp_path: Path) -> None:
    one = config(tmp_path, "[checks.a]\ntheorem = 'gf-relu'\nwidth = 20\nsamples = 6\ndim = 5\n")
    (fresh,) = regress.run(one, {}).comparisons
    assert fresh.record is not None and fresh.result is not None
    stored = accepted(one)["a"]
    assert stored == fresh.record, "nothing is lost or widened on the way"
    for q in fresh.result.quantities:
        lo, hi = q.value.fractions()
        kept = json.loads(one.baseline.read_text(encoding="utf-8"))["checks"]["a"]["quantities"][q.name]
        assert Fraction(kept["lo"]) <= lo and hi <= Fraction(kept["hi"]), "rounded inward"
    assert fresh.result.rate is not None and stored.one_minus_rate is not None
    assert stored.one_minus_rate.value.contains(fresh.result.rate.one_minus_rate)


def test_the_file_is_sorted_and_has_a_line_per_value(tmp_path: Path) -> None:
    one = config(tmp_path)
    accepted(one)
    text = one.baseline.read_text(encoding="utf-8")
    names = list(json.loads(text)["checks"])
    assert names == sorted(names) and text.endswith("}\n")
    bounds = [line for line in text.splitlines() if '"lo"' in line]
    assert bounds and all('"hi"' in line for line in bounds)
    entry = json.loads(text)["checks"]["a"]
    assert list(entry["quantities"]) == sorted(entry["quantities"])
    assert str(tmp_path) not in text


def test_gone_and_changed(tmp_path: Path) -> None:
    baseline = accepted(config(tmp_path))
    one = config(tmp_path, "[checks.a]\n" + SMALL.replace("width = 20", "width = 21"))
    report = regress.run(one, baseline)
    assert {c.name: c.trend for c in report.comparisons} == {"a": Trend.CHANGED, "b": Trend.GONE}
    assert report.truth() is FAILS and report.truth(update=True) is HOLDS
    assert list(regress.updated(report, baseline)) == ["a"]
    assert "width was 20 and is 21" in regression.details(report.comparisons[0])


def test_data_files_by_their_content_and_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.standard_normal((6, 4)), y=np.ones(6))
    one = config(tmp_path, "[checks.a]\ntheorem = 'relu-wellposed'\nwidth = 20\ndata = 'd.npz'\n")
    monkeypatch.chdir("/")
    baseline = accepted(one)
    assert regress.run(one, baseline).truth() is HOLDS
    assert str(tmp_path) not in one.baseline.read_text(encoding="utf-8")
    np.savez(tmp_path / "d.npz", X=rng.standard_normal((6, 4)), y=np.ones(6))
    (changed,) = regress.run(one, baseline).comparisons
    assert [c.what for c in changed.changes] == ["sha256"]


@pytest.mark.parametrize(
    ("expect", "verdict", "trend"),
    [("HOLDS", HOLDS, Trend.NEW), ("FAILS", HOLDS, Trend.REGRESSED), ("UNDECIDED", HOLDS, Trend.REGRESSED)],
)
def test_expectations(tmp_path: Path, expect: str, verdict: Truth, trend: Trend) -> None:
    one = config(tmp_path, f"[checks.a]\nexpect = '{expect}'\n" + SMALL)
    report = regress.run(one, {})
    (found,) = report.comparisons
    assert found.result is not None and found.result.verdict is verdict and found.trend is trend
    assert report.truth() is (HOLDS if expect == "HOLDS" else FAILS)
    assert report.truth(update=True) is report.truth(), "--update does not forgive an expectation"
    again = regress.run(one, accepted(one))
    assert again.truth() is report.truth(), "nor does a baseline"


@pytest.mark.parametrize("verdict", list(Truth))
def test_a_new_check_that_expects_nothing_must_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: Truth
) -> None:
    result = replace(check.verify("relu-wellposed", {"width": "20", "samples": "6", "dim": "5"}), verdict=verdict)
    monkeypatch.setattr(check, "verify", lambda *_, **__: result)
    one = config(tmp_path, "[checks.a]\n" + SMALL)
    report = regress.run(one, {})
    assert report.truth() is verdict
    outcomes = [child.tag for child in parsed(junit.regression_to_junit(report)).find(".//testcase")]  # type: ignore[union-attr]
    assert outcomes == {HOLDS: [], FAILS: ["failure"], UNDECIDED: ["skipped"]}[verdict]
    levels = [level for level, _, _ in read(github.regressions(report))]
    assert levels == [{HOLDS: "notice", FAILS: "error", UNDECIDED: "warning"}[verdict]] * 2
    assert regress.run(one, accepted(one)).truth() is HOLDS, "an accepted verdict is no regression"


def test_an_interrupt_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = config(tmp_path)
    baseline = {"b": sample(), "old": sample()}
    verify = check.verify

    def interrupted(key: str, given: dict[str, str], *rest: Any, **more: Any) -> Any:
        if given.get("seed") == "1":
            raise KeyboardInterrupt
        return verify(key, given, *rest, **more)

    monkeypatch.setattr(check, "verify", interrupted)
    report = regress.run(one, baseline)
    assert report.interrupted and report.left == ("b",) and "Interrupted before b" in regression.conclusion(report)
    kept = regress.updated(report, baseline)
    assert list(kept) == ["a", "b", "old"] and kept["b"] is baseline["b"] and kept["a"].theorem == "relu-wellposed"
    skipped = parsed(junit.regression_to_junit(report)).findall(".//skipped")
    assert [s.get("message") for s in skipped] == ["interrupted before this check"]


def test_unchanged_entries_keep_their_digits(tmp_path: Path) -> None:
    one = config(tmp_path)
    baseline = accepted(one)
    moved = Bounds.of(baseline["a"].quantities["gamma"].value * Enclosure.exact(1 + 2.0**-40))
    assert moved != baseline["a"].quantities["gamma"]
    old = {"a": replace(baseline["a"], quantities={**baseline["a"].quantities, "gamma": moved})}
    kept = regress.updated(regress.run(one, old), old)
    assert kept["a"] is old["a"] and "b" in kept


def test_bad_input_names_the_check(tmp_path: Path) -> None:
    one = config(tmp_path, "[checks.a]\ntheorem = 'gd-relu'\nwidth = 20\ngamma = 1\n")
    with pytest.raises(InputError, match="check 'a': gamma = 1 is not below"):
        regress.run(one, {})
    with pytest.raises(InputError, match="did you mean 'a'"):
        regress.run(one, {}, only=["aa"])


def test_progress_says_which_check_and_which_stage(tmp_path: Path) -> None:
    shown: list[str] = []
    regress.run(config(tmp_path), {}, "auto", shown.append)
    assert shown[0] == "1/2 a: data" and any(s.startswith("2/2 b: ") for s in shown)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"schema_version": 2, "checks": {}}', '{"schema_version": 1, "checks": {"a": {}}}',
        '{"schema_version": 1, "checks": {"a": 3}}',
    ],
)  # fmt: skip
def test_a_baseline_that_is_not_one(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text, "b.json")
    with pytest.raises(InputError, match="--update"):
        regress.read_baseline(path)


@pytest.mark.parametrize(("lo", "hi"), [("2", "1"), ("nan", "1"), ("x", "1"), ("1/0", "2")])
def test_a_baseline_with_broken_bounds(tmp_path: Path, lo: str, hi: str) -> None:
    one = config(tmp_path)
    accepted(one)
    document = json.loads(one.baseline.read_text(encoding="utf-8"))
    document["checks"]["a"]["quantities"]["gamma"] = {"lo": lo, "hi": hi}
    one.baseline.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="not one that deqcheck wrote"):
        regress.read_baseline(one.baseline)


def test_no_baseline_yet(tmp_path: Path) -> None:
    assert regress.read_baseline(tmp_path / "b.json") == {}
    with pytest.raises(InputError, match="--update"):
        regress.read_baseline(tmp_path / "b.json", require=True)


# --- reports -----------------------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path: Path) -> regress.Report:
    """One of every trend."""
    names = ("better", "edited", "fresh", "same", "worse")
    one = config(tmp_path, "".join(f"[checks.{name}]\n{SMALL}" for name in names))
    (found,) = regress.run(one, {}, only=["same"]).comparisons
    assert found.record is not None
    name = next(name for name, h in found.record.hypotheses.items() if h.margin is not None)
    better, worse = (
        replace(found.record, hypotheses={**found.record.hypotheses, name: Judged(HOLDS, around(margin))})
        for margin in (-9.0, 9.0)
    )
    edited = replace(found.record, instance={**found.record.instance, "columns": 99})
    baseline = {"better": better, "edited": edited, "same": found.record, "worse": worse, "lost": found.record}
    return regress.run(one, baseline)


TRENDS = {
    "better": "improved", "edited": "changed", "fresh": "new",
    "lost": "gone", "same": "unchanged", "worse": "regressed",
}  # fmt: skip


def test_the_table_names_every_trend(mixed: regress.Report) -> None:
    text = regression.text(regression.table(mixed))
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    for name, trend in TRENDS.items():
        assert trend in rows[name]
    assert max(map(len, text.splitlines())) <= 80
    assert "1 regressed, 1 changed, 1 gone, 1 new, 1 improved and 1 unchanged" in " ".join(text.split())


def test_json(mixed: regress.Report) -> None:
    document = json.loads(json.dumps(regression.to_json(mixed, require=True), allow_nan=False))
    assert {c["name"]: c["trend"] for c in document["checks"]} == TRENDS
    assert {c["name"] for c in document["checks"] if not c["passes"]} == {"edited", "fresh", "lost", "worse"}
    assert document["verdict"] == "FAILS"
    (change,) = next(c["changes"] for c in document["checks"] if c["name"] == "worse")
    assert change["kind"] == "margin" and set(change["before"]) == {"lo", "hi"} and "fell from 9" in change["text"]


def test_junit_of_a_regression(mixed: regress.Report) -> None:
    root = parsed(junit.regression_to_junit(mixed))
    failed = {c.get("name"): c[0].get("type") for c in root.iter("testcase") if len(c)}
    assert failed == {"edited": "changed", "lost": "gone", "worse": "regressed"}
    assert root.get("tests") == "6"
    stricter = parsed(junit.regression_to_junit(mixed, require=True))
    messages = {c.get("name"): c[0].get("message") for c in stricter.iter("testcase") if len(c)}
    assert messages["fresh"] == "not in the baseline" and set(messages) == {"edited", "fresh", "lost", "worse"}


def test_annotations_of_a_regression(mixed: regress.Report) -> None:
    mixed = replace(mixed, config=replace(mixed.config, path=Path("sub") / "deqcheck.toml"))
    found = read(github.regressions(mixed))
    levels = {properties["title"].split(":")[0]: level for level, properties, _ in found}
    assert levels == {
        "better": "notice", "edited": "error", "fresh": "notice", "lost": "error", "worse": "error",
        "deqcheck regress": "error",
    }  # fmt: skip
    assert found[0][1]["file"] == "sub/deqcheck.toml"


# --- the machine does not matter ---------------------------------------------------------------------

ELSEWHERE = """
import sys
from pathlib import Path
from deqcheck import check, regress
from deqcheck.report import json
one = regress.load(Path(sys.argv[1]))
report = regress.run(one, regress.read_baseline(one.baseline, require=True))
print(json.dumps(json.collection([json.to_json(r) for r in report.results])))
print([c.trend.value for c in report.comparisons], file=sys.stderr)
"""


def test_other_kernels_and_threads_give_the_same_answer(tmp_path: Path) -> None:
    """Another BLAS, as far as one machine can have it: other instruction sets and another summation order."""
    text = "".join(
        f"[checks.{key}]\ntheorem = '{key}'\nquick = true\n" for key in ("gf-relu", "relu-lipschitz", "relu-ntk")
    )
    one = config(tmp_path, text)
    first = regress.run(one, {})
    regression.write_baseline(one.baseline, first, {})
    kernels = {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem"}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(one.path)],
        capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, **kernels},
    )  # fmt: skip
    assert done.stderr.strip().splitlines()[-1] == "['unchanged', 'unchanged', 'unchanged']"
    there = json.loads(done.stdout)["results"]
    here = [r for r in first.results if r.key == "gf-relu"]
    floats = {c.name: c.value for c in here[0].constants}
    if there[0]["constants"] == floats:
        pytest.skip("this BLAS gives the same bits with other kernels, so the run proves nothing here")


@pytest.mark.parametrize("bits", [-50, -40])
def test_other_constants_from_the_search_give_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    from deqcheck.conditions import choose

    one = config(tmp_path, "[checks.a]\ntheorem = 'gf-relu'\nwidth = 20\nsamples = 6\ndim = 5\n")
    baseline = accepted(one)
    found = choose.choose_constants

    def nearly(*arguments: Any) -> Any:
        values, margin = found(*arguments)
        return {s: v * (1 + 2.0**bits * (-1) ** i) for i, (s, v) in enumerate(values.items())}, margin

    monkeypatch.setattr(choose, "choose_constants", nearly)
    report = regress.run(one, baseline)
    assert [c.trend for c in report.comparisons] == [Trend.UNCHANGED]
    (moved,) = report.results
    assert moved.rate is not None and baseline["a"].one_minus_rate is not None


# --- the project's own baseline ----------------------------------------------------------------------


def test_the_baseline_covers_the_catalogue() -> None:
    own = regress.load(regress.find(ROOT))
    baseline = regress.read_baseline(own.baseline, require=True)
    assert set(baseline) == {c.name for c in own.checks} == set(library.catalogue())


@pytest.mark.parametrize("key", ["gf-relu", "relu-wellposed", "relu-ntk"])
def test_the_baseline_is_current_for_a_few(key: str) -> None:
    own = regress.load(regress.find(ROOT))
    report = regress.run(own, regress.read_baseline(own.baseline, require=True), only=[key])
    assert report.truth(require=True) is HOLDS, regression.text(regression.table(report))
