"""A malformed theorem is refused when it is built, with a sentence that names the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy
from sympy import Float, Rational, Symbol, symbols

from deqcheck.enclosure import Enclosure
from deqcheck.error import InputError
from deqcheck.statement import (
    Conclusion,
    Fact,
    Growth,
    Hypothesis,
    Quantity,
    Rate,
    Reference,
    Rule,
    Source,
    Step,
    Theorem,
    fixed,
    free,
    largest,
    least,
)

a, b, c, eta, M = symbols("a b c eta M", real=True)
stranger = Symbol("stranger", real=True)


def quantity(name: str) -> Quantity:
    return Quantity(name, f"⟦{name}⟧", rf"\mathrm{{{name}}}", "a test", lambda _p, _e: Enclosure.exact(1))


def build(**changes: Any) -> Theorem:
    """A small well-formed theorem, with some of its parts replaced."""
    parts: dict[str, Any] = {
        "key": "test",
        "title": "A test",
        "source": Source("Paper", "Author", 2020, "Theorem 1"),
        "family": "relu",
        "setting": "none",
        "measured": {a: quantity("alpha"), b: quantity("beta")},
        "chosen": {eta: largest("(2)"), c: free, M: least(a + b)},
        "definitions": {},
        "hypotheses": (
            Hypothesis("(1)", a**2 >= 8 * b * c),
            Hypothesis("(2)", eta < 1 / (a + M)),
            Hypothesis("(3)", None, "the samples are drawn independently"),
        ),
        "conclusions": (Conclusion("(i)", a > b),),
        "rate": Rate("(ii)", eta * a**2 / 4, "step"),
        "proof": (Step("(4)", a > b / 2, since=("(1)",)),),
    }
    return Theorem(**{**parts, **changes})


def hypotheses(*extra: Hypothesis) -> dict[str, Any]:
    return {"hypotheses": (*build().hypotheses, *extra)}


def test_a_well_formed_theorem_passes() -> None:
    theorem = build()
    assert set(theorem.symbols) == {"a", "b", "c", "eta", "M"}
    assert theorem.hypothesis("(1)").claim == (a**2 >= 8 * b * c)
    assert [h.assumed for h in theorem.hypotheses] == [False, False, True]
    assert theorem.chosen[eta].rule is Rule.LARGEST


def test_a_theorem_cannot_be_changed() -> None:
    theorem = build()
    with pytest.raises(AttributeError):
        theorem.key = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        theorem.measured[stranger] = quantity("s")  # type: ignore[index]


def test_the_callers_dictionaries_are_copied() -> None:
    measured = {a: quantity("alpha"), b: quantity("beta")}
    theorem = build(measured=measured)
    measured.clear()
    assert set(theorem.measured) == {a, b}


positive = Symbol("p", positive=True)
negative = Symbol("n", negative=True)
nonzero = Symbol("q", real=True, nonzero=True)
plain = Symbol("w")
other_a = sympy.Dummy("a", real=True)

MALFORMED: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a positive symbol": (
        lambda: {"measured": {**build().measured, positive: quantity("p")}},
        "must be real=True and nothing more",
    ),
    "a negative symbol": (lambda: {"chosen": {**build().chosen, negative: free}}, "must be real=True and nothing more"),
    "a nonzero symbol": (lambda: {"chosen": {**build().chosen, nonzero: free}}, "must be real=True and nothing more"),
    "a signed definition": (lambda: {"definitions": {positive: a + 1}}, "must be real=True and nothing more"),
    "a complex symbol": (lambda: {"measured": {**build().measured, plain: quantity("w")}}, "w must be real"),
    "two symbols of one name": (
        lambda: {"measured": {**build().measured, other_a: quantity("twin")}},
        "must be real=True and nothing more|share a name",
    ),
    "measured and chosen": (
        lambda: {"chosen": {**build().chosen, a: free}},
        "both measured and chosen",
    ),
    "a Float in a hypothesis": (lambda: hypotheses(Hypothesis("(9)", a > Float("0.5") * b)), r"\(9\) holds a Float"),
    "a Float deep inside": (
        lambda: hypotheses(Hypothesis("(9)", a > sympy.sqrt(1 + b ** Float("1.5")))),
        r"\(9\) holds a Float",
    ),
    "a Float in a conclusion": (lambda: {"conclusions": (Conclusion("(i)", a > 0.5 * b),)}, "holds a Float"),
    "an unknown symbol": (lambda: hypotheses(Hypothesis("(9)", a > stranger)), r"\(9\) uses the unknown stranger"),
    "an unknown symbol in the rate": (
        lambda: {"rate": Rate("(ii)", stranger * a, "step")},
        "rate uses the unknown stranger",
    ),
    "an unknown symbol in a definition": (
        lambda: {"definitions": {c: stranger + 1}, "chosen": {}, "hypotheses": (), "rate": None},
        "definition of c uses the unknown stranger",
    ),
    "definitions out of order": (
        lambda: {"definitions": {symbols("u", real=True): symbols("v", real=True), symbols("v", real=True): a}},
        "definition of u uses the unknown v",
    ),
    "one number twice": (lambda: hypotheses(Hypothesis("(1)", a > b)), "two statements share a number"),
    "a hypothesis and a conclusion of one number": (
        lambda: {"conclusions": (Conclusion("(1)", a > b),)},
        "two statements share a number",
    ),
    "decided true": (lambda: hypotheses(Hypothesis("(9)", a**2 >= 0)), "decided it already"),
    "decided false": (lambda: hypotheses(Hypothesis("(9)", sympy.false)), "decided it already"),
    "a conclusion decided": (lambda: {"conclusions": (Conclusion("(i)", a - a >= 0),)}, "decided it already"),
    "a bool": (lambda: hypotheses(Hypothesis("(9)", True)), "not an inequality"),
    "an expression": (lambda: hypotheses(Hypothesis("(9)", a + b)), "not an inequality"),
    "an assumption without words": (lambda: hypotheses(Hypothesis("(9)", None)), "assumes nothing in words"),
    "largest in the wrong direction": (
        lambda: {"chosen": {**build().chosen, eta: largest("(1)")}},
        "'eta < bound'",
    ),
    "largest in an assumption": (lambda: {"chosen": {**build().chosen, eta: largest("(3)")}}, "'eta < bound'"),
    "largest of another symbol": (lambda: {"chosen": {**build().chosen, c: largest("(2)")}}, "'c < bound'"),
    "largest below a closed bound": (
        lambda: {
            **hypotheses(Hypothesis("(9)", eta <= a)),
            "chosen": {**build().chosen, eta: largest("(9)")},
        },
        "'eta < bound'",
    ),
    "two facts of one number": (
        lambda: {"facts": (Fact("f", a > 0), Fact("f", b > 0))},
        "two premises are called f",
    ),
    "a step called like a hypothesis": (
        lambda: {"proof": (Step("(1)", a + 1 > b),)},
        r"step \(1\) is called like",
    ),
    "growth of nothing known": (
        lambda: {"growth": Growth({Symbol("z", real=True): (1, 0)}, {}, {}, (), ())},
        "neither measured nor chosen",
    ),
    "largest in no hypothesis": (
        lambda: {"chosen": {**build().chosen, eta: largest("(17)")}},
        r"unknown hypothesis of test '\(17\)'",
    ),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_theorem_is_refused(fault: str) -> None:
    changes, message = MALFORMED[fault]
    with pytest.raises(InputError, match=message):
        build(**changes())


def test_a_refusal_names_the_theorem() -> None:
    with pytest.raises(InputError, match="theorem 'mine' is malformed"):
        build(key="mine", conclusions=(Conclusion("(1)", a > b),))


nonnegative = Symbol("t", nonnegative=True)
whole = Symbol("k", integer=True)

FURTHER: dict[str, Callable[[], dict[str, Any]]] = {
    "a nonnegative symbol": lambda: {"measured": {**build().measured, nonnegative: quantity("t")}},
    "a nonpositive symbol": lambda: {"chosen": {**build().chosen, Symbol("m", nonpositive=True): free}},
    "an integer symbol": lambda: {"measured": {**build().measured, whole: quantity("k")}},
    "an equation": lambda: hypotheses(Hypothesis("(9)", sympy.Eq(a, b))),
    "a Float in a definition": lambda: {"definitions": {symbols("u", real=True): Float("0.1") * a}},
    "a Float in the rate": lambda: {"rate": Rate("(ii)", Float("0.25") * a, "step")},
    "a Float in a choice": lambda: {"chosen": {**build().chosen, M: least(Float("0.1") * a)}},
    "a Float in a proof step": lambda: {"proof": (Step("(4)", a > Float("0.5") * b),)},
    "a proof step decided": lambda: {"proof": (Step("(4)", sympy.true),)},
    "an unknown symbol in a choice": lambda: {"chosen": {**build().chosen, M: least(stranger)}},
    "an unknown symbol in a tolerance": lambda: {"chosen": {**build().chosen, c: fixed(stranger)}},
    "a definition of a measured symbol": lambda: {"definitions": {a: b + 1}},
    "a reference for no chosen symbol": lambda: {"references": (Reference(stranger, Rational(1), "r"),)},
    "largest below itself": lambda: {
        **hypotheses(Hypothesis("(9)", eta < a * eta**2)),
        "chosen": {**build().chosen, eta: largest("(9)")},
    },
    "a step derived from nothing known": lambda: {"proof": (Step("(4)", a > b, since=("(99)",)),)},
}


@pytest.mark.parametrize("fault", FURTHER)
def test_a_further_fault_is_refused(fault: str) -> None:
    with pytest.raises(InputError, match="is malformed"):
        build(**FURTHER[fault]())


def test_definitions_expand_to_measured_and_chosen_symbols() -> None:
    u, v = symbols("u v", real=True)
    theorem = build(definitions={u: a + 1, v: u**2 + b})
    assert theorem.expand(v + c) == (a + 1) ** 2 + b + c


def test_formulas_are_shown_with_the_names_of_the_paper() -> None:
    theorem = build()
    claim = theorem.hypothesis("(1)").claim
    assert claim is not None
    assert "⟦alpha⟧" in theorem.plain(claim)
    assert "⟦beta⟧" in theorem.pretty(claim)
    assert r"\mathrm{alpha}" in theorem.latex(claim)


def test_an_unknown_hypothesis_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean"):
        build().hypothesis("(2")


def test_a_choice_carries_its_rule_and_what_it_rests_on() -> None:
    assert (free.rule, free.of) == (Rule.FREE, None)
    assert (largest("(2)").rule, largest("(2)").of) == (Rule.LARGEST, "(2)")
    assert (least(a + b).rule, least(a + b).of) == (Rule.LEAST, a + b)
    assert (fixed(Rational(1, 9)).rule, fixed(Rational(1, 9)).of) == (Rule.FIXED, Rational(1, 9))
