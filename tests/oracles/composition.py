"""Products of pairs: the composition of rounds, atom by atom."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter

import mpmath
from mpmath import mpf

from .common import DIGITS, GUARD_DIGITS, Atom, FractionPair, Real

LOSS_BITS = 190
"""Composed losses are rounded to multiples of 2**-190 (about 6e-58), so equal sums coincide."""


def compose_atoms(list_of_atoms: Sequence[Sequence[Atom]], digits: int = DIGITS) -> list[Atom]:
    """Return the atoms of the product of several atom lists, by increasing loss.

    Every combination of atoms is enumerated: losses add, P masses and Q masses multiply. Losses
    are first rounded to multiples of 2**-LOSS_BITS, so that equal sums are equal integers, and
    such combinations are merged. An infinite loss stays infinite.
    """
    return list(_composed(tuple(map(tuple, list_of_atoms)), digits))


@lru_cache(maxsize=32)  # the same product is asked for at many epsilons
def _composed(list_of_atoms: tuple[tuple[Atom, ...], ...], digits: int) -> tuple[Atom, ...]:
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
        return tuple(result)


def delta_of_atoms(atoms: Sequence[Atom], epsilon: Real, digits: int = DIGITS) -> mpf:
    """Return the sum over the atoms with loss > epsilon of P - exp(epsilon) Q.

    With Q = P exp(-loss) this is the sum of P (1 - exp(epsilon - loss))_+.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        epsilon = mpf(epsilon)
        alpha = mpmath.exp(epsilon)
        return mpmath.fsum(p - alpha * q for loss, p, q in atoms if loss > epsilon)


def delta_of_product(list_of_atoms: Sequence[Sequence[Atom]], epsilon: Real) -> mpf:
    """Return delta_of_atoms(compose_atoms(list_of_atoms), epsilon) without the full product.

    The first and the second half of the lists are composed. For each atom of the first half, the
    atoms of the second half that bring the loss above epsilon are a tail, with known masses.
    """
    with mpmath.workdps(DIGITS + GUARD_DIGITS):
        epsilon = mpf(epsilon)
        alpha = mpmath.exp(epsilon)
        half = len(list_of_atoms) // 2
        left = compose_atoms(list_of_atoms[:half])
        right = compose_atoms(list_of_atoms[half:])[::-1]  # by decreasing loss
        tail_p, tail_q, index = mpf(0), mpf(0), 0
        total = mpf(0)
        for loss, p_mass, q_mass in left:  # by increasing loss: the tail only grows
            while index < len(right) and right[index][0] > epsilon - loss:
                tail_p += right[index][1]
                tail_q += right[index][2]
                index += 1
            total += p_mass * tail_p - alpha * q_mass * tail_q
        return total


def epsilon_of_atoms(atoms: Sequence[Atom], delta: Real) -> mpf:
    """Return the smallest epsilon (perhaps negative) with delta_of_atoms(epsilon) <= delta.

    Between two neighboring losses the profile is A - exp(epsilon) B, with A and B the P and Q
    masses of all larger losses, so the root there is log((A - delta) / B). The result is +inf if
    delta is below the P mass of the infinite loss, and -inf if delta is at least the total mass.
    """
    with mpmath.workdps(DIGITS + GUARD_DIGITS):
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


@cache
def _randomized_response_atoms(eps0: Real, rounds: int) -> tuple[Atom, ...]:
    """Return the atoms of `rounds` binary randomized responses, by decreasing loss.

    With j answers in favor of P the loss is (2 j - rounds) eps0 and the masses are binomial:
    P with success probability E / (E + 1), Q with 1 / (E + 1).
    """
    with mpmath.workdps(DIGITS + GUARD_DIGITS):
        eps0 = mpf(eps0)
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
        return tuple(atoms)


def randomized_response_composition(eps0: Real, rounds: int, epsilon: Real) -> mpf:
    """Return delta(epsilon) of `rounds` binary randomized responses (one user), a binomial sum."""
    return delta_of_atoms(_randomized_response_atoms(eps0, rounds), epsilon)


def randomized_response_epsilon(eps0: Real, rounds: int, delta: Real) -> mpf:
    """Return the root epsilon of randomized_response_composition(eps0, rounds, epsilon) = delta."""
    return epsilon_of_atoms(_randomized_response_atoms(eps0, rounds), delta)


def atoms_of_pair(pair: FractionPair) -> list[Atom]:
    """(loss, P, Q) of a rational pair; outcomes that Q cannot have get an infinite loss."""
    with mpmath.workdps(DIGITS):
        atoms = []
        for p, q in pair.values():
            if p == 0:
                continue
            mass = mpf(p.numerator) / p.denominator
            other = mpf(q.numerator) / q.denominator
            atoms.append((mpmath.log(mass / other) if q else mpmath.inf, mass, other))
        return sorted(atoms)


def symmetric_pair(
    profile: Callable[[Fraction], Fraction], kinks: Iterable[Fraction]
) -> FractionPair:
    """The pair whose profile is the symmetric closure of a polygon in alpha >= 1.

    `profile` is convex, linear between the kinks and 0 from the last one on. A bend of the slope is
    a Q-mass, alpha times it a P-mass; losses below 0 are mirror images, and the rest has loss 0.
    """
    corners = [Fraction(1), *sorted({kink for kink in kinks if kink > 1})]
    values = [profile(alpha) for alpha in corners]
    slopes = [(d - c) / (b - a) for (a, c), (b, d) in pairwise(zip(corners, values, strict=True))]
    pair: FractionPair = {}
    for i, (alpha, bend) in enumerate(
        (alpha, after - before)
        for alpha, (before, after) in zip(
            corners[1:], pairwise([*slopes, Fraction(0)]), strict=True
        )
    ):
        pair[1, i] = (alpha * bend, bend)
        pair[-1, i] = (bend, alpha * bend)
    rest = 1 - sum((p for p, _ in pair.values()), Fraction(0))
    pair[0, 0] = (rest, rest)
    return pair
