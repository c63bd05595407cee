"""Clients, which randomize on a device, and the estimators that go with them."""

from .base import Client, MessageForm, Support
from .counts import Counts, Estimate, Interval, MeanEstimate, combine
from .entropy import Source
from .specification import Specification

__all__ = [
    "Client",
    "Counts",
    "Estimate",
    "Interval",
    "MeanEstimate",
    "MessageForm",
    "Source",
    "Specification",
    "Support",
    "combine",
]
