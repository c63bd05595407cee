"""Every named randomizer, as the registry tells of it: what one says, all tools understand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import ok, run
from shuffledp import Gaussian, Plan, Shuffle, calibrate, rounded_up, sweep, verify
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.laws.class_law import ClassLaws
from shuffledp.laws.density_law import DensityLaw
from shuffledp.randomizers import REGISTRY, Randomizer
from shuffledp.randomizers.base import known_parameters, register
from shuffledp.randomizers.parameter import Parameter, parameters_of

EVERY = pytest.mark.parametrize("name", REGISTRY)
SEARCHED = [
    (name, sought, parameter)
    for name, kind in REGISTRY.items()
    for sought, parameter in parameters_of(kind).items()
    if parameter.search is not None
]


def example(name: str, **changed: Any) -> Randomizer:
    return REGISTRY[name](**{**REGISTRY[name].example, **changed})


def given(name: str, folder: Path, **changed: Any) -> dict[str, Any]:
    """The example's parameters as they are written down: a matrix in a file."""
    said = {**REGISTRY[name].example, **changed}
    for key, parameter in parameters_of(REGISTRY[name]).items():
        if parameter.read is not None:
            path = folder / f"{key}.csv"
            path.write_text("".join(",".join(map(str, row)) + "\n" for row in said[key]))
            said[key] = str(path)
    return said


def options(name: str, folder: Path) -> list[str]:
    said = given(name, folder).items()
    return [
        "--randomizer",
        name,
        *(word for key, value in said for word in (f"--{key}", f"{value}")),
    ]


@EVERY
def test_epsilon_on_the_command_line_is_what_python_says(name: str, tmp_path: Path) -> None:
    asked = ["--users", "1000", "--delta", "1e-4", "--rtol", "0.01", "--json"]
    report = json.loads(ok("epsilon", *options(name, tmp_path), *asked))
    assert report["upper"] == [Shuffle(example(name), 1000).get_epsilon(1e-4, rtol=0.01)]
    assert report["randomizer"] == name
    assert name in ok("epsilon", "--help")


@EVERY
def test_every_analysis_is_above_what_is_attained(name: str) -> None:
    randomizer = example(name)
    assert {"best"} < set(randomizer.analyses)
    attained = Shuffle(randomizer, 100).attained_epsilon(1e-4, rtol=0.01)
    assert attained > 0
    for analysis in randomizer.analyses:
        assert Shuffle(randomizer, 100, analysis).get_epsilon(1e-4, rtol=0.01) >= attained


@EVERY
def test_laws_are_laws(name: str) -> None:
    """Probabilities for either value, of which the blanket, or another user's row, is no more."""
    randomizer = example(name)
    for law in (*map(randomizer.law, randomizer.analyses), randomizer.attained_law()):
        if isinstance(law, DensityLaw):
            law = law.enclosed(law.cells(1e-3, 40.0, 100), 100).below
        if isinstance(law, ClassLaws):
            for one in law.laws:
                u, v, blanket = (np.array(side) for side in (one.u, one.v, one.blanket))
                assert min(u.min(), v.min(), blanket.min()) >= 0
                assert u.sum() == pytest.approx(1, abs=1e-6)
                assert v.sum() == pytest.approx(1, abs=1e-6)
                assert blanket.sum() <= 1 + 1e-6


@EVERY
def test_verify_holds_or_says_why_not(name: str) -> None:
    randomizer = example(name)
    try:
        randomizer.exact()
    except InvalidParameter as error:
        assert "give" in str(error) or "verify one of them" in str(error)
        return
    for analysis in randomizer.analyses:
        assert verify(randomizer, 2, analysis, epsilons=[0.3]).holds


@EVERY
def test_a_plan_and_a_sweep_know_it(name: str, tmp_path: Path) -> None:
    said = given(name, tmp_path)
    lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'[target]\nepsilon = 1\ndelta = 1e-4\n[[rounds]]\nrandomizer = "{name}"\nusers = 1000\n'
        + "\n".join(lines)
    )
    upper = Shuffle(example(name), 1000).get_epsilon(1e-4, rtol=0.01)
    assert Plan.read(plan).ledger(rtol=0.01).entries[0].running.upper == upper
    (row,) = sweep({"users": [1000]}, randomizer=name, delta=1e-4, rtol=0.01, jobs=1, **said)
    assert (row["error"], row["epsilon_upper"]) == ("", upper)


@pytest.mark.parametrize(
    ("name", "sought", "parameter"),
    SEARCHED,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_can_be_calibrated_is(name: str, sought: str, parameter: Parameter) -> None:
    """The direction of the search is that of epsilon."""

    alike = ("eps0", "gamma", "poisson")  # what says the same in another way
    also: dict[str, Any] = {"theta": 0.5} if sought == "negative_binomial" else {}
    also |= {"k": 4} if sought == "dummies" else {}
    also |= {"value_rate": 0.5} if sought == "geometric" else {}

    def make(value: float) -> Shuffle:
        said = {k: v for k, v in REGISTRY[name].example.items() if k not in alike}
        value = round(value) if parameter.whole else value
        return Shuffle(REGISTRY[name](**{**said, **also, sought: value}), 50)

    search = parameter.search
    assert search is not None and parameter.least < search.start < parameter.most
    near = [make(search.start * factor).get_epsilon(1e-3, rtol=0.05) for factor in (0.9, 1.1)]
    assert (near[0] < near[1]) == search.grows
    if name != next(each for each, parameter, _ in SEARCHED if parameter == sought):
        return  # parameters of one name are searched for in one way
    target = float(rounded_up(make(search.start).get_epsilon(1e-3, rtol=0.01)))
    found = calibrate(sought, make, epsilon=target, delta=1e-3, rtol=0.1)
    assert found.achieved.upper <= target
    assert found.value == pytest.approx(search.start, rel=0.3)


@EVERY
def test_limits_are_kept_and_named(name: str) -> None:
    for key, parameter in parameters_of(REGISTRY[name]).items():
        if parameter.read is not None:
            continue
        for wrong in (parameter.most * 1e3, -1, float("nan"), "x", None, True):
            if wrong is None and not parameter.needed:
                continue
            with pytest.raises(ShuffleDPError, match=key):
                example(name, **{key: wrong})


def test_parameters_of_one_name_are_of_one_kind() -> None:
    for uses in known_parameters().values():
        assert len({(p.whole, p.read) for p in uses.values()}) == 1
        assert len({p.search for p in uses.values() if p.search is not None}) <= 1


def test_a_name_is_given_once() -> None:
    class Impostor(Gaussian):
        """Has the name of another."""

    with pytest.raises(InvalidParameter, match="two randomizers 'gaussian'"):
        register(Impostor)


def test_an_unknown_name_gets_a_hint() -> None:
    result = run("epsilon", "--randomizer", "gausian", "--users", "10", "--delta", "1e-6")
    assert (result.returncode, "did you mean gaussian" in result.stderr) == (2, True)
