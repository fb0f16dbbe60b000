"""Data: a seed gives the same rows again, formats agree, bad input is answered in a sentence."""

from __future__ import annotations

import ast
import gzip
import inspect
import io
import json
import math
import os
import struct
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deqcheck import data
from deqcheck.data import GENERATORS, Data, fingerprint, load
from deqcheck.error import InputError

X = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, -2.0], [5.0, 12.0], [-1.0, 1.0], [2.0, 7.0], [8.0, 6.0]])
Y = np.array([0.0, 1.0, 0.0, 1.0, 2.0, 0.0, 1.0])


def get(name: str | Path, **given: Any) -> Data:
    base = {"samples": None, "dim": None, "seed": 0, "classes": None}
    return load(str(name), **(base | given))


def again(origin: dict[str, Any]) -> Data:
    """Load from nothing but an origin that went through JSON."""
    facts = json.loads(json.dumps(origin))
    facts["name"] = facts.pop("path", facts.get("name"))
    known = inspect.signature(load).parameters
    return get(facts.pop("name"), **{key: facts[key] for key in facts if key in known})


def refusal(name: str | Path, **given: Any) -> str:
    with pytest.raises(InputError) as caught:
        get(name, **given)
    text = str(caught.value)
    assert text.endswith((".", "?")), text
    assert "\n" not in text
    return text


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def npy(path: Path, table: Any) -> Path:
    np.save(path, table)
    return path


def csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def idx_bytes(values: np.ndarray) -> bytes:
    head = bytes((0, 0, 8, values.ndim)) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


def idx(folder: Path, *, images_end: str = "", labels_end: str = "", sep: str = "-") -> Path:
    images = np.arange(1, 6 * 2 * 3 + 1).reshape(6, 2, 3)
    labels = np.array([7, 3, 7, 3, 9, 7])
    path = folder / f"t-images{sep}idx3-ubyte{images_end}"
    beside = folder / f"t-labels{sep}idx1-ubyte{labels_end}"
    for file, values, end in ((path, images, images_end), (beside, labels, labels_end)):
        raw = idx_bytes(values)
        file.write_bytes(gzip.compress(raw) if end else raw)
    return path


def table(path: Path) -> Path:
    """The same X and Y in the format of the suffix."""
    if path.suffix == ".npz":
        return npz(path, X=X, y=Y)
    both = np.column_stack([X, Y])
    if path.suffix == ".npy":
        return npy(path, both)
    return csv(path, "\n".join(",".join(map(repr, row)) for row in both.tolist()))


TABLES = pytest.mark.parametrize("suffix", ["npz", "npy", "csv"])


# --- generators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_repeats_itself_and_the_seed_matters(name: str) -> None:
    one, two, other = (get(name, samples=20, dim=5, seed=s) for s in (3, 3, 4))
    assert (one.X == two.X).all()
    assert (one.y == two.y).all()
    assert name == "parity" or not (one.X == other.X).any()
    assert one.X.shape == (20, 5)
    assert one.y.shape == (20,)
    assert one.X.dtype == one.y.dtype == np.float64
    same = again(one.origin)
    assert (one.X == same.X).all()
    assert (one.y == same.y).all()


def test_conflicting_data_contradict_themselves() -> None:
    made = get("conflicting", samples=5, dim=3)
    assert (made.X[0:4:2] == made.X[1:4:2]).all() and (made.y[0:4:2] == -made.y[1:4:2]).all()
    assert not (made.X[0] == made.X[2]).any()


def test_parity_is_orthogonal_to_what_is_linear() -> None:
    made = get("parity", samples=8, dim=3)
    assert made.y.sum() == 0 and not (made.X.T @ made.y).any()
    assert "dim 2 or more" in refusal("parity", samples=4, dim=1)


def test_dim_is_100_unless_given() -> None:
    made = get("sphere", samples=2)
    assert made.X.shape == (2, 100)
    assert made.origin == {"name": "sphere", "samples": 2, "dim": 100, "seed": 0, "norm": 1.0}


