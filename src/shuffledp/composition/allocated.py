"""Random allocation: one step of many, drawn at random, has the differing value.

Every step has the same pair of laws (P, Q): its outcome has the law P if the value takes part in
it, and Q otherwise. The pair is enclosed between two pairs on a lattice of privacy losses, of which
the likelihood ratios of all steps are summed up like the scores of shuffled messages.

Theory: docs/theory/allocation.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from .. import tuning
from .._support.numeric import BOTH, UNIT, Array, Side, erfc
from ..laws.class_law import ClassLaw, ClassLaws, sampled_loss
from ..profiles.base import PairProfile, PrivacyProfile, Sampler
from ..profiles.class_profile import LawTable, sampler_between
from ..profiles.subsampled import missing_loss
from .lattice import beside_kinks, on_lattice
from .pld import PLD, Sampled, lower_pld, upper_pld

# proof constants: docs/theory/constants.md
_ULP = 2 * UNIT
_OUTCOMES = 501  # at which the sum of a step is told apart, for what shuffled batches leak


def allocated(step: PrivacyProfile, steps: int, skipped: int = 0) -> PairProfile:
    """The profiles of random allocation in both orders, the value being there and missing.

    Parameters
    ----------
    step : PrivacyProfile
        Of the pair (with the value, without it) of one step. The other order is its `reverse`, or
        the same.
    steps : int
        The steps that are carried out.
    skipped : int
        The value may also be allocated to so many further steps that are not carried out.
    """
    if steps == 1 and skipped == 0:
        return PairProfile(step, step.reverse or step)
    there, missing = (AllocatedProfile(step, steps, skipped, order) for order in (True, False))
    return PairProfile(there, missing)


@dataclass(frozen=True)
class AllocatedProfile(PrivacyProfile):
    """The profile of a value that is allocated to one of steps + skipped steps at random.

    Parameters
    ----------
    step : PrivacyProfile
        Of the pair (with the value, without it) of one step.
    steps, skipped : int
        Steps that are carried out, and steps that are not.
    is_there : bool
        The order of the neighbours: (with the value, without it), or the other one.

    Notes
    -----
    With r_i the likelihood ratio P/Q of step i, all of them drawn from Q, delta is
    E[(mean of r - e^epsilon)_+] if the value is there, and E[(1 - e^epsilon mean of r)_+] in the
    other order, where the mean is over all steps and r = 1 for those that are skipped.
    """

    step: PrivacyProfile
    steps: int
    skipped: int
    is_there: bool

    @property
    def _total(self) -> int:
        return self.steps + self.skipped

    @property
    def _single(self) -> PrivacyProfile:
        """The profile of one step in this order."""
        return self.step if self.is_there else self.step.reverse or self.step

    @property
    def max_loss(self) -> float:
        """The mean ratio is no larger than the largest ratio, and no smaller than the smallest.

        Outcomes of single steps that exclude the value do so together only: with one other step
        the mean ratio is at least the smallest positive ratio over the number of steps.
        """
        single = self._single
        if self.is_there:
            return sampled_loss(single.max_loss, self.steps / self._total)
        if self.skipped:  # the mean ratio is at least skipped/total
            return missing_loss(single, self.steps / self._total, self.skipped / self._total)
        return single.max_loss + (0.0 if single.bounded else math.log(self.steps) + 2.0**-40)

    @property
    def bounded(self) -> bool:
        return self._single.bounded or (not self.is_there and self.skipped > 0)

    @cached_property
    def kinks(self) -> Array | None:
        """Losses of all combinations of the outcomes of few steps, if these have few outcomes."""
        forward, backward = self.step.kinks, (self.step.reverse or self.step).kinks
        if forward is None or backward is None:
            return None
        # the ratio 0 of outcomes that exclude the value
        ratios = np.unique(np.exp(np.concatenate([forward, -backward, [-math.inf]])))
        if math.comb(len(ratios) + self.steps - 1, self.steps) > 500:
            return None
        sums = combinations_with_replacement(ratios.tolist(), self.steps)
        mean = (np.array([math.fsum(each) for each in sums]) + self.skipped) / self._total
        mean = mean[mean > 0]
        losses = np.log(mean if self.is_there else 1 / mean)
        return np.unique(losses[losses > 0])

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def family(self) -> tuple[Hashable, int]:
        return super().family if self.skipped else ((self.step, self.is_there), self.steps)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Return a sampler between the laws of the two PLDs that enclose one step."""
        width = min(rtol, tuning.OUTLINE_WIDTH)
        below, above = (
            LawTable([_step_law(pld, side, self.is_there, self._total)], self.steps, self.skipped)
            for pld, side in zip(_enclosing(self.step, depth, width), BOTH, strict=True)
        )
        return sampler_between(self, below, above, width, depth)


