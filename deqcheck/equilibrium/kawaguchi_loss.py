"""The objective of a linear model on the features, its derivatives and its infimum, all enclosed.

L_0(W) = sum_i l(W phi_i, y_i) with the square loss, or the logistic loss with a square penalty on the
output. The infimum is bracketed: above by the value at a computed W, below by strong convexity
(L_0 - |grad|^2 / 2 kappa) or, on a ball ||W||_1 < R, by the Frank-Wolfe gap. How W was found plays no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.kawaguchi_near import Near
from deqcheck.models.kawaguchi import objective
from deqcheck.truth import HOLDS

EXACT_RANK = 40
"""Gram matrices up to this size are eliminated in integers when floats cannot decide their rank."""


@dataclass(frozen=True)
class Objective:
    """Features Phi (m, n), targets Y (m_y, n) and the loss."""

    Phi: Tensor
    Y: Tensor
    loss: str
    tau: float = 0.0

    @cached_property
    def features(self) -> Near:
        """Phi, exactly."""
        return Near.exact(self.Phi)

    def outputs(self, Z: Near) -> Near:
        """Z Phi, for any weights near Z."""
        return Z @ self.features

    def value(self, q: Near) -> Enclosure:
        """L at the outputs q."""
        if self.loss == "square":
            return (q - Near.exact(self.Y)).norm() ** 2
        total = Enclosure.exact(0)
        tau = Enclosure.exact(self.tau)
        for x, y in zip(q.value.flatten().tolist(), self.Y.flatten().tolist(), strict=True):
            t = Enclosure.exact(x)
            positive = t.maximum(0) + (-abs(t)).exp().log1p()
            total = total + positive - t * y + tau * t**2
        # Off the float q: first order by the slope, second order by the largest curvature.
        first = self.slope(Near.exact(q.value)).norm() * q.radius
        return total.widen(first + (tau + 1) * q.radius**2).maximum(0)

    def slope(self, q: Near) -> Near:
        """dl/dq at every output."""
        if self.loss == "square":
            return (q - Near.exact(self.Y)).times(2.0)
        near = _entries([_sigmoid(x) - y for x, y in self._pairs(q)], q.value)
        curved = Near(near.value, Enclosure.from_zero(near.radius + q.radius / 4))
        return curved + q.times(2 * self.tau)

    def curvature(self, q: Near) -> Near:
        """d^2 l / dq^2 at every output (the square loss has it constant)."""
        if self.loss == "square":
            return Near.exact(torch.full_like(q.value, 2.0))
        bends = [_sigmoid(x) * _sigmoid(-x) for x, _ in self._pairs(q)]
        near = _entries([b + 2 * Enclosure.exact(self.tau) for b in bends], q.value)
        return Near(near.value, Enclosure.from_zero(near.radius + q.radius / 10))  # |p''| < 0.0963

    def _pairs(self, q: Near) -> list[tuple[float, float]]:
        return list(zip(q.value.flatten().tolist(), self.Y.flatten().tolist(), strict=True))

    def gradient(self, q: Near) -> Near:
        """grad L_0 in matrix form, eq. (23)."""
        return self.slope(q) @ self.features.T

    # --- constants of the corollaries ---------------------------------------------------------------

    def sigma_min(self, effort: int) -> Enclosure:
        """The min(n, m)-th singular value of Phi; exactly 0 where the rank is proved deficient."""
        m, n = self.Phi.shape
        wide = self.Phi if m <= n else self.Phi.T
        found = rigor.sigma_min(wide, effort)
        if effort >= rigor.PRECISE and not found.is_positive and _singular(wide):
            return Enclosure.exact(0)
        return found

    def rho(self, radius: float) -> Enclosure:
        """inf of p(1 - p) over ||W||_1 < R: for one output |W phi| < R ||phi||_1, and any such value occurs."""
        if math.isinf(radius):
            return Enclosure.exact(0)
        m = self.Phi.shape[0]
        size = Enclosure.exact(float(self.Phi.abs().sum(dim=0).max()))
        e = rigor.relative_error(m + 3)
        q = Enclosure.exact(radius) * size * Enclosure.between(1 - e, 1 + e)
        return (-q).exp() / (1 + (-q).exp()) ** 2

    def kappa(self, radius: float, effort: int) -> Enclosure:
        """The PL parameter: 2 sigma_min^2 (square), (2 tau + rho(R)) sigma_min^2 (logistic, m <= n)."""
        m, n = self.Phi.shape
        if self.loss == "square":
            return 2 * self.sigma_min(effort) ** 2
        if m > n:
            return Enclosure.exact(0)
        return (2 * Enclosure.exact(self.tau) + self.rho(radius)) * self.sigma_min(effort) ** 2

    # --- the infimum --------------------------------------------------------------------------------

    def infimum(self, radius: float, effort: int) -> Enclosure:
        """L*_{0,R} = inf of L_0 over ||W||_1 < R."""
        if math.isinf(radius):
            return self._infimum_everywhere(effort)
        W = _feasible(self._minimiser_within(radius), radius)
        q = self.outputs(Near.exact(W))
        above, G = self.value(q), self.gradient(q)
        # Convexity: L_0(W') >= L_0(W) + <G, W' - W>, and <G, W'> >= -R sum_j max_q |G_qj| on the ball.
        inner = (G * Near.exact(W)).value.sum()
        size = (G * Near.exact(W)).norm() * Enclosure.exact(W.numel()).sqrt()
        inward = Enclosure.exact(float(inner)).widen(
            G.radius * rigor.frobenius(W) + size * rigor.relative_error(W.numel() + 3)
        )
        peaks = float(G.value.abs().amax(dim=0).sum())
        spread = G.radius * Enclosure.exact(W.shape[1]).sqrt()
        reach = Enclosure.exact(peaks) * (1 + rigor.relative_error(W.shape[1] + 3)) + spread
        gap = (inward + Enclosure.exact(radius) * reach).maximum(0)
        return Enclosure.between((above - gap).maximum(0), above)

    def _infimum_everywhere(self, effort: int) -> Enclosure:
        m, n = self.Phi.shape
        kappa = self.kappa(math.inf, effort)
        if self.loss == "square" and n <= m and kappa.is_positive:
            return Enclosure.exact(0)  # Phi has full column rank: W Phi = Y is solvable
        q = self.outputs(Near.exact(self._minimiser))
        above = self.value(q)
        if not kappa.is_positive:
            return Enclosure.from_zero(above)
        below = above - self.gradient(q).norm() ** 2 / (2 * kappa)
        return Enclosure.between(below.maximum(0), above)

    @cached_property
    def _minimiser(self) -> Tensor:
        """A guess at the minimiser: least squares, or Newton's method."""
        if self.loss == "square":
            u, s, vh = torch.linalg.svd(self.Phi, full_matrices=False)
            kept = s > s.max() * 1e-14
            inverse = torch.where(kept, 1 / torch.where(kept, s, torch.ones_like(s)), 0.0)
            W: Tensor = (self.Y @ vh.T * inverse) @ u.T
            # One correction step takes the rounding of the first out of the gradient.
            better: Tensor = W - ((W @ self.Phi - self.Y) @ vh.T * inverse) @ u.T
            return better
        return self._newton()

    def _newton(self) -> Tensor:
        m = self.Phi.shape[0]
        W = torch.zeros((1, m), dtype=self.Phi.dtype, device=self.Phi.device)
        ridge = 1e-14 * float((self.Phi**2).sum()) / m
        eye = torch.eye(m, dtype=W.dtype, device=W.device) * ridge
        here = self._at(W)
        for _ in range(100):
            q = W @ self.Phi
            p = torch.sigmoid(q)
            g = (p - self.Y + 2 * self.tau * q) @ self.Phi.T
            H = (self.Phi * (p * (1 - p) + 2 * self.tau)) @ self.Phi.T + eye
            step = torch.linalg.lstsq(H.cpu(), g.T.cpu(), driver="gelsd").solution.T.to(W.device)  # H may be singular
            length = 1.0
            while length > 1e-10 and not self._at(W - length * step) <= here:
                length /= 2
            if length <= 1e-10:
                break
            W = W - length * step
            before, here = here, self._at(W)
            if float(step.norm()) <= 1e-13 * (1 + float(W.norm())) or before - here == 0:
                break
        return W

    def _at(self, W: Tensor) -> float:
        return float(objective(self.loss, W @ self.Phi, self.Y, self.tau))

    def _minimiser_within(self, radius: float) -> Tensor:
        """Accelerated projected gradient steps where the free minimiser lies outside the ball."""
        W = self._minimiser
        if float(W.abs().sum(dim=0).max()) <= radius * (1 - 1e-12):
            return W
        top = 2.0 if self.loss == "square" else 0.25 + 2 * self.tau
        step = 1 / (1.01 * top * float(torch.linalg.matrix_norm(self.Phi, 2)) ** 2)
        W = V = _project(W, radius)
        t = 1.0
        for _ in range(5000):
            moved = _project(V - step * self._slope(V), radius)
            if float(((V - moved) * (moved - W)).sum()) > 0:  # momentum points uphill: start it anew
                t = 1.0
            following = (1 + math.sqrt(1 + 4 * t * t)) / 2
            V = moved + (t - 1) / following * (moved - W)
            change = float((moved - W).abs().max())
            W, t = moved, following
            if change <= 1e-15 * radius:
                break
        return W

    def _slope(self, W: Tensor) -> Tensor:
        q = W @ self.Phi
        if self.loss == "square":
            return 2 * (q - self.Y) @ self.Phi.T
        return (torch.sigmoid(q) - self.Y + 2 * self.tau * q) @ self.Phi.T


