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
from deqcheck.statement import Conclusion, Fact, Hypothesis, Quantity, Rate, Source, Step, Theorem, largest, least

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
beta, lam, V, a_L, term, fb_min = symbols("beta lambda V a_L term_k sigma_min_f_b", real=True)
r, gW, gU, gb, gX, gO = symbols("r_t grad_W grad_U grad_b grad_W_0 grad_out", real=True)
# (23) with one bias and two outputs; the loss before and after a step; Q_0 with sigma_min(W_{L+1}) at time t.
j_1, j_2, r_1, r_2, gt2, Q0t, ell, ell_n = symbols("j_1 j_2 r_1 r_2 gradient_t_square Q_0_t loss loss_next", real=True)
# Lemma 19: changes of W_l, U_l, b_l, of D and of the gradient when theta changes by d; sqrt(L); the Jacobian.
dW, dU, db, dD, dgrad, dtheta, rL, J, dJ, dy = symbols(
    "delta_W delta_U delta_b delta_D delta_grad delta_theta sqrt_L norm_J delta_J delta_y", real=True
)
# How far theta(t) is from theta(0): eta times the geometric sum, s = sqrt(1 - eta Q_0), and the changes.
s_, S, etaS, mW, mU, mb, mX, mO, mTheta = symbols(
    "s_eta S_t eta_S moved_W moved_U moved_b moved_X moved_out moved_theta", real=True
)

