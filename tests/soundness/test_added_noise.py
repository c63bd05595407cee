"""A shuffler that keeps values at random and adds dummies: every dataset, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from shell import ok, run
from shuffledp import Accountant, Plan, Shuffle, simulate
from shuffledp.clients import Counts
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import NoisyHistogram

F = Fraction
Law = dict[tuple[int, ...], Fraction]
ALPHAS = (F(1), F(9, 8), F(3, 2), F(2), F(5))


def coins(count: int) -> dict[int, Fraction]:
    return {s: F(math.comb(count, s), 2**count) for s in range(count + 1)}


def geometric(theta: Fraction, most: int) -> dict[int, Fraction]:
    """Without what is beyond `most`, which has the probability theta^(most + 1)."""
    return {s: (1 - theta) * theta**s for s in range(most + 1)}


def seen(values: tuple[int, ...], rate: Fraction, noise: dict[int, Fraction], k: int) -> Law:
    """The counts of k values, as the shuffler publishes them; -1 is nobody's value."""
    kept: Law = {}
    for chosen in product((0, 1), repeat=len(values)):
        mass = math.prod((rate if one else 1 - rate for one in chosen), start=F(1))
        held = [value for value, one in zip(values, chosen, strict=True) if one]
        counts = tuple(held.count(j) for j in range(k))
        kept[counts] = kept.get(counts, F(0)) + mass
    law: Law = {}
    for dummies in product(noise.items(), repeat=k):
        chance = math.prod((mass for _, mass in dummies), start=F(1))
        for counts, mass in kept.items():
            both = tuple(c + d for c, (d, _) in zip(counts, dummies, strict=True))
            law[both] = law.get(both, F(0)) + chance * mass
    return law


def divergence(first: Law, second: Law, alpha: Fraction) -> Fraction:
    return sum((max(p - alpha * second.get(y, F(0)), F(0)) for y, p in first.items()), F(0))


def worst_of(
    users: int, rate: Fraction, noise: dict[int, Fraction], k: int, owns: range
) -> dict[Fraction, Fraction]:
    """The largest divergence over all datasets, in both orders, at every alpha."""
    worst = dict.fromkeys(ALPHAS, F(0))
    for others in product(range(k), repeat=users - 1):
        laws = {own: seen((own, *others), rate, noise, k) for own in owns}
        pairs = [(i, j) for i, j in permutations(owns, 2) if min(owns) == 0 or -1 in (i, j)]
        for alpha in ALPHAS:
            found = max(divergence(laws[i], laws[j], alpha) for i, j in pairs)
            worst[alpha] = max(worst[alpha], found)
    return worst


@pytest.mark.parametrize("neighbours", ["replace", "remove"])
@pytest.mark.parametrize(
    ("users", "rate", "count"),
    [(1, F(1, 2), 1), (1, F(1), 2), (2, F(1, 4), 2), (2, F(7, 8), 3), (3, F(1, 2), 1)],
)
def test_coins_on_all_datasets(users: int, rate: Fraction, count: int, neighbours: str) -> None:
    """With a third value for the others the bracket holds the truth, and it is attained."""
    randomizer = NoisyHistogram(binomial=count, value_rate=float(rate), k=3)
    round_ = Shuffle(randomizer, users, neighbours=neighbours)
    owns = range(3) if neighbours == "replace" else range(-1, 3)
    for alpha, exact in worst_of(users, rate, coins(count), 3, owns).items():
        truth, epsilon = float(exact), math.log(alpha)
        bounds = round_.delta_bounds(epsilon, rtol=0.01)
        assert bounds.lower * (1 - 1e-12) <= truth <= bounds.upper * (1 + 1e-12)
        assert bounds.upper <= 1.02 * truth + 1e-12
        attained = round_.attained_delta(epsilon)
        assert 0.98 * truth - 1e-12 <= attained <= truth * (1 + 1e-12)


