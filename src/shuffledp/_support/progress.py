"""How far a long computation is: one display for all, on a terminal or in a notebook.

A thread of its own draws it, so that it is alive while a single step takes long, and only once a
second has passed: what is quick leaves no trace. On a terminal it is a line on stderr, in a
notebook an output that vanishes at the end; elsewhere there is none. SHUFFLEDP_PROGRESS=0 in the
environment turns it off.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

#: Seconds before anything is shown, and between two pictures of it.
DELAY, PAUSE = 1.0, 0.25
_BAR = 24  # characters

#: Held by what is shown: whatever runs inside of it, or beside it, is silent.
_ONE = threading.Lock()


@dataclass
class State:
    """What is done, of how much, for how long."""

    label: str
    total: int | None
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def text(self, now: float) -> str:
        """In words.

        >>> State("points", 8, done=2, start=0.0).text(now=5.0)
        'points  [######------------------]  25 %  5 s, about 15 s left'
        >>> State("calibrating eps0", None, done=7, start=0.0).text(now=90.0)
        'calibrating eps0  7 steps  1:30'
        >>> State("epsilon", None, start=0.0).text(now=3.0)
        'epsilon  3 s'
        """
        share = min(self.done / self.total, 1.0) if self.total else 0.0
        bar = f"  [{('#' * int(_BAR * share)).ljust(_BAR, '-')}]" if self.total else ""
        return f"{self.label}{bar}  {self._time(now)}"

    def html(self, now: float) -> str:
        """The same for a notebook."""
        import html  # slow to load

        value = f' value="{self.done}" max="{self.total}"' if self.total else ""
        label = html.escape(self.label)
        return f'<progress{value} aria-label="{label}"></progress> {label}  {self._time(now)}'

    def _time(self, now: float) -> str:
        """What follows the bar."""
        passed = now - self.start
        if not self.total:
            return f"{f'{self.done:,} steps  ' if self.done else ''}{_clock(passed)}"
        share = min(self.done / self.total, 1.0)
        left = f", about {_clock(passed / share - passed)} left" if 0 < share < 1 else ""
        return f"{int(100 * share)} %  {_clock(passed)}{left}"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"{whole} s" if whole < 60 else str(timedelta(seconds=whole)).removeprefix("0:").lstrip("0")
    )


#: Shows a state, or nothing any more for None.
Show = Callable[[State | None], None]


def _on_terminal(stream: Any) -> Show:
    """One line of a terminal, written again and again."""
    import shutil  # which takes as long to load as some of our modules

    width = 0

    def show(state: State | None) -> None:
        nonlocal width
        room = shutil.get_terminal_size().columns - 1
        text = "" if state is None else state.text(time.monotonic())[:room]
        with suppress(OSError, ValueError):  # a terminal that went away is no reason to stop
            stream.write(f"\r{text.ljust(min(width, room))}" + ("" if state else "\r"))
            stream.flush()
        width = len(text)

    return show


def _in_notebook(display: Any) -> Show:
    """An output of the cell, updated in place."""
    handle: Any = None

    def show(state: State | None) -> None:
        nonlocal handle
        now = time.monotonic()
        bundle = {"text/plain": "", "text/html": ""}
        if state is not None:
            bundle = {"text/plain": state.text(now), "text/html": state.html(now)}
        if handle is None:
            handle = display.display(bundle, raw=True, display_id=True)
        else:
            handle.update(bundle, raw=True)

    return show


#: Where a program wants to see it instead: see `show_on`.
_other_screen: Show | None = None


def show_on(screen: Show | None) -> None:
    """From now on, all that this process computes is shown there."""
    global _other_screen
    _other_screen = screen


def _screen() -> Show | None:
    """None if nobody is watching, or if this is one of many workers."""
    if _other_screen is not None:
        return _other_screen
    workers = sys.modules.get("multiprocessing")
    is_worker = workers is not None and workers.parent_process() is not None
    if is_worker or os.environ.get("SHUFFLEDP_PROGRESS", "") == "0":
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return _in_notebook(importlib.import_module("IPython.display"))
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return _on_terminal(stream)


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A function to be told how many more steps are done, `total` in all if that is known.

    >>> with progress("squares", 3) as done:
    ...     for i in range(3):
    ...         done(1)
    """
    state = State(label, total)

    def advance(more: int) -> None:
        state.done += more

    screen = _screen()
    if screen is None or not _ONE.acquire(blocking=False):
        yield advance
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(screen, state, over), daemon=True)
    try:
        with suppress(RuntimeError):  # where there are no threads there is no display
            watcher.start()
        yield advance
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()
        _ONE.release()


def _watch(show: Show, state: State, over: threading.Event) -> None:
    if over.wait(DELAY):
        return
    show(state)
    while not over.wait(PAUSE):
        show(state)
    show(None)
