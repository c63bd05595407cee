"""Results as rows for other programs and for papers: CSV, data frames, HTML, Markdown, LaTeX."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from .extras import load
from .files import write_text_atomically, writing
from .tables import (
    MOST_ROWS,
    CaptionedTable,
    csv_text,
    escape_markdown,
    html_table,
    latex_table,
    markdown_table,
    text_table,
)
from .text import several

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
        caption, head, rows, _ = self.as_table()
        more = f" (the first {_PRINTED} are shown)" if len(rows) > _PRINTED else ""
        return f"{text_table(head, rows[:_PRINTED])}\n{caption}{more}"

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries with the same keys; None stands for a missing value."""

    @property
    def columns(self) -> Sequence[str]:
        """Keys of every row, in order."""
        return tuple(self.records()[0])

    def as_table(self) -> CaptionedTable:
        """The rows as people read them, upper values rounded up and lower ones down."""
        rows = [[_shown(value) for value in row.values()] for row in self.records()]
        return CaptionedTable(several(len(rows), "row"), self.columns, rows, None)

    def _repr_html_(self) -> str:
        return html_table(*self.as_table(), most=MOST_ROWS)

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
        text = csv_text([self.columns, *(record.values() for record in self.records())])
        if path is not None:
            with writing(path):
                write_text_atomically(path, text)
        return text

    def to_markdown(self) -> str:
        """The table of Markdown that has what people read, below its caption."""
        caption, head, rows, _ = self.as_table()
        return f"{escape_markdown(caption)}\n\n{markdown_table(head, rows)}\n"

    def to_latex(self) -> str:
        """The same as a table of LaTeX, for the package booktabs."""
        return f"{latex_table(self.as_table())}\n"

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
