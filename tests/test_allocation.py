"""What users call for training: its questions, its words, its limits, plans, records and shell."""

from __future__ import annotations

import copy
import json
import math
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import pytest

from shell import ok, run
from shuffledp import (
    Accountant,
    Plan,
    PureLDP,
    RandomAllocation,
    Shuffle,
    ShuffledBatches,
    calibrate,
    compare,
    risk,
    sweep,
)
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.mechanisms import ApproximateDP, GivenPLD, PoissonSampled
from shuffledp.published.random_allocation import log_moments
from shuffledp.records import described, record, restored

EPOCH = RandomAllocation(1.0, 100)
LAPLACE = LaplaceNoise(2.0, neighbours="remove")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"steps": 1.5}, "steps=1.5 is not whole"),
        ({"steps": 10, "selected": 11}, "selected=11 is above steps=10"),
        ({"noise_multiplier": 0.0}, "noise_multiplier=0.0 is outside"),
        ({"noise_multiplier": -1.0}, "noise_multiplier=-1.0 is outside"),
        ({"noise_multiplier": math.nan}, "noise_multiplier=nan"),
        ({"noise_multiplier": "1"}, "noise_multiplier='1'"),
        ({"noise_multiplier": None}, "neither noise_multiplier nor mechanism is given"),
        ({"mechanism": LAPLACE}, "both given"),
        ({"kept": True}, "kept=True needs epochs"),
        ({"kept": 1, "epochs": 3}, "kept=1 is no truth value"),
        ({"epochs": 3}, "epochs=3 goes with kept=True"),
        ({"completed": 101}, "completed=101 is above steps=100"),
        ({"completed": 0}, "completed=0 is below 1"),
        ({"completed": 5, "selected": 2}, "completed=5 is not known together with selected=2"),
        (
            {"completed": 5, "epochs": 3, "kept": True},
            "is not known together with kept=True",
        ),
        ({"neighbours": "replace"}, "neighbours='replace' is not supported"),
        ({"steps": 0}, "steps is missing or 0; give the number of steps of an epoch"),
    ],
)
def test_bad_input_is_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises((InvalidParameter, OutOfRange), match=sentence) as caught:
        RandomAllocation(**{"noise_multiplier": 1.0, "steps": 100, **wrong})
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_step_is_a_central_mechanism_for_remove_one() -> None:
    with pytest.raises(InvalidParameter, match="is not a central mechanism"):
        RandomAllocation(steps=3, mechanism=Shuffle(PureLDP(1.0), 10))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="for replace-one neighbours; make it"):
        RandomAllocation(steps=3, mechanism=LaplaceNoise(2.0))
    with pytest.raises(OutOfRange, match="kept=True is known for Gaussian noise"):
        RandomAllocation(steps=3, mechanism=LAPLACE, kept=True, epochs=2)
    with pytest.raises(InvalidParameter, match="and a Poisson sample for remove-one"):
        PoissonSampled(GaussianNoise(1.0), 0.1)
    with pytest.raises(InvalidParameter, match="is not a central mechanism"):
        PoissonSampled(EPOCH, 0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="is sampled already"):
        PoissonSampled(PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.5), 0.5)
    for rate in (0.0, -0.1, 1.5, math.nan):
        with pytest.raises((InvalidParameter, OutOfRange), match="rate="):
            PoissonSampled(GaussianNoise(1.0, neighbours="remove"), rate)


def test_training_does_not_compose_with_replace_one() -> None:
    accountant = Accountant().compose(Shuffle(PureLDP(1.0), 10))
    with pytest.raises(
        InvalidParameter, match="the same neighbours: training supports remove-one only"
    ):
        accountant.compose(EPOCH)


def test_training_composes_with_other_remove_one_rounds() -> None:
    poisson = PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.01)
    both = Accountant().compose(EPOCH).compose(poisson, 100)
    alone = [EPOCH, Accountant().compose(poisson, 100)]
    found = both.epsilon_bounds(1e-6, rtol=0.1)
    assert max(each.get_epsilon(1e-6, rtol=0.1) for each in alone) < found.lower
    # basic composition at half of delta each
    assert found.upper < sum(each.get_epsilon(5e-7, rtol=0.1) for each in alone)


