"""A runner that runs for long: what happens around it meanwhile, and how it ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests import duck
from tests.kafka import oracle, outcome
from tests.kafka.events import load, made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.kafka.stage import Stage
from tests.long import long
from tests.waiting import pause, wait_for

pytestmark = pytest.mark.kafka

STOPS_WITHIN = 30.0

STREAMED = "sales"
"""The landing that Spark's streaming engine reads: VACUUM must leave it the files that it has not read yet."""


def compact(table: DeltaTable) -> object:
    """OPTIMIZE."""
    return table.optimize.compact()


def vacuum(table: DeltaTable) -> object:
    """VACUUM, as if all that has been replaced were old enough."""
    return table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)


@pytest.fixture(scope="module")
def flow(stage: Stage) -> Iterator[ExitStack]:
    """Records that arrive continuously, until this is closed."""
    stage.create({ORDERS: 1, MANUFACTURED: 1, SALES: 2})
    with ExitStack() as flow:
        flow.enter_context(stage.sending(load(seed=2)))
        yield flow


@pytest.fixture(scope="module")
def live(stage: Stage, flow: ExitStack) -> Iterator[Runner]:
    """A started runner."""
    with stage.runner() as runner:
        runner.heard(" published .*query=publish_shipment_ready ")
        yield runner


def test_second_runner_is_refused(live: Runner, stage: Stage) -> None:
    refused = stage.call("run")
    assert (refused.returncode, f"pid {live.process.pid} " in refused.stderr) == (3, True)


def test_new_partitions_are_read(live: Runner, stage: Stage) -> None:
    stage.widen(ORDERS, 4)
    stage.widen(MANUFACTURED, 3)
    names = [f"wide-{number}" for number in range(20)]
    stage.send([event for name in names for event in (order(name, 1), made(name, 1))])
    assert {record.partition for record in stage.acked if record.topic == ORDERS} == {0, 1, 2, 3}
    wait_for(lambda: {record.key for record in stage.committed("shipping")} >= {*names}, "orders of new partitions")


@pytest.mark.parametrize("seconds", [float(os.environ.get("HEADRACE_TEST_OUTAGE", 20))])
def test_outage_of_the_broker_needs_no_hand(live: Runner, stage: Stage, seconds: float) -> None:
    stage.broker.stop()
    pause(seconds)
    stage.broker.start(daemon=False)
    stage.send([sale("after the outage", 5000)])
    wait_for(
        lambda: "after the outage" in {record.key for record in stage.committed("notifications-events-v1")},
        "the sale after the outage",
        details=lambda: live.output,
    )
    assert (live.process.poll(), live.count("^[^ ]+ failed ")) == (None, 0)


@pytest.mark.parametrize("seconds", [long(15), long(150)])
def test_broker_that_hangs_needs_no_hand(live: Runner, stage: Stage, seconds: float) -> None:
    """Its connections stay open, so what asks it waits until a time-out: of 10 s, and of 60 s for a transaction."""
    broker = psutil.Process(stage.broker.status().pid)
    broker.suspend()
    pause(seconds)
    broker.resume()
    name = f"after {seconds} s"
    stage.send([sale(name, 5000)])
    wait_for(
        lambda: name in {record.key for record in stage.committed("notifications-events-v1")},
        "the sale after the pause",
        details=lambda: live.output,
    )
    assert (live.process.poll(), live.count("^[^ ]+ failed ")) == (None, 0)


@pytest.mark.parametrize("work", [compact, vacuum])
def test_work_on_files_by_another_tool_is_followed(
    live: Runner, stage: Stage, work: Callable[[DeltaTable], object]
) -> None:
    """While all is written to; the last test here looks at the rows."""
    assert len(tables(stage)) > 5
    for table in tables(stage):
        if work is compact or table.name != STREAMED:
            work(DeltaTable(table))
    stage.send([sale(work.__name__, 5000)])
    wait_for(
        lambda: work.__name__ in {record.key for record in stage.committed("notifications-events-v1")},
        "the sale after it",
        details=lambda: live.output,
    )
    assert live.count("^[^ ]+ failed ") == 0


def by_deltalake(table: Path, spark: SparkSession) -> list[Mapping[str, Any]]:
    return DeltaTable(table).to_pyarrow_table().to_pylist()


def by_spark(table: Path, spark: SparkSession) -> list[Mapping[str, Any]]:
    return [row.asDict() for row in spark.read.format("delta").load(str(table)).collect()]


def by_duckdb(table: Path, spark: SparkSession) -> list[Mapping[str, Any]]:
    return duck.rows(table)


@pytest.mark.parametrize("read", [by_deltalake, by_duckdb, long(by_spark)])
def test_other_tools_read_every_table_while_it_is_written(
    live: Runner, stage: Stage, read: Callable[[Path, SparkSession], list[Mapping[str, Any]]]
) -> None:
    """A row for each key of an upsert, and no row of an append twice; what is written meanwhile is more than that."""
    upserts = [path for path in tables(stage) if path.name in {"open_orders", "sales_totals"}]
    wait_for(lambda: all(by_deltalake(path, stage.spark) for path in upserts), "current rows, which are stored seldom")
    written = {path: DeltaTable(path).version() for path in tables(stage)}
    found = {path.name: read(path, stage.spark) for path in written}
    for name, key in (("open_orders", "order_id"), ("sales_totals", "product"), ("shipment_ready", "order_id")):
        keys = [row[key] for row in found[name]]
        assert keys and len(keys) == len({*keys}), name
    wait_for(lambda: any(DeltaTable(path).version() > version for path, version in written.items()), "a commit")


def tables(stage: Stage) -> list[Path]:
    return [log.parent for log in sorted(stage.data_dir.glob("tables/*/*/_delta_log"))]


@pytest.mark.long
def test_minute_is_reported_when_nothing_comes_any_more(live: Runner, stage: Stage, flow: ExitStack) -> None:
    flow.close()
    stage.send([sale("idle", 7)], timestamp=last_of_its_minute())
    wait_for(
        lambda: "idle" in {row["product"] for row in stage.rows("gold.sales_per_minute")},
        "the minute of the sale",
        every=1,
        details=lambda: live.output,
    )


def last_of_its_minute() -> int:
    """A time newer than all others, in milliseconds."""
    return (int(time.time()) // 60 * 60 + 4 * 60 - 1) * 1000


def test_sigterm_stops_cleanly(live: Runner, stage: Stage) -> None:
    family = [live.process.pid, *(child.pid for child in psutil.Process(live.process.pid).children(recursive=True))]
    started = time.monotonic()
    assert (live.stop(signal.SIGTERM), live.count(" stopped$")) == (143, 1)
    assert time.monotonic() - started < STOPS_WITHIN
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in family), "the end of all processes", STOPS_WITHIN)
    assert "slow_stop" not in live.output


def test_all_of_it_was_processed_once(stage: Stage, flow: ExitStack) -> None:
    flow.close()
    stage.send([sale("closing", 1)], timestamp=last_of_its_minute() + 3 * oracle.MINUTE_MS)
    stage.process_all()
    assert outcome.found(stage) == outcome.expected(stage.acked)
