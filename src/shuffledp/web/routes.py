"""The application: a route for every question, the page, and what both are made of."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from .. import __version__
from .._support.files import parse_json
from .._support.text import json_text
from ..cli.report import BAD_INPUT, INTERRUPTED, NOT_CERTIFIED, json_report
from ..errors import InvalidParameter, ShuffleDPError
from .describe import ABOUT, api_page, catalogue, operation
from .guards import Guard, Refused, body_of
from .pool import Asked, Busy, Died, Limits, Pool, TooLarge, TooLong
from .questions import CommandQuestion, WrittenNumber, questions

_TYPES = {"csv": "text/csv", "html": "text/html", "markdown": "text/markdown"} | dict.fromkeys(
    ("text", "latex", "bibtex"), "text/plain"
)
#: What HTTP says of exit codes that are no answers as asked; an interrupted sweep has its rows.
_STATUS = {BAD_INPUT: 422, INTERRUPTED: 504}
#: The name of a question, by which it can be asked after and cancelled.
QuestionId = Annotated[str, Header(description="A name for the question: 8 to 64 letters.")]
_ID = re.compile(r"[\w-]{8,64}")
_JSON = "application/json"


def application(hosts: Iterable[str], limits: Limits | None = None) -> tuple[ASGIApp, Pool]:
    """The page and the API for requests to these hosts, and the workers behind it."""
    within, known = limits or Limits(), list(hosts)
    pool = Pool(within)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await pool.open()
        try:
            yield
        finally:
            await pool.close()

    app = FastAPI(
        title="shuffledp", version=__version__, description=ABOUT, lifespan=lifespan, docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    desk = _Desk(pool, within)
    for question in questions().values():
        for method in ("GET", "POST"):
            described = operation(question, method)
            app.add_api_route(f"/api/{question.name}", desk.route(question), **described)
    app.add_api_route("/api/questions/{name}", desk.progress, methods=["GET"])
    app.add_api_route("/api/questions/{name}", desk.cancel, methods=["DELETE"])
    registry = Response(json_text(catalogue()), media_type=_JSON)
    page = StaticFiles(packages=[("shuffledp.web", "static")], html=True)
    app.router.routes += [
        Route("/api/registry", registry, methods=["GET"]),
        Route("/docs", Response(api_page(known[0]), media_type="text/html"), methods=["GET"]),
        Mount("/api/schemas", StaticFiles(packages=[("shuffledp", "schemas")])),
        *(Route(path, page, methods=["GET"]) for path in ("/", "/{name}")),
    ]
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(ShuffleDPError, _refused)
    return Guard(app, known), pool


async def _unknown(request: Request, error: Exception) -> Response:
    """404 and 405, as JSON like everything else."""
    what = f"{request.method} {request.url.path[:60]!r} is not known"
    status = getattr(error, "status_code", 500)
    return Refused(status, f"{what}; see /docs for what there is.").response()


async def _refused(request: Request, error: Exception) -> Response:
    status = getattr(error, "status", 422)
    query = request.url.path.removeprefix("/api/")
    body = json_report(query if query in questions() else None, {}, error=error)
    return Response(body, status, media_type=_JSON)


class _Desk:
    """Where questions come in, and may be asked after by a name that the client gave them."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool, self._limits = pool, limits
        self._open: dict[str, tuple[Asked, asyncio.Future[Any]]] = {}

    def route(self, question: CommandQuestion) -> Callable[..., Awaitable[Response]]:
        async def answer(request: Request, x_question_id: QuestionId = "") -> Response:
            given = await self._given(request, question)
            arguments, format = question.arguments(given), given.get("format") or "json"
            asked = Asked(arguments, given.get("files") or {}, page=format == "page")
            return await self._answered(request, x_question_id, asked, format)

        return answer

    async def progress(self, name: str) -> Response:
        """How far the answer to a question is."""
        return Response(json_text(self._named(name)[0].state), media_type=_JSON)

    async def cancel(self, name: str) -> Response:
        self._named(name)[1].cancel()
        return Response(json_text({"cancelled": name}), media_type=_JSON)

    def _named(self, name: str) -> tuple[Asked, asyncio.Future[Any]]:
        if name not in self._open:
            raise Refused(404, f"no question {name[:70]!r} is being answered; it may be over.")
        return self._open[name]

    async def _given(self, request: Request, question: CommandQuestion) -> dict[str, Any]:
        """What a question says, all of it as texts."""
        if request.method == "GET":
            return question.from_query(request.query_params.multi_items())
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await body_of(request, self._limits.body)
        except TimeoutError:
            seconds = self._limits.body_seconds
            raise Refused(
                408, f"the question took more than {seconds:g} s to come; ask again."
            ) from None
        return _parsed(body)

    async def _answered(self, request: Request, name: str, asked: Asked, format: str) -> Response:
        """Unless the client leaves or cancels it: then the work ends as well."""
        if name and (not _ID.fullmatch(name) or name in self._open):
            raise Refused(
                422, f"x-question-id={name[:70]!r} is in use or not 8 to 64 letters; give another."
            )
        work = asyncio.ensure_future(self._pool.ask(asked))
        gone = asyncio.ensure_future(_left(request))
        if name:
            self._open[name] = (asked, work)
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Refused(400, "the client has left.")
            return _response(asked, work, format, self._limits)
        finally:
            self._open.pop(name, None)
            gone.cancel()
            work.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _response(asked: Asked, work: asyncio.Future[Any], format: str, limits: Limits) -> Response:
    try:
        code, out, error = work.result()
    except asyncio.CancelledError:
        raise Refused(409, "the question was cancelled.") from None
    except Busy:
        raise Refused(503, "too many questions at once; ask again in a moment.") from None
    except TooLong:
        how = "ask for less, or with a larger rtol, or in the shell."
        raise Refused(504, f"the answer takes longer than {limits.seconds:g} s; {how}") from None
    except TooLarge:
        raise Refused(
            422, f"the answer has more than {limits.answer:,} bytes; ask for less."
        ) from None
    except Died:
        raise Refused(422, "there is not enough memory for this; ask for less at once.") from None
    good = code < BAD_INPUT or code == NOT_CERTIFIED
    status = 200 if good else _STATUS.get(code, 500)
    kind = _TYPES.get(format, _JSON)
    if good or kind == _JSON:
        return Response(out, status, media_type=kind)
    part = out if code == INTERRUPTED else ""
    return Response(f"{part}{error}\n", status, media_type="text/plain")


def _parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a question."""
    kept = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), WrittenNumber)
    try:
        given = parse_json(body, **kept)
    except InvalidParameter:
        raise
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidParameter('the question is not a JSON object; write one, like {"users": 9}.')
    return given
