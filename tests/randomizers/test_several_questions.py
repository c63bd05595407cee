"""Several questions: bounds against every dataset, and clients against what they are said to do."""

import json
import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracles
from oracles import randomizers as written
from shell import ok, run
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    audit,
    simulate,
    tuning,
    verify,
)
from shuffledp.clients import Counts, Estimate, MeanEstimate
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.laws.class_law import ClassLaw, ClassLaws
from shuffledp.laws.combined_law import above_all, product_law
from shuffledp.profiles.class_profile import ClassProfile
from shuffledp.randomizers import (
    REGISTRY,
    Bundle,
    HadamardResponse,
    LocalHashing,
    MembershipRandomizer,
    OneBit,
    OneOf,
    PrivUnit,
    SubsetSelection,
)
from shuffledp.randomizers.questionnaire import Questionnaire

HALF = RandomizedResponse(2, gamma=0.5)
THIRD = RandomizedResponse(3, gamma=0.25)
UNEQUAL = FiniteRandomizer([[0.75, 0.25], [0.375, 0.625]])
LEAKY = FiniteRandomizer([[0.75, 0.25, 0.0], [0.25, 0.625, 0.125]])
REVEALS = FiniteRandomizer([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]])
ROWS: dict[Any, Any] = {
    HALF: written.randomized_response(2, Fraction(1, 2)),
    THIRD: written.randomized_response(3, Fraction(1, 4)),
    **{each: written.exact_rows(each.matrix) for each in (UNEQUAL, LEAKY, REVEALS)},
}
CASES = [
    *(((HALF, HALF), users) for users in (2, 4)),
    ((HALF, UNEQUAL), 3),
    *(((UNEQUAL, LEAKY), users) for users in (2, 3)),
    ((LEAKY, REVEALS), 2),
    ((THIRD, HALF), 3),
    ((HALF, HALF, HALF), 2),
    ((HALF, UNEQUAL, LEAKY), 2),
    ((UNEQUAL, UNEQUAL, UNEQUAL), 2),
]
ALPHAS = [Fraction(1), Fraction(5, 4), Fraction(2)]


def made(kind: str, questions: Any) -> tuple[Questionnaire, list[list[Fraction]]]:
    """The questionnaire, and its matrix from its definition."""
    rows = [ROWS[question] for question in questions]
    if kind == "bundle":
        return Bundle(*questions), written.bundled(*rows)
    weights = [1, 3, 2][: len(questions)]
    return OneOf(*questions, weights=weights), written.one_of(weights, *rows)


@pytest.mark.parametrize("kind", ["bundle", "one-of"])
@pytest.mark.parametrize(("questions", "users"), CASES)
def test_every_dataset(kind: str, questions: Any, users: int) -> None:
    randomizer, rows = made(kind, questions)
    survey = Shuffle(randomizer, users)
    for alpha in ALPHAS:
        truth = oracles.true_profile(rows, users, alpha)
        epsilon = math.log(alpha)
        above, below = (math.exp(epsilon + side * 1e-15) for side in (1, -1))
        assert Fraction(survey.get_delta(epsilon)) >= truth - Fraction(above - below)
        assert Fraction(survey.attained_delta(epsilon)) <= truth + Fraction(above - below)
    at_zero = oracles.true_profile(rows, users, Fraction(1))
    assert survey.attained_delta(0.0) >= 0.8 * float(at_zero)


def blanket_bound(rows: Any, users: int, alpha: Fraction) -> Fraction:
    """The largest over all ordered pairs of rows, with the smallest entries as the blanket."""
    blanket = [min(column) for column in zip(*rows, strict=True)]
    worst = Fraction(0)
    for u, v in permutations(rows, 2):
        pair = oracles.blanket_pair(u, v, blanket, users)
        worst = max(worst, oracles.hockey_stick(pair, alpha))
    return worst


