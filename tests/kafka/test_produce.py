"""Producing demo data and following topics on a real broker."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from itertools import islice

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from headrace.demo import manufacturer, sales, shipping
from headrace.demo.newest import newest_value
from headrace.demo.records import Record
from headrace.demo.sending import Sender, send
from headrace.errors import EnvironmentFault, UsageError
from headrace.project.model import Kafka
from headrace.reading import tail, topics
from headrace.reading.rows import Row
from headrace.reading.tail import Start, TopicFollower, Until, tail_topic
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.kafka

NOBODY = Kafka("127.0.0.1:1")


@pytest.fixture
def kafka(bootstrap: str) -> Kafka:
    return Kafka(bootstrap, create_topics=True)


@pytest.fixture
def topic(kafka: Kafka) -> str:
    """A topic of two partitions that nobody else uses."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    topics.ensure(kafka, {name: 2})
    return name


def followed(kafka: Kafka, topic: str, count: int) -> list[Row]:
    """The first records of a topic."""
    return list(islice(tail_topic(kafka, topic, until=Until(quiet=PATIENCE)), count))


def test_sent_records_are_acknowledged_and_read(kafka: Kafka, topic: str) -> None:
    sent = send(kafka, (Record(topic, f"k{n}", f'{{"n": {n}}}') for n in range(100)))
    rows = followed(kafka, topic, 100)
    assert (sent, sorted(row["value"]["n"] for row in rows)) == (100, list(range(100)))


