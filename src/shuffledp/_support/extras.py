"""What is optional and may not be installed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ShuffleDPError


class MissingExtra(ShuffleDPError, ImportError):
    """Something optional is not installed."""


def load(module: str, wanted: str, install: str) -> Any:
    """The module; if it is not installed, one sentence says who wanted it."""
    needed = f"{wanted} {module.partition('.')[0]}, which"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"{needed} is not installed; run pip install {install}.") from None
    except ImportError as error:  # of other modules' versions, say
        why = " ".join(str(error).split()).rstrip(".")
        raise MissingExtra(
            f"{needed} cannot be imported, since {why}; run pip install --upgrade {install}."
        ) from None
