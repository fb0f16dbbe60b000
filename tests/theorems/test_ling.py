"""The vanilla DEQ of Ling et al.: enclosures against high precision, formulas against autograd, verdicts."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from flint import arb

from deqcheck import check, library, rigor
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.binomial import LEVEL, clopper_pearson
from deqcheck.enclosure.kernel import Population, dual, dual_at
from deqcheck.equilibrium import ling
from deqcheck.error import InputError
from deqcheck.family.ling import FAMILY, LingPoint
from deqcheck.models.ling import VanillaDeq, initialise
from deqcheck.quantities import ling as q
from deqcheck.statement import Evidence
from deqcheck.truth import FAILS, HOLDS
from deqcheck.verdict import Outcome, Result

KEYS = [key for key in library.catalogue() if key.startswith("ling-")]


def quick(key: str, **more: str) -> Result:
    return check.verify(key, {**library.theorem(key).quick, **more}, device="cpu")


def point(m: int, n: int, d: int, sigma2: float = 0.08, seed: int = 0, **more: int) -> LingPoint:
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((d, n))
    X = torch.from_numpy(X / np.linalg.norm(X, axis=0) * math.sqrt(d))
    y = torch.from_numpy(rng.standard_normal(n))
    return LingPoint(initialise("gaussian", d, m, sigma2, seed, X), X, y, sigma2, **more)


def contains(enclosure: Enclosure, value: mpmath.mpf) -> bool:
    """Whether a number known to some 60 digits lies inside, at the precision of the context."""
    lo, hi = (mpmath.mpf(f.numerator) / f.denominator for f in enclosure.fractions())
    return bool(lo <= value <= hi)


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(80):
        yield


def matrix(x: torch.Tensor) -> mpmath.matrix:
    return mpmath.matrix(x.tolist())


def line(result: Result, number: str):
    return next(x for x in (*result.hypotheses, *result.conclusions) if x.id == number)


# --- the kernel ------------------------------------------------------------------------------------


def true_dual(c: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.sqrt(1 - c * c) + (mpmath.pi - mpmath.acos(c)) * c) / mpmath.pi


@pytest.mark.parametrize("c", [-1.0, -0.999999, -0.3, 0.0, 1e-300, 0.5, 1 - 2**-53, 1.0])
def test_dual_activation_contains_the_truth_and_is_narrow(c: float) -> None:
    ball = dual(arb(c))
    assert contains(Enclosure(ball.lower(), ball.upper()), true_dual(mpmath.mpf(c)))
    assert float(ball.rad()) < 1e-50


def test_dual_activation_of_a_ball_contains_the_image_of_its_ends() -> None:
    box = Enclosure.between(0.9, 1.0)
    image = dual_at(box)
    for c in ("0.9", "0.95", "1"):
        assert contains(image, true_dual(mpmath.mpf(c)))


@pytest.mark.parametrize("x", [-0.7, 0.0, 0.4])
def test_dual_activation_is_the_gaussian_expectation(x: float) -> None:
    """(11), by the integral over the angle: E[relu(u) relu(v)] = Q(x) / 2."""
    alpha = mpmath.acos(x)
    integral = mpmath.quad(lambda s: mpmath.cos(s) * mpmath.cos(s - alpha), [alpha - mpmath.pi / 2, mpmath.pi / 2])
    value = 2 * integral / mpmath.pi  # 2 E, with the radial part E[r^2] = 2 over 2 pi
    ball = dual(arb(x))
    assert abs(mpmath.mpf(str(ball.mid().str(40, radius=False))) - value) < mpmath.mpf(10) ** -35


@pytest.mark.parametrize("sigma2", [1e-9, 0.08, 0.1249999])
@pytest.mark.parametrize("t", [-1.0, -0.2, 0.0, 0.9999999, 1.0])
def test_limit_contains_the_fixed_point(sigma2: float, t: float) -> None:
    K = Population.near(2, [t], 0.0, sigma2).limit()
    s, c = mpmath.mpf(sigma2), mpmath.mpf(t)
    for _ in range(200):
        c = s * true_dual(c) + (1 - s) * mpmath.mpf(t)
    diagonal, above = K.entries()
    assert contains(above, true_dual(c) / (1 - s))
    assert contains(diagonal, 1 / (1 - s))
    assert above.relative_width() < 1e-25


def test_limit_with_uncertain_inputs_contains_both_ends() -> None:
    wide = Population.near(2, [0.3], 1e-3, 0.08).limit()
    for t in (0.2991, 0.3009):
        (_, inner), (_, outer) = Population.near(2, [t], 0.0, 0.08).limit().entries(), wide.entries()
        assert outer.contains(inner)


def test_layers_converge_and_the_printed_index_is_wrong() -> None:
    """Definition 1 equals (12) with rho^(l); with rho^(l-1), as (13) is printed, it does not."""
    p = Population.near(3, [0.0, 0.5, -0.25], 0.0, 0.08)
    layers, limit = p.layers(30), p.limit()
    assert (limit.distance(layers[30]) < 1e-30) is HOLDS
    for K, good in zip(layers[1:], p.closed_forms(30), strict=True):
        assert (K.largest_difference(good) < 1e-45) is HOLDS
    bad = p.closed_forms(2, printed=True)
    assert (layers[1].largest_difference(bad[0]) < 1e-45) is HOLDS
    assert (layers[2].largest_difference(bad[1]) > 1e-2) is HOLDS


def test_exact_inner_products_agree_with_fractions() -> None:
    rows = [[0.1, 0.2, 1e-17], [3.0, -0.7, 5.0]]
    (ball,) = Population.exact(rows, 0.08).inputs
    truth = sum((Fraction(a) * Fraction(b) for a, b in zip(*rows, strict=True)), Fraction(0)) / 3
    lo, hi = Enclosure(ball.lower(), ball.upper()).fractions()
    assert lo <= truth <= hi


# --- Clopper and Pearson ---------------------------------------------------------------------------


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """P(at least k successes)."""
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 5), (3, 10), (10, 10), (17, 40)])
def test_interval_ends_are_where_the_tails_reach_half_the_level(k: int, n: int) -> None:
    lo, hi = clopper_pearson(k, k, n).fractions()
    if k > 0:
        assert tail(k, n, lo) <= LEVEL / 2
        assert tail(k, n, lo + Fraction(1, 10**9)) > LEVEL / 2
    else:
        assert lo == 0
    if k < n:
        assert 1 - tail(k + 1, n, hi) <= LEVEL / 2
        assert 1 - tail(k + 1, n, hi - Fraction(1, 10**9)) > LEVEL / 2
    else:
        assert hi == 1


def test_undecided_trials_count_on_both_sides() -> None:
    both, sure = clopper_pearson(3, 5, 10), clopper_pearson(4, 4, 10)
    assert both.contains(sure)
    assert not sure.contains(both)


@pytest.mark.parametrize("counts", [(3, 2, 10), (-1, 2, 10), (0, 11, 10), (0, 0, 0)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="make no sense"):
        clopper_pearson(*counts)


# --- certified matrices ----------------------------------------------------------------------------


def symmetric(n: int, kind: str, seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = {
        "spread": np.logspace(0, -8, n),
        "singular": np.concatenate([np.ones(n - 1), [0.0]]),
        "indefinite": np.linspace(-1, 1, n),
        "large": 1e120 * np.linspace(1, 2, n),
    }[kind]
    S = basis * values @ basis.T
    return torch.from_numpy((S + S.T) / 2)


@pytest.mark.parametrize("kind", ["spread", "singular", "indefinite", "large"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_lambda_min_contains_the_truth_and_is_narrow(kind: str, n: int) -> None:
    S = symmetric(n, kind, n)
    found = ling.lambda_min((S, Enclosure.exact(0)))
    truth = min(mpmath.eigsy(matrix(S), eigvals_only=True))
    assert contains(found, truth)
    lo, hi = found.floats()
    assert hi - lo <= 1e-12 * n * float(S.abs().max()) + 1e-300


def test_lambda_min_is_widened_by_the_error_of_the_matrix() -> None:
    S = torch.eye(3, dtype=torch.float64)
    lo, hi = ling.lambda_min((S, Enclosure.from_zero(0.25))).floats()
    assert lo <= 0.75
    assert hi >= 1.25
    assert not ling.lambda_min((S, ling.UNKNOWN)).is_finite


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e100])
def test_matrix_errors_cover_rounding_and_perturbation(scale: float) -> None:
    rng = np.random.default_rng(3)
    A, B = (torch.from_numpy(rng.standard_normal((4, 4)) * scale) for _ in range(2))
    off = [torch.from_numpy(rng.standard_normal((4, 4)) * scale * 1e-6) for _ in range(2)]
    known = [(x, rigor.frobenius(e)) for x, e in zip((A, B), off, strict=True)]
    a, b = (matrix(x) + matrix(e) for x, e in zip((A, B), off, strict=True))
    entrywise = mpmath.matrix(4, 4)
    for i in range(4):
        for j in range(4):
            entrywise[i, j] = a[i, j] * b[i, j]
    cases = [
        (ling.product(*known), a * b),
        (ling.add(*known), a + b),
        (ling.hadamard(*known), entrywise),
        (ling.gram(known[0]), a.T * a),
    ]
    for (value, error), truth in cases:
        gap = mpmath.mnorm(matrix(value) - truth, "f")
        bound = error.fractions()[1]
        assert gap <= mpmath.mpf(bound.numerator) / bound.denominator
        assert error.floats()[1] < 1e-4 * float(mpmath.mnorm(truth, "f"))
    found = ling.distance(known[0], known[1], 3)
    assert contains(found, mpmath.mnorm(a / 3 - b, "f"))


# --- the equilibrium -------------------------------------------------------------------------------


def precisely(p: LingPoint) -> tuple[mpmath.matrix, list[mpmath.matrix]]:
    """The equilibrium to 60 digits, and the iterates on the way."""
    W, U, X = (matrix(t) for t in (p.model.W, p.model.U, p.X))
    UX = U * X
    Z, seen = mpmath.matrix(p.m, p.n), []
    for _ in range(4000):
        after = (W * Z + UX).apply(lambda x: max(x, mpmath.mpf(0)))
        moved = mpmath.mnorm(after - Z, "f")
        Z = after
        seen.append(Z)
        if moved < mpmath.mpf(10) ** -60:
            break
    return Z, seen


@pytest.mark.parametrize(("m", "n", "sigma2"), [(6, 2, 0.08), (5, 5, 0.02), (3, 1, 1e-6), (4, 6, 0.05)])
def test_equilibrium_and_its_quantities_contain_the_truth(m: int, n: int, sigma2: float) -> None:
    p = next(p for p in (point(m, n, 3, sigma2, seed) for seed in range(50)) if (p.norm_W < 0.95) is HOLDS)
    Z, seen = precisely(p)
    computed, radius = p.Z
    gap = mpmath.mnorm(matrix(computed) - Z, "f")
    bound = radius.fractions()[1]
    assert gap <= mpmath.mpf(bound.numerator) / bound.denominator
    assert radius.floats()[1] < 1e-11
    G = Z.T * Z
    truth = max(min(mpmath.eigsy(G, eigvals_only=True)), mpmath.mpf(0)) if n <= m else mpmath.mpf(0)
    assert contains(p.lambda_0(rigor.CHEAP), truth)
    assert contains(p.lambda_0(rigor.THOROUGH), truth)
    r = Z.T * matrix(p.model.a[:, None]) - matrix(p.y[:, None])
    assert contains(q.initial_residual.measure(p, 0), mpmath.mnorm(r, "f"))
    for (iterate, error), exact in zip(ling.iterates(p.model, p.X, p.norm_W, 5), seen, strict=False):
        off = mpmath.mnorm(matrix(iterate) - exact, "f")
        limit = error.fractions()[1]
        assert off <= mpmath.mpf(limit.numerator) / limit.denominator
        assert error.floats()[1] < 1e-11


def test_no_contraction_means_no_claim() -> None:
    p = point(20, 3, 4)
    wild = VanillaDeq(3 * p.model.W, p.model.U, p.model.a)
    lost = LingPoint(wild, p.X, p.y, p.sigma2)
    assert not lost.Z[1].is_finite
    assert not lost.lambda_0(rigor.CHEAP).is_finite
    assert lost.gradient is None


# --- gradients -------------------------------------------------------------------------------------


def kronecker(p: LingPoint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(3) and H with the explicit matrices of the paper, R = (I_n kron a^T) J^-1 D."""
    W, U, a, X, Z, y = (t.numpy() for t in (p.model.W, p.model.U, p.model.a, p.X, p.solved.Z, p.y))
    m, n = Z.shape
    D = np.diag((W @ Z + U @ X >= 0).astype(float).flatten(order="F"))
    J = np.eye(m * n) - D @ np.kron(np.eye(n), W)
    R = np.kron(np.eye(n), a[None]) @ np.linalg.inv(J) @ D
    r = a @ Z - y
    grad_W = (np.kron(Z, np.eye(m)) @ R.T @ r).reshape(m, m, order="F")
    grad_U = (np.kron(X, np.eye(m)) @ R.T @ r).reshape(m, -1, order="F")
    G = Z.T @ Z
    H = G + R @ np.kron(G, np.eye(m)) @ R.T + R @ np.kron(X.T @ X, np.eye(m)) @ R.T
    return grad_W, grad_U, H


