"""The equilibrium engine: every method against the truth, hard cases, loud failures, and the benchmark that runs."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deqcheck.equilibrium import anderson, auto, closed_form, newton, peaceman_rachford, picard, polish
from deqcheck.equilibrium import mondeq_splitting as splitting
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.models.mondeq import MonDEQ, weights

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "equilibrium.py"


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def contraction(q: float, n: int = 7, m: int = 30, kind: str = "random", seed: int = 0) -> Equation:
    M, c = normal(m, m, seed=seed), normal(n, m, seed=seed + 1)
    if kind != "random":
        M, c = M.abs(), c.abs()
    if kind == "few negative":
        M[:2, : m // 2] *= -1
    return Equation(M * (q / torch.linalg.matrix_norm(M, 2)), c, contraction=q)


def monotone(m: float, n: int = 6, width: int = 24, size: float = 1.0, skew: float = 1.0, seed: int = 0) -> Equation:
    A, B = normal(width, width, seed=seed) * size / width**0.5, normal(width, width, seed=seed + 1) * skew / width**0.5
    return Equation(weights(A, B, m).T, normal(n, width, seed=seed + 2), monotone=m)


def residual(e: Equation, Z: Tensor) -> float:
    """Largest relative residual over the samples, by its definition."""
    image = Z @ e.M + e.c
    if isinstance(e.phi, Tensor):
        image = image * e.phi
    elif e.phi == "relu":
        image = torch.relu(image)
    worst = 0.0
    for row, z in zip(image, Z, strict=True):
        gap = float((row - z).norm())
        worst = max(worst, gap / float(row.norm()) if gap else 0.0)
    return worst


def truth(e: Equation) -> Tensor:
    """By plain damped iteration of the projected operator, sample by sample, with no use of the engine."""
    Z = torch.zeros_like(e.c)
    F = torch.eye(e.M.shape[0], dtype=e.M.dtype) - e.M
    L = float(torch.linalg.matrix_norm(F, 2))
    m = max(float(torch.linalg.eigvalsh((F + F.T) / 2)[0]), 1e-3)
    step = m / L**2
    for _ in range(200_000):
        after = torch.relu(Z - step * (Z @ F - e.c))
        if float((after - Z).norm()) <= 1e-16 * float(after.norm()):
            break
        Z = after
    return Z


# --- methods against the truth -----------------------------------------------------------------------


@pytest.mark.parametrize("method", [picard.solve, anderson.solve, newton.solve, peaceman_rachford.solve, auto.solve])
@pytest.mark.parametrize("q", [0.3, 0.9])
def test_every_method_finds_the_same_equilibrium(method: object, q: float) -> None:
    e = contraction(q)
    found = method(e, None, 1e-13)  # type: ignore[operator]
    assert residual(e, found.Z) <= 2e-13
    torch.testing.assert_close(found.Z, truth(e), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", [newton.solve, peaceman_rachford.solve, auto.solve])
@pytest.mark.parametrize("m", [1.0, 0.3])
def test_monotone_equations_need_no_contraction(method: object, m: float) -> None:
    e = monotone(m)
    assert float(torch.linalg.matrix_norm(e.M, 2)) > 1
    found = method(e, None, 1e-13)  # type: ignore[operator]
    assert residual(e, found.Z) <= 1e-12
    torch.testing.assert_close(found.Z, truth(e), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", [picard.solve, anderson.solve, newton.solve, peaceman_rachford.solve, auto.solve])
def test_the_adjoint_is_the_same_interface(method: object) -> None:
    """v = D (v M^T + G), against (I - D_i M^T)^-1 D_i g_i solved densely for each sample."""
    e = contraction(0.8)
    D = e.active(truth(e))
    G = normal(*e.c.shape, seed=9)
    found = method(e.adjoint(D, G), None, 1e-13)  # type: ignore[operator]
    identity = torch.eye(e.M.shape[0], dtype=torch.float64)
    for v, d, g in zip(found.Z, D, G, strict=True):
        # As a row, v = (v M^T + g) D.
        torch.testing.assert_close(v, torch.linalg.solve((identity - e.M.T * d).T, d * g), rtol=1e-9, atol=1e-9)


def test_the_adjoint_gives_the_gradient_of_autograd() -> None:
    e = contraction(0.6)
    M, c = e.M.clone().requires_grad_(), e.c.clone().requires_grad_()
    Z = torch.zeros_like(e.c)
    for _ in range(200):
        Z = torch.relu(Z @ M + c)
    (Z**3).sum().backward()
    found = auto.solve(e, tolerance=1e-14).Z
    V = auto.solve(e.adjoint(e.active(found), 3 * found**2), tolerance=1e-14).Z
    assert M.grad is not None and c.grad is not None
    torch.testing.assert_close(found.T @ V, M.grad, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(V, c.grad, rtol=1e-10, atol=1e-10)


def test_linear_equations_and_nonnegative_ones_have_closed_forms() -> None:
    e = contraction(0.999, kind="non-negative")
    assert closed_form.applies(e)
    found = auto.solve(e)
    assert found.method == "closed form" and residual(e, found.Z) <= 1e-13
    signed = contraction(0.9)
    assert not closed_form.applies(signed)
    line = Equation(signed.M, signed.c, "identity", contraction=0.9)
    found = auto.solve(line)
    torch.testing.assert_close(found.Z @ (torch.eye(30, dtype=torch.float64) - line.M), line.c)
    identity = Equation(0.5 * torch.eye(30, dtype=torch.float64), e.c, contraction=0.5)
    torch.testing.assert_close(auto.solve(identity).Z, 2 * e.c)
    # A negative c lets units die, so that the linear system is not the answer.
    assert not closed_form.applies(Equation(e.M, -e.c))


@given(seed=st.integers(0, 10**6), q=st.floats(0.05, 0.98), n=st.integers(1, 5), m=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_auto_meets_the_tolerance(seed: int, q: float, n: int, m: int) -> None:
    e = contraction(q, n, m, seed=seed)
    found = auto.solve(e, None, 1e-11)
    assert residual(e, found.Z) <= 1e-11
    assert found.per_sample is not None and found.per_sample.shape == (n,)
    assert float(found.per_sample.max()) <= 1e-11


# --- hard cases --------------------------------------------------------------------------------------


def test_near_the_edge_anderson_needs_tens_and_picard_thousands() -> None:
    e = contraction(0.999, kind="non-negative", m=60)
    quick = anderson.solve(e, None, 1e-12)
    slow = picard.solve(e, None, 1e-12, limit=100_000)
    assert quick.iterations < 40 and slow.iterations > 3000
    few = contraction(0.999, kind="few negative", m=60)
    assert not closed_form.applies(few)
    found = auto.solve(few)
    assert residual(few, found.Z) <= 1e-12 and found.iterations < 60


@pytest.mark.parametrize("q", [0.99, 0.999])
def test_the_linear_system_is_a_guess_for_a_few_negative_entries(q: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "LARGE", 0)
    e = contraction(q, kind="few negative", m=60, n=20)
    assert closed_form.nearly(Equation(e.M.abs(), e.c)) and not closed_form.nearly(contraction(0.9))
    monkeypatch.setattr(closed_form, "NEARLY", 0.5)
    found = auto.solve(e)
    assert found.method.startswith("linear system") and residual(e, found.Z) <= 1e-12


@pytest.mark.parametrize("m", [0.02, 0.05])
def test_splitting_needs_tens_where_forward_backward_fails(m: float) -> None:
    e = monotone(m, n=10, width=60)
    found = peaceman_rachford.solve(e, None, 1e-12)
    assert residual(e, found.Z) <= 2e-12 and found.iterations < 150
    with pytest.raises(NotConverged):
        picard.solve(e, None, 1e-12, limit=2000)
    F = torch.eye(60, dtype=torch.float64) - e.M
    step, Z = m / float(torch.linalg.matrix_norm(F, 2)) ** 2, torch.zeros_like(e.c)
    for _ in range(found.iterations):
        Z = torch.relu(Z - step * (Z @ F - e.c))
    assert residual(e, Z) > 1e-3


def cycling() -> Equation:
    """A monotone equation on which Newton's method returns to a pattern it has seen."""
    e = monotone(0.02, n=8, width=20, size=0.3, skew=3.0, seed=5)
    with pytest.raises(NotConverged, match="cycled"):
        newton.solve(e)
    return e


