"""Clients on the integers: every outcome of their coins, with its exact probability."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles.branches import laws_of
from oracles.randomizers import exact_exp
from shuffledp import FiniteRandomizer, Gaussian, Laplace, RandomizedResponse, UnaryEncoding
from shuffledp.clients import Counts
from shuffledp.clients.base import CountingClient
from shuffledp.clients.bits import BitsClient
from shuffledp.clients.columns import ColumnsClient
from shuffledp.clients.hashing import HashClient
from shuffledp.clients.interval import IntervalClient
from shuffledp.clients.mean_client import MeanClient
from shuffledp.clients.noisy import DIGITS, NoisyClient
from shuffledp.clients.one_bit_client import OneBitClient
from shuffledp.clients.response import ResponseClient
from shuffledp.clients.sphere import SphereClient
from shuffledp.clients.subsets import SubsetsClient
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import (
    HadamardResponse,
    LocalHashing,
    OneBit,
    Piecewise,
    PrivUnit,
    Randomizer,
    SquareWave,
    SubsetSelection,
)

EPS0 = (1e-6, 0.01, 0.5, 1.0, math.log(4), 3.7, 10.0, 40.0, 44.5, 100.0, 200.0)
SMALL: list[tuple[Any, dict[str, Any]]] = [
    (RandomizedResponse, {"k": 2}),
    (RandomizedResponse, {"k": 5}),
    (SubsetSelection, {"k": 4, "size": 2}),
    (SubsetSelection, {"k": 5, "size": 1}),
    (SubsetSelection, {"k": 4, "size": 3}),
    (UnaryEncoding, {"k": 2}),
    (UnaryEncoding, {"k": 3}),
    (HadamardResponse, {"k": 3}),
    (HadamardResponse, {"k": 4}),
    (HadamardResponse, {"k": 7}),
]


def most(eps0: float) -> Fraction:
    """e^eps0, rounded down at 80 digits, by other means than the clients."""
    return exact_exp(eps0) * (1 - Fraction(1, 10**80))


def column_of(kind: Any, given: dict[str, Any], key: bytes) -> int:
    """The column of the exact matrix that a message is."""
    message: list[int] = np.frombuffer(key, dtype=np.int64).tolist()
    if kind is SubsetSelection:
        sets = list(itertools.combinations(range(int(given["k"])), int(given["size"])))
        return sets.index(tuple(message))
    if kind is UnaryEncoding:
        return message[0] >> (8 - int(given["k"]))  # the bit of value 0 is the first
    return message[0]


@pytest.mark.parametrize(("small", "eps0"), covering(SMALL, EPS0), ids=str)
def test_laws_of_small_clients(
    small: tuple[Any, dict[str, Any]], eps0: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never more than e^eps0, and next to what the definition says."""
    kind, given = small
    randomizer: Randomizer = kind(**given, eps0=eps0)
    client = randomizer.client
    assert isinstance(client, CountingClient)
    laws = [laws_of(client, x, monkeypatch) for x in range(given["k"])]
    assert all(sum(law.values()) == 1 for law in laws)
    for first, second in itertools.permutations(laws, 2):
        assert first.keys() == second.keys()
        assert all(p <= most(eps0) * second[key] for key, p in first.items())
    matrix = randomizer.exact().make()
    for x, law in enumerate(laws):
        for key, p in law.items():
            column = column_of(kind, given, key)
            if kind is UnaryEncoding:  # columns of the matrix count in order of the bits
                assert column < 2 ** given["k"]
            assert abs(p - matrix[x][column]) < Fraction(1, 2**60)