@pytest.mark.parametrize("seed", range(3))
def test_structured_gradient_equals_kronecker_and_autograd(seed: int) -> None:
    p = point(12, 4, 5, 0.05, seed)
    gradient = p.gradient
    assert gradient is not None
    grad_W, grad_U, H = kronecker(p)
    for ours, theirs, auto in zip(p.formula()[:2], (grad_W, grad_U), p.autograd[:2], strict=True):
        assert np.allclose(ours.numpy(), theirs, rtol=1e-10, atol=1e-12)
        assert torch.allclose(ours, auto, rtol=1e-10, atol=1e-12)
    assert np.allclose(gradient.H[0].numpy(), H, rtol=1e-10)


def test_gradient_enclosures_contain_the_truth() -> None:
    p = point(5, 2, 3, 0.05, 1)
    Z, _ = precisely(p)
    W, U, X = (matrix(t) for t in (p.model.W, p.model.U, p.X))
    a, y = matrix(p.model.a[:, None]), matrix(p.y[:, None])
    pre = W * Z + U * X
    r = Z.T * a - y
    B = mpmath.matrix(5, 2)
    for i in range(2):
        D = mpmath.diag([mpmath.mpf(pre[k, i] >= 0) for k in range(5)])
        B[:, i] = D * mpmath.lu_solve(mpmath.eye(5) - W.T * D, a)
    V = B * mpmath.diag([r[0], r[1]])
    square = sum(mpmath.mnorm(g, "f") ** 2 for g in (V * Z.T, V * X.T, Z * r))
    G, XX, BB = Z.T * Z, X.T * X, B.T * B
    H = mpmath.matrix(2, 2)
    for i in range(2):
        for j in range(2):
            H[i, j] = G[i, j] + (G[i, j] + XX[i, j]) * BB[i, j]
    assert contains(p.gradient_square, square)
    assert p.gradient_square.relative_width() < 1e-9
    lambda_H = q.lambda_H.measure(p, 0)
    assert contains(lambda_H, min(mpmath.eigsy(H, eigvals_only=True)))
    assert lambda_H.relative_width() < 1e-9


