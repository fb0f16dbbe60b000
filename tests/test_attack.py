"""Attacks: what is false falls and can be repeated from one line; what is true survives; a planted falsehood falls."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from deqcheck import attack, library
from deqcheck.attack import COMMON, OWN, Case
from deqcheck.statement import Conclusion, Theorem
from tests.cli import run

FALSE = {
    "mondeq-gd": ("one input, no output, m = 1/10", ["rate"]),
    "opteq-gd": ("parity, inputs shut out, a large output", ["(23)"]),
    "mondeq-resolvent": ("the small instance", ["Lemma 3.3.2"]),
}


def case(key: str, name: str) -> Case:
    return next(c for c in attack.cases(library.theorem(key)) if c.name == name)


@pytest.mark.parametrize("key", FALSE)
def test_false_theorems_fall_and_the_command_shows_it(
    key: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, violated = FALSE[key]
    found = attack.strike(key, case(key, name))["counterexample"]
    assert found is not None and found["certified"]
    assert set(violated) <= {v["id"] for v in found["violated"]}
    assert found["hypotheses"] and found["instance"]["settings"]
    again = run(capsys, monkeypatch, *shlex.split(found["command"])[1:])
    assert again.code == 1
    assert "COUNTEREXAMPLE" in again.out


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("mondeq-gd:repaired", "one input, no output, m = 1/10"),
        ("relu-wellposed", "tiny weights"),
        ("gd-relu", "one unit, one sample"),
        ("kawaguchi-square", "γ close to 1"),
    ],
)
def test_true_theorems_survive(key: str, name: str) -> None:
    assert attack.strike(key, case(key, name))["counterexample"] is None


def test_a_planted_falsehood_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = library.theorem("relu-wellposed")
    claim = next(c.claim for c in true.conclusions if c.claim is not None)
    false = replace(true, conclusions=(Conclusion("planted", claim.func(claim.lhs, claim.rhs / 1000)),))

    def planted(_key: str) -> Theorem:
        return false

    monkeypatch.setattr(library, "theorem", planted)
    found = attack.strike("relu-wellposed", COMMON[0])["counterexample"]
    assert found is not None and [v["id"] for v in found["violated"]] == ["planted"]


def test_an_impossible_case_says_why() -> None:
    told = attack.strike("relu-wellposed", Case("nonsense", {"data": "parity", "dim": "1"}))
    assert told["counterexample"] is None and told["outcome"].startswith("not possible: 'parity' needs")


def test_every_case_is_used_by_some_theorem() -> None:
    used = {c.name for t in library.catalogue().values() for c in attack.cases(t)}
    assert used == {c.name for c in COMMON} | {c.name for own in OWN.values() for c in own}


def test_a_statistical_failure_is_not_called_certified() -> None:
    found = attack.strike("ling-norm", COMMON[0])["counterexample"]
    assert found is not None and not found["certified"]
