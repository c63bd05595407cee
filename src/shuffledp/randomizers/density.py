"""Randomizers with a density, through the likelihood ratio of their worst pair of inputs.

To add one, subclass `DensityRandomizer`: say which share of the outputs of either end of the input
range has at least a given loss, and prove the three properties in its docstring.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..laws.classes import ClassLaw
from ..profiles.rounds import DensityProfile, RoundProfile
from .base import BLANKET, Analysis

_UNIT = 2.0**-53
_LEAST = 1e-290  # shares below this are not told apart from 0
_HIDDEN = 1e-40  # a blanket mass so small that no other user of a round is ever there


class Tails(NamedTuple):
    """Shares of the outputs whose loss log R(0)/R(1) is at least some values."""

    zero: Array  # for input 0
    one: Array  # for input 1
    rest: Array  # 1 - zero, the share of smaller losses, to the same relative precision
    error: Array  # relative error of all three


class Cells(NamedTuple):
    """Outputs cut by loss at 0 = edges[0] < ... < edges[-1]; the last cell is all beyond."""

    edges: Array
    zero: Array  # mass of each cell for input 0
    one: Array  # and for input 1
    ratio: Array  # zero / one
    ratio_error: Array  # relative
    seen: NDArray[np.bool_]  # is any other user of a round ever in this cell, or beyond?
    mass_error: float  # relative


class DensityRandomizer(ABC):
    """A randomizer of values in [0, 1] with a density R(x) and worst inputs 0 and 1.

    Three properties make its blanket bound hold (docs/theory.md, "Densities"):
    1. R(x) >= omega := min(R(0), R(1)) at every output, for every x;
    2. the integral of (R(x) - c omega)_+ is at most that of (R(0) - c omega)_+, for every x and c;
    3. the loss log R(0)/R(1) has the same law under R(0) as its negative has under R(1).
    """

    @abstractmethod
    def tails(self, loss: Array) -> Tails:
        """Shares of the outputs with at least these losses >= 0."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest loss of an output, attained or not; infinite if there is none."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def describe(self) -> str: ...

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {"best": BLANKET, "blanket": BLANKET}

    def profile(self, analysis: str, users: int) -> RoundProfile:
        return DensityProfile(self._blanket_laws, users, self._end(), self._bounded)

    def attained(self, users: int) -> RoundProfile:
        """The others hold one end of the range."""
        return DensityProfile(self._attained_laws, users, self._end(), self._bounded)

    @property
    def _bounded(self) -> bool:
        return math.isfinite(self.largest)

    def _end(self, depth: float = math.inf) -> float:
        """A loss that all but e^-depth of the outputs for input 0 stay below."""
        if self._bounded:
            return self.largest
        least = max(math.exp(-depth), _LEAST)

        def beyond(loss: float) -> bool:
            tails = self.tails(np.array([loss]))
            return bool(tails.zero[0] < least or tails.one[0] < _LEAST)

        low, high = 0.0, 1.0
        while not beyond(high):
            low, high = high, 2 * high
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return high

    def _cells(self, count: int, depth: float) -> Cells:
        """About `count` cells, narrow where they add much to the variance of the scores."""
        end = self._end(depth + 4)
        fine = np.linspace(0.0, end, 8 * count + 1)
        # the score e^loss has mass R(1) and its square weighs e^loss R(0)
        share = -np.diff(self.tails(fine).zero) * np.exp(fine[1:] - end)
        density = np.cbrt(np.maximum(share, 0.0))
        density = density / max(density.sum(), 1e-300) + 1 / len(density)
        place = np.append(0.0, np.cumsum(density)) / density.sum()
        edges = np.interp(np.linspace(0, 1, count + 1), place, fine)
        edges[0], edges[-1] = 0.0, end
        tails = self.tails(edges)
        zero, one = (np.append(-np.diff(tail), tail[-1]) for tail in tails[:2])
        # where nearly all losses are larger, a difference of the shares of smaller ones is precise
        few = tails.rest[1:] < tails.zero[:-1]
        zero[:-1] = np.where(few, np.diff(tails.rest), zero[:-1])
        of_zero = np.append(np.where(few, tails.rest[1:], tails.zero[:-1]), tails.zero[-1])
        error = np.append(tails.error[1:] + tails.error[:-1], tails.error[-1])
        errors = [error * tail / mass for tail, mass in ((of_zero, zero), (tails.one, one))]
        slack = errors[0] + errors[1] + 16 * _UNIT * (1 + edges)
        seen = tails.one > _HIDDEN
        seen[:2] = True
        return Cells(edges, zero, one, zero / one, slack, seen, float(slack.max()))

    def _blanket_laws(
        self, count: int, depth: float
    ) -> tuple[tuple[ClassLaw, ...], tuple[ClassLaw, ...]]:
        """Laws below and above the blanket's in convex order, up to rounding to the safe side.

        Where the loss is positive, omega is R(1) and the score is r - alpha with r = R(0)/R(1);
        where it is negative, the score is 1 - alpha r with r = R(1)/R(0) of the same law. So all
        that is needed is the law of r: cells merged to their means, or split to their ends.
        """
        cells = self._cells(count, depth)
        edges, mass, ratio, slack = np.exp(cells.edges), cells.one, cells.ratio, cells.ratio_error
        below = _law((_capped(cells), mass), _merged(ratio * (1 + slack), mass, cells.seen), cells)
        rounding = 8 * _UNIT * (1 + cells.edges)
        high, low = edges * (1 + rounding), edges * (1 - rounding)
        rest = 0.0
        if not self._bounded:  # what is cut off tells everything
            rest = float(cells.zero[-1]) * (1 + cells.mass_error)
            mass = np.append(mass[:-1], 0.0)
        above = _law(
            (high, _split(ratio * (1 + slack), mass, high)),
            (low, _split(ratio * (1 - slack), mass, low) * cells.seen),
            cells,
            rest,
        )
        return (below,), (above,)

    def _attained_laws(
        self, count: int, depth: float
    ) -> tuple[tuple[ClassLaw, ...], tuple[ClassLaw, ...]]:
        """All others hold 0: merged cells, which can only lower the divergence, in both orders."""
        cells = self._cells(count, depth)
        ratio, slack = cells.ratio, cells.ratio_error
        # R(1)/R(0) where the loss is negative, as in the mirror image, and the mass of R(0) there
        raised = _merged(ratio * (1 + slack), cells.one, cells.seen)
        lowered = _capped(cells), cells.one
        laws = []
        for side, (negative, mirrored) in ((1, raised), (-1, lowered)):
            other = np.concatenate([(1 + side * slack) / ratio, negative])
            mass = np.concatenate([cells.zero, mirrored])
            u, v = tuple(mass.tolist()), tuple((mass * other).tolist())
            law = ClassLaw(u, v, u, cells.mass_error)
            laws.append(law if side > 0 else law.reversed)
        both = tuple(laws)
        return both, both