@pytest.mark.parametrize("kind", ["bundle", "one-of"])
@pytest.mark.parametrize(
    "questions", [(HALF, HALF), (HALF, UNEQUAL), (UNEQUAL, LEAKY), (THIRD, HALF)]
)
def test_the_worst_way_to_differ_is_among_the_laws(kind: str, questions: Any) -> None:
    """The bracket holds the largest bound of all pairs of rows, no more and no less."""
    randomizer, rows = made(kind, questions)
    for users in (2, 3) if len(rows) == 4 else (2,):
        exact = float(blanket_bound(rows, users, Fraction(3, 2)))
        bounds = Shuffle(randomizer, users, "blanket").delta_bounds(math.log(1.5), rtol=1e-6)
        assert bounds.lower * (1 - 1e-12) <= exact <= bounds.upper * (1 + 1e-12)
        assert bounds.upper <= bounds.lower * (1 + 1e-5)


def test_equal_answers_may_be_worse_than_different_ones() -> None:
    """Unless the law of two answers is the same in both orders: then they never are."""
    first = [[0.662, 0.338], [0.023, 0.977]]
    second = [[0.145, 0.855], [0.252, 0.748], [0.525, 0.475]]
    rows = written.bundled(*map(written.exact_rows, (first, second)))
    alpha = written.exact_exp(1.379, 40)
    blanket = [min(column) for column in zip(*rows, strict=True)]
    found: dict[int, Fraction] = {}
    for i, j in permutations(range(6), 2):
        pair = oracles.blanket_pair(rows[i], rows[j], blanket, 2)
        differs = (i // 3 != j // 3) + (i % 3 != j % 3)
        worst = found.get(differs, Fraction(0))
        found[differs] = max(worst, oracles.hockey_stick(pair, alpha))
    assert found[1] > Fraction(1005, 1000) * found[2]
    bounds = Shuffle(Bundle(*map(FiniteRandomizer, (first, second))), 2).delta_bounds(1.379)
    assert bounds.lower * (1 - 1e-12) <= float(found[1]) <= bounds.upper * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_of_randomized_response_all_answers_that_differ_are_the_worst(k: int) -> None:
    rows = written.bundled(*[written.randomized_response(k, Fraction(1, 2))] * 2)
    blanket = [min(column) for column in zip(*rows, strict=True)]
    for alpha in (*ALPHAS, Fraction(7, 2)):
        one, two = (
            oracles.hockey_stick(oracles.blanket_pair(rows[0], rows[other], blanket, 2), alpha)
            for other in (1, k + 1)
        )
        assert one <= two


@pytest.mark.parametrize(
    ("several", "users", "more"),
    [
        (Bundle(HALF, THIRD), 1000, {}),
        (Bundle(HALF, THIRD), 10**7, {}),
        (Bundle(UNEQUAL, HadamardResponse(3, eps0=1.5)), 300, {}),
        (Bundle(UnaryEncoding(2, p=0.5, q=0.2), HALF), 40, {"sample_rate": 0.5}),
        (OneOf(SubsetSelection(4, 2, 2.0), UNEQUAL, weights=[3, 1]), 500, {}),
        (OneOf(HALF, THIRD), 60, {"sample_rate": 0.25, "sampling": "poisson"}),
    ],
)
def test_the_whole_matrix_has_the_same_bounds(several: Any, users: int, more: Any) -> None:
    """Its pairs of rows are all pairs of answers: another way to the same number."""
    rows = [[float(y) for y in row] for row in several.exact().make()]
    one, other = (
        Shuffle(each, users, "blanket", **more) for each in (several, FiniteRandomizer(rows))
    )
    for rounds in (1, 5) if users in (1000, 500) else (1,):
        few, many = (Accountant().compose(each, rounds) for each in (one, other))
        first, second = (each.epsilon_bounds(1e-5, rtol=1e-3) for each in (few, many))
        assert first.lower <= second.upper * (1 + 1e-9)
        assert second.lower <= first.upper * (1 + 1e-9)
        attained = few.attained_epsilon(1e-5, rtol=0.01), many.get_epsilon(1e-5, rtol=1e-3)
        assert attained[0] <= attained[1]


def test_published_figures() -> None:
    """Three binary questions with eps0 = 1, of 10,000 users, at delta = 1e-6."""
    answer = RandomizedResponse(2, eps0=1.0)
    bundled = Shuffle(Bundle(answer, answer, answer), 10_000).get_epsilon(1e-6)
    apart = Accountant().compose(Shuffle(answer, 10_000, "blanket"), 3).get_epsilon(1e-6)
    any_one = Shuffle(PureLDP(3.0), 10_000).get_epsilon(1e-6)
    found = [round(value, 3) for value in (bundled, apart, any_one)]
    assert found == [0.153, 0.078, 0.226]
    assert Shuffle(Bundle(answer, answer, answer), 10_000, "stronger-clones").get_epsilon(
        1e-6
    ) == pytest.approx(any_one, rel=1e-3)


@pytest.mark.parametrize("question", [HALF, THIRD, UNEQUAL, UnaryEncoding(4, eps0=1.0)])
def test_one_question_has_the_brackets_of_its_own(question: Any) -> None:
    alone = Shuffle(question, 200)
    for several in (Bundle(question), OneOf(question, weights=[7])):
        survey = Shuffle(several, 200)
        assert survey.epsilon_bounds(1e-4) == alone.epsilon_bounds(1e-4)
        assert survey.attained_delta(0.1) == alone.attained_delta(0.1)
        assert several.eps0 == question.eps0


def test_a_question_that_tells_nothing_changes_nothing() -> None:
    nothing = FiniteRandomizer([[0.25, 0.75], [0.25, 0.75]])
    alone = Shuffle(UNEQUAL, 50, "blanket")
    both = Shuffle(Bundle(UNEQUAL, nothing), 50)
    for one, other in ((both, alone), (alone, both)):
        assert one.epsilon_bounds(1e-3).lower <= other.get_epsilon(1e-3)
    exact = Shuffle(UNEQUAL, 50).attained_epsilon(1e-3)
    assert 0.8 * exact < both.attained_epsilon(1e-3) <= exact * (1 + 1e-3)
    silent = Shuffle(OneOf(nothing, nothing), 50)
    assert silent.get_epsilon(1e-3) == silent.attained_epsilon(1e-3) == 0


def test_equal_classes_are_merged() -> None:
    """(E^i, E^(8-i)) are nine classes; with all 256 of them the brackets overlap."""
    (law,) = RandomizedResponse(2, eps0=0.7).blanket_law().laws  # type: ignore[attr-defined]
    merged = product_law([law] * 8)
    assert len(merged.u) == 9 and merged.is_symmetric
    assert merged.known_loss == pytest.approx(5.6, rel=1e-12)
    u, v, blanket = (np.ones(1),) * 3
    for _ in range(8):
        u, v, blanket = (
            np.outer(a, b).ravel() for a, b in ((u, law.u), (v, law.v), (blanket, law.blanket))
        )
    for users in (3, 1000, 10**9):
        every = ClassProfile((ClassLaw(u, v, blanket, 1e-13, ratio_error=1e-13),), users)
        few = ClassProfile((merged,), users)
        at = np.array([1.0 / math.sqrt(users)])
        one, other = (profile.sampler(60.0, 1e-6)(at) for profile in (every, few))
        assert one.lower <= other.upper * (1 + 1e-12) and other.lower <= one.upper * (1 + 1e-12)
        assert other.upper <= other.lower * (1 + 1e-3)


def test_larger_errors_of_ratios_make_wider_brackets() -> None:
    columns = [0.75, 0.25], [0.25, 0.75], [0.25, 0.25]
    at, found = np.array([0.01]), []
    for error in (0.0, 1e-6):
        law = ClassLaw(*columns, ratio_error=error)
        found.append(ClassProfile((law,), 10_000).sampler(60.0, 1e-9)(at))
    exact, wide = found
    assert wide.lower < exact.lower <= exact.upper < wide.upper
    assert law.max_loss(5) >= math.log(3) + 1e-6


def test_many_questions_take_no_time_and_too_many_classes_are_refused() -> None:
    many = Bundle(*[RandomizedResponse(10, eps0=0.1)] * 20)
    (law,) = many.law("blanket").laws  # type: ignore[attr-defined]
    assert len(law.u) == math.comb(22, 2)
    assert 0 < Shuffle(many, 10**6).get_epsilon(1e-9) < 0.1
    unlike = Bundle(*(RandomizedResponse(3, eps0=0.1 + 0.01 * i) for i in range(12)))
    with pytest.raises(OutOfRange, match="8,192 is the limit; bundle fewer questions"):
        Shuffle(unlike, 1000).get_epsilon(1e-6)
    assert Shuffle(unlike, 1000, "stronger-clones").get_epsilon(1e-6) > 0
    with pytest.raises(OutOfRange, match="smaller eps0"):
        Bundle(*[RandomizedResponse(2, eps0=100.0)] * 8)


def test_losses_beyond_the_range_of_a_double_are_refused() -> None:
    most = Shuffle(Bundle(*[RandomizedResponse(2, eps0=34.0)] * 10), 2)
    assert 339 < most.attained_epsilon(1e-6) <= most.get_epsilon(1e-6) <= 340 * (1 + 1e-12)
    with pytest.raises(OutOfRange, match="add up to 400, and 340 is the limit"):
        Bundle(*[RandomizedResponse(2, eps0=20.0)] * 20)
    leaky = FiniteRandomizer([[1 - 1e-74, 1e-74, 0], [1e-74, 1 - 1e-74, 1e-74]])
    with pytest.raises(OutOfRange, match="340 is the limit"):
        Bundle(leaky, leaky)


@pytest.mark.parametrize("kind", [Bundle, OneOf])
def test_counts_say_what_they_are_of(kind: Any) -> None:
    survey, other = kind(HALF, THIRD), kind(HALF, HALF)
    counts = survey.count(survey.randomize([[0, 1], [1, 2]], rng=np.random.default_rng(1)))
    assert counts.protocol == repr(survey)
    with pytest.raises(InvalidParameter, match="estimate with the randomizer of the messages"):
        other.estimate(counts)
    with pytest.raises(InvalidParameter, match="do not add up"):
        counts + other.count(other.randomize([[0, 1]], rng=np.random.default_rng(1)))
    with pytest.raises(InvalidParameter, match="known modulo 256 only"):
        survey.estimate(Counts(2, counts.tally, modulus=256))


def test_matrices_with_many_rows_have_one_law_above_all_pairs() -> None:
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(4), 6) + 0.05
    rows /= rows.sum(axis=1, keepdims=True)
    some = FiniteRandomizer(rows.tolist())
    bundle = Bundle(some, HALF)
    assert len(bundle.law("blanket").laws) <= 36  # type: ignore[attr-defined]
    both = Bundle(some, some)
    law = both.law("blanket")
    assert isinstance(law, ClassLaws) and len(law.laws) == 1
    one, other = Shuffle(both, 300), Shuffle(FiniteRandomizer(np.kron(rows, rows).tolist()), 300)
    above, whole = one.get_epsilon(1e-4), other.epsilon_bounds(1e-4)
    assert whole.lower <= above <= 1.3 * whole.upper
    assert one.attained_epsilon(1e-4) <= whole.upper


