"""Every assumption that a theorem needs is in the statement, and no bound is called exact."""

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from shell import ok, run
from shuffledp import (
    Aggregate,
    Plan,
    PureLDP,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
    adversaries,
    audit,
    risk,
    verify,
)
from shuffledp._support.numeric import Bounds
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.plotting import plot_epsilon_vs_users
from shuffledp.randomizers import REGISTRY, NoisyHistogram, OneBit, Randomizer
from shuffledp.rounds import Round
from shuffledp.tools.ledger import Entry, Ledger
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.statement import local_epsilon


def unmet(*arguments: str) -> str:
    """What is printed beside exit code 3."""
    result = run(*arguments)
    assert result.returncode == 3 and result.stderr.count("\n") == 1
    return result.stdout


def _histograms(rows: list[list[Fraction]]) -> dict[tuple[int, ...], Fraction]:
    """How likely each histogram of the messages is, one user for each row of probabilities."""
    law = {(0,) * len(rows[0]): Fraction(1)}
    for row in rows:
        grown: dict[tuple[int, ...], Fraction] = {}
        for counts, mass in law.items():
            for i, share in enumerate(row):
                more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                grown[more] = grown.get(more, Fraction(0)) + mass * share
        law = grown
    return law


def test_messages_of_one_sender_may_not_be_linked() -> None:
    """20 users send two bits each, all others 0 and 1; two linked bits are one of four messages."""
    sent = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    pair = [[sent[x][i] * sent[y][j] for i in (0, 1) for j in (0, 1)] for x, y in ((0, 1), (1, 0))]
    others = [pair[0]] * 19
    one, other = (_histograms([*others, row]) for row in pair)
    alpha = Fraction(5, 4)
    linked = sum(max(mass - alpha * other[seen], Fraction(0)) for seen, mass in one.items())
    round_ = Shuffle(RandomizedResponse(2, eps0=math.log(3)), 20, messages=2)
    assert linked > 1.5 * round_.get_delta(math.log(alpha))
    for protected in (round_, Shuffle(NoisyHistogram(poisson=0.5), 20)):
        assert (
            "or which messages of honest users have the same sender"
            in protected.explained.adversary
        )


def test_who_drops_out_may_not_depend_on_who_is_drawn() -> None:
    """2 of 4 users are drawn, and always the second of these two drops out: the first user is alone
    with probability 1/2, and the total variation is half that of the message."""
    bit = RandomizedResponse(2, eps0=2.0)
    fixed = Shuffle(bit, 4, sample_rate=0.5, dropouts=1)
    for round_ in (fixed, replace(fixed, sampling="poisson")):
        assert "nor on what anybody sends in the round, nor on who is drawn" in round_.people
    assert math.tanh(1) / 2 > 1.05 * fixed.get_delta(0.0)
    assert "drawn" not in Shuffle(PureLDP(1.0), 4, dropouts=1).people


def test_colluding_users_know_whether_they_are_drawn() -> None:
    some = Shuffle(PureLDP(1.0), 100, sample_rate=0.5, colluding=5)
    assert dict(some.remarks)["sampling"].endswith("but not who, except for colluding users")


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=list(REGISTRY))
def test_randomness_is_independent_and_fresh(kind: type[Randomizer]) -> None:
    """With one coin for all users the others' messages tell the coin; with the noise of the round
    before the difference of two messages is that of the values."""
    randomizer = kind(**kind.example)
    assumed = [analysis.assumption for analysis in randomizer.analyses.values()]
    if randomizer.sum_law() is not None:
        assumed.append(Aggregate(randomizer, 10).explained.assumption)
    for text in assumed:
        assert "independent" in text and "fresh" in text


@pytest.mark.parametrize(
    "round_",
    [
        Shuffle(RandomizedResponse(2, eps0=1.0), 9, messages=2),
        Shuffle(NoisyHistogram(poisson=0.5), 8, sample_rate=0.5),
        Shuffle(RandomizedResponse(3, eps0=1.0), 8, "blanket", sample_rate=0.5),
        Aggregate(UnaryEncoding(3, eps0=1.0), 9),
        SampleThreshold(0.1, 20),
    ],
)
def test_what_is_composed_or_amplified_is_called_a_bound(round_: Round) -> None:
    assert "bound" in round_.explained.theorem
    assert "bound" not in Shuffle(RandomizedResponse(2, eps0=1.0), 9).explained.theorem


def test_adversaries_of_several_messages_are_bounds() -> None:
    """The messages of all users are taken apart, the first ones, the second ones, ..."""
    binary = RandomizedResponse(2, eps0=1.0)
    (best,) = (row for row in adversaries(binary, 9, 0.1, messages=2) if row.analysis == "best")
    assert best.adversary.endswith("; an upper bound")
    assert "bound" not in adversaries(binary, 9, 0.1)[-2].adversary


def test_a_poisson_sample_is_bounded_for_each_number_of_senders() -> None:
    """If that number is seen, Proposition 30 with the rate is no bound: docs/theory/errata.md."""
    poisson = Shuffle(NoisyHistogram(poisson=0.5), 8, sample_rate=0.5, sampling="poisson")
    assert "for each number of honest senders" in poisson.explained.theorem


def test_who_is_removed_from_sums_sends_zeros() -> None:
    """Of one user who does not send at all the sum is 0, which the bits of a value may not be."""
    bits = Aggregate(UnaryEncoding(3, eps0=1.0), 1, neighbours="remove")
    assert bits.get_epsilon(0) < math.inf
    assert "takes part all the same and randomizes zeros" in bits.assumptions[-1]
    assert "zeros" not in " ".join(Aggregate(UnaryEncoding(3, eps0=1.0), 1).assumptions)


