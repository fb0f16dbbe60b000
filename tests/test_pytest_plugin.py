"""The pytest plugin as a project meets it: in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deqcheck import regress
from deqcheck.report import regression

pytest_plugins = "pytester"

ROOT = Path(__file__).parent.parent
CHECKS = """
baseline = "b.json"
[checks.good]
theorem = "relu-wellposed"
width = 20
samples = 6
dim = 5
[checks.bad]
theorem = "gf-relu"
width = 20
samples = 6
dim = 5
scale = 1
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with two checks and a test of its own; the plugin is named where it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if not installed():
        monkeypatch.setenv("PYTEST_PLUGINS", "deqcheck.pytest_plugin")
    pytester.path.joinpath("deqcheck.toml").write_text(CHECKS, encoding="utf-8")
    tests = pytester.mkdir("tests")
    tests.joinpath("test_own.py").write_text("def test_own():\n    pass\n", encoding="utf-8")
    return pytester


def installed() -> bool:
    from importlib.metadata import entry_points

    return any(e.value == "deqcheck.pytest_plugin" for e in entry_points(group="pytest11"))


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", *arguments)


def test_nothing_unless_asked(project: pytest.Pytester) -> None:
    probe = "import sys\ndef test_light():\n    assert not {'torch', 'sympy', 'deqcheck.check'} & set(sys.modules)\n"
    project.path.joinpath("tests", "test_light.py").write_text(probe, encoding="utf-8")
    found = run(project)
    found.assert_outcomes(passed=2)
    assert "deqcheck.toml" not in found.stdout.str()


def test_the_plugin_alone_is_light() -> None:
    heavy = {"torch", "sympy", "numpy", "rich", "deqcheck.check"}
    code = f"import sys, deqcheck.pytest_plugin; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_checks_are_tests_wherever_the_tests_lie(project: pytest.Pytester) -> None:
    found = run(project, "--deqcheck", "tests", "-v")
    found.assert_outcomes(passed=2, failed=1)
    out = found.stdout.str()
    assert "deqcheck.toml::bad FAILED" in out and "deqcheck.toml::good PASSED" in out
    for words in ("(14) fails by", "✗ FAILS", "new: FAILS, and neither", "Hypotheses"):
        assert words in " ".join(out.split()), "the failure message is the report"
    assert "Traceback" not in out and "runtest" not in out


def test_one_check_by_its_name_and_with_a_baseline(project: pytest.Pytester) -> None:
    config = regress.load(project.path / "deqcheck.toml")
    regression.write_baseline(config.baseline, regress.run(config, {}), {})
    run(project, "--deqcheck", "deqcheck.toml::bad").assert_outcomes(passed=1)  # fails as it always did
    run(project, "--deqcheck", "-k", "bad", "--deqcheck-require-baseline").assert_outcomes(passed=1, deselected=2)
    config.baseline.unlink()
    strict = run(project, "--deqcheck", "--deqcheck-require-baseline")
    strict.assert_outcomes(errors=1)
    assert "make it with --update" in strict.stdout.str() and "Traceback" not in strict.stdout.str()


def test_the_checks_may_lie_below_the_root_of_the_tests(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.path.joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    inner = project.mkdir("inner")
    project.path.joinpath("deqcheck.toml").rename(inner / "deqcheck.toml")
    monkeypatch.chdir(inner)
    run(project, "--deqcheck", "-k", "good", "--rootdir", "..").assert_outcomes(passed=1, deselected=1)


def test_with_xdist(project: pytest.Pytester) -> None:
    run(project, "--deqcheck", "-n", "2").assert_outcomes(passed=2, failed=1)


def test_mistakes_are_one_sentence(project: pytest.Pytester) -> None:
    path = project.path / "deqcheck.toml"
    path.write_text(CHECKS.replace("width", "wdith", 1), encoding="utf-8")
    found = run(project, "--deqcheck")
    assert "did you mean 'width'" in found.stdout.str() and "Traceback" not in found.stdout.str()
    path.unlink()
    found = run(project, "--deqcheck")
    assert found.ret == pytest.ExitCode.USAGE_ERROR and "neither a deqcheck.toml nor" in found.stderr.str()


FIXTURE = """
import numpy as np
import pytest
from deqcheck.error import InputError

SMALL = {"width": 20, "samples": 6, "dim": 5}

def test_holds(deqcheck):
    assert deqcheck.assert_holds("gf-relu", **SMALL, set={"C1": 1.0}).constants[0].pinned

def test_fails(deqcheck):
    deqcheck.assert_holds("gf-relu", **SMALL, scale=1)

def test_message(deqcheck):
    with pytest.raises(AssertionError, match="gf-relu does not hold") as error:
        deqcheck.assert_holds("gf-relu", **SMALL, scale=1)
    assert "Hypotheses" in str(error.value) and "(14)" in str(error.value)

def test_arrays(deqcheck):
    X = np.random.default_rng(0).standard_normal((6, 5))
    result = deqcheck.assert_holds("relu-wellposed", width=20, data=(X, np.ones(6)))
    assert result.instance["samples"] == 6 and result.instance["dim"] == 5

@pytest.mark.parametrize("data", [(1,), 3, ([[1.0]],)])
def test_not_a_pair(deqcheck, data):
    with pytest.raises(InputError, match="pair"):
        deqcheck.assert_holds("relu-wellposed", data=data)

def test_file(deqcheck, tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(4), y=np.ones(4))
    deqcheck.assert_holds("relu-wellposed", width=20, data=tmp_path / "d.npz")

def test_model(deqcheck):
    with pytest.raises(InputError, match="not supported yet"):
        deqcheck.assert_holds("relu-wellposed", model=object())

def test_unknown(deqcheck):
    with pytest.raises(InputError, match="did you mean 'width'"):
        deqcheck.assert_holds("relu-wellposed", wdith=3)
"""


def test_the_fixture_and_the_example_of_the_documentation(project: pytest.Pytester) -> None:
    project.path.joinpath("tests", "test_own.py").write_text(FIXTURE, encoding="utf-8")
    example = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    project.path.joinpath("tests", "test_docs.py").write_text(example, encoding="utf-8")
    found = run(project, "tests")
    found.assert_outcomes(passed=10, failed=1)
    out = found.stdout.str()
    assert "gf-relu does not hold" in out and "(14) fails by" in " ".join(
        out.replace("│", "").replace("E ", "").split()
    )
    assert "pytest_plugin.py" not in out, "the frames of the plugin are hidden"


def test_data_as_lists(tmp_path_factory: pytest.TempPathFactory) -> None:
    from deqcheck.pytest_plugin import Deqcheck

    path = Deqcheck(tmp_path_factory)._file(([[1.0, 2.0]], [1.0]))
    with np.load(path) as stored:
        assert stored["X"].shape == (1, 2) and stored["y"].shape == (1,)
