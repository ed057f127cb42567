"""Rows of a table that are not in its topic yet: the publisher runs at its own pace, or was killed before that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.project.model import Model, Project
from headrace.project.resets import read_note
from headrace.publishing.outlet import Outlet, read_progress
from headrace.publishing.progress import Progress
from headrace.publishing.published_note import PublishedNote
from headrace.publishing.publisher import was_sent_before
from headrace.reading.topics import existing
from headrace.store.commits import MARKER
from headrace.store.delta_tables import is_table, open_table
from headrace.store.layout import Layout


@dataclass(frozen=True)
class _Written:
    """One commit of rows, and its marker."""

    version: int
    rows: int
    marker: dict[str, Any]


def may_be_outstanding(layout: Layout, model: Model) -> bool:
    """Whether a model is published and has rows: only then Kafka must be asked."""
    return model.publish is not None and any(_written(layout, model))


def sent_until(project: Project, layout: Layout, model: Model) -> int:
    """The version of a published model's table before which all is sent; the project's broker must be up."""
    outlet = Outlet.of(project, model)
    path = layout.appended(model.table, model.materialized == "upsert")
    if not is_table(path) or outlet.progress_topic not in existing(project.target.kafka):
        return 0
    found = read_progress(outlet)
    if found is None or found.progress.table_id != _id(layout, model) or found.progress.replaced is not None:
        return 0
    return found.progress.version


def outstanding(project: Project, layout: Layout, model: Model) -> int:
    """How many rows of a published model are still to be sent, as far as is known; the project's broker must be up."""
    outlet = Outlet.of(project, model)
    found = read_progress(outlet) if outlet.progress_topic in existing(project.target.kafka) else None
    barrier = read_note(layout.checkpoint(model.query or model.name)).barrier
    left = (each for each in _written(layout, model) if not was_sent_before(each.marker, barrier))
    if found is not None:
        return sum(_unsent(each, found.progress, _id(layout, model)) for each in left)
    # Rows of a model that was never published are history (see `publish.start`); of others, nobody knows.
    return sum(each.rows for each in left) if PublishedNote(layout.root, model.name).exists else 0


def _unsent(commit: _Written, progress: Progress, table_id: str) -> int:
    """How many rows of a commit are not sent; progress over another table does not count for this one."""
    is_of_table = progress.table_id == table_id and progress.replaced is None
    if not is_of_table or commit.version > progress.version:
        return commit.rows
    return max(commit.rows - progress.position, 0) if commit.version == progress.version else 0


def _written(layout: Layout, model: Model) -> Iterator[_Written]:
    path = layout.appended(model.table, model.materialized == "upsert")
    for commit in open_table(path).history() if is_table(path) else ():
        marker = json.loads(commit.get("userMetadata") or "{}").get(MARKER, {})
        if marker.get("batch", -1) >= 0 and (rows := int(marker.get("rows", 0))):
            yield _Written(int(commit["version"]), rows, marker)


def _id(layout: Layout, model: Model) -> str:
    return str(open_table(layout.appended(model.table, model.materialized == "upsert")).metadata().id)
