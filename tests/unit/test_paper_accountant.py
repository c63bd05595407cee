"""The paper's own accountant and integrals, against enumeration, closed forms and mpmath."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import oracles
from shuffledp import InvalidParameter, OutOfRange
from shuffledp.reproduce import claims, gaussian_shuffle
from shuffledp.reproduce.clone_pld import ClonePair
from shuffledp.reproduce.fourier_accountant import Grid, GridPLD
from shuffledp.reproduce.krr_pld import PrintedRandomizedResponse
from shuffledp.reproduce.laws import binomial, fair_row, hoeffding_window, log_fair_centres, logs
from shuffledp.reproduce.result import Settings

Array = NDArray[np.float64]


def collect(atoms: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    losses, masses = zip(*atoms, strict=True)
    return np.concatenate(losses), np.concatenate(masses)


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
    losses, masses = collect(list(ClonePair(users, math.log(5), analysis).atoms()))
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
    losses, masses = collect(list(pair.atoms()))
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
    pair, grid = ClonePair(users, eps0, analysis), Grid(10.0, 200_000)
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
        composed = GridPLD.of(pair.atoms(), 0.0, Grid(width, 1 << 16)).compose(rounds)
        error = np.abs(composed.delta(epsilons) - exact) - rounds * composed.grid.step
        assert error.max() <= composed.periodisation + composed.rounding
        assert 0 < composed.periodisation <= 1
        wrapped = max(wrapped, float(error.max()))
    assert wrapped > 1e-3  # otherwise nothing was tested


def test_mass_at_infinity_is_charged_every_round() -> None:
    grid = Grid(20.0, 1000)
    pld = GridPLD.of([(np.zeros(1), np.array([0.75]))], 0.25, grid)
    for rounds in (1, 2, 7):
        delta = float(pld.compose(rounds).delta(np.array([3.0]))[0])
        assert delta == pytest.approx(1 - 0.75**rounds, rel=1e-12)


def test_epsilon_is_the_first_grid_point_that_fits() -> None:
    pair = ClonePair(200, 2.0)
    composed = GridPLD.of(pair.atoms(), 0.0, Grid(10.0, 100_000)).compose(3)
    for delta in (0.1, 1e-2, 1e-5):
        epsilon = composed.epsilon(delta)
        around = composed.delta(np.array([epsilon - composed.grid.step, epsilon]))
        assert around[1] <= delta < around[0]
    assert composed.epsilon(0.0, charged=1e-3) == math.inf


@pytest.mark.parametrize(("half_width", "points"), [(0.0, 10), (1.0, 7), (1.0, 2), (-2.0, 100)])
def test_unusable_grids_are_refused(half_width: float, points: int) -> None:
    with pytest.raises(InvalidParameter, match="even number of points"):
        Grid(half_width, points)


def test_losses_beyond_the_grid_are_refused() -> None:
    with pytest.raises(OutOfRange, match="wider grid"):
        GridPLD.of(ClonePair(3, 4.0).atoms(), 0.0, Grid(3.0, 100))


# ----------------------------------------------------------------------------- k-RR, as printed


def multinomial(counts: list[int], probabilities: list[Fraction]) -> Fraction:
    mass = Fraction(math.factorial(sum(counts)))
    for count, p in zip(counts, probabilities, strict=True):
        mass *= p**count / math.factorial(count)
    return mass


@pytest.mark.parametrize(("users", "k"), [(2, 2), (3, 3), (5, 2), (5, 4)])
def test_joint_counts_against_the_loss_of_the_exact_views(users: int, k: int) -> None:
    """Pr[Z >= epsilon] is the probability, under P, that the views' ratio is at least alpha."""
    gamma, alpha = Fraction(1, 3), Fraction(7, 5)
    share = gamma / k
    rows = [[share + (1 - gamma) * (x == y) for y in range(k)] for x in (0, 1)]
    # the adversary also sees B: one view for each number of random answers
    weak = strong = Fraction(0)
    for b in range(users):
        chance = math.comb(users - 1, b) * gamma**b * (1 - gamma) ** (users - 1 - b)
        for counts in product(range(b + 2), repeat=k):
            if sum(counts) != b + 1:
                continue
            p, q = (
                sum(
                    rows[x][y] * multinomial([c - (i == y) for i, c in enumerate(counts)],
                                             [Fraction(1, k)] * k)
                    for y in range(k) if counts[y]
                )
                for x in (0, 1)
            )  # fmt: skip
            weak += chance * p * (p >= alpha * q)
    for one, two in product(range(users), repeat=2):
        if one + two < users and one + 1 >= alpha * two:
            rest = users - 1 - one - two
            strong += multinomial([one, two, rest], [share, share, 1 - 2 * share])
    for adversary, exact in (("A_w", weak), ("A_s", strong)):
        law = PrintedRandomizedResponse(users, k, float(gamma), adversary, True, 1e-14)
        losses, masses = collect(list(law.atoms()))
        got = law.infinite + masses[losses >= math.log(alpha) - 1e-12].sum()
        assert got == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


