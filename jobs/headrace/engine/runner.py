"""A run of a project: everything checked and created first, then all its tasks until told to stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine import analysis
from headrace.engine.binding import stored_inputs
from headrace.engine.group import Group
from headrace.engine.landing import KafkaSource, LandingQuery
from headrace.engine.native import NativeQuery
from headrace.engine.publisher import Outlet, Publisher
from headrace.engine.sources import source_name, stored
from headrace.engine.supervisor import Failure, Supervised, Supervisor, wait_until
from headrace.engine.tasks import Bells, GroupTask, LandingTask, NativeTask, PublisherTask, Say
from headrace.layout import Layout
from headrace.project.model import Model, Project, Query
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
        self._groups: list[Group] = []
        self._natives: list[NativeQuery] = []
        self._publishers: list[Publisher] = []

    def prepare(self) -> None:
        """Check the project with Spark, then create topics and tables; nothing is started before all of it holds."""
        schemas = analysis.check(self._spark, self.project)
        spark, project, layout = self._spark, self.project, self.layout
        source = KafkaSource.of(project.target.kafka, f"headrace-{project.name}-{project.target.name}")
        for landing in project.landings:
            query = LandingQuery(spark, layout, landing, source)
            query.table.create()
            if project.landings_to_run is None or landing.name in project.landings_to_run:
                self._landings.append(query)
        for query in project.queries:
            if query.engine == "streaming":
                self._natives.append(NativeQuery(spark, project, layout, query, schemas))
            else:
                self._groups.append(Group(spark, project, layout, query, schemas))
        for made in (*self._groups, *self._natives):
            made.create_tables()
        self._create_topics()
        running = [model for query in project.queries for model in query.models]
        self._publishers = [self._publisher(model, schemas) for model in running if model.publish]

    def start(self) -> None:
        """Start every task, sources first."""
        until_done = self._options.available_now
        landings = {task.table: member for task, member in map(self._land, self._landings)}
        groups: dict[str, Supervised] = {}
        for group in self._groups:
            upstream = [member for name in group.sources if (member := landings.get(name) or groups.get(name))]
            member = self.supervisor.add(GroupTask(group, self.project.target.max_rows, self._bells, self._say), upstream)
            groups |= {table: member for table in group.outputs}
        for native in self._natives:
            self._add_native(native, landings, groups)
        for publisher in self._publishers:
            upstream = [groups[publisher.model.table]] if publisher.model.table in groups else []
            self.supervisor.add(PublisherTask(publisher, self._bells, self._say), upstream)
        self.supervisor.start(until_done)

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

    def _land(self, query: LandingQuery) -> tuple[LandingTask, Supervised]:
        target = self.project.target
        task = LandingTask(query, target.ingest_interval, target.max_rows, self._bells, self._say)
        if self._options.available_now:
            task.upto = query.ends()
        return task, self.supervisor.add(task)

    def _add_native(
        self, native: NativeQuery, landings: dict[str, Supervised], groups: dict[str, Supervised]
    ) -> None:
        query = Query(native.model.name, "streaming", (native.model,))
        names = {source_name(self.project, ref) for ref in stored_inputs(self.project, query) if ref.stream}
        upstream = [member for name in names if (member := landings.get(name) or groups.get(name))]
        self.supervisor.add(NativeTask(native, self._bells, self._say, self._options.available_now), upstream)

    def _create_topics(self) -> None:
        kafka = self.project.target.kafka
        wanted = {topic.topic: topic.partitions for landing in self.project.landings for topic in landing.topics}
        published = [model.publish for model in self.project.models if model.publish]
        wanted |= {publish.topic: 1 for publish in published if publish.topic and publish.topic not in wanted}
        ensure(kafka, wanted | ({PROGRESS_TOPIC: 1} if published else {}))

    def _publisher(self, model: Model, schemas: Mapping[str, StructType]) -> Publisher:
        project, target = self.project, self.project.target
        name = f"{project.name}.{target.name}.{model.name}"
        outlet = Outlet(client_options(target.kafka), PROGRESS_TOPIC, name)
        table = stored(self._spark, self.layout, model, schemas[model.table])
        return Publisher(self._spark, model, table, outlet, self.layout.data_dir / "set_aside")
