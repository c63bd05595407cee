"""Certified (epsilon, delta) for the shuffle model of differential privacy."""

from .accountant import Accountant
from .bounds import Bounds
from .errors import InvalidParameter, NotCertified, OutOfRange, ShuffleDPError
from .randomizers import PureLDP
from .shuffle import Shuffle

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "Bounds",
    "InvalidParameter",
    "NotCertified",
    "OutOfRange",
    "PureLDP",
    "Shuffle",
    "ShuffleDPError",
]
