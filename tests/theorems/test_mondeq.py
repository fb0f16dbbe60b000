"""The monotone DEQ: formulas against autograd and Kronecker forms, enclosures against exact truth, verdicts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import torch

from deqcheck import check, library
from deqcheck.data import Data
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import mondeq as proof
from deqcheck.equilibrium import mondeq_derivative as derivative
from deqcheck.equilibrium import mondeq_splitting as splitting
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError
from deqcheck.family.mondeq import FAMILY, MonPoint
from deqcheck.models.mondeq import INITIALISATIONS, MonDEQ
from deqcheck.quantities import mondeq as q
from deqcheck.statement import Status, Theorem
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Outcome, Result

KEYS = (
    "mondeq-wellposed", "mondeq-gradient", "mondeq-resolvent", "mondeq-resolvent:repaired",
    "mondeq-lipschitz", "mondeq-gf", "mondeq-gd", "mondeq-gd:repaired",
    "mondeq-gd:m1", "mondeq-gd:sharp",
)  # fmt: skip
SMALL = {"width": "24", "samples": "10", "dim": "8"}


def tensor(x: object) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


def point(n: int = 5, samples: int = 3, d: int = 4, m: float = 1.0, size: float = 0.5, seed: int = 0) -> MonPoint:
    rng = np.random.default_rng([seed, n, samples, d])
    A, B, U, u, X, y = (
        tensor(rng.standard_normal(s)) for s in ((n, n), (n, n), (n, d), (n,), (samples, d), (samples,))
    )  # fmt: skip
    return MonPoint(MonDEQ(size * A, size * B, U, u, m), X, y)


def line(result: Result, number: str) -> object:
    return next(x for x in (*result.hypotheses, *result.conclusions) if x.id == number)


def verdict(result: Result, number: str) -> object:
    return line(result, number).verdict  # type: ignore[attr-defined]


# --- every key runs --------------------------------------------------------------------------------

EXPECTED = {
    "mondeq-wellposed": HOLDS,
    "mondeq-gradient": HOLDS,
    "mondeq-resolvent:repaired": HOLDS,
    "mondeq-lipschitz": HOLDS,
    "mondeq-gf": FAILS,
    "mondeq-gd": FAILS,
    "mondeq-gd:repaired": FAILS,
}


@pytest.mark.parametrize("key", EXPECTED)
def test_every_key_ends_in_a_verdict(key: str) -> None:
    result = check.verify(key, SMALL)
    assert result.verdict is EXPECTED[key]
    assert result.reading
    assert all(x.verdict is not None or x.status in (Status.ASSUMED, Status.IMPLIED)
               for x in (*result.hypotheses, *result.conclusions))  # fmt: skip


def test_keys_are_in_the_catalogue() -> None:
    assert set(KEYS) <= set(library.catalogue())
    assert all(library.theorem(k).source.authors == "Nguyen" for k in KEYS)


# A = B = 0 makes Proposition 3 an equality, which no enclosure decides.
@pytest.mark.parametrize("init", [name for name in INITIALISATIONS if name != "signed"])
@pytest.mark.parametrize("m", ["1", "0.05", "7"])
def test_true_lemmas_hold_whatever_the_start(init: str, m: str) -> None:
    for key in ("mondeq-wellposed", "mondeq-lipschitz", "mondeq-resolvent:repaired"):
        assert check.verify(key, {**SMALL, "init": init, "m": m}).verdict is HOLDS


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", ["1", "0.001"])
def test_gradient_formulas_agree(seed: int, m: str) -> None:
    assert check.verify("mondeq-gradient", {**SMALL, "seed": str(seed), "m": m}).verdict is HOLDS


# --- formulas against explicit Kronecker matrices ---------------------------------------------------


def commutation(n: int) -> torch.Tensor:
    """K vec[A] = vec[A^T] for column-stacking vec."""
    K = torch.zeros(n * n, n * n, dtype=torch.float64)
    for i, j in itertools.product(range(n), repeat=2):
        K[j + i * n, i + j * n] = 1
    return K


def vec(x: torch.Tensor) -> torch.Tensor:
    return x.T.reshape(-1)


def explicit(p: MonPoint) -> dict[str, torch.Tensor]:
    """Every matrix of Section 3.2.3 as printed (with (I_N kron u^T)), in the thesis's layout Z in R^{n x N}."""
    n, samples = p.model.A.shape[0], p.X.shape[0]
    eye = torch.eye(n, dtype=torch.float64)
    W, Z, X = p.model.W, p.Z.T, p.X.T
    D = torch.diag(vec((W @ Z + p.model.U @ X > 0).double()))
    K = commutation(n)
    PA = -(torch.eye(n * n).double() + K) @ torch.kron(eye, p.model.A.T.contiguous())
    PB = torch.eye(n * n).double() - K
    Q = torch.eye(n * samples).double() - D @ torch.kron(torch.eye(samples).double(), W)
    out = torch.kron(torch.eye(samples).double(), p.model.u[None])
    ZI, XI = torch.kron(Z.T.contiguous(), eye), torch.kron(X.T.contiguous(), eye)
    front = out @ torch.linalg.inv(Q) @ D
    return {
        "Q": Q, "D": D, "PA": PA, "PB": PB, "out": out, "ZI": ZI, "XI": XI,
        "JA": front @ ZI @ PA, "JB": front @ ZI @ PB, "JU": front @ XI, "Z": Z,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_structured_operators_are_the_kronecker_ones(seed: int) -> None:
    p = point(seed=seed)
    e = explicit(p)
    rng = np.random.default_rng(seed)
    dA, dB = (tensor(rng.standard_normal((5, 5))) for _ in range(2))
    dU, dZ = tensor(rng.standard_normal((5, 4))), tensor(rng.standard_normal((3, 5)))
    dW = derivative.change_of_weights(p.model, dA, dB)
    torch.testing.assert_close(vec(dW), e["PA"] @ vec(dA) + e["PB"] @ vec(dB))
    change = e["D"] @ (e["ZI"] @ vec(dW) + e["XI"] @ vec(dU))
    torch.testing.assert_close(
        vec(derivative.layer_change(p.model, p.X, p.Z, dZ, (dA, dB, dU)).T),
        e["Q"] @ vec(dZ.T) - change,
    )
    torch.testing.assert_close(
        vec(derivative.equilibrium_change(p.model, p.X, p.Z, p.pattern.active, (dA, dB, dU)).T),
        torch.linalg.solve(e["Q"], change),
    )
    r = p.model.predict(p.Z) - p.y
    gA, gB, gU, gu = derivative.gradient(p.model, p.X, p.Z, p.adjoint.G, r)
    torch.testing.assert_close(vec(gA), e["JA"].T @ r)
    torch.testing.assert_close(vec(gB), e["JB"].T @ r)
    torch.testing.assert_close(vec(gU), e["JU"].T @ r)
    torch.testing.assert_close(gu, e["Z"] @ r)
    K = sum(e[j] @ e[j].T for j in ("JA", "JB", "JU")) + e["Z"].T @ e["Z"]
    torch.testing.assert_close(derivative.kernel(p.model, p.X, p.Z, p.adjoint.G), K)


def test_the_printed_order_of_the_output_factor_is_another_operator() -> None:
    """(u^T kron I_N) vec[Z] is not the prediction; (I_N kron u^T) vec[Z] is."""
    p = point()
    e = explicit(p)
    printed = torch.kron(p.model.u[None], torch.eye(3).double())
    torch.testing.assert_close(e["out"] @ vec(e["Z"]), p.model.predict(p.Z))
    assert float((printed @ vec(e["Z"]) - p.model.predict(p.Z)).norm()) > 0.1


def test_kernel_is_that_of_autograd_row_by_row() -> None:
    p = point(n=6, samples=4)
    alpha, count = derivative.schedule(p.model, p.X, p.Z, p.weights.lipschitz.floats()[1])
    solve = derivative.unrolled(p.model, p.X, alpha, count)
    theta = [t.clone().requires_grad_() for t in (p.model.A, p.model.B, p.model.U, p.model.u)]
    prediction = solve(*theta[:3]) @ theta[3]
    J = torch.stack([
        torch.cat([g.reshape(-1) for g in torch.autograd.grad(t, theta, retain_graph=True)])
        for t in prediction
    ])  # fmt: skip
    torch.testing.assert_close(derivative.kernel(p.model, p.X, p.Z, p.adjoint.G), J @ J.T)


def _flipped(model: MonDEQ, dA: torch.Tensor, dB: torch.Tensor) -> torch.Tensor:
    product = model.A.T @ dA
    return product + product.T + dB - dB.T


def test_a_wrong_sign_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The appendix's copy of Lemma 3.2.2 has the sign of the A-part reversed."""
    monkeypatch.setattr(derivative, "change_of_weights", _flipped)
    result = check.verify("mondeq-gradient", SMALL)
    assert result.outcome is Outcome.COUNTEREXAMPLE
    assert verdict(result, "Lemma 3.2.1") is FAILS
    assert verdict(result, "Lemma 3.2.2") is FAILS
    assert verdict(result, "Lemma 3.2.3") is HOLDS


@pytest.mark.parametrize(("name", "number"), [("gradient", "Lemma 3.2.3"), ("kernel", "Prop. 4")])
def test_a_wrong_formula_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, number: str) -> None:
    right: Callable[..., object] = getattr(derivative, name)

    def wrong(model: MonDEQ, X: torch.Tensor, Z: torch.Tensor, G: torch.Tensor, *r: torch.Tensor) -> object:
        return right(model, X, Z, G * (1 + 1e-6), *r)

    monkeypatch.setattr(derivative, name, wrong)
    assert verdict(check.verify("mondeq-gradient", SMALL), number) is FAILS