def test_bundles_of_large_matrices_stay_within_the_classes() -> None:
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.full(5, 3.0), 14) + 0.05
    rows /= rows.sum(axis=1, keepdims=True)
    some = FiniteRandomizer(rows.tolist())
    bundle = Bundle(some, some)
    (law,) = bundle.law("blanket").laws  # type: ignore[attr-defined]
    assert len(law.u) <= 8192
    both = Shuffle(FiniteRandomizer(np.kron(rows, rows).tolist()), 200)
    whole = both.epsilon_bounds(1e-4, rtol=0.01)
    assert whole.lower <= Shuffle(bundle, 200).get_epsilon(1e-4, rtol=0.01) <= 1.5 * whole.upper
    three = Shuffle(Bundle(some, some, some), 10**5)
    alone = Accountant().compose(Shuffle(some, 10**5), 3)
    assert alone.epsilon_bounds(1e-6, rtol=0.1).lower <= three.get_epsilon(1e-6, rtol=0.01) < 1
    assert Shuffle(OneOf(some, some), 200).get_epsilon(1e-4, rtol=0.01) < whole.lower


def test_rounding_leaves_no_classes_in_a_law_above_all_pairs() -> None:
    """Engines would resolve rare scores at the cost of the width of all others."""
    rows = [[0.48, 0.44, 0.08], [0.03125, 0.46875, 0.5]]
    (law,) = above_all(FiniteRandomizer(rows)._matrix)
    assert len(law.u) == 3 and law.blanket.min() > 1e-3
    falls, rises = (np.diff(side / law.blanket) for side in (law.u, law.v))
    assert falls.max() <= 1e-9 and rises.min() >= -1e-9
    u, v = np.array(rows)
    for side, x in ((law.u, u), (-law.v, -v), (law.u, v), (-law.v, -u)):  # increasing convex order
        for level in np.linspace(-25, 25, 101):
            base = np.minimum(u, v)
            mean = np.maximum(x / base - level, 0) @ base
            assert np.maximum(side / law.blanket - level, 0) @ law.blanket >= mean - 1e-12


