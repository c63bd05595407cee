"""The file of a sweep, written row by row: a run that was cut short can be continued."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._support.files import parse_json, writing
from .._support.text import json_text
from .._support.validate import show
from ..errors import InvalidParameter

#: The parameters of a row, and the row itself.
Case = dict[str, Any]
SweepRow = dict[str, Any]


class SweepFile:
    """CSV with a header, or JSON Lines. Rows stand in the order of the cases."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
            raise InvalidParameter(
                f"out={show(path)} is not the name of a file; give a .csv or .jsonl file."
            )
        self.path, self._columns = Path(path), list(columns)
        if self.path.suffix not in (".csv", ".jsonl"):
            raise InvalidParameter(f"out={self.path} is neither .csv nor .jsonl; name it so.")
        self._csv = self.path.suffix == ".csv"

    def resume(self, cases: Sequence[Case]) -> list[SweepRow]:
        """The rows of these cases that the file already has; a torn last line is cut off.

        A file with anything else in it is refused and left alone.
        """
        head = self._line(self._columns) if self._csv else ""
        with writing(self.path):
            text = self._read()
            lines = text.splitlines(keepends=True)
            if lines and not lines[-1].endswith("\n"):
                lines.pop()
            if not text.startswith(head) and not head.startswith(text):
                raise self._another("its header differs")
            body = lines[1:] if self._csv else lines
            if len(body) > len(cases):
                raise self._another("it has more rows")
            rows = [self._row(*pair) for pair in enumerate(zip(cases, body, strict=False), 1)]
            with self.path.open("r+" if text else "w", encoding="utf-8", newline="") as file:
                file.write(head)
                file.truncate(len("".join([head, *body]).encode()))
        return rows

    def append(self, rows: Sequence[SweepRow]) -> None:
        with writing(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            file.write("".join(self._line(list(row.values())) for row in rows))

    def _read(self) -> str:
        if not self.path.exists():
            return ""
        if not self.path.is_file():
            raise self._another("it is not a file")
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise self._another("it is not text") from None

    def _row(self, number: int, pair: tuple[Case, str]) -> SweepRow:
        """A line of the file as a row, if it is that of this case."""
        case, line = pair
        try:
            row = {} if self._csv else parse_json(line)
            parts = next(csv.reader([line])) if self._csv else list(row.values())
            known = [str(value) for value in case.values()] if self._csv else list(case.values())
            *given, low, high, error = parts
            if given != known or (not self._csv and list(row) != self._columns):
                raise ValueError
            lower, upper = (None if x in ("", None) else float(x) for x in (low, high))
            if any(x is not None and math.isnan(x) for x in (lower, upper)):
                raise ValueError
        except (ValueError, TypeError, AttributeError, RecursionError, csv.Error):
            raise self._another(f"row {number} is not of this sweep") from None
        results = zip(self._columns[-3:], (lower, upper, error), strict=True)
        return {**case, **dict(results)}

    def _line(self, values: Sequence[Any]) -> str:
        if not self._csv:
            return json_text(dict(zip(self._columns, values, strict=True))) + "\n"
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(values)
        return line.getvalue()

    def _another(self, why: str) -> InvalidParameter:
        return InvalidParameter(
            f"{self.path} is not the beginning of this sweep: {why}; choose another file or delete "
            "this one."
        )
