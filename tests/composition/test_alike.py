"""Rounds that differ in their users only: bounded by rounds of fewer and of more users."""

import math
import random
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import pytest

import oracles
from shuffledp import Accountant, Laplace, PureLDP, RandomizedResponse, Shuffle, tuning
from shuffledp.composition.compose import representatives
from shuffledp.composition.outlines import group_rounds
from shuffledp.guarantee import best_effort
from shuffledp.randomizers import Randomizer

MANY = [1000, 1001, 1004, 1010, 1020, 1023, 1024, 1060, 1099, 1101, 1400]


def weeks(randomizer: Randomizer, users: list[int], **options: object) -> Accountant:
    accountant = Accountant()
    for n in users:
        accountant.compose(Shuffle(randomizer, n, **options))  # type: ignore[arg-type]
    return accountant


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rounds of a family together, and no second attempt with fewer of them."""
    monkeypatch.setattr(tuning, "ALIKE", 100.0)
    monkeypatch.setattr(tuning, "TOGETHER", 1e6)
    monkeypatch.setattr(tuning, "LATTICES", 1)


def test_the_mean_of_more_scores_has_a_smaller_positive_part() -> None:
    """(1/n) E[(z_1 + ... + z_n)_+] falls with n, whatever the law: all ways, in fractions."""
    rng = random.Random(5)
    for _ in range(20):
        weights = [rng.randint(1, 9) for _ in range(3)]
        law = [(Fraction(rng.randint(-20, 20), 7), Fraction(w, sum(weights))) for w in weights]
        means = []
        for n in range(1, 7):
            total = Fraction(0)
            for way in combinations_with_replacement(range(3), n):
                counts = [way.count(i) for i in range(3)]
                ways = math.factorial(n) // math.prod(map(math.factorial, counts))
                mass = math.prod((law[i][1] ** counts[i] for i in range(3)), start=Fraction(ways))
                total += mass * max(sum(law[i][0] for i in way), 0)
            means.append(total / n)
        assert means == sorted(means, reverse=True)


def test_every_round_is_counted_once_on_either_side() -> None:
    profiles = [(Shuffle(PureLDP(2.0), n).profile, 1 + n % 3) for n in MANY]
    kinds = group_rounds(profiles)
    assert sorted(len(kind.members) for kind in kinds) == [1, 1, 9]
    assert sum(kind.count for kind in kinds) == sum(count for _, count in profiles)
    for ratio in (0.0, 1e-3, 4e-3, 0.05, 10.0):
        for kind in kinds:
            members = [(profile.family[1], count) for profile, count in kind.members]
            shared = [
                (p.family[1], sum(n for _, n in above), sum(n for _, n in below))
                for p, above, below in representatives(kind, ratio)
            ]
            assert sum(s[1] for s in shared) == sum(s[2] for s in shared) == kind.count
            for at, _ in members:  # those with at most so many users, or at least
                fewer = sum(count for users, count in members if users <= at)
                more = sum(count for users, count in members if users >= at)
                assert sum(s[1] for s in shared if s[0] <= at) >= fewer
                assert sum(s[2] for s in shared if s[0] >= at) >= more
            for (a, *_), (b, *_) in pairwise(shared):
                between = [users for users, _ in members if a < users < b]
                assert not between or b <= (1 + ratio) * a
    assert all(len(list(representatives(kind, 0.0))) == len(kind.members) for kind in kinds)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("analysis", ["stronger-clones", "clones"])
def test_against_the_atoms_of_every_round(analysis: str) -> None:
    users, eps0 = [2, 3, 4, 6, 9], 1.5
    accountant = Accountant()
    for n in users:
        accountant.compose(Shuffle(PureLDP(eps0), n, analysis))
    atoms = [oracles.clone_pair_atoms(n, eps0, analysis) for n in users]
    widths = []
    for epsilon in (0.0, 0.3, 1.0, 2.5, 5.0, 7.4):
        bounds = best_effort(accountant.delta_bounds, epsilon)
        assert bounds.lower <= oracles.delta_of_product(atoms, epsilon) <= bounds.upper
        widths.append(bounds.upper / max(bounds.lower, 1e-300))
    assert max(widths) > 1.5  # they were put together


@pytest.mark.parametrize(
    ("randomizer", "options"),
    [
        (PureLDP(3.0), {}),
        (Laplace(eps0=1.0), {}),
        (RandomizedResponse(4, eps0=2.0), {"sample_rate": 0.5}),
    ],
)
def test_against_one_by_one(
    randomizer: Randomizer, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    users, rtol = [2000, 2002, 2006], 5e-3 if isinstance(randomizer, Laplace) else 1e-3
    together = weeks(randomizer, users, **options).epsilon_bounds(1e-6, rtol=rtol)
    monkeypatch.setattr(tuning, "TOGETHER", 0.0)
    alone = weeks(randomizer, users, **options).epsilon_bounds(1e-6, rtol=rtol)
    assert together.lower <= alone.upper
    assert alone.lower <= together.upper
    assert together.upper - together.lower <= rtol * together.upper


def test_a_narrow_bracket_takes_them_apart() -> None:
    survey, users = RandomizedResponse(2, eps0=1.0), [100, 105, 109]
    bounds = weeks(survey, users).epsilon_bounds(1e-3, rtol=1e-4)
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper
    rough = weeks(survey, users).epsilon_bounds(1e-3, rtol=0.2)
    assert rough.lower <= bounds.upper
    assert bounds.lower <= rough.upper


def test_the_order_of_composing_does_not_matter() -> None:
    randomizer = RandomizedResponse(4, eps0=2.0)
    there = weeks(randomizer, MANY).epsilon_bounds(1e-6, rtol=0.01)
    assert there == weeks(randomizer, MANY[::-1]).epsilon_bounds(1e-6, rtol=0.01)
