"""Which engine answers what, and that the reasons given for it hold."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp.engines import choice
from shuffledp.engines.choice import RULES, EngineRule, StopLossProblem, bound_stop_loss
from shuffledp.engines.problem import ScoreSums, StopLossBounds


def sums_of(scores: list[float], probabilities: list[float], users: int) -> ScoreSums:
    z, q = np.array([scores]), np.array([probabilities])
    return ScoreSums(z, q, np.abs(z), np.zeros(1), users)


def heavy_tailed(values: int, users: int) -> ScoreSums:
    """Scores of e^x - c with the masses of a normal x."""
    x = np.linspace(-6, 6, values)
    mass = np.exp(-(x**2) / 2)
    mass /= 1.001 * mass.sum()
    scores = np.exp(3 * x) - 1.1 * float(mass @ np.exp(3 * x))
    return sums_of(scores.tolist(), mass.tolist(), users)


def rarely_positive(values: int, users: int) -> ScoreSums:
    """Scores of e^x - e^12 with the masses of a normal x, and of as much below them."""
    x = np.linspace(-4, 16, values)
    mass = np.exp(-(x**2) / 2)
    mass /= 3 * mass.sum()
    scores = np.append(np.exp(x) - np.exp(12), -np.exp(12 + np.abs(x)))
    return sums_of(scores.tolist(), np.append(mass, mass).tolist(), users)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the rules that were asked, in order."""
    names: list[str] = []

    def watched(rule: EngineRule) -> EngineRule:
        def solve(problem: StopLossProblem) -> StopLossBounds:
            names.append(rule.name)
            return rule.solve(problem)

        return replace(rule, solve=solve)

    monkeypatch.setattr(choice, "RULES", tuple(watched(rule) for rule in RULES))
    return names


CASES = [
    (sums_of([2.0, -1.0], [0.3, 0.6], 1), 1e-4, ["one user"]),
    (sums_of([2.0, -1.0], [0.3, 0.6], 30), 1e-4, ["rare scores"]),
    (sums_of([2.0, -1.0], [1e-8, 2e-8], 10**6), 1e-4, ["rare scores"]),
    (sums_of([2e3, -1.0], [1e-4, 0.9], 1000), 1e-4, ["rare scores"]),
    (sums_of([2.0, -3.0], [0.3, 0.3], 10**6), 1e-4, ["fourier"]),
    (heavy_tailed(200, 40), 1e-3, ["lattice"]),
    (heavy_tailed(200, 1000), 1e-3, ["fourier"]),
    (rarely_positive(200, 30), 1e-3, ["one positive score"]),
]


@pytest.mark.parametrize(("sums", "width", "names"), CASES)
def test_each_rule_answers_what_it_is_for(
    asked: list[str], sums: ScoreSums, width: float, names: list[str]
) -> None:
    lower, upper, *_ = bound_stop_loss(sums, width)
    assert asked == names
    assert 0 <= lower[0] <= upper[0] < np.inf


def test_rules_have_names_of_their_own_and_reasons() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.reason for rule in RULES)
