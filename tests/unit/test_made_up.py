"""Made-up events: by the seed, within the declared schemas, with keys that meet."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headrace.errors import Place
from headrace.project import loader
from headrace.project.model import Field, Project, Topic
from headrace.testing.cases.case import Batch
from headrace.testing.cut_trials import made_times
from headrace.testing.cut_trials.compared import compared
from headrace.testing.cut_trials.made_up import Maker, key_field

FILES = {
    "manifest.yml": "name: made\nvars: {limit: 50, kinds: [tea, milk]}\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/things.yml": """
landing: things
topics:
  things:
    schema:
      id: string not null
      size: bigint
      kindOf: string
      parts: "array<struct<name: string, price: decimal(4,2)>>"
      by_day: "map<string, double>"
      madeAt: timestamp
    event_time: madeAt
    reject: {key_mismatch: id <> key}
  names: {schema: string, null_value: allow}
""",
    "sql/gold/things/big_things.sql": """/*
Things of a size, one row per thing.
*/
with things as (
    select data.size as how_big, data.kindOf as kind_of, _arrival from stream bronze.things
)
select * from things where how_big >= :limit and kind_of in (:kinds)
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("made")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return loader.load(Path(root), "local")


def made(project: Project, seed: int = 1, count: int = 400, lag: int = 60, **options: Any) -> tuple[Batch, ...]:
    topics = project.landings[0].topics
    return Maker(topics, compared(project), timedelta(seconds=lag), Random(seed), **options).batches(count)


def bodies(batches: tuple[Batch, ...]) -> list[dict[str, Any]]:
    found = [record.value for batch in batches for record in batch.records.get("things", ())]
    return [value for value in found if value is not None]


def test_one_seed_gives_the_same_events(project: Project) -> None:
    assert made(project) == made(project) != made(project, seed=2)


def test_each_event_lands_by_itself_in_order(project: Project) -> None:
    batches = made(project)
    times = [batch.at for batch in batches if batch.at]
    assert times == sorted(times)
    assert {len(batch.records) for batch in batches} == {0, 1}
    assert not batches[-1].records


def test_fields_have_the_declared_types(project: Project) -> None:
    for body in bodies(made(project)):
        assert set(body) == {"id", "size", "kindOf", "parts", "by_day", "madeAt"}
        assert isinstance(body["size"], (int, type(None)))
        assert all(set(part) == {"name", "price"} and abs(part["price"]) < 100 for part in body["parts"] or ())
        json.dumps(body)


def test_compared_values_are_taken_with_their_neighbours(project: Project) -> None:
    found = bodies(made(project))
    assert {49, 50, 51} <= {body["size"] for body in found}
    assert {"tea", "milk"} <= {body["kindOf"] for body in found}


def test_keys_meet_and_follow_their_rule(project: Project) -> None:
    records = [record for batch in made(project) for record in batch.records.get("things", ()) if record.value["id"]]
    assert all(record.key == record.value["id"] for record in records)
    assert Counter(record.key for record in records).most_common(3)[-1][1] > 20


def test_nulls_come_where_they_are_allowed(project: Project) -> None:
    names = [record for batch in made(project) for record in batch.records.get("names", ())]
    assert {type(record.value) for record in names} == {type(None), str}
    assert None in {body["size"] for body in bodies(made(project))}


def test_event_times_lag_no_more_than_declared(project: Project) -> None:
    lags = [
        batch.at - record.timestamp
        for batch in made(project, lag=30)
        for records in batch.records.values()
        for record in records
        if batch.at and record.timestamp
    ]
    assert timedelta() == min(lags) < max(lags) <= timedelta(seconds=30)


def test_positive_numbers_divide_everything(project: Project) -> None:
    assert min(body["size"] for body in bodies(made(project, positive=True)) if body["size"] is not None) >= 1


def test_key_field_is_that_of_the_rule(project: Project) -> None:
    topics: tuple[Topic, ...] = project.landings[0].topics
    assert [key_field(topic) for topic in topics] == ["id", None]


@pytest.mark.parametrize(
    ("field", "event_time", "unit", "expected"),
    [
        ("bigint", "at", None, 1767225630000),
        ("bigint", "at", "s", 1767225630),
        ("double", "at", "us", 1767225630e6),
        ("bigint", "timestamp_seconds(data.at)", None, 1767225630),
        ("bigint", "timestamp_seconds((at / 1000))", None, 1767225630000),
        ("bigint", "timestamp_millis(cast(at as bigint) * 10)", None, 176722563000),
        ("string", "to_timestamp(at, 'dd/MM/yyyy HH:mm:ss')", None, "01/01/2026 00:00:30"),
        ("string", "to_utc_timestamp(try_to_timestamp(at, 'yyyyMMddHHmmss'), 'Asia/Tokyo')", None, "20260101000030"),
        ("string", "at::timestamp", None, "2026-01-01T00:00:30"),
    ],
)
def test_values_fit_the_event_time(field: str, event_time: str, unit: Any, expected: Any) -> None:
    fields = (Field("at", field, False),)
    topic = Topic("things", "things", Place(""), "", fields, event_time=event_time, event_time_unit=unit)
    (value_at,) = made_times.of(topic).values()
    assert value_at(datetime(2026, 1, 1, 0, 0, 30, tzinfo=timezone.utc)) == expected
