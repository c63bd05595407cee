"""Koskela, Heikkila, Honkela: Numerical Accounting in the Shuffle Model (2023), k-ary randomized
response as printed: delta(epsilon) = Pr[Z >= epsilon] with Z the logarithm of a ratio of counts.

The probability that the privacy loss reaches epsilon is not the hockey-stick divergence, only an
upper bound of it, and a loose one. For the weaker adversary the law of the counts is that of the
loss, so the formula is sound. For the strong adversary the two counts are printed as independent
binomials, which they are not: the formula is loose for most parameters and, with few values, a
large gamma and a small delta, too low (k=2, gamma=0.8, n=100, e^epsilon=5: 3.0e-12 for 8.1e-12).
For the weaker adversary the counts are joint here, as in the paper's proof: with independent ones,
as in its statement, the formula is too low as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._support import validate
from ..engines import tails
from ..errors import OutOfRange
from ._binomial_buckets import interval
from .bound import checked_delta

PAPER = "Koskela, Heikkila, Honkela 2023 (TMLR)"
_MOST_USERS = 10_000  # the sum for the weaker adversary has about `users` binomial tails
_MOST_STRONG = 10**8
_DEPTH = 75.0  # terms of total probability below 2 e^-75 are added as a whole


def strong_delta(k: int, gamma: float, users: int, epsilon: float) -> float:
    """Pr[N1 >= e^epsilon N2], independent N1 ~ Bin(n-1, gamma/k) + 1 and N2 ~ Bin(n-1, gamma/k).

    >>> import math
    >>> from shuffledp.published import koskela2023
    >>> round(koskela2023.strong_delta(3, 0.5, 4, math.log(1.5)), 4)
    0.7301
    """
    return _Strong(k, gamma, users).delta(epsilon)


class _Strong:
    """The sum behind `strong_delta`, over the counts that are likely enough."""

    def __init__(self, k: int, gamma: float, users: int) -> None:
        k, gamma = _checked(k, gamma, users)
        share = gamma / k
        self._low, self._high = interval(users - 1, share, 1 - share, _DEPTH)
        self._counts = np.arange(self._low, self._high + 1, dtype=float)
        trials = np.array(users - 1.0)
        self._law = np.exp(tails.log_pmf(trials, self._counts, share, 1 - share))
        self._tail = np.append(self._law[::-1].cumsum()[::-1], 0.0)  # Pr[N >= low + i]

    def delta(self, epsilon: float) -> float:
        # ratios that rounding may have pushed below e^epsilon count
        needed = np.ceil(self._counts * math.exp(epsilon) * (1 - 1e-13)) - 1
        index = np.clip(needed, self._low, self._high + 1) - self._low
        return float(self._law @ self._tail[index.astype(int)]) + 4 * math.exp(-_DEPTH)


def weak_delta(k: int, gamma: float, users: int, epsilon: float) -> float:
    """Pr[P_w >= e^epsilon Q_w], P_w = (1-gamma) N1 + gamma/k (B+1), Q_w the same with N2.

    B ~ Bin(n-1, gamma) others answer at random; N1 and N2 count the two values in question among
    the B + 1 answers, of which the last is the first value with probability 1 - gamma + gamma/k
    and any other with gamma/k. The two counts are parts of one multinomial.

    >>> import math
    >>> from shuffledp.published import koskela2023
    >>> round(koskela2023.weak_delta(3, 0.5, 4, math.log(1.5)), 4)
    0.5054
    """
    return _Weak(k, gamma, users).delta(epsilon)


class _Weak:
    """The sum behind `weak_delta`: given m = B + 1 answers, s ~ Bin(m, 2/k) of them name a value in
    question, and Bin(s, 1/2) of these the first one, with density gamma + k (1-gamma) N1/m."""

    def __init__(self, k: int, gamma: float, users: int) -> None:
        self._k, self._gamma = k, gamma = _checked(k, gamma, users)
        if users > _MOST_USERS:
            raise OutOfRange(
                f"users={users} is above {_MOST_USERS}, the most for which this sum is evaluated; "
                "give fewer users."
            )
        low, high = interval(users - 1, gamma, 1 - gamma, _DEPTH)
        random = np.arange(low, high + 1, dtype=float)
        chance = np.exp(tails.log_pmf(np.array(users - 1.0), random, gamma, 1 - gamma))
        m = random + 1
        if k == 2:
            self._m, self._s, self._weight = m, m, chance
        else:
            first = interval(low + 1, 2 / k, 1 - 2 / k, _DEPTH)[0]
            last = interval(high + 1, 2 / k, 1 - 2 / k, _DEPTH)[1]
            s = np.arange(first, last + 1, dtype=float)
            grid_m, grid_s = np.meshgrid(m, s, indexing="ij")
            law = np.exp(tails.log_pmf(grid_m, np.minimum(grid_s, grid_m), 2 / k, 1 - 2 / k))
            joint = np.where(grid_s <= grid_m, law * chance[:, None], 0.0)
            used = joint > 1e-40  # there are fewer than 1e7 terms
            self._m, self._s, self._weight = grid_m[used], grid_s[used], joint[used]
        self._tabulate()

    def _tabulate(self) -> None:
        """Pr[X >= x] and E[X; X >= x] for X ~ Bin(s, 1/2), a row for each s, x from s/2 upwards."""
        self._first = int(self._s.min())
        s = np.arange(self._first, self._s.max() + 1)[:, None]
        reach = interval(int(s[-1, 0]), 0.5, 0.5, _DEPTH)[1] - int(s[-1, 0]) // 2
        x = np.floor(s / 2) + np.arange(reach + 2, dtype=float)
        law = np.exp(tails.log_pmf(s, np.minimum(x, s), 0.5, 0.5))
        law[x > s] = 0.0
        law[:, -1] = 0.0
        self._chance = law[:, ::-1].cumsum(axis=1)[:, ::-1]
        self._mean = (law * x)[:, ::-1].cumsum(axis=1)[:, ::-1]

    def delta(self, epsilon: float) -> float:
        alpha, k, gamma = math.exp(epsilon), self._k, self._gamma
        offset = (alpha - 1) * gamma / (k * (1 - gamma))
        start = np.ceil((alpha * self._s + offset * self._m) / (1 + alpha) * (1 - 1e-13))
        row = (self._s - self._first).astype(int)
        column = (start - np.floor(self._s / 2)).astype(int)
        column = np.minimum(column, self._chance.shape[1] - 1)
        chance, mean = self._chance[row, column], self._mean[row, column]
        total = self._weight @ (gamma * chance + k * (1 - gamma) / self._m * mean)
        return float(total) + 8 * k * math.exp(-_DEPTH)


def strong(k: int, gamma: float, users: int, delta: float) -> float:
    """The epsilon at which `strong_delta` is delta. Not a bound: see above.

    >>> from shuffledp.published import koskela2023
    >>> round(koskela2023.strong(4, 0.25, 1000, 1e-7), 3)
    1.001
    """
    delta = checked_delta(delta)
    k, gamma = _checked(k, gamma, users)
    # the strong adversary may see a value that nobody sent at random: no epsilon is enough then
    nobody = math.exp((users - 1) * math.log1p(-gamma / k))
    if delta <= nobody + 1e-30:
        raise OutOfRange(
            f"delta={delta:g} is not above {nobody + 1e-30:.3g}, the formula's limit for large "
            "epsilon; give a larger delta or more users."
        )
    return _bisected(_Strong(k, gamma, users).delta, math.log(users), delta)


def weak(k: int, gamma: float, users: int, delta: float) -> float:
    """The smallest epsilon with `weak_delta` at most delta, on the safe side; at most eps0.

    >>> from shuffledp.published import koskela2023
    >>> round(koskela2023.weak(4, 0.25, 1000, 1e-7), 3)
    0.732
    """
    delta, law = checked_delta(delta), _Weak(k, gamma, users)
    return _bisected(law.delta, math.log1p(k * (1 - gamma) / gamma), delta)


def _bisected(delta_of: Callable[[float], float], top: float, delta: float) -> float:
    """The upper end of a bracket of relative width 1e-6; delta_of is a staircase.

    delta_of(top) <= delta is taken as known.
    """
    low, high = 0.0, top
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high


def _checked(k: int, gamma: float, users: int) -> tuple[int, float]:
    k = validate.count("k", k, 10**12, least=2)
    users = validate.count("users", users, validate.MAX_USERS)
    if not 2 <= users <= _MOST_STRONG:
        raise OutOfRange(
            f"users={users} is outside 2 .. {_MOST_STRONG:g}, where this sum is evaluated; "
            "give a number inside."
        )
    return k, validate.probability("gamma", gamma)
