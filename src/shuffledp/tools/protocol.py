"""From names and parameters, as in a shell, a plan or a sweep, to a round."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from .._support import validate
from .._support.files import parse_json, read_bytes
from .._support.text import known_instead, similar
from ..allocation import RandomAllocation
from ..central import CentralNoise, Given
from ..errors import InvalidParameter, ShuffleDPError
from ..mechanisms import GivenPLD, PoissonSampled
from ..mixed import Group, MixedShuffle
from ..randomizers import Randomizer
from ..randomizers.base import known_parameters, named_randomizers, parameter_names
from ..randomizers.parameter import Parameter, parameters_of
from ..records import CENTRAL, OTHER_ROUNDS, USER_ROUNDS, central_of
from ..rounds import PEOPLE_DEFAULTS, Round, RoundOfUsers

#: The randomizer of which only eps0 is known, if none is named.
DEFAULT_RANDOMIZER = "pure-ldp"
_DEFAULT_RANDOMIZER = ("randomizer", DEFAULT_RANDOMIZER)
#: Parameters of Python that have another name here.
_NAMES = {"epochs": "kept_epochs"}
#: What the adversary may see; the first is meant if none is named.
VIEWS = (*USER_ROUNDS, *OTHER_ROUNDS)
#: What describes a round without a randomizer, by its view, and all of these parameters together.
#: `rounds` is the number of epochs; those in which examples keep their steps are a parameter.
VIEW_PARAMETERS = {
    view: {_NAMES.get(name, name): each for name, each in parameters_of(kind).items()}
    for view, kind in OTHER_ROUNDS.items()
}
ROUND_PARAMETERS = {
    name: each for known in VIEW_PARAMETERS.values() for name, each in known.items()
}
#: Central noise by its name, its parameters, and those that no randomizer has. What is whole only
#: for some noise is read as any number, and the noise checks it.
CENTRAL_NOISE = {name: kind for name, kind in CENTRAL.items() if issubclass(kind, CentralNoise)}
NOISE_PARAMETERS = {
    name: each
    for whole in (True, False)
    for kind in CENTRAL_NOISE.values()
    for name, each in parameters_of(kind).items()
    if each.whole is whole
}
CENTRAL_PARAMETERS = {
    name: each for name, each in NOISE_PARAMETERS.items() if name not in known_parameters()
}
#: The keyword arguments of rounds beside the randomizer and the users.
ROUND_OPTIONS = (
    *("view", "mechanism", "neighbours", "analysis", "sample_rate", "sampling"),
    *(*PEOPLE_DEFAULTS, *ROUND_PARAMETERS),
)
#: Those that are counts of users, or shares of them below 1.
SHARE_OPTIONS = ("colluding", "dropouts")
#: What describes a group of users beside its randomizer, and the options of a round of groups.
GROUP_OPTIONS = ("name", "users", "sample_rate", *SHARE_OPTIONS)
_MIXED_OPTIONS = ("view", "neighbours", "sampling", "sample_rate", *SHARE_OPTIONS)
#: Those that are words.
WORD_OPTIONS = ("view", "mechanism", "neighbours", "analysis", "sampling")


def counts() -> list[str]:
    """The names of all whole numbers that describe a protocol."""
    known = ROUND_PARAMETERS | CENTRAL_PARAMETERS
    whole = [name for name, parameter in known.items() if parameter.whole]
    named = parameter_names(lambda parameter: parameter.whole)
    return ["users", "rounds", "messages", *whole, *named]


def files() -> list[str]:
    """The names of all parameters that are given as files."""
    return parameter_names(lambda parameter: parameter.read)


def texts() -> list[str]:
    """The names of all parameters that are lines of text."""
    return parameter_names(lambda parameter: parameter.text)


def class_named(kind: str, prefix: str = "") -> type[Randomizer]:
    """The class of randomizers of that name; for another name it is said which may be meant."""
    known = named_randomizers()
    if kind in known:
        return known[kind]
    names = {name: name for name in known}
    names |= {name: kind.name for kind in known.values() for name in kind.also}
    close = similar(str(kind), names)
    hint = f"did you mean {names[close[0]]}? Choose" if close else "choose"
    raise InvalidParameter(
        f"{prefix}randomizer {kind} is unknown; {hint} one of {', '.join(sorted(known))}."
    )


def _spelled(name: str, prefix: str) -> str:
    """A parameter as in Python, or an option as in a shell."""
    return f"{prefix}{name.replace('_', '-')}" if prefix else name


def randomizer_of(kind: str, given: Mapping[str, Any], prefix: str = "") -> Randomizer:
    """The randomizer of that name; `prefix` is how the names of options begin in messages."""
    kept = {name: value for name, value in given.items() if value is not None}
    known = _own_parameters(kind, kept, prefix)
    missing = [name for name, parameter in known.items() if parameter.needed and name not in kept]
    _refuse_missing(f"{prefix}randomizer {kind}", missing, prefix)
    for name, parameter in known.items():
        if parameter.read is not None and isinstance(kept.get(name), str):
            kept[name] = parameter.read(kept[name])
    return class_named(kind)(**kept)


def _own_parameters(kind: str, given: Mapping[str, Any], prefix: str) -> Mapping[str, Parameter]:
    """The parameters of the randomizer of that name; those of others must not be given."""
    known = parameters_of(class_named(kind, prefix))
    for name in sorted(given.keys() - known.keys()):
        having = sorted(known_parameters().get(name, ()), key=lambda each: each != "rr")
        whose = f"{prefix}randomizer {', '.join(having)}" if having else "none"
        noise = ", ".join(each for each, law in CENTRAL_NOISE.items() if name in parameters_of(law))
        central = f" Central noise, such as a step of DP-SGD, is a {prefix}mechanism: {noise}."
        raise InvalidParameter(
            f"{_spelled(name, prefix)} does not go with {prefix}randomizer {kind}; leave it out, "
            f"or choose one that has it: {whose}.{central if noise else ''}"
        )
    return known


def _refuse_missing(called: str, missing: Sequence[str], prefix: str) -> None:
    if missing:
        names = " and ".join(_spelled(name, prefix) for name in missing)
        raise InvalidParameter(
            f"{called} needs {names}; add {'it' if len(missing) == 1 else 'them'}."
        )


def split(given: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of the randomizer, its parameters, and the options of the round that were given:
    those that are None were not."""
    known = {name: value for name, value in given.items() if value is not None}
    parameters = {name: known[name] for name in parameter_names() if name in known}
    options = {name: known[name] for name in ROUND_OPTIONS if name in known}
    return known.get("randomizer", DEFAULT_RANDOMIZER), parameters, options


