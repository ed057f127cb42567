"""What a publisher's transactions hold: rows with their record, without those that the broker cannot take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from pyspark.sql import Row

from headrace.publishing.progress import Progress
from headrace.publishing.set_aside import Notes
from headrace.publishing.transactions import Message, Transactions

LIMIT = 5
"""The longest value that the broker takes."""


class FakeProducer:
    """Keeps what is committed; the broker answers when the producer flushes."""

    def __init__(self, committed: list[tuple[str, ...]], refusal: int | None) -> None:
        self._committed, self._refusal = committed, refusal
        self._open: list[str] = []
        self._answers: list[Callable[[], None]] = []

    def begin_transaction(self) -> None:
        self._open = []

    def produce(self, topic: str, key: str, value: str, on_delivery: Callable[..., None]) -> None:
        del topic, key
        self._open.append(value)
        code = KafkaError.MSG_SIZE_TOO_LARGE if len(value) > LIMIT else self._refusal
        if code is not None:
            self._answers.append(lambda: on_delivery(KafkaError(code), None))

    def record(self, progress: Progress) -> None:
        self._open.append(f"@{progress.position}")

    def flush(self, seconds: float) -> None:
        assert seconds > 0
        for answer in self._answers:
            answer()
        self._answers = []

    def commit_transaction(self, seconds: float) -> None:
        assert seconds > 0
        self._committed.append(tuple(self._open))


class FakeOutlet:
    """An outlet whose broker is in memory."""

    def __init__(self, refusal: int | None = None) -> None:
        self.committed: list[tuple[str, ...]] = []
        self.connected = 0
        self.missed: set[str] = set()
        self._refusal = refusal

    def connect(self) -> FakeProducer:
        self.connected += 1
        return FakeProducer(self.committed, self._refusal)

    def record(self, producer: FakeProducer, progress: Progress) -> None:
        producer.record(progress)

    def require(self, topics: set[str], table: str) -> None:
        assert table == "gold.sales"
        self.missed = topics


def opened(outlet: Any, folder: Path) -> Transactions:
    made = Transactions(outlet, {"sales"}, "gold.sales", Notes(folder / "sales.ndjson"))
    made.open()
    return made


def messages(*values: str) -> list[Message]:
    row = Row("topic", "key", "value")
    return [Message(row("sales", "k", value), Progress("id", 7, place)) for place, value in enumerate(values)]


def test_rows_and_progress_are_one_transaction(tmp_path: Path) -> None:
    outlet = FakeOutlet()
    made, after = opened(outlet, tmp_path), Progress("id", 7, 2)
    assert made.send(messages("a", "b"), after) == 2
    assert (outlet.committed, made.recorded, made.count_set_aside) == ([("a", "b", "@2")], after, 0)


def test_row_too_large_is_set_aside_and_the_others_are_sent_once(tmp_path: Path) -> None:
    outlet = FakeOutlet()
    made = opened(outlet, tmp_path)
    assert made.send(messages("a", "b", "too long", "d", "e"), Progress("id", 7, 5)) == 4
    assert outlet.committed == [("a", "b", "@2"), ("@3",), ("d", "e", "@5")]
    assert made.count_set_aside == 1
    assert '"reason": "too_large"' in (tmp_path / "sales.ndjson").read_text()


def test_producer_that_met_a_row_too_large_is_replaced(tmp_path: Path) -> None:
    outlet = FakeOutlet()
    opened(outlet, tmp_path).send(messages("too long"), Progress("id", 7, 1))
    assert (outlet.connected, outlet.committed) == (2, [("@1",)])


def test_other_refusal_commits_nothing_and_asks_for_the_topics(tmp_path: Path) -> None:
    outlet = FakeOutlet(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    made = opened(outlet, tmp_path)
    with pytest.raises(KafkaException):
        made.send(messages("a"), Progress("id", 7, 1))
    assert (outlet.committed, outlet.missed, made.recorded) == ([], {"sales"}, None)


def test_consequence_of_another_failure_is_not_reported(tmp_path: Path) -> None:
    codes = iter([KafkaError._PURGE_QUEUE, KafkaError.TOPIC_AUTHORIZATION_FAILED])

    class Purging(FakeOutlet):
        def connect(self) -> FakeProducer:
            producer = super().connect()
            produce = producer.produce

            def refuse(topic: str, key: str, value: str, on_delivery: Callable[..., None]) -> None:
                producer._refusal = next(codes)
                produce(topic, key, value, on_delivery)

            producer.produce = refuse  # type: ignore[method-assign]
            return producer

    with pytest.raises(KafkaException) as raised:
        opened(Purging(), tmp_path).send(messages("a", "b"), Progress("id", 7, 2))
    assert raised.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
