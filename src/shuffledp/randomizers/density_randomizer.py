"""Randomizers with a density.

To add one, subclass `DensityRandomizer`: say which share of the outputs of either end of the input
range has at least a given loss, and prove the three properties in its docstring.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from .. import laws
from .._support.numeric import Array
from ..laws.class_law import Law
from .analyses import BLANKET, Analysis
from .base import Randomizer

#: What is assumed of noise that has a density.
REAL_NOISE = "on real numbers (noise of a floating-point generator is another randomizer)"


class DensityRandomizer(Randomizer):
    """A randomizer of values in [0, 1] with a density R(x) and worst inputs 0 and 1.

    Three properties make its blanket bound hold (docs/theory/densities.md):

    1. R(x) >= omega := min(R(0), R(1)) at every output, for every x;

    2. the integral of (R(x) - c omega)_+ is at most that of (R(0) - c omega)_+, for every x and c;

    3. the loss log R(0)/R(1) has the same law under R(0) as its negative has under R(1).

    Examples
    --------
    >>> from shuffledp.randomizers import DensityRandomizer, Gaussian, Laplace
    >>> issubclass(Laplace, DensityRandomizer), Gaussian(sigma=2.0).max_loss
    (True, inf)
    """

    @abstractmethod
    def tails(self, loss: Array) -> laws.density_law.Tails:
        """Probabilities of outputs with at least these losses.

        Parameters
        ----------
        loss : ndarray
            Losses log R(0)/R(1), 0 or larger, shape [losses].

        Returns
        -------
        Tails
            Probabilities for the inputs 0 and 1, each with its relative error.
        """

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """Largest loss of an output, attained or not; infinite if there is none."""

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {"best": BLANKET, "blanket": BLANKET}

    def blanket_law(self) -> Law:
        """Law of a message under the privacy blanket (docs/theory/densities.md)."""
        return laws.density_law.DensityLaw(self)

    def attained_law(self) -> Law:
        """Law of a message in datasets in which the others hold one end of the range."""
        return laws.density_law.DensityLaw(self, attained=True)
