"""The difference between two versions of a model's rows: how many, keys of only one, cells that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.spark.columns import AS_JSON


@dataclass(frozen=True)
class Example:
    """A key that differs; cells are JSON texts, and `running` or `beside` is empty where there is no such row."""

    key: Mapping[str, str]
    running: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """What comparing gave; `cells` are the numbers of differing cells by column.

    Rows without a key are compared whole: then a row that differs is one that only one side has.
    """

    key: tuple[str, ...]
    rows_running: int
    rows_beside: int
    only_running: int
    only_beside: int
    differing: int
    cells: Mapping[str, int]
    columns_running: tuple[str, ...] = ()
    columns_beside: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether both sides are the same."""
        columns = self.columns_running or self.columns_beside
        return not (self.only_running or self.only_beside or self.differing or columns)


def compare(running: DataFrame, beside: DataFrame, key: Sequence[str], most: int) -> Difference:
    """Compare two sides by key or, without one, as bags of rows; with at most so many examples."""
    columns = [name for name in beside.columns if name in running.columns and not name.startswith("_")]
    key = tuple(key) if set(key) <= set(columns) else ()
    joined = _joined(_side(running, columns, key), _side(beside, columns, key), key or tuple(columns))
    rest = [name for name in columns if name not in key] if key else []
    compared = joined.withColumns({f"_differs_{name}": _differs(name) for name in rest}).withColumns(
        {
            "_only_running": F.greatest(F.col("_running") - F.col("_beside"), lit(0)),
            "_only_beside": F.greatest(F.col("_beside") - F.col("_running"), lit(0)),
            "_differs": reduce(or_, [F.col(f"_differs_{name}") for name in rest], lit(False)),
        }
    )
    numbers = ("_running", "_beside", "_only_running", "_only_beside")
    flags = ("_differs", *(f"_differs_{name}" for name in rest))
    sums = [F.coalesce(F.sum(name), lit(0)).alias(name) for name in numbers]
    (found,) = compared.agg(*sums, *[F.count_if(F.col(name)).alias(name) for name in flags]).collect()
    return Difference(
        key=key,
        rows_running=found["_running"],
        rows_beside=found["_beside"],
        only_running=found["_only_running"],
        only_beside=found["_only_beside"],
        differing=found["_differs"],
        cells={name: count for name in rest if (count := found[f"_differs_{name}"])},
        columns_running=_extra(running, columns),
        columns_beside=_extra(beside, columns),
        examples=tuple(_examples(compared, columns, key, most)),
    )


def _extra(rows: DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in rows.columns if name not in columns and not name.startswith("_"))


def _side(rows: DataFrame, columns: Sequence[str], key: Sequence[str]) -> DataFrame:
    """Rows as texts with their number: of one key there is one row, of equal rows without a key any number."""
    texts = rows.select(*[_text(name).alias(name) for name in columns])
    if key:
        return texts.withColumn("_rows", lit(1))
    return texts.groupBy(*columns).agg(F.count(lit(1)).alias("_rows"))


def _text(name: str) -> Column:
    """A cell as JSON, which can be compared whatever its type, and be shown."""
    whole = F.to_json(F.struct(F.col(f"`{name}`").alias("c")), AS_JSON)
    return F.substring(whole, lit(6), F.length(whole) - 6)


def _joined(running: DataFrame, beside: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Both sides in one row: the columns of each as a struct, and how often each has it."""
    one, other = (side.select(F.struct("*").alias(alias)) for side, alias in ((running, "r"), (beside, "b")))
    same = [F.col(f"r.`{name}`").eqNullSafe(F.col(f"b.`{name}`")) for name in keys]
    counts = {
        f"_{word}": F.coalesce(F.col(f"{alias}._rows"), lit(0)) for word, alias in (("running", "r"), ("beside", "b"))
    }
    return one.join(other, same, "full_outer").withColumns(counts)


def _differs(name: str) -> Column:
    both = F.col("r").isNotNull() & F.col("b").isNotNull()
    return both & ~F.col(f"r.`{name}`").eqNullSafe(F.col(f"b.`{name}`"))


def _examples(compared: DataFrame, columns: Sequence[str], key: Sequence[str], most: int) -> list[Example]:
    differing = compared.where("_differs or _only_running > 0 or _only_beside > 0")
    in_order = [F.coalesce(F.col(f"r.`{name}`"), F.col(f"b.`{name}`")) for name in key or columns]
    examples = []
    for row in differing.orderBy("_differs", *in_order).limit(most).collect():
        sides = [None if row[side] is None else {name: row[side][name] for name in columns} for side in "rb"]
        if not key:  # a row of both that one has more often
            sides = [
                side if count else None
                for side, count in zip(sides, (row._only_running, row._only_beside), strict=True)
            ]
        whole = sides[0] or sides[1] or {}
        cells = [name for name in columns if name not in key and (None in sides or row[f"_differs_{name}"])]
        shown = [{name: side[name] for name in cells} if side else {} for side in sides]
        examples.append(Example({name: whole[name] for name in key}, *shown))
    return examples
