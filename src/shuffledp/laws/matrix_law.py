"""Laws of a matrix of probabilities, one row per value: one law for each pair of rows.

Of small matrices all pairs are listed. Of larger ones `dominating_law` is one law above all pairs,
and `LeadingPairsLaw` lists pairs that are likely to have the largest profile.

Users with different randomizers have one blanket in common: if the law of every user of group g is
at least t_g times one measure, these users provide cover in proportion to t_g. `shared_law` is the
law of a user of one group under that blanket, `matrix_blanket` finds a measure below several
matrices.

Theory: docs/theory/matrices.md, docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import UNIT, Array, digest
from .class_law import ClassLaw, ClassLaws, Law

# proof constants: docs/theory/constants.md
_MARGIN = 2.0**-40  # far more than the rounding of a few thousand positive terms
_NEARLY_ALL = 1 - 2.0**-30
#: What the roundings of weights and of their ratios may be, and more, is taken from the blanket.
_SHARED_MARGIN = 2.0**-36

Pair = tuple[int, int]


class Matrix:
    """Rows of probabilities, compared by value."""

    def __init__(self, rows: Array) -> None:
        self.rows: Array = np.array(rows, dtype=float, order="C")
        self.rows.flags.writeable = False
        self.digest = digest(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return False
        return (self.rows.shape, self.digest) == (other.rows.shape, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inputs, outputs = self.rows.shape
        return f"{inputs} x {outputs}, sha256 {self.digest[:8]}"

    @cached_property
    def distinct(self) -> Array:
        """Each row once."""
        rows: Array = np.unique(self.rows, axis=0)
        return rows

    @property
    def has_many_rows(self) -> bool:
        """Whether the pairs of rows are too many to be listed."""
        return len(self.distinct) > tuning.FEW_INPUTS


def blanket_law(matrix: Matrix) -> Law:
    """The blanket law: the largest over all pairs of rows, with their minimum as the blanket."""
    if matrix.has_many_rows:
        return PairsLaw(Matrix(matrix.distinct))
    return ClassLaws.of(_laws_of_all_pairs(matrix, [matrix.rows.min(axis=0)]))


def pair_laws(matrix: Matrix, blanket: Array) -> Sequence[ClassLaw]:
    """The laws of all pairs of rows with a given blanket, shape [outputs]; none if the rows are too
    many to list their pairs."""
    return [] if matrix.has_many_rows else list(_laws_of_all_pairs(matrix, [blanket]))


def attained_law(matrix: Matrix) -> Law:
    """The law of actual datasets in which all other users hold the same value."""
    if matrix.has_many_rows:
        return LeadingPairsLaw(Matrix(matrix.distinct))
    return ClassLaws.of(_laws_of_all_pairs(matrix, matrix.distinct))


@dataclass(frozen=True)
class PairsLaw(Law):
    """All pairs of different rows of a matrix that has too many of them to list."""

    matrix: Matrix

    def thinned(self, rate: float) -> PairsLaw:
        # an empty message is one more output
        rows = self.matrix.rows
        silent = np.full((len(rows), 1), 1 - rate)
        return PairsLaw(Matrix(np.concatenate([rate * rows, silent], axis=1)))


@dataclass(frozen=True)
class LeadingPairsLaw(Law):
    """The pairs of rows of a large matrix, and values of the others, with the largest profiles.

    Which pairs these are depends on the number of users. The law is a lower bound, so that it is
    sound to leave out pairs.
    """

    matrix: Matrix
    rate: float = 1.0

    def among(self, users: int) -> ClassLaws:
        rows = self.matrix.rows
        pairs = ((pair, _best_others(rows, pair, users)) for pair in _leading_pairs(rows, users))
        laws = ClassLaws.of(chain.from_iterable(_laws(rows, [p], o) for p, o in pairs))
        return laws.thinned(self.rate) if self.rate < 1 else laws

    def thinned(self, rate: float) -> LeadingPairsLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> ClassLaws:
        return self.among(users).worst(epsilon, users)


def pair_law(u: Array, v: Array, blanket: Array) -> ClassLaw:
    """The law of two rows and a blanket, each of shape [outputs].

    Outputs with equal probabilities form a class, and classes are in a fixed order, so that equal
    laws compare equal.
    """
    order = np.lexsort((blanket, v, u))
    classes = np.stack([u, v, blanket])[:, order]
    classes = classes[:, classes[:2].max(axis=0) > 0]
    new = np.append(True, (np.diff(classes) != 0).any(axis=0))
    counts = np.diff(np.append(np.flatnonzero(new), len(new)))
    return ClassLaw(*(classes[:, new] * counts))


def _laws_of_all_pairs(matrix: Matrix, blankets: Iterable[Array]) -> Iterator[ClassLaw]:
    rows = matrix.distinct
    return _laws(rows, combinations(range(len(rows)), 2), blankets)


def _laws(rows: Array, pairs: Iterable[Pair], blankets: Iterable[Array]) -> Iterator[ClassLaw]:
    """The laws of these pairs, in both orders, with each of the blankets."""
    for (i, j), blanket in product(pairs, blankets):
        yield pair_law(rows[i], rows[j], blanket)
        yield pair_law(rows[j], rows[i], blanket)


def _leading_pairs(rows: Array, users: int) -> set[Pair]:
    """Pairs of rows with the largest chi-square distance, and pairs with the largest losses."""
    largest = rows.max(axis=0)
    used, largest = rows[:, largest > 0], largest[largest > 0]
    # a blanket of less than one message in n provides no cover
    scaled = used / np.sqrt(used.min(axis=0) + largest / users)
    square = np.sum(scaled**2, axis=1)
    outer = np.argsort(-square)[:2000]  # 2000^2 distances take 0.1 s
    distance = square[outer, None] + square[outer] - 2 * scaled[outer] @ scaled[outer].T
    i, j = np.triu_indices(len(outer), 1)
    chosen = np.argsort(-distance[i, j])[: tuning.FEW_INPUTS]
    pairs = set(zip(outer[i[chosen]].tolist(), outer[j[chosen]].tolist(), strict=True))
    columns = np.argsort(used.min(axis=0) / largest)[: tuning.FEW_INPUTS]
    extremes = used.argmax(axis=0)[columns], used.argmin(axis=0)[columns]
    return pairs | set(zip(*(side.tolist() for side in extremes), strict=True))


def _best_others(rows: Array, pair: Pair, users: int) -> Array:
    """The three rows that provide the least cover for a pair, if all others hold one of them."""
    u, v = rows[pair[0]], rows[pair[1]]
    used = u + v > 0
    cover = rows[:, used] + (u + v)[used] / users
    distance = np.sum((u - v)[used] ** 2 / cover, axis=1)
    best: Array = rows[np.argsort(-distance)[:3]]
    return best


def dominating_law(rows: Array, base: Array, levels: int | None = None) -> ClassLaw:
    """One law above the blanket laws of all pairs of rows, in increasing convex order.

    Parameters
    ----------
    rows : Array, shape [values, outputs]
    base : Array, shape [outputs]
        The common lower bound of the rows, which is the blanket.
    levels : int, optional
        Levels of the ratios, of which there are as many classes or twice as many: any number is
        sound, and few of them make the law larger.

    Notes
    -----
    docs/theory/matrices.md. The score of the pair (x0, x1) is R(x0)/base - alpha R(x1)/base.
    If a has the stop-loss transform max over x of E(R(x)/base - t)_+ and b the put transform max
    over x of E(t - R(x)/base)_+, then R(x0)/base is at most a and -R(x1)/base at most -b in
    increasing convex order, and the sum of the two is largest if they are coupled so that a is
    large where b is small. Outputs outside the base are dominated in the same way, relative to the
    mean of the rows.
    """
    covered = base > 0
    open_ = ~covered & (rows.max(axis=0) > 0)
    parts = []
    for where, measure in ((covered, base), (open_, rows.mean(axis=0))):
        if where.any():
            most = tuning.LEVELS if levels is None else levels
            mass, high, low = _coupled(rows[:, where], measure[where], most)
            blanket = mass if where is covered else np.zeros(len(mass))
            parts.append(np.stack([mass * high, mass * low, blanket]))
    return ClassLaw(*np.concatenate(parts, axis=1))


def _coupled(rows: Array, measure: Array, most: int) -> tuple[Array, Array, Array]:
    """The law of (a(U), b(1 - U)): masses, falling values of a, rising values of b."""
    ratio, total = rows / measure, math.fsum(measure)
    values, masses = [], []
    for sign in (1, -1):  # b is the same as a for the negative ratios
        x = sign * ratio + 2 * UNIT * ratio
        levels = _levels(x, most)
        values.append(sign * levels[::-1])
        masses.append(_law_above(levels, _stop_loss(x, measure, levels), total)[::-1])
    first, second = ([Fraction(mass) for mass in side] for side in masses)
    scale = sum(first, Fraction(0)) / sum(second, Fraction(0))  # 1 up to rounding
    second = [mass * scale for mass in second]
    classes, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        mass = min(first[i], second[j])
        if mass > 0:
            classes.append((float(mass), values[0][i], values[1][j]))
        first[i] -= mass
        second[j] -= mass
        i, j = i + (first[i] == 0), j + (second[j] == 0)
    mass_, high, low = (np.array(column) for column in zip(*classes, strict=True))
    return mass_, high, np.maximum(low, 0.0)


def _levels(x: Array, most: int) -> Array:
    """Levels among the values of x: all of them, or about `most`, evenly by rank and by size.

    The smallest and the largest value are always included.
    """
    values: Array = np.unique(x)
    if len(values) <= most:
        return values
    half = np.linspace(0, 1, max(most // 2, 2))
    by_size = np.searchsorted(values, values[0] + (values[-1] - values[0]) * half)
    by_rank = np.rint((len(values) - 1) * half).astype(int)
    chosen: Array = values[np.union1d(by_rank, np.minimum(by_size, len(values) - 1))]
    return chosen


def _stop_loss(x: Array, measure: Array, levels: Array) -> Array:
    """The max over rows of sum measure (x - level)_+ at each level, rounded up.

    x has the shape [rows, outputs], measure [outputs]; all terms are positive, nothing cancels.
    """
    rows, count = len(x), len(levels)
    cell = np.searchsorted(levels, x)  # levels[cell - 1] < x <= levels[cell]
    place = (np.arange(rows)[:, None] * count + cell).ravel()
    below = levels[np.maximum(cell - 1, 0)]
    size = rows * count
    mass = np.bincount(place, np.broadcast_to(measure, x.shape).ravel(), size).reshape(rows, -1)
    part = np.bincount(place, (measure * (x - below)).ravel(), size).reshape(rows, -1)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]  # in this cell or beyond it
    # what a step down from a level to the next adds
    step = np.zeros((rows, count))
    step[:, :-1] = part[:, 1:]
    step[:, :-2] += above[:, 2:] * np.diff(levels)[:-1]
    total = np.cumsum(step[:, ::-1], axis=1)[:, ::-1].max(axis=0)
    result: Array = total * (1 + 4 * UNIT * (count + x.shape[1] + 16))
    return result


def _law_above(levels: Array, stop_loss: Array, total: float) -> Array:
    """Masses at the levels, of sum `total`, whose stop-loss transform is at least the given one.

    Both are convex and the first is linear between the levels: it is enough to be above at them.
    """
    above = np.zeros(len(levels))  # mass beyond each level
    reached = 0.0
    for i in range(len(levels) - 2, -1, -1):
        gap = levels[i + 1] - levels[i]
        above[i] = max(above[i + 1], (stop_loss[i] * (1 + _MARGIN) - reached) / gap)
        if above[i] >= total * _NEARLY_ALL:  # then all of it, so that no rounding can be missed
            above[: i + 1] = total
            break
        reached += above[i] * gap
    return np.diff(-above, prepend=-total)


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
    u, v, blanket = rate * law.u, rate * law.v, sent * (1 - _SHARED_MARGIN) * law.blanket
    if rate < 1:
        u, v = np.append(u, 1 - rate), np.append(v, 1 - rate)
        blanket = np.append(blanket, silent * (1 - _SHARED_MARGIN))
    return ClassLaw(u, v, blanket, law.mass_error, law.known_loss)


def matrix_blanket(
    matrices: Sequence[Matrix], users: Sequence[float], own: int
) -> tuple[Array, tuple[float, ...]]:
    """A common measure that hides a user of group `own` about as well as any.

    Parameters
    ----------
    matrices : sequence of Matrix
        One for each group, all with the same outputs.
    users : sequence of float
        About how many users of each group send.
    own : int
        The group of the user in question.

    Returns
    -------
    measure : Array
        Shape [outputs].
    weights : tuple of float
        Every row of matrix g is at least weights[g] times the measure.

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
    return measure(weights), tuple(weights.tolist())
