"""Audits: right clients pass, planted bugs are caught, and intervals are exact."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shell import ok, run
from shuffledp import (
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    UnaryEncoding,
    audit,
)
from shuffledp.clients.interval import IntervalClient
from shuffledp.errors import InvalidParameter, OutOfRange
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
from shuffledp.tools import watched
from shuffledp.tools.audit import proportion_bounds

Values = NDArray[Any]


def tail(trials: int, successes: int, p: Fraction) -> Fraction:
    """Pr[Bin(trials, p) >= successes], exactly."""
    return sum(
        (
            math.comb(trials, j) * p**j * (1 - p) ** (trials - j)
            for j in range(successes, trials + 1)
        ),
        start=Fraction(0),
    )


@pytest.mark.parametrize("error", [0.025, 1e-6])
@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 5), (1, 5), (5, 5), (1, 1), (39, 40), (30, 100)]
)
def test_intervals_are_those_of_clopper_and_pearson(
    successes: int, trials: int, error: float
) -> None:
    """At the ends the tails are the error, and certainly no more."""
    lower, upper = proportion_bounds(successes, trials, error)
    ends = (Fraction(lower), successes), (1 - Fraction(upper), trials - successes)
    for p, count in ends:
        if count == 0:
            assert p == 0
            continue
        found = tail(trials, count, p)
        assert found <= Fraction(error)
        assert found >= Fraction(error) * Fraction(99, 100)


def test_intervals_of_many_trials() -> None:
    """About the normal law there, and never on the wrong side of the observed share."""
    for successes, trials in (
        (5 * 10**5, 10**6),
        (10, 10**9),
        (10**9 - 1, 10**9),
        (10**10, 10**11),
    ):
        lower, upper = proportion_bounds(successes, trials, 1e-7)
        share = successes / trials
        assert 0 <= lower < share < upper <= 1
        if successes > 1000 and trials - successes > 1000:
            reach = 5.2 * math.sqrt(share * (1 - share) / trials)
            assert upper - lower == pytest.approx(2 * reach, rel=0.01)
    assert proportion_bounds(0, 10**6, 1e-3)[1] == pytest.approx(math.log(1e3) / 1e6, rel=1e-3)


RIGHT: list[Randomizer] = [
    RandomizedResponse(4, eps0=1.0),
    RandomizedResponse(3, gamma=0.3),
    RandomizedResponse(1000, eps0=5.0),
    SubsetSelection(9, 4, 1.0),
    UnaryEncoding(11, 2.0),
    LocalHashing(5, 2.0),
    HadamardResponse(3, 1.0),
    HadamardResponse(600, 1.0),
    OneBit(1.0),
    Piecewise(2.0),
    SquareWave(0.5),
    PrivUnit(3, 2.0),
    Laplace(1.0),
    Gaussian(0.5),
    FiniteRandomizer([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]),
    FiniteRandomizer(np.repeat([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]], 100, axis=1) / 100),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("randomizer", RIGHT, ids=repr)
def test_our_clients_pass(randomizer: Randomizer) -> None:
    rng = np.random.default_rng(12)
    found = audit(randomizer, lambda values: randomizer.randomize(values, rng=rng), trials=80_000)
    assert found.holds, found.verdict
    assert not found.exceeds and found.surprises == ()
    claimed = getattr(randomizer, "eps0", math.inf)
    assert found.claimed == claimed
    assert 0.5 * min(claimed, 1.0) < found.eps0_lower <= claimed
    assert "No deviation found: all " in str(found)


def keeping(chance: float, k: int) -> Any:
    """Randomized response that tells the truth with this probability."""
    rng = np.random.default_rng(3)

    def client(values: Values) -> Values:
        others = (values + rng.integers(1, k, len(values))) % k
        return np.where(rng.random(len(values)) < chance, values, others)

    return client


def test_a_truth_told_too_often_is_caught() -> None:
    """gamma is the probability of a random answer, not that of another one: a usual mistake."""
    k, gamma = 4, 0.25
    randomizer = RandomizedResponse(k, gamma=gamma)
    found = audit(randomizer, keeping(1 - gamma, k), trials=200_000)
    assert not found.holds  # less truth than there should be: private, but not this randomizer
    assert not found.exceeds and "IS NOT RandomizedResponse(k=4, gamma=0.25)" in found.verdict
    found = audit(randomizer, keeping(1 - gamma * (k - 1) / k + 0.02, k), trials=200_000)
    assert found.exceeds and "EXCEEDS ITS CLAIM" in found.verdict
    true = math.log((1 - gamma * (k - 1) / k + 0.02) * 3 / (gamma * (k - 1) / k - 0.02))
    assert randomizer.eps0 < found.eps0_lower <= true


@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_bits_flipped_with_the_wrong_probability_are_caught(eps0: float) -> None:
    """e^-eps0 where 1/(e^(eps0/2) + 1) belongs, and eps0 where eps0/2 belongs."""
    k, randomizer, rng = 12, UnaryEncoding(12, eps0), np.random.default_rng(5)

    def client(values: Values) -> Values:
        bits = np.arange(k) == values[:, None]
        flip = 1 / (math.exp(eps0) + 1)
        return np.packbits(bits ^ (rng.random(bits.shape) < flip), axis=1)

    found = audit(randomizer, client, trials=100_000)
    assert found.exceeds and found.eps0_lower > eps0 * 1.5


def test_a_biased_generator_is_caught() -> None:
    """Five bits modulo 20: some lies are twice as likely as others."""
    randomizer, rng = RandomizedResponse(21, eps0=1.0), np.random.default_rng(6)
    honest = math.e / (math.e + 20)

    def client(values: Values) -> Values:
        others = rng.integers(0, 32, len(values)) % 20
        lies = np.where(others >= values, others + 1, others)
        return np.where(rng.random(len(values)) < honest, values, lies)

    found = audit(randomizer, client, trials=2e5)
    assert not found.holds and found.surprises


def test_noise_of_the_wrong_scale_is_caught() -> None:
    for scale, exceeds in ((0.8, True), (1.3, False)):
        randomizer, rng = Laplace(1.0), np.random.default_rng(7)

        def client(values: Values, scale: float = scale, rng: Any = rng) -> Values:
            noisy = values + rng.laplace(0, scale, len(values))
            return np.asarray(np.floor(noisy * 2**40), dtype=np.int64)

        found = audit(randomizer, client, trials=60_000)
        assert not found.holds and found.exceeds == exceeds
    gaussian, rng = Gaussian(1.0), np.random.default_rng(8)
    found = audit(
        gaussian,
        lambda values: np.floor((values + rng.normal(0, 0.9, len(values))) * 2**40).astype(int),
        trials=60_000,
    )
    assert found.surprises and not found.exceeds  # no eps0 is claimed


def test_messages_that_say_who_sent_them_are_caught() -> None:
    """An encoding that leaves out a value's complement."""
    randomizer = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    found = audit(randomizer, lambda values: values, trials=10_000)
    assert found.exceeds and found.eps0_lower > 5
    cautious = audit(randomizer, lambda values: np.zeros_like(values), trials=10_000)
    assert not cautious.exceeds and not cautious.holds and cautious.eps0_lower == 0


