"""From names and parameters, as in a shell, a plan or a sweep, to a round."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidParameter
from ..randomizers import REGISTRY, Randomizer
from ..randomizers.base import parameter_names
from ..randomizers.parameter import parameters_of
from ..shuffle import USUAL_PEOPLE, Shuffle

#: The randomizer of which only eps0 is known, if none is named.
ANY = "pure-ldp"
#: The keyword arguments of Shuffle beside the randomizer and the users.
ROUND_OPTIONS = ("analysis", "sample_rate", "sampling", *USUAL_PEOPLE)


def counts() -> list[str]:
    """The names of all whole numbers that describe a protocol."""
    return ["users", "rounds", "messages", *parameter_names(lambda parameter: parameter.whole)]


def files() -> list[str]:
    """The names of all parameters that are given as files."""
    return parameter_names(lambda parameter: parameter.read)


def randomizer_of(kind: str, given: Mapping[str, Any], dash: str = "") -> Randomizer:
    """The randomizer of that name; `dash` is how the names of options begin in messages."""
    if kind not in REGISTRY:
        close = difflib.get_close_matches(str(kind), REGISTRY, 1)
        hint = f"did you mean {close[0]}? Choose" if close else "choose"
        raise InvalidParameter(
            f"{dash}randomizer {kind} is unknown; {hint} one of {', '.join(sorted(REGISTRY))}."
        )
    known = parameters_of(REGISTRY[kind])
    kept = {name: value for name, value in given.items() if value is not None}
    for name, parameter in known.items():
        if parameter.needed and name not in kept:
            raise InvalidParameter(f"{dash}randomizer {kind} needs {dash}{name}; add it.")
    for name in sorted(kept.keys() - known.keys()):
        raise InvalidParameter(
            f"{dash}{name} does not go with {dash}randomizer {kind}; leave it out."
        )
    for name, value in kept.items():
        read = known[name].read
        kept[name] = value if read is None else read(value)
    return REGISTRY[kind](**kept)


def split(given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of the randomizer, its parameters, and the options of the round that were given:
    those that are None were not."""
    said = {name: value for name, value in given.items() if value is not None}
    own = {name: said[name] for name in parameter_names() if name in said}
    options = {name: said[name] for name in ROUND_OPTIONS if name in said}
    return said.get("randomizer", ANY), own, options


def round_of(given: Mapping[str, Any], dash: str = "") -> Shuffle:
    """The round that parameters by name describe."""
    kind, own, options = split(given)
    return Shuffle(randomizer_of(kind, own, dash), given["users"], **options)
