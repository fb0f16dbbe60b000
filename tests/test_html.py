"""The HTML page: complete, self-contained, safe with hostile input, and readable in a real browser."""

from __future__ import annotations

import copy
import html as html_escape
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from deqcheck import check
from deqcheck.error import InputError
from deqcheck.report import html, svg, thresholds
from deqcheck.report import json as report_json
from deqcheck.threshold import Threshold, Tried
from deqcheck.truth import FAILS, HOLDS, UNDECIDED

Document = dict[str, Any]
SETTINGS = {"width": "30", "samples": "10", "dim": "8"}
SVG = "{http://www.w3.org/2000/svg}"
MATH = "{http://www.w3.org/1998/Math/MathML}"
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}


def stored(result: Any) -> Document:
    loaded: Document = json.loads(report_json.dumps(report_json.to_json(result)))
    return loaded


@pytest.fixture(scope="module")
def _applies() -> Document:
    return stored(check.verify("gd-relu", SETTINGS, spectrum=True))


@pytest.fixture(scope="module")
def _fails() -> Document:
    return stored(check.verify("gd-relu", {**SETTINGS, "scale": "1"}, {"eta": "1e-3"}))


@pytest.fixture(scope="module")
def _lemma() -> Document:
    return stored(check.verify("relu-wellposed", SETTINGS))


@pytest.fixture
def applies(_applies: Document) -> Document:
    return copy.deepcopy(_applies)


@pytest.fixture
def fails(_fails: Document) -> Document:
    return copy.deepcopy(_fails)


@pytest.fixture
def lemma(_lemma: Document) -> Document:
    return copy.deepcopy(_lemma)


@pytest.fixture
def searched() -> Document:
    tried = (
        Tried(0.001, FAILS, "(17)", -10.9),
        Tried(1.0, FAILS, "(17)", -4.9),
        Tried(50.0, UNDECIDED, "(17)", -1e-9),
        Tried(100.0, HOLDS, "(19)", 1e-4),
        Tried(1e6, HOLDS, "(19)", 0.2),
        Tried(1e9, FAILS, "", None, "the scale is too large."),
    )
    found = Threshold("gd-relu", "Gao & Gao (2022), Theorem 4.4", "scale", tried)
    return thresholds.to_json(found)


@pytest.fixture
def full(applies: Document) -> Document:
    """A result with every plot: a solver that iterates and a training run beside the measured ones."""
    applies["equilibrium"]["residuals"] = [2.0**-k for k in range(40)] + [0.0]
    applies["equilibrium"]["iterations"] = 41
    applies["trajectory"] = {
        "steps": list(range(0, 2000, 4)),
        "loss": [0.99**k for k in range(500)],
        "bound": [f"9.{k:03d}e-400" for k in range(500)],
    }
    return applies


def parse(page: str) -> ET.Element:
    """The page is written so that an XML parser reads it too; what it refuses is not well-formed."""
    return ET.fromstring(page)


def words(element: ET.Element) -> str:
    return re.sub(r"[ \n]+", " ", "".join(element.itertext()))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in (e.get("class") or "").split()]


# --- everything is there -------------------------------------------------------------------------------


def test_the_conclusion_comes_first(applies: Document) -> None:
    root = parse(html.render([applies]))
    main = next(e for e in root.iter("main"))
    assert main[0].get("class") == "answer holds"
    assert "✓ HOLDS" in words(main[0])
    assert html.typeset(applies["conclusion"]) in words(main[0])


