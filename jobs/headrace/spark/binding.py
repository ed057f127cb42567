"""Running a model's text: every table it names is bound to a frame, views are inlined on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.project.declarations.macros import named_in
from headrace.project.model import SNAPSHOT_AT, Input, Macro, Model, Project, Query
from headrace.project.statement import bind, view_name, view_names

Resolve = Callable[[Input], DataFrame]


class Binder:
    """Binds each table once; `resolve` says which frame a stored table or bronze relation is.

    `computed` holds the rows of streamed views that several models read, so that each view is computed once. With
    `apart`, each read of a stream is resolved separately; `through` are the views between the model and the table that
    is being resolved.
    """

    def __init__(
        self,
        session: SparkSession,
        project: Project,
        resolve: Resolve,
        computed: Mapping[str, DataFrame] | None = None,
        apart: bool = False,
    ) -> None:
        self._session = session
        self._project = project
        self._resolve = resolve
        self._computed = computed or {}
        self._bound: set[str] = set()
        self._apart = apart
        self.through: tuple[str, ...] = ()

    def run(self, model: Model) -> DataFrame:
        """The rows of a model's text."""
        names = view_names(model) if self._apart else {r: view_name(r.name, r.stream) for r in model.inputs}
        for ref, name in names.items():
            if name not in self._bound or (self._apart and ref.stream):
                self.frame(ref).createOrReplaceTempView(name)
                self._bound.add(name)
        text = bind(model, names.__getitem__, self._project.vars).sql
        return self._session.sql(text, args=arguments(self._project, model, text))

    def frame(self, ref: Input) -> DataFrame:
        """The rows of a reference: a stored table's, or those of the view it names."""
        view = view_of(self._project, ref)
        if view is None:
            return self._resolve(ref)
        computed = self._computed.get(view.table) if ref.stream else None
        if computed is not None:
            return computed
        above, self.through = self.through, (*self.through, view.table)
        rows = self.run(view)
        self.through = above
        return rows


def view_of(project: Project, ref: Input) -> Model | None:
    """The view model a reference names, read as the reference reads it; None for anything stored."""
    if ref.table.startswith("bronze."):
        return None
    model = project.model(ref.table)
    if model.materialized != "view":
        return None
    if ref.stream:
        return model
    return replace(model, inputs=tuple(replace(i, stream=False) for i in model.inputs))


def shared_views(project: Project, query: Query) -> frozenset[str]:
    """The views that more than one model of a query streams, or a view of it."""
    readers: dict[str, set[str]] = {}
    waiting = list(query.models)
    while waiting:
        model = waiting.pop()
        for ref in model.inputs:
            view = view_of(project, ref) if ref.stream else None
            if view is not None and model.table not in readers.setdefault(view.table, set()):
                readers[view.table].add(model.table)
                waiting.append(view)
    return frozenset(table for table, found in readers.items() if len(found) > 1)


def streams_of(
    project: Project, model: Model, through: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Input]]:
    """Every read of a stored stream, with the views that lie between, in the order in which they are bound."""
    for ref in model.inputs:
        view = view_of(project, ref)
        if ref.stream and view is None:
            yield through, ref
        elif ref.stream and view is not None:
            yield from streams_of(project, view, (*through, view.table))


def reads_clock(project: Project, model: Model) -> bool:
    """Whether a landing's clock moves a model, so that it can decide by deadlines."""
    streamed = [ref.table.split(".") for ref in inputs_of(project, model) if ref.stream]
    return any(layer == "bronze" and project.topic(name)[1].is_clock for layer, name in streamed)


def arguments(project: Project, model: Model, text: str) -> dict[str, Any]:
    """The values of the `:parameters` that a text still names: passing a long list takes a call per value."""
    return {name: project.vars[name] for name in model.parameters if f":{name}" in text}


def seconds(project: Project, value: float | str) -> float:
    """A number of seconds, from a number or the name of a parameter."""
    return float(project.vars[value] if isinstance(value, str) else value)


def at_moment(project: Project, moment: datetime) -> Project:
    """The project with the moment of a snapshot as one more parameter."""
    return replace(project, vars={**project.vars, SNAPSHOT_AT: moment})


def stored_inputs(project: Project, query: Query) -> Iterator[Input]:
    """Every stored table or bronze relation a query reads, through its views; repeats are possible."""
    for model in query.models:
        yield from inputs_of(project, model)


def texts_of(project: Project, models: Iterable[Model]) -> Iterator[str]:
    """The texts of models and of the views that they read; repeats are possible."""
    for model in models:
        yield model.text
        yield from texts_of(project, filter(None, (view_of(project, ref) for ref in model.inputs)))


def macros_of(project: Project, models: Collection[Model]) -> tuple[Macro, ...]:
    """The macros that models name, in their SQL and in the expressions of their headers."""
    expressions = [text for model in models for _, text in model.expressions]
    return named_in([*texts_of(project, models), *expressions], project.macros)


def inputs_of(project: Project, model: Model) -> Iterator[Input]:
    """Every stored table or bronze relation a model reads, through its views."""
    for ref in model.inputs:
        view = view_of(project, ref)
        if view is None:
            yield ref
        else:
            yield from inputs_of(project, view)
