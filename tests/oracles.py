"""Independent reference values for the tests: slow, simple, and free of the package's own code.

The analyzed pair of laws ("clone pair") for n users and E = exp(eps0) is

    Delta ~ Bernoulli(E / (E + 1)),  C ~ Binomial(n - 1, q),  A given C ~ Binomial(C, 1/2),
    P = law of (A + Delta, C - A + 1 - Delta),  Q = law of (A + 1 - Delta, C - A + Delta),

with q = 1 / E for the analysis "clones" and q = 2 / (E + 1) for "stronger-clones".
Its profile is delta(epsilon) = sum over outcomes of (P - exp(epsilon) Q)_+.

Two kinds of arithmetic are used: exact fractions (a rational E) and mpmath numbers with many
digits (a float eps0). Floats are converted exactly, bit for bit. The results carry all their
digits, but mpmath rounds every later operation on them, a minus sign included, to the precision
in force: compare results inside `mpmath.workdps(100)`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, permutations
from math import comb
from operator import itemgetter
from typing import Any, TypeAlias

import mpmath
from mpmath import mpf

Real: TypeAlias = "float | mpf"
Atom: TypeAlias = tuple[mpf, mpf, mpf]
"""One value of the privacy loss: (loss, P mass, Q mass). The loss may be +inf (Q mass 0)."""
FractionPair: TypeAlias = dict[tuple[int, ...], tuple[Fraction, Fraction]]

GUARD_DIGITS = 30
"""Digits computed beyond the digits asked for: far more than rounding can use up here."""

LOSS_BITS = 190
"""Composed losses are rounded to multiples of 2**-190 (about 6e-58), so equal sums coincide."""


# ---------------------------------------------------------------------------------------------
# The clone pair, exactly
# ---------------------------------------------------------------------------------------------


def clone_pair_fractions(users: int, ratio: Fraction, analysis: str) -> FractionPair:
    """Return {outcome: (P, Q)} exactly, for E = `ratio`, by enumerating C, A, and Delta."""
    ratio = Fraction(ratio)
    if users < 1 or ratio < 1:
        raise ValueError("need users >= 1 and ratio >= 1")
    if analysis == "clones":
        q = 1 / ratio
    elif analysis == "stronger-clones":
        q = 2 / (ratio + 1)
    else:
        raise ValueError(f"unknown analysis: {analysis!r}")
    p_law: dict[tuple[int, int], Fraction] = {}
    q_law: dict[tuple[int, int], Fraction] = {}
    for c in range(users):
        prob_c = comb(users - 1, c) * q**c * (1 - q) ** (users - 1 - c)
        for a in range(c + 1):
            prob_a = Fraction(comb(c, a), 2**c)
            for bit, prob_bit in ((1, ratio / (ratio + 1)), (0, 1 / (ratio + 1))):
                mass = prob_c * prob_a * prob_bit
                under_p = (a + bit, c - a + 1 - bit)
                under_q = (a + 1 - bit, c - a + bit)
                p_law[under_p] = p_law.get(under_p, Fraction(0)) + mass
                q_law[under_q] = q_law.get(under_q, Fraction(0)) + mass
    zero = Fraction(0)
    outcomes = sorted(p_law.keys() | q_law.keys())
    return {y: (p_law.get(y, zero), q_law.get(y, zero)) for y in outcomes}


def hockey_stick(pair: Mapping[Any, tuple[Any, Any]], alpha: Any) -> Any:
    """Return the sum of (P - alpha Q)_+ over the outcomes of {outcome: (P, Q)}.

    Exact if the masses are fractions and alpha is an int or a Fraction. With mpf masses or an mpf
    alpha the sum is done with 60 + GUARD_DIGITS digits.
    """
    if isinstance(alpha, float):
        raise TypeError("alpha must be an int, a Fraction, or an mpf: a float would round")
    with mpmath.workdps(60 + GUARD_DIGITS):
        return sum(max(p_mass - alpha * q_mass, 0) for p_mass, q_mass in pair.values())


# ---------------------------------------------------------------------------------------------
# The clone pair in multi-precision
# ---------------------------------------------------------------------------------------------


def _clone_odds(users: int, eps0: mpf, analysis: str) -> tuple[mpf, mpf]:
    """Return (q, 1 - q) at the working precision, without cancellation for a small eps0."""
    if users < 1 or not 0 <= eps0 < mpmath.inf:
        raise ValueError("need users >= 1 and a finite eps0 >= 0")
    big = mpmath.exp(eps0)
    excess = mpmath.expm1(eps0)
    if analysis == "clones":
        return 1 / big, excess / big
    if analysis == "stronger-clones":
        return 2 / (big + 1), excess / (big + 1)
    raise ValueError(f"unknown analysis: {analysis!r}")


def clone_pair_atoms(users: int, eps0: Real, analysis: str, digits: int = 60) -> list[Atom]:
    """Return the atoms (loss, P mass, Q mass) of the clone pair, by increasing loss.

    All outcomes (a, b) with a + b = c + 1 and all c = 0 .. users - 1 are enumerated. Outcomes
    with the same a : b have exactly the same loss and are merged. Meant for users <= 300 or so.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        eps0 = mpf(eps0)
        big = mpmath.exp(eps0)
        q, rest = _clone_odds(users, eps0, analysis)
        merged: dict[Fraction, tuple[mpf, mpf]] = {}
        for c in range(users):
            prob_c = comb(users - 1, c) * q**c * rest ** (users - 1 - c)
            if prob_c == 0:
                continue
            scale = mpmath.ldexp(prob_c, -c) / (big + 1)
            for a in range(c + 2):
                from_one = comb(c, a - 1) if a > 0 else 0  # Delta = 1 under P, 0 under Q
                from_zero = comb(c, a)  # Delta = 0 under P, 1 under Q
                p_mass, q_mass = merged.get(Fraction(a, c + 1), (mpf(0), mpf(0)))
                p_mass += scale * (big * from_one + from_zero)
                q_mass += scale * (from_one + big * from_zero)
                merged[Fraction(a, c + 1)] = (p_mass, q_mass)
        # The loss grows with a / (c + 1).
        return [
            (mpmath.log(merged[key][0] / merged[key][1]), *merged[key]) for key in sorted(merged)
        ]


