"""Result values: what a check found. They know nothing of how they are measured or shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from deqcheck.enclosure import Enclosure
from deqcheck.statement import Evidence, Status
from deqcheck.truth import Truth

if TYPE_CHECKING:
    from deqcheck.trajectory.value import Trajectory

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Outcome(Enum):
    """What a verdict means for the theorem; the four ways of not holding are kept apart."""

    APPLIES = "every hypothesis holds"
    DOES_NOT_APPLY = "a hypothesis fails"
    COUNTEREXAMPLE = "a conclusion fails although every hypothesis holds"
    UNDECIDED = "the enclosures cannot tell"
    NOT_CONVERGED = "the equilibrium was not reached"


@dataclass(frozen=True)
class Measured:
    """A measured quantity and its enclosure."""

    name: str
    text: str
    latex: str
    meaning: str
    value: Enclosure
    evidence: Evidence = Evidence.PROOF


@dataclass(frozen=True)
class Constant:
    """A constant that the statement leaves open, and how its value came about."""

    name: str
    text: str
    value: float
    how: str
    pinned: bool


@dataclass(frozen=True)
class Line:
    """One hypothesis or conclusion with its verdict."""

    id: str
    status: Status
    verdict: Truth | None
    """None where nothing is checked on the instance: an assumption, or what the theorem implies."""
    formula: str
    latex: str
    mathml: str
    text: str = ""
    lhs: Enclosure | None = None
    rhs: Enclosure | None = None
    margin: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Guarantee:
    """The predicted linear rate. Kept as 1 - rate, which may lie far below float resolution of 1."""

    id: str
    per: str
    of: str
    one_minus_rate: Enclosure
    half_life: Enclosure
    formula: str
    latex: str
    mathml: str
    guaranteed: bool
    measured: float | None = None
    """What training showed, in floats; None where none was asked for or the loss did not visibly move."""


@dataclass(frozen=True)
class Equilibrium:
    """How the equilibrium was found and how well it is known."""

    method: str
    residuals: tuple[float, ...]
    """Relative residual after each iteration; empty for a direct solution."""
    radius: Enclosure
    contraction: Enclosure


@dataclass(frozen=True)
class Result:
    """Everything a report shows, and everything needed to run the check again."""

    key: str
    title: str
    source: str
    paper: str
    instance: Mapping[str, Json]
    quantities: tuple[Measured, ...]
    constants: tuple[Constant, ...]
    hypotheses: tuple[Line, ...]
    conclusions: tuple[Line, ...]
    rate: Guarantee | None
    verdict: Truth
    outcome: Outcome
    equilibrium: Equilibrium | None = None
    remarks: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    flaw: str = ""
    """Why the printed result cannot be relied on even where its hypotheses hold."""
    spectrum: tuple[float, ...] = ()
    """Singular values of the equilibrium in floats, for a plot; empty unless asked for."""
    trajectory: Trajectory | None = None
    """The training run, where one was asked for."""
    timings: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, Json] = field(default_factory=dict)
