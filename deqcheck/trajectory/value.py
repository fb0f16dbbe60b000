"""What a training run found: plain values. Bounds are decimal strings rounded outward, so nothing is lost.

What is certified along a trajectory is certified at the parameters that were reached: exactly those float64
numbers, with the equilibrium there enclosed. They are the iterates of gradient descent but for the rounding of
every step and the tolerance of the solver; `error` estimates (in floats, to first order) how much of the loss that
may be. A loss that exceeds its bound by less than this is UNDECIDED, not a violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deqcheck.truth import FAILS, UNDECIDED, Truth

Bounds = tuple[str, str]
"""The ends of an enclosure as decimals, the lower rounded down and the upper rounded up."""

PLOTTED = 400
"""At most about so many points are written of a long run."""


@dataclass(frozen=True)
class Line:
    """One conclusion at one instant."""

    id: str
    truth: Truth
    lhs: Bounds
    rhs: Bounds
    note: str = ""


@dataclass(frozen=True)
class Mark:
    """An instant at which every conclusion was certified."""

    step: int
    time: float
    loss: Bounds
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Fit:
    """The rate that was measured, in floats: least squares on log loss over the last half of the run."""

    gap: float
    """1 - (factor per step), or the decay per unit time; negative where the loss grew."""
    first: int
    last: int
    """The steps that the fit used."""
    smallest: float
    largest: float
    """Extreme ratios of the loss after a step to the loss before it, over the whole run."""


@dataclass(frozen=True)
class Trajectory:
    """A run and what was seen on it."""

    key: str
    per: str
    """"step" for gradient descent, "unit time" for gradient flow."""
    of: str
    """What the rate is about: the loss, or the loss above its infimum."""
    eta: float | None
    asked: int
    horizon: float | None
    covered: bool
    """Whether every hypothesis was certified at the start; otherwise the theorem promises nothing here."""
    steps: tuple[int, ...]
    """The steps that are kept: all of a short run, else evenly spread ones, early ones and the certified."""
    times: tuple[float, ...]
    """Their times: k for gradient descent, t for gradient flow."""
    loss: tuple[float, ...]
    """The loss there, in floats; above the infimum where the rate is about that."""
    bound: tuple[str, ...]
    """The upper end of the bound on it; "inf" where the theorem gives none."""
    error: tuple[float, ...]
    """Estimated effect on the loss of rounding (descent) or of the integrator (flow), in floats."""
    history: tuple[float, ...]
    """The loss at every step from 0 on."""
    marks: tuple[Mark, ...]
    gap: Bounds
    """The guaranteed 1 - rate per step, or decay per unit time."""
    fit: Fit | None
    ratio: str | None
    """Guaranteed decay over measured decay; at most 1 where the guarantee is kept."""
    reached: Mapping[str, float | None]
    """Step or time at which the loss first was below this share of its initial value."""
    kernel_min: tuple[float | None, float | None]
    """Smallest eigenvalue of the tangent kernel at the start and at the end, in floats."""
    stalled: int | None
    """The step from which on no parameter moved by a single bit although the gradient is not zero."""
    frozen: tuple[str, ...]
    """Parameters that never moved by a bit although their gradient is not zero: their steps round away."""
    ended: str
    """Why the run ended before all steps were done; empty where it did not."""
    integrator: Mapping[str, float] = field(default_factory=dict)
    """Of gradient flow: tolerance, accepted and rejected steps, accumulated error of the parameters."""
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def last(self) -> int:
        """The last step that was reached."""
        return len(self.history) - 1

    @property
    def violated(self) -> tuple[str, ...]:
        """The conclusions that certainly failed at some instant, whether or not they were promised."""
        return self._ids(FAILS)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The conclusions that could not be decided at some instant, and failed at none."""
        return tuple(i for i in self._ids(UNDECIDED) if i not in self.violated)

    @property
    def counterexample(self) -> bool:
        """A conclusion failed although every hypothesis had been certified."""
        return self.covered and bool(self.violated)

    @property
    def cut(self) -> bool:
        """Whether the run ended before it was done, other than by having nothing left to do."""
        return bool(self.ended) and self.stalled is None and "gradient is zero" not in self.ended

    @property
    def summary(self) -> str:
        """One or two sentences: what the run says about the theorem."""
        return summary(self)

    def decisive(self, number: str) -> tuple[Mark, Line] | None:
        """The instant that says most about a conclusion: the first failure, else the first doubt, else the last."""
        seen = [(mark, line) for mark in self.marks for line in mark.lines if line.id == number]
        if not seen:
            return None
        order = {FAILS: 0, UNDECIDED: 1}
        worst = min(order.get(line.truth, 2) for _, line in seen)
        return next((pair for pair in seen if order.get(pair[1].truth, 2) == worst < 2), seen[-1])

    def _ids(self, truth: Truth) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.id for mark in self.marks for line in mark.lines if line.truth is truth))


