"""The API for programs (OpenAPI) and for people (a page without scripts), from the questions."""

from __future__ import annotations

from html import escape
from typing import Any

from .. import __version__
from .questions import CommandQuestion, Field, questions

_ABOUT = (
    "Every route is a command of the shell and every field one of its options; the answer is what "
    "the command prints with --json. Numbers may be given as JSON numbers or as texts like 1e6, 2M "
    "and 20%. No field may be given twice, but for lists of numbers in an address. Files are never "
    "read from the server: give their texts as files, by name."
)
_FILES = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "Texts of the files that fields name.",
}
_TYPES: dict[str, dict[str, Any]] = {
    "number": {"type": ["number", "string"]},
    "count": {"type": ["integer", "string"]},
    "numbers": {"type": ["number", "string", "array"], "items": {"type": ["number", "string"]}},
    "counts": {"type": ["integer", "string", "array"], "items": {"type": ["integer", "string"]}},
    "word": {"type": "string"},
    "file": {"type": "string"},
}
_ERROR = {"$ref": "/api/schemas/common.json#/$defs/failure"}
_STATUS = {
    "408": "The body took too long.",
    "409": "The question was cancelled.",
    "413": "The body is too large.",
    "422": "Bad input: one sentence.",
    "503": "Too many questions at once.",
    "504": "The answer takes too long.",
}


def openapi() -> dict[str, Any]:
    """The document that describes all routes."""
    paths = {f"/api/{name}": _operations(each) for name, each in questions().items()}
    named = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    done, over = {"description": "Done."}, {"description": "It is over, or never was."}
    paths["/api/questions/{name}"] = {
        "parameters": [named],
        "get": {
            "summary": "How far the question with this x-question-id is; null if it is over.",
            "responses": {"200": done},
        },
        "delete": {
            "summary": "Cancel it: its process is killed.",
            "responses": {"200": done, "404": over},
        },
    }
    about = {"title": "shuffledp", "version": __version__, "description": _ABOUT}
    return {"openapi": "3.1.0", "info": about, "paths": paths}


def _operations(question: CommandQuestion) -> dict[str, Any]:
    needed = [field.name for field in question.fields.values() if field.needed]
    properties = {name: _schema(field) for name, field in question.fields.items()}
    properties["format"] = {"enum": list(question.formats), "default": "json"}
    body = {
        "type": "object",
        "properties": {**properties, "files": _FILES},
        "required": needed,
        "additionalProperties": False,
    }
    answer = {"$ref": f"/api/schemas/{question.name}.json"}
    responses: dict[str, Any] = {
        "200": {"description": "The report.", "content": {"application/json": {"schema": answer}}}
    }
    for status, text in _STATUS.items():
        refusal = {"application/json": {"schema": _ERROR}}
        responses[status] = {"description": text, "content": refusal}
    said: dict[str, Any] = {"summary": question.help.splitlines()[0], "responses": responses}
    query = [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in properties.items()
    ]
    content = {"application/json": {"schema": body}}
    named = {"name": "x-question-id", "in": "header", "schema": {"type": "string"}}
    return {
        "get": {**said, "operationId": f"get_{question.name}", "parameters": [*query, named]},
        "post": {
            **said,
            "operationId": question.name,
            "parameters": [named],
            "requestBody": {"required": True, "content": content},
        },
    }


def _schema(field: Field) -> dict[str, Any]:
    more: dict[str, Any] = {"description": field.meaning}
    if field.words:
        more["examples"] = list(field.words)
    if field.default is not None:
        more["default"] = field.default
    return {**_TYPES[field.kind], **more}


def api_page() -> str:
    """All routes and their fields, to be read."""
    sections = "".join(_section(question) for question in questions().values())
    links = "".join(f'<a href="#{name}">{name}</a> ' for name in questions())
    example = "curl 'http://127.0.0.1:8765/api/epsilon?eps0=4&users=10000&delta=1e-6'"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>shuffledp: the API'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/style.css"><link rel="icon" href="/icon.svg"></head>'
        f'<body class="api"><header class="top"><a class="brand" href="/">shuffledp</a></header>'
        f"<main><h1>The API</h1><p>{escape(_ABOUT)}</p><pre>{escape(example)}</pre>"
        f'<p>For programs: <a href="/openapi.json">openapi.json</a>. Routes: {links}</p>'
        f"{sections}</main></body></html>\n"
    )


def _section(question: CommandQuestion) -> str:
    rows = []
    for field in question.fields.values():
        need = "needed" if field.needed else "" if field.default is None else f"{field.default}"
        cells = (f"<code>{field.name}</code>", field.kind, escape(need), escape(field.meaning))
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f'<th scope="col">{name}</th>' for name in ("field", "is", "default", "meaning"))
    formats = ", ".join(f"<code>{name}</code>" for name in question.formats)
    return (
        f'<section id="{question.name}"><h2>/api/{question.name}</h2>'
        f"<p>{escape(question.help)}</p><p>format: {formats}</p>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}'
        "</tbody></table></div></section>"
    )
