"""A join without a condition: it makes as many rows as both sides have, multiplied."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project.flows import joins
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.flows.joins import FlowJoin
from headrace.project.sql import selects
from headrace.project.sql.scopes import table_name

_MESSAGE = (
    "every row of one side meets every row of the other; give a condition that names both, or make one side a single"
    " row (an aggregate without `group by`)"
)


def cross_joins(draft: Draft) -> Iterator[Finding]:
    """Rows meet by a condition, unless one side is one row."""
    flows = [draft.flows[file.model.table] for file in draft.files]
    for flow in dict.fromkeys(flows):
        for join in (join for scope in flow.selects for join in joins.joins_of(flow, scope)):
            is_one = _is_one_row(join, *join.left) or _is_one_row(join, join.right) or _is_one_key(draft, join)
            if _is_cross(join) and not is_one:
                yield Finding(join.place, "cross-join", _MESSAGE)


def _is_cross(join: FlowJoin) -> bool:
    """Whether no condition relates the sides; one of which it is not known what it names is taken to do so."""
    function = isinstance(join.join.this, exp.Table) and not isinstance(join.join.this.this, exp.Identifier)
    if function or join.join.args.get("using") or join.join.method.lower() == "natural":
        return False
    return not any(len(join.sides(each)) > 1 or _is_unknown(join, each) for each in join.conditions())


def _is_unknown(join: FlowJoin, condition: exp.Expr) -> bool:
    columns = condition.find_all(exp.Column)
    return any(join.flow.tracing.owner(column, join.scope) is None for column in columns)


def _is_one_row(join: FlowJoin, *aliases: str) -> bool:
    return all(_has_one(join.flow, join.scope.sources.get(alias)) for alias in aliases)


def _is_one_key(draft: Draft, join: FlowJoin) -> bool:
    """Whether an upsert is joined by constants for all of its key, such as `settings.id = 1`."""
    source = join.scope.sources.get(join.right)
    model = draft.models.get(table_name(source)) if isinstance(source, exp.Table) else None
    pairs = [pair for each in join.equalities() for pair in ((each.left, each.right), (each.right, each.left))]
    fixed = {
        column.name.lower()
        for column, value in pairs
        if isinstance(column, exp.Column) and value.find(exp.Column) is None and join.sides(column) == {"right"}
    }
    return model is not None and bool(model.unique_key) and {key.lower() for key in model.unique_key} <= fixed


def _has_one(flow: Flow, source: object) -> bool:
    if isinstance(source, exp.Table):
        view = flow.view_of(table_name(source))
        return view is not None and _makes_one(view.tracing.scopes[-1])
    return isinstance(source, Scope) and _makes_one(source)


def _makes_one(query: Scope) -> bool:
    """Whether a query gives one row at most: constants, an aggregate of everything, or the first row."""
    select = query.expression
    if not isinstance(select, exp.Select):
        return False
    limit = select.args.get("limit")
    if limit is not None and limit.expression.name == "1":
        return True
    if select.args.get("from_") is None:
        return not any(isinstance(part.unalias(), exp.UDTF) for part in select.selects)
    return not select.args.get("group") and next(selects.aggregates(query), None) is not None
