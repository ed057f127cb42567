"""Long-running readers on a broker that came back and for a while knew no broker, not even itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from headrace.environment.broker import Broker
from headrace.project.model import Kafka
from headrace.reading.tail import Until, tail_topic
from tests.kafka.cluster import Cluster
from tests.kafka.forgetful import Forgetful
from tests.kafka.service import project, serving
from tests.kafka.test_rest import LONG, TOPIC, get, order, post
from tests.waiting import PATIENCE, pause, wait_for

pytestmark = pytest.mark.kafka

OUTAGE, CONFUSION = 4.0, 15.0
"""Seconds: long enough for every reader to look whether it still has a broker, and to be replaced since it has none."""


@contextmanager
def followed(kafka: Kafka, topic: str) -> Iterator[list[str]]:
    """The keys of a topic's records as they come."""
    found: list[str] = []
    over = threading.Event()

    def follow() -> None:
        for row in tail_topic(kafka, topic, until=Until(stopped=over.is_set)):
            found.append(str(row["key"]))

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(PATIENCE)


@pytest.mark.long
def test_readers_and_producers_find_it_again(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker").running() as state, closing(Forgetful(str(state.bootstrap))) as broker:
        cluster = Cluster(str(state.bootstrap))
        cluster.create({TOPIC: 2})
        with (
            serving(project(tmp_path / "project"), broker.bootstrap) as instance,
            followed(Kafka(broker.bootstrap), TOPIC) as heard,
        ):
            assert post(instance, order("before")).status_code == 201
            wait_for(lambda: "before" in heard, "the order before the outage")
            with broker.forgetting(OUTAGE):
                pause(CONFUSION)
            wait_for(lambda: post(instance, order("after")).status_code == 201, "a producer that knows the broker")
            cluster.send([(TOPIC, "elsewhere", json.dumps({**order("elsewhere"), "state": "VALIDATED"}))])
            assert get(instance, "/v1/orders/elsewhere", timeout=LONG).status_code == 200
            wait_for(lambda: {"after", "elsewhere"} <= {*heard}, "the orders after the outage")
            assert sorted(heard) == sorted({*heard})  # nothing is read twice
