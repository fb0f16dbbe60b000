"""Xie et al. (2021), OptEq: Theorem 5, gradient descent on the unrolled network, with the constants (30).

Paper: "Optimization Induced Equilibrium Networks" (arXiv:2105.13228), Appendix G.

Setting: x = g(x_0, W_0), z^{k+1} = beta_{k+1} S(z^k) + (1 - beta_{k+1}) T(z^k) for k < K, prediction
W_{L+1} z^K, loss 1/2 |y - y_0|^2; W_0, W_l, U_l, b_l and W_{L+1} are trained with step eta.

Readings of the print (the text at hand is badly damaged; each formula was checked against its proof):
see `reading` below, where the report shows them.
"""

from dataclasses import replace

from sympy import Eq, Max, Min, Rational, Symbol, log, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import opteq as q
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
    largest,
    least,
)

kappa, s, s0, Lsig, alpha, L, K, N, m, n = symbols("slope_min L_sigma_0 sigma_0 L_sigma alpha L K N m n", real=True)
wmax, wmin, nUb, nX, Lg, nO, sO, gamma, p, c, r0, g2, gb2 = symbols(
    "max_norm_W sigma_min_W norm_Ub norm_X L_g norm_out sigma_out gamma p c r_0 gradient_square bias_gradient_square",
    real=True,
)
BUb, Bx, BL, eta = symbols("B_Ub B_x B_L eta", real=True)
sm, B, CD, Cz, BJ, CJ, root, Q0, Q1, Q2 = symbols("sigma_m B_star C_D C_z B_J C_J sqrt_loss Q_0 Q_1 Q_2", real=True)
Wt, st, Ut, Ot, ot, Xt = symbols("norm_W_t sigma_min_W_t norm_Ub_t norm_out_t sigma_out_t norm_X_t", real=True)

MEASURED = {
    kappa: q.slope_min,
    s: q.lipschitz,
    s0: q.activation_at_zero,
    Lsig: q.smoothness,
    alpha: q.alpha,
    L: q.layers,
    K: q.iterations,
    N: q.samples,
    m: q.width,
    n: q.units,
    wmax: q.largest_norm,
    wmin: q.sigma_min_layers,
    nUb: q.norm_inputs,
    nX: q.norm_features,
    Lg: q.lipschitz_extractor,
    nO: q.norm_output,
    sO: q.sigma_min_output,
    gamma: q.gamma_unrolled,
    p: q.exponent_beta,
    c: q.exponent_lambda,
    r0: q.initial_residual,
    gb2: q.bias_gradient_square,
    g2: q.gradient_square,
}

DEFINITIONS = {
    sm: wmin - Rational(1, 4),
    # |z| <= |T(0)| / (1 - Lip T) for every averaged step, and |f_l o ... o f_1(0)| is no larger.
    B: (s0 * sqrt(n * N) + s * BUb * (Bx + sqrt(N))) / (1 - s),
    CD: Max(3 * B, Bx),
    Cz: s0 * sqrt(m * n) + 6 * B + 3 * BUb * Bx,
    BJ: 2 * alpha * sqrt(L) * K * Cz,
    CJ: 9 * alpha * sqrt(L) * B * Lsig * Cz * Lg + 2 * sqrt(3 * L) * alpha * K * B * Lsig * CD,
    root: r0 / sqrt(2),
    Q0: K**2 * L * alpha**2 * kappa**2 * sm**2 * N * sO**2 / 4,
    Q1: CJ * root + 2 * alpha * sqrt(L) * K * Cz * Lg * BJ * BL + BJ * root,
    Q2: 10 * Cz * BL * Lg * r0 / Q0,
}


# --- proof -----------------------------------------------------------------------------------------

# Norms at any theta of Assumption 3: one W_l, X, W_{L+1}, z^k, z^(k,l), the value of the first l layers at 0, the part
# of G that is sigma(0), G, the derivatives of f_l and of z^k, and the root of N.
w, X, o, zk, zkl, f0, G0, G, rN, rnN, rmn = symbols(
    "norm_W_l norm_X_l norm_W_out norm_z_k norm_z_kl norm_f_0 norm_sigma_0 norm_G sqrt_N sqrt_nN sqrt_mn", real=True
)
fW, fU, fb, k, zW, zW_n, zW_l, zU, zb, zX, zX_n, zO, zO_n, H = symbols(
    "d_f_W d_f_U d_f_b k d_z_W d_z_W_next d_z_W_l d_z_U d_z_b d_z_X d_z_X_next d_z_out d_z_out_next H_k", real=True
)
beta, lam, V, a_L, term, fb_min, oz, c_b = symbols("beta lambda V a_L term_k sigma_min_f_b norm_Wz c_b", real=True)
# B*, C_z and C_D where a line does not follow: any numbers that their definitions allow.
B_, C, C0, CD_, BJ_, CJ_, y_lip = symbols("B_any C_z_any C_z_rest C_D_any B_J_any C_J_any y_lip", real=True)
r, gW, gU, gb, gX, gO = symbols("r_t grad_W grad_U grad_b grad_W_0 grad_out", real=True)
# (23) with one bias and two outputs; the loss before and after a step; Q_0 with sigma_min(W_{L+1}) at time t.
j_1, j_2, r_1, r_2, gt2, Q0t, ell, ell_n, ell_0 = symbols(
    "j_1 j_2 r_1 r_2 gradient_t_square Q_0_t loss loss_next loss_0", real=True
)
# Lemma 19: changes of W_l, U_l, b_l, of D and of the gradient when theta changes by d; sqrt(L); the Jacobian.
dW, dU, db, dD, dgrad, rL, J, dJ, dO, dz, dy = symbols(
    "delta_W delta_U delta_b delta_D delta_grad sqrt_L norm_J delta_J delta_out delta_z delta_y", real=True
)
# How far theta(t) is from theta(0): eta times the geometric sum, s = sqrt(1 - eta Q_0), and the changes.
s_, S, etaS, mW, mU, mb, mX, mO, mTheta = symbols(
    "s_eta S_t eta_S moved_W moved_U moved_b moved_X moved_out moved_theta", real=True
)
cW, cU, cb, cX, cO, cTheta = symbols("c_W c_U c_b_r c_X c_out c_theta", real=True)
# B*: one layer and one step from a point of norm at most B*; (1 + 2 alpha)^L and exp(2 alpha L).
z_sig, z_l, z_next, pL, eL = symbols("norm_z_sigma norm_z_layer norm_z_next power_L exp_2aL", real=True)
# Lemma 19, changes under theta -> theta': of the argument of sigma, of X, G, z^(k,l), one layer's Jacobian, A(k), the
# Jacobian of a step, of d f_l, and of a block E of d z^k; F bounds d f_l, a and c its bound and that of its change.
dP, dX, dG, dT, dA, dM, dF, dE, dE_n, E, F, a, c_F, dH = symbols(
    "delta_P delta_X delta_G delta_T delta_A delta_M delta_F delta_E delta_E_next norm_E norm_F a_F c_F delta_H",
    real=True,
)
dFW, dFU, dFb, dFx, dEW, dEU, dEb, dEx, dEO = symbols(
    "delta_f_W delta_f_U delta_f_b delta_f_x delta_J_W delta_J_U delta_J_b delta_J_x delta_J_out", real=True
)
CP, SP, CA, CM, R, Y, E_, dWz, terms = symbols("C_P S_P C_A C_M R Y_lip E_any delta_Wz terms", real=True)
cFW, cFU, cFb, cFx, cFO = symbols("c_f_W c_f_U c_f_b c_f_x c_f_out", real=True)

SIGNS = (
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (s, s0, Lsig, Lg, r0, wmax, wmin, nUb, nX, nO, gamma)),
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (w, X, o, zk, zkl, f0, rN, rnN, rmn, r, beta, lam, ell, rL)),
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (zW, zX, zO, dW, dU, db, dO, dX, dy, J, gt2, E, F)),
    *(Fact(f"{x.name} ≥ 1", x >= 1) for x in (L, K, N, m, n, k)),
    Fact("α > 0", alpha > 0),
    Fact("B_Ub ≥ 1", BUb >= 1),
    Fact("B_x > 0", Bx > 0),
    Fact("B_L > 0", BL > 0),
    Fact("ηS ≥ 0", etaS >= 0),
)


def _cited(number: str, claim: Relational, text: str = "") -> Fact:
    return Fact(number, claim, text, cited=True)