def test_independent_counts_against_the_exact_sum() -> None:
    for row in claims.run(Settings()).tables["claims"]:
        if not row["claim"].startswith(("Theorem 13", "Theorem 16")):
            continue
        values = dict(part.split("=") for part in row["case"].split(", "))
        gamma, alpha = float(Fraction(values["gamma"])), float(Fraction(values["e^eps"]))
        adversary = "A_s" if "A_s" in row["claim"] else "A_w"
        law = PrintedRandomizedResponse(
            int(values["n"]), int(values["k"]), gamma, adversary, False, 1e-14
        )
        losses, masses = collect(list(law.atoms()))
        got = law.infinite + masses[losses >= math.log(alpha) - 1e-12].sum()
        assert got == pytest.approx(row["formula"], rel=1e-9)


def test_the_weaker_adversary_as_printed_is_below_a_real_mechanism() -> None:
    """n = 10, k = 2, gamma = 3/4, alpha = 8/5, the mechanism enumerated by the oracle."""
    gamma, alpha = Fraction(3, 4), Fraction(8, 5)
    matrix = [[gamma / 2 + (1 - gamma) * (x == y) for y in (0, 1)] for x in (0, 1)]
    truth = oracles.true_profile(matrix, 10, alpha)
    rows = claims.run(Settings()).tables["claims"]
    (row,) = [r for r in rows if "actual datasets" in r["claim"] and r["case"].startswith("n=10")]
    assert Fraction(row["truth_exact"]) <= truth
    assert Fraction(row["formula_exact"]) < Fraction(row["truth_exact"])
    assert "does not hold" in row["verdict"]


def test_true_divergences_against_the_oracle() -> None:
    n, k, gamma, alpha = 4, 3, Fraction(1, 2), Fraction(3, 2)
    share = gamma / k
    rows = [[share + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]
    blanket = oracles.blanket_pair(rows[0], rows[1], [share] * k, n)
    strong, weak, reached = claims._true_divergences(n, k, gamma, alpha)
    assert weak == oracles.hockey_stick(blanket, alpha)
    assert strong == oracles.hockey_stick(oracles.strong_pair(k, gamma, n), alpha)
    assert reached == oracles.true_profile(rows, n, alpha)


def test_subsampled_pairs_against_two_users() -> None:
    """The counterexample of docs/paper.md, by the accountant: the closed pair covers it."""
    pair, grid = ClonePair(1, math.log(3)), Grid(4.0, 400_000)
    printed = GridPLD.of(pair.subsampled_atoms(0.5), 0.0, grid).compose(2)
    closed = GridPLD.of(pair.closed_atoms(0.5), 0.0, grid).compose(2)
    epsilon = np.array([math.log(1.1)])
    assert float(printed.delta(epsilon)[0]) == pytest.approx(43 / 160, abs=1e-4)
    assert float(closed.delta(epsilon)[0]) >= 23 / 80


# ------------------------------------------------------------------------- the shuffled Gaussian


def gaussian_by_lattice(users: int, sigma: float, epsilon: float) -> float:
    """E[(mean of n log-normals - alpha)_+] by a plain FFT on a fine lattice (mean preserved)."""
    t = np.linspace(-7 * sigma, 7 * sigma, 1_000_001)
    mass = np.exp(-0.5 * (t / sigma) ** 2)
    mass /= mass.sum()
    g = np.exp((2 * t - 1) / (2 * sigma**2))
    step = 2e-4
    size = 1 << math.ceil(math.log2(users * g[-1] / step + 2))
    low = np.floor(g / step).astype(int)
    share = g / step - low
    lattice = np.bincount(low, mass * (1 - share), size) + np.bincount(low + 1, mass * share, size)
    total = np.fft.irfft(np.fft.rfft(lattice) ** users, size)
    mean = np.arange(size) * step / users
    return float((total * np.maximum(mean - math.exp(epsilon), 0)).sum())


def gaussian_closed_form(sigma: float, epsilon: float) -> float:
    """n = 1: the Gaussian mechanism."""
    half, rest = mpmath.mpf(1) / (2 * sigma), epsilon * sigma
    return float(mpmath.ncdf(half - rest) - mpmath.exp(epsilon) * mpmath.ncdf(-half - rest))


def test_lattice_oracle_against_closed_form() -> None:
    for epsilon in (0.0, 0.4, 1.0):
        exact = gaussian_closed_form(2.0, epsilon)
        assert gaussian_by_lattice(1, 2.0, epsilon) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("users", "points"), [(1, 2000), (2, 400), (3, 120), (4, 50)])
