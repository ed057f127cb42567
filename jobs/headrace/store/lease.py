"""Leases of a store: one process at a time does a kind of work on it, and the others learn who does.

They give clear messages and a quick takeover. No row depends on them: a commit or a recorded input never replaces
what another process has written.

- On a disk the lease is a file lock, which the system releases when its process ends (`leases.disk`).
- On an object store, and on HDFS, it is an object, which its holder renews every few seconds (`leases.object_store`).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headrace.errors import EnvironmentFault, Locked
from headrace.store.layout import Layout
from headrace.store.leases.disk import DiskLease
from headrace.store.leases.object_store import ObjectLease
from headrace.store.paths import ObjectPath, StorePath

POLL = 1.0
"""Seconds between two attempts to take a lease that somebody else holds."""


class Lease(Protocol):
    """What a command needs of a lease, wherever it is kept."""

    @property
    def holder(self) -> str:
        """Who holds it, in words."""

    @property
    def is_alive(self) -> bool:
        """Whether whoever holds it is known to be alive."""

    @property
    def is_held(self) -> bool:
        """Whether this process holds it and nobody can have taken it over, by this machine's monotonic clock."""

    def take(self) -> bool:
        """Take the lease if it is free or its holder is dead; False if it is held."""

    def renewed(self, lost: Callable[[str], None]) -> AbstractContextManager[None]:
        """Keep the lease while the block runs; if that fails, `lost` is called with the cause."""

    def release(self) -> None:
        """Let others take it."""


@dataclass(frozen=True)
class Work:
    """Work that one process at a time may do: the folder of its lease, its name, and how a refusal begins and ends."""

    folder: StorePath
    name: str
    refusal: str
    remedy: str = "wait for it or end it first"


def running(layout: Layout) -> Work:
    """The work of a runner, and of every command that must not run at the same time."""
    return Work(layout.locks, str(layout.root), f"another runner holds {layout.root}", "stop it first")


def of(folder: StorePath) -> Lease:
    """The lease that is kept in a folder of a store."""
    if isinstance(folder, Path):
        return DiskLease(folder)
    assert isinstance(folder, ObjectPath), f"{folder} is on no store that is known"
    return ObjectLease(folder / "lease.json")


@contextmanager
def held(layout: Layout, stop: threading.Event | None = None, standby: bool = False) -> Iterator[Lease]:
    """Hold the lease of the runner, as `exclusive`."""
    with exclusive(running(layout), stop, standby) as lease:
        yield lease


@contextmanager
def exclusive(work: Work, stop: threading.Event | None = None, standby: bool = False) -> Iterator[Lease]:
    """Hold a lease while the block runs; KeyboardInterrupt if `stop` is set while it waits for the lease.

    Locked as soon as the holder proves to be alive, unless on standby. If the lease is lost, the block ends as `stop`
    is set, or without it by an interrupt of the main thread: what it was about to remove may belong to another
    process by now. Then Locked is raised with the cause.
    """
    lease, causes = of(work.folder), list[str]()
    _wait(lease, work, stop or threading.Event(), standby)

    with _interrupts() if stop is None else nullcontext(stop.set) as end:

        def lose(cause: str) -> None:
            causes.append(cause)
            end()

        try:
            with lease.renewed(lose):
                yield lease
        finally:
            lease.release()
            if causes:
                raise Locked(f"this process has lost its lease of {work.name}: {causes[0]}")


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """A call that raises KeyboardInterrupt in the main thread, also while it waits for an answer.

    By SIGUSR1: a shell lets what it starts in the background ignore SIGINT.
    """
    main = threading.main_thread().ident or 0
    former = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    try:
        yield lambda: signal.pthread_kill(main, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, former)


def _wait(lease: Lease, work: Work, stop: threading.Event, standby: bool) -> None:
    is_reported = False
    while not _taken(lease, standby):
        if lease.is_alive and not standby:
            raise Locked(f"{work.refusal}: {lease.holder}; {work.remedy}")
        if not is_reported:
            print(f"headrace: waiting for {work.name}: {lease.holder} holds it", file=sys.stderr, flush=True)
            is_reported = True
        if stop.wait(POLL):
            raise KeyboardInterrupt


def _taken(lease: Lease, standby: bool) -> bool:
    """Whether the lease could be taken; a runner on standby outlasts a store that does not answer."""
    try:
        return lease.take()
    except EnvironmentFault:
        if not standby:
            raise
        return False
