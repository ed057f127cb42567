"""The note a reset leaves behind for the next start: where to begin, and up to where nothing is sent again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Start = str | Mapping[str, Mapping[str, int]]
"""`earliest`, `latest`, or the first offset per topic and partition."""


@dataclass(frozen=True)
class ResetNote:
    """`start` is for a landing; `barrier` is the version of each source up to which rows were sent before."""

    start: Start | None = None
    barrier: Mapping[str, int] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Leave the note in a query's checkpoint folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _NAME).write_text(json.dumps({"start": self.start, "barrier": dict(self.barrier)}))


_NAME = "reset.json"


def read_note(folder: Path) -> ResetNote:
    """The note in a query's checkpoint folder; an empty one if it was never reset."""
    try:
        told = json.loads((folder / _NAME).read_text())
    except FileNotFoundError:
        return ResetNote()
    return ResetNote(told["start"], told["barrier"])
