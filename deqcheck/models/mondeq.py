"""The monotone DEQ of Winston & Kolter as Nguyen (2022) trains it: z = relu(W z + U x), prediction u^T z.

The parameters are A, B, U, u and the number m; W = (1 - m) I - A^T A + B - B^T, eq. (3.3). The thesis
stacks samples as columns; here they are rows, so Z = relu(Z W^T + X U^T) with Z in R^{N x n}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor


@dataclass(frozen=True)
class MonDEQ:
    """Parameters (A, B, U, u) and the monotonicity m; rows of X are samples."""

    A: Tensor
    B: Tensor
    U: Tensor
    u: Tensor
    m: float

    @cached_property
    def W(self) -> Tensor:
        """W of eq. (3.3), rounded: the real W is a little off, and by how much is bounded elsewhere."""
        return weights(self.A, self.B, self.m)

    def injection(self, X: Tensor) -> Tensor:
        """U x for every sample."""
        return X @ self.U.T

    def layer(self, Z: Tensor, injected: Tensor) -> Tensor:
        """One transition, eq. (3.1)."""
        return torch.relu(Z @ self.W.T + injected)

    def predict(self, Z: Tensor) -> Tensor:
        """u^T z for every sample."""
        return Z @ self.u

    def scaled(self, beta: float) -> MonDEQ:
        """U times beta and u over beta, which keeps the prediction: relu(beta z) = beta relu(z), so Z grows by beta.

        In floats both are rounded; what is checked afterwards is the rounded model.
        """
        return MonDEQ(self.A, self.B, beta * self.U, self.u / beta, self.m)


def weights(A: Tensor, B: Tensor, m: float) -> Tensor:
    """W = (1 - m) I - A^T A + B - B^T, in differentiable operations."""
    return (B - B.T) - A.T @ A + (1 - m) * torch.eye(A.shape[0], dtype=A.dtype, device=A.device)


Parameters = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _gaussian(std: float) -> Callable[[int, int, Generator], Parameters]:
    def draw(d: int, n: int, rng: Generator) -> Parameters:
        A, B, U, u = (rng.standard_normal(s) * std for s in ((n, n), (n, n), (n, d), (n,)))
        return A, B, U, u

    return draw


def _linear(d: int, n: int, rng: Generator) -> Parameters:
    """Uniform on +-1/sqrt(fan-in), the rule of torch.nn.Linear, with which Winston & Kolter start."""
    A, B, U, u = (
        rng.uniform(-1, 1, shape) / math.sqrt(fan) for shape, fan in (((n, n), n), ((n, n), n), ((n, d), d), ((n,), n))
    )
    return A, B, U, u


def _signed(d: int, n: int, _rng: Generator) -> Parameters:
    """A = B = 0, u = 0, rows e_1, -e_1, e_2, -e_2, ... of U: not a recipe of the thesis, but one to work by hand."""
    U = np.zeros((n, d))
    for i in range(n):
        U[i, (i // 2) % d] = -1.0 if i % 2 else 1.0
    return np.zeros((n, n)), np.zeros((n, n)), U, np.zeros(n)


INITIALISATIONS: Mapping[str, Callable[[int, int, Generator], Parameters]] = {
    "small": _gaussian(0.1),
    "normal": _gaussian(1.0),
    "linear": _linear,
    "signed": _signed,
}
"""small and normal: N(0, 0.01) and N(0, 1), the two that Section 4.1.1 compares. The thesis names none
for its theorems, and leaves open under which of them the conditions on lambda_0 can be met."""
DEFAULT_INITIALISATION = "small"
