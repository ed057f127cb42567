"""The files that a frame over a folder reads, as Spark has listed them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


class FileList:
    """A handle on the list, which PySpark does not show."""

    def __init__(self, frame: DataFrame) -> None:
        self._relation: Any = frame._jdf.queryExecution().analyzed().relation()

    def refresh(self) -> None:
        """List the files again: the frame then reads what lies there now."""
        self._relation.location().refresh()
