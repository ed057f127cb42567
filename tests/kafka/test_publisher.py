"""Publishing to a real broker: whatever fails where, a reader of committed records sees each row once, in order."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.errors import EnvironmentFault, HeadraceError, InvalidProject
from headrace.project.model import Kafka, Model, Publish
from headrace.publishing import outlet, publisher
from headrace.publishing.outlet import Outlet
from headrace.publishing.positions import Choice
from headrace.publishing.publisher import Publisher
from headrace.reading.topics import client_options
from headrace.spark.implementations import materialize, small_batches
from headrace.store import trees
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from tests.kafka.cluster import Cluster
from tests.kafka.crash import Crash, Point
from tests.long import long, one_of
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka

SCHEMA = StructType([StructField("name", StringType()), StructField("text", StringType())])
SCHEMA = SCHEMA.add("_arrival", LongType()).add("_batch", LongType())
LARGEST = 2_000


class Client(Producer):
    """The client's producer as a class whose methods can be made to fail.

    One whose process died stays to the end of its test: dropped with rows on their way, it may end this process.
    """

    known: ClassVar[list[Client]] = []

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.known.append(self)

    def begin_transaction(self) -> None:
        super().begin_transaction()

    def flush(self, timeout: float = -1) -> int:
        return int(super().flush(timeout))

    def commit_transaction(self, timeout: float = -1) -> None:
        super().commit_transaction(timeout)


@dataclass
class Press:
    """A table, the topic its rows go to, and publishers that start from stored state only."""

    spark: SparkSession
    cluster: Cluster
    folder: Path
    name: str = field(default_factory=lambda: f"news-{uuid.uuid4().hex[:8]}")
    batches: int = 0

    def __post_init__(self) -> None:
        self.cluster.create({f"{self.name}-progress": 1})
        self.cluster.create({self.name: 1}, {"max.message.bytes": str(LARGEST)})
        self.table = CommitTable(self.spark, self.folder / "table", SCHEMA)
        self.table.create()
        self.publisher().open()

    def publisher(
        self,
        name: str = "one",
        start: Literal["earliest", "latest"] | None = None,
        commit_cache: CommitCache | None = None,
        replaced: Sequence[str] | None = None,
        **settings: Any,
    ) -> Publisher:
        """`settings` are properties of its client."""
        config = {**client_options(Kafka(bootstrap=self.cluster.bootstrap)), **settings}
        out = Outlet(config, f"{self.name}-progress", f"{self.name}.{name}")
        publish = Publish(topic=self.name, key="name", value=(("text", "text"),), start=start)
        inputs: tuple[Any, ...] = ()
        model = Model("gold", name, "news", "news.sql", "", "", "append", "micro_batch", None, inputs, publish=publish)
        return Publisher(self.spark, model, self.table, out, self.folder, commit_cache=commit_cache, replaced=replaced)

    def restore(self, copy: Path | None) -> None:
        """Put a copy of the table in its place, or a new one without rows; what is added is numbered on."""
        self.former = self.table.id()
        trees.remove(self.table.path)
        if copy is not None:
            trees.copy(copy, self.table.path)
        self.table = CommitTable(self.spark, self.table.path, SCHEMA)
        self.table.create()

    def add(self, *texts: str) -> None:
        """Append rows in one commit, out of their order."""
        rows = [(str(n), text, n, self.batches) for n, text in enumerate(texts)]
        frame = self.spark.createDataFrame(rows[::-1], SCHEMA).coalesce(1)
        self.table.append(frame, {"query": "news", "batch": self.batches, "rows": len(rows)})
        self.batches += 1

    @property
    def seen(self) -> list[str]:
        """What a reader of committed records sees."""
        return [record.value["text"] for record in self.cluster.committed(self.name)]


@pytest.fixture
def press(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> Iterator[Press]:
    yield Press(spark, cluster, tmp_path)
    Client.known.clear()


def settle(made: Publisher, choice: Choice) -> None:
    """Record what is to become of rows that were sent and that the table does not hold."""
    found = outlet.read_progress(made.outlet)
    assert found is not None
    made.outlet.move(made.standing(found).settled(choice))


def exhaust(made: Publisher) -> Publisher:
    """Let a publisher send everything."""
    while made.step() is not None:
        pass
    return made


POINTS = {
    "before it has said who it is": Point(Client, "commit_transaction", "before"),
    "before the transaction": Point(Client, "begin_transaction", "before", call=2),
    "with rows on their way": Point(Client, "flush", "before", call=2),
    "before the commit": Point(Client, "commit_transaction", "before", call=2),
    "after the commit": Point(Client, "commit_transaction", "after", call=2),
    "before a later commit": Point(Client, "commit_transaction", "before", call=3),
    "after a later commit": Point(Client, "commit_transaction", "after", call=3),
}
"""The first transaction of a publisher has no rows: it records who publishes now."""


@pytest.mark.parametrize("point", one_of(4, POINTS))
def test_crash_repeats_and_loses_nothing(press: Press, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    monkeypatch.setattr(publisher, "CHUNK_ROWS", 2)
    press.add("a", "b", "c", "d", "e")
    press.add("f")
    with monkeypatch.context() as patch:
        POINTS[point].arm(patch)
        with pytest.raises(Crash):
            exhaust(press.publisher())
    exhaust(press.publisher())
    assert press.seen == ["a", "b", "c", "d", "e", "f"]


def test_failed_publisher_goes_on_itself(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    press.add("a")
    made = press.publisher()
    with monkeypatch.context() as patch:
        Point(Client, "commit_transaction", "after", call=2).arm(patch)
        with pytest.raises(Crash):
            made.step()
    made.close()
    press.add("b")
    exhaust(made)
    assert press.seen == ["a", "b"]


@pytest.mark.parametrize("size", [LARGEST + 1, long(2_000_000)], ids=["for the topic", "for the client"])
def test_row_too_large_is_set_aside(press: Press, size: int) -> None:
    press.add("a", "x" * size, "b", "c", "d")
    press.add("e")
    made = exhaust(press.publisher())
    notes = (press.folder / "set_aside" / "one.ndjson").read_text().splitlines()
    assert (press.seen, made.set_aside) == (["a", "b", "c", "d", "e"], 1)
    assert [(note["topic"], note["key"], note["reason"]) for note in map(json.loads, notes)] == [
        (press.name, "1", "too_large")
    ]


@pytest.mark.parametrize("gone", ["", "-progress"], ids=["of the rows", "of progress"])
def test_topic_that_is_gone_is_named_and_waited_for(press: Press, monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    monkeypatch.setattr(publisher, "CHUNK_ROWS", 1)
    made, topic = press.publisher(start="earliest"), f"{press.name}{gone}"
    press.add("a", "b")
    exhaust(made)
    press.cluster.delete(topic)
    press.add("c", "d")
    made.close()
    with pytest.raises(EnvironmentFault, match=f"no topic {topic}, .*create it again"):
        made.step()
    press.cluster.create({topic: 1})
    exhaust(made)
    press.add("e")
    exhaust(press.publisher())
    assert press.seen == (["a", "b", "c", "d", "e"] if gone else ["c", "d", "e"])


def test_transaction_over_a_topic_that_goes_is_told_by_the_topic(press: Press) -> None:
    made = exhaust(press.publisher(**{"topic.metadata.propagation.max.ms": 1_000}))
    press.cluster.delete(press.name)
    press.add("a")
    with pytest.raises(EnvironmentFault, match=f"no topic {press.name}, "):
        made.step()


def test_progress_that_is_lost_with_an_answer_is_asked_for(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the rows were sent is known to nobody, so what the model declares of its history is no answer."""
    monkeypatch.setattr(outlet, "Producer", Client)
    made = press.publisher(start="earliest")
    press.add("a")
    with monkeypatch.context() as patch:
        Point(Client, "commit_transaction", "after", call=2).arm(patch)
        with pytest.raises(Crash):
            exhaust(made)
    made.close()
    press.cluster.delete(f"{press.name}-progress")
    press.cluster.create({f"{press.name}-progress": 1})
    with pytest.raises(InvalidProject, match="publish-history"):
        made.step()


