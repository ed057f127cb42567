"""Files that survive a crash: a write is complete, or the previous content stays; and objects replaced by version.

Of two writers that replace one version of an object, or create it, one wins.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from headrace.store.paths import ObjectPath, StorePath

Version = Mapping[str, str]
"""What a store calls a version of an object: its `e_tag` and, on some stores, its `version`."""

Replaced = Version | Literal["create"]
"""What a write puts its object in place of."""


def write(file: StorePath, text: str) -> None:
    """Write a file atomically, also across a crash; its folder is created if missing."""
    write_bytes(file, text.encode())


def write_bytes(file: StorePath, data: bytes) -> None:
    """Write a file that is no text; as `write`."""
    if isinstance(file, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        _draft(file, data).rename(file)
    else:
        _put(file, data, "overwrite")


def write_new(file: StorePath, text: str) -> None:
    """Write a file that must not exist yet, atomically, also across a crash; FileExistsError if it does."""
    if isinstance(file, Path):
        _link_new(_draft(file, text.encode()), file)
    else:
        _put(file, text.encode(), "create")


def append(file: StorePath, lines: Iterable[str]) -> None:
    """Add lines at the end of a file; it is made, with its folder, where it is missing."""
    text = "".join(f"{line}\n" for line in lines)
    if isinstance(file, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    else:
        before = file.read_text("utf-8") if file.is_file() else ""
        file.write_text(f"{before}{text}", "utf-8")


def note(file: StorePath, text: str) -> None:
    """Write a file atomically, but not across a crash of the machine: for what is known without it, too."""
    if isinstance(file, Path):
        draft = _name_of_draft(file)
        draft.write_text(text, "utf-8")
        draft.replace(file)
    else:
        file.write_text(text, "utf-8")


def read_version(file: ObjectPath) -> tuple[bytes, Version] | None:
    """The content of an object and its version; None if there is none."""
    try:
        found = obstore.get(file.bucket.client, file.key)
        return bytes(found.bytes()), _version(found.meta)
    except FileNotFoundError:
        return None


def replace_version(file: ObjectPath, data: bytes, replaced: Replaced) -> Version | None:
    """Write an object in place of a version, and return the new one; None if the object is another one by now.

    A client that lost the answer to a write repeats it, and then the store refuses what it has done already: after
    None, the caller should look whether it finds what it wrote itself.
    """
    mode: Any = replaced if isinstance(replaced, str) else dict(replaced)
    try:
        return _version(obstore.put(file.bucket.client, file.key, data, mode=mode, use_multipart=False))
    except (AlreadyExistsError, PreconditionError, FileNotFoundError):
        return None


def _version(found: Mapping[str, Any]) -> Version:
    return {name: str(found[name]) for name in ("e_tag", "version") if found.get(name) is not None}


def _draft(file: Path, data: bytes) -> Path:
    draft = _name_of_draft(file)
    with draft.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    return draft


def _name_of_draft(file: Path) -> Path:
    return file.with_name(f".{uuid.uuid4().hex}.tmp")


def _link_new(draft: Path, file: Path) -> None:
    try:
        os.link(draft, file)  # unlike a rename, it never replaces
    finally:
        draft.unlink()


def _put(file: StorePath, data: bytes, mode: Literal["create", "overwrite"]) -> None:
    assert isinstance(file, ObjectPath), f"{file} is on no store that is known"
    try:
        with file.bucket.reached():
            obstore.put(file.bucket.client, file.key, data, mode=mode, use_multipart=False)
    except AlreadyExistsError as error:
        raise FileExistsError(str(file)) from error
