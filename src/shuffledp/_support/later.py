"""Packages whose modules are loaded when they are first used, since importing can do without.

`from . import profiles` loads none of its modules, and `profiles.parts` the one that is named.
"""

import importlib
from collections.abc import Callable
from types import ModuleType


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` of this package."""

    def module(name: str) -> ModuleType:
        path = f"{package}.{name}"
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
