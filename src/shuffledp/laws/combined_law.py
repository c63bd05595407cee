"""Laws of the answers to several questions: all of them in one message, or one drawn at random.

`product_law` and `mixture_law` combine one law of each question. `combined_laws` lists the laws of
all ways in which two users' answers may differ, of which the largest profile counts.

Theory: docs/theory/several-questions.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from ..errors import OutOfRange
from .class_law import ClassLaw, ClassLaws
from .matrix_law import Matrix, dominating_law, pair_law

# proof constants: docs/theory/constants.md
#: Relative error of the masses and of the ratios of one question.
_EACH = 12 * UNIT
#: Products of masses below this, as a power of e, would leave the range of a double.
_DEEPEST = -640.0
#: Probabilities of u that a class of rounding errors has at most.
_NEXT_TO_NOTHING = 2.0**-38
#: Classes of messages that a law may have, and products of classes before equal ones are merged.
MOST_CLASSES, _MOST_PRODUCTS = 1 << 13, 1 << 18
#: Ways in which answers may differ, of questions that have no law above all of them.
MOST_WAYS = 1 << 10

#: From one law for each question to the law of a message.
Combine = Callable[[Sequence[ClassLaw]], ClassLaw]


def product_law(laws: Sequence[ClassLaw]) -> ClassLaw:
    """The law of independent answers in one message: u, v and the blanket are products.

    Parameters
    ----------
    laws : sequence of ClassLaw
        One for each question.

    Returns
    -------
    ClassLaw
        Classes with equal u/blanket and v/blanket are merged. A single law is returned as it is.

    Raises
    ------
    OutOfRange
        If there are too many classes, or masses below the range of a double.
    """
    first, *others = laws
    if not others:
        return first
    _check_range(laws)
    columns = first.columns
    mass_error, ratio_error = first.mass_error + _EACH, first.ratio_error + _EACH
    symmetric = first.is_symmetric
    for number, law in enumerate(others, start=2):
        if columns.shape[1] * len(law.u) > _MOST_PRODUCTS:
            raise _too_many(columns.shape[1] * len(law.u))
        columns = (columns[:, :, None] * law.columns[:, None, :]).reshape(3, -1)
        symmetric = symmetric and law.is_symmetric
        columns, span, terms = _merge(columns, 8 * number * UNIT, symmetric)
        mass_error += law.mass_error + _EACH + terms * UNIT
        ratio_error += law.ratio_error + _EACH + span + 2 * terms * UNIT
    u, v, blanket = columns
    return ClassLaw(u, v, blanket, mass_error, _largest_loss(laws, math.fsum), ratio_error)


def mixture_law(laws: Sequence[ClassLaw], weights: Sequence[float]) -> ClassLaw:
    """The law of the answer to one question, which is drawn at random and named in the message.

    Parameters
    ----------
    laws : sequence of ClassLaw
        One for each question.
    weights : sequence of float
        The probabilities of the questions.
    """
    if len(laws) == 1:
        return laws[0]
    parts = [weight * law.columns for law, weight in zip(laws, weights, strict=True)]
    symmetric = all(law.is_symmetric for law in laws)
    columns, span, terms = _merge(np.concatenate(parts, axis=1), 16 * UNIT, symmetric)
    mass_error = max(law.mass_error for law in laws) + _EACH + terms * UNIT
    ratio_error = max(law.ratio_error for law in laws) + _EACH + span + 2 * terms * UNIT
    u, v, blanket = columns
    return ClassLaw(u, v, blanket, mass_error, _largest_loss(laws, max), ratio_error)


def answer_laws(matrix: Matrix) -> tuple[ClassLaw, ...]:
    """The laws of two answers to a question, different or equal, that others may not dominate.

    A pair of rows with the same law in both orders dominates two equal answers of either of them:
    otherwise equal answers are listed, too.

    Parameters
    ----------
    matrix : Matrix
        The probabilities of the outputs, one row per answer.

    Raises
    ------
    OutOfRange
        If there are too many pairs.
    """
    rows = matrix.distinct
    base = rows.min(axis=0)
    if len(rows) ** 2 > MOST_WAYS:
        raise _too_many_ways(len(rows) ** 2)
    found, dominated = [], set()
    for i, j in combinations(range(len(rows)), 2):
        law = pair_law(rows[i], rows[j], base)
        found.append(law)
        if law.is_symmetric:
            dominated |= {i, j}
        else:
            found.append(pair_law(rows[j], rows[i], base))
    equal = (pair_law(row, row, base) for i, row in enumerate(rows) if i not in dominated)
    return ClassLaws.of(chain(found, equal)).laws


def is_covered(matrix: Matrix) -> bool:
    """Whether no output excludes an answer: otherwise `above_all` need not be a law."""
    rows = matrix.rows
    return bool(((rows > 0).all(axis=0) | (rows == 0).all(axis=0)).all())


def above_all(matrix: Matrix, levels: int | None = None) -> tuple[ClassLaw, ...]:
    """One law above those of all pairs of answers, if these are too many to be combined.

    Rounding leaves classes with next to no mass, which engines would resolve at great cost: these
    join the class before them, where u is likelier and v less likely.
    """
    rows = matrix.distinct
    law = dominating_law(rows, rows.min(axis=0), levels)  # u/blanket falls and v/blanket rises
    kept: list[list[float]] = []
    for u, v, mass in zip(law.u / law.blanket, law.v / law.blanket, law.blanket, strict=True):
        if kept and mass * kept[-1][0] <= _NEXT_TO_NOTHING:
            kept[-1][2] += float(mass)
        else:
            kept.append([float(u), float(v), float(mass)])
    first, second, masses = np.array(kept).T
    return (ClassLaw(first * masses, second * masses, masses),)


def levels_for(matrices: int, others: Sequence[ClassLaw]) -> int:
    """Levels with which so many laws above all pairs and the others have a product in range."""
    room = MOST_CLASSES / math.prod(len(law.u) for law in others)
    return max(int(room ** (1 / matrices) / 2), 4)


def ways(choices: Sequence[Sequence[ClassLaw]], kinds: Sequence[object]) -> int:
    """How many laws `combined_laws` combines.

    >>> from shuffledp.laws.combined_law import ways
    >>> ways([[None] * 4] * 3, ["a", "a", "b"])
    40
    """
    sizes = dict(zip(kinds, map(len, choices), strict=True))
    return math.prod(
        math.comb(sizes[kind] + times - 1, times) for kind, times in Counter(kinds).items()
    )


def combined_laws(
    choices: Sequence[Sequence[ClassLaw]], kinds: Sequence[object], combine: Combine
) -> ClassLaws:
    """The laws of all combinations of one law for each question.

    Parameters
    ----------
    choices : sequence of sequences of ClassLaw
        The laws of each question.
    kinds : sequence
        Questions of one kind have the same choices, and may be exchanged.
    combine : callable
        From one law for each question to one law.

    Raises
    ------
    OutOfRange
        If there are too many combinations.
    """
    if ways(choices, kinds) > MOST_WAYS:
        raise _too_many_ways(ways(choices, kinds))
    places: dict[object, list[int]] = {}
    for i, kind in enumerate(kinds):
        places.setdefault(kind, []).append(i)
    each = [combinations_with_replacement(choices[same[0]], len(same)) for same in places.values()]
    order = list(chain.from_iterable(places.values()))
    found = []
    for parts in product(*each):
        laws = dict(zip(order, chain.from_iterable(parts), strict=True))
        if any((law.u != law.v).any() for law in laws.values()):  # some answer differs
            found.append(combine([laws[i] for i in range(len(kinds))]))
    return ClassLaws.of(found)


def _largest_loss(
    laws: Sequence[ClassLaw], total: Callable[[Iterable[float]], float]
) -> float | None:
    """The sum, or the maximum, of the largest losses, rounded up.

    It is None if a covered output excludes a value: then the loss grows with the users.
    """
    if any(((law.blanket > 0) & (law.v == 0)).any() for law in laws):
        return None
    return total(law.max_loss(1) for law in laws) * (1 + 2.0**-50)


def _check_range(laws: Sequence[ClassLaw]) -> None:
    least = math.fsum(
        math.log(min(float(side[side > 0].min()) for side in law.columns if (side > 0).any()))
        for law in laws
    )
    if least < _DEEPEST:
        raise OutOfRange(
            f"some answers together have a probability below 1e{least / math.log(10):.0f}, and "
            f"1e{_DEEPEST / math.log(10):.0f} is the limit; bundle fewer questions, or give them "
            "a smaller eps0."
        )


def _too_many_ways(number: int) -> OutOfRange:
    return OutOfRange(
        f"answers may differ in {number:,} ways, and {MOST_WAYS:,} is the limit for matrices with "
        "outputs that exclude an answer; ask fewer of these questions at once, or ask with "
        "analysis='stronger-clones' if there is one."
    )


def _too_many(classes: int) -> OutOfRange:
    return OutOfRange(
        f"the answers to all questions make {classes:,} classes of messages, and "
        f"{MOST_CLASSES:,} is the limit; bundle fewer questions, give several of them the same "
        "eps0, or ask with analysis='stronger-clones'."
    )


def _merge(columns: Array, tolerance: float, symmetric: bool) -> tuple[Array, float, int]:
    """Merge classes whose ratios to the blanket agree up to rounding.

    Returns the columns u, v and blanket, [3, classes], the relative difference of ratios that count
    as equal, and the largest number of classes that became one.

    If the classes are the same in both orders of the two values, so are the merged ones.
    """
    covered = columns[2] > 0
    apart = columns[:, ~covered & (columns[:2].max(axis=0) > 0)]
    u, v, blanket = inside = columns[:, covered]
    places, span = _clusters(np.concatenate([u / blanket, v / blanket]), tolerance)
    number, (first, second) = int(places.max(initial=0)) + 1, places.reshape(2, -1)
    keys, place = np.unique(first * number + second, return_inverse=True)
    merged = np.array([np.bincount(place.ravel(), column, len(keys)) for column in inside])
    if symmetric and len(keys):
        first, second = np.divmod(keys, number)
        mirror = np.searchsorted(keys, second * number + first)
        merged = (merged + merged[[1, 0, 2]][:, mirror]) / 2
    terms = int(np.bincount(place.ravel()).max(initial=1))
    found = np.concatenate([merged, apart], axis=1)
    if found.shape[1] > MOST_CLASSES:
        raise _too_many(found.shape[1])
    return found, span, terms


def _clusters(values: Array, tolerance: float) -> tuple[NDArray[np.intp], float]:
    """Numbers of the clusters of nearly equal values, and the relative span of the widest.

    If many values next to each other would make a wide cluster, only equal ones are one.
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    for allowed in (tolerance, 0.0):
        starts = np.append(True, ranked[1:] > ranked[:-1] * (1 + allowed))[: len(ranked)]
        lowest = ranked[starts]
        highest = ranked[np.append(starts[1:], True)[: len(ranked)]]
        positive = lowest > 0
        spans = highest[positive] / lowest[positive] - 1
        span = float(spans.max(initial=0.0)) + 2 * UNIT
        if span <= 4 * tolerance:
            break
    places = np.empty(len(values), dtype=np.intp)
    places[order] = np.cumsum(starts) - 1
    return places, span