@pytest.mark.parametrize(("kind", "given"), SMALL, ids=str)
@pytest.mark.parametrize("eps0", [0.5, 3.7])
def test_counts_are_unbiased_and_vary_as_said(
    kind: Any, given: dict[str, Any], eps0: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two users, every pair of messages: mean and variance of the estimates, exactly summed."""
    randomizer: Randomizer = kind(**given, eps0=eps0)
    laws = [laws_of(randomizer.client, x, monkeypatch) for x in range(given["k"])]
    shape = np.atleast_1d(randomizer.randomize(0)).shape
    single = kind in (RandomizedResponse, HadamardResponse)

    def message(key: bytes) -> Any:
        array = np.frombuffer(key, dtype=np.int64)
        return array[0] if single else array.reshape(shape)

    for values in ((0, 0), (0, 1), (given["k"] - 1, 1)):
        means, squares = np.zeros(given["k"]), np.zeros(given["k"])
        for (m, p), (other, q) in itertools.product(*(laws[x].items() for x in values)):
            found = randomizer.estimate(np.array([message(m), message(other)]))
            means += float(p * q) * found.counts
            squares += float(p * q) * found.counts**2
        truth = np.bincount(values, minlength=given["k"])
        assert means == pytest.approx(truth, abs=1e-10)
        for x in range(given["k"]):
            said = randomizer.count_variance(2, int(truth[x]))
            assert squares[x] - means[x] ** 2 == pytest.approx(said, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("eps0", [0.5, 3.7, 200.0])
def test_bits_with_several_ones(eps0: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """p = 1/2 and two ones: the odds ratio counts twice, and counts are unbiased."""
    ratio = exact_exp(Fraction(eps0) / 2) * (1 - Fraction(1, 10**80))
    client = BitsClient(3, Fraction(1, 2), 1 / (ratio + 1), ones=2)
    vectors = [v for v in itertools.product((0, 1), repeat=3) if 1 <= sum(v) <= 2]
    laws = [laws_of(client, v, monkeypatch) for v in vectors]
    for law, other in itertools.permutations(laws, 2):
        assert sum(law.values()) == 1
        assert all(p <= most(eps0) * other[key] for key, p in law.items())
    for vector, law in zip(vectors, laws, strict=True):
        mean = np.zeros(3)
        for key, p in law.items():
            message = np.frombuffer(key, dtype=np.int64).reshape(1, 1)
            mean += float(p) * client.estimate(client.count(message)).counts
        assert mean == pytest.approx(vector, abs=1e-12)
    for wrong, said in (([[0, 0, 0]], "0 ones"), ([[1, 1, 1]], "3 ones"), ([[2, 0, 0]], "3 bits")):
        with pytest.raises(InvalidParameter, match=said):
            client.checked(wrong)


@pytest.mark.parametrize("eps0", EPS0)
def test_thresholds_of_large_clients(eps0: float) -> None:
    """The probabilities that the thresholds stand for, over the number of outputs they share."""
    top = most(eps0)
    for k in (2, 3, 100, 10**6, 10**12):
        response = RandomizedResponse(k, eps0=eps0).client
        assert isinstance(response, ResponseClient)
        own = response.truth.probability
        assert 0 < own < 1
        assert 1 - own <= own * (k - 1) <= top * (1 - own)
        columns = HadamardResponse(k, eps0).client
        assert isinstance(columns, ColumnsClient)
        own = columns.owned.probability
        assert Fraction(1, 2) <= own <= top * (1 - own)
        bits = UnaryEncoding(k, eps0).client
        assert isinstance(bits, BitsClient)
        p, q = (coin.probability for coin in bits.coins)
        assert 0 < q <= p < 1 and p * (1 - q) <= top * q * (1 - p)
        for size in {1, k // 2, k - 1}:
            subsets = SubsetSelection(k, size, eps0).client
            assert isinstance(subsets, SubsetsClient)
            # each of C(k-1, size-1) sets with the own value, of C(k-1, size) without it
            inside = subsets.inside.probability
            assert (1 - inside) * size <= inside * (k - size) <= top * (1 - inside) * size
    for g in (2, 7, 256, 10**12):
        hashing = LocalHashing(g, eps0).client
        assert isinstance(hashing, HashClient)
        own = hashing.answer.truth.probability
        assert 1 - own <= own * (g - 1) <= top * (1 - own)
    bit = OneBit(eps0).client
    assert isinstance(bit, OneBitClient)
    assert Fraction(1, 2) <= bit.keep.probability <= top * (1 - bit.keep.probability)
    for randomizer in (Piecewise(eps0), SquareWave(eps0)):
        interval = randomizer.client
        assert isinstance(interval, IntervalClient)
        inside, window, cells = interval.inside.probability, interval.window, interval.cells
        assert 1 <= window <= Fraction(randomizer.share) * cells and 2 * window <= cells
        assert inside * (cells - window) <= top * (1 - inside) * window
        assert (1 - inside) * window <= inside * (cells - window)  # no less likely inside
    laplace = Laplace(eps0).client
    assert isinstance(laplace, NoisyClient)
    assert 1 <= laplace.steps <= Fraction(eps0) * 2**DIGITS  # what 0 and 1 are apart
    for sigma in (1e-12, 1e-6, 0.1, 1.0, 1 / 3, 1000.0, 1e12):
        gaussian = Gaussian(sigma).client
        assert isinstance(gaussian, NoisyClient)
        unit = 2**gaussian.digits
        assert gaussian.steps * Fraction(sigma) <= unit < (gaussian.steps + 1) * Fraction(sigma)
        assert 1 <= gaussian.steps <= 2**52 and (gaussian.digits == DIGITS or sigma < 2**-12)


@pytest.mark.parametrize("gamma", [1e-12, 0.1, 0.25, 0.9999])
def test_randomized_response_given_by_gamma(gamma: float) -> None:
    client = RandomizedResponse(7, gamma=gamma).client
    assert isinstance(client, ResponseClient)
    exact = 1 - Fraction(gamma) * Fraction(6, 7)
    assert exact - Fraction(1, 2**64) < client.truth.probability <= exact


@pytest.mark.parametrize("eps0", [0.5, 3.7, 40.0])
@pytest.mark.parametrize(("share", "cells"), [((1, 2), 4), ((1, 3), 7), ((2, 5), 8), ((1, 8), 9)])
def test_windows_of_few_cells(
    share: tuple[int, int], cells: int, eps0: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers whose windows need no rounding: the law, its mean and its variance."""
    client = IntervalClient(Fraction(*share), most(eps0), cells)
    places = cells - client.window
    laws = [laws_of(client, start / places, monkeypatch) for start in range(places + 1)]
    for start, law in enumerate(laws):
        assert sum(law.values()) == 1 and len(law) == cells
        inside = {np.array([start + i]).tobytes() for i in range(client.window)}
        for key, p in law.items():
            high = client.inside.probability / client.window
            low = (1 - client.inside.probability) / places
            assert p == (high if key in inside else low)
        for other in laws:
            assert all(p <= most(eps0) * other[key] for key, p in law.items())
        means = [
            (float(p), client.estimate(client.count(np.frombuffer(key, dtype=np.int64))).mean)
            for key, p in law.items()
        ]
        mean = sum(p * found for p, found in means)
        assert mean == pytest.approx(start / places, abs=1e-12)
        variance = sum(p * found**2 for p, found in means) - mean**2
        said = client.mean_variance(1)
        assert variance <= said * (1 + 1e-12)
        if start in (0, places):
            rounding = 1 / (4 * places**2)
            assert variance == pytest.approx(said - rounding, rel=1e-9)


def test_one_bit_is_unbiased_and_varies_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    randomizer = OneBit(1.3)
    for value in (0.0, 1.0):
        law = laws_of(randomizer.client, value, monkeypatch)
        found = [
            (float(p), randomizer.estimate(np.frombuffer(key, dtype=np.int64)).mean)
            for key, p in law.items()
        ]
        assert sum(p * mean for p, mean in found) == pytest.approx(value, abs=1e-12)
    zero, one = (float(m) for m in randomizer.client.line)  # type: ignore[attr-defined]
    # of the number 1/2 each bit is as likely as the other
    assert randomizer.mean_variance(1) == pytest.approx((0.5 / (one - zero)) ** 2, rel=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 10, 1000])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 4.0, 40.0, 200.0])
