"""Choices: errors are those of the formulas, and every one of them meets the target."""

import math
from functools import cache
from typing import Any
from unittest.mock import patch

import mpmath
import numpy as np
import pytest

from shuffledp import Accountant, Aggregate, RandomizedResponse, Shuffle, choose
from shuffledp.bounds import Bounds
from shuffledp.calibration import Decimals, ParameterRange, approach
from shuffledp.central import GaussianNoise
from shuffledp.clients import Counts
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.randomizers import REGISTRY, Family, NoisyHistogram, Randomizer
from shuffledp.randomizers.base import SUMMED
from shuffledp.tools.choose import Choices, lowest

USERS, VALUES, EPSILON, DELTA = 10**6, 100, 1.0, 1e-8


@pytest.fixture(scope="module")
def shuffled() -> Choices:
    return choose(USERS, VALUES, epsilon=EPSILON, delta=DELTA, view="shuffle")


def only(monkeypatch: pytest.MonkeyPatch, **some: type[Randomizer]) -> None:
    """Of these it is chosen, which takes less time than of all."""
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", some)
    monkeypatch.setattr("shuffledp.tools.choose.SUMMED", {})


@pytest.fixture
def one_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits are flipped with one probability: to search for two takes ten times as long."""
    families = REGISTRY["unary"].families
    monkeypatch.setattr(REGISTRY["unary"], "families", lambda size: families(size)[-1:])


def some_noise(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Of dummies only these laws are tried: each takes longer than all other randomizers."""
    families = NoisyHistogram.families
    monkeypatch.setattr(
        NoisyHistogram, "families", lambda size: [f for f in families(size) if f.find in names]
    )


