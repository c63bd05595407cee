"""Modules that need not be there: tests and examples that need one are skipped, and say so."""

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

#: What examples may import.
_IMPORTED = re.compile(r"^\W*(?:import|from) (duckdb|pyarrow|pandas|dask|distributed)\b", re.M)
#: What calls of ours load.
_LOADED = {"count_parquet(": "pyarrow", "write_parquet(": "pyarrow", ".to_pandas(": "pandas"}


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
    """Why an example cannot be run here; empty if it can. Asked of all of them before any is run,
    so that only pyarrow is imported, which may not go with the numpy that is there."""
    names = set(_IMPORTED.findall(example))
    names |= {module for call, module in _LOADED.items() if call in example}
    missing = [name for name in sorted(names) if find_spec(name) is None]
    if missing:
        return f"{' and '.join(missing)} not installed: make test installs it"
    return problem("pyarrow") if names & {"dask", "pyarrow"} else ""
