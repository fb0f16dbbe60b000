"""Points of the vanilla DEQ of Ling et al. (2023): a model, its data, and further draws of the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.data import GENERATORS, Data
from deqcheck.enclosure import Enclosure
from deqcheck.enclosure.kernel import Population, Symmetric
from deqcheck.equilibrium import engine, ling
from deqcheck.error import InputError
from deqcheck.family import (
    Family,
    Setting,
    Settings,
    auto_or_positive,
    number,
    one_of,
    text,
    whole,
)
from deqcheck.models.ling import DEFAULT_INITIALISATION, INITIALISATIONS, VanillaDeq, initialise
from deqcheck.truth import HOLDS

# 192-bit inner products of the inputs are worth their time up to so many multiplications.
EXACT_INPUTS = 20_000_000
# Up to this width a single thread is as quick as several.
SMALL = 600


@dataclass(frozen=True)
class Gradient:
    """The gradient (3) at the equilibrium, and the matrix H of (4), each with its error."""

    W: ling.Known
    U: ling.Known
    a: ling.Known
    H: ling.Known


@dataclass(frozen=True)
class Draw:
    """What Theorems 2, 4 and 5 say of one random model: everything certified, layer by layer."""

    width: int
    lambda_0: Enclosure
    to_equilibrium: tuple[Enclosure, ...]
    """||G - G^(l)||_F / m for l = 1, 2, ..."""
    to_population: tuple[Enclosure, ...]
    """||G^(l) / m - K^(l)||_F for l = 1, 2, ..."""


@dataclass(frozen=True)
class LingPoint:
    """One set of parameters on one data set. Everything measured of it is computed once."""

    model: VanillaDeq
    X: Tensor
    y: Tensor
    sigma2: float
    depth: int = 0
    trials: int = 0
    seed: int = 0
    about_equilibrium: bool = True
    """Whether a report should show this model's equilibrium; not where only draws are looked at."""

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[1])

    @property
    def d(self) -> int:
        """Input dimension."""
        return int(self.X.shape[0])

    @property
    def m(self) -> int:
        """Width."""
        return int(self.model.W.shape[0])

    @cached_property
    def norm_W(self) -> Enclosure:
        """||W||, certified."""
        return rigor.spectral_norm(self.model.W)

    @cached_property
    def solved(self) -> engine.Equilibrium:
        """The equilibrium and the proof of its radius."""
        return ling.enclose(self.model, self.X, self.norm_W)

    @property
    def equilibrium(self) -> engine.Equilibrium | None:
        """What the report shows."""
        return self.solved if self.about_equilibrium else None

    @property
    def Z(self) -> ling.Known:
        """The computed equilibrium and its distance from the true one."""
        return self.solved.Z, self.solved.radius

    @cached_property
    def gram(self) -> ling.Known:
        """G = Z^T Z."""
        return ling.gram(self.Z)

    def lambda_0(self, effort: int) -> Enclosure:
        """lambda_min(G) as the square of the smallest singular value of Z; 0 when m < n."""
        Z, radius = self.Z
        if Z.shape[1] > Z.shape[0]:
            return Enclosure.exact(0)
        smallest = rigor.sigma_min(Z.T.contiguous(), effort).widen(radius).maximum(0)
        return smallest * smallest

    @cached_property
    def residual(self) -> ling.Known:
        """r = a^T Z - y as a column."""
        Z, radius = self.Z
        a = self.model.a[:, None]
        prediction = Z.T @ a
        r = prediction - self.y[:, None]
        error = rigor.product_error(Z.T, a) + radius * rigor.frobenius(a) + rigor.relative_error(1) * rigor.frobenius(r)
        return r, Enclosure.from_zero(error)

    # --- gradients -----------------------------------------------------------------------------------

    @cached_property
    def gradient(self) -> Gradient | None:
        """Lemma 2 at the true equilibrium; None if the activation pattern there is not proved.

        R is block diagonal with blocks b_i^T, so R^T r has the columns r_i b_i, and
        H = G + (G + X^T X) o (B^T B), where o is the entrywise product: nothing of size m n x m n.
        """
        D = None
        if (self.norm_W < 1) is HOLDS:
            D = ling.pattern(self.model, self.X, self.solved)
        if D is None:
            return None
        B = ling.adjoint(self.model, D, self.norm_W)
        r, slack = self.residual
        V = ling.hadamard(B, (r.T.expand_as(B[0]), slack * Enclosure.exact(self.m).sqrt()))
        nothing = Enclosure.exact(0)
        Z, radius = self.Z
        inputs = ling.gram((self.X, nothing))
        return Gradient(
            W=ling.product(V, (Z.T, radius)),
            U=ling.product(V, (self.X.T, nothing)),
            a=ling.product((Z, radius), self.residual),
            H=ling.add(self.gram, ling.hadamard(ling.add(self.gram, inputs), ling.gram(B))),
        )

    @cached_property
    def gradient_square(self) -> Enclosure:
        """||grad Phi||^2; from norms alone where the activation pattern is not proved."""
        if (g := self.gradient) is not None:
            parts = [ling.norm(part) for part in (g.W, g.U, g.a)]
            return parts[0] * parts[0] + parts[1] * parts[1] + parts[2] * parts[2]
        r = ling.norm(self.residual)
        Z, X = ling.norm(self.Z), rigor.frobenius(self.X)
        slope = rigor.frobenius(self.model.a) / (1 - self.norm_W).maximum(0)
        last = ling.norm(ling.product(self.Z, self.residual))
        return Enclosure.between(last * last, (slope * slope * (Z * Z + X * X) + Z * Z) * r * r)

    @cached_property
    def autograd(self) -> tuple[Tensor, Tensor, Tensor]:
        """The gradient by automatic differentiation through enough layers on top of the equilibrium."""
        leaves = [p.detach().clone().requires_grad_() for p in _parameters(self.model)]
        W, U, a = leaves
        q = min(0.99, float(torch.linalg.matrix_norm(self.model.W, 2)))
        layers = 2 + math.ceil(-36 / math.log(max(q, 1e-15)))
        Z = self.solved.Z
        UX = U @ self.X
        for _ in range(layers):
            Z = torch.relu(W @ Z + UX)
        loss = ((Z.T @ a - self.y) ** 2).sum() / 2
        got = torch.autograd.grad(loss, leaves)
        return got[0], got[1], got[2]

    def formula(self) -> tuple[Tensor, Tensor, Tensor]:
        """(3) in floats, with the activation pattern of the computed equilibrium."""
        if (g := self.gradient) is not None:
            return g.W[0], g.U[0], g.a[0][:, 0]
        total, _ = ling.preactivation(self.model, self.X, self.solved.Z)
        B, _ = ling.adjoint(self.model, (total >= 0).to(total.dtype), self.norm_W)
        r = self.residual[0]
        V = B * r.T
        return V @ self.solved.Z.T, V @ self.X.T, (self.solved.Z @ r)[:, 0]

    # --- the population ------------------------------------------------------------------------------

    @cached_property
    def population(self) -> Population:
        """Definition 1 on these inputs."""
        if self.n * self.n * self.d <= EXACT_INPUTS:
            return Population.exact(self.X.T.tolist(), self.sigma2)
        inner = (self.X.T @ self.X) / self.d
        above = inner[torch.triu(torch.ones_like(inner), 1) > 0]
        largest = float((self.X * self.X).sum(dim=0).max()) / self.d
        radius = (rigor.relative_error(self.d + 8) * largest).floats()[1]
        return Population.near(self.n, above.tolist(), radius, self.sigma2)

    @cached_property
    def layers(self) -> list[Symmetric]:
        """K^(0), ..., K^(depth)."""
        return self.population.layers(self.depth)

    @cached_property
    def limit(self) -> Symmetric:
        """K."""
        return self.population.limit()

    @cached_property
    def lambda_star(self) -> Enclosure:
        """lambda_min(K)."""
        return ling.lambda_min(self._tensor(self.limit))

    def _tensor(self, K: Symmetric) -> ling.Known:
        rows, off = K.rows()
        return torch.tensor(rows, dtype=self.X.dtype, device=self.X.device), off * self.n

    # --- further draws -------------------------------------------------------------------------------

    @cached_property
    def draws(self) -> dict[int, tuple[Draw, ...]]:
        """`trials` models at the width m and as many at 2 m, with the seeds after this one."""
        kernels = [self._tensor(K) for K in self.layers[1:]]
        with _few_threads(2 * self.m):
            return {
                width: tuple(self._draw(width, self.seed + k, kernels) for k in range(self.trials))
                for width in (self.m, 2 * self.m)
            }

    def _draw(self, width: int, seed: int, kernels: list[ling.Known]) -> Draw:
        model = initialise("gaussian", self.d, width, self.sigma2, seed, self.X)
        point = LingPoint(model, self.X, self.y, self.sigma2)
        layers = ling.iterates(model, self.X, point.norm_W, self.depth)
        grams = [ling.gram(Z) for Z in layers]
        return Draw(
            width,
            point.lambda_0(rigor.CHEAP),
            tuple(ling.distance(point.gram, G) / width for G in grams),
            tuple(ling.distance(G, K, width) for G, K in zip(grams, kernels, strict=True)),
        )

    @cached_property
    def drawn_norms(self) -> dict[int, tuple[float, ...]]:
        """||W|| in floats for `trials` draws at the width m and as many at 2 m."""
        with _few_threads(2 * self.m):
            return {
                width: tuple(self._norm(width, np.random.default_rng([self.seed + k, 2])) for k in range(self.trials))
                for width in (self.m, 2 * self.m)
            }

    def _norm(self, width: int, rng: np.random.Generator) -> float:
        W = rng.standard_normal((width, width)) * math.sqrt(2 * self.sigma2 / width)
        return float(torch.linalg.matrix_norm(torch.from_numpy(W).to(self.X.device), 2))


