"""Results as one self-contained HTML page: no scripts, no network, readable on paper and by ear.

A result file may come from anywhere, so nothing in it is trusted: text is escaped, formulas are let
through only as MathML that was parsed and rebuilt, and the page forbids itself to load anything.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

import deqcheck
from deqcheck.error import InputError
from deqcheck.report import audits, svg
from deqcheck.report.json import schema
from deqcheck.report.number import decades, short
from deqcheck.verdict import Outcome

Document = dict[str, Any]

LARGEST = 2_000_000
"""Bytes. A page beyond this keeps the summary only, and says so."""

VERDICTS = {"HOLDS": "✓ HOLDS", "FAILS": "✗ FAILS", "UNDECIDED": "? UNDECIDED"}


# --- what is a result ----------------------------------------------------------------------------------


def documents(loaded: object) -> list[Document]:
    """The results in a loaded JSON file: one result, threshold or audit, or a collection of them."""
    if isinstance(loaded, dict) and isinstance(loaded.get("audits"), dict):
        loaded = {"results": list(loaded["audits"].values())}
    if isinstance(loaded, dict) and isinstance(loaded.get("results"), list):
        found = [document for item in loaded["results"] for document in documents(item)]
        if not found:
            raise InputError("the collection holds no results; write it with 'deqcheck verify --json'.")
        return found
    if not isinstance(loaded, dict):
        raise InputError(
            f"expected a result that deqcheck wrote with --json, got a JSON {_kind(loaded)}; give such a file."
        )
    if "vary" in loaded and "tried" in loaded:
        _require(loaded, THRESHOLD, THRESHOLD, "threshold")
    elif "steps" in loaded and "satisfiability" in loaded:
        _require(loaded, AUDIT, AUDIT, "audit")
    else:
        rules = schema()
        _require(loaded, rules, rules, "result")
        if "trajectory" in loaded:
            _require(loaded["trajectory"], TRAJECTORY, TRAJECTORY, "result.trajectory")
            lengths = {len(loaded["trajectory"][name]) for name in ("steps", "loss", "bound")}
            if len(lengths) != 1:
                raise InputError("result.trajectory has steps, loss and bound of different lengths; write it again.")
    return [loaded]


_NUMBERS = {"type": "array", "minItems": 1, "items": {"type": ["number", "string"], "pattern": "decimal"}}
TRAJECTORY: Document = {
    "type": "object",
    "required": ["steps", "loss", "bound"],
    "properties": {
        "steps": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        "loss": _NUMBERS,
        "bound": _NUMBERS,
    },
}
THRESHOLD: Document = {
    "type": "object",
    "required": ["theorem", "vary", "holds", "tried", "conclusion"],
    "properties": {
        "theorem": {
            "type": "object",
            "required": ["key", "source"],
            "properties": {"key": {"type": "string"}, "source": {"type": "string"}},
        },
        "vary": {"type": "string"},
        "conclusion": {"type": "string"},
        "holds": {
            "type": ["object", "null"],
            "required": ["smallest", "largest"],
            "properties": {"smallest": {"type": "number"}, "largest": {"type": "number"}},
        },
        "tried": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["value", "verdict", "worst", "margin_log10", "refused"],
                "properties": {
                    "value": {"type": "number"},
                    "verdict": {"enum": list(VERDICTS)},
                    "worst": {"type": "string"},
                    "margin_log10": {"type": ["number", "null"]},
                    "refused": {"type": "string"},
                },
            },
        },
    },
}

_TEXT = {"type": "string"}
AUDIT: Document = {
    "type": "object",
    "required": ["theorem", "steps", "hypotheses", "satisfiability", "counterexamples", "flaw", "repaired", "verdict"],
    "properties": {
        "theorem": {
            "type": "object",
            "required": ["key", "source"],
            "properties": {"key": _TEXT, "source": _TEXT},
        },
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "status", "method", "claim", "mathml", "witness", "fix", "text"],
                "properties": {
                    "id": _TEXT,
                    "status": {"enum": ["PROVED", "REFUTED", "UNPROVED", "MISPRINT"]},
                    "method": _TEXT,
                    "claim": _TEXT,
                    "mathml": _TEXT,
                    "witness": {"type": ["object", "null"], "additionalProperties": _TEXT},
                    "fix": {"type": ["string", "null"]},
                    "text": _TEXT,
                },
            },
        },
        "hypotheses": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "idle"],
                "properties": {"id": _TEXT, "idle": {"type": "boolean"}},
            },
        },
        "satisfiability": {
            "type": "object",
            "required": ["status", "method"],
            "properties": {"status": {"enum": ["SATISFIABLE", "VACUOUS", "UNKNOWN"]}, "method": _TEXT},
        },
        "counterexamples": {
            "type": "array",
            "items": {"type": "object", "required": ["text"], "properties": {"text": _TEXT}},
        },
        "flaw": _TEXT,
        "repaired": {"type": ["string", "null"]},
        "verdict": {"enum": list(audits.WORDS)},
    },
}

DECIMAL = re.compile(r"-?(inf|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,9})?)")
"""The schema's decimal with an exponent that can be printed."""


