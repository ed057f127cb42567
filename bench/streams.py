"""Models of Spark's streaming engine beside hand-written PySpark: the same SQL over the same landed rows."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from bench.scenarios import ROOT, Figures, rows_in
from headrace.checking import verdict
from headrace.landing.classify import classify
from headrace.landing.relations import bronze
from headrace.project import loader, selection
from headrace.project.model import LANDING_COLUMNS, Input, Landing, Project, Target
from headrace.queries.group import Group
from headrace.running import factory
from headrace.spark.binding import Binder
from headrace.spark.columns import landing_schema
from headrace.spark.session import child, start
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming.query import StreamedQuery
from headrace.tables.delta import CommitTable

Contestant = Callable[["Arena", Layout], StorePath]
"""Processes what has landed, and returns where its rows are."""
ROUNDS = 4
SALES = """
    select 'sales-events-v1' as topic, id as offset, timestamp_seconds(1767225600 + id div 100) as timestamp,
        concat('p', id % 1000) as key, to_json(named_struct('value', id % 3000)) as value
    from range({count})
"""
TRADE = """
    select if(id % 2 = 0, 'shop-orders', 'payments') as topic, id as offset,
        timestamp_seconds(1767225600 + id div 100) as timestamp, string(id div 2) as key,
        if(
            id % 2 = 0,
            to_json(named_struct('id', string(id div 2), 'customerId', id % 1000, 'state', 'CREATED',
                'product', 'JUMPERS', 'quantity', 1, 'price', 5)),
            to_json(named_struct('id', string(id), 'orderId', string(id div 2), 'ccy', 'EUR', 'amount', 5))
        ) as value
    from range({count})
"""


@dataclass(frozen=True)
class Arena:
    """One Spark with landed rows; each contestant of each round gets a copy of the data directory."""

    spark: SparkSession
    project: Project
    schemas: Mapping[str, StructType]
    table: str
    base: Layout

    def layout(self, name: str) -> Layout:
        """Another copy of what has landed."""
        folder = self.base.data_dir.with_name(f"{self.base.data_dir.name}-{name}")
        shutil.copytree(self.base.data_dir, folder)
        return Layout(folder)


def window(folder: Path, count: int) -> Figures:
    """Sales per minute: a tumbling window in append mode."""
    return _contest(folder / "window", "gold.sales_per_minute", SALES.format(count=count), count)


def join(folder: Path, count: int) -> Figures:
    """Orders and payments: an inner join of two streams within a time."""
    return _contest(folder / "join", "silver.payment_matches", TRADE.format(count=count), count)


def _contest(folder: Path, table: str, records: str, count: int) -> Figures:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arena = _arena(folder, table, records)
    try:
        (ours, rows), (theirs, same) = _rounds(arena)
    finally:
        arena.spark.stop()
    if rows != same:
        raise RuntimeError(f"{table}: {rows} rows, but {same} of the hand-written job")
    figures = {"records": count, "rows": rows, "headrace_cpu_s": ours, "handwritten_cpu_s": theirs}
    return {**figures, "ratio": round(ours / theirs, 2)}


def _arena(folder: Path, table: str, records: str) -> Arena:
    project = selection.narrowed(loader.load(ROOT, "local"), [f"+{table}"])
    spark = start(Target("bench", folder, spark_master="local[2]"), folder / "spark.log")
    base, schemas = Layout(folder / "data"), verdict.schemas(spark, project)
    for landing in project.landings:
        _land(spark, base, landing, records)
    for query in project.queries:
        query_run = factory.make(spark, project, base, query, schemas)
        query_run.create_tables()
        while isinstance(query_run, Group) and query_run.step(1 << 40):
            pass
    return Arena(spark, project, schemas, table, base)


def _land(spark: SparkSession, layout: Layout, landing: Landing, records: str) -> None:
    """The result of landing the records of a landing's topics, in one commit."""
    table = CommitTable(spark, layout.landing(landing.name), landing_schema())
    table.create()
    now = datetime.now(timezone.utc)
    found = spark.sql(records).where(F.col("topic").isin([topic.topic for topic in landing.topics]))
    found = found.withColumns({name: F.col(name).cast("binary") for name in ("key", "value")})
    found = found.selectExpr("*", "0 as partition", "0L as landing_batch")
    found = found.withColumn("headers", F.expr("cast(array() as array<struct<key: string, value: binary>>)"))
    judged = classify(found, landing.topics, now)
    rows = judged.select(*[F.col(name).cast(ddl).alias(name) for name, ddl in LANDING_COLUMNS])
    table.append(rows, {"query": landing.query, "batch": 0, "records": 1})


def _rounds(arena: Arena) -> list[tuple[float, int]]:
    """For each contestant, CPU-seconds of the JVM in its best round, and how many rows resulted.

    The first rounds compile, for later ones as well, so the contestants alternate.
    """
    jvm = psutil.Process(arena.spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    spent: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    tables: dict[str, StorePath] = {}
    for number in range(ROUNDS):
        for name, run in CONTESTANTS.items():
            layout, before, started = arena.layout(f"{name}-{number}"), sum(jvm.cpu_times()[:2]), time.time()
            tables[name] = run(arena, layout)
            spent[name].append(sum(jvm.cpu_times()[:2]) - before)
            print(f"  {name}: {spent[name][-1]:.1f} CPU-s, {time.time() - started:.1f} s", flush=True)
    return [(round(min(spent[name]), 2), rows_in(tables[name])) for name in CONTESTANTS]


def _headrace(arena: Arena, layout: Layout) -> StorePath:
    (query,) = (q for q in arena.project.queries if arena.table in {m.table for m in q.models})
    query_run = factory.make(arena.spark, arena.project, layout, query, arena.schemas)
    assert isinstance(query_run, StreamedQuery)
    query_run.start(available_now=True).awaitTermination()
    return layout.table(arena.table)


def _handwritten(arena: Arena, layout: Layout) -> StorePath:
    """The model's text over streams of Delta, and Spark's own Delta sink."""
    session = child(arena.spark, "handwritten", arena.project.macros)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    rows = Binder(session, arena.project, lambda ref: _streamed(session, arena, layout, ref)).run(
        arena.project.model(arena.table)
    )
    writer = rows.writeStream.format("delta").option("checkpointLocation", str(layout.data_dir / "checkpoint"))
    out = layout.data_dir / "out"
    writer.outputMode("append").trigger(availableNow=True).start(str(out)).awaitTermination()
    return out


def _streamed(session: SparkSession, arena: Arena, layout: Layout, ref: Input) -> DataFrame:
    stream = session.readStream.format("delta")
    if not ref.table.startswith("bronze."):
        return stream.load(str(layout.table(ref.table))).drop("_batch")
    landing, topic = arena.project.topic(ref.table.split(".")[1])
    return bronze(stream.load(str(layout.landing(landing.name))), topic)


CONTESTANTS: dict[str, Contestant] = {"headrace": _headrace, "handwritten": _handwritten}
