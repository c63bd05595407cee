"""The engine for any score law against exact sums and against the clone pair."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import oracles
from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting
from shuffledp import tuning
from shuffledp._support.numeric import Array
from shuffledp.engines import fourier
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums


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
    ("users", "eps0"), [(10**3, 0.5), (10**3, 8.0), (10**5, 3.0), (10**8, 0.5), (10**10, 8.0)]
)
def test_stop_loss_against_the_clone_pair(users: int, eps0: float) -> None:
    """Sums over the number of clones, which share nothing with the integral."""
    clone = 2 / (math.exp(eps0) + 1)
    epsilon = min(2 * eps0 / math.sqrt(1 + users * clone), 0.9 * eps0) * np.array([0.1, 1, 3])
    epsilon = np.minimum(epsilon, 0.9 * eps0)
    lower, upper, *_ = stop_loss(sums_of_clones(eps0, users, epsilon), 1e-5)
    for i, e in enumerate(epsilon.tolist()):
        buckets = min(1000, int(5e5 / math.sqrt(users * clone)))
        least, most = oracles.clone_profile_bracket(users, eps0, e, buckets)
        assert lower[i] / users <= most <= least * (1 + 1e-3) + 1e-29
        assert least <= upper[i] / users
    if users * clone > 100:
        assert (upper - lower <= 0.01 * upper).all()


def test_rows_of_too_many_nodes_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get more noise before they are evaluated, and are right with it."""
    calls: list[int] = []
    node_sums = fourier._node_sums

    def watched(law: Any, rule: Any, cut: Array) -> Any:
        calls.append(int(rule.number.max()))
        return node_sums(law, rule, cut)

    monkeypatch.setattr(fourier, "_node_sums", watched)
    users, epsilon = 10**5, np.array([0.02, 0.05])
    brackets = [oracles.clone_profile_bracket(users, 3.0, e, 1000) for e in epsilon.tolist()]
    least, most_delta = np.array(brackets).T
    for most in (30_000, 1000):
        monkeypatch.setattr(tuning, "MAX_NODES", most)
        lower, upper, *_ = stop_loss(sums_of_clones(3.0, users, epsilon), 1e-7)
        assert (lower / users <= most_delta).all()
        assert (upper / users >= least).all()
        assert (upper - lower <= 0.01 * upper).all()
        assert most / 2 < calls.pop() <= most
        assert not calls
