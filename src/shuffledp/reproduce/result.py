"""What a figure of the paper becomes: data in JSON and CSV, pictures in PNG and PDF."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

from .. import __version__
from .._support import validate
from .._support.files import replacing, write_text_atomically
from .._support.text import json_text
from ..errors import InvalidParameter
from ..guarantee import DEFAULT_RTOL
from ..tools import style
from ..tools.style import Curve, Look, Panel, Points

PAPER = "paper's Fourier accountant, clones"
PAPER_STRONGER = "paper's Fourier accountant on the stronger clones"
CLONES, STRONGER = "ours, clones (certified)", "ours, stronger clones (certified)"
AS_ONE = "ours, sampling and shuffling as one (certified)"

#: What is ours is black, blue, green or indigo, and nothing else is.
LOOKS = {
    PAPER: Look(style.ORANGE, "-", 4.5),
    PAPER_STRONGER: Look(style.SKY, "-", 4.5),
    CLONES: Look(style.BLACK, "--", 1.4),
    STRONGER: Look(style.BLUE, "-.", 1.8),
    AS_ONE: Look(style.GREEN, "-", 1.8),
    "Feldman et al. 2021, numerical": Look(style.VERMILION, ":", 2.2),
    "Girgis et al. 2021, RDP": Look(style.VERMILION, ":", 2.2),
    "Balle et al. 2019, Thm 3.1": Look(style.GREY, ":", 2.2),
    "A_s as printed, independent counts": Look(style.PURPLE, "-", 3.4),
    "A_w as printed, independent counts": Look(style.SKY, "-", 3.4),
    "A_s as printed, joint counts": Look(style.PURPLE, ":", 1.6),
    "A_w as printed, joint counts": Look(style.SKY, ":", 1.6),
    "A_s, true divergence (ours)": Look(style.INDIGO, "--", 1.6),
    "A_w, true divergence (ours)": Look(style.GREEN, "-.", 1.8),
    "attained by actual datasets (ours)": Look(style.BLACK, (0, (1, 3)), 2.6),
    "Monte Carlo on the cube (99.9 % band)": Look(style.ORANGE, "", 1.0, "o"),
    "regular grid, m^n/n! points": Look(style.VERMILION, "", 1.0, "x"),
    "one-dimensional, plain FFT": Look(style.GREY, "-", 1.2),
    "one-dimensional, certified (ours)": Look(style.BLUE, "-.", 1.8),
    "paper's PLD, all O(n^2) terms": Look(style.VERMILION, ":", 2.2, "s"),
    "paper's PLD, Hoeffding O(n)": Look(style.ORANGE, "-", 2.2, "o"),
    "paper's subsampled pair (one order only)": Look(style.ORANGE, "-", 4.5),
    "paper's accountant on the closed pair": Look(style.PURPLE, "--", 2.2),
    "paper's accountant on the closed stronger pair": Look(style.SKY, "-", 4.5),
}


@dataclass(frozen=True)
class Settings:
    """How much work to do, how pictures are to look, and who is told of each curve."""

    quick: bool = False
    grid_points: int | None = None
    samples: int | None = None
    seed: int = 2021
    title: str | None = None
    figsize: tuple[float, float] | None = None
    dpi: float | None = None
    done: Callable[[int], object] = lambda more: None

    def __post_init__(self) -> None:
        if self.grid_points is not None:
            validate.count("grid-points", self.grid_points, 10**8, least=4)
        if self.samples is not None:
            validate.count("samples", self.samples, 10**10, least=2)

    @property
    def points(self) -> int:
        """m of the Fourier accountant: 10^7 as in the captions."""
        return self.grid_points or (10**6 if self.quick else 10**7)

    @property
    def draws(self) -> int:
        """Samples of the Monte Carlo integration: 5 10^7 as in the paper."""
        return self.samples or (2 * 10**5 if self.quick else 5 * 10**7)

    @property
    def width(self) -> float:
        """Relative width in epsilon that certified values may have."""
        return 1e-2 if self.quick else DEFAULT_RTOL

    def curve(
        self,
        method: str,
        x: Points,
        y: Points,
        label: str = "",
        low: Points | None = None,
        high: Points | None = None,
    ) -> Curve:
        """A curve, after `done` has been told of it."""
        self.done(1)
        return Curve(method, x, y, label, low, high)


@dataclass(frozen=True)
class Result:
    """One figure: curves, further numbers, and how it was made."""

    name: str
    title: str
    caption: str
    parameters: dict[str, Any]
    panels: Sequence[Panel]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def write(self, folder: Path, settings: Settings, seconds: float) -> list[Path]:
        """name.json, name.csv and, if there is something to draw, name.png and name.pdf."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidParameter(
                f"--out {folder} cannot be made: {error.strerror}; give a folder."
            ) from None
        written = [folder / f"{self.name}.json", folder / f"{self.name}.csv"]
        report = self._report(settings, seconds)
        write_text_atomically(written[0], json_text(report, indent=1) + "\n")
        with replacing(written[1]) as temporary, temporary.open("w", newline="") as file:
            self._write_csv(csv.writer(file))
        if self.panels:
            above = f"{self.title}\n{self.caption}" if settings.title is None else settings.title
            figure = style.draw(above, self.panels, LOOKS, settings.figsize)
            for suffix in ("png", "pdf"):
                path = folder / f"{self.name}.{suffix}"
                with replacing(path) as temporary:
                    figure.savefig(temporary, **({"dpi": settings.dpi} if settings.dpi else {}))
                written.append(path)
        return written

    def _report(self, settings: Settings, seconds: float) -> dict[str, Any]:
        panels = [
            {"title": p.title, "x": p.xlabel, "y": p.ylabel, "curves": [*map(vars, p.curves)]}
            for p in self.panels
        ]
        return {
            "schema_version": 1,
            "figure": self.name,
            "title": self.title,
            "caption": self.caption,
            "parameters": self.parameters,
            "relation": "replace-one",
            "quick": settings.quick,
            "seconds": round(seconds, 2),
            "panels": panels,
            "tables": self.tables,
            "version": __version__,
        }

    def _write_csv(self, writer: Any) -> None:
        if not self.panels:
            for table in self.tables.values():
                writer.writerow(table[0])
                writer.writerows(row.values() for row in table)
            return
        writer.writerow(("panel", "method", "label", "x", "y", "low", "high"))
        for panel in self.panels:
            for curve in panel.curves:
                sides = curve.x, curve.y, curve.low, curve.high
                points = (repeat("") if side is None else side for side in sides)
                for point in zip(*points, strict=False):
                    writer.writerow((panel.title, curve.method, curve.label, *point))


def table(columns: Mapping[str, Iterable[Any]], **same: Any) -> list[dict[str, Any]]:
    """Rows of columns of one length, each with what is the same in all of them."""
    lines = zip(*columns.values(), strict=True)
    return [{**same, **dict(zip(columns, line, strict=True))} for line in lines]


__all__ = ["LOOKS", "Curve", "Panel", "Result", "Settings", "table"]
