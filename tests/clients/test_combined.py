"""Estimates of several shards or rounds: unbiased and as exact as said, by enumeration."""

import csv
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optional import needs
from shuffledp import Gaussian, RandomizedResponse
from shuffledp.clients import Counts, Estimate, MeanEstimate, combine
from shuffledp.clients.response import ResponseClient
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    HadamardResponse,
    LocalHashing,
    NoiseShares,
    NoisyHistogram,
    OneBit,
    OneOf,
    PrivUnit,
    Randomizer,
)

#: Rounds of 2 and 3 users, with other randomizers and other values.
ROUNDS = [
    (RandomizedResponse(3, eps0=0.7), [0, 1]),
    (RandomizedResponse(3, eps0=2.5), [0, 0, 2]),
]


def outcomes(randomizer: Randomizer, values: list[int]) -> list[tuple[Fraction, Estimate]]:
    """Every list of messages with its exact probability."""
    client = randomizer.client
    assert isinstance(client, ResponseClient)
    own = client.truth.probability
    found = []
    for sent in product(range(3), repeat=len(values)):
        chance = Fraction(1)
        for value, message in zip(values, sent, strict=True):
            chance *= own if value == message else (1 - own) / 2
        found.append((chance, randomizer.estimate(sent)))
    return found


def pairs() -> list[tuple[Fraction, list[Estimate]]]:
    one, two = (outcomes(*round_) for round_ in ROUNDS)
    return [(p * q, [a, b]) for (p, a), (q, b) in product(one, two)]


