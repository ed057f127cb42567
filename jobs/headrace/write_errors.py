"""Errors of writing to an open file, which the system reports without the file's name."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMELESS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ESTALE)
"""The numbers of these errors."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to a write error: unlike an error on opening a file, it names none, or the one that is copied."""
    try:
        yield
    except OSError as error:
        if (error.filename is None or error.filename2 is not None) and error.errno in NAMELESS:
            error.filename = str(path)
        raise
