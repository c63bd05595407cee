"""Dummies: the laws that are realised are those that were analyzed, digit by digit."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

from shuffledp import Shuffle, simulate
from shuffledp.clients import Counts, Source
from shuffledp.clients.dummies import (
    BernoulliDummies,
    NegativeBinomialDummies,
    PoissonDummies,
    _binomial,
    _clumps,
    _distinct,
    _poisson,
)
from shuffledp.clients.inversion import Inversion
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import NoisyHistogram

KINDS: list[dict[str, Any]] = [
    {"poisson": 0.3},
    {"bernoulli": 0.2},
    {"negative_binomial": 0.1, "theta": 0.7},
    {"dummies": 400},
]


def exactly(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def poisson(mean: Fraction, theta: Fraction | None = None) -> Iterator[mpmath.mpf]:
    """With that mean, or that times -log(1 - theta)."""
    m = exactly(mean) * (1 if theta is None else -mpmath.log(1 - exactly(theta)))
    return (mpmath.exp(-m) * m**j / mpmath.factorial(j) for j in itertools.count())


def binomial(trials: int, one: Fraction) -> Iterator[mpmath.mpf]:
    p, n = exactly(one), trials
    return (mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in itertools.count())


def log_series(theta: Fraction) -> Iterator[mpmath.mpf]:
    t = exactly(theta)
    return (-(t**j) / j / mpmath.log(1 - t) for j in itertools.count(1))


def negative_binomial(shape: Fraction, theta: Fraction) -> Iterator[mpmath.mpf]:
    r, t = exactly(shape), exactly(theta)
    return (mpmath.binomial(s + r - 1, s) * t**s * (1 - t) ** r for s in itertools.count())


def laws() -> Iterator[tuple[str, Inversion, Callable[[], Iterator[mpmath.mpf]]]]:
    for mean in (Fraction(6e-5), Fraction(1, 3), Fraction(1), Fraction(32)):
        yield f"poisson {mean}", _poisson(mean), partial(poisson, mean)
    for shape, theta in ((Fraction(3e-4), Fraction(0.05)), (Fraction(7), Fraction(0.99))):
        yield f"all clumps {shape} {theta}", _poisson(shape, theta), partial(poisson, shape, theta)
    for trials, one in ((1, Fraction(0.2)), (7, Fraction(0.9)), (10**12, Fraction(1e-12))):
        yield f"binomial {trials} {one}", _binomial(trials, one), partial(binomial, trials, one)
    for theta in (Fraction(1e-9), Fraction(0.05), Fraction(0.8), Fraction(0.99)):
        yield f"clump {theta}", _clumps(theta), partial(log_series, theta)


LAWS = list(laws())


@pytest.mark.parametrize("bits", [64, 192])
@pytest.mark.parametrize(("law", "masses"), [row[1:] for row in LAWS], ids=[r[0] for r in LAWS])
def test_distribution_functions_to_as_many_bits_as_asked_for(
    law: Inversion, masses: Callable[[], Iterator[mpmath.mpf]], bits: int
) -> None:
    with mpmath.workdps(150):
        total = mpmath.mpf(0)
        for (low, high), mass in itertools.islice(
            zip(law.steps(bits), masses(), strict=False), 120
        ):
            total += mass
            digits = mpmath.mpf(10) ** -80  # of the reference's own
            assert low - digits <= total * 2**bits <= high + digits and high <= low + 2


def test_what_64_bits_leave_open_is_settled_and_all_else_is_right() -> None:
    """Every number next to a step of the table, with further bits on either side."""
    for _, law, masses in LAWS:
        floors, unsure = law._table
        words = sorted({w + i for w in floors[:20].tolist() for i in (-2, -1, 0, 1, 2)})
        inside = np.array([w for w in words if 0 <= w < 2**64], dtype=np.uint64)
        found = law.drawn(inside, Source(np.random.default_rng(1)))
        with mpmath.workdps(60):
            steps = list(itertools.accumulate(itertools.islice(masses(), len(floors) + 2)))
            for word, j in zip(inside.tolist(), found.tolist(), strict=True):
                low, high = (mpmath.mpf(word + i) / 2**64 for i in (0, 1))
                if word not in unsure:
                    assert (j == 0 or steps[j - 1] <= low) and high <= steps[j]
                elif j < len(steps):
                    assert (j == 0 or steps[j - 1] < high) and low < steps[j]


def test_clumps_make_a_negative_binomial_number() -> None:
    """Poisson(-r log(1 - theta)) many of the logarithmic law."""
    r, theta = Fraction(2, 5), Fraction(7, 10)
    with mpmath.workdps(40):
        size = [mpmath.mpf(0), *itertools.islice(log_series(theta), 12)]
        made = [mpmath.mpf(0)] * 13
        clumps = [mpmath.mpf(1)] + [mpmath.mpf(0)] * 12
        for chance in itertools.islice(poisson(r, theta), 13):
            made = [a + chance * b for a, b in zip(made, clumps, strict=True)]
            clumps = [sum(clumps[i] * size[s - i] for i in range(s + 1)) for s in range(13)]
        for found, exact in zip(made, negative_binomial(r, theta), strict=False):
            assert mpmath.almosteq(found, exact, 1e-30)


def test_sets_are_uniform() -> None:
    source, seen = (
        Source(np.random.default_rng(2)),
        dict.fromkeys(itertools.combinations(range(5), 3), 0),
    )
    for _ in range(5000):
        seen[tuple(sorted(_distinct(5, 3, source).tolist()))] += 1
    assert sum((n - 500) ** 2 / 500 for n in seen.values()) < 33  # chi-square, 9 degrees: 1e-4


@pytest.mark.parametrize(
    ("dummies", "masses"),
    [
        (PoissonDummies(0.5), poisson(Fraction(1, 2))),
        (BernoulliDummies(0.5), binomial(1, Fraction(1, 2))),
        (NegativeBinomialDummies(0.5, 0.5), negative_binomial(Fraction(1, 2), Fraction(1, 2))),
    ],
    ids=["poisson", "bernoulli", "negative binomial"],
)
def test_devices_send_dummies_of_their_law(dummies: Any, masses: Any) -> None:
    """Of two values, in 4,000 devices: each number, and both independent of one another."""
    source, size = Source(np.random.default_rng(3)), 4000
    sent = np.array(
        [np.bincount(dummies.draw(1, 2, source), minlength=2) for _ in range(size)]
    ).clip(max=3)
    law = [float(mass) for mass in itertools.islice(masses, 3)]
    law.append(1 - sum(law))
    pairs = list(itertools.product(range(4), repeat=2))
    expected = np.array([size * law[a] * law[b] for a, b in pairs])
    seen = np.array([np.count_nonzero((sent == pair).all(axis=1)) for pair in pairs])
    told = expected > 5
    assert (seen[expected < 1e-9] == 0).all()
    gap = ((seen - expected)[told] ** 2 / expected[told]).sum()
    assert gap < told.sum() + 5 * math.sqrt(2 * told.sum())


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_estimates_over_many_repetitions(kind: dict[str, Any]) -> None:
    """Unbiased, as variable as the formula says, intervals that cover, counts that add up."""
    histogram, users, repetitions = NoisyHistogram(**kind, k=8), 200, 1000
    values = np.repeat([0, 1, 2, 5], [100, 40, 50, 10])
    truth, rng = np.bincount(values, minlength=8), np.random.default_rng(4)
    rounds = [histogram.randomize(values, rng=rng) for _ in range(repetitions)]
    found = [histogram.estimate(messages, users=users) for messages in rounds]
    errors = np.array([e.counts - truth for e in found])
    said = histogram.count_variance(users)
    assert found[0].standard_errors == pytest.approx(math.sqrt(said))
    z = errors / math.sqrt(said)
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(repetitions)
    assert (z**2).mean() == pytest.approx(1, rel=0.06)  # all 8,000 of them
    inside = [(e.interval(0.9).lower <= truth) & (truth <= e.interval(0.9).upper) for e in found]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.025)  # counts are whole numbers
    first, rest = np.split(rounds[0], [150])
    parts = histogram.count(first, users=50) + histogram.count(rest, users=150)
    assert parts == histogram.count(rounds[0], users=users)
    assert histogram.estimate(Counts(users, parts.tally)).counts.tolist() == (
        found[0].counts.tolist()
    )


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_device_and_a_simulation(kind: dict[str, Any]) -> None:
    histogram = NoisyHistogram(**kind, k=5)
    sent = histogram.randomize(3)
    assert sent.tolist() == sorted(sent.tolist()) and 3 in sent and set(sent) <= set(range(5))
    values = np.arange(500) % 4
    found = simulate(Shuffle(histogram, 500), values, np.random.default_rng(5))
    assert found.true.tolist() == [125, 125, 125, 125, 0] and found.senders == 500
    assert (np.abs(found.estimated - found.true) < 6 * found.standard_errors).all()
    assert histogram.bits == 3


def test_noise_alone() -> None:
    """Users without a value send dummies; a fixed number of them is sent by whoever it is."""
    histogram = NoisyHistogram(poisson=2.0, k=4)
    sent = histogram.randomize(np.full(1000, -1), rng=np.random.default_rng(6))
    assert abs(len(sent) - 8000) < 500
    assert histogram.randomize([]).size == 0
    fixed = NoisyHistogram(dummies=100, k=4)
    assert len(fixed.randomize([])) == 100
    assert fixed.estimate(fixed.randomize([1, 2, 3])).users == 3


def test_what_cannot_be_done_is_told() -> None:
    clumpy = NoisyHistogram(negative_binomial=1.0, theta=0.9999, k=2)
    for ask, said in (
        (lambda: NoisyHistogram(poisson=1.0).randomize([0]), "dummies are of every value; give k"),
        (lambda: NoisyHistogram(poisson=1.0, k=3).estimate([0, 1]), "do not tell how many users"),
        (lambda: NoisyHistogram(dummies=5, k=3).estimate([0, 1]), "do not tell how many users"),
        (lambda: NoisyHistogram(dummies=5, k=3).randomize([-1]), r"outside 0 \.\. 2"),
        (lambda: NoisyHistogram(poisson=1.0, k=3).randomize([3]), r"outside -1 \.\. 2"),
        (lambda: NoisyHistogram(poisson=1.0, k=3).randomize([0.5]), "not a list of whole numbers"),
        (lambda: NoisyHistogram(poisson=1e3, k=10**6).randomize([0]), "1e\\+09 dummies are to be"),
        (lambda: NoisyHistogram(poisson=1e-12, k=10**12).count([0], 1), "can be counted"),
        (lambda: clumpy.randomize([0]), "above 0.999"),
        (lambda: NoisyHistogram(dummies=5), "give k"),
        (lambda: NoisyHistogram(poisson=1.0, k=3).estimate([0], users=-1), "users=-1 is below 0"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            ask()
    many = np.zeros(10**7, dtype=np.int64)
    with pytest.raises(InvalidParameter, match="more than 2\\^63 pairs"):
        BernoulliDummies(1e-12).draw(len(many), 10**12, Source())
