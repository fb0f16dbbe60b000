"""The vanilla DEQ of Ling et al. (2023): Z = relu(W Z + U X), prediction a^T Z, samples as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor


@dataclass(frozen=True)
class VanillaDeq:
    """Parameters (W, U, a) of eq. (2); columns of X are samples."""

    W: Tensor
    U: Tensor
    a: Tensor

    def layer(self, Z: Tensor, UX: Tensor) -> Tensor:
        """One transition, eq. (1), with U X computed beforehand."""
        return torch.relu(self.W @ Z + UX)

    def predict(self, Z: Tensor) -> Tensor:
        """a^T Z, one number per sample."""
        return Z.T @ self.a


Parameters = tuple[np.ndarray, np.ndarray, np.ndarray]


def gaussian(d: int, m: int, sigma2: float, rng: Generator) -> Parameters:
    """Assumption 1: W_ij ~ N(0, 2 sigma_w^2 / m), U_ij ~ N(0, 2/d), a_i ~ N(0, 1/m)."""
    W = rng.standard_normal((m, m)) * math.sqrt(2 * sigma2 / m)
    U = rng.standard_normal((m, d)) * math.sqrt(2 / d)
    return W, U, rng.standard_normal(m) / math.sqrt(m)


def _zero_output(d: int, m: int, sigma2: float, rng: Generator) -> Parameters:
    """W and U as in Assumption 1, a = 0: not the paper's recipe, but one that (9) can live with."""
    W, U, a = gaussian(d, m, sigma2, rng)
    return W, U, np.zeros_like(a)


INITIALISATIONS: Mapping[str, Callable[[int, int, float, Generator], Parameters]] = {
    "gaussian": gaussian,
    "zero-output": _zero_output,
}
DEFAULT_INITIALISATION = "gaussian"


def initialise(name: str, d: int, m: int, sigma2: float, seed: int, like: Tensor) -> VanillaDeq:
    """The model of this seed, on the device of `like`."""
    arrays = INITIALISATIONS[name](d, m, sigma2, np.random.default_rng([seed, 2]))
    W, U, a = (torch.from_numpy(np.ascontiguousarray(x)).to(like.device) for x in arrays)
    return VanillaDeq(W, U, a)
