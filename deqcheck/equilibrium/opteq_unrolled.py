"""The K-step unrolled iteration of Theorem 5, its loss and its gradient, with certified errors.

R_z(z) = 1/2 |W_{L+1} z|^2, as the proofs of Lemmas 11 and 18 use it, and z^1 = 0. The gradient is taken
by hand, layer by layer backwards; nothing of size (m N) x (m N) is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from deqcheck import rigor
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium.opteq import Near, Net, Weights, sloped, weights
from deqcheck.models.opteq import OptEq


@dataclass(frozen=True)
class Trained:
    """Everything that gradient descent moves, and the data."""

    model: OptEq
    W0: Tensor
    out: Tensor
    X0: Tensor
    y: Tensor
    K: int
    gamma: float
    beta: tuple[float, ...]
    """beta_2 ... beta_K."""
    lam: tuple[float, ...]

    @cached_property
    def inputs(self) -> Near:
        """X = g(X_0, W_0) = X_0 W_0^T."""
        return Near(self.X0).through(Weights(self.W0.T, rigor.frobenius(self.W0)))

    @cached_property
    def net(self) -> Net:
        """The layers on X."""
        return Net.of(self.model, self.inputs)

    @cached_property
    def output(self) -> Weights:
        """W_{L+1} with its norm."""
        return weights(self.out)

    @cached_property
    def states(self) -> tuple[tuple[Near, ...], ...]:
        """For every step k < K: z^k, z^(k,1), ..., z^(k,L); last the tuple (z^K,)."""
        Z = Near(torch.zeros(self.X0.shape[0], self.model.width, dtype=self.X0.dtype, device=self.X0.device))
        out: list[tuple[Near, ...]] = []
        for beta, lam in zip(self.beta, self.lam, strict=True):
            blocks = self.net.blocks(Z)
            out.append((Z, *blocks))
            pulled = Z.through(self.output.T).through(self.output)
            shrunk = Z.times(1 - self.gamma * lam, 3) - pulled.times(self.gamma)
            Z = shrunk.times(beta) + blocks[-1].times(1 - beta, 2)
        return (*out, (Z,))

    @cached_property
    def residual(self) -> Near:
        """y(theta) - y_0."""
        Z = self.states[-1][0]
        return Z.through(self.output.T) - Near(self.y.reshape(Z.value.shape[0], -1))

    @cached_property
    def gradient(self) -> dict[str, Near]:
        """The gradient of 1/2 |y - y_0|^2 in every parameter."""
        net, model = self.net, self.model
        s, layers = model.activation, model.layers
        sources = [Weights(layer.U, rigor.frobenius(layer.U)) for layer in layers]
        r, last = self.residual, self.states[-1][0]
        total: dict[str, Near] = {"W_out": r.T @ last}
        G = r.through(self.output)

        def add(name: str, term: Near) -> None:
            total[name] = total[name] + term if name in total else term

        ones = torch.ones(1, self.X0.shape[0], dtype=self.X0.dtype, device=self.X0.device)
        for k in range(len(self.beta) - 1, -1, -1):
            beta, lam = self.beta[k], self.lam[k]
            states = self.states[k]
            Z = states[0]
            Gw, Zw = G.through(self.output.T), Z.through(self.output.T)
            share = beta * self.gamma
            add("W_out", (Gw.T @ Z + Zw.T @ G).times(-share, 2))
            skip = G.times(1 - self.gamma * lam, 3) - Gw.through(self.output).times(self.gamma)
            back = G.times(1 - beta, 2)
            for number in range(len(layers) - 1, -1, -1):
                W, before = net.weights[number], states[number]
                P = net.preactivation(number, before)
                hidden = P.activated(s)
                scaled = back.times(model.alpha)
                E = sloped(s, P, scaled.through(W.T))
                add(f"W_{number + 1}", E.T @ before + hidden.T @ scaled)
                add(f"U_{number + 1}", E.T @ self.inputs)
                add(f"b_{number + 1}", Near(ones) @ E)
                fed = E.through(sources[number])
                add("W_0", fed.T @ Near(self.X0))
                back = E.through(W) + back.times(1 - model.alpha, 2)
            G = skip.times(beta) + back
        return total

    def gradient_square(self, only: str = "") -> Enclosure:
        """|grad|^2 over the parameters whose name starts with `only`."""
        out = Enclosure.exact(0)
        for name, part in self.gradient.items():
            if name.startswith(only):
                out = out + part.norm**2
        return out
