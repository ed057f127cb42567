"""Notes of rows that a publisher could not send: which, and why; the rows themselves stay in their table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headrace.store import durable
from headrace.store.paths import StorePath

Place = tuple[str, int, int]
"""Table id, version and position of a row."""


class Notes:
    """A file with a line for each row that was set aside; a row has one line, also after a crash between two steps."""

    def __init__(self, file: StorePath) -> None:
        self._file = file
        self._places = set(_places(file))

    def add(self, place: Place, details: dict[str, Any]) -> None:
        """Note a row, unless an earlier run has done so."""
        if place in self._places:
            return
        table, version, position = place
        line = json.dumps({**details, "table": table, "version": version, "position": position})
        durable.append(self._file, line)
        self._places.add(place)


def _places(file: StorePath) -> Iterator[Place]:
    for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
        note = json.loads(line)
        yield note.get("table", ""), note.get("version", -1), note.get("position", -1)
