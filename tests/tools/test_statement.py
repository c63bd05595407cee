"""What is signed says the protocol that was analyzed, no more and no less."""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from shell import ok
from shuffledp import (
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    Group,
    Laplace,
    MixedShuffle,
    Plan,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
    adversaries,
)
from shuffledp._support.numeric import Bounds
from shuffledp.central import DiscreteGaussianNoise, GaussianNoise, LaplaceNoise
from shuffledp.mechanisms import ApproximateDP, PoissonSampled
from shuffledp.randomizers import LocalHashing, NoiseShares, NoisyHistogram, Piecewise
from shuffledp.rounds import Round
from shuffledp.tools.ledger import Entry, Ledger
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.statement import caution, local_epsilon, statement, without_trust


@pytest.mark.parametrize(
    ("round_", "said"),
    [
        (Shuffle(PureLDP(4.0000001), 10), "any randomizer that is 4.0000001-LDP"),
        (Shuffle(Laplace(3.0000001), 10), "another randomizer); 3.0000001-LDP"),
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
    assert "1 with probability 0.512345, a 0 as 1 with probability 0.123457;" in bits.describe()
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
    for word in ("at random", "afresh in every round", "independently of all values", "not who"):
        assert word in said


def test_who_drops_out_may_not_depend_on_values() -> None:
    """On those of others they may: of two users of one household one may stay away for the other,
    who is not protected then; all others are."""
    said = (
        "may depend on other users' values and on what earlier rounds released, but neither on the "
        "value of the user who is protected nor on what anybody sends in the round"
    )
    assert said in Shuffle(PureLDP(1.0), 100, dropouts=3).people


def test_sums_are_not_messages() -> None:
    sums = Aggregate(UnaryEncoding(4, eps0=1.0), 100, messages=3)
    assert "(3 contributions each)" in sums.participants
    assert "sends 3 contributions" in sums.remarks[0][1]
    assert "contributions of a user" in sums.explained.theorem


def test_sums_of_noise_are_of_real_numbers() -> None:
    sums = Aggregate(Gaussian(1.0), 100)
    assert "of exact real numbers, which no device sends" in dict(sums.remarks)["noise"]
    first = "the protocol, idealised to exact real numbers, which no device sends, is "
    assert first in statement(sums, 1, [("1", "1e-06", "")]).partition("\n")[0]
    signed = Plan(9.0, 1e-6, (PlannedRound("sums", sums),)).ledger().to_markdown()
    assert signed.count("with 'sums' idealised to exact real numbers, which no device sends") == 2
    for exact in (Shuffle(Gaussian(1.0), 100), Aggregate(NoiseShares(skellam=0.1, k=2), 100)):
        assert not exact.remarks and not exact.idealised
    for central in (GaussianNoise(1.0), LaplaceNoise(1.0), RandomAllocation(1.0, 10)):
        assert "what the rounding of numbers by a computer reveals" in central.uncovered
    assert not DiscreteGaussianNoise(3.0).uncovered


def test_a_delta_that_says_little() -> None:
    protocol = ("--eps0", "1", "--users", "100")
    assert "1/users" not in ok("epsilon", *protocol, "--delta", "0.0099")
    said = ok("epsilon", *protocol, "--delta", "1e-6,0.01")
    assert "caution      delta = 0.01 is at least 1/users" in said
    assert "caution      delta = 0.05023 is" in ok("delta", *protocol, "--epsilon", "0")
    threshold = ("--view", "threshold", "--rate", "0.1", "--threshold", "20")
    of_any_number = ok("epsilon", *threshold, "--delta", "1e-6")
    assert "1/users" not in of_any_number
    assert "delta has to be far below 1 divided by the number of users" in flat(of_any_number)


def test_everybody_is_assumed_to_answer_unless_it_is_said_how_many_may_not() -> None:
    protocol = ("epsilon", "--eps0", "1", "--users", "1000", "--delta", "1e-6")
    said = "this holds only if every user who is asked answers"
    assert said in flat(ok(*protocol)) and said in flat(ok(*protocol, "--colluding", "1%"))
    assert said not in ok(*protocol, "--dropouts", "1%")
    groups = [[Group(PureLDP(1.0), 1000, dropouts=lost)] for lost in (0, 10)]
    for group, warned in zip(groups, (True, False), strict=True):
        assert (said in str(caution([MixedShuffle(group)], ["1e-6"]))) is warned
    assert said not in str(caution([GaussianNoise(1.0)], ["1e-6"]))


def test_rounds_with_fewer_senders_are_not_covered() -> None:
    """As many as stated, less those that may drop out."""
    survey = Shuffle(PureLDP(1.0), 1000, colluding=10, dropouts=100)
    assert list(survey.uncovered) == ["rounds in which fewer than 900 users send"]
    drawn = Shuffle(PureLDP(1.0), 1000, sample_rate=0.1, dropouts=100)
    assert list(drawn.uncovered) == ["rounds with fewer than 1,000 users to draw from"]


def test_an_epsilon_that_excludes_nothing_is_cautioned_against() -> None:
    """A true positive rate of 1 - 0.99/e^4 is below 99 %, 1 - 0.99/e^5 above."""
    assert not caution([GaussianNoise(1.0)], [], [(4.0, 1e-9)])
    ((_, said),) = caution([GaussianNoise(1.0)], [], [(5.0, 1e-9)])
    assert "excludes nearly nothing: it allows a true positive rate of 99.34 %" in said
    for eps0, nothing in ((4.0, False), (5.0, True)):
        local = without_trust(Shuffle(PureLDP(eps0), 1000), 1)
        assert ("which is practically none" in local) is nothing


def test_of_training_the_unit_is_an_example() -> None:
    epoch = RandomAllocation(noise_multiplier=1.0, steps=10)
    step = PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.1)
    for round_ in (epoch, step):
        said = flat(statement(round_, 3, [("1", "1e-06", "")]))
        for text in (
            "unit one example of the data; a person with several is protected for each of them",
            "differ in whether one example is in the data",
            "the number of steps and whatever results are divided by are fixed beforehand and do",
            "examples that are used for validation",
            "if the adversary tests whether an example is in the data",
            "delta has to be far below 1 divided by the number of examples",
        ):
            assert text in said
        assert "user" not in said
    sums = Aggregate(UnaryEncoding(3, eps0=1.0), 100, neighbours="remove")
    both = [PlannedRound(name, one) for name, one in (("a", epoch), ("b", sums))]
    said = Plan(9.0, 1e-6, tuple(both)).ledger(rtol=0.1).to_markdown()
    assert "every user is assumed to have at most one example" in said
    assert said.count("* **relation**: ") == 3


def test_how_a_missing_value_is_replaced_is_said() -> None:
    removed: dict[str, Any] = {"neighbours": "remove"}
    for round_, said in (
        (Aggregate(UnaryEncoding(3, eps0=1.0), 9, **removed), "of one user is replaced by zeros"),
        (Shuffle(NoisyHistogram(poisson=1.0), 9, **removed), "the user takes part all the same"),
        (SampleThreshold(0.1, 20, **removed), "differ in whether the report of one user is there"),
        (GaussianNoise(1.0, **removed), "or zeros if what is assumed, such as a constant"),
    ):
        assert said in round_.differing


def test_a_plan_with_a_delta_that_says_little() -> None:
    many, few = (PlannedRound(str(n), Shuffle(PureLDP(1.0), n)) for n in (10_000, 1_000))
    assert "1/users" not in Plan(1.0, 1e-4 * 0.99, (many,)).ledger().to_markdown()
    for rounds in ((few,), (many, few), (few, many)):
        said = Plan(1.0, 1e-3, rounds).ledger().to_markdown()
        assert "* **caution**: delta = 0.001 is at least 1/users" in said


def test_it_is_said_whose_datasets_attain_a_loss() -> None:
    """Of all randomizers with one eps0 two were tried."""
    last = adversaries(PureLDP(4.0), 10_000, 1e-6)[-1]
    assert last.adversary.endswith("binary or ternary randomized response with this eps0")
    binary = RandomizedResponse(2, eps0=4.0)
    ternary = Shuffle(RandomizedResponse(3, eps0=4.0), 10_000)
    assert last.lower <= ternary.get_epsilon(1e-6)
    assert adversaries(binary, 100, 1e-2)[-1].adversary.endswith("datasets of this randomizer")


def test_targets_are_said_in_full() -> None:
    options = ("--find", "eps0", "--users", "1e4", "--epsilon", "1.0000004", "--delta", "1e-6")
    assert "meet epsilon 1.0000004 at" in ok("calibrate", *options)
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    assert "(1.0000004, 1e-06)" in Plan(1.0000004, 1e-6, (planned,)).ledger().verdict


def test_a_plan_that_may_fit_is_not_said_to_exceed() -> None:
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    entry = Entry(planned, Bounds(0.9, 1.1), -0.1, fits=False)
    assert Ledger(1.0, 1e-6, (entry,)).verdict == (
        "The plan is not certified to fit the target (1, 1e-06): 0.9 <= epsilon of the analyzed "
        "pairs <= 1.100001 is certified (replace-one neighbours); a smaller rtol gives a narrower "
        "bracket."
    )
    entry = Entry(planned, Bounds(1.05, 1.1), -0.1, fits=False)
    assert "exceeds the target" in Ledger(1.0, 1e-6, (entry,)).verdict


@pytest.mark.parametrize(
    ("round_", "rounds", "said"),
    [
        # 52 * 6.608 and 2 * 3 * 1.5
        (
            Shuffle(RandomizedResponse(40, eps0=6.608), 2000),
            52,
            "shuffler * the guarantee is only epsilon = 343.616 at",
        ),
        (
            Aggregate(UnaryEncoding(4, eps0=1.5), 9, messages=3),
            2,
            "aggregation * the guarantee is only epsilon = 9 at",
        ),
        (Shuffle(PureLDP(4.0), 9), 1, "shuffler * the guarantee is only epsilon = 4 at delta = 0"),
        # log(1 + 4 * 0.75 / 0.25) = log 13 = 2.5649493..., rounded up
        (
            Shuffle(RandomizedResponse(4, gamma=0.25), 9),
            1,
            "shuffler * the guarantee is only epsilon = 2.56495 at",
        ),
        (Shuffle(Gaussian(3.0), 9), 1, "shuffler * no guarantee is stated: a message"),
        (
            Shuffle(NoisyHistogram(poisson=0.5), 9),
            5,
            "shuffler * there is no guarantee: every user",
        ),
        (
            Shuffle(FiniteRandomizer([[1, 0], [0.5, 0.5]]), 9),
            1,
            "shuffler * no guarantee is stated: a message",
        ),
        (
            SampleThreshold(0.1, 20),
            1,
            "server that counts the reports * there is no guarantee: true values",
        ),
        (GaussianNoise(9.0), 1, "curator * there is no guarantee: it has the true data"),
    ],
)
def test_what_is_left_without_trust(round_: Round, rounds: int, said: str) -> None:
    who, _, left = said.partition(" * ")
    text = without_trust(round_, rounds)
    against = f"against the {who} itself, and anyone who learns what it receives, "
    if who == "aggregation":
        against = "against servers or users who conspire beyond what the aggregation tolerates, "
    assert text.startswith(against)
    assert f", {left}" in text


def test_other_users_and_samples_do_not_change_what_is_left_without_trust() -> None:
    alone = Shuffle(PureLDP(2.0), 1000)
    for more in ({"sample_rate": 0.1}, {"colluding": 900}, {"dropouts": 0.5}):
        round_ = Shuffle(PureLDP(2.0), 1000, **more)
        assert local_epsilon(round_, 7) == local_epsilon(alone, 7) == 14
        assert "this depends neither on sampling nor on other users" in without_trust(round_, 7)
    assert "other users" not in without_trust(alone, 7)


@pytest.mark.parametrize(
    ("k", "eps0", "said"), [(40, 6.608, "95 %"), (2, 1.0, "73.11 %"), (10, 20.0, "100 %")]
)
def test_how_often_the_truth_is_sent_is_rounded_up(k: int, eps0: float, said: str) -> None:
    text = without_trust(Shuffle(RandomizedResponse(k, eps0=eps0), 9), 1)
    assert f"a device sends the true value with probability at most {said}; " in text
    assert "how sure whoever sees a message may be" in text
    ratio = Decimal(eps0).exp()
    exact = 100 * ratio / (ratio + k - 1)
    assert exact <= Decimal(said.removesuffix(" %")) < exact + Decimal("0.011")


def test_an_account_says_what_is_left_of_all_entries_without_trust() -> None:
    """3 rounds of eps0 = 2 and 2 of 3 messages of eps0 = 1: 12."""
    first = PlannedRound("first", Shuffle(PureLDP(2.0), 1000), 3)
    second = PlannedRound("second", Shuffle(PureLDP(1.0), 1000, messages=3), 2)
    said = Plan(9.0, 1e-3, (first, second)).ledger(rtol=0.1).to_markdown()
    total = "the own device, the guarantee is only epsilon = 12 at delta = 0 for all"
    assert total in said and said.count("* **local**: ") == 3
    clear = PlannedRound("clear", Shuffle(NoisyHistogram(poisson=0.5), 1000))
    said = Plan(9.0, 1e-3, (first, clear)).ledger(rtol=0.1).to_markdown()
    assert "without trust in the shuffler there is no guarantee for all entries together" in said
    unstated = PlannedRound("unstated", Shuffle(Gaussian(1.0), 1000))
    said = Plan(9.0, 1e-3, (first, unstated)).ledger(rtol=0.1).to_markdown()
    assert "without trust in the shuffler no guarantee is stated for all entries together" in said
    apart = tuple(replace(one, population=one.name) for one in (first, second))
    common = PlannedRound("common", Shuffle(PureLDP(0.5), 1000))
    said = Plan(9.0, 1e-3, (*apart, common)).ledger(rtol=0.1).to_markdown()
    assert "only epsilon = 6.5 at delta = 0 for all entries of the worst population" in said


@pytest.mark.parametrize("eps0", [0.1, 0.3, 2.0000000000019, 4.000000000000001, 4.0000001, 3.0])
def test_what_is_left_without_trust_is_never_rounded_down(eps0: float) -> None:
    said = without_trust(Shuffle(PureLDP(eps0), 1000), 1)
    found = re.search(r"only epsilon = (\S+) at delta = 0", said)
    assert found and eps0 <= float(found[1]) <= eps0 * 1.00001


def test_a_noise_share_by_itself_protects_nothing_that_is_stated() -> None:
    said = without_trust(Aggregate(NoiseShares(skellam=0.01, k=16), 1000), 1)
    assert "which hides a value in the sum of all users, and is often 0" in said


def test_what_several_rounds_compare_are_series_of_values() -> None:
    for rounds, tested in ((1, "which of two values a user"), (2, "which of two series of values")):
        said = ok("epsilon", "--eps0=1", "--users=1e3", f"--rounds={rounds}", "--delta=1e-3,1e-4")
        known = "from these epsilons and deltas together alone: if the adversary tests"
        assert f"{known} {tested}" in flat(said)


@pytest.mark.parametrize("command", ["epsilon --delta 1e-6", "risk"])
def test_a_statement_says_who_is_one_user_and_what_else_is_not_covered(command: str) -> None:
    asked = (*command.split(), "--eps0", "4", "--users", "1000", "--rounds", "2", "--rtol", "0.1")
    said = flat(ok(*asked))
    for text in (
        "relation replace-one: ",
        "unit one user, such as a device",
        "rounds in which fewer than 1,000 users send",
        "other collections or releases about the same users",
        "no user colludes with the adversary, even later, deviates from the protocol or drops out",
        "protected every user who follows the protocol in every round",
        "composition which question is asked",
        "warranty none",
        "computed by shuffledp ",
    ):
        assert text in said


def flat(text: str) -> str:
    return " ".join(text.split())
