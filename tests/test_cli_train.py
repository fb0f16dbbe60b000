"""Training from the command line: what is printed and written, bad input, and a run that is killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

from deqcheck import check, library, trajectory
from deqcheck.report import html, junit, sentence
from deqcheck.report import json as report_json
from deqcheck.trajectory import store
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Outcome, Result
from tests.cli import Seen, run

Run = Callable[..., Seen]
SMALL = ("--width", "24", "--dim", "10")
RANDOM = ("--width", "20", "--samples", "6", "--dim", "5", "--init", "random", "--scale", "1", "--eta", "1e-3")


@pytest.fixture
def deqcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def written(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, report_json.schema())
    return document


def words(seen: Seen) -> str:
    return " ".join(seen.out.replace("│", " ").split())


# --- what is shown -----------------------------------------------------------------------------------


def test_a_covered_run_holds_and_says_so_everywhere(deqcheck: Run, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("r.json", "r.html", "r.xml")]
    outputs = [x for pair in zip(("--json", "--html", "--junit"), map(str, files), strict=True) for x in pair]
    seen = deqcheck("verify", "-t", "gd-relu", *SMALL, "--train", "20", *outputs)
    assert seen.code == 0
    assert seen.err == ""
    said = words(seen)
    assert "After 20 steps: every conclusion holds at every certified step." in said
    assert "guaranteed / measured" in said and "λ_min of the tangent kernel" in said
    assert "loss below 1e-3 of L(0) not reached" in said
    document = written(files[0])
    course = document["trajectory"]
    assert [mark["step"] for mark in course["certified"]] == [0, 1, 2, 4, 8, 16, 20]
    assert course["covered"] and not course["counterexample"] and course["last_step"] == 20
    assert document["rate"]["measured"] == course["measured"]["one_minus_rate"] > 0
    assert document["instance"]["train"] == {"steps": 20, "time": None, "certify_every": "log"}
    rate = next(line for line in document["conclusions"] if line["id"] == "(iii)")
    assert rate["verdict"] == "HOLDS" and rate["note"] == "at step 20 of training" and rate["margin_log10"] > 0
    page = files[1].read_text(encoding="utf-8")
    assert 'id="r1-loss' in page and "Guaranteed / measured" in page
    assert html.documents(document) == [document]
    assert 'name="(iii)"' in files[2].read_text(encoding="utf-8")


def test_a_step_beyond_the_theorem_trains_and_is_not_covered(deqcheck: Run, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    seen = deqcheck("verify", "-t", "gd-relu", *RANDOM, "--train", "10", "--json", str(out))
    assert seen.code == 1
    assert "the theorem does not cover this run" in words(seen)
    assert "not covered: its hypotheses are not certified" in words(seen)
    course = written(out)["trajectory"]
    assert not course["covered"] and not course["counterexample"]
    assert course["eta"] == 1e-3
    assert course["loss"][-1] < course["loss"][0]
    assert written(out)["outcome"] == "DOES_NOT_APPLY"


def test_a_flow_is_followed_to_its_time(deqcheck: Run, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    seen = deqcheck("verify", "-t", "kawaguchi-square", "--quick", "--train-time", "0.05", "--json", str(out))
    assert seen.code == 0
    assert "Dormand-Prince" in words(seen) and "error of the loss, integrator" in words(seen)
    course = written(out)["trajectory"]
    assert course["times"][-1] == course["horizon"] == 0.05
    assert course["integrator"]["parameter_error"] > 0
    assert html.render(html.documents(written(out)))


def test_a_flow_that_runs_out_of_steps_is_not_called_done(deqcheck: Run) -> None:
    flow = ("verify", "-t", "kawaguchi-square", "--quick", "--train-time", "0.5", "--train", "2")
    seen = deqcheck(*flow)
    assert seen.code == 3
    assert "was not followed to the end" in words(seen)
    assert "was reached in the 2 steps allowed" in words(seen)


@pytest.mark.parametrize("every", ["all", "3"])
def test_which_steps_are_certified(deqcheck: Run, tmp_path: Path, every: str) -> None:
    out = tmp_path / "r.json"
    deqcheck("verify", "-t", "gd-relu", *SMALL, "--train", "7", "--certify-every", every, "--json", str(out), "-q")
    marks = [mark["step"] for mark in written(out)["trajectory"]["certified"]]
    assert marks == (list(range(8)) if every == "all" else [0, 3, 6, 7])


def test_rerun_repeats_the_training_too(deqcheck: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    given = ("-t", "gd-relu", *RANDOM, "--train", "6", "--certify-every", "2")
    deqcheck("verify", *given, "--json", str(first), "-q")
    assert deqcheck("verify", "--rerun", str(first), "--json", str(second), "-q").code == 1
    a, b = written(first), written(second)
    for document in (a, b):
        del document["trajectory"]["seconds"]
    assert a["trajectory"] == b["trajectory"]
    assert a["instance"] == b["instance"]


@pytest.mark.parametrize("key", ["ling-gd", "mondeq-gd:repaired", "opteq-gd", "gd-relu:sharp"])
def test_every_descent_can_be_followed(deqcheck: Run, tmp_path: Path, key: str) -> None:
    if key not in library.catalogue():
        pytest.skip(f"{key} is not in the catalogue")
    out = tmp_path / "r.json"
    small = SMALL if key.startswith("gd-relu") else ("--quick",)
    assert deqcheck("verify", "-t", key, *small, "--train", "2", "--json", str(out), "-q").code in (0, 1)
    assert written(out)["trajectory"]["last_step"] == 2


@pytest.mark.parametrize("key", ["gf-relu", "mondeq-gf", "kawaguchi-pl", "kawaguchi-logistic"])
def test_every_flow_can_be_followed(deqcheck: Run, tmp_path: Path, key: str) -> None:
    out = tmp_path / "r.json"
    assert deqcheck("verify", "-t", key, "--quick", "--train", "2", "--json", str(out), "-q").code in (0, 1)
    assert written(out)["trajectory"]["last_step"] == 2


# --- a counterexample ----------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Result:
    """gd-relu with a gradient of the wrong sign: the loss grows although every hypothesis holds."""
    from deqcheck.trajectory.model import TrainRelu

    usual = TrainRelu.evaluate

    def uphill(self: TrainRelu, *arguments: Any) -> Any:
        here = usual(self, *arguments)
        here.gradient[2].neg_()
        return here

    monkeypatch.setattr(TrainRelu, "evaluate", uphill)
    return check.verify("gd-relu", {"width": "24", "dim": "10"}, train=trajectory.Plan(8))


def test_a_broken_promise_is_the_loudest_thing(broken: Result) -> None:
    assert broken.trajectory is not None and broken.trajectory.counterexample
    assert (broken.verdict, broken.outcome) == (FAILS, Outcome.COUNTEREXAMPLE)
    said = sentence.conclusion(broken)
    assert (
        said.startswith("COUNTEREXAMPLE to Theorem 4.4") and "(iii) fails" in said and "at step 1 of training" in said
    )
    assert "a counterexample to the theorem" in said
    document = report_json.to_json(broken)
    jsonschema.validate(document, report_json.schema())
    assert document["trajectory"]["counterexample"] and document["outcome"] == "COUNTEREXAMPLE"
    assert 'type="counterexample"' in junit.to_junit([broken])


def test_an_equilibrium_lost_at_once_leaves_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    from deqcheck.equilibrium.solution import NotConverged
    from deqcheck.trajectory.model import TrainRelu

    def lost(*_: Any) -> Any:
        raise NotConverged("Anderson", (0.5,))

    monkeypatch.setattr(TrainRelu, "evaluate", lost)
    found = check.verify("gd-relu", {"width": "24", "dim": "10"}, train=trajectory.Plan(8))
    assert found.verdict is UNDECIDED and found.trajectory is None
    assert any(r.startswith("Training could not start") for r in found.remarks)
    assert all(h.verdict is HOLDS for h in found.hypotheses if h.verdict is not None)
    assert sentence.conclusion(found)


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--train", "0"), "--train must be at least 1, not 0"),
        (("--train", "x"), "--train must be a whole number, not 'x'"),
        (("--train", "5", "--train-time", "1"), "gradient descent, which has no end time"),
        (("--train-time", "1"), "gradient descent, which has no end time"),
        (("--certify-every", "all"), "--certify-every is about training; say how long to train with --train K"),
        (("--save", "here"), "--save is about training"),
        (("--resume", "here"), "--resume is about training"),
        (("--save-every", "4"), "--save-every is about training"),
        (("--train", "5", "--save-every", "4"), "say where with --save DIR"),
        (("--train", "5", "--save-every", "0", "--save", "here"), "--save-every must be at least 1, not 0"),
        (("--train", "5", "--certify-every", "often"), "'all', 'log' or a whole number of at least 1, not 'often'"),
        (("--train", "5", "--certify-every", "0"), "a whole number of at least 1, not '0'"),
        (("--train", "5", "--resume", "nowhere"), "there is no checkpoint to resume in nowhere"),
        (("--train", "5", "--samples", "40"), "allow no positive step here"),
    ],
)
def test_bad_options_end_in_one_sentence(
    deqcheck: Run, arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = deqcheck("verify", "-t", "gd-relu", *SMALL, *arguments)
    assert seen.code == 2
    assert message in seen.err and seen.err.count("\n") == 1
    assert seen.out == ""


def test_other_refusals(deqcheck: Run, tmp_path: Path) -> None:
    assert "promises no rate" in deqcheck("verify", "-t", "relu-wellposed", *SMALL, "--train", "5").err
    assert "name it with --theorem KEY" in deqcheck("verify", "-t", "all", "--train", "5").err
    flow = ("verify", "-t", "gf-relu", *SMALL)
    assert "must be positive and finite" in deqcheck(*flow, "--train-time", "-1").err
    assert "--train-time must be a number" in deqcheck(*flow, "--train-time", "soon").err
    (tmp_path / store.INDEX).write_text("{}")
    seen = deqcheck("verify", "-t", "gd-relu", *SMALL, "--train", "5", "--save", str(tmp_path))
    assert seen.code == 2 and "already holds a checkpoint" in seen.err
    record = tmp_path / "r.json"
    record.write_text("{}")
    assert "without other settings" in deqcheck("verify", "--rerun", str(record), "--train", "5").err


# --- a kill ----------------------------------------------------------------------------------------------


def _command(folder: Path, name: str, *more: str) -> list[str]:
    given = ("-t", "gd-relu", *RANDOM, "--train", "3000", "--save-every", "50")
    files = ("--json", str(folder / f"{name}.json"), "--quiet")
    return [sys.executable, "-m", "deqcheck", "verify", *given, *more, *files]


def test_a_killed_run_ends_in_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole = subprocess.run(
        _command(tmp_path, "whole", "--save", str(tmp_path / "whole")),
        env=environment,
        check=False,
        capture_output=True,
    )
    assert whole.returncode == 1, whole.stderr
    assert whole.stderr == b"", "no progress where nobody watches"
    cut = tmp_path / "cut"
    with subprocess.Popen(_command(tmp_path, "cut", "--save", str(cut)), env=environment) as running:
        index, deadline = cut / store.INDEX, time.monotonic() + 60
        while not index.exists() or json.loads(index.read_text(encoding="utf-8"))["step"] < 200:
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
    stopped = json.loads(index.read_text(encoding="utf-8"))["step"]
    assert 200 <= stopped < 3000
    assert not (tmp_path / "cut.json").exists()
    subprocess.run(_command(tmp_path, "cut", "--resume", str(cut)), env=environment, check=False)
    name = "step-000003000.safetensors"
    assert (cut / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    ours, theirs = (written(tmp_path / f"{n}.json")["trajectory"] for n in ("cut", "whole"))
    for course in (ours, theirs):
        del course["seconds"]
    assert ours == theirs


# --- progress --------------------------------------------------------------------------------------------


def test_the_bar_shows_loss_bound_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[float, str]] = []
    monkeypatch.setattr("deqcheck.trajectory.run.SHOWN_EVERY", 0.0)
    threads = torch.get_num_threads()
    check.verify(
        "gd-relu",
        {"width": "24", "dim": "10"},
        train=trajectory.Plan(4),
        show_training=lambda share, line: said.append((share, line)),
    )
    assert torch.get_num_threads() == threads
    assert [share for share, _ in said] == [0, 0.25, 0.5, 0.75, 1]
    assert all(" loss " in line and " bound " in line for _, line in said)
    assert said[1][1].endswith(" s left")


def test_the_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from deqcheck import cli

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with cli._progress(quiet=False) as advance:
        advance("conditions")
        advance.course(0.5, "step 5/10, loss 2, bound 3, 7 s left")
    drawn = capsys.readouterr().err
    assert "step 5/10, loss 2" in drawn and "━" in drawn
