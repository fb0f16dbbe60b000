"""Xie et al. (2021), OptEq: Theorem 5, gradient descent on the unrolled network, with the constants (30).

Paper: "Optimization Induced Equilibrium Networks" (arXiv:2105.13228), Appendix G.

Setting: x = g(x_0, W_0), z^{k+1} = beta_{k+1} S(z^k) + (1 - beta_{k+1}) T(z^k) for k < K, prediction
W_{L+1} z^K, loss 1/2 |y - y_0|^2; W_0, W_l, U_l, b_l and W_{L+1} are trained with step eta.

Readings of the print (the text at hand is badly damaged; each formula was checked against its proof):
see `reading` below, where the report shows them.
"""

from dataclasses import replace

from sympy import Max, Min, Rational, Symbol, log, sqrt, symbols

from deqcheck.quantities import opteq as q
from deqcheck.statement import Conclusion, Hypothesis, Quantity, Rate, Source, Theorem, largest, least

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


def _later(quantity: Quantity, symbol: Symbol, text: str, latex: str) -> Quantity:
    return replace(quantity, name=symbol.name, text=text, latex=latex)


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
    settings=("iterations", "p", "c", "output", "eta"),
    defaults={"activation": "smooth", "alpha": "0.01", "units": "16"},
    quick={"width": "32", "units": "4", "samples": "8", "dim": "10", "iterations": "6"},
)
