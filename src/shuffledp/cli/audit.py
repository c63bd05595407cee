"""`shuffledp audit`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from ..errors import InvalidParameter, ShuffleDPError
from ..records import name_of
from ..tools.audit import audit as hold_against_claim
from .options import JSON, command, make_randomizer, number, options, randomizer_options
from .report import print_answer

_CLIENT = click.option(
    "--client",
    metavar="MODULE:FUNCTION",
    help="From an array of values to their messages, found here or installed.  [default: ours]",
)
_TRIALS = number("trials", "How many messages are asked for.", whole=True, default="1e6")
_CONFIDENCE = number("confidence", "With which all intervals hold at once.", default=0.999)


@command()
@options(*randomizer_options("rr"), _CLIENT, _TRIALS, _CONFIDENCE, JSON)
def audit(client: str | None, trials: int, confidence: float, form: str, **given: Any) -> None:
    """Ask a client for many messages and hold them against its claim; exit code 1 if it fails.

    \b
      shuffledp audit --randomizer rr --k 4 --eps0 1 --client mymodule:randomize --trials 1e6
      shuffledp audit --randomizer laplace --eps0 1
    """
    randomizer = make_randomizer(given)
    found = hold_against_claim(randomizer, _loaded(client), trials=trials, confidence=confidence)
    names = ("holds", "exceeds", "eps0_lower", "claimed", "verdict")
    answer = {
        "randomizer": name_of(randomizer),
        "parameters": randomizer.reported,
        **{name: getattr(found, name) for name in names},
        "rows": [row._asdict() for row in found.rows],
    }
    asked: dict[str, Any] = {"client": client, "trials": found.trials, "confidence": confidence}
    print_answer("audit", found, form, answer, holds=found.holds, **asked)


def _loaded(name: str | None) -> Callable[..., Any] | None:
    """The function that MODULE:FUNCTION names; what it raises is told in one sentence."""
    if name is None:
        return None
    module, _, function = name.partition(":")
    if not module or not function:
        raise InvalidParameter(f"client={name} names no function; write MODULE:FUNCTION.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:
        raise InvalidParameter(
            f"client={name} cannot be loaded: {type(error).__name__}: {error}; give a function of "
            "a module that can be imported."
        ) from None

    def call(values: Any) -> Any:
        try:
            return found(values)
        except ShuffleDPError:
            raise
        except Exception as error:
            raise InvalidParameter(
                f"client={name} failed: {type(error).__name__}: {error}; mend it and ask again."
            ) from None

    return call
