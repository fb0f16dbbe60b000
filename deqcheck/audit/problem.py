"""A claim under premises, and its exact evaluation at rationals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy
from sympy import Expr, Rational, Symbol
from sympy.core.relational import Relational

Point = Mapping[Symbol, Rational]


@dataclass(frozen=True)
class Problem:
    """Does `claim` follow from `premises`? `claim` None asks whether the premises can hold at all."""

    premises: tuple[Relational, ...]
    claim: Relational | None

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Every symbol, in a fixed order."""
        relations = (*self.premises, *((self.claim,) if self.claim is not None else ()))
        return tuple(sorted({s for r in relations for s in r.free_symbols}, key=lambda s: str(s.name)))

    def relevant(self) -> Problem:
        """Only the premises connected to the claim through shared symbols."""
        if self.claim is None:
            return self
        reach, kept, rest = set(self.claim.free_symbols), [], list(self.premises)
        moved = True
        while moved:
            moved = False
            for premise in list(rest):
                if premise.free_symbols & reach:
                    reach |= premise.free_symbols
                    kept.append(premise)
                    rest.remove(premise)
                    moved = True
        return Problem(tuple(p for p in self.premises if p in kept), self.claim)


def holds_at(relation: Relational, point: Point) -> bool | None:
    """Exact truth at a rational point; None where a side is undefined or sympy cannot decide."""
    try:
        value = relation.subs(point)
    except (ZeroDivisionError, TypeError, ValueError):
        return None
    if value in (sympy.true, sympy.false):
        return bool(value)
    value = sympy.simplify(value)
    return bool(value) if value in (sympy.true, sympy.false) else None


def is_witness(problem: Problem, point: Point) -> bool:
    """Whether every premise holds and the claim fails at `point`, in exact arithmetic."""
    if problem.claim is not None and holds_at(problem.claim, point) is not False:
        return False
    return all(holds_at(premise, point) is True for premise in problem.premises)


def difference(relation: Relational) -> Expr:
    """The side that should be larger minus the other one."""
    if isinstance(relation, sympy.LessThan | sympy.StrictLessThan):
        return relation.rhs - relation.lhs
    return relation.lhs - relation.rhs


def is_strict(relation: Relational) -> bool:
    """Whether equality is excluded."""
    return isinstance(relation, sympy.StrictLessThan | sympy.StrictGreaterThan)
