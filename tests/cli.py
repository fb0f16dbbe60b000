"""Run the command line in this process and look at what a user would see."""

from dataclasses import dataclass

import pytest

from deqcheck import cli


@dataclass(frozen=True)
class Seen:
    code: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Seen:
    monkeypatch.setattr("sys.argv", ["deqcheck", *arguments])
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    seen = capsys.readouterr()
    return Seen(int(stop.value.code or 0), seen.out, seen.err)
