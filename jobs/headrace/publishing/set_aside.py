"""Notes of rows that a publisher could not send: which, and why; the rows themselves stay in their table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

KEPT = 5_000
"""How many of the newest notes stay: at least those of a transaction, as a crash repeats one.

The file is shortened once it has twice as many.
"""

Place = tuple[str, int, int]
"""Table id, version and position of a row."""


class Notes:
    """A file with a line for each row that was set aside; a row has one line, also after a crash between two steps."""

    def __init__(self, file: StorePath) -> None:
        self._file = file
        data = file.read_bytes() if file.is_file() else b""
        *lines, torn = data.split(b"\n")
        self._is_torn = bool(torn)
        """The line that a crash has cut off; its rows are not sent, so they are set aside again."""
        with json_files.whole(file, data, "remove it: the rows themselves are in their table"):
            self._lines = {_place(line.decode()): line.decode() for line in lines}

    def add(self, rows: Mapping[Place, Mapping[str, Any]]) -> None:
        """Note rows with their details, but for those that an earlier run has noted."""
        new = {place: _line(place, details) for place, details in rows.items() if place not in self._lines}
        if not new:
            return
        self._lines |= new
        if len(self._lines) <= 2 * KEPT and not self._is_torn:
            durable.append(self._file, [*new.values()])
            return
        self._lines = dict([*self._lines.items()][-KEPT:])
        self._is_torn = False
        durable.write(self._file, "".join(f"{line}\n" for line in self._lines.values()))


def _line(place: Place, details: Mapping[str, Any]) -> str:
    table, version, position = place
    return json.dumps({**details, "table": table, "version": version, "position": position})


def _place(line: str) -> Place:
    note = json.loads(line)
    return note.get("table", ""), note.get("version", -1), note.get("position", -1)
