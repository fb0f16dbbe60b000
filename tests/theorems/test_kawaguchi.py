"""The deep equilibrium linear model: enclosures against high precision, formulas against autograd, verdicts."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import torch

from deqcheck import check, library, rigor
from deqcheck.conditions.judge import judge
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import kawaguchi as numerics
from deqcheck.equilibrium.kawaguchi_loss import Objective, _project
from deqcheck.equilibrium.kawaguchi_near import Near
from deqcheck.error import InputError
from deqcheck.evaluate import evaluate, extend
from deqcheck.family.kawaguchi import LinearPoint
from deqcheck.models.kawaguchi import LinearImplicit, objective
from deqcheck.quantities import kawaguchi as q
from deqcheck.truth import FAILS, HOLDS
from deqcheck.verdict import Outcome

KEYS = ("wellposed", "pl", "square", "logistic", "trust-region")
DIGITS = 70


def t(array: object) -> torch.Tensor:
    return torch.tensor(np.asarray(array, dtype=np.float64))


def make(
    m: int, outputs: int, n: int, loss: str = "square", gamma: float = 0.8, spread: float = 1.0, seed: int = 0,
    tau: float = 0.0, **more: float,
) -> LinearPoint:  # fmt: skip
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((m, m)) * spread, rng.standard_normal((outputs, m))
    Phi = rng.standard_normal((m, n))
    Y = rng.standard_normal((outputs, n)) if loss == "square" else rng.integers(0, 2, (outputs, n))
    return LinearPoint(LinearImplicit(t(A), t(B), gamma), Objective(t(Phi), t(Y), loss, tau), **more)


SMALL = {
    "one output": make(4, 1, 6),
    "several outputs": make(3, 2, 5),
    "more outputs than width": make(2, 3, 4),
    "more width than samples": make(5, 2, 3),
    "logistic": make(3, 1, 8, "logistic", tau=0.3),
    "logistic without penalty": make(2, 1, 9, "logistic"),
    "width one": make(1, 1, 3),
    "sharp softmax": make(4, 1, 6, spread=400.0),
    "sharp softmax, several outputs": make(3, 3, 4, spread=90.0),
    "gamma near one": make(3, 2, 4, gamma=0.999),
    "tiny gamma": make(3, 2, 4, gamma=1e-7),
    "B = 0": replace(make(3, 2, 5), model=LinearImplicit(t(np.eye(3)), t(np.zeros((2, 3))), 0.5)),
}


# --- high precision -----------------------------------------------------------------------------------


def real(x: torch.Tensor) -> mp.matrix:
    return mp.matrix(x.tolist())


def inside(enclosure: Enclosure, value: mp.mpf) -> bool:
    """Whether the exact ends bracket a value good to far more digits than they have."""
    lo, hi = (mp.mpf(e.numerator) / e.denominator for e in enclosure.fractions())
    room = mp.mpf(10) ** (10 - DIGITS) * (1 + abs(value))
    return bool(lo - room <= value <= hi + room)


def narrow(enclosure: Enclosure, share: float = 1e-8) -> bool:
    """Narrow beside its own size, or beside rounding errors when the value is 0."""
    return enclosure.relative_width() < share or enclosure.floats()[1] < 1e-10


class Truth:
    """Everything of one point at 70 digits, from the definitions and with explicit Kronecker products."""

    def __init__(self, point: LinearPoint) -> None:
        mp.mp.dps = DIGITS
        A, B, self.Phi = real(point.model.A), real(point.model.B), real(point.objective.Phi)
        self.Y, self.tau, self.loss = real(point.objective.Y), mp.mpf(point.objective.tau), point.objective.loss
        self.gamma, self.m, self.outputs = mp.mpf(point.model.gamma), A.rows, B.rows
        m = self.m
        tops = [max(A[i, j] for i in range(m)) for j in range(m)]
        E = mp.matrix(m, m)
        for i in range(m):
            for j in range(m):
                E[i, j] = mp.exp(A[i, j] - tops[j])
        self.S = mp.matrix(m, m)
        for j in range(m):
            total = mp.fsum(E[i, j] for i in range(m))
            for i in range(m):
                self.S[i, j] = E[i, j] / total
        self.U = mp.eye(m) - self.gamma * self.S
        self.V = mp.inverse(self.U)
        self.Z = B * self.V
        self.q = self.Z * self.Phi
        self.G = self.slope(self.q) * self.Phi.T

    def slope(self, q: mp.matrix) -> mp.matrix:
        out = mp.matrix(q.rows, q.cols)
        for i in range(q.rows):
            for j in range(q.cols):
                x, y = q[i, j], self.Y[i, j]
                square = 2 * (x - y)
                out[i, j] = square if self.loss == "square" else 1 / (1 + mp.exp(-x)) - y + 2 * self.tau * x
        return out

    def bend(self, x: mp.mpf) -> mp.mpf:
        p = 1 / (1 + mp.exp(-x))
        return mp.mpf(2) if self.loss == "square" else p * (1 - p) + 2 * self.tau

    def value(self, q: mp.matrix) -> mp.mpf:
        total = mp.mpf(0)
        for i in range(q.rows):
            for j in range(q.cols):
                x, y = q[i, j], self.Y[i, j]
                plain = mp.log(1 + mp.exp(-abs(x))) + max(x, mp.mpf(0)) - y * x + self.tau * x**2
                total += (x - y) ** 2 if self.loss == "square" else plain
        return total

    def J(self, k: int) -> mp.matrix:
        s = self.S[:, k]
        return mp.diag(list(s)) - s * s.T

    def D(self) -> mp.matrix:
        """Eq. (8), written out."""
        N = self.m * self.outputs
        D = mp.matrix(N, N)
        for k in range(self.m):
            u = self.V.T[:, k]
            C = mp.eye(self.outputs) + self.gamma**2 * self.Z * self.J(k) * self.J(k).T * self.Z.T
            D += kron(u * u.T, C)
        return D

    def lambda_min_D(self) -> mp.mpf:
        return min(mp.eigsy(self.D(), eigvals_only=True))

    def norm_1(self, M: mp.matrix) -> mp.mpf:
        return max(mp.fsum(abs(M[i, j]) for i in range(M.rows)) for j in range(M.cols))

    def norm(self, M: mp.matrix) -> mp.mpf:
        return mp.sqrt(mp.fsum(x**2 for x in M))

    def spectral(self, M: mp.matrix) -> mp.mpf:
        return mp.sqrt(max(mp.eigsy(M * M.T, eigvals_only=True)))


def kron(a: mp.matrix, b: mp.matrix) -> mp.matrix:
    out = mp.matrix(a.rows * b.rows, a.cols * b.cols)
    for i in range(out.rows):
        for j in range(out.cols):
            out[i, j] = a[i // b.rows, j // b.cols] * b[i % b.rows, j % b.cols]
    return out


def vec(W: mp.matrix) -> mp.matrix:
    return mp.matrix([W[i, j] for j in range(W.cols) for i in range(W.rows)])


@pytest.fixture(params=SMALL, ids=list(SMALL))
def pair(request: pytest.FixtureRequest) -> tuple[LinearPoint, Truth]:
    point = SMALL[request.param]
    return point, Truth(point)


# --- enclosures contain the truth ---------------------------------------------------------------------


def test_exponential_is_as_good_as_promised() -> None:
    mp.mp.dps = DIGITS
    rng = np.random.default_rng(1)
    x = np.concatenate([-rng.random(300) * 700, -(10.0 ** -rng.random(100) * 20), [0.0, -700.0, -1e-300]])
    found = numerics.exponential(t(x)).tolist()
    u = mp.mpf(2) ** -53
    worst = max(abs(mp.mpf(y) / mp.exp(mp.mpf(v)) - 1) / u for v, y in zip(x.tolist(), found, strict=True))
    assert worst <= numerics.EXP_UNITS
    assert worst > 0.4  # a bound far above what happens would hide mistakes


def test_softmax_and_inverse(pair: tuple[LinearPoint, Truth]) -> None:
    point, truth = pair
    r = point.resolvent
    for near, exact in ((r.sigma, truth.S), (r.U, truth.U), (r.inverse, truth.V), (point.Z, truth.Z)):
        distance = truth.norm(real(near.value) - exact)
        lo, hi = near.radius.floats()
        assert lo == 0 and distance <= hi
        assert hi < 1e-9 * (1 + float(near.value.norm()))


def test_every_enclosure_contains_the_truth(pair: tuple[LinearPoint, Truth]) -> None:
    point, truth = pair
    v = vec(truth.G)
    expected = {
        q.norm_sigma_1: mp.mpf(1),
        q.norm_inverse_1: truth.norm_1(truth.V),
        q.norm_U: truth.spectral(truth.U),
        q.norm_Z_1: truth.norm_1(truth.Z),
        q.norm_B_1: truth.norm_1(real(point.model.B)),
        q.loss: truth.value(truth.q),
        q.gradient_norm: truth.norm(truth.G),
        q.decay: (v.T * truth.D() * v)[0],
        q.lambda_min_D: truth.lambda_min_D(),
    }
    usual = 1e-8 if point.model.gamma < 0.99 else 1e-5  # ||U^-1|| is up to 1000 there
    for quantity, value in expected.items():
        enclosure = quantity.measure(point, rigor.CHEAP)
        assert inside(enclosure, value), quantity
        assert narrow(enclosure, 0.2 if quantity is q.lambda_min_D else usual), quantity


def test_lambda_min_D_is_sharp_for_one_output_and_for_more_outputs_than_width() -> None:
    """With m_y >= m all J_k annihilate one common vector, so that 1/||U||^2 is attained."""
    for name in ("one output", "more outputs than width", "logistic", "width one", "sharp softmax"):
        assert SMALL[name].lambda_min_D.relative_width() < 1e-9, name


def test_iterates_approach_the_limit(pair: tuple[LinearPoint, Truth]) -> None:
    point, truth = pair
    steps = int(q.transitions.measure(point, 0).midpoint())
    z = truth.Phi
    for _ in range(steps):
        z = truth.gamma * (truth.S * z) + truth.Phi
    off = z - truth.V * truth.Phi
    worst = max(truth.norm_1(off[:, i]) / truth.norm_1(truth.Phi[:, i]) for i in range(off.cols))
    found = q.iterate_distance.measure(point, 0)
    assert inside(found, worst)
    assert found.relative_width() < 1e-3


def test_infimum_of_the_square_loss() -> None:
    for point in (SMALL["one output"], SMALL["several outputs"], SMALL["more width than samples"]):
        truth = Truth(point)
        n, m = truth.Phi.cols, truth.Phi.rows
        best = mp.mpf(0)
        if m < n:
            W = truth.Y * truth.Phi.T * mp.inverse(truth.Phi * truth.Phi.T)
            best = truth.value(W * truth.Phi)
        found = point.infimum(rigor.CHEAP)
        assert inside(found, best) and narrow(found, 1e-10)


def newton(truth: Truth) -> mp.mpf:
    W = mp.matrix(1, truth.m)
    for _ in range(30):
        out = W * truth.Phi
        g = truth.slope(out) * truth.Phi.T
        H = truth.Phi * mp.diag([truth.bend(x) for x in out]) * truth.Phi.T
        W = W - mp.lu_solve(H, g.T).T
    return truth.value(W * truth.Phi)


def test_infimum_of_the_logistic_loss() -> None:
    point = SMALL["logistic"]
    truth = Truth(point)
    best = newton(truth)
    found = point.infimum(rigor.CHEAP)
    assert inside(found, best) and found.relative_width() < 1e-11
    wide = replace(point, radius_R=1e3, _infima={})
    assert inside(wide.infimum(0), best) and wide.infimum(0).relative_width() < 1e-9


@pytest.mark.parametrize("radius", [0.05, 0.3, 10.0])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_infimum_on_an_interval(loss: str, radius: float) -> None:
    """Width one: L_0 is convex in one number, so the minimum over |w| <= R is at the clamped minimiser."""
    point = make(1, 1, 7, loss, tau=0.2 if loss == "logistic" else 0.0, radius_R=radius, seed=3)
    truth = Truth(point)
    w = mp.findroot(lambda w: (truth.slope(w * truth.Phi) * truth.Phi.T)[0], 0.1, tol=1e-60)
    clamped = max(-mp.mpf(radius), min(mp.mpf(radius), w))
    found = point.infimum(rigor.CHEAP)
    assert inside(found, truth.value(clamped * truth.Phi)) and found.relative_width() < 1e-9


def test_infimum_on_a_ball_of_several_outputs() -> None:
    point = replace(SMALL["several outputs"], radius_R=0.2, _infima={})
    found, free = point.infimum(rigor.CHEAP), SMALL["several outputs"].infimum(rigor.CHEAP)
    assert found.relative_width() < 1e-8
    assert (found > free) is HOLDS  # the ball binds
    rng = np.random.default_rng(0)
    for _ in range(200):  # nothing in the ball is better
        W = _project(t(rng.standard_normal((2, 3))), 0.2)
        assert float(objective("square", W @ point.objective.Phi, point.objective.Y, 0)) >= found.floats()[0]


def test_rho_and_kappa() -> None:
    mp.mp.dps = DIGITS
    point = make(3, 1, 8, "logistic", radius_R=0.7)
    size = max(mp.fsum(abs(x) for x in real(point.objective.Phi)[:, i]) for i in range(8))
    p = 1 / (1 + mp.exp(-mp.mpf(0.7) * size))
    found = q.rho.measure(point, 0)
    assert inside(found, p * (1 - p)) and found.relative_width() < 1e-12
    s2 = min(mp.eigsy(real(point.objective.Phi) * real(point.objective.Phi).T, eigvals_only=True))
    kappa = q.kappa.measure(point, rigor.THOROUGH)
    assert inside(kappa, p * (1 - p) * s2) and narrow(kappa)
    assert q.rho.measure(SMALL["logistic"], 0).floats() == (0.0, 0.0)


def test_PL_inequality_holds_all_over_the_ball() -> None:
    """Definition 1 with the kappa of the corollaries, at random W: what Appendices A.3 and A.4 prove."""
    rng = np.random.default_rng(2)
    for point in (
        SMALL["several outputs"],
        SMALL["more width than samples"],
        make(3, 1, 8, "logistic", radius_R=0.7),
        make(3, 1, 8, "logistic", tau=0.1),
    ):
        kappa, best = q.kappa.measure(point, 1).floats()[0], point.infimum(1).floats()[1]
        assert kappa > 0
        for _ in range(100):
            shape = tuple(point.model.B.shape)
            W = _project(t(rng.standard_normal(shape)), min(point.radius_R, 1e6))
            out = point.objective.outputs(Near.exact(W))
            slope = point.objective.gradient(out).norm().floats()[1]
            assert slope**2 / 2 >= kappa * (point.objective.value(out).floats()[0] - best)


def test_rank_is_decided_exactly_where_floats_cannot() -> None:
    Phi = np.random.default_rng(0).standard_normal((3, 9))
    Phi[2] = Phi[0] * 0.5 - Phi[1] * 0.25 * 0
    deficient = Objective(t(Phi), t(np.zeros((1, 9))), "square")
    assert deficient.sigma_min(rigor.PRECISE).floats() == (0.0, 0.0)
    assert deficient.sigma_min(rigor.CHEAP).floats()[1] > 0
    Phi[2, 0] += 1e-9
    nearly = Objective(t(Phi), t(np.zeros((1, 9))), "square")
    assert (nearly.sigma_min(rigor.PRECISE) > 0) is not FAILS
    assert nearly.sigma_min(rigor.PRECISE).floats()[1] > 0


# --- Theorem 2 at high precision ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one output", "logistic", "sharp softmax", "width one"])
def test_trust_region_quantities(name: str) -> None:
    point = SMALL[name]
    truth = Truth(point)
    m, g2 = truth.m, truth.gamma**2
    S = mp.diag([1 + g2 * truth.norm(truth.J(k) * truth.Z.T) ** 2 for k in range(m)])
    states = truth.V * truth.Phi
    F = states * mp.diag([truth.bend(x) for x in truth.q]) * states.T
    root = S.apply(mp.sqrt)
    assert inside(point.norm_SF, max(mp.eigsy(root * F * root, eigvals_only=True)))
    assert narrow(point.norm_SF)
    G = truth.U * (S**-1 - mp.mpf(point.delta) * F) * truth.U.T
    smallest = min(mp.eigsy(G, eigvals_only=True))
    assert smallest > 0 and inside(point.lambda_min_G, smallest) and narrow(point.lambda_min_G, 1e-6)
    v = mp.matrix([x * mp.mpf(point.delta) for x in -(truth.D() * vec(truth.G))])
    near = point.apply_G(point.velocity.T.times(point.delta))
    assert truth.norm(real(near.value) - G * v) <= near.radius.floats()[1]
    H = truth.Phi * mp.diag([truth.bend(x) for x in truth.q]) * truth.Phi.T
    residual = truth.norm(vec(truth.G) + H * v + G * v / mp.mpf(point.delta))
    assert residual < mp.mpf(10) ** (15 - DIGITS)  # Theorem 2 at 70 digits
    assert point.kkt_residual.floats()[0] == 0
    assert (point.kkt_residual <= 1e-6 * point.G.norm()) is HOLDS


# --- formulas against autograd ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one output", "several outputs", "logistic", "sharp softmax"])
def test_gradients_and_flow_against_autograd(name: str) -> None:
    point = SMALL[name]
    A, B = (w.clone().requires_grad_() for w in (point.model.A, point.model.B))
    model = LinearImplicit(A, B, point.model.gamma)
    o = point.objective
    value = objective(o.loss, model.predict(o.Phi), o.Y, o.tau)
    assert point.loss.widen(1e-9 * value.item()).contains(value.item())
    dA, dB = torch.autograd.grad(value, (A, B))
    for near, auto in zip(point.gradients, (dA, dB), strict=True):
        assert torch.allclose(near.value, auto, rtol=1e-8, atol=1e-9 * float(auto.norm()))

    def weights(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return b @ torch.linalg.inv(LinearImplicit(a, b, point.model.gamma).U())

    _, moved = torch.autograd.functional.jvp(weights, (point.model.A, point.model.B), (-dA, -dB))
    assert torch.allclose(point.velocity.value, moved, rtol=1e-7, atol=1e-9 * float(moved.norm()))
    assert (point.flow_residual <= 1e-9 * point.velocity.norm()) is HOLDS


def test_D_as_an_operator_is_the_explicit_matrix() -> None:
    for name in ("one output", "several outputs", "more outputs than width"):
        point = SMALL[name]
        truth, W = Truth(point), Near.exact(torch.randn(point.Z.value.shape, dtype=torch.float64,
                                                        generator=torch.Generator().manual_seed(0)))  # fmt: skip
        found = numerics.apply_D(point.resolvent, point.Z, W)
        exact = truth.D() * vec(real(W.value))
        distance = truth.norm(vec(real(found.value)) - exact)
        assert distance <= found.radius.floats()[1] < 1e-10 * float(found.value.norm())
        form = numerics.quadratic(point.resolvent, point.Z, W)
        assert inside(form, (vec(real(W.value)).T * exact)[0]) and narrow(form)


def test_nothing_of_size_m_squared_by_m_squared_is_built() -> None:
    """At m = m_y = 400 the explicit D would take 200 gigabytes."""
    point = make(400, 400, 50)
    found = point.lambda_min_D
    assert (found >= Enclosure.exact(1) / (400 * Enclosure.exact(1.8) ** 2)) is HOLDS
    assert found.relative_width() < 0.01


# --- matrices near a float matrix --------------------------------------------------------------------------


def test_near_contains_the_exact_result_of_a_chain() -> None:
    mp.mp.dps = DIGITS
    rng = np.random.default_rng(4)
    for scale in (1.0, 1e-160, 1e150):
        x, y, d = (t(rng.standard_normal(s)) for s in ((3, 4), (4, 3), (1, 3)))
        x = x * scale
        near = (Near.exact(x) @ Near.exact(y)) * Near.exact(d) - Near.exact(x[:, :3]).times(0.3)
        exact = real(x) * real(y)
        for i in range(3):
            for j in range(3):
                exact[i, j] = exact[i, j] * mp.mpf(float(d[0, j])) - mp.mpf(0.3) * mp.mpf(float(x[i, j]))
        off = mp.sqrt(mp.fsum(v**2 for v in real(near.value) - exact))
        assert off <= near.radius.floats()[1] <= 1e-13 * float(x.abs().max())
        lengths, error = near.column_squares()
        for j in range(3):
            true = mp.fsum(exact[i, j] ** 2 for i in range(3))
            assert abs(true - mp.mpf(float(lengths[j]))) <= error.floats()[1]


def test_near_radius_can_fail() -> None:
    near = Near.exact(t([[1.0, 2.0]])) @ Near.exact(t([[3.0], [4.0]]))
    assert near.radius.floats()[1] < 1e-13 < abs(11.0 + 1e-12 - float(near.value))


# --- verdicts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_default_run_holds(key: str) -> None:
    result = check.verify(f"kawaguchi-{key}", dict(library.theorem(f"kawaguchi-{key}").quick))
    assert result.outcome is Outcome.APPLIES
    assert all(line.verdict in (HOLDS, None) for line in (*result.hypotheses, *result.conclusions))
    assert sum(line.verdict is HOLDS for line in result.conclusions) >= 2


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("pl", {"loss": "logistic", "radius": "20"}),
        ("pl", {"radius": "30", "targets": "labels"}),
        ("logistic", {"tau": "0", "radius": "3"}),
        ("trust-region", {"loss": "logistic", "tau": "0"}),
        ("square", {"width": "30", "samples": "20"}),
        ("square", {"init": "identity"}),
        ("wellposed", {"gamma": "0.01", "phi": "relu", "width": "7"}),
        ("wellposed", {"gamma": "0.99"}),
    ],
)
def test_other_settings_hold(key: str, settings: dict[str, str]) -> None:
    assert check.verify(f"kawaguchi-{key}", {"samples": "100", **settings}).verdict is HOLDS


def failing(key: str, settings: dict[str, str]) -> set[str]:
    result = check.verify(f"kawaguchi-{key}", settings)
    assert result.verdict is FAILS and result.outcome is Outcome.DOES_NOT_APPLY
    return {h.id for h in result.hypotheses if h.verdict is FAILS}


def test_hypotheses_can_fail(tmp_path: Path) -> None:
    assert failing("pl", {"samples": "50", "radius": "0.5"}) == {"‖B₀‖₁ < (1−γ)R"}
    assert failing("logistic", {"samples": "50", "radius": "0.5"}) == {"‖B₀‖₁ < (1−γ)R"}
    assert failing("logistic", {"samples": "9"}) == {"rank(Φ) = m"}
    assert failing("trust-region", {"samples": "50", "delta": "1"}) == {"δ ≤ δ̄"}
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X = np.concatenate([X, X[:, :1]], axis=1)  # one feature twice
    path = tmp_path / "twice.npz"
    np.savez(path, X=X, y=rng.standard_normal(20))
    file = {"data": str(path)}
    assert failing("square", file) == {"rank(Φ) = min(n, m)"}


def test_the_trust_region_bound_is_where_G_turns_indefinite() -> None:
    point = SMALL["one output"]
    edge = 1 / point.norm_SF.midpoint()
    inner, outer = (replace(point, delta_given=edge * f) for f in (1 - 1e-6, 1 + 1e-6))
    assert (q.delta.measure(inner, 0) * inner.norm_SF < 1) is HOLDS and (inner.lambda_min_G > 0) is HOLDS
    assert (q.delta.measure(outer, 0) * outer.norm_SF < 1) is FAILS
    assert (outer.lambda_min_G > 0) is not HOLDS


def verdict_of(key: str, conclusion: str, point: LinearPoint) -> object:
    """One conclusion of a statement at a point that may have been tampered with."""
    theorem = library.theorem(f"kawaguchi-{key}")
    values = check.measure(theorem, point, rigor.CHEAP)
    for symbol, choice in theorem.chosen.items():
        values[symbol] = evaluate(choice.of, values)
    claim = next(c.claim for c in theorem.conclusions if c.id == conclusion)
    return judge(claim, extend(values, theorem.definitions)).truth


def test_conclusions_can_fail() -> None:
    """Each check notices a wrong model, a wrong gradient or a wrong velocity."""
    honest = make(4, 1, 6)
    wrong = make(4, 1, 6)
    S, e = numerics.softmax_columns(wrong.model.A)
    wrong.resolvent.__dict__["_softmax"] = (1.3 * S, e)
    for line in ("contraction", "(36)", "‖U⁻¹‖₁"):
        assert verdict_of("wellposed", line, honest) is HOLDS
        assert verdict_of("wellposed", line, wrong) is FAILS
    bent = make(4, 1, 6)
    bent.__dict__["velocity"] = honest.velocity.times(1.001)
    assert verdict_of("trust-region", "(26)", bent) is FAILS
    assert verdict_of("trust-region", "(34)", bent) is FAILS
    slow = make(4, 1, 6)
    slow.__dict__["gradients"] = tuple(g.times(1e-3) for g in honest.gradients)
    for key, line in (("pl", "(7) at t = 0"), ("square", "Corollary 1 at t = 0")):
        assert verdict_of(key, line, honest) is HOLDS
        assert verdict_of(key, line, slow) is FAILS
    small = make(4, 1, 6)
    small.__dict__["lambda_min_D"] = Enclosure.exact(0.01)
    assert verdict_of("square", "λ_min(D₀)", small) is FAILS


# --- the bounds along a path -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_flow_keeps_what_is_promised(loss: str) -> None:
    """Runge-Kutta in floats: the accuracy is reached by T, and lambda_T bounds lambda_min(D_t) from below."""
    tau = 0.1 if loss == "logistic" else 0.0
    point = make(3, 1, 12, loss, gamma=0.3, tau=tau, horizon=0.05, accuracy=0.1)
    theorem = library.theorem(f"kawaguchi-{loss}")
    values = check.measure(theorem, point, rigor.CHEAP)
    values = extend(values, theorem.definitions)
    named = {s.name: v.floats()[0] for s, v in values.items()}
    time = named["T_any"]  # shorter than the printed T
    assert 0 < time < named["T"]
    gap = evaluate(theorem.rate.gap, values).floats()[0]
    o, gamma = point.objective, point.model.gamma

    def at(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return objective(o.loss, LinearImplicit(A, B, gamma).predict(o.Phi), o.Y, o.tau)

    def slope(w: list[torch.Tensor]) -> list[torch.Tensor]:
        w = [x.detach().requires_grad_() for x in w]
        return [-x for x in torch.autograd.grad(at(*w), w)]

    def ahead(w: list[torch.Tensor], s: float, k: list[torch.Tensor]) -> list[torch.Tensor]:
        return [x + s * d for x, d in zip(w, k, strict=True)]

    w = [point.model.A, point.model.B]
    steps = math.ceil(40 * max(time, 1.0) / time)
    inner = math.ceil(time / steps / 0.004)
    h, elapsed = time / steps / inner, 0.0
    for _ in range(steps):
        for _ in range(inner):
            k1 = slope(w)
            k2 = slope(ahead(w, h / 2, k1))
            k3 = slope(ahead(w, h / 2, k2))
            k4 = slope(ahead(w, h, k3))
            mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
            w = ahead(w, h, mean)
            elapsed += h
        now = replace(point, model=LinearImplicit(*w, gamma), _infima={})
        lowest = now.lambda_min_D.floats()
        assert lowest[0] >= named["lambda_low"]
        if elapsed <= point.horizon:
            assert lowest[1] >= named["lambda_T"]
            allowed = (named["L_0"] - named["L_star"]) * math.exp(-gap * elapsed)
            assert now.loss.floats()[0] - named["L_star"] <= allowed * (1 + 1e-6)
    assert now.loss.floats()[1] - named["L_star"] <= point.accuracy


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "settings", "word"),
    [
        ("wellposed", {"gamma": "1"}, "between 0 and 1"),
        ("wellposed", {"gamma": "0"}, "between 0 and 1"),
        ("square", {"gamma": "-0.5"}, "between 0 and 1"),
        ("square", {"gamma": "nan"}, "finite"),
        ("square", {"width": "0"}, "at least 1"),
        ("square", {"samples": "0"}, "at least 1"),
        ("square", {"width": "7", "phi": "identity"}, "width = dim"),
        ("square", {"accuracy": "0"}, "positive"),
        ("square", {"horizon": "-1"}, "positive"),
        ("square", {"loss": "logistic"}, "loss"),
        ("square", {"init": "zeros"}, "init"),
        ("pl", {"loss": "hinge"}, "hinge"),
        ("pl", {"tau": "0.1"}, "logistic"),
        ("pl", {"radius": "0"}, "positive"),
        ("pl", {"loss": "logistic", "tau": "0"}, "rate at 0"),
        ("logistic", {"tau": "-1"}, "negative"),
        ("logistic", {"tau": "0"}, "rate at 0"),
        ("logistic", {"targets": "labels"}, "{0, 1}"),
        ("logistic", {"targets": "regression"}, "one output"),
        ("trust-region", {"delta": "0"}, "positive"),
        ("trust-region", {"delta": "-1"}, "positive"),
        ("trust-region", {"targets": "regression"}, "one output"),
        ("trust-region", {"radius": "1"}, "radius"),
    ],
)
def test_bad_parameters_are_refused(key: str, settings: dict[str, str], word: str) -> None:
    with pytest.raises(InputError) as error:
        check.verify(f"kawaguchi-{key}", {"samples": "20", **settings})
    assert word in str(error.value) and str(error.value).count(".") <= 4


def test_labels_of_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "labels.npz"
    file = {"data": str(path)}
    X = rng.standard_normal((30, 3))
    np.savez(path, X=X, y=rng.integers(0, 2, 30))
    assert check.verify("kawaguchi-logistic", file).verdict is HOLDS
    assert check.verify("kawaguchi-square", file).verdict is HOLDS
    with pytest.raises(InputError, match="gaussian"):
        check.verify("kawaguchi-square", {**file, "inputs": "gaussian"})
    np.savez(path, X=X, y=rng.integers(0, 3, 30))
    with pytest.raises(InputError, match=r"\{0, 1\}"):
        check.verify("kawaguchi-logistic", file)


def test_gaussian_rows_are_standard_normal() -> None:
    """Unit rows times chi radii: mean square 1 per entry, and norms that are not all equal."""
    family = __import__("deqcheck.family.kawaguchi", fromlist=["FAMILY"]).FAMILY
    theorem = library.theorem("kawaguchi-square")
    settings = family.complete(theorem, {"samples": "4000"})
    data = check.load_data(family, settings, "cpu")
    Phi = family.build(data, settings, "cpu").objective.Phi
    assert abs(float((Phi**2).mean()) - 1) < 0.03
    assert abs(float((Phi**4).mean()) - 3) < 0.3
    unit = family.build(data, {**settings, "inputs": "unit"}, "cpu").objective.Phi
    assert torch.allclose(unit.norm(dim=0), torch.ones(4000, dtype=torch.float64))


def test_statements_do_not_import_torch() -> None:
    code = "import sys; from deqcheck import library; library.theorem('kawaguchi-pl');sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
