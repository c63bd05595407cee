"""The law of the number of honest senders, and rounds with users who hide nobody."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp import (
    Accountant,
    Aggregate,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    calibrate,
    compare,
)
from shuffledp.composition.bundle import BundledRounds
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import best_effort
from shuffledp.laws.noise_law import PoissonNoise
from shuffledp.profiles.sender_count import SenderCount


def exact_masses(count: SenderCount, first: int, last: int) -> list[mpmath.mpf]:
    """Pr[senders = s] from first to last, by the ratio of neighbouring masses."""
    n, h, m = count.users, count.honest, count.sample
    with mpmath.workdps(40):
        if count.rate:
            odds = mpmath.mpf(count.rate) / (1 - mpmath.mpf(count.rate))
            mass = mpmath.binomial(h, first) * odds**first * (1 - mpmath.mpf(count.rate)) ** h
        else:
            mass = mpmath.binomial(h, first) * mpmath.binomial(n - h, m - first)
            mass /= mpmath.binomial(n, m)
        masses = []
        for s in range(first, last + 1):
            masses.append(mass)
            ratio = mpmath.mpf(h - s) / (s + 1)
            mass *= ratio * odds if count.rate else ratio * (m - s) / max(n - h - m + s + 1, 1)
    return masses


def counts(seed: int) -> SenderCount:
    draw = random.Random(seed)
    users = draw.choice([3, 10, 40, 300, 5000, 10**6, 10**12])
    honest = draw.randint(1, users - 1)
    if seed % 3 == 0:
        return SenderCount(honest, rate=draw.choice([1e-3, 0.1, 0.5, 0.97]))
    return SenderCount(honest, users, draw.randint(1, users - 1))


def some_nodes(points: int, draw: random.Random) -> np.ndarray:
    """The first point, and some others."""
    return np.unique([0, *(draw.randrange(points) for _ in range(draw.choice([0, 3, 40])))])


@pytest.mark.parametrize("seed", range(25))
def test_masses_and_means_of_buckets_against_many_digits(seed: int) -> None:
    count = counts(seed)
    draw = random.Random(seed)
    cells = count.cells(draw.choice([20.0, 60.0, 400.0]))
    buckets = cells.buckets(some_nodes(len(cells.first), draw))
    assert count.least <= buckets[0].first and buckets[-1].last <= count.most
    ends = [b.first - 1 for b in buckets[1:]] + [int(cells.first[-1])]
    short = [i for i, b in enumerate(buckets) if ends[i] - b.first < 2000]
    for i in draw.sample(short, min(len(short), 8)):
        bucket, last = buckets[i], ends[i]
        assert bucket.last >= last if bucket.last > bucket.first else bucket.first == last
        masses = exact_masses(count, bucket.first, last)
        exact = sum(masses)
        assert bucket.lower <= exact <= bucket.upper
        assert bucket.upper <= 1.001 * bucket.lower or exact < 1e-290
        if exact > 1e-290:
            mean = sum(s * m for s, m in zip(range(bucket.first, last + 1), masses, strict=True))
            assert bucket.mean_low <= mean / exact * (1 + 1e-12)
            assert mean / exact <= bucket.mean_high * (1 + 1e-12) <= bucket.last * (1 + 1e-12)
    total = [sum(getattr(b, side) for b in buckets) for side in ("lower", "upper")]
    assert total[0] <= 1 <= total[1] + cells.rest + 1e-12


@pytest.mark.parametrize("users", [44_049_207, 10**12 + 7])
def test_means_of_buckets_of_large_counts_in_fractions(users: int) -> None:
    """The bounds of a mean may be next to each other, and are still on both sides of it."""
    count = SenderCount(users - 49, users, users * 13 // 20)
    cells = count.cells(60.0)
    for stride in (2, 3, 5):
        for bucket in cells.buckets(np.arange(0, len(cells.first), stride)):
            last = int(bucket.cells[1, -1])
            masses = {bucket.first: Fraction(1)}
            for s in range(bucket.first, last):
                ratio = Fraction(
                    (count.honest - s) * (count.sample - s),
                    (s + 1) * (users - count.honest - count.sample + s + 1),
                )
                masses[s + 1] = masses[s] * ratio
            mean = sum(s * mass for s, mass in masses.items()) / sum(masses.values())
            assert bucket.first <= Fraction(bucket.mean_low) <= mean
            assert mean <= Fraction(bucket.mean_high) <= bucket.last


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_out_is_rare(seed: int) -> None:
    """Counts outside all cells, summed in fractions."""
    draw = random.Random(seed)
    users = draw.choice([200, 400])
    honest, sample = draw.randint(1, users - 1), draw.randint(1, users - 1)
    count = SenderCount(honest, users, sample)
    cells = count.cells(5.0)
    outside = [
        s for s in range(count.least, count.most + 1) if not cells.first[0] <= s <= cells.first[-1]
    ]
    ways = sum(math.comb(honest, s) * math.comb(users - honest, sample - s) for s in outside)
    assert Fraction(ways, math.comb(users, sample)) <= Fraction(cells.rest)


def replaced(mean: float, alpha: float) -> float:
    """The divergence of a replaced message among Poisson noise: a sum over both counts."""
    w = [0.0, math.exp(-mean)]
    for s in range(1, 80):
        w.append(w[-1] * mean / s)
    more, less = np.array(w[:-1]), np.array(w[1:])
    return float(np.maximum(np.outer(more, less) - alpha * np.outer(less, more), 0.0).sum())


@pytest.mark.parametrize("messages", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_buckets_of_senders_of_noise_against_every_count(seed: int, messages: int) -> None:
    """(t/h) F_t(1 + (alpha - 1) h/t), averaged over the counts of a bucket, is between the two
    sides; of several messages, which are composed, at least what one of them makes."""
    draw, honest, mean = random.Random(seed), 50, 0.6
    count = SenderCount(honest, rate=0.3)
    cells, epsilon = count.cells(25.0), np.array([0.02, 0.1, 0.4])
    between = BundledRounds(PoissonNoise(mean), count, messages).bracket(epsilon, 30.0, 1e-6)
    for bucket in cells.buckets(some_nodes(len(cells.first), draw)):
        last = max(bucket.first, bucket.last - (bucket.last < cells.first[-1]))
        lower, upper, _, _, own, _ = between(bucket)
        masses = [float(m) for m in exact_masses(count, bucket.first, last)]
        for i, excess in enumerate(np.expm1(epsilon)):
            each = (
                m * t / honest * replaced(mean * t, 1 + excess * honest / t)
                for t, m in enumerate(masses, bucket.first)
                if t
            )
            truth = sum(each) / sum(masses)
            assert truth <= upper[i] * (1 + 1e-9)
            if messages == 1:
                assert lower[i] <= truth * (1 + 1e-9) + 1e-12
            # what the rounds' own brackets leave
            if bucket.first == bucket.last:
                assert upper[i] - lower[i] <= own[i]
            else:
                assert upper[i] - lower[i] > own[i]


def test_silent_users_of_full_and_poisson_rounds_are_fewer_users() -> None:
    response = RandomizedResponse(4, eps0=2.0)
    assert Shuffle(response, 1000, colluding=0.1, dropouts=50).get_epsilon(1e-6) == (
        Shuffle(response, 850).get_epsilon(1e-6)
    )
    poisson = {"sample_rate": 0.3, "sampling": "poisson"}
    assert Shuffle(response, 1000, dropouts=200, **poisson).get_epsilon(1e-6) == (  # type: ignore[arg-type]
        Shuffle(response, 800, **poisson).get_epsilon(1e-6)  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("users", [10**8])
def test_large_samples_are_close_to_samples_of_the_honest(users: int) -> None:
    """The mixture spreads a little around the sample that is expected, and is never below it."""
    round_ = Shuffle(PureLDP(3.0), users, sample_rate=0.1, colluding=0.1)
    bounds = round_.epsilon_bounds(1e-6)
    expected = Shuffle(PureLDP(3.0), round_.honest, sample_rate=0.1).get_epsilon(1e-6)
    assert 0.999 * expected <= bounds.upper <= 1.01 * expected
    assert round_.attained_epsilon(1e-6) <= bounds.upper


def test_noise_on_numbers_with_colluding_users() -> None:
    """A small round: each of a few counts is one of noise on numbers."""
    round_ = Shuffle(Laplace(1.0), 20, sample_rate=0.2, colluding=4)
    plain = Shuffle(Laplace(1.0), 16, sample_rate=0.25)
    assert 0.5 * plain.get_delta(0.1) <= round_.get_delta(0.1) <= 2 * plain.get_delta(0.1)
    assert 0 < round_.attained_delta(0.1) <= round_.get_delta(0.1)


def test_a_bundle_is_as_many_rounds() -> None:
    survey = Shuffle(PureLDP(2.0), 1000)
    bundled = Shuffle(PureLDP(2.0), 1000, messages=3)
    three, once = Accountant(), Accountant()
    three.compose(survey, rounds=6)
    once.compose(bundled, rounds=2)
    assert three.get_epsilon(1e-6) == once.get_epsilon(1e-6)
    assert bundled.get_epsilon(0) == 6.0
    assert bundled.get_delta(6.0) == 0


def test_shares_are_decimal_numbers() -> None:
    assert Shuffle(PureLDP(1.0), 10**6, colluding=0.1).colluding == 10**5
    assert Shuffle(PureLDP(1.0), 7, dropouts=0.3).dropouts == 3
    assert Shuffle(PureLDP(1.0), 9, dropouts=Fraction(1, 3)).honest == 6  # type: ignore[arg-type]
    assert repr(Shuffle(PureLDP(1.0), 10, colluding=0.2, messages=2)).endswith(
        "analysis='best', colluding=2, messages=2)"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"colluding": -1}, "colluding=-1 is negative"),
        ({"colluding": math.nan}, "colluding=nan is not finite"),
        ({"dropouts": 1.5}, "dropouts=1.5 is not whole"),
        ({"dropouts": "3"}, "dropouts='3' is not a number"),
        ({"colluding": 6, "dropouts": 4}, "leave nobody of users=10 to protect"),
        ({"colluding": 0.95}, "leave nobody of users=10 to protect"),
        ({"messages": 0}, "messages=0 is below 1"),
        ({"messages": 2.5}, "messages=2.5 is not whole"),
    ],
)
def test_bad_numbers_of_people_are_refused(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        Shuffle(PureLDP(1.0), 10, **options)  # type: ignore[arg-type]


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(OutOfRange, match="messages=100000 is above 10000"):
        Shuffle(PureLDP(1.0), 10, messages=10**5)
    with pytest.raises(OutOfRange, match="each message of a user counted as one"):
        Accountant().compose(Shuffle(PureLDP(1.0), 10, messages=10**4), rounds=10**4)


def test_rounds_with_many_messages_are_calibrated_up_to_the_limit() -> None:
    """The last number of rounds that is supported is fewer if each counts as many."""
    found = calibrate(
        "rounds", Shuffle(PureLDP(1e-6), 10**12, messages=10**4), epsilon=1.0, delta=1e-6, rtol=0.1
    )
    assert (found.value, found.beyond) == (1000, None)
    full = Accountant().compose(Shuffle(PureLDP(1e-6), 10**12, messages=10**4), 1000)
    assert full.remaining_rounds(Shuffle(PureLDP(1e-6), 10**12), 1.0, 1e-6) == 0


def test_tools_know_of_silent_users() -> None:
    found = calibrate(
        "users",
        lambda users: Shuffle(PureLDP(4.0), users, colluding=500),
        epsilon=0.5,
        delta=1e-6,
    )
    assert found.value == 7531
    table = compare(Shuffle(PureLDP(1.0), 1000, sample_rate=0.1, colluding=100), 1, 1e-6)
    assert all("colluding" in row.reason for row in table.rows)
    assert "(100 or 10 % of all colluding)" in str(table)
    assert "5 messages each" in str(Accountant().compose(Shuffle(PureLDP(1.0), 10, messages=5)))


def test_buckets_are_cut_where_next_to_nothing_is_left() -> None:
    """Without a warning that widths relative to a mean of 1e-290 overflow."""
    bits = RandomizedResponse(2, eps0=50.0)
    sampled = Aggregate(bits, 12, sample_rate=0.5, sampling="poisson", colluding=1)
    lower, upper = best_effort(sampled.epsilon_bounds, 1e-280, rtol=0.01)
    assert 49 < lower <= 50 <= upper * (1 + 1e-12)
