"""The lease of a store on a disk: a file lock, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock, Timeout

from headrace.store import json_files
from headrace.store.paths import make_private
from headrace.write_errors import naming


class DiskLease:
    """Held by the process: the system releases it when the process ends, however that happens."""

    is_alive = True

    def __init__(self, folder: Path) -> None:
        self._note = folder / "runner.json"
        self._lock = FileLock(folder / "runner.lock")

    @property
    def holder(self) -> str:
        try:
            held = json.loads(self._note.read_text())
            return f"pid {held['pid']} on {held['host']} since {held['since']}"
        except (OSError, *json_files.UNREADABLE):
            return "a process that has not said who it is"

    @property
    def is_held(self) -> bool:
        return bool(self._lock.is_locked)

    def take(self) -> bool:
        make_private(self._note.parent)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        try:
            self._write_note()
        except OSError:
            self.release()
            raise
        return True

    def renewed(self, lost: Callable[[str], None]) -> AbstractContextManager[None]:
        """Do nothing: nobody can take a file lock away."""
        return nullcontext()

    def release(self) -> None:
        with suppress(OSError):  # the lock counts, not the note
            self._note.unlink()
        self._lock.release()

    def _write_note(self) -> None:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now(timezone.utc).isoformat()}
        with naming(self._note):
            self._note.write_text(json.dumps(me))
