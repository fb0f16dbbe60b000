"""Gao & Gao: what the audit says of the printed proofs, and the sharper statement tested on real training runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import mpmath as mp
import numpy as np
import pytest
import torch
from sympy import Rational, Symbol, lambdify
from sympy.core.relational import Relational

from deqcheck import check, library
from deqcheck.audit.inspect import _decide, _premises
from deqcheck.audit.pool import Pool
from deqcheck.audit.problem import Problem, is_witness
from deqcheck.audit.prove import Finding, Status
from deqcheck.family.relu import ReluPoint
from deqcheck.models.relu import ReluImplicit, unrolled
from deqcheck.statement import Step, Theorem
from deqcheck.truth import HOLDS

t = library._module(library.folder() / "relu_implicit.py")
GD, GF, SHARP = t.GD_RELU, t.GF_RELU, t.GD_SHARP
PROVED, REFUTED = Status.PROVED, Status.REFUTED


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as children:
        yield children


def step(theorem: Theorem, name: str) -> Step:
    return next(s for s in theorem.proof if s.id == name)


def decided(pool: Pool, theorem: Theorem, name: str, claim: Relational | None = None, without: str = "") -> Finding:
    """The finding on a step, on another claim in its place, or on the step with one premise less."""
    found = step(theorem, name)
    found = replace(found, since=tuple(s for s in found.since if s != without))
    meant = found.claim if found.fix is None else found.fix
    return _decide(pool, theorem, found, meant if claim is None else claim)


# --- the steps ---------------------------------------------------------------------------------------


def test_every_step_of_the_sharper_proof_is_proved(pool: Pool) -> None:
    findings = pool.each([partial(decided, pool, SHARP, s.id) for s in SHARP.proof])
    assert {s.id: f.method for s, f in zip(SHARP.proof, findings, strict=True) if f.status is not PROVED} == {}


@pytest.mark.parametrize(
    ("theorem", "name"),
    [
        (GD, "(18) c"),
        (GD, "(20) second"),
        (GD, "A.6 β is real"),
        (GD, "A.6 η/(1 − β)"),
        (GD, "(43)"),
        (GD, "A.6 Z drift ≤ α₀/2"),
        (GD, "A.6 Q₁"),
        (GD, "A.6 L(k+1)"),
        (GD, "A.6 by (20)"),
        (GD, "A.6 (iii)"),
        (GD, "note (18) is implied"),
        (GD, "note 4/α₀² never binds"),
        (GD, "note rate"),
        (GD, "note γ"),
        (GD, "note η λ₃"),
        (GF, "A.4 b drift ≤ C₃"),
        (GF, "A.4 speed"),
        (GF, "A.4 (ii)"),
        (GF, "A.4 (iii)"),
        (t.RELU_WELLPOSED, "A.1 Cauchy"),
        (t.RELU_LIPSCHITZ, "(16)"),
        (t.RELU_NONNEGATIVE, "5.2 ‖Z(0)‖ exceeds K‖X‖_F"),
        (t.RELU_NTK, "4.1 decay"),
    ],
)
def test_key_steps_of_the_print_are_proved(pool: Pool, theorem: Theorem, name: str) -> None:
    assert step(theorem, name).fix is None
    assert decided(pool, theorem, name).status is PROVED


@pytest.mark.parametrize(
    ("theorem", "name"),
    [
        (GD, "(38)"),
        (GD, "A.6 ‖W(k+1)‖"),
        (GD, "A.6 A sum"),
        (GD, "A.6 Z sum"),
        (GF, "A.4 Z drift"),
        (GF, "A.4 dL/dt"),
        (t.RELU_WELLPOSED, "A.1 contraction"),
        (t.RELU_LIPSCHITZ, "A.5 display"),
        (t.RELU_LIPSCHITZ, "A.5 first term"),
        (t.RELU_LIPSCHITZ, "A.5 second term"),
        (t.RELU_NONNEGATIVE, "5.1 γ after scaling"),
        (t.RELU_NONNEGATIVE, "5.2 ‖A(0)‖"),
        (t.RELU_NONNEGATIVE, "5.2 ‖Z(0)‖"),
        (t.RELU_GRADIENT, "(29)"),
        (t.RELU_NTK, "4.1 σ_min(M)"),
        (t.RELU_NTK, "4.1 σ_min(Π)"),
    ],
)
def test_slips_are_refuted_as_printed_and_proved_as_meant(pool: Pool, theorem: Theorem, name: str) -> None:
    printed = step(theorem, name)
    found = decided(pool, theorem, name, printed.claim)
    assert found.status is REFUTED
    premises = _premises(theorem, printed, {})
    known = [p for p in premises if p.free_symbols <= found.witness.keys()]
    assert is_witness(Problem(tuple(known), printed.claim), found.witness)
    assert decided(pool, theorem, name).status is PROVED


@pytest.mark.parametrize(
    ("theorem", "name", "claim"),
    [
        (GD, "A.6 by (19)", 32 * t.Q2 <= t.alpha0**2),
        (GD, "A.6 Z drift ≤ α₀/2", t.Y1 <= t.alpha0 / 4),
        (GD, "A.6 η/(1 − β)", t.eta / (1 - t.beta) <= 4 / t.alpha0**2),
        (GD, "A.6 b drift ≤ C₃", t.D1 <= t.C3 / 2),
        (GD, "note Nηα₀²", t.N * (t.eta * t.alpha0**2) < Rational(1, 4)),
        (GF, "A.4 b drift ≤ C₃", t.Db <= t.C3 / 2),
        (GF, "A.4 (iii)", t.dLdt <= -(t.alpha0**2) * (t.e**2 / 2)),
        (SHARP, "b crude", t.mu * t.D1 <= 2 * t.sigma * t.r0),
        (SHARP, "η λ_max", t.eta * t.eig < Rational(1, 2)),
        (SHARP, "contraction bound", t.cont <= 1 - 2 * t.eta * t.sigma**2),
        (SHARP, "residual", t.e1 <= (1 - 2 * t.eta * t.mu) * t.e),
        (SHARP, "path 1", t.kept**2 <= t.e**2 - 2 * t.eta * t.gb**2),
        (SHARP, "b drift", t.mu * t.D1 <= t.sigma * t.r0),
        (SHARP, "(ii)", t.Zt >= t.sigma + t.delta),
        (SHARP, "(iii)", t.L1 <= (1 - 2 * t.eta * t.mu) * t.L0),
    ],
)
def test_a_falsified_step_is_refuted(pool: Pool, theorem: Theorem, name: str, claim: Relational) -> None:
    found = decided(pool, theorem, name, claim)
    assert (found.status, found.method) == (REFUTED, found.method)
    assert found.witness


@pytest.mark.parametrize(
    ("theorem", "name", "premise"),
    [
        (GD, "(17) x", "(17)"),
        (GD, "A.6 by (19)", "(19) x"),
        (GD, "A.6 by (20)", "(20) Q₁"),
        (GD, "A.6 (i) b", "triangle b"),
        (GD, "note γ 2", "note N and λ₁"),
        (GF, "A.4 Z drift ≤ α₀/2", "(15) c"),
        (GF, "A.4 λ_min(H)", "A.4 (ii)"),
        (SHARP, "b radius", "b"),
        (SHARP, "Z 1", "Z"),
        (SHARP, "A h", "A"),
        (SHARP, "ηζ² < 1", "step"),
        (SHARP, "σ > 0", "δ < α₀"),
        (SHARP, "h > 0", "γ₀ < 1"),
        (SHARP, "W radius", "μ > 0"),
        (SHARP, "contraction bound", "η λ_max"),
        (SHARP, "‖Z(s)‖", "Z drift at s"),
        (SHARP, "h‖Q⁻¹‖", "γ‖A(s)‖"),
        (SHARP, "path 5", "residual > 0"),
        (SHARP, "b so far, next", "path"),
    ],
)
def test_a_step_without_a_premise_it_needs_is_not_proved(pool: Pool, theorem: Theorem, name: str, premise: str) -> None:
    assert premise in step(theorem, name).since
    assert decided(pool, theorem, name).status is PROVED
    assert decided(pool, theorem, name, without=premise).status is not PROVED


def test_18_is_idle_and_only_because_of_17_and_19(pool: Pool) -> None:
    assert [s.id for s in GD.proof if "(18)" in s.since] == ["(18) c"]
    assert decided(pool, GD, "(18) c", without="(18)").status is PROVED
    assert decided(pool, GD, "(18) c", without="note (18) is implied").status is PROVED
    bare = replace(step(GD, "(18) c"), since=("x", "c_Z", "1 − γ₀ > 0", "A.6 c_Z > 0"))
    assert _decide(pool, GD, bare, bare.claim).status is not PROVED


def test_the_induction_of_the_sharper_proof_closes() -> None:
    """Each inductive fact at s is a step at k + 1, or a hypothesis of weaker form."""
    known = {f.id: f.claim for f in SHARP.facts}
    steps = {s.id: s.claim for s in SHARP.proof}
    carried = {
        "(i) A at s": ("(i) A", {t.As: t.At}),
        "b drift at s": ("b drift", {t.D0: t.D1}),
        "Z drift at s": ("Z radius", {t.Y0: t.Y1}),
        "(iii) at s": ("residual decays", {t.e: t.e1, t.ps: t.qk * t.ps}),
        "b so far": ("b so far, next", {t.D0: t.D1, t.e: t.e1, t.sum0: t.sum1}),
        "W so far": ("W sum", {t.W0: t.W1, t.sum0: t.sum1}),
        "A so far": ("A sum", {t.E0: t.E1, t.sum0: t.sum1}),
        "Z so far": ("Z sum", {t.Y0: t.Y1, t.sum0: t.sum1}),
    }
    inductive = {f.id for f in SHARP.facts if "induct" in f.text}
    assert inductive == carried.keys()
    for fact, (name, moved) in carried.items():
        assert known[fact].subs(moved, simultaneous=True) == steps[name], fact
        later = [s.id for s in SHARP.proof].index(name)
        assert all(name not in s.since for s in SHARP.proof[:later])


# --- a missing hypothesis under the usual reading of sigma_min -----------------------------------------


def test_with_the_usual_smallest_singular_value_and_m_below_n_the_print_is_false() -> None:
    """m = 1 < N = 2: sigma_min(Z) read as the one singular value ||Z||. All of it in exact rationals."""
    F = Fraction
    X, y, W, A, b, gamma = (F(3, 5), F(4, 5)), (F(-4, 5), F(3, 5)), F(100), F(1), F(0), F(1, 100)
    eta = F(1, 10**8)
    C = F(1)
    Z = tuple(x * W / (1 - gamma * A) for x in X)
    assert all(z == max(0, gamma * z * A + max(0, x * W)) for z, x in zip(Z, X, strict=True))
    assert all(gamma * z * A + x * W > 0 and x * W > 0 for z, x in zip(Z, X, strict=True))  # no kink nearby
    error = tuple(z * b - label for z, label in zip(Z, y, strict=True))
    known = {t.N: 2, t.gamma: gamma, t.nW: W, t.nA: A, t.nb: b, t.C1: C, t.C2: C, t.C3: C, t.eta: eta}
    roots = {t.alpha0: (sum(z**2 for z in Z), W / (1 - gamma * A)), t.XF: (sum(x**2 for x in X), F(1))}
    roots[t.r0] = (sum(v**2 for v in error), F(1))
    for symbol, (square, root) in roots.items():
        assert root**2 == square
        known[symbol] = root
    exact = {s: Rational(F(v).numerator, F(v).denominator) for s, v in known.items()}
    for theorem in (GD, GF):
        for hypothesis in theorem.hypotheses:
            assert hypothesis.claim is not None
            assert theorem.expand(hypothesis.claim).subs(exact) == True, hypothesis.id  # noqa: E712
    # Lemma 3.2 for m = 1, with every unit active: the gradients of the smooth function 1/2 ||Zb - y||^2.
    back = [v * b / (1 - gamma * A) for v in error]
    gradients = (
        sum(x * v for x, v in zip(X, back, strict=True)),
        gamma * sum(z * v for z, v in zip(Z, back, strict=True)),
        sum(z * v for z, v in zip(Z, error, strict=True)),
    )
    assert gradients == (0, 0, 0)
    after = [p - eta * g for p, g in zip((W, A, b), gradients, strict=True)]
    assert after == [W, A, b]
    loss = sum(v**2 for v in error) / 2
    assert loss == F(1, 2)
    assert not loss <= (1 - eta * roots[t.alpha0][1] ** 2 / 4) * loss  # (iii) of Theorem 4.4 at k = 1
    assert t.NARROW in GD.reading
    assert t.NARROW in GF.reading
    # Read as the proof needs it, sigma_min is 0 and the theorem does not speak of this instance.
    weights = (torch.tensor([[100.0]]), torch.tensor([[1.0]]), torch.tensor([0.0]))
    model = ReluImplicit(*(w.double() for w in weights), 0.01)
    point = ReluPoint(model, torch.tensor([[0.6], [0.8]]).double(), torch.tensor([-0.8, 0.6]).double())
    assert t.q.sigma_min_equilibrium.measure(point, 0).floats() == (0.0, 0.0)


# --- the sharper statement on training runs ------------------------------------------------------------

DIGITS = 40
FLOAT = torch.float64
CLOSE = mp.mpf(10) ** -25
Numbers = dict[Symbol, mp.mpf]


@dataclass(frozen=True)
class Exact:
    """The network in 40 digits."""

    W: mp.matrix
    A: mp.matrix
    b: mp.matrix
    X: mp.matrix
    y: mp.matrix
    gamma: mp.mpf

    def equilibrium(self, start: mp.matrix | None = None) -> mp.matrix:
        Phi = relu(self.X * self.W)
        Z = Phi if start is None else start
        while True:
            after = relu(self.gamma * (Z * self.A) + Phi)
            if fro(after - Z) <= mp.mpf(10) ** (2 - DIGITS) * fro(after):
                return after
            Z = after

    def gradients(self, Z: mp.matrix) -> tuple[mp.matrix, mp.matrix, mp.matrix]:
        """Eqs. (7)-(9) through the adjoint iteration."""
        e = Z * self.b - self.y
        features = self.X * self.W
        inner = self.gamma * (Z * self.A) + relu(features)
        D, E = (M.apply(lambda v: mp.mpf(v > 0)) for M in (inner, features))
        G = e * self.b.T
        V = after = times(D, G)
        for _ in range(400):
            after = times(D, G + self.gamma * (V * self.A.T))
            if fro(after - V) <= mp.mpf(10) ** (2 - DIGITS) * fro(after):
                break
            V = after
        return self.X.T * times(E, after), self.gamma * (Z.T * after), Z.T * e

    def scaled(self, beta: mp.mpf) -> Exact:
        """W and A times beta, gamma divided by it: Z is multiplied by beta. b stays."""
        return replace(self, W=beta * self.W, A=beta * self.A, gamma=self.gamma / beta)


def relu(M: mp.matrix) -> mp.matrix:
    return M.apply(lambda v: max(v, mp.mpf(0)))


def times(M: mp.matrix, other: mp.matrix) -> mp.matrix:
    out = M.copy()
    for i in range(M.rows):
        for j in range(M.cols):
            out[i, j] = M[i, j] * other[i, j]
    return out


def fro(M: mp.matrix) -> mp.mpf:
    return mp.sqrt(sum(v * v for v in M))


def singular(M: mp.matrix) -> list[mp.mpf]:
    """Singular values by the smaller Gram matrix, smallest first."""
    gram = M * M.T if M.rows <= M.cols else M.T * M
    return sorted(mp.sqrt(max(v, mp.mpf(0))) for v in mp.eigsy(gram, eigvals_only=True))


def draw(seed: int, n: int = 2, d: int = 3, m: int = 5) -> Exact:
    """Random weights (A of both signs, b zero or not), with features of full rank."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, m))
    gamma = rng.uniform(0.05, 0.35) / np.linalg.norm(A, 2)
    b = 1e-3 * (seed % 2) * rng.standard_normal(m)
    while True:
        W, X, y = (rng.standard_normal(shape) for shape in ((d, m), (n, d), (n,)))
        if np.linalg.svd(np.maximum(X @ W, 0))[1][-1] > 0.3:
            break
    return Exact(*(mp.matrix(v.tolist()) for v in (W, A, b, X, y)), mp.mpf(gamma))


