"""Three-valued truth. UNDECIDED is an answer, so a Truth refuses to be used as a bool."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NoReturn


class Truth(Enum):
    """HOLDS and FAILS are proved; UNDECIDED says that the enclosures could not tell."""

    HOLDS = "HOLDS"
    FAILS = "FAILS"
    UNDECIDED = "UNDECIDED"

    def __bool__(self) -> NoReturn:
        raise TypeError("a Truth has three values; compare it with 'is', do not use it as a bool")

    def __invert__(self) -> Truth:
        return _NEGATION[self]

    def __and__(self, other: Truth) -> Truth:
        return every((self, other))

    def __or__(self, other: Truth) -> Truth:
        return ~every((~self, ~other))


HOLDS, FAILS, UNDECIDED = Truth.HOLDS, Truth.FAILS, Truth.UNDECIDED
_NEGATION = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}


def every(truths: Iterable[Truth]) -> Truth:
    """Kleene conjunction: one failure decides, however much else is undecided."""
    seen = set(truths)
    if FAILS in seen:
        return FAILS
    return UNDECIDED if UNDECIDED in seen else HOLDS
