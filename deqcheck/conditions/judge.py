"""Evaluate hypotheses at enclosures: a Truth and a margin in decades for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import sympy
from sympy import Symbol
from sympy.core.relational import Relational

from deqcheck.enclosure import Enclosure
from deqcheck.evaluate import Values, decide, extend, sides
from deqcheck.statement import Theorem
from deqcheck.truth import FAILS, HOLDS, Truth


@dataclass(frozen=True)
class Judgement:
    """One inequality at one set of enclosures."""

    lhs: Enclosure
    rhs: Enclosure
    truth: Truth
    margin: Enclosure | None
    """log10(larger side / smaller side as claimed): positive where it holds; None if undefined."""

    @property
    def certified_margin(self) -> float | None:
        """How many decades are certain: the end of the margin that is nearest to failing it."""
        if self.margin is None or not self.margin.is_finite:
            return None
        lo, hi = self.margin.floats()
        if self.truth is HOLDS:
            return lo
        return hi if self.truth is FAILS else (lo + hi) / 2


def oriented(claim: Relational) -> tuple[sympy.Expr, sympy.Expr]:
    """(the side that should be larger, the side that should be smaller)."""
    if isinstance(claim, sympy.GreaterThan | sympy.StrictGreaterThan):
        return claim.lhs, claim.rhs
    return claim.rhs, claim.lhs


def judge(claim: Relational, values: Values) -> Judgement:
    """Decide one relation and say by how many decades."""
    lhs, rhs = sides(claim, values)
    larger, smaller = (lhs, rhs) if oriented(claim)[0] is claim.lhs else (rhs, lhs)
    margin = None
    if larger.is_positive and smaller.is_positive:
        margin = larger.log10() - smaller.log10()
        if not margin.is_finite:
            margin = None
    elif smaller.is_positive and larger.hi <= 0:
        margin = Enclosure.exact(-math.inf)
    return Judgement(lhs, rhs, decide(claim, lhs, rhs), margin)


def environment(
    theorem: Theorem, measured: Mapping[Symbol, Enclosure], constants: Mapping[Symbol, Enclosure]
) -> dict[Symbol, Enclosure]:
    """Measured and chosen values with every definition evaluated."""
    return extend({**measured, **constants}, theorem.definitions)


def judge_hypotheses(theorem: Theorem, values: Values) -> dict[str, Judgement]:
    """Every hypothesis that can be checked, by its number."""
    return {h.id: judge(h.claim, values) for h in theorem.hypotheses if h.claim is not None}
