"""Imports point one way: a module may import what stands before it, never a sibling."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("error",),
    ("truth",),
    ("enclosure",),
    ("statement",),
    ("evaluate", "models", "data", "device", "rigor", "verdict", "library"),
    ("equilibrium",),
    ("family",),
    ("quantities",),
    ("conditions", "trajectory", "audit"),
    ("check",),
    ("threshold", "regress", "attack", "scaling"),
    ("dossier",),
    ("report",),
    ("options",),
    ("cli",),
    ("__main__", "pytest_plugin"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
HOMES = {"flint": {"enclosure", "check"}, "rich": {"report", "cli"}, "jinja2": {"report"}, "typer": {"cli", "options"}}


def imports(source: str) -> set[str]:
    """Every module that is imported when the code runs, inside functions too, but not for types only."""
    tree = ast.parse(source)
    hidden = {
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING"
        for node in ast.walk(guard)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "relative imports hide the direction"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "deqcheck"}
    return found


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def violations(name: str, source: str) -> list[str]:
    """What the module `deqcheck.<name>...` imports against the direction."""
    own = part(f"deqcheck.{name}")
    wrong = []
    for module in imports(source):
        top = module.split(".")[0]
        if top in HOMES and own not in HOMES[top]:
            wrong.append(f"{name} imports {module}")
        other = part(module) if top == "deqcheck" else ""
        if other not in RANK or other == own:
            continue
        if RANK[other] >= RANK[own]:
            wrong.append(f"{name} imports {module}")
    return wrong


def modules() -> list[Path]:
    return sorted((ROOT / "deqcheck").rglob("*.py"))


def test_every_module_has_a_place() -> None:
    names = {path.relative_to(ROOT / "deqcheck").parts[0].removesuffix(".py") for path in modules()}
    assert names - {"__init__"} <= set(RANK)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_back_import(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT / "deqcheck").with_suffix("").parts)
    if name != "__init__":
        assert violations(name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("truth", "from deqcheck.cli import main"),
        ("rigor", "def f():\n    from deqcheck import check"),
        ("data", "import deqcheck.rigor"),
        ("rigor", "import flint"),
        ("check", "import rich.table"),
    ],
)
def test_a_planted_back_import_is_found(name: str, source: str) -> None:
    assert violations(name, source)


def test_types_may_point_back() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from deqcheck.cli import main"
    assert violations("truth", source) == []


@pytest.mark.parametrize("path", sorted((ROOT / "theorems").glob("*.py")), ids=lambda p: p.name)
def test_statements_know_only_notation(path: Path) -> None:
    allowed = ("sympy", "dataclasses", "deqcheck.statement", "deqcheck.quantities")
    for module in imports(path.read_text(encoding="utf-8")):
        assert module.startswith(allowed), f"{path.name} imports {module}"
