"""The batches of DP-SGD: random allocation of examples to steps, and shuffled batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from . import composition, profiles
from ._support import validate
from ._support.text import plain
from .central import GaussianNoise, Given
from .errors import InvalidParameter, OutOfRange
from .guarantee import Mechanism
from .randomizers import Analysis, Parameter
from .randomizers.analyses import EVERY_EXAMPLE, OF_TRAINING, ROUNDING, chapter, fixed_beforehand
from .randomizers.parameter import Search, parameters_of
from .rounds import RoundWithOwnParameters

if TYPE_CHECKING:  # loaded with the first question
    from .guarantee import Ask
    from .profiles.base import Parts, PrivacyProfile

_ALLOCATED = Analysis(
    name="allocation",
    theorem=(
        "exact hockey-stick divergence of the random allocation of an example to one step; proof, "
        f"also for steps that depend on earlier ones: {chapter('Random allocation')}"
    ),
    adversary=(
        "sees what every step releases, and so every model, and is taken to know all other "
        "examples and their steps; does not see to which steps the example in question was "
        "allocated"
    ),
    assumption=(
        "the steps of an example are drawn uniformly at random, independently of the other "
        "examples, of the data and of earlier results, and afresh in every epoch; the sizes of the "
        "batches are not revealed, and no result is divided by them; "
        f"{fixed_beforehand('the number of epochs')}"
    ),
    gist="sees what every step releases",
    law=lambda round_: None,
    as_one=False,
)
_IN_BLOCKS = (
    "upper bound for several steps of an example: the composition of one step in each of as many "
    f"blocks; proof: {chapter('Random allocation')}"
)
_KEPT = replace(
    _ALLOCATED,
    assumption=_ALLOCATED.assumption.replace("afresh in every epoch", "kept for all epochs"),
)
_GAUSSIAN_STEP = (
    "an example adds a vector whose L2 norm is at most the clipping norm to the sums of its steps "
    "and nothing to the others; Gaussian noise, whose standard deviation is the noise multiplier "
    "times the clipping norm, is added to every coordinate of every sum, drawn from exactly this "
    "distribution, on real numbers and afresh"
)
NoiseMultiplier = Annotated[
    float | None,
    Parameter(
        *("standard deviation of the noise over the clipping norm", 0.01, 1e4),
        search=Search(1.0, grows=False),
        needed=True,
    ),
]
Steps = Annotated[
    int,
    Parameter(
        "steps of an epoch", 1, 10**9, whole=True, search=Search(1000, grows=False), needed=True
    ),
]


@dataclass(frozen=True, repr=False)
class RandomAllocation(RoundWithOwnParameters):
    """One epoch of training in which every example takes part in random steps.

    Every example takes part in `selected` of the `steps` steps, drawn uniformly at random, and each
    step releases a noisy sum over its examples ("random allocation"). Every epoch has a fresh
    allocation; if the steps of an example are drawn once for all epochs, as by jax_privacy's
    `BallsInBinsSampling`, give `kept`. Steps may depend on the results of earlier ones. Batches
    that a data loader cuts from shuffled examples are another protocol, which can lose much more:
    `ShuffledBatches`. Poisson batches are `mechanisms.PoissonSampled`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the Gaussian noise over the clipping norm, 0.01 to 1e4. The clipping
        norm bounds the length of what an example adds to a step.
    steps : int
        Steps of an epoch, 1 to 1e9.
    selected : int
        In how many of them each example takes part, 1 to 1e6. The guarantee of several is an upper
        bound.
    mechanism : Given, optional
        What a step releases instead, with its guarantee for neighbours="remove": `LaplaceNoise`,
        `GivenPLD` or any other central mechanism. It takes the place of `noise_multiplier`.
    epochs : int
        Only with kept=True: the epochs in which every example keeps its steps, 2 to 1e6. Epochs
        with fresh allocations are composed: Accountant().compose(epoch, rounds=epochs).
    kept : bool
        Each example keeps its steps in all epochs, as if they were one epoch with noise that is
        smaller by the square root of `epochs`. Epsilon is larger than with fresh allocations, by a
        third or by a factor of twenty, depending on the parameters.
    completed : int, optional
        Number of steps, fixed beforehand, after which the run stops.
    neighbours : str
        "remove", the only relation supported here: one example is missing, or its contribution is
        zero everywhere.

    Raises
    ------
    InvalidParameter, OutOfRange
        If a number is outside its limits, or two of them contradict each other.

    Notes
    -----
    docs/theory/allocation.md. For one step of each example the value is exact, so that
    `attained_epsilon` is equal to the bound up to numerical error.

    Examples
    --------
    >>> from shuffledp import Accountant, RandomAllocation
    >>> epoch = RandomAllocation(noise_multiplier=1.0, steps=1000)
    >>> epoch.get_epsilon(1e-6) < 0.1718
    True
    >>> Accountant().compose(epoch, rounds=10).get_epsilon(1e-6) < 0.5406
    True
    """

    name: ClassVar[str] = "random-allocation"
    view: ClassVar[str] = "allocation"
    member: ClassVar[str] = "example"
    mechanism_label: ClassVar[str] = "a step adds"
    seen: ClassVar[str] = "the releases of the steps"
    trusted: ClassVar[str] = (
        "the trainer is trusted with the data and with the allocation, and releases nothing else"
    )

    noise_multiplier: NoiseMultiplier = None
    steps: Steps = 0
    selected: Annotated[
        int, Parameter("steps of each example in an epoch", 1, 10**6, whole=True)
    ] = 1
    mechanism: Given | None = field(default=None, kw_only=True)
    epochs: Annotated[
        int, Parameter("epochs in which examples keep their steps", 1, 10**6, whole=True)
    ] = field(default=1, kw_only=True)
    kept: bool = field(default=False, kw_only=True)
    completed: Annotated[
        int | None, Parameter("steps after which training stops", 1, 10**9, whole=True)
    ] = field(default=None, kw_only=True)
    neighbours: str = field(default="remove", kw_only=True)

    def __post_init__(self) -> None:
        self._check_mechanism()
        if not self.steps:
            raise InvalidParameter("steps is missing or 0; give the number of steps of an epoch.")
        for name, parameter in parameters_of(type(self)).items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parameter.checked(name, getattr(self, name)))
        validate.instance(self.kept, bool, "is no truth value; give True or False.", "kept")
        if self.neighbours != "remove":
            raise InvalidParameter(
                f"neighbours={validate.show(self.neighbours)} is not supported for random "
                "allocation, whose guarantee is for the removal of an example; use "
                "neighbours='remove'."
            )
        if self.selected > self.steps:
            raise InvalidParameter(
                f"selected={self.selected} is above steps={self.steps}; an example takes part in "
                "each step at most once."
            )
        self._check_epochs()
        if self.completed is not None:
            self._check_completed(self.completed)

    def _check_mechanism(self) -> None:
        if self.mechanism is None:
            if self.noise_multiplier is None:
                raise InvalidParameter(
                    "neither noise_multiplier nor mechanism is given; give one of them."
                )
            return
        if self.noise_multiplier is not None:
            raise InvalidParameter(
                "noise_multiplier and mechanism are both given; give one of them."
            )
        wrong = "is not a central mechanism; give one such as LaplaceNoise."
        validate.instance(self.mechanism, Given, wrong, "mechanism")
        if self.mechanism.neighbours != "remove":
            raise InvalidParameter(
                f"mechanism={self.mechanism!r} is for {self.mechanism.relation} neighbours; make "
                "it with neighbours='remove'."
            )

    def _check_epochs(self) -> None:
        if self.kept and self.epochs == 1:
            raise InvalidParameter(
                "kept=True needs epochs, the number of epochs in which examples keep their steps; "
                "give 2 or more."
            )
        if self.epochs > 1 and not self.kept:
            raise InvalidParameter(
                f"epochs={self.epochs} goes with kept=True; compose fresh allocations instead: "
                f"Accountant().compose(epoch, rounds={self.epochs})."
            )
        if self.kept and not isinstance(self._noise, GaussianNoise):
            raise OutOfRange(
                f"kept=True is known for Gaussian noise, not for {self._noise!r}; give "
                "noise_multiplier, or compose fresh allocations."
            )

    def _check_completed(self, completed: int) -> None:
        if completed > self.steps:
            raise InvalidParameter(
                f"completed={completed} is above steps={self.steps}; leave it out for all steps."
            )
        if self.selected > 1 or self.kept:
            other = "kept=True" if self.kept else f"selected={self.selected}"
            raise OutOfRange(
                f"completed={completed} is not known together with {other}; leave it out: the "
                "guarantee of all steps holds for a part of them."
            )

    @property
    def _noise(self) -> Given:
        """What a step releases."""
        if self.mechanism is not None:
            return self.mechanism
        assert self.noise_multiplier is not None  # checked when it was made
        return GaussianNoise(self.noise_multiplier, neighbours="remove")

    @property
    def unamplified(self) -> PrivacyProfile:
        """Profile of a step that is known to have the example, of all epochs together if kept."""
        noise = self._noise
        if not self.kept:
            return noise.profile
        assert isinstance(noise, GaussianNoise)
        shift = math.sqrt(self.epochs) * noise.sensitivity / noise.sigma
        return profiles.closed_form.GaussianProfile(shift)

    @property
    def parts(self) -> Parts:
        """One step of each of `selected` blocks of steps (docs/theory/allocation.md)."""
        size, larger = divmod(self.steps, self.selected)
        blocks = {size: self.selected - larger, size + 1: larger}
        skipped = 0 if self.completed is None else self.steps - self.completed
        return [
            (composition.allocated.allocated(self.unamplified, steps - skipped, skipped), count)
            for steps, count in blocks.items()
            if count
        ]

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Those of the guarantee if the example takes part in one step or in all, and a step
        attains its own; else none."""
        exact = self.selected in (1, self.steps) and self._noise.attained_parts
        return [self.parts] * 2 if exact else ()

    @property
    def noun(self) -> str:  # type: ignore[override]
        """Name of such a round: "training run" if steps are kept, else "epoch"."""
        return "training run" if self.kept else "epoch"

    @property
    def explained(self) -> Analysis:
        analysis = _KEPT if self.kept else _ALLOCATED
        if 1 < self.selected < self.steps:
            analysis = replace(analysis, theorem=_IN_BLOCKS)
        step = _GAUSSIAN_STEP
        if not isinstance(self._noise, GaussianNoise):
            step = f"of every step: {self._noise.explained.assumption}"
        said = [analysis.assumption, step]
        if self.completed is not None:
            said.append("after how many steps the run stops depends on no result")
        return replace(analysis, assumption="; ".join(said))

    @property
    def crowd(self) -> str:
        return "-"

    @property
    def participants(self) -> str:
        epochs = f"{self.epochs:,} epochs of " if self.kept else ""
        each = "one step" if self.selected == 1 else f"{self.selected:,} steps"
        drawn = "drawn at random once for all epochs" if self.kept else "drawn at random afresh"
        stopped = f", stopped after {self.completed:,} steps" if self.completed is not None else ""
        steps = f"{self.steps:,} steps{stopped}"
        return f"{epochs}{steps}, each example in {each} of every epoch, {drawn}"

    @property
    def removed(self) -> str:
        return "one example is in the data; nothing, or zeros, stand for a missing one"

    @property
    def protected_ones(self) -> str:
        return EVERY_EXAMPLE

    @property
    def uncovered(self) -> Sequence[str]:
        known = [ROUNDING] if self.mechanism is None else self.mechanism.uncovered
        return [*known, *OF_TRAINING]

    @property
    def inside(self) -> str:
        return repr(self)

    @property
    def described(self) -> str:
        if self.mechanism is not None:
            return self.mechanism.described
        return f"Gaussian noise, noise multiplier {plain(self.noise_multiplier or 0.0)}"

    @property
    def given(self) -> dict[str, Any]:
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        del known["neighbours"]
        if self.mechanism is not None:
            inner = self.mechanism
            known["mechanism"] = {"name": inner.name, "parameters": inner.given}
        return known

    @property
    def reported(self) -> dict[str, Any]:
        """Parameters by name for a report, with those of the mechanism inside by their own
        names."""
        known = {name: value for name, value in self.given.items() if name != "mechanism"}
        return known if self.mechanism is None else {**known, **self.mechanism.reported}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"messages": self.messages, "neighbours": self.neighbours}

    def __repr__(self) -> str:
        usual = {each.name: each.default for each in fields(self)}
        known = {name: getattr(self, name) for name in usual}
        shown = (f"{name}={value!r}" for name, value in known.items() if value != usual[name])
        return f"RandomAllocation({', '.join(shown)})"


