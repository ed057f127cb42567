"""Making time pass for a watermarked query whose input is idle: landed ticks move its watermark, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit
from sqlglot import exp

from headrace.landing.body import name
from headrace.project.literals import quoted
from headrace.project.model import TICK_TOPIC, Input, Model
from headrace.project.sql import dialect
from headrace.project.statement import Edit, edited, literals

_CLAUSE = re.compile(
    r"\s+watermark\s+(?P<what>\S.*?)\s+delay\s+of\s+interval\s+(?:'[^']*'|:?\w+)\s+\w+", flags=re.IGNORECASE | re.DOTALL
)
_ALIAS = re.compile(r"(?P<expression>.*?)(?:\s+as)?\s+(?P<alias>\w+|`[^`]+`)", flags=re.IGNORECASE | re.DOTALL)
_AT = "_tick_at"
"""The column with the time of a tick, for a WATERMARK on an expression."""

_DROPS_TICKS = "case when sqrt(rand()) <= 1 then not _is_tick end"


@dataclass(frozen=True)
class Watermarked:
    """A streamed reference with a WATERMARK clause, and the expression of the clause.

    That is a column, or an expression that gives a column of its own: `alias` is its name where the text has none.
    """

    ref: Input
    expression: str
    start: int
    end: int
    is_column: bool
    alias: str | None = None
    """A name that the clause leaves to Spark, as in `watermark data.at`."""


def watermarked(model: Model) -> Iterator[Watermarked]:
    """The references of a model that ticks can move."""
    for ref in model.inputs:
        found = _CLAUSE.match(model.text, ref.end)
        if ref.stream and found:
            yield _watermarked(ref, found)


def _watermarked(ref: Input, found: re.Match[str]) -> Watermarked:
    what, start = found["what"], found.start("what")
    tree = dialect.parse(f"select {what}", ref.place.path).tree.expressions[0]
    if isinstance(tree, exp.Column):
        is_column, alias = len(tree.parts) == 1, None if len(tree.parts) == 1 else name(tree.name)
        return Watermarked(ref, what, start, found.end(), is_column, alias)
    named = _ALIAS.fullmatch(what) if isinstance(tree, exp.Alias) else None
    return Watermarked(ref, named["expression"] if named else what, start, found.end(), False)


def with_ticks(
    rows: DataFrame, landed: DataFrame | None, found: Watermarked, sources: Iterable[str], clock: str
) -> DataFrame:
    """Rows of a reference together with the ticks of its sources, which are null except for the watermarked column.

    A column named `landed_at` is the time of landing; of any other one, a tick says what its clock shows.
    """
    rows = rows.withColumn("_is_tick", lit(False)).withColumn(_AT, lit(None).cast("timestamp"))
    if landed is None:
        return rows
    ours = ", ".join(map(quoted, sources))  # a tick without a key is for all sources
    is_ours = f"(key is null or arrays_overlap(split(key, ','), array({ours})))"
    ticks = landed.where(f"topic = {quoted(TICK_TOPIC)} and {is_ours}")
    column = found.expression.strip("`") if found.is_column else _AT
    moment = "landed_at" if column == "landed_at" else _shown(clock)
    ticks = ticks.selectExpr(f"{moment} as {name(column)}", "true as _is_tick").where(f"{name(column)} is not null")
    return rows.unionByName(ticks, allowMissingColumns=True)


def _shown(clock: str) -> str:
    """What a clock shows at the moment of a tick, as SQL; null if the tick knows nothing of it."""
    reading = f"try_element_at(from_json(value, 'map<string, array<bigint>>'), {quoted(clock)})"
    return f"timestamp_micros({reading}[0] + unix_micros(landed_at) - {reading}[1])"


def guarded(model: Model, names: Mapping[Input, str], values: Mapping[str, Any]) -> str:
    """The model's text over views by these names, each watermarked one without its ticks above the watermark.

    The filter must stay there: Spark pushes what is deterministic and does not name the time below the watermark,
    where it would take the ticks away before they count. The same holds for the model's own filters, which cannot
    pass this one.
    """
    clauses = {found.ref.start: found for found in watermarked(model)}
    edits = [*literals(model, values)]
    for ref in model.inputs:
        clause = clauses.get(ref.start)
        if clause is None:
            edits.append((ref.start, ref.end, names[ref]))
        else:
            edits += _around(clause, names[ref])
    return edited(model, edits).sql


def _around(clause: Watermarked, view: str) -> Iterator[Edit]:
    """A reference in brackets, with its clause and behind that the filter."""
    yield clause.ref.start, clause.ref.end, f"(select * except (_is_tick, {_AT}) from {view}"
    if not clause.is_column:
        end = clause.start + len(clause.expression)
        yield clause.start, clause.start, f"coalesce({_AT}, "
        yield end, end, f") as {clause.alias}" if clause.alias else ")"
    yield clause.end, clause.end, f" where {_DROPS_TICKS})"
