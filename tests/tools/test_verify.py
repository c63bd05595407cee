"""verify: its matrices against the oracles', its truths against enumeration, and that it fails."""

import importlib
import math
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

import oracles
from oracles import randomizers as written
from shuffledp import FiniteRandomizer, PureLDP, RandomizedResponse, Shuffle, UnaryEncoding, verify
from shuffledp.cli.app import main
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.laws.binary_law import BinaryLaw
from shuffledp.laws.class_law import ClassLaw, ClassLaws, Law
from shuffledp.randomizers import HadamardResponse, LocalHashing, Randomizer, SubsetSelection
from shuffledp.randomizers.exact import exp_bracket

EPS0 = 1.25
RATIO = written.exact_exp(EPS0)
NAMED: list[tuple[Randomizer, written.Rows]] = [
    (RandomizedResponse(3, eps0=EPS0), written.likelier([[0], [1], [2]], 3, RATIO)),
    (RandomizedResponse(4, gamma=0.3), written.randomized_response(4, Fraction(0.3))),
    (SubsetSelection(4, 2, EPS0), written.subset_selection(4, 2, RATIO)),
    (SubsetSelection(4, 3, EPS0), written.subset_selection(4, 3, RATIO)),
    (HadamardResponse(3, EPS0), written.hadamard_response(3, RATIO)),
    (HadamardResponse(5, EPS0), written.hadamard_response(5, RATIO)),
    (LocalHashing(3, EPS0), written.local_hashing(3, 3, RATIO)),
    (
        UnaryEncoding(3, EPS0),
        written.unary_encoding(3, written.exact_exp(Fraction(EPS0) / 2)),
    ),
    (
        FiniteRandomizer([[0.6, 0.4], [0.3, 0.7]]),
        written.exact_rows([[0.6, 0.4], [0.3, 0.7]]),
    ),
]


@pytest.mark.parametrize(("randomizer", "rows"), NAMED, ids=lambda value: repr(value)[:30])
def test_matrices_against_the_definitions(randomizer: Randomizer, rows: written.Rows) -> None:
    """Equal to 45 digits, exactly stochastic, and no less private than said."""
    found = randomizer.exact()
    matrix = found.make()
    assert (len(matrix), len(matrix[0])) == (found.inputs, found.outputs)
    assert (len(rows), len(rows[0])) == (found.inputs, found.outputs)
    for row, expected in zip(matrix, rows, strict=True):
        assert sum(row) == 1
        for got, exact in zip(row, expected, strict=True):
            assert abs(got - exact) <= exact / 10**45
    if hasattr(randomizer, "eps0"):
        largest = max(max(c) / min(c) for c in zip(*matrix, strict=True))
        assert largest <= written.exact_exp(randomizer.eps0)


def test_exponentials_are_bracketed() -> None:
    for exponent in (Fraction(1, 3), Fraction(700), Fraction(1, 10**12), Fraction(-2)):
        low, high = exp_bracket(exponent, 60)
        assert low < written.exact_exp(exponent, digits=120) < high
        assert high - low < low / 10**59
    assert exp_bracket(Fraction(0), 60) == (Fraction(1), Fraction(1))


@pytest.mark.parametrize("case", range(6))
def test_truth_against_enumeration(case: int) -> None:
    rng = random.Random(case)
    rows = written.random_rows(2 + case % 2, 3, rng, zeros=case % 3 == 2)
    matrix = [[float(p) for p in row] for row in rows]
    users = 2 + case % 3
    result = verify(FiniteRandomizer(matrix), users, epsilons=[0.0, 0.2, 0.7, 1.5])
    assert result.holds
    exact = written.exact_rows(FiniteRandomizer(matrix).matrix)
    for row in result.rows:
        alpha = written.exact_exp(row.epsilon)
        assert row.truth == pytest.approx(float(oracles.true_profile(exact, users, alpha)))
        first, second = (oracles.shuffled_mechanism(exact, [x, *row.others]) for x in row.values)
        reached = oracles.hockey_stick(oracles.as_pair(first, second), alpha)
        assert row.truth == pytest.approx(float(reached))  # the dataset that it names


@pytest.mark.parametrize(("randomizer", "rows"), NAMED, ids=lambda value: repr(value)[:30])
def test_every_analysis_of_the_named_randomizers_holds(
    randomizer: Randomizer, rows: written.Rows
) -> None:
    users = 2 if len(rows[0]) > 7 else 3
    for analysis in randomizer.analyses:
        result = verify(randomizer, users, analysis, epsilons=[0.0, 1.2])
        assert result.holds, str(result)
        assert "VIOLATED" not in str(result)


@dataclass(frozen=True)
class Liar(FiniteRandomizer):
    """Claims a blanket that covers more than it does, or attains what no dataset does."""

    more: int = 1
    unlike: bool = False

    def law(self, analysis: str) -> Law:
        law = super().law(analysis)
        assert isinstance(law, ClassLaws)
        return ClassLaws(tuple(replace(one, blanket=self.more * one.blanket) for one in law.laws))

    def binary_law(self) -> None:
        """It lies about the blanket."""

    def attained_law(self) -> Law:
        if self.unlike:
            return ClassLaws((ClassLaw((0.9, 0.1), (0.1, 0.9), (0.9, 0.1)),))
        return super().attained_law()


