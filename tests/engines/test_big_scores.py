"""Sums conditioned on their big scores, against exact sums."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting, twelve_decades
from oracles.sums import stop_loss_of_sum
from shuffledp import Gaussian, NotCertified, Shuffle
from shuffledp.engines import big_scores
from shuffledp.engines.big_scores import dominant_stop_loss, large_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums, StopLossBounds

HELD = Fraction(1, 4)
MOVES = [Fraction(k, 64) for k in (-32, -1, 0, 1, 32)]


def solve(sums: ScoreSums, width: float = 1e-5) -> tuple[float, float]:
    lower, upper, *_ = dominant_stop_loss(sums, width, large_stop_loss, 0.0)
    return float(lower[0]), float(upper[0])


@pytest.mark.parametrize(
    ("law", "users", "threshold", "level"),
    covering(LAWS, [2, 3, 7, 24], THRESHOLDS, [None, 0, 1], every=3),
)
def test_against_counting_at_any_level(
    law: Law,
    users: int,
    threshold: Fraction,
    level: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever is called big: the level of the engine itself, or any positive score."""
    if level is not None:
        positive = sorted(float(z) for z in law[0] if z > 0)
        chosen = positive[min(level, len(positive) - 1)]
        monkeypatch.setattr(big_scores, "_dominance_level", lambda sums: np.array([chosen]))
    truth = float(stop_loss_by_counting(law, users, threshold))
    lower, upper = solve(ScoreSums(*columns(law, threshold), users))
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper


def test_scores_over_twelve_decades() -> None:
    scores, masses, truth = twelve_decades()
    sums = ScoreSums(scores[None], masses[None], np.abs(scores)[None], np.zeros(1), 2)
    lower, upper = solve(sums)
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper


@pytest.mark.parametrize("big", [10**4, 10**8])
@pytest.mark.parametrize("chance", [Fraction(1, 2**30), Fraction(1, 2**17), Fraction(1, 2**10)])
def test_one_rare_big_score_is_nearly_exact(big: int, chance: Fraction) -> None:
    """Coins of 1 and -1, and rarely a score that outweighs all of them."""
    law = (Fraction(1), Fraction(-1), Fraction(big)), (Fraction(3, 8), Fraction(1, 2), chance)
    truth = float(stop_loss_by_counting(law, 40))
    lower, upper = solve(ScoreSums(*columns(law), 40), 1e-6)
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper
    assert upper <= lower * (1 + 1e-3)


@pytest.mark.parametrize("users", [10, 1000])
def test_a_light_tail_is_left_to_the_integral(users: int) -> None:
    x = np.linspace(-3, 3, 300)
    masses = np.exp(-(x**2) / 2)
    masses *= 0.8 / masses.sum()
    scores = np.exp(x / 2) - 1.03 * math.exp(1 / 8)
    sums = ScoreSums(scores[None], masses[None], np.abs(scores)[None], np.zeros(1), users)
    assert solve(sums) == tuple(float(side[0]) for side in stop_loss(sums, 1e-5)[:2])


@pytest.mark.parametrize("seed", range(12, 26))
def test_rare_scores_of_any_size_at_any_level(seed: int) -> None:
    """One common score and rare ones over eleven decades, up to 30,000 users; whatever is big."""
    draw = random.Random(seed)
    users = draw.choice([2, 5, 20, 200, 30_000])
    scores, masses = [-(10 ** draw.uniform(-2, 1))], [draw.uniform(0.1, 0.45)]
    for sign in (1, draw.choice([1, -1]), draw.choice([1, -1])):
        scores.append(sign * 10 ** draw.uniform(-3, 8))
        masses.append(min(0.1, 10 ** draw.uniform(-9, 0.5) / users))
    held = draw.choice([0.0, 10 ** draw.uniform(-2, 3)])
    z, p = np.array([scores]), np.array([masses])
    sums = ScoreSums(z, p, np.abs(z), np.array([held]), users)
    level = np.array([draw.choice([z for z in scores if z > 0]) * draw.choice([1.0, 0.5])])
    exact, chances = ([Fraction(x) for x in column] for column in (scores, masses))
    least, most = stop_loss_of_sum(exact, chances, users, Fraction(held), min(users, 14))
    width = draw.choice([1e-1, 1e-3, 1e-5])
    lower, upper, *_ = big_scores._condition_on_big(sums, level, width, large_stop_loss, 0.0)
    assert lower[0] <= most
    assert least <= upper[0]


@pytest.mark.parametrize("low", [1050, 1100, 5000])
@pytest.mark.parametrize("threshold", [Fraction(0), Fraction(7, 2)])
def test_a_big_score_against_a_low_one(low: int, threshold: Fraction) -> None:
    """Coins of 1 and -1, rarely 1000, more rarely less than -1000: one of each may be close."""
    scores = Fraction(1), Fraction(-1), Fraction(1000), Fraction(-low)
    law = scores, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2**12), Fraction(1, 2**14))
    truth = float(stop_loss_by_counting(law, 20, threshold))
    lower, upper = solve(ScoreSums(*columns(law, threshold), 20), 1e-6)
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper
    assert upper <= lower * (1 + 2e-4)  # without the pairs it would be 1.2e-3


