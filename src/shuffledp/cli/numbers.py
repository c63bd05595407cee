"""Numbers and lists of numbers on the command line."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

import click

_MOST = 10_000


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite decimal number, whole if asked for: 10000, 1e4 and 10_000 are the same."""

    def __init__(self, whole: bool = False) -> None:
        self.name = "count" if whole else "number"
        self._whole = whole

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite():
            self.fail(f"{value!r} is not a finite number; write it like 10000 or 1e-6.", param, ctx)
        if number and not 1e-323 < abs(float(number)) < math.inf:
            self.fail(f"{value!r} is beyond the range of a float (1e-308 to 1e308).", param, ctx)
        if not self._whole:
            return float(number)
        if number != number.to_integral_value():
            self.fail(f"{value!r} is not whole; give a whole number >= 1.", param, ctx)
        return int(number)


class Numbers(Number):
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
