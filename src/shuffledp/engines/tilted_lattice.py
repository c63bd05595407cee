"""Sums on a tilted lattice, by fast Fourier transforms with certified errors.

*Laws of sums* (`convolve`). Masses on a lattice are multiplied by an exponential tilt, normalised
and folded modulo a period. The spectrum of a sum is then a product of powers, and the inverse
transform returns its tilted masses. The tilt moves the sums that matter to the centre, so that
their relative error is small; choosing it, undoing it and bounding the periodic copies is left to
the callers: the scores of few users here, and privacy losses over rounds in `composition`.

*Few users, scores of many values* (`lattice_stop_loss`). Scores are moved to multiples of a step h.
Split between the two neighbouring multiples, with the mean kept, they give an upper bound (Jensen).
Rounded to the nearest multiple, with the sum L, they give a lower bound: E[(S)_+] >= E[S; L > 0],
where the rounding differences enter linearly. The two bounds differ by about n h^2/8 times the
density of S at 0. The lattice starts at the most common score, which is not moved.

Theory: docs/theory/tilted-lattice.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from .._support.transforms import (
    Complex,
    decays,
    discounted_sums,
    fast_length,
    power,
    transform_error,
)
from .fourier import stop_loss
from .problem import ROUNDING, ScoreSums, StopLossBounds, without_falls
from .tilted_law import Aliases, TiltedLaw

# proof constants: docs/theory/constants.md
_MOST_GROWTH = 0.05  # total relative error of all masses beyond which nothing is resolved
_HALF = 0.5 + 1e-6  # how far a score is moved at most, in steps, rounding included


class TiltedMasses(NamedTuple):
    """The law of a sum modulo a period, with certified errors.

    Attributes
    ----------
    masses : Array
        Shape [rows, points], >= 0.
    error : Array
        Shape [rows]: a bound on the error of every mass of a row.
    norm_error : Array
        Shape [rows]: a bound on the Euclidean norm of the errors of a row.
    """

    masses: Array
    error: Array
    norm_error: Array

    def error_of_sum(self, total: Array, norm: Array) -> Array:
        """Return a bound on the error of a sum of masses times weights >= 0.

        Parameters
        ----------
        total, norm : Array
            Shape [rows]: the sum of the weights and their Euclidean norm.
        """
        return np.minimum(self.error * total, self.norm_error * norm)


def convolve(parts: Sequence[tuple[Array, int]]) -> TiltedMasses:
    """Return the law of a sum of independent variables on a lattice, modulo the period.

    Parameters
    ----------
    parts : Sequence of (Array, int)
        Masses of one variable, [rows, points], with row sums of at most 1, and the number >= 1 of
        its independent copies in the sum. All parts have the same shape; the period is `points`.

    Returns
    -------
    TiltedMasses
        The masses of the sum of all copies. The bounds cover the rounding errors of transforms,
        powers and products. They do not cover errors of the given masses.

    Notes
    -----
    docs/theory/tilted-lattice.md. With r = 16 u log2(2N) every output of a transform errs by at
    most r, and |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1). Powers are taken by squaring; their
    roundings, and those of products, are within what r has to spare. A mass is a mean over the
    spectrum, so that its error is at most the mean of the spectrum's error plus r times its mean
    modulus; the norm of the errors follows by Parseval.
    """
    rows, points = parts[0][0].shape
    rounding = transform_error(points)
    spectrum: Complex = np.ones((rows, points // 2 + 1), dtype=complex)
    error: Array = np.zeros(spectrum.shape)
    with np.errstate(under="ignore"):
        for masses, count in parts:
            factor = np.fft.rfft(masses)
            modulus = np.minimum(np.abs(factor) + rounding, 1 + rounding)
            lesser = power(modulus, count - 1) if count > 1 else np.ones(modulus.shape)
            growth = count * rounding * lesser
            error = error * lesser * modulus + (np.abs(spectrum) + error) * growth
            spectrum = spectrum * power(factor, count)
        error = error + rounding * np.abs(spectrum)
        norm_error = np.sqrt(2 * np.einsum("ij,ij->i", error, error) / points)
    return TiltedMasses(
        np.maximum(np.fft.irfft(spectrum, points), 0.0),
        2 * error.sum(axis=1) / points,
        norm_error,
    )


def lattice_stop_loss(sums: ScoreSums, width: float, known: Array | None = None) -> StopLossBounds:
    """Return certified bounds on E[(S)_+] for n >= 2 users; arguments as of `stop_loss`."""
    return stop_loss(sums, width, known, _on_lattices)


def _on_lattices(sums: ScoreSums, unit: Array, width: float, known: Array) -> StopLossBounds:
    """Return the bounds for scores in [-1, 1], times unit; not finite where the range is left."""
    law, cut = TiltedLaw.of(sums, width).with_affordable_noise(width, known)
    aliases, out_of_range = Aliases(law), law.is_out_of_range
    period = aliases.period(cut)
    # h^2 = 2 tau^2 over the number of moved scores: the bounds are then narrower than with the
    # noise of the Fourier integral
    wanted = period / (law.tau * np.sqrt(2 / np.maximum(sums.expected_uncommon, 1.0)))
    wanted = np.clip(wanted, 8, max(tuning.MOST_POINTS, 8))
    usable = np.isfinite(wanted) & np.isfinite(period) & ~out_of_range
    points = np.array([fast_length(number) for number in np.where(usable, wanted, 8).tolist()])
    found = np.array(without_falls(np.zeros(len(points)), np.full(len(points), np.inf)))
    for size in np.unique(points).tolist():
        same = np.flatnonzero(usable & (points == size))
        together = max(1, tuning.AT_ONCE // size)
        for i in range(0, len(same), together):
            rows = same[i : i + together]
            lattice = _ScoreLattice(law.rows(rows), period[rows] / size, size)
            if Side.LOWER in sums.sides:
                found[[[0], [2], [3]], rows] = _lower(lattice, aliases.rows(rows))
            if Side.UPPER in sums.sides:
                found[1, rows] = _upper(lattice)
    return StopLossBounds(
        np.where(out_of_range, 0.0, found[0] * unit),
        np.where(out_of_range, law.markov_bound(unit), found[1] * unit),
        found[2],
        found[3],
    )


class _ShiftedScores(NamedTuple):
    """Scores less the common one, remaining mass included, all moved to one side of the truth.

    values, masses: [rows, values + 1]; threshold: that of the sum of the shifted scores.
    """

    values: Array
    masses: Array
    threshold: Array


class _Gain(NamedTuple):
    """A function of the sum at successive multiples of the step, with its total and its norm."""

    values: Array
    total: Array
    norm: Array

    @classmethod
    def of(cls, values: Array) -> _Gain:
        return cls(values, values.sum(axis=1), np.sqrt(np.einsum("ij,ij->i", values, values)))


@dataclass(frozen=True)
class _ScoreLattice:
    """Multiples of a step for each row, `points` of which are a period."""

    law: TiltedLaw
    step: Array
    points: int

    @property
    def period(self) -> Array:
        return self.step * self.points

    @cached_property
    def decay(self) -> Array:
        """e^(-theta period), the weight of the next periodic copy."""
        decay: Array = np.exp(-self.law.theta * self.period)
        return decay

    @cached_property
    def top(self) -> Array:
        """About the largest exponent of a tilted mass; exponents are relative to it."""
        largest = np.maximum(self.law.sums.scores.max(axis=1), 0.0) - self.law.sums.common[0]
        top: Array = self.law.theta * largest
        return top

    def shifted_scores(self, side: Side) -> _ShiftedScores:
        """Return the scores less the common one, moved to the given side by their errors.

        Parameters
        ----------
        side : Side
            Scores, the remaining mass and the threshold are moved so that the sum errs to it.
        """
        sums = self.law.sums
        common, size, _ = sums.common
        start = common + side * ROUNDING * size
        values = sums.scores + side * ROUNDING * sums.magnitudes - start[:, None]
        left = 1 - sums.probabilities.sum(axis=1)
        left += side * (UNIT * (sums.scores.shape[1] + 24) + sums.error)
        n = float(sums.users)
        error = 32 * UNIT * (sums.threshold + n * size)
        return _ShiftedScores(
            np.column_stack([values, -start]),
            np.column_stack([sums.probabilities, np.maximum(left, 0.0)]),
            sums.threshold - n * start - side * error,
        )

    def masses(self, place: Array, weights: Array) -> Array:
        """Return tilted weights at the multiples `place`, added up per point: [rows, points]."""
        rows = np.arange(len(self.step))[:, None]
        index = self.index(place) + self.points * rows
        total = np.bincount(
            index.ravel(), self.tilted(place, weights).ravel(), rows.size * self.points
        )
        return total.astype(float).reshape(len(rows), self.points)

    def tilted(self, place: Array, weights: Array) -> Array:
        """Return weights at the multiples `place` under the tilt."""
        exponent = (self.law.theta * self.step)[:, None] * place - self.top[:, None]
        heavy: Array = weights * np.exp(exponent)
        return heavy

    def index(self, place: Array) -> NDArray[np.intp]:
        """Return the point of the period at which a multiple of the step is."""
        return (place % self.points).astype(np.intp)

    def first(self, threshold: Array) -> Array:
        """Return the first multiple of the step above the threshold."""
        return np.floor(threshold / self.step) + 1

    def gains(self, threshold: Array) -> tuple[_Gain, _Gain]:
        """Return (s)_+ and the indicator of s > 0, with the tilt undone, summed over all copies.

        s is a multiple of the step less the threshold, from the first one above 0 on.
        """
        start = np.maximum(self.first(threshold) * self.step - threshold, 0.0)
        above = start[:, None] + self.step[:, None] * np.arange(self.points)
        left = decays(self.law.theta * self.step, self.points)
        once = left * (np.exp(-self.law.theta * start) / (1 - self.decay))[:, None]
        copied = self.period * self.decay / (1 - self.decay)
        return _Gain.of(once * (above + copied[:, None])), _Gain.of(once)

    def gained(self, total: TiltedMasses, threshold: Array, place: Array) -> tuple[Array, Array]:
        """Return the means of the two `gains` if one more score at a given multiple is added.

        Parameters
        ----------
        total : TiltedMasses
            The law of the sum of all other scores.
        threshold : Array
            The threshold of each row.
        place : Array
            Multiples at which the last score may be, [rows, values].

        Returns
        -------
        tuple of Array
            The means of (s)_+ and of the indicator, [rows, values].

        Notes
        -----
        With x the masses of the sum from the first multiple above the threshold on, rho =
        e^(-theta h) and C(j) the mean for a last score at j, C(j+1) = rho C(j) + a (1 - rho^N)
        x(N-1-j). All terms are positive, so that running sums err relatively.
        """
        gain, seen = self.gains(threshold)
        start = np.maximum(self.first(threshold) * self.step - threshold, 0.0)
        fall, reversed_masses = self.law.theta * self.step, total.masses[:, ::-1]
        entering = np.exp(-self.law.theta * start)[:, None] * reversed_masses
        chance = discounted_sums(np.einsum("ij,ij->i", total.masses, seen.values), entering, fall)
        growing = (np.exp(-fall) * self.step)[:, None] * chance + start[:, None] * entering
        value = discounted_sums(np.einsum("ij,ij->i", total.masses, gain.values), growing, fall)
        index = self.index(place - self.first(threshold)[:, None])
        return np.take_along_axis(value, index, 1), np.take_along_axis(chance, index, 1)

    def scale(self, norm: Array, threshold: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds on E e^(theta S) for masses with this norm."""
        n, theta = float(self.law.sums.users), self.law.theta
        parts = n * np.log(norm), n * self.top, theta * threshold
        exponent = parts[0] + parts[1] - parts[2]
        error = 16 * UNIT * (sum(np.abs(part) for part in parts) + 8)
        return np.exp(exponent - error), np.exp(exponent + error)