def _sigmoid(x: float) -> Enclosure:
    t = Enclosure.exact(x)
    if x >= 0:
        return 1 / (1 + (-t).exp())
    return t.exp() / (1 + t.exp())


def _entries(values: list[Enclosure], like: Tensor) -> Near:
    """A float tensor of the midpoints; the distance of each is below its own width plus a rounding."""
    middle = [v.midpoint() for v in values]
    value = torch.tensor(middle, dtype=like.dtype, device=like.device).reshape(like.shape)
    widest = max((float(v.hi - v.lo) for v in values), default=0.0)
    n = Enclosure.exact(max(len(values), 1)).sqrt()
    slip = Enclosure.exact(2 * widest) * n + rigor.relative_error(2) * rigor.frobenius(value)
    return Near(value, Enclosure.from_zero(slip + len(values) * rigor.TINY))


def _project(W: Tensor, radius: float) -> Tensor:
    """Every column onto the 1-norm ball: for one row a clamp, else a shift of the sorted magnitudes."""
    if W.shape[0] == 1:
        return W.clamp(-radius, radius)
    size = W.abs()
    ordered = size.sort(dim=0, descending=True).values
    count = torch.arange(1, W.shape[0] + 1, dtype=W.dtype, device=W.device)[:, None]
    excess = (ordered.cumsum(dim=0) - radius) / count
    last = (ordered > excess).sum(dim=0, keepdim=True).clamp(min=1) - 1
    shift = excess.gather(0, last).clamp(min=0)
    return W.sign() * (size - shift).clamp(min=0)


