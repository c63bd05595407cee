"""The lower bound by the tangent at the largest loss, where it is easiest to claim too much."""

import math
from fractions import Fraction

import numpy as np
import pytest

from oracles.sums import stop_loss_of_sum
from shuffledp.laws.class_law import ClassLaw
from shuffledp.profiles.class_profile import ClassSampler, LawTable, last_fall


def check(law: ClassLaw, users: int, epsilons: list[float]) -> None:
    """The samples, and the lines through them, against exact sums of scores."""
    samples = ClassSampler(LawTable((law,), users), 1e-4)(np.array(epsilons))
    alphas = [Fraction(math.exp(epsilon)) for epsilon in epsilons]
    exact = []
    u, v, w = ([Fraction(x) for x in side.tolist()] for side in (law.u, law.v, law.blanket))
    w[-1] = min(w[-1], 1 - sum(w[:-1], Fraction(0)))  # doubles may add up to slightly more
    for alpha in alphas:
        scores = [(a - alpha * b) / c for a, b, c in zip(u, v, w, strict=True)]
        lower, upper = stop_loss_of_sum(scores, w, users, most=users)
        exact.append((lower / users, upper / users))
    for i, alpha in enumerate(alphas):
        assert samples.lower[i] <= exact[i][1]
        assert exact[i][0] <= samples.upper[i]
        for j, other in enumerate(alphas):
            slope = samples.fall_high[i] if j > i else samples.fall_low[i]
            if math.isfinite(slope):
                line = samples.lower[i] - slope * float(other - alpha)
                assert line <= float(exact[j][1]) + 1e-13 * samples.lower[i]


@pytest.mark.parametrize("users", [2, 3, 4])
@pytest.mark.parametrize("rare", [1e-16, 1e-17, 1e-20, 1e-60])
def test_a_blanket_of_all_mass_but_less_than_a_rounding_error(rare: float, users: int) -> None:
    """The others have the message with the largest loss with probability `rare` only."""
    law = ClassLaw([2 * rare, 1 - 2 * rare], [rare, 1 - rare], [rare, 1 - rare])
    check(law, users, [0.6, 0.69, 0.6931])


@pytest.mark.parametrize("users", [2, 3, 5])
def test_a_message_that_only_the_other_users_send(users: int) -> None:
    """It makes the bound on the largest loss larger than every u/v."""
    law = ClassLaw([0.5, 0.5, 0.0], [0.375, 0.625, 0.0], [0.25, 0.25, 0.5])
    assert law.max_loss(users) > math.log(4 / 3) + 0.1
    assert last_fall(law, users, law.max_loss(users)) == 0
    check(law, users, [0.0, 0.1, 0.28, 0.3, 0.5, 1.0])


def test_no_bound_exceeds_1_if_a_law_has_more_mass() -> None:
    """Laws above several others have; here so much that it shows, with a slope at the end."""
    law = ClassLaw([1 + 1e-6, 0.0], [1e-12, 1 - 1e-12], [1e-12, 0.0])
    table = LawTable((law,), 1)
    samples = ClassSampler(table, 1e-4)(np.array([0.0, 1e-3, 1.0]))
    assert table.last_fall > 0
    assert (samples.lower <= samples.upper).all()
    assert (samples.upper <= 1).all()
