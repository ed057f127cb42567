"""Every edit of the corpus on real checkpoints and tables: what truly happens, against what the plan says.

The old text processes what lands first, then the new text goes on with the rest on the same tables and checkpoint.
What it adds is compared with what the new text adds if it has been there from the start.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from ruamel.yaml import YAML

from headrace.engine.sources import stored
from headrace.errors import HeadraceError
from headrace.layout import Layout
from headrace.project.model import Project
from headrace.testing.case import Batch
from headrace.testing.disk import Process
from headrace.testing.landed import Landed, land
from headrace.testing.sandbox import Sandbox
from tests.plan.corpus import HERE, Edit, Shape, edits, judged, project

pytestmark = pytest.mark.spark

GIVEN = TypeAdapter(tuple[Batch, ...]).validate_python(YAML(typ="safe").load(HERE / "given.yml"))
"""What lands: the first two batches by the old text, the others by the new one."""
BEFORE, AFTER = range(2), range(2, len(GIVEN))
HARMLESS = {"SAME": {"right"}, "KEEP": {"right", "kept"}}
"""What may come of an edit that nobody has to be asked about."""

Rows = Counter[str]


@dataclass(frozen=True)
class Run:
    """A data directory after both parts: rows of the model that each of them added."""

    layout: Layout
    before: Rows
    after: Rows


class Bench:
    """Runs texts over the landed batches; the first part of each shape's own text runs once."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self.old = cache(self._old)
        self.project = cache(self._project)
        self._half = cache(self._half_of)

    def resumed(self, edit: Edit) -> Run:
        """The new text over what the old one left."""
        base, new = self.old(edit.shape.name), self.project(edit.shape.name, edit.name)
        layout = Layout(self._folder / "resumed" / edit.shape.name / edit.name.replace(" ", "-"))
        shutil.copytree(self._half(edit.shape.name).data_dir, layout.data_dir)
        for query in new.queries:
            self._sandbox.query(new, layout, query).create_tables()
        return self._second(new, layout, edit.shape.model, base.before)

    def fresh(self, edit: Edit) -> Run:
        """The new text over everything."""
        new = self.project(edit.shape.name, edit.name)
        layout = self._sandbox.layout(new)
        before = self._first(new, layout, edit.shape.model)
        return self._second(new, layout, edit.shape.model, before)

    def _old(self, shape: str) -> Run:
        declared, layout = self.project(shape, ""), self._half(shape)
        before = self._first(declared, layout, SHAPES[shape].model)
        whole = Layout(layout.data_dir.with_name(f"{shape}-whole"))
        shutil.copytree(layout.data_dir, whole.data_dir)
        return self._second(declared, whole, SHAPES[shape].model, before)

    def _half_of(self, shape: str) -> Layout:
        layout = Layout(self._folder / "old" / shape)
        shutil.copytree(self._sandbox.layout(self.project(shape, "")).data_dir, layout.data_dir)
        return layout

    def _project(self, shape: str, name: str) -> Project:
        files = next(e.files for e in SHAPES[shape].edits if e.name == name) if name else SHAPES[shape].files
        return project(files, self._folder / "projects" / shape / (name.replace(" ", "-") or "old"))

    def _first(self, declared: Project, layout: Layout, table: str) -> Rows:
        self._process(declared, layout, BEFORE)
        return self._rows(declared, layout, table)

    def _second(self, declared: Project, layout: Layout, table: str, before: Rows) -> Run:
        self._process(declared, layout, AFTER)
        return Run(layout, before, self._rows(declared, layout, table) - before)

    def _process(self, declared: Project, layout: Layout, numbers: range) -> None:
        landed = self._landed(declared)
        process = Process(self._sandbox, declared, layout)
        try:
            for batch in landed.within(numbers):
                table = self._sandbox.landing_table(layout, batch.landing)
                rows = self._sandbox.spark.createDataFrame(list(batch.rows), table.schema, verifySchema=False)
                marker = {"query": "ingest_s", "batch": batch.number, "records": len(batch.rows)}
                table.append(rows.coalesce(1), marker)
            process.advance()
        finally:
            process.stop()

    def _landed(self, declared: Project) -> Landed:
        key = repr([landing.topics for landing in declared.landings])
        if key not in _LANDED:
            _LANDED[key] = land(self._sandbox.spark, declared, GIVEN)
        return _LANDED[key]

    def _rows(self, declared: Project, layout: Layout, table: str) -> Rows:
        model = declared.model(table)
        schema = self._sandbox.schemas(declared)[table]
        found = stored(self._sandbox.spark, layout, model, schema).snapshot(self._sandbox.spark)
        columns = [name for name in sorted(found.columns) if name != "_batch"]
        return Counter(row[0] for row in found.select(F.to_json(F.struct(*columns))).collect())


_LANDED: dict[str, Landed] = {}
SHAPES: dict[str, Shape] = {edit.shape.name: edit.shape for edit in edits()}


@pytest.fixture(scope="module")
def bench(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(sandbox, tmp_path_factory.mktemp("plan"))


@pytest.mark.parametrize("edit", edits(), ids=lambda edit: f"{edit.shape.name}: {edit.name}")
def test_plan_says_what_truly_happens(edit: Edit, bench: Bench, sandbox: Sandbox) -> None:
    truth = _truth(edit, bench)
    old, new = bench.project(edit.shape.name, ""), bench.project(edit.shape.name, edit.name)
    types = {
        table: {field.name: field.dataType.simpleString() for field in schema}
        for table, schema in sandbox.schemas(old).items()
    }
    verdict = judged(old, new, types, edit.shape.model).verdict.name
    assert truth in HARMLESS.get(verdict, {truth})
    assert (verdict, truth) == (edit.verdict, edit.truth)


def test_types_of_the_corpus_are_those_of_spark(bench: Bench, sandbox: Sandbox) -> None:
    for name, shape in SHAPES.items():
        schemas = sandbox.schemas(bench.project(name, ""))
        found = {table: {f.name: f.dataType.simpleString() for f in schemas[table]} for table in shape.schemas}
        assert found == shape.schemas, name


def _truth(edit: Edit, bench: Bench) -> str:
    """`right`: both texts give the same. `kept`: what is added is what the new text adds. Else `wrong`, or `fails`."""
    before = bench.old(edit.shape.name)
    try:
        resumed = bench.resumed(edit)
    except (HeadraceError, PySparkException):
        return "fails"
    if edit.verdict == "SAME":
        return "right" if resumed.after == before.after else "wrong"
    fresh = bench.fresh(edit)
    if resumed.before + resumed.after == fresh.before + fresh.after:
        return "right"
    return "kept" if resumed.after == fresh.after else "wrong"
