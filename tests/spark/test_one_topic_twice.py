"""One topic that a model of the streaming engine reads more than once: self joins, its parts joined or united."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.project import loader
from headrace.testing.cases.case import Cut
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

MARK = "watermark at delay of interval 1 minute"
FILES = {
    "manifest.yml": "name: doors\nmodels: {silver: {+materialized: view}, gold: {+materialized: append}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/d.yml": """
landing: d
topics:
  moves: {schema: {door: string not null, at: timestamp not null}, event_time: at}
""",
    "sql/silver/d/entries.sql": """/*
People who come in, one row per move.
*/
select key as person, data.door, event_time as at from stream bronze.moves where data.door = 'in'
""",
    "sql/silver/d/exits.sql": """/*
People who go out, one row per move.
*/
select key as person, data.door, event_time as at from stream bronze.moves where data.door = 'out'
""",
    "sql/silver/d/moves.sql": """/*
Moves in and out, one row per move.
*/
select person, door, at from stream silver.entries
union all
select person, door, at from stream silver.exits
""",
    "sql/gold/d/stays.sql": f"""/*
Stays with or without an end within an hour, one row per entry.
*/
with entries as (select person, at from stream silver.entries {MARK}),
exits as (select person, at from stream silver.exits {MARK})
select entries.person, entries.at as came_at, exits.at as left_at
from entries
left join exits
    on entries.person = exits.person and exits.at between entries.at and entries.at + interval 1 hour
""",
    "sql/gold/d/returns.sql": f"""/*
Entries that follow another within an hour, one row per pair.
*/
with first_entries as (select person, at from stream silver.entries {MARK}),
next_entries as (select person, at from stream silver.entries {MARK})
select first_entries.person, first_entries.at as came_at, next_entries.at as again_at
from first_entries
join next_entries
    on first_entries.person = next_entries.person
    and next_entries.at > first_entries.at
    and next_entries.at <= first_entries.at + interval 1 hour
""",
    "sql/gold/d/counts.sql": f"""/*
Moves of a minute, one row per minute.
*/
with moves as (select at from stream silver.moves {MARK})
select window.start as minute, count(*) as move_count from moves group by window(at, '1 minute')
""",
}
HOUR = "2026-01-01T{}:00Z"


@pytest.fixture(scope="module")
def models(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Models:
    root = tmp_path_factory.mktemp("doors")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Models(sandbox, loader.load(root, "local"))


def move(person: str, door: str, at: str) -> dict[str, Any]:
    return {"key": person, "value": {"door": door, "at": HOUR.format(at)}}


GIVEN = [
    {"moves": [move("ada", "in", "10:00"), move("bob", "in", "10:00")]},
    {"moves": [move("ada", "out", "10:20"), move("ada", "in", "10:40")]},
    {"moves": [move("end", "in", "18:00"), move("end", "out", "18:00")]},
    {"moves": [move("end", "in", "18:01"), move("end", "out", "18:01")]},
]
DUE = {
    "gold.stays": {("ada", "10:00", "10:20"), ("ada", "10:40", None), ("bob", "10:00", None)},
    "gold.returns": {("ada", "10:00", "10:40")},
    "gold.counts": {("10:00", 2), ("10:20", 1), ("10:40", 1)},
}


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_one_topic_is_read_more_than_once(models: Models, cut: Cut) -> None:
    found = models.tables([*DUE], GIVEN, cut)
    assert {table: _formatted(rows.collect()) for table, rows in found.items()} == {
        table: sorted(rows, key=str) for table, rows in DUE.items()
    }


def _formatted(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Rows with the times of day, without those that only advance time."""
    formatted = [tuple(f"{each:%H:%M}" if hasattr(each, "hour") else each for each in row) for row in rows]
    return sorted((row for row in formatted if "end" not in row and "18:00" not in row), key=str)
