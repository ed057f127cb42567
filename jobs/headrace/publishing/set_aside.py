"""Notes of rows that a publisher could not send: which, and why; the rows themselves stay in their table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Place = tuple[str, int, int]
"""Table id, version and position of a row."""


class Notes:
    """A file with a line for each row that was set aside; a row has one line, also after a crash between two steps."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._places = set(_places(file))

    def add(self, place: Place, details: dict[str, Any]) -> None:
        """Note a row, unless an earlier run has done so."""
        if place in self._places:
            return
        table, version, position = place
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**details, "table": table, "version": version, "position": position}) + "\n")
        self._places.add(place)


def _places(file: Path) -> Iterator[Place]:
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        note = json.loads(line)
        yield note.get("table", ""), note.get("version", -1), note.get("position", -1)
