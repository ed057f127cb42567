"""JSON files of a store: read whole and in the expected form, or refused by name with a remedy.

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

UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What is raised where the content of a file is not what it should be, other JSON included."""

_T = TypeVar("_T")


def read(file: StorePath, made: Callable[[Any], _T], remedy: str = RESTORE) -> _T:
    """What `made` makes of a file's content; FileNotFoundError without a file, TornFile if `made` fails."""
    return parsed(file, file.read_bytes(), made, remedy)


def parsed(file: StorePath, data: bytes, made: Callable[[Any], _T], remedy: str = RESTORE) -> _T:
    """The same for content that was already read from a file."""
    with whole(file, data, remedy):
        return made(json.loads(data))


@contextmanager
def whole(file: StorePath, data: bytes, remedy: str = RESTORE) -> Iterator[None]:
    """TornFile if the block cannot make sense of a file's content."""
    try:
        yield
    except UNREADABLE as error:
        raise TornFile(file, not data.strip(_BLANK), remedy) from error


def inside(path: object) -> str:
    """A path that stays in the folder to which it is relative; ValueError for any other one.

    A journal says what is removed and moved: a damaged one must not reach what is elsewhere.
    """
    if not isinstance(path, str) or "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(path)
    path.encode()  # half a character has no place in the name of a file
    return path


def all_inside(paths: object) -> list[str]:
    """A list of such paths; TypeError for a text, which would be taken for paths of a letter each."""
    if not isinstance(paths, list):
        raise TypeError(paths)
    return [*map(inside, paths)]


_BLANK = b"\0 \r\n"
"""What a file consists of whose content a power loss has taken."""
