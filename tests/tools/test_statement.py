"""What is signed says the protocol that was analyzed, no more and no less."""

import pytest

from shell import ok
from shuffledp import (
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    Plan,
    PureLDP,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
)
from shuffledp._support.numeric import Bounds
from shuffledp.central import GaussianNoise
from shuffledp.mechanisms import ApproximateDP
from shuffledp.randomizers import LocalHashing, NoisyHistogram, Piecewise
from shuffledp.rounds import Round
from shuffledp.tools.ledger import Entry, Ledger
from shuffledp.tools.plan import PlannedRound


@pytest.mark.parametrize(
    ("round_", "said"),
    [
        (Shuffle(PureLDP(4.0000001), 10), "any randomizer that is 4.0000001-LDP"),
        (Shuffle(Laplace(3.0000001), 10), "scale 1/3.0000001, 3.0000001-LDP"),
        (Shuffle(Gaussian(1.2345678), 10), "standard deviation 1.2345678"),
        (Shuffle(Piecewise(2.0000001), 10), "2.0000001-LDP"),
        (Shuffle(NoisyHistogram(poisson=0.12345678), 10), "mean 0.12345678"),
        (SampleThreshold(0.12345678, 20), "probability 0.12345678"),
        (GaussianNoise(1.2345678, 1.0000001), "deviation 1.2345678, sensitivity 1.0000001"),
        (ApproximateDP(0.12345678, 1.2345678e-9), "(0.12345678, 1.2345678e-09)"),
    ],
)
def test_what_was_given_is_said_in_full(round_: Round, said: str) -> None:
    assert said in round_.described


def test_hash_functions_are_assumed_to_be_ideal() -> None:
    assert (
        "an ideal hash function drawn afresh for every message" in LocalHashing(4, 1.0).describe()
    )


def test_what_was_computed_is_rounded_to_the_safe_side() -> None:
    bits = UnaryEncoding(4, p=0.51234567, q=0.12345671)
    assert "1 with probability 0.512345, 0s with 0.123457;" in bits.describe()
    for randomizer in (
        bits,
        RandomizedResponse(4, gamma=0.3),
        FiniteRandomizer([[3 / 7, 4 / 7]] * 2),
    ):
        local = randomizer.describe().split()[-1].removesuffix("-LDP")
        assert randomizer.eps0 <= float(local) <= randomizer.eps0 * 1.00001 + 1e-12
    # given as eps0, it is said as given, whatever the probabilities were rounded to
    assert UnaryEncoding(4, eps0=3.0).describe().endswith("; 3-LDP")


def test_the_rate_of_a_sample() -> None:
    often = Shuffle(PureLDP(1.0), 100, sample_rate=0.123456789, sampling="poisson")
    assert "probability 0.123456789" in often.participants
    ((_, said),) = often.remarks
    for word in ("at random", "afresh in every round", "whatever the values are", "not who"):
        assert word in said


def test_who_drops_out_may_not_depend_on_values() -> None:
    assert "do not depend on their values" in Shuffle(PureLDP(1.0), 100, dropouts=3).people


def test_sums_are_not_messages() -> None:
    sums = Aggregate(UnaryEncoding(4, eps0=1.0), 100, messages=3)
    assert "(3 contributions each)" in sums.participants
    assert "sends 3 contributions" in sums.remarks[0][1]
    assert "contributions of a user" in sums.explained.theorem


def test_sums_of_noise_are_of_real_numbers() -> None:
    assert "shares are real numbers" in dict(Aggregate(Gaussian(1.0), 100).remarks)["noise"]
    assert not Shuffle(Gaussian(1.0), 100).remarks


def test_a_delta_that_says_little() -> None:
    protocol = ("--eps0", "1", "--users", "100")
    assert "caution" not in ok("epsilon", *protocol, "--delta", "0.0099")
    said = ok("epsilon", *protocol, "--delta", "1e-6,0.01")
    assert "caution      delta = 0.01 is at least 1/users" in said
    assert "caution      delta = 0.05023 is" in ok("delta", *protocol, "--epsilon", "0")


def test_a_plan_with_a_delta_that_says_little() -> None:
    many, few = (PlannedRound(str(n), Shuffle(PureLDP(1.0), n)) for n in (10_000, 1_000))
    assert "caution" not in Plan(1.0, 1e-4 * 0.99, (many,)).ledger().to_markdown()
    for rounds in ((few,), (many, few), (few, many)):
        said = Plan(1.0, 1e-3, rounds).ledger().to_markdown()
        assert "* **caution**: delta = 0.001 is at least 1/users" in said


def test_targets_are_said_in_full() -> None:
    options = ("--find", "eps0", "--users", "1e4", "--epsilon", "1.0000004", "--delta", "1e-6")
    assert "meet epsilon 1.0000004 at" in ok("calibrate", *options)
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    assert "(1.0000004, 1e-06)" in Plan(1.0000004, 1e-6, (planned,)).ledger().verdict


def test_a_plan_that_may_fit_is_not_said_to_exceed() -> None:
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    entry = Entry(planned, Bounds(0.9, 1.1), -0.1, fits=False)
    assert Ledger(1.0, 1e-6, (entry,)).verdict == (
        "The plan is not certified to fit the target (1, 1e-06): 0.9 <= epsilon <= 1.100001 is "
        "certified (replace-one neighbours); narrow it by rtol."
    )
    entry = Entry(planned, Bounds(1.05, 1.1), -0.1, fits=False)
    assert "exceeds the target" in Ledger(1.0, 1e-6, (entry,)).verdict
