"""One runner per data directory: a lock held by the process and, separately, by the JVM it started."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock, Timeout

from headrace.errors import Locked
from headrace.faults import naming


@contextmanager
def runner_lock(folder: Path) -> Iterator[None]:
    """Hold the runner's lock; Locked names who holds it already."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "runner.json"
    lock = FileLock(folder / "runner.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Locked(f"another runner holds {folder.parent}: {_holder(note)}; stop it first") from None
    try:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now(timezone.utc).isoformat()}
        with naming(note):
            note.write_text(json.dumps(me))
        yield
    finally:
        with suppress(OSError):  # the lock counts, not the note
            note.unlink()
        lock.release()


@contextmanager
def file_lock(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock on a file; Locked with the refusal if another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Locked(refusal) from None
    try:
        yield
    finally:
        lock.release()


def _holder(note: Path) -> str:
    try:
        held = json.loads(note.read_text())
        return f"pid {held['pid']} on {held['host']} since {held['since']}"
    except (OSError, ValueError, KeyError):
        return "a process that has not said who it is"
