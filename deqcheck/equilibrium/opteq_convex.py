"""A convex reference solver for the optimisation problems behind OptEq, with a certificate.

Every problem has the form

    min over p of  J(p) = rho sum_i [ 1^T s~*(p_i) - <c_i, p_i> ] - 1/2 <x, (C (x) I) x>,  x_i = W_i^T p_i,

with s~* the conjugate of the primitive of the activation, since phi_i(x) is the least value of
1^T s~*(p) - <c_i, p> over x = W_i^T p, minus |x|^2 / 2. Theorem 1 has one block, C = 1/mu^2 and
rho = 1/mu; Corollary 1 has two blocks after z_1 and z_0 are eliminated; Theorem 3 has C = 1 1^T / L.
The solver is an accelerated proximal gradient method on p. It never applies the layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.opteq import Near, Net
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.truth import HOLDS

ITERATIONS = 20_000


@dataclass(frozen=True)
class Problem:
    """rho, the coupling C as floats, and an upper bound of lambda_max of x -> W C W^T x."""

    net: Net
    rho: float
    coupling: tuple[tuple[float, ...], ...]
    roundings: int
    """Relative roundings in rho and in each entry of C."""
    curvature: Enclosure
    """[0, bound] on the largest eigenvalue of the quadratic that is subtracted."""

    @property
    def convexity(self) -> Enclosure:
        """Modulus of strong convexity of J: s~* is 1/L_s strongly convex."""
        rho = Enclosure.exact(self.rho) * (1 + rigor.relative_error(self.roundings) * _SIGN)
        return rho / self.net.model.activation.lipschitz - self.curvature


_SIGN = Enclosure.between(-1, 1)


@dataclass(frozen=True)
class Minimiser:
    """x_i = W_i^T p_i at the computed point, each known to contain the true one within its error."""

    x: tuple[Near, ...]
    p: tuple[Near, ...]
    distance: Enclosure
    """[0, bound] on ||p - p*||, all blocks together."""
    iterations: int


def solve(problem: Problem) -> Minimiser | None:
    """Accelerated proximal gradient; then the distance from a subgradient and strong convexity.

    None where the problem is not certified to be strongly convex.
    """
    s, net = problem.net.model.activation, problem.net
    if s.resolvent is None or (problem.convexity > 0) is not HOLDS:
        return None
    W = [layer.W for layer in net.model.layers]
    c = [near.value for near in net.inputs]
    rho, top = problem.rho, float(s.lipschitz)
    # Smooth part: rho/(2 top) |p|^2 minus the quadratic. It is convex; a negative eigenvalue of C adds
    # to its Lipschitz constant at most the largest absolute row sum times ||W||^2.
    largest = _largest(net.norms).floats()[1]
    rows = max(sum(map(abs, row)) for row in problem.coupling) if len(W) > 1 else 0.0
    step = 0.9 / (rho / top + rows * largest**2)
    modulus = max(1e-6, problem.convexity.floats()[0])
    root = (modulus * step) ** 0.5
    momentum = (1 - root) / (1 + root)
    p = [torch.zeros_like(ci) for ci in c]
    a, q = list(p), list(p)
    residuals: list[float] = []
    for _ in range(ITERATIONS):
        pulls = _pull(problem, W, [qi @ w for qi, w in zip(q, W, strict=True)])
        points = [qi - step * (rho / top * qi - rho * ci - pull) for qi, ci, pull in zip(q, c, pulls, strict=True)]
        # p = prox of step rho (s~* - |.|^2 / (2 top)), found through a = s^-1(p).
        a = [s.resolvent(v, 1 - step * rho / top, step * rho) for v in points]
        new = [s.value(ai) for ai in a]
        moved = sum(float((x - y).norm()) for x, y in zip(new, q, strict=True))
        q = [x + momentum * (x - y) for x, y in zip(new, p, strict=True)]
        p = new
        size = max(1.0, sum(float(x.norm()) for x in p))
        residuals.append(moved / size)
        if residuals[-1] < 1e-15 or (residuals[-1] < 1e-12 and _stalled(residuals)):
            return _certify(problem, a, len(residuals))
    raise NotConverged("the convex solver", tuple(residuals))


def _stalled(residuals: Sequence[float], window: int = 30) -> bool:
    return len(residuals) > 2 * window and min(residuals[-window:]) > 0.9 * min(residuals[:-window])


def _pull(problem: Problem, W: Sequence[Tensor], x: Sequence[Tensor]) -> list[Tensor]:
    """W_i sum_j C_ij x_j."""
    out = []
    for row, w in zip(problem.coupling, W, strict=True):
        mixed = sum((cij * xj for cij, xj in zip(row, x, strict=True)), torch.zeros_like(x[0]))
        out.append(mixed @ w.T)
    return out


def _certify(problem: Problem, a: Sequence[Tensor], iterations: int) -> Minimiser:
    """rho (a_i - c_i) - W_i sum_j C_ij x_j is a subgradient of J at p = s(a), for the exact p."""
    net = problem.net
    p = [Near(ai).activated(net.model.activation) for ai in a]
    x = [pi.through(W) for pi, W in zip(p, net.weights, strict=True)]
    total = Enclosure.exact(0)
    for i, W in enumerate(net.weights):
        pull = Near(torch.zeros_like(x[i].value))
        for cij, xj in zip(problem.coupling[i], x, strict=True):
            pull = pull + xj.times(cij, 1 + problem.roundings)
        slope = (Near(a[i]) - net.inputs[i]).times(problem.rho, 1 + problem.roundings)
        total = total + (slope - pull.through(W.T)).norm ** 2
    distance = Enclosure.from_zero(total.sqrt() / problem.convexity)
    return Minimiser(
        tuple(Near(xi.value, xi.error + distance * w) for xi, w in zip(x, net.norms, strict=True)),
        tuple(Near(pi.value, pi.error + distance) for pi in p),
        distance,
        iterations,
    )


# --- the three problems ----------------------------------------------------------------------------


def _largest(norms: Sequence[Enclosure]) -> Enclosure:
    out = Enclosure.exact(0)
    for norm in norms:
        out = out.maximum(norm)
    return out


def theorem_1(net: Net) -> Problem:
    """min phi for one block, with the divisor mu."""
    mu = net.model.mu
    curvature = net.norms[0] ** 2 / Enclosure.exact(mu) ** 2
    return Problem(net, 1 / mu, ((1 / mu**2,),), 2, curvature)


def corollary_1(net: Net) -> Problem:
    """Two blocks: alpha (phi_1 + phi_2) + 1/2 alpha/(2 - alpha) |y_1 - y_2|^2 over y, z eliminated."""
    alpha = net.model.alpha
    beta = alpha / (2 - alpha)
    # x^T C x <= alpha |x|^2, since the second eigenvalue alpha - 2 beta is smaller.
    curvature = Enclosure.exact(alpha) * _largest(net.norms) ** 2
    rest = alpha * (1 - alpha) / (2 - alpha)  # alpha - beta without cancellation
    return Problem(net, alpha, ((rest, beta), (beta, rest)), 5, curvature)


def eliminated(alpha: float, y: Sequence[Near]) -> tuple[Near, Near]:
    """(z_1, z_0) of Corollary 1 from the two points y at which the envelopes are attained."""
    share = (1 - alpha) / (2 - alpha)
    shift = (y[0] - y[1]).times(share, 5)
    return y[0] - shift, y[1] + shift


def theorem_3(net: Net) -> Problem:
    """L blocks around one centre y = mean(x_i)."""
    L = len(net.norms)
    mean = Enclosure.exact(0)
    for norm in net.norms:
        mean = mean + norm**2
    coupling = tuple(tuple(1 / L for _ in range(L)) for _ in range(L))
    return Problem(net, 1.0, coupling, 2, mean / L)


def centre(x: Sequence[Near]) -> Near:
    """The mean of the blocks."""
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total.times(1 / len(x), 2)
