"""Who applies which randomizer, in which batch and in which round: exact enumeration of what the
pages promise, and of what they exclude."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath
import pytest

import oracles
from oracles import randomizers as written
from shuffledp import Accountant, Laplace, PureLDP, Shuffle

FOUR = Fraction(4)
ALPHAS = (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(7, 2))
RESPONSE = written.likelier([[0], [1]], 2, FOUR)  # binary randomized response, E = 4
OLD = [[*row, Fraction(0), Fraction(0)] for row in RESPONSE]  # the same, sent as a or b
NEW = [[Fraction(0), Fraction(0), *row] for row in RESPONSE]  # the same, sent as c or d

Mechanism = Callable[[Sequence[int]], dict[tuple[int, ...], Fraction]]


def pairs(mechanism: Mechanism, inputs: int, users: int) -> Iterator[oracles.FractionPair]:
    """All neighbours in both orders, whichever user differs."""
    for first in product(range(inputs), repeat=users):
        for user, value in product(range(users), range(inputs)):
            second = (*first[:user], value, *first[user + 1 :])
            if second != first:
                yield oracles.as_pair(mechanism(first), mechanism(second))


def worst(mechanism: Mechanism, inputs: int, users: int, alpha: Fraction) -> Fraction:
    mechanism = cache(mechanism)
    found = (oracles.hockey_stick(pair, alpha) for pair in pairs(mechanism, inputs, users))
    return Fraction(max(found))


def clones(users: int, ratio: Fraction, alpha: Fraction, analysis: str) -> Fraction:
    return Fraction(
        oracles.hockey_stick(oracles.clone_pair_fractions(users, ratio, analysis), alpha)
    )


@pytest.mark.parametrize("analysis", ["stronger-clones", "clones"])
@pytest.mark.parametrize("old", [1, 2])
def test_two_encodings_in_one_batch_hide_only_their_own_users(old: int, analysis: str) -> None:
    """Everybody is eps0-LDP, and yet the pair for all users is exceeded: the randomizers differ.

    A user hides among those with the same encoding, as the pages say.
    """
    users, versions = 5, [OLD] * old + [NEW] * (5 - old)

    def batch(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        return oracles.shuffled_users(versions, data, 4)

    for alpha in ALPHAS[1:]:
        truth = worst(batch, 2, users, alpha)
        assert clones(users, FOUR, alpha, analysis) < truth
        assert truth <= clones(old, FOUR, alpha, analysis)


@pytest.mark.parametrize("seed", range(6))
def test_different_randomizers_that_share_messages_are_covered(seed: int) -> None:
    """No message is more than E times as likely from one user as from another: the theorem holds
    although every user has a randomizer of their own. (It is the same as LDP if all share one.)"""
    rng, users = random.Random(seed), 3
    own = [written.random_rows(2, 3, rng, False) for _ in range(users)]
    if seed == 0:  # randomized response, each with their own eps0
        own = [written.likelier([[0], [1]], 2, Fraction(e)) for e in (2, 3, 4)]
    columns = zip(*(row for rows in own for row in rows), strict=True)
    ratio = max(max(column) / min(column) for column in columns)
    assert seed > 0 or ratio == 4

    def batch(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        return oracles.shuffled_users(own, data, len(own[0][0]))

    for alpha in ALPHAS:
        assert worst(batch, 2, users, alpha) <= clones(users, ratio, alpha, "stronger-clones")


def test_the_largest_eps0_does_not_cover_noise_of_different_scales() -> None:
    """One user's Laplace noise has eps0 = 1, that of 9,999 others eps0 = 4: far out, a message is
    that user's. The event "some message is above 4.5" shows it, against the bounds for eps0 = 4."""
    users, bound, epsilon = 10**4, mpmath.mpf("4.5"), 0.411

    def beyond(value: int) -> mpmath.mpf:
        """Of the differing user with this value; all others hold 0."""
        own = mpmath.exp(-(bound - value)) / 2
        others = (1 - mpmath.exp(-4 * bound) / 2) ** (users - 1)
        return 1 - (1 - own) * others

    with mpmath.workdps(30):
        least = float(beyond(1) - mpmath.exp(epsilon) * beyond(0))
    for randomizer in (PureLDP(4.0), Laplace(4.0)):
        assert Shuffle(randomizer, users).get_delta(epsilon) < 1.1e-6 < 1e-3 < least
    # alone, and so without the others' help, the user is covered
    assert least <= Shuffle(PureLDP(1.0), users=1).get_delta(epsilon)


