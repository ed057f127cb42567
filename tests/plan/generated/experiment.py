"""One domain over made-up events: what its old text leaves, and what really becomes of an edit.

The old text processes the first half. Then the new text goes on with the rest, on the same tables and checkpoints, and
is compared with the old text that goes on itself, and with the new text over everything.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from random import Random

from pyspark.errors import PySparkException

from headrace.checking import verdict as spark_verdict
from headrace.errors import HeadraceError
from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared, Schemas
from headrace.planning.verdict import Verdict
from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.runs.disk import Process
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from tests.plan import corpus, trial
from tests.plan.generated import domains
from tests.plan.generated.events import PARTS, Events
from tests.plan.generated.generator import RandomEdit
from tests.plan.trial import Rows

_MOST_TABLES = 3
"""So many tables that an edit reaches are tried, with all that they read."""


@dataclass(frozen=True)
class Verdicts:
    """The plan's verdicts on the tables that an edit reaches."""

    of: Mapping[str, Verdict]

    @property
    def worst(self) -> Verdict:
        return max(self.of.values(), default=Verdict.SAME)


@dataclass(frozen=True)
class Run:
    """The rows of each table that the first half of the events gave, and those that the rest added."""

    before: Mapping[str, Rows]
    after: Mapping[str, Rows]


@dataclass(frozen=True)
class Finding:
    """What came of an edit.

    `refused` by the checks or by Spark; it `fails` on these events by itself; `right`, or `wrong` where a verdict does
    not hold. `shows` is whether the events give other rows by the new text.
    """

    edit: RandomEdit
    truth: str
    verdicts: Verdicts | None = None
    shows: bool = True
    detail: str = ""

    @property
    def summary(self) -> str:
        """What became of it in a few words: edits of one outcome have one summary, false alarms one for each kind."""
        if self.verdicts is None:
            return "refused by the checks"
        verdict = self.verdicts.worst
        if self.edit.is_neutral and verdict > Verdict.SAME:
            return f"false alarm, {verdict.name}: {self.edit.kind}"
        if not self.shows and verdict > Verdict.KEEP:
            return f"perhaps a false alarm, {verdict.name}, no event gives another row: {self.edit.kind}"
        return f"{verdict.name}, {self.truth}"


