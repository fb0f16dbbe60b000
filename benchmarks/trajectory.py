"""How fast a watched training run is, and how much memory it takes.

    OMP_NUM_THREADS=2 python benchmarks/trajectory.py --data mnist.npz --classes 0,1 --json reports/trajectory.json

One run of gradient descent in the set-up of Gao & Gao (gamma = 0.5, eta = 1e-3), conclusions watched at every step and
certified at the first and the last. At some of its steps three things are timed one after another, so that a
change of the machine's load meets all of them:

    ours       the step of the run itself: both equations, the gradient, the update, the watching
    plain      a torch loop: equilibrium from zero, implicit gradient from zero, each until it moves by less than 2e-8
    products   the matrix products that the step took, alone, on the same matrices

The gradients of both are compared with one from equations solved to 1e-13. Certification is timed apart.

Memory is the peak of a process of its own for each width, minus what the process holds before the instance is built.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deqcheck import check, library
from deqcheck.family import load
from deqcheck.trajectory import follow, model
from deqcheck.trajectory.certify import Promise
from deqcheck.trajectory.model import Evaluation, Tensors, TrainRelu, Warm

GAMMA, ETA = 0.5, 1e-3
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
now = CLOCKS["wall"]
PLAIN = 2e-8
"""Relative change at which the plain loop stops. Measured: at 1e-7 its gradient is off by up to 4e-6."""
ACCURACY = 1e-6
TARGETS = {"plain / ours": 4.0, "ours / products": 2.0}
GROWTH = 1.25
"""How much the bytes per number of N m + m^2 may grow from the smallest to the largest width, or with the steps."""


# --- the plain loop ------------------------------------------------------------------------------------


def plain(parameters: Tensors, X: Tensor, y: Tensor) -> tuple[Tensors, int]:
    """Loss and gradient as one would write them down: fixed-point iteration from zero, no graph."""
    W, A, b = parameters
    features = X @ W
    Phi, Z, count = torch.relu(features), torch.zeros(X.shape[0], A.shape[0], dtype=X.dtype), 0
    for _ in range(2000):
        after = torch.relu(GAMMA * (Z @ A) + Phi)
        moved, Z, count = float((after - Z).norm() / after.norm()), after, count + 1
        if moved <= PLAIN:
            break
    D, error = (Z > 0).to(Z.dtype), Z @ b - y
    G = torch.outer(error, b)
    V = torch.zeros_like(Z)
    for _ in range(2000):
        after = D * (G + GAMMA * (V @ A.T))
        moved, V, count = float((after - V).norm() / after.norm().clamp(min=1e-300)), after, count + 1
        if moved <= PLAIN:
            break
    return (X.T @ (V * (features > 0)), GAMMA * (Z.T @ V), Z.T @ error), count


def products(parameters: Tensors, X: Tensor, counts: tuple[int, int]) -> float:
    """Seconds for the products of one step, with their results written over one another."""
    W, A, _ = parameters
    n, m = X.shape[0], A.shape[0]
    wide, square, tall = torch.empty(n, m, dtype=X.dtype), torch.empty_like(A), torch.empty_like(W)
    Z, z, a = torch.rand(n, m, dtype=X.dtype), torch.rand(n, m), A.float()
    out = torch.empty_like(z)
    torch.mm(z, a, out=out)
    start = now()
    torch.mm(X, W, out=wide)
    for _ in range(counts[0]):
        torch.mm(Z, A, out=wide)
    for _ in range(counts[1]):
        torch.mm(z, a, out=out)
    torch.mm(Z.T, Z, out=square)
    torch.mm(X.T, Z, out=tall)
    return now() - start


# --- the run -------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One step at which everything was timed."""

    step: int
    loss: float
    ours: float
    plain: float
    products: float
    float64: int
    float32: int
    plain_products: int
    error: float
    plain_error: float

    def show(self) -> None:
        """A line of the table, as soon as it is known."""
        times = f"{self.ours:9.3f} {self.plain:9.3f} {self.products:11.3f}"
        counts = f"{self.float64:8d} {self.float32:7d} {self.plain_products:6d}"
        print(
            f"{self.step:4d} {self.loss:9.4g} {times} {counts}  {self.error:7.1e}  {self.plain_error:11.1e}", flush=True
        )


