"""What a group reads: streams in whole commits, tables as of a version, and rows that are delivered again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from headrace.errors import HeadraceError
from headrace.project.model import Project, Query
from headrace.project.resets import read_note
from headrace.queries.failing.redelivery import NONE_YET, Redelivery, Requested, requests
from headrace.queries.inputs import Inputs
from headrace.queries.sources import Source, Tables, plain, source_name
from headrace.spark.binding import stored_inputs
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.store.paths import StorePath
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable

Ranges = Mapping[str, tuple[int, int]]
"""By source: the version up to which it has been read, and the last one that a batch reads."""


class Intake:
    """The sources and lookups of one query, how far it has come, and what its next batch reads."""

    def __init__(
        self, project: Project, query: Query, tables: Tables, checkpoint: StorePath, looked_up: Iterable[str]
    ) -> None:
        """`looked_up` are tables that are looked up by others than the models: by relationships that are tested."""
        own = {model.table for model in query.models}
        refs = [ref for ref in stored_inputs(project, query) if ref.table not in own]
        self.sources = {source_name(project, ref): Source(tables.of(ref)) for ref in refs if ref.stream}
        for name, version in read_note(checkpoint).barrier.items():
            if name in self.sources:
                self.sources[name].barrier = version
        lookups = {ref.table: ref for ref in refs if not ref.stream}
        more = {table: plain(table) for table in looked_up if table not in own}
        self.lookups = {table: tables.of(ref) for table, ref in {**more, **lookups}.items()}
        self._query = query.name
        self._requests: list[tuple[Requested, Redelivery]] = []
        self._requested = NONE_YET

    @property
    def behind(self) -> int:
        """How many commits and requests have not been taken yet, as far as this process knows."""
        behind = sum(max(source.table.version() - source.done, 0) for source in self.sources.values())
        return behind + len(self._requests)

    def resume(self, last: Inputs | None, is_finished: bool, failed: CommitTable, steps: Iterable[str]) -> None:
        """Go on after the last recorded batch, or before it; learn what is to be delivered again to one of some steps.

        The latter is asked for, in the table of failed rows, while no runner is running.
        """
        for name, (after, upto) in (last.ranges if last else {}).items():
            if name in self.sources:  # else no model of the group streams it any more
                self._refuse_another(name, last.ids.get(name) if last else None)
                self.sources[name].done = upto if is_finished else after
        done, known = (last.requested if last else NONE_YET), {*steps}
        self._requests = [(at, found) for at, found in requests(failed, done) if found.table in known]
        self._requested = done if self._requests else max(done, (failed.newest_version(), 0))

    def fitted(self, last: Inputs) -> Inputs:
        """The inputs of a batch to be run again, with what the models read since they were edited."""
        ranges = {name: last.ranges.get(name, (source.done, source.done)) for name, source in self.sources.items()}
        known = {name: version for name, version in last.snapshots.items() if name in self.lookups}
        return replace(last, ranges=ranges, snapshots={**self._versions(), **known})

    def next(self, batch: int, max_rows: int, takes_ticks: bool) -> Inputs | None:
        """What the next batch reads; None if there is nothing."""
        if self._requests:
            return self._next_redelivery(batch)
        ranges = dict(self._next_ranges(max_rows, takes_ticks))
        return None if all(after == upto for after, upto in ranges.values()) else self._inputs(batch, ranges)

    def commits(self, inputs: Inputs) -> Mapping[str, list[Commit]]:
        """The commits that a batch reads, of those sources that have any."""
        return {name: self.sources[name].commits(a, b) for name, (a, b) in inputs.ranges.items() if a < b}

    def read(
        self, batches: SmallBatches, commits: Mapping[str, list[Commit]], cache: CommitCache
    ) -> Mapping[str, Materialized]:
        """The rows of some commits, by their source."""
        return {name: self.sources[name].read(batches, name, found, cache) for name, found in commits.items()}

    def take(self, inputs: Inputs) -> None:
        """Count the inputs of a batch as read."""
        for name, (_, upto) in inputs.ranges.items():
            self.sources[name].done = upto
        self._requested = inputs.requested

    def _next_ranges(self, max_rows: int, takes_ticks: bool) -> Iterator[tuple[str, tuple[int, int]]]:
        """Also where there is nothing: a restart begins where these say."""
        for name, source in self.sources.items():
            upto, empty = source.next_range(max_rows, takes_ticks)
            if empty:
                source.done = upto
            yield name, (source.done, upto)

    def _next_redelivery(self, batch: int) -> Inputs:
        requested, again = self._requests.pop(0)
        for name, id_read in again.ids.items():
            if name in self.sources:
                self._refuse_another(name, id_read)
        nothing = {name: (source.done, source.done) for name, source in self.sources.items()}
        return replace(self._inputs(batch, nothing), redelivery=again, requested=requested)

    def _inputs(self, batch: int, ranges: Ranges) -> Inputs:
        ids = {name: source.table.id() for name, source in self.sources.items()}
        now = datetime.now(timezone.utc).isoformat()
        return Inputs(batch, ranges, self._versions(), now, ids, requested=self._requested)

    def _versions(self) -> dict[str, int]:
        """The newest versions of the tables that are looked up."""
        return {name: table.sound_version() for name, table in self.lookups.items()}

    def _refuse_another(self, name: str, id_read: str | None) -> None:
        if id_read is not None and id_read != self.sources[name].table.id():
            raise HeadraceError(
                f"{name} was reset since {self._query} last read it; run `headrace reset {self._query} --yes`"
            )