def _feasible(W: Tensor, radius: float) -> Tensor:
    """W with ||W||_1 <= R for the exact sums of its floats; the infimum over the open ball is the same."""
    for shrink in (0.0, 1e-15, 1e-14, 1e-12, 1e-9, 1e-6):
        moved = W * (1 - shrink)
        if (Near.exact(moved).norm_1() <= radius) is HOLDS or (W.shape[0] == 1 and float(moved.abs().max()) <= radius):
            return moved
    return torch.zeros_like(W)


def _singular(wide: Tensor) -> bool:
    """Whether the exact Gram matrix of these floats is singular, by elimination in integers."""
    k = wide.shape[0]
    if k > EXACT_RANK:
        return False
    rows = [[x.as_integer_ratio() for x in row] for row in wide.tolist()]
    scale = max(d for row in rows for _, d in row)  # denominators are powers of two
    x = [[p * (scale // d) for p, d in row] for row in rows]
    a = [[sum(p * q for p, q in zip(r, s, strict=True)) for s in x] for r in x]
    previous = 1
    for i in range(k):
        pivot = a[i][i]
        if pivot == 0:  # a leading minor of a Gram matrix vanishes: its rows are dependent
            return True
        for r in range(i + 1, k):
            for c in range(i + 1, k):
                a[r][c] = (pivot * a[r][c] - a[r][i] * a[i][c]) // previous
        previous = pivot
    return False
