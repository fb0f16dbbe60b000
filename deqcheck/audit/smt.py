"""Real arithmetic in z3 and cvc5. One solver's word is not enough: see deqcheck.audit.prove."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any

import sympy
from sympy import Expr, Rational, Symbol
from sympy.core.relational import Relational

from deqcheck.audit.problem import Problem

SOLVERS: Mapping[str, str] = {"z3": "z3", "cvc5": "cvc5.pythonic"}


class Answer(Enum):
    """What a solver says of premises together with the negated claim."""

    UNSAT = "unsat"
    SAT = "sat"
    UNKNOWN = "unknown"


@dataclass
class Translator:
    """sympy to a solver's terms; quotients, roots and maxima become fresh variables with their laws."""

    backend: Any

    def __post_init__(self) -> None:
        self.names: dict[Symbol, Any] = {}
        self.fresh: dict[Expr, Any] = {}
        self.laws: list[Any] = []

    def symbol(self, s: Symbol) -> Any:
        """The solver's variable."""
        if s not in self.names:
            self.names[s] = self.backend.Real(f"v{len(self.names)}")
        return self.names[s]

    def number(self, q: Rational) -> Any:
        """An exact constant."""
        return self.backend.RealVal(f"{q.p}/{q.q}") if q.q != 1 else self.backend.RealVal(int(q.p))

    def _new(self, key: Expr) -> tuple[Any, bool]:
        if key in self.fresh:
            return self.fresh[key], False
        self.fresh[key] = self.backend.Real(f"f{len(self.fresh)}")
        return self.fresh[key], True

    def term(self, e: Expr) -> Any:
        """An expression."""
        if isinstance(e, Symbol):
            return self.symbol(e)
        if isinstance(e, sympy.Rational):
            return self.number(e)
        if isinstance(e, sympy.Add):
            return reduce(lambda a, b: a + b, [self.term(a) for a in e.args])
        if isinstance(e, sympy.Mul):
            return reduce(lambda a, b: a * b, [self.term(a) for a in e.args])
        if isinstance(e, sympy.Pow) and e.base is not sympy.E:
            return self._power(e.base, e.exp)
        if isinstance(e, sympy.Max | sympy.Min):
            return self._extreme(e)
        if isinstance(e, sympy.Abs):
            return self._extreme(sympy.Max(e.args[0], -e.args[0], evaluate=False))
        if e is sympy.E or isinstance(e, sympy.exp) or (isinstance(e, sympy.Pow) and e.base is sympy.E):
            return self._exponential(e)
        if isinstance(e, sympy.log) and e.args[0].is_Rational:
            return self._logarithm(e)
        raise TypeError(f"no translation of {type(e).__name__} in {e}")

    def _power(self, base: Expr, exponent: Expr) -> Any:
        if not isinstance(exponent, sympy.Rational):
            raise TypeError(f"no translation of the power {base}**{exponent}")
        if exponent < 0:
            inverse, new = self._new(sympy.Pow(base, -1, evaluate=False))
            if new:
                self.laws.append(inverse * self.term(base) == 1)
            return self._times(inverse, -exponent, base, -1)
        if exponent.q == 1:
            return self._times(self.term(base), exponent, base, 1)
        if exponent.q == 2:
            root, new = self._new(sympy.Pow(base, Rational(1, 2), evaluate=False))
            if new:
                self.laws += [root >= 0, root * root == self.term(base)]
            return self._times(root, Rational(exponent.p), base, 1)
        raise TypeError(f"no translation of the power {base}**{exponent}")

    def _times(self, term: Any, exponent: Rational, base: Expr, sign: int) -> Any:
        if exponent.q == 2:  # a negative half power: the inverse of the root
            root = self._power(base, Rational(1, 2))
            inverse, new = self._new(sympy.Pow(base, Rational(-1, 2), evaluate=False))
            if new:
                self.laws += [inverse * root == 1, inverse > 0]
            return reduce(lambda a, b: a * b, [inverse] * int(exponent.p))
        return reduce(lambda a, b: a * b, [term] * int(exponent)) if exponent else self.number(Rational(1))

    def _extreme(self, e: Expr) -> Any:
        top, new = self._new(e)
        if new:
            parts = [self.term(a) for a in e.args]
            above = isinstance(e, sympy.Max)
            self.laws += [top >= p if above else top <= p for p in parts]
            self.laws.append(self.backend.Or(*[top == p for p in parts]))
        return top

    def _exponential(self, e: Expr) -> Any:
        """Only what every exponential satisfies: exp(x) > 0 and exp(x) >= 1 + x."""
        value, new = self._new(e)
        if new:
            inner = self.term(sympy.Integer(1) if e is sympy.E else e.args[-1])
            self.laws += [value > 0, value >= 1 + inner]
        return value

    def _logarithm(self, e: Expr) -> Any:
        """The logarithm of a number, between rationals that its 30 correct digits leave no doubt about."""
        value, new = self._new(e)
        if new:
            near, room = Rational(str(e.evalf(30))), Rational(1, 10**25)
            self.laws += [value > self.number(near - room), value < self.number(near + room)]
        return value

    def relation(self, r: Relational) -> Any:
        """A relation."""
        lhs, rhs = self.term(r.lhs), self.term(r.rhs)
        match r:
            case sympy.Eq():
                return lhs == rhs
            case sympy.GreaterThan():
                return lhs >= rhs
            case sympy.StrictGreaterThan():
                return lhs > rhs
            case sympy.LessThan():
                return lhs <= rhs
            case sympy.StrictLessThan():
                return lhs < rhs
            case _:
                raise TypeError(f"no translation of {r}")


def ask(name: str, problem: Problem, seconds: float) -> tuple[Answer, dict[Symbol, Rational]]:
    """Premises and not claim: the solver's answer, and a rational point where it offers one."""
    backend = importlib.import_module(SOLVERS[name])
    translate = Translator(backend)
    solver = backend.Solver()
    if name == "z3":
        solver.set("timeout", int(1000 * seconds))
    else:
        solver.setOption("nl-cov", "true")  # cylindrical coverings, complete for real polynomials
        solver.setOption("tlimit-per", int(1000 * seconds))
    try:
        wanted = [translate.relation(p) for p in problem.premises]
        if problem.claim is not None:
            wanted.append(backend.Not(translate.relation(problem.claim)))
    except TypeError:
        return Answer.UNKNOWN, {}
    solver.add(*translate.laws, *wanted)
    said = solver.check()
    if said == backend.unsat:
        return Answer.UNSAT, {}
    if said != backend.sat:
        return Answer.UNKNOWN, {}
    return Answer.SAT, _rationals(solver.model(), translate) if name == "z3" else {}


def _rationals(model: Any, translate: Translator) -> dict[Symbol, Rational]:
    """The model at rationals; an irrational algebraic number is replaced by a close rational."""
    point = {}
    for symbol, variable in translate.names.items():
        value = model.eval(variable, model_completion=True)
        if not hasattr(value, "as_fraction"):
            value = value.approx(40)
        fraction = value.as_fraction()
        point[symbol] = Rational(int(fraction.numerator), int(fraction.denominator))
    return point
