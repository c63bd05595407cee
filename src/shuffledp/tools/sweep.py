"""Many protocols at once: a tidy table of certified values, in parallel, resumable.

The file of a sweep is written row by row: a run that was cut short can be continued.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._support.extras import MissingExtra, load
from .._support.files import parse_json, writing
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable, csv_text
from .._support.text import json_text, known_instead, plain, rounded_down, rounded_up, several
from .._support.validate import choice, instance, show, tolerance
from ..accountant import repeated
from ..errors import InvalidParameter, NotCertified, ShuffleDPError
from ..guarantee import DEFAULT_RTOL, NEIGHBOURS, no_guarantee
from ..randomizers.base import parameter_names
from .protocol import (
    CENTRAL_NOISE,
    CENTRAL_PARAMETERS,
    ROUND_OPTIONS,
    ROUND_PARAMETERS,
    counts,
    round_of,
    usual_neighbours,
)

__all__ = ["SweepTable", "sweep"]

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
        return csv_text([values])

    def _another(self, why: str) -> InvalidParameter:
        return InvalidParameter(
            f"{self.path} is not the beginning of this sweep: {why}; choose another file or delete "
            "this one."
        )


_MAX_ROWS = 10**7


class SweepTable(Sequence[SweepRow], Records):
    """Rows as dictionaries, one per protocol: parameters, certified bounds, and what went wrong.

    Parameters
    ----------
    rows : sequence of dict
        Rows with the same keys.

    Examples
    --------
    >>> from shuffledp import sweep
    >>> table = sweep({"users": [100, 1000]}, eps0=1.0, delta=1e-6, jobs=1)
    >>> len(table), len(table.failed)
    (2, 0)
    """

    def __init__(self, rows: Sequence[SweepRow]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    @property
    def columns(self) -> Sequence[str]:
        return tuple(self._rows[0])

    @property
    def failed(self) -> Sequence[SweepRow]:
        """Rows without a certified answer as narrow as asked for."""
        return tuple(row for row in self._rows if row["error"])

    @property
    def relation(self) -> str:
        """Names of the rows' neighbours: "replace-one", "remove-one", or both."""
        found = {row.get("neighbours") or usual_neighbours(row) for row in self._rows}
        return " or ".join(name for key, (name, _) in NEIGHBOURS.items() if key in found)

    def records(self) -> list[dict[str, Any]]:
        return list(self._rows)

    def as_table(self) -> CaptionedTable:
        """The columns that differ; what all rows have in common is in the caption."""
        values = _swept(self._rows)
        left_out = ("rtol", *(name for name, each in values.items() if len(each) == 1))
        names = [name for name in self.columns if name not in left_out]
        names = names if self.failed else names[:-1]
        failed = f", {len(self.failed):,} of them failed" if self.failed else ""
        said = [f"{several(len(self), 'row')}{failed}", _in_common(values)]
        caption = ", ".join(filter(None, [*said, f"{self.relation} neighbours"]))
        rows = [[_shown(name, row[name]) for name in names] for row in self._rows]
        return CaptionedTable(caption, names, rows, None)

    def to_bibtex(self) -> str:
        """Entries of BibTeX: this package, and the papers of the analyses of the rows.

        >>> from shuffledp import sweep
        >>> table = sweep({"users": [100, 1000]}, eps0=1.0, delta=1e-6, jobs=1)
        >>> [line for line in table.to_bibtex().splitlines() if line.startswith("@")]
        ['@misc{shuffledp,', '@inproceedings{feldman2023stronger,']
        """
        from ..published.references import bibliography, papers_of

        upper = self.columns[-2]  # the value: what failed rests on nothing
        known = (row for row in self._rows if row[upper] is not None)
        return bibliography(
            papers_of(round_of(row).explained.theorem, row.get("rounds") or 1) for row in known
        )


class SweepStopped(KeyboardInterrupt):
    """A sweep was interrupted; `table` has the rows that were computed before, in order.

    >>> str(SweepStopped(SweepTable([{"users": 9}]), 40))
    'the sweep was stopped after 1 of 40 rows; ask for the other rows separately.'
    """

    def __init__(self, table: SweepTable, total: int) -> None:
        computed = f"the sweep was stopped after {len(table):,} of {several(total, 'row')}"
        super().__init__(f"{computed}; ask for the other rows separately.")
        self.table = table


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_upper"):
        return rounded_up(value)
    if name.endswith("_lower"):
        return rounded_down(value)
    return f"{value:,}" if isinstance(value, int) else str(value).removesuffix(".0")


