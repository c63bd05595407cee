"""Kinds of values of options: numbers as they are written, lists of them, files and groups."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, ClassVar

import click

from .._support.validate import show
from .._support.written import GROUPED, decimal_of, written_number
from ..errors import InvalidParameter
from ..tools.protocol import SHARE_OPTIONS, counts, files

_MOST = 10_000


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite decimal number, whole if asked for, as `written_number` reads it."""

    metavar: ClassVar[str | None] = None

    def __init__(self, whole: bool = False, share: bool = False) -> None:
        self.name = "count" if whole else "number"
        self._how = {"whole": whole, "share": share}

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return written_number(str(value), **self._how)
        except InvalidParameter as error:
            self.fail(str(error), param, ctx)


class Numbers(Number):
    """Numbers with commas, or start:stop:step, the end included: 1:6:0.5 are 1, 1.5, ..., 6."""

    metavar = "LIST"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, list):
            return value
        found: list[float] = []
        if GROUPED.fullmatch(str(value)) and ",0" in value:  # nobody lists numbers like 000 or 050
            how = f"write {value.replace(',', '_')} for one number."
            self.fail(f"{show(value)} is a list, with commas between numbers; {how}", param, ctx)
        for part in str(value).split(","):
            found += self._steps(part, param, ctx) if ":" in part else [self._one(part, param, ctx)]
        return found

    def _one(self, part: str, param: Any, ctx: Any) -> Any:
        return super().convert(part.strip(), param, ctx)

    def _steps(self, part: str, param: Any, ctx: Any) -> list[Any]:
        pieces = part.split(":")
        if len(pieces) != 3:
            self.fail(
                f"{show(part)} is not a range; write start:stop:step, like 1:6:0.5.", param, ctx
            )
        for piece in pieces:
            self._one(piece, param, ctx)
        start, stop, step = map(decimal_of, pieces)
        if not step > 0 or not start <= stop or (stop - start) / step > _MOST:
            self.fail(
                f"{show(part)} is empty or has more than {_MOST:,} values; give start <= stop and "
                "a positive step.",
                param,
                ctx,
            )
        count = int((stop - start) / step) + 1
        return [self._one(str(start + i * step), param, ctx) for i in range(count)]


class Contents(click.Path):
    """A file, or - for stdin: what it says."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__(allow_dash=True)
        self._read = read

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return self._read(value) if isinstance(value, str) else value


class GroupOfUsers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A group of users: words with = between a name and its value."""

    name = "group"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        found: dict[str, Any] = {}
        try:
            words = shlex.split(str(value))
        except ValueError as error:
            self.fail(f"{show(value)} has a quotation mark too few: {error}; add it.", param, ctx)
        for word in words:
            name, equals, text = word.partition("=")
            name = name.replace("-", "_")
            if not equals or not text or name in found:
                self.fail(
                    f"{show(word)} is not a name and its value, or repeats one; write it like "
                    "'name=old users=900k eps0=4'.",
                    param,
                    ctx,
                )
            found[name] = text if name in ("name", "randomizer", *files()) else self._number(
                name, text, param, ctx
            )  # fmt: skip
        return found

    def _number(self, name: str, text: str, param: Any, ctx: Any) -> float:
        try:
            return written_number(text, whole=name in counts(), share=name in SHARE_OPTIONS)
        except InvalidParameter as error:
            self.fail(f"{name}={error}", param, ctx)
