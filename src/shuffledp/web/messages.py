"""What the server and its workers say to each other: JSON, its length before it."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

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