def measured(net: Exact) -> Numbers:
    Z = net.equilibrium()
    values = singular(Z)
    assert Z.rows <= Z.cols
    return {
        t.alpha0: values[0],
        t.nZ: values[-1],
        t.nW: singular(net.W)[-1],
        t.nA: singular(net.A)[-1],
        t.nb: fro(net.b),
        t.Xop: singular(net.X)[-1],
        t.r0: fro(Z * net.b - net.y),
        t.gamma: net.gamma,
        t.N: mp.mpf(Z.rows),
    }


VALUE = {
    s: lambdify(list(SHARP.measured) + list(SHARP.chosen), SHARP.expand(s), "mpmath")
    for s in (t.mu, t.sigma, t.zeta, t.K, t.lam2, t.lam3, t.gamma0)
}
RULE = {
    h.id: lambdify(list(SHARP.measured) + list(SHARP.chosen), SHARP.expand(h.claim), "mpmath") for h in SHARP.hypotheses
}


def at(values: Numbers) -> list[mp.mpf]:
    return [values[s] for s in (*SHARP.measured, *SHARP.chosen)]


def smallest_constants(known: Numbers) -> Numbers | None:
    """C_2, C_3 and delta at which the hypotheses b, A and Z are equalities to 25 digits; None if there are none."""
    now = {**known, t.C2: mp.mpf(0), t.C3: mp.mpf(0), t.delta: mp.mpf(0), t.eta: mp.mpf(0)}
    for _ in range(600):
        v = {s: f(*at(now)) for s, f in VALUE.items()}
        if v[t.mu] <= 0 or v[t.gamma0] >= 1 or v[t.sigma] <= 0:
            return None
        after = {
            t.C3: 3 * v[t.sigma] * known[t.r0] / v[t.mu],
            t.C2: known[t.gamma] * v[t.zeta] * v[t.lam3] * known[t.r0] / (v[t.mu] * (1 - v[t.gamma0])),
            t.delta: v[t.lam3] * v[t.K] * known[t.r0] / v[t.mu],
        }
        after = {s: value * (1 + CLOSE) for s, value in after.items()}
        moved = max(abs(after[s] - now[s]) / (after[s] or 1) for s in after)
        now |= after
        if moved < CLOSE**1.2:
            break
    else:
        return None
    now[t.eta] = (1 - CLOSE) / VALUE[t.zeta](*at(now)) ** 2
    return now


