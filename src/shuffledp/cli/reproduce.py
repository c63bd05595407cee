"""`shuffledp reproduce`: every figure of the paper, with one command."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from pathlib import Path

import click

from .._support.progress import bar_hidden, progress
from .figure import look_options, looks
from .options import command, options
from .values import Number

FIGURES = ("fig1", "fig2", "fig3", "fig4", "truncation", "supplement", "claims")


@command("reproduce")
@click.argument("figure", type=click.Choice([*FIGURES, "all"]))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the pictures (PNG, PDF) and the data (JSON, CSV).",
)
@click.option("--quick", is_flag=True, help="Coarser grids, wider brackets: under a minute.")
@click.option(
    "--grid-points",
    type=Number(whole=True),
    help="Grid points of the Fourier accountant; 10^7 as in the paper, 10^6 if quick.",
)
@click.option(
    "--samples",
    type=Number(whole=True),
    help="Monte Carlo samples of fig4; 5 10^7 as in the paper, 2 10^5 if quick.",
)
@options(*look_options())
def reproduce(
    figure: str, out: Path, quick: bool, grid_points: int | None, samples: int | None
) -> None:
    """Regenerate the paper "Tight Accounting in the Shuffle Model of Differential Privacy".

    Its own accountant, and the certified values beside it; docs/paper.md has the verdicts.

    \b
      shuffledp reproduce all --out figures --quick
      shuffledp reproduce fig1 --out figures
      shuffledp reproduce fig1 --out figures --figsize 3.3x5 --title ''
    """
    from ..reproduce.result import Settings
    from ..tools.style import new_figure

    new_figure(1, 1)  # say at once that matplotlib is missing
    names = FIGURES if figure == "all" else (figure,)
    figures = {name: importlib.import_module(f"shuffledp.reproduce.{name}") for name in names}
    settings = Settings(quick, grid_points, samples, **looks())
    total = sum(each.count_curves(settings) for each in figures.values())
    with progress("curves", total) as done:
        for name, each in figures.items():
            start = time.perf_counter()
            result = each.run(replace(settings, done=done))
            written = result.write(out, settings, time.perf_counter() - start)
            seconds = time.perf_counter() - start
            kinds = ",".join(path.suffix[1:] for path in written)
            with bar_hidden():
                click.echo(f"{name:<11}{seconds:7.1f} s  {out / name}.{{{kinds}}}")
