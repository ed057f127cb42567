"""When something last came into each stored table."""

from __future__ import annotations

from datetime import datetime, timezone

from headrace.project.model import Model, Project
from headrace.store.delta_tables import open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath


def freshness(project: Project, layout: Layout) -> dict[str, datetime]:
    """Return the time of the last commit by table; tables that were never written are left out."""
    folders = {model.table: _folder(model, layout) for model in project.models if model.materialized != "view"}
    for landing in project.landings:
        folders |= {f"bronze.{topic.name}": layout.landing(landing.name) for topic in landing.topics}
    known = {folder: _last_commit(folder) for folder in set(folders.values())}
    return {table: time for table, folder in folders.items() if (time := known[folder]) is not None}


def _folder(model: Model, layout: Layout) -> StorePath:
    return layout.appended(model.table, model.materialized == "upsert")


def _last_commit(folder: StorePath) -> datetime | None:
    if not (folder / "_delta_log").is_dir():
        return None
    (commit,) = open_table(folder).history(1)
    return datetime.fromtimestamp(commit["timestamp"] / 1000, timezone.utc)
