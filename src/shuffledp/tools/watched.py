"""What an audit looks at: a few values, events that messages are sorted into, and their law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..clients.base import whole_messages
from ..clients.dummies import DummiesClient
from ..clients.matrix_client import MatrixClient
from ..clients.noisy import DIGITS, NoisyClient
from ..errors import InvalidParameter
from ..randomizers import (
    HadamardResponse,
    MembershipRandomizer,
    RandomizedResponse,
    Randomizer,
)

#: Up to so many outputs each one is looked at.
MOST_OUTPUTS = 256
#: Of so many values at most, spread over all of them.
MOST_VALUES = 4


@dataclass(frozen=True)
class Watched:
    """Events are fixed before any message is seen."""

    values: list[Any]
    events: list[str]
    law: Array  # [values, events], of the randomizer by its definition
    sort: Callable[[NDArray[Any]], NDArray[np.int64]]  # the event of each message


def watched(randomizer: Randomizer) -> Watched:
    """Every output if there are few, else what the messages support."""
    client = randomizer.client
    if isinstance(client, MatrixClient):
        return _outputs(client.rows)
    if isinstance(randomizer, (RandomizedResponse, HadamardResponse)):
        matrix = randomizer.exact()
        if matrix.outputs <= MOST_OUTPUTS:
            return _outputs(np.array(matrix.make(), dtype=float))
    if isinstance(randomizer, MembershipRandomizer):
        return _supported(randomizer)
    if isinstance(client, NoisyClient):
        return _ranges(client)
    if isinstance(client, DummiesClient):
        raise InvalidParameter(
            f"{randomizer!r} sends any number of messages a user, and audit asks for one; count "
            "the dummies of your client yourself."
        )
    raise InvalidParameter(
        f"{randomizer!r} has messages that audit cannot tell apart; give a named randomizer or a "
        "matrix."
    )


def _outputs(rows: Array) -> Watched:
    """Every output; or groups of neighbours, if there are too many."""
    inputs, outputs = rows.shape
    step = max(1, (inputs - 1) // (MOST_VALUES - 1))
    values = sorted({*range(0, inputs, step)[: MOST_VALUES - 1], inputs - 1})
    groups = min(outputs, MOST_OUTPUTS)
    group = np.arange(outputs) * groups // outputs
    law = np.array([np.bincount(group, rows[value], groups) for value in values])
    names = [f"output {y}" for y in range(groups)]
    if groups < outputs:
        first = np.searchsorted(group, np.arange(groups + 1))
        names = [f"outputs {a} to {b - 1}" for a, b in pairwise(first)]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = group[whole_messages(messages, (), outputs)]
        return found

    return Watched(list(values), names, law, sort)


def _supported(randomizer: MembershipRandomizer) -> Watched:
    """Which of two or three values a message supports."""
    client, values = randomizer.client, randomizer.telling_values()
    patterns = list(product((0, 1), repeat=len(values)))
    base = np.array([randomizer.base_mass(sum(p), len(values)) for p in patterns])
    law = base * randomizer.ratio ** np.array(patterns).T
    names = [_named(pattern) for pattern in patterns]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        found = np.zeros(messages.shape[:1], dtype=np.int64)
        for value in values:
            found = 2 * found + client.supports(messages, value)
        return found

    return Watched(values, names, law, sort)


def _named(pattern: tuple[int, ...]) -> str:
    inside = [("first", "second", "third")[i] for i, held in enumerate(pattern) if held]
    return f"support of the {' and '.join(inside)} value" if inside else "support of none"


def _ranges(client: NoisyClient) -> Watched:
    """In which quarter of [0, 1], or on which side of it, the noisy number is."""
    edges = [round(client.steps * i / 4) for i in range(5)]

    def below(t: float) -> float:
        if client.gaussian:
            return math.erfc(-t / math.sqrt(2)) / 2
        return math.exp(t) / 2 if t < 0 else 1 - math.exp(-t) / 2

    rows = []
    for start in (0, client.steps):
        steps = [0.0, *(below(math.ldexp(edge - start, -DIGITS)) for edge in edges), 1.0]
        rows.append(np.diff(steps))
    names = ["below 0", *(f"in {i}/4 to {i + 1}/4" for i in range(4)), "above 1"]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        array = whole_messages(messages, (), None).astype(np.int64)
        return np.searchsorted(np.array(edges), array, side="right")

    return Watched([0.0, 1.0], names, np.array(rows), sort)
