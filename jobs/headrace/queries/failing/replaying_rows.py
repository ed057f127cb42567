"""Rows that made a model fail, asked for again: the next run of their query delivers each to its model, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from headrace.landing.replaying import marker_after
from headrace.project.model import FAILED_COLUMNS, Project, Query
from headrace.queries.failing.poison import Poison
from headrace.queries.failing.redelivery import Landed, Redelivery
from headrace.queries.inputs import Inputs
from headrace.reading.dead_letters import Chosen
from headrace.reading.replays import REDELIVERED, asked_for
from headrace.spark.binding import shared_views, streams_of
from headrace.spark.columns import columns_of, landing_schema
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable

LeftOut = tuple[Inputs, Poison]
"""A batch, and rows of it that a model was run without."""


def request(spark: SparkSession, project: Project, layout: Layout, chosen: Chosen) -> Mapping[str, int]:
    """Ask for all rows that are meant; return how many, by the model or view that was run without them.

    The runner's lock must be held: a query learns at its start what it is asked for.
    """
    asked, landed = Counter[str](), dict[str, Landed]()
    for query in project.queries:
        table = CommitTable(spark, layout.failed(query.name), columns_of(dict(FAILED_COLUMNS)))
        left_out = [each for each in _left_out(table, chosen) if _readers(project, query, each[1].table)]
        topics = {arrival[1] for _, poison in left_out for arrival in poison.arrivals} - landed.keys()
        landed.update(_new_arrivals(spark, project, layout, topics))
        _ask(table, query, [each for found in left_out for each in _redeliveries(project, query, found, landed)])
        for _, poison in left_out:
            asked[poison.table] += len(poison.arrivals)
    return asked


def _ask(table: CommitTable, query: Query, found: list[Redelivery]) -> None:
    newest = table.newest_marker(query.name) if found else None
    if newest is not None:
        table.note({**newest.marker, "rows": 0, REDELIVERED: [each.to_json() for each in found]}, of_batch=True)


def _left_out(table: CommitTable, chosen: Chosen) -> Iterator[LeftOut]:
    """What a query's batches were run without, but for what was asked for before."""
    commits = [*table.commits(-1)]
    again = (row for commit in commits for row in asked_for(commit.marker))
    requested = {(batch, model, arrival) for batch, model, _, arrival in again}
    for commit in commits:
        if REDELIVERED in commit.marker or "inputs" not in commit.marker:
            continue
        inputs = Inputs.from_json(commit.marker["inputs"])
        for poison in inputs.poison:
            left = tuple(row for row in poison.arrivals if (inputs.batch, poison.table, row) not in requested)
            if left and chosen.source in (None, poison.table) and chosen.holds(poison.reason):
                yield inputs, replace(poison, arrivals=left)


def _redeliveries(
    project: Project, query: Query, left_out: LeftOut, landed: Mapping[str, Landed]
) -> Iterator[Redelivery]:
    """What brings back some rows. A batch may be one that delivered them before, and had no others."""
    inputs, poison = left_out
    again = inputs.redelivery
    held = again if again is not None and again.poison.table == poison.table else None
    batch, ranges, ids = (held.batch, held.ranges, held.ids) if held else (inputs.batch, inputs.ranges, inputs.ids)
    known = {topic: landed[topic] for _, topic, _, _ in poison.arrivals if topic in landed}
    for table in _readers(project, query, poison.table):
        yield Redelivery(table, poison, inputs.batch, batch, ranges, ids, known)


def _readers(project: Project, query: Query, table: str) -> tuple[str, ...]:
    """What computes the rows of a model or view now: itself, or the models that have it in their text."""
    if table in (model.table for model in query.models) or table in shared_views(project, query):
        return (table,)
    streamed = {
        model.table: {view for views, _ in streams_of(project, model) for view in views} for model in query.models
    }
    return tuple(model for model, views in streamed.items() if table in views)


def _new_arrivals(
    spark: SparkSession, project: Project, layout: Layout, topics: Iterable[str]
) -> Iterator[tuple[str, Landed]]:
    """A landing batch of their own for rows of some topics: it holds nothing, and no time passes with it."""
    wanted = set(topics)
    for landing in project.landings:
        of_landing = wanted & {topic.topic for topic in landing.topics}
        table = CommitTable(spark, layout.landing(landing.name), landing_schema())
        newest = table.newest_marker(landing.query) if of_landing else None
        if newest is not None:
            marker = marker_after(newest)
            table.note({**marker, "tick": True})
            yield from ((topic, (marker["batch"], marker["landed_at"])) for topic in of_landing)
