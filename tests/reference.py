"""Gao & Gao (2022) once more, typed from the paper, with no rounding that could matter.

Nothing of the code under test is imported. The equilibrium of float64 weights is a vector of rationals
and is found as such: the active units of a sample give a linear system, solved exactly, and the
equation Z = relu(gamma Z A + Phi) is then verified exactly. Norms and singular values are roots of
characteristic polynomials with integer coefficients, bracketed to 2^-240 by exact signs. Only the
formulas of the theorems are rounded, in mpmath at 320 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_poly
from mpmath import MPContext

mp = MPContext()
mp.prec = 320

BRACKET = 240
"""Bits to which every root is proved."""
SAME = mp.ldexp(1, -200)
"""Two sides nearer than this (relatively) are equal: no instance is built nearer without being a tie."""

Array = np.ndarray
GAMMA, GAMMA0 = "γ > 0", "γ₀ < 1"
FLOW = (GAMMA, GAMMA0, "(14)", "(15)")
DESCENT = (GAMMA, GAMMA0, "(17)", "(18)", "(19)", "η > 0", "(20)")


@dataclass(frozen=True)
class Instance:
    """Weights, data and the fixed scalar of one network; rows of X are samples."""

    W: Array
    A: Array
    b: Array
    gamma: float
    X: Array
    y: Array


# --- exact linear algebra -------------------------------------------------------------------------------


def exact(a: Array) -> fmpq_mat:
    """The rationals that these floats denote; a vector becomes a column."""
    rows = a.reshape(len(a), -1)
    entries = [fmpq(*float(x).as_integer_ratio()) for x in rows.flat]
    return fmpq_mat(rows.shape[0], rows.shape[1], entries)


def relu(a: fmpq_mat) -> fmpq_mat:
    """Positive part of each entry."""
    return fmpq_mat(a.nrows(), a.ncols(), [max(x, fmpq(0)) for x in a.entries()])


def real(x: fmpq | fmpz) -> Any:
    """A rational in mpmath."""
    return mp.mpf(int(x.numer())) / int(x.denom()) if isinstance(x, fmpq) else mp.mpf(int(x))


def frobenius(a: fmpq_mat) -> Any:
    """||A||_F."""
    return mp.sqrt(real(sum((x * x for x in a.entries()), fmpq(0))))


def spectral_norm(a: fmpq_mat) -> Any:
    """||A||."""
    return mp.sqrt(extreme_eigenvalue(a, largest=True))


def sigma_min(a: fmpq_mat) -> Any:
    """sqrt(lambda_min(A A^T)): 0 when there are more rows than columns."""
    return mp.mpf(0) if a.nrows() > a.ncols() else mp.sqrt(extreme_eigenvalue(a, largest=False))


def extreme_eigenvalue(a: fmpq_mat, largest: bool) -> Any:
    """The largest or smallest eigenvalue of A A^T."""
    if largest and a.nrows() > a.ncols():
        a = a.transpose()
    whole, denominator = a.numer_denom()
    p = (whole * whole.transpose()).charpoly()
    if largest:
        root = largest_root(p)
    elif p[0] == 0:
        return mp.mpf(0)
    else:  # the reciprocals of the roots are the roots of the reversed polynomial
        root = 1 / largest_root(fmpz_poly([p[i] for i in range(p.degree(), -1, -1)]))
    return root / mp.mpf(int(denominator)) ** 2


def largest_root(p: fmpz_poly) -> Any:
    """The largest root of a polynomial whose roots are all real and not negative."""
    while p[0] == 0 and p.degree() > 0:
        p = fmpz_poly(p.coeffs()[1:])
    if p.degree() == 0:
        return mp.mpf(0)
    common = p.gcd(p.derivative())
    if common.degree() > 0:
        p = p // common
    c = [int(x) for x in p.coeffs()]
    c = c if c[-1] > 0 else [-x for x in c]
    if len(c) == 2:
        return mp.mpf(-c[0]) / c[1]
    for precision in (400, 1200, 4800, 20_000):
        with mp.workprec(precision):
            x = _newton_from_above(c)
            low, high = (x * (1 + sign * mp.ldexp(1, -BRACKET)) for sign in (-1, 1))
        # No sign change in the Taylor coefficients at `high`: no root above it. p(low) < 0: one above.
        if all(t > 0 for t in _taylor(c, high)) and _taylor(c, low)[0] < 0:
            return +x
    raise ArithmeticError("the largest root was not bracketed")


def _newton_from_above(c: list[int]) -> Any:
    """From the sum of the roots, Newton's method falls monotonically to the largest one."""
    x = -mp.mpf(c[-2]) / c[-1]
    coefficients = [mp.mpf(k) for k in reversed(c)]
    for _ in range(3000):
        value = slope = mp.mpf(0)
        for k in coefficients:
            slope = slope * x + value
            value = value * x + k
        step = value / slope if slope else mp.mpf(0)
        if step <= mp.ldexp(x, -BRACKET - 20):
            break
        x -= step
    return x


