"""Certified norms against exact integers: zero violations, and narrow where the problem is benign."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.truth import HOLDS

EFFORTS = (rigor.CHEAP, rigor.THOROUGH, rigor.PRECISE)
SHAPES = [(1, 1), (1, 7), (7, 1), (3, 3), (5, 8), (8, 5), (4, 12), (10, 10)]
SEEDS = range(2)


# --- families of matrices ----------------------------------------------------------------------------


def gaussian(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, k))


def relu(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return np.maximum(rng.standard_normal((n, k)), 0)


def spectrum(values: Callable[[int], np.ndarray]) -> Callable:
    """Random singular vectors around given singular values (rounded, so the truth is near them)."""

    def family(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
        r = min(n, k)
        u = np.linalg.qr(rng.standard_normal((n, r)))[0]
        v = np.linalg.qr(rng.standard_normal((k, r)))[0]
        return (u * values(r)) @ v.T

    return family


def conditioned(condition: float) -> Callable:
    return spectrum(lambda r: np.logspace(0, -math.log10(condition), r) if r > 1 else np.ones(1))


def low_rank(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Exactly rank-deficient: small integers, so that no rounding lifts the rank."""
    rank = max(1, min(n, k) - 1)
    left, right = rng.integers(-4, 5, (n, rank)), rng.integers(-4, 5, (rank, k))
    return (left @ right).astype(float)


def repeated_rows(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.standard_normal((1, k)), n, axis=0)


def sized(scale: float) -> Callable:
    return lambda n, k, rng: rng.uniform(-1, 1, (n, k)) * scale


def denormal(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-9, 10, (n, k)) * 5e-324


def mixed_entries(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, k)) * rng.choice([1e-200, 1e-8, 1.0, 1e200], (n, k))


def mixed_rows(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, k)) * rng.choice([1e-200, 1e-30, 1e200], (n, 1))


def mixed_columns(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, k)) * rng.choice([5e-324, 1e-160, 1e-150], (1, k))