# --- enclosures against exact truth ----------------------------------------------------------------


def rational(x: torch.Tensor) -> list[list[Fraction]]:
    return [[Fraction(t) for t in row] for row in x.tolist()]


def exact_W(model: MonDEQ) -> list[list[Fraction]]:
    A, B, n = rational(model.A), rational(model.B), model.A.shape[0]
    m = Fraction(model.m)
    return [
        [
            (1 - m) * (i == j) - sum(A[k][i] * A[k][j] for k in range(n)) + B[i][j] - B[j][i]
            for j in range(n)
        ]
        for i in range(n)
    ]  # fmt: skip


def truth(p: MonPoint) -> list[list[Fraction]]:
    """The exact equilibrium in rationals: the linear system of the active units, verified entry by entry."""
    W, n = exact_W(p.model), p.model.A.shape[0]
    U, X = rational(p.model.U), rational(p.X)
    rows = []
    for i, x in enumerate(X):
        c = [sum(a * b for a, b in zip(row, x, strict=True)) for row in U]
        active = [j for j in range(n) if bool(p.pattern.active[i, j])]
        z = [Fraction(0)] * n
        if active:
            matrix = flint.fmpq_mat([
                [flint.fmpq((v := (a == b) - W[a][b]).numerator, v.denominator) for b in active]
                for a in active
            ])  # fmt: skip
            right = flint.fmpq_mat([[flint.fmpq(c[a].numerator, c[a].denominator)] for a in active])
            solution = matrix.solve(right)
            for k, a in enumerate(active):
                z[a] = Fraction(int(solution[k, 0].p), int(solution[k, 0].q))
        layer = [max(Fraction(0), sum(w * t for w, t in zip(W[a], z, strict=True)) + c[a]) for a in range(n)]
        assert layer == z, "the pattern is wrong"
        rows.append(z)
    return rows


