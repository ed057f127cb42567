"""All systems at once on a Spark cluster whose machines share nothing but an S3 server: each of them is lost in turn.

As in `test_cluster.py`, but with few records of every system and small batches. Its streaming queries have their state
on the executors and their checkpoints in the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import psutil
import pytest

from headrace.environment.jars import folder_of
from tests.kafka.runner import Runner
from tests.kafka.spark_cluster import master
from tests.kafka.stage import PROJECT
from tests.kafka.systems import ALL, SHOP, VARS, System, alternated, close
from tests.s3.drivers import FAILED, OUTAGE, PATIENT, Spread, heard, kill, settings, submitted
from tests.s3.project import Site, in_bucket, site
from tests.s3.server import serving
from tests.waiting import pause, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

RUN = tuple(word for system in ALL for word in system.words)

OUTPUTS = ("shipping", "notifications-events-v1", "captcha-requests", "order-validations")
"""Topics of the systems, to which something comes all the time; calls take longer."""

STREAMED = " batch .*query=calls "
"""A batch whose state is on the executors, and in the bucket."""

EVERY = 1.5
"""Seconds between three records: two cores are all that a cluster, a broker and an S3 server have."""

TASKS = 2
"""How many tasks an executor runs at once: most of the time they wait for the S3 server."""

ROUNDS = 5
"""How often what was published comes back to be read, at most."""


def goes_on(spread: Spread, runner: Runner) -> None:
    """Wait until every system that can has published something new."""
    before = {topic: published(spread, topic) for topic in OUTPUTS}
    for topic, count in before.items():
        wait_for(
            lambda topic=topic, count=count: published(spread, topic) > count or runner.process.poll() is not None,  # type: ignore[misc]
            f"something new of {topic}",
            PATIENT,
            details=lambda: runner.output,
            every=2,
        )
    assert (runner.process.poll(), runner.count(FAILED)) == (None, 0), runner.output


def published(spread: Spread, topic: str) -> int:
    """How many records of a topic are committed, if it is there."""
    known = spread.site.cluster.admin.list_topics(timeout=PATIENT).topics
    return len(spread.site.committed(topic)) if topic in known else 0


def declared(address: str) -> Mapping[str, Any]:
    """What the target says: the cluster, and times that are over within the test."""
    of_cluster = settings(address)
    confs = {**of_cluster["spark"]["conf"], "spark.driver.memory": "2g", "spark.executor.cores": TASKS}
    return {
        **of_cluster,
        "spark": {**of_cluster["spark"], "conf": confs},
        "trigger": {"ingest": "10s"},
        "vars": {**VARS, "snapshot_every": 30},
    }


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    """Two workers."""
    with ExitStack() as running:
        server = running.enter_context(serving(tmp_path_factory.mktemp("s3")))
        folder = tmp_path_factory.mktemp("site")
        hidden = [folder, PROJECT / "jobs", folder_of("spark").parent]
        cluster = running.enter_context(master(tmp_path_factory.mktemp("cluster"), hidden))
        found = running.enter_context(site(folder, in_bucket(server), declared(cluster.address)))
        found.cluster.create({topic: count for system in ALL for topic, count in system.topics.items()})
        doomed = running.enter_context(cluster.worker("doomed", cores=TASKS))
        running.enter_context(cluster.worker("other", cores=TASKS))
        flow = running.enter_context(ExitStack())
        flow.enter_context(found.cluster.sending(alternated(ALL, seed=7), every=EVERY))
        yield Spread(server, found, cluster, doomed, flow)


@pytest.fixture(scope="module")
def driver(spread: Spread) -> Iterator[Runner]:
    """The first driver, when every system has begun."""
    with submitted(spread.site.machine("first"), *RUN) as runner:
        goes_on(spread, runner)
        heard(runner, STREAMED)
        yield runner


def test_all_systems_go_on_without_a_worker(spread: Spread, driver: Runner) -> None:
    kill(spread.doomed)
    goes_on(spread, driver)


@pytest.fixture(scope="module")
def successor(spread: Spread, driver: Runner) -> Iterator[Runner]:
    """A driver in another folder, after the first one was lost with all that it had."""
    kill(psutil.Process(driver.process.pid))
    (spread.site.folder / "first").rename(spread.site.folder / "lost")
    with spread.master.worker("third", cores=TASKS), submitted(spread.site.machine("second"), *RUN) as runner:
        yield runner


def test_all_systems_go_on_where_a_driver_was_lost(spread: Spread, successor: Runner) -> None:
    goes_on(spread, successor)


@pytest.fixture(scope="module")
def ended(spread: Spread, successor: Runner) -> Runner:
    """That driver, after a time in which the S3 server answered nobody: nobody knows by then who holds the lease."""
    heard(successor, " batch ", successor.count(" batch ") + 1)
    with spread.server.suspended():
        pause(OUTAGE)
    successor.exit_code()
    return successor


@pytest.fixture(scope="module")
def finished(spread: Spread, ended: Runner) -> Site:
    """All that was sent is processed, by drivers in other folders; what the shop publishes comes back to it."""
    assert ended.exit_code() == 3, ended.output
    spread.flow.close()
    for system in ALL:
        close(system, spread.site.cluster)
    process(spread.site, "last", *RUN)
    for number in range(ROUNDS):
        if SHOP.is_settled(spread.site):
            break
        process(spread.site, f"last-{number}", *SHOP.words)
    return spread.site


def process(site: Site, name: str, *words: str) -> None:
    """Process all there is on a machine on which nothing has ever run."""
    with submitted(site.machine(name), *words, "--available-now") as runner:
        assert runner.process.wait(PATIENT) == 0, runner.output


@pytest.mark.parametrize("system", ALL, ids=lambda system: system.name.replace(" ", "-"))
def test_all_of_it_was_processed_once(finished: Site, system: System) -> None:
    system.check(finished, finished.cluster.acked)


def test_executors_of_each_worker_did_work(spread: Spread, finished: Site) -> None:
    for worker in ("doomed", "other", "third"):
        logs = [log.read_text(errors="replace") for log in spread.master.files(f"{worker}/work/app-*/*/stderr")]
        assert any("Running task" in log for log in logs), worker
