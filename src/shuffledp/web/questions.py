"""What may be asked: every command that prints JSON, with those of its options that are safe.

An option is a field of the same name. Those that write files, run code or draw are no fields: only
numbers, choices, known words, and files that are read, whose texts come with the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import click

from ..cli.app import cli
from ..cli.options import Number, Numbers
from ..errors import InvalidParameter
from ..randomizers.analyses import LADDER
from ..randomizers.base import named_randomizers
from ..tools.protocol import WORD_OPTIONS, texts

#: Options of any text that do nothing but say something.
_TEXTS = ("randomizer", "date", "at", *WORD_OPTIONS)
#: How answers may look beside JSON, by the names of the options that ask for it.
_FORMATS = ("csv", "markdown", "html", "latex", "bibtex")
#: What a question is always told: no worker has workers of its own.
_ALWAYS = {"jobs": "1"}


@dataclass(frozen=True)
class Field:
    """One thing that a question says."""

    name: str  # as in the shell, with _ for -
    kind: str  # "number", "count", "numbers", "counts", "word" or "file"
    meaning: str
    needed: bool
    default: str | None
    words: Sequence[str] = ()
    positional: bool = False

    @property
    def is_list(self) -> bool:
        """Does it take several numbers?"""
        return self.kind in ("numbers", "counts")

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class CommandQuestion:
    """A command, as one may ask it."""

    name: str
    help: str
    fields: Mapping[str, Field]
    formats: Sequence[str]
    fixed: Sequence[str]

    def from_query(self, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
        """The fields of an address, of which only lists of numbers may be repeated."""
        found: dict[str, str] = {}
        for name, value in pairs:
            if name in found and (name not in self.fields or not self.fields[name].is_list):
                raise InvalidParameter(f"{name} is given more than once; give it once.")
            found[name] = f"{found[name]},{value}" if name in found else value
        return found

    def arguments(
        self, given: Mapping[str, Any], format: str, files: Mapping[str, Any]
    ) -> list[str]:
        """The words of the command line that ask this."""
        if format not in self.formats:
            raise InvalidParameter(
                f"format={format} is unknown; choose {' or '.join(self.formats)}."
            )
        options, positional = [], []
        for name, value in given.items():
            if name not in self.fields:
                known = ", ".join(self.fields)
                raise InvalidParameter(
                    f"{self.name} has no field {name!r}; the known ones are {known}."
                )
            field = self.fields[name]
            if value is None:
                continue
            text = _text(field, value)
            if field.kind == "file" and any(part not in files for part in text.split(",")):
                raise InvalidParameter(
                    f"{name}={text!r} is not among the files of the question; add it to them."
                )
            if field.positional:
                positional.append(text)
            else:
                options.append(f"{field.option}={text}")
        asked = {"json": ["--json"], "page": ["--json"], "text": []}.get(format, [f"--{format}"])
        return [self.name, *options, *self.fixed, *asked, "--", *positional]


def _text(field: Field, value: Any) -> str:
    """A value as a word of a command line; several of them with commas."""
    several = field.is_list or field.words
    if isinstance(value, list) and several and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if not isinstance(value, str):
        lists = ", or a list of them" if several else ""
        raise InvalidParameter(f"{field.name} is not a number or a text; give one{lists}.")
    return value


@cache
def questions() -> Mapping[str, CommandQuestion]:
    """All of them, by the names of the commands."""
    found = {}
    for name, command in cli.commands.items():
        names = {_name(parameter) for parameter in command.params}
        if "json" in names:
            fields = [field for each in command.params if (field := _field(each)) is not None]
            formats = ["json", "page", "text", *(word for word in _FORMATS if word in names)]
            fixed = [f"--{option}={value}" for option, value in _ALWAYS.items() if option in names]
            about = (command.help or "").partition("\b")[0].strip()
            by_name = {field.name: field for field in fields}
            found[name] = CommandQuestion(name, about, by_name, formats, fixed)
    return found


def _name(parameter: click.Parameter) -> str:
    """As in the shell, with _ for -; click's own may be another."""
    longest = max(parameter.opts, key=len)
    return longest.removeprefix("--").replace("-", "_")


def _field(parameter: click.Parameter) -> Field | None:
    """None for an option that is not for others."""
    name, kind = _name(parameter), parameter.type
    words: Sequence[str] = ()
    if not parameter.expose_value:  # how a picture looks
        return None
    if isinstance(kind, Number):
        is_a = f"{kind.name}s" if isinstance(kind, Numbers) else kind.name
    elif isinstance(kind, click.Choice):
        is_a, words = "word", tuple(map(str, kind.choices))
    elif isinstance(kind, click.Path) and kind.allow_dash:  # it is read; others are written
        is_a = "file"
    elif isinstance(kind, type(click.STRING)) and name in (*_TEXTS, *texts()):
        is_a, words = (
            "word",
            {"randomizer": tuple(named_randomizers()), "analysis": LADDER}.get(name, ()),
        )
    else:
        return None
    default = parameter.default
    return Field(
        name=name,
        kind=is_a,
        meaning=getattr(parameter, "help", None) or "",
        needed=parameter.required,
        default=str(default) if isinstance(default, (str, int, float)) else None,
        words=words,
        positional=isinstance(parameter, click.Argument),
    )