MATRIX = ((0.75, 0.25), (0.25, 0.75))


def test_a_blanket_that_covers_too_much_is_caught() -> None:
    assert verify(Liar(MATRIX), 4).holds
    result = verify(Liar(MATRIX, more=2), 4)
    assert not result.holds
    assert "VIOLATED" in str(result)
    assert any(row.truth > row.upper for row in result.rows)


def test_an_attained_value_that_nothing_attains_is_caught() -> None:
    result = verify(Liar(MATRIX, unlike=True), 2)
    assert not result.holds
    assert all(row.truth <= row.upper for row in result.rows)


@dataclass(frozen=True)
class Slightly(FiniteRandomizer):
    """Claims an eps0 that is too small by one part in 1e15: wrong at the epsilon of pure DP."""

    def binary_law(self) -> None:
        """Its blanket is at stake."""

    def law(self, analysis: str) -> Law:
        law = super().law(analysis)
        assert isinstance(law, ClassLaws)
        largest = math.log(3) * (1 - 1e-15)
        return ClassLaws(tuple(replace(one, known_loss=largest) for one in law.laws))


@dataclass(frozen=True)
class Narrow(FiniteRandomizer):
    """Claims that its two messages depend on the values a little less than they do."""

    def binary_law(self) -> BinaryLaw:
        return BinaryLaw(0.7499, 0.2501, 0.25, 0.75)


def test_two_messages_that_tell_more_are_caught() -> None:
    result = verify(Narrow(MATRIX), 4)
    assert result.analysis == "exact"
    assert not result.holds


def test_an_eps0_rounded_down_is_caught() -> None:
    result = verify(Slightly(MATRIX), 2)
    assert [row.holds for row in result.rows][-1] is False
    assert result.rows[-1].upper == 0 < result.rows[-1].truth < 1e-14


def test_the_shell_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lying(kind: str, given: object, prefix: str) -> Randomizer:
        return Liar(MATRIX, more=2)

    options = importlib.import_module("shuffledp.cli.options")
    monkeypatch.setattr(options, "randomizer_of", lying)
    with pytest.raises(SystemExit) as stop:
        main(["verify", "--randomizer", "rr", "--users", "4"])
    assert stop.value.code == 1
    assert "A BOUND IS VIOLATED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("randomizer", "users", "options", "error", "said"),
    [
        (PureLDP(1.0), 3, {}, InvalidParameter, "verify one of them"),
        (FiniteRandomizer(MATRIX), 10**6, {}, OutOfRange, "at most 60 users fit"),
        (RandomizedResponse(3, gamma=0.5), 500, {}, OutOfRange, "at most 31 users fit"),
        (UnaryEncoding(10**12, 1.0), 2, {}, OutOfRange, "fewer values"),
        (SubsetSelection(10**12, 10**11, 1.0), 2, {}, OutOfRange, "fewer values"),
        (RandomizedResponse(10**12, eps0=1.0), 1, {}, OutOfRange, "more than 5000 inputs"),
        (HadamardResponse(10**12, 1.0), 1, {}, OutOfRange, "fewer values"),
        (LocalHashing(10**12, 1.0), 1, {}, OutOfRange, "fewer values"),
        (FiniteRandomizer(MATRIX), 3, {"epsilons": []}, InvalidParameter, "empty"),
        (FiniteRandomizer(MATRIX), 3, {"epsilons": -1.0}, InvalidParameter, "negative"),
        (FiniteRandomizer(MATRIX), 3, {"epsilons": 1e4}, OutOfRange, "above 700"),
        (FiniteRandomizer(MATRIX), 0, {}, InvalidParameter, "users=0"),
        (FiniteRandomizer(MATRIX), 3, {"analysis": "strong"}, InvalidParameter, "'strong'"),
        (FiniteRandomizer(MATRIX), 3, {"rtol": 0.0}, OutOfRange, "rtol"),
        ("rr", 3, {}, InvalidParameter, "'rr'"),
    ],
)
def test_what_is_refused(
    randomizer: Randomizer,
    users: int,
    options: dict[str, Any],
    error: type[Exception],
    said: str,
) -> None:
    with pytest.raises(error, match=said):
        verify(randomizer, users, **options)


def test_infinite_loss_is_part_of_the_truth() -> None:
    result = verify(FiniteRandomizer([[1.0, 0.0], [0.5, 0.5]]), 3)
    assert result.holds
    assert result.rows[-1].truth == 0.5
    assert result.rows == verify(FiniteRandomizer([[1.0, 0.0], [0.5, 0.5]]), 3).rows
    assert Shuffle(FiniteRandomizer([[1.0, 0.0], [0.5, 0.5]]), 3).get_epsilon(0.1) == math.inf