def usual_neighbours(given: Mapping[str, Any]) -> str:
    """The neighbours of a round if none are named.

    >>> usual_neighbours({"view": "allocation"}), usual_neighbours({})
    ('remove', 'replace')
    """
    if is_central(given):
        return "replace" if given.get("sample_rate") is None else "remove"
    return str(getattr(OTHER_ROUNDS.get(given.get("view") or VIEWS[0]), "neighbours", "replace"))


def is_central(given: Mapping[str, Any]) -> bool:
    """Whether a release of a central mechanism is described; in a view it is a part of a round."""
    return given.get("mechanism") is not None and given.get("view") is None


def view_of(given: Mapping[str, Any], prefix: str = "") -> str:
    """The view that is named, or the usual one; parameters of another view must not be given."""
    view = validate.choice(f"{prefix}view", given.get("view") or VIEWS[0], VIEWS)
    for other, known in VIEW_PARAMETERS.items():
        own = VIEW_PARAMETERS.get(view, {}).keys()
        for name in (name for name in known if given.get(name) is not None and name not in own):
            raise InvalidParameter(
                f"{_spelled(name, prefix)} goes with {prefix}view {other}, not with {view}; give "
                "that view or leave it out."
            )
    return view


def needed(given: Mapping[str, Any]) -> Sequence[str]:
    """What a round of this view must be given; groups and central mechanisms say it themselves."""
    if given.get("groups") or is_central(given):
        return ()
    known = VIEW_PARAMETERS.get(given.get("view") or VIEWS[0])
    if known is None:
        return ("randomizer", "users")
    # a step of random allocation has a noise multiplier, which may be called sigma, unless another
    # mechanism is named
    is_replaced = given.get("mechanism") is not None or given.get("sigma") is not None
    replaced = ("noise_multiplier",) if is_replaced else ()
    return [name for name, each in known.items() if each.needed and name not in replaced]


def options_of(view: str) -> set[str]:
    """The names of the parameters and options of rounds without a randomizer."""
    kind: Any = OTHER_ROUNDS[view]
    return {_NAMES.get(field.name, field.name) for field in fields(kind)}


def missing_parameters(given: Mapping[str, Any], prefix: str = "") -> list[str]:
    """What a round needs beside the names and values that are given."""
    given = with_noise_multiplier(given)
    view_of(given, prefix)
    required = needed(given)
    names = [name for name in required if name != "randomizer"]
    if "randomizer" in required:
        named = parameters_of(class_named(given.get("randomizer") or DEFAULT_RANDOMIZER, prefix))
        names += [name for name, parameter in named.items() if parameter.needed]
    return [name for name in names if given.get(name) is None]


