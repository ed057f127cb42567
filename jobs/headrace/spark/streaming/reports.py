"""What Spark reports of a streaming query; of one whose JVM has ended, nothing new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery


def newest(query: StreamingQuery, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Spark's report of the last batch, or the one from before where there is none, or nobody to ask.

    The last status of a run, which says that it has failed, is put together when the JVM may have ended.
    """
    try:
        return query.lastProgress or before
    except (OSError, Py4JError):
        return before
