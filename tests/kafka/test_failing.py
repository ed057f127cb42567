"""A query that fails on every retry, in a run whose others continue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import FINE, MODEL, SPOILT, sent, spoilt_sales
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_others_continue_and_the_run_reports_it_at_its_end(stage: Stage, tmp_path: Path) -> None:
    spoilt = spoilt_sales(stage, tmp_path / "project")
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
