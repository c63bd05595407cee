"""k-ary randomized response as the paper prints it, against exact views."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import oracles
from shuffledp.reproduce import claims
from shuffledp.reproduce.fourier_accountant import GridPLD, LossGrid
from shuffledp.reproduce.printed_laws import ClonePair, PrintedRandomizedResponse
from shuffledp.reproduce.result import Settings


def multinomial(counts: list[int], probabilities: list[Fraction]) -> Fraction:
    mass = Fraction(math.factorial(sum(counts)))
    for count, p in zip(counts, probabilities, strict=True):
        mass *= p**count / math.factorial(count)
    return mass


@pytest.mark.parametrize(("users", "k"), [(2, 2), (3, 3), (5, 2), (5, 4)])
def test_joint_counts_against_the_loss_of_the_exact_views(users: int, k: int) -> None:
    """Pr[Z >= epsilon] is the probability, under P, that the views' ratio is at least alpha."""
    gamma, alpha = Fraction(1, 3), Fraction(7, 5)
    share = gamma / k
    rows = [[share + (1 - gamma) * (x == y) for y in range(k)] for x in (0, 1)]
    # the adversary also sees B: one view for each number of random answers
    weak = strong = Fraction(0)
    for b in range(users):
        chance = math.comb(users - 1, b) * gamma**b * (1 - gamma) ** (users - 1 - b)
        for counts in product(range(b + 2), repeat=k):
            if sum(counts) != b + 1:
                continue
            p, q = (
                sum(
                    rows[x][y] * multinomial([c - (i == y) for i, c in enumerate(counts)],
                                             [Fraction(1, k)] * k)
                    for y in range(k) if counts[y]
                )
                for x in (0, 1)
            )  # fmt: skip
            weak += chance * p * (p >= alpha * q)
    for one, two in product(range(users), repeat=2):
        if one + two < users and one + 1 >= alpha * two:
            rest = users - 1 - one - two
            strong += multinomial([one, two, rest], [share, share, 1 - 2 * share])
    for adversary, exact in (("A_w", weak), ("A_s", strong)):
        law = PrintedRandomizedResponse(users, k, float(gamma), adversary, True, 1e-14)
        losses, masses = oracles.collect(list(law.atoms()))
        got = law.infinite + masses[losses >= math.log(alpha) - 1e-12].sum()
        assert got == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


def test_independent_counts_against_the_exact_sum() -> None:
    for row in claims.run(Settings()).tables["claims"]:
        if not row["claim"].startswith(("Theorem 13", "Theorem 16")):
            continue
        values = dict(part.split("=") for part in row["case"].split(", "))
        gamma, alpha = float(Fraction(values["gamma"])), float(Fraction(values["e^eps"]))
        adversary = "A_s" if "A_s" in row["claim"] else "A_w"
        law = PrintedRandomizedResponse(
            int(values["n"]), int(values["k"]), gamma, adversary, False, 1e-14
        )
        losses, masses = oracles.collect(list(law.atoms()))
        got = law.infinite + masses[losses >= math.log(alpha) - 1e-12].sum()
        assert got == pytest.approx(row["formula"], rel=1e-9)


def test_the_weaker_adversary_as_printed_is_below_a_real_mechanism() -> None:
    """n = 10, k = 2, gamma = 3/4, alpha = 8/5, the mechanism enumerated by the oracle."""
    gamma, alpha = Fraction(3, 4), Fraction(8, 5)
    matrix = [[gamma / 2 + (1 - gamma) * (x == y) for y in (0, 1)] for x in (0, 1)]
    truth = oracles.true_profile(matrix, 10, alpha)
    rows = claims.run(Settings()).tables["claims"]
    (row,) = [r for r in rows if "actual datasets" in r["claim"] and r["case"].startswith("n=10")]
    assert Fraction(row["truth_exact"]) <= truth
    assert Fraction(row["formula_exact"]) < Fraction(row["truth_exact"])
    assert "does not hold" in row["verdict"]


def test_true_divergences_against_the_oracle() -> None:
    n, k, gamma, alpha = 4, 3, Fraction(1, 2), Fraction(3, 2)
    share = gamma / k
    rows = [[share + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]
    blanket = oracles.blanket_pair(rows[0], rows[1], [share] * k, n)
    strong, weak, reached = claims._true_divergences(n, k, gamma, alpha)
    assert weak == oracles.hockey_stick(blanket, alpha)
    assert strong == oracles.hockey_stick(oracles.strong_pair(k, gamma, n), alpha)
    assert reached == oracles.true_profile(rows, n, alpha)


def test_subsampled_pairs_against_two_users() -> None:
    """The counterexample of docs/paper.md, by the accountant: the closed pair covers it."""
    pair, grid = ClonePair(1, math.log(3)), LossGrid(4.0, 400_000)
    printed = GridPLD.of(pair.subsampled_atoms(0.5), 0.0, grid).compose(2)
    closed = GridPLD.of(pair.closed_atoms(0.5), 0.0, grid).compose(2)
    epsilon = np.array([math.log(1.1)])
    assert float(printed.delta(epsilon)[0]) == pytest.approx(43 / 160, abs=1e-4)
    assert float(closed.delta(epsilon)[0]) >= 23 / 80
