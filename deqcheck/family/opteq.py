"""Points of deep OptEq: weights, data, and everything that the five theorems measure, computed once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.data import Data
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import opteq as proof
from deqcheck.equilibrium import opteq_convex as convex
from deqcheck.equilibrium.engine import Equilibrium
from deqcheck.equilibrium.opteq import Near, Net
from deqcheck.equilibrium.opteq_sam import FixedSet, Regulariser, Sam, fixed_set
from deqcheck.equilibrium.opteq_unrolled import Trained
from deqcheck.equilibrium.solution import NotConverged
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
from deqcheck.models.opteq import (
    ACTIVATIONS,
    DEFAULT_INITIALISATION,
    INITIALISATIONS,
    Layer,
    OptEq,
)
from deqcheck.truth import HOLDS

UNBOUNDED = Enclosure.between(0, math.inf)
UNKNOWN = Enclosure.between(-math.inf, math.inf)


@dataclass(frozen=True)
class OptEqPoint:
    """One network on one data set. A layer of the catalogue's theorems is a layer of `model`."""

    model: OptEq
    X: Tensor
    y: Tensor
    seed: int = 0
    K: int = 20
    p: float = 0.3
    c: float = 0.3
    output: float = 1.0
    trials: int = 4

    @cached_property
    def net(self) -> Net:
        """The layers with their certified norms."""
        return Net.of(self.model, Near(self.X))

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """z* = z_0*, with the proof of its radius."""
        return proof.enclose(self.net, self.X)

    @property
    def contracts(self) -> bool:
        """Whether T is certified to be a contraction."""
        return (self.net.lipschitz < 1) is HOLDS

    @property
    def monotone(self) -> bool:
        """Assumption 1: without it psi is not convex, and phi means nothing."""
        return self.model.activation.least >= 0

    @cached_property
    def Z(self) -> Near:
        """The true equilibrium, as far as it is known."""
        return Near(self.equilibrium.Z, self.equilibrium.radius)

    def norm(self, kind: str) -> Enclosure:
        """The largest or smallest ||W_l||."""
        out = self.net.norms[0]
        for other in self.net.norms[1:]:
            out = out.maximum(other) if kind == "largest" else out.minimum(other)
        return out

    def random(self, number: int, rows: int, columns: int) -> Tensor:
        """A Gaussian matrix from the stream of this number."""
        draw = np.random.default_rng([self.seed, number]).standard_normal((rows, columns))
        return torch.from_numpy(draw).to(self.X.device)

    # --- Theorem 1 ---------------------------------------------------------------------------------

    def gradient_gap(self) -> Enclosure:
        """|grad psi - f| / |f| in floats, the gradient by autograd; a comparison, not a proof."""
        layer = self.model.layers[0]
        Z = self.random(5, self.X.shape[0], self.model.width).requires_grad_(True)
        (slope,) = torch.autograd.grad(self.model.potential(layer, Z, self.X), Z)
        f = self.model.at(1.0).apply(layer, Z.detach(), self.X)
        return Enclosure.exact(float((slope - f).norm() / max(1e-300, float(f.norm()))))

    @cached_property
    def _trials(self) -> tuple[Near, ...]:
        """Points w at which phi(f(w)) can be written down: random ones, far and near."""
        n, m = self.X.shape[0], self.model.width
        size = max(1e-3, float(self.equilibrium.Z.norm()) / math.sqrt(n * m))
        near = self.equilibrium.Z
        return tuple(Near(near + size * 4.0 ** (1 - k) * self.random(6 + k, n, m)) for k in range(self.trials))

    def potential(self, Z: Near) -> Enclosure:
        """psi(z)."""
        total = proof.primitive(self.model.activation, self.net.preactivation(0, Z))
        return total / Enclosure.exact(self.model.mu)

    def phi(self, W: Near, value: Near) -> Enclosure:
        """phi(f(w)) = <w, f(w)> - psi(w) - |f(w)|^2 / 2, by the equality case of the conjugate."""
        return proof.inner(W, value) - self.potential(W) - value.norm**2 / 2

    @cached_property
    def _evaluated(self) -> tuple[tuple[Near, Near, Enclosure], ...]:
        values = [(w, self.net.proximal(0, w)) for w in self._trials]
        return tuple((w, v, self.phi(w, v)) for w, v in values)

    def prox_margin(self) -> Enclosure:
        """Least of [phi(v) + |v-z|^2/2] - [phi(u) + |u-z|^2/2] - |v-u|^2/2 with u = f(z), v = f(w)."""
        if not self.monotone:
            return UNKNOWN  # psi is not convex, and phi(f(w)) is not known at f(w)
        margins = []
        for i, (z, u, phi_u) in enumerate(self._evaluated):
            for j, (_, v, phi_v) in enumerate(self._evaluated):
                if i != j:
                    here = phi_u + (u - z).norm ** 2 / 2
                    there = phi_v + (v - z).norm ** 2 / 2
                    margins.append(there - here - (v - u).norm ** 2 / 2)
        return _least(margins)

    def expansion(self) -> Enclosure:
        """Largest |f(w) - f(w')| / |w - w'| over the trial points."""
        out = Enclosure.exact(0)
        points = self._evaluated
        for i, (w, v, _) in enumerate(points):
            for other, image, _ in points[:i]:
                out = out.maximum((v - image).norm / (w - other).norm)
        return out

    def minimum_margin(self) -> Enclosure:
        """Least of phi(f(w)) - phi(z*) over the trial points, z* the true equilibrium."""
        if not (self.contracts and self.monotone):
            return UNKNOWN
        lowest = self.Z.norm**2 / 2 - self.potential(self.Z)
        return _least([phi - lowest for _, _, phi in self._evaluated])

    def minimiser_distance(self) -> Enclosure:
        """The distance of z* from the minimiser of phi that the convex solver finds."""
        found = convex.solve(convex.theorem_1(self.net)) if self.contracts else None
        if found is None:
            return UNBOUNDED
        x = found.x[0] if self.model.mu == 1 else found.x[0].times(1 / self.model.mu, 2)
        return (x - self.Z).norm

    # --- Theorem 2 and Corollary 1 -----------------------------------------------------------------

    @cached_property
    def blocks(self) -> tuple[Near, ...]:
        """(z_0*, z_1*, ..., z_L*) with z_L* = z_0*."""
        return (self.Z, *self.net.blocks(self.Z))

    def inclusion_residual(self) -> Enclosure:
        """| g + (I - P) z | at the true equilibrium, g the gradient of Phi there.

        The block of g is alpha (w - f(w)) where w solves alpha f(w) + (1 - alpha) w = z_i: that is what
        the Moreau envelope of phi_i gives. The equation is solved from scratch, without the layer below.
        """
        if not (self.contracts and self.monotone):
            return UNBOUNDED
        total = Enclosure.exact(0)
        for i in range(len(self.net.norms)):
            before, here = self.blocks[i], self.blocks[i + 1]
            w = self._envelope_point(i, here, before)
            slope = (w - self.net.proximal(i, w)).times(self.model.alpha)
            total = total + (slope + here - before).norm ** 2
        return total.sqrt()

    def _envelope_point(self, i: int, z: Near, below: Near) -> Near:
        """w with alpha f(w) + (1 - alpha) w = z; at alpha = 1 a known subgradient, w = the block below."""
        alpha = self.model.alpha
        if alpha == 1:
            return below
        layer = self.model.layers[i]
        w = torch.zeros_like(z.value)
        step = 2 / (2 - alpha)
        residuals: list[float] = []
        for _ in range(20_000):
            off = self.model.apply(layer, w, self.X) - z.value
            residuals.append(float(off.norm()) / max(1.0, float(z.value.norm())))
            if residuals[-1] < 2e-16 or (residuals[-1] < 1e-13 and residuals[-1] >= 0.999 * min(residuals[-20:-1])):
                break
            w = w - step * off
        else:
            raise NotConverged("the Moreau envelope", tuple(residuals))
        gap = (self.net.layer(i, Near(w)) - z).norm
        # The map is (1 - alpha)-strongly monotone for a monotone activation.
        return Near(w, Enclosure.from_zero(gap / (1 - Enclosure.exact(alpha))))

    def corollary_distance(self) -> Enclosure:
        """The distance of the equilibrium of two layers from the solution of Corollary 1."""
        pair = (self.model.layers * 2)[:2]
        model = OptEq(pair, self.model.alpha, self.model.activation)
        net = Net.of(model, Near(self.X))
        found = convex.solve(convex.corollary_1(net))
        if found is None:
            return UNBOUNDED
        eq = proof.enclose(net, self.X)
        z0 = Near(eq.Z, eq.radius)
        z1 = net.layer(0, z0)
        first, last = convex.eliminated(self.model.alpha, found.x)
        return ((first - z1).norm ** 2 + (last - z0).norm ** 2).sqrt()

    # --- Theorem 3 ---------------------------------------------------------------------------------

    @cached_property
    def wide(self) -> Near | None:
        """The limit y: the last entry of the minimiser, from the convex solver."""
        found = convex.solve(convex.theorem_3(self.net))
        return None if found is None else convex.centre(found.x)

    def wide_residual(self) -> Enclosure:
        """| L y - sum_l W_l^T s(W_l y + U_l x + b_l) |."""
        if self.wide is None:
            return UNBOUNDED
        total = self.wide.times(float(len(self.net.norms)))
        for i in range(len(self.net.norms)):
            total = total - self.net.proximal(i, self.wide)
        return total.norm

    @cached_property
    def _deep(self) -> dict[int, tuple[Enclosure, Enclosure]]:
        return {}

    def deep(self, divisor: int) -> tuple[Enclosure, Enclosure]:
        """At alpha / divisor: the largest distance of a block from y, and sum_l |f_l(z) - z| at alpha = 1."""
        if divisor not in self._deep:
            net = self.net.at(self.model.alpha / divisor)
            if self.wide is None or (net.lipschitz < 1) is not HOLDS:
                return UNBOUNDED, UNBOUNDED
            eq = proof.enclose(net, self.X)
            z = Near(eq.Z, eq.radius)
            far, drift = (z - self.wide).norm, Enclosure.exact(0)
            for i in range(len(net.norms)):
                drift = drift + (net.proximal(i, z) - z).norm
                z = net.layer(i, z)
                far = far.maximum((z - self.wide).norm)
            self._deep[divisor] = far, drift
        return self._deep[divisor]

    # --- Theorem 4 ---------------------------------------------------------------------------------

    @cached_property
    def sam(self) -> Sam:
        """R_z(z) = 1/2 |V z - t|^2 with V of m/2 rows: convex, not strongly convex."""
        m = self.model.width
        rows = max(1, (m + 1) // 2)
        V = self.random(20, rows, m) / math.sqrt(m)
        return Sam(self.net, Regulariser(V, self.random(21, self.X.shape[0], rows)), self.p, self.c)

    @cached_property
    def fixed(self) -> FixedSet:
        """Fix(T) and the minimiser of R_z on it."""
        return fixed_set(self.sam, self.Z if self.contracts else None)

    @cached_property
    def iterates(self) -> dict[int, Near]:
        """z^k at K/16, K/4, K - 1 and K."""
        start = torch.zeros(self.X.shape[0], self.model.width, dtype=self.X.dtype)
        return self.sam.iterates(start.to(self.X.device), self.marks)

    @property
    def marks(self) -> tuple[int, ...]:
        """K/16, K/4, K - 1, K; at least the start."""
        K = self.K
        return (max(1, K // 16), max(1, K // 4), K - 1, K)

    @cached_property
    def averaged(self) -> Near:
        """The fixed point of the K-th step."""
        return self.sam.fixed_point(self.K, self.X)

    @cached_property
    def inside(self) -> Near:
        """A point of Fix(T) near the fixed point of the K-th step."""
        return self.fixed.into(self.averaged)

    def regularised(self, Z: Near) -> Enclosure:
        """R_z(z) + lambda_K / 2 |z|^2."""
        lam = Enclosure.exact(self.sam.lam(self.K))
        return self.sam.R.residual(Z).norm ** 2 / 2 + lam * Z.norm**2 / 2

    def regularised_slope(self) -> Enclosure:
        """| grad R_z + lambda_K z | at the point of Fix(T) near the fixed point."""
        R, lam = self.sam.R, self.sam.lam(self.K)
        return (R.gradient(self.inside) + self.inside.times(lam)).norm

    # --- Theorem 5 ---------------------------------------------------------------------------------

    @cached_property
    def trained(self) -> Trained:
        """The unrolled network with extractor x = W_0 x_0 and output W_{L+1}."""
        d, m = self.X.shape[1], self.model.width
        W0 = self.random(30, d, d) / math.sqrt(d)
        out = self.output * self.random(31, 1, m) / math.sqrt(m)
        Lz = (Enclosure.exact(3) / 2 * rigor.spectral_norm(out)).floats()[1] ** 2
        gamma = math.nextafter(1 / (2 * Lz + 1), 0)
        eta = min(math.sqrt(2 * Lz), 0.5, Lz / 2)
        steps = range(2, self.K + 1)
        return Trained(
            self.model, W0, out, self.X, self.y, self.K, gamma,
            tuple(eta * k**-self.p for k in steps), tuple(eta * k**-self.c for k in steps),
        )  # fmt: skip


def _least(values: list[Enclosure]) -> Enclosure:
    out = values[0]
    for other in values[1:]:
        out = out.minimum(other)
    return out


# --- settings --------------------------------------------------------------------------------------


def _share(name: str, given: str) -> float:
    value = number(name, given)
    if not 0 < value <= 1:
        raise InputError(f"{name} must lie in (0, 1], not {given}: f = {name} prox + (1 − {name}) z.")
    return value


def _not_negative(name: str, given: str) -> float:
    value = number(name, given)
    if value < 0:
        raise InputError(f"{name} must not be negative, not {given}.")
    return value


def _memory(samples: int, dim: int, settings: Settings) -> int:
    m, L = int(settings["width"] or 0), int(settings["layers"] or 1)
    n = int(settings["units"] or m)
    K = int(settings.get("iterations") or 1)
    states = 2 * samples * (m + n) * (L + 2) * (K if "output" in settings else 4)
    newton = samples * m * (m + n) if "iterations" in settings and "output" not in settings else 0
    return 8 * (states + newton + L * n * (4 * m + dim) + 4 * samples * dim + 8 * m * m)


def build(data: Data, settings: Settings, device: str) -> OptEqPoint:
    """The network of these settings, on this data."""
    m, L, seed = (int(settings[k] or 0) for k in ("width", "layers", "seed"))
    n = int(settings["units"] or m)
    if "mu" in settings and L != 1:
        raise InputError(f"this theorem is about one layer; layers must be 1, not {L}.")
    s = ACTIVATIONS[str(settings["activation"])]
    init = str(settings["init"])
    if init == "isometry" and n > m:
        raise InputError(f"init isometry needs orthonormal rows: units {n} must not exceed width {m}.")
    if "output" in settings and (s.smooth is None or s.least < 0):
        smooth = ", ".join(a.name for a in ACTIVATIONS.values() if a.smooth and a.least >= 0)
        raise InputError(f"activation {s.name} is not smooth and monotone, as this theorem needs it; take {smooth}.")
    X, y = (torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in (data.X, data.y))
    arrays = INITIALISATIONS[init](X.shape[1], m, n, float(str(settings["norm"])), L, np.random.default_rng([seed, 2]))
    factor = float(str(settings["inputs"]))
    layers = tuple(
        Layer(*(torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in (W, factor * U, factor * b)))
        for W, U, b in arrays
    )
    return OptEqPoint(
        OptEq(layers, float(str(settings["alpha"])), s, float(str(settings.get("mu", 1.0)))),
        X, y, seed,
        int(settings.get("iterations") or 20),
        float(str(settings.get("p", 0.3))), float(str(settings.get("c", 0.3))),
        float(str(settings.get("output", 1.0))), int(settings.get("trials") or 4),
    )  # fmt: skip


FAMILY = Family(
    name="opteq",
    equation="z = f_L ∘ … ∘ f_1(z),  f_l(z) = α W_lᵀσ(W_l z + U_l x + b_l) + (1 − α) z",
    settings=(
        Setting("width", 64, whole(1), "width m of the equilibrium z"),
        Setting("units", None, whole(1), "rows n_l of every W_l (default: the width)"),
        Setting("layers", 3, whole(1), "number L of layers"),
        Setting("alpha", 0.8, _share, "weight α of the layer against the skip connection, in (0, 1]"),
        Setting("samples", None, whole(1), "number of samples N (default: half the width)"),
        Setting("dim", None, whole(1), "input dimension d of the built-in data (default: 100)"),
        Setting("seed", 0, whole(0), "seed of the data and of the initialisation"),
        Setting("data", "sphere", text, "built-in generator, or a file with inputs and labels"),
        Setting("classes", None, text, "two classes of a labelled file, such as 0,1"),
        Setting("init", DEFAULT_INITIALISATION, one_of(*INITIALISATIONS), "initialisation by name"),
        Setting("norm", 0.75, positive, "operator norm of every W_l (gaussian and orthogonal)"),
        Setting("inputs", 1.0, _not_negative, "factor on every U_l and b_l; 0 shuts the inputs out"),
        Setting("activation", "relu", one_of(*ACTIVATIONS), "activation by name"),
        Setting("mu", 1.0, positive, "divisor μ of the layer", special=True),
        Setting("trials", 4, whole(2), "trial points at which φ is compared", special=True),
        Setting("iterations", 20, whole(1), "number K of iterations", special=True),
        Setting("p", 0.3, positive, "exponent of β_k = η k^−p", special=True),
        Setting("c", 0.3, positive, "exponent of λ_k = η k^−c", special=True),
        Setting("output", 1.0, positive, "factor on the output weights W_{L+1}", special=True),
        Setting("eta", "auto", auto_or_positive, "step size; auto: the largest", special=True),
    ),
    memory=_memory,
    build=build,
)
