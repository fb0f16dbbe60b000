"""Nguyen (2022), training the monotone DEQ: Condition 1 with Theorem 3.3.1, Condition 2 with Theorem 3.3.5.

Thesis: "An Analysis of Applying Neural Tangent Kernels for Deep Equilibrium Models", Nguyen Ngoc Hieu,
VNU University of Engineering and Technology, Hanoi, 2022. Numbers are the thesis's.

Setting: as in mondeq_operator.py. lambda_0 = sigma_min(Z(0)); the bars are norms at the start plus radii,
lambda_A = ||A(0)|| + R_A and so on, and lambda_UuA is the product of three of them.

Readings of the print:
- sqrt(2 L(theta_0)) is ||y^(0) - y||.
- "The width is O(N)" is used as n >= N, without which sigma_min(Z)^2 is not lambda_min(Z^T Z).
- The radii R_A, R_B, R_U, R_u are given positive numbers: any choice that works will do. R_B occurs in one
  condition only, so it may be as large as one likes.
- The step of Theorem 3.3.5 may equal its bound; here it stays one float below.
- (3.10) is an empty line.

What is wrong in print:
- Theorem 3.3.5. (3.17), (3.18) and the bounds on the step carry no m, because the proof drops every 1/m
  after Proposition 5; and (3.17) has 8 where the proof of Proposition 6 needs 16.
- (3.18) asks lambda_0^2 >= 20 ||X||^2 ||U||^2, while Lemma 3.3.3 gives N lambda_0^2 <= ||Z||_F^2 <=
  ||X||^2 ||U||^2 / m^2. So it can hold only if 20 N m^2 <= 1; for m = 1 never.
- Where it can hold, the theorem is false. Take n = N = d = 1, x = U = 1, A = B = u = 0, m = 1/10,
  y = 1/1000, R_A = R_U = 1/10, R_B = 1, R_u = 1/100. Then lambda_0 = 10, Condition 2 holds and eta = 4/lambda_0^2 =
  1/25 is allowed; the first step turns the residual from -1/1000 into 3/1000, so that the loss is
  multiplied by 9 where the theorem says 0. (Any step above 7/4 of lambda_0^-2 is too long here.)

mondeq-gd:repaired restores the powers of m and treats the two perturbation terms apart, as the proof sketch
does. With P = 1 + 4 (lambda_UA^2 + lambda_U^2)/m^2, the bracket of (3.9), one step changes Z by at most
eta ||X||^2 (lambda_u P / m^2) r, where r is the residual. Hence I_2 <= 2 eta C_2 L and I_1 <= eta^2 C_1^2 L with
C_2 = ||X||^2 lambda_u^2 P / m^2 and C_1 = C_2 + ||X||^2 lambda_U^2 / m^2, and 2 C_2 <= lambda_0^2/8 together with
eta C_1^2 <= lambda_0^2/8 gives the rate of the theorem.
"""

from dataclasses import replace

from sympy import Max, Min, Symbol, symbols

from deqcheck.quantities import mondeq as q
from deqcheck.statement import (
    Conclusion,
    Hypothesis,
    Quantity,
    Rate,
    Source,
    Theorem,
    free,
    largest,
)

THESIS = "An Analysis of Applying Neural Tangent Kernels for Deep Equilibrium Models"
QUICK = {"width": "40", "samples": "20", "dim": "20"}


def _source(number: str) -> Source:
    return Source(THESIS, "Nguyen", 2022, number)


# --- notation --------------------------------------------------------------------------------------

lam0, m, nA, nB, nU, nu, XF, r0, N, n = symbols("lambda_0 m norm_A norm_B norm_U norm_u norm_X_F r_0 N n", real=True)
RA, RB, RU, Ru, eta = symbols("R_A R_B R_U R_u eta", real=True)
lA, lB, lU, lu, P, C1, C2 = symbols("lambda_A lambda_B lambda_U lambda_u P C_1 C_2", real=True)
At, Bt, Ut, ut, Zt = symbols("norm_A_t norm_B_t norm_U_t norm_u_t sigma_min_Z_t", real=True)

