"""The Fourier accountant of the paper's section 2.2 (Koskela et al. 2020, 2021).

The privacy loss distribution is moved onto m points -L + i 2L/m, each mass to the next point on
its right (an upper bound) or left (a lower bound); composition is a power under the discrete
Fourier transform. The transform is periodic, so what should lie beyond [-L, L) is folded back; the
charge for this is the references' bound, with exp(+lambda s) for the right side and exp(-lambda s)
for the left one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..errors import InvalidParameter, OutOfRange

Atoms = tuple[Array, Array]  # losses and masses under P

#: A loss this close to a grid point, in steps, is moved past it: more than its rounding error.
_NUDGE = 1e-6


@dataclass(frozen=True)
class LossGrid:
    """m points on [-L, L); the captions of the paper say L = 20, m = 10^7."""

    half_width: float = 20.0
    points: int = 10**7

    def __post_init__(self) -> None:
        if self.half_width <= 0 or self.points < 4 or self.points % 2:
            raise InvalidParameter(
                f"a grid of {self.points} points on +-{self.half_width:g} is not usable; give an "
                "even number of points >= 4 and a positive width."
            )

    @property
    def step(self) -> float:
        return 2 * self.half_width / self.points


@dataclass(frozen=True)
class GridPLD:
    """Masses on the grid and the mass at infinite loss."""

    grid: LossGrid
    mass: Array
    infinite: float

    @classmethod
    def of(
        cls, atoms: Iterable[Atoms], infinite: float, grid: LossGrid, side: str = "right"
    ) -> GridPLD:
        """Move every atom to the next grid point on that side."""
        mass = np.zeros(grid.points)
        for losses, weights in atoms:
            if len(losses) == 0:
                continue
            where = losses / grid.step + grid.points // 2
            where = np.ceil(where + _NUDGE) if side == "right" else np.floor(where - _NUDGE)
            if where.min() < 0 or where.max() >= grid.points:
                raise OutOfRange(
                    f"losses reach {np.abs(losses).max():g}, beyond the grid's "
                    f"{grid.half_width:g}; give a wider grid."
                )
            np.add.at(mass, where.astype(np.intp), weights)
        return cls(grid, mass, infinite)

    def compose(self, rounds: int) -> Composed:
        """The distribution of the loss after this many rounds, and the charges for it."""
        half = self.grid.points // 2
        if rounds == 1:
            composed = self.mass
        else:
            spectrum = np.fft.rfft(np.concatenate((self.mass[half:], self.mass[:half])))
            spectrum = power(spectrum, rounds)
            folded = np.fft.irfft(spectrum, self.grid.points)
            composed = np.concatenate((folded[half:], folded[:half]))
        infinite = -math.expm1(rounds * math.log1p(-self.infinite)) if self.infinite < 1 else 1.0
        return Composed(
            self.grid, composed, infinite, self.periodisation(rounds), self.rounding(rounds)
        )

    def periodisation(self, rounds: int) -> float:
        """Bound of the truncation and periodisation error (Koskela et al. 2021), k = rounds:

        (e^(k a+) + sum_l e^(l a+) + sum_l e^(l a-)) e^(-lambda L) / (1 - e^(-2 lambda L)),
        a+- = log E exp(+-lambda s), l = 1 .. k, the least over several lambda > 0.
        """
        width, used = self.grid.half_width, np.flatnonzero(self.mass)
        if len(used) == 0:
            return 0.0
        losses = (used - self.grid.points // 2) * self.grid.step
        if rounds * np.abs(losses).max() < width:
            return 0.0  # nothing can reach the ends
        logs, count = np.log(self.mass[used]), np.arange(1.0, rounds + 1)
        least = 1.0
        for tilt in width * 2.0 ** np.arange(-6, 3):
            plus, minus = _log_sum(logs + tilt * losses), _log_sum(logs - tilt * losses)
            total = _log_sum(np.concatenate(([rounds * plus], count * plus, count * minus)))
            log_bound = total - tilt * width - math.log1p(-math.exp(-2 * tilt * width))
            least = min(least, math.exp(min(log_bound, 0.0)))
        return least

    def rounding(self, rounds: int) -> float:
        """What floating point may add to a sum of composed masses; not charged in the paper.

        A transform of m numbers has error at most about u log2(m) in the Euclidean norm, relative;
        the power multiplies it by the rounds, and Cauchy-Schwarz sums m components.
        """
        if rounds == 1:
            return 0.0
        unit, m = 2.0**-53, self.grid.points
        norm = float(np.sqrt(np.dot(self.mass, self.mass)))
        return 4 * unit * math.log2(m) * rounds * math.sqrt(m) * norm


@dataclass(frozen=True)
class Composed:
    """The composed distribution, ready for any number of questions."""

    grid: LossGrid
    mass: Array
    infinite: float
    periodisation: float
    rounding: float

    def delta(self, epsilons: Array) -> Array:
        """Eq. (2.2) of the paper: infinite mass + sum over s > epsilon of (1 - e^(epsilon-s)) w."""
        return self._sum(epsilons, tail_only=False)

    def tail(self, epsilons: Array) -> Array:
        """Eq. (2.3) of the paper, its formula for k-RR: the probability of a loss >= epsilon."""
        return self._sum(epsilons, tail_only=True)

    def _sum(self, epsilons: Array, tail_only: bool) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        half = self.grid.points // 2
        first = np.ceil(epsilons / self.grid.step - _NUDGE).astype(np.intp)
        if epsilons.size and (first.min() < 0 or first.max() > half):
            raise OutOfRange(
                f"epsilon from {epsilons.min():g} to {epsilons.max():g} is outside the grid's "
                f"[0, {self.grid.half_width:g}]; give a wider grid."
            )
        start = int(first.min(initial=half))
        upper = self.mass[half + start :]
        plain = np.append(np.cumsum(upper[::-1])[::-1], 0.0)[first - start]
        if tail_only:
            return np.asarray(self.infinite + plain)
        weights = np.exp(-np.arange(start, half) * self.grid.step)
        damped = np.append(np.cumsum((upper * weights)[::-1])[::-1], 0.0)[first - start]
        return np.asarray(self.infinite + plain - np.exp(epsilons) * damped)

    def epsilon(self, delta: float, charged: float = 0.0) -> float:
        """The least epsilon on the grid at which delta plus `charged` is at most the target."""
        half = self.grid.points // 2
        stride = max(half // 4096, 1)
        losses: Array = np.asarray(np.arange(half + 1) * self.grid.step, dtype=np.float64)
        values = self.delta(losses[::stride]) + charged
        fits = np.flatnonzero(values <= delta)
        if len(fits) == 0:
            return math.inf
        low, high = max(int(fits[0]) - 1, 0) * stride, int(fits[0]) * stride
        fine = losses[low : high + 1]
        return float(fine[np.flatnonzero(self.delta(fine) + charged <= delta)[0]])


def power(values: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """values ** exponent by squaring: faster than numpy's complex power, and as accurate."""
    result = values
    for bit in f"{exponent:b}"[1:]:
        result = result * result
        if bit == "1":
            result *= values
    return result


def _log_sum(logs: Array) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
