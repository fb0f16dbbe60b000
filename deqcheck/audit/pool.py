"""Calls in child processes: side by side, and none longer than its time.

A solver may ignore its own time limit and a polynomial may explode; a child that is killed does neither.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from sympy.core.relational import Relational

from deqcheck.audit import prove
from deqcheck.audit.problem import Problem
from deqcheck.audit.prove import Finding, Status

SECONDS = 20.0
"""Processor time that one question may take."""
WALL = 6.0
"""How much longer than that the clock on the wall may run: the machine may be busy."""
Packed = tuple[Any, Any, Any]
T = TypeVar("T")


def answer(premises: tuple[Packed, ...], claim: Packed | None, refute: bool, seconds: float) -> Finding:
    """Decide one question. It comes in parts, because unpickling a relation would evaluate it."""
    problem = Problem(tuple(_whole(p) for p in premises), None if claim is None else _whole(claim))
    return prove.decide(problem, seconds=seconds, refute=refute)


def _parts(relation: Relational) -> Packed:
    return type(relation), relation.lhs, relation.rhs


def _whole(parts: Packed) -> Relational:
    kind, lhs, rhs = parts
    return kind(lhs, rhs, evaluate=False)


class Worker:
    """One child process, started when it is first needed and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...], seconds: float) -> T | None:
        """What the function returns in the child; None where it ran out of time or died."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(WALL * seconds, process.kill)
        timer.start()
        try:
            pickle.dump((function, arguments, seconds), process.stdin)
            process.stdin.flush()
            found: T = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            return None
        finally:
            timer.cancel()
        return found

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            root = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "deqcheck.audit.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                # Children are as many as the cores: none of them needs threads of its own.
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the child."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


class Pool:
    """As many children as there are cores."""

    def __init__(self, size: int | None = None) -> None:
        size = size or _cores()
        self._workers = [Worker() for _ in range(size)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(size)

    def call(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T | None:
        """`function(*arguments)` in a child, which must find it by its name; None where that takes too long."""
        worker = self._free.get()
        try:
            return worker.call(function, arguments, seconds)
        finally:
            self._free.put(worker)

    def decide(self, problem: Problem, refute: bool = True, seconds: float = SECONDS) -> Finding:
        """As deqcheck.audit.prove.decide, in a child."""
        claim = None if problem.claim is None else _parts(problem.claim)
        found = self.call(answer, tuple(map(_parts, problem.premises)), claim, refute, seconds, seconds=seconds)
        return found or Finding(Status.UNPROVED, f"not decided within {seconds:g} s")

    def each(self, questions: Sequence[Callable[[], T]]) -> list[T]:
        """Every question answered, side by side, in order. A question may ask the pool, not start another `each`."""
        return list(self._threads.map(lambda ask: ask(), questions))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:  # first, so that a thread waiting for an answer gets none and ends
            worker.close()
        self._threads.shutdown(cancel_futures=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
