"""What all rounds have in common: what they say of themselves, and who takes part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from . import composition, profiles
from ._support import validate
from ._support.tables import html_facts
from ._support.text import plain, several
from .errors import InvalidParameter
from .guarantee import NEIGHBOURS, Mechanism
from .randomizers import Analysis, Randomizer
from .randomizers.analyses import MORE_THAN_STATED, SAMPLED, chapter

if TYPE_CHECKING:  # loaded with the first question
    from .profiles.base import Parts, PrivacyProfile
    from .profiles.sender_count import SenderCount

#: How those who send may be drawn.
KINDS_OF_SAMPLES = ("fixed", "poisson")
#: Options that say who does not follow the protocol and how much each user sends, as usual.
PEOPLE_DEFAULTS = {"colluding": 0, "dropouts": 0, "messages": 1}
#: What users do who do not follow the protocol.
DEVIATIONS = (
    "collude with the adversary, even later, or deviate from the protocol",
    "drop out",
)
#: What is cited for them.
_SUBTRACTED = f"how colluders and drop-outs are subtracted: {chapter('Users who provide no cover')}"
#: What is said of several messages of a user, and of users who are drawn at random.
TOGETHER = "which may all change between neighbouring datasets and are protected together"
#: Whom a guarantee is for where users follow a protocol: the theory of users without cover.
FOLLOWS = (
    "every user{} who follows the protocol in every round, also one from whom nothing arrives in "
    "some of them, if that does not depend on this user's value"
)
DRAWN = (
    "afresh in every round and independently of all values; the adversary learns how many were "
    "drawn, but not who"
)


def deviating(said: Sequence[str], sampled: bool) -> str:
    """Who is assumed not to follow the protocol, for a statement: nobody, or those who are said.

    >>> deviating(["at most 3 users drop out"], sampled=False)[:70]
    'in each round at most 3 users drop out, and no other user drops out, c'
    """
    if not said:
        return (
            "no user colludes with the adversary, even later, deviates from the protocol or drops "
            "out"
        )
    drawn = ", nor on who is drawn" if sampled else ""
    return (
        f"in each round {' and '.join(said)}, and no other user drops out, colludes or deviates; "
        "these may be any users, other ones in each round, and who they are may depend on other "
        "users' values and on what earlier rounds released, but neither on the value of the user "
        f"who is protected nor on what anybody sends in the round{drawn}"
    )


def in_full(randomizer: Randomizer) -> str:
    """What a message is, in words and as described."""
    return ": ".join(text for text in (randomizer.in_words, randomizer.describe()) if text)


class Round(Mechanism):
    """One collection of data, as an adversary sees it. Statements, reports, ledgers and titles ask
    it what to say."""

    #: What the adversary sees, as on the command line, and what such a round is called.
    view: ClassVar[str]
    noun: ClassVar[str]
    #: What is done to one value.
    mechanism_label: ClassVar[str] = "local randomizer"
    seen: ClassVar[str]  # in a word or two
    trusted: ClassVar[str]  # an assumption, as a sentence: who has to be trusted with what
    #: Whose data neighbouring datasets differ in: those of a user, or an example of training.
    member: ClassVar[str] = "user"

    @property
    @abstractmethod
    def explained(self) -> Analysis:
        """Theorem, adversary and assumption behind the numbers."""

    @property
    @abstractmethod
    def crowd(self) -> str:
        """Number of users who send in each round, and what is unusual about them, as text for a
        table."""

    @property
    @abstractmethod
    def participants(self) -> str:
        """Description of who sends in each round, for a sentence."""

    @property
    @abstractmethod
    def inside(self) -> str:
        """Short description of what happens to a value, for titles and tables."""

    @property
    def described(self) -> str:
        """Description of what happens to a value, for a statement."""
        return self.inside

    @property
    def people(self) -> str:
        """Assumption about who follows the protocol; empty if that does not matter."""
        return ""

    @property
    def differing(self) -> str:
        """What neighbouring datasets are, as a clause."""
        if self.neighbours == "remove" and self.removed:
            return f"neighbouring datasets differ in whether {self.removed}"
        return NEIGHBOURS[self.neighbours][1]

    @property
    def removed(self) -> str:
        """What remove-one neighbours differ in, after "whether"; empty if there is no more to say
        than of every round."""
        return ""

    @property
    def idealised(self) -> str:
        """What a computer does not do, if the guarantee is for that only; else empty."""
        return ""

    @property
    def protected_ones(self) -> str:
        """Whom the guarantee is for."""
        return "every user whose data are used"

    @property
    def uncovered(self) -> Sequence[str]:
        """What the guarantee says nothing about, beside what holds for every round."""
        return ()

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        """Further lines of a statement, as pairs of a name and a text."""
        return ()

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Names and values that describe the round, except for what is done to a value.

        The class makes an equal round of these and of what is done to a value.
        """

    @property
    def assumptions(self) -> Sequence[str]:
        """Sentences that must be true of the deployment; `remarks` come on top."""
        said = (self.explained.assumption, self.trusted, self.people)
        return [text for text in said if text]

    @property
    def summary(self) -> tuple[str, str, str]:
        return self.crowd, self.explained.name, self.inside

    def _repr_html_(self) -> str:
        analysis = self.explained
        facts = [
            ("relation", f"{self.relation}: {self.differing}"),
            ("sent by", self.participants),
            (self.mechanism_label, self.described),
            ("adversary", analysis.adversary),
            ("assumed", "; ".join(self.assumptions)),
            *self.remarks,
            ("analysis", f"{analysis.name}: {analysis.theorem}"),
        ]
        return html_facts(f"One {self.noun}", facts)


