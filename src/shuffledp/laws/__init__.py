"""Laws of the outputs of randomizers: what one message reveals, before any users or rounds."""

from typing import TYPE_CHECKING

from .._support.later import modules_of

if TYPE_CHECKING:
    from . import (  # noqa: F401
        binary_law,
        class_law,
        combined_law,
        density_law,
        integer_noise,
        matrix_law,
        noise_law,
    )
else:
    __getattr__ = modules_of(__name__)
