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
density of S at 0. The lattice starts at the most common score, which is not moved; nor is that of
one more user who has a law of their own.

Theory: docs/theory/tilted-lattice.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

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
from .tilted_law import DEEPEST, Aliases, TiltedLaw

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
            modulus_power = power(modulus, count - 1) if count > 1 else np.ones(modulus.shape)
            growth = count * rounding * modulus_power
            error = error * modulus_power * modulus + (np.abs(spectrum) + error) * growth
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
    aliases = Aliases(law)
    period = aliases.period(cut)
    # h^2 = 2 tau^2 over the number of moved scores: the bounds are then narrower than with the
    # noise of the Fourier integral
    wanted = period / (law.tau * np.sqrt(2 / np.maximum(sums.expected_uncommon, 1.0)))
    wanted = np.clip(wanted, 8, max(tuning.MOST_POINTS, 8))
    usable = np.isfinite(wanted) & np.isfinite(period) & ~law.is_out_of_range
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
        found[0] * unit,
        np.fmin(found[1] * unit, law.markov_bound(unit)),
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


class _Means(NamedTuple):
    """The means of (s)_+ and of the indicator of s > 0, and bounds on the errors of both."""

    value: Array
    chance: Array
    value_error: Array
    chance_error: Array


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
        scores = np.where(self.law.sums.probabilities > 0, self.law.sums.scores, 0.0)
        top: Array = self.law.theta * (
            np.maximum(scores.max(axis=1), 0.0) - self.law.sums.common[0]
        )
        return top

    @cached_property
    def last_top(self) -> Array:
        """The largest exponent of the one more user's scores, 0 if there is none."""
        if self.law.last is None:
            return np.zeros(len(self.step))
        scores = np.where(self.law.last > 0, self.law.sums.scores, -np.inf)
        top: Array = self.law.theta * scores.max(axis=1)
        return top

    def last_scores(self, side: Side) -> tuple[Array, Array]:
        """Return the one more user's scores, moved to the given side, and their tilted masses.

        If there is none, that is a score of 0.
        """
        sums, rows = self.law.sums, len(self.step)
        if sums.last is None:
            return np.zeros((rows, 1)), np.ones((rows, 1))
        scores = sums.scores + side * ROUNDING * sums.magnitudes
        exponent = self.law.theta[:, None] * scores - self.last_top[:, None]
        return scores, sums.last * np.exp(np.where(sums.last > 0, exponent, 0.0))

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
        """Return tilted weights at multiples of the step, added up per point: [rows, points]."""
        rows = np.arange(len(self.step))[:, None]
        index = (place % self.points).astype(np.intp) + self.points * rows
        exponent = (self.law.theta * self.step)[:, None] * place - self.top[:, None]
        heavy = weights * np.exp(exponent)
        total = np.bincount(index.ravel(), heavy.ravel(), rows.size * self.points)
        return total.astype(float).reshape(len(rows), self.points)

    def means(self, total: TiltedMasses, threshold: Array, side: Side) -> _Means:
        """Return means for s = sum + last score - threshold, in units of the scale.

        Parameters
        ----------
        total : TiltedMasses
            The law of the sum.
        threshold : Array
            The threshold of each row.
        side : Side
            The side to which the last score is moved.

        Notes
        -----
        The tilt is undone by e^(-theta s), and all copies are added up. With x the masses of the
        sum and rho = e^(-theta h), count(m) is the sum of rho^i x(m + i) over i >= 0 and rise(m)
        that of i rho^i x(m + i), so that count(m) = x(m) + rho count(m + 1) and rise(m) =
        rho (rise(m + 1) + count(m + 1)). All terms are positive: running sums err relatively.
        """
        rate, masses = self.law.theta * self.step, total.masses
        each = decays(rate, self.points) / (1 - self.decay)[:, None]
        places = np.arange(self.points) + (self.points * self.decay / (1 - self.decay))[:, None]
        count = discounted_sums(np.einsum("ij,ij->i", masses, each), masses[:, ::-1], rate)
        start = np.einsum("ij,ij->i", masses, each * places)
        rise = discounted_sums(start, np.exp(-rate)[:, None] * count, rate)
        scores, chances = self.last_scores(side)
        distance = (scores - threshold[:, None]) / self.step[:, None]
        first = np.floor(-distance) + 1  # the first multiple of the step at which s > 0
        index, above = (-first % self.points).astype(np.intp), np.clip(first + distance, 0.0, 1.0)
        untilted = chances * np.exp(-rate[:, None] * above)
        chance = untilted * np.take_along_axis(count, index, 1)
        value = above * chance + untilted * np.take_along_axis(rise, index, 1)
        value_error, chance_error = (
            chances.sum(axis=1)
            * total.error_of_sum(x.sum(axis=1), np.sqrt(np.einsum("ij,ij->i", x, x)))
            for x in (each * (places + 1), each)
        )
        return _Means(
            self.step * value.sum(axis=1),
            chance.sum(axis=1),
            self.step * value_error,
            chance_error,
        )

    def scale(self, norm: Array, threshold: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds on E e^(theta S) for masses with this norm.

        The scale of the law may be in range by its noise alone: without it, nothing is resolved.
        """
        n, theta = float(self.law.sums.users), self.law.theta
        parts = n * np.log(norm), n * self.top, self.last_top, -theta * threshold
        exponent = sum(parts)
        error = 16 * UNIT * (sum(np.abs(part) for part in parts) + 8)
        is_below = np.minimum(exponent, exponent - np.log(theta)) < DEEPEST
        return np.exp(exponent - error), np.where(is_below, np.inf, np.exp(exponent + error))


def _lower(lattice: _ScoreLattice, aliases: Aliases) -> tuple[Array, Array, Array]:
    """Return a lower bound on E[S; L > 0], and bounds on its fall with alpha, L fixed."""
    law, step, period = lattice.law, lattice.step, lattice.period
    sums, n = law.sums, float(law.sums.users)
    values, masses, threshold = lattice.shifted_scores(Side.LOWER)
    relative = values / step[:, None]
    place = np.rint(relative)
    nearest = lattice.masses(place, masses)
    norm = nearest.sum(axis=1)
    one = nearest / norm[:, None]

    def with_weights(weights: Array) -> _Means:
        """Return the means over the sums, each weighted by one of its scores."""
        weighted = lattice.masses(place, masses * weights) / norm[:, None]
        others = [(one, sums.users - 1)] if sums.users > 1 else []
        return lattice.means(convolve([(weighted, 1), *others]), threshold, Side.LOWER)

    total = lattice.means(convolve([(one, sums.users)]), threshold, Side.LOWER)
    # by how much one score was moved, in steps, from -1/2 on
    moved = with_weights(np.clip(relative - place + 0.5, 0.0, 1.0))
    rest = n * step * (moved.chance - total.chance / 2)
    low, high = lattice.scale(norm, threshold)
    growth, noise = _growth(lattice), n * step * (moved.chance_error + total.chance_error / 2)
    noise += total.value_error
    noise += growth * (total.value + n * step * (moved.chance + total.chance / 2) + noise)
    copies = aliases.with_shifted_scores(_HALF * step)
    most = (total.value + total.value_error) * (1 + growth) * high
    lower = (total.value + rest) * low - noise * high
    lower -= copies.of_value(period, most) + _HALF * step * copies.of_others(period)
    if sums.falls is None or sums.last is not None:
        return lower, np.zeros(len(lower)), np.full(len(lower), np.inf)
    falls = np.column_stack([sums.falls, np.zeros(len(step))])
    largest = np.maximum(falls.max(axis=1), 1e-300)
    fallen, rise = with_weights(falls / largest[:, None]), sums.threshold_rise
    fall = n * largest * fallen.chance + rise * total.chance
    error = n * largest * fallen.chance_error + rise * total.chance_error
    error = error * (1 + growth) + growth * fall
    fall_low = fall * low - error * high - copies.of_fall(period)
    return lower, fall_low, (fall + error) * high


def _upper(lattice: _ScoreLattice) -> Array:
    """Return E[(S)_+] for scores split between neighbouring multiples, all copies included."""
    values, masses, threshold = lattice.shifted_scores(Side.UPPER)
    place = values / lattice.step[:, None]
    below = np.floor(place)
    part = place - below
    both = np.concatenate([below, below + 1], axis=1)
    one = lattice.masses(both, np.concatenate([masses * (1 - part), masses * part], axis=1))
    norm = one.sum(axis=1)
    law = convolve([(one / norm[:, None], lattice.law.sums.users)])
    total = lattice.means(law, threshold, Side.UPPER)
    upper: Array = (total.value + total.value_error) * lattice.scale(norm, threshold)[1]
    return upper * (1 + _growth(lattice))


def _growth(lattice: _ScoreLattice) -> Array:
    """Return the relative error of the masses of a sum and of the gains.

    Each user's mass has the errors of its probability, its tilt and the norm. The remaining mass
    was moved to the safe side before.
    """
    sums, theta = lattice.law.sums, lattice.law.theta
    each = UNIT * (64 + 8 * theta + sums.scores.shape[1]) + 2 * sums.error
    gained = UNIT * (64 + 8 * theta * lattice.period + 8 * lattice.points)  # the gains, summed up
    growth = ((sums.users + 1) * each + gained) * 1.1
    return np.where(growth < _MOST_GROWTH, growth, np.inf)
