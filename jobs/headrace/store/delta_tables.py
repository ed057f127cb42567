"""Delta tables by their path, wherever it is, without Spark.

deltalake is imported on first use: it takes a while, and many a command asks only whether there is a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.store.commits import actions_of
from headrace.store.paths import ObjectPath, StorePath, reached

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema


def is_table(path: StorePath) -> bool:
    """Whether anything was ever committed there."""
    if not (path / "_delta_log").is_dir():
        return False
    from deltalake import DeltaTable

    with reached(path):
        return DeltaTable.is_deltatable(str(path), _options(path))


def open_table(path: StorePath, version: int | None = None) -> DeltaTable:
    """Open a table; deltalake's TableNotFoundError if there is none."""
    from deltalake import DeltaTable

    with reached(path):
        return DeltaTable(str(path), version=version, storage_options=_options(path))


def id_of(path: StorePath) -> str:
    """A table's own id: a table that was dropped and made again has another."""
    return id_in_log(path) or str(open_table(path).metadata().id)


def id_in_log(path: StorePath) -> str | None:
    """A table's id by the first entry of its log; None if that entry is gone."""
    try:
        return next((str(each["metaData"]["id"]) for each in actions_of(path, 0) if "metaData" in each), None)
    except FileNotFoundError:
        return None


def create_table(path: StorePath, schema: Schema, configuration: Mapping[str, Any]) -> None:
    """Create a table without rows."""
    from deltalake import DeltaTable

    options = _options(path)
    with reached(path):
        DeltaTable.create(str(path), schema, configuration=dict(configuration), storage_options=options)


def _options(path: StorePath) -> dict[str, str] | None:
    return dict(path.bucket.options) if isinstance(path, ObjectPath) else None
