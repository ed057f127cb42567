"""Spark's offset log of a query with named sources: how far a batch reads, and what Spark 4.2.0 cannot read itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

PARTITIONS = "spark.sql.shuffle.partitions"
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def mend(checkpoint: StorePath, partitions: str) -> None:
    """Let a query start again that was killed in the middle of a batch.

    For an unfinished batch Spark compares its number of partitions with that of the batch before, but its log of
    named sources never holds the number: without it every start fails with `None.get`.
    """
    unfinished = _newest(checkpoint / "offsets")
    if unfinished > max(_newest(checkpoint / "commits"), 0):
        for batch in (unfinished - 1, unfinished):
            _add_partitions(checkpoint / "offsets" / str(batch), partitions)


def read_until(checkpoint: StorePath, batch: int) -> dict[str, int]:
    """The last version of its Delta table that a batch reads, by the name of the source."""
    return {name: version for name, (_, version) in read_of(checkpoint, batch).items()}


def read_of(checkpoint: StorePath, batch: int) -> dict[str, tuple[str | None, int]]:
    """The id of the Delta table that a batch reads, and the last version of it, by the name of the source."""
    _, _, offsets = _parts(checkpoint / "offsets" / str(batch))
    parts = [line.partition(":") for line in offsets]
    read = {name: json.loads(offset) for name, _, offset in parts if offset.startswith("{")}  # "-": nothing read yet
    # An index below 0 is the place before the first file of a version.
    return {name: (at.get("reservoirId"), at["reservoirVersion"] - (at["index"] < 0)) for name, at in read.items()}


def newest_commit(checkpoint: StorePath) -> int:
    """The newest batch that is done; -1 before the first."""
    return _newest(checkpoint / "commits")


def state_format(checkpoint: StorePath) -> str:
    """The version in which batches record their state: that of the newest one; 2 for a query that has done none.

    With 2 a batch names the files of its state, so a batch that is tried twice never goes on with half of each.
    """
    newest = newest_commit(checkpoint)
    if newest < 0:
        return "2"
    file = checkpoint / "commits" / str(newest)
    data = file.read_bytes()
    with json_files.whole(file, data):
        version, metadata = data.decode().split("\n", 1)
        json.loads(metadata)
    return version.removeprefix("v")


def newest_begun(checkpoint: StorePath) -> int:
    """The newest batch whose offsets are recorded; -1 before the first."""
    return _newest(checkpoint / "offsets")


def _newest(folder: StorePath) -> int:
    """The newest batch in a folder of Spark's log; -1 without one."""
    return max((int(file.name) for file in folder.glob("[0-9]*") if file.name.isdecimal()), default=-1)


def _add_partitions(file: StorePath, partitions: str) -> None:
    version, fields, offsets = _parts(file)
    if PARTITIONS in fields["conf"]:
        return
    fields["conf"][PARTITIONS] = partitions
    # first: a file without a checksum is read unchecked
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    durable.write(file, "\n".join((version, json.dumps(fields, separators=(",", ":")), *offsets)))


def _parts(file: StorePath) -> tuple[str, dict[str, Any], Sequence[str]]:
    """The version of an entry of the offset log, its metadata, and a line for each source."""
    data = file.read_bytes()
    with json_files.whole(file, data):
        version, metadata, *offsets = data.decode().split("\n")
        for line in offsets:
            if (offset := line.partition(":")[2]) != "-":
                json.loads(offset)
        return version, json.loads(metadata), offsets
