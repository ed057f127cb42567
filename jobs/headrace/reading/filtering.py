"""Rows of a relation that satisfy a user's condition, which is evaluated with Spark's semantics."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.reading.dialect import parsing, queries
from headrace.reading.dialect.engine import Engine
from headrace.reading.dialect.queries import Table
from headrace.reading.dialect.types import quoted
from headrace.reading.rows import Rows, stream
from headrace.reading.stored import Relation


def filtered(
    found: Relation, sql: str, where: str, order: Sequence[str], limits: str, way_out: str, hidden: Sequence[str] = ()
) -> Rows:
    """Rows of an internal query over a relation, in the order of some of its columns; hidden ones are left out.

    The condition sees the columns of the relation itself, not those that the query adds for the order.
    """
    tree = parsing.condition(where)
    engine = Engine({"rows": lambda: stream(sql, found.tables, {found.name: found.sql})})
    table = Table(found.name, engine.columns("rows"))
    own = Table(found.name, tuple((name, kind) for name, kind in table.columns if name not in {*order, *hidden}))
    shown = ", ".join(queries.zoned(name, kind) for name, kind in table.columns if name not in hidden)
    text = f"SELECT {shown} FROM ({queries.stored('rows', table)}) AS t"
    text += f" WHERE {queries.condition(where, tree, 't', own, way_out)}"
    text += f" ORDER BY {', '.join(f'{quoted(name)} ASC NULLS LAST' for name in order)}" if order else ""
    return engine.run(text + limits)
