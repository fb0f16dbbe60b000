"""Deep OptEq (Xie et al. 2021): enclosures against high precision, solvers against brute force, and verdicts.

The high-precision network below is typed from the paper and shares no code with the one under test.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mpmath import MPContext

from deqcheck import check
from deqcheck.data import load
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import opteq as proof
from deqcheck.equilibrium import opteq_convex as convex
from deqcheck.equilibrium.opteq import Near, Net, Size
from deqcheck.equilibrium.opteq_unrolled import Trained
from deqcheck.error import InputError
from deqcheck.family.opteq import FAMILY, OptEqPoint
from deqcheck.library import theorem
from deqcheck.models.opteq import ACTIVATIONS, INITIALISATIONS, Layer, OptEq
from deqcheck.truth import FAILS, HOLDS, UNDECIDED
from deqcheck.verdict import Outcome

mp = MPContext()
mp.prec = 320
KEYS = ("opteq-prox", "opteq-inclusion", "opteq-wide", "opteq-sam", "opteq-gd")


# --- the paper's network at 320 bits ---------------------------------------------------------------


def _scalar(name: str):
    slopes = {"smooth": (mp.mpf(1) / 2, mp.mpf(15) / 16), "squareplus": (mp.mpf(0), mp.mpf(1))}
    if name in slopes:
        low, high = slopes[name]
        return lambda a: (high + low) / 2 * a + (high - low) / 2 * (mp.sqrt(a * a + 4) - 2)
    return {
        "relu": lambda a: max(a, mp.mpf(0)),
        "leaky": lambda a: a if a > 0 else a / 8,
        "clip": lambda a: min(max(a, mp.mpf(-1)), mp.mpf(1)),
        "bump": lambda a: a / (1 + a * a),
    }[name]


def _mp(x) -> list[list]:
    return [[mp.mpf(float(v)) for v in row] for row in x]


def _dot(x, y):
    return mp.fsum(a * b for a, b in zip(x, y, strict=True))


def _layer(model: OptEq, layer: Layer, Z, X):
    """alpha/mu W^T s(W z + U x + b) + (1 - alpha) z, sample by sample."""
    s, alpha, mu = _scalar(model.activation.name), mp.mpf(model.alpha), mp.mpf(model.mu)
    W, U, b = _mp(layer.W.tolist()), _mp(layer.U.tolist()), [mp.mpf(v) for v in layer.b.tolist()]
    out = []
    for z, x in zip(Z, X, strict=True):
        h = [s(_dot(w, z) + _dot(u, x) + bi) for w, u, bi in zip(W, U, b, strict=True)]
        inner = [_dot(column, h) for column in zip(*W, strict=True)]
        out.append([alpha * v / mu + (1 - alpha) * zi for v, zi in zip(inner, z, strict=True)])
    return out


def _composed(model: OptEq, Z, X):
    for layer in model.layers:
        Z = _layer(model, layer, Z, X)
    return Z


def _apart(value: torch.Tensor, truth) -> object:
    """The Frobenius distance of floats from a high-precision matrix."""
    rows = _mp(value.tolist())
    return mp.sqrt(mp.fsum((a - b) ** 2 for r, t in zip(rows, truth, strict=True) for a, b in zip(r, t, strict=True)))


def _upper(e: Enclosure):
    mantissa, exponent = e.hi.man_exp()
    return mp.ldexp(int(mantissa), int(exponent))


def _lower(e: Enclosure):
    mantissa, exponent = e.lo.man_exp()
    return mp.ldexp(int(mantissa), int(exponent))


def _inside(e: Enclosure, truth) -> bool:
    return _lower(e) <= truth <= _upper(e)


@cache
def _point(
    activation="relu", init="gaussian", m=4, n=4, L=2, alpha=0.8, N=3, d=3, norm=0.75, seed=0, **more
) -> OptEqPoint:
    data = load("sphere", samples=N, dim=d, seed=seed, classes=None)
    arrays = INITIALISATIONS[init](d, m, n, norm, L, np.random.default_rng([seed, 2]))
    layers = tuple(Layer(*(torch.from_numpy(np.ascontiguousarray(a)) for a in each)) for each in arrays)
    model = OptEq(layers, alpha, ACTIVATIONS[activation], more.pop("mu", 1.0))
    return OptEqPoint(model, torch.from_numpy(data.X), torch.from_numpy(data.y), seed, **more)


# --- enclosures contain the truth and are narrow ---------------------------------------------------


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("size", [1.0, 1e-12, 1e9])
def test_a_layer_contains_the_exact_one(name, size):
    point = _point(name, m=5, n=4, alpha=0.3, mu=1.7)
    Z = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 5)) * size)
    truth = _composed(point.model, _mp(Z.tolist()), _mp(point.X.tolist()))
    near = point.net.composed(Near(Z))
    assert _apart(near.value, truth) <= _upper(near.error)
    assert (near.error < 1e-13 * (1 + size)) is HOLDS
    # The bound that needs only the norm covers it as well.
    bound = point.net.composed(Size((3, 5), Enclosure.from_zero(proof.rigor.frobenius(Z))))
    assert _upper(bound.error) >= _apart(near.value, truth)
    assert _upper(bound.size) >= _upper(near.size)


def test_errors_of_the_input_are_carried():
    point = _point("smooth", m=5, n=4)
    Z = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 5)))
    moved = Z + 1e-3 * torch.from_numpy(np.random.default_rng(2).standard_normal((3, 5)))
    radius = proof.rigor.frobenius(moved - Z) * (1 + 1e-9)
    truth = _composed(point.model, _mp(moved.tolist()), _mp(point.X.tolist()))
    near = point.net.composed(Near(Z, Enclosure.from_zero(radius)))
    assert _apart(near.value, truth) <= _upper(near.error)
    assert _apart(point.net.composed(Near(Z)).value, truth) > _upper(point.net.composed(Near(Z)).error)


@pytest.mark.parametrize("name", ["relu", "leaky", "smooth", "squareplus", "clip", "bump"])
@pytest.mark.parametrize(("alpha", "norm"), [(1.0, 0.75), (0.8, 0.95), (2**-7, 0.6)])
def test_the_equilibrium_lies_within_its_radius(name, alpha, norm):
    point = _point(name, m=3, n=3, L=2, alpha=alpha, N=2, norm=norm)
    Z, X = _mp(point.equilibrium.Z.tolist()), _mp(point.X.tolist())
    strength = max(1, 1 / (2 * mp.mpf(alpha)))
    for _ in range(600):
        after = _composed(point.model, Z, X)
        Z = [[z + strength * (a - z) for z, a in zip(r, s, strict=True)] for r, s in zip(Z, after, strict=True)]
    gap = mp.sqrt(
        mp.fsum(
            (a - b) ** 2
            for r, s in zip(Z, _composed(point.model, Z, X), strict=True)
            for a, b in zip(r, s, strict=True)
        )
    )
    assert gap < mp.mpf(10) ** -18
    assert _apart(point.equilibrium.Z, Z) <= _upper(point.equilibrium.radius)
    assert (point.equilibrium.radius < 1e-10) is HOLDS


def test_a_network_that_may_have_no_equilibrium_claims_none():
    point = _point("relu", norm=1.3)
    assert not point.equilibrium.radius.is_finite
    assert not point.Z.norm.is_finite
    assert not point.inclusion_residual().is_finite


def test_isometries_have_norm_exactly_one(oracle):
    W = _point("clip", "isometry", m=8, n=6).model.layers[0].W
    assert proof.is_isometry(W)
    assert proof.operator_norm(W).contains(1) and proof.operator_norm(W).relative_width() == 0
    assert not proof.is_isometry(W * (1 + 2.0**-52))
    assert not proof.is_isometry(W / 2) and proof.operator_norm(W / 2).contains(0.5)
    general = _point("relu", m=5, n=4).model.layers[0].W
    assert oracle.norm_inside(proof.operator_norm(general), oracle.exact(general.tolist()))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_primitives_are_enclosed(name):
    a = torch.from_numpy(np.random.default_rng(3).standard_normal((3, 4)) * 3)
    s = _scalar(name)
    truth = mp.fsum(_integral(s, float(v)) for v in a.flatten())
    value = proof.primitive(ACTIVATIONS[name], Near(a))
    assert _lower(value) - mp.mpf(10) ** -40 <= truth <= _upper(value) + mp.mpf(10) ** -40
    assert value.relative_width() < 1e-12
    assert float(ACTIVATIONS[name].integral(a).sum()) == pytest.approx(value.midpoint(), rel=1e-12)


def _integral(s, a: float):
    """The integral of s from 0 to a, broken where the activations have kinks."""
    ends = sorted({0.0, a} | {k for k in (-1.0, 1.0) if min(0, a) < k < max(0, a)}, reverse=a < 0)
    return mp.quad(s, ends) if len(ends) > 1 else mp.mpf(0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_declared_slopes_are_the_slopes(name):
    s = ACTIVATIONS[name]
    a = torch.linspace(-9, 9, 4001, dtype=torch.float64).requires_grad_(True)
    (slope,) = torch.autograd.grad(s.value(a).sum(), a)
    here = a.detach()
    kinks = (here.abs() < 1e-6) | ((here.abs() - 1).abs() < 1e-6)
    assert torch.allclose(slope[~kinks], s.slope(here)[~kinks], atol=1e-12)
    assert float(slope.min()) >= float(s.least) - 1e-12 and float(slope.max()) <= float(s.largest) + 1e-12
    assert float(slope.min()) <= float(s.least) + 0.03 and float(slope.max()) >= float(s.largest) - 0.03
    if s.smooth is not None:
        bend = (s.slope(here)[1:] - s.slope(here)[:-1]).abs() / (here[1:] - here[:-1])
        assert 0.9 * float(s.smooth) <= float(bend.max()) <= float(s.smooth) + 1e-12
    assert float(s.value(torch.zeros(1, dtype=torch.float64))) == 0
    if s.resolvent is not None:
        v = torch.linspace(-5, 5, 101, dtype=torch.float64)
        x = s.resolvent(v, 0.3, 0.6)
        assert torch.allclose(0.6 * x + 0.3 * s.value(x), v, atol=1e-12)


# --- Theorem 1 -------------------------------------------------------------------------------------


def test_phi_is_the_explicit_function_of_the_paper():
    """For invertible W and relu: phi(z) = |p|^2/2 - <Ux + b, p> - |z|^2/2 with p = W^-T z >= 0."""
    point = _point("relu", m=3, n=3, L=1, alpha=1.0, N=1, norm=0.9)
    W, U, b = point.model.layers[0].W, point.model.layers[0].U, point.model.layers[0].b
    w = Near(torch.tensor([[0.7, -1.3, 2.1]], dtype=torch.float64))
    value = point.net.proximal(0, w)
    c = (point.X @ U.T + b)[0]
    z = mp.matrix([mp.mpf(float(v)) for v in torch.relu(w.value @ W.T + c)[0] @ W])
    p = mp.lu_solve(mp.matrix(_mp(W.tolist())).T, z)
    explicit = (
        (p.T * p)[0] / 2 - mp.fsum(mp.mpf(float(ci)) * pi for ci, pi in zip(c, p, strict=True)) - (z.T * z)[0] / 2
    )
    phi = point.phi(w, value)
    assert _lower(phi) - 1e-13 <= explicit <= _upper(phi) + 1e-13
    assert phi.relative_width() < 1e-12


def test_the_convex_solver_agrees_with_all_active_sets():
    point = _point("relu", m=4, n=4, L=1, alpha=1.0, N=3, norm=0.9)
    found = convex.solve(convex.theorem_1(point.net))
    W = point.model.layers[0].W.numpy()
    for row, c in enumerate(point.net.inputs[0].value.numpy()):
        best = (np.inf, None)
        for active in itertools.product([False, True], repeat=4):
            on = np.array(active)
            p = np.zeros(4)
            if on.any():
                p[on] = np.linalg.solve((np.eye(4) - W @ W.T)[np.ix_(on, on)], c[on])
            value = p @ (np.eye(4) - W @ W.T) @ p / 2 - c @ p
            if (p >= 0).all() and value < best[0]:
                best = (value, p)
        assert np.allclose(found.p[0].value[row].numpy(), best[1], atol=1e-12)
    assert (found.distance < 1e-12) is HOLDS


def test_an_expanding_layer_is_no_proximal_operator():
    """mu below ||W||^2: the margin is negative somewhere, so the check can fail."""
    point = _point("relu", "isometry", m=8, n=8, L=1, alpha=1.0, mu=0.25)
    assert (point.prox_margin() >= 0) is FAILS
    assert (point.expansion() <= 1) is FAILS


def test_a_wrong_equilibrium_is_not_a_minimiser():
    point = replace(_point("relu", m=4, n=4, L=1, alpha=1.0))
    object.__setattr__(point, "Z", Near(point.Z.value + 0.1, point.Z.error))
    assert (point.minimiser_distance() <= 1e-9) is FAILS


# --- Theorem 2, Corollary 1, Theorem 3 -------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.8, 0.1])
def test_a_wrong_equilibrium_breaks_the_inclusion(alpha):
    good = _point("smooth", m=4, n=4, L=3, alpha=alpha)
    assert (good.inclusion_residual() <= 1e-9) is HOLDS
    bad = replace(good)
    blocks = list(good.blocks)
    blocks[2] = Near(blocks[2].value + 0.01, blocks[2].error)
    object.__setattr__(bad, "blocks", tuple(blocks))
    assert (bad.inclusion_residual() <= 1e-4) is FAILS


@pytest.mark.parametrize("name", ["relu", "leaky", "smooth", "clip"])
@pytest.mark.parametrize("alpha", [1.0, 0.7, 0.05])
def test_two_layers_solve_the_convex_problem(name, alpha):
    """The solution of Corollary 1 is stationary for the sum of Moreau envelopes itself."""
    point = _point(name, m=4, n=3, L=2, alpha=alpha, norm=0.9)
    assert (point.corollary_distance() <= 1e-9) is HOLDS
    found = convex.solve(convex.corollary_1(point.net))
    z1, z0 = (near.value for near in convex.eliminated(alpha, found.x))
    for z, other, y, i in ((z1, z0, found.x[0].value, 0), (z0, z1, found.x[1].value, 1)):
        # At alpha < 1 the gradient of the envelope is (z - y) / (1 - alpha), y its proximal point.
        slope = alpha / (1 - alpha) * (z - y) if alpha < 1 else None
        if slope is not None:
            assert float((slope + z - other).norm()) < 1e-10
            assert float((point.net.proximal(i, Near(y + (z - y) / (1 - alpha))).value - y).norm()) < 1e-9


def test_the_wide_solution_is_the_limit():
    point = _point("relu", m=4, n=4, L=3, alpha=0.01)
    assert (point.wide_residual() <= 1e-10) is HOLDS
    far = [point.deep(k)[0].midpoint() for k in (1, 8, 64, 512)]
    assert all(0.1 < b / a * 1 < 0.14 for a, b in itertools.pairwise(far))  # linear in alpha
    wrong = replace(point)
    object.__setattr__(wrong, "wide", Near(point.wide.value + 1, point.wide.error))
    bound = point.model.alpha / 64 * wrong.deep(64)[1] * (1 + Enclosure.exact(2) / (3 * 0.4))
    assert (wrong.deep(64)[0] <= bound) is FAILS
    assert (wrong.wide_residual() <= 1e-9) is FAILS


# --- Theorem 4 -------------------------------------------------------------------------------------


def test_sam_iterates_are_enclosed():
    point = _point("clip", "isometry", m=4, n=4, L=2, N=2, K=12)
    sam, X = point.sam, _mp(point.X.tolist())
    V, t = _mp(sam.R.V.tolist()), _mp(sam.R.t.tolist())
    gamma = mp.mpf(sam.gamma)
    Z = [[mp.mpf(0)] * 4 for _ in range(2)]
    for k in range(1, 13):
        beta, lam = mp.mpf(sam.beta(k)), mp.mpf(sam.lam(k))
        T = _composed(point.model, Z, X)
        after = []
        for z, Tz, ti in zip(Z, T, t, strict=True):
            r = [_dot(v, z) - tj for v, tj in zip(V, ti, strict=True)]
            g = [_dot(column, r) for column in zip(*V, strict=True)]
            S = [(1 - gamma * lam) * zi - gamma * gi for zi, gi in zip(z, g, strict=True)]
            after.append([beta * a + (1 - beta) * b for a, b in zip(S, Tz, strict=True)])
        Z = after
    near = point.iterates[12]
    assert _apart(near.value, Z) <= _upper(near.error)
    assert (near.error < 1e-11) is HOLDS


def test_the_minimiser_on_the_box_is_the_clamped_one():
    """One free unit: the minimiser on the segment is a clamped projection."""
    point = _point("clip", "isometry", m=4, n=4, L=2, N=3)
    fixed, W, R = point.fixed, point.model.layers[0].W, point.sam.R
    assert fixed.kind == "a box of fixed points"
    assert fixed.free is not None and fixed.pinned is not None and int(fixed.free[0].sum()) == 1
    for i in range(3):
        rest = fixed.pinned[i] @ W @ R.V.T - R.t[i]
        a = (W[fixed.free[i]] @ R.V.T)[0]
        p = torch.where(fixed.free[i], (-(a @ rest) / (a @ a)).clamp(-1, 1), fixed.pinned[i])
        assert torch.allclose(fixed.minimiser.value[i], p @ W, atol=1e-12)
        # Every point of the box is fixed, exactly.
        z = torch.where(fixed.free[i], torch.full_like(p, 0.25), fixed.pinned[i]) @ W
        assert torch.equal(point.model.at(1.0).composed(z[None], point.X[i : i + 1])[0], z)


def test_sam_comes_nearer_and_a_wrong_minimiser_shows():
    point = _point("clip", "isometry", m=16, n=16, L=2, N=3, K=4000)
    minimiser = point.fixed.minimiser
    far = [(point.iterates[k] - minimiser).norm for k in (250, 1000, 4000)]
    assert (far[1] < far[0]) is HOLDS and (far[2] < far[1]) is HOLDS
    # Far out, where iterating is hopeless, the fixed points of the steps are still found and proved.
    later = [(point.sam.fixed_point(k, point.X) - minimiser).norm for k in (10**4, 10**6, 10**8)]
    assert (later[1] < later[0] / 2) is HOLDS and (later[2] < later[1] / 2) is HOLDS
    assert (later[2] < 0.01) is HOLDS
    assert (point.regularised(point.averaged) <= point.regularised(minimiser)) is HOLDS
    # A point of Fix(T) beyond the minimiser has a larger value; one below it would refute the theorem.
    wrong = point.fixed.into(Near(-minimiser.value))
    assert (point.sam.R.residual(wrong).norm <= point.sam.R.residual(minimiser).norm) is FAILS


# --- Theorem 5 -------------------------------------------------------------------------------------


def _unrolled(net: Trained, W0, layers, out):
    """The loss in plain torch, for autograd."""
    model = replace(net.model, layers=tuple(Layer(*layer) for layer in layers))
    X = net.X0 @ W0.T
    Z = torch.zeros(net.X0.shape[0], model.width, dtype=torch.float64)
    for beta, lam in zip(net.beta, net.lam, strict=True):
        S = (1 - net.gamma * lam) * Z - net.gamma * (Z @ out.T) @ out
        Z = beta * S + (1 - beta) * model.composed(Z, X)
    return ((Z @ out.T - net.y[:, None]) ** 2).sum() / 2


def test_the_gradient_agrees_with_autograd():
    net = _point("smooth", m=6, n=4, L=3, alpha=0.2, N=5, d=3, K=7, output=2.0).trained
    layers = [[t.clone().requires_grad_(True) for t in (la.W, la.U, la.b)] for la in net.model.layers]
    W0, out = net.W0.clone().requires_grad_(True), net.out.clone().requires_grad_(True)
    loss = _unrolled(net, W0, layers, out)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(net.residual.norm.midpoint() ** 2 / 2, rel=1e-13)
    pairs = {"W_0": W0, "W_out": out}
    for i, (W, U, b) in enumerate(layers, 1):
        pairs |= {f"W_{i}": W, f"U_{i}": U, f"b_{i}": b}
    assert set(pairs) == set(net.gradient)
    for name, tensor in pairs.items():
        near = net.gradient[name]
        assert near.error.floats()[1] < 1e-11
        assert float((near.value.reshape(tensor.shape) - tensor.grad).norm()) <= 1e-12, name
    total = sum(float(t.grad.norm()) ** 2 for t in pairs.values())
    assert net.gradient_square().midpoint() == pytest.approx(total, rel=1e-12)


def test_the_gradient_is_enclosed():
    """Against a difference quotient at 320 bits, in every bias and in the output weights."""
    net = _point("smooth", m=3, n=2, L=2, alpha=0.2, N=2, d=2, K=4, output=2.0).trained
    X = [[_dot(w, x) for w in _mp(net.W0.tolist())] for x in _mp(net.X0.tolist())]
    step = mp.mpf(10) ** -30

    def loss(which: str, index: int, move):
        out = [v + (move if which == "W_out" and j == index else 0) for j, v in enumerate(_mp(net.out.tolist())[0])]
        layers = [
            SimpleNamespace(W=la.W, U=la.U, b=_Moved(la.b, index, move if which == f"b_{i}" else 0))
            for i, la in enumerate(net.model.layers, 1)
        ]
        Z = [[mp.mpf(0)] * 3 for _ in range(2)]
        for beta, lam in zip(net.beta, net.lam, strict=True):
            T = Z
            for layer in layers:
                T = _layer(net.model, layer, T, X)
            beta_, keep = mp.mpf(beta), 1 - mp.mpf(net.gamma) * mp.mpf(lam)
            Z = [
                [beta_ * (keep * z - mp.mpf(net.gamma) * _dot(row, out) * o) + (1 - beta_) * t
                 for z, o, t in zip(row, out, after, strict=True)]
                for row, after in zip(Z, T, strict=True)
            ]  # fmt: skip
        return mp.fsum((_dot(z, out) - mp.mpf(float(y))) ** 2 for z, y in zip(Z, net.y, strict=True)) / 2

    for which, count in (("b_1", 2), ("b_2", 2), ("W_out", 3)):
        near = net.gradient[which]
        truth = [(loss(which, j, step) - loss(which, j, -step)) / (2 * step) for j in range(count)]
        assert _apart(near.value.reshape(1, -1), [truth]) <= _upper(near.error) + mp.mpf(10) ** -40
        assert near.error.floats()[1] < 1e-12


class _Moved:
    """A bias with one entry moved by a high-precision number."""

    def __init__(self, b, index, move):
        self.entries = [mp.mpf(float(v)) + (move if j == index else 0) for j, v in enumerate(b)]

    def tolist(self):
        return self.entries


def test_the_jacobian_of_lemma_11_in_kronecker_form():
    """(17): d vec f / d vec W = a (G^T (x) I) K + a (I (x) W^T) D (Z^T (x) I), with columns as samples."""
    point = _point("smooth", m=3, n=2, L=1, alpha=0.4, N=2, d=2)
    model, (layer,) = point.model, point.model.layers
    Z = torch.from_numpy(np.random.default_rng(4).standard_normal((2, 3)))
    explicit = torch.autograd.functional.jacobian(
        lambda W: model.apply(Layer(W, layer.U, layer.b), Z, point.X), layer.W
    ).reshape(6, 6)  # rows (sample, coordinate), columns (unit, coordinate): row-major W
    P = model.preactivation(layer, Z, point.X)
    G, D = model.activation.value(P), torch.diag(model.activation.slope(P).flatten())
    eye_m, eye_n, eye_N = (torch.eye(k, dtype=torch.float64) for k in (3, 2, 2))
    commute = torch.zeros(6, 6, dtype=torch.float64)  # vec(W) in columns to vec(W^T)
    columns = torch.zeros(6, 6, dtype=torch.float64)  # row-major W to vec(W) in columns
    for i in range(2):
        for j in range(3):
            commute[i * 3 + j, j * 2 + i] = 1
            columns[j * 2 + i, i * 3 + j] = 1
    kron = torch.kron
    printed = 0.4 * kron(G, eye_m) @ commute
    printed = printed + 0.4 * kron(eye_N, layer.W.T.contiguous()) @ D @ kron(Z, eye_n)
    assert torch.allclose(printed @ columns, explicit, atol=1e-12)


@pytest.fixture
def exclusive_or(tmp_path):
    """Four inputs whose labels are orthogonal to the constant and to both coordinates."""
    path = tmp_path / "xor.npz"
    np.savez(path, X=np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), y=np.array([1.0, 1, -1, -1]))
    return str(path)


def test_theorem_5_has_a_counterexample(exclusive_or):
    """U = b = 0 is a stationary point with loss N/2; all hypotheses hold once W_{L+1} is large.

    W_l is square with all singular values 3/4, so it does not matter how sigma_min(W_l) is read.
    """
    given = {"data": exclusive_or, "init": "orthogonal", "inputs": "0", "units": "8", "width": "8", "output": "1e6"}
    result = check.verify("opteq-gd", given)
    assert result.outcome is Outcome.COUNTEREXAMPLE
    assert all(h.verdict is HOLDS for h in result.hypotheses if h.verdict is not None)
    broken = [c.id for c in result.conclusions if c.verdict is FAILS]
    assert broken == ["(23)"]
    # Labels that a constant fits give a large gradient, and still less than (23) wants: the proof takes the
    # sum over the K steps as K, although every step shrinks by beta V + (1 - beta) A.
    settings = FAMILY.complete(theorem("opteq-gd"), given)
    point = FAMILY.build(load(exclusive_or, samples=None, dim=None, seed=0, classes=None), settings, "cpu")
    assert (point.trained.gradient_square() < 1e-5) is HOLDS
    fitted = replace(point, y=torch.ones(4, dtype=torch.float64))
    q0 = 20**2 * 3 * 0.01**2 * 0.5**2 * 0.5**2 * 4 * float(point.trained.out.norm()) ** 2
    assert (fitted.trained.gradient_square() >= q0 * 4 / 2) is HOLDS
    assert (fitted.trained.gradient_square() >= q0 * 4) is FAILS


def test_b_star_bounds_the_iterates():
    """B* is a bound for every theta of Assumption 3; here at theta(0)."""
    result = check.verify("opteq-gd", quick=True)
    settings = FAMILY.complete(theorem("opteq-gd"), theorem("opteq-gd").quick)
    point = FAMILY.build(load("sphere", samples=8, dim=10, seed=0, classes=None), settings, "cpu")
    constants = {c.name: c.value for c in result.constants}
    s = 15 / 16
    B = s * constants["B_Ub"] * (constants["B_x"] + 8**0.5) / (1 - s)
    for states in point.trained.states:
        for z in states:
            assert (z.norm <= B) is HOLDS


# --- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS[:4])
def test_holds_on_a_small_instance(key):
    result = check.verify(key, quick=True)
    assert result.outcome is Outcome.APPLIES
    assert result.verdict is HOLDS


def test_theorem_5_does_not_apply_to_its_own_recipe():
    result = check.verify("opteq-gd", quick=True)
    assert result.outcome is Outcome.DOES_NOT_APPLY
    assert {"(31) W", "(31) W_(L+1)"} <= {h.id for h in result.hypotheses if h.verdict is FAILS}
    assert result.rate is not None and result.rate.one_minus_rate.is_positive


def test_the_inequality_23_can_hold():
    """At the default instance the gradient is large enough; so the check that fails elsewhere can pass."""
    result = check.verify("opteq-gd", {})
    assert {c.id: c.verdict for c in result.conclusions}["(23)"] is HOLDS


@pytest.mark.parametrize(
    ("key", "given", "broken"),
    [
        ("opteq-prox", {"mu": "0.5"}, "μ ≥ L̃_σ‖W‖²"),
        ("opteq-prox", {"activation": "bump"}, "Assumption 1"),
        ("opteq-inclusion", {"norm": "1.01"}, "Assumption 2 W"),
        ("opteq-inclusion", {"activation": "bump"}, "Assumption 1"),
        ("opteq-wide", {"init": "isometry"}, "one ‖W_l‖ < 1"),
        ("opteq-sam", {"p": "0.6"}, "p + 2c < 1"),
        ("opteq-sam", {"norm": "1.1", "init": "gaussian", "activation": "relu"}, None),
        ("opteq-gd", {"alpha": "0.9"}, "Lemma 12"),
        ("opteq-gd", {"alpha": "0.1", "iterations": "20"}, "Lemma 16"),
        ("opteq-gd", {"activation": "squareplus"}, "σ strongly monotone"),
        ("opteq-gd", {"activation": "squareplus", "units": "3"}, "Assumption 4"),
        ("opteq-gd", {"norm": "0.8"}, "Assumption 5 ‖W_l‖"),
        ("opteq-gd", {"units": "32"}, "Assumption 5 σ_min"),
    ],
)
def test_a_broken_hypothesis_is_seen(key, given, broken):
    result = check.verify(key, given, quick=True)
    if broken is None:
        assert result.verdict is not HOLDS
        return
    assert result.outcome is Outcome.DOES_NOT_APPLY
    assert broken in {h.id for h in result.hypotheses if h.verdict is FAILS}


def test_a_fixed_point_set_that_is_not_understood_stays_undecided():
    result = check.verify("opteq-sam", {"activation": "relu"}, quick=True)
    verdicts = {h.id: h.verdict for h in result.hypotheses}
    assert verdicts["bounded"] is UNDECIDED and verdicts["unique"] is UNDECIDED
    assert result.verdict is UNDECIDED


@pytest.mark.parametrize("activation", ["leaky", "smooth", "squareplus", "clip"])
def test_theorem_1_for_other_activations(activation):
    assert check.verify("opteq-prox", {"activation": activation, "mu": "1.3"}, quick=True).verdict is HOLDS


@pytest.mark.parametrize("given", [{"layers": "1"}, {"layers": "5", "alpha": "1"}, {"alpha": "0.001"}, {"units": "3"}])
def test_theorems_2_and_3_at_their_edges(given):
    assert check.verify("opteq-inclusion", given, quick=True).verdict is HOLDS
    assert check.verify("opteq-wide", given, quick=True).verdict is HOLDS


def test_sam_on_a_contraction_and_after_one_step():
    assert check.verify("opteq-sam", {"init": "gaussian", "activation": "relu"}, quick=True).verdict is HOLDS
    assert check.verify("opteq-sam", {"iterations": "1"}, quick=True).verdict is HOLDS


@pytest.mark.parametrize(
    ("key", "given", "words"),
    [
        ("opteq-prox", {"alpha": "0"}, "alpha must lie in (0, 1]"),
        ("opteq-wide", {"alpha": "1.01"}, "alpha must lie in (0, 1]"),
        ("opteq-inclusion", {"alpha": "nan"}, "finite"),
        ("opteq-prox", {"mu": "0"}, "mu must be positive"),
        ("opteq-prox", {"layers": "2"}, "one layer"),
        ("opteq-prox", {"trials": "1"}, "at least 2"),
        ("opteq-sam", {"iterations": "0"}, "at least 1"),
        ("opteq-gd", {"iterations": "0"}, "at least 1"),
        ("opteq-sam", {"c": "-1"}, "must be positive"),
        ("opteq-gd", {"inputs": "-1"}, "must not be negative"),
        ("opteq-sam", {"units": "17"}, "must not exceed"),
        ("opteq-gd", {"activation": "relu"}, "smooth and monotone"),
        ("opteq-gd", {"activation": "bump"}, "smooth and monotone"),
        ("opteq-wide", {"activation": "tanh"}, "tanh"),
        ("opteq-wide", {"layers": "0"}, "at least 1"),
        ("opteq-wide", {"mu": "2"}, "mu"),
    ],
)
def test_bad_parameters(key, given, words):
    with pytest.raises(InputError) as caught:
        check.verify(key, given, quick=True)
    assert words in str(caught.value)


def test_other_devices_and_contraction_are_recorded(device):
    result = check.verify("opteq-prox", {}, device=device, quick=True)
    assert result.verdict is HOLDS
    assert result.equilibrium is not None and (result.equilibrium.contraction < 1) is HOLDS


def test_net_reuses_norms_at_another_alpha():
    point = _point("relu", L=3)
    other = point.net.at(0.25)
    assert other.weights is point.net.weights and other.model.alpha == 0.25
    assert isinstance(other, Net) and (other.lipschitz > point.net.lipschitz) is HOLDS
