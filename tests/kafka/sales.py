"""The sales of the checkout as a project of their own, which a test can edit."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.project import loader
from headrace.project.model import Project
from tests.kafka.runner import Runner
from tests.kafka.stage import PROJECT, Stage, command
from tests.waiting import PATIENCE

NOTIFICATIONS = "notifications-events-v1"
MODEL = "sql/gold/sales/sales_notifications.sql"
FINE = "        reached as total,\n"
SPOILT = "        cast(reached / if(product = 'poison', 0, 1) as decimal(38, 0)) as total,\n"


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
    def runner(self, exit_code: int = 143) -> Iterator[Runner]:
        """Its runner for as long as the block lasts; it is stopped by a signal."""
        runner = Runner(command("run", project=self.folder), self.stage.environ, self.folder, self.stage.data_dir)
        try:
            yield runner
            assert runner.stop(signal.SIGTERM) == exit_code
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


def spoilt_sales(stage: Stage, folder: Path) -> Sales:
    """The sales with a model that fails on one product."""
    project = sales(stage, folder, 2000)
    text = (folder / MODEL).read_text()
    assert FINE in text
    (folder / MODEL).write_text(text.replace(FINE, SPOILT))
    return project
