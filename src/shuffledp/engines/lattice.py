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
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from .._support.transforms import falls, power, round_up, running, transform_error
from . import tuning
from .copies import Beyond
from .fourier import deep, exact_enough, markov, stop_loss
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING, TiltedLaw, tilted

# proof constants: docs/theory.md, "Constants"
_MOST_GROWTH = 0.05  # relative error of all masses together beyond which nothing is resolved
_HALF = 0.5 + 1e-6  # of a step: how far a score is moved, rounding included


def lattice_stop_loss(sums: ScoreSums, width: float, besides: Array | None = None) -> Bracket:
    """E[(S_n)_+] for each row, n >= 2, and a line below it; all as in fourier.stop_loss."""
    return stop_loss(sums, width, besides, _bracket)


def _bracket(sums: ScoreSums, unit: Array, width: float, besides: Array) -> Bracket:
    """For scores in [-1, 1], times unit; not finite where the range is left."""
    law, cut = exact_enough(tilted(sums, width), width, besides)
    beyond, hopeless = Beyond(law), deep(law)
    period = beyond.period(cut)
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
            if Side.LOWER in sums.sides:
                found[[[0], [2], [3]], rows] = _lower(lattice, beyond.rows(rows))
            if Side.UPPER in sums.sides:
                found[1, rows] = _upper(lattice)
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


