"""Spark, obstore and delta-rs on one S3 store, each configured from the same url and options.

Spark runs in a process of its own: the one that other tests share was started without the jars for S3.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.s3.server import S3Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.long]

JOB = Path(__file__).with_name("spark_job.py")


@dataclass(frozen=True)
class Outcome:
    """What the job saw, by step, and the server that it ran on."""

    steps: dict[str, dict[str, Any]]
    server: S3Server

    def result(self, step: str) -> Any:
        return self.steps[step]["result"]

    def requests(self, step: str, method: str = "") -> list[str]:
        """The requests of a step as `METHOD STATUS PATH KEY`."""
        return [line for line in self.steps[step]["requests"] if line.startswith(method)]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    folder = tmp_path_factory.mktemp("s3")
    with serving(folder) as server:
        given = json.dumps({"url": server.url, "options": {**server.options}, "log": str(server.log)})
        command = [sys.executable, str(JOB), str(folder)]
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=600, cwd=folder)
        assert done.returncode == 0, done.stderr
        yield Outcome(json.loads(done.stdout), server)


def test_write_copies_nothing(outcome: Outcome) -> None:
    data = [line for line in outcome.requests("write", "P") if "/part-" in line]
    assert [line.split()[0] for line in data] == ["POST", "PUT", "POST"]


def test_write_takes_few_requests(outcome: Outcome) -> None:
    assert len(outcome.requests("write")) <= 32


def test_spark_reads_what_it_wrote(outcome: Outcome) -> None:
    assert (outcome.result("parquet"), outcome.result("delta")) == (10, 10)


def test_delta_rs_reads_what_spark_wrote(outcome: Outcome) -> None:
    found = DeltaTable(f"{outcome.server.url}/tables/orders", storage_options={**outcome.server.options})
    assert sorted(found.to_pyarrow_table()["id"].to_pylist()) == [*range(20)]


def test_query_continues_from_its_checkpoint(outcome: Outcome) -> None:
    runs = [outcome.result(name) for name in ("first run", "run without news", "run with news")]
    assert runs == [[[0, 0, 5], [0, 1, 5]], [], [[1, 0, 10], [1, 1, 10]]]


def test_checkpoint_is_written_without_renames(outcome: Outcome) -> None:
    written = [line.split()[2] for line in outcome.requests("first run", "PUT") if "/checkpoint/" in line]
    assert "/lake/checkpoint/offsets/0" in written
    assert [path for path in written if ".tmp" in path] == []
