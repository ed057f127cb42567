"""A runner that is killed again and again in the middle of its work, while records keep coming."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from headrace.environment.broker import Broker
from tests.faults import report
from tests.kafka.cluster import Event
from tests.kafka.runner import Runner, processes
from tests.kafka.stage import Stage, checkout, command
from tests.kafka.systems import CALLS, CLICKS, SHIPPING_AND_SALES, SHOP, VARS, System, alternated, close
from tests.long import long
from tests.spark import clicks_oracle
from tests.waiting import PATIENCE, pause, wait_for

pytestmark = pytest.mark.kafka

GOOD = ("gold", "platinum")
BAD = ("no topic!", "shipping")
"""What Kafka takes for no name, and the topic of another model."""

LEVELS = ("GOLD", "PLATINUM", "No topic!", "Shipping")
"""Of each customer; the topic of its orders is named after it."""

VICTIMS = {"runner": 4, "JVM": 4, "broker": 4}
"""What is killed, and how often."""

CONF = f"""
kafka: {{bootstrap: embedded, create_topics: true}}
spark: {{master: "local[2]", compiler: quick}}
trigger: {{ingest: 200ms}}
vars: {json.dumps(VARS)}
"""

LANDED, FAILED = " landed ", "^[^ ]+ failed "
WORK = (LANDED, " batch ", " published ")

EVERY = 0.6
"""Seconds between three records, so that what a kill has held up is soon made up for."""

ROUNDS = 5
"""How often what was published comes back to be read, at most."""

LEVEL_WORK = (
    *(" landed ", " batch .*query=clicks "),
    *(" snapshot .*query=view_counters ", " published .*query=publish_view_counters "),
)
"""What is waited for before a run that publishes snapshots is killed."""


@dataclass
class Lives:
    """Runners of some systems, one after the other, until each is killed, or its JVM; brokers are killed meanwhile.

    The first dies while it makes the tables, the others in their work. Lines are logged after a step, so for whoever
    waits for one the next step begins there.
    """

    stage: Stage
    domains: Sequence[str]
    root: Path
    chance: random.Random
    killed: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """A runner of all domains, or of some."""
        some = self.chance.sample(self.domains, self.chance.randint(1, len(self.domains)))
        chosen = self.chance.choice((self.domains, some)) if self.killed else self.domains
        asked = command("run", *(word for domain in chosen for word in ("--select", domain)), project=self.root)
        runner = Runner(asked, self.stage.environ, self.stage.folder, self.stage.data_dir)
        try:
            yield runner
        finally:
            runner.close()

    def kill(self, runner: Runner) -> None:
        """Wait for a moment of its work, and kill something."""
        victim = "runner"
        if not self.killed:
            wait_for((self.stage.data_dir / "tables").exists, "the first table")
        else:
            line = self.chance.choice(WORK)
            runner.heard(line, runner.count(line) + self.chance.randint(1, 3))
            (victim,) = self.chance.choices([*VICTIMS], [*VICTIMS.values()])
        pause(self.chance.uniform(0, 0.6))
        getattr(self, f"_kill_{victim.lower()}")(runner)
        self.killed[victim] += 1

    def _kill_runner(self, runner: Runner) -> None:
        runner.kill()

    def _kill_jvm(self, runner: Runner) -> None:
        """The runner must notice by itself."""
        for jvm in processes(self.stage.data_dir):
            jvm.kill()
        assert (runner.exit_code(), "Traceback" in runner.output) == (1, False), runner.output
        status = json.loads((self.stage.data_dir / "status.json").read_text("utf-8"))
        assert status["project"]["state"] == "failed", runner.output

    def _kill_broker(self, runner: Runner) -> None:
        """The runner must go on by itself."""
        broker = psutil.Process(self.stage.broker.status().pid)
        broker.kill()
        broker.wait(PATIENCE)
        pause(self.chance.uniform(0, 3))
        landed = runner.count(LANDED)
        self.stage.broker.start(daemon=False)
        runner.heard(LANDED, landed + 1)
        assert runner.count(FAILED) == 0, runner.output


@pytest.fixture
def own_stage(tmp_path: Path, spark: SparkSession) -> Iterator[Stage]:
    """A broker and a data directory for one test."""
    broker = Broker(tmp_path / "broker")
    try:
        state = broker.start(daemon=False)
        assert state.bootstrap is not None
        yield Stage(state.bootstrap, tmp_path, broker, spark)
    finally:
        broker.stop()


@pytest.fixture
def seed() -> int:
    """A seed that is printed, and can be given."""
    found = int(os.environ.get("HEADRACE_TEST_SEED", time.time_ns() % 10_000))
    print(f"HEADRACE_TEST_SEED={found}")
    return found


@pytest.mark.long
@pytest.mark.parametrize("systems", [(SHOP,), (SHIPPING_AND_SALES, CALLS, CLICKS)], ids=["shop", "others"])
def test_kills_lose_and_repeat_nothing(own_stage: Stage, seed: int, systems: Sequence[System], tmp_path: Path) -> None:
    kills = int(os.environ.get("HEADRACE_TEST_KILLS", 24))
    stage, chance, domains = own_stage, random.Random(seed), [each for system in systems for each in system.select]
    stage.create({topic: count for system in systems for topic, count in system.topics.items()})
    lives = Lives(stage, domains, checkout(tmp_path / "project", CONF), chance)
    with stage.sending(alternated(systems, chance.randrange(10_000)), every=EVERY):
        while lives.killed.total() < kills:
            with lives.runner() as runner:
                while lives.killed.total() < kills and runner.process.poll() is None:
                    lives.kill(runner)
    for system in systems:
        close(system, stage)
    settle(stage, systems, domains)
    for system in systems:
        system.check(stage, stage.acked)
    of = ", ".join(f"{times} of a {victim}" for victim, times in sorted(lives.killed.items()))
    report.note_kills(" and ".join(system.name for system in systems), lives.killed.total(), seed, of)


def settle(stage: Stage, systems: Iterable[System], domains: Sequence[str]) -> None:
    """Process all there is, and what is published to be read again."""
    project = replace(stage.project, vars={**stage.project.vars, **VARS})
    assert stage.failures(*domains, project=project) == ()
    for _ in range(ROUNDS):
        if all(system.is_settled(stage) for system in systems):
            return
        assert stage.failures(*domains, project=project) == ()


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
