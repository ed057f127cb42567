"""A project whose data are on S3: what one machine has begun another goes on with, and nothing is lost or done twice.

Every command is a process of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.kafka.events import made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS
from tests.s3.project import Machine, Site, site

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as found:
        found.cluster.create({ORDERS: 1, MANUFACTURED: 1})
        yield found


@pytest.fixture(scope="module")
def moved(started: Site) -> Iterator[Machine]:
    """A machine that has gone on with what another began, which has lost all that it had."""
    first = started.machine("first")
    started.cluster.send([order("a", 1, 2), made("a", 1), order("b", 1), made("b", 1)])
    first.done("run", "--select", "shipping", "--available-now")
    print("first", len(started.server.requests()))
    shutil.rmtree(first.folder)
    started.cluster.send([made("a", 2), order("c", 3), made("c", 3)])
    second = started.machine("second")
    before = len(started.server.requests())
    second.done("run", "--select", "shipping", "--available-now")
    print("second", len(started.server.requests()) - before)
    yield second


def test_every_order_is_shipped_once(started: Site, moved: Machine) -> None:
    assert sorted(row["order_id"] for row in moved.rows("show", "gold.shipment_ready")) == ["a", "b", "c"]
    assert sorted(str(record.key) for record in started.cluster.committed("shipping")) == ["a", "b", "c"]
