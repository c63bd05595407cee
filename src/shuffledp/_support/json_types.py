"""Types of what `--json` prints: each name is declared once, with its type and its meaning.

A command declares the names of its own answer beside the code that writes it, and mypy checks that
code against them. `make schemas` generates the files of `schemas/` from these types; strings below
the names are the descriptions there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

#: The version of the names and types: they may be added to, never changed.
SCHEMA_VERSION = 2


class Keywords(dict[str, Any]):
    """Keywords of JSON Schema that a type has beside its own, such as a minimum."""

    __hash__ = object.__hash__  # type: ignore[assignment]


#: An epsilon, a delta or another number >= 0; JSON has no infinity and writes this text for it.
Value = Annotated[float, Keywords(minimum=0)] | Literal["Infinity"]
Signed = float | Literal["Infinity", "-Infinity"]
Finite = Annotated[float, Keywords(minimum=0)]
Positive = Annotated[float, Keywords(exclusiveMinimum=0)]
Probability = Annotated[float, Keywords(minimum=0, maximum=1)]
Count = Annotated[int, Keywords(minimum=1)]
Natural = Annotated[int, Keywords(minimum=0)]
Day = Annotated[str, Keywords(format="date")]
Sha256 = Annotated[str, Keywords(pattern="^[0-9a-f]{64}$")]
Values = Annotated[Sequence[Value], Keywords(minItems=1)]
Probabilities = Sequence[Probability]
Neighbours = Literal["replace", "remove"]
Relation = Literal["replace-one", "remove-one"]
View = Literal["shuffle", "aggregate", "threshold", "allocation", "central"]
Sampling = Literal["fixed", "poisson"]
ErrorKind = Literal[
    "usage", "invalid-parameter", "sample-not-whole", "out-of-range", "infeasible",
    "not-certified", "missing-extra", "failed", "output", "memory", "refused", "interrupted", "bug",
]  # fmt: skip


class Bracket(TypedDict):
    """lower <= exact <= upper"""

    lower: Value
    upper: Value


class Cost(Bracket):
    """An epsilon against a budget."""

    remaining: Signed
    """of the budget; below 0 if it is exceeded"""
    fits: bool


class RoundsAsked(TypedDict):
    """How many rounds an answer is for, and how narrow it is to be."""

    rounds: Count
    rtol: Positive


class ErrorReport(TypedDict):
    """What went wrong, with what was certified nevertheless or comes nearest to a target."""

    kind: ErrorKind
    """for programs"""
    message: str
    """one sentence for people"""
    bounds: Bracket | None
    """what was certified nevertheless"""
    nearest: float | None
    """the value that comes nearest to a target"""


class Head(TypedDict):
    """The beginning of every report."""

    schema_version: Literal[2]
    query: str | None
    """the command; null if there is no such command"""
    version: str
    """of shuffledp"""
    error: ErrorReport | None


class ArrayDigest(TypedDict):
    """A matrix: its rows, scaled to the sum 1, as little-endian doubles; lists of losses alike."""

    shape: Annotated[Sequence[Count], Keywords(minItems=2, maxItems=2)]
    sha256: Sha256


class GroupReport(TypedDict):
    """Users with a randomizer of their own; what is usual is left out."""

    name: str
    randomizer: str
    parameters: dict[str, Any]
    users: Count
    sample_rate: NotRequired[Probability]
    colluding: NotRequired[int]
    dropouts: NotRequired[int]


#: The parameters of a randomizer or a mechanism, by their names on the command line.
Reported = dict[
    str, float | bool | str | ArrayDigest | Sequence[float] | Sequence[GroupReport] | None
]


class RoundReport(TypedDict):
    """A round; null stands for what has no meaning for it."""

    view: View
    """what the adversary sees"""
    randomizer: str | None
    """the name of what every user applies; null if the users apply none"""
    mechanism: str | None
    """the name of what is applied instead to the reports of all users"""
    parameters: Reported
    """of the randomizer or the mechanism, by their names on the command line"""
    users: Count | None
    sample_rate: float | None
    """the share of the users that sends; all if it is 1"""
    sampling: Sampling | None
    colluding: int | None
    """how many users collude, also where a share was given"""
    dropouts: int | None
    """how many users fail to send, also where a share was given"""
    messages: Count
    """of each user in a round"""
    neighbours: Neighbours
    relation: Relation
    analysis: str
    """the analysis behind the numbers: what best became"""
    theorem: str
    adversary: str
    assumptions: Annotated[Sequence[str], Keywords(minItems=1)]


#: What keywords of JSON Schema ask of a value of the right type.
_KEYWORDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, least: value >= least,
    "maximum": lambda value, most: value <= most,
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
    "pattern": lambda value, pattern: re.fullmatch(pattern, value) is not None,
    "propertyNames": lambda value, names: all(map(re.compile(names["pattern"]).fullmatch, value)),
}
_hints = cache(get_type_hints)


def conforms(value: Any, kind: Any) -> bool:
    """Whether a part of a JSON document is of a type of which every field is required.

    >>> conforms({"lower": 0.5, "upper": 1.0}, Bracket), conforms({"lower": 0.5}, Bracket)
    (True, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        base, *keywords = parts
        limits = [limit for each in keywords for limit in each.items()]
        return conforms(value, base) and all(_KEYWORDS[name](value, x) for name, x in limits)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin in (Union, UnionType):
        return any(conforms(value, part) for part in parts)
    if origin is Sequence:
        return isinstance(value, list) and all(conforms(each, parts[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(conforms(x, parts[1]) for x in value.values())
    if is_typeddict(kind):
        hints = _hints(kind, include_extras=True)
        named = isinstance(value, dict) and value.keys() == hints.keys()
        return named and all(conforms(value[name], hint) for name, hint in hints.items())
    return type(value) is (kind or type(None))
