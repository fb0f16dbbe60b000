"""Peaceman-Rachford splitting for monotone equations: one factorisation, then one product per iteration.

With V = (I + alpha (I - M))^-1 an iteration is z = phi(w + alpha c), h = 2 z - w, y = h V, w = 2 y - h. (The usual
state is u = w + alpha c; without c the product sees no large constant, which float32 needs.) The resolvent says
alpha y M = (1 + alpha) y - h, so the layer at y, and with it the residual of y, costs no further product, and it is
measured only now and then. It converges
for every alpha > 0 when sym(I - M) >= m I with m > 0, whatever ||M|| is. Mixing states as Anderson does was tried: it
saves a twentieth at a good alpha and can stall at the kinks of the relu where the splitting is slow.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from deqcheck.equilibrium import newton, picard
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.solution import NotConverged, Solution

# Newton factorises once per sample, so it waits until the splitting has shown that it is slow.
NEWTON_AT = (150, 600, 2400, 9600)
NEWTON_WORK = 10**11
"""Multiplications that a round of Newton may take."""
SAMPLED = 1000
"""How many units the step is estimated on."""


def step_size(lipschitz: float, m: float) -> float:
    """1/sqrt(m L): the best step where I - M is symmetric, and a good one here."""
    return 1 / math.sqrt(m * lipschitz)


def balanced_step(M: Tensor) -> float:
    """One over the geometric mean of the eigenvalues of I - M, from a determinant.

    An eigenvalue x of I - M is damped by |1 - alpha x| / |1 + alpha x|, best at alpha = 1/|x|; both ends of the
    spectrum are served alike by the middle, on a log scale. Measured on random models it is within a tenth of the best
    iteration count, where 1/sqrt(m L) took up to twice as many, because few eigenvalues are as small as m.
    """
    stride = -(-M.shape[0] // SAMPLED)
    part = M[::stride, ::stride]
    log = torch.linalg.slogdet(torch.eye(part.shape[0], dtype=M.dtype, device=M.device) - part)[1]
    mean = float(log) / max(1, part.shape[0])
    return math.exp(-mean) if abs(mean) < 100 else 1.0


def resolvent(W: Tensor, alpha: float) -> Tensor:
    """(I + alpha (I - W))^-1, in differentiable operations."""
    identity = torch.eye(W.shape[0], dtype=W.dtype, device=W.device)
    # A numerically singular system gives infinities, which end the iteration, and no exception.
    inverse: Tensor = torch.linalg.inv_ex(identity + alpha * (identity - W))[0]
    return inverse


def solve(
    equation: Equation,
    start: Tensor | None = None,
    tolerance: float = 1e-14,
    limit: int = 20_000,
    alpha: float | None = None,
    V: Tensor | None = None,
) -> Solution:
    """Iterate until no sample's layer moves it by more than `tolerance`, or than rounding.

    Small equations on which it is slow are handed to Newton. V is the resolvent if it is known already.
    """
    alpha = balanced_step(equation.M) if alpha is None else alpha
    V = resolvent(equation.M, alpha) if V is None else V
    shift = alpha * equation.c
    w, extra = torch.zeros_like(shift), 0
    if start is not None:  # w = z + alpha (z M - z) at the solution: one product buys a warm state
        w, extra = torch.addmm(start, start, equation.M, beta=1 - alpha, alpha=alpha), 1
    h, y, image = (torch.empty_like(w) for _ in range(3))
    residuals: list[float] = []
    count, steps = 0, 1
    while count < limit:
        steps = min(steps, limit - count, *(k - count for k in NEWTON_AT if k > count))
        for _ in range(steps):
            equation.activate(torch.add(w, shift, out=h)).mul_(2).sub_(w)
            torch.mm(h, V, out=y)
            torch.sub(torch.add(y, y, out=w), h, out=w)
        count += steps
        # What y M + c must be, from the resolvent.
        equation.activate(torch.sub(y, h, out=image).div_(alpha).add_(y).add_(equation.c))
        each = equation.relative(torch.sub(image, y, out=h), image)
        residuals.append(float(each.max()) if each.numel() else 0.0)
        if equation.converged(residuals, image, each, tolerance):
            # y has rounding where a unit is off; z is exactly 0 there, so that its pattern can be read off.
            z = equation.activate(torch.add(w, shift, out=h))
            if equation.size is not None:  # a correction: the float64 layer will judge it
                return Solution(z, "Peaceman-Rachford", tuple(residuals), each, (count + extra, 0))
            equation.layer(z, out=image)
            extra += 1
            each = equation.relative(torch.sub(image, z, out=y), image)
            residuals[-1] = float(each.max()) if each.numel() else 0.0
            if equation.converged(residuals, z, each, tolerance):
                return Solution(z, "Peaceman-Rachford", tuple(residuals), each, (count + extra, 0))
        if residuals[-1] == math.inf:
            break
        steps = picard.stride(residuals, steps, tolerance)
        if count in NEWTON_AT and equation.low is None and equation.work * equation.M.shape[0] <= NEWTON_WORK:
            try:
                found = newton.solve(equation, image, tolerance)
            except NotConverged:
                continue  # The splitting goes on; it needs no help to converge.
            return Solution(
                found.Z, "Peaceman-Rachford and Newton", (*residuals, *found.residuals), found.per_sample,
                (count + extra + found.products[0], 0),
            )  # fmt: skip
    raise NotConverged("Peaceman-Rachford splitting", tuple(residuals), image)
