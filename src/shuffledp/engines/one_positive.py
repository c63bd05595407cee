"""Sums of few users that are positive only if one score is, and hardly anybody has such a score.

Far out in the tail of heavy scores nearly all sums are 0 or negative, and no tilt tells the rest
from rounding. But two positive scores are as good as impossible: one user has a positive score z,
and the law of the others' sum, which falls with every user, is needed down to -z alone. On a
lattice that is a power of polynomials that may be cut off. docs/theory.md ("Any score law") has the
proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support.numeric import UNIT, Array, Side
from .._support.transforms import power, round_up, transform_error
from . import tuning
from .enumerated import LEAST
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING

# proof constants: docs/theory.md, "Constants"
_MOST_ERROR = 0.01  # of all masses of a sum together, beyond which nothing is known of it
_SLACK, _MOST_TERMS = 1e-9, 1 << 21  # relative, of sums of so many terms


def one_positive_stop_loss(sums: ScoreSums, width: float) -> Bracket:
    """E[(S_n)_+] for each row, n >= 2; `width` as in fourier.stop_loss."""
    rows = len(sums.scores)
    found = without_slope(np.zeros(rows), np.full(rows, np.inf))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # losses out of all range
        for i in range(rows):
            row = sums.rows(np.array([i]))
            if Side.LOWER in sums.sides:
                found.lower[i] = _Row(row, width, Side.LOWER).lower()
            if Side.UPPER in sums.sides:
                found.upper[i] = _Row(row, width, Side.UPPER).upper()
    return found


@dataclass(frozen=True, eq=False)
class _Sum:
    """Masses of what some users lose, at multiples 0, 1, ... of a step as far as the lattice goes;
    `error` bounds the Euclidean norm of the errors of all masses."""

    masses: Array
    error: float = 0.0

    def __mul__(self, other: _Sum) -> _Sum:
        """Of those users and of others, as polynomials: what lies beyond the lattice stays there,
        since nobody gains."""
        size = 2 * len(self.masses)
        one = np.fft.rfft(self.masses, size)
        product = one * (one if other is self else np.fft.rfft(other.masses, size))
        masses = np.fft.irfft(product, size)[: len(self.masses)]
        return _Sum(masses, 1.02 * (self.error + other.error) + 8 * transform_error(size))

    def times(self, count: int) -> _Sum:
        """Of so many times as many users."""
        return power(self, count) if count else _Sum(np.eye(1, len(self.masses))[0])


class _Row:
    """One sum: positive scores and their probabilities, and what others lose, in a unit, which is a
    power of two, such that no score exceeds 1."""

    def __init__(self, sums: ScoreSums, width: float, side: Side) -> None:
        scores = sums.scores[0] + side * ROUNDING * sums.magnitudes[0]
        self.unit = 2.0 ** min(int(np.frexp(scores.max(initial=0.0))[1]), 1023)
        scores, held = scores / self.unit, float(sums.threshold[0]) / self.unit
        masses, positive = sums.probabilities[0], scores > 0
        self.error = sums.error + (64 + len(masses)) * UNIT
        self.users = sums.users
        self.width, self.coarse = width * (1 + float(sums.others[0])), math.sqrt(width)
        self.held = held * (1 - side * 64 * UNIT)
        order = np.argsort(scores[positive])
        self.gain, self.chance = scores[positive][order], masses[positive][order]
        self.losses, self.masses = -scores[~positive], masses[~positive]
        self.idle = max(1 - float(masses.sum()), 0.0)
        self.mass_error = 2.5 * (self.users - 1) * self.error  # of all that n - 1 users may do
        self.underflow = 64.0 * self.users * len(masses) * 5e-324

    def lower(self) -> float:
        """E[S; L > 0, one positive score], L with losses moved to the nearest multiples."""
        if not len(self.gain) or self.mass_error > _MOST_ERROR:
            return 0.0
        step, points = self._lattice()
        place = np.rint(self.losses / step)
        one = self._laid(place, self.masses, points, self.idle)
        # by how much the losses of one user were moved, in steps
        moved = self._laid(place, self.masses * (place - self.losses / step), points)
        but_one = one.times(self.users - 2)
        total, rest = but_one * one, but_one * moved
        if total.error * math.sqrt(points) + self.mass_error > _MOST_ERROR:
            return 0.0
        gain = np.maximum(self.gain - self.held, 0.0)
        number = np.minimum(np.ceil(gain / step), points)
        mass, lost = _sums(total, number)
        back = (self.users - 1) * _sums(rest, number)[0]
        value = gain * mass + step * (back - lost)
        noise = np.sqrt(number) * (total.error + rest.error) + self.mass_error
        wrong = (gain + self.users * step) * noise
        size = gain * mass + step * (lost + self.users * mass)
        # scores of which nothing is sure are left out
        found = float(self.chance @ np.maximum(value - wrong - _SLACK * size, 0.0))
        found = self.users * found * (1 - self.error - _SLACK) - self.underflow
        return max(found * self.unit - LEAST, 0.0)

    def upper(self) -> float:
        """With losses parted between the multiples next to them, and several positive scores."""
        if not len(self.gain):
            return LEAST
        if self.mass_error > _MOST_ERROR:
            return math.inf
        step, points = self._lattice()
        one = self._parted(step, points)
        but_one = one.times(self.users - 2)
        total = but_one * one
        if total.error * math.sqrt(points) + self.mass_error > _MOST_ERROR:
            return math.inf
        gain, others = np.maximum(self.gain - self.held, 0.0), self.users - 1
        value = self._at_most(total, step, gain)
        # of two positive scores 2 (a + b - loss)_+ <= (2 a - loss)_+ + (2 b - loss)_+, and of more
        # of them the sum
        another, twice = others * float(self.chance.sum()), 2 * self.gain - self.held
        value += another * self._at_most(but_one, step, np.maximum(twice, 0.0)) / 2
        value += another * (another / 2 * self.gain)
        found = self.users * float(self.chance @ value) * (1 + 4 * self.error + _SLACK)
        return (found + self.underflow) * self.unit + LEAST

    def _at_most(self, law: _Sum, step: float, gain: Array) -> Array:
        """E[(gain - loss)_+] from above."""
        points = len(law.masses)
        number = np.minimum(np.ceil(gain / step), points)
        mass, lost = _sums(law, number)
        value = gain * mass - step * lost + _SLACK * (gain * mass + step * lost)
        value += gain * (np.sqrt(number) * law.error + self.mass_error)
        # of those who lose more than the lattice is long
        gone = 1 - float(law.masses.sum()) + self.mass_error + _SLACK
        gone += math.sqrt(points) * law.error
        value += np.maximum(gain - step * (points - 1), 0.0) * max(gone, 0.0)
        return np.fmin(value, self._chernoff(gain))

    def _chernoff(self, gain: Array) -> Array:
        """The same for gains that next to nobody's losses stay below: (s)_+ <= e^(ts)/(e t)."""
        tilts = np.array(tuning.POSITIVE_TILTS)[:, None] / max(float(gain.max()), 1e-300)
        growth = np.expm1(-tilts * self.losses) @ self.masses  # of E e^(-t loss), for one user
        left = np.clip(1 + growth * (1 - self.error) + 8 * UNIT, 1e-300, 1.0)
        log_all, size = (self.users - 2) * np.log(left)[:, None], tilts * gain
        exponent = size + log_all - 1 + 16 * UNIT * (size - log_all + 1)
        bound: Array = np.fmin.reduce(np.exp(exponent) / tilts) * (1 + 1e-9)
        return bound

    def _lattice(self) -> tuple[float, int]:
        """Its step, and how many points it has: as long as the scores that matter, which a coarse
        one tells, and fine beside what a user usually loses."""
        gain, few = self.gain, max(tuning.FIRST_POINTS, 4)
        mean = np.cumsum((self.chance * gain)[::-1])[::-1]
        end = int(np.searchsorted(-mean, -tuning.LEFT_OVER * mean[0]))
        length = max(float(gain[min(end, len(gain) - 1)]), 1e-300)
        while length < gain[-1]:
            law = self._parted(length / few, few).times(self.users - 1)
            beyond = np.maximum(gain - length, 0.0) * max(1 - float(law.masses.sum()), 0.0)
            every = self.chance @ self._at_most(law, length / few, gain)
            if self.chance @ beyond <= tuning.LEFT_OVER * every:
                break
            length *= 4
        order = np.argsort(self.losses)
        middle = np.searchsorted(np.cumsum(self.masses[order]), self.masses.sum() / 2)
        usual = float(self.losses[order[middle]]) if self.masses.any() else length
        wanted = length / max(tuning.POSITIVE_STEP * usual * math.sqrt(self.width), 1e-300)
        most = max(min(tuning.POSITIVE_POINTS / self.coarse, tuning.MOST_POINTS), few)
        points = min(max(wanted, few), most, _MOST_TERMS / 2)
        step = length / points
        if length / most <= usual <= length:  # many may lose just that, which should not be moved
            step = usual / max(math.ceil(usual / step), 1)
        return step, round_up(length / step)

    def _parted(self, step: float, points: int) -> _Sum:
        place = self.losses / step
        below = np.floor(place)
        both, part = np.concatenate([below, below + 1]), place - below
        masses = np.concatenate([self.masses * (1 - part), self.masses * part])
        return self._laid(both, masses, points, self.idle)

    @staticmethod
    def _laid(place: Array, masses: Array, points: int, idle: float = 0.0) -> _Sum:
        near = place < points
        laid = np.bincount(place[near].astype(np.int64), masses[near], points).astype(float)
        laid[0] += idle
        return _Sum(laid)


def _sums(law: _Sum, number: Array) -> tuple[Array, Array]:
    """The mass of the first points, and the sum of mass times point."""
    index = number.astype(np.int64)
    mass = np.append(0.0, np.cumsum(law.masses))[index]
    lost = np.append(0.0, np.cumsum(law.masses * np.arange(len(law.masses))))[index]
    return mass, lost
