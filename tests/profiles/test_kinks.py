"""Where profiles of few users bend: against exact fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from oracles import envelopes
from shuffledp.composition.composed_profile import ComposedProfile
from shuffledp.laws.binary_law import BinaryLaw, ValueOrder
from shuffledp.laws.class_law import ClassLaw
from shuffledp.profiles.binary_profile import BinaryProfile
from shuffledp.profiles.class_profile import ClassProfile

F = Fraction
BITS = [(F(3, 4), F(1, 4)), (F(7, 8), F(19, 64)), (F(5, 16), F(1, 64))]


@pytest.mark.parametrize("users", [1, 2, 5, 8])
@pytest.mark.parametrize(("p", "q"), BITS)
@pytest.mark.parametrize("order", list(ValueOrder))
def test_binary_messages(order: ValueOrder, p: Fraction, q: Fraction, users: int) -> None:
    law = BinaryLaw(float(p), float(1 - p), float(q), float(1 - q))
    ends = (p, q) if order is ValueOrder.FORWARD else (1 - q, 1 - p)
    found = BinaryProfile(law, users, (order,)).kinks
    assert found is not None
    for alpha, bend in envelopes.bends(envelopes.events(users, *ends)):
        near = np.abs(found - math.log(alpha)).min(initial=math.inf)
        assert near <= 1e-9 or bend <= F(1, 10**9)


def exact_profile(
    u: list[Fraction], v: list[Fraction], blanket: list[Fraction], users: int, alpha: Fraction
) -> Fraction:
    """E[(S)_+]/n, over all messages of all users; who is no part of the blanket scores 0."""
    scores = [(a - alpha * b) / w for a, b, w in zip(u, v, blanket, strict=True)]
    laws = [*zip(scores, blanket, strict=True), (F(0), 1 - sum(blanket))]
    total = F(0)
    for messages in product(laws, repeat=users):
        mass = math.prod((m for _, m in messages), start=F(1))
        total += mass * max(sum((score for score, _ in messages), F(0)), F(0))
    return total / users


@pytest.mark.parametrize("users", [1, 2, 3])
def test_two_messages_of_each_user(users: int) -> None:
    """The composition of two rounds, term by term, between the kinks and next to the largest
    loss."""
    u, v = [F(1, 8), F(3, 8), F(1, 2)], [F(3, 8), F(1, 8), F(1, 2)]
    blanket = [F(1, 8), F(1, 8), F(1, 2)]
    first, second, common = (tuple(map(float, side)) for side in (u, v, blanket))
    law = ClassLaw(first, second, common)
    profile = ClassProfile((law,), users)
    found = profile.kinks
    assert found is not None
    # the polygon with these corners is the profile itself
    corners = [F(1), *(F(math.exp(kink)).limit_denominator(1000) for kink in found if kink > 0)]
    corners = sorted(set(corners))
    values = [exact_profile(u, v, blanket, users, alpha) for alpha in corners]
    for i in range(len(corners) - 1):
        middle = exact_profile(u, v, blanket, users, (corners[i] + corners[i + 1]) / 2)
        assert middle == (values[i] + values[i + 1]) / 2
    # minus slopes of the cells: what they bend is Q's mass
    cells = zip(corners, corners[1:], values, values[1:], strict=False)
    slopes = [*((y - z) / (b - a) for a, b, y, z in cells), F(0)]
    bends = [(corners[i + 1], slopes[i] - slopes[i + 1]) for i in range(len(slopes) - 1)]
    losses: envelopes.Ratios = {F(1): F(0)}
    for alpha, bend in bends:
        losses[alpha] = losses.get(alpha, F(0)) + alpha * bend
        losses[1 / alpha] = losses.get(1 / alpha, F(0)) + bend
    losses[F(1)] += 1 - sum(losses.values())
    twice = envelopes.composed([losses, losses])
    shares = np.array([0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
    epsilons = shares * 2 * profile.max_loss
    samples = ComposedProfile(((profile, 2),)).sampler(40.0, 1e-5)(epsilons)
    for i, epsilon in enumerate(epsilons.tolist()):
        truth = envelopes.delta(twice, F(math.exp(epsilon)))
        before = envelopes.delta(twice, F(math.exp(epsilon * (1 - 1e-4))))
        assert samples.lower[i] <= truth * F(1 + 1e-9)
        assert truth <= F(samples.upper[i] * (1 + 1e-9))
        assert F(samples.upper[i]) <= max(before, truth * F(1.0001))