def test_newton_that_cycles_says_so_and_the_others_solve_it() -> None:
    e = cycling()
    found = auto.solve(e)
    assert found.method.startswith("Peaceman-Rachford") and residual(e, found.Z) <= 1e-12


def test_newton_is_exact_where_it_ends() -> None:
    e = monotone(0.5)
    found = newton.solve(e, None, 1e-14)
    assert found.method == "Newton" and found.iterations < 15 and residual(e, found.Z) < 1e-13


def test_the_balanced_step_is_near_the_best() -> None:
    for size in (1.0, 4.0):
        e = monotone(0.05, n=5, width=80, size=size)
        alpha = peaceman_rachford.balanced_step(e.M)
        counts = {k: peaceman_rachford.solve(e, None, 1e-6, 3000, alpha * 2.0**k).iterations for k in range(-3, 4)}
        assert counts[0] <= 1.2 * min(counts.values()) and min(counts[-2], counts[2]) > 1.5 * counts[0]


# --- small and degenerate ----------------------------------------------------------------------------


def test_one_unit() -> None:
    for c in (2.0, -2.0):
        e = Equation(torch.tensor([[0.5]], dtype=torch.float64), torch.tensor([[c]], dtype=torch.float64))
        assert float(auto.solve(e).Z) == pytest.approx(max(0.0, 2 * c), abs=1e-12)


