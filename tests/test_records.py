"""Accounts that are saved go on: equal rounds, the same numbers, and no file that was changed."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from shuffledp import (
    Accountant,
    Aggregate,
    FiniteRandomizer,
    Group,
    MixedShuffle,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
)
from shuffledp.central import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    SkellamNoise,
)
from shuffledp.errors import InvalidParameter
from shuffledp.guarantee import Mechanism
from shuffledp.mechanisms import ApproximateDP, GivenPLD, GivenProfile, PoissonSampled
from shuffledp.randomizers import REGISTRY, MatrixRandomizer, NoisyHistogram

SCHEMA = json.loads(
    (resources.files("shuffledp") / "schemas" / "saved-account.json").read_text(encoding="utf-8")
)
#: Rows that are scaled to the sum 1, and whose scaled rows would be scaled again.
THIRDS = [[1 / 3 + 1e-10, 1 / 3, 1 / 3], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
PLD = GivenPLD([0.1, -0.1], [0.525, 0.475], symmetric=True)
MECHANISMS: list[Mechanism] = [
    *(Shuffle(kind(**kind.example), 1000) for kind in REGISTRY.values()),
    Shuffle(RandomizedResponse(4, gamma=0.1), 100, "strong", sample_rate=0.1, sampling="poisson"),
    Shuffle(UnaryEncoding(8, p=0.9), 1000, colluding=0.1, dropouts=3, messages=2),
    Shuffle(UnaryEncoding(8, p=0.5, q=0.1, ones=2), 1000),
    Shuffle(NoisyHistogram(negative_binomial=0.1, theta=0.5), 100, neighbours="remove"),
    Shuffle(FiniteRandomizer(THIRDS), 100),
    Aggregate(UnaryEncoding(8, 1.0), 100, neighbours="remove"),
    SampleThreshold(0.1, 20, neighbours="remove", colluding=2, messages=3),
    RandomAllocation(noise_multiplier=1.0, steps=100),
    MixedShuffle([Group(PureLDP(1.0), 100), Group(UnaryEncoding(8, 1.0), 50)], sample_rate=0.1),
    PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.1),
    GaussianNoise(3.7, 1.1, neighbours="remove"),
    LaplaceNoise(3.7, 1.1),
    DiscreteGaussianNoise(3.7, 2),
    DiscreteLaplaceNoise(0.1, 3, neighbours="remove"),
    SkellamNoise(1e-3),
    BinomialNoise(10**12, 7),
    ApproximateDP(0.1, 1e-9, neighbours="remove"),
    GivenProfile([0.1, 0.2], [1e-3, 1e-6]),
    PLD,
    GivenPLD([0.3, -0.2], [0.5, 0.4], infinite=0.1, reverse=PLD),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: repr(each)[:60])
def test_every_mechanism_comes_back_equal(mechanism: Mechanism, tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    Accountant().compose(mechanism, 7).save(file)
    ((again, rounds),) = Accountant.load(file).rounds
    assert (again, rounds) == (mechanism, 7) and hash(again) == hash(mechanism)
    Draft202012Validator(SCHEMA).validate(json.loads(file.read_text()))


def test_the_numbers_are_the_same_and_the_account_goes_on(tmp_path: Path) -> None:
    year = Accountant().compose(Shuffle(FiniteRandomizer(THIRDS), 5000), 2)
    year.compose(GaussianNoise(30.0), 5).compose(PLD)
    year.save(tmp_path / "year.json")
    next_year = Accountant.load(tmp_path / "year.json")
    assert next_year.epsilon_bounds(1e-6) == year.epsilon_bounds(1e-6)
    more = Shuffle(PureLDP(1.0), 5000)
    assert next_year.compose(more).get_epsilon(1e-6) == year.compose(more).get_epsilon(1e-6)
    Accountant().save(tmp_path / "nothing.json")
    assert Accountant.load(tmp_path / "nothing.json").rounds == ()


@pytest.mark.parametrize(
    "damage",
    [
        lambda said: said.pop("sha256"),
        lambda said: said.update(more=1),
        lambda said: said["rounds"][0].update(rounds=0),
        lambda said: said["rounds"][0]["round"].pop("users"),
        lambda said: said["rounds"][0]["round"].update(view="another"),
        lambda said: said["rounds"][0]["round"].update(
            mechanism=said["rounds"][0]["round"]["randomizer"]
        ),
        lambda said: said["rounds"][0]["round"]["randomizer"].pop("name"),
    ],
)
def test_the_schema_refuses_what_is_no_account(
    damage: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    _, content = saved(tmp_path)
    damage(content)
    assert not Draft202012Validator(SCHEMA).is_valid(content)


def saved(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "account.json"
    Accountant().compose(Shuffle(PureLDP(1.0), 5000), 7).save(file)
    return file, json.loads(file.read_text())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rounds": []}, "was changed after it was saved"),
        ({"schema_version": 2}, "has the schema_version 2"),
        ({"format": "another"}, "is not a saved account"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    file, content = saved(tmp_path)
    file.write_text(json.dumps({**content, **change}))
    with pytest.raises(InvalidParameter, match=said):
        Accountant.load(file)


@pytest.mark.parametrize(
    "rounds",
    [
        [3],
        [{"rounds": 1}],
        [{"rounds": 1, "round": {"view": "shuffle"}}],
        [{"rounds": 1, "round": {"view": "central", "mechanism": {"name": "x", "parameters": {}}}}],
        [{"rounds": 0, "round": {"view": "central", "mechanism": {"name": "x", "parameters": {}}}}],
    ],
)
def test_a_digest_alone_makes_no_account(tmp_path: Path, rounds: Any) -> None:
    file, content = saved(tmp_path)
    text = json.dumps(rounds, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps({**content, "rounds": rounds, "sha256": digest}))
    with pytest.raises(InvalidParameter, match=r"is not a saved account|is no round"):
        Accountant.load(file)


def test_what_is_no_file_of_ours(tmp_path: Path) -> None:
    for text in ("", "[]", "{}", "[" * 100_000):
        (tmp_path / "x").write_text(text)
        with pytest.raises(InvalidParameter, match="is not a saved account"):
            Accountant.load(tmp_path / "x")
    with pytest.raises(InvalidParameter, match="cannot be read: No such file"):
        Accountant.load(tmp_path / "nothing")
    with pytest.raises(InvalidParameter, match="cannot be written"):
        Accountant().save(tmp_path / "no" / "folder")


def test_what_has_no_name_is_not_saved(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Own(MatrixRandomizer):
        def rows(self) -> list[list[float]]:
            return [[0.6, 0.4], [0.4, 0.6]]

    with pytest.raises(InvalidParameter, match=r"cannot be saved: .* register its randomizer"):
        Accountant().compose(Shuffle(Own(), 10)).save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """The digest would be that of the last one; a reader may see the first."""
    file = tmp_path / "account.json"
    Accountant().compose(Shuffle(PureLDP(1.0), 10), rounds=2).save(file)
    text = file.read_text()
    assert text.count('"eps0": 1.0') == 1
    file.write_text(text.replace('"eps0": 1.0', '"eps0": 0.1, "eps0": 1.0'))
    with pytest.raises(InvalidParameter, match=r"account\.json: the key 'eps0' is given 2 times"):
        Accountant.load(file)
