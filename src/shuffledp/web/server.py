"""The server: a socket, the hosts that it answers to, and clients that do not speak."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import InvalidParameter
from .pool import Limits
from .routes import application

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_ANYWHERE = ("0.0.0.0", "::", "")


def listening(host: str, port: int) -> socket.socket:
    """A socket there; why not is told in one sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio lets answers go at once, not after 40 ms, where a socket says that it is TCP's
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter(
            f"port {port} of {host} cannot be used: {reason}; choose another with --port or --host."
        ) from None
    return found


def hosts_of(host: str, port: int, names: Sequence[str] = ()) -> list[str]:
    """What requests may call the server, the first for people.

    >>> from shuffledp.web.server import hosts_of
    >>> hosts_of("127.0.0.1", 8765)[:2]
    ['127.0.0.1:8765', 'localhost:8765']
    """
    if host in _ANYWHERE and not names:
        raise InvalidParameter(
            f"--host {host} is reached under many names; say with --name which of them are meant."
        )
    shown = f"[{host}]" if ":" in host else host
    local = _LOCAL if shown in _LOCAL else ()
    called = dict.fromkeys([*([] if host in _ANYWHERE else [shown]), *names, *local])
    with_port = [f"{name}:{port}" for name in called]
    return [*with_port, *(called if port == 80 else names)]  # a proxy has a port of its own


class _Impatient(H11Protocol):
    """Closes connections on which no request comes."""

    head_seconds = 10.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._idle = False
        self.loop.call_later(self.head_seconds, self._look)

    def _look(self) -> None:
        """Twice in a row without a request is too long."""
        if self.transport.is_closing():
            return
        idle = self.conn.their_state is h11.IDLE
        if idle and self._idle:
            self.transport.close()
            return
        self._idle = idle
        self.loop.call_later(self.head_seconds / 2, self._look)


def settings(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """How uvicorn is to run it."""
    kind = type("Connection", (_Impatient,), {"head_seconds": limits.head_seconds})
    return uvicorn.Config(
        app, http=kind, ws="none", log_level="warning", server_header=False, lifespan="on",
        timeout_keep_alive=5, timeout_graceful_shutdown=1, access_log=False, proxy_headers=False,
    )  # fmt: skip


def serve(listener: socket.socket, hosts: Sequence[str], limits: Limits, *, show: bool) -> None:
    """Until Ctrl-C; `show` opens a browser."""
    app, _ = application(hosts, limits)
    server = uvicorn.Server(settings(app, limits))
    if show:
        webbrowser.open(f"http://{hosts[0]}/")
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        server.run(sockets=[listener])