@pytest.mark.parametrize("large", [False, True])
def test_samples_at_zero_stay_there(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(auto, "LARGE", 0)
    e = contraction(0.8, n=3)
    e.c[1] = -e.c[1].abs()
    found = auto.solve(e)
    assert residual(e, found.Z) <= 1e-12
    nothing = Equation(e.M, -e.c.abs(), contraction=0.8)
    found = auto.solve(nothing)
    assert not found.Z.any() and found.per_sample is not None and not found.per_sample.any()
    still = Equation(e.M, torch.zeros_like(e.c), contraction=0.8)
    assert not auto.solve(still).Z.any()


def test_samples_of_very_different_size_are_all_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    e = contraction(0.9, n=5)
    sizes = (1e-200, 1e-30, 1.0, 1e30, 1e200)
    scaled = Equation(e.M, e.c * torch.tensor(sizes, dtype=torch.float64)[:, None], contraction=0.9)
    plain = auto.solve(e).Z
    assert float(auto.solve(Equation(e.M, e.c * 1e-310, contraction=0.9)).Z.max()) > 0
    for large in (10**12, 0):
        monkeypatch.setattr(auto, "LARGE", large)
        solution = auto.solve(scaled)
        found = solution.Z
        assert "after" not in solution.method
        for k, size in enumerate(sizes):
            torch.testing.assert_close(found[k] / size, plain[k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [5e-324, 1e-318, 1e-310, 1e166, 1e300])
@pytest.mark.parametrize("q", [0.5, 0.999])
def test_numbers_at_the_ends_of_the_range(size: float, q: float) -> None:
    """What is computed is the equilibrium times the size, but for what cannot be held."""
    e = contraction(q, n=3, m=6)
    scaled = Equation(e.M, e.c * size, contraction=q)
    unit = scaled.c.to(torch.float64) / size  # the rounded right-hand side, at size one
    found = auto.solve(scaled)
    assert "after" not in found.method
    expected = truth(Equation(e.M, unit))
    assert float((found.Z / size - expected).abs().max()) <= max(1e-9, 2 * 5e-324 / size)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["M", "c"])
def test_numbers_that_are_none_are_refused(bad: float, where: str) -> None:
    e = contraction(0.5)
    getattr(e, where)[0, 0] = bad
    with pytest.raises(NotConverged, match="not finite"):
        auto.solve(e)


@pytest.mark.parametrize("method", [picard.solve, anderson.solve, peaceman_rachford.solve])
def test_overflow_ends_the_iteration(method: object) -> None:
    e = Equation(normal(5, 5).abs() * 1e160, normal(2, 5).abs())
    with pytest.raises(NotConverged):
        method(e, None, 1e-12, 10_000)  # type: ignore[operator]


def test_no_samples() -> None:
    e = contraction(0.5)
    assert auto.solve(Equation(e.M, e.c[:0], contraction=0.5)).Z.shape == (0, 30)


# --- float32 and warm starts -------------------------------------------------------------------------


@pytest.mark.parametrize("build", [
    lambda: contraction(0.5, 20, 50), lambda: contraction(0.8, 20, 50),
    lambda: contraction(0.99, 20, 50, "few negative"), lambda: monotone(0.05, 20, 50), lambda: monotone(1.0, 20, 50),
])  # fmt: skip
def test_float32_is_polished_to_the_same_residual(build: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "LARGE", 0)
    e = build()  # type: ignore[operator]
    found = auto.solve(e, None, 1e-12)
    double, single = found.products
    assert single > double > 0 and "after" not in found.method
    assert residual(e, found.Z) <= 1e-12
    assert float((found.Z.float().double() - found.Z).abs().max()) > 0, "more digits than float32 has"
    adjoint = e.adjoint(e.active(found.Z), normal(*e.c.shape, seed=5))
    assert residual(adjoint, auto.solve(adjoint, None, 1e-12).Z) <= 1e-12


def test_a_dominant_diagonal_is_solved_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "LARGE", 0)
    m, n = 40, 12
    M = torch.diag(torch.linspace(0.1, 0.9, m, dtype=torch.float64)) + 1e-4 * normal(m, m)
    e = Equation(M, normal(n, m, seed=1), contraction=0.91)
    for equation in (e, e.adjoint(e.active(truth(e)), normal(n, m, seed=2))):
        found = auto.solve(equation)
        assert residual(equation, found.Z) <= 1e-12 and found.iterations < 12
    torch.testing.assert_close(auto.solve(e).Z, truth(e), rtol=1e-9, atol=1e-9)
    monkeypatch.setattr(auto, "_split", lambda _: None)
    assert auto.solve(e).iterations > 30


