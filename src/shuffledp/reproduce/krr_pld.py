"""k-ary randomized response as the paper's section 4 prints it.

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

import numpy as np

from .._support.numeric import Array
from .binomial_laws import binomial, hoeffding_window, logs
from .fourier_accountant import Atoms


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
