"""Equilibria side by side: deqcheck's engine against torchdeq's solvers and a locuslab-style splitting loop.

    python benchmarks/equilibrium.py [--quick] [--json FILE] [--threads K] [--clock wall|cpu] [--repeats R] [--case X]

Both sides solve the same equation in float64 until every sample has a relative residual |f(z) - z| / |f(z)| of at most
1e-12, from zero, in one run on one machine, turn by turn. Times are medians; the ratio is the median of the ratios of
each turn. torchdeq is represented by the fastest of its solvers (fixed point, Anderson, Broyden, each in several
settings) that reaches the residual. A residual that is missed, by either side, is shown. Exit code 1 where a target is
missed.

Needs torchdeq: pip install -e .[bench]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deqcheck.equilibrium import auto
from deqcheck.equilibrium.equation import Equation
from deqcheck.models.mondeq import weights

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its docstrings hold escapes that Python warns about
    from torchdeq.solver.anderson import anderson_solver
    from torchdeq.solver.broyden import broyden_solver
    from torchdeq.solver.fp_iter import fixed_point_iter

TOLERANCE = 1e-12
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
LONGEST = 300
"""Fixed-point iterations that are worth waiting for; a contraction that needs more is not run."""


@dataclass(frozen=True)
class Case:
    """A problem, what is known of it, and how much of the other side's time may be taken."""

    name: str
    target: float
    equation: Equation
    against: str


@dataclass
class Entrant:
    """One solver on one case: its times, and what it reached."""

    name: str
    run: Callable[[], tuple[Tensor, str]]
    times: list[float] = field(default_factory=list)
    residual: float = math.inf
    layers: str = ""

    def race(self, equation: Equation, clock: Callable[[], float]) -> None:
        """Run once on the clock; the residual is taken by us, off the clock."""
        begin = clock()
        Z, self.layers = self.run()
        self.times.append(clock() - begin)
        image = equation.layer(Z)
        each = (image - Z).norm(dim=1) / image.norm(dim=1)
        self.residual = float(each.max()) if bool(torch.isfinite(each).all()) else math.inf

    @property
    def reached(self) -> bool:
        """Whether the last run met the tolerance."""
        return self.residual <= TOLERANCE

    @property
    def seconds(self) -> float:
        """The median time."""
        return statistics.median(self.times)

    def row(self) -> dict[str, Any]:
        """For the JSON file."""
        return {"name": self.name, "seconds": self.times, "median": self.seconds, "residual": self.residual,
                "layers": self.layers}  # fmt: skip


# --- the problems ------------------------------------------------------------------------------------


def _inputs(n: int, m: int, rng: torch.Generator) -> Tensor:
    """relu(X W) for unit inputs of dimension 100 and Gaussian W: the features of Gao & Gao."""
    X = torch.randn(n, 100, generator=rng, dtype=torch.float64)
    W = torch.randn(100, m, generator=rng, dtype=torch.float64)
    return torch.relu(X / X.norm(dim=1, keepdim=True) @ W)


