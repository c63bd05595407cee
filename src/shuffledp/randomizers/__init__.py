"""Local randomizers, one family a file. Each yields the score laws of its analyses."""

from .base import Analysis, Randomizer
from .pure_ldp import PureLDP

__all__ = ["Analysis", "PureLDP", "Randomizer"]