def _require(value: Any, rule: Document, root: Document, where: str) -> None:
    """The part of JSON Schema that this page relies on; keys that it does not know are left alone."""
    if "$ref" in rule:
        _require(value, root["$defs"][rule["$ref"].rpartition("/")[2]], root, where)
    for part in rule.get("allOf", ()):
        _require(value, part, root, where)
    if "oneOf" in rule:
        _require(value, _branch(value, rule["oneOf"]), root, where)
    types = rule.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        _refuse(where, f"is a {_kind(value)} instead of {' or '.join(types)}")
    if "enum" in rule and value not in rule["enum"]:
        _refuse(where, f"is {_shown(value)} instead of {' or '.join(map(str, rule['enum']))}")
    if "const" in rule and value != rule["const"]:
        _refuse(where, f"is {_shown(value)} instead of {rule['const']}")
    if "pattern" in rule and isinstance(value, str) and not DECIMAL.fullmatch(value):
        _refuse(where, f"is {_shown(value)}, not a decimal number")
    if "minimum" in rule and _is(value, "number") and value < rule["minimum"]:
        _refuse(where, f"is {value}, below {rule['minimum']}")
    if isinstance(value, dict):
        for name in rule.get("required", ()):
            if name not in value:
                _refuse(where, f"lacks the key {name!r}")
        known = rule.get("properties", {})
        others = rule.get("additionalProperties")
        for name, item in value.items():
            if name in known:
                _require(item, known[name], root, f"{where}.{name}")
            elif isinstance(others, dict):
                _require(item, others, root, f"{where}.{_shown(name)}")
    if isinstance(value, list):
        if len(value) < rule.get("minItems", 0):
            _refuse(where, "is empty")
        for k, item in enumerate(value):
            _require(item, rule.get("items", {}), root, f"{where}[{k}]")


def _branch(value: object, rules: list[Document]) -> Document:
    """`oneOf` is used for "null or something" only; the something gives the better message."""
    if value is None and {"type": "null"} in rules:
        return {}
    return next((rule for rule in rules if rule != {"type": "null"}), {})


def _is(value: object, name: str) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "null": value is None,
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
    }.get(name, True)


def _kind(value: object) -> str:
    names = ("null", "boolean", "integer", "number", "string", "array", "object")
    return next((name for name in names if _is(value, name)), "number that is not finite")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _refuse(where: str, reason: str) -> None:
    raise InputError(f"not a result that deqcheck wrote with --json: {where} {reason}; write the file again.")


# --- text ----------------------------------------------------------------------------------------------

UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What neither HTML nor XML may hold, and what could reverse the order of the letters on the page."""

SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w|\.\w)")
NARROW = "\u202f"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_clean(str(k)): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def typeset(text: str) -> str:
    """3.31e-16 in a sentence as 3.31 × 10⁻¹⁶, in letters that survive copying."""

    def one(match: re.Match[str]) -> str:
        mantissa, exponent = match[1], match[2].removeprefix("+").translate(svg.SUPERSCRIPT)
        return f"10{exponent}" if mantissa == "1" else f"{mantissa}{NARROW}×{NARROW}10{exponent}"

    return SCIENTIFIC.sub(one, text)


def number(value: float, digits: int = 4) -> str:
    """A float as people read it."""
    return typeset(short(float(value), digits).replace("-", "−", 1) if value < 0 else short(float(value), digits))


WIDE = Context(prec=40, Emin=MIN_EMIN, Emax=MAX_EMAX)


def decimal(text: str, digits: int) -> str:
    """A decimal string of any size with a few significant digits."""
    value = Decimal(text)
    if value.is_infinite():
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if -300 < value.adjusted() < 300:
        return number(float(value), digits)
    rounded = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX).plus(value)
    figures = "".join(map(str, rounded.as_tuple().digits)).rstrip("0")
    mantissa = f"{figures[0]}.{figures[1:]}" if figures[1:] else figures
    return ("−" if value < 0 else "") + typeset(f"{mantissa}e{rounded.adjusted()}")


def relative_width(pair: Mapping[str, str]) -> Decimal:
    """(hi - lo) / max |x|: how well a number is known."""
    lo, hi = Decimal(pair["lo"]), Decimal(pair["hi"])
    if not (lo.is_finite() and hi.is_finite()):
        return Decimal("Infinity")
    size = max(abs(lo), abs(hi))
    return WIDE.divide(WIDE.subtract(hi, lo), size) if size else Decimal(0)


def enclosed(pair: Mapping[str, str], digits: int = 4) -> str:
    """One number where the ends agree to the digits shown, else both ends."""
    lo, hi = decimal(pair["lo"], digits), decimal(pair["hi"], digits)
    return lo if lo == hi or relative_width(pair) < Decimal(10) ** (1 - digits) else f"[{lo}, {hi}]"


def known_to(pair: Mapping[str, str]) -> str:
    """The relative width as a power of ten."""
    width = relative_width(pair)
    if not width.is_finite():
        return "unknown"
    return decimal(str(width).lower(), 1) if width else "exact"


GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def symbol(name: str) -> str:
    """C_1 as C₁ and eta as η."""
    base, _, index = name.partition("_")
    base = GREEK.get(base, base)
    return base + index.translate(SUBSCRIPT) if index.isdecimal() else (f"{base}_{index}" if index else base)


# --- formulas ------------------------------------------------------------------------------------------

MATHML = "http://www.w3.org/1998/Math/MathML"
ELEMENT = re.compile(
    "mi|mn|mo|mtext|mspace|mrow|mfrac|msqrt|mroot|mstyle|mpadded|mphantom|msub|msup|msubsup|munder|mover|munderover"
    "|mmultiscripts|mprescripts|none|mtable|mtr|mtd|mfenced|menclose"
)
ATTRIBUTE = re.compile(
    "mathvariant|stretchy|fence|separator|form|accent|accentunder|displaystyle|linethickness|lspace|rspace|symmetric"
    "|largeop|movablelimits|columnalign|rowalign|columnspacing|rowspacing|open|close|separators|notation|width"
)
PLAIN_VALUE = re.compile(r"[\w .,%|()\[\]{}‖⟨⟩-]{0,40}")
DEEPEST = 100
INDEXED = re.compile("(.)([₀-₉]+)")
"""γ₀ in one identifier would be set upright; as a letter with an index it looks as in the paper."""
PLAIN_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def formula(mathml: str, plain: str) -> Markup:
    """MathML rebuilt from known elements only; the plain formula where that cannot be done."""
    inside = _inside(mathml) if mathml else None
    if inside is None:
        return Markup('<code class="formula">{}</code>').format(plain) if plain else Markup("")
    return Markup('<math xmlns="{}" displaystyle="true" alttext="{}">{}</math>').format(MATHML, plain, inside)


def _inside(mathml: str) -> Markup | None:
    """What stands inside <math>, or None for anything but presentation MathML."""
    if "<!" in mathml or "<?" in mathml:  # a document type could define entities that grow without end
        return None
    try:
        root = ET.fromstring(mathml)
        if root.tag.removeprefix(f"{{{MATHML}}}") != "math":
            return None
        return Markup("").join(_rebuilt(child, 1) for child in root)
    except (ET.ParseError, _ForeignError):
        return None


class _ForeignError(Exception):
    """Something other than presentation MathML."""


def _rebuilt(element: ET.Element, depth: int) -> Markup:
    name = element.tag.removeprefix(f"{{{MATHML}}}")
    if depth > DEEPEST or not ELEMENT.fullmatch(name):
        raise _ForeignError
    if not all(ATTRIBUTE.fullmatch(k) and PLAIN_VALUE.fullmatch(v) for k, v in element.attrib.items()):
        raise _ForeignError
    text = (element.text or "").strip("\n")
    if name == "mi" and (indexed := INDEXED.fullmatch(text)):
        letter, index = indexed[1], indexed[2].translate(PLAIN_DIGITS)
        return Markup("<msub><mi>{}</mi><mn>{}</mn></msub>").format(letter, index)
    inside = escape("−" if name == "mo" and text == "-" else text)
    for child in element:
        inside += _rebuilt(child, depth + 1) + escape((child.tail or "").strip())
    attributes = Markup("").join(Markup(' {}="{}"').format(k, v) for k, v in element.attrib.items())
    return Markup("<{0}{1}>{2}</{0}>").format(name, attributes, inside)


# --- the page ------------------------------------------------------------------------------------------


def render(documents: list[Document]) -> str:
    """The page for one or several results, as `documents` returns them."""
    if not documents:
        raise InputError("there is no result to show; give at least one.")
    shown = [_view(document)(document, f"r{k}") for k, document in enumerate(map(_clean, documents), 1)]
    page = _page(shown, full=True)
    if len(shown) > 1 and len(page.encode()) > LARGEST:
        return _page(shown, full=False)
    return page


def _page(items: list[dict[str, Any]], *, full: bool) -> str:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    source = (resources.files("deqcheck.report") / "page.html.j2").read_text(encoding="utf-8")
    counts = [(word, sum(item["verdict"] == name for item in items)) for name, word in _COUNTED]
    return environment.from_string(source).render(
        items=items,
        full=full,
        title=items[0]["page_title"] if len(items) == 1 else f"{len(items)} results",
        counts=[f"{count} {word}" for word, count in counts if count],
        version=deqcheck.__version__,
    )


_COUNTED = (("HOLDS", "hold"), ("FAILS", "fail"), ("UNDECIDED", "undecided"))


def _result(document: Document, ident: str) -> dict[str, Any]:
    theorem, instance = document["theorem"], document["instance"]
    hypotheses = [_line(line) for line in document["hypotheses"]]
    conclusions = [_line(line) for line in document["conclusions"]]
    name = theorem["source"].rpartition(", ")[2]
    tightest = min(
        ((line["margin_log10"], line["id"]) for line in (*document["hypotheses"], *document["conclusions"])
         if line["margin_log10"] is not None),
        default=None,
    )  # fmt: skip
    return {
        "kind": "result",
        "ident": ident,
        "key": theorem["key"],
        "name": name,
        "page_title": f"{name}: {document['verdict']}",
        "title": theorem["title"],
        "source": theorem["source"],
        "paper": theorem["paper"],
        "reading": theorem["reading"],
        "flaw": "" if theorem["flaw"] in document["conclusion"] else theorem["flaw"],
        "verdict": document["verdict"],
        "badge": VERDICTS[document["verdict"]],
        "outcome": document["outcome"],
        "outcome_words": Outcome[document["outcome"]].value,
        "loud": document["outcome"] == "COUNTEREXAMPLE",
        "conclusion": typeset(document["conclusion"]),
        "tightest": None if tightest is None else (tightest[1], typeset(decades(tightest[0]))),
        "facts": _facts(instance, document["equilibrium"]),
        "hypotheses": hypotheses,
        "conclusions": conclusions,
        "doubt": document["outcome"] not in ("APPLIES", "COUNTEREXAMPLE"),
        "constants": [
            (symbol(n), number(v, 6), document["constants_chosen_by"].get(n, ""))
            for n, v in document["constants"].items()
        ],
        "quantities": [
            {
                "text": q["text"],
                "value": enclosed(q, 6),
                "known": known_to(q),
                "meaning": q["meaning"],
                "evidence": q["evidence"],
                "weak": q["evidence"] != "certified",
            }
            for q in document["quantities"].values()
        ],
        "rate": _rate(document["rate"], bool(theorem["flaw"])),
        "equilibrium": _equilibrium(document["equilibrium"]),
        "training": _training(document.get("trajectory")),
        "plots": _plots(document, ident),
        "more_plots": _more_plots(document, ident),
        "digits": _digits(document),
        "latex": [(x["id"], x["latex"]) for x in _with_formula(document) if x["latex"]],
        "settings": _flat({"settings": instance["settings"], "pins": instance["pins"], "data": instance["data"]}),
        "timings": [(stage, f"{seconds:.3g} s") for stage, seconds in document["timings"].items()],
        "total": f"{sum(document['timings'].values()):.1f} s",
        "environment": _flat(document["environment"]),
    }


def _with_formula(document: Document) -> list[Document]:
    rate = document["rate"]
    return [*document["hypotheses"], *document["conclusions"], *([rate] if rate else [])]


def _line(line: Document) -> dict[str, Any]:
    relation = next((sign for sign in "≥≤><" if f" {sign} " in line["formula"]), "")
    return {
        "id": line["id"],
        "formula": formula(line["mathml"], line["formula"]),
        "text": line["text"],
        "note": line["note"],
        "status": line["status"],
        "verdict": line["verdict"],
        "badge": VERDICTS.get(line["verdict"], ""),
        "measured": bool(line["lhs"]),
        "lhs": enclosed(line["lhs"]) if line["lhs"] else "–",
        "rhs": f"{relation} {enclosed(line['rhs'])}" if line["rhs"] else "–",
        "margin": typeset(decades(line["margin_log10"])),
    }


def _facts(instance: Document, equilibrium: Document | None) -> list[tuple[str, str]]:
    """The instance in four lines."""
    settings = instance["settings"]
    data = f"{settings.get('data') or instance['data'].get('name', 'data')}, {instance['samples']} samples"
    data += f" of dimension {instance['dim']}"
    if settings.get("classes"):
        data += f", classes {settings['classes']}"
    said = ("samples", "dim", "data", "classes", "scale", "eta")
    model = ", ".join(f"{name} {_plain(v)}" for name, v in settings.items() if name not in said and v is not None)
    facts = [("Data", data), ("Model", model or "as the theorem fixes it")]
    if "scale" in instance:
        how = "chosen" if settings.get("scale") == "auto" else "given"
        facts.append(("Scale", f"{number(instance['scale'])} ({how})"))
    if equilibrium is not None:
        steps = f", {equilibrium['iterations']} iterations" if equilibrium["iterations"] else ""
        near = decimal(equilibrium["radius"]["hi"], 2)
        facts.append(("Equilibrium", f"{equilibrium['method']}{steps}; the true one lies within {near} (Frobenius)"))
    return facts


def _rate(rate: Document | None, flawed: bool) -> dict[str, Any] | None:
    if rate is None:
        return None
    step = rate["per"] == "step"
    return {
        "id": rate["id"],
        "formula": formula(rate["mathml"], rate["formula"]),
        "name": "1 − rate per step" if step else "Exponent per unit time",
        "gap": enclosed(rate["one_minus_rate"]),
        "half_life": f"{enclosed(rate['half_life_steps'])} {'steps' if step else 'units of time'}",
        "guaranteed": rate["guaranteed"],
        "doubt": "what the formula gives; the print cannot be relied on"
        if flawed
        else "would be, if the hypotheses held",
        "measured": "not measured" if rate["measured"] is None else number(rate["measured"]),
    }


CERTIFIED = 24
"""Certified instants in the table of a page; the result file has them all."""


def _training(course: Document | None) -> dict[str, Any] | None:
    """What the run says, and its certified instants; None where the file has no more than curves."""
    if course is None or "certified" not in course:
        return None
    step = course["per"] == "step"
    unit = "step" if step else "time"
    at = dict(zip(course["steps"], zip(course["loss"], course["bound"], strict=True), strict=True))
    marks = course["certified"]
    stride = max(1, -(-len(marks) // CERTIFIED))
    shown = [m for k, m in enumerate(marks) if k % stride == 0 or k == len(marks) - 1 or not _all_hold(m)][:200]
    measured, (start, end) = course["measured"], course["kernel_lambda_min"]
    facts = [("Covered by the theorem", "yes" if course["covered"] else "no: its hypotheses are not certified here")]
    if course["eta"] is not None:
        facts.append(("Step size", number(course["eta"])))
    facts.append(("Measured", "not visible in float64" if measured is None else number(measured["one_minus_rate"])))
    if course["guaranteed_over_measured"] is not None:
        facts.append(("Guaranteed / measured", decimal(course["guaranteed_over_measured"], 3)))
    for share, when in course["reached"].items():
        facts.append(
            (typeset(f"Loss below {share} of L(0)"), "not reached" if when is None else f"{unit} {number(when)}")
        )
    if start is not None:
        facts.append(("λ_min of the tangent kernel", f"{number(start)} → {'–' if end is None else number(end)}"))
    how = "rounding and solver" if step else "integrator"
    facts.append((f"Error of the loss at the end, {how}", f"about {number(course['error'][-1], 2)}"))
    return {
        "summary": typeset(course["conclusion"]),
        "unit": unit.capitalize(),
        "facts": facts,
        "marks": [
            {
                "at": str(m["step"]) if step else number(m["time"]),
                "loss": decimal(str(at[m["step"]][0]), 6) if m["step"] in at else "–",
                "bound": decimal(str(at[m["step"]][1]), 6) if m["step"] in at else "–",
                "verdict": _worst(m),
                "badge": VERDICTS[_worst(m)],
                "doubt": ", ".join(x["id"] for x in m["lines"] if x["verdict"] != "HOLDS"),
            }
            for m in shown
        ],
        "left_out": len(marks) - len(shown),
    }


def _all_hold(mark: Document) -> bool:
    return all(x["verdict"] == "HOLDS" for x in mark["lines"])


def _worst(mark: Document) -> str:
    seen = {x["verdict"] for x in mark["lines"]}
    return next((word for word in ("FAILS", "UNDECIDED") if word in seen), "HOLDS")


def _equilibrium(found: Document | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    return [
        ("Method", found["method"]),
        ("Iterations", str(found["iterations"]) if found["iterations"] else "none: a direct solution"),
        ("Distance to the true equilibrium, at most", decimal(found["radius"]["hi"], 3)),
        ("Contraction", enclosed(found["contraction"])),
    ]


def _plots(document: Document, ident: str) -> list[tuple[str, Markup]]:
    """What decides the verdict: margins, both sides, and the loss against its bound."""
    judged = [x for x in (*document["hypotheses"], *document["conclusions"]) if x["verdict"] is not None]
    plots = []
    measured = [x for x in judged if x["lhs"] and x["rhs"]]
    if measured:
        rows = [svg.Margin(x["id"], x["verdict"], x["margin_log10"]) for x in measured]
        plots.append(("How far each line is from failing, in factors of ten.", svg.margins(f"{ident}-margins", rows)))
        pairs = [
            svg.Sides(x["id"], x["verdict"], (x["lhs"]["lo"], x["lhs"]["hi"]), (x["rhs"]["lo"], x["rhs"]["hi"]))
            for x in measured
        ]
        words = "Both sides of each inequality; where an enclosure is wide enough to see, a bar shows it."
        plots.append((words, svg.sides(f"{ident}-sides", pairs)))
    if (course := document.get("trajectory")) is not None:
        flow = course.get("per") == "unit time"
        xs, x_name = (course["times"], "time") if flow else (course["steps"], "step")
        word = "guaranteed bound" if course.get("covered", True) else "bound, not covered"
        series = (
            svg.Curve("training loss", xs, course["loss"]),
            svg.Curve(word, xs, course["bound"], dashed=True),
        )
        title = "Training loss and its bound"
        plot = svg.curves(f"{ident}-loss", title, series, x_name, course.get("of", "loss"), log_x=not flow)
        plots.append(("The loss during training and the bound on it.", plot))
    return plots


def _more_plots(document: Document, ident: str) -> list[tuple[str, Markup]]:
    plots = []
    if residuals := (document["equilibrium"] or {}).get("residuals"):
        curve = svg.Curve("relative residual", range(1, len(residuals) + 1), residuals)
        plot = svg.curves(f"{ident}-solver", "Residual of the equilibrium solver", [curve], "iteration", "residual")
        plots.append(("Relative residual after each iteration of the solver.", plot))
    if values := document["spectrum"]:
        curve = svg.Curve("singular values", range(1, len(values) + 1), values)
        plot = svg.curves(
            f"{ident}-spectrum", "Spectrum of Z", [curve], "from the largest to the smallest", "singular value"
        )
        plots.append(("Singular values of the equilibrium Z, in floats; at most about 200 are kept.", plot))
    return plots


def _digits(document: Document) -> list[tuple[str, str, str]]:
    """Every enclosure with all its digits, so that nothing is lost on the page either."""
    rows = [(q["text"], q["lo"], q["hi"]) for q in document["quantities"].values()]
    rows += [(symbol(name), repr(value), repr(value)) for name, value in document["constants"].items()]
    for line in (*document["hypotheses"], *document["conclusions"]):
        for side, words in (("lhs", "left side"), ("rhs", "right side")):
            if line[side]:
                rows.append((f"{line['id']}, {words}", line[side]["lo"], line[side]["hi"]))
    if rate := document["rate"]:
        rows += [
            (words, rate[name]["lo"], rate[name]["hi"])
            for name, words in (("one_minus_rate", "1 − rate"), ("half_life_steps", "half-life"))
        ]
    return rows


def _plain(value: object) -> str:
    if value is None:
        return "–"
    return typeset(str(value)) if isinstance(value, float) else str(value)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in tree.items():
        label = f"{prefix}{name}"
        if isinstance(value, Mapping):
            rows += _flat(value, f"{label} · ")
        else:
            rows.append((label, _plain(value)))
    return rows


def _threshold(document: Document, ident: str) -> dict[str, Any]:
    tried, holds = document["tried"], document["holds"]
    name = document["theorem"]["source"].rpartition(", ")[2]
    verdict = "HOLDS" if holds else ("FAILS" if _any_fails(tried) else "UNDECIDED")
    points = [svg.Tried(float(t["value"]), t["verdict"], t["margin_log10"], bool(t["refused"])) for t in tried]
    span = None if holds is None else (float(holds["smallest"]), float(holds["largest"]))
    return {
        "kind": "threshold",
        "ident": ident,
        "key": document["theorem"]["key"],
        "name": f"{name}, {document['vary']} varied",
        "page_title": f"{name}: threshold of {document['vary']}",
        "title": f"where every hypothesis holds as {document['vary']} varies",
        "source": document["theorem"]["source"],
        "verdict": verdict,
        "badge": {"HOLDS": "✓ HOLDS somewhere", "FAILS": "✗ FAILS throughout"}.get(verdict, "? UNDECIDED"),
        "outcome_words": "where the plot is shaded" if holds else "at every value tried",
        "loud": False,
        "conclusion": typeset(document["conclusion"]),
        "tightest": None,
        "vary": document["vary"],
        "plot": svg.search(f"{ident}-search", document["vary"], points, span),
        "tried": [
            {
                "value": number(t["value"], 5),
                "verdict": t["verdict"],
                "badge": VERDICTS[t["verdict"]],
                "worst": t["worst"] or "–",
                "margin": typeset(decades(t["margin_log10"])),
                "refused": t["refused"],
            }
            for t in tried
        ],
    }


def _view(document: Document) -> Callable[[Document, str], dict[str, Any]]:
    if "tried" in document:
        return _threshold
    return _audit if "satisfiability" in document else _result


def _audit(document: Document, ident: str) -> dict[str, Any]:
    """An audit: the print is what is judged, so a gap or a counterexample counts as FAILS."""
    name = document["theorem"]["source"].rpartition(", ")[2]
    found = document["verdict"]
    verdict = {"sound": "HOLDS", "misprinted": "HOLDS", "open": "UNDECIDED"}.get(found, "FAILS")
    return {
        "kind": "audit",
        "ident": ident,
        "key": document["theorem"]["key"],
        "name": f"{name}, audited",
        "page_title": f"{name}: audit",
        "title": "are the steps of the proof true, and can the hypotheses hold?",
        "source": document["theorem"]["source"],
        "verdict": verdict,
        "badge": {"HOLDS": "✓", "FAILS": "✗", "UNDECIDED": "?"}[verdict] + f" {found}",
        "outcome_words": audits.WORDS[found],
        "loud": False,
        "conclusion": typeset(f"{audits.headline(document)} {document['flaw']}".strip()),
        "tightest": None,
        "facts": audits.remarks(document),
        "steps": [
            {
                "id": s["id"],
                "status": s["status"],
                "verdict": _STATUS[s["status"]],
                "formula": formula(s["mathml"], s["claim"]),
                "method": s["method"],
                "fix": s["fix"],
                "text": s["text"],
                "witness": ", ".join(f"{k} = {v}" for k, v in (s["witness"] or {}).items()),
            }
            for s in document["steps"]
        ],
    }


_STATUS = {"PROVED": "HOLDS", "REFUTED": "FAILS", "UNPROVED": "UNDECIDED", "MISPRINT": "UNDECIDED"}


def _any_fails(tried: Iterable[Document]) -> bool:
    return any(t["verdict"] == "FAILS" for t in tried)
