"""Queries that are rebuilt next to the running ones: where they are stored, which they are, how far they have come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headrace.project.model import Query
from headrace.store import durable, json_files, trees
from headrace.store.layout import Beside, Layout
from headrace.store.paths import StorePath


@dataclass(frozen=True)
class Rebuild:
    """One rebuild: queries that belong together, named after the first of them.

    `batches` are the last batches of the running queries that have been caught up with; `filled_at` is when they
    were, None before.
    """

    queries: tuple[str, ...]
    filled_at: str | None = None
    batches: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The queries in words."""
        first, *rest = self.queries
        return f"{first} with {', '.join(rest)}, which stream it," if rest else first

    @property
    def progress(self) -> str:
        """How far it has come, and what to do next, as a message."""
        name = self.queries[0]
        what, command = f"the rebuild of {self.title}", f"`headrace rebuild {name}"
        if self.filled_at is None:
            return f"{what} is not complete; {command}` goes on, with --drop it is removed"
        return f"{what} is complete since {self.filled_at}; {command} --swap` swaps it in"

    def folder(self, layout: Layout) -> StorePath:
        """Where it is stored."""
        return layout.rebuilds / self.queries[0]

    def write(self, layout: Layout) -> None:
        """Save it; a reader sees the whole file or none."""
        durable.write(self.folder(layout) / _NAME, json.dumps(asdict(self)))


def known(layout: Layout) -> tuple[Rebuild, ...]:
    """All rebuilds in progress."""
    return tuple(_read(file) for file in sorted(layout.rebuilds.glob(f"*/{_NAME}"), key=str))


def find(layout: Layout, query: str) -> Rebuild | None:
    """The rebuild that a query belongs to."""
    return next((rebuild for rebuild in known(layout) if query in rebuild.queries), None)


def remove(layout: Layout, rebuild: Rebuild) -> None:
    """Remove a rebuild, its note first: without it nothing of what a killed process leaves counts as rebuilt."""
    folder = rebuild.folder(layout)
    (folder / _NAME).unlink(missing_ok=True)
    if isinstance(folder, Path):
        durable.sync([folder], missing_ok=True)
    trees.remove(folder)


def beside(layout: Layout, rebuild: Rebuild, queries: Iterable[Query]) -> Beside:
    """The data directory as the rebuilt queries among these see it."""
    tables = (model.table for query in queries if query.name in rebuild.queries for model in query.models)
    return Beside(layout.data_dir, layout.store, rebuild.folder(layout), frozenset(rebuild.queries), frozenset(tables))


def _read(file: StorePath) -> Rebuild:
    remedy = f"remove the folder {file.parent}, and run `headrace rebuild` again"
    return json_files.read(file, _rebuild, remedy)


def _rebuild(stored: Mapping[str, Any]) -> Rebuild:
    first, *rest = json_files.all_inside(stored["queries"])  # the first names the folder
    return Rebuild((first, *rest), stored["filled_at"], dict(stored["batches"]))


_NAME = "rebuild.json"
