"""Where a test plays: the project on a broker and a data directory of its own, and its runner as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.environment.broker import Broker
from tests.kafka.cluster import PATIENCE, Cluster
from tests.kafka.runner import Runner

PROJECT = Path(__file__).parents[2]


@dataclass
class Stage(Cluster):
    """The demo project of the checkout, run for the target `test`, on a broker of its own."""

    folder: Path
    broker: Broker

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one headrace command to its end."""
        return subprocess.run(
            command(*words), env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=2 * PATIENCE
        )

    def rows(self, table: str, *words: str) -> list[dict[str, Any]]:
        """What `headrace show` tells of a table."""
        done = self.call("show", table, *words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def process_all(self) -> None:
        """Run until all that has been sent is processed and published."""
        done = self.call("run", "--available-now")
        assert done.returncode == 0, done.stderr

    @contextmanager
    def runner(self, *words: str) -> Iterator[Runner]:
        """A runner for as long as the block lasts."""
        runner = Runner(command("run", *words), self.environ, self.folder, self.data_dir)
        try:
            yield runner
        finally:
            runner.close()

    @property
    def environ(self) -> dict[str, str]:
        paths = os.pathsep.join([str(PROJECT / "jobs"), os.environ.get("PYTHONPATH", "")])
        ours = {"HEADRACE_DATA_DIR": str(self.data_dir), "HEADRACE_KAFKA_BOOTSTRAP": self.bootstrap}
        return {**os.environ, **ours, "PYTHONPATH": paths}


def command(*words: str) -> list[str]:
    """A headrace command on the project of the checkout."""
    return [sys.executable, "-m", "headrace", "-C", str(PROJECT), "-t", "test", *words]