# What `clones` covers: places in a random order and earlier messages, not users


def question(value: int) -> written.Rows:
    """Of three values: is it this one? The answer is true with probability 4/5."""
    return written.likelier([[value], [x for x in range(3) if x != value]], 3, FOUR)


def by_place(earlier: tuple[int, ...]) -> written.Rows:
    return question(len(earlier) % 3)


def by_messages(earlier: tuple[int, ...]) -> written.Rows:
    """Ask for the value itself first, then whether it is the one that was reported last."""
    return question(earlier[-1]) if earlier else written.likelier([[0], [1], [2]], 3, FOUR)


@pytest.mark.parametrize("choose", [by_place, by_messages])
@pytest.mark.parametrize("users", [2, 3])
def test_clones_cover_places_and_earlier_messages(
    users: int, choose: Callable[[tuple[int, ...]], written.Rows]
) -> None:
    def sequence(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        return oracles.in_random_order(choose, data)

    for alpha in ALPHAS[1:]:
        assert worst(sequence, 3, users, alpha) <= clones(users, FOUR, alpha, "clones")


def test_clones_do_not_cover_a_fixed_order() -> None:
    """The first place answers in {a, b}, the others in {c, d}. Users in random order are covered;
    not so if user i always is in place i, which makes it the user's own randomizer."""

    def shuffled_first(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        return oracles.in_random_order(lambda earlier: NEW if earlier else OLD, data)

    def fixed(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        return oracles.shuffled_users([OLD, NEW, NEW, NEW], data, 4)

    for alpha in ALPHAS[1:]:
        assert worst(shuffled_first, 2, 4, alpha) <= clones(4, FOUR, alpha, "clones")
        truth = worst(fixed, 2, 4, alpha)
        assert truth == (4 - alpha) / 5  # of the first user's message alone
        assert truth > clones(4, FOUR, alpha, "clones")


def test_one_order_for_all_by_hand() -> None:
    """Two users with values 0 and 1: either is first with probability 1/2."""
    law = oracles.in_random_order(lambda earlier: NEW if earlier else OLD, [0, 1])
    assert law[0, 2] == Fraction(1, 2) * (Fraction(4, 25) * 2)  # a, then c
    assert law[0, 3] == Fraction(1, 2) * (Fraction(16, 25) + Fraction(1, 25))  # a, then d
    assert sum(law.values()) == 1


# Shards, populations, participation


def test_users_are_those_of_the_smallest_shard() -> None:
    """Two and three users, shuffled separately, both results seen."""

    def shards(data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        first = oracles.shuffled_mechanism(RESPONSE, data[:2])
        second = oracles.shuffled_mechanism(RESPONSE, data[2:])
        return {(*a, *b): p * q for a, p in first.items() for b, q in second.items()}

    for alpha in ALPHAS[1:3]:
        truth = worst(shards, 2, 5, alpha)
        assert truth == oracles.true_profile(RESPONSE, 2, alpha)
        assert clones(5, FOUR, alpha, "stronger-clones") < truth
        assert truth <= clones(2, FOUR, alpha, "stronger-clones")


def test_taking_part_in_two_of_four_rounds_costs_two_rounds() -> None:
    """Also if the messages so far decide in which rounds the user takes part, but not the value."""
    users = 2
    round_ = oracles.neighbours(2, users, lambda data: oracles.shuffled_mechanism(RESPONSE, data))

    @cache
    def limited(p: Fraction, q: Fraction, left: int, free: int, alpha: Fraction) -> Fraction:
        """The worst continuation with `left` rounds to come, `free` of them with the user."""
        if left == 0:
            return max(p - alpha * q, Fraction(0))
        away = limited(p, q, left - 1, free, alpha)  # the same law for both values
        if free == 0:
            return away
        present = (
            sum(limited(p * a, q * b, left - 1, free - 1, alpha) for a, b in pair.values())
            for pair in round_
        )
        return max(away, Fraction(max(present)))

    accountant = Accountant().compose(Shuffle(PureLDP(math.log(4) + 1e-15), users), 2)
    for alpha in ALPHAS[1:]:
        truth = limited(Fraction(1), Fraction(1), 4, 2, alpha)
        assert truth == oracles.adaptive_profile([round_] * 2, alpha)
        assert truth <= Fraction(accountant.get_delta(math.log(alpha) - 1e-15))
        assert truth < oracles.adaptive_profile([round_] * 4, alpha)
