"""Where theorems live. Each file is loaded by its path, so a file outside the package can load the same way."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from deqcheck.error import InputError, unknown
from deqcheck.statement import Theorem


def folder() -> Path:
    """The built-in statements: inside the installed package, or beside it in a clone."""
    installed = Path(__file__).parent / "theorems"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "theorems"


def _module(path: Path) -> ModuleType:
    name = f"deqcheck.theorems.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be loaded as a theorem file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def catalogue() -> Mapping[str, Theorem]:
    """Every theorem by its key, in the order of the files and of the statements in them."""
    found: dict[str, Theorem] = {}
    for path in sorted(folder().glob("[!_]*.py")):
        for value in vars(_module(path)).values():
            if isinstance(value, Theorem) and found.setdefault(value.key, value) is not value:
                raise InputError(f"two theorems have the key {value.key!r}; the second is in {path.name}.")
    return found


def theorem(key: str) -> Theorem:
    """The theorem with this key; a wrong key is answered with the nearest right one."""
    if key not in catalogue():
        raise unknown("theorem", key, catalogue())
    return catalogue()[key]
