"""Writes the JSON Schema of every report and document from the types of its parts: `make schemas`.

pydantic would do the same, but wants the TypedDict of typing_extensions on Python 3.11, which the
package does not depend on, and its releases word schemas differently.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_object

from shuffledp import records
from shuffledp._support import json_types
from shuffledp._support.json_types import SCHEMA_VERSION, Head, RoundReport
from shuffledp.cli.app import command_module
from shuffledp.clients import described, specification

SCHEMAS = Path(__file__).resolve().parents[1] / "src" / "shuffledp" / "schemas"
#: Commands whose report is about one round, and all that print reports.
OF_ONE_ROUND = (
    *("epsilon", "delta", "risk", "adversaries", "compare", "calibrate", "verify", "simulate"),
)
COMMANDS = (*OF_ONE_ROUND, "choose", "account", "sweep", "client", "audit")
#: Documents of other commands and functions: what they are, their type, and the modules of types.
DOCUMENTS: Mapping[str, tuple[str, Any, Sequence[Any]]] = {
    "client-specification": (
        "A client as data: what shuffledp client writes, and what clients in any language execute",
        specification.ClientDocument,
        (described, specification),
    ),
    "saved-account": ("What Accountant.save writes", records.SavedAccount, (records,)),
}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PRIMITIVES = {float: "number", int: "integer", str: "string", bool: "boolean", NoneType: "null"}


class Generator:
    """Schemas of types; those of objects are collected by name in `defs`."""

    def __init__(self, *modules: Any) -> None:
        trees = [ast.parse(inspect.getsource(module)) for module in modules]
        classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
        self._classes = {node.name: node for node in classes}
        self.defs: dict[str, Any] = {}

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type."""
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            base, *keywords = parts
            return {**self.schema(base), **{key: x for each in keywords for key, x in each.items()}}
        if origin is Literal:
            return {"const": parts[0]} if len(parts) == 1 else {"enum": [*parts]}
        if origin in (Union, UnionType):
            return {"anyOf": [self.schema(part) for part in parts]}
        if origin is Sequence:
            return {"type": "array", "items": self.schema(parts[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.schema(parts[1])}
        if is_object(kind):
            self.defs.setdefault(kind.__name__, {}).update(self.properties(kind))
            return {"$ref": f"#/$defs/{kind.__name__}"}
        return {} if kind is Any else {"type": _PRIMITIVES[kind]}

    def properties(self, *kinds: type[Any]) -> dict[str, Any]:
        """Return the schema of an object that has the fields of all these types."""
        found: dict[str, Any] = {}
        required = []
        for kind in kinds:
            meanings = self._meanings(kind.__name__)
            for name, hint in get_type_hints(kind, include_extras=True).items():
                if get_origin(hint) is NotRequired:
                    (hint,) = get_args(hint)
                else:
                    required.append(name)
                said = {"description": meanings[name]} if name in meanings else {}
                found[name] = {**said, **self.schema(hint)}
        about = " ".join(str(inspect.getdoc(kinds[0])).split())
        named = {"properties": found, "required": required, "additionalProperties": False}
        return {"description": about, "type": "object", **named}

    def _meanings(self, name: str) -> dict[str, str]:
        """Return the docstrings of the fields of a class and its bases."""
        node = self._classes[name]
        found: dict[str, str] = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self._classes:
                found |= self._meanings(base.id)
        for field, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                found[ast.unparse(field.target)] = " ".join(ast.literal_eval(after.value).split())
        return found


def generated(name: str) -> dict[str, Any]:
    """Return the schema of a document, or of the report of a command."""
    return _of_document(name) if name in DOCUMENTS else _of_report(name)


def _of_document(name: str) -> dict[str, Any]:
    title, kind, modules = DOCUMENTS[name]
    generator = Generator(json_types, *modules)
    whole = generator.properties(kind)
    head = {"$schema": _DRAFT, "$id": f"urn:shuffledp:1:{name}", "title": title}
    return {**head, **whole, "$defs": generator.defs}


def _of_report(name: str) -> dict[str, Any]:
    """Return the schema of a report: an answer, or a failure."""
    module = importlib.import_module(command_module(name))
    generator = Generator(json_types, module)
    answer = getattr(module, f"{name.capitalize()}Answer")
    about = (RoundReport,) if name in OF_ONE_ROUND else ()
    whole = generator.properties(answer, Head, *about)
    whole["properties"]["query"] = {"const": name}
    failure = generator.properties(Head) | {"description": "A report without an answer."}
    failure["properties"]["error"] = {"$ref": "#/$defs/ErrorReport"}
    return {
        "$schema": _DRAFT,
        "$id": f"urn:shuffledp:{SCHEMA_VERSION}:{name}",
        "title": f"shuffledp {name} --json",
        "anyOf": [whole, {"$ref": "#/$defs/Failure"}],
        "$defs": {"Failure": failure, **generator.defs},
    }


if __name__ == "__main__":
    for each in (*COMMANDS, *DOCUMENTS):
        text = json.dumps(generated(each), indent=1)
        (SCHEMAS / f"{each}.json").write_text(f"{text}\n", encoding="utf-8")
