"""Local randomizers, one family a file. Each yields the laws of its analyses."""

from .base import Analysis, Randomizer
from .density import DensityRandomizer, Tails
from .finite import FiniteRandomizer
from .gaussian import Gaussian
from .laplace import Laplace
from .membership import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from .pure_ldp import PureLDP
from .randomized_response import RandomizedResponse

__all__ = [
    "Analysis",
    "DensityRandomizer",
    "FiniteRandomizer",
    "Gaussian",
    "HadamardResponse",
    "Laplace",
    "LocalHashing",
    "PureLDP",
    "RandomizedResponse",
    "Randomizer",
    "SubsetSelection",
    "Tails",
    "UnaryEncoding",
]
