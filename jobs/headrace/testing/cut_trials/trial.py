"""Runs stored models over made-up events in several cuts: which of them depend on the cut, shown by a few events.

Queries that read each other are run together. Those without a watermark get late and unordered event times; the others
get only times that no watermark finds late, since what happens to a late row may depend on the cut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from random import Random

from headrace.project.model import SEED_PARTITION, Project, Topic
from headrace.testing.cases.landing import Landed, LandedBatch, land
from headrace.testing.cut_trials.compared import compared
from headrace.testing.cut_trials.cutting import Cutting, cuttings
from headrace.testing.cut_trials.made_up import Maker
from headrace.testing.cut_trials.runs import Rows, Run
from headrace.testing.cut_trials.shrinking import smallest
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed

EVENTS = 20
"""Usable events for each topic, as long as there are few topics."""

MOST_EVENTS = 80
LATE = timedelta(seconds=120)
STREAMED_PARTS = 8
"""A batch of the streaming engine costs a second: one record a batch would take minutes."""

MOST_QUESTIONS = 60
_REJECTED = 10
"""One rejected event to so many usable ones."""

_DELAY = re.compile(r"\bdelay\s+of\s+interval\s+'?(:?\w+)'?\s+(second|minute|hour|day)s?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """Models that are run together, and all that they read."""

    project: Project
    tables: tuple[str, ...]

    @property
    def is_streaming(self) -> bool:
        """Whether a watermark may decide on its rows."""
        return any(query.engine == "streaming" for query in self.project.queries)

    @property
    def topics(self) -> list[Topic]:
        """The topics behind the models; for models that read only a clock, those of its landing."""
        return topics_of(self.project)

    @property
    def lag(self) -> timedelta:
        """How far behind its landing an event time may be: where there is a watermark, half of its shortest delay."""
        texts = [model.text for model in self.project.models]
        delays = [
            timedelta(**{f"{unit.lower()}s": _number(self.project, number)})
            for text in texts
            for number, unit in _DELAY.findall(text)
        ]
        return min([LATE, *(delay / 2 for delay in delays)])


@dataclass(frozen=True)
class Difference:
    """Two cuts of the same few landed batches that give a model different rows."""

    batches: Sequence[LandedBatch]
    one: tuple[str, Rows]
    other: tuple[str, Rows]


@dataclass
class PartTrial:
    """One part over made-up events, run once for all of its models."""

    sandbox: Sandbox
    part: Part
    seed: int
    events: int = EVENTS
    usable: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)

    def rows(self, table: str) -> Sequence[tuple[Cutting, Rows]]:
        """What each cut gives a model."""
        return [(cutting, found[table]) for cutting, found in self._tried]

    def difference(self, table: str) -> Difference | None:
        """The smallest difference found for a model, None if all cuts give the same rows."""
        (first, base), *others = self.rows(table)
        second = next((cutting for cutting, rows in others if rows.differs(base)), None)
        if second is None:
            return None
        run = replace(self._run, project=narrowed(self.part.project, [table]))
        is_snapshot = run.project.model(table).materialized == "snapshot"
        found = dict[tuple[int, ...], tuple[Rows, Rows]]()

        def differs(asked: Sequence[int]) -> bool:
            numbers = run.landed.ended(asked) if is_snapshot else asked
            some = run.only(numbers)
            one, other = (some.rows(cutting.within(numbers))[table] for cutting in (first, second))
            found[tuple(asked)] = one, other
            return one.differs(other)

        remaining = smallest(
            _numbers(run.landed, {topic.topic for topic in topics_of(run.project)}), differs, MOST_QUESTIONS
        )
        if tuple(remaining) not in found and not differs(remaining):
            remaining = _numbers(self._run.landed)
            differs(remaining)
        one, other = found[tuple(remaining)]
        shown = run.landed.ended(remaining) if is_snapshot else remaining
        return Difference(run.landed.within(shown), (first.name, one), (second.name, other))

    @property
    def _run(self) -> Run:
        return self._found[0]

    @property
    def _tried(self) -> Sequence[tuple[Cutting, Mapping[str, Rows]]]:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Run, Sequence[tuple[Cutting, Mapping[str, Rows]]]]:
        """All cuts; where a query fails, once more with numbers on which fewer models fail."""
        run, tried = self._try(positive=False)
        if any(rows.failure for _, found in tried for rows in found.values()):
            run, tried = self._try(positive=True)
        return run, tried

    def _try(self, positive: bool) -> tuple[Run, Sequence[tuple[Cutting, Mapping[str, Rows]]]]:
        random = Random(f"{self.seed} {self.part.is_streaming} {[topic.name for topic in self.part.topics]}")
        landed = self._landed(random, positive)
        run = Run(self.sandbox, narrowed(self.part.project, self.part.tables), landed)
        most = STREAMED_PARTS if self.part.is_streaming else None
        return run, [(cutting, run.rows(cutting)) for cutting in cuttings(_numbers(landed), random, most)]

    def _landed(self, random: Random, positive: bool) -> Landed:
        topics = self.part.topics
        count = min(self.events * len(topics), MOST_EVENTS)
        maker = Maker(topics, compared(self.part.project), self.part.lag, random, positive)
        landed = land(self.sandbox.judge, self.part.project, maker.batches(2 * count), seeds=True)
        names = {topic.topic: topic.name for topic in topics}
        rows = [row for batch in landed.batches for row in batch.rows if row.topic in names]
        self.made = Counter(names[row.topic] for row in rows)
        self.usable = Counter(names[row.topic] for row in rows if row.reject_reason is None)
        return Landed(tuple(_thinned(landed.batches, count)))


def parts(project: Project, tables: Collection[str]) -> list[Part]:
    """The parts in which some stored models are run; the made-up events do not depend on which models these are."""
    groups: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for query in project.queries:
        whole = narrowed(project, [model.table for model in query.models])
        landings = {project.topic(topic.name)[0].name for topic in topics_of(whole)}
        key = tuple(sorted(landings)), any(each.engine == "streaming" for each in whole.queries)
        groups.setdefault(key, []).extend(model.table for model in query.models)
    found = [
        (narrowed(project, group), tuple(table for table in group if table in tables)) for group in groups.values()
    ]
    return [Part(whole, wanted) for whole, wanted in found if wanted and topics_of(whole)]


def topics_of(project: Project) -> list[Topic]:
    """The topics that the models of a project read; where they read only a clock, those of its landing."""
    read = {ref.table for model in project.models for ref in model.inputs}
    landings = [landing for landing in project.landings if any(f"bronze.{t.name}" in read for t in landing.relations)]
    topics = [topic for landing in landings for topic in landing.topics]
    return [topic for topic in topics if f"bronze.{topic.name}" in read] or topics


def _numbers(landed: Landed, topics: Collection[str] | None = None) -> list[int]:
    """The numbers of the landing batches; with `topics` only of ticks and of batches with their records."""
    selected = [
        batch.number
        for batch in landed.batches
        if topics is None or batch.is_tick or any(row.topic in topics for row in batch.rows)
    ]
    return [*dict.fromkeys(selected)]


def _thinned(batches: Sequence[LandedBatch], count: int) -> Iterator[LandedBatch]:
    """This many usable events and a few rejected ones, with the ticks and seeds among them."""
    usable = rejected = 0
    for batch in batches:
        if batch.is_tick or any(row.partition == SEED_PARTITION for row in batch.rows):
            yield batch
        elif all(row.reject_reason is None for row in batch.rows):
            usable += 1
            if usable <= count:
                yield batch
        else:
            rejected += 1
            if rejected <= count // _REJECTED:
                yield batch


def _number(project: Project, text: str) -> float:
    value = project.vars.get(text[1:]) if text.startswith(":") else text
    return float(value) if value is not None else 0.0