def in_clear(randomizer: Randomizer, wrong: Any) -> Any:
    """A client that sends some values as they are."""
    rng = np.random.default_rng(21)

    def client(values: Values) -> Values:
        sent = np.asarray(randomizer.randomize(values, rng=rng)).copy()
        bad, as_sent = wrong(values)
        sent[bad] = np.asarray(as_sent)[bad]
        return sent

    return client


@pytest.mark.parametrize(
    ("randomizer", "wrong"),
    [
        (RandomizedResponse(12, eps0=1.0), lambda v: (v == 7, v)),
        (RandomizedResponse(64, eps0=1.0), lambda v: (v == 50, v)),
        (UnaryEncoding(12, 1.0), lambda v: (v == 7, np.packbits(np.eye(12, 12)[v] > 0, axis=1))),
        (Piecewise(1.0), lambda v: ((v > 0.01) & (v < 0.99), (v * (2**32 - 1)).astype(np.uint32))),
        (OneBit(1.0), lambda v: (v == 0.5, np.ones(len(v), dtype=np.uint8))),
        (Laplace(1.0), lambda v: (v == 0.3, (v * 2**40).astype(np.int64))),
        (FiniteRandomizer((0.05 + 0.55 * np.eye(9)).tolist()), lambda v: (v == 4, v)),
    ],
    ids=lambda x: repr(x) if isinstance(x, Randomizer) else "",
)
def test_a_value_in_clear_is_caught(randomizer: Randomizer, wrong: Any) -> None:
    """Also if it is neither the first nor the last one."""
    found = audit(randomizer, in_clear(randomizer, wrong), trials=50_000)
    assert not found.holds and found.surprises


def test_what_was_not_tried_is_said() -> None:
    few, many = (audit(RandomizedResponse(k, eps0=5.0), trials=20_000) for k in (12, 1000))
    assert few.untested == "" and few.verdict.endswith(
        "at confidence 0.999; an audit has no upper limit."
    )
    assert "1,666 of each of the values 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11." in str(few)
    assert many.verdict.endswith("The other 936 values were not tested.")
    assert "312 of each of the 64 values 0, 15, 31, ..., 999." in str(many)
    assert len({row.value for row in many.rows}) == 64
    numbers, vectors = (audit(one, trials=2000) for one in (OneBit(1.0), PrivUnit(3, 1.0)))
    assert numbers.verdict.endswith("Other numbers were not tested.")
    assert vectors.verdict.endswith("Other vectors were not tested.")
    last = audit(RandomizedResponse(65, eps0=1.0), trials=2000)
    assert len({row.value for row in last.rows}) * 65 <= 4096


def test_whose_client_it_was() -> None:
    randomizer = RandomizedResponse(2, eps0=1.0)
    assert "epsilon of the client of shuffledp: " in audit(randomizer, trials=2000).verdict
    other = audit(randomizer, randomizer.randomize, trials=2000)
    assert "of the local epsilon of the client: " in other.verdict
    reach = max(max(row.upper - row.seen / 1000, row.seen / 1000 - row.lower) for row in other.rows)
    assert other.half_width == reach > 0.04