def test_every_line_formula_and_number_is_present(applies: Document) -> None:
    page = html.render([applies])
    root = parse(page)
    lines = [*applies["hypotheses"], *applies["conclusions"]]
    assert len(list(root.iter(f"{MATH}math"))) == sum(bool(x["mathml"]) for x in [*lines, applies["rate"]])
    rows = [words(row) for table in of_class(root, "lines") for row in table.iter("tr")]
    for line in lines:
        row = next(row for row in rows if row.strip().startswith(line["id"]))
        assert line["text"] in row and line["note"] in row and line["status"] in row
        assert line["verdict"] is None or line["verdict"] in row
    text = words(root)
    for quantity in applies["quantities"].values():
        assert all(quantity[k] in text for k in ("text", "meaning", "lo", "hi"))
    for name, value in applies["constants"].items():
        assert repr(value) in text and applies["constants_chosen_by"][name] in text
    for x in (applies["rate"]["one_minus_rate"], applies["rate"]["half_life_steps"]):
        assert x["lo"] in text and x["hi"] in text
    for note in applies["theorem"]["reading"]:
        assert note in text
    for name, value in applies["environment"].items():
        assert name in text and str(value) in text


def plots(page: str) -> set[str]:
    return {e.get("aria-labelledby", "").split()[0].removesuffix("-t") for e in parse(page).iter(f"{SVG}svg")}


def test_every_plot_is_present_and_only_where_there_is_data(
    full: Document, lemma: Document, searched: Document
) -> None:
    both = {"r1-margins", "r1-sides"}
    assert plots(html.render([full])) == both | {"r1-loss", "r1-solver", "r1-spectrum"}
    assert plots(html.render([lemma])) == both
    assert plots(html.render([searched])) == {"r1-search"}


def test_one_bar_and_one_pair_for_each_measured_line(fails: Document) -> None:
    root = parse(html.render([fails]))
    measured = [x for x in (*fails["hypotheses"], *fails["conclusions"]) if x["lhs"]]
    margins, sides = list(root.iter(f"{SVG}svg"))[:2]
    assert len(of_class(margins, "bar")) == sum(x["margin_log10"] is not None for x in measured)
    assert len(list(sides.iter(f"{SVG}g"))) == len(measured)
    for x in measured:
        assert x["id"] in words(margins.find(f"{SVG}desc"))  # type: ignore[arg-type]
    left = [float(e.get("x", "nan")) for e in of_class(margins, "bar") if "fails" in e.get("class", "")]
    right = [float(e.get("x", "nan")) for e in of_class(margins, "bar") if "holds" in e.get("class", "")]
    assert left and right and max(left) < min(right)


def test_verdicts_are_told_in_words_and_shapes(applies: Document, fails: Document) -> None:
    for document, mark in ((applies, "✓"), (fails, "✗")):
        root = parse(html.render([document]))
        values = [words(e) for e in of_class(root, "value")]
        assert any(v.startswith(mark) for v in values)
    assert of_class(parse(html.render([fails])), "cross") and not of_class(parse(html.render([applies])), "cross")


def test_a_counterexample_is_loud(lemma: Document) -> None:
    broken = next(c for c in lemma["conclusions"] if c["id"] == "‖Z‖")
    broken.update(verdict="FAILS", margin_log10=-1.5)
    lemma.update(verdict="FAILS", outcome="COUNTEREXAMPLE", conclusion="COUNTEREXAMPLE to Lemma 3.1 as encoded.")
    root = parse(html.render(html.documents(lemma)))
    (loud,) = of_class(root, "loud")
    assert "‼ COUNTEREXAMPLE" in words(loud)
    assert "Not guaranteed here" not in words(root)


def test_an_undecided_result(applies: Document) -> None:
    line = next(h for h in applies["hypotheses"] if h["id"] == "(17)")
    line.update(verdict="UNDECIDED", margin_log10=-1e-3, lhs={"lo": "-1", "hi": "1e9"}, rhs={"lo": "0.5", "hi": "inf"})
    applies.update(verdict="UNDECIDED", outcome="UNDECIDED", conclusion="Undecided at (17).")
    applies["rate"]["guaranteed"] = False
    root = parse(html.render(html.documents(applies)))
    assert "? UNDECIDED" in words(of_class(root, "answer")[0])
    assert "Not guaranteed here" in words(root) and "would be, if the hypotheses held" in words(root)
    assert "[−1, 10⁹]" in words(root) and "∞" in words(root)