def clone_profile(users: int, eps0: Real, epsilon: Real, analysis: str, digits: int = 60) -> mpf:
    """Return delta(epsilon) of the clone pair, summed over every c = 0 .. users - 1.

    Given C = c, P > exp(epsilon) Q holds for the outcomes with a first count a >= cut, and both
    laws of a are mixtures of Binomial(c, 1/2) and the same shifted by one. So the divergence is

        H_c = ((E - alpha) N(cut - 1) - (alpha E - 1) N(cut)) / (2**c (E + 1)),

    where N(j) counts the subsets of c elements with j or more members. These counts are exact
    integers, carried from c to c + 1 by Pascal's rule. Nothing is dropped, for any number of
    users; the time grows like users**2. A negative epsilon is allowed.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        eps0, epsilon = mpf(eps0), mpf(epsilon)
        q, rest = _clone_odds(users, eps0, analysis)
        if epsilon >= eps0:
            return mpf(0)
        if epsilon <= -eps0:
            return -mpmath.expm1(epsilon)
        big, alpha = mpmath.exp(eps0), mpmath.exp(epsilon)
        gain = alpha * mpmath.expm1(eps0 - epsilon)  # E - alpha
        cost = mpmath.expm1(eps0 + epsilon)  # alpha E - 1
        share = gain / (gain + cost)  # P > alpha Q if and only if b < (a + b) share
        odds = q / rest
        weight = rest ** (users - 1)  # Pr[C = c]
        total = mpf(0)
        below, pick, tail = 0, 1, 0  # cut - 1, binomial(c, cut - 1), N(cut)
        for c in range(users):
            if below < c + 1 - int(mpmath.ceil((c + 1) * share)):
                pick = pick * (c - below) // (below + 1)
                below += 1
                tail -= pick
            divergence = gain * (tail + pick) - cost * tail
            total += weight * mpmath.ldexp(divergence, -c)
            tail = 2 * tail + pick
            pick = pick * (c + 1) // (c + 1 - below)
            weight = weight * odds * (users - 1 - c) / (c + 1)
        return total / (big + 1)


def _excess_series(last: int, size: int, bits: int) -> tuple[int, int]:
    """Return (sum of t_k, sum of k t_k) over k = 0 .. last, in units of 2**-bits.

    Here t_k = binomial(size, last - k) / binomial(size, last) and last < size / 2. All terms are
    positive, at most 1, and rounded down; the first one is exactly 1.
    """
    term = 1 << bits
    mass, moment, step = 0, 0, 0
    while term:
        mass += term
        moment += step * term
        term = term * (last - step) // (size - last + step + 1)
        step += 1
    return mass, moment


def clone_profile_large(
    users: int, eps0: Real, epsilon: Real, analysis: str, digits: int = 40
) -> tuple[mpf, mpf]:
    """Return (lower, upper) brackets of delta(epsilon) of the clone pair, for epsilon >= 0.

    Given C = c, the sum over the outcomes (a, b), a + b = m = c + 1, with P > alpha Q is

        H_c = (E - 1) (1 + alpha) / (2**c (E + 1) m) * sum over b < m share of
              binomial(m, b) (m share - b),   share = (E - alpha) / ((E - 1) (1 + alpha)),

    a sum of positive terms. The values of c form a window around the mode of C. It grows on both
    sides until the mass left out, bounded by a geometric series and taken with 0 <= H_c <= 1, is
    below 10**-digits of the sum. Rounding is covered by a further 10**-digits on each side.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        eps0, epsilon = mpf(eps0), mpf(epsilon)
        q, rest = _clone_odds(users, eps0, analysis)
        if epsilon < 0:
            raise ValueError("need epsilon >= 0")
        if epsilon >= eps0:
            return mpf(0), mpf(0)
        alpha = mpmath.exp(epsilon)
        spread = mpmath.expm1(eps0) * (1 + alpha)
        share = alpha * mpmath.expm1(eps0 - epsilon) / spread
        factor = spread / (mpmath.exp(eps0) + 1)
        bits = mpmath.mp.prec + 3 * users.bit_length()

        def divergence(c: int) -> mpf:
            m = c + 1
            last = int(mpmath.ceil(m * share)) - 1  # the largest b that counts
            mass, moment = _excess_series(last, m, bits)
            series = mpmath.ldexp((m * share - last) * mass + moment, -bits)
            return factor / m * mpmath.ldexp(mpmath.binomial(m, last), -c) * series

        odds = q / rest
        small = mpf(10) ** -digits
        mode = min(int(users * q), users - 1)
        peak = mpmath.binomial(users - 1, mode) * q**mode * rest ** (users - 1 - mode)
        total, dropped = peak * divergence(mode), mpf(0)
        c, weight = mode, peak
        while c > 0:  # downward: the ratios Pr[C = c - 1] / Pr[C = c] decrease
            ratio = c / ((users - c) * odds)
            if ratio < 1 and weight * ratio / (1 - ratio) < small * total:
                dropped += weight * ratio / (1 - ratio)
                break
            c, weight = c - 1, weight * ratio
            total += weight * divergence(c)
        c, weight = mode, peak
        while c < users - 1:  # upward: the ratios Pr[C = c + 1] / Pr[C = c] decrease
            ratio = (users - 1 - c) * odds / (c + 1)
            if ratio < 1 and weight * ratio / (1 - ratio) < small * total:
                dropped += weight * ratio / (1 - ratio)
                break
            c, weight = c + 1, weight * ratio
            total += weight * divergence(c)
        return total * (1 - small), (total + dropped) * (1 + small)


