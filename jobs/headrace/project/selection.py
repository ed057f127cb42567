"""Choosing models as dbt does: a name, `+m`, `m+1`, `@m`, `tag:x`, `path:sql/gold`; a comma is and, a space is or."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from headrace.errors import UsageError, did_you_mean
from headrace.project import graph
from headrace.project.model import Project, Query

_TERM = re.compile(r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?P<what>[^+@]+)(?:\+(?P<down>\d*))?")

Words = Mapping[str, frozenset[str]]
"""The names by which each table can be selected."""


def select(project: Project, selectors: Sequence[str], excludes: Sequence[str] = ()) -> frozenset[str]:
    """Return the tables of the selected models; spaces unite, commas intersect, no selector selects all."""
    return _chosen(project, frozenset(model.table for model in project.models), selectors, excludes)


def listed(project: Project, selectors: Sequence[str], excludes: Sequence[str] = ()) -> frozenset[str]:
    """Return the tables of the selected models and of the sources that the same words name or reach."""
    return _chosen(project, frozenset(_names(project)), selectors, excludes)


def queries_of(project: Project, tables: Iterable[str]) -> tuple[Query, ...]:
    """Return the queries that write any of some tables, in order; models of one query run together."""
    wanted = set(tables)
    return tuple(query for query in project.queries if any(model.table in wanted for model in query.models))


def narrowed(project: Project, selectors: Sequence[str], excludes: Sequence[str] = ()) -> Project:
    """Return the project with only the selected queries to run, and the landings that those read."""
    queries = queries_of(project, select(project, selectors, excludes))
    if not queries:
        raise UsageError("only views are selected, and these run with what reads them: `silver.x+`")
    known = graph.by_table(project.models)
    reads = {read.table for query in queries for model in query.models for read in graph.reads(model, known)}
    topics = {table.split(".", 1)[1] for table in reads if table.startswith("bronze.")}
    landings = tuple(one.name for one in project.landings if any(topic.name in topics for topic in one.relations))
    return replace(project, queries=queries, landings_to_run=landings)


def _chosen(
    project: Project, tables: frozenset[str], selectors: Sequence[str], excludes: Sequence[str]
) -> frozenset[str]:
    named = _union(project, selectors)
    chosen = named & tables if selectors else tables
    if selectors and not chosen:
        hint = "a source with what depends on it is `bronze.x+`" if named else "a comma is and, a space is or"
        raise UsageError(f"nothing is selected by `{' '.join(selectors)}`; {hint}")
    left = chosen - _union(project, excludes)
    if chosen and not left:
        raise UsageError(f"nothing is selected: everything is excluded by `{' '.join(excludes)}`")
    return left


def _union(project: Project, selectors: Sequence[str]) -> frozenset[str]:
    if not all(map(str.split, selectors)):
        raise UsageError("a selector is empty; name a model, or leave the option out")
    found = frozenset[str]()
    for word in " ".join(selectors).split():
        found |= frozenset.intersection(*(_term(project, term) for term in word.split(",")))
    return found


def _term(project: Project, term: str) -> frozenset[str]:
    match = _TERM.fullmatch(term)
    if match is None:
        raise UsageError(f"`{term}` is no selector; write a name, `+name`, `name+`, `@name`, `tag:x` or `path:x`")
    found = _matching(project, match["what"])
    parents = _parents(project)
    children = _reversed(parents)
    if match["at"]:
        below = _reach(found, children, None)
        return _reach(below, parents, None)
    above = _reach(found, parents, _depth(match["up"])) if match["up"] is not None else found
    below = _reach(found, children, _depth(match["down"])) if match["down"] is not None else found
    return above | below


def _depth(digits: str) -> int | None:
    return int(digits) if digits else None


def _matching(project: Project, what: str) -> frozenset[str]:
    method, colon, value = what.partition(":")
    vocabularies = {"": _names(project), "tag": _tags(project), "path": _paths(project)}
    if not colon:
        method, value = "", what
    if method not in vocabularies:
        known = [name for name in vocabularies if name]
        raise UsageError(f"`{method}:` is no way to select; use {' or '.join(known)}.{did_you_mean(method, known)}")
    words = vocabularies[method]
    value = value.rstrip("/") if method == "path" else value
    found = frozenset(table for table, own in words.items() if any(fnmatchcase(word, value) for word in own))
    if not found:
        advice = did_you_mean(value, sorted({word for own in words.values() for word in own}))
        raise UsageError(f"nothing is selected by `{what}`.{advice}")
    return found


def _names(project: Project) -> Words:
    models = {m.table: {m.table, m.name, m.layer, m.domain, m.query or m.name} for m in project.models}
    sources = {
        f"bronze.{topic.name}": {f"bronze.{topic.name}", topic.name, "bronze", landing.name, landing.query}
        for landing in project.landings
        for topic in landing.topics
    }
    return {table: frozenset(words) for table, words in {**sources, **models}.items()}


def _tags(project: Project) -> Words:
    return {model.table: frozenset(model.tags) for model in project.models}


def _paths(project: Project) -> Words:
    """Map each model to its path and all folders around it."""
    paths = {model.table: PurePosixPath(model.path) for model in project.models}
    return {table: frozenset(map(str, (path, *path.parents))) for table, path in paths.items()}


def _parents(project: Project) -> Words:
    return {model.table: frozenset(input_.table for input_ in model.inputs) for model in project.models}


def _reversed(parents: Words) -> Words:
    tables = {table for needed in parents.values() for table in needed}
    return {table: frozenset(child for child, needed in parents.items() if table in needed) for table in tables}


def _reach(start: frozenset[str], edges: Words, depth: int | None) -> frozenset[str]:
    """Return all that can be reached from `start`, itself included, in at most `depth` steps."""
    found, edge = start, start
    while edge and depth != 0:
        edge = frozenset(table for near in edge for table in edges.get(near, ())) - found
        found |= edge
        depth = None if depth is None else depth - 1
    return found
