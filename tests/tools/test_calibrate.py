"""Calibration: the value meets the target, one step beyond does not; both against the oracles."""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
from shuffledp import (
    Accountant,
    Gaussian,
    NotCertified,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    Shuffle,
    ShuffledBatches,
    UnaryEncoding,
    calibrate,
)
from shuffledp.accountant import repeated
from shuffledp.bounds import Bounds
from shuffledp.bounds.certified_rounds import CertifiedRounds
from shuffledp.calibration import Decimals, Multiples, ParameterRange, boundary
from shuffledp.errors import Infeasible, InvalidParameter, OutOfRange
from shuffledp.mechanisms import GaussianNoise, PoissonSampled
from shuffledp.randomizers import Randomizer

targets = st.floats(-2, 0.5).map(lambda x: 10.0**x)
deltas = st.floats(-12, -2).map(lambda x: 10.0**x)
some_users = st.floats(1, 7).map(lambda x: round(10**x))
FEW = settings(max_examples=2)


def epsilon(round_: Shuffle, rounds: int, delta: float, rtol: float = 1e-3) -> float:
    accountant = Accountant()
    accountant.compose(round_, rounds=rounds)
    return accountant.get_epsilon(delta, rtol=rtol)


def users_of(randomizer: Randomizer, **options: Any) -> Callable[[int], Shuffle]:
    return lambda users: Shuffle(randomizer, users, **options)


def sampled_of(randomizer: Randomizer, users: int, **options: Any) -> Callable[[float], Shuffle]:
    return lambda rate: Shuffle(randomizer, users, sample_rate=rate, **options)


@FEW
@given(st.integers(2, 30), st.sampled_from([0.1, 0.5, 1.0, 2.5]), deltas)
def test_eps0_against_exact_profile(users: int, target: float, delta: float) -> None:
    found = calibrate("eps0", lambda e: Shuffle(PureLDP(e), users), epsilon=target, delta=delta)
    exact = partial(oracles.clone_profile, users, analysis="stronger-clones")
    assert exact(found.value, target) <= delta
    assert found.beyond is not None
    # one step beyond the certified upper value exceeds the target; its bracket is 0.1 % wide
    assert exact(found.beyond, target * (1 - 1.1e-3)) > delta
    assert 0 < found.beyond / found.value - 1 < 1.001e-3


@FEW
@given(st.integers(2, 40), st.floats(0.5, 6), st.floats(0.05, 0.8))
def test_users_against_exact_profile(users: int, eps0: float, share: float) -> None:
    """Ask for the delta that so many users have: that many are found, up to the bracket."""
    target = share * eps0
    exact = partial(oracles.clone_profile, analysis="stronger-clones")
    delta = float(exact(users, eps0, target))
    assume(delta > 1e-200)
    found = calibrate("users", partial(Shuffle, PureLDP(eps0)), epsilon=target, delta=delta)
    assert isinstance(found.value, int)
    assert exact(found.value, eps0, target) <= delta * (1 + 1e-15)
    assert found.value in (users, users + 1)
    if found.beyond is not None:
        assert found.beyond == found.value - 1
        assert exact(int(found.beyond), eps0, target * (1 - 1.1e-3)) > delta


@FEW
@given(some_users, st.integers(1, 50), targets, deltas)
def test_round_trip_of_eps0(users: int, rounds: int, target: float, delta: float) -> None:
    found = calibrate(
        "eps0", lambda e: Shuffle(PureLDP(e), users), epsilon=target, delta=delta, rounds=rounds
    )
    assert epsilon(Shuffle(PureLDP(found.value), users), rounds, delta) == found.achieved.upper
    assert found.achieved.upper <= target
    assert found.room == target - found.achieved.upper
    assert found.beyond is not None
    assert epsilon(Shuffle(PureLDP(found.beyond), users), rounds, delta) > target