def _lower(lattice: _ScoreLattice, aliases: Aliases) -> tuple[Array, Array, Array]:
    """Return a lower bound on E[S; L > 0], and bounds on its fall with alpha, L fixed."""
    law, step, period = lattice.law, lattice.step, lattice.period
    sums, n = law.sums, float(law.sums.users)
    values, masses, threshold = lattice.shifted_scores(Side.LOWER)
    place = np.rint(values / step[:, None])
    nearest = lattice.masses(place, masses)
    norm = nearest.sum(axis=1)
    others, growth = convolve([(nearest / norm[:, None], sums.users - 1)]), _growth(lattice)
    gain, seen = lattice.gains(threshold)
    noises = [others.error_of_sum(part.total, part.norm) for part in (gain, seen)]
    last = lattice.tilted(place, masses) / norm[:, None]
    gained, counted = lattice.gained(others, threshold, place)

    def mean(what: Array) -> Array:
        """Return the mean over the last user's scores."""
        found: Array = np.einsum("ij,ij->i", last, what)
        return found

    moved, falls = _HALF * step, np.column_stack([sums.all_falls, np.zeros(len(step))])
    value, chance = mean(gained), mean(counted)
    rest, fall = mean((values - step[:, None] * place) * counted), mean(falls * counted)
    low, high = lattice.scale(norm, threshold)
    noise = noises[0] + n * moved * noises[1]
    noise += growth * (value + noises[0] + n * moved * (chance + noises[1]))
    copies, most = (
        aliases.with_shifted_scores(moved),
        (value + noises[0]) * (1 + growth) * high,
    )
    lower = (value + n * rest) * low - noise * high
    lower -= copies.of_value(period, most) + moved * copies.of_others(period)
    mean_fall = n * fall + sums.threshold_rise * chance
    noise = (n * falls.max(axis=1) + sums.threshold_rise) * noises[1] * (
        1 + growth
    ) + growth * mean_fall
    fall_low = mean_fall * low - noise * high - copies.of_fall(period)
    return lower, fall_low, (mean_fall + noise) * high


