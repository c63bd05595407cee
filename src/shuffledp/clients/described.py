"""Types of what a client specification says about values, messages and laws.

`clients.specification` has the type of the whole document. Documents are checked against these
types when they are read, and `make schemas` generates `schemas/client-specification.json` from
them; strings below the names are the descriptions there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from .._support.json_types import Keywords

#: Numbers in a list, at most.
MOST_NUMBERS = 10**6

Digits = Annotated[str, Keywords(pattern="^[0-9]+$")]
SignedDigits = Annotated[str, Keywords(pattern="^-?[0-9]+$")]
Size = Annotated[int, Keywords(minimum=1, maximum=MOST_NUMBERS)]
NumberType = Literal["int64", "uint64", "uint32", "uint8"]


class WholeValues(TypedDict):
    """A whole number; -1, where it is allowed, stands for no value, which a program sees as an
    empty list."""

    kind: Literal["whole"]
    least: Literal["-1", "0"]
    most: Annotated[str, Keywords(pattern="^[0-9]{1,19}$")]


class UnitValues(TypedDict):
    """A double in [0, 1], which the operation round takes."""

    kind: Literal["number"]


class BitValues(TypedDict):
    """A list of bits with 1 to `ones` ones."""

    kind: Literal["bits"]
    length: Size
    ones: Size


DescribedValues = WholeValues | UnitValues | BitValues


class OneMessage(TypedDict):
    """One number, or a list of numbers."""

    kind: Literal["number", "list"]
    type: NumberType
    """of each number, little-endian on the wire"""
    length: Size
    """of the list"""


class ManyMessages(TypedDict):
    """Any number of messages, each a number by itself."""

    kind: Literal["messages"]
    type: NumberType
    """of each number, little-endian on the wire"""
    length: None


DescribedMessage = OneMessage | ManyMessages


class DescribedWeights(TypedDict):
    """j with a probability proportional to the j-th weight."""

    weights: Annotated[Sequence[Digits], Keywords(minItems=1)]


class DescribedRatio(TypedDict):
    """a, b, c, d: j + 1 is (a + b j)/(c + d j) times as likely as j."""

    ratio: Annotated[Sequence[SignedDigits], Keywords(minItems=4, maxItems=4)]


DescribedLaw = DescribedWeights | DescribedRatio


class DescribedRandomizer(TypedDict):
    """The randomizer that a client belongs to, with its parameters as texts."""

    name: str
    # other languages may sort other names in another order, and the digest would be another
    parameters: Annotated[dict[str, str], Keywords(propertyNames={"pattern": "^[ -~]*$"})]


class DescribedVector(TypedDict):
    """A value, random bytes in hexadecimal digits, and the message that these make."""

    value: str
    bytes: Annotated[str, Keywords(pattern="^([0-9a-f]{2})*$")]
    message: Annotated[str, Keywords(pattern="^(-?[0-9]+( -?[0-9]+)*)?$")]
