"""A Spark standalone cluster on this machine: a master and workers as processes of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil
import pyspark

from headrace.environment import guard
from headrace.spark.session import JAVA_COMPILERS
from tests.waiting import wait_for

HOME = Path(pyspark.__file__).parent
JOB = Path(__file__).parents[2] / "jobs" / "run.py"
HOST = "127.0.0.1"
DEPLOY = "org.apache.spark.deploy"

COMPILER = " ".join(f'"{option}"' for option in (*JAVA_COMPILERS["quick"], "-XX:ReservedCodeCacheSize=256m"))
"""For a run of a minute. Beside its first compiler alone, Java has room for 48 MB of code, which a run fills."""


SUBMITTER = {
    "SPARK_HOME": str(HOME),
    "SPARK_LOCAL_IP": HOST,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
    "PYSPARK_PYTHON": "no-python-on-executors",
}
"""The variables that spark-submit reads."""


@dataclass(frozen=True)
class Master:
    """A Spark master: its address, and how its workers are started.

    Workers and their executors find no Python package of ours, and nothing in the folders that are `hidden` from them.
    Each has a folder and a clock of its own, as on other machines.
    """

    address: str
    folder: Path
    hidden: Sequence[Path] = ()

    @contextmanager
    def worker(self, name: str, cores: int = 2) -> Iterator[psutil.Process]:
        """A worker while the block lasts; what its executors write is in a folder of that name."""
        folder = self.folder / name
        folder.mkdir()
        room = ["--cores", str(cores), "--memory", "1g", "--work-dir", str(folder / "work")]
        words = ["--host", HOST, *room, "--webui-port", str(free_port()), self.address]
        with _daemon(folder, f"{DEPLOY}.worker.Worker", self.hidden, *words) as process:
            wait_for(lambda: _says(folder / "Worker.log", "Successfully registered"), f"the worker {name}")
            yield process

    def files(self, pattern: str) -> list[Path]:
        """What the master, workers and executors have written."""
        return sorted(path for path in self.folder.glob(pattern) if path.is_file())


@contextmanager
def master(folder: Path, hidden: Sequence[Path] = ()) -> Iterator[Master]:
    """A master without workers while the block lasts."""
    address = f"spark://{HOST}:{free_port()}"
    words = ["--host", HOST, "--port", address.rpartition(":")[2], "--webui-port", str(free_port())]
    with _daemon(folder, f"{DEPLOY}.master.Master", (), *words):
        wait_for(lambda: _says(folder / "Master.log", "I have been elected leader"), "the Spark master")
        yield Master(address, folder, hidden)


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """Start master and worker and return the master's address."""
    with master(folder) as found, found.worker("worker"):
        yield found.address


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def submit(master: str, folder: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run jobs/run.py of this checkout by `spark-submit`, with executors of a gigabyte in all."""
    asked, ours = submission(master, *words), {**environ, **SUBMITTER}
    return subprocess.run(asked, env=ours, cwd=folder, capture_output=True, text=True, timeout=600)


def submission(master: str, *words: str) -> list[str]:
    """The command that runs jobs/run.py of this checkout; it needs the environment `SUBMITTER` too."""
    confs = {
        "spark.executor.memory": "800m",
        "spark.executor.extraJavaOptions": COMPILER,
        "spark.driver.host": HOST,
        "spark.sql.shuffle.partitions": "2",
    }
    settings = [word for name, value in confs.items() for word in ("--conf", f"{name}={value}")]
    java = ["--driver-java-options", f"-Duser.timezone=UTC {COMPILER}"]
    return [str(HOME / "bin" / "spark-submit"), "--master", master, *java, *settings, str(JOB), *words]


@contextmanager
def _daemon(folder: Path, name: str, hidden: Sequence[Path], *words: str) -> Iterator[psutil.Process]:
    foreign = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HEADRACE"))}
    environ = {**foreign, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m"}
    environ |= {"SPARK_DAEMON_JAVA_OPTS": COMPILER, "TZ": "America/New_York", "HOME": str(folder)}
    with (folder / f"{name.rpartition('.')[2]}.log").open("w") as log:
        command = [*_without(hidden), str(HOME / "bin" / "spark-class"), name, *words]
        process = subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=log)
        leash = guard.tie(process.pid)
        try:
            yield psutil.Process(process.pid)
        finally:
            if process.poll() is None:  # else a test has killed it
                guard.end(psutil.Process(process.pid))
            process.wait()
            leash.release()


def _without(folders: Sequence[Path]) -> list[str]:
    """What stands before a command for which these folders are empty."""
    if not folders or not _can_hide():
        return []
    script = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1"; shift; done; shift; exec "$@"'
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script, "sh", *map(str, folders), "--"]


@lru_cache(maxsize=1)
def _can_hide() -> bool:
    """Whether this system lets a process have mounts of its own."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        tried = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


def _says(log: Path, words: str) -> bool:
    return words in log.read_text(errors="replace")
