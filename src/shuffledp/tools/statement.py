"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .._support.text import PAGE, at_most, percent, percent_up, plain, rounded_up, wrapped
from ..bounds.readings import true_positive_rates
from ..guarantee import NEIGHBOURS
from ..mixed import MixedShuffle
from ..randomizers.analyses import chapter
from ..rounds import Round, RoundOfUsers
from .protocol import round_of_users

_FALSE_POSITIVES = 0.01  # the rate at which an attacker's success is stated
_CAUTION = (
    "delta = {} is at least 1/users: publishing the value of one user drawn at random would "
    "satisfy that delta with epsilon = 0; choose a delta far below 1/users"
)
_LEAKS = (
    "{} users times delta0 = {} is {}, at least delta = {}: (eps0, delta0)-LDP allows a randomizer "
    "that publishes every user's value with probability delta0, so that some value is published "
    "with about that probability; choose a delta0 far below delta/users"
)
#: Who has to be trusted, by the view.
_TRUSTED = {
    "shuffle": "the shuffler",
    "aggregate": "the aggregator",
    "threshold": "the server that counts the reports",
    "allocation": "the trainer",
    "central": "the curator",
}
#: What a composition of a fixed number of rounds covers.
COMPOSITION = (
    "adaptive: what is asked in a round may depend on what earlier rounds released; the largest "
    "number of rounds and everything else that is stated here must be fixed before the first "
    "round; the composition is exact for the analyzed pair up to the width of the bracket; "
    f"proof: {chapter('Composition')}"
)
#: What printed numbers are, and where the proofs are that are cited by their chapters.
CERTIFIED = (
    "by the proofs that are cited, the bracket includes all numerical errors if the program has no "
    'error and the computer is as assumed (theory of shuffledp, "What is assumed of the '
    'computer"); the value of the protocol itself is at most the upper one, and may be below the '
    "lower one; guarantees are rounded up; there is no warranty"
)
SOURCE = "the theory of shuffledp is part of the source distribution of this version"
#: Who is protected as one.
UNIT = (
    "one user, such as a device, an account or a training example; a person who is several users "
    "is protected for each of them by itself, not for all together"
)
#: What is outside of every guarantee for some rounds.
OTHER_RELEASES = "other collections or releases about the same users, earlier or later"
#: What an attacker decides, for each relation of neighbours; and the same of several rounds.
AIMS = {
    "replace": ("which of two values a user holds", "which of two series of values a user holds"),
    "remove": ("whether a user's value is present", "whether a user's values are present"),
}


