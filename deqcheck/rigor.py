"""Certified norms and singular values of float64 tensors.

Only one thing is trusted of the hardware: a matrix product of inner length k has, entry by entry, an
error of at most k u |X||Y| for any order of summation, fused or not (k + 3 is used), plus what
underflow can take. Cholesky factors, eigenvectors and SVDs are guesses whose residuals are verified
by such products. Scalars are then combined as enclosures, so no rounding is forgotten. The analysis
needs no rounding mode and therefore holds on a GPU as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import torch
from torch import Tensor

from deqcheck.enclosure import Enclosure, Real
from deqcheck.truth import HOLDS

UNIT = Fraction(1, 2**53)
# Below this a product or an operand may be flushed to zero by some devices.
TINY = Fraction(1, 2**1022)

CHEAP, THOROUGH, PRECISE = 0, 1, 2
"""Effort: Gram matrix and Cholesky; SVD residual; 192-bit arithmetic on small instances."""


def relative_error(k: int) -> Enclosure:
    """gamma_k = k u / (1 - k u), the classical bound on k accumulated relative roundings."""
    ku = k * UNIT
    return Enclosure.exact(ku / (1 - ku))


PLAIN = 200
"""Entries up to 2^200, the largest of them above 2^-201, are squared and added as they are."""


def largest(x: Tensor) -> float:
    """max |x|, exactly; NaN or infinite where an entry is."""
    if not x.numel():
        return 0.0
    low, high = (float(end) for end in torch.aminmax(x))  # one pass, no copy; NaN in both where there is one
    return high if math.isnan(high) else max(-low, high)


def _scale(x: Tensor) -> int:
    """e with max|x| in [2^(e-1), 2^e): dividing by 2^e is exact but for entries that underflow."""
    top = largest(x)
    return math.frexp(top)[1] if math.isfinite(top) and top > 0 else 0


def _ldexp(x: Tensor, exponent: int) -> Tensor:
    """x 2^exponent in two exact halves, since 2^exponent itself may overflow."""
    half = exponent // 2
    return x * math.ldexp(1.0, half) * math.ldexp(1.0, exponent - half)


def _two_to(exponent: int) -> Enclosure:
    return Enclosure.exact(Fraction(2) ** exponent)


def _untrusted(x: Tensor) -> bool:
    """Whether nothing can be said of x: a non-finite entry, or a process that flushes denormals.

    Flushing is a mode of the process (torch.set_flush_denormal); rescaling would amplify what it drops.
    """
    if x.dtype != torch.float64:
        raise TypeError(f"certified numerics are for float64, not {x.dtype}")
    probe = torch.full((1,), 2.0**-1070, dtype=torch.float64, device=x.device)
    return float((probe * 2.0**1000).sum()) == 0 or not math.isfinite(largest(x))


def frobenius(x: Tensor) -> Enclosure:
    """The Frobenius (Euclidean) norm."""
    if x.numel() == 0:
        return Enclosure.exact(0)
    rows = x.reshape(x.shape[0], -1) if x.dim() > 1 else x.reshape(1, -1)
    if _untrusted(x):
        return Enclosure.between(0, math.inf)
    e = _scale(rows)
    if e == 0 and largest(rows) == 0:
        return Enclosure.exact(0)
    if abs(e) <= PLAIN:
        e = 0
    squares = (rows if e == 0 else _ldexp(rows, -e)).square().sum(dim=1)
    total = math.fsum(squares.tolist()) if bool(torch.isfinite(squares).all()) else math.nan
    error = relative_error(rows.shape[1] + 4)
    square = Enclosure.exact(total) * Enclosure.between(1 - error, 1 + 2 * error)
    return square.widen(4 * rows.numel() * TINY).maximum(0).sqrt() * _two_to(e)


def _absolute_sums(x: Tensor, dim: int) -> Enclosure:
    """An enclosure of [0, max of the absolute row or column sums]; its upper end is the norm bound."""
    top = float(torch.linalg.vector_norm(x, 1, dim=dim).max())
    k = x.shape[dim]
    return Enclosure.from_zero(Enclosure.exact(top) * (1 + relative_error(k + 3)) + k * TINY)


def mixed_bound(x: Tensor) -> Enclosure:
    """[0, sqrt(||X||_1 ||X||_inf)], which bounds the spectral norm of X and of |X|."""
    return (_absolute_sums(x, 0) * _absolute_sums(x, 1)).sqrt()


def product_error(x: Tensor, y: Tensor) -> Enclosure:
    """[0, bound] on the Frobenius norm of the rounding error of the float64 product x @ y.

    ||  |X||Y|  ||_F is at most ||X||_F times the spectral norm of |Y|, and the other way round.
    """
    k = x.shape[1]
    if x.numel() == 0 or y.numel() == 0:
        return Enclosure.exact(0)
    y = y.reshape(k, -1)
    gram = y.data_ptr() == x.data_ptr() and y.shape == x.T.shape and y.stride() == x.T.stride()
    fx, mx = frobenius(x), mixed_bound(x)
    fy, my = (fx, mx) if gram else (frobenius(y), mixed_bound(y))
    magnitude = (fx * fy).minimum(fx * my).minimum(mx * fy)
    if (magnitude < 2**1023) is not HOLDS:
        return Enclosure.from_zero(math.inf)
    underflow = k * TINY * (2 + Enclosure.exact(largest(x)) + largest(y))
    entries = Enclosure.exact(x.shape[0] * y.shape[1]).sqrt()
    return Enclosure.from_zero(magnitude * relative_error(k + 3) + underflow * entries)


def _semidefinite_defect(b: Tensor) -> Enclosure | None:
    """[0, r] with b + r I positive semidefinite, or None if b has no Cholesky factor."""
    factor, info = torch.linalg.cholesky_ex(b)
    if int(info) != 0 or not bool(torch.isfinite(factor).all()):
        return None
    n = b.shape[0]
    residual = torch.matmul(factor, factor.T) - b
    # Rounding of L L^T, of the subtraction, and of a shift on the diagonal made by the caller.
    shift = relative_error(2) * float(b.abs().max()) + n * TINY
    return mixed_bound(residual) * (1 + relative_error(2)) + product_error(factor, factor.T) + shift


def _shifted(gram: Tensor, sign: float, shift: float) -> Tensor:
    """sign * gram + shift I."""
    out = gram * sign
    out.diagonal().add_(shift)
    return out


def top_vector(apply: Callable[[Tensor], Tensor], like: Tensor, steps: int = 64) -> Tensor:
    """A guess at the eigenvector of the largest eigenvalue, by Lanczos; nothing is proved of it."""
    n = like.shape[0]
    start = torch.cos(torch.arange(n, dtype=like.dtype, device=like.device)) + 0.5
    basis = [start / start.norm()]
    images = []
    for _ in range(min(steps, n)):
        image = apply(basis[-1])
        images.append(image)
        frame = torch.stack(basis)
        rest = image
        for _ in range(2):  # twice is enough for orthogonality
            rest = rest - frame.T @ (frame @ rest)
        size = float(rest.norm())
        if not size > 1e-14 * float(image.norm()):
            break
        basis.append(rest / size)
    frame = torch.stack(basis[: len(images)])
    projected = frame @ torch.stack(images).T
    if not bool(torch.isfinite(projected).all()):
        first: Tensor = basis[0]
        return first
    _, vectors = torch.linalg.eigh((projected + projected.T) / 2)
    top: Tensor = frame.T @ vectors[:, -1]
    return top


def _quotient(gram: Tensor, v: Tensor) -> float:
    """The Rayleigh quotient as a plain float."""
    return float(v @ (gram @ v)) / float(v @ v)


def _solve_vector(factor: Tensor, v: Tensor) -> Tensor:
    return torch.cholesky_solve(v[:, None], factor)[:, 0]


def _bottom_vector(gram: Tensor) -> Tensor:
    """A guess at the eigenvector of the smallest eigenvalue: Lanczos on the inverse."""
    for share in (0.0, 1e-15, 1e-12, 1e-9):
        shift = share * float(gram.diagonal().sum())
        factor, info = torch.linalg.cholesky_ex(_shifted(gram, 1.0, shift))
        if int(info) == 0:
            return top_vector(partial(_solve_vector, factor), gram, 32)
    bottom: Tensor = torch.linalg.eigh(gram)[1][:, 0]
    return bottom


def _stretch(x: Tensor, v: Tensor) -> Enclosure:
    """||X^T v|| / ||v||: between the smallest and largest singular value, whatever v is."""
    image = torch.matmul(x.T, v.reshape(-1, 1))
    size = frobenius(image).widen(product_error(x.T, v.reshape(-1, 1)))
    return size.maximum(0) / frobenius(v)


def _normalised(x: Tensor) -> tuple[Tensor, int, Enclosure]:
    """x 2^-e, e, and a bound on what underflow changed, so that Gram matrices neither over- nor underflow."""
    e = _scale(x)
    return _ldexp(x, -e), e, Enclosure.from_zero(x.numel() * TINY)


def spectral_norm(x: Tensor, effort: int = CHEAP) -> Enclosure:
    """The operator norm ||X||: column norms and mixed norms first, then Gram and Cholesky."""
    if x.dim() == 1 or min(x.shape) == 1:
        return frobenius(x)
    whole = frobenius(x)
    if not whole.is_finite or (whole <= 0) is HOLDS:
        return whole
    wide, e, lost = _normalised(x if x.shape[0] <= x.shape[1] else x.T)
    upper = frobenius(wide).minimum(mixed_bound(wide))
    longest = wide[int(torch.argmax(wide.norm(dim=1)))]
    widest = wide[:, int(torch.argmax(wide.norm(dim=0)))]
    lower = frobenius(longest).maximum(frobenius(widest))
    if Enclosure.between(lower, upper).relative_width() > 1e-11:
        gram = torch.matmul(wide, wide.T)
        slip = product_error(wide, wide.T)
        vector = top_vector(lambda v: gram @ v, gram)
        top = _quotient(gram, vector)
        lower = lower.maximum(_stretch(wide, vector))
        for slack in (1e-12, 1e-10, 1e-8, 1e-5):
            shift = top * (1 + slack * max(1.0, wide.shape[0] / 100))
            defect = _semidefinite_defect(_shifted(gram, -1.0, shift))
            if defect is not None:
                upper = upper.minimum((Enclosure.exact(shift) + defect + slip).sqrt())
                break
    return Enclosure.between(lower, upper).widen(lost).maximum(0) * _two_to(e)


def sigma_min(x: Tensor, effort: int = CHEAP) -> Enclosure:
    """sqrt(lambda_min(X X^T)), the smallest singular value of a matrix with no more rows than columns.

    With more rows than columns it is 0: the proofs that use it need X X^T to be definite.
    """
    n, k = x.shape
    if _untrusted(x):
        return Enclosure.between(0, math.inf)
    if n > k or not bool((x != 0).any()):
        return Enclosure.exact(0)
    wide, e, lost = _normalised(x)
    bound = _sigma_min_svd(wide) if effort >= THOROUGH else _sigma_min_gram(wide)
    return bound.widen(lost).maximum(0) * _two_to(e)


def _sigma_min_gram(x: Tensor) -> Enclosure:
    gram = torch.matmul(x, x.T)
    slip = product_error(x, x.T)
    vector = _bottom_vector(gram)
    bottom = _quotient(gram, vector)
    upper = _stretch(x, vector)
    lower = Enclosure.exact(0)
    noise = slip.floats()[1]
    for share in (1e-10, 1e-7, 1e-4, 1e-2, 0.5):
        shift = min(bottom * (1 - share), bottom - 2 * noise)
        if shift <= 0:
            break
        defect = _semidefinite_defect(_shifted(gram, 1.0, -shift))
        if defect is not None:
            lower = (Enclosure.exact(shift) - defect - slip).maximum(0).sqrt()
            break
    return Enclosure.between(lower, upper)


def _sigma_min_svd(x: Tensor) -> Enclosure:
    """The residual of a computed SVD: survives condition numbers at which the Gram matrix is noise."""
    try:
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
    except RuntimeError:
        return Enclosure.between(0, frobenius(x))
    us = u * s
    residual = frobenius(x - torch.matmul(us, vh)) * (1 + relative_error(2))
    e = residual + product_error(us, vh) + frobenius(us) * relative_error(2) * frobenius(vh)
    f = _orthogonality(vh)
    g = _orthogonality(u.T)
    if (f < 1) & (g < 1) is not HOLDS:
        return Enclosure.between(0, frobenius(x))
    smallest = Enclosure.exact(float(s.min()))
    lower = smallest * ((1 - f) * (1 - g)).sqrt() - e
    upper = smallest * ((1 + f) * (1 + g)).sqrt() + e
    return Enclosure.between(lower, upper).maximum(0)


def _orthogonality(rows: Tensor) -> Enclosure:
    """[0, bound] on || R R^T - I ||."""
    product = _shifted(torch.matmul(rows, rows.T), 1.0, -1.0)
    n = rows.shape[0]
    return Enclosure.from_zero(
        frobenius(product) * (1 + relative_error(2)) + product_error(rows, rows.T) + n * UNIT * 2
    )


def product_norm(x: Tensor, v: Tensor, target: Tensor, x_error: Real, v_norm: Enclosure) -> Enclosure:
    """|| X' v - target || for any X' within x_error (Frobenius) of X."""
    product = torch.matmul(x, v.reshape(-1, 1)).reshape(-1)
    if target.shape != product.shape:
        raise ValueError(f"the target has shape {tuple(target.shape)}, the product {tuple(product.shape)}")
    difference = product - target
    slack = (
        product_error(x, v.reshape(-1, 1))
        + frobenius(difference) * relative_error(2)
        + Enclosure.from_zero(x_error) * v_norm
    )
    return frobenius(difference).widen(slack).maximum(0)


def difference_norm(x: Tensor, y: Tensor) -> Enclosure:
    """The operator norm || X - Y ||, with the rounding of the subtraction."""
    if x.shape != y.shape:
        raise ValueError(f"shapes {tuple(x.shape)} and {tuple(y.shape)} differ")
    difference = x - y
    slip = frobenius(difference) * relative_error(2)
    return spectral_norm(difference).widen(slip).maximum(0)


def singular_values(x: Tensor) -> list[float]:
    """Plain floats, largest first, for looking at; nothing is proved of them."""
    values: list[float] = torch.linalg.svdvals(x).tolist()
    return values
