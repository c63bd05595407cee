"""Numbers for people, upper values rounded up, lower ones down; and for JSON. Lines of text."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from typing import Any


def rounded_up(value: float, digits: int = 4) -> str:
    """Decimal text of a number with `digits` significant digits, rounded up.

    Rounding to nearest could print a value below the certified one.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant digits, 1 or more.

    Returns
    -------
    str
        The smallest such decimal number that is not below the exact value of the float.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, rounded_up
    >>> rounded_up(Shuffle(PureLDP(eps0=4.0), users=10_000).get_epsilon(1e-6))
    '0.4109'
    """
    return _text(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 4) -> str:
    """Decimal text with `digits` significant digits, not above the exact value of the float."""
    return _text(value, digits, ROUND_FLOOR)


def at_most(value: float) -> str:
    """A number with six digits, rounded up unless they are all of it.

    >>> at_most(0.1), at_most(4.000000000000001), at_least(0.12345678)
    ('0.1', '4.00001', '0.123456')
    """
    return _six_digits(value) or rounded_up(value, 6)


def at_least(value: float) -> str:
    """The same, rounded down."""
    return _six_digits(value) or rounded_down(value, 6)


def _six_digits(value: float) -> str:
    """The number, if so many digits are the same float."""
    text = f"{value:.6g}"
    return text if float(text) == value else ""


def several(count: int, noun: str) -> str:
    """How many there are, in words.

    >>> several(1, "round"), several(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """A share that was given.

    >>> percent(0.01), percent(0.125)
    ('1 %', '12.5 %')
    """
    return f"{plain(float(f'{100 * share:.12g}'))} %"


def percent_up(share: float) -> str:
    """A share in per cent, rounded up.

    >>> percent_up(0.0123456), percent_down(0.0123456)
    ('1.235 %', '1.234 %')
    """
    return f"{rounded_up(min(math.nextafter(100 * share, math.inf), 100.0))} %"


def percent_down(share: float) -> str:
    """A share in per cent, rounded down."""
    return f"{rounded_down(max(math.nextafter(100 * share, -math.inf), 0.0))} %"


def _text(value: float, digits: int, rounding: str) -> str:
    from . import validate  # needs this module itself

    exact = validate.real_or_infinite("value", value)
    digits = validate.count("digits", digits, 100)
    if exact != value:  # a fraction between two floats
        exact = math.nextafter(exact, math.inf if rounding == ROUND_CEILING else -math.inf)
    if exact == 0 or exact == math.inf:
        return "0" if exact == 0 else "infinity"
    number = Decimal(exact).normalize(Context(prec=digits, rounding=rounding))
    if -5 <= number.adjusted() < 9:
        return format(number, "f")
    return format(number, "e").replace("e+", "e")


def plain(value: float) -> str:
    """A number that was given, in full: 1e-06, 0.25, and 1 for 1.0."""
    return repr(value).removesuffix(".0")


#: Wider than any line; and as wide as lines of a text that is read.
_ANY_WIDTH, PAGE = 10**6, 96


def line_width(piped: int = _ANY_WIDTH) -> int:
    """As wide as the terminal, or `piped` where there is none."""
    import shutil  # slow to load, as the others below

    there = sys.stdout is not None and sys.stdout.isatty()
    return max(shutil.get_terminal_size().columns, 40) if there else piped


def wrapped(text: str, first: str = "", hanging: int = 0, *, piped: int = _ANY_WIDTH) -> str:
    """Lines as wide as the terminal, the first behind `first`, which has a line of its own if it
    takes half of it; the others further in. No word or number is cut.

    >>> print(wrapped("no word is cut, and no number such as 1e-06 either", "- ", 2, piped=30))
    - no word is cut, and no
      number such as 1e-06 either
    """
    import textwrap

    width, further = line_width(piped), " " * hanging
    fill = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)
    if 2 * len(first) <= width:
        return fill(text, width, initial_indent=first, subsequent_indent=further)
    body = fill(text, width, initial_indent="    ", subsequent_indent="    ")
    return f"{first.rstrip()}\n{body}"


#: Names that other libraries and papers use, and what they are called here.
_SYNONYMS = {
    "n": ("users",),
    "num_users": ("users",),
    "eps": ("epsilon", "eps0"),
    "epsilon": ("eps0",),
    "epsilon0": ("eps0",),
    "steps_per_epoch": ("steps",),
    "epochs": ("rounds",),
    "count": ("rounds",),
    "noise": ("sigma",),
}


def similar(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that an unknown one may stand for: synonyms, or else a similar word.

    >>> similar("--num-users", ["--users", "--rounds"]), similar("sample-rate", ["sample_rate"])
    (['--users'], ['sample_rate'])
    """
    import difflib

    spelled = {_plainly(each): each for each in known}
    words = [word for word in _SYNONYMS.get(_plainly(name), ()) if word in spelled]
    words = words or difflib.get_close_matches(_plainly(name), spelled, 1, cutoff=0.7)
    return [spelled[word] for word in words]


def _plainly(name: str) -> str:
    return name.strip().lower().lstrip("-").replace("-", "_")


def known_instead(name: str, known: Sequence[str]) -> str:
    """Return the end of a sentence that refuses a name: what may be meant, or all that is known.

    >>> known_instead("user", ["users", "rounds"]), known_instead("x", ["users", "rounds"])
    ('did you mean users?', 'the known ones are users, rounds.')
    """
    if meant := similar(name, known):
        return f"did you mean {' or '.join(meant)}?"
    return f"the known ones are {', '.join(known)}."


def json_text(value: Any, **how: Any) -> str:
    """As JSON, which has no infinity: it becomes the text "Infinity", which `float` understands in
    most languages, while null is for what is missing. Arrays become lists.

    >>> json_text({"upper": [0.5, math.inf], "beyond": None})
    '{"upper": [0.5, "Infinity"], "beyond": null}'
    """
    import json

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
