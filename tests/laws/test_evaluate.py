"""A sympy expression at enclosures against sympy's own exact arithmetic."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Max, Min, Rational, Symbol, exp, log, sqrt, symbols

from deqcheck.enclosure import Enclosure
from deqcheck.evaluate import decide, evaluate, extend, sides
from deqcheck.truth import FAILS, HOLDS, UNDECIDED

x, y, z = symbols("x y z", real=True)
NAMES = (x, y, z)

numbers = st.fractions(min_value=-6, max_value=6, max_denominator=12)
dyadics = st.builds(lambda n, e: Fraction(n, 2**e), st.integers(-64, 64), st.integers(0, 8))


def rational(q: Fraction) -> Rational:
    return Rational(q.numerator, q.denominator)


leaves = st.one_of(st.sampled_from(NAMES), numbers.map(rational))


def grow(children: st.SearchStrategy) -> st.SearchStrategy:
    two = st.tuples(children, children)
    return st.one_of(
        two.map(lambda p: p[0] + p[1]),
        two.map(lambda p: p[0] - p[1]),
        two.map(lambda p: p[0] * p[1]),
        two.map(lambda p: Max(*p)),
        two.map(lambda p: Min(*p)),
        children.map(sympy.Abs),
        st.tuples(children, st.integers(-3, 4)).map(lambda p: p[0] ** p[1]),
    )


expressions = st.recursive(leaves, grow, max_leaves=8)
points = st.tuples(numbers, numbers, numbers)


def truth(expr: Any, point: tuple[Fraction, ...]) -> Fraction | None:
    """sympy's exact value, or None where it is not a number (a division by zero)."""
    value = sympy.sympify(expr).subs(dict(zip(NAMES, map(rational, point), strict=True)))
    return Fraction(int(value.p), int(value.q)) if isinstance(value, Rational) else None


def at(point: tuple[Fraction, ...]) -> dict[Symbol, Enclosure]:
    return dict(zip(NAMES, map(Enclosure.exact, point), strict=True))


@settings(max_examples=300)
@given(expr=expressions, point=points)
def test_contains_the_exact_value(oracle: Any, expr: Any, point: tuple) -> None:
    value = truth(expr, point)
    if value is not None:
        assert oracle.inside(evaluate(sympy.sympify(expr), at(point)), value)


@settings(max_examples=200)
@given(expr=expressions, a=points, b=points, t=points)
def test_contains_the_value_at_every_point_of_a_box(oracle: Any, expr: Any, a: tuple, b: tuple, t: tuple) -> None:
    lows, highs = tuple(map(min, a, b)), tuple(map(max, a, b))
    box = {s: Enclosure.between(p, q) for s, p, q in zip(NAMES, lows, highs, strict=True)}
    shares = [(q + 6) / 12 for q in t]
    inner = tuple(p + s * (q - p) for p, q, s in zip(lows, highs, shares, strict=True))
    for point in (lows, highs, inner):
        value = truth(expr, point)
        if value is not None:
            assert oracle.inside(evaluate(sympy.sympify(expr), box), value)


polynomials = st.recursive(
    st.one_of(st.sampled_from(NAMES), dyadics.map(rational)),
    lambda c: st.one_of(
        st.tuples(c, c).map(lambda p: p[0] + p[1]),
        st.tuples(c, c).map(lambda p: p[0] * p[1]),
        st.tuples(c, c).map(lambda p: Max(*p)),
    ),
    max_leaves=5,
)


@given(expr=polynomials, point=st.tuples(dyadics, dyadics, dyadics))
def test_polynomials_of_short_dyadics_are_exact(expr: Any, point: tuple) -> None:
    """Narrow to the last bit: nothing here needs a rounding."""
    result = evaluate(sympy.sympify(expr), at(point))
    assert result.fractions() == (truth(expr, point),) * 2


@given(p=polynomials, q=polynomials, point=st.tuples(dyadics, dyadics, dyadics))
def test_relations_are_decided_as_sympy_decides_them(p: Any, q: Any, point: tuple) -> None:
    left, right = truth(p, point), truth(q, point)
    for relation, f in (
        (sympy.StrictLessThan, operator.lt),
        (sympy.LessThan, operator.le),
        (sympy.StrictGreaterThan, operator.gt),
        (sympy.GreaterThan, operator.ge),
    ):
        claim = relation(p, q, evaluate=False)
        lhs, rhs = sides(claim, at(point))
        assert lhs.fractions() == (left, left)
        assert rhs.fractions() == (right, right)
        assert decide(claim, lhs, rhs) is (HOLDS if f(left, right) else FAILS)


@given(p=expressions, q=expressions, a=points, b=points)
def test_a_verdict_over_a_box_is_true_at_its_corners(p: Any, q: Any, a: tuple, b: tuple) -> None:
    box = {s: Enclosure.between(min(c, d), max(c, d)) for s, c, d in zip(NAMES, a, b, strict=True)}
    claim = sympy.StrictLessThan(p, q, evaluate=False)
    verdict = decide(claim, *sides(claim, box))
    if verdict is UNDECIDED:
        return
    for point in (a, b):
        left, right = truth(p, point), truth(q, point)
        if left is not None and right is not None:
            assert (left < right) == (verdict is HOLDS)