@FEW
@given(st.floats(0.2, 8), some_users, targets, deltas)
def test_round_trip_of_rounds(eps0: float, users: int, target: float, delta: float) -> None:
    survey = Shuffle(PureLDP(eps0), users)
    try:
        found = calibrate("rounds", survey, epsilon=target, delta=delta)
    except Infeasible as error:
        assert error.nearest == 1
        assert survey.get_epsilon(delta) == error.bounds.upper > target
        return
    assert epsilon(survey, int(found.value), delta) <= target
    if found.value < 10**7:
        assert found.beyond == found.value + 1
        assert epsilon(survey, int(found.beyond), delta) > target


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (partial(RandomizedResponse, 4), "gamma"),
        (partial(RandomizedResponse, 16), "eps0"),
        (partial(UnaryEncoding, 8), "eps0"),
    ],
)
def test_round_trip_of_named_randomizers(family: Any, name: str) -> None:
    def make(value: float) -> Shuffle:
        return Shuffle(family(**{name: value}), 5_000)

    found = calibrate(name, make, epsilon=0.5, delta=1e-6, rounds=3, rtol=0.01)
    assert found.beyond is not None
    assert epsilon(make(found.value), 3, 1e-6, 0.01) <= 0.5
    assert epsilon(make(found.beyond), 3, 1e-6, 0.01) > 0.5


def test_round_trip_of_sigma() -> None:
    found = calibrate("sigma", lambda s: Shuffle(Gaussian(s), 3), epsilon=0.8, delta=0.05, rtol=0.1)
    assert Shuffle(Gaussian(found.value), 3).get_epsilon(0.05, rtol=0.1) <= 0.8
    assert found.beyond is not None and found.beyond < found.value
    assert Shuffle(Gaussian(found.beyond), 3).get_epsilon(0.05, rtol=0.1) > 0.8


def test_round_trip_of_sampling() -> None:
    found = calibrate(
        "sample_rate", sampled_of(PureLDP(3.0), 200), epsilon=0.5, delta=1e-6, rounds=2
    )
    sampled = round(200 * found.value)
    assert (found.value, found.beyond) == (sampled / 200, (sampled + 1) / 200)
    for rate, fits in ((found.value, True), (found.beyond, False)):
        assert rate is not None
        round_ = Shuffle(PureLDP(3.0), 200, sample_rate=rate)
        assert (epsilon(round_, 2, 1e-6) <= 0.5) is fits


def test_sampling_against_exact_profile() -> None:
    """Of a sample: f(alpha) = q f_m(1 + (alpha - 1)/q), m = q n users in the shuffle."""
    users, eps0, target, delta = 40, 2.0, 0.5, 1e-3
    options: dict[str, Any] = {"analysis": "stronger-clones"}

    def exact(rate: float, epsilon: float) -> float:
        inner = math.log1p(math.expm1(epsilon) / rate)
        if inner >= eps0:
            return 0.0
        sampled = round(users * rate)
        return rate * float(oracles.clone_profile(sampled, eps0, inner, "stronger-clones"))

    found = calibrate(
        "sample_rate", sampled_of(PureLDP(eps0), users, **options), epsilon=target, delta=delta
    )
    assert exact(found.value, target) <= delta
    assert found.beyond is not None
    assert exact(found.beyond, target * (1 - 1.1e-3)) > delta


def test_users_come_in_steps_of_whole_samples() -> None:
    found = calibrate("users", users_of(PureLDP(3.0), sample_rate=0.25), epsilon=0.3, delta=1e-6)
    assert found.beyond is not None
    assert int(found.value) % 4 == 0 and found.value - found.beyond == 4
    found = calibrate("users", users_of(PureLDP(3.0), sample_rate=1 / 3), epsilon=1.0, delta=1e-4)
    assert int(found.value) % 3 == 0
    for rate in (1e-7, 3.14159265e-6, 0.1234567, 1e-9):  # few populations have whole samples
        found = calibrate(
            "users", users_of(PureLDP(3.0), sample_rate=rate), epsilon=1e-3, delta=1e-12
        )
        senders = rate * found.value
        assert round(senders) >= 1 and abs(senders - round(senders)) <= 1e-9 * senders


