"""What has landed, in the order of its arrival: oracles of systems whose results depend on that order go by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.kafka.oracle import Acked
from tests.kafka.outcome import Results

SEEDED = -1
"""The partition of rows that come from a file of the project."""


@dataclass(frozen=True)
class Arrival:
    """A usable record, and its place: landing batch, topic, partition and offset."""

    place: tuple[int, str, int, int]
    key: str | None
    value: str | None
    timestamp: datetime

    @property
    def topic(self) -> str:
        return self.place[1]

    @property
    def at(self) -> int:
        """Its time in milliseconds."""
        return round(self.timestamp.timestamp() * 1000)

    @property
    def body(self) -> Any:
        return None if self.value is None else json.loads(self.value, parse_float=Decimal)


def arrivals(results: Results, tables: Iterable[str]) -> list[Arrival]:
    """The usable records of some bronze tables of one landing."""
    rows = [row for table in tables for row in results.rows(table) if row["reject_reason"] is None]
    found = [Arrival(_place(row), row["key"], row["value"], moment(row["timestamp"])) for row in rows]
    return sorted((each for each in found if each.place[2] != SEEDED), key=lambda each: each.place)


def is_all_landed(results: Results, tables: Mapping[str, str]) -> bool:
    """Whether all that is at the topics is in their bronze tables."""
    return all(_landed(results, table) >= _committed(results, topic) for topic, table in tables.items())


def check_landed(results: Results, acked: Iterable[Acked], tables: Mapping[str, str]) -> None:
    """Each record of the topics stands in its bronze table once, as it was sent."""
    for topic, table in tables.items():
        rows = [row for row in results.rows(table) if row["partition"] != SEEDED]
        found = {(row["partition"], row["offset"]): (row["key"], row["value"]) for row in rows}
        assert (len(rows), found.keys()) == (len(found), _committed(results, topic)), f"{table} is not {topic}"
        sent = {(each.partition, each.offset): _text(each) for each in acked if each.topic == topic}
        assert {place: found[place] for place in sent} == sent, f"{table} has other values than {topic}"


def moment(text: str) -> datetime:
    """A time as a row shows it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def millis(text: str) -> int:
    """The same in milliseconds."""
    return round(moment(text).timestamp() * 1000)


def _landed(results: Results, table: str) -> set[tuple[int, int]]:
    return {(row["partition"], row["offset"]) for row in results.rows(table)}


def _committed(results: Results, topic: str) -> set[tuple[int, int]]:
    return {(record.partition, record.offset) for record in results.committed(topic)}


def _place(row: Mapping[str, Any]) -> tuple[int, str, int, int]:
    return row["landing_batch"], row["topic"], row["partition"], row["offset"]


def _text(record: Acked) -> tuple[str | None, str | None]:
    key, value = (None if part is None else part.decode() for part in (record.key, record.value))
    return key, value
