"""Laws of the outputs of randomizers: what one message tells, before any users or rounds."""

from typing import TYPE_CHECKING

from .._support.later import modules_of

if TYPE_CHECKING:
    from . import binary, cells, classes, density, matrix, noise, sums, three_point  # noqa: F401
else:
    __getattr__ = modules_of(__name__)