@contextmanager
def _few_threads(width: int) -> Iterator[None]:
    """One thread for many small products: on a busy machine several only wait for each other."""
    before = torch.get_num_threads()
    if width <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _parameters(model: VanillaDeq) -> tuple[Tensor, Tensor, Tensor]:
    return model.W, model.U, model.a


# --- building ----------------------------------------------------------------------------------------


def variance(name: str, value: str) -> float:
    """sigma_w^2 in (0, 1/8), as Assumption 1 asks."""
    sigma2 = number(name, value)
    if not 0 < sigma2 < 0.125:
        raise InputError(
            f"{name} = {value} is outside (0, 1/8): Assumption 1 asks for sigma_w^2 < 1/8, "
            "the paper's experiments take 0.08."
        )
    return sigma2


def inputs(rows: np.ndarray, how: str, builtin: bool) -> np.ndarray:
    """The inputs of norm sqrt(d) as columns: orthogonalised, or in the directions given."""
    n, d = rows.shape
    orthogonal = how == "orthogonal" or (how == "auto" and builtin)
    if orthogonal and n > d:
        raise InputError(
            f"{n} samples of dim {d} cannot be orthogonal, as Assumption 2 is printed; take at most {d} "
            "samples, a larger --dim, or --with inputs=given to keep their directions."
        )
    directions = np.linalg.qr(rows.T)[0] if orthogonal else rows.T
    return np.ascontiguousarray(directions * math.sqrt(d), dtype=np.float64)


