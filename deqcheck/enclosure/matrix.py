"""Small matrices in 192-bit ball arithmetic: the last resort where float64 cannot decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flint import arb, arb_mat

from deqcheck.enclosure.interval import Enclosure

Rows = Sequence[Sequence[float]]


class Matrix:
    """An immutable matrix of balls. Every operation contains the exact result."""

    __slots__ = ("_m",)

    def __init__(self, balls: arb_mat) -> None:
        self._m = balls

    @classmethod
    def exact(cls, rows: Rows) -> Matrix:
        """The exact real matrix that these floats denote."""
        return cls(arb_mat([[arb(x) for x in row] for row in rows]))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._m.nrows(), self._m.ncols()

    def __matmul__(self, other: Matrix) -> Matrix:
        return Matrix(self._m * other._m)

    def __add__(self, other: Matrix) -> Matrix:
        return Matrix(self._m + other._m)

    def __sub__(self, other: Matrix) -> Matrix:
        return Matrix(self._m - other._m)

    def times(self, scalar: float) -> Matrix:
        """Every entry multiplied by an exact float."""
        return Matrix(self._m * arb(scalar))

    @property
    def T(self) -> Matrix:
        """Transpose."""
        return Matrix(self._m.transpose())

    def relu(self) -> Matrix:
        """Positive part of each entry."""
        return self._map(lambda x: arb.max(x, arb(0)))

    def midpoint(self) -> Matrix:
        """The centres without their radii: a guess to be verified, not an enclosure."""
        return Matrix(self._m.mid())

    def rows(self) -> list[list[float]]:
        """Nearest floats, for looking at the signs of a pattern."""
        n, k = self.shape
        return [[float(self._m[i, j]) for j in range(k)] for i in range(n)]

    def solve(self, right: Matrix) -> Matrix:
        """self^-1 right. Raises ZeroDivisionError where the balls do not prove self invertible."""
        return Matrix(self._m.solve(right._m))

    def submatrix(self, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
        """Selected rows and columns."""
        return Matrix(arb_mat([[self._m[i, j] for j in columns] for i in rows]))

    def scatter(self, columns: Sequence[int], width: int) -> Matrix:
        """A column vector laid out as a row of `width`, its entries at `columns`, zeros elsewhere."""
        row = [arb(0)] * width
        for place, value in zip(columns, self._m.entries(), strict=True):
            row[place] = value
        return Matrix(arb_mat([row]))

    @classmethod
    def zeros(cls, n: int, k: int) -> Matrix:
        """The zero matrix."""
        return cls(arb_mat(n, k))

    @classmethod
    def stack(cls, parts: Sequence[Matrix]) -> Matrix:
        """Row blocks on top of each other."""
        rows = [[p._m[i, j] for j in range(p._m.ncols())] for p in parts for i in range(p._m.nrows())]
        return cls(arb_mat(rows))

    def entries(self) -> Iterable[Enclosure]:
        """Every entry as an enclosure, row by row."""
        return (Enclosure(x.lower(), x.upper()) for x in self._m.entries())

    def frobenius(self) -> Enclosure:
        """The Frobenius norm."""
        # x * x, not x ** 2: flint's power of a ball around zero is not a number.
        total = sum((x * x for x in self._m.entries()), arb(0))
        return Enclosure(total.lower(), total.upper()).sqrt()

    def sigma_min(self) -> Enclosure:
        """sqrt(lambda_min(M M^T)); for a matrix with more rows than columns this is 0."""
        n, k = self.shape
        if not all(x.is_finite() for x in self._m.entries()):
            return Enclosure.positive()
        if n > k:
            return Enclosure.exact(0)
        gram = self._m * self._m.transpose()
        upper = _rayleigh_smallest(gram)
        trial = upper
        for shrink in (arb(2) ** -60, arb(2) ** -30, arb(2) ** -10, arb(1) / 2):
            trial = (upper * (1 - shrink)).lower()
            if _is_positive_definite(gram, trial):
                break
        else:
            trial = arb(0)
        return Enclosure(trial, upper).sqrt()

    def _map(self, f: object) -> Matrix:
        n, k = self.shape
        return Matrix(arb_mat([[f(self._m[i, j]) for j in range(k)] for i in range(n)]))  # type: ignore[operator]


def _rayleigh_smallest(gram: arb_mat) -> arb:
    """An upper bound of lambda_min: the Rayleigh quotient after some inverse iterations.

    Any vector gives an upper bound, so a poor start costs tightness and never truth.
    """
    n = gram.nrows()
    vector = arb_mat([[arb(1) + arb(i) / (n + 1)] for i in range(n)]).mid()
    trace = sum((gram[i, i] for i in range(n)), arb(0)).mid()
    # The shift keeps a singular Gram matrix solvable; it does not move the eigenvectors.
    shifted = gram.mid() + arb_mat(n, n, [trace * arb(2) ** -140 * (i == j) for i in range(n) for j in range(n)])
    for _ in range(200):
        try:
            moved = shifted.solve(vector).mid()
        except ZeroDivisionError:
            break
        size = max((abs(x) for x in moved.entries()), key=float)
        if not size.is_finite() or not size > 0:
            break
        previous, vector = vector, (moved * (1 / size)).mid()
        drift = max(abs(abs(a) - abs(b)) for a, b in zip(vector.entries(), previous.entries(), strict=True))
        if drift < arb(2) ** -90:
            break
    above = (vector.transpose() * gram * vector)[0, 0]
    below = (vector.transpose() * vector)[0, 0]
    return arb.max((above / below).upper(), arb(0))


def _is_positive_definite(gram: arb_mat, shift: arb) -> bool:
    """Whether every pivot of gram - shift I is certainly positive."""
    n = gram.nrows()
    a = [[gram[i, j] - (shift if i == j else 0) for j in range(n)] for i in range(n)]
    for p in range(n):
        pivot = a[p][p]
        if not pivot > 0:
            return False
        for i in range(p + 1, n):
            factor = a[i][p] / pivot
            for j in range(p + 1, i + 1):
                a[i][j] -= factor * a[j][p]
    return True
