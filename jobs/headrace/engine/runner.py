"""A run of a project: everything checked and created first, then all its tasks until told to stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine import verdict
from headrace.engine.group import Group
from headrace.engine.landing import KafkaSource, LandingQuery
from headrace.engine.native import NativeQuery
from headrace.engine.publisher import Outlet, Publisher
from headrace.engine.sources import stored
from headrace.engine.supervisor import Failure, Supervised, Supervisor, wait_until
from headrace.engine.tasks import Bells, GroupTask, LandingTask, NativeTask, PublisherTask, Say, Task
from headrace.errors import Finding, InvalidProject
from headrace.layout import Layout
from headrace.project.model import Model, Project
from headrace.project.resets import read_note
from headrace.reading.status import ProjectStatus, RunnerState, RunnerStatus
from headrace.reading.topics import client_options, ensure

PROGRESS_TOPIC = "headrace-progress"


@dataclass(frozen=True)
class Options:
    """How to run: only until all that is there has been processed, and whether the first failure ends all."""

    available_now: bool = False
    fail_fast: bool = False


class Run:
    """One run: `prepare` refuses or creates, `start` starts, `wait` returns the failures, `stop` ends it."""

    def __init__(self, spark: SparkSession, project: Project, options: Options, say: Say) -> None:
        self.project = project
        self.layout = Layout(project.target.data_dir)
        self.supervisor = Supervisor(say)
        self._spark = spark
        self._options = options
        self._say = say
        self._bells = Bells()
        self._started = datetime.now(timezone.utc)
        self._landings: list[LandingQuery] = []
        self._queries: list[Group | NativeQuery] = []
        self._publishers: list[Publisher] = []

    def prepare(self) -> None:
        """Check the project with Spark, then create topics and tables; nothing is started before all of it holds."""
        schemas = verdict.schemas(self._spark, self.project, self.layout.verdict)
        spark, project, layout = self._spark, self.project, self.layout
        source = KafkaSource.of(project.target.kafka, f"headrace-{project.name}-{project.target.name}")
        for landing in project.landings:
            query = LandingQuery(spark, layout, landing, source)
            query.table.create()
            if project.landings_to_run is None or landing.name in project.landings_to_run:
                self._landings.append(query)
        for declared in project.queries:
            kind = NativeQuery if declared.engine == "streaming" else Group
            self._queries.append(kind(spark, project, layout, declared, schemas))
        for made in self._queries:
            made.create_tables()
        self._create_topics()
        running = [model for declared in project.queries for model in declared.models]
        self._publishers = [self._publisher(model, schemas) for model in running if model.publish]
        self._open_publishers()

    def start(self) -> None:
        """Start every task, sources first."""
        writers = dict(map(self._land, self._landings))
        for query in self._queries:
            upstream = [writers[name] for name in query.sources if name in writers]
            member = self.supervisor.add(self._task(query, upstream), upstream)
            writers |= {table: member for table in query.outputs}
        for publisher in self._publishers:
            upstream = [writers[publisher.model.table]]
            self.supervisor.add(PublisherTask(publisher, self._bells, self._say), upstream)
        self.supervisor.start(self._options.available_now)

    def wait(self, stop: threading.Event) -> tuple[Failure, ...]:
        """Until everything is done, a failure ends it, or a stop is asked for; then end what still runs."""
        fail_fast = self._options.fail_fast
        wait_until(lambda: self.supervisor.done or bool(fail_fast and self.supervisor.failures), stop)
        if not self.supervisor.end():
            self._say("slow_stop", cause="a query did not end its batch in time")
        return self.supervisor.failures

    def status(self, state: RunnerState = "running") -> ProjectStatus:
        """What is to be said of the run now."""
        me = RunnerStatus(self.project.name, self.project.target.name, os.getpid(), self._started, state)
        queries = tuple(member.status() for member in self.supervisor.members)
        return ProjectStatus(me, datetime.now(timezone.utc), queries)

    def write_status(self, state: RunnerState = "running") -> None:
        """Leave the status where `headrace status` finds it."""
        draft = self.layout.status.with_suffix(".tmp")
        draft.write_text(self.status(state).to_json())
        draft.replace(self.layout.status)

    def _land(self, query: LandingQuery) -> tuple[str, Supervised]:
        target = self.project.target
        task = LandingTask(query, target.ingest_interval, target.max_rows, self._bells, self._say)
        natives = [q for q in self._queries if isinstance(q, NativeQuery) and task.table in q.sources]
        task.waiting = lambda: any(native.waits for native in natives)
        task.tick_after = float(self.project.vars.get("idle_tick", 5))
        if self._options.available_now:
            task.upto = query.ends()
        return task.table, self.supervisor.add(task)

    def _task(self, query: Group | NativeQuery, upstream: Sequence[Supervised]) -> Task:
        if isinstance(query, Group):
            return GroupTask(query, self.project.target.max_rows, self._bells, self._say)
        after = (lambda: all(member.finished.is_set() for member in upstream)) if self._options.available_now else None
        return NativeTask(query, self._bells, self._say, after)

    def _create_topics(self) -> None:
        kafka = self.project.target.kafka
        wanted = {topic.topic: topic.partitions for landing in self.project.landings for topic in landing.topics}
        published = [model.publish for model in self.project.models if model.publish]
        wanted |= {publish.topic: 1 for publish in published if publish.topic and publish.topic not in wanted}
        ensure(kafka, wanted)
        if published:  # compacted: the broker's retention must never take what tells how far a table has been sent
            ensure(kafka, {PROGRESS_TOPIC: 1}, {"cleanup.policy": "compact"})

    def _open_publishers(self) -> None:
        """Let every publisher find its place; all that do not are told at once."""
        findings: list[Finding] = []
        for publisher in self._publishers:
            try:
                publisher.open()
            except InvalidProject as error:
                findings += error.findings
        if findings:
            raise InvalidProject(findings)

    def _publisher(self, model: Model, schemas: Mapping[str, StructType]) -> Publisher:
        project, target = self.project, self.project.target
        name = f"{project.name}.{target.name}.{model.name}"
        outlet = Outlet(client_options(target.kafka), PROGRESS_TOPIC, name)
        table = stored(self._spark, self.layout, model, schemas[model.table])
        barrier = read_note(self.layout.checkpoint(model.query or model.name)).barrier
        return Publisher(self._spark, model, table, outlet, self.layout.data_dir / "set_aside", barrier)
