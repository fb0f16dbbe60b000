"""The proofs of Ling et al.: which lines hold, what Condition 1 forces, and training against the sharper form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from deqcheck.theorems import ling_deq as t
from sympy import Eq, Rational, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck import check, library
from deqcheck.audit.inspect import StepResult, _decide, satisfiability
from deqcheck.audit.pool import Pool
from deqcheck.audit.problem import Problem, is_witness
from deqcheck.audit.prove import Finding, Status
from deqcheck.conditions.choose import choose_constants
from deqcheck.statement import Fact, Theorem
from deqcheck.verdict import Outcome

PROVED, REFUTED, MISPRINT = Status.PROVED, Status.REFUTED, Status.MISPRINT


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as workers:
        yield workers


def decided(pool: Pool, theorem: Theorem, *ids: str) -> dict[str, StepResult]:
    """The steps of these numbers, or all of them, decided side by side."""

    def one(step) -> StepResult:
        fixed = _decide(pool, theorem, step, step.fix) if step.fix is not None else None
        return StepResult(step, _decide(pool, theorem, step, step.claim), fixed)

    steps = [s for s in theorem.proof if not ids or s.id in ids]
    return {r.step.id: r for r in pool.each([partial(one, s) for s in steps])}


def finding(pool: Pool, key: str, number: str, claim: Relational | None = None, without: str = "") -> Finding:
    """One step, with another claim or without one of its premises."""
    theorem = library.theorem(key)
    step = next(s for s in theorem.proof if s.id == number)
    assert not without or without in step.since
    since = tuple(source for source in step.since if source != without)
    return _decide(pool, theorem, replace(step, since=since), step.claim if claim is None else claim)


# --- the printed proofs ------------------------------------------------------------------------------


def test_the_last_line_of_theorem_1_fails_with_4_and_holds_with_8(pool: Pool) -> None:
    printed = decided(pool, t.LING_GD, "(3) by (9)", "(iii)", "(3) by (10)")
    assert {k: r.status for k, r in printed.items()} == {"(3) by (10)": PROVED, "(3) by (9)": REFUTED, "(iii)": REFUTED}
    repaired = decided(pool, t.LING_GD_REPAIRED, "(3) by (9)", "(iii)")
    assert {r.status for r in repaired.values()} == {PROVED}


def test_the_rate_survives_with_the_printed_4(pool: Pool) -> None:
    other = decided(pool, t.LING_GD, *(s.id for s in t.SURVIVES))
    assert {k for k, r in other.items() if r.status is not PROVED} == set()
    assert other["(iii) another way"].step.claim == next(s.claim for s in t.LING_GD.proof if s.id == "(iii)")


def test_the_witness_against_the_last_line_satisfies_the_printed_9(pool: Pool) -> None:
    point = finding(pool, "ling-gd", "(iii)").witness
    nine = t.LING_GD.hypothesis("(9)").claim
    step = next(s for s in t.LING_GD.proof if s.id == "(iii)")
    assert is_witness(Problem((nine, t.rho_w < 1), step.claim), point)


@pytest.mark.parametrize("theorem", [t.LING_GD_REPAIRED, t.LING_GD_SHARP], ids=lambda x: x.key)
def test_every_step_is_proved(pool: Pool, theorem: Theorem) -> None:
    assert {k for k, r in decided(pool, theorem).items() if r.status is not PROVED} == set()


SLIPS = {
    "ling-gd": {"(16) W", "(16) U", "(16) a", "(1) U gradient", "(1) a gradient", "(3) together"},
    "ling-population": {"Lemma 3 cos θ", "C.1 substituted", "(13)", "(i)", "C.2 |cos θ|"},
    "ling-gram": {"4.4 λ₀"},
    "ling-depth": {"D.1 product"},
    "ling-concentration": {"E Ĝ_ii", "(23)", "(22)", "Lemma 10 recursion", "Theorem 5"},
}


@pytest.mark.parametrize("key", SLIPS)
def test_misprints_are_refuted_as_printed_and_proved_as_fixed(pool: Pool, key: str) -> None:
    theorem = library.theorem(key)
    assert {s.id for s in theorem.proof if s.fix is not None} == SLIPS[key]
    assert {r.status for r in decided(pool, theorem, *SLIPS[key]).values()} == {MISPRINT}


@pytest.mark.parametrize(
    "key",
    ["ling-gradient", "ling-norm:repaired", "ling-population:repaired", "ling-gram:repaired", "ling-depth:repaired"],
)
def test_the_other_chains_are_proved(pool: Pool, key: str) -> None:
    theorem = library.theorem(key)
    assert theorem.proof
    assert {k for k, r in decided(pool, theorem).items() if r.status is not PROVED} == set()


def test_lemma_1_has_no_room_at_its_threshold(pool: Pool) -> None:
    found = finding(pool, "ling-norm", "Lemma 1 Ω(m)")
    assert found.status is REFUTED
    assert found.witness[symbols("deviation", real=True)] == 0


def test_the_width_of_theorem_2_is_short_of_a_logarithm(pool: Pool) -> None:
    assert finding(pool, "ling-gram", "4.4 width").status is REFUTED
    assert finding(pool, "ling-gram:repaired", "4.4 width").status is PROVED


# --- the engine is not fooled ------------------------------------------------------------------------

FALSIFIED = {
    ("ling-gd:repaired", "(iii)"): t.Phi_1 <= (1 - t.eta * t.lam0) * t.Phi_0,
    ("ling-gd", "other e"): t.r_1 <= (1 - t.eta * t.lam0 * Rational(1, 2)) * t.r_tau,
    ("ling-gd", "other u 1"): 2 * (1 - t.u**2) * Rational(1, 4) >= 1 - t.u,
    ("ling-gd:repaired", "(15)"): t.Z_s <= t.c_a * t.XF / 2,
    ("ling-gd:repaired", "(2) λ"): t.lam_1 >= t.lam0 * Rational(3, 4),
    ("ling-gd:repaired", "(9) 2ρ̄_a"): 3 * t.rho_a <= t.v_w,
    ("ling-gradient", "Section 2.3 (5)"): t.grad2 >= 3 * t.lam0 * t.Phi,
    ("ling-gd:sharp", "residual"): t.e_1 <= (1 - t.eta * (t.mu + t.slip)) * t.e_s,
    ("ling-gd:sharp", "a drift"): t.mu * t.gam * t.D_a1 <= t.sig * t.r0 / 2,
    ("ling-gd:sharp", "ΔZ"): t.d_Z <= t.eta * t.k_Z * t.e_s / 2,
    ("ling-gd:sharp", "Σ bound"): t.mu * (t.eta * t.sum_1) <= Rational(1, 2),
    ("ling-gd:sharp", "(ii)"): t.lam_1 >= 2 * t.sig**2,
}


@pytest.mark.parametrize(("key", "number"), FALSIFIED)
def test_a_falsified_step_is_refuted(pool: Pool, key: str, number: str) -> None:
    assert finding(pool, key, number, FALSIFIED[key, number]).status is REFUTED


NEEDED = [
    ("ling-gd:repaired", "(iii)", "(9)"),
    ("ling-gd", "other (9)", "(9)"),
    ("ling-gd", "other u 1", "other u"),
    ("ling-gd:repaired", "(2) (8)", "(8)"),
    ("ling-gd:repaired", "(1) W (7)", "(7)"),
    ("ling-gd:repaired", "(3) (10)", "(10)"),
    ("ling-gd:repaired", "(i)", "ρ̄_w < 1"),
    ("ling-gradient", "Section 2.3 λ_min(H) ≥ λ_τ", "H₂"),
    ("ling-gd:sharp", "W radius", "(W)"),
    ("ling-gd:sharp", "a 10", "(a)"),
    ("ling-gd:sharp", "Z radius", "(Z)"),
    ("ling-gd:sharp", "ηz²", "step"),
    ("ling-gd:sharp", "contraction bound", "ηλ_max"),
    ("ling-gd:sharp", "σ > 0", "ζ < σ₀"),
    ("ling-gd:sharp", "γ > 0", "h ≤ 1"),
    ("ling-gd:sharp", "path", "path 7"),
]


@pytest.mark.parametrize(("key", "number", "premise"), NEEDED)
def test_a_step_without_a_needed_premise_is_not_proved(pool: Pool, key: str, number: str, premise: str) -> None:
    assert finding(pool, key, number, without=premise).status is not PROVED


# --- can the hypotheses hold? ------------------------------------------------------------------------


@pytest.mark.parametrize("theorem", [t.LING_GD, t.LING_GD_REPAIRED, t.LING_GD_SHARP], ids=lambda x: x.key)
def test_the_hypotheses_can_hold(pool: Pool, theorem: Theorem) -> None:
    assert satisfiability(replace(theorem, proof=()), pool).status == "SATISFIABLE"


@pytest.mark.parametrize("theorem", [t.LING_GD, t.LING_GD_SHARP], ids=lambda x: x.key)
def test_definitions_cited_as_facts_are_the_definitions(theorem: Theorem) -> None:
    stated = [f.claim for f in theorem.facts if f.id.endswith(":=")]
    assert stated
    assert all(theorem.definitions[claim.lhs] == claim.rhs for claim in stated)


def test_condition_1_forces_a_small_output_layer(pool: Pool) -> None:
    forced = decided(pool, t.LING_GD, *(s.id for s in t._forced(4)))
    assert {r.status for r in forced.values()} == {PROVED}
    assert forced["(9) forces"].step.claim == (4 * t.n * t.rho_a**2 <= (1 - t.rho_w) ** 2)


def test_the_output_layer_of_assumption_1_excludes_the_sharper_form_too(pool: Pool) -> None:
    unit = Fact("‖a(0)‖ ≥ 1", t.na >= 1)
    assert satisfiability(replace(t.LING_GD_SHARP, facts=(*t.SHARP_FACTS, unit), proof=()), pool).status == "VACUOUS"


s0, z, c_u, c_w, c_a, XF, x_0, r0, delta, rho_a, lam, slip, k_rho = symbols(
    "s0 z c_u c_w c_a X x r delta rho_a lam C k_rho", real=True
)
SIGNS = [s0 > 0, z > 0, c_u > 0, c_w > 0, c_a > 0, XF > 0, x_0 >= 0, r0 >= 0, delta > 0, rho_a > 0]
SQUARES = (c_w**2 + c_u**2) * XF**2
DOMINATED = {
    "cz": ([Eq(c_w, c_u * c_a), z <= c_a * XF], c_u * z <= c_w * XF),
    "C 1": ([c_u * z <= c_w * XF], (c_u * z) ** 2 <= (c_w * XF) ** 2),
    "C 2": ([x_0 <= XF], c_u * x_0 <= c_u * XF),
    "C 3": ([c_u * x_0 <= c_u * XF], (c_u * x_0) ** 2 <= (c_u * XF) ** 2),
    "C": (
        [(c_u * z) ** 2 <= (c_w * XF) ** 2, (c_u * x_0) ** 2 <= (c_u * XF) ** 2],
        c_u**2 * (z**2 + x_0**2) <= SQUARES,
    ),
    # from here slip = c_u^2 (z^2 + x^2), lam = s0^2 >= 8 (c_w^2 + c_u^2) X^2 >= 8 slip, sigma = 7 s0/10
    "μ": ([lam >= 8 * slip], Rational(49, 100) * lam - slip >= Rational(73, 200) * lam),
    "(W)": (
        [delta * lam >= 4 * c_w * XF * r0, c_u * z <= c_w * XF],
        Rational(73, 200) * lam * delta >= c_u * z * r0,
    ),
    "(a)": (
        [delta * lam >= 4 * c_a * XF * r0, z <= c_a * XF, Rational(13, 10) * s0 <= z],
        Rational(73, 200) * lam / 2 * delta >= Rational(7, 10) * s0 * r0,
    ),
    # k rho_a = slip, and (8) times rho_a with slip <= (c_w^2 + c_u^2) X^2
    "(Z)": (
        [lam >= 0, rho_a * s0 * lam >= 4 * (2 + sqrt(2)) * slip * r0, Eq(k_rho, slip * r0)],
        Rational(73, 200) * lam * (Rational(3, 10) * s0) * rho_a >= k_rho,
    ),
}


@pytest.mark.parametrize("name", DOMINATED)
def test_condition_1_with_8_implies_the_sharper_hypotheses(pool: Pool, name: str) -> None:
    premises, claim = DOMINATED[name]
    assert pool.decide(Problem((*SIGNS, *premises), claim).relevant()).status is PROVED


# --- matrices and training ---------------------------------------------------------------------------


@dataclass
class Run:
    """Gradient descent in float64; the gradient is (3) at the equilibrium."""

    W: np.ndarray
    U: np.ndarray
    a: np.ndarray
    X: np.ndarray
    y: np.ndarray

    def equilibrium(self) -> np.ndarray:
        Z = np.zeros((self.W.shape[0], self.X.shape[1]))
        for _ in range(200):
            before, Z = Z, np.maximum(self.W @ Z + self.U @ self.X, 0)
            if np.abs(Z - before).max() < 1e-13:
                break
        return Z

    def adjoint(self, Z: np.ndarray) -> np.ndarray:
        """The columns b_i = D_i (I - W^T D_i)^-1 a."""
        D = (self.W @ Z + self.U @ self.X >= 0).astype(float)
        one = np.eye(len(self.a))
        return np.stack([d * np.linalg.solve(one - self.W.T * d, self.a) for d in D.T], axis=1)

    def step(self, eta: float) -> tuple[Run, np.ndarray, np.ndarray, np.ndarray]:
        """The next point; Z, e and V at this one."""
        Z = self.equilibrium()
        e = Z.T @ self.a - self.y
        V = self.adjoint(Z) * e
        after = Run(self.W - eta * V @ Z.T, self.U - eta * V @ self.X.T, self.a - eta * Z @ e, self.X, self.y)
        return after, Z, e, V


def instance(seed: int, m: int = 60, n: int = 3, d: int = 5, output: float = 1.0, labels: float = 1.0) -> Run:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((d, n))
    X *= math.sqrt(d) / np.linalg.norm(X, axis=0)
    W = rng.standard_normal((m, m)) * math.sqrt(2 * 0.001 / m)
    U = rng.standard_normal((m, d)) * math.sqrt(2 / d)
    return Run(W, U, output * rng.standard_normal(m) / math.sqrt(m), X, labels * rng.choice([-1.0, 1.0], n))


@pytest.mark.parametrize("seed", range(6))
def test_the_gradient_and_the_move_of_the_residual(seed: int) -> None:
    """(3) against autograd, and the matrix facts that the sharper proof cites."""
    run, eta = instance(seed), 1e-3
    after, Z, e, V = run.step(eta)
    W, U, a = (torch.from_numpy(x).requires_grad_() for x in (run.W, run.U, run.a))
    layer = torch.from_numpy(Z)
    for _ in range(40):
        layer = torch.relu(W @ layer + U @ torch.from_numpy(run.X))
    loss = ((layer.T @ a - torch.from_numpy(run.y)) ** 2).sum() / 2
    for got, formula in zip(torch.autograd.grad(loss, [W, U, a]), (V @ Z.T, V @ run.X.T, Z @ e), strict=True):
        np.testing.assert_allclose(got.numpy(), formula, atol=1e-10)
    Z1 = after.equilibrium()
    G, e1 = Z.T @ Z, Z1.T @ after.a - run.y
    np.testing.assert_allclose(e1, e - eta * G @ e + (Z1 - Z).T @ after.a, atol=1e-10)
    np.testing.assert_allclose((after.W - run.W) @ Z, -eta * V @ G, atol=1e-10)
    np.testing.assert_allclose((after.U - run.U) @ run.X, -eta * V @ (run.X.T @ run.X), atol=1e-10)
    norm_W = np.linalg.norm(run.W, 2)
    R = np.linalg.norm(run.a) / (1 - norm_W)
    assert np.linalg.norm(run.adjoint(Z), axis=0).max() <= R
    assert np.linalg.norm(V) <= R * np.linalg.norm(e)
    moved = np.linalg.norm((after.W - run.W) @ Z) + np.linalg.norm((after.U - run.U) @ run.X)
    assert np.linalg.norm(Z1 - Z) <= moved / (1 - np.linalg.norm(after.W, 2)) + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_contraction_fact(seed: int) -> None:
    """e' = (I − ηG)e + r shrinks by 1 − η(λ_min − C), and ηγσ‖Ze‖ is at most what (I − ηG) takes away."""
    rng = np.random.default_rng(seed)
    Z, e = rng.standard_normal((7, 4)) * rng.uniform(0.1, 3, (7, 1)), rng.standard_normal(4)
    values = np.linalg.svd(Z, compute_uv=False)
    h = rng.uniform(0.01, 1)
    eta, C = h / values[0] ** 2, rng.uniform(0, 1)
    r = rng.standard_normal(4)
    r *= eta * C * np.linalg.norm(e) / np.linalg.norm(r)
    kept, size = np.linalg.norm(e - eta * Z.T @ Z @ e), np.linalg.norm(e)
    assert np.linalg.norm(e - eta * Z.T @ Z @ e + r) <= (1 - eta * (values[-1] ** 2 - C)) * size * (1 + 1e-12)
    assert eta * (1 - h / 2) * values[-1] * np.linalg.norm(Z @ e) <= (size - kept) * (1 + 1e-9)


