"""The proofs of OptEq: what is proved, what is refuted, and that both can come out otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from sympy import Expr, Rational, Symbol
from sympy.core.relational import Relational

from deqcheck import check
from deqcheck.audit.inspect import StepResult, Verdict, _decide, audit
from deqcheck.audit.pool import Pool
from deqcheck.audit.prove import Status
from deqcheck.library import theorem
from deqcheck.statement import Step, Theorem
from deqcheck.truth import FAILS, HOLDS
from deqcheck.verdict import Outcome

KEYS = (
    "opteq-prox",
    "opteq-inclusion",
    "opteq-wide",
    "opteq-wide:repaired",
    "opteq-sam",
    "opteq-gd",
    "opteq-gd:repaired",
)
PRINTED = {
    Status.MISPRINT: ("Lemma 14 σ(0)", "(21) z^(k,l)", "(27) first bound"),
    Status.REFUTED: (
        "Lemma 14 √N", "C_z", "(16)", "Lemma 16 factor", "Lemma 16 sum over k, K = 2", "Lemma 16 terms",
        "(23) on the path", "Lemma 19 z", "Lemma 19 A", "Lemma 19 C_D", "Lemma 19 G", "B_J", "Q_1 √ℓ", "Q_1 y", "Q_2",
    ),
    Status.PROVED: ("Lemma 12 as printed", "(22)", "(25)", "(27)", "(31) W moves", "(32) ‖W_l‖", "(32) loss"),
}  # fmt: skip
REPAIRED = (
    "B* layer", "B* step", "Lemma 12 bound", "Lemma 14 V ≥ 1/4", "(20) W", "(21)", "(22)", "(24)", "(25)", "(26)",
    "(27)", "B_J", "(29) P", "(29) A", "(29) M", "(29) ∂f/∂W", "(29) block", "(29)", "Q_1", "Σ s^i Q_0",
    "(31) W_(L+1) moves", "descent half", "(23) at t", "(32) loss", "Q_2", "(23) at t = 0",
)  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


def _step(key: str, number: str) -> Step:
    return next(s for s in theorem(key).proof if s.id == number)


def _status(pool: Pool, of: Theorem, step: Step, claim: Relational | None = None) -> Status:
    finding = _decide(pool, of, step, step.claim if claim is None else claim)
    if claim is not None or step.fix is None:
        return finding.status
    return StepResult(step, finding, _decide(pool, of, step, step.fix)).status


@pytest.mark.parametrize("key", KEYS)
def test_a_number_names_one_line(key: str) -> None:
    """A step that shared its number with a fact would silently stand for it."""
    facts, steps = {f.id for f in theorem(key).facts}, [s.id for s in theorem(key).proof]
    assert len(set(steps)) == len(steps) and not facts & set(steps)
    claims = {h.id for h in theorem(key).hypotheses if h.claim is not None}
    assert not claims & (facts | set(steps))


@pytest.mark.parametrize(("wanted", "number"), [(w, n) for w, numbers in PRINTED.items() for n in numbers])
def test_theorem_5_as_printed(pool: Pool, wanted: Status, number: str) -> None:
    assert _status(pool, theorem("opteq-gd"), _step("opteq-gd", number)) is wanted


@pytest.mark.parametrize("number", REPAIRED)
def test_theorem_5_repaired(pool: Pool, number: str) -> None:
    assert _status(pool, theorem("opteq-gd:repaired"), _step("opteq-gd:repaired", number)) is Status.PROVED


def test_the_whole_proof_of_theorem_1(pool: Pool) -> None:
    found = audit(theorem("opteq-prox"), pool=pool)
    assert found.verdict is Verdict.SOUND
    assert found.satisfiability.status == "SATISFIABLE"
    assert not [h.id for h in found.hypotheses if h.idle or not h.used_by]


@pytest.mark.parametrize(
    ("key", "number", "wanted"),
    [
        ("opteq-inclusion", "E.4 F nonexpansive", Status.PROVED),
        ("opteq-inclusion", "Lemma 6 (ii)(a)", Status.MISPRINT),
        ("opteq-inclusion", "E.4 φ_i convex", Status.PROVED),
        ("opteq-inclusion", "E.4 envelope", Status.PROVED),
        ("opteq-wide", "(15) expansion, L = 2", Status.REFUTED),
        ("opteq-wide", "E.6 contraction, L = 2", Status.PROVED),
        ("opteq-wide:repaired", "residual", Status.PROVED),
        ("opteq-wide:repaired", "α |z₀|", Status.PROVED),
        ("opteq-wide:repaired", "α H", Status.PROVED),
        ("opteq-wide:repaired", "α bound", Status.PROVED),
        ("opteq-sam", "Lemma 9 contraction", Status.PROVED),
        ("opteq-sam", "F.2 rest of λ", Status.MISPRINT),
        ("opteq-sam", "Lemma 8 induction", Status.PROVED),
        ("opteq-sam", "F.2 value", Status.PROVED),
    ],
)
def test_theorems_2_to_4(pool: Pool, key: str, number: str, wanted: Status) -> None:
    assert _status(pool, theorem(key), _step(key, number)) is wanted


@pytest.mark.parametrize("key", KEYS)
def test_every_hypothesis_is_used_or_known_to_be_idle(key: str) -> None:
    """Lemma 12's condition and the exponents are used in the print only to bound the z^k; B* does without them."""
    cited = {source for step in theorem(key).proof for source in step.since}
    left = {h.id for h in theorem(key).hypotheses if h.claim is not None} - cited
    assert left == ({"p + 2c < 1", "Lemma 12"} if key.startswith("opteq-gd") else set())


