"""A commit of maintenance: it takes some files out of a table, and may put others in their place."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from headrace.store import parquet
from headrace.store.commits import MARKER, UPKEEP, actions_of, newest_version, put_entry
from headrace.store.parquet import DataFile
from headrace.store.paths import StorePath
from headrace.store.removal.data_files import ActiveFile, Removals

ATTEMPTS = 20
"""How many versions others may take before a commit is given up."""


@dataclass(frozen=True)
class Rewrite:
    """Files that leave a table and those in their place, which have no other rows; `loses_rows` if they have fewer."""

    removed: Sequence[ActiveFile]
    added: Sequence[DataFile] = ()
    loses_rows: bool = False

    def actions(self, now: int) -> Iterator[Mapping[str, Any]]:
        """The entry of the log for it, at a time in milliseconds."""
        marker = json.dumps({MARKER: {UPKEEP: "retention" if self.loses_rows else "compaction"}})
        operation = "DELETE" if self.loses_rows else "OPTIMIZE"
        info = {"timestamp": now, "operation": operation, "operationParameters": {}, "userMetadata": marker}
        yield {"commitInfo": {**info, "txnId": uuid.uuid4().hex}}
        for each in self.removed:
            gone = {"path": each.name, "deletionTimestamp": now, "dataChange": self.loses_rows, "size": each.size}
            yield {"remove": gone}
        yield from (file.to_add(data_change=False) for file in self.added)

    def commit(self, path: StorePath, read: int) -> int | None:
        """Commit it to a table of which the removed files were read as of a version; return the version that does so.

        None if somebody has taken one of them since that version, as their rows would be there twice, or has changed
        columns or features.
        """
        actions = [*self.actions(int(time.time() * 1000))]
        names, first = frozenset(each.name for each in self.removed), newest_version(path) + 1
        if not all(_is_harmless(actions_of(path, version), names) for version in range(read + 1, first)):
            return None
        for version in range(first, first + ATTEMPTS):
            if put_entry(path, version, actions):
                return version
            if not _is_harmless(actions_of(path, version), names):
                return None
        return None


class Rewriter:
    """Rewrites the files of one table; what it takes out is noted before, so that none is forgotten."""

    def __init__(self, path: StorePath, removals: Removals) -> None:
        self.path = path
        self._removals = removals

    def rows(self, files: Iterable[ActiveFile]) -> pa.Table:
        """The rows of some files."""
        return parquet.joined([self.path / unquote(each.name) for each in files])

    def write(self, rows: pa.Table) -> DataFile:
        """Write rows to a file that is not in the table yet."""
        return parquet.write(self.path, f"compacted-{uuid.uuid4().hex}.parquet", rows)

    def commit(self, rewrite: Rewrite, read: int) -> bool:
        """Commit what was read as of a version; False if others were faster, and then nothing is left of it."""
        latest = newest_version(self.path) + 1 + ATTEMPTS
        self._removals.add([each.name for each in rewrite.removed], time.time(), latest)
        version = rewrite.commit(self.path, read)
        if version is None:
            for each in rewrite.added:
                (self.path / each.name).unlink()
            return False
        self._removals.made(version)
        return True


def _is_harmless(actions: Iterable[Mapping[str, Any]], files: Container[str]) -> bool:
    """Whether a commit has taken none of some files, and left columns and features as they were."""
    return not any(
        "metaData" in each or "protocol" in each or ("remove" in each and each["remove"]["path"] in files)
        for each in actions
    )
