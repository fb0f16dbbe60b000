"""Audits as plain documents, cached by the content of the statement and of the engine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Container, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import sympy
from sympy import Rational, Symbol

from deqcheck.audit.inspect import Audit, HypothesisUse, Progress, StepResult, audit
from deqcheck.audit.pool import Pool
from deqcheck.audit.prove import Status
from deqcheck.statement import Theorem

SCHEMA_VERSION = 1


def to_json(found: Audit) -> dict[str, Any]:
    """The documented form, but for what other keys have to say about this one."""
    theorem = found.theorem
    return {
        "schema_version": SCHEMA_VERSION,
        "theorem": {"key": theorem.key, "source": str(theorem.source), "paper": theorem.source.paper},
        "steps": [_step(theorem, s) for s in found.steps],
        "hypotheses": [_hypothesis(theorem, h) for h in found.hypotheses],
        "satisfiability": {
            "status": found.satisfiability.status,
            "method": found.satisfiability.method,
            "witness": _witness(found.satisfiability.witness),
            "scaling": None,
        },
        "counterexamples": [_told(theorem)] if theorem.counterexample else [],
        "flaw": theorem.flaw,
        "reading": list(theorem.reading),
        "repaired": None,
        "sharp": None,
        "verdict": found.verdict.value,
    }


def _told(theorem: Theorem) -> dict[str, Any]:
    """A counterexample that is known in words; the tests certify it."""
    return {"hypotheses": [], "violated": [], "instance": None, "command": None, "text": theorem.counterexample}


def _variant(theorem: Theorem, kind: str, known: Container[str]) -> str | None:
    """The key of this theorem's repair or sharpening, where there is one."""
    key = f"{theorem.key.split(':', maxsplit=1)[0]}:{kind}"
    return key if key in known and key != theorem.key else None


def _step(theorem: Theorem, s: StepResult) -> dict[str, Any]:
    return {
        "id": s.step.id,
        "status": s.status.value,
        "method": s.finding.method if s.status is not Status.MISPRINT or s.fixed is None else s.fixed.method,
        "claim": theorem.plain(s.step.claim),
        "mathml": theorem.mathml(s.step.claim),
        "since": list(s.step.since),
        "proof": (s.fixed or s.finding).proof,
        "witness": _witness(s.finding.witness),
        "fix": None if s.step.fix is None else theorem.plain(s.step.fix),
        "text": s.step.text,
    }


def _hypothesis(theorem: Theorem, use: HypothesisUse) -> dict[str, Any]:
    """`needed` is the hypothesis with the constant that the proof needs."""
    needed = use.needed(theorem)
    return {
        "id": use.id,
        "used_by": list(use.used_by),
        "needed": None if needed is None else theorem.plain(needed),
        "factor": None if use.factor is None else str(use.factor),
        "sufficient": use.sufficient,
        "idle": use.idle,
    }


def _witness(point: Mapping[Symbol, Rational]) -> dict[str, str] | None:
    """Exact rationals as text: p/q."""
    return {str(s.name): str(v) for s, v in sorted(point.items(), key=lambda x: str(x[0]))} or None


# --- cache -----------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where finished audits are kept; it can be deleted at any time."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "deqcheck" / "audit"


def fingerprint(theorem: Theorem) -> str:
    """Changes when the statement, its proof or the engine changes."""
    digest = hashlib.sha256(content(theorem).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def content(*theorems: Theorem) -> str:
    """Changes when a statement or a proof changes."""
    digest = hashlib.sha256()
    for theorem in theorems:
        for field in fields(theorem):
            digest.update(f"{field.name}={_plain(getattr(theorem, field.name))}\n".encode())
    return digest.hexdigest()


def _plain(value: object) -> str:
    """A text that depends on content only: no addresses, no order of hashing."""
    if isinstance(value, sympy.Basic):
        return str(sympy.srepr(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_plain(k)}:{_plain(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "(" + ",".join(_plain(v) for v in value) + ")"
    if is_dataclass(value):
        names = [f.name for f in fields(value) if not callable(getattr(value, f.name))]
        return "<" + ",".join(f"{n}={_plain(getattr(value, n))}" for n in names) + ">"
    return repr(value)


def audited(
    theorem: Theorem, known: Container[str], show: Progress, pool: Pool, *, cached: bool = True
) -> dict[str, Any]:
    """The audit of one theorem, from the cache where nothing has changed."""
    found = _decided(theorem, show, pool, cached)
    return {**found, **{kind: _variant(theorem, kind, known) for kind in ("repaired", "sharp")}}


def _decided(theorem: Theorem, show: Progress, pool: Pool, cached: bool) -> dict[str, Any]:
    return recalled(fingerprint(theorem), lambda: to_json(audit(theorem, show, pool)), cached=cached)


def recalled(name: str, make: Callable[[], dict[str, Any]], *, cached: bool) -> dict[str, Any]:
    """The document kept under this name, or a new one; a damaged one is made anew."""
    file = cache_folder() / f"{name}.json"
    if cached and file.is_file():
        try:
            loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            file.unlink(missing_ok=True)
        else:
            return loaded
    made = make()
    if cached:
        _store(file, json.dumps(made, ensure_ascii=False))
    return made


def _store(file: Path, text: str) -> None:
    """A cache that cannot be written is no reason to fail."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError:
        return
