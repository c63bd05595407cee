"""From names and parameters, as in a shell, a plan or a sweep, to a round."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from .._support import validate
from .._support.files import parse_json, read_bytes
from ..central import Given
from ..errors import InvalidParameter
from ..mechanisms import GivenPLD
from ..randomizers import REGISTRY, Randomizer
from ..randomizers.base import known_parameters, parameter_names
from ..randomizers.parameter import parameters_of
from ..records import CENTRAL, OF_USERS, central_of
from ..rounds import USUAL_PEOPLE, Round, RoundOfUsers
from ..sample_threshold import SampleThreshold

#: The randomizer of which only eps0 is known, if none is named.
ANY = "pure-ldp"
#: What the adversary may see; the first is meant if none is named.
VIEWS = (*OF_USERS, SampleThreshold.view)
#: What describes a round without a randomizer.
OF_REPORTS = parameters_of(SampleThreshold)
#: The keyword arguments of rounds beside the randomizer and the users.
ROUND_OPTIONS = (
    *("view", "neighbours", "analysis", "sample_rate", "sampling"),
    *(*USUAL_PEOPLE, *OF_REPORTS),
)
#: Those that are counts of users, or shares of them below 1.
SHARES = ("colluding", "dropouts")
#: Those that are words.
WORDS = ("view", "neighbours", "analysis", "sampling")


def counts() -> list[str]:
    """The names of all whole numbers that describe a protocol."""
    whole = [name for name, parameter in OF_REPORTS.items() if parameter.whole]
    named = parameter_names(lambda parameter: parameter.whole)
    return ["users", "rounds", "messages", *whole, *named]


def files() -> list[str]:
    """The names of all parameters that are given as files."""
    return parameter_names(lambda parameter: parameter.read)


def class_named(kind: str, dash: str = "") -> type[Randomizer]:
    """The class of randomizers of that name; for another name it is said which may be meant."""
    if kind in REGISTRY:
        return REGISTRY[kind]
    names = {name: name for name in REGISTRY}
    names |= {name: kind.name for kind in REGISTRY.values() for name in kind.also}
    close = difflib.get_close_matches(str(kind).lower(), names, 1)
    hint = f"did you mean {names[close[0]]}? Choose" if close else "choose"
    raise InvalidParameter(
        f"{dash}randomizer {kind} is unknown; {hint} one of {', '.join(sorted(REGISTRY))}."
    )


def _spelled(name: str, dash: str) -> str:
    """A parameter as in Python, or an option as in a shell."""
    return f"{dash}{name.replace('_', '-')}" if dash else name


def randomizer_of(kind: str, given: Mapping[str, Any], dash: str = "") -> Randomizer:
    """The randomizer of that name; `dash` is how the names of options begin in messages."""
    known = parameters_of(class_named(kind, dash))
    kept = {name: value for name, value in given.items() if value is not None}
    for name in sorted(kept.keys() - known.keys()):
        whose = ", ".join(known_parameters().get(name, ["none"]))
        raise InvalidParameter(
            f"{_spelled(name, dash)} does not go with {dash}randomizer {kind}; leave it out, or "
            f"choose one that has it: {whose}."
        )
    for name, parameter in known.items():
        if parameter.needed and name not in kept:
            raise InvalidParameter(f"{dash}randomizer {kind} needs {_spelled(name, dash)}; add it.")
    for name, value in kept.items():
        read = known[name].read
        kept[name] = read(value) if read is not None and isinstance(value, str) else value
    return REGISTRY[kind](**kept)


def split(given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of the randomizer, its parameters, and the options of the round that were given:
    those that are None were not."""
    said = {name: value for name, value in given.items() if value is not None}
    own = {name: said[name] for name in parameter_names() if name in said}
    options = {name: said[name] for name in ROUND_OPTIONS if name in said}
    return said.get("randomizer", ANY), own, options


def needed(given: Mapping[str, Any]) -> Sequence[str]:
    """What a round of this view must be given."""
    of_reports = given.get("view") == SampleThreshold.view
    return tuple(OF_REPORTS) if of_reports else ("randomizer", "users")


def round_of(given: Mapping[str, Any], dash: str = "") -> Round:
    """The round that parameters by name describe."""
    kind, own, options = split(given)
    view = validate.choice(f"{dash}view", options.get("view", VIEWS[0]), VIEWS)
    for name in needed(given):
        if name != "randomizer" and given.get(name) is None:
            raise InvalidParameter(f"{dash}view {view} needs {dash}{name}; add it.")
    if view != SampleThreshold.view:
        return of_users(randomizer_of(kind, own, dash), given["users"], dash, **options)
    users = {"users": given["users"]} if given.get("users") is not None else {}
    named = {"randomizer": kind} if kind != ANY else {}
    _check_view(view, SampleThreshold, {**named, **own, **users, **options}, dash)
    return SampleThreshold(**{name: value for name, value in options.items() if name != "view"})


def _check_view(view: str, kind: type[Any], options: Mapping[str, Any], dash: str) -> None:
    """Whatever is given must be an option of such rounds."""
    for name in sorted(options.keys() - {"view"} - {field.name for field in fields(kind)}):
        raise InvalidParameter(
            f"{_spelled(name, dash)} does not go with {dash}view {view}; leave it out."
        )


def of_users(
    randomizer: Randomizer, users: int, dash: str = "", *, view: str = VIEWS[0], **options: Any
) -> RoundOfUsers:
    """A round of users who all apply this randomizer, as the view has it."""
    kind = OF_USERS[validate.choice(f"{dash}view", view, OF_USERS)]
    _check_view(view, kind, options, dash)
    round_: RoundOfUsers = kind(randomizer, users, **options)
    return round_


def central_parameters(given: Mapping[str, Any]) -> list[str]:
    """The names of the parameters of the central mechanism that is named; a PLD has a file."""
    kind = CENTRAL[validate.choice("mechanism", given["mechanism"], CENTRAL)]
    known = [field.name for field in fields(kind) if field.init and not field.kw_only]
    return ["file"] if kind is GivenPLD else known


def central_from(given: Mapping[str, Any]) -> Given:
    """The central mechanism that parameters by name describe."""
    known = central_parameters(given)
    name, own = given["mechanism"], {key: given[key] for key in known if key in given}
    kind = CENTRAL[name]
    if kind is GivenPLD:
        own = _read_pld(own["file"])
    for field in fields(kind):
        if field.init and field.default is MISSING and field.name not in own:
            raise InvalidParameter(f"mechanism {name} needs {field.name}; add it.")
    return central_of(name, own, given.get("neighbours", "replace"))


def _read_pld(path: str) -> dict[str, Any]:
    """The parameters of a GivenPLD from a JSON file."""
    known = [field.name for field in fields(GivenPLD) if not field.kw_only]
    data = read_bytes(path, f"PLD {path}", "a JSON file")
    try:
        content = parse_json(data)
        wrong = not isinstance(content, dict) or set(content) - set(known)
    except InvalidParameter as error:
        raise InvalidParameter(f"PLD {path}: {error}") from None
    except (ValueError, RecursionError):
        wrong = True
    if wrong:
        raise InvalidParameter(f"PLD {path} is not JSON with {', '.join(known)}; write it so.")
    return dict(content)
