"""Test vectors of a program: random bytes that come as near to its decisions as they can.

Vectors are kept until every constant of the program that is one more or one less would change the
message of a vector; so would be any that is further off in the same direction. Beside every step of
a law there are four vectors, for up to 128 steps, or for fewer if vectors are long.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InvalidParameter
from .program import OPERATIONS, Expression, Machine, Numbers, Program, Tape, check_constant

Path = tuple[int, ...]  # to a part of an expression

_PLAIN, _MORE = 4, 4  # vectors of random bytes, and of such that aim at decisions
_TRIES = 200  # for each constant
_AIMED = 16  # of many numbers that are taken at once
_MOST_STEPS = 512  # sides of steps of laws, at most
_BYTES = 1 << 15  # of vectors beside steps
_MOST_BYTES = 1 << 16  # of one message


class AimingTape(Tape):
    """Random bytes that often are those where a decision changes, and are kept."""

    def __init__(self, rng: random.Random, chance: float) -> None:
        self._taken = bytearray()
        self.targets: list[int] = []  # the next words that may be these are
        self._rng, self._chance = rng, chance

    @property
    def taken(self) -> bytes:
        """All bytes so far."""
        return bytes(self._taken)

    def words(self, width: int, count: int, unused: int = 0, edges: Sequence[int] = ()) -> Numbers:
        bits = 8 * width
        chance = min(self._chance, _AIMED / max(count, 1))
        possible = [edge for edge in edges if 0 <= edge < 1 << (bits - unused)]
        found = []
        for _ in range(count):
            word = self._rng.getrandbits(bits) if bits else 0
            if possible and self._rng.random() < chance:
                word = self._rng.choice(possible) << unused | word & ((1 << unused) - 1)
            if self.targets and self.targets[0] in possible:
                word = self.targets.pop(0) << unused
            self._taken += word.to_bytes(width, "little")
            found.append(word >> unused)
        return found


def message(program: Program, value: Numbers | float, tape: Tape) -> Numbers:
    """Return the message of one value: a number in [0, 1], or a list of whole numbers."""
    number = value if isinstance(value, float) else 0.0
    names = {} if isinstance(value, float) else {"value": value}
    return Machine(program.laws, number, tape).evaluate(program.code, names)


def _constants(code: Expression, path: Path = ()) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Places of all constants in a program, with their ranges."""
    if isinstance(code, list):
        for i, (kind, argument) in enumerate(zip(OPERATIONS[code[0]], code[1:], strict=True), 1):
            if isinstance(argument, str) and argument.isdigit():
                limits = kind if isinstance(kind, tuple) else (0, 1 << 63)
                yield (*path, i), limits
            yield from _constants(argument, (*path, i))


def mutants(program: Program) -> Iterator[Program]:
    """The program with each of its constants one more and one less."""
    for path, limits in _constants(program.code):
        for step in (-1, 1):
            code = copy.deepcopy(program.code)
            place = code
            for i in path[:-1]:
                place = place[i]
            place[path[-1]] = str(int(place[path[-1]]) + step)
            try:
                check_constant(place[path[-1]], limits, "")
            except InvalidParameter:
                continue
            yield Program(program.value, program.message, code, program.laws)


def values_of(program: Program, rng: random.Random) -> Iterator[Numbers | float]:
    """Values at the ends and in between, again and again."""
    value = program.value
    while True:
        if value["kind"] == "number":
            yield from (0.0, 1.0, rng.random(), 0.5, rng.random(), 1 / 3)
        elif value["kind"] == "bits":
            ones = set(rng.sample(range(value["length"]), rng.randint(1, value["ones"])))
            yield [int(i in ones) for i in range(value["length"])]
        else:
            least, most = int(value["least"]), int(value["most"])
            for number in (least, most, rng.randint(least, most), rng.randint(least, most)):
                yield [] if number < 0 else [number]


def notices(mutant: Program, vector: tuple[Numbers | float, bytes, Numbers]) -> bool:
    """Does it send something else, or fail?"""
    value, taken, sent = vector
    try:
        return message(mutant, value, Tape.of(taken)) != sent
    except (InvalidParameter, LookupError, ValueError, StopIteration):
        return True


def _law_targets(program: Program, most: int) -> list[tuple[int, list[int]]]:
    """Words beside the steps of laws: on both sides, and within the step with both next words.

    Of too many there are some, evenly.
    """
    found = []
    for i, law in enumerate(program.laws):
        for (low, high), (following, _) in zip(law.table, law.steps(128), strict=False):
            words = [[low - 1], [high]]
            if low < high:  # 64 bits do not decide
                following &= (1 << 64) - 1
                words += [[low, following - 1], [low, following + 1]]
            found += [(i, each) for each in words if 0 <= min(each) <= max(each) < 1 << 64]
    stride = -(-len(found) // most)
    return found[:: stride | 1] if found else []  # odd, so that all kinds have their turn


def make_vectors(program: Program) -> list[tuple[Numbers | float, bytes, Numbers]]:
    """Return values, random bytes and the messages that these make of them."""
    rng = random.Random(repr(program.code))
    values = values_of(program, rng)
    found: list[tuple[Numbers | float, bytes, Numbers]] = []

    def run(chance: float, targets: Sequence[int] = (), value: Any = None) -> Any:
        tape = AimingTape(rng, chance)
        tape.targets = list(targets)
        given = next(values) if value is None else value
        sent = message(program, given, tape)
        return given, tape.taken, sent

    found.append(run(0.0))
    if (size := len(found[0][1])) > _MOST_BYTES:
        raise InvalidParameter(
            f"a message takes {size:,} random bytes, more than the {_MOST_BYTES:,} that a "
            "specification describes; choose fewer values, or another randomizer."
        )
    found += [run(0.0) for _ in range(_PLAIN - 1)]
    found += [run(0.75) for _ in range(_MORE)]
    by_value = program.code[1] == "value"  # of a matrix, each value has a law
    size = 1 + max(len(taken) for _, taken, _ in found)
    most = min(_MOST_STEPS, max(16, _BYTES // size))
    for law, words in _law_targets(program, most):
        found.append(run(0.0, words, [law] if by_value else None))
    for mutant in mutants(program):
        for _ in range(_TRIES):
            if any(notices(mutant, vector) for vector in reversed(found)):
                break
            candidate = run(0.75)
            if notices(mutant, candidate):
                found.append(candidate)
        else:
            raise InvalidParameter(
                "no test vector notices every constant of the program that is one more or one "
                "less; choose probabilities that are further from 0 and from 1."
            )
    return found
