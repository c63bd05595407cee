"""Sums of independent privacy losses: tilted FFT with every error charged to the safe side.

The masses are multiplied by e^(tilt * loss) and normalised before the transform, which moves the
centre of the sum to the losses that matter. Probabilities of 1e-100 then keep about 12 digits,
where a plain FFT has an absolute floor near 1e-16.

Theory: docs/theory/composition.md.
"""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array, Side
from .._support.transforms import power, round_up, transform_error
from . import tuning
from .tilts import Parts, log_mgf

# proof constants: docs/theory/constants.md
#: Relative error of the lattice losses, of epsilon, and of where a largest loss was put on it.
LOSS_ERROR = 2.0**-50
#: Sums from the top down have factors between 1 and e to this.
WIDEST = 600.0
#: Relative error of the probability of an infinite loss.
INFINITE = 1e-12


def infinite_mass(parts: Parts) -> float:
    """The probability that some round's loss is infinite."""
    if any(pld.infinite >= 1 for pld, _ in parts):
        return 1.0
    return -math.expm1(math.fsum(count * math.log1p(-pld.infinite) for pld, count in parts))


class LatticeTooLong(Exception):
    """The sum needs more lattice points than a transform may have."""


class TiltedSum:
    """The law of the summed loss around the centre that the tilt chooses."""

    def __init__(self, parts: Parts, tilt: float, longest: int = 0) -> None:
        self._tilt = tilt
        self._step = parts[0][0].step
        self._log_mgf, mean, _ = log_mgf(parts, tilt)
        self.infinite = infinite_mass(parts)
        self._outside = 1e-13  # mass on either side of the window: as much as rounding costs
        first, last = _window(parts, tilt, self._log_mgf, mean, self._outside)
        size = 2 * round_up((last - first + 1) / 2)
        if size > (longest or tuning.MAX_POINTS):
            raise LatticeTooLong
        self._losses = self._step * (first + np.arange(size, dtype=float))
        # e^-709 .. e^709 is the range of a double: a larger factor becomes infinite, and the
        # bound trivial, on either side
        with np.errstate(over="ignore", under="ignore"):
            self._untilted = np.exp(self._log_mgf - tilt * self._losses)
        self._masses, self._error, self._norm_error = self._convolve(parts, first, size)
        # relative error of the tilted masses, over all rounds
        rounds = sum(count for _, count in parts)
        reach = max(float(np.abs(pld.losses).max()) for pld, _ in parts)
        self._relative = 16 * UNIT * rounds * (4 + tilt * reach)
        self._loss_error = LOSS_ERROR * rounds * reach
        self._loss_error += sum(count * pld.loss_error for pld, count in parts)
        self._centre = mean
        self._lower_at_centre = self._delta(mean, Side.LOWER)

    def _convolve(self, parts: Parts, first: int, size: int) -> tuple[Array, float, float]:
        """Tilted masses at lattice points first, first + 1, ..., a bound of their error each, and
        one of the Euclidean norm of their errors."""
        spectrum = np.ones(size // 2 + 1, dtype=complex)
        error = np.zeros(len(spectrum))  # of the spectrum, absolute
        # |error| of one transform is at most this times the sum of the masses, which is 1
        rounding = transform_error(size)
        shift = first
        for pld, count in parts:
            log_norm = pld.log_norm(self._tilt)
            # in two halves: a mass of 1e-300 may need a factor beyond the range of a double
            half = np.exp((self._tilt * pld.losses - log_norm) / 2)
            tilted = pld.masses * half * half
            folded = np.bincount((pld.index - pld.index[0]) % size, tilted, size)
            factor = np.fft.rfft(folded)
            magnitude = np.minimum(np.abs(factor) + rounding, 1 + rounding)
            with np.errstate(under="ignore"):
                powers = power(factor, count)
                # |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1); likewise for the power's rounding
                lesser = magnitude ** (count - 1)
                growth = count * rounding * lesser
            error = error * lesser * magnitude + (np.abs(spectrum) + error) * growth
            spectrum = spectrum * powers
            shift -= int(pld.index[0]) * count
        masses = np.roll(np.fft.irfft(spectrum, size), -(shift % size))
        # each output averages the spectrum: its error, and the inverse transform's rounding;
        # likewise for the norm (Parseval)
        mean_error = (2 * error.sum() + 2 * rounding * np.abs(spectrum).sum()) / size
        norm = math.sqrt(2 * float(np.sum((error + rounding * np.abs(spectrum)) ** 2)) / size)
        return np.maximum(masses, 0.0), float(mean_error), norm

    def delta(self, epsilon: float, side: Side) -> float:
        """delta(epsilon) of the sum: an upper bound if side is UPPER, else a lower one.

        Sharp near the centre. Far below it rounding drowns the value, but delta falls with epsilon.
        """
        value = self._delta(epsilon, side)
        if side is Side.LOWER and epsilon < self._centre:
            return max(value, self._lower_at_centre)
        return value

    def deltas(self, epsilon: Array, side: Side) -> Array:
        """The same at many epsilons, by sums from the top down that all of them share."""
        if self._step * len(self._losses) > WIDEST:
            return np.array([self.delta(e, side) for e in epsilon.tolist()])
        moved = epsilon - side * (LOSS_ERROR * epsilon + self._loss_error)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            outside: Array = np.exp(self._log_mgf - self._tilt * moved)
            outside *= 2 * self._outside * _largest_gain(self._tilt)
            value = self._gained(self._masses * self._untilted, moved)
            noise = self._error * self._gained(self._untilted, moved)
            # the square of a gain is at most the gain times its factor
            norm = self._norm_error * np.sqrt(self._gained(self._untilted**2, moved))
            value += side * (np.fmin(noise, norm) + outside)
            ends = np.abs(self._losses[[0, -1]]).max()
            exponent = abs(self._log_mgf) + self._tilt * np.maximum(ends, np.abs(moved))
            relative = self._relative + UNIT * (8 * (8 + exponent) + 2 * len(self._losses) + 2000)
            value = np.where(np.isfinite(value) & (relative <= 1), value, side * math.inf)
            value = np.maximum(value, 0.0) * np.exp(side * np.minimum(relative, 1.0))
            value = np.asarray(value + self.infinite * (1 + side * INFINITE))
        if side is Side.UPPER:
            return np.minimum(1.0, value + UNDERFLOW)
        value = np.where(value > UNDERFLOW, value, 0.0)
        return np.where(epsilon < self._centre, np.maximum(value, self._lower_at_centre), value)

    def _gained(self, weights: Array, epsilon: Array) -> Array:
        """The sum of weights (1 - e^(epsilon - loss)) over the losses above each epsilon.

        At loss s_i it is D_i = (1 - e^-h) sum over k >= i of e^(-h (k-i)) T_(k+1), with T_k the sum
        of the weights from k on and h the step: sums of positive numbers.
        """
        size, fall = len(weights), np.exp(-self._step * np.arange(len(weights)))
        above = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        at_loss = np.cumsum((fall * above[1:])[::-1])[::-1] * -math.expm1(-self._step) / fall
        first = np.searchsorted(self._losses, epsilon, side="right")
        some = np.minimum(first, size - 1)
        before = np.minimum(epsilon - self._losses[some], 0.0)
        gained = -np.expm1(before) * above[some] + np.exp(before) * at_loss[some]
        return np.where(first < size, gained, 0.0)

    def about(self, delta: float) -> float:
        """Where delta(epsilon) is about `delta`, without any proof: sums from the top down."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            masses = self._masses * self._untilted
            above = np.cumsum(masses[::-1])
            scaled = np.cumsum((masses * np.exp(self._centre - self._losses))[::-1])
            # at the losses from the last but one down, all above them are in the sums
            values = above[:-1] - np.exp(self._losses[-2::-1] - self._centre) * scaled[:-1]
            i = int(np.argmax(values > delta - self.infinite))
            place = (above[i] - (delta - self.infinite)) / scaled[i]
        if not (values[i] > delta - self.infinite and 0 < place < math.inf):
            return self._centre
        return self._centre + math.log(place)

    @property
    def density(self) -> tuple[Array, Array]:
        """Losses of the sum, and about its density there; 0 where it is lost in rounding, which
        far from the centre would grow beyond everything else."""
        masses = np.where(self._masses > self._error, self._masses, 0.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self._losses, np.nan_to_num(masses * self._untilted) / self._step

    def _delta(self, epsilon: float, side: Side) -> float:
        epsilon -= side * (LOSS_ERROR * epsilon + self._loss_error)
        start = int(np.searchsorted(self._losses, epsilon, side="right"))
        losses = self._losses[start:]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            gain = -np.expm1(epsilon - losses) * self._untilted[start:]
            # mass outside the window that is missed (upper) or has been folded in (lower)
            outside = 2 * self._outside * _largest_gain(self._tilt)
            outside *= float(np.exp(self._log_mgf - self._tilt * epsilon))
            value = _dot(gain, self._masses[start:])
            noise = min(_dot(gain, self._error), self._norm_error * math.sqrt(_dot(gain, gain)))
            value += side * (noise + outside)
        exponent = abs(self._log_mgf) + self._tilt * float(np.abs(losses).max(initial=abs(epsilon)))
        relative = self._relative + 8 * UNIT * (8 + exponent)
        if not math.isfinite(value) or relative > 1:
            value = side * math.inf
        value = max(value, 0.0) * math.exp(side * min(relative, 1.0))
        value += self.infinite * (1 + side * INFINITE)
        if side is Side.LOWER:
            return value if value > UNDERFLOW else 0.0
        return min(1.0, value + UNDERFLOW)


def _dot(a: Array, b: Array | float) -> float:
    return float(np.sum(a * b))


def _largest_gain(tilt: float) -> float:
    """max over s >= 0 of (1 - e^-s) e^(-tilt s)."""
    return 1.0 if tilt == 0 else math.exp(tilt * math.log(tilt / (1 + tilt))) / (1 + tilt)


def _window(
    parts: Parts, tilt: float, log_norm: float, mean: float, outside: float
) -> tuple[int, int]:
    """Lattice points beyond which the tilted sum has mass at most `outside` on each side.

    Chernoff: Pr[S >= b] <= exp(K(tilt + t) - K(tilt) - t b) for every t > 0, likewise below.
    """
    step = parts[0][0].step
    bottom = sum(count * int(pld.index[0]) for pld, count in parts)
    top = sum(count * int(pld.index[-1]) for pld, count in parts)
    deviation = math.sqrt(log_mgf(parts, tilt)[2]) + step
    need = -math.log(outside)
    # light tails need some multiples of 1/deviation, rare large losses far smaller ones
    reach = max(float(np.abs(pld.losses).max()) for pld, _ in parts)
    least = min(0.5 / deviation, 2 / max(reach, step))
    ends = []
    for direction in (-1, 1):
        best = math.inf
        for t in np.geomspace(least, 20 / deviation, 16):
            there = tilt + direction * t
            excess = sum(count * pld.log_norm(there) for pld, count in parts) - log_norm
            best = min(best, (excess + need) / t)
        ends.append(direction * best)
    # the bound's own rounding is covered by one more step and a part in 10^9
    pad = 1e-9 * (ends[1] - ends[0]) + 1e-12 * abs(mean) + step
    first = max(bottom, math.floor((ends[0] - pad) / step))
    last = min(top, math.ceil((ends[1] + pad) / step))
    return first, max(first, last)