def test_shuffled_batches_have_no_guarantee() -> None:
    batches = ShuffledBatches(1.0, 100)
    for ask in (batches.get_epsilon, batches.get_delta, batches.epsilon_bounds):
        with pytest.raises(
            OutOfRange, match="no guarantee that makes use of the shuffling"
        ) as caught:
            ask(1e-6)
        assert "RandomAllocation" in str(caught.value)
        assert (
            "GaussianNoise(noise_multiplier, neighbours='remove') for each epoch is an upper"
            in str(caught.value)
        )
    one, two = batches.attained_epsilon(1e-6, rtol=0.02), Accountant().compose(batches, 2)
    assert EPOCH.get_epsilon(1e-6, rtol=0.02) < one < two.attained_epsilon(1e-6, rtol=0.1)
    for wrong in ({"noise_multiplier": 0.0}, {"steps": 0}):
        with pytest.raises((InvalidParameter, OutOfRange)):
            ShuffledBatches(**{"noise_multiplier": 1.0, "steps": 5, **wrong})  # type: ignore[arg-type]


def test_one_step_of_each_example_is_attained() -> None:
    for delta in (1e-3, 1e-8):
        bounds = EPOCH.epsilon_bounds(delta)
        attained = EPOCH.attained_epsilon(delta)
        assert bounds.lower * (1 - 1e-3) <= attained <= bounds.upper
    assert RandomAllocation(1.0, 10, selected=3).attained_epsilon(1e-6) == 0
    assert (
        RandomAllocation(
            steps=9, mechanism=ApproximateDP(1.0, neighbours="remove")
        ).attained_epsilon(1e-3)
        == 0
    )


ROUNDS = [
    EPOCH,
    RandomAllocation(1.5, 1000, selected=7),
    RandomAllocation(2.0, 50, epochs=9, kept=True),
    RandomAllocation(0.8, 50, completed=20),
    RandomAllocation(steps=20, mechanism=LAPLACE),
    RandomAllocation(
        steps=5, mechanism=GivenPLD([0.5, -0.5], [0.6, 0.4], symmetric=True, neighbours="remove")
    ),
    PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.01),
    PoissonSampled(ApproximateDP(1.0, 1e-6, neighbours="remove"), 0.5),
]


@pytest.mark.parametrize("round_", ROUNDS, ids=repr)
def test_rounds_are_values_that_can_be_kept(round_: Any) -> None:
    assert restored(json.loads(json.dumps(record(round_)))) == round_
    assert pickle.loads(pickle.dumps(round_)) == round_ == copy.deepcopy(round_)
    assert hash(copy.copy(round_)) == hash(round_)
    said = described(round_)
    assert said["neighbours"] == "remove"
    assert json.dumps(said)
    if "GivenPLD" not in repr(round_):
        names = {**globals()}
        assert eval(repr(round_), names) == round_


def test_a_statement_says_whether_allocations_are_drawn_afresh() -> None:
    assert "one step of every epoch, drawn at random afresh" in EPOCH.participants
    kept = RandomAllocation(2.0, 50, epochs=9, kept=True).participants
    assert "drawn at random once for all epochs" in kept and "afresh" not in kept
    assert "7 steps of every epoch" in RandomAllocation(1.5, 1000, selected=7).participants


def test_an_account_with_training_is_saved_and_loaded(tmp_path: Path) -> None:
    account = Accountant()
    for round_ in ROUNDS:
        account.compose(round_, 2)
    account.save(tmp_path / "account.json")
    assert Accountant.load(tmp_path / "account.json").rounds == account.rounds


PLAN = """
[target]
epsilon = 3.0
delta = 1e-6

[[rounds]]
name = "pre-training"
view = "allocation"
noise_multiplier = 1.0
steps = 100

[[rounds]]
view = "allocation"
mechanism = "laplace"
scale = 5.0
steps = 10

[[rounds]]
name = "Poisson batches"
mechanism = "gaussian"
sigma = 1.0
sample_rate = 0.01
rounds = 100

[[rounds]]
name = "kept"
view = "allocation"
noise_multiplier = 4
steps = 100
kept_epochs = 2
"""