def test_the_sphere_is_labelled_by_a_hyperplane() -> None:
    """The documented stream: the normal first, then the rows, from the seed [seed, 1]."""
    made = get("sphere", samples=200, dim=7, seed=11)
    rng = np.random.default_rng([11, 1])
    normal, rows = rng.standard_normal(7), rng.standard_normal((200, 7))
    assert (made.y == np.where(rows @ normal >= 0, 1.0, -1.0)).all()
    np.testing.assert_allclose(made.X, rows / np.linalg.norm(rows, axis=1)[:, None], rtol=1e-14)
    assert set(made.y) == {-1.0, 1.0}


def test_the_sphere_is_uniform_enough() -> None:
    """Mean 0 and covariance I/d, each within six standard errors."""
    n, d = 4000, 3
    made = get("sphere", samples=n, dim=d)
    assert np.abs(made.X.mean(axis=0)).max() < 6 / math.sqrt(n * d)
    assert np.abs(made.X.T @ made.X / n - np.eye(d) / d).max() < 6 / math.sqrt(n * d)


def test_more_samples_extend_fewer() -> None:
    few, many = get("sphere", samples=5, dim=4), get("sphere", samples=9, dim=4)
    assert (many.X[:5] == few.X).all()
    assert (many.y[:5] == few.y).all()


def test_the_data_stream_is_not_the_plain_stream_of_the_seed() -> None:
    made = get("sphere", samples=1, dim=3, seed=5)
    plain = np.random.default_rng(5).standard_normal((2, 3))
    plain /= np.linalg.norm(plain, axis=1)[:, None]
    assert np.abs(plain - made.X).min(axis=1).min() > 1e-6


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"samples": None}, "samples is missing"),
        ({"classes": "0,1"}, "need a data file"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"dim": 0}, "dim must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"norm": 0.0}, "norm must be positive"),
        ({"norm": -1.0}, "norm must be positive"),
        ({"norm": math.nan}, "norm must be positive"),
        ({"norm": math.inf}, "norm must be positive"),
        ({"samples": 10**16}, "do not fit in memory"),
        ({"samples": 10**19}, "do not fit in memory"),
    ],
)
def test_a_generator_refuses(given: dict[str, Any], says: str) -> None:
    assert says in refusal("sphere", **({"samples": 4} | given))


# --- scale ----------------------------------------------------------------------------------------


def length(row: np.ndarray) -> float:
    return math.sqrt(math.fsum(v * v for v in row.tolist()))


@pytest.mark.parametrize("dim", [1, 2, 100, 3000])
def test_rows_of_the_sphere_have_norm_one(dim: int) -> None:
    for row in get("sphere", samples=30, dim=dim).X:
        assert abs(length(row) - 1) <= 1e-15


@pytest.mark.parametrize("norm", [1.0, 0.25, 3.7, 1e-200, 1e300])
def test_rows_are_scaled_to_the_norm(norm: float, tmp_path: Path) -> None:
    for made in (get("sphere", samples=9, norm=norm), get(table(tmp_path / "a.npz"), norm=norm)):
        for row in made.X:
            assert abs(length(row / norm) - 1) <= 1e-15


def test_none_leaves_the_rows_alone(tmp_path: Path) -> None:
    assert (get(table(tmp_path / "a.npz"), norm=None).X == X).all()
    zero = npz(tmp_path / "zero.npz", X=np.zeros((2, 2)), y=Y[:2])
    assert (get(zero, norm=None).X == 0).all()


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-300, 5e-324])
def test_huge_and_tiny_rows_neither_overflow_nor_vanish(size: float, tmp_path: Path) -> None:
    made = get(npz(tmp_path / "a.npz", X=np.full((2, 4), size), y=Y[:2]))
    assert (made.X == 0.5).all()