def test_nothing_measured(applies: Document) -> None:
    applies.update(
        quantities={}, constants={}, constants_chosen_by={}, hypotheses=[], conclusions=[], rate=None, equilibrium=None,
        spectrum=[], verdict="UNDECIDED", outcome="NOT_CONVERGED", timings={}, conclusion="Not reached.",
    )  # fmt: skip
    jsonschema.validate(applies, report_json.schema())
    root = parse(html.render(html.documents(applies)))
    assert "no hypotheses" in words(root) and "the equilibrium was not reached" in words(root)
    assert not list(root.iter(f"{SVG}svg"))


def test_a_flaw_of_the_print_is_told(applies: Document) -> None:
    applies["theorem"]["flaw"] = "Step (43) drops a factor."
    applies["rate"]["guaranteed"] = False
    text = words(parse(html.render([applies])))
    assert "Why the print cannot be relied on" in text and text.count("Step (43) drops a factor.") == 1
    applies["conclusion"] += " The print cannot be relied on: Step (43) drops a factor."
    assert words(parse(html.render([applies]))).count("Step (43) drops a factor.") == 1


def test_several_results_have_a_summary_that_leads_to_each(
    applies: Document, fails: Document, lemma: Document, searched: Document
) -> None:
    four = report_json.collection([applies, fails, lemma, searched])
    root = parse(html.render(html.documents(four)))
    assert words(next(root.iter("h1"))) == "4 results: 3 hold, 1 fail"
    rows = [words(row) for row in next(root.iter("nav")).iter("tr")][1:]
    assert len(rows) == len(list(root.iter("article"))) == 4
    worst = min(h["margin_log10"] for h in fails["hypotheses"] if h["margin_log10"] is not None)
    assert f"−{abs(worst):.2f}" in rows[1] and "✗ FAILS" in rows[1]


def test_a_threshold(searched: Document) -> None:
    root = parse(html.render(html.documents(searched)))
    text = words(root)
    assert html.typeset(searched["conclusion"]) in text and "the scale is too large." in text
    assert len(list(next(root.iter("tbody")))) == len(searched["tried"])
    assert len(of_class(root, "band")) == 1
    searched["holds"] = None
    without = parse(html.render(html.documents(searched)))
    assert not of_class(without, "band") and "✗ FAILS throughout" in words(without)


# --- numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1e-400", -400.0), ("2e+5000", 5000.30103), ("0.001", -3.0), ("123.4", 2.0913152), ("0", -float("inf")),
     ("-3", -float("inf")), ("inf", float("inf"))],
)  # fmt: skip
def test_log10_has_no_range(text: str, expected: float) -> None:
    assert svg.log10(text) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [("1e-400", "1e-400", "10⁻⁴⁰⁰"), ("1.23456e-4342945", "1.23457e-4342945", "1.235 × 10⁻⁴³⁴²⁹⁴⁵"),
     ("1", "1.5", "[1, 1.5]"), ("-inf", "3", "[−∞, 3]"), ("0", "0", "0"),
     ("-2e+500", "-1e+500", "[−2 × 10⁵⁰⁰, −10⁵⁰⁰]"),
     ("1554360.93", "1554360.94", "1.554 × 10⁶"), ("-0.5", "-0.5", "−0.5")],
)  # fmt: skip
def test_numbers_of_any_size_as_people_write_them(lo: str, hi: str, expected: str) -> None:
    assert html.enclosed({"lo": lo, "hi": hi}).replace(html.NARROW, " ") == expected


def test_numbers_outside_the_float_range_on_the_page(applies: Document) -> None:
    line = applies["hypotheses"][2]
    line.update(lhs={"lo": "1e-400", "hi": "2e-400"}, rhs={"lo": "3e+700", "hi": "3e+700"}, margin_log10=-1100.5)
    root = parse(html.render(html.documents(applies)))
    assert f"[10⁻⁴⁰⁰, 2{html.NARROW}×{html.NARROW}10⁻⁴⁰⁰]" in words(root)
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            if (at := element.get(name)) is not None:
                assert -1 <= float(at) <= 481, "a mark lies outside its plot"


