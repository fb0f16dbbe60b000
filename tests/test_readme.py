"""Every example in the README runs, and the transcript is what the command prints."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli import Seen, run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("$ deqcheck ")
    for block in re.findall(r"```console\n(.*?)```", README, re.S)
    for line in block.splitlines()
    if line.startswith("$ deqcheck ")
]
EXPECTED = re.findall(r"```console\n\$ (deqcheck [^\n]*)\n([^`$]+)```", README)


@pytest.fixture
def deqcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Seen]:
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def test_there_are_examples() -> None:
    assert len(COMMANDS) >= 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples: a later one may read what an earlier one wrote."""
    return tmp_path_factory.mktemp("readme")


def test_examples(deqcheck: Callable[..., Seen], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for command in COMMANDS:
        seen = deqcheck(*shlex.split(command))
        assert seen.code in (0, 1), f"{command}: {seen.err}"
        assert seen.err == ""
    shutil.rmtree(folder)


def _stable(text: str) -> list[str]:
    """Lines without the time taken and without the last digits, which depend on the machine."""
    return [re.sub(r"[0-9.]+e?-?[0-9]*", "#", line).rstrip() for line in text.splitlines() if " s on " not in line]


def test_the_transcript_is_current(deqcheck: Callable[..., Seen]) -> None:
    found = re.search(r"<!-- transcript: deqcheck (.*?) -->\n```text\n(.*?)```", README, re.S)
    assert found is not None
    assert _stable(found[2].strip()) == _stable(deqcheck(*shlex.split(found[1])).out.strip())


def test_quoted_answers_are_current(deqcheck: Callable[..., Seen]) -> None:
    assert EXPECTED, "the README quotes no answer"
    for command, answer in EXPECTED:
        assert _stable(answer.strip()) == _stable(deqcheck(*shlex.split(command)[1:]).out.strip())


def test_the_two_commands_open_the_readme() -> None:
    first, second = README.split("```sh\n")[1].splitlines()[:2]
    assert "verify --theorem gd-relu --width 2000" in first and "tests/all.py" in second
    assert all("-c constraints.txt" in line for line in (first, second))
    assert README.index("```sh") < 40
