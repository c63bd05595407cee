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
    found = audit(randomizer, lambda values: randomizer.randomize(values, rng=rng), trials=60_000)
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


@pytest.mark.slow
def test_a_biased_generator_is_caught() -> None:
    """A byte modulo 100: some lies are half as likely again as others."""
    randomizer, rng = RandomizedResponse(101, eps0=1.0), np.random.default_rng(6)
    honest = math.e / (math.e + 100)

    def client(values: Values) -> Values:
        others = rng.integers(0, 256, len(values)) % 100
        lies = np.where(others >= values, others + 1, others)
        return np.where(rng.random(len(values)) < honest, values, lies)

    found = audit(randomizer, client, trials=80_000)
    assert not found.holds and found.surprises


def test_noise_of_the_wrong_scale_is_caught() -> None:
    for scale, exceeds in ((0.8, True), (1.3, False)):
        randomizer, rng = Laplace(1.0), np.random.default_rng(7)

        def client(values: Values, scale: float = scale, rng: Any = rng) -> Values:
            noisy = values + rng.laplace(0, scale, len(values))
            return np.asarray(np.floor(noisy * 2**40), dtype=np.int64)

        found = audit(randomizer, client, trials=100_000)
        assert not found.holds and found.exceeds == exceeds
    gaussian, rng = Gaussian(1.0), np.random.default_rng(8)
    found = audit(
        gaussian,
        lambda values: np.floor((values + rng.normal(0, 0.9, len(values))) * 2**40).astype(int),
        trials=100_000,
    )
    assert found.surprises and not found.exceeds  # no eps0 is claimed


def test_messages_that_say_who_sent_them_are_caught() -> None:
    """An encoding that leaves out a value's complement."""
    randomizer = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    found = audit(randomizer, lambda values: values, trials=10_000)
    assert found.exceeds and found.eps0_lower > 5
    cautious = audit(randomizer, lambda values: np.zeros_like(values), trials=10_000)
    assert not cautious.exceeds and not cautious.holds and cautious.eps0_lower == 0


def test_false_alarms_are_as_rare_as_said() -> None:
    """At confidence 1/2 a right client fails less than half of the time."""
    randomizer, rng = RandomizedResponse(3, eps0=1.0), np.random.default_rng(9)
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
        (lambda: audit(OneBit(1.0), lambda v: v + 7, trials=10), "cannot be read: messages has 7"),
        (lambda: audit(OneBit(1.0), lambda v: [0], trials=10), "1 messages for 5 values"),
        (lambda: audit(OneBit(1.0), lambda v: "x", trials=10), "cannot be read"),
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
