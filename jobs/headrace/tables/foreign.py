"""What others commit to a table of headrace: followed where only files change, else refused.

A writer asks before each of its commits about the versions since its last one, so a change is noticed by the next
commit and not only at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql.types import StructType

from headrace.spark.columns import nullable
from headrace.store.commits import marker_of

WRITER_VERSION = 2
"""The version of Delta's protocol that headrace writes."""

_READER_VERSION = 1


def harm(actions: Iterable[Mapping[str, Any]], schema: StructType, is_replaced: bool = False) -> str | None:
    """What a commit has done to a table that a writer of these columns cannot go on with; None if nothing.

    The rows of a table that is replaced as a whole may be changed by anybody.
    """
    actions = [*actions]
    if marker_of(actions):
        return None
    for each in actions:
        if "protocol" in each and _is_newer(each["protocol"]):
            return "has given it table features that headrace does not write"
        if "metaData" in each and (names := _changed(each["metaData"], schema)):
            return f"has changed its columns ({', '.join(names)})"
        if "remove" in each and each["remove"].get("dataChange", True) and not is_replaced:
            return "has removed rows from it"
    return None


def _is_newer(protocol: Mapping[str, Any]) -> bool:
    return bool(protocol["minWriterVersion"] > WRITER_VERSION or protocol["minReaderVersion"] > _READER_VERSION)


def _changed(metadata: Mapping[str, Any], schema: StructType) -> list[str]:
    """The columns that came, went or have another type."""
    found = {field.name: field.dataType for field in StructType.fromJson(json.loads(metadata["schemaString"]))}
    wanted = {field.name: field.dataType for field in nullable(schema)}
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