def test_an_unproved_pattern_leaves_bounds_that_still_contain_the_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proved = point(10, 3, 4, 0.02).gradient_square
    monkeypatch.setattr(ling, "pattern", lambda *_: None)
    loose = point(10, 3, 4, 0.02)
    assert loose.gradient is None
    assert loose.gradient_square.contains(proved)
    assert torch.allclose(loose.formula()[0], loose.autograd[0], rtol=1e-9, atol=1e-12)


def test_a_unit_near_zero_has_no_proved_pattern() -> None:
    p = point(6, 2, 3, 0.02)
    U = p.model.U.clone()
    U[0] = 0
    W = p.model.W.clone()
    W[0] = 0
    flat = LingPoint(VanillaDeq(W, U, p.model.a), p.X, p.y, p.sigma2)
    assert flat.gradient is None


# --- every key -------------------------------------------------------------------------------------

EXPECTED = {
    "ling-gd": Outcome.DOES_NOT_APPLY,
    "ling-gd:repaired": Outcome.DOES_NOT_APPLY,
    "ling-gd:sharp": Outcome.APPLIES,
    "ling-gradient": Outcome.APPLIES,
    "ling-norm": Outcome.COUNTEREXAMPLE,
    "ling-norm:repaired": Outcome.APPLIES,
    "ling-population": Outcome.APPLIES,
    "ling-population:repaired": Outcome.APPLIES,
    "ling-gram": Outcome.APPLIES,
    "ling-gram:repaired": Outcome.APPLIES,
    "ling-depth": Outcome.APPLIES,
    "ling-depth:repaired": Outcome.APPLIES,
    "ling-concentration": Outcome.APPLIES,
    "ling-concentration:repaired": Outcome.APPLIES,
}


