"""The laws of the privacy loss that the paper composes, independent of the certified engine.

*Binomial laws.* The paper's method is the independent baseline. Point masses are products of
neighbouring ratios, started at the mode, so that rounding errors stay near 1e-13 relative wherever
there is mass.

*The clone pair*, section 3 of the paper:

    C ~ Bin(n - 1, p), A ~ Bin(C, 1/2), Delta ~ Bern(q), q = E/(E+1), E = e^eps0,
    P = (A + Delta, C - A + 1 - Delta),  Q = (A + 1 - Delta, C - A + Delta)

with p = 1/E for the pair of the paper and p = 2/(E+1) for the stronger clones. With h = a + b:

    Pr[P = (a, b)] = Pr[C = h-1] Pr[Bin(h, 1/2) = a] 2 (q a + (1-q) b) / h,
    loss(a, b) = log (q a + (1-q) b) / ((1-q) a + q b).

This is the paper's q P1 + (1-q) P0 with P0(a, b) = (b/a) P1(a, b); the other formula that it prints
for P0, with n - a - b, belongs to another pair.

*k-ary randomized response*, as section 4 prints it.

The paper takes delta(epsilon) = Pr[Z_1 + ... + Z_k >= epsilon], Z = log(N1 / N2). The theorems give
N1 and N2 by their own laws only, as if they were independent; the proof for the weaker adversary
has parts of one multinomial. Both readings are here. With joint counts the formula is an upper
bound of the divergence and a loose one, since the weight 1 - e^(epsilon - Z) is missing (and for
A_s the chance 1 - gamma of a truthful answer). With independent counts it is no bound at all: see
docs/paper.md. The true divergences are `analysis="strong"` and `analysis="blanket"`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._support.numeric import Array
from .fourier_accountant import Atoms


@lru_cache(maxsize=2)
def logs(last: int) -> Array:
    """log 0 .. log last, with 0 in place of log 0, which is never used."""
    return np.asarray(np.log(np.maximum(np.arange(last + 1.0), 1.0)))


def binomial(trials: int, p: float) -> Array:
    """The point masses of Bin(trials, p) on 0 .. trials."""
    if p <= 0 or p >= 1 or trials == 0:
        law = np.zeros(trials + 1)
        law[trials if p >= 1 else 0] = 1.0
        return law
    log = logs(trials)
    # log of pmf(j + 1) / pmf(j), j = 0 .. trials - 1
    steps = log[trials:0:-1] - log[1:] + (math.log(p) - math.log1p(-p))
    mode = min(math.floor((trials + 1) * p), trials)
    above, below = np.cumsum(steps[mode:]), np.cumsum(-steps[:mode][::-1])[::-1]
    law = np.exp(np.concatenate((below, [0.0], above)))
    return np.asarray(law / law.sum())


def log_fair_centres(last: int) -> Array:
    """log Pr[Bin(h, 1/2) = h // 2] for h = 0 .. last: a factor h/(h+1) for every odd h."""
    steps = np.zeros(last + 1)
    odd = np.arange(1.0, last + 1, 2)
    steps[1::2] = np.log1p(-1 / (odd + 1))
    return np.cumsum(steps)


def fair_row(h: int, first: int, last: int, log: Array, log_centre: float) -> Array:
    """Pr[Bin(h, 1/2) = a] for a = first .. last, with first <= h // 2 <= last."""
    centre = h // 2
    up, down = last - centre, centre - first
    # pmf(c + d) / pmf(c + d - 1) = (h - c - d + 1) / (c + d), and the same downwards
    rise = log[h - centre - up + 1 : h - centre + 1][::-1] - log[centre + 1 : centre + up + 1]
    fall = log[centre - down + 1 : centre + 1][::-1] - log[h - centre + 1 : h - centre + down + 1]
    row = np.empty(up + down + 1)
    row[down] = log_centre
    row[down + 1 :] = log_centre + np.cumsum(rise)
    row[:down] = (log_centre + np.cumsum(fall))[::-1]
    return np.exp(row, out=row)


def hoeffding_window(trials: int, p: float, tau: float) -> tuple[int, int]:
    """Whole numbers within trials (p -+ c), c = sqrt(log(4/tau) / (2 trials)).

    Bin(trials, p) is outside with probability at most tau / 2 (section 3.2 of the paper).
    """
    radius = math.sqrt(math.log(4 / tau) * trials / 2)
    first, last = math.ceil(trials * p - radius), math.floor(trials * p + radius)
    return max(first, 0), min(last, trials)


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


@dataclass(frozen=True)
class PrintedRandomizedResponse:
    """The law of Z for the adversary "A_s" (strong) or "A_w" (weaker), truncated with tau."""

    users: int
    k: int
    gamma: float
    adversary: str
    joint: bool = False
    tau: float = 1e-12

    @property
    def infinite(self) -> float:
        """Neglected mass, and for A_s the chance of N2 = 0, at which Z is infinite."""
        if self.adversary == "A_w":
            return self.tau
        return self.tau + float(binomial(self.users - 1, self.gamma / self.k)[0])

    def atoms(self) -> Iterator[Atoms]:
        return self._strong() if self.adversary == "A_s" else self._weak()

    def _strong(self) -> Iterator[Atoms]:
        """N1 - 1 and N2 count two values among n - 1 users, each with probability gamma/k."""
        share, trials = self.gamma / self.k, self.users - 1
        # a share of tau / 2 for each of N1 and N2
        first, last = hoeffding_window(trials, share, self.tau)
        law = self._counts(trials, share, first, last)
        count = np.arange(first, last + 1)
        used = count > 0
        for one, row in zip(count, law, strict=True):
            yield np.log((one + 1) / count[used]), row[used]

    def _weak(self) -> Iterator[Atoms]:
        """N_i (1-gamma) + (B+1) gamma/k: N1, N2 count B random answers and user n's answer."""
        share = self.gamma / self.k
        truth = 1 - self.gamma + share
        blanket = binomial(self.users - 1, self.gamma)
        first, last = hoeffding_window(self.users - 1, self.gamma, self.tau)
        for b in range(first, last + 1):
            # tau/2 is spent on B; a quarter on each of N1, N2
            low, high = hoeffding_window(b, 1 / self.k, self.tau / 2)
            law = blanket[b] * self._counts(b, 1 / self.k, low, high)
            value = np.log(np.arange(low, high + 2) * (1 - self.gamma) + (b + 1) * share)
            losses = value[:, None] - value[None, :]
            if self.joint:  # user n's answer is one value
                yield losses[1:, :-1].ravel(), truth * law.ravel()
                yield losses[:-1, 1:].ravel(), share * law.ravel()
                yield losses[:-1, :-1].ravel(), (self.k - 2) * share * law.ravel()
                continue
            grown = np.pad(law, ((0, 1), (0, 0))) * (1 - truth)
            grown[1:] += law * truth
            both = np.pad(grown, ((0, 0), (0, 1))) * (1 - share)
            both[:, 1:] += grown * share
            yield losses.ravel(), both.ravel()

    def _counts(self, trials: int, p: float, first: int, last: int) -> Array:
        """The law of two counts on first .. last: independent, or of one multinomial."""
        if not self.joint:
            law = binomial(trials, p)[first : last + 1]
            return np.outer(law, law)
        factorial = np.cumsum(logs(trials + 1))
        count = np.arange(first, last + 1)
        one, two = count[:, None], count[None, :]
        rest = trials - one - two
        kept = np.maximum(rest, 0)
        others = math.log1p(-2 * p) if 2 * p < 1 else -math.inf
        exponent = (
            factorial[trials] - factorial[one] - factorial[two] - factorial[kept]
            + (one + two) * math.log(p) + np.where(kept > 0, others, 0.0) * np.maximum(kept, 1)
        )  # fmt: skip
        return np.asarray(np.where(rest >= 0, np.exp(exponent), 0.0))
