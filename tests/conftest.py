"""Shared settings: references carry 60 digits and must not be rounded when compared."""

import gc
from collections.abc import Iterator

import mpmath
import pytest
from hypothesis import HealthCheck, settings

from optional import why_skipped

SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
# the same cases each time; look for new ones with --hypothesis-profile=random
settings.register_profile("default", SHARED, derandomize=True, database=None)
settings.register_profile("random", SHARED)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """Exempt all that was imported from garbage collection: most of its time was spent there."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip examples in docstrings and pages that need what is not installed."""
    for item in items:
        examples = getattr(getattr(item, "dtest", None), "examples", ())
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        text = "".join(example.source for example in examples) or str(parameters.get("code", ""))
        if why := why_skipped(text):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="module", autouse=True)
def answered_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """In tests of what is printed, the same question about the same rounds is answered once.

    A page or a command in several formats asks what Python asks, too. Where the shell makes other
    rounds of its options than Python, nothing is looked up.
    """
    if request.path.parent.name != "cli" and request.path.name != "test_snippets.py":
        yield
        return
    from remembering import remembering  # loads all that answers

    with remembering({}):
        yield


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(120):
        yield
