"""The columns of a query's result, one by one: the names of those that have one, and the expressions that have none."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Place
from headrace.project.sql import dialect

Columns = tuple[str | exp.Expr, ...] | None


def of(scopes: Sequence[Scope]) -> Columns:
    """Return the columns of the outermost scope, in their order; None where it is not certain which there are."""
    return _columns(scopes[-1], ()) if scopes else None


def names(columns: Columns) -> tuple[str, ...] | None:
    """Return the names among columns."""
    return None if columns is None else tuple(column for column in columns if isinstance(column, str))


def place(text: str, path: str, name: str) -> Place:
    """Return where the last expression stands that makes a column of a query, or where its text starts."""
    statement = dialect.parse(text, path)
    for scope in reversed(statement.scopes):
        for each in scope.expression.selects if isinstance(scope.expression, exp.Select) else ():
            starts = [node.meta["start"] for node in each.walk() if "start" in node.meta]
            if each.alias_or_name.lower() == name.lower() and starts and not isinstance(each, exp.Column):
                return statement.place(min(starts))
    return Place(path)


def _columns(scope: Scope, above: tuple[Scope, ...]) -> Columns:
    if scope.outer_columns:
        return tuple(scope.outer_columns)
    if any(scope is each for each in above):  # a CTE of itself
        return None
    if scope.set_operation_scopes:
        return _columns(scope.set_operation_scopes[0], (*above, scope))
    if not isinstance(scope.expression, exp.Select):
        return None
    parts = [_starred(each, scope, above) if each.is_star else _made(each) for each in scope.expression.selects]
    known = [part for part in parts if part is not None]
    return tuple(column for part in known for column in part) if len(known) == len(parts) else None


def _made(projection: exp.Expr) -> Columns:
    if isinstance(projection, exp.Aliases):
        return tuple(name.name for name in projection.expressions)
    if isinstance(projection, exp.UDTF) or projection.name.lower() == "json_tuple":
        return None  # Spark makes up one name or several
    inner = projection.this if isinstance(projection, exp.Cast) else projection
    while isinstance(inner, exp.Paren):
        inner = inner.this
    is_named = isinstance(inner, exp.Column) or isinstance(projection, (exp.Alias, exp.Dot))
    return (inner.alias_or_name,) if is_named else (projection,)


def _starred(projection: exp.Expr, scope: Scope, above: tuple[Scope, ...]) -> Columns:
    """What a `*` over one CTE or subquery gives."""
    star = projection.this if isinstance(projection, exp.Column) else projection
    qualifier = projection.text("table").lower()
    read = [(alias, node) for alias, node in scope.references if qualifier in ("", alias.lower())]
    source = scope.sources.get(read[0][0]) if len(read) == 1 else None
    if not isinstance(source, Scope) or any(map(star.args.get, ("replace", "rename"))) or _is_reshaped(read[0][1]):
        return None
    without = {column.name.lower() for column in star.args.get("except_") or ()}
    columns = _columns(source, (*above, scope))
    return columns and tuple(each for each in columns if not isinstance(each, str) or each.lower() not in without)


def _is_reshaped(node: exp.Expr) -> bool:
    """Whether an alias gives other names to the columns of a relation, or it is pivoted."""
    alias = node.args.get("alias")
    return bool(node.args.get("pivots") or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")))
