"""Named checks, run again and compared with a committed baseline of certified bounds.

What is compared, and why the answer is the same on another machine with another BLAS:

- Verdicts are proofs, so they are compared as they are: HOLDS is better than UNDECIDED, and UNDECIDED
  better than FAILS.
- Measured quantities are enclosures of one number, so two of them share that number whatever computed
  them, as long as the instance is the same. The floats of an instance may differ in their last bits
  (a weight divided by a computed norm), hence ROUNDING; and a number below NOISE may be nothing but
  such bits (a formula against autograd). Disjoint enclosures beyond that mean another instance, or that
  one enclosure is wrong; neither has a better side, so this is CHANGED.
- Margins and the rate also depend on constants that a float search chooses: the scale is rounded up to
  four digits, the others are a maximiser of a flat function. They are true for the constants chosen
  there, but another machine may choose others, hence SEARCH (and SEARCH for the quantities too where
  the scale itself was searched for). A margin or rate regresses when its enclosure is smaller than the
  baseline's and still disjoint from it after both are widened by SEARCH.
- Conclusions, and whatever is not certified (compared in floats, or estimated from samples), take part
  by their verdict only. No constant, timing or version is ever compared.

A check is REGRESSED if something is worse or its `expect` is not met, CHANGED if it is no longer the
check of the baseline, NEW if the baseline does not know it and GONE if only the baseline does.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from deqcheck import check, library
from deqcheck.conditions.judge import oriented
from deqcheck.data import GENERATORS
from deqcheck.enclosure import Enclosure
from deqcheck.error import InputError, unknown
from deqcheck.family import load as load_family
from deqcheck.statement import Evidence, Theorem
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth, every
from deqcheck.verdict import Json, Line, Result

ROUNDING = 1e-9
"""Relative slack of a measured quantity: room for the last bits of an instance."""
NOISE = 1e-12
"""A quantity at or below this in both records is not compared by its value."""
SEARCH = 0.05
"""Relative slack of what depends on constants that a search has chosen."""
DECADES = 0.02
"""SEARCH for a margin, which is a logarithm: 10**0.02 is 1.047."""
DIGITS = 12
"""Significant digits of a baseline, rounded outward."""
VERSION = 1
DEFAULT_BASELINE = "reports/baseline.json"
FILES = ("deqcheck.toml", "pyproject.toml")


# --- configuration -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One named check: a theorem, the settings as they are written in the file, and what to expect."""

    name: str
    theorem: str
    given: Mapping[str, str]
    pins: Mapping[str, str]
    quick: bool = False
    expect: Truth | None = None


@dataclass(frozen=True)
class Config:
    """The checks of one file, in the order of their names, and where their baseline lies."""

    path: Path
    baseline: Path
    checks: tuple[Check, ...]

    def check(self, name: str) -> Check:
        """The check of this name."""
        for one in self.checks:
            if one.name == name:
                return one
        raise unknown(f"check in {self.path.name}", name, (c.name for c in self.checks))


def find(folder: Path) -> Path:
    """deqcheck.toml, or a pyproject.toml with [tool.deqcheck]; both at once would hide one of them."""
    found = [folder / name for name in FILES if (folder / name).is_file()]
    found = [path for path in found if path.name != "pyproject.toml" or "deqcheck" in _tools(_toml(path))]
    if not found:
        raise InputError(
            f"no checks in {folder.resolve()}: it has neither a deqcheck.toml nor a pyproject.toml with "
            "[tool.deqcheck]; write one there, or name the file."
        )
    if len(found) > 1:
        raise InputError("both deqcheck.toml and [tool.deqcheck] in pyproject.toml define checks; keep one of them.")
    return found[0]


def load(path: Path) -> Config:
    """Read and validate a file of checks; nothing runs before all of it is right."""
    document = _toml(path)
    where = path.name
    if path.name == "pyproject.toml":
        tools = _tools(document)
        if "deqcheck" not in tools:
            raise InputError(f"{path} has no [tool.deqcheck].")
        document, where = tools["deqcheck"], f"[tool.deqcheck] of {where}"
    known = ("baseline", "catalogue", "checks")
    for key in document:
        if key not in known:
            raise unknown(f"key in {where}", key, known)
    baseline = _typed(document, "baseline", str, where, DEFAULT_BASELINE)
    checks = _catalogue(document.get("catalogue"), where)
    for name, table in _typed(document, "checks", dict, where, {}).items():
        checks[name] = _check(name, table, where)
    if not checks:
        raise InputError(f"{where} names no check; add a table [checks.NAME] with theorem = KEY, or catalogue.")
    return Config(path, path.parent / baseline, tuple(checks[name] for name in sorted(checks)))


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None


