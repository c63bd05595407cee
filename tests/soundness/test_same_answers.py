"""The brackets of fifty rounds, as certified before the house was rebuilt.

Two certified brackets of one number overlap, whatever computed them: if these do not, one of them
is wrong. And none may have become wider by more than a tenth, or than a relative 1e-5. Rounds of
binary messages are asked for the analysis that was the best one then.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import shuffledp
from shuffledp import randomizers
from shuffledp.accountant import repeated

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "brackets.json").read_text()
)


def named(row: dict[str, Any]) -> str:
    options = "-".join(str(value) for value in row["options"].values())
    return f"{row['randomizer']}-{row['users']}-{row['rounds']}-{options}"


@pytest.mark.parametrize("row", ROWS[::2], ids=named)
def test_bracket_overlaps_the_old_one_and_is_no_wider(row: dict[str, Any]) -> None:
    randomizer = getattr(randomizers, row["randomizer"])(**row["parameters"])
    round_ = shuffledp.Shuffle(randomizer, row["users"], **row["options"])
    rounds = repeated(round_, row["rounds"])
    if "delta" in row:
        lower, upper = rounds.epsilon_bounds(row["delta"])
    else:
        lower, upper = rounds.delta_bounds(row["epsilon"])
    assert lower <= row["upper"]
    assert row["lower"] <= upper
    if lower < upper:
        assert upper - lower <= max(1.1 * (row["upper"] - row["lower"]), 1e-5 * upper)
