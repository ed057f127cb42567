"""What an edit really results in: texts run over landed batches, on real tables and checkpoints.

The old text processes what lands first, then the new text goes on with the rest on the same tables and checkpoint.
What it adds is compared with what the new text adds if it has been there from the start.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from uuid import uuid4

from deltalake import DeltaTable
from pydantic import TypeAdapter
from pyspark.errors import PySparkException

from headrace.checking import verdict as spark_verdict
from headrace.errors import HeadraceError
from headrace.planning.declared import Schemas
from headrace.project.model import Project
from headrace.reading import rows
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from tests.plan.corpus import Edit, Shape, judged, project

_BATCHES = TypeAdapter(tuple[Batch, ...])
_FIRST, _REST = (0, 1), (3,)
"""The batches after which all is processed: the old text has the first two, the new one the others."""
_AT_ONCE = 2
"""How many trials run at the same time: a small batch is mostly planning, which keeps one core busy."""

Rows = Counter[str]


@dataclass(frozen=True)
class Run:
    """The rows that each part of the input added to the model that is looked at."""

    before: Rows
    after: Rows


@dataclass(frozen=True)
class Old:
    """What the old text of a shape leaves after the first part, and what it adds if it goes on itself."""

    project: Project
    types: Schemas
    left: Layout
    run: Run


@dataclass(frozen=True)
class Found:
    """The plan's verdict on an edit, and what really results.

    `right`: both texts give the same. `kept`: what is added is what the new text adds. Else `wrong`; or it `fails`, and
    then `error` says how.
    """

    verdict: str
    truth: str
    error: str = ""


class Trials:
    """Some edits on trial, on threads; the old text of each shape runs once."""

    def __init__(self, sandbox: Sandbox, folder: Path, edits: Iterable[Edit]) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._landing = Lock()
        self._landed: dict[str, Path] = {}
        self._workers = ThreadPoolExecutor(_AT_ONCE, "trial")
        chosen = [*edits]
        shapes = {edit.shape.name: edit.shape for edit in chosen}
        self._old = {name: self._workers.submit(self._old_of, shape) for name, shape in shapes.items()}
        self._found = {edit.title: self._workers.submit(self._found_of, edit) for edit in chosen}

    def close(self) -> None:
        """Wait for the trials that have started, and start no others."""
        self._workers.shutdown(cancel_futures=True)

    def old(self, shape: Shape) -> Old:
        """What the old text of a shape does."""
        return self._old[shape.name].result()

    def found(self, edit: Edit) -> Found:
        """What comes of an edit."""
        return self._found[edit.title].result()

    def _old_of(self, shape: Shape) -> Old:
        declared = project(shape.files, self._folder / shape.name / "project")
        going, left = (Layout(self._folder / shape.name / name) for name in ("going", "left"))
        *_, before = self._process(shape, declared, going, _FIRST)
        shutil.copytree(going.data_dir, left.data_dir)
        *_, whole = self._process(shape, declared, going, _REST)
        types = spark_verdict.types(self._sandbox.schemas(declared))
        return Old(declared, types, left, Run(before, whole - before))

    def _found_of(self, edit: Edit) -> Found:
        old, folder = self.old(edit.shape), self._folder / edit.title.replace(": ", "/").replace(" ", "-")
        new = project(edit.files, folder / "project")
        self._sandbox.schemas(new)  # what Spark refuses before it has met any state is no edit to judge
        verdict = judged(old.project, new, old.types, edit.shape.model).verdict.name
        try:
            resumed = self._resumed(edit.shape, new, Layout(folder / "resumed"), old)
        except (HeadraceError, PySparkException) as error:
            return Found(verdict, "fails", str(error))
        if verdict == "SAME":
            return Found(verdict, "right" if resumed == old.run else "wrong")
        return Found(verdict, _truth(resumed, self._fresh(edit.shape, new, Layout(folder / "fresh"))))

    def _resumed(self, shape: Shape, new: Project, layout: Layout, old: Old) -> Run:
        """The new text over what the old one left."""
        shutil.copytree(old.left.data_dir, layout.data_dir)
        become_another(layout)
        *_, whole = self._process(shape, new, layout, _REST)
        return Run(old.run.before, whole - old.run.before)

    def _fresh(self, shape: Shape, new: Project, layout: Layout) -> Run:
        """The new text over everything."""
        *_, before, whole = self._process(shape, new, layout, (*_FIRST, *_REST))
        return Run(before, whole - before)

    def _process(self, shape: Shape, declared: Project, layout: Layout, batches: Iterable[int]) -> list[Rows]:
        """All rows of the model after each of some batches, in one run."""
        landed = self._landed_of(shape, declared)
        process = Process(self._sandbox, declared, layout)
        try:
            process.create_tables()
            return [*self._after_each(shape, declared, layout, process, [landed / str(batch) for batch in batches])]
        finally:
            process.stop()

    def _after_each(
        self, shape: Shape, declared: Project, layout: Layout, process: Process, landed: Iterable[Path]
    ) -> Iterator[Rows]:
        (landing,) = declared.landings
        for folder in landed:
            link(folder, layout.landing(landing.name))
            process.advance()
            yield rows_of(declared, layout, shape.model)

    def _landed_of(self, shape: Shape, declared: Project) -> Path:
        """The landing table as it is after each batch, in folders by its number."""
        (landing,) = declared.landings
        key = repr((landing.topics, shape.given))
        with self._landing:
            if key not in self._landed:
                self._landed[key] = self._land(shape, declared, self._folder / "landed" / str(len(self._landed)))
            return self._landed[key]

    def _land(self, shape: Shape, declared: Project, folder: Path) -> Path:
        landed = land(self._sandbox.judge, declared, _BATCHES.validate_python(shape.given))
        layout = Layout(folder / "table")
        for batch in landed.batches:
            table = self._sandbox.landing_table(layout, batch.landing)
            table.create()
            land_batch(self._sandbox, layout, batch)
            shutil.copytree(table.path, folder / str(batch.number))
        return folder


def _truth(resumed: Run, fresh: Run) -> str:
    if resumed.before + resumed.after == fresh.before + fresh.after:
        return "right"
    return "kept" if resumed.after == fresh.after else "wrong"


def rows_of(declared: Project, layout: Layout, table: str) -> Rows:
    """The rows of a model, or all changes of an upsert; a column that is null counts as one that is not there."""
    is_upsert = declared.model(table).materialized == "upsert"
    stored = DeltaTable(layout.changes(table) if is_upsert else layout.table(table))
    found = rows.query("select * from stored", {"stored": stored}, {}).rows
    named = (sorted((name, value) for name, value in row.items() if name != "_batch") for row in found)
    return Counter(rows.to_json({name: value for name, value in row if value is not None}) for row in named)


def become_another(layout: Layout) -> None:
    """Give copied queries ids of their own: Spark stops a query when one of the same id starts."""
    for metadata in layout.checkpoints.glob("*/metadata"):
        metadata.write_text(json.dumps({"id": str(uuid4())}))
        metadata.with_name(".metadata.crc").unlink()


def link(source: Path, target: Path) -> None:
    """Bring a table up to date: data before the entries of the log that name it."""
    files = [path for path in source.rglob("*") if path.is_file()]
    for file in sorted(files, key=lambda path: ("_delta_log" in path.parts, path)):
        copy = target / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, copy)
