"""Kleene's tables, and that a Truth cannot be mistaken for a bool."""

from itertools import product

import pytest

from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth, every

ORDER = [FAILS, UNDECIDED, HOLDS]  # Kleene: and is min, or is max, not turns the order round


@pytest.mark.parametrize(("a", "b"), list(product(ORDER, ORDER)))
def test_and_is_min_and_or_is_max(a: Truth, b: Truth) -> None:
    assert a & b is ORDER[min(ORDER.index(a), ORDER.index(b))]
    assert a | b is ORDER[max(ORDER.index(a), ORDER.index(b))]
    assert ~(a & b) is (~a | ~b)


@pytest.mark.parametrize(("a", "negation"), list(zip(ORDER, reversed(ORDER), strict=True)))
def test_not_turns_the_order_round(a: Truth, negation: Truth) -> None:
    assert ~a is negation


@pytest.mark.parametrize("a", ORDER)
def test_a_truth_is_no_bool(a: Truth) -> None:
    with pytest.raises(TypeError, match="three values"):
        bool(a)
    with pytest.raises(TypeError):
        not a  # noqa: B018 - it is the `not` that must raise
    with pytest.raises(TypeError):
        all([a])


@pytest.mark.parametrize("truths", list(product(ORDER, repeat=3)))
def test_every_is_the_least_of_them(truths: tuple[Truth, ...]) -> None:
    assert every(truths) is ORDER[min(ORDER.index(t) for t in truths)]
    assert every(iter(truths)) is every(truths)


def test_every_of_nothing_holds() -> None:
    assert every([]) is HOLDS


def test_the_values_are_what_the_reports_print() -> None:
    assert [t.value for t in Truth] == ["HOLDS", "FAILS", "UNDECIDED"]
