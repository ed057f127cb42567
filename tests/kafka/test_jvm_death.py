"""A runner whose JVM dies alone: killed, as the system does when memory runs out, or of a full heap."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.runner import processes
from tests.kafka.sales import sales
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka

SECONDS = 10
"""The runner itself must end within this time."""


def test_runner_ends_when_its_jvm_is_killed(stage: Stage) -> None:
    stage.create({SALES: 1})
    stage.send([sale("a", 1)])
    with stage.runner("--select", "sales") as runner:
        runner.heard(" batch .*query=sales_per_minute ")
        killed_at = time.monotonic()
        for jvm in processes(stage.data_dir):
            jvm.kill()
        code = runner.exit_code()
        seconds = time.monotonic() - killed_at
    assert (code, seconds < SECONDS) == (1, True), runner.output
    reports = [line for line in runner.output.splitlines() if line.startswith("headrace: ")]
    assert [report.split(";")[0] for report in reports] == ["headrace: Spark's JVM ended (killed by signal 9)"]
    assert "Traceback" not in runner.output, runner.output
    status = json.loads(stage.call("status", "--json").stdout.splitlines()[-1])
    assert status["project"]["state"] == "failed", status
    # the lock is free, and nothing prevents the next run from continuing
    assert stage.failures("sales") == ()


WIDE = """/*
A list as long as a record says.

query: wide
*/
select product, size(sequence(1, cast(value as int))) as length, _arrival from stream silver.sales
"""


@pytest.mark.long
def test_full_heap_ends_the_run_and_says_so(stage: Stage, tmp_path: Path) -> None:
    project = sales(stage, tmp_path / "project", 2000)
    model = project.folder / "sql/gold/sales/wide.sql"
    model.write_text(WIDE)
    stage.create({SALES: 1})
    stage.send([sale("a", 1000), sale("b", 400_000_000)])
    done = project.call("run", "--available-now")
    assert done.returncode == 1, done.stderr
    reports = [line for line in done.stderr.splitlines() if line.startswith("headrace: ")]
    assert [report.split(";")[0] for report in reports] == ["headrace: Spark's JVM ended (out of memory)"], done.stderr
    model.write_text(WIDE.replace("cast(value as int)", "least(cast(value as int), 1000)"))
    assert project.call("run", "--available-now").returncode == 0
    shown = project.call("show", "gold.wide", "--json").stdout.splitlines()
    assert [(row["product"], row["length"]) for row in map(json.loads, shown)] == [("a", 1000), ("b", 1000)]
