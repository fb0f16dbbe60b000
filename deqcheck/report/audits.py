"""Audits in words, in the terminal, and as the document docs/findings.md."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deqcheck.report.number import listed

Document = dict[str, Any]
COLOUR = {
    "PROVED": "green", "REFUTED": "red", "UNPROVED": "yellow", "MISPRINT": "magenta",
    "sound": "green", "misprinted": "magenta", "gap": "red", "vacuous": "red", "false": "red", "open": "yellow",
}  # fmt: skip
WORDS = {
    "sound": "every encoded step is proved",
    "misprinted": "every encoded step is proved after correcting misprints",
    "gap": "a step does not follow as printed",
    "vacuous": "the hypotheses cannot hold together",
    "false": "there is a counterexample",
    "open": "not every step is decided",
}


def is_printed(document: Document) -> bool:
    """Whether this is a paper's own statement, not a repair or a sharpening of ours."""
    return ":" not in str(document["theorem"]["key"])


def fails(document: Document) -> bool:
    """Whether the print has a refuted step, vacuous hypotheses or a counterexample."""
    bad = any(s["status"] == "REFUTED" for s in document["steps"])
    return is_printed(document) and (
        bad or document["satisfiability"]["status"] == "VACUOUS" or document["verdict"] == "false"
    )


def counts(document: Document) -> str:
    """12 PROVED, 1 REFUTED."""
    order = ("PROVED", "MISPRINT", "REFUTED", "UNPROVED")
    numbers = {name: sum(s["status"] == name for s in document["steps"]) for name in order}
    return ", ".join(f"{n} {name}" for name, n in numbers.items() if n) or "no steps encoded"


def headline(document: Document) -> str:
    """One line per theorem."""
    verdict = document["verdict"]
    return f"{document['theorem']['key']}: {verdict} ({WORDS[verdict]}; {counts(document)})."


