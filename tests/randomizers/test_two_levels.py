"""Randomizers with two levels, against cells, quadrature and enumeration from their definitions."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import oracles
from covering import covering
from shuffledp import RandomizedResponse, Shuffle
from shuffledp.clients.caps import best_threshold, cap_moment, cap_overlap, cap_share
from shuffledp.laws.class_law import ClassLaw, ClassLaws
from shuffledp.randomizers import OneBit, Piecewise, PrivUnit, SquareWave, TwoLevelRandomizer


def windows(outputs: int, width: int, ratio: Fraction) -> list[list[Fraction]]:
    """Every place of a window on a line of outputs, `ratio` times likelier inside."""
    rows = []
    for start in range(outputs - width + 1):
        weights = [ratio if start <= y < start + width else Fraction(1) for y in range(outputs)]
        rows.append([weight / sum(weights) for weight in weights])
    return rows


class Windows(TwoLevelRandomizer):
    """A window of `width` of `outputs` places: small enough to enumerate."""

    def __init__(self, outputs: int, width: int, eps0: float) -> None:
        self.outputs, self.width, self.eps0 = outputs, width, eps0

    @property
    def share(self) -> float:
        return self.width / self.outputs

    @property
    def third_alone(self) -> float:
        return min(self.share, 1 - 2 * self.share)


@pytest.mark.parametrize(
    ("window", "users"), covering([(4, 1), (4, 2), (5, 1), (5, 2), (3, 1)], [1, 2, 3])
)
def test_windows_against_enumeration(window: tuple[int, int], users: int) -> None:
    """The blanket of all values, every pair of values; and what real datasets attain."""
    outputs, width = window
    rows = windows(outputs, width, Fraction(4))
    blanket = [min(column) for column in zip(*rows, strict=True)]
    survey = Shuffle(Windows(outputs, width, math.log(4)), users)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(5, 2)):
        pairs = list(itertools.permutations(rows, 2))
        exact = max(
            oracles.hockey_stick(oracles.blanket_pair(a, b, blanket, users), alpha)
            for a, b in pairs
        )
        ends = oracles.hockey_stick(oracles.blanket_pair(rows[0], rows[-1], blanket, users), alpha)
        assert ends == exact  # the smallest overlap is the worst
        bounds = survey.delta_bounds(math.log(alpha))
        assert bounds.lower <= float(exact) * (1 + 1e-12)
        assert float(exact) * (1 - 1e-12) <= bounds.upper <= float(exact) * 1.01 + 1e-290
        truth = float(oracles.true_profile(rows, users, alpha))
        attained = survey.attained_delta(math.log(alpha))
        assert attained <= truth * (1 + 1e-12) <= bounds.upper * (1 + 1e-11)
        same = max(
            oracles.hockey_stick(
                oracles.as_pair(
                    oracles.shuffled_mechanism(rows, [0, *[x] * (users - 1)]),
                    oracles.shuffled_mechanism(rows, [len(rows) - 1, *[x] * (users - 1)]),
                ),
                alpha,
            )
            for x in {0, (outputs - width) // 2, len(rows) - 1}
            if 2 * x in (0, outputs - width, 2 * (outputs - width))
        )
        assert attained >= 0.99 * float(same)


def test_a_larger_share_and_a_larger_ratio_are_worse() -> None:
    """What lets clients round both downwards, here enumerated."""
    alpha, users = Fraction(3, 2), 3
    found = {}
    for outputs, ratio in itertools.product((4, 5, 6), (Fraction(2), Fraction(3), Fraction(5))):
        rows = windows(outputs, 1, ratio)
        blanket = [min(column) for column in zip(*rows, strict=True)]
        pair = oracles.blanket_pair(rows[0], rows[-1], blanket, users)
        found[outputs, ratio] = oracles.hockey_stick(pair, alpha)
    for (outputs, ratio), value in found.items():
        for (more, larger), other in found.items():
            if more <= outputs and larger >= ratio:
                assert value <= other


def law_of(randomizer: TwoLevelRandomizer) -> ClassLaw:
    law = randomizer.law("blanket")
    assert isinstance(law, ClassLaws)
    (one,) = law.laws
    return one


def scores(law: ClassLaw) -> dict[tuple[float, float], float]:
    found: dict[tuple[float, float], float] = {}
    for u, v, w in zip(law.u, law.v, law.blanket, strict=True):
        key = (float(f"{u / w:.6g}"), float(f"{v / w:.6g}"))
        found[key] = found.get(key, 0.0) + w
    return found


@pytest.mark.parametrize(("kind", "eps0"), covering([Piecewise, SquareWave], [0.1, 1.0, 3.0, 6.0]))
def test_intervals_against_their_densities_on_many_cells(
    kind: type[Piecewise] | type[SquareWave], eps0: float
) -> None:
    """The densities as the papers write them, at the middles of a million cells."""
    ratio = math.exp(eps0)
    if kind is Piecewise:  # Wang et al. 2019, Algorithm 2, of t = 2x - 1
        root = math.exp(eps0 / 2)
        end = (root + 1) / (root - 1)
        high = (ratio - root) / (2 * root + 2)
        left = {x: (end + 1) / 2 * (2 * x - 1) - (end - 1) / 2 for x in (0.0, 0.5, 1.0)}
        right = {x: start + end - 1 for x, start in left.items()}
        ends = -end, end
    else:  # Li et al. 2020, equations 5 and 6
        b = (eps0 * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - eps0))
        high = ratio / (2 * b * ratio + 1)
        left, right = ({x: x + s * b for x in (0.0, 0.5, 1.0)} for s in (-1, 1))
        ends = -b, 1 + b
    cells = 1_000_000
    width = (ends[1] - ends[0]) / cells
    t = ends[0] + width * (np.arange(cells) + 0.5)
    rows = [np.where((left[x] < t) & (t < right[x]), high, high / ratio) for x in left]
    blanket = np.min(rows, axis=0)
    assert blanket.max() == pytest.approx(high / ratio)  # no output is in all windows
    explicit: dict[tuple[float, float], float] = {}
    for u, v in ((1, ratio), (ratio, 1), (1, 1), (ratio, ratio)):
        inside = np.isclose(rows[0] / blanket, u) & np.isclose(rows[2] / blanket, v)
        if inside.any():
            key = (float(f"{u:.6g}"), float(f"{v:.6g}"))
            explicit[key] = float(blanket[inside].sum() * width)
    assert scores(law_of(kind(eps0))) == pytest.approx(explicit, rel=1e-4, abs=1e-5)
    attained = kind(eps0).attained_law()
    assert isinstance(attained, ClassLaws)
    third = attained.laws[-1]
    alone = (rows[1] > rows[0]) & (rows[1] > rows[2])
    mass = [w for u, v, w in zip(third.u, third.v, third.blanket, strict=True) if w > max(u, v)]
    assert math.fsum(mass) == pytest.approx(float(rows[1][alone].sum() * width), abs=1e-4)


@pytest.mark.parametrize(
    ("dimension", "eps0"), covering([2, 3, 4, 7, 50], [0.01, 0.5, 2.0, 5.0, 12.0])
)
def test_caps_against_many_digits(dimension: int, eps0: float) -> None:
    threshold = best_threshold(dimension, eps0)
    with mpmath.workdps(40):
        t, a = mpmath.mpf(threshold), mpmath.mpf(dimension - 1) / 2
        share = mpmath.betainc(a, 0.5, 0, 1 - t * t, regularized=True) / 2
        whole = mpmath.beta(mpmath.mpf(1) / 2, a)
        moment = (1 - t * t) ** a / (dimension - 1) / whole
        assert cap_share(dimension, threshold) == pytest.approx(float(share), rel=1e-11)
        assert cap_moment(dimension, threshold) == pytest.approx(float(moment), rel=1e-11)
        if dimension == 2:
            return
        first, last = mpmath.acos(t), mpmath.asin(t)

    def inner(x: mpmath.mpf) -> mpmath.mpf:
        height = max(1 - (t / mpmath.sin(x)) ** 2, 0)
        small = mpmath.betainc(a - 0.5, 0.5, 0, height, regularized=True) / 2
        return mpmath.sin(x) ** (dimension - 2) * small

    with mpmath.workdps(20):
        overlap = mpmath.quad(inner, mpmath.linspace(last, first, 5)) / whole
        expected = float(overlap) if first > last else 0.0
        assert cap_overlap(dimension, threshold) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("dimension", "eps0"), [(10**4, 1e-3), (10**4, 9.0), (10**6, 2.0)])
def test_caps_of_many_dimensions(dimension: int, eps0: float) -> None:
    """The density (1 - t^2)^((d-3)/2), integrated in many digits."""
    threshold = best_threshold(dimension, eps0)
    with mpmath.workdps(30):
        power, end = mpmath.mpf(dimension - 3) / 2, 15 / mpmath.sqrt(dimension)

        def density(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(power * mpmath.log1p(-t * t))

        half = mpmath.quad(density, mpmath.linspace(0, end, 20))
        cap = mpmath.quad(density, mpmath.linspace(threshold, end, 20))
        assert abs(cap_share(dimension, threshold) * 2 * half / cap - 1) < 3e-10


@pytest.mark.parametrize(("dimension", "eps0"), covering([2, 3, 5, 40], [0.5, 3.0, 5.0]))
def test_the_cap_is_the_most_accurate_one(dimension: int, eps0: float) -> None:
    """The mean length of a message, (p/c - (1-p)/(1-c)) moment, p of the cap of share c."""

    def length(threshold: float) -> float:
        c, ratio = cap_share(dimension, threshold), math.exp(eps0)
        p = ratio * c / (ratio * c + 1 - c)
        return (p / c - (1 - p) / (1 - c)) * cap_moment(dimension, threshold)

    best = PrivUnit(dimension, eps0).threshold
    for other in np.linspace(0.0, 0.99, 100):
        assert length(best) >= length(other) * (1 - 1e-12)


@pytest.mark.parametrize("eps0", [0.5, 2.0, 4.0])
def test_priv_unit_against_quadrature_on_the_circle_and_the_sphere(eps0: float) -> None:
    """Cells of equal size, from the definition: the scores of opposite vectors."""
    ratio = math.exp(eps0)
    for dimension in (2, 3):
        randomizer = PrivUnit(dimension, eps0)
        points = (np.arange(1_000_000) + 0.5) / 1_000_000
        # the first coordinate of uniform points: on the circle a cosine, on the sphere uniform
        first = np.cos(2 * math.pi * points) if dimension == 2 else 2 * points - 1
        threshold = randomizer.threshold
        rows = [np.where(s * first >= threshold, ratio, 1.0) for s in (1, -1)]
        rows = [row / row.sum() for row in rows]
        blanket = np.minimum(*rows)
        explicit = {}
        for u, v in ((1, 1), (1, ratio), (ratio, 1)):
            inside = np.isclose(rows[0] / blanket, u) & np.isclose(rows[1] / blanket, v)
            key = (float(f"{u:.6g}"), float(f"{v:.6g}"))
            explicit[key] = float(blanket[inside].sum())
        assert scores(law_of(randomizer)) == pytest.approx(explicit, rel=1e-4, abs=1e-5)


def test_caps_of_two_dimensions_are_arcs() -> None:
    """Two users on a circle of whole degrees, with all their values, enumerated as windows."""
    randomizer = PrivUnit(2, math.log(4))
    # an arc of 4 of 12 cells is a share of 1/3; the randomizer has about 0.37
    assert 0.3 < randomizer.share < 0.45
    rows = []
    for start in range(12):
        weights = [Fraction(4) if (y - start) % 12 < 4 else Fraction(1) for y in range(12)]
        rows.append([weight / sum(weights) for weight in weights])
    arcs = Windows(12, 4, math.log(4))
    for alpha in (Fraction(1), Fraction(2)):
        truth = float(oracles.true_profile(rows, 2, alpha))
        survey = Shuffle(arcs, 2)
        assert survey.attained_delta(math.log(alpha)) <= truth * (1 + 1e-12)
        assert truth <= survey.get_delta(math.log(alpha)) * (1 + 1e-12)


@pytest.mark.parametrize("users", [2, 3])
def test_one_bit_against_every_dataset_of_three_numbers(users: int) -> None:
    """Numbers 0, 1/2 and 1, and the bits are rounded before they are randomized."""
    high, low = Fraction(4, 5), Fraction(1, 5)
    numbers = (Fraction(0), Fraction(1, 2), Fraction(1))
    rows = [[1 - (low + (high - low) * x), low + (high - low) * x] for x in numbers]
    survey = Shuffle(OneBit(math.log(4)), users)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(3)):
        truth = float(oracles.true_profile(rows, users, alpha))
        assert survey.get_delta(math.log(alpha)) == pytest.approx(truth, rel=1e-6)
    assert OneBit(1.0).analyses["best"].name == "exact"
    twin = Shuffle(RandomizedResponse(2, eps0=2.0), 1000)
    assert Shuffle(OneBit(2.0), 1000).epsilon_bounds(1e-6) == twin.epsilon_bounds(1e-6)


def test_b_of_the_square_wave_near_the_change_of_formula() -> None:
    for eps0 in (1e-6, 1e-3, 0.5, 1.0, 1.0 + 1e-9, 2.0, 13.0):
        with mpmath.workdps(50):
            e = mpmath.mpf(eps0)
            grown = mpmath.exp(e)
            b = (e * grown - grown + 1) / (2 * grown * (grown - 1 - e))
        assert SquareWave(eps0).half_width == pytest.approx(float(b), rel=1e-13)
        assert SquareWave(eps0).share < 0.5 and Piecewise(eps0).share < 0.5
    assert SquareWave(200.0).share == Piecewise(200.0).share == 2.0**-16
    assert PrivUnit(10, 200.0).share == pytest.approx(2.0**-8)
