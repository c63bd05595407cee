"""Fewer combinations of parameters than all, with every pair of them."""

from collections.abc import Sequence
from itertools import product
from typing import Any


def covering(*axes: Sequence[Any], every: int = 2) -> list[tuple[Any, ...]]:
    """Return the combinations whose indices add up to a multiple of `every`, and all corners.

    Where each of three or more axes has at least `every` values, any value of one axis meets any
    value of each other axis.
    """
    chosen = []
    for places in product(*(range(len(axis)) for axis in axes)):
        corner = all(i in (0, len(axis) - 1) for i, axis in zip(places, axes, strict=True))
        if corner or sum(places) % every == 0:
            chosen.append(tuple(axis[i] for i, axis in zip(places, axes, strict=True)))
    return chosen
