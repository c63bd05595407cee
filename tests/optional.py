"""Modules that need not be there: tests and examples that need one are skipped, and say so."""

import re
from functools import cache
from importlib import import_module
from typing import Any

import pytest

#: What examples may import.
_IMPORTED = re.compile(r"^\W*(?:import|from) (duckdb|pyarrow|pandas|dask|distributed)\b", re.M)
#: What calls of ours load.
_LOADED = {"count_parquet(": "pyarrow", "write_parquet(": "pyarrow", ".to_pandas(": "pandas"}
#: What else a module needs.
_MODULES = {"dask": "dask.dataframe"}


@cache
def problem(name: str) -> str:
    """Why a module cannot be imported; empty if it can."""
    try:
        import_module(name)
    except ModuleNotFoundError:
        return f"{name} is not installed: make test installs it"
    except ImportError as error:
        return f"{name} cannot be imported: {error}"
    return ""


def needs(name: str) -> Any:
    """The module, or the test is skipped."""
    if why := problem(name):
        pytest.skip(why)
    return import_module(name)


def why_skipped(example: str) -> str:
    """Why an example cannot be run here; empty if it can."""
    names = set(_IMPORTED.findall(example))
    names |= {module for call, module in _LOADED.items() if call in example}
    return next(filter(None, (problem(_MODULES.get(name, name)) for name in sorted(names))), "")
