"""`shuffledp simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import click
import numpy as np
from numpy.typing import NDArray

from .._support.files import read_numbers
from .._support.json_types import Bracket, Natural, Probability, RoundsAsked, Value
from .._support.progress import progress
from .._support.text import PAGE, plain, rounded_up, several, wrapped
from ..accountant import repeated
from ..errors import InvalidParameter
from ..guarantee import best_effort
from ..records import USER_ROUNDS
from ..rounds import RoundOfUsers
from ..tools.simulate import simulate as run
from ..tools.statement import claim
from .figure import PICTURE, draw
from .options import (
    DELTA,
    JSON,
    ROUNDS,
    RTOL,
    command,
    make_round,
    number,
    options,
    round_options,
)
from .report import epsilon_shortfall, print_answer

_VALUES = click.option(
    "--values",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    required=True,
    help="CSV: one value a line, as the randomizer takes it; a line of names may come first.",
)
_USERS = number("users", "Users in the round.", whole=True, show_default="as many as values")
_SEED = number("seed", "Repeat the same simulation.  [default: fresh bits]", whole=True)


Estimates = Literal["counts", "means", "counts and means"]


class SimulateAnswer(Bracket, RoundsAsked):
    """What `shuffledp simulate` answers."""

    delta: Probability
    senders: Natural
    estimates: Estimates
    questions: Sequence[Natural] | None
    """the question that each number belongs to; null if there is one"""
    true: Sequence[float]
    estimated: Sequence[float]
    standard_errors: Sequence[Value]
    """of means: the largest over all data"""
    root_mean_square_error: Value | None
    """of all estimates; null if some are counts and others means"""
    expected_error: Value | None
    """root mean square of the standard errors; null like that"""
    values: str
    """the file that they were read from"""
    seed: int | None


@command()
@options(*round_options(), _USERS, ROUNDS, RTOL, JSON, DELTA, _VALUES, _SEED, *PICTURE)
def simulate(
    values: str,
    seed: int | None,
    rounds: int,
    delta: float,
    rtol: float,
    form: str,
    picture: str | None,
    **given: Any,
) -> None:
    """Simulate a round on your own data: true and estimated values, with the guarantee.

    As many users as may drop out do, drawn at random; colluding users send as the protocol says.

    \b
      shuffledp simulate --values data.csv --randomizer rr --k 100 --eps0 9 --delta 1e-8
    """
    if given["view"] not in (None, *USER_ROUNDS):
        raise InvalidParameter(
            f"--view {given['view']} has no randomizer to simulate; "
            f"choose {' or '.join(USER_ROUNDS)}."
        )
    data = read_values(values)
    if given["users"] is None:
        given["users"] = len(data)
    round_ = make_round(given)
    if seed is not None and seed < 0:
        raise InvalidParameter(f"seed={seed} is below 0; give a whole number >= 0.")
    if data.ndim > 1 and not cast(RoundOfUsers, round_).randomizer.client.rank:
        raise InvalidParameter(
            f"values {values} has {data.shape[1]} columns; {given['randomizer']} takes one value "
            "per line."
        )
    rng = None if seed is None else np.random.default_rng(seed)
    found = run(cast(RoundOfUsers, round_), data, rng)
    bounds = best_effort(repeated(round_, rounds).epsilon_bounds, delta, rtol=rtol)
    shortfall = epsilon_shortfall(delta, bounds, rtol)
    draw(found.plot, picture)
    answer: SimulateAnswer = {
        "delta": delta,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "senders": found.senders,
        "estimates": cast(Estimates, found.estimates),
        "questions": found.question_of or None,
        "true": found.true.tolist(),
        "estimated": found.estimated.tolist(),
        "standard_errors": found.standard_errors.tolist(),
        "root_mean_square_error": found.root_mean_square_error,
        "expected_error": found.expected_error,
        "rounds": rounds,
        "rtol": rtol,
        "values": values,
        "seed": seed,
    }
    why = "ask with another delta or randomizer."
    claimed = claim(rounded_up(float(bounds.upper)), plain(delta), why)
    of = f"That is for {several(rounds, round_.noun)} of {round_.participants}. One is simulated:"
    text = f"{claimed}\n{wrapped(of, piped=PAGE)}\n\n{found}"
    print_answer("simulate", text, form, answer, round_, shortfall=shortfall)


def read_values(path: str) -> NDArray[Any]:
    """One value a line: whole numbers if all are, else floats; vectors if lines have several."""
    with progress("reading values"):
        give = "one number per value, such as 0 to k - 1 for k categories, instead of names"
        rows = read_numbers(path, f"values {path}", give)
    if not rows.size:
        raise InvalidParameter(f"values {path} has no values; give one a line.")
    data = rows[:, 0] if rows.shape[1] == 1 else rows
    whole = np.abs(data).max() < 2**53 and bool((data == np.floor(data)).all())
    return data.astype(np.int64) if whole else data
