"""Clients as data: a JSON document that says all that a device needs to send the same messages.

docs/deploy-client.md describes the document, and `schemas/client-specification.json` its form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, get_type_hints

from .._support.files import parse_json, write_text_atomically, writing
from .._support.json_types import Keywords, Sha256, conforms
from ..errors import InvalidParameter
from .described import (
    MOST_NUMBERS,
    DescribedLaw,
    DescribedMessage,
    DescribedRandomizer,
    DescribedValues,
    DescribedVector,
)
from .entropy import Source
from .program import (
    MOST_DIGITS,
    DrawnLaw,
    Expression,
    Numbers,
    Program,
    RatioLaw,
    Tape,
    WeightsLaw,
    check_program,
)
from .vectors import make_vectors, message

if TYPE_CHECKING:
    from .base import Client

FORMAT, VERSION = "shuffledp client", 1
#: The least number of each type, and the first that is too large.
_TYPES = {
    "int64": (-(1 << 63), 1 << 63),
    "uint64": (0, 1 << 64),
    "uint32": (0, 1 << 32),
    "uint8": (0, 1 << 8),
}


class ClientDocument(TypedDict):
    """docs/deploy-client.md defines the operations of a program. All numbers that may be large are
    texts of decimal digits."""

    format: Literal["shuffledp client"]
    version: Literal[1]
    randomizer: DescribedRandomizer | None
    """its name and parameters, for an audit; a device does not need them"""
    eps0: Annotated[str, Keywords(pattern=r"^[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$")] | None
    """the claimed local epsilon; null if none is claimed"""
    value: DescribedValues
    """which values there are"""
    message: DescribedMessage
    """what is sent"""
    laws: Sequence[DescribedLaw]
    """what the operation law draws from"""
    program: Expression
    """a constant, a name, or an operation with its arguments"""
    vectors: Annotated[Sequence[DescribedVector], Keywords(minItems=1)]
    digest: Sha256
    """SHA-256 of the document without this key, as JSON with sorted keys and without spaces"""


_KEYS = ClientDocument.__annotations__.keys()
_AGAIN = "take the specification again from where it was made."
#: Of a law by its ratios: about so many outcomes, at most, are not next to impossible.
_MOST_TERMS = 10**4
#: Numbers that a message is made of, at most: more are refused before any message is made.
MOST_WIDTH = 10**5


class Specification:
    """A client as data: `message` interprets it, and so does any device.

    Parameters
    ----------
    document : str, bytes or Mapping
        The JSON document, as a text or as objects. It is checked in full.

    Raises
    ------
    InvalidParameter
        If the document is none, of another version, or damaged.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.clients import Specification
    >>> specification = RandomizedResponse(k=4, eps0=1.0).client_spec()
    >>> again = Specification(specification.to_json())
    >>> again.message(3, random_bytes=bytes(2))
    [3]
    >>> again.eps0
    1.0
    """

    def __init__(self, document: str | bytes | Mapping[str, Any]) -> None:
        self.document: Mapping[str, Any] = _checked(document)

    @property
    def eps0(self) -> float | None:
        """Claimed local epsilon; None if none is claimed."""
        text = self.document["eps0"]
        return None if text is None else float(text)

    @cached_property
    def program(self) -> Program:
        """Program that the document describes."""
        laws = tuple(map(_law, self.document["laws"]))
        code = self.document["program"]
        return Program(self.document["value"], self.document["message"], code, laws)

    @property
    def vectors(self) -> list[Mapping[str, str]]:
        """Test vectors: values, random bytes in hexadecimal digits and messages, all as texts."""
        return list(self.document["vectors"])

    def message(self, value: Any, random_bytes: bytes | None = None) -> Numbers:
        """Message of one value, as whole numbers.

        Parameters
        ----------
        value : int, float or sequence of int
            What the randomizer takes.
        random_bytes : bytes, optional
            Used instead of the operating system's, for tests.

        Returns
        -------
        list of int
            The message.

        Raises
        ------
        InvalidParameter
            If it is not a value, there are too few bytes, or the program fails on it.
        """
        given = self.value_of(self.value_text(value))
        source = Source() if random_bytes is None else Source.of(random_bytes)
        try:
            found = message(self.program, given, Tape(source.take))
            if not self._is_message(found):
                raise ValueError
        except (LookupError, ValueError, TypeError, RuntimeError, StopIteration) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter(f"the program fails on this value; {_AGAIN}") from None
        return found

    def _is_message(self, numbers: Numbers) -> bool:
        """Are there as many numbers as a message has, each of its type?"""
        form = self.document["message"]
        least, limit = _TYPES[form["type"]]
        right = form["length"] in (None, len(numbers))
        return right and all(least <= number < limit for number in numbers)

    def value_text(self, value: Any) -> str:
        """Text of a value as one writes it in a line.

        Parameters
        ----------
        value : int, float or sequence of int
            What the randomizer takes.

        Returns
        -------
        str
            Numbers with spaces between them.
        """
        item = value.tolist() if hasattr(value, "tolist") else value
        return " ".join(map(str, map(int, item))) if isinstance(item, (list, tuple)) else repr(item)

    def value_of(self, text: str) -> Numbers | float:
        """Value of which this is the text, as a program takes it.

        Parameters
        ----------
        text : str
            A number, or bits with spaces between them.

        Returns
        -------
        list of int, or float
            A float for a number in [0, 1].

        Raises
        ------
        InvalidParameter
            If the text is not a value.
        """
        kind = self.document["value"]
        try:
            if kind["kind"] == "number":
                number = float(text)
                if 0 <= number <= 1:
                    return number
            elif kind["kind"] == "bits":
                bits = [int(part) for part in text.split()]
                right = set(bits) <= {0, 1} and len(bits) == kind["length"]
                if right and 1 <= sum(bits) <= kind["ones"]:
                    return bits
            elif int(kind["least"]) <= int(text) <= int(kind["most"]):
                return [] if int(text) < 0 else [int(text)]
        except ValueError:
            pass
        raise InvalidParameter(f"the value {text[:40]!r} is not {self._values()}; give another.")

    def _values(self) -> str:
        kind = self.document["value"]
        if kind["kind"] == "number":
            return "a number in [0, 1]"
        if kind["kind"] == "bits":
            return f"a list of {kind['length']} bits with 1 to {kind['ones']} ones"
        return f"a whole number in {kind['least']} .. {kind['most']}"

    def message_of(self, text: str) -> Numbers:
        """Whole numbers of a message that is written in a line.

        Parameters
        ----------
        text : str
            Numbers with spaces between them.

        Returns
        -------
        list of int
            The message.

        Raises
        ------
        InvalidParameter
            If the line is not a message.
        """
        form = self.document["message"]
        try:
            found = [int(part) for part in text.split()]
        except ValueError:
            found = [1 << 64]  # of no type
        if not self._is_message(found):
            what = {"number": "one number", "list": f"{form['length']} numbers"}
            raise InvalidParameter(
                f"{text[:40]!r} is no message; write {what.get(form['kind'], 'numbers')} of type "
                f"{form['type']} in a line, with spaces between them."
            )
        return found

    def to_json(self) -> str:
        """The document as a text, with one vector per line."""
        parts = []
        for key, value in self.document.items():
            text = json.dumps(value)
            if key in ("vectors", "laws") and value:
                text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
            parts.append(f' "{key}": {text}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def save(self, path: Any) -> None:
        """Write the document to a file, all of it or nothing.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.

        Raises
        ------
        InvalidParameter
            If the file cannot be written.
        """
        with writing(path):
            write_text_atomically(path, self.to_json())

    def __repr__(self) -> str:
        named = self.document["randomizer"] or {"name": "a client"}
        return f"<Specification of {named['name']}, sha256 {self.document['digest'][:12]}>"


def specify(
    client: Client, randomizer: Mapping[str, Any] | None = None, eps0: float = math.inf
) -> Specification:
    """Return the specification of a client.

    Parameters
    ----------
    client : Client
        Made of coins and uniform choices; others say why they have none.
    randomizer : Mapping, optional
        The name and the parameters of the randomizer that it belongs to.
    eps0 : float
        The claimed local epsilon; infinite if none is claimed.
    """
    program = client.program()
    width = max(client.width, program.message["length"] or 0)
    if width > MOST_WIDTH:
        raise InvalidParameter(
            f"a message is made of {width:,} numbers, more than the {MOST_WIDTH:,} that a "
            "specification describes; choose fewer values, or another randomizer."
        )
    document = {
        "format": FORMAT,
        "version": VERSION,
        "randomizer": randomizer,
        "eps0": repr(float(eps0)) if math.isfinite(eps0) else None,
        "value": dict(program.value),
        "message": dict(program.message),
        "laws": [law.described() for law in program.laws],
        "program": program.code,
    }
    if len(json.dumps(document["laws"])) > MOST_NUMBERS:
        raise InvalidParameter(
            f"the laws of {len(program.laws)} values take more than {MOST_NUMBERS:,} bytes; give "
            "a smaller matrix, or probabilities with fewer digits."
        )
    vectors = make_vectors(program)
    for value, taken, sent in vectors:
        # the two interpreters are held against one another before anybody relies on either
        given = value if isinstance(value, float) else _plain(program, value)
        found = client.randomize(given, Source.of(taken)).ravel().tolist()
        if found != sent:
            raise AssertionError(f"the program sends {sent}, and the client {found}")
    document["vectors"] = [
        {
            "value": _text(program, value),
            "bytes": taken.hex(),
            "message": " ".join(map(str, sent)),
        }
        for value, taken, sent in vectors
    ]
    return Specification({**document, "digest": _digest(document)})


def _plain(program: Program, value: Numbers) -> Any:
    """The value as the client takes it."""
    return value if program.value["kind"] == "bits" else value[0] if value else -1


def _text(program: Program, value: Numbers | float) -> str:
    if isinstance(value, float):
        return repr(value)
    return " ".join(map(str, value)) if value else "-1"


def _digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document without its digest: keys in order, no spaces."""
    import hashlib

    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _law(said: Any) -> DrawnLaw:
    """The law that a part of a document describes."""
    if isinstance(said, dict) and len(said) == 1:
        ((kind, texts),) = said.items()
        whole = isinstance(texts, list) and all(_is_whole(text) for text in texts)
        if whole and kind == "weights":
            weights = tuple(map(int, texts))
            if min(weights, default=-1) >= 0 and sum(weights) > 0:
                return WeightsLaw(weights)
        if whole and kind == "ratio" and len(texts) == 4:
            a, b, c, d = map(int, texts)
            if a > 0 and b <= 0 < min(c, d) and a <= _MOST_TERMS * max(c + d, -b):
                return RatioLaw(a, b, c, d)
    raise InvalidParameter(f"a law of the specification has no valid weights; {_AGAIN}")