class _Sum(NamedTuple):
    """Tilted masses of a sum at successive multiples of the step modulo the period, with a bound
    of their error each and of the Euclidean norm of their errors."""

    masses: Array
    error: Array
    norm_error: Array

    def noise(self, gain: _Gain) -> Array:
        """A bound of the error of a sum of masses times gains, in whatever order those are."""
        return np.minimum(self.error * gain.total, self.norm_error * gain.norm)


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
        left = 1 - sums.probabilities.sum(axis=1)
        left += side * (UNIT * (sums.scores.shape[1] + 24) + sums.error)
        n = float(sums.users)
        error = 32 * UNIT * (sums.threshold + n * size)
        return _Scores(
            np.column_stack([values, -start]),
            np.column_stack([sums.probabilities, np.maximum(left, 0.0)]),
            sums.threshold - n * start - side * error,
        )

    def masses(self, place: Array, weights: Array) -> Array:
        """Weights at multiples `place`, tilted: [rows, points]."""
        rows = np.arange(len(self.step))[:, None]
        index = self.index(place) + self.points * rows
        laid = np.bincount(
            index.ravel(), self.tilted(place, weights).ravel(), rows.size * self.points
        )
        return laid.astype(float).reshape(len(rows), self.points)

    def tilted(self, place: Array, weights: Array) -> Array:
        """Weights at multiples `place` under the tilt."""
        exponent = (self.law.theta * self.step)[:, None] * place - self.top[:, None]
        heavy: Array = weights * np.exp(exponent)
        return heavy

    def index(self, place: Array) -> NDArray[np.intp]:
        """Of a multiple of the step in the period."""
        return (place % self.points).astype(np.intp)

    def sum_of(self, one: Array, users: int) -> _Sum:
        """Of so many users with masses that have the sum 1."""
        spectrum, error = np.fft.rfft(one), transform_error(self.points)
        size = np.minimum(np.abs(spectrum) + error, 1 + error)
        total = power(spectrum, users)
        wrong = users * error * power(size, users - 1) if users > 1 else error * np.ones(size.shape)
        wrong += error * np.abs(total)
        return _Sum(
            np.maximum(np.fft.irfft(total, self.points), 0.0),
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
        above = start[:, None] + self.step[:, None] * np.arange(self.points)
        left = falls(self.law.theta * self.step, self.points)
        once = left * (np.exp(-self.law.theta * start) / (1 - self.decay))[:, None]
        copied = self.period * self.decay / (1 - self.decay)
        return _Gain.of(once * (above + copied[:, None])), _Gain.of(once)

    def gained(self, total: _Sum, threshold: Array, place: Array) -> tuple[Array, Array]:
        """What a sum counts, by the two `gains`, if a last score at some multiples is added to it.

        With x the masses of the sum from the first multiple above the threshold on, a gain of a
        rho^s and a last score at j the sum counts C(j), and C(j+1) = rho C(j) + a (1 - rho^N)
        x(N-1-j); likewise for the other gain. All terms are positive.
        """
        gain, seen = self.gains(threshold)
        start = np.maximum(self.first(threshold) * self.step - threshold, 0.0)
        fall, turned = self.law.theta * self.step, total.masses[:, ::-1]
        entering = np.exp(-self.law.theta * start)[:, None] * turned
        chance = running(np.einsum("ij,ij->i", total.masses, seen.values), entering, fall)
        growing = (np.exp(-fall) * self.step)[:, None] * chance + start[:, None] * entering
        value = running(np.einsum("ij,ij->i", total.masses, gain.values), growing, fall)
        index = self.index(place - self.first(threshold)[:, None])
        return np.take_along_axis(value, index, 1), np.take_along_axis(chance, index, 1)

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
    place = np.rint(values / step[:, None])
    nearest = lattice.masses(place, masses)
    norm = nearest.sum(axis=1)
    others, growth = lattice.sum_of(nearest / norm[:, None], sums.users - 1), _growth(lattice)
    gain, seen = lattice.gains(threshold)
    noises = others.noise(gain), others.noise(seen)
    last = lattice.tilted(place, masses) / norm[:, None]
    gained, counted = lattice.gained(others, threshold, place)

    def mean(what: Array) -> Array:
        """Over the last user's scores."""
        found: Array = np.einsum("ij,ij->i", last, what)
        return found

    moved, falls = _HALF * step, np.column_stack([sums.slopes, np.zeros(len(step))])
    value, chance = mean(gained), mean(counted)
    rest, fall = mean((values - step[:, None] * place) * counted), mean(falls * counted)
    low, high = lattice.scale(norm, threshold)
    noise = noises[0] + n * moved * noises[1]
    noise += growth * (value + noises[0] + n * moved * (chance + noises[1]))
    copies, most = beyond.moved(moved), (value + noises[0]) * (1 + growth) * high
    lower = (value + n * rest) * low - noise * high
    lower -= copies.copies(period, most) + moved * copies.others(period)
    slope = n * fall + sums.held * chance
    noise = (n * falls.max(axis=1) + sums.held) * noises[1] * (1 + growth) + growth * slope
    slope_low = slope * low - noise * high - copies.slope_copies(period)
    return lower, slope_low, (slope + noise) * high


def _upper(lattice: _Lattice) -> Array:
    """E[(S)_+] of scores that are parted between their neighbours, all copies included."""
    values, masses, threshold = lattice.scores(Side.UPPER)
    place = values / lattice.step[:, None]
    below = np.floor(place)
    part = place - below
    both = np.concatenate([below, below + 1], axis=1)
    one = lattice.masses(both, np.concatenate([masses * (1 - part), masses * part], axis=1))
    norm = one.sum(axis=1)
    total, gain = (
        lattice.sum_of(one / norm[:, None], lattice.law.sums.users),
        lattice.gains(threshold)[0],
    )
    # the multiple from which on sums count is where the gains begin
    first = lattice.index(lattice.first(threshold)[:, None])
    turned = np.take_along_axis(
        total.masses, (first + np.arange(lattice.points)) % lattice.points, 1
    )
    value = np.einsum("ij,ij->i", turned, gain.values)
    upper: Array = (value + total.noise(gain)) * lattice.scale(norm, threshold)[1]
    return upper * (1 + _growth(lattice))


def _growth(lattice: _Lattice) -> Array:
    """The relative error of the masses of a sum, and of what they count: of each user's mass its
    probability, its tilt and the norm. Mass that is left over is on the safe side."""
    sums, theta = lattice.law.sums, lattice.law.theta
    each = UNIT * (64 + 8 * theta + sums.scores.shape[1]) + 2 * sums.error
    gained = UNIT * (64 + 8 * theta * lattice.period + 8 * lattice.points)  # the gains, summed up
    growth = (sums.users * each + gained) * 1.1
    return np.where(growth < _MOST_GROWTH, growth, np.inf)
