"""Where a run of the small project happens: its texts, a data directory and topics, and what is found there."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from deltalake import DeltaTable
from tenacity import Retrying, retry_if_exception_type, stop_after_delay

from headrace.project import loader, selection
from headrace.project.model import TICK_TOPIC, Project
from headrace.store.layout import Layout
from tests.faults.ledger import FACTORS
from tests.kafka.oracle import Acked
from tests.kafka.stage import Stage
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parent / "project"
PAYMENTS, NOTICES, SPANS = "payments", "notices", "spans"
PARTITIONS = {PAYMENTS: 2, NOTICES: 1, SPANS: 1}
STREAMED = "spans"
"""The model that Spark's streaming engine runs."""

_EDITS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "reworded": {"counted": "summed"},
    "doubled": {"sum(amount) as amount": "sum(2 * amount) as amount"},
}
assert _EDITS.keys() == FACTORS.keys()


def streamed() -> Project:
    """The part of the project that Spark's streaming engine runs."""
    return selection.narrowed(loader.load(PROJECT, "test"), (STREAMED,))


def edited(folder: Path) -> Mapping[str, Project]:
    """The part that runs in micro-batches, with each text that the model of counts may have."""
    found = {}
    for name, changes in _EDITS.items():
        copy = shutil.copytree(PROJECT, folder / name.replace(" ", "-"))
        file = copy / "sql/silver/accounts/notice_counts.sql"
        text = file.read_text("utf-8")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        file.write_text(text, "utf-8")
        found[name] = selection.narrowed(loader.load(copy, "test"), (), (STREAMED,))
    return found


@dataclass
class Place:
    """A data directory and a target of its own, on a broker that others have used before."""

    stage: Stage
    folder: Path
    texts: Mapping[str, Project]
    topic: str
    """Where rows are published to."""
    _sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _read: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self._first = len(self.stage.acked)
        self._empty_topics()

    def project(self, text: str, data: Path | None = None) -> Project:
        """The project with some text, here; its data are in a folder of their own if one is named."""
        found = self.texts[text]
        # Spark caches consumers by their group alone, even if the broker is another.
        options = {**found.target.kafka.options, "group.id": f"tests-at-{self.stage.bootstrap}"}
        kafka = replace(found.target.kafka, bootstrap=self.stage.bootstrap, options=options)
        target = replace(found.target, kafka=kafka, data_dir=data or self.folder / "data", name=self.folder.name)
        return replace(found, target=target)

    @property
    def layout(self) -> Layout:
        return Layout(self.folder / "data")

    @property
    def acked(self) -> list[Acked]:
        """What was sent here, and acknowledged."""
        return self.stage.acked[self._first :]

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The rows of a table in their order."""
        table = self.layout.root / "tables" / path
        if not (table / "_delta_log").is_dir():
            return []
        entries = frozenset((file.name, file.stat().st_mtime_ns) for file in (table / "_delta_log").glob("*.json"))
        if self._read.get(path, (None,))[0] != entries:
            rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
            self._read[path] = (entries, sorted(rows, key=_order))
        return self._read[path][1]

    def landed(self) -> list[dict[str, Any]]:
        """The records of the landing table."""
        return [row for row in self.rows("_landing/accounts") if row["topic"] != TICK_TOPIC]

    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        """The records of the topic that readers may see by now."""
        # Assigned again, as a consumer says only once that it is at an end.
        self._reader.assign([TopicPartition(self.topic, 0, self._next)])
        while (message := self._reader.poll(PATIENCE)) is not None:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return self._sent
            self._next = (message.offset() or 0) + 1
            self._sent.append(((message.key() or b"").decode(), json.loads(message.value() or b"null")))
        raise AssertionError(f"{self.topic} cannot be read")

    def all_sent(self) -> list[tuple[str, dict[str, Any]]]:
        """The records of the topic, once every transaction that has ended can be seen."""
        return [(str(record.key), record.value) for record in self.stage.committed(self.topic)]

    def batches(self) -> Iterator[tuple[Path, Counter[tuple[str, int]]]]:
        """Of each table, how many entries of its log are about each batch."""
        for log in self.layout.root.glob("tables/*/*/_delta_log"):
            yield log.parent, Counter(_batches(log))

    def close(self) -> None:
        """Remove what is here."""
        self._reader.close()
        shutil.rmtree(self.folder)

    @cached_property
    def _reader(self) -> Consumer:
        settings = {"bootstrap.servers": self.stage.bootstrap, "group.id": "reader", "enable.auto.commit": False}
        settings |= {"isolation.level": "read_committed", "enable.partition.eof": True, "fetch.wait.max.ms": 5}
        return Consumer({**settings, "log_level": 0})

    def _empty_topics(self) -> None:
        """Drop the records of earlier runs; a broker that is busy may not know yet that it leads a partition."""
        ends = [TopicPartition(topic, number, -1) for topic, count in PARTITIONS.items() for number in range(count)]
        for attempt in Retrying(retry=retry_if_exception_type(KafkaException), stop=stop_after_delay(PATIENCE)):
            with attempt:
                done = {at: each.result(PATIENCE) for at, each in self.stage.admin.delete_records(ends).items()}
        self.begins = {at.partition: each.low_watermark for at, each in done.items() if at.topic == PAYMENTS}
        (self._next,) = (each.low_watermark for at, each in done.items() if at.topic == self.topic)


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    if "landing_batch" in row:
        return row["landing_batch"], row["partition"], row["offset"]
    return row["_batch"], tuple(row.get("_arrival", {}).values())


def _batches(log: Path) -> Iterator[tuple[str, int]]:
    """The batches that the entries of a log are about."""
    for entry in log.glob("*.json"):
        for action in map(json.loads, entry.read_text("utf-8").splitlines()):
            marker = json.loads(action.get("commitInfo", {}).get("userMetadata") or "{}")
            if "batch" in marker:
                yield marker["query"], marker["batch"]
