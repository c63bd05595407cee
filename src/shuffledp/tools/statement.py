"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .._support.text import PAGE, at_most, percent, percent_up, plain, rounded_up, wrapped
from ..bounds.readings import true_positive_rates
from ..guarantee import Mechanism
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
_ALL_ANSWER = (
    "this holds only if every user who is asked answers; the option dropouts, such as 20%, says "
    "how many may send nothing for reasons other than their own value"
)
_UNKNOWN = (
    "how many {0} there are is not known here: delta has to be far below 1 divided by the number "
    "of {0}"
)
_NEARLY_NOTHING = (
    "this guarantee excludes nearly nothing: it allows a true positive rate of {} at a false "
    "positive rate of {}"
)
#: Who has to be trusted, by the view.
TRUSTED = {
    "shuffle": "the shuffler",
    "aggregate": "the aggregator",
    "threshold": "the server that counts the reports",
    "allocation": "the trainer",
    "central": "the curator",
}
#: Against whom nothing but a local guarantee protects, by the view, and what they have then.
_UNTRUSTED = {
    view: f"against {who} itself, and anyone who learns what it receives"
    for view, who in TRUSTED.items()
} | {
    "aggregate": (
        "against servers or users who conspire beyond what the aggregation tolerates, and anyone "
        "who learns what single users send"
    )
}
_GIVEN_AWAY = {
    "threshold": "true values are sent there",
    "allocation": "it has the examples",
    "central": "it has the true data",
}
#: What is assumed of several rounds, what else may depend on results, and where that is proven.
FIXED = (
    "the largest number of rounds and everything else that is stated here is fixed before the "
    "first round"
)
COMPOSITION = (
    "which question is asked in a round, and of which data, may depend on what earlier rounds "
    "released; the composition is exact for the analyzed pair up to the width of the bracket; "
    f"proof: {chapter('Composition')}"
)
#: What printed numbers are, and where the proofs are that are cited by their chapters.
CERTIFIED = (
    "the bracket includes all numerical errors, and the value of the protocol itself is at most "
    "its upper end, if the program has no error and the computer is as assumed (theory of "
    'shuffledp, "What is assumed of the computer")'
)
NO_WARRANTY = "none; nothing here is certified by an authority or another party"
#: Who is protected as one, by what neighbouring datasets differ in.
_ALONE = "is protected for each of them alone, not for all together"
UNITS = {
    "user": f"one user, such as a device or an account; a person with several {_ALONE}",
    "example": f"one example of the data; a person with several {_ALONE}",
}
#: What is outside of every guarantee for some rounds.
OTHER_RELEASES = "other collections or releases about the same {}s, earlier or later"
#: True positive rates from which on an adversary is as good as right.
_NEARLY_SURE = 0.99


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
    numbers = [(float(e), float(d)) for e, d in pairs]
    if pairs:
        meant = in_plain_words(aim([round_], rounds), numbers)
        rows.append(("meaning", f"{meant}; `shuffledp risk` can give less"))
    rows += caution([round_], [d for _, d in pairs], numbers)
    claims = [claim(*guarantee, whom, round_.idealised) for guarantee in guarantees]
    return "\n".join([*claims, "", *_lines([*rows, *_computed_by()])])


def background(round_: Round, rounds: int) -> str:
    """What a statement says beside its guarantees and what follows from them."""
    rows = [*context(round_, rounds), *caution([round_], [])]
    return "\n".join(_lines([*rows, *_computed_by()]))


def context(round_: Round, rounds: int) -> list[tuple[str, str]]:
    """The relation, the unit, the facts of the rounds and how they are composed, each with its
    name."""
    whom = protected_group(round_)
    relation = relation_of(round_, rounds) + whom.removeprefix(" for the users")
    rows = [("relation", relation), ("unit", UNITS[round_.member])]
    rows.append(("protected", round_.protected_ones))
    fixed = [FIXED] if rounds > 1 else []
    rows += facts(round_, rounds, fixed, [OTHER_RELEASES.format(round_.member)])
    return [*rows, ("composition", COMPOSITION)] if rounds > 1 else rows


def _computed_by() -> list[tuple[str, str]]:
    from .. import __version__

    theory = f"the theory is part of the source distribution shuffledp-{__version__}.tar.gz"
    return [
        ("computed by", f"shuffledp {__version__}; {CERTIFIED}; {theory}"),
        ("warranty", NO_WARRANTY),
    ]


def _lines(rows: Sequence[tuple[str, str]]) -> list[str]:
    return [wrapped(text, f"  {name:<13}", 15, piped=PAGE) for name, text in rows]


