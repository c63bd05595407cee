"""The shuffled Gaussian of the paper's section 5, by the two methods that it describes.

All n users hold 0, or one of them 1; noise N(0, sigma^2); the outputs are shuffled. The likelihood
ratio at t is the mean of the g(t_i) = exp((2 t_i - 1) / (2 sigma^2)), so that

    H_alpha(M(X') || M(X)) = int f(t) (mean_i g(t_i) - alpha)_+ dt,   f that of N(0, sigma^2 I).

Here the n-dimensional integral is done as in the paper: at random points of a cube, and on a
regular grid with one point for each multiset of coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support.numeric import Array
from .fourier_accountant import power

#: Half of the cube's side, in standard deviations; `beyond_the_cube` is what it leaves out.
CUBE = 6.0
_CHUNK = 1 << 18


@dataclass(frozen=True)
class MonteCarloEstimate:
    """Monte Carlo means and their standard errors, one for each epsilon."""

    mean: Array
    error: Array
    samples: int

    def band(self) -> tuple[Array, Array]:
        """Two-sided 99.9 % confidence band, normal approximation."""
        wide = 3.2905 * self.error
        return np.maximum(self.mean - wide, 0.0), self.mean + wide


def beyond_the_cube(users: int, sigma: float) -> float:
    """Mass of M(X') outside the cube: the integral over the cube is too small by at most this."""

    def tail(z: float) -> float:
        return 0.5 * math.erfc(z / math.sqrt(2))

    return tail(CUBE - 1 / sigma) + tail(CUBE + 1 / sigma) + 2 * (users - 1) * tail(CUBE)


def monte_carlo(
    users: int, sigma: float, epsilons: Array, samples: int, seed: int, where: str = "cube"
) -> MonteCarloEstimate:
    """An estimate at every epsilon, from random points.

    where = "cube": points uniform on the cube, as in the paper. where = "law": points drawn from
    M(X), an estimate of E[(mean g - alpha)_+] that needs far fewer samples in high dimension.
    """
    generator = np.random.default_rng([seed, users, 0 if where == "cube" else 1])
    alphas = np.exp(np.asarray(epsilons, dtype=float))
    total, squares = np.zeros(len(alphas)), np.zeros(len(alphas))
    side = 2 * CUBE * sigma
    log_scale = users * (math.log(side) - 0.5 * math.log(2 * math.pi * sigma**2))
    done = 0
    while done < samples:
        size = min(_CHUNK, samples - done)
        if where == "cube":
            points = generator.random((users, size))
            points -= 0.5
            points *= side
            weight = np.exp(log_scale - (points * points).sum(axis=0) / (2 * sigma**2))
        else:
            points = generator.standard_normal((users, size)) * sigma
            weight = np.ones(size)
        points *= 1 / sigma**2
        points -= 1 / (2 * sigma**2)
        ratio = np.exp(points, out=points).mean(axis=0)
        for i, alpha in enumerate(alphas):
            value = np.maximum(ratio - alpha, 0.0)
            value *= weight
            total[i] += value.sum()
            squares[i] += np.dot(value, value)
        done += size
    mean = total / done
    variance = np.maximum(squares / done - mean**2, 0.0)
    return MonteCarloEstimate(mean, np.sqrt(variance / max(done - 1, 1)), done)


def on_sorted_grid(users: int, sigma: float, epsilons: Array, points: int) -> tuple[Array, int]:
    """(H_alpha by the midpoint rule, evaluations): a regular grid on the cube, m = points.

    Permuted points have equal values, so C(m+n-1, n) ~ m^n/n! multisets are enough, weighted by how
    many of the m^n points they stand for. In colexicographic order the multisets with largest
    element i are the multisets of one element less with largest element <= i: a prefix.
    """
    step = 2 * CUBE * sigma / points
    t = (np.arange(points) + 0.5) * step - CUBE * sigma
    mass = np.exp(-0.5 * (t / sigma) ** 2) * step / math.sqrt(2 * math.pi * sigma**2)
    g = np.exp((2 * t - 1) / (2 * sigma**2))
    alphas = np.exp(np.asarray(epsilons, dtype=float))
    total = np.zeros(len(alphas))
    # for each multiset: sum of g, weight, largest element, how often it occurs
    sums, weights = np.zeros(1), np.ones(1)
    largest, run = np.full(1, -1), np.zeros(1)
    evaluations = 0
    for size in range(1, users + 1):
        parts = []
        for i in range(points):
            prefix = math.comb(i + size - 1, size - 1)
            again = np.where(largest[:prefix] == i, run[:prefix] + 1, 1.0)
            new_sums = sums[:prefix] + g[i]
            new_weights = weights[:prefix] * (mass[i] * size) / again
            if size < users:
                parts.append((new_sums, new_weights, np.full(prefix, i), again))
                continue
            evaluations += prefix
            for j, alpha in enumerate(alphas):
                total[j] += np.dot(new_weights, np.maximum(new_sums / users - alpha, 0.0))
        if size < users:
            sums, weights, largest, run = (np.concatenate(c) for c in zip(*parts, strict=True))
    return total, evaluations


def one_dimensional(users: int, sigma: float, epsilons: Array) -> Array:
    """E[(mean g - alpha)_+]: what the paper's n-dimensional integral is, for any n.

    Under M(X) the g(t_i) are independent log-normals with mean 1, so the law of their sum is all
    that matters. Plain numerics, without a certificate: g is moved to a lattice with its mean kept,
    and a power under the FFT adds n of them up. For delta above about 1e-13.
    """
    t = np.linspace(-8 * sigma, 8 * sigma, 400_001)
    mass = np.exp(-0.5 * (t / sigma) ** 2)
    mass /= mass.sum()
    g = np.exp((2 * t - 1) / (2 * sigma**2))
    spread = math.sqrt(users * math.expm1(1 / sigma**2))  # standard deviation of the sum
    reach = min(users * g[-1], users + 14 * spread + g[-1])  # the sum does not get further
    start = max(users - 14 * spread, 0.0)
    size = 1 << 20
    step = max(reach - start, g[-1]) / (size - 2)
    low = np.floor(g / step).astype(np.intp)
    share = g / step - low
    lattice = np.bincount(low, mass * (1 - share), size) + np.bincount(low + 1, mass * share, size)
    total = np.fft.irfft(power(np.fft.rfft(lattice), users), size)
    first = math.floor(start / step)  # the window of the sums, in the periodic result
    mean = (first + np.arange(size)) * (step / users)
    total = np.roll(total, -(first % size))
    return np.array([float(total @ np.maximum(mean - math.exp(e), 0.0)) for e in epsilons])
