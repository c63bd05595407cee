"""The paper's own accountant and integrals, against enumeration, closed forms and mpmath."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import oracles
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.reproduce import claims
from shuffledp.reproduce.fourier_accountant import GridPLD, LossGrid
from shuffledp.reproduce.printed_laws import (
    ClonePair,
    binomial,
    fair_row,
    hoeffding_window,
    log_fair_centres,
    logs,
)
from shuffledp.reproduce.result import Settings


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.5), (40, 0.02), (300, 0.9)])
def test_binomial_against_exact_fractions(n: int, p: float) -> None:
    exact = [
        float(math.comb(n, j) * Fraction(p) ** j * (1 - Fraction(p)) ** (n - j))
        for j in range(n + 1)
    ]
    np.testing.assert_allclose(binomial(n, p), exact, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("h", [1, 2, 9, 10, 601])
def test_fair_row_against_exact_fractions(h: int) -> None:
    row = fair_row(h, 0, h, logs(h + 1), float(log_fair_centres(h)[h]))
    exact = [float(Fraction(math.comb(h, a), 2**h)) for a in range(h + 1)]
    np.testing.assert_allclose(row, exact, rtol=1e-12, atol=0)


@pytest.mark.parametrize("analysis", ["clones", "stronger-clones"])
@pytest.mark.parametrize("users", [1, 2, 3, 6])
def test_clone_atoms_against_enumeration(users: int, analysis: str) -> None:
    pair = oracles.clone_pair_fractions(users, Fraction(5), analysis)
    losses, masses = oracles.collect(list(ClonePair(users, math.log(5), analysis).atoms()))
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(3), Fraction(9, 2)):
        exact = float(oracles.hockey_stick(pair, alpha))
        got = float((masses * np.maximum(1 - float(alpha) * np.exp(-losses), 0)).sum())
        assert got == pytest.approx(exact, rel=1e-12, abs=1e-15)
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    assert ClonePair(users, 1.0).terms == len(losses)


@pytest.mark.parametrize("tau", [0.3, 1e-2, 1e-4, 1e-9])
@pytest.mark.parametrize(("users", "eps0"), [(2, 1.0), (10, 4.0), (300, 2.0), (2000, 4.0)])
def test_truncation_neglects_at_most_tau(users: int, eps0: float, tau: float) -> None:
    pair = ClonePair(users, eps0, tau=tau)
    losses, masses = oracles.collect(list(pair.atoms()))
    assert len(losses) == pair.terms
    assert 1 - math.fsum(masses) <= tau + 1e-12
    assert pair.infinite == tau
    # the O(n log(4/tau)) of Lemma 11: at most (window of C) x (window of A + one more)
    width = math.sqrt(2 * users * math.log(4 / tau))
    assert pair.terms <= (width + 1) * (width + 3)


def test_the_printed_set_of_outcomes_neglects_more_than_tau() -> None:
    (row,) = [
        r for r in claims.run(Settings()).tables["claims"] if r["claim"].startswith("Lemma 11")
    ]
    pair = oracles.clone_pair_fractions(10, Fraction(50), "clones")
    missed = sum(p for (a, _), (p, _) in pair.items() if a == 0)
    assert Fraction(row["truth_exact"]) == missed
    assert missed > Fraction(1, 100)


def test_the_printed_point_masses_are_not_those_of_the_pair() -> None:
    (row,) = [
        r for r in claims.run(Settings()).tables["claims"] if r["claim"].startswith("Lemma 10")
    ]
    pair = oracles.clone_pair_fractions(3, Fraction(3), "clones")
    assert Fraction(row["truth_exact"]) == oracles.hockey_stick(pair, Fraction(3, 2))
    assert Fraction(row["formula_exact"]) != Fraction(row["truth_exact"])


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("analysis", ["clones", "stronger-clones"])
def test_both_placements_bracket_the_exact_composition(rounds: int, analysis: str) -> None:
    eps0, users = 1.5, 6
    atoms = oracles.clone_pair_atoms(users, eps0, analysis, 40)
    exact_atoms = oracles.compose_atoms([atoms] * rounds, 40)
    pair, grid = ClonePair(users, eps0, analysis), LossGrid(10.0, 200_000)
    epsilons = np.array([0.0, 0.1, 0.7, 1.3, 2.2])
    low, high = (
        GridPLD.of(pair.atoms(), 0.0, grid, side).compose(rounds) for side in ("left", "right")
    )
    assert high.periodisation == 0
    for i, epsilon in enumerate(epsilons):
        exact = float(oracles.delta_of_atoms(exact_atoms, float(epsilon), 40))
        below, above = low.delta(epsilons)[i], high.delta(epsilons)[i]
        assert below - low.rounding <= exact <= above + high.rounding
        assert above - below <= 2 * rounds * grid.step + 1e-12


def test_periodisation_charge_covers_the_wrapped_mass() -> None:
    """Binary randomized response, 30 rounds, on a grid that is too short for them."""
    eps0, rounds = 1.0, 30
    pair = ClonePair(1, eps0)  # one user: randomized response itself
    epsilons = np.array([0.0, 2.0, 4.0, 5.9])
    exact = [
        float(oracles.randomized_response_composition(eps0, rounds, float(e))) for e in epsilons
    ]
    wrapped = 0.0
    for width in (16.0, 20.0, 24.0):
        composed = GridPLD.of(pair.atoms(), 0.0, LossGrid(width, 1 << 16)).compose(rounds)
        error = np.abs(composed.delta(epsilons) - exact) - rounds * composed.grid.step
        assert error.max() <= composed.periodisation + composed.rounding
        assert 0 < composed.periodisation <= 1
        wrapped = max(wrapped, float(error.max()))
    assert wrapped > 1e-3  # otherwise nothing was tested


def test_mass_at_infinity_is_charged_every_round() -> None:
    grid = LossGrid(20.0, 1000)
    pld = GridPLD.of([(np.zeros(1), np.array([0.75]))], 0.25, grid)
    for rounds in (1, 2, 7):
        delta = float(pld.compose(rounds).delta(np.array([3.0]))[0])
        assert delta == pytest.approx(1 - 0.75**rounds, rel=1e-12)


def test_epsilon_is_the_first_grid_point_that_fits() -> None:
    pair = ClonePair(200, 2.0)
    composed = GridPLD.of(pair.atoms(), 0.0, LossGrid(10.0, 100_000)).compose(3)
    for delta in (0.1, 1e-2, 1e-5):
        epsilon = composed.epsilon(delta)
        around = composed.delta(np.array([epsilon - composed.grid.step, epsilon]))
        assert around[1] <= delta < around[0]
    assert composed.epsilon(0.0, charged=1e-3) == math.inf


@pytest.mark.parametrize(("half_width", "points"), [(0.0, 10), (1.0, 7), (1.0, 2), (-2.0, 100)])
def test_unusable_grids_are_refused(half_width: float, points: int) -> None:
    with pytest.raises(InvalidParameter, match="even number of points"):
        LossGrid(half_width, points)


def test_losses_beyond_the_grid_are_refused() -> None:
    with pytest.raises(OutOfRange, match="wider grid"):
        GridPLD.of(ClonePair(3, 4.0).atoms(), 0.0, LossGrid(3.0, 100))


def test_hoeffding_window_holds_what_it_says() -> None:
    for trials, p, tau in product((1, 10, 500), (0.02, 0.5), (0.5, 1e-3)):
        first, last = hoeffding_window(trials, p, tau)
        assert 1 - binomial(trials, p)[first : last + 1].sum() <= tau / 2


def test_stored_numbers_are_json(tmp_path: Path) -> None:
    result = claims.run(Settings())
    json_path, csv_path = result.write(tmp_path, Settings(), 0.1)
    report = json.loads(json_path.read_text())
    assert report["relation"] == "replace-one"
    assert len(csv_path.read_text().splitlines()) == 1 + len(report["tables"]["claims"])
