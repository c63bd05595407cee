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
from typing import Any, Protocol

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
        bar = ""
        if self.total:
            bar = f"  [{('#' * int(_BAR * self.share)).ljust(_BAR, '-')}]"
        return f"{self.label}{bar}  {self._rest(now)}"

    def html(self, now: float) -> str:
        """The same for a notebook."""
        import html  # slow to load

        value = f' value="{self.done}" max="{self.total}"' if self.total else ""
        label = html.escape(self.label)
        return f'<progress{value} aria-label="{label}"></progress> {label}  {self._rest(now)}'

    @property
    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 0.0

    def _rest(self, now: float) -> str:
        """What follows the bar."""
        passed, share = now - self.start, self.share
        if not self.total:
            return f"{f'{self.done:,} steps  ' if self.done else ''}{_clock(passed)}"
        left = f", about {_clock(passed / share - passed)} left" if 0 < share < 1 else ""
        return f"{int(100 * share)} %  {_clock(passed)}{left}"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes = f"{rest // 60}:{rest % 60:02d}"
    return minutes if not hours else f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


class Screen(Protocol):
    """Where it is shown."""

    def show(self, state: State) -> None: ...

    def clear(self) -> None: ...


class Terminal:
    """One line of a terminal, written again and again."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._width = stream, 0

    def show(self, state: State) -> None:
        import shutil  # which takes as long to load as some of our modules

        room = shutil.get_terminal_size().columns - 1
        text = state.text(time.monotonic())[:room]
        self._write(f"\r{text.ljust(min(self._width, room))}")
        self._width = len(text)

    def clear(self) -> None:
        self._write(f"\r{' ' * self._width}\r")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that went away is no reason to stop
            self._stream.write(text)
            self._stream.flush()


class Notebook:
    """An output of the cell, updated in place."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None

    def show(self, state: State) -> None:
        now = time.monotonic()
        bundle = {"text/plain": state.text(now), "text/html": state.html(now)}
        if self._handle is None:
            self._handle = self._display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


#: Where a program wants to see it instead: see `show_on`.
_elsewhere: Screen | None = None


def show_on(screen: Screen | None) -> None:
    """From now on, all that this process computes is shown there."""
    global _elsewhere
    _elsewhere = screen


def _screen() -> Screen | None:
    """None if nobody is watching, or if this is one of many workers."""
    if _elsewhere is not None:
        return _elsewhere
    if os.environ.get("SHUFFLEDP_PROGRESS", "") == "0":
        return None
    workers = sys.modules.get("multiprocessing")
    if workers is not None and workers.parent_process() is not None:
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return Notebook(importlib.import_module("IPython.display"))
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return Terminal(stream)


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


def _watch(screen: Screen, state: State, over: threading.Event) -> None:
    if over.wait(DELAY):
        return
    while True:
        screen.show(state)
        if over.wait(PAUSE):
            screen.clear()
            return