def _tools(document: Mapping[str, Any]) -> dict[str, Any]:
    tools = document.get("tool")
    return tools if isinstance(tools, dict) else {}


NAMES: Mapping[type, str] = {str: "a string", dict: "a table", bool: "true or false"}
T = TypeVar("T")


def _typed(table: Mapping[str, Any], key: str, kind: type[T], where: str, default: T) -> T:
    value = table.get(key, default)
    if not isinstance(value, kind):
        raise InputError(f"{key} in {where} must be {NAMES[kind]}, not {value!r}.")
    return value


def _catalogue(wanted: object, where: str) -> dict[str, Check]:
    """`catalogue = "quick"`: every theorem, small, each under its own key."""
    if wanted is None:
        return {}
    if wanted != "quick":
        raise unknown(f"catalogue in {where}", str(wanted), ["quick"])
    return {key: Check(key, key, {}, {}, quick=True) for key in library.catalogue()}


def _check(name: str, table: object, where: str) -> Check:
    """One table; its settings are completed once here so that a mistake is found before any work."""
    place = f"[checks.{name}] of {where}"
    if not isinstance(table, dict):
        raise InputError(f"checks.{name} in {where} must be a table, not {table!r}.")
    if "theorem" not in table:
        for misspelt in (key for key in table if get_close_matches(key, ["theorem"])):
            raise unknown(f"key in {place}", misspelt, _OWN)
        raise InputError(f"{place} names no theorem; add theorem = KEY (see 'deqcheck list').")
    key = _typed(table, "theorem", str, place, "")
    try:
        theorem = library.theorem(key)
        family = load_family(theorem.family)
        settings = [s.name for s in family.settings if not s.special or s.name in theorem.settings]
        for given in table:
            if given not in (*_OWN, *settings):
                raise unknown("key", given, (*_OWN, *settings))
        one = Check(
            name,
            key,
            {k: _text(k, v) for k, v in table.items() if k not in _OWN},
            {k: _text(k, v) for k, v in _typed(table, "set", dict, place, {}).items()},
            _typed(table, "quick", bool, place, False),
            _expectation(table.get("expect")),
        )
        check.read_pins(
            theorem, one.pins, family.complete(theorem, {**(theorem.quick if one.quick else {}), **one.given})
        )
    except InputError as error:
        text = str(error)
        raise InputError(text if place in text else f"{place}: {text}") from None
    return one


_OWN = ("theorem", "quick", "expect", "set")


