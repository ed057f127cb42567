"""Shipping and sales on a Spark cluster whose machines share nothing but an S3 server: each of them is lost in turn.

A master and workers of one core, each with a folder of its own, and drivers that `headrace submit` starts in folders of
theirs. The workers see neither those folders, nor the jars of `headrace setup`, nor the package. The tests follow one
another, while records keep coming.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice

import psutil
import pytest

from headrace.environment.jars import folder_of
from tests.kafka import oracle, outcome
from tests.kafka.events import load, made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.kafka.spark_cluster import master
from tests.kafka.stage import PROJECT
from tests.s3.drivers import FAILED, OUTAGE, PATIENT, Spread, heard, kill, settings, submitted
from tests.s3.project import Site, in_bucket, site
from tests.s3.server import serving
from tests.waiting import pause, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

SECRET = "wJalrXUtnFEMI-K7MDENG"
BACKLOG = 30_000
"""Records that wait for the first driver: batches of more than 20,000 rows are computed by the executors."""

RUN = ("--select", "shipping", "--select", "sales")


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    """Two workers, and a backlog."""
    with ExitStack() as running:
        server = running.enter_context(serving(tmp_path_factory.mktemp("s3")))
        store = in_bucket(replace(server, options={**server.options, "aws_secret_access_key": SECRET}))
        folder = tmp_path_factory.mktemp("site")
        hidden = [folder, PROJECT / "jobs", folder_of("spark").parent]
        cluster = running.enter_context(master(tmp_path_factory.mktemp("cluster"), hidden))
        found = running.enter_context(site(folder, store, settings(cluster.address)))
        found.cluster.create({ORDERS: 2, MANUFACTURED: 2, SALES: 2})
        doomed = running.enter_context(cluster.worker("doomed", cores=1))
        running.enter_context(cluster.worker("other", cores=1))
        coming = load(seed=5)
        found.cluster.send(islice(coming, BACKLOG))
        flow = running.enter_context(ExitStack())
        flow.enter_context(found.cluster.sending(coming))
        yield Spread(server, found, cluster, doomed, flow)


@pytest.fixture(scope="module")
def driver(spread: Spread) -> Iterator[Runner]:
    """The first driver."""
    with submitted(spread.site.machine("first"), *RUN) as runner:
        yield runner


def ship(spread: Spread, runner: Runner, name: str) -> None:
    """An order and its product are sent, and must come out."""
    cluster = spread.site.cluster
    cluster.send([order(name, 1), made(name, 1)])
    wait_for(
        lambda: name in {record.key for record in cluster.committed("shipping")},
        f"the order {name}",
        PATIENT,
        details=lambda: runner.output,
        every=1,
    )


def test_worker_is_lost_in_the_middle_of_large_batches(spread: Spread, driver: Runner) -> None:
    heard(driver, " landed .*query=ingest_shipping ")
    kill(spread.doomed)
    ship(spread, driver, "without a worker")
    assert (driver.process.poll(), driver.count(FAILED)) == (None, 0), driver.output


@pytest.fixture(scope="module")
def successor(spread: Spread, driver: Runner) -> Iterator[Runner]:
    """A driver in another folder, after the first one was lost with all that it had."""
    heard(driver, " batch ", driver.count(" batch ") + 3)
    kill(psutil.Process(driver.process.pid))
    (spread.site.folder / "first").rename(spread.site.folder / "lost")
    with spread.master.worker("third", cores=1), submitted(spread.site.machine("second"), *RUN) as runner:
        yield runner


def test_another_driver_goes_on_where_one_was_lost(spread: Spread, successor: Runner) -> None:
    ship(spread, successor, "without the first driver")
    assert successor.count(FAILED) == 0, successor.output


@pytest.fixture(scope="module")
def ended(spread: Spread, successor: Runner) -> Runner:
    """That driver, after a time in which the S3 server answered nobody: nobody knows by then who holds the lease."""
    heard(successor, " batch ", successor.count(" batch ") + 1)
    with spread.server.suspended():
        pause(OUTAGE)
    successor.exit_code()
    return successor


def test_driver_that_cannot_renew_its_lease_ends_and_says_so(ended: Runner) -> None:
    said = ended.count("^headrace: this process has lost its lease of s3://lake/shop: it could not be renewed for 20 s")
    assert (ended.exit_code(), said) == (3, 1), ended.output


@pytest.fixture(scope="module")
def finished(spread: Spread, ended: Runner) -> Site:
    """All that was sent is processed, by a driver in a third folder."""
    del ended
    spread.flow.close()
    cluster = spread.site.cluster
    closing = int(time.time() * 1000) + 3 * oracle.MINUTE_MS
    cluster.send([sale("closing", 1)], timestamp=closing)
    with submitted(spread.site.machine("last"), *RUN, "--available-now") as runner:
        assert runner.process.wait(PATIENT) == 0, runner.output
    return spread.site


def test_log_of_a_driver_is_not_full_of_warnings(driver: Runner) -> None:
    assert driver.count("Asked to remove block .*, which does not exist") == 0, driver.output


def test_shipping_and_sales_are_processed_once(finished: Site) -> None:
    assert outcome.found(finished) == outcome.expected(finished.cluster.acked)


def test_executors_of_each_worker_did_work_with_jars_from_the_driver(spread: Spread, finished: Site) -> None:
    for worker in ("doomed", "other", "third"):
        logs = [log.read_text(errors="replace") for log in spread.master.files(f"{worker}/work/app-*/*/stderr")]
        assert any("Running task" in log for log in logs), worker
        assert spread.master.files(f"{worker}/work/app-*/*/delta-spark*.jar"), worker


def test_secret_is_in_no_file_of_the_cluster_or_the_drivers(spread: Spread, finished: Site) -> None:
    drivers = [path for path in finished.folder.rglob("*") if path.is_file() and "broker" not in path.parts]
    written = [*spread.master.files("**/*"), *drivers]
    logs = [path.read_bytes() for path in drivers if path.name.startswith("events_")]
    assert len(logs) == 3 and all(b"SparkListenerEnvironmentUpdate" in log for log in logs)
    assert [path for path in written if path.suffix != ".jar" and SECRET.encode() in path.read_bytes()] == []
