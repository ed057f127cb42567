"""Folders of a data directory, which only the one who runs headrace can enter: it holds everything that was sent."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def make(folder: Path) -> None:
    """Create a folder of a data directory; a directory that is made for it is private, one that is there stays so."""
    home = folder.parent
    home.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        home.mkdir(0o700)
    folder.mkdir(exist_ok=True)