def summary(found: Trajectory) -> str:
    """One or two sentences: what the run says about the theorem."""
    reach = f"{found.last} steps" if found.per == "step" else f"time {found.times[-1]:.4g} in {found.last} steps"
    if found.counterexample:
        said = f"{_fail(found.violated)} although every hypothesis holds: a counterexample to the theorem."
    elif found.violated:
        said = f"{_fail(found.violated)}; the theorem does not cover this run."
    elif not found.covered:
        said = "no conclusion was seen to fail, but the theorem does not cover this run."
    elif found.undecided:
        verb = "is" if len(found.undecided) == 1 else "are"
        said = f"{_names(found.undecided)} {verb} not decided by the enclosures; every other conclusion holds."
    else:
        said = "every conclusion holds at every certified step."
    parts = [f"After {reach}: {said}"]
    if found.stalled is not None:
        parts.append(f"From step {found.stalled} on no parameter moves in float64, so no rate can be measured.")
    elif found.frozen:
        parts.append(f"The steps of {_names(found.frozen)} are below float64 resolution and round away.")
    if found.ended:
        parts.append(f"The run ended early: {found.ended}.")
    return " ".join(parts)


def _fail(ids: tuple[str, ...]) -> str:
    return f"{_names(ids)} {'fails' if len(ids) == 1 else 'fail'}"


def _names(ids: tuple[str, ...]) -> str:
    return ", ".join(ids)


def kept(count: int, certified: set[int]) -> list[int]:
    """Which of `count` steps to keep."""
    if count <= PLOTTED:
        return list(range(count))
    stride = -(-count // (PLOTTED // 2))
    early = {round(1.08**k) for k in range(200)}
    return sorted(({*range(0, count, stride), count - 1} | early | certified) & set(range(count)))


def document(found: Trajectory) -> dict[str, Any]:
    """The JSON form; steps, loss and bound have equal lengths and are what a plot shows."""
    return {
        "per": found.per,
        "of": found.of,
        "covered": found.covered,
        "counterexample": found.counterexample,
        "violated": list(found.violated),
        "undecided": list(found.undecided),
        "conclusion": summary(found),
        "ended": found.ended,
        "eta": found.eta,
        "asked": found.asked,
        "horizon": found.horizon,
        "last_step": found.last,
        "steps": list(found.steps),
        "times": list(found.times),
        "loss": list(found.loss),
        "bound": list(found.bound),
        "error": list(found.error),
        "certified": [
            {"step": mark.step, "time": mark.time, "loss": _ends(mark.loss), "lines": [_line(x) for x in mark.lines]}
            for mark in found.marks
        ],
        "guaranteed": _ends(found.gap),
        "measured": None if found.fit is None else {
            "one_minus_rate": found.fit.gap,
            "fitted_steps": [found.fit.first, found.fit.last],
            "smallest_ratio": found.fit.smallest,
            "largest_ratio": found.fit.largest,
        },
        "guaranteed_over_measured": found.ratio,
        "reached": dict(found.reached),
        "kernel_lambda_min": list(found.kernel_min),
        "stalled": found.stalled,
        "frozen": list(found.frozen),
        "integrator": dict(found.integrator) or None,
        "seconds": {name: round(value, 4) for name, value in found.seconds.items()},
    }  # fmt: skip


def _line(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "verdict": line.truth.value,
        "lhs": _ends(line.lhs),
        "rhs": _ends(line.rhs),
        "note": line.note,
    }


def _ends(bounds: Bounds) -> dict[str, str]:
    return {"lo": bounds[0], "hi": bounds[1]}
