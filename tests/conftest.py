"""Shared settings: references carry 60 digits and must not be rounded when compared."""

import gc
from collections.abc import Iterator

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


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(120):
        yield
