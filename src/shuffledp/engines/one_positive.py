"""Sums of few users that are positive only if one score is, and hardly anybody has such a score.

Far out in the tail of heavy scores nearly all sums are 0 or negative, and no tilt tells the rest
from rounding. But two positive scores are as good as impossible: one user has a positive score z,
and the law of the others' sum, which falls with every user, is needed down to -z alone. On a
lattice that is a power of polynomials that may be cut off. Scores of very different sizes have
lattices of their own, each as long as its scores are large. docs/theory.md ("Any score law") has
the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from .._support.transforms import Complex, DampedSpectrum, round_up, transform_error
from . import tuning
from .enumerated import LEAST
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING

# proof constants: docs/theory.md, "Constants"
_MOST_ERROR = 0.01  # of all masses of a sum together, beyond which nothing is known of it
_SLACK, _MOST_TERMS = 1e-9, 1 << 21  # relative, of sums of so many terms


def _damping() -> float:
    """What masses at the end of a lattice are damped by, as a power of e."""
    return min(max(tuning.DAMPING, 0.0), 300.0)


def _from_beyond() -> float:
    """A bound of the mass that sums of twice the length of a lattice add."""
    return 1.02 * math.exp(-2 * _damping())


def one_positive_stop_loss(sums: ScoreSums, width: float) -> Bracket:
    """E[(S_n)_+] for each row, n >= 2; `width` as in fourier.stop_loss."""
    rows = len(sums.scores)
    found = without_slope(np.zeros(rows), np.full(rows, np.inf))
    with np.errstate(all="ignore"):  # losses out of all range, spectra that vanish
        for i in range(rows):
            row = sums.rows(np.array([i]))
            if Side.LOWER in sums.sides:
                found.lower[i] = _Row(row, width, Side.LOWER).lower()
            if Side.UPPER in sums.sides:
                found.upper[i] = _Row(row, width, Side.UPPER).upper()
    return found


@dataclass(frozen=True, eq=False)
class _Sum:
    """Masses of what some users lose, at multiples 0, 1, ... of the steps of some lattices as far
    as these go: [lattices, points]. `error` bounds, for each lattice, the Euclidean norm of the
    errors of all masses times their damping; mass from beyond the lattices is not in it."""

    masses: Array
    error: Array


@dataclass(frozen=True, eq=False)
class _Lattices:
    """Lattices of the same number of points, and some scores with the lattice of each of them."""

    steps: Array
    points: int
    scores: NDArray[np.intp]
    lattice: NDArray[np.intp]

    @property
    def step(self) -> Array:
        """For each score."""
        step: Array = self.steps[self.lattice]
        return step

    def number(self, gain: Array) -> NDArray[np.intp]:
        """How many points are below these gains."""
        return np.minimum(np.ceil(gain / self.step), self.points).astype(np.intp)

    @cached_property
    def damping(self) -> Array:
        """What the masses at each point are multiplied by."""
        damping: Array = np.exp(np.arange(self.points) * (-_damping() / self.points))
        return damping

    def total(self, others: DampedSpectrum, count: int, last: Complex | None = None) -> _Sum:
        """What so many users lose, and one more with the spectrum `last`."""
        spectrum = others.power(count) if last is None else others.power(count) * last
        masses = np.fft.irfft(spectrum, 2 * self.points)[:, : self.points]
        losers = count * others.elsewhere
        error = transform_error(2 * self.points) * (8 + 4 * losers)
        error += (16 + 4 * _damping()) * UNIT * losers
        return _Sum(masses / self.damping, error)

    def noise(self, law: _Sum, number: NDArray[np.intp]) -> Array:
        """A bound of the error of a sum over the first points of each score's lattice, of masses
        times factors up to 1."""
        growth = np.exp(_damping() * number / self.points)
        noise: Array = np.sqrt(number) * law.error[self.lattice] * growth
        return noise

    def laid(self, place: Array, masses: Array, idle: float = 0.0) -> Array:
        """Masses at multiples of the steps, [lattices, values] both; the idle lose nothing."""
        rows = len(self.steps)
        row, value = np.nonzero(place < self.points)
        index = row * self.points + place[row, value].astype(np.intp)
        flat = np.bincount(index, masses[row, value], rows * self.points).astype(float)
        laid = flat.reshape(rows, self.points)
        laid[:, 0] += idle
        return laid

    def sums(self, law: _Sum, number: NDArray[np.intp]) -> tuple[Array, Array]:
        """The mass of the first points of each score's lattice, and that of mass times point."""
        start = np.zeros((len(self.steps), 1))
        weighted = law.masses * np.arange(self.points)
        mass, lost = (
            np.concatenate([start, np.cumsum(x, axis=1)], axis=1)[self.lattice, number]
            for x in (law.masses, weighted)
        )
        return mass, lost


