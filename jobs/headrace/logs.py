"""One line per event on stderr, the same as JSON in the log file of the data directory."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import structlog


def speaker(folder: Path, quiet: bool = False, name: str = "headrace") -> Callable[..., None]:
    """Return the function that logs events: to a file of that name always, to stderr unless told to be quiet."""
    folder.mkdir(parents=True, exist_ok=True)
    file = RotatingFileHandler(folder / f"{name}.log", maxBytes=20_000_000, backupCount=3)
    file.setFormatter(logging.Formatter("%(message)s"))
    render = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=10, sort_keys=False)
    lock = threading.Lock()

    def say(event: str, **values: Any) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {"timestamp": now, "event": event, **values}
        with lock:
            file.emit(logging.LogRecord("headrace", logging.INFO, "", 0, json.dumps(entry, default=str), None, None))
            if not quiet:
                print(render(None, event, {"event": event, "timestamp": now[11:-1], **values}), file=sys.stderr)

    return say
