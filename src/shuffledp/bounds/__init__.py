"""Certified brackets: root finding and the certificate."""

from .certificate import Bounds

__all__ = ["Bounds"]
