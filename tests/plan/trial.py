"""What an edit really results in: texts run over landed batches, on real tables and checkpoints.

The old text processes what lands first, then the new text goes on with the rest on the same tables and checkpoint.
What it adds is compared with what the new text adds if it has been there from the start.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
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
from headrace.planning.declared import Declared
from headrace.project.model import Project
from headrace.reading import rows
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch, Record
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from tests.plan.corpus import Scenario, outcomes, project

_BATCHES = TypeAdapter(tuple[Batch, ...])
_FIRST = (0, 1)
"""The batches that the old text has, one at a time; the new text has the others."""
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
    """What the old text leaves after the first part, and what it adds if it goes on itself, if anybody asks."""

    declared: Declared
    left: Layout
    before: Rows
    after: Rows | None = None


@dataclass(frozen=True)
class Found:
    """The plan's verdict on an edit by Spark's types, and what really results.

    `right`: both texts give the same. `kept`: what is added is what the new text adds. Else `wrong`; or it `fails`, and
    then `error` says how.
    """

    verdict: str
    truth: str
    error: str = ""


class Trials:
    """Some scenarios on trial, on threads; an old text with which several of them start runs once."""

    def __init__(self, sandbox: Sandbox, folder: Path, scenarios: Iterable[Scenario]) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._landing = Lock()
        self._landed: dict[str, Path] = {}
        self._workers = ThreadPoolExecutor(_AT_ONCE, "trial")
        chosen = [*scenarios]
        # those that promise the same rows come last: for these the old text has to go on
        starts = {each.start: each for each in sorted(chosen, key=_is_same)}
        self._old = {start: self._workers.submit(self._old_of, scenario) for start, scenario in starts.items()}
        self._found = {scenario.name: self._workers.submit(self._found_of, scenario) for scenario in chosen}

    def close(self) -> None:
        """Wait for the trials that have started, and start no others."""
        self._workers.shutdown(cancel_futures=True)

    def found(self, scenario: Scenario) -> Found:
        """What comes of an edit."""
        return self._found[scenario.name].result()

    def _old_of(self, scenario: Scenario) -> Old:
        folder = self._folder / scenario.name
        declared = project(scenario.old, folder / "v1")
        going, left = (Layout(folder / name) for name in ("going", "left"))
        *_, before = self._process(scenario, declared, going, _FIRST)
        types = spark_verdict.types(self._sandbox.schemas(declared))
        if not _is_same(scenario):
            return Old(Declared.of(declared, types), going, before)
        shutil.copytree(going.data_dir, left.data_dir)
        (whole,) = self._process(scenario, declared, going, [_last(scenario)])
        return Old(Declared.of(declared, types), left, before, whole - before)

    def _found_of(self, scenario: Scenario) -> Found:
        old, folder = self._old[scenario.start].result(), self._folder / scenario.name
        new = project(scenario.new, folder / "v2")
        self._sandbox.schemas(new)  # what Spark refuses before it has met any state is no edit to judge
        verdict = outcomes(old.declared, new)[scenario.model].verdict.name
        try:
            resumed = self._resumed(scenario, new, Layout(folder / "resumed"), old)
        except (HeadraceError, PySparkException) as error:
            return Found(verdict, "fails", str(error))
        if _is_same(scenario):
            return Found(verdict, "right" if resumed.after == old.after else "wrong")
        return Found(verdict, _truth(resumed, self._fresh(scenario, new, Layout(folder / "fresh"))))

    def _resumed(self, scenario: Scenario, new: Project, layout: Layout, old: Old) -> Run:
        """The new text over what the old one left."""
        shutil.copytree(old.left.data_dir, layout.data_dir)
        become_another(layout)
        (whole,) = self._process(scenario, new, layout, [_last(scenario)])
        return Run(old.before, whole - old.before)

    def _fresh(self, scenario: Scenario, new: Project, layout: Layout) -> Run:
        """The new text over everything."""
        *_, before, whole = self._process(scenario, new, layout, [*_FIRST, _last(scenario)])
        return Run(before, whole - before)

    def _process(self, scenario: Scenario, declared: Project, layout: Layout, until: Iterable[int]) -> list[Rows]:
        """All rows of the model once all batches up to one have been processed, and up to the next; in one run."""
        landed = self._landed_of(scenario, declared)
        process = Process(self._sandbox, declared, layout)
        try:
            process.create_tables()
            return [*self._after_each(scenario, declared, layout, process, [landed / str(batch) for batch in until])]
        finally:
            process.stop()

    def _after_each(
        self, scenario: Scenario, declared: Project, layout: Layout, process: Process, landed: Iterable[Path]
    ) -> Iterator[Rows]:
        for folder in landed:
            link(folder, layout.data_dir)
            process.advance()
            yield rows_of(declared, layout, scenario.model)

    def _landed_of(self, scenario: Scenario, declared: Project) -> Path:
        """The landing tables as they are after each batch, in folders by its number."""
        key = repr(([landing.topics for landing in declared.landings], scenario.given))
        with self._landing:
            if key not in self._landed:
                self._landed[key] = self._land(scenario, declared, self._folder / "landed" / str(len(self._landed)))
            return self._landed[key]

    def _land(self, scenario: Scenario, declared: Project, folder: Path) -> Path:
        landed = land(self._sandbox.judge, declared, given(scenario, declared))
        layout = Layout(folder / "now")
        for landing in declared.landings:
            self._sandbox.landing_table(layout, landing.name).create()
        for number in range(landed.count):
            for batch in landed.within([number]):
                land_batch(self._sandbox, layout, batch)
            shutil.copytree(layout.data_dir, folder / str(number))
        return folder


def given(scenario: Scenario, declared: Project) -> list[Batch]:
    """What lands, as far as the project has a topic for it."""
    topics = {topic.name for landing in declared.landings for topic in landing.topics}
    batches = _BATCHES.validate_python(scenario.given)
    return [batch.model_copy(update={"records": _of(topics, batch)}) for batch in batches]


def _of(topics: Collection[str], batch: Batch) -> dict[str, tuple[Record, ...]]:
    return {name: records for name, records in batch.records.items() if name in topics}


def _is_same(scenario: Scenario) -> bool:
    return scenario.verdict == "SAME"


def _last(scenario: Scenario) -> int:
    return len(scenario.given) - 1


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
