"""The pipeline, and the one module that knows every stage:

settings -> data -> point -> quantities -> constants -> hypotheses -> training -> conclusions -> result.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Dummy, Le, Symbol

import deqcheck
from deqcheck import data as data_module
from deqcheck import device as device_module
from deqcheck import library, rigor, trajectory, verdict
from deqcheck.conditions import choose, refute
from deqcheck.conditions.judge import Judgement, environment, judge, judge_hypotheses
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError, unknown
from deqcheck.evaluate import evaluate
from deqcheck.family import Family, Value, load
from deqcheck.statement import Evidence, Rule, Status, Theorem
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth, every
from deqcheck.verdict import Constant, Guarantee, Json, Line, Measured, Outcome, Result

Progress = Callable[[str], None]
Enclosures = dict[Symbol, Enclosure]


def silent(_stage: str) -> None:
    """No progress shown."""


@dataclass
class Clock:
    """Seconds per stage, and the stage shown while it runs."""

    show: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage; a stage entered twice adds up."""
        self.show(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Assessment:
    """The hypotheses of one theorem at one point."""

    measured: Enclosures
    constants: dict[Symbol, float]
    values: Enclosures
    judgements: dict[str, Judgement]
    notes: dict[str, str]

    @property
    def truth(self) -> Truth:
        """Whether all hypotheses hold."""
        return every(j.truth for j in self.judgements.values())


def verify(
    key: str,
    given: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
    device: str = "auto",
    show: Progress = silent,
    *,
    quick: bool = False,
    spectrum: bool = False,
    train: trajectory.Plan | None = None,
    show_training: trajectory.Show = trajectory.silent,
) -> Result:
    """Check one theorem on one instance, and follow its training where `train` asks for it.

    `quick` takes the theorem's small instance where nothing is given; `spectrum` adds the singular
    values of the equilibrium, which only plots need.
    """
    clock = Clock(show)
    theorem = library.theorem(key)
    if train is not None:
        train.require(theorem)
    family = load(theorem.family)
    given, pins = _as_settings(theorem, dict(given or {}), dict(pins or {}))
    settings = family.complete(theorem, {**(theorem.quick if quick else {}), **given})
    pinned = read_pins(theorem, pins, settings)
    where = device_module.choose(device)
    with clock.stage("data"):
        data = load_data(family, settings, where)
    with clock.stage("model"):
        point = family.build(data, settings, where)
    remarks: list[str] = []
    instance: dict[str, Json] = {
        "settings": dict(settings),
        "pins": {s.name: v for s, v in pinned.items()},
        "device": where,
        "data": {**data.origin},
        "samples": int(data.X.shape[0]),
        "dim": int(data.X.shape[1]),
    }
    if train is not None:
        instance["train"] = dict(train.facts)
    course: trajectory.Trajectory | None = None
    try:
        scale, point = _scaled(theorem, settings, pinned, point, clock, remarks)
        instance["scale"] = scale
        assessment = assess(theorem, point, pinned, clock)
        if settings.get("scale") == "auto" and scale > 1:
            scale, point, assessment = _nudged(theorem, pinned, point, scale, assessment, clock)
            instance["scale"] = scale
        conclusions = _conclusions(theorem, assessment, point)
    except NotConverged as failure:
        return _not_converged(theorem, instance, failure, clock, where)
    truth, outcome = _outcome(assessment.truth, conclusions)
    if train is not None:
        try:
            with clock.stage("training"):
                course = _follow(theorem, point, assessment, train, show_training)
        except NotConverged as failure:
            remarks.append(f"Training could not start: {failure}.")
            truth, outcome = _at_most(truth, outcome, UNDECIDED)
        else:
            conclusions = _followed(theorem, conclusions, course)
            truth, outcome = _outcome(assessment.truth, conclusions)
            if course.cut:
                truth, outcome = _at_most(truth, outcome, UNDECIDED)
    if outcome is Outcome.DOES_NOT_APPLY and theorem.never:
        remarks.append(theorem.never)
    remarks += _references(theorem, assessment, pinned)
    return Result(
        key=theorem.key,
        title=theorem.title,
        source=str(theorem.source),
        paper=theorem.source.paper,
        instance=instance,
        quantities=tuple(
            Measured(q.name, q.text, q.latex, q.meaning, assessment.measured[s], q.evidence)
            for s, q in theorem.measured.items()
        ),
        constants=_constants(theorem, assessment, pinned),
        hypotheses=_hypotheses(theorem, assessment, pinned),
        conclusions=conclusions,
        rate=_rate(theorem, assessment, course),
        verdict=truth,
        outcome=outcome,
        equilibrium=_equilibrium(point),
        remarks=tuple(remarks),
        reading=theorem.reading,
        flaw=theorem.flaw,
        spectrum=_spectrum(point) if spectrum else (),
        trajectory=course,
        timings={name: round(s, 4) for name, s in clock.seconds.items()},
        environment=surroundings(where),
    )


# --- settings and data -----------------------------------------------------------------------------


def _as_settings(
    theorem: Theorem, given: dict[str, str], pins: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """A constant that is a setting too (a step, a radius) is read, and refused, in one place."""
    for name in [n for n in pins if n in theorem.settings]:
        if name in given:
            raise InputError(f"{name} is given twice, by --set and as a setting.")
        given[name] = pins.pop(name)
    return given, pins


def read_pins(theorem: Theorem, pins: Mapping[str, str], settings: Mapping[str, Value]) -> dict[Symbol, float]:
    """Constants fixed by the user: `--set C1=1`, and `--eta 1e-3` for the step."""
    names = {s.name.replace("_", ""): s for s in theorem.chosen}
    pinned: dict[Symbol, float] = {}
    for name, text in pins.items():
        plain = name.replace("_", "")
        if plain not in names:
            if name in theorem.symbols:
                raise InputError(f"{name} is not a constant to choose in {theorem.key}; it is measured.")
            raise unknown(f"constant of {theorem.key}", name, (s.name for s in theorem.chosen))
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"the constant {name} must be a number, not {text!r}.") from None
        if not 0 < value < math.inf:
            raise InputError(f"the constant {name} must be positive and finite, not {text}.")
        pinned[names[plain]] = value
    for symbol in theorem.chosen:
        wanted = settings.get(symbol.name)
        if isinstance(wanted, float):
            pinned[symbol] = wanted
    return pinned


def load_data(family: Family, settings: dict[str, Value], device: str) -> data_module.Data:
    """The data set, with the default number of samples filled in; memory is checked before and after."""
    name = str(settings["data"])
    samples, dim = settings["samples"], settings["dim"]
    if name in data_module.GENERATORS:
        usual = family.built_in(settings)
        samples = settings["samples"] = usual[0] if samples is None else int(samples)
        dim = settings["dim"] = usual[1] if dim is None else int(dim)
        _require(family, settings, int(samples), int(dim), device)
    data = data_module.load(
        name,
        samples=None if samples is None else int(samples),
        dim=None if dim is None else int(dim),
        seed=int(settings["seed"] or 0),
        classes=None if settings["classes"] is None else str(settings["classes"]),
    )
    _require(family, settings, data.X.shape[0], data.X.shape[1], device)
    return data


def _require(family: Family, settings: Mapping[str, Value], n: int, d: int, device: str) -> None:
    needed = family.memory(n, d, settings)
    device_module.require_memory(needed, device, f"{n} samples at width {settings.get('width')}")


# --- measuring and choosing ------------------------------------------------------------------------


def measure(theorem: Theorem, point: Any, effort: int, only: frozenset[Symbol] | None = None) -> Enclosures:
    """Enclose every measured quantity, or the ones asked for."""
    return {s: q.measure(point, effort) for s, q in theorem.measured.items() if only is None or s in only}


def _floats(values: Mapping[Symbol, Enclosure]) -> dict[Symbol, float]:
    return {s: v.midpoint() for s, v in values.items()}


def _determined(theorem: Theorem, measured: Enclosures, pinned: Mapping[Symbol, float]) -> dict[Symbol, float]:
    """Pinned constants and those that a rule fixes from the measurements alone."""
    fixed = dict(pinned)
    for symbol, choice in theorem.chosen.items():
        if symbol in fixed:
            continue
        if choice.rule is Rule.LEAST:
            fixed[symbol] = evaluate(choice.of, measured).floats()[1]
        elif choice.rule is Rule.FIXED:
            fixed[symbol] = float(choice.of)  # type: ignore[arg-type]
    return fixed


def _scaled(
    theorem: Theorem,
    settings: Mapping[str, Value],
    pinned: Mapping[Symbol, float],
    point: Any,
    clock: Clock,
    remarks: list[str],
) -> tuple[float, Any]:
    """Apply the scale asked for, or find the smallest beta >= 1 at which the conditions hold."""
    wanted = settings.get("scale")
    if isinstance(wanted, float):
        return wanted, point if wanted == 1 else point.scaled(wanted)
    free = any(c.rule is Rule.FREE for c in theorem.chosen.values())
    if wanted is None or not free or any(q.scaled is None for q in theorem.measured.values()):
        return 1.0, point
    with clock.stage("scale"):
        first = measure(theorem, point, rigor.CHEAP)
        blurred = frozenset(s for s, v in first.items() if v.relative_width() > 1e-6)
        first.update(measure(theorem, point, rigor.THOROUGH, blurred))
        base = _floats(first)
        fixed = _determined(theorem, first, pinned)

        def predict(beta: float) -> dict[Symbol, float]:
            moved = {
                s: q.scaled(point, base[s], beta)  # type: ignore[misc]
                for s, q in theorem.measured.items()
            }
            return {**moved, **fixed}

        land = choose.landscape(theorem, frozenset(fixed))
        beta, margin = choose.smallest_scale(land, predict)
    if beta is None:
        remarks.append(
            f"No scale up to 1e{choose.LARGEST_SCALE:.0f} was found at which the conditions hold together: "
            f"the worst margin stays at {margin:.2g} decades or below. The scale is left at 1."
        )
        return 1.0, point
    return beta, point if beta == 1 else point.scaled(beta)


def _nudged(
    theorem: Theorem,
    pinned: Mapping[Symbol, float],
    point: Any,
    scale: float,
    assessment: Assessment,
    clock: Clock,
) -> tuple[float, Any, Assessment]:
    """Where the enclosures are too wide to certify the smallest scale, take a slightly larger one."""
    for factor in (1.001, 1.01, 1.1):
        if assessment.truth is HOLDS:
            break
        larger = choose.rounded_up(scale * factor)
        moved = point.scaled(larger / scale)
        after = assess(theorem, moved, pinned, clock)
        if after.truth is HOLDS:
            return larger, moved, after
    return scale, point, assessment


def assess(theorem: Theorem, point: Any, pinned: Mapping[Symbol, float], clock: Clock) -> Assessment:
    """Judge the hypotheses with as much effort as it takes to decide them, and no more."""
    with clock.stage("quantities"):
        measured = measure(theorem, point, rigor.CHEAP)
    for effort in (rigor.THOROUGH, rigor.PRECISE, None):
        with clock.stage("conditions"):
            assessment = _judge(theorem, measured, pinned)
        open_ids = [n for n, j in assessment.judgements.items() if j.truth is UNDECIDED]
        if effort is None or not open_ids:
            return assessment
        with clock.stage("quantities"):
            for s, better in measure(theorem, point, effort, _blurred(theorem, open_ids, measured)).items():
                measured[s] = measured[s].intersect(better)
    raise AssertionError("unreachable")


def _blurred(theorem: Theorem, ids: list[str], measured: Enclosures) -> frozenset[Symbol]:
    """The measured quantities that occur in undecided hypotheses and are not exact."""
    symbols: set[Symbol] = set()
    for number in ids:
        claim = theorem.hypothesis(number).claim
        if claim is not None:
            symbols |= theorem.expand(claim).free_symbols
    return frozenset(s for s in symbols if s in measured and measured[s].relative_width() > 0)


def _judge(theorem: Theorem, measured: Enclosures, pinned: Mapping[Symbol, float]) -> Assessment:
    fixed = _determined(theorem, measured, pinned)
    constants, _ = choose.choose_constants(theorem, {**_floats(measured), **fixed}, frozenset(fixed))
    constants = {**fixed, **constants}
    for symbol, choice in theorem.chosen.items():
        if choice.rule is Rule.LARGEST and symbol not in constants:
            constants[symbol] = _largest_below(theorem, str(choice.of), measured, constants)
    values = environment(theorem, measured, {s: Enclosure.exact(c) for s, c in constants.items()})
    judgements = judge_hypotheses(theorem, values)
    free = frozenset(s for s, c in theorem.chosen.items() if c.rule is Rule.FREE and s not in pinned)
    return Assessment(measured, constants, values, *_honest(theorem, judgements, measured, fixed, free))


def _largest_below(theorem: Theorem, number: str, measured: Enclosures, constants: Mapping[Symbol, float]) -> float:
    """The largest float that certainly satisfies `symbol < bound`."""
    claim = theorem.hypothesis(number).claim
    assert claim is not None
    exact = {s: Enclosure.exact(c) for s, c in constants.items()}
    bound = evaluate(claim.rhs, environment(theorem, measured, exact)).floats()[0]
    return math.nextafter(bound, -math.inf) if 0 < bound < math.inf else 0.0


def _honest(
    theorem: Theorem,
    judgements: dict[str, Judgement],
    measured: Enclosures,
    fixed: Mapping[Symbol, float],
    free: frozenset[Symbol],
) -> tuple[dict[str, Judgement], dict[str, str]]:
    """FAILS must not depend on our choice of constants: prove it for every choice, or withdraw it."""
    ours = theorem.chosen.keys() - fixed.keys()
    depends = {
        number
        for number, j in judgements.items()
        if j.truth is FAILS and theorem.expand(theorem.hypothesis(number).claim).free_symbols & ours
    }
    if not depends:
        return judgements, {}
    exact = {s: Enclosure.exact(c) for s, c in fixed.items()}
    order = tuple(s for s in theorem.chosen if s in free)
    if refute.no_choice_works(theorem, measured, exact, order):
        return judgements, dict.fromkeys(depends, "certified: no choice of the constants satisfies all")
    withdrawn = {n: Judgement(j.lhs, j.rhs, UNDECIDED, j.margin) if n in depends else j for n, j in judgements.items()}
    return withdrawn, dict.fromkeys(depends, "fails at the best constants found; others not excluded")


# --- results ---------------------------------------------------------------------------------------


def _constants(theorem: Theorem, assessment: Assessment, pinned: Mapping[Symbol, float]) -> tuple[Constant, ...]:
    return tuple(
        Constant(
            s.name,
            theorem.plain(s),
            assessment.constants[s],
            "pinned" if s in pinned else theorem.rule(c),
            s in pinned,
        )
        for s, c in theorem.chosen.items()
    )


def _hypotheses(theorem: Theorem, assessment: Assessment, pinned: Mapping[Symbol, float]) -> tuple[Line, ...]:
    chosen = {str(c.of) for s, c in theorem.chosen.items() if c.rule is Rule.LARGEST and s not in pinned}
    open_steps = {s for s, c in theorem.chosen.items() if c.rule is Rule.LARGEST and s not in pinned}
    lines = []
    for h in theorem.hypotheses:
        if h.claim is None:
            lines.append(Line(h.id, Status.ASSUMED, None, "", "", "", h.text))
            continue
        ours = h.id in chosen or (h.claim.free_symbols and h.claim.free_symbols <= open_steps)
        lines.append(
            _line(theorem, h.id, h.claim, h.text, assessment.judgements[h.id],
                  Status.CHOSEN if ours else Status.CHECKED,
                  assessment.notes.get(h.id) or _evidence(theorem, h.claim))
        )  # fmt: skip
    return tuple(lines)


def _line(theorem: Theorem, number: str, claim: Any, text: str, j: Judgement, status: Status, note: str) -> Line:
    return Line(
        number, status, j.truth, *_typeset(theorem, claim), text, j.lhs, j.rhs, j.certified_margin, note,
    )  # fmt: skip


def _conclusions(theorem: Theorem, assessment: Assessment, point: Any) -> tuple[Line, ...]:
    """Check the conclusions that speak of the instance; name the others as implied."""
    lines = []
    for c in theorem.conclusions:
        if c.claim is None or c.claim.free_symbols - set(assessment.values):
            lines.append(Line(c.id, Status.IMPLIED, None, *_typeset(theorem, c.claim), c.text))
            continue
        judgement = judge(c.claim, assessment.values)
        if judgement.truth is UNDECIDED:
            symbols = theorem.expand(c.claim).free_symbols
            sharper = measure(theorem, point, rigor.PRECISE, frozenset(symbols) & set(theorem.measured))
            constants = {s: Enclosure.exact(v) for s, v in assessment.constants.items()}
            values = environment(theorem, {**assessment.measured, **sharper}, constants)
            judgement = judge(c.claim, values)
        lines.append(_line(theorem, c.id, c.claim, c.text, judgement, Status.CHECKED, _evidence(theorem, c.claim)))
    return tuple(lines)


def _typeset(theorem: Theorem, claim: Any) -> tuple[str, str, str]:
    """One line of text, LaTeX and MathML; empty where the statement is in words only."""
    if claim is None:
        return "", "", ""
    return theorem.plain(claim), theorem.latex(claim), theorem.mathml(claim)


def _evidence(theorem: Theorem, claim: Any) -> str:
    """Say it where a line rests on less than a proof."""
    kinds = {theorem.measured[s].evidence for s in theorem.expand(claim).free_symbols if s in theorem.measured}
    return "; ".join(sorted(k.value for k in kinds - {Evidence.PROOF}))


def _outcome(hypotheses: Truth, conclusions: tuple[Line, ...]) -> tuple[Truth, Outcome]:
    promised = every(line.verdict for line in conclusions if line.verdict is not None)
    if hypotheses is FAILS:
        return FAILS, Outcome.DOES_NOT_APPLY
    if hypotheses is HOLDS and promised is FAILS:
        return FAILS, Outcome.COUNTEREXAMPLE
    if hypotheses is HOLDS and promised is HOLDS:
        return HOLDS, Outcome.APPLIES
    return UNDECIDED, Outcome.UNDECIDED


def _at_most(truth: Truth, outcome: Outcome, limit: Truth) -> tuple[Truth, Outcome]:
    """What was asked for and not done cannot hold; a failure stays one."""
    return (limit, Outcome.UNDECIDED) if truth is HOLDS else (truth, outcome)


def _rate(theorem: Theorem, assessment: Assessment, course: trajectory.Trajectory | None) -> Guarantee | None:
    rate = theorem.rate
    if rate is None:
        return None
    gap = evaluate(rate.gap, assessment.values)
    decay = -((-gap).log1p()) if rate.per == "step" else gap
    return Guarantee(
        rate.id, rate.per, rate.of, gap, Enclosure.exact(2).log() / decay,
        *_typeset(theorem, rate.gap), assessment.truth is HOLDS and not theorem.flaw,
        None if course is None or course.fit is None else course.fit.gap,
    )  # fmt: skip


# --- training --------------------------------------------------------------------------------------


def _follow(
    theorem: Theorem, point: Any, assessment: Assessment, plan: trajectory.Plan, show: trajectory.Show
) -> trajectory.Trajectory:
    return trajectory.follow(
        theorem, point, assessment.values, assessment.constants,
        steps=plan.most, covered=assessment.truth is HOLDS, horizon=plan.horizon, every=plan.every,
        show=show, save=plan.save, save_every=plan.save_every, resume=plan.resume,
    )  # fmt: skip


def _followed(theorem: Theorem, lines: tuple[Line, ...], course: trajectory.Trajectory) -> tuple[Line, ...]:
    """The conclusions with what training showed of them, at the instant that says most."""
    assert theorem.rate is not None
    claims = {c.id: c.claim for c in theorem.conclusions}
    found = [_at_instant(course, line, claims[line.id]) for line in lines]
    if theorem.rate.id not in claims:
        rate, gap = theorem.rate, theorem.plain(theorem.rate.gap)
        name = "L" if rate.of == "loss" else "(L − L*)"
        at, factor = ("k", f"(1 − {gap})^k") if rate.per == "step" else ("t", f"exp(−({gap}) t)")
        formula = f"{name}({at}) ≤ {factor} {name}(0)"
        line = Line(rate.id, Status.IMPLIED, None, formula, "", "", f"the bound on the {rate.of}")
        found.append(_at_instant(course, line, None))
    return tuple(found)


def _at_instant(course: trajectory.Trajectory, line: Line, claim: Any) -> Line:
    seen = course.decisive(line.id)
    if seen is None:
        return line
    mark, at = seen
    lhs, rhs = Enclosure.parse(*at.lhs), Enclosure.parse(*at.rhs)
    x, y = Dummy("x", real=True), Dummy("y", real=True)
    margin = judge((Le if claim is None else type(claim))(x, y), {x: lhs, y: rhs}).margin
    when = f"step {mark.step} of training" if course.per == "step" else f"time {mark.time:.4g} of training"
    note = f"at {when}" + (f": {at.note}" if at.note else "")
    judged = Judgement(lhs, rhs, at.truth, margin)
    return replace(
        line, status=Status.CHECKED, verdict=at.truth, lhs=lhs, rhs=rhs, margin=judged.certified_margin, note=note
    )


def _references(theorem: Theorem, assessment: Assessment, pinned: Mapping[Symbol, float]) -> list[str]:
    """What the paper's own recommendation would give in place of our choice."""
    remarks = []
    for reference in theorem.references:
        choice = theorem.chosen[reference.symbol]
        if reference.symbol in pinned:
            continue
        value = evaluate(reference.value, assessment.measured)
        claim = theorem.hypothesis(str(choice.of)).claim
        assert claim is not None
        j = judge(claim, {**assessment.values, reference.symbol: value})
        margin = j.certified_margin
        if j.truth is HOLDS or margin is None:
            verb = "would be allowed too" if j.truth is HOLDS else "is not decided"
            remarks.append(f"At {reference.text}, {choice.of} {verb}.")
            continue
        fixed = {s: Enclosure.exact(c) for s, c in pinned.items()} | {reference.symbol: value}
        free = tuple(s for s, c in theorem.chosen.items() if c.rule is Rule.FREE and s not in pinned)
        ever = refute.no_choice_works(theorem, assessment.measured, fixed, free)
        remarks.append(
            f"At {reference.text}, {choice.of} fails by {-margin:.3g} decades"
            + (", and no choice of the constants helps." if ever else " with these constants.")
        )
    return remarks


def _equilibrium(point: Any) -> verdict.Equilibrium | None:
    found = getattr(point, "equilibrium", None)
    if found is None:
        return None
    return verdict.Equilibrium(
        found.method,
        tuple(found.residuals),
        found.radius,
        found.contraction,
    )


def _spectrum(point: Any) -> tuple[float, ...]:
    """Singular values of Z from the largest to the smallest, thinned to what a plot can show."""
    Z = getattr(getattr(point, "equilibrium", None), "Z", None)
    if Z is None or Z.dim() != 2:
        return ()
    values = rigor.singular_values(Z)
    stride = max(1, len(values) // 200)
    return (*values[:-1:stride], values[-1])


def _not_converged(
    theorem: Theorem, instance: dict[str, Json], failure: NotConverged, clock: Clock, where: str
) -> Result:
    """An honest result without an equilibrium: nothing measured, nothing decided."""
    lines = tuple(
        Line(h.id, Status.CHECKED if h.claim is not None else Status.ASSUMED,
             UNDECIDED if h.claim is not None else None,
             *_typeset(theorem, h.claim), h.text)
        for h in theorem.hypotheses
    )  # fmt: skip
    return Result(
        key=theorem.key, title=theorem.title, source=str(theorem.source), paper=theorem.source.paper,
        instance=instance, quantities=(), constants=(), hypotheses=lines, conclusions=(), rate=None,
        verdict=UNDECIDED, outcome=Outcome.NOT_CONVERGED, remarks=(f"{failure}.",),
        reading=theorem.reading, timings=dict(clock.seconds), environment=surroundings(where),
    )  # fmt: skip


def surroundings(device: str) -> dict[str, Json]:
    """Versions and machine facts that the floats, though never the truth of a verdict, depend on."""
    import flint
    import numpy
    import sympy

    return {
        "deqcheck": deqcheck.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "sympy": sympy.__version__,
        "python-flint": flint.__version__,
        **device_module.description(device),
    }
