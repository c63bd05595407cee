"""One row of a sweep: parameters in, certified bounds or the reason why not out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..accountant import repeated
from ..errors import InvalidParameter, NotCertified, ShuffleDPError
from ..randomizers.base import parameter_names
from .protocol import ROUND_OPTIONS, round_of

#: The parameters of a row, and the row itself.
Case = dict[str, Any]
Row = dict[str, Any]


def query_of(names: Sequence[str]) -> str:
    """What is asked for: epsilon if delta is given, and the other way round."""
    known = (
        "randomizer",
        *parameter_names(),
        "users",
        "rounds",
        *ROUND_OPTIONS,
        "epsilon",
        "delta",
    )
    for name in names:
        if name not in known:
            raise InvalidParameter(
                f"a sweep has no parameter {name!r}; the known ones are {', '.join(known)}."
            )
    if ("delta" in names) == ("epsilon" in names):
        raise InvalidParameter(
            "a sweep needs either delta, to find epsilon, or epsilon, to find delta; give one."
        )
    if "users" not in names:
        raise InvalidParameter("a sweep needs users; add it.")
    return "epsilon" if "delta" in names else "delta"


def columns(case: Case) -> list[str]:
    query = query_of([name for name in case if name != "rtol"])
    return [*case, f"{query}_lower", f"{query}_upper", "error"]


def evaluate(case: Case) -> Row:
    """Never raises because of the case: a sweep goes on."""
    lower, upper, error = None, None, ""
    try:
        lower, upper = _bounds(case)
    except NotCertified as failure:
        (lower, upper), error = failure.bounds, str(failure)
    except ShuffleDPError as failure:
        error = str(failure)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    results = [lower, upper, " ".join(error.split())]
    return dict(zip(columns(case), [*case.values(), *results], strict=True))


def _bounds(case: Case) -> tuple[float, float]:
    accountant = repeated(round_of(case), case.get("rounds", 1))
    if "delta" in case:
        return accountant.epsilon_bounds(case["delta"], rtol=case["rtol"])
    return accountant.delta_bounds(case["epsilon"], rtol=case["rtol"])
