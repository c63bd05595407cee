"""Files: those that are read, and those that are written, either the old or the new one."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidParameter
from .numeric import Array
from .validate import show

#: How a number begins; `nan` and `inf` are such, too.
_LIKE_A_NUMBER = re.compile(r"\s*[+-]?(\.?\d|nan\s*$|inf\s*$)", re.IGNORECASE)
#: The name of what comes through a pipe.
STDIN = "-"
#: Inside of `reading_only`: the files that there are.
_there: list[Mapping[str, bytes]] = []


@contextmanager
def reading_only(files: Mapping[str, bytes]) -> Iterator[None]:
    """No file of the disk is read inside, and nothing that is piped in: only these.

    >>> from shuffledp._support.files import read_bytes, reading_only
    >>> with reading_only({"plan.toml": b"[target]"}):
    ...     read_bytes("plan.toml", "plan.toml", "a plan")
    b'[target]'
    """
    _there.append(files)
    try:
        yield
    finally:
        _there.pop()


def sha256_of_sources() -> str:
    """The sha256 of the Python sources of the installed package, one after the other by path."""
    import hashlib

    root = Path(__file__).parents[1]
    sources = sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def read_bytes(path: str | os.PathLike[str], called: str, give: str) -> bytes:
    """All of a file, or of what is piped in for `-`; why not is told in one sentence."""
    if _there:
        if (name := str(path)) in _there[-1]:
            return _there[-1][name]
        why = "it is not among the files that came with the question"
        raise InvalidParameter(f"{called} cannot be read: {why}; add it to them.")
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except (OSError, TypeError, ValueError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or "it is not the name of a file"
        raise InvalidParameter(f"{called} cannot be read: {reason}; give {give}.") from None


def parse_json(text: str | bytes, **how: Any) -> Any:
    """What a JSON text says; a key that an object has twice is refused, where `json.loads` takes
    the last one without a word.

    >>> parse_json('{"eps0": 4, "eps0": 5}')
    Traceback (most recent call last):
    shuffledp.errors.InvalidParameter: the key 'eps0' is given 2 times; give it once.
    """
    return json.loads(text, object_pairs_hook=_unique, **how)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise InvalidParameter(f"the key {show(name)} is given {times} times; give it once.")
    return dict(pairs)


def read_numbers(
    path: str | os.PathLike[str], called: str, give: str = "numbers with commas"
) -> Array:
    """The rows of a CSV file of numbers, shape [rows, columns].

    Columns are separated by commas, or by semicolons, in which case numbers may have decimal
    commas. These are left out: a first line of names, a first column of names or without a name
    in the first line, comments after #, and a byte order mark.
    """
    data = read_bytes(path, called, "a CSV file")
    lines: list[_CsvLine] = []
    first = 0
    try:
        lines, first = _lines_of_numbers(data.decode("utf-8-sig"))
        if not lines:
            return np.empty((0, 0))
        kept = range(first, len(lines[0].cells())) if first else None
        texts = [line.text for line in lines]
        return np.loadtxt(texts, delimiter=",", quotechar='"', ndmin=2, usecols=kept)
    except UnicodeDecodeError:
        reason = "it is not a text file"
    except (ValueError, csv.Error) as error:
        reason = _first_wrong(lines, first) or str(error).splitlines()[0][:99].rstrip(".")
    raise InvalidParameter(f"{called} cannot be read: {reason}; give {give}.")


class _CsvLine(NamedTuple):
    """A line of a file, as an editor counts lines, without its comment."""

    number: int
    text: str

    def cells(self) -> list[str]:
        return next(csv.reader([self.text]), [])


def _lines_of_numbers(text: str) -> tuple[list[_CsvLine], int]:
    """The lines with numbers, with commas between columns, and the first column to read."""
    numbered = ((n, line.partition("#")[0]) for n, line in enumerate(text.splitlines(), start=1))
    lines = [_CsvLine(n, line) for n, line in numbered if line.strip()]
    if lines and ";" in lines[0].text:
        dotted = str.maketrans({",": ".", ";": ","})
        lines = [_CsvLine(n, line.translate(dotted)) for n, line in lines]
    names = lines[0].cells() if lines else []
    unnamed = bool(names) and not names[0].strip()
    # what begins like a number is meant to be one: no row is taken for names
    if unnamed or not any(map(_LIKE_A_NUMBER.match, names)):
        lines = lines[1:]
    labelled = len(names) > 1 and not any(_LIKE_A_NUMBER.match(line.cells()[0]) for line in lines)
    return lines, int(unnamed or labelled)


def _first_wrong(lines: Sequence[_CsvLine], first: int) -> str:
    """What is wrong with lines of numbers, from a column on; empty if nothing is found."""
    length = 0
    with suppress(csv.Error):
        for line in lines:
            cells = line.cells()
            length = length or len(cells)
            for cell in cells[first:]:
                try:
                    float(cell)
                except ValueError:
                    return f"{show(cell.strip())} in line {line.number} is not a number"
            if len(cells) != length:
                return (
                    f"line {line.number} has {len(cells)} columns, and line {lines[0].number} has "
                    f"{length}"
                )
    return ""


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
