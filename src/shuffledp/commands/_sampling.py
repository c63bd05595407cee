"""Options of a round that only some commands had to begin with."""

from __future__ import annotations

from typing import Any

import click

from .._options import Number

SAMPLING = (
    click.option("--sample-rate", type=Number(), help="Share of the users that send each round."),
    click.option("--sampling", help="fixed or poisson: how these are drawn.  [fixed]"),
)


def round_options(analysis: str, sample_rate: float | None, sampling: str | None) -> dict[str, Any]:
    """Keyword arguments of Shuffle: those that were given."""
    given = {"analysis": analysis, "sample_rate": sample_rate, "sampling": sampling}
    return {name: value for name, value in given.items() if value is not None}
