"""Which models read which: reads through views, cycles, and the queries in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headrace.errors import Finding, Place
from headrace.project import dag
from headrace.project.model import Model, Query


@dataclass(frozen=True)
class Read:
    """One read of a stored table, written in a model or in a view that it reads.

    A view that is read without `stream` is a snapshot: what it streams itself does not move then.
    """

    table: str
    stream: bool
    place: Place
    versions: bool = False
    past: bool = False


def by_table(models: Iterable[Model]) -> dict[str, Model]:
    """Index models by their tables; of two with one name, the first is taken."""
    found: dict[str, Model] = {}
    for model in sorted(models, key=lambda model: model.path):
        found.setdefault(model.table, model)
    return found


def views(model: Model, models: Mapping[str, Model]) -> tuple[Model, ...]:
    """Return the views that a model reads, directly or through other views."""
    found: dict[str, Model] = {}
    waiting = [model]
    while waiting:
        for input_ in waiting.pop().inputs:
            view = models.get(input_.table)
            if view is not None and view.materialized == "view" and view.table not in found:
                found[view.table] = view
                waiting.append(view)
    return tuple(found.values())


def reads(model: Model, models: Mapping[str, Model]) -> tuple[Read, ...]:
    """Return what a model reads once its views are inlined: stored tables, bronze, and unknown names."""
    return tuple(dict.fromkeys(_reads(model, models, True, ())))


def queries(models: Iterable[Model]) -> tuple[Query, ...]:
    """Group models into queries, each in order, and order the queries; there must be no cycles."""
    known = by_table(models)
    edges = _edges(known)
    groups: dict[str, list[Model]] = {}
    for table in dag.order(_related(known, edges)):
        if (query := known[table].query) is not None:
            groups.setdefault(query, []).append(known[table])
    ordered = dag.order(_query_edges(known, edges))
    return tuple(Query(name, groups[name][0].run, tuple(groups[name])) for name in ordered)


def with_readers(queries: Iterable[Query], models: Iterable[Model], names: Iterable[str]) -> tuple[str, ...]:
    """Some of the ordered queries, and all that stream from them: these cannot continue with other tables."""
    known, found = by_table(models), set(names)
    in_order = list(queries)
    for query in in_order:
        streamed = [read.table for model in query.models for read in reads(model, known) if read.stream]
        if any(table in known and known[table].query in found for table in streamed):
            found.add(query.name)
    return tuple(query.name for query in in_order if query.name in found)


def cycle_findings(models: Iterable[Model]) -> Iterator[Finding]:
    """Find models that wait for each other, and queries that do."""
    known = by_table(models)
    edges = _edges(known)
    cycles = dag.cycles(edges)
    for cycle in cycles:
        steps = [*zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        text = ", ".join(f"{reader} reads {table} ({edges[reader][table]})" for reader, table in steps)
        yield Finding(min(edges[reader][table] for reader, table in steps), "cycle", f"{text}; take one read out")
    for cycle in [] if cycles else dag.cycles(_query_edges(known, edges)):
        steps = [*zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        places = [_query_edges(known, edges)[reader][query] for reader, query in steps]
        text = ", ".join(f"{step[0]} needs {step[1]} ({place})" for step, place in zip(steps, places, strict=True))
        yield Finding(min(places), "cycle", f"queries wait for each other: {text}; give the models one `query:`")


def _reads(model: Model, models: Mapping[str, Model], stream: bool, path: tuple[str, ...]) -> Iterator[Read]:
    for input_ in model.inputs:
        view = models.get(input_.table)
        if view is None or view.materialized != "view":
            yield Read(input_.table, stream and input_.stream, input_.place, input_.versions, input_.past)
        elif view.table not in path:
            yield from _reads(view, models, stream and input_.stream, (*path, view.table))


def _edges(known: Mapping[str, Model]) -> dict[str, dict[str, Place]]:
    """Map each model to the models it needs, with the place of the read.

    A model needs what it streams, what it looks up in other queries, and the versions of its own query's tables.
    Without `stream`, a member of its own query is the state before the batch, and no dependency.
    """
    edges: dict[str, dict[str, Place]] = {table: {} for table in known}
    for table, model in known.items():
        is_view = model.materialized == "view"
        for read in model.inputs if is_view else reads(model, known):
            other = known.get(read.table)
            is_whole = read.stream or read.versions
            is_state = other is not None and other.query == model.query and not is_whole
            if other is not None and (other.materialized == "view" if is_view else not is_state):
                edges[table].setdefault(read.table, read.place)
    return edges


def _related(known: Mapping[str, Model], edges: Mapping[str, Mapping[str, Place]]) -> Mapping[str, Mapping[str, Place]]:
    """The edges with the tables that data tests look into, unless that makes a cycle: in a query, these come first."""
    more = {table: dict(needed) for table, needed in edges.items()}
    for model in known.values():
        for test in model.tests:
            other = known.get(test.to or "")
            if other is not None and other.table != model.table and other.query == model.query:
                more[model.table].setdefault(other.table, test.place or Place(model.path))
    return edges if dag.cycles(more) else more


def _query_edges(known: Mapping[str, Model], edges: Mapping[str, Mapping[str, Place]]) -> dict[str, dict[str, Place]]:
    found: dict[str, dict[str, Place]] = {query: {} for model in known.values() if (query := model.query) is not None}
    for reader, needed in edges.items():
        for table, place in needed.items():
            query, other = known[reader].query, known[table].query
            if query is not None and other is not None and query != other:
                found[query].setdefault(other, place)
    return found