def test_a_plan_of_training(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    plan = Plan.read(path)
    poisson = PoissonSampled(GaussianNoise(1.0, neighbours="remove"), 0.01)
    assert [planned.round for planned in plan.rounds] == [
        EPOCH,
        RandomAllocation(steps=10, mechanism=LaplaceNoise(5.0, neighbours="remove")),
        poisson,
        RandomAllocation(4.0, 100, kept=True, epochs=2),
    ]
    path.write_text(PLAN.partition('[[rounds]]\nname = "Poisson')[0])  # which is composed sooner
    assert "pre-training" in ok("account", str(path), "--rtol", "0.1")
    for old, new, sentence in (
        ("steps = 10\n", "", "lacks the key .steps."),
        ("scale = 5.0", "scale = 5.0\nnoise_multiplier = 1", "both given"),
        ("sample_rate = 0.01", 'sample_rate = 0.01\nsampling = "fixed"', "sampling='fixed'"),
        ('mechanism = "laplace"', 'mechanism = "poisson-sampled"', "mechanism='poisson-sampled'"),
    ):
        path.write_text(PLAN.replace(old, new, 1))
        with pytest.raises(InvalidParameter, match=sentence):
            Plan.read(path)


def test_the_shell_answers() -> None:
    asked = ("--view", "allocation", "--sigma", "1", "--steps", "100", "--rounds", "3")
    said = ok("epsilon", *asked, "--delta", "1e-6", "--rtol", "0.1")
    exact = Accountant().compose(EPOCH, 3).epsilon_bounds(1e-6, rtol=0.1)
    found = float(said.partition("epsilon = ")[2].partition(" and")[0])
    assert exact.lower <= found <= 1.011 * exact.upper
    assert "3 epochs of 100 steps" in said
    assert "afresh in every epoch" in " ".join(said.split())
    once = asked[:6]  # one round is answered sooner
    report = json.loads(ok("epsilon", *once, "--delta", "1e-6", "--rtol", "0.1", "--json"))
    assert report["view"] == "allocation"
    assert report["parameters"]["noise_multiplier"] == 1
    assert report["relation"] == "remove-one"
    delta = json.loads(ok("delta", *once, "--epsilon", "1", "--rtol", "0.1", "--json"))
    assert delta["lower"][0] <= EPOCH.get_delta(1.0, rtol=0.1)
    said = ok("risk", *once, "--rtol", "0.1", "--order", "2")
    assert "advantage" in said and "no finite bound" not in said
    rough = ("--delta", "1e-6", "--rtol", "0.1", "--jobs", "1")
    rows = ok("sweep", *asked[:4], "--steps", "10,100", *rough)
    assert len(rows.splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--steps", "10"), "--view allocation needs --noise-multiplier"),
        (("--sigma", "1"), "--view allocation needs --steps"),
        (("--sigma", "1", "--steps", "0"), "steps is missing or 0"),
        (("--sigma", "nan", "--steps", "5"), "nan"),
        (("--sigma", "1", "--steps", "5", "--users", "9"), "--users does not go with"),
        (("--sigma", "1", "--noise-multiplier", "1", "--steps", "5"), "are the same here"),
        (("--sigma", "1", "--steps", "5", "--kept-epochs", "1"), "kept=True needs epochs"),
        (("--sigma", "1", "--steps", "5", "--kept-epochs", "2", "--completed", "2"), "not known"),
        (
            ("--sigma", "1", "--steps", "5", "--neighbours", "replace"),
            "is not supported for random allocation",
        ),
        (("--sigma", "1", "--steps", "5", "--randomizer", "rr"), "--randomizer does not go with"),
    ],
)
def test_the_shell_refuses(options: tuple[str, ...], sentence: str) -> None:
    result = run("epsilon", "--view", "allocation", *options, "--delta", "1e-6")
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_noise_is_calibrated() -> None:
    found = calibrate(
        "noise_multiplier",
        lambda noise_multiplier: RandomAllocation(noise_multiplier, 10),
        epsilon=1.0,
        delta=1e-6,
        rtol=0.05,
    )
    below = RandomAllocation(found.value, 10)
    assert below.epsilon_bounds(1e-6).lower <= 1.0
    beyond = RandomAllocation(found.value * 0.9, 10)
    assert beyond.epsilon_bounds(1e-6).lower > 1.0
    said = ok(
        *("calibrate", "--find", "noise-multiplier", "--view", "allocation", "--steps", "10"),
        *("--epsilon", "1", "--delta", "1e-6", "--rtol", "0.05"),
    )
    assert f"noise_multiplier = {found.value}" in said


def test_tools_take_training() -> None:
    assert risk(EPOCH, rtol=0.1, orders=[2]).advantage.upper < 0.5
    steps = {"steps": [10, 100]}
    table = sweep(steps, view="allocation", noise_multiplier=2.0, delta=1e-6, jobs=1, rtol=0.1)
    assert table.relation == "remove-one"
    few, many = (row["epsilon_upper"] for row in table)
    assert few > many


