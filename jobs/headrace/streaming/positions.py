"""The positions of a streaming query: Spark's checkpoint, compared with the tables that it reads and writes.

Spark's checkpoint does not say what was written. So the newest commit of the table is noted next to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from headrace.errors import TornFile
from headrace.project.model import Model
from headrace.store import durable, json_files
from headrace.store.commits import newest_batch
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import offset_log
from headrace.tables.positions import Extent, Position, ahead_of_output, ahead_of_source, checkpoint_is_older

_WRITTEN = "written.json"


def note_written(checkpoint: StorePath, written: Position) -> None:
    """Note the newest commit that a query has made; a note that is lost is one that was not compared."""
    durable.note(checkpoint / _WRITTEN, json.dumps({"id": written.id, "version": written.upto}))


def written_by(layout: Layout, model: Model) -> dict[str, StorePath]:
    """The tables to which a streaming query appends its batches: that of its model first, then what was kept out."""
    return {
        model.table: layout.appended(model.table, model.materialized == "upsert"),
        f"bronze.late_rows of {model.table}": layout.late(model.table),
        f"bronze.failed_rows of {model.table}": layout.failed(model.name),
    }


def faults(
    query: str, written: Mapping[str, StorePath], checkpoint: StorePath, sources: Mapping[str, StorePath]
) -> Iterator[str]:
    """What is wrong with a checkpoint.

    `written` are the tables that the query appends to, its own first. `sources` are the tables behind its streams, by
    the names of the streams in the checkpoint.
    """
    table, output = next(iter(written.items()))
    begun = offset_log.newest_begun(checkpoint)
    found = [checkpoint_is_older(query, name, newest_batch(path, query), begun) for name, path in written.items()]
    if noted := _noted(checkpoint, table):
        found.append(ahead_of_output(query, noted, Extent.of(output)))
    for name, (table_id, version) in (offset_log.read_of(checkpoint, begun) if begun >= 0 else {}).items():
        if name in sources:
            source = sources[name]
            position = Position(f"{source.parent.name}.{source.name}", version, table_id)
            found.append(ahead_of_source(query, position, Extent.of(source)))
    return (fault for fault in found if fault)


def _noted(checkpoint: StorePath, table: str) -> Position | None:
    try:
        return json_files.read(checkpoint / _WRITTEN, lambda noted: Position(table, int(noted["version"]), noted["id"]))
    except (FileNotFoundError, TornFile):  # it is not synced, so a power loss may have taken it
        return None
