"""Central Gaussian and Laplace noise against closed forms with many digits."""

import math

import mpmath as mp
import pytest

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import best_effort


def gaussian_delta(shift: mp.mpf, epsilon: float) -> mp.mpf:
    """Balle, Wang 2018, Theorem 5."""
    return mp.ncdf(shift / 2 - epsilon / shift) - mp.e**epsilon * mp.ncdf(
        -shift / 2 - epsilon / shift
    )


def laplace_delta(loss: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """P[S] - e^epsilon Q[S] of the best S, for epsilon of either sign."""
    if epsilon >= loss:
        return mp.mpf(0)
    if epsilon <= -loss:
        return 1 - mp.e**epsilon
    return 1 - mp.e ** ((epsilon - loss) / 2)


def two_laplace_delta(loss: mp.mpf, epsilon: float) -> mp.mpf:
    """The loss of one of them has atoms at both ends and the density e^((l - loss)/2)/4 between."""

    def other(first: mp.mpf) -> mp.mpf:
        return laplace_delta(loss, epsilon - first)

    ends = [-loss, loss, *(x for x in (epsilon - loss, epsilon + loss) if abs(x) < loss)]
    between = mp.quad(lambda x: mp.e ** ((x - loss) / 2) / 4 * other(x), sorted(ends))
    return other(loss) / 2 + mp.e**-loss * other(-loss) / 2 + between


@pytest.mark.parametrize(("sigma", "sensitivity"), [(1.0, 1.0), (50.0, 3.0), (0.3, 1.0)])
@pytest.mark.parametrize("releases", [1, 30])
def test_gaussian_noise(sigma: float, sensitivity: float, releases: int) -> None:
    """Gaussian mechanisms compose to one: shifts add up like lengths."""
    with mp.workdps(60):
        shift = mp.sqrt(releases) * mp.mpf(sensitivity) / mp.mpf(sigma)
        account = Accountant().compose(GaussianNoise(sigma, sensitivity), releases)
        for share in (0.0, 1.0, 4.0):
            epsilon = share * float(shift)
            bounds = account.delta_bounds(epsilon)
            exact = gaussian_delta(shift, epsilon)
            assert mp.mpf(bounds.lower) <= exact <= mp.mpf(bounds.upper)
            assert bounds.upper - bounds.lower <= 0.05 * bounds.upper
            assert 0.9 * exact <= mp.mpf(account.attained_delta(epsilon, rtol=0.01)) <= exact


@pytest.mark.parametrize("neighbours", ["replace", "remove"])
def test_noise_of_a_known_law_attains_its_guarantee(neighbours: str) -> None:
    with mp.workdps(60):
        noise = GaussianNoise(0.8, neighbours=neighbours)
        attained = mp.mpf(noise.attained_epsilon(1e-7))
        shift = 1 / mp.mpf(0.8)
        assert (
            gaussian_delta(shift, attained)
            >= mp.mpf(1e-7)
            > gaussian_delta(shift, attained * (1 + mp.mpf("1e-3")))
        )
        assert noise.attained_epsilon(0) == math.inf
        loss = 1 / mp.mpf(3.0)
        laplace = LaplaceNoise(3.0, neighbours=neighbours)
        for delta in (1e-3, 1e-12):
            exact = loss + 2 * mp.log1p(-mp.mpf(delta))
            assert (1 - 1e-3) * exact <= mp.mpf(laplace.attained_epsilon(delta)) <= exact
        assert (1 - 1e-9) * loss <= mp.mpf(laplace.attained_epsilon(0)) <= loss


@pytest.mark.parametrize("ratio", [1e-20, 1e-6, 0.02, 0.05, 1e9, 1e20])
def test_any_ratio_of_noise_to_sensitivity_is_answered(ratio: float) -> None:
    """Little noise has a large epsilon, or one that is not certified, and never a wrong one."""
    root = math.sqrt(ratio)
    noise = GaussianNoise(root, 1 / root)
    with mp.workdps(60):
        shift = mp.mpf(noise.sensitivity) / mp.mpf(noise.sigma)
        for delta in (1e-6, 1e-12):
            bounds = best_effort(noise.epsilon_bounds, delta)
            assert bounds.lower == 0 or gaussian_delta(shift, mp.mpf(bounds.lower)) >= delta
            assert math.isinf(bounds.upper) or gaussian_delta(shift, bounds.upper) <= delta
            # losses above 600 count as infinite
            assert math.isinf(bounds.upper) == (gaussian_delta(shift, mp.mpf(600)) > delta)


@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (30.0, 2.0), (0.2, 1.0)])
def test_laplace_noise(scale: float, sensitivity: float) -> None:
    noise = LaplaceNoise(scale, sensitivity)
    with mp.workdps(40):
        loss = mp.mpf(sensitivity) / mp.mpf(scale)
        for share in (0.0, 0.4, 0.95):
            epsilon = share * float(loss)
            one, two = noise.delta_bounds(epsilon), Accountant().compose(noise, 2)
            assert mp.mpf(one.lower) <= laplace_delta(loss, epsilon) <= mp.mpf(one.upper)
            both = best_effort(two.delta_bounds, 2 * epsilon)  # wide where the most is lost
            assert mp.mpf(both.lower) <= two_laplace_delta(loss, 2 * epsilon) <= mp.mpf(both.upper)
            assert both.upper - both.lower <= (0.05 if share < 0.9 else 0.3) * both.upper
        pure = noise.get_epsilon(0)
        assert loss <= mp.mpf(pure) <= loss * (1 + mp.mpf(2) ** -50)


def test_beside_shuffled_rounds() -> None:
    """More than either alone, and less than what adding up guarantees would say."""
    survey, noise = Shuffle(PureLDP(2.0), 10_000), GaussianNoise(20.0)
    account = Accountant().compose(survey, 2).compose(noise)
    each = [survey.get_epsilon(1e-7), survey.get_epsilon(1e-7), noise.get_epsilon(1e-7)]
    assert max(each) < account.get_epsilon(1e-7) and account.get_epsilon(3e-7) < math.fsum(each)


def test_what_is_no_noise_is_refused() -> None:
    for wrong in (0, -1, math.nan, "1", 1e13):
        with pytest.raises((InvalidParameter, OutOfRange), match="sigma="):
            GaussianNoise(wrong)  # type: ignore[arg-type]
    with pytest.raises(OutOfRange, match=r"scale/sensitivity=0.005 is outside"):
        LaplaceNoise(1.0, 200.0)
    with pytest.raises(InvalidParameter, match="neighbours='none'"):
        LaplaceNoise(1.0, neighbours="none")
    with pytest.raises(InvalidParameter, match="same neighbours"):
        Accountant().compose(GaussianNoise(1.0)).compose(LaplaceNoise(1.0, neighbours="remove"))