def round_of(given: Mapping[str, Any], prefix: str = "") -> Round:
    """The round that parameters by name describe."""
    own = central_parameters(given) if given.get("mechanism") is not None else []
    for name in CENTRAL_PARAMETERS:
        if given.get(name) is not None and name not in own:
            wrong = f"goes with {prefix}mechanism; add that, or leave it out."
            if own:
                wrong = f"does not go with {prefix}mechanism {given['mechanism']}; leave it out."
            raise InvalidParameter(f"{_spelled(name, prefix)} {wrong}")
    if own:
        mechanism = central_from(given, prefix)
        if is_central(given):
            return mechanism
        given = {name: value for name, value in given.items() if name not in own}
        given["mechanism"] = mechanism
    if given.get("groups"):
        return mixed_of(given, prefix)
    if given.get("protects") is not None:
        raise InvalidParameter(f"{prefix}protects names one of several groups; give groups, too.")
    given = with_noise_multiplier(given)
    kind, parameters, options = split(given)
    view = view_of(given, prefix)
    if view in USER_ROUNDS:
        _own_parameters(kind, parameters, prefix)
    missing = missing_parameters(given, prefix)
    only_randomizer = view in USER_ROUNDS and "users" not in missing
    called = f"randomizer {kind}" if only_randomizer else f"view {view}"
    _refuse_missing(f"{prefix}{called}", missing, prefix)
    if view not in OTHER_ROUNDS:
        return round_of_users(
            randomizer_of(kind, parameters, prefix), given["users"], prefix, **options
        )
    options.pop("view")
    if "kept_epochs" in options:
        options |= {"kept": True, "epochs": options.pop("kept_epochs")}
    others = {"users": given["users"]} if given.get("users") is not None else {}
    named = {"randomizer": kind} if kind != DEFAULT_RANDOMIZER else {}
    round_type: Any = OTHER_ROUNDS[view]
    _check_view(view, round_type, {**named, **parameters, **others, **options}, prefix)
    round_: Round = round_type(**options, **others)
    return round_


def mixed_of(given: Mapping[str, Any], prefix: str = "") -> MixedShuffle:
    """The round of groups of users that parameters by name describe.

    What is given beside the groups holds for all of them that do not say otherwise.
    """
    kind, parameters, options = split(given)
    if given.get("users") is not None:
        options["users"] = given["users"]
    for name in sorted(options.keys() - set(_MIXED_OPTIONS)):
        raise InvalidParameter(
            f"{_spelled(name, prefix)} does not go with groups of users; leave it out"
            f"{' and give the users of each group' if name == 'users' else ''}."
        )
    for name, only in (("view", VIEWS[0]), ("neighbours", "replace"), ("sampling", "poisson")):
        if options.pop(name, only) != only:
            raise InvalidParameter(
                f"{_spelled(name, prefix)} of a round of several groups can only be {only}; give "
                "that or leave it out."
            )
    groups = []
    for number, each in enumerate(given["groups"], 1):
        try:
            groups.append(_group_of(each, kind, parameters))
        except ShuffleDPError as error:
            raise InvalidParameter(f"group {number}: {error}") from None
    return MixedShuffle(groups, protects=given.get("protects"), **options)


def _group_of(given: Mapping[str, Any], kind: str, parameters: Mapping[str, Any]) -> Group:
    """One group, with the randomizer of the round unless it has another."""
    known = ("randomizer", *parameter_names(), *GROUP_OPTIONS)
    for name in given:
        if name not in known:
            raise InvalidParameter(f"{name} is unknown; {known_instead(name, known)}")
    if "users" not in given:
        raise InvalidParameter("users is missing; add it.")
    own_kind = given.get("randomizer", kind)
    own = {name: given[name] for name in parameter_names() if name in given}
    if own_kind == kind:
        own = {**parameters, **own}
    options = {name: given[name] for name in GROUP_OPTIONS if name in given}
    return Group(randomizer_of(own_kind, own), **options)