MEASURED = {
    lam0: q.sigma_min_equilibrium,
    m: q.monotonicity,
    nA: q.norm_A,
    nB: q.norm_B,
    nU: q.norm_U,
    nu: q.norm_u,
    XF: q.frobenius_norm_inputs,
    r0: q.initial_residual,
    n: q.width,
    N: q.samples,
}
RADII = {RA: free, RB: free, RU: free, Ru: free}
BARS = {lA: nA + RA, lB: nB + RB, lU: nU + RU, lu: nu + Ru}
BRACKET = {P: 4 * ((lU * lA) ** 2 + lU**2) / m**2 + 1}
PATH = Max(2 * lU * lu * lA / (m**2 * RA), 2 * lU * lu / (m**2 * RB), lu / (m * RU), lU / (m * Ru))
"""The bracket that (3.8) and (3.16) share: what keeps each parameter within its radius."""

GIVEN = (
    Hypothesis("m > 0", m > 0),
    Hypothesis("n ≥ N", n >= N, "the width that the proof needs; the statement says O(N)"),
)


def _monitored(time: str) -> dict[Symbol, Quantity]:
    """The quantities of the induction hypotheses at time `time` of training."""
    return {
        s: replace(quantity, name=s.name, text=f"{text}({time}){end}", latex=rf"{latex}({time}){tail}")
        for s, quantity, text, end, latex, tail in (
            (At, q.norm_A, "‖A", "‖", r"\|A", r"\|"),
            (Bt, q.norm_B, "‖B", "‖", r"\|B", r"\|"),
            (Ut, q.norm_U, "‖U", "‖", r"\|U", r"\|"),
            (ut, q.norm_u, "‖u", "‖", r"\|\mathbf{u}", r"\|"),
            (Zt, q.sigma_min_equilibrium, "σ_min(Z", ")", r"\sigma_{\min}(Z", ")"),
        )
    }


STAYS = (
    Conclusion("ball A", At <= lA, "A stays within its radius"),
    Conclusion("ball B", Bt <= lB, "B stays within its radius"),
    Conclusion("ball U", Ut <= lU, "U stays within its radius"),
    Conclusion("ball u", ut <= lu, "u stays within its radius"),
    Conclusion("σ_min", Zt >= lam0 / 2, "half of the initial value is kept"),
)
READING = (
    "√(2𝓛(θ₀)) is ‖ŷ(0) − y‖. σ_min(Z) is the square root of λ_min(ZᵀZ), and 0 when n < N.",
    "The thesis names no initialisation for its theorems; N(0, 0.01), from Section 4.1.1, is used.",
)

# --- statements ------------------------------------------------------------------------------------

MONDEQ_GF = Theorem(
    key="mondeq-gf",
    title="gradient flow trains a monotone DEQ to zero loss at a linear rate",
    source=_source("Theorem 3.3.1"),
    family="mondeq",
    setting="gradient flow on 1/2 ‖ŷ − y‖², A, B, U and u trained",
    measured=MEASURED,
    chosen=RADII,
    monitored=_monitored("t"),
    definitions={**BARS, **BRACKET},
    hypotheses=(
        *GIVEN,
        Hypothesis("(3.8)", lam0**2 >= 4 * XF * r0 * PATH),
        Hypothesis("(3.9)", lam0**3 >= 8 * XF**2 * r0 * lu / m**2 * P),
        Hypothesis("flow", None, "the gradient flow exists although the relu has kinks"),
    ),
    conclusions=STAYS,
    rate=Rate("rate", gap=lam0**2 / 2, per="unit time"),
    reading=(
        *READING,
        "The proof cites Lemma 3.3.2, which is false as printed, but uses only its repair.",
    ),
    quick=QUICK,
)

