"""Data tests over rows: which rows fail which tests, found in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.project.model import DataTest
from headrace.spark.columns import AS_JSON

FAILED = "_failed"
"""The column of a marked row that names the tests it fails."""

Lookup = Callable[[str], DataFrame]
"""The rows of the table that a relationship leads to."""


def marked(rows: DataFrame, tests: Sequence[DataTest], lookup: Lookup) -> DataFrame:
    """The rows, each with the names of the tests that it fails."""
    columns = rows.columns
    for test in tests:
        fails = F.coalesce(F.expr(test.fails), lit(False))
        if test.kind == "unique":
            fails = fails & repeats(test, columns)
        rows = rows.withColumn(test.name, fails) if test.to is None else _unrelated(rows, test, fails, lookup(test.to))
    return rows.select(*columns, names({test.name: F.col(test.name) for test in tests}))


def names(fails: Mapping[str, Column]) -> Column:
    """The names of the conditions that hold, as the column `_failed`."""
    found = F.array(*[F.when(condition, lit(name)) for name, condition in fails.items()])
    return F.filter(found, lambda name: name.isNotNull()).alias(FAILED)


def repeats(test: DataTest, columns: Sequence[str]) -> Column:
    """Whether a row is not the first of its value: by arrival or, without one, by all of its columns."""
    order = ["_arrival"] if "_arrival" in columns else [F.to_json(F.struct(*columns))]
    return F.row_number().over(Window.partitionBy(str(test.column)).orderBy(*order)) > 1


def counts(found: DataFrame) -> Mapping[str, int]:
    """How many marked rows fail each test."""
    failed = found.where(F.size(FAILED) > 0).select(F.explode(FAILED).alias("test"))
    return {name: number for name, number in failed.groupBy("test").count().collect()}


def failing(found: DataFrame, name: str) -> DataFrame:
    """The marked rows that fail a test, as JSON."""
    return found.where(F.array_contains(FAILED, name)).select(as_json(found))


def as_json(found: DataFrame) -> Column:
    """A marked row as JSON, without bookkeeping columns."""
    columns = [column for column in found.columns if column not in (FAILED, "_deleted", "_batch")]
    return F.to_json(F.struct(*columns), AS_JSON).alias("row")


def _unrelated(rows: DataFrame, test: DataTest, fails: Column, table: DataFrame) -> DataFrame:
    """Only values that the rows hold are looked for, so that few rows need little of a large table."""
    column, found = f"`{test.column}`", f"_{test.name}"
    wanted = rows.select(F.col(column).alias(found)).distinct()
    known = table.select(F.col(f"`{test.field}`").alias(found)).join(wanted, found, "left_semi").distinct()
    known = known.withColumn(test.name, lit(True))
    joined = rows.join(known, rows[str(test.column)] == known[found], "left")
    return joined.drop(found).withColumn(test.name, fails & F.col(test.name).isNull())
