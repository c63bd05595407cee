"""Randomizers whose clients have a specification: every kind, small and large."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from shuffledp.clients import Source, Specification
from shuffledp.clients.vectors import AimingTape, message, values_of
from shuffledp.randomizers import (
    FiniteRandomizer,
    HadamardResponse,
    LocalHashing,
    NoiseShares,
    NoisyHistogram,
    OneBit,
    OptimizedUnaryEncoding,
    Piecewise,
    RandomizedResponse,
    Randomizer,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)

SPECIFIED: dict[str, Randomizer] = {
    "rr": RandomizedResponse(k=100, eps0=9.69),
    "two": RandomizedResponse(k=2, eps0=1.0),
    "gamma": RandomizedResponse(k=4, gamma=0.25),
    "large rr": RandomizedResponse(k=10**12, eps0=30.0),
    "subset": SubsetSelection(k=20, size=3, eps0=1.0),
    "single": SubsetSelection(k=20, size=1, eps0=1.0),
    "large subset": SubsetSelection(k=10**10, size=4, eps0=24.0),
    "unary": UnaryEncoding(k=13, eps0=2.0),
    "ones": UnaryEncoding(k=8, eps0=2.0, ones=3),
    "oue": OptimizedUnaryEncoding(k=40, eps0=2.0),
    "hadamard": HadamardResponse(k=100, eps0=2.0),
    "large hadamard": HadamardResponse(k=10**11, eps0=2.0),
    "hashing": LocalHashing(eps0=2.0),
    "large hashing": LocalHashing(g=10**12, eps0=28.0),
    "one bit": OneBit(eps0=1.0),
    "piecewise": Piecewise(eps0=1.0),
    "square wave": SquareWave(eps0=1.0),
    "poisson": NoisyHistogram(poisson=0.05, k=60),
    "many poisson": NoisyHistogram(poisson=3.0, k=12),
    "bernoulli": NoisyHistogram(bernoulli=0.5, k=4),
    "many bernoulli": NoisyHistogram(bernoulli=0.9, k=41),
    "skellam": NoiseShares(skellam=40.0, k=3),
    "skellam sum": NoiseShares(skellam=1.5, largest=7),
    "coins": NoiseShares(binomial=13, k=5),
    "coins sum": NoiseShares(binomial=16, largest=5),
    "matrix": FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]),
    "thirds": FiniteRandomizer([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1 / 3, 1 / 3, 1 / 3]]),
}


@cache
def specification_of(name: str) -> Specification:
    return SPECIFIED[name].client_spec()


@cache
def random_messages(name: str, count: int) -> list[tuple[Any, bytes, list[int]]]:
    """Values, random bytes of which some are near decisions, and the messages of the client."""
    return list(_random_messages(name, count))


def _random_messages(name: str, count: int) -> Iterator[tuple[Any, bytes, list[int]]]:
    client, rng = SPECIFIED[name].client, random.Random(name)
    program = client.program()
    values = values_of(program, rng)
    for i in range(count):
        tape, value = AimingTape(rng, (0.0, 0.3, 0.9)[i % 3]), next(values)
        message(program, value, tape)
        given: Any = value
        if isinstance(value, list) and program.value["kind"] == "whole":
            given = value[0] if value else -1
        sent = client.randomize(given, Source.of(tape.taken))
        yield given, tape.taken, sent.ravel().tolist()
