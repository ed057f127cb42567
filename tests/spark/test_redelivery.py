"""Rows that made a model fail are delivered to it again once it is fixed: as new arrivals, to it alone, and once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.project import loader
from headrace.project.model import Project
from headrace.queries.failing.replaying_rows import request
from headrace.reading.dead_letters import Chosen, refused
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Crash, Fuse, Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from tests.long import long

pytestmark = pytest.mark.spark


def model(name: str, sql: str, *header: str) -> str:
    return "\n".join(["/*", f"{name}.", "", *header, "*/", sql, ""])


FILES = {
    "manifest.yml": "name: again\nmodels: {+materialized: append, gold: {+on_error: dead_letter}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/r.yml": "landing: r\ntopics: {lines: {schema: {n: bigint, total: bigint, text: string}}}\n",
    "sql/silver/r/tidied.sql": model(
        "Lines with a number made of their text",
        "select data.n as n, cast(data.text as int) as number, _arrival from stream bronze.lines",
        "materialized: view",
    ),
    "sql/gold/r/numbers.sql": model("Numbers", "select n, number, _arrival from stream silver.tidied", "query: r"),
    "sql/gold/r/bigger.sql": model(
        "Numbers, and all lines beside them",
        """select n, number + 1 as number, _arrival from stream silver.tidied
