"""Rows that Spark computes: of a view model, which is not stored, and of any query with --spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.elsewhere.notebook import Notebook
from headrace.errors import UsageError
from headrace.project.model import Model, Project
from headrace.reading.dialect import parsing
from headrace.reading.rows import Row, Rows
from headrace.reading.show import key_of
from headrace.reading.stored import Relation
from headrace.spark import session
from headrace.spark.columns import AS_JSON
from headrace.spark.spark_errors import SPARK_ERRORS, full_text, one_line
from headrace.store import damage

Narrow = Callable[[DataFrame], DataFrame]


def view_rows(project: Project, model: Model, key: str | None, where: str | None, limit: int | None) -> Rows:
    """Compute a view over everything that is stored now; `key` is a value of its first column."""

    def narrow(frame: DataFrame) -> DataFrame:
        if key is not None:
            frame = frame.where(F.col(frame.columns[0]).cast("string") == key)
        return _first(frame, limit)

    return _computed(project, _text(model.table, where), narrow)


def table_rows(project: Project, found: Relation, key: str | None, where: str | None, limit: int | None) -> Rows:
    """Rows of a stored table in its order, chosen by Spark."""

    def narrow(frame: DataFrame) -> DataFrame:
        for column, value in key_of(found, key) if key is not None else ():
            frame = frame.where(F.col(f"`{column}`").cast("string") == value)
        order = [F.expr(each).asc_nulls_last() for each in found.order if found.written]
        return _first(frame.orderBy(*order) if order else frame, limit)

    return replace(_computed(project, _text(found.name, where), narrow), brief=found.brief)


def query_rows(project: Project, text: str) -> Rows:
    """Rows of a query as it is written."""
    rows = _computed(project, text.strip().rstrip(";"), lambda frame: frame)
    return replace(rows, brief=rows.columns)


def _text(table: str, where: str | None) -> str:
    """A query that passes the same checks as a model; the user's `--where` must be one condition by itself."""
    if where is not None:
        parsing.condition(where)
    return f"select * from {table}" + (f" where (\n{where}\n)" if where is not None else "")


def _first(frame: DataFrame, limit: int | None) -> DataFrame:
    return frame.limit(limit) if limit is not None else frame


def _computed(project: Project, text: str, narrow: Narrow) -> Rows:
    spark = session.start(project.target, project.target.layout.spark_log())
    try:
        frame = Notebook(spark, project).sql(text)
        columns = tuple(frame.columns)
        read = read_exactly(narrow(frame))
    except SPARK_ERRORS as error:
        raise damage.found(full_text(error)) or UsageError(one_line(error)) from None
    finally:
        spark.stop()
    return Rows(columns, iter(read))


def read_exactly(frame: DataFrame) -> list[Row]:
    """All rows of a frame: times to the microsecond, decimals with all of their digits."""
    texts = frame.select(F.to_json(F.struct("*"), AS_JSON))
    return [json.loads(row[0], parse_float=Decimal) for row in texts.toLocalIterator()]
