"""One line per event on stderr, the same as JSON in the log file of the data directory."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import structlog

from headrace.errors import EnvironmentFault
from headrace.secrets import hidden
from headrace.store.paths import make_private
from headrace.terminal import printable


class Attempt:
    """Writes a file repeatedly; a failure is logged when it begins, changes or ends."""

    def __init__(self, write: Callable[..., None], file: Path, log: Callable[..., None]) -> None:
        self._write = write
        self._file = str(file)
        self._log = log
        self._cause: str | None = None

    def __call__(self, *values: Any) -> None:
        """Write once; after a failure of the file system or the store the next call tries again."""
        cause = None
        try:
            self._write(*values)
        except (OSError, EnvironmentFault) as error:
            cause = str(error)
        if cause != self._cause:
            fields = {"cause": cause} if cause else {}
            self._log("unwritten" if cause else "written", file=self._file, **fields)
        self._cause = cause


class _File(RotatingFileHandler):
    """A log file that raises its failures, instead of printing a traceback on stderr for each line."""

    def handleError(self, record: logging.LogRecord) -> None:
        raise


def event_logger(folder: Path, quiet: bool = False, name: str = "headrace") -> Callable[..., None]:
    """Return the function that logs events: always to a file of that name, to stderr unless `quiet`."""
    make_private(folder)
    file = _File(folder / f"{name}.log", maxBytes=20_000_000, backupCount=3)
    file.setFormatter(logging.Formatter("%(message)s"))
    render = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=10, sort_keys=False)
    lock = threading.Lock()

    def show(event: str, **values: Any) -> None:
        if not quiet:
            with suppress(OSError):  # the reader may be gone, and that must not end the run
                shown = {name: printable(each) if isinstance(each, str) else each for name, each in values.items()}
                line = str(render(None, event, {"event": event, "timestamp": _now()[11:-1], **shown}))
                print(hidden(line), file=sys.stderr)

    write = Attempt(file.emit, Path(file.baseFilename), show)

    def log(event: str, **values: Any) -> None:
        entry = {"timestamp": _now(), "event": event, **values}
        with lock:
            line = hidden(json.dumps(entry, default=str))
            write(logging.LogRecord("headrace", logging.INFO, "", 0, line, None, None))
            show(event, **values)

    return log


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
