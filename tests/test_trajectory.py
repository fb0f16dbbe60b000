"""Trajectories: what is promised is kept, what is false is found, what cannot be seen in floats is said."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from deqcheck import check, library
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import engine
from deqcheck.equilibrium import mondeq_derivative as derivative
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError
from deqcheck.family import load
from deqcheck.family.mondeq import MonPoint
from deqcheck.models import relu
from deqcheck.models.mondeq import MonDEQ
from deqcheck.report.html import TRAJECTORY, _require
from deqcheck.statement import Conclusion, Theorem
from deqcheck.trajectory import Trajectory, document, fit, follow, ode, store
from deqcheck.trajectory.model import training
from deqcheck.trajectory.run import Every
from deqcheck.trajectory.solve import fixed_point
from deqcheck.trajectory.value import PLOTTED, kept, summary
from deqcheck.truth import FAILS, HOLDS, UNDECIDED

SMALL = {"width": "30", "dim": "20"}
RANDOM = {"width": "20", "samples": "6", "dim": "5", "init": "random", "scale": "1"}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Everything here is small; threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Start:
    theorem: Theorem
    point: Any
    found: check.Assessment

    def follow(self, steps: int, every: Every = "log", **more: Any) -> Trajectory:
        covered = more.pop("covered", self.found.truth is HOLDS)
        return follow(
            self.theorem, self.point, self.found.values, self.found.constants,
            steps=steps, every=every, covered=covered, **more,
        )  # fmt: skip


def start(key: str, given: dict[str, str], eta: float | None = None) -> Start:
    """The instance of these settings, assessed as `verify` does; `scale` must be a number."""
    theorem = library.theorem(key)
    family = load(theorem.family)
    settings = family.complete(theorem, given)
    data = check.load_data(family, settings, "cpu")
    point = family.build(data, settings, "cpu")
    scale = settings.get("scale", 1.0)
    if scale not in (1.0, "auto"):
        point = point.scaled(scale)
    pinned = {} if eta is None else {theorem.symbols["eta"]: eta}
    return Start(theorem, point, check.assess(theorem, point, pinned, check.Clock(check.silent)))


@pytest.fixture(scope="module")
def gd() -> Start:
    """gd-relu at the smallest scale at which it applies."""
    scale = check.verify("gd-relu", SMALL, device="cpu").instance["scale"]
    begun = start("gd-relu", {**SMALL, "scale": str(scale)})
    assert begun.found.truth is HOLDS
    return begun


@pytest.fixture(scope="module")
def moving() -> Start:
    """A network all of whose parameters move visibly, with a step that the theorem does not allow."""
    return start("gd-relu", RANDOM, eta=1e-3)


def lines(found: Trajectory, number: str) -> list[Any]:
    return [line for mark in found.marks for line in mark.lines if line.id == number]


# --- gradient descent ------------------------------------------------------------------------------


def test_conclusions_hold_along_certified_descent(gd: Start) -> None:
    found = gd.follow(20, "all")
    assert found.covered
    assert [mark.step for mark in found.marks] == list(range(21))
    assert {line.id for line in found.marks[-1].lines} == {"(i) W", "(i) A", "(i) b", "(ii)", "(iii)"}
    assert all(line.truth is HOLDS for mark in found.marks for line in mark.lines)
    assert not found.violated
    assert not found.counterexample
    assert all(after <= before * (1 + 1e-14) for before, after in zip(found.history, found.history[1:], strict=False))
    assert found.ratio is not None
    assert 0 < float(found.ratio) <= 1, "the guarantee is kept, so it is at most what was measured"
    assert found.kernel_min[0] is not None
    assert found.kernel_min[0] > 0
    assert "every conclusion holds" in summary(found)


def test_the_certified_loss_contains_the_float_loss_and_is_narrow(gd: Start) -> None:
    for mark in gd.follow(4).marks:
        lo, hi = (float(x) for x in mark.loss)
        assert lo <= gd.follow(4).history[mark.step] * (1 + 1e-11)
        assert hi - lo <= 1e-9 * hi


def test_a_false_conclusion_is_reported_as_violated(gd: Start) -> None:
    s = gd.theorem.symbols
    bt = next(s for s in gd.theorem.monitored if s.name == "norm_b_t")
    planted = Conclusion("planted", bt <= s["norm_b"] / 2)
    theorem = replace(gd.theorem, conclusions=(*gd.theorem.conclusions, planted))
    found = replace(gd, theorem=theorem).follow(2)
    assert found.violated == ("planted",)
    assert found.counterexample
    assert "counterexample" in summary(found)
    outside = replace(gd, theorem=theorem).follow(2, covered=False)
    assert outside.violated == ("planted",)
    assert not outside.counterexample, "without the hypotheses nothing was promised"
    assert "does not cover" in summary(outside)


def test_a_rate_that_is_too_fast_is_reported_as_violated(gd: Start) -> None:
    assert gd.theorem.rate is not None
    faster = replace(gd.theorem.rate, gap=gd.theorem.rate.gap * 10**6)
    found = replace(gd, theorem=replace(gd.theorem, rate=faster)).follow(3, 100)
    assert found.violated == ("(iii)",)
    assert found.marks[1].step == 1, "floats see the bound passed at step 1, so that step is certified too"


def test_ling_keeps_the_guaranteed_rate() -> None:
    given = {"init": "zero-output", "samples": "1", "sigma2": "0.0001", "width": "2000", "dim": "1"}
    found = start("ling-gd:repaired", given).follow(2, kernel=False)
    assert found.covered
    assert not found.violated
    assert not found.undecided
    assert [line.truth for line in lines(found, "(iii)")] == [HOLDS, HOLDS]


def scalar_counterexample() -> Start:
    """n = N = d = 1, x = U = 1, A = B = u = 0, m = 1/10, y = 1/1000."""
    theorem = library.theorem("mondeq-gd")
    zero, one = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    y = torch.tensor([1e-3], dtype=torch.float64)
    point = MonPoint(MonDEQ(zero, zero, one, zero[0], 0.1), one, y)
    pins = {"R_A": 0.1, "R_B": 1.0, "R_U": 0.1, "R_u": 0.01, "eta": 0.04 * 0.999}
    pinned = {theorem.symbols[name]: value for name, value in pins.items()}
    return Start(theorem, point, check.assess(theorem, point, pinned, check.Clock(check.silent)))


def test_the_printed_monotone_theorem_is_refuted_by_one_step() -> None:
    begun = scalar_counterexample()
    assert begun.found.truth is HOLDS
    found = begun.follow(1)
    assert found.history[1] / found.history[0] == pytest.approx((1 - 0.999 * 4) ** 2, rel=1e-9)
    assert lines(found, "rate")[0].truth is FAILS
    assert found.counterexample
    assert found.frozen == (), "A and B do not move because their gradient is zero, not because of rounding"


def test_opteq_trains_and_is_watched() -> None:
    theorem = library.theorem("opteq-gd")
    begun = start("opteq-gd", dict(theorem.quick))
    model = training(theorem, begun.point)
    exact = begun.point.trained.gradient
    for name, part in zip(model.names, model.evaluate(model.parameters, {}).gradient, strict=True):
        wanted = exact[name].value.reshape(part.shape)
        assert float((part - wanted).norm()) <= 1e-12 * float(wanted.norm()), name
    found = begun.follow(4)
    assert {line.id for line in found.marks[0].lines} == {c.id for c in theorem.conclusions if c.id.startswith("(32)")}
    assert not found.violated
    assert found.history[-1] < found.history[0]


# --- gradients and solvers -------------------------------------------------------------------------


def test_relu_gradient_agrees_with_the_lemma(moving: Start) -> None:
    model, p = training(moving.theorem, moving.point), moving.point
    wanted = relu.gradients(p.model, p.X, p.y, p.Z)
    for part, other in zip(model.evaluate(model.parameters, {}).gradient, wanted, strict=True):
        assert float((part - other).norm()) <= 1e-9 * float(other.norm())


def test_ling_gradient_agrees_with_the_lemma() -> None:
    begun = start("ling-gd", {"width": "40", "samples": "5", "dim": "8"})
    model = training(begun.theorem, begun.point)
    for part, other in zip(model.evaluate(model.parameters, {}).gradient, begun.point.formula(), strict=True):
        assert float((part - other).norm()) <= 1e-9 * float(other.norm())


def test_monotone_gradient_agrees_with_the_lemma() -> None:
    begun = start("mondeq-gd", {"width": "10", "samples": "5", "dim": "8"})
    model, p = training(begun.theorem, begun.point), begun.point
    wanted = derivative.gradient(p.model, p.X, p.Z, p.adjoint.G, p.model.predict(p.Z) - p.y)
    for part, other in zip(model.evaluate(model.parameters, {}).gradient, wanted, strict=True):
        assert float((part - other).norm()) <= 1e-9 * float(other.norm())


def test_the_verified_equilibrium_encloses_that_of_the_engine(moving: Start) -> None:
    model = training(moving.theorem, moving.point)
    p = model.point(model.parameters, model.evaluate(model.parameters, {}).warm)
    q = engine.enclose(moving.point.model, moving.point.X, moving.point.norm_A)
    assert float((p.Z - q.Z).norm()) <= p.radius.floats()[1] + q.radius.floats()[1]
    assert 0 < p.radius.floats()[1] <= 1e-9 * float(p.Z.norm())


def test_fixed_points_of_hard_contractions_are_found_and_of_expansions_are_not() -> None:
    rng = np.random.default_rng(1)
    A = torch.from_numpy(rng.standard_normal((40, 40)))
    A = 0.999 * A / torch.linalg.matrix_norm(A, 2)
    c = torch.from_numpy(rng.standard_normal((7, 40)))
    z = fixed_point(lambda x: torch.relu(x @ A + c), torch.zeros_like(c), "z")
    assert float((torch.relu(z @ A + c) - z).norm()) <= 1e-10 * float(z.norm())
    with pytest.raises(NotConverged, match="the growth"):
        fixed_point(lambda x: 3 * x.abs() + 1, torch.ones_like(c), "the growth")


# --- gradient flow ---------------------------------------------------------------------------------


def test_the_integrator_has_order_five_and_knows_its_error() -> None:
    def turn(y: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (torch.stack([y[0][1], -y[0][0]]),)

    errors = []
    for count in (10, 20):
        y: tuple[torch.Tensor, ...] = (torch.tensor([0.0, 1.0], dtype=torch.float64),)
        slope, estimate = turn(y), 0.0
        for _ in range(count):
            step, slope = ode.attempt(turn, y, slope, 1 / count, 1.0)
            y, estimate = step.y, estimate + step.error
        exact = torch.tensor([math.sin(1), math.cos(1)], dtype=torch.float64)
        errors.append(float((y[0] - exact).norm()))
        assert errors[-1] <= estimate
    assert 24 < errors[0] / errors[1] < 40
    assert all(sum(row) == pytest.approx(c) for row, c in zip(ode.A, (0.2, 0.3, 0.8, 8 / 9, 1, 1), strict=True))


def test_flow_of_the_relu_network_stays_below_its_bound() -> None:
    begun = start("gf-relu", {**SMALL, "scale": "300"})
    assert begun.found.truth is HOLDS
    gap = begun.theorem.rate.gap  # type: ignore[union-attr]
    rate = float(gap.subs(begun.theorem.symbols["alpha_0"], 1)) * begun.point.Z.svd().S[-1].item() ** 2
    horizon = 0.05 / rate
    found = begun.follow(200, horizon=horizon)
    assert found.times[-1] == horizon
    assert not found.ended
    assert not found.violated
    assert not found.undecided
    assert float(found.bound[-1]) == pytest.approx(math.exp(-0.05) * found.history[0], rel=1e-6)
    assert found.integrator["parameter_error"] > 0
    assert 0 < found.error[-1] < 1e-3 * found.history[-1]
    again = begun.follow(3, horizon=horizon)
    assert again.ended.startswith("time ")
    assert again.last == 3


def test_linear_flow_reaches_the_infimum_and_respects_its_horizon() -> None:
    begun = start("kawaguchi-square", {"samples": "60", "dim": "4"})
    found = begun.follow(300, horizon=0.2)
    assert found.covered
    assert found.of == "loss above its infimum"
    assert not found.violated
    assert found.loss[-1] < 1e-2 * found.loss[0]
    assert not lines(found, "(10)"), "the accuracy is promised after T(epsilon), which is much later"
    with pytest.raises(InputError, match="horizon=2"):
        begun.follow(5, horizon=2.0)


def test_monotone_flow_falls() -> None:
    begun = start("mondeq-gf", {"width": "8", "samples": "3", "dim": "4"})
    found = begun.follow(6)
    assert found.horizon is None
    assert all(b < a for a, b in zip(found.history, found.history[1:], strict=False))


# --- what floats cannot show -----------------------------------------------------------------------


def test_a_step_below_float_resolution_is_said_to_stall() -> None:
    found = start("gd-relu", RANDOM, eta=1e-300).follow(50)
    assert found.stalled == 0
    assert found.fit is None
    assert found.ratio is None
    assert found.frozen == ("W", "A", "b")
    assert "no parameter moves" in summary(found)


def test_a_loss_that_does_not_move_has_no_rate_and_violates_nothing(gd: Start) -> None:
    """Zeros in A and b move by the smallest amounts, so nothing stalls; the loss is still the same float."""
    eta = 1e-150
    found = gd.follow(4, eta=eta)
    assert found.stalled is None
    assert found.frozen == ("W",), "the zeros of A and b move, the numbers of W do not"
    assert found.fit is None
    assert not found.violated, "a gap far below rounding is not a counterexample"
    assert found.undecided in ((), ("(iii)",))
    gap = Enclosure.parse(*found.gap)
    assert gap.is_positive, "never collapsed to 1.0 - 1.0"


def test_a_bound_that_only_rounding_breaks_is_undecided(gd: Start) -> None:
    """All parameters but b frozen by hand: the loss stays, the bound falls by less than rounding may explain."""
    from deqcheck.trajectory.certify import Promise

    loss, bound = Enclosure.exact(1.0), Enclosure.exact(1 - 2.0**-40)
    assert Promise._compare(loss, bound, 0.0)[0] is FAILS
    truth, note = Promise._compare(loss, bound, 1e-9)
    assert truth is UNDECIDED
    assert "rounding" in note


# --- beyond the theorem ----------------------------------------------------------------------------


def test_a_step_far_too_long_runs_and_is_not_covered(gd: Start) -> None:
    found = gd.follow(6, eta=1e-3)
    assert not found.covered, "the checked step was allowed, this one is not"
    assert found.ended
    assert found.last < 6
    assert set(found.bound[1:]) <= {"inf"}, "the formula 1 - gap is negative: no bound"
    assert not found.counterexample
    assert all(math.isfinite(x) for x in found.history)
    json.dumps(document(found), allow_nan=False)


def test_a_longer_step_that_works_is_followed(moving: Start) -> None:
    found = moving.follow(30)
    assert not found.covered
    assert found.history[-1] < 0.9 * found.history[0]
    assert found.fit is not None
    assert 0 < found.fit.gap < 1
    assert found.frozen == ()


# --- resume ----------------------------------------------------------------------------------------


class Killed(Exception):  # noqa: N818 - a moment, not an error
    """Stands for a kill at an arbitrary moment."""


def killed_at(step: int) -> Any:
    seen = iter(range(10**6))

    def show(_share: float, _line: str) -> None:
        if next(seen) == step:
            raise Killed

    return show


@pytest.mark.parametrize("kind", ["descent", "flow"])
def test_a_resumed_run_ends_in_the_same_bits(
    kind: str, moving: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = moving if kind == "descent" else start("gf-relu", RANDOM)
    monkeypatch.setattr("deqcheck.trajectory.run.SHOWN_EVERY", 0.0)
    whole = begun.follow(12, save=tmp_path / "whole", save_every=6)
    with pytest.raises(Killed):
        begun.follow(12, save=tmp_path / "cut", save_every=3, show=killed_at(8))
    names = {path.name for path in (tmp_path / "cut").iterdir()}
    assert names == {"trajectory.json", "step-000000006.safetensors"}
    resumed = begun.follow(12, save=tmp_path / "cut", save_every=6, resume=tmp_path / "cut")
    assert resumed == whole
    kept_files = [(tmp_path / run / "step-000000012.safetensors").read_bytes() for run in ("whole", "cut")]
    assert kept_files[0] == kept_files[1]


def test_a_checkpoint_of_another_run_is_refused(moving: Start, tmp_path: Path) -> None:
    moving.follow(3, save=tmp_path, save_every=2)
    with pytest.raises(InputError, match="another run"):
        moving.follow(4, eta=2e-3, resume=tmp_path)
    with pytest.raises(InputError, match="beyond the 1 asked for"):
        moving.follow(1, resume=tmp_path)
    with pytest.raises(InputError, match="no checkpoint"):
        moving.follow(4, resume=tmp_path / "nowhere")


@pytest.mark.parametrize("damage", ["cut", "flip", "index"])
def test_a_damaged_checkpoint_is_refused(damage: str, moving: Start, tmp_path: Path) -> None:
    moving.follow(3, save=tmp_path, save_every=2)
    tensors = tmp_path / "step-000000003.safetensors"
    content = bytearray(tensors.read_bytes())
    if damage == "cut":
        tensors.write_bytes(content[:-8])
    elif damage == "flip":
        content[-1] ^= 1
        tensors.write_bytes(content)
    else:
        (tmp_path / store.INDEX).write_text("{")
    with pytest.raises(InputError, match="damaged"):
        moving.follow(4, resume=tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(moving: Start, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        moving.follow(3, save=taken, save_every=1)


# --- input -----------------------------------------------------------------------------------------


def test_what_cannot_be_followed_is_refused_in_a_sentence(gd: Start) -> None:
    lemma = start("relu-wellposed", SMALL)
    with pytest.raises(InputError, match="promises no rate"):
        lemma.follow(5)
    with pytest.raises(InputError, match="at least 1, not 0"):
        gd.follow(0)
    with pytest.raises(InputError, match="not 'often'"):
        gd.follow(1, "often")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no end time"):
        gd.follow(1, horizon=1.0)
    with pytest.raises(InputError, match="allow no positive step"):
        follow(gd.theorem, gd.point, gd.found.values, {}, steps=1, covered=False)
    with pytest.raises(InputError, match="no step size"):
        start("gf-relu", RANDOM).follow(1, eta=0.1)


def test_an_equilibrium_that_is_lost_on_the_way_ends_the_run(moving: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(100))
    usual = fixed_point

    def failing(*args: Any, **more: Any) -> torch.Tensor:
        if next(calls) >= 5:
            raise NotConverged("Anderson", (0.5,))
        return usual(*args, **more)

    monkeypatch.setattr("deqcheck.trajectory.model.fixed_point", failing)
    found = moving.follow(10, 100)
    assert "Anderson did not reach the equilibrium" in found.ended
    assert found.last == 1
    assert len(found.history) == 2


# --- documents -------------------------------------------------------------------------------------


def test_the_document_is_what_the_page_plots(gd: Start) -> None:
    written = json.loads(json.dumps(document(gd.follow(5)), allow_nan=False))
    _require(written, TRAJECTORY, TRAJECTORY, "trajectory")
    assert len(written["steps"]) == len(written["loss"]) == len(written["bound"]) == len(written["error"]) == 6
    assert written["bound"][0] == pytest.approx(str(7.5), abs=0) or float(written["bound"][0]) >= written["loss"][0]
    assert written["certified"][-1]["lines"][-1]["verdict"] == "HOLDS"


def test_a_long_run_keeps_few_steps_and_all_certified_ones() -> None:
    steps = kept(10**5, {777, 99_998})
    assert len(steps) <= PLOTTED + 50
    assert {0, 1, 2, 777, 99_998, 99_999} <= set(steps)
    assert steps == sorted(set(steps))


# --- fits ------------------------------------------------------------------------------------------


def test_the_fit_finds_the_rate_of_the_tail() -> None:
    loss = [5 * 0.5**k + 0.9**k for k in range(60)]
    found = fit.fitted(loss, list(range(60)), "step", 0.0)
    assert found is not None
    assert found[0].gap == pytest.approx(0.1, rel=1e-4)
    assert found[0].largest == pytest.approx(0.9, rel=1e-6)
    assert fit.fitted([1.0] * 20, list(range(20)), "step", 0.0) is None


def test_the_fit_stops_where_the_loss_is_rounding() -> None:
    loss = [max(0.01**k, 1e-33) for k in range(60)]
    found = fit.fitted(loss, list(range(60)), "step", 0.0)
    assert found is not None
    assert found[0].last < 13
    assert found[0].gap == pytest.approx(0.99, rel=1e-9)


def test_ratios_far_below_the_floats_are_written_out() -> None:
    tiny = Enclosure.exact(10) ** -400
    assert fit.over_measured(tiny, -0.5) == "2.000e-400" or fit.over_measured(tiny, -0.5) == "2.001e-400"
    assert fit.over_measured(tiny, 0.5) is None
    assert fit.reached([1.0, 0.01, 1e-4, 1e-7], [0.0, 1.0, 2.0, 3.0]) == {"1e-3": 2.0, "1e-6": 3.0}


def test_the_bound_is_a_power_that_does_not_collapse(gd: Start) -> None:
    """(1 - gap)^k against exact rationals, at a gap that 1.0 - gap loses."""
    from fractions import Fraction

    from deqcheck.trajectory.certify import Promise

    assert gd.theorem.rate is not None
    gap = Fraction(1, 2**70)
    theorem = replace(gd.theorem, rate=replace(gd.theorem.rate, gap=sympy.Rational(1, 2**70)))
    promise = Promise(theorem, training(theorem, gd.point), gd.point, gd.found.values)
    bound, initial = promise.bound(1000.0), promise.initial(0)
    assert bound is not None
    exact = initial * Enclosure.exact((1 - gap) ** 1000)
    assert bound.overlaps(exact)
    assert (bound < initial) is UNDECIDED or (bound <= initial) is HOLDS
    lo, hi = (bound / exact).floats()
    assert 1 - 1e-9 < lo <= hi < 1 + 1e-9


# --- large models ----------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> Start:
    """Weights of both signs, so that units switch and neither equation is solved by one product."""
    begun = start("gd-relu", {"width": "60", "samples": "25", "dim": "12", "scale": "1", "gamma": "0.5"}, eta=1e-2)
    rng = np.random.default_rng(3)
    A = torch.eye(60, dtype=torch.float64) + torch.from_numpy(rng.standard_normal((60, 60))) / 30
    b = torch.from_numpy(rng.standard_normal(60))
    point = replace(begun.point, model=replace(begun.point.model, A=A, b=b))
    return Start(begun.theorem, point, begun.found)


def test_corrections_in_single_precision_give_the_same_gradient(mixed: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    model = training(mixed.theorem, mixed.point)
    exact = model.evaluate(model.parameters, {})
    monkeypatch.setattr("deqcheck.trajectory.model.LARGE", 0)
    cold = model.evaluate(model.parameters, {})
    warm = model.evaluate(model.parameters, cold.warm)
    assert exact.products == (0, 0)
    assert 0 < sum(warm.products) < sum(cold.products)
    for found in (cold, warm):
        assert found.accuracy == 1e-6
        assert torch.equal(found.warm["Z"] > 0, exact.warm["Z"] > 0), "a unit that is off is exactly off"
        for part, other in zip(found.gradient, exact.gradient, strict=True):
            assert float((part - other).norm()) <= 1e-6 * float(other.norm())


def test_a_large_run_follows_the_small_one(mixed: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = mixed.follow(12, covered=False, kernel=False)
    monkeypatch.setattr("deqcheck.trajectory.model.LARGE", 0)
    found = mixed.follow(12, covered=False, kernel=False)
    assert exact.history[-1] != exact.history[0]
    for one, other in zip(found.history, exact.history, strict=True):
        assert abs(one - other) <= 1e-5 * other
    assert found.error[-1] > exact.error[-1], "less is claimed of the cheaper gradient"


def test_a_large_run_resumes_in_the_same_bits(mixed: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deqcheck.trajectory.model.LARGE", 0)
    whole = mixed.follow(9, covered=False)
    mixed.follow(4, covered=False, save=tmp_path, save_every=4)
    assert mixed.follow(9, covered=False, resume=tmp_path) == whole


def test_single_precision_that_does_not_contract_says_so() -> None:
    from deqcheck.trajectory.solve import Correction

    work = Correction((3, 8), "cpu")
    work.rest.fill_(1.0)
    work.r.fill_(1.0)
    work.other.zero_()
    with pytest.raises(NotConverged, match="the growth"):
        work.solve(True, 1e-6, "the growth")


def test_corrections_survive_bad_mixtures() -> None:
    """More iterations than buffers, and mixtures that are forgotten: no buffer is lost or written over."""
    from deqcheck.trajectory.solve import Correction

    rng = np.random.default_rng(5)
    M = torch.from_numpy(rng.standard_normal((30, 30)))
    M = 0.97 * M / torch.linalg.matrix_norm(M, 2)
    r = torch.from_numpy(rng.standard_normal((6, 30)))
    work = Correction((6, 30), "cpu")
    work.rest.copy_(M)
    work.r.copy_(r)
    work.other.fill_(1.0)
    found, error, count = work.solve(False, 1e-5, "d")
    exact = torch.linalg.solve(torch.eye(30, dtype=torch.float64) - M, r.T).T
    assert count > 10
    assert float((found.double() - exact).norm()) <= 20 * max(error, 1e-5)


# --- watching --------------------------------------------------------------------------------------


def test_a_conclusion_that_fails_between_certified_steps_is_found(moving: Start) -> None:
    """sigma_min falls below a planted bound at some step that nobody chose; floats see it and it is certified."""
    seen = moving.follow(16, "all", kernel=False)
    sizes = [float(line.lhs[0]) for line in lines(seen, "(ii)")]
    assert sizes == sorted(sizes, reverse=True), "it falls from step to step"
    alpha = moving.theorem.symbols["alpha_0"]
    planted = {**moving.found.values, alpha: Enclosure.exact(sizes[10] + sizes[11])}
    found = follow(
        moving.theorem, moving.point, planted, moving.found.constants,
        steps=16, every=1000, covered=True, kernel=False,
    )  # fmt: skip
    assert [mark.step for mark in found.marks] == [0, 11, 16]
    assert found.violated[0] == "(ii)"
    assert found.counterexample


def test_what_cannot_have_failed_is_not_computed_again(gd: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> float:
        raise AssertionError("the distance moved was enough")

    monkeypatch.setattr("deqcheck.trajectory.watch._value", never)
    found = gd.follow(6, 1000, kernel=False)
    assert [mark.step for mark in found.marks] == [0, 6]


@pytest.mark.parametrize("least", [False, True])
def test_values_in_floats(least: bool) -> None:
    from deqcheck.trajectory.model import Watched
    from deqcheck.trajectory.watch import _value

    x = torch.from_numpy(np.random.default_rng(0).standard_normal((7, 20)))
    values = torch.linalg.svdvals(x)
    assert _value(Watched(x, least)) == pytest.approx(float(values[-1 if least else 0]), rel=1e-9)
    if least:
        assert _value(Watched(x.T, least)) == 0, "more rows than columns: the Gram matrix is singular"


# --- benchmarks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trajectory", "certify"])
def test_the_benchmarks_run(name: str, tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    script = Path(__file__).parent.parent / "benchmarks" / f"{name}.py"
    out = tmp_path / "r.json"
    done = subprocess.run(
        [sys.executable, str(script), "--quick", "--json", str(out)],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(out.read_text(encoding="utf-8"))["machine"]["threads"] == 1