def test_revealing_matrices_have_no_law_above_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mass would be far above 1; of the others it is a little above 1."""
    monkeypatch.setattr(tuning, "COMBINED_LAWS", 1)
    told = [[0.0, 0.625, 0.375], [1.0, 0.0, 0.0]]
    mild = [[0.5, 0.5], [0.375, 0.625], [0.625, 0.375]]
    bundle = Bundle(*map(FiniteRandomizer, (told, mild, [[0.375, 0.625], [1.0, 0.0]])))
    assert 1 - 1e-9 <= Shuffle(bundle, 2).delta_bounds(0.0).lower <= 1
    rows = [[0.5, 0.375, 0.125, 0.0], [0.25, 0.5, 0.25, 0.0], [0.25, 0.25, 0.25, 0.25]]
    some = [FiniteRandomizer([row[i:] + row[:i] for row in rows]) for i in range(4)]
    with pytest.raises(OutOfRange, match="6,561 ways, and 1,024 is the limit"):
        Shuffle(Bundle(*some), 10).get_epsilon(0.1)
    many = np.eye(40) * 0.5 + 0.5 / 41 * (1 - np.eye(40)) + 0.5 / 41 * np.eye(40)
    many = np.column_stack([many, 1 - many.sum(axis=1)])
    many[0, -2:] = [many[0, -2:].sum(), 0.0]
    with pytest.raises(OutOfRange, match="1,600 ways"):
        Shuffle(Bundle(FiniteRandomizer(many.tolist()), HALF), 10).get_epsilon(0.1)


@pytest.mark.parametrize(
    ("questions", "wrong"),
    [
        ((), "are 0 questions; give 1 to 20"),
        ((HALF,) * 21, "are 21 questions"),
        ((3,), "is no randomizer"),
        ((PureLDP(1.0),), "cannot be one of several"),
        ((PrivUnit(8, eps0=1.0),), "vectors"),
        ((UnaryEncoding(8, eps0=1.0, ones=2),), "vectors"),
        ((Bundle(HALF, HALF),), "other questionnaires"),
        (("laplace eps0=1",), "densities"),
        (("rr k=2 eps0=1; ",), "does not begin with the name"),
        (("rr k",), "give each of k, gamma, eps0 once"),
        (("rr k=two eps0=1",), "not a number"),
        (("unary eps0=1",), "lacks k; add k=value"),
        (("matrix matrix=1,x/0,1",), "rows of a matrix as"),
    ],
)
def test_what_is_no_question(questions: Any, wrong: str) -> None:
    for kind in (Bundle, OneOf):
        with pytest.raises(InvalidParameter, match=wrong):
            kind(*questions)


def test_every_randomizer_of_sets_is_a_question() -> None:
    """Their laws are the same in both orders, so that equal answers need not be listed."""
    sets = [kind(**kind.example) for kind in REGISTRY.values()]
    more = [UnaryEncoding(5, p=0.7, q=0.2), RandomizedResponse(9, gamma=0.3)]
    for question in (*sets, *more):
        if isinstance(question, MembershipRandomizer) and question.task != "vector":
            survey = Shuffle(Bundle(question, HALF), 100)
            (law,) = survey.law.laws  # type: ignore[attr-defined]
            assert law.is_symmetric
            alone = Shuffle(question, 100).epsilon_bounds(0.01)
            assert alone.lower < survey.get_epsilon(0.01)


def test_large_matrices_are_reported_by_their_digest() -> None:
    rows = np.full((9, 9), 0.1) + 0.1 * np.eye(9)
    survey = Bundle(FiniteRandomizer(rows.tolist()), HALF)
    assert survey.reported["questions"].startswith("matrix 9 x 9, sha256")
    assert Bundle(**survey.given) == survey


def test_weights() -> None:
    assert OneOf(HALF, THIRD).chances == (Fraction(1, 2),) * 2
    assert OneOf(HALF, THIRD, weights="1, 2") == OneOf(HALF, THIRD, weights=[1, 2])
    for weights in ([1], [1, 0], [1, -1], [1, math.nan], "1", [1, 1e-9], 2):
        with pytest.raises(InvalidParameter, match="weights"):
            OneOf(HALF, THIRD, weights=weights)


def test_questions_as_text() -> None:
    questions = HALF, SubsetSelection(5, 2, 1.0), UNEQUAL, LocalHashing(g=4, eps0=1 / 3)
    for kind in (Bundle, OneOf):
        survey = kind(*questions)
        assert kind(**survey.given) == survey
        assert json.loads(json.dumps(survey.given)) == survey.given
    with pytest.raises(InvalidParameter, match="given twice"):
        Bundle(HALF, questions="rr k=2 eps0=1")


MIXED = (
    THIRD, UnaryEncoding(10, eps0=2.0), OneBit(1.0), SubsetSelection(5, 2, 1.0),
    HadamardResponse(4, eps0=1.0), UNEQUAL, LocalHashing(g=3, eps0=1.0),
)  # fmt: skip


def answers(users: int) -> Any:
    rng = np.random.default_rng(5)
    columns: list[Any] = [rng.integers(0, k, users) for k in (3, 10, 1, 5, 4, 2, 6)]
    columns[2] = rng.random(users)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("kind", [Bundle, OneOf])
def test_estimates_are_near_the_truth(kind: Any) -> None:
    survey, values = kind(*MIXED), answers(4000)
    messages = survey.randomize(values, rng=np.random.default_rng(6))
    assert messages.dtype == np.int64 and messages.ndim == 2
    counts = survey.count(messages[:1000], k=6) + survey.count(messages[1000:], k=6)
    assert counts == survey.count(messages, k=6)
    found = survey.estimate(Counts(counts.users, counts.tally.tolist()))
    for j, each in enumerate(found):
        if isinstance(each, MeanEstimate):
            assert abs(each.mean - values[:, j].mean()) < 5 * each.standard_error
            continue
        true = np.bincount(values[:, j].astype(int), minlength=len(each.counts))
        assert (abs(each.counts - true) < 5 * each.standard_errors).all()
    simulated = simulate(Shuffle(survey, 4000), values, rng=np.random.default_rng(6))
    assert simulated.estimates == "counts and means"
    sizes = (3, 10, 1, 5, 4, 2, 10)  # hashes do not tell that 6 is enough
    assert simulated.question_of == [j for j, size in enumerate(sizes) for _ in range(size)]
    assert [row["question"] for row in simulated.records()] == simulated.question_of
    assert survey.randomize(values[0]).shape == messages.shape[1:]


def test_standard_errors_of_a_random_question_have_both_causes() -> None:
    """The spread of estimates of the same data over 400 repetitions."""
    survey = OneOf(RandomizedResponse(2, eps0=3.0), OneBit(2.0), weights=[1, 3])
    values = np.stack([np.repeat([0, 1], [100, 300]), np.full(400, 0.5)], axis=1)
    rng, found = np.random.default_rng(7), []
    for _ in range(400):
        first, second = survey.estimate(survey.randomize(values, rng=rng))
        assert isinstance(first, Estimate) and isinstance(second, MeanEstimate)
        found.append((first.counts[0], first.standard_errors[0], second.mean))
    count, error, mean = np.array(found).T
    assert abs(count.mean() - 100) < 5 * count.std() / 20
    assert error.mean() == pytest.approx(count.std(), rel=0.15)
    assert abs(mean.mean() - 0.5) < 5 * mean.std() / 20
    expected = survey.client.variance_of_question(0, 400, 100)
    assert math.sqrt(expected) == pytest.approx(count.std(), rel=0.15)


def test_questions_are_drawn_with_exactly_their_probabilities() -> None:
    client = OneOf(HALF, HALF, HALF, weights=[1, 2, 4]).client
    assert list(client.drawn.steps(64)) == [
        ((2**64) // 7, (2**64) // 7 + 1),
        ((3 * 2**64) // 7, (3 * 2**64) // 7 + 1),
    ]


def test_bad_values_and_messages() -> None:
    survey = Bundle(HALF, OneBit(1.0))
    for values, wrong in (
        ([[0, 1, 1]], "rows of 2 answers"),
        ([[2, 0.5]], "question 0: values"),
        ([[0.5, 0.5]], "question 0: values.0.=0.5 is not whole"),
        ([[0, 2.0]], "question 1: values"),
        ([["a", "b"]], "rows of 2 answers"),
    ):
        with pytest.raises(InvalidParameter, match=wrong):
            survey.randomize(values)
    with pytest.raises(InvalidParameter, match="what randomize returned"):
        survey.count([[0, 1, 0]])
    with pytest.raises(InvalidParameter, match=r"question outside 0 .. 1"):
        OneOf(HALF, HALF).count([[2, 0]])
    with pytest.raises(InvalidParameter, match="tally has 3 numbers instead of 4"):
        Bundle(HALF, HALF).estimate(Counts(2, [1, 1, 2]))
    with pytest.raises(InvalidParameter, match="k is missing"):
        Bundle(HALF, LocalHashing(g=2, eps0=1.0)).count([])
    nobody: Any = OneOf(HALF, OneBit(1.0)).estimate(Counts(0, [0, 0, 0, 0, 0]))
    assert math.isinf(nobody[1].standard_error) and np.isinf(nobody[0].standard_errors).all()


@pytest.mark.parametrize("kind", [Bundle, OneOf])
def test_audit_of_the_client(kind: Any) -> None:
    for questions in ((HALF, UNEQUAL, OneBit(1.0)), (LEAKY, LocalHashing(g=3, eps0=1.0))):
        assert audit(kind(*questions), trials=3000, confidence=0.999999).holds


def test_audit_finds_one_coin_for_two_answers() -> None:
    """Each answer alone is as it should be."""
    rng = np.random.default_rng(8)

    def one_coin(values: Any) -> Any:
        lies = rng.random((len(values), 1)) < 0.25
        return np.where(lies, 1 - values, values)

    question = RandomizedResponse(2, eps0=math.log(3))
    assert audit(question, lambda x: one_coin(x[:, None])[:, 0], trials=20_000).holds
    assert not audit(Bundle(question, question), one_coin, trials=20_000).holds
    with pytest.raises(InvalidParameter, match="at most 8 of the questions"):
        audit(Bundle(*[question] * 9))


def test_verify_and_samples() -> None:
    for kind in (Bundle, OneOf):
        survey = kind(HALF, UNEQUAL)
        assert verify(survey, 2, epsilons=[0.0, 0.4]).holds
        for more in ({"sampling": "poisson"}, {}, {"messages": 2}):
            half = Shuffle(survey, 100, sample_rate=0.5, **more)
            assert half.attained_epsilon(1e-3, rtol=0.01) <= half.get_epsilon(1e-3, rtol=0.01)


def test_on_the_command_line_and_in_a_plan(tmp_path: Path) -> None:
    text = "rr k=2 eps0=1; rr k=2 eps0=1; rr k=2 eps0=1"
    asked = ("--users", "1e4", "--delta", "1e-6")
    said = ok("epsilon", "--randomizer", "bundle", "--questions", text, *asked)
    assert "private with epsilon = 0.1528 and delta = 1e-06.\n" in said
    assert "3 answers in one message" in said and '"Several questions"' in " ".join(said.split())
    wrong = run("epsilon", "--randomizer", "bundle", "--questions", "rr k=2", *asked)
    assert wrong.returncode == 2 and "neither eps0 nor gamma is given" in wrong.stderr
    (tmp_path / "values.csv").write_text("0,1\n1,1\n" * 50)
    simulated = json.loads(
        ok("simulate", "--randomizer", "one-of", "--questions", "rr k=2 eps0=1; rr k=2 eps0=1",
           "--values", str(tmp_path / "values.csv"), "--delta", "0.01", "--seed", "1", "--json")
    )  # fmt: skip
    assert simulated["questions"] == [0, 0, 1, 1] and simulated["true"] == [50, 50, 0, 100]
    (tmp_path / "plan.toml").write_text(
        "target = { epsilon = 1.0, delta = 1e-6 }\n[[rounds]]\nrandomizer = 'one-of'\n"
        "users = 10000\nquestions = 'rr k=2 eps0=1; rr k=4 eps0=1'\nweights = '1, 2'\n"
    )
    entry = json.loads(ok("account", str(tmp_path / "plan.toml"), "--json"))["entries"][0]
    assert entry["parameters"]["weights"] == "1.0, 2.0"
