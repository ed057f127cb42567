"""The text files of a project, by their path from its root."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headrace.errors import Finding, InvalidProject, Place


def read_text(root: Path, path: str) -> str:
    """Return the text of a file; one that cannot be read is a finding."""
    file = root / path
    try:
        if file.is_file() or not file.exists():  # reading a pipe would wait forever
            return file.read_text(encoding="utf-8-sig")
        message = "this is no file; give it another name"
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8; save the file as UTF-8"
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    raise InvalidProject([Finding(Place(path), "unreadable", message)])


def find(root: Path, folders: Iterable[str], pattern: str) -> list[str]:
    """List what matches a glob pattern under some folders, in order, without hidden ones.

    Links that lead nowhere, and folders, are among them: `read_text` says so.
    """
    found = {file.relative_to(root) for folder in folders for file in (root / folder).glob(pattern)}
    return sorted(file.as_posix() for file in found if not any(part.startswith(".") for part in file.parts))


def place_at(path: str, text: str, offset: int) -> Place:
    """Return the place of an offset in a text."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(path, text.count("\n", 0, offset) + 1, offset - line_start + 1)
