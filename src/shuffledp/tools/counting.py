"""Counts of messages that are too many for one array: of files, of data frames and of queries.

Every partial count is a few rows (item, weight, total). Rows of any number of shards, in any order,
are the counts of all of them: `counts_from_rows` adds weight times total to the item. Items from 0
on are places of the tally, item -1 is the number of messages, and item -2 the number of messages
that are none of the randomizer's. A total that might exceed 64 bits has two rows of different
weight.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.extras import load
from .._support.files import replacing, writing
from ..clients import Client, Counts, MessageForm
from ..clients.base import countable
from ..errors import InvalidParameter
from ..randomizers import Randomizer

#: Items that are no places of the tally.
MESSAGES, REFUSED = -1, -2
#: The column of messages, unless another one is named.
COLUMN = "message"
#: The weight of the upper part of a total of more than 64 bits.
_WEIGHT = 1 << 40
#: Numbers that are read at a time, at least and if there are as many values; bytes of a column.
_NUMBERS, _MOST_NUMBERS, _BUFFER = 1 << 18, 1 << 22, 1 << 20
_PARQUET = "'shuffledp[parquet]'"


def count_parquet(
    randomizer: Randomizer,
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    column: str = COLUMN,
    k: int | None = None,
    users: int | None = None,
) -> Counts:
    """Counts of the messages in Parquet files, which are read some rows at a time.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer of the messages.
    files : path or paths
        Files, folders that have files that end in .parquet, or patterns such as "day-*.parquet".
    column : str
        Name of the column of messages: whole numbers; lists of them, where a message has several;
        bytes, for unary encoding.
    k : int, optional
        Number of values, for local hashing.
    users : int, optional
        Number of users who have sent the messages, for `NoisyHistogram`.

    Returns
    -------
    Counts
        Counts of all files. The memory that this takes does not depend on their size.

    Raises
    ------
    InvalidParameter
        If a file is truncated or has no such column, or a message is not one of the randomizer's.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.tools.counting import count_parquet, write_parquet
    >>> poll = RandomizedResponse(k=3, eps0=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(Path(folder) / "monday.parquet", [0, 2, 2])
    ...     write_parquet(Path(folder) / "tuesday.parquet", [1, 2])
    ...     count_parquet(poll, folder)
    Counts(users=5, tally=[1, 1, 3])
    """
    client = counter_of(randomizer, k)
    found = None
    for file in _files(files):
        for messages in _batches(file, column, client.form):
            part = _counted(client, messages)
            found = part if found is None else found + part
    if found is None:
        found = _counted(client, np.zeros(0, dtype=np.int64))
    return _of_users(randomizer, client, found, users)


def write_parquet(path: str | os.PathLike[str], messages: Any, *, column: str = COLUMN) -> None:
    """Write messages, as `randomize` returns them, to a Parquet file.

    Parameters
    ----------
    path : str or path
        The file; an existing one is replaced.
    messages : array_like
        Messages of one randomizer, one per row.
    column : str
        Name of the only column.

    Raises
    ------
    InvalidParameter
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shuffledp.tools.counting import write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(Path(folder) / "monday.parquet", [0, 2, 2])
    ...     (Path(folder) / "monday.parquet").exists()
    True
    """
    parquet = load("pyarrow.parquet", "Parquet needs", _PARQUET)
    arrow = load("pyarrow", "Parquet needs", _PARQUET)
    table = arrow.table({column: _arrow_column(np.asarray(messages))})
    with writing(path), replacing(path) as file:
        parquet.write_table(table, file)


def partial_counts(
    frame: Any, randomizer: Randomizer, *, column: str = COLUMN, k: int | None = None
) -> Any:
    """Counts of the messages in a pandas data frame, as a data frame of a few rows.

    This is a body for `map_partitions` of Dask, and for each frame of `mapInPandas` of Spark.

    Parameters
    ----------
    frame : pandas.DataFrame
        A frame with the messages in a column.
    randomizer : Randomizer
        The randomizer of the messages.
    column : str
        Name of the column of messages, as in `count_parquet`.
    k : int, optional
        Number of values, for local hashing.

    Returns
    -------
    pandas.DataFrame
        Columns item, weight and total, all of int64, for `counts_from_rows`. Rows may be summed
        before: `groupby(["item", "weight"])["total"].sum()`.

    Raises
    ------
    InvalidParameter
        If there is no such column, or a message is not one of the randomizer's.

    Examples
    --------
    >>> import pandas
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.tools.counting import counts_from_rows, partial_counts
    >>> poll = RandomizedResponse(k=3, eps0=1.0)
    >>> rows = partial_counts(pandas.DataFrame({"message": [0, 2, 2]}), poll)
    >>> rows.values.tolist()
    [[-1, 1, 3], [0, 1, 1], [2, 1, 2]]
    >>> counts_from_rows(poll, rows)
    Counts(users=3, tally=[1, 0, 2])
    """
    pandas = load("pandas", "a data frame needs", "pandas")
    if column not in frame:
        raise InvalidParameter(
            f"the frame has no column {column!r}, but {validate.show(list(frame))}; name one of "
            "them."
        )
    client = counter_of(randomizer, k)
    counts = _counted(client, messages_in(frame[column]))
    return pandas.DataFrame(_rows(counts))


def counts_from_rows(
    randomizer: Randomizer, rows: Any, *, k: int | None = None, users: int | None = None
) -> Counts:
    """Counts that rows (item, weight, total) of any number of shards add up to.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer of the messages.
    rows : data frame, or sequence of (item, weight, total)
        What `count_query` or `partial_counts` found, in any order.
    k : int, optional
        Number of values, for local hashing.
    users : int, optional
        Number of users who have sent the messages, for `NoisyHistogram`.

    Returns
    -------
    Counts
        Counts for `randomizer.estimate`.

    Raises
    ------
    InvalidParameter
        If messages were found that are not the randomizer's, or rows are of another one.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.tools.counting import counts_from_rows
    >>> poll = RandomizedResponse(k=3, eps0=1.0)
    >>> counts_from_rows(poll, [(-1, 1, 3), (0, 1, 1), (2, 1, 2), (-1, 1, 1), (2, 1, 1)])
    Counts(users=4, tally=[1, 0, 3])
    """
    client = counter_of(randomizer, k)
    form = client.form
    item, weight, total = _three_columns(rows)
    refused = sum(total[item == REFUSED].tolist())
    if refused:
        bounds = "" if form.limit is None else f" in {form.least} .. {form.limit - 1}"
        numbers = "whole numbers" if not form.shape else f"lists of {form.shape[0]} whole numbers"
        raise InvalidParameter(
            f"{refused:,} messages are none of {randomizer!r}; give {numbers}{bounds}."
        )
    wrong = np.flatnonzero((item < REFUSED) | (item >= form.size))
    if len(wrong):
        raise InvalidParameter(
            f"a row has the item {item[wrong[0]]}, outside 0 .. {form.size - 1}; give the rows of "
            f"{randomizer!r}."
        )
    sums = _added_up(item - REFUSED, weight, total, form.size + 2)
    counted = Counts(int(sums[1]), sums[2:])
    return _of_users(randomizer, client, counted, users)


def counter_of(randomizer: Randomizer, k: int | None) -> Client:
    """The client that counts the messages of a randomizer, of so many values; or an error."""
    client = randomizer.counting_client(k)
    countable(client.form.size)
    return client


def messages_in(column: Any) -> NDArray[Any]:
    """Return a column of a table as an array of messages, as `randomize` returns them.

    Parameters
    ----------
    column : array, pandas.Series or pyarrow.Array
        Whole numbers, lists of them of one length, or bytes of one length.

    Returns
    -------
    ndarray
        One message a row.

    Raises
    ------
    InvalidParameter
        If a message is missing, or lengths differ.
    """
    if hasattr(column, "null_count"):
        return _of_arrow(column)
    array = np.asarray(column)
    if array.dtype != object:
        return array
    items = array.tolist()
    missing = sum(item is None for item in items)
    if missing:
        raise _missing(missing)
    if items and all(isinstance(item, bytes) for item in items):
        return _of_bytes(items)
    try:
        return np.array([np.asarray(item) for item in items])
    except ValueError:
        raise _other_lengths() from None


def _other_lengths() -> InvalidParameter:
    return InvalidParameter(
        "messages have different lengths, but those of one randomizer are alike; give what "
        "randomize returned."
    )


def _missing(count: int) -> InvalidParameter:
    return InvalidParameter(f"{count:,} messages are missing (null); leave these rows out.")


def _of_bytes(items: Sequence[bytes]) -> NDArray[Any]:
    lengths = {len(item) for item in items}
    if len(lengths) != 1:
        raise _other_lengths()
    return np.frombuffer(b"".join(items), dtype=np.uint8).reshape(len(items), -1)


def _of_arrow(column: Any) -> NDArray[Any]:
    """A column of Arrow, whose numbers lie in one buffer, also those of lists."""
    if column.null_count:
        raise _missing(column.null_count)
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    kind = str(column.type)
    are_bytes, are_lists = "binary" in kind, "list" in kind
    if not len(column) or not (are_bytes or are_lists):
        return np.asarray(column) if len(column) else np.zeros(0, dtype=np.int64)
    compute = load("pyarrow.compute", "Parquet needs", _PARQUET)
    measure = compute.binary_length if are_bytes else compute.list_value_length
    lengths = np.unique(np.asarray(measure(column)))
    if len(lengths) > 1:
        raise _other_lengths()
    if are_bytes:
        arrow = load("pyarrow", "Parquet needs", _PARQUET)
        fixed, width = column.cast(arrow.binary(int(lengths[0]))), int(lengths[0])
        numbers = np.frombuffer(fixed.buffers()[1], dtype=np.uint8)
        return numbers[fixed.offset * width :][: len(column) * width].reshape(-1, width)
    numbers = column.flatten()
    if numbers.null_count:
        raise _missing(numbers.null_count)
    return np.asarray(numbers).reshape(len(column), -1)


def _arrow_column(messages: NDArray[Any]) -> Any:
    """Whole numbers, lists of them, or bytes."""
    arrow = load("pyarrow", "Parquet needs", _PARQUET)
    if messages.ndim == 1:
        return arrow.array(messages)
    if messages.dtype == np.uint8:
        rows = np.ascontiguousarray(messages)
        kind = arrow.binary(rows.shape[1])
        return arrow.FixedSizeBinaryArray.from_buffers(
            kind, len(rows), [None, arrow.py_buffer(rows)]
        )
    return arrow.FixedSizeListArray.from_arrays(arrow.array(messages.ravel()), messages.shape[1])


def _files(files: Any) -> Iterator[Path]:
    """All files that are named, by themselves, by their folder or by a pattern."""
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    for name in given:
        path = Path(name)
        if path.is_dir():
            found = sorted(path.rglob("*.parquet"))
        else:
            found = [path] if path.exists() else sorted(map(Path, glob(str(name))))
        if not found:
            raise InvalidParameter(
                f"{validate.show(str(name))} is no Parquet file and no folder of some; give at "
                "least one."
            )
        yield from found


def _batches(file: Path, column: str, form: MessageForm) -> Iterator[NDArray[Any]]:
    """The messages of a file, some at a time; more if there are many values to count."""
    numbers = max(_NUMBERS, min(form.size, _MOST_NUMBERS))
    rows = max(1, numbers // math.prod(form.shape))
    parquet = load("pyarrow.parquet", "Parquet needs", _PARQUET)
    arrow = load("pyarrow", "Parquet needs", _PARQUET)
    try:
        with parquet.ParquetFile(file, buffer_size=_BUFFER) as opened:
            names = opened.schema_arrow.names
            if column not in names:
                raise InvalidParameter(
                    f"{file} has no column {column!r}, but {validate.show(names)}; name one of "
                    "them."
                )
            for batch in opened.iter_batches(rows, columns=[column], use_threads=False):
                yield messages_in(batch.column(0))
    except (arrow.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")[:120]
        raise InvalidParameter(
            f"{file} cannot be read: {reason}; give a complete Parquet file."
        ) from None


def _counted(client: Client, messages: NDArray[Any]) -> Counts:
    """The counts, in which `users` is the number of messages, whoever has sent them."""
    return Client.count(client, messages)


def _of_users(randomizer: Randomizer, client: Client, counted: Counts, users: int | None) -> Counts:
    if users is not None:
        users = validate.count("users", users, validate.MAX_USERS, least=0)
    senders = client.senders(counted.users, users)
    return Counts(senders, counted.tally, protocol=repr(randomizer))


def _rows(counts: Counts) -> dict[str, NDArray[np.int64]]:
    """The columns item, weight and total, of all that is not 0."""
    numbers = np.concatenate([[counts.users], counts.tally])
    parts = [(numbers, 1)]
    if numbers.dtype == object:
        parts = [(numbers & (_WEIGHT - 1), 1), (numbers // _WEIGHT, _WEIGHT)]
    places = [np.flatnonzero(part) for part, _ in parts]
    columns = {
        "item": [place - 1 for place in places],
        "weight": [np.full(len(p), weight) for p, (_, weight) in zip(places, parts, strict=True)],
        "total": [part[p].astype(np.int64) for p, (part, _) in zip(places, parts, strict=True)],
    }
    return {name: np.concatenate(each).astype(np.int64) for name, each in columns.items()}


def _three_columns(rows: Any) -> list[NDArray[Any]]:
    """The columns of rows, as int64 or as Python's whole numbers."""
    try:
        if hasattr(rows, "columns"):
            columns = [np.asarray(rows[name]) for name in ("item", "weight", "total")]
        else:
            columns = [np.array(column, dtype=object) for column in zip(*rows, strict=True)]
        item, weight, total = columns
        return [Counts(0, column).tally for column in (item, weight, total)]
    except (InvalidParameter, KeyError, TypeError, ValueError):
        raise InvalidParameter(
            f"rows={validate.show(rows)} are not whole numbers (item, weight, total); give what "
            "count_query or partial_counts found."
        ) from None


def _added_up(
    place: NDArray[Any], weight: NDArray[Any], total: NDArray[Any], size: int
) -> NDArray[Any]:
    """The sum of weight times total for each place, exactly."""
    largest = len(total) * max(abs(int(total.min())), abs(int(total.max())))
    if (weight == 1).all() and largest < 2**63:
        sums = np.zeros(size, dtype=np.int64)
        np.add.at(sums, place, total)
        return sums
    exact = np.zeros(size, dtype=object)
    for where, factor, number in zip(place, weight.tolist(), total.tolist(), strict=True):
        exact[where] += factor * number
    return exact