def test_sorted_grid_against_lattice(users: int, points: int) -> None:
    epsilons = np.array([0.0, 0.3, 0.6])
    values, evaluations = gaussian_shuffle.on_sorted_grid(users, 2.0, epsilons, points)
    assert evaluations == math.comb(points + users - 1, users)
    exact = [gaussian_by_lattice(users, 2.0, float(e)) for e in epsilons]
    np.testing.assert_allclose(values, exact, rtol=5e-3)


@pytest.mark.parametrize(("users", "points"), [(1, 2000), (2, 400), (3, 160)])
def test_one_dimension_against_the_sorted_grid(users: int, points: int) -> None:
    epsilons = np.array([0.0, 0.3, 0.6])
    exact, _ = gaussian_shuffle.on_sorted_grid(users, 2.0, epsilons, points)
    values = gaussian_shuffle.one_dimensional(users, 2.0, epsilons)
    np.testing.assert_allclose(values, exact, rtol=2e-4)


def test_one_dimension_against_the_normal_limit() -> None:
    """Many users: the mean is nearly normal; the skewness correction is of order 1/sqrt(n)."""
    users, sigma = 10**6, 2.0
    spread = math.sqrt(math.expm1(1 / sigma**2) / users)
    for z in (0.0, 1.0, 2.0):
        (value,) = gaussian_shuffle.one_dimensional(
            users, sigma, np.array([math.log1p(z * spread)])
        )
        normal = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) - z * float(mpmath.ncdf(-z))
        assert value == pytest.approx(spread * normal, rel=5e-3)


@pytest.mark.parametrize("users", [1, 3])
def test_what_the_cube_leaves_out(users: int) -> None:
    """Against the product of the normal probabilities of its sides."""
    edge = mpmath.mpf(gaussian_shuffle.CUBE)
    inside = mpmath.ncdf(edge - 0.5) - mpmath.ncdf(-edge - 0.5)
    inside *= (2 * mpmath.ncdf(edge) - 1) ** (users - 1)
    assert gaussian_shuffle.beyond_the_cube(users, 2.0) == pytest.approx(
        float(1 - inside), rel=1e-6
    )


@pytest.mark.parametrize("where", ["cube", "law"])
@pytest.mark.parametrize("users", [1, 3, 7])
def test_monte_carlo_against_lattice(users: int, where: str) -> None:
    epsilons = np.array([0.0, 0.3])
    *_, estimate = gaussian_shuffle.monte_carlo(users, 2.0, epsilons, 300_000, 5, where)
    assert estimate is not None
    assert estimate.samples == 300_000
    low, high = estimate.band()
    exact = [gaussian_by_lattice(users, 2.0, float(e)) for e in epsilons]
    assert (low <= exact).all()
    assert (exact <= high).all()
    assert (estimate.error < 0.2 * estimate.mean).all()


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
