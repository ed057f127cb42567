"""The environment of a test: the project on its own broker and data directory, and its runner as a real process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace.environment.broker import Broker
from headrace.project import loader, selection
from headrace.project.model import Project
from headrace.reading.rows import to_json
from headrace.reading.show import show
from headrace.running.runner import Options, Run
from headrace.running.supervisor import Failure
from headrace.spark.jvm import java_class, scala_object
from headrace.store import lease
from headrace.store.layout import Layout
from tests.kafka.cluster import Cluster
from tests.kafka.runner import Runner
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parents[2]
DOMAINS = ("shipping", "sales")
"""What runs unless a test chooses otherwise."""


@dataclass
class Stage(Cluster):
    """The demo project of the checkout, run for the target `test`, on a broker of its own."""

    folder: Path
    broker: Broker
    spark: SparkSession

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def call(self, *words: str, project: Path = PROJECT) -> subprocess.CompletedProcess[str]:
        """Run one headrace command to its end."""
        asked, within = command(*words, project=project), 2 * PATIENCE
        return subprocess.run(asked, env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=within)

    def shown(self, table: str, *words: str) -> list[dict[str, Any]]:
        """What `headrace show` prints of a table."""
        done = self.call("show", table, *words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The same of all rows, read in this process: a command takes a second to start."""
        found = show(self.project, Layout(self.data_dir), table)
        return [json.loads(to_json(row)) for row in found.rows]

    def process_all(self) -> None:
        """Run until all that has been sent is processed and published."""
        assert self.failures() == ()

    def failures(self, *select: str, project: Project | None = None) -> tuple[Failure, ...]:
        """Do what `run --available-now` does, in this process, and return which queries failed."""
        declared = project or self.project
        self.forget_tables()  # a reset by another process may have recreated some
        with lease.held(Layout(declared.target.data_dir)):
            run = Run(
                self.spark,
                selection.narrowed(declared, select or DOMAINS, ()),
                Options(available_now=True),
                log=lambda *_, **__: None,
            )
            run.prepare()
            run.start()
            too_late = threading.Event()
            alarm = threading.Timer(PATIENCE, too_late.set)
            alarm.start()
            failures = run.wait(too_late)
            alarm.cancel()
            self.forget_state()
        assert not too_late.is_set(), run.status().to_json()
        return failures

    def forget_tables(self) -> None:
        """Let Spark read the logs of all tables again: somebody has put others in their place."""
        java_class(self.spark._jvm, "org.apache.spark.sql.delta.DeltaLog").clearCache()

    def forget_state(self) -> None:
        """Forget the state stores of queries that have ended.

        Spark would write them once more when it next tidies up, into a checkpoint that a reset has removed meanwhile.
        """
        scala_object(self.spark._jvm, "org.apache.spark.sql.execution.streaming.state.StateStore").unloadAll()

    @cached_property
    def project(self) -> Project:
        """The project of the checkout, on this stage's broker and data directory."""
        return self.project_of("test", self.data_dir)

    def project_of(self, target: str, data_dir: Path) -> Project:
        """The project for some target, on this stage's broker."""
        declared = loader.load(PROJECT, target)
        # Spark caches consumers by their group alone, even if the broker is another.
        options = {**declared.target.kafka.options, "group.id": f"tests-at-{self.bootstrap}"}
        kafka = replace(declared.target.kafka, bootstrap=self.bootstrap, options=options)
        return replace(declared, target=replace(declared.target, kafka=kafka, data_dir=data_dir))

    @contextmanager
    def runner(self, *words: str) -> Iterator[Runner]:
        """A runner for as long as the block lasts."""
        chosen = words or tuple(word for domain in DOMAINS for word in ("--select", domain))
        runner = Runner(command("run", *chosen), self.environ, self.folder, self.data_dir)
        try:
            yield runner
        finally:
            runner.close()

    @property
    def environ(self) -> dict[str, str]:
        return environ(self.bootstrap, self.data_dir)


def environ(bootstrap: str, data_dir: Path | None = None) -> dict[str, str]:
    """The environment variables of a headrace command on some broker; by default its data is where its project says."""
    paths = os.pathsep.join([str(PROJECT / "jobs"), os.environ.get("PYTHONPATH", "")])
    ours = {"HEADRACE_DATA_DIR": str(data_dir)} if data_dir else {}
    return {**os.environ, **ours, "HEADRACE_KAFKA_BOOTSTRAP": bootstrap, "PYTHONPATH": paths}


def command(*words: str, project: Path = PROJECT) -> list[str]:
    """A headrace command on a project, that of the checkout if none is named."""
    return [sys.executable, "-m", "headrace", "-C", str(project), "-t", "test", *words]


def checkout(root: Path, conf: str) -> Path:
    """A copy of the project with its own settings."""
    for part in ("sql", "macros"):
        shutil.copytree(PROJECT / part, root / part)
    shutil.copy2(PROJECT / "manifest.yml", root)
    (root / "conf").mkdir()
    (root / "conf" / "test.yml").write_text(conf)
    return root