def test_caps_of_clients_are_no_larger_and_alike(dimension: int, eps0: float) -> None:
    """docs/clients.md, "Vectors": Z_max <= 1 + (E - 1) share and E' <= (E + 1) Z_min/Z_max - 1."""
    randomizer = PrivUnit(dimension, eps0)
    client = randomizer.client
    assert isinstance(client, SphereClient)
    with mpmath.workdps(40):
        a = mpmath.mpf(dimension - 1) / 2
        short = (mpmath.mpf(2) ** -32 * mpmath.e) ** (mpmath.mpf(dimension) / 2)
        # a normal vector moves by half a cell in each coordinate, and is 2^-16 sqrt(d) long
        tilt = 2 * mpmath.mpf(2) ** -53 * mpmath.sqrt(dimension)
        tilt = tilt / (mpmath.mpf(2) ** -16 * mpmath.sqrt(dimension)) + dimension * 2.0**-51

        def share(threshold: mpmath.mpf) -> mpmath.mpf:
            return mpmath.betainc(a, 0.5, 0, 1 - threshold**2, regularized=True) / 2

        largest = share(client.threshold - tilt) + short
        smallest = share(min(client.threshold + tilt, 1)) - short
        assert largest <= mpmath.mpf(randomizer.share)
        ratio = 1 / mpmath.mpf(client.outside.threshold) * 2**64  # E'
        z = [1 + (ratio - 1) * part for part in (smallest, largest)]
        assert 1 < ratio <= (mpmath.exp(mpmath.mpf(eps0)) + 1) * z[0] / z[1] - 1
        # and not much is given away
        assert smallest >= 0.99 * randomizer.share
        assert ratio >= 0.999 * min(mpmath.exp(mpmath.mpf(eps0)), 2**50)


