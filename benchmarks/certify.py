"""What certification costs: `verify` as it is against the same pipeline in plain floats.

    OMP_NUM_THREADS=2 python benchmarks/certify.py [--data FILE --classes 0,1] [--json reports/certify.json]

Both sides run `deqcheck.check.verify` on the same instance, one after the other, after a warm-up that is not timed:
data, model, equilibrium, quantities, the search for scale and constants, the hypotheses. The uncertified side differs
in the numerics only: every bound of deqcheck.rigor is replaced by the float that a user would compute, by the fastest
way known (norms by Lanczos, sigma_min from the eigenvalues of the Gram matrix, errors of products taken as zero), and
handed on as if it were exact. So the rest of the pipeline, and the solver of the equilibrium, are the same code.
On a machine that others use, `--clock cpu` with one thread counts only what this process does. Stages are wall time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deqcheck import check, rigor
from deqcheck.enclosure import Enclosure

TARGET = 1.25
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


# --- plain floats --------------------------------------------------------------------------------------


def _frobenius(x: Tensor) -> Enclosure:
    return Enclosure.exact(float(x.norm()))


def _spectral_norm(x: Tensor, _effort: int = 0) -> Enclosure:
    if x.dim() == 1 or min(x.shape) == 1:
        return _frobenius(x)
    wide = x if x.shape[0] <= x.shape[1] else x.T
    v = rigor.top_vector(lambda u: wide @ (wide.T @ u), wide[:, 0])
    return Enclosure.exact(float((wide.T @ v).norm()) / float(v.norm()))


def _sigma_min(x: Tensor, _effort: int = 0) -> Enclosure:
    if x.shape[0] > x.shape[1]:
        return Enclosure.exact(0)
    return Enclosure.exact(math.sqrt(max(0.0, float(torch.linalg.eigvalsh(x @ x.T)[0]))))


def _product_error(_x: Tensor, _y: Tensor) -> Enclosure:
    return Enclosure.exact(0)


def _product_norm(x: Tensor, v: Tensor, target: Tensor, _x_error: Any, _v_norm: Any) -> Enclosure:
    return Enclosure.exact(float((x @ v - target).norm()))


FLOATS = {
    "frobenius": _frobenius,
    "spectral_norm": _spectral_norm,
    "sigma_min": _sigma_min,
    "product_error": _product_error,
    "product_norm": _product_norm,
}


@contextmanager
def floats() -> Iterator[None]:
    """deqcheck without its proofs."""
    usual = {name: getattr(rigor, name) for name in FLOATS}
    try:
        for name, function in FLOATS.items():
            setattr(rigor, name, function)
        yield
    finally:
        for name, function in usual.items():
            setattr(rigor, name, function)


# --- the comparison ------------------------------------------------------------------------------------


def once(arguments: argparse.Namespace, *, certified: bool) -> dict[str, Any]:
    """One run and its stages."""
    given = {"width": str(arguments.width), "samples": str(arguments.samples), "data": arguments.data}
    if arguments.classes:
        given["classes"] = arguments.classes
    now = CLOCKS[arguments.clock]
    start = now()
    if certified:
        result = check.verify(arguments.theorem, given, device="cpu")
    else:
        with floats():
            result = check.verify(arguments.theorem, given, device="cpu")
    seconds = now() - start
    widest = max(q.value.relative_width() for q in result.quantities)
    return {"seconds": seconds, "verdict": result.verdict.value, "stages": dict(result.timings), "widest": widest}


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theorem", default="gd-relu")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--width", type=int, default=2000)
    parser.add_argument("--data", default="sphere")
    parser.add_argument("--classes", default="")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: seconds of all threads, for a busy machine"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="small, for tests; the time is not judged")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.samples, arguments.width, arguments.repeats = 20, 40, 1
    for certified in (True, False):
        once(arguments, certified=certified)
    rows = [{name: once(arguments, certified=name == "certified") for name in ("certified", "uncertified")}
            for _ in range(arguments.repeats)]  # fmt: skip
    seconds = {name: [row[name]["seconds"] for row in rows] for name in ("certified", "uncertified")}
    ratio = statistics.median(a / b for a, b in zip(seconds["certified"], seconds["uncertified"], strict=True))
    print("run  certified s  uncertified s  ratio  verdicts")
    for k, row in enumerate(rows):
        a, b = row["certified"], row["uncertified"]
        ours, theirs = f"{a['seconds']:11.3f}", f"{b['seconds']:13.3f}"
        print(f"{k:3d}  {ours}  {theirs}  {a['seconds'] / b['seconds']:5.2f}  {a['verdict']}, {b['verdict']}")
    stages = {
        name: {stage: statistics.median(row[name]["stages"].get(stage, 0.0) for row in rows)
               for stage in rows[0]["certified"]["stages"]}
        for name in seconds
    }  # fmt: skip
    for stage, value in stages["certified"].items():
        print(f"  {stage:12s} {value:7.3f} s certified, {stages['uncertified'][stage]:7.3f} s uncertified")
    print(f"certified / uncertified {ratio:.3f}, the median of {len(rows)} (at most {TARGET})")
    missed = not arguments.quick and ratio > TARGET
    if arguments.json is not None:
        found = {
            "settings": {
                "theorem": arguments.theorem, "samples": arguments.samples, "width": arguments.width,
                "data": Path(arguments.data).name, "classes": arguments.classes, "clock": arguments.clock,
            },
            "machine": {
                "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(),
                "threads": torch.get_num_threads(), "torch": torch.__version__,
                "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            },
            "rows": rows, "stages": stages, "ratio": ratio, "target": TARGET, "missed": missed,
        }  # fmt: skip
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print("missed" if missed else "the target is met")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
