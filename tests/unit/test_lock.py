"""The runner's lock and the note of who holds it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace.environment.lock import runner_lock
from headrace.errors import Locked


def test_second_runner_learns_who_holds_it(tmp_path: Path) -> None:
    with runner_lock(tmp_path), pytest.raises(Locked, match=f"pid {os.getpid()}"), runner_lock(tmp_path):
        pass


def test_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError) as caught, runner_lock(tmp_path):
        pass
    assert caught.value.filename == str(tmp_path / "runner.json")


def test_failed_runner_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as disk, runner_lock(tmp_path):
        disk.setattr(Path, "unlink", broken)
    with runner_lock(tmp_path):
        pass