MONDEQ_GD = Theorem(
    key="mondeq-gd",
    title="gradient descent trains a monotone DEQ to zero loss at a linear rate",
    source=_source("Theorem 3.3.5"),
    family="mondeq",
    setting="gradient descent with step η on 1/2 ‖ŷ − y‖², A, B, U and u trained",
    measured=MEASURED,
    chosen={**RADII, eta: largest("step")},
    monitored=_monitored("k"),
    definitions=BARS,
    hypotheses=(
        *GIVEN,
        Hypothesis("(3.16)", lam0**2 >= 8 * XF * r0 * PATH),
        Hypothesis("(3.17)", lam0**3 >= 8 * XF**2 * r0 * lu * (1 + 6 * (lU * lA) ** 2 + 4 * lU**2)),
        Hypothesis(
            "(3.18)",
            lam0**2 >= 20 * XF**2 * (lu**2 + 4 * (lu * lU * lA) ** 2 + 4 * (lu * lU) ** 2 + lU**2),
        ),
        Hypothesis("η > 0", eta > 0),
        Hypothesis(
            "step",
            eta
            < Min(
                4 / lam0**2,
                1 / (XF**2 * (lu**2 + 4 * (lU * lu) ** 2 + 4 * (lU * lu * lA) ** 2 + lU**2)),
                1 / (2 * XF * lam0 * lU * lu * lA),
                1 / (6 * lam0**2 * (lu * lA) ** 2),
            ),
        ),
    ),
    conclusions=STAYS,
    rate=Rate("rate", gap=eta * lam0**2 / 4, per="step"),
    reading=(
        *READING,
        "(3.18) can hold only if 20 N m² ≤ 1, since N λ₀² ≤ ‖Z‖_F² ≤ ‖X‖_F²‖U‖²/m² by Lemma 3.3.3; "
        "for m = 1 the theorem says nothing about any network.",
        "Where (3.18) can hold the theorem is false as printed: with n = N = d = 1, x = U = 1, "
        "A = B = u = 0, m = 1/10, y = 1/1000 Condition 2 and η = 4/λ₀² = 1/25 hold, and the first step "
        "multiplies the loss by 9. The proof loses every 1/m; see mondeq-gd:repaired.",
    ),
    never="At m = 1 no network can satisfy (3.18): by Lemma 3.3.3 it needs 20 N m² ≤ 1.",
    flaw="wherever its hypotheses can hold the theorem is false: on one unit with x = U = 1, A = B = u = 0, m = 1/10 "
    "and y = 1/1000 they hold with η = 1/25, and the first step multiplies the loss by 9. mondeq-gd:repaired carries "
    "the lost factors 1/m.",
    settings=("eta",),
    quick=QUICK,
)

MONDEQ_GD_REPAIRED = Theorem(
    key="mondeq-gd:repaired",
    title="gradient descent trains a monotone DEQ to zero loss at a linear rate",
    source=_source("Theorem 3.3.5 (repaired)"),
    family="mondeq",
    setting="gradient descent with step η on 1/2 ‖ŷ − y‖², A, B, U and u trained",
    measured=MEASURED,
    chosen={**RADII, eta: largest("step")},
    monitored=_monitored("k"),
    definitions={
        **BARS,
        **BRACKET,
        C2: XF**2 * lu**2 * P / m**2,
        C1: C2 + XF**2 * lU**2 / m**2,
    },
    hypotheses=(
        *GIVEN,
        Hypothesis("(3.16)", lam0**2 >= 8 * XF * r0 * PATH),
        Hypothesis("(3.17)", lam0**3 >= 16 * XF**2 * r0 * lu / m**2 * P),
        Hypothesis("(3.18)", lam0**2 >= 16 * C2),
        Hypothesis("η > 0", eta > 0),
        Hypothesis("step", eta < lam0**2 / (8 * C1**2)),
        Hypothesis("σ′", None, "the iterates meet no kink of the relu, where σ′ is not defined"),
    ),
    conclusions=STAYS,
    rate=Rate("rate", gap=eta * lam0**2 / 4, per="step"),
    reading=(
        *READING,
        "Repair: the powers of 1/m that the proof drops are restored, (3.17) has the bracket of (3.9) "
        "and 16 for 8, (3.18) asks only for the part that does not shrink with η, and η ≤ λ₀²/(8C₁²).",
    ),
    settings=("eta",),
    quick=QUICK,
)
