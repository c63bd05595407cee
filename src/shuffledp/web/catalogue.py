"""What the page is made of: randomizers and their parameters, views, neighbours and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .. import __version__
from .._support import validate
from ..errors import ShuffleDPError
from ..guarantee import NEIGHBOURS
from ..randomizers import REGISTRY, Randomizer
from ..randomizers.analyses import LADDER
from ..randomizers.parameter import Parameter, parameters_of
from ..records import OF_USERS
from ..rounds import KINDS_OF_SAMPLES
from ..tools.choose import TASKS
from ..tools.protocol import OF_REPORTS, VIEWS
from .limits import Limits
from .questions import questions


def catalogue(limits: Limits) -> dict[str, Any]:
    """All of it, as JSON says it."""
    return {
        "version": __version__,
        "views": list(VIEWS),
        "neighbours": {name: list(words) for name, words in NEIGHBOURS.items()},
        "sampling": list(KINDS_OF_SAMPLES),
        "analyses": list(reversed(LADDER)),
        "tasks": TASKS,
        "randomizers": [_randomizer(kind) for kind in REGISTRY.values()],
        "reports": [_parameter(name, each, {}, {}) for name, each in OF_REPORTS.items()],
        "users": {"least": 1, "most": validate.MAX_USERS},
        "rounds": {"least": 1, "most": validate.MAX_ROUNDS},
        "questions": [
            {"name": name, "formats": list(each.formats), "fields": list(each.fields)}
            for name, each in questions().items()
        ],
        "limits": {"seconds": limits.seconds, "body": limits.body},
    }


def _randomizer(kind: type[Randomizer]) -> dict[str, Any]:
    made = kind(**kind.example)
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    return {
        "name": kind.name,
        "class": kind.__name__,
        "meaning": " ".join((kind.__doc__ or "").partition("\n\n")[0].split()),
        "task": kind.task,
        "views": [view for view in OF_USERS if view != "aggregate" or _summed(made)],
        "analyses": list(made.analyses),
        "parameters": [
            _parameter(name, each, kind.example, defaults)
            for name, each in parameters_of(kind).items()
        ],
    }


def _summed(made: Randomizer) -> bool:
    """Is anything known of sums of its messages?"""
    try:
        return made.sum_law() is not None
    except ShuffleDPError:
        return False


def _parameter(
    name: str, parameter: Parameter, example: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    file, default = parameter.read is not None, defaults.get(name)
    return {
        "name": name,
        "meaning": parameter.meaning,
        "least": None if file else parameter.least,
        "most": None if file else parameter.most,
        "shuffled": parameter.shuffled,
        "whole": parameter.whole,
        "needed": bool(parameter.needed),
        "default": default if isinstance(default, (int, float)) else None,
        "example": None if file else example.get(name),
        "file": file,
    }