@pytest.mark.parametrize("key", KEYS)
def test_quick_instance_gives_the_known_outcome(key: str) -> None:
    assert quick(key).outcome is EXPECTED[key]


APPLICABLE = {"init": "zero-output", "samples": "1", "sigma2": "0.0001", "width": "2000", "dim": "1"}


def test_theorem_1_applies_with_zero_output_weights_and_its_rate_is_kept() -> None:
    """Off the paper's recipe, at n = 1, Condition 1 can hold; the promised rate then shows in training."""
    printed = check.verify("ling-gd", APPLICABLE, device="cpu")
    assert printed.outcome is Outcome.APPLIES
    assert printed.rate is not None and not printed.rate.guaranteed, "the printed constant does not carry the proof"
    result = check.verify("ling-gd:repaired", APPLICABLE, device="cpu")
    assert result.outcome is Outcome.APPLIES
    assert result.rate is not None
    assert result.rate.guaranteed
    eta = next(c.value for c in result.constants if c.name == "eta")
    gap = result.rate.one_minus_rate.floats()[0]
    p = check_point(APPLICABLE)
    W, U, a = p.model.W, p.model.U, p.model.a
    before = None
    for step in range(2):
        now = LingPoint(VanillaDeq(W, U, a), p.X, p.y, p.sigma2)
        assert (now.norm_W < 1) is HOLDS
        value = float(now.residual[0].norm()) ** 2
        if before is not None:
            assert value <= (1 - gap) * before * (1 + 1e-9), step
        before = value
        dW, dU, da = now.formula()
        W, U, a = W - eta * dW, U - eta * dU, a - eta * da


