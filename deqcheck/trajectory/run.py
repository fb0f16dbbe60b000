"""Follow gradient descent or gradient flow from a checked start and watch the theorem's conclusions.

At chosen steps every conclusion, and the bound on the loss, is certified at exactly the float64 parameters that
were reached; in between they are watched in floats, and where one seems to fail the step is certified too.
See deqcheck.trajectory.value for what that does and does not say about exact gradient descent.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from sympy import Symbol
from torch import Tensor

from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError
from deqcheck.evaluate import decide, extend, sides
from deqcheck.statement import Theorem
from deqcheck.trajectory import fit, ode, store
from deqcheck.trajectory.certify import Promise, ends
from deqcheck.trajectory.model import Evaluation, Tensors, Training, Warm, longest, require_rate, training
from deqcheck.trajectory.value import Line, Mark, Trajectory, kept
from deqcheck.trajectory.watch import Watch
from deqcheck.truth import HOLDS, Truth

Every = Literal["all", "log"] | int
UNIT = 2.0**-53
SLACK = 4.0
"""Rounding of one step moves the parameters by at most u ||theta||; later steps may stretch it a little."""
TOLERANCE = 1e-8
"""Relative error that the integrator of gradient flow may make in a step."""
LARGEST = 1e300
SMALL = 400_000
"""Up to so many parameters a single thread is as quick as several."""
SHOWN_EVERY = 0.2
"""Seconds between two lines of progress."""
RETRIES = 12
"""How often a step of a flow is cut to a fifth when no equilibrium is found on its way."""
LONGEST = 10_000
"""Steps allowed to a flow of which only the end time is given."""

Show = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and a line of words."""


def silent(_share: float, _line: str) -> None:
    """No progress shown."""


@dataclass(frozen=True)
class Plan:
    """What training is asked for; see `follow`."""

    steps: int | None = None
    horizon: float | None = None
    every: Every = "log"
    save: Path | None = None
    save_every: int = 100
    resume: Path | None = None

    def require(self, theorem: Theorem) -> None:
        """Refuse what cannot be followed before anything is computed."""
        require_rate(theorem)
        assert theorem.rate is not None
        if theorem.rate.per == "step":
            _refuse_time(theorem, self.horizon)
            if self.steps is None:
                raise InputError(f"{theorem.key} is about gradient descent; say how many steps with --train K.")
        _require_whole(self.most, self.every, self.save_every)
        if self.resume is not None:
            store.require(self.resume)
        if self.save is not None and self.save != self.resume:
            store.require_free(self.save)

    @property
    def most(self) -> int:
        """The steps allowed."""
        return LONGEST if self.steps is None else self.steps

    @property
    def facts(self) -> dict[str, int | float | str | None]:
        """What is needed to ask for the same again."""
        return {"steps": self.steps, "time": self.horizon, "certify_every": str(self.every)}


@dataclass
class Run:
    """A run as it stands between two steps: all that a checkpoint must hold."""

    step: int
    time: float
    parameters: Tensors
    warm: Warm
    before: Warm = field(default_factory=dict)
    """What warmed up the step before, to extrapolate from."""
    slope: Tensors = ()
    """Of a flow: minus the gradient here, which the next step starts with."""
    h: float = 0.0
    """Of a flow: the step size to try next."""
    wrong: float = 0.0
    """Of a flow: the accumulated error of the parameters; of a descent: that of the loss."""
    rejected: int = 0
    moved: set[str] = field(default_factory=set)
    pulled: set[str] = field(default_factory=set)
    """Parameters whose gradient was not zero at some step."""
    loss: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    tried: int = -1
    """The last step that was to be certified."""
    stalled: int | None = None
    ended: str = ""