def test_a_zero_row_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    holed = X.copy()
    holed[3] = 0
    path = npz(tmp_path / "a.npz", X=holed, y=Y)
    assert "row 3 (from 0) is zero" in refusal(path)
    assert "row 3 (from 0) is zero" in refusal(path, classes="1,2")
    assert len(get(path, classes="0,2").X) == 4  # row 3 is of class 1


# --- formats --------------------------------------------------------------------------------------


@TABLES
def test_every_table_format_reads_the_same(suffix: str, tmp_path: Path) -> None:
    path = table(tmp_path / f"a.{suffix}")
    made = get(path, norm=None, dim=2)
    assert (made.X == X).all()
    assert (made.y == Y).all()
    assert made.origin == {
        "path": str(path),
        "sha256": fingerprint(path),
        "classes": None,
        "samples": None,
        "seed": 0,
        "norm": None,
    }


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "a.NPZ"
    path.write_bytes(table(tmp_path / "a.npz").read_bytes())
    assert len(get(path).X) == len(X)


@pytest.mark.parametrize("dtype", ["u1", "i8", ">i4", "f2", "f4", ">f8", "?", np.longdouble])
def test_real_dtypes_become_native_float64(dtype: Any, tmp_path: Path) -> None:
    whole = np.asfortranarray(np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype))
    made = get(npz(tmp_path / "a.npz", X=whole, y=np.array([0, 1], dtype=dtype)), norm=None)
    assert made.X.dtype == made.y.dtype == np.dtype("=f8")
    assert made.X.flags.c_contiguous
    assert made.X.flags.writeable
    assert (whole.astype(float) == made.X).all()
    assert made.y.tolist() == [0.0, 1.0]


def test_images_in_npz_are_flattened(tmp_path: Path) -> None:
    images = np.arange(1, 25, dtype=np.uint8).reshape(2, 3, 4)
    made = get(npz(tmp_path / "a.npz", X=images, y=[0, 1]), norm=None, dim=12)
    assert (images.reshape(2, 12) == made.X).all()


@pytest.mark.parametrize("images_end", ["", ".gz"])
@pytest.mark.parametrize("labels_end", ["", ".gz"])
@pytest.mark.parametrize("sep", ["-", "."])
def test_idx(images_end: str, labels_end: str, sep: str, tmp_path: Path) -> None:
    path = idx(tmp_path, images_end=images_end, labels_end=labels_end, sep=sep)
    made = get(path, norm=None, dim=6)
    assert (np.arange(1, 37).reshape(6, 6) == made.X).all()
    assert made.y.tolist() == [7, 3, 7, 3, 9, 7]
    labels = tmp_path / f"t-labels{sep}idx1-ubyte{labels_end}"
    assert made.origin["labels"] == str(labels)
    assert made.origin["labels_sha256"] == fingerprint(labels)


def test_idx_prefers_the_labels_packed_like_the_images(tmp_path: Path) -> None:
    packed, plain = idx(tmp_path, images_end=".gz", labels_end=".gz"), idx(tmp_path)
    assert str(get(packed).origin["labels"]).endswith(".gz")
    assert str(get(plain).origin["labels"]).endswith("ubyte")


def test_idx_may_be_unpacked_and_still_be_called_gz(tmp_path: Path) -> None:
    path = idx(tmp_path, images_end=".gz")
    path.write_bytes(gzip.decompress(path.read_bytes()))
    assert len(get(path).X) == 6