def any_bits(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Every finite float pattern is as likely as any other."""
    x = rng.integers(0, 2**64, (n, k), dtype=np.uint64).view(np.float64)
    return np.where(np.isfinite(x), x, 1.0)


FAMILIES: dict[str, Callable] = {
    "gaussian": gaussian,
    "relu": relu,
    "condition 1e4": conditioned(1e4),
    "condition 1e8": conditioned(1e8),
    "condition 1e12": conditioned(1e12),
    "condition 1e15": conditioned(1e15),
    "low rank": low_rank,
    "repeated rows": repeated_rows,
    "zero": lambda n, k, _: np.zeros((n, k)),
    "identity": lambda n, k, _: np.eye(n, k),
    "signed permutation": lambda n, k, rng: np.eye(n, k)[rng.permutation(n)] * -3.0,
    "all ones": lambda n, k, _: np.ones((n, k)),
    "ties": spectrum(lambda r: np.ones(r) + 1e-15 * np.arange(r)),
    "ties at the bottom": spectrum(lambda r: np.where(np.arange(r) < r / 2, 1.0, 1e-6)),
    "1e300": sized(1e300),
    "largest float": sized(1.7976931348623157e308),
    "1e-300": sized(1e-300),
    "1e-310": sized(1e-310),
    "5e-324": denormal,
    "mixed entries": mixed_entries,
    "mixed rows": mixed_rows,
    "mixed columns": mixed_columns,
    "any bits": any_bits,
}


def matrices(family: str, device: str = "cpu", seeds: Iterable[int] = SEEDS) -> Iterator[Tensor]:
    for seed in seeds:
        rng = np.random.default_rng([seed, *family.encode()])
        for n, k in SHAPES:
            yield torch.tensor(FAMILIES[family](n, k, rng), dtype=torch.float64, device=device)


def test_there_are_hundreds_of_matrices() -> None:
    assert sum(1 for family in FAMILIES for _ in matrices(family)) >= 300
    assert all(bool(torch.isfinite(x).all()) for family in FAMILIES for x in matrices(family))


# --- what must be true of each function; each returns the violations it finds ------------------------


def broken(oracle: Any, x: Tensor) -> list[str]:
    """Names of the certified quantities of one matrix that do not contain the exact value."""
    rows = oracle.exact(x.tolist())
    columns = list(zip(*rows, strict=True))
    taxi = max(sum(map(abs, c)) for c in columns) * max(sum(map(abs, r)) for r in rows)
    found = {
        "frobenius": oracle.root_inside(rigor.frobenius(x), oracle.square_sum(rows)),
        "frobenius of a vector": oracle.root_inside(rigor.frobenius(x.reshape(-1)), oracle.square_sum(rows)),
        "mixed bound": oracle.root_inside(rigor.mixed_bound(x), taxi),
    }
    for measure, inside in (
        (rigor.spectral_norm, oracle.norm_inside),
        (rigor.sigma_min, oracle.sigma_min_inside),
    ):
        known: dict[object, bool] = {}  # two efforts often give the same interval
        for effort in EFFORTS:
            enclosure = measure(x, effort)
            ends = oracle.ends(enclosure)
            if ends not in known:
                known[ends] = inside(enclosure, rows)
            found[f"{measure.__name__} {effort}"] = known[ends]
    return [name for name, good in found.items() if not good]


def product_broken(oracle: Any, x: Tensor, y: Tensor) -> bool:
    """Whether the rounding error of x @ y exceeds its certified bound; infinite where it overflows."""
    bound = rigor.product_error(x, y)
    computed = torch.matmul(x, y)
    if not bool(torch.isfinite(computed).all()):
        return bound.is_finite
    truth = oracle.matmul(oracle.exact(x.tolist()), oracle.exact(y.tolist()))
    error = [
        [a - b for a, b in zip(p, q, strict=True)] for p, q in zip(truth, oracle.exact(computed.tolist()), strict=True)
    ]
    return not oracle.root_inside(bound, oracle.square_sum(error))


def overflows(x: Tensor, y: Tensor) -> bool:
    return not bool(torch.isfinite(torch.matmul(x.abs(), y.abs())).all())


@pytest.mark.parametrize("family", FAMILIES)
def test_norms_and_singular_values_contain_the_truth(family: str, device: str, oracle: Any) -> None:
    for x in matrices(family, device):
        assert not broken(oracle, x), x.tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_transposes_and_slices_are_matrices_too(family: str, device: str, oracle: Any) -> None:
    """Strides must not matter: every argument here is a view that is not contiguous."""
    for x in matrices(family, device, seeds=[7]):
        assert not broken(oracle, x.repeat_interleave(2, dim=1)[:, ::2].T), x.tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rounding_of_a_product_is_bounded(family: str, device: str, oracle: Any) -> None:
    partners = [matrices(other, device) for other in ("gaussian", "any bits", family)]
    for x, *others in zip(matrices(family, device), *partners, strict=True):
        for y in (other.T.contiguous() for other in others):
            if not overflows(x, y):
                assert not product_broken(oracle, x, y), (x.tolist(), y.tolist())


def test_the_rounding_of_a_long_product_is_bounded(device: str, oracle: Any) -> None:
    rng = np.random.default_rng(5)
    for k in (100, 1000):
        x = torch.tensor(rng.standard_normal((3, k)), device=device)
        y = torch.tensor(rng.standard_normal((k, 2)), device=device)
        assert not product_broken(oracle, x, y)
        assert not product_broken(oracle, x, x.T)
        assert not product_broken(oracle, x.abs(), y.abs())


def test_the_rounding_of_a_product_that_overflows_is_unbounded(oracle: Any) -> None:
    x = torch.full((2, 2), 1e200, dtype=torch.float64)
    assert not product_broken(oracle, x, x)


def test_a_relu_cannot_hide_an_overflow() -> None:
    x = torch.ones(1, 5, dtype=torch.float64)
    y = torch.tensor([-1e308, -1e308, 1e308, 1e308, 1e308], dtype=torch.float64)[:, None]
    computed, truth = float(torch.relu(x @ y)), 1e308  # the sum is 1e308, a partial sum is -2e308
    assert Enclosure.exact(computed).widen(rigor.product_error(x, y)).contains(truth)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_norm_of_a_difference_contains_the_truth(family: str, device: str, oracle: Any) -> None:
    others = ["gaussian", family]
    for x, *ys in zip(matrices(family, device), *(matrices(f, device) for f in others), strict=True):
        for y in (ys[0], ys[1].flip(0), x * (1 + 2**-52), x):
            enclosure = rigor.difference_norm(x, y)
            pairs = zip(oracle.exact(x.tolist()), oracle.exact(y.tolist()), strict=True)
            rows = [[a - b for a, b in zip(p, q, strict=True)] for p, q in pairs]
            assert oracle.norm_inside(enclosure, rows), (x.tolist(), y.tolist())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_norm_of_a_residual_contains_the_truth(family: str, device: str, oracle: Any) -> None:
    """Also for an X that is moved by up to x_error, in the direction that changes the most."""
    rng = np.random.default_rng(11)
    for x in matrices(family, device):
        n, k = x.shape
        v = torch.tensor(rng.standard_normal(k), device=device)
        target = torch.tensor(rng.standard_normal(n), device=device)
        (exact_v,) = oracle.exact([v.tolist()])
        v_square = oracle.square_sum([exact_v])
        for x_error in (Fraction(0), Fraction(1, 1000)):
            enclosure = rigor.product_norm(x, v, target, x_error, rigor.frobenius(v))
            rows = oracle.exact(x.tolist())
            for sign in (-1, 0, 1):
                # X' = X + c e_1 v^T has distance |c| ||v|| from X; c is a little less than allowed.
                c = sign * x_error / (Fraction(math.sqrt(v_square)) * (1 + Fraction(1, 10**12)))
                moved = [[a + c * b for a, b in zip(rows[0], exact_v, strict=True)], *rows[1:]]
                products = oracle.matmul(moved, [[b] for b in exact_v])
                residual = [[p[0] - Fraction(t)] for p, t in zip(products, target.tolist(), strict=True)]
                assert oracle.root_inside(enclosure, oracle.square_sum(residual))


entries = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-4, 4, allow_subnormal=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e-200, -1e200, 5e-324, 1.7976931348623157e308]),
)


@st.composite
def tensors(draw: st.DrawFn, rows: int | None = None) -> Tensor:
    n, k = rows or draw(st.integers(1, 4)), draw(st.integers(1, 5))
    data = draw(st.lists(st.lists(entries, min_size=k, max_size=k), min_size=n, max_size=n))
    return torch.tensor(data, dtype=torch.float64)


@settings(max_examples=300)
@given(x=tensors())
def test_no_matrix_of_floats_escapes(oracle: Any, x: Tensor) -> None:
    assert not broken(oracle, x)


@settings(max_examples=200)
@given(data=st.data())
def test_no_product_of_floats_escapes(oracle: Any, data: st.DataObject) -> None:
    x = data.draw(tensors())
    y = data.draw(tensors(rows=x.shape[1]))
    if not overflows(x, y):
        assert not product_broken(oracle, x, y)


# --- exact spectra at sizes beyond the oracle --------------------------------------------------------


def hadamard(order: int) -> np.ndarray:
    h = np.ones((1, 1))
    for _ in range(order):
        h = np.block([[h, h], [h, -h]])
    return h


@pytest.mark.parametrize("ratio", [0, 4, 10, 20])
@pytest.mark.parametrize("wide", [False, True])
def test_large_matrices_whose_singular_values_are_known(device: str, ratio: int, wide: bool) -> None:
    """Rows of a Hadamard matrix are orthogonal: D H has the singular values 16 d_i, exactly."""
    h = hadamard(8)
    d = 2.0 ** -np.linspace(0, ratio, 256).round()
    x = torch.tensor(h * d[:, None], device=device)
    x = torch.cat([x, -x], dim=1) if wide else x
    square = 2 if wide else 1
    n = len(d)
    smallest, largest = Fraction(16) * Fraction(d.min()), Fraction(16) * Fraction(d.max())
    for effort in EFFORTS:
        sigma, norm = rigor.sigma_min(x, effort) ** 2, rigor.spectral_norm(x, effort) ** 2
        assert sigma.contains(square * smallest**2)
        assert norm.contains(square * largest**2)
        assert norm.relative_width() < 1e-7
    assert rigor.sigma_min(x, rigor.THOROUGH).relative_width() < 1e-15 * n**2 * 2.0**ratio


# --- narrowness --------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "relu", "identity", "ties", "1e300", "1e-300"])
def test_narrow_where_the_problem_is_benign(family: str, device: str) -> None:
    for x in matrices(family, device):
        assert rigor.frobenius(x).relative_width() < 1e-14
        assert rigor.spectral_norm(x).relative_width() < 1e-10
        n, k = x.shape
        if n > k or not bool((x != 0).any()):
            continue
        values = torch.linalg.svdvals(x / x.abs().max())
        condition = float(values[0] / values[-1])
        if condition <= 100:
            assert rigor.sigma_min(x, rigor.CHEAP).relative_width() < 1e-9
            assert rigor.sigma_min(x, rigor.THOROUGH).relative_width() < 1e-14 * n * condition


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e7, 1e10, 1e12])
def test_thorough_width_grows_with_the_condition_only(condition: float, device: str) -> None:
    rng = np.random.default_rng(3)
    for n, k in ((6, 6), (10, 12), (60, 80)):
        x = torch.tensor(conditioned(condition)(n, k, rng), device=device)
        width = rigor.sigma_min(x, rigor.THOROUGH).relative_width()
        assert width < 1e-14 * n * condition


def test_thorough_beats_cheap_at_condition_1e7(device: str) -> None:
    rng = np.random.default_rng(4)
    for n, k in ((6, 6), (10, 12), (60, 80)):
        x = torch.tensor(conditioned(1e7)(n, k, rng), device=device)
        cheap, thorough = (rigor.sigma_min(x, e).relative_width() for e in (0, 1))
        assert thorough < 1e-5
        assert thorough < cheap / 1000


def test_zero_is_exactly_zero(device: str) -> None:
    zero = torch.zeros(3, 4, dtype=torch.float64, device=device)
    for enclosure in (rigor.frobenius(zero), rigor.spectral_norm(zero), rigor.sigma_min(zero)):
        assert enclosure.floats() == (0, 0)
    assert rigor.sigma_min(torch.ones(4, 3, dtype=torch.float64, device=device)).floats() == (0, 0)


def test_the_product_bound_is_not_absurd(device: str) -> None:
    rng = np.random.default_rng(6)
    x = torch.tensor(rng.standard_normal((20, 30)), device=device)
    size = rigor.frobenius(x).floats()[1]
    assert rigor.product_error(x, x.T).floats()[1] <= 40 * 2.0**-53 * size**2


@pytest.mark.parametrize("k", [1, 10, 10**6])
def test_relative_error_is_gamma(k: int) -> None:
    u = Fraction(1, 2**53)
    lo, hi = rigor.relative_error(k).fractions()
    assert lo <= k * u / (1 - k * u) <= hi <= k * u * (1 + Fraction(1, 10**9))


# --- infinities and NaN ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 3), (3, 5)])
def test_a_non_finite_entry_gives_no_finite_bound(bad: float, shape: tuple, device: str) -> None:
    n, k = shape
    for i, j in {(0, 0), (n - 1, k - 1), (n // 2, 0)}:
        for base in (torch.zeros, torch.ones):
            x = base(n, k, dtype=torch.float64, device=device)
            x[i, j] = bad
            good = torch.zeros(n, k, dtype=torch.float64, device=device)
            v = torch.zeros(k, dtype=torch.float64, device=device)
            target = torch.zeros(n, dtype=torch.float64, device=device)
            one = Enclosure.exact(1)
            enclosures = [
                rigor.frobenius(x),
                rigor.mixed_bound(x),
                rigor.product_error(x, good.T),
                rigor.product_error(good, x.T),
                rigor.spectral_norm(x),
                rigor.spectral_norm(x.T),
                *(rigor.sigma_min(x, effort) for effort in EFFORTS),
                rigor.difference_norm(x, good),
                rigor.difference_norm(good, x),
                rigor.difference_norm(x, x),
                rigor.product_norm(x, v, target, 0, one),
                rigor.product_norm(good, v, target + bad, 0, one),
                rigor.product_norm(good, v, target, bad, one),
            ]
            assert not any(e.is_finite for e in enclosures), enclosures


def test_a_non_finite_tall_matrix_has_no_finite_sigma_min() -> None:
    assert not rigor.sigma_min(torch.full((3, 2), math.nan, dtype=torch.float64)).is_finite


def test_a_difference_that_overflows_is_unbounded(device: str) -> None:
    x = torch.full((2, 3), 1.7e308, dtype=torch.float64, device=device)
    assert not rigor.difference_norm(x, -x).is_finite


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_an_empty_matrix_has_norm_zero(shape: tuple) -> None:
    x = torch.zeros(*shape, dtype=torch.float64)
    assert rigor.spectral_norm(x).floats() == (0, 0)
    assert rigor.product_error(x, x.T).floats() == (0, 0)


def test_float32_is_refused_or_bounded(oracle: Any) -> None:
    x = torch.full((3, 3), 0.1, dtype=torch.float32)
    try:
        bound = rigor.frobenius(x)
    except Exception:  # noqa: BLE001 - any refusal will do
        return
    assert oracle.root_inside(bound, oracle.square_sum(oracle.exact(x.tolist())))


def test_flushed_denormals_are_accounted_for(oracle: Any) -> None:
    """Other libraries set this mode behind the user's back; TINY promises to cover it."""
    x = torch.tensor([[3e-308, 1e-308], [-1e-308, 2e-308]], dtype=torch.float64)
    tiny = torch.tensor([[5e-324, 1e-310], [2e-310, 3e-310]], dtype=torch.float64)
    cases = [(t, oracle.exact(t.tolist())) for t in (x, tiny)]
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush denormals")
    try:
        bounds = [(rigor.frobenius(t), rigor.spectral_norm(t), rigor.sigma_min(t)) for t, _ in cases]
    finally:
        torch.set_flush_denormal(False)
    for (_, rows), (frobenius, norm, sigma) in zip(cases, bounds, strict=True):
        assert oracle.root_inside(frobenius, oracle.square_sum(rows))
        assert oracle.norm_inside(norm, rows)
        assert oracle.sigma_min_inside(sigma, rows)


# --- guesses may be arbitrarily bad ------------------------------------------------------------------


def spoiled_svd(x: Tensor, full_matrices: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vh = np.linalg.svd(x.numpy(), full_matrices=full_matrices)
    noise = 1 + 1e-6 * np.cos(np.arange(len(s)))
    return tuple(torch.tensor(t) for t in (u * noise, s * (1 + 1e-5), vh))


def spoiled_cholesky(b: Tensor) -> tuple[Tensor, Tensor]:
    """A factor of something else, reported as a success."""
    return torch.tril(torch.cos(b) + 1e-3), torch.tensor(0)


def flattering_cholesky(b: Tensor) -> tuple[Tensor, Tensor]:
    """Claims success where there is none: the residual alone must expose it."""
    values, vectors = np.linalg.eigh(b.numpy())
    root = vectors * np.sqrt(np.maximum(values, 0))
    return torch.tensor(root), torch.tensor(0)


BAD_GUESSES: dict[str, tuple[str, Callable]] = {
    "top vector": ("top_vector", lambda _apply, like, _steps=0: torch.cos(like[0] * 7) + 0.1),
    "bottom vector": ("_bottom_vector", lambda gram: torch.ones(gram.shape[0], dtype=gram.dtype)),
    "NaN vector": ("_bottom_vector", lambda gram: torch.full_like(gram[0], math.nan)),
    "quotient too small": ("_quotient", lambda gram, v: 0.5 * float(v @ gram @ v / (v @ v))),
    "quotient too large": ("_quotient", lambda gram, v: 3.0 * float(v @ gram @ v / (v @ v))),
    "svd": ("torch.linalg.svd", spoiled_svd),
    "cholesky": ("torch.linalg.cholesky_ex", spoiled_cholesky),
    "flattering cholesky": ("torch.linalg.cholesky_ex", flattering_cholesky),
}


@pytest.mark.parametrize("name", BAD_GUESSES)
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_bad_guess_costs_width_and_never_truth(name: str, monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    target, guess = BAD_GUESSES[name]
    monkeypatch.setattr(target if "." in target else f"deqcheck.rigor.{target}", guess)
    if name == "flattering cholesky":  # otherwise no trial shift would be one that must fail
        monkeypatch.setattr(rigor, "_quotient", lambda gram, v: float(v @ gram @ v / (v @ v)) * 1.5)
    for family in ("gaussian", "relu", "condition 1e4", "low rank", "ties", "mixed rows"):
        for x in matrices(family, seeds=[8]):
            assert not broken(oracle, x), (family, x.tolist())


# --- the laws can fail -------------------------------------------------------------------------------


def caught(oracle: Any, family: str = "gaussian") -> set[str]:
    return {name for x in matrices(family, seeds=[9]) for name in broken(oracle, x)}


def test_forgotten_roundings_are_caught(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    assert not caught(oracle)
    monkeypatch.setattr(rigor, "relative_error", lambda _k: Enclosure.exact(0))
    assert "frobenius" in caught(oracle)
    pairs = list(zip(matrices("gaussian"), matrices("relu"), strict=True))
    assert any(product_broken(oracle, x, y.T) for x, y in pairs)


@pytest.mark.parametrize("slip", [1e-9, 1e-13, -1e-9, -1e-13])
def test_a_singular_value_slightly_off_is_caught(slip: float, monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    """The float answer, plus or minus a little, printed as if it were a certificate."""

    def wishful(name: str, pick: Callable[[Tensor], Tensor]) -> Callable:
        def bound(x: Tensor, _effort: int = 0) -> Enclosure:
            if x.shape[0] > x.shape[1]:
                return Enclosure.exact(0)
            return Enclosure.exact(float(pick(torch.linalg.svdvals(x))) * (1 + slip))

        bound.__name__ = name
        return bound

    monkeypatch.setattr(rigor, "sigma_min", wishful("sigma_min", torch.min))
    monkeypatch.setattr(rigor, "spectral_norm", wishful("spectral_norm", torch.max))
    assert {"sigma_min 0", "sigma_min 1", "spectral_norm 0"} <= caught(oracle)


def test_a_defect_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    """Believe every Cholesky factorisation: lambda_min is then overstated.

    The Rayleigh bound would expose that as an empty interval, so it is taken out of the way.
    """
    monkeypatch.setattr(rigor, "_quotient", lambda gram, v: float(v @ gram @ v / (v @ v)) * 1.01)
    monkeypatch.setattr(rigor, "_semidefinite_defect", lambda _b: Enclosure.exact(0))
    assert not caught(oracle)
    monkeypatch.setattr(rigor, "_stretch", lambda _x, _v: Enclosure.positive())
    assert "sigma_min 0" in caught(oracle)


def test_an_svd_residual_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    monkeypatch.setattr("torch.linalg.svd", spoiled_svd)
    assert not caught(oracle)
    monkeypatch.setattr(rigor, "frobenius", lambda _x: Enclosure.exact(0))
    assert "sigma_min 1" in caught(oracle)


def test_scaling_is_for_width_and_undoing_it_is_for_truth(monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    with monkeypatch.context() as unscaled:
        unscaled.setattr(rigor, "_scale", lambda _x: 0)
        assert not any(caught(oracle, family) for family in ("1e-300", "5e-324"))
    monkeypatch.setattr(rigor, "_two_to", lambda _e: Enclosure.exact(1))
    assert {"frobenius", "spectral_norm 0", "sigma_min 0"} <= caught(oracle, "1e300")


def test_the_verdict_of_a_certificate_is_decisive() -> None:
    """End to end: the certified norm of a rotation is below 1 + 1e-9, and that is a proof."""
    c, s = math.cos(0.3), math.sin(0.3)
    rotation = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
    assert (rigor.spectral_norm(rotation) < 1 + 1e-9) is HOLDS
    assert (rigor.sigma_min(rotation) > 1 - 1e-9) is HOLDS
