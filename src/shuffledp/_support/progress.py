"""How far a long computation is: one bar of tqdm for all, on a terminal or in a notebook.

A thread of its own draws it, so that it is alive while a single step takes long, and only once a
second has passed: what is quick leaves no trace. On a terminal it is a line on stderr, in a
notebook an output of the cell; elsewhere there is none. SHUFFLEDP_PROGRESS=0 in the environment
turns it off.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

#: Seconds before anything is shown, and between two pictures of it.
DELAY, PAUSE = 1.0, 0.25

#: Held by what is shown: whatever runs inside of it, or beside it, is silent.
_ONE = threading.Lock()


@dataclass
class State:
    """What is done, of how much, for how long."""

    label: str
    total: int | None
    done: int = 0
    start: float = field(default_factory=time.monotonic)


#: Shows a state, or nothing any more for None.
Show = Callable[[State | None], None]


def _bar(stream: Any) -> Show:
    """A bar on this stream, or in the notebook that runs this."""
    bar: Any = None

    def show(state: State | None) -> None:
        nonlocal bar
        with suppress(OSError, ValueError):  # a terminal that went away is no reason to stop
            if state is None:
                bar.close()
                return
            if bar is None:
                bar = _new_bar(state, stream)
            bar.n = state.done
            bar.refresh()

    return show


def _new_bar(state: State, stream: Any) -> Any:
    with warnings.catch_warnings():  # a notebook without widgets gets a line of text
        warnings.simplefilter("ignore")
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm  # slow to load
    import shutil  # likewise

    room = shutil.get_terminal_size().columns - 1 if stream.isatty() else None
    # a bar that is drawn by one thread needs no other thread that watches it
    quiet = type("Bar", (tqdm,), {"monitor_interval": 0})
    steps = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"
    bar = quiet(
        desc=state.label, total=state.total, file=stream, leave=False, ncols=room, nrows=20,
        bar_format=steps if state.total else "{desc}: {n_fmt} steps [{elapsed}]",
    )  # fmt: skip
    bar.start_t -= time.monotonic() - state.start
    return bar


#: Where a program wants to see it instead: see `show_on`.
_other_screen: Show | None = None


def show_on(screen: Show | None) -> None:
    """From now on, all that this process computes is shown there."""
    global _other_screen
    _other_screen = screen


def bar_hidden() -> AbstractContextManager[None]:
    """While this lasts the line of the bar is free, for output on the same terminal."""
    shown = sys.modules.get("tqdm")
    return shown.tqdm.external_write_mode() if shown else nullcontext()


def _screen() -> Show | None:
    """None if nobody is watching, or if this is one of many workers."""
    if _other_screen is not None:
        return _other_screen
    workers = sys.modules.get("multiprocessing")
    is_worker = workers is not None and workers.parent_process() is not None
    if is_worker or os.environ.get("SHUFFLEDP_PROGRESS", "") == "0":
        return None
    stream = sys.stderr
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_seen = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    return _bar(stream) if is_seen or hasattr(shell, "kernel") else None


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
