"""Numbers for people, upper values rounded up, lower ones down; and for JSON."""

from __future__ import annotations

import json
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any


def rounded_up(value: float, digits: int = 4) -> str:
    """Decimal text with `digits` significant digits, not below the exact value of the float.

    Rounding to the nearest could fall below what was certified.

    >>> from shuffledp import PureLDP, Shuffle, rounded_up
    >>> rounded_up(Shuffle(PureLDP(eps0=4.0), users=10_000).get_epsilon(1e-6))
    '0.4109'
    """
    return _text(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 4) -> str:
    """Decimal text with `digits` significant digits, not above the exact value of the float."""
    return _text(value, digits, ROUND_FLOOR)


def _text(value: float, digits: int, rounding: str) -> str:
    if value == 0 or value == float("inf"):
        return "0" if value == 0 else "infinity"
    number = Decimal(value).normalize(Context(prec=digits, rounding=rounding))
    if -5 <= number.adjusted() < 9:
        return format(number, "f")
    return format(number, "e").replace("e+", "e")


def plain(value: float) -> str:
    """A number that was given, in full: 1e-06, 0.25, and 1 for 1.0."""
    return repr(value).removesuffix(".0")


def json_text(value: Any, **how: Any) -> str:
    """As JSON, which has no infinity: it becomes the text "Infinity", which `float` understands in
    most languages, while null is for what is missing. Arrays become lists.

    >>> json_text({"upper": [0.5, math.inf], "beyond": None})
    '{"upper": [0.5, "Infinity"], "beyond": null}'
    """
    return json.dumps(_finite(value), **how)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
