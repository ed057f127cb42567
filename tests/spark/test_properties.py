"""How records change places: only as far as a watermark allows."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import Row

from headrace.project import loader
from headrace.project.model import LANDING_COLUMNS
from headrace.testing.cases.landing import Landed, LandedBatch
from headrace.testing.properties import delay, shuffled

START = datetime(2026, 1, 1, 10)
PROJECT = loader.load(Path(__file__).parents[2], "test")


def batch(number: int, *seconds: int, is_tick: bool = False) -> LandedBatch:
    """A landing batch of records with these event times."""
    rows = []
    for each in seconds:
        cells = dict.fromkeys(name for name, _ in LANDING_COLUMNS)
        own = {"landing_batch": number, "offset": each, "event_time": START + timedelta(seconds=each)}
        rows.append(Row(**{**cells, **own, "landed_at": START + timedelta(hours=number)}))
    return LandedBatch("sales", number, tuple(rows), is_tick)


def offsets(landed: Landed) -> list[set[int]]:
    return [{row["offset"] for row in each.rows} for each in landed.batches]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ((batch(0, 1, 2), batch(1, 50)), [{50}, {1, 2}]),
        ((batch(0, 1, 2), batch(1, 61)), [{1, 2}, {61}]),
        ((batch(0, 1), batch(1, 2), batch(2, 3)), [{2}, {1}, {3}]),
        ((batch(0, 1), batch(1, 2, is_tick=True)), [{1}, {2}]),
    ],
)
def test_neighbours_change_places_within_the_delay(batches: tuple[LandedBatch, ...], expected: list[set[int]]) -> None:
    assert offsets(shuffled(Landed(batches), timedelta(minutes=1), Random(1))) == expected


def test_records_land_when_their_new_place_does() -> None:
    (first, _) = shuffled(Landed((batch(0, 1), batch(1, 2))), timedelta(minutes=1), Random(1)).batches
    assert [(row.landing_batch, row.landed_at, row.offset) for row in first.rows] == [(0, START, 2)]


def test_delay_is_that_of_the_text() -> None:
    assert delay(PROJECT, PROJECT.model("gold.sales_per_minute")) == timedelta(minutes=1)
