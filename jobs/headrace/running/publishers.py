"""The publishers of a run: made, refused where their progress does not fit their table, and opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pyspark.sql import SparkSession

from headrace.environment import swap
from headrace.errors import EnvironmentFault, Finding, InvalidProject
from headrace.project import resets
from headrace.project.kafka_options.topic_names import progress_topic
from headrace.project.model import Model, Project
from headrace.publishing.outlet import Outlet, read_all
from headrace.publishing.progress import Recorded
from headrace.publishing.publisher import Publisher
from headrace.publishing.routes import Rules
from headrace.publishing.sent import retired_tables
from headrace.spark.binding import macros_of
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable

OPEN_SECONDS = 5.0
"""How long a start waits for a transaction that is open, before it opens the publishers."""


def make(
    spark: SparkSession, project: Project, layout: Layout, model: Model, table: CommitTable, cache: CommitCache
) -> Publisher:
    """The publisher of a model; Kafka is not asked for anything yet."""
    outlet = Outlet.of(project, model, _rules(project))
    reset = resets.read_note(layout.checkpoint(model.query or model.name))
    return Publisher(
        spark,
        model,
        table,
        outlet,
        layout.root,
        barrier=reset.barrier,
        find_retired=retired_tables(spark, layout, model),
        commit_cache=cache,
        macros=macros_of(project, [model]),
        replaced=reset.removed,
    )


def _rules(project: Project) -> Rules:
    """The rules for topics that rows name: none may be a source, or another model's topic."""
    topics = {topic.topic for landing in project.landings for topic in landing.topics}
    topics |= {model.publish.topic for model in project.models if model.publish and model.publish.topic}
    return Rules(project.target.kafka.create_topics, frozenset({*topics, progress_topic(project.target)}))


def refuse_unfit(publishers: Sequence[Publisher]) -> None:
    """Refuse publishers whose progress does not fit their table, before anything lands or is fenced off.

    A transaction that a killed run has left open hides their progress until a publisher ends it, by opening.
    """
    outlets = {publisher.outlet.name: publisher for publisher in publishers}
    recorded: Mapping[str, Recorded] = {}
    if outlets:
        with suppress(EnvironmentFault):
            recorded = read_all(publishers[0].outlet, outlets, OPEN_SECONDS)
    findings = [finding for name, found in recorded.items() if (finding := outlets[name].finding(found))]
    if findings:
        raise InvalidProject(findings)


def open_all(publishers: Sequence[Publisher]) -> None:
    """Let every publisher find its position, concurrently as each waits for the broker; then report findings."""
    with ThreadPoolExecutor(len(publishers) or 1) as pool:
        findings = [finding for found in pool.map(_opening_findings, publishers) for finding in found]
    if findings:
        raise InvalidProject(findings)


def _opening_findings(publisher: Publisher) -> tuple[Finding, ...]:
    """The findings that keep a publisher from knowing its position."""
    try:
        publisher.open()
    except InvalidProject as error:
        return tuple(error.findings)
    return ()


def remove_retired(spark: SparkSession, project: Project, layout: Layout, publishers: Sequence[Publisher]) -> None:
    """Remove what swaps have put aside, once its time is over and no publisher needs it for comparison."""
    running = {query.name for query in project.queries}
    others = {model.query for model in project.models} - running
    needed = {table_id for publisher in publishers for table_id in publisher.relies_on}
    for folder, done in swap.retired(layout).items():
        if swap.is_over(done) and others.isdisjoint(done.queries) and needed.isdisjoint(_ids(spark, folder)):
            swap.remove(layout, folder)


def _ids(spark: SparkSession, folder: StorePath) -> set[str]:
    """The ids of the tables in a folder that a swap has put aside."""
    tables = (CommitTable.stored(spark, log.parent) for log in folder.glob("tables/*/*/_delta_log"))
    return {table.id() for table in tables if table is not None}
