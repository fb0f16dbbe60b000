"""pytest plugin: `pytest --deqcheck` runs the checks of a project, and the fixture `deqcheck` asserts one.

Loaded by every pytest run of an environment that has deqcheck, so nothing heavy is imported here: torch and
sympy come in when a check is collected or the fixture is called, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deqcheck.error import InputError

if TYPE_CHECKING:
    from deqcheck.regress import Baseline, Config
    from deqcheck.verdict import Result

FLAG = "--deqcheck"
FILES = ("deqcheck.toml", "pyproject.toml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options, in a group of their own."""
    group = parser.getgroup("deqcheck")
    group.addoption(FLAG, action="store_true", help="run the checks of deqcheck.toml or [tool.deqcheck] as tests")
    group.addoption(
        "--deqcheck-require-baseline",
        action="store_true",
        help="with --deqcheck: a check without a committed baseline fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Have the file of checks collected wherever the tests lie, unless the command line names it already."""
    if not config.getoption(FLAG):
        return
    path = _checks(config)
    start = config.invocation_params.dir
    named = [(start / argument.split("::")[0]).resolve() for argument in config.args]
    if not any(path == place or place in path.parents for place in named):
        config.args.append(str(path))


def _checks(config: pytest.Config) -> Path:
    """The file at the root of the tests, or where pytest was started if the root lies elsewhere."""
    from deqcheck import regress

    problems = []
    for folder in (config.rootpath, config.invocation_params.dir):
        try:
            return regress.find(folder).resolve()
        except InputError as error:
            problems.append(str(error))
    raise pytest.UsageError(f"{FLAG}: {problems[0]}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The file of checks of this project, if it was asked for."""
    if not parent.config.getoption(FLAG) or file_path.name not in FILES:
        return None
    if file_path.resolve() != _checks(parent.config):
        return None
    file: pytest.Collector = CheckFile.from_parent(parent, path=file_path)
    return file


class CheckFile(pytest.File):
    """The checks of a project, one item each."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the file once; the baseline too, so that every item is compared with the same one."""
        from deqcheck import regress

        require = bool(self.config.getoption("--deqcheck-require-baseline"))
        config = regress.load(self.path)
        baseline = regress.read_baseline(config.baseline, require=require)
        for one in config.checks:
            yield CheckItem.from_parent(self, name=one.name, checks=config, baseline=baseline, require=require)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A mistake in the file is one sentence, not a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, InputError) else super().repr_failure(excinfo)


class UnmetError(Exception):
    """A check that did not pass; its message is the report."""


class CheckItem(pytest.Item):
    """One check: it passes where `deqcheck regress` would."""

    def __init__(self, *, checks: Config, baseline: Baseline, require: bool, **rest: Any) -> None:
        super().__init__(**rest)
        self.checks, self.baseline, self.require = checks, baseline, require

    def runtest(self) -> None:
        """Run and compare this check alone."""
        from deqcheck import regress
        from deqcheck.report import regression
        from deqcheck.truth import FAILS, UNDECIDED

        report = regress.run(self.checks, self.baseline, only=[self.name])
        if report.interrupted:
            raise KeyboardInterrupt
        (one,) = report.comparisons
        truth, words = one.truth(require=self.require), regression.complaint(one, require=self.require)
        if truth is FAILS:
            raise UnmetError(
                "\n".join([f"{one.trend.value}: {words}", "", *map(regression.result_text, report.results)])
            )
        if truth is UNDECIDED:
            pytest.skip(words)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report, or the sentence about bad input."""
        if isinstance(excinfo.value, UnmetError | InputError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the check is written."""
        return self.path, None, f"deqcheck: {self.name}"


class Deqcheck:
    """What the fixture `deqcheck` offers to a test."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory

    def assert_holds(
        self,
        theorem: str,
        *,
        data: str | Path | tuple[Any, Any] | None = None,
        model: object = None,
        set: dict[str, float] | None = None,  # noqa: A002, the name that the command line uses
        device: str = "auto",
        quick: bool = False,
        **settings: object,
    ) -> Result:
        """Fail with the whole report unless the theorem is certified to hold on this instance.

        Settings are those of `deqcheck verify`: width=60, seed=1, scale="auto". `data` is the name of a
        generator, a file, or a pair (X, y) of arrays; `set` pins constants. Returns the result.
        """
        __tracebackhide__ = True
        if model is not None:
            raise InputError("model= is not supported yet; describe the model by settings such as width=60.")
        from deqcheck import check
        from deqcheck.report import regression
        from deqcheck.truth import HOLDS

        given = {name: str(value) for name, value in settings.items() if value is not None}
        if data is not None:
            given["data"] = self._file(data)
        result = check.verify(theorem, given, {k: str(v) for k, v in (set or {}).items()}, device, quick=quick)
        if result.verdict is not HOLDS:
            raise AssertionError(f"{theorem} does not hold\n\n{regression.result_text(result)}")
        return result

    def _file(self, data: str | Path | tuple[Any, Any]) -> str:
        if isinstance(data, str | Path):
            return str(data)
        import numpy as np

        try:
            X, y = (np.asarray(part) for part in data)
        except (TypeError, ValueError):
            raise InputError(
                f"data must be a name, a file or a pair (X, y) of arrays, not {type(data).__name__}."
            ) from None
        path = self._factory.mktemp("deqcheck") / "data.npz"
        np.savez(path, X=X, y=y)
        return str(path)


@pytest.fixture(scope="session")
def deqcheck(tmp_path_factory: pytest.TempPathFactory) -> Deqcheck:
    """Assert that a theorem applies: `deqcheck.assert_holds("gd-relu", width=60, data=(X, y))`."""
    return Deqcheck(tmp_path_factory)
