"""Paths of a store: a folder of a disk, or a prefix of a bucket, with the same calls.

On a disk a path is a `pathlib.Path`. On an object store it is an `ObjectPath`, which has those calls of `pathlib` that
mean something there: a folder is whatever objects have its name as their prefix, so it is there as soon as they are.
On HDFS it is an `ObjectPath` too: its folders are real, but they come with their first file, and nobody makes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote

from headrace.store.buckets import hdfs
from headrace.store.buckets.bucket import Bucket


class StorePath(Protocol):
    """What the package asks of a path, wherever it is: a part of `pathlib.Path`."""

    @property
    def name(self) -> str: ...

    @property
    def stem(self) -> str: ...

    @property
    def parent(self) -> StorePath: ...

    def __truediv__(self, name: str) -> StorePath: ...

    def __hash__(self) -> int: ...

    def relative_to(self, other: Any) -> PurePath: ...

    def exists(self) -> bool: ...

    def is_file(self) -> bool: ...

    def is_dir(self) -> bool: ...

    def read_bytes(self) -> bytes: ...

    def read_text(self, encoding: str | None = None) -> str: ...

    def write_text(self, data: str, encoding: str | None = None) -> int: ...

    def unlink(self, missing_ok: bool = False) -> None: ...

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None: ...

    def glob(self, pattern: str) -> Iterator[StorePath]: ...


@dataclass(frozen=True)
class ObjectPath:
    """A name in a bucket; nothing need be there."""

    bucket: Bucket
    key: str = ""

    def __str__(self) -> str:
        return f"{self.bucket.url.rstrip('/')}/{self.key}".rstrip("/")

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.bucket, f"{self.key}/{name}".strip("/"))

    def __lt__(self, other: ObjectPath) -> bool:
        return str(self) < str(other)

    @property
    def name(self) -> str:
        return PurePosixPath(self.key).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.key).stem

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.bucket, self.key.rpartition("/")[0])

    def relative_to(self, other: Any) -> PurePosixPath:
        return PurePosixPath(self.key).relative_to(other.key)

    def exists(self) -> bool:
        """Whether there is such an object, or any below that name."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        try:
            self.bucket.size(self.key)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether anything is below, or, on HDFS, the folder itself is there."""
        return self.bucket.is_folder(self.key)

    def read_bytes(self) -> bytes:
        return self.bucket.get(self.key)

    def read_text(self, encoding: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8")

    def write_text(self, data: str, encoding: str | None = None) -> int:
        """Put the object in the place of what is there, whole."""
        self.bucket.put(self.key, data.encode(encoding or "utf-8"))
        return len(data)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object; whether one that is missing is reported differs from store to store, so it never is."""
        del missing_ok
        self.bucket.delete([self.key])

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder is there with its first file."""

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """The objects and folders whose names match part by part; `**` stands for any folders."""
        first, _, rest = pattern.partition("/")
        if first == "**":
            parts = rest.split("/")
            found = (each for each in self.files() if _matches(each.key.split("/")[-len(parts) :], parts))
            yield from found
            return
        is_listed = any(sign in first for sign in "*?[")
        for child in self.children() if is_listed else [self / first]:
            if fnmatchcase(child.name, first):
                if rest:
                    yield from child.glob(rest)
                elif is_listed or child.exists():
                    yield child

    def children(self) -> Iterator[ObjectPath]:
        """The objects and folders directly below."""
        names = {each.key for each in self.bucket.children(self.key)} - {self.key}
        yield from (ObjectPath(self.bucket, name) for name in sorted(names))

    def files(self) -> Iterator[ObjectPath]:
        """All objects below that are no folder's marker, in the order of their names.

        Azure says of an object that it is one. S3's markers look like empty objects, but there is none of that name.
        """
        found = self._listed()
        above = {folder for key in found for folder in _folders(key)}
        empty = (key for key, size in found.items() if not size and key not in above)
        markers = above | {key for key in empty if self.bucket.is_marker(key)}
        yield from (ObjectPath(self.bucket, key) for key in found if key not in markers)

    def objects(self) -> Iterator[ObjectPath]:
        """All objects below, also those that only say that a folder is there."""
        yield from (ObjectPath(self.bucket, key) for key in self._listed())

    def _listed(self) -> dict[str, int]:
        """The keys of the files below, in their order, and the bytes of each."""
        return {each.key: each.size for each in self.bucket.below(self.key) if not each.is_folder}


def _folders(key: str) -> Iterator[str]:
    """The folders that an object is in, from the innermost one."""
    while key := key.rpartition("/")[0]:
        yield key


def reached(path: StorePath) -> AbstractContextManager[None]:
    """A block in which a library reaches a path; what an object store refuses is reported in one line."""
    return path.bucket.reached() if isinstance(path, ObjectPath) else nullcontext()


def check(root: StorePath) -> None:
    """Refuse an object store that cannot be used for a run, with few tries."""
    if isinstance(root, ObjectPath):
        root.bucket.check()


def spark_uri(path: StorePath) -> str:
    """A path as Spark names it: Hadoop's file systems have schemes of their own."""
    return f"{path.bucket.place.uri}/{path.key}".rstrip("/") if isinstance(path, ObjectPath) else str(path)


def _matches(names: list[str], patterns: list[str]) -> bool:
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def path_of(url: str | Path, options: Mapping[str, str] | None = None) -> Path | ObjectPath:
    """The path that a URL names: of a disk (`file:` or none), or of an object store."""
    text = str(url)
    if text.startswith("file://"):
        return Path(unquote(text.removeprefix("file://")))
    if "://" not in text:
        return Path(url)
    url = text.rstrip("/") if text.partition("://")[2].strip("/") else text
    kind = hdfs.HdfsFolder if url.startswith("hdfs://") else Bucket
    return ObjectPath(kind(url, dict(options or {})))


def make_private(folder: Path) -> None:
    """Create a folder of a data directory; a directory that is made for it is its owner's alone."""
    home = folder.parent
    home.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        home.mkdir(0o700)
    folder.mkdir(exist_ok=True)
