"""Certified brackets: root finding and the certificate."""

from typing import TYPE_CHECKING

from .._support.later import modules_of
from .._support.numeric import Bounds

if TYPE_CHECKING:
    from . import certified_rounds, composed, one_round  # noqa: F401
else:
    __getattr__ = modules_of(__name__)

__all__ = ["Bounds"]
