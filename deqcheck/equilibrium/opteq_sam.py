"""The modified sequential averaging iteration (10), its fixed points, and the minimiser on Fix(T)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.opteq import Matrix, Near, Net, Plain, Size, Weights, is_isometry, weights
from deqcheck.truth import HOLDS

UNBOUNDED = Enclosure.between(0, float("inf"))


@dataclass(frozen=True)
class Regulariser:
    """R_z(z) = 1/2 |V z - t|^2, summed over the samples: convex, and strongly so only if V has rank m.

    One row of t for each sample.
    """

    V: Tensor
    t: Tensor

    @cached_property
    def weights(self) -> Weights:
        """V with its norm."""
        return weights(self.V)

    @cached_property
    def target(self) -> Near:
        """t, once for every sample."""
        return Near(self.t)

    @property
    def lipschitz(self) -> Enclosure:
        """L_z = ||V||^2."""
        return self.weights.norm**2

    def residual(self, Z: Matrix) -> Matrix:
        """V z - t."""
        return Z.through(self.weights.T) - self.target

    def gradient(self, Z: Matrix) -> Matrix:
        """V^T (V z - t)."""
        return self.residual(Z).through(self.weights)


@dataclass(frozen=True)
class Sam:
    """T, the regulariser, the step gamma and the sequences beta_k = eta k^-p, lambda_k = eta k^-c.

    gamma, beta_k and lambda_k are the floats nearest to the printed values; the iteration studied is
    the one with these floats.
    """

    net: Net
    R: Regulariser
    p: float
    c: float

    @cached_property
    def eta(self) -> float:
        """min(sqrt(2 L_z), 1/2, L_z / 2)."""
        Lz = self.R.lipschitz.floats()[0]
        return min(math.sqrt(2 * Lz), 0.5, Lz / 2)

    @cached_property
    def gamma(self) -> float:
        """1 / (2 L_z), from the upper end of L_z."""
        return 0.5 / self.R.lipschitz.floats()[1]

    def beta(self, k: int) -> float:
        """beta_k."""
        return float(self.eta * float(k) ** -self.p)

    def lam(self, k: int) -> float:
        """lambda_k."""
        return float(self.eta * float(k) ** -self.c)

    def step(self, k: int, Z: Matrix) -> Matrix:
        """beta_k S_{lambda_k}(z) + (1 - beta_k) T(z)."""
        beta, lam, gamma = self.beta(k), self.lam(k), self.gamma
        shrunk = Z.times(1 - gamma * lam, 3) - self.R.gradient(Z).times(gamma)
        return shrunk.times(beta) + self.net.composed(Z).times(1 - beta, 2)

    def factor(self, k: int) -> Enclosure:
        """1 - gamma beta_k lambda_k / 2, and less where T contracts: the Lipschitz constant of a step."""
        beta, lam = Enclosure.exact(self.beta(k)), Enclosure.exact(self.lam(k))
        S = 1 - Enclosure.exact(self.gamma) * lam / 2
        return beta * S + (1 - beta) * self.net.lipschitz

    def iterates(self, start: Tensor, marks: tuple[int, ...]) -> dict[int, Near]:
        """z^k at the marks, for the exact iteration: a step is nonexpansive, so errors only add up.

        The steps run in floats; one bound on the rounding of a step, for all matrices up to the largest
        norm that was met, then serves them all.
        """
        Z, found, largest = Plain(start), {0: start}, start
        for k in range(1, max(marks) + 1):
            Z = self.step(k, Z)
            if float(Z.value.norm()) > float(largest.norm()):
                largest = Z.value
            if k in marks:
                found[k] = Z.value
        # Norms in floats decide which is the largest; the room covers their rounding.
        size = Enclosure.from_zero(rigor.frobenius(largest) * (1 + Fraction(1, 1000)))
        slip = self.step(1, Size((start.shape[0], start.shape[1]), size)).error
        slip = slip.maximum(self.step(max(marks), Size((start.shape[0], start.shape[1]), size)).error)
        return {k: Near(z, Enclosure.from_zero(slip * 2 * k)) for k, z in found.items()}

    def fixed_point(self, k: int, X: Tensor) -> Near:
        """The unique fixed point of step k: followed from step 1, where contraction is strongest; then proved.

        The radius is the residual over 1 - q, so a poor solution is reported as such and never trusted.
        """
        Z = torch.zeros(X.shape[0], self.net.model.width, dtype=X.dtype, device=X.device)
        q = self.factor(k)
        if (q < 1) is not HOLDS:
            return Near(Z, UNBOUNDED)
        path = [1]
        while path[-1] < k:
            path.append(min(k, 2 * path[-1]))
        for j in path:
            Z = self._newton(j, X, Z)
        gap = (self.step(k, Near(Z)) - Near(Z)).norm
        return Near(Z, Enclosure.from_zero(gap / (1 - q)))

    def _newton(self, k: int, X: Tensor, Z: Tensor) -> Tensor:
        """Semismooth Newton, sample by sample; plain steps where it does not help."""
        eye = torch.eye(Z.shape[1], dtype=Z.dtype, device=Z.device)
        for _ in range(60):
            move = self.step(k, Plain(Z)).value - Z
            size = float(move.norm())
            if size <= 1e-15 * max(1.0, float(Z.norm())):
                break
            trial = Z + torch.linalg.solve(eye - self._jacobian(k, X, Z), move[..., None])[..., 0]
            after = self.step(k, Plain(trial)).value - trial
            better = after.norm(dim=1) < 0.5 * move.norm(dim=1)
            if bool(better.any()):
                Z = torch.where(better[:, None], trial, Z)
            elif size < 1e-12:
                break
            if not bool(better.all()):
                for _ in range(10):
                    Z = self.step(k, Plain(Z)).value
        return Z

    def _jacobian(self, k: int, X: Tensor, Z: Tensor) -> Tensor:
        """One m x m matrix per sample (symmetric layers, multiplied in order)."""
        model, m = self.net.model, Z.shape[1]
        beta, lam, gamma = self.beta(k), self.lam(k), self.gamma
        eye = torch.eye(m, dtype=Z.dtype, device=Z.device)
        J = eye.expand(Z.shape[0], m, m)
        for layer in model.layers:
            D = model.activation.slope(model.preactivation(layer, Z, X))
            inner = torch.einsum("ua,iu,ub->iab", layer.W, D, layer.W) / model.mu
            J = (model.alpha * inner + (1 - model.alpha) * eye) @ J
            Z = model.apply(layer, Z, X)
        S = (1 - gamma * lam) * eye - gamma * (self.R.V.T @ self.R.V)
        return beta * S + (1 - beta) * J


# --- the fixed point set ---------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedSet:
    """What is known of Fix(T): the minimiser of R_z on it, and how to step into it."""

    minimiser: Near
    convexity: Enclosure
    """A modulus of strong convexity of R_z along Fix(T); positive: the minimiser is unique."""
    bound: Enclosure
    """[0, B]: every fixed point of every averaged step is at most this large."""
    kind: str
    W: Weights | None = None
    free: Tensor | None = None
    pinned: Tensor | None = None

    def into(self, Z: Near) -> Near:
        """A point of Fix(T) near z: exactly W^T p for a p inside the box; or the only point."""
        if self.W is None or self.free is None or self.pinned is None:
            return self.minimiser
        p = torch.where(self.free, (Z.value @ self.W.value.T).clamp(-1, 1), self.pinned)
        return Near(p).through(self.W)


def fixed_set(sam: Sam, contraction: Near | None) -> FixedSet:
    """Fix(T): one point if T contracts; a box of W^T p for a shared isometry with clipped units."""
    net, R = sam.net, sam.R
    model = net.model
    if contraction is not None:
        q = net.lipschitz
        origin = Near(torch.zeros_like(contraction.value))
        drive = R.gradient(origin).norm * sam.gamma + net.composed(origin).norm
        bound = Enclosure.from_zero(drive / (1 - q))
        return FixedSet(contraction, Enclosure.exact(1), bound, "T contracts: a single point")
    if not _is_box(net):
        nothing = Near(torch.zeros_like(net.inputs[0].value @ model.layers[0].W), UNBOUNDED)
        return FixedSet(nothing, UNBOUNDED, UNBOUNDED, "unknown")
    return _box(sam)


def _is_box(net: Net) -> bool:
    """Clipped units, one exact isometry in every layer, and inputs of certain, agreeing sign."""
    model = net.model
    if model.activation.name != "clip" or model.mu != 1:
        return False
    W = model.layers[0].W
    shared = all(bool(torch.equal(layer.W, W)) for layer in model.layers)
    return shared and is_isometry(W) and _pattern(net) is not None


def _pattern(net: Net) -> Tensor | None:
    """The sign of W z + U x + b - W z for each sample and unit, 0 where it is exactly 0; None: unsure."""
    out: Tensor | None = None
    for layer, near in zip(net.model.layers, net.inputs, strict=True):
        silent = (layer.U == 0).all(dim=1) & (layer.b == 0)
        certain = near.value.abs() > near.error.floats()[1]
        sign = torch.where(silent, torch.zeros_like(near.value), torch.sign(near.value))
        if not bool((certain | silent).all()) or (out is not None and not torch.equal(out, sign)):
            return None
        out = sign
    return out


def _box(sam: Sam) -> FixedSet:
    """Minimise 1/2 |V W^T p - t|^2 over the box by accelerated projected gradients, and certify it.

    Fix(T) is the intersection of the sets Fix(f_l), which is not empty here and so equal to it
    (compositions of averaged maps): p_u in [-1, 1] for a unit without input, else the sign of its input.
    """
    net, R = sam.net, sam.R
    shared = net.weights[0]
    W = shared.value
    sign = _pattern(net)
    assert sign is not None
    free = sign == 0
    # The free units are the same for every sample: they are the silent ones.
    columns = free[0]
    M = W[columns] @ R.V.T
    sigma = rigor.sigma_min(M, rigor.THOROUGH).widen(rigor.product_error(W[columns], R.V.T))
    convexity = sigma.maximum(0) ** 2
    step = 1 / max(1e-300, R.lipschitz.floats()[1])
    root = (max(1e-9, convexity.floats()[0]) * step) ** 0.5
    momentum = (1 - root) / (1 + root)
    p = torch.where(free, torch.zeros_like(sign), sign)
    q, previous = p, p
    for _ in range(20_000):
        slope = ((q @ W) @ R.V.T - R.t) @ R.V @ W.T
        p = torch.where(free, (q - step * slope).clamp(-1, 1), sign)
        q, previous, moved = p + momentum * (p - previous), p, float((p - q).norm())
        if moved < 1e-15 * max(1.0, float(p.norm())):
            break
    x = Near(p).through(shared)
    slope_near = R.gradient(x).through(shared.T)
    g = slope_near.value
    inward = torch.where(p >= 1, g.clamp(min=0), torch.where(p <= -1, g.clamp(max=0), g))
    inward = torch.where(free, inward, torch.zeros_like(inward))
    distance = (rigor.frobenius(inward) + slope_near.error) / convexity
    minimiser = Near(x.value, Enclosure.from_zero(x.error + distance * shared.norm))
    return FixedSet(minimiser, convexity, _clipped_bound(sam), "a box of fixed points", shared, free, sign)


def _clipped_bound(sam: Sam) -> Enclosure:
    """|z| <= beta (|z| + gamma |grad R(0)|) + (1 - beta)((1 - a)^L |z| + size), for beta in [0, 1/2].

    The clipped part of T is at most sqrt(n N) (1 - (1 - a)^L) ||W|| in norm, and S_lambda is nonexpansive.
    """
    net = sam.net
    alpha = Enclosure.exact(net.model.alpha)
    keep = (1 - alpha) ** len(net.norms)
    origin = Near(torch.zeros_like(net.inputs[0].value @ net.model.layers[0].W))
    units = Enclosure.exact(net.inputs[0].value.numel()).sqrt()
    drive = sam.R.gradient(origin).norm * sam.gamma
    return Enclosure.from_zero((drive + units * (1 - keep) * net.norms[0]) / (1 - keep))
