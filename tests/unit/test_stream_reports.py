"""What is known of a streaming query whose JVM has ended."""

from __future__ import annotations

from typing import Any, cast

import pytest
from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.streaming import reports


class Reporting:
    """A query of Spark's that reports something, or whose JVM has ended."""

    def __init__(self, report: Any) -> None:
        self._report = report

    @property
    def lastProgress(self) -> Any:
        if isinstance(self._report, Exception):
            raise self._report
        return self._report


@pytest.mark.parametrize(
    ("reported", "known"),
    [
        ({"batchId": 2}, {"batchId": 2}),
        (None, {"batchId": 1}),
        (ConnectionRefusedError(111, "Connection refused"), {"batchId": 1}),
        (Py4JError("Answer from Java side is empty"), {"batchId": 1}),
    ],
    ids=["a batch", "none yet", "nobody listens", "nobody answers"],
)
def test_newest_report_outlives_the_jvm(reported: Any, known: Any) -> None:
    assert reports.newest(cast("StreamingQuery", Reporting(reported)), {"batchId": 1}) == known
