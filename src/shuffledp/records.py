"""Rounds as plain data: complete, to be made again, or described, to be reported."""

from __future__ import annotations

from typing import Any

from .rounds import Round, RoundOfReports, RoundOfUsers

#: What every report says of a round; None stands for what has no meaning for it.
DESCRIPTION = (
    *("view", "randomizer", "mechanism", "users", "sample_rate", "sampling", "colluding"),
    *("dropouts", "messages", "neighbours", "relation", "analysis", "theorem", "adversary"),
    "assumptions",
)


def named(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """A randomizer or a mechanism."""
    return {"name": name, "parameters": parameters}


def name_of(thing: Any) -> str:
    """As on the command line; of a class that is not registered, the name of the class."""
    return str(getattr(thing, "name", type(thing).__name__))


def described(round_: Round) -> dict[str, Any]:
    """What a report says of a round: the same names for every view.

    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.records import described
    >>> said = described(Shuffle(PureLDP(eps0=4.0), users=10_000))
    >>> said["randomizer"], said["analysis"], said["sample_rate"]
    ({'name': 'pure-ldp', 'parameters': {'eps0': 4.0}}, 'stronger-clones', 1.0)
    """
    known = {"view": round_.view, **round_.settings}
    if isinstance(round_, RoundOfUsers):
        randomizer = round_.randomizer
        known["randomizer"] = named(name_of(randomizer), randomizer.reported)
    elif isinstance(round_, RoundOfReports):
        known["mechanism"] = named(round_.name, round_.reported)
    analysis = round_.explained
    known |= {
        "relation": round_.relation,
        "analysis": analysis.name,
        "theorem": analysis.theorem,
        "adversary": analysis.adversary,
        "assumptions": [*round_.assumptions, *(text for _, text in round_.remarks)],
    }
    return {name: known.get(name) for name in DESCRIPTION}