def _enclosing(step: PrivacyProfile, depth: float, width: float) -> tuple[PLD, PLD]:
    """PLDs below and above the pair of one step, for a relative width in epsilon."""
    orders = [step, step.reverse or step]
    largest = max(order.max_loss for order in orders)
    # slopes between neighbouring points have an error of about 2^-52 over their distance
    spacing = largest * 2.0**-24
    sampled = []
    for order, growth in zip(orders, (0.0, 2 / 3), strict=True):
        sampler, end = order.sampler(depth, width), _last_loss(order, depth)
        kinks = order.kinks
        places = _places(end, width, growth) if kinks is None else beside_kinks(kinks, spacing, end)
        index = on_lattice(places, spacing, end)
        samples = sampler(spacing * index.astype(float))
        flat = not order.bounded and end >= order.max_loss
        sampled.append(Sampled(index, samples, flat).without_last_fall())
    return lower_pld(spacing, *sampled), upper_pld(spacing, *sampled)


def _last_loss(profile: PrivacyProfile, depth: float) -> float:
    """A loss beyond which delta is about e^-depth, or the largest."""
    places = np.append(0.0, np.geomspace(1e-6, 1.0, 200)) * profile.max_loss
    beyond = places[profile.outlined(places) <= math.exp(-depth)]
    return float(beyond[0]) if len(beyond) else profile.max_loss


def _places(end: float, width: float, growth: float) -> Array:
    """Losses from 0 to the last one, at distances h that move a ratio r by h r.

    That adds about h^2/4 of its square to the variance of the ratios, and half as much to epsilon.
    The small ratios e^-l of negative losses have a small share in it: there h grows by
    e^(growth l).
    """
    if end == 0:  # next to nothing is lost
        return np.zeros(1)
    h = 1.4 * math.sqrt(width) * min(1.0, end / 9)
    length = -math.expm1(-growth * end) / growth if growth else end
    number = min(math.ceil(length / h), tuning.MOST_SAMPLES)
    even = np.linspace(0.0, length, number + 1)
    places: Array = -np.log(np.maximum(1 - growth * even, 1e-300)) / growth if growth else even
    return np.minimum(places, end)


def _step_law(pld: PLD, side: Side, is_there: bool, total: int) -> ClassLaw:
    """The law of the ratios P/Q of one step under Q, below or above that of the true pair.

    A PLD has the P-masses of a pair, and Q = P e^-loss. What Q lacks of 1, P excludes: its ratio is
    0. Rounding is charged to one side: from above that mass has a score of 0 instead of less if the
    value is there, and is too large in the other order; from below the PLD lacks more than that,
    and in the other order all of it gets a ratio that no other steps can make up for.
    """
    losses, p = pld.losses, pld.masses
    q = p * np.exp(-losses)
    slack = (len(q) + 8 + float(np.abs(losses).max())) * _ULP
    lacking = 1 - float(q.sum())
    if is_there:
        without = [*q, max(lacking - side * slack, 0.0), 0.0]
        rows = np.array([[*p, 0.0, pld.infinite], without, without])
    else:
        p = np.minimum(p, 2.0 * total * q)  # no sum with a larger ratio is positive
        excluded, lost = pld.reverse_infinite, 0.0
        if side is Side.UPPER:
            excluded = max(excluded, lacking + slack)
        else:
            lost = max(lacking - excluded + slack, 0.0)
        without = [*q, excluded, lost]
        rows = np.array([without, [*p, 0.0, 2.0 * total * lost], without])
    excess = max(float(rows[2].sum()), float(pld.masses.sum()) + pld.infinite, 1.0) - 1
    u, v, blanket = rows[:, rows.any(axis=0)] / (1 + excess)
    return ClassLaw(u, v, blanket, slack + excess)


def opposite_law(sigma: float) -> ClassLaws:
    """A law below that of a step of shuffled batches whose other examples add the opposite.

    The sum of the batch in question is N(2, sigma^2) with the example and N(1, sigma^2) without
    it, those of all other batches are N(0, sigma^2). Outcomes are merged to cells, which can only
    make them harder to tell apart. Beyond 11 sigma no other batch has a sum, so that one cell will
    do.
    """
    edges = np.linspace(-8 * sigma, min(2 + 8 * sigma, 11 * sigma), _OUTCOMES)
    u, v, others = (_cell_masses((edges - mean) / sigma) for mean in (2.0, 1.0, 0.0))
    # tails are at most 40 times as large as their differences, and err by 4 + 4 x^2 units: two of
    # them by 320 (1 + x^2), less than is charged
    error = _OUTCOMES * (1 + (11 + 2 / sigma) ** 2) * UNIT
    return ClassLaws((ClassLaw(u, v, others, error),))


def _cell_masses(edges: Array) -> Array:
    """The masses of a standard normal variable below, between and above these edges."""
    tails = erfc(np.abs(edges) / math.sqrt(2)) / 2
    above = np.where(edges >= 0, tails, 1 - tails)
    below = np.where(edges < 0, tails, 1 - tails)
    between = np.where(edges[:-1] >= 0, above[:-1] - above[1:], below[1:] - below[:-1])
    masses: Array = np.concatenate([below[:1], between, above[-1:]])
    return masses
