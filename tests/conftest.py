"""What every test shares: a fixed hypothesis profile, the device, and an exact oracle.

The oracle decides bounds on singular values in integers: sigma_min >= r exactly when X X^T - r^2 I has
no negative pivot. It has no rounding of its own, whatever the scales in X, and imports nothing of the
code under test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=100,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fixed")

Rows = Sequence[Sequence[Fraction]]


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    """Every device that this machine has."""
    import torch

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return str(request.param)


class Oracle:
    """Exact statements about matrices of rationals."""

    @staticmethod
    def ends(enclosure: object) -> tuple[Fraction | None, Fraction | None]:
        """The ends as rationals, None where infinite."""
        return ends(enclosure)

    @staticmethod
    def inside(enclosure: object, value: Fraction) -> bool:
        """Whether an exact rational lies between the ends, infinite ends included."""
        lo, hi = ends(enclosure)
        return (lo is None or lo <= value) and (hi is None or value <= hi)

    @staticmethod
    def root_inside(enclosure: object, square: Fraction) -> bool:
        """Whether sqrt(square) lies between the ends, decided on the squares."""
        lo, hi = ends(enclosure)
        below = lo is None or lo <= 0 or lo * lo <= square
        return below and (hi is None or (hi >= 0 and square <= hi * hi))

    @staticmethod
    def sigma_min_inside(enclosure: object, rows: Rows) -> bool:
        """Whether sqrt(lambda_min(X X^T)) lies between the ends."""
        lo, hi = ends(enclosure)
        below = lo is None or lo <= 0 or semidefinite(rows, 1, lo)
        return below and (hi is None or (hi >= 0 and not semidefinite(rows, 1, hi, strictly=True)))

    @staticmethod
    def norm_inside(enclosure: object, rows: Rows) -> bool:
        """Whether the largest singular value lies between the ends."""
        wide = rows if len(rows) <= len(rows[0]) else list(zip(*rows, strict=True))
        lo, hi = ends(enclosure)
        below = lo is None or lo <= 0 or not semidefinite(wide, -1, lo, strictly=True)
        return below and (hi is None or (hi >= 0 and semidefinite(wide, -1, hi)))

    @staticmethod
    def exact(rows: Sequence[Sequence[float]]) -> list[list[Fraction]]:
        """The rationals that these floats denote."""
        return [[Fraction(x) for x in row] for row in rows]

    @staticmethod
    def matmul(x: Rows, y: Rows) -> list[list[Fraction]]:
        """The exact product."""
        columns = list(zip(*y, strict=True))
        return [[_dot(row, column) for column in columns] for row in x]

    @staticmethod
    def square_sum(rows: Rows) -> Fraction:
        """The square of the Frobenius norm."""
        return sum((_dot(row, row) for row in rows), Fraction(0))


def ends(enclosure: object) -> tuple[Fraction | None, Fraction | None]:
    """The ends as rationals, None where infinite; read from the stored binary numbers directly."""
    return _end(enclosure.lo), _end(enclosure.hi)  # type: ignore[attr-defined]


def _end(x: object) -> Fraction | None:
    if not x.is_finite():  # type: ignore[attr-defined]
        return None
    mantissa, exponent = x.man_exp()  # type: ignore[attr-defined]
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _dot(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def semidefinite(rows: Rows, sign: int, r: Fraction, strictly: bool = False) -> bool:
    """Whether sign * (X X^T - r^2 I) is positive (semi)definite, by Bareiss elimination in integers."""
    scale = math.lcm(r.denominator, *(x.denominator for row in rows for x in row))
    x = [[int(entry * scale) for entry in row] for row in rows]
    shift = int(r * scale) ** 2
    n = len(x)
    a = [
        [sign * (sum(p * q for p, q in zip(x[i], x[j], strict=True)) - shift * (i == j)) for j in range(n)]
        for i in range(n)
    ]
    previous = 1
    while a:
        pivot, top = a[0][0], a[0]
        if pivot < 0 or (strictly and pivot == 0):
            return False
        if pivot == 0:  # a semidefinite matrix with a zero on the diagonal has a zero row there
            if any(top):
                return False
            a = [row[1:] for row in a[1:]]
            continue
        a = [[(pivot * row[j] - row[0] * top[j]) // previous for j in range(1, len(row))] for row in a[1:]]
        previous = pivot
    return True


@pytest.fixture(scope="session")
def oracle() -> type[Oracle]:
    """The exact oracle; a fixture, so that tests need not import one another."""
    return Oracle
