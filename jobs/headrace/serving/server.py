"""The service as a process: its socket, its feed, and a graceful end."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType

import uvicorn

from headrace.errors import EnvironmentFault, UsageError
from headrace.project.model import Http, Project
from headrace.reading.topics import declared
from headrace.serving import connections
from headrace.serving.app import Service, application
from headrace.serving.connections import Limits
from headrace.serving.events import Recent
from headrace.serving.feed import Feed
from headrace.serving.gate import Gate, Policy, is_local, local_hosts
from headrace.serving.history import History
from headrace.serving.orders import Orders
from headrace.serving.producer import OrderProducer
from headrace.serving.readers import Readers
from headrace.serving.replies import reply
from headrace.serving.waiters import Waiters

TOPIC = "shop-orders"

STALLED_SECONDS = 30.0
"""How long a client may take nothing of an answer."""

_PLAIN_READERS = 2
_FILTERING_READERS = 4
_READS = 64
_FILES = 16_384
_OWN_FILES = 256
"""What the service opens itself, beside connections."""

Log = Callable[..., None]


@dataclass(frozen=True)
class Settings:
    """Where to listen, and how many requests may wait at a time."""

    host: str = "127.0.0.1"
    port: int = 8080
    waiters: int = 2000


def serve(project: Project, settings: Settings, log: Log, stopped: Callable[[], bool] = lambda: False) -> None:
    """Answer HTTP until a signal asks for an end; `stopped` returns whether one has already come.

    UsageError for an address that others than this machine reach, without a token.
    """
    policy = policy_of(project.target.http, settings)
    limits = Limits(connections=max(_allowed_files() - _OWN_FILES, _OWN_FILES))
    with listening(settings.host, settings.port) as listener:
        asyncio.run(_serve(project, listener, settings.waiters, policy, limits, log, stopped))


def policy_of(http: Http, settings: Settings) -> Policy:
    """Who may ask: anybody on this machine; from elsewhere those with the token, or whoever `open` lets in."""
    local = is_local(settings.host)
    if not local and http.token is None and not http.open:
        message = f"others than this machine reach {settings.host}: give `http.token` in conf/ as a reference"
        raise UsageError(f"{message}, or `http.open: true` where something else asks who they are")
    hosts = () if http.token is not None and not local and not http.hosts else local_hosts(settings.host, *http.hosts)
    return Policy(hosts, http.token, http.rate, 2 * settings.waiters + 100)


async def _serve(
    project: Project,
    listener: socket.socket,
    limit: int,
    policy: Policy,
    limits: Limits,
    log: Log,
    stopped: Callable[[], bool],
) -> None:
    waiters, layout = Waiters(limit), project.target.layout
    readers = [Readers(partial(reply, project, layout), most, _READS) for most in (_PLAIN_READERS, _FILTERING_READERS)]

    async with _orders(project, waiters, log) as orders:
        app = Gate(application(Service(layout, orders, *readers)), policy)
        server = _Server(connections.config(app, limits), waiters)
        server.should_exit = stopped()
        log("serving", url=_url(listener), project=project.name, target=project.target.name)
        try:
            await server.serve([listener])
        finally:
            for each in readers:
                each.close()
    log("stopped")


@asynccontextmanager
async def _orders(project: Project, waiters: Waiters, log: Log) -> AsyncIterator[Orders]:
    """Orders that are kept up to date while the block runs."""
    kafka, layout = project.target.kafka, project.target.layout
    topic = kafka.named(TOPIC)
    recent, history, producer = Recent(waiters.notify), History(project, layout, topic), OrderProducer(kafka, topic)
    recent.positions.update(await history.reopen())
    feed = Feed(kafka, topic, declared(project).get(topic, 1), recent)
    orders = Orders(recent, waiters, history, producer)
    tasks = [asyncio.create_task(feed.run(log)), asyncio.create_task(orders.prune())]
    try:
        yield orders
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for part in (feed, history, producer, recent):
            part.close()


class _Server(uvicorn.Server):
    """Wakes waiting requests at shutdown, so that they end."""

    def __init__(self, config: uvicorn.Config, waiters: Waiters) -> None:
        super().__init__(config)
        self._waiters = waiters

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._waiters.closed = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._waiters.close()
        await super().shutdown(sockets)


@contextmanager
def listening(host: str, port: int, stalled_seconds: float = STALLED_SECONDS) -> Iterator[socket.socket]:
    """A socket at an address; the system drops a client that takes nothing for so long, where it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise EnvironmentFault(f"cannot listen at {host}:{port}: {error}; choose another --port or --host") from None
    with listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer in two parts takes 40 ms
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(stalled_seconds * 1000))
        yield listener


def _url(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _allowed_files() -> int:
    """Each waiting request holds a socket: raise the limit of open files as far as allowed, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if most < 0 else min(most, _FILES), most))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
