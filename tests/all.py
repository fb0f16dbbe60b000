"""Lint, types and tests, in one command: python tests/all.py [pytest arguments]."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = (sys.executable, "-m")
STEPS = (
    (*PYTHON, "ruff", "check", "."),
    (*PYTHON, "ruff", "format", "--check", "."),
    (*PYTHON, "mypy"),
    (*PYTHON, "deqcheck", "regress", "--require-baseline", "--quiet"),
    (*PYTHON, "pytest", "-n", str(min(4, os.cpu_count() or 1)), "-m", "not slow", *sys.argv[1:]),
)


def main() -> int:
    """Run every step and stop at the first that fails."""
    # One thread per worker: several BLAS pools on the same cores only get in each other's way.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for step in STEPS:
        print("$", " ".join(step[2:]), flush=True)
        if code := subprocess.run(step, cwd=ROOT, env=environment, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
