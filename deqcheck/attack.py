"""Attack a theorem with small instances: every hypothesis certified and a conclusion violated is a counterexample.

The instances are made of settings only, so that `deqcheck verify` repeats each of them from one line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from deqcheck import check, library
from deqcheck.error import InputError
from deqcheck.family import load
from deqcheck.statement import Evidence, Rule, Theorem
from deqcheck.trajectory import Plan
from deqcheck.truth import FAILS, HOLDS
from deqcheck.verdict import Line, Outcome, Result

STEPS = 2
"""So many steps of training are certified: a promise about every step can be broken at the first."""
DIRECT = {"width", "samples", "dim", "seed", "data", "init", "scale", "eta", "gamma"}
"""Settings with an option of their own; the others are given by --with."""


@dataclass(frozen=True)
class Case:
    """One instance to try, as settings on top of the theorem's small instance."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    radius: str = ""
    """The value of every constant that the theorem leaves free."""


COMMON = (
    Case("the small instance"),
    Case("another seed", {"seed": "1"}),
    Case("a third seed", {"seed": "2"}),
    Case("fewer units than samples", {"width": "3", "samples": "6", "dim": "8"}),
    Case("equal inputs with different labels", {"data": "conflicting", "width": "8", "samples": "4", "dim": "3"}),
    Case("labels by parity", {"data": "parity", "width": "8", "samples": "4", "dim": "2"}),
    Case("one unit, one sample", {"width": "1", "samples": "1", "dim": "1"}),
    Case("tiny radii", radius="1e-6"),
    Case("huge radii", radius="1e6"),
)
WITH_DATA: Mapping[str, Mapping[str, str]] = {"ling": {"inputs": "given"}, "relu": {"scale": "1e4"}}
"""What goes with data made for an attack: directions are kept, and no scale is looked for where there is none."""
BARE = {"width": "2", "samples": "1", "dim": "1", "init": "signed", "scale": "auto"}
OWN: Mapping[str, tuple[Case, ...]] = {
    "relu": (
        Case("tiny weights", {"scale": "1e-3"}),
        Case("huge weights", {"scale": "1e6"}),
        Case("random weights", {"init": "random", "width": "20", "samples": "4", "dim": "5"}),
        Case("γ close to 0", {"gamma": "1e-6"}),
    ),
    "ling": (
        Case("no output", {"init": "zero-output"}),
        Case("no output, weak W", {"init": "zero-output", "sigma2": "1e-6"}),
        Case("no output, one sample", {"init": "zero-output", "samples": "1", "sigma2": "1e-6"}),
        Case(
            "no output, one sample, a wide layer",
            {"init": "zero-output", "width": "2000", "samples": "1", "dim": "1", "sigma2": "1e-4"},
        ),
    ),
    "mondeq": (
        Case("one input, no output, m = 1/10", {**BARE, "m": "0.1"}),
        Case("one input, no output, m = 1/1000", {**BARE, "m": "0.001"}),
        Case("m = 100", {"m": "100"}),
        Case("large weights", {"init": "normal", "m": "0.05"}),
    ),
    "opteq": (
        Case(
            "parity, inputs shut out, a large output",
            {"data": "parity", "samples": "4", "dim": "2", "init": "orthogonal", "width": "8", "units": "8",
             "inputs": "0", "output": "1e6", "iterations": "20"},
        ),
        Case("one layer", {"layers": "1"}),
        Case(
            "one sample, one layer, a huge output",
            {"width": "2", "units": "2", "samples": "1", "dim": "1", "layers": "1", "alpha": "0.001", "inputs": "0",
             "init": "orthogonal", "output": "1e8", "iterations": "8", "p": "0.9", "c": "0.04"},
        ),
        Case("a large output", {"output": "1e6", "init": "orthogonal", "width": "8", "units": "8", "samples": "2"}),
    ),
    "kawaguchi": (
        Case("γ close to 1", {"gamma": "0.999"}),
        Case("γ close to 0", {"gamma": "1e-3"}),
        Case("A = 0, B = I", {"init": "identity"}),
    ),
}  # fmt: skip


