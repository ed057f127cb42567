"""Keys stored in sorted Parquet files next to a table: a log-structured merge, read in small pieces.

A key is two 64-bit fingerprints. A file is a run: its keys sorted by the first, with a Bloom filter for each of its
row groups in a file next to it. A run that comes is merged with those before it that are at most twice its size, so
there are few, and a key is written few times. The manifest names the runs, and the batch before which they hold all
keys. It is written whole, after them: what it does not name is not there.

The files are an aid. Whatever is missing, torn or about something else is as if there were none.
"""

from __future__ import annotations

import io
import json
import uuid
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as files

from headrace.errors import TornFile
from headrace.store import durable, json_files, parquet
from headrace.store.paths import StorePath
from headrace.tables.closed_keys import bloom

Key = tuple[int, int]

SCHEMA = pa.schema([("h1", pa.int64()), ("h2", pa.int64())])

RUN_KEYS = 250_000
"""No merge makes a larger run, as a batch waits for it."""

GROUP_KEYS = 4_096
"""How many keys are read to look up one."""


@dataclass(frozen=True)
class Run:
    """A sorted file: its name, how many keys it has, the first fingerprint of each row group, its filters' checksum."""

    name: str
    keys: int
    firsts: tuple[int, ...]
    crc: int | None = None
    filters: bytes = field(default=b"", repr=False)

    def groups(self, key: Key) -> Iterator[int]:
        """The row groups in which a key may be."""
        first = max(bisect_left(self.firsts, key[0]) - 1, 0)
        for group in range(first, bisect_right(self.firsts, key[0])):
            keys = min(GROUP_KEYS, self.keys - group * GROUP_KEYS)
            if bloom.may_contain(self.filters, group * bloom.size(GROUP_KEYS), keys, key):
                yield group


class KeyRuns:
    """The runs in a folder; `about` says of what the keys are, and others than these are not read."""

    def __init__(self, folder: StorePath, about: Mapping[str, object]) -> None:
        self._folder = folder
        self._about = json.loads(json.dumps(about))
        self._runs: tuple[Run, ...] = ()

    @property
    def count(self) -> int:
        """How many keys are stored."""
        return sum(run.keys for run in self._runs)

    @property
    def files(self) -> list[StorePath]:
        """The files of all keys."""
        return [self._keys(run.name) for run in self._runs]

    def open(self, before_batch: int) -> int | None:
        """Read what is stored, and return the batch before which it holds all keys; None if it cannot be used."""
        self._runs = ()
        try:
            found = json.loads(self._manifest.read_text("utf-8"))
            if found["about"] != self._about or found["before"] > before_batch:
                return None
            runs = tuple(self._opened(**run) for run in found["runs"])
        except (OSError, TornFile, *json_files.UNREADABLE):
            return None
        self._runs = runs
        return int(found["before"])

    def add(self, keys: Iterable[pa.Table], before_batch: int) -> None:
        """Store more keys: now all of the batches before one are there."""
        runs = [*self._runs]
        for table in keys:
            if table.num_rows:
                runs.append(self._write(pa.concat_tables([table, *self._merged(runs, table.num_rows)])))
        self._save(runs, before_batch)

    def replace(self, keys: Iterable[pa.Table], before_batch: int) -> None:
        """Store keys in the place of all."""
        self._runs = ()
        self.add(keys, before_batch)

    def _merged(self, runs: list[Run], size: int) -> Iterator[pa.Table]:
        """Take those runs off the end that are merged with one of a size."""
        while runs and runs[-1].keys <= 2 * size and runs[-1].keys + size <= RUN_KEYS:
            size += runs[-1].keys
            yield parquet.joined([self._keys(runs.pop().name)])

    def found(self, asked: Iterable[Key]) -> set[Key]:
        """Those of some keys that are stored."""
        wanted = {*asked}
        return {key for run in self._runs for key in self._found_in(run, wanted)}

    def _found_in(self, run: Run, asked: set[Key]) -> set[Key]:
        groups = defaultdict[int, set[Key]](set)
        for key in asked:
            for group in run.groups(key):
                groups[group].add(key)
        if not groups:
            return set()
        rows = parquet.row_groups(self._keys(run.name), sorted(groups))
        firsts = pa.array({h1 for keys in groups.values() for h1, _ in keys}, pa.int64())
        near = rows.filter(pc.is_in(rows.column("h1"), firsts))
        return asked & {*pairs(near)}

    def _write(self, keys: pa.Table) -> Run:
        keys, name, out = keys.sort_by("h1"), uuid.uuid4().hex, io.BytesIO()
        files.write_table(keys, out, compression="none", use_dictionary=False, row_group_size=GROUP_KEYS)
        h1, h2 = (keys.column(each).combine_chunks() for each in SCHEMA.names)
        starts = range(0, len(h1), GROUP_KEYS)
        filters = bloom.filters_of(h1, h2, GROUP_KEYS)
        durable.write_bytes(self._keys(name), out.getvalue())
        durable.write_bytes(self._filters(name), filters)
        return Run(name, len(h1), tuple(h1[at].as_py() for at in starts), crc32(filters), filters)

    def _save(self, runs: Sequence[Run], before_batch: int) -> None:
        """Write the manifest, and remove what it does not name: the batch that has read it is over."""
        self._runs = tuple(runs)
        named = [{"name": run.name, "keys": run.keys, "firsts": run.firsts, "crc": run.crc} for run in runs]
        durable.write(self._manifest, json.dumps({"about": self._about, "before": before_batch, "runs": named}))
        kept = {run.name for run in runs}
        for file in self._folder.glob("*.*"):
            if file.name.endswith((".parquet", ".bloom")) and file.stem not in kept:
                file.unlink(missing_ok=True)

    def _opened(self, name: str, keys: int, firsts: Sequence[int], crc: int | None = None) -> Run:
        """A run that is whole; the filters of an old one have no checksum."""
        filters = self._filters(name).read_bytes()
        full, rest = divmod(keys, GROUP_KEYS)
        if (
            len(filters) != full * bloom.size(GROUP_KEYS) + bloom.size(rest)
            or crc not in (None, crc32(filters))
            or parquet.rows_in(self._keys(name)) != keys
        ):
            raise ValueError(f"{name}: it is torn")
        return Run(name, keys, tuple(firsts), crc, filters)

    def _keys(self, name: str) -> StorePath:
        return self._folder / f"{name}.parquet"

    def _filters(self, name: str) -> StorePath:
        return self._folder / f"{name}.bloom"

    @property
    def _manifest(self) -> StorePath:
        return self._folder / "manifest.json"


def pairs(keys: pa.Table) -> Iterable[Key]:
    """The keys of a table of two columns."""
    return zip(*(column.to_pylist() for column in keys.columns), strict=True)