def at_a_tie(start: Exact) -> tuple[Exact, Numbers]:
    """The network at about the smallest scale at which the hypotheses can hold."""
    low, high = mp.mpf(0), mp.mpf(4)
    for _ in range(6):
        middle = (low + high) / 2
        holds = smallest_constants(measured(start.scaled(mp.mpf(10) ** middle))) is not None
        low, high = (low, middle) if holds else (middle, high)
    net = start.scaled(mp.mpf(10) ** high)
    values = smallest_constants(measured(net))
    assert values is not None
    return net, values


@pytest.mark.parametrize("seed", range(6))
def test_training_at_a_tie_obeys_the_sharper_statement_and_every_bound_of_its_proof(seed: int) -> None:
    with mp.workdps(DIGITS):
        net, values = at_a_tie(draw(seed))
        assert all(rule(*at(values)) for rule in RULE.values())
        for s in (t.C2, t.C3, t.delta):  # and only just: each constant is at its tie
            assert not all(rule(*at({**values, s: values[s] * (1 - mp.mpf(10) ** -6)})) for rule in RULE.values())
        v = {s: f(*at(values)) for s, f in VALUE.items()}
        mu, sigma, zeta, K, lam3, h = v[t.mu], v[t.sigma], v[t.zeta], v[t.K], v[t.lam3], 1 - v[t.gamma0]
        eta, r0, nX = values[t.eta], values[t.r0], values[t.Xop]
        more = 1 + mp.mpf(10) ** -20
        Z0 = Z = net.equilibrium()
        path = mp.mpf(0)
        for _k in range(12):
            e = Z * net.b - net.y
            size = fro(e)
            gW, gA, gb = net.gradients(Z)
            # the gradients
            assert fro(gW) <= nX / h * lam3 * size * more
            assert fro(gA) <= net.gamma * zeta / h * lam3 * size * more
            assert sigma * size <= fro(gb) * more
            assert fro(gb) <= zeta * size * more
            after = replace(net, W=net.W - eta * gW, A=net.A - eta * gA, b=net.b - eta * gb)
            Zn = after.equilibrium(Z)
            en = Zn * after.b - after.y
            # e' = (I - eta Z Z^T) e + (Z' - Z) b', and the bounds on both parts
            kept = e - eta * (Z * (Z.T * e))
            assert fro(en - kept - (Zn - Z) * after.b) <= mp.mpf(10) ** -30 * zeta
            assert fro(kept) <= (1 - eta * sigma**2) * size * more
            assert fro(kept) ** 2 <= (size**2 - eta * fro(gb) ** 2) * more
            moved = net.gamma * singular(Z)[-1] * fro(after.A - net.A) + nX * fro(after.W - net.W)
            assert fro(Zn - Z) * (1 - net.gamma * singular(after.A)[-1]) <= moved * more + mp.mpf(10) ** -30 * zeta
            assert fro(Zn - Z) <= eta * K * lam3 * size * more + mp.mpf(10) ** -30 * zeta
            assert sigma * eta * fro(gb) <= (2 * (size - fro(en)) + 2 * eta * lam3**2 * K * size) * more
            # what is promised, at k + 1
            path += eta * fro(gb)
            assert fro(en) <= (1 - eta * mu) * size * more
            assert mu * path <= 2 * sigma * r0 * more
            assert fro(Zn - Z0) <= values[t.delta] * more
            assert fro(after.b) <= lam3 * more
            assert singular(after.A)[-1] <= v[t.lam2] * more
            assert singular(after.W)[-1] <= (values[t.nW] + lam3 * nX * r0 / (h * mu)) * more
            assert singular(Zn)[0] * more >= sigma
            net, Z = after, Zn


