"""Points of the deep equilibrium linear model: parameters, features, targets and a loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.data import GENERATORS, Data
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import engine
from deqcheck.equilibrium import kawaguchi as numerics
from deqcheck.equilibrium.kawaguchi_loss import Objective
from deqcheck.equilibrium.kawaguchi_near import Near
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
from deqcheck.models.kawaguchi import (
    DEFAULT_INITIALISATION,
    INITIALISATIONS,
    LinearImplicit,
    identity_features,
    relu_features,
)
from deqcheck.truth import HOLDS

GAMMA = 0.8
"""Appendix D."""
TAU = 0.01
"""The paper names no value; (11) needs one above 0."""
NOISE = 0.1
"""Section 4: y = -x + 0.1 noise."""


@dataclass(frozen=True)
class LinearPoint:
    """One set of parameters on one data set. Everything measured of it is computed once."""

    model: LinearImplicit
    objective: Objective
    radius_R: float = math.inf
    accuracy: float = 1e-3
    horizon: float = 1.0
    delta_given: float | None = None
    _infima: dict[tuple[float, int], Enclosure] = field(default_factory=dict, compare=False)

    @cached_property
    def resolvent(self) -> numerics.Resolvent:
        """U and its inverse."""
        return numerics.Resolvent(self.model.A, self.model.gamma)

    @cached_property
    def Z(self) -> Near:
        """B U^-1, the weights of the equivalent linear model."""
        return Near.exact(self.model.B) @ self.resolvent.inverse

    @cached_property
    def q(self) -> Near:
        """The outputs on the samples."""
        return self.objective.outputs(self.Z)

    @cached_property
    def G(self) -> Near:
        """grad L_0(Z)."""
        return self.objective.gradient(self.q)

    @cached_property
    def loss(self) -> Enclosure:
        """L(A, B) = L_0(Z)."""
        return self.objective.value(self.q)

    @cached_property
    def gradients(self) -> tuple[Near, Near]:
        """(dL/dA, dL/dB)."""
        return numerics.gradients(self.resolvent, self.Z, self.G)

    @cached_property
    def velocity(self) -> Near:
        """d/dt (B U^-1) under gradient flow, by the chain rule."""
        dA, dB = self.gradients
        return numerics.velocity(self.resolvent, self.Z, dA.times(-1.0), dB.times(-1.0))

    @cached_property
    def lambda_min_D(self) -> Enclosure:
        """The smallest eigenvalue of D."""
        return numerics.lambda_min_D(self.resolvent, self.Z)

    def infimum(self, effort: int) -> Enclosure:
        """L*_{0,R}."""
        key = (self.radius_R, effort)
        if key not in self._infima:
            self._infima[key] = self.objective.infimum(self.radius_R, effort)
        return self._infima[key]

    # --- Theorem 2 (one output) --------------------------------------------------------------------

    @cached_property
    def weights_S(self) -> tuple[Tensor, Enclosure]:
        """The diagonal of S_t."""
        return numerics.weights(self.resolvent, self.Z)

    @cached_property
    def states(self) -> Near:
        """z* of every sample as a column."""
        return self.resolvent.inverse @ self.objective.features

    @cached_property
    def curvature(self) -> Near:
        """l'' at every output, (1, n)."""
        return self.objective.curvature(self.q)

    @cached_property
    def norm_SF(self) -> Enclosure:
        """lambda_max(S^1/2 F S^1/2) = || diag(S)^1/2 Z* diag(l'')^1/2 ||^2."""
        s, error = self.weights_S
        left, right = s.sqrt(), self.curvature.value.clamp(min=0).sqrt()
        value = left[:, None] * self.states.value * right
        # A relative change e of S and f of l'' changes the norm by at most (e + f) / 2 of itself.
        lowest = Enclosure.exact(float(self.curvature.value.min())) - self.curvature.radius
        if not lowest.is_positive:
            return Enclosure.between(0, math.inf)
        change = error + self.curvature.radius / lowest + rigor.relative_error(8)
        scale = Enclosure.exact(float(left.max())) * Enclosure.exact(float(right.max()))
        radius = change * rigor.frobenius(value) + self.states.radius * scale * (1 + change)
        return Near(value, Enclosure.from_zero(radius + value.numel() * rigor.TINY)).spectral_norm() ** 2

    @cached_property
    def delta(self) -> float:
        """delta_t: as given, or half of the largest at which G_t is positive definite."""
        if self.delta_given is not None:
            return self.delta_given
        bound = 1 / self.norm_SF
        return float(f"{bound.floats()[0] / 2:.6g}")

    def apply_G(self, v: Near) -> Near:
        """G_t v = U (S^-1 - delta F) U^T v for a column v; F acts through the states."""
        s, error = self.weights_S
        inverse = 1 / s
        slip = (error + rigor.relative_error(4)) * Enclosure.exact(len(s)).sqrt()
        S_inverse = Near(inverse[:, None], Enclosure.from_zero(slip))
        U = self.resolvent.U
        y = U.T @ v
        bent = self.curvature.T * (self.states.T @ y)
        return U @ (S_inverse * y - (self.states @ bent).times(self.delta))

    @cached_property
    def kkt_residual(self) -> Enclosure:
        """|| grad L_0 + H v + 2 mu G v ||, v = delta d/dt vec(B U^-1), mu = 1 / (2 delta), H = Phi l'' Phi^T."""
        v = self.velocity.T.times(self.delta)
        Phi = self.objective.features
        Hv = Phi @ (self.curvature.T * (Phi.T @ v))
        Gv = self.apply_G(v)
        share = 1 / self.delta
        # 1/delta is rounded once: an error of one unit of G v / delta.
        rounded = Gv.times(share)
        last = Near(rounded.value, rounded.radius + rounded.norm() * rigor.relative_error(2))
        return (self.G.T + Hv + last).norm()

    @cached_property
    def flow_residual(self) -> Enclosure:
        """|| d/dt (B U^-1) + D grad L_0 ||: the chain rule against eq. (26)."""
        return (self.velocity + numerics.apply_D(self.resolvent, self.Z, self.G)).norm()

    @cached_property
    def lambda_min_G(self) -> Enclosure:
        """The smallest eigenvalue of G_t, known to be its smallest singular value once delta is small."""
        s, error = self.weights_S
        U, m = self.resolvent.U, len(s)
        root = (1 / s).sqrt()
        slip = (error + rigor.relative_error(6)) * Enclosure.exact(m).sqrt()
        half = U * Near(root[None, :], Enclosure.from_zero(slip))
        turned = U @ self.states
        bent = turned * self.curvature
        G = half @ half.T - (bent @ turned.T).times(self.delta)
        room = 1 - Enclosure.exact(self.delta) * self.norm_SF
        if (room > 0) is not HOLDS:
            size = G.spectral_norm()
            return Enclosure.between(-size, size)
        found = rigor.sigma_min(G.value).widen(G.radius)
        if not found.is_positive:
            found = rigor.sigma_min(G.value, rigor.THOROUGH).widen(G.radius)
        return found.maximum(0)

    # --- for the report ------------------------------------------------------------------------------

    @cached_property
    def equilibrium(self) -> engine.Equilibrium:
        """z* of every sample with the certified distance of the computed one."""
        Phi, star = self.objective.Phi, self.states
        residual = float((self.resolvent.U.value @ star.value - Phi).norm() / (Phi.norm() or 1.0))
        return engine.Equilibrium(
            star.value, star.radius, Enclosure.exact(self.model.gamma), "inverse of I − γσ(A)", (residual,)
        )  # fmt: skip


# --- settings --------------------------------------------------------------------------------------


def _gamma(name: str, given: str) -> float:
    if given == "auto":
        return GAMMA
    value = number(name, given)
    if not 0 < value < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, where the equilibrium exists, not {given}.")
    return value


def _radius(name: str, given: str) -> float | str:
    return "inf" if given in ("inf", "∞") else positive(name, given)


def _tau(name: str, given: str) -> float:
    value = number(name, given)
    if value < 0:
        raise InputError(f"{name} must not be negative, not {given}.")
    return value


def _memory(samples: int, dim: int, settings: Settings) -> int:
    m = int(settings["width"] or 0) or dim
    numbers = 30 * m * m + 12 * samples * m + 12 * samples + 4 * samples * dim
    return 8 * numbers


def _inputs(data: Data, kind: str, seed: int) -> np.ndarray:
    """Rows as loaded, or standard normal: unit rows times independent chi_d radii."""
    built_in = data.origin.get("name") in GENERATORS
    if kind == "unit" or (kind == "auto" and not built_in):
        return data.X
    if not built_in:
        raise InputError("inputs=gaussian draws the rows; it cannot be asked of a data file, use inputs=unit.")
    n, d = data.X.shape
    length = np.sqrt(np.random.default_rng([seed, 5]).chisquare(d, n))
    scaled: np.ndarray = data.X * length[:, None]
    return scaled


def _features(X: np.ndarray, width: int | None, phi: str, seed: int) -> np.ndarray:
    d = X.shape[1]
    m = d if width is None else width
    if phi == "identity" and m != d:
        raise InputError(f"phi(x) = x needs width = dim, not width {m} and dim {d}; set them equal or take phi=relu.")
    if phi == "identity" or (phi == "auto" and m == d):
        return identity_features(X, m, np.random.default_rng([seed, 3]))
    return relu_features(X, m, np.random.default_rng([seed, 3]))


def _targets(data: Data, X: np.ndarray, kind: str, loss: str, one: bool, seed: int) -> np.ndarray:
    """Y (m_y, n) for the loss; labels are never reinterpreted unless `binary` says so."""
    if kind == "auto":
        built_in = data.origin.get("name") in GENERATORS
        kind = "binary" if loss == "logistic" else "labels" if one or not built_in else "regression"
    if kind == "regression":
        if loss == "logistic" or one:
            raise InputError(
                "targets=regression has one output per input dimension, but one output is needed "
                "here; use targets=labels (square loss) or targets=binary (logistic loss)."
            )
        noise = np.random.default_rng([seed, 4]).standard_normal(X.shape)
        return np.ascontiguousarray((NOISE * noise - X).T)
    y = data.y
    if kind == "binary" and set(np.unique(y)) <= {-1.0, 1.0}:
        y = (y + 1) / 2
    if loss == "logistic" and not set(np.unique(y)) <= {0.0, 1.0}:
        shown = ", ".join(f"{v:g}" for v in np.unique(y)[:5])
        raise InputError(
            f"the logistic loss needs labels in {{0, 1}}, but the data have {shown}; map two classes "
            "with --classes A,B and --with targets=binary, which reads -1 as 0."
        )
    return y.reshape(1, -1)


def build(data: Data, settings: Settings, device: str) -> LinearPoint:
    """Features, targets and initial weights of one instance."""
    seed = int(settings["seed"] or 0)
    # A statement about one loss does not offer the setting; tau then tells which loss it is about.
    loss = str(settings.get("loss", "logistic" if "tau" in settings else "square"))
    one = "delta" in settings  # Theorem 2 is about one output
    X = _inputs(data, str(settings["inputs"]), seed)
    width = settings["width"]
    Phi = _features(X, None if width is None else int(width), str(settings["phi"]), seed)
    Y = _targets(data, X, str(settings["targets"]), loss, one, seed)
    if not (np.isfinite(Phi).all() and np.isfinite(Y).all()):
        raise InputError("the features or the targets overflow; scale the data down.")
    tau, radius = settings.get("tau"), float(str(settings.get("radius", "inf")))
    if loss == "square" and tau is not None:
        raise InputError("tau belongs to the logistic loss; leave it out or take --with loss=logistic.")
    strength = (TAU if tau is None else float(tau)) if loss == "logistic" else 0.0
    if loss == "logistic" and not one and strength == 0 and math.isinf(radius):
        raise InputError("tau = 0 with radius = inf leaves the rate at 0; take tau > 0 or a finite radius.")
    m, outputs = Phi.shape[0], Y.shape[0]
    A, B = INITIALISATIONS[str(settings["init"])](outputs, m, np.random.default_rng([seed, 2]))
    tensors = [torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in (A, B, Phi, Y)]
    delta = settings.get("delta", "auto")
    return LinearPoint(
        LinearImplicit(tensors[0], tensors[1], float(str(settings["gamma"]))),
        Objective(tensors[2], tensors[3], loss, strength),
        radius,
        float(str(settings.get("accuracy", 1e-3))),
        float(str(settings.get("horizon", 1.0))),
        None if delta == "auto" else float(str(delta)),
    )


FAMILY = Family(
    name="kawaguchi",
    equation="z = γ σ(A) z + φ(x),  ŷ = B z,  σ the softmax of each column",
    settings=(
        Setting("width", None, whole(1), "width m (default: the dimension, with φ(x) = x)"),
        Setting("samples", None, whole(1), "number of samples n (default: 1000, or all rows of a file)"),
        Setting("dim", None, whole(1), "input dimension of the built-in data (default: 10)"),
        Setting("seed", 0, whole(0), "seed of the data and of the initialisation"),
        Setting("data", "sphere", text, "built-in generator, or a file with inputs and labels"),
        Setting("classes", None, text, "two classes of a labelled file, such as 0,1"),
        Setting(
            "inputs",
            "auto",
            one_of("auto", "gaussian", "unit"),
            "gaussian: unit rows times chi radii, so N(0, I) (built-in data); unit: rows as loaded (files)",
        ),
        Setting(
            "phi",
            "auto",
            one_of("auto", "identity", "relu"),
            "feature map: identity, or relu of a random matrix (auto: where width is not dim)",
        ),
        Setting(
            "targets",
            "auto",
            one_of("auto", "regression", "labels", "binary"),
            "regression: y = -x + 0.1 noise; labels: as in the data; binary: -1 becomes 0",
        ),
        Setting("init", DEFAULT_INITIALISATION, one_of(*INITIALISATIONS), "initialisation by name"),
        Setting("gamma", GAMMA, _gamma, "the scalar gamma in (0, 1); auto: 0.8 as in Appendix D"),
        Setting("loss", "square", one_of("square", "logistic"), "loss per sample", special=True),
        Setting(
            "tau",
            None,
            _tau,
            "penalty of the logistic loss, at least 0 (default: 0.01)",
            special=True,
        ),
        Setting("radius", "inf", _radius, "radius R of the PL inequality, or inf", special=True),
        Setting("accuracy", 1e-3, positive, "accuracy epsilon to be reached", special=True),
        Setting("horizon", 1.0, positive, "time T up to which lambda_T is bounded", special=True),
        Setting(
            "delta",
            "auto",
            auto_or_positive,
            "delta_t of the trust region; auto: half of the largest allowed",
            special=True,
        ),
    ),
    memory=_memory,
    build=build,
    built_in=lambda _settings: (1000, 10),
)
