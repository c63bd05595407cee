"""Numbers and lists of numbers on the command line."""

from __future__ import annotations

from typing import Any

import click

from .._support.validate import show
from .._support.written import GROUPED, decimal_of, written_number
from ..errors import InvalidParameter

_MOST = 10_000


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite decimal number, whole if asked for, as `written_number` reads it."""

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
