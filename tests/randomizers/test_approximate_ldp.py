"""ApproximateLDP against leaky randomizers, enumerated in exact fractions on all datasets."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest

from oracles import (
    FractionPair,
    clone_profile,
    fixed_size_sample,
    hockey_stick,
    neighbours,
    poisson_sample,
    shuffled_mechanism,
)
from oracles.populations import everybody, fixed_size, neighbouring_views
from shell import ok, run
from shuffledp import Accountant, PureLDP, Shuffle, compare
from shuffledp.bounds.certified_rounds import CertifiedRounds
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.laws.class_law import LeakyLaw
from shuffledp.profiles.base import PrivacyProfile
from shuffledp.profiles.closed_form import RevealedProfile
from shuffledp.profiles.parts import round_profile
from shuffledp.published import feldman2021
from shuffledp.randomizers import ApproximateLDP

Rows = list[list[Fraction]]
ZERO = Fraction(0)


def divergence(u: Sequence[Fraction], v: Sequence[Fraction], ratio: Fraction) -> Fraction:
    return sum((max(a - ratio * b, ZERO) for a, b in zip(u, v, strict=True)), ZERO)


def local_delta(rows: Rows, ratio: Fraction) -> Fraction:
    """The smallest delta0 for which a matrix is (log ratio, delta0)-LDP."""
    return max(divergence(u, v, ratio) for u, v in permutations(rows, 2))


def rounded_up(value: Fraction) -> float:
    return math.nextafter(float(value), math.inf)


def law_of(rows: Rows, ratio: Fraction) -> LeakyLaw:
    delta0 = local_delta(rows, ratio)
    eps0 = math.nextafter(math.log(ratio), math.inf)
    return LeakyLaw(eps0, rounded_up(delta0) if delta0 else 0.0)


def leaking(k: int, ratio: int, leak: Fraction) -> Rows:
    """k-ary randomized response; the value is sent in the clear with probability `leak`."""
    rows = []
    for x in range(k):
        answers = [Fraction(ratio if x == y else 1, ratio + k - 1) for y in range(k)]
        rows.append([(1 - leak) * p for p in answers] + [leak * (x == y) for y in range(k)])
    return rows


def with_gaps(k: int, ratio: int, gap: Fraction) -> Rows:
    """Each value of the others misses an output of its own that all other values send."""
    gaps = [[gap * (x != y + 2) for y in range(k - 2)] for x in range(k)]
    rows = []
    for x in range(k):
        sent = [Fraction(ratio if x == y else 1) for y in range(2)]
        rest = 1 - sum(gaps[x], ZERO)
        rows.append([rest * p / sum(sent, ZERO) for p in sent] + gaps[x])
    return rows


def two_leaks(ratio: int, leak: Fraction) -> Rows:
    """Two outputs leak the first value: the second never sends the one, the third not the other."""
    leaks = [[leak, leak], [leak / ratio, ZERO], [ZERO, leak / ratio]]
    rows = []
    for x in range(3):
        rest = 1 - sum(leaks[x], ZERO)
        answers = [Fraction(ratio if x == y else 1, ratio + 2) for y in range(3)]
        rows.append([rest * p for p in answers] + leaks[x])
    return rows


def drawn(values: int, outputs: int, seed: int) -> tuple[Rows, Fraction]:
    """Two levels, mixed with a few percent of something else, and a ratio that they exceed."""
    chance = random.Random(seed)
    ratio = Fraction(chance.choice((3, 5, 8, 16)), 2)
    level = [[chance.choice((Fraction(1), ratio)) for _ in range(outputs)] for _ in range(values)]
    other = [[chance.choice((0, 0, 1, 4)) for _ in range(outputs)] for _ in range(values)]
    share = Fraction(chance.choice((1, 3)), 100)
    rows = []
    for one, two in zip(level, other, strict=True):
        two[chance.randrange(outputs)] += 1
        total, rest = sum(one), Fraction(sum(two))
        rows.append(
            [(1 - share) * a / total + share * b / rest for a, b in zip(one, two, strict=True)]
        )
    ratios = [Fraction(quarter, 4) for quarter in range(5, 100)]
    return rows, next(each for each in ratios if 0 < local_delta(rows, each) <= Fraction(8, 100))


CASES = [
    *((leaking(2, 3, Fraction(leak, 1000)), Fraction(3)) for leak in (1, 30, 90)),
    (leaking(3, 4, Fraction(1, 50)), Fraction(4)),
    (leaking(3, 20, Fraction(1, 50)), Fraction(20)),
    (two_leaks(50, Fraction(1, 500)), Fraction(50)),
    (two_leaks(4000, Fraction(1, 500)), Fraction(4000)),
    (two_leaks(400, Fraction(1, 50)), Fraction(400)),
    (with_gaps(4, 3, Fraction(1, 20)), Fraction(3)),
    (with_gaps(5, 2, Fraction(1, 30)), Fraction(2)),
    *(drawn(3, 4, seed) for seed in range(8)),
    *(drawn(2, 3, seed) for seed in range(8, 14)),
]
SHARES = (0.0, 0.01, 0.1, 0.4, 0.8, 0.98, 1.0, 1.1)


def assert_covered(profile: PrivacyProfile, pairs: Iterable[FractionPair], ratio: Fraction) -> None:
    """The truth of all datasets is never above the certified profile."""
    alphas = [1 + (ratio - 1) * Fraction(share).limit_denominator(100) for share in SHARES]
    epsilons = np.array([math.nextafter(math.log(alpha), 0) for alpha in alphas])
    sampled = np.clip(epsilons, 0, profile.max_loss)
    upper = profile.sampler(60.0, 1e-3)(sampled).upper
    for pair in pairs:
        for alpha, bound in zip(alphas, upper, strict=True):
            assert hockey_stick(pair, alpha) <= Fraction(float(bound))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_truth_is_never_above_the_bound(case: int) -> None:
    rows, ratio = CASES[case]
    law = law_of(rows, ratio)
    assert 0 < law.delta0 <= 0.1
    for users in (2, 4) if len(rows) * len(rows[0]) <= 12 else (2, 3):
        pairs = neighbours(len(rows), users, lambda data: shuffled_mechanism(rows, data))
        assert_covered(round_profile(law, users), pairs, ratio)


@pytest.mark.parametrize("case", [1, 3, 5, 8, 15])
def test_samples_are_covered(case: int) -> None:
    rows, ratio = CASES[case]
    law, rate = law_of(rows, ratio), Fraction(1, 2)
    pairs = neighbours(len(rows), 3, lambda data: fixed_size_sample(rows, data, 2))
    assert_covered(round_profile(law, 2, 1), pairs, ratio)
    pairs = neighbours(len(rows), 3, lambda data: poisson_sample(rows, data, rate))
    assert_covered(round_profile(law.thinned(0.5), 3), pairs, ratio)


def test_colluders_in_a_sample_are_covered() -> None:
    rows, ratio = leaking(2, 3, Fraction(1, 128)), Fraction(3)
    law = law_of(rows, ratio)
    randomizer = ApproximateLDP(law.eps0, law.delta0)
    for options, draws in (
        ({"sample_rate": 0.5, "colluding": 1}, fixed_size(4, 2)),
        ({"colluding": 1, "messages": 2}, everybody(4)),
        ({"sample_rate": 0.5, "messages": 2}, fixed_size(4, 2)),
    ):
        silent, messages = int(options.get("colluding", 0)), int(options.get("messages", 1))
        survey = Shuffle(randomizer, 4, **options)
        pairs = neighbouring_views(rows, 4, draws, silent, messages)
        for alpha in (Fraction(1), Fraction(3, 2), Fraction(5, 2)):
            truth = max(hockey_stick(pair, alpha) for pair in pairs)
            below = math.nextafter(math.log(alpha), 0)
            assert truth <= Fraction(survey.get_delta(below, rtol=0.01))


def test_two_rounds_are_covered() -> None:
    rows, ratio = leaking(2, 3, Fraction(1, 200)), Fraction(3)
    law = law_of(rows, ratio)
    accountant = Accountant()
    accountant.compose(Shuffle(ApproximateLDP(law.eps0, law.delta0), 2), rounds=2)
    pairs = neighbours(2, 2, lambda data: shuffled_mechanism(rows, data))
    twice = [
        {(*x, *y): (a * c, b * d) for (x, (a, b)), (y, (c, d)) in product(one.items(), two.items())}
        for one, two in product(pairs, repeat=2)
    ]
    for alpha in (Fraction(1), Fraction(2), Fraction(5)):
        truth = max(hockey_stick(pair, alpha) for pair in twice)
        assert truth <= Fraction(accountant.get_delta(math.nextafter(math.log(alpha), 0)))
    assert accountant.get_epsilon(0.5 * law.delta0) == math.inf


@pytest.mark.parametrize("options", [{}, {"sample_rate": 0.1}, {"messages": 2, "dropouts": 10}])
def test_without_a_local_delta_it_is_pure(options: dict[str, float]) -> None:
    same, other = (
        Shuffle(each, 1000, **options)  # type: ignore[arg-type]
        for each in (ApproximateLDP(2.0, 0.0), PureLDP(2.0))
    )
    assert same.epsilon_bounds(1e-6) == other.epsilon_bounds(1e-6)
    assert same.attained_epsilon(1e-6) == other.attained_epsilon(1e-6)
    assert same.explained == other.explained


def test_a_little_more_than_nothing_changes_little() -> None:
    """2 delta0 and 4 n delta0^2 of delta: not n delta0."""
    for users in (100, 10_000, 10**7):
        pure, leaky = PureLDP(4.0), ApproximateLDP(4.0, 1e-10)
        paid = 2e-10 + 4 * users * 1e-20
        for epsilon in (0.01, 0.1, 0.5):
            low = Shuffle(pure, users).delta_bounds(epsilon).lower
            high = Shuffle(leaky, users).get_delta(epsilon)
            assert high <= low * (1 + 1e-2) + 1.01 * paid


def test_attained_is_above_what_leaks_and_below_the_bound() -> None:
    for eps0, delta0 in ((1.0, 1e-3), (4.0, 1e-6), (0.1, 1e-2)):
        survey = Shuffle(ApproximateLDP(eps0, delta0), 50)
        for epsilon in (0.0, 0.3 * eps0, 2 * eps0):
            attained = survey.attained_delta(epsilon)
            assert 0.999 * delta0 <= attained <= survey.get_delta(epsilon)


# the lemmas of docs/theory/approximate-ldp.md


@pytest.mark.parametrize("seed", range(20))
def test_close_laws_have_close_parts(seed: int) -> None:
    """min(u, E v) and min(v, E u), the larger of which is moved towards the other."""
    chance, ratio = random.Random(seed), Fraction(5, 2)
    laws = [
        [Fraction(chance.choice((0, 1, 2, 9))) + Fraction(1, 50) for _ in range(5)] for _ in "uv"
    ]
    u, v = ([x / Fraction(sum(law)) for x in law] for law in laws)
    first = [min(a, ratio * b) for a, b in zip(u, v, strict=True)]
    second = [min(b, ratio * a) for a, b in zip(u, v, strict=True)]
    if sum(first) > sum(second):
        first, second = second, first
    floor = [a / ratio for a in first]
    part = Fraction(sum(second) - sum(first)) / Fraction(sum(second) - sum(floor))
    second = [b - part * (b - c) for b, c in zip(second, floor, strict=True)]
    assert sum(first) == sum(second) == 1 - max(divergence(u, v, ratio), divergence(v, u, ratio))
    for a, b in zip(first, second, strict=True):
        assert a <= ratio * b and b <= ratio * a


@pytest.mark.parametrize("seed", range(12))
def test_a_product_is_close_to_that_of_the_mean(seed: int) -> None:
    """The total variation of shuffled products, against e^(t (-log(1 - x) - x)) - 1."""
    chance = random.Random(seed)
    count, outputs = chance.choice((2, 3, 4, 5)), 3
    base = [Fraction(1, outputs)] * outputs
    laws = []
    for _ in range(count):
        moved = Fraction(chance.choice((1, 2, 5)), 60)
        one = list(base)
        from_, to = chance.sample(range(outputs), 2)
        one[from_], one[to] = one[from_] - moved, one[to] + moved
        laws.append(one)
    mean = [sum(column, ZERO) / count for column in zip(*laws, strict=True)]
    apart = max(sum((abs(a - b) for a, b in zip(law, mean, strict=True)), ZERO) for law in laws)

    def shuffled(rows: Rows) -> Mapping[tuple[int, ...], Fraction]:
        return shuffled_mechanism(rows, range(len(rows)))

    real, averaged = shuffled(laws), shuffled([mean] * count)
    distance = sum(abs(real.get(y, ZERO) - averaged.get(y, ZERO)) for y in {**real, **averaged})
    x = float(apart)
    assert float(distance) <= math.expm1(count * (-math.log1p(-x) - x)) + 1e-15


@pytest.mark.parametrize("delta0", [1e-15, 1e-9, 1e-4, 0.01])
@pytest.mark.parametrize(
    ("eps0", "users"), [(1e-6, 10**12), (1.0, 3), (4.0, 10**6), (200.0, 10**9)]
)
def test_what_is_paid_for_differences(eps0: float, users: int, delta0: float) -> None:
    with mpmath.workdps(60):
        ratio, known = mpmath.exp(eps0), 1 - 3 * mpmath.mpf(delta0)
        x = 4 * delta0 / known
        growth = known / ratio * (mpmath.exp(-x) / (1 - x) - 1)
        exact = (ratio - 1) / 2 * mpmath.expm1((users - 1) * mpmath.log1p(growth))
        found = LeakyLaw(eps0, delta0).differences(users)
        assert found >= min(exact, 1) and found <= max(
            exact * (1 + 4 * x), exact + 1e-300
        ) * 1.001 + (exact > 0.01)
    assert LeakyLaw(eps0, delta0).differences(2) == 0
    assert LeakyLaw(eps0, delta0).up_to(users).differences(3) == found


def test_what_is_revealed_is_composed_like_another_round() -> None:
    hidden = round_profile(LeakyLaw(1.0, 1e-3).clones, 20)
    whole = RevealedProfile(hidden, 1e-3)
    apart, together = CertifiedRounds(whole.factors), CertifiedRounds([(whole, 1)])
    for epsilon in (0.0, 0.2, 0.6, 2.0):
        one, two = (rounds.delta_bounds(epsilon, 1e-3) for rounds in (apart, together))
        assert one.lower <= two.upper and two.lower <= one.upper
        exact = hidden.sampler(60.0, 1e-4)(np.array([min(epsilon, 1.0)]))
        assert two.lower <= 1e-3 + (1 - 1e-3) * exact.upper[0] * (epsilon < 1) + 1e-15
        assert two.upper >= 1e-3 + (1 - 1e-3) * exact.lower[0] * (epsilon < 1) - 1e-15


@pytest.mark.parametrize("eps0", [1e-6, 1.0, 30.0])
@pytest.mark.parametrize("delta0", [1e-12, 1e-2])
def test_the_pair_that_is_used_is_above_the_theorem(eps0: float, delta0: float) -> None:
    """p + (1 - p) b >= 2 delta0 + zeta + h (1 + s) b, for any b up to the distance."""
    law = LeakyLaw(eps0, delta0)
    small = Fraction(math.exp(-eps0))
    mass = 1 - Fraction(delta0) * (2 + small)
    for users in (2, 1000, 10**9):
        for distance in (1e-6, 0.3 * math.tanh(eps0 / 2), math.tanh(eps0 / 2)):
            paid = Fraction(law.paid(users, distance))
            if paid == 1:
                continue
            for b in (Fraction(0), Fraction(distance) / 2, Fraction(distance)):
                bound = 2 * Fraction(delta0) + Fraction(law.differences(users)) + mass * b
                assert paid + (1 - paid) * b >= bound * (1 - Fraction(1, 2**50))
    (clones,) = law.clones.laws
    weight = (1 - Fraction(delta0)) / (1 + small) - Fraction(delta0)
    assert Fraction(math.fsum(clones.blanket)) == pytest.approx(2 * small * weight, rel=1e-14)


# published, statement, shell


def test_the_published_bound_is_what_the_paper_says() -> None:
    eps0, delta0, users, delta = 2.0, 1e-11, 1000, 1e-6
    found = feldman2021.approximate(eps0, delta0, users, delta)
    with mpmath.workdps(40):
        main = clone_profile(users, eps0, found, "clones")
        paid = (mpmath.exp(found) + 1) * (1 + mpmath.exp(-eps0) / 2) * users * delta0
        assert main + paid == pytest.approx(delta, rel=1e-4) and main + paid <= delta
    ours = Shuffle(ApproximateLDP(eps0, delta0), users).get_epsilon(delta)
    rows = {
        row.name: row
        for row in compare(Shuffle(ApproximateLDP(eps0, delta0), users), 1, delta).rows
    }
    row = rows["Feldman et al. 2021, (eps0, delta0)"]
    assert row.epsilon == found > ours
    assert "not eps0-LDP" in rows["Feldman et al. 2021, numerical"].reason
    for delta0 in (1e-9, 4.2e-10):  # pays too much at every epsilon
        with pytest.raises(OutOfRange, match="pay"):
            feldman2021.approximate(eps0, delta0, users, delta)
    pure = {row.name: row for row in compare(Shuffle(PureLDP(2.0), 10), 1, 1e-6).rows}
    assert pure["Feldman et al. 2021, (eps0, delta0)"].epsilon is None


def test_the_shell_warns_where_some_value_may_be_published() -> None:
    words = ["--randomizer", "approximate-ldp", "--eps0", "2", "--users", "1e5", "--delta", "1e-6"]
    text = " ".join(ok("epsilon", *words, "--delta0", "1e-10").split())
    assert "100,000 users times delta0 = 1e-10 is 1e-05, at least delta = 1e-06" in text
    assert "each message by itself is (2, 1e-10)-differentially private" in text
    quiet = ok("epsilon", *words, "--delta0", "1e-12")
    assert "delta0 is" not in quiet and "is published" not in quiet
    refused = run("epsilon", *words, "--delta0", "0.5")
    assert (refused.returncode, "delta0=0.5" in refused.stderr) == (2, True)
    missing = run("epsilon", *words)
    assert (missing.returncode, "needs --delta0" in missing.stderr) == (2, True)
    nothing = run("epsilon", *words, "--delta0", "1e-5")
    assert (nothing.returncode, "No epsilon is certified" in nothing.stdout) == (3, True)


def test_many_randomizers_have_no_client() -> None:
    randomizer = ApproximateLDP(1.0, 1e-6)
    for ask in ("client", "exact"):
        with pytest.raises(InvalidParameter, match="many randomizers"):
            getattr(randomizer, ask)()
    assert randomizer.local_eps0 == math.inf and ApproximateLDP(1.0, 0.0).local_eps0 == 1.0


@pytest.mark.parametrize("options", [{"sampling": "poisson"}, {"colluding": 2}])
def test_samples_of_several_messages(options: dict[str, Any]) -> None:
    """A number of senders that varies, each of them with a part that is revealed."""
    survey = Shuffle(ApproximateLDP(0.5, 3e-8), 8, sample_rate=0.5, messages=2, **options)
    pure = Shuffle(PureLDP(0.5), 8, sample_rate=0.5, messages=2, **options)
    without = pure.delta_bounds(0.3, rtol=0.02)
    assert without.lower <= survey.get_delta(0.3, rtol=0.02) <= without.upper * 1.1 + 1e-6


@pytest.mark.parametrize("eps0", [38.0, 40.0, 200.0])
def test_large_losses_leave_no_room_but_are_answered(eps0: float) -> None:
    for users in (2, 3, 1000):
        assert 0 < Shuffle(ApproximateLDP(eps0, 1e-9), users).get_delta(1.0) <= 1
