"""Choosing constants, refuting every choice, and judging."""

import math

import numpy as np
import pytest
from sympy import Symbol

from deqcheck import library
from deqcheck.conditions import choose
from deqcheck.conditions.judge import environment, judge_hypotheses
from deqcheck.conditions.refute import no_choice_works
from deqcheck.enclosure import Enclosure
from deqcheck.truth import HOLDS, every

GD = library.theorem("gd-relu")
BASE = {
    "alpha_0": 0.034, "norm_W": 1.62, "norm_A": 1.0, "norm_b": 0.0, "norm_X_F": 31.6, "r_0": 31.6, "gamma": 0.5,
    "N": 1000.0,
}  # fmt: skip


def at_scale(beta: float) -> dict[Symbol, float]:
    power = {"alpha_0": 1, "norm_W": 1, "norm_A": 1, "norm_b": 1, "gamma": -1}
    return {GD.symbols[n]: v * beta ** power.get(n, 0) for n, v in BASE.items()}


def holds_at(values: dict[Symbol, float], constants: dict[Symbol, float]) -> bool:
    exact = {s: Enclosure.exact(v) for s, v in {**values, **constants}.items()}
    exact.setdefault(GD.symbols["eta"], Enclosure.exact(1e-300))
    return every(j.truth for j in judge_hypotheses(GD, environment(GD, exact, {})).values()) is HOLDS


def test_the_smallest_scale_is_the_smallest() -> None:
    land = choose.landscape(GD, frozenset())
    beta, _ = choose.smallest_scale(land, at_scale)
    assert beta is not None
    constants, margin = choose.choose_constants(GD, at_scale(beta), frozenset())
    assert margin > 0 and holds_at(at_scale(beta), constants)
    below = {s: Enclosure.exact(v) for s, v in at_scale(beta / 1.002).items()}
    assert no_choice_works(GD, below, {}, land.free), "a scale 0.2 % smaller is certified to be too small"


@pytest.mark.parametrize("beta", [1.0, 1e3, 1e5])
def test_failure_is_certified_for_every_choice(beta: float) -> None:
    measured = {s: Enclosure.exact(v) for s, v in at_scale(beta).items()}
    free = choose.landscape(GD, frozenset()).free
    assert no_choice_works(GD, measured, {}, free)
    rng = np.random.default_rng(0)
    for logs in rng.uniform(-12, 12, size=(300, 3)):
        assert not holds_at(at_scale(beta), dict(zip(free, (10.0**logs).tolist(), strict=True)))


def test_nothing_is_refuted_where_something_works() -> None:
    measured = {s: Enclosure.exact(v) for s, v in at_scale(1e7).items()}
    assert not no_choice_works(GD, measured, {}, choose.landscape(GD, frozenset()).free)


def test_nothing_is_refuted_by_an_unknown_quantity() -> None:
    measured = {s: Enclosure.exact(v) for s, v in at_scale(1.0).items()}
    measured[GD.symbols["alpha_0"]] = Enclosure.between(0, math.inf)
    assert not no_choice_works(GD, measured, {}, choose.landscape(GD, frozenset()).free, budget=500)


def test_pinned_constants_are_kept_and_the_rest_is_chosen() -> None:
    pin = {GD.symbols["C_1"]: 1.0}
    constants, _ = choose.choose_constants(GD, {**at_scale(1e8), **pin}, frozenset(pin))
    assert set(constants) == {GD.symbols["C_2"], GD.symbols["C_3"]}
    assert holds_at(at_scale(1e8), {**constants, **pin})


def test_the_rate_is_climbed_once_there_is_room() -> None:
    land = choose.landscape(GD, frozenset())
    known = at_scale(1e9)
    _, middle = choose.best_worst_margin(land, known)
    climbed = choose.best_rate(land, known, middle)
    assert land.rate(known, climbed[None])[0] > land.rate(known, middle[None])[0] + 1
    assert np.all(land.margins(known, climbed[None]) > 0)


@pytest.mark.parametrize(("x", "up"), [(1.00001, 1.001), (558_412.0, 558_500.0), (9.9999, 10.0), (3e-7, 3e-7)])
def test_rounding_up_rounds_up(x: float, up: float) -> None:
    assert choose.rounded_up(x) == pytest.approx(up, rel=1e-12)
    assert choose.rounded_up(x) >= x * (1 - 1e-15)
