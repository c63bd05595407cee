"""One blanket for users with different randomizers: how much of it the law of every group has.

If the law of every user of group g is at least t_g times one common measure, these users provide
cover in proportion to t_g. `shared_law` is the law of a user of one group under that blanket,
`matrix_blanket` finds a common measure below several matrices.

Theory: docs/theory/mixed.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .._support.numeric import Array
from .class_law import ClassLaw, ClassLaws
from .matrix_law import Matrix

# proof constants: docs/theory/constants.md
#: What the roundings of weights and of their ratios may be, and more, is taken from the blanket.
_MARGIN = 2.0**-36


class Cover(NamedTuple):
    """What the users of a group provide.

    Attributes
    ----------
    weight : float
        The law of every user of the group is at least `weight` times the common measure.
    rate : float
        The probability with which each of them sends.
    """

    weight: float
    rate: float


class SharedLaw(NamedTuple):
    """The law of a user under a common blanket.

    Attributes
    ----------
    laws : ClassLaws
        The laws of the user in question with the blanket omega.
    shares : tuple of float
        The law of every user of group g is at least shares[g] times omega; all are in [0, 1].
    """

    laws: ClassLaws
    shares: tuple[float, ...]


def shared_law(laws: Iterable[ClassLaw], own: int, covers: Sequence[Cover]) -> SharedLaw:
    """The law of a user of group `own`, and how much of its blanket each group has.

    Parameters
    ----------
    laws : iterable of ClassLaw
        The laws of the user if everybody sends, with the common measure as their blanket.
    own : int
        The group of the user in question.
    covers : sequence of Cover
        One for each group.

    Notes
    -----
    docs/theory/mixed.md. A user who does not send sends an empty message: the law of group g is at
    least rate weight times the measure and 1 - rate of that message. The blanket has the part
    `sent` of the measure and `silent` of the empty message. It is so chosen that no part of the
    measure is lost of groups that are sampled.
    """
    rate = covers[own].rate
    able = [cover for cover in covers if cover.weight > 0 and (rate == 1 or cover.rate < 1)]
    sent = max(cover.rate * cover.weight for cover in able)
    silent = 0.0
    if rate < 1:
        silent = sent * min((1 - cover.rate) / (cover.rate * cover.weight) for cover in able)
    shares = tuple(
        min(1.0, cover.rate * cover.weight / sent, (1 - cover.rate) / silent if silent else 1.0)
        for cover in covers
    )
    return SharedLaw(ClassLaws.of(_covered(law, rate, sent, silent) for law in laws), shares)


def _covered(law: ClassLaw, rate: float, sent: float, silent: float) -> ClassLaw:
    """The law of a user who sends with probability `rate`, with a scaled blanket."""
    u, v, blanket = rate * law.u, rate * law.v, sent * (1 - _MARGIN) * law.blanket
    if rate < 1:
        u, v = np.append(u, 1 - rate), np.append(v, 1 - rate)
        blanket = np.append(blanket, silent * (1 - _MARGIN))
    return ClassLaw(u, v, blanket, law.mass_error, law.known_loss)


class MatrixBlanket(NamedTuple):
    """A common measure below the rows of several matrices.

    Attributes
    ----------
    measure : Array
        Shape [outputs].
    weights : tuple of float
        Every row of matrix g is at least weights[g] times the measure.
    """

    measure: Array
    weights: tuple[float, ...]


def matrix_blanket(matrices: Sequence[Matrix], users: Sequence[float], own: int) -> MatrixBlanket:
    """A common measure that hides a user of group `own` about as well as any.

    Parameters
    ----------
    matrices : sequence of Matrix
        One for each group, all with the same outputs.
    users : sequence of float
        About how many users of each group send.
    own : int
        The group of the user in question.

    Notes
    -----
    docs/theory/mixed.md. With any weights, the pointwise minimum over groups of (smallest
    probability of the group)/weight is such a measure. A weight of 0 leaves a group out. The
    weights are found by coordinate search; every choice is sound.
    """
    rows = matrices[own].rows
    least = np.array([matrix.rows.min(axis=0) for matrix in matrices])
    spread = rows.max(axis=0) - rows.min(axis=0)
    grid = np.append(0.0, np.geomspace(1 / 64, 64, 49))

    def measure(weights: Array) -> Array:
        included = weights > 0
        result: Array = (least[included] / weights[included, None]).min(axis=0)
        return result

    def loss(weights: Array) -> float:
        """About the square of epsilon, and far more if outputs are not covered."""
        base, hidden = measure(weights), weights @ users
        covered = base > 0
        squares = float((spread[covered] ** 2 / base[covered]).sum())
        return squares / max(float(hidden), 1.0) + 1e6 * float(spread[~covered].sum())

    weights = np.zeros(len(matrices))
    weights[own] = 1.0
    for _ in range(2):
        for group in range(len(matrices)):
            if group != own:
                trials = np.repeat(weights[None], len(grid), axis=0)
                trials[:, group] = grid
                weights = min(trials, key=loss)
    return MatrixBlanket(measure(weights), tuple(weights.tolist()))
