"""What took long to find out, kept once per user: files under a hash of all that it hangs on."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from platformdirs import user_cache_path

KEPT = 100
"""So many files of a kind are kept, the newest."""


def read(kind: str, name: str) -> str:
    """Return what was kept; OSError or ValueError if that cannot be read."""
    return _file(kind, name).read_text("utf-8")


def keep(kind: str, name: str, text: str) -> None:
    """Keep a text; a cache that cannot be written only costs time."""
    file = _file(kind, name)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, suffix=".tmp", delete=False) as draft:
            draft.write(text)
        Path(draft.name).replace(file)
        forget_old(kind, KEPT)


@cache
def code() -> str:
    """A hash of this package: what it found out with other code is found out anew."""
    found = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(source.read_bytes())
    return found.hexdigest()


def folder(kind: str) -> Path:
    """Where files of a kind are kept."""
    return user_cache_path("headrace") / kind


def forget_old(kind: str, kept: int) -> None:
    """Keep only so many files of a kind, the newest; an OSError if that is not possible."""
    files = sorted(folder(kind).iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[kept:]:
        file.unlink(missing_ok=True)


def _file(kind: str, name: str) -> Path:
    return folder(kind) / name
