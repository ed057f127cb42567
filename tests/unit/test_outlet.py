"""What a publisher finds on the topic of progress, however long that is, and the notes of rows that it set aside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from headrace.errors import EnvironmentFault
from headrace.publishing import outlet, set_aside
from headrace.publishing.outlet import NEWEST, Outlet, read_progress
from headrace.publishing.progress import Progress, Recorded, Writer
from headrace.publishing.set_aside import KEPT, Notes
from headrace.store.paths import StorePath
from tests import buckets

BY = Writer("node1", 7, "/srv/shop", "run")
OURS, ANOTHER = "shop.local.one", "shop.local.another"


@dataclass
class Topic:
    """The topic of progress: records by offset, as a reader of what is committed sees them, and its ends."""

    records: Mapping[int, tuple[str, Progress]]
    first: int
    end: int
    stable: int | None = None
    """The offset of the first record of an open transaction."""
    read: int = 0
    begin: int = field(default=0, init=False)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Outlet:
        admin = SimpleNamespace(starts=self._starts, ends=self._ends)
        monkeypatch.setattr(outlet, "Consumer", lambda _: self)
        monkeypatch.setattr(outlet, "BrokerAdmin", lambda _: admin)
        return Outlet({}, "headrace-progress", OURS)

    def _starts(self, partitions: Mapping[str, Any]) -> dict[str, dict[int, int]]:
        return {topic: {0: self.first} for topic in partitions}

    def _ends(self, partitions: Mapping[str, Any], committed: bool) -> dict[str, dict[int, int]]:
        return {topic: {0: self.end} for topic in partitions}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.begin = partitions[0].offset

    def poll(self, timeout: float) -> Any:
        """The next message; after the last one the end of what can be read, once."""
        until = self.end if self.stable is None else self.stable
        while self.begin < until:
            self.begin, self.read, found = self.begin + 1, self.read + 1, self.records.get(self.begin)
            if found is not None:
                return _record(*found)
        self.begin += 1
        return _end(until) if self.begin == until + 1 else None

    def close(self) -> None:
        """Nothing is open."""


def _record(name: str, progress: Progress) -> Any:
    text = progress.to_json(BY).encode()
    return SimpleNamespace(error=lambda: None, key=name.encode, value=lambda: text)


def _end(offset: int) -> Any:
    at_end = KafkaError(KafkaError._PARTITION_EOF)
    return SimpleNamespace(error=lambda: at_end, offset=lambda: offset)


def found(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> Progress | None:
    recorded = read_progress(topic.install(monkeypatch))
    return recorded.progress if isinstance(recorded, Recorded) else None


def every_other(first: int, end: int) -> dict[int, tuple[str, Progress]]:
    """Records of two publishers; each offset between two is the end of a transaction."""
    names = (OURS, ANOTHER)
    return {at: (names[at // 2 % 2], Progress("table", version=at)) for at in range(first, end, 2)}


@pytest.mark.parametrize("length", [1, 3, 1000, NEWEST - 1, NEWEST, 10 * NEWEST])
def test_newest_record_is_found_with_as_little_reading(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    topic = Topic(every_other(0, length), 0, length)
    newest = max(at for at, (name, _) in topic.records.items() if name == OURS)
    assert found(topic, monkeypatch) == Progress("table", version=newest)
    assert topic.read <= NEWEST


def test_record_of_long_ago_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    records = {**{at: (ANOTHER, Progress("t", at)) for at in range(NEWEST * 20)}, 3: (OURS, Progress("t", 3))}
    topic = Topic(records, 0, len(records))
    assert found(topic, monkeypatch) == Progress("t", 3)
    assert topic.read < 1.5 * len(records)


@pytest.mark.parametrize("first", [0, 7])
def test_publisher_that_never_sent_has_no_progress(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    topic = Topic({9: (ANOTHER, Progress("t", 1))}, first, 10)
    assert read_progress(topic.install(monkeypatch)) is None
    assert read_progress(Topic({}, first, first).install(monkeypatch)) is None


def test_open_transaction_is_not_taken_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic({0: (OURS, Progress("t", 1))}, 0, 10, stable=4)
    with pytest.raises(EnvironmentFault, match="a transaction in it is still open"):
        read_progress(topic.install(monkeypatch))


@pytest.fixture(params=["disk", "bucket"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    """Where notes are."""
    return (tmp_path if request.param == "disk" else buckets.in_memory()) / "set_aside" / "one.ndjson"


def noted(file: StorePath) -> list[int]:
    return [json.loads(line)["position"] for line in file.read_text().splitlines()]


def test_notes_do_not_grow_without_bound(file: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_aside, "KEPT", 4)
    notes = Notes(file)
    for position in range(50):
        notes.add({("t", 0, position): {"reason": "too_large"}})
        assert noted(file)[-4:] == [*range(max(position - 3, 0), position + 1)] and len(noted(file)) <= 8


def test_row_that_is_met_again_is_noted_once(file: StorePath) -> None:
    rows: dict[Any, Any] = {("t", 0, position): {"reason": "too_large"} for position in range(3)}
    Notes(file).add(rows)
    Notes(file).add({**rows, ("t", 1, 3): {}})
    assert noted(file) == [0, 1, 2, 3]


def test_notes_of_a_transaction_outlast_the_crash_after_it() -> None:
    from headrace.publishing.publisher import CHUNK_ROWS

    assert KEPT >= CHUNK_ROWS
