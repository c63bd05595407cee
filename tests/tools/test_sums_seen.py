"""verify and adversaries where only sums are seen."""

import json
import math
from fractions import Fraction
from itertools import product

import pytest

from oracles.bits import alphas
from shell import ok, run
from shuffledp import Aggregate, FiniteRandomizer, Gaussian, UnaryEncoding, adversaries, verify
from shuffledp.errors import InvalidParameter

EIGHTHS = UnaryEncoding(2, p=0.75, q=0.125)


def sums(
    values: list[tuple[int, ...]], p: Fraction, q: Fraction
) -> dict[tuple[int, ...], Fraction]:
    """The law of the sums, message by message."""
    law: dict[tuple[int, ...], Fraction] = {}
    columns = len(values[0])
    for sent in product(product((0, 1), repeat=columns), repeat=len(values)):
        chance = Fraction(1)
        for value, message in zip(values, sent, strict=True):
            for bit, seen in zip(value, message, strict=True):
                one = p if bit else q
                chance *= one if seen else 1 - one
        key = tuple(map(sum, zip(*sent, strict=True)))
        law[key] = law.get(key, Fraction(0)) + chance
    return law


@pytest.mark.parametrize("neighbours", ["replace", "remove"])
def test_truth_is_that_of_the_sums(neighbours: str) -> None:
    p, q, ones, none = Fraction(3, 4), Fraction(1, 8), [(1, 0), (0, 1)], (0, 0)
    result = verify(EIGHTHS, 3, view="aggregate", neighbours=neighbours, epsilons=[0.0, 0.5, 1.5])
    assert result.holds
    for row in result.rows:
        worst = Fraction(0)
        for others in product(ones, repeat=2):
            own = [(x, y) for x in [*ones, none] for y in [*ones, none] if x != y]
            own = [pair for pair in own if (none in pair) == (neighbours == "remove")]
            for first, second in own:
                gain, loss = (sums([*others, value], p, q) for value in (first, second))
                alpha = alphas(row.epsilon)[0]
                gains = [max(gain[s] - alpha * loss[s], Fraction(0)) for s in gain]
                worst = max(worst, sum(gains, Fraction(0)))
        assert math.isclose(row.truth, worst, rel_tol=1e-12)


def test_two_outputs_are_one_column() -> None:
    matrix = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    assert [row.truth for row in verify(matrix, 4, view="aggregate").rows] == [
        row.truth for row in verify(matrix, 4).rows
    ]


def test_what_does_not_go_with_sums() -> None:
    with pytest.raises(InvalidParameter, match="analysis does not go with view aggregate"):
        verify(EIGHTHS, 3, "clones", view="aggregate")
    with pytest.raises(InvalidParameter, match="has no finite matrix"):
        verify(Gaussian(1.0), 3, view="aggregate")
    with pytest.raises(InvalidParameter, match="is not defined"):
        verify(EIGHTHS, 3, neighbours="remove")


def test_the_ladder_of_what_is_seen() -> None:
    randomizer = UnaryEncoding(8, eps0=6.0)
    rows = adversaries(randomizer, 1000, 1e-6, view="aggregate")
    assert [row.analysis for row in rows] == ["local", "shuffle", "sums", "attained"]
    uppers = [row.upper or 0.0 for row in rows[:3]]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[0] == pytest.approx(6.0)
    assert 0.99 * uppers[2] <= rows[3].lower <= uppers[2]
    assert rows[2].upper == Aggregate(randomizer, 1000).get_epsilon(1e-6)
    names = [
        row.analysis
        for row in adversaries(randomizer, 10, 1e-6, view="aggregate", neighbours="remove")
    ]
    assert names == ["sums", "attained"]


def test_in_the_shell() -> None:
    shared = (
        "--randomizer",
        "unary",
        "--k",
        "2",
        "--eps0",
        "2",
        "--view",
        "aggregate",
        "--users",
        "3",
    )
    report = json.loads(ok("verify", *shared, "--neighbours", "remove", "--json"))
    assert (report["holds"], report["view"], report["neighbours"]) == (True, "aggregate", "remove")
    assert "sees nothing but the sums" in ok("adversaries", *shared, "--delta", "1e-3")
    assert "remove-one, both orders" in ok("verify", *shared, "--neighbours", "remove")
    assert run("verify", *shared, "--analysis", "blanket").returncode == 2
