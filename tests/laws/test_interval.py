"""Every operation contains the exact result at every point of its intervals, and is narrow."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import flint
import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.interval import Real
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth

NARROW = Fraction(1, 10**50)
BITS = 400

# --- numbers to try ----------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.fractions(min_value=-50, max_value=50, max_denominator=10**9)
scaled = st.builds(
    lambda q, e: q * Fraction(10) ** e,
    st.fractions(min_value=-10, max_value=10, max_denominator=10**12),
    st.integers(-400, 400),
)
special = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 2.0**-1022, 1.7976931348623157e308, 2.0**53 + 2]
)
rationals = st.one_of(finite.map(Fraction), special.map(Fraction), small, scaled)
shares = st.fractions(min_value=0, max_value=1, max_denominator=1000)


@st.composite
def boxes(draw: st.DrawFn, numbers: st.SearchStrategy[Fraction] = rationals) -> tuple:
    """An enclosure and a rational point of it."""
    a, b, t = draw(numbers), draw(numbers), draw(shares)
    lo, hi = min(a, b), max(a, b)
    return Enclosure.between(lo, hi), lo + t * (hi - lo)


def inside(enclosure: Enclosure, value: Fraction, error: Fraction = Fraction(0)) -> bool:
    """Containment of a value known up to `error`."""
    lo, hi = enclosure.lo, enclosure.hi
    return (not lo.is_finite() or exact(lo) <= value + error) and (not hi.is_finite() or value - error <= exact(hi))


def exact(end: flint.arb) -> Fraction:
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def width(enclosure: Enclosure) -> Fraction:
    return exact(enclosure.hi) - exact(enclosure.lo)


def precise(f: Callable, x: Fraction) -> Fraction:
    """A transcendental function by another library, good to well over 100 digits."""
    with mpmath.workprec(BITS + 400):
        value = f(mpmath.mpf(x.numerator) / x.denominator)
        sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# --- building and looking ----------------------------------------------------------------------------


@given(rationals)
def test_exact_contains_and_is_narrow(x: Fraction) -> None:
    e = Enclosure.exact(x)
    assert inside(e, x)
    assert width(e) <= NARROW * abs(x)


@given(finite)
@example(5e-324)
@example(1.7976931348623157e308)
def test_a_float_is_the_real_it_stores(x: float) -> None:
    e = Enclosure.exact(x)
    assert e.fractions() == (Fraction(x), Fraction(x))
    assert e.floats() == (x, x)
    assert e.midpoint() == x


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_one_is_the_whole_line(x: float) -> None:
    e = Enclosure.exact(x)
    assert not e.lo.is_finite()
    assert not e.hi.is_finite()
    assert inside(e, Fraction(10) ** 500)
    assert inside(e, -(Fraction(10) ** 500))
    assert e.relative_width() == math.inf
    assert math.isnan(e.midpoint())


@given(boxes(), rationals)
def test_a_whole_line_swallows_every_operation(box: tuple, x: Fraction) -> None:
    a, _ = box
    for f in (operator.add, operator.sub):
        assert not f(a, math.nan).is_finite
        assert inside(f(a, math.nan), x)
    assert inside(Enclosure.exact(math.nan) * Enclosure.exact(1), x)
    assert inside(Enclosure.exact(math.inf) - Enclosure.exact(math.inf), x)


@given(rationals, rationals)
def test_ends_in_the_wrong_order_say_nothing(a: Fraction, b: Fraction) -> None:
    lo, hi = min(a, b), max(a, b)
    if hi - lo > NARROW * max(abs(lo), abs(hi)):
        assert not Enclosure.between(hi, lo).is_finite


def test_a_nan_at_an_end_makes_that_end_infinite() -> None:
    assert not Enclosure.between(1, math.nan).is_finite
    assert not Enclosure.between(math.nan, 1).is_finite


def test_an_enclosure_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Enclosure.exact(1).lo = flint.arb(0)


@given(boxes(), boxes())
def test_contains_overlaps_and_intersect_agree_with_the_ends(a: tuple, b: tuple) -> None:
    (x, _), (y, _) = a, b
    (xl, xh), (yl, yh) = x.fractions(), y.fractions()
    assert x.contains(y) == (xl <= yl and yh <= xh)
    assert x.overlaps(y) == (xl <= yh and yl <= xh)
    if x.overlaps(y):
        assert x.intersect(y).fractions() == (max(xl, yl), min(xh, yh))
    else:
        with pytest.raises(ArithmeticError, match="disjoint"):
            x.intersect(y)


@given(boxes())
def test_floats_are_the_narrowest_that_contain(box: tuple) -> None:
    e, x = box
    lo, hi = e.floats()
    a, b = e.fractions()
    assert lo == -math.inf or Fraction(lo) <= a <= x
    assert hi == math.inf or Fraction(hi) >= b >= x
    # The next floats inwards would cut something off.
    inner_lo, inner_hi = math.nextafter(lo, math.inf), math.nextafter(hi, -math.inf)
    assert inner_lo == math.inf or Fraction(inner_lo) > a
    assert inner_hi == -math.inf or Fraction(inner_hi) < b


@given(boxes())
def test_relative_width_is_an_upper_bound_and_close(box: tuple) -> None:
    a, b = box[0].fractions()
    size = max(abs(a), abs(b))
    measured = Fraction(box[0].relative_width())
    true = (b - a) / size if size else Fraction(0)
    assert true <= measured <= true * (1 + Fraction(1, 10**15)) + Fraction(5e-324)


# --- decimals ----------------------------------------------------------------------------------------


@given(boxes(), st.integers(1, 28))
def test_decimals_are_outward_and_close(box: tuple, digits: int) -> None:
    e, _ = box
    a, b = e.fractions()
    lo, hi = (Fraction(text) for text in e.decimals(digits))
    assert lo <= a
    assert b <= hi
    unit = Fraction(10) ** (1 - digits)
    assert a - lo <= unit * max(abs(a), abs(lo))
    assert hi - b <= unit * max(abs(b), abs(hi))


@given(boxes(), st.integers(1, 28))
def test_parse_reads_back_what_decimals_wrote(box: tuple, digits: int) -> None:
    e, x = box
    back = Enclosure.parse(*e.decimals(digits))
    assert inside(back, x)
    assert back.contains(e)


@pytest.mark.parametrize("digits", [29, 40, 60])
def test_many_decimals_are_outward(digits: int) -> None:
    lo, hi = (Fraction(text) for text in Enclosure.exact(Fraction(1, 3)).decimals(digits))
    assert lo <= Fraction(1, 3) <= hi


def test_decimals_ignore_the_callers_decimal_context() -> None:
    with decimal.localcontext() as context:
        context.prec = 5
        lo, hi = (Fraction(text) for text in Enclosure.exact(0.1).decimals(17))
    assert lo <= Fraction(0.1) <= hi


def test_decimals_of_a_very_small_number_stay_above_it() -> None:
    with decimal.localcontext() as context:
        context.Emin = -200  # by default -999999, which costs half a minute to reach
        _, hi = Enclosure.exact(5e-324).decimals()
    assert Fraction(hi) > 0


def test_any_exponent_can_be_printed() -> None:
    assert "e+" in repr(Enclosure.exact(10**20).exp())


def test_infinite_ends_survive_decimals_and_parse() -> None:
    for e in (Enclosure.exact(math.nan), Enclosure.positive(), -Enclosure.positive()):
        back = Enclosure.parse(*e.decimals())
        assert back.decimals() == e.decimals()
        assert not back.is_finite


# --- arithmetic --------------------------------------------------------------------------------------

BINARY: dict[str, tuple[Callable[[Real, Real], Enclosure], Callable[[Fraction, Fraction], Fraction]]]
BINARY = {
    "add": (operator.add, operator.add),
    "sub": (operator.sub, operator.sub),
    "mul": (operator.mul, operator.mul),
    "max": (Enclosure.maximum, max),
    "min": (Enclosure.minimum, min),
}
UNARY = {"neg": operator.neg, "abs": abs}
POWERS = [-7, -3, -2, -1, 0, 1, 2, 3, 4, 7]


@pytest.mark.parametrize("name", BINARY)
@given(a=boxes(), b=boxes())
def test_binary_operations_contain(name: str, a: tuple, b: tuple) -> None:
    ours, theirs = BINARY[name]
    assert inside(ours(a[0], b[0]), theirs(a[1], b[1]))


@pytest.mark.parametrize("name", BINARY)
@given(x=rationals, y=rationals)
def test_binary_operations_are_narrow(name: str, x: Fraction, y: Fraction) -> None:
    ours, theirs = BINARY[name]
    result = ours(Enclosure.exact(x), Enclosure.exact(y))
    size = abs(x) + abs(y) if name in ("add", "sub") else abs(theirs(x, y))
    assert width(result) <= NARROW * size


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@given(box=boxes(), number=st.one_of(finite, st.integers(-(10**30), 10**30), small))
def test_plain_numbers_work_on_both_sides(name: str, box: tuple, number: Real) -> None:
    f = BINARY[name][0]
    assert inside(f(box[0], number), f(box[1], Fraction(number)))
    assert inside(f(number, box[0]), f(Fraction(number), box[1]))


@given(a=boxes(), b=boxes())
def test_sums_and_products_are_no_wider_than_their_ends(a: tuple, b: tuple) -> None:
    """Narrow for boxes too: the hull of the four products, widened by roundings only."""
    pairs = list(product(a[0].fractions(), b[0].fractions()))
    for ours, theirs in ((operator.add, operator.add), (operator.mul, operator.mul)):
        hull = [theirs(x, y) for x, y in pairs]
        slack = NARROW * max(abs(x) for x in hull)
        lo, hi = ours(a[0], b[0]).fractions()
        assert min(hull) - slack <= lo <= min(hull)
        assert max(hull) <= hi <= max(hull) + slack


@pytest.mark.parametrize("name", UNARY)
@given(box=boxes())
def test_unary_operations_contain_and_keep_the_ends(name: str, box: tuple) -> None:
    f = UNARY[name]
    e, x = box
    assert inside(f(e), f(x))
    ends = {*e.fractions(), *(-end for end in e.fractions()), Fraction(0)}
    assert set(f(e).fractions()) <= ends


@given(a=boxes(), b=boxes())
def test_division_contains(a: tuple, b: tuple) -> None:
    if b[1] != 0:
        assert inside(a[0] / b[0], a[1] / b[1])
        assert inside(b[0].reciprocal(), 1 / b[1])


@given(x=rationals, y=rationals)
def test_division_is_narrow(x: Fraction, y: Fraction) -> None:
    if y != 0:
        assert width(Enclosure.exact(x) / Enclosure.exact(y)) <= NARROW * abs(x / y)
        assert width(1 / Enclosure.exact(y)) <= NARROW * abs(1 / y)


def test_division_by_zero_says_nothing_and_a_touched_zero_says_half() -> None:
    assert not (Enclosure.exact(1) / Enclosure.exact(0)).is_finite
    across = Enclosure.between(-1, 1).reciprocal()
    assert not across.lo.is_finite()
    assert not across.hi.is_finite()
    assert Enclosure.between(0, 2).reciprocal().decimals() == ("0.5", "inf")
    assert Enclosure.between(-2, 0).reciprocal().decimals() == ("-inf", "-0.5")
    assert Enclosure.positive().reciprocal().decimals() == ("0", "inf")
    assert Enclosure.between(2, math.inf).reciprocal().decimals() == ("0", "0.5")
    assert Enclosure.between(-math.inf, -2).reciprocal().decimals() == ("-0.5", "0")


def test_infinite_ends_follow_the_usual_rules() -> None:
    up, down, line = Enclosure.positive(), -Enclosure.positive(), Enclosure.exact(math.nan)
    assert (up + 1).decimals() == ("1", "inf")
    assert (up + down).decimals() == ("-inf", "inf")
    assert (up - up).decimals() == ("-inf", "inf")
    assert (up * up).decimals() == ("0", "inf")
    assert (up * down).decimals() == ("-inf", "0")
    assert (up * -2).decimals() == ("-inf", "0")
    assert (line * 0).contains(0)
    assert (up**2).decimals() == ("0", "inf")
    assert (line**2).decimals() == ("0", "inf")
    assert (line**3).decimals() == ("-inf", "inf")
    assert abs(line).decimals() == ("0", "inf")
    assert up.sqrt().decimals() == ("0", "inf")
    assert line.exp().decimals() == ("0", "inf")
    assert up.log().decimals() == ("-inf", "inf")
    assert up.maximum(3).decimals() == ("3", "inf")
    assert up.minimum(3).decimals() == ("0", "3")
    assert up.widen(1).decimals() == ("-1", "inf")
    assert Enclosure.exact(1).widen(math.inf).decimals() == ("-inf", "inf")


@pytest.mark.parametrize("n", POWERS)
@given(box=boxes())
def test_integer_powers_contain(n: int, box: tuple) -> None:
    e, x = box
    if x != 0 or n >= 0:
        assert inside(e**n, x**n)


@pytest.mark.parametrize("n", POWERS)
@given(x=rationals)
def test_integer_powers_are_narrow(n: int, x: Fraction) -> None:
    if x != 0 or n >= 0:
        assert width(Enclosure.exact(x) ** n) <= NARROW * abs(x**n)


@given(boxes())
def test_even_powers_know_that_squares_are_not_negative(box: tuple) -> None:
    assert (box[0] ** 2).fractions()[0] >= 0


@given(boxes(rationals.map(abs)))
def test_sqrt_contains_and_is_narrow(box: tuple) -> None:
    e, x = box
    lo, hi = e.sqrt().fractions()
    assert 0 <= lo
    assert lo * lo <= x <= hi * hi
    a, b = e.fractions()
    tight = 1 + 2 * NARROW
    assert a <= lo * lo * tight
    assert hi * hi <= b * tight


def test_roots_and_logarithms_are_cut_off_where_they_are_undefined() -> None:
    assert Enclosure.between(-1, 4).sqrt().decimals() == ("0", "2")
    assert not Enclosure.between(-2, -1).sqrt().is_finite
    assert not Enclosure.between(-2, -1).log().is_finite
    assert not Enclosure.exact(0).log().is_finite
    assert Enclosure.between(-1, 1).log().decimals() == ("-inf", "0")
    assert Enclosure.between(-3, 0).log1p().decimals() == ("-inf", "0")
    assert not Enclosure.exact(-1).log1p().is_finite


FUNCTIONS = {
    "exp": (Enclosure.exp, mpmath.exp, st.one_of(small, rationals.filter(lambda x: abs(x) < 800))),
    "log": (Enclosure.log, mpmath.log, rationals.map(abs).filter(bool)),
    "log10": (Enclosure.log10, lambda x: mpmath.log(x) / mpmath.log(10), rationals.map(abs).filter(bool)),
    "log1p": (Enclosure.log1p, mpmath.log1p, rationals.filter(lambda x: x > -1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data())
def test_functions_contain_and_are_narrow(name: str, data: st.DataObject) -> None:
    ours, theirs, numbers = FUNCTIONS[name]
    e, x = data.draw(boxes(numbers))
    value = precise(theirs, x)
    error = abs(value) * Fraction(1, 2**350)
    assert inside(ours(e), value, error)
    at_point = ours(Enclosure.exact(x))
    assert inside(at_point, value, error)
    # An argument that is not dyadic is itself blurred by 2^-192; near a zero that is all there is.
    blur = abs(value) + 1
    if name == "exp":
        blur = abs(value) * (1 + abs(x))
    elif name == "log1p":
        blur = abs(value) + abs(x / (1 + x))
    assert width(at_point) <= NARROW * blur


@pytest.mark.parametrize("power", [Fraction(1, 2), Fraction(-3, 2), Fraction(1, 3), Fraction(-5, 7)])
@given(box=boxes(st.one_of(small, scaled).map(abs).filter(bool)))
def test_rational_powers_contain_and_are_narrow(power: Fraction, box: tuple) -> None:
    e, x = box
    value = precise(lambda t: t ** (mpmath.mpf(power.numerator) / power.denominator), x)
    error = value * Fraction(1, 2**350)
    assert inside(e**power, value, error)
    point = Enclosure.exact(x) ** power
    assert inside(point, value, error)
    assert width(point) <= NARROW * value


@given(boxes(), rationals)
def test_widen_moves_both_ends_by_the_radius(box: tuple, r: Fraction) -> None:
    e, x = box
    wide = e.widen(r)
    for moved in (x - abs(r), x, x + abs(r)):
        assert inside(wide, moved)
    a, b = e.fractions()
    size = max(abs(a), abs(b)) + abs(r)
    assert width(wide) <= b - a + 2 * abs(r) + 4 * NARROW * size


@given(boxes(st.one_of(small, scaled).map(abs)))
def test_split_covers_and_stays_inside(box: tuple) -> None:
    e, _ = box
    left, right = e.split()
    a, b = e.fractions()
    assert left.fractions()[0] == a
    assert right.fractions()[1] == b
    assert left.fractions()[1] == right.fractions()[0]


@given(boxes(), boxes(), st.integers(4, 120))
@example((Enclosure.between(0, 17), Fraction(17)), (Enclosure.exact(0), Fraction(0)), 4)
def test_a_lower_global_precision_widens_and_never_lies(a: tuple, b: tuple, bits: int) -> None:
    (e, x), (f, y) = a, b
    with flint.ctx.workprec(bits):
        results = [(op(e, f), theirs(x, y)) for op, theirs in BINARY.values()]
        results += [(-e, -x), (abs(e), abs(x)), (e**2, x**2), (e**3, x**3), (e.widen(f), x + y)]
        results += [((-e).maximum(-f), max(-x, -y)), (-((-e) + (-f)), x + y)]
        if y:
            results.append((e / f, x / y))
    for result, value in results:
        lo, hi = result.floats()
        assert lo <= value <= hi
        assert inside(result, value)


# --- verdicts ----------------------------------------------------------------------------------------

RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def ideal(name: str, a: Enclosure, b: Enclosure) -> Truth:
    """What the ends of two finite intervals allow one to say."""
    f = RELATIONS[name]
    truths = {f(x, y) for x in a.fractions() for y in b.fractions()}
    return UNDECIDED if len(truths) == 2 else HOLDS if truths == {True} else FAILS


@pytest.mark.parametrize("name", RELATIONS)
@given(a=boxes(), b=boxes())
def test_a_verdict_is_exactly_what_the_ends_prove(name: str, a: tuple, b: tuple) -> None:
    for x, y in ((a[0], b[0]), (a[0], a[0]), (Enclosure.exact(1), Enclosure.exact(1))):
        assert RELATIONS[name](x, y) is ideal(name, x, y)
    if (verdict := RELATIONS[name](a[0], b[0])) is not UNDECIDED:
        assert (verdict is HOLDS) == RELATIONS[name](a[1], b[1])


@given(boxes(), boxes())
def test_overlap_makes_both_directions_undecided(a: tuple, b: tuple) -> None:
    x, y = a[0], b[0]
    assert (x < y) is ~(x >= y)
    assert (x > y) is ~(x <= y)
    if x.overlaps(y) and width(x) > 0 and width(y) > 0 and x.fractions()[1] != y.fractions()[0]:
        assert (x < y) is UNDECIDED or (x >= y) is HOLDS


@pytest.mark.parametrize("name", RELATIONS)
@given(a=boxes(), number=rationals)
def test_plain_numbers_compare_on_both_sides(name: str, a: tuple, number: Fraction) -> None:
    f = RELATIONS[name]
    assert f(a[0], number) is ideal(name, a[0], Enclosure.exact(number))
    assert f(number, a[0]) is ideal(name, Enclosure.exact(number), a[0])


UNBOUNDED = [
    Enclosure.exact(math.nan),
    Enclosure.positive(),
    -Enclosure.positive(),
    Enclosure.between(5, math.inf),
    Enclosure.exact(1) / Enclosure.exact(0),
]


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("unbounded", UNBOUNDED, ids=repr)
@given(box=boxes())
def test_no_verdict_rests_on_an_infinite_end(name: str, unbounded: Enclosure, box: tuple) -> None:
    f = RELATIONS[name]
    assert f(unbounded, box[0]) is UNDECIDED
    assert f(box[0], unbounded) is UNDECIDED
    assert f(unbounded, unbounded) is UNDECIDED
    assert f(unbounded, math.nan) is UNDECIDED


def test_a_chain_of_comparisons_is_refused() -> None:
    with pytest.raises(TypeError, match="three values"):
        Enclosure.exact(1) < Enclosure.exact(2) < Enclosure.exact(3)  # noqa: B015


@given(boxes(), boxes())
def test_surely_below_looks_at_the_near_ends_only(a: tuple, b: tuple) -> None:
    x, y = a[0], b[0]
    assert x.surely_below(y) == (x.fractions()[1] < y.fractions()[0])
    above = Enclosure.between(y, math.inf)
    below = Enclosure.between(-math.inf, x)
    assert below.surely_below(above) == x.surely_below(y)
    assert not above.surely_below(x)
    assert not x.surely_below(Enclosure.exact(math.nan))
    assert not Enclosure.exact(math.nan).surely_below(x)


# --- the laws can fail -------------------------------------------------------------------------------


def test_the_containment_check_sees_one_missing_bit() -> None:
    third = Enclosure.exact(Fraction(1, 3))
    assert inside(third, Fraction(1, 3))
    assert not inside(Enclosure(third.lo, third.lo), Fraction(1, 3))
    assert not inside(Enclosure(third.hi, third.hi), Fraction(1, 3))
    assert not inside(Enclosure.exact(2).sqrt(), precise(mpmath.sqrt, Fraction(2)) + Fraction(1, 2**150))


def test_a_rounding_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace addition by the midpoint of the ball: the law above must notice."""

    def careless(self: Enclosure, other: Enclosure) -> Enclosure:
        middle = (self.lo + other.lo).mid()
        return Enclosure(middle, middle)

    monkeypatch.setattr(Enclosure, "__add__", careless)
    law = test_binary_operations_contain.hypothesis.inner_test
    box = (Enclosure.exact(Fraction(1, 3)), Fraction(1, 3))
    with pytest.raises(AssertionError):
        law(name="add", a=box, b=box)
