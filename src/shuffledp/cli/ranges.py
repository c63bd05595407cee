"""Lists of numbers on the command line."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import click

from ..tools.options import Number

_MOST = 10_000


class Range(Number):
    """Numbers with commas, or start:stop:step, the end included: 1:6:0.5 are 1, 1.5, ..., 6."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, list):
            return value
        found: list[float] = []
        for part in str(value).split(","):
            found += self._steps(part, param, ctx) if ":" in part else [self._one(part, param, ctx)]
        return found

    def _one(self, part: str, param: Any, ctx: Any) -> Any:
        return super().convert(part.strip(), param, ctx)

    def _steps(self, part: str, param: Any, ctx: Any) -> list[Any]:
        pieces = part.split(":")
        if len(pieces) != 3:
            self.fail(f"{part!r} is not a range; write start:stop:step, like 1:6:0.5.", param, ctx)
        for piece in pieces:
            self._one(piece, param, ctx)
        start, stop, step = (Decimal(piece.strip()) for piece in pieces)
        if not step > 0 or not start <= stop or (stop - start) / step > _MOST:
            self.fail(
                f"{part!r} is empty or has more than {_MOST:,} values; give start <= stop and a "
                "positive step.",
                param,
                ctx,
            )
        count = int((stop - start) / step) + 1
        return [self._one(str(start + i * step), param, ctx) for i in range(count)]


def ranges(*names: str, whole: bool = False, **extra: Any) -> list[Any]:
    """Options that take lists of numbers."""
    kind = Range(whole)
    return [click.option(f"--{name}", type=kind, metavar="LIST", **extra) for name in names]