def _is_whole(text: Any) -> bool:
    if not isinstance(text, str) or len(text) > MOST_DIGITS:
        return False
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _checked(document: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """The document as objects, of which every part is as it has to be."""
    try:
        said = parse_json(document) if isinstance(document, (str, bytes)) else dict(document)
    except (ValueError, TypeError, RecursionError):
        raise InvalidParameter(f"the specification is not JSON, or was cut off; {_AGAIN}") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise InvalidParameter(f'the document has no "format": "{FORMAT}"; {_AGAIN}')
    if said.get("version") != VERSION or type(said["version"]) is not int:
        raise InvalidParameter(
            f"the specification has version {str(said.get('version'))[:20]}, and this client reads "
            f"version {VERSION}; make it again with the version of shuffledp that you use."
        )
    for key in sorted(_KEYS ^ said.keys()):
        what = "lacks" if key in _KEYS else "has the unknown key"
        raise InvalidParameter(f"the specification {what} {key[:30]!r}; {_AGAIN}")
    _check_forms(said)
    laws = said["laws"] if isinstance(said["laws"], list) else [None]
    for law in laws:
        _law(law)
    known = frozenset() if said["value"]["kind"] == "number" else frozenset({"value"})
    check_program(said["program"], len(laws), known)
    try:
        right = said["digest"] == _digest(said)
    except (TypeError, ValueError):
        right = False
    if not right:
        raise InvalidParameter(f"the digest is wrong, so that the document was changed; {_AGAIN}")
    return said


def _check_forms(said: Mapping[str, Any]) -> None:
    """Values, messages and vectors are described as they have to be; no number is a float."""
    forms = get_type_hints(ClientDocument, include_extras=True)
    parts = ("value", "message", "randomizer", "eps0", "vectors")
    if not all(conforms(said[key], forms[key]) for key in parts) or not _is_possible(said):
        raise InvalidParameter(
            f"the specification describes no values, messages or test vectors; {_AGAIN}"
        )


def _is_possible(said: Mapping[str, Any]) -> bool:
    """What the types do not say about numbers."""
    value, eps0 = said["value"], said["eps0"]
    few = value["kind"] != "bits" or value["ones"] <= value["length"]
    small = value["kind"] != "whole" or int(value["most"]) < 1 << 63
    return few and small and (eps0 is None or math.isfinite(float(eps0)))
