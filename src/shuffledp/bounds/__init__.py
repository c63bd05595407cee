"""Certified brackets: root finding and the certificate."""

from .._support.numeric import Bounds

__all__ = ["Bounds"]
