"""Lines below E[(S)_+] as a function of alpha, against exact values at other alphas."""

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting
from shuffledp import tuning
from shuffledp.engines.big_scores import Engine, _condition_on_big, large_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums, StopLossBounds
from shuffledp.engines.tilted_lattice import lattice_stop_loss

MOVES = [Fraction(k, 64) for k in (-32, -8, -1, 1, 8, 32)]
HELD = Fraction(1, 4)


def exact(law: Law, falls: list[Fraction], users: int, threshold: Fraction, by: Fraction) -> float:
    """E[(S)_+] after alpha has grown by this."""
    scores = tuple(z - by * fall for z, fall in zip(law[0], falls, strict=True))
    return float(stop_loss_by_counting((scores, law[1]), users, threshold + by * HELD))


def check(
    engine: Callable[[ScoreSums], StopLossBounds],
    law: Law,
    falls: list[Fraction],
    users: int,
    threshold: Fraction,
) -> StopLossBounds:
    rates = np.array([[float(fall) for fall in falls]])
    sums = ScoreSums(*columns(law, threshold), users, falls=rates, threshold_rise=float(HELD))
    found = engine(sums)
    lower, _, fall_low, fall_high = (float(side[0]) for side in found)
    assert 0 <= fall_low <= fall_high
    for by in MOVES:
        if threshold + by * HELD >= 0:
            line = lower - float(by) * (fall_high if by > 0 else fall_low)
            assert line <= exact(law, falls, users, threshold, by) * (1 + 1e-13)
    return found


@pytest.mark.parametrize(
    ("law", "users", "threshold", "engine"),
    covering(LAWS, [2, 3, 12], THRESHOLDS, [stop_loss, lattice_stop_loss]),
)
def test_lines_of_the_integral_and_the_lattice(
    law: Law, users: int, threshold: Fraction, engine: Callable[..., StopLossBounds]
) -> None:
    falls = [abs(z) / 2 + Fraction(1, 4) for z in law[0]]
    for width in (0.1, 1e-2, 1e-4):
        check(partial(engine, width=width), law, falls, users, threshold)


@pytest.mark.parametrize("law", LAWS)
def test_a_narrow_slope_is_that_of_the_expectation(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no sum is 0 the expectation is linear near alpha; with as many nodes as that takes."""
    monkeypatch.setattr(tuning, "MAX_NODES", 1 << 17)
    falls, users, threshold = [abs(z) / 2 for z in law[0]], 9, Fraction(1, 7)
    found = check(lambda sums: stop_loss(sums, 1e-7), law, falls, users, threshold)
    step = Fraction(1, 2**14)
    values = [exact(law, falls, users, threshold, by) for by in (-step, step)]
    slope = (values[0] - values[1]) / float(2 * step)
    assert found.fall_low[0] == pytest.approx(slope, rel=1e-6)
    assert found.fall_high[0] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("engine", [large_stop_loss, lattice_stop_loss])
def test_lines_with_big_and_low_scores(seed: int, engine: Engine) -> None:
    draw = random.Random(f"lines {seed}")
    size = draw.choice([2, 3, 4])
    scores = tuple(
        draw.choice([-1, 1]) * Fraction(draw.randrange(1, 2**8)) * 2 ** draw.randrange(0, 12)
        for _ in range(size)
    )
    weights = [Fraction(1, 2 ** draw.randrange(0, 12)) for _ in range(size + 1)]
    law = scores, tuple(w / sum(weights) for w in weights[:-1])
    falls = [Fraction(draw.randrange(0, 2**8)) * 2 ** draw.randrange(0, 8) for _ in range(size)]
    users, threshold = draw.choice([2, 3, 7]), Fraction(draw.choice([0, 3, 500]))
    level = np.array([float(draw.choice([abs(z) for z in scores]))])
    if sum(p for z, p in zip(*law, strict=True) if abs(z) >= level[0]) > Fraction(1, 2):
        return  # half of the law is to be left
    width = draw.choice([0.1, 1e-3, 1e-5])
    check(
        lambda sums: _condition_on_big(sums, level, width, engine, 0.0),
        *(law, falls, users, threshold),
    )
