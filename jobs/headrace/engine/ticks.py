"""Making time pass for a watermarked query whose input is idle: landed ticks move its watermark, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.engine.statement import view_name
from headrace.project.model import TICK_TOPIC, Input, Model

_CLAUSE = re.compile(
    r"\s+watermark\s+(?P<column>\w+)\s+delay\s+of\s+interval\s+(?:'[^']*'|\d+)\s+\w+", flags=re.IGNORECASE
)


@dataclass(frozen=True)
class Watermarked:
    """A streamed reference with a WATERMARK clause on a plain column; `end` is where the clause ends in the text."""

    ref: Input
    column: str
    end: int


def watermarked(model: Model) -> Iterator[Watermarked]:
    """The references of a model that ticks can move."""
    for ref in model.inputs:
        found = _CLAUSE.match(model.text, ref.end)
        if ref.stream and found:
            yield Watermarked(ref, found["column"], found.end())


def with_ticks(rows: DataFrame, landed: DataFrame | None, column: str) -> DataFrame:
    """Rows of a reference and, beside them, the ticks of its landing: null but for the watermarked column."""
    rows = rows.withColumn("_is_tick", F.lit(False))
    if landed is None:
        return rows
    ticks = landed.where(F.col("topic") == TICK_TOPIC)
    ticks = ticks.select(F.col("event_time").alias(column), F.lit(True).alias("_is_tick"))
    return rows.unionByName(ticks, allowMissingColumns=True)


def guarded(model: Model) -> str:
    """The model's text over its views, each watermarked one without its ticks above the watermark.

    The filter must stay there: Spark pushes what is deterministic and does not name the time below the watermark,
    where it would take the ticks away before they count. The same holds for the model's own filters, which cannot
    pass this one.
    """
    clauses = {found.ref.start: found for found in watermarked(model)}
    pieces, done = [], 0
    for ref in sorted(model.inputs, key=lambda ref: ref.start):
        name = view_name(ref.table, ref.stream)
        clause = clauses.get(ref.start)
        pieces.append(model.text[done : ref.start])
        if clause is None:
            pieces.append(name)
            done = ref.end
        else:
            kept = "case when sqrt(rand()) <= 1 then not _is_tick end"
            pieces.append(f"(select * except (_is_tick) from {name}{model.text[ref.end : clause.end]} where {kept})")
            done = clause.end
    return "".join([*pieces, model.text[done:]])
