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
ADAPTIVE = (
    "adaptive: the question of a round may depend on the results of earlier rounds; the largest "
    "number of rounds, and all that is stated about them here, may not"
)
EXACT_COMPOSITION = "exact for the analyzed pair up to the width of the bracket"
#: What printed numbers are, and where the proofs are that are cited by their chapters.
CERTIFIED = "the bracket includes all numerical errors, and guarantees are rounded up"
SOURCE = "the theory of shuffledp is part of the source distribution of this version"
#: What an attacker decides, for each relation of neighbours.
AIMS = {
    "replace": "which of two values a user holds",
    "remove": "whether a user's value is present",
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
    from .. import __version__

    whom = protected_group(round_)
    relation = relation_of(round_.neighbours, rounds) + whom.removeprefix(" for the users")
    rows = [("relation", relation), *facts(round_, rounds)]
    if rounds > 1:
        rows.append(("composition", f"{ADAPTIVE}; {EXACT_COMPOSITION}"))
    rows += [("bracket", bracket) for e, _, bracket in guarantees if e != "infinity"]
    rows += more
    pairs = [(e, d) for e, d, _ in guarantees if e != "infinity" and float(d) < 1]
    if pairs:
        numbers = [(float(e), float(d)) for e, d in pairs]
        rows.append(("meaning", in_plain_words(round_.neighbours, numbers)))
    rows += caution([round_], [d for _, d in pairs])
    rows.append(("computed by", f"shuffledp {__version__}; {CERTIFIED}; {SOURCE}"))
    lines = [*(claim(*guarantee, whom) for guarantee in guarantees), ""]
    lines += [wrapped(text, f"  {name:<13}", 15, piped=PAGE) for name, text in rows]
    return "\n".join(lines)


def relation_of(neighbours: str, rounds: int) -> str:
    """Which datasets are neighbours, also those of several rounds.

    >>> relation_of("replace", 1)
    'replace-one: neighbouring datasets differ in the value of one user'
    """
    text = ": ".join(NEIGHBOURS[neighbours])
    return f"{text}; with several rounds, in all values of this user" if rounds > 1 else text


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
    return wrapped(f"The protocol is ({epsilon}, {delta})-differentially private{whom}.")


def in_plain_words(neighbours: str, pairs: Sequence[tuple[float, float]]) -> str:
    """What guarantees (epsilon, delta) together say of an attacker.

    >>> in_plain_words("replace", [(0.5, 1e-6)])[57:]
    'with a false positive rate of 1 % has a true positive rate of at most 1.649 %'
    """
    epsilon, delta = np.array(pairs).T
    found = float(true_positive_rates(epsilon, delta, np.array([_FALSE_POSITIVES]))[0])
    return (
        f"an attacker who decides {AIMS[neighbours]} with a false positive rate of "
        f"{percent(_FALSE_POSITIVES)} has a true positive rate of at most {percent_up(found)}"
    )


def facts(round_: Round, rounds: int) -> list[tuple[str, str]]:
    """What is done, against whom, what is assumed, what is not covered, what is left without trust,
    and by which theorem, each with its name."""
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
        ("not covered", _not_covered(round_)),
        ("local", without_trust(round_, rounds)),
        ("analysis", f"{analysis.name}: {analysis.theorem}"),
    ]


def _not_covered(round_: Round) -> str:
    """What the guarantee says nothing about, whatever the protocol is. That a user takes part is
    covered only where removing the value removes all that the user sends."""
    is_hidden = round_.neighbours == "remove" and not isinstance(round_, RoundOfUsers)
    whether = [] if is_hidden else ["whether somebody is one of the users"]
    beside = f"anything revealed beyond {round_.seen}, such as times or network addresses"
    everybody = "what the results say about people in general"
    return "; ".join([*whether, beside, everybody])


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
        said.append("this does not depend on sampling or on other users")
    if truth is not None:
        said.append(f"each message is the true value with probability at most {_percent(truth)}")
    return "; ".join(said)


def none_trusted(populations: Sequence[Sequence[tuple[Round, int]]]) -> str:
    """The same for a user who takes part in all entries of the worst of some populations."""
    total = max(sum(local_epsilon(*entry) for entry in entries) for entries in populations)
    which = "together" if len(populations) == 1 else "of the worst population"
    left = "there is no guarantee at delta = 0" if math.isinf(total) else _left(total)
    return f"if only the users are trusted, {left} for all entries {which}"


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
