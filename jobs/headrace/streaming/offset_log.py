"""Spark's offset log of a query with named sources: how far a batch reads, and what Spark 4.2.0 cannot read itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.errors import TornFile
from headrace.store import durable, json_files, trees
from headrace.store.paths import StorePath

PARTITIONS = "spark.sql.shuffle.partitions"
_SYNCED = "synced.json"
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def mend(checkpoint: StorePath, partitions: str, written: int = -1) -> None:
    """Let a query start again that was killed in the middle of a batch.

    What a power loss has left of the newest batch is removed: Spark refuses a torn file, and repeats the batch without
    it. Nothing was written for a batch that is not recorded. A batch that is done is repeated too, as its state may be
    torn; that of the batch before it is synced. It is not where something of a later batch was written, as all before
    that is synced; `written` is the newest batch of which anything was. So a batch behind one that is not done has
    written nothing, and goes as well; and a first batch that has written nothing begins with an empty checkpoint.

    For an unfinished batch Spark compares its number of partitions with that of the batch before, but its log of
    named sources never holds the number: without it every start fails with `None.get`.
    """
    begun, done = newest_begun(checkpoint), newest_commit(checkpoint)
    if done >= 0 and written <= done and _may_be_torn(checkpoint, done):
        done -= 1
    begun = -1 if max(done, written) < 0 else min(begun, done + 1)
    _remove_after(checkpoint / "offsets", begun)
    _remove_after(checkpoint / "commits", done)
    if begun < 0:
        (checkpoint / "metadata").unlink(missing_ok=True)
        for folder in ("state", "offsets"):
            trees.remove(checkpoint / folder)
    if begun > max(done, 0):
        for batch in (begun - 1, begun):
            _add_partitions(checkpoint / "offsets" / str(batch), partitions)


def note_synced(checkpoint: StorePath) -> None:
    """Note that all of a checkpoint on a disk is synced, up to the newest batch that is done."""
    if isinstance(checkpoint, Path):
        durable.write(checkpoint / _SYNCED, json.dumps({"boot": durable.boot(), "batch": newest_commit(checkpoint)}))


def _may_be_torn(checkpoint: StorePath, batch: int) -> bool:
    """Whether the machine has gone down since a batch, and it is not known to be synced."""
    try:
        boot, synced = json_files.read(checkpoint / _SYNCED, lambda noted: (str(noted["boot"]), int(noted["batch"])))
    except FileNotFoundError:  # of an old run
        return False
    return boot != durable.boot() and batch > synced and isinstance(checkpoint, Path)


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
    """The newest batch that is done; -1 before the first. One whose entry is torn is not: it is repeated."""
    folder = checkpoint / "commits"
    newest = _newest(folder)
    return newest if newest < 0 or not _is_torn(folder / str(newest)) else newest - 1


def state_format(checkpoint: StorePath) -> str:
    """The version in which batches record their state: that of the newest one; 2 for a query that has done none.

    With 2 a batch names the files of its state, so a batch that is tried twice never goes on with half of each.
    """
    newest = newest_commit(checkpoint)
    if newest < 0:
        return "2"
    version, _, _ = _parts(checkpoint / "commits" / str(newest))
    return version.removeprefix("v")


def newest_begun(checkpoint: StorePath) -> int:
    """The newest batch whose offsets are recorded; -1 before the first. Torn ones of a batch that is not done are not.

    They are synced before anything of the batch is written.
    """
    folder = checkpoint / "offsets"
    newest = _newest(folder)
    is_open = newest > _newest(checkpoint / "commits")
    return newest - 1 if is_open and _is_torn(folder / str(newest)) else newest


def _remove_after(folder: StorePath, batch: int) -> None:
    for file in [*folder.glob("*"), *folder.glob(".*.crc")]:
        number = file.name.strip(".").removesuffix(".crc")
        if number.isdecimal() and int(number) > batch:
            file.unlink(missing_ok=True)


def _is_torn(file: StorePath) -> bool:
    try:
        _parts(file)
    except TornFile:
        return True
    return False


def _newest(folder: StorePath) -> int:
    """The newest batch in a folder of Spark's log; -1 without one."""
    return max((int(file.name) for file in folder.glob("[0-9]*") if file.name.isdecimal()), default=-1)


def _add_partitions(file: StorePath, partitions: str) -> None:
    version, fields, offsets = _parts(file)
    if PARTITIONS in fields.setdefault("conf", {}):
        return
    fields["conf"][PARTITIONS] = partitions
    # first: a file without a checksum is read unchecked
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    durable.write(file, "\n".join((version, json.dumps(fields, separators=(",", ":")), *offsets)))


def _parts(file: StorePath) -> tuple[str, dict[str, Any], Sequence[str]]:
    """The version of an entry of a log of Spark's, its metadata, and a line for each source."""
    data = file.read_bytes()
    with json_files.whole(file, data):
        version, metadata, *offsets = data.decode().split("\n")
        for line in offsets:
            if (offset := line.partition(":")[2]) != "-":
                json.loads(offset)
        fields = json.loads(metadata)
        if not isinstance(fields.get("conf", {}), dict):
            raise TypeError(fields["conf"])
        return version, fields, offsets
