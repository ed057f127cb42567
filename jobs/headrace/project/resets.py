"""What a reset removes of a query, and the note that it leaves behind for the next start: where to begin."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.layout import Layout
from headrace.project.model import Query

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


def stored(layout: Layout, query: Query) -> Iterator[Path]:
    """Where a query keeps its progress and its output, whether or not something is there."""
    yield layout.checkpoint(query.name)
    yield layout.failed(query.name)
    for model in query.models:
        yield layout.table(model.table)
        yield layout.changes(model.table)  # of an upsert, or of a model that was one
        if model.run == "streaming":
            yield layout.late(model.table)
