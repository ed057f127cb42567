"""An object store: the address of a bucket, the options by which it is reached, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import MemoryStore, ObjectStore, from_url

from headrace.errors import EnvironmentFault
from headrace.store import hadoop
from headrace.store.connectors.places import Place
from headrace.store.reaching import explained, probe, reaching

Version = Mapping[str, str]
"""What a store calls a version of an object: its `e_tag` and, on some stores, its `version`."""

Replaced = Version | Literal["create"]
"""What a write replaces: a version, or nothing (`create`)."""

_RETRIES: Any = {"max_retries": 6, "retry_timeout": timedelta(seconds=30)}
"""Retries of one request; a longer outage is reported, and the caller tries again."""
_FEW: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
_DELTA_RETRIES = {"max_retries": "6", "retry_timeout": "30s"}
"""The same for deltalake, which tries for three minutes by default."""

_FOLDER = "hdi_isfolder"
"""In the metadata of an object on Azure: it is a folder. Where there are real folders, none is listed."""


@dataclass(frozen=True)
class Found:
    """A file or folder that was listed: its key, its size in bytes, its last change in seconds since 1970."""

    key: str
    size: int = 0
    modified: float = 0.0
    is_folder: bool = False

    @classmethod
    def of(cls, listed: Mapping[str, Any]) -> Found:
        """An object as obstore lists it."""
        return cls(listed["path"], listed["size"], listed["last_modified"].timestamp())


@dataclass(frozen=True)
class Bucket:
    """An object store: the address of a bucket, and the options by which it is reached.

    Options are named as the Rust crate `object_store` names them (`aws_region`, `azure_storage_account_name`).
    """

    url: str
    options: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    has_folders: ClassVar[bool] = False
    """Whether a folder is more than the prefix of a name: it can be removed and moved as one."""

    @cached_property
    def client(self) -> ObjectStore:
        """The client of the bucket; it connects when it is asked for something."""
        return self._connected(_RETRIES)

    def _connected(self, retries: Any) -> ObjectStore:
        """A client that tries again as often as `retries` say."""
        if self.url.startswith("memory:"):
            return MemoryStore()
        config: Any = {name: value for name, value in self.options.items() if name not in hadoop.ALLOW_HTTP}
        reach: Any = {"allow_http": hadoop.plain_http(self.options)}
        try:
            return from_url(self.url, config=config, client_options=reach, retry_config=retries)
        except Exception as error:
            raise EnvironmentFault(explained(self.url, str(error))) from None

    def reached(self) -> AbstractContextManager[None]:
        """A block that makes requests to the bucket; EnvironmentFault, in one line, for what it refuses."""
        return reaching(self.url)

    def check(self) -> None:
        """EnvironmentFault if the store cannot be used for a run; it retries only a few times."""
        probe(self._connected(_FEW), self.url)

    @property
    def delta_options(self) -> dict[str, str]:
        """The options with which deltalake reaches the bucket."""
        return {**_DELTA_RETRIES, **self.options}

    def size(self, key: str) -> int:
        """The bytes of an object."""
        with self.reached():
            return int(obstore.head(self.client, key)["size"])

    def get(self, key: str) -> bytes:
        """The content of an object."""
        with self.reached():
            return bytes(obstore.get(self.client, key).bytes())

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes of an object from `start` on, all of which must exist."""
        with self.reached():
            return bytes(obstore.get_range(self.client, key, start=start, length=length))

    def put(self, key: str, data: bytes, mode: Literal["create", "overwrite"] = "overwrite") -> None:
        """Write an object whole; FileExistsError if one is there that should not be."""
        try:
            with self.reached():
                obstore.put(self.client, key, data, mode=mode, use_multipart=False)
        except AlreadyExistsError as error:
            raise FileExistsError(key) from error

    def put_large(self, key: str, data: bytes) -> None:
        """Write an object in place of what is there, in several requests where it is large."""
        with self.reached():
            obstore.put(self.client, key, data)

    def read_version(self, key: str) -> tuple[bytes, Version] | None:
        """The content of an object and its version; None if there is none."""
        try:
            with self.reached():
                found = obstore.get(self.client, key)
                return bytes(found.bytes()), _version(found.meta)
        except FileNotFoundError:
            return None

    def replace_version(self, key: str, data: bytes, replaced: Replaced) -> Version | None:
        """Write an object in place of a version, and return the new one; None if the object is another one by now."""
        mode: Any = replaced if isinstance(replaced, str) else dict(replaced)
        try:
            with self.reached():
                return _version(obstore.put(self.client, key, data, mode=mode, use_multipart=False))
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            return None

    def is_folder(self, key: str) -> bool:
        """Whether anything is below, other than the marker by which Hadoop remembers an empty folder."""
        with self.reached():
            found = (each["path"] for page in obstore.list(self.client, key, chunk_size=1) for each in page)
            return any(path != key for path in found)

    def children(self, key: str) -> list[Found]:
        """The objects and folders directly below."""
        with self.reached():
            found = obstore.list_with_delimiter(self.client, key or None)
        folders = [Found(name, is_folder=True) for name in found["common_prefixes"]]
        return [*map(Found.of, found["objects"]), *folders]

    def below(self, key: str) -> Iterator[Found]:
        """All objects below, also those that only say that a folder is there."""
        with self.reached():
            pages = obstore.list(self.client, key or None)
            found = [Found.of(each) for page in pages for each in page if each["path"] != key]
        yield from found

    def copy(self, key: str, to: str) -> None:
        """Copy an object within the bucket, in place of what is there."""
        with self.reached():
            obstore.copy(self.client, key, to)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, whether they are there or not."""
        with self.reached():
            try:
                obstore.delete(self.client, keys)
            except FileNotFoundError:  # S3 does not mind; others stop here
                for key in keys:
                    with suppress(FileNotFoundError), self.reached():
                        obstore.delete(self.client, key)

    def remove_folder(self, key: str) -> None:
        """Remove a folder with all that is in it, as one."""
        raise NotImplementedError(f"{self.url} has no folders")

    def move_folder(self, key: str, to: str) -> None:
        """Move a folder with all that is in it, as one; nothing happens where there is none."""
        raise NotImplementedError(f"{self.url} has no folders")

    def is_marker(self, key: str) -> bool:
        """Whether an object only says that a folder is there, as Hadoop notes it on Azure."""
        if not self.url.startswith(("az://", "abfss://")):
            return False
        try:
            with self.reached():
                return _FOLDER in obstore.get(self.client, key).attributes
        except FileNotFoundError:
            return False

    @cached_property
    def place(self) -> Place:
        """The bucket as Spark knows it."""
        return hadoop.place_of(self.url, self.options)


def _version(found: Mapping[str, Any]) -> Version:
    return {name: str(found[name]) for name in ("e_tag", "version") if found.get(name) is not None}
