"""Gradients, kernel, equilibria and lemmas of the ReLU family."""

import numpy as np
import pytest
import torch
from torch import Tensor

from deqcheck import check, rigor
from deqcheck.data import load
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import anderson, closed_form, engine, picard
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.family.relu import ReluPoint
from deqcheck.models import relu
from deqcheck.models.relu import INITIALISATIONS, ReluImplicit
from deqcheck.truth import FAILS, HOLDS
from deqcheck.verdict import Outcome

N, D, M = 5, 4, 7


def point(seed: int = 0, signed: bool = True, q: float = 0.6, n: int = N, m: int = M) -> ReluPoint:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, m))
    A = A if signed else np.abs(A)
    tensors = (
        rng.standard_normal((D, m)),
        A,
        rng.standard_normal(m),
        rng.standard_normal((n, D)),
        rng.standard_normal(n),
    )
    W, A_, b, X, y = (torch.from_numpy(np.asarray(t)) for t in tensors)
    return ReluPoint(ReluImplicit(W, A_, b, q / float(torch.linalg.matrix_norm(A_, 2))), X, y)


def kron(a: Tensor, b: Tensor) -> Tensor:
    return torch.from_numpy(np.kron(a.numpy(), b.numpy()))


def explicit(p: ReluPoint) -> tuple[Tensor, Tensor, Tensor]:
    """Q, D, E as Nm x Nm matrices with column-major vec, exactly as the paper writes them."""
    n, m = p.Z.shape
    masks = relu.masks(p.model, p.X, p.Z)
    D_, E_ = (torch.diag(mask.T.reshape(-1)) for mask in masks)
    Q = torch.eye(n * m, dtype=torch.float64) - p.model.gamma * D_ @ kron(
        p.model.A.T, torch.eye(n, dtype=torch.float64)
    )
    return Q, D_, E_


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("signed", [True, False])
def test_structured_gradients_equal_the_kronecker_forms(seed: int, signed: bool) -> None:
    p = point(seed, signed)
    n, m = p.Z.shape
    Q, D_, E_ = explicit(p)
    eye_n, eye_m = torch.eye(n, dtype=torch.float64), torch.eye(m, dtype=torch.float64)
    error = p.model.predict(p.Z) - p.y
    back = torch.linalg.solve(Q.T, kron(p.model.b[None], eye_n).T @ error)
    dW = ((D_ @ E_ @ kron(eye_m, p.X)).T @ back).reshape(m, -1).T
    dA = (p.model.gamma * (D_ @ kron(eye_m, p.Z)).T @ back).reshape(m, m).T
    for wanted, found in zip((dW, dA, p.Z.T @ error), relu.gradients(p.model, p.X, p.y, p.Z), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_structured_kernel_equals_the_kronecker_form(seed: int) -> None:
    p = point(seed)
    n, m = p.Z.shape
    Q, D_, E_ = explicit(p)
    eye_n, eye_m = torch.eye(n, dtype=torch.float64), torch.eye(m, dtype=torch.float64)
    left = kron(p.model.b[None], eye_n) @ torch.linalg.inv(Q)
    M_ = p.model.gamma * left @ D_ @ kron(eye_m, p.Z)
    Pi = left @ D_ @ E_ @ kron(eye_m, p.X)
    torch.testing.assert_close(
        relu.kernel(p.model, p.X, p.Z), p.Z @ p.Z.T + M_ @ M_.T + Pi @ Pi.T, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_q_are_all_of_q(seed: int) -> None:
    p = point(seed)
    Q, _, _ = explicit(p)
    assert p.block_sigma_min.contains(float(torch.linalg.svdvals(Q)[-1])) or p.block_sigma_min.relative_width() < 1e-10
    assert abs(p.block_sigma_min.midpoint() - float(torch.linalg.svdvals(Q)[-1])) < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_gradients_and_kernel_agree_with_autograd(seed: int) -> None:
    p = point(seed)
    assert p.gradient_difference < 1e-11
    assert p.kernel_difference < 1e-11


def test_a_wrong_gradient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from deqcheck.family import relu as family

    right = relu.gradients
    monkeypatch.setattr(family, "gradients", lambda *a: tuple(g * (1 + 1e-7) for g in right(*a)))
    result = check.verify("relu-gradient", quick=True)
    assert result.verdict is FAILS and result.outcome is Outcome.COUNTEREXAMPLE
    assert next(c for c in result.conclusions if c.id == "(7)-(9)").verdict is FAILS


# --- equilibria --------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("signed", [True, False])
def test_solvers_agree_and_the_ball_holds_the_truth(q: float, signed: bool) -> None:
    p = point(1, signed, q)
    Phi = p.model.features(p.X)
    truth, radius = p.precise or pytest.fail("a small model has a precise solution")
    assert radius.floats()[1] < 1e-30
    exact = torch.tensor(truth.rows(), dtype=torch.float64)
    solutions = [picard.solve(p.model, Phi, limit=100_000), anderson.solve(p.model, Phi)]
    if not signed:
        solutions.append(closed_form.solve(p.model, Phi))
    for solution in solutions:
        assert float((solution.Z - exact).norm()) < 1e-10
    assert float((p.Z - exact).norm()) <= p.radius.floats()[1] + 1e-15
    assert p.radius.floats()[1] < 1e-11 / (1 - q)


def test_a_poor_solution_gets_an_honest_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    p = point(2)
    exact = torch.tensor((p.precise or pytest.fail("no truth"))[0].rows(), dtype=torch.float64)
    poor = closed_form.Solution(torch.zeros_like(exact), "none", ())
    monkeypatch.setattr(engine, "solve", lambda *_: poor)
    found = engine.enclose(p.model, p.X, p.norm_A)
    distance = float((found.Z - exact).norm())
    assert distance > 1e-3
    assert distance <= found.radius.floats()[1]


def test_picard_that_does_not_converge_says_so() -> None:
    p = point(0, signed=False, q=0.999)
    with pytest.raises(NotConverged) as stop:
        picard.solve(p.model, p.model.features(p.X), limit=50)
    assert len(stop.value.residuals) == 50


def test_anderson_is_quicker_than_picard_near_the_edge() -> None:
    p = point(0, signed=True, q=0.999, m=40)
    Phi = p.model.features(p.X)
    assert anderson.solve(p.model, Phi).iterations < picard.solve(p.model, Phi, limit=100_000).iterations


def test_no_contraction_no_claim() -> None:
    p = point(0, q=1.5)
    assert not p.radius.is_finite
    assert not p.equilibrium.radius.is_finite


# --- lemmas on harder instances ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["relu-wellposed", "relu-lipschitz", "relu-nonnegative", "relu-gradient", "relu-ntk"])
@pytest.mark.parametrize("gamma", [None, "0.0005"])
def test_lemmas_hold_on_random_weights(key: str, gamma: str | None) -> None:
    given = {"init": "random", "width": "24", "samples": "9", "dim": "6"} | ({"gamma": gamma} if gamma else {})
    assert check.verify(key, given).verdict is HOLDS


def test_lemma_4_3_fails_when_its_constant_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of (16) can fail: an enclosure of ||Z_a - Z_b|| beyond the bound is a counterexample."""
    from dataclasses import replace

    from deqcheck import library

    theorem = library.theorem("relu-lipschitz")
    symbol = theorem.symbols["diff_Z"]
    measured = dict(theorem.measured)
    measured[symbol] = replace(measured[symbol], measure=lambda *_: Enclosure.exact(1e6))
    broken = replace(theorem, measured=measured)
    monkeypatch.setattr(library, "theorem", lambda _key: broken)
    result = check.verify("relu-lipschitz", {"width": "20", "dim": "6"})
    assert result.outcome is Outcome.COUNTEREXAMPLE


@pytest.mark.parametrize("name", list(INITIALISATIONS))
def test_initialisations_are_reproducible_and_as_described(name: str) -> None:
    draw = INITIALISATIONS[name]
    W, A, b = draw(50, 80, np.random.default_rng([3, 2]))
    again = draw(50, 80, np.random.default_rng([3, 2]))
    assert all(np.array_equal(x, y) for x, y in zip((W, A, b), again, strict=True))
    assert W.shape == (50, 80) and A.shape == (80, 80) and b.shape == (80,)
    assert (A >= 0).all()
    match name:
        case "experiment":
            assert np.array_equal(A, np.eye(80)) and not b.any() and abs(W.std() * 80**0.5 - 1) < 0.1
        case "linear-width":
            assert abs(np.linalg.norm(A, 2) / np.linalg.norm(W, 2) - 1) < 1e-12 and not b.any()
        case "random":
            assert abs(W.std() - 1) < 0.1 and abs(b.std() * 80**0.5 - 1) < 0.4 and abs(A.mean() - 0.798) < 0.05


def test_scaling_keeps_gamma_times_norm_and_scales_z() -> None:
    p = point(4)
    big = p.scaled(1e6)
    assert abs(float(big.model.gamma * torch.linalg.matrix_norm(big.model.A, 2)) - 0.6) < 1e-12
    torch.testing.assert_close(big.Z, 1e6 * p.Z, rtol=1e-9, atol=0)


def test_effort_is_only_spent_where_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    efforts: list[int] = []
    plain = rigor.sigma_min
    monkeypatch.setattr(rigor, "sigma_min", lambda x, effort=0: efforts.append(effort) or plain(x, effort))
    check.verify("gd-relu", {"width": "60", "samples": "20", "dim": "30", "scale": "1"})
    assert efforts and set(efforts) == {rigor.CHEAP}


def test_same_seed_same_result() -> None:
    first, second = (check.verify("gd-relu", {"width": "40", "dim": "9", "seed": "5"}) for _ in range(2))
    assert [q.value.decimals() for q in first.quantities] == [q.value.decimals() for q in second.quantities]
    assert first.constants == second.constants
    other = check.verify("gd-relu", {"width": "40", "dim": "9", "seed": "6"})
    assert first.quantities[0].value.decimals() != other.quantities[0].value.decimals()


def test_the_data_and_the_weights_use_different_streams() -> None:
    X = load("sphere", samples=4, dim=3, seed=0, classes=None).X
    W, _, _ = INITIALISATIONS["random"](3, 4, np.random.default_rng([0, 2]))
    assert abs(np.corrcoef(X.reshape(-1), W.T.reshape(-1))[0, 1]) < 0.9
