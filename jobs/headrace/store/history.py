"""The history of a table: what is to be known of commits whose entries may have left its log.

It lies beside the log, in `_history/`, as a few Parquet files: a row for each commit, with its version, the bytes that
it added beside the feet of its files, and its marker without what only a replay of the newest batch needs. A reader
that is behind, or begins at the beginning, finds the old commits here, and their rows by the numbers of their batches.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import pyarrow as pa
from pyarrow import parquet

from headrace.store import durable, json_files
from headrace.store.commits import Commit, actions_of, commit_of, newest_version
from headrace.store.paths import StorePath

SEGMENTS = 10
"""From so many files on, they are made one."""

_LEFT_OUT = frozenset(("inputs", "offsets", "ids", "seeded"))
_SCHEMA = pa.schema([("version", pa.int64()), ("bytes", pa.int64()), ("marker", pa.string())])


class History:
    """The old commits of one table, as they are when first asked for."""

    def __init__(self, table: StorePath) -> None:
        self.folder = table / "_history"

    @property
    def upto(self) -> int:
        """The newest version that it holds; -1 if there is none."""
        return max((last for _, last in self._segments), default=-1)

    def find(self, version: int) -> Commit | None:
        """A commit of this version; None if it is not here."""
        return self._commits.get(version)

    def add(self, commits: Sequence[Commit], whole_markers: bool = False) -> History:
        """Store more commits, the next ones by version; return the history with them."""
        past = [each.as_past for each in commits]
        rows = [(each.version, each.bytes, json.dumps(_marker(each, whole_markers))) for each in past]
        self._write(rows)
        if len(self._segments) + 1 >= SEGMENTS:
            self._merge()
        return History(self.folder.parent)

    def _merge(self) -> None:
        segments = [*History(self.folder.parent)._segments]
        rows = chain.from_iterable(self._rows(segment) for segment in segments)
        self._write(sorted({version: (version, size, marker) for version, size, marker in rows}.values()))
        for segment in segments:
            self._file(segment).unlink()

    def _write(self, rows: Sequence[tuple[int, int, str]]) -> None:
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
        out = io.BytesIO()
        parquet.write_table(pa.table(columns, schema=_SCHEMA), out, compression="zstd")
        durable.write_bytes(self._file((rows[0][0], rows[-1][0])), out.getvalue())

    def _file(self, segment: tuple[int, int]) -> StorePath:
        return self.folder / f"{segment[0]:020}-{segment[1]:020}.parquet"

    def _rows(self, segment: tuple[int, int]) -> Iterable[tuple[int, int, str]]:
        file = self._file(segment)
        data = file.read_bytes()
        with json_files.whole(file, data):
            found = parquet.read_table(io.BytesIO(data), schema=_SCHEMA)
        return zip(*(column.to_pylist() for column in found.columns), strict=True)

    @cached_property
    def _segments(self) -> tuple[tuple[int, int], ...]:
        names = (file.stem.partition("-") for file in self.folder.glob("*-*.parquet"))
        return tuple(sorted((int(first), int(last)) for first, _, last in names))

    @cached_property
    def _commits(self) -> Mapping[int, Commit]:
        rows = chain.from_iterable(map(self._rows, self._segments))
        return {version: Commit(version, json.loads(marker), (), size, is_past=True) for version, size, marker in rows}


def commits_of(table: StorePath) -> Iterator[Commit]:
    """Every commit of a table, oldest first, from its log or its history."""
    past = History(table)
    for version in range(newest_version(table) + 1):
        try:
            yield commit_of(version, actions_of(table, version))
        except FileNotFoundError:
            if (found := past.find(version)) is not None:
                yield found


def _marker(commit: Commit, is_whole: bool) -> Mapping[str, object]:
    return {name: value for name, value in commit.marker.items() if is_whole or name not in _LEFT_OUT}
