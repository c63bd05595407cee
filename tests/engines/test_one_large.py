"""One more user, and sums by the number of large scores, against exact sums."""

import random
from fractions import Fraction

import numpy as np
import pytest

from oracles.scores import Law, columns, stop_loss_by_counting
from shuffledp import Gaussian, NotCertified, Shuffle
from shuffledp.engines import tuning
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.one_large import _by_large
from shuffledp.engines.problem import Bracket, ScoreSums

HELD = Fraction(1, 4)
MOVES = [Fraction(k, 64) for k in (-32, -1, 0, 1, 32)]


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


def check(found: Bracket, truths: list[float]) -> None:
    """The bracket at the move 0, and the line at all of them."""
    lower, upper, slope_low, slope_high = (float(side[0]) for side in found)
    truth = truths[MOVES.index(Fraction(0))]
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper
    for by, value in zip(MOVES, truths, strict=True):
        line = lower - float(by) * (slope_high if by > 0 else slope_low)
        assert line <= value * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("seed", range(20))
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
        held=float(HELD),
        last=np.array([[float(q) for q in last]]),
    )
    for width in (0.1, 1e-4):
        check(stop_loss(sums, width), truths)


@pytest.mark.parametrize("seed", range(20))
def test_any_scores_as_large_ones(seed: int) -> None:
    draw = random.Random(f"large {seed}")
    law, falls = drawn(draw, 14)
    users, threshold = draw.choice([2, 3, 9]), Fraction(draw.choice([20, 100]), 3)
    rows = ScoreSums(
        *columns(law, threshold),
        users,
        falls=np.array([[float(fall) for fall in falls]]),
        held=float(HELD),
    )
    large = np.array([[draw.random() < 0.5 for _ in falls]])
    if not large.any() or float(rows.probabilities[large].sum()) > 0.5:
        return
    truths = [
        float(stop_loss_by_counting(moved(law, falls, by), users, threshold + by * HELD))
        for by in MOVES
    ]
    check(_by_large(rows, large, draw.choice([0.1, 1e-4])), truths)


def test_a_tail_that_no_tilt_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the bracket has a width of a fifth of a per cent."""
    survey = Shuffle(Gaussian(0.3), users=10_000)
    bounds = survey.epsilon_bounds(1e-6)
    assert bounds.upper <= 1.001 * bounds.lower
    monkeypatch.setattr(tuning, "MISFIT", np.inf)
    with pytest.raises(NotCertified) as refused:
        survey.epsilon_bounds(1e-6)
    plain = refused.value.bounds
    assert plain.lower <= bounds.upper
    assert bounds.lower <= plain.upper