@pytest.mark.parametrize("start", [None, long("earliest"), long("latest")])
def test_progress_that_was_deleted_is_missed_by_the_next_run(
    press: Press, start: Literal["earliest", "latest"] | None
) -> None:
    """What `start` says was done when the table was first published; to do it again would double rows, or lose some."""
    press.add("a")
    exhaust(press.publisher(start=start))
    press.add("b")
    press.cluster.delete(f"{press.name}-progress")
    press.cluster.create({f"{press.name}-progress": 1})
    with pytest.raises(
        InvalidProject, match=r"publish-history: .*that topic was deleted.*headrace restore --publish again"
    ):
        press.publisher(start=start).open()
    (press.folder / "published" / "one.json").unlink()
    if start is not None:
        exhaust(press.publisher(start=start))
    assert press.seen == ["a", *(["a", "b"] if start == "earliest" else [])]


def test_zombie_is_fenced_off(press: Press, capfd: pytest.CaptureFixture[str]) -> None:
    """In one line, which is the error's own: librdkafka calls this fatal, and prints it in lines of its own."""
    press.add("a")
    zombie, heir = exhaust(press.publisher()), press.publisher()
    exhaust(heir)
    press.add("b")
    with pytest.raises(HeadraceError, match="is published by another runner now, pid"):
        zombie.step()
    exhaust(heir)
    assert press.seen == ["a", "b"]
    assert "fenced" not in capfd.readouterr().err