# ---------------------------------------------------------------------------------------------
# Composition
# ---------------------------------------------------------------------------------------------


def compose_atoms(list_of_atoms: Sequence[Sequence[Atom]], digits: int = 60) -> list[Atom]:
    """Return the atoms of the product of several atom lists, by increasing loss.

    Every combination of atoms is enumerated: losses add, P masses and Q masses multiply. Losses
    are first rounded to multiples of 2**-LOSS_BITS, so that equal sums are equal integers, and
    such combinations are merged. An infinite loss stays infinite.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        unit = mpmath.ldexp(1, LOSS_BITS)
        product: dict[int | None, tuple[mpf, mpf]] = {0: (mpf(1), mpf(1))}  # None: infinite
        for atoms in list_of_atoms:
            keyed = [
                (None if loss == mpmath.inf else int(mpmath.nint(loss * unit)), p, q)
                for loss, p, q in atoms
            ]
            new: dict[int | None, tuple[mpf, mpf]] = {}
            for old_key, (old_p, old_q) in product.items():
                for key, p_mass, q_mass in keyed:
                    both = None if old_key is None or key is None else old_key + key
                    found = new.get(both)
                    if found is None:
                        new[both] = (old_p * p_mass, old_q * q_mass)
                    else:
                        new[both] = (found[0] + old_p * p_mass, found[1] + old_q * q_mass)
            product = new
        infinite = product.pop(None, None)
        finite = sorted((key, *masses) for key, masses in product.items() if key is not None)
        result = [(mpf(key) / unit, p, q) for key, p, q in finite]
        if infinite is not None:
            result.append((mpmath.inf, infinite[0], mpf(0)))
        return result


def delta_of_atoms(atoms: Sequence[Atom], epsilon: Real, digits: int = 60) -> mpf:
    """Return the sum over the atoms with loss > epsilon of P - exp(epsilon) Q.

    With Q = P exp(-loss) this is the sum of P (1 - exp(epsilon - loss))_+.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        epsilon = mpf(epsilon)
        alpha = mpmath.exp(epsilon)
        return mpmath.fsum(p - alpha * q for loss, p, q in atoms if loss > epsilon)


