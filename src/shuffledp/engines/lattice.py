"""E[(S_n)_+] for some users with scores of many values: on a lattice, by fast Fourier transforms.

Scores are moved to multiples of a step h. Parted between the two multiples next to them, with their
mean kept, they give an upper value (Jensen). Moved to the nearest one, with the sum L, they give a
lower one: E[(S)_+] >= E[S; L > 0], in which the rests of the scores count as slopes do. The two
differ by n h^2/8 times the density of S at 0. A score that most users have is where the lattice
starts: it is not moved. docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._support.numeric import UNIT, Array, Side
from .._support.transforms import Spectrum, power, round_up, transform_error
from . import tuning
from .copies import Beyond
from .fourier import cut_off, deep, markov, stop_loss
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING, TiltedLaw, tilted

# proof constants: docs/theory.md, "Constants"
_MOST_GROWTH = 0.05  # relative error of all masses together beyond which nothing is resolved
_HALF = 0.5 + 1e-6  # of a step: how far a score is moved, rounding included


def lattice_stop_loss(sums: ScoreSums, width: float, besides: Array | None = None) -> Bracket:
    """E[(S_n)_+] for each row, n >= 2, and a line below it; `width` as in fourier.stop_loss,
    whatever there is `besides`."""
    return stop_loss(sums, width, _bracket)


def _bracket(sums: ScoreSums, unit: Array, width: float) -> Bracket:
    """For scores in [-1, 1], times unit; not finite where the range is left."""
    law = tilted(sums, width)
    beyond, hopeless = Beyond(law), deep(law)
    period = beyond.period(cut_off(width))
    wanted = period / (law.tau * np.sqrt(tuning.COARSENESS / np.maximum(sums.others, 1.0)))
    wanted = np.clip(wanted, 8, max(tuning.MOST_POINTS, 8))
    usable = np.isfinite(wanted) & np.isfinite(period) & ~hopeless
    points = np.array([round_up(number) for number in np.where(usable, wanted, 8).tolist()])
    found = np.array(without_slope(np.zeros(len(points)), np.full(len(points), np.inf)))
    for size in np.unique(points).tolist():
        same = np.flatnonzero(usable & (points == size))
        together = max(1, tuning.AT_ONCE // size)
        for i in range(0, len(same), together):
            rows = same[i : i + together]
            lattice = _Lattice(law.rows(rows), period[rows] / size, size)
            lower, *slopes = _lower(lattice, beyond.rows(rows))
            found[:, rows] = lower, _upper(lattice), *slopes
    return Bracket(
        np.where(hopeless, 0.0, found[0] * unit),
        np.where(hopeless, markov(law, unit), found[1] * unit),
        found[2],
        found[3],
    )


class _Scores(NamedTuple):
    """Scores above the common one and their probabilities, mass that is left over included; the
    threshold is that of their sum. All are on one side of the truth."""

    values: Array
    masses: Array
    threshold: Array


class _Gain(NamedTuple):
    """What a sum counts at successive multiples of the step, the sum of that and its norm."""

    values: Array
    total: Array
    norm: Array

    @classmethod
    def of(cls, values: Array) -> _Gain:
        return cls(values, values.sum(axis=1), np.sqrt(np.einsum("ij,ij->i", values, values)))


class _Others(NamedTuple):
    """All users but one: their spectrum, and how much an error of each spectrum counts."""

    spectrum: Spectrum
    fragile: Array


class _Sum(NamedTuple):
    """Tilted masses of the sum at successive multiples of the step modulo the period, with a bound
    of their error each and of the Euclidean norm of their errors."""

    masses: Array
    error: Array
    norm_error: Array

    def dot(self, gain: _Gain) -> tuple[Array, Array]:
        """The sum of masses times gains, and its error."""
        noise = np.minimum(self.error * gain.total, self.norm_error * gain.norm)
        return np.einsum("ij,ij->i", self.masses, gain.values), noise


@dataclass(frozen=True)
class _Lattice:
    """Multiples of the step of each row; so many of them are a period."""

    law: TiltedLaw
    step: Array
    points: int

    @property
    def period(self) -> Array:
        return self.step * self.points

    @cached_property
    def decay(self) -> Array:
        """e^(-theta period): what the tilt leaves of the next copy."""
        decay: Array = np.exp(-self.law.theta * self.period)
        return decay

    @cached_property
    def top(self) -> Array:
        """About the largest exponent of a tilt: all are taken relative to it."""
        largest = np.maximum(self.law.sums.scores.max(axis=1), 0.0) - self.law.sums.common[0]
        top: Array = self.law.theta * largest
        return top

    def scores(self, side: Side) -> _Scores:
        sums = self.law.sums
        common, size, _ = sums.common
        start = common + side * ROUNDING * size
        values = sums.scores + side * ROUNDING * sums.magnitudes - start[:, None]
        left = np.maximum(1 - sums.probabilities.sum(axis=1), 0.0)
        if side is Side.UPPER:
            left += UNIT * (sums.scores.shape[1] + 24) + sums.error
        n = float(sums.users)
        error = 32 * UNIT * (sums.threshold + n * size)
        return _Scores(
            np.column_stack([values, -start]),
            np.column_stack([sums.probabilities, left]),
            sums.threshold - n * start - side * error,
        )

    def masses(self, place: Array, weights: Array, first: Array | None = None) -> Array:
        """Weights at multiples `place`, tilted, counted from the `first` one: [rows, points]."""
        rows = np.arange(len(self.step))[:, None]
        column = place if first is None else place - first[:, None]
        index = (column % self.points).astype(np.intp) + self.points * rows
        exponent = (self.law.theta * self.step)[:, None] * place - self.top[:, None]
        heavy = weights * np.exp(exponent)
        laid = np.bincount(index.ravel(), heavy.ravel(), len(rows) * self.points)
        return laid.astype(float).reshape(len(rows), self.points)

    def others(self, one: Array) -> _Others:
        """n - 1 users with masses that have the sum 1."""
        spectrum, others = np.fft.rfft(one), self.law.sums.users - 1
        error = transform_error(self.points)
        size = np.minimum(np.abs(spectrum) + error, 1 + error)
        lesser = power(size, others - 1) if others > 1 else np.ones(size.shape)
        return _Others(power(spectrum, others), lesser * (others + size))

    def total(self, others: _Others, last: Array, most: Array | float) -> _Sum:
        """With a last user, whose masses have moduli with at most the sum `most`."""
        error = transform_error(self.points)
        spectrum = others.spectrum * np.fft.rfft(last)
        wrong = np.broadcast_to(most * error, len(last))[:, None] * others.fragile
        wrong += error * np.abs(spectrum)
        return _Sum(
            np.fft.irfft(spectrum, self.points),
            2 * wrong.sum(axis=1) / self.points,
            np.sqrt(2 * np.einsum("ij,ij->i", wrong, wrong) / self.points),
        )

    def first(self, threshold: Array) -> Array:
        """The first multiple of the step above it."""
        return np.floor(threshold / self.step) + 1

    def gains(self, threshold: Array) -> tuple[_Gain, _Gain]:
        """(s)_+ and 1, without their tilt, added up over all copies of s, where s is a multiple of
        the step, from the first above the threshold on, less the threshold."""
        start = np.maximum(self.first(threshold) * self.step - threshold, 0.0)
        number, theta = np.arange(self.points), self.law.theta
        above = start[:, None] + self.step[:, None] * number
        # e^(-theta s) as a product of two
        part = 1 << (self.points.bit_length() // 2)
        whole = np.exp(-np.outer(theta * self.step, np.arange(0, self.points, part)))
        rest = np.exp(-(theta * start)[:, None] - np.outer(theta * self.step, np.arange(part)))
        left = (whole[:, :, None] * rest[:, None, :]).reshape(len(theta), -1)[:, : self.points]
        once = left / (1 - self.decay)[:, None]
        copied = self.period * self.decay / (1 - self.decay)
        return _Gain.of(once * (above + copied[:, None])), _Gain.of(once)

    def scale(self, norm: Array, threshold: Array) -> tuple[Array, Array]:
        """E e^(theta S) of masses with this norm, from below and from above."""
        n, theta = float(self.law.sums.users), self.law.theta
        parts = n * np.log(norm), n * self.top, theta * threshold
        exponent = parts[0] + parts[1] - parts[2]
        error = 16 * UNIT * (sum(np.abs(part) for part in parts) + 8)
        return np.exp(exponent - error), np.exp(exponent + error)


def _lower(lattice: _Lattice, beyond: Beyond) -> tuple[Array, Array, Array]:
    """E[S; L > 0], and minus the slope of the line of all E[S; L > 0], L as it is at this alpha."""
    law, step, period = lattice.law, lattice.step, lattice.period
    sums, n = law.sums, float(law.sums.users)
    values, masses, threshold = lattice.scores(Side.LOWER)
    place, first = np.rint(values / step[:, None]), lattice.first(threshold)
    nearest = lattice.masses(place, masses)
    norm = nearest.sum(axis=1)
    others, growth = lattice.others(nearest / norm[:, None]), _growth(lattice, norm)

    def total(weights: Array | float, most: Array | float) -> _Sum:
        """The sum, the last user's masses times some weights, in units of the scale."""
        last = lattice.masses(place, masses * weights, first)
        return lattice.total(others, last / norm[:, None], most)

    gain, seen = lattice.gains(threshold)
    every = total(1.0, 1.0)
    value, value_noise = every.dot(gain)
    chance, chance_noise = every.dot(seen)
    moved, falls = _HALF * step, np.column_stack([sums.slopes, np.zeros(len(step))])
    rest, rest_noise = total(values - step[:, None] * place, moved).dot(seen)
    fall, fall_noise = total(falls, falls.max(axis=1)).dot(seen)
    low, high = lattice.scale(norm, threshold)
    noise = value_noise + n * rest_noise
    noise += growth * (value + value_noise + n * moved * (chance + chance_noise))
    copies, most = beyond.moved(moved), (value + value_noise) * (1 + growth) * high
    lower = (value + n * rest) * low - noise * high
    lower -= copies.copies(period, most) + moved * copies.others(period)
    slope = n * fall + sums.held * chance
    noise = (n * fall_noise + sums.held * chance_noise) * (1 + growth) + growth * slope
    slope_low = slope * low - noise * high - copies.slope_copies(period)
    return lower, slope_low, (slope + noise) * high


