"""Exchange with dp-accounting, against convolutions done without it and without the accountant."""

import bisect
import functools
import math
from typing import Any, cast

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as theirs

import oracles
from shuffledp import Accountant, PureLDP, RandomAllocation, Shuffle, interop
from shuffledp.central import GaussianNoise
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import Mechanism
from shuffledp.interop import (
    ShuffleAccountant,
    ShuffleDpEvent,
    from_dp_accounting,
    to_dp_accounting,
)
from shuffledp.mechanisms import ApproximateDP, PoissonSampled

USERS, EPS0 = 7, 1.5
REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
SURVEY = Shuffle(PureLDP(EPS0), users=USERS)
gaussian = functools.cache(theirs.from_gaussian_mechanism)


def gaussian_delta(sigma: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Closed form for sensitivity 1, at losses of both signs (Balle and Wang 2018)."""
    shift, scale = mpmath.mpf(1) / (2 * mpmath.mpf(sigma)), epsilon * sigma
    return mpmath.ncdf(shift - scale) - mpmath.exp(epsilon) * mpmath.ncdf(-shift - scale)


def survey_losses() -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """(loss, P-mass) of one round, from the exact probabilities of all its outcomes."""
    atoms = oracles.clone_pair_atoms(USERS, EPS0, "stronger-clones")
    return [(atom[0], atom[1]) for atom in atoms]


@functools.cache
def tails(pld: Any) -> tuple[list[float], list[mpmath.mpf], list[mpmath.mpf]]:
    """The losses of a dp-accounting PLD, and the P-mass and Q-mass from each on, inf included."""
    pmf = pld._pmf_remove.to_dense_pmf()
    losses = ((np.arange(pmf.size) + pmf._lower_loss) * pmf._discretization).tolist()
    p, q = [mpmath.mpf(pmf._infinity_mass)], [mpmath.mpf(0)]
    for loss, mass in zip(reversed(losses), reversed(pmf._probs.tolist()), strict=True):
        p.append(p[-1] + mpmath.mpf(mass))
        q.append(q[-1] + mpmath.mpf(mass) * mpmath.exp(-mpmath.mpf(loss)))
    return losses, p[::-1], q[::-1]


def given_delta(pld: Any, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Profile of a symmetric dp-accounting PLD from its masses; mirrored for epsilon < 0."""
    if epsilon < 0:
        alpha = mpmath.exp(epsilon)
        return 1 - alpha + alpha * given_delta(pld, -epsilon)
    losses, p, q = tails(pld)
    first = bisect.bisect_right(losses, epsilon)
    return p[first] - mpmath.exp(epsilon) * q[first]


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.8, 0.0), (0.8, 1.5), (3.0, 0.4), (3.0, 1.5)])
def test_gaussian_with_a_round_against_convolution(sigma: float, epsilon: float) -> None:
    """delta of the product is the mean of the Gaussian's profile at epsilon minus the round's loss:
    the bracket holds what their masses give, and the upper value what the closed form gives."""
    pld = gaussian(sigma, value_discretization_interval=0.01)
    accountant = Accountant()
    accountant.compose(SURVEY)
    accountant.compose(from_dp_accounting(pld, relation=REPLACE_ONE))
    bounds = accountant.delta_bounds(epsilon)
    at = [(mpmath.mpf(epsilon) - loss, mass) for loss, mass in survey_losses()]
    convolved = mpmath.fsum(mass * given_delta(pld, e) for e, mass in at)
    closed = mpmath.fsum(mass * gaussian_delta(sigma, e) for e, mass in at)
    assert bounds.lower <= convolved <= bounds.upper
    assert closed <= bounds.upper <= closed * 1.002


