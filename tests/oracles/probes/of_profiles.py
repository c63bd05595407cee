"""Profiles of every kind of law, beside the truth on all datasets or in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

import oracles
from oracles import bits, integer_noise, mixed_response, noise
from oracles.heavy_tails import delta_of_one_large_score
from shuffledp import (
    FiniteRandomizer,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Shuffle,
    verify,
)
from shuffledp.bounds.certified_rounds import CertifiedRounds
from shuffledp.composition.composed_profile import profile_of_parts
from shuffledp.laws.binary_law import BinaryLaw
from shuffledp.laws.class_law import stronger_clones
from shuffledp.laws.integer_noise import DiscreteGaussianLaw, FairCoins
from shuffledp.laws.matrix_law import Cover, shared_law
from shuffledp.laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from shuffledp.profiles.binary_profile import BinaryProfile
from shuffledp.profiles.class_profile import ClassSampler, LawTable
from shuffledp.profiles.mixture import covered_profile
from shuffledp.profiles.one_more import ThresholdProfile, one_more
from shuffledp.profiles.parts import replaced_parts
from shuffledp.profiles.sender_count import SenderCount
from shuffledp.profiles.shifted_noise import IntegerNoiseProfile
from shuffledp.randomizers import Randomizer

from .common import Checked, asked

POPULATION = [(0.2, 350), (0.55, 300)]

EPSILONS = np.array([0.0, 0.2, 0.6, 1.2])
PARTS = {"few": (8, 2.0), "many": (3000, 3.0)}


@cache
def exact_clones(which: str) -> list[mpmath.mpf]:
    users, eps0 = PARTS[which]
    return [oracles.clone_profile(users, eps0, e, "stronger-clones") for e in EPSILONS.tolist()]


def samplers() -> Iterator[Checked]:
    for which, (users, eps0) in PARTS.items():
        law = stronger_clones(eps0)
        for laws in (law.laws, law.laws + law.thinned(0.5).laws):
            found = ClassSampler(LawTable(laws, users), 1e-3)(EPSILONS)
            for i, exact in enumerate(exact_clones(which)):
                # thinned, the law is smaller; the largest of both is that of the first
                yield (found.lower[i], found.upper[i]), (exact, exact)


BITS = [(60, Fraction(3, 4), Fraction(1, 4)), (40, Fraction(1, 2), Fraction(1, 64))]


@cache
def exact_bits(case: int, epsilon: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    users, p, q = BITS[case]
    below, above = bits.alphas(epsilon)
    with mpmath.workdps(60):
        least, most = (bits.profile(p, q, users, alpha) for alpha in (above, below))
        return tuple(mpmath.mpf(x.numerator) / x.denominator for x in (least, most))


def binary_messages() -> Iterator[Checked]:
    for case, (users, p, q) in enumerate(BITS):
        law = BinaryLaw(float(p), float(1 - p), float(q), float(1 - q))
        for width in (1e-4, 1e-2):
            found = BinaryProfile(law, users, law.orders).sampler(60.0, width)(EPSILONS)
            for i, epsilon in enumerate(EPSILONS.tolist()):
                yield (found.lower[i], found.upper[i]), exact_bits(case, epsilon)


FEW_EPSILONS = (0.0, 0.4, 1.0)
MATRIX = FiniteRandomizer([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.4, 0]])
RESPONSE = RandomizedResponse(3, eps0=1.0)


@cache
def truths(randomizer: Randomizer) -> tuple[float, ...]:
    """Of three users, on every dataset."""
    return tuple(row.truth for row in verify(randomizer, 3, epsilons=FEW_EPSILONS).rows)


def matrices() -> Iterator[Checked]:
    """What is attained, the truth, and the bound."""
    for randomizer in (MATRIX, RESPONSE):
        survey = Shuffle(randomizer, 3)
        for epsilon, truth in zip(FEW_EPSILONS, truths(randomizer), strict=True):
            upper = survey.get_delta(epsilon)
            exact = mpmath.mpf(truth)
            attained = survey.attained_delta(epsilon) * (1 - 1e-15)  # the truth is a float here
            yield (attained, upper), (exact, exact)


def noise_of_one() -> Iterator[Checked]:
    """In closed form."""
    one, m = Shuffle(Gaussian(2.0), 1), mpmath.mpf(1) / 2
    exact = mpmath.ncdf(m / 2 - 0.5 / m) - mpmath.exp(0.5) * mpmath.ncdf(-m / 2 - 0.5 / m)
    yield asked(one.delta_bounds, 0.5, rtol=1e-2), (exact, exact)
    exact = 1 - mpmath.exp((mpmath.mpf(0.25) - 1) / 2)
    yield asked(Shuffle(Laplace(1.0), 1).delta_bounds, 0.25, rtol=1e-2), (exact, exact)


@cache
def exact_large_score() -> mpmath.mpf:
    return mpmath.mpf(delta_of_one_large_score(1000, 5.0))


def heavy_tails() -> Iterator[Checked]:
    near = exact_large_score() * (1 - 5e-4), exact_large_score() * (1 + 5e-4)
    yield asked(Shuffle(Gaussian(0.5), 1000).delta_bounds, 5.0, rtol=1e-2), near


COUNT = SenderCount(30_000, 50_000, 10_000)  # of 10,000 senders, those among 30,000 honest users
BINARY = [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]


@cache
def count_masses() -> list[mpmath.mpf]:
    """Pr[count = s] for all s, by the ratio of neighbouring masses."""
    honest, others = COUNT.honest, COUNT.users - COUNT.honest
    with mpmath.workdps(90):
        mass = mpmath.binomial(others, COUNT.sample) / mpmath.binomial(COUNT.users, COUNT.sample)
        masses = [mass]
        for s in range(COUNT.sample):
            mass *= mpmath.mpf((honest - s) * (COUNT.sample - s))
            mass /= (s + 1) * (others - COUNT.sample + s + 1)
            masses.append(mass)
    return masses


@cache
def exact_sample(epsilon: float) -> mpmath.mpf:
    """Two of four users are drawn and two collude: the truth on all datasets."""
    pairs = oracles.neighbouring_views(BINARY, 4, oracles.fixed_size(4, 2), 2)
    worst = max(oracles.hockey_stick(pair, Fraction(math.exp(epsilon))) for pair in pairs)
    return mpmath.mpf(worst.numerator) / worst.denominator


def senders() -> Iterator[Checked]:
    for depth, nodes in ((20.0, 7), (60.0, 80)):
        cells = COUNT.cells(depth)
        found = cells.buckets(np.unique(np.linspace(0, len(cells.first) - 1, nodes).astype(int)))
        ends = [bucket.first - 1 for bucket in found[1:]] + [int(cells.first[-1])]
        for bucket, last in zip(found, ends, strict=True):
            exact = mpmath.fsum(count_masses()[bucket.first : last + 1])
            yield (bucket.lower, bucket.upper), (exact, exact)
    survey = Shuffle(FiniteRandomizer([[0.8, 0.2], [0.2, 0.8]]), 4, sample_rate=0.5, colluding=2)
    for epsilon in FEW_EPSILONS:
        exact = exact_sample(epsilon)
        attained = survey.attained_delta(epsilon) * (1 - 1e-12)
        yield (attained, survey.get_delta(epsilon) * (1 + 1e-12)), (exact, exact)


NOISES: tuple[Noise, ...] = (
    PoissonNoise(9.5),
    PoissonNoise(2000.0),
    BinomialCounts(30, 0.25, 0.75),
    NegativeBinomialNoise(1.5, 0.75, 0.25),
    NegativeBinomialNoise(0.5, 0.75, 0.25),
)


@cache
def exact_noise(case: int, more: bool, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        pair = noise.one_more(NOISES[case], 1e-35)
        return noise.divergence(pair if more else noise.reversed_pair(pair), epsilon)


@cache
def exact_bin(more: bool) -> list[tuple[float, int]]:
    return noise.worst_bin(0.25, 4, FEW_EPSILONS, 120, more)


@cache
def exact_replaced(case: int, epsilon: float) -> mpmath.mpf:
    """One message less and another one more, each among noise of its own."""
    with mpmath.workdps(40):
        pair = noise.one_more(NOISES[case], 1e-25)
        return noise.divergence(noise.product(pair, noise.reversed_pair(pair)), epsilon)


def replaced_messages() -> Iterator[Checked]:
    for case in (0, 2):
        replaced = profile_of_parts(replaced_parts(NOISES[case], 1))
        found = replaced.sampler(60.0, 1e-3)(np.array(FEW_EPSILONS))
        for i, epsilon in enumerate(FEW_EPSILONS):
            exact = exact_replaced(case, epsilon)
            yield (float(found.lower[i]) - 1e-20, float(found.upper[i]) + 1e-20), (exact, exact)


def noise_messages() -> Iterator[Checked]:
    for more in (True, False):
        for case, law in enumerate(NOISES):
            found = one_more(law, more).sampler(60.0, 1e-3)(np.array(FEW_EPSILONS))
            for i, epsilon in enumerate(FEW_EPSILONS):
                exact = exact_noise(case, more, epsilon)
                sides = float(found.lower[i]) - 1e-30, float(found.upper[i]) + 1e-30
                yield sides, (exact, exact)
        found = ThresholdProfile(0.25, 4, more).sampler(60.0, 1e-3)(np.array(FEW_EPSILONS))
        for i, (truth, _) in enumerate(exact_bin(more)):
            near = mpmath.mpf(truth) * (1 - 1e-12), mpmath.mpf(truth) * (1 + 1e-12)
            yield (float(found.lower[i]), float(found.upper[i])), near


@cache
def exact_integers(coins: int, shift: int, epsilon: float) -> mpmath.mpf:
    """Coins, once; without any of them, discrete Gaussian noise of standard deviation 2, twice."""
    with mpmath.workdps(40):
        if coins:
            pair = integer_noise.shifted(integer_noise.coins(coins), shift, is_cut=False)
            return noise.divergence(pair, epsilon)
        pair = integer_noise.shifted(integer_noise.discrete_gaussian(2.0, 26), shift)
        return noise.divergence(noise.product(pair, pair), epsilon)


def integers() -> Iterator[Checked]:
    """Shifts of few outcomes and of many, and losses that are composed."""
    for shift in (1, 3, 70):
        found = IntegerNoiseProfile(FairCoins(90), shift).sampler(60.0, 1e-3)
        samples = found(np.array(FEW_EPSILONS))
        for i, epsilon in enumerate(FEW_EPSILONS):
            exact = exact_integers(90, shift, epsilon)
            yield (float(samples.lower[i]), float(samples.upper[i])), (exact, exact)
    twice = CertifiedRounds([(IntegerNoiseProfile(DiscreteGaussianLaw(2.0), 1), 2)])
    for epsilon in (0.5, 2.0):
        lower, upper = asked(twice.delta_bounds, epsilon, rtol=1e-2)
        exact = exact_integers(0, 1, epsilon)
        yield (lower - 1e-25, upper + 1e-25), (exact, exact)


@cache
def exact_population(epsilon: float) -> float:
    (own, users), *others = POPULATION
    return mixed_response.divergence(own, [(own, users - 1), *others], epsilon)


def populations() -> Iterator[Checked]:
    """Users with different randomizers."""
    (own, users), *others = POPULATION
    covers = [Cover(gamma / own, 1.0) for gamma, _ in POPULATION]
    shared = shared_law([RandomizedResponse(2, gamma=own).base_law()], 0, covers)
    counts = [users - 1, *(number for _, number in others)]
    profile = covered_profile(shared.laws, zip(shared.shares, counts, strict=True))
    for width in (0.01, 2e-4):
        epsilons = np.array([0.01, 0.1])
        found = profile.sampler(60.0, width)(epsilons)
        for i, epsilon in enumerate(epsilons.tolist()):
            exact, error = exact_population(epsilon), mixed_response.ERROR
            yield (found.lower[i], found.upper[i]), (exact * (1 - error), exact * (1 + error))
