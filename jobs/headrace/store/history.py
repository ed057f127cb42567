"""The history of a table: what is to be known of commits whose entries may have left its log.

It lies next to the log, in `_history/`, as a few Parquet files: a row for each commit, with its version, the bytes that
it added without the footers of its files, and its marker without what only a replay of the newest batch needs. A reader
that is behind, or begins at the beginning, finds the old commits here, and their rows by the numbers of their batches.

Each file, a segment, holds neighbouring commits. Small ones are made one until it is large; a large one stays as it is.
So neither a reader nor the one who adds commits ever has more than a segment in memory, however old the table is.
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
from headrace.store.commits import VERSION, Commit, actions_of, commit_of, newest_version, oldest_version
from headrace.store.paths import StorePath

SEGMENTS = 10
"""With this many small segments, they are merged."""

LARGE = 10_000
"""A segment of this many commits stays as it is."""

_LEFT_OUT = frozenset(("inputs", "offsets", "ids", "seeded"))
_SCHEMA = pa.schema([("version", pa.int64()), ("bytes", pa.int64()), ("marker", pa.string())])

Segment = tuple[int, int]
"""The first and the last version of a file."""

Row = tuple[int, int, str]
"""A version, its bytes, and its marker as JSON."""


class History:
    """The old commits of one table, up to the newest one when it is first asked for."""

    def __init__(self, table: StorePath) -> None:
        self.folder = table / "_history"
        self._read: tuple[Segment, Mapping[int, Commit]] | None = None

    @property
    def upto(self) -> int:
        """The newest version that it holds; -1 if there is none."""
        return max((last for _, last in self._segments), default=-1)

    def find(self, version: int) -> Commit | None:
        """A commit of this version; None if it is not here."""
        try:
            return self._find(version)
        except FileNotFoundError:  # its segment has become part of a larger one
            self.__dict__.pop("_segments", None)
            return self._find(version)

    def _find(self, version: int) -> Commit | None:
        read = self._read
        if read is not None and version in read[1]:
            return read[1][version]
        holding = (self._commits(each) for each in self._segments if each[0] <= version <= each[1])
        return next((found[version] for found in holding if version in found), None)

    def _commits(self, segment: Segment) -> Mapping[int, Commit]:
        """The commits of a segment; the last one that was read stays in memory, as readers go from one to the next."""
        found = {
            version: Commit(version, json.loads(marker), (), size, is_past=True)
            for version, size, marker in self._rows(segment)
        }
        self._read = (segment, found)
        return found

    def add(self, commits: Sequence[Commit], whole_markers: bool = False) -> History:
        """Store more commits, the next ones by version; return the history with them."""
        past = [each.as_past for each in commits]
        rows = [(each.version, each.bytes, json.dumps(_marker(each, whole_markers))) for each in past]
        self._write(rows)
        History(self.folder.parent)._merge()
        return History(self.folder.parent)

    def _merge(self) -> None:
        small = [each for each in self._segments if each[1] - each[0] < LARGE - 1]
        if len(small) < SEGMENTS:
            return
        rows = chain.from_iterable(self._rows(segment) for segment in small)
        written = self._write(sorted({row[0]: row for row in rows}.values()))
        for segment in set(small) - written:
            self._file(segment).unlink()

    def _write(self, rows: Sequence[Row]) -> set[Segment]:
        """Store commits, in segments of at most `LARGE`; return these."""
        parts = [rows[at : at + LARGE] for at in range(0, len(rows), LARGE)]
        for part in parts:
            self._write_segment(part)
        return {(part[0][0], part[-1][0]) for part in parts}

    def _write_segment(self, rows: Sequence[Row]) -> None:
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
        out = io.BytesIO()
        parquet.write_table(pa.table(columns, schema=_SCHEMA), out, compression="zstd")
        durable.write_bytes(self._file((rows[0][0], rows[-1][0])), out.getvalue())

    def _file(self, segment: Segment) -> StorePath:
        return self.folder / f"{segment[0]:020}-{segment[1]:020}.parquet"

    def _rows(self, segment: Segment) -> Iterable[Row]:
        file = self._file(segment)
        data = file.read_bytes()
        with json_files.whole(file, data):
            found = parquet.read_table(io.BytesIO(data), schema=_SCHEMA)
        return zip(*(column.to_pylist() for column in found.columns), strict=True)

    @cached_property
    def _segments(self) -> tuple[Segment, ...]:
        names = (file.stem.partition("-") for file in self.folder.glob(f"{VERSION}-{VERSION}.parquet"))
        return tuple(sorted((int(first), int(last)) for first, _, last in names))


def commits_of(table: StorePath, after: int = -1) -> Iterator[Commit]:
    """Every commit of a table after a version, oldest first, from its log or its history."""
    past = History(table)
    for version in range(after + 1, newest_version(table) + 1):
        try:
            yield commit_of(version, actions_of(table, version))
        except FileNotFoundError:
            if (found := past.find(version)) is not None:
                yield found


def batch_before(table: StorePath, version: int) -> int:
    """The newest batch of the versions before one; -1 if there is none."""
    oldest, past = oldest_version(table), History(table)
    for each in range(version - 1, -1, -1):
        found = commit_of(each, actions_of(table, each)) if each >= oldest else past.find(each)
        if found is not None and found.batch >= 0:
            return found.batch
    return -1


def _marker(commit: Commit, is_whole: bool) -> Mapping[str, object]:
    return {name: value for name, value in commit.marker.items() if is_whole or name not in _LEFT_OUT}