def distance_squared(x: torch.Tensor, exact: list[list[Fraction]]) -> Fraction:
    pairs = zip(itertools.chain(*rational(x)), itertools.chain(*exact), strict=True)
    return sum(((a - b) ** 2 for a, b in pairs), Fraction(0))


def high(x: list[list[Fraction]]) -> mpmath.matrix:
    return mpmath.matrix([[mpmath.mpf(t.numerator) / t.denominator for t in row] for row in x])


def holds_number(enclosure: Enclosure, value: mpmath.mpf) -> bool:
    lo, hi = (mpmath.mpf(f.numerator) / f.denominator for f in enclosure.fractions())
    return bool(lo * (1 - mpmath.mpf(10) ** -50) <= value <= hi * (1 + mpmath.mpf(10) ** -50))


CASES = [
    {"n": 1, "samples": 1, "d": 1},
    {"n": 4, "samples": 3, "d": 2},
    {"n": 6, "samples": 4, "d": 3, "m": 1e-3},
    {"n": 6, "samples": 3, "d": 3, "size": 30.0},
    {"n": 6, "samples": 3, "d": 3, "size": 1e-6, "m": 0.3},
    {"n": 5, "samples": 3, "d": 3, "m": 1e6},
    {"n": 7, "samples": 2, "d": 3, "size": 100.0, "m": 1e-2},
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_enclosures_contain_the_truth(case: dict[str, float], seed: int) -> None:
    p = point(**case, seed=seed)  # type: ignore[arg-type]
    n, samples = p.model.A.shape[0], p.X.shape[0]
    W, Z = exact_W(p.model), truth(p)
    with mpmath.workdps(80):
        slip = distance_squared(p.model.W, W)
        assert slip <= p.weights.slip.fractions()[1] ** 2
        off = distance_squared(p.Z, Z)
        assert off <= p.radius.fractions()[1] ** 2
        Wm, eye = high(W), mpmath.eye(n)
        F = eye - Wm
        spectrum = mpmath.eigsy((F + F.T) / 2, eigvals_only=True)
        for e in (p.bottom, p.weights.monotone):
            assert holds_number(e, min(spectrum))
        singular = mpmath.svd_r(F, compute_uv=False)
        assert holds_number(p.weights.lipschitz, max(singular))
        T = eye - mpmath.mpf(p.alpha) * F
        assert holds_number(q.lipschitz_forward.measure(p, 0), max(mpmath.svd_r(T, compute_uv=False)))
        Zm = high(Z)
        for effort in range(3):
            assert holds_number(q.frobenius_norm_equilibrium.measure(p, effort), mpmath.norm(Zm, 2))
            if samples <= n:
                s = min(mpmath.svd_r(Zm, compute_uv=False))
                assert holds_number(q.sigma_min_equilibrium.measure(p, effort), s)
            u = high([[t] for t in rational(p.model.u[None])[0]])
            y = high([[t] for t in rational(p.y[None])[0]])
            assert holds_number(q.initial_residual.measure(p, effort), mpmath.norm(Zm * u - y))
        pre = Zm * Wm.T + high(rational(p.X)) * high(rational(p.model.U)).T
        assert holds_number(p.pattern.gap, min(abs(t) for t in pre))
        assert p.pattern.certain
        carried, active = [], []
        for i in range(samples):
            J = mpmath.diag([int(pre[i, j] > 0) for j in range(n)])
            v = mpmath.lu_solve(eye - Wm.T * J, u)
            carried.append(mpmath.norm(v))
            active.append(mpmath.norm(J * v))
        assert holds_number(q.norm_carried.measure(p, 0), max(carried))
        assert holds_number(q.norm_carried_active.measure(p, 0), max(active))
        assert q.norm_carried.measure(p, 0).relative_width() < 1e-5
        size = q.frobenius_norm_equilibrium.measure(p, 0)
        assert size.relative_width() < 1e-5 or max(abs(t) for t in Zm) == 0
        assert p.weights.lipschitz.relative_width() < 1e-10


@pytest.mark.parametrize("seed", range(2))
def test_pair_enclosures_contain_the_truth(seed: int) -> None:
    a = replace(point(seed=seed), distance=0.2, seed=seed)
    b = a.neighbour
    with mpmath.workdps(60):
        Z, W = [high(truth(p)) for p in (b, a)], [high(exact_W(p.model)) for p in (b, a)]
        assert holds_number(q.distance_equilibria.measure(a, 0), mpmath.norm(Z[0] - Z[1], 2))
        top = max(mpmath.svd_r(W[0] - W[1], compute_uv=False))
        assert holds_number(q.distance_W.measure(a, 0), top)
        u = [high([[t] for t in rational(p.model.u[None])[0]]) for p in (b, a)]
        gap = mpmath.norm(Z[0] * u[0] - Z[1] * u[1])
        assert holds_number(q.distance_predictions.measure(a, 0), gap)
        for measure, name in ((q.distance_A, "A"), (q.distance_B, "B"), (q.distance_U, "U")):
            d = high(rational(getattr(b.model, name))) - high(rational(getattr(a.model, name)))
            tall = d.T if d.rows < d.cols else d
            assert holds_number(measure.measure(a, 0), max(mpmath.svd_r(tall, compute_uv=False)))


def test_radius_covers_a_bad_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof must not trust the solver: a guess that is off makes the ball larger, never wrong."""
    p = point(n=6, samples=3)
    Z = truth(p)
    right = splitting.solve

    def bad(*args: object, **kwargs: object) -> object:
        found = right(*args, **kwargs)  # type: ignore[arg-type]
        return replace(found, Z=found.Z + 0.01)

    monkeypatch.setattr(splitting, "solve", bad)
    worse = replace(p)
    off = distance_squared(worse.Z, Z)
    assert Fraction(10) ** -6 < off <= worse.radius.fractions()[1] ** 2


def test_a_clustered_spectrum_still_has_a_narrow_norm() -> None:
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((150, 150)))
    values = 1 - np.linspace(0, 1e-4, 150)
    x = tensor((Q * values) @ Q.T)
    norm = proof.operator_norm(x)
    assert norm.relative_width() < 1e-9
    assert norm.floats()[0] <= 1 + 1e-12
    assert norm.floats()[1] >= 1 - 1e-12


def test_uncertain_pattern_decides_nothing() -> None:
    """A sample at the origin has every pre-activation at 0, where D does not exist."""
    p = replace(point(), X=torch.zeros(3, 4, dtype=torch.float64))
    assert not p.pattern.certain
    assert not q.norm_carried.measure(p, 0).is_finite
    assert (q.kink_distance.measure(p, 0) > 0) is not HOLDS


# --- solvers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1.0, 0.02])
def test_splitting_newton_and_forward_backward_agree(m: float) -> None:
    p = point(n=8, samples=5, m=m)
    C = p.model.injection(p.X)
    L = p.weights.lipschitz.floats()[1]
    found = splitting.solve(p.model, C, L).Z
    polished = splitting.newton(p.model, C, torch.zeros_like(C))
    torch.testing.assert_close(polished, found)
    Z = torch.zeros_like(C)
    for _ in range(20_000):
        Z = torch.relu(Z - (1 / L**2) * max(m, 0.5) * (Z - Z @ p.model.W.T - C))
    torch.testing.assert_close(Z, found, rtol=1e-6, atol=1e-8)


def test_newton_takes_over_when_splitting_is_slow() -> None:
    p = point(n=30, samples=6, m=1e-4, size=2.0)
    assert p.equilibrium.method == "Peaceman-Rachford and Newton"
    assert (p.radius < 1e-4) is HOLDS


def test_unreached_equilibrium_says_so() -> None:
    p = point(n=10)
    with pytest.raises(NotConverged):
        splitting.solve(p.model, p.model.injection(p.X), p.weights.lipschitz.floats()[1], limit=7)


# --- each check can fail ---------------------------------------------------------------------------


def bend(monkeypatch: pytest.MonkeyPatch, key: str, name: str, change: Callable[[Enclosure], Enclosure]) -> Result:
    """The verdict on `key` when one measured quantity comes out changed."""
    right = library.theorem(key)
    symbol = right.symbols[name]
    quantity = right.measured[symbol]
    bent = replace(quantity, measure=lambda p, e: change(quantity.measure(p, e)))
    wrong: Theorem = replace(right, measured={**right.measured, symbol: bent})
    monkeypatch.setattr(library, "theorem", lambda _key: wrong)
    return check.verify(key, SMALL)


@pytest.mark.parametrize(
    ("key", "name", "number", "factor"),
    [
        ("mondeq-wellposed", "lambda_min_F", "Prop. 1 ⇐", 0.99),
        ("mondeq-wellposed", "L_T", "Prop. 3", 1.2),
        ("mondeq-wellposed", "L_T", "Prop. 3 α", 2),
        ("mondeq-wellposed", "norm_Z_F", "Lemma 3.3.3", 100),
        ("mondeq-resolvent:repaired", "norm_uQD", "Lemma 3.3.2", 10),
        ("mondeq-lipschitz", "diff_Z", "(3.15)", 1000),
        ("mondeq-lipschitz", "diff_y", "Lemma 3.3.4", 1000),
        ("mondeq-lipschitz", "diff_W", "Lemma 3.3.6", 10),
    ],
)
def test_a_conclusion_can_fail(
    monkeypatch: pytest.MonkeyPatch, key: str, name: str, number: str, factor: float
) -> None:
    result = bend(monkeypatch, key, name, lambda e: e * factor)
    assert result.outcome is Outcome.COUNTEREXAMPLE
    assert verdict(result, number) is FAILS


def test_rebuilding_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    result = bend(monkeypatch, "mondeq-wellposed", "rebuilt", lambda e: e + 1)
    assert verdict(result, "Prop. 1 ⇒") is FAILS


def test_a_W_that_is_not_monotone_enough_is_noticed() -> None:
    """Proposition 1 is checked on W itself: moving W down the diagonal shows in the eigenvalue."""
    p = point(m=1.0)
    assert (p.bottom >= 1) is HOLDS
    spoiled = MonDEQ(p.model.A, p.model.B, p.model.U, p.model.u, 1.0)
    worst = torch.linalg.eigh(p.model.A.T @ p.model.A)[1][:, 0]
    # A frozen dataclass keeps a cached W in its __dict__; what counts is what the check reads.
    spoiled.__dict__["W"] = p.model.W + 0.5 * torch.outer(worst, worst)
    bottom = proof.symmetric_bottom(spoiled, p.weights.slip)
    assert (bottom >= 1) is FAILS


def test_step_outside_its_interval_does_not_apply() -> None:
    result = check.verify("mondeq-wellposed", {**SMALL, "alpha": "1"})
    assert result.outcome is Outcome.DOES_NOT_APPLY
    assert verdict(result, "α < 2m/L²") is FAILS


# --- Lemma 3.3.2 is false --------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "m"), [(1.0, 1.0), (3.0, 0.25), (0.1, 4.0), (50.0, 0.5)])
def test_lemma_3_3_2_is_false_for_every_m(b: float, m: float) -> None:
    """A = 0, one unit active, u = (1, 0): sqrt(1 + b^2)/m against 1/m; with D it is 1/m again."""
    zero = torch.zeros(2, 2, dtype=torch.float64)
    B, U = tensor([[0, b], [0, 0]]), tensor([[1.0], [-1.0]])
    p = MonPoint(MonDEQ(zero, B, U, tensor([1.0, 0.0]), m), tensor([[1.0]]), tensor([1.0]))
    assert p.pattern.active.tolist() == [[True, False]]
    assert p.pattern.certain
    carried, active = q.norm_carried.measure(p, 0), q.norm_carried_active.measure(p, 0)
    bound = q.norm_u.measure(p, 0) / Enclosure.exact(m)
    assert (carried <= bound) is FAILS
    assert carried.overlaps((1 + Enclosure.exact(b) ** 2).sqrt() / Enclosure.exact(m))
    assert active.overlaps(1 / Enclosure.exact(m))


def test_lemma_3_3_2_fails_on_a_random_network_and_the_repair_holds() -> None:
    settings = {"width": "100", "samples": "50", "dim": "100", "init": "normal"}
    result = check.verify("mondeq-resolvent", settings)
    assert result.outcome is Outcome.COUNTEREXAMPLE
    assert check.verify("mondeq-resolvent:repaired", settings).verdict is HOLDS


# --- the training theorems -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_printed_gd_condition_cannot_hold_at_m_1(seed: int) -> None:
    result = check.verify("mondeq-gd", {**SMALL, "seed": str(seed)})
    assert verdict(result, "(3.18)") is FAILS
    assert "no choice" in line(result, "(3.18)").note  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", CASES)
def test_lemma_3_3_3_bounds_lambda_0(case: dict[str, float]) -> None:
    """N lambda_0^2 <= ||X||^2 ||U||^2 / m^2, from which (3.18) needs 20 N m^2 <= 1."""
    p = point(**case)  # type: ignore[arg-type]
    left = p.X.shape[0] * q.sigma_min_equilibrium.measure(p, 1) ** 2
    right = (q.frobenius_norm_inputs.measure(p, 0) * q.norm_U.measure(p, 0) / p.model.m) ** 2
    assert (left <= right * Fraction(1 + 10**12, 10**12)) is HOLDS


def values(theorem: Theorem, given: dict[str, Fraction]) -> dict[object, object]:
    import sympy

    return {theorem.symbols[k]: sympy.Rational(v.numerator, v.denominator) for k, v in given.items()}


def satisfied(theorem: Theorem, given: dict[str, Fraction]) -> bool:
    """Every hypothesis in exact rationals."""
    known = values(theorem, given)
    claims = [h.claim for h in theorem.hypotheses if h.claim is not None]
    return all(theorem.expand(c).subs(known) == True for c in claims)  # noqa: E712 - sympy's true


def scalar_step(
    theta: tuple[Fraction, Fraction, Fraction], m: Fraction, y: Fraction, eta: Fraction
) -> tuple[tuple[Fraction, Fraction, Fraction], Fraction]:
    """n = N = d = 1, x = 1, U > 0: f = u U / (m + a^2); one exact step of gradient descent and the loss before it."""
    a, U, u = theta
    s = m + a * a
    r = u * U / s - y
    new = (a + eta * r * u * U * 2 * a / s**2, U - eta * r * u / s, u - eta * r * U / s)
    assert new[1] > 0
    return new, r * r / 2


def test_theorem_3_3_5_as_printed_is_false_where_it_applies() -> None:
    """The witness of the docstring, with the theorem's own hypotheses evaluated in exact rationals."""
    m, y = Fraction(1, 10), Fraction(1, 1000)
    eta = Fraction(1, 25) * Fraction(999, 1000)
    given = {
        "lambda_0": Fraction(10), "m": m, "norm_A": Fraction(0), "norm_B": Fraction(0),
        "norm_U": Fraction(1), "norm_u": Fraction(0), "norm_X_F": Fraction(1), "r_0": y,
        "n": Fraction(1), "N": Fraction(1), "R_A": Fraction(1, 10), "R_B": Fraction(1),
        "R_U": Fraction(1, 10), "R_u": Fraction(1, 100), "eta": eta,
    }  # fmt: skip
    assert satisfied(library.theorem("mondeq-gd"), given)
    start = (Fraction(0), Fraction(1), Fraction(0))
    after, before = scalar_step(start, m, y, eta)
    _, loss = scalar_step(after, m, y, eta)
    promised = (1 - eta * given["lambda_0"] ** 2 / 4) * before
    assert loss > 8 * before > promised
    assert not satisfied(library.theorem("mondeq-gd:repaired"), given), "the repair refuses this step"


@pytest.mark.parametrize("seed", range(6))
def test_repaired_gd_keeps_its_promise_in_exact_arithmetic(seed: int) -> None:
    """Scalar networks that meet the repaired conditions, stepped in rationals."""
    rng = np.random.default_rng(seed)
    repaired = library.theorem("mondeq-gd:repaired")
    m = Fraction(int(rng.integers(1, 30)), 10)
    a = Fraction(int(rng.integers(0, 10)), 20)
    U = Fraction(int(rng.integers(2, 50)))
    u = Fraction(int(rng.integers(-5, 6)), 10**5)
    s = m + a * a
    y = u * U / s + Fraction(int(rng.integers(1, 100)) * (-1) ** seed, 10**6)
    given = {
        "lambda_0": U / s, "m": m, "norm_A": a, "norm_B": Fraction(0), "norm_U": U,
        "norm_u": abs(u), "norm_X_F": Fraction(1), "r_0": abs(u * U / s - y), "n": Fraction(1),
        "N": Fraction(1), "R_A": Fraction(1, 10), "R_B": Fraction(1), "R_U": Fraction(1, 10),
        "R_u": Fraction(1, 100),
    }  # fmt: skip
    bound = repaired.hypothesis("step").claim.rhs
    top = repaired.expand(bound).subs(values(repaired, given))
    eta = Fraction(int(top.p), int(top.q)) * Fraction(999, 1000)
    assert satisfied(repaired, {**given, "eta": eta}), "the instance is meant to qualify"
    gap = eta * given["lambda_0"] ** 2 / 4
    theta = (a, U, u)
    theta, first = scalar_step(theta, m, y, eta)
    loss = first
    for _ in range(3):
        after, now = scalar_step(theta, m, y, eta)
        assert now <= (1 - gap) * loss
        theta, loss = after, now
        theta = tuple(Fraction(round(t * 2**200), 2**200) for t in theta)  # type: ignore[assignment]


def test_repaired_gd_keeps_its_promise_on_a_wide_layer() -> None:
    """Three units, one sample, all four parameters moving; the gap is far above float rounding."""
    rng = np.random.default_rng(5)
    A, B = (0.3 * tensor(rng.standard_normal((3, 3))) for _ in range(2))
    U, u = 1e4 * tensor([[1.0], [0.5], [0.8]]), 1e-7 * tensor(rng.standard_normal(3))
    p = MonPoint(MonDEQ(A, B, U, u, 1.0), tensor([[1.0]]), tensor([1e-2]))
    theorem = library.theorem("mondeq-gd:repaired")
    found = check.assess(theorem, p, {}, check.Clock(check.silent))
    assert found.truth is HOLDS
    eta = found.constants[theorem.symbols["eta"]]
    gap = eta * q.sigma_min_equilibrium.measure(p, 0).midpoint() ** 2 / 4
    assert gap > 1e-6
    r = p.model.predict(p.Z) - p.y
    for _ in range(5):
        grads = derivative.gradient(p.model, p.X, p.Z, p.adjoint.G, r)
        theta = (p.model.A, p.model.B, p.model.U, p.model.u)
        moved = [w - eta * g for w, g in zip(theta, grads, strict=True)]
        p = replace(p, model=MonDEQ(*moved, 1.0))
        after = p.model.predict(p.Z) - p.y
        assert float(after @ after) <= (1 - gap) * float(r @ r)
        r = after


def test_gradient_flow_applies_after_rescaling() -> None:
    """U times beta and u over beta leave the prediction alone and raise lambda_0; the theorem then applies."""
    result = check.verify("mondeq-gf", {**SMALL, "scale": "auto"})
    assert result.verdict is HOLDS
    assert result.rate is not None
    assert result.rate.guaranteed
    assert float(str(result.instance["scale"])) > 1
    below = {**SMALL, "scale": str(float(str(result.instance["scale"])) / 2)}
    assert check.verify("mondeq-gf", below).verdict is FAILS


def test_repaired_gd_applies_after_rescaling_and_pins_are_respected() -> None:
    tiny = {"width": "12", "samples": "4", "dim": "6"}
    result = check.verify("mondeq-gd:repaired", {**tiny, "scale": "auto"})
    assert result.verdict is HOLDS
    scale = str(result.instance["scale"])
    too_long = check.verify("mondeq-gd:repaired", {**tiny, "scale": scale, "eta": "1"})
    assert verdict(too_long, "step") is FAILS
    pinned = check.verify("mondeq-gd:repaired", {**tiny, "scale": scale}, {"R_u": "1e30"})
    assert pinned.verdict is FAILS


def test_too_narrow_a_layer_does_not_apply() -> None:
    result = check.verify("mondeq-gf", {"width": "6", "samples": "8", "dim": "5"})
    assert verdict(result, "n ≥ N") is FAILS


def test_scaling_is_predicted_as_it_is_measured() -> None:
    p = point()
    moved = p.scaled(8.0)
    for quantity in library.theorem("mondeq-gd").measured.values():
        assert quantity.scaled is not None
        before, after = (quantity.measure(x, 1).midpoint() for x in (p, moved))
        assert math.isclose(quantity.scaled(p, before, 8.0), after, rel_tol=1e-9)


# --- input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("m", "0", "positive"), ("m", "-1", "positive"), ("m", "nan", "finite"), ("m", "x", "number"),
        ("m", "1e-300", "float64"), ("m", "inf", "finite"), ("alpha", "0", "positive"),
        ("alpha", "-1", "positive"), ("width", "0", "at least 1"), ("samples", "0", "at least 1"),
        ("init", "zero", "unknown"), ("scale", "0", "positive"), ("seed", "-1", "at least 0"),
        ("distance", "1", "unknown"), ("eta", "1", "unknown"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(name: str, text: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        check.verify("mondeq-wellposed", {**SMALL, name: text})


def test_extreme_m_never_gives_a_wrong_verdict() -> None:
    """At m = 1e-90 nothing can be certified; what must not come out is a failure of a true statement."""
    for m in ("1e-90", "1e90"):
        assert check.verify("mondeq-wellposed", {**SMALL, "m": m}).verdict in (HOLDS, UNDECIDED)


def test_same_settings_give_the_same_point() -> None:
    settings = FAMILY.complete(library.theorem("mondeq-gf"), {"width": "6", "samples": "3"})
    data = Data(np.eye(3), np.ones(3), {})
    one, two = (FAMILY.build(data, settings, "cpu") for _ in range(2))
    assert torch.equal(one.model.A, two.model.A)
    other = FAMILY.build(data, {**settings, "seed": 1}, "cpu")
    assert not torch.equal(one.model.A, other.model.A)