def test_many_gaussians_with_many_rounds_against_integer_convolution() -> None:
    """Both on one lattice; masses as integers, convolved exactly."""
    pld = theirs.from_gaussian_mechanism(6.0, value_discretization_interval=0.05)
    given, one_user = from_dp_accounting(pld, relation=REPLACE_ONE), Shuffle(PureLDP(0.25), users=1)
    accountant = Accountant()
    accountant.compose(given, rounds=3)
    accountant.compose(one_user, rounds=4)
    unit = 10**40
    masses = np.asarray(given.masses)
    # the positive half and its mirror image; what is left of the mass is at 0
    step, gauss = 0.05, {0: 0}
    for loss, mass in zip(np.rint(np.asarray(given.losses) / step), masses, strict=True):
        if loss > 0:
            gauss[int(loss)] = int(mpmath.mpf(float(mass)) * unit)
            gauss[-int(loss)] = int(mpmath.mpf(float(mass)) * mpmath.exp(-step * loss) * unit)
    gauss[0] = int((1 - mpmath.mpf(given.infinite)) * unit) - sum(gauss.values())
    large = mpmath.exp(mpmath.mpf(0.25)) / (1 + mpmath.exp(mpmath.mpf(0.25)))
    response = {5: int(large * unit), -5: int((1 - large) * unit)}
    total = {0: 1}
    for part in [gauss] * 3 + [response] * 4:
        mixed: dict[int, int] = {}
        for i, a in total.items():
            for j, b in part.items():
                mixed[i + j] = mixed.get(i + j, 0) + a * b
        total = mixed
    infinite = 1 - (1 - mpmath.mpf(given.infinite)) ** 3
    for epsilon in (0.0, 0.31, 1.02):
        exact = infinite + mpmath.fsum(
            mpmath.mpf(mass) / mpmath.mpf(unit) ** 7 * -mpmath.expm1(epsilon - step * loss)
            for loss, mass in total.items()
            if step * loss > epsilon
        )
        bounds = accountant.delta_bounds(epsilon)
        assert bounds.lower <= exact * (1 + 1e-12)
        assert exact <= bounds.upper * (1 + 1e-12)
        assert bounds.upper <= 1.01 * exact


@pytest.mark.parametrize("rounds", [1, 1000])
def test_there_and_back(rounds: int) -> None:
    """Never below the certified lower value, and less than 1e-3 above it."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(4.0), users=10_000), rounds=rounds)
    sent = to_dp_accounting(accountant)
    back = from_dp_accounting(sent, relation=REPLACE_ONE)
    for delta in (1e-2, 1e-5, 1e-9, 1e-20):
        exact = accountant.epsilon_bounds(delta, rtol=1e-4)
        assert exact.lower <= back.get_epsilon(delta) <= 1.001 * exact.lower
        assert exact.lower <= sent.get_epsilon_for_delta(delta) * (1 + 1e-9)


@pytest.mark.parametrize("interval", [1e-2, 1e-3])
def test_a_round_on_a_given_interval_composes_there(interval: float) -> None:
    survey = Shuffle(PureLDP(2.0), users=1000)
    sent = to_dp_accounting(survey, interval=interval)
    gaussian = theirs.from_gaussian_mechanism(5.0, value_discretization_interval=interval)
    there = sent.self_compose(10).compose(gaussian).get_epsilon_for_delta(1e-6)
    accountant = Accountant()
    accountant.compose(survey, rounds=10)
    accountant.compose(from_dp_accounting(gaussian, relation=REPLACE_ONE))
    here = accountant.epsilon_bounds(1e-6, rtol=1e-4)
    assert here.lower * (1 - 1e-6) <= there <= here.upper * 1.003


def test_an_event_is_bounded_in_both_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever dp-accounting builds for an event, the larger of its two orders is composed."""
    for_add_or_remove = functools.partial(PLDAccountant, ADD_OR_REMOVE)
    monkeypatch.setattr(interop, "PLDAccountant", lambda _, interval: for_add_or_remove(interval))
    step = dp_accounting.PoissonSampledDpEvent(0.05, dp_accounting.GaussianDpEvent(1.0))
    accountant = ShuffleAccountant(1e-3).compose(step, 20)
    expected = for_add_or_remove(1e-3).compose(step, 20)
    for delta in (1e-3, 1e-6):
        least = expected.get_epsilon(delta)
        assert least <= accountant.get_epsilon(delta) <= 1.3 * least


def sampled_gaussian(relation: Any) -> Any:
    return theirs.from_gaussian_mechanism(
        1.0, sampling_prob=0.05, value_discretization_interval=1e-3, neighboring_relation=relation
    )


@pytest.mark.parametrize(
    "relation",
    [
        "add-or-remove",
        "replace_one",
        "",
        None,
        2,
        np.array(["replace-one"]),
        dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    ],
)
def test_a_pld_for_another_relation_is_refused(relation: Any) -> None:
    pld = gaussian(4.0, value_discretization_interval=1e-2)
    with pytest.raises(InvalidParameter, match=r"relation=.*REPLACE_ONE, or with twice the sens"):
        from_dp_accounting(pld, relation=relation)


