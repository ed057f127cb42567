"""Whole folders of a store: removed, copied, moved.

On an object store that is done object by object, several at a time, and may be interrupted anywhere. A table then never
looks whole unless it is: its data files are copied before its log, and the entries of the log before those by which a
reader finds its beginning; they are removed in the opposite order.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TypeVar

from headrace.store import durable
from headrace.store.paths import ObjectPath, StorePath, make_private
from headrace.write_errors import naming

_Item = TypeVar("_Item")
_File = TypeVar("_File", bound=StorePath)

_KEYS = 1000
"""How many objects one request deletes at most."""

_CLOCK_SLACK = 1.0
"""Seconds by which a file system may be behind the clock with the times that it gives to files."""

_REQUESTS = 16
"""How many requests are under way at once."""


def remove(folder: StorePath) -> None:
    """Remove a folder with all that is in it; nothing happens where there is none.

    Of a link the link alone goes: what it leads to may be somebody else's. Hadoop's markers of folders stay on S3, and
    that of the folder itself elsewhere; nothing is there for `is_dir`. ValueError for the root of a file system or a
    bucket, which nobody means.
    """
    if isinstance(folder, Path) and folder.is_symlink():
        folder.unlink()
        return
    if _is_root(folder):
        raise ValueError(f"{folder} is a root: all that is there would go")
    if isinstance(folder, Path):
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        return
    assert isinstance(folder, ObjectPath)
    if folder.bucket.has_folders:
        folder.bucket.remove_folder(folder.key)
        return
    for some in reversed([*_stages(folder.objects())]):
        _at_once(_delete, _pages(some))


def _is_root(folder: StorePath) -> bool:
    if isinstance(folder, Path):
        return folder.resolve() == Path(folder.anchor)
    assert isinstance(folder, ObjectPath)
    return not folder.key


def copy(folder: StorePath, to: StorePath) -> None:
    """Copy all files below a folder, also to a folder of another store. What was copied stays if a file fails."""
    if isinstance(folder, Path) and isinstance(to, Path):
        _copy_on_disk(folder, to)
        return
    if isinstance(to, Path):
        make_private(to)
    for some in _stages(files(folder)):
        _at_once(lambda file: _copy(file, to / str(file.relative_to(folder))), some)


def _copy_on_disk(folder: Path, to: Path) -> None:
    """Copy what is below a folder, and what links there lead to, and end at the first file that fails.

    `shutil.copytree` tries all others then, and its error is that of no file.
    """
    for above, _, names in os.walk(folder, onerror=_raise, followlinks=True):
        place = to / Path(above).relative_to(folder)
        make_private(place)
        for name in names:
            with naming(place / name):
                shutil.copy2(Path(above, name), place / name)


def _raise(error: OSError) -> None:
    raise error


def files(folder: StorePath) -> Iterator[StorePath]:
    """All files below a folder, and below what links there lead to."""
    if isinstance(folder, ObjectPath):
        yield from folder.files()
    else:
        assert isinstance(folder, Path)
        found = (Path(above, name) for above, _, names in os.walk(folder, followlinks=True) for name in names)
        yield from sorted(found)


def extent(folder: StorePath) -> tuple[int, int]:
    """How many files below a folder have content, and its bytes: objects that stand for a folder have none."""
    sizes = [size for size in _sizes(folder) if size]
    return len(sizes), sum(sizes)


def _sizes(folder: StorePath) -> Iterator[int]:
    if isinstance(folder, ObjectPath):
        yield from (each.size for each in folder.bucket.below(folder.key) if not each.is_folder)
        return
    for above, _, names in os.walk(str(folder), followlinks=True):
        yield from (Path(above, name).stat().st_size for name in names)


def is_empty(folder: StorePath) -> bool:
    """Whether nothing is there; of a disk only the folder itself is looked at, as below may be all of the machine."""
    if isinstance(folder, Path):
        return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    return next(files(folder), None) is None


def is_within(path: StorePath, folder: StorePath) -> bool:
    """Whether a path is a folder or below it; links on a disk are followed."""
    if isinstance(path, Path) and isinstance(folder, Path):
        return path.resolve().is_relative_to(folder.resolve())
    return f"{path}/".startswith(f"{folder}/")


def disk_of(folder: Path) -> int:
    """The number of the device that a folder is on: a folder can be renamed within one device only."""
    return folder.stat().st_dev


def sync(folder: StorePath) -> None:
    """Wait until what was copied, moved or removed in a folder outlasts a power loss; an object store needs no wait."""
    if isinstance(folder, Path):
        os.sync()


@dataclass(frozen=True)
class Instant:
    """A moment in the life of this process, by a clock that can be set and by one that cannot."""

    clock: float
    steady: float

    @classmethod
    def now(cls) -> Instant:
        return cls(time.time(), time.monotonic())

    def jump(self, now: Instant) -> float:
        """By how many seconds the clock was set between this and `now`."""
        return now.clock - self.clock - (now.steady - self.steady)

    def earliest(self, now: Instant) -> float:
        """The earliest time, in seconds since 1970, that a file may bear which was written between this and `now`."""
        return self.clock + min(self.jump(now), 0.0)


BEFORE_ALL = Instant(0.0, 0.0)


def sync_changed(folder: StorePath, since: Instant) -> None:
    """Sync what changed below a folder since a moment; others may write there meanwhile, and set the clock."""
    if isinstance(folder, Path):
        durable.sync([*_changed(folder, since.earliest(Instant.now()) - _CLOCK_SLACK)], missing_ok=True)


def _changed(folder: Path, since: float) -> Iterator[Path]:
    for above, _, names in os.walk(folder):
        for path in (Path(above), *(Path(above, name) for name in names)):
            with suppress(FileNotFoundError):  # it was removed meanwhile
                if path.stat().st_ctime >= since:
                    yield path


def move(folder: StorePath, to: StorePath) -> None:
    """Move all files below a folder; on an object store, and on HDFS, a move that was interrupted can be repeated."""
    if isinstance(folder, Path):
        assert isinstance(to, Path)
        folder.rename(to)
        return
    if isinstance(folder, ObjectPath) and folder.bucket.has_folders:
        assert isinstance(to, ObjectPath)
        folder.bucket.move_folder(folder.key, to.key)
        return
    copy(folder, to)
    remove(folder)


def link(file: StorePath, to: StorePath) -> None:
    """Let a file have a second name; where files have one only, it is copied."""
    if isinstance(file, Path):
        assert isinstance(to, Path)
        os.link(file, to)
        return
    assert isinstance(file, ObjectPath) and isinstance(to, ObjectPath)
    file.bucket.copy(file.key, to.key)


def _stages(found: Iterable[_File]) -> Iterator[list[_File]]:
    """Data files and all that is in no table; then entries of logs; then what a reader of a log begins with."""
    return (list(stage) for _, stage in groupby(sorted(found, key=_stage), key=_stage))


def _stage(file: StorePath) -> int:
    if "_delta_log" not in (file.parent.name, file.parent.parent.name):
        return 0
    return 2 if ".checkpoint" in file.name or file.name in ("_last_checkpoint", f"{0:020}.json") else 1


def _pages(files: Iterable[ObjectPath]) -> Iterator[list[ObjectPath]]:
    rest = iter(files)
    while page := [*islice(rest, _KEYS)]:
        yield page


def _at_once(work: Callable[[_Item], None], items: Iterable[_Item]) -> None:
    """Do the same to all items, some at a time; after a failure nothing more is begun, and it is raised."""
    failed = threading.Event()

    def begin(item: _Item) -> None:
        if failed.is_set():
            return
        try:
            work(item)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(_REQUESTS, "tree") as pool:
        for _ in pool.map(begin, items):
            pass


def _copy(file: StorePath, to: StorePath) -> None:
    # What is listed may be no object, but Hadoop's marker of a folder.
    with suppress(FileNotFoundError):
        if isinstance(file, ObjectPath) and isinstance(to, ObjectPath) and file.bucket == to.bucket:
            file.bucket.copy(file.key, to.key)
        elif isinstance(to, ObjectPath):
            to.bucket.put_large(to.key, file.read_bytes())
        else:
            assert isinstance(to, Path)
            to.parent.mkdir(parents=True, exist_ok=True)
            with naming(to):
                to.write_bytes(file.read_bytes())


def _delete(files: list[ObjectPath]) -> None:
    files[0].bucket.delete([file.key for file in files])
