"""The command line as a user meets it: verdicts, exit codes, bad input, speed of --help."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli import Seen, run

Run = Callable[..., Seen]


@pytest.fixture
def deqcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


SMALL = ("--width", "40", "--dim", "12")


# --- verdicts and exit codes -------------------------------------------------------------------------


def test_a_theorem_that_applies(deqcheck: Run) -> None:
    seen = deqcheck("verify", "--theorem", "gd-relu", *SMALL)
    assert seen.code == 0
    assert "Theorem 4.4 applies" in seen.out and "1/N, (20) fails by" in seen.out.replace("\n", " ").replace("│", "")
    assert seen.err == ""


def test_conditions_that_fail_are_named_with_their_distance(deqcheck: Run) -> None:
    seen = deqcheck("verify", "--theorem", "gd-relu", *SMALL, "--scale", "1", "--eta", "1e-3", "--quiet")
    assert seen.code == 1
    for number in ("(17)", "(18)", "(19)", "(20)"):
        assert f"{number} fails by " in seen.out
    assert seen.out.count("\n") == 1


def test_exit_zero(deqcheck: Run) -> None:
    seen = deqcheck("verify", "--theorem", "gd-relu", *SMALL, "--scale", "1", "--exit-zero", "--quiet")
    assert seen.code == 0 and "FAILS" in seen.out


def test_fewer_units_than_samples_never_applies(deqcheck: Run) -> None:
    seen = deqcheck("verify", "-t", "gd-relu", "--width", "20", "--samples", "30", "--scale", "1e9", "--quiet")
    assert seen.code == 1


@pytest.mark.parametrize("key", ["gf-relu", "relu-wellposed", "relu-lipschitz", "relu-nonnegative"])
@pytest.mark.parametrize("init", ["experiment", "linear-width"])
def test_other_keys_hold_on_their_defaults(deqcheck: Run, key: str, init: str) -> None:
    assert deqcheck("verify", "-t", key, *SMALL, "--init", init, "--quiet").code == 0


def test_a_negative_weight_violates_the_hypothesis_of_lemma_5_1(deqcheck: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from deqcheck.models import relu

    def negative(d: int, m: int, rng: np.random.Generator) -> relu.Parameters:
        return rng.standard_normal((d, m)), -np.eye(m), np.zeros(m)

    monkeypatch.setitem(relu.INITIALISATIONS, "experiment", negative)  # type: ignore[arg-type]
    seen = deqcheck("verify", "-t", "relu-nonnegative", *SMALL, "--quiet")
    assert seen.code == 1 and "A_ij ≥ 0 fails" in seen.out


def test_pinned_constants_are_reported(deqcheck: Run, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    pins = ("--set", "C1=1", "--set", "C_2=2", "--set", "C3=3")
    assert deqcheck("verify", "-t", "gd-relu", *SMALL, *pins, "--json", str(out)).code == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert [document["constants"][n] for n in ("C_1", "C_2", "C_3")] == [1.0, 2.0, 3.0]
    assert document["constants_chosen_by"]["C_1"] == "pinned"


def test_output_is_stable_and_fits_80_columns_when_piped(deqcheck: Run) -> None:
    first = deqcheck("verify", "-t", "gd-relu", *SMALL).out
    second = deqcheck("verify", "-t", "gd-relu", *SMALL).out
    assert first.splitlines()[:-1] == second.splitlines()[:-1]  # the last line is the time taken
    assert max(map(len, first.splitlines())) <= 80
    assert "\x1b" not in first


# --- list and show -----------------------------------------------------------------------------------


def test_list_names_every_key(deqcheck: Run) -> None:
    from deqcheck import library

    seen = deqcheck("list")
    assert seen.code == 0
    for key in library.catalogue():
        assert key in seen.out


def test_show_is_numbered_as_in_the_paper(deqcheck: Run) -> None:
    seen = deqcheck("show", "gd-relu")
    assert seen.code == 0
    for expected in ("(17)", "(18)", "(19)", "(20)", "measured", "chosen", "Theorem 4.4", "≥"):
        assert expected in seen.out
    assert max(map(len, seen.out.splitlines())) <= 80


# --- bad input: exit 2, one sentence, no traceback ---------------------------------------------------


def _npz(path: Path, **arrays: object) -> str:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return str(path)


def _bad_data(folder: Path) -> dict[str, str]:
    X, y = np.eye(4), np.array([1.0, -1, 1, -1])
    holed = X.copy()
    holed[1, 2] = np.nan
    endless = X.copy()
    endless[0, 0] = np.inf
    whole = Path(_npz(folder / "whole.npz", X=X, y=y))
    cut = folder / "cut.npz"
    cut.write_bytes(whole.read_bytes()[:200])
    pickled = np.empty(2, dtype=object)
    pickled[:] = [{"a": 1}, None]
    return {
        "not there": str(folder / "nowhere.npz"),
        "nan": _npz(folder / "nan.npz", X=holed, y=y),
        "inf": _npz(folder / "inf.npz", X=endless, y=y),
        "shapes": _npz(folder / "shapes.npz", X=X, y=y[:2]),
        "one-dimensional": _npz(folder / "flat.npz", X=X[0], y=y),
        "no labels": _npz(folder / "unlabelled.npz", X=X),
        "truncated": str(cut),
        "pickle": _npz(folder / "pickle.npz", X=pickled, y=y),
        "directory": str(folder),
    }


@pytest.mark.parametrize(
    "kind",
    ["not there", "nan", "inf", "shapes", "one-dimensional", "no labels", "truncated", "pickle", "directory"],
)
def test_bad_data(deqcheck: Run, tmp_path: Path, kind: str) -> None:
    seen = deqcheck("verify", "-t", "gd-relu", "--width", "8", "--data", _bad_data(tmp_path)[kind])
    one_sentence(seen)


def one_sentence(seen: Seen) -> None:
    assert seen.code == 2
    assert seen.out == ""
    assert seen.err.startswith("deqcheck: ") and seen.err.count("\n") == 1, seen.err
    assert "Traceback" not in seen.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("verify", "-t", "gd-rleu"), "did you mean 'gd-relu'"),
        (("verify",), "no theorem was named"),
        (("verify", "-t", "gd-relu", "--wdith", "3"), "--wdith"),
        (("verify", "-t", "gd-relu", "--width", "0"), "width must be at least 1"),
        (("verify", "-t", "gd-relu", "--width", "ten"), "whole number"),
        (("verify", "-t", "gd-relu", "--samples", "-3"), "samples must be at least 1"),
        (("verify", "-t", "gd-relu", "--samples", "100000000", "--width", "2000"), "GiB"),
        (("verify", "-t", "gd-relu", "--width", "4000000"), "GiB"),
        (("verify", "-t", "gd-relu", "--gamma", "1"), "gamma = 1 is not below 1/||A|| = 1"),
        (("verify", "-t", "gd-relu", "--gamma", "nan"), "finite"),
        (("verify", "-t", "gd-relu", "--gamma", "-0.5"), "positive"),
        (("verify", "-t", "gd-relu", "--scale", "0"), "positive"),
        (("verify", "-t", "gd-relu", "--eta", "fast"), "auto"),
        (("verify", "-t", "gf-relu", "--eta", "0.1"), "eta"),
        (("verify", "-t", "gd-relu", "--with", "distance=1"), "distance"),
        (("verify", "-t", "gd-relu", "--init", "xavier"), "xavier"),
        (("verify", "-t", "gd-relu", "--set", "C9=1"), "C9"),
        (("verify", "-t", "gd-relu", "--set", "alpha_0=1"), "measured"),
        (("verify", "-t", "gd-relu", "--set", "C1=-1"), "positive"),
        (("verify", "-t", "gd-relu", "--set", "C1"), "NAME=VALUE"),
        (("verify", "-t", "gd-relu", "--set", "C1=1", "--set", "C1=2"), "twice"),
        (("verify", "-t", "gd-relu", "--device", "mps"), "float64"),
        (("verify", "-t", "gd-relu", "--device", "tpu"), "tpu"),
        (("verify", "-t", "gd-relu", "--data", "spere"), "spere"),
        (("verify", "-t", "gd-relu", "--classes", "0,1"), "classes"),
        (("verify", "-t", "gd-relu", "--json", "/nowhere/at/all.json"), "does not exist"),
        (("verify", "-t", "gd-relu", "--json", "."), "directory"),
        (("verify", "--rerun", "/nowhere.json"), "cannot read"),
        (("show", "gd-rleu"), "did you mean 'gd-relu'"),
        (("frobnicate",), "frobnicate"),
        (("show",), "KEY"),
    ],
)
def test_bad_arguments(deqcheck: Run, arguments: tuple[str, ...], part: str) -> None:
    seen = deqcheck(*arguments)
    one_sentence(seen)
    assert part in seen.err


def test_an_unwritable_output_is_refused_before_the_work(
    deqcheck: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deqcheck import check

    monkeypatch.setattr(check, "verify", lambda *_, **__: pytest.fail("the work started"))
    one_sentence(deqcheck("verify", "-t", "gd-relu", "--json", str(tmp_path / "no" / "r.json")))


def test_a_result_that_is_not_one(deqcheck: Run, tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"instance": 3}'):
        (tmp_path / "r.json").write_text(text, encoding="utf-8")
        one_sentence(deqcheck("verify", "--rerun", str(tmp_path / "r.json")))


def test_interrupt(deqcheck: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from deqcheck import check

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "verify", interrupted)
    assert deqcheck("verify", "-t", "gd-relu").code == 130


# --- JSON --------------------------------------------------------------------------------------------


def test_the_json_alone_reruns_the_check(deqcheck: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    arguments = ("--init", "linear-width", "--seed", "7", "--set", "C1=2", "--gamma", "0.01")
    deqcheck("verify", "-t", "gd-relu", *SMALL, *arguments, "--json", str(first))
    deqcheck("verify", "--rerun", str(first), "--json", str(second))
    a, b = (json.loads(p.read_text(encoding="utf-8")) for p in (first, second))
    for document in (a, b):
        document.pop("timings")
    assert a == b


def test_a_rerun_notices_changed_data(deqcheck: Run, tmp_path: Path) -> None:
    data = tmp_path / "d.npz"
    rng = np.random.default_rng(0)
    np.savez(data, X=rng.standard_normal((6, 4)), y=np.ones(6))
    deqcheck("verify", "-t", "gf-relu", "--width", "20", "--data", str(data), "--json", str(tmp_path / "a.json"))
    np.savez(data, X=rng.standard_normal((6, 4)), y=np.ones(6))
    seen = deqcheck("verify", "--rerun", str(tmp_path / "a.json"))
    one_sentence(seen)
    assert "sha256" in seen.err


# --- weight ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("--help",), ("verify", "--help"), ("list",), ("show", "gd-relu")])
def test_light_commands_do_not_import_torch(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "deqcheck", *arguments],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "deqcheck.cli" in imported, "importtime printed nothing; this test would prove nothing"
    assert "torch" not in imported
    if "--help" in arguments:
        assert "sympy" not in imported
