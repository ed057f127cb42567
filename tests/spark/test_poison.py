"""Rows that make a model's SQL fail: set aside with all that is known of them, or reported when they stop the query."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from headrace.errors import HeadraceError
from headrace.project import loader
from headrace.queries import routine
from headrace.spark.failures import ModelFailed
from headrace.testing.cases.case import Batch, Cut
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Crash, Fuse, Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models, _run
from tests.long import one_of

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: poison\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/r.yml": "landing: r\ntopics: {lines: {schema: {n: bigint, total: bigint, text: string}}}\n",
    "sql/gold/r/prices.sql": """/*
Prices of single pieces: one row per line.

query: r
on_error: dead_letter
*/
with lines as (
    select data.n as n, data.total as total, _arrival from stream bronze.lines
)
select n, total / n as price, _arrival from lines
""",
    "sql/gold/r/doubled.sql": """/*
Prices twice: one row per line that has a price.

query: r
*/
select n, price * 2 as price, _arrival from stream gold.prices
""",
    "sql/gold/r/all_lines.sql": """/*
All lines: one row per line.

query: r
*/
select data.n as n, _arrival from stream bronze.lines
""",
    "sql/gold/r/numbers.sql": """/*
Sum of the numbers in texts, one row per number of a line.

materialized: upsert
unique_key: n
query: r
on_error: dead_letter
*/
with lines as (
    select data.n as n, data.text as text, _arrival from stream bronze.lines where data.text is not null
),
before as (
    select n, number from gold.numbers
)
select
    lines.n,
    coalesce(before.number, 0) + sum(cast(lines.text as int)) over (partition by lines.n order by lines._arrival)
        as number,
    lines._arrival
from lines
left join before on lines.n = before.n
""",
    "sql/gold/r/letters.sql": """/*
Whether texts are made of two letters: one row per line.

query: r
on_error: dead_letter
*/
select data.n as n, data.text rlike '^(a|b)*$' as fits, _arrival from stream bronze.lines
""",
    "sql/gold/r/strict.sql": """/*
Prices of single pieces, all or none: one row per line.
*/
select data.n as n,
    data.total / data.n as price, _arrival
from stream bronze.lines
""",
}


@pytest.fixture(scope="module")
def models(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Models:
    root: Path = tmp_path_factory.mktemp("poison")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Models(sandbox, loader.load(root, "local"))


def line(n: int, total: int = 12, text: str | None = None) -> dict[str, Any]:
    return {"key": f"k{n}", "value": {"n": n, "total": total, "text": text}}


GIVEN = [
    {"lines": [line(1), line(0), line(2), line(3, text="7")]},
    {"lines": [line(0, 5), line(4, text="x"), line(3, text="8"), line(6)]},
]


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_rows_that_fail_are_set_aside_and_the_others_go_on(models: Models, cut: Cut) -> None:
    tables = ["gold.prices", "gold.doubled", "gold.all_lines", "gold.numbers"]
    landed = land(models.sandbox.judge, models.project, TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN))
    outcome = _run(models.sandbox, models.project, models.project.model(tables[0]), tables, landed, cut, Random(1))
    rows = {table: outcome.rows(models.project.model(table)) for table in tables}
    assert _tuples(rows["gold.prices"], "n", "price") == [(1, 12.0), (2, 6.0), (3, 4.0), (3, 4.0), (4, 3.0), (6, 2.0)]
    assert [price for _, price in _tuples(rows["gold.doubled"], "n", "price")] == [24.0, 12.0, 8.0, 8.0, 6.0, 4.0]
    assert rows["gold.all_lines"].count() == 8
    assert _tuples(rows["gold.numbers"], "n", "number") == [(3, 15)]
    failed = sorted((row["model"], row["test"], row["row"]) for row in outcome.failed)
    assert [each[:2] for each in failed] == [
        ("gold.numbers", "cast_invalid_input"),
        ("gold.prices", "divide_by_zero"),
        ("gold.prices", "divide_by_zero"),
    ]
    details = json.loads(failed[1][2])
    assert (details["topic"], details["partition"], details["offset"], details["key"]) == ("lines", 0, 1, "k0")
    assert (details["clause"], details["place"]) == ("total / n", "sql/gold/r/prices.sql:10:11")
    assert details["row"]["data"] == {"n": 0, "total": 12, "text": None}


def test_row_that_stops_a_query_is_reported(models: Models) -> None:
    with pytest.raises(ModelFailed) as caught:
        models.rows("gold.strict", [{"lines": [line(n) for n in (3, 2, 1, 0, 1, 0)]}])
    message = str(caught.value)
    assert "sql/gold/r/strict.sql:5:5: gold.strict: [DIVIDE_BY_ZERO]" in message
    assert "in `data.total / data.n`, at topic lines, partition 0, offset 3, key k0" in message
    assert "on_error: dead_letter" in message


def test_text_that_is_too_long_for_a_pattern_is_set_aside(models: Models) -> None:
    given = [{"lines": [line(1, text="ab"), line(2, text="a" * 200_000), line(3, text="c")]}]
    outcome = models.outcome(["gold.letters"], given)
    assert _tuples(outcome.rows(models.project.model("gold.letters")), "n", "fits") == [(1, True), (3, False)]
    assert [(row["test"], json.loads(row["row"])["offset"]) for row in outcome.failed] == [("too_long_for_pattern", 1)]


@pytest.mark.long
def test_many_rows_are_searched_by_halves(models: Models) -> None:
    bad = {7, 500, 501, 1999}
    given = [{"lines": [line(0 if n in bad else 1) for n in range(2000)]}]
    outcome = models.outcome(["gold.prices"], given)
    assert outcome.rows(models.project.model("gold.prices")).count() == 2000 - len(bad)
    assert {json.loads(row["row"])["offset"] for row in outcome.failed} == bad


@pytest.mark.parametrize(("table", "bad"), [("gold.prices", {"n": 0}), ("gold.numbers", {"n": 1, "text": "x"})])
def test_rows_that_all_fail_stop_the_query_soon(
    models: Models, monkeypatch: pytest.MonkeyPatch, table: str, bad: dict[str, Any]
) -> None:
    monkeypatch.setattr(routine, "MOST", 5)
    with pytest.raises(HeadraceError, match="at 5 rows of a batch or more; mend the model"):
        models.outcome([table], [{"lines": [line(**bad) for _ in range(60)]}])


def _tuples(rows: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, rows.select(*columns).collect()))


@pytest.mark.parametrize("point", one_of(4, [1, 0, 2, 3]))  # before and after the failed rows, and an output
def test_failed_rows_are_stored_once_wherever_it_dies(models: Models, point: int) -> None:
    sandbox, layout = models.sandbox, models.sandbox.layout(models.project)
    scope = narrowed(models.project, ["gold.prices"])
    for batch in land(sandbox.judge, models.project, TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN)).batches:
        land_batch(sandbox, layout, batch)
    process = Process(sandbox, scope, layout, Fuse(point))
    with pytest.raises(Crash):
        process.advance()
    process.stop()
    process = Process(sandbox, scope, layout)
    process.advance()
    process.stop()
    failed = sandbox.spark.read.format("delta").load(str(layout.failed("r"))).where("model = 'gold.prices'")
    prices = sandbox.spark.read.format("delta").load(str(layout.table("gold.prices")))
    assert (failed.count(), prices.count()) == (2, 6)
