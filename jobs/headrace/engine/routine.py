"""What a group computes in every batch: its models in order, each over the rows of those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from headrace.engine.batch_tests import QueryTests
from headrace.engine.binding import Binder, shared_views, view_of
from headrace.engine.delta import Commit
from headrace.engine.failures import ModelFailed
from headrace.engine.inputs import Inputs
from headrace.engine.kept import Plans
from headrace.engine.materialized import Materialized
from headrace.engine.outputs import Output, UpsertOutput, committed_rows
from headrace.engine.sources import Tables, plain, source_name
from headrace.engine.validity import all_versions, newest_versions
from headrace.project import emptiness
from headrace.project.model import Input, Model, Project, Query


@dataclass(frozen=True)
class Batch:
    """What a batch reads, and what it has computed so far: rows of models and of views that several models read."""

    inputs: Inputs
    read: Mapping[str, DataFrame]
    done: Mapping[str, Commit]
    silent: frozenset[str]
    """Sources without any row."""
    added: dict[str, Materialized] = field(default_factory=dict)
    views: dict[str, Materialized] = field(default_factory=dict)


class Routine:
    """Computes batch after batch, and plans as little as it can: see `Plans`."""

    def __init__(
        self,
        project: Project,
        query: Query,
        plans: Plans,
        tables: Tables,
        outputs: Mapping[str, Output],
        tests: QueryTests,
    ) -> None:
        self._project = project
        self._plans = plans
        self._tables = tables
        self._outputs = outputs
        self._tests = tests
        self._shared = shared_views(project, query)
        self._steps = tuple(dict.fromkeys(step for model in query.models for step in self._steps_to(model)))
        self._last_reader = {view: step.table for step in self._steps for view in self._shared_by(step)}
        self._looked_up: dict[str, tuple[int, DataFrame]] = {}

    def decide(
        self, read: Mapping[str, DataFrame], silent: frozenset[str], inputs: Inputs, done: Mapping[str, Commit]
    ) -> dict[str, Materialized]:
        """Compute a batch, in which some sources are silent; `done` are the models whose rows are committed already.

        Writes nothing.
        """
        batch = Batch(inputs, read, done, silent)
        for step in self._steps:
            try:
                self._take(step, batch)
                self._give_back(step, batch)
            except Exception as error:
                raise ModelFailed(step.table, step.path, error) from error
        return batch.added

    def forget(self) -> None:
        """Forget what is cached."""
        self._looked_up = {}
        self._plans.drop()

    def _take(self, step: Model, batch: Batch) -> None:
        if step.table not in self._outputs:
            batch.views[step.table] = self._viewed(step, batch)
        elif step.table in batch.done:
            output = self._outputs[step.table]
            batch.added[step.table] = committed_rows(self._plans, output, batch.done[step.table])
        else:
            batch.added[step.table] = self._added(step, batch)

    def _give_back(self, step: Model, batch: Batch) -> None:
        """Free the views that no later step reads: many rows crowd each other out of memory."""
        for table, rows in batch.views.items():
            if self._last_reader[table] == step.table:
                rows.release()

    def _gives_nothing(self, step: Model, batch: Batch) -> bool:
        """Whether a step need not be computed, since what it reads has no rows."""
        return emptiness.of(step.text, step.path)(lambda ref: self._has_none(ref, batch))

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
            return self._plans.nothing(view.table, self._tables.schema(view.table))
        return self._plans.compute(view.table, lambda: self._run(view, batch), *self._leaves(view, batch))

    def _added(self, model: Model, batch: Batch) -> Materialized:
        tests = self._tests.models.get(model.table)
        if tests is None and self._gives_nothing(model, batch):
            return self._plans.nothing(model.table, self._outputs[model.table].table.schema)
        leaves = self._leaves(model, batch)
        if tests is None:
            return self._fitted(model, leaves, lambda: self._run(model, batch))
        accepted = tests.accepted(self._run(model, batch), lambda table: self._known(table, batch))
        return tests.unrepeated(self._fitted(model, (accepted,), lambda: accepted))

    def _fitted(self, model: Model, leaves: tuple[DataFrame, ...], rows: Callable[[], DataFrame]) -> Materialized:
        output, plans = self._outputs[model.table], self._plans
        shaped = plans.compute(model.table, lambda: plans.with_batch(output.shaped(rows())), *leaves)
        return output.narrowed(self._tests.with_whole_keys(model.table, shaped))

    def _run(self, model: Model, batch: Batch) -> DataFrame:
        views = {table: rows.frame for table, rows in batch.views.items()}
        return Binder(self._plans.session, self._project, lambda ref: self._relation(ref, batch), views).run(model)

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

    def _leaves(self, model: Model, batch: Batch) -> tuple[DataFrame, ...]:
        """The frames that a model is planned over; each is the same object as long as plans over it stay valid."""
        return tuple(frame for ref in model.inputs for frame in self._leaves_of(ref, batch))

    def _leaves_of(self, ref: Input, batch: Batch) -> tuple[DataFrame, ...]:
        view = view_of(self._project, ref)
        if view is None:
            return self._leaves_of_stored(ref, batch)
        return (
            (batch.views[view.table].frame,) if ref.stream and view.table in batch.views else self._leaves(view, batch)
        )

    def _leaves_of_stored(self, ref: Input, batch: Batch) -> tuple[DataFrame, ...]:
        if ref.stream and ref.table in batch.added:
            return (batch.added[ref.table].frame,)
        if ref.table in self._outputs:
            known = self._outputs[ref.table].leaves
            return (*self._past(ref), *known, batch.added[ref.table].frame) if ref.versions else known
        if ref.stream:
            return (batch.read[source_name(self._project, ref)],)
        return (self._as_of(ref, batch.inputs.snapshots[ref.table]),)

    def _relation(self, ref: Input, batch: Batch) -> DataFrame:
        if ref.stream and ref.table in batch.added:
            return batch.added[ref.table].frame.drop("_batch")
        if ref.table in self._outputs:
            output = self._outputs[ref.table]
            return self._versions(ref, batch) if ref.versions else output.before()
        if ref.stream:
            return self._tables.relation(ref, batch.read[source_name(self._project, ref)])
        return self._as_of(ref, batch.inputs.snapshots[ref.table])

    def _versions(self, ref: Input, batch: Batch) -> DataFrame:
        """The versions of an upsert of this query, those that the batch adds too."""
        output, changes = self._upsert(ref), batch.added[ref.table].frame
        keys = output.model.unique_key
        if ref.past:
            (past,) = self._past(ref)
            return all_versions(past.unionByName(changes), keys)
        return newest_versions(output.before(), changes, keys)

    def _past(self, ref: Input) -> tuple[DataFrame, ...]:
        """All changes before the batch, where some may be needed that its state does not hold; read anew each time."""
        return (self._upsert(ref).past(),) if ref.past else ()

    def _upsert(self, ref: Input) -> UpsertOutput:
        output = self._outputs[ref.table]
        assert isinstance(output, UpsertOutput), f"{ref.table} has no versions"
        return output

    def _as_of(self, ref: Input, version: int) -> DataFrame:
        if self._looked_up.get(ref.name, (None,))[0] != version:
            self._looked_up[ref.name] = (version, self._tables.as_of(ref, version))
        return self._looked_up[ref.name][1]

    def _known(self, table: str, batch: Batch) -> DataFrame:
        """What a relationship looks up: a table as of its recorded version, of this query also what the batch adds."""
        if table not in self._outputs:
            return self._as_of(plain(table), batch.inputs.snapshots.get(table, -1))
        known = self._outputs[table].before()
        return known.unionByName(batch.added[table].frame.select(*known.columns)) if table in batch.added else known