@dataclass(frozen=True)
class ShuffledBatches(Mechanism):
    """One epoch of training that shuffles the examples and cuts them into fixed batches.

    Most data loaders do this. `attained_epsilon` says what is lost at least. No guarantee that
    makes use of the shuffling is known. What holds is that of a single step without amplification:
    `GaussianNoise(noise_multiplier, neighbours="remove")`, composed once for each epoch, if a
    missing example keeps its place in the order, with a zero gradient. If the batches are cut anew
    without it, other examples change their batches, and this guarantee does not hold.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the Gaussian noise over the clipping norm, 0.2 to 1e3.
    steps : int
        Batches of an epoch, 1 to 1e9.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Notes
    -----
    The datasets are those of Chua et al. 2024: all other examples add the opposite of what the
    example in question adds, whose contribution is zero in the neighbouring dataset. Which batch
    has one vector less then shows twice as clearly (docs/theory/allocation.md).

    Examples
    --------
    >>> from shuffledp import RandomAllocation
    >>> from shuffledp.allocation import ShuffledBatches
    >>> at_least = ShuffledBatches(noise_multiplier=0.8, steps=1000).attained_epsilon(1e-6)
    >>> at_least > 3 * RandomAllocation(noise_multiplier=0.8, steps=1000).get_epsilon(1e-6)
    True
    """

    noise_multiplier: Annotated[
        float, Parameter("standard deviation of the noise over the clipping norm", 0.2, 1e3)
    ]
    steps: Steps
    neighbours: str = field(default="remove", init=False)

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            object.__setattr__(self, name, parameter.checked(name, getattr(self, name)))

    @property
    def parts(self) -> Parts:
        raise OutOfRange(
            "no guarantee that makes use of the shuffling is known for batches cut from shuffled "
            "examples; allocate every example to a random step (RandomAllocation) or draw Poisson "
            "batches (mechanisms.PoissonSampled). Without amplification, GaussianNoise("
            "noise_multiplier, neighbours='remove') for each epoch is an upper bound if a missing "
            "example keeps its place with a zero gradient; attained_epsilon is a lower bound."
        )

    @property
    def attained_parts(self) -> Sequence[Parts]:
        law = composition.allocated.opposite_law(self.noise_multiplier)
        orders = (profiles.parts.round_profile(each, self.steps) for each in (law, law.reversed))
        return [[(profiles.base.PairProfile(*orders), 1)]] * 2

    def _attained(self, ask: Ask) -> float:
        """No less than with other examples that add nothing: a random allocation."""
        allocated = RandomAllocation(self.noise_multiplier, self.steps)
        return max(super()._attained(ask), allocated._attained(ask))
