"""Runners on machines that share a bucket and a broker: one is suspended, another one killed, and records keep coming.

All processes of a machine are suspended, which to everybody else looks like a host that hangs. Who has made a request
is known by its access key. The tests follow one another.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psutil
import pytest

from tests.kafka import oracle, outcome
from tests.kafka.cluster import Cluster
from tests.kafka.events import load, made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.s3.project import Site, in_bucket, site
from tests.s3.server import S3Server, serving
from tests.waiting import wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

RUN = ("--select", "shipping", "--select", "sales")
TAKE_OVER = 30.0
"""Within so many seconds after the other one has fallen silent, the runner on standby begins."""

COMMIT = re.compile(r"PUT 200 .*/(_delta_log/\d+\.json|inputs/\d+\.json|status\.json)$")
"""A commit, the recorded inputs of a batch, or the status for other machines, that the store has taken."""


@dataclass(frozen=True)
class Twins:
    """A runner that holds a place, another one that waits for it, and records that come until `flow` is closed."""

    server: S3Server
    site: Site
    flow: ExitStack
    first: Runner
    second: Runner


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Two runners that were started one after the other."""
    with ExitStack() as running:
        server = running.enter_context(serving(tmp_path_factory.mktemp("s3")))
        found = running.enter_context(site(tmp_path_factory.mktemp("site"), in_bucket(server)))
        found.cluster.create({ORDERS: 2, MANUFACTURED: 1, SALES: 2})
        first = running.enter_context(found.machine("first").runner(*RUN))
        flow = running.enter_context(ExitStack())
        flow.enter_context(found.cluster.sending(load(seed=5)))
        first.heard(" published .*query=publish_shipment_ready ")
        second = running.enter_context(found.machine("second").runner(*RUN, "--standby"))
        yield Twins(server, found, flow, first, second)


@contextmanager
def suspended(runner: Runner) -> Iterator[None]:
    """A machine that hangs while the block lasts: the runner and its JVM."""
    root = psutil.Process(runner.process.pid)
    family = [root, *root.children(recursive=True)]
    for process in family:
        process.suspend()
    try:
        yield
    finally:
        for process in reversed(family):
            process.resume()


def taken_over(runner: Runner) -> float:
    """Wait until a runner that was waiting begins; return after how many seconds it did."""
    at = time.monotonic()
    runner.heard(" starting ")
    return time.monotonic() - at


def ship(cluster: Cluster, name: str) -> None:
    """An order and its product are sent, and must come out."""
    cluster.send([order(name, 1), made(name, 1)])
    wait_for(lambda: name in {record.key for record in cluster.committed("shipping")}, f"the order {name}", every=0.5)


def test_waiting_runner_names_the_holder(twins: Twins) -> None:
    twins.second.heard(rf"^headrace: waiting for s3://.*: pid {twins.first.process.pid} on .* since .* holds it$")


def test_waiting_runner_takes_over_from_one_that_hangs_which_then_ends(twins: Twins) -> None:
    with suspended(twins.first):
        seconds = taken_over(twins.second)
        ship(twins.site.cluster, "meanwhile")
        before = len(twins.server.requests("first"))
    code = twins.first.exit_code()
    late = [line for line in twins.server.requests("first")[before:] if COMMIT.search(line)]
    assert (seconds < TAKE_OVER, code, late) == (True, 3, []), twins.first.output
    twin = rf"pid {twins.second.process.pid} on .* has taken it over"
    assert twins.first.count(rf"^headrace: this process has lost its lease of s3://.*: {twin}") == 1


def test_waiting_runner_takes_over_from_one_that_is_killed(twins: Twins) -> None:
    with twins.site.machine("third").runner(*RUN, "--standby") as third:
        third.heard(rf"^headrace: waiting for s3://.*: pid {twins.second.process.pid} on .* holds it$")
        twins.second.process.kill()
        seconds = taken_over(third)
        ship(twins.site.cluster, "afterwards")
        twins.flow.close()
        assert (seconds < TAKE_OVER, third.stop(signal.SIGTERM)) == (True, 143), third.output


def test_all_of_it_was_processed_once(twins: Twins) -> None:
    closing = int(time.time() * 1000) + 3 * oracle.MINUTE_MS
    twins.site.cluster.send([sale("closing", 1)], timestamp=closing)
    twins.site.machine("last").done("run", *RUN, "--available-now")
    assert outcome.found(twins.site) == outcome.expected(twins.site.cluster.acked)