def _text(name: str, value: object) -> str:
    """A setting as the command line would give it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{name} must be a number or a string, not {_as_toml(value)}.")
    return value if isinstance(value, str) else repr(value)


def _as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _expectation(value: object) -> Truth | None:
    if value is None:
        return None
    names = [t.value for t in Truth]
    if value not in names:
        raise unknown("expectation", str(value), names)
    return Truth(value)


# --- what is kept of a result ------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """An enclosure as the file has it. Text, because rounding outward at each rewriting would widen it."""

    lo: str
    hi: str

    @classmethod
    def of(cls, x: Enclosure) -> Bounds:
        """The ends with DIGITS digits, rounded outward."""
        return cls(*x.decimals(DIGITS))

    @property
    def value(self) -> Enclosure:
        """The enclosure again."""
        return Enclosure.parse(self.lo, self.hi)


@dataclass(frozen=True)
class Judged:
    """A hypothesis: its verdict and, where it is certified and defined, its margin in decades."""

    verdict: Truth
    margin: Bounds | None = None


@dataclass(frozen=True)
class Record:
    """The certified part of a result, and the instance that it is about."""

    theorem: str
    instance: Mapping[str, Json]
    verdict: Truth
    hypotheses: Mapping[str, Judged]
    conclusions: Mapping[str, Truth]
    one_minus_rate: Bounds | None
    quantities: Mapping[str, Bounds]


Baseline = Mapping[str, Record]


def record(result: Result, given: Mapping[str, str]) -> Record:
    """What a baseline keeps of a result. A data file is named as it is written in the configuration."""
    theorem = library.theorem(result.key)
    return Record(
        result.key,
        _instance(result, given),
        result.verdict,
        {h.id: _judged(theorem, h) for h in result.hypotheses if h.verdict is not None},
        {c.id: c.verdict for c in result.conclusions if c.verdict is not None},
        None if result.rate is None else Bounds.of(result.rate.one_minus_rate),
        {q.name: Bounds.of(q.value) for q in result.quantities if q.evidence is Evidence.PROOF},
    )


def _instance(result: Result, given: Mapping[str, str]) -> dict[str, Json]:
    """What was asked for and the data it was asked of; never what a search has chosen."""
    settings, origin = _table(result.instance["settings"]), _table(result.instance["data"])
    kept: dict[str, Json] = {name: value for name, value in settings.items() if value is not None}
    if "data" in given:
        kept["data"] = given["data"]
    parts: dict[str, Json] = {
        "settings": kept,
        "pins": result.instance["pins"],
        "rows": result.instance["samples"],
        "columns": result.instance["dim"],
    }
    return {**parts, "sha256": origin["sha256"]} if "sha256" in origin else parts


def _judged(theorem: Theorem, line: Line) -> Judged:
    assert line.verdict is not None
    claim = theorem.hypothesis(line.id).claim
    if claim is None or line.lhs is None or line.rhs is None:
        return Judged(line.verdict)
    symbols = theorem.expand(claim).free_symbols
    if any(q.evidence is not Evidence.PROOF for s, q in theorem.measured.items() if s in symbols):
        return Judged(line.verdict)
    larger, smaller = (line.lhs, line.rhs) if oriented(claim)[0] is claim.lhs else (line.rhs, line.lhs)
    if not (larger.is_positive and smaller.is_positive and larger.is_finite and smaller.is_finite):
        return Judged(line.verdict)
    return Judged(line.verdict, Bounds.of(larger.log10() - smaller.log10()))


# --- comparing ---------------------------------------------------------------------------------------


class Trend(Enum):
    """How a check, or one value of it, stands against the baseline; the worst comes first."""

    REGRESSED = "regressed"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """One value that is not what the baseline says."""

    what: str
    kind: str
    """verdict, margin, rate, quantity, instance, statement or expectation."""
    trend: Trend
    before: Truth | Enclosure | str | None
    after: Truth | Enclosure | str | None


RANK = {FAILS: 0, UNDECIDED: 1, HOLDS: 2}


def compare(before: Record, after: Record) -> tuple[Change, ...]:
    """Everything that differs beyond the slack, the worst first."""
    if instance := _other_instance(before, after):
        return instance
    changes: list[Change] = []
    if before.verdict is not after.verdict:
        changes.append(_verdict("verdict", before.verdict, after.verdict))
    changes += _statement(before.hypotheses, after.hypotheses)
    for name in before.hypotheses.keys() & after.hypotheses.keys():
        changes += _hypothesis(name, before.hypotheses[name], after.hypotheses[name])
    changes += _statement(before.conclusions, after.conclusions)
    for name in before.conclusions.keys() & after.conclusions.keys():
        was, now = before.conclusions[name], after.conclusions[name]
        changes += [] if was is now else [_verdict(name, was, now)]
    changes += _rate(before.one_minus_rate, after.one_minus_rate)
    slack = SEARCH if _settings(after).get("scale") == "auto" else ROUNDING
    changes += _statement(before.quantities, after.quantities)
    for name in before.quantities.keys() & after.quantities.keys():
        old, new = before.quantities[name].value, after.quantities[name].value
        noise = all((abs(x) <= NOISE) is HOLDS for x in (old, new))
        if not noise and not _stretched(old, slack).overlaps(_stretched(new, slack)):
            changes.append(Change(name, "quantity", Trend.CHANGED, old, new))
    return _sorted(changes)


def _other_instance(before: Record, after: Record) -> tuple[Change, ...]:
    """Numbers about different instances say nothing about each other, so only the difference is named."""
    if before.theorem != after.theorem:
        return (Change("theorem", "instance", Trend.CHANGED, before.theorem, after.theorem),)
    old, new = _facts(before), _facts(after)
    return tuple(
        Change(name, "instance", Trend.CHANGED, *(None if f.get(name) is None else str(f[name]) for f in (old, new)))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def _settings(one: Record) -> dict[str, Json]:
    return _table(one.instance["settings"])


def _table(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not a table")
    return value


def _facts(one: Record) -> dict[str, Json]:
    rest = {k: v for k, v in one.instance.items() if k not in ("settings", "pins")}
    pins = {f"set {name}": value for name, value in _table(one.instance["pins"]).items()}
    return {**rest, **_settings(one), **pins}


def _statement(old: Collection[str], new: Collection[str]) -> list[Change]:
    """Lines or quantities that only one side has: the statement itself was edited."""
    gone = [Change(n, "statement", Trend.CHANGED, "present", None) for n in old if n not in new]
    return gone + [Change(n, "statement", Trend.CHANGED, None, "present") for n in new if n not in old]


def _verdict(what: str, before: Truth, after: Truth) -> Change:
    worse = RANK[after] < RANK[before]
    return Change(what, "verdict", Trend.REGRESSED if worse else Trend.IMPROVED, before, after)


def _hypothesis(name: str, before: Judged, after: Judged) -> list[Change]:
    if before.verdict is not after.verdict:
        return [_verdict(name, before.verdict, after.verdict)]
    if before.margin is None or after.margin is None:
        return []
    old, new = before.margin.value, after.margin.value
    trend = _moved(old, new, lambda x: x.widen(DECADES / 2))
    return [] if trend is None else [Change(name, "margin", trend, old, new)]


def _rate(before: Bounds | None, after: Bounds | None) -> list[Change]:
    if before is None or after is None:
        return _statement(*([] if gap is None else ["the rate"] for gap in (before, after)))
    old, new = before.value, after.value
    trend = _moved(old, new, lambda x: _stretched(x, SEARCH))
    return [] if trend is None else [Change("1 − rate", "rate", trend, old, new)]


def _stretched(x: Enclosure, slack: float) -> Enclosure:
    """Half the slack on each of the two enclosures that are compared."""
    return x.widen(abs(x) * (slack / 2))


def _moved(before: Enclosure, after: Enclosure, slack: Callable[[Enclosure], Enclosure]) -> Trend | None:
    """Where larger is better: which side the new enclosure lies on, if the two are disjoint."""
    if slack(after).surely_below(slack(before)):
        return Trend.REGRESSED
    return Trend.IMPROVED if slack(before).surely_below(slack(after)) else None


def _sorted(changes: Iterable[Change]) -> tuple[Change, ...]:
    order = list(Trend)
    return tuple(sorted(changes, key=lambda c: (order.index(c.trend), c.kind != "verdict", c.what)))


# --- running -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One check against the baseline. `record` and `result` are None for a check that is GONE."""

    name: str
    theorem: str
    trend: Trend
    changes: tuple[Change, ...]
    expect: Truth | None = None
    record: Record | None = None
    result: Result | None = None

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that the file expects, if it expects one."""
        return self.expect is None or (self.result is not None and self.result.verdict is self.expect)

    def truth(self, *, require: bool = False, update: bool = False) -> Truth:
        """Whether this check passes. With neither baseline nor expectation, it must hold."""
        if not self.as_expected:
            return FAILS
        if update:
            return HOLDS
        if self.trend is Trend.NEW:
            if require:
                return FAILS
            return self.result.verdict if self.result is not None and self.expect is None else HOLDS
        return FAILS if self.trend in (Trend.REGRESSED, Trend.CHANGED, Trend.GONE) else HOLDS


@dataclass(frozen=True)
class Report:
    """Every check that was run, by name, and what was left when the run was interrupted."""

    config: Config
    comparisons: tuple[Comparison, ...]
    left: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether some checks were not run."""
        return bool(self.left)

    @property
    def results(self) -> list[Result]:
        """The results themselves, for the other kinds of report."""
        return [c.result for c in self.comparisons if c.result is not None]

    def truth(self, *, require: bool = False, update: bool = False) -> Truth:
        """HOLDS is exit code 0, FAILS is 1, UNDECIDED is 3."""
        return every(c.truth(require=require, update=update) for c in self.comparisons)


