"""What a group computes in every batch: its models in order, each over the rows of those before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.errors import HeadraceError
from headrace.project.model import Input, Model, Project, Query
from headrace.project.sql import emptiness
from headrace.queries.batch import Batch
from headrace.queries.batch_tests import QueryTests
from headrace.queries.failing.faults import Fault, fault_of
from headrace.queries.failing.poison import MOST, Arrival, Poison, RowFailed, among
from headrace.queries.failing.search import Search
from headrace.queries.inputs import Inputs
from headrace.queries.outputs import Output, UpsertOutput, committed_rows
from headrace.queries.references import References
from headrace.queries.sources import Tables, source_name
from headrace.spark.binding import Binder, shared_views, streams_of, view_of
from headrace.spark.columns import AS_JSON
from headrace.spark.failures import ModelFailed
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.tables.commit_cache import CommitCache


class Routine:
    """Computes batch after batch, and batches as little as it can: see `SmallBatches`."""

    def __init__(
        self,
        project: Project,
        query: Query,
        batches: SmallBatches,
        tables: Tables,
        outputs: Mapping[str, Output],
        tests: QueryTests,
    ) -> None:
        self._project = project
        self._batches = batches
        self._tables = tables
        self._outputs = outputs
        self._tests = tests
        self._shared = shared_views(project, query)
        self._models = query.models
        self._steps = tuple(dict.fromkeys(step for model in query.models for step in self._steps_to(model)))
        self._last_reader = {view: step.table for step in self._steps for view in self._shared_by(step)}
        self._references = References(project, batches, tables, outputs)
        self.poison: tuple[Poison, ...] = ()

    def decide(
        self, read: Mapping[str, DataFrame], silent: frozenset[str], inputs: Inputs, done: Mapping[str, Commit]
    ) -> dict[str, Materialized]:
        """Compute a batch, in which some sources are silent; `done` are the models whose rows are committed already.

        Writes nothing. `poison` are afterwards the rows that models were run without.
        """
        batch = Batch(inputs, read, done, silent, poison=[*inputs.poison])
        for step in self._steps:
            try:
                self._take_without_poison(step, self._scoped(step, batch))
                self._give_back(step, batch)
            except Exception as error:
                raise ModelFailed(step.table, step.path, error) from error
        self.poison = tuple(batch.poison)
        self._tests.note_errors([row for each in batch.poison for row in self._rows_of(each, batch)])
        return batch.added

    def share(self, commit_cache: CommitCache) -> None:
        """Take the newest commits of the tables that it reads from where others put them."""
        self._references.commit_cache = commit_cache

    @property
    def steps(self) -> frozenset[str]:
        """The models and shared views that it computes."""
        return frozenset(step.table for step in self._steps)

    def forget(self) -> None:
        """Forget what is cached."""
        self._references.forget()
        self._batches.drop()

    def _scoped(self, step: Model, batch: Batch) -> Batch:
        """What a step is run over: of rows that are delivered again, only the model that they are for has any."""
        again = batch.inputs.redelivery
        if again is None or again.table != step.table:
            return batch
        return replace(batch, again=again, only=among(again.poison.arrivals))

    def _take_without_poison(self, step: Model, batch: Batch) -> None:
        """Take a step; where rows make it fail, find them, and take it without them if it may be."""
        while True:
            try:
                return self._take(step, batch)
            except Exception as error:
                fault = fault_of(error)
                found = self._poison(step, batch, fault) if fault else None
                if found is None:
                    raise
                if not self._sets_aside(step):
                    raise RowFailed(found, self._key_of(found, batch)) from error
                batch.poison.append(found)
                if sum(len(each.arrivals) for each in batch.poison if each.table == step.table) >= MOST:
                    message = f"{found.place}: {found.error}, at {MOST} rows of a batch or more; mend the model"
                    raise HeadraceError(message) from error

    def _sets_aside(self, step: Model) -> bool:
        """Whether a step may go on without some rows; a view if all models that read it may."""
        if step.table in self._outputs:
            return step.on_error == "dead_letter"
        readers = [model for model in self._models if step.table in (view.table for view in self._views_of(model))]
        return all(model.on_error == "dead_letter" for model in readers)

    def _poison(self, step: Model, batch: Batch, fault: Fault) -> Poison | None:
        """The rows that make a step fail; None if they cannot be found."""
        arrivals = self._arrivals(step, batch)

        def run(condition: str) -> None:
            trial = replace(batch, only=f"{batch.only} and {condition}")
            rows, output = self._run(step, trial), self._outputs.get(step.table)
            self._batches.materialize(output.shaped(rows) if output else rows).release()

        search = Search([step, *self._views_of(step)], arrivals, run)
        return search.poison(fault, MOST if self._sets_aside(step) else 1, self._project.vars)

    def _arrivals(self, step: Model, batch: Batch) -> list[Arrival]:
        """The arrivals of all rows that a step streams, in order; none if some stream has no arrivals."""
        found: set[Arrival] = set()
        for rows in self._streams(step, batch):
            if "_arrival" not in rows.columns:
                return []
            parts = rows.where(batch.left(step) or "true").where("_arrival is not null").select("_arrival.*").distinct()
            found |= {(row[0], row[1], row[2], row[3]) for row in parts.collect()}
        return sorted(found)

    def _streams(self, step: Model, batch: Batch) -> Iterator[DataFrame]:
        for _, ref in streams_of(self._project, step):
            yield self._references.relation(ref, batch)

    def _views_of(self, model: Model) -> Iterator[Model]:
        for view in filter(None, (view_of(self._project, ref) for ref in model.inputs)):
            yield view
            yield from self._views_of(view)

    def _rows_of(self, poison: Poison, batch: Batch) -> list[tuple[str, str, str]]:
        """What is stored of rows that a model was run without: model, reason, and all that is known as JSON."""
        step = next(step for step in self._steps if step.table == poison.table)
        batch = self._scoped(step, batch)
        details = {"clause": poison.clause, "place": poison.place, "error": poison.error}
        found: dict[Arrival, dict[str, Any]] = {}
        for rows in self._streams(step, batch):
            chosen = rows.where(among(poison.arrivals))
            for row in chosen.select("_arrival.*", F.to_json(F.struct("*"), AS_JSON)).collect():
                whole = json.loads(row[4])
                arrival = {"topic": row[1], "partition": row[2], "offset": row[3], "key": whole.get("key")}
                found.setdefault((row[0], row[1], row[2], row[3]), {**arrival, **details, "row": whole})
        return [(poison.table, poison.reason, json.dumps(found[arrival])) for arrival in sorted(found)]

    def _key_of(self, poison: Poison, batch: Batch) -> str | None:
        rows = self._rows_of(poison, batch)
        return json.loads(rows[0][2])["key"] if rows else None

    def _take(self, step: Model, batch: Batch) -> None:
        if step.table not in self._outputs:
            batch.views[step.table] = self._viewed(step, batch)
        elif step.table in batch.done:
            output = self._outputs[step.table]
            batch.added[step.table] = committed_rows(self._batches, output, batch.done[step.table])
        else:
            batch.added[step.table] = self._added(step, batch)

    def _give_back(self, step: Model, batch: Batch) -> None:
        """Free the views that no later step reads: many rows evict each other from memory."""
        for table, rows in batch.views.items():
            if self._last_reader[table] == step.table:
                rows.release()

    def _gives_nothing(self, step: Model, batch: Batch) -> bool:
        """Whether a step need not be computed, since what it reads has no rows."""
        return batch.again is None and emptiness.of(step.text, step.path)(lambda ref: self._has_none(ref, batch))

    def _has_none(self, ref: Input, batch: Batch) -> bool:
        """Whether an input is known to have no rows."""
        if ref.versions:
            return False
        if not ref.stream:
            known = self._outputs.get(ref.table)
            return isinstance(known, UpsertOutput) and not known.state.count
        found = batch.added.get(ref.table) or batch.views.get(ref.table)
        if found is not None:
            return not found.count
        view = view_of(self._project, ref)
        if view is not None:
            return self._gives_nothing(view, batch)
        return source_name(self._project, ref) in batch.silent

    def _viewed(self, view: Model, batch: Batch) -> Materialized:
        if self._gives_nothing(view, batch):
            return self._batches.nothing(view.table, self._tables.schema(view.table))
        return self._computed(view, batch, lambda: self._run(view, batch), *self._references.leaves(view, batch))

    def _added(self, model: Model, batch: Batch) -> Materialized:
        tests = self._tests.models.get(model.table)
        if tests is None and self._gives_nothing(model, batch):
            return self._batches.nothing(model.table, self._outputs[model.table].table.schema)
        leaves = self._references.leaves(model, batch)
        if tests is None:
            return self._fitted(model, batch, leaves, lambda: self._run(model, batch))
        accepted = tests.accepted(self._run(model, batch), lambda table: self._references.known(table, batch))
        return tests.unrepeated(self._fitted(model, batch, (accepted,), lambda: accepted))

    def _fitted(
        self, model: Model, batch: Batch, leaves: tuple[DataFrame, ...], rows: Callable[[], DataFrame]
    ) -> Materialized:
        output, batches = self._outputs[model.table], self._batches
        shaped = self._computed(model, batch, lambda: batches.with_batch(output.shaped(rows())), *leaves)
        return output.narrowed(self._tests.acceptable(model.table, shaped))

    def _computed(self, step: Model, batch: Batch, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        """The rows of a step; what is run without some rows is planned for this batch alone."""
        if batch.left(step) is None:
            return self._batches.compute(step.table, make, *leaves)
        return self._batches.put(step.table, self._batches.materialize(make()))

    def _run(self, model: Model, batch: Batch) -> DataFrame:
        condition = batch.left(model)

        def left(rows: DataFrame) -> DataFrame:
            return rows.where(condition) if condition and "_arrival" in rows.columns else rows

        def resolve(ref: Input) -> DataFrame:
            rows = self._references.relation(ref, batch)
            if ref.stream and batch.again:
                return batch.again.as_new(left(rows), ref.table.startswith("bronze."))
            return left(rows) if ref.stream else rows

        computed = {} if batch.again else batch.views
        views = {table: left(rows.frame) for table, rows in computed.items()}
        return Binder(self._batches.session, self._project, resolve, views).run(model)

    def _steps_to(self, model: Model) -> Iterator[Model]:
        """The shared views that a model streams, in order, and itself."""
        for view in self._streamed_views(model):
            yield from (step for step in self._steps_to(view) if step.table in self._shared)
        yield model

    def _shared_by(self, model: Model) -> Iterator[str]:
        """The shared views that are read where a model is computed."""
        for view in self._streamed_views(model):
            yield from (view.table,) if view.table in self._shared else self._shared_by(view)

    def _streamed_views(self, model: Model) -> Iterator[Model]:
        found = (view_of(self._project, ref) for ref in model.inputs if ref.stream)
        yield from filter(None, found)
