"""Data sets: built-in generators and .npz, .npy, .csv and IDX (MNIST) files.

All random numbers come from numpy's Generator, seeded with `[seed, 1]`: the second word keeps the
data apart from the weights of the same seed. numpy may change a stream between its versions.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import lzma
import math
import operator
import re
import struct
import tokenize
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deqcheck.error import InputError, unknown

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Fact = int | float | str | None
Generate = Callable[[int, int, np.random.Generator], tuple[Floats, Floats]]
Read = tuple[Array, Array, dict[str, Fact]]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows X (N, d) and labels y (N,), with the facts from which the same data come again."""

    X: Floats
    y: Floats
    origin: dict[str, Fact]


def load(
    name: str,
    *,
    samples: int | None,
    dim: int | None,
    seed: int,
    classes: str | None,
    norm: float | None = 1.0,
) -> Data:
    """The data set of this name: a generator, or else a file.

    .npz holds `X` and `y` (images (N, h, w) are flattened); in .npy and .csv the last column is the
    label; an IDX images file is read with the labels file beside it. `classes="a,b"` keeps two
    classes, labels them -1 and +1, and draws `samples / 2` of each. Rows keep the file's order,
    class by class; a smaller draw is a subset of a larger one. Every row is scaled to the Euclidean
    norm `norm`; None leaves the rows as they are.
    """
    seed = _whole("seed", seed, 0)
    samples = None if samples is None else _whole("samples", samples, 1)
    dim = None if dim is None else _whole("dim", dim, 1)
    if norm is not None and not 0 < norm < math.inf:
        raise InputError(f"norm must be positive and finite, or None to scale nothing, not {norm}.")
    norm = None if norm is None else float(norm)
    rng = np.random.default_rng([seed, 1])
    if name in GENERATORS:
        if classes is not None:
            raise InputError(f"classes {classes!r} need a data file; {name!r} labels its own rows.")
        if samples is None:
            raise InputError(f"the number of samples is missing; {name!r} has no size of its own.")
        dim = 100 if dim is None else dim
        try:
            X, y = GENERATORS[name](samples, dim, rng)
        except (MemoryError, ValueError):  # numpy says ValueError when the size itself overflows
            raise InputError(f"{samples} samples of dim {dim} do not fit in memory.") from None
        rows = np.arange(samples)
        origin: dict[str, Fact] = {"name": name, "samples": samples, "dim": dim}
    else:
        read, path = _reader(name), Path(name)
        raw = _bytes(path)
        inputs, label, facts = read(path, raw)
        inputs, label = _checked(inputs, label, name)
        if dim is not None and dim != inputs.shape[1]:
            raise InputError(f"{name} has rows of dim {inputs.shape[1]}, not {dim}; leave dim out.")
        rows, y = _select(label, classes, samples, rng, name)
        # Select before converting: eight bytes per pixel of all of MNIST is much to throw away.
        X = np.ascontiguousarray(inputs[rows], dtype=np.float64)
        origin = {"path": name, "sha256": _sha256(raw), **facts}
        origin |= {"classes": classes, "samples": samples}
    X = X if norm is None else _scaled(X, norm, rows, name)
    return Data(X, y, {**origin, "seed": seed, "norm": norm})


def fingerprint(path: str | Path) -> str:
    """SHA-256 of the bytes of a file, in hex."""
    return _sha256(_bytes(Path(path)))


# --- generators -----------------------------------------------------------------------------------


