"""What training needs of a family: its parameters, loss and gradient in floats, and a point to certify.

The gradients are those of the papers, by implicit differentiation: forward and adjoint equations are solved from a
warm start and no graph is kept. The two that are unrolled or have a closed form say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from sympy import Symbol
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import engine
from deqcheck.equilibrium import mondeq_derivative as derivative
from deqcheck.equilibrium import mondeq_splitting as splitting
from deqcheck.equilibrium.opteq_unrolled import Trained
from deqcheck.equilibrium.solution import NotConverged
from deqcheck.error import InputError
from deqcheck.family.kawaguchi import LinearPoint
from deqcheck.family.ling import LingPoint
from deqcheck.family.mondeq import MonPoint
from deqcheck.family.opteq import OptEqPoint
from deqcheck.family.relu import ReluPoint
from deqcheck.models import kawaguchi as linear
from deqcheck.models import relu
from deqcheck.models.kawaguchi import LinearImplicit
from deqcheck.models.ling import VanillaDeq
from deqcheck.models.mondeq import MonDEQ
from deqcheck.models.opteq import Layer
from deqcheck.models.relu import ReluImplicit
from deqcheck.quantities import kawaguchi as kawaguchi_quantities
from deqcheck.quantities import ling as ling_quantities
from deqcheck.quantities import mondeq as mondeq_quantities
from deqcheck.quantities import opteq as opteq_quantities
from deqcheck.quantities import relu as relu_quantities
from deqcheck.statement import Conclusion, Quantity, Theorem
from deqcheck.trajectory.solve import TOLERANCE, fixed_point
from deqcheck.truth import HOLDS

Tensors = tuple[Tensor, ...]
Warm = Mapping[str, Tensor]
POLISHED = 1e-13
"""Relative residual of an equilibrium that is to be enclosed."""


@dataclass(frozen=True)
class Evaluation:
    """Loss and gradient at one set of parameters, and what warms up the next solve."""

    loss: float
    gradient: Tensors
    warm: Warm


class Training(Protocol):
    """A family as training sees it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The trained parameters."""

    @property
    def parameters(self) -> Tensors:
        """Their values at the start."""

    @property
    def data(self) -> Tensors:
        """What the loss depends on besides them."""

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """Loss and gradient in floats; raises NotConverged."""

    def point(self, parameters: Tensors, warm: Warm) -> Any:
        """The point of these very floats, for quantities to be measured on."""

    def loss(self, point: Any, effort: int) -> Enclosure:
        """The loss at a point, enclosed."""

    def kernel(self, point: Any) -> Tensor | None:
        """The tangent kernel of the predictions, in floats; None where the family has none."""


def _half_square(residual: Quantity, point: Any, effort: int) -> Enclosure:
    return residual.measure(point, effort) ** 2 / 2


def _half_norm(error: Tensor) -> float:
    return float(error @ error) / 2


@dataclass(frozen=True)
class TrainRelu:
    """W, A, b of the ReLU implicit network, by Lemma 3.2."""

    origin: ReluPoint
    names = ("W", "A", "b")

    @property
    def parameters(self) -> Tensors:
        """W, A, b."""
        m = self.origin.model
        return m.W, m.A, m.b

    @property
    def data(self) -> Tensors:
        """Inputs, labels, and gamma, which is part of the model."""
        return self.origin.X, self.origin.y, torch.tensor([self.origin.model.gamma], dtype=torch.float64)

    def _model(self, parameters: Tensors) -> ReluImplicit:
        W, A, b = parameters
        return ReluImplicit(W, A, b, self.origin.model.gamma)

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """Eqs. (7)-(9). Where splitting the diagonal off does not converge, the plain layer is iterated."""
        try:
            return self._evaluate(parameters, warm, split=True)
        except NotConverged:
            return self._evaluate(parameters, warm, split=False)

    def _evaluate(self, parameters: Tensors, warm: Warm, split: bool) -> Evaluation:
        """z = relu(c z + w) is z = relu(w) / (1 - c) for c < 1, so the diagonal of gamma A is solved for at once.

        What is iterated is the rest of A, which is small near the papers' A(0) = I. The same for the adjoint.
        """
        model, X = self._model(parameters), self.origin.X
        features = X @ model.W
        Phi = torch.relu(features)
        rest = model.gamma * model.A
        c = rest.diagonal().clone()
        if not split or float(c.max()) > 0.95:
            c = torch.zeros_like(c)
        rest.diagonal().sub_(c)
        solved = 1 / (1 - c)
        Z = fixed_point(lambda z: torch.relu_((z @ rest).add_(Phi)).mul_(solved), warm.get("Z", Phi), "the equilibrium")
        D = (Z > 0).to(Z.dtype)
        error = model.predict(Z) - self.origin.y
        scale = D * solved
        source = scale * torch.outer(error, model.b)
        V = fixed_point(lambda v: (v @ rest.T).mul_(scale).add_(source), warm.get("V", source), "the adjoint equation")
        gradient = X.T @ (V * (features > 0)), model.gamma * (Z.T @ V), Z.T @ error
        return Evaluation(_half_norm(error), gradient, {"Z": Z, "V": V})

    def point(self, parameters: Tensors, warm: Warm) -> ReluPoint:
        """The equilibrium found in training is verified where it can be, not solved for again."""
        found = replace(self.origin, model=self._model(parameters))
        q = found.norm_A * abs(Enclosure.exact(found.model.gamma))
        if "Z" in warm and (q < 1) is HOLDS:
            found.__dict__["equilibrium"] = self._verified(found, warm["Z"], q)
        return found

    @staticmethod
    def _verified(point: ReluPoint, guess: Tensor, q: Enclosure) -> engine.Equilibrium:
        """As deqcheck.equilibrium.engine.enclose, with the guess that training already has, polished."""
        Phi = point.model.features(point.X)
        guess = fixed_point(lambda z: point.model.layer(z, Phi), guess, "the equilibrium", POLISHED)
        Z, delta = engine.apply_layer(point.model, point.X, guess)
        step = rigor.frobenius(guess - Z) * (1 + rigor.relative_error(1))
        radius = Enclosure.from_zero((q * step + delta) / (1 - q))
        return engine.Equilibrium(Z, radius, q, "Anderson from the previous step", ())

    def loss(self, point: ReluPoint, effort: int) -> Enclosure:
        """1/2 ||Z b - y||^2."""
        return _half_square(relu_quantities.initial_residual, point, effort)

    def kernel(self, point: ReluPoint) -> Tensor | None:
        """H of Lemma 4.1; None where no equilibrium is known to exist."""
        if (point.equilibrium.contraction < 1) is not HOLDS:
            return None
        return relu.kernel(point.model, point.X, point.Z)


@dataclass(frozen=True)
class TrainLing:
    """W, U, a of the vanilla DEQ, by (3)."""

    origin: LingPoint
    names = ("W", "U", "a")

    @property
    def parameters(self) -> Tensors:
        """W, U, a."""
        m = self.origin.model
        return m.W, m.U, m.a

    @property
    def data(self) -> Tensors:
        """Inputs and labels."""
        return self.origin.X, self.origin.y

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """The columns of V = D (a r^T + W^T V) are r_i b_i, where b_i are the blocks of R^T."""
        model, X = VanillaDeq(*parameters), self.origin.X
        UX = model.U @ X
        Z = fixed_point(lambda z: model.layer(z, UX), warm.get("Z", torch.relu(UX)), "the equilibrium")
        D = (model.W @ Z + UX >= 0).to(Z.dtype)
        r = model.predict(Z) - self.origin.y
        G = torch.outer(model.a, r)
        V = fixed_point(lambda v: D * (G + model.W.T @ v), warm.get("V", D * G), "the adjoint equation")
        return Evaluation(_half_norm(r), (V @ Z.T, V @ X.T, Z @ r), {"Z": Z, "V": V})

    def point(self, parameters: Tensors, _warm: Warm) -> LingPoint:
        """The point; it solves for its own equilibrium."""
        return replace(self.origin, model=VanillaDeq(*parameters))

    def loss(self, point: LingPoint, effort: int) -> Enclosure:
        """1/2 ||a^T Z - y||^2."""
        return _half_square(ling_quantities.initial_residual, point, effort)

    def kernel(self, point: LingPoint) -> Tensor | None:
        """H of (4), where the activation pattern is proved."""
        return None if point.gradient is None else point.gradient.H[0]


@dataclass(frozen=True)
class TrainMonotone:
    """A, B, U, u of the monotone DEQ, by Lemma 3.2.3."""

    origin: MonPoint
    names = ("A", "B", "U", "u")

    @property
    def parameters(self) -> Tensors:
        """A, B, U, u."""
        m = self.origin.model
        return m.A, m.B, m.U, m.u

    @property
    def data(self) -> Tensors:
        """Inputs, labels and m."""
        return self.origin.X, self.origin.y, torch.tensor([self.origin.model.m], dtype=torch.float64)

    @cached_property
    def alpha(self) -> float:
        """The step of the splitting. It decides how fast the solver is, not where it ends, so one serves the run."""
        return splitting.step_size(self.origin.weights.lipschitz.floats()[1], self.origin.model.m)

    def _model(self, parameters: Tensors) -> MonDEQ:
        A, B, U, u = parameters
        return MonDEQ(A, B, U, u, self.origin.model.m)

    def _solve(self, model: MonDEQ, injected: Tensor, warm: Warm) -> tuple[Tensor, Tensor]:
        """Peaceman-Rachford from the last state; where that is slow, the solver of the equilibrium engine."""
        V = splitting.resolvent(model.W, self.alpha)
        state = warm.get("state", torch.zeros_like(injected))
        Z = torch.relu(state)
        for _ in range(200):
            state, Z = splitting.advance(V, self.alpha, injected, state, Z)
            after = model.layer(Z, injected)
            moved, size = float((after - Z).norm()), float(after.norm())
            if moved <= TOLERANCE * size:
                return Z, state
            if not moved < float("inf"):
                break
        identity = torch.eye(model.W.shape[0], dtype=Z.dtype, device=Z.device)
        Z = splitting.solve(model, injected, float(torch.linalg.matrix_norm(identity - model.W, 2))).Z
        return Z, torch.zeros_like(Z)

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """The adjoint is solved on the active units of every sample."""
        model, X = self._model(parameters), self.origin.X
        if not all(bool(torch.isfinite(p).all()) for p in parameters):
            return Evaluation(float("nan"), parameters, {})
        injected = model.injection(X)
        Z, state = self._solve(model, injected, warm)
        active = Z @ model.W.T + injected > 0
        mask = active.to(Z.dtype)
        G = mask * splitting.solve_active(model.W.T.contiguous(), active, model.u.expand_as(mask))
        r = model.predict(Z) - self.origin.y
        return Evaluation(_half_norm(r), derivative.gradient(model, X, Z, G, r), {"state": state})

    def point(self, parameters: Tensors, _warm: Warm) -> MonPoint:
        """The point; it solves for its own equilibrium."""
        return replace(self.origin, model=self._model(parameters))

    def loss(self, point: MonPoint, effort: int) -> Enclosure:
        """1/2 |Z u - y|^2."""
        return _half_square(mondeq_quantities.initial_residual, point, effort)

    def kernel(self, point: MonPoint) -> Tensor:
        """K of Proposition 4."""
        return derivative.kernel(point.model, point.X, point.Z, point.adjoint.G)


@dataclass(frozen=True)
class TrainLinear:
    """A and B of the deep equilibrium linear model; the equilibrium is one solve, differentiated as such."""

    origin: LinearPoint
    names = ("A", "B")

    @property
    def parameters(self) -> Tensors:
        """A, B."""
        return self.origin.model.A, self.origin.model.B

    @property
    def data(self) -> Tensors:
        """Features, targets, gamma and tau."""
        o = self.origin.objective
        return o.Phi, o.Y, torch.tensor([self.origin.model.gamma, o.tau], dtype=torch.float64)

    def evaluate(self, parameters: Tensors, _warm: Warm) -> Evaluation:
        """The objective of the paper, a sum over samples."""
        o = self.origin.objective
        A, B = (p.detach().requires_grad_() for p in parameters)
        outputs = LinearImplicit(A, B, self.origin.model.gamma).predict(o.Phi)
        value = linear.objective(o.loss, outputs, o.Y, o.tau)
        gradient = torch.autograd.grad(value, (A, B))
        return Evaluation(float(value.detach()), gradient, {})

    def point(self, parameters: Tensors, _warm: Warm) -> LinearPoint:
        """The point; the infimum of the linear model does not move with the parameters."""
        A, B = (p.detach() for p in parameters)
        return replace(self.origin, model=LinearImplicit(A, B, self.origin.model.gamma))

    def loss(self, point: LinearPoint, effort: int) -> Enclosure:
        """L(A, B)."""
        return kawaguchi_quantities.loss.measure(point, effort)

    def kernel(self, _point: LinearPoint) -> None:
        """Its role is played by D_t, which the conclusions watch."""
        return


@dataclass(frozen=True)
class TrainUnrolled:
    """Everything that Theorem 5 trains: W_0, W_l, U_l, b_l and W_{L+1}, backwards through K steps."""

    origin: OptEqPoint

    @property
    def names(self) -> tuple[str, ...]:
        """As the gradient names them."""
        layers = range(1, len(self.origin.model.layers) + 1)
        return ("W_0", *(f"{letter}_{k}" for k in layers for letter in "WUb"), "W_out")

    @property
    def parameters(self) -> Tensors:
        """In the order of the names."""
        start = self.origin.trained
        return (start.W0, *(t for layer in start.model.layers for t in (layer.W, layer.U, layer.b)), start.out)

    @property
    def data(self) -> Tensors:
        """Inputs, labels and the numbers that stay fixed."""
        start = self.origin.trained
        fixed = [start.gamma, start.model.alpha, *start.beta, *start.lam]
        return start.X0, start.y, torch.tensor(fixed, dtype=torch.float64)

    def _trained(self, parameters: Tensors) -> Trained:
        W0, *rest, out = parameters
        layers = tuple(Layer(*rest[k : k + 3]) for k in range(0, len(rest), 3))
        start = self.origin.trained
        return replace(start, model=replace(start.model, layers=layers), W0=W0, out=out)

    def evaluate(self, parameters: Tensors, _warm: Warm) -> Evaluation:
        """The recursion of `Trained.states` in plain floats, differentiated as it stands."""
        leaves = tuple(p.detach().requires_grad_() for p in parameters)
        net = self._trained(leaves)
        X = net.X0 @ net.W0.T
        Z = torch.zeros(X.shape[0], net.model.width, dtype=X.dtype, device=X.device)
        for beta, lam in zip(net.beta, net.lam, strict=True):
            shrunk = (1 - net.gamma * lam) * Z - net.gamma * (Z @ net.out.T @ net.out)
            Z = beta * shrunk + (1 - beta) * net.model.composed(Z, X)
        error = (Z @ net.out.T).reshape(-1) - net.y.reshape(-1)
        value = (error @ error) / 2
        return Evaluation(float(value.detach()), torch.autograd.grad(value, leaves), {})

    def point(self, parameters: Tensors, _warm: Warm) -> OptEqPoint:
        """The step sizes of the regulariser stay those of the start."""
        net = self._trained(parameters)
        found = replace(self.origin, model=net.model)
        found.__dict__["trained"] = net
        return found

    def loss(self, point: OptEqPoint, effort: int) -> Enclosure:
        """1/2 |y - y_0|^2."""
        return _half_square(opteq_quantities.initial_residual, point, effort)

    def kernel(self, _point: OptEqPoint) -> None:
        """Not formed: the gradient is taken backwards, sample by sample it would be another K passes."""
        return


FAMILIES: Mapping[str, Callable[[Any], Training]] = {
    "relu": TrainRelu,
    "ling": TrainLing,
    "mondeq": TrainMonotone,
    "kawaguchi": TrainLinear,
    "opteq": TrainUnrolled,
}


def require_rate(theorem: Theorem) -> None:
    """Refuse a theorem that says nothing of training."""
    if theorem.rate is None or theorem.family not in FAMILIES:
        raise InputError(
            f"{theorem.key} promises no rate, so there is no training to follow; leave --train out, or take a theorem "
            "about gradient descent or gradient flow such as gd-relu or gf-relu."
        )


def training(theorem: Theorem, point: Any) -> Training:
    """How the family of this theorem is trained."""
    require_rate(theorem)
    return FAMILIES[theorem.family](point)


def infimum(theorem: Theorem, values: Mapping[Symbol, Enclosure]) -> Enclosure:
    """What the loss is measured from: L* where the rate is about the loss above it, else 0."""
    if theorem.rate is not None and theorem.rate.of == "loss":
        return Enclosure.exact(0)
    return values[theorem.symbols["L_star"]]


def longest(theorem: Theorem, values: Mapping[Symbol, Enclosure]) -> float:
    """The time up to which the rate of a flow is bounded, where the statement names one."""
    named = theorem.symbols.get("horizon")
    return float("inf") if named is None else values[named].floats()[0]


def due(theorem: Theorem, conclusion: Conclusion, values: Mapping[Symbol, Enclosure], time: float) -> bool:
    """Whether the conclusion speaks of this time: that an accuracy is reached is promised after T(epsilon) only."""
    promised = theorem.symbols.get("T")
    about_loss = conclusion.claim is not None and any(s.name == "L_t" for s in conclusion.claim.free_symbols)
    if promised is None or not about_loss:
        return True
    return (values[promised] <= time) is HOLDS
