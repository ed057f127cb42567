"""The gate before all routes: who may ask, from where, how often, how many at a time, and how slowly.

Rules: a request is refused before any of its body is read, in the order of `_CHECKS`; the head of a request, its size
and idle connections are the server's business. Invariant: no route sees a request that the policy does not admit.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS = 20.0
"""How long the body of a request may take from its first byte to its last."""

BURST_SECONDS = 10.0
"""A client may be so far ahead of its rate."""

_CLIENTS = 10_000
_LOCAL = ("localhost", "127.0.0.1", "::1")
_WITH_BODY = ("POST", "PUT", "PATCH")


@dataclass(frozen=True)
class Policy:
    """What is admitted: names in the Host header (none: any), a bearer token (None: anybody), requests in a second
    from one address, and requests at a time."""

    hosts: tuple[str, ...] = _LOCAL
    token: str | None = field(default=None, repr=False)
    rate: float = 200.0
    at_a_time: int = 4100


@dataclass(frozen=True)
class Refusal:
    """A status, what is wrong, and headers."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


def is_local(host: str) -> bool:
    """Whether an address to listen at is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def local_hosts(*more: str) -> tuple[str, ...]:
    """The names of this machine for itself, and more."""
    return (*_LOCAL, *(name.lower() for name in more))


def refusal(policy: Policy, method: str, headers: Mapping[str, str]) -> Refusal | None:
    """Why a request is not admitted; None if it is. Names of headers are in lower case."""
    return next(filter(None, (check(policy, method, headers) for check in _CHECKS)), None)


def _host(policy: Policy, _: str, headers: Mapping[str, str]) -> Refusal | None:
    """A page elsewhere whose name was made to lead here (DNS rebinding) has its own name in Host."""
    if not policy.hosts or _name(headers.get("host", "")) in policy.hosts:
        return None
    return Refusal(421, "no such host here; list its name in `http.hosts` in conf/")


def _token(policy: Policy, _: str, headers: Mapping[str, str]) -> Refusal | None:
    if policy.token is None:
        return None
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(shown.strip().encode(), policy.token.encode())
    if scheme.lower() == "bearer" and same:
        return None
    return Refusal(401, "send the header `Authorization: Bearer <token>`", {"WWW-Authenticate": "Bearer"})


def _origin(_: Policy, __: str, headers: Mapping[str, str]) -> Refusal | None:
    """Browsers name the origin of whatever is not a plain read by a page of this service."""
    origin = headers.get("origin")
    if origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower():
        return None
    return Refusal(403, "pages of other origins are not served")


def _content_type(_: Policy, method: str, headers: Mapping[str, str]) -> Refusal | None:
    """Browsers send other types across origins without asking first."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method not in _WITH_BODY or kind == "application/json":
        return None
    return Refusal(415, "send JSON, with the header `Content-Type: application/json`")


_CHECKS: tuple[Callable[[Policy, str, Mapping[str, str]], Refusal | None], ...] = (
    _host,
    _token,
    _origin,
    _content_type,
)


class Rates:
    """How far each client is ahead of its rate, in seconds: one time for each, that of its next request on average."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause = 1 / per_second
        self._clock = clock
        self._next: dict[str, float] = {}

    def take(self, client: str) -> float:
        """Count a request: 0 if it is admitted, else how many seconds too early it comes."""
        now = self._clock()
        if len(self._next) > _CLIENTS:
            self._next = {each: at for each, at in self._next.items() if at > now}
        following = max(self._next.get(client, now), now) + self._pause
        if following > now + BURST_SECONDS + self._pause:
            return following - now - BURST_SECONDS
        self._next[client] = following
        return 0.0


class Gate:
    """The application behind its policy."""

    def __init__(self, app: ASGIApp, policy: Policy, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._policy = policy
        self._rates = Rates(policy.rate)
        self._body_seconds = body_seconds
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif (refused := self._refused(scope)) is not None:
            await _send(send, refused)
        else:
            self._inside += 1
            try:
                await self._app(scope, _in_time(receive, self._body_seconds), send)
            finally:
                self._inside -= 1

    def _refused(self, scope: Scope) -> Refusal | None:
        client = scope.get("client")
        if early := self._rates.take(client[0] if client else ""):
            return Refusal(429, "too many requests from this address", {"Retry-After": str(int(early) + 1)})
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if (refused := refusal(self._policy, scope["method"], headers)) is not None:
            return refused
        if self._inside >= self._policy.at_a_time:
            return Refusal(503, "too many requests at a time", {"Retry-After": "1"})
        return None


def _in_time(receive: Receive, seconds: float) -> Receive:
    """Messages of a client; one whose body is not here in time counts as gone."""
    deadline, complete = time.monotonic() + seconds, False

    async def received() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(deadline - time.monotonic(), 0))
        except asyncio.TimeoutError:
            return {"type": "http.disconnect"}
        complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return received


async def _send(send: Send, refused: Refusal) -> None:
    """Answer without the application; the server then closes a connection whose body it has not read."""
    body = json.dumps({"detail": refused.message}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refused.headers}
    await send({"type": "http.response.start", "status": refused.status, "headers": _encoded(headers.items())})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers]


def _name(host: str) -> str:
    """The name in a Host header in lower case, without its port and brackets; empty if it is none."""
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]+)?", host.lower())
    return (found[1] or found[2]) if found else ""
