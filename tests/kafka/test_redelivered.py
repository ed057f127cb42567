"""A row that made a model fail: set aside, listed, asked for again, and delivered by the next run before new rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kafka.events import Event, sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import sales
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka

SHARES = """/*
Shares of a pound.

on_error: dead_letter
*/
select product, value, 100 / value as share, _arrival from stream silver.sales
"""


@pytest.mark.long
def test_failed_row_is_delivered_once_when_its_model_is_mended(stage: Stage, tmp_path: Path) -> None:
    project = sales(stage, tmp_path / "project", 2000)
    model = project.folder / "sql/gold/sales/shares.sql"
    model.write_text(SHARES)
    stage.create({SALES: 1})

    def run(*events: Event) -> list[tuple[str, int]]:
        stage.send(events)
        done = project.call("run", "--available-now")
        assert done.returncode == 0, done.stderr
        shown = project.call("show", "gold.shares", "--json").stdout.splitlines()
        return [(row["product"], row["_arrival"]["offset"]) for row in map(json.loads, shown)]

    assert run(sale("a", 10), sale("b", 0), sale("c", 20)) == [("a", 0), ("c", 2)]
    model.write_text(SHARES.replace("100 / value", "100 / nullif(value, 0)"))
    (found,) = map(json.loads, project.call("dead-letters", "--json").stdout.splitlines())
    assert (found["source"], found["reason"], found["rows"], found["replayed"]) == (
        "gold.shares",
        "divide_by_zero",
        1,
        0,
    )
    asked = project.call("dead-letters", "replay", "--reason", "divide_by_zero")
    assert asked.stdout.splitlines()[1] == "gold.shares is given 1 row again in the next run of its query", asked.stderr
    assert run(sale("d", 50)) == [("a", 0), ("c", 2), ("b", 1), ("d", 3)]
    again = project.call("dead-letters", "replay", "--json")
    assert json.loads(again.stdout) == {"replayed": 0, "refused": {}, "next_run": {}}
