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


def masks(model: ReluImplicit, X: Tensor, Z: Tensor) -> tuple[Tensor, Tensor]:
    """The diagonals of D and E: where the layer and the features are active, with relu'(0) = 0."""
    features = X @ model.W
    inner = model.gamma * (Z @ model.A) + torch.relu(features)
    return (inner > 0).to(Z.dtype), (features > 0).to(Z.dtype)


def adjoint(model: ReluImplicit, D: Tensor, G: Tensor, tolerance: float = 1e-15, limit: int = 20_000) -> Tensor:
    """D V for the solution of Q^T vec(V) = vec(G), sample by sample: V = G + gamma (D V) A^T.

    Q = I - gamma D (A^T x I_N) is never formed; the iteration contracts at gamma ||A||.
    """
    active = D * G
    for _ in range(limit):
        after = D * (G + model.gamma * (active @ model.A.T))
        moved, size = float((after - active).norm()), float(after.norm())
        active = after
        if moved <= tolerance * size:
            break
    return active


def gradients(model: ReluImplicit, X: Tensor, y: Tensor, Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(dL/dW, dL/dA, dL/db) by Lemma 3.2, eqs. (7)-(9), without any Kronecker product."""
    D, E = masks(model, X, Z)
    error = model.predict(Z) - y
    active = adjoint(model, D, torch.outer(error, model.b))
    return X.T @ (E * active), model.gamma * (Z.T @ active), Z.T @ error


def kernel(model: ReluImplicit, X: Tensor, Z: Tensor) -> Tensor:
    """H = Z Z^T + M M^T + Pi Pi^T of Lemma 4.1, eqs. (11)-(13), from one adjoint per sample."""
    D, E = masks(model, X, Z)
    active = adjoint(model, D, model.b.expand_as(Z))
    gram = Z @ Z.T
    inner = E * active
    return gram + model.gamma**2 * gram * (active @ active.T) + (X @ X.T) * (inner @ inner.T)


def unrolled(model: ReluImplicit, X: Tensor, depth: int) -> tuple[Tensor, ReluImplicit]:
    """Predictions after `depth` layers with autograd recording, and the leaves to differentiate by."""
    W, A, b = (p.detach().clone().requires_grad_() for p in (model.W, model.A, model.b))
    leaves = ReluImplicit(W, A, b, model.gamma)
    Phi = leaves.features(X)
    Z = torch.zeros_like(Phi)
    for _ in range(depth):
        Z = leaves.layer(Z, Phi)
    return leaves.predict(Z), leaves


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
