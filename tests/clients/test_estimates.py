"""Estimates from messages: unbiased, with intervals that cover, from counts that add up."""

import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import mpmath
import numpy as np
import pytest

from shuffledp import (
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    calibrate,
)
from shuffledp.clients import Counts, Estimate, MeanEstimate
from shuffledp.clients.caps import cap_moment, cap_share
from shuffledp.clients.hashing import PRIME, hashed, times
from shuffledp.clients.sphere import SphereClient
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.randomizers import (
    REGISTRY,
    Bundle,
    HadamardResponse,
    LocalHashing,
    MatrixRandomizer,
    NoisyHistogram,
    OneBit,
    OneOf,
    Piecewise,
    PrivUnit,
    Randomizer,
    SquareWave,
    SubsetSelection,
)

COUNTING: list[Randomizer] = [
    RandomizedResponse(8, eps0=1.5),
    SubsetSelection(8, 3, 1.5),
    UnaryEncoding(8, 1.5),
    HadamardResponse(8, 1.5),
    LocalHashing(4, 1.5),
    FiniteRandomizer(np.full((8, 8), 0.05) + 0.6 * np.eye(8)),  # type: ignore[arg-type]
]
MEANS: list[Randomizer] = [
    OneBit(1.5),
    Piecewise(1.5),
    SquareWave(1.5),
    Laplace(1.5),
    Gaussian(1.5),
]
VALUES = np.repeat([0, 1, 2, 5], [150, 60, 75, 15])
RESPONSE, HASHING = RandomizedResponse(12, eps0=1.0), LocalHashing(4, 1.0)
MATRIX = FiniteRandomizer([[0.8, 0.2], [0.3, 0.7]])


def estimated(randomizer: Randomizer, messages: Any, k: int = 8) -> Any:
    if isinstance(randomizer, LocalHashing):
        return randomizer.estimate(messages, k=k)
    return randomizer.estimate(messages)


def repeatedly(randomizer: Randomizer, values: Any, repetitions: int, rng: Any) -> list[Any]:
    """Estimates of independent repetitions, whose messages are drawn together."""
    messages = randomizer.randomize(np.tile(values, repetitions), rng=rng)
    return [estimated(randomizer, part) for part in np.split(messages, repetitions)]


@pytest.mark.parametrize("randomizer", COUNTING, ids=repr)
def test_counts_over_many_repetitions(randomizer: Randomizer) -> None:
    """Unbiased, as variable as the formula says, and intervals cover at their level."""
    rng, truth, repetitions = np.random.default_rng(1), np.bincount(VALUES, minlength=8), 1000
    found = repeatedly(randomizer, VALUES, repetitions, rng)
    z = np.array([(e.counts - truth) / e.standard_errors for e in found])
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(repetitions)
    spread = np.var([e.counts for e in found], axis=0)
    said = np.array([randomizer.count_variance(len(VALUES), int(count)) for count in truth])
    assert spread == pytest.approx(said, rel=0.25)
    assert math.sqrt((spread / said).mean()) == pytest.approx(1, rel=0.05)
    inside = [(e.interval(0.9).lower <= truth) & (truth <= e.interval(0.9).upper) for e in found]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("randomizer", MEANS, ids=repr)
def test_means_over_many_repetitions(randomizer: Randomizer) -> None:
    rng, repetitions, users = np.random.default_rng(2), 2000, 50
    values = np.random.default_rng(3).random(users)
    found = repeatedly(randomizer, values, repetitions, rng)
    z = np.array([(e.mean - values.mean()) / e.standard_error for e in found])
    assert abs(z.mean()) < 4.5 / math.sqrt(repetitions)
    assert 0.6 < z.std() < 1.05  # the error is that of the worst numbers
    extreme = 0.5 if isinstance(randomizer, OneBit) else 1.0
    worst = repeatedly(randomizer, np.full(users, extreme), repetitions, rng)
    spread = np.std([e.mean for e in worst])
    assert spread == pytest.approx(math.sqrt(randomizer.mean_variance(users)), rel=0.05)
    ends = [e.interval(0.9) for e in worst]
    inside = np.mean([low <= extreme <= high for low, high in ends])
    assert inside == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(("dimension", "eps0"), [(2, 1.0), (3, 4.0), (20, 2.0)])
