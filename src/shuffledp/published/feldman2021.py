"""Feldman, McMillan, Talwar: Hiding Among the Clones (FOCS 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._support import validate
from .._support.numeric import Array, Bounds
from ..engines import tails
from ..errors import OutOfRange
from ..randomizers import PureLDP
from ..shuffle import Shuffle
from ._binomial_buckets import interval, masses
from .bound import checked, enclose_crossing

PAPER = "Feldman, McMillan, Talwar 2021 (FOCS)"
_BUCKETS = 1000  # as many steps as the default step size may lead to
_MOST = 200_000


def closed_form(eps0: float, users: int, delta: float) -> float:
    """Theorem 3.1: for eps0 <= log(n / (16 log(2/delta))) a shuffled round is (epsilon, delta)-DP,

    epsilon = log(1 + (E-1)/(E+1) (8 sqrt(E log(4/delta)) / sqrt(n) + 8 E/n)), E = e^eps0.
    (The authors' code has another constant in place of (E-1)/(E+1), and gives 0.537804 below.)

    >>> from shuffledp.published import feldman2021
    >>> round(feldman2021.closed_form(4.0, 100_000, 1e-6), 6)
    0.534634
    """
    eps0, (users, delta) = validate.local_epsilon(eps0), checked(users, delta)
    limit = math.log(users / (16 * math.log(2 / delta)))
    if eps0 > limit:
        raise OutOfRange(
            f"eps0={eps0:g} is above log(n / (16 log(2/delta))) = {limit:.6g}, where the theorem "
            "ends; give more users, a larger delta or a smaller eps0."
        )
    ratio = math.exp(eps0)
    noise = 8 * math.sqrt(ratio * math.log(4 / delta) / users) + 8 * ratio / users
    return math.log1p(math.tanh(eps0 / 2) * noise)


def numerical(eps0: float, users: int, delta: float, *, step: int | None = None) -> Bounds[float]:
    """The numerical method behind Theorem 3.2, from both sides: only the upper value is a bound.

    The divergence is an expectation over the number C ~ Bin(n-1, e^-eps0) of clones, taken in
    steps of `step` counts [0, step), [step, 2 step), ...; each step counts with its worst end for
    the upper value and with its best end for the lower one. Steps whose total probability is below
    1e-12 delta count fully, or not at all. Without `step`, some thousand steps or single counts.
    (The authors' code ends its search for epsilon at 1/1024 of the closed form: for the example it
    gives 0.167539 and 0.172791, multiples of that grid.)

    >>> from shuffledp.published import feldman2021
    >>> [round(x, 6) for x in feldman2021.numerical(4.0, 100_000, 1e-6, step=100)]
    [0.167393, 0.172357]
    """
    worst, best = _deltas(eps0, users, delta, step)
    upper = enclose_crossing(worst, delta, eps0 / 2, eps0, rtol=1e-10)[1]
    return Bounds(enclose_crossing(best, delta, upper, eps0, rtol=1e-10)[0], upper)


def upper_numerical(eps0: float, users: int, delta: float) -> float:
    """The upper value of `numerical` alone, which is the bound, in half of the time."""
    worst, _ = _deltas(eps0, users, delta, None)
    return enclose_crossing(worst, delta, eps0 / 2, eps0, rtol=1e-10)[1]


def _deltas(
    eps0: float, users: int, delta: float, step: int | None
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """delta(epsilon) if each step counts with its worst end, and with its best one."""
    eps0, (users, delta) = validate.local_epsilon(eps0), checked(users, delta)
    others, p, q = users - 1, math.exp(-eps0), -math.expm1(-eps0)
    low, high = interval(others, p, q, math.log(2e12 / delta))
    if step is None:
        step = max(1, (high - low) // _BUCKETS)
    step = validate.count("step", step, validate.MAX_USERS)
    if (high - low) / step > _MOST:
        raise OutOfRange(
            f"step={step} needs {(high - low) / step:.3g} steps, above {_MOST}; give a larger step."
        )
    first = np.arange(low - low % step, high + 1, step, dtype=float)
    last = np.minimum(first + step - 1, others)
    weights = masses(others, np.append(first, last[-1] + 1), p, q)
    ignored = 1e-12 * delta

    def worst(epsilon: float) -> float:
        return float(weights @ given_clones(eps0, first, epsilon)) + ignored

    def best(epsilon: float) -> float:
        return float(weights @ given_clones(eps0, last, epsilon))

    return worst, best


def approximate(eps0: float, delta0: float, users: int, delta: float) -> float:
    """(eps0, delta0)-LDP randomizers: the pair of Theorem 3.2, with (e^epsilon + 1)(1 + e^-eps0/2)
    n delta0 added to its delta; the smallest epsilon at which the sum is at most delta.

    >>> from shuffledp.published import feldman2021
    >>> round(feldman2021.approximate(4.0, 1e-12, 10_000, 1e-6), 4)
    0.6019
    """
    eps0, (users, delta) = validate.local_epsilon(eps0), checked(users, delta)
    added = (1 + math.exp(-eps0) / 2) * users * validate.between("delta0", delta0, 0.0, 1.0)
    clones = Shuffle(PureLDP(eps0), users, "clones")

    def paid(epsilon: float) -> float:
        return (math.exp(epsilon) + 1) * added

    if paid(0.0) >= delta:
        raise OutOfRange(
            f"delta0={delta0:g} makes this bound pay {paid(0.0):.3g}, which is not below "
            f"delta={delta:g}; give a smaller delta0, fewer users or a larger delta."
        )
    # the sum is convex in e^epsilon: up to its least value it falls
    low, high = 0.0, min(eps0, math.log(delta / added - 1))
    for _ in range(60):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        values = [clones.get_delta(each, rtol=1e-6) + paid(each) for each in (first, second)]
        if min(values) <= delta:
            high = first if values[0] <= delta else second
            break
        low, high = (low, second) if values[0] <= values[1] else (first, high)
    else:
        raise OutOfRange(
            f"delta0={delta0:g} makes this bound pay more than delta={delta:g} wherever the clones "
            "leave anything; give a smaller delta0, fewer users or a larger delta."
        )

    def total(epsilon: float) -> float:
        return clones.get_delta(epsilon, rtol=1e-6) + paid(epsilon) if epsilon < high else 0.0

    return enclose_crossing(total, delta, high / 2, high, rtol=1e-10)[1]


def given_clones(eps0: float, clones: Array, epsilon: float) -> Array:
    """The hockey-stick divergence of Theorem 3.2's pair given each number of clones.

    With m = c + 1 and X ~ Bin(m, 1/2) it is tanh(eps0/2) (1 + alpha) (2/m) E[(X - k)_+],
    k = m (1 + tanh(epsilon/2)/tanh(eps0/2)) / 2; non-increasing in the number of clones.

    >>> round(float(given_clones(1.0, np.array([0.0]), 0.5)[0]), 6)  # (e - e^0.5) / (e + 1)
    0.287649
    """
    if epsilon >= eps0:
        return np.zeros(clones.shape)
    m, contrast = clones + 1, math.tanh(eps0 / 2)
    threshold = m / 2 * (1 + math.tanh(epsilon / 2) / contrast)
    start = np.minimum(np.floor(threshold) + 1, m)
    zeroth, first, _ = tails.tail_sums(m, start, 1.0)
    excess = np.exp(tails.log_pmf(m, start, 0.5, 0.5)) * ((start - threshold) * zeroth + first)
    return np.asarray(contrast * (1 + math.exp(epsilon)) * 2 / m * np.maximum(excess, 0.0))