def cases(theorem: Theorem) -> Iterator[Case]:
    """The cases that make sense for this theorem."""
    family = load(theorem.family)
    known = {s.name for s in family.settings if not s.special or s.name in theorem.settings}
    free = any(c.rule is Rule.FREE for c in theorem.chosen.values())
    drawn = "trials" in theorem.settings and any(q.evidence is Evidence.STATISTICS for q in theorem.measured.values())
    for case in COMMON[:1] if drawn else (*COMMON, *OWN.get(theorem.family, ())):
        if set(case.settings) <= known and (free or not case.radius):
            yield case


def strike(key: str, case: Case) -> dict[str, Any]:
    """Try one case: what came of it, and the counterexample where it is one."""
    theorem = library.theorem(key)
    settings = {
        **theorem.quick,
        **case.settings,
        **(WITH_DATA.get(theorem.family, {}) if "data" in case.settings else {}),
    }
    free = [s.name for s, c in theorem.chosen.items() if c.rule is Rule.FREE and s.name not in settings]
    pins = dict.fromkeys(free, case.radius) if case.radius else {}
    plan = None if theorem.rate is None else Plan(steps=STEPS, every="all")
    try:
        result = check.verify(key, settings, pins, "cpu", train=plan)
    except InputError as error:
        return {"case": case.name, "outcome": f"not possible: {error}", "counterexample": None, "held": None}
    command = _command(key, settings, pins, plan)
    return {
        "case": case.name,
        "outcome": result.outcome.value,
        "counterexample": _counterexample(theorem, result, command),
        "held": command if _held(result) else None,
    }


def _held(result: Result) -> bool:
    """Whether every hypothesis that can be checked is proved on this instance."""
    checked = [h for h in result.hypotheses if h.verdict is not None]
    return bool(checked) and all(h.verdict is HOLDS for h in checked) and not any(_is_weak(result, h) for h in checked)


def _is_weak(result: Result, line: Line) -> bool:
    """Whether a line rests on less than a proof."""
    kinds = {q.evidence for q in result.quantities} - {Evidence.PROOF}
    return any(kind.value in line.note for kind in kinds)


def _counterexample(theorem: Theorem, result: Result, command: str) -> dict[str, Any] | None:
    if result.outcome is not Outcome.COUNTEREXAMPLE:
        return None
    violated = [c for c in result.conclusions if c.verdict is FAILS]
    checked = [h for h in result.hypotheses if h.verdict is not None]
    assert all(h.verdict is HOLDS for h in checked)
    weak = any(_is_weak(result, line) for line in (*violated, *checked))
    return {
        "hypotheses": [_said(h) for h in checked],
        "violated": [_said(c) for c in violated],
        "instance": dict(result.instance),
        "command": command,
        "certified": not weak,
        "text": theorem.counterexample,
    }


def _said(line: Line) -> dict[str, Any]:
    def end(x: Any) -> dict[str, str] | None:
        if x is None:
            return None
        lo, hi = x.decimals(20)
        return {"lo": lo, "hi": hi}

    return {"id": line.id, "formula": line.formula, "lhs": end(line.lhs), "rhs": end(line.rhs), "note": line.note}


def _command(key: str, settings: Mapping[str, str], pins: Mapping[str, str], plan: Plan | None) -> str:
    words = ["deqcheck", "verify", "--theorem", key]
    for name, value in settings.items():
        words += [f"--{name}", value] if name in DIRECT else ["--with", f"{name}={value}"]
    for name, value in pins.items():
        words += ["--set", f"{name}={value}"]
    if plan is not None:
        words += ["--train", str(plan.steps), "--certify-every", str(plan.every)]
    return shlex.join(words)
