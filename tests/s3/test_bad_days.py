"""A runner whose object store refuses, delays, fails and loses requests: it goes on by itself, and every row is right.

The tests follow one another, while records keep coming.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pytest

from tests.kafka import oracle, outcome
from tests.kafka.events import load, made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.s3.faulty import FaultyServer, faulty, some
from tests.s3.project import Machine, Site, in_bucket, site
from tests.s3.server import serving
from tests.waiting import PATIENCE, pause, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

RUN = ("--select", "shipping", "--select", "sales")
FAILED = "^[^ ]+ failed "
"""A query that ended, in the log of a runner."""

LATE = 5.0
"""Seconds for which listings do not change."""

SHORT = 8.0
"""Seconds of an outage that a lease outlives."""


@dataclass(frozen=True)
class Day:
    """A store that may fail, a runner on it, and records that come until `flow` is closed."""

    store: FaultyServer
    seen: Site
    """Reads the store itself."""
    site: Site
    machine: Machine
    flow: ExitStack
    runner: Runner

    def ship(self, name: str) -> None:
        """An order and its product are sent, and must come out."""
        cluster = self.site.cluster
        cluster.send([order(name, 1), made(name, 1)])
        wait_for(
            lambda: name in {record.key for record in cluster.committed("shipping")} or not self.is_alive,
            f"the order {name}",
            PATIENCE,
            details=lambda: self.runner.output,
            every=0.5,
        )
        assert (self.is_alive, self.runner.count(FAILED)) == (True, 0), self.runner.output

    @property
    def is_alive(self) -> bool:
        return self.runner.process.poll() is None


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A runner that has shipped something."""
    with ExitStack() as running:
        server = running.enter_context(serving(tmp_path_factory.mktemp("s3")))
        store = running.enter_context(faulty(server))
        reached = in_bucket(replace(server, options=store.options))
        found = running.enter_context(site(tmp_path_factory.mktemp("site"), reached))
        found.cluster.create({ORDERS: 2, MANUFACTURED: 1, SALES: 2})
        machine = found.machine("first")
        runner = running.enter_context(machine.runner(*RUN))
        flow = running.enter_context(ExitStack())
        flow.enter_context(found.cluster.sending(load(seed=5)))
        runner.heard(" published .*query=publish_shipment_ready ")
        yield Day(store, replace(found, store=in_bucket(server)), found, machine, flow, runner)


def test_requests_that_fail_by_chance_are_repeated(day: Day) -> None:
    with day.store.choosing(some(1, 0.1, "busy", "failed", "cut before", "cut after", "half")):
        for number in range(5):
            day.ship(f"by chance {number}")
    assert min(day.store.faults[kind] for kind in ("busy", "failed", "cut before", "cut after", "half")) > 0


def test_store_that_refuses_connections_for_a_while_needs_no_hand(day: Day) -> None:
    with day.store.refusing():
        pause(SHORT)
    day.ship("after the refusal")


def test_slow_store_is_waited_for(day: Day) -> None:
    day.store.delay = 1.0
    day.ship("slowly")
    day.store.delay = 0.0


def test_runner_that_is_refused_for_longer_ends_and_says_so(day: Day) -> None:
    with day.store.refusing():
        code = day.runner.exit_code()
    said = day.runner.count(
        "^headrace: this process has lost its lease of s3://lake/shop: it could not be renewed for 20 s"
    )
    assert (code, said) == (3, 1), day.runner.output


def test_all_of_it_was_processed_once(day: Day) -> None:
    """By a runner that sees objects only some seconds after they were written."""
    day.store.listed_for = LATE
    day.flow.close()
    closing = int(time.time() * 1000) + 3 * oracle.MINUTE_MS
    day.site.cluster.send([sale("closing", 1)], timestamp=closing)
    day.machine.done("run", *RUN, "--available-now")
    assert outcome.found(day.seen) == outcome.expected(day.site.cluster.acked)
