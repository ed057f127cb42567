"""A run of a project: everything checked and created first, then all its tasks until a stop is requested."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial

from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.checking import verdict
from headrace.environment import swap
from headrace.errors import HeadraceError, InvalidProject
from headrace.landing.clocks import clocks_of
from headrace.landing.landing import KafkaSource, LandingQuery
from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.project import dag, resets
from headrace.project.kafka_options.topic_names import PROGRESS_SETTINGS, progress_topic
from headrace.project.model import Input, Model, Project
from headrace.project.rules.duration_rules import IDLE_TICK
from headrace.publishing.publisher import Publisher
from headrace.queries.group import Group
from headrace.queries.scheduler import Scheduler
from headrace.queries.snapshot import SnapshotQuery
from headrace.queries.sources import Tables, stored
from headrace.reading.status import ProjectStatus, QueryKind, RunnerState, RunnerStatus
from headrace.reading.topics import ensure
from headrace.running import factory, log_readers, positions, publishers, upstream
from headrace.running.supervisor import Failure, Supervised, Supervisor, wait_until
from headrace.running.tasks.group import GroupTask
from headrace.running.tasks.landing import LandingTask
from headrace.running.tasks.publisher import PublisherTask
from headrace.running.tasks.snapshot import SnapshotTask
from headrace.running.tasks.streamed import StreamedTask
from headrace.running.tasks.task import CommitSignals, Log, Task
from headrace.running.tasks.unopened import UnopenedTask
from headrace.running.upkeep import TableUpkeep, UpkeepThread
from headrace.spark import session
from headrace.spark.binding import macros_of, seconds
from headrace.spark.failures import is_transient, message_of
from headrace.store import durable
from headrace.store.layout import Layout
from headrace.store.paths import ObjectPath, StorePath
from headrace.streaming.query import StreamedQuery
from headrace.tables.commit_cache import CommitCache

SHARED_SECONDS = 5.0
"""How often other machines learn of the status: each time is a request to the store."""


@dataclass(frozen=True)
class Options:
    """How to run: whether to stop once all available input is processed, and whether the first failure ends the run.

    `accepted` are the mixes of old and new meaning that the user has accepted, by query.
    """

    available_now: bool = False
    fail_fast: bool = False
    accepted: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)


class Run:
    """One run: `prepare` refuses or creates, `start` starts, `wait` ends it and returns the failures."""

    def __init__(self, spark: SparkSession, project: Project, options: Options, log: Log) -> None:
        self.project = project
        self.layout = project.target.layout
        self._scheduler = Scheduler(spark.sparkContext.defaultParallelism)
        self.supervisor = Supervisor(log, self._scheduler)
        self._spark = spark
        self._options = options
        self._log = log
        self._signals = CommitSignals()
        self._commit_cache = CommitCache()
        self._started = datetime.now(timezone.utc)
        self._share_at = 0.0
        self.landings: list[LandingQuery] = []
        self.queries: list[factory.AnyQuery] = []
        self.publishers: list[Publisher] = []
        self._unopened_tables = set[str]()
        self.unopened: list[tuple[Sequence[str], UnopenedTask]] = []
        self._schemas: Mapping[str, StructType] = {}
        self._upkeep = UpkeepThread(TableUpkeep(self.project, self.layout, self.log_bounds, log))

    def prepare(self) -> None:
        """Check the project with Spark, then create topics and tables; nothing is started before all of it holds."""
        swap.finish(self.layout)
        resets.finish(self.layout)
        if findings := [*positions.findings(self.project, self.layout), *upstream.findings(self.project, self.layout)]:
            raise InvalidProject(findings)
        self._schemas = verdict.schemas(self._spark, self.project)
        self._make_landings()
        # Spark takes its time to declare a macro, so those of other queries are left out.
        named = replace(self.project, macros=macros_of(self.project, self._models))
        self._make_queries(named)
        self._set_clocks(named)
        self._create_topics()
        self._make_publishers()
        publishers.refuse_unfit(self.publishers)
        self._settle()
        publishers.open_all(self.publishers)
        publishers.remove_retired(self._spark, self.project, self.layout, self.publishers)

    @property
    def _models(self) -> tuple[Model, ...]:
        """The models of the queries that this run selects."""
        return tuple(model for query in self.project.queries for model in query.models)

    def _make_landings(self) -> None:
        """Every landing has a table, so that queries find it; only those that are selected run."""
        project = self.project
        source = KafkaSource.of(project.target.kafka, f"headrace-{project.name}-{project.target.identity}")
        for landing in project.landings:
            with self._isolated(landing.query, "landing", [f"_landing.{landing.name}"]):
                bounds = project.target.input
                query = LandingQuery(self._spark, self.layout, landing, source, bounds, self._commit_cache)
                query.table.create()
                if project.landings_to_run is None or landing.name in project.landings_to_run:
                    self.landings.append(query)

    def _make_queries(self, project: Project) -> None:
        for each in project.queries:
            with self._isolated(each.name, each.engine, [model.table for model in each.models]):
                query = factory.make(self._spark, project, self.layout, each, self._schemas)
                self.queries.append(self._opened(query))

    def _set_clocks(self, project: Project) -> None:
        """Let each landing read the clocks of the watermarks that its ticks are to move."""
        looked_up = partial(_newest, project, self.layout, self._schemas)
        for query in self.landings:
            query.clocks.clocks = clocks_of(self._spark, project, query.landing, looked_up)

    def _make_publishers(self) -> None:
        for model in self._models:
            if model.publish and model.table not in self._unopened_tables:
                with self._isolated(f"publish_{model.name}", "publisher"):
                    table = stored(self._spark, self.layout, model, self._schemas[model.table])
                    made = publishers.make(self._spark, self.project, self.layout, model, table, self._commit_cache)
                    self.publishers.append(made)

    def start(self) -> None:
        """Record what is started, for the next plan; then start every task, sources first."""
        self._record()
        writers = dict(map(self._land, self.landings))
        for tables, task in self.unopened:
            writers |= dict.fromkeys(tables, self.supervisor.add(task))
        for query in self.queries:
            upstream = [writers[name] for name in query.sources if name in writers]
            member = self.supervisor.add(self._task(query, upstream), upstream)
            writers |= {table: member for table in query.outputs}
        self._await(writers)
        for publisher in self.publishers:
            upstream = [writers[publisher.model.table]]
            is_remote = isinstance(self.layout.root, ObjectPath)
            self.supervisor.add(PublisherTask(publisher, self._signals, self._log, is_remote), upstream)
        self.supervisor.start(self._options.available_now)
        self._upkeep.start()

    def wait(self, stop: threading.Event) -> tuple[Failure, ...]:
        """Wait until everything is done, a failure ends the run, or a stop is requested; then end what still runs."""
        try:
            return self._wait(stop)
        finally:
            self._upkeep.stop()

    def _wait(self, stop: threading.Event) -> tuple[Failure, ...]:
        fail_fast = self._options.fail_fast
        jvm_ended = partial(session.ended, self._spark)
        wait_until(lambda: bool(self.supervisor.done or jvm_ended() or (fail_fast and self.supervisor.failures)), stop)
        if cause := jvm_ended():
            self.supervisor.stop.set()  # without waiting: what a step waits for will never come
            raise HeadraceError(cause)
        if not self.supervisor.end():
            self._log("slow_stop", cause="a query did not end its batch in time")
        return self.supervisor.failures

    def status(self, state: RunnerState = "running") -> ProjectStatus:
        """The current status of the run."""
        me = RunnerStatus(self.project.name, self.project.target.name, os.getpid(), self._started, state)
        queries = tuple(member.status() for member in self.supervisor.members)
        return ProjectStatus(me, datetime.now(timezone.utc), queries)

    def write_status(self, state: RunnerState = "running", is_shared: bool = True) -> None:
        """Write the status where `headrace status` reads it: here and, unless not `is_shared`, on other machines."""
        text, shared = self.status(state).to_json(), self.layout.shared_status
        draft = self.layout.status.with_suffix(".tmp")
        draft.write_text(text)
        draft.replace(self.layout.status)
        if is_shared and shared is not None and (state != "running" or time.monotonic() >= self._share_at):
            self._share_at = time.monotonic() + SHARED_SECONDS
            durable.write(shared, text)

    def log_bounds(self) -> Mapping[StorePath, int]:
        """From which version on the log of each table is needed."""
        sent = {each.model.table: each.version for each in self.publishers}
        known = {
            self.layout.appended(model.table, model.materialized == "upsert"): sent.get(model.table, 0)
            for model in self.project.models
            if model.publish is not None
        }
        for query in self.queries:
            for path, version in query.pinned.items() if isinstance(query, StreamedQuery) else ():
                known[path] = min(version, known.get(path, version))
        return log_readers.bounds(self.project, self.layout, known)

    def _record(self) -> None:
        names = [*(query.name for query in self.project.queries), *(each.landing.query for each in self.landings)]
        declared.write(
            self.layout, Declared.of(self.project, verdict.types(self._schemas)), names, self._options.accepted
        )

    def _land(self, query: LandingQuery) -> tuple[str, Supervised]:
        target = self.project.target
        task = LandingTask(query, target.ingest_interval, target.max_rows, self._signals, self._log)
        readers = [q for q in self.queries if not isinstance(q, SnapshotQuery) and task.table in q.sources]
        task.waiting = lambda: any(reader.waits for reader in readers)
        task.comparing = lambda: any(
            reader.waits and reader.compares_times for reader in readers if isinstance(reader, StreamedQuery)
        )
        task.tick_after = float(self.project.vars.get(IDLE_TICK, 5))
        after = {topic.name: topic.idle_after for topic in query.landing.topics}
        task.idle_after = {
            name: task.tick_after if duration is None else seconds(self.project, duration)
            for name, duration in after.items()
        }
        if self._options.available_now:
            task.upto = query.ends()
        return task.table, self.supervisor.add(task)

    def _await(self, writers: Mapping[str, Supervised]) -> None:
        """Let a new query begin only once the queries whose tables it looks up have caught up."""
        members = {member.task.name: member for member in self.supervisor.members}
        needs = {name: [other.task.name for other in member.upstream] for name, member in members.items()}
        new = [query for query in self.queries if not isinstance(query, SnapshotQuery) and query.is_new]
        wanted = {
            writers[next(iter(query.outputs))].task.name: {writers[table].task.name for table in looked_up}
            for query in new
            if (looked_up := [table for table in query.looked_up if table in writers])
        }
        for name, others in dag.added(needs, wanted).items():
            members[name].awaited = [members[other] for other in others]

    def _task(self, query: factory.AnyQuery, upstream: Sequence[Supervised]) -> Task:
        if isinstance(query, Group):
            return GroupTask(query, self.project.target.max_rows, self._signals, self._log)
        after = (lambda: all(member.finished.is_set() for member in upstream)) if self._options.available_now else None
        if isinstance(query, SnapshotQuery):
            return SnapshotTask(query, self._signals, self._log, after)
        return StreamedTask(query, self._signals, self._log, after)

    @contextmanager
    def _isolated(self, name: str, kind: QueryKind, tables: Sequence[str] = ()) -> Iterator[None]:
        """Let what cannot be opened fail as a task of its own; a failure that can pass ends the run."""
        try:
            yield
        except InvalidProject:
            raise
        except Exception as error:
            if is_transient(error):
                raise
            self._unopened_tables.update(tables)
            self.unopened.append((tables, UnopenedTask(name, kind, f"it cannot be opened: {message_of(error)}")))

    def _opened(self, query: factory.AnyQuery) -> factory.AnyQuery:
        """A query whose tables exist, set up with what the queries of a run share."""
        query.create_tables()
        if isinstance(query, Group):
            query.commit_cache = self._commit_cache
        if isinstance(query, StreamedQuery):
            query.share(self._commit_cache, self._scheduler)
            if query.model.publish:
                query.catch_up()
        return query

    def _create_topics(self) -> None:
        kafka = self.project.target.kafka
        landed = [topic for query in self.landings for topic in query.landing.topics]
        wanted = {topic.topic: topic.partitions for topic in landed}
        published = [model.publish for model in self._models if model.publish]
        wanted |= {publish.topic: 1 for publish in published if publish.topic and publish.topic not in wanted}
        ensure(kafka, wanted)
        if published:
            ensure(kafka, {progress_topic(self.project.target): 1}, PROGRESS_SETTINGS)

    def _settle(self) -> None:
        """Decide where topics begin, and land the project's seeds, before anything runs that may look them up.

        What prevents that is reported as the landing's own failure, when it runs.
        """
        for landing in self.landings:
            with suppress(HeadraceError, KafkaException):
                landing.settle()
                landing.seed()


def _newest(
    project: Project, layout: Layout, schemas: Mapping[str, StructType], session: SparkSession, ref: Input
) -> DataFrame:
    """What a plain read of a reference returns now."""
    tables = Tables(session, project, layout, schemas)
    return tables.as_of(ref, tables.of(ref).newest_version())