@pytest.mark.parametrize(
    "text",
    [
        "a,b,label\n1,2,0\n3,4,1\n",
        "# a, b, label\r\n1, 2, 0\r\n3, 4, 1\r\n",
        "\n1,2,0\n\n3,4,1\n\n",
        '\ufeff"1","2","0"\n3e0,4.0,+1\n',
    ],
)
def test_csv_dialects(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    made = get(path, norm=None)
    assert made.X.tolist() == [[1, 2], [3, 4]]
    assert made.y.tolist() == [0, 1]


def test_csv_keeps_every_bit(tmp_path: Path) -> None:
    exact = np.random.default_rng(0).standard_normal((20, 4)) * 10.0 ** np.arange(-8, 8, 4)
    path = csv(tmp_path / "a.csv", "\n".join(",".join(map(repr, r)) for r in exact.tolist()))
    made = get(path, norm=None)
    assert (np.column_stack([made.X, made.y]) == exact).all()


def test_fingerprint_is_the_sha256_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    assert fingerprint(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    path.write_bytes(b"abd")
    assert fingerprint(str(path)) != fingerprint(table(tmp_path / "a.npy"))
    with pytest.raises(InputError, match="is not there"):
        fingerprint(tmp_path / "none")


# --- selection ------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """60 rows whose first entry is their index: 30 of class 5, 20 of class 2, 10 of class -1.5."""
    labels = np.random.default_rng(1).permutation(np.repeat([5.0, 2.0, -1.5], [30, 20, 10]))
    rows = np.column_stack([np.arange(60.0), np.ones(60)])
    return npz(tmp_path / "many.npz", X=rows, y=labels)


def index(made: Data) -> list[int]:
    return [int(v) for v in made.X[:, 0]]


def test_classes_are_labelled_balanced_and_in_order(many: Path) -> None:
    labels = np.load(many)["y"]
    made = get(many, classes="2, 5", samples=24, norm=None)
    assert made.y.tolist() == [-1.0] * 12 + [1.0] * 12
    first, second = index(made)[:12], index(made)[12:]
    assert set(labels[first]) == {2.0}
    assert set(labels[second]) == {5.0}
    assert first == sorted(set(first))
    assert second == sorted(set(second))


def test_swapping_the_classes_swaps_the_signs(many: Path) -> None:
    one, two = get(many, classes="2,-1.5"), get(many, classes="-1.5,2")
    assert (one.X[:20] == two.X[10:]).all()
    assert one.y.tolist() == [-1.0] * 20 + [1.0] * 10
    assert two.y.tolist() == [-1.0] * 10 + [1.0] * 20


def test_all_rows_keep_the_order_of_the_file(many: Path) -> None:
    assert index(get(many, norm=None)) == list(range(60))
    assert index(get(many, norm=None, samples=60, seed=9)) == list(range(60))


@pytest.mark.parametrize("classes", [None, "5,2"])
def test_draws_are_seeded_nested_and_repeat_from_their_origin(classes: str | None, many: Path) -> None:
    draws = [get(many, classes=classes, samples=n, norm=None, seed=6) for n in (4, 10, 20)]
    for small, large in pairwise(draws):
        assert set(index(small)) < set(index(large))
    other = get(many, classes=classes, samples=20, norm=None, seed=7)
    assert index(other) != index(draws[-1])
    for made in (*draws, other, get(many, classes=classes)):
        same = again(made.origin)
        assert (same.X == made.X).all()
        assert (same.y == made.y).all()
        assert same.origin == made.origin


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"samples": 61}, "has 60 rows; 61 samples are too many"),
        ({"classes": "5,2", "samples": 7}, "30 rows of class 5 and 20 of class 2"),
        ({"classes": "5,2", "samples": 42}, "an even number up to 40"),
        ({"classes": "5,3"}, "no row of class 3; its classes are -1.5, 2, 5"),
        ({"classes": "5,nan"}, "no row of class nan"),
        ({"classes": "5"}, "two numbers such as '0,1', not '5'"),
        ({"classes": "5,2,-1.5"}, "two numbers"),
        ({"classes": "5,cat"}, "two numbers"),
        ({"classes": ""}, "two numbers"),
        ({"classes": "5,"}, "two numbers"),
        ({"classes": "5,5.0"}, "two different labels"),
        ({"dim": 3}, "rows of dim 2, not 3"),
    ],
)
def test_a_selection_is_refused(given: dict[str, Any], says: str, many: Path) -> None:
    assert says in refusal(many, **given)


