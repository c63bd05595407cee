"""Published bounds: what they refuse, how they are listed, how they move with their arguments."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest

from shuffledp import (
    Accountant,
    FiniteRandomizer,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    compare,
)
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.published import (
    BOUNDS,
    PublishedBound,
    balle2019,
    clone_rdp,
    erlingsson2019,
    feldman2021,
    girgis2021,
    koskela2023,
)
from shuffledp.published.composition_theorems import epsilon_of_rdp
from shuffledp.randomizers import ApproximateLDP, HadamardResponse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: erlingsson2019.epsilon(0.51, 1000, 1e-3), r"eps0=0.51 is above 1/2"),
        (lambda: erlingsson2019.epsilon(0.5, 999, 1e-3), r"users=999 is below 1000"),
        (lambda: erlingsson2019.epsilon(0.5, 1000, 1e-2), r"delta=0.01 is not below 1/100"),
        (lambda: erlingsson2019.epsilon(0.5, 1000, 0.0), r"delta=0.0 is outside \(0, 1\)"),
        (lambda: balle2019.closed_form(4, 0.25, 1000, 1e-6), r"epsilon=1.8\d*, above 1"),
        (lambda: balle2019.closed_form(4, 0.25, 1, 1e-6), r"users=1 leaves nobody"),
        (lambda: feldman2021.closed_form(5.0, 10_000, 1e-6), r"eps0=5 is above log.* 3\.76"),
        (lambda: feldman2021.numerical(1.0, 10**12, 1e-6, step=1), r"step=1 needs"),
        (lambda: feldman2021.approximate(1.0, 1e-6, 1000, 1e-6), r"pay 0.00237, which is not"),
        (lambda: girgis2021.epsilon(1.0, 100, 1.0, 1, 1e-6), r"sample_rate=1 means no sampling"),
        (lambda: koskela2023.weak(4, 0.25, 10_001, 1e-6), r"users=10001 is above 10000"),
        (lambda: koskela2023.weak_delta(2, 0.5, 1, 0.1), r"users=1 is outside 2"),
        (lambda: koskela2023.strong(4, 0.25, 50, 1e-6), r"delta=1e-06 is not above 0.042"),
    ],
)
def test_out_of_range(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: erlingsson2019.epsilon(math.nan, 1000, 1e-3),
        lambda: erlingsson2019.epsilon(0.5, 1000.5, 1e-3),  # type: ignore[arg-type]
        lambda: balle2019.closed_form(1, 0.25, 1000, 1e-6),
        lambda: balle2019.closed_form(4, 1.0, 1000, 1e-6),
        lambda: balle2019.hoeffding(balle2019.generic(1.0), 0, 1e-6),
        lambda: balle2019.generic(-1.0),
        lambda: feldman2021.numerical(1.0, 100, 1e-6, step=0),
        lambda: girgis2021.epsilon(1.0, 100, 0.123, 1, 1e-6),
        lambda: girgis2021.epsilon(1.0, 100, 0.0, 1, 1e-6),
        lambda: girgis2021.rdp(1.0, 100, 0.5, 1),
        lambda: clone_rdp.rdp(1.0, 100, 1.0),
        lambda: clone_rdp.epsilon(1.0, 100, 1, 1e-6, analysis="blanket"),
        lambda: epsilon_of_rdp(1.0, 0.1, 1e-6),
        lambda: BOUNDS[0].epsilon(PureLDP, 1000, 1.0, 1, 1e-3),
        lambda: BOUNDS[0].epsilon(PureLDP(0.5), 1000, 1.0, 0, 1e-3),
        lambda: BOUNDS[0].epsilon(PureLDP(0.5), 1000, 1.5, 1, 1e-3),
        lambda: BOUNDS[0].epsilon(PureLDP(0.5), 1000, 1.0, 1, math.nan),
    ],
)
def test_meaningless_arguments(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidParameter):
        call()


def test_the_list() -> None:
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS) == 14
    assert all(bound.source and bound.applies_to for bound in BOUNDS)
    assert [bound.name for bound in BOUNDS if not bound.proven] == [
        "Koskela et al. 2023, A_s with independent counts (not a bound)"
    ]


def applied(
    randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
) -> dict[str, float]:
    """The values of all bounds that apply; a refusal must come with a sentence."""
    values = {}
    for bound in BOUNDS:
        try:
            values[bound.name] = bound.epsilon(randomizer, users, sample_rate, rounds, delta)
        except OutOfRange as error:
            assert str(error).endswith(".")
    assert all(0 <= value < math.inf for value in values.values())
    return values


def test_which_bounds_apply() -> None:
    plain = {
        "Balle et al. 2019, Hoeffding",
        "Balle et al. 2019, Bennett",
        "Feldman et al. 2021, numerical",
        "Feldman et al. 2021, Renyi DP",
        "Feldman et al. 2023, Renyi DP",
        "Koskela et al. 2023, clones",
    }
    response = {"Koskela et al. 2023, A_w with joint counts", BOUNDS[-1].name}
    assert applied(HadamardResponse(8, 2.0), 100, 1.0, 1, 1e-6).keys() == plain
    assert applied(RandomizedResponse(3, gamma=0.5), 200, 1.0, 1, 1e-6).keys() == plain | response
    assert applied(PureLDP(0.5), 1000, 1.0, 1, 1e-6).keys() == plain | {
        "Erlingsson et al. 2019",
        "Feldman et al. 2021, closed form",
    }
    sampled = {name for name in plain if "Renyi" not in name and "Koskela" not in name}
    sampled |= {"Girgis et al. 2021", "Feldman et al. 2023, amplified by sampling"}
    assert applied(PureLDP(2.0), 1000, 0.1, 3, 1e-6).keys() == sampled
    closed = _named("Balle et al. 2019, closed form")
    assert 0 < closed.epsilon(RandomizedResponse(2, gamma=0.5), 1000, 1.0, 1, 1e-3) < 1


def test_no_eps0_no_bound() -> None:
    @dataclasses.dataclass(frozen=True)
    class Gaussian:
        sigma: float
        name: str = "gaussian"
        analyses: tuple[str, ...] = ()

    assert applied(FiniteRandomizer([[1.0, 0.0], [0.5, 0.5]]), 2000, 1.0, 1, 1e-3) == {}
    assert applied(Gaussian(1.0), 2000, 1.0, 1, 1e-3) == {}


def test_laplace_has_its_own_blanket() -> None:
    own = applied(Laplace(1.0), 200, 1.0, 1, 1e-6)
    generic = applied(PureLDP(1.0), 200, 1.0, 1, 1e-6)
    for name in ("Balle et al. 2019, Hoeffding", "Balle et al. 2019, Bennett"):
        assert own[name] < generic[name]
    with pytest.raises(OutOfRange, match="discrete"):
        _named("Girgis").epsilon(Laplace(1.0), 1000, 0.5, 1, 1e-6)


def _named(start: str) -> PublishedBound:
    return next(bound for bound in BOUNDS if bound.name.startswith(start))


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_monotone(bound: PublishedBound) -> None:
    """More users, a larger delta, fewer rounds: never a larger epsilon."""
    rate = 0.25 if "subsampled" in bound.applies_to else 1.0
    leaks = "delta0" in bound.name
    randomizer = ApproximateLDP(0.5, 1e-12) if leaks else RandomizedResponse(2, eps0=0.5)

    fewer = any(part in bound.name for part in ("numerical", "Koskela", "amplified"))
    some = 200 if fewer else 1000  # closed forms are for many users

    def epsilon(users: int = some, rounds: int = 1, delta: float = 1e-3) -> float:
        return bound.epsilon(randomizer, users, rate, rounds, delta)

    slack = 1 + 1e-5  # of the roots and orders
    base = epsilon()
    assert 0 < epsilon(users=2 * some) < base < epsilon(delta=1e-5)
    assert base < epsilon(rounds=2) <= epsilon(rounds=20) * slack


def test_clones_are_composed_without_loss() -> None:
    """As an accountant composes them, and said apart from what composition theorems give."""
    round_ = Shuffle(PureLDP(0.4), 1000, "clones")
    bound = next(bound for bound in BOUNDS if bound.name == "Koskela et al. 2023, clones")
    value = bound.epsilon(PureLDP(0.4), 1000, 1.0, 2, 1e-6)
    assert value == Accountant().compose(round_, 2).get_epsilon(1e-6)
    rows = {row.name: row for row in compare(Shuffle(PureLDP(0.4), 1000), 2, 1e-6).rows}
    assert rows["Koskela et al. 2023, clones"].composition == "exact numerical"
    assert "theorem" in str(rows["Feldman et al. 2021, numerical"].composition)
    once = str(compare(Shuffle(PureLDP(0.4), 1000), 1, 1e-6))
    assert "exact numerical" not in once and "Feldman, McMillan, Talwar 2023" in once