def test_sentences_keep_everything_but_the_letter_e() -> None:
    assert html.typeset("step 3.31e-16, 1e5.") == f"step 3.31{html.NARROW}×{html.NARROW}10⁻¹⁶, 10⁵."
    for untouched in ("run1e5.csv", "a 1e5x", "0x1e5", "v1.2e3", "1e5.csv"):
        assert html.typeset(untouched) == untouched


def test_how_well_a_number_is_known() -> None:
    assert html.known_to({"lo": "0.5", "hi": "0.5"}) == "exact"
    assert html.known_to({"lo": "0", "hi": "inf"}) == "unknown"
    assert html.known_to({"lo": "1", "hi": "1.000001"}) == "10⁻⁶"


@pytest.mark.parametrize(
    "values",
    [[], [0.0], [1e-16, 3.0], [-300.0, 0.3, 1e-4], [-1e5, 1e5], [0.3, 0.3], [-13.5], [1e-9, -1e-9]],
)
def test_margin_axes_keep_order_and_sign(values: list[float]) -> None:
    scale, ticks, _ = svg.margin_axis(values)
    assert any(text == "0" for _, text in ticks)
    places = [scale(v) for v in sorted(values)]
    assert places == sorted(places)
    assert all((scale(v) > 0) == (v > 0) for v in values)
    assert svg.margins("m", [svg.Margin("a", "HOLDS", v) for v in values] or [svg.Margin("a", "HOLDS", None)])


def test_symlog_is_used_only_where_it_is_needed() -> None:
    assert not svg.margin_axis([1e-16, 3.0, 0.3])[2]
    assert svg.margin_axis([-300.0, 0.3])[2]


@pytest.mark.parametrize(
    ("lo", "hi"), [(-5000.0, 300.0), (0.0, 1.0), (2.0, 2.001), (-0.5, 0.4), (-401.0, -400.0), (3, 9)]
)
def test_log_ticks_lie_on_the_axis_and_are_few(lo: float, hi: float) -> None:
    ticks = svg.log_ticks(lo, hi)
    assert 1 <= len(ticks) <= 9
    assert all(lo - 1e-6 <= at <= hi + 1e-6 for at, _ in ticks)


def test_long_curves_are_thinned_to_their_ends() -> None:
    kept = svg.thinned(100_000)
    assert len(kept) <= svg.MOST_POINTS and kept[0] == 0 and kept[-1] == 99_999


# --- safety --------------------------------------------------------------------------------------------

HOSTILE = "<script>alert(1)</script>\"' onload=x &amp; ]]> --> \x00\x1b\ud800\u202e"


def hostile(value: Any) -> Any:
    """The same document with every free string replaced, keys of open objects included."""
    if isinstance(value, str):
        return HOSTILE
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return {k: hostile(v) for k, v in value.items()} if isinstance(value, dict) else value


def test_hostile_strings_stay_text(applies: Document, searched: Document) -> None:
    theorem = {k: hostile(v) for k, v in applies["theorem"].items()}
    lines = [
        {**h, **dict.fromkeys(("id", "latex", "mathml", "formula", "text", "note"), HOSTILE)}
        for h in applies["hypotheses"]
    ]
    instance = {**applies["instance"], "settings": {HOSTILE: HOSTILE, "data": HOSTILE, "classes": HOSTILE}}
    instance["data"] = {"name": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}}
    applies.update(
        theorem=theorem, hypotheses=lines, instance=instance, conclusion=HOSTILE, environment={HOSTILE: HOSTILE},
        constants={HOSTILE: 1.0}, constants_chosen_by={HOSTILE: HOSTILE}, timings={HOSTILE: 1.0},
        quantities={HOSTILE: dict.fromkeys(("lo", "hi", "latex", "text", "meaning", "evidence"), HOSTILE)},
        rate={**applies["rate"], "id": HOSTILE, "mathml": HOSTILE, "formula": HOSTILE, "latex": HOSTILE},
        equilibrium={**applies["equilibrium"], "method": HOSTILE},
    )  # fmt: skip
    applies["quantities"][HOSTILE].update(lo="1", hi="2")
    searched.update(theorem={"key": HOSTILE, "source": HOSTILE}, vary=HOSTILE, conclusion=HOSTILE)
    searched["tried"] = [{**t, "worst": HOSTILE, "refused": HOSTILE} for t in searched["tried"]]
    page = html.render(html.documents({"results": [applies, searched]}))
    root = parse(page)
    page.encode("utf-8")
    assert not [e for e in root.iter() if e.tag.rpartition("}")[2] in ("script", "iframe", "img", "object", "link")]
    assert not [k for e in root.iter() for k in e.attrib if k.startswith("on") or k in ("src", "style")]
    assert "<script>alert(1)</script>" in words(root)
    assert "\u202e" not in page


