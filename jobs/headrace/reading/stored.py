"""Stored tables for readers: a dotted name becomes a relation over Delta tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from headrace.errors import UsageError, did_you_mean
from headrace.project.flows import versions
from headrace.project.model import FAILED_COLUMNS, LANDING_COLUMNS, TICK_TOPIC, Landing, Model, Project, Query
from headrace.store.delta_tables import open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

DEAD_LETTERS = "bronze.dead_letters"
FAILED_ROWS = "bronze.failed_rows"
LATE_ROWS = "bronze.late_rows"

_ARRIVAL = ("landing_batch", "topic", "partition", "offset")
_ARRIVAL_PARTS = tuple(f"_arrival['{part}']" for part in _ARRIVAL)
_LATE_ORDER = ("model", "_batch", "event_time", "key")
_NO_LATE_ROWS = (
    "select cast(null as string) as model, cast(null as string) as key, "
    "cast(null as timestamp with time zone) as event_time, cast(null as timestamp with time zone) as watermark, "
    "cast(null as bigint) as _batch where false"
)
_REJECTED = "reject_reason is not null"
_EMPTY_TYPES = {"bigint": "bigint", "int": "int", "string": "string", "timestamp": "timestamp with time zone"}


class NotStored(UsageError):
    """A view model was named where only stored tables can be read."""

    def __init__(self, model: Model) -> None:
        self.model = model
        super().__init__(f'{model.table} is a view and stores no rows: use "headrace show {model.table}"')


@dataclass(frozen=True)
class Relation:
    """One readable relation: a SELECT over Delta tables by alias, and how its rows are ordered and keyed.

    `batch` is the column that numbers the commits; `brief` are the columns to print as text, where not all.
    """

    name: str
    sql: str
    tables: Mapping[str, DeltaTable] = field(compare=False)
    key: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    batch: str = "_batch"
    brief: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        """False while nothing has been stored; of a model even the columns are then unknown."""
        return bool(self.tables)


def names(project: Project) -> tuple[str, ...]:
    """Every name that `relation` accepts, views included."""
    topics = [f"bronze.{topic.name}" for landing in project.landings for topic in landing.relations]
    upserts = [f"{model.table}{versions.SUFFIX}" for model in project.models if versions.has_versions(model)]
    return (*topics, DEAD_LETTERS, FAILED_ROWS, LATE_ROWS, *(model.table for model in project.models), *upserts)


def relation(project: Project, layout: Layout, name: str) -> Relation:
    """Resolve a dotted name to the rows it now has; UsageError if there is no such table."""
    if name == DEAD_LETTERS:
        return _landed(layout, name, project.landings, _REJECTED)
    if name == LATE_ROWS:
        return _late(layout, project.models)
    if name == FAILED_ROWS:
        return _failed(layout, project.queries)
    if name.startswith("bronze."):
        return _slice(project, layout, name)
    if (upsert := versions.base(name, {model.table: model for model in project.models})) is not None:
        return _versions(layout, upsert)
    model = _model(project, name)
    if model.materialized == "view":
        raise NotStored(model)
    return _current(layout, model) if model.materialized == "upsert" else _appended(layout, model)


def changes(project: Project, layout: Layout, name: str) -> Relation:
    """Resolve the name of an upsert model to its change log: every change of every key, with `_deleted`."""
    model = _model(project, name)
    if model.materialized != "upsert":
        raise UsageError(f"{name} keeps no history: its rows are never changed")
    table = _open(layout.changes(name))
    if table is None:
        return _unwritten(model)
    alias = f"changes_{model.layer}_{model.name}"
    brief = tuple(column for column in _names(table) if not column.startswith("_") or column == "_deleted")
    return Relation(name, f"select * from {alias}", {alias: table}, model.unique_key, _order(table), brief=brief)


def streams(project: Project, layout: Layout, name: str) -> tuple[Relation, ...]:
    """Resolve a name to what can be followed: relations to which rows are only added, batch by batch."""
    if name == DEAD_LETTERS:
        return tuple(_landed(layout, name, (landing,), _REJECTED) for landing in project.landings)
    if name == LATE_ROWS:
        return tuple(_late(layout, (model,)) for model in project.models if model.run == "streaming")
    if name == FAILED_ROWS:
        return tuple(_failed(layout, [query]) for query in project.queries)
    if any(model.table == name and model.materialized == "upsert" for model in project.models):
        return (changes(project, layout, name),)
    return (relation(project, layout, name),)


def unknown(project: Project, name: str) -> UsageError:
    """The error for a name that is no table of the project."""
    return UsageError(f"unknown-table: no table {name}.{_suggestion(name, names(project))}")


def _suggestion(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    same_stem = [table for table in known if table.split(".")[-1] == name.split(".")[-1]]
    return did_you_mean(name, known) or (f" Did you mean {same_stem[0]}?" if same_stem else "")


def _model(project: Project, name: str) -> Model:
    try:
        return project.model(name)
    except KeyError:
        if name in names(project):  # a topic of bronze
            raise UsageError(f"{name} keeps no history: its rows are never changed") from None
        raise unknown(project, name) from None


def _slice(project: Project, layout: Layout, name: str) -> Relation:
    try:
        landing, topic = project.topic(name.removeprefix("bronze."))
    except KeyError:
        raise unknown(project, name) from None
    if topic.is_clock:
        return _clock(layout, name, landing)
    return _landed(layout, name, (landing,), f"topic = {_literal(topic.topic)}")


def _clock(layout: Layout, name: str, landing: Landing) -> Relation:
    """A row for each landing batch; without its arrival, which only orders it among other rows."""
    landed = _landed(layout, name, (landing,), "true")
    columns = f"max(landed_at) as landed_at, max(event_time) as event_time, bool_and(topic = '{TICK_TOPIC}') as is_tick"
    sql = f"select landing_batch, {columns} from ({landed.sql}) group by landing_batch"
    return Relation(name, sql, landed.tables, ("landing_batch",), ("landing_batch",), "landing_batch")


def _landed(layout: Layout, name: str, landings: Iterable[Landing], where: str) -> Relation:
    """Landed rows of some landings; those that have not landed anything yet have none."""
    tables: dict[str, DeltaTable] = {}
    for landing in landings:
        if (table := _open(layout.landing(landing.name))) is not None:
            tables["landing_" + re.sub(r"\W", "_", landing.name)] = table
    columns = ", ".join(f"`{column}`" for column, _ in LANDING_COLUMNS)
    sql = " union all ".join(f"select {columns} from {alias} where {where}" for alias in tables)
    brief = ("topic", "partition", "offset", "timestamp", "key", "value", "reject_reason")
    return Relation(name, sql or _no_rows(LANDING_COLUMNS), tables, ("key",), _ARRIVAL, "landing_batch", brief)


def _late(layout: Layout, models: Iterable[Model]) -> Relation:
    """What came too late for some models in the streaming engine."""
    tables: dict[str, DeltaTable] = {}
    parts: list[str] = []
    for model in models:
        if (table := _open(layout.late(model.table))) is not None:
            alias = f"late_{model.layer}_{model.name}"
            tables[alias] = table
            parts.append(f"select '{model.table}' as model, key, event_time, watermark, _batch from {alias}")
    brief = ("model", "key", "event_time", "watermark")
    return Relation(LATE_ROWS, " union all ".join(parts) or _NO_LATE_ROWS, tables, ("key",), _LATE_ORDER, brief=brief)


def _failed(layout: Layout, queries: Iterable[Query]) -> Relation:
    """Rows that data tests keep out of the tables of some queries."""
    found = {f"failed_{query.name}": _open(layout.failed(query.name)) for query in queries}
    tables = {alias: table for alias, table in found.items() if table is not None}
    columns = ", ".join(f"`{column}`" for column, _ in FAILED_COLUMNS)
    sql = " union all ".join(f"select {columns} from {alias}" for alias in tables)
    return Relation(FAILED_ROWS, sql or _no_rows(FAILED_COLUMNS), tables, ("model",), ("batch",), "batch")


def _no_rows(of: Iterable[tuple[str, str]]) -> str:
    columns = (
        f"cast(null as {_EMPTY_TYPES[kind]}) as `{column}`" if kind in _EMPTY_TYPES else f"null as `{column}`"
        for column, kind in of
    )
    return f"select {', '.join(columns)} where false"


def _unwritten(model: Model) -> Relation:
    """A model that has not run yet: no rows, and columns that only Spark could determine."""
    return Relation(model.table, "select cast(null as bigint) as _batch where false", {})


def _appended(layout: Layout, model: Model) -> Relation:
    table = _open(layout.table(model.table))
    if table is None:
        return _unwritten(model)
    alias = f"rows_{model.layer}_{model.name}"
    key = model.unique_key or model.once_per or ((model.publish.key,) if model.publish else ())
    order = _order(table) if "_arrival" in _names(table) else (*_order(table), *(f"`{column}`" for column in key))
    return Relation(model.table, f"select * from {alias}", {alias: table}, key, order)


def _current(layout: Layout, model: Model) -> Relation:
    """Current rows of an upsert model: those folded into its table, then the tail of its change log."""
    current = _open(layout.table(model.table))  # opened first: the log then holds at least what was folded
    log = _open(layout.changes(model.table))
    if log is None:
        return _unwritten(model)
    folded = _folded_batch(current) if current is not None else None
    tail, rows = f"changes_{model.layer}_{model.name}", f"rows_{model.layer}_{model.name}"
    changed = _newest(tail, model.unique_key, _order(log), folded)
    if current is None or folded is None:
        sql = f"select * except (_deleted) from ({changed}) where not _deleted"
        return Relation(model.table, sql, {tail: log}, model.unique_key, _by(model.unique_key))
    columns = ", ".join(f"`{name}`" for name in _names(log) if name in _names(current) and name != "_deleted")
    # Brackets: `is not distinct from x and y` would be read as `from (x and y)`.
    same = " and ".join(f"(kept.`{name}` is not distinct from changed.`{name}`)" for name in model.unique_key)
    sql = (
        f"with changed as ({changed}) select {columns} from {rows} as kept left anti join changed on {same} "
        f"union all select {columns} from changed where not _deleted"
    )
    return Relation(model.table, sql, {tail: log, rows: current}, model.unique_key, _by(model.unique_key))


def _versions(layout: Layout, model: Model) -> Relation:
    """Every version of every key of an upsert: since when it holds and until when, by arrival."""
    name, log = f"{model.table}{versions.SUFFIX}", _open(layout.changes(model.table))
    if log is None:
        return replace(_unwritten(model), name=name)
    alias, keys = f"changes_{model.layer}_{model.name}", ", ".join(f"`{key}`" for key in model.unique_key)
    stored = [column for column in _names(log) if column not in ("_deleted", "_batch")]
    columns = ", ".join(f"`{column}`" for column in stored)
    next_one = f"lead(_arrival) over (partition by {keys} order by {', '.join(_order(log))})"
    changed = f"select *, {next_one} as {versions.VALID_TO} from {alias}"
    valid = f"_arrival as {versions.VALID_FROM}, {versions.VALID_TO}"
    sql = f"select {columns}, {valid} from ({changed}) where not _deleted"
    brief = (*(column for column in stored if column != "_arrival"), *versions.COLUMNS)
    order = (*_by(model.unique_key), *_ARRIVAL_PARTS)
    return Relation(name, sql, {alias: log}, model.unique_key, order, brief=brief)


def _by(key: Iterable[str]) -> tuple[str, ...]:
    """What orders rows by their key; DataFusion compares no structs, as the arrival is one."""
    return tuple(part for column in key for part in (_ARRIVAL_PARTS if column == "_arrival" else (column,)))


def _newest(log: str, key: Iterable[str], order: Iterable[str], after: int | None) -> str:
    """The newest change of each key, deletions too, of the batches after one."""
    partition = ", ".join(f"`{name}`" for name in key)
    newest_first = ", ".join(f"{expression} desc" for expression in order)
    since = "" if after is None else f" where _batch > {after}"
    rank = f"row_number() over (partition by {partition} order by {newest_first})"
    return f"select * except (_recency) from (select *, {rank} as _recency from {log}{since}) where _recency = 1"


def _folded_batch(current: DeltaTable) -> int | None:
    """The last batch folded into a current table, according to its newest marked commit."""
    for commit in current.history(20):
        try:
            return int(json.loads(commit.get("userMetadata") or "{}")["headrace"]["batch"])
        except (ValueError, KeyError, TypeError):
            continue
    return None


def _order(table: DeltaTable) -> tuple[str, ...]:
    """What orders stored rows: the batch, then the arrival where a row carries it."""
    known = _names(table)
    batch = ("_batch",) if "_batch" in known else ()
    return batch + (_ARRIVAL_PARTS if "_arrival" in known else ())


def _names(table: DeltaTable) -> list[str]:
    return [column.name for column in table.schema().fields]


def _open(path: StorePath) -> DeltaTable | None:
    """Open a Delta table, None where nothing has been committed yet."""
    if not (path / "_delta_log").is_dir():
        return None
    try:
        return open_table(path)
    except TableNotFoundError:
        return None


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
