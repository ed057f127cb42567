"""A query made anew beside the running one, by the commands: what is sent over the swap is sent once."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headrace.environment import swap
from headrace.layout import Layout
from headrace.project import loader
from headrace.project.model import Project
from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.runner import Runner
from tests.kafka.stage import PROJECT, Stage, command
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.kafka

NOTIFICATIONS = "notifications-events-v1"


@dataclass(frozen=True)
class Sales:
    """The sales of the checkout alone, with some threshold, on a stage."""

    stage: Stage
    folder: Path

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one headrace command on it."""
        asked, environ = command(*words, project=self.folder), self.stage.environ
        return subprocess.run(asked, env=environ, capture_output=True, text=True, timeout=2 * PATIENCE)

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """Its runner for as long as the block lasts; it stops as one is asked to stop."""
        runner = Runner(command("run", project=self.folder), self.stage.environ, self.folder, self.stage.data_dir)
        try:
            yield runner
            assert runner.stop(signal.SIGTERM) == 143
        finally:
            runner.close()

    @property
    def project(self) -> Project:
        target = self.stage.project.target
        return replace(loader.load(self.folder, "test"), target=target)


def sales(stage: Stage, folder: Path, threshold: int) -> Sales:
    for name in ("conf", "macros", "sql/silver/sales", "sql/gold/sales"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / "sql/bronze").mkdir()
    shutil.copy(PROJECT / "sql/bronze/sales.yml", folder / "sql/bronze")
    text = (PROJECT / "manifest.yml").read_text()
    assert "sales_threshold: 2000" in text
    text = re.sub(r"^  (shipping|shop|clicks): \{\+query.*\n", "", text, flags=re.MULTILINE)
    (folder / "manifest.yml").write_text(text.replace("sales_threshold: 2000", f"sales_threshold: {threshold}"))
    return Sales(stage, folder)


def sent(stage: Stage) -> list[tuple[str | None, int]]:
    return [(record.key, record.value["value"]) for record in stage.committed(NOTIFICATIONS)]


def test_swap_sends_what_was_not_sent_and_nothing_twice(stage: Stage, tmp_path: Path) -> None:
    running, edited = sales(stage, tmp_path / "running", 2000), sales(stage, tmp_path / "edited", 1000)
    stage.create({SALES: 1})
    stage.send([sale("p", 1500), sale("p", 1000), sale("q", 1200)])
    with running.runner():
        wait_for(lambda: len(sent(stage)) == 1, "what is due before the edit")
        filled = edited.call("rebuild", "gold.sales_notifications")
        refused = edited.call("rebuild", "sales", "--swap")
        assert (filled.returncode, refused.returncode) == (0, 3), filled.stderr
        stage.send([sale("r", 2100)])
        wait_for(lambda: len(sent(stage)) == 2, "what comes while the other stands beside")
    told = json.loads(edited.call("diff", "gold.sales_notifications", "--json").stdout)
    assert (told["rows_running"], told["only_running"], told["only_beside"]) == (1, 0, 2)

    stage.send([sale("p", 100)])
    assert stage.failures("sales", project=running.project) == ()
    swapped = edited.call("rebuild", "sales", "--swap", "--keep", "0")
    assert swapped.returncode == 0, swapped.stderr
    assert edited.call("plan", "-s", "gold.sales_notifications").returncode == 0

    stage.send([sale("q", 50)])
    assert stage.failures("sales", project=edited.project) == ()
    assert sent(stage) == [("p", 2500), ("r", 2100), ("p", 2600), ("p", 1500), ("q", 1200), ("q", 1250)]
    assert len(swap.retired(Layout(stage.data_dir))) == 1  # its time is over, but the publisher compared with it
    assert stage.failures("sales", project=edited.project) == ()
    assert not swap.retired(Layout(stage.data_dir))
    assert [row["total"] for row in stage.rows("gold.sales_notifications")] == [1500, 2500, 1200, 2100, 2600, 1250]