union all
select data.n as n, null as number, _arrival from stream bronze.lines""",
        "query: r",
    ),
    "sql/gold/r/prices.sql": model(
        "Prices of single pieces",
        "select data.n as n, data.total / data.n as price, landed_at, _arrival from stream bronze.lines",
        "query: r",
    ),
    "sql/gold/r/doubled.sql": model(
        "Prices twice", "select n, price * 2 as price, _arrival from stream gold.prices", "query: r"
    ),
    "sql/gold/r/all_lines.sql": model("All lines", "select data.n as n, _arrival from stream bronze.lines", "query: r"),
    "sql/gold/r/inverse.sql": model(
        "One part of each", "select n, 1 / n as part, _arrival from stream gold.all_lines", "query: r"
    ),
    "sql/gold/r/newest.sql": model(
        "The newest share of each number",
        "select data.n as n, 10 / (data.total - 5) as share, _arrival from stream bronze.lines",
        "materialized: upsert",
        "unique_key: n",
        "query: r",
    ),
    "sql/gold/q/later.sql": model(
        "Lines of another query", "select n, 100 / (n - 6) as x, _arrival from stream gold.all_lines", "query: q"
    ),
}
MENDED = {
    "sql/silver/r/tidied.sql": ("cast(data.text as int)", "try_cast(data.text as int)"),
    "sql/gold/r/prices.sql": ("data.total / data.n as", "data.total / nullif(data.n, 0) as"),
    "sql/gold/r/inverse.sql": ("1 / n as", "1 / nullif(n, 0) as"),
    "sql/gold/r/newest.sql": ("10 / (data.total - 5) as", "10 / nullif(data.total - 5, 0) as"),
    "sql/gold/q/later.sql": ("100 / (n - 6) as", "100 / nullif(n - 6, 0) as"),
}
TABLES = [Path(file).parts[1] + "." + Path(file).stem for file in FILES if file.startswith("sql/gold")]


def line(n: int, total: int = 12, text: str | None = None) -> dict[str, Any]:
    return {"key": f"k{n}", "value": {"n": n, "total": total, "text": text}}


GIVEN = [
    {"lines": [line(1), line(0), line(2, text="7"), line(3, total=5)]},
    {"lines": [line(0, 4), line(4, text="x"), line(3, total=6), line(6)]},
]
MISSING = {
    "gold.numbers": [4],
    "gold.bigger": [4],
    "gold.prices": [0, 0],
    "gold.doubled": [0, 0],
    "gold.inverse": [0, 0],
    "gold.newest": [3],
    "gold.later": [6],
}
"""The numbers of the lines that are missing at first."""


ALL = Chosen()


class Stage:
    """A project with some lines that make its models fail."""

    def __init__(self, sandbox: Sandbox, root: Path) -> None:
        self.sandbox, self.root = sandbox, root
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
        self.layout: Layout = sandbox.layout(self.project)
        given = TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN)
        for batch in land(sandbox.judge, self.project, given).batches:
            land_batch(sandbox, self.layout, batch)
            self.run()

    @property
    def project(self) -> Project:
        return loader.load(self.root, "local")

    def run(self, fuse: Fuse | None = None) -> None:
        process = Process(self.sandbox, self.project, self.layout, fuse)
        try:
            process.create_tables()
            process.advance()
        finally:
            process.stop()

    def mend(self, *files: str) -> None:
        for file in files or MENDED:
            text = (self.root / file).read_text("utf-8")
            (self.root / file).write_text(text.replace(*MENDED[file]), "utf-8")

    def ask(self, chosen: Chosen = ALL) -> dict[str, int]:
        return dict(request(self.sandbox.spark, self.project, self.layout, chosen).rows)

    def rows(self, table: str) -> list[Any]:
        model = self.project.model(table)
        path = self.layout.changes(table) if model.materialized == "upsert" else self.layout.table(table)
        return self.sandbox.spark.read.format("delta").load(str(path)).orderBy("_arrival").collect()

    def numbers(self) -> dict[str, list[int]]:
        return {table: sorted(row.n for row in self.rows(table)) for table in TABLES}


@pytest.fixture
def stage(sandbox: Sandbox, tmp_path: Path) -> Stage:
    return Stage(sandbox, tmp_path)


def with_missing(before: dict[str, list[int]]) -> dict[str, list[int]]:
    """The expected rows at the end: no row twice, and none of those models that never failed."""
    return {table: sorted([*found, *MISSING.get(table, [])]) for table, found in before.items()}


def test_mended_models_get_their_rows_once_and_no_other_model_does(stage: Stage) -> None:
    before = stage.numbers()
    assert before["gold.all_lines"] == [0, 0, 1, 2, 3, 3, 4, 6] and before["gold.later"] == [0, 0, 1, 2, 3, 3, 4]
    stage.mend()
    asked = stage.ask()
    assert asked == {"silver.tidied": 1, "gold.prices": 2, "gold.inverse": 2, "gold.newest": 1, "gold.later": 1}
    stage.run()
    # `bigger` reads the lines beside the view as well: those it has had already, and they do not come again.
    assert stage.numbers() == with_missing(before)
    assert stage.ask() == {}
    stage.run()
    assert stage.numbers() == with_missing(before)


@pytest.mark.long
def test_rows_come_as_new_arrivals(stage: Stage) -> None:
    stage.mend()
    stage.ask(Chosen(source="gold.prices"))
    stage.run()
    arrivals = [(row.n, row._arrival.landing_batch, row._arrival.offset) for row in stage.rows("gold.prices")]
    assert arrivals[-2:] == [(0, 2, 1), (0, 2, 4)] and all(batch < 2 for _, batch, _ in arrivals[:-2])


@pytest.mark.long
def test_row_of_an_upsert_is_its_newest_change(stage: Stage) -> None:
    stage.mend()
    stage.ask(Chosen(source="gold.newest"))
    stage.run()
    changes = [(row._arrival.landing_batch, row.share) for row in stage.rows("gold.newest") if row.n == 3]
    assert changes == [(1, 10.0), (2, None)]


@pytest.mark.long
def test_row_that_fails_again_can_be_asked_for_again(stage: Stage) -> None:
    before, prices = stage.numbers(), Chosen(source="gold.prices", reason="divide_by_zero")
    assert stage.ask(prices) == {"gold.prices": 2}
    stage.run()
    assert stage.numbers() == before
    assert [(g.rows, g.replayed, len(g.examples)) for g in refused(stage.project, stage.layout, prices)] == [(4, 2, 2)]
    stage.mend("sql/gold/r/prices.sql")
    assert stage.ask(prices) == {"gold.prices": 2}
    stage.run()
    assert stage.numbers()["gold.prices"] == with_missing(before)["gold.prices"]
    assert [(g.rows, g.replayed, len(g.examples)) for g in refused(stage.project, stage.layout, prices)] == [(4, 4, 0)]


@pytest.mark.parametrize("point", [*map(long, (0, 5, 10, 13))])  # before and after commits of several batches
def test_run_that_dies_neither_loses_nor_doubles(stage: Stage, point: int) -> None:
    before = stage.numbers()
    stage.mend()
    stage.ask()
    with pytest.raises(Crash):
        stage.run(Fuse(point))
    stage.run()
    assert stage.numbers() == with_missing(before)
