"""A process that answers one question after the other: `python -m shuffledp.web.worker`.

It can be killed at any time; it ends itself when its server does. The server and its workers speak
JSON, its length before it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import sys
import threading
from _thread import interrupt_main
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from .._support.progress import State, show_on
from .answers import answer, for_page

_LENGTH = struct.Struct(">I")


def packed(message: Any) -> bytes:
    text = json.dumps(message).encode()
    return _LENGTH.pack(len(text)) + text


def read(stream: BinaryIO) -> Any:
    """The next one; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    text = stream.read(_LENGTH.unpack(head)[0])
    return json.loads(text)


async def receive(stream: asyncio.StreamReader) -> Any:
    """The next one; EOFError at the end."""
    head = await stream.readexactly(_LENGTH.size)
    return json.loads(await stream.readexactly(_LENGTH.unpack(head)[0]))


#: The message that interrupts a question whose time is over.
STOP = False
#: What is loaded with the first question is loaded before it.
_WARM = ("epsilon", "--eps0=1", "--users=99", "--rounds=2", "--delta=0.01", "--rtol=0.1")


def _send(sink: BinaryIO, message: Any) -> None:
    sink.write(packed(message))
    sink.flush()


def _bound(memory: int) -> None:
    """Ask for too much and be told so, where the system can do that; let the server go first."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if hasattr(os, "nice"):
        os.nice(5)


def _questions(source: BinaryIO, waiting: SimpleQueue[Any]) -> None:
    """In a thread of its own, to see at once that the server is gone or the time is over."""
    while (message := read(source)) is not None:
        if message is STOP:
            interrupt_main()
        else:
            waiting.put(message)
    os._exit(0)


def main() -> None:
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the messages
    waiting = SimpleQueue[Any]()

    def report(state: State | None) -> None:
        """Tell the server how far the question is; after the last state comes the answer."""
        if state is not None:
            _send(sink, {"label": state.label, "done": state.done, "total": state.total})

    _bound(int(sys.argv[1]))
    show_on(report)
    # a process that was started in the background may ignore interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_questions, args=(source, waiting), daemon=True).start()
    answer(_WARM, {})
    _send(sink, {"ready": True})
    while True:
        asked = waiting.get()
        files = {name: text.encode() for name, text in asked["files"].items()}
        found = answer(asked["arguments"], files, asked["seconds"])
        if asked["page"] and found.out:
            found = for_page(found, asked["arguments"], files)
        _send(sink, {"answer": found if len(found.out) <= asked["most"] else None})


if __name__ == "__main__":
    main()
