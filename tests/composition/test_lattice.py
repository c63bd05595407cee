"""Where profiles are sampled, and polygons below profiles with kinks between the samples."""

import math
import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from covering import covering
from shuffledp import Gaussian, PureLDP, RandomizedResponse, Shuffle
from shuffledp._support.numeric import Array
from shuffledp.composition.lattice import (
    CellWidths,
    LatticeSampler,
    Order,
    SamplePlaces,
    cell_widths,
    on_lattice,
)
from shuffledp.composition.outlines import (
    Influence,
    RoundGroup,
    _widened,
    group_rounds,
    influences,
    log_inverse_delta,
    targets_between,
)
from shuffledp.composition.pld import PLD, Sampled, lower_pld, upper_pld
from shuffledp.profiles.base import Sampler, Samples
from shuffledp.profiles.closed_form import GaussianProfile


def symmetric_pair(rng: random.Random) -> tuple[Array, Array]:
    """Losses > 0 and the P-masses of a few outcomes; their mirror images complete the pair."""
    losses = np.sort([rng.uniform(0.01, 2.0) for _ in range(rng.randint(1, 6))])
    weights = np.array([rng.random() ** 3 + 1e-3 for _ in losses])
    share = rng.uniform(0.3, 1.0)
    return losses, share * weights / np.sum(weights * (1 + np.exp(-losses)))


def profile(losses: Array, masses: Array, epsilon: Array) -> tuple[Array, Array, Array]:
    """delta at each epsilon >= 0, and minus its slopes in alpha, from the right and the left."""
    above = losses[None, :] - epsilon[:, None]
    q = masses * np.exp(-losses)
    value = np.sum(masses * np.maximum(-np.expm1(-above), 0.0), axis=1)
    return value, np.sum(q * (above > 0), axis=1), np.sum(q * (above >= 0), axis=1)


def delta_of(pld: PLD, epsilon: Array) -> Array:
    gains = np.maximum(-np.expm1(epsilon[:, None] - pld.losses[None, :]), 0.0)
    total: Array = gains @ pld.masses + pld.infinite
    return total


@pytest.mark.parametrize("seed", range(12))
def test_polygons_enclose_profiles_with_kinks_between_samples(seed: int) -> None:
    rng = random.Random(seed)
    losses, masses = symmetric_pair(rng)
    step, top = 0.01, 220
    some = sorted({0, top, *(rng.randrange(1, top) for _ in range(rng.choice((5, 20, 100))))})
    index = np.array(some, dtype=np.int64)
    value, right, left = profile(losses, masses, step * index.astype(float))
    samples = Samples(value * (1 - 1e-13), value * (1 + 1e-13), right, left)
    everywhere = np.linspace(0.0, 2.3, 1500)
    exact = profile(losses, masses, everywhere)[0]
    upper = delta_of(upper_pld(step, Sampled(index, samples)), everywhere)
    lower = delta_of(lower_pld(step, Sampled(index, samples)), everywhere)
    assert (upper >= exact * (1 - 1e-12) - 1e-15).all()
    assert (lower <= exact * (1 + 1e-12) + 1e-15).all()
    assert lower.max() > 0 or len(index) < 25


