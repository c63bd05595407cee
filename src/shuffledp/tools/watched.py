"""What an audit looks at: some values, events that messages are sorted into, and their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..clients.base import whole_messages
from ..clients.bits import BitsClient
from ..clients.dummies import DummiesClient
from ..clients.matrix_client import MatrixClient
from ..clients.noisy import NoisyClient, NoisyVectorClient
from ..engines.tails import noise_tails
from ..errors import InvalidParameter
from ..laws.integer_noise import FairCoins, IntegerShare, PolyaDifference
from ..profiles.shifted_noise import PolyaProfile
from ..randomizers import (
    HadamardResponse,
    MembershipRandomizer,
    NoiseShares,
    RandomizedResponse,
    Randomizer,
)
from ..randomizers.questionnaire import Questionnaire

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

    @property
    def size(self) -> int:
        """The number of events."""
        return len(self.events)


def watched(randomizer: Randomizer) -> Watched:
    """Every output if there are few, else what the messages support."""
    if isinstance(randomizer, Questionnaire):
        return _answered(randomizer)
    client = randomizer.client
    if isinstance(client, MatrixClient):
        return _outputs(client.rows)
    if isinstance(randomizer, (RandomizedResponse, HadamardResponse)):
        matrix = randomizer.exact()
        if matrix.outputs <= MOST_OUTPUTS:
            return _outputs(np.array(matrix.make(), dtype=float))
    if isinstance(client, BitsClient) and client.ones > 1:
        return _two_bits(client)
    if isinstance(randomizer, MembershipRandomizer):
        return _supported(randomizer)
    if isinstance(client, NoisyClient):
        return _ranges(client)
    if isinstance(client, NoisyVectorClient):
        return _first_coordinate(client)
    if isinstance(randomizer, NoiseShares):
        return _first_column(randomizer)
    if isinstance(client, DummiesClient):
        raise InvalidParameter(
            f"{randomizer!r} sends any number of messages a user, and audit asks for one; count "
            "the dummies of your client yourself."
        )
    raise InvalidParameter(
        f"{randomizer!r} has messages that audit cannot tell apart; give a named randomizer or a "
        "matrix."
    )


def _answered(randomizer: Questionnaire) -> Watched:
    """What the answer to each question is, together; or which question was answered, and how."""
    client, count = randomizer.client, len(randomizer.questions)
    chances = [float(chance) for chance in getattr(client, "chances", ())]
    bundled = not chances
    room = int(MOST_OUTPUTS ** (1 / count) + 1e-9) if bundled else MOST_OUTPUTS // count
    if room < 2:
        raise InvalidParameter(
            f"{count} answers in one message are too many to be told apart at once; audit bundles "
            f"of at most {MOST_OUTPUTS.bit_length() - 1} of the questions."
        )
    parts = [_grouped(watched(question), room) for question in randomizer.questions]
    picked = [[i % len(part.values) for part in parts] for i in range(_most_values(parts))]
    values = [tuple(part.values[i] for part, i in zip(parts, row, strict=True)) for row in picked]
    laws = [[part.law[i] for part, i in zip(parts, row, strict=True)] for row in picked]
    sizes = [len(part.events) for part in parts]
    if bundled:
        names = [" and ".join(each) for each in product(*(part.events for part in parts))]
        law = np.array([reduce(np.multiply.outer, row).ravel() for row in laws])
    else:
        names = [f"question {j}: {event}" for j, part in enumerate(parts) for event in part.events]
        law = np.array(
            [np.concatenate([c * p for c, p in zip(chances, row, strict=True)]) for row in laws]
        )

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        answers = client.answers(messages)
        found = [part.sort(sent) for part, sent in zip(parts, answers, strict=True)]
        if bundled:
            return np.asarray(np.ravel_multi_index(found, sizes), dtype=np.int64)
        starts = np.cumsum([0, *sizes[:-1]])
        return np.concatenate([start + events for start, events in zip(starts, found, strict=True)])

    return Watched(values, names, law, sort)


def _most_values(parts: list[Watched]) -> int:
    return max(len(part.values) for part in parts)


def _grouped(part: Watched, most: int) -> Watched:
    """The same with at most so many events: neighbours count as one."""
    events = len(part.events)
    if events <= most:
        return part
    group = np.arange(events) * most // events
    law = np.array([np.bincount(group, row, most) for row in part.law])
    names = [" or ".join(np.array(part.events)[group == i]) for i in range(most)]
    return Watched(part.values, names, law, lambda messages: group[part.sort(messages)])


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


def _two_bits(client: BitsClient) -> Watched:
    """The first and the last bit, of vectors with as many ones at the beginning or at the end."""
    k, count = client.k, min(client.ones, client.k - 1)
    vectors = [[1] * count + [0] * (k - count), [0] * (k - count) + [1] * count]
    p, q = float(client.p), float(client.q)
    rows = []
    for vector in vectors:
        first, last = (p if vector[i] else q for i in (0, -1))
        rows.append(
            [(1 - first) * (1 - last), (1 - first) * last, first * (1 - last), first * last]
        )

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        first, last = (client.supports(messages, bit) for bit in (0, k - 1))
        return np.asarray(2 * first + last, dtype=np.int64)

    names = [f"first bit {i} and last bit {j}" for i in (0, 1) for j in (0, 1)]
    return Watched(vectors, names, np.array(rows), sort)


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
        steps = [0.0, *(below(math.ldexp(edge - start, -client.digits)) for edge in edges), 1.0]
        rows.append(np.diff(steps))
    names = ["below 0", *(f"in {i}/4 to {i + 1}/4" for i in range(4)), "above 1"]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        array = whole_messages(messages, (), None).astype(np.int64)
        return np.searchsorted(np.array(edges), array, side="right")

    return Watched([0.0, 1.0], names, np.array(rows), sort)


def _first_coordinate(client: NoisyVectorClient) -> Watched:
    """The quarters of [-1, 1] in which the first coordinate is, of two opposite vectors."""
    noise, rest = client.noise, [0.0] * (client.dimension - 1)
    edges = [round(noise.steps * i / 2) for i in range(-2, 3)]
    rows = []
    for start in (noise.steps, -noise.steps):
        scaled = (math.ldexp(start - edge, -noise.digits) / math.sqrt(2) for edge in edges)
        rows.append(np.diff([0.0, *(math.erfc(t) / 2 for t in scaled), 1.0]))
    names = ["below -1", *(f"in {i}/2 to {i + 1}/2" for i in range(-2, 2)), "above 1"]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        array = whole_messages(messages, (client.dimension,), None).astype(np.int64)
        return np.searchsorted(np.array(edges), array[:, 0], side="right")

    return Watched([[1.0, *rest], [-1.0, *rest]], names, np.array(rows), sort)


def _first_column(randomizer: NoiseShares) -> Watched:
    """What is sent to the first column: single numbers about the mean, or groups of them."""
    mean, variance = randomizer.shared.moments
    step = max(1, math.ceil(math.sqrt(variance) / 4))
    edges = round(mean) + step * np.arange(-20, 22)
    values, adds = _telling_values(randomizer)
    rows = []
    for added in adds:
        reached = np.array([1.0, *_survival(randomizer.share, edges - added), 0.0])
        rows.append(np.maximum(-np.diff(reached), 0.0))
    names = [f"below {edges[0]}", *(f"in {a} .. {b - 1}" for a, b in pairwise(edges.tolist()))]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        columns = randomizer.k or randomizer.dimension
        shape = () if columns is None else (columns,)
        array = whole_messages(messages, shape, None).astype(np.int64)
        return np.searchsorted(edges, array if columns is None else array[:, 0], side="right")

    return Watched(values, [*names, f"from {edges[-1]} on"], np.array(rows), sort)


def _telling_values(randomizer: NoiseShares) -> tuple[list[Any], list[int]]:
    """Two values, and what each of them adds to the first column."""
    if randomizer.norm is not None:
        rest, length = [0] * (randomizer.dimension - 1), math.floor(randomizer.norm)
        return [[length, *rest], [-length, *rest]], [length, -length]
    if randomizer.largest is not None:
        return [0, randomizer.largest], [0, randomizer.largest]
    return [0, 1], [1, 0]


def _survival(share: IntegerShare, edges: NDArray[Any]) -> Array:
    """The probabilities that a share is at least each of these numbers."""
    if isinstance(share, PolyaDifference):
        half = np.exp(PolyaProfile(share, 1).log_masses()[0])
        above = np.append(np.cumsum(half[::-1])[::-1], 0.0)
        place = np.minimum(np.where(edges > 0, edges, 1 - edges), len(half)).astype(np.int64)
        reached = above[place]
        return np.where(edges > 0, reached, 1 - reached)
    x = edges - (share.coins / 2 if isinstance(share, FairCoins) else 0.0)
    place = np.where(x > 0, x, 1 - x)
    inside = place <= share.top
    found = np.exp(noise_tails(share, np.where(inside, place, 1 - share.offset)).log_value) * inside
    return np.where(x > 0, found, 1 - found)
