"""The rows of a view model: nothing stores them, so Spark computes them from the tables the view reads."""

from __future__ import annotations

import json
from decimal import Decimal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.engine import session
from headrace.engine.columns import AS_JSON
from headrace.engine.complaints import Complaint, words
from headrace.engine.notebook import Notebook
from headrace.errors import UsageError
from headrace.layout import Layout
from headrace.project.model import Model, Project
from headrace.reading.rows import Row, Rows


def view_rows(project: Project, model: Model, key: str | None, where: str | None, limit: int | None) -> Rows:
    """Compute a view over everything that is stored now; `key` is a value of its first column."""
    spark = session.start(project.target, Layout(project.target.data_dir).spark_log())
    try:
        frame = Notebook(spark, project).sql(model.text)
        columns = tuple(frame.columns)
        if key is not None:
            frame = frame.where(F.col(frame.columns[0]).cast("string") == key)
        frame = frame.where(where) if where is not None else frame
        frame = frame.limit(limit) if limit is not None else frame
        read = read_exactly(frame)
    except Complaint as error:
        raise UsageError(words(error)) from None
    finally:
        spark.stop()
    return Rows(columns, iter(read))


def read_exactly(frame: DataFrame) -> list[Row]:
    """All rows of a frame: times to the microsecond, decimals with all of their digits."""
    texts = frame.select(F.to_json(F.struct("*"), AS_JSON))
    return [json.loads(row[0], parse_float=Decimal) for row in texts.toLocalIterator()]
