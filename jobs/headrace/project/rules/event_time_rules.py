"""Rules about event-time columns: rows that enter a step with state, such as a join or a group, may have only one.

Spark marks the column that a WATERMARK stands on, and windows over it, and passes the mark on through plain columns. A
step with state looks for the marked column among those that are needed. If it finds two, the query starts, and fails at
the first row every time.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_files
from headrace.project.flows.flow import Flow
from headrace.project.flows.joins import FlowJoin, of_streams
from headrace.project.sql.selects import conjuncts, group_keys, groups

_MESSAGE = (
    "{names} are event times, and Spark fails at the first row where a {step} has more than one; keep the one that"
    " bounds the time, and make the other a plain value before it: `timestamp_micros(unix_micros({last})) as ...`"
)


def two_event_times(draft: Draft) -> Iterator[Finding]:
    """Joins and groups have one event time on each side."""
    for join in of_streams(draft):
        for side in (join.left, (join.right,)):
            if len(names := _of_side(join, side)) > 1 and len(_named(join, side)) != 1:
                yield Finding(join.place, "cannot-stream", _message(names, "join"))
    for flow in streaming_files(draft):
        for scope in flow.selects:
            if flow.moves(scope) and len(keys := _of_group(flow, scope)) > 1:
                yield Finding(flow.place([*keys.values()][-1]), "cannot-stream", _message([*keys], "group"))


def _message(names: list[str], step: str) -> str:
    return _MESSAGE.format(names=" and ".join(f"`{name}`" for name in names), last=names[-1], step=step)


def _of_side(join: FlowJoin, side: tuple[str, ...]) -> list[str]:
    """The event times among the columns of a side that the join, or whatever comes after it, needs."""
    aliases, found = [*map(str.lower, side)], dict[str, None]()
    for column in _needed(join):
        owner = join.flow.tracing.owner(column, join.scope)
        if owner in aliases and join.flow.is_event_time(column):
            found[f"{owner}.{_column_name(column, owner)}".lower()] = None
    return [*found]


def _named(join: FlowJoin, side: tuple[str, ...]) -> set[str]:
    """The event times of a side that the join's own condition names: of one, the others lose their mark before it."""
    condition, aliases = join.join.args.get("on"), {*map(str.lower, side)}
    columns = condition.find_all(exp.Column) if condition is not None else ()
    return {
        f"{owner}.{_column_name(column, owner)}".lower()
        for column in columns
        if (owner := join.flow.tracing.owner(column, join.scope)) in aliases and join.flow.is_event_time(column)
    }


def _needed(join: FlowJoin) -> Iterator[exp.Column]:
    """The columns that are read in a join or after it: in later joins, and in the other clauses of the select."""
    select = join.scope.expression
    joins = [*select.args["joins"]]
    for each in joins[next(at for at, each in enumerate(joins) if each is join.join) :]:
        yield from each.find_all(exp.Column)
        yield from (_column(join.scope, name.name, join.right) for name in each.args.get("using") or ())
    where = select.args.get("where")
    for condition in conjuncts(where.this) if where is not None else ():
        owners = {join.flow.tracing.owner(column, join.scope) for column in condition.find_all(exp.Column)}
        yield from condition.find_all(exp.Column) if len(owners) > 1 else ()  # Spark filters one side before the join
    for clause in (*select.expressions, select.args.get("group"), select.args.get("having")):
        yield from clause.find_all(exp.Column) if clause is not None else ()
    yield from _starred(join.scope)


def _starred(scope: Scope) -> Iterator[exp.Column]:
    """The columns that `*` stands for, as far as CTEs and subqueries name them."""
    for star in (each for each in scope.expression.expressions if each.is_star):
        for alias, source in scope.sources.items():
            if isinstance(source, Scope) and star.text("table").lower() in ("", alias.lower()):
                selects = source.expression.selects if isinstance(source.expression, exp.Select) else []
                yield from (_column(scope, each.alias_or_name, alias) for each in selects)


def _column(scope: Scope, name: str, alias: str) -> exp.Column:
    column = exp.column(name, table=alias)
    column.parent = scope.expression
    return column


def _of_group(flow: Flow, scope: Scope) -> dict[str, exp.Expr]:
    """The event times among the keys of a group or of `distinct`, windows first."""
    keys = [key for key in group_keys(scope) if flow.is_event_time(key)] if groups(scope) else []
    keys.sort(key=lambda key: isinstance(key, exp.Column))
    return {key.sql("databricks", normalize_functions="lower"): key for key in keys}


def _column_name(column: exp.Column, owner: str) -> str:
    parts = [part.name for part in column.parts]
    return parts[1] if len(parts) > 1 and parts[0].lower() == owner else parts[0]