def test_theorem_3_does_not_need_the_expansion() -> None:
    """The repaired proof is the printed one's other part, without (15)."""
    printed, repaired = (theorem(k).proof for k in ("opteq-wide", "opteq-wide:repaired"))
    assert set(repaired) <= set(printed)
    assert {s.id for s in printed} - {s.id for s in repaired} == {
        "(15) L = 2", "(15) L = 3", "(15) expansion, L = 2", "E.6 contraction, L = 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "number", "claim"),
    [
        ("opteq-gd", "Lemma 14 V ≥ 1/4", lambda c: c.lhs >= Rational(1, 2)),
        ("opteq-gd", "(24)", lambda c: c.lhs <= c.rhs / 2),
        ("opteq-gd:repaired", "Σ s^i Q_0", lambda c: c.lhs <= 1),
        ("opteq-gd:repaired", "(29) s dW", lambda c: c.lhs <= Rational(1, 2)),
        ("opteq-gd:repaired", "(32) ‖W_l‖", lambda c: c.lhs <= Rational(9, 10)),
        ("opteq-prox", "E.2 nonexpansive", lambda c: c.lhs <= c.rhs / 2),
        ("opteq-inclusion", "E.4 φ_i convex", lambda c: c.lhs >= 2 * c.rhs),
        ("opteq-wide", "E.6 mean < 1", lambda c: c.lhs < Rational(1, 2)),
        ("opteq-wide", "α |z_l|", lambda c: c.lhs <= c.rhs / 2),
        ("opteq-sam", "Lemma 9 γ|g|", lambda c: c.lhs <= c.rhs / 2),
    ],
)
def test_a_falsified_line_is_refuted(pool: Pool, key: str, number: str, claim) -> None:
    step = _step(key, number)
    assert _status(pool, theorem(key), step) is Status.PROVED
    assert _status(pool, theorem(key), step, claim(step.claim)) is Status.REFUTED


