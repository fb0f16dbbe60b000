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

mondeq-gd:sharp is our own theorem. Let e be the residual and g_i = J_i (I - W^T J_i)^-1 u, with ||g_i|| <= ||u||/m
(mondeq-resolvent:repaired). Then grad_W = sum_i e_i g_i z_i^T has ||grad_W||_F <= (||u||/m) ||e|| ||Z||, and
grad_A = -A (grad_W + grad_W^T), grad_B = grad_W - grad_W^T, grad_U = sum_i e_i g_i x_i^T, grad_u = Z e. Strong
monotonicity gives m ||z' - z|| <= ||(W' - W) z + (U' - U) x|| for two equilibria, and A'^T A' - A^T A is half of
(A' + A)^T (A' - A) plus its transpose. So one step moves Z by at most eta (lambda_u Q / m^2) ||e|| in Frobenius
norm, with Q = 4 (lambda_A^2 + 1) zeta^2 + ||X||^2 and zeta = ||Z(0)|| + R_Z: no norm of U or B occurs. Moreover
e' = (I - eta Z^T Z) e + (Z' - Z)^T u', hence ||e'|| <= (1 - eta mu) ||e|| with mu = (lambda_0 - R_Z)^2 - C and
C = lambda_u^2 Q / m^2 as long as eta zeta^2 <= 1. Then eta times the sum of all residuals is at most r_0 / mu, which
keeps A, u and Z within R_A, R_u and R_Z if mu R_A >= 2 lambda_A lambda_u zeta r_0 / m, mu R_u >= zeta r_0 and
mu R_Z >= lambda_u Q r_0 / m^2. The induction takes, in this order: A, u at k + 1; Z at k + 1; the residual at k + 1.
"""

from dataclasses import replace

from sympy import Eq, Expr, Max, Min, Rational, Symbol, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import mondeq as q
from deqcheck.statement import (
    Conclusion,
    Fact,
    Growth,
    Hypothesis,
    Quantity,
    Rate,
    Source,
    Step,
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
At, Bt, Ut, ut, Zt, ZNt = symbols("norm_A_t norm_B_t norm_U_t norm_u_t sigma_min_Z_t norm_Z_t", real=True)

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


def _watched() -> dict[Symbol, Quantity]:
    """What the sharp theorem bounds along the path."""
    ours = {s: quantity for s, quantity in _monitored("k").items() if s in (At, ut, Zt)}
    return {**ours, ZNt: replace(q.norm_equilibrium, name=ZNt.name, text="‖Z(k)‖", latex=r"\|Z(k)\|")}


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

# --- proof: what the theorems share ------------------------------------------------------------------

# Norms at one time s of training, where a gradient is the largest multiple of e_s, the decay of the residual.
q0, As, Us, us, Zs, rs, v, E = symbols(
    "sq_lambda_0 norm_A_s norm_U_s norm_u_s norm_Z_s norm_r_s norm_uQD_s e_s", real=True
)
hA, hB, hU, hu, hZ = symbols("sup_A sup_B sup_U sup_u sup_Z", real=True)  # that multiple
bA, bB, bU, bu, bZ = symbols("bound_A bound_B bound_U bound_u bound_Z", real=True)  # its printed bound
dA, dB, dU, du, dZ = symbols("drift_A drift_B drift_U drift_u drift_Z", real=True)  # distance from the start
T, ZF, top = symbols("T norm_Z_F max_path", real=True)  # T: the sum of all e_s
GRADIENT = {"A": 2 * As * Zs * v * rs, "B": 2 * Zs * v * rs, "U": XF * v * rs, "u": Zs * rs}
"""Lemma 3.2.3 with submultiplicativity, ||P_A|| <= 2 ||A|| and ||P_B|| = 2; v = ||(u^T kron I) Q^-1 D||."""
BOUND = {
    "A": 2 * XF * lU * lu * lA * r0 / m**2,
    "B": 2 * XF * lU * lu * r0 / m**2,
    "U": XF * lu * r0 / m,
    "u": XF * lU * r0 / m,
}
SUP, BAR = {"A": hA, "B": hB, "U": hU, "u": hu}, {"A": bA, "B": bB, "U": bU, "u": bu}
DRIFT, RADIUS = {"A": dA, "B": dB, "U": dU, "u": du}, {"A": RA, "B": RB, "U": RU, "u": Ru}
MOVED = {"A": (At, nA, lA), "B": (Bt, nB, lB), "U": (Ut, nU, lU), "u": (ut, nu, lu)}


def _cite(name: str, claim: Relational, text: str = "") -> Fact:
    return Fact(name, claim, text, cited=True)


def _signs(*names: Symbol) -> tuple[Fact, ...]:
    return tuple(Fact(f"{s.name} ≥ 0", s >= 0) for s in names)


COMMON = (
    *_signs(lam0, nA, nB, nU, nu, XF, r0, q0, As, Zs, rs, v, T, ZF),
    *_signs(hA, hB, hU, hu, hZ, bA, bB, bU, bu, bZ, dA, dB, dU, du, dZ),
    Fact("N ≥ 1", N >= 1),
    Fact("e > 0", E > 0),
    *(_cite(f"λ_{x} > 0", bar > 0, "a norm plus a positive radius") for x, (_, _, bar) in MOVED.items()),
    _cite("λ₀²", Eq(q0, lam0**2), "an abbreviation"),
    _cite("X ≠ 0", XF > 0, "the case to prove: else every gradient is 0 for ever"),
    _cite("r₀ ≠ 0", r0 > 0, "the case to prove: else every gradient is 0 for ever"),
    _cite("Lemma 3.3.3", ZF <= XF * nU / m, "at the start"),
    _cite("λ_min ≤ mean", N * lam0**2 <= ZF**2, "λ_min(ZᵀZ) is at most the mean of the eigenvalues"),
    _cite("max", Eq(top, PATH), "an abbreviation"),
    _cite("Hyp. 1 A", lA >= As, "A(s) is in its ball"),
    _cite("Hyp. 1 U", lU >= Us, "U(s) is in its ball"),
    _cite("Hyp. 1 u", lu >= us, "u(s) is in its ball"),
    _cite("decay", r0 >= rs / E, "the induction hypothesis on the loss"),
    _cite("Lemma 3.3.2 with D", us >= m * v, "mondeq-resolvent:repaired, at s"),
    _cite("Lemma 3.3.3 at s", Us >= m * Zs / XF),
    *(_cite(f"sup {x}", SUP[x] <= g / E, "the largest multiple of e") for x, g in GRADIENT.items()),
    *(_cite(f"bound {x}", Eq(BAR[x], b), "an abbreviation") for x, b in BOUND.items()),
    *(_cite(f"path {x}", d <= SUP[x] * T, "no longer than the path") for x, d in DRIFT.items()),
    _cite("path Z", dZ <= hZ * T, "no longer than the path"),
    *(_cite(f"triangle {x}", t <= start + DRIFT[x]) for x, (t, start, _) in MOVED.items()),
    _cite("Weyl", Zt >= lam0 - dZ),
)  # fmt: skip

POSITIVE = ("λ_A > 0", "λ_U > 0", "λ_u > 0", "m > 0")
BALL = ("Hyp. 1 A", "Hyp. 1 U", "Hyp. 1 u")
LEMMAS = ("Lemma 3.3.2 with D", "Lemma 3.3.3 at s", "X ≠ 0", "m > 0")


def _start(condition: str, total: int) -> tuple[Step, ...]:
    """The four parts of the maximum in (3.8) or (3.16), and the gradients; `total` is the printed factor."""
    return (
        Step(f"{condition} max", q0 >= total * XF * r0 * top, (condition, "max", "λ₀²")),
        *(Step(f"max {x}", top >= BOUND[x] / (XF * r0) / RADIUS[x], ("max",)) for x in BOUND),
        *(
            Step(f"{condition} {x}", total * BOUND[x] <= q0 * RADIUS[x], (f"{condition} max", f"max {x}", *POSITIVE))
            for x in BOUND
        ),
        *(
            Step(f"{condition} b_{x}", total * BAR[x] <= q0 * RADIUS[x], (f"{condition} {x}", f"bound {x}"))
            for x in BOUND
        ),
        Step("λ₀ > 0", q0 > 0, (f"{condition} u", "X ≠ 0", "r₀ ≠ 0", "λ_U > 0", "m > 0")),
        Step("∇A 1", GRADIENT["A"] <= 2 * XF * Us * us * As * rs / m**2, LEMMAS),
        *(Step(f"∇{x}", g / E <= BOUND[x], (*LEMMAS, *BALL, "decay")) for x, g in GRADIENT.items()),
        *(Step(f"∇{x} sup", SUP[x] <= BAR[x], (f"sup {x}", f"∇{x}", f"bound {x}")) for x in BOUND),
    )


def _drift(x: str, total: int, name: str, printed: Expr | None = None) -> tuple[Step, ...]:
    """lambda_0^2 drift <= total * bound <= lambda_0^2 R, and the norm; `printed` where the print slips."""
    t, _, bar = MOVED[x]
    condition = "(3.8)" if total == 4 else "(3.16)"
    right = DRIFT[x] <= total * BOUND[x] / q0
    return (
        Step(f"{name} T", DRIFT[x] <= total * BAR[x] / q0, (f"path {x}", f"∇{x} sup", "T", "λ₀ > 0")),
        Step(name, right, (f"{name} T", f"bound {x}"))
        if printed is None
        else Step(name, DRIFT[x] <= printed, (f"{name} T", f"bound {x}", "λ₀ > 0"), fix=right),
        Step(f"{name} ≤ R_{x}", DRIFT[x] <= RADIUS[x], (f"{name} T", f"{condition} b_{x}", "λ₀ > 0")),
        Step(f"‖{x}‖", t <= bar, (f"triangle {x}", f"{name} ≤ R_{x}")),
    )


# --- proof: Theorem 3.3.1 ----------------------------------------------------------------------------

kap, Et, Ld, Lt, rt, muK, muZ, muT, mean, PA, PB, M = symbols(
    "kappa e_t dL_dt L_t r_t lambda_min_K lambda_min_ZZ lambda_min_K_t mean_K norm_PAPA norm_PBPB norm_ZPPZ", real=True
)
BRACKETED = XF**2 * lu * (4 * ((lU * lA) ** 2 + lU**2) / m**2 + 1) * r0 / m**2

GF_FACTS = (
    *COMMON,
    Fact("e(t) > 0", Et > 0, "exp(−λ₀² t/4)"),
    Fact("L ≥ 0", Lt >= 0),
    _cite("Hyp. 2", Eq(2 * kap, q0 / 2), "the loss decays like exp(−λ₀² s/2), the residual like exp(−κs)"),
    _cite("∫", Eq(kap * T, 1 - Et), "T = ∫ exp(−κs) ds over [0, t]"),
    _cite("loss", Eq(Lt, rt**2 / 2)),
    _cite("dL/dt", Ld <= -muK * rt**2, "Proposition 4"),
    _cite("K ⪰ ZᵀZ", muK >= muZ, "the other terms of K are positive semidefinite"),
    _cite("rank", muZ >= Min(1, Max(0, n - N + 1)) * Zt**2, "λ_min(ZᵀZ) is σ_min² if n ≥ N, and never negative"),
    _cite("P_A P_Aᵀ", PA <= 2 * (As**2 + As**2), "(I + K)(AᵀA ⊕ AᵀA), ‖I + K‖ = 2"),
    _cite("P_B P_Bᵀ", PB <= 2 * 2, "2(I − K), ‖I − K‖ = 2"),
    _cite("Z P P Z", M <= Zs**2 * (PA + PB), "submultiplicativity"),
    _cite("sup Z", hZ <= (M + XF**2) * v * rs / (m * E), "Lemma 3.2.2 along the flow, with ‖Q⁻¹D‖ ≤ 1/m"),
    _cite("bound Z", Eq(bZ, BRACKETED), "an abbreviation"),
    _cite("mean K", mean >= muK, "mean over [0, t], where λ_min(K) is least"),
)

GF_PROOF = (
    *_start("(3.8)", 4),
    Step("exponent", Eq(kap, lam0 / 4), ("Hyp. 2", "λ₀²"), fix=Eq(kap, q0 / 4), text="of the residual"),
    Step("T", q0 * T <= 4, ("∫", "exponent"), text="∫ exp(−λ₀² s/4) ds ≤ 4/λ₀²"),
    Step("T strict", q0 * T < 4, ("∫", "exponent"), text="at a finite time the spheres are not reached"),
    *_drift("A", 4, "drift A"),
    *_drift("B", 4, "(3.11)"),
    *_drift("U", 4, "(3.12)"),
    *_drift("u", 4, "(3.13)", printed=4 * XF * lu * r0 / (m * q0)),
    *(
        Step(f"‖{x}‖ open", DRIFT[x] < RADIUS[x], (f"path {x}", f"∇{x} sup", "T strict", f"(3.8) b_{x}", "λ₀ > 0"))
        for x in BOUND
    ),
    Step("dL/dt =", Ld <= -2 * muK * rt**2, ("dL/dt", "loss"), fix=Ld <= -2 * muK * Lt),
    Step("(3.14)", muK >= Zt**2, ("K ⪰ ZᵀZ", "rank", "n ≥ N")),
    Step("ZPPZ P", PA + PB <= 4 * (As**2 + 1), ("P_A P_Aᵀ", "P_B P_Bᵀ")),
    Step("ZPPZ Z", M <= 4 * Zs**2 * (As**2 + 1), ("Z P P Z", "ZPPZ P")),
    Step("ZPPZ", 4 * Zs**2 * (As**2 + 1) <= 4 * XF**2 * ((lU * lA) ** 2 + lU**2) / m**2, (*LEMMAS, *BALL)),
    Step("dZ/dt M", (M + XF**2) * v * rs / (m * E) <= (4 * Zs**2 * (As**2 + 1) + XF**2) * v * rs / (m * E),
         ("ZPPZ Z", "m > 0")),
    Step("dZ/dt", (4 * Zs**2 * (As**2 + 1) + XF**2) * v * rs / (m * E) <= BRACKETED, (*LEMMAS, *BALL, "decay")),
    Step("dZ/dt sup", hZ <= bZ, ("sup Z", "dZ/dt M", "dZ/dt", "bound Z")),
    Step("drift Z", dZ <= 4 * bZ / q0, ("path Z", "dZ/dt sup", "T", "λ₀ > 0")),
    Step("(3.9) Z", lam0**3 >= 8 * bZ, ("(3.9)", "bound Z", "m > 0")),
    Step("drift Z ≤ λ₀/2", dZ <= lam0 / 2, ("drift Z", "(3.9) Z", "λ₀²", "λ₀ > 0")),
    Step("σ_min(Z)", Zt >= lam0 / 2, ("Weyl", "drift Z ≤ λ₀/2")),
    Step("rate K", muK >= lam0**2 / 4, ("(3.14)", "σ_min(Z)")),
    Step("ODE", mean >= muT, ("mean K", "rate K"), fix=mean >= lam0**2 / 4,
         text="the mean of λ_min(K), not its last value"),
    Step("rate", 2 * mean >= lam0**2 / 2, ("ODE",)),
    Step("rate dL/dt", Ld <= -(lam0**2) / 2 * Lt, ("dL/dt =", "rate K")),
)  # fmt: skip

# --- proof: Theorem 3.3.5 ----------------------------------------------------------------------------

beta, bk, gU, eA, eB, eU, eu, eW, eZ, ey, dW, AF, AF0 = symbols(
    "beta beta_k grad_U step_A step_B step_U step_u step_W step_Z step_y drift_W norm_A_F_t norm_A_F", real=True
)
h, h1, w, oU, ou, low, L, Lnext, I1, I2, I3, cross, C11, C12, XU = symbols(
    "h_0 w_k w w_U w_u least_step L_k L_next I_1 I_2 I_3 cross C_11 C_12 XU", real=True
)
gr, S, c, G, mZ, Nm, v3, y3, y4, k2, k3, k4, fY, lY, fZ, lZ = symbols(
    "growth S c G m_Z N_m v_3 y_3 y_4 k_2 k_3 k_4 full_y lost_y full_Z lost_Z", real=True
)
cA, cU, cu = symbols("a_bar U_bar u_bar", real=True)  # the bars, whatever their definitions
COPY = {lA: cA, lU: cU, lu: cu}
COPIED = ("λ_A =", "λ_U =", "λ_u =")
SQUARES = lu**2 + 4 * (lU * lu) ** 2 + 4 * (lU * lu * lA) ** 2 + lU**2
STEP = Min(
    4 / lam0**2,
    1 / (XF**2 * SQUARES),
    1 / (2 * XF * lam0 * lU * lu * lA),
    1 / (6 * lam0**2 * (lu * lA) ** 2),
)
"""The bound on the step of Theorem 3.3.5."""
SUM = (
    Fact("β ≥ 0", beta >= 0),
    Fact("β^(k+1) ≥ 0", bk >= 0),
    Fact("L ≥ 0", L >= 0),
    Fact("λ_min(ZᵀZ) ≥ 0", muZ >= 0),
    *_signs(eA, eB, eU, eu, eW, eZ, ey, dW),
    _cite("β", beta**2 <= 1 - eta * q0 / 4, "the factor per step of the residual, by Hypothesis 3"),
    _cite("Σ", Eq(T * (1 - beta), eta * (1 - bk)), "T = η Σ β^s over s ≤ k, with β^(k+1) = β_k"),
    _cite("loss", Eq(L, rs**2 / 2), "at step k = s"),
    _cite("decrease", Eq(Lnext, L + I1 + I2 + I3), "I₂ = (ŷ⁺ − g)ᵀ(ŷ − y), I₃ = (g − ŷ)ᵀ(ŷ − y)"),
    _cite("I₁", Eq(I1, ey**2 / 2)),
    _cite("rank", muZ >= Min(1, Max(0, n - N + 1)) * Zt**2, "λ_min(ZᵀZ) is σ_min² if n ≥ N, and never negative"),
    _cite("I₃", I3 <= -eta * muZ * rs**2, "∇_u L = Z(ŷ − y); here Z = Z(k), which Hypothesis 2 bounds"),
    _cite("one A", eA <= eta * GRADIENT["A"], "one step"),
    _cite("one B", eB <= eta * GRADIENT["B"], "one step"),
    _cite("one U", eU <= eta * GRADIENT["U"], "one step"),
    _cite("one u", eu <= eta * GRADIENT["u"], "one step"),
)  # fmt: skip
ONE = {
    "A": 2 * eta * XF * lU * lu * lA * rs / m**2,
    "B": 2 * eta * XF * lU * lu * rs / m**2,
    "U": eta * XF * lu * rs / m,
    "u": eta * XF * lU * rs / m,
}
"""Lemma 3.3.7: how far one step moves a parameter."""
STEPPED = {"A": eA, "B": eB, "U": eU, "u": eu}


def _sum(step: tuple[str, ...]) -> tuple[Step, ...]:
    """The geometric sum of Proposition 5, from eta lambda_0^2 <= 4."""
    return (
        Step("Σ u < 1", beta < 1, ("β", "λ₀ > 0", *step)),
        Step("Σ (1+u)", Eq(T * (1 - beta**2), eta * (1 + beta) * (1 - bk)), ("Σ",)),
        Step("Σ 4/λ₀²", T * q0 <= 4 * (1 + beta), ("Σ (1+u)", "β", "η > 0", "λ₀ > 0")),
        Step("T", q0 * T <= 8, ("Σ 4/λ₀²", "Σ u < 1"), text="η Σ β^s ≤ 8/λ₀²"),
    )


ONE_STEP = tuple(
    Step(f"3.3.7 {x} g", eta * GRADIENT[x] <= ONE[x], (*LEMMAS, *BALL, "η > 0")) for x in ONE
) + tuple(Step(f"3.3.7 {x}", STEPPED[x] <= ONE[x], (f"one {x}", f"3.3.7 {x} g")) for x in ONE)  # fmt: skip
THIRD = (
    Step("3.3.10 rank", muZ >= Zt**2, ("rank", "n ≥ N")),
    Step("3.3.10 σ", I3 <= -eta * Zt**2 * rs**2, ("I₃", "3.3.10 rank", "η > 0")),
    Step("3.3.10 L", I3 <= -2 * eta * Zt**2 * L, ("3.3.10 σ", "loss")),
    Step("3.3.10 Z", Zt**2 >= q0 / 4, ("Hyp. 2", "λ₀²")),
    Step("3.3.10", I3 <= -eta * q0 / 2 * L, ("3.3.10 L", "3.3.10 Z", "η > 0")),
)

GROWTH = lA**2 + eta * q0 * lA**2 / 16 + 1
"""The bracket of Lemma 3.3.7 for W."""
FULL_Y = (lu**2 + lU**2) / m**2 + 4 * (lU * lu) ** 2 * GROWTH / m**4
FULL_Z = lu**2 / m**2 + 4 * (lU * lu) ** 2 * GROWTH / m**4
LOST_Y = SQUARES + eta * q0 * (lU * lu * lA) ** 2 / 4
LOST_Z = SQUARES - lU**2 + eta * q0 * (lU * lu * lA) ** 2 / 4
"""The brackets of Lemmas 3.3.8 and 3.3.9, and what the print makes of them: the powers of m are lost."""

GD_FACTS = (
    *COMMON,
    *SUM,
    *_signs(C11, C12, XU, h, h1, w, oU, ou, mZ, Nm, c, G),
    _cite("Hyp. 2", Zt >= lam0 / 2, "at step k, by induction"),
    _cite("loss falls", r0 >= rs, "Hypothesis 3 at step k"),
    _cite("rule U", Eq(eU, eta * gU), "gradient descent"),
    _cite("‖A‖_F", AF <= AF0 + dA),
    _cite("‖A(0)‖_F", AF0 >= nA),
    _cite("λ_A", lA >= nA + RA),
    _cite("λ_U", lU >= nU + RU),
    _cite("min", Eq(low, STEP), "an abbreviation"),
    _cite("Lemma 3.3.6 drift", dW <= 2 * nA * dA + dA**2 + 2 * dB),
    _cite("Lemma 3.3.6 step", eW <= 2 * lA * eA + eA**2 + 2 * eB, "with ‖A(k)‖ ≤ λ_A"),
    _cite("mZ", Eq(mZ, m * ZF), "an abbreviation"),
    _cite("Nm²", Eq(Nm, N * m**2), "an abbreviation"),
    _cite("growth", Eq(gr, GROWTH), "an abbreviation"),
    _cite("S", Eq(S, SQUARES), "an abbreviation"),
    _cite("k₂", Eq(k2, 1 / SQUARES), "an abbreviation"),
    *(Fact(f"{s.name} > 0", s > 0) for s in COPY.values()),
    _cite("λ_A =", Eq(cA, lA), "an abbreviation"),
    _cite("λ_U =", Eq(cU, lU), "an abbreviation"),
    _cite("λ_u =", Eq(cu, lu), "an abbreviation"),
    _cite("v₃", Eq(v3, lU * lu * lA), "an abbreviation"),
    _cite("k₃", Eq(k3, 1 / (lU * lu * lA)), "an abbreviation"),
    _cite("y₃", Eq(y3, 2 * XF * lam0 * v3), "an abbreviation"),
    _cite("y₄", Eq(y4, 6 * lam0**2 * (lu * lA) ** 2), "an abbreviation"),
    _cite("k₄", Eq(k4, 1 / (6 * lam0**2 * (lu * lA) ** 2)), "an abbreviation"),
    _cite("full y", Eq(fY, FULL_Y), "an abbreviation"),
    _cite("lost y", Eq(lY, LOST_Y), "an abbreviation"),
    _cite("full Z", Eq(fZ, FULL_Z), "an abbreviation"),
    _cite("lost Z", Eq(lZ, LOST_Z), "an abbreviation"),
    _cite("c", Eq(c, eta * C11 + eta**2 * q0 * C12), "an abbreviation"),
    _cite("G", Eq(G, XF**2 * r0 * lu * (1 + 6 * (lU * lA) ** 2 + 4 * lU**2)), "an abbreviation"),
    _cite("h", Eq(h, XF * lU * lu * r0 / m**2), "an abbreviation"),
    _cite("w", Eq(w, 16 * h / q0), "an abbreviation"),
    _cite("h(k)", Eq(h1, eta * XF * lU * lu * rs / m**2), "an abbreviation"),
    _cite("o_U", Eq(oU, ONE["U"]), "an abbreviation"),
    _cite("o_u", Eq(ou, ONE["u"]), "an abbreviation"),
    _cite("(3.15) drift", dZ <= XF * dU / m + XF * dW * nU / m**2),
    _cite("(3.15) step", eZ <= XF * eU / m + XF * eW * lU / m**2),
    _cite("Lemma 3.3.4 step", ey <= XF * lu * eU / m + XF * lu * lU * eW / m**2 + XF * lU * eu / m),
    _cite("I₂", I2 <= eZ * lu * rs, "‖u(k+1)‖ ≤ λ_u"),
    _cite("cross", Eq(cross, I2 + I3), "(ŷ⁺ − ŷ)ᵀ(ŷ − y)"),
    _cite("square", Eq(Lnext, L + I1 + cross), "½‖a + b‖²"),
    _cite("C₁₁", Eq(C11, XF**2 * SQUARES), "an abbreviation"),
    _cite("C₁₂", Eq(C12, XF**2 * (lU * lu * lA) ** 2 / 4), "an abbreviation"),
    _cite("XU", Eq(XU, XF * lU), "an abbreviation"),
)

DRIFT_Z = 8 * XF**2 * lu * r0 / (m**2 * q0) + 16 * XF**2 * (3 * lA**2 + 2) * lU**2 * lu * r0 / (m**4 * q0)
PRINTED_Z = XF**2 * r0 * (8 * lu + 16 * (3 * lA**2 + 2) * lU**2 * lu) / q0
STEP_Z = eta * XF**2 * rs * (lu / m**2 + 4 * lU**2 * lu * gr / m**4)
STEP_Y = eta * XF**2 * rs * (lu**2 / m**2 + 4 * (lU * lu) ** 2 * gr / m**4 + lU**2 / m**2)
TOO_MUCH = (
    Step("(3.18) m", mZ <= XF * nU, ("Lemma 3.3.3", "mZ", "m > 0")),
    Step("(3.18) m²", mZ**2 <= XF**2 * nU**2, ("(3.18) m",)),
    Step("(3.18) Z", N * m**2 * lam0**2 <= mZ**2, ("λ_min ≤ mean", "mZ")),
    Step("(3.18) λ₀", N * m**2 * lam0**2 <= XF**2 * nU**2, ("(3.18) Z", "(3.18) m²")),
    Step("(3.18) Nm²", Nm * q0 <= XF**2 * nU**2, ("(3.18) λ₀", "Nm²", "λ₀²")),
    Step("(3.18) λ_U", XF**2 * nU**2 <= XU**2, ("XU", "λ_U")),
    Step("(3.18) U²", q0 >= 20 * XU**2, ("(3.18) U", "XU")),
    Step("(3.18) >", XU > 0, ("XU", "X ≠ 0", "λ_U > 0")),
    Step("(3.18) N", 20 * Nm <= 1, ("(3.18) Nm²", "(3.18) λ_U", "(3.18) U²", "(3.18) >")),
    Step("20 N m²", 20 * N * m**2 <= 1, ("(3.18) N", "Nm²"), text="what (3.18) asks of m: no network has m = 1"),
)
"""(3.18) with Lemma 3.3.3 leaves room only for a small m."""
GD_PROOF = (
    Step("(3.18) U", q0 >= 20 * XF**2 * lU**2, ("(3.18)", "λ₀²")),
    *TOO_MUCH,
    Step("sketch", Eq(Lnext, L + I1 + (I2 + I3) + I3), ("square", "cross"), fix=Eq(Lnext, L + I1 + I2 + I3),
         text="the brace of I₂ also covers I₃"),
    Step("sketch I₃", I3 <= -muZ * rs**2, ("I₃", "η > 0"), fix=I3 <= -eta * muZ * rs**2, text="η is lost"),
    *_start("(3.16)", 8),
    Step("σ₀ > 0", lam0 > 0, ("λ₀ > 0", "λ₀²")),
    Step("step 1", eta <= 4 / lam0**2, ("step", "min")),
    Step("η ≤ 4/λ₀²", eta * q0 <= 4, ("step 1", "λ₀²", "λ₀ > 0")),
    *ONE_STEP,
    Step("3.3.7 =", Eq(eU, gU), ("rule U", "η > 0"), fix=Eq(eU, eta * gU), text="η is lost"),
    Step("3.3.7 h_A", eA <= 2 * h1 * lA, ("3.3.7 A", "h(k)")),
    Step("3.3.7 h_B", eB <= 2 * h1, ("3.3.7 B", "h(k)")),
    Step("3.3.7 W 1", eW <= 4 * h1 * lA**2 + 4 * h1**2 * lA**2 + 4 * h1,
         ("Lemma 3.3.6 step", "3.3.7 h_A", "3.3.7 h_B", "λ_A > 0")),
    Step("h λ_A", 16 * h * lA <= q0 * RA, ("(3.16) A", "h")),
    Step("h ≤", 16 * h <= q0, ("h λ_A", "λ_A", "λ_A > 0")),
    Step("h r", eta * XF * lU * lu * rs / m**2 <= eta * XF * lU * lu * r0 / m**2, ("loss falls", *POSITIVE)),
    Step("3.3.7 W h", h1 <= eta * h, ("h r", "h(k)", "h")),
    Step("3.3.7 W q", h1 <= eta * q0 / 16, ("3.3.7 W h", "h ≤", "η > 0")),
    Step("3.3.7 W 2", 4 * h1**2 * lA**2 <= h1 * eta * q0 * lA**2 / 4, ("3.3.7 W q", "λ_A > 0")),
    Step("3.3.7 W", eW <= 4 * h1 * GROWTH, ("3.3.7 W 1", "3.3.7 W 2")),
    Step("3.3.7 W g", eW <= 4 * h1 * gr, ("3.3.7 W", "growth")),
    Step("3.3.7 g", gr >= 1, ("growth", "η > 0")),
    *_sum(("η > 0",)),
    *_drift("A", 8, "Prop. 5 A"),
    Step("Prop. 5 A line 2", dA <= 8 * BOUND["A"], ("Prop. 5 A", "λ₀ > 0", "m > 0"), fix=dA <= 8 * BOUND["A"] / q0,
         text="λ₀² is lost"),
    Step("Prop. 5 ‖A‖_F", AF <= nA + RA, ("‖A‖_F", "‖A(0)‖_F", "Prop. 5 A ≤ R_A", "‖A‖"), fix=At <= lA),
    *_drift("B", 8, "Prop. 5 B"),
    *_drift("U", 8, "Prop. 5 U"),
    *_drift("u", 8, "Prop. 5 u", printed=8 * XF * lu * r0 / (m * q0)),
    Step("Prop. 5 W w_A", dA <= w * lA, ("Prop. 5 A", "w", "h")),
    Step("Prop. 5 W w_B", dB <= w, ("Prop. 5 B", "w", "h")),
    Step("Prop. 5 W 2", XF * dW <= w**2 * lA**2 + 2 * w * lA**2 * XF**2 + 2 * w * XF**2,
         ("Lemma 3.3.6 drift", "Prop. 5 W w_A", "Prop. 5 W w_B", "λ_A", "λ_A > 0", "X ≠ 0"),
         fix=dW <= w**2 * lA**2 + 2 * w * lA**2 + 2 * w, text="powers of ‖X‖"),
    Step("Prop. 5 W w", w <= 1, ("h ≤", "w", "λ₀ > 0")),
    Step("Prop. 5 W 3", dW <= w * lA**2 + 2 * w * lA**2 + 2 * w, ("Prop. 5 W 2", "Prop. 5 W w")),
    Step("Prop. 5 W 4", dW <= w * (3 * lA**2 + 2), ("Prop. 5 W 3",)),
    Step("Prop. 5 W", dW <= XF * r0 * 16 * (3 * lA**2 + 2) * lU * lu / (q0 * m**2), ("Prop. 5 W 4", "w", "h")),
    Step("Prop. 6 b_U", bU >= q0 * dU / 8, ("Prop. 5 U T", "λ₀ > 0")),
    Step("Prop. 6 w", w >= dW / (3 * lA**2 + 2), ("Prop. 5 W 4",)),
    Step("Prop. 6 U", XF * dU / m <= 8 * XF * bU / (q0 * m), ("Prop. 6 b_U", "λ₀ > 0", "m > 0")),
    Step("Prop. 6 W", XF * dW * nU / m**2 <= XF * w * (3 * lA**2 + 2) * lU / m**2,
         ("Prop. 6 w", "λ_U", "λ_A > 0", "m > 0")),
    Step("Prop. 6 m", dZ <= DRIFT_Z, ("(3.15) drift", "Prop. 6 U", "Prop. 6 W", "bound U", "w", "h"),
         text="with the powers of m"),
    Step("Prop. 6 2", 1 / m**2 + 2 * (3 * cA**2 + 2) * cU**2 / m**4 <= 1 + 2 * (3 * cA**2 + 2) * cU**2, ("m > 0",),
         text="the powers of m are lost"),
    Step("Prop. 6 2 λ", 1 / m**2 + 2 * (3 * lA**2 + 2) * lU**2 / m**4 <= 1 + 2 * (3 * lA**2 + 2) * lU**2,
         ("Prop. 6 2", *COPIED)),
    Step("Prop. 6 2 Z", dZ <= PRINTED_Z, ("Prop. 6 m", "Prop. 6 2 λ", "λ₀ > 0", "λ_u > 0", "m > 0")),
    Step("Prop. 6 3", Eq(PRINTED_Z, 8 * G / q0), ("G", "λ₀ > 0")),
    Step("Prop. 6 4", dZ <= 8 * G / q0, ("Prop. 6 2 Z", "Prop. 6 3")),
    Step("(3.17) G", lam0**3 >= 8 * G, ("(3.17)", "G")),
    Step("Prop. 6 (3.17)", 8 * G / q0 <= lam0, ("(3.17) G", "λ₀²", "λ₀ > 0"), text="what (3.17) gives"),
    Step("Prop. 6 ≤ λ₀/2", lam0**3 / 2 >= 8 * XF**2 * r0 * lu * (1 + 6 * (lU * lA) ** 2 + 4 * lU**2), ("(3.17)",),
         text="(3.17) needs 16 for 8"),
    Step("Prop. 6 G", lam0**3 / 2 >= 8 * G, ("Prop. 6 ≤ λ₀/2", "G")),
    Step("Prop. 6 5", 8 * G / q0 <= lam0 / 2, ("Prop. 6 G", "λ₀²", "λ₀ > 0")),
    Step("Prop. 6", Zt >= lam0 / 2, ("Weyl", "Prop. 6 4", "Prop. 6 5")),
    Step("3.3.8 o_U", oU >= eU, ("3.3.7 U", "o_U")),
    Step("3.3.8 o_u", ou >= eu, ("3.3.7 u", "o_u")),
    Step("3.3.8 h", h1 >= eW / (4 * gr), ("3.3.7 W g", "3.3.7 g")),
    Step("3.3.8 U", XF * lu * eU / m <= XF * lu * oU / m, ("3.3.8 o_U", *POSITIVE)),
    Step("3.3.8 W", XF * lu * lU * eW / m**2 <= XF * lu * lU * 4 * h1 * gr / m**2, ("3.3.8 h", "3.3.7 g", *POSITIVE)),
    Step("3.3.8 u", XF * lU * eu / m <= XF * lU * ou / m, ("3.3.8 o_u", *POSITIVE)),
    Step("3.3.8 m", ey <= STEP_Y, ("Lemma 3.3.4 step", "3.3.8 U", "3.3.8 W", "3.3.8 u", "o_U", "o_u", "h(k)"),
         text="with the powers of m"),
    Step("3.3.8 g", ey <= eta * XF**2 * rs * fY, ("3.3.8 m", "growth", "full y")),
    Step("3.3.8 1",
         FULL_Y.subs(COPY).subs(m, 1) <= cu**2 + 8 * (cU * cu) ** 2 + eta * q0 * (cU * cu * cA) ** 2 / 4 + cU**2,
         fix=FULL_Y.subs(COPY).subs(m, 1) <= SQUARES.subs(COPY) + eta * q0 * (cU * cu * cA) ** 2 / 4,
         text="4 λ_Uu² stands for 4 λ_UuA²"),
    Step("3.3.8 2", FULL_Y.subs(COPY) <= LOST_Y.subs(COPY), ("m > 0",), text="the powers of m are lost"),
    Step("3.3.8 3", fY <= lY, ("3.3.8 2", "full y", "lost y", *COPIED)),
    Step("3.3.8 4", ey <= eta * XF**2 * rs * lY, ("3.3.8 g", "3.3.8 3", "η > 0")),
    Step("3.3.8 C", Eq(eta * XF**2 * lY, c), ("lost y", "c", "C₁₁", "C₁₂")),
    Step("3.3.8 c", ey <= rs * c, ("3.3.8 4", "3.3.8 C")),
    Step("3.3.8 c²", ey**2 <= rs**2 * c**2, ("3.3.8 c",)),
    Step("3.3.8 L", I1 <= L * c**2, ("3.3.8 c²", "I₁", "loss")),
    Step("3.3.8 L c", I1 <= L * (eta * C11 + eta**2 * q0 * C12) ** 2, ("3.3.8 L", "c")),
    Step("3.3.8", I1 <= L * (eta**2 * C11**2 + 2 * eta**3 * q0 * C11 * C12 + eta**4 * lam0 * C12**2),
         ("3.3.8 L c", "λ₀²"), fix=I1 <= L * (eta**2 * C11**2 + 2 * eta**3 * q0 * C11 * C12 + eta**4 * q0**2 * C12**2),
         text="λ₀ stands for λ₀⁴"),
    Step("3.3.9 U", XF * eU / m <= XF * oU / m, ("3.3.8 o_U", "m > 0")),
    Step("3.3.9 W", XF * lU * eW / m**2 <= XF * lU * 4 * h1 * gr / m**2, ("3.3.8 h", "3.3.7 g", *POSITIVE)),
    Step("3.3.9 Z", eZ <= STEP_Z, ("(3.15) step", "3.3.9 U", "3.3.9 W", "o_U", "h(k)")),
    Step("3.3.9 Z+", eZ * lu * rs <= STEP_Z * lu * rs, ("3.3.9 Z", "λ_u > 0")),
    Step("3.3.9 m", I2 <= STEP_Z * lu * rs, ("I₂", "3.3.9 Z+", "λ_u > 0"), text="with the powers of m"),
    Step("3.3.9 g", I2 <= eta * XF**2 * rs**2 * fZ, ("3.3.9 m", "growth", "full Z")),
    Step("3.3.9 1",
         FULL_Z.subs(COPY).subs(m, 1) <= cu**2 + 4 * cU**2 * cu * (cA + 1) + eta * q0 * (cU * cu * cA) ** 2 / 4,
         fix=FULL_Z.subs(COPY).subs(m, 1) <= cu**2 + 4 * (cU * cu * cA) ** 2 + 4 * (cU * cu) ** 2
         + eta * q0 * (cU * cu * cA) ** 2 / 4, text="squares are lost"),
    Step("3.3.9 2", FULL_Z.subs(COPY) <= LOST_Z.subs(COPY), ("m > 0",), text="the powers of m are lost"),
    Step("3.3.9 3", fZ <= lZ, ("3.3.9 2", "full Z", "lost Z", *COPIED)),
    Step("3.3.9 4", I2 <= eta * XF**2 * rs**2 * lZ, ("3.3.9 g", "3.3.9 3", "η > 0")),
    Step("3.3.9 C", Eq(XF**2 * lZ, C11 - XU**2 + eta * q0 * C12), ("lost Z", "C₁₁", "C₁₂", "XU")),
    Step("3.3.9", I2 <= 2 * L * (eta * (C11 - XU**2) + eta**2 * q0 * C12), ("3.3.9 4", "3.3.9 C", "loss")),
    *THIRD,
    Step("together 1", Lnext <= L + L * eta**2 * (C11 + eta * q0 * C12) ** 2
         + L * eta**2 * (C11 - lU**2 + eta * q0 * C12) - eta * q0 / 2 * L,
         ("decrease", "3.3.8 L c", "3.3.9", "3.3.10"),
         fix=Lnext <= L + L * eta**2 * (C11 + eta * q0 * C12) ** 2
         + 2 * L * eta * (C11 - XU**2 + eta * q0 * C12) - eta * q0 / 2 * L, text="2η stands as η², and ‖X‖² is lost"),
    Step("together 2", Lnext <= L * (1 + eta**2 * C11**2 + 2 * eta**3 * q0 * C11 * C12 + eta**4 * q0 * C12**2
         + 2 * eta * (C11 - XU**2) + 2 * eta**2 * q0 * C12 - eta * q0 / 2), ("together 1",),
         fix=Lnext <= L * (1 + eta**2 * C11**2 + 2 * eta**3 * q0 * C11 * C12 + eta**4 * q0**2 * C12**2
         + 2 * eta * (C11 - XU**2) + 2 * eta**2 * q0 * C12 - eta * q0 / 2), text="λ₀² stands for λ₀⁴"),
    Step("step 2", eta <= 1 / (XF**2 * SQUARES), ("step", "min")),
    Step("step 2 k", eta <= k2 / XF**2, ("step 2", "k₂")),
    Step("step 2 kS", Eq(k2 * S, 1), ("k₂", "S")),
    Step("step 2 S", S > 0, ("S", "λ_U > 0")),
    Step("step 2 SX", eta * S * XF**2 <= 1, ("step 2 k", "step 2 kS", "step 2 S", "X ≠ 0")),
    Step("step 2 C", eta * C11 <= 1, ("step 2 SX", "C₁₁", "S")),
    Step("step 3", eta <= 1 / (2 * XF * lam0 * lU * lu * lA), ("step", "min")),
    Step("step 3 k", eta <= k3 / (2 * XF * lam0), ("step 3", "k₃")),
    Step("step 3 kv", Eq(k3 * v3, 1), ("k₃", "v₃")),
    Step("step 3 v", v3 > 0, ("v₃", *POSITIVE)),
    Step("step 3 y", eta * y3 <= 1, ("step 3 k", "step 3 kv", "step 3 v", "y₃", "σ₀ > 0", "X ≠ 0")),
    Step("step 3 y²", (eta * y3) ** 2 <= 1, ("step 3 y", "step 3 v", "y₃", "η > 0", "σ₀ > 0")),
    Step("step 3 C", 16 * eta**2 * q0 * C12 <= 1, ("step 3 y²", "y₃", "v₃", "C₁₂", "λ₀²")),
    Step("together 3 c", eta**2 * C11**2 + 2 * eta**3 * q0 * C11 * C12 + eta**4 * q0**2 * C12**2 + 2 * eta * C11
         + 2 * eta**2 * q0 * C12 <= 5 * eta * C11 + 3 * eta**2 * q0 * C12, ("step 2 C", "step 3 C", "η > 0")),
    Step("together 3", Lnext <= L * (1 + 5 * eta * C11 - 2 * eta * XU**2 + 3 * eta**2 * q0 * C12 - eta * q0 / 2),
         ("together 2", "together 3 c")),
    Step("step 4", eta <= 1 / (6 * lam0**2 * (lu * lA) ** 2), ("step", "min")),
    Step("step 4 k", eta <= k4, ("step 4", "k₄")),
    Step("step 4 ky", Eq(k4 * y4, 1), ("k₄", "y₄")),
    Step("step 4 >", y4 > 0, ("y₄", "σ₀ > 0", *POSITIVE)),
    Step("step 4 y", eta * y4 <= 1, ("step 4 k", "step 4 ky", "step 4 >")),
    Step("step 4 XU", eta * y4 * XU**2 <= 2 * XU**2, ("step 4 y",)),
    Step("step 4 C", 3 * eta * q0 * C12 <= 2 * XU**2, ("step 4 XU", "y₄", "C₁₂", "XU", "λ₀²", "η > 0")),
    Step("together 4 c", 3 * eta**2 * q0 * C12 <= 2 * eta * XU**2, ("step 4 C", "η > 0")),
    Step("together 4", Lnext <= L * (1 + 5 * eta * C11 - eta * q0 / 2), ("together 3", "together 4 c")),
    Step("(3.18) C", 5 * C11 <= q0 / 4, ("(3.18)", "C₁₁", "λ₀²")),
    Step("together 5", Lnext <= L * (1 - eta * q0 / 4), ("together 4", "(3.18) C", "η > 0")),
)  # fmt: skip

UNIT_FACTS = (
    *_signs(lam0, nA, nB, nU, nu, XF, r0, q0, ZF, mZ, Nm, XU),
    *(
        f
        for f in GD_FACTS
        if f.id in ("N ≥ 1", "λ_U > 0", "λ₀²", "X ≠ 0", "Lemma 3.3.3", "λ_min ≤ mean", "λ_U", "mZ", "Nm²", "XU")
    ),
    _cite("λ₀ bound", N * m**2 * lam0**2 <= XF**2 * nU**2, "Lemma 3.3.3 with λ_min ≤ mean; also proved below"),
)
UNIT_PROOF = (
    GD_PROOF[0],
    *TOO_MUCH,
    Step("20 N m² ≥ 20", 20 * N * m**2 >= 20, ("m ≥ 1",), text="so that (3.18) and m ≥ 1 exclude one another"),
)

# --- proof: the repair -------------------------------------------------------------------------------

kZ, xz = symbols("k_Z x_Z", real=True)
REPAIRED_FACTS = (
    *COMMON,
    *SUM,
    *_signs(P, C1, C2, h1, kZ, c, XU, mZ),
    _cite("Hyp. 2", Zt >= lam0 / 2, "at step k, by induction"),
    _cite("λ_U", lU >= nU + RU),
    _cite("mZ", Eq(mZ, m * ZF), "an abbreviation"),
    _cite("XU", Eq(XU, XF * lU), "an abbreviation"),
    _cite("P", Eq(P, 4 * ((lU * lA) ** 2 + lU**2) / m**2 + 1), "the bracket of (3.9)"),
    _cite("C₂", Eq(C2, XF**2 * lu**2 * P / m**2), "the definition"),
    _cite("C₁", Eq(C1, C2 + XF**2 * lU**2 / m**2), "the definition"),
    _cite("h(k)", Eq(h1, eta * XF * lU * lu * rs / m**2), "an abbreviation"),
    _cite("k_Z", Eq(kZ, XF**2 * lu * P / m**2), "an abbreviation"),
    _cite("x", Eq(xz, XF * lU / m), "an abbreviation"),
    _cite("bound Z", Eq(bZ, kZ * r0), "an abbreviation"),
    _cite("ΔW", eW <= 2 * lA * eA + 2 * eB, "2(A⁺ᵀA⁺ − AᵀA) = (A⁺ + A)ᵀΔ + Δᵀ(A⁺ + A), both A in the ball"),
    _cite("(3.15) step", eZ <= XF * eU / m + XF * eW * lU / m**2),
    _cite("sup Z step", hZ <= eZ / (eta * E), "the largest multiple of e, at the step where it is reached"),
    _cite("ŷ", ey <= eZ * lu + Zs * eu, "ŷ⁺ − ŷ = (Z⁺ − Z)ᵀu⁺ + Zᵀ(u⁺ − u)"),
    _cite("I₂", I2 <= eZ * lu * rs, "‖u(k+1)‖ ≤ λ_u"),
    _cite("c", Eq(c, eta * C1), "an abbreviation"),
)
REPAIRED_PROOF = (
    *_start("(3.16)", 8),
    Step("σ₀ > 0", lam0 > 0, ("λ₀ > 0", "λ₀²")),
    *ONE_STEP,
    Step("η m", mZ <= XF * nU, ("Lemma 3.3.3", "mZ", "m > 0")),
    Step("η U", mZ <= XU, ("η m", "XU", "λ_U")),
    Step("η U²", mZ**2 <= XU**2, ("η U",)),
    Step("η N", lam0**2 <= ZF**2, ("λ_min ≤ mean",)),
    Step("η λ₀", m**2 * lam0**2 <= XU**2, ("η N", "mZ", "η U²")),
    Step("η C₁ U", C1 >= XU**2 / m**2, ("C₁", "XU")),
    Step("η C₁", C1 >= q0, ("η C₁ U", "η λ₀", "λ₀²", "m > 0")),
    Step("η C₁²", C1**2 >= q0**2, ("η C₁",)),
    Step("step ×", 8 * eta * C1**2 <= q0, ("step", "λ₀²", "η C₁", "λ₀ > 0")),
    Step("η ≤ 4/λ₀²", eta * q0 <= 4, ("step ×", "η C₁²", "η > 0", "λ₀ > 0")),
    Step("h_A", eA <= 2 * h1 * lA, ("3.3.7 A", "h(k)")),
    Step("h_B", eB <= 2 * h1, ("3.3.7 B", "h(k)")),
    Step("3.3.7 W", eW <= 4 * h1 * (lA**2 + 1), ("ΔW", "h_A", "h_B", "λ_A > 0")),
    Step("ΔZ U", XF * eU / m <= eta * XF**2 * lu * rs / m**2, ("3.3.7 U", "m > 0")),
    Step("ΔZ h", h1 >= eW / (4 * (lA**2 + 1)), ("3.3.7 W",)),
    Step("ΔZ W", XF * eW * lU / m**2 <= 4 * XF * h1 * (lA**2 + 1) * lU / m**2, ("ΔZ h", "λ_U > 0", "m > 0")),
    Step("ΔZ Wh", 4 * XF * h1 * (lA**2 + 1) * lU / m**2 <= eta * XF**2 * lu * rs / m**2 * (P - 1),
         ("h(k)", "P", "m > 0")),
    Step("ΔZ", eZ <= eta * XF**2 * lu * rs / m**2 * P, ("(3.15) step", "ΔZ U", "ΔZ W", "ΔZ Wh")),
    Step("ΔZ k", eZ <= eta * kZ * rs, ("ΔZ", "k_Z")),
    *_sum(("η > 0",)),
    *_drift("A", 8, "Prop. 5 A"),
    *_drift("B", 8, "Prop. 5 B"),
    *_drift("U", 8, "Prop. 5 U"),
    *_drift("u", 8, "Prop. 5 u"),
    Step("Prop. 6 e", eZ / (eta * E) <= kZ * rs / E, ("ΔZ k", "η > 0")),
    Step("Prop. 6 r", kZ * rs / E <= kZ * r0, ("decay",)),
    Step("Prop. 6 sup", hZ <= bZ, ("sup Z step", "Prop. 6 e", "Prop. 6 r", "bound Z")),
    Step("Prop. 6 T", q0 * dZ <= 8 * bZ, ("path Z", "Prop. 6 sup", "T", "λ₀ > 0")),
    Step("Prop. 6 (3.17)", lam0**3 >= 16 * bZ, ("(3.17)", "k_Z", "bound Z")),
    Step("Prop. 6 ≤ λ₀/2", dZ <= lam0 / 2, ("Prop. 6 T", "Prop. 6 (3.17)", "λ₀²", "σ₀ > 0")),
    Step("Prop. 6", Zt >= lam0 / 2, ("Weyl", "Prop. 6 ≤ λ₀/2")),
    Step("I₂ C", eta * kZ * rs * lu * rs <= eta * C2 * rs**2, ("k_Z", "C₂")),
    Step("I₂ Z", eZ * lu * rs <= eta * kZ * rs * lu * rs, ("ΔZ k", "λ_u > 0")),
    Step("I₂ bound", I2 <= 2 * eta * C2 * L, ("I₂", "I₂ Z", "I₂ C", "loss")),
    Step("I₁ Z", eZ * lu <= eta * C2 * rs, ("ΔZ k", "k_Z", "C₂", "λ_u > 0")),
    Step("I₁ Zs", Zs <= XF * lU / m, ("Lemma 3.3.3 at s", "Hyp. 1 U", "X ≠ 0", "m > 0")),
    Step("I₁ Zx", Zs <= xz, ("I₁ Zs", "x")),
    Step("I₁ ux", eu <= eta * xz * rs, ("3.3.7 u", "x")),
    Step("I₁ Zu", Zs * eu <= eta * xz**2 * rs, ("I₁ Zx", "I₁ ux", "η > 0")),
    Step("I₁ u", Zs * eu <= eta * XF**2 * lU**2 / m**2 * rs, ("I₁ Zu", "x")),
    Step("I₁ ŷ", ey <= eta * C1 * rs, ("ŷ", "I₁ Z", "I₁ u", "C₁")),
    Step("I₁ c", ey <= c * rs, ("I₁ ŷ", "c")),
    Step("I₁ c²", ey**2 <= c**2 * rs**2, ("I₁ c",)),
    Step("I₁ bound", I1 <= c**2 * L, ("I₁ c²", "I₁", "loss")),
    Step("I₁ η", c**2 <= eta * q0 / 8, ("step ×", "c", "η > 0")),
    *THIRD,
    Step("(3.18) C", 2 * C2 <= q0 / 8, ("(3.18)", "λ₀²")),
    Step("together 1", Lnext <= L + c**2 * L + 2 * eta * C2 * L - eta * q0 / 2 * L,
         ("decrease", "I₁ bound", "I₂ bound", "3.3.10")),
    Step("together 2", c**2 + 2 * eta * C2 - eta * q0 / 2 <= -eta * q0 / 4, ("I₁ η", "(3.18) C", "η > 0")),
    Step("rate", Lnext <= L * (1 - eta * q0 / 4), ("together 1", "together 2")),
)  # fmt: skip

# --- proof: the sharp theorem --------------------------------------------------------------------------

X2, Z2, RZ, zeta, Q, C, mu = symbols("norm_X norm_Z R_Z zeta Q C mu", real=True)
kk, rest, rn, Lmax, fac, xA, xu = symbols("k_step rest_k norm_r_next contraction factor x_A x_u", real=True)
SHARP_BOUND = {"A": 2 * lA * lu * zeta * r0 / m, "u": zeta * r0}
SHARP_DEFINITIONS = {
    lA: nA + RA,
    lu: nu + Ru,
    zeta: Z2 + RZ,
    Q: 4 * (lA**2 + 1) * zeta**2 + X2**2,
    C: lu**2 * Q / m**2,
    mu: (lam0 - RZ) ** 2 - C,
}
SHARP_FACTS = (
    *_signs(lam0, nA, nu, r0, X2, Z2, As, us, Zs, rs, v, T, bk, rest, rn, Q, C, kZ, muZ),
    *_signs(hA, hu, hZ, bA, bu, dA, du, dZ, eA, eB, eU, eu, eW, eZ),
    Fact("e > 0", E > 0, "(1 − ημ)^s"),
    Fact("N ≥ 1", N >= 1),
    _cite("λ_A > 0", lA > 0, "a norm plus a positive radius"),
    _cite("λ_u > 0", lu > 0, "a norm plus a positive radius"),
    _cite("ζ > 0", zeta > 0, "a norm plus a positive radius"),
    _cite("ζ", zeta >= Z2 + RZ, "the definition"),
    _cite("λ_min ≤ λ_max", Z2 >= lam0, "of ZᵀZ, at the start"),
    _cite("σ ≤ ‖Z‖", muZ <= Zs**2, "λ_min(ZᵀZ) ≤ λ_max(ZᵀZ), at step s"),
    _cite("A(s)", lA >= As, "A(s) is in its ball"),
    _cite("u(s)", lu >= us, "u(s) is in its ball"),
    _cite("Z(s)", zeta >= Zs, "Z(s) is in its ball"),
    _cite("σ_min(s)", Zt >= lam0 - RZ, "Weyl, Z(s) in its ball"),
    _cite("rank", muZ >= Min(1, Max(0, n - N + 1)) * Zt**2, "λ_min(ZᵀZ) is σ_min² if n ≥ N, and never negative"),
    _cite("decay", r0 >= rs / E, "the induction hypothesis on the residual"),
    _cite("Lemma 3.3.2 with D", us >= m * v, "mondeq-resolvent:repaired: v = max ‖g_i‖"),
    _cite("one A", eA <= 2 * eta * As * v * Zs * rs, "∇_A = −A(∇_W + ∇_Wᵀ), ‖∇_W‖_F ≤ v ‖e‖ ‖Z‖"),
    _cite("one B", eB <= 2 * eta * v * Zs * rs, "∇_B = ∇_W − ∇_Wᵀ"),
    _cite("one U", eU <= eta * v * X2 * rs, "∇_U = G diag(e) Xᵀ"),
    _cite("one u", eu <= eta * Zs * rs, "∇_u = Z e"),
    _cite("ΔW", eW <= 2 * lA * eA + 2 * eB, "2(A⁺ᵀA⁺ − AᵀA) = (A⁺ + A)ᵀΔ + Δᵀ(A⁺ + A), both A in the ball"),
    _cite("ΔZ", eZ <= (eW * Zs + eU * X2) / m, "strong monotonicity: m‖z⁺ − z‖ ≤ ‖ΔW z + ΔU x‖, column by column"),
    _cite("k", Eq(kk, eta * lu * rs / m), "an abbreviation"),
    _cite("k_Z", Eq(kZ, lu * Q / m**2), "an abbreviation"),
    _cite("f", Eq(fac, 1 - eta * mu), "an abbreviation"),
    _cite("x_A", Eq(xA, 2 * lA * lu * zeta * rs / m), "an abbreviation"),
    _cite("x_u", Eq(xu, zeta * rs), "an abbreviation"),
    _cite("Q", Eq(Q, 4 * (lA**2 + 1) * zeta**2 + X2**2), "the definition"),
    _cite("C", Eq(C, lu**2 * Q / m**2), "the definition"),
    _cite("μ", Eq(mu, (lam0 - RZ) ** 2 - C), "the definition"),
    _cite("sup A", hA <= eA / (eta * E), "the largest multiple of e, at the step where it is reached"),
    _cite("sup u", hu <= eu / (eta * E), "the largest multiple of e, at the step where it is reached"),
    _cite("sup Z", hZ <= eZ / (eta * E), "the largest multiple of e, at the step where it is reached"),
    _cite("bound A", Eq(bA, SHARP_BOUND["A"]), "an abbreviation"),
    _cite("bound u", Eq(bu, SHARP_BOUND["u"]), "an abbreviation"),
    _cite("path A", dA <= hA * T, "no longer than the path"),
    _cite("path u", du <= hu * T, "no longer than the path"),
    _cite("path Z", dZ <= hZ * T, "no longer than the path"),
    _cite("Σ", Eq(mu * T, 1 - bk), "T = η Σ (1 − ημ)^s over s ≤ k, with (1 − ημ)^(k+1) = β_k"),
    _cite("triangle A", At <= nA + dA),
    _cite("triangle u", ut <= nu + du),
    _cite("triangle Z", ZNt <= Z2 + dZ),
    _cite("Weyl", Zt >= lam0 - dZ),
    _cite("r", rest <= eZ * lu, "r = (Z⁺ − Z)ᵀu⁺, with u⁺ in its ball"),
    _cite("e⁺", rn <= Lmax * rs + rest, "e⁺ = (I − ηZᵀZ)e + r"),
    _cite("‖I − ηZᵀZ‖", Eq(Lmax, Max(1 - eta * muZ, eta * Zs**2 - 1)), "the eigenvalues lie between"),
    _cite("loss", Eq(L, rs**2 / 2), "at step s"),
    _cite("loss⁺", Eq(Lnext, rn**2 / 2), "at the next step"),
)


def _kept(x: str, drift: Symbol, sup: Symbol, bound: Symbol, radius: Symbol) -> tuple[Step, ...]:
    """The path of x is no longer than its radius."""
    return (
        Step(f"sup {x} ≤", sup <= bound, (f"sup {x}", f"∇{x}", f"bound {x}")),
        Step(f"hyp {x}", bound <= mu * radius, (x, f"bound {x}", "m > 0")),
        Step(f"path {x} T", drift <= bound * T, (f"path {x}", f"sup {x} ≤")),
        Step(f"path {x} R", drift <= radius, (f"path {x} T", f"hyp {x}", "T")),
    )


SHARP_PROOF = (
    Step("one A ≤", 2 * eta * As * v * Zs * rs <= 2 * eta * lA * lu * zeta * rs / m,
         ("A(s)", "u(s)", "Z(s)", "Lemma 3.3.2 with D", "m > 0")),
    Step("one B ≤", 2 * eta * v * Zs * rs <= 2 * eta * lu * zeta * rs / m,
         ("u(s)", "Z(s)", "Lemma 3.3.2 with D", "m > 0")),
    Step("one U ≤", eta * v * X2 * rs <= eta * lu * X2 * rs / m, ("u(s)", "Lemma 3.3.2 with D", "m > 0")),
    Step("one u ≤", eta * Zs * rs <= eta * zeta * rs, ("Z(s)",)),
    Step("k A", eA <= 2 * lA * zeta * kk, ("one A", "one A ≤", "k")),
    Step("k B", eB <= 2 * zeta * kk, ("one B", "one B ≤", "k")),
    Step("k U", eU <= X2 * kk, ("one U", "one U ≤", "k")),
    Step("k > 0", kk >= 0, ("k", "η > 0", "λ_u > 0", "m > 0")),
    Step("k W", eW <= 4 * (lA**2 + 1) * zeta * kk, ("ΔW", "k A", "k B", "λ_A > 0")),
    Step("k Z W", eW * Zs <= 4 * (lA**2 + 1) * zeta**2 * kk, ("k W", "Z(s)", "ζ > 0")),
    Step("k Z U", eU * X2 <= X2**2 * kk, ("k U",)),
    Step("k Z Q", eW * Zs + eU * X2 <= Q * kk, ("k Z W", "k Z U", "Q")),
    Step("k Z", (eW * Zs + eU * X2) / m <= Q * kk / m, ("k Z Q", "m > 0")),
    Step("k Z η", Eq(Q * kk / m, eta * kZ * rs), ("k", "k_Z")),
    Step("ΔZ ≤", eZ <= eta * kZ * rs, ("ΔZ", "k Z", "k Z η")),
    Step("rest Z", eZ * lu <= eta * kZ * rs * lu, ("ΔZ ≤", "λ_u > 0")),
    Step("rest C", Eq(eta * kZ * rs * lu, eta * C * rs), ("k_Z", "C")),
    Step("rest", rest <= eta * C * rs, ("r", "rest Z", "rest C")),
    Step("step ζ", eta * zeta**2 <= 1, ("step", "ζ > 0")),
    Step("step Z", eta * Zs**2 <= 1, ("step ζ", "Z(s)", "η > 0")),
    Step("n ≥ N σ", muZ >= Zt**2, ("rank", "n ≥ N")),
    Step("σ²", Zt**2 >= (lam0 - RZ) ** 2, ("σ_min(s)", "R_Z")),
    Step("λ_min", muZ >= (lam0 - RZ) ** 2, ("n ≥ N σ", "σ²")),
    Step("λ_min ≤ 1/η", eta * muZ <= 1, ("σ ≤ ‖Z‖", "step Z", "η > 0")),
    Step("I − ηG", Lmax <= 1 - eta * muZ, ("‖I − ηZᵀZ‖", "step Z", "λ_min ≤ 1/η")),
    Step("I − ηG λ", Lmax <= 1 - eta * (lam0 - RZ) ** 2, ("I − ηG", "λ_min", "η > 0")),
    Step("e⁺ λ", rn <= (1 - eta * (lam0 - RZ) ** 2) * rs + eta * C * rs, ("e⁺", "I − ηG λ", "rest")),
    Step("contraction", rn <= (1 - eta * mu) * rs, ("e⁺ λ", "μ")),
    Step("μ ≤ λ_min", mu <= muZ, ("μ", "λ_min")),
    Step("ημ ≤ 1", eta * mu <= 1, ("μ ≤ λ_min", "λ_min ≤ 1/η", "η > 0")),
    Step("μ ≤ σ²", mu <= (lam0 - RZ) ** 2, ("μ",)),
    Step("σ² ≤ ζ²", (lam0 - RZ) ** 2 <= zeta**2, ("R_Z", "λ_min ≤ λ_max", "ζ")),
    Step("step <", eta * zeta**2 < 1, ("step", "ζ > 0")),
    Step("μ ≤ ζ²", mu <= zeta**2, ("μ ≤ σ²", "σ² ≤ ζ²")),
    Step("ημ < 1", eta * mu < 1, ("μ ≤ ζ²", "step <", "η > 0"), text="so that e = (1 − ημ)^s > 0"),
    Step("f ≥ 0", fac >= 0, ("f", "ημ ≤ 1")),
    Step("contraction f", rn <= fac * rs, ("contraction", "f")),
    Step("contraction²", rn**2 <= fac**2 * rs**2, ("contraction f", "f ≥ 0")),
    Step("rate f", Lnext <= fac**2 * L, ("contraction²", "loss", "loss⁺")),
    Step("rate", Lnext <= (1 - eta * mu * (2 - eta * mu)) * L, ("rate f", "f")),
    Step("T", mu * T <= 1, ("Σ",)),
    Step("∇A r", 2 * lA * lu * zeta * rs / m / E <= SHARP_BOUND["A"],
         ("decay", "λ_A > 0", "λ_u > 0", "ζ > 0", "m > 0")),
    Step("∇A x", eA <= eta * xA, ("k A", "k", "x_A")),
    Step("∇A η", eA / (eta * E) <= xA / E, ("∇A x", "η > 0")),
    Step("∇A", eA / (eta * E) <= SHARP_BOUND["A"], ("∇A r", "∇A η", "x_A")),
    Step("∇u r", zeta * rs / E <= zeta * r0, ("decay", "ζ > 0")),
    Step("∇u x", eu <= eta * xu, ("one u", "one u ≤", "x_u")),
    Step("∇u η", eu / (eta * E) <= xu / E, ("∇u x", "η > 0")),
    Step("∇u", eu / (eta * E) <= SHARP_BOUND["u"], ("∇u r", "∇u η", "x_u")),
    *_kept("A", dA, hA, bA, RA),
    *_kept("u", du, hu, bu, Ru),
    Step("∇Z η", eZ / (eta * E) <= kZ * rs / E, ("ΔZ ≤", "η > 0")),
    Step("∇Z r", kZ * rs / E <= kZ * r0, ("decay",)),
    Step("sup Z ≤", hZ <= kZ * r0, ("sup Z", "∇Z η", "∇Z r")),
    Step("hyp Z", kZ * r0 <= mu * RZ, ("Z", "k_Z", "m > 0")),
    Step("path Z T", dZ <= kZ * r0 * T, ("path Z", "sup Z ≤")),
    Step("path Z R", dZ <= RZ, ("path Z T", "hyp Z", "T")),
    Step("ball A", At <= lA, ("triangle A", "path A R")),
    Step("ball u", ut <= lu, ("triangle u", "path u R")),
    Step("ball Z", ZNt <= zeta, ("triangle Z", "path Z R")),
    Step("σ_min", Zt >= lam0 - RZ, ("Weyl", "path Z R")),
)  # fmt: skip

# --- statements ------------------------------------------------------------------------------------

HALF = Rational(1, 2)
GROWTH = Growth(
    {lam0: (HALF, 0), nU: (HALF, 0), RU: (HALF, 0), XF: (0, HALF), r0: (0, HALF), n: (1, 0), N: (0, 1)},
    width={"init": "linear", "dim": "10", "samples": "5"},
    samples={"init": "linear", "dim": "1000", "width": "800"},
    widths=(100, 200, 400, 800),
    counts=(2, 4, 8, 16),
    text="the initialisation of torch.nn.Linear, in use for monotone DEQs (the thesis names none for its theorems): "
    "λ₀ and ‖U‖ grow as √n, the other norms stay; inputs of norm 1 in general position",
)

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
    facts=GF_FACTS,
    proof=GF_PROOF,
    reading=(
        *READING,
        "The proof cites Lemma 3.3.2, which is false as printed, but uses only its repair.",
    ),
    growth=GROWTH,
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
            eta < STEP,
        ),
    ),
    conclusions=STAYS,
    rate=Rate("rate", gap=eta * lam0**2 / 4, per="step"),
    facts=GD_FACTS,
    proof=GD_PROOF,
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
    counterexample="n = N = d = 1, x = U = 1, A = B = u = 0, m = 1/10, y = 1/1000, R_A = R_U = 1/10, R_B = 1, "
    "R_u = 1/100 and η just below 4/λ₀² = 1/25: every hypothesis holds, and the first step multiplies the loss by "
    "more than 8.",
    settings=("eta",),
    growth=GROWTH,
    quick=QUICK,
)

MONDEQ_GD_UNIT = replace(
    MONDEQ_GD,
    key="mondeq-gd:m1",
    title="Condition 2 asks too much of every monotone DEQ with m ≥ 1",
    source=_source("Condition 2, (3.18), with Lemma 3.3.3"),
    hypotheses=(Hypothesis("m ≥ 1", m >= 1, "the case asked about"), *MONDEQ_GD.hypotheses),
    facts=UNIT_FACTS,
    proof=UNIT_PROOF,
    reading=(
        "A question to the audit, not a printed theorem: Theorem 3.3.5 with m ≥ 1 added, as for the usual m = 1. Its "
        "hypotheses exclude one another for every width, every N ≥ 1, every data X ≠ 0 and every choice of the radii.",
    ),
    never="No network with m ≥ 1 satisfies (3.18): by Lemma 3.3.3 it needs 20 N m² ≤ 1.",
    flaw="its hypotheses exclude one another: (3.18) needs 20 N m² ≤ 1.",
    counterexample="",
    growth=None,
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
    facts=REPAIRED_FACTS,
    proof=REPAIRED_PROOF,
    reading=(
        *READING,
        "Repair: the powers of 1/m that the proof drops are restored, (3.17) has the bracket of (3.9) "
        "and 16 for 8, (3.18) asks only for the part that does not shrink with η, and η ≤ λ₀²/(8C₁²).",
    ),
    settings=("eta",),
    quick=QUICK,
)

MONDEQ_GD_SHARP = Theorem(
    key="mondeq-gd:sharp",
    title="gradient descent trains a monotone DEQ to zero loss at a linear rate",
    source=_source("Theorem 3.3.5 (sharpened)"),
    family="mondeq",
    setting="gradient descent with step η on 1/2 ‖ŷ − y‖², A, B, U and u trained",
    measured={
        lam0: q.sigma_min_equilibrium,
        m: q.monotonicity,
        nA: q.norm_A,
        nu: q.norm_u,
        X2: q.norm_inputs,
        Z2: q.norm_equilibrium,
        r0: q.initial_residual,
        n: q.width,
        N: q.samples,
    },
    chosen={RA: free, Ru: free, RZ: free, eta: largest("step")},
    monitored=_watched(),
    definitions=SHARP_DEFINITIONS,
    hypotheses=(
        *GIVEN,
        Hypothesis("R_Z", RZ < lam0, "the equilibrium keeps full rank"),
        Hypothesis("A", mu * RA >= 2 * lA * lu * zeta * r0 / m),
        Hypothesis("u", mu * Ru >= zeta * r0),
        Hypothesis("Z", mu * RZ >= lu * Q * r0 / m**2),
        Hypothesis("η > 0", eta > 0),
        Hypothesis("step", eta < 1 / zeta**2),
        Hypothesis("σ′", None, "the iterates meet no kink of the relu, where σ′ is not defined"),
    ),
    conclusions=(
        Conclusion("ball A", At <= lA, "A stays within its radius"),
        Conclusion("ball u", ut <= lu, "u stays within its radius"),
        Conclusion("ball Z", ZNt <= zeta, "Z stays within its radius"),
        Conclusion("σ_min", Zt >= lam0 - RZ, "and keeps its rank"),
    ),
    rate=Rate("rate", gap=eta * mu * (2 - eta * mu), per="step"),
    facts=SHARP_FACTS,
    proof=SHARP_PROOF,
    reading=(
        *READING,
        "Sharpened: the residual obeys e⁺ = (I − ηZᵀZ)e + (Z⁺ − Z)ᵀu⁺ with ‖(Z⁺ − Z)ᵀu⁺‖ ≤ ηC‖e‖, so η‖Z‖² ≤ 1 gives "
        "‖e⁺‖ ≤ (1 − η(σ_min(Z)² − C))‖e‖: no square of the step is lost.",
        "The operator norm of Z, measured at the start and moved by at most R_Z, replaces ‖X‖_F‖U‖/m, and ‖X‖ replaces "
        "‖X‖_F; so no radius of U or B is needed, and R_Z is chosen in place of λ₀/2.",
    ),
    settings=("eta",),
    defaults={"scale": "auto"},
    quick=QUICK,
)
