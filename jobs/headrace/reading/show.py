"""The rows of one stored table: all, of one key, or the history of a key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, islice

from sqlglot import exp

from headrace.errors import UsageError
from headrace.project.model import Project
from headrace.reading.dialect.complaints import SHOWN
from headrace.reading.rows import Rows, query
from headrace.reading.stored import Relation, changes, relation
from headrace.store.layout import Layout

_PLACE = "__place"
"""The column with a row's position in its table's order."""


@dataclass(frozen=True)
class Wanted:
    """Which rows of a table: of a key, of the history of a key, those for which a condition holds, the first."""

    key: str | None = None
    history: str | None = None
    where: str | None = None
    limit: int | None = None


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

    `key` is a value of the first key column, or a JSON list of values of the first ones. `history` takes a key
    as well and selects every change of it, in arrival order.
    """
    found = relation(project, layout, name) if history is None else changes(project, layout, name)
    if not found.written:
        return Rows((), iter(()), (f"no rows yet in {name}",))
    conditions = [matches(found, text) for text in (key, history) if text is not None]
    of_key = f" where {' and '.join(conditions)}" if conditions else ""
    most = f" limit {limit}" if limit is not None else ""
    if where is not None:
        return _started(_filtered(found, of_key, where, most), found)
    order = f" order by {', '.join(found.order)}" if found.order else ""
    return _started(query(f"select * from {name}{of_key}{order}{most}", found.tables, {name: found.sql}), found)


def _filtered(found: Relation, of_key: str, where: str, most: str) -> Rows:
    """Only rows that satisfy a condition, in the table's order."""
    from headrace.reading.filtering import filtered  # slow to import, and few commands need it

    order = f"order by {', '.join(found.order)}" if found.order else ""
    sql = f"select *, row_number() over ({order}) as {_PLACE} from {found.name}{of_key}"
    return filtered(found, sql, where, (_PLACE,), most, SHOWN, hidden=(_PLACE,))


def matches(found: Relation, text: str) -> str:
    """The condition that a row has this key."""
    pairs = key_of(found, text)
    return " and ".join(f"cast(`{column}` as string) = {exp.Literal.string(value).sql()}" for column, value in pairs)


def key_of(found: Relation, text: str) -> list[tuple[str, str]]:
    """The columns of a key that the user supplied, with their values as text."""
    if not found.key:
        raise UsageError(f"{found.name} has no key: use --where")
    values = _key_values(text) if len(found.key) > 1 else [text]
    if not 0 < len(values) <= len(found.key):
        raise UsageError(f"the key of {found.name} has {len(found.key)} columns ({', '.join(found.key)})")
    return [*zip(found.key, values, strict=False)]


def _key_values(text: str) -> list[str]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    if not isinstance(values, list):
        return [text]
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def _started(rows: Rows, found: Relation) -> Rows:
    """Read the first row ahead, so that an empty answer or a fault shows before anything is printed."""
    first = list(islice(rows.rows, 1))
    notes = () if first else (f"no rows in {found.name}",)
    return Rows(rows.columns, chain(first, rows.rows), notes, found.brief)
