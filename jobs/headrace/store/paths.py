"""Paths of a store: a folder of a disk, or a prefix of a bucket, with the same calls.

On a disk a path is a `pathlib.Path`. On an object store it is an `ObjectPath`, which has those calls of `pathlib` that
mean something there: a folder is whatever objects have its name as their prefix, so it is there as soon as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Protocol

import obstore
from obstore.store import ObjectStore, from_url

from headrace.errors import EnvironmentFault

CLIENT_OPTIONS = frozenset(("allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout"))
"""Options of the connection rather than of the service."""


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
class Bucket:
    """An object store: the address of a bucket, and the options by which it is reached.

    Options are named as the Rust crate `object_store` names them (`aws_region`, `azure_storage_account_name`).
    """

    url: str
    options: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def client(self) -> ObjectStore:
        """The client of the bucket; it connects when it is asked for something."""
        reach = {name: value for name, value in self.options.items() if name in CLIENT_OPTIONS}
        service = {name: value for name, value in self.options.items() if name not in CLIENT_OPTIONS}
        try:
            client: Any = from_url(self.url, config=service, client_options=reach)  # type: ignore[call-overload]
        except Exception as error:
            raise EnvironmentFault(f"the store {self.url} cannot be used: {_first_line(error)}") from None
        return client  # type: ignore[no-any-return]


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
            obstore.head(self.bucket.client, self.key)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        return any(True for page in obstore.list(self.bucket.client, self.key, chunk_size=1) for _ in page)

    def read_bytes(self) -> bytes:
        return bytes(obstore.get(self.bucket.client, self.key).bytes())

    def read_text(self, encoding: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8")

    def write_text(self, data: str, encoding: str | None = None) -> int:
        """Put the object in the place of what is there, whole."""
        obstore.put(self.bucket.client, self.key, data.encode(encoding or "utf-8"), use_multipart=False)
        return len(data)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object; object stores do not say whether there was one."""
        del missing_ok
        obstore.delete(self.bucket.client, self.key)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder is there with its first object."""

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """The objects and folders whose names match part by part; `**` stands for any folders."""
        first, _, rest = pattern.partition("/")
        if first == "**":
            parts = rest.split("/")
            found = (each for each in self.files() if _matches(each.key.split("/")[-len(parts) :], parts))
            yield from found
            return
        for child in self.children() if any(sign in first for sign in "*?[") else [self / first]:
            if fnmatchcase(child.name, first):
                if rest:
                    yield from child.glob(rest)
                elif child.exists():
                    yield child

    def children(self) -> Iterator[ObjectPath]:
        """The objects and folders directly below."""
        found = obstore.list_with_delimiter(self.bucket.client, self.key or None)
        names = [*(each["path"] for each in found["objects"]), *found["common_prefixes"]]
        yield from (ObjectPath(self.bucket, name) for name in sorted(names))

    def files(self) -> Iterator[ObjectPath]:
        """All objects below, in the order of their names."""
        for page in obstore.list(self.bucket.client, self.key or None):
            yield from (ObjectPath(self.bucket, each["path"]) for each in page)


def spark_uri(path: StorePath) -> str:
    """A path as Spark names it: Hadoop's file systems have schemes of their own."""
    text = str(path)
    scheme, found, rest = text.partition("://")
    return f"{_HADOOP.get(scheme, scheme)}://{rest}" if found else text


_HADOOP = {"s3": "s3a"}


def _matches(names: list[str], patterns: list[str]) -> bool:
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def path_of(url: str | Path, options: Mapping[str, str] | None = None) -> Path | ObjectPath:
    """The path that a URL names: of a disk (`file:` or none), or of an object store."""
    text = str(url)
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))
    if "://" not in text:
        return Path(url)
    return ObjectPath(Bucket(text, dict(options or {})))
