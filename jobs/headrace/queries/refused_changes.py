"""The changes of an upsert that its table may not see: those without a whole key, and those of a key grown too large.

Without a whole key it is unknown what a row would be the newest version of. A row beyond `max_state_bytes` would be
written and read again with every further change of its key. Once a key has had one, all its later changes are refused
too: without that one, they would be wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from itertools import groupby
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType, VariantType

from headrace.errors import HeadraceError
from headrace.landing.body import name
from headrace.project.model import Model
from headrace.queries.datatests import as_json
from headrace.spark.columns import AS_JSON
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches

NULL_KEY = "null_unique_key"
TOO_LARGE = "max_state_bytes"
"""These two are values of the column `test` in `bronze.failed_rows`."""

MOST_LARGE_KEYS = 1_000
"""With more of them, something is wrong with the model, and not with some keys."""

_REASON = "_reason"
_BYTES = "_bytes"
_SIZE = re.compile(rf',"{_BYTES}":\d+\}}$')
"""The end of a stored large row; without it, the row is the text of its key."""

_TEXT = (StringType, BinaryType)
_NESTED = (ArrayType, MapType, StructType, VariantType)


def is_whole(keys: tuple[str, ...]) -> str:
    """Whether no part of a key is null, as SQL."""
    return " and ".join(f"{name(key)} is not null" for key in keys)


class RefusedChanges:
    """Sets such rows of one model aside, batch by batch, before its table sees them."""

    def __init__(self, batches: SmallBatches, model: Model) -> None:
        self._batches = batches
        self._model = model
        self._held: Materialized | None = None
        self._large: frozenset[str] = frozenset()
        self._found: dict[str, int] = {}
        self._grown: frozenset[str] = frozenset()

    @property
    def failed(self) -> dict[str, int]:
        """How many rows the batch has of them, by reason."""
        return self._found

    @property
    def set_aside(self) -> list[DataFrame]:
        """The rows as they are stored; of a large one, its key and how many bytes it has."""
        if self._held is None:
            return []
        rows = self._held.frame
        size = F.to_json(F.struct(*self._model.unique_key, _BYTES), AS_JSON)
        whole = as_json(rows.drop(_REASON, _BYTES))
        row = F.when(F.col(_REASON) == TOO_LARGE, size).otherwise(whole).alias("row")
        return [rows.select(lit(self._model.table).alias("model"), F.col(_REASON).alias("test"), row)]

    def load(self, rows: Iterable[str]) -> None:
        """Take in what `set_aside` has stored of large rows in earlier batches."""
        self.forget()
        self._large = frozenset(_SIZE.sub("}", row) for row in rows)

    def without(self, rows: Materialized) -> Materialized:
        """The rows of a batch that the table may see, in place of all."""
        self.forget()
        if not rows.count:
            return rows
        refused = self._batches.compute(self._plan_name, partial(self._refused, rows.frame), rows.frame)
        is_any = refused.count > 0
        refused.release()
        return self._parted(rows) if is_any else rows

    def settle(self) -> None:
        """Remember the keys of a committed batch that have grown too large."""
        self._large |= self._grown
        self.forget()

    def forget(self) -> None:
        """Give the memory of the last batch back."""
        if self._held is not None:
            self._held.release()
        self._held, self._found, self._grown = None, {}, frozenset()

    @property
    def _plan_name(self) -> str:
        return f"{self._model.table} refused changes beside {len(self._large)} large keys"

    def _refused(self, rows: DataFrame) -> DataFrame:
        """The rows for which others may be refused too; only a plan that is new asks for them."""
        return rows.where(~self._is_whole() | self._is_large(rows) | self._is_known())

    def _parted(self, rows: Materialized) -> Materialized:
        """Hold the refused rows, and return the others."""
        from_then_on = large = self._is_large(rows.frame)
        if "_arrival" in rows.frame.columns:
            from_then_on = F.max(large).over(Window.partitionBy(*self._model.unique_key).orderBy("_arrival"))
        reason = F.when(~self._is_whole(), NULL_KEY).when(from_then_on | self._is_known(), TOO_LARGE)
        marked = rows.frame.withColumns({_REASON: reason, _BYTES: self._bytes(rows.frame)})
        self._held = self._batches.materialize(marked.where(F.col(_REASON).isNotNull()))
        self._found = {row[0]: row[1] for row in self._held.frame.groupBy(_REASON).count().collect()}
        self._grown = self._large_of(self._held.frame) if TOO_LARGE in self._found else frozenset()
        return rows.narrowed(marked.where(F.col(_REASON).isNull()).drop(_REASON, _BYTES))

    def _large_of(self, refused: DataFrame) -> frozenset[str]:
        """The keys of refused rows that are too large; HeadraceError if too many keys are."""
        key = _as_json(self._model.unique_key)
        keys = refused.where(F.col(_REASON) == TOO_LARGE).select(key).distinct().limit(MOST_LARGE_KEYS + 1)
        found = frozenset(row[0] for row in keys.collect())
        if len(found | self._large) > MOST_LARGE_KEYS:
            raise HeadraceError(
                f"{self._model.path}: more than {MOST_LARGE_KEYS} keys have a row of more than "
                f"{self._model.max_state_bytes} bytes; let the model keep less of each key, or raise `max_state_bytes`"
            )
        return found

    def _is_whole(self) -> Column:
        return F.expr(is_whole(self._model.unique_key))

    def _is_known(self) -> Column:
        """Whether a key has grown too large before; its columns may have stood in another order in the header then."""
        by_columns = groupby(sorted(self._large, key=_columns), _columns)
        return reduce(or_, (_as_json(columns).isin(*sorted(keys)) for columns, keys in by_columns), lit(False))

    def _is_large(self, rows: DataFrame) -> Column:
        """Whether a row is too large; rows of a streaming model are no state of ours."""
        is_state = self._model.run == "micro_batch"
        return self._bytes(rows) > self._model.max_state_bytes if is_state else lit(False)

    def _bytes(self, rows: DataFrame) -> Column:
        """The bytes of a row: of its texts, and of all that is nested as JSON; the rest has no size to speak of."""
        texts = [F.col(name(each.name)) for each in rows.schema if isinstance(each.dataType, _TEXT)]
        nested = [
            F.to_json(F.struct(name(each.name)), AS_JSON)
            for each in rows.schema
            if isinstance(each.dataType, _NESTED) and not each.name.startswith("_")
        ]
        sizes = [F.coalesce(F.octet_length(column), lit(0)) for column in (*texts, *nested)]
        return sum(sizes, lit(0))


def _as_json(key: Sequence[str]) -> Column:
    return F.to_json(F.struct(*key), AS_JSON)


def _columns(key: str) -> tuple[str, ...]:
    """The columns of a stored key, in their order."""
    return tuple(json.loads(key))