def _memory(samples: int, dim: int, settings: Settings) -> int:
    m = int(settings["width"] or 0) * (2 if "trials" in settings else 1)
    numbers = 12 * samples * m + 8 * m * m + 8 * samples * samples + 2 * samples * dim + 2 * dim * m
    return 8 * numbers


def build(data: Data, settings: Settings, device: str) -> LingPoint:
    """The point of these settings; the rows of the data are scaled to norm sqrt(d)."""
    m, seed = int(settings["width"] or 0), int(settings["seed"] or 0)
    sigma2 = float(str(settings["sigma2"]))
    columns = inputs(data.X, str(settings["inputs"]), str(settings["data"]) in GENERATORS)
    X = torch.from_numpy(columns).to(device)
    y = torch.from_numpy(np.ascontiguousarray(data.y, dtype=np.float64)).to(device)
    point = LingPoint(
        initialise(str(settings["init"]), X.shape[0], m, sigma2, seed, X),
        X,
        y,
        sigma2,
        depth=int(str(settings.get("depth", 0))),
        trials=int(str(settings.get("trials", 0))),
        seed=seed,
        about_equilibrium="trials" not in settings and "depth" not in settings,
    )
    wanted = settings.get("delta")
    if isinstance(wanted, float) and (point.norm_W + wanted < 1) is not HOLDS:
        room = 1 - point.norm_W.floats()[1]
        raise InputError(
            f"delta = {wanted:g} is not below 1 - ||W(0)|| = {room:.6g}, so the radius of W would reach 1; "
            "take a smaller --with delta=X or leave it at auto."
        )
    return point


FAMILY = Family(
    name="ling",
    equation="Z = relu(W Z + U X),  ŷ = aᵀ Z",
    settings=(
        Setting("width", 1000, whole(1), "width m of the implicit layer"),
        Setting("samples", 50, whole(1), "number of samples n"),
        Setting("dim", None, whole(1), "input dimension d of the built-in data (default: 100)"),
        Setting("seed", 0, whole(0), "seed of the data and of the initialisation"),
        Setting("data", "sphere", text, "built-in generator, or a file with inputs and labels"),
        Setting("classes", None, text, "two classes of a labelled file, such as 0,1"),
        Setting(
            "inputs",
            "auto",
            one_of("auto", "orthogonal", "given"),
            "directions of the inputs; auto: orthogonal (Assumption 2) for built-in data, given for files",
        ),
        Setting("init", DEFAULT_INITIALISATION, one_of(*INITIALISATIONS), "initialisation by name"),
        Setting("sigma2", 0.08, variance, "sigma_w^2 of Assumption 1, below 1/8"),
        Setting(
            "eta",
            "auto",
            auto_or_positive,
            "step size; auto: the largest that is allowed",
            special=True,
        ),
        Setting(
            "delta",
            "auto",
            auto_or_positive,
            "the radius delta of Condition 1, below 1 - ||W(0)||; auto: chosen",
            special=True,
        ),
        Setting("depth", 20, whole(1), "number of layers l that are looked at", special=True),
        Setting("trials", 30, whole(1), "random models drawn at each width", special=True),
    ),
    memory=_memory,
    build=build,
)
