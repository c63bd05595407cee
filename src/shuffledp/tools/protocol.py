"""One cell of a sweep: parameters in, a row with certified bounds or the reason why not out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..accountant import composed
from ..errors import InvalidParameter, NotCertified, ShuffleDPError
from ..shuffle import Shuffle
from .options import RANDOMIZERS, ROUND_OPTIONS, build

Cell = dict[str, Any]
Row = dict[str, Any]

PARAMETERS = tuple(sorted(set().union(*(a | b for _, a, b in RANDOMIZERS.values()))))
COUNTS = ("users", "rounds", "k", "size", "g", "messages")
KNOWN = ("randomizer", *PARAMETERS, "users", "rounds", *ROUND_OPTIONS, "epsilon", "delta")


def round_of(given: Mapping[str, Any]) -> Shuffle:
    """The round that parameters by name describe, of pure-ldp if no randomizer is named."""
    parameters = {name: given[name] for name in PARAMETERS if name in given}
    options = {name: given[name] for name in ROUND_OPTIONS if name in given}
    randomizer = build(given.get("randomizer", "pure-ldp"), parameters, dash="")
    return Shuffle(randomizer, given["users"], **options)


def query_of(names: Sequence[str]) -> str:
    """What is asked for: epsilon if delta is given, and the other way round."""
    for name in names:
        if name not in KNOWN:
            raise InvalidParameter(
                f"a sweep has no parameter {name!r}; the known ones are {', '.join(KNOWN)}."
            )
    if ("delta" in names) == ("epsilon" in names):
        raise InvalidParameter(
            "a sweep needs either delta, to find epsilon, or epsilon, to find delta; give one."
        )
    if "users" not in names:
        raise InvalidParameter("a sweep needs users; add it.")
    return "epsilon" if "delta" in names else "delta"


def columns(cell: Cell) -> list[str]:
    query = query_of([name for name in cell if name != "rtol"])
    return [*cell, f"{query}_lower", f"{query}_upper", "error"]


def evaluate(cell: Cell) -> Row:
    """Never raises because of the cell: a sweep goes on."""
    lower, upper, error = None, None, ""
    try:
        lower, upper = _bounds(cell)
    except NotCertified as failure:
        (lower, upper), error = failure.bounds, str(failure)
    except ShuffleDPError as failure:
        error = str(failure)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    results = [lower, upper, " ".join(error.split())]
    return dict(zip(columns(cell), [*cell.values(), *results], strict=True))


def _bounds(cell: Cell) -> tuple[float, float]:
    accountant = composed(round_of(cell), cell.get("rounds", 1))
    if "delta" in cell:
        return accountant.epsilon_bounds(cell["delta"], rtol=cell["rtol"])
    return accountant.delta_bounds(cell["epsilon"], rtol=cell["rtol"])
