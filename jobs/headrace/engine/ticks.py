"""Making time pass for a watermarked query whose input is idle: landed ticks move its watermark, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from headrace.engine.body import name, quoted
from headrace.engine.columns import lit
from headrace.engine.statement import edited, literals
from headrace.project.model import TICK_TOPIC, Input, Model

_CLAUSE = re.compile(
    r"\s+watermark\s+(?P<column>\w+)\s+delay\s+of\s+interval\s+(?:'[^']*'|:?\w+)\s+\w+", flags=re.IGNORECASE
)
_KEPT = "case when sqrt(rand()) <= 1 then not _is_tick end"


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


def with_ticks(rows: DataFrame, landed: DataFrame | None, column: str, sources: Iterable[str]) -> DataFrame:
    """Rows of a reference and, beside them, the ticks of its sources: null but for the watermarked column.

    A column named `landed_at` is the time of landing, any other one event time.
    """
    rows = rows.withColumn("_is_tick", lit(False))
    if landed is None:
        return rows
    ours = ", ".join(map(quoted, sources))  # a tick without a key is for all sources
    is_ours = f"(key is null or arrays_overlap(split(key, ','), array({ours})))"
    ticks = landed.where(f"topic = {quoted(TICK_TOPIC)} and {is_ours}")
    moment = "landed_at" if column == "landed_at" else "event_time"
    ticks = ticks.selectExpr(f"{moment} as {name(column)}", "true as _is_tick")
    return rows.unionByName(ticks, allowMissingColumns=True)


def guarded(model: Model, names: Mapping[Input, str], values: Mapping[str, Any]) -> str:
    """The model's text over views by these names, each watermarked one without its ticks above the watermark.

    The filter must stay there: Spark pushes what is deterministic and does not name the time below the watermark,
    where it would take the ticks away before they count. The same holds for the model's own filters, which cannot
    pass this one.
    """
    clauses = {found.ref.start: found for found in watermarked(model)}
    edits = [*literals(model, values)]
    for ref in model.inputs:
        name, clause = names[ref], clauses.get(ref.start)
        if clause is None:
            edits.append((ref.start, ref.end, name))
        else:
            edits.append((ref.start, ref.end, f"(select * except (_is_tick) from {name}"))
            edits.append((clause.end, clause.end, f" where {_KEPT})"))
    return edited(model, edits).sql
