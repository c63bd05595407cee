"""`shuffledp calibrate`."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidParameter
from ..shuffle import Shuffle
from ..tools.calibrate import (
    Calibration,
    calibrate_eps0,
    calibrate_gamma,
    calibrate_rounds,
    calibrate_sample_rate,
    calibrate_sigma,
    calibrate_users,
)
from ..tools.options import (
    JSON,
    KIND,
    PEOPLE,
    RANDOMIZERS,
    RTOL,
    SAMPLING,
    Number,
    build,
    options,
    round_options,
)
from ..tools.statement import rounded_down, rounded_up
from .report import json_report

_FAMILIES = {"eps0": calibrate_eps0, "gamma": calibrate_gamma, "sigma": calibrate_sigma}
_EXTREME = {
    "eps0": "largest",
    "gamma": "smallest",
    "sigma": "smallest",
    "users": "smallest",
    "rounds": "largest",
    "sample_rate": "largest",
}
_FIND = [name.replace("_", "-") for name in _EXTREME]


@click.command()
@click.option("--find", required=True, type=click.Choice(_FIND), help="What to look for.")
@options(*KIND, *SAMPLING, *PEOPLE)
@click.option("--users", type=Number(whole=True), help="Users in each round.")
@click.option("--rounds", type=Number(whole=True), help="How many rounds are composed.  [1]")
@click.option("--epsilon", type=Number(), required=True, help="The target: at most this epsilon")
@click.option("--delta", type=Number(), required=True, help="at this delta.")
@options(RTOL, JSON)
def calibrate(
    find: str, epsilon: float, delta: float, rtol: float, as_json: bool, **given: Any
) -> None:
    """The largest or smallest value of one parameter that meets a target.

    \b
      shuffledp calibrate --find eps0 --users 1e6 --rounds 8 --epsilon 1 --delta 1e-8
      shuffledp calibrate --find users --eps0 4 --epsilon 0.5 --delta 1e-6
      shuffledp calibrate --find gamma --randomizer rr --k 4 --users 1e4 --epsilon 1 --delta 1e-6
    """
    name = find.replace("-", "_")
    if given[name] is not None:
        raise InvalidParameter(f"--{find} is what --find {find} looks for; leave it out.")
    if name != "users" and given["users"] is None:
        raise InvalidParameter(f"--find {find} needs --users; add it.")
    target = {"epsilon": epsilon, "delta": delta, "rtol": rtol}
    found = _find(name, target, **given)
    if as_json:
        click.echo(json_report("calibrate", _answer(found), {**given, "rtol": rtol}))
    else:
        click.echo(_sentences(found))


def _find(
    name: str,
    target: dict[str, Any],
    *,
    randomizer: str,
    users: int | None,
    rounds: int | None,
    **parameters: Any,
) -> Calibration:
    kept = round_options(parameters)
    rounds = 1 if rounds is None else rounds
    size: Any = users
    if name in _FAMILIES:
        _check_has(randomizer, name)
        given = {key: value for key, value in parameters.items() if key != name}

        def family(**value: float) -> Any:
            return build(randomizer, {**given, **value})

        return _FAMILIES[name](family, size, rounds=rounds, **target, **kept)
    made = build(randomizer, parameters)
    if name == "users":
        return calibrate_users(made, rounds=rounds, **target, **kept)
    if name == "rounds":
        return calibrate_rounds(Shuffle(made, size, **kept), **target)
    return calibrate_sample_rate(made, size, rounds=rounds, **target, **kept)


def _check_has(randomizer: str, name: str) -> None:
    _, needed, possible = RANDOMIZERS.get(randomizer, (None, {name}, set()))
    if name not in needed | possible:
        raise InvalidParameter(
            f"--find {name} does not go with --randomizer {randomizer}, which has "
            f"{', '.join(sorted(needed | possible))}; look for another parameter."
        )


def _answer(found: Calibration) -> dict[str, Any]:
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
        "beyond_upper": None if beyond is None else beyond.upper,
    }


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else repr(value)


def _sentences(found: Calibration) -> str:
    name, low, high = found.parameter, found.achieved.lower, found.achieved.upper
    extreme = _EXTREME[name]
    lines = [
        f"{name} = {_shown(found.value)} is the {extreme} that is certified to meet epsilon "
        f"{found.epsilon:g} at delta {found.delta:g} (replace-one).",
        "",
        f"  there        {rounded_down(low, 7)} <= epsilon <= {rounded_up(high, 7)}; room left: "
        f"{rounded_down(found.room, 3)}",
    ]
    if found.beyond is None or found.beyond_achieved is None:
        lines.append("  beyond       nothing: it is the last value that is supported")
    else:
        over = found.beyond_achieved
        lines.append(
            f"  one step on  {name} = {_shown(found.beyond)} has "
            f"{rounded_down(over.lower, 7)} <= epsilon <= {rounded_up(over.upper, 7)}"
        )
    return "\n".join(lines)
