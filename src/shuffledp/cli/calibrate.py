"""`shuffledp calibrate`."""

from __future__ import annotations

from typing import Any

import click

from .._support.json_types import Bracket, Finite, Probability, RoundsAsked, Value
from .._support.text import plain, rounded_down, wrapped
from ..allocation import RandomAllocation
from ..bounds.target import bracket
from ..central import CentralNoise
from ..errors import InvalidParameter
from ..randomizers.base import named_randomizers, parameter_named
from ..randomizers.parameter import parameters_of
from ..records import CENTRAL
from ..rounds import Round
from ..tools.calibrate import CENTRAL_PARAMETERS, Calibration, searchable
from ..tools.calibrate import calibrate as find_value
from ..tools.protocol import (
    DEFAULT_RANDOMIZER,
    VIEW_PARAMETERS,
    central_from,
    central_parameters,
    needed,
    split,
    with_noise_multiplier,
)
from .options import (
    JSON,
    RTOL,
    TARGET,
    command,
    make_randomizer,
    make_round,
    number,
    options,
    round_options,
)
from .report import print_answer

#: Parameters that only central noise has.
_OF_CENTRAL_NOISE = {
    name: each for name, each in CENTRAL_PARAMETERS.items() if parameter_named(name) is None
}


class CalibrateAnswer(Bracket, RoundsAsked):
    """What `shuffledp calibrate` answers."""

    find: str
    value: float
    epsilon: Finite
    """of the target"""
    delta: Probability
    """of the target"""
    room: Value
    """how much of the target is left"""
    beyond: float | None
    """the next value; null if there is none"""
    beyond_lower: Value | None
    beyond_upper: Value | None


@command()
@click.option(
    "--find",
    required=True,
    type=click.Choice([name.replace("_", "-") for name in searchable()]),
    help="What to look for.",
)
@options(
    click.option(
        "--mechanism",
        type=click.Choice(
            [name for name, kind in CENTRAL.items() if issubclass(kind, CentralNoise)]
        ),
        help="Central noise instead of a round of users.",
    ),
    number("sensitivity", "The most that neighbours change, before central noise.  [1]"),
    *(
        number(name, f"{each.meaning[0].upper()}{each.meaning[1:]} (central).", whole=each.whole)
        for name, each in _OF_CENTRAL_NOISE.items()
    ),
    *round_options(),
    number("users", "Users in each round.", whole=True),
    number("rounds", "How many rounds are composed.  [1]", whole=True),
    *(*TARGET, RTOL, JSON),
)
def calibrate(
    find: str, epsilon: float, delta: float, rtol: float, form: str, **given: Any
) -> None:
    """Find the largest or smallest value of one parameter that meets a target.

    \b
      shuffledp calibrate --find eps0 --users 1e6 --rounds 8 --epsilon 1 --delta 1e-8
      shuffledp calibrate --find users --eps0 4 --epsilon 0.5 --delta 1e-6
      shuffledp calibrate --find colluding --eps0 4 --users 1e5 --epsilon 0.5 --delta 1e-6
      shuffledp calibrate --find gamma --randomizer rr --k 4 --users 1e4 --epsilon 1 --delta 1e-6
      shuffledp calibrate --find skellam --randomizer noise-shares --k 8 --view aggregate \\
        --users 1e4 --epsilon 1 --delta 1e-6
      shuffledp calibrate --find coins --mechanism binomial --epsilon 1 --delta 1e-6
      shuffledp calibrate --find rounds --mechanism skellam --mu 100 --epsilon 1 --delta 1e-6
      shuffledp calibrate --find sigma --mechanism gaussian --sample-rate 0.001 --rounds 10000 \\
        --epsilon 1 --delta 1e-6
      shuffledp calibrate --find threshold --view threshold --rate 0.1 --epsilon 1 --delta 1e-8
      shuffledp calibrate --find noise-multiplier --view allocation --steps 1000 --rounds 10 \\
          --epsilon 1 --delta 1e-6
    """
    if find == "sigma" and given["view"] == RandomAllocation.view:
        find = "noise-multiplier"
    name, given = find.replace("-", "_"), dict(with_noise_multiplier(given))
    _check(find, name, given)

    def made(value: float) -> Round:
        asked = {key: each for key, each in {**given, name: value}.items() if each is not None}
        return central_from(asked) if given["mechanism"] else make_round({**given, name: value})

    make, rounds = made(1) if name == "rounds" else made, given["rounds"]
    found = find_value(name, make, epsilon=epsilon, delta=delta, rounds=rounds, rtol=rtol)
    round_ = made(found.value)
    rounds = int(found.value) if name == "rounds" else rounds or 1
    text = _sentences(found, round_.relation)
    print_answer("calibrate", text, form, _answer(found, rounds, rtol), round_)