@pytest.mark.parametrize("cells", [64, 1000])
def test_the_law_of_windows_is_that_of_every_cell(cells: int) -> None:
    client = IntervalClient(Fraction(1, 3), Fraction(5, 2), cells)
    window, inside = client.window, float(client.inside.probability)
    found = watched._windows(client)
    events = found.sort(np.arange(cells))
    for number, law in zip(found.values, found.law, strict=True):
        place = number * (cells - window)
        expected = np.zeros(len(found.events))
        for start, share in (
            (math.floor(place), 1 - place % 1),
            (math.floor(place) + 1, place % 1),
        ):
            for cell, event in enumerate(events):
                own = start <= cell < start + window
                each = inside / window if own else (1 - inside) / (cells - window)
                expected[event] += share * each
        np.testing.assert_allclose(law, expected, atol=1e-12)


def test_false_alarms_are_as_rare_as_said() -> None:
    """At confidence 1/2 a right client fails less than half of the time."""
    randomizer, rng = RandomizedResponse(2, eps0=1.0), np.random.default_rng(9)
    own = lambda values: randomizer.randomize(values, rng=rng)  # noqa: E731
    failed = sum(not audit(randomizer, own, trials=3000, confidence=0.5).holds for _ in range(40))
    assert failed < 20


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: audit(PureLDP(1.0)), "stands for many randomizers"),
        (lambda: audit("rr"), "'rr' is no randomizer"),  # type: ignore[arg-type]
        (lambda: audit(OneBit(1.0), trials=1), "trials=1"),
        (lambda: audit(OneBit(1.0), trials=1e30), "trials=1e[+]30"),
        (lambda: audit(OneBit(1.0), confidence=1.0), "confidence=1.0"),
        (lambda: audit(OneBit(1.0), lambda v: v + 7, trials=20), "cannot be read: messages=array"),
        (lambda: audit(OneBit(1.0), lambda v: [0], trials=55), "1 messages for 5 values"),
        (lambda: audit(OneBit(1.0), lambda v: "x", trials=20), "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(ask: Any, said: str) -> None:
    with pytest.raises((InvalidParameter, OutOfRange), match=said):
        ask()


CLIENT = """
import numpy as np

def randomize(values):
    random = np.random.default_rng(4).random
    lies = np.random.default_rng(5).integers(1, 4, len(values))
    return np.where(random(len(values)) < {chance}, values, (values + lies) % 4)

def broken(values):
    raise ZeroDivisionError("by zero")
"""
ASKED = ["--randomizer", "rr", "--k", "4", "--eps0", "1", "--trials", "4e4"]


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    right = math.e / (math.e + 3)
    (tmp_path / "honest_client.py").write_text(CLIENT.format(chance=right))
    (tmp_path / "loud_client.py").write_text(CLIENT.format(chance=0.6))
    assert "No deviation" in ok("audit", *ASKED, "--client", "honest_client:randomize")
    loud = run("audit", *ASKED, "--client", "loud_client:randomize")
    assert (loud.returncode, loud.stderr) == (1, "")
    assert "EXCEEDS ITS CLAIM" in loud.stdout and loud.stdout.count("\n") == 2
    asked = run("audit", *ASKED, "--client", "loud_client:randomize", "--json")
    report = json.loads(asked.stdout)
    assert asked.returncode == 1 and report["query"] == "audit"
    assert (
        report["exceeds"] and not report["holds"] and report["eps0_lower"] > report["claimed"] == 1
    )
    assert len(report["rows"]) == 16 and report["client"] == "loud_client:randomize"
    for name, said in (
        ("nowhere:randomize", "No module named 'nowhere'"),
        ("loud_client:nothing", "no attribute 'nothing'"),
        ("loud_client", "MODULE:FUNCTION"),
        ("loud_client:broken", "failed: ZeroDivisionError: by zero"),
    ):
        wrong = run("audit", *ASKED, "--client", name)
        assert (wrong.returncode, said in wrong.stderr) == (2, True), wrong.stderr
        assert wrong.stderr.count("\n") == 1
    assert "No deviation" in ok(
        "audit", "--randomizer", "one-bit", "--eps0", "2", "--trials", "1e4"
    )


def test_vectors_with_several_ones() -> None:
    """The first and the last bit are looked at, of vectors that have ones there."""
    randomizer = UnaryEncoding(k=5, eps0=2.0, ones=3)
    found = audit(randomizer, trials=20_000, confidence=0.999999)
    assert found.holds and len(found.rows) == 8
    for row in found.rows:
        first, last = (int(part.split()[-1]) for part in row.event.split(" and "))
        own, other = (first, last) if row.value[0] else (last, first)
        exact = [1 - randomizer.p, randomizer.p][own] * [1 - randomizer.q, randomizer.q][other]
        assert abs(row.expected - exact) < 1e-12
    flipped = audit(randomizer, lambda values: randomizer.randomize(values)[:, ::1] ^ 128)
    assert not flipped.holds
