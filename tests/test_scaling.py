"""Scaling laws: predicted from the exponents of the quantities, confirmed by measurements; a wrong law is not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from sympy import Rational

from deqcheck import library, scaling
from deqcheck.statement import Growth, Theorem

HALF = Rational(1, 2)


def with_growth(monkeypatch: pytest.MonkeyPatch, key: str, **wrong: tuple[Rational, Rational]) -> Theorem:
    """Ling's Theorem 1 at small sizes, with some exponents changed."""
    theorem = library.theorem(key)
    names = {s.name: s for s in theorem.measured}
    powers = {"lambda_0": (1, 0), "norm_U": (HALF, 0), "norm_X_F": (0, HALF), "r_0": (0, HALF), **wrong}
    small = Growth(
        {names[n]: p for n, p in powers.items()}, {"samples": "3", "dim": "10"}, {"width": "600", "dim": "100"},
        (100, 200, 400), (2, 4, 8),
    )  # fmt: skip
    changed = replace(theorem, growth=small)
    monkeypatch.setattr(library, "theorem", lambda _key: changed)
    return changed


def test_no_width_helps_condition_9(monkeypatch: pytest.MonkeyPatch) -> None:
    with_growth(monkeypatch, "ling-gd")
    laws = {(law["hypothesis"], law["vary"]): law for law in scaling.laws("ling-gd")}
    nine = laws["(9)", "width"]
    assert nine["predicted"] == {"larger": "1", "smaller": "1"} and nine["confirmed"]
    assert "no width helps" in nine["says"]
    assert laws["(8)", "width"]["predicted"] == {"larger": "3/2", "smaller": "1"}
    assert "hurts" in laws["(9)", "samples"]["says"]


def test_a_wrong_law_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    with_growth(monkeypatch, "ling-gd", lambda_0=(Rational(2), Rational(0)))
    laws = {(law["hypothesis"], law["vary"]): law for law in scaling.laws("ling-gd")}
    assert laws["(9)", "width"]["predicted"]["larger"] == "2"
    assert not laws["(9)", "width"]["confirmed"]


def test_without_an_initialisation_there_is_no_law() -> None:
    assert library.theorem("relu-ntk").growth is None
    assert scaling.laws("relu-ntk") == []


def test_slopes() -> None:
    assert scaling.slope((1, 2, 4), [3.0, 12.0, 48.0]) == pytest.approx(2)
    assert scaling.slope((1, 2), [1.0, 0.0]) is None
    assert scaling.slope((1, 2), [1.0, math.inf]) is None


def test_every_law_of_the_catalogue_names_symbols_that_are_measured() -> None:
    grown = [t for t in library.catalogue().values() if t.growth is not None]
    assert all(len(t.growth.widths) >= 3 and len(t.growth.counts) >= 3 for t in grown if t.growth is not None)