def test_matrix_client_has_the_law_of_the_matrix() -> None:
    rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1e-90, 0.5, 0.5]]
    randomizer = FiniteRandomizer(rows)
    matrix = randomizer.exact().make()
    client = randomizer.client
    for x, row in enumerate(matrix):
        steps = client.steps(x)  # type: ignore[attr-defined]
        assert steps == [row[0], row[0] + row[1]]


def test_matrix_estimates_are_unbiased_and_vary_as_said() -> None:
    """More outputs than values: some way to weigh them."""
    rows = [[0.5, 0.25, 0.125, 0.125], [0.125, 0.5, 0.25, 0.125], [0.25, 0.125, 0.125, 0.5]]
    randomizer = FiniteRandomizer(rows)
    for values in ((0, 1), (2, 2), (1, 2)):
        means, squares = np.zeros(3), np.zeros(3)
        for m, other in itertools.product(range(4), repeat=2):
            p = rows[values[0]][m] * rows[values[1]][other]
            counts = randomizer.estimate(np.array([m, other])).counts
            means += p * counts
            squares += p * counts**2
        truth = np.bincount(values, minlength=3)
        assert means == pytest.approx(truth, abs=1e-12)
        variances = squares - means**2
        for x in range(3):
            said = randomizer.count_variance(2, int(truth[x]))
            assert variances[x] <= said * (1 + 1e-12)
    found = randomizer.estimate(Counts(2, [1, 1, 0, 0]))
    assert found.standard_errors.shape == (3,)


def test_means_are_linear() -> None:
    """The line of every client of numbers: what 0 and 1 send on average."""
    for randomizer in (OneBit(1.0), Piecewise(1.0), SquareWave(1.0), Laplace(1.0), Gaussian(1.0)):
        client = randomizer.client
        assert isinstance(client, MeanClient)
        zero, one = client.line
        assert one > zero
        users = 4
        for mean in (0.0, 0.25, 1.0):
            total = round(users * (zero + mean * (one - zero)))
            found = randomizer.estimate(Counts(users, [total]))
            assert found.mean == pytest.approx(mean, abs=2 / (one - zero) / users)