class Experiment:
    """A domain and its events; the old text runs once."""

    def __init__(self, sandbox: Sandbox, folder: Path, domain: str, events: int, seed: int = 0) -> None:
        self._sandbox = sandbox
        self._folder = folder / domain
        self._numbers = count()
        self.old = corpus.project(domains.files(domain), self._folder / "old")
        self._declared = Declared.of(self.old)
        self._events = Events(sandbox, self._folder, self.old, events, seed)

    def finding(self, edit: RandomEdit, always: bool = False) -> Finding:
        """Judge an edit and, where the verdict lets a run go on, or `always`, try it.

        Descriptions, and what nobody reads, are only judged. So are seeds, which are no made-up events.
        """
        folder = self._folder / f"edit-{next(self._numbers)}"
        try:
            new = corpus.project(edit.files, folder / "project")
        except HeadraceError as error:
            return Finding(edit, "refused", detail=str(error))
        reached = self._reached(edit, new)
        verdicts = self._judged(new, {}, reached)
        stops = verdicts.worst > Verdict.UNDECIDED
        is_plain = not edit.is_read and verdicts.worst == Verdict.SAME
        if edit.path.endswith(".csv") or is_plain or (stops and not always):
            return Finding(edit, "judged", verdicts)
        return self._tried(edit, narrowed(new, reached[:_MOST_TABLES]), folder)

    # judging

    def _reached(self, edit: RandomEdit, new: Project) -> Sequence[str]:
        """The stored models that are made of what was edited."""
        stored = [
            model.table for query in new.queries for model in query.models if self._declared.by_table.get(model.table)
        ]
        edited = [model.table for model in new.models if model.path == edit.path]
        if not edited:
            return Random(edit.seed).sample(stored, len(stored))
        return [table for table in stored if edited[0] in _made_of(new, table)]

    def _judged(self, new: Project, types: Schemas, tables: Sequence[str]) -> Verdicts:
        old = Declared.of(self.old, self._types)
        stored = [model.table for query in new.queries for model in query.models if model.table in old.by_table]
        found = Comparison(old, Declared.of(new, types)).outcomes(stored)
        return Verdicts({table: found[table].verdict for table in stored if table in tables or types})

    # trying

    def _tried(self, edit: RandomEdit, new: Project, folder: Path) -> Finding:
        try:
            types = spark_verdict.types(self._sandbox.schemas(new))
        except (HeadraceError, PySparkException) as error:
            return Finding(edit, "refused", detail=str(error))
        verdicts = self._judged(new, types, ())
        try:
            fresh = self._run(new, Layout(folder / "fresh"), range(PARTS))
        except (HeadraceError, PySparkException) as error:
            return Finding(edit, "fails", verdicts, detail=str(error))
        shows = any(
            (fresh.before[t], fresh.after[t]) != (self._left.before[t], self._left.after[t]) for t in fresh.before
        )
        if verdicts.worst > Verdict.FORWARD:
            return Finding(edit, "judged", verdicts, shows)
        try:
            resumed = self._resumed(new, Layout(folder / "resumed"))
        except (HeadraceError, PySparkException) as error:
            return Finding(edit, "wrong", verdicts, shows, f"the new text cannot go on: {error}")
        wrong = [*self._wrong(verdicts, resumed, fresh)]
        return Finding(edit, "wrong" if wrong else "right", verdicts, shows, "\n".join(wrong))

    def _wrong(self, verdicts: Verdicts, resumed: Run, fresh: Run) -> Iterator[str]:
        for table, verdict in verdicts.of.items():
            old = self._left
            if verdict == Verdict.SAME:
                yield from _differences(f"{table} is SAME, first part", fresh.before[table], old.before[table])
                yield from _differences(f"{table} is SAME, by the new text", fresh.after[table], old.after[table])
                yield from _differences(f"{table} is SAME, going on", resumed.after[table], old.after[table])
            elif verdict == Verdict.KEEP:
                yield from _differences(f"{table} is KEEP, going on", resumed.after[table], fresh.after[table])

    @cached_property
    def _left(self) -> Run:
        """What the old text does, in two runs; what the first one leaves stays on disk."""
        left = Layout(self._folder / "left")
        self._run(self.old, left, range(PARTS // 2))
        shutil.copytree(left.data_dir, Layout(self._folder / "half").data_dir)
        run = self._run(self.old, left, range(PARTS // 2, PARTS))
        assert any(run.after.values()), "the events make no rows"
        return run

    def _resumed(self, new: Project, layout: Layout) -> Run:
        assert self._left
        shutil.copytree(Layout(self._folder / "half").data_dir, layout.data_dir)
        trial.become_another(layout)
        return self._run(new, layout, range(PARTS // 2, PARTS))

    def _run(self, project: Project, layout: Layout, parts: Sequence[int]) -> Run:
        """Process some parts in one run; all of them, or one of the halves."""
        before = _rows(project, layout) if parts[0] else {}
        table = self._events.landing(project, goes_on=parts[0] > 0)
        process = Process(self._sandbox, project, layout)
        try:
            process.create_tables()
            for part in parts:
                trial.link(table / str(part), layout.landing(project.landings[0].name))
                process.advance(self._events.until(part))
                if part == PARTS // 2 - 1:
                    before = _rows(project, layout)
        finally:
            process.stop()
        whole = _rows(project, layout)
        return Run(before, {name: rows - before[name] for name, rows in whole.items()})

    @cached_property
    def _types(self) -> Schemas:
        return spark_verdict.types(self._sandbox.schemas(self.old))


def _made_of(project: Project, table: str) -> set[str]:
    known = {model.table: model for model in project.models}
    found = [table]
    for name in found:
        inputs = [ref.table for ref in known[name].inputs] if name in known else []
        found += [each for each in dict.fromkeys(inputs) if each not in found]
    return set(found)


def _rows(project: Project, layout: Layout) -> Mapping[str, Rows]:
    tables = [model.table for query in project.queries for model in query.models]
    return {table: trial.rows_of(project, layout, table) for table in tables}


def _differences(what: str, found: Rows, wanted: Rows, most: int = 3) -> Iterator[str]:
    if found == wanted:
        return
    yield f"{what}: {(found - wanted).total()} rows too many, {(wanted - found).total()} missing"
    yield from (f"  + {row}" for row in [*(found - wanted).elements()][:most])
    yield from (f"  - {row}" for row in [*(wanted - found).elements()][:most])