def test_polishing_notices_a_solver_that_does_nothing() -> None:
    e = contraction(0.9)
    with pytest.raises(NotConverged):
        polish.solve(e, lambda c, _: Solution(torch.zeros_like(c.c), "idle", (1.0,)), None, 1e-12)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("build", [lambda: contraction(0.95), lambda: monotone(0.1)])
def test_a_warm_start_saves_layers(build: object, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(auto, "LARGE", 0)
    e = build()  # type: ignore[operator]
    cold = auto.solve(e, None, 1e-10)
    moved = Equation(e.M * (1 + 1e-7), e.c * (1 + 1e-7), contraction=e.contraction, monotone=e.monotone)
    kept = cold.Z.clone()
    warm = auto.solve(moved, cold.Z, 1e-10)
    assert residual(moved, warm.Z) <= 2e-10
    assert warm.iterations < 0.8 * cold.iterations
    assert torch.equal(cold.Z, kept), "the start is not overwritten"


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("build", [
    lambda: contraction(0.9, 10, 40), lambda: monotone(0.1, 10, 40),
    lambda: Equation(contraction(0.9, 10, 40).M, contraction(0.9, 10, 40).c),
])  # fmt: skip
def test_units_that_are_off_are_exactly_zero(build: object, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Z > 0 would not be the activation pattern, and the adjoint would be solved on the wrong units."""
    if large:
        monkeypatch.setattr(auto, "LARGE", 0)
    e = build()  # type: ignore[operator]
    Z = auto.solve(e).Z
    total = Z @ e.M + e.c
    assert float(total.abs().min()) > 1e-9
    assert torch.equal(e.active(Z) > 0, total > 0) and float(Z.min()) == 0.0


def test_memory_does_not_grow_with_the_iterations() -> None:
    e = contraction(0.9, 4, 10)
    past = anderson.Memory(e.c, 3, 1e-14)
    before = past.images.data_ptr()
    for _ in range(10):
        past.image.copy_(e.c)
        past.gap.copy_(normal(4, 10))
        past.mix(torch.empty_like(e.c))
    assert past.images.data_ptr() == before and past.images.shape == (4, 3, 10)


def test_the_monotone_adjoint_is_the_same_dense_and_iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B, U, u = normal(20, 20) / 5, normal(20, 20, seed=1) / 5, normal(20, 4, seed=2), normal(20, seed=3)
    model = MonDEQ(A, B, U, u, 0.1)
    Z = splitting.solve(model, model.injection(normal(9, 4, seed=4)), 10.0).Z
    active, right = Z > 0, u.expand(9, 20)
    dense = splitting.adjoint(model, active, right)
    monkeypatch.setattr(splitting, "DENSE", 0)
    torch.testing.assert_close(splitting.adjoint(model, active, right), dense, rtol=1e-10, atol=1e-10)


# --- failures are loud -------------------------------------------------------------------------------


def test_a_method_that_fails_is_named_in_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Solution:
        raise NotConverged("Anderson acceleration", (0.5, 0.4))

    monkeypatch.setattr(anderson, "solve", fails)
    e = contraction(0.9)
    found = auto.solve(e)
    assert ", after: Anderson acceleration did not reach the equilibrium: relative residual 4.00e-01" in found.method
    assert found.residuals[:2] == (0.5, 0.4) and residual(e, found.Z) <= 1e-12


@pytest.mark.parametrize("large", [False, True])
def test_the_next_method_goes_on_from_where_the_last_one_stopped(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    e = contraction(0.95)
    near = truth(e) * (1 + 1e-5)
    if large:
        monkeypatch.setattr(auto, "LARGE", 0)
    right = anderson.solve

    def early(equation: Equation, start: Tensor | None = None, *rest: object) -> Solution:
        if equation.c.dtype == torch.float32:
            raise NotConverged("Anderson acceleration", (0.5,), torch.ones_like(equation.c))
        if start is None:
            raise NotConverged("Anderson acceleration", (1e-5,), near)
        return right(equation, start, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(anderson, "solve", early)
    cold = peaceman_rachford.solve(e, None, 1e-12)
    found = auto.solve(e, None, 1e-12)
    assert "after" in found.method and residual(e, found.Z) <= 1e-12
    assert found.iterations < cold.iterations


def test_when_all_fail_the_history_is_kept() -> None:
    M = torch.tensor([[0.0, 3.0], [3.0, 0.0]], dtype=torch.float64)  # z = relu(M z + c) has no solution
    with pytest.raises(NotConverged) as stop:
        auto.solve(Equation(M, torch.ones(1, 2, dtype=torch.float64) * torch.tensor([1.0, 0.5])))
    assert len(stop.value.residuals) > 5 and "Anderson" in stop.value.method and "Picard" in stop.value.method


def test_residuals_are_not_taken_on_trust() -> None:
    """Equation.relative against its definition, and a wrong Z is far from converged."""
    e = contraction(0.5)
    Z = auto.solve(e).Z
    off = Z + 1e-3
    image = e.layer(off)
    each = e.relative(image - off, image)
    assert float(each.max()) == pytest.approx(residual(e, off)) and residual(e, off) > 1e-4


# --- the benchmark -----------------------------------------------------------------------------------


def test_the_benchmark_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torchdeq")
    spec = importlib.util.spec_from_file_location("benchmark_equilibrium", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        file = tmp_path / "out.json"
        code = module.main(["--quick", "--case", "few negative 0.99", "--case", "monDEQ", "--json", str(file)])
    finally:
        del sys.modules[spec.name]
    assert code == 0
    record = json.loads(file.read_text())
    assert len(record["cases"]) == 4
    for case in record["cases"]:
        assert case["ours"]["residual"] <= 1e-12 and case["best"]["residual"] <= 1e-12 and case["ratio"] > 0
    assert "target" in capsys.readouterr().out