class RoundWithOwnParameters(Round):
    """A round that is described by parameters of its own, not by one randomizer of all users: what
    whoever holds their reports does, or several randomizers.

    Subclasses are frozen dataclasses with a `name`."""

    #: As in plans and reports.
    name: ClassVar[str]

    @property
    @abstractmethod
    def given(self) -> dict[str, Any]:
        """Parameters by name; the class makes an equal round of them and of `settings`."""

    @property
    def reported(self) -> dict[str, Any]:
        """Parameters by name for a report; what is too large for one is replaced by its digest."""
        return self.given


class RoundOfUsers(Round):
    """A round in which `users` users, or a random subset of them, apply the same randomizer.

    Subclasses are frozen dataclasses with these fields."""

    sent: ClassVar[str] = "messages"  # several of what a user sends
    randomizer: Randomizer
    users: int
    sample_rate: float
    sampling: str
    colluding: float
    dropouts: float

    def __post_init__(self) -> None:
        """Check all fields, and replace shares of users by the numbers that they stand for."""
        if not isinstance(self.randomizer, Randomizer):
            raise InvalidParameter(
                f"randomizer={validate.show(self.randomizer)} is not a randomizer; "
                "give one such as PureLDP(eps0=4.0)."
            )
        users = validate.count("users", self.users, validate.MAX_USERS)
        object.__setattr__(self, "users", users)
        self._check_view()
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)
        if self.neighbours == "remove" and (wrong := self._cannot_remove):
            raise InvalidParameter(
                f"neighbours='remove' is not defined for {self.randomizer!r} here: {wrong}; use "
                "neighbours='replace'."
            )
        rate = validate.sample_rate(self.sample_rate)
        object.__setattr__(self, "sample_rate", rate)
        validate.choice("sampling", self.sampling, KINDS_OF_SAMPLES)
        if self.sampling == "fixed":
            validate.sample_size(users, rate)
        for name in ("colluding", "dropouts"):
            value = validate.count_or_share(name, getattr(self, name), users)
            object.__setattr__(self, name, value)
        if self.honest < 1:
            raise InvalidParameter(
                f"colluding={self.colluding} and dropouts={self.dropouts} leave nobody of users="
                f"{users} to protect; give fewer of them or more users."
            )
        messages = validate.count("messages", self.messages, validate.MAX_MESSAGES)
        object.__setattr__(self, "messages", messages)

    @abstractmethod
    def _check_view(self) -> None:
        """Raise an error unless this view supports the randomizer."""

    @property
    @abstractmethod
    def _cannot_remove(self) -> str:
        """Why nobody's value can be removed; empty if it can."""

    @property
    @abstractmethod
    def law(self) -> Any:
        """Law of what a user sends, as this view needs it."""

    @property
    @abstractmethod
    def _analysis(self) -> Analysis:
        """What stands behind the numbers, of one message and before sampling."""

    def __repr__(self) -> str:
        sampled = f", sample_rate={self.sample_rate!r}, sampling={self.sampling!r}"
        usual = {"neighbours": "replace", **PEOPLE_DEFAULTS}
        given = {name: getattr(self, name) for name in usual}
        shown = "".join(f", {k}={v!r}" for k, v in given.items() if v != usual[k])
        return (
            f"{type(self).__name__}(randomizer={self.randomizer!r}, users={self.users!r}"
            f"{self._own}{sampled if self.sample_rate < 1 else ''}{shown})"
        )

    @property
    def _own(self) -> str:
        """What a repr says of options that only this kind of round has."""
        return ""

    @property
    def honest(self) -> int:
        """Number of users who hide each other: they neither collude nor drop out."""
        return self.users - int(self.colluding) - int(self.dropouts)

    @property
    def senders(self) -> int:
        """Number of users who send in each round: exact, or the rounded mean for Poisson
        samples."""
        return round(self.sample_rate * self.users)

    @property
    def crowd(self) -> str:
        about = "" if self.sampling == "fixed" else "about "
        sampled = f"{about}{self.senders:,} of " if self.sample_rate < 1 else ""
        return f"{sampled}{self.users:,}{self._aside}"

    @property
    def _aside(self) -> str:
        counts = (self.colluding, "colluding"), (self.dropouts, "dropping out")
        whole = " of all" if self.sample_rate < 1 else ""
        said = [f"{n:,} or {100 * n / self.users:.3g} %{whole} {what}" for n, what in counts if n]
        said += [f"{self.messages:,} {self.sent} each"] if self.messages > 1 else []
        return f" ({', '.join(said)})" if said else ""

    @property
    def participants(self) -> str:
        aside, users = self._aside, f"user{'' if self.users == 1 else 's'}"
        if self.sampling == "poisson" and self.sample_rate < 1:
            every = f"each of whom sends with probability {plain(self.sample_rate)}"
            return f"{several(self.users, 'user')}{aside}, {every}"
        fresh = ", a fresh random subset each round" if self.sample_rate < 1 else ""
        return f"{self.crowd.removesuffix(aside)} {users}{aside}{fresh}"

    @property
    def inside(self) -> str:
        return repr(self.randomizer)

    @property
    def described(self) -> str:
        return in_full(self.randomizer)

    @property
    def removed(self) -> str:
        return "the value of one user is sent; the user takes part all the same"

    @property
    def protected_ones(self) -> str:
        return FOLLOWS.format("")

    @property
    def uncovered(self) -> Sequence[str]:
        if self.sample_rate < 1:
            return [f"rounds with fewer than {self.users:,} users to draw from"]
        return [f"rounds in which fewer than {self.users - int(self.dropouts):,} users send"]

    @property
    def people(self) -> str:
        counts = zip(DEVIATIONS, (self.colluding, self.dropouts), strict=True)
        said = [f"at most {count:,} users {what}" for what, count in counts if count]
        return deviating(said, self.sample_rate < 1)

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        every = f"every user sends {self.messages:,} {self.sent} in a round"
        said = [("messages", f"{every}, {TOGETHER}")] if self.messages > 1 else []
        known = ", except for colluding users" if self.colluding else ""
        drawn = f"the senders are drawn at random, {DRAWN}{known}"
        return [*said, ("sampling", drawn)] if self.sample_rate < 1 else said

    @property
    def settings(self) -> Mapping[str, Any]:
        names = ("users", "sample_rate", "sampling", *PEOPLE_DEFAULTS, "neighbours")
        return {name: getattr(self, name) for name in names}

    @property
    def explained(self) -> Analysis:
        analysis = self._analysis
        most = f"{self.messages:,} values" if self.messages > 1 else "one value"
        assumption = analysis.assumption.replace(MORE_THAN_STATED, f"more than {most} in a round")
        if self.messages > 1 and analysis.of_several:
            assumption = f"{assumption}; {analysis.of_several}"
        lost = [_SUBTRACTED] if self.honest < self.users else []
        theorem = "; ".join([analysis.theorem, *self._steps, *lost])
        return replace(analysis, theorem=theorem, assumption=assumption)

    @property
    def _steps(self) -> list[str]:
        """What follows the theorem."""
        several = f"then composed over the {self.sent} of a user, which is an upper bound"
        steps = [several] if self.messages > 1 else []
        return [*steps, SAMPLED] if self.sample_rate < 1 else steps

    @property
    def parts(self) -> Parts:
        if self.sample_rate == 1:
            every = profiles.parts.round_parts(self.law, self.honest, self.neighbours)
            return [(part, self.messages * count) for part, count in every]
        return [(self._sampled(), 1)]

    def _sampled(self) -> PrivacyProfile:
        """The profile of this sampled round, by the theorem for samples of any mechanism."""
        count = self._sender_count
        bundle = composition.bundle.BundledRounds(self.law, count, self.messages)
        return bundle if count.least < count.most else bundle.profile(count.most)

    @property
    def _sender_count(self) -> SenderCount:
        if self.sampling == "poisson":
            return profiles.sender_count.SenderCount(self.honest, rate=self.sample_rate)
        return profiles.sender_count.SenderCount(self.honest, self.users, self.senders)
