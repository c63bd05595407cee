"""Profiles to privacy loss distributions to their sums: many rounds."""

from typing import TYPE_CHECKING

from .._support.later import modules_of

if TYPE_CHECKING:
    from . import allocated, bundle, compose, composed_profile  # noqa: F401
else:
    __getattr__ = modules_of(__name__)
