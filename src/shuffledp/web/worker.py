"""A process that answers one question after the other: `python -m shuffledp.web.worker`.

It can be killed at any time; it ends itself when its server does.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from .._support.progress import State, show_on
from .answers import answer
from .messages import packed, read
from .page import for_page

#: What is loaded with the first question is loaded before it.
_WARM = ("epsilon", "--eps0=1", "--users=99", "--rounds=2", "--delta=0.01", "--rtol=0.1")


class _Report:
    """How far a question is, told to the server."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink

    def show(self, state: State) -> None:
        self.send({"label": state.label, "done": state.done, "total": state.total})

    def clear(self) -> None:
        """Nothing is left: the answer comes next."""

    def send(self, message: Any) -> None:
        self._sink.write(packed(message))
        self._sink.flush()


def _bound(memory: int) -> None:
    """Ask for too much and be told so, where the system can do that; let the server go first."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if hasattr(os, "nice"):
        os.nice(5)


def _questions(source: BinaryIO, waiting: SimpleQueue[Any]) -> None:
    """In a thread of its own, to see at once that the server is gone."""
    while (message := read(source)) is not None:
        waiting.put(message)
    os._exit(0)


def main() -> None:
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the messages
    report, waiting = _Report(sink), SimpleQueue[Any]()
    _bound(int(sys.argv[1]))
    show_on(report)
    threading.Thread(target=_questions, args=(source, waiting), daemon=True).start()
    answer(_WARM, {})
    report.send({"ready": True})
    while True:
        asked = waiting.get()
        files = {name: text.encode() for name, text in asked["files"].items()}
        found = answer(asked["arguments"], files)
        if asked["page"]:
            found = for_page(found, asked["arguments"], files)
        report.send({"answer": found if len(found.out) <= asked["most"] else None})


if __name__ == "__main__":
    main()
