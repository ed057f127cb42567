"""Rules about what models write and publish."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import Finding, Place, did_you_mean
from headrace.project import graph
from headrace.project.flows import as_of
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import DataTest, Model
from headrace.project.sql import expressions, result_columns

NEEDLESS_KEYS = {
    "view": (
        *("unique_key", "once_per", "delete_when", "close_when", "publish"),
        *(
            "output_mode",
            "log",
            "query",
            "run",
            "remember",
            "every",
            "tests",
            "on_error",
            "keep",
            "keep_history",
            "max_state_bytes",
        ),
    ),
    "append": ("unique_key", "delete_when", "close_when", "every", "max_state_bytes"),
    "upsert": ("once_per", "every"),
    "snapshot": (
        *("unique_key", "once_per", "delete_when", "close_when"),
        *("output_mode", "log", "query", "run", "remember", "tests", "on_error", "max_state_bytes"),
    ),
}
"""Header keys that mean nothing for a kind of model."""


def duplicate_models(draft: Draft) -> Iterator[Finding]:
    """One file writes a table."""
    first: dict[str, str] = {}
    for model in sorted((file.model for file in draft.files), key=lambda model: model.path):
        other = first.setdefault(model.table, model.path)
        if other != model.path:
            message = f"{model.table} is also written by {other}; rename one of the two"
            yield Finding(Place(model.path), "duplicate-model", message)


def two_publishers(draft: Draft) -> Iterator[Finding]:
    """One model publishes to a topic."""
    first: dict[str, Model] = {}
    for model in draft.models.values():
        if model.publish and model.publish.topic:
            other = first.setdefault(model.publish.topic, model)
            if other is not model:
                message = (
                    f"{other.table} publishes to {model.publish.topic} too; one topic has one publisher, so put the "
                    "rows of both together in one model, with `union all`"
                )
                yield Finding(draft.place(model, "publish.topic"), "two-publishers", message)


def needless_keys(draft: Draft) -> Iterator[Finding]:
    """No header key is without effect."""
    for model in draft.models.values():
        for key in NEEDLESS_KEYS[model.materialized]:
            if key in model.header_places:
                code = f"{model.materialized}-needs-no-{key.replace('_', '-')}"
                message = f"`{key}` means nothing for `materialized: {model.materialized}`; take it out"
                yield Finding(draft.place(model, key), code, message)


def kept_state(draft: Draft) -> Iterator[Finding]:
    """Rows that a model needs itself do not leave its table, nor old versions of which somebody asks."""
    for model in draft.models.values():
        if model.keep is not None and (needs := _needs_rows(model, draft)) is not None:
            yield Finding(draft.place(model, "keep"), "keep-needs-rows", f"{needs}; take out `keep`")


def _needs_rows(model: Model, draft: Draft) -> str | None:
    """What needs the rows that `keep` lets leave; None if nothing does."""
    if model.materialized == "upsert":
        reads = ((each.table, read) for each in as_of.marked(draft).models.values() for read in each.inputs)
        reader = next((reader for reader, read in reads if read.table == model.table and read.past), None)
        return f"{reader} looks up past versions of this table, and `keep` lets them leave" if reader else None
    if model.once_per:
        return "`once_per` knows a key by its row, so rows that have left could come again"
    if any(read.table == model.table for read in graph.reads(model, draft.models)):
        return "it reads its own table, so rows that have left could come again; an upsert keeps the newest of each key"
    return None


def open_contracts(draft: Draft) -> Iterator[Finding]:
    """Only a contract can be closed."""
    for model in draft.models.values():
        if model.extra_columns == "refuse" and "extra_columns" in model.header_places and not model.columns:
            message = "`extra_columns: refuse` needs the columns that are allowed; add `columns: {name: type}`"
            yield Finding(draft.place(model, "extra_columns"), "missing-key", message)


def unnamed_columns(draft: Draft) -> Iterator[Finding]:
    """Each column of a result has a name: a table cannot have most of those that Spark generates for expressions."""
    for file in draft.files:
        flow = draft.flows[file.model.table]
        if file.model.output_columns is not None or flow.file is not file:
            continue
        for column in result_columns.of(flow.tracing.scopes) or ():
            if isinstance(column, exp.Expr):
                number = (column.index or 0) + 1
                message = f"column {number} of this select has no name that a table can have; write `as ...` after it"
                yield Finding(_place_of(column, flow), "unnamed-column", message)


def upserts_without_key(draft: Draft) -> Iterator[Finding]:
    """An upsert declares its key and, per micro-batch, the order of its changes."""
    for model in draft.models.values():
        if model.materialized != "upsert":
            continue
        if not model.unique_key:
            message = "an upsert keeps one row per key; add `unique_key: ...`"
            yield Finding(Place(model.path), "missing-key", message)
        if model.run == "streaming":
            continue  # a batch changes a key once
        columns = _known_columns(draft, model)
        if columns is not None and "_arrival" not in columns:
            message = "an upsert needs the order of its changes; select `_arrival` as a column"
            yield Finding(draft.place(model, "unique_key"), "no-order", message)


def logs_without_order(draft: Draft) -> Iterator[Finding]:
    """Rows are logged in the order in which they came."""
    for model in draft.models.values():
        columns = _known_columns(draft, model) if model.log and model.run == "micro_batch" else None
        if columns is not None and model.materialized == "append" and "_arrival" not in columns:
            message = "rows are logged in the order in which they came; select `_arrival` as a column"
            yield Finding(draft.place(model, "log"), "no-order", message)


def unknown_output_columns(draft: Draft) -> Iterator[Finding]:
    """Keys, published columns and conditions use the model's own columns."""
    for model in draft.models.values():
        if (columns := _known_columns(draft, model)) is None:
            continue
        for key, column in _named_columns(model):
            if column.lower() not in map(str.lower, columns):
                message = f"`{column}` is no column of {model.table}.{did_you_mean(column, columns)}"
                yield Finding(draft.place(model, key), "unknown-column", message)


