"""Clients, which randomize on a device, and the estimators that go with them."""

from .base import Client, Support
from .counts import Counts, Estimate, Interval, MeanEstimate
from .entropy import Source
from .specification import Specification

__all__ = [
    "Client",
    "Counts",
    "Estimate",
    "Interval",
    "MeanEstimate",
    "Source",
    "Specification",
    "Support",
]
