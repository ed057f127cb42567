"""sql/bronze/*.yml."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from headrace.errors import InvalidProject

PATH = "sql/bronze/shipping.yml"
TOPIC = "landing: shipping\ntopics:\n  orders:\n    schema: {id: string, items: array<int>, ts: bigint}\n"


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that is nine hours ahead."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_topics_are_read(project_files):
    landing, orders = project_files.load().topic("orders")
    assert (landing.name, landing.query) == ("shipping", "ingest_shipping")
    assert orders.topic == "orders"
    assert [(field.name, field.type, field.required) for field in orders.fields] == [
        ("id", "string", True),
        ("orderDate", "timestamp", False),
        ("items", "array<struct<id: bigint, name: string>>", True),
    ]
    assert orders.event_time == "orderDate"
    assert orders.reject == (("key_mismatch", "id <> key"),)
    assert (orders.null_key, orders.null_value, orders.start, orders.partitions) == (False, False, "earliest", 1)


def test_options_of_a_topic_are_read(project_files):
    project_files.edit(
        PATH,
        "  manufactured:\n",
        "  manufactured:\n    topic: made-v1\n    null_key: allow\n    null_value: allow\n    partitions: 3\n",
    )
    topic = project_files.load().topic("manufactured")[1]
    assert (topic.topic, topic.null_key, topic.null_value, topic.partitions) == ("made-v1", True, True, 3)


def test_landing_keeps_its_rows_for_a_time(project_files):
    assert project_files.load().landings[0].keep is None
    project_files.edit(PATH, "landing: shipping\n", "landing: shipping\nkeep: 30 days\nkeep_history: 12h\n")
    (landing,) = project_files.load().landings
    assert (landing.keep, landing.keep_history) == (30 * 86_400, 12 * 3_600)


@pytest.mark.parametrize("keep", ["5m", "a month", "30"])
def test_landing_keeps_its_rows_for_no_other_time(project_files, keep):
    project_files.edit(PATH, "landing: shipping\n", f"landing: shipping\nkeep: {keep}\n")
    assert project_files.findings() == [f"{PATH}:3:7 bad-value"]


def test_schema_may_be_a_bare_scalar(project_files):
    project_files.write("sql/bronze/shop.yml", "landing: shop\ntopics:\n  stock: {schema: long}\n")
    topic = project_files.load().topic("stock")[1]
    assert (topic.scalar, topic.fields, topic.ddl) == ("bigint", (), "bigint")


def test_clock_of_a_landing_is_a_relation(project_files):
    landing, clock = project_files.load().topic("shipping_clock")
    assert (landing.name, clock.is_clock, clock in landing.topics) == ("shipping", True, False)


def test_source_cannot_be_named_as_a_clock(project_files):
    project_files.edit(PATH, "  manufactured:", "  shipping_clock:")
    assert project_files.findings() == [f"{PATH}:8:3 bad-name"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("latest", "latest"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:05+09:00", "2026-01-02T03:04:05+09:00"),
        ("5", 5),
        ("0", 0),
        ("20240115", 20240115),
        ("1704067200000", 1704067200000),
        ("{0: 120, 1: 5}", {"0": 120, "1": 5}),
        ('{"orders": {"0": 120}}', {"0": 120}),
    ],
)
def test_start_takes_what_reset_takes(project_files, start, expected):
    project_files.edit(PATH, "    event_time: orderDate\n", f"    event_time: orderDate\n    start: {start}\n")
    assert project_files.load().topic("orders")[1].start == expected


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2024-01-01 12:00:00", 1704110400),
        ("2024-01-01T12:00:00.5", 1704110400.5),
        ("2024-01-01 12:00", 1704110400),
        ("2024-01-01", 1704067200),
        ("2024-01-01T12:00:00+09:00", 1704078000),
    ],
)
def test_time_without_a_zone_is_utc(project_files, in_tokyo, start, expected, quote):
    """YAML makes a time or a date of some of them if they are not in quotes."""
    project_files.edit(PATH, "    event_time: orderDate\n", f"    start: {quote}{start}{quote}\n")
    assert datetime.fromisoformat(project_files.load().topic("orders")[1].start).timestamp() == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("start: sometime", "5:12 bad-value"),
        ("start: -5", "5:12 bad-value"),
        ("start: 5.0", "5:12 bad-value"),
        ("start: true", "5:12 bad-value"),
        ("start: '5'", "5:12 bad-value"),
        ("start: '20240115'", "5:12 bad-value"),
        ("start: 20240115T10", "5:12 bad-value"),
        ("start: 2024-01", "5:12 bad-value"),
        ("start: 2026-02-30", "5:12 bad-value"),
        ("start: '2024-13-01'", "5:12 bad-value"),
        ("start: {}", "5:12 bad-value"),
        ("start: {0: -1}", "5:12 bad-value"),
        ("start: {0: true}", "5:12 bad-value"),
        ("start: {-1: 5}", "5:12 bad-value"),
        ("start: {'²': 5}", "5:12 bad-value"),
        ("start: {orders: {}}", "5:12 bad-value"),
        ("start: {manufactured: {0: 1}}", "5:12 bad-value"),
        ("event_time: tz", "5:17 unknown-column"),
        ("event_time: id", "5:17 bad-value"),
        ("event_time: {field: id, unit: s}", "5:17 bad-value"),
        ("event_time: {field: id, unit: weeks}", "5:35 bad-value"),
        ("event_time: {field: id}", "5:5 missing-key"),
        ("event_time: [id]", "5:17 bad-value"),
        ("event_time: timestamp_seconds(tz)", "5:17 unknown-column"),
        ("event_time: to_timestamp(id,", "5:17 syntax"),
        ("reject: {bad: id =}", "5:19 syntax"),
        ("reject: {bad: idd <> key}", "5:19 unknown-column"),
        ("reject: {Bad: id <> key}", "5:19 bad-name"),
        ("null_key: yes", "5:15 bad-value"),
        ("reject:", "5:5 bad-value"),
        ("partitions: 0", "5:17 bad-value"),
        ("topic: my orders!", "5:12 bad-name"),
        ("topic: ..", "5:12 bad-name"),
        ("topic: ''", "5:12 bad-name"),
        ("topic: headrace-progress", "5:12 bad-name"),
        (f"topic: {'a' * 250}", "5:12 bad-name"),
        ("evnt_time: ts", "5:5 unknown-key"),
    ],
)
def test_broken_topic_has_findings(project_files, keys, expected):
    project_files.write(PATH, f"{TOPIC}    {keys}\n  manufactured: {{schema: {{a: int}}}}\n")
    assert f"{PATH}:{expected}" in project_files.findings()


def test_start_that_is_misspelt_has_advice(project_files):
    project_files.write(PATH, f"{TOPIC}    start: earlyest\n")
    with pytest.raises(InvalidProject, match=r"Did you mean earliest\?$"):
        project_files.load()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topics: {orders: {schema: {id: string}}}", "1:1 missing-key"),
        ("landing: shipping\ntopics: {}", "2:9 bad-value"),
        ("landing:\ntopics: {orders: {schema: {id: string}}}", "1:1 bad-value"),
        ("landing: shipping\ntopics:\n  orders:\n    schema:\n      id:\n", "5:7 bad-value"),
        ("landing: shipping\ntopics: {orders: {}}", "2:10 missing-key"),
        ("landing: shipping\ntopics: {orders: {schema: {}}}", "2:27 bad-value"),
        ("landing: shipping\ntopics: {orders: {schema: {id: strng}}}", "2:32 bad-value"),
        ("landing: shipping\ntopics: {Orders: {schema: {id: string}}}", "2:10 bad-name"),
        ("landing: shipping\ntopics: {dead_letters: {schema: {id: string}}}", "2:10 bad-name"),
    ],
)
def test_broken_file_has_findings(project_files, text, expected):
    project_files.write(PATH, text)
    assert f"{PATH}:{expected}" in project_files.findings()


def test_broken_topic_spoils_no_other(project_files):
    project_files.edit(PATH, "event_time: orderDate", "event_time: orderDay")
    project_files.edit("sql/silver/shipping/orders.sql", "stream bronze.orders", "stream bronze.manufcatured")
    assert project_files.findings() == [
        f"{PATH}:6:17 unknown-column",
        "sql/silver/shipping/orders.sql:5:6 unknown-table",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("landing: shipping\ntopics: {a: {schema: int}}", "1:10 duplicate-landing"),
        ("landing: other\ntopics: {orders: {topic: o2, schema: int}}", "2:10 duplicate-source"),
        ("landing: other\ntopics: {a: {topic: orders, schema: int}}", "2:10 duplicate-topic"),
    ],
)
def test_landings_share_nothing(project_files, text, expected):
    project_files.write("sql/bronze/x.yml", text)
    assert project_files.findings() == [f"sql/bronze/x.yml:{expected}"]