@pytest.fixture
def two_noises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dummies of users and dummies of the shuffler."""
    some_noise(monkeypatch, "poisson", "dummies")


def support(name: str, given: dict[str, Any]) -> tuple[float, float]:
    """How likely a message supports the own value, and another one, from the definitions."""
    k, ratio = VALUES, math.exp(given.get("eps0", 0.0))
    if name == "rr":
        return ratio / (ratio + k - 1), 1 / (ratio + k - 1)
    if name == "hashing":
        return ratio / (ratio + given["g"] - 1), 1 / given["g"]
    if name == "hadamard":
        return ratio / (ratio + 1), 0.5
    if name == "subset":
        size = given["size"]
        own = ratio * size / (ratio * size + k - size)
        return own, (own * (size - 1) + (1 - own) * size) / (k - 1)
    if "q" in given:
        return given["p"], given["q"]
    root = math.sqrt(ratio)
    return root / (root + 1), 1 / (root + 1)


def noise_variance(given: dict[str, Any]) -> float:
    """Of the dummies of one value."""
    if "dummies" in given:
        return float(given["dummies"] / VALUES * (1 - 1 / VALUES))
    if "theta" in given:
        r, theta = given["negative_binomial"], given["theta"]
        return float(USERS * r * theta / (1 - theta) ** 2)
    if "poisson" in given:
        return float(USERS * given["poisson"])
    if "binomial" in given:  # fair coins of the shuffler
        return float(given["binomial"] / 4)
    return float(USERS * given["bernoulli"] * (1 - given["bernoulli"]))


def variance(choice: Any, count: float) -> float:
    if choice.name == "noisy-histogram":
        return noise_variance(choice.parameters)
    own, other = support(choice.name, choice.parameters)
    noise = USERS * other * (1 - other) + count * (own * (1 - own) - other * (1 - other))
    return noise / (own - other) ** 2


def test_errors_are_those_of_the_formulas(shuffled: Choices) -> None:
    assert not shuffled.unmet
    for choice in shuffled:
        assert choice.standard_error == pytest.approx(math.sqrt(variance(choice, 0)), rel=1e-6)
        usual = math.sqrt(variance(choice, USERS / VALUES))
        assert choice.average_error == pytest.approx(usual, rel=1e-6)
        assert choice.frequency_error == pytest.approx(choice.average_error / USERS)


def test_they_are_ranked_and_close_to_the_best_that_is_known(shuffled: Choices) -> None:
    errors = [choice.average_error for choice in shuffled]
    assert errors == sorted(errors)
    printed = [line.split()[0] for line in str(shuffled).splitlines() if "shuffle  " in line]
    assert printed == [f"{error:.4g}" for error in errors]
    found = {(c.name, *sorted(c.parameters)): c.standard_error for c in shuffled}
    known = {
        ("rr", "eps0", "k"): 7.9,
        ("noisy-histogram", "k", "poisson"): 7.9,
        ("unary", "eps0", "k"): 89,
        ("subset", "eps0", "k", "size"): 102,
        ("hadamard", "eps0", "k"): 1000,
    }
    for key, value in known.items():
        assert found[key] == pytest.approx(value, rel=0.01)
    # optimised: hashing to 256 values has 64, symmetric unary encoding 89
    assert found["hashing", "eps0", "g"] < 40
    assert found["unary", "k", "p", "q"] < 40


def test_every_choice_is_certified_to_meet_the_target(shuffled: Choices) -> None:
    for choice in shuffled:
        assert choice.epsilon.lower <= choice.epsilon.upper <= EPSILON
        assert choice.epsilon.upper > 0.99 * EPSILON
        made = REGISTRY[choice.name](**choice.parameters)
        assert repr(made) == repr(choice.randomizer)
        assert Shuffle(made, USERS).get_epsilon(DELTA) <= EPSILON


@pytest.mark.usefixtures("one_probability")
def test_sums_are_chosen_too_and_in_all_rounds_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, **{name: REGISTRY[name] for name in ("rr", "unary")})
    asked: dict[str, Any] = {"rounds": 3, "sample_rate": 0.5, "epsilon": 1.0, "delta": 1e-6}
    table = choose(1000, 4, **asked, rtol=0.02)
    assert {choice.view for choice in table} == {"shuffle", "aggregate"}
    for choice in table:
        assert choice.epsilon.upper <= 1
        # those who send
        assert choice.standard_error**2 == pytest.approx(choice.randomizer.count_variance(500))
        kind = Shuffle if choice.view == "shuffle" else Aggregate
        # a single round costs no more than all of them
        assert kind(choice.randomizer, 1000, sample_rate=0.5).get_epsilon(1e-6) <= 1


@cache
def chosen_as_usual(names: tuple[str, ...], view: str) -> Choices:
    """Return what is chosen of these randomizers without further options."""
    some = {name: REGISTRY[name] for name in names}
    with (
        patch("shuffledp.tools.choose.REGISTRY", some),
        patch("shuffledp.tools.choose.SUMMED", {}),
    ):
        return choose(1000, 4, epsilon=1.0, delta=1e-5, view=view, rtol=0.02)


@pytest.mark.usefixtures("one_probability", "two_noises")
@pytest.mark.parametrize(
    ("names", "view", "more"),
    [
        (("rr", "noisy-histogram"), "shuffle", {"colluding": 0.3}),
        (("rr", "noisy-histogram"), "shuffle", {"dropouts": 300}),
        (("rr",), "shuffle", {"messages": 3}),
        (("rr",), "shuffle", {"sample_rate": 0.3333, "sampling": "poisson"}),
        (("unary",), "aggregate", {"neighbours": "remove", "colluding": 100, "messages": 2}),
    ],
)
def test_the_round_that_was_described_meets_the_target(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], view: str, more: dict[str, Any]
) -> None:
    only(monkeypatch, **{name: REGISTRY[name] for name in names})
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "view": view, "rtol": 0.02}
    table, usual = choose(1000, 4, **asked, **more), chosen_as_usual(names, view)
    assert not table.unmet and {choice.name for choice in table} == set(names)
    kind = {"shuffle": Shuffle, "aggregate": Aggregate}[view]
    for choice in table:
        made = kind(REGISTRY[choice.name](**choice.parameters), 1000, **more)
        assert made == choice.round
        assert 0.95 < made.get_epsilon(1e-5) <= 1
    # all but dummies that no user sends depend on each of these options: what was chosen without it
    # does not meet the target, or spends less
    by_users = [each for each in usual if not {"dummies", "binomial"} & each.parameters.keys()]
    others = [choice.randomizer for choice in by_users]
    spent = [kind(randomizer, 1000, **more).get_epsilon(1e-5) for randomizer in others]
    assert spent and all(not 0.95 < epsilon <= 1 for epsilon in spent)


def test_colluders_in_a_year_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, rr=RandomizedResponse)
    year: dict[str, Any] = {"rounds": 52, "epsilon": 1.0, "delta": 1e-8, "view": "shuffle"}
    spent = {}
    for colluding in (0, 100_000):
        (choice,) = choose(2_000_000, 40, colluding=colluding, **year)
        attacked = Shuffle(choice.randomizer, 2_000_000, colluding=0.05)
        spent[colluding] = Accountant().compose(attacked, 52).get_epsilon(1e-8)
    assert spent[0] > 1.02 and 0.99 < spent[100_000] <= 1


def test_errors_are_those_of_the_fewest_or_the_most_who_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counts err most if nobody drops out, means and frequencies if all do; from the formulas."""
    only(monkeypatch, rr=RandomizedResponse, laplace=REGISTRY["laplace"])
    people: dict[str, Any] = {"dropouts": 0.2, "messages": 3}
    asked: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-4, "view": "shuffle", "rtol": 0.1}
    (rr,) = choose(10, VALUES, **people, **asked)
    own, other = support("rr", dict(rr.parameters))

    def error(messages: int, count: float) -> float:
        noise = messages * other * (1 - other)
        noise += count * (own * (1 - own) - other * (1 - other))
        return math.sqrt(noise) / (own - other)

    most, least = 3 * 10, 3 * 8
    assert rr.standard_error == pytest.approx(error(most, 0), rel=1e-9)
    assert rr.average_error == pytest.approx(error(most, most / VALUES), rel=1e-9)
    assert rr.frequency_error == pytest.approx(error(least, least / VALUES) / least, rel=1e-9)
    assert rr.bits == 3 * 7
    means = choose(10, task="mean", **people, **asked)
    (laplace,) = means
    scale = 1 / laplace.parameters["eps0"]
    assert laplace.average_error == pytest.approx(math.sqrt(2 * scale**2 / least), rel=1e-4)
    sampled = choose(10, VALUES, **asked, sample_rate=0.5, dropouts=0.2)
    assert sampled[0].standard_error == pytest.approx(
        math.sqrt(sampled[0].randomizer.count_variance(5)), rel=1e-9
    )
    assert "of 5 users who send, if nobody drops out" in sampled.legend
    assert "of 4 users who send, if all dropouts occur" in sampled.legend
    head = sampled.table()[0]
    assert head[:3] == ["error (all send)", "rare (all send)", "frequency (fewest send)"]
    assert means.table()[0][0] == "error (fewest send)"


