"""`shuffledp simulate`."""

from __future__ import annotations

from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from .._support.files import read_numbers
from .._support.progress import progress
from .._support.text import plain, rounded_up
from ..accountant import repeated
from ..errors import InvalidParameter
from ..guarantee import anyway
from ..records import OF_USERS
from ..rounds import RoundOfUsers
from ..tools.simulate import simulate as run
from ..tools.statement import claim
from .figure import PICTURE, draw
from .options import DELTA, PROTOCOL, command, number, options, take_round
from .report import end_unless_answered, epsilon_shortfall, json_report

_VALUES = click.option(
    "--values",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    required=True,
    help="CSV: one value a line, as the randomizer takes it; a line of names may come first.",
)
_SEED = number("seed", "Repeat the same simulation.  [default: fresh bits]", whole=True)


@command()
@options(*PROTOCOL, DELTA, _VALUES, _SEED, *PICTURE)
def simulate(
    values: str,
    seed: int | None,
    rounds: int,
    delta: float,
    rtol: float,
    as_json: bool,
    picture: str | None,
    **given: Any,
) -> None:
    """One round on data of your own: true against estimated, beside the certified guarantee.

    Without --users there are as many as values.

    \b
      shuffledp simulate --values data.csv --randomizer rr --k 100 --eps0 9 --delta 1e-8
    """
    if given["view"] not in (None, *OF_USERS):
        raise InvalidParameter(
            f"--view {given['view']} has no randomizer to simulate; choose {' or '.join(OF_USERS)}."
        )
    data = read_values(values)
    if given["users"] is None:
        given["users"] = len(data)
    round_ = take_round(given)
    if seed is not None and seed < 0:
        raise InvalidParameter(f"seed={seed} is below 0; give a whole number >= 0.")
    rng = None if seed is None else np.random.default_rng(seed)
    found = run(cast(RoundOfUsers, round_), data, rng)
    bounds = anyway(repeated(round_, rounds).epsilon_bounds, delta, rtol=rtol)
    shortfall = epsilon_shortfall(delta, bounds, rtol)
    draw(found.plot, picture)
    if as_json:
        answer = {
            "delta": delta,
            "lower": bounds.lower,
            "upper": bounds.upper,
            "senders": found.senders,
            "estimates": "counts" if found.counted else "means",
            "true": found.true,
            "estimated": found.estimated,
            "standard_errors": found.standard_errors,
        }
        asked: dict[str, Any] = {"rounds": rounds, "rtol": rtol, "values": values, "seed": seed}
        click.echo(json_report("simulate", answer, round_, error=shortfall, **asked))
    else:
        why = "ask with another delta or randomizer."
        said = claim(rounded_up(float(bounds.upper)), plain(delta), why)
        click.echo(f"{said}\n\n{found}")
    end_unless_answered(shortfall)


def read_values(path: str) -> NDArray[Any]:
    """One value a line: whole numbers if all are, else floats; vectors if lines have several."""
    with progress("reading values"):
        rows = read_numbers(path, f"values {path}")
    if not rows.size:
        raise InvalidParameter(f"values {path} has no values; give one a line.")
    data = rows[:, 0] if rows.shape[1] == 1 else rows
    whole = np.abs(data).max() < 2**53 and bool((data == np.floor(data)).all())
    return data.astype(np.int64) if whole else data
