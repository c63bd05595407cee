"""Shared settings: references carry 60 digits and must not be rounded when compared."""

import gc
import re
from collections.abc import Iterator
from importlib.util import find_spec

import mpmath
import pytest
from hypothesis import HealthCheck, settings

SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
# the same cases each time; look for new ones with --hypothesis-profile=random
settings.register_profile("default", SHARED, derandomize=True, database=None)
settings.register_profile("random", SHARED)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """Exempt all that was imported from garbage collection: most of its time was spent there."""
    gc.collect()
    gc.freeze()


#: What examples may import, and what need not be there.
OPTIONAL = re.compile(r"^\W*(?:import|from) (duckdb|pyarrow|pandas|dask)\b", re.MULTILINE)
#: Functions that load such a module when they are called.
LOADING = {"count_parquet": "pyarrow", "write_parquet": "pyarrow"}


def missing_for(text: str) -> list[str]:
    """The optional modules that an example needs and that are not installed."""
    needed = set(OPTIONAL.findall(text))
    needed |= {module for name, module in LOADING.items() if f"{name}(" in text}
    return sorted(name for name in needed if find_spec(name) is None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip examples in docstrings and pages that need what is not installed, and say so."""
    for item in items:
        examples = getattr(getattr(item, "dtest", None), "examples", ())
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        text = "".join(example.source for example in examples) or str(parameters.get("code", ""))
        if missing := missing_for(text):
            reason = f"{' and '.join(missing)} not installed: make test installs it"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(120):
        yield
