"""Points of the ReLU implicit network: a model, its data, and an equilibrium proved on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.data import Data
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.matrix import Matrix
from deqcheck.equilibrium import closed_form, engine
from deqcheck.equilibrium.equation import Equation
from deqcheck.error import InputError
from deqcheck.family import (
    Family,
    Setting,
    Settings,
    auto_or_positive,
    one_of,
    positive,
    text,
    whole,
)
from deqcheck.models.relu import (
    DEFAULT_INITIALISATION,
    INITIALISATIONS,
    ReluImplicit,
    gradients,
    kernel,
    masks,
    unrolled,
)
from deqcheck.truth import HOLDS

# 192-bit linear algebra is worth its time only for models this small (entries of Z times width).
PRECISE_LIMIT = 30_000


@dataclass(frozen=True)
class ReluPoint:
    """One set of parameters on one data set. Everything measured of it is computed once."""

    model: ReluImplicit
    X: Tensor
    y: Tensor
    distance: float = 0.1
    seed: int = 0
    blocks: int = 16

    @cached_property
    def norm_A(self) -> Enclosure:
        """||A||, certified."""
        return rigor.spectral_norm(self.model.A)

    @cached_property
    def equilibrium(self) -> engine.Equilibrium:
        """The equilibrium and the proof of its radius."""
        return engine.enclose(self.model, self.X, self.norm_A)

    @property
    def Z(self) -> Tensor:
        """The computed equilibrium."""
        return self.equilibrium.Z

    @property
    def radius(self) -> Enclosure:
        """[0, r]: the true equilibrium lies within r of Z in Frobenius norm."""
        return self.equilibrium.radius

    @cached_property
    def precise(self) -> tuple[Matrix, Enclosure] | None:
        """The equilibrium in 192-bit arithmetic, for small models whose well-posedness is proved."""
        n, m = self.Z.shape
        if n * m * m > PRECISE_LIMIT or (self.equilibrium.contraction < 1) is not HOLDS:
            return None
        return engine.enclose_precisely(self.model, self.X, self.equilibrium)

    @cached_property
    def neighbour(self) -> ReluPoint:
        """A second pair (W, A) at relative distance `distance` in a random direction (Lemma 4.3)."""
        rng = np.random.default_rng([self.seed, 3])
        shifted = [
            w + _like(rng.standard_normal(tuple(w.shape)), w) * size
            for w, size in (
                (self.model.W, self.distance * _spread(self.model.W)),
                (self.model.A, self.distance * _spread(self.model.A)),
            )
        ]
        model = ReluImplicit(shifted[0], shifted[1], self.model.b, self.model.gamma)
        return replace(self, model=model)

    @cached_property
    def block_sigma_min(self) -> Enclosure:
        """min over the first `blocks` samples of sigma_min(I - gamma D_i A^T): the blocks of Q, certified.

        The activation pattern D_i is the computed one; Q is block-diagonal over samples.
        """
        D, _ = masks(self.model, self.X, self.Z)
        bounds = []
        identity = torch.eye(self.model.A.shape[0], dtype=D.dtype, device=D.device)
        for row in D[: self.blocks]:
            product = self.model.gamma * (row[:, None] * self.model.A.T)
            block = identity - product
            slip = rigor.relative_error(2) * (rigor.frobenius(product) + rigor.frobenius(block))
            bounds.append(rigor.sigma_min(block, rigor.THOROUGH).widen(slip).maximum(0))
        return reduce(Enclosure.minimum, bounds)

    @cached_property
    def gradient_difference(self) -> float:
        """Largest relative difference between eqs. (7)-(9) and autograd through the unrolled layers."""
        prediction, leaves = unrolled(self.model, self.X, self.depth)
        loss = ((prediction - self.y) ** 2).sum() / 2
        wanted = torch.autograd.grad(loss, (leaves.W, leaves.A, leaves.b))
        found = gradients(self.model, self.X, self.y, self.Z)
        sizes = [max(float(w.norm()), float(f.norm())) for w, f in zip(wanted, found, strict=True)]
        top = max(sizes)
        apart = [float((w - f).norm()) for w, f in zip(wanted, found, strict=True)]
        return max(a / s if s > 1e-12 * top else a / top for a, s in zip(apart, sizes, strict=True)) if top else 0.0

    @cached_property
    def kernel_difference(self) -> float:
        """Relative difference between H of eqs. (11)-(13) and J J^T with J by autograd."""
        prediction, leaves = unrolled(self.model, self.X, self.depth)
        rows = [
            torch.cat(
                [g.reshape(-1) for g in torch.autograd.grad(p, (leaves.W, leaves.A, leaves.b), retain_graph=True)]
            )
            for p in prediction
        ]
        jacobian = torch.stack(rows)
        found = kernel(self.model, self.X, self.Z)
        return float((found - jacobian @ jacobian.T).norm() / found.norm())

    @property
    def depth(self) -> int:
        """Layers after which the unrolled network is the equilibrium to float precision."""
        q = self.equilibrium.contraction.floats()[1]
        return min(5000, 5 + math.ceil(-38 / math.log(q))) if q > 0 else 5

    def scaled(self, beta: float) -> ReluPoint:
        """The point with theta multiplied by beta and gamma divided by it."""
        return replace(self, model=self.model.scaled(beta))

    def iterate_norm(self, count: int) -> Enclosure:
        """max over l <= count of ||Z^l||_F for the exact iterates from zero."""
        q = self.equilibrium.contraction
        Z, error = torch.zeros_like(self.Z), Enclosure.exact(0)
        largest = Enclosure.exact(0)
        for _ in range(count):
            Z, delta = engine.apply_layer(self.model, self.X, Z)
            error = Enclosure.from_zero(q * error + delta)
            largest = largest.maximum(rigor.frobenius(Z).widen(error).maximum(0))
        return largest

    def distance_to_closed_form(self) -> Enclosure:
        """[0, bound] on ||Z - Phi (I - gamma A)^-1||_F, from the residual of a computed solution."""
        Phi = self.model.features(self.X)
        S = closed_form.linear(Equation(self.model.gamma * self.model.A, Phi))
        product = self.model.gamma * (S @ self.model.A)
        residual = S - product - Phi
        gamma = Enclosure.exact(self.model.gamma)
        slip = (
            rigor.product_error(self.X, self.model.W)
            + gamma * rigor.product_error(S, self.model.A)
            + rigor.relative_error(3) * (rigor.frobenius(product) + rigor.frobenius(S) + rigor.frobenius(Phi))
            + 4 * S.numel() * rigor.TINY
        )
        off = (rigor.frobenius(residual) + slip) / (1 - self.equilibrium.contraction)
        apart = rigor.frobenius(self.Z - S) * (1 + rigor.relative_error(1))
        return Enclosure.from_zero(apart + off + self.radius)


def _like(array: np.ndarray, tensor: Tensor) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)).to(tensor.device)


def _spread(w: Tensor) -> float:
    """The entry size at which a Gaussian matrix of this shape has about the operator norm of w."""
    norm = float(torch.linalg.matrix_norm(w, 2))
    return norm / (math.sqrt(w.shape[0]) + math.sqrt(w.shape[1]))


def _memory(samples: int, dim: int, settings: Settings) -> int:
    m = int(settings["width"] or 0)
    numbers = 10 * samples * m + 8 * m * m + 4 * samples * samples + 2 * samples * dim + 2 * dim * m
    return 8 * numbers


def build(data: Data, settings: Settings, device: str) -> ReluPoint:
    """The point at scale 1: initialised by name, gamma fixed before anything is measured."""
    m, seed = int(settings["width"] or 0), int(settings["seed"] or 0)
    X, y = (torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in (data.X, data.y))
    initialise = INITIALISATIONS[str(settings["init"])]
    arrays = initialise(X.shape[1], m, np.random.default_rng([seed, 2]))
    W, A, b = (torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in arrays)
    top = rigor.spectral_norm(A)
    wanted = settings["gamma"]
    gamma = float(f"{0.5 / top.midpoint():.6g}") if wanted == "auto" else float(str(wanted))
    if (top * Enclosure.exact(gamma) < 1) is not HOLDS:
        limit = 1 / top.floats()[1]
        raise InputError(
            f"gamma = {gamma:g} is not below 1/||A|| = {limit:.6g}, so an equilibrium need not exist; "
            f"take --gamma below {limit:.6g} or leave it at auto."
        )
    return ReluPoint(
        ReluImplicit(W, A, b, gamma), X, y, float(str(settings.get("distance", 0.1))), seed,
        int(str(settings.get("blocks", 16))),
    )  # fmt: skip


FAMILY = Family(
    name="relu",
    equation="Z = relu(γ Z A + relu(X W)),  ŷ = Z b",
    settings=(
        Setting("width", 400, whole(1), "width m of the implicit layer"),
        Setting("samples", None, whole(1), "number of samples N (default: half the width)"),
        Setting("dim", None, whole(1), "input dimension d of the built-in data (default: 100)"),
        Setting("seed", 0, whole(0), "seed of the data and of the initialisation"),
        Setting("data", "sphere", text, "built-in generator, or a file with inputs and labels"),
        Setting("classes", None, text, "two classes of a labelled file, such as 0,1"),
        Setting("init", DEFAULT_INITIALISATION, one_of(*INITIALISATIONS), "initialisation by name"),
        Setting(
            "scale",
            "auto",
            auto_or_positive,
            "factor beta on theta(0); auto: the smallest that works",
        ),
        Setting("gamma", "auto", auto_or_positive, "the scalar gamma at scale 1; auto: 1/(2 ||A||)"),
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
            "relative distance of the second pair of weights",
            special=True,
        ),
    ),
    memory=_memory,
    build=build,
)
