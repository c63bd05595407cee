"""`shuffledp calibrate`."""

from __future__ import annotations

from typing import Any

import click

from .._support.json_types import Bracket, Finite, Probability, RoundsAsked, Value
from .._support.text import plain, rounded_down, several, wrapped
from ..allocation import RandomAllocation
from ..calibration import bracket
from ..errors import InvalidParameter
from ..guarantee import DEFAULT_RTOL
from ..randomizers.base import named_randomizers, parameter_named
from ..randomizers.parameter import parameters_of
from ..rounds import Round
from ..tools.calibrate import Calibration, searchable
from ..tools.calibrate import calibrate as find_value
from ..tools.protocol import (
    CENTRAL_PARAMETERS,
    VIEW_PARAMETERS,
    central_parameters,
    is_central,
    is_other_name_of_sigma,
    needed,
    split,
    view_of,
    with_noise_multiplier,
)
from .options import (
    JSON,
    TARGET,
    command,
    make_randomizer,
    make_round,
    number,
    options,
    round_options,
)
from .report import print_answer


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


class ParameterName(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """One of the options, also if it is written as in Python."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return super().convert(str(value).replace("_", "-"), param, ctx)


@command()
@click.option(
    "--find",
    required=True,
    type=ParameterName([name.replace("_", "-") for name in searchable()]),
    help="The parameter to look for.",
)
@options(
    *round_options(),
    number("users", "Users in each round.", whole=True),
    number(
        "rounds",
        "How many rounds are composed; with view allocation, epochs; with --mechanism and "
        "--sample-rate, steps.  [1]",
        whole=True,
    ),
    *TARGET,
    number(
        "rtol",
        "Relative width in epsilon to aim for. A narrower one may certify a value one or a few "
        "steps further; a tenth of it takes up to ten times as long.",
        default=DEFAULT_RTOL,
    ),
    JSON,
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
        return make_round({**given, name: value})

    make, rounds = made(1) if name == "rounds" else made, given["rounds"]
    found = find_value(name, make, epsilon=epsilon, delta=delta, rounds=rounds, rtol=rtol)
    round_ = made(found.value)
    rounds = int(found.value) if name == "rounds" else rounds or 1
    text = _sentences(found, round_, rounds, rtol)
    print_answer("calibrate", text, form, _answer(found, rounds, rtol), round_)


def _check(find: str, name: str, given: dict[str, Any]) -> None:
    """What is asked for must be left out, and must go with the rest."""
    if is_central(given):
        _check_central(find, name, given)
    elif name in CENTRAL_PARAMETERS:
        raise InvalidParameter(f"--find {find} goes with --mechanism; add that.")
    if given[name] is not None:
        raise InvalidParameter(f"--{find} is what --find {find} looks for; leave it out.")
    for view, known in VIEW_PARAMETERS.items():
        if name in known and given["view"] != view:
            raise InvalidParameter(f"--find {find} goes with --view {view}; add that.")
    view_of(given, "--")
    for other in needed(given):
        if name != other and given[other] is None:
            raise InvalidParameter(f"--find {find} needs --{other.replace('_', '-')}; add it.")
    kind = split(given)[0]
    if "randomizer" not in needed(given):
        return
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
    """What is looked for has to be a number of the mechanism, or say how often it is used."""
    mechanism, own = given["mechanism"], central_parameters(given)
    if name not in ("rounds", "sample_rate") and (name not in own or name == "sensitivity"):
        is_other = is_other_name_of_sigma(name, own)
        instead = "sigma, which is the same with sensitivity 1" if is_other else "another parameter"
        raise InvalidParameter(
            f"--find {find} does not go with --mechanism {mechanism}, which has "
            f"{', '.join(own)}; look for {instead}."
        )


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


def _sentences(found: Calibration, round_: Round, rounds: int, rtol: float) -> str:
    name = found.parameter
    value, target = f"{name} = {_shown(found.value)}", f"epsilon {plain(found.epsilon)}"
    delta, times = plain(found.delta), several(rounds, round_.noun)
    lines = [
        wrapped(f"{value} is certified to meet {target} at delta {delta} ({round_.relation})."),
        "",
        wrapped(
            f"{times} of {round_.participants}, {round_.inside}; {round_.relation} neighbours; "
            "shuffledp epsilon states what is assumed",
            *("  for          ", 15),
        ),
        wrapped(
            f"{bracket(found.achieved)}; below the target by {rounded_down(found.room, 3)}",
            *("  bracket      ", 15),
        ),
    ]
    if found.beyond is None or found.beyond_achieved is None:
        lines.append("  next value   none: this is the last value that is supported")
    else:
        step = (
            f"{name} = {_shown(found.beyond)} is not certified at rtol {plain(rtol)}: "
            f"{bracket(found.beyond_achieved)}"
        )
        lines.append(wrapped(step, "  next value   ", 15))
    return "\n".join(lines)