def delta_of_product(
    list_of_atoms: Sequence[Sequence[Atom]], epsilon: Real, digits: int = 60
) -> mpf:
    """Return delta_of_atoms(compose_atoms(list_of_atoms), epsilon) without the full product.

    The first and the second half of the lists are composed. For each atom of the first half, the
    atoms of the second half that bring the loss above epsilon are a tail, with known masses.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        epsilon = mpf(epsilon)
        alpha = mpmath.exp(epsilon)
        half = len(list_of_atoms) // 2
        left = compose_atoms(list_of_atoms[:half], digits)
        right = compose_atoms(list_of_atoms[half:], digits)[::-1]  # by decreasing loss
        tail_p, tail_q, index = mpf(0), mpf(0), 0
        total = mpf(0)
        for loss, p_mass, q_mass in left:  # by increasing loss: the tail only grows
            while index < len(right) and right[index][0] > epsilon - loss:
                tail_p += right[index][1]
                tail_q += right[index][2]
                index += 1
            total += p_mass * tail_p - alpha * q_mass * tail_q
        return total


def epsilon_of_atoms(atoms: Sequence[Atom], delta: Real, digits: int = 60) -> mpf:
    """Return the smallest epsilon (perhaps negative) with delta_of_atoms(epsilon) <= delta.

    Between two neighboring losses the profile is A - exp(epsilon) B, with A and B the P and Q
    masses of all larger losses, so the root there is log((A - delta) / B). The result is +inf if
    delta is below the P mass of the infinite loss, and -inf if delta is at least the total mass.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        delta = mpf(delta)
        if delta < 0:
            raise ValueError("need delta >= 0")
        ordered = sorted((atom for atom in atoms if atom[1] > 0), key=itemgetter(0), reverse=True)
        losses = [loss for loss, _, _ in ordered]
        above_p = list(accumulate((p for _, p, _ in ordered), initial=mpf(0)))
        above_q = list(accumulate((q for _, _, q in ordered), initial=mpf(0)))

        def profile_at(index: int) -> mpf:
            """delta_of_atoms at losses[index]: only the atoms before index count."""
            if losses[index] == mpmath.inf:
                return mpf(0)
            return above_p[index] - mpmath.exp(losses[index]) * above_q[index]

        # The profile grows along the list: find the first loss where it exceeds delta.
        index = bisect_left(range(len(losses)), True, key=lambda i: profile_at(i) > delta)
        if index == 0:
            raise ValueError("need at least one atom with positive P mass")
        if above_p[index] <= delta and index == len(losses):
            return -mpmath.inf
        if above_q[index] == 0:  # only infinite losses lie above
            return mpmath.inf
        return mpmath.log((above_p[index] - delta) / above_q[index])


