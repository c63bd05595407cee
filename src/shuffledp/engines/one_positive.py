"""Far tails of heavy scores: certified E[(S)_+] by conditioning on the one positive score.

Far in the tail nearly all sums are 0 or negative, and under any tilt the positive ones are lost in
rounding errors. But two positive scores are next to impossible. One user has a positive score z,
and the law of the sum of the others' losses is needed on [0, z) only. Losses add up, so on a
lattice this is a truncated power of a polynomial. Scores of very different sizes have lattices of
their own, each as long as its largest score.

Theory: docs/theory/big-scores.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from .._support.transforms import Complex, DampedSpectrum, fast_length, transform_error
from .problem import LEAST, ROUNDING, ScoreSums, StopLossBounds, without_falls

# proof constants: docs/theory/constants.md
_MOST_ERROR = 0.01  # total error of the masses of a sum beyond which nothing is resolved
_SLACK, _MOST_TERMS = 1e-9, 1 << 21  # relative rounding error of sums of this number of terms


def _damping() -> float:
    """Return D, where the masses at the end of a lattice are damped by e^-D."""
    return min(max(tuning.DAMPING, 0.0), 300.0)


def _score_ratio() -> float:
    """Return how many times the smallest score of a lattice its largest one is."""
    return max(tuning.SCORE_RATIO, 1.5)


def _aliased_mass() -> float:
    """Return a bound on the mass that sums of more than twice the length of a lattice add."""
    return 1.02 * math.exp(-2 * _damping())


def one_positive_stop_loss(sums: ScoreSums, width: float) -> StopLossBounds:
    """Return certified bounds on E[(S)_+], without falls.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of n >= 2 users.
    width : float
        Relative width to aim for.
    """
    rows = len(sums.scores)
    found = without_falls(np.zeros(rows), np.full(rows, np.inf))
    with np.errstate(all="ignore"):  # losses out of all range, spectra that vanish
        for i in range(rows):
            row = sums.rows(np.array([i]))
            if Side.LOWER in sums.sides:
                found.lower[i] = _OneRow(row, width, Side.LOWER).lower()
            if Side.UPPER in sums.sides:
                found.upper[i] = _OneRow(row, width, Side.UPPER).upper()
    return found


@dataclass(frozen=True, eq=False)
class _LossSum:
    """The law of the sum of some users' losses, on the points of several lattices.

    masses: [lattices, points]. error: for each lattice, a bound on the Euclidean norm of the errors
    of the damped masses; mass from beyond the lattice is not part of it.
    """

    masses: Array
    error: Array


@dataclass(frozen=True, eq=False)
class _LossLattices:
    """Lattices with the same number of points, and some scores with the lattice of each.

    steps: [lattices]; scores: indices of the scores; lattice: the lattice of each of these.
    """

    steps: Array
    points: int
    scores: NDArray[np.intp]
    lattice: NDArray[np.intp]

    @property
    def step(self) -> Array:
        """The lattice step of each score."""
        step: Array = self.steps[self.lattice]
        return step

    def number(self, gain: Array) -> NDArray[np.intp]:
        """Return the number of points below the gain of each score."""
        return np.minimum(np.ceil(gain / self.step), self.points).astype(np.intp)

    @cached_property
    def damping(self) -> Array:
        """The factor of the masses at each point."""
        damping: Array = np.exp(np.arange(self.points) * (-_damping() / self.points))
        return damping

    def total(self, others: DampedSpectrum, count: int, last: Complex | None = None) -> _LossSum:
        """Return the law of the losses of `count` users, and of one with the spectrum `last`."""
        spectrum = others.power(count) if last is None else others.power(count) * last
        masses = np.fft.irfft(spectrum, 2 * self.points)[:, : self.points]
        losers = count * others.elsewhere
        error = transform_error(2 * self.points) * (8 + 4 * losers)
        error += (16 + 4 * _damping()) * UNIT * losers
        return _LossSum(masses / self.damping, error)

    def noise(self, law: _LossSum, number: NDArray[np.intp]) -> Array:
        """Return a bound on the error of a sum of masses times factors of at most 1.

        The sum is over the first `number` points of each score's lattice (Cauchy-Schwarz).
        """
        growth = np.exp(_damping() * number / self.points)
        noise: Array = np.sqrt(number) * law.error[self.lattice] * growth
        return noise

    def added_up(self, place: Array, masses: Array, idle: float = 0.0) -> Array:
        """Return masses at multiples of the steps, added up per point: [lattices, points].

        place, masses: [lattices, values]; idle: the mass at loss 0.
        """
        rows = len(self.steps)
        row, value = np.nonzero(place < self.points)
        index = row * self.points + place[row, value].astype(np.intp)
        flat = np.bincount(index, masses[row, value], rows * self.points).astype(float)
        total = flat.reshape(rows, self.points)
        total[:, 0] += idle
        return total

    def sums(self, law: _LossSum, number: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the sums of mass, and of mass times point, over each score's first points."""
        start = np.zeros((len(self.steps), 1))
        weighted = law.masses * np.arange(self.points)
        mass, lost = (
            np.concatenate([start, np.cumsum(x, axis=1)], axis=1)[self.lattice, number]
            for x in (law.masses, weighted)
        )
        return mass, lost