def relation_of(round_: Round, rounds: int) -> str:
    """Which datasets are neighbours, also those of several rounds.

    >>> from shuffledp import PureLDP, Shuffle
    >>> relation_of(Shuffle(PureLDP(4.0), users=10_000), 1)
    'replace-one: neighbouring datasets differ in the value of one user'
    """
    text = f"{round_.relation}: {round_.differing}"
    return f"{text}; with several rounds, in any or all of them" if rounds > 1 else text


def caution(
    rounds: Sequence[Round], deltas: Sequence[str], pairs: Sequence[tuple[float, float]] = ()
) -> list[tuple[str, str]]:
    """Lines about users who are assumed to answer; about the first delta that is too large, and the
    first that is too small for a local delta0, to say much, if there are such; and about guarantees
    (epsilon, delta) that exclude nearly nothing.

    Where the number of users is not known, it is said what that leaves open.
    """
    of_users = [round_ for round_ in rounds if isinstance(round_, RoundOfUsers)]
    users = [r.users for r in rounds if isinstance(r, RoundOfUsers | MixedShuffle)]
    large = [delta for delta in deltas if users and float(delta) * min(users) >= 1]
    said = [_ALL_ANSWER] if any(_all_answer(round_) for round_ in rounds) else []
    said += [_CAUTION.format(large[0])] if large else []
    if not users and deltas:
        of = {round_.member for round_ in rounds}
        said.append(_UNKNOWN.format("examples" if of == {"example"} else "users"))
    if pairs and (found := _true_positives(pairs)) >= _NEARLY_SURE:
        said.append(_NEARLY_NOTHING.format(percent_up(found), percent(_FALSE_POSITIVES)))
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


def _all_answer(round_: Round) -> bool:
    """Whether nobody of the users of a round may drop out."""
    if isinstance(round_, MixedShuffle):
        return not (round_.dropouts or any(group.dropouts for group in round_.groups))
    return isinstance(round_, RoundOfUsers) and not round_.dropouts


def protected_group(round_: Round) -> str:
    """For whom a guarantee is that is not for every user, to end a sentence."""
    if isinstance(round_, MixedShuffle) and round_.protects is not None:
        return f" for {round_.whom}"
    return ""


def claim(epsilon: str, delta: str, why: str, whom: str = "", idealised: str = "") -> str:
    """The first sentence: what is certified, or why nothing is; `whom` says for whom, if that is
    not every user, and `idealised` of what, if that is not what is carried out."""
    if epsilon == "infinity":
        text = f"No epsilon is certified at delta = {delta} by this analysis{whom}: {why}"
        return wrapped(text, piped=PAGE)
    if float(delta) >= 1:
        return wrapped(
            f"Nothing is guaranteed: any protocol at all is ({epsilon}, 1)-differentially private."
        )
    of = f", idealised {idealised}," if idealised else ""
    pair = private(epsilon, delta)
    return wrapped(f"Under the assumptions below, the protocol{of} is {pair}{whom}.")


def private(epsilon: str, delta: str) -> str:
    """What is claimed, with both numbers by their names."""
    return f"differentially private with epsilon = {epsilon} and delta = {delta}"


def aim(rounds: Sequence[Mechanism], count: int) -> str:
    """What an attacker tests.

    >>> from shuffledp import PureLDP, Shuffle
    >>> aim([Shuffle(PureLDP(4.0), users=10_000)], count=5)
    'which of two series of values a user holds'
    """
    if any(each.neighbours == "replace" for each in rounds):
        return f"which of two {'series of ' if count > 1 else ''}values a user holds"
    if all(getattr(each, "member", "") == "example" for each in rounds):
        return "whether an example is in the data"
    return f"whether a user's {'values are' if count > 1 else 'value is'} present"


def in_plain_words(tested: str, pairs: Sequence[tuple[float, float]]) -> str:
    """What guarantees (epsilon, delta) alone say of the adversary, who tests something.

    >>> in_plain_words("which of two values a user holds", [(0.5, 1e-6)])[-86:]
    'positive rate of 1 %, the true positive rate is at most 1.649 %; by guessing it is 1 %'
    """
    known = "this epsilon and delta" if len(pairs) == 1 else "these epsilons and deltas together"
    rate, most = percent(_FALSE_POSITIVES), percent_up(_true_positives(pairs))
    return (
        f"from {known} alone: if the adversary tests {tested}, with a false positive rate of "
        f"{rate}, the true positive rate is at most {most}; by guessing it is {rate}"
    )


def _true_positives(pairs: Sequence[tuple[float, float]]) -> float:
    """The largest true positive rate that guarantees (epsilon, delta) together allow."""
    epsilon, delta = np.array(pairs).T
    return float(true_positive_rates(epsilon, delta, np.array([_FALSE_POSITIVES]))[0])


