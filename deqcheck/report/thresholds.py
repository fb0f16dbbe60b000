"""A threshold in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deqcheck.report.number import short
from deqcheck.truth import HOLDS

if TYPE_CHECKING:
    from deqcheck.threshold import Threshold, Tried


def conclusion(found: Threshold) -> str:
    """Where every hypothesis holds, what binds at the edge, or why nothing was found."""
    name = found.source.rsplit(", ", 1)[-1]
    first, last = found.tried[0], found.tried[-1]
    span = f"between {short(first.value)} and {short(last.value)}"
    if found.holds is None:
        return f"No {found.vary} {span} satisfies every hypothesis of {name}. {_why_not(found)} {found.never}".rstrip()
    low, high = found.holds
    parts = []
    if (below := found.neighbour(low, -1)) is not None:
        parts.append(f"the smallest {found.vary} found at which every hypothesis of {name} holds is {short(low, 5)}")
        parts.append(_edge(below))
    if (above := found.neighbour(high, +1)) is not None:
        parts.append(f"the largest {found.vary} found at which every hypothesis of {name} holds is {short(high, 5)}")
        parts.append(_edge(above))
    if not parts:
        return f"Every hypothesis of {name} holds at every {found.vary} tried {span}."
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _edge(t: Tried) -> str:
    if t.why:
        return f"{short(t.value, 5)} is not admissible ({t.why.rstrip('.')})"
    by = f" by {short(abs(t.margin), 2)} decades" if t.margin is not None else ""
    verb = "fails" if t.truth.value == "FAILS" else "is undecided"
    return f"at {short(t.value, 5)} {t.worst or 'a hypothesis'} {verb}{by}"


def _why_not(found: Threshold) -> str:
    """The best value tried, and how the worst margin moves at both ends."""
    known = [t for t in found.tried if t.margin is not None and t.truth is not HOLDS and not t.why]
    if not known:
        return "No margin could be measured."
    best = max(known, key=lambda t: t.margin or 0.0)
    text = f"The nearest is {short(best.value)}, where {best.worst} fails by {short(-(best.margin or 0.0), 3)} decades."
    if (best.margin or 0.0) - min(t.margin or 0.0 for t in known) < 0.01:
        return f"{text} The margin hardly depends on {found.vary}."
    if best is known[-1]:
        return f"{text} The margin still improves towards larger values."
    if best is known[0]:
        return f"{text} The margin still improves towards smaller values."
    return f"{text} It gets worse on both sides."


def to_json(found: Threshold) -> dict[str, Any]:
    """Every value tried, so that a plot can be made of it."""
    return {
        "schema_version": 1,
        "theorem": {"key": found.key, "source": found.source},
        "vary": found.vary,
        "holds": None if found.holds is None else {"smallest": found.holds[0], "largest": found.holds[1]},
        "tried": [
            {"value": t.value, "verdict": t.truth.value, "worst": t.worst, "margin_log10": t.margin, "refused": t.why}
            for t in found.tried
        ],
        "conclusion": conclusion(found),
    }