def test_rows_that_send_true_values_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, **{name: REGISTRY[name] for name in ("rr", "noisy-histogram")})
    some_noise(monkeypatch, "poisson", "dummies", "binomial")
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "view": "shuffle", "rtol": 0.1}
    found = choose(1000, 8, **asked, rounds=3, colluding=100)
    for choice in found:
        assert choice.caution.startswith("devices send true values") == (choice.name != "rr")
        added = any(getattr(choice.randomizer, name, None) for name in ("binomial", "dummies"))
        assert ("the shuffler has to add" in choice.caution) == added
        # what the shuffler adds is not sent by the device
        assert (choice.bits == 3) == (added or choice.name == "rr")
    assert {"dummies", "binomial"} <= {name for choice in found for name in choice.parameters}
    said = " ".join(str(found).split())
    assert "All 3 messages of a user have up to 3 times that." in said
    assert "no limit: nothing bounds what a single message tells." in said
    assert "With NoisyHistogram devices send true values, and dummies alone hide them" in said
    assert "add p(1-p)/n to the variance" in said
    assert "may be off by 100/(p - q)" in said and "without limit with NoisyHistogram" in said
    only(monkeypatch, rr=RandomizedResponse)
    other = choose(10_000, 8, **asked, colluding=100)
    assert "without limit" not in str(other) and "no limit" not in str(other)
    assert "times that" not in str(other) and "true values" not in str(other)


def test_lies_move_a_count_by_no_more_than_is_said() -> None:
    """m messages more or less for one value, of randomized response."""
    randomizer, users, lies = RandomizedResponse(4, eps0=2.0), 1000, 30
    own, other = (part / (math.exp(2) + 3) for part in (math.exp(2), 1))
    honest = Counts(users, [400, 300, 200, 100])
    lied = Counts(users, [400 - lies, 300 + lies, 200, 100])
    moved = randomizer.estimate(lied).counts - randomizer.estimate(honest).counts
    assert np.abs(moved).max() == pytest.approx(lies / (own - other), rel=1e-6)


