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

from sympy import Rational, exp, log, sqrt, symbols

from deqcheck.quantities import ling as q
from deqcheck.statement import Conclusion, Hypothesis, Source, Theorem, fixed, least

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


def _repaired(theorem: Theorem) -> Theorem:
    """The same statement for inputs that are merely not parallel, on inputs as given."""
    return replace(
        theorem,
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
    settings=("trials",),
    defaults={"width": "100", "samples": "1", "trials": "500"},
    quick={"width": "60", "samples": "1", "dim": "5", "trials": "400"},
)

room = symbols("t_w", real=True)

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
    settings=("depth",),
    quick={"width": "10", "samples": "12", "dim": "20", "depth": "10"},
)

LING_POPULATION_REPAIRED = _repaired(LING_POPULATION)

# --- Theorems 2, 4 and 5 ---------------------------------------------------------------------------

least_ratio, worst_decay, worst_gap = symbols("least_ratio worst_decay worst_gap", real=True)
RANDOM = {"width": "200", "samples": "5", "dim": "20", "trials": "30"}
QUICK = {"samples": "2", "dim": "5", "trials": "30"}

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
    settings=("trials",),
    defaults=RANDOM,
    quick={**QUICK, "width": "100"},
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
    settings=("trials", "depth"),
    defaults=RANDOM,
    quick={**QUICK, "width": "40", "depth": "6"},
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
    settings=("trials", "depth"),
    defaults={**RANDOM, "depth": "4"},
    quick={**QUICK, "width": "100", "depth": "2"},
)

LING_GRAM_REPAIRED = _repaired(LING_GRAM)
LING_DEPTH_REPAIRED = _repaired(LING_DEPTH)
LING_CONCENTRATION_REPAIRED = _repaired(LING_CONCENTRATION)