@pytest.mark.parametrize(
    "mathml",
    [
        "<math><script>alert(1)</script></math>",
        '<math><mi onclick="alert(1)">x</mi></math>',
        '<math><mi href="https://example.org">x</mi></math>',
        '<math><mi style="color:red">x</mi></math>',
        "<math><annotation-xml encoding='text/html'><b>x</b></annotation-xml></math>",
        "<math><mtext><img src='x'/></mtext></math>",
        '<math xmlns:h="http://www.w3.org/1999/xhtml"><h:script>x</h:script></math>',
        '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><math><mi>&b;</mi></math>',
        "<math><mi>x</math>",
        "<svg><mi>x</mi></svg>",
        "<math><math><mi>x</mi></math></math>",
        f"<math>{'<mrow>' * 500}{'</mrow>' * 500}</math>",
        "not xml",
    ],
)
def test_what_is_not_plain_mathml_falls_back_to_the_formula(mathml: str) -> None:
    assert html.formula(mathml, "a < b") == '<code class="formula">a &lt; b</code>'


def test_mathml_passes_through() -> None:
    shown = html.formula(
        '<math display="block"><mfrac><mi>&#945;</mi><mn>2</mn></mfrac><mo stretchy="false">&lt;</mo></math>', "α"
    )
    assert '<mfrac><mi>α</mi><mn>2</mn></mfrac><mo stretchy="false">&lt;</mo>' in shown
    assert "<msub><mi>γ</mi><mn>0</mn></msub><mo>−</mo>" in html.formula("<math><mi>γ₀</mi><mo>-</mo></math>", "")
    assert html.formula("", "") == ""


def test_the_page_is_self_contained(full: Document, searched: Document) -> None:
    page = html.render([full, searched])
    assert set(re.findall(r"[a-z]+://[^\"'\s<)]+", page)) <= NAMESPACES
    assert "url(" not in page and "@import" not in page
    root = parse(page)
    assert all(e.get("href", "#").startswith("#") for e in root.iter())
    assert not [e for e in root.iter() if e.tag in ("script", "link", "img", "iframe") or e.get("src")]
    policy = next(e for e in root.iter("meta") if e.get("http-equiv") == "Content-Security-Policy")
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_size(full: Document, applies: Document) -> None:
    assert len(html.render([full]).encode()) < 100_000
    applies["spectrum"] = [float(k + 1) for k in range(100_000)]
    assert len(html.render([applies]).encode()) < 100_000


def test_more_than_two_megabytes_become_a_summary_that_says_so(applies: Document) -> None:
    page = html.render([applies] * 150)
    assert len(page.encode()) < html.LARGEST
    root = parse(page)
    assert "only the summary is shown" in words(root)
    assert len(list(next(root.iter("tbody")))) == 150 and not list(root.iter("article"))


# --- what is refused -----------------------------------------------------------------------------------


