"""What a rebuild costs: rows and bytes that would have to be read again, and the time at the last rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.project import graph
from headrace.project.model import Project, Query
from headrace.reading.status import read_status
from headrace.store.delta_tables import is_table, open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath


@dataclass(frozen=True)
class Cost:
    """Rows and bytes of all that a query streams; `seconds` is None where no rate is known."""

    rows: int
    bytes: int
    seconds: float | None = None

    def __str__(self) -> str:
        time = f", about {_time(self.seconds)} at the last rate" if self.seconds is not None else ""
        return f"{self.rows} rows, {_size(self.bytes)} to read again{time}"


def of(project: Project, layout: Layout, query: Query) -> Cost:
    """What resetting a query means."""
    rows = size = 0
    for path in set(_streamed(project, layout, query)):
        if is_table(path):
            table = open_table(path)
            rows += table.count()
            size += sum(table.get_add_actions().column("size_bytes").to_pylist())
    rates = {one.name: one.rows_per_second for one in read_status(project, layout).queries}
    rate = rates.get(query.name, 0.0)
    return Cost(rows, size, rows / rate if rate > 0 else None)


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


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
