"""A runner as a real process, and the processes it leaves."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from headrace.environment import guard
from tests.waiting import PATIENCE, wait_for


class Runner:
    """`headrace run` as a child process, which ends with this one at the latest; its log is read line by line."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: Path, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._lines: list[str] = []
        self._news = threading.Condition()
        self.process = subprocess.Popen(command, env=environ, cwd=folder, stderr=subprocess.PIPE, text=True)
        self._leash = guard.tie(self.process.pid)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def output(self) -> str:
        return "\n".join(self._lines)

    def heard(self, pattern: str, times: int = 1) -> int:
        """Wait until so many log lines have matched since the start; return how many have."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while self._count(pattern) < times:
                assert self._listener.is_alive(), f"ended before it said {pattern}:\n{self.output}"
                assert self._news.wait(deadline - time.monotonic()), f"did not say {pattern}:\n{self.output}"
            return self._count(pattern)

    def count(self, pattern: str) -> int:
        """How many log lines have matched so far."""
        with self._news:
            return self._count(pattern)

    def kill(self) -> None:
        """End the process at once, as `kill -9` does, and wait until its JVM has followed."""
        self.process.kill()
        self.process.wait(PATIENCE)
        wait_for(lambda: not processes(self._data_dir), "the end of the JVM")

    def stop(self, number: signal.Signals) -> int:
        """Ask the process to stop and return its exit code; no thread of its JVM may die of that."""
        self.process.send_signal(number)
        code = self.exit_code()
        self._listener.join(PATIENCE)
        assert "Exception in thread" not in self.output, self.output
        return code

    def exit_code(self) -> int:
        """Wait until the process ends by itself."""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End the process and release its resources."""
        if self.process.poll() is None:
            self.kill()
        self._leash.release()
        self._listener.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._lines.append(line.rstrip())
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, line)) for line in self._lines)


def processes(data_dir: Path) -> list[psutil.Process]:
    """Spark's JVMs that work on a data directory; their environment names their log in it."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if "org.apache.spark.deploy.SparkSubmit" in (process.info["cmdline"] or ())
        and str(data_dir) in (process.info["environ"] or {}).get("HEADRACE_SPARK_LOG", "")
    ]
