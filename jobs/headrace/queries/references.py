"""What the references of a model stand for in a batch: streams, rows of this query, tables as of a version."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.project.model import Input, Model, Project
from headrace.queries.batch import Batch
from headrace.queries.failing.redelivery import Redelivery
from headrace.queries.outputs import Output, UpsertOutput
from headrace.queries.sources import Tables, plain, source_name
from headrace.spark.binding import view_of
from headrace.spark.small_batches import SmallBatches
from headrace.tables.commit_cache import CommitCache
from headrace.tables.lookup import Lookup
from headrace.tables.validity import all_versions, newest_versions


class References:
    """Resolves the references of one query's models."""

    def __init__(self, project: Project, batches: SmallBatches, tables: Tables, outputs: Mapping[str, Output]) -> None:
        self._project = project
        self._batches = batches
        self._tables = tables
        self._outputs = outputs
        self._looked_up: dict[str, tuple[int, DataFrame]] = {}
        self._lookups: dict[str, Lookup | None] = {}
        self.commit_cache = CommitCache()

    def forget(self) -> None:
        """Forget what was looked up."""
        for lookup in filter(None, self._lookups.values()):
            lookup.drop()
        self._looked_up, self._lookups = {}, {}

    def leaves(self, model: Model, batch: Batch) -> tuple[DataFrame, ...]:
        """The frames that a model is planned over; each is the same object as long as plans over it stay valid."""
        return tuple(frame for ref in model.inputs for frame in self._leaves_of(ref, batch))

    def _leaves_of(self, ref: Input, batch: Batch) -> tuple[DataFrame, ...]:
        view = view_of(self._project, ref)
        if view is None:
            return self._leaves_of_stored(ref, batch)
        return (
            (batch.views[view.table].frame,) if ref.stream and view.table in batch.views else self.leaves(view, batch)
        )

    def _leaves_of_stored(self, ref: Input, batch: Batch) -> tuple[DataFrame, ...]:
        if ref.stream and ref.table in batch.added:
            return (batch.added[ref.table].frame,)
        if ref.table in self._outputs:
            known = self._outputs[ref.table].leaves
            return (*self._past(ref), *known, batch.added[ref.table].frame) if ref.versions else known
        if ref.stream:
            return (batch.read[source_name(self._project, ref)],)
        rows = self._as_of(ref, batch.inputs.snapshots[ref.table])
        lookup = self._lookup(ref)
        return lookup.leaves if lookup else (rows,)

    def relation(self, ref: Input, batch: Batch) -> DataFrame:
        """The rows that a reference stands for."""
        if ref.stream and batch.again:
            return self._as_it_was(ref, batch.again)
        if ref.stream and ref.table in batch.added:
            return batch.added[ref.table].frame.drop("_batch")
        if ref.table in self._outputs:
            output = self._outputs[ref.table]
            return self._versions(ref, batch) if ref.versions else output.before()
        if ref.stream:
            return self._tables.relation(ref, batch.read[source_name(self._project, ref)])
        return self._as_of(ref, batch.inputs.snapshots[ref.table])

    def _as_it_was(self, ref: Input, again: Redelivery) -> DataFrame:
        """What a stream gave in the batch of which rows are delivered again."""
        if ref.table in self._outputs:
            rows = self._outputs[ref.table].table.snapshot(self._batches.session)
            return rows.where(F.col("_batch") == again.batch).drop("_batch")
        after, upto = again.ranges.get(source_name(self._project, ref), (0, 0))
        table = self._tables.of(ref)
        commits = [table.commit(version) for version in range(after + 1, upto + 1)]
        return self._tables.relation(ref, table.rows(self._batches.session, *commits))

    def _versions(self, ref: Input, batch: Batch) -> DataFrame:
        """The versions of an upsert of this query, those that the batch adds too."""
        output, changes = self._upsert(ref), batch.added[ref.table].frame
        keys = output.model.unique_key
        if ref.past:
            (past,) = self._past(ref)
            return all_versions(past.unionByName(changes), keys)
        return newest_versions(output.before(), changes, keys)

    def _past(self, ref: Input) -> tuple[DataFrame, ...]:
        """All changes before the batch, where some may be needed that its state does not hold; read again each time."""
        return (self._upsert(ref).past(),) if ref.past else ()

    def _upsert(self, ref: Input) -> UpsertOutput:
        output = self._outputs[ref.table]
        assert isinstance(output, UpsertOutput), f"{ref.table} has no versions"
        return output

    def _as_of(self, ref: Input, version: int) -> DataFrame:
        if lookup := self._lookup(ref):
            return lookup.as_of(version, self.commit_cache)
        if self._looked_up.get(ref.name, (None,))[0] != version:
            self._looked_up[ref.name] = (version, self._tables.as_of(ref, version))
        return self._looked_up[ref.name][1]

    def _lookup(self, ref: Input) -> Lookup | None:
        if ref.name not in self._lookups:
            self._lookups[ref.name] = self._tables.lookup(self._batches, ref)
        return self._lookups[ref.name]

    def known(self, table: str, batch: Batch) -> DataFrame:
        """What a relationship looks up: a table as of its recorded version, of this query also what the batch adds."""
        if table not in self._outputs:
            return self._as_of(plain(table), batch.inputs.snapshots.get(table, -1))
        known = self._outputs[table].before()
        return known.unionByName(batch.added[table].frame.select(*known.columns)) if table in batch.added else known
