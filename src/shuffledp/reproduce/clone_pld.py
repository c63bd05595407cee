"""The privacy loss distribution of the clone pair, section 3 of the paper.

    C ~ Bin(n - 1, p), A ~ Bin(C, 1/2), Delta ~ Bern(q), q = E/(E+1), E = e^eps0,
    P = (A + Delta, C - A + 1 - Delta),  Q = (A + 1 - Delta, C - A + Delta)

with p = 1/E for the pair of the paper and p = 2/(E+1) for the stronger clones. With h = a + b:

    Pr[P = (a, b)] = Pr[C = h-1] Pr[Bin(h, 1/2) = a] 2 (q a + (1-q) b) / h,
    loss(a, b) = log (q a + (1-q) b) / ((1-q) a + q b).

This is the paper's q P1 + (1-q) P0 with P0(a, b) = (b/a) P1(a, b); the other formula that it prints
for P0, with n - a - b, belongs to another pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .binomial_laws import binomial, fair_row, hoeffding_window, log_fair_centres, logs
from .fourier_accountant import Atoms

CLONES, STRONGER = "clones", "stronger-clones"


@dataclass(frozen=True)
class ClonePair:
    """All O(n^2) atoms, or the O(n log(4/tau)) that Hoeffding's inequality leaves (section 3.2)."""

    users: int
    eps0: float
    analysis: str = CLONES
    tau: float | None = None

    @property
    def clone_probability(self) -> float:
        ratio = math.exp(self.eps0)
        return 1 / ratio if self.analysis == CLONES else 2 / (ratio + 1)

    @property
    def infinite(self) -> float:
        """The neglected mass, counted as an infinite loss. No outcome has P > 0 and Q = 0."""
        return 0.0 if self.tau is None else self.tau

    def windows(self) -> Iterator[tuple[int, int, int]]:
        """(c, first a, last a) of the atoms that are kept.

        The paper keeps the outcomes (j+1, i-j) for j in its window. The outcome also arises from
        A = j+1 without Delta, and (0, b) only from there: one more outcome for each i, j = -1 below
        the window, is what keeps the neglected mass below tau.
        """
        if self.tau is None:
            yield from ((c, 0, c + 1) for c in range(self.users))
            return
        first, last = hoeffding_window(self.users - 1, self.clone_probability, self.tau)
        for c in range(first, last + 1):
            low, high = hoeffding_window(c, 0.5, self.tau)
            yield c, low, high + 1

    @property
    def terms(self) -> int:
        """How many atoms there are."""
        if self.tau is None:
            return (self.users + 1) * (self.users + 2) // 2 - 1
        return sum(last - first + 1 for _, first, last in self.windows())

    def atoms(self) -> Iterator[Atoms]:
        """Losses and masses under P, one array for each number of clones."""
        q = 1 / (1 + math.exp(-self.eps0))
        rest = 1 / (math.exp(self.eps0) + 1)
        clones = binomial(self.users - 1, self.clone_probability)
        log, centres = logs(self.users + 1), log_fair_centres(self.users)
        for c, first, last in self.windows():
            h = c + 1
            a = np.arange(first, last + 1.0)
            under_p, under_q = q * a + rest * (h - a), rest * a + q * (h - a)
            row = fair_row(h, first, last, log, float(centres[h]))
            yield np.log(under_p / under_q), (2 * clones[c] / h) * row * under_p

    def subsampled_atoms(self, rate: float) -> Iterator[Atoms]:
        """Atoms of (rate P + (1-rate) Q, Q), the pair that the paper's section 3.4 composes."""
        for losses, masses in self.atoms():
            mixed = rate + (1 - rate) * np.exp(-losses)
            yield np.log1p(rate * np.expm1(losses)), masses * mixed

    def closed_atoms(self, rate: float) -> Iterator[Atoms]:
        """Atoms of the pair that does dominate in both orders and composes: docs/paper.md.

        Its profile for alpha >= 1 is that of (rate P + (1-rate) Q, Q), which lives on the losses
        > 0; the symmetric closure mirrors these, weighted by e^-s, and leaves the rest at 0.
        """
        total = self.infinite
        for losses, masses in self.subsampled_atoms(rate):
            positive = losses > 0
            s, mass = losses[positive], masses[positive]
            mirrored = mass * np.exp(-s)
            total += float(mass.sum() + mirrored.sum())
            yield s, mass
            yield -s, mirrored
        yield np.zeros(1), np.array([max(1 - total, 0.0)])
