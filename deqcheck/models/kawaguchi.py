"""The deep equilibrium linear model of Kawaguchi (2021): z = gamma sigma(A) z + phi(x), output B z.

sigma is the softmax of each column, so that gamma sigma(A) has 1-norm gamma < 1 whatever A is. The only
nonlinearity acts on the weights; columns of Phi are samples, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor


@dataclass(frozen=True)
class LinearImplicit:
    """Parameters A (m, m) and B (m_y, m), and the fixed scalar gamma in (0, 1)."""

    A: Tensor
    B: Tensor
    gamma: float

    def sigma(self) -> Tensor:
        """sigma(A): every column is a probability vector."""
        return torch.softmax(self.A, dim=0)

    def U(self) -> Tensor:
        """I - gamma sigma(A)."""
        m = self.A.shape[0]
        U: Tensor = torch.eye(m, dtype=self.A.dtype, device=self.A.device)
        return U - self.gamma * self.sigma()

    def equilibrium(self, Phi: Tensor) -> Tensor:
        """z* = U^-1 phi(x) for every sample."""
        Z: Tensor = torch.linalg.solve(self.U(), Phi)
        return Z

    def predict(self, Phi: Tensor) -> Tensor:
        """B z*."""
        return self.B @ self.equilibrium(Phi)


def objective(loss: str, q: Tensor, Y: Tensor, tau: float) -> Tensor:
    """L as a sum over samples, in plain floats and differentiable: for training and for tests."""
    if loss == "square":
        return ((q - Y) ** 2).sum()
    return (torch.nn.functional.softplus(q) - Y * q + tau * q**2).sum()


Parameters = tuple[np.ndarray, np.ndarray]


def _random(outputs: int, m: int, rng: Generator) -> Parameters:
    """Appendix D: every entry of A and B is N(0, 1/m)."""
    A = rng.standard_normal((m, m)) / math.sqrt(m)
    return A, rng.standard_normal((outputs, m)) / math.sqrt(m)


def _identity(outputs: int, m: int, _rng: Generator) -> Parameters:
    """Section 4, which does not say what is the identity: here A and (as far as it goes) B."""
    return np.eye(m), np.eye(outputs, m)


INITIALISATIONS: Mapping[str, Callable[[int, int, Generator], Parameters]] = {
    "random": _random,
    "identity": _identity,
}
DEFAULT_INITIALISATION = "random"


def identity_features(X: np.ndarray, _m: int, _rng: Generator) -> np.ndarray:
    """phi(x) = x, as in all experiments of the paper; columns are samples."""
    return np.ascontiguousarray(X.T)


def relu_features(X: np.ndarray, m: int, rng: Generator) -> np.ndarray:
    """phi(x) = relu(W x), W_ij ~ N(0, 1/d): a feature map whose width is not the input dimension.

    phi is arbitrary in the paper; what floats compute here is phi, so no rounding is left to prove.
    """
    W = rng.standard_normal((m, X.shape[1])) / math.sqrt(X.shape[1])
    Phi: np.ndarray = np.maximum(W @ X.T, 0.0)
    return Phi