def test_moments_of_random_allocation() -> None:
    """E[(mean ratio)^a], against all ways to choose a ratio for each of a factors."""
    sigma, steps = 0.8, 3
    found = log_moments(sigma, steps)
    for order in (2, 3, 4, 5):
        total = 0.0
        for places in product(range(steps), repeat=order):
            counts = [places.count(i) for i in range(steps)]
            total += math.exp(sum(k * k - k for k in counts) / (2 * sigma**2))
        assert math.isclose(math.exp(found[order - 2]), total / steps**order, rel_tol=1e-9)


@pytest.mark.parametrize("epoch", [EPOCH, RandomAllocation(2.0, 1000, selected=5)], ids=repr)
def test_other_bounds_are_not_below_what_is_attained(epoch: RandomAllocation) -> None:
    """Those that are for random allocation are above our lower bound for it."""
    compared = compare(epoch, 1, 1e-6)
    assert [row.name for row in compared.rows if not row.reason] == [
        "Renyi DP of random allocation",
        "no amplification",
    ]
    for row in compared.rows:
        assert row.epsilon is not None
        assert row.reason or row.epsilon >= compared.ours.lower
    poisson = next(row for row in compared.rows if row.reason)
    assert "another way to draw batches" in poisson.reason


def test_no_other_bound_is_for_other_steps() -> None:
    laplace = compare(RandomAllocation(steps=5, mechanism=LAPLACE), 1, 1e-6)
    assert all(row.epsilon is None for row in laplace.rows)


@pytest.mark.parametrize(
    ("loss", "rate"), [(30.0, 1 - 1e-12), (3e-5, 0.5), (14.0, 0.999), (0.7, 1e-9), (1e-6, 0.9)]
)
def test_the_largest_loss_of_a_missing_user_is_not_rounded_down(loss: float, rate: float) -> None:
    """-log(1 - rate + rate e^-loss), with doubles as they are."""
    pair = GivenPLD(
        [-loss, math.log1p(-0.1 * math.expm1(-loss) / 0.9)],
        [0.1 * math.exp(-loss), 0.9 - 0.1 * math.expm1(-loss)],
        neighbours="remove",
    )
    found = PoissonSampled(pair, rate)
    backward = found.profile.reverse
    assert backward is not None
    with mpmath.workdps(60):
        exact = -mpmath.log(1 - mpmath.mpf(rate) * (1 - mpmath.exp(-mpmath.mpf(loss))))
        assert exact <= backward.max_loss <= exact * (1 + mpmath.mpf(2) ** -40)
    steps, skipped = 10**6, 1
    stopped = RandomAllocation(steps=steps + skipped, mechanism=pair, completed=steps)
    allocated = stopped.parts[0][0].reverse
    assert allocated is not None
    with mpmath.workdps(60):
        mean = (skipped + steps * mpmath.exp(-mpmath.mpf(loss))) / (steps + skipped)
        assert -mpmath.log(mean) <= allocated.max_loss


def test_next_to_nothing_is_lost() -> None:
    tiny = PoissonSampled(GaussianNoise(1e4, neighbours="remove"), 1e-9)
    assert Accountant().compose(RandomAllocation(steps=3, mechanism=tiny), 2).get_epsilon(1e-6) == 0
    nothing = GivenPLD([0.0], [1.0], neighbours="remove")
    assert nothing.epsilon_bounds(0.0) == (0.0, 0.0)
    for round_ in (PoissonSampled(nothing, 0.5), RandomAllocation(steps=4, mechanism=nothing)):
        assert round_.get_delta(0.0) == 0
        assert round_.get_epsilon(0.0) == 0


def test_infinite_losses_without_finite_ones_compose() -> None:
    """All of the value is lost with probability 0.1 in each of three rounds, or in half of them."""
    all_or_nothing = ApproximateDP(0.0, 0.1, neighbours="remove")
    for round_, lost in (
        (PoissonSampled(all_or_nothing, 0.5), 0.05),
        (RandomAllocation(steps=4, mechanism=all_or_nothing), 0.1),
    ):
        lower, upper = Accountant().compose(round_, 3).delta_bounds(0.0)
        exact = 1 - (1 - lost) ** 3
        assert lower <= exact * (1 + 1e-9)
        assert exact * (1 - 1e-9) <= upper <= 1.001 * lower
