"""What other tools commit to a table of headrace: followed where only files change, else refused.

A writer asks before each of its commits about the versions since its last one, and at its start about those since the
last commit of any writer of headrace: that one has judged all before it. So what is done to a table while no runner is
up is noticed by the next start, which reads no more of the log than what has changed since.

Rows that others add are refused by readers, too: whoever meets the commit first says so, and nobody reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from pyspark.sql.types import StructType

from headrace.errors import HeadraceError
from headrace.spark.columns import nullable
from headrace.store.commits import Commit, info_of, marker_of
from headrace.store.paths import StorePath

WRITER_VERSION = 2
"""The version of Delta's protocol that headrace writes."""

_READER_VERSION = 1
_ADDED = "has added rows to it"

RESTORE = "restore it from a backup with `headrace restore`, or run `headrace reset` for its query"
"""The way out for a table that is the truth of its rows."""

REMAKE = "remove this folder while no runner runs: the next run makes it again from the table's change log"
"""The way out for rows that are made of a change log."""


def harm(
    actions: Iterable[Mapping[str, Any]], schema: StructType, is_replaced: bool = False, may_lack: bool = False
) -> str | None:
    """What a commit has done to a table that a writer of these columns cannot go on with; None if nothing.

    The rows of a table that is replaced as a whole may be removed by anybody. `may_lack` allows columns to be missing,
    as before a start has added them.
    """
    actions = [*actions]
    if marker_of(actions):
        return None
    for each in actions:
        if "protocol" in each and _is_newer(each["protocol"]):
            return "has given it table features that headrace does not write"
        if "metaData" in each and (names := _changed(each["metaData"], schema, may_lack)):
            return f"has changed its columns ({', '.join(names)})"
        if "remove" in each and each["remove"].get("dataChange", True) and not is_replaced:
            return "has removed rows from it"
    return _ADDED if any("add" in each and each["add"].get("dataChange", True) for each in actions) else None


def is_own(actions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a commit is one of headrace's writers, who have judged all before it; maintenance judges nothing."""
    return "query" in marker_of(actions)


def is_vacuum(actions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether another tool says that it has removed the files that it took for unused.

    One that keeps none of the last hour takes those for unused that are committed while it looks.
    """
    actions = [*actions]
    return not marker_of(actions) and str(info_of(actions).get("operation", "")).startswith("VACUUM")


def adds_rows(commit: Commit) -> bool:
    """Whether a commit adds rows that no writer of headrace has written."""
    return commit.added_rows and not commit.marker


def refusal(
    table: StorePath, version: int, actions: Iterable[Mapping[str, Any]], what: str = _ADDED, way_out: str = RESTORE
) -> HeadraceError:
    """Why a table is neither read nor written any more: who has done what, when, and what to do."""
    hint = "; rows of your own come in through a topic or a seed" if what == _ADDED else ""
    return HeadraceError(
        f"{table}: somebody {what} in version {version}{_when(info_of(actions))}, and nothing was written after that; "
        f"{way_out}{hint}"
    )


def gap(table: StorePath, version: int) -> HeadraceError:
    """Why a table is not written any more whose log was shortened by others."""
    return HeadraceError(
        f"{table}: somebody has removed version {version} from its log, so what was done to the table since headrace "
        f"last wrote it cannot be known; {RESTORE}"
    )


def _when(info: Mapping[str, Any]) -> str:
    """The operation, the tool and the time of a commit, as far as it says them."""
    tool = [f"by {info['engineInfo']}"] if info.get("engineInfo") else []
    at = [f"at {_time(info['timestamp'])}"] if info.get("timestamp") else []
    said = " ".join([*filter(None, [str(info.get("operation", ""))]), *tool, *at])
    return f" ({said})" if said else ""


def _time(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _is_newer(protocol: Mapping[str, Any]) -> bool:
    return bool(protocol["minWriterVersion"] > WRITER_VERSION or protocol["minReaderVersion"] > _READER_VERSION)


def _changed(metadata: Mapping[str, Any], schema: StructType, may_lack: bool) -> list[str]:
    """The columns that came, went or have another type."""
    found = {field.name: field.dataType for field in StructType.fromJson(json.loads(metadata["schemaString"]))}
    wanted = {field.name: field.dataType for field in nullable(schema)}
    names = found if may_lack else {*found, *wanted}
    return sorted(name for name in names if found.get(name) != wanted.get(name))
