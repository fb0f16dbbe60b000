"""The command line: a thin layer. Torch and friends are imported inside the commands."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from deqcheck.error import InputError
from deqcheck.options import (
    BaselineFile,
    CertifyEvery,
    Classes,
    ConfigFile,
    DataName,
    Device,
    Dim,
    Eta,
    ExitZero,
    Extras,
    Form,
    Format,
    Gamma,
    High,
    HtmlFile,
    Init,
    JsonFile,
    JunitFile,
    JunitProperties,
    Low,
    Pins,
    Quick,
    Quiet,
    RequireBaseline,
    Rerun,
    Resume,
    Samples,
    Save,
    SaveEvery,
    Scale,
    Seed,
    Theorem,
    Train,
    TrainTime,
    Update,
    Vary,
    Width,
)

if TYPE_CHECKING:
    from deqcheck.trajectory import Plan
    from deqcheck.verdict import Result

OK, FAILED, USAGE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    name="deqcheck",
    help="Does a published convergence theorem about deep equilibrium models apply to this network?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 holds, 1 fails, 2 bad input, 3 undecided and nothing fails.",
)


def _version(wanted: bool) -> None:
    if wanted:
        import deqcheck

        typer.echo(f"deqcheck {deqcheck.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Does a published convergence theorem about deep equilibrium models apply to this network?"""


@app.command("list")
def list_command() -> None:
    """List the theorems."""
    from deqcheck import library
    from deqcheck.report import terminal

    terminal.console().print(terminal.catalogue(list(library.catalogue().values())))


@app.command()
def show(key: Annotated[str, typer.Argument(metavar="KEY", help="Which theorem.")]) -> None:
    """Show a statement, numbered as in its paper."""
    from deqcheck import library
    from deqcheck.report import terminal

    terminal.console().print(terminal.statement(library.theorem(key)))


@dataclass(frozen=True)
class Request:
    """What a user asked for: settings of the family, pinned constants, and where to compute."""

    given: dict[str, str]
    pins: dict[str, str]
    device: str


NO_REQUEST = Request({}, {}, "auto")


def _request(
    width: Width = None,
    samples: Samples = None,
    dim: Dim = None,
    seed: Seed = None,
    data: DataName = None,
    classes: Classes = None,
    init: Init = None,
    scale: Scale = None,
    eta: Eta = None,
    gamma: Gamma = None,
    pins: Pins = None,
    extras: Extras = None,
    device: Device = "auto",
) -> Request:
    named = {
        "width": width, "samples": samples, "dim": dim, "seed": seed, "data": data, "classes": classes,
        "init": init, "scale": scale, "eta": eta, "gamma": gamma,
    }  # fmt: skip
    given = {name: value for name, value in named.items() if value is not None}
    given |= _pairs("--with", extras or [], given)
    return Request(given, _pairs("--set", pins or [], {}), device)


@dataclass(frozen=True)
class Asked:
    """The options about training, as they were given."""

    train: str | None = None
    time: str | None = None
    every: str | None = None
    save: Path | None = None
    save_every: str | None = None
    resume: Path | None = None

    def require(self, theorem: str) -> None:
        """Refuse what makes no sense together."""
        if self.train is None and self.time is None:
            given = {"--certify-every": self.every, "--save": self.save, "--save-every": self.save_every,
                     "--resume": self.resume}  # fmt: skip
            for option, value in given.items():
                if value is not None:
                    raise InputError(f"{option} is about training; say how long to train with --train K.")
        elif theorem == "all":
            raise InputError("--train follows one theorem; name it with --theorem KEY.")
        if self.save_every is not None and self.save is None and self.resume is None:
            raise InputError("--save-every says how often to save; say where with --save DIR.")

    def plan(self) -> Plan | None:
        """What to follow; a resumed run is saved where it was saved before."""
        if self.train is None and self.time is None:
            return None
        from deqcheck.family import number, whole
        from deqcheck.trajectory import Plan

        every = self.every or "log"
        return Plan(
            None if self.train is None else whole(1)("--train", self.train),
            None if self.time is None else number("--train-time", self.time),
            every if every in ("all", "log") else _every(every),  # type: ignore[arg-type]
            self.save or self.resume,
            100 if self.save_every is None else whole(1)("--save-every", self.save_every),
            self.resume,
        )


