"""Bounds of the literature, each as its paper states it, one file a paper.

They are baselines to compare with, evaluated in double precision: right to about 1e-9, roots taken
from the safe side, but without the certificate for rounding that the rest of the package carries.
Each refuses with `OutOfRange` outside its range of validity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import accountant
from ..errors import OutOfRange
from ..randomizers import ApproximateLDP, Laplace, PureLDP, RandomizedResponse
from ..shuffle import Shuffle
from . import balle2019, clone_rdp, erlingsson2019, feldman2021, girgis2021, koskela2023
from .bound import NUMERICAL, RENYI, BoundValue, PublishedBound, local_epsilon_of
from .composition_theorems import for_one_round

_PURE, _RR = "any eps0-LDP randomizer", "k-ary randomized response"
_LOOSE = ", delta(epsilon) = Pr[Z >= epsilon], a loose upper bound of the divergence"


def _pure(name: str, source: str, epsilon: Callable[[float, int, float], float]) -> PublishedBound:
    """For one round of any eps0-LDP randomizer."""
    return for_one_round(name, source, _PURE, lambda r, n, d: epsilon(local_epsilon_of(r), n, d))


def _response(
    name: str, source: str, epsilon: Callable[[int, float, int, float], float], proven: bool = True
) -> PublishedBound:
    """For one round of k-ary randomized response."""

    def rule(randomizer: Any, users: int, delta: float) -> float:
        if not isinstance(randomizer, RandomizedResponse):
            raise OutOfRange(
                f"{randomizer!r} is not k-ary randomized response, the only randomizer of this "
                "theorem; give RandomizedResponse."
            )
        return epsilon(randomizer.k, randomizer.gamma, users, delta)

    return for_one_round(name, source, _RR, rule, proven)


def _blanket(inequality: str, epsilon: Callable[[Any, int, float], float]) -> PublishedBound:
    return for_one_round(
        f"Balle et al. 2019, {inequality}",
        f"{balle2019.PAPER}, Section 5, blanket with {inequality}'s inequality",
        f"{_PURE}; sharper for k-ary randomized response and Laplace",
        lambda r, n, d: epsilon(balle2019.blanket_of(r), n, d),
    )


def _approximate(randomizer: Any, users: int, delta: float) -> float:
    if not isinstance(randomizer, ApproximateLDP) or randomizer.delta0 == 0:
        raise OutOfRange(
            f"{randomizer!r} has no delta0, which this bound is for; give ApproximateLDP."
        )
    return feldman2021.approximate(randomizer.eps0, randomizer.delta0, users, delta)


def _girgis(
    randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
) -> BoundValue:
    eps0 = local_epsilon_of(randomizer)
    if isinstance(randomizer, Laplace):
        raise OutOfRange(
            f"{randomizer!r} has a continuum of outputs, and the theorem is for discrete "
            "randomizers; give a discrete one."
        )
    return BoundValue(girgis2021.epsilon(eps0, users, sample_rate, rounds, delta), RENYI)


def _clone_rdp(name: str, analysis: str, source: str) -> PublishedBound:
    def rule(
        randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
    ) -> BoundValue:
        _refuse_samples(sample_rate)
        eps0 = local_epsilon_of(randomizer)
        value = clone_rdp.epsilon(eps0, users, rounds, delta, analysis=analysis)
        return BoundValue(value, RENYI)

    return PublishedBound(name, source, _PURE + ", composed", rule)


def _amplified(
    randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
) -> BoundValue:
    if sample_rate == 1:
        raise OutOfRange(
            "sample_rate=1 means no sampling, which this bound is for; give a sample_rate below 1."
        )
    everyone = PureLDP(local_epsilon_of(randomizer))
    round_ = Shuffle(everyone, users, "stronger-clones", sample_rate)
    return BoundValue(accountant.repeated(round_, rounds).get_epsilon(delta), NUMERICAL)


def _composed_clones(
    randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
) -> BoundValue:
    _refuse_samples(sample_rate)
    round_ = Shuffle(PureLDP(local_epsilon_of(randomizer)), users, "clones")
    return BoundValue(accountant.repeated(round_, rounds).get_epsilon(delta), NUMERICAL)


def _refuse_samples(sample_rate: float) -> None:
    if sample_rate != 1:
        raise OutOfRange(
            f"sample_rate={sample_rate:g} is below 1, and this bound does not cover sampling; "
            "give 1."
        )


#: Every bound, from the oldest to the newest.
BOUNDS: tuple[PublishedBound, ...] = (
    _pure("Erlingsson et al. 2019", erlingsson2019.SOURCE, erlingsson2019.epsilon),
    _response(
        "Balle et al. 2019, closed form", f"{balle2019.PAPER}, Theorem 3.1", balle2019.closed_form
    ),
    _blanket("Hoeffding", balle2019.hoeffding),
    _blanket("Bennett", balle2019.bennett),
    _pure(
        "Feldman et al. 2021, closed form",
        f"{feldman2021.PAPER}, Theorem 3.1",
        feldman2021.closed_form,
    ),
    _pure(
        "Feldman et al. 2021, numerical",
        f"{feldman2021.PAPER}, Theorem 3.2 evaluated in steps of the clone count",
        feldman2021.upper_numerical,
    ),
    for_one_round(
        "Feldman et al. 2021, (eps0, delta0)",
        f"{feldman2021.PAPER}, Theorem 3.2 with (e^epsilon + 1)(1 + e^-eps0/2) n delta0 paid on "
        "top, for randomizers with a delta0",
        "any (eps0, delta0)-LDP randomizer",
        _approximate,
    ),
    PublishedBound(
        "Girgis et al. 2021",
        f"{girgis2021.PAPER}; rounds add up, converted by Canonne, Kamath, Steinke 2020",
        "any discrete eps0-LDP randomizer, subsampled, composed",
        _girgis,
    ),
    _clone_rdp(
        "Feldman et al. 2021, Renyi DP",
        "clones",
        "Renyi DP of the pair of Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.2; rounds add "
        "up, converted by Canonne, Kamath, Steinke 2020",
    ),
    _clone_rdp(
        "Feldman et al. 2023, Renyi DP",
        "stronger-clones",
        "Renyi DP of the pair of Feldman, McMillan, Talwar 2023 (SODA) with p = 1/(e^eps0 + 1); "
        "rounds add up, converted by Canonne, Kamath, Steinke 2020",
    ),
    PublishedBound(
        "Feldman et al. 2023, amplified by sampling",
        "Feldman, McMillan, Talwar 2023 (SODA) with p = 1/(e^eps0 + 1), then Zhu, Dong, Wang 2022 "
        "(AISTATS), Proposition 30; composed without loss",
        _PURE + ", subsampled, composed",
        _amplified,
    ),
    PublishedBound(
        "Koskela et al. 2023, clones",
        "Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.2, composed without loss as in "
        f"{koskela2023.PAPER}",
        _PURE + ", composed",
        _composed_clones,
    ),
    _response(
        "Koskela et al. 2023, A_w with joint counts",
        f"{koskela2023.PAPER}, k-ary randomized response, adversary A_w, joint counts as in the "
        "proof" + _LOOSE,
        koskela2023.weak,
    ),
    _response(
        "Koskela et al. 2023, A_s with independent counts (not a bound)",
        f"{koskela2023.PAPER}, k-ary randomized response, adversary A_s, as printed with "
        "independent counts: too low for some parameters",
        koskela2023.strong,
        proven=False,
    ),
)

__all__ = ["BOUNDS", "BoundValue", "PublishedBound"]