def summary(documents: list[Document]) -> RenderableType:
    """One row per theorem."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    for d in documents:
        verdict = Text(d["verdict"], style=COLOUR[d["verdict"]])
        table.add_row(
            Text(d["theorem"]["key"], style="bold"), verdict, counts(d), d["satisfiability"]["status"].lower()
        )
    return table


def detail(document: Document) -> RenderableType:
    """One theorem: what is wrong first, then every step."""
    parts: list[RenderableType] = [Text(headline(document), style="bold")]
    if document["flaw"]:
        parts.append(Padding(Text(document["flaw"]), (0, 0, 0, 2)))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    for s in document["steps"]:
        table.add_row(Text(s["id"], style="cyan"), Text(s["status"], style=COLOUR[s["status"]]), Text(s["claim"]))
        if s["status"] in ("REFUTED", "MISPRINT"):
            note = f"meant: {s['fix']}" if s["fix"] else ""
            table.add_row("", "", Text(f"{note}  false at {_at(s['witness'])}".strip(), style="dim"))
        elif s["status"] == "UNPROVED":
            table.add_row("", "", Text(s["method"], style="dim"))
    parts.append(Padding(table, (0, 0, 0, 2)))
    remark = Table(box=None, pad_edge=False, show_header=False)
    remark.add_column(no_wrap=True)
    for label, text in remarks(document):
        remark.add_row(Text(label, style="bold"), Text(text))
    parts.append(Padding(remark, (1, 0, 1, 2)))
    return Group(*parts)


def remarks(document: Document) -> list[tuple[str, str]]:
    """What there is to say beside the steps, worst first: a label and a sentence each."""
    found = [("broken by", instance(c)) for c in document["counterexamples"]]
    by_hand = next((c["text"] for c in document["counterexamples"] if c.get("command") and c["text"]), None)
    if by_hand:
        found.append(("by hand", by_hand))
    hypotheses = document["hypotheses"]
    for h in hypotheses:
        if h["sufficient"] is False and h.get("needed"):
            found.append((h["id"], f"does not carry what the steps citing it need; they follow from {h['needed']}"))
        elif h["sufficient"] and h.get("factor") not in (None, "1"):
            found.append((h["id"], f"the steps citing it need only {h['needed']}"))
    idle = [h["id"] for h in hypotheses if h["idle"]]
    if idle:
        found.append(("idle", f"{listed(idle)}: every step that cites it follows without it"))
    uncited = [h["id"] for h in hypotheses if not h.get("used_by", True)]
    if uncited:
        found.append(("not cited", f"{listed(uncited)}: no encoded step uses it"))
    sat = document["satisfiability"]
    found.append(("hypotheses", f"{sat['status'].lower()} ({sat['method']})"))
    scaling = sat.get("scaling") or {}
    if scaling.get("never"):
        found.append(("recipe", scaling["never"]))
    found += [("scaling", law(x)) for x in scaling.get("laws", [])]
    attacks = document.get("attacks", [])
    if attacks:
        outcomes = [a["outcome"] for a in attacks]
        told = "; ".join(f"{outcomes.count(o)} × {o}" for o in dict.fromkeys(outcomes) if ":" not in o)
        impossible = sum(":" in o for o in outcomes)
        found.append(("attacks", told + (f"; {impossible} × not possible" if impossible else "")))
    found += [(kind, document[kind]) for kind in ("repaired", "sharp") if document.get(kind)]
    return found


def instance(c: Document) -> str:
    """A counterexample in a sentence, with the command that shows it."""
    if not c.get("command"):
        return str(c["text"])
    grade = "certified" if c["certified"] else "estimated from samples"
    broken = listed([v["id"] for v in c["violated"]])
    return f"every hypothesis holds and {broken} fails ({grade}): {c['command']}"


def law(x: Document) -> str:
    """One scaling law: predicted and measured exponents, and what they say."""
    letter = {"width": "m", "samples": "N"}[x["vary"]]
    said, seen = x["predicted"], x["measured"]
    confirmed = "confirmed" if x["confirmed"] else "not confirmed"
    return (
        f"{x['hypothesis']}: larger side {letter}^{said['larger']} (measured {seen['larger']}), smaller side "
        f"{letter}^{said['smaller']} (measured {seen['smaller']}), {confirmed}; {x['says']}"
    )


def _at(witness: dict[str, str] | None) -> str:
    return ", ".join(f"{k} = {v}" for k, v in (witness or {}).items())


def findings(documents: list[Document], stamp: str = "") -> str:
    """docs/findings.md: one table per paper, every finding with its witness and repair.

    `stamp` tells from which statements it was made, so that a stale copy can be told without a new audit.
    """
    lines = [
        "# Findings", "",
        "Generated by `deqcheck audit --findings docs/findings.md`. A step is *refuted* by a point in exact rationals "
        "at which everything it is derived from holds and the step fails; a *misprint* is refuted as printed and "
        "proved as corrected. *Counterexample*: every hypothesis is certified to hold and a conclusion to fail, on the "
        "instance of the command given. Steps are numbered as in the paper, or by their place in its proof.", "",
        *([f"<!-- made from {stamp} -->", ""] if stamp else []),
    ]  # fmt: skip
    papers: dict[str, list[Document]] = {}
    for d in documents:
        papers.setdefault(d["theorem"]["paper"], []).append(d)
    for paper, own in papers.items():
        lines += [f"## {paper}", "", "| result | verdict | steps | hypotheses |", "|---|---|---|---|"]
        lines += [
            f"| `{d['theorem']['key']}` {d['theorem']['source'].rsplit(', ', 1)[-1]} | {d['verdict']} | {counts(d)} "
            f"| {d['satisfiability']['status'].lower()} |"
            for d in own
        ]
        rows = [row for d in own for row in _rows(d)]
        if rows:
            lines += ["", "| where | finding | witness | repair |", "|---|---|---|---|", *rows]
        lines.append("")
    return "\n".join(lines)


def _rows(d: Document) -> list[str]:
    """The findings about one theorem."""
    key, rows = d["theorem"]["key"], []
    for s in d["steps"]:
        if s["status"] in ("REFUTED", "MISPRINT"):
            kind = "does not follow" if s["status"] == "REFUTED" else "misprint"
            repair = f"{s['fix']}" if s["fix"] else (f"`{d['repaired']}`" if d["repaired"] else "")
            rows.append(_row(f"`{key}` {s['id']}", f"{kind}: {s['claim']}. {s['text']}", _at(s["witness"]), repair))
    repair = f"`{d['repaired']}`" if d["repaired"] else ""
    if d["flaw"]:
        rows.append(_row(f"`{key}`", f"the print cannot be relied on: {d['flaw']}", "", repair))
    for label, text in remarks(d):
        if label in ("attacks", "repaired", "sharp") or (label == "hypotheses" and not text.startswith("vacuous")):
            continue
        if label == "broken by":
            # The many instances of one failure are one finding.
            if not any(row.startswith(f"| `{key}` | counterexample") for row in rows):
                rows.append(_row(f"`{key}`", "counterexample", text, repair))
        elif label == "hypotheses":
            rows.append(_row(f"`{key}`", "the hypotheses contradict the lemmas", text, repair))
        else:
            rows.append(_row(f"`{key}`", f"{label}: {text}", "", ""))
    return rows


def _row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ").strip() for c in cells) + " |"
