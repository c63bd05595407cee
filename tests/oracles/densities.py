"""Rounds of few users with Gaussian or Laplace noise, by lattices and quadrature.

The value is in [0, 1], R(x) is the density of the output for the value x. A `Ratio` is the law of
s = R(1)/R(0) under R(0), and everything here is written down from the two densities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Ratio(NamedTuple):
    """Pr[s <= x] and E[s; s <= x] at positive numbers x, and the same of s > x."""

    below: Callable[[Array], tuple[Array, Array]]
    above: Callable[[Array], tuple[Array, Array]]


def gaussian_ratio(sigma: float) -> Ratio:
    """log s is normal with mean -1/(2 sigma^2) and deviation 1/sigma; under R(1) with mean +."""

    def both(x: Array, side: int) -> tuple[Array, Array]:
        place, shift = sigma * np.log(x), 1 / (2 * sigma)
        return normal(side * (place + shift)), normal(side * (place - shift))

    return Ratio(lambda x: both(x, 1), lambda x: both(x, -1))


def laplace_ratio(eps0: float) -> Ratio:
    """s is e^-eps0 at outputs below 0, e^(eps0 (2 t - 1)) at t in [0, 1] and e^eps0 above 1."""

    def both(x: Array) -> tuple[Array, Array]:
        """Pr[s > x] and E[s; s <= x], that is R(0) above an output and R(1) below it."""
        level = np.log(x)
        t = np.clip((1 + level / eps0) / 2, 0.0, 1.0)
        zero, one = np.exp(-eps0 * t) / 2, np.exp(eps0 * (t - 1)) / 2
        zero, one = np.where(level < -eps0, 1.0, zero), np.where(level < -eps0, 0.0, one)
        return np.where(level >= eps0, 0.0, zero), np.where(level >= eps0, 1.0, one)

    def below(x: Array) -> tuple[Array, Array]:
        zero, one = both(x)
        return 1 - zero, one

    def above(x: Array) -> tuple[Array, Array]:
        zero, one = both(x)
        return zero, 1 - one

    return Ratio(below, above)


def normal(x: Array) -> Array:
    return np.array([math.erfc(y) / 2 for y in (-x / math.sqrt(2)).tolist()])


def attained(
    ratio: Ratio, users: int, epsilon: float, points: int = 1 << 14
) -> tuple[float, float]:
    """delta if all others hold 0, in both orders: E[(1 - alpha m)_+] and E[(m - alpha)_+].

    m is the mean of `users` independent s: the density of the shuffled messages over that of all
    users holding 0. With E[m] = 1 the second is 1 - alpha + E[(alpha - m)_+].
    """
    alpha = math.exp(epsilon)
    first, second = (_put(ratio, users, level * users, points) for level in (1 / alpha, alpha))
    return alpha * first / users, 1 - alpha + second / users


def _put(ratio: Ratio, users: int, level: float, points: int) -> float:
    """E[(level - sum of s)_+] on a lattice of [0, level]: larger s add nothing, since s >= 0.

    Mass between two points is parted between them, its mean kept, which adds at most users h^2/8
    times the density of the sum at the level.
    """
    step = level / points
    at = step * np.arange(points + 1)
    mass, mean = (np.diff(np.append(0.0, part)) for part in ratio.below(at[1:]))
    up = np.clip(mean / step - np.arange(points) * mass, 0.0, mass)
    law = np.append(mass - up, 0.0) + np.append(0.0, up)

    def product(a: Array, b: Array) -> Array:
        size = 2 * (points + 1)
        return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[: points + 1]

    total = np.eye(1, points + 1)[0]
    for bit in bin(users)[2:]:
        total = product(total, total)
        if bit == "1":
            total = product(total, law)
    return float(total @ (level - at))


def blanket(ratio: Ratio, users: int, epsilon: float, end: float, nodes: int = 400) -> float:
    """E[(S)_+]/users of two or three users: S adds up blanket scores.

    Under omega = min(R(0), R(1)) the score is 1/s - alpha where s < 1, which mirrors s - alpha
    where s > 1, and 1 - alpha s there; it is 0 with probability 1 - |omega|. Losses up to `end`
    are cut into cells, each of them at its mean: many for the score that is added last, of which
    only sums are needed, and `nodes` for the others, on either side. Merging cells loses about one
    over the square of their number.
    """
    alpha = math.exp(epsilon)

    def cells(number: int) -> tuple[Array, Array]:
        edges = np.exp(np.linspace(0.0, end, number + 1))
        edges[-1] *= 1 - 1e-12  # where Laplace noise has an atom
        mass, mean = (-np.diff(np.append(part, 0.0)) for part in ratio.above(edges))
        r, mass = mean[mass > 0] / mass[mass > 0], mass[mass > 0]
        return np.append(r - alpha, 1 - alpha * r), np.append(mass, mass)

    scores, masses = cells(100_000)
    order = np.argsort(scores)
    scores, masses = scores[order], masses[order]
    above, gain = (np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in (masses, masses * scores))
    idle = 1 - masses.sum()

    def one_more(x: Array) -> Array:
        """E[(x + z)_+; the last user scores]."""
        start = np.searchsorted(scores, -x)
        more: Array = gain[start] + x * above[start]
        return more

    z, p = cells(nodes)
    ways = [float(one_more(np.zeros(1))[0]), float(p @ one_more(z))]
    if users == 3:
        ways.append(float(p @ one_more(z[:, None] + z) @ p))
    number = [math.comb(users, m) * idle ** (users - m) for m in range(1, users + 1)]
    return float(np.dot(number, ways)) / users
