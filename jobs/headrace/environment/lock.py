"""Locks on files, for work that one process at a time may do on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from headrace.errors import Locked


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