def sphere(samples: int, dim: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows uniform on the unit sphere, labelled by the side of a random hyperplane through 0.

    The normal of the hyperplane is drawn first, then row after row: more samples extend fewer.
    """
    normal = rng.standard_normal(dim)
    X = rng.standard_normal((samples, dim))
    y = np.array([1.0 if math.fsum((x * normal).tolist()) >= 0 else -1.0 for x in X])
    return _scaled(X, 1.0, np.arange(samples), "sphere"), y


def conflicting(samples: int, dim: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Every input of the sphere twice, with opposite labels: no network fits it, so no theorem may promise that."""
    X, y = sphere((samples + 1) // 2, dim, rng)
    signs = np.tile([1.0, -1.0], len(y))
    return np.repeat(X, 2, axis=0)[:samples], (np.repeat(y, 2) * signs)[:samples]


def parity(samples: int, dim: int, _rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The corners (1,1), (-1,-1), (1,-1), (-1,1) in turn, labelled by the product of their signs; other coordinates 0.

    The labels are orthogonal to the constant and to every coordinate, so what is linear in the input sees nothing.
    """
    if dim < 2:
        raise InputError(f"'parity' needs inputs of dim 2 or more, not {dim}.")
    corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    X = np.zeros((samples, dim))
    X[:, :2] = corners[np.arange(samples) % 4]
    return _scaled(X, 1.0, np.arange(samples), "parity"), X[:, 0] * X[:, 1]


GENERATORS: Mapping[str, Generate] = {"sphere": sphere, "conflicting": conflicting, "parity": parity}


# --- files ----------------------------------------------------------------------------------------

_IDX = re.compile(r".*images[-.]idx3-ubyte(\.gz)?")
_KINDS = "FILE.npz", "FILE.npy", "FILE.csv", "FILE-images-idx3-ubyte", "FILE-images-idx3-ubyte.gz"
_CORRUPT = (
    *(ValueError, TypeError, EOFError, OSError, MemoryError, OverflowError, SyntaxError),
    RuntimeError,  # zipfile: unknown compression, encrypted member
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError),
)
"""What numpy, zipfile and gzip raise on damaged bytes; a test damages every byte of small files."""


def _reader(name: str) -> Callable[[Path, bytes], Read]:
    path = Path(name)
    if _IDX.fullmatch(path.name):
        return _idx
    readers = {".npz": _npz, ".npy": _npy, ".csv": _csv}
    if path.suffix.lower() in readers:
        return readers[path.suffix.lower()]
    try:
        there = bool(name) and path.exists()
    except OSError:
        there = False
    if not there:
        raise unknown("data set", name, (*GENERATORS, *_KINDS))
    if path.is_dir():
        raise InputError(f"data file {name} is a directory; give one of {', '.join(_KINDS)}.")
    raise InputError(f"{name} does not tell its format; use one of {', '.join(_KINDS)}.")


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _bytes(path: Path) -> bytes:
    """Read once: what is hashed is what is parsed."""
    try:
        if path.is_file():
            return path.read_bytes()
        problem = "is not there"
        if path.exists():
            problem = "is a directory" if path.is_dir() else "is not a regular file"
    except OSError as error:
        raise InputError(f"data file {path} cannot be read: {error.strerror or error}.") from None
    raise InputError(f"data file {path} {problem}; check the path.")


@contextmanager
def _legible(path: Path, what: str) -> Iterator[None]:
    """Turn what the parsers raise on damaged bytes into a sentence."""
    try:
        yield
    except _CORRUPT as error:
        if "Object arrays" in str(error):
            raise InputError(
                f"{path}: {what} is an object array (a pickle), which is not loaded; save numbers."
            ) from None
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: {what} is truncated or corrupt ({reason}).") from None


def _npz(path: Path, raw: bytes) -> Read:
    if not raw.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise InputError(f"{path} ({len(raw)} bytes) is no .npz archive; write it with numpy.savez.")
    found: dict[str, Array] = {}
    with _legible(path, "the archive"):
        archive = np.load(io.BytesIO(raw), allow_pickle=False)
    with archive:
        for key in ("X", "y"):
            if key not in archive.files:
                there = ", ".join(archive.files) or "nothing"
                raise InputError(f"{path} has no array {key!r}; it has {there}.")
            with _legible(path, f"array {key!r}"):
                found[key] = archive[key]
            if not isinstance(found[key], np.ndarray):  # numpy hands out other members as bytes
                raise InputError(f"{path}: member {key!r} is not an array; use numpy.savez.")
    return found["X"], found["y"], {}


def _npy(path: Path, raw: bytes) -> Read:
    if not raw.startswith(b"\x93NUMPY"):
        raise InputError(f"{path} ({len(raw)} bytes) is no .npy file; write it with numpy.save.")
    with _legible(path, "the array"):
        table = np.load(io.BytesIO(raw), allow_pickle=False)
    if table.ndim != 2:
        raise InputError(f"{path} must be a 2-d array with the label last, not {table.shape}.")
    return *_split(table, path), {}


def _csv(path: Path, raw: bytes) -> Read:
    """One leading line may be a header, which then holds no number at all.

    A line of text and numbers is an error: it is more likely a bad cell than a header.
    """
    values, width, header = array("d"), 0, False
    for line, cells in _lines(path, raw):
        if len(cells) < 2 and not "".join(cells).strip():
            continue
        bad = [cell for cell in cells if not _is_number(cell)]
        if not width and len(bad) == len(cells):
            width, header = len(cells), True
            continue
        if bad:
            hint = "" if width else " (a header line holds no numbers)"
            raise InputError(f"{path}, line {line}: {bad[0]!r} is not a number{hint}.")
        width = width or len(cells)
        if len(cells) != width:
            raise InputError(f"{path}, line {line}: {len(cells)} cells, but {width} before.")
        values.extend(map(float, cells))
    if not values:
        after = " after its header" if header else ""
        raise InputError(f"{path} has no rows{after}; give one row of numbers per line.")
    return *_split(np.array(values).reshape(-1, width), path), {}


def _lines(path: Path, raw: bytes) -> Iterator[tuple[int, list[str]]]:
    try:
        reader = csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); convert it.") from None
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}.") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000; no other CSV reader does


def _split(table: Array, path: Path) -> tuple[Array, Array]:
    if table.shape[1] < 2:
        raise InputError(f"{path} has {table.shape[1]} column(s); it needs inputs, then the label.")
    return table[:, :-1], table[:, -1]


def _idx(path: Path, raw: bytes) -> Read:
    """The images, and the labels from the sibling file, gzipped or not."""
    images = _ubytes(raw, path, 3)
    base = re.sub(r"images([-.])idx3", r"labels\1idx1", path.name).removesuffix(".gz")
    ends = (".gz", "") if path.suffix == ".gz" else ("", ".gz")
    beside = [path.with_name(base + end) for end in ends]
    labels = next((sibling for sibling in beside if sibling.exists()), None)
    if labels is None:
        raise InputError(f"{path} needs its labels beside it; there is no {beside[0].name}.")
    raw = _bytes(labels)
    return images, _ubytes(raw, labels, 1), {"labels": str(labels), "labels_sha256": _sha256(raw)}


def _ubytes(raw: bytes, path: Path, ndim: int) -> Array:
    """The bytes of an IDX file: 0, 0, type 8, ndim; the shape in big-endian words; the values."""
    if raw.startswith(b"\x1f\x8b"):  # by content: browsers unpack .gz and keep the name
        with _legible(path, "the gzip stream"):
            raw = gzip.decompress(raw)
    start = 4 + 4 * ndim
    if raw[:4] != bytes((0, 0, 8, ndim)) or len(raw) < start:
        raise InputError(f"{path} does not start with the header of an idx{ndim}-ubyte file.")
    shape = struct.unpack_from(f">{ndim}I", raw, 4)
    if len(raw) - start != math.prod(shape):
        wanted, there = math.prod(shape), len(raw) - start
        raise InputError(f"{path} holds {there} bytes, its header says {wanted}; get it again.")
    if not math.prod(shape):
        raise InputError(f"{path} is empty: its shape is {shape}.")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


# --- checks, selection, scale ---------------------------------------------------------------------


def _whole(name: str, value: int, least: int) -> int:
    try:
        value = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r}.") from None
    if value < least:
        raise InputError(f"{name} must be at least {least}, not {value}.")
    return value


def _checked(X: Array, y: Array, name: str) -> tuple[Array, Floats]:
    """X as (N, d), still in its own integer type if it has one, and y as (N,) float64."""
    if X.ndim < 2:
        raise InputError(f"{name}: X must be 2-d, one row per sample, not of shape {X.shape}.")
    if not X.size:
        raise InputError(f"{name}: X is empty, its shape is {X.shape}.")
    if y.shape != (len(X),):
        raise InputError(f"{name}: y must have shape ({len(X)},) to match X, not {y.shape}.")
    X, y = _numeric(X, f"{name}: X"), _numeric(y, f"{name}: y")
    return X.reshape(len(X), -1), y.astype(np.float64)


def _numeric(values: Array, what: str) -> Array:
    if values.dtype.kind not in "biuf":
        kind = "complex" if values.dtype.kind == "c" else "not numeric"
        raise InputError(f"{what} is {kind} (dtype {values.dtype}); it must hold real numbers.")
    if values.dtype.kind != "f":
        return values
    with np.errstate(over="ignore"):  # a long double may become inf, which the next lines report
        values = values.astype(np.float64, copy=False)
    bad = ~np.isfinite(values)
    if bad.any():
        first = [int(i) for i in np.unravel_index(int(bad.argmax()), bad.shape)]
        raise InputError(f"{what} has {int(bad.sum())} NaN or inf, the first at {first}; remove them.")
    return values


def _select(
    label: Floats, classes: str | None, samples: int | None, rng: np.random.Generator, name: str
) -> tuple[npt.NDArray[np.intp], Floats]:
    """The rows to keep and their labels; prefixes of whole permutations make draws nested."""
    if classes is None:
        if samples is not None and samples > len(label):
            raise InputError(f"{name} has {len(label)} rows; {samples} samples are too many.")
        rows = np.sort(rng.permutation(len(label))[:samples])
        return rows, label[rows]
    try:
        first, second = (float(text) for text in classes.split(","))
    except ValueError:
        raise InputError(f"classes must be two numbers such as '0,1', not {classes!r}.") from None
    if first == second:
        raise InputError(f"classes must be two different labels, not {classes!r}.")
    members = [np.flatnonzero(label == value) for value in (first, second)]
    for value, member in zip((first, second), members, strict=True):
        if not member.size:
            there = np.unique(label)
            shown = ", ".join(f"{v:g}" for v in there[:20]) + (", ..." if len(there) > 20 else "")
            raise InputError(f"{name} has no row of class {value:g}; its classes are {shown}.")
    n, m = map(len, members)
    half = None if samples is None else samples // 2
    if samples is not None and (samples % 2 or samples > 2 * min(n, m)):
        raise InputError(
            f"{samples} samples are not two halves of the {n} rows of class {first:g} and {m} of "
            f"class {second:g} in {name}; use an even number up to {2 * min(n, m)}."
        )
    parts = [np.sort(rng.permutation(member)[:half]) for member in members]
    return np.concatenate(parts), np.repeat([-1.0, 1.0], [len(part) for part in parts])


def _scaled(X: Floats, norm: float, rows: npt.NDArray[np.intp], name: str) -> Floats:
    """Every row at the given norm.

    A power of two brings the largest entry to 1 first, so that nothing overflows and nothing is
    rounded; fsum makes the norm independent of the machine's summation order.
    """
    top = np.abs(X).max(axis=1)
    if not top.all():
        row = rows[int(np.argmin(top != 0))]
        raise InputError(f"{name}: row {row} (from 0) is zero and cannot be scaled; remove it.")
    X = np.ldexp(X, -np.frexp(top)[1][:, None])
    length = np.array([math.sqrt(math.fsum((x * x).tolist())) for x in X])
    scaled: Floats = X / length[:, None] * norm
    return scaled
