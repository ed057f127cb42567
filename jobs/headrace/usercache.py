"""Results that are expensive to compute, cached per user: files named by a hash of all that they depend on."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from platformdirs import user_cache_path

MAX_FILES = 100
"""How many files of a kind are kept, the newest."""


def read(kind: str, name: str) -> str:
    """Return a cached text; OSError or ValueError if it cannot be read."""
    return _file(kind, name).read_text("utf-8")


def write(kind: str, name: str, text: str) -> None:
    """Cache a text; a cache that cannot be written only costs time."""
    file = _file(kind, name)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, suffix=".tmp", delete=False) as draft:
            draft.write(text)
        Path(draft.name).replace(file)
        remove_old(kind, MAX_FILES)


@cache
def code_hash() -> str:
    """A hash of this package's code: results of other code are not reused."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def folder(kind: str) -> Path:
    """Where files of a kind are cached."""
    return user_cache_path("headrace") / kind


def remove_old(kind: str, most: int) -> None:
    """Keep only the `most` newest files of a kind; OSError if that is not possible."""
    files = sorted(folder(kind).iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[most:]:
        file.unlink(missing_ok=True)


def _file(kind: str, name: str) -> Path:
    return folder(kind) / name
