"""The command line: a thin layer. Torch and friends are imported inside the commands."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deqcheck.error import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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

Theorem = Annotated[
    str,
    typer.Option("--theorem", "-t", metavar="KEY", help="Which theorem; see [bold]deqcheck list[/bold]."),
]
Width = Annotated[str | None, typer.Option(metavar="M", help="Width of the implicit layer.")]
Samples = Annotated[str | None, typer.Option(metavar="N", help="Number of samples; default half the width.")]
Dim = Annotated[str | None, typer.Option(metavar="D", help="Input dimension of built-in data; default 100.")]
Seed = Annotated[str | None, typer.Option(metavar="S", help="Seed of data and initialisation; default 0.")]
DataName = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="NAME|FILE",
        help="Built-in generator (sphere) or a .npz, .npy, .csv or IDX file.",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Two classes of a labelled file; they become -1 and +1."),
]
Init = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Initialisation: experiment, linear-width or random."),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="auto|X",
        help="Factor on theta(0); auto: the smallest at which the conditions hold.",
    ),
]
Eta = Annotated[
    str | None,
    typer.Option(metavar="auto|X", help="Step size; auto: the largest that the theorem allows."),
]
Gamma = Annotated[
    str | None,
    typer.Option(metavar="auto|X", help="The scalar gamma at scale 1; auto: 1/(2 ||A||)."),
]
Pins = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Pin a constant that the theorem leaves open, such as C1=1. Repeatable.",
    ),
]
Extras = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=VALUE",
        help="Another setting of the model family; an unknown name is answered with the known ones. Repeatable.",
    ),
]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda|mps", help="Where to compute, in float64.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the result as JSON.")]
Rerun = Annotated[
    Path | None,
    typer.Option(
        "--rerun",
        metavar="RESULT.json",
        help="Repeat the check that an earlier --json file describes.",
    ),
]
ExitZero = Annotated[
    bool,
    typer.Option("--exit-zero", help="Exit with 0 whatever the verdict; bad input still gives 2."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="One line only.")]


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


@app.command()
def verify(
    theorem: Theorem = "",
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
    json_file: JsonFile = None,
    rerun: Rerun = None,
    exit_zero: ExitZero = False,
    quiet: Quiet = False,
) -> None:
    """Check whether a theorem applies to an instance, by what margin, and what rate it guarantees."""
    from deqcheck.report.write import check_writable, write_atomically

    if json_file is not None:
        check_writable(json_file)
    named = {
        "width": width, "samples": samples, "dim": dim, "seed": seed, "data": data, "classes": classes,
        "init": init, "scale": scale, "eta": eta, "gamma": gamma,
    }  # fmt: skip
    given = {name: value for name, value in named.items() if value is not None}
    given |= _pairs("--with", extras or [], given)
    constants = _pairs("--set", pins or [], {})
    if rerun is not None:
        if theorem or given or constants:
            raise InputError("--rerun repeats a recorded check; give it without other settings.")
        theorem, given, constants = _recorded(rerun)
    if not theorem:
        raise InputError("no theorem was named; give --theorem KEY (see 'deqcheck list').")
    with _progress(quiet) as advance:
        from deqcheck import check

        result = check.verify(theorem, given, constants, device, advance)
    _print(result, quiet)
    if json_file is not None:
        from deqcheck.report import json

        write_atomically(json_file, json.dumps(json.to_json(result)))
    raise typer.Exit(OK if exit_zero else exit_code(result))


def exit_code(result: Result) -> int:
    """0 holds, 1 fails, 3 undecided."""
    return {"HOLDS": OK, "FAILS": FAILED, "UNDECIDED": UNDECIDED}[result.verdict.value]


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


def _recorded(path: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """Key, settings and pins from an earlier JSON result."""
    import json

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        instance = document["instance"]
        settings = {k: str(v) for k, v in instance["settings"].items() if v is not None}
        pins = {k: str(v) for k, v in instance["pins"].items() if k not in settings}
        key = str(document["theorem"]["key"])
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
    return key, settings, pins


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner with the current stage on a terminal; nothing when piped or quiet."""
    if quiet or not sys.stderr.isatty():
        yield lambda _stage: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    from deqcheck.report.terminal import console

    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)
        yield lambda stage: bar.update(task, description=stage)


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