def test_two_values_are_covered() -> None:
    """All others hold one of the two values in question, which hides a little more."""
    for users, rate in ((2, F(1, 2)), (3, F(3, 4))):
        round_ = Shuffle(NoisyHistogram(binomial=2, value_rate=float(rate), k=2), users)
        for alpha, exact in worst_of(users, rate, coins(2), 2, range(2)).items():
            epsilon = math.log(alpha)
            assert round_.attained_delta(epsilon) * (1 - 1e-12) <= float(exact)
            assert float(exact) <= round_.get_delta(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("theta", "rate"), [(F(1, 2), F(1, 2)), (F(1, 4), F(7, 8)), (F(3, 4), F(1, 8))]
)
def test_geometric_dummies(theta: Fraction, rate: Fraction) -> None:
    most = 60 if theta <= F(1, 2) else 140
    noise, left = geometric(theta, most), 4 * float(theta) ** most
    randomizer = NoisyHistogram(geometric=float(theta), value_rate=float(rate))
    replaced, removed = (
        Shuffle(randomizer, 100, neighbours=neighbours) for neighbours in ("replace", "remove")
    )

    def mass(first: int, second: int, more: tuple[int, int]) -> Fraction:
        """Of two counts, one of which has a message more with probability `rate`."""
        moved = noise.get(first - more[0], F(0)) * noise.get(second - more[1], F(0))
        return rate * moved + (1 - rate) * noise[first] * noise[second]

    few = range(24)  # both counts: beyond, the ratio of neighbouring masses is always the same
    for alpha in ALPHAS:
        one = {s: rate * noise.get(s - 1, F(0)) + (1 - rate) * noise[s] for s in noise}
        missing = sum((max(noise[s] - alpha * one[s], F(0)) for s in noise), F(0))
        there = sum((max(one[s] - alpha * noise[s], F(0)) for s in noise), F(0))
        found = removed.delta_bounds(math.log(alpha))
        truth = float(max(missing, there))
        assert found.lower * (1 - 1e-12) - left <= truth <= found.upper * (1 + 1e-12) + left
        total = F(0)
        for s, t in product(few, few):
            total += max(mass(s, t, (1, 0)) - alpha * mass(s, t, (0, 1)), F(0))
        found = replaced.delta_bounds(math.log(alpha))
        assert float(total) <= found.upper * (1 + 1e-12)
        assert found.lower * (1 - 1e-12) <= float(total) + 3 * float(theta) ** 23
    # the largest loss: the first count has a message, or more, and the second none
    largest = math.log((1 - rate + rate / theta) / (1 - rate))
    assert replaced.get_epsilon(0) == pytest.approx(largest, rel=1e-12)
    assert replaced.get_epsilon(0) >= largest * (1 - 1e-15)
    assert removed.get_epsilon(0) == pytest.approx(
        max(-math.log(1 - rate), math.log(1 - rate + rate / theta)), rel=1e-12
    )


def test_large_noise_agrees_with_the_composition_of_two_counts() -> None:
    """With all values kept, the two counts are also composed as two rounds."""
    for noise in ({"binomial": 500}, {"binomial": 100_000}):
        once = Shuffle(NoisyHistogram(**noise), 10)
        alike = Shuffle(NoisyHistogram(**noise, value_rate=1 - 1e-12), 10)
        here, there = once.epsilon_bounds(1e-6), alike.epsilon_bounds(1e-6)
        assert here.lower <= there.upper * (1 + 1e-6) and there.lower <= here.upper * (1 + 1e-6)


def test_less_is_lost_if_fewer_values_are_kept() -> None:
    rates = (1e-6, 0.01, 0.3, 0.9, 1.0)
    for noise in ({"binomial": 200}, {"geometric": 0.9}):
        found = [
            Shuffle(NoisyHistogram(**noise, value_rate=rate), 10).get_delta(0.2) for rate in rates
        ]
        assert found == sorted(found) and found[0] < 0.2 * found[-1]


def test_several_values_of_a_user_are_covered() -> None:
    """Two values become two others: four counts differ."""
    rate, noise = F(1, 2), coins(1)
    round_ = Shuffle(NoisyHistogram(binomial=1, value_rate=0.5), 1, messages=2)
    first, second = (seen(values, rate, noise, 4) for values in ((0, 1), (2, 3)))
    for alpha in ALPHAS:
        truth = float(divergence(first, second, alpha))
        bounds = round_.delta_bounds(math.log(alpha))
        assert bounds.lower * (1 - 1e-9) <= truth <= bounds.upper * (1 + 1e-9)


