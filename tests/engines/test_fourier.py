"""The engine for any score law against exact sums and against the binomial engine."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting
from shuffledp._support.numeric import Array
from shuffledp.engines import fourier, tuning
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums
from shuffledp.laws.three_point import ThreePointLaw
from shuffledp.profiles.clone_sampler import ThreePointSampler


def sums_of(law: Law, users: int, threshold: Fraction) -> ScoreSums:
    return ScoreSums(*columns(law, threshold), users)


@pytest.mark.parametrize(
    ("law", "users", "threshold"), covering(LAWS, [1, 2, 5, 12, 24], THRESHOLDS)
)
def test_stop_loss_against_enumeration(law: Law, users: int, threshold: Fraction) -> None:
    truth = float(stop_loss_by_counting(law, users, threshold))
    for width in (1e-2, 1e-4, 1e-7):
        lower, upper, *_ = stop_loss(sums_of(law, users, threshold), width)
        assert lower[0] <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper[0]
    if users >= 12:
        assert upper[0] - lower[0] <= 2e-3 * truth


def sums_of_clones(eps0: float, users: int, epsilon: Array) -> ScoreSums:
    """Those of stronger clones."""
    big, alpha = math.exp(eps0), np.exp(epsilon)
    scores = np.stack([big - alpha, 1 - alpha * big], axis=1)
    masses = np.full(scores.shape, 1 / (big + 1))
    return ScoreSums(scores, masses, np.abs(scores), np.zeros(len(scores)), users)


@pytest.mark.parametrize(
    ("users", "eps0"), covering([10**3, 10**5, 10**8, 10**10], [0.5, 3.0, 8.0])
)
def test_stop_loss_against_the_binomial_engine(users: int, eps0: float) -> None:
    """Two engines that share nothing, on the law that both can do."""
    law = ThreePointLaw.stronger_clones(eps0)
    epsilon = min(2 * eps0 / math.sqrt(1 + users * law.clone), 0.9 * eps0) * np.array([0.1, 1, 3])
    epsilon = np.minimum(epsilon, 0.9 * eps0)
    reference = ThreePointSampler(law, users, 60.0)(epsilon)
    lower, upper, *_ = stop_loss(sums_of_clones(eps0, users, epsilon), 1e-5)
    assert (lower / users <= reference.upper).all()
    assert (upper / users >= reference.lower).all()
    if users * law.clone > 100:
        assert (upper - lower <= 0.01 * upper).all()


def test_rows_of_too_many_nodes_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get more noise before they are evaluated, and are right with it."""
    calls: list[int] = []
    node_sums = fourier._node_sums

    def watched(law: Any, rule: Any, cut: Array) -> Any:
        calls.append(int(rule.number.max()))
        return node_sums(law, rule, cut)

    monkeypatch.setattr(fourier, "_node_sums", watched)
    law, users, epsilon = ThreePointLaw.stronger_clones(3.0), 10**5, np.array([0.02, 0.05])
    reference = ThreePointSampler(law, users, 60.0)(epsilon)
    for most in (30_000, 1000):
        monkeypatch.setattr(tuning, "MAX_NODES", most)
        lower, upper, *_ = stop_loss(sums_of_clones(3.0, users, epsilon), 1e-7)
        assert (lower / users <= reference.upper).all()
        assert (upper / users >= reference.lower).all()
        assert (upper - lower <= 0.01 * upper).all()
        assert most / 2 < calls.pop() <= most
        assert not calls
