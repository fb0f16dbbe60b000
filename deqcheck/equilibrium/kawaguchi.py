"""Certified numerics of the deep equilibrium linear model: sigma(A), U^-1, D_t and the gradients.

D_t of eq. (8) has m m_y rows. It is never formed: with V = U^-1 and Z = B V it is
(V^T x I) blockdiag_k(I + gamma^2 Z J_k J_k^T Z^T) (V x I), and J_k = diag(s) - s s^T for the k-th column
s of sigma(A), so that D_t acts through products of m x m matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.kawaguchi_near import Near
from deqcheck.truth import HOLDS

# ln 2 in two parts; the first has 21 trailing zeros, so that its products with |k| < 2^21 are exact.
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
DEGREE = 14
EXP_UNITS = 8
"""Relative error of `exponential` in units u.

With |r| <= 0.36 and coefficients c_i <= 1, a Horner step passes on 0.36 of its error and adds at most
(0.36 * 1.44 + 1 + 1.44) u, so at most 4.63 u in all, beside a sum of at least e^-0.36: 6.63 u. The reduction to
r adds 0.75 u and the truncation at degree 14 adds 0.01 u.
"""
LOWEST = -700.0
"""Below this exp(x) < 2^-1009 is taken as 0."""
LOST = Fraction(1, 2**1000)
"""More than what that can change in an entry of sigma(A)."""
SMALL_OUTPUTS = 32
"""Up to so many outputs D_t is bounded output by output; above, by its first term alone."""


def exponential(x: Tensor) -> Tensor:
    """exp for -700 <= x <= 0 from sums and products only, relative error at most EXP_UNITS u.

    The library's exp is fast and good, but nothing is promised of it.
    """
    k = torch.round(x / math.log(2.0))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = torch.full_like(r, 1 / math.factorial(DEGREE))
    for i in range(DEGREE - 1, -1, -1):
        total = total * r + 1 / math.factorial(i)
    power = ((k.to(torch.int64) + 1023) << 52).view(torch.float64)  # exactly 2^k
    return total * power


def softmax_columns(A: Tensor) -> tuple[Tensor, Enclosure]:
    """sigma(A), and [0, e]: every entry s is within e s + LOST of the exact softmax of A."""
    top = A.max(dim=0, keepdim=True).values
    shifted = A - top
    virtual = shifted - A
    lost = (A - (shifted - virtual)) - (top + virtual)  # the rounding of the shift, exactly
    kept = shifted >= LOWEST
    x = torch.where(kept, shifted, torch.zeros_like(shifted))
    e = torch.where(kept, exponential(x) * (1 + lost), torch.zeros_like(x))
    S = e / e.sum(dim=0, keepdim=True)
    # exp above and below, each corrected by a sum and a product; the sum of m terms; the quotient.
    units = 2 * (EXP_UNITS + 4) + A.shape[0] + 4
    return S, Enclosure.from_zero(rigor.relative_error(units))


@dataclass(frozen=True)
class Resolvent:
    """U = I - gamma sigma(A) and what follows from it alone."""

    A: Tensor
    gamma: float

    @cached_property
    def _softmax(self) -> tuple[Tensor, Enclosure]:
        return softmax_columns(self.A)

    @property
    def relative(self) -> Enclosure:
        """[0, e]: the relative error of the entries of sigma."""
        return self._softmax[1]

    @cached_property
    def sigma(self) -> Near:
        """sigma(A)."""
        S, e = self._softmax
        m = self.A.shape[0]
        return Near(S, Enclosure.from_zero(e * rigor.frobenius(S) + m * LOST))

    @cached_property
    def U(self) -> Near:
        """I - gamma sigma(A)."""
        m = self.A.shape[0]
        eye = torch.eye(m, dtype=self.A.dtype, device=self.A.device)
        return Near.exact(eye) - self.sigma.times(self.gamma)

    @cached_property
    def inverse(self) -> Near:
        """U^-1: a float inverse V with K = I - V U proved small; U^-1 - V = (I - K)^-1 K V."""
        guess = Near.exact(torch.linalg.inv(self.U.value))
        m = self.A.shape[0]
        eye = torch.eye(m, dtype=self.A.dtype, device=self.A.device)
        K = (Near.exact(eye) - guess @ self.U).norm()
        if (K < 1) is not HOLDS:
            return Near(guess.value, Enclosure.between(0, math.inf))
        return Near(guess.value, Enclosure.from_zero(K / (1 - K) * guess.bound()))

    @cached_property
    def norm_U(self) -> Enclosure:
        """||U||."""
        return self.U.spectral_norm()


# --- Jacobians of the softmax -----------------------------------------------------------------------


def jacobians(sigma: Near, R: Near) -> Near:
    """Column k is J_k R_k (J_k is symmetric): s_ik (R_ik - s_k . R_k)."""
    ones = torch.ones((1, R.value.shape[0]), dtype=R.value.dtype, device=R.value.device)
    means = Near.exact(ones) @ (sigma * R)
    spread = Near.exact(ones.T) @ means
    return sigma * (R - spread)


def gradients(resolvent: Resolvent, Z: Near, G: Near) -> tuple[Near, Near]:
    """(dL/dA, dL/dB) of eqs. (22) and (24) from Z = B U^-1 and G = grad L_0(Z)."""
    Y = G @ resolvent.inverse.T
    dA = jacobians(resolvent.sigma, Z.T @ Y).times(resolvent.gamma)
    return dA, Y


def quadratic(resolvent: Resolvent, Z: Near, W: Near) -> Enclosure:
    """vec(W)^T D vec(W) = ||W U^-T||^2 + gamma^2 sum_k ||J_k Z^T (W U^-T)_k||^2."""
    dA, Y = gradients(resolvent, Z, W)
    return dA.norm() ** 2 + Y.norm() ** 2


def velocity(resolvent: Resolvent, Z: Near, dA: Near, dB: Near) -> Near:
    """d/dt (B U^-1) by the chain rule when A and B move with dA and dB; D does not occur in it."""
    moved = Z @ jacobians(resolvent.sigma, dA).times(resolvent.gamma)
    return (dB + moved) @ resolvent.inverse


def apply_D(resolvent: Resolvent, Z: Near, W: Near) -> Near:
    """The matrix form of D vec(W), eq. (8), for one output or several, without forming D."""
    Y = W @ resolvent.inverse.T
    inner = jacobians(resolvent.sigma, jacobians(resolvent.sigma, Z.T @ Y))
    return (Y + (Z @ inner).times(resolvent.gamma).times(resolvent.gamma)) @ resolvent.inverse


# --- the smallest eigenvalue of D --------------------------------------------------------------------


def weights(resolvent: Resolvent, z: Near) -> tuple[Tensor, Enclosure]:
    """S_t of Theorem 2 for one output z (1, m): 1 + gamma^2 ||J_k z^T||^2, and [0, e] for each entry."""
    m = z.value.shape[1]
    ones = Near.exact(torch.ones((1, m), dtype=z.value.dtype, device=z.value.device))
    squares, error = jacobians(resolvent.sigma, z.T @ ones).column_squares()
    g = resolvent.gamma**2
    s = 1 + g * squares
    top = Enclosure.exact(float(s.max()))
    return s, Enclosure.from_zero(error + top * rigor.relative_error(6))


def _weighted_norm(resolvent: Resolvent, c: Tensor, error: Enclosure) -> Enclosure:
    """|| diag(c^-1/2) U^T || for weights c >= 1 known up to `error` each."""
    root = c.rsqrt()
    # 1/sqrt has slope at most 1/2 above 1; rsqrt is a guess, checked by squaring it.
    check = (root * root * c - 1).abs().max()
    slip = Enclosure.exact(float(check)) + error + rigor.relative_error(6)
    U = resolvent.U.value.T
    value = root[:, None] * U
    radius = slip * rigor.frobenius(U) + resolvent.U.radius + U.numel() * rigor.TINY
    return Near(value, Enclosure.from_zero(radius)).spectral_norm()


def _top(matrix: Tensor) -> Tensor:
    """The leading right singular vector, as a guess."""
    return rigor.top_vector(lambda v: matrix.T @ (matrix @ v), matrix.T)


def _mean_square(S: Tensor, a: Tensor) -> Tensor:
    """sum_k a_k J_k^2, from J_k^2 = diag(s^2) - s^2 s^T - s (s^2)^T + |s|^2 s s^T."""
    S2 = S * S
    cross = (S2 * a) @ S.T
    return (S * (a * S2.sum(dim=0))) @ S.T - cross - cross.T + torch.diag(S2 @ a)


def _trial(resolvent: Resolvent, Z: Tensor) -> Tensor:
    """A matrix q w^T at which the quadratic form of D is small: alternate between q and w."""
    S, V, U, g = resolvent.sigma.value, resolvent.inverse.value, resolvent.U.value, resolvent.gamma
    w, q = _top(U.T), torch.ones(Z.shape[0], dtype=Z.dtype, device=Z.device)
    for _ in range(3 if 1 < Z.shape[0] <= 200 else 1):
        if Z.shape[0] > 1:
            a = (V @ w) ** 2  # (w^T u_k)^2
            q = torch.linalg.eigh(Z @ _mean_square(S, a) @ Z.T)[1][:, 0]
        r = q @ Z
        J = S * (r[:, None] - (r @ S)[None, :])
        c = 1 + g * g * (J * J).sum(dim=0)
        w = _top(c.rsqrt()[:, None] * U.T)
    return torch.outer(q, w)


def lambda_min_D(resolvent: Resolvent, Z: Near) -> Enclosure:
    """The smallest eigenvalue of D.

    Above: its Rayleigh quotient at a trial matrix. Below: if I + gamma^2 M_k >= diag(c_k) in one basis for
    all k, then 1/lambda_min(D) is at most the largest of ||diag(c_q^-1/2) U^T||^2 over the outputs q.
    With one output this is an equality.
    """
    trial = Near.exact(_trial(resolvent, Z.value))
    above = quadratic(resolvent, Z, trial) / trial.norm() ** 2
    below = 1 / resolvent.norm_U**2
    outputs, m = Z.value.shape
    if outputs == 1:
        s, error = weights(resolvent, Z)
        below = 1 / _weighted_norm(resolvent, s, error) ** 2
    elif outputs <= SMALL_OUTPUTS and outputs * m * m <= 10**7:
        better = _lower_by_outputs(resolvent, Z)
        below = below.maximum(better)
    return Enclosure.between(below, above)


def _lower_by_outputs(resolvent: Resolvent, Z: Near) -> Enclosure:
    """Gershgorin's bound on every M_k in the basis of their mean, so that the outputs separate."""
    S, g = resolvent.sigma, resolvent.gamma
    outputs, m = Z.value.shape
    mean = _mean_square(S.value, torch.ones_like(S.value[0]))
    Q = torch.linalg.eigh(Z.value @ mean @ Z.value.T)[1]
    eye = torch.eye(outputs, dtype=Q.dtype, device=Q.device)
    off = (Near.exact(Q.T) @ Near.exact(Q) - Near.exact(eye)).norm()
    if (off < 1) is not HOLDS:
        return Enclosure.exact(0)
    turned = Near.exact(Q.T) @ Z
    ones = Near.exact(torch.ones((1, m), dtype=Q.dtype, device=Q.device))
    parts = [jacobians(S, Near(turned.value[q : q + 1], turned.radius).T @ ones) for q in range(outputs)]
    stack = torch.stack([p.value for p in parts])  # (q, i, k)
    M = torch.einsum("qik,rik->kqr", stack, stack)
    diagonal = M.diagonal(dim1=1, dim2=2)
    rest = M.abs().sum(dim=2) - diagonal.abs()
    far = sum((p.radius**2 for p in parts), Enclosure.exact(0)).sqrt()
    longest = Enclosure.exact(float(M.diagonal(dim1=1, dim2=2).sum(dim=1).max()))
    each = far * (2 * (longest * 2).sqrt() + far) + longest * 2 * rigor.relative_error(m + 3 + outputs)
    error = each * Enclosure.exact(outputs).sqrt() + rigor.TINY
    low = (diagonal - rest - error.floats()[1]).clamp(min=0)
    c = 1 + g * g * low  # (k, q)
    slip = Enclosure.exact(float(c.max())) * rigor.relative_error(8)
    norms = [_weighted_norm(resolvent, c[:, q], slip) for q in range(outputs)]
    largest = norms[0]
    for norm in norms[1:]:
        largest = largest.maximum(norm)
    return (1 - off) / (1 + off) / largest**2