def test_a_long_list_of_classes_is_cut(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", X=np.ones((500, 1)), y=np.arange(500))
    assert "18, 19, ...." in refusal(path, classes="0,1000")


# --- bad files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.npz", "a.npy", "a.csv", "a-images-idx3-ubyte.gz", "a\0.npy"])
def test_no_such_file_or_a_directory(name: str, tmp_path: Path) -> None:
    assert "is not there" in refusal(tmp_path / name)
    if "\0" not in name:
        (tmp_path / name).mkdir()
        assert "is a directory" in refusal(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sphre", "did you mean 'sphere'?"),
        ("SPHERE", "known: "),
        ("", "known: "),
        ("x" * 5000, "sphere."),
        ("nothing.txt", "FILE.npz"),
    ],
)
def test_an_unknown_name_is_answered_with_a_hint(name: str, says: str) -> None:
    text = refusal(name, samples=3)
    assert text.startswith(f"unknown data set {name!r}")
    assert says in text


def test_a_file_of_unknown_format_a_folder_and_a_pipe(tmp_path: Path) -> None:
    assert "does not tell its format" in refusal(csv(tmp_path / "a.txt", "1,2"))
    assert "is a directory" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is not a regular file" in refusal(tmp_path / "pipe.csv")


def test_what_the_system_refuses_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "a.npz")

    def closed(_path: Path) -> bytes:  # chmod does not stop root, who may run the tests
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", closed)
    assert refusal(path) == f"data file {path} cannot be read: Permission denied."


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"X": X}, "has no array 'y'; it has X."),
        ({"x": X, "y": Y}, "has no array 'X'; it has x, y."),
        ({}, "has no array 'X'; it has nothing."),
        ({"X": X[:, 0], "y": Y}, "X must be 2-d"),
        ({"X": 3.0, "y": Y}, "X must be 2-d"),
        ({"X": X, "y": Y[:-1]}, "y must have shape (7,) to match X, not (6,)"),
        ({"X": X, "y": Y[:, None]}, "not (7, 1)"),
        ({"X": X, "y": 1.0}, "not ()"),
        ({"X": X[:0], "y": Y[:0]}, "X is empty"),
        ({"X": X[:, :0], "y": Y}, "X is empty"),
        ({"X": X + 0j, "y": Y}, "X is complex"),
        ({"X": X, "y": Y + 0j}, "y is complex"),
        ({"X": X.astype(str), "y": Y}, "X is not numeric"),
        ({"X": X, "y": Y.astype("M8[s]")}, "y is not numeric"),
        ({"X": X, "y": np.array(["a"] * 7, dtype=object)}, "array 'y' is an object array"),
        ({"X": X.astype(object), "y": Y}, "array 'X' is an object array"),
    ],
)
def test_npz_is_refused(arrays: dict[str, Any], says: str, tmp_path: Path) -> None:
    assert says in refusal(npz(tmp_path / "a.npz", **arrays))


