"""An S3 server on a bad day: a proxy in front of it that refuses, delays, fails and loses what is asked of it."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from tests.s3.server import HOST, S3Server, options

Fault = Literal["busy", "denied", "failed", "cut before", "cut after", "half"]
"""What becomes of a request. `cut before` never reaches the server, `cut after` does, but its answer is lost."""

Choice = Callable[[str, str], Fault | None]
"""Given method and path, the fault of a request."""

_ANSWERS: Mapping[Fault, tuple[int, str]] = {
    "busy": (503, "SlowDown"),
    "denied": (403, "AccessDenied"),
    "failed": (500, "InternalError"),
}
_OWN = {"connection", "transfer-encoding", "keep-alive", "content-length"}
"""Headers that the proxy writes itself."""


@dataclass(frozen=True)
class _Answer:
    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


@dataclass
class FaultyServer:
    """The proxy of a server: `options` reach it, `faults` counts what it did, by fault."""

    port: int
    choose: Choice = lambda method, path: None
    delay: float = 0.0
    """Seconds that each request takes."""
    is_refusing: bool = False
    listed_for: float = 0.0
    """Seconds for which a listing is answered as it was when somebody last asked for it."""
    faults: Counter[Fault] = field(default_factory=Counter)
    listings: dict[str, tuple[float, _Answer]] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        """What obstore must know beside the url."""
        return options(self.port)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """While the block lasts nobody is connected, and whoever was no longer is."""
        self.is_refusing = True
        try:
            yield
        finally:
            self.is_refusing = False

    @contextmanager
    def choosing(self, choose: Choice) -> Iterator[None]:
        """While the block lasts requests have these faults."""
        former, self.choose = self.choose, choose
        try:
            yield
        finally:
            self.choose = former


def some(seed: int, share: float, *kinds: Fault) -> Choice:
    """A share of all requests has one of these faults, by chance."""
    chance = random.Random(seed)
    return lambda method, path: chance.choice(kinds) if chance.random() < share else None


def always(fault: Fault) -> Choice:
    """Every request has a fault."""
    return lambda method, path: fault


def on(method: str, fault: Fault) -> Choice:
    """Every request of a method has a fault."""
    return lambda asked, path: fault if asked == method else None


@contextmanager
def faulty(server: S3Server) -> Iterator[FaultyServer]:
    """A proxy in front of a server while the block lasts."""
    upstream = int(server.options["aws_endpoint"].rsplit(":", 1)[1])
    found = FaultyServer(0)
    handler = type("Handler", (_Handler,), {"upstream": upstream, "server_state": found})
    proxy = _Server((HOST, 0), handler)
    proxy.state = found
    found.port = proxy.server_port
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    state: FaultyServer

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return not self.state.is_refusing

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever goes away in the middle is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    upstream: int
    server_state: FaultyServer

    def handle_one_request(self) -> None:
        """One request, or none any more."""
        super().handle_one_request()
        if self.server_state.is_refusing:
            self._cut()

    def _pass(self) -> None:
        state, body = self.server_state, self._body()
        time.sleep(state.delay)
        fault = "cut before" if state.is_refusing else state.choose(self.command, self.path)
        if fault is not None:
            state.faults[fault] += 1
        if fault in _ANSWERS:
            self._refuse(*_ANSWERS[fault])
        elif fault == "cut before":
            self._cut()
        else:
            self._forward(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

    def _body(self) -> bytes:
        if length := self.headers.get("Content-Length"):
            return self.rfile.read(int(length))
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return b""
        found = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _forward(self, body: bytes, fault: Fault | None) -> None:
        answer = self._listed() or self._asked(body)
        if fault == "cut after":
            self._cut()
            return
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.headers.items():
            if name.lower() not in _OWN or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if fault == "half" and len(answer.content) > 1:
            self.wfile.write(answer.content[: len(answer.content) // 2])
            self._cut()
        else:
            self.wfile.write(answer.content)

    def _listed(self) -> _Answer | None:
        """The former answer to the same listing, if it is not too old."""
        at, answer = self.server_state.listings.get(self.path, (0.0, None))
        return answer if time.monotonic() - at < self.server_state.listed_for else None

    def _asked(self, body: bytes) -> _Answer:
        """What the server answers."""
        connection = HTTPConnection(HOST, self.upstream, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
            headers |= {"Content-Length": str(len(body))} if self.command in {"PUT", "POST"} else {}
            connection.request(self.command, self.path, body or None, headers)
            found = connection.getresponse()
            answer = _Answer(found.status, found.reason, dict(found.getheaders()), found.read())
        finally:
            connection.close()
        if self.command == "GET" and "list-type=2" in self.path:
            self.server_state.listings[self.path] = (time.monotonic(), answer)
        return answer

    def _refuse(self, status: int, code: str) -> None:
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>Asked to</Message></Error>".encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", "0" if self.command == "HEAD" else str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