@pytest.mark.parametrize("seed", range(4))
def test_the_new_quantities_enclose_the_exact_norms_and_scale_as_they_say(seed: int) -> None:
    with mp.workdps(DIGITS):
        net = draw(seed)
        parts = (net.W, net.A, net.b, net.X, net.y)
        W, A, b, X, y = (torch.tensor([[float(v) for v in row] for row in p.tolist()], dtype=FLOAT) for p in parts)
        start = ReluPoint(ReluImplicit(W, A, b[:, 0], float(net.gamma)), X, y[:, 0])
        for beta in (1.0, 64.0):  # a power of two: scaling rounds nothing
            point, scaled = start.scaled(beta), net.scaled(mp.mpf(beta))
            for q, true in (
                (t.q.norm_equilibrium, singular(scaled.equilibrium())[-1]),
                (t.q.norm_inputs, singular(scaled.X)[-1]),
            ):
                low, high = q.measure(point, 0).floats()
                assert low <= true <= high
                assert high - low <= 1e-8 * high
                before = q.measure(start, 0).midpoint()
                assert q.scaled(start, before, beta) == pytest.approx(float(true), rel=1e-9)


def test_the_gradients_used_above_are_those_of_autograd() -> None:
    with mp.workdps(DIGITS):
        net = replace(draw(1), b=mp.matrix([1, -2, 3, 1, -1]))
        parts = (net.W, net.A, net.b, net.X, net.y)
        W, A, b, X, y = (torch.tensor([[float(v) for v in row] for row in p.tolist()], dtype=FLOAT) for p in parts)
        model = ReluImplicit(W, A, b[:, 0], float(net.gamma))
        prediction, leaves = unrolled(model, X, 200)
        wanted = torch.autograd.grad(((prediction - y[:, 0]) ** 2).sum() / 2, (leaves.W, leaves.A, leaves.b))
        for ours, theirs in zip(net.gradients(net.equilibrium()), wanted, strict=True):
            flat = torch.tensor([float(v) for v in ours], dtype=FLOAT)
            torch.testing.assert_close(flat, theirs.reshape(-1), rtol=1e-10, atol=1e-12)


