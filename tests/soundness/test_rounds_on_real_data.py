"""Composed rounds, sampled rounds and informed adversaries against exact enumeration."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial
from itertools import permutations

import pytest

import oracles
from oracles import randomizers as written
from oracles.convolution import lattice_delta
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
)

ALPHAS = (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(7, 2), Fraction(8), Fraction(15))


def log_down(alpha: Fraction) -> float:
    """A float epsilon with e^epsilon <= alpha: a bound at it may not be below delta(alpha)."""
    epsilon = math.log(alpha.numerator) - math.log(alpha.denominator)
    while written.exact_exp(epsilon) > alpha:
        epsilon = math.nextafter(epsilon, 0)
    return epsilon


def log_up(ratio: Fraction) -> float:
    epsilon = math.log(ratio)
    while written.exact_exp(epsilon) < ratio:
        epsilon = math.nextafter(epsilon, math.inf)
    return epsilon


def pairs_of(rows: written.Rows, users: int) -> list[oracles.FractionPair]:
    """All neighbours of a shuffled round, in both orders."""
    return oracles.neighbours(
        len(rows), users, lambda dataset: oracles.shuffled_mechanism(rows, dataset)
    )


def composed(*rounds: Shuffle) -> Accountant:
    accountant = Accountant()
    for round_ in rounds:
        accountant.compose(round_)
    return accountant


# Adaptive composition: the second round's randomizer and data depend on the first one's output


@pytest.mark.parametrize(("users", "ratio"), [(2, Fraction(4)), (3, Fraction(2))])
@pytest.mark.parametrize("analysis", ["stronger-clones", "clones"])
def test_two_adaptive_rounds_of_any_ldp_randomizers(
    users: int, ratio: Fraction, analysis: str
) -> None:
    """After seeing the first round the adversary picks the worst of several vertices and data."""
    rng = random.Random(users)
    menu = [written.likelier([[0], [1]], 2, ratio), written.likelier([[0], [1], [2]], 3, ratio)]
    menu += [written.ldp_vertex(3, ratio, rng) for _ in range(3)]
    pairs = [pair for rows in menu for pair in pairs_of(rows, users)]
    survey = Shuffle(PureLDP(log_up(ratio)), users, analysis)
    accountant = composed(survey, survey)
    for alpha in ALPHAS:
        truth = oracles.adaptive_profile([pairs_of(menu[1], users), pairs], alpha)
        assert truth <= Fraction(accountant.get_delta(log_down(alpha)))


def test_adaptivity_matters_to_the_reference() -> None:
    """The adaptive supremum exceeds that of every fixed choice: the test above is not idle."""
    rows = written.likelier([[0], [1], [2]], 3, Fraction(4))
    first = pairs_of(rows, 2)[:1]
    menu = pairs_of(rows, 2)
    adaptive = oracles.adaptive_profile([first, menu], Fraction(5, 4))
    fixed = max(oracles.adaptive_profile([first, [pair]], Fraction(5, 4)) for pair in menu)
    assert adaptive > fixed


def test_two_adaptive_rounds_of_different_kinds() -> None:
    """Blanket rounds with their own matrices; one has zeros, hence infinite loss."""
    rng = random.Random(3)
    for zeros in (False, True):
        matrices = [written.random_rows(2, 3, rng, zeros) for _ in range(2)]
        floats = [[[float(p) for p in row] for row in rows] for rows in matrices]
        exact = [written.exact_rows(matrix) for matrix in floats]
        accountant = composed(*(Shuffle(FiniteRandomizer(matrix), 2) for matrix in floats))
        uppers = accountant.get_delta([log_down(alpha) for alpha in ALPHAS])
        for alpha, upper in zip(ALPHAS, uppers, strict=True):
            truth = oracles.adaptive_profile([pairs_of(rows, 2) for rows in exact], alpha)
            assert truth <= Fraction(upper)


def test_three_adaptive_rounds() -> None:
    gamma = 0.5
    rows = written.randomized_response(2, Fraction(gamma))
    pairs = pairs_of(rows, 2)
    for analysis in ("blanket", "strong", "stronger-clones"):
        survey = Shuffle(RandomizedResponse(2, gamma=gamma), 2, analysis)
        accountant = composed(survey, survey, survey)
        uppers = accountant.get_delta([log_down(alpha) for alpha in ALPHAS])
        for alpha, upper in zip(ALPHAS, uppers, strict=True):
            truth = oracles.adaptive_profile([pairs] * 3, alpha)
            assert truth <= Fraction(upper)


@pytest.mark.parametrize("rounds", [2, 7, 60, 1000])
def test_many_rounds_against_exact_convolution(rounds: int) -> None:
    """One user, E = 4: the losses are log 4 and -log 4, and the k-th power is exact."""
    law = {1: Fraction(4, 5), -1: Fraction(1, 5)}
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(log_up(Fraction(4))), 1), rounds=rounds)
    for steps in (0, rounds // 2, rounds - 1):
        alpha = Fraction(4) ** steps * Fraction(9, 8)
        exact = lattice_delta(law, Fraction(4), rounds, alpha)
        upper = accountant.get_delta(log_down(alpha))
        assert exact <= Fraction(upper)
        assert upper <= 1.02 * float(exact) + 1e-290


def test_infinite_loss_of_many_rounds_against_exact_convolution() -> None:
    """One user under the strong adversary: the answer is known, or nothing is learnt."""
    accountant = Accountant()
    accountant.compose(Shuffle(RandomizedResponse(2, gamma=0.75), 1, "strong"), rounds=50)
    exact = lattice_delta({0: Fraction(3, 4)}, Fraction(2), 50, Fraction(2), Fraction(1, 4))
    assert exact <= Fraction(accountant.get_delta(log_down(Fraction(2))))


# What the adversary is told


@pytest.mark.parametrize("users", [2, 3, 4])
@pytest.mark.parametrize("k", [2, 3])
def test_adversaries_of_the_paper_against_their_full_views(k: int, users: int) -> None:
    """A_w and A_s see betas and all messages; the short pairs and our bounds say the same."""
    gamma = Fraction(1, 2)
    rows = written.randomized_response(k, gamma)
    short = {
        "blanket": oracles.blanket_pair(rows[0], rows[1], [gamma / k] * k, users),
        "strong": oracles.strong_pair(k, gamma, users),
    }
    for others in {(0,) * (users - 1), tuple(x % k for x in range(users - 1))}:
        for analysis, own in (("blanket", False), ("strong", True)):
            view = oracles.view_with_betas(rows, others, 0, 1, own)
            survey = Shuffle(RandomizedResponse(k, gamma=0.5), users, analysis)
            for alpha in ALPHAS:
                exact = oracles.hockey_stick(view, alpha)
                assert exact == oracles.hockey_stick(short[analysis], alpha)
                assert exact <= Fraction(survey.get_delta(log_down(alpha)))


def test_betas_of_any_matrix_against_the_blanket_bound() -> None:
    """Whatever the remainders tell, the blanket analysis has given it away already."""
    rng = random.Random(11)
    for _ in range(6):
        floats = [[float(p) for p in row] for row in written.random_rows(3, 3, rng, False)]
        rows, survey = written.exact_rows(floats), Shuffle(FiniteRandomizer(floats), 3)
        uppers = {alpha: Fraction(survey.get_delta(log_down(alpha))) for alpha in ALPHAS[:4]}
        for x0, x1 in permutations(range(3), 2):
            others = (x1, 3 - x0 - x1)
            view = oracles.view_with_betas(rows, others, x0, x1, own=False)
            for alpha, upper in uppers.items():
                assert oracles.hockey_stick(view, alpha) <= upper


# Rounds in which not everybody takes part: the theorems behind subsampling


@pytest.mark.parametrize(("users", "senders"), [(3, 1), (3, 2), (4, 2), (4, 3)])
def test_fixed_size_samples_against_the_amplified_profile(users: int, senders: int) -> None:
    """delta of the sample is at most rate * f(1 + (alpha - 1)/rate), f with `senders` users."""
    rate, ratio = Fraction(senders, users), Fraction(4)
    clones = oracles.clone_pair_fractions(senders, ratio, "stronger-clones")
    for k in (2, 3):
        rows = written.likelier([[x] for x in range(k)], k, ratio)
        sample = partial(oracles.fixed_size_sample, rows, senders=senders)
        pairs = oracles.neighbours(k, users, sample)
        for alpha in (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(3)):
            truth = max(oracles.hockey_stick(pair, alpha) for pair in pairs)
            assert truth <= rate * oracles.hockey_stick(clones, 1 + (alpha - 1) / rate)


def test_poisson_samples_against_the_amplified_profile() -> None:
    """Given that t users sent, they are a random subset of size t: a mixture over t of the above.

    The rate does not take the place of t/users: if all users happened to send, nobody is hidden.
    At alpha = 2 rate * f(1 + (alpha - 1)/rate) is 0 and the truth 149/5832.
    """
    rate, ratio, users = Fraction(1, 3), Fraction(4), 3
    rows = written.likelier([[0], [1], [2]], 3, ratio)
    pairs = oracles.neighbours(3, users, partial(oracles.poisson_sample, rows, rate=rate))
    clones = [
        oracles.clone_pair_fractions(t, ratio, "stronger-clones") for t in range(1, users + 1)
    ]
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(2)):
        bound = Fraction(0)
        for t, pair in enumerate(clones, start=1):
            chance = math.comb(users, t) * rate**t * (1 - rate) ** (users - t)
            share = Fraction(t, users)
            bound += chance * share * oracles.hockey_stick(pair, 1 + (alpha - 1) / share)
        truth = max(oracles.hockey_stick(pair, alpha) for pair in pairs)
        assert truth <= bound
        if alpha == 2:
            assert truth == Fraction(149, 5832)
            assert 1 + (alpha - 1) / rate == ratio  # from here on the naive formula says 0


def test_samples_by_hand() -> None:
    rows = written.likelier([[0], [1]], 2, Fraction(3))
    assert oracles.fixed_size_sample(rows, [0, 1], 1) == {
        (1, 0): Fraction(1, 2),
        (0, 1): Fraction(1, 2),
    }
    law = oracles.poisson_sample(rows, [0, 1], Fraction(1, 2))
    assert sum(law.values()) == 1
    assert law[0, 0] == law[1, 0] == law[0, 1] == Fraction(1, 4)
    assert law[1, 1] == Fraction(10, 64)


def test_side_information_by_hand() -> None:
    """One other user, E = 3: half of the messages are from the blanket."""
    rows = written.likelier([[0], [1]], 2, Fraction(3))
    view = oracles.view_with_betas(rows, [0], 0, 1, own=True)
    # own beta 0 (probability 1/2) and the other's 0: message 0 is known to be the other's
    assert view[0, 0, 2, 0] == (Fraction(1, 4), Fraction(0))
    assert view[0, 0, 1, 1] == (Fraction(0), Fraction(1, 4))
    assert sum(p for p, _ in view.values()) == sum(q for _, q in view.values()) == 1


def test_unary_encoding_composed_adaptively() -> None:
    eps0 = 1.5
    rows = written.unary_encoding(2, written.exact_exp(Fraction(eps0) / 2, digits=40))
    pairs = pairs_of(rows, 2)
    survey = Shuffle(UnaryEncoding(2, eps0), 2)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(6)):
        truth = oracles.adaptive_profile([pairs, pairs], alpha)
        upper = Fraction(composed(survey, survey).get_delta(log_down(alpha)))
        assert truth <= upper * (1 + Fraction(1, 10**30))
