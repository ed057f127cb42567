"""The lease of a store on a disk, and the note of who holds it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace.errors import Locked
from headrace.store import lease
from headrace.store.layout import Layout


def test_second_runner_learns_who_holds_it(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    with lease.held(layout), pytest.raises(Locked, match=f"pid {os.getpid()}"), lease.held(layout):
        pass


def test_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError) as caught, lease.held(Layout(tmp_path)):
        pass
    assert caught.value.filename == str(tmp_path / "locks" / "runner.json")


def test_failed_runner_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as disk, lease.held(Layout(tmp_path)):
        disk.setattr(Path, "unlink", broken)
    with lease.held(Layout(tmp_path)):
        pass
