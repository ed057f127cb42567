"""The text files of a project, by their path from its root."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headrace.errors import Finding, InvalidProject, Place


def read_text(root: Path, path: str) -> str:
    """Return the text of a file; one that cannot be read is a finding."""
    try:
        return (root / path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8; save the file as UTF-8"
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    raise InvalidProject([Finding(Place(path), "unreadable", message)])


def find(root: Path, folders: Iterable[str], pattern: str) -> list[str]:
    """List the files under some folders that match a glob pattern, in order, without hidden ones."""
    found = {file.relative_to(root) for folder in folders for file in (root / folder).glob(pattern) if file.is_file()}
    return sorted(file.as_posix() for file in found if not any(part.startswith(".") for part in file.parts))


def place_at(path: str, text: str, offset: int) -> Place:
    """Return the place of an offset in a text."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(path, text.count("\n", 0, offset) + 1, offset - line_start + 1)