def local_loss(choice: Any) -> float:
    """log of the largest ratio of the probabilities of a message, from the definitions."""
    if choice.name == "unary":
        p, q = (choice.parameters.get(name) for name in "pq")
        if p is None:
            p, q = support("unary", choice.parameters)
        return math.log(p * (1 - q) / (q * (1 - p)))
    return float(choice.parameters["eps0"])


@pytest.mark.usefixtures("two_noises")
def test_no_local_eps0_is_above_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("rr", "hashing", "unary", "noisy-histogram")
    only(monkeypatch, **{name: REGISTRY[name] for name in names})
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "view": "shuffle", "rtol": 0.05}
    free, capped = choose(10_000, 8, **asked), choose(10_000, 8, **asked, max_eps0=3.33333)
    assert {c.local_eps0 for c in free if c.name == "noisy-histogram"} == {math.inf}
    assert all("no limit" in line for line in str(free).splitlines() if "NoisyHistogram(" in line)
    for choice in (*free, *capped):
        if choice.name != "noisy-histogram":
            assert choice.local_eps0 == pytest.approx(local_loss(choice), rel=1e-9)
            assert choice.local_eps0 >= local_loss(choice) * (1 - 1e-14)
    assert {choice.name for choice in capped} == {"rr", "hashing", "unary"}
    # the largest within the cap, not one fewer digit of it
    assert all(0.998 * 3.33333 < choice.local_eps0 <= 3.33333 for choice in capped)
    assert all(choice.limit.endswith(" exceeds max_eps0=3.33333") for choice in capped)
    (row,) = capped.unmet
    assert row.randomizer == "noisy-histogram"
    # no larger one would help
    assert "no local eps0" in row.reason and "larger" not in row.reason
    assert "could use more of the target without max_eps0=3.33333" in str(capped)
    # a cap that does not bind changes nothing
    only(monkeypatch, rr=RandomizedResponse)
    wide = choose(10_000, 8, **asked, max_eps0=100.0)
    assert [c.randomizer for c in wide] == [c.randomizer for c in free if c.name == "rr"]


def test_gaussian_noise_has_no_local_eps0() -> None:
    table = choose(100, task="mean", view="aggregate", epsilon=1.0, delta=1e-6, max_eps0=4)
    assert [choice.name for choice in table] == ["one-bit"]
    assert {(row.randomizer, row.view) for row in table.unmet} == {
        ("gaussian", "aggregate"), ("noise-shares", "aggregate"),
    }  # fmt: skip
    assert all("max_eps0=4" in row.reason for row in table.unmet)


@pytest.mark.usefixtures("one_probability", "two_noises")
def test_what_does_not_go_with_the_neighbours_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("rr", "unary", "noisy-histogram")
    only(monkeypatch, **{name: REGISTRY[name] for name in names})
    table = choose(1000, 4, epsilon=1.0, delta=1e-5, neighbours="remove", rtol=0.05)
    assert {(choice.name, choice.view) for choice in table} == {
        ("unary", "aggregate"), ("noisy-histogram", "shuffle"),
    }  # fmt: skip
    reasons = {row.randomizer: row.reason for row in table.unmet}
    assert reasons.keys() == set(names)  # a fixed number of dummies is counted, too
    assert all("neighbours='remove' is not defined" in reason for reason in reasons.values())
    assert "remove-one" in table.title


def test_means_and_vectors() -> None:
    means = choose(100, task="mean", epsilon=1.0, delta=1e-6, view="shuffle", rtol=0.1)
    assert {choice.name for choice in means} == {
        "gaussian", "laplace", "one-bit", "piecewise", "square-wave",
    }  # fmt: skip
    (laplace,) = [choice for choice in means if choice.name == "laplace"]
    scale = 1 / laplace.parameters["eps0"]
    assert laplace.standard_error == pytest.approx(math.sqrt(2 * scale**2 / 100), rel=1e-4)
    assert laplace.frequency_error is None
    summed, vector = choose(10_000, task="vector", dimension=8, epsilon=1.0, delta=1e-6)
    assert (vector.name, vector.parameters["dimension"], vector.bits) == ("priv-unit", 8, 256)
    assert (summed.view, summed.parameters["dimension"], summed.bits) == ("aggregate", 8, 512)
    sigma = summed.parameters["sigma"]
    assert summed.standard_error == pytest.approx(sigma / 100, rel=1e-9)
    # opposite unit vectors are 2 apart
    assert GaussianNoise(100 * sigma, 2.0).get_epsilon(1e-6) <= 1


