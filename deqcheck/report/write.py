"""Files that are either complete or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from deqcheck.error import InputError


def check_writable(path: Path) -> None:
    """Refuse an output path before the work starts, not after it."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory; give a file name.")
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: the directory {folder} does not exist; create it first.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"cannot write {path}: the file is read-only; choose another name.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place.") from None


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target and rename over it, so that a reader never sees half a report."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_default_mode())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
