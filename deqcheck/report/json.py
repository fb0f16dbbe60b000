"""Results as JSON: bounds are decimal strings rounded outward, so that nothing is lost."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from deqcheck.enclosure import Enclosure
from deqcheck.report.sentence import conclusion
from deqcheck.verdict import Json, Line, Result

SCHEMA_VERSION = 1


def bounds(x: Enclosure | None) -> Json:
    """{lo, hi} as decimal strings, or null for an unchecked line."""
    return None if x is None else {**_ends(x)}


def _line(line: Line) -> Json:
    return {
        "id": line.id,
        "status": line.status.value,
        "verdict": None if line.verdict is None else line.verdict.value,
        "lhs": bounds(line.lhs),
        "rhs": bounds(line.rhs),
        "margin_log10": line.margin,
        "latex": line.latex,
        "mathml": line.mathml,
        "formula": line.formula,
        "text": line.text,
        "note": line.note,
    }


def to_json(result: Result) -> dict[str, Any]:
    """The documented form; see result.schema.json."""
    return {**_checked(result), **_trained(result)}


def _trained(result: Result) -> dict[str, Any]:
    """The training run, as a key that is there only where one was asked for."""
    if result.trajectory is None:
        return {}
    from deqcheck.trajectory.value import document

    return {"trajectory": document(result.trajectory)}


def _checked(result: Result) -> dict[str, Any]:
    rate, found = result.rate, result.equilibrium
    return {
        "schema_version": SCHEMA_VERSION,
        "theorem": {
            "key": result.key,
            "title": result.title,
            "source": result.source,
            "paper": result.paper,
            "reading": list(result.reading),
            "flaw": result.flaw,
        },
        "instance": dict(result.instance),
        "quantities": {
            q.name: {
                **_ends(q.value),
                "latex": q.latex,
                "text": q.text,
                "meaning": q.meaning,
                "evidence": q.evidence.value,
            }
            for q in result.quantities
        },
        "constants": {c.name: c.value for c in result.constants},
        "constants_chosen_by": {c.name: c.how for c in result.constants},
        "hypotheses": [_line(h) for h in result.hypotheses],
        "conclusions": [_line(c) for c in result.conclusions],
        "rate": None if rate is None else {
            "id": rate.id,
            "per": rate.per,
            "of": rate.of,
            "one_minus_rate": bounds(rate.one_minus_rate),
            "half_life_steps": bounds(rate.half_life),
            "measured": rate.measured,
            "guaranteed": rate.guaranteed,
            "formula": rate.formula,
            "latex": rate.latex,
            "mathml": rate.mathml,
        },
        "equilibrium": None if found is None else {
            "method": found.method,
            "iterations": len(found.residuals),
            "residuals": list(found.residuals),
            "radius": bounds(found.radius),
            "contraction": bounds(found.contraction),
        },
        "spectrum": list(result.spectrum),
        "verdict": result.verdict.value,
        "outcome": result.outcome.name,
        "conclusion": conclusion(result),
        "timings": dict(result.timings),
        "environment": dict(result.environment),
    }  # fmt: skip


def collection(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Several results in one file."""
    return {"schema_version": SCHEMA_VERSION, "results": documents}


def _ends(x: Enclosure) -> dict[str, str]:
    lo, hi = x.decimals(20)
    return {"lo": lo, "hi": hi}


def dumps(document: dict[str, Any]) -> str:
    """Text that diffs well."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema that every result satisfies."""
    text = (resources.files("deqcheck.report") / "result.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