def sweep(
    over: Mapping[str, Sequence[Any]],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    rtol: float = DEFAULT_RTOL,
    **fixed: Any,
) -> SweepTable:
    """Table of certified values for every combination of parameters.

    Names are those of the command line: `randomizer` with its parameters, `users`, `rounds`,
    `view`, `neighbours`, `analysis`, `sample_rate`, `sampling`, ..., and either `delta` (which
    epsilon?) or `epsilon`. The last of the lists varies fastest; columns stand in the same order
    whatever is swept.

    Parameters
    ----------
    over : mapping of str to sequence
        Values of the parameters that vary.
    out : str or path, optional
        A .csv or .jsonl file that is written while the sweep runs; if it holds the beginning of the
        same sweep, that is kept.
    jobs : int, optional
        Number of cores that work at once through joblib, hence also those of a Dask or Ray cluster;
        -1: all; None: all if joblib is installed.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.
    **fixed : object
        Values of the parameters that are the same in all rows.

    Returns
    -------
    SweepTable
        One row per combination; a row that fails says so in the column `error`.

    Raises
    ------
    InvalidParameter, OutOfRange
        If a parameter is unknown, or the file is not of this sweep.
    KeyboardInterrupt
        If the sweep is stopped; its `table` has the rows computed so far.

    Examples
    --------
    >>> from shuffledp import sweep
    >>> table = sweep({"users": [1_000, 10_000], "rounds": [1, 4]}, eps0=4.0, delta=1e-6, jobs=1)
    >>> [round(row["epsilon_upper"], 3) for row in table]
    [1.853, 3.267, 0.411, 0.854]
    """
    wrong = "is not a dictionary; give lists by name, like {'users': [10]}."
    instance(over, Mapping, wrong, "over")
    cases = _cases(over, fixed, tolerance(rtol))
    file = None if out is None else SweepFile(out, _columns(cases[0]))
    rows: list[SweepRow] = [] if file is None else file.resume(cases)
    with progress("rows", len(cases)) as report:
        report(len(rows))
        try:
            for new in _evaluated(cases[len(rows) :], jobs):
                if file is not None:
                    file.append(new)
                rows += new
                report(len(new))
        except KeyboardInterrupt:
            if not rows:
                raise
            raise SweepStopped(SweepTable(rows), len(cases)) from None
    return SweepTable(rows)


def _cases(over: Mapping[str, Sequence[Any]], fixed: dict[str, Any], rtol: float) -> list[Case]:
    total = 1
    for name, values in over.items():
        sized = hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0
        if isinstance(values, (str, bytes)) or not sized:
            raise InvalidParameter(f"over[{name!r}]={show(values)} is not a list; give a list.")
        if len(values) == 0:
            raise InvalidParameter(f"over[{name!r}] is empty; give at least one value.")
        if name in fixed:
            raise InvalidParameter(f"{name} is both swept and fixed; give it once.")
        total *= len(values)
    if total > _MAX_ROWS:
        raise InvalidParameter(f"{total} rows are above {_MAX_ROWS}; sweep over fewer values.")
    axes = {name: [_plain(name, value) for value in values] for name, values in over.items()}
    _query([*axes, *fixed])
    same = {name: _plain(name, value) for name, value in fixed.items()}
    points = (dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values()))
    # columns stand in one order, whatever is swept
    names = [name for name in _known() if name in axes or name in same]
    return [
        {name: point[name] if name in point else same[name] for name in names} | {"rtol": rtol}
        for point in points
    ]


