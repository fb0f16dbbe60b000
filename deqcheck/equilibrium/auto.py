"""The equilibrium by whatever suits the equation: the one door that models, proofs and training go through.

`solve(equation, start, tolerance)` looks at what is known of M and of the size:

    no activation, or nothing negative             closed form
    nearly nothing negative, q near 1, no start    the linear system as a guess, then Anderson
    ||M|| <= q < 1                                 Anderson (Picard while that is quick)
    sym(I - M) >= m > 0 only                       Peaceman-Rachford, with Newton where it is slow
    nothing known                                  Anderson

Large equations are iterated in float32 and polished in float64, and a dominant diagonal is solved for at once. When a
method fails the next one takes over and the method of the solution says so: "Picard, after: Anderson acceleration did
not ...". When all fail, NotConverged carries the residuals of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from deqcheck.equilibrium import anderson, closed_form, newton, peaceman_rachford, picard, polish
from deqcheck.equilibrium.equation import Equation
from deqcheck.equilibrium.solution import NotConverged, Solution

LARGE = 2 * 10**8
"""Multiplications per layer from which float32 pays."""
SLOW_CONTRACTION = 0.7
"""Above this contraction Picard may need hundreds of products where Anderson needs tens."""
DIAGONAL = 0.95
"""A diagonal of M up to this is worth solving for; closer to 1 the quotient 1 / (1 - d) is large."""
EXTREME = 1e100
"""A sample larger than this, or smaller than one over it, is scaled."""
NEWTON_WORK = 10**12
"""Multiplications that a last resort to Newton may take per round: a quarter of a minute or so."""
Attempt = Callable[[Equation, Tensor | None, float], Solution]


def solve(equation: Equation, start: Tensor | None = None, tolerance: float = 1e-12) -> Solution:
    """z = phi(z M + c) with every sample's relative residual at most `tolerance` (or at the rounding floor)."""
    if not equation.finite:
        raise NotConverged("an equation with entries that are not finite", ())
    exponents = _exponents(equation)
    if exponents is None:
        return _solve(equation, start, tolerance)
    c = _times_power(equation.c, -exponents)
    guess = c if start is equation.c or start is None else _times_power(start, -exponents)
    found = _solve(replace(equation, c=c), guess, tolerance)
    return replace(found, Z=_times_power(found.Z, exponents))


def _exponents(equation: Equation) -> Tensor | None:
    """e with |c_i| about 2^e_i, where some sample is so large or small that its squares overflow or lose digits.

    z = phi(z M + c) is homogeneous: a sample times a power of two has its equilibrium times that power, exactly, up to
    what falls below the smallest number on the way back. None: no sample needs it.
    """
    if equation.low is not None or equation.c.numel() == 0:
        return None
    top = equation.c.abs().amax(dim=1)
    plain = (top == 0) | ((top > 1 / EXTREME) & (top < EXTREME))
    if bool(plain.all()):
        return None
    return torch.where(plain, torch.zeros_like(top, dtype=torch.int32), torch.frexp(top).exponent)[:, None]


def _times_power(x: Tensor, exponents: Tensor) -> Tensor:
    """x 2^e row by row; in two steps, because 2^e alone may not be a number."""
    half = exponents // 2
    return torch.ldexp(torch.ldexp(x, half), exponents - half)


