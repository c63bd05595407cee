"""Vectors with several ones, in fewer columns than two disjoint ones need: every dataset."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest

from covering import covering
from oracles import randomizers as written
from shuffledp import Aggregate, Shuffle, UnaryEncoding
from shuffledp.guarantee import best_effort

F = Fraction
Law = dict[tuple[int, ...], Fraction]
SIZES = [(2, 2, 1), (2, 2, 3), (3, 2, 2), (4, 3, 1)]
BITS = [(F(3, 4), F(1, 4)), (F(1, 2), F(1, 16)), (F(15, 16), F(1, 2))]
ALPHAS = (F(1), F(5, 4), F(2), F(4))
SOME = (F(2),)  # at which it is asked what is attained: that takes longest


def messages(k: int, ones: int, p: Fraction, q: Fraction) -> list[Law]:
    """The law of the message of every value."""
    values = [value for value in product((0, 1), repeat=k) if 1 <= sum(value) <= ones]
    chance = {(1, 1): p, (1, 0): 1 - p, (0, 1): q, (0, 0): 1 - q}
    return [
        {
            sent: math.prod((chance[pair] for pair in zip(value, sent, strict=True)), start=F(1))
            for sent in product((0, 1), repeat=k)
        }
        for value in values
    ]


def seen(laws: list[Law], view: str) -> dict[tuple[object, ...], Fraction]:
    """The shuffled messages, or their sums."""
    total: dict[tuple[object, ...], Fraction] = {}
    for sent in product(*laws):
        key: tuple[object, ...] = tuple(sorted(sent))
        if view == "aggregate":
            key = tuple(map(sum, zip(*sent, strict=True)))
        mass = math.prod((law[y] for law, y in zip(laws, sent, strict=True)), start=F(1))
        total[key] = total.get(key, F(0)) + mass
    return total


def neighbours(laws: list[Law], users: int, view: str) -> Iterator[list[tuple[Fraction, Fraction]]]:
    for others in combinations_with_replacement(range(len(laws)), users - 1):
        held = [laws[i] for i in others]
        each = [seen([law, *held], view) for law in laws]
        for a, b in permutations(each, 2):
            yield [(a[key], b[key]) for key in a]


def log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


@pytest.mark.parametrize(
    ("size", "bits", "view"), covering(SIZES, BITS, ["shuffle", "aggregate"], every=3)
)
def test_few_columns_against_every_dataset(
    size: tuple[int, int, int], bits: tuple[Fraction, Fraction], view: str
) -> None:
    """The largest loss is reached; of one user's message the bound is the truth."""
    (k, ones, users), (p, q) = size, bits
    pairs = list(neighbours(messages(k, ones, p, q), users, view))
    encoding = UnaryEncoding(k, p=float(p), q=float(q), ones=ones)
    round_ = Shuffle(encoding, users) if view == "shuffle" else Aggregate(encoding, users)
    largest = log(max(x / y for pair in pairs for x, y in pair))
    assert round_.attained_epsilon(0) <= largest * (1 + 1e-14)
    assert round_.attained_epsilon(0) >= largest * (1 - 1e-12)
    assert largest * (1 - 1e-14) <= round_.get_epsilon(0) <= largest * (1 + 1e-12)
    for alpha in ALPHAS:
        truth = max(sum((max(x - alpha * y, F(0)) for x, y in pair), F(0)) for pair in pairs)
        upper = best_effort(round_.delta_bounds, log(alpha)).upper
        if alpha in SOME:
            assert round_.attained_delta(log(alpha), rtol=1e-3) <= truth * F(1 + 1e-12)
        assert truth <= F(upper * (1 + 1e-12))
        if users == 1 and view == "shuffle":
            assert upper <= float(truth) * (1 + 2e-3) + 1e-12


@pytest.mark.parametrize(
    ("k", "ones", "share"), [(2, 2, F(1, 2)), (3, 2, F(3, 4)), (30, 20, F(3, 4))]
)
def test_the_loss_of_as_many_bits_as_differ(k: int, ones: int, share: Fraction) -> None:
    """Each bit loses eps0 / (2 ones); k < 2 ones of them can differ."""
    round_ = Shuffle(UnaryEncoding(k, 4.0, ones=ones), 1)
    assert round_.attained_epsilon(0) == pytest.approx(float(4 * share), rel=1e-12)
    assert round_.attained_epsilon(0) <= 4 * share
    assert round_.attained_epsilon(1e-3) < 4 * share
    if ones == 2:
        assert round_.get_epsilon(0) == pytest.approx(float(4 * share), rel=1e-12)
        ratio = written.exact_exp(Fraction(4) * share)
        assert written.exact_exp(round_.get_epsilon(0)) >= ratio
