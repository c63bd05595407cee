"""Numbers as people write them: one reading for the shell, for plans and for the page."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from ..errors import InvalidParameter
from .validate import show

#: Digits in groups of three, such as 2,000,000.
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_UNITS = {"%": -2, "k": 3, "M": 6, "G": 9}
_THOUSAND = "a thousand is 1000, 1_000, 1,000, 1e3 or 1k"


def decimal_of(text: str) -> Decimal:
    """The number that a text with a unit, an exponent, grouped digits or a quotient stands for.

    The exponent of the result tells whether digits remain behind the decimal point: it is negative
    for 1.000 and 5%, and not for 1.5M and 2.5e6. The result is NaN if the text is no number.

    >>> decimal_of("1.5M"), decimal_of("1.000"), decimal_of("1/8"), decimal_of("two")
    (Decimal('1.5E+6'), Decimal('1.000'), Decimal('0.125'), Decimal('NaN'))
    """
    try:
        above, *below = map(_decimal, text.split("/"))
        if not below:
            return above
        (divisor,) = below
        return above / divisor if divisor.is_finite() else Decimal("nan")
    except (ArithmeticError, ValueError):
        return Decimal("nan")


def _decimal(text: str) -> Decimal:
    text = text.strip()
    power = _UNITS.get(text[-1:], 0)
    digits = text[:-1].rstrip() if power else text
    if GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    return Decimal(digits).scaleb(power) if power else Decimal(digits)


def written_number(text: str, *, whole: bool = False, share: bool = False) -> float:
    """The number that a text stands for: an int if it is a count, otherwise a float.

    Parameters
    ----------
    text : str
        10000, 1e4, 10_000, 10,000 and 10k are the same number, and so are 0.2, 20% and 1/5.
    whole : bool
        Read a count. A decimal point is taken only if a unit or an exponent moves it behind all
        digits, as in 1.5M or 2.5e6: 1.000 is one in some countries and a thousand in others.
    share : bool
        Read a count of users, or a share of them below 1.

    Raises
    ------
    InvalidParameter
        The sentence begins with the text; who asks says of what it is the value.

    >>> written_number("1.5M", whole=True), written_number("5%", share=True)
    (1500000, 0.05)
    >>> written_number("1.000", whole=True)
    Traceback (most recent call last):
    shuffledp.errors.InvalidParameter: '1.000' is a count with a decimal point; give one without \
(a thousand is 1000, 1_000, 1,000, 1e3 or 1k).
    """
    number, shown = decimal_of(text), show(text)
    if not number.is_finite():
        wrong = "a number" if number.is_nan() else "finite"
        raise InvalidParameter(
            f"{shown} is not {wrong}; write a number like 10000, 1e-6, 2M or 20%."
        )
    if number and not 1e-323 < abs(float(number)) < math.inf:
        raise InvalidParameter(
            f"{shown} is beyond the range of a float (1e-308 to 1e308); give one within it."
        )
    is_percent = text.rstrip().endswith("%")
    if share and is_percent and number >= 1:
        raise InvalidParameter(f"{shown} is all users or more; give less, or a number of users.")
    if not (whole or (share and number >= 1)):
        return float(number)
    if is_percent or number != number.to_integral_value():
        raise InvalidParameter(f"{shown} is not whole; give a whole number ({_THOUSAND}).")
    if int(number.as_tuple().exponent) < 0:
        less = ", or a share below 1" if share else ""
        raise InvalidParameter(
            f"{shown} is a count with a decimal point; give one without ({_THOUSAND}){less}."
        )
    return int(number)


class WrittenFloat(float):
    """A float of a TOML file that keeps its text: a count that is written as 1.000 is refused.

    >>> from shuffledp._support.written import WrittenFloat
    >>> WrittenFloat("1.000").text
    '1.000'
    """

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        made = super().__new__(cls, text)
        made.text = text
        return made


def read_number(name: str, value: Any, *, whole: bool = False, share: bool = False) -> Any:
    """A value of a TOML file: texts and floats are read as written, anything else is kept.

    >>> from shuffledp._support.written import read_number
    >>> read_number("users", "2M", whole=True), read_number("colluding", 3, share=True)
    (2000000, 3)
    """
    text = value.text if isinstance(value, WrittenFloat) else value
    if not isinstance(text, str):
        return value
    try:
        return written_number(text, whole=whole, share=share)
    except InvalidParameter as error:
        raise InvalidParameter(f"{name}={error}") from None