def test_it_composes_and_does_not_depend_on_who_sends() -> None:
    randomizer = NoisyHistogram(binomial=400, value_rate=0.2)
    plain = Shuffle(randomizer, 1000)
    same = Shuffle(randomizer, 10, colluding=5, dropouts=4)
    assert plain.epsilon_bounds(1e-6) == same.epsilon_bounds(1e-6)
    accountant = Accountant()
    accountant.compose(plain, rounds=10)
    one, ten = plain.get_epsilon(1e-6), accountant.get_epsilon(1e-6)
    assert one < ten < 10 * one
    sampled = Shuffle(randomizer, 1000, sample_rate=0.1)  # of the users, before the shuffler
    assert sampled.get_epsilon(1e-6) < one


@pytest.mark.parametrize("kind", [{"binomial": 60}, {"geometric": 0.8}])
@pytest.mark.parametrize("rate", [0.25, 1.0])
def test_estimates_are_unbiased_with_the_right_errors(kind: dict[str, Any], rate: float) -> None:
    held = np.array([0, 48, 300, 4000])
    randomizer = NoisyHistogram(**kind, value_rate=rate, k=4)
    mean, spread = (30, 15) if "binomial" in kind else (4, 20)
    expected = held * rate + mean
    found = randomizer.estimate(Counts(4348, expected))
    assert found.counts == pytest.approx(held)
    variance = (spread + held * rate * (1 - rate)) / rate**2
    assert found.standard_errors == pytest.approx(np.sqrt(variance))
    assert randomizer.count_variance(4348, 300) == pytest.approx(variance[2])
    values, rng = np.repeat(np.arange(4), held), np.random.default_rng(7)
    drawn = [
        randomizer.estimate(randomizer.randomize(values, rng=rng), users=4348) for _ in range(40)
    ]
    counts = np.array([each.counts for each in drawn])
    error = np.sqrt(variance / len(drawn))
    assert (np.abs(counts.mean(axis=0) - held) <= 5 * error).all()
    assert (counts.var(axis=0) <= 2.5 * variance).all()
    assert (counts.var(axis=0) >= 0.3 * variance * (variance > 0)).all()
    simulated = simulate(Shuffle(randomizer, 4348), values, rng=rng)
    assert simulated is not None


def test_users_without_a_value_and_nobody_at_all() -> None:
    randomizer = NoisyHistogram(binomial=50, value_rate=0.5, k=3)
    nobody = randomizer.randomize([-1, -1], rng=np.random.default_rng(1))
    assert len(nobody) > 30  # the shuffler adds its dummies whoever sends
    assert len(randomizer.randomize([], rng=np.random.default_rng(1))) > 30
    with pytest.raises(InvalidParameter, match="give users"):
        randomizer.estimate(nobody)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"poisson": 1.0, "value_rate": 0.5}, "value_rate=0.5 is for dummies that the shuffler"),
        ({"binomial": 10, "geometric": 0.5}, "given in 2 ways"),
        ({"binomial": 0}, "binomial=0"),
        ({"geometric": 1.0}, "geometric=1.0"),
        ({"binomial": 10, "value_rate": 0.0}, "value_rate=0.0"),
    ],
)
def test_what_is_wrong_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NoisyHistogram(**given)


def test_shell_and_plan(tmp_path: Any) -> None:
    words = ["--randomizer", "noisy-histogram", "--users", "1e5", "--delta", "1e-6"]
    added = ["--binomial", "2000", "--value-rate", "0.5"]
    text = " ".join(ok("epsilon", *words, *added).split())
    assert "keeps with probability 0.5; for each value the shuffler adds" in text
    assert "the shuffler keeps every value with exactly the stated probability" in text
    wrong = run("epsilon", *words, "--poisson", "1", "--value-rate", "0.5")
    assert (wrong.returncode, "instead of poisson" in wrong.stderr) == (2, True)
    found = ok(
        *("calibrate", "--find", "binomial", *words, "--value-rate", "0.5", "--epsilon", "1")
    )
    assert "binomial = " in found
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[target]\nepsilon = 1\ndelta = 1e-6\n[[rounds]]\nrandomizer = "noisy-histogram"\n'
        "users = 1000\nbinomial = 2000\nvalue_rate = 0.5\nrounds = 4\n"
    )
    upper = Plan.read(plan).ledger().entries[0].running.upper
    assert 0.1 < upper < 1
