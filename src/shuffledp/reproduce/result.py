"""What a figure of the paper becomes: data in JSON and CSV, pictures in PNG and PDF."""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .. import __version__
from .._support import validate
from .._support.files import replacing, write_text_atomically
from ..errors import InvalidParameter
from ..tools.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Curve,
    Look,
    Panel,
    draw,
)

T = TypeVar("T")

PAPER = "paper's Fourier accountant, clones"
PAPER_STRONGER = "paper's Fourier accountant on the stronger clones"
CLONES, STRONGER = "ours, clones (certified)", "ours, stronger clones (certified)"
AS_ONE = "ours, sampling and shuffling as one (certified)"

LOOKS = {
    PAPER: Look(ORANGE, "-", 4.5),
    PAPER_STRONGER: Look(SKY, "-", 4.5),
    CLONES: Look(BLACK, "--", 1.4),
    STRONGER: Look(BLUE, "-.", 1.8),
    AS_ONE: Look(GREEN, "-", 1.8),
    "Feldman et al. 2021, numerical": Look(VERMILION, ":", 2.2),
    "Girgis et al. 2021, RDP": Look(VERMILION, ":", 2.2),
    "Balle et al. 2019, Thm 3.1": Look(GREY, ":", 2.2),
    "A_s as printed, independent counts": Look(PURPLE, "-", 3.4),
    "A_w as printed, independent counts": Look(SKY, "-", 3.4),
    "A_s as printed, joint counts": Look(PURPLE, ":", 1.6),
    "A_w as printed, joint counts": Look(SKY, ":", 1.6),
    "A_s, true divergence (ours)": Look(VERMILION, "--", 1.6),
    "A_w, true divergence (ours)": Look(GREEN, "-.", 1.8),
    "attained by actual datasets (ours)": Look(BLACK, (0, (1, 3)), 2.6),
    "Monte Carlo on the cube (99.9 % band)": Look(ORANGE, "", 1.0, "o"),
    "regular grid, m^n/n! points": Look(VERMILION, "", 1.0, "x"),
    "one-dimensional, plain FFT": Look(GREY, "-", 1.2),
    "one-dimensional, certified (ours)": Look(BLUE, "-.", 1.8),
    "paper's PLD, all O(n^2) terms": Look(VERMILION, ":", 2.2, "s"),
    "paper's PLD, Hoeffding O(n)": Look(ORANGE, "-", 2.2, "o"),
    "paper's subsampled pair (one order only)": Look(ORANGE, "-", 4.5),
    "paper's accountant on the closed pair": Look(PURPLE, "--", 2.2),
    "paper's accountant on the closed stronger pair": Look(SKY, "-", 4.5),
}


@dataclass(frozen=True)
class Settings:
    """How much work to do."""

    quick: bool = False
    grid_points: int | None = None
    samples: int | None = None
    seed: int = 2021

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
        write_text_atomically(
            written[0], json.dumps(self._report(settings, seconds), indent=1) + "\n"
        )
        with replacing(written[1]) as temporary, temporary.open("w", newline="") as file:
            self._write_csv(csv.writer(file))
        if self.panels:
            figure = draw(self.title, self.caption, self.panels, LOOKS)
            for suffix in ("png", "pdf"):
                path = folder / f"{self.name}.{suffix}"
                # no dates in the files: the same data gives the same picture
                metadata = {"CreationDate": None} if suffix == "pdf" else None
                with replacing(path) as temporary:
                    figure.savefig(temporary, metadata=metadata)
                written.append(path)
        return written

    def _report(self, settings: Settings, seconds: float) -> dict[str, Any]:
        report: dict[str, Any] = _plain(
            {
                "schema_version": 1,
                "figure": self.name,
                "title": self.title,
                "caption": self.caption,
                "parameters": self.parameters,
                "relation": "replace-one",
                "quick": settings.quick,
                "seconds": round(seconds, 2),
                "panels": [
                    {
                        "title": panel.title,
                        "x": panel.xlabel,
                        "y": panel.ylabel,
                        "curves": [vars(curve) for curve in panel.curves],
                    }
                    for panel in self.panels
                ],
                "tables": self.tables,
                "version": __version__,
            }
        )
        return report

    def _write_csv(self, writer: Any) -> None:
        if not self.panels:
            for table in self.tables.values():
                writer.writerow(table[0])
                writer.writerows(row.values() for row in table)
            return
        writer.writerow(("panel", "method", "label", "x", "y", "low", "high"))
        for panel in self.panels:
            for curve in panel.curves:
                blank = [""] * len(curve.x)
                rows = zip(curve.x, curve.y, curve.low or blank, curve.high or blank, strict=True)
                for row in rows:
                    writer.writerow((panel.title, curve.method, curve.label, *row))


def _plain(value: Any) -> Any:
    """Numbers that JSON knows: what is not finite becomes null."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def progress(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items; on a terminal a line on stderr says how far they are."""
    shown, begun = sys.stderr.isatty(), time.monotonic()
    last = -1
    for done, item in enumerate(items, start=1):
        yield item
        percent = 100 * done // max(total, 1)
        if shown and percent != last and time.monotonic() - begun > 0.5:
            bar = "#" * (percent // 5)
            sys.stderr.write(f"\r{label[:40]:<40} [{bar:<20}] {percent:3d} %")
            sys.stderr.flush()
            last = percent
    if shown and last >= 0:
        sys.stderr.write("\r" + " " * 70 + "\r")
        sys.stderr.flush()


__all__ = ["LOOKS", "Curve", "Panel", "Result", "Settings", "progress"]
