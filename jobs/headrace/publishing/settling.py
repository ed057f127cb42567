"""Publishers whose tables were restored: what was sent that the tables do not hold, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headrace.environment import swap
from headrace.errors import UsageError
from headrace.project.kafka_options.topic_names import PROGRESS_SETTINGS, progress_topic
from headrace.project.model import Model, Project
from headrace.project.resets import read_note
from headrace.publishing.outlet import Outlet, read_all
from headrace.publishing.positions import Choice, Standing, rows_of
from headrace.publishing.progress import Progress, Recorded
from headrace.publishing.published_note import PublishedNote
from headrace.reading.topics import ensure, existing
from headrace.store.delta_tables import id_of
from headrace.store.history import commits_of
from headrace.store.layout import Layout
from headrace.tables.positions import Extent


@dataclass(frozen=True)
class Unrecorded:
    """A publisher that has sent rows of a table, and of which Kafka has no record: it was deleted, or is another Kafka.

    `rows` is how many rows the table holds, `noted` how far they were sent when a backup was taken.
    """

    model: Model
    table: Extent
    rows: int
    noted: Progress | None = None

    def settled(self, choice: Choice) -> Progress:
        """The progress from which on it goes on, as chosen."""
        if choice == "again":
            return Progress(self.table.id or "")
        return self.noted or Progress(self.table.id or "", self.table.newest + 1, rows=self.rows)


def recorded(project: Project) -> Mapping[str, Recorded]:
    """The newest record of each publisher, by its model's table; the project's broker must be up."""
    outlets = {outlet.name: (outlet, model) for model in project.models if (outlet := _outlet(project, model))}
    if not outlets:
        return {}
    first, _ = next(iter(outlets.values()))
    if first.progress_topic not in existing(project.target.kafka):
        return {}
    return {outlets[name][1].table: found for name, found in read_all(first, outlets).items()}


def unfit(
    project: Project, layout: Layout, found: Mapping[str, Recorded], is_backup: bool = False
) -> Iterator[Standing]:
    """The publishers that cannot go on over the tables of a layout, or of a backup, without a choice."""
    standings = (each for each in _refused(project, layout, found) if each.table.id is not None)
    return (replace(each, is_restored=is_backup) for each in standings)


def without_table(project: Project, layout: Layout, found: Mapping[str, Recorded]) -> Iterator[Standing]:
    """The publishers whose tables a layout does not have: the next run makes them, and then asks for a choice."""
    return (each for each in _refused(project, layout, found) if each.table.id is None)


def _refused(project: Project, layout: Layout, found: Mapping[str, Recorded]) -> Iterator[Standing]:
    retired = {id_of(log.parent) for folder in swap.retired(layout) for log in folder.glob("tables/*/*/_delta_log")}
    for table, record in found.items():
        model = project.model(table)
        path = layout.appended(table, model.materialized == "upsert")
        removed = read_note(layout.checkpoint(model.query or model.name)).removed
        replaced = None if removed is None else {*removed, *retired}
        here = Outlet.of(project, model).writer
        standing = Standing(model, record, Extent.of(path), partial(commits_of, path), here)
        if standing.finding(replaced):
            yield standing


def unrecorded(
    project: Project, layout: Layout, found: Mapping[str, Recorded], noted: Mapping[str, Mapping[str, Any]]
) -> Iterator[Unrecorded]:
    """The publishers of which Kafka has lost the record; `noted` are those that a backup holds, by their tables."""
    for model in project.models:
        path = layout.appended(model.table, model.materialized == "upsert")
        table = Extent.of(path) if model.publish and model.table not in found else Extent()
        if table.id is not None and PublishedNote(layout.root, model.name).exists:
            before = noted.get(model.table)
            progress = Recorded.from_json(json.dumps(before)).progress if before else None
            is_of_table = progress is not None and progress.table_id == table.id
            yield Unrecorded(model, table, rows_of(commits_of(path)), progress if is_of_table else None)


def refuse_unknown(standings: list[Standing], choice: Choice) -> None:
    """UsageError if rows are to be skipped of which nobody knows how many there are."""
    for standing in standings if choice == "skip" else ():
        if standing.lost is None and standing.is_computed_again:
            raise UsageError(
                f"an older headrace has recorded what was sent of {standing.model.table}, and not how many rows; "
                "choose `--publish again`"
            )


def settle(project: Project, standings: Iterable[Standing | Unrecorded], choice: Choice) -> None:
    """Record for each publisher where it goes on; one that is running is fenced off."""
    for standing in standings:
        ensure(project.target.kafka, {progress_topic(project.target): 1}, PROGRESS_SETTINGS)
        Outlet.of(project, standing.model).move(standing.settled(choice))


def _outlet(project: Project, model: Model) -> Outlet | None:
    return Outlet.of(project, model) if model.publish is not None else None
