"""What an audit tries: values, events that messages are sorted into, and their laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from ..clients.interval import IntervalClient
from ..clients.matrix_client import MatrixClient
from ..clients.noisy import NoisyClient, NoisyVectorClient
from ..clients.one_bit_client import OneBitClient
from ..engines.tails import noise_tails
from ..errors import InvalidParameter
from ..laws.integer_noise import FairCoins, IntegerShare, PolyaDifference
from ..profiles.shifted_noise import PolyaProfile
from ..randomizers import (
    HadamardResponse,
    LocalHashing,
    MembershipRandomizer,
    NoiseShares,
    PrivUnit,
    RandomizedResponse,
    Randomizer,
)
from ..randomizers.questionnaire import Questionnaire

#: Up to so many outputs each one is looked at.
MOST_OUTPUTS = 256
#: Up to so many values all are tried; of more, so many that are spread over all of them.
MOST_VALUES = 64
#: Confidence intervals, one for each value and output, of which there may be fewer values.
_MOST_INTERVALS = 4096
#: Values of a histogram of sums, whose messages have a number for each value.
_MOST_COLUMNS = 16
#: The numbers in [0, 1] that are tried.
_NUMBERS = [i / 10 for i in range(11)]


@dataclass(frozen=True)
class Watched:
    """Values, and the events that their messages are sorted into, fixed before any is seen."""

    values: list[Any]
    events: list[str]
    law: Array  # [values, events], of the randomizer by its definition
    sort: Callable[[NDArray[Any]], NDArray[np.int64]]  # the event of each message


@dataclass(frozen=True)
class Tried:
    """All values that an audit tries, in groups with the same events."""

    groups: Sequence[Watched]
    of: float = math.inf  # number of values that users may have
    noun: str = "value"

    @property
    def size(self) -> int:
        """Number of values that are tried."""
        return sum(len(group.values) for group in self.groups)

    @property
    def untested(self) -> str:
        """Sentence about the values that are not tried; empty if all are."""
        rest = self.of - self.size
        if math.isinf(rest):
            return f"Other {self.noun}s were not tested."
        if rest == 1:
            return f"The other {self.noun} was not tested."
        return f"The other {rest:,} {self.noun}s were not tested." if rest else ""


def tried(randomizer: Randomizer) -> Tried:
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
        return Tried([_two_bits(client)], noun="vector")
    if isinstance(client, OneBitClient):
        return Tried([_bits_of_numbers(client)], noun="number")
    if isinstance(client, IntervalClient):
        return Tried([_windows(client)], noun="number")
    if isinstance(randomizer, PrivUnit):
        return Tried([_supported(randomizer, randomizer.telling_values())], noun="vector")
    if isinstance(randomizer, MembershipRandomizer):
        return _pairs(randomizer)
    if isinstance(client, NoisyClient):
        return Tried([_ranges(client)], noun="number")
    if isinstance(client, NoisyVectorClient):
        return Tried([_first_coordinate(client)], noun="vector")
    if isinstance(randomizer, NoiseShares):
        return _columns(randomizer)
    if isinstance(client, DummiesClient):
        raise InvalidParameter(
            f"{randomizer!r} sends any number of messages a user, and audit asks for one; count "
            "the dummies of your client yourself."
        )
    raise InvalidParameter(
        f"{randomizer!r} has messages that audit cannot tell apart; give a named randomizer or a "
        "matrix."
    )


def _spread(values: int, most: int) -> list[int]:
    """All whole numbers below `values`; if there are too many, some with equal distances."""
    if values <= most:
        return list(range(values))
    return [i * (values - 1) // (most - 1) for i in range(most)]


def spread_pairs(values: int, most: int = MOST_VALUES) -> list[list[int]]:
    """Those values in groups of two, or one group of three."""
    chosen = _spread(values, most)
    return [part.tolist() for part in np.array_split(chosen, max(len(chosen) // 2, 1))]


def _answered(randomizer: Questionnaire) -> Tried:
    """What the answer to each question is, together; or which question was answered, and how."""
    each = [tried(question) for question in randomizer.questions]
    most = max(len(one.groups) for one in each)
    together = [[one.groups[i % len(one.groups)] for one in each] for i in range(most)]
    groups = [_answered_group(randomizer, parts) for parts in together]
    return Tried(groups)


def _answered_group(randomizer: Questionnaire, parts: Sequence[Watched]) -> Watched:
    client, count = randomizer.client, len(randomizer.questions)
    chances = [float(chance) for chance in getattr(client, "chances", ())]
    bundled = not chances
    room = int(MOST_OUTPUTS ** (1 / count) + 1e-9) if bundled else MOST_OUTPUTS // count
    if room < 2:
        raise InvalidParameter(
            f"{count} answers in one message are too many to be told apart at once; audit bundles "
            f"of at most {MOST_OUTPUTS.bit_length() - 1} of the questions."
        )
    parts = [_grouped(part, room) for part in parts]
    sizes = [len(part.events) for part in parts]
    events = math.prod(sizes) if bundled else sum(sizes)
    most = max(len(part.values) for part in parts)
    chosen = _spread(most, max(2, _MOST_INTERVALS // events))
    picked = [[i % len(part.values) for part in parts] for i in chosen]
    values = [tuple(part.values[i] for part, i in zip(parts, row, strict=True)) for row in picked]
    laws = [[part.law[i] for part, i in zip(parts, row, strict=True)] for row in picked]
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


def _grouped(part: Watched, most: int) -> Watched:
    """The same with at most so many events: neighbours count as one."""
    events = len(part.events)
    if events <= most:
        return part
    group = np.arange(events) * most // events
    law = np.array([np.bincount(group, row, most) for row in part.law])
    names = [" or ".join(np.array(part.events)[group == i]) for i in range(most)]
    return Watched(part.values, names, law, lambda messages: group[part.sort(messages)])


def _outputs(rows: Array) -> Tried:
    """Every output; or groups of neighbours, if there are too many."""
    inputs, outputs = rows.shape
    groups = min(outputs, MOST_OUTPUTS)
    values = _spread(inputs, min(MOST_VALUES, _MOST_INTERVALS // groups))
    group = np.arange(outputs) * groups // outputs
    law = np.array([np.bincount(group, rows[value], groups) for value in values])
    names = [f"output {y}" for y in range(groups)]
    if groups < outputs:
        first = np.searchsorted(group, np.arange(groups + 1))
        names = [f"outputs {a} to {b - 1}" for a, b in pairwise(first)]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = group[whole_messages(messages, (), outputs)]
        return found

    return Tried([Watched(list(values), names, law, sort)], inputs)


def _pairs(randomizer: MembershipRandomizer) -> Tried:
    """Which values of a pair, or of three, a message supports."""
    if isinstance(randomizer, LocalHashing):  # of any number of values
        pairs = spread_pairs(MOST_VALUES)
        groups = [_supported(randomizer, values) for values in pairs]
        return Tried(groups)
    groups = [_supported(randomizer, values) for values in spread_pairs(randomizer.k)]
    return Tried(groups, randomizer.k)


def _supported(randomizer: MembershipRandomizer, values: list[Any]) -> Watched:
    """Which of two or three values a message supports."""
    client = randomizer.client
    patterns = list(product((0, 1), repeat=len(values)))
    base = np.array([randomizer.base_mass(sum(p), len(values)) for p in patterns])
    law = base * randomizer.ratio ** np.array(patterns).T
    names = [_named(pattern, values) for pattern in patterns]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        found = np.zeros(messages.shape[:1], dtype=np.int64)
        for value in values:
            found = 2 * found + client.supports(messages, value)
        return found

    return Watched(values, names, law, sort)


def _bits_of_numbers(client: OneBitClient) -> Watched:
    """The two messages."""
    zero, one = client.line
    ones = [zero + number * (one - zero) for number in _NUMBERS]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        return whole_messages(messages, (), 2).astype(np.int64)

    law = np.array([[1 - chance, chance] for chance in ones])
    return Watched(list(_NUMBERS), ["output 0", "output 1"], law, sort)


def _windows(client: IntervalClient) -> Watched:
    """Between which ends of the windows of the numbers the cell is."""
    window, rest, cells = client.window, client.cells - client.window, client.cells
    places = [number * rest for number in _NUMBERS]  # rounded at random
    starts = {round(place) for place in places}
    edges = sorted({0, cells} | starts | {start + window for start in starts})
    inside = float(client.inside.probability)

    def law_of(start: int) -> Array:
        own = np.diff(np.clip(np.array(edges) - start, 0, window)) / window
        others = (np.diff(edges) - window * own) / rest
        return np.asarray(inside * own + (1 - inside) * others)

    law = [
        law_of(math.floor(place)) * (1 - place % 1) + law_of(math.ceil(place)) * (place % 1)
        for place in places
    ]
    names = [f"in {a / cells:.4g} to {b / cells:.4g} of the cells" for a, b in pairwise(edges)]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        array = whole_messages(messages, (), cells).astype(np.int64)
        return np.searchsorted(np.array(edges[1:-1]), array, side="right")

    return Watched(list(_NUMBERS), names, np.array(law), sort)


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


def _named(pattern: tuple[int, ...], values: list[Any]) -> str:
    if isinstance(values[0], list):  # vectors
        names = ["the first vector", "the second vector"]
    else:
        names = [str(value) for value in values]
    inside = [name for name, held in zip(names, pattern, strict=True) if held]
    if not inside:
        return f"support of none of {' and '.join(names)}"
    return f"support of {' and '.join(inside)}, of {' and '.join(names)}"


def _ranges(client: NoisyClient) -> Watched:
    """In which quarter of [0, 1], or on which side of it, the noisy number is."""
    edges = [round(client.steps * i / 4) for i in range(5)]

    def below(t: float) -> float:
        if client.gaussian:
            return math.erfc(-t / math.sqrt(2)) / 2
        return math.exp(t) / 2 if t < 0 else 1 - math.exp(-t) / 2

    rows = []
    for number in _NUMBERS:  # rounded at random to a step, which hardly changes the law
        start = number * client.steps
        steps = [0.0, *(below(math.ldexp(edge - start, -client.digits)) for edge in edges), 1.0]
        rows.append(np.diff(steps))
    names = ["below 0", *(f"in {i}/4 to {i + 1}/4" for i in range(4)), "above 1"]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        array = whole_messages(messages, (), None).astype(np.int64)
        return np.searchsorted(np.array(edges), array, side="right")

    return Watched(list(_NUMBERS), names, np.array(rows), sort)


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


def _columns(randomizer: NoiseShares) -> Tried:
    """What is sent to the column of a value, of two values each; or what is sent to the only or
    first column."""
    if randomizer.norm is not None:
        rest, length = [0] * (randomizer.dimension - 1), math.floor(randomizer.norm)
        vectors = [[length, *rest], [-length, *rest]]
        return Tried([_column(randomizer, 0, vectors, [length, -length])], noun="vector")
    if randomizer.largest is not None:
        numbers = _spread(randomizer.largest + 1, len(_NUMBERS))
        return Tried([_column(randomizer, 0, numbers, numbers)], randomizer.largest + 1)
    groups = [
        _column(randomizer, pair[0], pair, [int(value == pair[0]) for value in pair])
        for pair in spread_pairs(randomizer.k, _MOST_COLUMNS)
    ]
    return Tried(groups, randomizer.k)


def _column(
    randomizer: NoiseShares, column: int, values: list[Any], adds: Sequence[int]
) -> Watched:
    """Single numbers about the mean, or groups of them; `adds` has what values add to a column."""
    mean, variance = randomizer.shared.moments
    step = max(1, math.ceil(math.sqrt(variance) / 4))
    edges = round(mean) + step * np.arange(-20, 22)
    rows = []
    for added in adds:
        reached = np.array([1.0, *_survival(randomizer.share, edges - added), 0.0])
        rows.append(np.maximum(-np.diff(reached), 0.0))
    names = [f"below {edges[0]}", *(f"in {a} .. {b - 1}" for a, b in pairwise(edges.tolist()))]

    def sort(messages: NDArray[Any]) -> NDArray[np.int64]:
        columns = randomizer.k or randomizer.dimension
        shape = () if columns is None else (columns,)
        array = whole_messages(messages, shape, None).astype(np.int64)
        sent = array if columns is None else array[:, column]
        return np.searchsorted(edges, sent, side="right")

    return Watched(values, [*names, f"from {edges[-1]} on"], np.array(rows), sort)


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