def test_vectors_over_many_repetitions(dimension: int, eps0: float) -> None:
    """The worst coordinate of the mean of equal vectors, one axis."""
    randomizer, users, repetitions = PrivUnit(dimension, eps0), 10, 1000
    vectors = np.tile(np.eye(dimension)[0], (users * repetitions, 1))
    messages = randomizer.randomize(vectors, rng=np.random.default_rng(6))
    found = [randomizer.estimate(part) for part in np.split(messages, repetitions)]
    z = np.array([(e.mean - vectors[0]) / e.standard_error for e in found])
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(repetitions)
    # either the axis is the worst, or all coordinates across it, which are alike
    spread = max(z[:, 0].std(), math.sqrt(z[:, 1:].var(axis=0).mean()))
    assert spread == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(("dimension", "eps0"), [(2, 1.0), (3, 4.0), (20, 2.0)])
def test_vectors_over_many_messages(dimension: int, eps0: float) -> None:
    randomizer = PrivUnit(dimension, eps0)
    vectors = np.zeros((40_000, dimension))
    vectors[:, 0], vectors[:, 1] = 0.6, -0.8
    messages = randomizer.randomize(vectors, rng=np.random.default_rng(4))
    found = randomizer.estimate(messages)
    assert isinstance(found, MeanEstimate)
    assert np.abs((found.mean - vectors[0]) / found.standard_error).max() < 4
    client = randomizer.client
    assert isinstance(client, SphereClient)
    sent = messages / 2.0**30
    assert np.linalg.norm(sent, axis=1) == pytest.approx(1, abs=1e-7)
    along = sent @ vectors[0]
    more = float(1 / client.outside.probability)
    share = cap_share(dimension, client.threshold)
    inside = more * share / (1 + (more - 1) * share)
    assert (along >= client.threshold).mean() == pytest.approx(inside, abs=0.012)
    assert along.mean() == pytest.approx(client.length, abs=0.02)
    assert found.standard_error[0] ** 2 == pytest.approx(randomizer.mean_variance(40_000))
    across = np.delete(sent, [0, 1], axis=1)
    if dimension > 2:
        assert (across**2).mean() == pytest.approx(
            (1 - (along**2).mean()) / (dimension - 1), rel=0.05
        )
    least = (sent**2).mean(axis=0).max() - client.length**2 * 0.64
    assert least <= randomizer.mean_variance(1) * client.length**2 * 1.1


def test_the_mean_square_along_a_vector() -> None:
    client = PrivUnit(5, 2.0).client
    assert isinstance(client, SphereClient)
    t, more = client.threshold, float(1 / client.outside.probability)
    with mpmath.workdps(20):

        def density(x: mpmath.mpf) -> mpmath.mpf:
            return (1 - x * x) * (more if x >= t else 1)  # of dimension 5, times e^eps0 in the cap

        whole = mpmath.quad(density, [-1, t, 1])
        mean = mpmath.quad(lambda x: x * density(x), [-1, t, 1]) / whole
        square = mpmath.quad(lambda x: x * x * density(x), [-1, t, 1]) / whole
    assert client.length == pytest.approx(float(mean), rel=1e-9)
    assert client._along == pytest.approx(float(square), rel=1e-9)
    assert cap_moment(5, t) > 0


@pytest.mark.parametrize("name", REGISTRY)
def test_every_named_randomizer_has_a_client_or_says_why_not(name: str) -> None:
    randomizer = REGISTRY[name](**REGISTRY[name].example)
    if name in ("pure-ldp", "variation-ratio", "approximate-ldp"):
        for ask in (lambda: randomizer.randomize([0]), lambda: randomizer.bits):
            with pytest.raises(InvalidParameter, match="stands for many randomizers"):
                ask()
        return
    if name == "noisy-histogram":
        return  # which sends any number of messages a user: test_dummies.py
    value: Any = 1
    if name == "priv-unit":
        value = np.eye(5)[0]
    if name in ("bundle", "one-of"):
        value = np.ones(2, dtype=int)
    one = randomizer.randomize(value)  # as a device does, with the system's entropy
    many = randomizer.randomize(np.array([value] * 3))
    assert many.shape == (3, *np.shape(one)) and many.dtype.kind in "iu"
    assert randomizer.bits >= 1
    said = [randomizer.randomize(np.array([value] * 9), rng=np.random.default_rng(7)) for _ in "ab"]
    assert (said[0] == said[1]).all()
    found = estimated(randomizer, many, 3)
    if name in ("bundle", "one-of"):  # an estimate for each question
        assert [(each.users, len(each.counts)) for each in found] == [(3, 2), (3, 3)]
        for variance in (randomizer.count_variance, randomizer.mean_variance):
            with pytest.raises(InvalidParameter, match="ask the questions themselves"):
                variance(1000)
        return
    assert isinstance(found, Estimate | MeanEstimate) and found.users == 3
    if isinstance(found, Estimate):
        assert randomizer.count_variance(1000, 10) > 0
        with pytest.raises(InvalidParameter, match="counts, not a mean"):
            randomizer.mean_variance(1000)
    else:
        assert randomizer.mean_variance(1000) > 0
        with pytest.raises(InvalidParameter, match="mean, not counts"):
            randomizer.count_variance(1000)


