"""Running a model's text: every table it names is bound to a frame, views are inlined on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.engine.statement import bind, view_name
from headrace.project.model import Input, Model, Project, Query

Resolve = Callable[[Input], DataFrame]


class Binder:
    """Binds each table once; `resolve` says which frame a stored table or bronze relation is."""

    def __init__(self, session: SparkSession, project: Project, resolve: Resolve) -> None:
        self._session = session
        self._project = project
        self._resolve = resolve
        self._bound: set[str] = set()

    def run(self, model: Model) -> DataFrame:
        """The rows of a model's text."""
        for ref in model.inputs:
            name = view_name(ref.table, ref.stream)
            if name not in self._bound:
                self.frame(ref).createOrReplaceTempView(name)
                self._bound.add(name)
        return self._session.sql(bind(model).sql, args=arguments(self._project, model))

    def frame(self, ref: Input) -> DataFrame:
        """The rows of a reference: a stored table's, or those of the view it names."""
        view = view_of(self._project, ref)
        return self.run(view) if view else self._resolve(ref)


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


def arguments(project: Project, model: Model) -> dict[str, Any]:
    """The values of a model's `:parameters`."""
    return {name: project.vars[name] for name in model.parameters}


def stored_inputs(project: Project, query: Query) -> Iterator[Input]:
    """Every stored table or bronze relation a query reads, through its views; repeats are possible."""
    for model in query.models:
        yield from inputs_of(project, model)


def inputs_of(project: Project, model: Model) -> Iterator[Input]:
    """Every stored table or bronze relation a model reads, through its views."""
    for ref in model.inputs:
        view = view_of(project, ref)
        if view is None:
            yield ref
        else:
            yield from inputs_of(project, view)
