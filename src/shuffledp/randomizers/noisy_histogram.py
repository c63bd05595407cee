"""Values in the clear among messages that are only noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support import validate
from .._support.text import plain
from ..errors import InvalidParameter
from .analyses import MORE_THAN_STATED, SEES_ALL_BUT_ONE, Analysis, chapter
from .base import Randomizer, register
from .exact import ExactMatrix
from .parameter import Family, Parameter, Search, parameters_of

if TYPE_CHECKING:
    from ..clients import Client, Counts, Estimate
    from ..clients.dummies import Dummies, DummiesClient

NOISE = Analysis(
    name="exact",
    theorem=(
        "exact hockey-stick divergence between the noisy counts of neighbouring datasets; "
        f"proof: {chapter('Noise messages')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        "every honest user, also one without a value, draws the dummies from exactly this "
        "distribution, independently of the other users and afresh in every round, and sends them; "
        f"no user sends {MORE_THAN_STATED}"
    ),
    gist="is told nothing more; all datasets have the same loss",
    law=lambda randomizer: randomizer.noise,
    as_one=False,
    of_several="each value of a user has dummies of its own, or all values of a user differ",
)
DUMMIES = Analysis(
    name="exact",
    theorem=(
        "exact hockey-stick divergence of one message among uniform dummies; "
        f"proof: {chapter('Noise messages')}"
    ),
    adversary=SEES_ALL_BUT_ONE,
    assumption=(
        "the dummies are uniform, independent and drawn afresh in every round, and the adversary "
        f"does not know any of them, whoever sends them; no user sends {MORE_THAN_STATED}"
    ),
    gist="is told nothing more; all datasets have the same loss",
    law=lambda randomizer: randomizer.noise,
    as_one=False,
    of_several="each value of a user has that many dummies of its own",
)

ADDED = Analysis(
    name="exact",
    theorem=(
        "exact hockey-stick divergence between the noisy counts of neighbouring datasets, whose "
        f"values are kept at random; proof: {chapter('Noise messages')}"
    ),
    adversary=(
        "sees all shuffled messages of every round, dummies among them, and is taken to know the "
        "value of every user but one; does not see which messages are dummies or which values were "
        "kept"
    ),
    assumption=(
        "the shuffler keeps every value with exactly the stated probability, draws the dummies "
        "from exactly this distribution, independently for every value, and does both afresh in "
        f"every round; no user sends {MORE_THAN_STATED}"
    ),
    gist="is told nothing more; the worst datasets",
    law=lambda randomizer: randomizer.noise,
    as_one=False,
    of_several="all values of a user in a round differ",
)
#: The same if the shuffler keeps every value.
ADDED_TO_ALL = replace(
    ADDED,
    theorem=NOISE.theorem,
    adversary=ADDED.adversary.replace(" or which values were kept", ""),
    assumption=ADDED.assumption.replace(
        "keeps every value with exactly the stated probability, draws", "draws"
    ).replace("and does both afresh", "and afresh"),
)

#: How the noise is given: exactly one of them. The last two are added by the shuffler.
_KINDS = ("poisson", "bernoulli", "negative_binomial", "dummies", "binomial", "geometric")
_ADDED = _KINDS[-2:]


@register
@dataclass(frozen=True, repr=False, kw_only=True)
class NoisyHistogram(Randomizer):
    """Values sent unchanged among dummies: the shuffled messages are a histogram with noise.

    Give exactly one law of the dummies. Users send dummies of every value (`poisson`, `bernoulli`,
    `negative_binomial`), or there are `dummies` of them in all, or the shuffler adds them
    (`binomial`, `geometric`), so that no user has to. In the last case the shuffler may also drop
    values at random (`value_rate`). Geometric dummies need that: a value has no dummy with
    probability 1 - theta, and a count of 0 then excludes a value that is always kept.

    Parameters
    ----------
    poisson : float, optional
        Mean of the Poisson number of dummies of each value from each user, 1e-12 to 1e3.
    bernoulli : float, optional
        Probability of one dummy of each value from each user, in (0, 1).
    negative_binomial : float or tuple, optional
        r of the number of dummies of each value from each user, 1e-12 to 1e3: there are s of them
        with probability C(s+r-1, s) theta^s (1-theta)^r. A pair is (r, theta).
    theta : float, optional
        With `negative_binomial` only, 1e-9 to 1 - 1e-9.
    dummies : int, optional
        Number of dummies in a round in all, 1 to 1e11, each any of `k` values.
    binomial : int, optional
        Number of fair coins, 1 to 4e6, whose heads are the dummies of each value that the shuffler
        adds.
    geometric : float, optional
        theta, 1e-9 to 0.999: the shuffler adds s dummies of each value with probability (1-theta)
        theta^s.
    value_rate : float, optional
        Probability that the shuffler keeps a value, 1e-6 to 1. By default it keeps all.
    k : int, optional
        Number of values, 2 to 1e12. It is needed for `dummies`, and to make and count messages;
        otherwise the guarantee does not depend on it.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the noise is not given in exactly one way, or a number is outside its limits.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import Shuffle
    >>> from shuffledp.randomizers import NoisyHistogram
    >>> histogram = NoisyHistogram(poisson=42.66e-5, k=3)
    >>> Shuffle(histogram, users=100_000).get_epsilon(1e-6) < 1
    True
    >>> messages = histogram.randomize([0, 2, 2, 2], rng=np.random.default_rng(1))
    >>> histogram.estimate(messages, users=4).counts.round().astype(int).tolist()
    [1, 0, 3]
    """

    name: ClassVar[str] = "noisy-histogram"
    also: ClassVar[tuple[str, ...]] = ("dummies", "noise")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"poisson": 0.5, "k": 2}

    poisson: Annotated[
        float,
        Parameter(
            "mean of the Poisson number of dummies per value and user",
            *(1e-12, 1e3),
            search=Search(1.0, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    bernoulli: Annotated[
        float,
        Parameter(
            "probability of a dummy, per value and user",
            *(1e-12, 0.5),  # beyond 1/2 there is less noise again: nobody looks for that
            search=Search(0.25, grows=False),
            check=validate.probability,
        ),
    ] = None  # type: ignore[assignment]
    negative_binomial: Annotated[
        float,
        Parameter(
            "shape r of the negative binomial number of dummies per value and user, with theta",
            *(1e-12, 1e3),
            search=Search(1.0, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    theta: Annotated[
        float,
        Parameter("parameter theta of the negative binomial number of dummies", 1e-9, 1 - 1e-9),
    ] = None  # type: ignore[assignment]
    dummies: Annotated[
        int,
        Parameter(
            "total number of dummies in a round, each uniform over k values",
            *(1, 10**11),
            whole=True,
            search=Search(1000, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    binomial: Annotated[
        int,
        Parameter(
            "number of fair coins whose heads the shuffler adds as dummies of each value",
            *(1, 4_000_000),
            whole=True,
            search=Search(40, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    geometric: Annotated[
        float,
        Parameter(
            "parameter theta of the geometric number of dummies per value that the shuffler adds",
            *(1e-9, 0.999),
            search=Search(0.9, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    value_rate: Annotated[
        float, Parameter("probability that the shuffler keeps a value", 1e-6, 1.0)
    ] = None  # type: ignore[assignment]
    k: Annotated[int, Parameter("number of values", 2, 10**12, whole=True)] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        pair = self.negative_binomial
        if isinstance(pair, (tuple, list)) and len(pair) == 2 and self.theta is None:
            self._keep("negative_binomial", pair[0])
            self._keep("theta", pair[1])
        kind = self._keep_one_noise(_KINDS)
        if (self.theta is None) != (self.negative_binomial is None):
            raise InvalidParameter("negative_binomial and theta go together; give both or neither.")
        if self.value_rate is not None and not self.is_added:
            raise InvalidParameter(
                f"value_rate={self.value_rate!r} is for dummies that the shuffler adds, since it "
                f"cannot tell those of users from values; give {' or '.join(_ADDED)} instead of "
                f"{kind}."
            )
        if self.dummies is not None and self.k is None:
            raise InvalidParameter(
                "dummies needs k, the number of values from which they are drawn; give k."
            )

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        thetas = [{"theta": theta, "k": size} for theta in (0.05, 0.3, 0.8)]
        return (
            *(
                Family(kind, [{"k": size}])
                for kind in ("poisson", "bernoulli", "dummies", "binomial")
            ),
            Family("negative_binomial", thetas),
        )

    @property
    def is_added(self) -> bool:
        """Whether the shuffler adds the dummies, and not the users."""
        return self.binomial is not None or self.geometric is not None

    @property
    def _kept(self) -> float:
        return 1.0 if self.value_rate is None else self.value_rate

    @property
    def noise(self) -> Any:
        """Law of the number of dummies of each value that one user sends, or of all dummies."""
        if self.binomial is not None:
            coins = laws.noise_law.BinomialCounts(self.binomial, 0.5, 0.5)
            return laws.noise_law.AddedNoise(coins, self._kept, self.k)
        if self.geometric is not None:
            number = laws.noise_law.NegativeBinomialNoise(1.0, self.geometric, 1 - self.geometric)
            return laws.noise_law.AddedNoise(number, self._kept, self.k)
        if self.poisson is not None:
            return laws.noise_law.PoissonNoise(self.poisson)
        if self.bernoulli is not None:
            return laws.noise_law.BinomialCounts(1, self.bernoulli, 1 - self.bernoulli)
        if self.negative_binomial is not None:
            return laws.noise_law.NegativeBinomialNoise(
                self.negative_binomial, self.theta, 1 - self.theta
            )
        return laws.noise_law.UniformDummies(self.dummies, self.k)

    @property
    def truth_probability(self) -> Fraction:
        return Fraction(1)

    @property
    def relations(self) -> tuple[str, ...]:
        # with a fixed number of dummies the messages are counted, and a missing one is seen
        return ("replace", "remove") if self.dummies is None else ("replace",)

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        added = ADDED if self._kept < 1 else ADDED_TO_ALL
        analysis = added if self.is_added else NOISE if self.dummies is None else DUMMIES
        return {"best": analysis, "exact": analysis}

    @property
    def sent(self) -> Dummies:
        """The noise as those draw it who send it."""
        from ..clients import dummies

        if self.binomial is not None:
            return dummies.AddedDummies(dummies.BernoulliDummies(0.5), self.binomial)
        if self.geometric is not None:
            return dummies.AddedDummies(dummies.NegativeBinomialDummies(1.0, self.geometric), 1)
        if self.poisson is not None:
            return dummies.PoissonDummies(self.poisson)
        if self.bernoulli is not None:
            return dummies.BernoulliDummies(self.bernoulli)
        if self.negative_binomial is not None:
            return dummies.NegativeBinomialDummies(self.negative_binomial, self.theta)
        return dummies.DummiesInAll(self.dummies, self.k)

    def count_variance(self, users: int, count: float = 0.0) -> float:
        # the estimate is the count, less the mean of the noise, over the share of values that is
        # kept
        from ..clients.dummies import variance

        users = validate.count("users", users, validate.MAX_USERS)
        count = validate.between("count", count, 0, users)
        return float(variance(self.sent.moments(users)[1], self._kept, count))

    def bits_of(self, values: int, users: int) -> float:
        # bits of the value and, on average, of the user's own dummies
        from ..clients.base import bits_for

        if self.sent.is_fixed:
            return bits_for(values)
        return (1 + values * self.sent.moments(users)[0] / users) * bits_for(values)

    def attained_law(self) -> Any:
        return self.noise

    def describe(self) -> str:
        if self.dummies is not None:
            return f"the true value, among {self.dummies:,} dummies of {self.k:,} values"
        if self.is_added:
            kept = f", which the shuffler keeps with probability {plain(self._kept)}"
            number = (
                f"the number of heads of {self.binomial:,} fair coins"
                if self.binomial is not None
                else f"geometric with theta = {plain(self.geometric)}"
            )
            value = f"the true value{kept if self._kept < 1 else ''}"
            return f"{value}; for each value the shuffler adds dummies, their number being {number}"
        if self.poisson is not None:
            number = f"Poisson with mean {plain(self.poisson)}"
        elif self.bernoulli is not None:
            number = f"1 with probability {plain(self.bernoulli)} and otherwise 0"
        else:
            number = f"negative binomial with r = {plain(self.negative_binomial)} and "
            number += f"theta = {plain(self.theta)}"
        return f"the true value, and for each value dummies, their number being {number}"

    @property
    def client(self) -> Client:
        return self._client

    @property
    def _client(self) -> DummiesClient:
        from ..clients.dummies import DummiesClient

        if self.k is None:
            raise InvalidParameter(
                f"{self!r} has no client: dummies are of every value; give k, their number."
            )
        return DummiesClient(self.k, self.sent, self._kept)

    def count(self, messages: Any, users: int | None = None) -> Counts:
        """Counts of messages: how often each value was sent, and by how many users.

        Parameters
        ----------
        messages : array_like
            Messages of all users, dummies among them.
        users : int, optional
            Number of users who have sent, 0 to 1e12. Messages do not tell it, unless there is a
            fixed number of dummies among them.

        Returns
        -------
        Counts
            Number of users and a tally.

        Raises
        ------
        InvalidParameter
            If `users` or `k` is missing, or a message is not one of the randomizer's.
        """
        if users is not None:
            users = validate.count("users", users, validate.MAX_USERS, least=0)
        return self._client.count(messages, users).of_protocol(repr(self))

    def estimate(self, messages: Any, users: int | None = None) -> Estimate:
        """Estimate of what the values of all users were.

        Parameters
        ----------
        messages : array_like or Counts
            Messages, or counts of them.
        users : int, optional
            Number of users who have sent, as in `count`; counts tell it.

        Returns
        -------
        Estimate
            Counts of each value.

        Raises
        ------
        InvalidParameter
            If `users` or `k` is missing, or messages or counts are not the randomizer's.
        """
        from ..clients import Counts

        counts = messages if isinstance(messages, Counts) else self.count(messages, users)
        return self._client.estimate(counts.of_protocol(repr(self)))

    def counts_of(self, messages: Any, users: int, values: int) -> Counts:
        return self.count(messages, users)

    def exact(self) -> ExactMatrix:
        raise InvalidParameter(
            f"{self!r} has no matrix of probabilities: users send any number of messages; "
            "give a randomizer that sends one."
        )

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in parameters_of(type(self))}
        if self.negative_binomial is not None:
            shown |= {"negative_binomial": (self.negative_binomial, self.theta), "theta": None}
        said = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"NoisyHistogram({said})"
