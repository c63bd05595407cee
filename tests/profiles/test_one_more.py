"""One message more or less among noise, against sums over all counts in many digits."""

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles import noise as oracle
from shuffledp.laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from shuffledp.profiles.one_more import one_more

NOISES: list[Noise] = [
    *(PoissonNoise(mean) for mean in (0.01, 1.0, 42.6545, 300.3)),
    *(BinomialCounts(n, q, 1 - q) for n, q in ((1, 0.5), (2, 0.9), (40, 0.01), (200, 0.99))),
    *(
        NegativeBinomialNoise(r, t, 1 - t)
        for r, t in (
            *((1.0, 0.5), (1.0000001, 0.9), (1.3, 0.9), (1.9, 0.95), (2.0, 0.3)),
            *((60.0, 0.5), (10.0, 0.01), (0.5, 0.5), (0.01, 0.9)),
            *((0.5, 1e-3), (1 - 2.0**-53, 0.75)),
        )
    ),
]
SHARES = np.array([0.0, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0, 1.1])


@pytest.mark.parametrize(("noise", "more"), covering(NOISES, [True, False]), ids=repr)
def test_against_all_counts(noise: Noise, more: bool) -> None:
    profile = one_more(noise, more)
    epsilon = np.unique(np.append(SHARES * min(profile.max_loss, 8.0), [0.01, 0.1, 0.5, 1.0, 2.0]))
    samples = profile.sampler(100.0, 1e-3)(epsilon)
    with mpmath.workdps(70):
        pair = oracle.one_more(noise)
        pair = pair if more else oracle.reversed_pair(pair)
        for i, e in enumerate(epsilon.tolist()):
            truth, slope = oracle.divergence(pair, e), oracle.told(pair, e)
            cut = 1e-55  # where the oracle ends
            assert samples.lower[i] - cut <= truth <= samples.upper[i] + cut, e
            if truth > 1e-40 and e < profile.max_loss * 0.999:
                wide = 1e-2 if getattr(noise, "shape", 1) < 1 and more else 1e-6
                assert samples.upper[i] <= (1 + wide) * samples.lower[i] + 1e-11, e
                # the event may include counts whose loss is epsilon: any slope at a corner
                steepest = oracle.told(pair, e - 1e-9 * (1 + e))
                assert samples.fall_low[i] <= steepest * (1 + 1e-12), e
                assert samples.fall_high[i] >= slope * (1 - 1e-12) or wide == 1e-2, e


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_lines_stay_below(noise: Noise, more: bool) -> None:
    """Through every lower value goes a line that is nowhere above the profile."""
    profile = one_more(noise, more)
    epsilon = SHARES * min(profile.max_loss, 8.0)
    samples = profile.sampler(100.0, 1e-3)(epsilon)
    alpha = np.exp(epsilon)
    certain = samples.fall_high <= 1.001 * samples.fall_low
    slope = np.where(certain, (samples.fall_low + samples.fall_high) / 2, 0.0)
    lines = samples.lower[:, None] - slope[:, None] * (alpha - alpha[:, None])
    slack = 1e-9 * samples.upper[:, None] + 1e-12 * alpha
    assert (lines <= samples.upper + slack)[certain].all()
    assert certain.any() or noise == NOISES[-1] or not more


@pytest.mark.parametrize(
    "noise",
    [
        *(PoissonNoise(1e3), PoissonNoise(1e9), PoissonNoise(1e15)),
        *(BinomialCounts(10**9, 0.5, 0.5), NegativeBinomialNoise(1e9, 0.5, 0.5)),
        NegativeBinomialNoise(50.0, 1 - 1e-6, 1e-6),
    ],
    ids=repr,
)
def test_both_orders_agree_at_zero_and_keep_their_digits(noise: Noise) -> None:
    """The total variation of (N + 1, N) is the largest mass of N, here from its logarithm."""
    with mpmath.workdps(40):
        match noise:
            case PoissonNoise(mean):
                s = mpmath.floor(mean)
                log = s * mpmath.log(mean) - mean - mpmath.loggamma(s + 1)
            case BinomialCounts(n, q):
                s = mpmath.floor((n + 1) * mpmath.mpf(q))
                log = mpmath.loggamma(n + 1) - mpmath.loggamma(s + 1) - mpmath.loggamma(n - s + 1)
                log += s * mpmath.log(q) + (n - s) * mpmath.log(1 - mpmath.mpf(q))
            case _:
                r, t = mpmath.mpf(noise.shape), mpmath.mpf(noise.theta)
                s = mpmath.floor((r - 1) * t / (1 - t))
                log = mpmath.loggamma(s + r) - mpmath.loggamma(s + 1) - mpmath.loggamma(r)
                log += s * mpmath.log(t) + r * mpmath.log(1 - t)
        for more in (True, False):
            found = one_more(noise, more).sampler(100.0, 1e-3)(np.zeros(1))
            assert found.lower[0] <= mpmath.exp(log) <= found.upper[0]
            assert found.upper[0] <= found.lower[0] * (1 + 1e-4)