# --- iterates ---------------------------------------------------------------------------------------


def iterate_distance(resolvent: Resolvent, Phi: Tensor, steps: int) -> Enclosure:
    """max over samples of ||z^(l) - z*||_1 / ||phi||_1 after l = steps transitions from z^(0) = phi.

    Errors are followed in the 1-norm, where the layer contracts by gamma whatever sigma(A) is.
    """
    S, e = resolvent._softmax
    m, gamma = Phi.shape[0], Enclosure.exact(resolvent.gamma)
    Z = Phi
    for _ in range(steps):
        Z = resolvent.gamma * (S @ Z) + Phi
    star = torch.linalg.solve(resolvent.U.value, Phi)
    size = Phi.abs().sum(dim=0)
    kept = size > 0
    if not bool(kept.any()):
        return Enclosure.exact(0)
    size = size[kept]
    # One transition, computed, is off by at most this share of ||z||_1 + ||phi||_1 (entry errors of sigma,
    # a product of length m, a factor and a sum), and ||z^(l)||_1 <= ||phi||_1 / (1 - gamma).
    share = (1 + rigor.relative_error(m + 8)) * (1 + e) * (1 + rigor.relative_error(4)) - 1
    drift = share * (1 + 1 / (1 - gamma)) * 2 / (1 - gamma)
    residual = (Phi - star + resolvent.gamma * (S @ star)).abs().sum(dim=0)[kept]
    sums = rigor.relative_error(2 * m + 12)
    big = Enclosure.exact(float((star.abs().sum(dim=0)[kept] / size).max())) * (1 + sums)
    off = (Enclosure.exact(float((residual / size).max())) * (1 + sums) + share * (1 + 2 * big)) / (1 - gamma)
    ratio = ((Z - star).abs().sum(dim=0)[kept] / size).max()
    apart = Enclosure.exact(float(ratio))
    tiny = 8 * m * m * (LOST / (1 - gamma) ** 2 + rigor.TINY / Enclosure.exact(float(size.min())))
    slack = drift + off + apart * sums + rigor.relative_error(2) * (2 * big + 1) + tiny
    return apart.widen(slack).maximum(0)
