"""Calls out of seeded random halves, against plain Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from headrace.project import loader
from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.streaming import offset_log
from headrace.streaming import query as streamed
from headrace.tables.delta import CommitTable
from headrace.testing.cases import case
from headrace.testing.cases.case import Batch
from headrace.testing.cases.comparison import differences
from headrace.testing.cases.landing import LandedBatch, land
from headrace.testing.runs import disk
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import Scope, narrowed
from headrace.testing.runs.trial import Models
from tests.long import long
from tests.spark.calls_oracle import Call, Calls, Half

pytestmark = pytest.mark.spark

START = 1_767_261_600_000  # 2026-01-01T10:00:00Z
SECOND = 1000
TOPICS = {"analytics": "call_analytics", "metrics": "call_metrics"}
USERS = ("a", "b", "a-b", "ü", 'd"e', *map(str, range(9)))
SINCE = {"spark.sql.streaming.join.stateFormatVersion", "spark.sql.streaming.stateStore.rowChecksum.enabled"}
"""Confs that checkpoints of the first versions do not have."""

CLOSING = Half(("nobody", "else"), START + 10_000 * SECOND, "metrics", None)


def halves(seed: int, count: int, batches: int) -> list[list[Half]]:
    """Halves of many calls, out of order, some of them late."""
    chance, found = Random(seed), list[Half]()
    for number in range(count):
        delay = chance.choice((0, 0, 0, 30, 60, 90, 170)) + (chance.random() < 0.05) * chance.randrange(200, 500)
        at = START + (number * 4000 // count - delay) * SECOND + chance.choice((0, 0, 0, 1, 999))
        kind = chance.choice(("analytics", "metrics"))
        pair = (chance.choice(USERS), chance.choice(USERS))
        text = None if chance.random() < 0.1 else f"{kind} {number}"
        found.append(Half(pair, at, kind, text))
    size = -(-count // batches)
    return [found[start : start + size] for start in range(0, count, size)]


def lonely_calls(seed: int, count: int) -> list[list[Half]]:
    """Calls of at most one half of each kind, none of them late."""
    chance, found = Random(seed), list[Half]()
    for number in range(count):
        pair, at = (f"{number % 20}", "x"), START + number * 10 * SECOND
        kinds = chance.choice((("analytics",), ("metrics",), ("analytics", "metrics"), ("metrics", "analytics")))
        found += [Half(pair, at + n * chance.randrange(61) * SECOND, k, f"{k} {number}") for n, k in enumerate(kinds)]
    third = len(found) // 3
    return [found[:third], found[third : 2 * third], found[2 * third :]]


def landing(batch: Sequence[Half]) -> dict[str, Any]:
    """A landing batch as written in a case."""
    given: dict[str, list[Any]] = {}
    for half in batch:
        body = {"user1": half.pair[0], "user2": half.pair[1], "timestamp": half.at, half.kind: half.text}
        given.setdefault(TOPICS[half.kind], []).append({"value": body})
    return given


def in_arrival_order(batch: Sequence[Half]) -> list[Half]:
    """Within a batch, one topic comes after the other."""
    return sorted(batch, key=lambda half: half.kind)


def calls(rows: DataFrame) -> list[Call]:
    """The rows of a table of calls, in some fixed order."""
    return sorted(((r.user1, r.user2, r.ts, r.analytics, r.metrics) for r in rows.collect()), key=str)


def test_calls_equal_those_of_plain_python(models: Models) -> None:
    batches = [*halves(seed=4, count=10_000, batches=6), [CLOSING]]
    oracle = Calls(60 * SECOND, 180 * SECOND)
    for batch in batches:
        oracle.take(in_arrival_order(batch))
    outcome = models.outcome("gold.calls", [landing(batch) for batch in batches])
    late = outcome.late["gold.calls"].selectExpr("key", "unix_millis(event_time) as at").collect()
    assert calls(outcome.rows(models.project.model("gold.calls"))) == sorted(oracle.rows, key=str)
    assert sorted((tuple(json.loads(row.key)), row.at) for row in late) == sorted(oracle.late)


@pytest.mark.long
def test_outer_join_agrees_where_no_half_comes_twice(sandbox: Sandbox, models: Models) -> None:
    other = Half(CLOSING.pair, CLOSING.at, "analytics", None)
    given = [landing(batch) for batch in [*lonely_calls(seed=5, count=300), [CLOSING, other]]]
    project = loader.load(Path(__file__).parents[1] / "examples" / "streaming", "test")
    found = calls(Models(sandbox, project).rows("gold.calls", given))
    due = calls(models.rows("gold.calls", given))
    assert [call for call in found if call[0] != "nobody"] == due


@pytest.mark.long
def test_checkpoint_of_an_older_form_goes_on(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    project = loader.load(Path(__file__).parents[1] / "examples" / "streaming", "test")
    given = [landing(batch) for batch in [*lonely_calls(seed=6, count=60), [CLOSING]]]
    due = calls(Models(sandbox, project).rows("gold.calls", given))
    landed = land(sandbox.judge, project, TypeAdapter(tuple[Batch, ...]).validate_python(given))
    layout, own = sandbox.layout(project), narrowed(project, ["gold.calls"])
    with monkeypatch.context() as older:
        plain = {key: value for key, value in streamed._CONFS.items() if key not in SINCE}
        older.setattr(streamed, "_CONFS", plain)
        older.setattr(offset_log, "state_format", lambda checkpoint: "1")
        advance(sandbox, own, layout, landed.batches[:2])
    checkpoint = layout.checkpoint(own.queries[0].name)
    assert offset_log.state_format(checkpoint) == "1"
    advance(sandbox, own, layout, landed.batches[2:])
    assert offset_log.state_format(checkpoint) == "1"
    table = CommitTable.stored(sandbox.spark, layout.table("gold.calls"))
    assert table is not None and calls(table.all_rows(sandbox.spark)) == due != []


def advance(sandbox: Sandbox, project: Project, layout: Layout, batches: Sequence[LandedBatch]) -> None:
    """One run, in which each batch is processed when it lands."""
    process = disk.Process(sandbox, project, layout)
    for batch in batches:
        disk.land_batch(sandbox, layout, batch)
        process.advance()
    process.stop()


class Fixed(Random):
    """Fixes where the process dies: in which part, and at which point before or after a commit."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(0)
        self._numbers = [*numbers]

    def randrange(self, *_: int) -> int:  # type: ignore[override]
        return self._numbers.pop(0)


@pytest.mark.parametrize(("part", "point"), [long(1, 1), (2, 1)], ids=["rows_committed", "late_rows_committed"])
def test_late_rows_are_stored_once_after_a_crash(models: Models, part: int, point: int) -> None:
    reported_call = case.read(models.project, "tests/models/calls/told_call.yml")
    project = narrowed(models.project, reported_call.tables)
    landed = land(models.sandbox.judge, project, reported_call.given)
    parts = [[number] for number in range(len(reported_call.given))]
    scope = Scope(models.sandbox, project, landed, reported_call.tables)
    outcome = disk.run_with_restarts(scope, parts, Fixed(part, point))
    assert [*differences(reported_call, landed, outcome)] == []