def test_the_relation_matters() -> None:
    """Sensitivity 1 under add/remove is 2 under replace-one: an epsilon of half the truth."""
    pld = gaussian(4.0, value_discretization_interval=1e-2)
    taken = from_dp_accounting(pld, relation="replace-one").get_epsilon(1e-6)
    right = theirs.from_gaussian_mechanism(4.0, neighboring_relation=REPLACE_ONE)
    assert taken < 0.5 * from_dp_accounting(right, relation=REPLACE_ONE).get_epsilon(1e-6)


def test_the_relation_must_be_said() -> None:
    with pytest.raises(TypeError, match="relation"):
        from_dp_accounting(sampled_gaussian(REPLACE_ONE))  # type: ignore[call-arg]


def test_a_pld_whose_orders_differ_is_refused() -> None:
    """Replace-one neighbours are neighbours the other way round, too."""
    for wrong in (sampled_gaussian(ADD_OR_REMOVE), sampled_gaussian(ADD_OR_REMOVE).self_compose(9)):
        with pytest.raises(InvalidParameter, match="two orders of the PLD differ"):
            from_dp_accounting(wrong, relation="replace-one")
    right = sampled_gaussian(REPLACE_ONE)
    one = from_dp_accounting(right, relation="replace-one")
    # the same masses, once for each order: nothing is wrong with those
    twice = theirs.PrivacyLossDistribution(right._pmf_remove, right._pmf_remove)
    assert from_dp_accounting(twice, relation=REPLACE_ONE).get_delta(1.0) == one.get_delta(1.0)


def test_infinite_mass_is_carried_both_ways() -> None:
    sent = to_dp_accounting(ApproximateDP(1.0, 1e-4))
    assert sent.get_delta_for_epsilon(5.0) == pytest.approx(1e-4, rel=1e-12)
    assert from_dp_accounting(sent, relation=REPLACE_ONE).epsilon_bounds(0.9e-4) == (
        math.inf,
        math.inf,
    )
    cut = to_dp_accounting(SURVEY, truncation=1e-3)
    assert cut.get_delta_for_epsilon(EPS0) >= 0
    assert from_dp_accounting(cut, relation=REPLACE_ONE).get_delta(EPS0) >= SURVEY.get_delta(EPS0)
    assert cut.get_epsilon_for_delta(1e-2) >= SURVEY.epsilon_bounds(1e-2).lower


def test_losses_too_large_for_a_double_become_infinite() -> None:
    pld = theirs.from_gaussian_mechanism(0.03, value_discretization_interval=1.0)
    given = from_dp_accounting(pld, relation=REPLACE_ONE)
    assert given.infinite > 0.001
    assert given.get_epsilon(1e-6) == math.inf


def test_events_are_composed_like_the_mechanisms() -> None:
    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(ShuffleDpEvent(SURVEY), 3),
            dp_accounting.GaussianDpEvent(8.0),
            dp_accounting.NoOpDpEvent(),
        ]
    )
    accountant = ShuffleAccountant(1e-3)
    assert accountant.supports(event)
    accountant.compose(event, 2)
    expected = Accountant()
    expected.compose(SURVEY, rounds=6)
    gaussian = theirs.from_gaussian_mechanism(
        8.0,
        value_discretization_interval=1e-3,
        neighboring_relation=REPLACE_ONE,
    )
    expected.compose(from_dp_accounting(gaussian, relation=REPLACE_ONE), rounds=2)
    # the same number, on another lattice: above what is certified from below, and as narrow
    epsilon, delta = expected.epsilon_bounds(1e-6), expected.delta_bounds(1.0)
    assert epsilon.lower <= accountant.get_epsilon(1e-6) <= epsilon.upper + 1e-3 * epsilon.upper
    assert delta.lower <= accountant.get_delta(1.0) <= delta.upper + 5e-3 * delta.upper
    accountant.compose(dp_accounting.NonPrivateDpEvent())
    assert accountant.get_epsilon(1e-6) == math.inf
    assert accountant.get_delta(1e-6) == 1.0