ROOTS = (
    _cited("√N", Eq(rN**2, N)),
    _cited("√L", Eq(rL**2, L)),
)
ASSUMPTION_3 = (
    _cited("Assumption 3 W", w <= 1),
    _cited("Assumption 3 X", X <= Bx),
    _cited("Assumption 3 W_(L+1)", o <= BL),
    _cited("Theorem 4 z^k", zk <= B, "the iterates are bounded"),
    _cited("layers at 0", f0 <= B),
    _cited("layers", zkl <= (alpha * w**2 * s + 1 - alpha) * zk + f0, "f_l ∘ … ∘ f_1, for one layer"),
    _cited("B* definition", Eq((1 - s) * B, s0 * rnN + s * BUb * (Bx + rN))),
    _cited("Wᵀσ", z_sig <= w * (G0 + s * BUb * (X + rN)) + w**2 * s * zk, "with |σ(a)| ≤ |σ(0)| + L̃_σ|a|"),
    _cited("f_l", z_l <= alpha * z_sig + (1 - alpha) * zk, "one layer"),
    _cited("(10)", z_next <= beta * zk + (1 - beta) * z_l, "‖V_γ‖ ≤ 1"),
    _cited("β ≤ 1/2", beta <= Rational(1, 2)),
    _cited("λ ≤ L_z/2", lam <= o**2 / 2),
    _cited("V", Eq(V, 1 - gamma * (lam + o**2)), "the smallest eigenvalue that V_γ can have"),
    _cited("G", G <= G0 + w * zkl + BUb * X + rN * BUb, "‖σ(WZ + UX + b1ᵀ)‖_F for a 1-Lipschitz σ"),
    _cited("σ(0)", Eq(G0, s0 * rnN), "n × N equal entries"),
    _cited("√(nN)", Eq(rnN**2, n * N)),
    _cited("∂f/∂W", fW <= alpha * (G + w * s * zkl)),
    _cited("∂f/∂U", fU <= alpha * w * s * X),
    _cited("∂f/∂b", fb <= alpha * w * s * rN),
    _cited("∂z^k/∂x", zX <= (k - 1) * alpha * L * BUb, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂x", zX_n <= zX + L * alpha * BUb, "K steps with factors at most 1, L layers each"),
    _cited("Wz", Eq(oz, o * zk)),
    _cited("H^k", H <= 2 * beta * gamma * oz, "the derivative of γ W_(L+1)ᵀW_(L+1) z^k"),
    _cited("∂z^k/∂W_(L+1)", zO <= 2 * (k - 1) * gamma * B * BL, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂W_(L+1)", zO_n <= zO + H),
)
LEMMAS_13_14 = (
    Step("B* ≥ 0", B >= 0, since=("Assumption 4",)),
    Step("α ≤ 1", alpha <= 1, since=("Lemma 16",)),
    Step(
        "B* drive",
        G0 + s * BUb * (X + rN) <= (1 - s) * B,
        since=("B* definition", "σ(0)", "Assumption 3 X"),
    ),
    Step("B* slope", w**2 * s * zk <= s * B, since=("Assumption 3 W", "Theorem 4 z^k", "B* ≥ 0")),
    Step("B* (1 − s)", w * (1 - s) * B <= (1 - s) * B, since=("Assumption 3 W", "σ 1-Lipschitz", "B* ≥ 0")),
    Step("B* w", w * (G0 + s * BUb * (X + rN)) <= w * (1 - s) * B, since=("B* drive",)),
    Step("B* (1 − α)", (1 - alpha) * zk <= (1 - alpha) * B, since=("Theorem 4 z^k", "α ≤ 1")),
    Step("B* Wᵀσ", z_sig <= B, since=("Wᵀσ", "B* slope", "B* w", "B* (1 − s)")),
    Step(
        "B* layer",
        z_l <= B,
        since=("f_l", "B* Wᵀσ", "B* (1 − α)"),
        text="a layer maps the ball of radius B* into itself, so 3B* is more than is needed",
    ),
    Step("B* (1 − β)", (1 - beta) * z_l <= (1 - beta) * B, since=("B* layer", "β ≤ 1/2")),
    Step(
        "B* step",
        z_next <= B,
        since=("(10)", "B* (1 − β)", "Theorem 4 z^k"),
        text="the induction from z^k to z^(k+1), from z^1 = 0; neither p + 2c < 1 nor α ≤ ln 2/(2L) is used",
    ),
    Step("Lemma 13", alpha * w**2 * s + 1 - alpha <= 1, since=("Assumption 3 W", "σ 1-Lipschitz")),
    Step(
        "Lemma 12 bound",
        zkl <= 3 * B,
        since=("layers", "Lemma 13", "Theorem 4 z^k", "layers at 0", "α ≤ 1", "B* ≥ 0"),
        text="the layers are nonexpansive, so 2B* holds too, and exp(2αL) ≤ 2 is not needed",
    ),
    Step("Lemma 14 γB_L²", 2 * gamma * BL**2 <= 1, since=("γ",)),
    Step("Lemma 14 V ≤ 1", V <= 1, since=("V",)),
    Step("Lemma 14 γo²", gamma * o**2 <= gamma * BL**2, since=("Assumption 3 W_(L+1)",)),
    Step("Lemma 14 γλ", gamma * lam <= gamma * o**2 / 2, since=("λ ≤ L_z/2",)),
    Step("Lemma 14 V ≥ 1/4", V >= Rational(1, 4), since=("V", "Lemma 14 γo²", "Lemma 14 γλ", "Lemma 14 γB_L²")),
    Step("Lemma 14 factor", beta * V + (1 - beta) * 1 <= 1, since=("Lemma 14 V ≤ 1",)),
    Step("Lemma 14 ws", w * s <= 1, since=("Assumption 3 W", "σ 1-Lipschitz")),
    Step("Lemma 14 w|z|", w * zkl <= 3 * B, since=("Assumption 3 W", "Lemma 12 bound")),
    Step("Lemma 14 ws|z|", w * s * zkl <= 3 * B, since=("Lemma 14 ws", "Lemma 12 bound")),
    Step("Lemma 14 UX", BUb * X <= BUb * Bx, since=("Assumption 3 X",)),
)
LEMMAS_17_18 = (
    Step("(24)", zX_n <= k * alpha * L * BUb, since=("∂z^k/∂x", "∂z^(k+1)/∂x")),
    Step("(25)", gX <= alpha * K * L * BUb * BL * Lg * r, since=("∇_W_0",)),
    Step("(26) |Wz|", oz <= BL * B, since=("Wz", "Assumption 3 W_(L+1)", "Theorem 4 z^k", "B* ≥ 0")),
    Step("(26) |Wz| ≥ 0", oz >= 0, since=("Wz",)),
    Step("(26) β", 2 * beta * gamma * oz <= gamma * oz, since=("(26) |Wz| ≥ 0", "β ≤ 1/2")),
    Step("(26) γ", gamma * oz <= gamma * BL * B, since=("(26) |Wz|",)),
    Step("(26) H", H <= gamma * BL * B, since=("H^k", "(26) β", "(26) γ")),
    Step("(26) γB_LB* ≥ 0", gamma * BL * B >= 0, since=("B* ≥ 0",)),
    Step(
        "(26)",
        zO_n <= 2 * k * gamma * B * BL,
        since=("∂z^k/∂W_(L+1)", "∂z^(k+1)/∂W_(L+1)", "(26) H", "(26) γB_LB* ≥ 0"),
    ),
    Step("(27) γB_L²", 2 * K * gamma * BL**2 + 1 <= 3 * K, since=("Lemma 14 γB_L²",)),
)
DIRECT = gO <= (2 * K * gamma * BL**2 + 1) * B * r
BOUND_27 = Step("(27)", gO <= 3 * K * B * r, since=("(27) first bound", "(27) γB_L²", "B* ≥ 0"))
GRADIENTS = (
    _cited("∇_W_0", gX <= alpha * K * L * BUb * Lg * BL * r, "(24) at K, L_g and ‖W_(L+1)‖"),
    _cited("∇_W_(L+1)", gO <= 2 * K * gamma * B * BL * BL * r + B * r, "(26) at K, and the direct part Z r"),
)
# The last part: descent, and how far the parameters can move.
INDUCTION = (
    _cited("Q_1 > 0", Q1 > 0, "else the gradient would be constant"),
    _cited("descent", ell_n <= ell - eta * gt2 + Q1 * eta**2 / 2 * gt2, "the gradient is Q_1-Lipschitz"),
    _cited("loss", Eq(ell, r**2 / 2)),
    _cited("c_θ", Eq(cTheta, ((3 * Cz + BUb * Lg) * BL + 3 * K * B) * r0)),
    _cited("Q_0 at t", Eq(Q0t * sO**2, Q0 * ot**2), "Q_0 with σ_min(W_(L+1)) at time t"),
    _cited("s", Eq(s_**2, 1 - eta * Q0)),
    _cited("s ≥ 0", s_ >= 0),
    _cited("s < 1", s_ < 1),
    _cited("Σ s^i", (1 - s_) * S <= 1, "1 − s^t"),
    _cited("ηS", Eq(etaS, eta * S)),
    _cited("c_W", Eq(cW, alpha * K * Cz * BL * r0), "the bound (22) at the start"),
    _cited("c_U", Eq(cU, alpha * K * Bx * BL * r0)),
    _cited("c_b", Eq(cb, alpha * K * sqrt(N) * BL * r0)),
    _cited("c_X", Eq(cX, alpha * K * L * BUb * BL * Lg**2 * r0), "(25) times L_g"),
    _cited("c_O", Eq(cO, 3 * K * B * r0), "(27)"),
    _cited("moves W", mW <= etaS * cW, "(22) at each step, where r falls like s^i"),
    _cited("moves U", mU <= etaS * cU),
    _cited("moves b", mb <= etaS * cb),
    _cited("moves X", mX <= etaS * cX),
    _cited("moves W_(L+1)", mO <= etaS * cO),
    _cited("Assumption 5 U", nUb <= 2 * BUb / 3),
    _cited("Assumption 5 X", nX <= Bx / 2),
    _cited("Assumption 5 B_L", nO <= 2 * BL / 3),
    _cited("σ_min ≤ norm", sO <= nO),
    _cited("Weyl W", Wt <= wmax + mW),
    _cited("Weyl σ_min", st >= wmin - mW),
    _cited("Weyl U", Ut <= nUb + Max(mU, mb)),
    _cited("triangle X", Xt <= nX + mX),
    _cited("Weyl W_(L+1)", Ot <= nO + mO),
    _cited("Weyl σ_min(W_(L+1))", ot >= sO - mO),
)
INDUCTION_STEPS = (
    Step("σ_m", Eq(sm, wmin - Rational(1, 4))),
    Step("Q_0 > 0", Q0 > 0, since=("σ strongly monotone", "Assumption 5 σ_min", "Assumption 5 W_(L+1)")),
    Step("ηQ_0 < 1", eta * Q0 < 1, since=("η", "Q_0 > 0", "Q_1 > 0", "η > 0")),
    Step("ηQ_1 < 1", eta * Q1 < 1, since=("η", "Q_0 > 0", "Q_1 > 0", "η > 0")),
    Step("Σ s^i Q_0", Q0 * etaS <= 2, since=("s", "s ≥ 0", "s < 1", "Σ s^i", "ηS")),
    Step("(31) c_W", 8 * cW <= Q0, since=("c_W", "(31) W")),
    Step("(31) W moves", mW <= Rational(1, 4), since=("moves W", "Σ s^i Q_0", "(31) c_W")),
    Step("(31) c_U", 6 * cU <= Q0, since=("c_U", "(31) U")),
    Step("(31) U moves", mU <= Rational(1, 3), since=("moves U", "Σ s^i Q_0", "(31) c_U")),
    Step("(31) c_b", 6 * cb <= Q0, since=("c_b", "(31) b")),
    Step("(31) b moves", mb <= Rational(1, 3), since=("moves b", "Σ s^i Q_0", "(31) c_b")),
    Step("(31) c_X", 4 * cX <= Q0 * Bx, since=("c_X", "(31) X")),
    Step("(31) X moves", mX <= Bx / 2, since=("moves X", "Σ s^i Q_0", "(31) c_X")),
    Step("(31) c_O", 4 * cO <= Q0 * sO, since=("c_O", "(31) W_(L+1)")),
    Step("(31) W_(L+1) moves", mO <= sO / 2, since=("moves W_(L+1)", "Σ s^i Q_0", "(31) c_O", "Assumption 5 W_(L+1)")),
    Step("(32) ‖W_l‖", Wt <= 1, since=("Weyl W", "(31) W moves", "Assumption 5 ‖W_l‖")),
    Step("(32) σ_min(W_l)", st >= sm, since=("Weyl σ_min", "(31) W moves", "σ_m")),
    Step("(32) ‖U_l‖, ‖b_l‖", Ut <= BUb, since=("Weyl U", "(31) U moves", "(31) b moves", "Assumption 5 U")),
    Step("(32) ‖X‖", Xt <= Bx, since=("triangle X", "(31) X moves", "Assumption 5 X")),
    Step(
        "(32) ‖W_(L+1)‖",
        Ot <= BL,
        since=("Weyl W_(L+1)", "(31) W_(L+1) moves", "Assumption 5 B_L", "σ_min ≤ norm"),
    ),
    Step("(32) σ_min(W_(L+1)) later", ot >= sO / 2, since=("Weyl σ_min(W_(L+1))", "(31) W_(L+1) moves")),
    Step("descent half", ell_n <= ell - eta / 2 * gt2, since=("descent", "ηQ_1 < 1", "η > 0")),
    Step(
        "Q_0 at t ≥",
        4 * Q0t >= Q0,
        since=("Q_0 at t", "(32) σ_min(W_(L+1)) later", "Q_0 > 0", "Assumption 5 W_(L+1)"),
    ),
    Step("(23) at t", gt2 >= 2 * Q0 * ell, since=("(23) on the path", "Q_0 at t ≥", "loss")),
    Step("(32) loss", ell_n <= (1 - eta * Q0) * ell, since=("descent half", "(23) at t", "η > 0")),
)


def _later(quantity: Quantity, symbol: Symbol, text: str, latex: str) -> Quantity:
    return replace(quantity, name=symbol.name, text=text, latex=latex)


# The last part: what all parameters move, per unit of the residual.
SUMMANDS = (
    Step(
        "θ (a)",
        L * (alpha * K * Cz * BL + alpha * K * Bx * BL + alpha * K * rN * BL) <= 3 * Cz * BL,
        since=("Lemma 16", "B_x ≤ C_z", "√N ≤ C_z"),
    ),
    Step("θ W_0", alpha * K * L * BUb * BL * Lg <= BUb * Lg * BL, since=("Lemma 16",)),
)

# The chain as printed. What it lacks is refuted; later lines rest on it all the same.
PRINTED_FACTS = (
    *SIGNS,
    *ROOTS,
    *ASSUMPTION_3,
    *GRADIENTS,
    *INDUCTION,
    _cited("√(mn)", Eq(rmn**2, m * n)),
    _cited("C_z definition", Eq(Cz, s0 * rmn + 6 * B + 3 * BUb * Bx)),
    _cited("∂z^k/∂W", zW <= (k - 1) * alpha * Cz, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂W", zW_n <= zW + (1 - beta) * fW, "the factors of (16) are at most 1"),
    _cited("(19)", zW_l <= fW + zW, "z^(k,l) is a function of z^k"),
    _cited("∇_W", gW <= (K - 1) * alpha * Cz * BL * r, "(21) at K"),
    _cited("a_L", a_L >= 1 - alpha * L, "(1 − α)^L"),
    _cited("a_L ≤ 1", a_L <= 1),
    _cited("(16) term", Eq(term, (1 - beta) * a_L * fb), "as the chain rule has it"),
    _cited("ακσ_m", Eq(c_b, alpha * kappa * sm)),
    _cited("∂f/∂b below", fb_min**2 >= N * c_b**2, "Σ_j D_j W Wᵀ D_j over the samples"),
    _cited("fb ≥ 0", fb >= 0),
    _cited("fb_min ≥ 0", fb_min >= 0),
    _cited("gradient", Eq(gt2, (j_1 * r_1 + j_2 * r_2) ** 2), "Jᵀr with one bias and two outputs"),
    _cited("‖J‖²", Eq(j_1**2 + j_2**2, 4 * Q0t)),
    _cited("‖r‖²", Eq(r_1**2 + r_2**2, r**2)),
    _cited("C_D definition", Eq(CD, Max(3 * B, Bx))),
    _cited("C_D any", Eq(CD_, Max(3 * B_, Bx))),
    _cited("C_z any", Eq(C, 6 * B_ + 3 * BUb * Bx + C0), "C_z, with √(mn)σ(0) as the rest"),
    _cited("C_z rest", C0 >= 0),
    _cited("B* any", B_ >= 0),
    _cited("B_J any", BJ_ > 0),
    _cited("y any", y_lip > 0),
    _cited("D", dD <= Lsig * (3 * B * dW + Bx * dU + rN * db), "σ′ is L_σ-Lipschitz; the part of one layer"),
    _cited("(16) at K", Eq(terms, K - 1), "the terms of the sum for z^K"),
    _cited("1 + 2α ≤ exp(2α)", pL <= eL, "(1 + 2α)^L ≤ exp(2αL)"),
    _cited("exp(2αL) ≤ 2", eL <= 2, "the condition of Lemma 12"),
    _cited("layers 1 + 2α", zkl <= pL * zk + f0, "each f_l is (1 + 2α)-Lipschitz"),
    _cited("E any", E_ >= 3 * B_ * dW + dz, "C_D‖Δθ_l‖ + B_Ub L_g‖ΔW_0‖ + ‖Δz‖"),
    _cited("Δz", dz >= 0),
    _cited("L_σ", Lsig > 0),
)
PRINTED_STEPS = (
    *LEMMAS_13_14,
    Step("Lemma 12 power", pL <= 2, since=("1 + 2α ≤ exp(2α)", "exp(2αL) ≤ 2")),
    Step(
        "Lemma 12 as printed",
        zkl <= 3 * B,
        since=("layers 1 + 2α", "Lemma 12 power", "Theorem 4 z^k", "layers at 0", "B* ≥ 0"),
        text="as printed; Lemma 13 gives it without the condition on α",
    ),
    Step(
        "Lemma 14 σ(0)",
        G0 <= s0 * rmn,
        since=("σ(0)", "√(nN)", "√(mn)"),
        fix=G0 <= s0 * rnN,
        text="G has N columns, not m",
    ),
    Step("Lemma 14 √N", rN <= Bx, since=("√N",), text="printed as ‖X‖_F = Θ(√N) without loss of generality"),
    Step(
        "Lemma 14 G",
        G <= s0 * rnN + 3 * B + 2 * BUb * Bx,
        since=("G", "Lemma 14 σ(0)", "Lemma 14 w|z|", "Lemma 14 UX", "Lemma 14 √N"),
    ),
    Step("(20) W", fW <= alpha * (s0 * rnN + 6 * B + 2 * BUb * Bx), since=("∂f/∂W", "Lemma 14 G", "Lemma 14 ws|z|")),
    Step("(20) wsX", w * s * X <= Bx, since=("Lemma 14 ws", "Assumption 3 X")),
    Step("(20) U", fU <= alpha * Bx, since=("∂f/∂U", "(20) wsX")),
    Step("(20) b", fb <= alpha * rN, since=("∂f/∂b", "Lemma 14 ws")),
    Step(
        "C_z",
        s0 * rnN + 6 * B + 2 * BUb * Bx <= Cz,
        since=("C_z definition", "√(nN)", "√(mn)"),
        text="C_z has √(mn) where √(nN) is needed",
    ),
    Step("(20) C_z", fW <= alpha * Cz, since=("(20) W", "C_z")),
    Step("C_z ≥ 0", Cz >= 0, since=("C_z definition", "B* ≥ 0")),
    Step("B_x ≤ C_z", Bx <= Cz, since=("C_z definition", "B* ≥ 0")),
    Step("√N ≤ C_z", rN <= Cz, since=("Lemma 14 √N", "B_x ≤ C_z")),
    Step("(21)", zW_n <= k * alpha * Cz, since=("∂z^k/∂W", "∂z^(k+1)/∂W", "(20) C_z", "β ≤ 1/2", "C_z ≥ 0")),
    Step(
        "(21) z^(k,l)",
        zW_l <= (1 + k - 2) * alpha * Cz,
        since=("(19)", "∂z^k/∂W", "(20) C_z"),
        fix=zW_l <= (1 + k - 1) * alpha * Cz,
        text="z^(k,l) depends on z^k, not on z^(k−1)",
    ),
    Step("(22)", gW <= alpha * K * Cz * BL * r, since=("∇_W", "C_z ≥ 0")),
    *LEMMAS_17_18,
    Step(
        "(27) first bound",
        gO <= 3 * K * gamma * B * BL**2 * r,
        since=("∇_W_(L+1)",),
        fix=DIRECT,
        text="the part of the gradient that does not pass through z carries no γB_L²",
    ),
    BOUND_27,
    Step("(16)", term >= a_L * fb, since=("(16) term", "a_L", "fb ≥ 0", "β ≤ 1/2"), text="the factor 1 − β is lost"),
    Step(
        "Lemma 16 factor",
        beta * V + (1 - beta) * a_L >= 1 - alpha * L,
        since=("Lemma 14 V ≥ 1/4", "Lemma 14 V ≤ 1", "a_L", "a_L ≤ 1", "β ≤ 1/2", "Lemma 16"),
        text="V may be as small as 1/4",
    ),
    Step(
        "Lemma 16 sum over k, K = 2",
        1 + (1 - alpha * L) >= 2,
        since=("Lemma 16",),
        text="no term of the sum exceeds 1, so it is at most k, not at least k",
    ),
    Step(
        "Lemma 16 terms",
        terms >= K,
        since=("(16) at K",),
        text="(22) counts K − 1 terms, (23) counts K; for K = 1 nothing depends on the b_l",
    ),
    Step("Lemma 16 b squared", fb_min**2 >= (c_b * rN) ** 2, since=("∂f/∂b below", "√N")),
    Step("Lemma 16 b", fb_min >= c_b * rN, since=("Lemma 16 b squared", "fb_min ≥ 0"), text="c_b = ακσ_m"),
    Step(
        "Lemma 16 sum over l, L = 2",
        1 + (1 - alpha) ** 2 >= 2,
        since=("Lemma 16",),
        text="again the sum is at most L",
    ),
    Step(
        "(23) on the path",
        gt2 >= 4 * Q0t * r**2,
        since=("gradient", "‖J‖²", "‖r‖²"),
        text="a lower bound for ‖J b‖ is used for ‖Jᵀr‖, but r may be orthogonal to the range of J",
    ),
    Step(
        "Lemma 19 C_z² + B_x² + N",
        Cz**2 + Bx**2 + N <= 3 * Cz**2,
        since=("B_x ≤ C_z", "√N ≤ C_z", "√N"),
    ),
    Step(
        "Lemma 19 z",
        3 * C**2 + L * BUb**2 * Lg**2 <= 4 * C**2 * Lg**2,
        since=("C_z any", "C_z rest", "B* any"),
        text="divided by L K² α²; needs L_g ≥ 1 and √L B_Ub ≤ C_z",
    ),
    Step("Lemma 19 3B* ≤ C_D", 3 * B <= CD, since=("C_D definition",)),
    Step("Lemma 19 B_x ≤ C_D", Bx <= CD, since=("C_D definition",)),
    Step(
        "Lemma 19 layer",
        3 * B * dW + Bx * dU + rN * db <= CD * (dW + dU + db),
        since=("Lemma 19 3B* ≤ C_D", "Lemma 19 B_x ≤ C_D", "Lemma 14 √N"),
    ),
    Step("Lemma 19 D", dD <= Lsig * CD * (dW + dU + db), since=("D", "Lemma 19 layer")),
    Step(
        "Lemma 19 C_D",
        2 * dW + Lsig * 3 * B_ * dW <= Lsig * CD_ * dW,
        since=("C_D any", "B* any"),
        text="the proof changes C_D to max{3B* + 2/L_σ, B_x}; (30) does not",
    ),
    Step(
        "Lemma 19 A",
        alpha * Lsig * L * (BUb * Lg + 2 * alpha * rL * K * C * Lg) <= 3 * alpha**2 * L * rL * K * Lsig * C * Lg,
        since=("√L", "C_z any", "C_z rest", "B* any", "Lemma 16"),
        text="needs B_Ub ≤ αK√L C_z, which fails for small α",
    ),
    Step(
        "Lemma 19 αKL",
        3 * alpha**2 * L * rL * K * Lsig * C * Lg <= 3 * alpha * rL * Lsig * C * Lg,
        since=("Lemma 16", "C_z any", "C_z rest", "B* any"),
    ),
    Step(
        "Lemma 19 √3C_D ≤ C_z",
        3 * CD_**2 <= C**2,
        since=("C_D any", "C_z any", "C_z rest", "B* any"),
        text="what the last line of the bound on A needs, for L_g ≥ 1",
    ),
    Step(
        "Lemma 19 A total",
        3 * alpha * rL * Lsig * C * Lg + 2 * alpha * rL * Lsig * CD_ <= 5 * alpha * rL * Lsig * C * Lg,
        since=("C_D any", "C_z any", "C_z rest", "B* any"),
        text="with 2 for √3; needs L_g ≥ 1, which is not assumed",
    ),
    Step(
        "Lemma 19 G",
        E_ <= Lsig * E_,
        since=("E any", "B* any", "Δz"),
        text="G is 1-Lipschitz in its argument; the factor L_σ needs L_σ ≥ 1",
    ),
    Step(
        "Lemma 19 ∂f/∂W",
        Lsig * (B_ + 1) * E_ + B_ * dW + dz <= 2 * Lsig * B_ * E_,
        since=("E any", "B* any", "Δz", "L_σ"),
        text="needs L_σ(B* − 1) ≥ 1 or so",
    ),
    Step("Lemma 19 γB_L", gamma * BL <= 1, since=("γ",)),
    Step("Lemma 19 V", 2 * beta * gamma * BL * dO <= dO, since=("Lemma 19 γB_L", "β ≤ 1/2")),
    Step(
        "Lemma 19 ∂z/∂W",
        4 * alpha**2 * K * rL * B_ + 4 * alpha * K * rL <= 8 * alpha**2 * K * rL * B_,
        since=("B* any", "√L"),
        text="times L_σC_zL_g, as far as the text can be read; needs αB* ≥ 1",
    ),
    Step("Lemma 19 K³√L", K**3 * rL <= B_, since=("B* any", "√L"), text="printed as without loss of generality"),
    Step(
        "Lemma 19 J",
        L * (9 * alpha**2 * K * rL) <= 9 * alpha * rL,
        since=("Lemma 16",),
        text="times B*L_σC_zL_g",
    ),
    Step(
        "B_J",
        3 * L * (alpha * K * C) ** 2 + (alpha * K * L * BUb) ** 2 + (2 * K * gamma * B_ * BL) ** 2
        <= 4 * L * (alpha * K * C) ** 2,
        since=("C_z any", "C_z rest", "B* any", "γ", "Lemma 16"),
        text="the part of W_(L+1) has no factor α, and √L B_Ub ≤ C_z is not assumed",
    ),
    Step(
        "Q_1 √ℓ",
        (CJ_ * BL * r0) ** 2 <= CJ_**2 * (r0**2 / 2),
        text="C_J ‖W_(L+1)‖ ‖r‖ is printed as C_J √ℓ: B_L and √2 are lost",
    ),
    Step(
        "Q_1 y",
        BJ_ * BL * (BL * y_lip + B_) <= y_lip * BJ_ * BL,
        since=("B* any", "B_J any", "y any"),
        text="y = W_(L+1) z moves by B_L times the move of z, here y_lip = 2α√L K C_z L_g, and by B* through W_(L+1)",
    ),
    *INDUCTION_STEPS,
    *SUMMANDS,
    Step(
        "Q_2",
        2 * (3 * C * BL + BUb * Lg * BL + 3 * K * B_) <= 10 * C * BL * Lg,
        since=("C_z any", "C_z rest", "B* any"),
        text="times ‖y(0) − y_0‖/Q_0; needs L_g ≥ 1 and K B* small against C_z B_L L_g",
    ),
)

HALF = Rational(1, 2)
GROWTH = Growth(
    {m: (1, 0), N: (0, 1), nX: (0, HALF), Lg: (0, HALF), Bx: (0, HALF), r0: (0, HALF), g2: (0, 1), gb2: (0, 1)},
    width={"samples": "4", "dim": "10"},
    samples={"width": "64", "dim": "10"},
    widths=(4096, 8192, 16384),
    counts=(64, 128, 256, 512),
    text="W_l Gaussian of norm 3/4 with 16 rows, so that σ_min(W_l) tends to 3/4 as m grows; more samples than "
    "dimensions, so that ‖X_0‖ grows as √N",
)

OPTEQ_GD = Theorem(
    key="opteq-gd",
    title="gradient descent trains unrolled deep OptEq to zero loss at a linear rate",
    source=Source("Optimization Induced Equilibrium Networks", "Xie et al.", 2021, "Theorem 5"),
    family="opteq",
    setting="gradient descent with step η on ½‖y − y_0‖², K unrolled steps of (10), R_z(z) = ½|W_(L+1) z|²",
    measured=MEASURED,
    chosen={
        BUb: least(Max(1, Rational(3, 2) * nUb)),
        Bx: least(2 * nX),
        BL: least(Rational(3, 2) * nO),
        eta: largest("η"),
    },
    monitored={
        Wt: _later(q.largest_norm, Wt, "max ‖W_l(t)‖", r"\max_l \|W_l^t\|_2"),
        st: _later(q.sigma_min_layers, st, "min σ_min(W_l(t))", r"\min_l \sigma_{\min}(W_l^t)"),
        Ut: _later(q.norm_inputs, Ut, "max{‖U_l(t)‖, ‖b_l(t)‖}", r"\max_l\{\|U_l^t\|_2, \|b_l^t\|_2\}"),
        Xt: _later(q.norm_features, Xt, "‖X(t)‖_F", r"\|X^t\|_F"),
        Ot: _later(q.norm_output, Ot, "‖W_(L+1)(t)‖", r"\|W_{L+1}^t\|_2"),
        ot: _later(q.sigma_min_output, ot, "σ_min(W_(L+1)(t))", r"\sigma_{\min}(W_{L+1}^t)"),
    },
    definitions=DEFINITIONS,
    hypotheses=(
        Hypothesis("σ strongly monotone", kappa > 0),
        Hypothesis("σ 1-Lipschitz", s <= 1),
        Hypothesis("Assumption 4", s < 1, "fixed points exist and are bounded for every θ of Assumption 3"),
        Hypothesis("Assumption 5 ‖W_l‖", wmax <= Rational(3, 4)),
        Hypothesis("Assumption 5 σ_min", sm > 0, "σ_min(W_l) ≥ 1/4 + σ_m for some σ_m > 0"),
        Hypothesis("Assumption 5 W_(L+1)", sO > 0),
        Hypothesis("γ", gamma * (2 * BL**2 + 1) <= 1, "the step of the regulariser"),
        Hypothesis("p + 2c < 1", p + 2 * c < 1, "exponents of Theorem 4"),
        Hypothesis("Lemma 12", 2 * alpha * L <= log(2), "α is small against L"),
        Hypothesis("Lemma 16", alpha * K * L <= 1, "α K L is at most 1"),
        Hypothesis("(31) W", 8 * alpha * K * Cz * BL * r0 <= Q0, "N is large: the W_l move by at most 1/4"),
        Hypothesis("(31) U", 6 * alpha * K * Bx * BL * r0 <= Q0, "N is large: the U_l move by at most 1/3"),
        Hypothesis("(31) b", 6 * alpha * K * sqrt(N) * BL * r0 <= Q0, "N is large: the b_l move by at most 1/3"),
        Hypothesis(
            "(31) X",
            4 * alpha * K * L * BUb * BL * Lg**2 * r0 <= Q0 * Bx,
            "N is large: X moves by at most B_x/2",
        ),
        Hypothesis(
            "(31) W_(L+1)",
            12 * K * B * r0 <= Q0 * sO,
            "N is large: W_(L+1) moves by at most σ_min(W_(L+1))/2",
        ),
        Hypothesis("η > 0", eta > 0),
        Hypothesis("η", eta < Min(1 / Q0, 1 / Q1)),
    ),
    conclusions=(
        Conclusion("(23)", g2 >= 4 * Q0 * r0**2, "the gradient is this large at θ(0)"),
        Conclusion("(32) W", Wt <= 1),
        Conclusion("(32) σ_min", st >= sm),
        Conclusion("(32) U, b", Ut <= BUb),
        Conclusion("(32) X", Xt <= Bx),
        Conclusion("(32) W_(L+1)", Ot <= BL),
        Conclusion("(32) σ_min(W_(L+1))", ot >= sO / 2),
        Conclusion("θ", None, "‖θ(t) − θ*‖ ≤ Q₂ (1 − ηQ₀)^(t/2) for a global minimiser θ*"),
    ),
    rate=Rate("ℓ", gap=eta * Q0, per="step"),
    reading=(
        "η < min{1/Q₀, 1/Q₁}; the proof uses η < 1/Q₁, and 1 − ηQ₀ > 0 needs the other.",
        "“N in the order of” is made explicit by the inequalities that the proof draws from it, (31) and the four "
        "after it, with 2/Q₀ times the gradient bounds (22), (25) and (27).",
        "Lemma 12 (read as α ≤ ln 2/(2L), from exp(2αL) ≤ 2) and Lemma 16 (αKL ≤ 1) are hypotheses of the proof "
        "that the statement does not print.",
        "Assumption 5: ‖U_l‖, ‖b_l‖ ≤ 2B_Ub/3 and ‖W_(L+1)‖ ≤ 2B_L/3, so that moves of B_Ub/3 and of "
        "σ_min(W_(L+1))/2 fit; ‖X‖_F ≤ B_x/2. The constants are as small as allowed; 1/3 ≤ B_Ub/3 needs B_Ub ≥ 1.",
        "σ_min(W_l) is the square root of λ_min(W_l W_lᵀ), as Lemma 16 uses it: W_l has no more rows than columns.",
        "Assumption 4 over the whole set of Assumption 3 (‖W_l‖ ≤ 1) holds exactly when the slope stays below 1, "
        "for the activations at hand: with slope 1, W_l an isometry and a bias of norm B_Ub there is no fixed point. "
        "Then B₁* = (|σ(0)|√(nN) + L̃_σ B_Ub(B_x + √N))/(1 − L̃_σ), and B* = B₁* bounds every z^k from z¹ = 0.",
        "For a linear activation L_σ = 0 and so C_J = 0, but ∂z^K/∂W_l is not constant: (29) is false as printed.",
        "B_J = 2α√L K C_z and C_J = 9α√L B*L_σC_zL_g + 2√(3L) αKB*L_σC_D, as in Lemma 19; Q₁ is printed without "
        "the factors B_L and √2 that its derivation has.",
        "Q₂ is printed without ‖y(0) − y_0‖, which the last line of the proof has; the factor is kept here.",
        "(23) is the inequality on which the rate rests. It is checked at θ(0), with the gradient in all parameters, "
        "as the proof of the rate uses it.",
    ),
    flaw="nothing is assumed of the data, and the theorem is false: with inputs (1,1), (−1,−1), (1,−1), (−1,1), labels "
    "1, 1, −1, −1, square W_l with all singular values 3/4, U = b = 0 and a large W_(L+1) every hypothesis holds, the "
    "gradient is 0 and the loss stays at N/2. The proof bounds ‖J b‖ from below where it needs ‖Jᵀ r‖.",
    facts=PRINTED_FACTS,
    proof=PRINTED_STEPS,
    counterexample="inputs (1,1), (−1,−1), (1,−1), (−1,1) with labels 1, 1, −1, −1 in a file xor.csv (lines 1,1,1; "
    "−1,−1,1; 1,−1,−1; −1,1,−1) and deqcheck verify --theorem opteq-gd --data xor.csv --init orthogonal --width 8 "
    "--with units=8 --with inputs=0 --with output=1e6: W_l has all singular values 3/4, U = b = 0 and |W_(L+1)| is "
    "about 10⁶; every hypothesis is certified, the prediction is 0, the gradient vanishes and the loss stays at N/2, "
    "so (23) and the rate fail. With the same settings the two samples 1,1,1 and 1,1,−1 do it too: one input with two "
    "labels, where no parameters have a loss below 1.",
    settings=("iterations", "p", "c", "output", "eta"),
    defaults={"activation": "smooth", "alpha": "0.01", "units": "16"},
    growth=GROWTH,
    quick={"width": "32", "units": "4", "samples": "8", "dim": "10", "iterations": "6"},
)

# --- Theorem 5, repaired -----------------------------------------------------------------------------

REPAIRED_DEFINITIONS = {
    **{x: value for x, value in DEFINITIONS.items() if x not in (CD, CJ, root, Q1, Q2)},
    Cz: s0 * sqrt(n * N) + 6 * B + BUb * (Bx + sqrt(N)),
    BJ: sqrt(3 * L * (alpha * K * Cz) ** 2 + (alpha * K * L * BUb * Lg) ** 2 + (2 * K * gamma * B * BL) ** 2),
    CP: 3 * B + Bx + sqrt(N) + BUb * Lg + BJ,
    SP: 1 + Lsig * CP,
    CA: alpha * L * (1 + SP),
    CM: gamma * BL + CA,
    R: K * CM + CA,
    cFW: CP + BJ + 3 * B * SP,
    cFU: Bx * SP + Lg,
    cFb: sqrt(N) * SP,
    cFx: BUb * SP + 1,
    cFO: gamma * (B + BL * BJ),
    CJ: K * (R * (alpha * L * (Cz + Bx + sqrt(N) + BUb * Lg) + gamma * B * BL))
    + K * (alpha * L * (cFW + cFU + cFb + Lg * cFx) + cFO),
    Q1: CJ * BL * r0 + 2 * BJ * r0 + (BJ * BL + B) ** 2,
    Q2: 2 * (3 * Cz * BL + BUb * Lg * BL + 3 * K * B) * r0 / Q0,
}
# (29) with constants that follow. All changes are divided by ‖θ − θ′‖, those of a layer's derivatives also by α.
LIPSCHITZ = (
    _cited("W_l of θ", dW <= 1),
    _cited("U_l of θ", dU <= 1),
    _cited("b_l of θ", db <= 1),
    _cited("X of θ", dX <= Lg, "X = g(X_0, W_0)"),
    _cited("Δz", dz >= 0),
    _cited("C_P definition", Eq(CP, 3 * B + Bx + rN + BUb * Lg + BJ)),
    _cited("S_P definition", Eq(SP, 1 + Lsig * CP)),
    _cited("C_A definition", Eq(CA, alpha * L * (1 + SP))),
    _cited("C_M definition", Eq(CM, gamma * BL + CA)),
    _cited("R definition", Eq(R, K * CM + CA)),
    _cited("f_W definition", Eq(cFW, CP + BJ + 3 * B * SP)),
    _cited("f_U definition", Eq(cFU, Bx * SP + Lg)),
    _cited("f_b definition", Eq(cFb, rN * SP)),
    _cited("f_x definition", Eq(cFx, BUb * SP + 1)),
    _cited("f_out definition", Eq(cFO, gamma * (B + BL * BJ))),
    _cited(
        "C_J definition",
        Eq(
            CJ,
            K * (R * (alpha * L * (Cz + Bx + rN + BUb * Lg) + gamma * B * BL))
            + K * (alpha * L * (cFW + cFU + cFb + Lg * cFx) + cFO),
        ),
    ),
    _cited("ΔP", dP <= zkl * dW + w * dz + X * dU + BUb * dX + rN * db, "of WZ + UX + b1ᵀ"),
    _cited("ΔD", dD <= Lsig * dP, "σ′ is L_σ-Lipschitz"),
    _cited("ΔG", dG <= s * dP),
    _cited("ΔP ≥ 0", dP >= 0),
    _cited("ΔD ≥ 0", dD >= 0),
    _cited("ΔT", dT <= 2 * w * s * dW + w**2 * dD, "of (I ⊗ Wᵀ)D(I ⊗ W)"),
    _cited("ΔA", dA <= L * alpha * dT, "telescoping, as every factor is at most 1"),
    _cited("ΔA ≥ 0", dA >= 0),
    _cited("ΔM", dM <= 2 * beta * gamma * BL * dO + (1 - beta) * dA, "of β(I ⊗ V_γ) + (1 − β)A"),
    _cited("Δ∂f/∂W", dFW <= dG + s * zkl * dW + w * zkl * dD + w * s * dz),
    _cited("Δ∂f/∂U", dFU <= s * X * dW + w * X * dD + w * s * dX),
    _cited("Δ∂f/∂b", dFb <= s * rN * dW + w * rN * dD),
    _cited("Δ∂f/∂x", dFx <= s * BUb * dW + w * BUb * dD + w * s * dU),
    _cited("ΔWz", dWz <= B * dO + BL * dz),
    _cited("ΔWz ≥ 0", dWz >= 0),
    _cited("Δ∂s/∂W_(L+1)", dH <= 2 * beta * gamma * dWz, "of γ(β Wz ⊗ I + …), twice the change of W_(L+1)z"),
    # One block E of the Jacobian: E_{k+1} = M E_k + A F, where F is bounded by a and its change by c.
    _cited("F", F <= a),
    _cited("a ≥ 0", a >= 0),
    _cited("E", E <= K * a, "as (21), (24), (26)"),
    _cited("ΔF", dF <= c_F),
    _cited("ΔE_k", dE <= (k - 1) * (R * a + c_F), "the assumption of the induction"),
    _cited("ΔE_(k+1)", dE_n <= dE + dM * E + dA * F + dF),
    _cited("block W", dEW <= K * (R * (alpha * Cz) + alpha * cFW), "(29) block at K, with (20) and (29) ∂f/∂W"),
    _cited("block U", dEU <= K * (R * (alpha * Bx) + alpha * cFU)),
    _cited("block b", dEb <= K * (R * (alpha * rN) + alpha * cFb)),
    _cited("block x", dEx <= K * (R * (alpha * L * BUb) + alpha * L * cFx), "L layers feed x"),
    _cited("block W_(L+1)", dEO <= K * (R * (gamma * B * BL) + cFO)),
    _cited("ΔJ", dJ <= L * (dEW + dEU + dEb) + Lg * dEx + dEO, "the blocks side by side"),
)
LIPSCHITZ_STEPS = (
    Step("(29) z dW", zkl * dW <= 3 * B, since=("Lemma 12 bound", "W_l of θ", "B* ≥ 0")),
    Step("(29) w dz", w * dz <= BJ, since=("Assumption 3 W", "mean value", "Δz")),
    Step("(29) X dU", X * dU <= Bx, since=("Assumption 3 X", "U_l of θ")),
    Step("(29) U dX", BUb * dX <= BUb * Lg, since=("X of θ",)),
    Step("(29) √N db", rN * db <= rN, since=("b_l of θ",)),
    Step(
        "(29) P",
        dP <= CP,
        since=("ΔP", "(29) z dW", "(29) w dz", "(29) X dU", "(29) U dX", "(29) √N db", "C_P definition"),
    ),
    Step("(29) C_P ≥ 0", CP >= 0, since=("C_P definition", "B* ≥ 0", "B_J ≥ 0")),
    Step("(29) L_σ P", Lsig * dP <= Lsig * CP, since=("(29) P",)),
    Step("(29) D", 1 + dD <= SP, since=("ΔD", "(29) L_σ P", "S_P definition")),
    Step("(29) G", dG <= CP, since=("ΔG", "(29) P", "σ 1-Lipschitz", "ΔP ≥ 0")),
    Step("(29) w² dD", w**2 * dD <= dD, since=("Assumption 3 W", "ΔD ≥ 0")),
    Step("(29) w dD", w * dD <= dD, since=("Assumption 3 W", "ΔD ≥ 0")),
    Step("(29) ws dW", w * s * dW <= 1, since=("Lemma 14 ws", "W_l of θ")),
    Step("(29) T", dT <= 1 + SP, since=("ΔT", "(29) w² dD", "(29) ws dW", "(29) D")),
    Step("(29) A", dA <= CA, since=("ΔA", "(29) T", "C_A definition")),
    Step("(29) β", 2 * beta * gamma * BL * dO <= gamma * BL, since=("β ≤ 1/2", "W_(L+1) of θ")),
    Step("(29) (1 − β)A", (1 - beta) * dA <= dA, since=("ΔA ≥ 0",)),
    Step("(29) M", dM <= CM, since=("ΔM", "(29) β", "(29) (1 − β)A", "(29) A", "C_M definition")),
    Step("(29) C_A ≥ 0", CA >= 0, since=("(29) A", "ΔA ≥ 0")),
    Step("(29) C_M ≥ 0", CM >= 0, since=("C_M definition", "(29) C_A ≥ 0")),
    Step("(29) s dW", s * dW <= 1, since=("σ 1-Lipschitz", "W_l of θ")),
    Step("(29) sz dW", s * zkl * dW <= zkl, since=("(29) s dW",)),
    Step("(29) z w dD", zkl * (w * dD) <= zkl * dD, since=("(29) w dD",)),
    Step("(29) z dD", zkl * dD <= 3 * B * dD, since=("Lemma 12 bound", "ΔD ≥ 0")),
    Step("(29) 3B* dD", 3 * B + 3 * B * dD <= 3 * B * SP, since=("(29) D", "B* ≥ 0")),
    Step("(29) ws dz", w * s * dz <= BJ, since=("Lemma 14 ws", "mean value", "Δz")),
    Step(
        "(29) ∂f/∂W",
        dFW <= cFW,
        since=(
            "Δ∂f/∂W", "(29) G", "(29) sz dW", "Lemma 12 bound", "(29) z w dD", "(29) z dD", "(29) 3B* dD", "(29) ws dz",
            "f_W definition",
        ),
    ),
    Step("(29) sX dW", s * X * dW <= X, since=("(29) s dW",)),
    Step("(29) X w dD", X * (w * dD) <= X * dD, since=("(29) w dD",)),
    Step("(29) X dD", X * dD <= Bx * dD, since=("Assumption 3 X", "ΔD ≥ 0")),
    Step("(29) B_x dD", Bx + Bx * dD <= Bx * SP, since=("(29) D",)),
    Step("(29) ws dX", w * s * dX <= Lg, since=("Lemma 14 ws", "X of θ")),
    Step(
        "(29) ∂f/∂U",
        dFU <= cFU,
        since=(
            "Δ∂f/∂U", "(29) sX dW", "Assumption 3 X", "(29) X w dD", "(29) X dD", "(29) B_x dD", "(29) ws dX",
            "f_U definition",
        ),
    ),
    Step("(29) s√N dW", s * rN * dW <= rN, since=("(29) s dW",)),
    Step("(29) √N w dD", rN * (w * dD) <= rN * dD, since=("(29) w dD",)),
    Step("(29) √N dD", rN + rN * dD <= rN * SP, since=("(29) D",)),
    Step(
        "(29) ∂f/∂b",
        dFb <= cFb,
        since=("Δ∂f/∂b", "(29) s√N dW", "(29) √N w dD", "(29) √N dD", "f_b definition"),
    ),
    Step("(29) sB_Ub dW", s * BUb * dW <= BUb, since=("(29) s dW",)),
    Step("(29) B_Ub w dD", BUb * (w * dD) <= BUb * dD, since=("(29) w dD",)),
    Step("(29) B_Ub dD", BUb + BUb * dD <= BUb * SP, since=("(29) D",)),
    Step("(29) ws dU", w * s * dU <= 1, since=("Lemma 14 ws", "U_l of θ")),
    Step(
        "(29) ∂f/∂x",
        dFx <= cFx,
        since=("Δ∂f/∂x", "(29) sB_Ub dW", "(29) B_Ub w dD", "(29) B_Ub dD", "(29) ws dU", "f_x definition"),
    ),
    Step("(29) B* dO", B * dO <= B, since=("W_(L+1) of θ", "B* ≥ 0")),
    Step("(29) B_L dz", BL * dz <= BL * BJ, since=("mean value",)),
    Step("(29) Wz", dWz <= B + BL * BJ, since=("ΔWz", "(29) B* dO", "(29) B_L dz")),
    Step("(29) 2β", 2 * beta * gamma * dWz <= gamma * dWz, since=("β ≤ 1/2", "ΔWz ≥ 0")),
    Step("(29) ∂s/∂W_(L+1)", dH <= cFO, since=("Δ∂s/∂W_(L+1)", "(29) 2β", "(29) Wz", "f_out definition")),
    Step("(29) M E first", dM * E <= CM * E, since=("(29) M",)),
    Step("(29) M E", CM * E <= CM * K * a, since=("E", "(29) C_M ≥ 0")),
    Step("(29) A F first", dA * F <= CA * F, since=("(29) A",)),
    Step("(29) A F", CA * F <= CA * a, since=("F", "(29) C_A ≥ 0")),
    Step(
        "(29) one step",
        dM * E + dA * F <= R * a,
        since=("(29) M E first", "(29) M E", "(29) A F first", "(29) A F", "R definition"),
    ),
    Step(
        "(29) block",
        dE_n <= k * (R * a + c_F),
        since=("ΔE_(k+1)", "ΔE_k", "(29) one step", "ΔF"),
        text="the induction from k to k + 1, for every block of the Jacobian",
    ),
    Step("(29) L W", L * dEW <= K * (R * (alpha * L * Cz) + alpha * L * cFW), since=("block W",)),
    Step("(29) L U", L * dEU <= K * (R * (alpha * L * Bx) + alpha * L * cFU), since=("block U",)),
    Step("(29) L b", L * dEb <= K * (R * (alpha * L * rN) + alpha * L * cFb), since=("block b",)),
    Step("(29) L_g x", Lg * dEx <= K * (R * (alpha * L * BUb * Lg) + alpha * L * Lg * cFx), since=("block x",)),
    Step(
        "(29)",
        dJ <= CJ,
        since=("ΔJ", "(29) L W", "(29) L U", "(29) L b", "(29) L_g x", "block W_(L+1)", "C_J definition"),
    ),
)  # fmt: skip
REPAIRED_FACTS = (
    *SIGNS,
    *ROOTS,
    *ASSUMPTION_3,
    *GRADIENTS,
    *INDUCTION,
    _cited("(23) on the path", gt2 >= 4 * Q0t * r**2, "assumed"),
    _cited("C_z definition", Eq(Cz, s0 * rnN + 6 * B + BUb * (Bx + rN))),
    _cited("∂z^k/∂W", zW <= (k - 1) * alpha * Cz, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂W", zW_n <= zW + (1 - beta) * fW, "the factors of (16) are at most 1"),
    _cited("(19)", zW_l <= fW + zW, "z^(k,l) is a function of z^k"),
    _cited("∇_W", gW <= (K - 1) * alpha * Cz * BL * r, "(21) at K"),
    _cited(
        "‖J‖",
        J**2
        <= L * (alpha * K) ** 2 * (Cz**2 + Bx**2 + N) + (alpha * K * L * BUb * Lg) ** 2 + (2 * K * gamma * B * BL) ** 2,
        "the blocks of J, with (21), (24) and (26) at K",
    ),
    _cited(
        "B_J definition",
        Eq(BJ**2, 3 * L * (alpha * K * Cz) ** 2 + (alpha * K * L * BUb * Lg) ** 2 + (2 * K * gamma * B * BL) ** 2),
    ),
    _cited("B_J ≥ 0", BJ >= 0, "a square root"),
    *LIPSCHITZ,
    _cited("W_(L+1) of θ", dO <= 1),
    _cited("mean value", dz <= BJ, "z^K changes by at most ‖J‖ times the change of θ"),
    _cited("y", dy <= BL * dz + B * dO, "y = W_(L+1) z^K"),
    _cited(
        "∇ℓ(θᵃ) − ∇ℓ(θᵇ)",
        dgrad <= dJ * BL * r0 + J * dO * r0 + J * BL * dy + dy * B + r0 * dz,
        "of Jᵀ(I ⊗ Wᵀ)r and of the direct part r zᵀ; r at one end only, where ‖r‖ ≤ ‖y(0) − y_0‖",
    ),
    _cited("Y", Eq(Y, BJ * BL + B), "the Lipschitz constant of y"),
    _cited("Q_1 definition", Eq(Q1, CJ * BL * r0 + 2 * BJ * r0 + Y**2)),
    _cited("Q_2 definition", Eq(Q2 * Q0, 2 * cTheta)),
    _cited(
        "θ moves",
        mTheta <= etaS * cTheta,
        "from time i on, divided by s^i: all parameters, with θ (a), θ W_0 and (27)",
    ),
    _cited("loss at 0", Eq(ell_0, r0**2 / 2)),
)
REPAIRED_STEPS = (
    *LEMMAS_13_14,
    Step(
        "Lemma 14 G",
        G <= s0 * rnN + 3 * B + BUb * (Bx + rN),
        since=("G", "σ(0)", "Lemma 14 w|z|", "Lemma 14 UX"),
    ),
    Step(
        "(20) W",
        fW <= alpha * Cz,
        since=("∂f/∂W", "Lemma 14 G", "Lemma 14 ws|z|", "C_z definition"),
    ),
    Step("(20) wsX", w * s * X <= Bx, since=("Lemma 14 ws", "Assumption 3 X")),
    Step("(20) U", fU <= alpha * Bx, since=("∂f/∂U", "(20) wsX")),
    Step("(20) b", fb <= alpha * rN, since=("∂f/∂b", "Lemma 14 ws")),
    Step("C_z ≥ 0", Cz >= 0, since=("C_z definition", "B* ≥ 0")),
    Step("B_x ≤ C_z", Bx <= Cz, since=("C_z definition", "B* ≥ 0")),
    Step("√N ≤ C_z", rN <= Cz, since=("C_z definition", "B* ≥ 0")),
    Step("(21)", zW_n <= k * alpha * Cz, since=("∂z^k/∂W", "∂z^(k+1)/∂W", "(20) W", "β ≤ 1/2", "C_z ≥ 0")),
    Step("(21) z^(k,l)", zW_l <= k * alpha * Cz, since=("(19)", "∂z^k/∂W", "(20) W")),
    Step("(22)", gW <= alpha * K * Cz * BL * r, since=("∇_W", "C_z ≥ 0")),
    *LEMMAS_17_18,
    Step("(27) first bound", DIRECT, since=("∇_W_(L+1)",)),
    BOUND_27,
    Step("B_J blocks", Cz**2 + Bx**2 + N <= 3 * Cz**2, since=("B_x ≤ C_z", "√N ≤ C_z", "√N")),
    Step(
        "B_J W",
        L * (alpha * K) ** 2 * (Cz**2 + Bx**2 + N) <= 3 * L * (alpha * K * Cz) ** 2,
        since=("B_J blocks",),
    ),
    Step("B_J squared", J**2 <= BJ**2, since=("‖J‖", "B_J W", "B_J definition")),
    Step("B_J", J <= BJ, since=("B_J squared", "B_J ≥ 0")),
    *LIPSCHITZ_STEPS,
    Step("Q_1 Y ≥ 0", Y >= 0, since=("Y", "B_J ≥ 0", "B* ≥ 0")),
    Step("Q_1 y", dy <= Y, since=("y", "mean value", "W_(L+1) of θ", "B* ≥ 0", "Y")),
    Step("Q_1 J", dJ * BL * r0 <= CJ * BL * r0, since=("(29)",)),
    Step("Q_1 W", J * dO * r0 <= BJ * r0, since=("B_J", "W_(L+1) of θ", "B_J ≥ 0")),
    Step("Q_1 z", r0 * dz <= BJ * r0, since=("mean value",)),
    Step("Q_1 Jy", J * BL * dy <= BJ * BL * dy, since=("B_J",)),
    Step("Q_1 Yy", Y * dy <= Y**2, since=("Q_1 y", "Q_1 Y ≥ 0")),
    Step("Q_1 both y", BJ * BL * dy + dy * B <= Y**2, since=("Q_1 Yy", "Y")),
    Step(
        "Q_1",
        dgrad <= Q1,
        since=("∇ℓ(θᵃ) − ∇ℓ(θᵇ)", "Q_1 J", "Q_1 W", "Q_1 z", "Q_1 Jy", "Q_1 both y", "Q_1 definition"),
    ),
    *INDUCTION_STEPS,
    *SUMMANDS,
    Step("Q_2 c_θ ≥ 0", cTheta >= 0, since=("c_θ", "C_z ≥ 0", "B* ≥ 0")),
    Step("Q_2 sum", Q0 * etaS * cTheta <= 2 * cTheta, since=("Σ s^i Q_0", "Q_2 c_θ ≥ 0")),
    Step("Q_2 times Q_0", Q0 * mTheta <= Q0 * etaS * cTheta, since=("θ moves", "Q_0 > 0")),
    Step("Q_2", mTheta <= Q2, since=("Q_2 times Q_0", "Q_2 sum", "Q_2 definition", "Q_0 > 0")),
    Step("(23) at t = 0", g2 >= 2 * Q0 * ell_0, since=("(23)", "loss at 0", "Q_0 > 0")),
)

OPTEQ_GD_REPAIRED = replace(
    OPTEQ_GD,
    key="opteq-gd:repaired",
    title="gradient descent trains unrolled deep OptEq to zero loss at a linear rate, where (23) holds on its path",
    source=Source("Optimization Induced Equilibrium Networks", "Xie et al.", 2021, "Theorem 5 (repaired)"),
    definitions=REPAIRED_DEFINITIONS,
    hypotheses=(
        *OPTEQ_GD.hypotheses,
        Hypothesis("(23)", g2 >= 4 * Q0 * r0**2, "the gradient is this large at θ(0)"),
        Hypothesis("(23) on the path", None, "the same at every later θ, with σ_min(W_(L+1)) there; Lemma 16 fails"),
    ),
    conclusions=tuple(c for c in OPTEQ_GD.conclusions if c.id != "(23)"),
    facts=REPAIRED_FACTS,
    proof=REPAIRED_STEPS,
    reading=(
        "As opteq-gd, with (23) as a hypothesis on the whole path, since the proof of Lemma 16 fails.",
        "C_z has √(nN) and B_Ub(B_x + √N), so that ‖X‖_F = Θ(√N) is not needed; B_J counts W_0 and W_(L+1); Q₁ and Q₂ "
        "have the factors that their derivations have.",
        "C_J is what the argument of Lemma 19 gives when no L_g ≥ 1, L_σ ≥ 1, B* ≥ K³√L or αB* ≥ 1 is assumed: C_P, "
        "C_A and C_M bound the changes of the arguments of σ, of A(k) and of a step, per unit of ‖θ − θ′‖. "
        "The extractor X_0 W_0ᵀ is linear in W_0; another one adds the Lipschitz constant of its derivative.",
        "All that can be checked holds for the sample x = 1, y = 1 with data one.csv (the line 1,1), init orthogonal, "
        "width and units 2, layers 1, alpha 0.001, inputs 0, output 1e8, iterations 8 and p 0.9, c 0.04.",
        "The descent needs the gradient to be Q₁-Lipschitz from θ(t) along the step, where the loss is not yet known "
        "to be small: the residual is taken at θ(t) only.",
        *OPTEQ_GD.reading[:6],
    ),
    flaw="",
    counterexample="",
)
