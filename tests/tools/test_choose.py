"""Choices: errors are those of the formulas, and every one of them meets the target."""

import math
from typing import Any

import pytest

from shuffledp import Aggregate, RandomizedResponse, Shuffle, choose
from shuffledp.bounds import Bounds
from shuffledp.bounds.boundary import Decimals, approach
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import REGISTRY, Family, Randomizer
from shuffledp.tools.choose import Choices, lowest

USERS, VALUES, EPSILON, DELTA = 10**6, 100, 1.0, 1e-8


@pytest.fixture(scope="module")
def shuffled() -> Choices:
    return choose(USERS, VALUES, epsilon=EPSILON, delta=DELTA, view="shuffle")


def only(monkeypatch: pytest.MonkeyPatch, **some: type[Randomizer]) -> None:
    """Of these it is chosen, which takes less time than of all."""
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", some)


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


def test_sums_are_chosen_too_and_in_all_rounds_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, **{name: REGISTRY[name] for name in ("rr", "oue", "unary")})
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


def test_means_and_vectors() -> None:
    means = choose(10_000, task="mean", epsilon=1.0, delta=1e-6, view="shuffle")
    assert {choice.name for choice in means} == {
        "gaussian", "laplace", "one-bit", "piecewise", "square-wave",
    }  # fmt: skip
    (laplace,) = [choice for choice in means if choice.name == "laplace"]
    scale = 1 / laplace.parameters["eps0"]
    assert laplace.standard_error == pytest.approx(math.sqrt(2 * scale**2 / 10_000), rel=1e-4)
    assert laplace.frequency_error is None
    (vector,) = choose(10_000, task="vector", dimension=8, epsilon=1.0, delta=1e-6)
    assert (vector.name, vector.parameters["dimension"], vector.bits) == ("priv-unit", 8, 256)


def test_what_cannot_be_met_is_listed_with_the_reason() -> None:
    # pure privacy: noise that may be seen to be missing gives none
    table = choose(100, 4, epsilon=1.0, delta=0.0, view="shuffle")
    assert "rr" in {choice.name for choice in table}
    assert {row.randomizer for row in table.unmet} == {"noisy-histogram"}
    assert all(row.reason.endswith(".") for row in table.unmet)
    assert "Cannot meet it:" in str(table) and "noisy-histogram, view shuffle: no " in str(table)


def test_whoever_cannot_spend_the_target_is_told_of() -> None:
    """With many users the least noise that Gaussian takes is more than enough."""
    table = choose(10**8, task="mean", epsilon=1.0, delta=1e-8, view="aggregate")
    (told,) = table.unspent
    assert told.startswith("Gaussian(sigma=0.1), view aggregate, spends 0.0039")
    assert "no further sigma is supported" in told and "no further sigma" in str(table)


def test_two_values_need_no_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, rr=REGISTRY["rr"], subset=REGISTRY["subset"])
    for values, names in ((2, {"rr"}), (3, {"rr", "subset"})):
        table = choose(100, values, epsilon=1.0, delta=1e-3, view="shuffle")
        assert {choice.name for choice in table} == names


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"values": None}, "task=count needs values"),
        ({"dimension": 3}, "task=count has no dimension"),
        ({"task": "mean"}, "task=mean has no values"),
        ({"task": "vector", "values": None}, "task=vector needs dimension"),
        ({"task": "sum"}, "task='sum'"),
        ({"view": "threshold"}, "view='threshold'"),
        ({"values": 1}, "values=1"),
        ({"epsilon": 0.0}, "epsilon=0 is not positive"),
        ({"delta": 2.0}, "delta=2"),
        ({"sample_rate": 0.333}, "0.333"),
        ({"users": 0}, "users=0"),
        ({"task": "vector", "values": None, "dimension": 3, "view": "aggregate"}, "no randomizer"),
    ],
)
def test_bad_input_is_one_sentence(asked: dict[str, Any], words: str) -> None:
    given = {"users": 100, "values": 4, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InvalidParameter) as error:
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
        assert (kind.task is None) == (name == "pure-ldp")


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("start", [0.01, 1.0, 90.0])
def test_approach_comes_near(sign: int, power: float, start: float) -> None:
    asked = []

    def evaluate(value: float, width: float) -> Bounds[float]:
        asked.append(value)
        return Bounds((value / 7) ** (sign * power), (value / 7) ** (sign * power))

    grid = Decimals(0.001, 100.0)
    found = approach(grid, sign, evaluate, 1.0, 0.1, start, 0.01)
    assert found.good is not None
    assert 0.985 < found.bounds[found.good].upper <= 1
    assert len(asked) < 15


def test_approach_at_the_ends_of_the_grid() -> None:
    def constant(upper: float) -> Any:
        return lambda value, width: Bounds(upper, upper)

    grid = Decimals(0.1, 10.0)
    assert approach(grid, 1, constant(0.5), 1.0, 0.1, 1.0, 0.01).good == grid.last
    assert approach(grid, -1, constant(0.5), 1.0, 0.1, 1.0, 0.01).good == grid.first
    assert approach(grid, 1, constant(2.0), 1.0, 0.1, 1.0, 0.01).good is None


@pytest.mark.parametrize("count", range(1, 30))
def test_lowest_finds_every_valley(count: int) -> None:
    for place in range(count):
        assert lowest(count, lambda i, place=place: abs(i - place)) == place  # type: ignore[misc]
