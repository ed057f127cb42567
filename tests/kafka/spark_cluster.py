"""A Spark standalone cluster on this machine: a master and a worker as processes of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark

from headrace.environment import guard
from headrace.spark.session import JAVA_COMPILERS
from tests.waiting import wait_for

HOME = Path(pyspark.__file__).parent

_COMPILER = " ".join(f'"{option}"' for option in (*JAVA_COMPILERS["quick"], "-XX:ReservedCodeCacheSize=256m"))
"""For a run of a minute. Beside its first compiler alone, Java has room for 48 MB of code, which a run fills."""


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """Start master and worker and return the master's address; executors find no Python package of ours."""
    with ExitStack() as stack:
        address = f"spark://127.0.0.1:{free_port()}"
        host, port = ["--host", "127.0.0.1"], address.rpartition(":")[2]
        web = ["--webui-port", str(free_port())]
        deploy = "org.apache.spark.deploy"
        stack.enter_context(_daemon(folder, f"{deploy}.master.Master", *host, "--port", port, *web))
        wait_for(lambda: _says(folder / "Master.log", "I have been elected leader"), "the Spark master")
        room = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), "--webui-port", str(free_port())]
        stack.enter_context(_daemon(folder, f"{deploy}.worker.Worker", *host, *room, address))
        wait_for(lambda: _says(folder / "Worker.log", "Successfully registered"), "the Spark worker")
        yield address


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def submit(master: str, folder: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run jobs/run.py of this checkout by `spark-submit`, with executors of a gigabyte in all."""
    confs = {
        "spark.executor.memory": "800m",
        "spark.executor.extraJavaOptions": _COMPILER,
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    settings = [word for name, value in confs.items() for word in ("--conf", f"{name}={value}")]
    java = ["--driver-java-options", f"-Duser.timezone=UTC {_COMPILER}"]
    job = Path(__file__).parents[2] / "jobs" / "run.py"
    command = [str(HOME / "bin" / "spark-submit"), "--master", master, *java, *settings, str(job), *words]
    ours = {**environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, env=ours, cwd=folder, capture_output=True, text=True, timeout=600)


@contextmanager
def _daemon(folder: Path, name: str, *words: str) -> Iterator[None]:
    foreign = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HEADRACE"))}
    environ = {**foreign, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    environ["SPARK_DAEMON_JAVA_OPTS"] = _COMPILER
    with (folder / f"{name.rpartition('.')[2]}.log").open("w") as log:
        command = [str(HOME / "bin" / "spark-class"), name, *words]
        process = subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=log)
        leash = guard.tie(process.pid)
        try:
            yield
        finally:
            guard.end(psutil.Process(process.pid))
            process.wait()
            leash.release()


def _says(log: Path, words: str) -> bool:
    return words in log.read_text(errors="replace")
