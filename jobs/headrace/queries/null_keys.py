"""The rows of an upsert whose key has a null: it is unknown what they would be the newest version of."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from headrace.landing.body import name
from headrace.project.model import Model
from headrace.queries.datatests import as_json
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches

REASON = "null_unique_key"
"""What stands in place of a test in `bronze.failed_rows`."""


def is_whole(keys: tuple[str, ...]) -> str:
    """Whether no part of a key is null, as SQL."""
    return " and ".join(f"{name(key)} is not null" for key in keys)


class NullKeys:
    """Sets such rows of one model aside, batch by batch, before its table sees them."""

    def __init__(self, batches: SmallBatches, model: Model) -> None:
        self._batches = batches
        self._model = model
        self._held: Materialized | None = None

    @property
    def failed(self) -> dict[str, int]:
        """How many rows the batch has of them, by reason."""
        return {REASON: self._held.count} if self._held else {}

    @property
    def set_aside(self) -> list[DataFrame]:
        """The rows themselves, as they are stored."""
        if self._held is None:
            return []
        columns = (lit(self._model.table).alias("model"), lit(REASON).alias("test"), as_json(self._held.frame))
        return [self._held.frame.select(*columns)]

    def without(self, rows: Materialized) -> Materialized:
        """The rows of a batch whose key is whole, in place of all."""
        self.forget()
        if not rows.count:
            return rows
        whole = is_whole(self._model.unique_key)
        make = partial(rows.frame.where, f"not ({whole})")
        lacking = self._batches.compute(f"{self._model.table} null keys", make, rows.frame)
        if not lacking.count:
            lacking.release()
            return rows
        self._held = lacking
        return rows.narrowed(rows.frame.where(whole))

    def forget(self) -> None:
        """Give the memory of the last batch back."""
        if self._held is not None:
            self._held.release()
        self._held = None
