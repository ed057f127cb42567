"""Rows that made a model fail, asked for again: the next run of their query delivers each to its model, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from headrace.landing.replaying import marker_after
from headrace.project.model import FAILED_COLUMNS, Project, Query
from headrace.queries.failing.poison import Poison
from headrace.queries.failing.redelivery import Landed, Redelivery
from headrace.queries.inputs import Inputs
from headrace.queries.positions import source_path
from headrace.reading.dead_letters import Chosen
from headrace.reading.replays import REDELIVERED, asked_for
from headrace.spark.binding import shared_views, streams_of
from headrace.spark.columns import columns_of, landing_schema
from headrace.store.history import batch_before
from headrace.store.layout import Layout
from headrace.store.maintenance import retention
from headrace.tables.delta import CommitTable

LeftOut = tuple[Inputs, Poison]
"""A batch, and rows of it that a model was run without."""


@dataclass(frozen=True)
class Asked:
    """How many rows will be given again, by the model or view that was run without them; and how many cannot be."""

    rows: Mapping[str, int]
    gone: Mapping[str, int]


def request(spark: SparkSession, project: Project, layout: Layout, chosen: Chosen) -> Asked:
    """Ask for all rows that are meant, but for those of which a source has let go by its `keep`.

    The runner's lock must be held: a query learns at its start what it is asked for.
    """
    asked, gone, landed = Counter[str](), Counter[str](), dict[str, Landed]()
    for query in project.queries:
        table = CommitTable(spark, layout.failed(query.name), columns_of(dict(FAILED_COLUMNS)))
        found = [each for each in _left_out(table, chosen) if _readers(project, query, each[1].table)]
        left_out = list[LeftOut]()
        for each in found:
            if may_have_left(project, layout, _ranges(each)):
                gone[each[1].table] += len(each[1].arrivals)
            else:
                left_out.append(each)
        topics = {arrival[1] for _, poison in left_out for arrival in poison.arrivals} - landed.keys()
        landed.update(_new_arrivals(spark, project, layout, topics))
        _ask(table, query, [each for found in left_out for each in _redeliveries(project, query, found, landed)])
        for _, poison in left_out:
            asked[poison.table] += len(poison.arrivals)
    return Asked(asked, gone)


def may_have_left(project: Project, layout: Layout, ranges: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a source may lack rows of the versions that a batch has read, since they were older than its `keep`."""
    for source, (after, upto) in ranges.items():
        path = source_path(project, layout, source) if after < upto else None
        gone = retention.read(path).gone.batch if path is not None else -1
        if path is not None and gone >= 0 and gone > batch_before(path, after + 1):
            return True
    return False


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
    held = _held(left_out)
    batch, ranges, ids = (held.batch, held.ranges, held.ids) if held else (inputs.batch, inputs.ranges, inputs.ids)
    known = {topic: landed[topic] for _, topic, _, _ in poison.arrivals if topic in landed}
    for table in _readers(project, query, poison.table):
        yield Redelivery(table, poison, inputs.batch, batch, ranges, ids, known)


def _held(left_out: LeftOut) -> Redelivery | None:
    """What the batch delivered, if it was for the same model."""
    again = left_out[0].redelivery
    return again if again is not None and again.poison.table == left_out[1].table else None


def _ranges(left_out: LeftOut) -> Mapping[str, tuple[int, int]]:
    held = _held(left_out)
    return held.ranges if held else left_out[0].ranges


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