def run(
    config: Config,
    baseline: Baseline,
    device: str = "auto",
    show: check.Progress = check.silent,
    *,
    only: Collection[str] | None = None,
) -> Report:
    """Run the checks (or those in `only`) one after another and compare each with the baseline.

    An interrupt does not lose what was finished: the report then holds it, and names what is left.
    """
    chosen = config.checks if only is None else tuple(config.check(name) for name in sorted(set(only)))
    done: list[Comparison] = []
    left: tuple[str, ...] = ()
    for number, one in enumerate(chosen):
        label = f"{number + 1}/{len(chosen)} {one.name}"
        try:
            done.append(_run(config, one, baseline.get(one.name), device, partial(_staged, show, label)))
        except KeyboardInterrupt:
            left = tuple(c.name for c in chosen[number:])
            break
    if only is None:
        named = {c.name for c in config.checks}
        done += [Comparison(n, r.theorem, Trend.GONE, ()) for n, r in sorted(baseline.items()) if n not in named]
    return Report(config, tuple(sorted(done, key=lambda c: c.name)), left)


def _staged(show: check.Progress, label: str, stage: str) -> None:
    show(f"{label}: {stage}")


def _run(config: Config, one: Check, before: Record | None, device: str, show: check.Progress) -> Comparison:
    try:
        given = _located(one.given, config.path.parent)
        result = check.verify(one.theorem, given, one.pins, device, show, quick=one.quick)
    except InputError as error:
        raise InputError(f"check {one.name!r}: {error}") from None
    after = record(result, one.given)
    changes = () if before is None else compare(before, after)
    if one.expect is not None and result.verdict is not one.expect:
        changes = (Change("verdict", "expectation", Trend.REGRESSED, one.expect, result.verdict), *changes)
    trend = Trend.UNCHANGED if before is not None else Trend.NEW
    if changes:
        trend = changes[0].trend
    return Comparison(one.name, one.theorem, trend, changes, one.expect, after, result)


