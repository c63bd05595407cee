"""The profiles of laws over classes of outputs and of densities: from laws to sums of scores.

delta(epsilon) of n users is E[(S)_+]/n for the sum S of n scores (u - e^epsilon v)/blanket, plus
the contribution of the outputs outside the blanket. An engine bounds the expectation. The profile
of a density lies between those of laws over cells of its outputs.

Theory: docs/theory/scores.md, docs/theory/densities.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import BOTH, UNDERFLOW, UNIT, Array, Side
from ..engines.problem import ScoreSums
from ..laws.class_law import ClassLaw, sampled_loss
from ..laws.density_law import DensityLaw
from .base import PrivacyProfile, Sampler, Samples, larger_of

# proof constants: docs/theory/constants.md
_SLACK = 16 * UNIT


@dataclass(frozen=True)
class ClassProfile(PrivacyProfile):
    """Profile of a shuffled round: the largest over some laws of classes of outputs.

    Parameters
    ----------
    laws : tuple of ClassLaw
    users : int
        The number of senders.
    idle : int
        The number of users who were not drawn: senders are a random subset of `users` + `idle`.
    histogram_laws : tuple of ClassLaw
        Laws whose classes are histograms of the messages of all users together.
    """

    laws: tuple[ClassLaw, ...]
    users: int
    idle: int = 0
    histogram_laws: tuple[ClassLaw, ...] = ()

    @cached_property
    def max_loss(self) -> float:
        return max(law.max_loss(self.users, self.idle) for law in self.laws + self.histogram_laws)

    @cached_property
    def bounded(self) -> bool:
        return all(law.bounded(self.idle) for law in self.laws + self.histogram_laws)

    @cached_property
    def kinks(self) -> Array | None:
        """Losses at which a sum of scores changes its sign, for one law and few users."""
        if len(self.laws) > 1 or self.idle or self.histogram_laws or not self.bounded:
            return None
        (law,) = self.laws
        if math.comb(len(law.u) + self.users, self.users) > 500:  # more are close together
            return None
        return _sign_changes(law, self.users)

    @property
    def family(self) -> tuple[Hashable, int]:
        return super().family if self.idle or self.histogram_laws else (self.laws, self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        first, *others = (ClassSampler(table, width=rtol, depth=depth) for table in self._tables)
        if not others:
            return first
        return lambda epsilon: larger_of(first(epsilon), others[0](epsilon))

    @cached_property
    def _tables(self) -> list[LawTable]:
        """The laws as arrays, once for all questions."""
        return [
            LawTable(laws, self.users, self.idle)
            for laws in (self.laws, self.histogram_laws)
            if laws
        ]


def _sign_changes(law: ClassLaw, users: int) -> Array:
    """About the losses at which the scores of some messages, of any classes, add up to 0."""
    covered = law.blanket > 0
    both = np.array([law.u, law.v])
    scores = (both / np.where(covered, law.blanket, 1.0))[:, covered]
    sums = [both[:, ~covered]]
    classes = range(scores.shape[1])
    for count in range(1, users + 1 if classes else 1):  # without a covered class no scores add up
        chosen = list(combinations_with_replacement(classes, count))
        sums.append(scores[:, chosen].sum(axis=2))
    first, second = np.concatenate(sums, axis=1)
    positive = first > second
    return np.unique(np.log(first[positive] / second[positive]))


class LawTable:
    """Several laws as arrays of shape [laws, classes], for a number of users.

    Laws with fewer classes are filled up with classes without mass. The senders are a random subset
    of `users` out of users + idle.
    """

    def __init__(self, laws: Sequence[ClassLaw], users: int, idle: int = 0) -> None:
        self.users, self.idle, self.classes = users, idle, max(len(law.u) for law in laws)
        self.u, self.v, self.blanket = columns = np.zeros((3, len(laws), self.classes))
        for i, law in enumerate(laws):
            columns[:, i, : len(law.u)] = law.u, law.v, law.blanket
        ratio_error = max(law.ratio_error for law in laws)
        self.error = max(law.mass_error for law in laws) + ratio_error
        # engines allow for errors of 16 units of the magnitudes: larger errors of the ratios are
        # passed to them as larger magnitudes
        self.magnitude_factor = 1 + ratio_error / _SLACK
        covered = self.blanket > 0
        self.has_scores: NDArray[np.bool_] = np.logical_or.reduce(covered, axis=1)
        self.has_uncovered = bool(((self.u > 0) | (self.v > 0))[~covered].any())
        safe = np.where(covered, self.blanket, 1.0)
        self.u_ratio, self.v_ratio = (
            np.where(covered, side / safe, 0.0) for side in (self.u, self.v)
        )
        # from the largest loss on no score is positive: there is nothing to sum
        self.largest_losses = np.array([law.max_loss(users, idle) for law in laws])
        self.last_fall = 0.0  # a lower bound of the fall there, 0 with idle users
        if not idle:
            infinite = (covered & (self.v == 0) & (self.u > 0)).any(axis=1)
            self.largest_losses[infinite] = math.inf
            top = self.largest_loss
            leading = (
                law for law, end in zip(laws, self.largest_losses, strict=True) if end == top
            )
            self.last_fall = max(last_fall(law, users, top) for law in leading)

    def __len__(self) -> int:
        return len(self.u)

    @property
    def largest_loss(self) -> float:
        """Of all laws: from here on no score is positive. Infinite if some always are."""
        return float(self.largest_losses.max())


class ClassSampler:
    """Evaluates, at each epsilon, the largest delta over the laws of a table.

    Parameters
    ----------
    table : LawTable
    width : float
        Relative width in epsilon to aim for.
    depth : float
        Deltas below e^-depth need not be resolved.
    sides : sequence of Side
        Bounds on other sides than these may be trivial.

    Notes
    -----
    docs/theory/scores.md and docs/theory/engines.md.
    """

    def __init__(
        self,
        table: LawTable,
        width: float,
        *,
        depth: float = 700.0,
        sides: Sequence[Side] = BOTH,
    ) -> None:
        self._table, self._sides = table, sides
        self._width = min(width, 0.1)  # wider brackets take as long
        self._least = table.users * math.exp(-depth)

    def __call__(self, epsilon: Array) -> Samples:
        """Samples of the largest profile, raised to the tangent at its largest loss."""
        epsilon, table = np.asarray(epsilon, dtype=float), self._table
        found = self.largest(epsilon, np.ones((len(table), len(epsilon)), dtype=bool))
        end, fall = table.largest_loss, table.last_fall
        lower, upper, low, high = found.columns
        if fall > 0:
            # the profile is convex: at least its tangent at the largest loss, where it is 0
            left = np.maximum(end - epsilon - 2.0**-46 * (1 + end), 0.0)
            # two exponentials and three products err by at most 20 units
            tangent = fall * np.exp(np.minimum(epsilon, end)) * np.expm1(left) * (1 - 2 * _SLACK)
            better = tangent > lower
            low = np.where(better | (epsilon == end), fall, low)
            lower, high = np.maximum(lower, tangent), np.where(better, fall, high)
        # a law above several others may have a little more mass than 1
        return Samples(np.minimum(lower, 1.0), np.minimum(upper, 1.0), low, high)

    def largest(
        self, epsilon: Array, wanted: NDArray[np.bool_], known: Array | None = None
    ) -> Samples:
        """The largest delta, at each epsilon, of the laws that are wanted there.

        Parameters
        ----------
        epsilon : Array, shape [epsilons]
        wanted : array of bool, shape [laws, epsilons]
        known : Array, shape [epsilons], optional
            Lower bounds of the largest delta: laws that stay below need not be evaluated well.
        """
        known = np.zeros(len(epsilon)) if known is None else known
        chunk = max(1, (1 << 12) // len(self._table))  # keeps the arrays of the engines small
        parts = [
            self._largest_in_chunk(
                epsilon[i : i + chunk], wanted[:, i : i + chunk], known[i : i + chunk]
            )
            for i in range(0, len(epsilon), chunk)
        ]
        return Samples(*np.concatenate(parts, axis=1))

    def _largest_in_chunk(self, epsilon: Array, wanted: NDArray[np.bool_], known: Array) -> Array:
        """Samples of the largest laws, shape [4, epsilons].

        Several laws are first evaluated roughly, if that is much quicker, and only those that may
        be the largest are evaluated well. Without the rough step matrices take 1.5 times as long.
        """
        found = np.zeros((4, *wanted.shape))
        unresolved = wanted
        if len(self._table) > 1 and 50 * self._width < tuning.FIRST_LOOK:
            law, place = np.nonzero(wanted)
            found[:, law, place] = self._each_law(law, epsilon[place], tuning.FIRST_LOOK)
            unresolved = wanted & (found[1] > np.maximum(found[0].max(axis=0), known))
        law, place = np.nonzero(unresolved)
        found[:, law, place] = self._each_law(law, epsilon[place], self._width)
        best: Array = found[:, found[0].argmax(axis=0), np.arange(len(epsilon))]
        best[1] = found[1].max(axis=0)
        return best

    def _each_law(self, law: NDArray[np.intp], epsilon: Array, width: float) -> Array:
        """Samples of each law at its epsilon, for arrays of the same length: [4, laws]."""
        from ..engines.choice import bound_stop_loss  # loads all engines

        table = self._table
        alpha, slack = np.exp(epsilon)[:, None], _SLACK + table.error
        population = table.users + table.idle
        outward = np.array([[-1], [1], [-1], [1]])
        found = np.zeros((4, len(law)))
        if table.has_uncovered:
            found += self._evaluate_uncovered(law, alpha, slack) * (table.users / population)
        u_ratio, v_ratio = table.u_ratio[law], table.v_ratio[law]
        positive = (epsilon < table.largest_losses[law]) & table.has_scores[law]
        if positive.any():
            sums = ScoreSums(
                scores=(u_ratio - alpha * v_ratio)[positive],
                probabilities=table.blanket[law[positive]],
                magnitudes=((u_ratio + alpha * v_ratio) * table.magnitude_factor)[positive],
                threshold=table.idle * np.expm1(epsilon[positive]),  # each scores 1 - alpha
                users=table.users,
                error=table.error,
                falls=v_ratio[positive] if Side.LOWER in self._sides else None,
                threshold_rise=table.idle,
                sides=self._sides,
            )
            sides = np.array(bound_stop_loss(sums, width, self._least)) * (1 + outward * _SLACK)
            found[:, positive] += sides / population
        found *= 1 + outward * np.array([[_SLACK]] * 2 + [[2 * slack]] * 2)
        found[1] += UNDERFLOW * positive
        found[0, found[0] <= UNDERFLOW] = 0.0
        return found

    def _evaluate_uncovered(self, law: NDArray[np.intp], alpha: Array, slack: float) -> Array:
        """The contribution of outputs outside the blanket, which nobody else sends: [4, laws]."""
        table = self._table
        uncovered = table.blanket[law] == 0
        open_u, open_v = table.u[law] * uncovered, alpha * table.v[law] * uncovered
        least = (1 - slack) * open_u - (1 + slack) * open_v
        found = np.empty((4, len(law)))
        found[0] = np.maximum(least, 0.0).sum(axis=1)
        found[1] = np.maximum((1 + slack) * open_u - (1 - slack) * open_v, 0.0).sum(axis=1)
        found[2:] = np.sum(table.v[law], axis=1, where=uncovered & (least > 0))
        return found


def last_fall(law: ClassLaw, users: int, largest: float) -> float:
    """A lower bound of Pr[loss = largest] under v: the fall of the profile where it reaches 0.

    The loss is the largest if the message of the differing user has the largest u/v and every other
    message is outside the blanket or has that u/v, too. It is 0 if the law does not have that loss:
    the largest u/v may be below `ClassLaw.max_loss`, which is only an upper bound.
    """
    if not law.bounded() or law.mass_error or law.ratio_error:
        return 0.0
    u, v, w = law.u, law.v, law.blanket
    top = float((u[v > 0] / v[v > 0]).max()) * (1 - 2.0**-51)
    if top < 1 or math.log(top) < largest - 2.0**-47 * (1 + largest):
        return 0.0
    others = math.fsum(w[u < top * v]) * (1 + _SLACK)
    # a blanket of nearly all mass leaves less than a rounding error: nothing is known of it
    log_no_cover = math.log1p(-others) if others < 1 else -math.inf
    no_cover = math.exp((users - 1) * log_no_cover * (1 + _SLACK)) if users > 1 else 1.0
    largest_ratio = (v > 0) & (top * v <= u)
    mass = math.fsum((v * np.where(w > 0, no_cover, 1.0))[largest_ratio])
    return mass * (1 - _SLACK)


def sampler_between(
    profile: PrivacyProfile, below: LawTable, above: LawTable, width: float, depth: float
) -> Sampler:
    """A sampler of a profile between those of two tables of laws, a `width` apart in epsilon."""
    # engines may cost an eighth of what cells do
    low, high = (
        ClassSampler(table, width / 8, depth=depth, sides=(side,))
        for table, side in zip((below, above), BOTH, strict=True)
    )

    return profile.zeroed_beyond_max_loss(
        lambda epsilon: replace(low(epsilon), upper=high(epsilon).upper)
    )


@dataclass(frozen=True)
class DensityProfile(PrivacyProfile):
    """Profile of a shuffled round, between those of laws over cells of outputs.

    The senders are a random subset of `users` out of users + idle.
    """

    law: DensityLaw
    users: int
    idle: int = 0

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def max_loss(self) -> float:
        # idle users mix u and v with the blanket: the largest ratio r becomes 1 + rate (r - 1)
        rate = self.users / (self.users + self.idle)
        return sampled_loss(self.law.max_loss, rate) if self.idle else self.law.max_loss

    @property
    def bounded(self) -> bool:
        return self.law.bounded

    @property
    def family(self) -> tuple[Hashable, int]:
        return super().family if self.idle else (self.law, self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Return a sampler between two laws over cells of the outputs."""
        # cells get 0.4 of the width: with 0.27 compositions take a third longer, with 0.6 more of
        # them miss the width at first
        width = 0.4 * min(rtol, tuning.OUTLINE_WIDTH)
        enclosing = self.law.enclosed(self.law.cells(width, depth, self.users), self.users)
        below, above = (LawTable(law.laws, self.users, self.idle) for law in enclosing)
        return sampler_between(self, below, above, width, depth)