@dataclass
class Session:
    """What stays the same during a run."""

    training: Training
    promise: Promise
    per: str
    steps: int
    eta: float
    horizon: float
    every: Every
    show: Show
    save: Path | None
    save_every: int
    fingerprint: str
    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=clock.perf_counter)
    shown: float = 0.0
    resumed: int = 0
    asked_time: bool = False
    saved: int = 0
    """The last step of which there is a checkpoint."""

    def __post_init__(self) -> None:
        self.watch = Watch(self.promise)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add up the seconds of one kind of work."""
        start = clock.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + clock.perf_counter() - start

    def timed_out(self, time: float) -> bool:
        """Whether a time was asked for that the steps allowed do not reach."""
        return self.asked_time and time < self.horizon

    def chosen(self, step: int) -> bool:
        """Whether this step is certified whatever happens: logarithmic means 0, 1, 2, 4, 8, ..."""
        if self.every == "all":
            return True
        return step & (step - 1) == 0 if self.every == "log" else step % self.every == 0


def follow(
    theorem: Theorem,
    point: Any,
    values: Mapping[Symbol, Enclosure],
    constants: Mapping[Symbol, float],
    *,
    steps: int,
    covered: bool,
    eta: float | None = None,
    horizon: float | None = None,
    every: Every = "log",
    show: Show = silent,
    save: Path | None = None,
    save_every: int = 100,
    resume: Path | None = None,
    kernel: bool = True,
) -> Trajectory:
    """Train from `point` and compare what happens with what the theorem promises.

    `values` and `constants` are those of the check; `covered` says whether every hypothesis held in it. Descent
    takes `steps` steps of size `eta` (by default the checked one). A flow is followed up to the time `horizon`, in at
    most `steps` adaptive steps. `save` is a folder for a checkpoint after every `save_every` steps, `resume` one to
    continue from; a resumed run ends in the same bits as one that was not interrupted.
    """
    model = training(theorem, point)
    assert theorem.rate is not None
    per = theorem.rate.per
    _require_whole(steps, every, save_every)
    if per == "step":
        _refuse_time(theorem, horizon)
        eta, values, covered = _step_size(theorem, eta, values, constants, covered)
        end = math.inf
    else:
        if eta is not None:
            raise InputError(f"{theorem.key} is about gradient flow, which has no step size; leave --eta out.")
        end = _end(theorem, horizon, values)
    session = Session(
        model, Promise(theorem, model, point, values), per, steps, eta or 0.0, end, every, show, save, save_every,
        store.fingerprint((*model.parameters, *model.data), theorem.key, eta, None if per == "step" else end, every),
    )  # fmt: skip
    run = Run(0, 0.0, model.parameters, {}) if resume is None else _resumed(session, resume)
    session.resumed = session.saved = run.step
    session.asked_time = horizon is not None
    with _few_threads(model.parameters):
        (_descend if per == "step" else _flow)(session, run)
        return _result(theorem, session, run, covered, eta, kernel)


@contextmanager
def _few_threads(parameters: Tensors) -> Iterator[None]:
    """One thread for many small products: on a busy machine several only wait for each other."""
    before = torch.get_num_threads()
    if sum(p.numel() for p in parameters) <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# --- what is asked for -----------------------------------------------------------------------------


def _refuse_time(theorem: Theorem, horizon: float | None) -> None:
    if horizon is not None:
        raise InputError(f"{theorem.key} is about gradient descent, which has no end time; give --train K only.")


def _require_whole(steps: int, every: Every, save_every: int) -> None:
    if steps < 1:
        raise InputError(f"the number of training steps must be at least 1, not {steps}.")
    if isinstance(every, int) and every < 1:
        raise InputError(f"steps can be certified every n-th for n at least 1, not {every}; or give 'all' or 'log'.")
    if isinstance(every, str) and every not in ("all", "log"):
        raise InputError(f"which steps to certify must be 'all', 'log' or a whole number, not {every!r}.")
    if save_every < 1:
        raise InputError(f"a checkpoint can be saved every n-th step for n at least 1, not {save_every}.")


def _step_size(
    theorem: Theorem,
    eta: float | None,
    values: Mapping[Symbol, Enclosure],
    constants: Mapping[Symbol, float],
    covered: bool,
) -> tuple[float, Mapping[Symbol, Enclosure], bool]:
    """The step size, and what follows from it where it is not the one that was checked."""
    symbol = theorem.symbols["eta"]
    checked = constants.get(symbol, 0.0)
    eta = checked if eta is None else eta
    if not 0 < eta < math.inf:
        raise InputError(
            f"the step size is {eta:g}, so there is nothing to follow: the hypotheses allow no positive step here; "
            "give one with --eta X (the theorem will then not cover it)."
        )
    if eta == checked:
        return eta, values, covered
    known = {s: values[s] for s in (*theorem.measured, *theorem.chosen)} | {symbol: Enclosure.exact(eta)}
    values = extend(known, theorem.definitions)
    claims = [h.claim for h in theorem.hypotheses if h.claim is not None]
    allowed = all(decide(claim, *sides(claim, values)) is HOLDS for claim in claims)
    return eta, values, covered and allowed


def _end(theorem: Theorem, horizon: float | None, values: Mapping[Symbol, Enclosure]) -> float:
    """The time to follow a flow to: what is asked for, at most what the rate is known for."""
    limit = longest(theorem, values)
    if horizon is None:
        return limit
    if not 0 < horizon < math.inf:
        raise InputError(f"the time to train for must be positive and finite, not {horizon:g}.")
    if horizon > limit:
        raise InputError(
            f"the rate of {theorem.key} is bounded up to the horizon {limit:g} only, but {horizon:g} is asked for; "
            f"take --with horizon={horizon:g} as well, or a shorter time."
        )
    return horizon


# --- gradient descent ------------------------------------------------------------------------------


def _descend(session: Session, run: Run) -> None:
    """theta <- theta - eta grad, one step at a time."""
    model, eta = session.training, session.eta
    last: tuple[Tensors, Warm] = run.parameters, run.warm
    while True:
        _save(session, run)
        try:
            with session.timed("train"):
                here = model.evaluate(run.parameters, _extrapolated(run))
        except NotConverged as failure:
            if not run.loss:
                raise
            run.ended = f"at step {run.step}, {failure}"
            break
        size = _norm(here.gradient)
        if not math.isfinite(here.loss) or not (math.isfinite(size) or _finite(here.gradient)):
            run.ended = f"the loss or its gradient is not finite at step {run.step}"
            break
        run.before, run.warm = (run.warm if run.step else {}), here.warm
        last = run.parameters, here.warm
        _record(session, run, here, run.wrong)
        if run.ended or run.step == session.steps:
            break
        if size == 0:
            run.ended = f"the gradient is zero at step {run.step}"
            break
        with session.timed("train"):
            new = tuple(torch.sub(p, g, alpha=eta) for p, g in zip(run.parameters, here.gradient, strict=True))
            slip = UNIT * _norm(run.parameters) + here.accuracy * eta * size
        run.wrong = min(LARGEST, run.wrong + SLACK * size * slip)
        if not _moved(session, run, here.gradient, new):
            run.stalled = run.step
            run.ended = f"from step {run.step} on no parameter moves in float64"
            break
        run.parameters, run.step, run.time = new, run.step + 1, float(run.step + 1)
    _finish(session, run, *last)


def _extrapolated(run: Run) -> Warm:
    """Where the solutions are heading: the parameters move in a straight line, to first order."""
    return {
        name: torch.lerp(run.before[name], now, 2.0) if name in run.before else now for name, now in run.warm.items()
    }


# --- gradient flow ---------------------------------------------------------------------------------


def _flow(session: Session, run: Run) -> None:
    """d theta / dt = -grad, by an embedded Runge-Kutta pair whose error estimates are added up."""
    latest: list[Evaluation] = []

    def slope(parameters: Tensors) -> Tensors:
        if not _finite(parameters):
            raise NotConverged("a step too long for the integrator", ())
        here = session.training.evaluate(parameters, latest[-1].warm if latest else run.warm)
        latest[:] = [here]
        return tuple(-g for g in here.gradient)

    if not run.slope:
        with session.timed("train"):
            run.slope = slope(run.parameters)
            run.warm = latest[-1].warm
            size = _norm(run.slope)
            run.h = 0.01 * _norm(run.parameters) / size if size > 0 else 0.0
        _record(session, run, latest[-1], 0.0)
        if size == 0:
            run.ended = "the gradient is zero at the start"
    failures = 0
    while not run.ended and run.time < session.horizon and run.step < session.steps:
        _save(session, run)
        left = session.horizon - run.time
        h, final = (left, True) if run.h >= left else (run.h, False)
        if not run.time + h > run.time or not h > 0:
            run.ended = f"the integrator's step fell to {h:.1e} at time {run.time:.6g}"
            break
        latest.clear()
        with session.timed("train"):
            try:
                step, end = ode.attempt(slope, run.parameters, run.slope, h, TOLERANCE)
            except NotConverged as failure:
                run.h, run.rejected, failures = h / 5, run.rejected + 1, failures + 1
                if failures > RETRIES:
                    run.ended = f"at time {run.time:.6g}, {failure}"
                continue
        failures = 0
        run.h = step.following
        if not step.accepted:
            run.rejected += 1
            continue
        if not _moved(session, run, run.slope, step.y):
            run.stalled = run.step
            run.ended = f"from step {run.step} on no parameter moves in float64"
            break
        run.parameters, run.slope, run.warm = step.y, end, latest[-1].warm
        run.step, run.time = run.step + 1, session.horizon if final else run.time + h
        run.wrong = min(LARGEST, run.wrong + step.error + UNIT * _norm(run.parameters))
        _record(session, run, latest[-1], min(LARGEST, run.wrong * _norm(run.slope)))
    _save(session, run)
    if not run.ended and session.timed_out(run.time):
        run.ended = f"time {run.time:.6g} of {session.horizon:g} was reached in the {session.steps} steps allowed"
    _finish(session, run, run.parameters, run.warm)


# --- one step --------------------------------------------------------------------------------------


def _record(session: Session, run: Run, here: Evaluation, error: float) -> None:
    """Note the loss; certify where it was asked for, and where floats say that a conclusion fails."""
    loss = here.loss
    run.loss.append(loss)
    run.times.append(run.time)
    run.error.append(error)
    bound = session.promise.bound(run.time)
    if session.chosen(run.step) or (run.step > 0 and _doubtful(session, run, here, bound)):
        _certify(session, run, run.parameters, run.warm)
        session.watch.certified(here.watched)
    _progress(session, run, loss, bound)


def _doubtful(session: Session, run: Run, here: Evaluation, bound: Enclosure | None) -> bool:
    """Whether floats say that the loss or a conclusion is where it must not be; what is known to fail is left alone."""
    settled = {x.id for mark in run.marks for x in mark.lines if x.truth is not HOLDS}
    rate = session.promise.theorem.rate
    new = rate is not None and rate.id not in settled
    if new and bound is not None and here.loss - run.error[-1] > bound.floats()[1]:
        return True
    with session.timed("watch"):
        return session.watch.fails(here.watched, run.time, settled)


def _certify(session: Session, run: Run, parameters: Tensors, warm: Warm) -> None:
    """Without a certified equilibrium there is nothing more to say: the run ends, and keeps what it has."""
    k = len(run.loss) - 1
    run.tried = k
    try:
        with session.timed("certify"):
            run.marks.append(session.promise.certify(k, run.times[k], parameters, warm, run.error[k]))
    except NotConverged as failure:
        if not run.marks:
            raise
        run.ended = run.ended or f"at step {k}, {failure}"


def _finish(session: Session, run: Run, parameters: Tensors, warm: Warm) -> None:
    """The last step that was reached is always certified, or was tried to be."""
    if max(run.tried, run.marks[-1].step) != len(run.loss) - 1:
        _certify(session, run, parameters, warm)


def _moved(session: Session, run: Run, gradient: Tensors, new: Tensors) -> bool:
    """Whether any parameter changed by a bit; which ones ever did, and which were meant to, is kept."""
    names = session.training.names
    run.pulled.update(n for n, g in zip(names, gradient, strict=True) if n not in run.pulled and bool((g != 0).any()))
    pairs = dict(zip(names, zip(run.parameters, new, strict=True), strict=True))
    fresh = {n for n in names if n not in run.moved and not torch.equal(*pairs[n])}
    known = sorted(run.moved, key=lambda n: pairs[n][0].numel())  # one that moves is enough, a small one first
    run.moved |= fresh
    return bool(fresh) or any(not torch.equal(*pairs[n]) for n in known)


def _norm(tensors: Tensors) -> float:
    return math.hypot(*(float(t.norm()) for t in tensors))


def _finite(tensors: Tensors) -> bool:
    return all(bool(torch.isfinite(t).all()) for t in tensors)


def _progress(session: Session, run: Run, loss: float, bound: Enclosure | None) -> None:
    now = clock.perf_counter()
    last = run.step == session.steps
    if now - session.shown < SHOWN_EVERY and not last:
        return
    session.shown = now
    done, all_of = (run.step, session.steps) if session.horizon == math.inf else (run.time, session.horizon)
    share = (run.step - session.resumed) / max(1, session.steps - session.resumed)
    if session.horizon < math.inf:
        share = max(share, run.time / session.horizon)
    left = (now - session.started) * (1 - share) / share if share > 0 else math.inf
    line = f"{'step' if session.horizon == math.inf else 'time'} {done:.6g}/{all_of:g}, loss {loss:.4g}"
    if bound is not None:
        line += f", bound {bound.midpoint():.4g}"
    session.show(share, line + (f", {left:.0f} s left" if left < math.inf else ""))


# --- checkpoints -----------------------------------------------------------------------------------


def _save(session: Session, run: Run) -> None:
    due = run.step % session.save_every == 0 or run.step == session.steps
    if session.save is None or run.step == session.saved or not due:
        return
    session.saved = run.step
    groups = {
        "parameter": dict(zip(session.training.names, run.parameters, strict=True)),
        "warm": run.warm,
        "before": run.before,
        "slope": {str(k): t for k, t in enumerate(run.slope)},
    }
    tensors = {f"{group}.{name}": t for group, members in groups.items() for name, t in members.items()}
    facts = {
        "fingerprint": session.fingerprint,
        "time": run.time,
        "h": run.h,
        "wrong": run.wrong,
        "rejected": run.rejected,
        "moved": sorted(run.moved),
        "pulled": sorted(run.pulled),
        "loss": run.loss,
        "times": run.times,
        "error": run.error,
        "marks": [
            [m.step, m.time, m.loss, [[x.id, x.truth.value, x.lhs, x.rhs, x.note] for x in m.lines]] for m in run.marks
        ],
    }
    with session.timed("save"):
        store.write(session.save, run.step, tensors, facts)


def _resumed(session: Session, folder: Path) -> Run:
    index, tensors = store.read(folder, session.fingerprint, str(session.training.parameters[0].device))

    def group(name: str) -> dict[str, Tensor]:
        return {key.removeprefix(f"{name}."): t for key, t in tensors.items() if key.startswith(f"{name}.")}

    found, slopes = group("parameter"), group("slope")
    marks = [
        Mark(
            step,
            time,
            (loss[0], loss[1]),
            tuple(Line(n, Truth(v), (lhs[0], lhs[1]), (rhs[0], rhs[1]), note) for n, v, lhs, rhs, note in lines),
        )
        for step, time, loss, lines in index["marks"]
    ]
    if index["step"] > session.steps:
        raise InputError(
            f"the checkpoint in {folder} is at step {index['step']}, beyond the {session.steps} asked for; "
            "ask for more steps."
        )
    return Run(
        index["step"], index["time"], tuple(found[name] for name in session.training.names), group("warm"),
        group("before"), tuple(slopes[str(k)] for k in range(len(slopes))), index["h"], index["wrong"],
        index["rejected"], set(index["moved"]), set(index["pulled"]),
        index["loss"], index["times"], index["error"], marks,
    )  # fmt: skip


# --- the result ------------------------------------------------------------------------------------


def _result(theorem: Theorem, session: Session, run: Run, covered: bool, eta: float | None, kernel: bool) -> Trajectory:
    assert theorem.rate is not None
    promise = session.promise
    floor, loss = promise.floor, run.loss
    if theorem.rate.of != "loss":
        loss = [x - floor.midpoint() for x in loss]
    steps = kept(len(loss), {mark.step for mark in run.marks})
    bounds = [promise.bound(run.times[k]) for k in steps]
    noise = floor.relative_width() * floor.midpoint() + 4 * UNIT * floor.midpoint()
    fitted = None
    if run.stalled is None and min(loss[0], 1.0) > 0:
        fitted = fit.fitted(loss, run.times, session.per, noise)
    smallest: tuple[float | None, float | None] = (None, None)
    if kernel:
        with session.timed("kernel"):
            smallest = _smallest(session, promise.origin), _smallest(session, promise.point)
    return Trajectory(
        key=theorem.key,
        per=session.per,
        of=theorem.rate.of,
        eta=eta,
        asked=session.steps,
        horizon=session.horizon if session.horizon < math.inf else None,
        covered=covered,
        steps=tuple(steps),
        times=tuple(run.times[k] for k in steps),
        loss=tuple(loss[k] for k in steps),
        bound=tuple("inf" if b is None else ends(promise.above_floor(b))[1] for b in bounds),
        error=tuple(run.error[k] for k in steps),
        history=tuple(loss),
        marks=tuple(run.marks),
        gap=ends(promise.gap),
        fit=None if fitted is None else fitted[0],
        ratio=None if fitted is None else fit.over_measured(promise.decay, fitted[1]),
        reached=fit.reached(loss, run.times),
        kernel_min=smallest,
        stalled=run.stalled,
        frozen=tuple(n for n in session.training.names if n in run.pulled - run.moved),
        ended=run.ended,
        integrator={} if session.per == "step" else {
            "tolerance": TOLERANCE,
            "accepted": run.step,
            "rejected": run.rejected,
            "parameter_error": run.wrong,
        },
        seconds=dict(session.seconds),
    )  # fmt: skip


def _smallest(session: Session, point: Any) -> float | None:
    """lambda_min of the tangent kernel, in floats."""
    try:
        K = None if point is None else session.training.kernel(point)
    except NotConverged:
        return None
    if K is None or not bool(torch.isfinite(K).all()):
        return None
    return float(torch.linalg.eigvalsh((K + K.T) / 2)[0])
