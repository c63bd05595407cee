"""k-ary randomized response as the paper's section 4 prints it.

The paper takes delta(epsilon) = Pr[Z_1 + ... + Z_k >= epsilon], Z = log(N1 / N2), with N1 and N2
drawn independently (given B for the weaker adversary). This is an upper bound of the divergence,
not the divergence: the weight 1 - e^(epsilon - Z) is missing, N1 and N2 are parts of one
multinomial, and for A_s the differing user answers truthfully only with probability 1 - gamma. The
true divergences are `analysis="strong"` and `analysis="blanket"` of the certified engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..binomial import Array
from .fourier_accountant import Atoms
from .laws import binomial, hoeffding_window


@dataclass(frozen=True)
class PrintedRandomizedResponse:
    """The law of Z for the adversary "A_s" (strong) or "A_w" (weaker), truncated with tau."""

    users: int
    k: int
    gamma: float
    adversary: str
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
        """N1 = 1 + Bin(n-1, gamma/k), N2 = Bin(n-1, gamma/k)."""
        law = binomial(self.users - 1, self.gamma / self.k)
        # a share of tau / 2 for each of N1 and N2
        first, last = hoeffding_window(self.users - 1, self.gamma / self.k, self.tau)
        count = np.arange(max(first, 1), last + 1)
        for one in range(first, last + 1):
            yield np.log((one + 1) / count), law[one] * law[count]

    def _weak(self) -> Iterator[Atoms]:
        """N_i (1-gamma) + (B+1) gamma/k with N_i = Bin(B, 1/k) + Bern(.), given B."""
        share = self.gamma / self.k
        blanket = binomial(self.users - 1, self.gamma)
        first, last = hoeffding_window(self.users - 1, self.gamma, self.tau)
        for b in range(first, last + 1):
            # tau/2 is spent on B; a quarter on each of N1, N2
            low, high = hoeffding_window(b, 1 / self.k, self.tau / 2)
            law = binomial(b, 1 / self.k)[low : high + 1]
            value = np.arange(low, high + 2) * (1 - self.gamma) + (b + 1) * share
            one, two = _plus_bernoulli(law, 1 - self.gamma + share), _plus_bernoulli(law, share)
            losses = np.log(value)[:, None] - np.log(value)[None, :]
            yield losses.ravel(), blanket[b] * np.outer(one, two).ravel()


def _plus_bernoulli(law: Array, p: float) -> Array:
    return np.asarray(np.append(law * (1 - p), 0.0) + np.append(0.0, law * p))
