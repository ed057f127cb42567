"""A runner whose JVM is killed alone, as the system does when memory runs out."""

from __future__ import annotations

import json
import time

import pytest

from tests.kafka.oracle import ORDERS
from tests.kafka.runner import processes
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka

SECONDS = 10
"""The runner itself must end within this time."""


def test_runner_ends_when_its_jvm_is_killed(stage: Stage) -> None:
    stage.create({ORDERS: 1})
    with stage.runner("--select", "shipping") as runner:
        runner.heard(" started ")
        killed_at = time.monotonic()
        for jvm in processes(stage.data_dir):
            jvm.kill()
        code = runner.exit_code()
        seconds = time.monotonic() - killed_at
    assert (code, seconds < SECONDS) == (1, True), runner.output
    reports = [line for line in runner.output.splitlines() if line.startswith("headrace: ")]
    assert [report.split(";")[0] for report in reports] == ["headrace: Spark's JVM ended (killed by signal 9)"]
    status = json.loads(stage.call("status", "--json").stdout.splitlines()[-1])
    assert status["project"]["state"] == "failed", status
    # the lock is free, and nothing prevents the next run from continuing
    assert stage.call("run", "--select", "shipping", "--available-now").returncode == 0
