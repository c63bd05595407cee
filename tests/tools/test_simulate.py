"""Simulations: unbiased, with the errors that are said, of those who send."""

from typing import Any

import numpy as np
import pytest

from shuffledp import Aggregate, Gaussian, RandomizedResponse, Shuffle, UnaryEncoding, simulate
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    Bundle,
    HadamardResponse,
    LocalHashing,
    OneBit,
    PrivUnit,
    Randomizer,
    SubsetSelection,
)

VALUES = np.repeat(np.arange(4), [500, 300, 199, 1])
COUNTING = [
    RandomizedResponse(4, eps0=3.0),
    SubsetSelection(4, 2, 3.0),
    UnaryEncoding(4, 3.0),
    UnaryEncoding(4, p=0.9, q=0.05),
    LocalHashing(8, 3.0),
    HadamardResponse(4, 3.0),
]


def rounds_of(randomizer: Randomizer) -> list[Any]:
    shuffled = Shuffle(randomizer, len(VALUES))
    if randomizer.sum_law() is None:
        return [shuffled]
    return [shuffled, Aggregate(randomizer, len(VALUES))]


@pytest.mark.parametrize("randomizer", COUNTING, ids=repr)
def test_estimates_scatter_around_the_truth_as_much_as_they_say(randomizer: Randomizer) -> None:
    rng = np.random.default_rng(7)
    for round_ in rounds_of(randomizer):
        every = [simulate(round_, VALUES, rng) for _ in range(300)]
        assert all((found.true == [500, 300, 199, 1]).all() for found in every)
        away = np.array([found.estimated - found.true for found in every])
        errors = [randomizer.count_variance(1000, c) ** 0.5 for c in (500, 300, 199, 1)]
        assert np.abs(away.mean(axis=0) / errors).max() < 5 / 300**0.5
        assert away.std(axis=0) == pytest.approx(errors, rel=0.2)
        assert every[0].standard_errors == pytest.approx(errors, rel=0.2)


def test_means_and_vectors() -> None:
    rng, numbers = np.random.default_rng(1), np.linspace(0, 1, 2000)
    for randomizer in (OneBit(4.0), Gaussian(1.0)):
        found = simulate(Shuffle(randomizer, 2000), numbers, rng)
        assert not found.counted and found.true.tolist() == pytest.approx([0.5])
        assert abs(found.estimated[0] - 0.5) < 5 * found.standard_errors[0]
    vectors = np.tile([[0.6, 0.8, 0.0]], (2000, 1))
    found = simulate(Shuffle(PrivUnit(3, 4.0), 2000), vectors, rng)
    assert found.true == pytest.approx([0.6, 0.8, 0.0])
    assert (np.abs(found.estimated - found.true) < 5 * found.standard_errors).all()
    assert "coordinate" in str(found)


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_only_those_who_send_count(sampling: str) -> None:
    round_ = Shuffle(RandomizedResponse(4, eps0=8.0), 1000, sample_rate=0.5, sampling=sampling)
    found = simulate(round_, VALUES, np.random.default_rng(3))
    assert found.true.sum() == found.senders
    assert found.senders == 500 if sampling == "fixed" else 400 < found.senders < 600
    assert (np.abs(found.estimated - found.true) < 5 * found.standard_errors + 1).all()
    assert f"{found.senders:,} of 1,000 users" in str(found)


def test_dropouts_do_not_send() -> None:
    """They are drawn at random, so that the frequencies stay what they are."""
    rng = np.random.default_rng(4)
    values = np.repeat([0, 1], [60_000, 40_000])
    round_ = Shuffle(RandomizedResponse(2, eps0=8.0), 100_000, dropouts=0.2, colluding=0.05)
    found = simulate(round_, values, rng)
    assert found.senders == found.true.sum() == 80_000
    assert abs(found.true[0] - 48_000) < 6 * (100_000 * 0.6 * 0.4 * 0.16) ** 0.5
    said = " ".join(str(found).split())
    assert said.startswith("80,000 of 100,000 users")
    assert "20,000 users drawn uniformly at random drop out." in said
    assert "Colluding users send as the protocol says." in said
    half = Shuffle(RandomizedResponse(2, eps0=8.0), 100_000, sample_rate=0.5, dropouts=0.2)
    assert abs(simulate(half, values, rng).senders - 40_000) < 1000


def test_the_error_of_all_values_is_the_root_mean_square() -> None:
    round_ = Shuffle(RandomizedResponse(4, eps0=3.0), 1000)
    found = simulate(round_, VALUES, np.random.default_rng(5))
    off = found.estimated - found.true
    assert found.root_mean_square_error == pytest.approx((off**2).mean() ** 0.5)
    assert found.expected_error == pytest.approx((found.standard_errors**2).mean() ** 0.5)
    said = f"4 estimates: {found.root_mean_square_error:,.1f}; over many simulations it is about"
    assert said in str(found)
    mean = simulate(Shuffle(OneBit(6.0), 1000), np.zeros(1000), np.random.default_rng(5))
    assert "standard error at most" in str(mean) and "standard error is at most about" in str(mean)
    both = Shuffle(Bundle(RandomizedResponse(2, eps0=3.0), OneBit(3.0)), 1000)
    found = simulate(both, np.column_stack([VALUES % 2, VALUES % 2]))
    assert found.root_mean_square_error is found.expected_error is None
    assert "standard error (of means: at most)" in str(found)


def test_the_standard_error_of_a_mean_is_above_that_of_all_data() -> None:
    """It is the largest over all data: of numbers at an end the true one is much smaller."""
    rng, randomizer = np.random.default_rng(6), OneBit(6.0)
    for number in (0.0, 0.5):
        values = np.full(4000, number)
        found = [randomizer.estimate(randomizer.randomize(values, rng=rng)) for _ in range(200)]
        scatter = float(np.std([each.mean for each in found]))
        stated = found[0].standard_error
        assert scatter < stated / 5 if number == 0 else scatter == pytest.approx(stated, rel=0.3)


def test_several_ones_are_summed_up() -> None:
    bits = np.array([[1, 1, 0]] * 400 + [[0, 0, 1]] * 600)
    found = simulate(Aggregate(UnaryEncoding(3, 12.0, ones=2), 1000), bits)
    assert found.true.tolist() == [400, 400, 600]
    assert (np.abs(found.estimated - found.true) < 6 * found.standard_errors).all()


def test_the_same_seed_is_the_same_simulation_and_the_picture_is_of_it() -> None:
    round_ = Shuffle(RandomizedResponse(4, eps0=3.0), 1000)
    first, second = (simulate(round_, VALUES, np.random.default_rng(5)) for _ in range(2))
    assert (first.estimated == second.estimated).all()
    bars: list[Any] = list(first.plot().patches)
    assert [bar.get_height() for bar in bars] == [500, 300, 199, 1]
    many = Shuffle(RandomizedResponse(100, eps0=9.0), 1000)
    found = simulate(many, VALUES, np.random.default_rng(5))
    said = "20 of 100, those with the largest true values; --json and to_csv() have all."
    assert not found.plot().patches and said in str(found)


@pytest.mark.parametrize("values", [3, [0, 1], VALUES + 1, VALUES / 3])
def test_bad_values_are_told_in_one_sentence(values: Any) -> None:
    with pytest.raises(InvalidParameter) as error:
        simulate(Shuffle(RandomizedResponse(4, eps0=3.0), 1000), values)
    assert "\n" not in str(error.value)
