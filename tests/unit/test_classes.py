"""The archives of our JVMs' classes: where they are, who uses them, and what becomes of one that cannot be made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.environment import classes
from headrace.environment.classes import ARCHIVES, BROKER, SPARK, Archive

WRITES_ONE = f"import os, pathlib; pathlib.Path(os.environ[{SPARK.variable!r}]).write_text('classes')"
WRITES = f"{WRITES_ONE}; pathlib.Path(os.environ[{BROKER.variable!r}]).write_text('classes')"


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for archive in ARCHIVES:
        monkeypatch.delenv(archive.variable, raising=False)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_without_archive_there_are_no_options(archive: Archive) -> None:
    assert archive.options() == ()


def test_recorded_archive_is_used(tmp_path: Path) -> None:
    assert classes.record([sys.executable, "-c", WRITES], tmp_path) is None
    assert SPARK.path() != BROKER.path()
    assert all(f"-XX:SharedArchiveFile={archive.path()}" in archive.options() for archive in ARCHIVES)


def test_recording_process_gets_the_path_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKER.variable, "/tmp/here")
    assert "-XX:ArchiveClassesAtExit=/tmp/here" in BROKER.options() and SPARK.options() == ()


@pytest.mark.parametrize(
    ("command", "trouble"),
    [
        (["-c", "raise SystemExit('no Spark')"], "no Spark"),
        (["-c", "pass"], "nothing was written"),
        (["-c", WRITES_ONE], "nothing was written"),
        (["-c", f"{WRITES}; raise SystemExit(1)"], "nothing was written"),
    ],
)
def test_what_fails_leaves_no_archive(tmp_path: Path, command: list[str], trouble: str) -> None:
    assert classes.record([sys.executable, *command], tmp_path) == trouble
    assert [*tmp_path.rglob("*classes-*")] == []


def test_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "share").write_text("a file")
    assert "share" in str(classes.record([sys.executable, "-c", WRITES], tmp_path))


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    former, java = SPARK.path(), tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert SPARK.path() != former
