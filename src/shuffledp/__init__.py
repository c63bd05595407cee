"""Certified (epsilon, delta) for the shuffle model of differential privacy."""

from .accountant import Accountant
from .adversaries import adversaries
from .bounds import Bounds
from .compare import Comparison, compare
from .errors import InvalidParameter, NotCertified, OutOfRange, ShuffleDPError
from .given import ApproximateDP, GivenPLD, GivenProfile
from .randomizers import (
    FiniteRandomizer,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    PureLDP,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from .shuffle import Shuffle
from .verify import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "ApproximateDP",
    "Bounds",
    "Comparison",
    "FiniteRandomizer",
    "Gaussian",
    "GivenPLD",
    "GivenProfile",
    "HadamardResponse",
    "InvalidParameter",
    "Laplace",
    "LocalHashing",
    "NotCertified",
    "OutOfRange",
    "PureLDP",
    "RandomizedResponse",
    "Shuffle",
    "ShuffleDPError",
    "SubsetSelection",
    "UnaryEncoding",
    "Verification",
    "adversaries",
    "compare",
    "verify",
]
