"""The measurements: latency, backlog, idle and state; each returns plain figures."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from deltalake import DeltaTable, QueryBuilder

from bench import load
from bench.process import Job, job, wait_for
from headrace.environment.broker import Broker
from headrace.project.model import Kafka
from headrace.reading.topics import ensure
from headrace.store.paths import StorePath

Figures = dict[str, Any]
Times = dict[str, float]
"""When something was sent or seen, by order id."""
ROOT = Path(__file__).parent.parent
TOPICS = dict.fromkeys(
    (
        *("orders", "manufactured", "shipping", "sales-events-v1", "notifications-events-v1"),
        *("analyticsTopic", "metricsTopic", "shop-orders", "payments", "customers", "warehouse-inventory"),
        *("validation-rules", "order-validations-external", "order-validations", "logs", "products"),
    ),
    1,
)
STEP = 100_000
"""Orders generated at a time: a million of them, with their records, need not be in memory."""
FIRST_TWO = ("--select", "shipping", "--select", "sales")


@dataclass(frozen=True)
class Contestant:
    """A job to measure: its command (for a broker and a folder) and where its shipments land."""

    name: str
    table: str

    def command(self, bootstrap: str, folder: Path, chosen: Sequence[str], project: Path) -> list[str]:
        if self.name == "handwritten":
            return ["-m", "bench.handwritten", bootstrap, str(folder)]
        return ["-m", "headrace", "-C", str(project), "-t", "local", "run", *chosen]


HEADRACE = Contestant("headrace", "tables/gold/shipment_ready")
HANDWRITTEN = Contestant("handwritten", "shipment_ready")


@contextmanager
def stage(folder: Path) -> Iterator[str]:
    """A fresh broker with the topics, for one measurement."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Broker(folder / "broker").running() as state:
        ensure(Kafka(str(state.bootstrap), {}, True), TOPICS)
        yield str(state.bootstrap)


@contextmanager
def contest(
    one: Contestant,
    bootstrap: str,
    folder: Path,
    chosen: Sequence[str] = ("--select", "shipping"),
    project: Path = ROOT,
) -> Iterator[Job]:
    """The job of a contestant, started and ready; `chosen` is which queries headrace runs of a project."""
    data = folder / one.name
    data.mkdir()
    variables = environment(bootstrap, data)
    if one == HEADRACE:
        _check(project, variables)
    with job(one.command(bootstrap, data, chosen, project), data, variables) as running:
        wait_for(lambda: running.has_logged("started"), f"the start of {one.name}")
        yield running


def environment(bootstrap: str, data: Path) -> dict[str, str]:
    """What a job finds in its environment: its broker, its folder, and the code."""
    path = f"{ROOT}:{ROOT / 'jobs'}"
    return {"HEADRACE_KAFKA_BOOTSTRAP": bootstrap, "HEADRACE_DATA_DIR": str(data), "PYTHONPATH": path}


def _check(project: Path, environment: dict[str, str]) -> None:
    """Check a project, as its analyst has before: Spark's verdict is then cached, and not part of what is measured."""
    command = [sys.executable, "-m", "headrace", "-C", str(project), "-t", "local", "check"]
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, timeout=300)


def shipped(one: Contestant, folder: Path) -> int:
    """How many orders a contestant has shipped, in Delta."""
    return rows_in(folder / one.name / one.table)


def rows_in(path: StorePath, condition: str = "true") -> int:
    """How many rows of a Delta table hold true; none while it does not exist."""
    if not DeltaTable.is_deltatable(str(path)):
        return 0
    table = DeltaTable(str(path))
    rows = QueryBuilder().register("t", table).execute(f"select count(*) as n from t where {condition}").read_all()
    return int(rows["n"][0].as_py())


def backlog(folder: Path, orders: int, one: Contestant) -> Figures:
    """CPU and wall time from start to all orders shipped, everything being in Kafka before."""
    with stage(folder) as bootstrap:
        found = load.backlog(orders)
        load.send_all(bootstrap, found)
        with contest(one, bootstrap, folder) as running:
            return worked_off(running, "events", len(found), lambda: shipped(one, folder) >= orders)


def repeated(measure: Callable[[], Figures]) -> Figures:
    """The figures of a second run, each with its own data, and the CPU of the first.

    Code that Spark generates is compiled by the first run that needs it, and cached: the second run is the usual case.
    """
    first = measure()
    return {**measure(), "first_run_jvm_cpu_s": first["jvm_cpu_s"]}


def worked_off(running: Job, what: str, number: int, is_done: Callable[[], bool]) -> Figures:
    """The cost of a job until a backlog is done: CPU from its very start, time from when it is ready."""
    started, begun = time.time(), running.cpu()
    wait_for(lambda: bool(running.cpu()) and is_done(), f"the last of the {what}", 3000)
    cpu = running.cpu()
    return {
        what: number,
        "wall_s": round(time.time() - started, 1),
        "jvm_cpu_s": round(cpu, 1),
        "of_it_start_cpu_s": round(begun, 1),
        f"{what}_per_cpu_s": round(number / cpu),
        f"{what}_per_cpu_s_after_start": round(number / (cpu - begun)),
        "peak_mib": running.peak_bytes >> 20,
    }


