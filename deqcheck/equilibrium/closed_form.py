"""Z = Phi (I - gamma A)^-1 when A has no negative entry (Lemma 5.1): one factorisation, no iteration."""

from __future__ import annotations

import torch
from torch import Tensor

from deqcheck.equilibrium.solution import Solution
from deqcheck.models.relu import ReluImplicit


def applies(model: ReluImplicit) -> bool:
    """Whether every entry of A is non-negative."""
    return bool((model.A >= 0).all())


def solve(model: ReluImplicit, Phi: Tensor) -> Solution:
    """Solve Z (I - gamma A) = Phi; the result is a guess like any other and is verified later."""
    m = model.A.shape[0]
    system = torch.eye(m, dtype=Phi.dtype, device=Phi.device) - model.gamma * model.A
    Z = torch.linalg.solve(system, Phi, left=False)
    return Solution(torch.relu(Z), "closed form", ())
