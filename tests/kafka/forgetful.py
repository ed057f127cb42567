"""A broker that for a moment does not know itself, like one just restarted: a proxy before the real one."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.waiting import pause

METADATA, FIND_COORDINATOR = 3, 10
_FLEXIBLE = 9
"""The first version of metadata with compact arrays and tags."""


class Forgetful:
    """Passes Kafka's protocol on to a broker on loopback; clients know it by this proxy's address alone."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.split(":")
        self._broker = (host, int(port))
        self._listener = socket.create_server((host, 0))
        self.bootstrap = f"{host}:{self._listener.getsockname()[1]}"
        self._is_away = self._forgets = False
        self._misinformed: set[int] = set()
        self._open: list[socket.socket] = []
        self._workers: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def misinformed(self) -> int:
        """How many connections it has sent metadata without brokers."""
        return len(self._misinformed)

    @contextmanager
    def forgetting(self, outage: float) -> Iterator[None]:
        """Be down for so many seconds; while the block lasts it is up again, but knows no broker."""
        self._is_away = True
        self._hang_up()
        pause(outage)
        self._is_away, self._forgets = False, True
        try:
            yield
        finally:
            self._forgets = False

    def close(self) -> None:
        self._listener.close()
        self._hang_up()
        for worker in self._workers:
            worker.join()
        for each in self._open:
            each.close()

    def _hang_up(self) -> None:
        for each in [*self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                if self._is_away:
                    client.close()
                    continue
                broker = socket.create_connection(self._broker)
                self._open += [client, broker]
                asked: dict[int, tuple[int, int]] = {}
                for work in (self._ask, self._answer):
                    self._workers.append(threading.Thread(target=work, args=(client, broker, asked), daemon=True))
                    self._workers[-1].start()

    def _ask(self, client: socket.socket, broker: socket.socket, asked: dict[int, tuple[int, int]]) -> None:
        for frame in _frames(client, broker):
            kind, version, correlation = struct.unpack(">hhi", frame[:8])
            asked[correlation] = (kind, version)
            _pass(frame, broker)

    def _answer(self, client: socket.socket, broker: socket.socket, asked: dict[int, tuple[int, int]]) -> None:
        for frame in _frames(broker, client):
            kind, version = asked.pop(struct.unpack(">i", frame[:4])[0])
            if kind in (METADATA, FIND_COORDINATOR):
                frame = frame.replace(_address(*self._broker), _address(*self._listener.getsockname()))
            if kind == METADATA and self._forgets:
                assert version >= _FLEXIBLE, version
                frame = _without_brokers(frame)
                self._misinformed.add(id(client))
            _pass(frame, client)


def _frames(source: socket.socket, other: socket.socket) -> Iterator[bytes]:
    """Each message without its length; the other side is closed when this one closes."""
    with suppress(OSError), source.makefile("rb") as stream:
        while len(length := stream.read(4)) == 4:
            yield stream.read(struct.unpack(">i", length)[0])
    with suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)


def _pass(frame: bytes, target: socket.socket) -> None:
    with suppress(OSError):  # it has closed the connection
        target.sendall(struct.pack(">i", len(frame)) + frame)


def _address(host: str, port: int) -> bytes:
    return host.encode() + struct.pack(">i", port)


def _without_brokers(frame: bytes) -> bytes:
    """A metadata response of which the array of brokers is empty."""
    start = 4 + 1 + 4  # correlation, tags, throttle time
    at = start + 1
    for _ in range(frame[start] - 1):
        at += 4  # node
        at += frame[at]  # host: the length plus one, and so many bytes less one
        at += 4  # port
        at += max(frame[at], 1)  # rack, which may be null
        at += 1  # tags
    return frame[:start] + b"\x01" + frame[at:]