def _solve(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    failures: list[NotConverged] = []
    for attempt in _attempts(equation, start):
        try:
            found = attempt(equation, start, tolerance)
        except NotConverged as failure:
            failures.append(failure)
            start = _onward(equation, failure, start)
            continue
        if not failures:
            return found
        said = "; ".join(str(f) for f in failures)
        history = tuple(r for f in failures for r in f.residuals) + found.residuals
        return Solution(found.Z, f"{found.method}, after: {said}", history, found.per_sample, found.products)
    history = tuple(r for f in failures for r in f.residuals)
    raise NotConverged(", ".join(f.method for f in failures), history, failures[-1].Z)


def _onward(equation: Equation, failure: NotConverged, start: Tensor | None) -> Tensor | None:
    """Where the next method begins: at the last iterate if that is closer than a tenth, else where the first began."""
    if failure.Z is None or not bool(torch.isfinite(failure.Z).all()):
        return start
    image = equation.layer(failure.Z)
    each = equation.relative(image - failure.Z, image)
    return failure.Z if each.numel() and float(each.max()) < 0.1 else start


def _attempts(equation: Equation, start: Tensor | None) -> Iterator[Attempt]:
    """The methods in order: the cheapest that suits first, the surest last."""
    q, m = equation.contraction, equation.monotone
    large = equation.work >= LARGE and equation.c.dtype == torch.float64
    cold = start is None or start is equation.c
    contracts = q is not None and q < 1
    if closed_form.applies(equation):
        yield closed_form.solve
    elif cold and (q is None or q > SLOW_CONTRACTION) and large and closed_form.nearly(equation):
        yield _from_linear
    if not contracts and m is not None and m > 0:
        yield _splitting_polished if large else _splitting
        yield _anderson
    elif large:
        yield _anderson_polished
        yield _anderson
    elif contracts and q is not None and q <= SLOW_CONTRACTION:
        yield _picard
    else:
        yield _anderson
    if contracts and q is not None and q > SLOW_CONTRACTION and equation.low is None:
        yield _splitting
    if equation.work * equation.M.shape[0] <= NEWTON_WORK and equation.low is None:
        yield _newton
    yield _picard


def _picard(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    return picard.solve(equation, start, tolerance)


def _anderson(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    return anderson.solve(equation, start, tolerance)


def _anderson_polished(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    # From c itself a product would only tell what is known: the first layer from zero is phi(c).
    guess = None if start is equation.c else start
    split = _split(equation)

    def inner(correction: Equation, aim: float) -> Solution:
        return anderson.solve(correction if split is None else split(correction), None, aim, 300)

    return polish.solve(equation, inner, guess, tolerance)


def _split(equation: Equation) -> Callable[[Equation], Equation] | None:
    """A dominant diagonal solved for at once, unit by unit; None where the rest would not contract twice as fast.

    z = max(d z + w, low) is z = max(w / (1 - d), low) for d < 1, and likewise under a mask: an equation of the same
    kind with M' = (M - diag d) / (1 - d), column by column. The papers start at A = I, where M' = 0.
    """
    d = equation.M.diagonal()
    top, least = (float(d.max()), float(d.min())) if d.numel() else (0.0, 0.0)
    if not (0 <= least and 0 < top < DIAGONAL):
        return None
    rest = max(0.0, equation.frobenius**2 - float(d @ d)) ** 0.5 / (1 - top)
    if rest > 0.5 * (top if equation.contraction is None else equation.contraction):
        return None
    solved = (1 / (1 - d)).float()
    M = equation.M.float() * solved
    M.fill_diagonal_(0)
    return lambda e: replace(e, M=M, c=e.c * solved, contraction=rest, monotone=None)


def _from_linear(equation: Equation, _start: Tensor | None, tolerance: float) -> Solution:
    found = _anderson_polished(equation, closed_form.linear(equation), tolerance)
    method = f"linear system, then {found.method}" if found.method else "linear system"
    return Solution(found.Z, method, found.residuals, found.per_sample, found.products)


def _splitting(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    return peaceman_rachford.solve(equation, start, tolerance)


def _splitting_polished(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    single = equation.M.float()
    alpha = peaceman_rachford.balanced_step(single)
    V = peaceman_rachford.resolvent(single, alpha)

    def inner(correction: Equation, aim: float) -> Solution:
        return peaceman_rachford.solve(correction, None, aim, 1000, alpha, V=V)

    return polish.solve(equation, inner, start, tolerance)


def _newton(equation: Equation, start: Tensor | None, tolerance: float) -> Solution:
    return newton.solve(equation, start, tolerance)