def _randomized_response_atoms(eps0: mpf, rounds: int) -> list[Atom]:
    """Return the atoms of `rounds` binary randomized responses, by decreasing loss.

    With j answers in favor of P the loss is (2 j - rounds) eps0 and the masses are binomial:
    P with success probability E / (E + 1), Q with 1 / (E + 1).
    """
    if rounds < 1 or not 0 < eps0 < mpmath.inf:
        raise ValueError("need rounds >= 1 and a finite eps0 > 0")
    big = mpmath.exp(eps0)
    p_mass = (big / (big + 1)) ** rounds
    q_mass = (1 / (big + 1)) ** rounds
    atoms: list[Atom] = []
    for j in range(rounds, -1, -1):
        atoms.append(((2 * j - rounds) * eps0, p_mass, q_mass))
        p_mass = p_mass * j / ((rounds - j + 1) * big)
        q_mass = q_mass * j * big / (rounds - j + 1)
    return atoms


def randomized_response_composition(
    eps0: Real, rounds: int, epsilon: Real, digits: int = 60
) -> mpf:
    """Return delta(epsilon) of `rounds` binary randomized responses (one user), a binomial sum.

    Every term P (1 - exp(epsilon - loss)) of the sum is positive: no cancellation.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        epsilon = mpf(epsilon)
        return mpmath.fsum(
            -p * mpmath.expm1(epsilon - loss)
            for loss, p, _ in _randomized_response_atoms(mpf(eps0), rounds)
            if loss > epsilon
        )


def randomized_response_epsilon(eps0: Real, rounds: int, delta: Real, digits: int = 60) -> mpf:
    """Return the root epsilon of randomized_response_composition(eps0, rounds, epsilon) = delta."""
    with mpmath.workdps(digits + GUARD_DIGITS):
        return epsilon_of_atoms(_randomized_response_atoms(mpf(eps0), rounds), delta, digits)


# ---------------------------------------------------------------------------------------------
# Real shuffled mechanisms
# ---------------------------------------------------------------------------------------------

Histogram: TypeAlias = tuple[int, ...]
Matrix: TypeAlias = Sequence[Sequence[Fraction]]


def _add_user(
    law: Mapping[Histogram, Fraction], row: Sequence[Fraction]
) -> dict[Histogram, Fraction]:
    """Return the law of the histogram after one more user who answers with law `row`."""
    result: dict[Histogram, Fraction] = {}
    for counts, mass in law.items():
        for output, prob in enumerate(row):
            new = (*counts[:output], counts[output] + 1, *counts[output + 1 :])
            result[new] = result.get(new, Fraction(0)) + mass * prob
    return result


def shuffled_mechanism(matrix: Matrix, dataset: Sequence[int]) -> dict[Histogram, Fraction]:
    """Return the exact law of the shuffled outputs, as {histogram of the outputs: probability}.

    `matrix[x][y]` is the probability that the local randomizer answers y on input x, and
    `dataset` lists the users' inputs. The users are added one after another.
    """
    if any(sum(row) != 1 or min(row) < 0 for row in matrix):
        raise ValueError("the rows must be probability vectors")
    law: dict[Histogram, Fraction] = {(0,) * len(matrix[0]): Fraction(1)}
    for value in dataset:
        law = _add_user(law, matrix[value])
    return law


def true_profile(matrix: Matrix, users: int, alpha: Fraction) -> Fraction:
    """Return the largest hockey-stick divergence over all pairs of neighboring datasets.

    Enumerated: every multiset of inputs of the other users - 1 users, and every ordered pair of
    different inputs of the remaining user. This is the exact profile of the shuffled mechanism.
    """
    inputs = range(len(matrix))
    best = Fraction(0)
    for others in combinations_with_replacement(inputs, users - 1):
        background = shuffled_mechanism(matrix, others)
        laws = [_add_user(background, matrix[x]) for x in inputs]
        for first, second in permutations(inputs, 2):
            pair = {y: (laws[first][y], laws[second][y]) for y in laws[first]}
            best = max(best, hockey_stick(pair, alpha))
    return best


def blanket_pair(
    u: Sequence[Fraction], v: Sequence[Fraction], blanket: Sequence[Fraction], users: int
) -> FractionPair:
    """The view of an adversary who is told which others drew from the blanket.

    Every other user sends a draw from `blanket` (a sub-probability) or, with the rest of the mass,
    a message that the adversary can tell apart and remove. Outcome: histogram of what is left,
    the differing user's message included, which has law u under P and v under Q.
    """
    total = sum(blanket, Fraction(0))
    size = len(u)
    pair: dict[Histogram, tuple[Fraction, Fraction]] = {}
    others: dict[Histogram, Fraction] = {(0,) * size: Fraction(1)}
    for left in range(users - 1, -1, -1):
        # `others`: histograms of exactly users - 1 - left blanket draws, unnormalized
        drawn = users - 1 - left
        ways = Fraction(comb(users - 1, drawn)) * (1 - total) ** left
        for histogram, mass in others.items():
            for y in range(size):
                outcome = tuple(c + (i == y) for i, c in enumerate(histogram))
                p, q = pair.get(outcome, (Fraction(0), Fraction(0)))
                pair[outcome] = (p + ways * mass * u[y], q + ways * mass * v[y])
        following: dict[Histogram, Fraction] = {}
        for histogram, mass in others.items():
            for y in range(size):
                outcome = tuple(c + (i == y) for i, c in enumerate(histogram))
                following[outcome] = following.get(outcome, Fraction(0)) + mass * blanket[y]
        others = following
    return pair


def strong_pair(k: int, gamma: Fraction, users: int) -> FractionPair:
    """The paper's strong adversary on k-ary randomized response, values 0 and 1 in question.

    It is told of every user whether they answered at random. If the user in question did, nothing
    is learnt (one outcome); if not, their value is among the random answers of the others.
    """
    uniform = [gamma / k] * k
    first = [Fraction(int(y == 0)) for y in range(k)]
    second = [Fraction(int(y == 1)) for y in range(k)]
    pair = {
        outcome: ((1 - gamma) * p, (1 - gamma) * q)
        for outcome, (p, q) in blanket_pair(first, second, uniform, users).items()
    }
    pair[()] = (gamma, gamma)
    return pair


def atoms_of_pair(pair: FractionPair, digits: int = 60) -> list[Atom]:
    """(loss, P, Q) of a rational pair; outcomes that Q cannot have get an infinite loss."""
    with mpmath.workdps(digits):
        atoms = []
        for p, q in pair.values():
            if p == 0:
                continue
            mass = mpf(p.numerator) / p.denominator
            other = mpf(q.numerator) / q.denominator
            atoms.append((mpmath.log(mass / other) if q else mpmath.inf, mass, other))
        return sorted(atoms)