def _every(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--certify-every must be 'all', 'log' or a whole number of at least 1, not {text!r}.")
    return int(text)


def _on_an_instance(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that describe an instance, gathered in its argument `request`."""
    own, shared = inspect.signature(command).parameters, inspect.signature(_request).parameters
    kept = [p for name, p in own.items() if name != "request"]

    def run(**values: Any) -> None:
        request = _request(**{name: values.pop(name) for name in shared})
        command(request=request, **values)

    hints = {**get_type_hints(command, include_extras=True), **get_type_hints(_request, include_extras=True)}
    parameters = [
        p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY) for p in (kept[0], *shared.values(), *kept[1:])
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


@app.command()
@_on_an_instance
def verify(
    theorem: Theorem = "",
    request: Request = NO_REQUEST,
    train: Train = None,
    train_time: TrainTime = None,
    certify_every: CertifyEvery = None,
    save: Save = None,
    save_every: SaveEvery = None,
    resume: Resume = None,
    json_file: JsonFile = None,
    html_file: HtmlFile = None,
    junit_file: JunitFile = None,
    junit_properties: JunitProperties = False,
    form: Form = Format.TEXT,
    rerun: Rerun = None,
    quick: Quick = False,
    exit_zero: ExitZero = False,
    quiet: Quiet = False,
) -> None:
    """Check whether a theorem applies to an instance, by what margin, and what rate it guarantees."""
    _check_outputs(json_file, html_file, junit_file)
    asked = Asked(train, train_time, certify_every, save, save_every, resume)
    if rerun is not None:
        if theorem or request.given or request.pins or quick or asked != Asked():
            raise InputError("--rerun repeats a recorded check; give it without other settings.")
        theorem, given, pins, asked = _recorded(rerun)
        request = Request(given, pins, request.device)
    asked.require(theorem)
    if not theorem:
        raise InputError("no theorem was named; give --theorem KEY (see 'deqcheck list').")
    results: list[Result] = []
    plots = html_file is not None
    try:
        with _crash_reported(junit_file, theorem, results), _progress(quiet) as advance:
            if theorem == "all":
                _verify_all(request, quick, plots, advance, results)
            else:
                from deqcheck import check

                results.append(
                    check.verify(
                        theorem,
                        request.given,
                        request.pins,
                        request.device,
                        advance,
                        quick=quick,
                        spectrum=plots,
                        train=asked.plan(),
                        show_training=advance.course,
                    )
                )
    except KeyboardInterrupt:
        if not results:
            raise
        _deliver(results, theorem == "all", json_file, html_file, junit_file, junit_properties, form, quiet)
        raise
    _deliver(results, theorem == "all", json_file, html_file, junit_file, junit_properties, form, quiet)
    raise typer.Exit(OK if exit_zero else exit_code(results))


def _deliver(
    results: list[Result],
    several: bool,
    json_file: Path | None,
    html_file: Path | None,
    junit_file: Path | None,
    junit_properties: bool,
    form: Format,
    quiet: bool,
) -> None:
    """Print the results and write the files that were asked for."""
    from deqcheck.report import json

    if form is Format.GITHUB:
        from deqcheck.report import github

        typer.echo(github.annotations(results), nl=False)
    elif several:
        _print_all(results, quiet)
    else:
        _print(results[0], quiet)
    documents = [json.to_json(result) for result in results]
    if json_file is not None:
        _write(json_file, json.collection(documents) if several else documents[0])
    if html_file is not None:
        _write_html(html_file, documents)
    if junit_file is not None:
        _write_junit(junit_file, results, properties=junit_properties)


@contextmanager
def _crash_reported(junit_file: Path | None, key: str, finished: list[Result]) -> Iterator[None]:
    """A crash is ours, not the theorem's: it goes to the JUnit file as an error, beside what was finished."""
    try:
        yield
    except InputError:
        raise
    except Exception:
        if junit_file is not None:
            import traceback

            _write_junit(junit_file, finished, [(key, traceback.format_exc())])
        raise


def _write_junit(
    file: Path, results: list[Result], crashed: list[tuple[str, str]] | None = None, properties: bool = False
) -> None:
    from deqcheck.report import junit
    from deqcheck.report.write import write_atomically

    write_atomically(file, junit.to_junit(results, properties, crashed or []))


def _write_html(file: Path, documents: list[dict[str, Any]]) -> None:
    from deqcheck.report import html
    from deqcheck.report.write import write_atomically

    write_atomically(file, html.render(documents))


def _verify_all(
    request: Request, quick: bool, plots: bool, advance: Callable[[str], None], results: list[Result]
) -> None:
    """The whole catalogue, one after another; what is finished is in `results` whatever happens."""
    allowed = {"seed"}
    if request.pins or set(request.given) - allowed:
        raise InputError("--theorem all uses each theorem's own settings; only --seed, --device and --quick apply.")
    from deqcheck import check, library

    keys = list(library.catalogue())
    for number, key in enumerate(keys, 1):

        def staged(stage: str, at: str = f"{number}/{len(keys)} {key}") -> None:
            advance(f"{at}: {stage}")

        results.append(check.verify(key, request.given, {}, request.device, staged, quick=quick, spectrum=plots))


def _print_all(results: list[Result], quiet: bool) -> None:
    from deqcheck.report import sentence, terminal

    if quiet:
        for result in results:
            typer.echo(sentence.headline(result))
    else:
        terminal.console().print(terminal.summary(results))


@app.command()
@_on_an_instance
def threshold(
    theorem: Theorem = "",
    vary: Vary = "",
    request: Request = NO_REQUEST,
    low: Low = None,
    high: High = None,
    json_file: JsonFile = None,
    html_file: HtmlFile = None,
    exit_zero: ExitZero = False,
    quiet: Quiet = False,
) -> None:
    """Find where every hypothesis holds along one setting or constant, and what binds there."""
    _check_outputs(json_file, html_file)
    if not theorem or not vary:
        raise InputError("threshold needs --theorem KEY and --vary NAME.")
    with _progress(quiet) as advance:
        from deqcheck import threshold as search

        found = search.threshold(
            theorem, vary, request.given, request.pins, low=low, high=high, device=request.device, show=advance
        )
    from deqcheck.report import terminal, thresholds

    if quiet:
        typer.echo(thresholds.conclusion(found))
    else:
        terminal.console().print(terminal.threshold(found))
    if json_file is not None:
        _write(json_file, thresholds.to_json(found))
    if html_file is not None:
        _write_html(html_file, [thresholds.to_json(found)])
    raise typer.Exit(OK if exit_zero or found.holds else FAILED)


@app.command()
def audit(
    theorems: Annotated[
        list[str] | None, typer.Option("--theorem", "-t", metavar="KEY", help="Which theorem; repeatable; default all.")
    ] = None,
    json_file: JsonFile = None,
    html_file: HtmlFile = None,
    findings_file: Annotated[
        Path | None, typer.Option("--findings", metavar="FILE", help="Write the table of findings as Markdown.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Decide every step again.")] = False,
    exit_zero: ExitZero = False,
    quiet: Quiet = False,
) -> None:
    """Inspect the theorems themselves: are the steps of their proofs true, can their hypotheses hold?"""
    _check_outputs(json_file, html_file, findings_file)
    with _progress(quiet) as advance:
        from deqcheck import library
        from deqcheck.audit.document import content
        from deqcheck.audit.pool import Pool
        from deqcheck.dossier import dossier

        known = library.catalogue()
        wanted = [library.theorem(key) for key in theorems] if theorems else list(known.values())
        with Pool() as pool:
            documents = [dossier(t, known, advance, pool, cached=not no_cache) for t in wanted]
    from deqcheck.report import audits, terminal

    if quiet:
        for one in documents:
            typer.echo(audits.headline(one))
    else:
        out = terminal.console()
        for one in documents:
            if theorems or audits.fails(one):
                out.print(audits.detail(one))
        out.print(audits.summary(documents))
    if json_file is not None:
        _write(json_file, {"schema_version": 1, "audits": {d["theorem"]["key"]: d for d in documents}})
    if html_file is not None:
        _write_html(html_file, documents)
    if findings_file is not None:
        from deqcheck.report.write import write_atomically

        write_atomically(findings_file, audits.findings(documents, content(*wanted)))
    raise typer.Exit(FAILED if any(audits.fails(d) for d in documents) and not exit_zero else OK)


@app.command()
def report(
    results: Annotated[list[Path], typer.Argument(metavar="RESULT.json ...", help="Files written with --json.")],
    html_file: Annotated[Path, typer.Option("--html", metavar="FILE", help="The page to write.")],
) -> None:
    """Make one page of one or several earlier results."""
    import json

    from deqcheck.report import html

    _check_outputs(html_file)
    documents = []
    for path in results:
        try:
            documents += html.documents(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}.") from None
        except ValueError:
            raise InputError(f"{path} is not JSON; give a file that deqcheck wrote with --json.") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    _write_html(html_file, documents)
    typer.echo(f"{html_file}: {len(documents)} result{'s' if len(documents) != 1 else ''}")


@app.command()
def regress(
    config_file: ConfigFile = None,
    baseline_file: BaselineFile = None,
    update: Update = False,
    require_baseline: RequireBaseline = False,
    device: Device = "auto",
    json_file: JsonFile = None,
    junit_file: JunitFile = None,
    form: Form = Format.TEXT,
    exit_zero: ExitZero = False,
    quiet: Quiet = False,
) -> None:
    """Run the checks of deqcheck.toml or [tool.deqcheck] and compare them with the committed baseline."""
    _check_outputs(json_file, junit_file)
    with _progress(quiet) as advance:
        from deqcheck import regress as checks

        config = checks.load(config_file or checks.find(Path()))
        file = baseline_file or config.baseline
        _check_outputs(file if update else None)
        before = checks.read_baseline(file, require=require_baseline and not update)
        report = checks.run(config, before, device, advance)
    from deqcheck.report import github, junit, regression, terminal
    from deqcheck.report.write import write_atomically

    if form is Format.GITHUB:
        typer.echo(github.regressions(report, require=require_baseline, update=update), nl=False)
    elif quiet:
        typer.echo(regression.conclusion(report))
    else:
        terminal.console().print(regression.table(report))
    if json_file is not None:
        _write(json_file, regression.to_json(report, require=require_baseline, update=update))
    if junit_file is not None:
        write_atomically(junit_file, junit.regression_to_junit(report, require=require_baseline, update=update))
    if update:
        regression.write_baseline(file, report, before)
    if report.interrupted:
        raise KeyboardInterrupt
    truth = report.truth(require=require_baseline, update=update).value
    raise typer.Exit(OK if exit_zero else {"HOLDS": OK, "FAILS": FAILED, "UNDECIDED": UNDECIDED}[truth])


def _check_outputs(*files: Path | None) -> None:
    from deqcheck.report.write import check_writable

    for file in files:
        if file is not None:
            check_writable(file)


def _write(file: Path, document: dict[str, Any]) -> None:
    from deqcheck.report import json
    from deqcheck.report.write import write_atomically

    write_atomically(file, json.dumps(document))


def exit_code(results: list[Result]) -> int:
    """0 all hold, 1 something fails, 3 undecided and nothing fails."""
    verdicts = {result.verdict.value for result in results}
    if "FAILS" in verdicts:
        return FAILED
    return UNDECIDED if "UNDECIDED" in verdicts else OK


def _print(result: Result, quiet: bool) -> None:
    from deqcheck.report import sentence, terminal

    if quiet:
        typer.echo(sentence.headline(result))
    else:
        terminal.console().print(terminal.report(result))


def _pairs(option: str, items: list[str], taken: dict[str, str]) -> dict[str, str]:
    """NAME=VALUE options; the same name twice is an error, since one of them would be ignored."""
    pairs: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {item!r} is not of the form NAME=VALUE.")
        if name in pairs or name in taken:
            raise InputError(f"{name} is given twice.")
        pairs[name] = value
    return pairs


def _recorded(path: Path) -> tuple[str, dict[str, str], dict[str, str], Asked]:
    """Key, settings, pins and training from an earlier JSON result."""
    import json

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        instance = document["instance"]
        settings = {k: str(v) for k, v in instance["settings"].items() if v is not None}
        pins = {k: str(v) for k, v in instance["pins"].items() if k not in settings}
        key = str(document["theorem"]["key"])
        wanted = {k: None if v is None else str(v) for k, v in instance.get("train", {}).items()}
        asked = Asked(wanted["steps"], wanted["time"], wanted["certify_every"]) if wanted else Asked()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is not a result that deqcheck wrote with --json.") from None
    recorded = instance["data"].get("sha256")
    if recorded is not None:
        from deqcheck.data import fingerprint

        source = Path(settings["data"])
        if source.is_file() and fingerprint(source) != recorded:
            raise InputError(f"{source} has changed since {path} was written; its sha256 differs.")
    return key, settings, pins, asked


@dataclass(frozen=True)
class Advance:
    """How far the work is: a stage in words, or a share of a training run."""

    stage: Callable[[str], None] = lambda _stage: None
    course: Callable[[float, str], None] = lambda _share, _words: None

    def __call__(self, stage: str) -> None:
        """Show the stage."""
        self.stage(stage)


@contextmanager
def _progress(quiet: bool) -> Iterator[Advance]:
    """A spinner with the current stage, a bar while a model trains; nothing when piped or quiet."""
    if quiet or not sys.stderr.isatty():
        yield Advance()
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    from deqcheck.report.terminal import console

    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def course(share: float, words: str) -> None:
            if len(bar.columns) == len(columns):
                bar.columns = (columns[0], BarColumn(20), *columns[1:])
            bar.update(task, description=words, total=1.0, completed=share)

        yield Advance(lambda stage: bar.update(task, description=stage), course)


# Typer re-exports only the leaves of its exception tree; any bad command line is one of these.
CommandLineError: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException" and issubclass(c, Exception)
)


def main() -> None:
    """Entry point: bad input ends in one sentence on stderr, never in a traceback."""
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        _complain(str(error))
        code = USAGE
    except typer.Exit as done:
        code = done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted.")
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    except CommandLineError as error:
        message = error.format_message()  # type: ignore[attr-defined]
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(message, err=True)
        else:
            _complain(f"{message.rstrip('.')}; see 'deqcheck --help'.")
        code = USAGE
    sys.exit(code or OK)


def _complain(sentence: str) -> None:
    typer.echo(f"deqcheck: {sentence}", err=True)


if __name__ == "__main__":
    main()