SIGNS = (
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (s, s0, Lsig, Lg, r0, wmax, wmin, nUb, nX, nO, gamma)),
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (w, X, o, zk, zkl, f0, rN, rnN, rmn, r, beta, lam, ell, rL)),
    *(Fact(f"{x.name} ≥ 0", x >= 0) for x in (zW, zX, zO, dW, dU, db, dtheta, gt2)),
    *(Fact(f"{x.name} ≥ 1", x >= 1) for x in (L, K, N, m, n, k)),
    Fact("α > 0", alpha > 0),
    Fact("B_Ub ≥ 1", BUb >= 1),
    Fact("B_x ≥ 0", Bx >= 0),
    Fact("B_L > 0", BL > 0),
    Fact("B* ≥ 0", B >= 0),
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
    _cited("H^k", H <= beta * gamma * 2 * o * zk, "the derivative of γ W_(L+1)ᵀW_(L+1) z^k"),
    _cited("∂z^k/∂W_(L+1)", zO <= 2 * (k - 1) * gamma * B * BL, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂W_(L+1)", zO_n <= zO + H),
)
LEMMAS_13_14 = (
    Step("Lemma 13", alpha * w**2 * s + 1 - alpha <= 1, since=("Assumption 3 W", "σ 1-Lipschitz")),
    Step(
        "Lemma 12",
        zkl <= 3 * B,
        since=("layers", "Lemma 13", "Theorem 4 z^k", "layers at 0", "α ≤ 1"),
        text="the layers are nonexpansive, so 2B* holds too, and exp(2αL) ≤ 2 is not needed",
    ),
    Step("Lemma 14 γB_L²", 2 * gamma * BL**2 <= 1, since=("γ",)),
    Step("Lemma 14 V ≤ 1", V <= 1, since=("V",)),
    Step("Lemma 14 γo²", gamma * o**2 <= gamma * BL**2, since=("Assumption 3 W_(L+1)",)),
    Step("Lemma 14 γλ", gamma * lam <= gamma * o**2 / 2, since=("λ ≤ L_z/2",)),
    Step("Lemma 14 V ≥ 1/4", V >= Rational(1, 4), since=("V", "Lemma 14 γo²", "Lemma 14 γλ", "Lemma 14 γB_L²")),
    Step("Lemma 14 factor", beta * V + (1 - beta) * 1 <= 1, since=("Lemma 14 V ≤ 1",)),
    Step("Lemma 14 ws", w * s <= 1, since=("Assumption 3 W", "σ 1-Lipschitz")),
    Step("Lemma 14 w|z|", w * zkl <= 3 * B, since=("Assumption 3 W", "Lemma 12")),
    Step("Lemma 14 ws|z|", w * s * zkl <= 3 * B, since=("Lemma 14 ws", "Lemma 12")),
    Step("Lemma 14 UX", BUb * X <= BUb * Bx, since=("Assumption 3 X",)),
)
LEMMAS_17_18 = (
    Step("(24)", zX_n <= k * alpha * L * BUb, since=("∂z^k/∂x", "∂z^(k+1)/∂x")),
    Step("(25)", gX <= alpha * K * L * BUb * BL * Lg * r, since=("∇_W_0",)),
    Step("(26) |z|", o * zk <= BL * B, since=("Assumption 3 W_(L+1)", "Theorem 4 z^k")),
    Step("(26) β", beta * gamma * 2 * o * zk <= gamma * B * BL, since=("(26) |z|", "β ≤ 1/2")),
    Step("(26)", zO_n <= 2 * k * gamma * B * BL, since=("∂z^k/∂W_(L+1)", "∂z^(k+1)/∂W_(L+1)", "H^k", "(26) β")),
    Step(
        "(27) first bound",
        gO <= 3 * K * gamma * B * BL**2 * r,
        since=("∇_W_(L+1)",),
        fix=gO <= (2 * K * gamma * BL**2 + 1) * B * r,
        text="the part of the gradient that does not pass through z carries no γB_L²",
    ),
    Step("(27) γB_L²", 2 * K * gamma * BL**2 + 1 <= 3 * K, since=("Lemma 14 γB_L²",)),
    Step("(27)", gO <= 3 * K * B * r, since=("(27) first bound", "(27) γB_L²")),
)
GRADIENTS = (
    _cited("∇_W_0", gX <= alpha * K * L * BUb * Lg * BL * r, "(24) at K, L_g and ‖W_(L+1)‖"),
    _cited("∇_W_(L+1)", gO <= 2 * K * gamma * B * BL * BL * r + B * r, "(26) at K, and the direct part Z r"),
)
# The last part: descent, and how far the parameters can move.
INDUCTION = (
    _cited("Q_1 > 0", Q1 > 0, "else the gradient would be constant"),
    _cited("descent", ell_n <= ell - eta * gt2 + Q1 * eta**2 / 2 * gt2, "the gradient is Q_1-Lipschitz"),
    _cited("loss", Eq(ell, r**2 / 2)),
    _cited("Q_0 at t", Eq(Q0t * sO**2, Q0 * ot**2), "Q_0 with σ_min(W_(L+1)) at time t"),
    _cited("s", Eq(s_**2, 1 - eta * Q0)),
    _cited("s ≥ 0", s_ >= 0),
    _cited("s < 1", s_ < 1),
    _cited("Σ s^i", (1 - s_) * S <= 1, "1 − s^t"),
    _cited("ηS", Eq(etaS, eta * S)),
    _cited("moves W", mW <= etaS * (alpha * K * Cz * BL * r0), "(22) at each step, r falls like s^i"),
    _cited("moves U", mU <= etaS * (alpha * K * Bx * BL * r0)),
    _cited("moves b", mb <= etaS * (alpha * K * rN * BL * r0)),
    _cited("moves X", mX <= Lg * etaS * (alpha * K * L * BUb * BL * Lg * r0), "(25)"),
    _cited("moves W_(L+1)", mO <= etaS * (3 * K * B * r0), "(27)"),
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
    _cited("N in (31) b", Eq(6 * alpha * K * sqrt(N) * BL * r0, 6 * alpha * K * rN * BL * r0), "√N"),
    _cited(
        "moves θ",
        mTheta
        <= etaS * (L * (alpha * K * Cz * BL + alpha * K * Bx * BL + alpha * K * rN * BL) * r0)
        + etaS * (alpha * K * L * BUb * BL * Lg * r0 + 3 * K * B * r0),
        "all parameters",
    ),
)
INDUCTION_STEPS = (
    Step("σ_m", Eq(sm, wmin - Rational(1, 4))),
    Step("Q_0 > 0", Q0 > 0, since=("σ strongly monotone", "Assumption 5 σ_min", "Assumption 5 W_(L+1)")),
    Step("ηQ_0 < 1", eta * Q0 < 1, since=("η", "Q_0 > 0", "Q_1 > 0", "η > 0")),
    Step("ηQ_1 < 1", eta * Q1 < 1, since=("η", "Q_0 > 0", "Q_1 > 0", "η > 0")),
    Step("Σ s^i Q_0", Q0 * etaS <= 2, since=("s", "s ≥ 0", "s < 1", "Σ s^i", "ηS")),
    Step("ηS ≤", etaS <= 2 / Q0, since=("Σ s^i Q_0", "Q_0 > 0")),
    Step("(31) W moves", mW <= Rational(1, 4), since=("moves W", "ηS ≤", "(31) W", "Q_0 > 0")),
    Step("(31) U moves", mU <= Rational(1, 3), since=("moves U", "ηS ≤", "(31) U", "Q_0 > 0")),
    Step("(31) b √N", 6 * alpha * K * rN * BL * r0 <= Q0, since=("(31) b", "N in (31) b")),
    Step("(31) b moves", mb <= Rational(1, 3), since=("moves b", "ηS ≤", "(31) b √N", "Q_0 > 0")),
    Step("(31) X moves", mX <= Bx / 2, since=("moves X", "ηS ≤", "(31) X", "Q_0 > 0")),
    Step("(31) W_(L+1) moves", mO <= sO / 2, since=("moves W_(L+1)", "ηS ≤", "(31) W_(L+1)", "Q_0 > 0")),
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


# The chain as printed. What it lacks is refuted; later lines rest on it all the same.
PRINTED_FACTS = (
    *SIGNS,
    *ROOTS,
    *ASSUMPTION_3,
    *GRADIENTS,
    *INDUCTION,
    _cited("α ≤ 1", alpha <= 1, "αKL ≤ 1"),
    _cited("√(mn)", Eq(rmn**2, m * n)),
    _cited("C_z definition", Eq(Cz, s0 * rmn + 6 * B + 3 * BUb * Bx)),
    _cited("∂z^k/∂W", zW <= (k - 1) * alpha * Cz, "the assumption of the induction"),
    _cited("∂z^(k+1)/∂W", zW_n <= zW + (1 - beta) * fW, "the factors of (16) are at most 1"),
    _cited("(19)", zW_l <= fW + zW, "z^(k,l) is a function of z^k"),
    _cited("∇_W", gW <= (K - 1) * alpha * Cz * BL * r, "(21) at K"),
    _cited("a_L", a_L >= 1 - alpha * L, "(1 − α)^L"),
    _cited("a_L ≤ 1", a_L <= 1),
    _cited("(16) term", Eq(term, (1 - beta) * a_L * fb), "as the chain rule has it"),
    _cited("∂f/∂b below", fb_min**2 >= N * (alpha * kappa * sm) ** 2, "Σ_j D_j W Wᵀ D_j over the samples"),
    _cited("fb ≥ 0", fb >= 0),
    _cited("fb_min ≥ 0", fb_min >= 0),
    _cited("gradient", Eq(gt2, (j_1 * r_1 + j_2 * r_2) ** 2), "Jᵀr with one bias and two outputs"),
    _cited("‖J‖²", Eq(j_1**2 + j_2**2, 4 * Q0t)),
    _cited("‖r‖²", Eq(r_1**2 + r_2**2, r**2)),
    _cited("C_D definition", Eq(CD, Max(3 * B, Bx))),
    _cited("D", dD <= Lsig * (3 * B * dW + Bx * dU + rN * db), "σ′ is L_σ-Lipschitz; the part of one layer"),
    _cited("‖J‖", J**2 <= 3 * L * (alpha * K * Cz) ** 2 + (alpha * K * L * BUb) ** 2 + (2 * K * gamma * B * BL) ** 2),
    _cited(
        "∇ℓ(θᵃ) − ∇ℓ(θᵇ)",
        Eq(dgrad, (CJ * BL * r0 + BJ * r0 + BJ * BL * (2 * alpha * rL * K * Cz * Lg * BL + B)) * dtheta),
        "the three differences of Jᵀ(I ⊗ Wᵀ)r when each bound is attained",
    ),
    _cited("Q_1 definition", Eq(Q1, CJ * root + 2 * alpha * rL * K * Cz * Lg * BJ * BL + BJ * root)),
    _cited("√ℓ", Eq(2 * root**2, r0**2)),
    _cited("√ℓ ≥ 0", root >= 0),
    _cited("C_J ≥ 0", CJ >= 0),
    _cited("B_J ≥ 0", BJ >= 0),
    _cited("Q_2 definition", Eq(Q2 * Q0, 10 * Cz * BL * Lg * r0)),
)
PRINTED_STEPS = (
    *LEMMAS_13_14,
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
    Step("(20) U", fU <= alpha * Bx, since=("∂f/∂U", "Lemma 14 ws", "Assumption 3 X")),
    Step("(20) b", fb <= alpha * rN, since=("∂f/∂b", "Lemma 14 ws")),
    Step(
        "C_z",
        s0 * rnN + 6 * B + 2 * BUb * Bx <= Cz,
        since=("C_z definition", "√(nN)", "√(mn)"),
        text="C_z has √(mn) where √(nN) is needed",
    ),
    Step("(20) C_z", fW <= alpha * Cz, since=("(20) W", "C_z")),
    Step("C_z ≥ 0", Cz >= 0, since=("C_z definition",)),
    Step("B_x ≤ C_z", Bx <= Cz, since=("C_z definition",)),
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
        "(16)",
        term >= a_L * fb,
        since=("(16) term", "a_L", "fb ≥ 0", "β ≤ 1/2", "Lemma 16"),
        text="the factor 1 − β is lost",
    ),
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
    Step("Lemma 16 b", fb_min >= alpha * kappa * sm * rN, since=("∂f/∂b below", "√N", "fb_min ≥ 0")),
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
        3 * Cz**2 + L * BUb**2 * Lg**2 <= 4 * Cz**2 * Lg**2,
        since=("C_z ≥ 0",),
        text="divided by L K² α²; needs L_g ≥ 1 and √L B_Ub ≤ C_z",
    ),
    Step("Lemma 19 D", dD <= Lsig * CD * (dW + dU + db), since=("D", "C_D definition", "Lemma 14 √N")),
    Step(
        "Lemma 19 C_D",
        2 * dW + Lsig * 3 * B * dW <= Lsig * CD * dW,
        since=("C_D definition",),
        text="the proof changes C_D to max{3B* + 2/L_σ, B_x}; (30) does not",
    ),
    Step(
        "Lemma 19 A",
        alpha * Lsig * L * (BUb * Lg + 2 * alpha * rL * K * Cz * Lg) <= 3 * alpha**2 * L * rL * K * Lsig * Cz * Lg,
        since=("√L", "C_z ≥ 0", "Lemma 16"),
        text="needs B_Ub ≤ αK√L C_z, which fails for small α",
    ),
    Step(
        "Lemma 19 αKL",
        3 * alpha**2 * L * rL * K * Lsig * Cz * Lg <= 3 * alpha * rL * Lsig * Cz * Lg,
        since=("Lemma 16", "C_z ≥ 0"),
    ),
    Step(
        "B_J",
        J**2 <= 4 * L * (alpha * K * Cz) ** 2,
        since=("‖J‖", "Lemma 16"),
        text="the part of W_(L+1) has no factor α",
    ),
    Step(
        "Q_1",
        dgrad <= Q1 * dtheta,
        since=("∇ℓ(θᵃ) − ∇ℓ(θᵇ)", "Q_1 definition", "√ℓ", "√ℓ ≥ 0", "C_J ≥ 0", "B_J ≥ 0", "C_z ≥ 0"),
        text="factors B_L and √2 and the part of B* are lost",
    ),
    *INDUCTION_STEPS,
    Step(
        "θ (a)",
        L * (alpha * K * Cz * BL + alpha * K * Bx * BL + alpha * K * rN * BL) <= 3 * Cz * BL,
        since=("Lemma 16", "B_x ≤ C_z", "√N ≤ C_z"),
    ),
    Step(
        "Q_2",
        2 * (3 * Cz * BL + BUb * Lg * BL + 3 * K * B) * r0 <= Q2 * Q0,
        since=("Q_2 definition", "C_z ≥ 0"),
        text="needs L_g ≥ 1 and K B* ≤ C_z B_L L_g",
    ),
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
    counterexample="inputs (1,1), (−1,−1), (1,−1), (−1,1) with labels 1, 1, −1, −1, eight units and width 8, W_l with all "
    "singular values 3/4, U = b = 0 and W_(L+1) of size 10⁶: every hypothesis is certified, the gradient is 0 up to "
    "rounding and the loss stays at N/2, so (23) and the rate fail.",
    settings=("iterations", "p", "c", "output", "eta"),
    defaults={"activation": "smooth", "alpha": "0.01", "units": "16"},
    quick={"width": "32", "units": "4", "samples": "8", "dim": "10", "iterations": "6"},
)
