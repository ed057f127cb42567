"""A job under measurement: a child process, and the CPU time and memory of its JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from headrace.environment.guard import end

DEADLINE = 600.0


@dataclass
class Job:
    """A running child."""

    process: psutil.Process
    log: Path
    peak_bytes: int = field(default=0)

    @property
    def jvm(self) -> psutil.Process | None:
        """The child's JVM, once it has one."""
        found: dict[psutil.Process, int] = {}
        for child in self.process.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # the shell that starts a JVM soon exits
                if child.name() == "java":
                    found[child] = child.memory_info().rss
        return max(found, key=lambda child: found[child], default=None)

    def cpu(self) -> float:
        """CPU-seconds of the JVM so far."""
        jvm = self.jvm
        if jvm is None:
            return 0.0
        with suppress(psutil.NoSuchProcess):  # what starts a JVM is one, too, and soon exits
            times = jvm.cpu_times()
            self.peak_bytes = max(self.peak_bytes, jvm.memory_info().rss)
            return float(times.user + times.system)
        return 0.0

    def has_logged(self, word: str) -> bool:
        """Whether the log contains a word yet."""
        return word in self.log.read_text(errors="replace")


@contextmanager
def job(command: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[Job]:
    """Run `python <command>` while the block runs."""
    log = folder / "job.log"
    with log.open("w") as out:
        child = subprocess.Popen(
            [sys.executable, *command], stdout=out, stderr=out, env={**os.environ, **environment}, cwd=folder
        )
        try:
            yield Job(psutil.Process(child.pid), log)
        finally:
            end(psutil.Process(child.pid))
            child.wait()


def wait_for(condition: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
    """Wait for a condition; TimeoutError, which names it, if it does not come."""
    until = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not come within {deadline:.0f} s")
        time.sleep(0.05)
