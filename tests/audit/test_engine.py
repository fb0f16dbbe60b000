"""The audit engine: it proves what is true, refutes what is false with exact witnesses, and trusts no single solver."""

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sympy import Eq, Max, Min, Rational, Symbol, exp, sqrt, symbols

from deqcheck.audit import document, slack, smt
from deqcheck.audit.inspect import Verdict, audit
from deqcheck.audit.pool import Pool
from deqcheck.audit.problem import Problem, holds_at, is_witness
from deqcheck.audit.prove import Status, decide
from deqcheck.audit.smt import Answer
from deqcheck.enclosure import Enclosure
from deqcheck.report import audits
from deqcheck.statement import Conclusion, Fact, Hypothesis, Quantity, Source, Step, Theorem, free, largest

a, b, c, g, eta = symbols("a b c g eta", real=True)
TRUE = {
    "square": ([a >= 0, b >= 0], a**2 + b**2 >= 2 * a * b),
    "slack": ([b >= 0, a >= b], a**2 >= a * b),
    "quotient": ([g >= 0, g < 1, a >= 0], a / (1 - g) >= a),
    "root": ([a > 0, b > 0], sqrt(a * b) <= (a + b) / 2),
    "maximum": ([a >= 0, b >= 0], Max(a, b) <= a + b),
    "minimum": ([a >= 0, b >= 0], Min(a, b) ** 2 <= a * b),
    "geometric": ([eta > 0, a > 0, eta * a**2 < 4], 1 - sqrt(1 - eta * a**2 / 4) >= eta * a**2 / 8),
    "exponential": ([a >= 0], exp(a) >= 1 + a),
    "definition": ([a >= 0, Eq(c, a + 1)], c > 0),
}
FALSE = {
    "square": ([a >= 0, b >= 0], a**2 + b**2 >= 3 * a * b),
    "the printed 4": ([a >= 4 * b, b > 0], a - 4 * b >= a / 2),
    "strict": ([a >= 0], a > 0),
    "root": ([a > 0, b > 0], sqrt(a * b) >= (a + b) / 2),
    "premise too weak": ([g >= 0, a >= 0], a * (1 - g) >= 0),
}


@pytest.mark.parametrize("name", TRUE)
def test_true_steps_are_proved(name: str) -> None:
    premises, claim = TRUE[name]
    assert decide(Problem(tuple(premises), claim)).status is Status.PROVED


@pytest.mark.parametrize("name", FALSE)
def test_false_steps_are_refuted_by_an_exact_point(name: str) -> None:
    premises, claim = FALSE[name]
    problem = Problem(tuple(premises), claim)
    finding = decide(problem)
    assert finding.status is Status.REFUTED
    assert all(isinstance(v, Rational) for v in finding.witness.values())
    assert is_witness(problem, finding.witness)


@pytest.mark.parametrize(("name", "needed"), [("slack", 1), ("quotient", 1), ("maximum", 0), ("definition", 1)])
def test_a_true_step_with_a_premise_removed_is_not_proved(name: str, needed: int) -> None:
    premises, claim = TRUE[name]
    weaker = [p for i, p in enumerate(premises) if i != needed]
    assert decide(Problem(tuple(weaker), claim)).status is not Status.PROVED


def test_a_step_speaks_only_of_points_where_it_is_defined() -> None:
    assert decide(Problem((b > 0,), sqrt(a * b) <= (a + b) / 2)).status is Status.PROVED


def test_a_solver_that_lies_does_not_prove() -> None:
    hard = Problem((a > 0, b > 0), sqrt(a * b) >= (a + b) / 2 + a)

    def liar(name: str, problem: Problem, seconds: float) -> tuple[Answer, dict[Symbol, Rational]]:
        return (Answer.UNSAT, {}) if name == "z3" else smt.ask(name, problem, seconds)

    assert decide(hard, ask=liar, refute=False).status is not Status.PROVED


def test_a_solver_that_invents_a_model_does_not_refute() -> None:
    def inventor(name: str, problem: Problem, seconds: float) -> tuple[Answer, dict[Symbol, Rational]]:
        return Answer.SAT, {s: Rational(1) for s in problem.symbols}

    true = Problem((a >= 0, b >= 0), a**2 + b**2 >= 2 * a * b)
    assert decide(true, ask=inventor).status is Status.UNPROVED


def test_a_slack_proof_can_be_read() -> None:
    text = slack.prove(Problem((b >= 0, a >= b), a**2 >= a * b))
    assert text is not None and "s_a" in text and "numerator" in text


@pytest.mark.parametrize("wrong", [(a >= b, a**2 >= 2 * a * b), (b >= 0, b > 0)])
def test_slack_does_not_prove_what_is_false(wrong: tuple) -> None:
    premise, claim = wrong
    assert slack.prove(Problem((b >= 0, premise), claim)) is None


def test_exact_evaluation() -> None:
    assert holds_at(sqrt(a) <= 2, {a: Rational(4)}) is True
    assert holds_at(a / b >= 1, {a: Rational(1), b: Rational(0)}) is not True
    assert holds_at(a > b, {a: Rational(1, 3), b: Rational(1, 3)}) is False


