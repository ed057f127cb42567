"""Made-up events of a domain as they land, cut into parts, by the rules of any text of its sources."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from random import Random

from headrace.landing.clocks import key_of
from headrace.landing.ticks import watermarked
from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import Landed, land
from headrace.testing.cut_trials.compared import compared
from headrace.testing.cut_trials.made_up import Maker
from headrace.testing.cut_trials.trial import Part
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.sandbox import Sandbox

PARTS = 4
"""Into so many micro-batches the events are cut; the edit comes in the middle."""
_AT_ONCE = 4
"""So many events land together: a landing batch costs time, also an empty one."""


class Events:
    """The same events for all edits of a domain, which has one landing."""

    def __init__(self, sandbox: Sandbox, folder: Path, old: Project, count: int, seed: int) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._old = old
        self._count = count
        self._seed = seed
        self._tables: dict[tuple[str, frozenset[str], bool], Path] = {}

    def until(self, part: int) -> datetime:
        """When a part has landed."""
        return self._landed.until(self._cut[part])

    def landing(self, project: Project, goes_on: bool) -> Path:
        """A folder with the landing table after each part.

        It lands by the rules of a project or, if that only `goes_on`, up to the middle by the old ones.
        """
        rules, clocks = _rules(project), _clocks(project)
        is_old = rules == _rules(self._old) and clocks <= _clocks(self._old)
        key = (*(("", frozenset[str]()) if is_old else (rules, clocks)), goes_on and not is_old)
        if key not in self._tables:
            landed = self._landed if is_old else land(self._sandbox.judge, project, self._made, seeds=True)
            self._tables[key] = self._folder / f"landed-{len(self._tables)}"
            self._land(landed, self._tables[key], self.landing(self._old, False) if goes_on and not is_old else None)
        return self._tables[key]

    def _land(self, landed: Landed, folder: Path, before: Path | None) -> None:
        """Land all parts, or only those after the middle on top of what landed `before`."""
        table = self._sandbox.landing_table(Layout(folder / "table"), self._old.landings[0].name)
        if before is None:
            table.create()
        else:
            shutil.copytree(before / str(PARTS // 2 - 1), table.path)
        for part in range(PARTS // 2 if before else 0, PARTS):
            for batch in landed.within(self._cut[part]):
                land_batch(self._sandbox, Layout(folder / "table"), batch)
            shutil.copytree(table.path, folder / str(part))

    @cached_property
    def _made(self) -> Sequence[Batch]:
        lag = Part(self._old, ()).lag
        maker = Maker(self._old.landings[0].topics, compared(self._old), lag, Random(self._seed))
        return [*_together(maker.batches(self._count))]

    @cached_property
    def _landed(self) -> Landed:
        return land(self._sandbox.judge, self._old, self._made, seeds=True)

    @cached_property
    def _cut(self) -> Sequence[Sequence[int]]:
        numbers = sorted({batch.number for batch in self._landed.batches})
        size = -(-len(numbers) // PARTS)
        return [numbers[at * size : (at + 1) * size] for at in range(PARTS)]


def _rules(project: Project) -> str:
    """What the landing of a record depends on."""
    return repr(
        [
            (topic.reject, topic.fields, topic.scalar, topic.event_time, topic.null_key, topic.null_value)
            for topic in project.landings[0].topics
        ]
    )


def _clocks(project: Project) -> frozenset[str]:
    """What the ticks of a landing tell: a view with other SQL has a clock of its own."""
    streaming = (model for query in project.queries if query.engine == "streaming" for model in query.models)
    return frozenset(key_of(project, found) for model in streaming for found in watermarked(model))


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
