"""Sampled reports and thresholds: products of bins, figures, bad input, the shell."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from covering import covering
from oracles import noise as oracle
from shell import ok, run
from shuffledp import Accountant, Plan, PureLDP, SampleThreshold, Shuffle, calibrate, sweep
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.randomizers.exact import exp_bracket

#: Probabilities in whole numbers, over a denominator that is known: fractions take far longer.
Law = list[int]


def product(a: tuple[Law, Law], b: tuple[Law, Law]) -> tuple[Law, Law]:
    first, second = ([x * y for x in a[i] for y in b[i]] for i in (0, 1))
    return first, second


def divergence(pair: tuple[Law, Law], alpha: Fraction, unit: int) -> Fraction:
    gains = (alpha.denominator * a - alpha.numerator * b for a, b in zip(*pair, strict=True))
    return Fraction(sum(gain for gain in gains if gain > 0), alpha.denominator * unit)


def shown(rate: Fraction, threshold: int, others: int, unit: int) -> tuple[Law, Law]:
    laws = oracle.shown(rate, threshold, others)
    assert all(unit % mass.denominator == 0 for law in laws for mass in law)
    first, second = ([int(mass * unit) for mass in law] for law in laws)
    return first, second


@pytest.mark.parametrize(
    ("shown_if", "epsilon"), covering([("1/2", 2), ("1/4", 3), ("3/4", 1)], [0.0, 0.1, 0.4, 1.0])
)
def test_one_bin_and_two_bins_never_lose_more(shown_if: tuple[str, int], epsilon: float) -> None:
    """Every number of other reports up to 15, in the bin that is left and in the one entered."""
    rate, threshold = shown_if
    p, alpha = Fraction(rate), exp_bracket(Fraction(epsilon), 40)[0]
    unit = p.denominator**15
    bins = [shown(p, threshold, others, unit) for others in range(15)]
    back = [(second, first) for first, second in bins]
    one = max(divergence(b, alpha, unit) for b in bins + back)
    two = max(divergence(product(a, b), alpha, unit**2) for a in bins for b in back)
    remove = SampleThreshold(float(p), threshold, "remove")
    replace = SampleThreshold(float(p), threshold)
    assert one <= Fraction(remove.get_delta(epsilon))
    small = Fraction(1, 10**9)
    assert remove.attained_delta(epsilon, rtol=0.1) <= max(one * (1 + small), small)
    upper = replace.get_delta(epsilon)
    assert two <= Fraction(upper)
    assert replace.attained_delta(epsilon, rtol=0.1) <= float(two) * (1 + 1e-9) + 1e-9
    assert upper <= 1.3 * float(two) + 1e-6


@pytest.mark.parametrize(
    ("rate", "threshold", "delta"),
    [(0.105, 20, 6.480e-15), (0.105, 11, 3.087e-9), (0.25, 20, 9.234e-9)],
)
def test_figures(rate: float, threshold: int, delta: float) -> None:
    round_ = SampleThreshold(rate, threshold, neighbours="remove")
    lower, upper = round_.delta_bounds(1.0)
    assert upper == pytest.approx(delta, rel=2e-4)
    assert round_.attained_delta(1.0) == lower


def test_calibrate() -> None:
    def by_threshold(threshold: int) -> SampleThreshold:
        return SampleThreshold(0.105, threshold, "remove")

    def by_rate(rate: float) -> SampleThreshold:
        return SampleThreshold(rate, 20, "remove")

    assert calibrate("threshold", by_threshold, epsilon=1, delta=1e-8).value == 11
    found = calibrate("rate", by_rate, epsilon=1, delta=1e-8)
    assert found.beyond is not None
    for rate, meets in ((found.value, True), (found.beyond, False)):
        ((delta, _),) = oracle.worst_bin(rate, 20, [1.0], 100, more=True)
        assert (delta <= 1e-8) == meets


def test_all_reports_kept_tell_everything() -> None:
    round_ = SampleThreshold(0.5, 4, "remove")
    assert round_.get_epsilon(0.5**4 * 0.99) == math.inf
    assert round_.attained_epsilon(0.5**4 * 0.99) == math.inf
    assert round_.get_epsilon(0.5**4 * 1.01) < math.inf
    assert round_.get_epsilon(0) == math.inf


def test_colluding_users_lower_the_threshold() -> None:
    """With as many of their reports in the bin as they like, seven of others are shown."""
    round_ = SampleThreshold(0.2, 10, colluding=3)
    assert round_.get_delta(1.0) == SampleThreshold(0.2, 7).get_delta(1.0)
    assert SampleThreshold(0.2, 10, "remove", colluding=99).get_delta(1.0) == pytest.approx(0.2)


def test_narrow_composed_and_attained() -> None:
    for neighbours in ("replace", "remove"):
        for rate, threshold in ((0.105, 20), (1e-3, 10**5), (0.5, 10**6)):
            round_ = SampleThreshold(rate, threshold, neighbours)
            one = round_.epsilon_bounds(1e-8)
            many = Accountant().compose(round_, 100)
            bounds = many.epsilon_bounds(1e-6)
            assert one.upper <= 1.001 * one.lower
            assert bounds.upper <= 1.001 * bounds.lower
            assert 0 < round_.attained_epsilon(1e-8, rtol=0.5) <= one.upper
            if threshold == 10**6 or neighbours == "remove":
                assert 0 < many.attained_epsilon(1e-6, rtol=0.5) <= bounds.upper


def test_several_reports_and_other_rounds() -> None:
    two = SampleThreshold(0.1, 20, messages=2)
    assert two.get_epsilon(1e-8) == Accountant().compose(SampleThreshold(0.1, 20), 2).get_epsilon(
        1e-8
    )
    survey = Shuffle(PureLDP(1.0), 10_000)
    both = Accountant().compose(survey).compose(two).get_epsilon(1e-6)
    assert max(survey.get_epsilon(1e-6), two.get_epsilon(1e-6)) < both
    with pytest.raises(InvalidParameter, match="neighbours"):
        Accountant().compose(survey).compose(SampleThreshold(0.1, 20, "remove"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rate": 0}, "rate=0 is outside"),
        ({"rate": 1}, "rate=1 is outside"),
        ({"threshold": 0}, "threshold=0 is below 1"),
        ({"threshold": 2.5}, "threshold=2.5 is not whole"),
        ({"neighbours": "add"}, "neighbours='add'"),
        ({"colluding": -1}, "colluding=-1 is below 0"),
        ({"messages": 0}, "messages=0 is below 1"),
    ],
)
def test_bad_input(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ShuffleDPError, match=said):
        SampleThreshold(**{"rate": 0.1, "threshold": 20, **wrong})


VIEW = ["--view", "threshold", "--rate", "0.105", "--threshold", "20", "--neighbours", "remove"]


def test_in_the_shell() -> None:
    said = ok("delta", *VIEW, "--epsilon", "1")
    assert "6.48e-15" in said and "remove-one" in said and "counts below 20" in said
    report = json.loads(ok("delta", *VIEW, "--epsilon", "1", "--json"))
    assert report["view"] == "threshold" and report["randomizer"] is None
    assert report["parameters"] == {"rate": 0.105, "threshold": 20}
    for words, wrong in (
        (["--view", "threshold", "--rate", "0.1"], "needs --threshold"),
        ([*VIEW, "--users", "10"], "--users does not go with --view threshold"),
        ([*VIEW, "--randomizer", "rr"], "--randomizer does not go with --view threshold"),
        (
            ["--eps0", "1", "--users", "9", "--rate", "0.1"],
            "--rate goes with --view threshold, not with shuffle",
        ),
        (["--eps0", "1"], "needs --users"),
    ):
        result = run("epsilon", *words, "--delta", "1e-6")
        assert (result.returncode, wrong in result.stderr) == (2, True), result.stderr


def test_in_plans_and_sweeps(tmp_path: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[target]\nepsilon = 1\ndelta = 1e-8\n[[rounds]]\n"
        'view = "threshold"\nrate = 0.105\nthreshold = 20\nrounds = 3\n'
    )
    upper = Accountant().compose(SampleThreshold(0.105, 20), 3).get_epsilon(1e-8)
    assert Plan.read(plan).ledger().entries[0].running.upper == upper
    (row, _) = sweep({"threshold": [20, 30]}, view="threshold", rate=0.105, epsilon=1.0, jobs=1)
    assert (row["error"], row["delta_upper"]) == ("", SampleThreshold(0.105, 20).get_delta(1.0))


def test_infinite_losses_of_just_that_probability() -> None:
    """Finer lattices cannot tell p from delta = p."""
    assert SampleThreshold(0.3, 1).get_epsilon(0.3) == math.inf
    assert SampleThreshold(0.3, 1).get_epsilon(0.3001) == 0
