"""Data files that are damaged or gone, recognized by what a reader such as Spark says of them.

A file of a disk is looked at, so that a disk that fails for a moment is not taken for a damaged file. What a bucket
holds is judged by the text alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from headrace.errors import MissingFile, TornFile
from headrace.store import parquet
from headrace.store.json_files import RESTORE

_FILE = re.compile(
    r"(?:reading file|for file|location|exist:|error:|File|Exception:)\s+"
    r"(?P<file>(?:[a-z0-9]+:/|/|[^\s:]+/)[^\n]*?\.parquet)\b"
)
_TABLE = re.compile(r"(?P<folder>.*?/?tables/(?P<layer>[^/]+)/(?P<name>[^/]+))/")
_KINDS = {"_landing": "landing ", "_changes": "changes of ", "_late": "late rows of ", "_failed": "failed rows of "}
_CHECKSUM = "Checksum"
_GONE = ("FILE_NOT_EXIST", "PATH_NOT_FOUND", "FileNotFoundException", " not found", "Path does not exist")
_TORN = (_CHECKSUM, "is not a Parquet file", "magic number", "Corrupt footer", "Invalid Parquet", "corrupt")


def found(text: str) -> TornFile | None:
    """What is wrong with the data file that the text of an error names; None if it names none, or nothing is."""
    match = _FILE.search(text)
    if match is None:
        return None
    file = _on_disk(match["file"])
    return _in_bucket(match["file"], text) if file is None else _seen(file, text)


def table_of(file: object) -> str:
    """The table to which a data file belongs, as a user knows it; the folder's name outside of a data directory."""
    match = _TABLE.match(str(file))
    if match is None:
        return Path(str(file)).parent.name
    kind = _KINDS.get(match["layer"])
    return f"{match['layer']}.{match['name']}" if kind is None else f"{kind}{match['name']}"


def _on_disk(name: str) -> Path | None:
    """The path of a file of a disk; some readers leave out the first slash, and some quote what is no letter."""
    scheme, is_uri, rest = name.partition(":")
    if is_uri and scheme != "file":
        return None
    path = f"/{(rest if is_uri else name).lstrip('/')}"
    table = _TABLE.match(path)
    if is_uri or name.startswith("/") or (table is not None and Path(table["folder"]).is_dir()):
        return next((each for each in (Path(path), Path(unquote(path))) if each.exists()), Path(unquote(path)))
    return None


def _seen(file: Path, text: str) -> TornFile | None:
    if not file.is_file():
        return MissingFile(file, table_of(file), RESTORE)
    try:
        parquet.joined([file])
    except TornFile:
        return TornFile(file, not file.stat().st_size, RESTORE, table_of(file))
    return TornFile(file, False, RESTORE, table_of(file)) if _CHECKSUM in text else None


def _in_bucket(name: str, text: str) -> TornFile | None:
    if any(sign in text for sign in _GONE):
        return MissingFile(name, table_of(name), RESTORE)
    return TornFile(name, False, RESTORE, table_of(name)) if any(sign in text for sign in _TORN) else None
