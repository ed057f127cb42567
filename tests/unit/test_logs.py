"""Events in a file and on stderr, either of which may fail for a while."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import pytest

from headrace import logs
from headrace.logs import Attempt

DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that logs to the file of a folder; the file is closed in the end."""
    made: list[logs._File] = []

    def file(*words: Any, **options: Any) -> logs._File:
        made.append(real(*words, **options))
        return made[-1]

    real = logs._File
    monkeypatch.setattr(logs, "_File", file)
    yield logs.event_logger(tmp_path)
    made[0].close()


def lines(folder: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (folder / "headrace.log").read_text().splitlines()]


def raising(*_: Any) -> None:
    raise DISK_FULL


def test_event_is_in_file_and_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], log: Callable[..., None]
) -> None:
    log("started", queries=3)
    assert (lines(tmp_path), "started" in capsys.readouterr().err) == (["started"], True)


def test_event_does_nothing_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], log: Callable[..., None]
) -> None:
    log("batch", topic="a\x1b[31mred")
    assert "a\\x1b[31mred" in capsys.readouterr().err


def test_full_disk_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], log: Callable[..., None]
) -> None:
    with monkeypatch.context() as full:
        full.setattr(RotatingFileHandler, "shouldRollover", raising)
        for number in range(3):
            log("batch", number=number)
    log("batch", number=3)
    stderr = capsys.readouterr().err
    assert (lines(tmp_path), stderr.count(" batch "), stderr.count(" unwritten ")) == (["batch"], 4, 1)
    assert (stderr.count(" written "), "Traceback" in stderr) == (1, False)


def test_gone_reader_of_stderr_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Callable[..., None]
) -> None:
    monkeypatch.setattr(sys.stderr, "write", raising)
    log("batch")
    assert lines(tmp_path) == ["batch"]


def test_each_change_is_logged() -> None:
    events: list[tuple[str, str | None]] = []
    causes: list[Exception | None] = [None, DISK_FULL, DISK_FULL, PermissionError("no"), None, None]

    def write() -> None:
        if cause := causes.pop(0):
            raise cause

    attempt = Attempt(write, Path("x"), lambda event, file, cause=None: events.append((event, cause)))
    while causes:
        attempt()
    assert events == [("unwritten", str(DISK_FULL)), ("unwritten", "no"), ("written", None)]


def test_error_of_ours_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        Attempt(lambda: 1 / 0, Path("x"), lambda event, **values: None)()
