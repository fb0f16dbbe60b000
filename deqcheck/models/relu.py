"""The ReLU implicit network of Gao & Gao (2022): Z = relu(gamma Z A + relu(X W)), prediction Z b."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor


@dataclass(frozen=True)
class ReluImplicit:
    """Parameters (W, A, b) and the fixed scalar gamma; rows of X are samples."""

    W: Tensor
    A: Tensor
    b: Tensor
    gamma: float

    def features(self, X: Tensor) -> Tensor:
        """Phi = relu(X W), eq. (3)."""
        return torch.relu(X @ self.W)

    def layer(self, Z: Tensor, Phi: Tensor) -> Tensor:
        """One transition, eq. (1)."""
        return torch.relu(self.gamma * (Z @ self.A) + Phi)

    def predict(self, Z: Tensor) -> Tensor:
        """Z b."""
        return Z @ self.b

    def scaled(self, beta: float) -> ReluImplicit:
        """theta multiplied by beta and gamma divided by it, so that gamma ||A|| does not move.

        The recipe in Section 7 leaves gamma alone; with it, gamma ||A|| passes 1 and no equilibrium
        need exist. In floats the product is rounded; what is checked afterwards is the rounded model.
        """
        return ReluImplicit(beta * self.W, beta * self.A, beta * self.b, self.gamma / beta)


Parameters = tuple[np.ndarray, np.ndarray, np.ndarray]


def _experiment(d: int, m: int, rng: Generator) -> Parameters:
    """Section 7: W_ij ~ N(0, 1/m), A = I, b = 0."""
    return rng.standard_normal((d, m)) / math.sqrt(m), np.eye(m), np.zeros(m)


def _linear_width(d: int, m: int, rng: Generator) -> Parameters:
    """Section 5.1: W by LeCun's rule W_ij ~ N(0, 1/d), A = ||W|| I, b = 0."""
    W = rng.standard_normal((d, m)) / math.sqrt(d)
    return W, np.linalg.norm(W, 2) * np.eye(m), np.zeros(m)


def _random(d: int, m: int, rng: Generator) -> Parameters:
    """Section 5.2, eq. (27): W_ij ~ N(0, 1), A_ij ~ |N|(0, 1), b_i ~ N(0, 1/m)."""
    W = rng.standard_normal((d, m))
    A = np.abs(rng.standard_normal((m, m)))
    return W, A, rng.standard_normal(m) / math.sqrt(m)


INITIALISATIONS: Mapping[str, Callable[[int, int, Generator], Parameters]] = {
    "experiment": _experiment,
    "linear-width": _linear_width,
    "random": _random,
}
DEFAULT_INITIALISATION = "experiment"
