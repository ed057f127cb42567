"""A table after many commits: its log, its files, and what one more commit costs, beside the same when it was young."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
from deltalake import Schema
from pyspark.sql import SparkSession

from bench.scenarios import Figures
from headrace.project.model import Target
from headrace.spark import session
from headrace.spark.implementations import small_batches
from headrace.store import parquet
from headrace.store.commits import MARKER, entry_path, newest_version
from headrace.store.delta_tables import create_table
from headrace.store.maintenance.passes import WORTH, Maintenance, Policy
from headrace.tables.delta import CommitTable

_COLUMNS = pa.schema([("id", pa.string()), ("_batch", pa.int64())])
_YOUNG, _MEASURED = 100, 40


def history(folder: Path, commits: int) -> Figures:
    """Commits are made by hand until they are so many; maintenance works as it does in a run, but keeps nothing."""
    young, path = (_created(folder / name) for name in ("young", "old"))
    _grow(young, _YOUNG)
    spent = _grow(path, commits)
    with session.start(Target("bench", folder)) as spark:
        seconds = _commit_seconds(spark, young, path)
    log = [file.stat().st_size for file in (path / "_delta_log").iterdir()]
    return {
        "commits": commits,
        "log_bytes": sum(log),
        "files": len(log) + sum(1 for file in path.rglob("*.parquet") if "_delta_log" not in file.parts),
        "history_bytes": sum(file.stat().st_size for file in (path / "_history").iterdir()),
        "maintenance_ms_per_commit": round(1000 * spent / commits, 2),
        "commit_ms_young": round(1000 * seconds[young], 1),
        "commit_ms_old": round(1000 * seconds[path], 1),
    }


def _created(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    create_table(path, Schema.from_arrow(_COLUMNS), {"delta.deletedFileRetentionDuration": "interval 1 hours"})
    return path


def _grow(path: Path, commits: int) -> float:
    """Make commits up to a number; return the seconds of maintenance."""
    work, spent, first = Maintenance(path, Policy(keep_history=0.0)), 0.0, newest_version(path) + 1
    one = parquet.write(path.parent, "one.parquet", pa.table([["x"], [0]], schema=_COLUMNS))
    for version in range(first, commits + 1):
        if not entry_path(path, version).exists():
            _commit(path, version, one)
        if version % WORTH == 0:
            started = time.perf_counter()
            work.step()
            spent += time.perf_counter() - started
    return spent


def _commit(path: Path, version: int, one: parquet.DataFile) -> None:
    name = f"batch-{version}.parquet"
    os.link(path.parent / one.name, path / name)
    add = parquet.DataFile(name, one.size, one.modified, 1).of_batch("_batch", version).to_add()
    marker = {MARKER: {"query": "grown", "batch": version, "rows": 1}}
    info = {"timestamp": 0, "operation": "WRITE", "userMetadata": json.dumps(marker)}
    entry_path(path, version).write_text(f"{json.dumps({'commitInfo': info})}\n{json.dumps(add)}\n")


def _commit_seconds(spark: SparkSession, *paths: Path) -> dict[Path, float]:
    """What the middle one of some commits takes; they take turns, as a machine has faster and slower minutes."""
    tables = {path: CommitTable.stored(spark, path) for path in paths}
    batches, found = small_batches(session.child(spark, "bench")), {path: list[float]() for path in paths}
    for number in range(_MEASURED):
        for path, table in tables.items():
            assert table is not None
            batches.begin(number, 1)
            rows = batches.fill("rows", [("x", number)], table.schema)
            started = time.perf_counter()
            table.append(rows, {"query": "measured", "batch": number, "rows": 1})
            found[path].append(time.perf_counter() - started)
    return {path: median(each[_MEASURED // 2 :]) for path, each in found.items()}