def _capped(cells: Cells) -> Array:
    """Mean ratio of each cell, rounded down, in the last cell no more than at its edge."""
    ratio = cells.ratio * (1 - cells.ratio_error)
    ratio[-1] = min(ratio[-1], math.exp(cells.edges[-1]) * (1 - cells.ratio_error[-1]))
    return ratio


def _merged(ratio: Array, mass: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The cells that nobody is ever in become one."""
    hidden = mass[~seen].sum()
    if hidden == 0:
        return ratio, mass
    merged = float(ratio[~seen] @ mass[~seen]) / hidden
    return np.append(ratio[seen], merged), np.append(mass[seen], hidden)


def _split(mean: Array, mass: Array, edges: Array) -> Array:
    """Mass at each edge after moving every cell's to its two ends, its mean kept."""
    gap = edges[1:] - edges[:-1]
    up = np.clip((mean[:-1] - edges[:-1]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    split: Array = np.append(mass[:-1] * (1 - up), 0.0)
    split[1:] += mass[:-1] * up
    split[-1] += mass[-1]  # the atom at the largest loss
    return split


def _law(
    positive: tuple[Array, Array], negative: tuple[Array, Array], cells: Cells, rest: float = 0.0
) -> ClassLaw:
    """The law of scores r - alpha and 1 - alpha r, with the given r and their masses."""
    (high, mass), (low, other) = positive, negative
    rows = np.concatenate(
        [np.stack([high * mass, mass, mass]), np.stack([other, low * other, other])], axis=1
    )
    rows = rows[:, rows[2] > 0]
    if rest > 0:
        rows = np.append(rows, [[rest], [0.0], [0.0]], axis=1)
    u, v, blanket = (tuple(row.tolist()) for row in rows)
    return ClassLaw(u, v, blanket, cells.mass_error)
