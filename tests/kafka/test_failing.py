"""A query that fails on every retry, in a run whose others continue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import Sales, sales, sent
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka

MODEL = "sql/gold/sales/sales_notifications.sql"
FINE = "        reached as total,\n"
SPOILT = "        cast(reached / if(product = 'poison', 0, 1) as decimal(38, 0)) as total,\n"


@pytest.fixture
def spoilt(stage: Stage, tmp_path: Path) -> Sales:
    """The sales with a model that fails on one product."""
    project = sales(stage, tmp_path / "project", 2000)
    text = (project.folder / MODEL).read_text()
    assert FINE in text
    (project.folder / MODEL).write_text(text.replace(FINE, SPOILT))
    return project


def test_others_continue_and_the_run_reports_it_at_its_end(spoilt: Sales, stage: Stage) -> None:
    stage.create({SALES: 1})
    stage.send([sale("poison", 2500)])
    with spoilt.runner(exit_code=1) as runner:
        runner.heard("^[^ ]+ failed ")
        stage.send([sale("q", 2600)])
        wait_for(lambda: len(stage.rows("bronze.sales")) == 2, "what lands after the failure")
    causes = [line for line in runner.output.splitlines() if " failed " in line]
    assert causes and all(MODEL in line and "DIVIDE_BY_ZERO" in line for line in causes), runner.output
    assert "Traceback" not in runner.output
    assert sent(stage) == []
    fast = spoilt.call("run", "--fail-fast")
    assert (fast.returncode, MODEL in fast.stderr) == (1, True), fast.stderr
    text = (spoilt.folder / MODEL).read_text()
    (spoilt.folder / MODEL).write_text(text.replace(SPOILT, FINE))
    assert stage.failures("sales", project=spoilt.project) == ()
    assert sent(stage) == [("poison", 2500), ("q", 2600)]


def test_batch_that_cannot_run_is_skipped(spoilt: Sales, stage: Stage) -> None:
    stage.create({SALES: 1})
    stage.send([sale("poison", 2500)])
    assert len(stage.failures("sales", project=spoilt.project)) == 1
    refused = spoilt.call("skip", "sales", "--batch", "7")
    assert (refused.returncode, "only batch 0 of sales can be skipped" in refused.stderr) == (2, True), refused.stderr
    assert spoilt.call("skip", "sales", "--batch", "0").returncode == 0
    stage.send([sale("q", 2600)])
    assert stage.failures("sales", project=spoilt.project) == ()
    assert sent(stage) == [("q", 2600)]
    (skipped,) = json.loads(spoilt.call("status", "--json").stdout)["skipped"]
    assert (skipped["query"], skipped["batch"], skipped["rows"]) == ("sales", 0, 1)
    assert "sales has skipped batch 0: 1 rows" in spoilt.call("status").stderr
    assert spoilt.call("skip", "sales", "--batch", "0").returncode == 2
