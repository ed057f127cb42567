"""Whole folders of a store: removed, copied, moved."""

from __future__ import annotations

import os
import shutil
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
    """Copy all files below a folder; `to` is a folder of the same store."""
    if isinstance(folder, Path):
        assert isinstance(to, Path)
        shutil.copytree(folder, to)
        return
    assert isinstance(folder, ObjectPath) and isinstance(to, ObjectPath)
    for file in folder.files():
        # What is listed may be no object, but Hadoop's marker of a folder.
        with suppress(FileNotFoundError), folder.bucket.reached():
            obstore.copy(folder.bucket.client, file.key, (to / str(file.relative_to(folder))).key)


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