def _check(find: str, name: str, given: dict[str, Any]) -> None:
    """What is asked for must be left out, and must go with the rest."""
    if given["mechanism"] is not None:
        _check_central(find, name, given)
        return
    for central in ("sensitivity", *_OF_CENTRAL_NOISE):
        if given[central] is not None:
            raise InvalidParameter(f"--{central} goes with --mechanism; add that, or leave it out.")
    if name in _OF_CENTRAL_NOISE:
        raise InvalidParameter(f"--find {find} goes with --mechanism; add that.")
    if given[name] is not None:
        raise InvalidParameter(f"--{find} is what --find {find} looks for; leave it out.")
    for other in needed(given):
        if name != other and given[other] is None:
            raise InvalidParameter(f"--find {find} needs --{other.replace('_', '-')}; add it.")
    kind = split(given)[0]
    if "randomizer" not in needed(given):
        return
    for view, known in VIEW_PARAMETERS.items():
        if name in known:
            raise InvalidParameter(f"--find {find} goes with --view {view}; add that.")
    if parameter_named(name) is None:
        make_randomizer(given)
    elif kind in named_randomizers():
        own = parameters_of(named_randomizers()[kind])
        if name not in own:
            raise InvalidParameter(
                f"--find {name} does not go with --randomizer {kind}, which has "
                f"{', '.join(sorted(own))}; look for another parameter."
            )
        if own[name].search is None:
            raise InvalidParameter(
                f"--find {name} cannot be looked for in --randomizer {kind}; look for users, "
                "rounds or sample-rate."
            )


def _check_central(find: str, name: str, given: dict[str, Any]) -> None:
    """Of what describes a round of users, only neighbours and sampling go with central noise."""
    mechanism, own = given["mechanism"], central_parameters(given)
    known = {"mechanism", "rounds", "neighbours", "sample_rate", "sampling", *own}
    for other in sorted(key for key, value in given.items() if value is not None):
        if other not in known and (other, given[other]) != ("randomizer", DEFAULT_RANDOMIZER):
            raise InvalidParameter(
                f"--{other.replace('_', '-')} does not go with --mechanism {mechanism}; leave it "
                "out."
            )
    if name not in ("rounds", "sample_rate") and (name not in own or name == "sensitivity"):
        raise InvalidParameter(
            f"--find {find} does not go with --mechanism {mechanism}, which has "
            f"{', '.join(own)}; look for another parameter."
        )
    if given[name] is not None:
        raise InvalidParameter(f"--{find} is what --find {find} looks for; leave it out.")


def _answer(found: Calibration, rounds: int, rtol: float) -> CalibrateAnswer:
    beyond = found.beyond_achieved
    return {
        "find": found.parameter,
        "value": found.value,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "lower": found.achieved.lower,
        "upper": found.achieved.upper,
        "room": found.room,
        "beyond": found.beyond,
        "beyond_lower": None if beyond is None else beyond.lower,
        "beyond_upper": None if beyond is None else beyond.upper,
        "rounds": rounds,
        "rtol": rtol,
    }


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else repr(value)


def _sentences(found: Calibration, relation: str) -> str:
    name = found.parameter
    extreme = "largest" if searchable()[name] else "smallest"
    lines = [
        wrapped(
            f"{name} = {_shown(found.value)} is the {extreme} that is certified to meet epsilon "
            f"{plain(found.epsilon)} at delta {plain(found.delta)} ({relation})."
        ),
        "",
        wrapped(
            f"{bracket(found.achieved)}; slack: {rounded_down(found.room, 3)}",
            *("  bracket      ", 15),
        ),
    ]
    if found.beyond is None or found.beyond_achieved is None:
        lines.append("  next value   none: this is the last value that is supported")
    else:
        step = f"{name} = {_shown(found.beyond)} has {bracket(found.beyond_achieved)}"
        lines.append(wrapped(step, "  next value   ", 15))
    return "\n".join(lines)