def _taylor(c: list[int], x: Any) -> list[int]:
    """Signs of p, p', p'', ... at x, exactly: the Taylor coefficients times powers of two."""
    sign, mantissa, exponent, _ = x._mpf_
    k, n = (-mantissa if sign else mantissa), len(c) - 1
    if exponent >= 0:
        k, shifted = k << exponent, list(c)
    else:
        shifted = [value << (-exponent * (n - i)) for i, value in enumerate(c)]
    for start in range(n):
        for i in range(n - 1, start - 1, -1):
            shifted[i] += k * shifted[i + 1]
    return shifted


# --- the equilibrium ------------------------------------------------------------------------------------


def equilibrium(A: fmpq_mat, gamma: fmpq, Phi: fmpq_mat) -> fmpq_mat:
    """The Z with Z = relu(gamma Z A + Phi), which is unique when |gamma| ||A|| < 1.

    Row by row a linear complementarity problem with a positive definite matrix; Murty's rule (flip the
    first unit that is wrong) then ends. It starts from the pattern that flipping all of them reaches.
    """
    n, m = Phi.nrows(), Phi.ncols()
    scaled = A * gamma
    rows: list[fmpq] = []
    for i in range(n):
        phi = [Phi[i, j] for j in range(m)]
        active = {j for j in range(m) if phi[j] > 0}
        for turn in range(5000):
            z = _on_pattern(scaled, phi, sorted(active))
            wrong = [j for j in range(m) if not _fits(scaled, phi, z, j, j in active)]
            if not wrong:
                break
            active ^= set(wrong) if turn < 20 else {wrong[0]}
        else:
            raise ArithmeticError("no active pattern was found")
        rows += z
    Z = fmpq_mat(n, m, rows)
    if relu(Z * scaled + Phi) != Z:
        raise ArithmeticError("the equilibrium is wrong")
    return Z


def _on_pattern(scaled: fmpq_mat, phi: list[fmpq], active: list[int]) -> list[fmpq]:
    z = [fmpq(0)] * len(phi)
    if active:
        k = len(active)
        system = [fmpq(int(i == j)) - scaled[j, i] for i in active for j in active]
        found = fmpq_mat(k, k, system).solve(fmpq_mat(k, 1, [phi[j] for j in active]))
        for place, value in zip(active, found.entries(), strict=True):
            z[place] = value
    return z


def _fits(scaled: fmpq_mat, phi: list[fmpq], z: list[fmpq], j: int, active: bool) -> bool:
    if active:
        return bool(z[j] >= 0)
    inner = sum((z[i] * scaled[i, j] for i in range(len(z)) if z[i] != 0), phi[j])
    return bool(inner <= 0)