def facts(
    round_: Round, rounds: int, assumed: Sequence[str] = (), uncovered: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """What is done, against whom, what is assumed, what is not covered, what is left without trust,
    and by which theorem, each with its name. What else is assumed or not covered may be added."""
    analysis = round_.explained
    times = f"one {round_.noun}" if rounds == 1 else f"{rounds:,} {round_.noun}s"
    return [
        (
            "protocol",
            f"{times} of {round_.participants}; {round_.mechanism_label}: {round_.described}",
        ),
        ("adversary", analysis.adversary),
        ("assumed", "; ".join([*round_.assumptions, *assumed])),
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
    return [
        *whether,
        *round_.uncovered,
        f"what is learned in other ways than from {round_.seen}, such as from times, sizes or "
        "network addresses",
        "what follows for a person from what is true of people in general",
        "whether the results are anonymous in a legal sense",
    ]


def without_trust(round_: Round, rounds: int) -> str:
    """The guarantee against whoever is trusted with the messages, which needs no trust.

    >>> from shuffledp import PureLDP, Shuffle
    >>> without_trust(Shuffle(PureLDP(4.0), users=10_000), rounds=5)[116:]
    ', which is practically none: 5 rounds times the eps0 = 4 of each message'
    """
    against = _UNTRUSTED[round_.view]
    if isinstance(round_, MixedShuffle):
        total = local_epsilon(round_, rounds)
        if math.isinf(total):
            return f"{against}, no guarantee is stated: a message has no local eps0"
        return f"{against}, {_left(total)} for {round_.whom}{_practically(total)}"
    if not isinstance(round_, RoundOfUsers):
        return f"{against}, there is no guarantee: {_GIVEN_AWAY[round_.view]}"
    randomizer, messages = round_.randomizer, round_.messages
    truth = randomizer.truth_probability
    if truth == 1:
        return f"{against}, there is no guarantee: every user sends the true value"
    if math.isinf(randomizer.local_eps0):
        return f"{against}, no guarantee is stated: {randomizer.no_local_eps0}"
    times = [f"{rounds:,} rounds"] if rounds > 1 else []
    times += [f"{messages:,} {round_.sent}"] if messages > 1 else []
    one = round_.sent.removesuffix("s")
    product = " times ".join([*times, f"the eps0 = {at_most(_local_eps0(round_))} of each {one}"])
    total = local_epsilon(round_, rounds)
    left = f"{against}, {_left(total)}{_practically(total)}"
    said = [f"{left}: {product}" if times else left]
    if round_.sample_rate < 1 or round_.honest < round_.users:
        said.append("this depends neither on sampling nor on other users")
    if truth is not None:
        said.append(
            f"a device sends the true value with probability at most {_percent(truth)}; how sure "
            "whoever sees a message may be of the value is another matter: if the value is common, "
            "or from several messages of a user, far surer"
        )
    return "; ".join(said)


def none_trusted(populations: Sequence[Sequence[tuple[Round, int]]]) -> str:
    """The same for a user who takes part in all entries of the worst of some populations."""
    total = max(sum(local_epsilon(*entry) for entry in entries) for entries in populations)
    which = "together" if len(populations) == 1 else "of the worst population"
    if math.isinf(total):
        entries = [each for entries in populations for each, _ in entries]
        exposed = [each for each in entries if math.isinf(local_epsilon(each, 1))]
        true = [each for each in exposed if _has_true_values(each)]
        whom = " and ".join(dict.fromkeys(TRUSTED[each.view] for each in true or exposed))
        if true:
            return (
                f"without trust in {whom} there is no guarantee for all entries {which}: true "
                "values are seen there"
            )
        return (
            f"without trust in {whom} no guarantee is stated for all entries {which}: see the line "
            "of this name in each entry"
        )
    left = f"{_left(total)} for all entries {which}"
    return f"if a user can trust nothing but the own device, {left}{_practically(total)}"


def _has_true_values(round_: Round) -> bool:
    """Whether whoever is trusted is given the true values."""
    if isinstance(round_, RoundOfUsers):
        return round_.randomizer.truth_probability == 1
    return not isinstance(round_, MixedShuffle)


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


def _practically(epsilon: float) -> str:
    """What is added of an epsilon that excludes nearly nothing."""
    return (
        ", which is practically none" if _true_positives([(epsilon, 0.0)]) >= _NEARLY_SURE else ""
    )


def _percent(share: Fraction) -> str:
    """Rounded up."""
    return f"{rounded_up(100 * share)} %"  # type: ignore[arg-type]