def with_noise_multiplier(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of training, sigma is the noise multiplier: the noise of a step over the clipping norm."""
    if given.get("view") != RandomAllocation.view or given.get("sigma") is None:
        return given
    if given.get("noise_multiplier") is not None:
        raise InvalidParameter("sigma and noise_multiplier are the same here; give one of them.")
    return {**given, "noise_multiplier": given["sigma"], "sigma": None}


def _check_view(view: str, kind: type[Any], options: Mapping[str, Any], prefix: str) -> None:
    """Whatever is given must be an option of such rounds."""
    for name in sorted(options.keys() - {field.name for field in fields(kind)}):
        raise InvalidParameter(
            f"{_spelled(name, prefix)} does not go with {prefix}view {view}; leave it out."
        )


def round_of_users(
    randomizer: Randomizer, users: int, prefix: str = "", *, view: str = VIEWS[0], **options: Any
) -> RoundOfUsers:
    """A round of users who all apply this randomizer, as the view has it."""
    kind = USER_ROUNDS[validate.choice(f"{prefix}view", view, USER_ROUNDS)]
    _check_view(view, kind, options, prefix)
    round_: RoundOfUsers = kind(randomizer, users, **options)
    return round_


def central_parameters(given: Mapping[str, Any]) -> list[str]:
    """The names of the parameters of the central mechanism that is named; a PLD has a file."""
    named = [name for name, kind in CENTRAL.items() if kind is not PoissonSampled]
    kind = CENTRAL[validate.choice("mechanism", given["mechanism"], named)]
    known = [field.name for field in fields(kind) if field.init and not field.kw_only]
    return ["file"] if kind is GivenPLD else known


def _check_central(given: Mapping[str, Any], prefix: str) -> None:
    """Of what describes a round of users, only neighbours and sampling go with a mechanism."""
    known = {*central_parameters(given), "mechanism", "neighbours", "sample_rate", "sampling"}
    people = ("users", "groups", "protects")
    for name in ("randomizer", *parameter_names(), *people, *ROUND_OPTIONS):
        is_given = given.get(name) not in (None, ())
        if is_given and name not in known and (name, given[name]) != _DEFAULT_RANDOMIZER:
            is_other = is_other_name_of_sigma(name, known)
            instead = f"give it as {_spelled('sigma', prefix)}, with sensitivity 1"
            raise InvalidParameter(
                f"{_spelled(name, prefix)} does not go with {prefix}mechanism "
                f"{given['mechanism']}; {instead if is_other else 'leave it out'}."
            )


def is_other_name_of_sigma(name: str, known: Collection[str]) -> bool:
    """Whether this is not a known parameter, but sigma for a sensitivity of 1.

    >>> is_other_name_of_sigma("noise_multiplier", ["sigma", "sensitivity"])
    True
    """
    return name == "noise_multiplier" and name not in known and "sigma" in known


def central_from(given: Mapping[str, Any], prefix: str = "") -> Given:
    """The central mechanism that parameters by name describe."""
    if is_central(given):
        _check_central(given, prefix)
    given = {key: value for key, value in given.items() if value is not None}
    known = central_parameters(given)
    name, own = given["mechanism"], {key: given[key] for key in known if key in given}
    kind = CENTRAL[name]
    needs = [field.name for field in fields(kind) if field.init and field.default is MISSING]
    for key in known if kind is GivenPLD else needs:
        if key not in own:
            raise InvalidParameter(
                f"{prefix}mechanism {name} needs {_spelled(key, prefix)}; add it."
            )
    if kind is GivenPLD:
        own = _read_pld(own["file"])
    usual = usual_neighbours(given)
    made = central_of(name, own, given.get("neighbours", usual))
    if "sample_rate" in given:
        validate.sample_rate(given["sample_rate"])
        if given.get("neighbours", usual) != usual:
            raise InvalidParameter(
                f"neighbours={given['neighbours']!r} is not supported for a Poisson sample; use "
                f"neighbours={usual!r}."
            )
    if given.get("sampling", "poisson") != "poisson":
        raise InvalidParameter(
            f"sampling={validate.show(given['sampling'])} is not known for a central mechanism; "
            "use sampling='poisson'."
        )
    return PoissonSampled(made, given["sample_rate"]) if "sample_rate" in given else made


def _read_pld(path: str) -> dict[str, Any]:
    """The parameters of a GivenPLD from a JSON file."""
    known = [field.name for field in fields(GivenPLD) if not field.kw_only]
    data = read_bytes(path, f"PLD {path}", "a JSON file")
    content = None
    try:
        content = parse_json(data)
    except InvalidParameter as error:
        raise InvalidParameter(f"PLD {path}: {error}") from None
    except (ValueError, RecursionError):
        pass
    if not isinstance(content, dict) or not content.keys() <= set(known):
        raise InvalidParameter(f"PLD {path} is not JSON with {', '.join(known)}; write it so.")
    return content
