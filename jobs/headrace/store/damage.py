"""Data files that are damaged or gone, recognized by their size, or by what a reader such as Spark says of them.

A file of a disk is looked at, so that a disk that fails for a moment is not taken for a damaged file. What a bucket
holds is judged by the text alone. Sizes are compared before Spark reads files by name, as it takes an empty one for no
rows; in a bucket they are not, as nothing there is half-written, and each would be a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from headrace.errors import MissingFile, TornFile
from headrace.store.commits import Commit, actions_of, newest_version, oldest_version
from headrace.store.json_files import RESTORE
from headrace.store.paths import StorePath

_FILE = re.compile(
    r"(?:reading file|for file|location|exist:|error:|File|Exception:)\s+"
    r"(?P<file>(?:[a-z0-9]+:/|/|[^\s:]+/)[^\n]*?\.parquet)\b"
)
_TABLE = re.compile(r"(?P<folder>.*?/?tables/(?P<layer>[^/]+)/(?P<name>[^/]+))/")
_KINDS = {"_landing": "landing ", "_changes": "changes of ", "_late": "late rows of ", "_failed": "failed rows of "}
_READ_AGAIN = (
    "its rows are in other files of the table, as somebody has compacted it, and has removed the old files (`VACUUM`) "
    "before all had read them; run `headrace reset` or `headrace rebuild` for the query that fails, to read the others"
)
_CHECKSUM = "Checksum"
_GONE = ("FILE_NOT_EXIST", "PATH_NOT_FOUND", "FileNotFoundException", " not found", "Path does not exist")
_TORN = (_CHECKSUM, "is not a Parquet file", "magic number", "Corrupt footer", "Invalid Parquet", "corrupt")


def refuse(table: StorePath, commits: Iterable[Commit]) -> None:
    """Refuse commits of a table on a disk that have lost a file, or of which one has not the size that the log says."""
    for commit in commits if isinstance(table, Path) else ():
        if sum(_size(table / unquote(name)) for name in commit.files) != commit.bytes and not commit.is_past:
            _name(table, commit)


def _name(table: StorePath, commit: Commit) -> None:
    """Refuse the first file of a commit that is not as the log says."""
    for add in (each["add"] for each in actions_of(table, commit.version) if "add" in each):
        file = table / unquote(add["path"])
        size = _size(file)
        if size < 0:
            raise MissingFile(file, table_of(file), RESTORE)
        if size != add["size"]:
            raise TornFile(file, not size, RESTORE, table_of(file))


def _size(file: StorePath) -> int:
    """The size of a file in bytes; -1 if it is gone."""
    assert isinstance(file, Path)
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return -1


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
        return MissingFile(file, table_of(file), _READ_AGAIN if _is_replaced(file) else RESTORE)
    from headrace.store import parquet

    try:
        parquet.joined([file])
    except TornFile:
        return TornFile(file, not file.stat().st_size, RESTORE, table_of(file))
    return TornFile(file, False, RESTORE, table_of(file)) if _CHECKSUM in text else None


def _is_replaced(file: Path) -> bool:
    """Whether the log says that the rows of a file are in others now."""
    match = _TABLE.match(str(file))
    table = Path(match[0]) if match else file.parent
    for version in range(newest_version(table), oldest_version(table) - 1, -1) if match else ():
        for gone in (each["remove"] for each in actions_of(table, version) if "remove" in each):
            if table / unquote(gone["path"]) == file:
                return not gone.get("dataChange", True)
    return False


def _in_bucket(name: str, text: str) -> TornFile | None:
    if any(sign in text for sign in _GONE):
        return MissingFile(name, table_of(name), RESTORE)
    return TornFile(name, False, RESTORE, table_of(name)) if any(sign in text for sign in _TORN) else None
