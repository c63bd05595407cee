"""Sums of independent privacy losses on a tilted lattice, with every error charged.

The masses are multiplied by e^(tilt * loss) and normalised before the transform, which moves the
centre of the sum to the losses that matter. Probabilities of 1e-100 then keep about 12 digits,
where a plain FFT has an absolute floor near 1e-16. Every tilt is sound.

Theory: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array, Side
from .._support.transforms import discounted_sums, fast_length
from ..engines.tilted_lattice import TiltedMasses, convolve
from .pld import PLD

# proof constants: docs/theory/constants.md
#: Relative error of the lattice losses, of epsilon, and of where a largest loss was put on it.
LOSS_ERROR = 2.0**-50
#: Relative error of the probability of an infinite loss.
INFINITE_ERROR = 1e-12
#: Tilted mass on either side of the window: as much as rounding costs.
_OUTSIDE = 1e-13
#: Longer steps, as losses, count as this in a fall by one step: e^-300 is below rounding.
_LONG_STEP = 300.0

#: PLDs on one lattice, and in how many rounds each of them is the law of the loss.
CountedPLDs = Sequence[tuple[PLD, int]]


class Cumulants(NamedTuple):
    """The logarithm of E[e^(tilt S)] of a sum S, and its first two derivatives in the tilt."""

    log_mgf: float
    mean: float  # under the tilt
    variance: float


class LatticeTooLong(Exception):
    """The sum needs more lattice points than a transform may have."""


def infinite_mass(plds: CountedPLDs) -> float:
    """Return the probability that some round's loss is infinite."""
    if any(pld.infinite >= 1 for pld, _ in plds):
        return 1.0
    return -math.expm1(math.fsum(count * math.log1p(-pld.infinite) for pld, count in plds))