def test_a_step_above_the_limit_breaks_the_promise() -> None:
    """With y such that the residual is a top singular vector, three times the limit doubles the residual."""
    with mp.workdps(DIGITS):
        net = draw(0)
        net = replace(net, b=mp.zeros(net.A.rows, 1))
        Z = net.equilibrium()
        values, vectors = mp.eigsy(Z * Z.T)
        top = max(range(len(values)), key=lambda i: values[i])
        net, values = at_a_tie(replace(net, y=vectors[:, top]))
        Z = net.equilibrium()
        for times_limit, grows in ((1, False), (3, True)):
            _, _, gb = net.gradients(Z)
            after = Z * (net.b - times_limit * values[t.eta] * gb) - net.y  # b = 0: W and A do not move
            assert (fro(after) > fro(net.y)) is grows


def test_the_quick_instance_holds_and_guarantees_far_more_than_the_print() -> None:
    sharp, printed = (check.verify(key, quick=True) for key in ("gd-relu:sharp", "gd-relu"))
    assert sharp.verdict is printed.verdict is HOLDS
    assert sharp.rate is not None
    assert printed.rate is not None
    assert sharp.rate.one_minus_rate.floats()[0] > 1e5 * printed.rate.one_minus_rate.floats()[1]
    assert float(str(sharp.instance["scale"])) < float(str(printed.instance["scale"])) / 10


def test_the_sharper_key_is_in_the_catalogue() -> None:
    assert library.theorem("gd-relu:sharp").proof == SHARP.proof