def latency(folder: Path, seconds: float, per_second: float = 1.0) -> Figures:
    """From the last contributing record of an order to its row in Delta, and to a read_committed consumer."""
    with stage(folder) as bootstrap, contest(HEADRACE, bootstrap, folder) as running:
        for _ in load.paced(bootstrap, 30):  # figures of a JVM that has just started mean little
            pass
        wait_for(lambda: shipped(HEADRACE, folder) >= 30, "the warm-up")
        before = running.cpu()
        sent, seen_delta, seen_kafka = _watched(bootstrap, folder, seconds, per_second)
        cpu = (running.cpu() - before) / seconds
        delta = sorted(seen_delta[i] - at for i, at in sent.items())
        kafka = sorted(seen_kafka[i] - at for i, at in sent.items())
        figures = {**_percentiles("delta", delta), **_percentiles("kafka", kafka)}
        return {**figures, "jvm_cpu_per_s": round(cpu, 2), "peak_mib": running.peak_bytes >> 20}


def idle(folder: Path, seconds: float) -> Figures:
    """CPU-seconds per second with shipping and sales running and nothing to do."""
    with (
        stage(folder) as bootstrap,
        contest(HEADRACE, bootstrap, folder, FIRST_TWO) as running,
    ):
        for _ in load.paced(bootstrap, 20):
            pass
        wait_for(lambda: shipped(HEADRACE, folder) >= 20, "the warm-up")
        time.sleep(10)
        before, started = running.cpu(), time.time()
        time.sleep(seconds)
        used = (running.cpu() - before) / (time.time() - started)
        return {"jvm_cpu_per_s": round(used, 3), "peak_mib": running.peak_bytes >> 20}


def state(folder: Path, orders: int) -> Figures:
    """Time of small batches after few and after many finished orders: two jobs in parallel, in one minute."""
    few, many = orders // 100, orders
    with _finished(folder / "many", many) as after_many, _finished(folder / "few", few) as after_few:
        times = _small_batches([after_few, after_many])
        figures = {f"batch_s_after_{number}": median for number, median in zip((few, many), times, strict=True)}
        return {**figures, "growth": round(times[1] / times[0], 2), "peak_mib": after_many[1].peak_bytes >> 20}


@contextmanager
def _finished(folder: Path, orders: int) -> Iterator[tuple[str, Job]]:
    """A broker and a job that has shipped so many orders."""
    with stage(folder) as bootstrap, contest(HEADRACE, bootstrap, folder) as running:
        for at in range(0, orders, STEP):
            step = range(at, min(at + STEP, orders))
            load.send_all(bootstrap, [message for n in step for message in load.messages(f"f{n:08d}")])
        wait_for(lambda: bool(running.cpu()) and shipped(HEADRACE, folder) >= orders, f"{orders} orders", deadline=3000)
        yield bootstrap, running


def _small_batches(places: Sequence[tuple[str, Job]]) -> list[float]:
    """Median time of each job's batch of one order, in seconds, in the second half of a minute."""
    skips = [len(running.log.read_text()) for _, running in places]
    for _ in zip(*(load.paced(bootstrap, 60) for bootstrap, _ in places), strict=True):
        for _, running in places:
            running.cpu()
    return [_median(running.log.read_text()[skip:]) for (_, running), skip in zip(places, skips, strict=True)]


def _median(log: str) -> float:
    lines = [line for line in log.splitlines() if " batch " in line and "query=shipping" in line]
    return round(statistics.median(float(line.rsplit("s=", 1)[1]) for line in lines[-30:]), 3)


def _watched(bootstrap: str, folder: Path, seconds: float, per_second: float) -> tuple[Times, Times, Times]:
    """Send so many orders a second for `seconds`, and note when each order is seen in Delta and in Kafka."""
    settings = {"group.id": "bench", "isolation.level": "read_committed", "auto.offset.reset": "latest"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.subscribe(["shipping"])
    consumer.poll(5)
    sent: Times = {}
    kafka: Times = {}
    delta: Times = {}
    rows = DeltaRows(folder / HEADRACE.name / HEADRACE.table)
    source = load.paced(bootstrap, seconds, per_second)
    feeder = _Feeder(source, sent)
    feeder.start()
    until = time.time() + seconds + 60
    while time.time() < until and (feeder.is_alive() or not (sent.keys() <= kafka.keys() & delta.keys())):
        message = consumer.poll(0.02)
        if message is not None and not message.error():
            kafka.setdefault((message.key() or b"").decode(), time.time())
        for order_id in rows.new():
            delta.setdefault(order_id, time.time())
    consumer.close()
    return sent, delta, kafka


class DeltaRows:
    """New values of a table's column, from the batches that each new commit adds."""

    def __init__(self, path: Path, column: str = "order_id") -> None:
        self._path, self._column = path, column
        self._version = DeltaTable(str(path)).version()

    def new(self) -> list[str]:
        found: list[str] = []
        while (log := self._path / "_delta_log" / f"{self._version + 1:020d}.json").exists():
            self._version += 1
            table = DeltaTable(str(self._path), version=self._version)
            batch = json.loads(json.loads(log.read_text().splitlines()[0])["commitInfo"].get("userMetadata") or "{}")
            number = batch.get("headrace", {}).get("batch", -1)
            sql = f"select {self._column} as found from t where _batch = {number}"
            rows = QueryBuilder().register("t", table).execute(sql).read_all()
            found += rows["found"].to_pylist()
        return found


def _percentiles(name: str, values: list[float]) -> Figures:
    cuts = statistics.quantiles(values, n=100)
    return {f"{name}_p50_s": round(cuts[49], 2), f"{name}_p99_s": round(cuts[98], 2)}


class _Feeder(threading.Thread):
    """Sends on its own thread and notes when."""

    def __init__(self, source: Iterator[load.Sent], sent: dict[str, float]) -> None:
        super().__init__(daemon=True)
        self._source, self._sent = source, sent

    def run(self) -> None:
        for one in self._source:
            self._sent[one.order_id] = one.at
