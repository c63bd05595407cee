"""Several messages of each user, of whom some are drawn, beside exact products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import mpmath
import numpy as np

import oracles
from shuffledp import PureLDP, Shuffle
from shuffledp.composition.bundle import BundledRounds
from shuffledp.laws.class_law import stronger_clones
from shuffledp.profiles.sender_count import SenderCount
from shuffledp.profiles.subsampled import SubsampledProfile

from .common import Checked, asked


@cache
def exact_bundle(rate: float, messages: int, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        magnified = mpmath.log1p(mpmath.expm1(epsilon) / rate)
        return rate * oracles.randomized_response_composition(0.5, messages, magnified)


@cache
def exact_bundles_of_some(messages: int, epsilon: float) -> mpmath.mpf:
    """Of two honest users, one of whom is drawn in 4 of 6 cases and both in 1: so many messages of
    each."""
    with mpmath.workdps(60):
        atoms = oracles.clone_pair_atoms(2, 0.5, "stronger-clones")
        both = oracles.delta_of_atoms(oracles.compose_atoms([atoms] * messages), epsilon)
        return 4 * exact_bundle(0.5, messages, epsilon) / 6 + both / 6


def bundles_of_some(messages: int, epsilon: float) -> Checked:
    sampled = Shuffle(PureLDP(0.5), 4, sample_rate=0.5, colluding=2, messages=messages)
    exact = exact_bundles_of_some(messages, epsilon)
    return asked(sampled.delta_bounds, epsilon, rtol=1e-3), (exact, exact)


def some_bundles() -> Iterator[Checked]:
    """The smallest ones, since many constants are read: known to ten digits."""
    yield bundles_of_some(2, 0.1)


def wide_bundles() -> Iterator[Checked]:
    """So many messages that their losses are not added up term by term, of two senders at most."""
    yield bundles_of_some(12, 0.5)


def bundles() -> Iterator[Checked]:
    """So many messages that their losses are not added up term by term."""
    law = stronger_clones(0.5)
    bundled = BundledRounds(law, SenderCount(4, 4, 2), 40)
    sampled = SubsampledProfile(bundled.full(1), 0.5)
    found = sampled.sampler(40.0, 1e-3)(np.array([0.5, 2.0]))
    for i, epsilon in enumerate((0.5, 2.0)):
        exact = exact_bundle(0.5, 40, epsilon)
        yield (found.lower[i], found.upper[i]), (exact, exact)
