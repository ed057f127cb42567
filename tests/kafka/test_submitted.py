"""A driver that spark-submit has started: its JVM, which is the process that others know, is stopped or killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.kafka.events import made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS
from tests.kafka.runner import Runner
from tests.kafka.spark_cluster import JOB, SUBMITTER, submission
from tests.kafka.stage import PROJECT, Stage
from tests.waiting import wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.long]

SECONDS = 30
"""Within this time nothing is left of a driver."""


@contextmanager
def submitted(stage: Stage) -> Iterator[tuple[Runner, psutil.Process]]:
    """A driver with both of its processes; spark-submit prints on stdout what its Python prints on stderr."""
    command = submission("local[2]", "-C", str(PROJECT), "-t", "test", "--select", "shipping")
    together = ["sh", "-c", 'exec "$@" >&2', "sh", *command]
    runner = Runner(together, {**stage.environ, **SUBMITTER}, stage.folder, stage.data_dir)
    try:
        runner.heard(" started ")
        found = psutil.process_iter(["cmdline", "ppid"])
        ours = (each for each in found if each.info["ppid"] == runner.process.pid)
        (python,) = (each for each in ours if str(JOB) in (each.info["cmdline"] or []))
        yield runner, python
    finally:
        runner.close()


def ship(stage: Stage, name: str) -> None:
    """An order and its product are sent, and must come out."""
    stage.send([order(name, 1), made(name, 1)])
    wait_for(lambda: name in {record.key for record in stage.committed("shipping")}, f"the order {name}", every=0.5)


def test_python_ends_when_its_jvm_is_killed(stage: Stage) -> None:
    stage.create({ORDERS: 1, MANUFACTURED: 1})
    with submitted(stage) as (runner, python):
        ship(stage, "before")
        runner.process.kill()
        python.wait(SECONDS)


@pytest.mark.parametrize("both", [False, True])
def test_sigterm_to_its_jvm_stops_cleanly(stage: Stage, both: bool) -> None:
    """As `kill` and the agent of a pod send it; systemd sends it to both."""
    with submitted(stage) as (runner, python):
        ship(stage, f"to both: {both}")
        started = time.monotonic()
        if both:
            python.send_signal(signal.SIGTERM)
        assert (runner.stop(signal.SIGTERM), runner.count(" stopped$")) == (143, 1), runner.output
        assert time.monotonic() - started < SECONDS
    shipped = [record.key for record in stage.committed("shipping")]
    assert len(shipped) == len({*shipped})
