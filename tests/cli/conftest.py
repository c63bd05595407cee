"""Settings of the tests of the shell."""

from collections.abc import Iterator

import pytest

from remembering import remembering


@pytest.fixture(scope="module", autouse=True)
def answered_once() -> Iterator[None]:
    """A command in several formats and in Python: the same rounds are computed once.

    Where the shell makes other rounds of its options than Python, nothing is looked up.
    """
    with remembering({}):
        yield
