"""What `event_time:` may be: a field at any depth, a number with its unit, SQL; anything else is found."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Place
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import FieldTime, SqlTime
from headrace.project.model import Field, Topic

TYPES = {
    "at": "timestamp",
    "ms": "bigint",
    "secs": "double",
    "text": "string",
    "event-time": "timestamp",
    "of": "struct<at: timestamp, `a b`: struct<ts: bigint>>",
    "list": "array<struct<ts: bigint>>",
}
PLACE = Place("sql/bronze/things.yml", 3, 5)


def topic(event_time: str, unit: Any = None, scalar: str | None = None, **more: str) -> Topic:
    fields = () if scalar else tuple(Field(name, kind, False) for name, kind in {**TYPES, **more}.items())
    return Topic("things", "things", PLACE, "", fields, scalar, event_time, unit)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (topic("at"), FieldTime(("at",), "timestamp", None)),
        (topic("ms"), FieldTime(("ms",), "bigint", "ms")),
        (topic("ms", "s"), FieldTime(("ms",), "bigint", "s")),
        (topic("secs", "s"), FieldTime(("secs",), "double", "s")),
        (topic("event-time"), FieldTime(("event-time",), "timestamp", None)),
        (topic("of.at"), FieldTime(("of", "at"), "timestamp", None)),
        (topic("data.of.`a b`.ts", "us"), FieldTime(("of", "a b", "ts"), "bigint", "us")),
        (topic("data.at"), FieldTime(("at",), "timestamp", None)),
        (topic("data.at", data="struct<at: bigint>"), FieldTime(("data", "at"), "bigint", "ms")),
        (topic("data", "s", scalar="int"), FieldTime((), "int", "s")),
        (topic("timestamp_seconds(data.ms)"), SqlTime("timestamp_seconds(data.ms)")),
        (topic("coalesce(at, OF.at, list[0].ts, timestamp)"), SqlTime("coalesce(at, OF.at, list[0].ts, timestamp)")),
    ],
)
def test_forms_that_give_a_time(declared: Topic, expected: FieldTime | SqlTime) -> None:
    assert (event_times.of(declared), [*event_times.findings(declared, PLACE)]) == (expected, [])


@pytest.mark.parametrize(
    ("declared", "code", "word"),
    [
        (topic("att"), "unknown-column", "mean at?"),
        (topic("of.att"), "unknown-column", "mean at?"),
        (topic("att", "s"), "unknown-column", "mean at?"),
        (topic("list.ts"), "unknown-column", "list.ts"),
        (topic("timestamp"), "unknown-column", "timestamp"),
        (topic("timestamp_seconds(mss)", "s"), "unknown-column", "mss"),
        (topic("timestamp_seconds(mss)"), "unknown-column", "mean ms?"),
        (topic("timestamp_seconds(data.mss)"), "unknown-column", "mean ms?"),
        (topic("timestamp_seconds(of.`a b`.tz)"), "unknown-column", "no field `tz`"),
        (topic("coalesce(at, event_time)"), "unknown-column", "event_time"),
        (topic("text"), "bad-value", "to_timestamp(text"),
        (topic("secs"), "bad-value", "unit: s"),
        (topic("of"), "bad-value", "struct"),
        (topic("at", "s"), "bad-value", "only a number"),
        (topic("to_timestamp(text,"), "syntax", ""),
        (topic("at as time"), "syntax", "alias"),
        (topic("reflect('java.lang.System', 'exit', 1)"), "not-allowed", "reflect"),
    ],
)
def test_what_gives_no_time_is_found(declared: Topic, code: str, word: str) -> None:
    (found,) = event_times.findings(declared, PLACE)
    assert (found.code, word in found.message) == (code, True), found.message


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Topic("things", "things", PLACE), ("timestamp",)),
        (topic("data.of.at"), ("value.of.at",)),
        (topic("coalesce(at, data.of.at, at, timestamp)"), ("value.at", "value.of.at", "timestamp")),
    ],
)
def test_origins_are_parts_of_the_record(declared: Topic, expected: tuple[str, ...]) -> None:
    assert event_times.origins(declared) == expected
