"""Cases in which nothing was wrong, kept once per user: reading YAML takes long, and most cases stay as they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from headrace import usercache

_KIND = "cases"


def mark(root: Path, path: str) -> str:
    """A hash of a case's path and text."""
    with suppress(OSError):  # of what cannot be read, its path
        return hashlib.sha256(os.fsencode(path) + b"\0" + (root / path).read_bytes()).hexdigest()
    return path


def known(scene: str) -> frozenset[str]:
    """The marks of cases that were right in a scene, which is a text of all else that they were held against."""
    try:
        return frozenset(usercache.read(_KIND, _name(scene)).split())
    except (OSError, ValueError):  # what cannot be read is found out again
        return frozenset()


def keep(scene: str, marks: Collection[str]) -> None:
    """Keep the marks of those that are right now."""
    usercache.keep(_KIND, _name(scene), "".join(f"{each}\n" for each in sorted(marks)))


def _name(scene: str) -> str:
    return hashlib.sha256(f"{usercache.code()} {scene}".encode()).hexdigest()
