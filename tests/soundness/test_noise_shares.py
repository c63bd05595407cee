"""Shares of Gaussian noise: the sum is a central Gaussian mechanism, however little each adds."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from covering import covering
from shuffledp import Accountant, Aggregate, Gaussian, Shuffle, adversaries, calibrate
from shuffledp.accountant import repeated
from shuffledp.calibration import Decimals
from shuffledp.central import GaussianNoise
from shuffledp.errors import OutOfRange
from shuffledp.guarantee import best_effort
from shuffledp.tools.calibrate import values_of
from shuffledp.tools.protocol import round_of


def normal_delta(shift: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """Of two normal laws, so many deviations apart (Balle, Wang 2018, Theorem 5)."""
    tails = [mp.ncdf(sign * shift / 2 - epsilon / shift) for sign in (1, -1)]
    return tails[0] - mp.exp(epsilon) * tails[1]


def sampled_delta(shift: mp.mpf, rate: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """All others hold 0, and so does the user in the second dataset; in the first one the user
    holds 1 and is in the sample with probability `rate`. The first law is larger than alpha times
    the second where that is so of the law of a sample with the user, at another alpha."""
    return rate * normal_delta(shift, mp.log1p(mp.expm1(epsilon) / rate))


PEOPLE: list[tuple[int, dict[str, Any]]] = [
    (10**5, {}),
    (10**12, {"colluding": 0.05}),
    (40, {"colluding": 7, "dropouts": 9}),
]


@pytest.mark.parametrize(
    ("neighbours", "everybody", "noise"), covering(["replace", "remove"], PEOPLE, [0.3, 3.7, 1e3])
)
def test_any_share_is_a_part_of_the_noise(
    neighbours: str, everybody: tuple[int, dict[str, Any]], noise: float
) -> None:
    """Who colludes or drops out adds nothing; the noise of the others adds up."""
    users, people = everybody
    sigma = noise / math.sqrt(users)
    round_ = Aggregate(Gaussian(sigma), users, neighbours, **people)
    taken = [math.ceil(n * users) if n < 1 else n for n in people.values()]
    with mp.workdps(60):
        each = 1 / (mp.mpf(sigma) * mp.sqrt(users - sum(taken)))
        for rounds in (1, 3):
            shift, asked = mp.sqrt(rounds) * each, repeated(round_, rounds)
            bounds = asked.epsilon_bounds(1e-6)
            at_lower, at_upper = (normal_delta(shift, mp.mpf(e)) for e in bounds)
            assert at_upper <= 1e-6 and (bounds.lower == 0 or at_lower >= 1e-6)
            epsilon = float(2 * shift)
            exact = normal_delta(shift, mp.mpf(epsilon))
            delta = asked.delta_bounds(epsilon)
            assert delta.lower <= exact <= delta.upper <= 1.02 * delta.lower
            assert 0.99 * exact <= asked.attained_delta(epsilon) <= exact


@pytest.mark.parametrize("sigma", [0.004, 0.02, 0.1])
def test_samples_of_small_shares(sigma: float) -> None:
    """A hundredth of the users, at random: 1,000 of them."""
    users, senders = 10**5, 1000
    round_ = Aggregate(Gaussian(sigma), users, sample_rate=0.01)
    with mp.workdps(60):
        shift, rate = 1 / (mp.mpf(sigma) * mp.sqrt(senders)), mp.mpf(senders) / users
        for epsilon in (0.0, 0.1, 1.0):
            exact = sampled_delta(shift, rate, mp.mpf(epsilon))
            bounds = round_.delta_bounds(epsilon)
            assert bounds.lower <= exact * (1 + mp.mpf(10) ** -12)
            assert exact <= bounds.upper * (1 + 1e-12)
            assert bounds.upper <= 1.02 * exact
        # of a random number of senders the mean is nearly all that counts
        random = Aggregate(Gaussian(sigma), users, sample_rate=0.01, sampling="poisson")
        assert random.get_delta(0.1) >= sampled_delta(shift, rate, mp.mpf("0.1"))


@pytest.mark.parametrize(
    ("users", "rounds", "epsilon", "delta"),
    [(10**5, 1, 1.0, 1e-6), (10**12, 1, 0.1, 1e-9), (1, 1, 1e-4, 1e-6), (10**5, 12, 1.0, 1e-6)],
)
def test_the_least_share_is_found(users: int, rounds: int, epsilon: float, delta: float) -> None:
    """Where it meets the target in closed form, and a few steps of four digits beyond it does not;
    with one user, noise of more than 1000."""
    found = calibrate(
        "sigma",
        lambda sigma: Aggregate(Gaussian(sigma), users),
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
    )
    with mp.workdps(60):

        def exact(sigma: float) -> mp.mpf:
            return normal_delta(mp.sqrt(mp.mpf(rounds) / users) / mp.mpf(sigma), mp.mpf(epsilon))

        assert exact(found.value) <= delta < exact(0.997 * found.value)
    assert found.beyond is not None and 0.999 * found.value < found.beyond < found.value


@pytest.mark.parametrize("sigma", [1e-6, 0.02])
def test_next_to_no_noise_has_no_certified_epsilon(sigma: float) -> None:
    """A loss of 1250 or more is beyond what is certified, from both sides."""
    round_ = Aggregate(Gaussian(sigma), 1)
    with mp.workdps(60):
        shift = 1 / mp.mpf(sigma)
        for asked in (round_, Accountant().compose(round_, 2)):
            bounds = best_effort(asked.epsilon_bounds, 1e-6)
            assert math.isinf(bounds.upper) and bounds.lower <= shift**2 / 2
            # the truth is finite: no dataset reaches more
            assert asked.attained_epsilon(1e-6) <= shift**2 / 2
            for epsilon in (1.0, 599.0, 601.0, 1e5):
                delta = best_effort(asked.delta_bounds, epsilon)
                exact = normal_delta(mp.sqrt(2) * shift, mp.mpf(epsilon))
                if asked is round_:
                    exact = normal_delta(shift, mp.mpf(epsilon))
                assert delta.lower <= exact <= delta.upper
                assert asked.attained_delta(epsilon) <= exact


def test_shuffled_messages_keep_their_limits() -> None:
    for sigma in (0.05, 1001.0):
        with pytest.raises(OutOfRange, match=r"sigma=.* is outside \[0.1, 1000\].*shuffle view"):
            Shuffle(Gaussian(sigma), 100)
        named = {"randomizer": "gaussian", "sigma": sigma, "users": 100}
        with pytest.raises(OutOfRange, match="aggregate view"):
            round_of(named)
        assert round_of({**named, "view": "aggregate"}).get_epsilon(1e-6) > 0
    with pytest.raises(OutOfRange, match="sigma=1e-13 is outside"):
        Gaussian(1e-13)
    assert math.isinf(best_effort(Aggregate(Gaussian(1e-12), 1).epsilon_bounds, 1e-6).upper)
    assert Aggregate(Gaussian(1e-12), 1).get_delta(1e5) == 1
    shuffled = values_of("sigma", lambda sigma: Shuffle(Gaussian(sigma), 100))
    assert shuffled.grid == Decimals(0.1, 1000.0)
    summed = values_of("sigma", lambda sigma: Aggregate(Gaussian(sigma), 100))
    assert summed.grid == values_of("sigma", GaussianNoise).grid == Decimals(1e-12, 1e12)


def test_what_is_seen_of_small_shares() -> None:
    """The message of one user tells all; what is not supported of shuffled ones is left out."""
    rungs = {row.analysis: row for row in adversaries(Gaussian(0.05), 400, 1e-6, view="aggregate")}
    assert list(rungs) == ["local", "sums", "attained"]
    with mp.workdps(60):
        for name, shift in (("local", mp.mpf(20)), ("sums", mp.mpf(1))):
            lower, upper = rungs[name].lower, rungs[name].upper
            assert upper is not None and normal_delta(shift, mp.mpf(upper)) <= 1e-6
            assert normal_delta(shift, mp.mpf(lower)) >= 1e-6
    rungs = {row.analysis: row for row in adversaries(Gaussian(0.5), 400, 1e-6, view="aggregate")}
    assert list(rungs) == ["local", "shuffle", "sums", "attained"]


@pytest.mark.parametrize("sigma", [1e-12, 1e-5, 0.05, 1e12])
def test_clients_send_any_share(sigma: float) -> None:
    """Messages of 20,000 users with one number: mean and spread as they say themselves."""
    users, rng, value = 20_000, np.random.default_rng(5), 0.3
    gaussian = Gaussian(sigma)
    messages = gaussian.randomize(np.full(users, value), rng=rng)
    found = gaussian.estimate(messages)
    step = 1 / gaussian.client.steps  # type: ignore[attr-defined]
    assert found.standard_error == pytest.approx(sigma / math.sqrt(users), rel=0.11)
    assert abs(found.mean - value) <= 5 * found.standard_error
    assert np.std(messages.astype(float)) * step == pytest.approx(sigma, rel=0.15)
