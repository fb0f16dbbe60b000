"""All that an audit says of one theorem: its proof, the attacks on it, and its scaling law; cached by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container
from functools import cache, partial
from pathlib import Path
from typing import Any

from deqcheck import attack, scaling
from deqcheck.audit import document
from deqcheck.audit.inspect import Progress
from deqcheck.audit.pool import Pool
from deqcheck.statement import Theorem

STRIKE, MEASURE = 60.0, 120.0
"""Seconds of processor time for one attack, and for the measurements of one scaling law."""
UNSEEN = {"report", "cli.py", "options.py", "__main__.py", "pytest_plugin.py", "regress.py", "threshold.py"}
"""What cannot change a finding."""


def dossier(
    theorem: Theorem, known: Container[str], show: Progress, pool: Pool, *, cached: bool = True
) -> dict[str, Any]:
    """The audit of one theorem as a document, from the cache where nothing has changed."""
    found = document.audited(theorem, known, show, pool, cached=cached)
    name = hashlib.sha256(f"{document.fingerprint(theorem)} {engine()}".encode()).hexdigest()
    tried = document.recalled(f"tried-{name}", partial(_tried, theorem, show, pool), cached=cached)
    return _joined(theorem, found, tried)


def _tried(theorem: Theorem, show: Progress, pool: Pool) -> dict[str, Any]:
    """What instances say: attacks, and the scaling law."""

    def strike(case: attack.Case) -> dict[str, Any]:
        show(f"{theorem.key}: {case.name}")
        told = f"not finished within {STRIKE:g} s"
        unfinished = {"case": case.name, "outcome": told, "counterexample": None, "held": None}
        return pool.call(attack.strike, theorem.key, case, seconds=STRIKE) or unfinished

    def law() -> list[dict[str, Any]]:
        show(f"{theorem.key}: scaling law")
        return pool.call(scaling.laws, theorem.key, seconds=MEASURE) or []

    tasks: list[Callable[[], Any]] = [law, *(partial(strike, case) for case in attack.cases(theorem))]
    laws, *strikes = pool.each(tasks)
    return {"attacks": strikes, "scaling": laws}


def _joined(theorem: Theorem, found: dict[str, Any], tried: dict[str, Any]) -> dict[str, Any]:
    """One document. A certified counterexample outweighs every proved step."""
    strikes = tried["attacks"]
    counterexamples = [s["counterexample"] for s in strikes if s["counterexample"] is not None]
    growth = theorem.growth
    scaling_law = {
        "never": theorem.never or None,
        "assumes": None if growth is None else growth.text,
        "laws": tried["scaling"],
    }
    known = [*counterexamples] or found["counterexamples"]
    certified = any(c.get("certified", True) for c in known)
    return {
        **found,
        "satisfiability": {**_satisfiable(found["satisfiability"], strikes), "scaling": scaling_law},
        "attacks": [{"case": s["case"], "outcome": s["outcome"]} for s in strikes],
        "counterexamples": known,
        "verdict": "false" if certified else found["verdict"],
    }


def _satisfiable(found: dict[str, Any], strikes: list[dict[str, Any]]) -> dict[str, Any]:
    """Where the solvers leave it open, an instance on which every hypothesis is proved settles it."""
    held = next((s["held"] for s in strikes if s["held"]), None)
    if found["status"] != "UNKNOWN" or held is None:
        return found
    return {**found, "status": "SATISFIABLE", "method": f"an instance on which all of them are proved: {held}"}


@cache
def engine() -> str:
    """Changes when any source changes that a measurement depends on."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        if source.relative_to(root).parts[0] not in UNSEEN:
            digest.update(source.read_bytes())
    return digest.hexdigest()
