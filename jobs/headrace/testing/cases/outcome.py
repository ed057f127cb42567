"""The outcome of a case, however it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from headrace.project.model import Model
from headrace.publishing.messages import message_rows
from headrace.tables.state import newest_per_key, order_of


@dataclass(frozen=True)
class Outcome:
    """Rows as they are stored, by table: those of an append model, the changes of an upsert; and the lines logged."""

    stored: Mapping[str, DataFrame]
    lines: tuple[str, ...] = ()
    states: Mapping[str, DataFrame] = field(default_factory=dict)
    """Current rows as the engine itself holds them, where it still runs."""
    late: Mapping[str, DataFrame] = field(default_factory=dict)
    """What came too late for a model in the streaming engine."""
    failed: tuple[Row, ...] = ()
    """Rows that data tests kept out of their tables."""
    watermarks: Mapping[str, datetime | None] = field(default_factory=dict)
    """The watermark of each streaming model at the end."""
    dropped: int = 0
    """How many rows the streaming models dropped behind their watermarks."""

    def rows(self, model: Model) -> DataFrame:
        """The rows a reader of a model sees."""
        stored = self.stored[model.table]
        if model.materialized != "upsert":
            return stored
        return self.states.get(model.table, newest_per_key(stored, model.unique_key).where("not _deleted"))

    def history(self, model: Model, key: str) -> DataFrame:
        """The changes of one key, in order; of a key of several columns, their values as a JSON list."""
        columns = [F.col(name).cast("string") for name in model.unique_key]
        of_key = columns[0] if len(columns) == 1 else F.to_json(F.array(*columns))
        return self.stored[model.table].where(of_key == key).orderBy(*order_of(self.stored[model.table]))

    def messages(self, model: Model) -> list[Row]:
        """What a publisher would send, in order."""
        assert model.publish is not None
        stored = self.stored[model.table]
        if "_arrival" in stored.columns:
            return message_rows(stored, model.publish).collect()
        batches = sorted(row[0] for row in stored.select("_batch").distinct().collect())
        each = (message_rows(stored.where(F.col("_batch") == batch), model.publish) for batch in batches)
        return [row for rows in each for row in rows.collect()]
