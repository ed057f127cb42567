"""Drivers that `headrace submit` starts on a Spark cluster, and how machines are lost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import psutil

from tests.kafka.runner import Runner
from tests.kafka.spark_cluster import COMPILER, HOST, Master
from tests.s3.project import Machine, Site
from tests.s3.server import S3Server
from tests.waiting import PATIENCE, wait_for

PATIENT = 3 * PATIENCE
"""Seconds: each large batch takes the executors a minute on two cores that nobody else needs."""

FAILED = "^[^ ]+ failed "
"""A query that ended, in the log of a driver, which has Spark's own lines too."""

OUTAGE = 30.0
"""Seconds for which the S3 server answers nobody."""


@dataclass(frozen=True)
class Spread:
    """A cluster of two workers, of which one is to be lost, and records that come until `flow` is closed."""

    server: S3Server
    site: Site
    master: Master
    doomed: psutil.Process
    flow: ExitStack


def settings(address: str) -> Mapping[str, Any]:
    """What the target says beside where data are."""
    confs = {
        "spark.driver.host": HOST,
        "spark.driver.extraJavaOptions": COMPILER,
        "spark.executor.cores": 1,
        "spark.executor.memory": "800m",
        "spark.executor.extraJavaOptions": COMPILER,
        "spark.eventLog.enabled": True,
        "spark.eventLog.dir": "events",
        "spark.eventLog.compress": False,
    }
    return {"spark": {"master": address, "conf": confs}, "trigger": {"max_rows": 100_000}}


def submitted(machine: Machine, *words: str) -> AbstractContextManager[Runner]:
    """A driver on a machine, which keeps an event log."""
    (machine.folder / "events").mkdir(exist_ok=True)
    return machine.submitted(*words)


def kill(process: psutil.Process) -> None:
    """End a process and all that it has started at once, as a machine that loses its power."""
    family = [process, *process.children(recursive=True)]
    for each in family:
        each.suspend()  # none sees another one die
    for each in family:
        each.kill()
    psutil.wait_procs(family, PATIENCE)


def heard(runner: Runner, pattern: str, times: int = 1) -> None:
    """Wait until a driver has logged something so many times."""
    wait_for(
        lambda: runner.count(pattern) >= times or runner.process.poll() is not None,
        pattern,
        PATIENT,
        details=lambda: runner.output,
        every=0.5,
    )
    assert runner.process.poll() is None, runner.output
