"""headrace run --standby as a process, while another one holds the store."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from headrace.store import lease
from headrace.store.layout import Layout
from tests.unit.conftest import ProjectFiles
from tests.unit.test_cli import ENVIRON


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_ends_by_a_signal(project_files: ProjectFiles, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "headrace", "-C", str(project_files.root), "run", "--standby"]
    layout = Layout(project_files.root / "data")
    with lease.held(layout), subprocess.Popen(command, env=ENVIRON, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        line = waiting.stderr.readline()
        waiting.send_signal(number)
        rest = waiting.stderr.read()
    assert (waiting.returncode, rest) == (128 + number, "")
    assert line.startswith(f"headrace: waiting for {layout.root}: pid ")
