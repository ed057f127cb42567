"""Topics that rows name: each row goes to its topic, once, or is set aside with a reason; none blocks another."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.project.model import Model, Publish
from headrace.publishing import outlet, publisher
from headrace.publishing.outlet import Outlet
from headrace.publishing.publisher import Publisher
from headrace.publishing.routes import Rules
from headrace.tables.delta import CommitTable
from tests.kafka.cluster import Cluster
from tests.kafka.crash import Crash, Point
from tests.kafka.test_publisher import Client, exhaust
from tests.long import long
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka

ITEM = StructType([StructField("id", LongType())])
SCHEMA = StructType([StructField("level", StringType()), StructField("text", StringType()), StructField("item", ITEM)])
SCHEMA = SCHEMA.add("_arrival", LongType()).add("_batch", LongType())


@dataclass
class Office:
    """A table whose rows name their topics, and publishers that start from stored state only."""

    spark: SparkSession
    cluster: Cluster
    folder: Path
    name: str = field(default_factory=lambda: f"level-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.cluster.create({f"{self.name}-progress": 1, self.topic("there"): 2, self.topic("taken"): 1})
        self.table = CommitTable(self.spark, self.folder / "table", SCHEMA)
        self.table.create()
        self.publisher().open()

    def topic(self, level: str) -> str:
        return f"{self.name}-{level}"

    def publisher(self, create: bool = True) -> Publisher:
        rules = Rules(create, frozenset({self.topic("taken")}))
        config: dict[str, Any] = {"bootstrap.servers": self.cluster.bootstrap, "log_level": 0}
        outlet = Outlet(config, f"{self.name}-progress", self.name, rules)
        publish = Publish(topic_column="level", key="text", value=(("item", "item"), ("text", "text")))
        model = Model(
            "gold", "routed", "news", "routed.sql", "", "", "append", "micro_batch", None, (), publish=publish
        )
        return Publisher(self.spark, model, self.table, outlet, self.folder)

    def add(self, *topics: str | None) -> None:
        """Append a row for each topic, in one commit; its text is its number."""
        rows = [(topic, str(number), (number,), number, 0) for number, topic in enumerate(topics)]
        frame = self.spark.createDataFrame(rows, SCHEMA).coalesce(1)
        self.table.append(frame, {"query": "routed", "batch": 0, "rows": len(rows)})

    def seen(self, level: str) -> list[str]:
        """The texts that a reader of committed records finds on a level's topic."""
        return sorted(record.value["text"] for record in self.cluster.committed(self.topic(level)))

    @property
    def set_aside(self) -> list[tuple[str, str]]:
        """Key and reason of each row that was set aside."""
        file = self.folder / "set_aside" / "routed.ndjson"
        notes = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [(note["key"], note["reason"]) for note in notes]


@pytest.fixture
def office(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> Office:
    return Office(spark, cluster, tmp_path)


def test_rows_go_to_the_topic_they_name(office: Office) -> None:
    there, new = office.topic("there"), office.topic("new")
    office.add(there, new, there, new)
    made = exhaust(office.publisher())
    assert (office.seen("there"), office.seen("new"), made.sent, office.set_aside) == (["0", "2"], ["1", "3"], 4, [])
    (record, _) = office.cluster.committed(new)
    assert (record.key, record.value) == ("1", {"item": {"id": 1}, "text": "1"})  # a struct is an object


def test_bad_topic_is_set_aside_and_holds_up_nothing(office: Office) -> None:
    there = office.topic("there")
    names = ["no topic!", "", None, ".", "..", "x" * 250, "__consumer_offsets", office.topic("taken")]
    office.add(there, *names, there)
    made = exhaust(office.publisher())
    assert (office.seen("there"), made.set_aside) == (["0", "9"], len(names))
    assert dict(office.set_aside) == {
        **{str(number): "bad_topic_name" for number in range(1, 7)},
        "7": "reserved_topic",
        "8": "reserved_topic",
    }
    assert office.seen("taken") == []


def test_missing_topic_is_set_aside_where_none_may_be_created(office: Office) -> None:
    office.add(office.topic("new"), office.topic("there"))
    exhaust(office.publisher(create=False))
    assert (office.set_aside, office.seen("there")) == ([("0", "unknown_topic")], ["1"])
    assert office.topic("new") not in office.cluster.admin.list_topics(timeout=PATIENCE).topics


def test_topic_that_the_broker_refuses_is_set_aside(office: Office) -> None:
    rival = office.topic("there").replace("-", "_")  # a dot and an underscore are one name to Kafka's metrics
    office.cluster.create({rival: 1})
    office.add(rival.replace("_", "."), office.topic("there"))
    exhaust(office.publisher())
    assert (office.set_aside, office.seen("there")) == ([("0", "refused_topic")], ["1"])


@pytest.mark.parametrize("when", ["before", long("after")])
def test_crash_repeats_no_row_and_no_note(office: Office, monkeypatch: pytest.MonkeyPatch, when: Any) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    monkeypatch.setattr(publisher, "CHUNK_ROWS", 2)
    there, new = office.topic("there"), office.topic("new")
    office.add(there, "bad!", new, "bad!", "bad!", there)
    with monkeypatch.context() as patch:
        Point(Client, "commit_transaction", when, call=2).arm(patch)  # the first one says who publishes
        with pytest.raises(Crash):
            exhaust(office.publisher())
    exhaust(office.publisher())
    assert (office.seen("there"), office.seen("new")) == (["0", "5"], ["2"])
    assert office.set_aside == [(key, "bad_topic_name") for key in ("1", "3", "4")]
