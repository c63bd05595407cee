"""What is optional and may not be installed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ShuffleDPError


class MissingExtra(ShuffleDPError, ImportError):
    """Something optional is not installed."""


def load(module: str, wanted: str, install: str) -> Any:
    """The module; if it is not installed, one sentence says who wanted it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        needed = f"{wanted} {module.partition('.')[0]}, which is not installed"
        raise MissingExtra(f"{needed}; run pip install {install}.") from None
