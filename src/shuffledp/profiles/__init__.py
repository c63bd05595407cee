"""delta as a function of epsilon for one round: a law, its users and how they are sampled."""

from typing import TYPE_CHECKING

from .._support.later import modules_of

if TYPE_CHECKING:
    from . import (  # noqa: F401
        base,
        mixture,
        one_more,
        parts,
        sender_count,
        shifted_noise,
        subsampled,
    )
else:
    __getattr__ = modules_of(__name__)