def check_point(given: dict[str, str]) -> LingPoint:
    theorem = library.theorem("ling-gd")
    settings = FAMILY.complete(theorem, given)
    return FAMILY.build(check.load_data(FAMILY, settings, "cpu"), settings, "cpu")


def test_condition_9_fails_at_every_width_for_the_recipe_of_assumption_1() -> None:
    """Both sides grow like m: more width does not help, whatever delta is."""
    margins = [
        line(quick("ling-gd", width=w, samples="1", dim="1", sigma2="0.0001"), "(9)").margin
        for w in ("100", "400", "1600")
    ]
    assert all(x is not None and x < -0.5 for x in margins)
    assert max(margins) - min(margins) < 0.3


# --- each check can fail ---------------------------------------------------------------------------


def test_orthogonality_fails_on_the_sphere_but_no_two_inputs_are_parallel() -> None:
    printed = quick("ling-population", inputs="given")
    assert line(printed, "A2 ⊥").verdict is FAILS
    assert line(quick("ling-population:repaired"), "A2 ∦").verdict is HOLDS


def test_parallel_inputs_are_refused_by_the_check(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 4))
    X[2] = X[0]
    path = tmp_path / "twins.npz"
    np.savez(path, X=X, y=np.array([1.0, -1.0, 1.0]))
    given = {"data": str(path), "samples": "3", "width": "10", "depth": "3"}
    result = check.verify("ling-population:repaired", given, device="cpu")
    assert line(result, "A2 ∦").verdict is not HOLDS
    assert line(result, "(ii)").verdict is not HOLDS


def test_inputs_of_another_norm_fail() -> None:
    p = point(5, 2, 3)
    assert (q.norm_defect.measure(p, 0) < 1e-12) is HOLDS
    longer = LingPoint(p.model, 1.001 * p.X, p.y, p.sigma2)
    assert (q.norm_defect.measure(longer, 0) < 1e-4) is FAILS


