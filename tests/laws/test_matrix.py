"""192-bit matrices against exact rationals and against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.matrix import Matrix

SHAPES = [(1, 1), (1, 5), (3, 3), (3, 6), (6, 6), (5, 9)]
Rows = list[list[float]]


def conditioned(condition: float) -> Callable:
    """Singular values from 1 to 1/condition, down to 1e-30 by an exact power of two on one row."""

    def family(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal((n, k))
        x[-1] *= 2.0 ** -round(math.log2(condition))
        return x

    return family


def low_rank(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    rank = max(1, min(n, k) - 1)
    return (rng.integers(-4, 5, (n, rank)) @ rng.integers(-4, 5, (rank, k))).astype(float)


def nearly_equal_rows(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    x = np.repeat(rng.standard_normal((1, k)), n, axis=0)
    x[-1, -1] = np.nextafter(x[-1, -1], np.inf)
    return x


FAMILIES: dict[str, Callable] = {
    "gaussian": lambda n, k, rng: rng.standard_normal((n, k)),
    "relu": lambda n, k, rng: np.maximum(rng.standard_normal((n, k)), 0),
    "condition 1e10": conditioned(1e10),
    "condition 1e20": conditioned(1e20),
    "condition 1e30": conditioned(1e30),
    "low rank": low_rank,
    "zero": lambda n, k, _: np.zeros((n, k)),
    "identity": lambda n, k, _: np.eye(n, k),
    "nearly equal rows": nearly_equal_rows,
    "1e300": lambda n, k, rng: rng.standard_normal((n, k)) * 1e300,
    "1e-310": lambda n, k, rng: rng.standard_normal((n, k)) * 1e-310,
    "mixed": lambda n, k, rng: rng.standard_normal((n, k)) * rng.choice([1e-200, 1.0, 1e200], (n, k)),
}


def samples(family: str, shapes: list[tuple[int, int]] = SHAPES) -> list[Rows]:
    rng = np.random.default_rng(list(family.encode()))
    return [FAMILIES[family](n, k, rng).tolist() for n, k in shapes for _ in range(2)]


# --- singular values and norms -----------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_sigma_min_and_frobenius_contain_the_truth(family: str, oracle: Any) -> None:
    for rows in samples(family):
        exact = oracle.exact(rows)
        matrix = Matrix.exact(rows)
        assert oracle.sigma_min_inside(matrix.sigma_min(), exact), rows
        assert oracle.root_inside(matrix.frobenius(), oracle.square_sum(exact)), rows


@pytest.mark.parametrize("family", ["gaussian", "condition 1e10", "condition 1e20", "identity", "1e300"])
def test_sigma_min_is_narrow_far_beyond_float64(family: str) -> None:
    for rows in samples(family):
        assert Matrix.exact(rows).sigma_min().relative_width() < 1e-8
        assert Matrix.exact(rows).frobenius().relative_width() < 1e-50


def test_sigma_min_is_good_to_eighteen_digits_when_well_conditioned() -> None:
    for rows in samples("gaussian"):
        assert Matrix.exact(rows).sigma_min().relative_width() < 1e-17


def test_a_rank_deficient_matrix_is_seen_to_be_nearly_singular() -> None:
    for rows in samples("low rank", [(3, 3), (3, 6), (6, 6)]):
        lo, hi = Matrix.exact(rows).sigma_min().floats()
        assert lo == 0
        assert hi < 1e-20


def test_more_rows_than_columns_has_no_positive_sigma_min() -> None:
    assert Matrix.exact([[1.0], [2.0]]).sigma_min().floats() == (0, 0)


@pytest.mark.parametrize("family", ["gaussian", "condition 1e10", "condition 1e20"])
def test_the_oracle_and_ours_agree_with_mpmath(family: str, oracle: Any) -> None:
    """A third opinion, by another algorithm: the SVD in 300 bits."""
    for rows in samples(family, [(3, 3), (4, 6)]):
        with mpmath.workprec(300):
            values = mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)
            pairs = [(min(values), oracle.sigma_min_inside), (max(values), oracle.norm_inside)]
            numbers = [(int(v.man) * Fraction(2) ** int(v.exp), inside) for v, inside in pairs]
        blur = Fraction(1, 10**50)
        for value, inside in numbers:
            near = Enclosure.between(value * (1 - blur), value * (1 + blur))
            assert inside(near, oracle.exact(rows))
            above = Enclosure.between(value * (1 + blur), value * 2)
            below = Enclosure.between(value / 2, value * (1 - blur))
            assert not inside(above, oracle.exact(rows))
            assert not inside(below, oracle.exact(rows))
        smallest = Enclosure.exact(numbers[0][0]).widen(numbers[0][0] * blur)
        assert Matrix.exact(rows).sigma_min().overlaps(smallest)


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_no_small_matrix_of_floats_escapes(oracle: Any, rows: Rows) -> None:
    assert oracle.sigma_min_inside(Matrix.exact(rows).sigma_min(), oracle.exact(rows))
    assert oracle.root_inside(Matrix.exact(rows).frobenius(), oracle.square_sum(oracle.exact(rows)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_entry_gives_no_finite_bound(bad: float) -> None:
    for i in range(4):
        flat = [0.5, 1.0, -2.0, 3.0]
        flat[i] = bad
        matrix = Matrix.exact([flat[:2], flat[2:]])
        assert not matrix.sigma_min().is_finite
        assert not matrix.frobenius().is_finite


def test_a_non_finite_tall_matrix_has_no_finite_sigma_min() -> None:
    assert not Matrix.exact([[math.nan], [1.0]]).sigma_min().is_finite


# --- solving and the rest of the algebra -------------------------------------------------------------


def gauss(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
    """a^-1 b in exact rationals."""
    n = len(a)
    rows = [[*p, *q] for p, q in zip(a, b, strict=True)]
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [row[n:] for row in rows]


def agree(oracle: Any, matrix: Matrix, truth: list[list[Fraction]]) -> bool:
    flat = [x for row in truth for x in row]
    return all(oracle.inside(e, x) for e, x in zip(matrix.entries(), flat, strict=True))


@pytest.mark.parametrize("family", ["gaussian", "condition 1e10", "condition 1e20", "condition 1e30"])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_solve_contains_and_is_narrow(family: str, n: int, oracle: Any) -> None:
    for a in samples(family, [(n, n)]):
        (b, *_) = samples("gaussian", [(n, 2)])
        solution = Matrix.exact(a).solve(Matrix.exact(b))
        truth = gauss(oracle.exact(a), oracle.exact(b))
        assert agree(oracle, solution, truth)
        size = max(abs(x) for row in truth for x in row)
        for e in solution.entries():
            lo, hi = e.fractions()
            assert hi - lo <= size / 10**18


def test_a_singular_system_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        Matrix.exact([[1.0, 2.0], [2.0, 4.0]]).solve(Matrix.exact([[1.0], [1.0]]))


@pytest.mark.parametrize("family", ["gaussian", "mixed", "1e-310", "relu"])
def test_the_algebra_contains_the_truth(family: str, oracle: Any) -> None:
    (x, y) = samples(family, [(4, 4)])
    p, q, a, b = Matrix.exact(x), Matrix.exact(y), oracle.exact(x), oracle.exact(y)

    def entrywise(f: Callable) -> list[list[Fraction]]:
        return [[f(s, t) for s, t in zip(r, c, strict=True)] for r, c in zip(a, b, strict=True)]

    assert agree(oracle, p @ q, oracle.matmul(a, b))
    assert agree(oracle, p + q, entrywise(lambda s, t: s + t))
    assert agree(oracle, p - q, entrywise(lambda s, t: s - t))
    assert agree(oracle, p.times(0.1), entrywise(lambda s, _: s * Fraction(0.1)))
    assert agree(oracle, p.T, [list(c) for c in zip(*a, strict=True)])
    assert agree(oracle, p.relu(), entrywise(lambda s, _: max(s, Fraction(0))))
    third = p.times(0.1) @ q  # balls with a radius, where relu has to keep both sides
    product = [[Fraction(0.1) * t for t in row] for row in oracle.matmul(a, b)]
    assert agree(oracle, third.relu(), [[max(t, Fraction(0)) for t in row] for row in product])


def test_relu_of_a_ball_across_zero_keeps_both_sides(oracle: Any) -> None:
    """1/3 - (1/3 solved another way) straddles zero; both signs must survive the relu."""
    third = Matrix.exact([[3.0]]).solve(Matrix.exact([[1.0]]))
    around = third - third
    (before,), (after,) = around.entries(), around.relu().entries()
    assert before.contains(0)
    lo, hi = after.fractions()
    assert lo <= 0 <= hi
    assert hi >= before.fractions()[1] > 0


def test_rows_can_be_cut_and_laid_out(oracle: Any) -> None:
    x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    matrix = Matrix.exact(x)
    assert matrix.shape == (2, 3)
    assert matrix.rows() == x
    assert matrix.submatrix([1], [0, 2]).rows() == [[4.0, 6.0]]
    assert Matrix.exact([[7.0], [8.0]]).scatter([0, 2], 4).rows() == [[7.0, 0.0, 8.0, 0.0]]
    assert Matrix.stack([matrix, Matrix.zeros(1, 3)]).rows() == [*x, [0.0, 0.0, 0.0]]
    third = Matrix.exact([[3.0]]).solve(Matrix.exact([[1.0]]))
    assert agree(oracle, third, [[Fraction(1, 3)]])
    assert not agree(oracle, third.midpoint(), [[Fraction(1, 3)]])


# --- the laws can fail -------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1 + 1e-9, 1 + 1e-15, 1 - 1e-15])
def test_a_value_slightly_off_is_caught(factor: float, oracle: Any) -> None:
    for rows in samples("gaussian"):
        exact = oracle.exact(rows)
        sigma, norm = Matrix.exact(rows).sigma_min(), Matrix.exact(rows).frobenius()
        assert not oracle.sigma_min_inside(sigma * factor, exact)
        assert not oracle.root_inside(norm * factor, oracle.square_sum(exact))


def test_believing_every_pivot_is_caught(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    """Accept the first trial shift unseen on matrices where the Rayleigh bound is not tight."""
    target = "deqcheck.enclosure.matrix."
    monkeypatch.setattr(target + "_rayleigh_smallest", lambda gram: gram[0, 0].upper())
    assert all(
        oracle.sigma_min_inside(Matrix.exact(rows).sigma_min(), oracle.exact(rows)) for rows in samples("gaussian")
    )
    monkeypatch.setattr(target + "_is_positive_definite", lambda _gram, _shift: True)
    assert not all(
        oracle.sigma_min_inside(Matrix.exact(rows).sigma_min(), oracle.exact(rows)) for rows in samples("gaussian")
    )


@pytest.mark.parametrize("r", [Fraction(1, 2), Fraction(2), Fraction(3), Fraction(4)])
def test_the_oracle_on_a_matrix_that_needs_no_oracle(r: Fraction, oracle: Any) -> None:
    diagonal = [[Fraction(2), Fraction(0)], [Fraction(0), Fraction(-3)]]
    at = Enclosure.exact(r)
    assert oracle.sigma_min_inside(at, diagonal) == (r == 2)
    assert oracle.norm_inside(at, diagonal) == (r == 3)
    assert oracle.sigma_min_inside(Enclosure.between(0, r), diagonal) == (r >= 2)
    assert oracle.norm_inside(Enclosure.between(r, 9), diagonal) == (r <= 3)
