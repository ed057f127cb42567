"""JSON files of a store: read whole and as what they should be, or refused by name with the way out.

What `durable` writes is never a part of a file. A file that is one has come from a damaged disk or another hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from headrace.errors import TornFile
from headrace.store.paths import StorePath

RESTORE = "restore a backup with `headrace restore`, or run `headrace reset` for its query"
"""The way out for what only a backup holds."""

_T = TypeVar("_T")


def read(file: StorePath, made: Callable[[Any], _T], remedy: str = RESTORE) -> _T:
    """What is made of a file's content; FileNotFoundError without one, TornFile if nothing can be made of it."""
    return parsed(file, file.read_bytes(), made, remedy)


def parsed(file: StorePath, data: bytes, made: Callable[[Any], _T], remedy: str = RESTORE) -> _T:
    """What is made of content that was read from a file; as `read`."""
    with whole(file, data, remedy):
        return made(json.loads(data))


@contextmanager
def whole(file: StorePath, data: bytes, remedy: str = RESTORE) -> Iterator[None]:
    """Call a file torn if something cannot be made of its content."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise TornFile(file, not data.strip(_BLANK), remedy) from error


_BLANK = b"\0 \r\n"
"""What a file consists of whose content a power loss has taken."""