# --- theorems ----------------------------------------------------------------------------------------


def quantity(name: str) -> Quantity:
    return Quantity(name, name, name, name, lambda *_: Enclosure.exact(1))


TOY = Theorem(
    key="toy",
    title="a toy",
    source=Source("Toys", "Nobody", 2020, "Theorem 1"),
    family="relu",
    setting="none",
    measured={a: quantity("a"), b: quantity("b")},
    chosen={c: free, eta: largest("(2)")},
    definitions={g: a + c},
    hypotheses=(Hypothesis("(1)", a >= 8 * b), Hypothesis("(2)", eta < 1 / (1 + a)), Hypothesis("(3)", a >= b)),
    conclusions=(Conclusion("(i)", g > 0),),
    facts=(Fact("b", b >= 0),),
    proof=(
        Step("s1", a - 4 * b >= a / 2, since=("(1)",)),
        Step("s2", g > 0, since=("(1)",)),
        Step("s3", eta * a <= 1, since=("(2)", "(1)")),
        Step("s4", 2 * a >= 2 * b, since=("s1", "(3)")),
    ),
)


def test_a_sound_toy() -> None:
    found = audit(TOY)
    assert [s.status for s in found.steps] == [Status.PROVED] * 4
    assert found.verdict is Verdict.SOUND
    assert found.satisfiability.status == "SATISFIABLE"
    uses = {h.id: h for h in found.hypotheses}
    assert not uses["(1)"].idle and not uses["(2)"].idle
    assert uses["(3)"].idle, "s4 follows from s1 already"


def test_a_gap_a_misprint_and_a_repair() -> None:
    weak = replace(TOY, hypotheses=(Hypothesis("(1)", a >= 4 * b), *TOY.hypotheses[1:]))
    found = audit(weak)
    assert found.steps[0].status is Status.REFUTED and found.verdict is Verdict.GAP
    data = document.to_json(found)
    assert data["steps"][0]["witness"]
    one = next(h for h in data["hypotheses"] if h["id"] == "(1)")
    assert one["sufficient"] is False and one["factor"] == "2" and one["needed"] == "a ≥ 8 b"
    slip = replace(TOY, proof=(Step("s1", a - 4 * b >= a, since=("(1)",), fix=a - 4 * b >= a / 2), *TOY.proof[1:]))
    found = audit(slip)
    assert found.steps[0].status is Status.MISPRINT and found.verdict is Verdict.MISPRINTED


def test_a_vacuous_toy_is_found_vacuous() -> None:
    vacuous = replace(TOY, facts=(Fact("b", b > 0), Fact("Lemma", a <= 7 * b, cited=True)))
    assert audit(vacuous).satisfiability.status == "VACUOUS"
    assert audit(vacuous).verdict is Verdict.VACUOUS


def test_documents_and_findings() -> None:
    weak = replace(TOY, hypotheses=(Hypothesis("(1)", a >= 4 * b), *TOY.hypotheses[1:]))
    data = [document.to_json(audit(TOY)), document.to_json(audit(weak))]
    assert json.loads(json.dumps(data)) == data
    assert not audits.fails(data[0]) and audits.fails(data[1])
    text = audits.findings(data)
    assert "## Toys" in text and "does not follow" in text


def test_the_cache_is_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def audited() -> dict[str, object]:
        with Pool(1) as pool:
            return document.audited(TOY, ("toy", "toy:repaired"), lambda _: None, pool)

    first = audited()
    assert first["repaired"] == "toy:repaired" and first["sharp"] is None
    with monkeypatch.context() as broken:
        broken.setattr(Pool, "decide", lambda *_a, **_k: pytest.fail("decided again"))
        assert audited() == first
    changed = replace(TOY, hypotheses=(Hypothesis("(1)", a >= 9 * b), *TOY.hypotheses[1:]))
    assert document.fingerprint(changed) != document.fingerprint(TOY)
    for file in (tmp_path / "deqcheck" / "audit").iterdir():
        file.write_text("{", encoding="utf-8")
    assert audited() == first, "a damaged cache is made anew"


def test_a_constant_with_room_is_weighed() -> None:
    roomy = replace(TOY, hypotheses=(Hypothesis("(1)", a >= 64 * b), *TOY.hypotheses[1:]))
    one = next(h for h in audit(replace(roomy, proof=TOY.proof[:1])).hypotheses if h.id == "(1)")
    assert one.sufficient and one.factor == Rational(1, 8)


def test_a_question_without_end_is_stopped() -> None:
    with Pool(1) as pool:
        start = time.perf_counter()
        assert pool.call(time.sleep, 60, seconds=0.2) is None
        assert time.perf_counter() - start < 30
        assert pool.call(abs, -3, seconds=10) == 3, "the next question gets a fresh child"


def test_the_pool_decides_as_the_engine_does() -> None:
    names = list(TRUE)
    with Pool(2) as pool:
        asked = [partial(pool.decide, Problem(tuple(p), c)) for p, c in (*TRUE.values(), *FALSE.values())]
        found = [finding.status for finding in pool.each(asked)]
    assert found == [Status.PROVED] * len(names) + [Status.REFUTED] * len(FALSE)
