"""A reset removes what a query has stored, and leaves a note for the next start: where to begin.

A journal records what is to be removed before anything is, and the next process completes what one that died has begun:
half of a checkpoint would not start, and without the note rows would be sent twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headrace.project.model import Query
from headrace.store import durable, json_files, trees
from headrace.store.delta_tables import id_of, is_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

Start = str | Mapping[str, Mapping[str, int]]
"""`earliest`, `latest`, or the first offset per topic and partition."""


@dataclass(frozen=True)
class ResetNote:
    """`start` is for a landing; `barrier` is the version of each source up to which rows were sent before.

    `removed` are the ids of the tables that this reset and those before it have removed; None in an old note.
    """

    start: Start | None = None
    barrier: Mapping[str, int] = field(default_factory=dict)
    removed: tuple[str, ...] | None = ()

    def write(self, folder: StorePath) -> None:
        """Leave the note in a query's checkpoint folder."""
        _write(folder / _NAME, asdict(self))


_NAME = "reset.json"
_SENT_AGAIN = (
    "restore a backup with `headrace restore`, or remove it: rows that were sent before the reset may be sent again"
)


def reset(layout: Layout, query: str, paths: Iterable[StorePath], note: ResetNote) -> None:
    """Remove folders, and leave a note in the query's checkpoint folder; the runner's lock must be held."""
    paths = [*paths]
    gone = [str(path.relative_to(layout.root)) for path in paths]
    ids = [*(read_note(layout.checkpoint(query)).removed or ()), *(id_of(path) for path in paths if is_table(path))]
    note = replace(note, removed=tuple(dict.fromkeys(ids)))
    _write(layout.reset, {"query": query, "paths": gone, "note": asdict(note)})
    finish(layout)


def finish(layout: Layout) -> None:
    """Complete a reset that was begun; the runner's lock must be held."""
    if not layout.reset.is_file():
        return
    query, paths, note = json_files.read(layout.reset, _journal, "remove it, and run `headrace reset` again")
    for path in paths:
        trees.remove(layout.root / path)
    note.write(layout.checkpoint(query))
    trees.sync(layout.root)
    layout.reset.unlink()


def read_note(folder: StorePath) -> ResetNote:
    """The note in a query's checkpoint folder; an empty one if it was never reset."""
    try:
        return json_files.read(folder / _NAME, _note, _SENT_AGAIN)
    except FileNotFoundError:
        return ResetNote()


def _journal(fields: Mapping[str, Any]) -> tuple[str, list[str], ResetNote]:
    return json_files.inside(fields["query"]), json_files.all_inside(fields["paths"]), _note(fields["note"])


def _note(fields: Mapping[str, Any]) -> ResetNote:
    removed = fields.get("removed")
    return ResetNote(fields["start"], fields["barrier"], None if removed is None else tuple(removed))


def stored(layout: Layout, query: Query) -> Iterator[StorePath]:
    """Where a query keeps its progress and its output, whether or not something is there."""
    yield layout.checkpoint(query.name)
    yield layout.failed(query.name)
    for model in query.models:
        yield layout.table(model.table)
        yield layout.changes(model.table)  # of an upsert, or of a model that was one
        if model.run == "streaming":
            yield layout.late(model.table)


def _write(file: StorePath, content: Mapping[str, object]) -> None:
    durable.write(file, json.dumps(content))
