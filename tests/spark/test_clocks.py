"""Ticks move each watermark by its own column: neither ahead of rows in time, nor too little for a window to close."""

from __future__ import annotations

import json
from datetime import timezone
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession

from headrace.landing import clocks
from headrace.landing.clocks import LandingClocks, clocks_of
from headrace.project import loader
from headrace.project.model import Input
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch, Cut
from headrace.testing.cases.landing import LandedBatch, land
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import long, one_of

pytestmark = pytest.mark.spark

COUNTS = """/*
Readings of a minute, one row per minute.
*/
with readings as (select at from stream {} delay of interval 1 minute)
select window.start as minute, count(*) as reading_count from readings group by window(at, '1 minute')
"""
MARKS = {
    "seconds": "bronze.readings watermark timestamp_seconds(data.ts) as at",
    "nested": "bronze.readings watermark data.of.at",
    "local": "silver.local_readings watermark at",
    "kafka": "bronze.readings watermark timestamp at",
    "plain": "silver.plain_readings watermark at",
}
FILES = {
    "manifest.yml": "name: clocks\nmodels: {silver: {+materialized: view}, gold: {+materialized: append}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/d.yml": """
landing: d
topics:
  readings:
    schema: {seen: timestamp, ts: bigint, of: 'struct<at: timestamp>', local: string}
    event_time: seen
  plain: {schema: {at: timestamp}, event_time: at}
  ahead: {schema: {at: timestamp}, event_time: at}
""",
    "sql/silver/d/local_readings.sql": """/*
Readings by the time in Tokyo, one row per reading.
*/
select to_timestamp(data.local, 'dd/MM/yyyy HH:mm:ss') as at from stream bronze.readings where data.local <> ''
""",
    "sql/silver/d/plain_readings.sql": """/*
Readings, one row per reading.
*/
select event_time as at from stream bronze.plain
""",
    **{f"sql/gold/d/{name}.sql": COUNTS.format(mark) for name, mark in MARKS.items()},
}
TEN = 1767261600
"""10:00 on 2026-01-01."""


