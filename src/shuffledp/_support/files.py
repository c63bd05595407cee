"""Files that are either the old or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InvalidParameter


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path`, which takes its place if the block ends without an error.

    An error, or Ctrl-C, leaves what was there before and nothing else. The suffix is kept, for
    writers that choose a format by it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from shuffledp._support.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "report.csv") as file:
    ...         _ = file.write_text("epsilon,delta")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['report.csv']
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix
    )
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)  # mkstemp makes files for one user only; use what open() would
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Why a file cannot be written is told in one sentence."""
    try:
        yield
    except OSError as error:
        raise InvalidParameter(
            f"{path} cannot be written: {error.strerror}; choose another file."
        ) from None


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, all of it or nothing.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from shuffledp._support.files import write_text_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text_atomically(Path(folder) / "report.json", "{}")
    ...     (Path(folder) / "report.json").read_text()
    '{}'
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
