"""Connections of HTTP/1.1 that end when their client is slow: uvicorn alone waits for a request's head without end."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from headrace.secrets import hidden

_HEAD_BYTES = 16_384
_SHUTDOWN_SECONDS = 5


@dataclass(frozen=True)
class Limits:
    """How many seconds the head of a request may take and a connection may be idle, and how many connections."""

    seconds: float = 5.0
    connections: int = 10_000


class _Connection(H11Protocol):
    """A connection with one deadline from its start, and from each answer, to the end of the next request's head."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP/1.1 as the routes refuse; where an answer has begun, there is no place for another."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        body = json.dumps({"detail": f"{msg} Send HTTP/1.1, with a head of at most {_HEAD_BYTES} bytes"}).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
        answer = h11.Response(status_code=400, headers=[*headers.items()], reason="Bad Request")
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the deadline run while no request is being answered; what arrives meanwhile does not put it off."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self._limits.seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Hiding(logging.Formatter):
    """Tracebacks of our own faults, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        return hidden(super().format(record))


def config(app: Any, limits: Limits) -> uvicorn.Config:
    """How uvicorn serves an ASGI application: only HTTP/1.1, and only faults of ours on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Hiding())
    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.ERROR)
    connection: Any = partial(_Connection, limits)
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
