"""The encoded formulas against the paper's, typed a second time as plain Python at exact rationals."""

import random
from fractions import Fraction

import pytest

from deqcheck import library
from deqcheck.conditions.judge import environment, judge_hypotheses
from deqcheck.enclosure import Enclosure
from deqcheck.truth import FAILS, HOLDS


def paper(v: dict[str, Fraction]) -> dict[str, tuple[Fraction, Fraction]]:
    """Both sides of (14), (15), (17)-(20) as printed."""
    lam1, lam2, lam3 = v["norm_W"] + v["C_1"], v["norm_A"] + v["C_2"], v["norm_b"] + v["C_3"]
    g = v["gamma"] * lam2
    lam0 = max(lam1 / v["C_3"], g * lam1 * lam3 / ((1 - g) * v["C_2"] * lam2), lam3 / v["C_1"])
    bracket = 1 + g**2 / (1 - g) ** 2 * lam1**2 / lam2**2
    bar = bracket / (bracket / lam1**2 + 1 / lam3**2) ** 2
    a, x, r = v["alpha_0"], v["norm_X_F"], v["r_0"]
    return {
        "(14)": (a**2, 4 / (1 - g) * lam0 * x * r),
        "(15)": (a**3, bracket * 8 * lam3 / (1 - g) ** 2 * x**2 * r),
        "(17)": (a**2, 8 / (1 - g) * lam0 * x * r),
        "(18)": (a**3, bracket * 16 * lam3 / (1 - g) ** 2 * x**2 * r),
        "(19)": (a**2, bracket * 16 * lam3**2 / (1 - g) ** 2 * x**2),
        "(20)": (v["eta"], min(4 / a**2, 2 * (1 - g) ** 2 * bar / (lam1**4 * lam3**2 * x**2))),
    }


def draw(rng: random.Random) -> dict[str, Fraction]:
    names = ["alpha_0", "norm_W", "norm_A", "norm_b", "norm_X_F", "r_0", "C_1", "C_2", "C_3", "eta", "N"]
    v = {n: Fraction(rng.randint(1, 10**6), rng.randint(1, 10**6)) for n in names}
    v["gamma"] = Fraction(rng.randint(1, 999), 1000) / (v["norm_A"] + v["C_2"])
    return v


@pytest.mark.parametrize("key", ["gf-relu", "gd-relu"])
@pytest.mark.parametrize("seed", range(40))
def test_encoded_sides_equal_the_print(key: str, seed: int) -> None:
    theorem = library.theorem(key)
    values = draw(random.Random(seed))
    exact = {s: Enclosure.exact(values[s.name]) for s in (*theorem.measured, *theorem.chosen)}
    judged = judge_hypotheses(theorem, environment(theorem, exact, {}))
    for number, (lhs, rhs) in paper(values).items():
        if number not in judged:
            continue
        j = judged[number]
        assert j.lhs.contains(lhs) and j.lhs.relative_width() < 1e-40
        assert j.rhs.contains(rhs) and j.rhs.relative_width() < 1e-40
        holds = lhs < rhs if number == "(20)" else lhs >= rhs
        assert j.truth is (HOLDS if holds else FAILS)


def test_rates_are_the_printed_ones() -> None:
    flow, descent = library.theorem("gf-relu"), library.theorem("gd-relu")
    a, eta = descent.symbols["alpha_0"], descent.symbols["eta"]
    assert flow.rate is not None and flow.rate.gap == a**2 / 2
    assert descent.rate is not None and descent.rate.gap == eta * a**2 / 4
