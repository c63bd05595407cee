"""The language of client specifications: programs of exact coins and uniform choices.

A program is an expression. Its values are lists of whole numbers; a single number is a list of one.
An expression is a constant (a text of decimal digits), a name, or a list of an operation and its
arguments, which are evaluated from the first to the last. docs/deploy-client.md defines every
operation; `clients/javascript/client.mjs` is the same interpreter in JavaScript.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal

from .._support.json_types import Keywords
from ..errors import InvalidParameter
from .described import (
    MOST_NUMBERS,
    DescribedLaw,
    DescribedMessage,
    DescribedValues,
    NumberType,
    UnitValues,
    WholeValues,
)
from .entropy import replay

#: Coefficients of hash functions, and the values that are hashed, are below this prime.
PRIME = 2**61 - 1

Numbers = list[int]
_DEEPEST = 50  # levels of a program
#: Decimal digits of a constant, at most.
MOST_DIGITS = 4000
# proof constants: docs/theory/constants.md
#: Binary digits beyond those that are asked for, of a distribution function and of its weights.
_GUARD, _MORE = 96, 40
#: Ranges of constants.
_THRESHOLD, _LIMIT, _COUNT = (0, 1 << 64), (1, 1 << 63), (0, MOST_NUMBERS)
_SCALE, _WHOLE = (1, 1 << 53), (0, 1 << 53)

#: Every operation with its arguments: a range for a constant, "name" for a new name, and
#: "list" for an expression.
OPERATIONS: Mapping[str, tuple[Any, ...]] = {
    "coins": ("list", _THRESHOLD),
    "choices": ("list", _LIMIT),
    "subset": (_COUNT, _LIMIT),
    "distinct": ("list", _LIMIT),
    "law": ("list", _COUNT),
    "heads": (_COUNT, _COUNT),
    "round": (_SCALE,),
    "let": ("name", "list", "list"),
    "if": ("list", "list", "list"),
    "add": ("list", "list"),
    "minus": ("list", "list"),
    "equal": ("list", "list"),
    "skip": ("list", "list", _WHOLE),
    "fold": ("list", _COUNT),
    "hot": (_COUNT, "list"),
    "where": ("list", "list", "list"),
    "join": ("list", "list"),
    "sort": ("list",),
    "pack": ("list",),
    "hash": ("list", "list", _LIMIT),
    "column": ("list", "list", "list"),
}

#: A text, or a list of a text and of expressions: the form of what `check_program` accepts.
Expression = Annotated[
    Any,
    Keywords(
        anyOf=[
            {"type": "string", "pattern": "^([0-9]+|[A-Za-z]+)$"},
            {
                "type": "array",
                "minItems": 2,
                "prefixItems": [{"enum": [*OPERATIONS]}],
                "items": {"$ref": "#/properties/program"},
            },
        ]
    ),
]


class Tape:
    """Random bytes, in the order in which a program takes them.

    Parameters
    ----------
    take : Callable
        Returns as many bytes as asked for.
    """

    def __init__(self, take: Callable[[int], bytes]) -> None:
        self._take = take

    @classmethod
    def of(cls, recorded: bytes) -> Tape:
        """A tape of these bytes and no more."""
        return cls(replay(recorded))

    def words(self, width: int, count: int, unused: int = 0, edges: Sequence[int] = ()) -> Numbers:
        """Return `count` numbers of `width` bytes each, little-endian, without the unused bits,
        the lowest ones.

        `edges` are the numbers where decisions change: test vectors aim at them.
        """
        data = self._take(width * count)
        starts = range(0, len(data), width or 1)
        return [int.from_bytes(data[i : i + width], "little") >> unused for i in starts]


class DrawnLaw(ABC):
    """The law of a whole number from 0 on, by its distribution function."""

    @abstractmethod
    def steps(self, bits: int) -> list[tuple[int, int]]:
        """Whole numbers below and above 2^bits times the probabilities of 0, of 0 or 1, ..."""

    @cached_property
    def table(self) -> list[tuple[int, int]]:
        """The steps to 64 bits, which nearly always decide."""
        return self.steps(64)

    @abstractmethod
    def described(self) -> DescribedLaw:
        """As a specification says it."""


@dataclass(frozen=True, eq=False)
class WeightsLaw(DrawnLaw):
    """j with a probability proportional to a whole number."""

    weights: tuple[int, ...]

    def steps(self, bits: int) -> list[tuple[int, int]]:
        """2^bits times the distribution function, rounded down and up, but for the last step."""
        sums = list(accumulate(self.weights))
        scaled = (divmod(part << bits, sums[-1]) for part in sums[:-1])
        return [(low, low + (rest > 0)) for low, rest in scaled]

    def described(self) -> DescribedLaw:
        return {"weights": [*map(str, self.weights)]}


@dataclass(frozen=True, eq=False)
class RatioLaw(DrawnLaw):
    """j with a weight that is (a + b j)/(c + d j) times that of j - 1, normalized; b <= 0 < d.

    Poisson and binomial laws are of this kind.
    """

    a: int
    b: int
    c: int
    d: int

    def steps(self, bits: int) -> list[tuple[int, int]]:
        """Whole numbers below and above 2^bits times the distribution function.

        Weights are rounded down to multiples of 2^-(bits + 136) of the first one, which is no
        more than all of them together; a last weight below that ends the list.
        """
        weights = [1 << (bits + _GUARD + _MORE)]
        while weights[-1]:
            j = len(weights) - 1
            weights.append(weights[-1] * max(self.a + self.b * j, 0) // (self.c + self.d * j))
        total, sums = sum(weights), accumulate(weights[:-1])
        parts = ((part << (bits + _GUARD)) // total for part in sums)
        return [((part - 2) >> _GUARD, ((part + 2) >> _GUARD) + 1) for part in parts]

    def described(self) -> DescribedLaw:
        return {"ratio": [*map(str, (self.a, self.b, self.c, self.d))]}


def poisson_law(mean: Fraction) -> RatioLaw:
    """Return the Poisson law: the quotient of neighbouring weights is mean/(j + 1)."""
    return RatioLaw(mean.numerator, 0, mean.denominator, mean.denominator)


def binomial_law(trials: int, one: Fraction) -> RatioLaw:
    """Return the binomial law: the quotient is (trials - j)/(j + 1) times the odds."""
    odds = one / (1 - one)
    p, q = odds.numerator, odds.denominator
    return RatioLaw(trials * p, -p, q, q)


@dataclass(frozen=True, eq=False)
class Program:
    """What a client does with one value, as a specification says it.

    Parameters
    ----------
    value, message : DescribedValues, DescribedMessage
        Which values there are, and what a message is.
    code : Expression
        The message.
    laws : tuple of DrawnLaw
        What the operation "law" draws from.
    """

    value: DescribedValues
    message: DescribedMessage
    code: Expression
    laws: tuple[DrawnLaw, ...] = ()


#: The description of numbers in [0, 1].
NUMBER: UnitValues = {"kind": "number"}


def whole_value(k: int, least: Literal[-1, 0] = 0) -> WholeValues:
    """The description of values least .. k - 1; -1 stands for no value."""
    return {"kind": "whole", "least": "-1" if least else "0", "most": str(k - 1)}


def message_of(
    kind: Literal["number", "list"], type_: NumberType, length: int = 1
) -> DescribedMessage:
    """The description of a message: a "number" or a "list"."""
    return {"kind": kind, "type": type_, "length": length}


def inverted(law: DrawnLaw, word: int, tape: Tape) -> int:
    """Return j if j steps are at or below a uniform number with these first 64 bits."""
    digits, bits = word, 64
    while True:
        steps = law.table if bits == 64 else law.steps(bits)
        low, high = 0, len(steps)  # the first step that may be above the number
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if digits < steps[middle][1] else (middle + 1, high)
        if low == len(steps) or digits < steps[low][0]:
            return low
        following = law.steps(bits + 64)[low][0] & ((1 << 64) - 1)
        edges = (following - 1, following, following + 1)
        digits, bits = (digits << 64) | tape.words(8, 1, 0, edges)[0], bits + 64


def law_edges(law: DrawnLaw) -> list[int]:
    """Words beside the steps of a law that can be told from 1 by 64 bits."""
    ends = (1 << 64) - 1
    beside = {low + i for low, _ in law.table for i in (-1, 0, 1)}
    return sorted(word for word in beside if 0 <= word <= ends)


def toss(tape: Tape, count: int, threshold: int) -> Numbers:
    """1 with probability threshold/2^64: 16 bits mostly decide, and 48 more if they do not."""
    top, low = threshold >> 48, threshold & ((1 << 48) - 1)
    first = tape.words(2, count, 0, (top - 1, top, top, top))
    heads = [int(word < top) for word in first]
    for i in range(count):
        if first[i] == top:
            heads[i] = int(tape.words(8, 1, 16, (low - 1, low, low + 1))[0] < low)
    return heads


def choose(tape: Tape, count: int, limit: int) -> Numbers:
    """Uniform below the limit: what is not below it is drawn again."""
    bits = (limit - 1).bit_length()
    if bits == 0:
        return [0] * count
    width = 4 if bits <= 32 else 8
    unused = 8 * width - bits
    edges = (0, limit - 1, limit, limit + 1)
    found, pending = [0] * count, list(range(count))
    while pending:
        drawn = tape.words(width, len(pending), unused, edges)
        for i, number in zip(pending, drawn, strict=True):
            found[i] = number
        pending = [i for i, number in zip(pending, drawn, strict=True) if number >= limit]
    return found


def checked_count(count: Numbers) -> int:
    """The first number, of things that are made at once."""
    if not 0 <= count[0] <= MOST_NUMBERS:
        raise InvalidParameter(f"the program makes {count[0]} numbers at once; {_AGAIN}")
    return count[0]


def _place(number: int) -> int:
    """A place in a list: none is counted from the end."""
    if number < 0:
        raise IndexError
    return number


@dataclass
class Machine:
    """Evaluates a program for one value.

    Parameters
    ----------
    laws : Sequence[DrawnLaw]
        Those that the operation "law" names by their place.
    number : float
        What "round" rounds, where values are numbers in [0, 1].
    tape : Tape
        Random bytes.
    """

    laws: Sequence[DrawnLaw]
    number: float
    tape: Tape

    def evaluate(self, code: Expression, names: Mapping[str, Numbers]) -> Numbers:
        """Return the value of an expression."""
        if isinstance(code, str):
            return [int(code)] if code.isdigit() else names[code]
        operation, *arguments = code
        if operation == "let":
            name, bound, body = arguments
            return self.evaluate(body, {**names, name: self.evaluate(bound, names)})
        if operation == "if":
            condition, then, otherwise = arguments
            chosen = then if self.evaluate(condition, names)[0] else otherwise
            return self.evaluate(chosen, names)
        given = [
            self.evaluate(argument, names) if kind == "list" else int(argument)
            for kind, argument in zip(OPERATIONS[operation], arguments, strict=True)
        ]
        result: Numbers = getattr(self, f"do_{operation}")(*given)
        return result

    def do_coins(self, count: Numbers, threshold: int) -> Numbers:
        return toss(self.tape, checked_count(count), threshold)

    def do_choices(self, count: Numbers, limit: int) -> Numbers:
        return choose(self.tape, checked_count(count), limit)

    def do_subset(self, count: int, limit: int) -> Numbers:
        """Floyd's algorithm."""
        chosen: dict[int, None] = {}
        for last in range(limit - count, limit):
            drawn = choose(self.tape, 1, last + 1)[0]
            chosen[last if drawn in chosen else drawn] = None
        return list(chosen)

    def do_distinct(self, count: Numbers, limit: int) -> Numbers:
        found: dict[int, None] = {}
        size = min(checked_count(count), limit)
        while len(found) < size:
            found.update(dict.fromkeys(choose(self.tape, size - len(found), limit)))
        return list(found)

    def do_law(self, which: Numbers, count: int) -> Numbers:
        law = self.laws[_place(which[0])]
        words = self.tape.words(8, count, 0, law_edges(law))
        return [inverted(law, word, self.tape) for word in words]

    def do_heads(self, count: int, coins: int) -> Numbers:
        """Ones among fair bits; the upper ones of the last byte that are too many are cleared."""
        width = -(-coins // 8)
        rows = self.tape.words(width, count, 0, [(1 << 8 * width) - 1])
        return [bin(row & ((1 << coins) - 1)).count("1") for row in rows]

    def do_round(self, scale: int) -> Numbers:
        """The number times the scale, a double, rounded down or up at random."""
        exact = self.number * scale
        floor = math.floor(exact)
        threshold = int(math.ldexp(exact - floor, 53))
        edges = (threshold - 1, threshold, threshold + 1)
        return [floor + (self.tape.words(8, 1, 11, edges)[0] < threshold)]

    def do_add(self, one: Numbers, other: Numbers) -> Numbers:
        return [a + b for a, b in zip(one, other, strict=True)]

    def do_minus(self, one: Numbers, other: Numbers) -> Numbers:
        return [a - b for a, b in zip(one, other, strict=True)]

    def do_equal(self, one: Numbers, other: Numbers) -> Numbers:
        return [int(a == b) for a, b in zip(one, other, strict=True)]

    def do_skip(self, given: Numbers, start: Numbers, width: int) -> Numbers:
        """Leave out the numbers start .. start + width - 1."""
        return [x if x < start[0] else x + width for x in given]

    def do_fold(self, given: Numbers, columns: int) -> Numbers:
        return [sum(given[i::columns]) for i in range(columns)]

    def do_hot(self, count: int, places: Numbers) -> Numbers:
        row = [0] * count
        for place in places:
            row[_place(place)] = 1
        return row

    def do_where(self, mask: Numbers, given: Numbers, others: Numbers) -> Numbers:
        """Replace what the mask marks, in order."""
        left = iter(others)
        return [next(left) if held else x for held, x in zip(mask, given, strict=True)]

    def do_join(self, one: Numbers, other: Numbers) -> Numbers:
        return one + other

    def do_sort(self, given: Numbers) -> Numbers:
        return sorted(given)

    def do_pack(self, bits: Numbers) -> Numbers:
        """Bytes of eight bits, the first bit in the highest place, zeros at the end."""
        if not {*bits} <= {0, 1}:
            raise ValueError
        padded = [*bits, *([0] * (-len(bits) % 8))]
        return [int("".join(map(str, padded[i : i + 8])), 2) for i in range(0, len(padded), 8)]

    def do_hash(self, seed: Numbers, place: Numbers, limit: int) -> Numbers:
        (a, b, c), (x,) = seed, place
        return [((a * x + b) * x + c) % PRIME % limit]

    def do_column(self, column: Numbers, row: Numbers, owned: Numbers) -> Numbers:
        """Flip the lowest one of the row where the parity is not as it should be."""
        (j,), (x,), (own,) = column, row, owned
        return [j ^ (x & -x) if bin(j & x).count("1") % 2 == own else j]


def check_program(code: Expression, laws: int, names: frozenset[str], depth: int = 0) -> None:
    """Raise an error if an expression is none, or names what there is not."""
    if depth > _DEEPEST:
        raise InvalidParameter(f"the program has more than {_DEEPEST} levels; {_AGAIN}")
    if isinstance(code, str):
        if code.isascii() and code.isdigit():
            check_constant(code, (0, 1 << 64), "a constant")
        elif code not in names:
            raise InvalidParameter(f"the name {code[:20]!r} has no value; {_AGAIN}")
        return
    if not isinstance(code, list) or not code or code[0] not in [*OPERATIONS]:
        shown = str(code[0] if isinstance(code, list) and code else code)[:20]
        raise InvalidParameter(f"{shown!r} is no operation of this version; {_AGAIN}")
    kinds, arguments = OPERATIONS[code[0]], code[1:]
    if len(arguments) != len(kinds):
        raise InvalidParameter(
            f"the operation {code[0]!r} has {len(arguments)} arguments instead of {len(kinds)}; "
            f"{_AGAIN}"
        )
    if code[0] == "let":
        name, bound, body = arguments
        if not (isinstance(name, str) and name.isascii() and name.isalpha()):
            raise InvalidParameter(f"{str(name)[:20]!r} is no name; {_AGAIN}")
        check_program(bound, laws, names, depth + 1)
        check_program(body, laws, names | {name}, depth + 1)
        return
    for kind, argument in zip(kinds, arguments, strict=True):
        if kind == "list":
            check_program(argument, laws, names, depth + 1)
        else:
            what = "the threshold of a coin" if kind == _THRESHOLD else f"a number of {code[0]!r}"
            check_constant(argument, kind, what)
    if code[0] == "subset" and int(code[1]) > int(code[2]):
        raise InvalidParameter(f"'subset' takes {code[1]} of {code[2]} numbers; {_AGAIN}")
    if code[0] == "law" and isinstance(code[1], str) and code[1].isdigit() and int(code[1]) >= laws:
        raise InvalidParameter(f"there is no law {code[1]} among {laws}; {_AGAIN}")


_AGAIN = "take the specification again from where it was made."


def check_constant(text: Any, within: tuple[int, int], what: str) -> None:
    """Raise an error if a text is no whole number in this range."""
    least, most = within
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise InvalidParameter(f"{what} is {str(text)[:24]!r}, no decimal number; {_AGAIN}")
    if len(text) > MOST_DIGITS or not least <= int(text) <= most:
        raise InvalidParameter(f"{what} is {text[:24]}, outside {least} .. {most}; {_AGAIN}")
