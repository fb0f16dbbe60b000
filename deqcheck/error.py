"""The one exception that means "your input is wrong", as opposed to "deqcheck has a bug"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(Exception):
    """Bad input, in one sentence: what was given, what is wrong with it, what to do.

    The command line prints the sentence and exits with code 2; nothing else may end that way.
    """


def unknown(kind: str, given: str, known: Iterable[str]) -> InputError:
    """Name the nearest right spelling, because an unknown key is nearly always a misspelt one."""
    names = sorted(known)
    near = get_close_matches(given, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}."
    return InputError(f"unknown {kind} {given!r}; {hint}")