def test_errors_of_counts_and_of_frequencies() -> None:
    """Rows have both; the interval is that of the count."""
    found = RESPONSE.estimate(Counts(120, [10] * 12))
    assert found.frequency_errors * 120 == pytest.approx(found.standard_errors)
    row = found.records()[3]
    assert row["frequency_error"] == pytest.approx(row["standard_error"] / 120)
    reach = 1.959964 * row["standard_error"]
    assert row["upper"] - row["count"] == pytest.approx(reach) == row["count"] - row["lower"]


@pytest.mark.parametrize("randomizer", MEANS, ids=repr)
def test_the_line_is_the_mean_message(randomizer: Randomizer) -> None:
    """The estimate by hand, and its variance at the worst number."""
    rng = np.random.default_rng(9)
    zero, one = randomizer.client.line  # type: ignore[attr-defined]
    for number in (0.0, 0.5, 1.0):
        sent = randomizer.randomize(np.full(40_000, number), rng=rng).astype(float)
        each = (sent - zero) / (one - zero)
        largest = math.sqrt(randomizer.mean_variance(1))
        assert abs(each.mean() - number) < 5 * largest / 200
        assert each.std() < 1.02 * largest


@pytest.mark.parametrize("randomizer", [*COUNTING, *MEANS], ids=repr)
def test_counts_add_up_in_any_order(randomizer: Randomizer) -> None:
    values = np.array([0, 1, 1, 0, 1, 1, 0])
    messages = randomizer.randomize(values, rng=np.random.default_rng(8))

    def count(part: Any) -> Counts:
        if isinstance(randomizer, LocalHashing):
            return randomizer.count(part, k=8)
        return randomizer.count(part)

    parts = [count(messages[i:j]) for i, j in ((0, 2), (2, 3), (3, 7), (7, 7))]
    whole = count(messages)
    assert sum(parts) == whole == parts[3] + (parts[2] + parts[0]) + parts[1]
    assert hash(sum(parts)) == hash(whole)
    again = Counts(whole.users, whole.tally.tolist())  # as a database returns them
    a, b = randomizer.estimate(again), estimated(randomizer, messages)
    if isinstance(a, MeanEstimate):
        assert a == b
    else:
        assert np.array_equal(a.counts, b.counts)


def test_messages_may_be_of_any_whole_kind() -> None:
    poll = RandomizedResponse(4, eps0=1.0)
    for kind in (np.uint8, np.int32, np.uint64):
        assert poll.count(np.array([0, 3, 3], dtype=kind)) == Counts(3, [1, 0, 0, 2])
    assert OneBit(1.0).count(np.array([1, 0, 1], dtype=np.uint64)).tally.tolist() == [2]
    assert poll.count([]) == Counts(0, [0, 0, 0, 0])


@pytest.mark.parametrize(("k", "size"), [(10**12, 3), (200, 100), (5000, 2), (3, 1)])
def test_subsets_are_subsets(k: int, size: int) -> None:
    sent = SubsetSelection(k, size, 1.0).randomize(np.zeros(500, dtype=int))
    assert sent.shape == (500, size) and (np.diff(sent, axis=1) > 0).all()
    assert sent.min() >= 0 and sent.max() < k
    assert 0.1 < sent.mean() / k < 0.6


def test_sums_of_messages_are_exact() -> None:
    """10^7 messages of 50 bits have a sum of more than 64 bits."""
    messages = np.full(10**5, 2**61)
    assert Laplace(1.0).count(messages).tally[0] == 10**5 * 2**61
    assert Laplace(1.0).count(-messages - 1).tally[0] == -(10**5) * (2**61 + 1)


def test_products_modulo_the_prime() -> None:
    rng = np.random.default_rng(9)
    edges = [0, 1, 2, 2**30, 2**31 - 1, 2**31, 2**60, PRIME - 1]
    a = np.array([*edges, *rng.integers(0, PRIME, 200)], dtype=np.uint64)
    for b in a:
        expected = [int(x) * int(b) % PRIME for x in a]
        assert times(a, np.full(len(a), b)).tolist() == expected
    x = a[:50]
    seeds = a[100:150], a[120:170], a[150:200]
    found = hashed(*seeds, x, 10).tolist()
    for i in range(50):
        one, two, three = (int(s[i]) for s in seeds)
        assert found[i] == (one * int(x[i]) ** 2 + two * int(x[i]) + three) % PRIME % 10