class _Row:
    """One sum: positive scores and their probabilities, and what others lose, in a unit, which is a
    power of two, such that no score exceeds 1."""

    def __init__(self, sums: ScoreSums, width: float, side: Side) -> None:
        scores = sums.scores[0] + side * ROUNDING * sums.magnitudes[0]
        self.unit = 2.0 ** min(int(np.frexp(scores.max(initial=0.0))[1]), 1023)
        scores, held = scores / self.unit, float(sums.threshold[0]) / self.unit
        masses = sums.probabilities[0]
        # what nobody has counts nothing, even where no bound is finite, and is no loss either
        positive, others = (scores > 0) & (masses > 0), scores <= 0
        self.error = sums.error + (64 + len(masses)) * UNIT
        self.users = sums.users
        self.width = width
        self.held = held * (1 - side * 64 * UNIT)
        order = np.argsort(scores[positive])
        self.gain, self.chance = scores[positive][order], masses[positive][order]
        self.net = np.maximum(self.gain - self.held, 0.0)
        self.losses, self.masses = -scores[others], masses[others]
        self.idle = max(1 - float(masses.sum()), 0.0)
        self.mass_error = 2.5 * (self.users - 1) * self.error  # of all that n - 1 users may do
        self.underflow = 64.0 * self.users * len(masses) * 5e-324

    def lower(self) -> float:
        """E[S; L > 0, one positive score], L with losses moved to the nearest multiples."""
        if not len(self.gain) or self.mass_error > _MOST_ERROR:
            return 0.0
        coarse = self._by_size()
        on = self._finer(coarse, self._above(coarse))
        relative = self.losses / on.steps[:, None]
        place, masses = np.rint(relative), np.broadcast_to(self.masses, relative.shape)
        one = DampedSpectrum.of(on.laid(place, masses, self.idle), on.damping)
        # by how much the losses of one user were moved, in steps
        moved = on.laid(place, masses * (place - relative)) * on.damping
        total = on.total(one, self.users - 2, 1 + one.change)
        rest = on.total(one, self.users - 2, np.fft.rfft(moved, 2 * on.points))
        gain, step = self.net[on.scores], on.step
        number = on.number(gain)
        if self._too_wrong(on, total):
            return 0.0
        mass, lost = on.sums(total, number)
        back = (self.users - 1) * on.sums(rest, number)[0]
        value = gain * mass + step * (back - lost)
        # the users who lose something are moved by half a step at most
        moving = step * (self.users * min(float(self.masses.sum()) * (1 + self.error), 1.0))
        certain = self.mass_error + 2 * _from_beyond()
        wrong = gain * (on.noise(total, number) + certain)
        wrong += moving * (on.noise(rest, number) + certain)
        size = gain * mass + step * lost + moving
        # scores of which nothing is sure are left out
        sure = np.maximum(value - wrong - _SLACK * size, 0.0)
        found = self.users * float(self.chance[on.scores] @ sure)
        found = found * (1 - self.error - _SLACK) - self.underflow
        return max(found * self.unit - LEAST, 0.0)

    def upper(self) -> float:
        """With losses parted between the multiples next to them, and several positive scores."""
        if not len(self.gain):
            return self.underflow * self.unit + LEAST
        if self.mass_error > _MOST_ERROR:
            return math.inf
        coarse = self._by_size()
        value = self._above(coarse)
        fine = self._finer(coarse, value)
        value[fine.scores] = np.fmin(value[fine.scores], self._above(fine))
        found = self.users * float(self.chance @ value) * (1 + 4 * self.error + _SLACK)
        return (found + self.underflow) * self.unit + LEAST

    def _too_wrong(self, on: _Lattices, law: _Sum) -> bool:
        """Are the errors of all masses so large that nothing is to be said?"""
        every = np.full(len(on.lattice), on.points)
        return not bool(on.noise(law, every).max() + self.mass_error <= _MOST_ERROR)

    def _above(self, on: _Lattices) -> Array:
        """What each of the scores counts at most."""
        one = DampedSpectrum.of(self._parted(on), on.damping)
        but_one = on.total(one, self.users - 2)
        total = on.total(one, self.users - 2, 1 + one.change)
        if self._too_wrong(on, total):
            return np.full(len(on.scores), math.inf)
        gain, others = self.gain[on.scores], self.users - 1
        value = self._at_most(on, total, self.net[on.scores])
        # of two positive scores 2 (a + b - loss)_+ <= (2 a - loss)_+ + (2 b - loss)_+, and of more
        # of them the sum
        another = others * float(self.chance.sum())
        twice = self._at_most(on, but_one, np.maximum(2 * gain - self.held, 0.0))
        value += another * twice / 2 + another * (another / 2 * gain)
        return value

    def _at_most(self, on: _Lattices, law: _Sum, gain: Array) -> Array:
        """E[(gain - loss)_+] from above."""
        number, step = on.number(gain), on.step
        mass, lost = on.sums(law, number)
        value = gain * mass - step * lost + _SLACK * (gain * mass + step * lost)
        value += gain * (on.noise(law, number) + self.mass_error)
        # of those who lose more than the lattice is long
        gone = 1 - law.masses.sum(axis=1)[on.lattice] + self.mass_error + _SLACK
        gone += on.noise(law, np.full(len(gain), on.points)) + _from_beyond()
        value += np.maximum(gain - step * (on.points - 1), 0.0) * np.maximum(gone, 0.0)
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

    def _by_size(self) -> _Lattices:
        """Coarse lattices for all scores, those of about the same size on one."""
        few = min(max(tuning.FIRST_POINTS, 4), _MOST_TERMS // 2)
        net, span = self.net, max(tuning.SPAN, 1.5)
        top = max(float(net[-1]), 1e-150)
        ranges = np.log(top / np.maximum(net, top * 1e-150)) / math.log(span)
        most = max(tuning.MOST_POINTS // few, 1)
        sizes, lattice = np.unique(np.minimum(np.floor(ranges), most - 1), return_inverse=True)
        points = round_up(few)
        steps = top * span**-sizes / points
        return _Lattices(
            self._adjusted(steps, points), points, np.arange(len(net)), lattice.reshape(-1)
        )

    def _finer(self, coarse: _Lattices, value: Array) -> _Lattices:
        """The same for the scores that count, by what they do `value`, as fine as the width asks
        for."""
        counts = np.bincount(coarse.lattice, np.minimum(self.chance * value, 1e300))
        kept = counts >= min(tuning.LEFT_OVER * self.width * counts.sum(), counts.max())
        some = np.flatnonzero(kept[coarse.lattice])
        points = max(tuning.SPAN, 1.5) * math.sqrt(1 / (8 * self.width))
        most = min(tuning.MOST_POINTS / max(int(kept.sum()), 1), _MOST_TERMS / 2)
        points = round_up(max(min(points, most), coarse.points))
        steps = coarse.steps[kept] * (coarse.points / points)
        lattice = (np.cumsum(kept) - 1)[coarse.lattice[some]]
        return _Lattices(self._adjusted(steps, points), points, coarse.scores[some], lattice)

    def _adjusted(self, steps: Array, points: int) -> Array:
        """Larger steps, by a factor of two at most, of which a loss that many may have is a
        multiple: it is not moved then."""
        times = np.floor(self._common_loss / steps)
        near = (times >= 1) & (times <= points)
        adjusted: Array = np.where(near, self._common_loss / np.where(near, times, 1.0), steps)
        return adjusted

    @cached_property
    def _common_loss(self) -> float:
        """The median of what those who score lose."""
        if not self.masses.any():
            return 0.0
        order = np.argsort(self.losses)
        middle = np.searchsorted(np.cumsum(self.masses[order]), self.masses.sum() / 2)
        return float(self.losses[order[min(middle, len(order) - 1)]])

    def _parted(self, on: _Lattices) -> Array:
        place = self.losses / on.steps[:, None]
        below = np.floor(place)
        both, part = np.concatenate([below, below + 1], axis=1), place - below
        masses = np.concatenate([self.masses * (1 - part), self.masses * part], axis=1)
        return on.laid(both, masses, self.idle)
