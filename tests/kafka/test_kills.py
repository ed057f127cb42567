"""A runner that is killed again and again in the middle of its work, while records keep coming."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.faults import report
from tests.kafka import oracle, outcome
from tests.kafka.cluster import Event
from tests.kafka.events import load, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.kafka.stage import Stage
from tests.long import long
from tests.spark import clicks_oracle
from tests.waiting import pause, wait_for

pytestmark = pytest.mark.kafka

GOOD = ("gold", "platinum")
BAD = ("no topic!", "shipping")
"""What Kafka takes for no name, and the topic of another model."""

LEVELS = ("GOLD", "PLATINUM", "No topic!", "Shipping")
"""Of each customer; the topic of its orders is named after it."""

SYSTEMS = (("shipping", "sales"), ("shipping",), ("sales",))
"""What runs between kills, alternately."""

LEVEL_WORK = (
    *(" landed ", " batch .*query=clicks "),
    *(" snapshot .*query=view_counters ", " published .*query=publish_view_counters "),
)
"""What is waited for before a run that publishes snapshots is killed."""


def fates(chance: random.Random, stage: Stage, kills: int) -> Iterator[Runner]:
    """Runners, each at the moment of its death: the first while it makes the tables, the others in their work.

    Lines are logged after a step, so for whoever waits for one the next step begins there.
    """
    for number in range(kills):
        systems = SYSTEMS[number % len(SYSTEMS)]
        work = (" landed ", " published ", *(f" batch .*query={system} " for system in systems))
        with stage.runner(*(word for system in systems for word in ("--select", system))) as runner:
            if number == 0:
                wait_for((stage.data_dir / "tables").exists, "the first table")
            else:
                runner.heard(chance.choice(work), times=chance.randint(1, 3))
            pause(chance.uniform(0, 0.6))
            yield runner


@pytest.fixture
def seed() -> int:
    """A seed that is printed, and can be given."""
    found = int(os.environ.get("HEADRACE_TEST_SEED", time.time_ns() % 10_000))
    print(f"HEADRACE_TEST_SEED={found}")
    return found


@pytest.mark.parametrize("kills", [long(12)])
def test_kills_lose_and_repeat_nothing(stage: Stage, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    stage.create({ORDERS: 2, MANUFACTURED: 1, SALES: 2})
    with stage.sending(load(chance.randrange(10_000))):
        for runner in fates(chance, stage, kills):
            runner.kill()
    stage.send([sale("closing", 1)], timestamp=int(time.time() * 1000) + 3 * oracle.MINUTE_MS)
    stage.process_all()
    assert outcome.found(stage) == outcome.expected(stage.acked)
    report.note_kills("shipping and sales", kills, seed)


def clicks(chance: random.Random) -> Iterator[Event]:
    """Lines of a log without end."""
    for event in clicks_oracle.load(chance.randrange(10_000)):
        value = event.value
        yield event.topic, event.key, value if value is None or isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("kills", [long(12)])
def test_kills_leave_the_newest_level_of_each_key_at_its_topic(stage: Stage, seed: int, kills: int) -> None:
    """A snapshot publishes each product's counter again and again: the newest is right, and none comes twice."""
    chance, queries = random.Random(seed), ("view_totals", "view_counters")
    stage.create({"logs": 2, "products": 1})
    with stage.sending(clicks(chance)):
        for number in range(kills):
            with stage.runner(*(word for query in queries for word in ("--select", query))) as runner:
                runner.heard(chance.choice(LEVEL_WORK) if number else " landed ", times=chance.randint(1, 3))
                pause(chance.uniform(0, 0.6))
                runner.kill()
    assert stage.failures(*queries) == ()
    lines = [record.body for record in stage.acked if record.topic == "logs"]
    views = Counter(str(body["productId"]) for body in lines if body["logger_name"].endswith(".ViewProductEvent"))
    sent = stage.committed("counter_topic")
    assert {record.key: record.value["count"] for record in sent} == views
    assert {*Counter((record.key, record.value["snapshotAt"]) for record in sent).values()} == {1}
    times = [record.value["snapshotAt"] for record in sent]
    assert times == sorted(times) and len({*times}) > 1
    report.note_kills("snapshots that are published", kills, seed)


def shop_orders(chance: random.Random) -> Iterator[Event]:
    """Orders of random customers without end."""
    for number in range(10**9):
        order = {"id": f"order-{number}", "customerId": chance.randrange(len(LEVELS)), "state": "CREATED"}
        yield "shop-orders", order["id"], json.dumps({**order, "product": "JUMPERS", "quantity": 1, "price": 9.99})


@pytest.mark.parametrize("kills", [long(6)])
def test_kills_lose_and_repeat_no_row_of_topics_that_rows_name(stage: Stage, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    stage.create({"shop-orders": 2, "customers": 1})
    customers = ((str(number), {"id": number, "level": level}) for number, level in enumerate(LEVELS))
    stage.send(("customers", key, json.dumps(body)) for key, body in customers)
    with ExitStack() as flow:
        for number in range(kills):
            with stage.runner("--select", "shop") as runner:
                runner.heard(" landed .*query=ingest_shop ")
                if number == 0:
                    flow.enter_context(stage.sending(shop_orders(chance)))
                runner.heard(" published .*query=publish_enriched_orders ", times=chance.randint(1, 3))
                pause(chance.uniform(0, 0.6))
                runner.kill()
    assert stage.failures("shop") == ()
    orders = [record for record in stage.acked if record.topic == "shop-orders"]
    due = [(LEVELS[record.body["customerId"]].lower(), record.name) for record in orders]
    sent = [(level, record.key) for level in GOOD for record in stage.committed(level)]
    lines = (stage.data_dir / "set_aside" / "enriched_orders.ndjson").read_text("utf-8").splitlines()
    set_aside = [(note["topic"], note["key"]) for note in map(json.loads, lines)]
    assert {level for level, _ in sent} == {*GOOD} and {level for level, _ in set_aside} == {*BAD}
    assert Counter([*sent, *set_aside]) == Counter(due)
    report.note_kills("topics that rows name", kills, seed)
