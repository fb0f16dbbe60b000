"""Proofs by slack substitution: a = lower + s with s >= 0 until every coefficient is visibly >= 0.

Such a proof can be printed and checked by eye, and needs no solver.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import sympy
from sympy import Expr, Rational, Symbol
from sympy.core.relational import Relational

from deqcheck.audit.problem import Problem, difference, is_strict

MAX_TERMS = 4000


@dataclass(frozen=True)
class Substitution:
    """symbol -> expression in slacks, and which slacks are strictly positive."""

    images: dict[Symbol, Expr]
    positive: frozenset[Symbol]
    slacks: frozenset[Symbol]

    def apply(self, expr: Expr) -> Expr:
        """The expression in slacks."""
        return expr.subs(self.images)


def substitution(problem: Problem, defined: bool = False) -> Substitution | None:
    """Write every symbol through slacks that range freely over [0, inf) or (0, inf); None if impossible.

    Only premises `symbol >= bound` and `symbol <= bound` are used, and with `defined` also `symbol == value`, in an
    order in which the bounds are known already; the other premises are not needed for a sound proof. Definitions
    make points that satisfy them, and proofs too long to expand.
    """
    equal = {
        p.lhs: p.rhs
        for p in problem.premises
        if defined and isinstance(p, sympy.Eq) and isinstance(p.lhs, Symbol) and p.lhs not in p.rhs.free_symbols
    }
    lower: dict[Symbol, list[tuple[Expr, bool]]] = {}
    upper: dict[Symbol, list[tuple[Expr, bool]]] = {}
    for premise in problem.premises:
        for symbol, bound, below, strict in _bounds(premise):
            (lower if below else upper).setdefault(symbol, []).append((bound, strict))
    images: dict[Symbol, Expr] = {}
    positive: set[Symbol] = set()
    slacks: set[Symbol] = set()
    left = list(problem.symbols)
    while left:
        for symbol in left:
            if symbol in equal:
                if equal[symbol].free_symbols <= images.keys():
                    images[symbol] = equal[symbol].subs(images)
                    left.remove(symbol)
                    break
                continue
            found = next(((b, s) for b, s in lower.get(symbol, []) if b.free_symbols <= images.keys()), None)
            best = [x for x in lower.get(symbol, []) if x[0].free_symbols <= images.keys()]
            # A bound that involves other symbols says more than a sign.
            best.sort(key=lambda x: (len(x[0].free_symbols), x[1]), reverse=True)
            if found is None:
                continue
            bound, strict = best[0]
            slack = Symbol(f"s_{symbol.name}", real=True)
            slacks.add(slack)
            if strict:
                positive.add(slack)
            low = bound.subs(images)
            ceiling = next((b for b, _ in upper.get(symbol, []) if b.is_Rational), None)
            if ceiling is not None and low.is_Rational and low < ceiling:
                images[symbol] = (low + ceiling * slack) / (1 + slack)
            else:
                images[symbol] = low + slack
            left.remove(symbol)
            break
        else:
            return None
    return Substitution(images, frozenset(positive), frozenset(slacks))


def _bounds(premise: Relational) -> Iterator[tuple[Symbol, Expr, bool, bool]]:
    """(symbol, bound, bound is below, strict) for each side that is a bare symbol."""
    if not isinstance(premise, sympy.LessThan | sympy.StrictLessThan | sympy.GreaterThan | sympy.StrictGreaterThan):
        return
    strict = is_strict(premise)
    small, large = (
        (premise.lhs, premise.rhs)
        if isinstance(premise, sympy.LessThan | sympy.StrictLessThan)
        else (premise.rhs, premise.lhs)
    )
    if isinstance(large, Symbol) and large not in small.free_symbols:
        yield large, small, True, strict
    if isinstance(small, Symbol) and small not in large.free_symbols:
        yield small, large, False, strict


def prove(problem: Problem) -> str | None:
    """A printable proof of the claim, or None."""
    claim = problem.claim
    if claim is None or isinstance(claim, sympy.Eq | sympy.Ne):
        return None
    if claim.has(sympy.Max, sympy.Min, sympy.exp, sympy.log, sympy.Abs):
        return None
    found = substitution(problem)
    if found is None:
        return None
    numerator, denominator = sympy.fraction(sympy.together(found.apply(difference(claim))))
    parts = []
    for name, expr, strict in (("numerator", numerator, is_strict(claim)), ("denominator", denominator, True)):
        expanded = sympy.expand(expr)
        if len(sympy.Add.make_args(expanded)) > MAX_TERMS:
            return None
        if not _nonnegative(expanded, found, strict):
            return None
        parts.append(f"{name}: {expanded}")
    where = ", ".join(f"{s} = {e}" for s, e in found.images.items())
    return f"with {where} and all s ≥ 0, larger side − smaller side has\n" + "\n".join(parts)


def _nonnegative(expr: Expr, found: Substitution, strict: bool) -> bool:
    """Every monomial has a coefficient >= 0; for `strict`, one of them is certainly positive."""
    certain = False
    for term in sympy.Add.make_args(expr):
        coefficient, rest = term.as_coeff_Mul()
        if not coefficient.is_number or (coefficient < 0) is not sympy.false:
            return False
        for base, exponent in rest.as_powers_dict().items():
            if base.is_number:
                if (base < 0) is not sympy.false:
                    return False
            elif base not in found.slacks or not exponent.is_integer or exponent < 0:
                return False
        if coefficient > 0 and rest.free_symbols <= found.positive:
            certain = True
    return certain or not strict


def samples(problem: Problem, count: int, seed: int = 0) -> Iterator[dict[Symbol, Rational]]:
    """Rational points that satisfy the simple bounds among the premises, small and large."""
    found = substitution(problem, defined=True)
    rng = random.Random(seed)
    pool = [Rational(p, q) for p in (0, 1, 2, 3, 7, 20, 100) for q in (1, 2, 3, 10, 100)]
    for _ in range(count):
        if found is None:
            yield {s: rng.choice(pool) * rng.choice((1, -1)) for s in problem.symbols}
            continue
        draw = {s: rng.choice(pool) for s in found.slacks}
        draw |= {s: v or Rational(1, 100) for s, v in draw.items() if s in found.positive}
        point = {s: e.subs(draw) for s, e in found.images.items()}
        if all(v.is_Rational for v in point.values()):
            yield point
