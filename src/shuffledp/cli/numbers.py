"""Numbers and lists of numbers on the command line."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import click

from .._support.validate import show

_MOST = 10_000
#: 2,000,000 and the like, and units after a number.
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_UNITS = {"%": -2, "k": 3, "M": 6, "G": 9}


def _decimal(text: str) -> Decimal:
    """What a number that was written in one of the usual ways is; else not a number."""
    text = text.strip()
    power = _UNITS.get(text[-1:], 0)
    digits = text[:-1].rstrip() if power else text
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    try:
        return Decimal(digits).scaleb(power) if power else Decimal(digits)
    except ArithmeticError:
        return Decimal("nan")


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite decimal number, whole if asked for: 10000, 1e4, 10_000, 10,000 and 10k are the same,
    and so are 0.2 and 20%."""

    def __init__(self, whole: bool = False, share: bool = False) -> None:
        self.name = "count" if whole else "number"
        self._whole = whole
        self._share = share  # or a whole number: 1 is one user, 100% would be all

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = _decimal(str(value))
        if not number.is_finite():
            how = "write it like 10000, 1e-6, 2M or 20%."
            self.fail(f"{show(value)} is not a finite number; {how}", param, ctx)
        if number and not 1e-323 < abs(float(number)) < math.inf:
            how = "beyond the range of a float (1e-308 to 1e308); give one within it."
            self.fail(f"{show(value)} is {how}", param, ctx)
        if self._share and number >= 1:
            if str(value).rstrip().endswith("%"):
                how = "give less, or a number of users."
                self.fail(f"{show(value)} is all users or more; {how}", param, ctx)
            return float(number) if "." in str(value) else int(number)
        if not self._whole:
            return float(number)
        if number != number.to_integral_value() or str(value).rstrip().endswith("%"):
            self.fail(f"{show(value)} is not whole; give a whole number >= 1.", param, ctx)
        return int(number)


class Numbers(Number):
    """Numbers with commas, or start:stop:step, the end included: 1:6:0.5 are 1, 1.5, ..., 6."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, list):
            return value
        found: list[float] = []
        if _GROUPED.fullmatch(str(value)) and ",0" in value:  # nobody lists numbers like 000 or 050
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
        start, stop, step = map(_decimal, pieces)
        if not step > 0 or not start <= stop or (stop - start) / step > _MOST:
            self.fail(
                f"{show(part)} is empty or has more than {_MOST:,} values; give start <= stop and "
                "a positive step.",
                param,
                ctx,
            )
        count = int((stop - start) / step) + 1
        return [self._one(str(start + i * step), param, ctx) for i in range(count)]
