"""Batches that were skipped because they could not run: a note for each, stored with its query's progress."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headrace.store import durable, json_files
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

_FORGOTTEN = "remove it: it only says that a batch was skipped"


@dataclass(frozen=True)
class Skip:
    """A micro-batch of a query that was not run to its end, when that was decided, and what it would have read.

    `ranges` are the versions (after, up to] of each source, `rows` the rows that these hold. `written` are the tables
    that have the rows of this batch all the same.
    """

    query: str
    batch: int
    at: str
    ranges: Mapping[str, tuple[int, int]]
    rows: int
    written: tuple[str, ...] = ()

    def __str__(self) -> str:
        read = ", ".join(
            f"{name} {after + 1}" + (f" to {upto}" if upto > after + 1 else "")
            for name, (after, upto) in self.ranges.items()
            if upto > after
        )
        kept = f"; already in {', '.join(self.written)}" if self.written else ""
        return f"{self.query} has skipped batch {self.batch}: {self.rows} rows, versions {read or 'none'}{kept}"


def note(layout: Layout, skip: Skip) -> None:
    """Write down that a batch is skipped; to say so again changes nothing."""
    file = _folder(layout, skip.query) / f"{skip.batch}.json"
    if not file.is_file():
        durable.write_new(file, json.dumps(asdict(skip)))


def forget(layout: Layout, query: str, batch: int) -> None:
    """Remove the note of a batch that runs again: whoever was about to skip it died before that was done."""
    (_folder(layout, query) / f"{batch}.json").unlink(missing_ok=True)


def noted(layout: Layout, queries: Iterable[str]) -> Iterator[Skip]:
    """All batches of some queries that were skipped, in order."""
    for query in queries:
        files = [file for file in _folder(layout, query).glob("*.json") if file.stem.isdecimal()]
        files.sort(key=lambda file: int(file.stem))
        yield from (json_files.read(file, _skip, _FORGOTTEN) for file in files)


def _skip(data: Mapping[str, Any]) -> Skip:
    ranges = {name: (after, upto) for name, (after, upto) in data["ranges"].items()}
    return Skip(data["query"], data["batch"], data["at"], ranges, data["rows"], tuple(data["written"]))


def _folder(layout: Layout, query: str) -> StorePath:
    return layout.checkpoint(query) / "skipped"
