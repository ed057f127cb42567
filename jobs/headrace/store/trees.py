"""Whole folders of a store: removed, copied, moved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import obstore

from headrace.store.paths import ObjectPath, StorePath

_AT_ONCE = 1000
"""How many objects one request deletes at most."""


def remove(folder: StorePath) -> None:
    """Remove a folder with all that is in it; nothing happens where there is none.

    Hadoop's markers of folders stay in a bucket; nothing is there for those who ask `is_dir`.
    """
    if isinstance(folder, Path):
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        return
    assert isinstance(folder, ObjectPath)
    keys = (file.key for file in folder.files())
    while some := [*islice(keys, _AT_ONCE)]:
        with folder.bucket.reached():
            obstore.delete(folder.bucket.client, some)


def copy(folder: StorePath, to: StorePath) -> None:
    """Copy all files below a folder, also to a folder of another store."""
    if isinstance(folder, Path) and isinstance(to, Path):
        shutil.copytree(folder, to)
        return
    for file in files(folder):
        # What is listed may be no object, but Hadoop's marker of a folder.
        with suppress(FileNotFoundError):
            _copy_file(file, to / str(file.relative_to(folder)))


def files(folder: StorePath) -> Iterator[StorePath]:
    """All files below a folder."""
    if isinstance(folder, ObjectPath):
        yield from folder.files()
    else:
        assert isinstance(folder, Path)
        yield from (file for file in sorted(folder.rglob("*")) if file.is_file())


def _copy_file(file: StorePath, to: StorePath) -> None:
    if isinstance(file, ObjectPath) and isinstance(to, ObjectPath) and file.bucket == to.bucket:
        with file.bucket.reached():
            obstore.copy(file.bucket.client, file.key, to.key)
    elif isinstance(to, ObjectPath):
        with to.bucket.reached():
            obstore.put(to.bucket.client, to.key, file.read_bytes())
    else:
        assert isinstance(to, Path)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(file.read_bytes())


def sync(folder: StorePath) -> None:
    """Wait until what was copied to a folder outlasts a power cut; an object store has answered for itself."""
    if isinstance(folder, Path):
        os.sync()


def move(folder: StorePath, to: StorePath) -> None:
    """Move all files below a folder; on an object store a move that was broken off can be repeated."""
    if isinstance(folder, Path):
        assert isinstance(to, Path)
        folder.rename(to)
        return
    copy(folder, to)
    remove(folder)


def link(file: StorePath, to: StorePath) -> None:
    """Let a file have a second name; where files have one only, it is copied."""
    if isinstance(file, Path):
        assert isinstance(to, Path)
        os.link(file, to)
        return
    assert isinstance(file, ObjectPath) and isinstance(to, ObjectPath)
    with file.bucket.reached():
        obstore.copy(file.bucket.client, file.key, to.key)