def undeclared_columns(draft: Draft) -> Iterator[Finding]:
    """A closed contract has every column, except bookkeeping."""
    for model in draft.models.values():
        declared = {column.lower() for column in model.columns}
        for column in _known_columns(draft, model) or ():
            is_extra = not column.startswith("_") and column.lower() not in declared
            if declared and model.extra_columns == "refuse" and is_extra:
                message = f"column {column} is not declared; add it to `columns`, or take it out of the query"
                yield Finding(draft.place(model, "columns"), "contract", message)


def unknown_relationships(draft: Draft) -> Iterator[Finding]:
    """A relationship leads to a stored table, and in the streaming engine it moves no rows: it may change between."""
    stored = [*draft.topics, *(model.table for model in draft.models.values() if model.materialized != "view")]
    for model in draft.models.values():
        for test in model.tests:
            place = test.place or Place(model.path)
            if test.to is not None and test.to not in stored and not draft.may_exist(test.to):
                message = f"no table {test.to}.{did_you_mean(test.to, stored)}"
                yield Finding(place, "unknown-table", message)
            elif _is_view(draft, test.to or ""):
                message = f"{test.to} is a view and stores nothing; name a stored table"
                yield Finding(place, "unknown-table", message)
            elif test.to and model.run == "streaming" and test.on_failure == "dead_letter":
                message = "what a streaming model looks up has no version; use `on_failure: warn` or `stop`"
                yield Finding(place, "wrong-engine", message)


def unknown_fields(draft: Draft) -> Iterator[Finding]:
    """A relationship looks into a column of its table."""
    for model in draft.models.values():
        for test in model.tests:
            table, field = test.to or "", test.field or ""
            relation = draft.relation(table)
            is_bookkeeping = relation.bookkeeping and field.startswith("_")
            if relation.columns is None or is_bookkeeping or _is_view(draft, table):
                continue
            if field.lower() not in map(str.lower, relation.columns):
                message = f"`{field}` is no column of {table}.{did_you_mean(field, relation.columns)}"
                yield Finding(_field_place(draft, model, test), "unknown-column", message)


def _is_view(draft: Draft, table: str) -> bool:
    return table in draft.models and draft.models[table].materialized == "view"


def _field_place(draft: Draft, model: Model, test: DataTest) -> Place:
    """Where a relationship names the column; a test is one of a list, or stands alone."""
    start, end = f"tests.columns.{test.column}.", "relationships.field"
    keys = (key for key in model.header_places if key.startswith(start) and key.endswith(end))
    return draft.place(model, next(keys, "tests"))


def _place_of(column: exp.Expr, flow: Flow) -> Place:
    """Where a column stands; words such as `null` have no place, but their select does."""
    has_place = any("start" in each.meta for each in column.walk())
    return flow.place(column if has_place else column.parent_select or column)


def _known_columns(draft: Draft, model: Model) -> tuple[str, ...] | None:
    """The names of a model's columns by its text, without columns that have none; None if that is not certain."""
    if model.output_columns is not None:
        return model.output_columns
    return result_columns.names(result_columns.of(draft.flows[model.table].tracing.scopes))


def _named_columns(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the columns that a header names, each with the key it stands under."""
    for key, columns in (("unique_key", model.unique_key), ("once_per", model.once_per)):
        for index, column in enumerate(columns):
            yield (f"{key}.{index}" if f"{key}.{index}" in model.header_places else key), column
    yield from (("columns." + column, column) for column in model.columns)
    for key, text in model.expressions:
        yield from ((key, column) for column in expressions.columns_of(text))
    if (publish := model.publish) is None:
        return
    yield "publish.key", publish.key
    yield from ((f"publish.value.{field}", column) for field, column in publish.value)
    if publish.value_column:
        yield "publish.value.json", publish.value_column
    if publish.topic_column:
        yield "publish.topic.column", publish.topic_column
