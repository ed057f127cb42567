"""An HDFS cluster on this machine, a NameNode and a DataNode in one process that ends with the one that started it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from filelock import FileLock
from platformdirs import user_cache_path

from headrace.environment import guard, ivy
from headrace.environment.jars import Jar
from headrace.environment.java import find_java
from tests.waiting import wait_for

JARS = (
    Jar(
        "hdfs",
        "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
        56006450,
        "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    ),
    Jar(
        "hdfs",
        "d1bb81abfd9e03418306b4e6a3390c8db52c58372e749c2980ac29f0c08278f1",
        240237,
        "org.junit.jupiter:junit-jupiter-api:5.13.4",
    ),
)
"""Hadoop's cluster for tests, which goes with the client in pyspark, and what it asks its assertions of."""

MAIN = "org.apache.hadoop.test.MiniDFSClusterManager"


@dataclass(frozen=True)
class HdfsCluster:
    """An empty file system: its url, and the process that is all of it."""

    url: str
    process: psutil.Process

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """While the block lasts the NameNode takes connections and answers nobody, as one that hangs."""
        self.process.suspend()
        try:
            wait_for(lambda: self.process.status() == psutil.STATUS_STOPPED, "its last thread to stop")
            yield
        finally:
            self.process.resume()

    def administer(self, *words: str) -> None:
        """Call Hadoop's tool for administrators."""
        command = [*_java(), "org.apache.hadoop.hdfs.tools.DFSAdmin", "-fs", self.url, *words]
        subprocess.run(command, check=True, capture_output=True)


@contextmanager
def serving(folder: Path) -> Iterator[HdfsCluster]:
    """Start a cluster that keeps its blocks in a folder; its log goes there, too. Skipped where no jar can be had."""
    details, log = folder / "cluster.json", folder / "hdfs.log"
    options = ["-format", "-writeDetails", str(details), "-D", "dfs.permissions.enabled=true"]
    with log.open("w") as output:
        command = [*_java(f"-Dtest.build.data={folder / 'blocks'}"), MAIN, *options]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    leash = guard.tie(process.pid)
    try:
        yield HdfsCluster(f"hdfs://127.0.0.1:{_port(process, details, log)}", psutil.Process(process.pid))
    finally:
        guard.end(psutil.Process(process.pid))
        process.communicate()
        leash.release()


def _port(process: subprocess.Popen[bytes], details: Path, log: Path) -> int:
    """Wait for the NameNode's port, which is known when a DataNode has come."""
    wait_for(lambda: process.poll() is not None or _is_written(details), "the HDFS cluster", details=log.read_text)
    if process.poll() is not None:
        raise RuntimeError(f"the HDFS cluster does not start: {log.read_text('utf-8')}")
    return int(json.loads(details.read_text("utf-8"))["namenode_port"])


def _is_written(details: Path) -> bool:
    return details.is_file() and details.read_text("utf-8").endswith("}")


def _java(*flags: str) -> list[str]:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    spark = Path(spec.origin).parent / "jars"
    classes = ":".join((*map(str, _fetched()), f"{spark}/*"))
    return [str(find_java().program), "-Xmx512m", "-XX:TieredStopAtLevel=1", *flags, "-cp", classes]


def _fetched() -> tuple[Path, ...]:
    """The jars, which are fetched where they are missing."""
    folder = user_cache_path("headrace") / "jars" / "minicluster"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        missing = [jar for jar in JARS if not jar.intact(folder)]
        if missing:
            _fetch(missing, folder)
    return tuple(folder / jar.file_name for jar in JARS)


def _fetch(jars: list[Jar], folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        staging = Path(name)
        trouble = ivy.download((jar.coordinate for jar in jars), sum(jar.size for jar in jars), staging, "HDFS jars")
        for jar in jars:
            if not jar.intact(staging):
                pytest.skip(f"{jar.coordinate}, the cluster's jar, could not be fetched: {trouble}")
            (staging / jar.file_name).rename(folder / jar.file_name)
