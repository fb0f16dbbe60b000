"""Points of the monotone DEQ: parameters, data, and what is proved of the equilibrium on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from deqcheck.data import Data
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.matrix import Matrix
from deqcheck.equilibrium import mondeq as proof
from deqcheck.equilibrium import mondeq_derivative as derivative
from deqcheck.equilibrium.engine import Equilibrium
from deqcheck.error import InputError
from deqcheck.family import (
    Family,
    Setting,
    Settings,
    auto_or_positive,
    number,
    one_of,
    positive,
    text,
    whole,
)
from deqcheck.models.mondeq import DEFAULT_INITIALISATION, INITIALISATIONS, MonDEQ

# 192-bit linear algebra is worth its time only for models this small.
PRECISE_LIMIT = 30_000


@dataclass(frozen=True)
class MonPoint:
    """One set of parameters on one data set. Everything measured of it is computed once."""

    model: MonDEQ
    X: Tensor
    y: Tensor
    step: float | None = None
    """alpha of the forward-backward operator; None: m / L^2."""
    distance: float = 0.1
    seed: int = 0

    @cached_property
    def weights(self) -> proof.Weights:
        """Certified facts about W."""
        return proof.weights(self.model)

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """The equilibrium and the proof of its radius."""
        return proof.enclose(self.model, self.X, self.weights)

    @property
    def Z(self) -> Tensor:
        """The computed equilibrium, one sample per row."""
        return self.equilibrium.Z

    @property
    def radius(self) -> Enclosure:
        """[0, r]: the true equilibrium lies within r of Z in Frobenius norm."""
        return self.equilibrium.radius

    @cached_property
    def pattern(self) -> proof.Pattern:
        """The active units, and how far every unit stays from its kink."""
        return proof.pattern(self.model, self.X, self.weights, self.equilibrium)

    @cached_property
    def adjoint(self) -> proof.Adjoint:
        """(I - W^T J_i)^-1 u for every sample. Meaningful only where the pattern is certain."""
        return proof.adjoint(self.model, self.pattern.active, self.weights)

    @cached_property
    def bottom(self) -> Enclosure:
        """lambda_min of sym(I - W), from the float W alone."""
        return proof.symmetric_bottom(self.model, self.weights.slip)

    @cached_property
    def alpha(self) -> float:
        """The step of T_alpha; by default the one that makes the bound of Proposition 3 smallest."""
        if self.step is not None:
            return self.step
        return float(f"{self.model.m / self.weights.lipschitz.midpoint() ** 2:.6g}")

    @cached_property
    def precise(self) -> tuple[Matrix, Enclosure] | None:
        """The equilibrium in 192-bit arithmetic, for small models."""
        samples, width = self.Z.shape
        if samples * width * width > PRECISE_LIMIT:
            return None
        return proof.enclose_precisely(self.model, self.X, self.weights, self.equilibrium)

    @cached_property
    def neighbour(self) -> MonPoint:
        """Other parameters at relative distance `distance` in a random direction (Lemma 3.3.4)."""
        rng = np.random.default_rng([self.seed, 3])
        A, B, U, u = (
            w + _like(rng.standard_normal(tuple(w.shape)), w) * (self.distance * _spread(w))
            for w in (self.model.A, self.model.B, self.model.U, self.model.u)
        )
        return replace(self, model=MonDEQ(A, B, U, u, self.model.m))

    @cached_property
    def disagreement(self) -> derivative.Disagreement:
        """The formulas for the derivatives against automatic differentiation."""
        return derivative.compare(
            self.model, self.X, self.y, self.Z, self.pattern.active, self.adjoint.G,
            self.weights.lipschitz.floats()[1], self.seed,
        )  # fmt: skip

    def scaled(self, beta: float) -> MonPoint:
        """The point with U multiplied by beta and u divided by it."""
        return replace(self, model=self.model.scaled(beta))


def _like(array: np.ndarray, tensor: Tensor) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)).to(tensor.device)


def _spread(w: Tensor) -> float:
    """The entry size at which Gaussian weights of this shape have about the norm of w."""
    if w.dim() == 1:
        return float(w.norm()) / math.sqrt(w.shape[0])
    norm = float(torch.linalg.matrix_norm(w, 2))
    return norm / (math.sqrt(w.shape[0]) + math.sqrt(w.shape[1]))


def monotonicity(name: str, given: str) -> float:
    """m > 0: without it I - W need not be strongly monotone, and no equilibrium is promised."""
    m = number(name, given)
    if m <= 0:
        raise InputError(
            f"{name} must be positive, not {given}: I - W is strongly monotone with constant {name}; "
            f"take {name} above 0, such as 1."
        )
    if not 1e-100 <= m <= 1e100:
        raise InputError(f"{name} = {given} is beyond what float64 can carry; take 1e-100 to 1e100.")
    return m


def _memory(samples: int, dim: int, settings: Settings) -> int:
    n = int(settings["width"] or 0)
    numbers = 16 * samples * n + 16 * n * n + 4 * samples * samples + 2 * dim * (samples + n)
    return 8 * (numbers + 2 * max(2**24, n * n))


def build(data: Data, settings: Settings, device: str) -> MonPoint:
    """The point as initialised."""
    n, seed = int(settings["width"] or 0), int(settings["seed"] or 0)
    X, y = (torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in (data.X, data.y))
    initialise = INITIALISATIONS[str(settings["init"])]
    arrays = initialise(X.shape[1], n, np.random.default_rng([seed, 2]))
    A, B, U, u = (torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in arrays)
    m = float(str(settings["m"]))
    return MonPoint(
        MonDEQ(A, B, U, u, m),
        X,
        y,
        None if settings.get("alpha", "auto") == "auto" else float(str(settings["alpha"])),
        float(str(settings.get("distance", 0.1))),
        seed,
    )


FAMILY = Family(
    name="mondeq",
    equation="z = relu(W z + U x),  W = (1 − m) I − AᵀA + B − Bᵀ,  ŷ = uᵀz",
    settings=(
        Setting("width", 200, whole(1), "width n of the implicit layer"),
        Setting("samples", None, whole(1), "number of samples N (default: half the width)"),
        Setting("dim", None, whole(1), "input dimension d of the built-in data (default: 100)"),
        Setting("seed", 0, whole(0), "seed of the data and of the initialisation"),
        Setting("data", "sphere", text, "built-in generator, or a file with inputs and labels"),
        Setting("classes", None, text, "two classes of a labelled file, such as 0,1"),
        Setting("init", DEFAULT_INITIALISATION, one_of(*INITIALISATIONS), "initialisation by name"),
        Setting("m", 1.0, monotonicity, "strong monotonicity m of I - W"),
        Setting(
            "alpha",
            "auto",
            auto_or_positive,
            "step of the forward-backward operator; auto: m / L^2",
            special=True,
        ),
        Setting(
            "scale",
            1.0,
            auto_or_positive,
            "factor on U(0), and u(0) divided by it; auto: the smallest that works",
        ),
        Setting(
            "eta",
            "auto",
            auto_or_positive,
            "step size; auto: the largest that is allowed",
            special=True,
        ),
        Setting(
            "distance",
            0.1,
            positive,
            "relative distance of the second set of weights",
            special=True,
        ),
    ),
    memory=_memory,
    build=build,
)