def moments(weighed: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of what is made of both rounds."""
    cases = [(float(chance), weighed(estimates)) for chance, estimates in pairs()]
    mean = sum(chance * found for chance, found in cases)
    return mean, sum(chance * (found - mean) ** 2 for chance, found in cases)


def test_weights_by_users_are_unbiased() -> None:
    mean, variance = moments(lambda estimates: combine(estimates).counts)
    assert mean == pytest.approx([3, 1, 1], abs=1e-12)
    held = ([1, 1, 0], [2, 0, 1])
    said = [
        sum(r.count_variance(len(v), h[x]) for (r, v), h in zip(ROUNDS, held, strict=True))
        for x in range(3)
    ]
    assert variance == pytest.approx(said, rel=1e-12)


def test_weights_by_precision_are_unbiased() -> None:
    """For the frequencies with these weights, which are equal to those of both if they agree."""
    mean, variance = moments(lambda e: combine(e, weights="precision").frequencies)
    known = [r.count_variance(len(v), 0) / len(v) ** 2 for r, v in ROUNDS]
    share = np.array([1 / x for x in known]) / sum(1 / x for x in known)
    held = np.array([[1, 1, 0], [2, 0, 1]])
    truth = held / [[2], [3]]
    assert mean == pytest.approx(share @ truth, abs=1e-12)
    each = [
        [r.count_variance(len(v), int(h[x])) / len(v) ** 2 for x in range(3)]
        for (r, v), h in zip(ROUNDS, held, strict=True)
    ]
    assert variance == pytest.approx(share**2 @ np.array(each), rel=1e-12)
    # for a value that nobody holds no other weights are as good
    best = share**2 @ known
    for other in (0.0, 0.3, 0.6, 1.0):
        assert best <= np.array([other, 1 - other]) ** 2 @ known + 1e-15


def test_weights_by_estimated_errors_would_be_biased() -> None:
    """Which is why they are not used."""

    def weighed(estimates: list[Estimate]) -> Any:
        precision = [(e.standard_errors / e.users) ** -2.0 for e in estimates]
        total = sum(w * e.frequencies for w, e in zip(precision, estimates, strict=True))
        return total / sum(precision)

    same = [(ROUNDS[0][0], [0, 1]), (ROUNDS[1][0], [0, 1])]
    one, two = (outcomes(*round_) for round_ in same)
    mean = sum(float(p * q) * weighed([a, b]) for (p, a), (q, b) in product(one, two))
    assert (mean - [0.5, 0.5, 0] < -0.005).all()


@pytest.mark.parametrize(
    "randomizer",
    [
        RandomizedResponse(4, eps0=1.0),
        HadamardResponse(4, 1.0),
        LocalHashing(4, 1.0),
        NoisyHistogram(poisson=0.1, k=4),
        NoiseShares(skellam=0.3, k=4),
    ],
    ids=repr,
)
def test_shards_of_one_randomizer_are_as_good_as_all_messages(randomizer: Randomizer) -> None:
    """The sum of counts; the errors differ, since each knows the other's counts only roughly."""
    values = np.arange(300) % 4
    parts = [
        randomizer.randomize(part, rng=np.random.default_rng(1)) for part in np.split(values, 3)
    ]
    counts = [randomizer.counts_of(part, 100, 4) for part in parts]
    each = [randomizer.estimate(part) for part in counts]
    whole, found = randomizer.estimate(sum(counts)), combine(each)
    assert found.users == whole.users == 300
    assert found.counts == pytest.approx(whole.counts, abs=1e-9)
    assert found.rare_error == pytest.approx(whole.rare_error, rel=1e-12)
    assert found.rare_error == pytest.approx(
        math.sqrt(randomizer.count_variance(300, 0)), rel=1e-12
    )
    assert found.standard_errors == pytest.approx(whole.standard_errors, rel=0.2)
    # of equal shards all weights are equal
    assert combine(each, weights="precision").counts == pytest.approx(whole.counts, abs=1e-9)
    nested = combine([combine(each[:2], weights="precision"), each[2]], weights="precision")
    assert nested.counts == pytest.approx(whole.counts, abs=1e-9)
    assert nested.standard_errors == pytest.approx(found.standard_errors, rel=1e-9)


def test_means_of_several_rounds() -> None:
    one, two = MeanEstimate(100, 0.2, 0.1), MeanEstimate(300, 0.6, 0.05)
    users, precision = combine([one, two]), combine([one, two], weights="precision")
    assert (users.users, users.mean) == (400, pytest.approx(0.5))
    assert users.standard_error == pytest.approx(math.hypot(0.25 * 0.1, 0.75 * 0.05))
    assert precision.mean == pytest.approx((0.2 * 100 + 0.6 * 400) / 500)
    assert precision.standard_error == pytest.approx(1 / math.sqrt(100 + 400))
    vectors = [PrivUnit(3, 1.0).estimate(Counts(10, [2**30, -(2**29), x])) for x in (0, 2**30)]
    found = combine(vectors, weights="precision")
    assert found.mean == pytest.approx((vectors[0].mean + vectors[1].mean) / 2)
    assert found.standard_error == pytest.approx(vectors[0].standard_error / math.sqrt(2))
    both = combine([OneBit(1.0).estimate([0, 1, 1]), Gaussian(1.0).estimate([0, 1, 1])])
    assert both.users == 6


def test_a_round_without_users_changes_nothing() -> None:
    poll = RandomizedResponse(3, eps0=1.0)
    nobody, some = poll.estimate([]), poll.estimate([0, 1, 1])
    for weights in ("users", "precision"):
        found = combine([nobody, some, nobody], weights=weights)
        assert found.counts == pytest.approx(some.counts)
        assert found.standard_errors == pytest.approx(some.standard_errors)
        assert combine([nobody, nobody], weights=weights).users == 0


def test_what_does_not_combine() -> None:
    counts, mean = RandomizedResponse(3, eps0=1.0).estimate([0, 1]), OneBit(1.0).estimate([0, 1])
    others = RandomizedResponse(4, eps0=1.0).estimate([0, 1])
    own = Estimate(2, np.array([1.0, 1.0, 0.0]), np.ones(3))
    exact = Estimate(2, np.array([1.0, 1.0, 0.0]), np.zeros(3), 0.0)
    for estimates, said in (
        ([], "give at least one"),
        ([counts, mean], "not all counts or all means"),
        ([counts, 3], "not all counts or all means"),
        (7, "not all counts or all means"),
        ([counts, others], "estimates of 3 and 4 numbers do not combine"),
        ([counts, own], "has no rare_error"),
        ([counts, exact], "has no error"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            combine(estimates, weights="precision")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="weights='size'"):
        combine([counts], weights="size")
    assert combine([counts, own]).rare_error is None


def test_estimates_as_tables(tmp_path: Path) -> None:
    found = RandomizedResponse(3, eps0=1.0).estimate([0, 1, 1, 1])
    text = found.to_csv(tmp_path / "counts.csv")
    assert (tmp_path / "counts.csv").read_text() == text
    rows = list(csv.DictReader(text.splitlines()))
    ends = found.interval(0.95)
    for x, row in enumerate(rows):
        assert int(row["value"]) == x and float(row["count"]) == found.counts[x]
        assert float(row["standard_error"]) == found.standard_errors[x]
        assert float(row["frequency"]) == pytest.approx(found.counts[x] / 4)
        assert float(row["frequency_error"]) == pytest.approx(found.standard_errors[x] / 4)
        assert (float(row["lower"]), float(row["upper"])) == (ends.lower[x], ends.upper[x])
    assert len(rows) == 3
    mean = OneBit(1.0).estimate([0, 1, 1])
    (row,) = csv.DictReader(mean.to_csv().splitlines())
    assert (int(row["coordinate"]), float(row["mean"])) == (0, mean.mean)
    vector = PrivUnit(3, 1.0).estimate(Counts(10, [2**30, 0, 0]))
    assert [r["coordinate"] for r in vector.records()] == [0, 1, 2]
    assert RandomizedResponse(3, eps0=1.0).estimate([]).to_csv().count("nan") == 6
    pandas = needs("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["count"]) == found.counts.tolist()


def test_questions_that_nobody_was_asked_are_left_out() -> None:
    poll = OneOf(RandomizedResponse(2, eps0=1.0), OneBit(eps0=1.0))
    first, second = (
        poll.estimate(Counts(4, tally)) for tally in ([4, 3, 1, 0, 0], [0, 0, 0, 4, 2])
    )
    counts = [each[0] for each in (first, second) if isinstance(each[0], Estimate)]
    means = [each[1] for each in (first, second) if isinstance(each[1], MeanEstimate)]
    found = combine(counts)
    assert found.users == 4 and np.array_equal(found.counts, counts[0].counts)
    assert combine(means) == means[1]
    for unknown in ([counts[1]] * 2, [means[0]] * 2):
        with pytest.raises(InvalidParameter, match="nobody was asked"):
            combine(unknown)  # type: ignore[type-var]
