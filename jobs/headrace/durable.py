"""Files that survive a crash: a write is complete on disk, or the previous content stays."""

from __future__ import annotations

import os
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