def relu_case(name: str, kind: str, q: float, target: float, n: int, m: int) -> Case:
    """z = relu(z A + Phi), ||A|| = q: Gaussian A, |Gaussian| A (eq. 27), or that with one entry in 1000 negated."""
    rng = torch.Generator().manual_seed(0)
    A = torch.randn(m, m, generator=rng, dtype=torch.float64)
    if kind != "random":
        A = A.abs()
    if kind == "few negative":
        some = torch.randint(0, m * m, (m * m // 1000,), generator=rng)
        A.view(-1)[some] *= -1
    A *= q / torch.linalg.matrix_norm(A, 2)
    return Case(name, target, Equation(A, _inputs(n, m, rng), contraction=q), "torchdeq")


def mondeq_case(name: str, std: float | None, monotone: float, target: float, n: int, m: int) -> Case:
    """z = relu(W z + U x), W = (1 - m) I - A^T A + B - B^T: entries N(0, std^2), or uniform as in torch.nn.Linear."""
    rng = torch.Generator().manual_seed(0)
    shapes = ((m, m), (m, m), (m, 100))
    if std is None:
        A, B, U = ((torch.rand(s, generator=rng, dtype=torch.float64) * 2 - 1) / math.sqrt(s[1]) for s in shapes)
    else:
        A, B, U = (torch.randn(s, generator=rng, dtype=torch.float64) * std for s in shapes)
    X = torch.randn(n, 100, generator=rng, dtype=torch.float64)
    injected = X / X.norm(dim=1, keepdim=True) @ U.T
    return Case(name, target, Equation(weights(A, B, monotone).T, injected, monotone=monotone), "locuslab")


def cases(n: int, m: int) -> list[Case]:
    """Easy and hard contractions, and two initialisations of the monotone DEQ."""
    return [
        relu_case("random 0.5", "random", 0.5, 1.0, n, m),
        relu_case("random 0.8", "random", 0.8, 1.0, n, m),
        relu_case("non-negative 0.99", "non-negative", 0.99, 0.3, n, m),
        relu_case("non-negative 0.999", "non-negative", 0.999, 0.3, n, m),
        relu_case("few negative 0.99", "few negative", 0.99, 0.3, n, m),
        relu_case("few negative 0.999", "few negative", 0.999, 0.3, n, m),
        mondeq_case("monDEQ m=0.05 linear", None, 0.05, 0.5, n, m),
        mondeq_case("monDEQ m=0.05 N(0,0.01)", 0.1, 0.05, 0.5, n, m),
    ]


# --- the solvers -------------------------------------------------------------------------------------


def ours(equation: Equation) -> Entrant:
    """The engine, told what a certified bound tells it: q, or m."""

    def run() -> tuple[Tensor, str]:
        found = auto.solve(equation, None, TOLERANCE)
        double, single = found.products
        return found.Z, f"{double} f64 + {single} f32 ({found.method})"

    return Entrant("deqcheck", run)


def theirs(equation: Equation) -> list[Entrant]:
    """torchdeq's solvers in the settings that a user would try for 1e-12."""
    settings: list[tuple[str, Any, dict[str, Any]]] = [
        *((f"Anderson m={k} lam={lam:g}", anderson_solver, {"m": k, "lam": lam})
          for k in (3, 6) for lam in (1e-10, 1e-20)),
        *((f"Broyden memory={k}", broyden_solver, {"LBFGS_thres": k}) for k in (15, 40)),
    ]  # fmt: skip
    q = equation.contraction
    if q is not None and math.log(TOLERANCE) / math.log(q) <= LONGEST:
        settings.append(("fixed point", fixed_point_iter, {}))
    zero = torch.zeros_like(equation.c)

    def entrant(name: str, solver: Any, options: dict[str, Any]) -> Entrant:
        def run() -> tuple[Tensor, str]:
            count = 0

            def f(z: Tensor) -> Tensor:
                nonlocal count
                count += 1
                return torch.relu(z @ equation.M + equation.c)

            limit = LONGEST if solver is fixed_point_iter else 40
            try:
                Z, _, _ = solver(f, zero, max_iter=limit, tol=TOLERANCE, stop_mode="rel", **options)
            except torch.linalg.LinAlgError:  # its least squares may become singular when lam is small
                return torch.full_like(zero, math.nan), f"{count} f64"
            return Z, f"{count} f64"

        return Entrant(f"torchdeq {name}", run)

    return [entrant(*s) for s in settings]


def locuslab(equation: Equation, alpha: float) -> Entrant:
    """The Peaceman-Rachford loop of the monotone operator networks: an inverse, then two products per iteration."""

    def run() -> tuple[Tensor, str]:
        Z, count = splitting(equation, alpha)
        return Z, f"{2 * count} f64"

    return Entrant(f"locuslab-style, alpha={alpha:g}", run)


def splitting(equation: Equation, alpha: float, limit: int = 1000) -> tuple[Tensor, int]:
    """The loop itself. Stops by the same per-sample residual as the engine."""
    m = equation.M.shape[0]
    W, bias = equation.M.T, equation.c
    inverse = torch.inverse((1 + alpha) * torch.eye(m, dtype=W.dtype) - alpha * W)
    z = u = torch.zeros_like(bias)
    count = 0
    while count < limit:
        u_half = 2 * z - u
        z_half = (u_half + alpha * bias) @ inverse.T
        u = 2 * z_half - u_half
        z = torch.relu(u)
        fz = torch.relu(z @ W.T + bias)
        count += 1
        if float(((fz - z).norm(dim=1) / fz.norm(dim=1)).max()) <= TOLERANCE:
            break
    return z, count


def tuned(equation: Equation) -> float:
    """alpha as locuslab tunes it: halved while the iterations get fewer, here on a few samples and off the clock."""
    few = Equation(equation.M, equation.c[:20], monotone=equation.monotone)
    alpha, best = 2.0, splitting(few, 2.0)[1]
    while alpha > 1e-3:
        count = splitting(few, alpha / 2)[1]
        if count >= best:
            break
        alpha, best = alpha / 2, count
    return alpha


# --- the race ----------------------------------------------------------------------------------------


def race(case: Case, repeats: int, clock: Callable[[], float], say: Callable[[str], None]) -> dict[str, Any]:
    """Qualify everyone once, then let the engine and the three fastest others take turns.

    The ratio is the median over the turns of our time by theirs in the same turn, so that a burst of other work on the
    machine falls on both; of the others the one counts against which it is largest.
    """
    engine = ours(case.equation)
    others = theirs(case.equation) if case.against == "torchdeq" else [locuslab(case.equation, tuned(case.equation))]
    for entrant in others:
        entrant.race(case.equation, clock)
        say(f"{case.name}: {entrant.name}: {entrant.seconds:.2f} s, residual {entrant.residual:.1e}")
    able = sorted((e for e in others if e.reached), key=lambda e: e.seconds)[:3]
    finals = [engine, *able]
    engine.race(case.equation, clock)  # the first run warms up the threads and the allocator
    for entrant in finals:
        entrant.times.clear()
    for _ in range(repeats):
        for entrant in finals:
            entrant.race(case.equation, clock)
    ratios = [statistics.median(a / b for a, b in zip(engine.times, e.times, strict=True)) for e in able]
    ratio = max(ratios, default=0.0)
    best = able[ratios.index(ratio)] if able else None
    return {
        "case": case.name, "target": case.target, "ratio": ratio, "met": engine.reached and ratio <= case.target,
        "ours": engine.row(), "best": best.row() if best else None, "others": [e.row() for e in others],
    }  # fmt: skip


def machine() -> dict[str, Any]:
    """What times depend on; nothing that names the machine."""
    show = torch.__config__.show()
    blas = re.search(r"BLAS_INFO=(\w+)", show)
    return {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "architecture": platform.machine(),
        "simd": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "blas": blas.group(1) if blas else "unknown",
        "load": round(os.getloadavg()[0], 1),
    }


def table(results: list[dict[str, Any]], judged: bool) -> str:
    """Plain text, one line per case."""
    rows = [("case", "ours s", "theirs s", "ratio", "target", "", "residuals", "layers", "best of the others")]
    for r in results:
        best = r["best"]
        verdict = ("met" if r["met"] else "MISSED") if judged else "-"
        rows.append((
            r["case"], f"{r['ours']['median']:.3f}", f"{best['median']:.3f}" if best else "none",
            f"{r['ratio']:.2f}", f"{r['target']:.2f}", verdict,
            f"{r['ours']['residual']:.0e} / {best['residual']:.0e}" if best else f"{r['ours']['residual']:.0e}",
            f"{r['ours']['layers']} / {best['layers']}" if best else r["ours"]["layers"],
            best["name"] if best else "none reached the residual",
        ))  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Run, print, write, and say by the exit code whether every target was met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs; targets are not judged")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--threads", type=int, metavar="K")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: time that the process got, for a busy machine and one thread",
    )
    parser.add_argument("--repeats", type=int, metavar="R")
    parser.add_argument("--case", action="append", metavar="NAME", help="only cases whose name contains this")
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    n, m = (60, 160) if options.quick else (1000, 2000)
    repeats = options.repeats or (1 if options.quick else 5)
    chosen = [c for c in cases(n, m) if not options.case or any(part in c.name for part in options.case)]
    if not chosen:
        parser.error(f"no case is named like {', '.join(options.case)}")
    about = machine()

    def say(text: str) -> None:
        if not options.quick:
            print(text, file=sys.stderr, flush=True)

    results = [race(case, repeats, CLOCKS[options.clock], say) for case in chosen]
    print(
        f"N = {n}, width {m}, float64, relative residual of every sample <= {TOLERANCE:g}, {repeats} turns, "
        f"{options.clock} clock; {about}"
    )
    print(table(results, judged=not options.quick))
    if options.json:
        record = {"samples": n, "width": m, "tolerance": TOLERANCE, "repeats": repeats,
                  "clock": options.clock, "quick": options.quick,
                  "machine": about, "cases": results}  # fmt: skip
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if options.quick:
        return 0 if all(r["ours"]["residual"] <= TOLERANCE for r in results) else 1
    return 0 if all(r["met"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