def test_what_cannot_be_met_is_listed_with_the_reason() -> None:
    # pure privacy: noise that may be seen to be missing gives none
    table = choose(100, 4, epsilon=1.0, delta=0.0, view="shuffle")
    assert "rr" in {choice.name for choice in table}
    assert {row.randomizer for row in table.unmet} == {"noisy-histogram"}
    assert all(row.reason.endswith(".") for row in table.unmet)
    assert "Cannot meet it:" in str(table) and "noisy-histogram, view shuffle: no " in str(table)


def test_whoever_cannot_spend_the_target_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """At delta = 0 a single user has the local epsilon, of which more than 200 is not supported."""
    only(monkeypatch, **{"one-bit": REGISTRY["one-bit"]})
    table = choose(1, task="mean", epsilon=300.0, delta=0.0, view="aggregate")
    (told,) = table.unspent
    assert told.startswith("OneBit(eps0=200.0), view aggregate, uses an epsilon of only 200")
    assert told.endswith(": eps0=200 is the largest value that is supported.")
    assert "the largest value" in str(table)


def test_a_parameter_whose_next_value_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers are far apart where they are small; at the end of its range it is another."""
    only(monkeypatch, **{"noisy-histogram": REGISTRY["noisy-histogram"]})
    some_noise(monkeypatch, "dummies", "binomial")
    found = choose(10, 4, epsilon=3.0, delta=0.05, view="shuffle", rtol=0.02)
    told = set()
    for choice in found:
        (name,) = choice.parameters.keys() & {"binomial", "dummies"} or [""]
        if name and choice.parameters[name] == 1:
            assert choice.limit == f"{name}=1 is the smallest value that is supported"
        elif name and choice.epsilon.upper < 0.95 * 3:
            told.add(choice.limit)
            one_less = {**choice.parameters, name: choice.parameters[name] - 1}
            assert Shuffle(NoisyHistogram(**one_less), 10).get_epsilon(0.05) > 3
            assert choice.limit == f"the next {name} exceeds the target"
    assert told


def test_noise_shares_spend_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sums the noise of a single user may be as little as the target allows."""
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", {"gaussian": REGISTRY["gaussian"]})
    table = choose(10**8, task="mean", epsilon=1.0, delta=1e-8, view="aggregate")
    assert not table.unspent
    (gaussian,) = (choice for choice in table if choice.name == "gaussian")
    sigma = gaussian.parameters["sigma"]
    with mpmath.workdps(40):  # the sum is a Gaussian mechanism (Balle, Wang 2018)
        shift = 1 / (mpmath.mpf(sigma) * 10**4)

        def delta(epsilon: float) -> mpmath.mpf:
            tails = [mpmath.ncdf(sign * shift / 2 - epsilon / shift) for sign in (1, -1)]
            return tails[0] - mpmath.exp(epsilon) * tails[1]

        assert delta(1.0) <= 1e-8 < delta(0.95)


