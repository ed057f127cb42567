"""The service as a process: its socket, its feed, and a graceful end."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

import uvicorn

from headrace.errors import EnvironmentFault
from headrace.project.model import Project
from headrace.reading.topics import declared
from headrace.serving.app import Service, application
from headrace.serving.events import Recent
from headrace.serving.feed import Feed
from headrace.serving.history import History
from headrace.serving.orders import Orders
from headrace.serving.producer import OrderProducer
from headrace.serving.waiters import Waiters

TOPIC = "shop-orders"

_SHUTDOWN_SECONDS = 5
_FILES = 16_384

Log = Callable[..., None]


@dataclass(frozen=True)
class Settings:
    """Where to listen, and how many requests may wait at a time."""

    host: str = "127.0.0.1"
    port: int = 8080
    waiters: int = 2000


def serve(project: Project, settings: Settings, log: Log, stopped: Callable[[], bool] = lambda: False) -> None:
    """Answer HTTP until a signal asks for an end; `stopped` returns whether one has already come."""
    _allow_files()
    with _listening(settings.host, settings.port) as listener:
        asyncio.run(_serve(project, listener, settings.waiters, log, stopped))


async def _serve(project: Project, listener: socket.socket, limit: int, log: Log, stopped: Callable[[], bool]) -> None:
    waiters = Waiters(limit)
    async with _orders(project, waiters, log) as orders:
        service = Service(project, project.target.layout, orders)
        config = uvicorn.Config(
            application(service),
            log_config=None,
            access_log=False,
            lifespan="off",
            limit_concurrency=2 * limit + 100,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        log("serving", url=_url(listener), project=project.name, target=project.target.name)
        server = _Server(config, waiters)
        server.should_exit = stopped()
        await server.serve([listener])
        service.readers.shutdown(wait=False, cancel_futures=True)
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
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise EnvironmentFault(f"cannot listen at {host}:{port}: {error}; choose another --port or --host") from None
    with listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer in two parts takes 40 ms
        yield listener


def _url(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _allow_files() -> None:
    """Each waiting request holds a socket: raise the limit of open files as far as allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if most < 0 else min(most, _FILES), most))
