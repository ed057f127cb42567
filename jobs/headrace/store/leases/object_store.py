"""The lease of an object store: one object, and whoever writes it names the version that the write replaces.

On HDFS, which has no versions, `buckets.hdfs` numbers them. Rules:
- Of two writers of one version one wins; the other is refused by the store.
- A holder counts as dead when an observer has seen the object unchanged for `EXPIRES` seconds. The observer's own
  monotonic clock measures that, so clocks of machines are never compared.
- A holder that could not renew for as long has lost its lease, and so has one that finds another's note in place of its
  own: a process that was stopped for a while notices at its next renewal.
- A released lease stays as a note that says so, and the next runner takes it at once.
"""

from __future__ import annotations

import json
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone

from headrace.errors import EnvironmentFault
from headrace.store import durable, json_files
from headrace.store.buckets.bucket import Replaced, Version
from headrace.store.paths import ObjectPath

RENEW = 5.0
"""Seconds between two renewals."""

EXPIRES = 20.0
"""Seconds without a renewal after which a lease is lost to its holder, and free to others."""

_FREE = "see that nobody works on the store, and remove it"


@dataclass(frozen=True)
class Note:
    """What a holder writes. `renewals` lets each text differ from the one before, as an e_tag may be its hash."""

    owner: str
    pid: int
    host: str
    since: str
    epoch: int = 1
    renewals: int = 0
    released: bool = False

    @classmethod
    def of_this_process(cls) -> Note:
        """A note by which no other runner can be meant."""
        return cls(uuid.uuid4().hex, os.getpid(), socket.gethostname(), _now())

    @property
    def words(self) -> str:
        """The holder as a message names it."""
        return f"pid {self.pid} on {self.host} since {self.since}"

    def after(self, former: Note) -> Note:
        """The note by which a lease is taken that another had."""
        return replace(self, since=_now(), epoch=former.epoch + 1)

    def again(self) -> Note:
        """The note by which a lease is renewed."""
        return replace(self, renewals=self.renewals + 1)


@dataclass(frozen=True)
class Sight:
    """A lease as an observer sees it: unchanged since a moment on the observer's clock.

    `renewed` is whether it has changed since the observer saw it first: then its holder is alive.
    """

    note: Note
    version: Version
    since: float
    renewed: bool = False

    def is_free(self, now: float) -> bool:
        """Whether it was released, or its holder counts as dead."""
        return self.note.released or now - self.since >= EXPIRES


def seen(before: Sight | None, note: Note, version: Version, now: float) -> Sight:
    """What an observer knows after another look."""
    if before is not None and before.version == version:
        return before
    return Sight(note, version, now, renewed=before is not None)


class ObjectLease:
    """Held by whoever has written the object last, as long as it is written again and again."""

    def __init__(self, file: ObjectPath, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock
        self._note = Note.of_this_process()
        self._version: Version = {}
        self._renewed_at = -math.inf
        self._sight: Sight | None = None

    @property
    def holder(self) -> str:
        return self._sight.note.words if self._sight else "a process that has not said who it is"

    @property
    def is_alive(self) -> bool:
        return self._sight is not None and self._sight.renewed

    @property
    def is_held(self) -> bool:
        return self._clock() - self._renewed_at < EXPIRES

    def take(self) -> bool:
        found, now = self._read(), self._clock()
        if found is None:
            return self._write(replace(self._note, since=_now()), "create")
        if self._adopts(*found, now):
            return True
        self._sight = sight = seen(self._sight, *found, now)
        if not sight.is_free(now):
            return False
        return self._write(self._note.after(sight.note), sight.version)

    def renew(self) -> str | None:
        """Write the note again; if the lease is lost, return the cause."""
        if self._write(self._note.again(), self._version):
            return None
        now, found = self._clock(), self._read()
        if found is None:
            return f"{self._file} was removed"
        return None if self._adopts(*found, now) else f"{found[0].words} has taken it over"

    @contextmanager
    def renewed(self, lost: Callable[[str], None]) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._renew_until, args=(over, lost), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(RENEW)

    def release(self) -> None:
        with suppress(EnvironmentFault):  # then it is free after a while
            self._write(replace(self._note.again(), released=True), self._version)

    def _adopts(self, note: Note, version: Version, now: float) -> bool:
        """Whether a note is this holder's own: written, although the answer was lost and the write repeated."""
        if note.owner != self._note.owner:
            return False
        self._note, self._version, self._renewed_at = note, version, now
        return True

    def _renew_until(self, over: threading.Event, lost: Callable[[str], None]) -> None:
        while not over.wait(RENEW):
            cause = self._renew_in_time()
            if cause is not None:
                self._renewed_at = -math.inf
                lost(cause)
                return

    def _renew_in_time(self) -> str | None:
        """Try to renew before the lease expires; the client of a store may try for longer on its own."""
        causes = list[str]()
        thread = threading.Thread(target=self._try, args=(causes,), name="lease renewal", daemon=True)
        thread.start()
        thread.join(max(RENEW, self._renewed_at + EXPIRES - self._clock()))
        if not causes and self._clock() - self._renewed_at >= EXPIRES:
            return f"it could not be renewed for {EXPIRES:g} s"
        return causes[0] if causes else None

    def _try(self, causes: list[str]) -> None:
        with suppress(EnvironmentFault):  # it is tried again until it has expired
            cause = self.renew()
            if cause is not None:
                causes.append(cause)

    def _read(self) -> tuple[Note, Version] | None:
        found = durable.read_version(self._file)
        if found is None:
            return None
        return json_files.parsed(self._file, found[0], lambda note: Note(**note), _FREE), found[1]

    def _write(self, note: Note, replaced: Replaced) -> bool:
        """Write a note in place of a version; False if the object is another one by now."""
        now = self._clock()
        version = durable.replace_version(self._file, json.dumps(asdict(note)).encode(), replaced)
        if version is None:
            return False
        self._note, self._version, self._renewed_at = note, version, now
        return True


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
