"""Files that survive a crash and a power loss: a write is complete, or the previous content stays.

On a disk a file is written under another name, synced, and then given its own; its folder is synced after that. So when
a call returns, the file is on disk under its name, and no reader ever finds a part of it. An object store does the same
by itself. Objects are also replaced by version: of two writers that replace one version, or create it, one wins.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Literal

from headrace.store.buckets.bucket import Replaced, Version
from headrace.store.paths import ObjectPath, StorePath
from headrace.write_errors import naming

_AT_ONCE = 16
"""How many files are synced at once: a file system writes its journal once for all that wait."""


def write(file: StorePath, text: str) -> None:
    """Write a file atomically, also across a crash; its folder is created if missing."""
    write_bytes(file, text.encode())


def write_bytes(file: StorePath, data: bytes) -> None:
    """Write a file that is no text; as `write`."""
    if isinstance(file, Path):
        with _draft(file, data) as draft:
            sync([draft])
            draft.rename(file)
        sync([file.parent])
    else:
        _put(file, data, "overwrite")


def write_new(file: StorePath, text: str, *behind: Path) -> None:
    """Write a file that must not exist yet, atomically, also across a power loss; FileExistsError if it does.

    `behind` are files and folders that are on disk before the file has its name.
    """
    if isinstance(file, Path):
        with _draft(file, text.encode()) as draft:
            sync([draft, *behind])
            os.link(draft, file)  # unlike a rename, it never replaces
            draft.unlink()
        sync([file.parent])
    else:
        _put(file, text.encode(), "create")


def append(file: StorePath, lines: Iterable[str]) -> None:
    """Add lines at the end of a file; it is made, with its folder, where it is missing.

    A crash may leave a part of them on a disk.
    """
    text = "".join(f"{line}\n" for line in lines)
    if isinstance(file, Path):
        make_folder(file.parent)
        with naming(file):
            with file.open("a", encoding="utf-8") as out:
                out.write(text)
            sync([file, file.parent])
    else:
        before = file.read_text("utf-8") if file.is_file() else ""
        file.write_text(f"{before}{text}", "utf-8")


def note(file: StorePath, text: str) -> None:
    """Write a file atomically but without a sync, for what can be found out without it.

    After a power loss it may be old, empty or gone.
    """
    if isinstance(file, Path):
        with _draft(file, text.encode()) as draft:
            draft.replace(file)
    else:
        file.write_text(text, "utf-8")


def make_folder(folder: StorePath) -> None:
    """Create a folder, with those above it, where it is missing; all of them are on disk under their names."""
    if isinstance(folder, Path):
        missing = [*takewhile(lambda each: not each.is_dir(), (folder, *folder.parents))]
        folder.mkdir(parents=True, exist_ok=True)
        sync({each.parent for each in missing})


def sync(paths: Collection[Path], missing_ok: bool = False) -> None:
    """Wait until files have their content on disk, and folders the names in them; all at once, which costs as one."""
    for _ in (_threads().map if len(paths) > 1 else map)(partial(_sync, missing_ok), paths):
        pass


def read_version(file: ObjectPath) -> tuple[bytes, Version] | None:
    """The content of an object and its version; None if there is none."""
    return file.bucket.read_version(file.key)


def replace_version(file: ObjectPath, data: bytes, replaced: Replaced) -> Version | None:
    """Write an object in place of a version, and return the new one; None if the object is another one by now.

    A client that lost the answer to a write repeats it, and then the store refuses what it has done already: after
    None, the caller should look whether it finds what it wrote itself.
    """
    return file.bucket.replace_version(file.key, data, replaced)


@contextmanager
def _draft(file: Path, data: bytes) -> Iterator[Path]:
    """A file that is to get the name of another one; the folder is made if there is none.

    It goes if that fails: on a full disk, each attempt would leave one.
    """
    draft = file.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with naming(file):
            try:
                draft.write_bytes(data)
            except FileNotFoundError:
                make_folder(file.parent)
                draft.write_bytes(data)
            yield draft
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def boot() -> str:
    """An id of this boot of the machine: what is not synced may be lost between two boots."""
    file = Path("/proc/sys/kernel/random/boot_id")
    if file.is_file():
        return file.read_text("ascii").strip()
    import psutil  # elsewhere than on Linux; quick commands do without it

    return f"{psutil.boot_time():.0f}"


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "sync")


def _sync(missing_ok: bool, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        if missing_ok:
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(file: StorePath, data: bytes, mode: Literal["create", "overwrite"]) -> None:
    assert isinstance(file, ObjectPath), f"{file} is on no store that is known"
    try:
        file.bucket.put(file.key, data, mode)
    except FileExistsError as error:
        raise FileExistsError(str(file)) from error