def broken(path: str, value: Any) -> Callable[[Document], Any]:
    def change(document: Document) -> Document:
        *parents, last = path.split(".")
        at: Any = document
        for name in parents:
            at = at[int(name)] if name.isdigit() else at[name]
        if value is KeyError:
            del at[last]
        else:
            at[last] = value
        return document

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], "JSON array"),
        (lambda _: "x", "JSON string"),
        (lambda _: {}, "lacks the key"),
        (lambda _: {"results": []}, "holds no results"),
        (lambda d: {"results": [d, 1]}, "JSON integer"),
        (broken("verdict", KeyError), "lacks the key 'verdict'"),
        (broken("verdict", "MAYBE"), "result.verdict is 'MAYBE'"),
        (broken("outcome", "X" * 99), "…"),
        (broken("schema_version", 2), "schema_version is 2"),
        (broken("theorem.key", 1), "result.theorem.key is a integer"),
        (broken("hypotheses.2.lhs.lo", "nan"), "hypotheses[2].lhs.lo is 'nan', not a decimal"),
        (broken("hypotheses.2.lhs.lo", "1e99999999999"), "not a decimal"),
        (broken("hypotheses.2.margin_log10", float("nan")), "not finite"),
        (broken("hypotheses.2.mathml", None), "is a null"),
        (broken("constants.eta", True), "is a boolean"),
        (broken("rate.guaranteed", 1), "result.rate.guaranteed"),
        (broken("equilibrium.residuals", [0.1, "x"]), "residuals[1] is a string"),
        (broken("trajectory", {"steps": [0], "loss": [1.0]}), "lacks the key 'bound'"),
        (broken("trajectory", {"steps": [0], "loss": [1.0], "bound": [1.0, 2.0]}), "different lengths"),
        (broken("trajectory", {"steps": [-1], "loss": [1.0], "bound": [1.0]}), "below 0"),
        (broken("trajectory", {"steps": [0], "loss": ["x"], "bound": [1.0]}), "not a decimal"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(
    applies: Document, change: Callable[[Document], Any], message: str
) -> None:
    with pytest.raises(InputError) as error:
        html.documents(change(applies))
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [("tried", []), ("tried.0.value", None), ("holds", {"smallest": 1.0}), ("vary", 3), ("tried.0.verdict", "NO")],
)
def test_a_malformed_threshold_is_refused(searched: Document, path: str, value: Any) -> None:
    with pytest.raises(InputError, match="threshold"):
        html.documents(broken(path, value)(searched))


def test_an_empty_page_is_refused() -> None:
    with pytest.raises(InputError, match="no result"):
        html.render([])


# --- accessibility -------------------------------------------------------------------------------------