@pytest.mark.parametrize("start", ["beginning", "end"])
def test_reader_without_brokers_is_replaced_and_goes_on(
    kafka: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    losses: list[KafkaException] = []

    def seen(*_: object) -> int:
        if losses:
            raise losses.pop()
        return 2

    monkeypatch.setattr(tail, "IDLE_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(tail, "seen_by", seen)
    found: list[str] = []

    def has_come(count: int) -> bool:
        found.extend(str(row["key"]) for row in follower.poll())
        return len(found) >= count

    with closing(TopicFollower(kafka, topic, start)) as follower:
        for number in (1, 2, 3):
            losses.append(KafkaException(KafkaError(KafkaError._TRANSPORT)))
            assert [*follower.poll()] == []  # in silence it looks, and is replaced
            assert losses == []
            send(kafka, [Record(topic, f"{number}-{each}", "{}") for each in range(5)])
            wait_for(partial(has_come, 5 * number), "what was sent", details=lambda: str(found))
    assert sorted(found) == [f"{number}-{each}" for number in (1, 2, 3) for each in range(5)]


def test_partitions_that_a_topic_gets_meanwhile_are_followed(
    kafka: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters go out as `headrace mail` follows a topic: those of new partitions waited for its next start."""
    monkeypatch.setattr(tail, "IDLE_CHECK_SECONDS", 0.0)
    with closing(TopicFollower(kafka, topic, "end")) as follower:
        assert [*follower.poll()] == []
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE)
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        producer.produce(topic, "{}", "new", partition=2)
        producer.flush()
        found: list[Row] = []

        def has_come() -> bool:
            found.extend(follower.poll())
            return bool(found)

        wait_for(has_come, "the record of the new partition")
    assert [(row["key"], row["partition"]) for row in found] == [("new", 2)]


def test_record_arrives_as_it_was_made(kafka: Kafka, topic: str) -> None:
    send(kafka, [Record(topic, "ü", '{"price": 1.10}', timestamp_ms=1_767_225_600_000)])
    (row,) = followed(kafka, topic, 1)
    assert (row["key"], str(row["value"]["price"]), row["timestamp"]) == (
        "ü",
        "1.10",
        datetime(2026, 1, 1, tzinfo=timezone.utc),
    )


def test_tombstone_and_text_are_distinguished(kafka: Kafka, topic: str) -> None:
    send(kafka, [Record(topic, "k", None), Record(topic, "k", "{text"), Record(topic, "k", "null")])
    assert [row["value"] for row in followed(kafka, topic, 3)] == [None, "{text", None]


def test_key_chooses_the_partition_as_in_java(kafka: Kafka, topic: str) -> None:
    hashes = {"21": -973932308, "foobar": -790332482, "abc": 479470107}  # murmur2, as Kafka's own tests state it
    send(kafka, [Record(topic, key, "1") for key in hashes])
    found = {row["key"]: row["partition"] for row in followed(kafka, topic, 3)}
    assert found == {key: (number & 0x7FFFFFFF) % 2 for key, number in hashes.items()}


def test_rate_spreads_records(kafka: Kafka, topic: str) -> None:
    send(kafka, [Record(topic, "k", "1")] * 5, rate=20)
    stamps = [row["timestamp"] for row in followed(kafka, topic, 5)]
    assert (stamps[-1] - stamps[0]).total_seconds() >= 0.15


def test_record_too_large_is_reported(kafka: Kafka, topic: str) -> None:
    with pytest.raises(EnvironmentFault):
        send(kafka, [Record(topic, "k", "x" * 2_000_000)])


def test_uncommitted_records_are_not_followed(kafka: Kafka, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, "aborted", "k")
    producer.flush()
    producer.abort_transaction()
    send(kafka, [Record(topic, "k", '"kept"')])
    assert [row["value"] for row in followed(kafka, topic, 1)] == ["kept"]


def test_following_from_the_end_skips_the_past(kafka: Kafka, topic: str) -> None:
    send(kafka, [Record(topic, "k", "1")])
    assert list(tail_topic(kafka, topic, "end", Until(quiet=2))) == []


def test_following_sees_what_comes_later(kafka: Kafka, topic: str) -> None:
    following = tail_topic(kafka, topic, until=Until(quiet=PATIENCE))
    threading.Timer(0.5, send, (kafka, [Record(topic, "k", "1")])).start()
    assert next(following)["value"] == 1


def test_unknown_topic_suggests_a_known_one(kafka: Kafka, topic: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean {topic}"):
        next(tail_topic(kafka, f"{topic}x"))


def test_missing_topic_is_not_made_unasked(bootstrap: str) -> None:
    with pytest.raises(UsageError, match="create_topics"):
        topics.ensure(Kafka(bootstrap), {f"test-{uuid.uuid4().hex}": 1})


def test_existing_topic_needs_no_leave(bootstrap: str, kafka: Kafka, topic: str) -> None:
    topics.ensure(Kafka(bootstrap), {topic: 9})
    assert topics.require(kafka, topic) == 2


def test_wrong_client_option_is_reported(bootstrap: str) -> None:
    with pytest.raises(UsageError, match=r"no\.such"):
        topics.existing(Kafka(bootstrap, {"no.such": "1"}))


def test_absent_broker_is_reported() -> None:
    with pytest.raises(EnvironmentFault, match="refused"):
        next(tail_topic(NOBODY, "any"))


def test_sales_run_at_full_speed(kafka: Kafka, topic: str) -> None:
    made = (Record(topic, record.key, record.value) for record in islice(sales.demo("r", 1), 5000))
    assert send(kafka, made) == 5000


@pytest.fixture
def workshop(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Iterator[Record]]:
    """A running manufacturer with its own topics, by the name of its consumer group."""
    own = uuid.uuid4().hex[:8]
    for module, name in ((shipping, "ORDERS"), (manufacturer, "ORDERS"), (shipping, "MANUFACTURED")):
        monkeypatch.setattr(module, name, f"test-{own}-{name.lower()}")
    topics.ensure(kafka, {shipping.ORDERS: 1, shipping.MANUFACTURED: 1})
    return lambda group: manufacturer.manufacture(kafka, manufacturer.Pace(delay=0.1), f"test-{own}-{group}")


def order(order_id: str) -> Record:
    return shipping.order(order_id, shipping.DEFAULT_ITEMS, datetime.now(timezone.utc))


def test_manufacturer_makes_each_ordered_item(kafka: Kafka, workshop: Callable[[str], Iterator[Record]]) -> None:
    send(kafka, [Record(shipping.ORDERS, "broken", "{"), order("a"), order("b")])
    list(islice(workshop("g"), 4))
    made = {(row["value"]["orderId"], row["value"]["productId"]) for row in followed(kafka, shipping.MANUFACTURED, 4)}
    assert made == {("a", 1), ("a", 2), ("b", 1), ("b", 2)}


def test_manufacturer_goes_on_where_it_stopped(kafka: Kafka, workshop: Callable[[str], Iterator[Record]]) -> None:
    send(kafka, [order("a")])
    working = workshop("g")
    list(islice(working, 2))
    send(kafka, [order("b")])
    next(working)  # the first order is done with by now
    working.close()  # type: ignore[attr-defined]
    assert next(workshop("g")).key == "b"


def test_sender_waits_for_acknowledgements(kafka: Kafka, topic: str) -> None:
    with Sender(kafka) as sender:
        sender.send(Record(topic, "k", "1"))
    assert sender.acknowledged == 1


def test_newest_value_of_a_key_is_found(kafka: Kafka, topic: str) -> None:
    send(kafka, [Record(topic, "a", '{"n": 1}'), Record(topic, "b", '{"n": 2}'), Record(topic, "a", '{"n": 3}')])
    assert (newest_value(kafka, topic, "a"), newest_value(kafka, topic, "c")) == ({"n": 3}, None)


def test_topic_is_followed_from_chosen_offsets(kafka: Kafka, topic: str) -> None:
    send(kafka, (Record(topic, f"k{n}", str(n)) for n in range(100)))
    rows = followed(kafka, topic, 100)
    ends = {partition: 1 + max(row["offset"] for row in rows if row["partition"] == partition) for partition in (0, 1)}
    send(kafka, [Record(topic, "k0", "100"), Record(topic, "k1", "101")])
    newer = islice(tail_topic(kafka, topic, ends, Until(quiet=PATIENCE)), 2)
    assert {row["value"] for row in newer} == {100, 101}
