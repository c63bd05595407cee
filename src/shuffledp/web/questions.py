"""What may be asked: every command that prints JSON, with those of its options that are safe.

An option is a field of the same name, and each command has a pydantic model of its fields. Options
that write files, run code or draw are no fields: only numbers, choices, known words, and files that
are read, whose texts come with the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import click
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic import create_model as new_model

from .._support.text import known_instead
from .._support.validate import show
from ..cli.app import cli
from ..cli.values import Number, Numbers
from ..errors import InvalidParameter
from ..randomizers.analyses import LADDER
from ..randomizers.base import named_randomizers
from ..tools.protocol import WORD_OPTIONS, texts
from .answers import in_fields

#: Options of any text that do nothing but say something.
_TEXTS = (
    *("randomizer", "date", "at", *WORD_OPTIONS),
    *("document_title", "owner", "purpose", "document_version", "signature"),
)
#: How answers may look beside JSON, by the names of the options that ask for it.
_FORMATS = ("csv", "markdown", "html", "latex", "bibtex")
#: What a question is always told: no worker has workers of its own.
_ALWAYS = {"jobs": "1"}


#: What help texts say of the shell alone.
_EXIT_CODES = re.compile(r"; exit code[^.]*|\s*The exit code[^.]*\.")


class WrittenNumber(str):
    """A number of JSON as it was written: what it means is for the command line to say."""


def _refuse_number(text: Any) -> Any:
    if isinstance(text, WrittenNumber):
        raise ValueError("a number is not a text")
    return text


class AnyQuestion(BaseModel):
    """What every question may say beside the options of its command."""

    model_config = ConfigDict(extra="forbid")

    files: dict[str, Annotated[str, BeforeValidator(_refuse_number)]] = Field(
        {}, description="Texts of the files that fields name."
    )


@dataclass(frozen=True)
class CommandQuestion:
    """A command, as one may ask it: `model` has its fields, `lists` those that take several values,
    of which `repeated` are an option for each value, `files` those that name files, and
    `positional` those that are no options."""

    name: str
    help: str
    model: type[BaseModel]
    formats: Sequence[str]
    fixed: Sequence[str]
    lists: Sequence[str]
    repeated: Sequence[str]
    files: Sequence[str]
    positional: Sequence[str]

    def from_query(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The fields of an address, of which only lists may be repeated."""
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found and name not in self.lists:
                raise InvalidParameter(f"{name} is given more than once; give it once.")
            found[name] = [*found[name], value] if name in found else [value]
        return {name: each if name in self.lists else each[0] for name, each in found.items()}

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse what is no question, in one sentence. Fields that are missing are left to the
        command, which knows what the randomizer and the view need, too."""
        try:
            self.model.model_validate(given)
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                if problem["type"] != "missing":
                    sentence = self._sentence(str(problem["loc"][0]), problem)
                    raise InvalidParameter(sentence) from None

    def _sentence(self, name: str, problem: Mapping[str, Any]) -> str:
        if problem["type"] == "extra_forbidden":
            instead = known_instead(name, list(self.model.model_fields))
            return f"{self.name} has no field {show(name)}; {instead}"
        if name == "format":
            return (
                f"format={show(problem['input'])} is unknown; choose {' or '.join(self.formats)}."
            )
        if name == "files":
            return 'files is not an object of texts; write {"plan.toml": "..."}.'
        lists = ", or a list of them" if name in self.lists else ""
        return f"{name} is not a number or a text; give one{lists}."

    def arguments(self, given: Mapping[str, Any]) -> list[str]:
        """The words of the command line that ask this."""
        given = {name: value for name, value in given.items() if value is not None}
        self.check(given)
        format, files = given.pop("format", "json"), given.pop("files", {})
        options, positional = [], []
        for name, value in given.items():
            values = value if isinstance(value, list) else [value]
            for text in values if name in self.repeated else [",".join(values)]:
                if name in self.files and any(part not in files for part in text.split(",")):
                    raise InvalidParameter(
                        f"{name}={text!r} is not among the files of the question; add it to them."
                    )
                if name in self.positional:
                    positional.append(text)
                else:
                    options.append(f"--{name.replace('_', '-')}={text}")
        asked = {"json": ["--json"], "page": ["--json"], "text": []}.get(format, [f"--{format}"])
        return [self.name, *options, *self.fixed, *asked, "--", *positional]


@cache
def questions() -> Mapping[str, CommandQuestion]:
    """All of them, by the names of the commands."""
    found = {}
    for name, command in cli.commands.items():
        parameters = {field_name(each): each for each in command.params}
        if "json" not in parameters:
            continue
        kinds = {each: kind for each, option in parameters.items() if (kind := _kind(option))}
        formats = ["json", "page", "text", *(word for word in _FORMATS if word in parameters)]
        fields = {each: _field(kind, parameters[each]) for each, kind in kinds.items()}
        choice: Any = Literal[tuple(formats)]
        fields["format"] = (choice, Field("json", description="How the answer is written."))
        found[name] = CommandQuestion(
            name,
            help=_EXIT_CODES.sub("", (command.help or "").partition("\b")[0]).strip(),
            model=new_model(name, __base__=AnyQuestion, **fields),
            formats=formats,
            fixed=[f"--{each}={value}" for each, value in _ALWAYS.items() if each in parameters],
            lists=[each for each, kind in kinds.items() if "array" in kind["type"]],
            repeated=[each for each in kinds if getattr(parameters[each], "multiple", False)],
            files=[each for each, kind in kinds.items() if kind.get("format") == "file"],
            positional=[each for each in kinds if isinstance(parameters[each], click.Argument)],
        )
    return found


def field_name(parameter: click.Parameter) -> str:
    """As in the shell, with _ for -; click's own may be another."""
    longest = max(parameter.opts, key=len)
    return longest.removeprefix("--").replace("-", "_")


def _kind(parameter: click.Parameter) -> dict[str, Any] | None:
    """The JSON Schema of the field of an option; None for an option that is not for others."""
    name, kind = field_name(parameter), parameter.type
    if not parameter.expose_value:  # how a picture looks
        return None
    if isinstance(kind, Number):
        one = ["integer" if kind.name == "count" else "number", "string"]
        several = {"type": [*one, "array"], "items": {"type": one}}
        return several if isinstance(kind, Numbers) else {"type": one}
    if isinstance(kind, click.Choice):
        return {"type": ["string"], "enum": [*map(str, kind.choices)]}
    if isinstance(kind, click.Path) and kind.allow_dash:  # it is read; others are written
        return {"type": ["string"], "format": "file"}
    if isinstance(kind, type(click.STRING)) and name in (*_TEXTS, *texts()):
        words = {"randomizer": [*named_randomizers()], "analysis": [*LADDER]}.get(name)
        examples = {"examples": words} if words else {}
        is_list = parameter.metavar == "LIST" or getattr(parameter, "multiple", False)
        listed = {"items": {"type": "string"}} if is_list else {}
        return {"type": ["string", *(["array"] if listed else [])], **examples, **listed}
    return None


def _field(kind: dict[str, Any], parameter: click.Parameter) -> Any:
    """The type of a field of a model, and what is said of it."""
    text = str | list[str] if "array" in kind["type"] else str
    said = getattr(parameter, "help", None) or parameter.metavar or ""
    about: dict[str, Any] = {"description": in_fields(said)}
    if not parameter.required:  # a factory is not written into the schema, where null is no text
        known = isinstance(parameter.default, (str, int, float))
        about |= {"default": str(parameter.default)} if known else {"default_factory": lambda: None}
    return Annotated[text, WithJsonSchema(kind)], Field(**about)
