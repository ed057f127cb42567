"""A cache, per user, of the cases without findings: reading YAML takes long, and most cases do not change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from headrace import usercache

_KIND = "cases"


def fingerprint(root: Path, path: str) -> str:
    """A hash of a case's path and text."""
    with suppress(OSError):  # of an unreadable file, its path
        return hashlib.sha256(os.fsencode(path) + b"\0" + (root / path).read_bytes()).hexdigest()
    return path


def known(context: str) -> frozenset[str]:
    """The fingerprints of cases that were valid in a context, a text of all that they were validated against."""
    try:
        return frozenset(usercache.read(_KIND, _name(context)).split())
    except (OSError, ValueError):  # an unreadable cache is computed again
        return frozenset()


def store(context: str, fingerprints: Collection[str]) -> None:
    """Store the fingerprints of the cases that are valid now."""
    usercache.write(_KIND, _name(context), "".join(f"{each}\n" for each in sorted(fingerprints)))


def _name(context: str) -> str:
    return hashlib.sha256(f"{usercache.code_hash()} {context}".encode()).hexdigest()
