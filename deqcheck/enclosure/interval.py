"""Intervals with exact dyadic ends that contain a real number: what "certified" means here.

Ends are computed with Arb at 192 bits and rounded outward, so every operation returns an interval
that contains every value the real operation can take. An interval, not a ball: margins span forty
decades, and a ball that wide would lose its lower end. Lowering Arb's global precision elsewhere in
the process only widens results; it can never make one wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

import flint
from flint import arb, fmpq, fmpz

from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth

flint.ctx.prec = 192

Real: TypeAlias = "int | float | Fraction | Enclosure"

_INF, _NEG_INF, _ZERO = arb.pos_inf(), arb.neg_inf(), arb(0)


class Enclosure:
    """A closed interval [lo, hi] known to contain one real number (or several, for a box)."""

    __slots__ = ("hi", "lo")
    lo: arb
    hi: arb

    def __init__(self, lo: arb, hi: arb) -> None:
        # Anything not ordered (a NaN from inf - inf, say) means "no information".
        ordered = lo <= hi
        object.__setattr__(self, "lo", lo if ordered else _NEG_INF)
        object.__setattr__(self, "hi", hi if ordered else _INF)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Enclosure is immutable")

    def __repr__(self) -> str:
        lo, hi = self.decimals(17)
        return f"Enclosure({lo}, {hi})"

    # --- building ------------------------------------------------------------------------------

    @classmethod
    def exact(cls, value: int | float | Fraction) -> Enclosure:
        """The number itself: a float denotes the exact real it stores, not its decimal print."""
        if isinstance(value, Fraction):
            ball = arb(fmpq(value.numerator, value.denominator))
        elif isinstance(value, float) and not math.isfinite(value):
            return cls(_NEG_INF, _INF)
        else:
            ball = arb(fmpz(value)) if isinstance(value, int) else arb(value)
        return cls(ball.lower(), ball.upper())

    @classmethod
    def between(cls, lo: Real, hi: Real) -> Enclosure:
        """The hull of two numbers; a NaN at an end makes that end infinite."""
        return cls(_lift(lo).lo, _lift(hi).hi)

    @classmethod
    def from_zero(cls, hi: Real) -> Enclosure:
        """[0, hi]: an error bound turned into an enclosure of the error."""
        return cls.between(0, hi)

    @classmethod
    def positive(cls) -> Enclosure:
        """[0, inf): where a positive constant may lie before anything is known of it."""
        return cls(_ZERO, _INF)

    @classmethod
    def parse(cls, lo: str, hi: str) -> Enclosure:
        """Read back what `decimals` wrote; each end is widened outward if it is not dyadic."""
        return cls.between(_from_decimal(lo), _from_decimal(hi))

    # --- looking -------------------------------------------------------------------------------

    @property
    def is_finite(self) -> bool:
        """Whether both ends are real numbers; no verdict may rest on anything else."""
        return bool(self.lo.is_finite() and self.hi.is_finite())

    @property
    def is_positive(self) -> bool:
        """Whether every value in the interval is > 0."""
        return bool(self.lo > 0)

    def contains(self, value: Real) -> bool:
        """Whether the whole of `value` lies inside."""
        other = _lift(value)
        return bool(self.lo <= other.lo and other.hi <= self.hi)

    def overlaps(self, value: Real) -> bool:
        """Whether the two intervals share a point."""
        other = _lift(value)
        return bool(self.lo <= other.hi and other.lo <= self.hi)

    def relative_width(self) -> float:
        """(hi - lo) / max |x|, rounded up: how much this enclosure could blur a verdict."""
        if not self.is_finite:
            return math.inf
        size = max(abs(self.lo), abs(self.hi))
        return 0.0 if size == 0 else _float_up(((self.hi - self.lo) / size).upper())

    def midpoint(self) -> float:
        """A float near the middle, for plots and starting points, never for verdicts."""
        return float((self.lo + self.hi) / 2) if self.is_finite else math.nan

    def floats(self) -> tuple[float, float]:
        """The narrowest float interval around this one."""
        return -_float_up(_minus(self.lo)), _float_up(self.hi)

    def fractions(self) -> tuple[Fraction, Fraction]:
        """The ends as exact rationals, for exact arithmetic elsewhere."""
        return _to_fraction(self.lo), _to_fraction(self.hi)

    def decimals(self, digits: int = 17) -> tuple[str, str]:
        """The ends as decimal strings, the lower rounded down and the upper rounded up."""
        return _to_decimal(self.lo, digits, ROUND_FLOOR), _to_decimal(self.hi, digits, ROUND_CEILING)

    # --- arithmetic ----------------------------------------------------------------------------

    def __neg__(self) -> Enclosure:
        return Enclosure(_minus(self.hi), _minus(self.lo))

    def __abs__(self) -> Enclosure:
        if self.lo >= 0:
            return self
        if self.hi <= 0:
            return -self
        return Enclosure(_ZERO, _larger(_minus(self.lo), self.hi))

    def __add__(self, other: Real) -> Enclosure:
        b = _lift(other)
        return Enclosure((self.lo + b.lo).lower(), (self.hi + b.hi).upper())

    def __sub__(self, other: Real) -> Enclosure:
        return self + (-_lift(other))

    def __mul__(self, other: Real) -> Enclosure:
        b = _lift(other)
        if self.lo >= 0 and b.lo >= 0:  # nearly every product here; also settles 0 * inf as 0
            return Enclosure(_times(self.lo, b.lo).lower(), _times(self.hi, b.hi).upper())
        ends = [_times(x, y) for x in (self.lo, self.hi) for y in (b.lo, b.hi)]
        lo, hi = ends[0].lower(), ends[0].upper()
        for end in ends[1:]:
            lo, hi = _smaller(lo, end.lower()), _larger(hi, end.upper())
        return Enclosure(lo, hi)

    def __truediv__(self, other: Real) -> Enclosure:
        return self * _lift(other).reciprocal()

    def reciprocal(self) -> Enclosure:
        """1/x over the x where it is defined; a zero at one end makes that end infinite."""
        if self.lo < 0 < self.hi or (self.lo == 0 and self.hi == 0):
            return Enclosure(_NEG_INF, _INF)
        lo = _NEG_INF if self.hi == 0 else (1 / self.hi).lower()
        hi = _INF if self.lo == 0 else (1 / self.lo).upper()
        return Enclosure(lo, hi)

    def __pow__(self, exponent: int | Fraction) -> Enclosure:
        power = Fraction(exponent)
        if power < 0:
            return (self**-power).reciprocal()
        if power.denominator == 2:
            return self.sqrt() ** power.numerator
        if power.denominator != 1:
            return (self.log() * power).exp()
        n = power.numerator
        if n == 0:
            return Enclosure.exact(1)
        base = abs(self) if n % 2 == 0 else self
        return Enclosure(_power(base.lo, n).lower(), _power(base.hi, n).upper())

    def sqrt(self) -> Enclosure:
        """Square root; a lower end below zero is cut off at zero, where the root is defined."""
        if self.hi < 0:
            return Enclosure(_NEG_INF, _INF)
        return self._increasing(lambda x: x.sqrt(), _ZERO, _ZERO)

    def exp(self) -> Enclosure:
        """Exponential."""
        lo = _ZERO if self.lo == _NEG_INF else self.lo.exp().lower()
        return Enclosure(lo, _INF if self.hi == _INF else self.hi.exp().upper())

    def log(self) -> Enclosure:
        """Natural logarithm over the positive part."""
        if self.hi <= 0:
            return Enclosure(_NEG_INF, _INF)
        return self._increasing(lambda x: x.log(), _ZERO, _NEG_INF)

    def log10(self) -> Enclosure:
        """Decades."""
        return self.log() / Enclosure.exact(10).log()

    def log1p(self) -> Enclosure:
        """log(1 + x) without losing a tiny x; x must stay above -1."""
        if self.hi <= -1:
            return Enclosure(_NEG_INF, _INF)
        return self._increasing(lambda x: x.log1p(), arb(-1), _NEG_INF)

    def maximum(self, other: Real) -> Enclosure:
        """The larger of the two."""
        b = _lift(other)
        return Enclosure(_larger(self.lo, b.lo), _larger(self.hi, b.hi))

    def minimum(self, other: Real) -> Enclosure:
        """The smaller of the two."""
        return -((-self).maximum(-_lift(other)))

    def intersect(self, other: Enclosure) -> Enclosure:
        """Two enclosures of one number: the number lies in both."""
        if not self.overlaps(other):
            raise ArithmeticError(f"enclosures of one number are disjoint: {self} and {other}")
        return Enclosure(_larger(self.lo, other.lo), _smaller(self.hi, other.hi))

    def widen(self, radius: Real) -> Enclosure:
        """The interval with `radius` added on both sides."""
        r = abs(_lift(radius)).hi
        return Enclosure((self.lo - r).lower(), (self.hi + r).upper())

    def split(self) -> tuple[Enclosure, Enclosure]:
        """Two halves, by ratio: positive constants are searched over decades, not over a line."""
        middle = _geometric_middle(self.lo, self.hi)
        return Enclosure(self.lo, middle), Enclosure(middle, self.hi)

    def _increasing(self, f: Callable[[arb], arb], floor: arb, at_floor: arb) -> Enclosure:
        """Apply an increasing function that is `at_floor` at `floor` and undefined below it."""
        lo = f(self.lo).lower() if self.lo > floor else at_floor
        if self.hi == _INF:
            return Enclosure(lo, _INF)
        return Enclosure(lo, f(self.hi).upper() if self.hi > floor else at_floor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Real) -> Enclosure:
        return _lift(other) - self

    def __rtruediv__(self, other: Real) -> Enclosure:
        return _lift(other) / self

    # --- verdicts ------------------------------------------------------------------------------

    def __lt__(self, other: Real) -> Truth:
        b = _lift(other)
        if not (self.is_finite and b.is_finite):
            return UNDECIDED
        if self.hi < b.lo:
            return HOLDS
        return FAILS if self.lo >= b.hi else UNDECIDED

    def __le__(self, other: Real) -> Truth:
        b = _lift(other)
        if not (self.is_finite and b.is_finite):
            return UNDECIDED
        if self.hi <= b.lo:
            return HOLDS
        return FAILS if self.lo > b.hi else UNDECIDED

    def __gt__(self, other: Real) -> Truth:
        return _lift(other) < self

    def __ge__(self, other: Real) -> Truth:
        return _lift(other) <= self

    def surely_below(self, other: Enclosure) -> bool:
        """hi < other.lo with both of these ends finite; the far ends may be infinite.

        For boxes of constants that reach to infinity, where only the near ends carry the proof.
        """
        return bool(self.hi.is_finite() and other.lo.is_finite() and self.hi < other.lo)


def _lift(value: Real) -> Enclosure:
    return value if isinstance(value, Enclosure) else Enclosure.exact(value)


def _larger(a: arb, b: arb) -> arb:
    return a if a >= b else b


def _smaller(a: arb, b: arb) -> arb:
    return a if a <= b else b


def _minus(x: arb) -> arb:
    """-x without rounding: the unary minus of flint rounds to the precision of the moment."""
    return x.neg(exact=True)


def _times(a: arb, b: arb) -> arb:
    return _ZERO if a == 0 or b == 0 else a * b


def _power(x: arb, n: int) -> arb:
    if x.is_finite():
        return x**n
    return x if n % 2 or x == _INF else _INF


def _geometric_middle(lo: arb, hi: arb) -> arb:
    if lo == 0 and hi == _INF:
        return arb(1)
    if hi == _INF:
        return (lo * 1000).upper()
    if lo == 0:
        return (hi / 1000).lower()
    return (lo * hi).sqrt().mid()


def _to_fraction(x: arb) -> Fraction:
    mantissa, exponent = x.man_exp()
    m, e = int(mantissa), int(exponent)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def _float_up(x: arb) -> float:
    """The smallest float >= x (inf if there is none)."""
    if not x.is_finite():
        return float(x)
    guess = float(x)
    while math.isfinite(guess) and arb(guess) > x:
        guess = math.nextafter(guess, -math.inf)
    while math.isfinite(guess) and arb(guess) < x:
        guess = math.nextafter(guess, math.inf)
    return math.nextafter(guess, math.inf) if guess == -math.inf else guess


def _to_decimal(x: arb, digits: int, rounding: str) -> str:
    if not x.is_finite():
        return "inf" if x > 0 else "-inf"
    context = Context(prec=digits, rounding=rounding, Emin=-(10**9), Emax=10**9)
    shift = _decade(x)
    if abs(shift) < 5000:
        shift, exact = 0, _to_fraction(x)
    else:  # an exponent of any size is printable once its decade is split off
        with flint.ctx.workprec(192 + 4 * digits + 2 * abs(shift).bit_length()):
            scaled = x / arb(10) ** shift
            exact = _to_fraction(scaled.lower() if rounding == ROUND_FLOOR else scaled.upper())
    value = context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(context)
    if not value:
        return "0"
    if shift == 0 and -4 <= value.adjusted() < digits:
        return f"{value:f}"
    return f"{context.scaleb(value, -value.adjusted()):f}e{shift + value.adjusted():+d}"


def _decade(x: arb) -> int:
    """About log10 |x|."""
    mantissa, exponent = x.man_exp()
    return (int(abs(mantissa)).bit_length() + int(exponent)) * 30102999566398119521373889472449302676818988 // 10**44


def _from_decimal(text: str) -> Enclosure:
    if text in ("inf", "-inf"):
        end = _INF if text == "inf" else _NEG_INF
        return Enclosure(end, end)
    return Enclosure.exact(Fraction(text))
