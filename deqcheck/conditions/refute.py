"""Certify that no choice of the free constants satisfies every hypothesis.

Branch and bound over (0, inf)^k: a box of constants is discarded when some hypothesis certainly fails
everywhere in it, else it is split. If every box is discarded within the budget, nothing can work, and
that is a proof, since every evaluation is an enclosure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from sympy import Basic, LessThan, StrictLessThan, Symbol
from sympy.core.relational import Relational

from deqcheck.conditions.judge import oriented
from deqcheck.enclosure import Enclosure
from deqcheck.evaluate import evaluate
from deqcheck.statement import Rule, Theorem

BUDGET = 4000


def no_choice_works(
    theorem: Theorem,
    measured: Mapping[Symbol, Enclosure],
    constants: Mapping[Symbol, Enclosure],
    free: tuple[Symbol, ...],
    budget: int = BUDGET,
) -> bool:
    """Whether every choice of `free` in (0, inf) certainly violates some hypothesis.

    Hypotheses on a LARGEST choice that is not in `constants` are left out: they can always be met.
    """
    open_steps = {s for s, c in theorem.chosen.items() if c.rule is Rule.LARGEST and s not in constants}
    claims = [h.claim for h in theorem.hypotheses if h.claim is not None and not h.claim.free_symbols & open_steps]
    definitions = {s: e for s, e in theorem.definitions.items() if not e.free_symbols & open_steps}
    caps = {
        c.lhs: evaluate(c.rhs, {}) for c in claims if c.lhs in definitions and c.rhs.is_Number
        and isinstance(c, LessThan | StrictLessThan)
    }  # fmt: skip

    def shortfall(box: Mapping[Symbol, Enclosure]) -> float:
        """Decades by which some hypothesis certainly fails in the whole box; <= 0: none does."""
        values = _extend_capped({**measured, **constants, **box}, definitions, caps)
        if values is None:
            return math.inf
        return max((_shortfall(claim, values) for claim in claims), default=-math.inf)

    whole = dict.fromkeys(free, Enclosure.positive())
    boxes = [(whole, shortfall(whole))]
    if boxes[0][1] > 0:
        return True
    while boxes and free and budget > 0:
        box, before = boxes.pop()
        options = {s: [{**box, s: half} for half in box[s].split()] for s in free}
        halves = {s: [(half, shortfall(half)) for half in pair] for s, pair in options.items()}
        budget -= 2 * len(free)

        def promise(s: Symbol) -> float:
            """What splitting s gains: discarded halves count 1, the rest by how much nearer they come."""
            gain = sum(min(1.0, _clip(after) - _clip(before)) for _, after in halves[s])  # noqa: B023
            return (gain + 1e-9) * min(1.0, _breadth(box[s]))  # noqa: B023

        boxes += [(half, after) for half, after in halves[max(free, key=promise)] if not after > 0]
    return not boxes and bool(free)


def _extend_capped(
    values: dict[Symbol, Enclosure],
    definitions: Mapping[Symbol, Basic],
    caps: Mapping[Symbol, Enclosure],
) -> dict[Symbol, Enclosure] | None:
    """Evaluate the definitions where hypotheses of the form `symbol < number` hold; None: nowhere.

    Only points that satisfy every hypothesis matter here, so 1 - gamma_0 may be taken as positive in
    a box that straddles gamma_0 = 1; without that its reciprocal would say nothing.
    """
    for symbol, expr in definitions.items():
        value = evaluate(expr, values)
        if symbol in caps:
            if caps[symbol].surely_below(value):
                return None
            value = value.minimum(caps[symbol])
        values[symbol] = value
    return values


def _shortfall(claim: Relational, values: Mapping[Symbol, Enclosure]) -> float:
    """log10 of how far the larger side certainly stays below the smaller one; -inf if it may not."""
    larger, smaller = (evaluate(side, values) for side in oriented(claim))
    if not larger.surely_below(smaller):
        # How near this box is to being discarded, as a guide for splitting only.
        above, below = Enclosure(larger.hi, larger.hi), Enclosure(smaller.lo, smaller.lo)
        if above.is_positive and below.is_positive and above.is_finite and below.is_finite:
            return min(0.0, (below.log10() - above.log10()).midpoint())
        return -math.inf
    return math.inf if larger.hi <= 0 else max(1e-300, (smaller / larger).log10().floats()[0])


def _clip(deficit: float) -> float:
    return 1.0 if deficit > 0 else max(-10.0, deficit)


def _breadth(interval: Enclosure) -> float:
    """Decades that the interval spans between 1e-60 and 1e60."""
    decades = interval.log10()
    lo, hi = decades.floats()
    return min(hi, 60.0) - max(lo, -60.0)
