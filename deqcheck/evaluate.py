"""A sympy expression at enclosures gives an enclosure; a relation gives a Truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

import sympy
from sympy import Basic, Symbol
from sympy.core.relational import Relational

from deqcheck.enclosure import Enclosure
from deqcheck.truth import Truth

Values = Mapping[Symbol, Enclosure]


def evaluate(expr: Basic, values: Values) -> Enclosure:
    """Enclose `expr` for every choice of its symbols inside `values`."""
    if isinstance(expr, Symbol):
        return values[expr]
    if isinstance(expr, sympy.Rational):
        return Enclosure.exact(Fraction(int(expr.p), int(expr.q)))
    if isinstance(expr, sympy.Pow):
        return _power(expr, values)
    parts = [evaluate(arg, values) for arg in expr.args]
    match expr:
        case sympy.Add():
            return reduce(Enclosure.__add__, parts)
        case sympy.Mul():
            return reduce(Enclosure.__mul__, parts)
        case sympy.Max():
            return reduce(Enclosure.maximum, parts)
        case sympy.Min():
            return reduce(Enclosure.minimum, parts)
        case sympy.Abs():
            return abs(parts[0])
        case sympy.exp():
            return parts[0].exp()
        case sympy.log():
            return parts[0].log() if parts[0].lo >= 0 else Enclosure.between(-math.inf, math.inf)
        case _ if expr is sympy.E:
            return Enclosure.exact(1).exp()
        case _:
            raise TypeError(f"no enclosure is known for {type(expr).__name__} in {expr}")


def _power(expr: sympy.Pow, values: Values) -> Enclosure:
    base, exponent = expr.args
    if base is sympy.E:
        return evaluate(exponent, values).exp()
    inner = evaluate(base, values)
    if isinstance(exponent, sympy.Integer):
        return inner ** int(exponent)
    if inner.lo < 0:  # a root or a real power that may be undefined says nothing
        return Enclosure.between(-math.inf, math.inf)
    if isinstance(exponent, sympy.Rational):
        return inner ** Fraction(int(exponent.p), int(exponent.q))
    return (inner.log() * evaluate(exponent, values)).exp()


def sides(claim: Relational, values: Values) -> tuple[Enclosure, Enclosure]:
    """Both sides of a relation, in the order in which it is printed."""
    return evaluate(claim.lhs, values), evaluate(claim.rhs, values)


def decide(claim: Relational, lhs: Enclosure, rhs: Enclosure) -> Truth:
    """The relation between two enclosed sides."""
    match claim:
        case sympy.GreaterThan():
            return lhs >= rhs
        case sympy.StrictGreaterThan():
            return lhs > rhs
        case sympy.LessThan():
            return lhs <= rhs
        case sympy.StrictLessThan():
            return lhs < rhs
        case _:
            raise TypeError(f"{claim} is not an inequality")


def extend(values: Values, definitions: Mapping[Symbol, Basic]) -> dict[Symbol, Enclosure]:
    """`values` with each definition evaluated in turn."""
    known = dict(values)
    for symbol, expr in definitions.items():
        known[symbol] = evaluate(expr, known)
    return known
