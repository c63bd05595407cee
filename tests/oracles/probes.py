"""What tuning constants may touch, beside the truth: engines, samplers, searches, sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial

import mpmath
import numpy as np

import oracles
from oracles import bits, noise
from oracles.sums import stop_loss_of_sum
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    choose,
    verify,
)
from shuffledp._support.numeric import BOTH, Bounds
from shuffledp.composition.bundle import BundledRounds
from shuffledp.composition.pld import PLD
from shuffledp.composition.split_sum import split
from shuffledp.composition.tilted_sum import LatticeTooLong, TiltedSum, tilt_for_epsilon
from shuffledp.engines.choice import Choice
from shuffledp.engines.enumerated import enumerated_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.lattice import lattice_stop_loss
from shuffledp.engines.one_jump import jump_stop_loss
from shuffledp.engines.problem import ScoreSums, without_slope
from shuffledp.engines.rare_scores import rare_stop_loss, rare_users
from shuffledp.errors import NotCertified
from shuffledp.laws.binary import BinaryLaw
from shuffledp.laws.noise import BinomialNoise, NegativeBinomialNoise, Noise, PoissonNoise
from shuffledp.laws.three_point import ThreePointLaw
from shuffledp.profiles.binary import BinaryProfile
from shuffledp.profiles.class_sampler import ClassSampler
from shuffledp.profiles.clone_sampler import ThreePointSampler
from shuffledp.profiles.one_more import one_more
from shuffledp.profiles.sender_count import SenderCount
from shuffledp.profiles.threshold import ThresholdProfile
from shuffledp.randomizers import Randomizer

#: What was certified, and the truth or a tight enclosure of it.
Checked = tuple[tuple[float, float], tuple[mpmath.mpf, mpmath.mpf]]


# Engines


LAWS: list[tuple[list[float], list[float], int, float, int | None]] = [
    # scores, probabilities, users, threshold, rare users that the oracle lists
    ([2.0, -1.0, 0.5], [0.2, 0.3, 0.1], 9, 0.75, None),
    ([1.5, -1.0], [0.375, 0.625], 900, 40.0, None),
    ([40.0, -1.0], [0.0078125, 0.9921875], 300, 0.0, None),
    ([500.0, -1.0, 30.0], [2.0**-12, 0.5, 2.0**-13], 400, 20.0, 12),
    ([3.0, -2.0], [2.0**-20, 2.0**-19], 1000, 0.0, 8),
]


@cache
def exact_stop_loss(case: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    scores, masses, users, threshold, most = LAWS[case]
    z, p = ([Fraction(x) for x in column] for column in (scores, masses))
    return stop_loss_of_sum(z, p, users, Fraction(threshold), most)


def engines() -> Iterator[Checked]:
    for case, (scores, masses, users, threshold, _) in enumerate(LAWS):
        for parts in (1, 33):  # equal parts of each value, as a density has many
            z, p = (np.repeat([column], parts, axis=1) for column in (scores, masses))
            sums = ScoreSums(z, p / parts, np.abs(z), np.array([threshold]), users)
            answers = [Choice(users, z.shape[1]).solve(sums, width) for width in (1e-4, 2e-3)]
            answers.append(stop_loss(sums, 1e-2))
            if parts == 1:
                answers.append(without_slope(*enumerated_stop_loss(sums, min(users, 9))))
                rare = rare_users(users, p[0], 60.0)
                answers += [without_slope(*rare_stop_loss(sums, rare))] if rare else []
            answers.append(jump_stop_loss(sums, 1e-3))
            if users > 1:
                answers.append(lattice_stop_loss(sums, 1e-3))
            for lower, upper, *_ in answers:
                yield (lower[0], upper[0]), exact_stop_loss(case)


# Samplers

EPSILONS = np.array([0.0, 0.2, 0.6, 1.2])
PARTS = {"few": (8, 2.0), "many": (3000, 3.0)}


@cache
def exact_clones(which: str) -> list[mpmath.mpf]:
    users, eps0 = PARTS[which]
    return [oracles.clone_profile(users, eps0, e, "stronger-clones") for e in EPSILONS.tolist()]


def samplers() -> Iterator[Checked]:
    for which, (users, eps0) in PARTS.items():
        law = ThreePointLaw.stronger_clones(eps0)
        for sampler in (
            ThreePointSampler(law, users, 60.0),
            ClassSampler(law.classes.laws + law.thinned(0.5).laws, users, 1e-3),
        ):
            found = sampler(EPSILONS)
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
            found = BinaryProfile.of_both(law, users).sampler(60.0, width)(EPSILONS)
            for i, epsilon in enumerate(EPSILONS.tolist()):
                yield (found.lower[i], found.upper[i]), exact_bits(case, epsilon)


# One round and many


def asked(ask: Callable[..., Bounds[float]], *question: float, rtol: float) -> Bounds[float]:
    try:
        return ask(*question, rtol=rtol)
    except NotCertified as error:
        return error.bounds


@cache
def exact_rounds() -> tuple[mpmath.mpf, mpmath.mpf]:
    return (
        oracles.randomized_response_composition(0.5, 40, 3.0),
        oracles.randomized_response_epsilon(0.5, 40, 1e-6),
    )


@cache
def exact_mixture() -> list[oracles.Atom]:
    atoms = [oracles.clone_pair_atoms(*kind, "stronger-clones") for kind in KINDS]
    return oracles.compose_atoms(atoms)


KINDS = [(5, 2.0), (9, 0.75), (10, 0.75), (11, 0.75)]  # users, eps0


@cache
def exact_mixture_answers() -> tuple[mpmath.mpf, mpmath.mpf]:
    atoms = exact_mixture()
    return oracles.delta_of_atoms(atoms, 1.0), oracles.epsilon_of_atoms(atoms, 1e-3)


@cache
def exact_one_round() -> tuple[mpmath.mpf, mpmath.mpf]:
    atoms = oracles.clone_pair_atoms(9, 0.75, "stronger-clones")
    return oracles.delta_of_atoms(atoms, 0.3), oracles.epsilon_of_atoms(atoms, 1e-3)


def rounds() -> Iterator[Checked]:
    repeated = Accountant().compose(Shuffle(PureLDP(0.5), 1), 40)
    mixture = Accountant()
    for users, eps0 in KINDS:
        mixture.compose(Shuffle(PureLDP(eps0), users))
    one = Shuffle(PureLDP(0.75), 9)
    for mechanism, (delta, epsilon), questions in (
        (repeated, exact_rounds(), (3.0, 1e-6)),
        (mixture, exact_mixture_answers(), (1.0, 1e-3)),
        (one, exact_one_round(), (0.3, 1e-3)),
    ):
        yield asked(mechanism.delta_bounds, questions[0], rtol=1e-3), (delta, delta)
        yield asked(mechanism.epsilon_bounds, questions[1], rtol=1e-3), (epsilon, epsilon)


@cache
def exact_near_top(epsilon: float) -> mpmath.mpf:
    return oracles.clone_profile(9, 0.75, epsilon, "stronger-clones")


def near_the_top() -> Iterator[Checked]:
    for share in (2.0**-45, 2.0**-35, 2.0**-25, 2.0**-10):
        epsilon = 0.75 * (1 - share)
        exact = exact_near_top(epsilon)
        yield asked(Shuffle(PureLDP(0.75), 9).delta_bounds, epsilon, rtol=1e-3), (exact, exact)


def calibrated() -> Iterator[Checked]:
    """So many rounds have a loss of at most 2: they must have it."""
    rounds = Accountant().remaining_rounds(Shuffle(PureLDP(0.5), 1), 2.0, 1e-3, rtol=1e-2)
    exact = exact_epsilon(rounds) if rounds else mpmath.mpf(0)
    yield (0.0, 2.0), (exact, exact)


def chosen() -> Iterator[Checked]:
    """Noise shares that add up to a central Gaussian mechanism, within (1, 1e-4)."""
    for choice in choose(100, task="mean", view="aggregate", epsilon=1.0, delta=1e-4):
        upper = choice.epsilon.upper
        yield (upper, math.inf), (mpmath.mpf(0), mpmath.mpf(1))
        if choice.name == "gaussian":
            mu = 1 / (mpmath.mpf(choice.parameters["sigma"]) * 10)
            exact = mpmath.ncdf(mu / 2 - upper / mu)
            exact -= mpmath.exp(upper) * mpmath.ncdf(-mu / 2 - upper / mu)
            yield (0.0, 1e-4), (exact, exact)


@cache
def exact_epsilon(rounds: int) -> mpmath.mpf:
    return oracles.randomized_response_epsilon(0.5, rounds, 1e-3)


# Sums of losses

RARE = PLD(0.25, np.array([-1, 0, 1, 2, 3, 100]), np.array([0.25, 0.5, 0.24, 2e-3, 1e-7, 1e-22]), 0)
TIMES = 4


@cache
def exact_sum(epsilon: float) -> mpmath.mpf:
    law = {0: Fraction(1)}
    for _ in range(TIMES):
        after: dict[int, Fraction] = {}
        for at, mass in law.items():
            for step, more in zip(RARE.index.tolist(), RARE.masses.tolist(), strict=True):
                after[at + step] = after.get(at + step, Fraction(0)) + mass * Fraction(more)
        law = after
    with mpmath.workdps(60):
        return mpmath.fsum(
            mpmath.mpf(p.numerator) / p.denominator * -mpmath.expm1(epsilon - mpmath.mpf(s) / 4)
            for s, p in law.items()
            if s / 4 > epsilon
        )


def sums_of_losses() -> Iterator[Checked]:
    parts = [(RARE, TIMES)]
    for epsilon in (0.3, 2.2, 12.0, 26.0):
        exact = exact_sum(epsilon)
        try:
            tilted = TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
            tilt_for = partial(lambda e, term, _: tilt_for_epsilon(term, e), epsilon)
            apart = split(parts, float(exact), tilt_for)
        except LatticeTooLong:
            continue
        for total in (tilted, apart):
            if total is not None:
                lower, upper = (total.delta(epsilon, side) for side in BOTH)
                yield (lower, upper), (exact, exact)


@cache
def exact_bundle(rate: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        magnified = mpmath.log1p(mpmath.expm1(epsilon) / rate)
        return rate * oracles.randomized_response_composition(0.5, 3, magnified)


def bundles() -> Iterator[Checked]:
    law = ThreePointLaw.stronger_clones(0.5)
    bundled = BundledRounds(law, SenderCount(4, 4, 2), 3)
    found = bundled.profile((1, 2)).sampler(40.0, 1e-3)(np.array([0.1, 0.5]))
    for i, epsilon in enumerate((0.1, 0.5)):
        exact = exact_bundle(0.5, epsilon)
        yield (found.lower[i], found.upper[i]), (exact, exact)


MATRIX = FiniteRandomizer([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.4, 0]])
RESPONSE = RandomizedResponse(3, eps0=1.0)
FEW_EPSILONS = (0.0, 0.4, 1.0)


@cache
def truths(randomizer: Randomizer) -> tuple[float, ...]:
    """Of three users, on every dataset."""
    return tuple(row.truth for row in verify(randomizer, 3, epsilons=FEW_EPSILONS).rows)


def laws() -> Iterator[Checked]:
    """What is attained, the truth, and the bound; and noise of one user in closed form."""
    for randomizer in (MATRIX, RESPONSE):
        survey = Shuffle(randomizer, 3)
        for epsilon, truth in zip(FEW_EPSILONS, truths(randomizer), strict=True):
            upper = survey.get_delta(epsilon)
            exact = mpmath.mpf(truth)
            attained = survey.attained_delta(epsilon) * (1 - 1e-15)  # the truth is a float here
            yield (attained, upper), (exact, exact)
    one, m = Shuffle(Gaussian(2.0), 1), mpmath.mpf(1) / 2
    exact = mpmath.ncdf(m / 2 - 0.5 / m) - mpmath.exp(0.5) * mpmath.ncdf(-m / 2 - 0.5 / m)
    yield asked(one.delta_bounds, 0.5, rtol=1e-2), (exact, exact)
    exact = 1 - mpmath.exp((mpmath.mpf(0.25) - 1) / 2)
    yield asked(Shuffle(Laplace(1.0), 1).delta_bounds, 0.25, rtol=1e-2), (exact, exact)


COUNT = SenderCount(30_000, 50_000, 10_000)  # of 10,000 senders, those among 30,000 honest users
BINARY = [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]


@cache
def cumulated() -> list[mpmath.mpf]:
    """Pr[count <= s] for all s, by the ratio of neighbouring masses."""
    honest, others = COUNT.honest, COUNT.users - COUNT.honest
    with mpmath.workdps(90):
        mass = mpmath.binomial(others, COUNT.sample) / mpmath.binomial(COUNT.users, COUNT.sample)
        total = [mass]
        for s in range(COUNT.sample):
            mass *= mpmath.mpf((honest - s) * (COUNT.sample - s))
            mass /= (s + 1) * (others - COUNT.sample + s + 1)
            total.append(total[-1] + mass)
    return total


@cache
def exact_sample(epsilon: float) -> mpmath.mpf:
    """Two of four users are drawn and two collude: the truth on all datasets."""
    pairs = oracles.neighbouring_views(BINARY, 4, oracles.fixed_size(4, 2), 2)
    worst = max(oracles.hockey_stick(pair, Fraction(math.exp(epsilon))) for pair in pairs)
    return mpmath.mpf(worst.numerator) / worst.denominator


def senders() -> Iterator[Checked]:
    for depth, width in ((20.0, 0.01), (60.0, 1e-4)):
        found = COUNT.buckets(depth, width)
        for first, last, *mass in zip(*found[:4], strict=True):
            exact = cumulated()[last] - (cumulated()[first - 1] if first else 0)
            yield (mass[0], mass[1]), (exact, exact)
    survey = Shuffle(FiniteRandomizer([[0.8, 0.2], [0.2, 0.8]]), 4, sample_rate=0.5, colluding=2)
    for epsilon in FEW_EPSILONS:
        exact = exact_sample(epsilon)
        attained = survey.attained_delta(epsilon) * (1 - 1e-12)
        yield (attained, survey.get_delta(epsilon) * (1 + 1e-12)), (exact, exact)


NOISES: tuple[Noise, ...] = (
    PoissonNoise(9.5),
    PoissonNoise(2000.0),
    BinomialNoise(30, 0.25, 0.75),
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


PROBES = [
    noise_messages,
    laws,
    senders,
    engines,
    samplers,
    binary_messages,
    rounds,
    near_the_top,
    calibrated,
    chosen,
    sums_of_losses,
    bundles,
]
#: What the constants of a folder have to do with; of any other folder, all.
OF_FOLDER = {
    "engines": [engines, samplers, binary_messages, near_the_top, noise_messages],
    "laws": [laws],
    "profiles": [laws, senders, samplers, binary_messages, near_the_top, rounds, noise_messages],
    "composition": [rounds, calibrated, sums_of_losses, bundles],
    "bounds": [rounds, near_the_top, calibrated, chosen],
    "tools": [chosen],
}
