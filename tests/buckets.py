"""Object stores in memory, for tests that need no service."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import obstore
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from headrace.store.paths import Bucket, ObjectPath

_delete = obstore.delete


def in_memory(scheme: str = "memory") -> ObjectPath:
    """The root of a bucket that nobody else has, as a store of that scheme."""
    bucket = Bucket(f"{scheme}://{uuid.uuid4().hex}")
    bucket.__dict__["client"] = MemoryStore()
    return ObjectPath(bucket)


def late_answers(put: Callable[..., Any]) -> Callable[..., Any]:
    """A put whose answer is late, so that the client repeats it: the store refuses what it has done already."""

    def repeated(*words: Any, **named: Any) -> Any:
        put(*words, **named)
        return put(*words, **named)

    return repeated


def deleting_only_what_is_there(client: Any, keys: Any) -> None:
    """A delete as Azure and Google Cloud Storage do it: it ends at the first object that is missing."""
    for key in [keys] if isinstance(keys, str) else keys:
        obstore.head(client, key)
        _delete(client, key)


def no_answer(*_: Any, **__: Any) -> Any:
    """What a client does when a store cannot be reached."""
    raise GenericError("the store does not answer")


def no_bucket(*_: Any, **__: Any) -> Any:
    """What a client does when there is no such bucket: it takes the object for missing."""
    raise FileNotFoundError("Object at location x not found: <Error><Code>NoSuchBucket</Code></Error>")
