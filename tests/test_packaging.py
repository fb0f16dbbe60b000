"""The package list, the licence and the pinned versions are what the disk and the environment say."""

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import deqcheck

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_on_disk_is_listed() -> None:
    found = {
        ".".join(("deqcheck", *path.parent.relative_to(ROOT / "deqcheck").parts))
        for path in (ROOT / "deqcheck").rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found | {"deqcheck.theorems"}


def test_theorems_do_not_install_under_their_own_name() -> None:
    assert PROJECT["tool"]["setuptools"]["package-dir"]["deqcheck.theorems"] == "theorems"
    assert "theorems" not in PROJECT["tool"]["setuptools"]["packages"]


def test_version_is_written_once_and_right() -> None:
    assert PROJECT["project"]["version"] == deqcheck.__version__


def test_constraints_pin_every_direct_dependency_inside_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    wanted = [*PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        wanted += extra
    for text in wanted:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[requirement.name]), text


def test_the_environment_is_the_pinned_one_or_within_range() -> None:
    for text in PROJECT["project"]["dependencies"]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(metadata.version(requirement.name).partition("+")[0]), text