def _located(given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """A data file is looked for beside the configuration, wherever the command is run."""
    name = given.get("data")
    if name is None or name in GENERATORS or not (folder / name).is_file():
        return dict(given)
    return {**given, "data": str(folder / name)}


# --- the baseline as a file --------------------------------------------------------------------------


def updated(report: Report, baseline: Baseline) -> dict[str, Record]:
    """The next baseline. What is unchanged keeps its entry, so that an update elsewhere makes no diff.

    After an interrupt the checks that were not run keep their entries too, and nothing is dropped.
    """
    kept = dict(baseline) if report.interrupted else {}
    for one in report.comparisons:
        if one.record is None:
            continue
        same = one.name in baseline and not any(c.kind != "expectation" for c in one.changes)
        kept[one.name] = baseline[one.name] if same else one.record
    return {name: kept[name] for name in sorted(kept)}


def to_document(baseline: Baseline) -> dict[str, Any]:
    """Sorted by name, one value per line, bounds as decimal strings rounded outward."""
    return {"schema_version": VERSION, "checks": {name: _entry(baseline[name]) for name in sorted(baseline)}}


def _entry(one: Record) -> dict[str, Any]:
    return {
        "theorem": one.theorem,
        "verdict": one.verdict.value,
        "hypotheses": {name: _line_entry(line) for name, line in sorted(one.hypotheses.items())},
        "conclusions": {name: truth.value for name, truth in sorted(one.conclusions.items())},
        "one_minus_rate": None if one.one_minus_rate is None else _ends(one.one_minus_rate),
        "quantities": {name: _ends(value) for name, value in sorted(one.quantities.items())},
        "instance": {name: _ordered(value) for name, value in sorted(one.instance.items())},
    }


def _line_entry(line: Judged) -> dict[str, Any]:
    margin = {} if line.margin is None else {"margin_log10": _ends(line.margin)}
    return {"verdict": line.verdict.value, **margin}


def _ends(x: Bounds) -> dict[str, str]:
    return {"lo": x.lo, "hi": x.hi}


def _ordered(value: Json) -> Json:
    return {k: value[k] for k in sorted(value)} if isinstance(value, dict) else value


def read_baseline(path: Path, *, require: bool = False) -> dict[str, Record]:
    """The baseline in this file; none yet is an empty one, unless a baseline is required."""
    if not path.exists() and not require:
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the baseline {path}: {error.strerror}; make it with --update.") from None
    except ValueError:
        raise InputError(f"the baseline {path} is not JSON; restore it, or delete it and use --update.") from None
    try:
        if document["schema_version"] != VERSION:
            raise InputError(
                f"the baseline {path} has schema_version {document['schema_version']!r}, not {VERSION}; "
                "delete it and use --update."
            )
        return {str(name): _from_entry(entry) for name, entry in document["checks"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise InputError(
            f"the baseline {path} is not one that deqcheck wrote; restore it, or delete it and use --update."
        ) from None


def _from_entry(entry: Mapping[str, Any]) -> Record:
    gap = entry["one_minus_rate"]
    one = Record(
        entry["theorem"],
        entry["instance"],
        Truth(entry["verdict"]),
        {name: _from_line(line) for name, line in entry["hypotheses"].items()},
        {name: Truth(truth) for name, truth in entry["conclusions"].items()},
        None if gap is None else _from_ends(gap),
        {name: _from_ends(value) for name, value in entry["quantities"].items()},
    )
    _facts(one)  # refuses an instance that is not one
    return one


def _from_line(line: Mapping[str, Any]) -> Judged:
    margin = line.get("margin_log10")
    return Judged(Truth(line["verdict"]), None if margin is None else _from_ends(margin))


def _from_ends(ends: Mapping[str, str]) -> Bounds:
    lo, hi = (Enclosure.parse(ends[end], ends[end]) for end in ("lo", "hi"))
    if not lo.lo <= hi.hi:
        raise ValueError("the ends are not in order")
    return Bounds(ends["lo"], ends["hi"])