def test_other_arrays_in_npz_do_not_matter(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", X=X, y=Y, note=np.array([None], dtype=object))
    assert len(get(path).X) == 7


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X", b"hello")
        archive.writestr("y", b"world")
    assert "member 'X' is not an array" in refusal(tmp_path / "a.npz")


class Bomb:
    """Unpickling this ends the test, so a sentence shows that nothing was unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_nothing_is_unpickled(suffix: str, tmp_path: Path) -> None:
    bomb = np.empty((2, 2), dtype=object)
    bomb[:] = Bomb()
    path = tmp_path / f"a.{suffix}"
    assert "is an object array (a pickle)" in refusal(
        npy(path, bomb) if suffix == "npy" else npz(path, X=bomb, y=Y[:2])
    )
    with pytest.raises(SystemExit):
        np.asarray(np.load(path, allow_pickle=True)["X" if suffix == "npz" else ...])


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (X[:, 0], "must be a 2-d array"),
        (X[None], "must be a 2-d array"),
        (X[:, :1], "has 1 column(s)"),
        (X[:0], "X is empty"),
        (X + 1j, "X is complex"),
        (X.astype(bytes), "X is not numeric"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), "X is not numeric"),
    ],
)
def test_npy_is_refused(bad: np.ndarray, says: str, tmp_path: Path) -> None:
    assert says in refusal(npy(tmp_path / "a.npy", bad))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no rows;"),
        ("\n\n", "has no rows;"),
        ("a,b\n", "has no rows after its header"),
        ("1\n2\n", "has 1 column(s)"),
        ("a,b\n1,2\n3,x\n", "line 3: 'x' is not a number"),
        ("1,2\n\n3,\n", "line 3: '' is not a number"),
        ("a,b\nc,d\n1,2\n", "line 2: 'c' is not a number"),
        ("1,oops\n3,4\n", "line 1: 'oops' is not a number (a header line holds no numbers)"),
        ("1,2\n1_0,4\n", "line 2: '1_0' is not a number"),
        ("1,2\n,\n", "line 2: '' is not a number"),
        ("1,2\n3,4,5\n", "line 2: 3 cells, but 2 before"),
        ("a,b,c\n3,4\n", "line 2: 2 cells, but 3 before"),
        ("1;2\n3;4\n", "line 2: '3;4' is not a number"),
        ("1,2\n3," + "4" * 200_000, "line 2: field larger than field limit"),
        ("1,2\n3,nan\n", "y has 1 NaN or inf, the first at [1]"),
        ("1,2\n1e999,2\n", "X has 1 NaN or inf, the first at [1, 0]"),
    ],
)
def test_csv_is_refused(text: str, says: str, tmp_path: Path) -> None:
    assert says in refusal(csv(tmp_path / "a.csv", text))


def test_csv_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("1,2\n3,4\n".encode("utf-16"))
    assert "is not UTF-8 text (byte 0)" in refusal(path)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_counted_and_placed(value: float, tmp_path: Path) -> None:
    holed = X.copy()
    holed[2, 1] = holed[5, 0] = value
    assert "X has 2 NaN or inf, the first at [2, 1]" in refusal(npz(tmp_path / "a.npz", X=holed, y=Y))
    images = holed[:6].reshape(3, 2, 2)
    path = npz(tmp_path / "b.npz", X=images, y=Y[:3])
    assert "X has 2 NaN or inf, the first at [1, 0, 1]" in refusal(path)
    path = npz(tmp_path / "c.npz", X=X, y=np.where(Y == 2, value, Y))
    assert "y has 1 NaN or inf, the first at [4]" in refusal(path, classes="0,1")


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no long double here")
def test_a_long_double_beyond_float64_is_not_finite(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", X=X.astype(np.longdouble) * np.longdouble("1e4000"), y=Y)
    assert "NaN or inf" in refusal(path)


def test_idx_is_refused(tmp_path: Path) -> None:
    path = idx(tmp_path)
    labels = tmp_path / "t-labels-idx1-ubyte"
    good, names = path.read_bytes(), labels.read_bytes()
    for raw, says in (
        (good[:-1], "holds 35 bytes, its header says 36"),
        (good + b"\0", "holds 37 bytes, its header says 36"),
        (good[:15], "does not start with the header of an idx3-ubyte file"),
        (b"", "does not start with the header"),
        (names, "does not start with the header"),
        (b"\0\0\x0d\x03" + good[4:], "does not start with the header"),
        (idx_bytes(np.zeros((0, 2, 3))), "is empty"),
        (gzip.compress(good)[:-9], "gzip stream is truncated or corrupt"),
        (b"\x1f\x8bnonsense", "gzip stream is truncated or corrupt"),
    ):
        path.write_bytes(raw)
        assert says in refusal(path)
    path.write_bytes(good)
    labels.write_bytes(idx_bytes(np.array([1, 2])))
    assert "y must have shape (6,) to match X, not (2,)" in refusal(path)
    assert "does not tell its format" in refusal(labels)
    labels.unlink()
    assert "there is no t-labels-idx1-ubyte" in refusal(path)


@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_a_file_in_the_wrong_dress_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    other = table(tmp_path / ("b.npy" if suffix == "npz" else "b.npz"))
    for raw in (b"", b"1,2\n3,4\n", other.read_bytes()):
        path.write_bytes(raw)
        assert f"({len(raw)} bytes) is no .{suffix}" in refusal(path)


def samples_of(folder: Path) -> dict[str, Path]:
    packed = folder / "packed.npz"
    np.savez_compressed(packed, X=X, y=Y)
    plain, lzma = table(folder / "a.npz"), folder / "lzma.npz"
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(lzma, "w", zipfile.ZIP_LZMA) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return {
        "npz": plain,
        "lzma": lzma,
        "packed": packed,
        "npy": table(folder / "a.npy"),
        "idx": idx(folder),
        "gz": idx(folder, images_end=".gz"),
    }


FORMATS = pytest.mark.parametrize("which", ["npz", "packed", "lzma", "npy", "idx", "gz"])


@FORMATS
def test_every_truncation_is_refused(which: str, tmp_path: Path) -> None:
    path = samples_of(tmp_path)[which]
    raw = path.read_bytes()
    for end in range(len(raw)):
        path.write_bytes(raw[:end])
        refusal(path)


@FORMATS
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz`", "ignore:.*invalid.*:SyntaxWarning")
def test_damage_is_refused_or_harmless(which: str, tmp_path: Path) -> None:
    """No byte, whatever it becomes, gets anything but data or a sentence out of load."""
    path = samples_of(tmp_path)[which]
    raw = path.read_bytes()
    rng = np.random.default_rng(0)
    nasty = b"\x00\xff,b\x0c\x0e"  # , and b upset numpy's header parser; zip methods 12 and 14
    refused = 0
    for place in range(len(raw)):
        for value in {*nasty, raw[place] ^ 1, int(rng.integers(256))} - {raw[place]}:
            path.write_bytes(raw[:place] + bytes([value]) + raw[place + 1 :])
            try:
                made = get(path)
            except InputError as error:
                assert "\n" not in str(error)
                refused += 1
            else:
                assert np.isfinite(made.X).all()
                assert made.X.ndim == 2
                assert made.y.shape == (len(made.X),)
    assert refused > 20


@pytest.mark.parametrize("rows", [10**15, 10**30, -4])
def test_a_header_with_an_impossible_shape_is_refused(rows: int, tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (rows, 3)})
    path = tmp_path / "a.npy"
    path.write_bytes(stream.getvalue())
    assert "truncated or corrupt" in refusal(path)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "a.npz")
    raw = bytearray(path.read_bytes())
    for signature, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.find(signature)
        while start >= 0:
            raw[start + flag] |= 1
            start = raw.find(signature, start + 1)
    path.write_bytes(raw)
    assert "encrypted" in refusal(path)


# --- the module -----------------------------------------------------------------------------------


def test_data_needs_numpy_and_nothing_heavier() -> None:
    tree = ast.parse(Path(data.__file__).read_text(encoding="utf-8"))
    roots = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    roots |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert {r for r in roots if r.startswith("deqcheck")} == {"deqcheck.error"}
    assert not any(r.split(".")[0] in {"torch", "sympy", "scipy", "flint"} for r in roots)


def test_mnist_if_the_user_has_it() -> None:
    path = os.environ.get("DEQCHECK_MNIST")
    if not path:
        pytest.skip("set DEQCHECK_MNIST to an images-idx3-ubyte file of MNIST to run this")
    made = get(path, classes="0,1", samples=1000, dim=784)
    assert made.X.shape == (1000, 784)
    assert made.y.tolist() == [-1.0] * 500 + [1.0] * 500
    assert max(abs(length(row) - 1) for row in made.X) <= 1e-15
    assert made.X.min() >= 0
