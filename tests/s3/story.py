"""Orders and a call whose work one machine begins and another goes on with, on whatever store the project is."""

from __future__ import annotations

import json
import shutil

from tests.kafka.cluster import Event
from tests.kafka.events import made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS
from tests.s3.project import Machine, Site

AT = 1_767_261_600_000
"""When the calls were, in milliseconds."""

HOUR = 3_600_000
TOPICS = {ORDERS: 1, MANUFACTURED: 1, "analyticsTopic": 1, "metricsTopic": 1}
RUN = ("run", "--select", "shipping", "--select", "calls", "--available-now")


def half(topic: str, what: str, at: int) -> Event:
    return topic, None, json.dumps({"user1": "ann", "user2": "bob", "timestamp": AT + at, what: "x"})


def shipped(machine: Machine) -> list[str]:
    return sorted(row["order_id"] for row in machine.rows("show", "gold.shipment_ready"))


def sent(started: Site) -> list[str]:
    return sorted(str(record.key) for record in started.cluster.committed("shipping"))


def continued(started: Site) -> Machine:
    """A machine that has gone on with what another began, which has lost all that it had."""
    first = started.machine("first")
    started.cluster.send([order("a", 1, 2), made("a", 1), order("b", 1), made("b", 1)])
    started.cluster.send([half("analyticsTopic", "analytics", 0)])
    first.done(*RUN)
    shutil.rmtree(first.folder)
    started.cluster.send([made("a", 2), order("c", 3), made("c", 3), (ORDERS, "bad", "no json")])
    started.cluster.send([half("metricsTopic", "metrics", 1000), half("metricsTopic", "metrics", HOUR)])
    second = started.machine("second")
    second.done(*RUN)
    return second
