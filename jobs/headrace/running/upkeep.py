"""Maintenance of all tables of a project, while it runs and by hand.

A thread looks at each table once a minute. It takes no turn among the queries: a batch that commits meanwhile goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from headrace.project.model import Model, Project
from headrace.reading.status import TableStatus, write_tables
from headrace.running import log_readers
from headrace.running.tasks.task import Log
from headrace.spark.failures import message_of
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import Maintenance, Policy, Upkeep
from headrace.store.maintenance.superseded import ChangeKeys
from headrace.store.paths import StorePath
from headrace.store.removal import drafts

ROUND_SECONDS = 60.0

CURRENT_ROWS = Policy(0.0, kept=20, worth=20, is_replaced=True)
"""How the current rows of an upsert are kept, but for their `keep_history`."""

Bounds = Callable[[], Mapping[StorePath, int]]
Needed = tuple[int | None, int | None]
"""The first version of a table whose log is needed, and the first that somebody has still to read."""


def tables(project: Project, layout: Layout) -> Iterator[tuple[str, StorePath, Policy]]:
    """All tables of a project, and how each is kept."""
    seconds = project.target.keep_history
    for landing in project.landings:
        policy = Policy(landing.keep_history or seconds, landing.keep)
        yield f"landing {landing.name}", layout.landing(landing.name), policy
    for query in project.queries:
        yield f"failed rows of {query.name}", layout.failed(query.name), Policy(seconds, whole_markers=True)
        for model in query.models:
            yield from _tables_of(model, layout, model.keep_history or seconds)


def _tables_of(model: Model, layout: Layout, seconds: float) -> Iterator[tuple[str, StorePath, Policy]]:
    if model.materialized == "upsert":
        yield model.table, layout.table(model.table), replace(CURRENT_ROWS, keep_history=seconds)
        keys = ChangeKeys(model.unique_key, keeps_deleted=model.close_when is not None)
        yield f"changes of {model.table}", layout.changes(model.table), Policy(seconds, model.keep, keys)
    else:
        yield model.table, layout.table(model.table), Policy(seconds, model.keep)
    if model.run == "streaming":
        yield f"late rows of {model.table}", layout.late(model.table), Policy(seconds, model.keep)


class TableUpkeep:
    """The passes over all tables of a project, and the note of how large each is."""

    def __init__(self, project: Project, layout: Layout, bounds: Bounds, log: Log) -> None:
        self._project = project
        self._layout = layout
        self._bounds = bounds
        self._log = log
        self._work = {name: Maintenance(path, policy) for name, path, policy in tables(project, layout)}
        self._failed = set[str]()
        self._sweep_at = 0.0

    def round(self, worth: int | None = None, chosen: str | None = None) -> Mapping[str, Upkeep]:
        """Look at each table, or the chosen one; what was done to those that needed it."""
        bounds, done = self._bounds(), dict[str, Upkeep]()
        loses_rows = any(work.keep is not None for work in self._work.values())
        unread = log_readers.unread(self._project, self._layout) if loses_rows else {}
        for name, work in self._work.items():
            needed = bounds.get(work.path), unread.get(work.path)
            if chosen in (None, name) and (found := self._step(name, work, needed, worth)) is not None:
                done[name] = found
        if done:
            self._note(done)
        self._sweep(at_once=worth is not None)
        return done

    def _sweep(self, at_once: bool) -> None:
        """Remove files that killed writers have left without a name, if it is time to look."""
        if not at_once and time.monotonic() < self._sweep_at:
            return
        self._sweep_at = time.monotonic() + drafts.SWEEP_SECONDS
        try:
            drafts.sweep(self._layout.root)
        except Exception as error:  # as below
            self._log("maintenance_failed", table="drafts", cause=message_of(error))

    def _step(self, name: str, work: Maintenance, needed: Needed, worth: int | None) -> Upkeep | None:
        bound, unread = needed
        try:
            found = work.step(bound, worth, unread)
        except Exception as error:  # the next round tries again; nothing that runs depends on it
            if name not in self._failed:
                self._log("maintenance_failed", table=name, cause=message_of(error))
            self._failed.add(name)
            return None
        self._failed.discard(name)
        return found

    def _note(self, done: Mapping[str, Upkeep]) -> None:
        now = datetime.now(timezone.utc)
        sizes = ((name, now, each.files, each.bytes, each.horizon, each.newest) for name, each in done.items())
        write_tables(self._layout, (TableStatus(*size) for size in sizes))


class UpkeepThread(threading.Thread):
    """Calls a round every minute until it is stopped."""

    def __init__(self, upkeep: TableUpkeep) -> None:
        super().__init__(name="maintenance", daemon=True)
        self._upkeep = upkeep
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(ROUND_SECONDS):
            self._upkeep.round()

    def stop(self) -> None:
        """Ask for the end, and wait up to ten seconds for a pass that is under way; interrupting one does no harm."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)