class TiltedSum:
    """The law of the summed loss around the centre that a tilt chooses.

    Parameters
    ----------
    plds : CountedPLDs
        All on one lattice.
    tilt : float
        At least 0. Values are sharp where the sum is centred under the tilt.
    longest : int, optional
        The largest number of lattice points; MAX_POINTS by default.

    Raises
    ------
    LatticeTooLong
        If the window of the sum has more points than that.

    Notes
    -----
    docs/theory/composition.md, tilted sums. With w_j the masses at the losses s_j = s_0 + j h, the
    tilt undone, T_i the sum of w_j over j >= i, and D_i = E[(1 - e^(s_i - S))_+],

        D_i = (1 - e^-h) T_(i+1) + e^-h D_(i+1),

    and delta(epsilon) = (1 - x) T_i + x D_i between s_(i-1) and s_i, with x = e^(epsilon - s_i).
    All terms are positive, so that running sums err relatively. The noise of the transform is
    charged to delta with the sum of all factors that undo the tilt, a geometric series.
    """

    def __init__(self, plds: CountedPLDs, tilt: float, longest: int | None = None) -> None:
        self._tilt = tilt
        self._step = plds[0][0].step
        self._log_mgf, self._centre, _ = cumulants(plds, tilt)
        self.infinite = infinite_mass(plds)
        first, last = _window(plds, tilt, self._log_mgf, self._centre)
        points = 2 * fast_length((last - first + 1) / 2)
        if points > (tuning.MAX_POINTS if longest is None else longest):
            raise LatticeTooLong
        self._losses = self._step * (first + np.arange(points, dtype=float))
        rounds = sum(count for _, count in plds)
        largest = max(float(np.abs(pld.losses).max()) for pld, _ in plds)
        # relative errors of the tilted masses, over all rounds, and of the running sums
        self._relative = UNIT * 16 * rounds * (8 + tilt * largest)
        self._relative += UNIT * ((16 + 2 * self._step) * points + 2000)
        self._loss_error = LOSS_ERROR * rounds * largest
        self._loss_error += sum(count * pld.loss_error for pld, count in plds)
        self._law = _convolve(plds, tilt, first, points)
        # e^-709 .. e^709 is the range of a double: a larger factor becomes infinite, and the
        # bound trivial, on either side
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            self._untilted = np.exp(self._log_mgf - tilt * self._losses)
            masses_from_top = (self._law.masses[0] * self._untilted)[::-1]
            self._tails = np.cumsum(masses_from_top)[::-1]
            # D_i, from the largest loss down
            terms, fall = -math.expm1(-self._step) * self._tails[::-1], min(self._step, _LONG_STEP)
            sums = discounted_sums(np.zeros(1), terms[None, :], np.array([fall]))
            self._deltas_at_losses = sums[0, ::-1]
        self._lower_at_centre = float(self._bound(np.array([self._centre]), Side.LOWER)[0])

    def delta(self, epsilon: float, side: Side) -> float:
        """Return a bound on delta(epsilon) from the given side; see `deltas`."""
        return float(self.deltas(np.array([epsilon]), side)[0])

    def deltas(self, epsilon: Array, side: Side) -> Array:
        """Return bounds on delta(epsilon) of the sum, from above if side is UPPER, else from below.

        They are sharp near the centre. Far below it rounding drowns the value, but delta falls with
        epsilon, so that the lower bound at the centre holds there, too.
        """
        bound = self._bound(epsilon, side)
        if side is Side.UPPER:
            return bound
        below_centre = np.maximum(bound, self._lower_at_centre)
        return np.asarray(np.where(epsilon < self._centre, below_centre, bound))

    def _bound(self, epsilon: Array, side: Side) -> Array:
        """Return a bound on delta at each epsilon, [epsilons], that is sharp near the centre only.

        Rounding, the mass outside the window and the errors of losses are charged to the side; the
        bound is trivial where the factors that undo the tilt leave the range of a double.
        """
        epsilon = epsilon - side * (LOSS_ERROR * epsilon + self._loss_error)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value, noise = self._stop_losses(epsilon)
            # mass outside the window that is missed (upper) or has been folded in (lower)
            outside: Array = np.exp(self._log_mgf - self._tilt * epsilon)
            outside *= 2 * _OUTSIDE * _largest_gain(self._tilt)
            value = value + side * (noise + outside)
            ends = float(np.abs(self._losses[[0, -1]]).max())
            exponent = abs(self._log_mgf) + self._tilt * np.maximum(ends, np.abs(epsilon))
            relative = self._relative + 8 * UNIT * (8 + exponent)
            value = np.where(np.isfinite(value) & (relative <= 1), value, side * math.inf)
            value = np.maximum(value, 0.0) * np.exp(side * np.minimum(relative, 1.0))
        value = value + self.infinite * (1 + side * INFINITE_ERROR)
        if side is Side.UPPER:
            return np.asarray(np.minimum(value + UNDERFLOW, 1.0))
        return np.asarray(np.where(value > UNDERFLOW, value, 0.0))

    def _stop_losses(self, epsilon: Array) -> tuple[Array, Array]:
        """Return the sums of mass times (1 - e^(epsilon - loss))_+, and bounds on their noise."""
        last = len(self._losses) - 1
        above = np.searchsorted(self._losses, epsilon, side="right")
        i = np.minimum(above, last)
        gap = np.minimum(epsilon - self._losses[i], 0.0)
        value = -np.expm1(gap) * self._tails[i] + np.exp(gap) * self._deltas_at_losses[i]
        # the square of a gain is at most the gain
        total, squares = (self._gains(i, -gap, rate) for rate in (self._tilt, 2 * self._tilt))
        noise = self._untilted[i] * self._law.error_of_sum(total, np.sqrt(squares))
        inside = above <= last
        return np.where(inside, value, 0.0), np.where(inside, noise, 0.0)

    def _gains(self, i: NDArray[np.intp], distance: Array, rate: float) -> Array:
        """Return an upper bound on the sum over k >= 0 of e^(-rate h k) (1 - e^(-distance - h k)).

        The sum has as many terms as there are losses from the i-th on. A gain is at most 1 and at
        most distance + h k.
        """
        terms = (len(self._losses) - i).astype(float)
        fall = max(-math.expm1(-rate * self._step), 1e-150)
        number = np.minimum(terms, 1 / fall)
        steps = np.minimum(terms**2 / 2, 1 / fall**2)
        bound: Array = np.minimum(number, distance * number + self._step * steps)
        return bound * (1 + 1e-9)

    def estimated_epsilon(self, delta: float) -> float:
        """Return about the epsilon at which delta(epsilon) is `delta`; nothing is proven."""
        wanted = delta - self.infinite
        at_losses = self._deltas_at_losses
        # the first loss at which delta is small enough
        i = int(np.argmax(at_losses <= wanted))
        fall = self._tails[i] - at_losses[i]
        with np.errstate(over="ignore"):
            place = (self._tails[i] - wanted) / fall if fall > 0 else math.nan
        if not (i and 0 < place < math.inf):
            return self._centre
        return float(self._losses[i]) + math.log(place)

    @property
    def density(self) -> tuple[Array, Array]:
        """Losses of the sum, and about its density there.

        It is 0 where it is lost in rounding, which far from the centre would grow beyond everything
        else.
        """
        masses = np.where(self._law.masses[0] > self._law.error, self._law.masses[0], 0.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self._losses, np.nan_to_num(masses * self._untilted) / self._step


def _convolve(plds: CountedPLDs, tilt: float, first: int, points: int) -> TiltedMasses:
    """Return the tilted masses of the sum at the lattice points first, first + 1, ...: one row."""
    laws, shift = [], first
    for pld, count in plds:
        # in two halves: a mass of 1e-300 may need a factor beyond the range of a double
        half = np.exp((tilt * pld.losses - pld.log_mgf(tilt)) / 2)
        places = (pld.index - pld.index[0]) % points
        tilted = np.bincount(places, pld.masses * half * half, points).astype(float)
        laws.append((tilted[None, :], count))
        shift -= int(pld.index[0]) * count
    law = convolve(laws)
    return law._replace(masses=np.roll(law.masses, -(shift % points), axis=1))


def _largest_gain(tilt: float) -> float:
    """Return the maximum over s >= 0 of (1 - e^-s) e^(-tilt s)."""
    return 1.0 if tilt == 0 else math.exp(tilt * math.log(tilt / (1 + tilt))) / (1 + tilt)


def _window(plds: CountedPLDs, tilt: float, log_norm: float, mean: float) -> tuple[int, int]:
    """Return lattice points beyond which the tilted sum has at most `_OUTSIDE` on each side.

    Chernoff: Pr[S >= b] <= exp(K(tilt + t) - K(tilt) - t b) for every t > 0, likewise below.
    """
    step = plds[0][0].step
    bottom = sum(count * int(pld.index[0]) for pld, count in plds)
    top = sum(count * int(pld.index[-1]) for pld, count in plds)
    deviation = math.sqrt(cumulants(plds, tilt).variance) + step
    # light tails need some multiples of 1/deviation, rare large losses far smaller ones
    largest = max(float(np.abs(pld.losses).max()) for pld, _ in plds)
    smallest = min(0.5 / deviation, 2 / max(largest, step))
    ends = []
    for direction in (-1, 1):
        distance = math.inf
        for t in np.geomspace(smallest, 20 / deviation, 8):
            moved = sum(count * pld.log_mgf(tilt + direction * t) for pld, count in plds)
            distance = min(distance, (moved - log_norm - math.log(_OUTSIDE)) / t)
        ends.append(direction * distance)
    # the bound's own rounding is covered by one more step and a part in 10^9
    pad = 1e-9 * (ends[1] - ends[0]) + 1e-12 * abs(mean) + step
    first = max(bottom, math.floor((ends[0] - pad) / step))
    last = min(top, math.ceil((ends[1] + pad) / step))
    return first, max(first, last)


def cumulants(plds: CountedPLDs, tilt: float) -> Cumulants:
    """Return those of the summed finite loss."""
    each = [(count, pld.cumulants(tilt)) for pld, count in plds]
    return Cumulants(*(sum(count * k[i] for count, k in each) for i in range(3)))


def tilt_for_epsilon(plds: CountedPLDs, epsilon: float) -> float:
    """Return the tilt that centres the sum at epsilon; 0 if it is centred above it already."""
    return _smallest_tilt(plds, lambda tilt, found: found.mean >= epsilon)


def tilt_for_delta(plds: CountedPLDs, delta: float) -> float:
    """Return the tilt that centres the sum where delta is about `delta`, by the saddle point."""

    def is_below_delta(tilt: float, found: Cumulants) -> bool:
        log_mgf, mean, variance = found
        spread = math.log1p(tilt * math.sqrt(2 * math.pi * variance)) + math.log1p(tilt)
        return log_mgf - tilt * mean - spread <= math.log(delta)

    return _smallest_tilt(plds, is_below_delta)


def _smallest_tilt(plds: CountedPLDs, is_enough: Callable[[float, Cumulants], bool]) -> float:
    """Return the smallest tilt >= 0, to a few percent, that is enough; `is_enough` is monotone.

    Not beyond tilt * mean = 10^6, where e^(tilt * loss) loses its digits: the sum is then at its
    top outcome and needs no larger tilt.
    """
    if is_enough(0.0, cumulants(plds, 0.0)):
        return 0.0
    largest = sum(count * float(np.abs(pld.losses).max()) for pld, count in plds)
    if largest == 0:
        return 0.0
    low, high = -25.0, min(50.0, math.log(1e15 / largest))  # exponents of e
    for _ in range(12):  # the tilt need not be exact
        middle = math.exp((low + high) / 2)
        found = cumulants(plds, middle)
        if middle * found.mean >= 1e6 or is_enough(middle, found):
            high = math.log(middle)
        else:
            low = math.log(middle)
    return math.exp(high)
