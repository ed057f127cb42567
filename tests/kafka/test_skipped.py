"""A batch that cannot run is skipped by hand: its query goes on after it, and what was skipped is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.project import skips
from headrace.project.skips import Skip
from headrace.store.layout import Layout
from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import sent, spoilt_sales
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_batch_that_cannot_run_is_skipped(stage: Stage, tmp_path: Path) -> None:
    spoilt = spoilt_sales(stage, tmp_path / "project")
    stage.create({SALES: 1})
    stage.send([sale("poison", 2500)])
    assert len(stage.failures("sales", project=spoilt.project)) == 1
    layout = Layout(stage.data_dir)
    skips.note(layout, Skip("sales", 0, "2026-01-01", {}, 1))  # of a skip that was killed before it was done
    assert len(stage.failures("sales", project=spoilt.project)) == 1
    assert [*skips.noted(layout, ["sales"])] == []
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
