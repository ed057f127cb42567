"""The kinds of nodes that queries, expressions and macros consist of; every other kind is refused."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard.forms import offset

QUERY: tuple[type[exp.Expr], ...] = (
    exp.CTE, exp.Cluster, exp.Cube, exp.Distribute, exp.Except, exp.From, exp.Group, exp.GroupingSets, exp.Having,
    exp.Hint, exp.Intersect, exp.Join, exp.JoinHint, exp.Lateral, exp.Limit, exp.Offset, exp.Order, exp.Ordered,
    exp.Pivot, exp.PivotAlias, exp.Qualify,
    exp.Rollup, exp.Select, exp.Sort, exp.Subquery, exp.Table, exp.TableAlias, exp.TableSample, exp.Tuple, exp.Union,
    exp.UnpivotColumns, exp.Values, exp.Where, exp.With,
)  # fmt: skip
"""Clauses of a query."""

EXPRESSION: tuple[type[exp.Expr], ...] = (
    exp.Add, exp.Alias, exp.Aliases, exp.All, exp.Any, exp.AtTimeZone, exp.Between, exp.BitwiseAnd,
    exp.BitwiseLeftShift, exp.BitwiseNot, exp.BitwiseOr, exp.BitwiseRightShift, exp.BitwiseXor, exp.Boolean,
    exp.Bracket, exp.Column, exp.ColumnDef, exp.DPipe, exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Div, exp.Dot,
    exp.EQ, exp.Escape, exp.Filter, exp.FromTimeZone, exp.Func, exp.GT, exp.GTE, exp.HexString, exp.ILike,
    exp.Identifier, exp.IgnoreNulls, exp.In, exp.IntDiv, exp.Interval, exp.IntervalSpan, exp.Is, exp.JSONPath,
    exp.JSONPathPart, exp.Kwarg, exp.LT, exp.LTE, exp.Lambda, exp.Like, exp.Literal, exp.Mod, exp.Mul, exp.NEQ, exp.Neg,
    exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Paren, exp.Placeholder, exp.PropertyEQ, exp.Pseudocolumn,
    exp.RawString, exp.RespectNulls, exp.Slice, exp.Star, exp.Sub, exp.Var, exp.Window, exp.WindowSpec,
    exp.WithinGroup,
)  # fmt: skip
"""Parts of an expression. Functions are one kind here: their names are judged one by one."""

MACRO: tuple[type[exp.Expr], ...] = (
    exp.Create, exp.Properties, exp.Return, exp.ReturnsProperty, exp.Schema, exp.TemporaryProperty,
    exp.UserDefinedFunction,
)  # fmt: skip
"""The form of a macro around its expression."""

_KNOWN = (*QUERY, *EXPRESSION, *MACRO)


def unknown(statement: Statement) -> Iterator[tuple[int, str]]:
    """Find the nodes of unknown kinds, the outermost of each branch: its offset in the text, and what to do."""
    refused = {kind for kind in {*map(type, statement.nodes)} if not issubclass(kind, _KNOWN)}
    for node in statement.tree.walk(prune=lambda node: type(node) in refused) if refused else ():
        if type(node) in refused:
            word = type(node).__name__
            yield offset(node), f"this ({word}) is not allowed in a model; write it as a plain query"
