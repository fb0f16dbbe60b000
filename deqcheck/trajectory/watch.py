"""The conclusions in floats, at the steps that are not certified.

A norm or a singular value moves by at most as much as its matrix does (in the Frobenius norm). So from the last value
that is known, one difference says whether a conclusion can have failed; only where it can is the value computed
anew, and only where that fails the conclusion is the step certified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from sympy import Symbol
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.evaluate import decide, sides
from deqcheck.statement import Conclusion
from deqcheck.trajectory.certify import Promise
from deqcheck.trajectory.model import Watched
from deqcheck.truth import HOLDS


@dataclass
class Watch:
    """What is known of the watched matrices, and since when."""

    promise: Promise
    known: dict[str, tuple[float, Tensor]] = field(default_factory=dict)
    """The value that a matrix had, and the matrix."""
    _room: dict[tuple[int, ...], Tensor] = field(default_factory=dict)

    def certified(self, watched: Mapping[str, Watched]) -> None:
        """Take over what was just certified."""
        found = {s.name: x for s, x in self.promise.found.items()}
        for name, one in watched.items():
            if name in found and found[name].is_finite:
                value = max(0.0, found[name].midpoint())
                self.known[name] = (value**0.5 if one.squared else value), one.matrix

    def fails(self, watched: Mapping[str, Watched], time: float, settled: set[str]) -> bool:
        """Whether floats say that a conclusion fails here; those in `settled` are not looked at again."""
        claims = [c for c in self.promise.due(time) if c.id not in settled and self._names(c) <= watched.keys()]
        if not claims:
            return False
        names = set().union(*(self._names(c) for c in claims))
        near = {name: self._near(name, watched[name]) for name in names}
        open_ones = [c for c in claims if not self._holds(c, near)]
        fresh = set().union(*(self._names(c) for c in open_ones))
        for name in fresh:
            value = _value(watched[name])
            self.known[name] = value, watched[name].matrix
            near[name] = Enclosure.exact(value**2 if watched[name].squared else value)
        return any(not self._holds(c, near) for c in open_ones)

    def _names(self, conclusion: Conclusion) -> set[str]:
        assert conclusion.claim is not None
        return {s.name for s in conclusion.claim.free_symbols & set(self.promise.theorem.monitored)}

    def _holds(self, conclusion: Conclusion, near: Mapping[str, Enclosure]) -> bool:
        assert conclusion.claim is not None
        now: dict[Symbol, Enclosure] = {s: near[s.name] for s in self.promise.theorem.monitored if s.name in near}
        lhs, rhs = sides(conclusion.claim, {**self.promise.values, **now})
        return decide(conclusion.claim, lhs, rhs) is HOLDS

    def _near(self, name: str, one: Watched) -> Enclosure:
        if name not in self.known:
            return Enclosure.between(0, float("inf"))
        value, matrix = self.known[name]
        room = self._room.setdefault(tuple(matrix.shape), torch.empty_like(matrix))
        moved = float(torch.sub(one.matrix, matrix, out=room).norm())
        if not moved < float("inf"):
            return Enclosure.between(0, float("inf"))
        near = Enclosure.between(max(0.0, value - moved), value + moved)
        return near**2 if one.squared else near


def _value(one: Watched) -> float:
    """The norm or the smallest singular value, in floats."""
    x = one.matrix
    if x.dim() == 1:
        return float(x.norm())
    wide = x if x.shape[0] <= x.shape[1] else x.T
    if one.least:
        return _least(x) if x.shape[0] <= x.shape[1] else 0.0
    v = rigor.top_vector(lambda u: wide @ (wide.T @ u), wide[:, 0], 32)
    return float((wide.T @ v).norm()) / float(v.norm())


def _least(x: Tensor) -> float:
    """sqrt(lambda_min(X X^T)) by Lanczos on the inverse; 0 where the Gram matrix is singular in floats."""
    gram = x @ x.T
    factor, info = torch.linalg.cholesky_ex(gram)
    if int(info) != 0:
        return 0.0
    v = rigor.top_vector(lambda u: torch.cholesky_solve(u[:, None], factor)[:, 0], gram, 16)
    return math.sqrt(max(0.0, float(v @ (gram @ v)) / float(v @ v)))
