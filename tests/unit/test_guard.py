"""A child that ends with the process that started it."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from headrace.environment import guard

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
PARENT = """
import subprocess, threading
from headrace.environment import guard
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
thread = threading.Thread(target=guard.tie, args=(child.pid,))
thread.start()
thread.join()  # the end of the thread that tied it must not end the child
child.stdin.write(b"alive\\n")
child.stdin.flush()
print(child.pid, child.stdout.readline().decode(), end="", flush=True)
input()
"""


def test_child_ends_with_killed_parent() -> None:
    command, environ = [sys.executable, "-c", PARENT], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid, said = parent.stdout.readline().split()
        child = psutil.Process(int(pid))
        parent.kill()
    gone, _ = psutil.wait_procs([child], timeout=20)
    assert (said, gone) == (b"alive", [child])


def test_released_child_ends() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        guard.tie(child.pid).release()
        assert child.wait(timeout=20) != 0


def test_stubborn_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "GRACE", 0.1)
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = psutil.Process(child.pid)
        guard.end(process)
        assert not process.is_running()


def test_ended_process_is_no_trouble() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        process = psutil.Process(child.pid)
    guard.end(process)
    assert not process.is_running()
