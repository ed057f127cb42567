"""Cases in which nothing was wrong, kept once per user: reading YAML takes long, and most cases stay as they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from platformdirs import user_cache_path

KEPT = 100
"""So many scenes are kept, the newest."""


def mark(root: Path, path: str) -> str:
    """A hash of a case's path and text."""
    with suppress(OSError):  # of what cannot be read, its path
        return hashlib.sha256(os.fsencode(path) + b"\0" + (root / path).read_bytes()).hexdigest()
    return path


def known(scene: str) -> frozenset[str]:
    """The marks of cases that were right in a scene, which is a text of all else that they were held against."""
    try:
        return frozenset(_file(scene).read_text("utf-8").split())
    except (OSError, ValueError):  # what cannot be read is found out again
        return frozenset()


def keep(scene: str, marks: Collection[str]) -> None:
    """Keep the marks of those that are right now; a cache that cannot be written only costs time."""
    file = _file(scene)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, suffix=".tmp", delete=False) as draft:
            draft.writelines(f"{each}\n" for each in sorted(marks))
        Path(draft.name).replace(file)
        _forget_old(file.parent)


def _forget_old(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[KEPT:]:
        file.unlink(missing_ok=True)


def _file(scene: str) -> Path:
    rules = hashlib.sha256(scene.encode())
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        rules.update(source.read_bytes())
    return user_cache_path("headrace") / "cases" / rules.hexdigest()
