"""What training needs of a family: its parameters, loss and gradient in floats, and a point to certify.

The gradients are those of the papers, by implicit differentiation: forward and adjoint equations are solved from a
warm start and no graph is kept. The two that are unrolled or have a closed form say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from sympy import Symbol
from torch import Tensor

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
from deqcheck.trajectory.solve import TOLERANCE, Correction, fixed_point
from deqcheck.truth import HOLDS

Tensors = tuple[Tensor, ...]
Warm = Mapping[str, Tensor]
LARGE = 10**8
"""Multiplications of one layer from which corrections in float32 pay."""
ACCURATE = 1e-6
"""Relative accuracy of the gradient of a large model."""
SIGNS = 1e-8
"""Relative accuracy of its equilibrium: a unit whose sign is not known spoils a derivative more than its size does."""
ROUNDS = 6
"""Residuals in float64 that one solve may take."""


@dataclass(frozen=True)
class Watched:
    """A matrix whose norm, or smallest singular value, a conclusion speaks of."""

    matrix: Tensor
    least: bool = False
    squared: bool = False
    """The conclusion is about the square: an eigenvalue of the Gram matrix."""


@dataclass(frozen=True)
class Evaluation:
    """Loss and gradient at one set of parameters, and what warms up the next solve."""

    loss: float
    gradient: Tensors
    warm: Warm
    accuracy: float = 1e-9
    """Relative accuracy of the gradient, with room for the condition of its two equations; an estimate."""
    products: tuple[int, int] = (0, 0)
    """Large matrix products that were taken, in float64 and in float32, where they are counted."""
    watched: Mapping[str, Watched] = field(default_factory=dict)
    """By the name of the monitored symbol; what is missing is looked at where steps are certified only."""


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

    @cached_property
    def _correction(self) -> Correction:
        m = self.origin.model
        return Correction((self.origin.X.shape[0], m.A.shape[0]), str(m.A.device))

    def evaluate(self, parameters: Tensors, warm: Warm) -> Evaluation:
        """Eqs. (7)-(9). Where splitting the diagonal off does not converge, the plain layer is iterated.

        The adjoint is linear in the error of its sample, so what is solved for and kept is U, the adjoint of an
        error of 1: it changes as slowly as Z does, however the errors oscillate.
        """
        model = self._model(parameters)
        c = model.gamma * model.A.diagonal()
        splits = float(c.max()) <= 0.95
        if splits and self.origin.X.shape[0] * model.A.numel() >= LARGE:
            try:
                return self._refined(model, c, warm)
            except NotConverged:
                pass
        try:
            return self._plain(model, c if splits else torch.zeros_like(c), warm)
        except NotConverged:
            return self._plain(model, torch.zeros_like(c), warm)

    def _plain(self, model: ReluImplicit, c: Tensor, warm: Warm) -> Evaluation:
        """z = relu(c z + w) is z = relu(w) / (1 - c) for c < 1, so the diagonal of gamma A is solved for at once.

        What is iterated is the rest of A, which is small near the papers' A(0) = I. The same for the adjoint.
        """
        Phi = model.features(self.origin.X)
        rest = model.gamma * model.A
        rest.diagonal().sub_(c)
        solved = 1 / (1 - c)
        Z = fixed_point(lambda z: torch.relu_((z @ rest).add_(Phi)).mul_(solved), warm.get("Z", Phi), "the equilibrium")
        scale = (Z > 0).to(Z.dtype) * solved
        source = scale * model.b
        U = fixed_point(lambda u: (u @ rest.T).mul_(scale).add_(source), warm.get("U", source), "the adjoint equation")
        return self._differentiated(model, Phi, Z, U)

    def _refined(self, model: ReluImplicit, c: Tensor, warm: Warm) -> Evaluation:
        """The same in float32 but for the residuals, which are those of the undivided layer times 1 / (1 - c)."""
        A, b, gamma, solved = model.A, model.b, model.gamma, 1 / (1 - c)
        Phi = model.features(self.origin.X)
        work = self._correction
        work.rest.copy_(A).mul_((gamma * solved).float())
        work.rest.diagonal().zero_()
        double, single = 0, 0
        Z = warm["Z"].clone() if "Z" in warm else Phi * solved
        residual = torch.empty_like(Z)
        size = float(b.norm())
        for _ in range(ROUNDS):
            torch.addmm(Phi, Z, A, alpha=gamma, out=residual).sub_(Z).mul_(solved)
            work.r.copy_(residual)
            torch.neg(Z, out=residual)
            work.other.copy_(residual)
            goal = SIGNS * float(Z.norm())
            if size > 0:
                goal = min(goal, ACCURATE / 4 * float((model.predict(Z) - self.origin.y).norm()) / size)
            step, wrong, count = work.solve(True, goal, "the equilibrium")
            # A unit that is off stays exactly 0: -Z rounded to float32 does not cancel it.
            Z.add_(step).mul_(step > work.other).clamp_(min=0)
            double, single = double + 1, single + count
            if wrong <= 4 * goal:
                break
        mask = Z > 0
        work.other.copy_(mask)
        U = (warm["U"] if "U" in warm else b * solved) * mask
        for _ in range(ROUNDS if size > 0 else 0):
            torch.addmm(b, U, A.T, alpha=gamma, out=residual).sub_(U).mul_(mask)
            work.r.copy_(residual)
            goal = ACCURATE / 3 * float(U.norm())
            step, wrong, count = work.solve(False, goal, "the adjoint equation")
            U.add_(residual.copy_(step).mul_(solved))
            double, single = double + 1, single + count
            if wrong <= 4 * goal:
                break
        del residual
        found = self._differentiated(model, Phi, Z, U if size > 0 else torch.zeros_like(Z))
        return replace(found, accuracy=ACCURATE, products=(double, single))

    def _differentiated(self, model: ReluImplicit, Phi: Tensor, Z: Tensor, U: Tensor) -> Evaluation:
        error = model.predict(Z) - self.origin.y
        V = error[:, None] * U
        of_A = torch.empty_like(model.A)
        torch.addmm(of_A, Z.T, V, beta=0, alpha=model.gamma, out=of_A)
        of_W = self.origin.X.T @ V.mul_(Phi > 0)
        seen = {"norm_W_t": Watched(model.W), "norm_A_t": Watched(model.A), "norm_b_t": Watched(model.b),
                "sigma_min_Z_t": Watched(Z, least=True)}  # fmt: skip
        return Evaluation(_half_norm(error), (of_W, of_A, Z.T @ error), {"Z": Z, "U": U}, watched=seen)

    def point(self, parameters: Tensors, warm: Warm) -> ReluPoint:
        """The equilibrium found in training is where the one to be enclosed is searched from."""
        found = replace(self.origin, model=self._model(parameters))
        if "Z" in warm:
            found.__dict__["equilibrium"] = engine.enclose(found.model, found.X, found.norm_A, warm["Z"])
        return found

    def loss(self, point: ReluPoint, effort: int) -> Enclosure:
        """1/2 ||Z b - y||^2."""
        return _half_square(relu_quantities.initial_residual, point, effort)

    def kernel(self, point: ReluPoint) -> Tensor | None:
        """H of Lemma 4.1; None where no equilibrium is known to exist."""
        if (point.equilibrium.contraction < 1) is not HOLDS:
            return None
        model, Z = point.model, point.Z
        D, E = relu.masks(model, point.X, Z)
        source = D * model.b

        def layer(u: Tensor) -> Tensor:
            return (u @ model.A.T).mul_(model.gamma).mul_(D).add_(source)

        U = fixed_point(layer, source, "the adjoint equation", 1e-9)
        gram = Z @ Z.T
        inner = E * U
        return gram + model.gamma**2 * gram * (U @ U.T) + (point.X @ point.X.T) * (inner @ inner.T)


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
        seen = {"norm_W_t": Watched(model.W), "lambda_t": Watched(Z.T, least=True, squared=True)}
        return Evaluation(_half_norm(r), (V @ Z.T, V @ X.T, Z @ r), {"Z": Z, "V": V}, watched=seen)

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
        seen = {"norm_A_t": Watched(model.A), "norm_B_t": Watched(model.B), "norm_U_t": Watched(model.U),
                "norm_u_t": Watched(model.u), "sigma_min_Z_t": Watched(Z, least=True)}  # fmt: skip
        return Evaluation(_half_norm(r), derivative.gradient(model, X, Z, G, r), {"state": state}, watched=seen)

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