@pytest.mark.parametrize("seed", range(12))
def test_wide_samples_beside_narrow_cells_make_no_more_mass_than_there_is(seed: int) -> None:
    """A bracket at alpha = 1 far wider than a cell would make the first chord as steep; after a
    hundred rounds what there is too much has grown by its hundredth power."""
    rng = np.random.default_rng(seed)
    p, q = (rng.dirichlet(np.full(5, 0.7)) + 1e-3 for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    step, index = 0.002, np.append(np.arange(40), np.arange(40, 4001, 40))
    alpha = np.exp(step * index)[:, None]
    orders = []
    for one, other in ((p, q), (q, p)):
        exact = np.maximum(one - alpha * other, 0.0).sum(axis=1)
        wide = exact * (1 + 0.02 * rng.random(len(exact)))
        orders.append((exact, Sampled(index, Samples.without_falls(exact / 1.02, wide))))
    pld = upper_pld(step, orders[0][1], orders[1][1])
    assert pld.masses.sum() + pld.infinite <= 1 + 1e-10  # masses are rounded up
    for exact, mirrored in ((orders[0][0], 1), (orders[1][0], -1)):
        masses = pld.masses * (np.exp(-pld.losses) if mirrored < 0 else 1.0)
        gains = np.maximum(-np.expm1(step * index[:, None] - mirrored * pld.losses), 0.0)
        beyond = pld.infinite if mirrored > 0 else orders[1][1].samples.upper[-1]
        assert (gains @ masses + beyond >= exact * (1 - 1e-12)).all()


@cache
def ten_of(round_: Shuffle) -> RoundGroup:
    (group,) = group_rounds([(round_.profile, 10)])
    return group


@pytest.mark.parametrize(
    ("round_", "width", "targets", "order"),
    covering(
        [
            Shuffle(PureLDP(4.0), 1000),
            Shuffle(RandomizedResponse(4, eps0=1.0), 10**8),
            Shuffle(Gaussian(0.5), 10**4),
        ],
        [1e-6, 1e-3],
        [(3.0,), (30.0, 40.0), (680.0,)],
        [*Order, None],
        every=3,
    ),
)
def test_points_reach_from_0_to_the_largest_loss(
    round_: Shuffle, width: float, targets: tuple[float, ...], order: Order | None
) -> None:
    group = ten_of(round_)
    largest = round_.profile.max_loss
    step = largest / 1e7
    outlines = [(group.outline, 10)]
    (cells,) = cell_widths(outlines, influences(outlines, targets), width)
    losses = SamplePlaces(group.outline, cells, 1e9).losses(round_.profile, order)
    assert losses[0] == 0
    assert losses[-1] == largest
    points = on_lattice(losses, step, largest)
    assert points[0] == 0
    assert largest <= points[-1] * step < largest + 1.001 * step
    assert np.diff(points).min() >= 1
    assert len(points) < 2100


@pytest.mark.parametrize("seed", range(16))
def test_a_rare_large_loss_is_kept_by_wide_cells(seed: int) -> None:
    """Between 1 and 12 nothing happens; cells there may be wide, and the mass at 12 is not lost."""
    rng = random.Random(seed)
    losses, masses = symmetric_pair(rng)
    rare = 10.0 ** rng.uniform(-40, -10)
    losses, masses = np.append(losses, 12.0), np.append(masses * (1 - 1e-9), rare)
    step = 0.05
    index = np.array([*range(0, 41, rng.choice((1, 4, 8))), 60, 150, 239, 240], dtype=np.int64)
    value, right, left = profile(losses, masses, step * index.astype(float))
    # at the last sample, where the profile is 0, the slope from the left
    samples = Samples(value * (1 - 1e-9), value * (1 + 1e-9), np.append(right[:-1], left[-1]), left)
    samples = replace(samples, lower=np.append(samples.lower[:-1], 0.0))
    lower = lower_pld(step, Sampled(index, samples))
    everywhere = np.linspace(0.0, 12.0, 1500)
    exact = profile(losses, masses, everywhere)[0]
    assert (delta_of(lower, everywhere) <= exact * (1 + 1e-9) + 1e-15 * exact[0]).all()
    assert delta_of(lower, np.array([10.0]))[0] > 0.99 * rare * -np.expm1(-2.0)


def test_losses_that_a_sum_never_has_are_not_sampled() -> None:
    """557 rounds that lose 0.1 together: what one round loses beyond 1 is next to impossible."""
    round_ = Shuffle(Gaussian(0.5), 430_457, sample_rate=0.0116, sampling="poisson")
    (group,) = group_rounds([(round_.profile, 557)])
    outlines = [(group.outline, 557)]
    (cells,) = cell_widths(outlines, influences(outlines, (9.4, 10.8)), 3e-4)
    losses = SamplePlaces(group.outline, cells, 29.0).losses(round_.profile)
    assert 100 < len(losses) < 500
    assert (losses > 1).sum() < 30


def test_many_losses_around_the_one_that_makes_epsilon_are_sampled() -> None:
    """Ten rounds of 10^9 users with little noise: one of them loses 0.67, or nothing is lost."""
    round_ = Shuffle(Gaussian(0.35), 10**9)
    (group,) = group_rounds([(round_.profile, 10)])
    outlines = [(group.outline, 10)]
    targets = targets_between(outlines, *[-math.log(1e-8)] * 2)
    assert targets == (-math.log(1e-8),)
    (cells,) = cell_widths(outlines, influences(outlines, targets), 3e-4)
    losses = SamplePlaces(group.outline, cells, 33.0).losses(round_.profile)
    assert ((losses > 0.65) & (losses < 0.69)).sum() > 5
    light = Shuffle(PureLDP(1.0), 10**6).profile
    assert len(targets_between([(group_rounds([(light, 10)])[0].outline, 10)], 18.0, 18.0)) == 2


@pytest.mark.parametrize("reach", [0, 1, 2, 3, 7, 8, 100])
def test_a_density_is_widened_by_so_many_places(reach: int) -> None:
    values = np.array([0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    expected = [values[max(i - reach, 0) : i + reach + 1].max() for i in range(len(values))]
    assert _widened(values, reach).tolist() == expected


@pytest.mark.parametrize(
    ("round_", "rounds", "epsilon", "log_delta"),
    [
        # deltas of 1e-100 and 1e-8, which other tests certify
        (Shuffle(PureLDP(0.003214932666799516), 105_353_898), 681, 0.000163, 230.0),
        (Shuffle(PureLDP(4.0), 10_000), 4, 1.04, 18.4),
    ],
)
def test_delta_is_guessed_from_outlines(
    round_: Shuffle, rounds: int, epsilon: float, log_delta: float
) -> None:
    """Whatever rare losses do to the first tilt."""
    (group,) = group_rounds([(round_.profile, rounds)])
    guess = log_inverse_delta([(group.outline, rounds)], epsilon)
    assert abs(guess - log_delta) < 0.15 * log_delta


class _Widths:
    """Stands for the profile of Gaussian noise, with samples of a given relative width."""

    def __init__(self, narrowest: float) -> None:
        self._exact, self._narrowest = GaussianProfile(1.0), narrowest
        self.max_loss, self.bounded, self.kinks = self._exact.max_loss, False, None
        self.sampled: list[tuple[float, Array]] = []

    def sampler(self, depth: float, width: float) -> Sampler:
        def sample(epsilon: Array) -> Samples:
            self.sampled.append((width, epsilon))
            exact, wide = self._exact.sampler(depth, width)(epsilon), max(width, self._narrowest)
            return replace(exact, lower=exact.lower * (1 - wide), upper=exact.upper * (1 + wide))

        return sample


@pytest.mark.parametrize("narrowest", [0.0, 0.01])
def test_samples_are_narrowed_where_they_count(narrowest: float) -> None:
    """At losses around 2 only, and no more than once if that does not help."""
    outline = group_rounds([(GaussianProfile(1.0), 10)])[0].outline
    cells = np.linspace(-9.0, 9.0, 50)
    places = SamplePlaces(outline, CellWidths(cells, np.full(50, 0.1)), 30.0)
    profile = _Widths(narrowest)
    costs = np.where(np.abs(cells - 2) < 0.5, 10.0, 1e-6)
    influence = Influence(cells, costs, costs)
    sampler = LatticeSampler(profile, 0.01, places, None, 0.01, influence, 1.0)  # type: ignore[arg-type]
    before, (first, everywhere) = sampler.costs.sum(), profile.sampled[0]
    sampler.narrow(before / 10)
    samples = sampler.sampled.samples
    exact = GaussianProfile(1.0).sampler(30.0, 0.0)(0.01 * sampler.sampled.index.astype(float))
    assert (samples.lower <= exact.upper).all() and (exact.lower <= samples.upper).all()
    narrower = profile.sampled[1:]
    assert all(width < first and len(some) < len(everywhere) / 2 for width, some in narrower)
    assert all(((some > 1) & (some < 3)).all() for _, some in narrower)
    if narrowest:
        assert len(narrower) == 1
    else:
        assert sampler.costs.sum() <= before / 10
