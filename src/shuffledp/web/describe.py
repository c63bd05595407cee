"""What may be asked: for programs (FastAPI's OpenAPI document), for people (a page without scripts,
since FastAPI's own loads them from elsewhere), and for the page (randomizers, views, neighbours).

FastAPI cannot read the bodies by itself: numbers are taken as they are written, so that 10.000 is
no count, and repeated keys and large or slow bodies are refused. The models of `questions` make
the schemas all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from html import escape
from importlib import resources
from string import Template
from typing import Any

from .._support.tables import html_table
from ..errors import ShuffleDPError
from ..guarantee import NEIGHBOURS
from ..randomizers import Randomizer
from ..randomizers.analyses import LADDER
from ..randomizers.base import named_randomizers
from ..randomizers.parameter import Parameter, parameters_of
from ..records import OTHER_ROUNDS, USER_ROUNDS
from ..rounds import KINDS_OF_SAMPLES, PEOPLE_DEFAULTS
from ..tools.choose import TASKS
from ..tools.protocol import VIEW_PARAMETERS, VIEWS
from .questions import CommandQuestion, questions


def catalogue() -> dict[str, Any]:
    """What the page shows: randomizers with their parameters, views, words to choose from."""
    return {
        "views": list(VIEWS),
        "neighbours": {name: list(words) for name, words in NEIGHBOURS.items()},
        "sampling": list(KINDS_OF_SAMPLES),
        "analyses": list(reversed(LADDER)),
        "tasks": TASKS,
        "randomizers": [_randomizer(kind) for kind in named_randomizers().values()],
        "reports": {view: _reports(view) for view in OTHER_ROUNDS},
    }


def _reports(view: str) -> dict[str, Any]:
    """A view without a randomizer of the users: its parameters, and other options that it has."""
    # where removal is the only relation, there is nothing to choose
    known = {field.name for field in fields(OTHER_ROUNDS[view]) if field.default != "remove"}  # type: ignore[arg-type]
    parameters = VIEW_PARAMETERS[view].items()
    return {
        "parameters": [_parameter(name, each, {}) for name, each in parameters],
        "options": [name for name in (*PEOPLE_DEFAULTS, "neighbours") if name in known],
    }


def _randomizer(kind: type[Randomizer]) -> dict[str, Any]:
    made = kind(**kind.example)
    return {
        "name": kind.name,
        "meaning": " ".join((kind.__doc__ or "").partition("\n\n")[0].split()),
        "task": kind.task,
        "views": [view for view in USER_ROUNDS if _is_known(made, view)],
        "analyses": [] if made.is_summed else list(made.analyses),
        "specified": _specified(made),
        "parameters": [
            _parameter(name, each, kind.example) for name, each in parameters_of(kind).items()
        ],
    }


def _is_known(made: Randomizer, view: str) -> bool:
    """Is anything known of its shuffled messages, or of sums of them?"""
    if view != "aggregate":
        return not made.is_summed
    try:
        return made.sum_law() is not None
    except ShuffleDPError:
        return False


def _specified(made: Randomizer) -> bool:
    """Is its client a program for devices in any language?"""
    try:
        made.client.program()
    except ShuffleDPError:
        return False
    return True


def _parameter(name: str, parameter: Parameter, example: Mapping[str, Any]) -> dict[str, Any]:
    file = parameter.read is not None
    is_number = not (file or parameter.text)
    return {
        "name": name,
        "meaning": parameter.meaning,
        "least": parameter.least if is_number else None,
        "most": parameter.most if is_number else None,
        "shuffled": parameter.shuffled,
        "summed": parameter.summed,
        "whole": parameter.whole,
        "needed": bool(parameter.needed),
        "example": None if file else example.get(name),
        "file": file,
        "text": parameter.text,
    }


ABOUT = (
    "Every route is a command of the shell and every field one of its options; the answer is what "
    "the command prints with --json. Numbers may be given as JSON numbers or as texts like 1e6, 2M "
    "and 20%. No field may be given twice, but for lists in an address. Files are never "
    "read from the server: give their texts as files, by name."
)
_ERROR = {"schema": {"$ref": "/api/schemas/epsilon.json#/$defs/Failure"}}
_STATUS = {
    408: "The body took too long.",
    409: "The question was cancelled.",
    413: "The body is too large.",
    422: "Bad input: one sentence.",
    503: "Too many questions at once.",
    504: "The answer takes too long.",
}


def operation(question: CommandQuestion, method: str) -> dict[str, Any]:
    """What FastAPI is to say of a question, as arguments of `add_api_route`."""
    schema = question.model.model_json_schema()
    required = schema.get("required", ())
    parameters = [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        for name, each in schema["properties"].items()
        if name != "files"
    ]
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    answer = {"schema": {"$ref": f"/api/schemas/{question.name}.json"}}
    responses = {200: {"description": "The report.", "content": {"application/json": answer}}}
    for status, text in _STATUS.items():
        responses[status] = {"description": text, "content": {"application/json": _ERROR}}
    return {
        "methods": [method],
        "operation_id": f"get_{question.name}" if method == "GET" else question.name,
        "summary": question.help.splitlines()[0],
        "responses": responses,
        "openapi_extra": {"parameters": parameters} if method == "GET" else {"requestBody": body},
    }


def api_page(host: str) -> str:
    """All routes and their fields, to be read; examples ask this host."""
    template = resources.files(__package__).joinpath("api.html").read_text("utf-8")
    return Template(template).substitute(
        about=escape(ABOUT),
        host=escape(host),
        links=" ".join(f'<a href="#{name}">{name}</a>' for name in questions()),
        sections="\n".join(map(_section, questions().values())),
    )


def _section(question: CommandQuestion) -> str:
    schema = question.model.model_json_schema()
    needed = dict.fromkeys(schema.get("required", ()), "needed")
    rows = [
        (
            name,
            ", ".join(each["type"]),
            needed.get(name, each.get("default", "")),
            each["description"],
        )
        for name, each in schema["properties"].items()
        if name not in ("files", "format")
    ]
    table = html_table("", ("field", "is", "default", "meaning"), rows, named_by=0)
    formats = ", ".join(f"<code>{name}</code>" for name in question.formats)
    return (
        f'<section id="{question.name}"><h2>/api/{question.name}</h2>'
        f"<p>{escape(question.help)}</p><p>format: {formats}</p>"
        f'<div class="wide">{table}</div></section>'
    )