@pytest.fixture(scope="module")
def models(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Models:
    root = tmp_path_factory.mktemp("clocks")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Models(sandbox, loader.load(root, "local"))


def reading(seconds: int) -> dict[str, Any]:
    """A reading so long after ten by all but its event time, which is two hours later; Tokyo is nine hours ahead."""
    clock = f"{seconds // 60:02}:{seconds % 60:02}"
    value = {"seen": f"2026-01-01T12:{clock}Z", "ts": TEN + seconds, "of": {"at": f"2026-01-01T10:{clock}Z"}}
    return {
        "key": "k",
        "value": {**value, "local": f"01/01/2026 19:{clock}"},
        "timestamp": f"2026-01-01T10:{clock}Z",
    }


def plain(seconds: int) -> dict[str, Any]:
    return {"key": "k", "value": {"at": f"2026-01-01T10:{seconds // 60:02}:{seconds % 60:02}Z"}}


AHEAD = {"key": "k", "value": {"at": "2026-01-01T23:00:00Z"}}
IN_TIME = [
    {"readings": [reading(10)], "plain": [plain(10)], "ahead": [AHEAD], "at": "2026-01-01T13:00:00Z"},
    {"at": "2026-01-01T13:01:30Z"},  # 10:01:40, the watermark 10:00:40
    {"readings": [reading(45)], "plain": [plain(45)], "at": "2026-01-01T13:01:31Z"},
    {"at": "2026-01-01T13:02:45Z"},  # 10:01:59, the watermark 10:00:59
]
CLOSES = {"at": "2026-01-01T13:02:46Z"}
"""One second later the watermark is 10:01."""


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_windows_close_in_idle_time_and_no_row_in_time_is_late(models: Models, cut: Cut) -> None:
    found = models.tables([f"gold.{name}" for name in MARKS], [*IN_TIME, CLOSES], cut)
    counted = {
        name: [(f"{row.minute:%H:%M}", row.reading_count) for row in rows.collect()] for name, rows in found.items()
    }
    assert counted == {f"gold.{name}": [("19:00" if name == "local" else "10:00", 2)] for name in MARKS}


@pytest.mark.long
def test_windows_stay_open_until_their_own_time_has_passed(models: Models) -> None:
    outcome = models.outcome([f"gold.{name}" for name in MARKS], IN_TIME)
    rows = [row for found in (outcome.late, outcome.stored) for frame in found.values() for row in frame.collect()]
    watermarks = {f"{watermark:%H:%M:%S}" for name, watermark in outcome.watermarks.items() if watermark}
    assert (rows, watermarks, len(outcome.watermarks)) == ([], {"10:00:59", "19:00:59"}, len(MARKS))


ORDERLESS = [
    {"readings": [reading(50)], "at": "2026-01-01T13:00:00Z"},
    {"readings": [reading(20)], "plain": [plain(7)], "at": "2026-01-01T13:00:10Z"},
    {"readings": [reading(50), {"key": "k", "value": {"ts": None}}], "at": "2026-01-01T13:00:20Z"},
    {"readings": [reading(30)], "at": "2026-01-01T13:00:30Z"},
    {"at": "2026-01-01T13:01:00Z"},
]


@pytest.mark.parametrize("many_restarts", [long(False), True])
def test_landing_reads_its_clocks_as_cases_do(models: Models, many_restarts: bool) -> None:
    """The largest value with its last landing, whether the commits are read at once, one by one, or after a restart."""
    *rows, tick = _landed(models, ORDERLESS)
    layout = models.sandbox.layout(models.project)
    made = _clocks(models, layout)
    for batch in rows:
        _append(models, layout, batch)
        if many_restarts:
            made.update()
            made = _clocks(models, layout)
        if batch.number == 1:
            made.update()
    assert json.loads(tick.rows[0].value) == {key: [*reading] for key, reading in made.update().items()}
    shown = {key.split(":")[0] + key.split(":")[1]: each for key, each in made.readings.items()}
    second = 1_000_000
    assert shown["silver.local_readingsat"] == ((TEN + 9 * 3600 + 50) * second, (TEN + 3 * 3600 + 20) * second)
    assert shown["bronze.readingsdata.of.at"] == ((TEN + 50) * second, (TEN + 3 * 3600 + 20) * second)
    assert shown["bronze.plainevent_time"] == ((TEN + 7) * second, (TEN + 3 * 3600 + 10) * second)


def test_long_history_is_not_read_for_clocks_that_are_found(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_FIRST_LOOK", 1)
    layout = models.sandbox.layout(models.project)
    for batch in _landed(models, ORDERLESS[:-1]):
        _append(models, layout, batch)
    made = _clocks(models, layout)
    readings = made.update()
    assert readings["bronze.readings:data.of.at"].value == (TEN + 30) * 1_000_000  # of the newest commit
    assert readings["bronze.plain:event_time"].value == (TEN + 7) * 1_000_000  # of one long ago


def test_sql_that_fails_stops_one_clock_only(models: Models) -> None:
    layout = models.sandbox.layout(models.project)
    bad = reading(10)
    bad["value"]["local"] = "soon"
    for batch in _landed(models, [{"readings": [bad], "at": "2026-01-01T13:00:00Z"}]):
        _append(models, layout, batch)
    found = {key.split(":")[0] for key in _clocks(models, layout).update()}
    assert found == {"bronze.readings"}


def _landed(models: Models, given: list[Any]) -> tuple[LandedBatch, ...]:
    return land(models.sandbox.judge, models.project, TypeAdapter(tuple[Batch, ...]).validate_python(given)).batches


def _append(models: Models, layout: Layout, batch: LandedBatch) -> None:
    moment = batch.rows[0].landed_at.astimezone(timezone.utc).isoformat()
    marker = {"query": "ingest_d", "batch": batch.number, "records": len(batch.rows), "landed_at": moment}
    models.sandbox.landing_table(layout, "d").append(models.sandbox.files_of(batch), marker)


def _clocks(models: Models, layout: Layout) -> LandingClocks:
    (landing,) = models.project.landings
    made = clocks_of(models.sandbox.spark, models.project, landing, _none)
    return LandingClocks(models.sandbox.landing_table(layout, "d"), landing, made)


def _none(session: SparkSession, ref: Input) -> DataFrame:
    raise AssertionError(f"nothing is looked up, but {ref.table} was")
