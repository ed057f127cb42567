"""The checksum of a table's version (Delta protocol, "Version Checksum File"): it saves readers from replaying the log.

Without it, Spark reads every entry of the log since the last checkpoint for the columns of a table, in a job, for
each new version of the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltalake import DeltaTable

_WRITER_VERSION = 2
_FORMAT = {"provider": "parquet", "options": {}}


@dataclass(frozen=True)
class Checksum:
    """How many files a version has, their bytes, and the table's metadata and protocol."""

    files: int
    bytes: int
    metadata: Mapping[str, Any]
    protocol: Mapping[str, Any]

    @classmethod
    def of(cls, table: DeltaTable, version: int) -> Checksum | None:
        """The checksum of a version that is loaded; None if it is another, or the table has features."""
        if table.version() != version or table.protocol().min_writer_version > _WRITER_VERSION:
            return None
        added, stored, protocol = table.get_add_actions(), table.metadata(), table.protocol()
        sizes = added.column("size_bytes").to_pylist()
        metadata = {
            "id": stored.id,
            "format": _FORMAT,
            "schemaString": table.schema().to_json(),
            "partitionColumns": stored.partition_columns,
            "configuration": stored.configuration,
            "createdTime": stored.created_time,
        }
        versions = {"minReaderVersion": protocol.min_reader_version, "minWriterVersion": protocol.min_writer_version}
        return cls(len(sizes), sum(sizes), metadata, versions)

    def after(self, actions: Iterable[Mapping[str, Any]]) -> Checksum:
        """The checksum of the version that a commit makes; it adds and removes files and nothing else."""
        found = self
        for action in actions:
            for sign, kind in ((1, "add"), (-1, "remove")):
                if kind in action:
                    size = int(action[kind]["size"])
                    found = replace(found, files=found.files + sign, bytes=found.bytes + sign * size)
        return found

    def to_json(self) -> str:
        """The content of the file."""
        counts = {"tableSizeBytes": self.bytes, "numFiles": self.files, "numMetadata": 1, "numProtocol": 1}
        return json.dumps({**counts, "metadata": dict(self.metadata), "protocol": dict(self.protocol)})