def test_reports_beyond_those_that_are_counted_are_excluded() -> None:
    one, two = SampleThreshold(0.1, 20), SampleThreshold(0.1, 20, messages=2, colluding=3)
    assert "no user, colluding or not, has more than one report in a round;" in one.people
    assert "more than 2 reports in a round, all in different bins;" in two.people
    assert (
        "no user sends more than one value in a round"
        in Shuffle(NoisyHistogram(poisson=1.0), 9).explained.assumption
    )


def test_central_noise_is_exact_and_of_numbers_that_fit_its_law() -> None:
    """A vector of k numbers, length 1, may lose sqrt(k)/scale under Laplace noise."""
    gaussian, laplace = GaussianNoise(2.0).explained, LaplaceNoise(2.0).explained
    assert "the single number" in laplace.assumption
    assert "in L2 norm the vector" in gaussian.assumption
    for analysis in (gaussian, laplace):
        assert "from exactly this distribution, on real numbers and afresh" in analysis.assumption


def test_a_delta_of_one_guarantees_nothing() -> None:
    said = unmet("epsilon", "--eps0", "4", "--users", "100", "--delta", "1")
    assert said.startswith("Nothing is guaranteed: any protocol at all is (0, 1)-")
    assert "meaning" not in said and "1/users" not in said and "excludes" not in said
    # of one user delta is (e^30 - 1)/(e^30 + 1) at epsilon = 0, which rounds to 1
    said = unmet("delta", "--eps0", "30", "--users", "1", "--epsilon", "0")
    assert said.startswith("Nothing is guaranteed: any protocol at all is (0, 1)-")
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 100))
    assert (
        "Nothing is guaranteed at delta = 1." in Plan(1.0, 1.0, (planned,)).ledger().to_markdown()
    )


def test_where_every_result_tells_no_delta_below_one_helps(tmp_path: Path) -> None:
    matrix = tmp_path / "R.csv"
    matrix.write_text("1,0\n0,1\n")
    options = ("--randomizer", "matrix", "--matrix", str(matrix), "--users", "1")
    said = unmet("epsilon", *options, "--delta", "0.1")
    assert "No delta below 1 has a finite epsilon." in " ".join(said.split())


def test_the_number_of_rounds_is_not_adaptive() -> None:
    fixed = "the largest number of rounds and everything else that is stated here is fixed before"
    said = ok("epsilon", "--eps0", "1", "--users", "100", "--rounds", "2", "--delta", "0.001")
    assert fixed in " ".join(said.split())
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 100))
    account = Plan(9.0, 1e-3, (planned, planned)).ledger().to_markdown()
    assert fixed in account and "chosen by the results" not in account


def test_a_plan_exceeds_its_target_as_analyzed_only() -> None:
    """By another analysis the same rounds fit."""
    one, other = (
        Plan(0.5, 1e-6, (PlannedRound("poll", Shuffle(PureLDP(4.0), 10_000, analysis)),)).ledger()
        for analysis in ("clones", "best")
    )
    assert other.fits and one.verdict.startswith("As analyzed, the plan exceeds the target")
    said = one.to_markdown()
    assert "the epsilon of the protocol itself is at most theirs, and may be smaller" in said


def test_a_plan_that_may_fit_is_drawn_as_such() -> None:
    planned = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    outcomes = [
        Ledger(1.0, 1e-6, (Entry(planned, Bounds(*bounds), 0.0, fits=False),)).outcome
        for bounds in ((0.8, 0.9), (0.9, 1.1), (1.05, 1.1))
    ]
    assert outcomes == ["fits", "not certified to fit", "exceeds the target"]


def test_what_stands_beside_a_bound_is_not_rounded() -> None:
    """Divergences grow with the order, and a confidence of 1 would be certainty."""
    assert "1.9999999 " in str(risk(Shuffle(PureLDP(1.0), 9), orders=[1.9999999]))
    audited = audit(RandomizedResponse(2, eps0=1.0), trials=1000, confidence=0.9999999)
    assert "confidence 0.9999999" in audited.verdict


def test_how_many_values_were_enumerated_is_said() -> None:
    """Of the numbers in [0, 1], three."""
    assert "neighbouring datasets with 3 values" in " ".join(str(verify(OneBit(1.0), 2)).split())


def test_vectors_have_at_least_one_one() -> None:
    """(1, 1) and (0, 0) differ by 2 log(p/q), more than two vectors that are not zero."""
    bits = UnaryEncoding(2, ones=2, p=0.5, q=0.01)
    assert bits.describe().startswith("2 bits of which 1 to 2 are 1")
    removed = 2 * math.log(50)
    assert bits.eps0 < removed
    local = local_epsilon(Aggregate(bits, 9, neighbours="remove"), 3)
    assert 3 * removed <= local < 3 * removed * (1 + 1e-9)
    assert local_epsilon(Aggregate(bits, 9), 1) == bits.eps0


def test_titles_of_pictures_round_nothing() -> None:
    """A sample of 0.1235 of the users, or a larger delta, is another question."""
    users, delta = [10_000, 20_000], 1.2345678e-6
    axes = plot_epsilon_vs_users(PureLDP(1.0), users, delta=delta, sample_rate=0.1235)
    title = axes.get_title().replace("\n", " ")
    assert "0.1235 of the users" in title and "delta = 1.2345678e-06" in title
