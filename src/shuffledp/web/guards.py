"""What every request has to pass, and what every response says: no other site may ask through
somebody's browser, and the page may ask nobody else.

Starlette's TrustedHostMiddleware knows neither ports nor other sites, and answers without a
sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..cli.report import json_report
from ..errors import ShuffleDPError

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

    def response(self) -> Response:
        report = json_report(None, {}, error=self)
        return Response(report, self.status, media_type="application/json")


class Guard:
    """Around an application: requests for other hosts and from other sites are refused."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = self._app
        if scope["type"] == "http":
            try:
                self._check(Headers(scope=scope), scope["path"])
            except Refused as refused:
                app = refused.response()
        await app(scope, receive, send_with_headers)

    def _check(self, headers: Headers, path: str) -> None:
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            known = sorted(self._hosts)[0]
            raise Refused(421, f"this server is not {host[:60]!r}; ask http://{known}/.")
        origin = headers.get("origin")
        other = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if origin is not None:
            other = urlsplit(origin).netloc.lower() != host
        if other and (origin is not None or path.startswith("/api/")):
            raise Refused(403, "only the pages of this server may ask it; ask from there.")


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request; what is too large is read to its end, within reason, so that the
    client hears the answer, and refused."""
    kept, size = bytearray(), 0
    try:
        async for part in request.stream():
            size += len(part)
            if size <= most:
                kept += part
            elif size > 50 * most:
                break
    except ClientDisconnect:
        closed = "the connection was closed before the question ended; ask again."
        raise Refused(400, closed) from None
    if size > most:
        raise Refused(413, f"the question is larger than {most:,} bytes; ask a smaller one.")
    return bytes(kept)