@pytest.mark.parametrize(
    ("key", "number", "premise"),
    [
        ("opteq-gd", "(32) loss", "(23) at t"),
        ("opteq-gd", "(23) at t", "(23) on the path"),
        ("opteq-gd:repaired", "B* layer", "B* Wᵀσ"),
        ("opteq-gd:repaired", "(29) w dD", "Assumption 3 W"),
        ("opteq-gd:repaired", "(29) D", "(29) L_σ P"),
        ("opteq-gd:repaired", "Q_2", "Q_2 sum"),
        ("opteq-prox", "σ entry 1", "Assumption 1"),
        ("opteq-inclusion", "E.4 1 − α", "α ≤ 1"),
        ("opteq-wide", "α w²", "one ‖W_l‖ < 1"),
        ("opteq-wide", "firmly nonexpansive", "|Wᵀσ|²"),
        ("opteq-sam", "F.2 t₁ < 1", "p + 2c < 1"),
    ],
)
def test_a_line_without_a_premise_is_not_proved(pool: Pool, key: str, number: str, premise: str) -> None:
    step = _step(key, number)
    assert premise in step.since
    weaker = replace(step, since=tuple(s for s in step.since if s != premise))
    assert _status(pool, theorem(key), step) is Status.PROVED
    assert _status(pool, theorem(key), weaker) is not Status.PROVED


# --- the counterexample ----------------------------------------------------------------------------

COUNTEREXAMPLE = {"init": "orthogonal", "width": "8", "units": "8", "inputs": "0", "output": "1e6"}


def test_the_counterexample_is_the_one_that_the_sentence_tells(tmp_path) -> None:
    file = tmp_path / "xor.csv"
    file.write_text("1,1,1\n-1,-1,1\n1,-1,-1\n-1,1,-1\n", encoding="utf-8")
    told = theorem("opteq-gd").counterexample
    for name, value in COUNTEREXAMPLE.items():
        assert f"--{name} {value}" in told or f"--with {name}={value}" in told
    found = check.verify("opteq-gd", {"data": str(file), **COUNTEREXAMPLE})
    assert found.outcome is Outcome.COUNTEREXAMPLE
    assert all(h.verdict is HOLDS for h in found.hypotheses if h.verdict is not None)
    # The repair asks for what fails there, so it does not apply.
    repaired = check.verify("opteq-gd:repaired", {"data": str(file), **COUNTEREXAMPLE})
    assert repaired.outcome is Outcome.DOES_NOT_APPLY
    assert "(23)" in {h.id for h in repaired.hypotheses if h.verdict is FAILS}