def test_hashes_of_three_values_are_independent() -> None:
    """All 8 patterns of three values are as likely, and g = 3 is uniform."""
    rng = np.random.default_rng(10)
    a, b, c = rng.integers(0, PRIME, (3, 80_000)).astype(np.uint64)
    bits = [hashed(a, b, c, np.full(80_000, x, dtype=np.uint64), 2) for x in (0, 1, 7)]
    counts = np.bincount((bits[0] + 2 * bits[1] + 4 * bits[2]).astype(np.int64))
    assert np.abs(counts - 10_000).max() < 500
    thirds = np.bincount(hashed(a, b, c, np.full(80_000, 5, dtype=np.uint64), 3).astype(np.int64))
    assert np.abs(thirds - 80_000 / 3).max() < 800


@dataclass(frozen=True)
class Shy(MatrixRandomizer):
    """A randomizer that brings its matrix and nothing else."""

    name: ClassVar[str] = "shy"
    example: ClassVar[dict[str, float]] = {}

    def rows(self) -> Sequence[Sequence[float]]:
        return [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]


def test_a_matrix_is_enough_for_a_client() -> None:
    values = np.repeat([0, 1], [3000, 7000])
    found = Shy().estimate(Shy().randomize(values, rng=np.random.default_rng(11)))
    assert isinstance(found, Estimate)
    assert np.abs((found.counts - [3000, 7000]) / found.standard_errors).max() < 4
    alike = FiniteRandomizer([[0.5, 0.5], [0.25, 0.75], [0.375, 0.625]])
    with pytest.raises(InvalidParameter, match="3 rows of the matrix depend"):
        alike.estimate([0, 1])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: RandomizedResponse(4, eps0=1.0).randomize([0, 4]), r"values\[1\]=4 is outside 0"),
        (lambda: RandomizedResponse(4, eps0=1.0).randomize([0.5]), "not a list of whole numbers"),
        (lambda: RandomizedResponse(4, eps0=1.0).randomize([[0]]), "not a list of whole numbers"),
        (lambda: RandomizedResponse(4, eps0=1.0).randomize([0], rng=7), "rng=7"),  # type: ignore[arg-type]
        (lambda: RandomizedResponse(4, eps0=1.0).count([7]), "messages has 7"),
        (lambda: RandomizedResponse(4, eps0=1.0).count([-1]), "messages has -1"),
        (lambda: RandomizedResponse(4, eps0=1.0).estimate(Counts(3, [1, 2])), "2 numbers instead"),
        (lambda: RandomizedResponse(10**12, eps0=1.0).count([7]), "more than the 100,000,000"),
        (lambda: UnaryEncoding(9, 1.0).count([[1], [2]]), r"shape \('users', 2\)"),
        (lambda: OneBit(1.0).randomize([0.5, math.nan]), r"values\[1\]=nan is outside"),
        (lambda: OneBit(1.0).randomize("x"), "not a list of numbers"),
        (lambda: Laplace(1.0).randomize([2]), r"values\[0\]=2 is outside \[0, 1\]"),
        (lambda: Laplace(1.0).estimate([]), "0 messages"),
        (lambda: PrivUnit(3, 1.0).randomize([[1, 0]]), "unit vectors of 3 numbers"),
        (lambda: PrivUnit(3, 1.0).randomize([[1, 1, 0]]), "length 1.41421"),
        (lambda: PrivUnit(3, 1.0).estimate(Counts(0, [0, 0, 0])), "0 messages"),
        (lambda: LocalHashing(4, 1.0).estimate([[1, 2, 3, 0]]), "k is missing"),
        (lambda: LocalHashing(4, 1.0).count([[1, 2, 3, 0]], k=0), "k=0"),
        (lambda: Counts(3, [1.5]), "tally="),  # type: ignore[list-item]
        (lambda: Counts(3, []), "tally="),
        (lambda: Counts(-1, [1]), "users=-1"),
        (lambda: RESPONSE.estimate(Counts(30_000, [1] * 12)), "to 12 instead of 30000 for"),
        (lambda: RESPONSE.estimate(Counts(300, [300] * 12)), "to 3600 instead of 300 for"),
        (
            lambda: RESPONSE.estimate(Counts(1, [-1, 2, *[0] * 10])),
            r"tally\[0\]=-1 is not in 0 .. 1",
        ),
        (lambda: SubsetSelection(4, 2, 1.0).estimate(Counts(3, [3, 3, 1, 0])), "to 7 instead of 6"),
        (
            lambda: UnaryEncoding(2, 1.0).estimate(Counts(3, [1, 4])),
            r"tally\[1\]=4 is not in 0 .. 3",
        ),
        (lambda: HASHING.estimate(Counts(3, [4, 0])), r"tally\[0\]=4 is not in 0 .. 3"),
        (lambda: HadamardResponse(3, 1.0).estimate(Counts(3, [1, 1, 1, 1])), "to 4 instead of 3"),
        (lambda: OneBit(1.0).estimate(Counts(3, [4])), r"tally\[0\]=4 is not in 0 .. 3"),
        (lambda: Piecewise(1.0).estimate(Counts(1, [2**32])), r"is not in 0 .. 4294967295"),
        (lambda: PrivUnit(2, 1.0).estimate(Counts(1, [0, -(2**31)])), "is not in -1073741824 .. 1"),
        (lambda: MATRIX.estimate(Counts(3, [1, 1])), "adds up to 2 instead of 3"),
        (lambda: NoisyHistogram(poisson=1.0, k=2).estimate(Counts(3, [-1, 9])), "not in 0 or more"),
        (
            lambda: Bundle(RESPONSE, OneBit(1.0)).estimate(Counts(2, [*[1] * 12, 1])),
            "up to 12 inst",
        ),
        (
            lambda: OneOf(OneBit(1.0), OneBit(1.0)).estimate(Counts(2, [1, 1, 2, 1])),
            "3 answers of users=2",
        ),
        (lambda: Counts(1, [1]) + Counts(1, [1, 2]), "do not add up"),
        (lambda: OneBit(1.0).estimate(Counts(10, [5])).interval(1.5), "level=1.5"),
        (lambda: OneBit(1.0).mean_variance(0), "users=0"),
        (lambda: RandomizedResponse(4, eps0=1.0).count_variance(10, 11), "count=11"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(ask: Any, said: str) -> None:
    with pytest.raises(ShuffleDPError, match=said) as caught:
        ask()
    text = str(caught.value).replace(" .. ", "")
    assert ". " not in text and text.endswith(".")


def test_the_table_of_accuracy_at_one_guarantee() -> None:
    """n = 10^6, k = 100, (1, 1e-8): standard deviations of a count, from 7.9 to 1000."""

    def deviation(make: Any) -> float:
        found = calibrate(
            "eps0", lambda eps0: Shuffle(make(eps0), 10**6), epsilon=1.0, delta=1e-8, rtol=0.01
        )
        return math.sqrt(make(found.value).count_variance(10**6, 0))

    assert deviation(lambda e: RandomizedResponse(100, eps0=e)) == pytest.approx(7.9, rel=0.01)
    assert deviation(lambda e: UnaryEncoding(100, e)) == pytest.approx(89, rel=0.02)
    assert deviation(lambda e: LocalHashing(256, e)) == pytest.approx(64, rel=0.02)
    assert deviation(lambda e: HadamardResponse(100, e)) == pytest.approx(1000, rel=0.02)


def test_the_memory_of_many_users_is_bounded() -> None:
    randomizer, values = RandomizedResponse(100, eps0=8.0), np.arange(10**6) % 100
    tracemalloc.start()
    found = randomizer.estimate(randomizer.randomize(values))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(found, Estimate)
    assert np.abs((found.counts - 10**4) / found.standard_errors).max() < 5.5
    assert peak < 5 * values.nbytes


def test_pure_ldp_names_a_randomizer_to_use() -> None:
    with pytest.raises(InvalidParameter, match=r"RandomizedResponse\(k=2, eps0=1.0\)"):
        PureLDP(1.0).randomize([0])


def test_sets_with_a_repeated_value_are_refused() -> None:
    poll = SubsetSelection(4, 2, 1.0)
    assert poll.count([[0, 1], [3, 1]]).tally.tolist() == [1, 2, 0, 1]
    with pytest.raises(InvalidParameter, match=r"messages has \[1, 1\], in which a value is"):
        poll.count([[0, 1], [1, 1]])
    three = SubsetSelection(8, 3, 1.5)
    with pytest.raises(InvalidParameter, match="a value is repeated"):
        three.count([[2, 1, 2]])
    assert three.count(np.zeros((0, 3), dtype=int)).users == 0
