"""Rounds of users with different randomizers: what they are made of, and how they are described."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import ok, run
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    Group,
    MixedShuffle,
    Plan,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    calibrate,
    risk,
)
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.profiles.sender_count import SenderCount, TotalCount
from shuffledp.randomizers import ApproximateLDP, NoisyHistogram, VariationRatio
from shuffledp.records import described, record, restored
from shuffledp.tools.colluders import colluding_share
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.statement import caution, statement

DELTA = 1e-6


def response(eps0: float, users: int, name: str = "", **options: Any) -> Group:
    return Group(RandomizedResponse(16, eps0=eps0), users, name, **options)


def overlap(one: Any, other: Any) -> bool:
    return bool(one.lower <= other.upper and other.lower <= one.upper)


@pytest.mark.parametrize(
    "randomizer",
    [RandomizedResponse(2, eps0=1.0), UnaryEncoding(8, eps0=2.0),
     FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])],
)  # fmt: skip
def test_one_group_is_a_shuffled_round(randomizer: Any) -> None:
    plain = Shuffle(randomizer, 1000).epsilon_bounds(DELTA)
    for groups in ([Group(randomizer, 1000)], [Group(randomizer, 400), Group(randomizer, 600)]):
        round_ = MixedShuffle(groups)
        assert round_.epsilon_bounds(DELTA) == plain
        assert round_.explained.name == Shuffle(randomizer, 1000).explained.name
        assert 0 < round_.attained_epsilon(DELTA, rtol=0.1) <= plain.upper


UNKNOWN = [PureLDP(4.0), ApproximateLDP(4.0, 1e-9), VariationRatio(p=9.0, beta=0.5, q=9.0)]


@pytest.mark.parametrize("randomizer", UNKNOWN)
def test_groups_of_unknown_randomizers_do_not_hide_each_other(randomizer: Any) -> None:
    """Two releases with one bound each may use two encodings, with no message in common."""
    whole = MixedShuffle([Group(randomizer, 5, "old"), Group(randomizer, 9995, "new")])
    for group in whole.groups:
        alone = Shuffle(randomizer, group.users).epsilon_bounds(DELTA)
        assert whole.of(group.name).epsilon_bounds(DELTA) == alone
        assert whole.of(group.name).attained_epsilon(DELTA, rtol=0.1) <= alone.upper
    assert "also from one with the same bounds" in dict(whole.remarks)["cover"]
    assert whole.attained_epsilon(DELTA, rtol=0.1) <= whole.get_epsilon(DELTA)
    one = MixedShuffle([Group(randomizer, 1000)])
    assert one.epsilon_bounds(DELTA) == Shuffle(randomizer, 1000).epsilon_bounds(DELTA)
    assert one.explained.name == Shuffle(randomizer, 1000).explained.name


def test_a_user_with_an_encoding_of_her_own_is_not_hidden() -> None:
    round_ = MixedShuffle([Group(PureLDP(4.0), 1, "old"), Group(PureLDP(4.0), 9999, "new")])
    assert round_.of("old").get_epsilon(DELTA) >= 3.99


def test_what_is_assumed_of_groups() -> None:
    """Who hides among another group must not be told from it; by itself, a group has its own."""
    told = "nothing about a message reveals the group"
    equal = MixedShuffle([response(2.0, 400, "a"), response(2.0, 600, "b")])
    assert told in equal.explained.assumption
    assert told in equal.of("b").explained.assumption
    assert told not in MixedShuffle([response(2.0, 400)]).explained.assumption
    apart = MixedShuffle([Group(RandomizedResponse(k, eps0=3.0), 700) for k in (4, 5)])
    assert told not in apart.explained.assumption
    assert "applies this randomizer" not in apart.explained.assumption
    assert "every honest user applies the randomizer of the group" in apart.explained.assumption
    unlike = MixedShuffle([*equal.groups, Group(UnaryEncoding(4, eps0=1.0), 50, "c")])
    assert told in unlike.explained.assumption and told not in unlike.of("c").explained.assumption


def test_a_guarantee_for_one_group_says_so() -> None:
    whole = MixedShuffle([response(4.0, 2000, "old"), response(2.0, 1000, "new")])
    one = whole.of("new")
    assert "for the worst group" in statement(whole, 1, [("1", "1e-6", "")])
    for text in (statement(one, 1, [("1", "1e-6", "")]), str(risk(one, rtol=0.1))):
        said = " ".join(text.split())
        assert "for the users of group 'new'" in said and "worst group" not in said
    first = statement(one, 1, [("1", "1e-6", "")]).splitlines()[0]
    assert first.endswith("epsilon = 1 and delta = 1e-6 for the users of group 'new'.")
    with pytest.raises(InvalidParameter, match="leave protects out"):
        PlannedRound("week", one)


def test_a_group_whose_randomizer_leaks_is_cautioned_against() -> None:
    leaky = Group(ApproximateLDP(1.0, 1e-9), 5000, "leaky")
    said = caution([MixedShuffle([leaky, response(1.0, 5000, "rr")])], ["1e-6"])
    assert "5,000 users times delta0" in said[-1][1]


def test_colluding_users_of_groups_are_not_looked_for(tmp_path: Any) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(ROLLOUT)
    with pytest.raises(InvalidParameter, match="several groups of users"):
        colluding_share(Plan.read(file))
    with pytest.raises(InvalidParameter, match="several groups of users"):
        calibrate("colluding", lambda c: MixedShuffle([response(1.0, 50)], colluding=c),
                  epsilon=1.0, delta=DELTA)  # fmt: skip


def test_nearly_equal_groups_are_nearly_one() -> None:
    """The bracket overlaps that of one randomizer on either side."""
    weaker, stronger = (Shuffle(RandomizedResponse(16, eps0=e), 3000) for e in (3.0, 3.00001))
    round_ = MixedShuffle([response(3.0, 1000), response(3.00001, 2000)])
    found = round_.epsilon_bounds(DELTA)
    assert found.lower <= stronger.epsilon_bounds(DELTA).upper
    assert weaker.epsilon_bounds(DELTA).lower <= found.upper * (1 + 1e-9)


def test_every_group_has_its_own_epsilon_and_the_worst_is_that_of_the_round() -> None:
    round_ = MixedShuffle([response(4.0, 2000, "old"), response(2.0, 1000, "new")])
    by_group = round_.epsilon_by_group(DELTA)
    assert list(by_group) == ["old", "new"]
    assert by_group["new"].upper < by_group["old"].lower
    assert overlap(round_.epsilon_bounds(DELTA), by_group["old"])
    # each is hidden by the others: more than by its own group alone
    for group, eps0, users in (("old", 4.0, 2000), ("new", 2.0, 1000)):
        alone = Shuffle(RandomizedResponse(16, eps0=eps0), users).epsilon_bounds(DELTA)
        assert by_group[group].upper < alone.lower
    # and less than if all had its randomizer, or the more private one
    everybody = Shuffle(RandomizedResponse(16, eps0=2.0), 3000).epsilon_bounds(DELTA)
    assert everybody.lower < by_group["new"].upper


def test_groups_with_nothing_in_common_are_by_themselves() -> None:
    """And the statement says so."""
    bits, values = UnaryEncoding(16, eps0=2.0), RandomizedResponse(16, eps0=3.0)
    round_ = MixedShuffle([Group(bits, 500, "bits"), Group(values, 700, "values")])
    for name, randomizer, users in (("bits", bits, 500), ("values", values, 700)):
        alone = Shuffle(randomizer, users).epsilon_bounds(DELTA)
        assert round_.of(name).epsilon_bounds(DELTA) == alone
    cover = dict(round_.remarks)["cover"]
    assert "'bits' hides among 'bits'" in cover and "provide no cover" in cover
    different_k = [Group(RandomizedResponse(k, eps0=3.0), 700) for k in (4, 5)]
    assert "provide no cover" in dict(MixedShuffle(different_k).remarks)["cover"]
    shared = MixedShuffle([response(1.0, 10), response(2.0, 10)])
    assert "provide no cover" not in dict(shared.remarks)["cover"]


def test_groups_of_any_kind_are_composed_in_both_orders() -> None:
    """The largest profile of noise messages, whose orders differ, and of randomized response."""
    noise, values = NoisyHistogram(poisson=50.0), RandomizedResponse(16, eps0=3.0)
    round_ = MixedShuffle([Group(noise, 1000, "noise"), Group(values, 1000, "values")])
    alone = [Shuffle(noise, 1000), Shuffle(values, 1000)]
    for delta in (1e-3, 1e-8):
        each = [one.epsilon_bounds(delta) for one in alone]
        found = round_.epsilon_bounds(delta)
        assert found.upper >= max(bounds.lower for bounds in each)
        assert found.lower <= max(bounds.upper for bounds in each)
    twice = Accountant().compose(round_, 2).epsilon_bounds(1e-6)
    both = [Accountant().compose(one, 2).epsilon_bounds(1e-6) for one in alone]
    assert twice.upper >= max(bounds.lower for bounds in both)


def test_colluding_users_are_the_worst_ones_of_any_group() -> None:
    groups = [(4.0, 9000), (2.0, 6000)]
    whole = MixedShuffle([response(e, n) for e, n in groups], colluding=1200, dropouts=800).of("1")
    for old in (0, 1000, 2000):
        lost = [old, 2000 - old]
        each = [response(e, n, colluding=c) for (e, n), c in zip(groups, lost, strict=True)]
        fewer = [response(e, n - c) for (e, n), c in zip(groups, lost, strict=True)]
        one, other = (MixedShuffle(g).of("1").epsilon_bounds(DELTA) for g in (each, fewer))
        assert one == other
        assert one.lower <= whole.get_epsilon(DELTA)
        if old == 0:  # those who provide most cover
            assert overlap(one, whole.epsilon_bounds(DELTA))


def test_sampling_amplifies_and_can_differ_by_group() -> None:
    groups = [response(4.0, 3000, "old"), response(2.0, 1000, "new")]
    full, sampled = (
        MixedShuffle(groups, sample_rate=rate).get_epsilon(DELTA, rtol=0.1) for rate in (1, 0.2)
    )
    assert sampled < 0.6 * full
    own = [response(4.0, 3000, "old", sample_rate=0.2), response(2.0, 1000, "new", sample_rate=0.2)]
    assert MixedShuffle(own).get_epsilon(DELTA, rtol=0.1) == sampled
    assert "'old' 0.2" in dict(MixedShuffle(own).remarks)["sampling"]
    one = MixedShuffle([response(4.0, 3000)], sample_rate=0.2).epsilon_bounds(DELTA, rtol=0.1)
    plain = Shuffle(RandomizedResponse(16, eps0=4.0), 3000, sample_rate=0.2, sampling="poisson")
    assert one == plain.epsilon_bounds(DELTA, rtol=0.1)


def test_rounds_compose_in_any_order_and_with_others() -> None:
    weeks = [
        MixedShuffle([response(4.0, 20_000 - new, "old"), response(2.0, new, "new")])
        for new in (2000, 10_000)
    ]
    plain = Shuffle(RandomizedResponse(16, eps0=2.0), 20_000)
    there, back = Accountant(), Accountant()
    for round_ in [*weeks, plain]:
        there.compose(round_)
    for round_ in [plain, *weeks[::-1]]:
        back.compose(round_)
    one, other = there.epsilon_bounds(DELTA), back.epsilon_bounds(DELTA)
    assert overlap(one, other)
    assert max(week.epsilon_bounds(DELTA).lower for week in weeks) < one.upper
    assert one.lower < sum(round_.get_epsilon(DELTA) for round_ in [*weeks, plain])


def likely_masses(n: int, p: float) -> tuple[int, Any]:
    """The first count of a binomial law whose mass is not negligible, and all such masses."""
    j = np.arange(n + 1)
    logs = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    log_mass = logs[n] - logs[j] - logs[n - j] + j * math.log(p) + (n - j) * math.log1p(-p)
    kept = np.flatnonzero(log_mass > -150)
    return int(kept[0]), np.exp(log_mass[kept])


@pytest.mark.parametrize("terms", [((30, 0.3), (20, 0.7)), ((100_000, 0.2), (200_000, 0.9))])
def test_law_of_a_sum_of_binomial_numbers(terms: tuple[tuple[int, float], ...]) -> None:
    """Against convolutions, up to how far it is rounded down."""
    count = TotalCount(tuple(SenderCount(n, rate=p) for n, p in terms))
    start, law = 0, np.ones(1)
    for n, p in terms:
        first, masses = likely_masses(n, p)
        start, law = start + first, np.convolve(law, masses)
    exact = np.concatenate([np.zeros(start), np.cumsum(law)])
    cells = count.cells(40.0)
    assert (count.rounded_off == 0) == (count.deviation < 128)
    for place in (cells.first, cells.last):
        at = np.minimum(place, len(exact) - 1)
        lower, upper = cells.up_to(place)
        assert (lower <= exact[at] * (1 + 1e-9)).all()
        assert (upper + cells.rest >= exact[at] * (1 - 1e-9)).all()
        far = np.minimum(at + (cells.last - cells.first) + count.stride, len(exact) - 1)
        assert (lower >= exact[np.maximum(at - count.rounded_off - count.stride, 0)] - 1e-9).all()
        assert (upper <= exact[far] + 1e-9).all()
    more = TotalCount(count.terms, certain=7)
    assert (more.cells(40.0).first == cells.first + 7).all()
    assert (more.least, more.most) == (count.least + 7, count.most + 7)
    assert cells.lower.sum() > 1 - 1e-4


def test_matrices_that_share_no_output_are_by_themselves() -> None:
    one = FiniteRandomizer([[0.75, 0.25, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]])
    two = FiniteRandomizer([[0.0, 0.0, 0.75, 0.25], [0.0, 0.0, 0.25, 0.75]])
    round_ = MixedShuffle([Group(one, 50, "one"), Group(two, 60, "two")])
    assert round_.of("one").epsilon_bounds(0.01) == Shuffle(one, 50).epsilon_bounds(0.01)


def test_saved_and_described() -> None:
    groups = [
        Group(RandomizedResponse(4, gamma=0.25), 100, "old", colluding=0.1),
        Group(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), 50, sample_rate=0.5, dropouts=3),
    ]
    round_ = MixedShuffle(groups, sample_rate=0.25, colluding=2, protects="old")
    kept = json.loads(json.dumps(record(round_)))
    assert restored(kept) == round_ and hash(restored(kept)) == hash(round_)
    said = described(round_)
    assert said["view"] == "shuffle" and said["mechanism"] == "mixed"
    assert said["users"] == 150 and said["parameters"]["groups"][0]["colluding"] == 10
    assert "not protected" in " ".join(said["assumptions"])
    assert "Group(RandomizedResponse(k=4, gamma=0.25)" in repr(round_)
    assert eval(repr(round_)) == round_  # names of this file


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MixedShuffle([]), "give one or more Group"),
        (lambda: MixedShuffle([PureLDP(1.0)]), "give one or more Group"),  # type: ignore[list-item]
        (lambda: MixedShuffle([response(1, 5, "a"), response(2, 5, "a")]), "name each one"),
        (lambda: MixedShuffle([response(1, 5)], protects="old"), "choose one of 1"),
        (lambda: MixedShuffle([response(1, 5), response(2, 5)], colluding=10), "give fewer"),
        (lambda: MixedShuffle([response(1, 5)], sample_rate=2), "outside (0, 1]"),
        (lambda: response(1, 0), "users=0 is below 1"),
        (lambda: response(1, 5, colluding=5), "leave nobody"),
        (lambda: Group("rr", 5), "is not a randomizer"),  # type: ignore[arg-type]
        (lambda: MixedShuffle([response(1, 5)] * 65), "the number of groups=65"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: Any, said: str) -> None:
    with pytest.raises(ShuffleDPError) as error:
        make()
    assert said in str(error.value) and str(error.value).endswith(".")


ROLLOUT = """
[target]
epsilon = 1.0
delta = 1e-6
[[rounds]]
randomizer = "rr"
k = 16
groups = [{ name = "old", eps0 = 4.0, users = "2k" }, { name = "new", eps0 = 2.0, users = 1e3 }]
"""


def test_a_plan_has_groups(tmp_path: Any) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(ROLLOUT)
    plan = Plan.read(file)
    made = MixedShuffle([response(4.0, 2000, "old"), response(2.0, 1000, "new")])
    assert plan.rounds[0].round == made
    for wrong, said in (
        ("k = 16", "k = 16\nusers = 5"),
        ("groups = [", "groups = [3, "),
        ('users = "2k"', 'users = "2k", nothing = 1'),
        ('users = "2k"', "dropouts = 3"),
        ("1e3", "1.5"),
        ("k = 16", 'k = 16\nview = "aggregate"'),
        ("k = 16", "k = 16\nneighbours = 'remove'"),
        ("k = 16", "k = 16\nprotects = 'new'"),
    ):
        file.write_text(ROLLOUT.replace(wrong, said))
        with pytest.raises(InvalidParameter, match=r"rounds\[1\]") as error:
            Plan.read(file)
        assert str(error.value).endswith("."), error.value


GROUPS = ("--randomizer", "rr", "--k", "16", "--group", "name=old users=2k eps0=4")
NEW = ("--group", "name=new users=1e3 eps0=2")


def test_the_shell_has_groups() -> None:
    round_ = MixedShuffle([response(4.0, 2000, "old"), response(2.0, 1000, "new")])
    report = json.loads(ok("epsilon", *GROUPS, *NEW, "--delta", "1e-6", "--json"))
    assert report["upper"] == [round_.epsilon_bounds(DELTA).upper]
    assert [group["name"] for group in report["groups"]] == ["old", "new"]
    assert report["groups"][1]["upper"] == [round_.of("new").epsilon_bounds(DELTA).upper]
    text = ok("epsilon", *GROUPS, *NEW, "--delta", "1e-6")
    assert "by group" in text and "'new' hides among 'old', 'new'" in " ".join(text.split())
    one = json.loads(ok("epsilon", *GROUPS, *NEW, "--protects", "new", "--delta", "1e-6", "--json"))
    assert one["upper"] == report["groups"][1]["upper"] and "groups" not in one
    for more in (
        ["--users", "5"],
        ["--messages", "2"],
        ["--sampling", "fixed", "--sample-rate", "0.5"],
        ["--analysis", "clones"],
        ["--protects", "other"],
        ["--group", "users"],
        ["--group", "eps0=2"],
        ["--group", "users=1.5 eps0=2"],
        ["--group", "users=5 eps0=-1"],
        ["--group", "users=5 'eps0=1"],
    ):
        assert run("epsilon", *GROUPS, *NEW, "--delta", "1e-6", *more).returncode == 2, more


def test_the_guide_shows_what_is_certified() -> None:
    """Every number of the table of weeks is at least the lower value, and rounded up from above."""
    root = Path(__file__).resolve().parents[1]
    text = (root / "docs" / "rolling-out.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| ([\d,]+) \|(.*)\|$", text, re.MULTILINE)
    rounds = [planned.round for planned in Plan.read(root / "examples" / "rollout.toml").rounds]
    assert len(rows) == len(rounds) == 8
    for round_, (_, users, numbers) in zip(rounds, rows, strict=True):
        assert isinstance(round_, MixedShuffle)
        assert round_.groups[1].users == int(users.replace(",", ""))
        alone = [Shuffle(group.randomizer, group.users) for group in round_.groups]
        for shown, each in zip(
            numbers.split("|"), [round_.of("old"), round_.of("new"), *alone], strict=True
        ):
            found = each.epsilon_bounds(1e-8)
            assert found.lower <= float(shown) <= found.upper * 1.002
