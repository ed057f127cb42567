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

from headrace.errors import HeadraceError
from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared, Schemas
from headrace.planning.verdict import Verdict
from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import Landed, land
from headrace.testing.cut_trials.compared import compared
from headrace.testing.cut_trials.made_up import Maker
from headrace.testing.cut_trials.trial import Part
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from tests.plan import corpus, trial
from tests.plan.generated import domains
from tests.plan.generated.generator import RandomEdit
from tests.plan.trial import Rows

_PARTS = 4
"""Into so many micro-batches the events are cut; the edit comes in the middle."""
_AT_ONCE = 4
"""So many events land together: a landing batch costs time, also an empty one."""
_MOST_TABLES = 3
"""So many tables that an edit reaches are tried, with all that they read."""


@dataclass(frozen=True)
class Verdicts:
    """The plan's verdicts on the tables that an edit reaches."""

    of: Mapping[str, Verdict]
    is_unsure: bool

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
        self._events = events
        self._seed = seed
        self._numbers = count()
        self._tables: dict[str, Path] = {}
        self.old = corpus.project(domains.files(domain), self._folder / "old")
        self._declared = Declared.of(self.old)

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
        stops = verdicts.worst > Verdict.FORWARD and not verdicts.is_unsure
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
        bad = [each for outcome in found.values() for each in outcome.reasons if each.verdict > Verdict.FORWARD]
        unsure = bool(bad) and not types and all(each.is_unsure for each in bad)
        return Verdicts({table: found[table].verdict for table in stored if table in tables or types}, unsure)

    # trying

    def _tried(self, edit: RandomEdit, new: Project, folder: Path) -> Finding:
        try:
            types = _short(self._sandbox, new)
        except (HeadraceError, PySparkException) as error:
            return Finding(edit, "refused", detail=str(error))
        verdicts = self._judged(new, types, ())
        try:
            fresh = self._run(new, Layout(folder / "fresh"), range(_PARTS))
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
        """What the old text does; its first half stays on disk."""
        run = self._run(self.old, Layout(self._folder / "left"), range(_PARTS), Layout(self._folder / "half"))
        shown = {table: rows for table, rows in run.after.items() if not rows}
        assert len(shown) < len(run.after), "the events make no rows"
        return run

    def _resumed(self, new: Project, layout: Layout) -> Run:
        assert self._left
        shutil.copytree(Layout(self._folder / "half").data_dir, layout.data_dir)
        trial.become_another(layout)
        return self._run(new, layout, range(_PARTS // 2, _PARTS))

    def _run(self, project: Project, layout: Layout, parts: Sequence[int], half: Layout | None = None) -> Run:
        """Process some parts in one run, but for the edit in the middle; `half` gets a copy of what is there then."""
        before: Mapping[str, Rows] = {}
        landed, table = self._landing(project)
        if parts[0]:
            before = _rows(project, layout)
        for turn in (parts[: -_PARTS // 2], parts[-_PARTS // 2 :]):
            if not turn:
                continue
            process = Process(self._sandbox, project, layout)
            try:
                process.create_tables()
                for part in turn:
                    trial.link(table / str(part), layout.landing(project.landings[0].name))
                    process.advance(landed.until(self._cut[part]))
            finally:
                process.stop()
            if turn[-1] == _PARTS // 2 - 1:
                before = _rows(project, layout)
                if half is not None:
                    shutil.copytree(layout.data_dir, half.data_dir)
        whole = _rows(project, layout)
        return Run(before, {name: rows - before[name] for name, rows in whole.items()})

    # events

    def _landing(self, project: Project) -> tuple[Landed, Path]:
        """What lands, and the landing table after each part, by the rules of a project."""
        key = repr(
            [
                (topic.reject, topic.fields, topic.event_time, topic.null_key, topic.null_value)
                for topic in project.landings[0].topics
            ]
        )
        if key not in self._tables:
            folder = self._folder / f"landed-{len(self._tables)}"
            self._tables[key] = folder
            landed = self._landed if project is self.old else land(self._sandbox.judge, project, self._made, seeds=True)
            layout = Layout(folder / "table")
            table = self._sandbox.landing_table(layout, project.landings[0].name)
            table.create()
            for part, numbers in enumerate(self._cut):
                for batch in landed.within(numbers):
                    land_batch(self._sandbox, layout, batch)
                shutil.copytree(table.path, folder / str(part))
        return self._landed, self._tables[key]

    @cached_property
    def _made(self) -> Sequence[Batch]:
        part = Part(self.old, ())
        maker = Maker(self.old.landings[0].topics, compared(self.old), part.lag, Random(self._seed))
        return [*_together(maker.batches(self._events))]

    @cached_property
    def _landed(self) -> Landed:
        return land(self._sandbox.judge, self.old, self._made, seeds=True)

    @cached_property
    def _cut(self) -> Sequence[Sequence[int]]:
        numbers = sorted({batch.number for batch in self._landed.batches})
        size = -(-len(numbers) // _PARTS)
        return [numbers[at * size : (at + 1) * size] for at in range(_PARTS)]

    @cached_property
    def _types(self) -> Schemas:
        return _short(self._sandbox, self.old)


def _together(batches: Sequence[Batch]) -> Iterator[Batch]:
    """Some events in one batch, which lands with the last of them; ticks stay alone."""
    waiting: list[Batch] = []
    for batch in batches:
        waiting += [batch] if batch.records else []
        if waiting and (len(waiting) == _AT_ONCE or not batch.records):
            names = dict.fromkeys(name for each in waiting for name in each.records)
            records = {name: [one for each in waiting for one in each.records.get(name, ())] for name in names}
            yield Batch.model_validate({"at": waiting[-1].at, **records})
            waiting = []
        if not batch.records:
            yield batch


def _short(sandbox: Sandbox, project: Project) -> Schemas:
    found = sandbox.schemas(project)
    return {table: {field.name: field.dataType.simpleString() for field in schema} for table, schema in found.items()}


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
