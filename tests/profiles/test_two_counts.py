"""One message replaced among noise, against sums over all pairs of counts with many digits."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest

from covering import covering
from shuffledp.laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from shuffledp.profiles.one_more import one_more
from shuffledp.profiles.two_counts import TwoCountsProfile, countable, counts_of

NOISES: tuple[Noise, ...] = (
    PoissonNoise(0.25),
    PoissonNoise(9.5),
    BinomialCounts(1, 0.25, 0.75),
    BinomialCounts(3, 0.75, 0.25),
    BinomialCounts(30, 0.25, 0.75),
    NegativeBinomialNoise(1.0, 0.5, 0.5),
    NegativeBinomialNoise(3.5, 0.25, 0.75),
)
EPSILONS = (0.0, 0.1, 1.0, 4.0)


def mass(noise: Noise, s: int) -> mpmath.mpf:
    if s < 0:
        return mpmath.mpf(0)
    match noise:
        case PoissonNoise(mean):
            return mpmath.exp(-mean) * mpmath.mpf(mean) ** s / mpmath.factorial(s)
        case BinomialCounts(trials, one, zero):
            if s > trials:
                return mpmath.mpf(0)
            return (
                mpmath.binomial(trials, s) * mpmath.mpf(one) ** s * mpmath.mpf(zero) ** (trials - s)
            )
        case NegativeBinomialNoise(shape, theta, rest):
            ways = mpmath.rf(shape, s) / mpmath.factorial(s)
            return ways * mpmath.mpf(theta) ** s * mpmath.mpf(rest) ** shape


@cache
def exact(noise: Noise, epsilon: float) -> mpmath.mpf:
    """In whole numbers, of masses times 2^200."""
    with mpmath.workdps(80):
        most, alpha = 90, int(mpmath.ldexp(mpmath.exp(epsilon), 200))
        w = [int(mpmath.ldexp(mass(noise, s), 200)) for s in range(-1, most)]
        gains = [x << 200 for x in w]
        losses = [alpha * x for x in w]
        total = 0
        for s in range(most):
            for t in range(most):
                total += max(gains[s] * w[t + 1] - losses[s + 1] * w[t], 0)
        return mpmath.ldexp(total, -600)


@pytest.mark.parametrize(("noise", "width"), covering(NOISES, [1e-9, 1e-4, 1.0]), ids=str)
def test_against_all_pairs_of_counts(noise: Noise, width: float) -> None:
    found = TwoCountsProfile(noise).sampler(60.0, width)(np.array(EPSILONS))
    for i, epsilon in enumerate(EPSILONS):
        truth = exact(noise, epsilon)
        assert found.lower[i] <= truth <= found.upper[i] + mpmath.mpf(1e-25)  # 90 counts
        if width < 1e-8 and truth > 1e-15:
            assert found.upper[i] - found.lower[i] <= 1e-9 * truth


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_lines_below(noise: Noise) -> None:
    found = TwoCountsProfile(noise).sampler(60.0, 1e-3)(np.array(EPSILONS))
    for i, at in enumerate(EPSILONS):
        for epsilon in EPSILONS:
            away = math.exp(epsilon) - math.exp(at)
            slope = found.fall_high[i] if away > 0 else found.fall_low[i]
            assert found.lower[i] - slope * away <= exact(noise, epsilon) * (1 + 1e-12) + 1e-25


@pytest.mark.parametrize("mean", [50.0, 3e3, 9e5])
@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_groups_of_counts(mean: float, width: float) -> None:
    """Wider groups are around narrower ones, and nearly as narrow as was asked for."""
    profile = TwoCountsProfile(PoissonNoise(mean))
    epsilon = np.linspace(0, 6, 9) / math.sqrt(mean)
    wide, narrow = (profile.sampler(60.0, w)(epsilon) for w in (width, width / 100))
    assert (wide.lower <= narrow.upper).all() and (narrow.lower <= wide.upper).all()
    slack = 1.25 * width * (wide.upper + epsilon * np.exp(epsilon) * wide.fall_high)
    assert (wide.upper - wide.lower <= slack + 1e-9 * wide.upper).all()


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_counts_that_are_left_out(noise: Noise) -> None:
    counts = counts_of(noise, 8.0)
    inside = range(counts.first, counts.first + len(counts.mass))
    for ratio, s in zip(counts.ratio, inside, strict=True):
        with mpmath.workdps(30):
            expected = mass(noise, s - 1) / mass(noise, s)
        assert float(expected) == pytest.approx(ratio, rel=1e-13)
    with mpmath.workdps(30):
        assert 1 - sum(mass(noise, s) for s in inside) <= counts.rest + 1e-25


def test_what_is_counted() -> None:
    assert countable(PoissonNoise(9e5)) and not countable(PoissonNoise(2e6))
    assert not countable(NegativeBinomialNoise(0.5, 0.5, 0.5))
    one = one_more(PoissonNoise(9.5), more=True)
    assert TwoCountsProfile(PoissonNoise(9.5)).max_loss > one.max_loss
