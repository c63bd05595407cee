"""Turns and the nodes that matter, against many digits and sums over all nodes."""

import math
import random

import mpmath
import numpy as np
import pytest

from shuffledp import tuning
from shuffledp._support.numeric import UNIT
from shuffledp.engines.characteristic_function import (
    OmittedNodes,
    Quadrature,
    cosine_less_one_and_sine,
    relevant_blocks,
)
from shuffledp.engines.problem import ScoreSums
from shuffledp.engines.tilted_law import TiltedLaw


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e3, 1e9, 1e15])
def test_turns_have_the_digits_that_the_proof_needs(size: float) -> None:
    """11 units of sin x and 20 of cos x - 1, relatively (docs/theory/fourier.md, 4.);
    also next to multiples of pi, where the tangent of half of it is 0 or large."""
    draw = random.Random(f"turn {size}")
    angles = [draw.uniform(-size, size) for _ in range(300)]
    angles += [float(round(x / math.pi) * mpmath.pi) for x in angles]
    less, sine = cosine_less_one_and_sine(np.array(angles))
    with mpmath.workdps(60):
        for x, a, b in zip(angles, less.tolist(), sine.tolist(), strict=True):
            exact = -2 * mpmath.sin(mpmath.mpf(x) / 2) ** 2, mpmath.sin(mpmath.mpf(x))
            assert abs(a - exact[0]) <= 20 * UNIT * abs(exact[0]) + 1e-320
            assert abs(b - exact[1]) <= 11 * UNIT * abs(exact[1]) + 1e-320


@pytest.mark.parametrize("size", [1, 16, 100])
@pytest.mark.parametrize("users", [30, 3000, 10**6])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_are_left_out_are_charged(
    seed: int, users: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of the smallest blocks is."""
    monkeypatch.setattr(tuning, "BLOCK_NODES", size)
    draw = random.Random(f"blocks {seed} {users}")
    scores = np.array([[1.0, -draw.random(), draw.uniform(-1, 1)]])
    masses = np.array([[draw.uniform(0.01, 0.3) for _ in range(3)]])
    law = TiltedLaw.of(ScoreSums(scores, masses, np.abs(scores), np.zeros(1), users), 1e-6)
    spread = math.sqrt(users * float(np.sum(law.weights * scores**2)))
    nodes = Quadrature(np.array([0.3 / spread]), np.array([draw.choice([1500, 20000])]))
    omitted = OmittedNodes(law, nodes)
    blocks = relevant_blocks(law, nodes, np.array([20.0]), omitted)
    index = np.arange(int(nodes.number[0]) + 1)
    evaluated = np.isin(index // tuning.BLOCK_NODES * tuning.BLOCK_NODES, blocks.first)
    t = index * nodes.step[0]
    turn = np.sum(law.weights[0] * np.expm1(1j * t[:, None] * scores[0]), axis=1)
    value = np.abs(1 + turn) ** (users - 1) * np.exp(-((law.tau[0] * t) ** 2) / 2)
    value *= nodes.step[0] / math.pi * (1 / (law.theta[0] ** 2 + t**2) + law.tau[0] ** 2)
    assert value[~evaluated].sum() <= omitted.value[0]
    assert evaluated[0]
