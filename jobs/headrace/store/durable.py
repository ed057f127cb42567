"""Files that survive a crash: a write is complete on disk, or the previous content stays."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write(file: Path, text: str) -> None:
    """Write a file atomically, also across a crash; its folder is created if missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.rename(file)


def write_new(file: Path, text: str) -> None:
    """Write a file that must not exist yet, atomically, also across a crash; FileExistsError if it does."""
    draft = file.with_name(f".{uuid.uuid4().hex}.tmp")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    try:
        os.link(draft, file)  # unlike a rename, it never replaces
    finally:
        draft.unlink()