def test_structure_for_keyboard_and_screen_reader(full: Document, fails: Document, searched: Document) -> None:
    for documents in ([full], [searched], [full, fails, searched]):
        root = parse(html.render(documents))
        assert root.get("lang") == "en" and (next(root.iter("title")).text or "").strip()
        levels = [int(e.tag[1]) for e in root.iter() if re.fullmatch("h[1-6]", str(e.tag))]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        ids = [e.get("id") for e in root.iter() if e.get("id")]
        assert len(ids) == len(set(ids))
        for element in root.iter():
            for name in ("aria-labelledby", "href"):
                targets = (element.get(name) or "").replace("#", "").split()
                assert set(targets) <= set(ids)
        first = next(e for e in root.iter("a"))
        assert first.get("class") == "skip" and first.get("href") == "#main"
        for table in root.iter("table"):
            assert words(table[0]).strip() and table[0].tag == "caption"
            assert all(th.get("scope") in ("row", "col") for th in table.iter("th"))
        for picture in root.iter(f"{SVG}svg"):
            assert picture.get("role") == "img"
            assert [e.tag for e in picture[:2]] == [f"{SVG}title", f"{SVG}desc"]
            assert all(words(e) for e in picture[:2])


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    lighter, darker = sorted((luminance(a), luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_in_both_schemes(applies: Document) -> None:
    schemes = re.findall(r":root \{(.*?)\}", html.render([applies]), re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        pairs = [(ink, "paper") for ink in ("ink", "quiet", "link", "holds", "fails", "undecided")]
        pairs += [(verdict, f"{verdict}-wash") for verdict in ("holds", "fails", "undecided")]
        pairs += [("ink", f"{verdict}-wash") for verdict in ("holds", "fails", "undecided")]
        pairs += [("on-loud", "loud"), ("quiet", "holds-wash")]
        for front, back in pairs:
            assert contrast(colour[front], colour[back]) >= 4.5, (front, back)


# --- a real browser ------------------------------------------------------------------------------------

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --proxy-server=127.0.0.1:9 "
    "--enable-logging=stderr --v=0 --dump-dom"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Callable[[str], tuple[str, list[str]]]]:
    """Load a page from a file with the network off; returns the DOM and the console's lines."""
    binary = next((path for name in NAMES if (path := shutil.which(name))), None)
    if binary is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")

    def load(page: str) -> tuple[str, list[str]]:
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        command = [binary, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    yield load


def framed(page: str, width: int) -> str:
    """The untouched page in a frame of a phone's width, and a script outside it that measures."""
    return f"""<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="f" width="{width}" height="800" style="border:0" srcdoc="{html_escape.escape(page)}"></iframe>
<pre id="out"></pre>
<script>document.getElementById("f").onload = function () {{
  const d = this.contentDocument, e = d.documentElement;
  const sizes = q => [...d.querySelectorAll(q)].map(x => x.getBoundingClientRect()).map(r => [r.width, r.height]);
  d.querySelectorAll("details").forEach(x => {{ x.open = true; }});
  document.getElementById("out").textContent = JSON.stringify({{inner: this.contentWindow.innerWidth,
    scroll: e.scrollWidth, client: e.clientWidth, plots: sizes("svg"), formulas: sizes("math")}});
}};</script>"""


def measured(dom: str) -> dict[str, Any]:
    found = re.search(r'<pre id="out">(.+?)</pre>', dom)
    assert found is not None, "the frame did not load"
    loaded: dict[str, Any] = json.loads(html_escape.unescape(found[1]))
    return loaded


def test_the_page_loads_without_network_and_without_complaints(
    browse: Callable[[str], tuple[str, list[str]]], full: Document, fails: Document, searched: Document
) -> None:
    page = html.render([full, fails, searched])
    dom, console = browse(page)
    assert console == []
    assert dom.count("<svg") == page.count("<svg") and dom.count("<math") == page.count("<math") > 0


def test_the_page_refuses_scripts_and_the_console_is_heard(
    browse: Callable[[str], tuple[str, list[str]]], lemma: Document
) -> None:
    page = html.render([lemma]).replace("</main>", "<script>document.title = 'owned'</script></main>")
    dom, console = browse(page)
    assert "<title>owned</title>" not in dom
    assert any("Content Security Policy" in line for line in console)


def test_no_sideways_scrolling_on_a_phone(
    browse: Callable[[str], tuple[str, list[str]]], full: Document, fails: Document, lemma: Document, searched: Document
) -> None:
    lemma["instance"]["settings"]["data"] = "/data/" + "x" * 300
    lemma["theorem"]["key"] = "k" * 120
    lemma["hypotheses"][0]["id"] = "h" * 120
    full["hypotheses"][2].update(lhs={"lo": "1e-400", "hi": "2e-400"}, mathml="", formula="f" * 300)
    page = html.render(html.documents({"results": [full, fails, lemma, searched]}))
    dom, console = browse(framed(page, 400))
    found = measured(dom)
    assert console == []
    assert found["inner"] == 400 and found["scroll"] <= found["client"] <= 400
    assert len(found["plots"]) == page.count("<svg") and len(found["formulas"]) == page.count("<math ")
    assert all(200 < width <= 400 and height > 60 for width, height in found["plots"])
    assert all(width > 5 and height > 5 for width, height in found["formulas"])


def test_sideways_scrolling_would_be_seen(browse: Callable[[str], tuple[str, list[str]]], lemma: Document) -> None:
    page = html.render([lemma]).replace("</main>", '<div style="width: 900px">wide</div></main>')
    found = measured(browse(framed(page, 400))[0])
    assert found["scroll"] > found["client"]