def test_two_values_need_no_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, rr=REGISTRY["rr"], subset=REGISTRY["subset"])
    for values, names in ((2, {"rr"}), (3, {"rr", "subset"})):
        table = choose(100, values, epsilon=0.1, delta=1e-3, view="shuffle", rtol=0.1)
        assert {choice.name for choice in table} == names


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"values": None}, "values is missing; task count needs it"),
        ({"dimension": 3}, "dimension does not go with task count"),
        ({"task": "mean"}, "values does not go with task mean"),
        ({"task": "vector", "values": None}, "dimension is missing; task vector needs it"),
        ({"task": "sum"}, "task='sum'"),
        ({"view": "threshold"}, "view='threshold'"),
        ({"values": 1}, "values=1"),
        ({"epsilon": 0.0}, "epsilon=0 is not positive"),
        ({"delta": 2.0}, "delta=2"),
        ({"sample_rate": 0.333}, "0.333"),
        ({"users": 0}, "users=0"),
        ({"colluding": 60, "dropouts": 40}, "leave nobody of users=100"),
        ({"messages": 0}, "messages=0"),
        ({"neighbours": "swap"}, "neighbours='swap'"),
        ({"sampling": "any"}, "sampling='any'"),
        ({"max_eps0": 0}, "max_eps0=0 is outside"),
        ({"max_eps0": "4"}, "max_eps0='4' is not a number"),
    ],
)
def test_bad_input_is_one_sentence(asked: dict[str, Any], words: str) -> None:
    given = {"users": 100, "values": 4, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises((InvalidParameter, OutOfRange)) as error:
        choose(**(given | asked))
    assert words in str(error.value) and "\n" not in str(error.value)


def test_whoever_says_its_task_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(RandomizedResponse):
        name = "mine"

        @classmethod
        def families(cls, size: int) -> tuple[Family]:
            return (Family("gamma", [{"k": size}]),)

    only(monkeypatch, rr=RandomizedResponse, mine=Mine)
    table = choose(1000, 4, epsilon=1.0, delta=1e-6, view="shuffle")
    (mine,) = [choice for choice in table if choice.name == "mine"]
    assert mine.parameters.keys() == {"k", "gamma"}


def test_every_named_randomizer_says_what_it_is_for() -> None:
    for name, kind in REGISTRY.items():
        assert kind.task in ("count", "mean", "vector", None)
        unknown = ("pure-ldp", "variation-ratio", "approximate-ldp", "bundle", "one-of")
        assert (kind.task is None) == (name in unknown)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("start", [0.01, 1.0, 90.0])
def test_approach_comes_near(sign: int, power: float, start: float) -> None:
    asked = []

    def evaluate(value: float, width: float) -> Bounds[float]:
        asked.append(value)
        return Bounds((value / 7) ** (sign * power), (value / 7) ** (sign * power))

    grid = Decimals(0.001, 100.0)
    found = approach(ParameterRange("x", grid, start, sign == 1), evaluate, 1.0, 0.1, 0.01)
    assert found.good is not None
    assert 0.985 < found.bounds[found.good].upper <= 1
    assert len(asked) < 15


def test_approach_at_the_ends_of_the_grid() -> None:
    def constant(upper: float) -> Any:
        return lambda value, width: Bounds(upper, upper)

    grid = Decimals(0.1, 10.0)
    growing, falling = (ParameterRange("x", grid, 1.0, grows) for grows in (True, False))
    assert approach(growing, constant(0.5), 1.0, 0.1, 0.01).good == grid.last
    assert approach(falling, constant(0.5), 1.0, 0.1, 0.01).good == grid.first
    assert approach(growing, constant(2.0), 1.0, 0.1, 0.01).good is None


@pytest.mark.parametrize("count", range(1, 30))
def test_lowest_finds_every_valley(count: int) -> None:
    for place in range(count):
        assert lowest(count, lambda i, place=place: abs(i - place)) == place  # type: ignore[misc]


def test_shares_of_noise_are_ranked_beside_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """For sums only; each meets the target, and its error is the root of its variance."""
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", {})
    table = choose(50, 4, epsilon=1.0, delta=1e-6, dropouts=0.1, rtol=0.02)
    assert {choice.view for choice in table} == {"aggregate"} and not table.unmet
    assert {name for choice in table for name in choice.parameters} == {
        *("discrete_gaussian", "skellam", "binomial", "discrete_laplace", "complete", "k"),
    }  # fmt: skip
    (laplace,) = (choice for choice in table if "complete" in choice.parameters)
    assert laplace.parameters["complete"] == 45  # those who do not drop out
    for choice in table:
        assert choice.round == Aggregate(choice.randomizer, 50, dropouts=0.1)
        assert choice.round.get_epsilon(1e-6) <= 1
        assert choice.standard_error**2 == pytest.approx(choice.randomizer.count_variance(50))
    with pytest.raises(InvalidParameter, match="no randomizer of which view=shuffle is known"):
        choose(50, 4, epsilon=1.0, delta=1e-6, view="shuffle")


def test_another_option_is_taken_if_the_chosen_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are compared for one round: noise that suffices there may not for several."""
    only(monkeypatch)
    shares = SUMMED["noise-shares"]
    families = shares.families_for("mean", 1, 10**6)[-1:]
    monkeypatch.setattr(shares, "families_for", lambda *question: families)
    monkeypatch.setattr("shuffledp.tools.choose.SUMMED", {"noise-shares": shares})
    (found,) = choose(
        10**6, task="mean", view="aggregate", rounds=3, epsilon=0.3, delta=1e-8, rtol=0.01
    )
    account = Accountant().compose(Aggregate(found.randomizer, 10**6), 3)
    assert account.get_epsilon(1e-8) <= 0.3


def test_shares_of_noise_are_ranked_for_means() -> None:
    """Numbers are rounded at random to multiples of 1/largest, which adds to the error."""
    table = choose(200, task="mean", view="aggregate", epsilon=1.0, delta=1e-6, rtol=0.02)
    assert "largest: numbers times it are rounded" in str(table) and not table.unmet
    shares = {
        name: choice
        for choice in table
        for name in ("discrete_gaussian", "skellam", "binomial", "discrete_laplace")
        if name in choice.parameters
    }
    assert len(shares) == 4 and {"one-bit", "gaussian"} < {choice.name for choice in table}
    rng = np.random.default_rng(17)
    for choice in shares.values():
        largest, randomizer = choice.parameters["largest"], choice.randomizer
        assert choice.round == Aggregate(randomizer, 200)
        assert choice.round.get_epsilon(1e-6) <= 1 < 1.3 * choice.epsilon.upper
        # the worst number is halfway between two multiples
        number = (largest // 2 + 0.5) / largest
        errors = []
        for _ in range(60):
            rounded = np.floor(number * largest + rng.random(200)).astype(int)
            found = randomizer.estimate(randomizer.randomize(rounded, rng=rng))
            errors.append(found.mean / largest - number)
        assert abs(np.mean(errors)) < 6 * choice.average_error / math.sqrt(60)
        assert 0.6 < np.std(errors) / choice.average_error < 1.5
    one_bit = next(choice for choice in table if choice.name == "one-bit")
    assert max(choice.average_error for choice in shares.values()) < one_bit.average_error


@pytest.mark.usefixtures("two_noises")
def test_several_questions_in_three_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each meets the target as a whole, and the errors are those of one question."""
    only(monkeypatch, **{name: REGISTRY[name] for name in ("rr", "noisy-histogram")})
    asked: Any = {"users": 10_000, "values": 3, "epsilon": 0.5, "delta": 1e-6, "view": "shuffle"}
    found = choose(**asked, questions=3, rtol=0.01)
    ways = {choice.asked: choice for choice in found if choice.name == "rr"}
    assert list(ways) == ["separate", "bundle", "one-of"]
    assert {choice.asked for choice in found if choice.name != "rr"} == {"separate"}
    for way, choice in ways.items():
        account = Accountant().compose(choice.round, rounds=3 if way == "separate" else 1)
        assert account.get_epsilon(1e-6, rtol=0.01) <= 0.5
    bundle, one = ways["bundle"], ways["one-of"]
    assert repr(bundle.round.randomizer).startswith("Bundle(RandomizedResponse(k=3")
    assert bundle.local_eps0 == pytest.approx(3 * bundle.randomizer.local_eps0)
    assert bundle.average_error**2 == pytest.approx(
        bundle.randomizer.count_variance(10_000, 10_000 / 3)
    )
    third = one.randomizer.client.variance(10_000 / 3, 10_000 / 9) * 9
    drawn = 10_000 / 3 * (2 / 3) * 2  # of the users whose question it is
    assert one.average_error**2 == pytest.approx(third + drawn)
    assert [row["asked"] for row in found.records()] == [choice.asked for choice in found]
    assert "one-of" in str(found) and "3 questions of 3 values" in found.title
    (alone,) = (choice for choice in choose(**asked, rtol=0.01) if choice.name == "rr")
    assert alone.asked is None and alone.average_error < ways["separate"].average_error


def test_questions_about_means_but_not_about_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, **{"one-bit": REGISTRY["one-bit"]})
    asked: Any = {"users": 10_000, "epsilon": 0.5, "delta": 1e-6, "questions": 2}
    found = choose(task="mean", view="shuffle", **asked, rtol=0.01)
    assert {choice.asked for choice in found} == {"separate", "bundle", "one-of"}
    with pytest.raises(InvalidParameter, match="questions=2 are not known for task=vector"):
        choose(task="vector", dimension=3, **asked)
    with pytest.raises(OutOfRange, match="questions=21 is above 20"):
        choose(**{**asked, "questions": 21}, values=3)