def test_poisson_rates_have_four_digits() -> None:
    make = sampled_of(PureLDP(2.0), 20, sampling="poisson")
    found = calibrate("sample_rate", make, epsilon=0.5, delta=1e-3, rtol=0.1)
    assert found.beyond is not None and 0 < found.beyond / found.value - 1 < 1.001e-3
    for rate, fits in ((found.value, True), (found.beyond, False)):
        round_ = Shuffle(PureLDP(2.0), 20, sample_rate=rate, sampling="poisson")
        assert (epsilon(round_, 1, 1e-3, 0.1) <= 0.5) is fits


def test_pure_dp_against_closed_form() -> None:
    found = calibrate("eps0", lambda e: Shuffle(PureLDP(e), 100), epsilon=2.0, delta=0, rounds=4)
    assert (found.value, found.beyond, found.room) == (0.5, 0.5001, 0.0)


def test_more_than_is_needed_stops_at_the_limit() -> None:
    found = calibrate("users", users_of(PureLDP(0.5)), epsilon=0.5, delta=1e-6)
    assert (found.value, found.beyond) == (1, None)
    found = calibrate("rounds", Shuffle(PureLDP(1e-6), 10), epsilon=20, delta=0)
    assert (found.value, found.beyond) == (10**7, None)


def test_infeasible_names_the_nearest() -> None:
    with pytest.raises(Infeasible, match=r"no number of rounds .* rounds=1, .* epsilon 0\.4109"):
        calibrate("rounds", Shuffle(PureLDP(4.0), 10_000), epsilon=0.1, delta=1e-6)
    with pytest.raises(Infeasible, match="infinite epsilon; allow a larger delta"):
        calibrate("sigma", lambda s: Shuffle(Gaussian(s), 10), epsilon=1, delta=0)
    with pytest.raises(Infeasible) as caught:
        calibrate("users", users_of(PureLDP(4.0)), epsilon=1e-7, delta=1e-6)
    assert caught.value.nearest == 10**12


def test_bad_targets() -> None:
    make = users_of(PureLDP(4.0))
    for wrong in (0, -1, math.nan, math.inf, "1", True):
        with pytest.raises(InvalidParameter, match="epsilon"):
            calibrate("users", make, epsilon=wrong, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="delta"):
        calibrate("users", make, epsilon=1, delta=2)