def statement(
    round_: Round,
    rounds: int,
    guarantees: Sequence[tuple[str, str, str]],
    more: Sequence[tuple[str, str]] = (),
) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why). `more` lines
    follow the brackets, each with its name.
    """
    whom = protected_group(round_)
    rows = context(round_, rounds)
    rows += [("bracket", bracket) for e, _, bracket in guarantees if e != "infinity"]
    rows += more
    pairs = [(e, d) for e, d, _ in guarantees if e != "infinity" and float(d) < 1]
    if pairs:
        numbers = [(float(e), float(d)) for e, d in pairs]
        rows.append(("meaning", in_plain_words(round_.neighbours, rounds, numbers)))
    rows += caution([round_], [d for _, d in pairs])
    claims = [claim(*guarantee, whom) for guarantee in guarantees]
    return "\n".join([*claims, "", *_lines([*rows, _computed_by()])])


def background(round_: Round, rounds: int) -> str:
    """What a statement says beside its guarantees and what follows from them."""
    return "\n".join(_lines([*context(round_, rounds), _computed_by()]))


def context(round_: Round, rounds: int) -> list[tuple[str, str]]:
    """The relation, the unit, the facts of the rounds and how they are composed, each with its
    name."""
    whom = protected_group(round_)
    relation = relation_of(round_.neighbours, rounds) + whom.removeprefix(" for the users")
    rows = [("relation", relation), ("unit", UNIT), *facts(round_, rounds, OTHER_RELEASES)]
    return [*rows, ("composition", COMPOSITION)] if rounds > 1 else rows


def _computed_by() -> tuple[str, str]:
    from .. import __version__

    return "computed by", f"shuffledp {__version__}; {CERTIFIED}; {SOURCE}"


def _lines(rows: Sequence[tuple[str, str]]) -> list[str]:
    return [wrapped(text, f"  {name:<13}", 15, piped=PAGE) for name, text in rows]


def relation_of(neighbours: str, rounds: int) -> str:
    """Which datasets are neighbours, also those of several rounds.

    >>> relation_of("replace", 1)
    'replace-one: neighbouring datasets differ in the value of one user'
    """
    text = ": ".join(NEIGHBOURS[neighbours])
    return f"{text}; with several rounds, in any or all values of this user" if rounds > 1 else text


def caution(rounds: Sequence[Round], deltas: Sequence[str]) -> list[tuple[str, str]]:
    """Lines about the first delta that is too large, and the first that is too small for a local
    delta0, to say much, if there are such.

    A round of unknown size, as below a threshold, does not count.
    """
    of_users = [round_ for round_ in rounds if isinstance(round_, RoundOfUsers)]
    users = [r.users for r in rounds if isinstance(r, RoundOfUsers | MixedShuffle)]
    large = [delta for delta in deltas if users and float(delta) * min(users) >= 1]
    said = [_CAUTION.format(large[0])] if large else []
    groups = [group for r in rounds if isinstance(r, MixedShuffle) for group in r.protected]
    known = [(each.users, each.randomizer) for each in of_users]
    known += [(group.users, group.randomizer) for group in groups]
    leaks = [(n, getattr(randomizer, "delta0", 0.0)) for n, randomizer in known]
    small = [
        _LEAKS.format(f"{n:,}", plain(delta0), at_most(n * delta0), delta)
        for n, delta0 in leaks
        for delta in deltas
        if delta0 and n * delta0 >= float(delta)
    ]
    return [("caution", text) for text in [*said, *small[:1]]]


def protected_group(round_: Round) -> str:
    """For whom a guarantee is that is not for every user, to end a sentence."""
    if isinstance(round_, MixedShuffle) and round_.protects is not None:
        return f" for {round_.whom}"
    return ""


def claim(epsilon: str, delta: str, why: str, whom: str = "") -> str:
    """The first sentence: what is certified, or why nothing is; `whom` says for whom, if that is
    not every user."""
    if epsilon == "infinity":
        text = f"No epsilon is certified at delta = {delta} by this analysis{whom}: {why}"
        return wrapped(text, piped=PAGE)
    if float(delta) >= 1:
        return wrapped(
            f"Nothing is guaranteed: any protocol at all is ({epsilon}, 1)-differentially private."
        )
    pair = f"({epsilon}, {delta})-differentially private"
    return wrapped(f"Under the assumptions below, the protocol is {pair}{whom}.")


def in_plain_words(neighbours: str, rounds: int, pairs: Sequence[tuple[float, float]]) -> str:
    """What guarantees (epsilon, delta) together say of the adversary.

    >>> in_plain_words("replace", 1, [(0.5, 1e-6)])[68:]
    'with a false positive rate of 1 % has a true positive rate of at most 1.649 %'
    """
    together = "of all guarantees together: " if len(pairs) > 1 else ""
    epsilon, delta = np.array(pairs).T
    found = float(true_positive_rates(epsilon, delta, np.array([_FALSE_POSITIVES]))[0])
    return (
        f"{together}an adversary as stated who decides {AIMS[neighbours][rounds > 1]} with a false "
        f"positive rate of {percent(_FALSE_POSITIVES)} has a true positive rate of at most "
        f"{percent_up(found)}"
    )


def facts(round_: Round, rounds: int, *uncovered: str) -> list[tuple[str, str]]:
    """What is done, against whom, what is assumed, what is not covered, what is left without trust,
    and by which theorem, each with its name. What else is not covered may be added."""
    analysis = round_.explained
    times = f"one {round_.noun}" if rounds == 1 else f"{rounds:,} {round_.noun}s"
    return [
        (
            "protocol",
            f"{times} of {round_.participants}; {round_.mechanism_label}: {round_.described}",
        ),
        ("adversary", analysis.adversary),
        ("assumed", "; ".join(round_.assumptions)),
        *round_.remarks,
        ("not covered", "; ".join([*_not_covered(round_), *uncovered])),
        ("local", without_trust(round_, rounds)),
        ("analysis", f"{analysis.name}: {analysis.theorem}"),
    ]


def _not_covered(round_: Round) -> list[str]:
    """What the guarantee says nothing about, whatever the protocol is. That a user takes part is
    covered only where removing the value removes all that the user sends."""
    is_hidden = round_.neighbours == "remove" and not isinstance(round_, RoundOfUsers)
    whether = [] if is_hidden else ["whether somebody is one of the users"]
    fewer = isinstance(round_, RoundOfUsers | MixedShuffle)
    return [
        *whether,
        *(["rounds with fewer users than stated"] if fewer else []),
        f"what others than {_TRUSTED[round_.view]} reveal or observe beyond {round_.seen}, such as "
        "times, sizes or network addresses",
        "what the results say about people in general",
    ]


def without_trust(round_: Round, rounds: int) -> str:
    """The guarantee against whoever is trusted with the messages, which needs no trust.

    >>> from shuffledp import PureLDP, Shuffle
    >>> without_trust(Shuffle(PureLDP(4.0), users=10_000), rounds=5)[69:]
    'the guarantee is only epsilon = 20 at delta = 0: 5 rounds times eps0 = 4'
    """
    against = f"against {_TRUSTED[round_.view]} itself, and anyone who learns what it receives"
    if isinstance(round_, MixedShuffle):
        total = local_epsilon(round_, rounds)
        if math.isinf(total):
            return f"{against}, there is no guarantee at delta = 0: a message has no local eps0"
        return f"{against}, {_left(total)} for {round_.whom}"
    if not isinstance(round_, RoundOfUsers):
        return f"{against}, there is no guarantee: true values are sent there"
    randomizer, messages = round_.randomizer, round_.messages
    truth = randomizer.truth_probability
    if truth == 1:
        return f"{against}, there is no guarantee: every user sends the true value"
    if math.isinf(randomizer.local_eps0):
        return f"{against}, there is no guarantee at delta = 0: {randomizer.no_local_eps0}"
    times = [f"{rounds:,} rounds"] if rounds > 1 else []
    times += [f"{messages:,} {round_.sent}"] if messages > 1 else []
    product = " times ".join([*times, f"eps0 = {at_most(_local_eps0(round_))}"])
    left = f"{against}, {_left(local_epsilon(round_, rounds))}"
    said = [f"{left}: {product}" if times else left]
    if round_.sample_rate < 1 or round_.honest < round_.users:
        said.append("this depends neither on sampling nor on other users")
    if truth is not None:
        said.append(
            f"a single message is the true value with probability at most {_percent(truth)}; from "
            "several messages of a user, or if the value is common, far more may be concluded"
        )
    return "; ".join(said)


def none_trusted(populations: Sequence[Sequence[tuple[Round, int]]]) -> str:
    """The same for a user who takes part in all entries of the worst of some populations."""
    total = max(sum(local_epsilon(*entry) for entry in entries) for entries in populations)
    which = "together" if len(populations) == 1 else "of the worst population"
    left = "there is no guarantee at delta = 0" if math.isinf(total) else _left(total)
    return f"if a user can trust nothing but the own device, {left} for all entries {which}"


def local_epsilon(round_: Round, rounds: int) -> float:
    """The epsilon at delta = 0 of all messages of one user whose sender is known: it is the sum of
    their eps0, also if later rounds depend on earlier ones. Infinite if there is none."""
    if isinstance(round_, MixedShuffle):
        return rounds * round_.local_eps0
    if not isinstance(round_, RoundOfUsers):
        return math.inf
    return rounds * round_.messages * _local_eps0(round_)


def _local_eps0(round_: RoundOfUsers) -> float:
    """The local eps0 for the neighbours of the round: a vector and the zeros that stand for a
    missing one may differ in more than two vectors of values do."""
    eps0 = round_.randomizer.local_eps0
    if round_.neighbours == "replace" or math.isinf(eps0):
        return eps0
    alone = round_of_users(round_.randomizer, 1, view=round_.view, neighbours=round_.neighbours)
    return max(eps0, alone.get_epsilon(0.0))


def _left(epsilon: float) -> str:
    return f"the guarantee is only epsilon = {at_most(epsilon)} at delta = 0"


def _percent(share: Fraction) -> str:
    """Rounded up."""
    return f"{rounded_up(100 * share)} %"  # type: ignore[arg-type]
