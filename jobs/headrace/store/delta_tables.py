"""Delta tables by their path, wherever it is, without Spark.

deltalake and pyarrow are imported on first use: they take a while, and many a command asks only for a table's log.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from headrace.errors import TornFile, Unreadable
from headrace.store import durable
from headrace.store.commits import OF_VERSION, actions_of, put_entry
from headrace.store.json_files import RESTORE
from headrace.store.paths import ObjectPath, StorePath, reached

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

_DRAFT = ".checkpoint-"
_POINTER = "_last_checkpoint"


def is_table(path: StorePath) -> bool:
    """Whether anything was ever committed there."""
    if not (path / "_delta_log").is_dir():
        return False
    from deltalake import DeltaTable

    with reached(path):
        return DeltaTable.is_deltatable(str(path), _options(path))


def open_table(path: StorePath, version: int | None = None) -> DeltaTable:
    """Open a table; deltalake's TableNotFoundError if there is none, Unreadable if its log cannot be read."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        with reached(path):
            table = DeltaTable(str(path), version=version, storage_options=_options(path))
    except TableNotFoundError:
        raise
    except DeltaError as error:
        _refuse_torn(path)
        raise Unreadable(f"the table at {path} cannot be read: {' '.join(str(error).split())}") from None
    if isinstance(path, Path):
        _refuse_empty(path / "_delta_log" / f"{table.version():020}.json")
    return table


def _refuse_empty(entry: Path) -> None:
    """Refuse an entry of a log without content: deltalake takes it for a commit without rows."""
    if entry.is_file() and not entry.stat().st_size:
        raise TornFile(entry, True, RESTORE)


def _refuse_torn(path: StorePath) -> None:
    """Refuse the part of a table's log that a reader cannot read, if there is one; others may remove it meanwhile."""
    from headrace.store import parquet

    for file in _since_checkpoint(path / "_delta_log"):
        with suppress(FileNotFoundError):
            if file.name.endswith(".parquet"):
                parquet.rows_in(file)
            elif file.stem.isdecimal():  # checkpoints of newer forms are JSON as well
                actions_of(path, int(file.stem))


def id_of(path: StorePath) -> str:
    """A table's own id: a table that was dropped and made again has another."""
    return id_in_log(path) or str(open_table(path).metadata().id)


def id_in_log(path: StorePath) -> str | None:
    """A table's id by the first entry of its log; None if that entry is gone."""
    try:
        return next((str(each["metaData"]["id"]) for each in actions_of(path, 0) if "metaData" in each), None)
    except FileNotFoundError:
        return None


def create_table(path: StorePath, schema: Schema, configuration: Mapping[str, Any]) -> bool:
    """Create a table without rows; False if somebody else has created it meanwhile."""
    return put_entry(path, 0, [_info("CREATE TABLE"), *_described(schema, configuration)])


def change_table(path: StorePath, properties: Mapping[str, str], schema: Schema | None = None) -> None:
    """Give a table these properties, and the columns of a schema."""
    is_done = False
    while not is_done:
        table = open_table(path)
        stored = table.metadata()
        protocol, described = _described(schema or table.schema(), {**stored.configuration, **properties})
        former = {"id": stored.id, "name": stored.name, "description": stored.description}
        former |= {"partitionColumns": stored.partition_columns, "createdTime": stored.created_time}
        actions: list[Mapping[str, Any]] = [{"metaData": {**described["metaData"], **former}}]
        if protocol["protocol"]["minWriterVersion"] > table.protocol().min_writer_version:
            actions.insert(0, protocol)
        is_done = put_entry(path, table.version() + 1, [_info("ALTER TABLE"), *actions])


def create_checkpoint(path: StorePath) -> None:
    """Write a checkpoint of a table's newest version; a reader finds all of it or none.

    deltalake does not sync what it writes, so on a disk it works on links to the log, and what it has made is moved.
    """
    if isinstance(path, ObjectPath):
        open_table(path).create_checkpoint()
        return
    assert isinstance(path, Path)
    log = path / "_delta_log"
    with TemporaryDirectory(prefix=_DRAFT, dir=path) as folder:
        draft = Path(folder) / "_delta_log"
        draft.mkdir()
        for file in _since_checkpoint(log):
            os.link(log / file.name, draft / file.name)
        table = open_table(Path(folder))
        newest = draft / f"{table.version():020}.checkpoint.parquet"
        if newest.exists():
            return
        table.create_checkpoint()
        durable.write_bytes(log / newest.name, newest.read_bytes())
        durable.write_bytes(log / _POINTER, (draft / _POINTER).read_bytes())


def _since_checkpoint(log: StorePath) -> Iterator[StorePath]:
    """The newest checkpoint of a log, and all that was committed from there on."""
    files = [file for file in log.glob(OF_VERSION) if file.name.endswith((".json", ".parquet"))]
    newest = max((file.name[:20] for file in files if ".checkpoint." in file.name), default="")
    return (file for file in files if file.name[:20] >= newest)


def _described(schema: Schema, configuration: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The protocol and the metadata of a new table, as deltalake writes them."""
    from deltalake import DeltaTable

    with TemporaryDirectory(prefix="headrace-") as folder:
        DeltaTable.create(folder, schema, configuration=dict(configuration))
        found = {name: each for each in actions_of(Path(folder), 0) for name in each}
    return found["protocol"], found["metaData"]


def _info(operation: str) -> Mapping[str, Any]:
    fields = {"timestamp": int(time.time() * 1000), "operation": operation, "operationParameters": {}}
    return {"commitInfo": {**fields, "engineInfo": "headrace", "txnId": str(uuid.uuid4())}}


def _options(path: StorePath) -> dict[str, str] | None:
    return path.bucket.delta_options if isinstance(path, ObjectPath) else None