CASES = [(seed, n, output) for seed in range(3) for n, output in ((1, 0.0), (2, 0.0), (2, 0.02), (4, 0.0))]


@pytest.mark.parametrize(("seed", "n", "output"), CASES)
def test_gradient_descent_obeys_the_sharper_theorem(seed: int, n: int, output: float) -> None:
    theorem = t.LING_GD_SHARP
    run = instance(seed, m=150, n=n, output=output, labels=0.05)
    Z0 = run.equilibrium()
    values = np.linalg.svd(Z0, compute_uv=False)
    known = {
        t.lam0: values[-1] ** 2,
        t.z_0: values[0],
        t.x_0: np.linalg.norm(run.X, 2),
        t.nW: np.linalg.norm(run.W, 2),
        t.na: np.linalg.norm(run.a),
        t.r0: np.linalg.norm(Z0.T @ run.a - run.y),
    }
    constants, margin = choose_constants(theorem, known, frozenset())
    assert margin > 0
    bound = theorem.expand(theorem.hypothesis("step").claim.rhs)
    known |= constants
    known[t.eta] = 0.999 * float(bound.subs(known))
    gap, sigma = (float(theorem.expand(x).subs(known)) for x in (theorem.rate.gap, t.sig))
    assert 0 < gap < 1
    now, path = run, 0.0
    for _ in range(15):
        after, Z, e, _V = now.step(known[t.eta])
        assert np.linalg.norm(now.W, 2) < 1
        assert np.linalg.norm(now.W - run.W) <= known[t.delta]
        assert np.linalg.norm(Z - Z0) <= known[t.zeta]
        assert np.linalg.svd(Z, compute_uv=False)[-1] >= sigma
        path += np.linalg.norm(after.a - now.a)
        assert path <= known[t.delta_a]
        e1 = after.equilibrium().T @ after.a - run.y
        assert e1 @ e1 <= (1 - gap) * (e @ e) * (1 + 1e-9) + 1e-24
        now = after


def test_the_sharper_theorem_holds_where_the_repaired_one_does_not() -> None:
    settings = dict(library.theorem("ling-gd:sharp").quick)
    sharp = check.verify("ling-gd:sharp", settings, device="cpu")
    repaired = check.verify("ling-gd:repaired", settings, device="cpu")
    assert sharp.outcome is Outcome.APPLIES
    assert repaired.outcome is Outcome.DOES_NOT_APPLY
    assert sharp.rate is not None
    assert repaired.rate is not None
    assert sharp.rate.one_minus_rate.floats()[0] > 100 * repaired.rate.one_minus_rate.floats()[1]


def test_both_hold_on_one_sample_and_the_sharper_rate_is_better() -> None:
    settings = {"width": "2000", "samples": "1", "dim": "1", "init": "zero-output", "sigma2": "0.0001"}
    sharp = check.verify("ling-gd:sharp", settings, device="cpu")
    repaired = check.verify("ling-gd:repaired", settings, device="cpu")
    assert sharp.outcome is repaired.outcome is Outcome.APPLIES
    assert sharp.rate is not None
    assert repaired.rate is not None
    assert sharp.rate.one_minus_rate.floats()[0] > 50 * repaired.rate.one_minus_rate.floats()[1]
