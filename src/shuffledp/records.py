"""Rounds as plain data: complete, to be made again, or described, to be reported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, NotRequired, TypedDict, cast

from ._support import validate
from ._support.files import parse_json
from ._support.json_types import (
    Count,
    Finite,
    Neighbours,
    Probability,
    RoundReport,
    Sampling,
    Sha256,
    View,
)
from .aggregate import Aggregate
from .allocation import RandomAllocation
from .central import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    Given,
    LaplaceNoise,
    SkellamNoise,
)
from .errors import InvalidParameter
from .guarantee import Mechanism
from .mechanisms import ApproximateDP, GivenPLD, GivenProfile, PoissonSampled
from .mixed import Group, MixedShuffle
from .randomizers.base import named_randomizers
from .rounds import Round, RoundOfUsers, RoundWithOwnParameters
from .sample_threshold import SampleThreshold
from .shuffle import Shuffle

#: Rounds of users and other rounds by their view, and central mechanisms by their name.
USER_ROUNDS: dict[str, type[Any]] = {kind.view: kind for kind in (Shuffle, Aggregate)}
OTHER_ROUNDS: dict[str, type[RoundWithOwnParameters]] = {
    kind.view: kind for kind in (SampleThreshold, RandomAllocation)
}
CENTRAL: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        *(GaussianNoise, LaplaceNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise),
        *(SkellamNoise, BinomialNoise, ApproximateDP, GivenProfile, GivenPLD),
        PoissonSampled,
    )
}

#: What every report says of a round; None stands for what has no meaning for it.
DESCRIPTION = tuple(RoundReport.__annotations__)


def name_of(thing: Any) -> str:
    """As on the command line; of a class that is not registered, the name of the class."""
    return str(getattr(thing, "name", type(thing).__name__))


def described(round_: Round) -> dict[str, Any]:
    """What a report says of a round: the same names for every view.

    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.records import described
    >>> said = described(Shuffle(PureLDP(eps0=4.0), users=10_000))
    >>> said["randomizer"], said["parameters"], said["analysis"], said["sample_rate"]
    ('pure-ldp', {'eps0': 4.0}, 'stronger-clones', 1.0)
    """
    known = {"view": round_.view, **round_.settings}
    if isinstance(round_, RoundOfUsers):
        randomizer = round_.randomizer
        known |= {"randomizer": name_of(randomizer), "parameters": randomizer.reported}
    elif isinstance(round_, RoundWithOwnParameters):
        known |= {"mechanism": round_.name, "parameters": round_.reported}
    analysis = round_.explained
    known |= {
        "relation": round_.relation,
        "analysis": analysis.name,
        "theorem": analysis.theorem,
        "adversary": analysis.adversary,
        "assumptions": [*round_.assumptions, *(text for _, text in round_.remarks)],
    }
    return {name: known.get(name) for name in DESCRIPTION}


class SavedName(TypedDict):
    """A registered name, and the parameters that make an equal thing again."""

    name: str
    parameters: dict[str, Any]


class SavedSettings(TypedDict):
    """What every round has."""

    view: View
    messages: Count
    neighbours: Neighbours


class SavedPeople(SavedSettings):
    """What every round of users has."""

    users: Count
    sample_rate: Probability
    sampling: Sampling
    colluding: Finite
    """a number of users, or a share of them below 1"""
    dropouts: Finite
    """likewise"""


class SavedRoundOfUsers(SavedPeople):
    """A round in which every user applies the same randomizer."""

    randomizer: SavedName
    analysis: NotRequired[str]
    """of shuffled messages, as it was asked for"""


class SavedRoundOfGroups(SavedPeople):
    """A round of users with different randomizers."""

    mechanism: SavedName


class SavedRoundOfReports(SavedSettings):
    """A round in which a mechanism is applied to the reports of all users."""

    mechanism: SavedName
    colluding: NotRequired[Finite]


SavedRound = SavedRoundOfUsers | SavedRoundOfGroups | SavedRoundOfReports


class SavedRounds(TypedDict):
    """A round, and how often it is repeated."""

    rounds: Count
    round: SavedRound


class SavedAccount(TypedDict):
    """Everything that is composed, and nothing about targets."""

    format: Literal["shuffledp account"]
    schema_version: Literal[1]
    version: str
    """of shuffledp"""
    sha256: Sha256
    """of rounds as JSON with sorted keys and without spaces"""
    rounds: Sequence[SavedRounds]


def record(round_: Mechanism) -> SavedRound:
    """All that is needed to make an equal round again, in any year."""
    try:
        kept = _kept(round_)
        same = restored(json.loads(json.dumps(kept))) == round_
    except (InvalidParameter, TypeError):
        same = False
    if not same:
        raise InvalidParameter(
            f"{validate.show(round_)} cannot be saved: it is not made of a registered name and "
            "its parameters; register its randomizer, or compose GivenProfile instead."
        )
    return kept


def _named(name: str, parameters: dict[str, Any]) -> SavedName:
    return {"name": name, "parameters": parameters}


def _kept(round_: Mechanism) -> SavedRound:
    if isinstance(round_, RoundOfUsers):
        randomizer = round_.randomizer
        thing = {"randomizer": _named(name_of(randomizer), randomizer.given)}
    elif isinstance(round_, RoundWithOwnParameters):
        thing = {"mechanism": _named(round_.name, round_.given)}
    else:
        raise TypeError("neither users nor reports")
    asked = {"analysis": round_.analysis} if isinstance(round_, Shuffle) else {}
    return cast(SavedRound, {"view": round_.view, **thing, **round_.settings, **asked})


def restored(kept: Any) -> Round:
    """The round of a record."""
    try:
        given = dict(kept)
        view, thing = given.pop("view"), given.pop("randomizer", None) or given.pop("mechanism")
        name, parameters = thing["name"], dict(thing["parameters"])
        if view == MixedShuffle.view and name == MixedShuffle.name:
            made: Round = _mixed(parameters, given)
        elif view in USER_ROUNDS:
            made = USER_ROUNDS[view](named_randomizers()[name](**parameters), **given)
        elif view in OTHER_ROUNDS:
            parameters["mechanism"] = _inner(parameters.get("mechanism"), given["neighbours"])
            kind: Any = OTHER_ROUNDS[view]
            known = {field.name for field in fields(kind)}
            named = {**parameters, **given}.items()
            made = kind(**{name: value for name, value in named if name in known})
        else:
            made = central_of(name, parameters, given["neighbours"])
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidParameter(
            f"{validate.show(kept)} is no round that this version knows: {error}; load it with "
            "the version that saved it, or make what it names known."
        ) from None
    return made


def _mixed(parameters: dict[str, Any], given: dict[str, Any]) -> MixedShuffle:
    """A round of groups from its record."""
    groups = []
    for each in parameters["groups"]:
        own = dict(each)
        inner = own.pop("randomizer")
        groups.append(Group(named_randomizers()[inner["name"]](**inner["parameters"]), **own))
    options = {name: given[name] for name in ("sample_rate", "colluding", "dropouts")}
    return MixedShuffle(groups, protects=parameters["protects"], **options)


def central_of(name: str, parameters: dict[str, Any], neighbours: str = "replace") -> Given:
    """The central mechanism of that name; a PLD may have another one inside: its other order."""
    parameters = dict(parameters)
    if isinstance(reverse := parameters.get("reverse"), dict):
        parameters["reverse"] = central_of(name, reverse, neighbours)
    if "mechanism" in parameters:
        parameters["mechanism"] = _inner(parameters["mechanism"], neighbours)
    made: Given = CENTRAL[name](**parameters, neighbours=neighbours)
    return made


def _inner(kept: Any, neighbours: str) -> Given | None:
    """The mechanism inside of another one, from its name and its parameters."""
    if isinstance(kept, dict):
        return central_of(kept["name"], kept["parameters"], neighbours)
    inner: Given | None = kept
    return inner


SAVED_VERSION: Literal[1] = 1
_FORMAT: Literal["shuffledp account"] = "shuffledp account"


def saved(rounds: Sequence[tuple[Mechanism, int]]) -> str:
    """A whole account as JSON, with a digest of what matters: schemas/saved-account.json."""
    from . import __version__

    kept: list[SavedRounds] = [{"rounds": k, "round": record(round_)} for round_, k in rounds]
    account: SavedAccount = {
        "format": _FORMAT,
        "schema_version": SAVED_VERSION,
        "version": __version__,
        "sha256": _digest(kept),
        "rounds": kept,
    }
    return json.dumps(account, indent=1) + "\n"


def loaded(text: str | bytes, called: str) -> list[tuple[Round, int]]:
    """What `saved` has written, unchanged."""
    try:
        content = parse_json(text)
        what, version = content["format"], content["schema_version"]
        kept, digest = content["rounds"], content["sha256"]
    except InvalidParameter as error:
        raise InvalidParameter(f"{called}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        what, version = None, None
    if what != _FORMAT:
        raise InvalidParameter(f"{called} is not a saved account; give what save has written.")
    if version != SAVED_VERSION:
        raise InvalidParameter(
            f"{called} has the schema_version {validate.show(version)}, and this version of "
            f"shuffledp reads {SAVED_VERSION}; use a newer one."
        )
    if digest != _digest(kept):
        raise InvalidParameter(
            f"{called} was changed after it was saved: its digest does not fit; restore it."
        )
    if not all(
        isinstance(item, dict) and item.keys() == SavedRounds.__annotations__.keys()
        for item in kept
    ):
        raise InvalidParameter(f"{called} is not a saved account; give what save has written.")
    return [(restored(item["round"]), item["rounds"]) for item in kept]


def _digest(kept: Any) -> str:
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
