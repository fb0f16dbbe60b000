"""The options of the command line, each declared once: its flag, its placeholder and its help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
    typer.Option(metavar="NAME", help="Initialisation by name; each family has its own."),
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
Train = Annotated[
    str | None,
    typer.Option(
        "--train",
        metavar="K",
        help="Follow K steps of training and watch every conclusion; of gradient flow, at most K adaptive steps.",
    ),
]
TrainTime = Annotated[
    str | None, typer.Option("--train-time", metavar="T", help="Follow gradient flow up to this time.")
]
CertifyEvery = Annotated[
    str | None,
    typer.Option(
        "--certify-every",
        metavar="all|log|N",
        help="Steps at which the conclusions are certified: all, 0, 1, 2, 4, 8, ... (log, the default), or every N-th.",
    ),
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="DIR", help="Keep a checkpoint of the training here; see --resume.")
]
SaveEvery = Annotated[
    str | None, typer.Option("--save-every", metavar="N", help="Steps between two checkpoints; default 100.")
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="DIR",
        help="Continue the training that was saved here, with the settings that it was started with.",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Small instances; with --theorem all, the whole catalogue.")]
Vary = Annotated[
    str, typer.Option("--vary", metavar="NAME", help="Setting or constant to vary: scale, width, eta, gamma, C1, ...")
]
Low = Annotated[str | None, typer.Option("--from", metavar="X", help="Smallest value tried.")]
High = Annotated[str | None, typer.Option("--to", metavar="X", help="Largest value tried.")]
HtmlFile = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page for people: one file, no network.")
]
JunitProperties = Annotated[
    bool, typer.Option("--junit-properties", help="Put the settings into the JUnit file as <properties>.")
]
JunitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML, for CI servers.")
]


class Format(StrEnum):
    """What is printed."""

    TEXT = "text"
    GITHUB = "github"


Form = Annotated[Format, typer.Option("--format", help="What to print: text, or annotations for GitHub Actions.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The checks; default deqcheck.toml or pyproject.toml here."),
]
BaselineFile = Annotated[
    Path | None, typer.Option("--baseline", metavar="FILE", help="Compare with this baseline, not the one in the file.")
]
Update = Annotated[bool, typer.Option("--update", help="Accept what is found: rewrite the baseline.")]
RequireBaseline = Annotated[
    bool, typer.Option("--require-baseline", help="A check that the baseline does not know is an error.")
]
ExitZero = Annotated[
    bool,
    typer.Option("--exit-zero", help="Exit with 0 whatever the verdict; bad input still gives 2."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="One line only.")]