def _plain(name: str, value: Any) -> Any:
    """As it will stand in the table: a number or text."""
    value = value.item() if getattr(value, "shape", None) == () else value
    if name == "mechanism":
        choice(name, value, CENTRAL_NOISE)
    if name in counts() and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (bool, str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidParameter(f"{name}={show(value)} is neither a finite number nor text; give one.")


def _known() -> Sequence[str]:
    """What describes a case, in the order of the columns."""
    users = ("randomizer", *parameter_names(), "users", "rounds", *ROUND_OPTIONS)
    return (*users, *CENTRAL_PARAMETERS, "epsilon", "delta")


def _query(names: Sequence[str]) -> str:
    """What is asked for: epsilon if delta is given, and the other way round."""
    known = _known()
    for name in names:
        if name not in known:
            raise InvalidParameter(
                f"a sweep has no parameter {name!r}; {known_instead(name, known)}"
            )
    if ("delta" in names) == ("epsilon" in names):
        raise InvalidParameter(
            "a sweep needs either delta, to find epsilon, or epsilon, to find delta; give one."
        )
    if not any(name in names for name in ("users", "mechanism", *ROUND_PARAMETERS)):
        raise InvalidParameter("a sweep needs users; add it.")
    return "epsilon" if "delta" in names else "delta"


def _columns(case: Case) -> list[str]:
    query = _query([name for name in case if name != "rtol"])
    return [*case, f"{query}_lower", f"{query}_upper", "error"]


def evaluate(case: Case) -> SweepRow:
    """Never raises because of the case: a sweep goes on."""
    lower, upper, error = None, None, ""
    try:
        lower, upper = bounds = _bounds(case)
        query, at = ("epsilon", "delta") if "delta" in case else ("delta", "epsilon")
        error = str(no_guarantee(query, case[at], bounds) or "")
    except NotCertified as failure:
        (lower, upper), error = failure.bounds, str(failure)
    except ShuffleDPError as failure:
        error = str(failure)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    results = [lower, upper, " ".join(error.split())]
    return dict(zip(_columns(case), [*case.values(), *results], strict=True))


def _bounds(case: Case) -> Bounds[float]:
    accountant = repeated(round_of(case), case.get("rounds", 1))
    if "delta" in case:
        return accountant.epsilon_bounds(case["delta"], rtol=case["rtol"])
    return accountant.delta_bounds(case["epsilon"], rtol=case["rtol"])


def _evaluated(cases: Sequence[Case], jobs: int | None) -> Iterator[list[SweepRow]]:
    """Rows in the order of the cases, some at a time."""
    if isinstance(jobs, bool) or not isinstance(jobs, (int, type(None))) or jobs == 0:
        raise InvalidParameter(f"jobs={jobs!r} is not a number of cores; give 1, 2, ... or -1.")
    # more workers than cases would only be started
    most = jobs if jobs is None else min(jobs, len(cases))
    parallel = _joblib(most) if len(cases) > 1 else None
    if parallel is None:
        for case in cases:
            yield [evaluate(case)]
        return
    from joblib import effective_n_jobs

    with parallel as pool:
        # in portions, so that any backend of joblib will do and little is lost when interrupted
        portion = 8 * effective_n_jobs(pool.n_jobs)
        for start in range(0, len(cases), portion):
            yield list(pool((evaluate, (case,), {}) for case in cases[start : start + portion]))


def _joblib(jobs: int | None) -> Any:
    """joblib's pool; None if one core does it all."""
    if jobs == 1:
        return None
    try:
        joblib = load("joblib", f"jobs={jobs} needs", "'shuffledp[sweep]'")
    except MissingExtra:
        if jobs is None:
            return None
        raise
    return joblib.Parallel(n_jobs=-1 if jobs is None else jobs)


_MOST = 24  # curves that can be told apart


class SweepCurves(NamedTuple):
    """Rows as curves, by label; `same` is what all of them have in common."""

    axis: str
    query: str  # epsilon or delta
    curves: dict[str, list[tuple[float, Bounds[float]]]]
    same: str
    log: str  # the axes that are logarithmic


def sweep_curves(rows: Sequence[Mapping[str, Any]]) -> SweepCurves:
    """On the axis is the number that takes most values; every combination of the others is a curve.

    A row that failed is a gap.
    """
    query = "epsilon" if "epsilon_upper" in rows[0] else "delta"
    values = _swept(rows)
    numeric = [name for name in values if len(values[name]) > 1 and _numbers(values[name])]
    if not numeric:
        raise InvalidParameter(
            "no number takes two values in this sweep; give one with several for a picture."
        )
    axis = max(numeric, key=lambda name: len(values[name]))
    others = [name for name in values if name != axis and len(values[name]) > 1]
    curves: dict[str, list[tuple[float, Bounds[float]]]] = {}
    for row in rows:
        label = ", ".join(in_words(name, row[name]) for name in others)
        low, up = row[f"{query}_lower"], row[f"{query}_upper"]
        bounds = Bounds(0.0, math.inf) if up is None else Bounds(low, up)
        curves.setdefault(label, []).append((row[axis], bounds))
    if len(curves) > _MOST:
        raise InvalidParameter(
            f"{len(curves)} curves are more than {_MOST}, which can be told apart; sweep over less."
        )
    for points in curves.values():
        points.sort(key=lambda point: point[0])
    high = [b.upper for points in curves.values() for _, b in points if 0 < b.upper < math.inf]
    if not high:
        raise InvalidParameter(
            "no row of this sweep is positive and finite; its column error may say why."
        )
    log = ("x" if _wide(values[axis]) else "") + ("y" if _wide(high) else "")
    return SweepCurves(axis, query, curves, _in_common(values), log)


def _swept(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of each parameter, without those of results."""
    asked = [name for name in rows[0] if not name.endswith(("_lower", "_upper"))]
    return {
        name: list(dict.fromkeys(row[name] for row in rows))
        for name in asked
        if name not in ("rtol", "error")
    }


def _in_common(values: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(in_words(name, each[0]) for name, each in values.items() if len(each) == 1)


def _numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _wide(values: Sequence[float]) -> bool:
    """Do they span more than a decade?"""
    return bool(values) and 0 < 10 * min(values) < max(values)


def in_words(name: str, value: Any) -> str:
    """A parameter and its value, as a label."""
    if not isinstance(value, (int, float)):
        return f"{value}" if name == "randomizer" else f"{name} {value}"
    shown = f"{value:,}" if isinstance(value, int) else plain(value)
    if name in ("users", "rounds"):
        return f"{shown} {name if value != 1 else name[:-1]}"
    return f"{name} = {shown}"
