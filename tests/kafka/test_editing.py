"""Files that an analyst edits while a runner works on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import MODEL, sales, sent
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka

EDITED = (MODEL, "sql/bronze/sales.yml", "manifest.yml")


@pytest.mark.long
def test_half_written_files_change_nothing_until_the_next_run(stage: Stage, tmp_path: Path) -> None:
    project = sales(stage, tmp_path / "project", 2000)
    whole = {path: (project.folder / path).read_text() for path in EDITED}
    stage.create({SALES: 1})
    stage.send([sale("p", 2500)])
    with project.runner():
        wait_for(lambda: len(sent(stage)) == 1, "what is due before the edit")
        for path, text in whole.items():
            (project.folder / path).write_text(text[: len(text) // 2])
        stage.send([sale("q", 2600)])
        wait_for(lambda: len(sent(stage)) == 2, "what comes while files are half written")
    refused = project.call("run", "--available-now")
    assert (refused.returncode, refused.stderr.count("syntax: ")) == (3, 2), refused.stderr
    for path, text in whole.items():
        (project.folder / path).write_text(text)
    assert stage.failures("sales", project=project.project) == ()
    assert sent(stage) == [("p", 2500), ("q", 2600)]
    (project.folder / MODEL).write_text(whole[MODEL].replace("reached as total", "double(reached) as total"))
    assert "UNDECIDED  gold.sales_notifications" in project.call("plan", "-s", "sales_notifications").stdout
    decided = project.call("run", "--available-now")
    assert (decided.returncode, decided.stderr.count("plan-reset: ")) == (3, 1), decided.stderr
    assert "RESET" in project.call("plan", "-s", "sales_notifications").stdout