def test_events_that_are_not_for_replace_one_are_refused() -> None:
    accountant = ShuffleAccountant()
    assert not accountant.supports(dp_accounting.LaplaceDpEvent(1.0))
    with pytest.raises(dp_accounting.UnsupportedEventError):
        accountant.compose(dp_accounting.LaplaceDpEvent(1.0))
    assert accountant.get_epsilon(1e-6) == 0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: to_dp_accounting(cast(Any, 3)), InvalidParameter, "neither a round"),
        (lambda: to_dp_accounting(Accountant()), InvalidParameter, "empty"),
        (lambda: to_dp_accounting(SURVEY, interval=-1.0), InvalidParameter, "interval=-1.0 is"),
        (lambda: to_dp_accounting(SURVEY, interval=501), InvalidParameter, r"outside \(0, 500\]"),
        (lambda: to_dp_accounting(SURVEY, truncation=1e-281), OutOfRange, "truncation=1e-281"),
        (lambda: ShuffleAccountant(math.nan), InvalidParameter, "interval=nan is not finite"),
        (lambda: ShuffleAccountant(0.0), InvalidParameter, "interval=0.0 is outside"),
        (lambda: ShuffleDpEvent(cast(Any, 3)), InvalidParameter, "mechanism=3 is not a mechanism"),
        (lambda: to_dp_accounting(SURVEY, interval=1e-9), OutOfRange, "larger interval"),
        (lambda: to_dp_accounting(SURVEY, truncation=2.0), InvalidParameter, "truncation=2.0"),
        (
            lambda: from_dp_accounting(3, relation=REPLACE_ONE),
            InvalidParameter,
            "not a dp-accounting",
        ),
        (
            lambda: from_dp_accounting(
                theirs.from_laplace_mechanism(1.0, pessimistic_estimate=False),
                relation=REPLACE_ONE,
            ),
            InvalidParameter,
            "optimistic",
        ),
    ],
)
def test_mistakes_are_named_in_one_sentence(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 0.01, 1000), (0.7, 0.2, 20)])
def test_poisson_batches_are_those_of_dp_accounting(sigma: float, rate: float, steps: int) -> None:
    """Its pessimistic and optimistic estimates of both orders enclose ours, up to rounding."""
    step = PoissonSampled(GaussianNoise(sigma, neighbours="remove"), rate)
    ours = Accountant().compose(step, steps).epsilon_bounds(1e-6)
    high, low = (
        gaussian(
            sigma,
            sampling_prob=rate,
            pessimistic_estimate=is_pessimistic,
            value_discretization_interval=1e-3,
            use_connect_dots=is_pessimistic,
        )
        .self_compose(steps)
        .get_epsilon_for_delta(1e-6)
        for is_pessimistic in (True, False)
    )
    assert low <= ours.upper
    assert ours.lower <= high
    assert ours.upper - ours.lower <= 1e-3 * ours.upper
    step_pld = gaussian(sigma, sampling_prob=rate, value_discretization_interval=1e-3)
    given = from_dp_accounting(step_pld, relation="remove-one")
    assert given.neighbours == "remove"
    imported = Accountant().compose(given, steps)
    assert ours.lower <= imported.get_epsilon(1e-6) <= high * 1.01
    # the larger order first, and then composed, is a worse bound
    assert imported.get_epsilon(1e-6) < 1.02 * ours.upper


@pytest.mark.parametrize(
    ("round_", "rounds"),
    [
        (RandomAllocation(0.7, 10), 1),
        (PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.1), 2),
    ],
)
def test_training_is_exported_in_both_orders(round_: Mechanism, rounds: int) -> None:
    """A profile, and a composition of what is composed soonest."""
    training = Accountant().compose(round_, rounds)
    exported = to_dp_accounting(training, truncation=1e-12)
    assert not exported._symmetric
    for delta in (1e-3, 1e-6):
        lower, upper = training.epsilon_bounds(delta)
        assert lower <= exported.get_epsilon_for_delta(delta) <= 1.01 * upper
    missing = exported._pmf_add.get_epsilon_for_delta(1e-6)
    assert missing < 0.9 * exported._pmf_remove.get_epsilon_for_delta(1e-6)


def test_help_says_which_neighbours_an_event_is_for() -> None:
    """As the refusal does: training is for remove-one, and has another way."""
    for kind in (ShuffleDpEvent, ShuffleAccountant):
        text = " ".join((kind.__doc__ or "").split())
        for words in ("for replace-one neighbours", "`Accountant`", "`to_dp_accounting`"):
            assert words in text


def test_an_epoch_of_training_is_composed_there_without_a_warning() -> None:
    """Its first masses are near 1e-316: dp-accounting divided by one of them."""
    epoch = RandomAllocation(1.0, steps=235)
    bounds = Accountant().compose(epoch, rounds=20).epsilon_bounds(1e-5, rtol=0.01)
    there = to_dp_accounting(epoch, interval=1e-4).self_compose(20).get_epsilon_for_delta(1e-5)
    assert bounds.lower <= there <= 1.001 * bounds.upper
