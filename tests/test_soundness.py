"""Soundness: certified verdicts against an independent reference, on thousands of small networks.

Five laws. (1) No verdict is wrong, ever. (2) Away from ties fewer than 1 % are UNDECIDED. (3) Constants
that the checker chose satisfy what it says, and where it says that none do, a search finds none.
(4) Every enclosure contains the true quantity. (5) These laws catch errors that are planted on purpose.
The instances are seeded: a failure names a family and a number that reproduce it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from mpmath import mpf
from numpy.random import Generator
from tests.reference import DESCENT, FLOW, GAMMA, GAMMA0, Instance, Reference, Sides, hypotheses, mp

from deqcheck import check, library, rigor
from deqcheck.conditions import choose, refute
from deqcheck.enclosure import Enclosure
from deqcheck.equilibrium import anderson, closed_form, engine, picard
from deqcheck.equilibrium.solution import NotConverged, Solution
from deqcheck.family.relu import ReluPoint
from deqcheck.models.relu import ReluImplicit
from deqcheck.statement import Theorem
from deqcheck.truth import FAILS, HOLDS, UNDECIDED, Truth
from tests import reference

GD, GF = library.theorem("gd-relu"), library.theorem("gf-relu")
BOTH = (GD, GF)
NEAR = 1e-6
"""Sides nearer than this count as a tie, where UNDECIDED is a fair answer."""
SLACK = mp.ldexp(1, -230)
"""The reference is good to this relative error; enclosures have 192 bits."""
DELTAS = (1e-3, 1e-6, 1e-9, 1e-12, 1e-15)

Constants = Mapping[str, float]


# --- cases ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A network with its constants, the theorems to judge and where it came from."""

    name: str
    truth: Reference
    constants: Constants
    theorems: tuple[Theorem, ...] = BOTH

    @property
    def point(self) -> ReluPoint:
        """What the checker sees."""
        i = self.truth.instance
        W, A, b, X, y = (
            torch.from_numpy(np.ascontiguousarray(a, dtype=np.float64))
            for a in (i.W, i.A, i.b, i.X, i.y)
        )
        return ReluPoint(ReluImplicit(W, A, b, i.gamma), X, y)


@dataclass(frozen=True)
class Row:
    """One hypothesis of one case: what the checker said and what is true."""

    name: str
    number: str
    said: Truth
    sides: Sides | None

    @property
    def is_wrong(self) -> bool:
        return self.sides is not None and self.said is (FAILS if self.sides.truth else HOLDS)

    @property
    def is_near(self) -> bool:
        return self.sides is None or not self.sides.apart > NEAR


def sizes(rng: Generator, wide: bool = False) -> tuple[int, int, int]:
    """N, d, m; with `wide` no more samples than units."""
    N, d, m = int(rng.integers(1, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 11))
    return (min(N, m), d, m) if wide else (N, d, m)


def implicit_weights(rng: Generator, m: int, kind: int) -> np.ndarray:
    """A with negative entries, without, the identity, its negative, zero, sparse, of rank one."""
    G = rng.standard_normal((m, m))
    return [
        G, np.abs(G), np.eye(m), -np.eye(m), np.zeros((m, m)), G * (rng.random((m, m)) < 0.3),
        np.outer(G[0], G[-1]), -np.abs(G),
    ][kind % 8]  # fmt: skip


def contraction(rng: Generator, kind: int) -> float:
    """gamma ||A||: mostly comfortable, at times a hair below 1."""
    return [0.5, 0.1, float(rng.uniform(0.01, 0.95)), 0.9, 0.999, 0.9999999, 1e-6][kind % 7]


def gamma_for(A: np.ndarray, wanted: float) -> float:
    top = float(np.linalg.norm(A, 2))
    return wanted / top if top > 0 else wanted


