"""The thesis on monotone DEQs: what its proofs give, where they break, and the repaired and the sharp theorem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from sympy import Matrix, Rational, Symbol, sqrt
from sympy.core.relational import Relational

from deqcheck import check, library
from deqcheck.audit import inspect
from deqcheck.audit.pool import Pool
from deqcheck.audit.prove import Finding
from deqcheck.family.mondeq import MonPoint
from deqcheck.models.mondeq import MonDEQ
from deqcheck.quantities import mondeq as q
from deqcheck.statement import Step, Theorem
from deqcheck.truth import HOLDS

QUICK = {"width": "40", "samples": "20", "dim": "20"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as workers:
        yield workers


def step(theorem: Theorem, number: str) -> Step:
    return next(s for s in theorem.proof if s.id == number)


def sym(theorem: Theorem, name: str) -> Symbol:
    """A symbol of the proof."""
    claims = [f.claim for f in theorem.facts] + [s.claim for s in theorem.proof]
    return next(s for c in claims for s in c.free_symbols if s.name == name)


def decide(
    pool: Pool,
    theorem: Theorem,
    number: str,
    claim: Relational | None = None,
    instead: dict[str, Relational | None] | None = None,
) -> Finding:
    found = step(theorem, number)
    return inspect._decide(pool, theorem, found, found.claim if claim is None else claim, instead or {})


def status(pool: Pool, theorem: Theorem, found: Step) -> str:
    """As the audit reports it."""
    finding = inspect._decide(pool, theorem, found, found.claim)
    fixed = None if found.fix is None else inspect._decide(pool, theorem, found, found.fix)
    return inspect.StepResult(found, finding, fixed).status.value


# --- statuses --------------------------------------------------------------------------------------

SLIPS = {
    "mondeq-wellposed": {"2.3.2", "(3.5)"},
    "mondeq-gradient": {"Lemma C.0.2"},
    "mondeq-resolvent:repaired": set(),
    "mondeq-lipschitz": set(),
    "mondeq-gf": {"exponent", "(3.13)", "dL/dt =", "ODE"},
    "mondeq-gd:repaired": set(),
    "mondeq-gd:sharp": set(),
}


@pytest.mark.parametrize("key", list(SLIPS))
def test_whole_chains_are_proved_but_for_the_slips(pool: Pool, key: str) -> None:
    theorem = library.theorem(key)
    found = pool.each([partial(status, pool, theorem, s) for s in theorem.proof])
    expected = ["MISPRINT" if s.id in SLIPS[key] else "PROVED" for s in theorem.proof]
    assert len(expected) >= 3
    assert dict(zip((s.id for s in theorem.proof), found, strict=True)) == dict(
        zip((s.id for s in theorem.proof), expected, strict=True)
    )


REFUTED = ("Prop. 6 2", "Prop. 6 ≤ λ₀/2", "3.3.8 2", "3.3.9 2")
MISPRINTED = (
    "sketch", "sketch I₃", "3.3.7 =", "Prop. 5 A line 2", "Prop. 5 ‖A‖_F", "Prop. 5 u", "3.3.8 1", "3.3.8", "3.3.9 1",
    "together 1", "together 2",
)  # fmt: skip
PROVED = ("20 N m²", "3.3.7 W", "T", "Prop. 5 W", "Prop. 6 m", "3.3.8 m", "3.3.9 m", "3.3.10", "step 3 C", "together 5")


def test_theorem_3_3_5_as_printed(pool: Pool) -> None:
    theorem = library.theorem("mondeq-gd")
    wanted = {
        **dict.fromkeys(REFUTED, "REFUTED"),
        **dict.fromkeys(MISPRINTED, "MISPRINT"),
        **dict.fromkeys(PROVED, "PROVED"),
    }
    found = pool.each([partial(status, pool, theorem, step(theorem, number)) for number in wanted])
    assert dict(zip(wanted, found, strict=True)) == wanted


def test_the_proof_of_lemma_3_3_2_breaks_at_the_norm_of_pi(pool: Pool) -> None:
    theorem = library.theorem("mondeq-resolvent")
    found = {s.id: status(pool, theorem, s) for s in theorem.proof}
    assert [number for number, what in found.items() if what == "REFUTED"] == ["C.0.4 Π"]
    assert set(found.values()) == {"PROVED", "REFUTED"}


def test_3_17_needs_twice_its_constant(pool: Pool) -> None:
    theorem = library.theorem("mondeq-gd")
    claim = theorem.hypothesis("(3.17)").claim
    assert claim is not None
    printed = decide(pool, theorem, "Prop. 6 ≤ λ₀/2")
    doubled = decide(pool, theorem, "Prop. 6 ≤ λ₀/2", instead={"(3.17)": claim.func(claim.lhs, 2 * claim.rhs)})
    assert (printed.status.value, doubled.status.value) == ("REFUTED", "PROVED")


# --- Condition 2 can hold only for a small m ---------------------------------------------------------


def test_condition_2_is_vacuous_for_m_at_least_1(pool: Pool) -> None:
    assert inspect.satisfiability(library.theorem("mondeq-gd:m1"), pool).status == "VACUOUS"


def test_it_is_lemma_3_3_3_and_m_that_make_it_vacuous(pool: Pool) -> None:
    theorem = library.theorem("mondeq-gd:m1")
    bounds = {"Lemma 3.3.3", "λ₀ bound"}
    without_lemma = replace(theorem, facts=tuple(f for f in theorem.facts if f.id not in bounds), proof=())
    without_m = replace(theorem, hypotheses=tuple(h for h in theorem.hypotheses if h.id != "m ≥ 1"), proof=())
    assert inspect.satisfiability(without_lemma, pool).status != "VACUOUS"
    assert inspect.satisfiability(without_m, pool).status == "SATISFIABLE"


@pytest.mark.parametrize("key", ["mondeq-gf", "mondeq-gd", "mondeq-gd:repaired", "mondeq-gd:sharp"])
def test_the_others_can_hold(pool: Pool, key: str) -> None:
    found = inspect.satisfiability(library.theorem(key), pool)
    assert found.status == "SATISFIABLE"
    assert found.witness


# --- the engine can say no ---------------------------------------------------------------------------


def test_falsified_steps_are_refuted(pool: Pool) -> None:
    gd, gf = library.theorem("mondeq-gd"), library.theorem("mondeq-gf")
    repaired, sharp = library.theorem("mondeq-gd:repaired"), library.theorem("mondeq-gd:sharp")
    N, m, q0, T = (sym(gd, name) for name in ("N", "m", "sq_lambda_0", "T"))
    eta, mu, rn, rs = (sym(sharp, name) for name in ("eta", "mu", "norm_r_next", "norm_r_s"))
    L, after = sym(repaired, "L_k"), sym(repaired, "L_next")
    for theorem, number, claim in (
        (gd, "20 N m²", 21 * N * m**2 <= 1),
        (gf, "T", q0 * T <= 3),
        (gd, "T", q0 * T <= 7),
        (repaired, "rate", after <= L * (1 - eta * q0 / 3)),
        (sharp, "contraction", rn <= (1 - 2 * eta * mu) * rs),
        (sharp, "rest", sym(sharp, "rest_k") <= eta * sym(sharp, "C") * rs / 2),
    ):
        assert decide(pool, theorem, number, claim).status.value == "REFUTED", (theorem.key, number)


@pytest.mark.parametrize(
    ("key", "number", "premise"),
    [
        ("mondeq-gf", "(3.14)", "n ≥ N"),
        ("mondeq-gf", "(3.9) Z", "(3.9)"),
        ("mondeq-gf", "∇A", "Lemma 3.3.2 with D"),
        ("mondeq-gd", "3.3.10 rank", "n ≥ N"),
        ("mondeq-gd", "(3.18) m", "Lemma 3.3.3"),
        ("mondeq-gd:repaired", "(3.18) C", "(3.18)"),
        ("mondeq-gd:repaired", "step ×", "step"),
        ("mondeq-gd:repaired", "Prop. 6 (3.17)", "(3.17)"),
        ("mondeq-gd:sharp", "step ζ", "step"),
        ("mondeq-gd:sharp", "σ²", "R_Z"),
        ("mondeq-gd:sharp", "hyp A", "A"),
        ("mondeq-gd:sharp", "hyp u", "u"),
        ("mondeq-gd:sharp", "hyp Z", "Z"),
    ],
)
def test_a_needed_premise_is_needed(pool: Pool, key: str, number: str, premise: str) -> None:
    theorem = library.theorem(key)
    assert premise in step(theorem, number).since
    assert decide(pool, theorem, number, instead={premise: None}).status.value != "PROVED"


# --- counterexamples, exactly ------------------------------------------------------------------------


def test_counterexample_to_theorem_3_3_5_in_rationals() -> None:
    """One unit; z = U x / m, and A, B, U have no gradient because A = u = 0."""
    theorem = library.theorem("mondeq-gd")
    assert theorem.counterexample
    eta = Rational(1, 25) - Rational(1, 10**6)
    values = {
        "m": Rational(1, 10), "n": 1, "N": 1, "norm_A": 0, "norm_B": 0, "norm_U": 1, "norm_u": 0, "norm_X_F": 1,
        "lambda_0": 10, "r_0": Rational(1, 1000), "R_A": Rational(1, 10), "R_B": 1, "R_U": Rational(1, 10),
        "R_u": Rational(1, 100), "eta": eta,
    }  # fmt: skip
    point = {s: values[name] for name, s in theorem.symbols.items() if name in values}
    for hypothesis in theorem.hypotheses:
        assert hypothesis.claim is not None
        assert theorem.expand(hypothesis.claim).subs(point) == True, hypothesis.id  # noqa: E712
    z, y = Rational(10), Rational(1, 1000)
    u = -eta * z * (0 - y)
    assert ((u * z - y) / (0 - y)) ** 2 > 8 > 1 >= 1 - eta * z**2 / 4


def test_counterexample_to_lemma_3_3_2_in_rationals() -> None:
    assert library.theorem("mondeq-resolvent").counterexample
    W, Ux, u = Matrix([[0, 1], [-1, 0]]), Matrix([1, -3]), Matrix([1, 0])  # m = 1, A = 0
    z = Matrix([1, 0])
    before = W * z + Ux
    assert z == before.applyfunc(lambda x: max(x, 0))
    assert all(x != 0 for x in before)
    J = Matrix.diag(*(int(bool(x > 0)) for x in before))
    carried = (Matrix.eye(2) - W.T * J).inv() * u
    assert carried.norm() == sqrt(2) > u.norm() / 1
    assert (J * carried).norm() <= u.norm() / 1  # the repair


# --- what the sharp theorem takes from matrices ----------------------------------------------------------


def random_point(seed: int, n: int = 7, samples: int = 4, d: int = 5, m: float = 0.7) -> MonPoint:
    rng = np.random.default_rng([seed, 11])
    A, B, U, u, X, y = (
        torch.from_numpy(rng.standard_normal(shape))
        for shape in ((n, n), (n, n), (n, d), (n,), (samples, d), (samples,))
    )
    return MonPoint(MonDEQ(0.4 * A, 0.4 * B, U, u, m), X, y)


def unrolled(model: MonDEQ, X: torch.Tensor) -> torch.Tensor:
    """The equilibrium by forward-backward steps, in operations that autograd follows."""
    W, Z = model.W, torch.zeros(X.shape[0], model.A.shape[0], dtype=X.dtype)
    alpha = model.m / float(torch.linalg.matrix_norm(torch.eye(W.shape[0]) - W.detach(), 2)) ** 2
    for _ in range(1500):
        Z = torch.relu((1 - alpha) * Z + alpha * (Z @ W.T + X @ model.U.T))
    return Z


def gradients(point: MonPoint) -> dict[str, torch.Tensor]:
    """The closed forms, with one sample per row of Z, X and G."""
    e = point.model.predict(point.Z) - point.y
    weighted = e[:, None] * point.adjoint.G
    W = weighted.T @ point.Z
    return {"W": W, "A": -point.model.A @ (W + W.T), "B": W - W.T, "U": weighted.T @ point.X, "u": point.Z.T @ e}


@pytest.mark.parametrize("seed", range(3))
def test_gradient_forms_agree_with_autograd(seed: int) -> None:
    point = random_point(seed)
    assert point.pattern.certain
    theta = [w.clone().requires_grad_() for w in (point.model.A, point.model.B, point.model.U, point.model.u)]
    model = MonDEQ(theta[0], theta[1], theta[2], theta[3], point.model.m)
    Z = unrolled(model, point.X)
    assert torch.allclose(Z, point.Z, atol=1e-9)
    loss = ((model.predict(Z) - point.y) ** 2).sum() / 2
    ours = gradients(point)
    for name, gradient in zip(("A", "B", "U", "u"), torch.autograd.grad(loss, theta), strict=True):
        assert torch.allclose(gradient, ours[name], atol=1e-7 * float(1 + gradient.abs().max())), name


def norm(x: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(x, 2))


@pytest.mark.parametrize("seed", range(3))
def test_new_quantities_enclose_the_norms(seed: int) -> None:
    point = random_point(seed)
    for quantity, value in ((q.norm_inputs, norm(point.X)), (q.norm_equilibrium, norm(point.Z))):
        low, high = quantity.measure(point, 0).floats()
        assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12)
        assert high - low <= 1e-6 * value


@pytest.mark.parametrize("seed", range(6))
def test_bounds_on_gradients_and_one_step(seed: int) -> None:
    """Facts one A to one u, ΔW, ΔZ and the splitting of the residual."""
    point, slack = random_point(seed), 1 + 1e-9
    model, g = point.model, gradients(point)
    e = point.model.predict(point.Z) - point.y
    v = float(point.adjoint.G.norm(dim=1).max())
    assert v <= float(model.u.norm()) / model.m * slack
    assert float(g["W"].norm()) <= v * float(e.norm()) * norm(point.Z) * slack
    assert float(g["A"].norm()) <= 2 * norm(model.A) * float(g["W"].norm()) * slack
    assert float(g["B"].norm()) <= 2 * float(g["W"].norm()) * slack
    assert float(g["U"].norm()) <= v * float(e.norm()) * norm(point.X) * slack
    assert float(g["u"].norm()) <= float(e.norm()) * norm(point.Z) * slack
    eta = 0.02
    after = replace(
        point,
        model=MonDEQ(
            *(w - eta * g[k] for k, w in (("A", model.A), ("B", model.B), ("U", model.U), ("u", model.u))), model.m
        ),
    )
    dA, dB = after.model.A - model.A, after.model.B - model.B
    dW, dU, dZ = after.model.W - model.W, after.model.U - model.U, after.Z - point.Z
    bar = max(norm(model.A), norm(after.model.A))
    assert float(dW.norm()) <= (2 * bar * float(dA.norm()) + 2 * float(dB.norm())) * slack
    assert model.m * float(dZ.norm()) <= (float(dW.norm()) * norm(point.Z) + float(dU.norm()) * norm(point.X)) * slack
    new = after.model.predict(after.Z) - point.y
    split = e - eta * point.Z @ (point.Z.T @ e) + dZ @ after.model.u
    assert torch.allclose(new, split, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_contraction_fact_and_that_its_step_bound_is_needed(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    n = int(rng.integers(1, 6))
    root = rng.standard_normal((n, n))
    G, e, r = root @ root.T, rng.standard_normal(n), rng.standard_normal(n)
    low, high = np.linalg.eigvalsh(G)[[0, -1]]
    eta, C = float(rng.uniform(0, 1) / high), float(rng.uniform(0, 2))
    r *= eta * C * np.linalg.norm(e) / np.linalg.norm(r)
    after = np.linalg.norm(e - eta * G @ e + r)
    assert after <= (1 - eta * (low - C)) * np.linalg.norm(e) * (1 + 1e-12)
    top = np.linalg.eigh(G)[1][:, -1]
    long = 3 / high
    assert np.linalg.norm(top - long * G @ top) > 1 - long * low


# --- the sharp theorem at work -----------------------------------------------------------------------------


def test_sharp_guarantees_far_more_than_the_repair() -> None:
    sharp = check.verify("mondeq-gd:sharp", quick=True)
    repaired = check.verify("mondeq-gd:repaired", {**QUICK, "scale": "auto"})
    assert sharp.verdict is HOLDS
    assert repaired.verdict is HOLDS
    assert sharp.rate is not None
    assert repaired.rate is not None
    assert sharp.rate.guaranteed
    ours, theirs = sharp.rate.one_minus_rate.floats()[0], repaired.rate.one_minus_rate.floats()[1]
    assert ours >= 1e6 * theirs
    assert float(str(sharp.instance["scale"])) < 1e-2 * float(str(repaired.instance["scale"]))


def test_sharp_keeps_its_promise_along_gradient_descent() -> None:
    result = check.verify("mondeq-gd:sharp", {"width": "20", "samples": "6", "dim": "6", "scale": "auto"})
    assert result.verdict is HOLDS
    assert result.rate is not None
    theorem = library.theorem("mondeq-gd:sharp")
    chosen = {c.name: c.value for c in result.constants}
    point = _instance({"width": "20", "samples": "6", "dim": "6"}, float(str(result.instance["scale"])))
    start = {x.name: x.value.midpoint() for x in result.quantities}
    for name, s in theorem.symbols.items():
        if s in theorem.measured:
            assert theorem.measured[s].measure(point, 0).midpoint() == pytest.approx(start[name], rel=1e-9)
    eta, shrink = chosen["eta"], 1 - result.rate.one_minus_rate.floats()[0]
    zeta, bars = start["norm_Z"] + chosen["R_Z"], (start["norm_A"] + chosen["R_A"], start["norm_u"] + chosen["R_u"])
    losses = []
    for _ in range(40):
        e = point.model.predict(point.Z) - point.y
        losses.append(float(e @ e) / 2)
        assert norm(point.Z) <= zeta
        assert norm(point.model.A) <= bars[0]
        assert float(point.model.u.norm()) <= bars[1]
        assert float(torch.linalg.svdvals(point.Z)[-1]) >= start["lambda_0"] - chosen["R_Z"]
        g, model = gradients(point), point.model
        point = replace(
            point,
            model=MonDEQ(
                model.A - eta * g["A"], model.B - eta * g["B"], model.U - eta * g["U"], model.u - eta * g["u"], model.m
            ),
        )
    assert all(b <= shrink * a * (1 + 1e-9) for a, b in pairwise(losses))


def _instance(given: dict[str, str], scale: float) -> MonPoint:
    """The point that verify built."""
    from deqcheck.family import load

    theorem = library.theorem("mondeq-gd:sharp")
    family = load("mondeq")
    settings = family.complete(theorem, given)
    data = check.load_data(family, settings, "cpu")
    built = family.build(data, settings, "cpu")
    assert isinstance(built, MonPoint)
    return built.scaled(scale)