def test_zombie_learns_of_its_heir_also_from_an_error_within_a_callback(
    press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    zombie, heir = exhaust(press.publisher()), press.publisher()
    exhaust(heir)
    press.add("a")

    def flush(_: Client, timeout: float = -1) -> int:
        raise SystemError("returned a result with an exception set") from KafkaException(KafkaError(KafkaError._FENCED))

    with monkeypatch.context() as patch:
        patch.setattr(Client, "flush", flush)
        with pytest.raises(HeadraceError, match="is published by another runner now, pid"):
            zombie.step()
    exhaust(heir)
    assert press.seen == ["a"]


def test_publisher_that_was_only_fenced_for_its_silence_goes_on(press: Press) -> None:
    made = exhaust(press.publisher())
    made.outlet.connect()  # as if the broker had ended a transaction of this one's that took too long
    press.add("a")
    with pytest.raises(KafkaException):
        made.step()
    made.close()
    exhaust(made)
    assert press.seen == ["a"]


def test_older_copy_of_the_table_is_refused(press: Press) -> None:
    """Otherwise what it gets next would take versions that count as sent."""
    press.add("a")
    trees.copy(press.table.path, press.folder / "copy")
    press.add("b", "c")
    exhaust(press.publisher())
    press.restore(press.folder / "copy")
    with pytest.raises(InvalidProject, match=r"publish-ahead: .* 2 rows after that"):
        press.publisher().open()


@pytest.mark.parametrize(
    ("choice", "seen"), [long("again", ["a", "b", "c", "b", "c", "d"]), ("skip", ["a", "b", "c", "d"])]
)
def test_older_copy_goes_on_as_chosen(press: Press, choice: Choice, seen: list[str]) -> None:
    press.add("a")
    trees.copy(press.table.path, press.folder / "copy")
    press.add("b", "c")
    exhaust(press.publisher())
    press.restore(press.folder / "copy")
    settle(press.publisher(), choice)
    press.add("b")
    press.add("c", "d")
    exhaust(press.publisher())
    exhaust(press.publisher())
    assert press.seen == seen


def test_table_of_another_data_directory_is_refused(press: Press) -> None:
    press.add("a")
    exhaust(press.publisher())
    press.restore(None)
    with pytest.raises(InvalidProject, match=r"publish-elsewhere: .* by pid"):
        press.publisher(replaced=()).open()
    exhaust(press.publisher(replaced=(press.former,)))


@pytest.mark.parametrize(("choice", "seen"), [("again", ["a", "z", "b"]), long("skip", ["a", "b"])])
def test_table_of_another_data_directory_goes_on_as_chosen(press: Press, choice: Choice, seen: list[str]) -> None:
    press.add("a")
    exhaust(press.publisher())
    press.restore(None)
    press.add("z")
    settle(press.publisher(replaced=()), choice)
    press.add("b")
    exhaust(press.publisher(replaced=()))
    assert press.seen == seen


def test_open_transaction_of_another_hides_no_progress(press: Press) -> None:
    settings = {"bootstrap.servers": press.cluster.bootstrap, "transactional.id": press.name}
    killed = Producer({**settings, "transaction.timeout.ms": 2_000, "log_level": 0})  # the broker ends it by itself
    killed.init_transactions(PATIENCE)
    killed.begin_transaction()
    killed.produce(f"{press.name}-progress", "{}", "another", 0)
    killed.flush(PATIENCE)
    press.add("a")
    exhaust(press.publisher())
    exhaust(press.publisher())
    assert press.seen == ["a"]


def test_two_publishers_share_the_progress_topic(press: Press) -> None:
    press.add("a")
    exhaust(press.publisher("one"))
    exhaust(press.publisher("two", start="earliest"))
    exhaust(press.publisher("one"))
    assert press.seen == ["a", "a"]


def test_table_with_history_asks_what_becomes_of_it(press: Press) -> None:
    press.add("a")
    with pytest.raises(InvalidProject, match="publish-history"):
        press.publisher("late").open()


@pytest.mark.parametrize(("start", "due"), [("earliest", ["a", "b"]), long("latest", ["b"])])
def test_history_is_sent_as_declared(press: Press, start: Literal["earliest", "latest"], due: list[str]) -> None:
    press.add("a")
    press.publisher("late", start).open()
    press.add("b")
    exhaust(press.publisher("late"))
    assert press.seen == due


def test_rows_in_memory_are_sent_as_those_in_files(press: Press) -> None:
    commit_cache, batches = CommitCache(), small_batches(press.spark.newSession())
    texts = ["z", "é漢😀", '"\\\n\t\u0000', "", "a"]
    for batch in range(3):
        rows = [(str(n), f"{text}{batch}", n, batch) for n, text in enumerate(texts)]
        cached = batches.put("rows", materialize(batches.session.createDataFrame(rows[::-1], SCHEMA).coalesce(1)))
        version = press.table.append(cached, {"query": "news", "batch": batch, "rows": len(rows)})
        commit_cache.put(press.table.path, version, cached)
    exhaust(press.publisher(commit_cache=commit_cache))
    assert press.seen == [f"{text}{batch}" for batch in range(3) for text in texts]
    records = press.cluster.committed(press.name)
    assert [record.key for record in records] == ["0", "1", "2", "3", "4"] * 3
