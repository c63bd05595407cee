"""How far a long computation is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], object]]:
    """A function to be told how much more is done: on a terminal, a bar on stderr shows it."""
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    import click  # only a terminal needs it

    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        yield bar.update
