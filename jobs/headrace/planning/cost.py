"""What a rebuild costs: rows and bytes that would have to be read again, as the logs of the tables count them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.project import graph
from headrace.project.model import Project, Query
from headrace.store.delta_tables import is_table, open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath


@dataclass(frozen=True)
class Cost:
    """Rows and bytes of all that a query streams. No time: the rate of small batches says nothing about large ones."""

    rows: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {_size(self.bytes)} to read again"


def of(project: Project, layout: Layout, query: Query) -> Cost:
    """What resetting a query means."""
    rows = size = 0
    for path in set(_streamed(project, layout, query)):
        if is_table(path):
            table = open_table(path)
            rows += table.count()
            size += sum(table.get_add_actions().column("size_bytes").to_pylist())
    return Cost(rows, size)


def _streamed(project: Project, layout: Layout, query: Query) -> Iterator[StorePath]:
    known = graph.by_table(project.models)
    for model in query.models:
        for read in graph.reads(model, known):
            if not read.stream or (read.table in known and known[read.table].query == query.name):
                continue
            if read.table not in known:
                yield layout.landing(project.topic(read.table.split(".")[1])[0].name)
            elif known[read.table].materialized == "upsert":
                yield layout.changes(read.table)
            else:
                yield layout.table(read.table)


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
