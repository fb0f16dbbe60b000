"""The child process of deqcheck.audit.pool: take a call, answer it, and so on until the pipe closes."""

from __future__ import annotations

import os
import pickle
import sys

MEMORY = 12 * 2**30


def limit(seconds: float) -> None:
    """At most so many more seconds of processor time; the system ends the process then."""
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's clock is the only limit
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    ceiling = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, ceiling))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> None:
    """Serve until the parent closes the pipe."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # what a solver prints must not reach the answers
    sys.setrecursionlimit(20_000)
    while True:
        try:
            function, arguments, seconds = pickle.load(source)
        except EOFError:
            return
        limit(seconds)
        pickle.dump(function(*arguments), target)
        target.flush()


if __name__ == "__main__":
    main()
