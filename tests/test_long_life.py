"""Accountants that live long: many threads, several processes, again and again."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

from shuffledp import Accountant, PureLDP, Shuffle, tuning
from shuffledp.mechanisms import ApproximateDP

DELTAS = [10.0**-i for i in range(2, 11)]


def accountant(users: int = 2000, rounds: int = 20) -> Accountant:
    result = Accountant()
    result.compose(Shuffle(PureLDP(3.0), users), rounds)
    result.compose(ApproximateDP(0.05, 1e-12), rounds=3)
    return result


def ask(delta: float) -> tuple[float, float]:
    """By an accountant of its own."""
    return tuple(accountant().epsilon_bounds(delta))  # type: ignore[return-value]


#: The same within this process, computed once.
known = cache(ask)


def test_threads_that_share_an_accountant_get_sound_answers() -> None:
    """Which lattice a query finds may depend on who came first; both brackets hold the truth."""
    shared, deltas = accountant(), DELTAS[::4] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(shared.epsilon_bounds, deltas))
    for delta, answer in zip(deltas, answers, strict=True):
        lower, upper = known(delta)
        assert answer.lower <= upper
        assert lower <= answer.upper
        assert answer.upper - answer.lower <= 1e-3 * answer.upper


def test_processes_share_nothing_and_agree() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        answers = list(pool.map(ask, DELTAS[:4]))
    assert answers == [known(delta) for delta in DELTAS[:4]]


def test_what_is_kept_between_queries_is_bounded() -> None:
    asked = accountant(users=20, rounds=2)
    for i in range(12):  # each time another width and depth, hence another lattice
        asked.get_epsilon(10.0 ** -(3 + 5 * i), rtol=1e-3 / (1 + i))
    (composition,) = asked._certified_rounds.compositions
    assert len(composition.cached) <= tuning.KEPT_LATTICES
