"""Handles on what Spark has and PySpark does not show: a Bloom filter of a column, the list of files of a frame."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


class BloomFilter:
    """What may be among the values of a bigint column; says yes to too many, never no to one that is."""

    def __init__(self, frame: DataFrame, column: str, count: int, false_hits: float) -> None:
        """`count` is about how many values there are; `false_hits` the share of others that may pass."""
        self._filter: Any = frame._jdf.stat().bloomFilter(column, count, false_hits)

    def may_contain(self, value: int) -> bool:
        """Whether a value may be among them."""
        return bool(self._filter.mightContainLong(value))


class FileList:
    """The files that a frame over a folder reads, as Spark has listed them."""

    def __init__(self, frame: DataFrame) -> None:
        self._relation: Any = frame._jdf.queryExecution().analyzed().relation()

    def refresh(self) -> None:
        """List them anew: the frame then reads what lies there now."""
        self._relation.location().refresh()