@pytest.mark.parametrize("mean", [1e3, 3e5])
def test_deep_tails(mean: float) -> None:
    """delta about 1e-100, where 1 - cdf has no digit left; sums of 30 deviations around it."""
    for more in (True, False):
        epsilon = (21.0 if mean > 1e4 else 19.0) / mean**0.5
        found = one_more(PoissonNoise(mean), more).sampler(700.0, 1e-3)(np.array([epsilon]))
        with mpmath.workdps(150):
            alpha, mu = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(mean)
            middle = int(alpha * mu) if more else int(mu / alpha)
            wide = 30 * int(mean**0.5)
            counts = (
                range(middle, middle + wide) if more else range(max(middle - wide, 0), middle + 1)
            )
            log = counts[0] * mpmath.log(mu) - mu - mpmath.loggamma(counts[0] + 1)
            mass, truth = mpmath.exp(log), mpmath.mpf(0)
            for s in counts:
                truth += mass * max((s / mu - alpha) if more else (1 - alpha * s / mu), 0)
                mass *= mu / (s + 1)
            assert 1e-130 < truth < 1e-50
            assert found.lower[0] <= truth * (1 + mpmath.mpf(10) ** -60)
            assert truth * (1 - mpmath.mpf(10) ** -60) <= found.upper[0] <= 1.000001 * truth


def test_more_noise_hides_more() -> None:
    epsilon = np.linspace(0.0, 1.0, 21)
    for less, much in (
        (PoissonNoise(10.0), PoissonNoise(11.0)),
        (BinomialCounts(10, 0.3, 0.7), BinomialCounts(11, 0.3, 0.7)),
        (NegativeBinomialNoise(0.7, 0.8, 0.2), NegativeBinomialNoise(1.7, 0.8, 0.2)),
    ):
        for more in (True, False):
            small, large = (
                one_more(noise, more).sampler(100.0, 1e-3)(epsilon) for noise in (much, less)
            )
            assert (small.lower <= large.upper).all()


@pytest.mark.parametrize(
    ("shape", "theta", "epsilon"),
    [
        (1.2741203435527139e-09, 0.9642220578530664, 20.51744346684666),
        (6.4440008067259444e-09, 0.9999979312192835, 18.8601183152243),
        (6.4440008067259444e-09, 0.9999979312192835, 18.8601183),
    ],
)
def test_a_tiny_shape_at_its_largest_loss(shape: float, theta: float, epsilon: float) -> None:
    """Only the first dummy has so large a loss: it is there with N + 1, hardly ever with N."""
    profile = one_more(NegativeBinomialNoise(shape, theta, 1 - theta), True)
    found = profile.sampler(700.0, 1e-3)(np.array([epsilon]))
    with mpmath.workdps(40):
        alpha, r = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(shape)
        none = (1 - mpmath.mpf(theta)) ** r
        truth = max(none * (1 - alpha * r * mpmath.mpf(theta)), 0)
        assert float(found.lower[0]) <= truth <= float(found.upper[0])


@pytest.mark.parametrize("below", [0.0, 1e-16, 1e-15, 1e-14, 1e-10])
def test_geometric_noise_below_its_only_loss(below: float) -> None:
    """All counts have the loss -log theta: 1 - alpha theta is lost."""
    theta, rest = 0.9889216594032645, 0.011078340596735558
    epsilon = 0.01114016242479828 * (1 - below)
    profile = one_more(NegativeBinomialNoise(1.0, theta, rest), True)
    found = profile.sampler(700.0, 1e-3)(np.array([epsilon]))
    with mpmath.workdps(40):
        truth = max(1 - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(theta), 0)
        assert float(found.lower[0]) <= truth <= float(found.upper[0])


@pytest.mark.parametrize(
    "noise", [NegativeBinomialNoise(6e-8, 5e-8, 1 - 5e-8), PoissonNoise(1e-14)]
)
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_no_delta_of_infinite_losses_is_above_1(noise: Noise, epsilon: float) -> None:
    """There is no dummy but with a probability of 1e-14."""
    found = one_more(noise, more=False).sampler(700.0, 1e-3)(np.array([epsilon]))
    assert 1 - 1e-12 <= found.lower[0] <= 1 - 1e-16 < found.upper[0] <= 1
