"""Superseded changes: those that a later change of the same key has replaced, as in a compacted topic of Kafka.

Of the old batches of a change log, only the newest change of each key stays, and none of a key that was deleted. What
the log says of the current rows is the same before and after. It goes in steps, so that memory holds the changes of a
few batches at a time: the batches before them are settled already, with one change for each key, and lose the rows that
the step replaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.store.removal.data_files import ActiveFile

_PLACE = " place"
"""No column of a table is called so."""

_DELETED = "_deleted"
_ORDER = ("_batch", "_arrival")
"""The columns that order changes; of the arrival, its parts do."""


@dataclass(frozen=True)
class ChangeKeys:
    """The columns whose values name a key, and whether the last change of a deleted key stays.

    It does where keys are closed permanently: without it, a key could be opened again.
    """

    columns: tuple[str, ...]
    keeps_deleted: bool = False

    def newest(self, changes: pa.Table) -> pa.Table:
        """The newest change of each key, of deleted ones too."""
        order = _order(changes)
        in_order = changes.take(pc.sort_indices(order, [(name, "ascending") for name in order.column_names]))
        return in_order.take(self._last_places(in_order))

    def left_of(self, settled: pa.Table, later: pa.Table) -> pa.Table | None:
        """Rows of which no key has a later change; None if that are all."""
        keys = pa.concat_tables([each.select(self.columns) for each in (settled, later)], promote_options="permissive")
        last = self._last_places(keys)
        left = last.filter(pc.less(last, settled.num_rows))
        return None if len(left) == settled.num_rows else settled.take(left)

    def without_deleted(self, newest: pa.Table) -> pa.Table:
        """Those of the newest changes that stay."""
        return newest if self.keeps_deleted else newest.filter(pc.invert(pc.fill_null(newest.column(_DELETED), False)))

    def _last_places(self, changes: pa.Table) -> pa.Array:
        """The numbers of the rows that are the last ones of their keys, in order."""
        places = pa.array(range(changes.num_rows), pa.int64())
        columns = {name: _comparable(changes.column(name), name) for name in self.columns}
        grouped = pa.table({**columns, _PLACE: places}).group_by([*self.columns])
        found = grouped.aggregate([(_PLACE, "max")]).column(f"{_PLACE}_max").combine_chunks()
        return found.take(pc.sort_indices(found))


@dataclass(frozen=True)
class Step:
    """Files whose batches are settled, those of the batches after them, and the last of these batches."""

    settled: Sequence[ActiveFile]
    newer: Sequence[ActiveFile]
    batch: int


def next_step(files: Sequence[ActiveFile], settled: int, upto: int, most: int) -> Step | None:
    """The next files after a batch that is settled, up to another one; None if there are none.

    They end where no file has batches on both sides: what is deleted before the end has no older change behind it. They
    have no more rows than `most`, if there is such an end.
    """
    in_order = sorted(files, key=lambda each: each.last)
    firsts = [*accumulate((each.first for each in reversed(in_order)), min)][::-1]
    ends = [
        number
        for number, each in enumerate(in_order, 1)
        if settled < each.last <= upto and (number == len(in_order) or firsts[number] > each.last)
    ]
    begin = sum(each.last <= settled for each in in_order)
    fitting = [end for end in ends if sum(each.rows for each in in_order[begin:end]) <= most]
    if not ends or firsts[0] < 0:
        return None
    end = fitting[-1] if fitting else ends[0]
    return Step(in_order[:begin], in_order[begin:end], in_order[end - 1].last)


def _order(changes: pa.Table) -> pa.Table:
    """What orders changes, with nulls before all others, as for Spark."""
    parts = changes.select([name for name in _ORDER if name in changes.column_names]).flatten()
    known = {f"{name} is known": pc.is_valid(parts.column(name)) for name in parts.column_names}
    in_pairs = zip(known.items(), zip(parts.column_names, parts.columns, strict=True), strict=True)
    return pa.table(dict(chain.from_iterable(in_pairs)))


def _comparable(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Values of which two are the same where Spark says so: 0.0 and -0.0 are, and all that are not a number."""
    if pa.types.is_nested(values.type):
        raise HeadraceError(f"`keep` cannot tell which changes are replaced: key column {name} is {values.type}")
    if not pa.types.is_floating(values.type):
        return values
    nan = pa.scalar(float("nan"), values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, pa.scalar(0.0, values.type)))