class _OneRow:
    """One problem: positive scores and the losses of all others.

    All are in a unit, a power of two, such that no score exceeds 1, and moved to the given side.
    """

    def __init__(self, sums: ScoreSums, width: float, side: Side) -> None:
        scores = sums.scores[0] + side * ROUNDING * sums.magnitudes[0]
        self.unit = 2.0 ** min(int(np.frexp(scores.max(initial=0.0))[1]), 1023)
        scores, threshold = scores / self.unit, float(sums.threshold[0]) / self.unit
        masses = sums.probabilities[0]
        # a positive score without mass counts nothing, even where no bound is finite
        positive, others = (scores > 0) & (masses > 0), scores <= 0
        self.error = sums.error + (64 + len(masses)) * UNIT
        self.users = sums.users
        self.width = width
        self.threshold = threshold * (1 - side * 64 * UNIT)
        order = np.argsort(scores[positive])
        self.gain, self.chance = scores[positive][order], masses[positive][order]
        self.net = np.maximum(self.gain - self.threshold, 0.0)
        self.losses, self.masses = -scores[others], masses[others]
        self.idle = max(1 - float(masses.sum()), 0.0)
        self.mass_error = 2.5 * (self.users - 1) * self.error  # of the law of n - 1 users
        self.underflow = 64.0 * self.users * len(masses) * 5e-324

    def lower(self) -> float:
        """Return a lower bound on E[S; L > 0, one positive score].

        L has every loss rounded to the nearest multiple; scores whose error exceeds their
        contribution are left out.
        """
        if not len(self.gain) or self.mass_error > _MOST_ERROR:
            return 0.0
        coarse = self._by_size()
        on = self._finer(coarse, self._above(coarse))
        relative = self.losses / on.steps[:, None]
        place, masses = np.rint(relative), np.broadcast_to(self.masses, relative.shape)
        one = DampedSpectrum.of(on.added_up(place, masses, self.idle), on.damping)
        # by how much the losses of one user were moved, in steps
        moved = on.added_up(place, masses * (place - relative)) * on.damping
        total = on.total(one, self.users - 2, 1 + one.change)
        rest = on.total(one, self.users - 2, np.fft.rfft(moved, 2 * on.points))
        gain, step = self.net[on.scores], on.step
        number = on.number(gain)
        if self._is_unresolved(on, total):
            return 0.0
        mass, lost = on.sums(total, number)
        back = (self.users - 1) * on.sums(rest, number)[0]
        value = gain * mass + step * (back - lost)
        # the users who lose something are moved by half a step at most
        moving = step * (self.users * min(float(self.masses.sum()) * (1 + self.error), 1.0))
        certain = self.mass_error + 2 * _aliased_mass()
        wrong = gain * (on.noise(total, number) + certain)
        wrong += moving * (on.noise(rest, number) + certain)
        size = gain * mass + step * lost + moving
        certain_part = np.maximum(value - wrong - _SLACK * size, 0.0)
        found = self.users * float(self.chance[on.scores] @ certain_part)
        found = found * (1 - self.error - _SLACK) - self.underflow
        return max(found * self.unit - LEAST, 0.0)

    def upper(self) -> float:
        """Return an upper bound, with losses split between neighbouring multiples."""
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

    def _is_unresolved(self, on: _LossLattices, law: _LossSum) -> bool:
        """Whether the total error of the masses is so large that nothing is resolved."""
        every = np.full(len(on.lattice), on.points)
        return not bool(on.noise(law, every).max() + self.mass_error <= _MOST_ERROR)

    def _above(self, on: _LossLattices) -> Array:
        """Return an upper bound on the contribution of each score, per unit of its probability."""
        one = DampedSpectrum.of(self._split_losses(on), on.damping)
        but_one = on.total(one, self.users - 2)
        total = on.total(one, self.users - 2, 1 + one.change)
        if self._is_unresolved(on, total):
            return np.full(len(on.scores), math.inf)
        gain, others = self.gain[on.scores], self.users - 1
        value = self._at_most(on, total, self.net[on.scores])
        # of two positive scores 2 (a + b - loss)_+ <= (2 a - loss)_+ + (2 b - loss)_+, and of more
        # of them the sum
        another = others * float(self.chance.sum())
        twice = self._at_most(on, but_one, np.maximum(2 * gain - self.threshold, 0.0))
        value += another * twice / 2 + another * (another / 2 * gain)
        return value

    def _at_most(self, on: _LossLattices, law: _LossSum, gain: Array) -> Array:
        """Return an upper bound on E[(gain - loss)_+]."""
        number, step = on.number(gain), on.step
        mass, lost = on.sums(law, number)
        value = gain * mass - step * lost + _SLACK * (gain * mass + step * lost)
        value += gain * (on.noise(law, number) + self.mass_error)
        # losses beyond the end of the lattice
        gone = 1 - law.masses.sum(axis=1)[on.lattice] + self.mass_error + _SLACK
        gone += on.noise(law, np.full(len(gain), on.points)) + _aliased_mass()
        value += np.maximum(gain - step * (on.points - 1), 0.0) * np.maximum(gone, 0.0)
        return np.fmin(value, self._chernoff(gain))

    def _chernoff(self, gain: Array) -> Array:
        """Return an upper bound on E[(gain - loss)_+] by (s)_+ <= e^(ts)/(e t).

        It is better for gains that losses hardly ever stay below. Powers of two are tried as t.
        """
        tilts = 2.0 ** np.arange(24)[:, None] / max(float(gain.max()), 1e-300)
        growth = np.expm1(-tilts * self.losses) @ self.masses  # of E e^(-t loss), for one user
        left = np.clip(1 + growth * (1 - self.error) + 8 * UNIT, 1e-300, 1.0)
        log_all, size = (self.users - 2) * np.log(left)[:, None], tilts * gain
        exponent = size + log_all - 1 + 16 * UNIT * (size - log_all + 1)
        bound: Array = np.fmin.reduce(np.exp(exponent) / tilts) * (1 + 1e-9)
        return bound

    def _by_size(self) -> _LossLattices:
        """Return coarse lattices for all scores, one for each range of sizes."""
        net, points = self.net, 256  # points enough to see which scores matter
        top = max(float(net[-1]), 1e-150)
        ranges = np.log(top / np.maximum(net, top * 1e-150)) / math.log(_score_ratio())
        most = max(tuning.MOST_POINTS // points, 1)
        sizes, lattice = np.unique(np.minimum(np.floor(ranges), most - 1), return_inverse=True)
        steps = top * _score_ratio() ** -sizes / points
        return _LossLattices(steps, points, np.arange(len(net)), lattice.reshape(-1))

    def _finer(self, coarse: _LossLattices, value: Array) -> _LossLattices:
        """Return lattices as fine as the width asks for, for the scores that matter.

        `value` is the upper bound on the contribution of each score per unit of its probability.
        """
        counts = np.bincount(coarse.lattice, np.minimum(self.chance * value, 1e300))
        # ranges of scores below a tenth of the width stay on their coarse lattice
        kept = counts >= min(0.1 * self.width * counts.sum(), counts.max())
        chosen = np.flatnonzero(kept[coarse.lattice])
        points = _score_ratio() * math.sqrt(1 / (8 * self.width))
        most = min(tuning.MOST_POINTS / max(int(kept.sum()), 1), _MOST_TERMS / 2)
        points = fast_length(max(min(points, most), coarse.points))
        steps = coarse.steps[kept] * (coarse.points / points)
        lattice = (np.cumsum(kept) - 1)[coarse.lattice[chosen]]
        return _LossLattices(steps, points, coarse.scores[chosen], lattice)

    def _split_losses(self, on: _LossLattices) -> Array:
        """Return the masses of losses split between neighbouring multiples, their mean kept."""
        place = self.losses / on.steps[:, None]
        below = np.floor(place)
        both, part = np.concatenate([below, below + 1], axis=1), place - below
        masses = np.concatenate([self.masses * (1 - part), self.masses * part], axis=1)
        return on.added_up(both, masses, self.idle)
