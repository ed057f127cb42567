"""The service's routes: what HTTP asks, and which status and headers answer it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol
from urllib.parse import quote

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.secrets import hidden
from headrace.serving import mail, manual, tables
from headrace.serving.events import Event, decided
from headrace.serving.order import InvalidOrder, Order, parse
from headrace.serving.orders import Busy, Orders, Taken, TimedOut
from headrace.serving.producer import Unreachable
from headrace.serving.replies import RETRY, Read, Reply
from headrace.serving.waiters import NoRoom, Waiter
from headrace.store.layout import Layout
from headrace.version import __version__

LONGEST_MS = 3_600_000
BODY_BYTES = 900_000
"""Less than what a broker takes by default: 1 MiB."""

_LINE_END = re.compile("\r\n|\r|\n")
"""What ends a line of an event stream, and nothing else does (HTML standard, section 9.2.6)."""

_PLACE = re.compile("([0-9]{1,19})-([0-9]{1,19})")

Timeout = Annotated[int, Query(ge=0, le=LONGEST_MS, description="Milliseconds to wait.")]
_DEFAULT_MS = 10_000

Answers = dict[int | str, dict[str, Any]]
"""Descriptions of statuses on the OpenAPI page."""


class Readers(Protocol):
    """What reads tables."""

    async def read(self, read: Read) -> Reply:
        """Answer a request for rows."""


@dataclass(frozen=True)
class Service:
    """What the routes work on."""

    layout: Layout
    orders: Orders
    plain: Readers
    """For reads without a condition of the user's, which so never wait for those with one."""
    filtering: Readers


class TooLarge(Exception):
    """A body beyond what the topic takes."""


class Nameless(Exception):
    """A path that names no order: no order has an empty id, so none would ever come."""


def application(service: Service) -> FastAPI:
    """All routes of the service."""
    app = FastAPI(title="headrace", version=__version__, docs_url=None, redoc_url=None)
    app.state.service = service
    _order_routes(app, service.orders)
    _table_routes(app, service)
    _refusals(app)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(manual.page(app.openapi()))

    return app


def _order_routes(app: FastAPI, orders: Orders) -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}, "required": True}
    failures: Answers = {
        409: {"description": "The id belongs to another order."},
        422: {"description": "The body or a parameter is wrong; `detail` names the field."},
        503: {"description": "The broker does not answer, or too many requests wait."},
        504: {"description": "Not decided in time; the order is placed."},
    }
    read: Answers = {200: {"model": Order, "description": "The order in its latest state."}}
    late: Answers = {504: {"description": "It did not come in time."}}

    @app.post("/v1/orders", status_code=201, responses={**failures, **read}, openapi_extra={"requestBody": body})
    async def place_order(
        request: Request, wait: Literal["validated"] | None = None, timeout: Timeout = _DEFAULT_MS
    ) -> Response:
        """Place an order; with `wait=validated`, answer once it is decided. To repeat it is safe."""
        event = await orders.place(parse(await _body(request)))
        location = {"Location": f"/v1/orders/{quote(event.order_id, safe='')}"}
        if wait is None:
            return _order(event, 201, location)
        return await _latest(request, orders.until(event.order_id, decided, timeout / 1000), timeout, location)

    @app.get("/v1/orders/{order_id:path}/validated", responses={**read, **late})
    async def validated_order(request: Request, order_id: str, timeout: Timeout = _DEFAULT_MS) -> Response:
        """The order once it is VALIDATED, FAILED or in a later state."""
        if _is_of_id(request, "validated"):
            return await order(request, f"{order_id}/validated", timeout)
        _refuse_nameless(order_id)
        return await _latest(request, orders.until(order_id, decided, timeout / 1000), timeout)

    @app.get("/v1/orders/{order_id:path}/events", responses={200: {"content": {"text/event-stream": {}}}})
    async def order_events(request: Request, order_id: str) -> Response:
        """Server-sent events, one per state of the order, from its first; `Last-Event-ID` goes on from there."""
        if _is_of_id(request, "events"):
            return await order(request, f"{order_id}/events")
        _refuse_nameless(order_id)
        after = _place(request.headers.get("last-event-id"))
        waiter = orders.waiter(order_id)  # from here on nothing may fail: the stream gives its place back
        return _Stream(_lines(orders.follow(waiter, after)), waiter)

    @app.get("/v1/orders/{order_id:path}", responses={**read, **late})
    async def order(request: Request, order_id: str, timeout: Timeout = _DEFAULT_MS) -> Response:
        """The order in its latest state, once it exists."""
        _refuse_nameless(order_id)
        return await _latest(request, orders.until(order_id, bool, timeout / 1000), timeout)