# --- the quantities -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """The quantities of Theorems 4.2 and 4.4 and of the lemmas at one instance."""

    instance: Instance

    @cached_property
    def A(self) -> fmpq_mat:
        return exact(self.instance.A)

    @cached_property
    def gamma_exact(self) -> fmpq:
        return fmpq(*self.instance.gamma.as_integer_ratio())

    @cached_property
    def gamma(self) -> Any:
        return real(self.gamma_exact)

    @cached_property
    def norm_W(self) -> Any:
        return spectral_norm(exact(self.instance.W))

    @cached_property
    def norm_A(self) -> Any:
        return spectral_norm(self.A)

    @cached_property
    def norm_b(self) -> Any:
        return frobenius(exact(self.instance.b))

    @cached_property
    def norm_X_F(self) -> Any:
        return frobenius(exact(self.instance.X))

    @cached_property
    def well_posed(self) -> bool:
        """|gamma| ||A|| < 1: only then is there a Z to speak of, whether or not gamma > 0."""
        return bool(abs(self.gamma) * self.norm_A < 1 - SAME)

    @cached_property
    def Phi(self) -> fmpq_mat:
        return relu(exact(self.instance.X) * exact(self.instance.W))

    @cached_property
    def Z(self) -> fmpq_mat:
        return equilibrium(self.A, self.gamma_exact, self.Phi)

    @cached_property
    def alpha_0(self) -> Any:
        return sigma_min(self.Z)

    @cached_property
    def prediction(self) -> fmpq_mat:
        return self.Z * exact(self.instance.b)

    @cached_property
    def r_0(self) -> Any:
        return frobenius(self.prediction - exact(self.instance.y))

    @cached_property
    def norm_Z_F(self) -> Any:
        return frobenius(self.Z)

    @cached_property
    def norm_Phi_F(self) -> Any:
        return frobenius(self.Phi)

    @cached_property
    def max_Z_l_F(self) -> Any:
        """max over l <= 20 of ||Z^l||_F, from Z^0 = 0."""
        Z, norms = self.Phi * 0, [mp.mpf(0)]
        for _ in range(20):
            Z = relu(Z * self.A * self.gamma_exact + self.Phi)
            norms.append(frobenius(Z))
        return max(norms)

    @cached_property
    def closed_form(self) -> fmpq_mat:
        """Phi (I - gamma A)^-1, eq. of Lemma 5.1."""
        m = self.A.nrows()
        identity = fmpq_mat(m, m, [fmpq(int(i == j)) for i in range(m) for j in range(m)])
        system = identity - self.A * self.gamma_exact
        return system.transpose().solve(self.Phi.transpose()).transpose()

    @cached_property
    def distance(self) -> Any:
        return frobenius(self.Z - self.closed_form)

    def relabelled(self, y: Array) -> Reference:
        """Other labels; what does not depend on them is kept."""
        other = Reference(replace(self.instance, y=y))
        kept = {k: v for k, v in self.__dict__.items() if k not in ("instance", "r_0")}
        other.__dict__.update(kept)
        return other

    def quantities(self) -> Iterator[tuple[str, Any]]:
        """What both theorems measure; Z only where it exists."""
        for name in ("gamma", "norm_W", "norm_A", "norm_b", "norm_X_F"):
            yield name, getattr(self, name)
        if self.well_posed:
            yield "alpha_0", self.alpha_0
            yield "r_0", self.r_0


# --- the theorems ---------------------------------------------------------------------------------------


class Sides(NamedTuple):
    """One inequality; `claim` is ">=", ">" or "<"."""

    lhs: Any
    claim: str
    rhs: Any
    defined: bool = True
    """False where the paper divides by zero. It is then read as infinite, and nobody need decide it."""

    @property
    def apart(self) -> Any:
        """|lhs - rhs| relative to the larger of them."""
        size = max(abs(self.lhs), abs(self.rhs))
        return mp.inf if mp.isinf(size) else abs(self.lhs - self.rhs) / size if size else mp.mpf(0)

    @property
    def truth(self) -> bool:
        if self.apart < SAME:
            return self.claim == ">="
        return bool(self.lhs < self.rhs if self.claim == "<" else self.lhs > self.rhs)


def conditions(q: Any, C1: Any, C2: Any, C3: Any, larger: Callable[[Any, Any], Any] = max) -> dict[str, Any]:
    """The right-hand sides of (14)-(19), the left of γ₀ < 1 and the second term in the minimum of (20).

    Plain arithmetic, so that it serves for mpmath numbers and for arrays of many constants alike.
    """
    lam1, lam2, lam3 = q.norm_W + C1, q.norm_A + C2, q.norm_b + C3
    gamma0 = q.gamma * lam2
    rest = 1 - gamma0
    lam0 = larger(larger(lam1 / C3, gamma0 * lam1 * lam3 / (rest * C2 * lam2)), lam3 / C1)
    bracket = 1 + gamma0**2 / rest**2 * lam1**2 / lam2**2
    lam_bar = bracket / (bracket / lam1**2 + 1 / lam3**2) ** 2
    X = q.norm_X_F
    return {
        GAMMA0: gamma0,
        "(14)": 4 / rest * lam0 * X * q.r_0,
        "(15)": bracket * 8 * lam3 / rest**2 * X**2 * q.r_0,
        "(17)": 8 / rest * lam0 * X * q.r_0,
        "(18)": bracket * 16 * lam3 / rest**2 * X**2 * q.r_0,
        "(19)": bracket * 16 * lam3**2 / rest**2 * X**2,
        "(20)": 2 * rest**2 * lam_bar / lam1**4 / lam3**2 / X**2 if np.all(X != 0) else mp.inf,
    }


