"""Ling, Xie, Wang, Zhang & Lin (2023), over-parameterized DEQs: Lemmas 1 and 3, Theorems 2 to 5.

What the paper says of random initialisations (Assumption 1) and of the population Gram matrix K of
Definition 1. Theorem 1 and the gradients are in ling_deq.py, with the paper's full title.

Readings of the print:
- Assumption 2 (i) reads x_i perpendicular to x_j in the text at hand. Its proofs use only that no two
  inputs are parallel, and the paper's own data (a sphere, MNIST, CIFAR10) are not orthogonal. The keys
  without suffix check orthogonality; `KEY:repaired` checks that no two inputs are parallel.
- Big-O and Omega hide constants that no instance can reveal. Where the proof gives one it is used;
  Omega(m) is read as m, as Appendix D.1 does for Lemma 1; the others are read as 1. Each statement says so.
- "With probability at least p" is compared with a Clopper-Pearson interval over independent draws, up to
  the resolution epsilon that so many draws have.
- Lemma 1 puts its threshold 2 sqrt(2) sigma_w exactly at the limit of ||W||. There the fluctuation of
  Tracy and Widom keeps the probability of failure near 0.17 at every width instead of exp(-Omega(m)).
- (13) is read with rho^(l), as its proof derives it; the print has rho^(l-1), which is 0 at l = 1. The
  denominator of the cosine in Lemma 3 is read as sigma_w^2 K_ii + 1, as in the proof of Theorem 3.
"""

from dataclasses import replace

from sympy import Abs, Eq, Expr, Rational, exp, log, sqrt, symbols
from sympy.core.relational import Relational

from deqcheck.quantities import ling as q
from deqcheck.statement import Conclusion, Fact, Hypothesis, Source, Step, Theorem, fixed, least

PAPER = "Global Convergence of Over-parameterized Deep Equilibrium Models"


def _source(number: str) -> Source:
    return Source(PAPER, "Ling, Xie, Wang, Zhang & Lin", 2023, number)


# --- notation --------------------------------------------------------------------------------------

s2, n, m, depth = symbols("sigma2 n m l", real=True)
norm_defect, cosine, lam_star = symbols("norm_defect cosine lambda_star", real=True)
p_m, p_2m, p1_m, p1_2m = symbols("p_m p_2m p_m_one p_2m_one", real=True)
tau, eps, t = symbols("tau epsilon t", real=True)

VARIANCE = Hypothesis("A1", s2 < Rational(1, 8), "σ_w² < 1/8")
DRAWN = Hypothesis("A1 draws", None, "the numbers of the generator stand for independent Gaussian draws")
UNIT = Hypothesis("A2 norm", norm_defect <= tau, "‖x_i‖ = √d, to the tolerance τ")
ORTHOGONAL = Hypothesis("A2 ⊥", cosine <= tau, "the inputs are orthogonal, to the tolerance τ")
NOT_PARALLEL = Hypothesis("A2 ∦", cosine < 1, "no two inputs are parallel: all that the proofs use")
INPUTS = {norm_defect: q.norm_defect, cosine: q.largest_cosine}
TAU = {tau: fixed(Rational(1, 10**9))}
ORTHOGONAL_READING = (
    "Assumption 2 asks for orthogonal inputs in the text at hand, though the proofs only use that no two "
    "are parallel; the variant :repaired checks that."
)
RESOLUTION = (
    "The probability is measured by drawing. ε is what so many draws cannot resolve and is granted to the "
    "claim: a claim near 1 is certified only if no draw fails, and then only up to ε; more trials shrink it."
)


def _cited(number: str, claim: Relational, text: str) -> Fact:
    return Fact(number, claim, text, cited=True)


