"""A project whose queries have been started, as far as a plan looks, and edits of it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.planning import declared, plan
from headrace.planning.declared import Declared
from headrace.planning.plan import Entry, Plan
from headrace.project.model import Project
from headrace.store.layout import Layout
from tests.plan import corpus

TOTALS = """/*
Running totals: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select id, x, _arrival from stream silver.a
),
before as (
    select id, total from silver.totals
),
summed as (
    select
        a.id,
        coalesce(before.total, 0)
        + sum(a.x) over (partition by a.id order by a._arrival) as total,
        a._arrival
    from a
    left join before on a.id = before.id
)
select * from summed
"""
NEWS = """/*
News of totals: one row per change.

materialized: append
publish: {topic: news, key: id, value: {total: total}, start: latest}
*/
select id, total, _arrival from stream silver.totals where total > 10
"""
FILES = {**corpus.BASE, "sql/silver/s/totals.sql": TOTALS, "sql/gold/s/news.sql": NEWS}
TOTALS_FILE, NEWS_FILE = "sql/silver/s/totals.sql", "sql/gold/s/news.sql"
SCHEMAS = {
    "silver.totals": {"id": "string", "total": "bigint", "_arrival": "string"},
    "gold.news": {"id": "string", "total": "bigint", "_arrival": "string"},
}


class Live:
    """A project whose queries have been started, and edits of it."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self._folder = folder
        self._files = files
        self.layout = Layout(folder / "data")
        self.project = self._load(files)

    def start(self, project: Project | None = None) -> None:
        """Record what a start records."""
        chosen = project or self.project
        queries = [query.name for query in chosen.queries] + [landing.query for landing in chosen.landings]
        tables = {model.table: SCHEMAS.get(model.table, SCHEMAS["silver.totals"]) for model in chosen.models}
        declared.write(self.layout, Declared.of(chosen, tables), queries, {})

    def forget(self, query: str) -> None:
        """Leave a query as if it had never been started."""
        shutil.rmtree(self.layout.checkpoint(query))

    def edited(self, file: str, old: str, new: str) -> Project:
        assert old in self._files[file]
        return self._load({**self._files, file: self._files[file].replace(old, new)})

    def without(self, file: str) -> Project:
        (self._folder / "project" / file).unlink()
        return self._load({path: text for path, text in self._files.items() if path != file})

    def plan(self, project: Project | None = None, **schemas: Mapping[str, str]) -> Plan:
        return plan.make(project or self.project, self.layout, schemas or None)

    def entry(self, name: str, project: Project | None = None) -> Entry:
        return next(entry for entry in self.plan(project).entries if entry.name == name)

    def stored(self, table: str) -> Path:
        """A table on disk, as far as a plan looks."""
        path = self.layout.table(table)
        (path / "_delta_log").mkdir(parents=True)
        return path

    def _load(self, files: Mapping[str, str]) -> Project:
        project = corpus.project(files, self._folder / "project")
        return replace(project, target=replace(project.target, data_dir=self.layout.data_dir))