def _upper(lattice: _ScoreLattice) -> Array:
    """Return E[(S)_+] for scores split between neighbouring multiples, all copies included."""
    values, masses, threshold = lattice.shifted_scores(Side.UPPER)
    place = values / lattice.step[:, None]
    below = np.floor(place)
    part = place - below
    both = np.concatenate([below, below + 1], axis=1)
    one = lattice.masses(both, np.concatenate([masses * (1 - part), masses * part], axis=1))
    norm = one.sum(axis=1)
    total, gain = (
        convolve([(one / norm[:, None], lattice.law.sums.users)]),
        lattice.gains(threshold)[0],
    )
    # the gains begin at the first multiple above the threshold
    first = lattice.index(lattice.first(threshold)[:, None])
    rolled = np.take_along_axis(
        total.masses, (first + np.arange(lattice.points)) % lattice.points, 1
    )
    value = np.einsum("ij,ij->i", rolled, gain.values)
    noise = total.error_of_sum(gain.total, gain.norm)
    upper: Array = (value + noise) * lattice.scale(norm, threshold)[1]
    return upper * (1 + _growth(lattice))


def _growth(lattice: _ScoreLattice) -> Array:
    """Return the relative error of the masses of a sum and of the gains.

    Each user's mass has the errors of its probability, its tilt and the norm. The remaining mass
    was moved to the safe side before.
    """
    sums, theta = lattice.law.sums, lattice.law.theta
    each = UNIT * (64 + 8 * theta + sums.scores.shape[1]) + 2 * sums.error
    gained = UNIT * (64 + 8 * theta * lattice.period + 8 * lattice.points)  # the gains, summed up
    growth = (sums.users * each + gained) * 1.1
    return np.where(growth < _MOST_GROWTH, growth, np.inf)
