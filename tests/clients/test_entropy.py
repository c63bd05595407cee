"""Coins, uniform numbers and noise: exact, bit for bit, where floats would round."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.clients.entropy import BITS, Coin, Source, rounded_at_random
from shuffledp.clients.exact_noise import (
    WHOLE_PARTS,
    _judged,
    accepts,
    exponential,
    normal,
    with_sign,
)
from shuffledp.clients.inversion import Inversion, of_fractions
from shuffledp.clients.matrix_client import MatrixClient
from shuffledp.errors import InvalidParameter


class Planted(Source):
    """Bytes that a test has put there, then those of a generator."""

    def __init__(self, planted: bytes = b"", seed: int = 0) -> None:
        super().__init__(np.random.default_rng(seed))
        self._rest, self._planted = self._bytes, planted
        self._bytes = self._next

    def _next(self, size: int) -> bytes:
        found, self._planted = self._planted[:size], self._planted[size:]
        return found + self._rest(size - len(found))


def words(*numbers: int) -> bytes:
    return np.array(numbers, dtype="<u8").tobytes()


@pytest.mark.parametrize("threshold", [0, 1, 2**47 + 12345, 2**63, 5 * 2**48, 2**64 - 1, 2**64])
def test_a_coin_compares_all_bits(threshold: int) -> None:
    """The first 16 bits decide, or else the 48 that follow."""
    coin, rest = Coin(threshold), BITS - 16
    for first in {0, max((threshold >> rest) - 1, 0), min(threshold >> rest, 2**16 - 1), 2**16 - 1}:
        low = threshold & (2**rest - 1)
        for last in {0, max(low - 1, 0), low, min(low + 1, 2**rest - 1), 2**rest - 1}:
            planted = np.array([first], dtype="<u2").tobytes() + words(last << 16)
            (heads,) = coin.toss(Planted(planted), 1)
            assert heads == ((first << rest) + last < threshold)


def test_coins_are_rounded_to_the_side_that_is_asked_for() -> None:
    for probability in (
        Fraction(1, 3),
        Fraction(1, 2),
        Fraction(1, 10**30),
        1 - Fraction(1, 10**30),
    ):
        below, above = Coin.at_most(probability), Coin.at_least(probability)
        assert below.probability <= probability <= above.probability
        assert above.threshold - below.threshold == (probability != Fraction(1, 2))


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 256, 2**31 + 1, 2**32, 2**32 + 1, 10**12, 2**61 - 1])
def test_numbers_that_are_not_below_the_limit_are_drawn_again(limit: int) -> None:
    bits = (limit - 1).bit_length()
    if limit > 1:
        width, shift = (4, 32 - bits) if bits <= 32 else (8, 64 - bits)
        drawn = [(2**bits - 1) << shift, (limit - 1) << shift]
        planted = b"".join(number.to_bytes(width, "little") for number in drawn)
        (found,) = Planted(planted).below(limit, 1)
        assert found == limit - 1
    found = Planted().below(limit, 20_000)
    assert found.min() >= 0 and found.max() < limit
    if limit <= 5:
        counts = np.bincount(found, minlength=limit)
        assert np.abs(counts - 20_000 / limit).max() < 5 * math.sqrt(20_000 / limit)
    elif limit > 1:
        assert found.mean() == pytest.approx((limit - 1) / 2, rel=0.03)


def test_the_systems_entropy_is_not_repeated() -> None:
    assert len(np.unique(Source().words(1000))) == 1000
    same = [Source(np.random.default_rng(3)).words(5).tolist() for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(InvalidParameter, match="rng=3 is no numpy Generator"):
        Source(3)  # type: ignore[arg-type]


def test_rounding_at_random_has_the_right_mean() -> None:
    exact = np.array([0.0, 0.25, 1.0, 2.75] * 50_000)
    found = rounded_at_random(exact, Planted()).reshape(-1, 4)
    assert found.mean(axis=0) == pytest.approx([0, 0.25, 1, 2.75], abs=0.01)
    assert set(found[:, 0]) == {0} and set(found[:, 2]) == {1} and set(found[:, 3]) == {2, 3}


def test_whole_parts_are_right_to_the_last_bit() -> None:
    """The first 64 bits of 1 - e^-j, and which numbers they leave open."""
    floors, unsure = WHOLE_PARTS._table
    with mpmath.workdps(60):
        exact = [int(mpmath.floor((1 - mpmath.exp(-j)) * 2**64)) for j in range(1, 46)]
    assert floors.tolist() == exact and floors[-1] == 2**64 - 1
    assert (
        set(exact) | {2**64 - 1} <= set(unsure.tolist()) <= {x + i for x in exact for i in (0, 1)}
    )


def gamma(whole: int, x: mpmath.mpf, is_normal: bool) -> mpmath.mpf:
    return ((whole + x) ** 2 + 1) / 2 - whole if is_normal else x


@pytest.mark.parametrize("is_normal", [False, True])
def test_what_floats_are_sure_of_is_right(is_normal: bool) -> None:
    """Test numbers as near to e^-gamma as floats dare to decide, and nearer."""
    rng = np.random.default_rng(5)
    for whole in (0, 1, 2, 3, 6, 20):
        for fraction in [0, 1, 2**64 - 1, *rng.integers(0, 2**64, 20, dtype=np.uint64).tolist()]:
            with mpmath.workdps(60):
                edge = mpmath.exp(-gamma(whole, mpmath.mpf(fraction) / 2**64, is_normal)) * 2**64
                near = int(mpmath.floor(edge))
            for offset in (-(2**22), -(2**20), -3, -1, 0, 1, 3, 2**20, 2**22):
                test = near + offset
                if not 0 <= test < 2**64:
                    continue
                x, t = (np.array([n], dtype=np.uint64) for n in (fraction, test))
                (accepted,), (unsure,) = _judged(np.array([whole]), x, t, is_normal)
                assert unsure == (abs(offset) < 2**20 + 2) or abs(offset) == 2**20
                if not unsure:
                    assert accepted == (offset < 0)
                exact = accepts(whole, fraction, test, is_normal, Planted(seed=offset % 97))
                if abs(offset) >= 3 + whole:  # what is still to be drawn cannot matter
                    assert exact == (offset < 0)


@pytest.mark.parametrize(("is_normal", "whole"), [(False, 0), (True, 2)])
def test_digits_are_drawn_until_it_is_clear(is_normal: bool, whole: int) -> None:
    """From no digits at all: the share that is accepted is the mean of e^-gamma."""
    source, trials = Planted(seed=whole), 1500
    share = sum(accepts(whole, 0, 0, is_normal, source, bits=0) for _ in range(trials)) / trials
    with mpmath.workdps(20):
        mean = float(mpmath.quad(lambda x: mpmath.exp(-gamma(whole, x, is_normal)), [0, 1]))
    assert share == pytest.approx(mean, abs=4 * math.sqrt(mean * (1 - mean) / trials))


def test_whole_parts_are_settled_by_more_digits() -> None:
    """The digits of 1 - 1/e, and then digits that settle it: above or below."""
    settled = WHOLE_PARTS.settled
    with mpmath.workdps(60):
        step = int(mpmath.floor(mpmath.mpf(2) ** 64 * (1 - mpmath.exp(-1))))
    assert settled(step, Planted(words(0))) == 0
    assert settled(step, Planted(words(2**64 - 1))) == 1
    assert settled(step - 1, Planted()) == 0 and settled(step + 1, Planted()) == 1
    most = 2**64 - 1
    assert settled(most, Planted(words(most, 2**63))) >= 88  # 2^-129 is about e^-89
    assert WHOLE_PARTS.draw(Planted(words(step, 0)), 1)[0] == 0


@pytest.mark.parametrize("is_normal", [False, True])
def test_noise_has_its_law(is_normal: bool) -> None:
    """Cells of 1/4: the counts of half a million against the exact probabilities."""
    size, draw = 500_000, normal if is_normal else exponential
    found = with_sign(Planted(seed=11), draw(Planted(seed=12), size, 2))
    fine = draw(Planted(seed=12), size, 40)
    assert (fine >> 38 == draw(Planted(seed=12), size, 2)).all()

    def above(t: float) -> float:
        return math.erfc(t / math.sqrt(2)) / 2 if is_normal else math.exp(-t) / 2

    total = 0.0
    for cell in range(-14, 14):
        inner, outer = (cell, cell + 1) if cell >= 0 else (-cell - 1, -cell)
        exact = size * (above(inner / 4) - above(outer / 4))
        total += (np.count_nonzero(found == cell) - exact) ** 2 / exact
    assert total < 28 + 5 * math.sqrt(56)  # chi-square


def test_an_output_is_settled_by_more_digits() -> None:
    settled = Inversion(of_fractions([Fraction(1, 3), Fraction(2, 3)])).settled
    third = 2**64 // 3
    assert settled(third, Planted(words(0))) == 0
    assert settled(third, Planted(words(2**64 - 1))) == 1
    # 1/3 repeats its digits: 0101...; the same digits again leave it open again
    assert settled(third, Planted(words(third, third, 0))) == 0
    client = MatrixClient(np.array([[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]]))
    planted = Planted(words(2**62 - 1, 2**62, 2**63))
    assert client.messages(np.array([1, 1, 1]), planted).tolist() == [0, 1, 2]


def law_of_matrix(client: MatrixClient, value: int, size: int) -> NDArray[np.float64]:
    sent = client.messages(np.full(size, value), Planted(seed=value))
    return np.bincount(sent, minlength=client.rows.shape[1]) / size


def test_matrix_messages_have_their_law() -> None:
    rows = np.array([[0.1, 0.2, 0.7, 0.0], [1e-90, 0.5, 0.25, 0.25]])
    client = MatrixClient(rows)
    for value in (0, 1):
        assert law_of_matrix(client, value, 200_000) == pytest.approx(rows[value], abs=0.005)
