"""The commits of a table as a reader meets them: in its log, or in its history once they have left that."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from headrace.errors import HeadraceError
from headrace.store.commits import Commit, actions_of, commit_of, entry_path, newest_version
from headrace.store.delta_tables import id_in_log, open_table
from headrace.store.history import History
from headrace.store.paths import StorePath
from headrace.tables import foreign

_UNTOUCHED = 50
"""Maintenance leaves this many of the newest commits as they are, so their readers need not look into the history."""

_SEEN_SECONDS = 5.0
"""How long the version that was seen last surely stays in the log: what leaves it is far behind the newest one."""

_HISTORY_SECONDS = 60.0
"""How long a history that was read is taken for the newest: no file is removed before it is older than that."""


class CommitLog:
    """Reads commits by their version, each once; remembers the newest version that it has seen."""

    way_out = foreign.RESTORE
    """What to do where others have changed the table."""

    def __init__(self, path: StorePath) -> None:
        self.path = path
        self._newest = -1
        self._seen_at = 0.0
        self._marked: dict[str, tuple[int, Commit | None]] = {}  # each query's newest commit as of a version
        self._past: tuple[float, History | None] = (0.0, None)

    def version(self) -> int:
        """The newest version this object has seen."""
        return self._newest

    def newest_version(self) -> int:
        """The newest version there is, whoever wrote it; -1 for a table that does not exist yet."""
        if self._is_out_of_sight:
            self._newest = newest_version(self.path)
        while self._entry(self._newest + 1).is_file():
            self._newest += 1
        self._seen_at = time.time()
        return self._newest

    @property
    def _is_out_of_sight(self) -> bool:
        """Whether none was seen yet, or it has left the log: the next ones have too, so there seem to be none."""
        if self._newest < 0:
            return True
        return abs(time.time() - self._seen_at) > _SEEN_SECONDS and not self._entry(self._newest).is_file()

    @property
    def begins_at_first(self) -> bool:
        """Whether the log still holds its first entry, so that a reader can walk through all of it."""
        return self._entry(0).is_file()

    def id(self) -> str:
        """The table's own id: a table that was dropped and made again has another."""
        return id_in_log(self.path) or self._stored_id

    def commits(self, after: int) -> Iterator[Commit]:
        """Every commit newer than version `after`, oldest first, up to the newest now."""
        for version in range(after + 1, self.newest_version() + 1):
            yield self.commit(version)

    def commit(self, version: int) -> Commit:
        """Read one commit from the table's history or its log; an error if neither holds it, or others added rows."""
        if version <= self._newest - _UNTOUCHED and (past := self._history().find(version)) is not None:
            return self._sound(past)
        try:
            actions = actions_of(self.path, version)
        except FileNotFoundError:  # it may just have become past
            return self._sound(self._past_commit(version))
        return self._sound(commit_of(version, actions), actions)

    def _sound(self, commit: Commit, actions: Iterable[Mapping[str, Any]] = ()) -> Commit:
        """A commit that may be read."""
        if foreign.adds_rows(commit):
            raise foreign.refusal(self.path, commit.version, actions, way_out=self.way_out)
        return commit

    def _past_commit(self, version: int) -> Commit:
        self._past = (0.0, None)
        found = self._history().find(version)
        if found is None:
            raise HeadraceError(f"{self.path}: version {version} is no longer in the table's log")
        return found

    def newest_marker(self, query: str) -> Commit | None:
        """The newest commit written by `query`, walking back from the newest version."""
        self.newest_version()
        return self._newest_of(query)

    def _newest_of(self, query: str) -> Commit | None:
        """The newest commit of a query as of the newest version that is known; each version is read once."""
        upto, found = self._marked.get(query, (-1, None))
        newer = (self.commit(version) for version in range(self._newest, upto, -1))
        found = next((commit for commit in newer if commit.marker.get("query") == query), found)
        self._marked[query] = (self._newest, found)
        return found

    @cached_property
    def _stored_id(self) -> str:
        return str(open_table(self.path).metadata().id)

    def _history(self) -> History:
        """The history as of a minute ago at most."""
        at, found = self._past
        if found is None or time.monotonic() - at > _HISTORY_SECONDS:
            found = History(self.path)
            self._past = (time.monotonic(), found)
        return found

    @property
    def _log(self) -> StorePath:
        return self.path / "_delta_log"

    def _entry(self, version: int) -> StorePath:
        return entry_path(self.path, version)
