"""What statements say, of every randomizer, view, sample, deviation and analysis: one order of the
lines, one voice, and no reference that a reader cannot follow."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shuffledp import Aggregate, RandomizedResponse, SampleThreshold, Shuffle
from shuffledp.allocation import RandomAllocation
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.errors import ShuffleDPError
from shuffledp.mechanisms import (
    ApproximateDP,
    BinomialNoise,
    DiscreteGaussianNoise,
    GivenPLD,
    GivenProfile,
    PoissonSampled,
)
from shuffledp.mixed import Group, MixedShuffle
from shuffledp.randomizers import REGISTRY, Randomizer
from shuffledp.rounds import Round
from shuffledp.tools.statement import UNITS, facts, statement

THEORY = Path(__file__).resolve().parents[2] / "docs" / "theory"
#: The lines that every statement has, in this order; remarks of a round come after `assumed`.
ORDER = ["protocol", "adversary", "assumed", "not covered", "local", "analysis"]
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"sample_rate": 0.1},
    {"sample_rate": 0.1, "sampling": "poisson", "messages": 2},
    {"colluding": 10},
    {"sample_rate": 0.1, "colluding": 5, "dropouts": 0.1},
    {"messages": 3},
)
OTHERS: list[Round] = [
    SampleThreshold(0.1, 20),
    SampleThreshold(0.1, 20, neighbours="remove", colluding=3, messages=2),
    RandomAllocation(noise_multiplier=1.0, steps=100),
    RandomAllocation(noise_multiplier=1.0, steps=100, selected=2),
    GaussianNoise(2.0),
    LaplaceNoise(2.0),
    DiscreteGaussianNoise(3.0),
    BinomialNoise(100),
    ApproximateDP(0.1, 1e-9),
    GivenProfile([0.1, 0.2], [1e-3, 1e-4]),
    GivenPLD([0.1, -0.1], [0.525, 0.475], symmetric=True),
    PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.01),
    MixedShuffle([Group(RandomizedResponse(4, eps0=e), 900, f"at {e}") for e in (4.0, 2.0)]),
]


def rounds_of(randomizer: Randomizer) -> Iterator[Round]:
    """Every round that the randomizer supports; what is refused is another test's concern."""
    for more in OPTIONS:
        for neighbours in ("replace", "remove"):
            known: dict[str, Any] = {"neighbours": neighbours, **more}
            try:
                names = list(randomizer.analyses)
            except ShuffleDPError:
                names = []
            views: tuple[tuple[Any, list[Any]], ...] = ((Shuffle, names), (Aggregate, [None]))
            for make, analyses in views:
                for analysis in analyses:
                    own: dict[str, Any] = {} if analysis is None else {"analysis": analysis}
                    try:
                        yield make(randomizer, 1000, **known, **own)
                    except ShuffleDPError:
                        continue


def check(round_: Round, chapters: set[str]) -> None:
    lines = facts(round_, 5)
    names = [name for name, _ in lines]
    assert [name for name in names if name in ORDER] == ORDER
    remarks = names[names.index("assumed") + 1 : names.index("not covered")]
    assert set(remarks) == set(names) - set(ORDER)
    for name, text in lines:
        assert text == text.strip() and ";;" not in text and "  " not in text, text
        # files that the reader does not have, and a word that means something else to lawyers
        assert not re.search(r"docs/|\.md\b|\blaws?\b", text), text
        # no repr of an object, such as <GivenPLD: ...>
        assert "<" not in text.replace("<=", ""), text
        assert name != "analysis" or cited(text) <= chapters, text
    whole = " ".join(statement(round_, 5, [("1", "1e-06", "0.9 <= e <= 1")]).split())
    assert f"{round_.relation}: neighbouring datasets differ" in whole
    assert whole.startswith("Under the assumptions below, the protocol")
    for text in (
        "is differentially private with epsilon = 1 and delta = 1e-06.",
        f"{round_.relation}: {round_.differing}",
        UNITS[round_.member],
        "in a legal sense",
        "the largest number of rounds and everything else that is stated here is fixed before",
    ):
        assert text in whole
    assert ("whether somebody is one of the users" in whole) or round_.neighbours == "remove"


def cited(text: str) -> set[str]:
    return set(re.findall(r'theory of shuffledp, chapter "([^"]+)"', text))


@pytest.fixture(scope="module")
def chapters() -> set[str]:
    first = (page.read_text(encoding="utf-8").partition("\n")[0] for page in THEORY.glob("*.md"))
    return {line.removeprefix("# ") for line in first}


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=list(REGISTRY))
def test_statements_of_every_randomizer(kind: type[Randomizer], chapters: set[str]) -> None:
    found = list(rounds_of(kind(**kind.example)))
    assert found
    for round_ in found:
        check(round_, chapters)


@pytest.mark.parametrize("round_", OTHERS, ids=repr)
def test_statements_of_other_rounds(round_: Round, chapters: set[str]) -> None:
    check(round_, chapters)


def test_proofs_are_cited_by_chapters_that_exist(chapters: set[str]) -> None:
    text = Shuffle(RandomizedResponse(3, eps0=1.0), 100, sample_rate=0.5).explained.theorem
    assert cited(text) == {"A shuffled round is a sum of scores", "Sampling"} <= chapters