def test_a_wrong_gradient_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LingPoint.formula

    def wrong(self: LingPoint) -> tuple[torch.Tensor, ...]:
        W, U, a = right(self)
        return W.T, U * (1 + 1e-6), a

    monkeypatch.setattr(LingPoint, "formula", wrong)
    result = quick("ling-gradient")
    assert result.outcome is Outcome.COUNTEREXAMPLE
    assert line(result, "(3) W").verdict is FAILS
    assert line(result, "(3) U").verdict is FAILS
    assert line(result, "(3) a").verdict is HOLDS


def test_a_gradient_that_is_too_small_breaks_the_inequalities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LingPoint, "gradient_square", property(lambda _: Enclosure.exact(1e-3)))
    result = quick("ling-gradient")
    assert line(result, "(4)").verdict is FAILS
    assert line(result, "(5)").verdict is FAILS


def test_a_wrong_recursion_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Population.layers
    monkeypatch.setattr(
        Population,
        "layers",
        lambda self, depth: right(Population(self.n, self.sigma2 * 1.01, self.inputs), depth),
    )
    result = quick("ling-population")
    assert line(result, "(12)").verdict is FAILS
    assert line(result, "(i)").verdict is FAILS


def test_random_models_that_are_too_narrow_fail() -> None:
    result = quick("ling-gram", width="2", samples="5")
    assert line(result, "width").verdict is FAILS
    assert line(result, "at m").verdict is FAILS


def test_a_constant_that_is_too_small_breaks_the_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(q, "DEPTH_CONSTANT", Fraction(1, 10**6))
    assert line(quick("ling-depth"), "at m").verdict is FAILS


def test_concentration_says_nothing_at_great_depth() -> None:
    result = quick("ling-concentration", depth="40", trials="3")
    assert line(result, "not empty").verdict is FAILS
    p = point(10, 2, 5, depth=40, trials=3)
    assert (q.worst_gap.measure(p, 0) > 1) is HOLDS


def test_statistics_and_float_comparisons_are_not_called_proofs() -> None:
    for key in KEYS:
        for quantity in library.theorem(key).measured.values():
            proved = quantity.evidence is Evidence.PROOF
            assert proved is not quantity.name.startswith(("p_", "diff_")), quantity.name


def test_a_failing_draw_is_not_granted_away() -> None:
    """At this width some of 300 draws fail; the resolution of 300 draws must not hide that."""
    result = quick("ling-concentration", width="40", trials="300")
    assert line(result, "at m").verdict is not HOLDS


def test_resolution_shrinks_with_the_number_of_draws() -> None:
    few, many = (q.resolution.measure(point(3, 1, 2, trials=k), 0) for k in (30, 3000))
    assert (few < Fraction(23, 100)) is HOLDS
    assert (many * 50 < few) is HOLDS


# --- bad parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("ling-gd", {"sigma2": "0.125"}, "1/8"),
        ("ling-gd", {"sigma2": "0"}, "1/8"),
        ("ling-gd", {"sigma2": "-1"}, "1/8"),
        ("ling-gd", {"sigma2": "nan"}, "finite"),
        ("ling-gd", {"sigma2": "wide"}, "number"),
        ("ling-gd", {"width": "0"}, "at least 1"),
        ("ling-gd", {"delta": "0.9"}, "delta"),
        ("ling-gd", {"delta": "-1"}, "positive"),
        ("ling-gd", {"init": "gausian"}, "gaussian"),
        ("ling-gd", {"trials": "3"}, "trials"),
        ("ling-gd", {"samples": "30", "dim": "20"}, "orthogonal"),
        ("ling-population", {"depth": "0"}, "at least 1"),
        ("ling-population", {"inputs": "parallel"}, "inputs"),
        ("ling-norm", {"trials": "0"}, "at least 1"),
    ],
)
def test_bad_parameters_end_in_one_sentence(key: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        quick(key, **given)
    assert "\n" not in str(caught.value)


def test_delta_can_be_pinned_below_its_limit() -> None:
    result = check.verify("ling-gd", {**APPLICABLE, "delta": "0.25"}, device="cpu")
    assert next(c for c in result.constants if c.name == "delta").value == 0.25
