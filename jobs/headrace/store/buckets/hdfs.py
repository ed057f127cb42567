"""A folder of Hadoop's file system, with the methods of a bucket.

HDFS shows a file under its name before its bytes are there, and knows no version of it. Its NameNode renames in one
step, whether or not the other name may be taken. So:

- A file is written as a draft next to its place, `.<unique>.tmp`, and renamed when it is whole: without overwriting to
  create it, of several writers one wins; with overwriting to replace it. A writer that dies leaves a draft, which
  maintenance removes.
- A rename whose answer was lost is asked for again. A draft that is gone by then has got its name: nobody else knows
  of it.
- A file that is replaced by version is a folder, in which each version is a file that is created: `<number>`, one above
  the number that was read. Older ones are removed. A writer that was held up for long enough may find its number free
  again; it then finds a higher one next to it, or its predecessor missing, and has lost.
- Folders are real. They are removed and moved as one, so a table is never there in part.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import urlsplit

from headrace.errors import EnvironmentFault
from headrace.store.buckets.bucket import Bucket, Found, Replaced, Version
from headrace.store.buckets.namenode import NameNode, reaching

if TYPE_CHECKING:
    from hdfs_native import FileStatus

_ATTEMPTS = "dfs.client.failover.max.attempts"
"""How often a NameNode that refuses the connection is tried again, after 0.5 s and then twice as long each time."""

_TRIES = 3
"""How often a rename is asked for whose answer is lost."""


@dataclass(frozen=True)
class HdfsFolder(Bucket):
    """A folder of HDFS, by a URL like `hdfs://namenode:8020/lake`; options are named as in Hadoop's configuration.

    The rest of the configuration is read from the folder that HADOOP_CONF_DIR names, as Spark does.
    """

    has_folders: ClassVar[bool] = True

    @cached_property
    def node(self) -> NameNode:
        """The cluster; a connection is made when it is asked for something."""
        return NameNode(self.url, self._address, self.delta_options)

    @property
    def _address(self) -> str:
        found = urlsplit(self.url)
        return f"{found.scheme}://{found.netloc}"

    @property
    def delta_options(self) -> dict[str, str]:
        return {_ATTEMPTS: "5", **self.options}

    def reached(self) -> AbstractContextManager[None]:
        return reaching(self.url)

    def check(self) -> None:
        """EnvironmentFault if the folder cannot be used for a run; it retries only a few times."""
        folder, probe = HdfsFolder(self.url, {**self.options, _ATTEMPTS: "2"}), f"_probe-{_unique()}"
        folder.put(probe, b"", "create")
        try:
            folder.put(probe, b"", "create")
        except FileExistsError:
            return
        finally:
            folder.delete([probe])
        raise EnvironmentFault(f"the store {self.url} writes over what it was asked to create only; use HDFS itself")

    def size(self, key: str) -> int:
        found = self.node.status(self._path(key))
        if found.isdir:
            raise FileNotFoundError(key)
        return found.length

    def get(self, key: str) -> bytes:
        return self.node.read(self._path(key))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self.node.read(self._path(key), start, length)

    def put(self, key: str, data: bytes, mode: Literal["create", "overwrite"] = "overwrite") -> None:
        place = self._path(key)
        draft = f"{place.rpartition('/')[0]}/.{_unique()}.tmp"
        self.node.write(draft, data)
        try:
            self._rename(draft, place, mode == "overwrite")
        except FileExistsError:
            with suppress(EnvironmentFault):  # maintenance removes it
                self.node.delete(draft)
            raise

    def put_large(self, key: str, data: bytes) -> None:
        self.put(key, data)

    def read_version(self, key: str) -> tuple[bytes, Version] | None:
        while numbers := self._numbers(key):
            with suppress(FileNotFoundError):  # it was replaced meanwhile
                return self.get(_numbered(key, max(numbers))), {"version": str(max(numbers))}
        return None

    def replace_version(self, key: str, data: bytes, replaced: Replaced) -> Version | None:
        former = 0 if isinstance(replaced, str) else int(replaced["version"])
        number = former + 1
        try:
            self.put(_numbered(key, number), data, "create")
        except FileExistsError:
            return None
        numbers = self._numbers(key)
        if max(numbers, default=0) != number:
            return None
        if former and former not in numbers:  # all was removed since it was read
            self.delete([_numbered(key, number)])
            return None
        self.delete([_numbered(key, each) for each in numbers if each < number])
        return {"version": str(number)}

    def is_folder(self, key: str) -> bool:
        try:
            return self.node.status(self._path(key)).isdir
        except FileNotFoundError:
            return False

    def children(self, key: str) -> list[Found]:
        try:
            return [self._found(each) for each in self.node.listed(self._path(key))]
        except FileNotFoundError:
            return []

    def below(self, key: str) -> Iterator[Found]:
        """All files and folders below; a folder that is removed meanwhile has none."""
        for each in self.children(key):
            yield each
            if each.is_folder:
                yield from self.below(each.key)

    def copy(self, key: str, to: str) -> None:
        self.put(to, self.get(key))

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.node.delete(self._path(key))

    def remove_folder(self, key: str) -> None:
        self.node.delete(self._path(key), recursive=True)

    def move_folder(self, key: str, to: str) -> None:
        if self.is_folder(key):
            self.node.make_folder(self._path(to).rpartition("/")[0])
            self._rename(self._path(key), self._path(to), overwrite=False)

    def _rename(self, path: str, to: str, overwrite: bool) -> None:
        """Rename, and if no answer comes, again: what is not there any more after the first time was renamed then."""
        for left in reversed(range(_TRIES)):
            try:
                self.node.rename(path, to, overwrite)
                return
            except FileNotFoundError:
                if left == _TRIES - 1:
                    raise
                return
            except EnvironmentFault:
                if not left:
                    raise

    def _numbers(self, key: str) -> list[int]:
        """The versions of a file that are there."""
        names = (each.key.rpartition("/")[2] for each in self.children(key))
        return [int(name) for name in names if name.isdecimal()]

    def _path(self, key: str) -> str:
        """Where a key is in the file system."""
        return f"{urlsplit(self.url).path.rstrip('/')}/{key}".rstrip("/") or "/"

    def _found(self, status: FileStatus) -> Found:
        key = status.path.removeprefix(self._path("").rstrip("/")).lstrip("/")
        return Found(key, status.length, status.modification_time / 1000, status.isdir)


def _numbered(key: str, number: int) -> str:
    return f"{key}/{number:020}"


def _unique() -> str:
    return uuid.uuid4().hex