def test_the_repaired_theorem_can_apply(tmp_path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("1,1\n", encoding="utf-8")
    given = {
        "data": str(file), "init": "orthogonal", "width": "2", "units": "2", "layers": "1", "alpha": "0.001",
        "inputs": "0", "output": "1e8", "iterations": "8", "p": "0.9", "c": "0.04",
    }  # fmt: skip
    assert check.verify("opteq-gd:repaired", given).outcome is Outcome.APPLIES


# --- Lemma 19 against autograd ---------------------------------------------------------------------

d, N, L, K, ALPHA, SLOPE = 2, 3, 2, 4, 0.1, 15 / 16
BETA, LAM = (0.5, 0.4, 0.35), (0.3, 0.2, 0.1)


def _smooth(x: torch.Tensor) -> torch.Tensor:
    """Slopes from 1/2 to 15/16."""
    return (SLOPE + 0.5) / 2 * x + (SLOPE - 0.5) / 2 * (torch.sqrt(x * x + 4) - 2)


def _linear(x: torch.Tensor) -> torch.Tensor:
    return SLOPE * x


class Net:
    """The unrolled network as a function of all parameters in one vector."""

    def __init__(self, activation, seed: int, size: float) -> None:
        rng = np.random.default_rng(seed)
        self.activation, m, n = activation, 4, 3
        self.m, self.X0 = m, torch.from_numpy(rng.standard_normal((N, d)))
        self.shapes = [(d, d), (1, m), *[s for _ in range(L) for s in ((n, m), (n, d), (n,))]]
        self.gamma = 1 / (2 * 2.0**2 + 1)
        ends = []
        for _ in range(2):
            parts = [torch.from_numpy(rng.standard_normal(s)) for s in self.shapes]
            for i, part in enumerate(parts):
                largest = float(torch.linalg.matrix_norm(part, 2)) if part.ndim == 2 else float(part.norm())
                parts[i] = part / largest * (2.0 if i == 1 else 1.0)
            ends.append(torch.cat([p.flatten() for p in parts]))
        self.a, self.b = ends[0], ends[0] + size * (ends[1] - ends[0])

    def parts(self, theta: torch.Tensor) -> list[torch.Tensor]:
        out, start = [], 0
        for shape in self.shapes:
            count = int(np.prod(shape))
            out.append(theta[start : start + count].reshape(shape))
            start += count
        return out

    def state(self, theta: torch.Tensor) -> torch.Tensor:
        W0, out, *layers = self.parts(theta)
        X, Z = self.X0 @ W0.T, torch.zeros(N, self.m, dtype=torch.float64)
        for beta, lam in zip(BETA, LAM, strict=True):
            S = (1 - self.gamma * lam) * Z - self.gamma * (Z @ out.T) @ out
            T = Z
            for W, U, b in zip(layers[::3], layers[1::3], layers[2::3], strict=True):
                T = ALPHA * self.activation(T @ W.T + X @ U.T + b) @ W + (1 - ALPHA) * T
            Z = beta * S + (1 - beta) * T
        return Z.flatten()

    def loss(self, theta: torch.Tensor) -> torch.Tensor:
        out = self.parts(theta)[1]
        return ((self.state(theta).reshape(N, self.m) @ out.T - 1) ** 2).sum() / 2

    def residual(self, theta: torch.Tensor) -> float:
        return float((2 * self.loss(theta)) ** 0.5)

    def jacobian(self, theta: torch.Tensor) -> torch.Tensor:
        return torch.autograd.functional.jacobian(self.state, theta)

    def constants(self, key: str, smooth: float) -> dict[str, float]:
        """The definitions of the theorem at this network."""
        features = max(float((self.X0 @ self.parts(t)[0].T).norm()) for t in (self.a, self.b))
        given = {
            "L_sigma_0": SLOPE, "sigma_0": 0, "L_sigma": smooth, "alpha": ALPHA, "L": L, "K": K, "N": N, "m": self.m,
            "n": 3, "L_g": float(torch.linalg.matrix_norm(self.X0, 2)), "gamma": self.gamma, "B_Ub": 1.0,
            "B_x": features, "B_L": 2.0, "r_0": self.residual(self.a),
        }  # fmt: skip
        found: dict[Symbol, Expr] = {Symbol(k, real=True): v for k, v in given.items()}
        out = {}
        for symbol, value in theorem(key).definitions.items():
            number = value.subs(found)
            if not number.free_symbols:
                found[symbol] = number
                out[symbol.name] = float(number)
        return out


@pytest.mark.parametrize("activation", [_smooth, _linear])
@pytest.mark.parametrize("size", [1e-4, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_repaired_constants_hold(activation, size: float, seed: int) -> None:
    """B*, B_J, C_J and Q_1 of the repaired theorem bound what autograd finds."""
    net = Net(activation, seed, size)
    constants = net.constants("opteq-gd:repaired", 7 / 64 if activation is _smooth else 0.0)
    distance = float((net.a - net.b).norm())
    J = [net.jacobian(t) for t in (net.a, net.b)]
    assert float(net.state(net.a).norm()) <= constants["B_star"]
    assert float(torch.linalg.matrix_norm(J[0], 2)) <= constants["B_J"]
    change = float(torch.linalg.matrix_norm(J[0] - J[1], 2))
    assert 0 < change <= constants["C_J"] * distance
    gradient = [torch.autograd.functional.jacobian(net.loss, t) for t in (net.a, net.b)]
    assert 0 < float((gradient[0] - gradient[1]).norm()) <= constants["Q_1"] * distance


def test_the_printed_lipschitz_constant_is_false() -> None:
    """(29) for a linear activation: L_sigma = 0 makes C_J = 0, but the Jacobian is not constant."""
    net = Net(_linear, 0, 0.3)
    assert net.constants("opteq-gd", 0.0)["C_J"] == 0
    assert float((net.jacobian(net.a) - net.jacobian(net.b)).norm()) > 0.01
