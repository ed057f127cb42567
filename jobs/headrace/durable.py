"""Files that outlive a crash: the whole of a text is on the disk, or what was there before."""

from __future__ import annotations

import os
from pathlib import Path


def write(file: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or none, whatever dies when; its folder is made if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.rename(file)