@dataclass
class Probe:
    """Training as `follow` sees it, with a clock; at the steps asked for the others are timed too."""

    inner: TrainRelu
    probed: set[int]
    rows: list[Row] = field(default_factory=list)
    entered: float = 0.0
    step: int = -1
    waiting: dict[str, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """One evaluation; what was between the last one and this belongs to the last step."""
        self.close()
        self.step += 1
        self.entered = now()
        here = self.inner.evaluate(parameters, warm)
        self.counts.append(here.products)
        if self.step in self.probed:
            pause = now()
            self.waiting = self._others(parameters, here)
            self.entered += now() - pause
        return here

    def close(self) -> None:
        """The step is over."""
        if self.step < 0:
            return
        self.seconds.append(now() - self.entered)
        if self.waiting:
            self.rows.append(Row(ours=self.seconds[-1], **self.waiting))
            self.waiting = {}
            self.rows[-1].show()

    def _others(self, parameters: Tensors, here: Evaluation) -> dict[str, Any]:
        X, y = self.inner.origin.X, self.inner.origin.y
        start = now()
        gradient, count = plain(parameters, X, y)
        slow = now() - start
        alone = products(parameters, X, here.products)
        exact = self._exact(parameters, here.warm)
        return {
            "step": self.step, "loss": here.loss, "plain": slow, "products": alone, "plain_products": count + 1,
            "float64": here.products[0] + 1, "float32": here.products[1],
            "error": _distance(here.gradient, exact), "plain_error": _distance(gradient, exact),
        }  # fmt: skip

    def _exact(self, parameters: Tensors, warm: Warm) -> Tensors:
        usual = model.fixed_point
        model.fixed_point = lambda f, start, what: usual(f, start, what, 1e-13)  # type: ignore[assignment,misc]
        try:
            implicit = self.inner._model(parameters)
            return self.inner._plain(implicit, implicit.gamma * implicit.A.diagonal(), warm).gradient
        finally:
            model.fixed_point = usual


def _distance(found: Tensors, exact: Tensors) -> float:
    """Relative distance of the gradient as one vector."""
    off = sum(float((a - b).norm()) ** 2 for a, b in zip(found, exact, strict=True))
    return (off / sum(float(b.norm()) ** 2 for b in exact)) ** 0.5


def instance(arguments: argparse.Namespace, width: int, samples: int) -> tuple[Any, Any, Any]:
    """Theorem, point and assessment in the paper's set-up."""
    theorem = library.theorem("gd-relu")
    family = load(theorem.family)
    given = {"width": str(width), "samples": str(samples), "scale": "1", "gamma": str(GAMMA), "data": arguments.data}
    if arguments.classes:
        given["classes"] = arguments.classes
    settings = family.complete(theorem, given)
    point = family.build(check.load_data(family, settings, "cpu"), settings, "cpu")
    found = check.assess(theorem, point, {theorem.symbols["eta"]: ETA}, check.Clock(check.silent))
    return theorem, point, found


def timed(arguments: argparse.Namespace) -> dict[str, Any]:
    """The run with its probes."""
    theorem, point, found = instance(arguments, arguments.width, arguments.samples)
    stride = max(1, arguments.steps // arguments.probes)
    probe = Probe(TrainRelu(point), set(range(stride // 2, arguments.steps, stride)))
    certify = Promise.certify

    def apart(*given: Any) -> Any:
        start = now()
        try:
            return certify(*given)
        finally:
            probe.entered += now() - start

    print("step      loss    ours s   plain s  products s   64-bit  32-bit  plain    error  plain error", flush=True)
    usual = model.FAMILIES
    model.FAMILIES = {"relu": lambda _point: probe}  # type: ignore[assignment,return-value,dict-item]
    Promise.certify = apart  # type: ignore[method-assign]
    try:
        course = follow(
            theorem, point, found.values, found.constants, steps=arguments.steps, covered=False,
            every=arguments.steps, kernel=False,
        )  # fmt: skip
    finally:
        model.FAMILIES, Promise.certify = usual, certify  # type: ignore[method-assign]
    total = {name: sum(getattr(row, name) for row in probe.rows) for name in ("ours", "plain", "products")}
    return {
        "rows": [asdict(row) for row in probe.rows],
        "steps": course.last,
        "ended": course.ended,
        "conclusions": {"failed": list(course.violated), "undecided": list(course.undecided)},
        "seconds": {name: round(value, 3) for name, value in course.seconds.items()},
        "products_per_step": [sum(c[k] for c in probe.counts) / len(probe.counts) + (k == 0) for k in (0, 1)],
        "plain / ours": total["plain"] / total["ours"],
        "ours / products": total["ours"] / total["products"],
        "error": max(row.error for row in probe.rows),
        "plain_error": max(row.plain_error for row in probe.rows),
    }


# --- memory --------------------------------------------------------------------------------------------


def peak() -> int:
    """The most memory that this process ever held, in bytes. getrusage would count its parent's before it started."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text(encoding="utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def weighed(arguments: argparse.Namespace, width: int, steps: int) -> None:
    """In a process of its own: the peak above what is held before the instance is built, in bytes."""
    torch.rand(64, 64) @ torch.rand(64, 64)
    before = peak()
    theorem, point, found = instance(arguments, width, arguments.memory_samples)
    follow(
        theorem, point, found.values, found.constants, steps=steps, covered=False, every=steps, kernel=False
    )  # fmt: skip
    print(json.dumps({"width": width, "steps": steps, "bytes": peak() - before}))


def memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Peaks at several widths, and at the first width with more steps."""
    rows = []
    first = arguments.widths[0]
    for width, steps in ((first, 2), (first, 8), *((w, 2) for w in arguments.widths[1:])):
        command = [sys.executable, __file__, "--weigh", f"{width},{steps}", "--data", arguments.data]
        command += ["--classes", arguments.classes] if arguments.classes else []
        command += ["--memory-samples", str(arguments.memory_samples)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        row = json.loads(out.splitlines()[-1])
        n = arguments.memory_samples
        row["per number"] = row["bytes"] / (n * width + width**2)
        rows.append(row)
    per = [max(1.0, row["per number"]) for row in rows]
    return {"rows": rows, "with width": max(per[2:] or per[:1]) / per[0], "with steps": per[1] / per[0]}


# --- the table -----------------------------------------------------------------------------------------


def show(found: dict[str, Any]) -> None:
    """What the table comes to."""
    if (run := found.get("run")) is not None:
        show_run(run)
    if (held := found.get("memory")) is not None:
        for r in held["rows"]:
            size = f"{r['bytes'] / 2**20:8.0f} MiB, {r['per number']:.0f} bytes per number of N m + m^2"
            print(f"width {r['width']:5d}, {r['steps']} steps: {size}")
        print(f"growth with the width {held['with width']:.2f}, with the steps {held['with steps']:.2f}")


def show_run(run: dict[str, Any]) -> None:
    """The ratios and what they are to be."""
    print(f"plain / ours     {run['plain / ours']:.2f} (at least {TARGETS['plain / ours']:g})")
    print(f"ours / products  {run['ours / products']:.2f} (at most {TARGETS['ours / products']:g})")
    print(f"gradient error   {run['error']:.1e} (at most {ACCURACY:g}); plain loop {run['plain_error']:.1e}")
    print(f"seconds of {run['steps']} steps: {run['seconds']}{'; ' + run['ended'] if run['ended'] else ''}")


def missed(found: dict[str, Any], quick: bool) -> list[str]:
    """The targets that are missed; a quick run is too small for times and memory to mean anything."""
    run, held = found.get("run"), found.get("memory")
    failures = []
    if run is not None:
        failures += [] if run["error"] <= ACCURACY else ["gradient error"]
        if not quick and run["plain / ours"] < TARGETS["plain / ours"]:
            failures.append("plain / ours")
        if not quick and run["ours / products"] > TARGETS["ours / products"]:
            failures.append("ours / products")
    if held is not None and not quick:
        failures += [f"memory {name}" for name in ("with width", "with steps") if held[name] > GROWTH]
    return failures


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--width", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--probes", type=int, default=5, help="steps at which everything is timed")
    parser.add_argument("--data", default="sphere")
    parser.add_argument("--classes", default="")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: seconds of all threads, for a busy machine"
    )
    parser.add_argument("--no-run", action="store_true", help="memory only")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="small, for tests; only the accuracy is judged")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--memory-samples", type=int, default=500)
    parser.add_argument("--weigh", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    global now  # noqa: PLW0603 - one clock for the whole script
    now = CLOCKS[arguments.clock]
    arguments.widths = [1000, 2000, 4000]
    if arguments.quick:
        arguments.samples, arguments.width, arguments.steps, arguments.probes = 40, 80, 8, 2
        arguments.widths, arguments.memory_samples = [40, 80], 20
        model.LARGE = 0
    if arguments.weigh:
        width, steps = map(int, arguments.weigh.split(","))
        weighed(arguments, width, steps)
        return 0
    found: dict[str, Any] = {
        "settings": {
            "samples": arguments.samples, "width": arguments.width, "steps": arguments.steps, "gamma": GAMMA,
            "eta": ETA, "data": Path(arguments.data).name, "classes": arguments.classes,
        },
        "machine": {
            "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(),
            "threads": torch.get_num_threads(), "torch": torch.__version__,
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
    }  # fmt: skip
    found["settings"]["clock"] = arguments.clock
    if not arguments.no_run:
        found["run"] = timed(arguments)
    if not arguments.no_memory:
        found["memory"] = memory(arguments)
    found["missed"] = missed(found, arguments.quick)
    show(found)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print("missed: " + ", ".join(found["missed"]) if found["missed"] else "every target is met")
    return 1 if found["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