def _table_routes(app: FastAPI, service: Service) -> None:
    tables_answers: Answers = {
        304: {"description": "Still the version of If-None-Match."},
        400: {"description": "What `where` holds is not known to mean here what it means to Spark."},
        504: {"description": "The read took too long."},
    }

    @app.get("/v1/tables/{name}", responses=tables_answers)
    async def table(
        request: Request,
        name: str,
        key: Annotated[str | None, Query(description="The first column of the key, or a JSON list of more.")] = None,
        where: Annotated[str | None, Query(description="A SQL condition on the columns.")] = None,
        limit: Annotated[int, Query(ge=1, le=tables.MOST)] = tables.DEFAULT_LIMIT,
        after: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    ) -> Response:
        """Rows of a stored table, in pages; the ETag is the table's version."""
        known = tuple(tag.strip(' W/"') for tag in request.headers.get("if-none-match", "").split(","))
        asked = tables.Asked(key, where, limit, after)
        read = Read(name, asked, known, request.url.path, dict(request.query_params))
        reply = await (service.plain if where is None else service.filtering).read(read)
        return Response(reply.body, reply.status, dict(reply.headers), "application/json" if reply.body else None)

    @app.get("/v1/mail")
    def mail_counts() -> dict[str, int]:
        """How many letters the sample mail sender has sent, only shown, and failed to send."""
        return mail.counts(service.layout)


def _refusals(app: FastAPI) -> None:
    """Map exceptions to responses."""

    def wrong(findings: list[dict[str, Any]]) -> Response:
        return JSONResponse({"detail": findings}, 422)

    @app.exception_handler(InvalidOrder)
    async def invalid(_: Request, error: InvalidOrder) -> Response:
        return wrong(error.findings)

    @app.exception_handler(Taken)
    async def taken(_: Request, error: Taken) -> Response:
        return JSONResponse({"detail": str(error)}, 409)

    @app.exception_handler(TooLarge)
    async def too_large(_: Request, error: TooLarge) -> Response:
        return JSONResponse({"detail": str(error)}, 413)

    @app.exception_handler(Nameless)
    async def nameless(_: Request, error: Nameless) -> Response:
        return JSONResponse({"detail": str(error)}, 404)

    @app.exception_handler(ClientDisconnect)
    async def too_slow(_: Request, __: ClientDisconnect) -> Response:
        """It may not be gone: the gate reports a body that does not come in time in the same way."""
        return JSONResponse({"detail": "the body did not come in time"}, 408, {"Connection": "close"})

    async def unavailable(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": hidden(str(error))}, 503, RETRY)

    for kind in (NoRoom, Busy, Unreachable, HeadraceError):
        app.add_exception_handler(kind, unavailable)


def _refuse_nameless(order_id: str) -> None:
    if not order_id:
        raise Nameless("the path names no order: /v1/orders/{id}")


def _is_of_id(request: Request, word: str) -> bool:
    """Whether the last word of a path belongs to the order's id: the slash before it came as %2F."""
    return bytes(request.scope["raw_path"]).rpartition(b"/")[2] != word.encode()


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            raise TooLarge(f"an order has at most {BODY_BYTES} bytes")
    return body


async def _latest(
    request: Request,
    states: Coroutine[Any, Any, tuple[Event, ...]],
    timeout: int,
    headers: dict[str, str] | None = None,
) -> Response:
    """The last of an order's states once they exist; gives up when the client disconnects."""
    try:
        events = await _while_connected(request, states)
    except TimedOut:
        return JSONResponse({"detail": f"HTTP {request.method} timed out after {timeout} ms"}, 504, headers)
    except ClientDisconnect:
        return Response(status_code=499)
    return _order(events[-1], 200, headers)


async def _while_connected(request: Request, states: Coroutine[Any, Any, tuple[Event, ...]]) -> tuple[Event, ...]:
    work, gone = asyncio.create_task(states), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        work.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _order(event: Event, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(event.body, status, headers, "application/json")


class _Stream(StreamingResponse):
    """Server-sent events; the waiter's place is always given back at the end."""

    def __init__(self, lines: AsyncIterator[str], waiter: Waiter) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._waiter = waiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._waiter:
            await super().__call__(scope, receive, send)


async def _lines(events: AsyncIterator[Event | None]) -> AsyncIterator[str]:
    yield ": the states of the order follow\n\n"  # so that headers go out at once
    async for event in events:
        if event is None:
            yield ": still here\n\n"
        else:
            data = "".join(f"data: {line}\n" for line in _LINE_END.split(event.body))
            yield f"id: {event.partition}-{event.offset}\nevent: {_word(event.state)}\n{data}\n"


def _word(state: str) -> str:
    return " ".join(state.split())


def _place(text: str | None) -> tuple[int, int] | None:
    found = _PLACE.fullmatch(text or "")
    return (int(found[1]), int(found[2])) if found else None