TRANSCENDENTAL = [
    exp(x),
    exp(-(x**2)),
    log(x),
    log(1 + x**2) * y,
    sqrt(x),
    sqrt(x) ** 3 / y,
    x ** Rational(1, 3),
    x ** Rational(-5, 7),
    x**y,
    (1 + x) ** (y - z),
    Max(sqrt(x), y) - Min(log(y), z),
    sqrt(2) * x + Rational(1, 7),
    sympy.Abs(log(x / 2)),
]


@pytest.mark.parametrize("expr", TRANSCENDENTAL, ids=str)
@pytest.mark.parametrize("point", [(Fraction(1, 3), Fraction(5, 2), Fraction(-1)), (Fraction(7), Fraction(1, 9), 2)])
def test_transcendental_values_agree_with_a_hundred_digits(expr: Any, point: tuple, oracle: Any) -> None:
    values = dict(zip(NAMES, (rational(Fraction(q)) for q in point), strict=True))
    digits = Fraction(str(expr.subs(values).evalf(100)))
    result = evaluate(expr, at(point))
    assert oracle.inside(result.widen(abs(digits) * Fraction(1, 10**95)), digits)
    assert result.relative_width() < 1e-50
    off = digits * (1 + Fraction(1, 10**40))
    assert not oracle.inside(result, off)


def test_max_and_min_of_many() -> None:
    values = at((Fraction(1), Fraction(2), Fraction(3)))
    assert evaluate(Max(x, y, z), values).fractions() == (3, 3)
    assert evaluate(Min(x, y, z), values).fractions() == (1, 1)
    overlapping = {x: Enclosure.between(0, 2), y: Enclosure.between(1, 3)}
    assert evaluate(Max(x, y), overlapping).fractions() == (1, 3)
    assert evaluate(Min(x, y), overlapping).fractions() == (0, 2)


@pytest.mark.parametrize(
    "expr",
    [sympy.sin(x), sympy.gamma(x), sympy.pi * x, sympy.I * x, x + sympy.oo, sympy.Function("f")(x)],
    ids=str,
)
def test_a_function_without_an_enclosure_is_refused(expr: Any) -> None:
    with pytest.raises(TypeError, match="no enclosure is known"):
        evaluate(expr, at((Fraction(1), Fraction(1), Fraction(1))))


def test_a_float_is_refused() -> None:
    with pytest.raises(TypeError, match="Float"):
        evaluate(sympy.Float("0.1") * x, at((Fraction(1),) * 3))


def test_a_symbol_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        evaluate(x + Symbol("unmeasured", real=True), at((Fraction(1),) * 3))


@pytest.mark.parametrize("claim", [sympy.Eq(x, y), sympy.Ne(x, y)], ids=str)
def test_an_equation_has_no_verdict(claim: Any) -> None:
    one = Enclosure.exact(1)
    with pytest.raises(TypeError, match="not an inequality"):
        decide(claim, one, one)


@pytest.mark.parametrize("claim", [1 / x > y, log(x) < y, x**-2 >= y, (x - y) ** -1 <= z], ids=str)
def test_no_verdict_where_the_expression_is_undefined(claim: Any) -> None:
    """At x = 0 (and x = y) nothing is proved, in either direction."""
    values = at((Fraction(0), Fraction(0), Fraction(5)))
    assert decide(claim, *sides(claim, values)) is UNDECIDED


@pytest.mark.parametrize("x_value", [math.nan, math.inf])
def test_no_verdict_from_a_quantity_that_is_unknown(x_value: float) -> None:
    values = {x: Enclosure.exact(x_value), y: Enclosure.exact(1)}
    for claim in (x < y, x**2 >= y, x * y > 1):
        assert decide(claim, *sides(claim, values)) is UNDECIDED


def test_definitions_are_evaluated_in_turn() -> None:
    u, v = symbols("u v", real=True)
    values = extend(at((Fraction(3), Fraction(2), Fraction(1))), {u: x + y, v: u * u})
    assert values[v].fractions() == (25, 25)
    with pytest.raises(KeyError):
        extend({}, {v: u * u})


def test_the_containment_law_can_fail(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    """A product that forgets that a factor may be negative is caught by the law for boxes."""

    def careless(a: Enclosure, b: Enclosure) -> Enclosure:
        return Enclosure((a.lo * b.lo).lower(), (a.hi * b.hi).upper())

    law = test_contains_the_value_at_every_point_of_a_box.hypothesis.inner_test
    # x in [-1, 2] and y in [1, 3]: the least product is at x = -1, y = 3, a corner of mixed ends.
    box = {
        "expr": x * y,
        "a": (Fraction(-1), Fraction(1), Fraction(0)),
        "b": (Fraction(2), Fraction(3), Fraction(0)),
        "t": (Fraction(-6), Fraction(6), Fraction(0)),
    }
    law(oracle, **box)
    monkeypatch.setattr(Enclosure, "__mul__", careless)
    with pytest.raises(AssertionError):
        law(oracle, **box)
