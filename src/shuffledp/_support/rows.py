"""Results as rows for other programs: CSV and data frames."""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from .extras import load
from .files import write_text_atomically, writing
from .tables import text_table

Row = TypeVar("Row")


#: Rows that are printed at the most.
_PRINTED = 20


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


class Records(ABC):
    """What has rows for other programs: dictionaries with the same keys, in full precision."""

    def __repr__(self) -> str:
        return str(self)  # a table, as a notebook shows it

    def __str__(self) -> str:
        rows = self.records()
        cells = [[_shown(value) for value in row.values()] for row in rows[:_PRINTED]]
        more = f"\n... {len(rows):,} rows in all" if len(rows) > _PRINTED else ""
        return f"{text_table(self.columns, cells)}{more}"

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries with the same keys; None stands for a missing value."""

    @property
    def columns(self) -> Sequence[str]:
        """Keys of every row, in order."""
        return tuple(self.records()[0])

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """CSV text of the rows, with a line of column names.

        Parameters
        ----------
        path : str or path, optional
            A file that the text is written to as well.

        Returns
        -------
        str
            The text; numbers have full precision.

        Raises
        ------
        InvalidParameter
            If the file cannot be written.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(record.values() for record in self.records())
        if path is not None:
            with writing(path):
                write_text_atomically(path, text.getvalue())
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Rows as a pandas DataFrame; pandas has to be installed."""
        pandas = load("pandas", "to_pandas needs", "pandas")
        return pandas.DataFrame(self.records(), columns=list(self.columns))


class RowSequence(Sequence[Row], Records):
    """A result that is the sequence of its `rows`."""

    rows: tuple[Row, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)
