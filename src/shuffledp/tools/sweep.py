"""Many protocols at once: a tidy table of certified values, in parallel, resumable."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._support.progress import progress
from .._support.tables import html_table
from .._support.text import rounded_down, rounded_up
from .._support.validate import instance, show, tolerance
from ..errors import InvalidParameter, ShuffleDPError
from ..guarantee import DEFAULT_RTOL
from .protocol import counts
from .sweep_case import Case, Row, columns, evaluate, query_of
from .sweep_file import SweepFile

_MAX_ROWS = 10**7


class MissingExtra(ShuffleDPError, ImportError):
    """Something optional is not installed."""


class SweepTable(Sequence[Row]):
    """Rows as dictionaries, one a protocol: parameters, certified bounds, and what went wrong.

    >>> from shuffledp import sweep
    >>> sweep({"users": [100, 1000]}, eps0=1.0, delta=1e-6, jobs=1)
    <SweepTable: 2 rows, 0 failed>
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    @property
    def columns(self) -> Sequence[str]:
        return tuple(self._rows[0])

    @property
    def failed(self) -> Sequence[Row]:
        """The rows without a certified answer as narrow as asked for."""
        return tuple(row for row in self._rows if row["error"])

    def to_pandas(self) -> Any:
        """A pandas DataFrame, if pandas is installed."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra(
                "to_pandas needs pandas, which is not installed; run pip install pandas."
            ) from None
        return pandas.DataFrame(list(self._rows), columns=list(self.columns))

    def __repr__(self) -> str:
        return f"<SweepTable: {len(self)} rows, {len(self.failed)} failed>"

    def _repr_html_(self) -> str:
        rows = [[_shown(name, row[name]) for name in self.columns] for row in self._rows[:1000]]
        return html_table(f"{len(self):,} rows, replace-one neighbours", self.columns, rows)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_upper"):
        return rounded_up(value)
    if name.endswith("_lower"):
        return rounded_down(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def sweep(
    over: Mapping[str, Sequence[Any]],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    rtol: float = DEFAULT_RTOL,
    **fixed: Any,
) -> SweepTable:
    """Every combination of the values in `over`; what is `fixed` is the same in all of them.

    Names are those of the command line: `randomizer` with its parameters, `users`, `rounds`,
    `analysis`, `sample_rate`, `sampling`, and either `delta` (which epsilon?) or `epsilon`.

    `out`, a .csv or .jsonl file, is written while the sweep runs; if it holds the beginning of the
    same sweep, that is kept. `jobs` cores work at once (-1: all; None: all if joblib is installed)
    through joblib, hence also those of a Dask or Ray cluster. A row that fails says so in the
    column `error`.

    >>> from shuffledp import sweep
    >>> table = sweep({"users": [1_000, 10_000], "rounds": [1, 4]}, eps0=4.0, delta=1e-6, jobs=1)
    >>> [round(row["epsilon_upper"], 3) for row in table]
    [1.853, 3.267, 0.411, 0.854]
    """
    wrong = "is not a dictionary; give lists by name, like {'users': [10]}."
    instance(over, Mapping, wrong, "over")
    cases = _cases(over, fixed, tolerance(rtol))
    file = None if out is None else SweepFile(out, columns(cases[0]))
    rows: list[Row] = [] if file is None else file.resume(cases)
    with progress(len(cases), "rows") as report:
        report(len(rows))
        for new in _evaluated(cases[len(rows) :], jobs):
            if file is not None:
                file.append(new)
            rows += new
            report(len(new))
    return SweepTable(rows)


def _cases(over: Mapping[str, Sequence[Any]], fixed: dict[str, Any], rtol: float) -> list[Case]:
    total = 1
    for name, values in over.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise InvalidParameter(f"over[{name!r}]={show(values)} is not a list; give a list.")
        if len(values) == 0:
            raise InvalidParameter(f"over[{name!r}] is empty; give at least one value.")
        if name in fixed:
            raise InvalidParameter(f"{name} is both swept and fixed; give it once.")
        total *= len(values)
    if total > _MAX_ROWS:
        raise InvalidParameter(f"{total} rows are above {_MAX_ROWS}; sweep over fewer values.")
    axes = {name: [_plain(name, value) for value in values] for name, values in over.items()}
    names = [*axes, *fixed]
    query_of(names)
    same = [_plain(name, value) for name, value in fixed.items()]
    return [
        dict(zip(names, [*point, *same], strict=True)) | {"rtol": rtol}
        for point in itertools.product(*axes.values())
    ]


def _plain(name: str, value: Any) -> Any:
    """As it will stand in the table: a number or text."""
    value = value.item() if getattr(value, "shape", None) == () else value
    if name in counts() and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (bool, str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidParameter(f"{name}={show(value)} is neither a finite number nor text; give one.")


def _evaluated(cases: Sequence[Case], jobs: int | None) -> Iterator[list[Row]]:
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
        from joblib import Parallel
    except ImportError:
        if jobs is None:
            return None
        raise MissingExtra(
            f"jobs={jobs} needs joblib, which is not installed; run pip install 'shuffledp[sweep]'."
        ) from None
    return Parallel(n_jobs=-1 if jobs is None else jobs)
