"""The proofs of Kawaguchi: every scalar step, that the steps can fail, and the bounds on random matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from deqcheck.audit.inspect import Verdict, _decide, audit
from deqcheck.audit.pool import Pool
from deqcheck.audit.prove import Status
from deqcheck.library import theorem
from deqcheck.statement import Step

KEYS = (
    "kawaguchi-wellposed", "kawaguchi-pl", "kawaguchi-square", "kawaguchi-logistic", "kawaguchi-trust-region",
)  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


def _step(key: str, number: str) -> Step:
    return next(s for s in theorem(key).proof if s.id == number)


@pytest.mark.parametrize("key", KEYS)
def test_a_number_names_one_line(key: str) -> None:
    facts, steps = {f.id for f in theorem(key).facts}, [s.id for s in theorem(key).proof]
    assert steps and len(set(steps)) == len(steps) and not facts & set(steps)
    claims = {h.id for h in theorem(key).hypotheses if h.claim is not None}
    assert not claims & (facts | set(steps))


@pytest.mark.parametrize(
    ("key", "slips"),
    [
        ("kawaguchi-wellposed", {"(36) at ℓ = 1"}),
        ("kawaguchi-trust-region", {"A.2 convex"}),
        ("kawaguchi-pl", set()),
    ],
)
def test_whole_proofs(pool: Pool, key: str, slips: set[str]) -> None:
    found = audit(theorem(key), pool=pool)
    assert {s.step.id for s in found.steps if s.status is not Status.PROVED} == slips
    assert all(s.status is Status.MISPRINT for s in found.steps if s.step.id in slips)
    assert found.verdict is (Verdict.MISPRINTED if slips else Verdict.SOUND)
    assert found.satisfiability.status == "SATISFIABLE"
    assert not any(h.idle for h in found.hypotheses)


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("kawaguchi-square", "PL"),
        ("kawaguchi-square", "A.3 Hessian, m ≤ n"),
        ("kawaguchi-square", "A.3 PL, m > n"),
        ("kawaguchi-square", "(10)"),
        ("kawaguchi-logistic", "A.4 Hessian"),
        ("kawaguchi-logistic", "decay"),
        ("kawaguchi-logistic", "(11)"),
        ("kawaguchi-logistic", "(12)"),
    ],
)
def test_the_corollaries(pool: Pool, key: str, number: str) -> None:
    step = _step(key, number)
    assert _decide(pool, theorem(key), step, step.claim).status is Status.PROVED


def test_the_slip_in_appendix_A4(pool: Pool) -> None:
    step = _step("kawaguchi-logistic", "A.4 σ_min")
    assert step.fix is not None
    assert _decide(pool, theorem("kawaguchi-logistic"), step, step.claim).status is Status.REFUTED
    assert _decide(pool, theorem("kawaguchi-logistic"), step, step.fix).status is Status.PROVED


@pytest.mark.parametrize(
    ("key", "number", "wrong"),
    [
        ("kawaguchi-pl", "A.1.7 ‖U‖₁", lambda c: c.lhs <= 1),
        ("kawaguchi-pl", "A.1.7 ‖U⁻¹‖₁", lambda c: c.lhs <= c.rhs / 2),
        ("kawaguchi-pl", "sharper than printed", lambda c: c.lhs >= 5 * c.rhs),
        ("kawaguchi-pl", "A.1.7 flow", lambda c: c.lhs <= 2 * c.rhs - 1),
        ("kawaguchi-wellposed", "A.5 sum", lambda c: c.lhs <= 1),
        ("kawaguchi-trust-region", "A.2 dominated", lambda c: c.lhs >= 2 * c.rhs),
    ],
)
def test_a_falsified_line_is_refuted(pool: Pool, key: str, number: str, wrong) -> None:
    step = _step(key, number)
    assert _decide(pool, theorem(key), step, step.claim).status is Status.PROVED
    assert _decide(pool, theorem(key), step, wrong(step.claim)).status is Status.REFUTED


@pytest.mark.parametrize(
    ("key", "number", "premise"),
    [
        ("kawaguchi-pl", "A.1.7 ‖U⁻¹‖₁", "γ < 1"),
        ("kawaguchi-pl", "A.1.7 ‖Z‖₁ < R", "‖B₀‖₁ < (1−γ)R"),
        ("kawaguchi-pl", "A.1.7 PL", "PL at Z_t"),
        ("kawaguchi-pl", "sharper ‖U‖₂", "sharper ‖σ‖₂"),
        ("kawaguchi-square", "κ > 0", "rank(Φ) = min(n, m)"),
        ("kawaguchi-trust-region", "A.2 G ≻ 0", "δ ≤ δ̄"),
    ],
)
def test_a_line_without_a_premise_is_not_proved(pool: Pool, key: str, number: str, premise: str) -> None:
    step = _step(key, number)
    assert premise in step.since
    weaker = replace(step, since=tuple(s for s in step.since if s != premise))
    assert _decide(pool, theorem(key), step, step.claim).status is Status.PROVED
    assert _decide(pool, theorem(key), weaker, step.claim).status is not Status.PROVED


# --- what the facts say of matrices ----------------------------------------------------------------


def _softmax(A: np.ndarray) -> np.ndarray:
    E = np.exp(A - A.max(axis=0))
    return E / E.sum(axis=0)


@pytest.mark.parametrize("m", [1, 2, 7, 40])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("spread", [0.1, 3.0, 50.0])
def test_both_bounds_on_the_spectrum(m: int, gamma: float, spread: float) -> None:
    """sigma_min(U^-1)^2 >= 1/(1 + gamma sqrt m)^2 >= 1/(m (1 + gamma)^2); equal columns come near to it."""
    rng = np.random.default_rng(m)
    equal = np.tile(spread * rng.standard_normal((m, 1)), m)
    for A in (spread * rng.standard_normal((m, m)), equal):
        U = np.eye(m) - gamma * _softmax(A)
        least = 1 / np.linalg.norm(U, 2) ** 2
        sharper, printed = 1 / (1 + gamma * math.sqrt(m)) ** 2, 1 / (m * (1 + gamma) ** 2)
        assert least >= sharper * (1 - 1e-12) and sharper >= printed * (1 - 1e-12)
        assert np.linalg.norm(np.linalg.inv(U), 1) <= (1 + 1e-9) / (1 - gamma)


def test_a_wide_layer_needs_the_growth_with_m() -> None:
    """No bound free of m: with equal columns the norm of U grows like gamma sqrt m."""
    m, gamma = 400, 0.9
    A = np.zeros((m, m))
    A[0] = 50.0
    least = 1 / np.linalg.norm(np.eye(m) - gamma * _softmax(A), 2) ** 2
    sharper = 1 / (1 + gamma * math.sqrt(m)) ** 2
    assert sharper <= least <= 1.2 * sharper


def test_softmax_is_half_lipschitz() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 10.0):
        for _ in range(200):
            A = size * rng.standard_normal((2, 3))
            D = rng.standard_normal((2, 3)) * 10 ** rng.uniform(-4, 1)
            assert np.linalg.norm(_softmax(A + D) - _softmax(A)) <= np.linalg.norm(D) / 2 * (1 + 1e-9) + 1e-15
    # The constant is attained, so a smaller one would be refuted.
    D = 1e-4 * np.array([[1.0], [-1.0]])
    assert np.linalg.norm(_softmax(D) - _softmax(0 * D)) >= 0.4999 * np.linalg.norm(D)