def _upper(lattice: _Lattice) -> Array:
    """E[(S)_+] of scores that are parted between their neighbours, all copies included."""
    values, masses, threshold = lattice.scores(Side.UPPER)
    place = values / lattice.step[:, None]
    below, first = np.floor(place), lattice.first(threshold)
    part = place - below
    both = np.concatenate([below, below + 1], axis=1)
    parted = np.concatenate([masses * (1 - part), masses * part], axis=1)
    one = lattice.masses(both, parted)
    norm = one.sum(axis=1)
    last = lattice.masses(both, parted, first) / norm[:, None]
    total = lattice.total(lattice.others(one / norm[:, None]), last, 1.0)
    value, noise = total.dot(lattice.gains(threshold)[0])
    upper: Array = (value + noise) * lattice.scale(norm, threshold)[1]
    return upper * (1 + _growth(lattice, norm))


def _growth(lattice: _Lattice, norm: Array) -> Array:
    """The relative error of the masses of a sum, and of what they count: of each user's mass its
    probability, its tilt and the norm, and mass that is left over, which nothing tilts."""
    sums, theta = lattice.law.sums, lattice.law.theta
    values = sums.scores.shape[1]
    left = (UNIT * (values + 24) + sums.error) * np.exp(
        -np.log(norm) - lattice.top - theta * sums.common[0]
    )
    each = UNIT * (64 + 8 * theta + values) + 2 * sums.error + left
    gained = UNIT * (64 + 8 * theta * lattice.period)  # the gains
    growth = (sums.users * each + gained) * 1.1
    return np.where(growth < _MOST_GROWTH, growth, np.inf)
