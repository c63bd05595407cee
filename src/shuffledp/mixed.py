"""One shuffled round of users with different randomizers, such as two releases of an app."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import profiles
from ._support import validate
from ._support.numeric import Bounds
from ._support.text import plain
from .errors import InvalidParameter
from .guarantee import DEFAULT_RTOL, best_effort
from .randomizers import Analysis, Randomizer
from .randomizers.analyses import GROUPS_ARE_KNOWN, SAME_MESSAGES, SHARED_BLANKET, of_the_group
from .randomizers.families import base_mass_of, family_of, helps_surely, shared_by
from .rounds import DEVIATIONS, DRAWN, FOLLOWS, RoundWithOwnParameters, deviating, in_full
from .shuffle import Shuffle

if TYPE_CHECKING:  # loaded with the first question
    from .laws.matrix_law import SharedLaw
    from .profiles.base import Parts, PrivacyProfile

#: More groups than anybody has releases in use.
MAX_GROUPS = 64
#: The delta at which a common blanket and a group by itself are compared.
_TYPICAL = 1e-6


@dataclass(frozen=True)
class Group:
    """Users who apply one randomizer, in a round with users who apply others.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
    users : int
        Number of users, 1 to 1e12, including those who collude or drop out.
    name : str
        Unless it is given, the number of the group: "1", "2" and so on.
    sample_rate : float, optional
        Each user of the group sends with this probability, unseen; that of the round by default.
    colluding, dropouts : float
        Largest numbers of users of the group, or shares of them if below 1, who share all they know
        with the adversary or do not send. They provide no cover.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.mixed import Group
    >>> Group(RandomizedResponse(16, eps0=2.0), users=900_000, dropouts=0.1).honest
    810000
    """

    randomizer: Randomizer
    users: int
    name: str = ""
    sample_rate: float | None = None
    colluding: float = 0
    dropouts: float = 0

    def __post_init__(self) -> None:
        # what is wrong with a group is wrong with a round of its users alone
        alone = Shuffle(
            self.randomizer,
            self.users,
            sample_rate=1.0 if self.sample_rate is None else self.sample_rate,
            sampling="poisson",
            colluding=self.colluding,
            dropouts=self.dropouts,
        )
        for known in ("users", "colluding", "dropouts"):
            object.__setattr__(self, known, getattr(alone, known))
        if not isinstance(self.name, str) or not self.name.isprintable():
            wrong = "is not a line of text; give one that can be printed"
            raise InvalidParameter(f"name={validate.show(self.name)} {wrong}.")

    @property
    def honest(self) -> int:
        """Number of users who neither collude nor drop out."""
        return self.users - int(self.colluding) - int(self.dropouts)

    @property
    def given(self) -> dict[str, Any]:
        """Arguments that differ from the defaults, by name, without the randomizer."""
        known = {each.name: getattr(self, each.name) for each in fields(self)[1:]}
        usual = {each.name: each.default for each in fields(self)}
        return {name: value for name, value in known.items() if value != usual[name]}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"Group({self.randomizer!r}, {said})"


@dataclass(frozen=True, repr=False)
class MixedShuffle(RoundWithOwnParameters):
    """One shuffled round in which groups of users apply different randomizers.

    The guarantee is for replace-one neighbours and for the users of every group: that of the worst
    group, or of one group if `protects` names it. Groups whose randomizers have multiples of one
    law as their blankets hide each other: randomized response with one k, subset selection with one
    k and size, local hashing with one g, Hadamard response with one k, unary encoding with one k
    and q, one-bit means, and matrices with the same outputs, whose columns stand for the same
    messages. All other groups hide among themselves (docs/theory/mixed.md). Composed rounds may
    have different groups and users may change groups: each guarantee holds for all of them.

    Parameters
    ----------
    groups : sequence of Group
        1 to 64 groups with different names.
    sample_rate : float
        Each user sends with this probability, unseen, unless the group has a rate of its own.
    colluding, dropouts : float
        Largest numbers of users of all groups together, or shares of them if below 1, who share all
        they know with the adversary or do not send; on top of those of the groups.
    protects : str, optional
        Name of the one group that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If a number is outside its limits, or names of groups are repeated or unknown.

    Examples
    --------
    >>> from shuffledp import MixedShuffle, RandomizedResponse
    >>> from shuffledp.mixed import Group
    >>> old = Group(RandomizedResponse(16, eps0=4.0), 900_000, "old")
    >>> new = Group(RandomizedResponse(16, eps0=2.0), 100_000, "new")
    >>> week = MixedShuffle([old, new])
    >>> week.get_epsilon(1e-8) == week.of("old").get_epsilon(1e-8)
    True
    >>> week.epsilon_by_group(1e-8)["new"].upper < 0.0128
    True
    """

    name: ClassVar[str] = "mixed"
    view: ClassVar[str] = "shuffle"
    noun: ClassVar[str] = "shuffled round"
    seen: ClassVar[str] = "the messages"
    trusted: ClassVar[str] = Shuffle.trusted
    mechanism_label: ClassVar[str] = "local randomizers"

    groups: Sequence[Group]
    sample_rate: float = 1.0
    colluding: float = 0
    dropouts: float = 0
    protects: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        listed = tuple(self.groups) if validate.listed(self.groups) else ()
        if not listed or not all(isinstance(group, Group) for group in listed):
            wrong = "is not a list of groups; give one or more Group."
            raise InvalidParameter(f"groups={validate.show(self.groups)} {wrong}")
        validate.count("the number of groups", len(listed), MAX_GROUPS)
        named = tuple(
            replace(group, name=group.name.strip() or str(number))
            for number, group in enumerate(listed, 1)
        )
        object.__setattr__(self, "groups", named)
        names = [group.name for group in named]
        if len(set(names)) < len(names):
            wrong = "do not all have names of their own; name each one differently."
            raise InvalidParameter(f"the groups {', '.join(names)} {wrong}")
        if self.protects is not None and self.protects not in names:
            raise InvalidParameter(
                f"protects={validate.show(self.protects)} is no group of this round; choose one "
                f"of {', '.join(names)}."
            )
        object.__setattr__(self, "sample_rate", validate.sample_rate(self.sample_rate))
        validate.count("users", self.users, validate.MAX_USERS)
        for name in ("colluding", "dropouts"):
            value = validate.count_or_share(name, getattr(self, name), self.users)
            object.__setattr__(self, name, value)
        if self._lost >= sum(group.honest for group in named):
            raise InvalidParameter(
                f"colluding={self.colluding} and dropouts={self.dropouts} leave nobody of the "
                "groups to protect; give fewer of them or more users."
            )

    @property
    def users(self) -> int:
        """Number of users of all groups."""
        return sum(group.users for group in self.groups)

    @property
    def local_eps0(self) -> float:
        """Largest local epsilon of a message of the protected users; infinite if there is none."""
        return max(group.randomizer.local_eps0 for group in self.protected)

    def of(self, group: str) -> MixedShuffle:
        """The same round, with the guarantee for the users of one group.

        Parameters
        ----------
        group : str
            Name of the group.

        Returns
        -------
        MixedShuffle
            A round whose `protects` is that name.
        """
        return replace(self, protects=group)

    def epsilon_by_group(
        self, delta: float, *, rtol: float = DEFAULT_RTOL
    ) -> dict[str, Bounds[float]]:
        """Certified bounds on epsilon at this delta for the users of each group.

        Parameters
        ----------
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Largest relative width in epsilon, 1e-7 to 0.5.

        Returns
        -------
        dict of str to Bounds
            By the name of each protected group, as `epsilon_bounds` returns them.
        """
        names = [group.name for group in self.protected]
        return {name: self.of(name).epsilon_bounds(delta, rtol=rtol) for name in names}

    @property
    def protected(self) -> Sequence[Group]:
        """Groups that the guarantee is about."""
        return [group for group in self.groups if self.protects in (None, group.name)]

    @property
    def _lost(self) -> int:
        """Users of any group who provide no cover."""
        return int(self.colluding) + int(self.dropouts)

    def _rate(self, group: Group) -> float:
        return self.sample_rate if group.sample_rate is None else group.sample_rate

    def _alike(self, group: Group) -> Sequence[Group]:
        """The groups that do what this one does; itself only, if nobody knows what that is."""
        if not group.randomizer.is_one_randomizer:
            return [group]
        known = group.randomizer, self._rate(group)
        return [each for each in self.groups if (each.randomizer, self._rate(each)) == known]

    def hidden_among(self, group: Group) -> Sequence[Group]:
        """Groups whose users hide those of this one, itself included.

        Parameters
        ----------
        group : Group
            One of `groups`.

        Returns
        -------
        sequence of Group
            Itself alone if no other group provides cover.
        """
        shared = self._shared(group)
        if shared is None:
            return self._alike(group)
        among = zip(shared.shares, self._family(group), strict=True)
        return [each for share, each in among if share > 0]

    def _family(self, group: Group) -> Sequence[Group]:
        family = family_of(group.randomizer)
        found = [each for each in self.groups if family_of(each.randomizer) == family is not None]
        return found or [group]

    def _shared(self, group: Group) -> SharedLaw | None:
        """The law of a user of the group under a blanket that its family has, by group of it; None
        if there are no others in it who hide such a user, or if the group by itself is known to
        lose less."""
        if group.name not in self._shared_laws:
            law = self._common_law(group)
            if law is not None and not self._surely_helps(group):
                law = self._if_better(group, law)
            self._shared_laws[group.name] = law
        return self._shared_laws[group.name]

    @cached_property
    def _shared_laws(self) -> dict[str, SharedLaw | None]:
        """What was found before, by the name of the group."""
        return {}

    def _if_better(self, group: Group, law: SharedLaw) -> SharedLaw | None:
        """The law, unless the group by itself has a smaller delta at one epsilon; any choice is
        sound."""
        alone = self._alone(group)
        epsilon = best_effort(alone.epsilon_bounds, _TYPICAL, rtol=0.1).upper
        at = np.array([min(epsilon, 1.0) / 2])
        together = self._covered(group, law)
        deltas = [p.sampler(60.0, 0.01)(at).upper[0] for p in (together, alone.profile)]
        return law if deltas[0] <= deltas[1] else None

    def _surely_helps(self, group: Group) -> bool:
        """Whether a common blanket of the family is known to hide no less than the group itself."""
        all_send = all(self._rate(each) == 1 for each in self._family(group))
        return all_send and helps_surely(group.randomizer)

    def _common_law(self, group: Group) -> SharedLaw | None:
        family, alike = self._family(group), self._alike(group)
        if all(each in alike for each in family):
            return None
        own = next(i for i, each in enumerate(family) if each is group)
        columns = [(each.randomizer, self._rate(each), each.honest) for each in family]
        randomizers, rates, users = zip(*columns, strict=True)
        return shared_by(randomizers, rates, users, own)

    def _alone(self, group: Group) -> Shuffle:
        """The round of those who do what the group does, which is all that the adversary needs: the
        messages of others do not depend on the value in question."""
        alike = self._alike(group)
        users = sum(each.users for each in alike)
        lost = users - sum(each.honest for each in alike) + self._lost
        colluding, rate = min(lost, users - 1), self._rate(group)
        return Shuffle(group.randomizer, users, "best", rate, "poisson", colluding)

    def _profile(self, group: Group) -> PrivacyProfile:
        shared = self._shared(group)
        return self._alone(group).profile if shared is None else self._covered(group, shared)

    def _covered(self, group: Group, shared: SharedLaw) -> PrivacyProfile:
        """Of a user of the group: the others who are lost are those who provide most cover."""
        among = zip(shared.shares, self._family(group), strict=True)
        others = [(share, each.honest - (each is group)) for share, each in among]
        left, kept = self._lost, []
        for share, count in sorted(others, reverse=True):
            kept.append((share, max(count - left, 0)))
            left = max(left - count, 0)
        return profiles.mixture.covered_profile(shared.laws, kept)

    @cached_property
    def parts(self) -> Parts:
        protected = self._worst
        alone = [self._alone(group) for group in protected if self._shared(group) is None]
        if len(alone) == len(protected) and len(set(alone)) == 1:
            return alone[0].parts
        every = dict.fromkeys(self._profile(group) for group in protected)
        return [(profiles.base.largest(tuple(every)), 1)]

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Parts of one randomizer, if all groups have the same; none are known otherwise."""
        return self._alone(self.groups[0]).attained_parts if self._is_one_crowd else ()

    @property
    def _is_one_crowd(self) -> bool:
        """Whether all groups do the same."""
        return len(self._alike(self.groups[0])) == len(self.groups)

    @property
    def whom(self) -> str:
        """Users whom the guarantee is for, as the words after "for"."""
        if self.protects is None:
            return "the worst group"
        return f"the users of group {self.protects!r}"

    @property
    def _worst(self) -> Sequence[Group]:
        """The protected groups without those that are known to lose less than another one.

        Of groups that hide each other by a blanket of one family, all of whose users send, the one
        with the least of it loses most (docs/theory/mixed.md).
        """
        found: dict[Hashable, Group] = {}
        for number, group in enumerate(self.protected):
            family, randomizer = family_of(group.randomizer), group.randomizer
            place = family if family is not None and self._surely_helps(group) else number
            last = found.setdefault(place, group)
            if last is not group and base_mass_of(randomizer) < base_mass_of(last.randomizer):
                found[place] = group
        return list(found.values())

    @property
    def explained(self) -> Analysis:
        """Analysis of a common blanket, of groups by themselves, or of both."""
        alone = [group for group in self.protected if self._shared(group) is None]
        analyses = {group.name: self._alone(group).explained for group in alone}
        hide_each_other = any(len(self.hidden_among(group)) > 1 for group in self.protected)
        always = [*([SAME_MESSAGES] if hide_each_other else ()), GROUPS_ARE_KNOWN]
        if self._is_one_crowd and analyses:
            known = next(iter(analyses.values()))
            return replace(known, assumption="; ".join([known.assumption, *always]))
        theorems = [f"group {name!r} by itself, {each.theorem}" for name, each in analyses.items()]
        assumed = [
            f"of group {name!r}, {of_the_group(each.assumption)}" for name, each in analyses.items()
        ]
        if len(alone) == len(self.protected):
            name, assumed = "by group", [*always, *assumed]
        else:
            name, assumed = SHARED_BLANKET.name, [SHARED_BLANKET.assumption, *assumed]
            theorems.insert(0, SHARED_BLANKET.theorem.format(whom=self.whom))
        return replace(
            SHARED_BLANKET, name=name, theorem="; ".join(theorems), assumption="; ".join(assumed)
        )

    @property
    def crowd(self) -> str:
        return f"{self.users:,} in {len(self.groups)} groups"

    @property
    def participants(self) -> str:
        each = ", ".join(f"{group.users:,} {group.name!r}" for group in self.groups)
        return f"{self.users:,} users in {len(self.groups)} groups ({each})"

    @property
    def inside(self) -> str:
        return repr(self)

    @property
    def described(self) -> str:
        return "; ".join(f"{group.name!r}: {in_full(group.randomizer)}" for group in self.groups)

    @property
    def people(self) -> str:
        said = []
        for who, what in zip(DEVIATIONS, ("colluding", "dropouts"), strict=True):
            if count := getattr(self, what):
                said.append(f"at most {count:,} users of any groups {who}")
            for group in self.groups:
                if count := getattr(group, what):
                    said.append(f"at most {count:,} users of group {group.name!r} {who}")
        return deviating(said, sampled=True)

    @property
    def protected_ones(self) -> str:
        return FOLLOWS.format("" if self.protects is None else f" of group {self.protects!r}")

    @property
    def uncovered(self) -> Sequence[str]:
        return ["rounds with fewer users in a group than stated"]

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        whom = "every group" if self.protects is None else f"group {self.protects!r} only"
        found = [("protects", f"the guarantee is for the users of {whom}")]
        covers, recognized = [], False
        for group in self.protected:
            among = [repr(each.name) for each in self.hidden_among(group)]
            covers.append(f"{group.name!r} hides among {', '.join(among)}")
            recognized |= len(among) < len(self.groups)
        why = (
            "; the adversary is assumed to recognize the messages of all other groups, so that "
            "these provide no cover: no blanket that they share is known, or none that protects "
            "better than the group alone"
        )
        if not all(group.randomizer.is_one_randomizer for group in self.protected):
            why += (
                "; where only bounds of the randomizer of a group are known, it may differ from "
                "that of every other group, also from one with the same bounds"
            )
        found.append(("cover", f"{'; '.join(covers)}{why if recognized else ''}"))
        rates = {group.name: self._rate(group) for group in self.groups}
        if min(rates.values()) < 1:
            each = ", ".join(f"{name!r} {plain(rate)}" for name, rate in rates.items())
            drawn = f"every user is drawn to send with a probability ({each}), {DRAWN}"
            found.append(("sampling", drawn))
        return found

    @property
    def given(self) -> dict[str, Any]:
        groups = [
            {"randomizer": {"name": _name(each), "parameters": each.randomizer.given}, **each.given}
            for each in self.groups
        ]
        return {"groups": groups, "protects": self.protects}

    @property
    def reported(self) -> dict[str, Any]:
        groups = [
            {"randomizer": _name(group), "parameters": group.randomizer.reported, **group.given}
            for group in self.groups
        ]
        return {"groups": groups, "protects": self.protects}

    @property
    def settings(self) -> Mapping[str, Any]:
        names = ("users", "sample_rate", "colluding", "dropouts", "messages", "neighbours")
        return {"sampling": "poisson", **{name: getattr(self, name) for name in names}}

    def __repr__(self) -> str:
        usual = {"sample_rate": 1.0, "colluding": 0, "dropouts": 0, "protects": None}
        known = {name: getattr(self, name) for name in usual}
        shown = "".join(f", {k}={v!r}" for k, v in known.items() if v != usual[k])
        return f"MixedShuffle([{', '.join(map(repr, self.groups))}]{shown})"


def _name(group: Group) -> str:
    return str(getattr(group.randomizer, "name", type(group.randomizer).__name__))