@pytest.mark.parametrize(
    ("find", "make", "words"),
    [
        ("eps0", Shuffle(PureLDP(4.0), 100), "does not make rounds; give a function from eps0"),
        ("eps0", PureLDP, "make_round.* not a round; return a Shuffle"),
        ("eps0", lambda: None, "makes no round of eps0 alone"),
        ("rounds", PureLDP(4.0), "not a round"),
        ("rounds", lambda k: k, "not a round"),
        ("k", lambda k: Shuffle(RandomizedResponse(k, eps0=1.0), 10), "the known ones are .*users"),
        ("epochs", RandomAllocation(1.0, 300), "'epochs' cannot be .* did you mean rounds"),
        ("noise-multiplier", None, "did you mean noise_multiplier"),
        ("epsilon", lambda e: None, "cannot be looked for"),
        (
            "users",
            lambda n: Shuffle(PureLDP(1.0), n, sample_rate=1 / 3, colluding=-1),
            "colluding=-1 is negative",
        ),
    ],
)
def test_bad_questions(find: str, make: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        calibrate(find, make, epsilon=1, delta=1e-6)


def test_rounds_are_looked_for_or_given() -> None:
    with pytest.raises(InvalidParameter, match="rounds is what is looked for"):
        calibrate("rounds", Shuffle(PureLDP(4.0), 100), epsilon=1, delta=1e-6, rounds=2)


def test_grid_of_four_digits() -> None:
    grid = Decimals(1e-6, 200.0)
    assert grid.value(grid.first) == 1e-6 and grid.value(grid.last) == 200.0
    values = [grid.value(i) for i in range(grid.index(9.99), grid.index(10.1) + 1)]
    assert values == sorted(values) and {9.999, 10.0, 10.01} < set(values)
    assert all(grid.index(value) == grid.index(9.99) + i for i, value in enumerate(values))


@given(
    st.integers(1, 500), st.integers(1, 500), st.floats(0, 0.3), st.sampled_from([1, -1]),
    st.integers(0, 1000),
)  # fmt: skip
def test_boundary_of_a_jittery_function(
    edge: int, start: int, jitter: float, sign: int, seed: int
) -> None:
    """What certified values are: monotone up to their bracket. Both sides must be evaluated."""
    random = Random(seed)
    noise = [1 + jitter * random.uniform(-1, 1) for _ in range(501)]

    def evaluate(value: float, rtol: float) -> Bounds[float]:
        upper = (value / edge) ** sign * noise[int(value)]
        return Bounds(0.9 * upper, upper)

    values = ParameterRange("x", Multiples(500), start, sign == 1)
    found = boundary(values, evaluate, 1.0, 1e-3)
    for index, good in ((found.good, True), (found.bad, False)):
        if index is not None:
            assert (found.bounds[index].upper <= 1.0) == good
            assert found.bounds[index] == evaluate(index, 1e-3)
    if found.good is not None and found.bad is not None:
        assert found.bad - found.good == sign
    elif found.good is None:
        assert found.bad == (1 if sign == 1 else 500)
    else:
        assert found.good == (500 if sign == 1 else 1)


def test_a_wide_bracket_counts_by_its_upper_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was certified decides, as narrow as asked for or not."""
    survey = Shuffle(PureLDP(4.0), 10_000)
    ask = CertifiedRounds.epsilon_bounds

    def wide(
        self: CertifiedRounds, delta: float, rtol: float, together: None = None
    ) -> Bounds[float]:
        lower, upper = ask(self, delta, rtol)
        raise NotCertified("too wide", Bounds(0.5 * lower, 2 * upper))

    monkeypatch.setattr(CertifiedRounds, "epsilon_bounds", wide)
    found = calibrate("rounds", survey, epsilon=1.0, delta=1e-6)
    assert found.achieved.upper <= 1.0
    assert found.beyond_achieved is not None and found.beyond_achieved.upper > 1.0
    assert found.value == 1


def test_remaining_rounds_and_fits() -> None:
    accountant, survey = Accountant(), Shuffle(PureLDP(4.0), 10_000)
    assert accountant.fits(0.0, 1e-6)
    accountant.compose(Shuffle(PureLDP(2.0), 5_000), rounds=2)
    asked: dict[str, Any] = {"epsilon": 0.7, "delta": 1e-6, "rtol": 0.01}
    more = accountant.remaining_rounds(survey, **asked)
    assert more >= 1 and accountant.total_rounds == 2
    accountant.compose(survey, rounds=more)
    assert accountant.fits(**asked)
    assert accountant.remaining_rounds(survey, **asked) == 0
    accountant.compose(survey)
    assert not accountant.fits(**asked)
    assert accountant.remaining_rounds(survey, **asked) == 0


def test_a_function_that_ignores_its_argument_is_refused() -> None:
    """Whether all values meet the target or none does: the value has nothing to do with it."""
    survey = Shuffle(PureLDP(4.0), users=10_000)  # epsilon 0.41 at delta 1e-6
    functions: list[Callable[[float], Shuffle]] = [
        lambda eps0: survey,
        lambda eps0: Shuffle(PureLDP(4.0), users=10_000),
    ]
    for make, targets in zip(functions, ((0.1, 1.0), (0.1,)), strict=True):
        for target in targets:
            with pytest.raises(
                InvalidParameter, match=r"makes the same round, .* eps0=200; let it"
            ):
                calibrate("eps0", make, epsilon=target, delta=1e-6, rtol=0.1)
    with pytest.raises(InvalidParameter, match="of users=1 and users=1000000000000; let it use"):
        calibrate("users", lambda users: survey, epsilon=1.0, delta=1e-6, rtol=0.1)


def test_an_accountant_meets_the_target_together() -> None:
    """What was composed before is held fixed; as `fits` finds it, on both sides."""
    earlier = Shuffle(PureLDP(2.0), users=10_000)

    def make(eps0: float) -> Accountant:
        others = Shuffle(RandomizedResponse(4, eps0=eps0), users=10_000)
        known = Accountant().compose(earlier, rounds=8)
        return known.compose(others).compose(Shuffle(PureLDP(eps0), users=10_000))

    asked: dict[str, Any] = {"epsilon": 0.5, "delta": 1e-6, "rtol": 0.01}
    found = calibrate("eps0", make, **asked)
    assert found.beyond is not None
    assert make(found.value).fits(**asked) and not make(found.beyond).fits(**asked)
    alone = calibrate("eps0", lambda e: Shuffle(PureLDP(e), 10_000), **asked)
    assert found.value < alone.value
    one = Accountant().compose(earlier, rounds=3)
    assert epsilon(earlier, 6, 1e-6) == repeated(one, 2).get_epsilon(1e-6)


def test_an_accountant_of_sampled_rounds_and_of_noise() -> None:
    def sampled(rate: float) -> Accountant:
        survey = Shuffle(PureLDP(4.0), 1000, sample_rate=rate)
        return Accountant().compose(Shuffle(PureLDP(1.0), 1000)).compose(survey)

    found = calibrate("sample_rate", sampled, epsilon=0.7, delta=1e-6, rtol=0.01)
    assert round(1000 * found.value) == pytest.approx(1000 * found.value)  # a whole sample

    def trained(sigma: float) -> Accountant:
        step = PoissonSampled(GaussianNoise(sigma, neighbours="remove"), rate=0.01)
        earlier = GaussianNoise(8.0, neighbours="remove")
        return Accountant().compose(earlier).compose(step, rounds=50)

    found = calibrate("sigma", trained, epsilon=1.0, delta=1e-5, rtol=0.1)
    assert found.value < 1e3 and trained(found.value).fits(1.0, 1e-5, rtol=0.1)


def test_what_is_said_of_accountants_and_of_shuffled_batches() -> None:
    survey = Accountant().compose(Shuffle(PureLDP(1.0), users=100))
    with pytest.raises(InvalidParameter, match=r"\(\d\) has no rounds; compose one"):
        calibrate("eps0", lambda eps0: Accountant(), epsilon=1, delta=1e-6)
    with pytest.raises(InvalidParameter, match=r"makes the same round, .* let it use"):
        calibrate("eps0", lambda eps0: survey.copy(), epsilon=9, delta=1e-6)
    with pytest.raises(InvalidParameter, match=r"ask an Accountant for calibrate_rounds\(round\)"):
        calibrate("rounds", survey, epsilon=1, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="several groups of users or rounds"):
        calibrate("colluding", lambda c: survey, epsilon=1, delta=1e-6)
    with pytest.raises(OutOfRange, match=r"GaussianNoise\(noise_multiplier, ") as caught:
        calibrate("noise_multiplier", lambda s: ShuffledBatches(s, 10), epsilon=1, delta=1e-6)
    assert "1.0" not in str(caught.value)  # no value that nobody gave


def test_narrow_brackets_are_asked_for_only_near_the_target() -> None:
    """Wider ones tell where that is, also if the exact value is at an end of them."""
    narrow = []

    def evaluate(value: float, rtol: float) -> Bounds[float]:
        if rtol < 1e-4:
            narrow.append(value)
        exact = (value / 2.5) ** 3
        return Bounds(exact * (1 - 0.9 * rtol), exact)

    values = ParameterRange("x", Decimals(0.01, 1000.0), 1.0, grows=True)
    found = boundary(values, evaluate, 1.0, 1e-5)
    assert found.good is not None and values.grid.value(found.good) == 2.5
    assert {2.5, 2.501} <= set(narrow) and all(2.49 < value < 2.51 for value in narrow)


def test_the_last_supported_value_is_an_answer() -> None:
    """eps0 of a single user is its epsilon, also the largest; delta 0.9 needs no epsilon at all."""
    local = calibrate("eps0", lambda e: Shuffle(PureLDP(e), 1), epsilon=300, delta=0, rtol=0.1)
    assert (local.value, local.beyond) == (200.0, None)
    rate = calibrate(
        "sample_rate",
        lambda rate: Shuffle(PureLDP(0.1), 10, sample_rate=rate),
        epsilon=1e-3,
        delta=0.9,
        rtol=0.1,
    )
    assert (rate.value, rate.beyond, rate.achieved.upper) == (1.0, None, 0.0)
    # the round is the same from some value on, but not everywhere
    clipped = calibrate(
        "eps0", lambda e: Shuffle(PureLDP(min(e, 0.1)), 10), epsilon=1.0, delta=0.1, rtol=0.1
    )
    assert clipped.beyond is None


@pytest.mark.parametrize("find", ["p", "q"])
def test_a_round_that_cannot_be_made_is_not_taken_for_bits_that_say_nothing(find: str) -> None:
    """Bits beyond p = q cost nothing; a round without a meaning has no epsilon at all."""

    def make(value: float) -> Shuffle:
        p, q = (value, 0.25) if find == "p" else (0.5, value)
        return Shuffle(UnaryEncoding(4, p=p, q=q), 1000, neighbours="remove")

    with pytest.raises(InvalidParameter, match="neighbours='remove' is not defined"):
        calibrate(find, make, epsilon=1.0, delta=1e-6)


def test_colluding_against_the_exact_profile() -> None:
    """How many of 30 users may collude: all numbers are tried, by the oracle of the honest ones."""
    exact = partial(oracles.clone_profile, analysis="stronger-clones")
    users, delta = 30, 1e-3
    for target in (0.6, 0.7, 0.9):
        found = calibrate(
            "colluding",
            lambda count: Shuffle(PureLDP(1.0), users, colluding=count),
            epsilon=target,
            delta=delta,
        )
        meets = [c for c in range(users) if exact(users - c, 1.0, target) <= delta]
        assert found.value == max(meets) and found.beyond == found.value + 1
        assert found.parameter == "colluding" and found.room >= 0


def test_the_ends_of_colluding() -> None:
    def survey(count: Any, users: int = 30, dropouts: int = 4) -> Shuffle:
        return Shuffle(PureLDP(1.0), users, colluding=count, dropouts=dropouts)

    everybody = calibrate("colluding", survey, epsilon=1.0, delta=1e-6)
    assert everybody.value == 25 and everybody.beyond is None
    with pytest.raises(Infeasible, match=r"colluding=0 has epsilon 0\.\d+; allow that"):
        calibrate("colluding", survey, epsilon=0.1, delta=1e-6)
    none = survey(0).get_epsilon(1e-6)
    assert calibrate("colluding", survey, epsilon=none, delta=1e-6).value == 0
    with pytest.raises(InvalidParameter, match="is not a round of users of whom 0 collude"):
        calibrate("colluding", lambda _: survey(3), epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameter, match="make_round ignores colluding"):
        calibrate("colluding", lambda _: survey(0), epsilon=1.0, delta=1e-6)


def test_a_function_may_return_an_accountant() -> None:
    """Two different questions under one target: the sum was evaluated, and one step beyond."""

    def both(eps0: float) -> Accountant:
        first, second = (RandomizedResponse(k, eps0=eps0) for k in (2, 8))
        return Accountant().compose(Shuffle(first, 10_000)).compose(Shuffle(second, 10_000))

    found = calibrate("eps0", both, epsilon=0.5, delta=1e-6)
    assert both(found.value).fits(0.5, 1e-6)
    assert found.beyond is not None
    assert both(found.beyond).epsilon_bounds(1e-6).lower > 0.5 * 0.999
    twice = calibrate("eps0", both, epsilon=0.5, delta=1e-6, rounds=2, rtol=0.1)
    again = both(twice.value)
    for round_, count in both(twice.value).rounds:
        again.compose(round_, count)
    assert again.fits(0.5, 1e-6, rtol=0.1) and twice.value < found.value
    fixed = both(1.0)
    with pytest.raises(InvalidParameter, match="makes the same round"):
        calibrate("eps0", lambda eps0: fixed, epsilon=0.5, delta=1e-6, rtol=0.1)
