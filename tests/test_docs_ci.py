"""The CI examples: the YAML is what those tools read, and every command line in it is one that deqcheck takes."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from deqcheck import cli, regress
from tests.cli import run
from tests.test_junit import SCHEMA

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
MANIFEST = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)


WORKFLOW, PRE_COMMIT = (yaml.safe_load(block) for block in blocks("yaml"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["deqcheck"]["steps"]
HOOK: dict[str, Any] = PRE_COMMIT["repos"][0]["hooks"][0]
COMMANDS = [
    *(step["run"] for step in STEPS if step.get("run", "").startswith("deqcheck ")),
    HOOK["entry"],
    MANIFEST[0]["entry"],
    *(line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ deqcheck ")),
    *re.findall(r"`(deqcheck [^`]*)`", TEXT),
]


def accepts(command: str) -> None:
    """Parse a command line without running it; an unknown command or option raises."""
    name, *arguments = shlex.split(command)
    assert name == "deqcheck"
    group = typer.main.get_command(cli.app)
    with group.make_context(name, list(arguments)) as context:
        _, found, rest = group.resolve_command(context, arguments)  # type: ignore[attr-defined]
        found.make_context(found.name, list(rest), parent=context).close()


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 8 and any("--junit" in c for c in COMMANDS) and any("--update" in c for c in COMMANDS)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_every_command_line_is_one_that_deqcheck_takes(command: str) -> None:
    accepts(command)


@pytest.mark.parametrize(
    "command", ["deqcheck regres", "deqcheck regress --junt x", "deqcheck regress --format gitlab"]
)
def test_a_wrong_command_line_is_noticed(command: str) -> None:
    with pytest.raises(cli.CommandLineError):
        accepts(command)


def test_the_workflow_is_one() -> None:
    triggers = WORKFLOW[True]  # YAML 1.1 reads a bare `on` as true; GitHub does not
    assert set(triggers) == {"push", "pull_request"}
    assert WORKFLOW["jobs"]["deqcheck"]["runs-on"]
    for step in STEPS:
        assert ("uses" in step) != ("run" in step), step
        assert set(step) <= {"uses", "run", "with", "if", "name", "env"}
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
    written = next(s["run"] for s in STEPS if "--junit" in s.get("run", "")).split("--junit ")[1].split()[0]
    assert STEPS[-1]["with"]["path"] == written and STEPS[-1]["if"] == "always()"


FIELDS = {
    "id", "name", "description", "entry", "language", "files", "types", "types_or", "pass_filenames", "require_serial",
    "stages", "minimum_pre_commit_version", "always_run", "args",
}  # fmt: skip


def test_the_hook_is_one_and_the_same_in_both_places() -> None:
    (hook,) = MANIFEST
    for one in (hook, HOOK):
        assert {"id", "name", "entry", "language"} <= set(one) <= FIELDS
        assert one["pass_filenames"] is False, "file names are not arguments of deqcheck regress"
        assert set(one["stages"]) <= {"pre-commit", "pre-push", "manual"}
    assert PRE_COMMIT["repos"][0]["repo"] == "local"
    shared = set(hook) & set(HOOK) - {"language"}
    assert {k: hook[k] for k in shared} == {k: HOOK[k] for k in shared} and "entry" in shared


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "deqcheck.toml").write_text(blocks("toml")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_file_loads(project: Path) -> None:
    config = regress.load(regress.find(project))
    assert [c.name for c in config.checks] == ["gd-small", "wellposed"]


def test_the_examples_run_in_the_order_of_the_page(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (line[2:] for line in blocks("console")[0].splitlines())
    step = next(s["run"] for s in STEPS if "--junit" in s.get("run", ""))
    before = run(capsys, monkeypatch, *shlex.split(step)[1:])
    assert before.code == 2 and "--update" in before.err and before.out == "", "no baseline yet"
    assert run(capsys, monkeypatch, *shlex.split(first)[1:]).code == 0
    seen = run(capsys, monkeypatch, *shlex.split(second)[1:])
    assert seen.code == 0 and "2 unchanged" in seen.out
    seen = run(capsys, monkeypatch, *shlex.split(step)[1:])
    assert seen.code == 0 and seen.out.startswith("::notice ")
    SCHEMA.validate((project / "deqcheck.xml").read_text(encoding="utf-8"))
    quiet = run(capsys, monkeypatch, *shlex.split(HOOK["entry"])[1:])
    assert quiet.code == 0 and quiet.out.count("\n") == 1


def test_the_exit_codes_of_the_page(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "deqcheck.toml"
    run(capsys, monkeypatch, "regress", "--update")
    path.write_text(path.read_text(encoding="utf-8").replace('expect = "HOLDS"', 'expect = "FAILS"'), encoding="utf-8")
    seen = run(capsys, monkeypatch, "regress")
    assert seen.code == 1 and "expected FAILS, found HOLDS" in " ".join(seen.out.split())
    assert run(capsys, monkeypatch, "regress", "--update").code == 1
    assert run(capsys, monkeypatch, "regress", "--exit-zero", "--quiet").code == 0
    path.write_text(path.read_text(encoding="utf-8").replace("quick", "quik", 1), encoding="utf-8")
    seen = run(capsys, monkeypatch, "regress")
    assert seen.code == 2 and "did you mean 'quick'" in seen.err


def test_an_interrupt_keeps_what_was_finished(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from deqcheck import check

    verify = check.verify

    def interrupted(key: str, *rest: Any, **more: Any) -> Any:
        if key == "relu-wellposed":
            raise KeyboardInterrupt
        return verify(key, *rest, **more)

    monkeypatch.setattr(check, "verify", interrupted)
    seen = run(capsys, monkeypatch, "regress", "--update")
    assert seen.code == 130 and "Interrupted before wellposed" in seen.out
    assert list(regress.read_baseline(project / "baseline.json", require=True)) == ["gd-small"]
