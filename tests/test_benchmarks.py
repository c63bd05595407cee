"""The random questions of the benchmark: the same for the same seed, and all of them valid. Its
counters count alike."""

from collections import Counter

import pytest
from benchmarks import counters
from benchmarks.atlas import Question, Worker, evaluate, questions

from shuffledp.guarantee import Guarantee
from shuffledp.randomizers import REGISTRY

KINDS = sorted(REGISTRY)  # other tests may add to it
MANY = questions(3, 300, KINDS)


def test_the_same_seed_asks_the_same() -> None:
    assert questions(3, 300, KINDS) == MANY
    assert questions(4, 300, KINDS) != MANY
    assert questions(3, 10, ["rr"]) == [one for one in MANY if one.randomizer == "rr"][:10]


def test_every_question_is_about_a_round_that_exists() -> None:
    for one in MANY:
        asked = evaluate(one.asked)
        assert isinstance(asked, Guarantee) and hasattr(asked, one.method), one.line
        assert 1e-12 <= one.value <= 1e-4


def test_every_randomizer_and_every_kind_of_question_has_its_turn() -> None:
    assert set(Counter(one.randomizer for one in MANY)) == set(KINDS)
    assert min(Counter(one.method for one in MANY).values()) > 30
    for part, least in {"rounds=": 100, "poisson": 60, "/": 60}.items():
        assert sum(part in one.asked for one in MANY) > least
    assert sum("sample_rate" not in one.asked for one in MANY) > 60


def test_a_handful_is_answered_and_what_takes_too_long_is_not() -> None:
    slow = Question("rr", "__import__('time')", "sleep", 60.0)
    wrong = Question("rr", "Shuffle(PureLDP(1.0), users=10)", "epsilon_bounds", -1.0)
    near = Question("rr", "Shuffle(PureLDP(1.0), users=100)", "delta_bounds", 1e-6, near=1.0)
    worker = Worker(limit=1.0)
    try:
        assert "stopped after 1 s" in worker.answer(slow).error
        assert "InvalidParameter" in worker.answer(wrong).error
        worker.limit = 60.0
        assert worker.answer(near).value == pytest.approx((1e-6, 1e-6), rel=0.9)
        for one in questions(3, 4, ["pure-ldp", "rr"]):
            answer = worker.answer(one)
            assert not answer.error, answer
            assert answer.seconds > 0 and evaluate(answer.question.line) == answer.value
    finally:
        worker.stop()


def test_counters_are_compared_on_the_same_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [(randomizer, 300, 20) for randomizer, _, _ in counters.CASES]
    monkeypatch.setattr(counters, "CASES", few)
    rows = counters.measure(repeats=1)
    counters.show(rows)
    assert all(row["count"] > 0 and row["SQLite"] > 0 for row in rows)
    assert capsys.readouterr().out.count("\n") == 3 + len(few) + 1
