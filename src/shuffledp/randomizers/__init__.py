"""Local randomizers, one family a file. Each yields the laws of its analyses."""

from .base import Analysis, Randomizer
from .finite import FiniteRandomizer
from .membership import (
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from .pure_ldp import PureLDP

__all__ = [
    "Analysis",
    "FiniteRandomizer",
    "HadamardResponse",
    "LocalHashing",
    "PureLDP",
    "RandomizedResponse",
    "Randomizer",
    "SubsetSelection",
    "UnaryEncoding",
]
