"""Rejected rows land again once they are usable, each once, wherever the replay dies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.landing import replaying
from headrace.landing.replaying import Replay, Replayed
from headrace.project import loader
from headrace.project.model import Project
from headrace.reading.dead_letters import Chosen, refused
from headrace.store.commits import Commit
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Crash, Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from tests.long import long

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: renamed\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/o.yml": "landing: o\ntopics:\n  orders: {schema: {amount: int not null}}\n",
    "sql/gold/o/amounts.sql": "/*\nAmounts.\n*/\nselect key as id, data.amount, _arrival from stream bronze.orders\n",
}
GIVEN = [
    {"orders": [{"key": "o1", "value": {"amount": 10}}, {"key": "o2", "value": {"amount_total": 20}}]},
    {"orders": [{"key": "o3", "value": {"amount_total": 30}}, {"key": "o4", "value": {"amount_total": "x"}}]},
]
MENDED = "landing: o\ntopics:\n  orders: {schema: {amount: int, amount_total: int}}\n"
EVERYTHING = Chosen()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return loader.load(tmp_path, "local")


@pytest.fixture
def layout(sandbox: Sandbox, project: Project) -> Layout:
    layout = sandbox.layout(project)
    for batch in land(sandbox.judge, project, TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN)).batches:
        land_batch(sandbox, layout, batch)
    return layout


@pytest.fixture
def mended(project: Project) -> Project:
    (project.root / "sql/bronze/o.yml").write_text(MENDED, "utf-8")
    return loader.load(project.root, "local")


def replay(sandbox: Sandbox, project: Project, layout: Layout, chosen: Chosen = EVERYTHING) -> Replayed:
    return replaying.total(replaying.run(sandbox.spark, layout, project.landings, chosen))


def landed(sandbox: Sandbox, layout: Layout) -> list[tuple[Any, ...]]:
    rows = sandbox.landing_table(layout, "o").snapshot(sandbox.spark)
    return sorted(tuple(r) for r in rows.select("landing_batch", "offset", "key", "reject_reason").collect())


def test_usable_rows_land_again_once_and_the_rejected_stay(sandbox: Sandbox, layout: Layout, mended: Project) -> None:
    first, before = replay(sandbox, mended, layout), landed(sandbox, layout)
    assert (first.landed, first.refused) == (2, {"wrong_type": 1})
    assert [row for row in before if row[0] == 2] == [(2, 1, "o2", None), (2, 2, "o3", None)]
    assert [row[3] for row in before if row[3]] == ["missing_field"] * 3
    assert replay(sandbox, mended, layout) == Replayed(0, {"wrong_type": 1})
    assert landed(sandbox, layout) == before


@pytest.mark.long
def test_models_see_replayed_rows_as_new_arrivals(sandbox: Sandbox, layout: Layout, project: Project) -> None:
    process = Process(sandbox, project, layout)
    process.advance()
    (project.root / "sql/bronze/o.yml").write_text(MENDED, "utf-8")
    mended = loader.load(project.root, "local")
    replay(sandbox, mended, layout)
    process.stop()
    process = Process(sandbox, mended, layout)
    process.advance()
    process.stop()
    rows = sandbox.spark.read.format("delta").load(str(layout.table("gold.amounts"))).select("id").collect()
    assert sorted(row.id for row in rows) == ["o1", "o2", "o3"]


@pytest.mark.parametrize("after_commit", [long(False), True])
def test_replay_that_dies_neither_loses_nor_doubles(
    sandbox: Sandbox, layout: Layout, mended: Project, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    monkeypatch.setattr(replaying, "AT_ONCE", 1)
    dying = Replay(sandbox.spark, layout, mended.landings[0])
    dying.table = _Dying(dying.table, after_commit)
    with pytest.raises(Crash):
        dying.run(EVERYTHING)
    replay(sandbox, mended, layout)
    assert [row[2] for row in landed(sandbox, layout) if row[3] is None] == ["o1", "o2", "o3"]


def test_groups_list_what_landed_again_and_show_the_rest(sandbox: Sandbox, layout: Layout, mended: Project) -> None:
    def groups() -> list[tuple[Any, ...]]:
        found = refused(mended, layout, EVERYTHING)
        return [(g.source, g.reason, g.rows, g.replayed, [e["key"] for e in g.examples]) for g in found]

    assert groups() == [("orders", "missing_field", 3, 0, ["o4", "o3", "o2"])]
    replay(sandbox, mended, layout)
    assert groups() == [("orders", "missing_field", 3, 2, ["o4"])]


def test_replay_claims_no_time_for_which_kafka_was_not_asked() -> None:
    landed_at = "2026-01-01T10:00:00+00:00"
    assert replaying.moment_after(Commit(3, {"landed_at": landed_at})).isoformat() == landed_at


def test_only_what_is_meant_is_replayed(sandbox: Sandbox, layout: Layout, mended: Project) -> None:
    assert replay(sandbox, mended, layout, Chosen(reason="not_json")) == Replayed(0, {})
    assert replay(sandbox, mended, layout, Chosen(reason="missing_field", source="orders")).landed == 2


class _Dying(CommitTable):
    """A table at which the process dies at its second commit, before it or after it."""

    def __init__(self, table: CommitTable, after_commit: bool) -> None:
        super().__init__(table.spark, table.path, table.schema)
        self._after_commit, self._commits = after_commit, 0

    def append(self, rows: Any, marker: Mapping[str, Any]) -> int:
        self._commits += 1
        if self._commits == 2 and not self._after_commit:
            raise Crash
        version = super().append(rows, marker)
        if self._commits == 2:
            raise Crash
        return version
