"""The conclusion in plain words: the first thing a reader sees, in every kind of report."""

from __future__ import annotations

from deqcheck.report.number import decades, enclosed, listed, short
from deqcheck.statement import Evidence
from deqcheck.truth import FAILS, UNDECIDED
from deqcheck.verdict import Guarantee, Line, Outcome, Result


def conclusion(result: Result) -> str:
    """What the check found, with figures."""
    parts = [_main(result)]
    if result.flaw:
        parts.append(f"The print cannot be relied on: {result.flaw}")
    elif result.rate is not None and result.outcome is Outcome.APPLIES:
        parts.append(_rate(result, result.rate))
    if result.trajectory is not None:
        parts.append(result.trajectory.summary)
    return " ".join([*parts, *result.remarks])


def headline(result: Result) -> str:
    """One line for --quiet and for tables."""
    rate = result.rate
    gain = " The print cannot be relied on." if result.flaw else ""
    if rate is not None and rate.guaranteed:
        name = "1 − rate" if rate.per == "step" else "exponent"
        gain = f" Guaranteed {name} per {rate.per}: {enclosed(rate.one_minus_rate, 3)}."
    trained = f" {result.trajectory.summary}" if result.trajectory is not None else ""
    return f"{result.key}: {result.verdict.value}. {_main(result)}{gain}{trained}"


def _name(result: Result) -> str:
    return result.source.rsplit(", ", 1)[-1]


def _main(result: Result) -> str:
    name = _name(result)
    holds = "hold" if name.split()[0].endswith("s") or " and " in name else "holds"
    assumed = [h.id for h in result.hypotheses if h.verdict is None]
    checked = "checked " if assumed else ""
    match result.outcome:
        case Outcome.APPLIES if any(c.verdict is not None for c in result.conclusions):
            weak = sorted({q.evidence.value for q in result.quantities if q.evidence is not Evidence.PROOF})
            if weak:
                return f"{name} {holds} here as far as this check goes; part of it is {listed(weak)}."
            if result.trajectory is not None:
                return f"{name} {holds} here: every {checked}hypothesis is certified, and training keeps the promise."
            return f"{name} {holds} here: hypotheses and conclusions are certified."
        case Outcome.APPLIES:
            given = f"; assumed: {listed(assumed)}" if assumed else ""
            return f"{name} applies: every {checked}hypothesis is certified to hold{given}."
        case Outcome.DOES_NOT_APPLY:
            failing = [h for h in result.hypotheses if h.verdict is FAILS]
            ever = any("no choice" in h.note for h in failing)
            more = " No choice of the constants satisfies all conditions." if ever else ""
            return f"{name} does not apply: {listed([_fails(h) for h in failing])}.{more}"
        case Outcome.COUNTEREXAMPLE:
            broken = [c for c in result.conclusions if c.verdict is FAILS]
            weak = sorted({c.note for c in broken if c.note})
            how = f" ({listed(weak)})" if weak else ""
            return (
                f"COUNTEREXAMPLE to {name} as encoded: every {checked}hypothesis is certified "
                "to hold, "
                f"yet {listed([_fails(c) for c in broken])}{how}."
            )
        case Outcome.NOT_CONVERGED:
            return f"Nothing can be said of {name}: the equilibrium was not reached."
        case _:
            return _undecided(result)


def _fails(line: Line) -> str:
    if line.margin is None:
        return f"{line.id} fails"
    return f"{line.id} fails by {decades(line.margin).lstrip('−+')} decades"


def _undecided(result: Result) -> str:
    open_lines = [x for x in (*result.hypotheses, *result.conclusions) if x.verdict is UNDECIDED]
    if not open_lines:
        return f"{_name(result)} applies, but what it promises of training was not followed to the end."
    ids = listed([line.id for line in open_lines])
    text = f"Whether {_name(result)} applies is undecided at {ids}"
    notes = sorted({line.note for line in open_lines if line.note})
    if notes:
        return f"{text}: {'; '.join(notes)}."
    blurred = max(result.quantities, key=lambda q: q.value.relative_width(), default=None)
    if blurred is None or blurred.value.relative_width() == 0:
        return f"{text}: the two sides are too close to tell apart."
    width = short(blurred.value.relative_width(), 2)
    return (
        f"{text}: the sides are closer than the enclosures are wide. The widest is {blurred.text} "
        f"(relative {width}); a better conditioned instance would decide it."
    )


def _rate(result: Result, rate: Guarantee) -> str:
    gap, half = enclosed(rate.one_minus_rate, 3), enclosed(rate.half_life, 3)
    if rate.per == "step":
        eta = next((c.value for c in result.constants if c.name == "eta"), None)
        step = f" with step η = {short(eta, 3)}" if eta is not None else ""
        return (
            f"It guarantees that gradient descent{step} multiplies the {rate.of} by at most "
            f"1 − {gap} in each step, which halves it every {half} steps."
        )
    return (
        f"It guarantees that gradient flow shrinks the {rate.of} like exp(−{gap} t), "
        f"which halves it every {half} units of time."
    )