def instance(rng: Generator, number: int, wide: bool = False) -> Instance:
    """A Gaussian network with one of the kinds of A, b = 0 in every third."""
    N, d, m = sizes(rng, wide)
    A = implicit_weights(rng, m, number)
    b = np.zeros(m) if number % 3 == 0 else rng.standard_normal(m) / math.sqrt(m)
    return Instance(
        W=rng.standard_normal((d, m)),
        A=A,
        b=b,
        gamma=gamma_for(A, contraction(rng, number // 8)),
        X=rng.standard_normal((N, d)),
        y=rng.standard_normal(N),
    )


def constants(rng: Generator, q: Reference) -> dict[str, float]:
    """C_1, C_3 and eta over several decades; C_2 such that gamma_0 < 1."""
    room = float(1 / q.gamma - q.norm_A) if q.well_posed else 1.0
    return {
        "C_1": float(10 ** rng.uniform(-3, 3)),
        "C_2": max(room, 1e-300) * float(rng.choice([0.5, 0.1, 0.9, 1e-3])),
        "C_3": float(10 ** rng.uniform(-3, 3)),
        "eta": float(10 ** rng.uniform(-12, 0)),
    }


def changed(i: Instance, **values: object) -> Instance:
    return dataclasses.replace(i, **values)  # type: ignore[arg-type]


def plain(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    q = Reference(instance(rng, number))
    yield q, constants(rng, q)


def satisfied(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Small labels and output weights: the conditions hold in many of these."""
    i = instance(rng, number, wide=True)
    small = float(10 ** rng.uniform(-12, -3))
    q = Reference(changed(i, b=i.b * 1e-3 * small, y=i.y * small))
    c = constants(rng, q)
    yield q, {**c, "C_1": 1.0, "C_3": float(10 ** rng.uniform(-3, -1)), "eta": c["eta"] * 1e-6}


def ill_conditioned(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Nearly parallel inputs, so that sigma_min(Z) is 1e-4 to 1e-14 of the largest."""
    i = instance(rng, number, wide=True)
    ratio = 10.0 ** -(4 + number % 11)
    X = i.X[:1] + ratio * i.X
    q = Reference(changed(i, X=X))
    c = constants(rng, q)
    if number % 2:  # bring the conditions within reach
        small = ratio**3 * 1e-3
        q, c = Reference(changed(i, X=X, b=i.b * small, y=i.y * small**2)), {**c, "C_3": small}
    yield q, c


def rank_deficient(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Repeated inputs, a zero input, a sample without features, more samples than units."""
    i = instance(rng, number)
    N, m = len(i.X), i.W.shape[1]
    match number % 4:
        case 0:
            X, W = np.concatenate([i.X, i.X[:1] * float(2.0 ** rng.integers(-3, 3))])[-6:], i.W
        case 1:
            X, W = i.X * (np.arange(N) != number % N)[:, None], i.W
        case 2:
            X, W = np.concatenate([-np.abs(i.X[:1]), np.abs(i.X[1:])]), np.abs(i.W)
        case _:
            X, W = rng.standard_normal((m + 1, i.X.shape[1])), i.W
    i = changed(i, X=X, W=W, y=rng.standard_normal(len(X)))
    q = Reference(i)
    yield q, constants(rng, q)


def scales(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Factors from 1e-150 to 1e150 on W, b, y, X and A, and constants to match."""
    i = instance(rng, number)
    which = rng.random(5) < (0.4 if number % 3 else 1.0)
    w, a, o, x, l = (float(f) for f in 10 ** np.where(which, rng.uniform(-150, 150, 5), 0))  # noqa: E741
    i = changed(i, W=i.W * w, A=i.A * a, b=i.b * o, X=i.X * x, y=i.y * l, gamma=i.gamma / a)
    q = Reference(i)
    c = constants(rng, q)
    yield q, {**c, "C_1": c["C_1"] * w, "C_3": c["C_3"] * (o if number % 2 else 1.0)}


def denormal(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Some or all entries of one array below the smallest normal float."""
    i = instance(rng, number)
    name = ("W", "A", "b", "X", "y")[number % 5]
    a = getattr(i, name)
    tiny = a * 5e-324 * float(2.0 ** rng.integers(0, 60))
    some = np.where(rng.random(a.shape) < 0.5, tiny, a)
    q = Reference(changed(i, **{name: tiny if number % 2 else some}))
    yield q, constants(rng, q)


def perfect(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Labels equal to the rounded predictions, or to zero with b = 0, or almost."""
    i = instance(rng, number, wide=True)
    y = np.array([float(reference.real(v)) for v in Reference(i).prediction.entries()])
    if number % 3 == 1:
        y = y * (1 + 10.0 ** -rng.integers(6, 16))
    q = Reference(changed(i, y=y))
    c = constants(rng, q)
    yield q, {**c, "C_3": float(10 ** rng.uniform(-9, 0))}


def ill_posed(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """gamma ||A|| at or above 1, gamma_0 above 1, and gamma not positive."""
    i = instance(rng, number)
    m = i.W.shape[1]
    A = implicit_weights(rng, m, number % 4)
    match number % 4:
        case 0:
            i = changed(i, A=A, gamma=gamma_for(A, float(1 + 10 ** rng.uniform(-14, 1))))
        case 1:
            i = changed(i, A=np.eye(m) * 2.0 ** (number % 9), gamma=2.0 ** -(number % 9))
        case 2:
            i = changed(i, A=A, gamma=gamma_for(A, 0.9))
        case _:
            i = changed(i, A=A, gamma=0.0 if number % 8 == 3 else -gamma_for(A, 0.5))
    q = Reference(i)
    c = constants(rng, q)
    yield q, {**c, "C_2": 10 * c["C_2"]} if number % 4 == 2 else c


def near_ties(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants, tuple[Theorem, ...]]]:
    """One hypothesis at a relative distance of 1e-3 to 1e-15 from equality, on either side."""
    i = instance(rng, number, wide=True)
    i = changed(i, b=i.b * 1e-3, gamma=min(i.gamma, gamma_for(i.A, 0.95)))
    q = Reference(i)
    c = constants(rng, q)
    if not q.alpha_0 > 0:
        return
    for delta in DELTAS:
        for factor in (1 - delta, 1 + delta):
            yield from _tie(rng, q, c, factor)


def _tie(
    rng: Generator, q: Reference, c: dict[str, float], factor: float
) -> Iterator[tuple[Reference, Constants, tuple[Theorem, ...]]]:
    room = 1 / q.gamma - q.norm_A
    yield q, {**c, "C_2": float(room * factor)}, BOTH
    right = reference.conditions(q, *(mp.mpf(c[f"C_{k}"]) for k in (1, 2, 3)))
    bound = min(4 / q.alpha_0**2, right["(20)"])
    yield q, {**c, "eta": float(bound * factor)}, (GD,)
    # (14) to (18) are linear in the distance of the labels from the predictions.
    direction = rng.standard_normal(len(q.instance.y))
    direction /= np.linalg.norm(direction)
    prediction = np.array([float(reference.real(v)) for v in q.prediction.entries()])
    for n, k in (("(14)", 2), ("(15)", 3), ("(17)", 2), ("(18)", 3)):
        wanted = q.alpha_0**k / (right[n] / q.r_0) * factor
        y = prediction + direction * float(wanted)
        yield q.relabelled(y), c, (GF,) if n in FLOW else (GD,)
    # (19) is quadratic in lambda_3.
    wanted = q.alpha_0 * mp.sqrt(factor / (right["(19)"] / (q.norm_b + c["C_3"]) ** 2)) - q.norm_b
    if wanted > 0:
        yield q, {**c, "C_3": float(wanted)}, (GD,)


def exact_ties(rng: Generator, number: int) -> Iterator[tuple[Reference, Constants]]:
    """Powers of two throughout, and a label, a step or a C_2 that meets its bound exactly."""
    m = int(rng.integers(1, 4))
    two = [2.0 ** int(k) for k in rng.integers(-3, 4, 8)]
    A = np.eye(m) * two[0]
    gamma = 0.5 / two[0] / 2.0 ** int(rng.integers(0, 3))
    zero = np.zeros(m)
    i = Instance(np.eye(m) * two[1], A, zero, gamma, np.eye(m)[:1] * two[2], np.array([two[3]]))
    q = Reference(i)
    c = {"C_1": two[1], "C_2": 0.5 / gamma - two[0] or two[0] / 2, "C_3": two[4], "eta": two[5]}
    yield q, {**c, "C_2": 1 / gamma - two[0]}
    if gamma * (two[0] + c["C_2"]) >= 1:
        return
    right = reference.conditions(q, *(mpf(c[f"C_{k}"]) for k in (1, 2, 3)))
    yield q, {**c, "eta": float(min(4 / q.alpha_0**2, right["(20)"]))}
    for n, k in (("(14)", 2), ("(15)", 3), ("(17)", 2), ("(18)", 3)):
        yield q.relabelled(np.array([float(q.alpha_0**k / (right[n] / q.r_0))])), c


FAMILIES: dict[str, tuple[Callable[..., Iterator[tuple]], int]] = {
    "plain": (plain, 560),
    "satisfied": (satisfied, 240),
    "ill-conditioned": (ill_conditioned, 220),
    "rank-deficient": (rank_deficient, 160),
    "scales": (scales, 300),
    "denormal": (denormal, 120),
    "perfect": (perfect, 160),
    "ill-posed": (ill_posed, 80),
    "near-ties": (near_ties, 12),
    "exact-ties": (exact_ties, 20),
}


def cases(family: str, limit: int | None = None) -> Iterator[Case]:
    make, count = FAMILIES[family]
    for number in range(min(count, limit or count)):
        rng = np.random.default_rng([zlib.crc32(family.encode()), number])
        for part, made in enumerate(make(rng, number)):
            yield Case(f"{family} {number}.{part}", *made)


# --- judging --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> Iterator[None]:
    """The checker compiles a theorem's margins at every call; here there are thousands of calls."""
    original = choose.landscape
    known: dict[tuple[int, frozenset], tuple[Theorem, choose.Landscape]] = {}

    def landscape(theorem: Theorem, pinned: frozenset) -> choose.Landscape:
        key = (id(theorem), pinned)
        if key not in known:
            known[key] = theorem, original(theorem, pinned)
        return known[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "landscape", landscape)
        yield


def assess(theorem: Theorem, point: ReluPoint, pinned: Constants) -> check.Assessment | None:
    """The certified side; None where no equilibrium was found, which leaves everything undecided."""
    pins = {theorem.symbols[n]: v for n, v in pinned.items() if n in theorem.symbols}
    try:
        return check.assess(theorem, point, pins, check.Clock(check.silent))
    except NotConverged:
        return None


def inside(enclosure: Enclosure, value: object) -> bool:
    """Whether the true value lies between the ends, up to the error of the reference."""
    lo, hi = (_real(end) for end in (enclosure.lo, enclosure.hi))
    return bool(lo - abs(lo) * SLACK <= value <= hi + abs(hi) * SLACK)


def _real(end: object) -> object:
    if not end.is_finite():  # type: ignore[attr-defined]
        return mp.inf if end > 0 else -mp.inf  # type: ignore[operator]
    mantissa, exponent = end.man_exp()  # type: ignore[attr-defined]
    return mp.ldexp(int(mantissa), int(exponent))


def outside(case: Case, theorem: Theorem, found: check.Assessment) -> list[str]:
    """Quantities whose enclosure misses the truth."""
    return [
        f"{case.name}, {theorem.key}: {name} = {mp.nstr(value, 20)} is not in "
        f"{found.measured[theorem.symbols[name]]}"
        for name, value in case.truth.quantities()
        if not inside(found.measured[theorem.symbols[name]], value)
    ]


def examine(case: Case) -> tuple[list[Row], list[str]]:
    """Every hypothesis beside its truth, and every enclosure that misses."""
    rows, missed = [], []
    point = case.point
    true = hypotheses(case.truth, case.constants)
    for theorem in case.theorems:
        found = assess(theorem, point, case.constants)
        for h in theorem.hypotheses:
            said = UNDECIDED if found is None else found.judgements[h.id].truth
            rows.append(Row(f"{case.name}, {theorem.key}", h.id, said, true.get(h.id)))
        if found is not None:
            missed += outside(case, theorem, found)
    return rows, missed


@functools.cache
def examined(family: str) -> tuple[int, list[Row], list[str]]:
    """All cases of a family: their number, the rows and the enclosures that miss."""
    total, rows, missed = 0, [], []
    for case in cases(family):
        more, misses = examine(case)
        total, rows, missed = total + 1, rows + more, missed + misses
    return total, rows, missed


def describe(row: Row) -> str:
    assert row.sides is not None
    lhs, claim, rhs = row.sides
    return f"{row.name}: {row.number} {row.said.value}, yet {mp.nstr(lhs, 20)} {claim} {mp.nstr(rhs, 20)}"


# --- laws 1, 2 and 4: constants given -------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_no_verdict_is_wrong(family: str) -> None:
    _, rows, _ = examined(family)
    wrong = [describe(row) for row in rows if row.is_wrong]
    assert not wrong, f"{len(wrong)} wrong verdicts:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_enclosure_contains_the_truth(family: str) -> None:
    _, _, missed = examined(family)
    assert not missed, f"{len(missed)} enclosures miss:\n" + "\n".join(missed[:20])


def test_few_verdicts_are_undecided_away_from_ties() -> None:
    rows = [row for family in FAMILIES for row in examined(family)[1]]
    away = [row for row in rows if not row.is_near]
    undecided = [row for row in away if row.said is UNDECIDED]
    kinds = Counter((row.name.split()[0], row.number) for row in undecided)
    rate = len(undecided) / len(away)
    message = f"{rate:.3%} of {len(away)} verdicts away from ties are undecided: {kinds.most_common(12)}"
    assert rate < 0.01, message


def test_the_instances_are_many_and_of_every_kind() -> None:
    """Two thousand instances; each hypothesis true, false, and near a tie on either side."""
    totals = {family: examined(family)[0] for family in FAMILIES}
    assert sum(totals.values()) >= 2000, totals
    rows = [row for family in FAMILIES for row in examined(family)[1] if row.sides is not None]
    for number in {*DESCENT, *FLOW} - {GAMMA, "η > 0"}:
        here = [row for row in rows if row.number == number]
        for truth, said in ((True, HOLDS), (False, FAILS)):
            assert sum(row.said is said for row in here) >= 100, (number, said)
            close = [r for r in here if 0 < r.sides.apart < 2e-9 and r.sides.truth is truth]
            assert len(close) >= 10, (number, truth, len(close))
        assert sum(row.sides.apart == 0 for row in here) >= 3 or number == "(19)", number


# --- law 3: constants free ------------------------------------------------------------------------------


def confirm_free(case: Case, theorem: Theorem, rng: Generator) -> tuple[str | None, Truth]:
    """What is wrong with the verdict when the checker chooses the constants, if anything."""
    numbers = FLOW if theorem is GF else DESCENT
    found = assess(theorem, case.point, {})
    if found is None:
        return None, UNDECIDED
    chosen = {s.name: v for s, v in found.constants.items()}
    sides = hypotheses(case.truth, chosen)
    for h in theorem.hypotheses:
        if found.judgements[h.id].truth is HOLDS and not (h.id in sides and sides[h.id].truth):
            return f"{case.name}, {theorem.key}: {h.id} does not hold at {chosen}", HOLDS
    if found.truth is FAILS and case.truth.well_posed and case.truth.alpha_0 > 0:
        logs, margin = reference.search(case.truth, numbers, rng)
        tried = dict(zip(("C_1", "C_2", "C_3"), (float(v) for v in np.exp(logs)), strict=True))
        if margin > -1e-6 and all(v > 0 for v in tried.values()):
            sides = hypotheses(case.truth, tried)
            if all(sides[n].truth for n in numbers if n in sides):
                fails = [n for n, j in found.judgements.items() if j.truth is FAILS]
                return f"{case.name}, {theorem.key}: {fails} FAILS, yet {tried} works", FAILS
    return None, found.truth


def free_cases(count: int) -> Iterator[Case]:
    """Networks at which the best worst margin over all constants is near zero, on either side, or far."""
    for number in range(count):
        rng = np.random.default_rng([77, number])
        i = instance(rng, number, wide=True)
        i = changed(i, b=np.zeros_like(i.b), gamma=min(i.gamma, gamma_for(i.A, 0.95)))
        q = Reference(i)
        if number % 4 == 3:  # as they come, at any scale
            w, x, l = (float(10 ** rng.uniform(-120, 120)) for _ in range(3))  # noqa: E741
            yield Case(f"free {number}", Reference(changed(i, W=i.W * w, X=i.X * x, y=i.y * l)), {})
            continue
        if not q.alpha_0 > 0:
            yield Case(f"free {number}", q, {})
            continue
        theorem, numbers = ((GD, DESCENT), (GF, FLOW))[number % 2]
        low, high = -80.0, 40.0  # the labels' scale at which the best margin changes sign
        for _ in range(22):
            middle = (low + high) / 2
            _, margin = reference.search(q.relabelled(i.y * math.exp(middle)), numbers, rng, 400)
            low, high = (middle, high) if margin > 0 else (low, middle)
        away = float(rng.choice([1e-4, 1e-2, 0.1, 1.0, 10.0])) * (-1) ** (number // 2)
        scaled = q.relabelled(i.y * math.exp(low + away))
        yield Case(f"free {number}", scaled, {}, (theorem,))


def test_free_constants() -> None:
    wrong, verdicts = [], Counter()
    for case in free_cases(120):
        for theorem in case.theorems:
            fault, said = confirm_free(case, theorem, np.random.default_rng(5))
            verdicts[said] += 1
            wrong += [fault] if fault else []
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])
    assert min(verdicts[HOLDS], verdicts[FAILS]) >= 20, verdicts
    assert verdicts[UNDECIDED] <= 0.25 * verdicts.total(), verdicts