def hypotheses(q: Reference, constants: Mapping[str, float]) -> dict[str, Sides]:
    """Every hypothesis that is defined, at given C_1, C_2, C_3 and, for descent, eta."""
    sides = {GAMMA: Sides(q.gamma, ">", mp.mpf(0))}
    C1, C2, C3 = (mp.mpf(constants[f"C_{i}"]) for i in (1, 2, 3))
    gamma0 = q.gamma * (q.norm_A + C2)
    sides[GAMMA0] = Sides(gamma0, "<", mp.mpf(1))
    if "eta" in constants:
        eta = mp.mpf(constants["eta"])
        sides["η > 0"] = Sides(eta, ">", mp.mpf(0))
    if sides[GAMMA0].apart < SAME or not q.well_posed:
        return sides
    right = conditions(q, C1, C2, C3)
    power = {"(14)": 2, "(15)": 3, "(17)": 2, "(18)": 3, "(19)": 2}
    sides |= {n: Sides(q.alpha_0**k, ">=", right[n]) for n, k in power.items()}
    if "eta" in constants:
        first = 4 / q.alpha_0**2 if q.alpha_0 else mp.inf
        sides["(20)"] = Sides(eta, "<", min(first, right["(20)"]), bool(q.alpha_0 and q.norm_X_F))
    return sides


# --- searching for constants ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Rounded:
    """The quantities in extended floats, for trying many constants at once."""

    values: Mapping[str, np.longdouble]

    def __getattr__(self, name: str) -> np.longdouble:
        return self.values[name]


def rounded(q: Reference) -> Rounded:
    return Rounded({name: np.longdouble(mp.nstr(value, 25)) for name, value in q.quantities()})


def worst_margins(q: Rounded, logs: Array, numbers: tuple[str, ...]) -> Array:
    """min over the conditions of log(alpha_0^k / right-hand side), for each row of log C; -inf: γ₀ >= 1."""
    with np.errstate(all="ignore"):
        C1, C2, C3 = np.exp(logs.astype(np.longdouble)).T
        right = conditions(q, C1, C2, C3, np.maximum)
        rows = [
            (3 if n in ("(15)", "(18)") else 2) * np.log(q.alpha_0) - np.log(right[n])
            for n in numbers
            if n.startswith("(") and n != "(20)"
        ]
        worst = np.min(np.stack(rows), axis=0)
        return np.where((right[GAMMA0] < 1) & ~np.isnan(worst), worst, -np.inf)


def search(q: Reference, numbers: tuple[str, ...], rng: np.random.Generator, tries: int = 2000) -> tuple[Array, float]:
    """log C with the best worst margin found: log-uniform tries, then shrinking clouds around the best."""
    small = rounded(q)
    room = 1 / q.gamma - q.norm_A
    centre = np.array([float(mp.log(v)) if v > 0 else 0.0 for v in (q.norm_W, room, q.norm_b or q.norm_W)])
    logs = centre + rng.uniform(-60, 60, (tries, 3))
    logs[: tries // 2] = centre + rng.uniform(-8, 8, (tries // 2, 3))
    values = worst_margins(small, logs, numbers)
    best = int(np.argmax(values))
    x, value = logs[best], float(values[best])
    width = 5.0
    while width > 1e-9:
        directions = rng.standard_normal((60, 3)) * rng.choice([1.0, 0.1], (60, 1))
        cloud = x + width * directions
        values = worst_margins(small, cloud, numbers)
        best = int(np.argmax(values))
        if values[best] > value:
            x, value = cloud[best], float(values[best])
        else:
            width *= 0.6
    return x, value
