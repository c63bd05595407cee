"""The file of a sweep, written row by row: a run that was cut short can be continued."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._cells import Cell, Row
from .errors import InvalidParameter


class SweepFile:
    """CSV with a header, or JSON Lines. Rows stand in the order of the cells."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self.path, self._columns = Path(path), list(columns)
        if self.path.suffix not in (".csv", ".jsonl"):
            raise InvalidParameter(f"out={self.path} is neither .csv nor .jsonl; name it so.")
        self._csv = self.path.suffix == ".csv"

    def resume(self, cells: Sequence[Cell]) -> list[Row]:
        """The rows of these cells that the file already has; what is torn or missing is cut off.

        A file with anything else in it is left alone.
        """
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            head = self._line(self._columns) if self._csv else ""
            if not whole.startswith(head) and not (whole == "" and head.startswith(text)):
                raise self._another()
            rows = self._parsed(whole[len(head) :], cells)
            # the end first: were this interrupted too, nothing would be lost
            kept = head + "".join(self._text(row) for row in rows)
            if not whole.startswith(kept) and whole != "":
                raise self._another()
            if kept != text:
                self.path.write_text(kept, encoding="utf-8", newline="")
        except OSError as error:
            raise self._unusable(error) from None
        except UnicodeDecodeError:
            raise self._another() from None
        return rows

    def append(self, rows: Sequence[Row]) -> None:
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write("".join(self._text(row) for row in rows))
        except OSError as error:
            raise self._unusable(error) from None
