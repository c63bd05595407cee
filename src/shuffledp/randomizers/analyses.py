"""The analyses: what each proves, against whom, under which assumption, in words for a review."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import laws


def chapter(title: str) -> str:
    """How a proof is cited: the chapter by its title, since whoever reads a statement has no files.

    >>> chapter("Sampling")
    'theory of shuffledp, chapter "Sampling"'
    """
    return f'theory of shuffledp, chapter "{title}"'


SEES_ALL_BUT_ONE = (
    "sees all shuffled messages of every round and is taken to know the value of every user but "
    "one; does not see which honest user sent which message, or which messages of honest users "
    "have the same sender"
)
#: What every theorem about several users or rounds needs of their random choices.
FRESH = "with randomness that is independent of the other users' and fresh for every message"
#: When the randomizer of a round is chosen, and by what.
CHOSEN_BEFORE = (
    "chosen before any message of that round is seen (it may depend on what earlier rounds "
    "released, but not on messages, noise or samples that were not released)"
)
#: What follows the theorem of a round of all users if only a sample of them sends.
SAMPLED = (
    "then an upper bound by amplification by sampling, for each number of honest senders (Zhu, "
    f"Dong, Wang 2022, Proposition 30; {chapter('Sampling')})"
)
#: What is assumed of how many values a user sends; a round says how many.
MORE_THAN_STATED = "more values in a round than stated"
#: What noise on real numbers leaves open.
ROUNDING = "what the rounding of numbers by a computer reveals"
#: What is said of training only.
EVERY_EXAMPLE = "every example of the data"
OF_TRAINING = (
    "choices of hyperparameters or of the architecture that were made from the data in other ways "
    "than by what is counted here",
    "examples that are used for validation",
)
#: The names of all analyses of shuffled messages, from the most to the least that the adversary is
#: given.
LADDER = (
    *("strong", "clones", "stronger-clones", "variation-ratio", "approximate", "blanket"),
    *("exact", "best"),
)
_THIS_RANDOMIZER = f"every honest user applies this randomizer, {FRESH}"


@dataclass(frozen=True)
class Analysis:
    """A way to bound a shuffled round, in words that can stand in a privacy review.

    Parameters
    ----------
    name : str
        As in the option `analysis`.
    theorem : str
        What stands behind the number, with its source.
    adversary : str
        Who is protected against, and what they are given for free.
    assumption : str
        What must be true of the deployment.
    gist : str
        The adversary in a few words, for tables.
    law : callable
        From a randomizer to the law that this analysis needs.
    as_one : bool
        Whether it holds for a sample of the users as well.
    of_several : str
        What else must be true if a user sends several values in a round.

    Examples
    --------
    >>> from shuffledp import PureLDP
    >>> PureLDP(eps0=1.0).analyses["best"].name
    'stronger-clones'
    """

    name: str
    theorem: str
    adversary: str
    assumption: str
    gist: str
    law: Callable[[Any], Any]
    as_one: bool = True
    of_several: str = ""


EXACT = Analysis(
    name="exact",
    theorem=(
        "exact hockey-stick divergence of the worst neighbouring datasets of binary messages; "
        f"proof: {chapter('Binary messages')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=_THIS_RANDOMIZER,
    gist="is told nothing more; the worst datasets",
    law=lambda randomizer: randomizer.binary_law(),
    as_one=False,
)
BLANKET = Analysis(
    name="blanket",
    theorem=(
        "privacy blanket of the randomizer (Balle, Bell, Gascon, Nissim 2019), as an exact "
        f"hockey-stick divergence; proof: {chapter('A shuffled round is a sum of scores')}"
    ),
    adversary=(
        f"{SEES_ALL_BUT_ONE}; in the proof, even is told which messages of other users are "
        "independent of their values"
    ),
    assumption=_THIS_RANDOMIZER,
    gist="is told which other messages are independent of their senders' values",
    law=lambda randomizer: randomizer.blanket_law(),
)
#: The same of several questions: answers may differ in many ways, and all of them are compared.
SEVERAL = replace(
    BLANKET,
    theorem=(
        "privacy blanket of all questions together, as an exact hockey-stick divergence for the "
        "worst set of questions whose answers differ, or as an upper bound for all such sets; "
        f"proof: {chapter('Several questions')}"
    ),
)
STRONGER_CLONES = Analysis(
    name="stronger-clones",
    theorem=(
        "stronger clones with p = 1/(e^eps0 + 1) (Feldman, McMillan, Talwar 2023); proof for every "
        f"eps0-LDP randomizer: {chapter('The clone pairs')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        f"all honest users of a round apply the same eps0-LDP randomizer, {CHOSEN_BEFORE}, {FRESH}"
    ),
    gist="is told nothing more; the proof uses eps0 alone",
    law=lambda randomizer: laws.class_law.stronger_clones(randomizer.eps0),
)
VARIATION_RATIO = Analysis(
    name="variation-ratio",
    theorem=(
        "the largest divergence that the ratio p, the total variation beta and the ratio q allow "
        f"(conditions of Wang et al. 2024); proof: {chapter('Three numbers')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        "for the two values in which neighbouring datasets differ, the distributions of the "
        "message are within a factor of p of each other, have a total variation distance of at "
        "most beta, and are nowhere above q times the distribution of any other user's message; "
        f"all honest users of a round apply this randomizer, {CHOSEN_BEFORE}, {FRESH}"
    ),
    gist="is told nothing more; the proof uses these three numbers alone",
    law=lambda randomizer: randomizer.three_numbers_law(),
)
APPROXIMATE = Analysis(
    name="approximate",
    theorem=(
        "stronger clones for every (eps0, delta0)-LDP randomizer, which adds at most 2 delta0 and, "
        f"for n users, about 4 n delta0^2 to delta; proof: {chapter('(eps0, delta0)-LDP')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        "all honest users of a round apply the same (eps0, delta0)-LDP randomizer, "
        f"{CHOSEN_BEFORE}, {FRESH}"
    ),
    gist="is told nothing more; the proof uses eps0 and delta0 alone",
    law=lambda randomizer: randomizer.leaky_law(),
)
CLONES = Analysis(
    name="clones",
    theorem="hiding among the clones (Feldman, McMillan, Talwar 2021, Theorem 3.2)",
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        "all honest users of a round apply the same eps0-LDP randomizer, or all users answer one "
        "after another "
        "in random order and apply eps0-LDP randomizers that depend on the place in that order and "
        f"on earlier messages, but not on the user; in both cases {FRESH}"
    ),
    gist="is told nothing more; the proof uses eps0 alone, also if users adapt within the round",
    law=lambda randomizer: laws.class_law.clones(randomizer.eps0),
)
STRONG = Analysis(
    name="strong",
    theorem=(
        "strong adversary of Balle et al. 2019, Theorem 3.1, and Koskela, Heikkila, Honkela 2023, "
        "as an exact hockey-stick divergence"
    ),
    adversary=(
        f"{SEES_ALL_BUT_ONE}; in the proof, even is told which users, including the one in "
        "question, answered at random"
    ),
    assumption=_THIS_RANDOMIZER,
    gist="is told who answered at random, the user in question included",
    law=lambda randomizer: randomizer.strong_law(),
)
#: Where only two messages are sent, before all else.
BINARY: Mapping[str, Analysis] = {"best": EXACT, "exact": EXACT}
#: Of a randomizer whose law is known and that is eps0-LDP.
KNOWN_AND_PURE: Mapping[str, Analysis] = {
    "best": BLANKET,  # at most the others, at every alpha: docs/theory/named-randomizers.md
    "blanket": BLANKET,
    "stronger-clones": STRONGER_CLONES,
    "clones": CLONES,
}
SUMS = Analysis(
    name="sums",
    theorem=(
        "upper bound of the hockey-stick divergence of the sums: the composition of the exact ones "
        f"of all columns in which two values differ; proof: {chapter('Only the sums are seen')}"
    ),
    adversary=(
        "sees, for every round, the sums over all users whose contributions arrive and no sums "
        "over fewer of them, and is taken to know the value of every user but one; does not see "
        "what any honest user sent"
    ),
    assumption=_THIS_RANDOMIZER,
    gist="sees nothing but the sums",
    law=lambda randomizer: randomizer.sum_law(),
    as_one=False,
)
#: Of vectors whose norm is bounded.
SENSITIVITY = (
    "the L2 norm of every vector is at most {norm}, so that the L2 sensitivity of the sum is "
    "{twice} for replace-one neighbours (two vectors may be opposite) and {norm} for remove-one "
    "neighbours (zeros stand for a vector)"
)
#: What is assumed of users with different randomizers.
GROUPS_ARE_KNOWN = (
    "which user is in which group does not depend on the value in question and is not protected"
)
#: The same, of groups that hide each other.
SAME_MESSAGES = (
    "in groups that hide each other, equal outputs are sent as equal messages, and nothing about a "
    "message reveals the group"
)
#: What is said of all users, where it is true of those of one group.
_OF_THE_GROUP = {
    "every honest user applies this randomizer": (
        "every honest user applies the randomizer of the group"
    ),
    "all honest users of a round apply": "all honest users of the group apply",
    "any other user's message": "the message of any other user of the group",
}
#: Of users with different randomizers; `whom` it is for is filled in.
SHARED_BLANKET = Analysis(
    name="shared-blanket",
    theorem=(
        "privacy blanket that the randomizers of several groups share, averaged over the number of "
        "users who provide cover, for {whom}; proof: " + chapter("Users with different randomizers")
    ),
    adversary=(
        f"{SEES_ALL_BUT_ONE}; knows which user is in which group; in the proof, even is told which "
        "messages of other users are independent of their values"
    ),
    assumption=(
        "every honest user applies the randomizer of the group that the user is in, "
        f"{FRESH}; {SAME_MESSAGES}; {GROUPS_ARE_KNOWN}"
    ),
    gist="is told which other messages are independent of their senders' values",
    law=lambda round_: None,
    as_one=True,
)


def fixed_beforehand(what: str) -> str:
    """What may not depend on how many examples there are: neighbours have one more or less.

    >>> fixed_beforehand("the rate")[:60]
    'the rate, the number of steps and whatever results are divid'
    """
    return (
        f"{what}, the number of steps and whatever results are divided by are fixed beforehand and "
        "do not depend on the number of examples"
    )


def of_the_group(assumption: str) -> str:
    """What an analysis assumes of all users, for the users of one group."""
    for everybody, members in _OF_THE_GROUP.items():
        assumption = assumption.replace(everybody, members)
    return assumption