@pytest.mark.parametrize("users", [2, 3, 50])
def test_scores_whose_squares_are_out_of_range(users: int) -> None:
    """One of each, 1e200 and -2e200, and others: without a warning, and with an upper value."""
    scores = np.array([[1e200, -2e200, 1e160, -1e150, 1.0]])
    chances = np.array([[1e-12, 1e-12, 1e-30, 1e-30, 0.3]])
    sums = ScoreSums(scores, chances, np.abs(scores), np.zeros(1), users)
    lower, upper = (
        float(side[0])
        for side in big_scores._condition_on_big(
            sums, np.array([1e200]), 1e-3, large_stop_loss, 0.0
        )[:2]
    )
    one = users * 1e-12 * 1e200
    assert lower <= one * (1 + 1e-9)
    assert one * (1 - 2 * users * 1e-12) <= upper <= one * (1 + 1e-6)


def drawn(draw: random.Random, rarest: int) -> tuple[Law, list[Fraction]]:
    """A law, and by how much its scores fall."""
    size = draw.choice([2, 3])
    scores = tuple(Fraction(draw.randrange(-300, 300), 7) for _ in range(size))
    weights = [Fraction(1, 2 ** draw.randrange(0, rarest)) for _ in range(size + 1)]
    law = scores, tuple(w / sum(weights) for w in weights[:-1])
    return law, [Fraction(draw.randrange(0, 100), 8) for _ in range(size)]


def moved(law: Law, falls: list[Fraction], by: Fraction) -> Law:
    return tuple(z - by * fall for z, fall in zip(law[0], falls, strict=True)), law[1]


def stop_loss_at(law: Law, users: int, threshold: Fraction) -> Fraction:
    """E[(S - threshold)_+], also below 0, where it is the mean and what that lacks."""
    if threshold >= 0:
        return stop_loss_by_counting(law, users, threshold)
    mirrored = tuple(-z for z in law[0]), law[1]
    mean = users * sum(z * p for z, p in zip(*law, strict=True))
    return mean - threshold + stop_loss_by_counting(mirrored, users, -threshold)


def check(found: StopLossBounds, truths: list[float]) -> None:
    """The bracket at the move 0, and the line at all of them."""
    lower, upper, fall_low, fall_high = (float(side[0]) for side in found)
    truth = truths[MOVES.index(Fraction(0))]
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper
    for by, value in zip(MOVES, truths, strict=True):
        line = lower - float(by) * (fall_high if by > 0 else fall_low)
        assert line <= value * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_one_more_user(seed: int) -> None:
    draw = random.Random(f"last {seed}")
    law, falls = drawn(draw, 9)
    users, threshold = draw.choice([1, 2, 7]), Fraction(draw.choice([20, 100]), 3)
    weights = [Fraction(draw.randrange(0, 9) + (i == 0)) for i in range(len(falls))]
    last = [weight / sum(weights) for weight in weights]
    truths = []
    for by in MOVES:
        then, held = moved(law, falls, by), threshold + by * HELD
        truths.append(
            float(
                sum(
                    q * stop_loss_at(then, users, held - z)
                    for z, q in zip(then[0], last, strict=True)
                )
            )
        )
    sums = ScoreSums(
        *columns(law, threshold),
        users,
        falls=np.array([[float(fall) for fall in falls]]),
        threshold_rise=float(HELD),
        last=np.array([[float(q) for q in last]]),
    )
    for width in (0.1, 1e-4):
        check(stop_loss(sums, width), truths)


@pytest.mark.parametrize("seed", range(40))
def test_any_scores_as_large_ones(seed: int) -> None:
    draw = random.Random(f"large {seed}")
    law, falls = drawn(draw, 14)
    users, threshold = draw.choice([2, 3, 9]), Fraction(draw.choice([20, 100]), 3)
    rows = ScoreSums(
        *columns(law, threshold),
        users,
        falls=np.array([[float(fall) for fall in falls]]),
        threshold_rise=float(HELD),
    )
    large = np.array([[draw.random() < 0.5 for _ in falls]])
    if not large.any() or float(rows.probabilities[large].sum()) > 0.5:
        return
    truths = [
        float(stop_loss_by_counting(moved(law, falls, by), users, threshold + by * HELD))
        for by in MOVES
    ]
    check(big_scores._condition_on_large(rows, large, draw.choice([0.1, 1e-4])), truths)


def test_a_tail_that_no_tilt_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the bracket has a width of a fifth of a per cent."""
    survey = Shuffle(Gaussian(0.3), users=10_000)
    bounds = survey.epsilon_bounds(1e-6)
    assert bounds.upper <= 1.001 * bounds.lower
    monkeypatch.setattr(
        big_scores, "_large_scores", lambda sums, width: np.zeros(sums.scores.shape, dtype=bool)
    )
    with pytest.raises(NotCertified) as refused:
        survey.epsilon_bounds(1e-6)
    plain = refused.value.bounds
    assert plain.lower <= bounds.upper
    assert bounds.lower <= plain.upper