def _corrected(proof: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same chain with every misprint put right, for inputs that are merely not parallel."""
    return tuple(
        replace(
            step,
            claim=step.claim if step.fix is None else step.fix,
            fix=None,
            since=tuple(NOT_PARALLEL.id if source == ORTHOGONAL.id else source for source in step.since),
        )
        for step in proof
    )


def _repaired(theorem: Theorem) -> Theorem:
    """The same statement for inputs that are merely not parallel, on inputs as given."""
    return replace(
        theorem,
        proof=_corrected(theorem.proof),
        key=f"{theorem.key}:repaired",
        title=f"{theorem.title}, for inputs that are not parallel",
        hypotheses=tuple(NOT_PARALLEL if h is ORTHOGONAL else h for h in theorem.hypotheses),
        reading=tuple(
            "Assumption 2 is read as: no two inputs are parallel. The proofs use no more."
            if line is ORTHOGONAL_READING
            else line
            for line in theorem.reading
        ),
        defaults={**theorem.defaults, "inputs": "given"},
        quick={**theorem.quick, "inputs": "given"},
    )


# --- proof quantities ------------------------------------------------------------------------------

sig, qq, dev, room = symbols("sigma_w q deviation t_w", real=True)  # q = 2 sqrt(2) sigma_w
SIGNS = (Fact("σ_w² ≥ 0", s2 >= 0), Fact("n ≥ 1", n >= 1), Fact("m ≥ 1", m >= 1))
DEPTH = Fact("l ≥ 1", depth >= 1)
ROOT = (
    _cited("σ_w > 0", sig > 0, "a standard deviation; 0 is the explicit model"),
    _cited("σ_w", Eq(sig**2, s2, evaluate=False), "definition"),
    _cited("q", Eq(qq, 2 * sqrt(2) * sig, evaluate=False), "q = 2√2σ_w"),
)
CONTRACTION = (
    Step("q²", Eq(qq**2, 8 * s2), ("q", "σ_w")),
    Step("q > 0", qq > 0, ("q", "σ_w > 0")),
    Step("q < 1", qq < 1, ("q²", "q > 0", "A1"), text="2√2σ_w < 1"),
)

# --- Lemma 1 ---------------------------------------------------------------------------------------

LING_NORM = Theorem(
    key="ling-norm",
    title="a Gaussian W has norm at most 2√2 σ_w with high probability",
    source=_source("Lemma 1"),
    family="ling",
    setting="W with independent entries N(0, 2σ_w²/m)",
    measured={s2: q.sigma2, m: q.width, eps: q.resolution, p_m: q.norm_probability, p_2m: q.norm_probability_double},
    hypotheses=(VARIANCE, DRAWN),
    conclusions=(
        Conclusion("at m", p_m + eps >= 1 - exp(-m), "probability at least 1 − exp(−Ω(m))"),
        Conclusion("at 2m", p_2m + eps >= 1 - exp(-2 * m), "the same at twice the width"),
    ),
    reading=(
        "Ω(m) is read as m, the constant that Appendix D.1 uses. A smaller constant could always be named "
        "for one width; but the measured failure does not fall with the width, and none fits all widths.",
        "2√2σ_w is the almost sure limit of ‖W‖ itself. The deviation there is of order m^(−2/3) and follows "
        "the law of Tracy and Widom, so the event has probability near 0.83 as m grows, not 1 − exp(−Ω(m)).",
        RESOLUTION,
    ),
    facts=(
        Fact("σ_w² ≥ 0", s2 >= 0),
        Fact("m ≥ 1", m >= 1),
        *ROOT[:2],
        _cited("deviation ≥ 0", dev >= 0, "‖W‖ ≤ √2σ_w(2 + t) with probability 1 − exp(−m t²/2), t ≥ 0"),
        _cited("threshold", Eq(sqrt(2) * sig * (2 + dev), 2 * sqrt(2) * sig, evaluate=False), "Lemma 1's threshold"),
    ),
    proof=(
        Step(
            "Lemma 1 Ω(m)",
            dev**2 / 2 > 0,
            ("threshold", "deviation ≥ 0", "σ_w > 0", "σ_w", "A1"),
            text="the exponent m t²/2 is of order m only if t > 0; the printed threshold leaves t = 0",
        ),
    ),
    settings=("trials",),
    defaults={"width": "100", "samples": "1", "trials": "500"},
    quick={"width": "60", "samples": "1", "dim": "5", "trials": "400"},
)

LING_NORM_REPAIRED = replace(
    LING_NORM,
    key="ling-norm:repaired",
    title="a Gaussian W makes the layer a contraction with high probability",
    source=_source("Lemma 1 for ‖W‖ < 1"),
    measured={
        s2: q.sigma2,
        m: q.width,
        eps: q.resolution,
        p1_m: q.contraction_probability,
        p1_2m: q.contraction_probability_double,
    },
    definitions={room: 1 / sqrt(2 * s2) - 2},
    facts=(Fact("σ_w² > 0", s2 > 0, "1/σ_w occurs"), Fact("m ≥ 1", m >= 1)),
    proof=(
        Step("t_w > 0", room > 0, ("A1",), text="so the exponent m t²/2 is of order m"),
        Step("‖W‖ < 1", Eq(sqrt(2 * s2) * (2 + room), 1), text="the bound at t_w is exactly 1"),
    ),
    conclusions=(
        Conclusion("at m", p1_m + eps >= 1 - exp(-m * room**2 / 2)),
        Conclusion("at 2m", p1_2m + eps >= 1 - exp(-m * room**2)),
    ),
    reading=(
        "What the paper needs of Lemma 1 is ‖W‖ < 1. The bound of Davidson and Szarek, "
        "‖W‖ ≤ √2σ_w(2 + t) with probability at least 1 − exp(−m t²/2), gives it with "
        "t_w = 1/(√2σ_w) − 2 > 0.",
        RESOLUTION,
    ),
)

# --- Definition 1, Lemma 3, Theorem 3 --------------------------------------------------------------

ratio_K, gap_12, gap_print, C_K = symbols("ratio_K gap_12 gap_print C_K", real=True)

# K^(l-1), K^(l), K^(l+1) at (i, j); rho, Q and cos theta at the same layers; x = x_i^T x_j / d.
K_m, K_0, K_1, rho_m, rho_0, rho_1 = symbols("K_m K_0 K_1 rho_m rho_0 rho_1", real=True)
q_m, q_0, q_1, c_0, c_1, x, P_m, P = symbols("Q_m Q_0 Q_1 cos_0 cos_1 x P_m P", real=True)
L_11, L_12, rho_i, q_i, c_i, D_0, D_1 = symbols("Lambda_11 Lambda_12 rho_inf Q_inf cos_inf D_0 D_1", real=True)
tail, entry, frobenius = symbols("tail entry frobenius", real=True)
beta, beta_r, v_1, off, form = symbols("beta beta_r v_1 off form", real=True)


def _tail(layer: Expr, power: Expr) -> Expr:
    """The sum of (2k + 1) sigma^(2k) over k >= layer, where power = sigma^(2 layer)."""
    return power * ((2 * layer + 1) / (1 - s2) + 2 * s2 / (1 - s2) ** 2)


POPULATION_FACTS = (
    *SIGNS,
    DEPTH,
    _cited("τ", Eq(tau, Rational(1, 10**9), evaluate=False), "the tolerance of this check"),
    _cited("x", Abs(x) <= cosine, "x = x_iᵀx_j/d, ‖x_i‖ = √d"),
    # Lemma 3
    _cited("ρ ≥ 0", rho_m >= 0, "K_ii ≥ 0"),
    _cited("K_ii", Eq(rho_0, s2 * rho_m + 1, evaluate=False), "homogeneity of φ and Q(1) = 1"),
    _cited("ρ^(l−1)", Eq(rho_m, (1 - P_m) / (1 - s2), evaluate=False), "induction; 0 at l = 1"),
    _cited("Λ_11", Eq(L_11, s2 * rho_m + 1, evaluate=False), "(6)"),
    _cited("Λ_12", Eq(L_12, s2 * K_m + x, evaluate=False), "(6)"),
    _cited("cosine", Eq(c_0 * L_11, L_12, evaluate=False), "Λ = ρ [[1, cos θ], [cos θ, 1]]"),
    _cited("K_ij^(l−1)", Eq(K_m, rho_m * q_m, evaluate=False), "(12) at l − 1"),
    _cited("K_ij^(l−1) > 0", K_m > 0, "the print divides by it"),
    _cited("ρ^(l−1) > 0", rho_m > 0, "the print divides by it"),
    _cited("ρ^(∞)", Eq(rho_i, 1 / (1 - s2), evaluate=False), "the limit of ρ^(l)"),
    _cited("(13) limit", Eq(c_i, (1 - 1 / rho_i) * q_i + x / rho_i, evaluate=False), "(13) as l → ∞"),
    # Theorem 3 (i)
    _cited("P", Eq(P, s2 * P_m, evaluate=False), "P = σ_w^(2l)"),
    _cited("P ≥ 0", P_m >= 0, "P_m = σ_w^(2(l−1))"),
    _cited("ρ_0", Eq(rho_0, (1 - P) / (1 - s2), evaluate=False), "Lemma 3"),
    _cited("ρ_1", Eq(rho_1, (1 - s2 * P) / (1 - s2), evaluate=False), "Lemma 3"),
    _cited("ρ_1 ≥ 0", rho_1 >= 0, "K_ii ≥ 0"),
    _cited("Q 1-Lipschitz", Abs(q_1 - q_0) <= Abs(c_1 - c_0), "|Q'| ≤ 1"),
    _cited("|Q| ≤ 1", Abs(q_0) <= 1, "on [−1, 1]"),
    _cited("|cos| ≤ 1", Abs(c_0) <= 1, "a cosine"),
    _cited("(12) at l", Eq(K_0, rho_0 * q_0, evaluate=False), "(12)"),
    _cited("(12) at l+1", Eq(K_1, rho_1 * q_1, evaluate=False), "(12)"),
    _cited("cos at l", Eq(rho_0 * c_0, s2 * K_m + x, evaluate=False), "definition of cos θ"),
    _cited("cos at l+1", Eq(rho_1 * c_1, s2 * K_0 + x, evaluate=False), "definition of cos θ"),
    _cited("D_0", Eq(D_0, Abs(K_0 - K_m), evaluate=False), "abbreviation"),
    _cited("D_1", Eq(D_1, Abs(K_1 - K_0), evaluate=False), "abbreviation"),
    _cited("induction", D_0 <= (2 * depth - 1) * P_m, "|K^(1)| ≤ 1 at l = 1"),
    _cited("tail", Eq(tail, _tail(depth, P), evaluate=False), "the sum of (2k + 1)σ_w^(2k), k ≥ l"),
    _cited("entry", entry <= tail, "|K_ij − K_ij^(l)|, triangle inequality"),
    _cited("entry ≥ 0", entry >= 0, "an absolute value"),
    _cited("Frobenius", frobenius <= n * entry, "n² entries"),
    _cited("K diagonal", lam_star <= 1 / (1 - s2), "λ_min(K) ≤ K_ii"),
    # Theorem 3 (ii)
    _cited("|Q^(∞)| ≤ 1", Abs(q_i) <= 1, "on [−1, 1]"),
    _cited("Cauchy", v_1**2 <= n, "v_1 = Σ|v_i|, ‖v‖ = 1"),
    _cited("β^r ≥ 0", beta_r >= 0, "β_r = β^r"),
    _cited("r", n * beta_r < 1, "r > −log n/log β, β < 1"),
    _cited("off", Abs(off) <= v_1**2 * beta_r, "the sum over i ≠ j of v_i v_j cos^r θ_ij"),
    _cited("form", Eq(form, 1 + off, evaluate=False), "vᵀ(HᵀH)^(⊙r)v, ‖v‖ = 1"),
)

POPULATION_PROOF = (
    Step("C.1 ρ^(l)", Eq(rho_0, (1 - s2 * P_m) / (1 - s2)), ("K_ii", "ρ^(l−1)", "A1")),
    Step("C.1 Λ_11 > 0", L_11 > 0, ("Λ_11", "ρ ≥ 0")),
    Step("C.1 cos θ", Eq(c_0, L_12 / L_11), ("cosine", "C.1 Λ_11 > 0")),
    Step(
        "Lemma 3 cos θ",
        Eq(c_0, (s2 * K_m + x) / (s2 * K_m + 1)),
        ("C.1 cos θ", "Λ_11", "Λ_12", "C.1 Λ_11 > 0", "K_ij^(l−1) > 0", "ρ ≥ 0", "A1"),
        fix=Eq(c_0, (s2 * K_m + x) / (s2 * rho_m + 1)),
        text="the denominator is the diagonal entry",
    ),
    Step("C.1 ρ^(l) > 0", rho_0 > 0, ("K_ii", "ρ ≥ 0")),
    Step("C.1 ρ^(l)cos", Eq(c_0 * rho_0, s2 * rho_m * q_m + x), ("cosine", "Λ_11", "Λ_12", "K_ii", "K_ij^(l−1)")),
    Step("C.1 numerator", Eq(c_0 * rho_0, (rho_0 - 1) * q_m + x), ("C.1 ρ^(l)cos", "K_ii")),
    Step(
        "C.1 substituted",
        Eq(c_0, ((K_m - 1) * q_m + x) / K_m),
        ("C.1 numerator", "C.1 ρ^(l) > 0", "K_ij^(l−1) > 0"),
        fix=Eq(c_0, ((rho_0 - 1) * q_m + x) / rho_0),
        text="K_ij^(l−1) stands for ρ^(l); the next line of the print has it right",
    ),
    Step(
        "(13)",
        Eq(c_0, (1 - 1 / rho_m) * q_m + x / rho_m),
        ("C.1 substituted", "C.1 ρ^(l) > 0", "K_ii", "ρ^(l−1) > 0", "A1"),
        fix=Eq(c_0, (1 - 1 / rho_0) * q_m + x / rho_0),
        text="ρ^(l) in place of ρ^(l−1), which is 0 at l = 1",
    ),
    Step("(14)", Eq(c_i, s2 * q_i + (1 - s2) * x), ("(13) limit", "ρ^(∞)", "A1")),
    Step("C.2 ρ difference", Eq(rho_1 - rho_0, P), ("ρ_0", "ρ_1", "A1")),
    Step("C.2 P ≥ 0", P >= 0, ("P", "P ≥ 0")),
    Step(
        "C.2 triangle",
        Abs(rho_1 * q_1 - rho_0 * q_0) <= Abs(rho_1 * q_1 - rho_1 * q_0) + Abs(rho_1 * q_0 - rho_0 * q_0),
    ),
    Step(
        "C.2 Lipschitz",
        Abs(rho_1 * q_1 - rho_1 * q_0) <= Abs(rho_1 * c_1 - rho_1 * c_0),
        ("Q 1-Lipschitz", "ρ_1 ≥ 0"),
    ),
    Step(
        "C.2 triangle cos",
        Abs(rho_1 * c_1 - rho_1 * c_0) <= Abs(rho_1 * c_1 - rho_0 * c_0) + Abs(rho_0 * c_0 - rho_1 * c_0),
    ),
    Step("C.2 cos ≤ 1", Abs(rho_0 * c_0 - rho_1 * c_0) <= P, ("C.2 ρ difference", "C.2 P ≥ 0", "|cos| ≤ 1")),
    Step("C.2 K", Eq(Abs(rho_1 * c_1 - rho_0 * c_0), s2 * D_0), ("cos at l", "cos at l+1", "D_0")),
    Step("C.2 Q ≤ 1", Abs(rho_1 * q_0 - rho_0 * q_0) <= P, ("C.2 ρ difference", "C.2 P ≥ 0", "|Q| ≤ 1")),
    Step("C.2 D", Eq(D_1, Abs(rho_1 * q_1 - rho_0 * q_0)), ("D_1", "(12) at l", "(12) at l+1")),
    Step(
        "C.2 recursion",
        D_1 <= s2 * D_0 + 2 * P,
        ("C.2 D", "C.2 triangle", "C.2 Lipschitz", "C.2 triangle cos", "C.2 cos ≤ 1", "C.2 K", "C.2 Q ≤ 1"),
    ),
    Step("C.2 induction", D_1 <= (2 * depth + 1) * P, ("C.2 recursion", "induction", "P")),
    Step(
        "C.2 telescope",
        Eq(_tail(depth, P), (2 * depth + 1) * P + _tail(depth + 1, s2 * P)),
        ("A1",),
        text="so the tail of the sum has this closed form",
    ),
    Step("C.2 tail", tail <= C_K * depth * P, ("tail", "C.2 P ≥ 0", "A1")),
    Step("C.2 entries", entry <= C_K * depth * P, ("entry", "C.2 tail")),
    Step(
        "(i)",
        frobenius <= C_K * n * P,
        ("Frobenius", "C.2 entries", "entry ≥ 0", "C.2 P ≥ 0", "A1"),
        fix=frobenius <= C_K * n * depth * P,
        text="the last line of the proof drops the factor l that Theorem 3 states",
    ),
    Step("C.2 |x| < 1", Abs(x) < 1, ("x", "A2 ⊥", "τ")),
    Step(
        "C.2 |cos θ|",
        Eq(Abs(s2 * q_i + (1 - s2) * x), s2 * Abs(q_i) + (1 - s2) * Abs(x)),
        ("|Q^(∞)| ≤ 1", "C.2 |x| < 1", "A1"),
        fix=Abs(s2 * q_i + (1 - s2) * x) <= s2 * Abs(q_i) + (1 - s2) * Abs(x),
        text="an inequality, printed as an equality",
    ),
    Step("β < 1", Abs(s2 * q_i + (1 - s2) * x) < 1, ("C.2 |cos θ|", "|Q^(∞)| ≤ 1", "C.2 |x| < 1", "A1")),
    Step("C.2 nβ^r", v_1**2 * beta_r <= n * beta_r, ("Cauchy", "β^r ≥ 0")),
    Step("C.2 off", Abs(off) < 1, ("off", "C.2 nβ^r", "r")),
    Step("(ii)", form > 0, ("form", "C.2 off"), text="so (HᵀH)^(⊙r) is definite, and K with it by (20)"),
)

LING_POPULATION = Theorem(
    key="ling-population",
    title="the population Gram matrices converge geometrically to a definite limit",
    source=_source("Theorem 3 with Definition 1 and Lemma 3"),
    family="ling",
    setting="K^(l) and K of the inputs; no random weights",
    measured={
        s2: q.sigma2,
        n: q.samples,
        depth: q.depth,
        **INPUTS,
        lam_star: q.lambda_star,
        gap_12: q.closed_form_gap,
        gap_print: q.printed_gap,
        ratio_K: q.depth_ratio,
    },
    chosen=TAU,
    definitions={C_K: 3 / (1 - s2) + 2 * s2 / (1 - s2) ** 2},
    hypotheses=(VARIANCE, UNIT, ORTHOGONAL),
    conclusions=(
        Conclusion("(12)", gap_12 <= tau, "recursion and closed form agree, for every l up to the depth"),
        Conclusion("(i)", ratio_K <= C_K, "‖K − K^(l)‖_F ≤ C_K n l σ_w^(2l) for every l up to the depth"),
        Conclusion("(ii)", lam_star > 0, "K is positive definite"),
    ),
    reading=(
        ORTHOGONAL_READING,
        "The constant in (i) is the one that the proof gives: |K^(l+1) − K^(l)| ≤ (2l+1)σ_w^(2l), summed.",
        "(13) is read with ρ^(l), as its proof derives it. As printed, with ρ^(l−1), it divides by "
        "ρ^(0) = 0 at l = 1 and is off at l ≥ 2 by what the table shows.",
        "The denominator in Lemma 3 is read as σ_w²K_ii + 1; the print has K_ij.",
    ),
    facts=POPULATION_FACTS,
    proof=POPULATION_PROOF,
    settings=("depth",),
    quick={"width": "10", "samples": "12", "dim": "20", "depth": "10"},
)

LING_POPULATION_REPAIRED = _repaired(LING_POPULATION)

# --- Theorems 2, 4 and 5 ---------------------------------------------------------------------------

least_ratio, worst_decay, worst_gap = symbols("least_ratio worst_decay worst_gap", real=True)
RANDOM = {"width": "200", "samples": "5", "dim": "20", "trials": "30"}
QUICK = {"samples": "2", "dim": "5", "trials": "30"}

# Theorem 2. G_K = ||G/m - K||_F and its three parts; E = q^l, s_l = sigma_w^l, b_l = (2 sqrt 2)^l; C_3, C_4, C_5 are
# the constants of Theorems 3, 4, 5 and C their sum. A = log(n/lambda_*), B = log(1/t), N = log n, L = log(1/q);
# kappa is the constant of Omega in the width, kappa_2 that of O(l^2) over that of Omega in Theorem 5.
G_K, part_4, part_5, part_3, E, s_l, b_l = symbols("G_K part_4 part_5 part_3 E s_l b_l", real=True)
C_3, C_4, C_5, C, lam_G = symbols("C_3 C_4 C_5 C lambda_G", real=True)
A, B, N, L, kappa, kappa_2, M_E, K_W = symbols("A B N L kappa kappa_2 M K", real=True)


def _gram_facts(width: Expr, text: str) -> tuple[Fact, ...]:
    """What Section 4.4 draws on, with `width` what m lambda_*^2/(kappa n^2) is at least."""
    return (
        *SIGNS,
        *ROOT,
        _cited("l ≥ 1", depth >= 1, "a layer"),
        _cited("λ_* > 0", lam_star > 0, "Theorem 3 (ii)"),
        _cited("C_3 > 0", C_3 > 0, "a constant"),
        _cited("C_4 > 0", C_4 > 0, "a constant"),
        _cited("C_5 > 0", C_5 > 0, "a constant"),
        _cited("C", Eq(C, C_3 + C_4 + C_5, evaluate=False), "abbreviation"),
        _cited("E ≥ 0", E >= 0, "E = q^l"),
        _cited("σ^l ≥ 0", s_l >= 0, "s_l = σ_w^l"),
        _cited("(2√2)^l ≥ 0", b_l >= 0, "b_l = (2√2)^l"),
        _cited("q^l", Eq(E, b_l * s_l, evaluate=False), "q = 2√2σ_w"),
        _cited("lσ^l induction", depth * s_l <= b_l, "induction; σ_w ≤ 2√2 at l = 1"),
        _cited("triangle", G_K <= part_4 + part_5 + part_3, "triangle inequality"),
        _cited("Theorem 4", part_4 <= C_4 * n * E, "Theorem 4"),
        _cited("Theorem 5", part_5 <= C_5 * n * E, "Theorem 5"),
        _cited("Theorem 3", part_3 <= C_3 * n * depth * s_l**2, "Theorem 3 (i)"),
        _cited("choice of l", 2 * C * n * E <= lam_star, "l ≥ log(2Cn/λ_*)/log(1/q)"),
        _cited("Weyl", lam_G >= m * (lam_star - G_K), "Weyl for G/m and K, ‖·‖ ≤ ‖·‖_F"),
        _cited("log n ≥ 0", N >= 0, "n ≥ 1"),
        _cited("log(1/t) ≥ 0", B >= 0, "t ≤ 1"),
        _cited("log n", N <= A + Rational(1, 6), "λ_* ≤ 1/(1 − σ_w²) < 8/7 and log(8/7) < 1/6"),
        _cited("A", A >= Rational(1, 2), "n ≥ 2: log(7/4) > 1/2"),
        _cited("L > 0", L > 0, "L = log(1/q), q < 1"),
        _cited("κ₂ > 0", kappa_2 > 0, "a constant"),
        _cited("l", Eq(depth * L, A, evaluate=False), "l = Θ(log(n/λ_*)/log(1/q)), Θ read as 1"),
        _cited("E", Eq(E * n, lam_star, evaluate=False), "q^l at that l"),
        _cited("κ", kappa >= kappa_2 / L**2 + Rational(19, 3), "Ω's constant is chosen last"),
        _cited("M", Eq(M_E, m * E**2, evaluate=False), "abbreviation"),
        _cited("K", Eq(K_W, kappa * width, evaluate=False), "abbreviation"),
        _cited("width in logs", m * lam_star**2 >= n**2 * K_W, text),
    )


GRAM_PROOF = (
    *CONTRACTION,
    Step("4.4 σ_w < 1", sig < 1, ("σ_w > 0", "σ_w", "A1")),
    Step("4.4 lσ^l doubled", (depth + 1) * s_l <= 2 * b_l, ("lσ^l induction", "l ≥ 1", "σ^l ≥ 0")),
    Step("4.4 lσ^l times σ", (depth + 1) * sig * s_l <= 2 * sig * b_l, ("4.4 lσ^l doubled", "σ_w > 0")),
    Step("4.4 2σ", 2 * sig * b_l <= 2 * sqrt(2) * b_l, ("4.4 σ_w < 1", "(2√2)^l ≥ 0")),
    Step(
        "4.4 lσ^l",
        (depth + 1) * sig * s_l <= 2 * sqrt(2) * b_l,
        ("4.4 lσ^l times σ", "4.4 2σ"),
        text="lσ_w^l ≤ (2√2)^l, from l to l + 1",
    ),
    Step("4.4 lσ^(2l)", depth * s_l**2 <= E, ("lσ^l induction", "q^l", "σ^l ≥ 0")),
    Step("4.4 third part", C_3 * n * depth * s_l**2 <= C_3 * n * E, ("4.4 lσ^(2l)", "C_3 > 0")),
    Step("4.4 Theorem 3", part_3 <= C_3 * n * E, ("Theorem 3", "4.4 third part")),
    Step(
        "4.4 parts",
        G_K <= C_4 * n * E + C_5 * n * E + C_3 * n * E,
        ("triangle", "4.4 Theorem 3", "Theorem 4", "Theorem 5"),
    ),
    Step("4.4 sum", G_K <= C * n * E, ("4.4 parts", "C")),
    Step("4.4 log(√2/(4σ_w))", Eq(sqrt(2) / (4 * sig), 1 / qq), ("q", "σ_w > 0", "q > 0"), text="√2/(4σ_w) is 1/q"),
    Step("4.4 λ_*/2", G_K <= lam_star / 2, ("4.4 sum", "choice of l")),
    Step(
        "4.4 λ₀",
        lam_G > m * lam_star / 2,
        ("Weyl", "4.4 λ_*/2", "λ_* > 0"),
        fix=lam_G >= m * lam_star / 2,
        text="printed strict; Theorem 2 states ≥",
    ),
)


def _width(width: Expr) -> tuple[Step, ...]:
    """The last sentence of Section 4.4: the width makes the probability of failure at most t."""
    return (
        Step("4.4 κ > 0", kappa > 0, ("κ", "κ₂ > 0", "L > 0")),
        Step("4.4 mE²n²", n**2 * M_E >= n**2 * K_W, ("width in logs", "E", "M", "K")),
        Step("4.4 M ≥ K", M_E >= K_W, ("4.4 mE²n²",)),
        Step("4.4 mE²", m * E**2 >= kappa * width, ("4.4 M ≥ K", "M", "K")),
        Step("4.4 l²", Eq(depth**2, A**2 / L**2), ("l", "L > 0")),
        Step("4.4 log n²", 2 * N <= Rational(16, 3) * A**2, ("log n", "A")),
        Step("4.4 κA²", kappa * A**2 >= kappa_2 * A**2 / L**2 + Rational(19, 3) * A**2, ("κ",)),
        Step("4.4 κ ≥ 1", kappa >= 1, ("κ", "κ₂ > 0", "L > 0")),
        Step("4.4 κB", kappa * B >= B, ("4.4 κ ≥ 1", "log(1/t) ≥ 0")),
        Step(
            "4.4 width",
            kappa * width >= kappa_2 * A**2 / L**2 + 2 * N + B,
            ("4.4 log n²", "4.4 κA²", "4.4 κB", "κ", "A", "log n", "log n ≥ 0", "κ₂ > 0", "L > 0", "log(1/t) ≥ 0"),
            text="n² exp(O(l²) − Ω(mE²)) ≤ t needs mE² to exceed l² = log²(n/λ_*)/log²(1/q)",
        ),
    )


LING_GRAM = Theorem(
    key="ling-gram",
    title="the Gram matrix of a wide random DEQ is definite",
    source=_source("Theorem 2"),
    family="ling",
    setting="random W and U (Assumption 1), drawn anew for each trial",
    measured={
        s2: q.sigma2,
        n: q.samples,
        m: q.width,
        **INPUTS,
        lam_star: q.lambda_star,
        p_m: q.gram_probability,
        p_2m: q.gram_probability_double,
        least_ratio: q.least_ratio,
    },
    chosen={t: least(Rational(1, 4)), **TAU},
    hypotheses=(
        VARIANCE,
        DRAWN,
        UNIT,
        ORTHOGONAL,
        Hypothesis("width", m >= n**2 / lam_star**2 * log(n / (lam_star * t)), "Ω read as 1"),
    ),
    conclusions=(
        Conclusion("at m", p_m >= 1 - t, "λ₀ ≥ mλ_*/2 with probability at least 1 − t"),
        Conclusion("at 2m", p_2m >= 1 - t, "the same at twice the width"),
    ),
    reading=(
        ORTHOGONAL_READING,
        "Ω in the width is read with the constant 1. The claim is checked at t = 1/4, which 30 draws resolve; "
        "a smaller t takes more trials.",
    ),
    facts=_gram_facts(A + B, "the printed width, κ in place of Ω"),
    proof=(*GRAM_PROOF, *_width(A + B)),
    settings=("trials",),
    defaults=RANDOM,
    quick={**QUICK, "width": "100"},
)

# Theorem 4. For samples i and j: z = ||z||, z^l = ||z^(l)||, e = ||z - z^(l)||, z^1 = ||z^(1)||; Q = q^l.
z_i, zl_i, zl_j, e_i, e_j, z1, Lm, U_z = symbols("z_i z_i^l z_j^l e_i e_j z_1 Z_lim U_z", real=True)
step_0, step_1, Q_0, Q, part, G_ij = symbols("step_0 step_1 q^(l-1) q^l partial G_ij", real=True)
G_F, bound_4 = symbols("G_F bound", real=True)

DEPTH_FACTS = (
    *SIGNS,
    DEPTH,
    _cited("q > 0", qq > 0, "q = 2√2σ_w, σ_w > 0"),
    _cited("q", Eq(qq**2, 8 * s2, evaluate=False), "q = 2√2σ_w"),
    _cited("Lemma 1", step_1 <= qq * step_0, "φ is 1-Lipschitz and ‖W‖ ≤ 2√2σ_w"),
    _cited("step ≥ 0", step_0 >= 0, "a norm"),
    _cited("z^1 ≥ 0", z1 >= 0, "a norm"),
    _cited("steps", step_0 <= Q_0 * z1, "induction; z^(0) = 0 at l = 1"),
    _cited("q^(l−1) ≥ 0", Q_0 >= 0, "q ≥ 0"),
    _cited("q^l", Eq(Q, qq * Q_0, evaluate=False), "a power"),
    _cited("q^l ≤ 1", Q <= 1, "q < 1"),
    _cited("partial sums", part <= z1 * (1 - Q_0) / (1 - qq), "induction: ‖z^(l−1)‖; 0 at l = 1"),
    _cited("layer l", zl_j <= part + step_0, "triangle inequality"),
    _cited("Z", Eq(Lm, z1 / (1 - qq), evaluate=False), "the sum of q^k ‖z^(1)‖, k ≥ 0"),
    _cited("tail i", e_i <= Lm * Q, "the sum of q^k ‖z^(1)‖, k ≥ l"),
    _cited("tail j", e_j <= Lm * Q, "the sum of q^k ‖z^(1)‖, k ≥ l"),
    _cited("limit", z_i <= Lm, "the sum of q^k ‖z^(1)‖, k ≥ 0"),
    _cited("U", Eq(U_z, 2 / (1 - qq) ** 2, evaluate=False), "abbreviation"),
    _cited("bound", Eq(bound_4, n * (U_z * (1 + t)) * Q, evaluate=False), "abbreviation"),
    _cited("z_i ≥ 0", z_i >= 0, "a norm"),
    _cited("z_j^(l) ≥ 0", zl_j >= 0, "a norm"),
    _cited("z_i^(l) ≥ 0", zl_i >= 0, "a norm"),
    _cited("e_i ≥ 0", e_i >= 0, "a norm"),
    _cited("e_j ≥ 0", e_j >= 0, "a norm"),
    _cited("product", G_ij <= z_i * e_j + zl_j * e_i, "|z_iᵀz_j − z_i^(l)ᵀz_j^(l)|, Cauchy-Schwarz"),
    _cited("Bernstein", Abs(z1**2 / m - 1) <= t, "concentration of ‖z^(1)‖²/m around 1"),
    _cited("t ≤ 1", t <= 1, "t is an absolute constant; taken at most 1"),
    _cited("t ≥ 0", t >= 0, "a deviation"),
    _cited("Frobenius", G_F <= n * G_ij, "n² entries, G_ij the largest"),
)

DEPTH_PROOF = (
    Step("q < 1", qq < 1, ("q", "q > 0", "A1"), text="2√2σ_w < 1"),
    Step("D.1 steps", step_1 <= Q * z1, ("Lemma 1", "steps", "q^l", "q > 0")),
    Step("D.1 q^l ≥ 0", Q >= 0, ("q^l", "q^(l−1) ≥ 0", "q > 0")),
    Step("D.1 O(‖z^(1)‖)", Q * z1 <= z1, ("q^l ≤ 1", "z^1 ≥ 0"), text="‖z^(l+1) − z^(l)‖ = O(‖z^(1)‖)"),
    Step("D.1 telescope", Eq(Q / (1 - qq), Q + qq * Q / (1 - qq)), ("q < 1",), text="the tail of the geometric sum"),
    Step(
        "D.1 partial sums",
        zl_j <= z1 * (1 - Q) / (1 - qq),
        ("layer l", "partial sums", "steps", "q^l", "q < 1"),
    ),
    Step("D.1 z^(l)", zl_j <= Lm, ("D.1 partial sums", "D.1 q^l ≥ 0", "z^1 ≥ 0", "q < 1", "Z")),
    Step("D.1 Z ≥ 0", Lm >= 0, ("Z", "z^1 ≥ 0", "q < 1")),
    Step(
        "D.1 product",
        G_ij <= z_i * e_j + zl_i * e_i,
        ("product", "z_i ≥ 0", "z_j^(l) ≥ 0", "z_i^(l) ≥ 0", "e_i ≥ 0", "e_j ≥ 0"),
        fix=G_ij <= z_i * e_j + zl_j * e_i,
        text="the factor of the second term is ‖z_j^(l)‖",
    ),
    Step("D.1 first", z_i * e_j <= Lm * (Lm * Q), ("limit", "tail j", "z_i ≥ 0", "e_j ≥ 0")),
    Step("D.1 second", zl_j * e_i <= Lm * (Lm * Q), ("D.1 z^(l)", "tail i", "z_j^(l) ≥ 0", "e_i ≥ 0")),
    Step("D.1 entry", G_ij <= 2 * Q * Lm**2, ("D.1 product", "D.1 first", "D.1 second")),
    Step("D.1 Z²", Eq(2 * Lm**2, U_z * z1**2), ("Z", "U", "q < 1")),
    Step("D.1 U > 0", U_z > 0, ("U", "q < 1")),
    Step("D.1 entry U", G_ij <= U_z * Q * z1**2, ("D.1 entry", "D.1 Z²")),
    Step("D.1 z^1", z1**2 <= m * (1 + t), ("Bernstein",)),
    Step("D.1 UQ", U_z * Q >= 0, ("D.1 U > 0", "D.1 q^l ≥ 0")),
    Step("D.1 entry m", G_ij <= U_z * Q * (m * (1 + t)), ("D.1 entry U", "D.1 z^1", "D.1 UQ")),
    Step("D.1 √t", 1 + t <= 1 + sqrt(t), ("t ≥ 0", "t ≤ 1"), text="the print has √t; it needs t ≤ 1"),
    Step("D.1 n entries", G_F <= n * (U_z * Q * (m * (1 + t))), ("Frobenius", "D.1 entry m")),
    Step("D.1 m", G_F <= m * bound_4, ("D.1 n entries", "bound")),
    Step(
        "Theorem 4",
        G_F / m <= bound_4,
        ("D.1 m",),
        text="the constant is U(1 + t) = 2(1 + t)/(1 − 2√2σ_w)², which is not absolute",
    ),
)

LING_DEPTH = Theorem(
    key="ling-depth",
    title="layer l of a random DEQ approaches its equilibrium geometrically",
    source=_source("Theorem 4"),
    family="ling",
    setting="random W and U (Assumption 1), drawn anew for each trial",
    measured={
        s2: q.sigma2,
        n: q.samples,
        m: q.width,
        depth: q.depth,
        **INPUTS,
        eps: q.resolution,
        p_m: q.decay_probability,
        p_2m: q.decay_probability_double,
        worst_decay: q.worst_decay,
    },
    chosen=TAU,
    hypotheses=(VARIANCE, DRAWN, UNIT, ORTHOGONAL),
    conclusions=(
        Conclusion("at m", p_m + eps >= 1 - n**2 * exp(-m), "‖G − G^(l)‖_F/m ≤ C n (2√2σ_w)^l"),
        Conclusion("at 2m", p_2m + eps >= 1 - n**2 * exp(-2 * m), "the same at twice the width"),
    ),
    reading=(
        ORTHOGONAL_READING,
        "The constant is the proof's, C = 2(1 + t)/(1 − 2√2σ_w)² with its absolute constant t taken as 1; "
        "Ω(m) is read as m.",
        "The proof rests on Lemma 1, which is false at its threshold (see ling-norm); the decay itself is "
        "measured here.",
        RESOLUTION,
    ),
    facts=DEPTH_FACTS,
    proof=DEPTH_PROOF,
    settings=("trials", "depth"),
    defaults=RANDOM,
    quick={**QUICK, "width": "40", "depth": "6"},
)

# Theorem 5. X_i = |G_ii/m - K_ii| and X = |G_ij/m - K_ij| at layer l, with a prime at l + 1; a = sqrt(A_ii A_jj).
X_i, X_i1, X_o, X_o1, acc, h2, mom = symbols("X_ii X_ii' X_ij X_ij' epsilon h_2 moment", real=True)
G_hat, G_ii, K_ii, X_hat, hat_1, hat_2 = symbols("G_hat G_ii K_ii X_hat gap_1 gap_2", real=True)
root, A_i, A_j, rho, c_hat, c_o, q_hat, q_o = symbols("a A_ii A_jj rho cos_hat cos Q_hat Q", real=True)
y, K_o, P_l, log_acc, L_q, G_5 = symbols("G_ij/m K_ij P_l log_1/epsilon L_q G_5", real=True)

CONCENTRATION_FACTS = (
    *SIGNS,
    DEPTH,
    _cited("ε > 0", acc > 0, "the accuracy"),
    _cited("P ≥ 0", P_l >= 0, "P = σ_w^(2l)"),
    _cited("relu moment", Eq(mom, Rational(1, 2), evaluate=False), "E φ(g)² for a standard Gaussian g"),
    _cited("‖h‖² > 0", h2 > 0, "h ≠ 0"),
    _cited("Bernstein ii", hat_1 <= acc, "|G_ii/m − Ĝ_ii| at l + 1, with the net"),
    _cited("triangle ii", X_i1 <= hat_1 + X_hat, "(21)"),
    _cited("Ĝ_ii", Eq(X_hat, s2 * X_i, evaluate=False), "Ĝ_ii = σ_w² G_ii/m + 1, K_ii = σ_w² K_ii + 1"),
    _cited("induction ii", X_i <= (1 - P_l) / (1 - s2) * acc, "0 at l = 0"),
    _cited("X_ii ≥ 0", X_i >= 0, "an absolute value"),
    _cited("X_ii", Eq(X_i, Abs(G_ii / m - K_ii), evaluate=False), "abbreviation"),
    _cited("X_jj", Abs(A_j - rho) <= s2 * Rational(8, 7) * acc, "Lemma 9 for j, times σ_w²"),
    _cited("A_ii", Abs(A_i - rho) <= s2 * Rational(8, 7) * acc, "Lemma 9 for i, times σ_w²"),
    _cited("ρ ≥ 1", rho >= 1, "ρ^(l+1) = σ_w² K_ii + 1"),
    _cited("A_ii ≥ 1", A_i >= 1, "Â_ii = σ_w² G_ii/m + 1"),
    _cited("A_jj ≥ 1", A_j >= 1, "Â_jj = σ_w² G_jj/m + 1"),
    _cited("a ≥ 0", root >= 0, "a root"),
    _cited("a", Eq(root**2, A_i * A_j, evaluate=False), "a = √(Â_ii Â_jj)"),
    _cited("|Q̂| ≤ 1", Abs(q_hat) <= 1, "on [−1, 1]"),
    _cited("|ĉ| ≤ 1", Abs(c_hat) <= 1, "a cosine"),
    _cited("Q 1-Lipschitz", Abs(q_hat - q_o) <= Abs(c_hat - c_o), "|Q'| ≤ 1"),
    _cited("aĉ", Eq(root * c_hat, s2 * y + x, evaluate=False), "Â_ij = σ_w² G_ij/m + x"),
    _cited("ρc", Eq(rho * c_o, s2 * K_o + x, evaluate=False), "definition of cos θ"),
    _cited("X_ij", Eq(X_o, Abs(y - K_o), evaluate=False), "abbreviation"),
    _cited("Bernstein ij", hat_2 <= acc, "|G_ij/m − Ĝ_ij| at l + 1, with the net"),
    _cited("triangle ij", X_o1 <= hat_2 + Abs(root * q_hat - rho * q_o), "(21)"),
    _cited("induction ij", X_o <= Rational(16, 7) * acc, "0 at l = 0"),
    _cited("Frobenius", G_5 <= n * X_o, "n² entries, X_ij the largest"),
    _cited("log 1/ε", Eq(log_acc, depth * L_q, evaluate=False), "ε = q^l, L_q = log(1/q)"),
)

CONCENTRATION_PROOF = (
    Step(
        "E Ĝ_ii",
        Eq(mom * h2, h2),
        ("relu moment", "‖h‖² > 0"),
        fix=Eq(2 * mom * h2, h2),
        text="Ĝ is an expectation over w ~ N(0, 2I), the law of the rows of M; the print has N(0, I)",
    ),
    Step("Lemma 9 recursion", X_i1 <= s2 * X_i + acc, ("triangle ii", "Bernstein ii", "Ĝ_ii")),
    Step(
        "Lemma 9 induction",
        X_i1 <= (1 - s2 * P_l) / (1 - s2) * acc,
        ("Lemma 9 recursion", "induction ii", "A1"),
    ),
    Step("Lemma 9 8/7", (1 - P_l) / (1 - s2) <= Rational(8, 7), ("P ≥ 0", "A1")),
    Step(
        "(23)",
        Abs(G_ii - K_ii) <= (1 - P_l) / (1 - s2) * acc,
        ("X_ii", "induction ii", "ε > 0"),
        fix=Abs(G_ii / m - K_ii) <= (1 - P_l) / (1 - s2) * acc,
        text="the print drops 1/m",
    ),
    Step("Lemma 9 constant", (1 - P_l) / (1 - s2) * acc <= Rational(8, 7) * acc, ("Lemma 9 8/7", "ε > 0")),
    Step(
        "(22)",
        X_i <= acc,
        ("induction ii", "Lemma 9 constant", "ε > 0", "X_ii ≥ 0", "A1"),
        fix=X_i <= Rational(8, 7) * acc,
        text="(23) carries a factor up to 8/7; Ω in the probability absorbs it",
    ),
    Step(
        "Lemma 10 split",
        Abs(root * q_hat - rho * q_o) <= Abs((root - rho) * q_hat) + Abs(rho * (q_hat - q_o)),
    ),
    Step("Lemma 10 first", Abs((root - rho) * q_hat) <= Abs(root - rho), ("|Q̂| ≤ 1",)),
    Step("Lemma 10 second", Abs(rho * (q_hat - q_o)) <= rho * Abs(c_hat - c_o), ("Q 1-Lipschitz", "ρ ≥ 1")),
    Step(
        "Lemma 10 third",
        rho * Abs(c_hat - c_o) <= Abs(root - rho) + Abs(root * c_hat - rho * c_o),
        ("|ĉ| ≤ 1", "ρ ≥ 1"),
    ),
    Step(
        "Lemma 10 2|a − ρ|",
        Abs(root * q_hat - rho * q_o) <= 2 * Abs(root - rho) + Abs(root * c_hat - rho * c_o),
        ("Lemma 10 split", "Lemma 10 first", "Lemma 10 second", "Lemma 10 third"),
    ),
    Step("Lemma 10 A_ii", Abs(A_i - rho) <= acc / 7, ("A_ii", "ε > 0", "A1")),
    Step("Lemma 10 A_jj", Abs(A_j - rho) <= acc / 7, ("X_jj", "ε > 0", "A1")),
    Step(
        "Lemma 10 a above",
        root - rho <= acc / 7,
        ("a", "a ≥ 0", "Lemma 10 A_ii", "Lemma 10 A_jj", "ρ ≥ 1", "A_ii ≥ 1", "A_jj ≥ 1", "ε > 0"),
    ),
    Step(
        "Lemma 10 a below",
        rho - root <= acc / 7,
        ("a", "a ≥ 0", "Lemma 10 A_ii", "Lemma 10 A_jj", "ρ ≥ 1", "A_ii ≥ 1", "A_jj ≥ 1", "ε > 0"),
    ),
    Step("Lemma 10 |a − ρ|", Abs(root - rho) <= acc, ("Lemma 10 a above", "Lemma 10 a below", "ε > 0")),
    Step(
        "Lemma 10 |a − ρ| sharper",
        Abs(root - rho) <= acc / 7,
        ("Lemma 10 a above", "Lemma 10 a below"),
        text="not printed; the next line needs 2|a − ρ| ≤ ε",
    ),
    Step("Lemma 10 σ²X", Eq(Abs(root * c_hat - rho * c_o), s2 * X_o), ("aĉ", "ρc", "X_ij")),
    Step(
        "Lemma 10 Ĝ",
        Abs(root * q_hat - rho * q_o) <= s2 * X_o + acc,
        ("Lemma 10 2|a − ρ|", "Lemma 10 |a − ρ| sharper", "Lemma 10 σ²X", "ε > 0"),
    ),
    Step(
        "Lemma 10 recursion",
        X_o1 <= s2 * X_o + acc,
        ("triangle ij", "Bernstein ij", "Lemma 10 Ĝ", "ε > 0"),
        fix=X_o1 <= s2 * X_o + 2 * acc,
        text="ε twice, as in the sketch of Theorem 5",
    ),
    Step("Lemma 10 induction", X_o1 <= Rational(16, 7) * acc, ("Lemma 10 recursion", "induction ij", "ε > 0", "A1")),
    Step(
        "Theorem 5",
        G_5 <= n * acc,
        ("Frobenius", "induction ij", "ε > 0"),
        fix=G_5 <= Rational(16, 7) * n * acc,
        text="the factor 16/7 is absorbed by Ω in the probability",
    ),
    Step("E.1 l log 1/ε", Eq(depth * log_acc, depth**2 * L_q), ("log 1/ε",), text="O(l²), with log(1/q) inside O"),
    Step("E.1 l²", depth**2 <= exp(depth**2), text="the factor l² of the union bound"),
)

LING_CONCENTRATION = Theorem(
    key="ling-concentration",
    title="layer l of a random DEQ concentrates around the population Gram matrix",
    source=_source("Theorem 5"),
    family="ling",
    setting="random W and U (Assumption 1), drawn anew for each trial",
    measured={
        s2: q.sigma2,
        n: q.samples,
        m: q.width,
        depth: q.depth,
        **INPUTS,
        eps: q.resolution,
        p_m: q.concentration_probability,
        p_2m: q.concentration_probability_double,
        worst_gap: q.worst_gap,
    },
    chosen=TAU,
    hypotheses=(
        VARIANCE,
        DRAWN,
        UNIT,
        ORTHOGONAL,
        Hypothesis("not empty", m * (8 * s2) ** depth > depth**2 + 2 * log(n), "else the claimed probability is ≤ 0"),
    ),
    conclusions=(
        Conclusion("at m", p_m + eps >= 1 - n**2 * exp(depth**2 - m * (8 * s2) ** depth)),
        Conclusion("at 2m", p_2m + eps >= 1 - n**2 * exp(depth**2 - 2 * m * (8 * s2) ** depth)),
    ),
    reading=(
        ORTHOGONAL_READING,
        "Ω and O inside the probability are read with the constant 1; where that makes the claimed "
        "probability 0 or less, the theorem says nothing and is reported as not applying.",
        RESOLUTION,
    ),
    facts=CONCENTRATION_FACTS,
    proof=CONCENTRATION_PROOF,
    settings=("trials", "depth"),
    defaults={**RANDOM, "depth": "4"},
    quick={**QUICK, "width": "100", "depth": "2"},
)

LING_GRAM_REPAIRED = replace(
    _repaired(LING_GRAM),
    hypotheses=(
        VARIANCE,
        DRAWN,
        UNIT,
        NOT_PARALLEL,
        Hypothesis("width", m >= n**2 / lam_star**2 * (log(n / lam_star) ** 2 + log(1 / t)), "Ω read as 1"),
    ),
    facts=_gram_facts(A**2 + B, "the width with log² in place of log, κ in place of Ω"),
    proof=_corrected((*GRAM_PROOF, *_width(A**2 + B))),
    reading=(
        *_repaired(LING_GRAM).reading,
        "The exponent of Theorem 5 holds O(l²), and Section 4.4 takes l of order log(n/λ_*). The width must then grow "
        "with log²(n/λ_*) + log(1/t), where the print has log(n/(λ_* t)).",
    ),
)
LING_DEPTH_REPAIRED = _repaired(LING_DEPTH)
LING_CONCENTRATION_REPAIRED = _repaired(LING_CONCENTRATION)
