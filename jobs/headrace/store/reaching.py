"""What goes wrong on the way to an object store, in one line; and whether a store can be used at all."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore

from headrace.errors import EnvironmentFault

_SAID = re.compile(r"<Code>(.*?)</Code>\s*(?:<Message>(.*?)</Message>)?", re.DOTALL)
_DENIED = re.compile(r"\b40[13] |PermissionDenied|Unauthenticated|lacked the necessary privileges|InvalidAccessKeyId")
_MISSING = (
    "NoSuchBucket",
    "ContainerNotFound",
    "The specified bucket does not exist",
    "The specified container does not exist",
)
_MOST_CHARACTERS = 300


@contextmanager
def reaching(store: str) -> Iterator[None]:
    """Report in one line what an object store refuses; that an object is missing, or is there, is for the caller."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError):
        raise
    except (BaseError, OSError) as error:
        if isinstance(error, FileNotFoundError) and not any(sign in str(error) for sign in _MISSING):
            raise
        raise EnvironmentFault(explained(store, str(error))) from error


def explained(store: str, text: str) -> str:
    """What the text of an error means, and what to do."""
    if any(sign in text for sign in _MISSING):
        return f"the store {store} does not exist: there is no such bucket; create it, or correct `store` in conf/"
    if _DENIED.search(text):
        return (
            f"the store {store} denies access: {_reason(text)}; look at the credentials in `store` in conf/, "
            "and at what the bucket allows them"
        )
    return f"the store {store} fails: {_reason(text)}; look at the network, and at `store` in conf/"


def _reason(text: str) -> str:
    """What the service says, else the first line."""
    if found := _SAID.search(text):
        message = _first_line(found[2] or "")
        text = f"{found[1]} ({message})" if message else found[1]
    return _first_line(text)[:_MOST_CHARACTERS] or "it says nothing"


def _first_line(text: str) -> str:
    """The first line that has anything; Azure puts the number of the request into others."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def probe(client: ObjectStore, store: str) -> None:
    """Do once all that a run does, so that whatever is refused is known before anything else happens."""
    name = f"_probe-{uuid.uuid4().hex}"
    with reaching(store):
        next(iter(obstore.list(client, chunk_size=1)), None)
        obstore.put(client, name, b"", mode="create", use_multipart=False)
        is_safe = _refuses_second(client, name)
        obstore.delete(client, name)
    if not is_safe:
        raise EnvironmentFault(
            f"the store {store} writes over what it was asked to create only, so that two writers could lose what the "
            "other has written; use one with conditional puts (`If-None-Match`)"
        )


def _refuses_second(client: ObjectStore, name: str) -> bool:
    try:
        obstore.put(client, name, b"", mode="create", use_multipart=False)
    except AlreadyExistsError:
        return True
    return False
