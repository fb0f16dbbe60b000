"""From settings to a point: what a family of models can be asked for, and how it is built.

A family is a frozen value. Its settings are declared once, with their default, their check and their
help; the command line, the JSON and the error messages all read the declaration.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deqcheck.error import InputError, unknown
from deqcheck.statement import Theorem

Value = int | float | str | None
Settings = Mapping[str, Value]


@dataclass(frozen=True)
class Setting:
    """One thing a user may set: how to read it from text and what it means."""

    name: str
    default: Value
    read: Callable[[str, str], Value]
    help: str
    special: bool = False
    """Used only by theorems that name it in their `settings`."""


@dataclass(frozen=True)
class Family:
    """A family of models: its settings and the builder of a point from complete settings."""

    name: str
    equation: str
    settings: tuple[Setting, ...]
    memory: Callable[[int, int, Settings], int]
    """Bytes needed for so many samples of so many dimensions."""
    build: Callable[[Any, Settings, str], Any]
    """Data, complete settings and a device give a point."""
    built_in: Callable[[Settings], tuple[int, int]] = lambda s: (max(1, int(s.get("width") or 0) // 2), 100)
    """Samples and dimension of built-in data where the user gives none."""

    def complete(self, theorem: Theorem, given: Mapping[str, str]) -> dict[str, Value]:
        """Read and check what was given; fill in the rest. A setting that means nothing is an error."""
        known = {s.name: s for s in self.settings if not s.special or s.name in theorem.settings}
        for name in given:
            if name not in known:
                raise unknown(f"setting for {theorem.key}", name, known)
        given = {**theorem.defaults, **given}
        return {
            name: setting.read(name, given[name]) if name in given else setting.default
            for name, setting in known.items()
        }


FAMILIES = {
    "relu": "deqcheck.family.relu",
    "ling": "deqcheck.family.ling",
    "mondeq": "deqcheck.family.mondeq",
    "kawaguchi": "deqcheck.family.kawaguchi",
    "opteq": "deqcheck.family.opteq",
}
"""Where each family lives; imported on demand, because a family needs torch."""


def load(name: str) -> Family:
    """The family of this name."""
    if name not in FAMILIES:
        raise unknown("family", name, FAMILIES)
    family: Family = importlib.import_module(FAMILIES[name]).FAMILY
    return family


# --- readers ---------------------------------------------------------------------------------------


def whole(least: int) -> Callable[[str, str], int]:
    """A whole number of at least `least`."""

    def read(name: str, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InputError(f"{name} must be a whole number, not {text!r}.") from None
        if value < least:
            raise InputError(f"{name} must be at least {least}, not {value}.")
        return value

    return read


def number(name: str, text: str) -> float:
    """A finite float."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, not {text!r}.") from None
    if not abs(value) < float("inf"):
        raise InputError(f"{name} must be finite, not {text}.")
    return value


def positive(name: str, text: str) -> float:
    """A finite float above zero."""
    value = number(name, text)
    if value <= 0:
        raise InputError(f"{name} must be positive, not {text}.")
    return value


def auto_or_positive(name: str, text: str) -> float | str:
    """`auto`, or a finite float above zero."""
    if text == "auto":
        return text
    try:
        return positive(name, text)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')}; give a positive number or 'auto'.") from None


def one_of(*names: str) -> Callable[[str, str], str]:
    """One of a few words."""

    def read(name: str, text: str) -> str:
        if text not in names:
            raise unknown(name, text, names)
        return text

    return read


def text(_name: str, value: str) -> str:
    """Any text, such as a file name; checked where it is used."""
    return value
