"""The rows of one stored table: all, of one key, or the history of a key."""

from __future__ import annotations

import json
from itertools import chain, islice

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.errors import UsageError
from headrace.layout import Layout
from headrace.project.model import Project
from headrace.reading.rows import BadQuery, Dialect, Rows, query
from headrace.reading.stored import Relation, changes, relation


def show(
    project: Project,
    layout: Layout,
    name: str,
    *,
    key: str | None = None,
    history: str | None = None,
    where: str | None = None,
    limit: int | None = None,
) -> Rows:
    """Read the rows of a stored table in a fixed order: arrival where a row has it, else the key.

    `key` is the first column of the table's key, or a JSON list of as many as are given. `history` takes a key
    as well and gives every change of it, in arrival order.
    """
    found = relation(project, layout, name) if history is None else changes(project, layout, name)
    if not found.written:
        return Rows((), iter(()), (f"no rows yet in {name}",))
    conditions = [matches(found, text) for text in (key, history) if text is not None]
    conditions += [condition(where)] if where is not None else []
    sql = f"select * from {name}"
    sql += f" where {' and '.join(conditions)}" if conditions else ""
    sql += f" order by {', '.join(found.order)}" if found.order else ""
    sql += f" limit {limit}" if limit is not None else ""
    return _started(query(sql, found.tables, {name: found.sql}), found)


def matches(found: Relation, text: str) -> str:
    """The condition that a row has this key."""
    if not found.key:
        raise UsageError(f"{found.name} has no key: use --where")
    values = _key_values(text) if len(found.key) > 1 else [text]
    if len(values) > len(found.key):
        raise UsageError(f"the key of {found.name} has {len(found.key)} columns ({', '.join(found.key)})")
    pairs = zip(found.key, values, strict=False)
    return " and ".join(f"cast(`{column}` as string) = {exp.Literal.string(value).sql()}" for column, value in pairs)


def _key_values(text: str) -> list[str]:
    try:
        values = json.loads(text)
    except ValueError:
        return [text]
    if not isinstance(values, list):
        return [text]
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def condition(where: str) -> str:
    """A condition that someone wrote, in parentheses; refuses what is no single SQL expression."""
    try:
        parsed = sqlglot.parse(where, dialect=Dialect)
    except SqlglotError:
        parsed = []
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Condition):
        raise BadQuery(f"--where is not a SQL condition: {where}")
    return f"(\n{where}\n)"


def _started(rows: Rows, found: Relation) -> Rows:
    """Read the first row ahead, so that an empty answer or a fault shows before anything is printed."""
    first = list(islice(rows.rows, 1))
    notes = () if first else (f"no rows in {found.name}",)
    return Rows(rows.columns, chain(first, rows.rows), notes, found.brief)
