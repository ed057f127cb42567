"""The watcher that ends a child process when its parent is gone, for whatever reason."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

import psutil

GRACE = 10.0
"""Seconds between asking a process to end and killing it."""


@dataclass(frozen=True)
class Leash:
    """A pipe to a watcher; the watcher acts when our end closes, also by our death."""

    watcher: int
    pipe: int

    def release(self) -> None:
        """Let go: the watcher ends what it watches, then itself."""
        os.close(self.pipe)
        with suppress(ChildProcessError):
            os.waitpid(self.watcher, 0)


def tie(pid: int) -> Leash:
    """Have a process end with this one; holds also for `kill -9`, and whichever thread calls."""
    read_end, write_end = os.pipe()
    command = [sys.executable, __file__, str(pid)]
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    streams = [(os.POSIX_SPAWN_DUP2, read_end, 0), *silence]
    try:
        # posix_spawn, as a Popen that is collected would close its pipe; its own session, so that Ctrl-C spares it
        watcher = os.posix_spawn(command[0], command, os.environ, file_actions=streams, setsid=True)
    finally:
        os.close(read_end)
    return Leash(watcher, write_end)


def end(process: psutil.Process) -> None:
    """Ask a process to end, and kill it if it does not."""
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _ends_within(process, GRACE):
            process.kill()
            _ends_within(process, GRACE)


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    """True once a process has ended, also where its parent leaves it a zombie."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            process.wait(0.1)
            return True
        except psutil.TimeoutExpired:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
    return False


def _watch(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        sys.stdin.buffer.read()
        end(process)


if __name__ == "__main__":
    _watch(int(sys.argv[1]))
