"""What tables take on disk under steady load, beside their rows as Parquet; a clock of its own makes it fast."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
from deltalake import Schema

from bench.grown import Grown
from bench.scenarios import Figures
from headrace.queries.storing import StoringTimes
from headrace.running.upkeep import CURRENT_ROWS, ROUND_SECONDS
from headrace.store.delta_tables import create_table
from headrace.store.maintenance.passes import Policy

_KEEP_HISTORY = 600.0
_ROWS = 100
"""Of a commit that appends."""

_COLUMNS = pa.schema(
    [("key", pa.string()), ("value", pa.string()), ("at", pa.timestamp("us", "UTC")), ("_batch", pa.int64())]
)
_PROPERTIES = {"delta.deletedFileRetentionDuration": "interval 1 hours"}


def disk(folder: Path, seconds: int) -> Figures:
    """So many seconds of a commit a second: rows that are appended, and the current rows of few and many keys."""
    found: Figures = {"seconds": seconds}
    with _clock() as clock:
        found |= _named("appended", _appended(_created(folder / "appended"), clock, seconds))
        for keys in (1_000, 10_000, 100_000):
            found |= _named(f"current_{keys}", _stored(_created(folder / f"current{keys}"), clock, seconds, keys))
    return found


class Clock:
    """Seconds since 1970, as set."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@contextmanager
def _clock() -> Iterator[Clock]:
    clock = Clock()
    with patch("time.time", clock), patch.object(os, "fsync", lambda file: None):
        yield clock


def _created(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    create_table(path, Schema.from_arrow(_COLUMNS), _PROPERTIES)
    return path


def _appended(path: Path, clock: Clock, seconds: int) -> Figures:
    """A landing, an append model, or a change log."""
    table, chance = Grown(path, Policy(_KEEP_HISTORY)), random.Random(1)
    return _measured(table, clock, seconds, lambda: table.append(_rows(chance, _ROWS), query="q", rows=_ROWS))


def _stored(path: Path, clock: Clock, seconds: int, keys: int) -> Figures:
    """The current rows of an upsert of which some change every second."""
    table = Grown(path, replace(CURRENT_ROWS, keep_history=_KEEP_HISTORY))
    rows, times = table.write(_rows(random.Random(1), keys)), StoringTimes(_KEEP_HISTORY, clock)

    def store() -> None:
        if times.is_due:
            with times.measured():
                name = f"batch-{table.newest}.parquet"
                os.link(path.parent / rows.name, path / name)
                table.replace(
                    replace(rows, name=name, modified=int(clock.now * 1000)), query="q", batch=table.batch + 1
                )
            times.bytes = rows.size

    (path / rows.name).rename(path.parent / rows.name)
    found = _measured(table, clock, seconds, store)
    (path.parent / rows.name).unlink()
    return found


def _measured(table: Grown, clock: Clock, seconds: int, commit: Callable[[], object]) -> Figures:
    """Let a table grow; its bytes on disk, and how many times its rows that is."""
    spent = 0.0
    for second in range(seconds):
        commit()
        clock.now += 1
        if (second + 1) % ROUND_SECONDS == 0:
            before = time.process_time()
            table.maintain()
            spent += time.process_time() - before
    rows, size = table.rows_bytes, table.bytes
    return {
        "rows_mb": round(rows / 1e6, 2),
        "disk_mb": round(size / 1e6, 2),
        "beyond_mb": round((size - rows) / 1e6, 2),
        "ratio": round(size / rows, 2),
        "files": table.files,
        "maintenance_ms_per_commit": round(1000 * spent / max(table.newest, 1), 2),
    }


def _rows(chance: random.Random, number: int) -> pa.Table:
    """Orders with two items: ids that are all different, texts that repeat themselves."""
    keys = [f"{chance.getrandbits(64):016x}" for _ in range(number)]
    items = '[{"id": 1, "name": "Iphone"}, {"id": 2, "name": "Samsung"}]'
    values = [f'{{"id": "{key}", "customer": {chance.randrange(10_000)}, "items": {items}}}' for key in keys]
    at = [int(time.time() * 1e6)] * number
    return pa.table([keys, values, pa.array(at, _COLUMNS.field("at").type), [0] * number], schema=_COLUMNS)


def _named(prefix: str, figures: Figures) -> Figures:
    return {f"{prefix}_{name}": value for name, value in figures.items()}
