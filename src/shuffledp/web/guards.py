"""What every request has to pass, and what every response says: no other site may ask through
somebody's browser, and the page may ask nobody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from ..cli.report import json_report
from ..errors import ShuffleDPError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Refused(ShuffleDPError):
    """What the server does not answer; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> bytes:
        return json_report(None, {}, error=self).encode()


class Guard:
    """Around an application: requests for other hosts and from other sites are refused."""

    def __init__(self, app: App, hosts: Iterable[str]) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        try:
            self._check(scope)
        except Refused as refused:
            await respond(with_headers, refused.status, refused.body())
            return
        await self._app(scope, receive, with_headers)

    def _check(self, scope: Scope) -> None:
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        host = headers.get("host", b"").decode("latin-1").lower()
        if host not in self._hosts:
            known = sorted(self._hosts)[0]
            raise Refused(421, f"this server is not {host[:60]!r}; ask http://{known}/.")
        origin = headers.get("origin")
        other = headers.get("sec-fetch-site") in (b"cross-site", b"same-site")
        if origin is not None:
            other = urlsplit(origin.decode("latin-1")).netloc.lower() != host
        if other and (origin is not None or scope["path"].startswith("/api/")):
            raise Refused(403, "only the pages of this server may ask it; ask from there.")


async def respond(send: Send, status: int, body: bytes) -> None:
    """A whole response of JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def body_of(receive: Receive, most: int) -> bytes:
    """The body of a request; what is too large is read to its end, within reason, so that the
    client hears the answer, and refused."""
    kept, size = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the connection was closed before the question ended; ask again.")
        part = message.get("body", b"")
        size += len(part)
        if size <= most:
            kept += part
        if not message.get("more_body", False) or size > 50 * most:
            break
    if size > most:
        raise Refused(413, f"the question is larger than {most:,} bytes; ask a smaller one.")
    return bytes(kept)
