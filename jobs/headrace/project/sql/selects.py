"""What one select does with its rows: groups, aggregates, windows, and what it is united with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

E = TypeVar("E", bound=exp.Expr)
_OPPOSITES: dict[type[exp.Expr], type[exp.Expr]] = {
    **{exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.GTE: exp.LT, exp.LT: exp.GTE},
    **{exp.And: exp.Or, exp.Or: exp.And},
}
"""What `not` makes of a comparison, and of two conditions that are denied, in three-valued logic too."""


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that `and` joins, also those in brackets; `not (a <> b)` as `a = b`."""
    condition = condition.unnest()
    if isinstance(condition, exp.Not):
        condition = _denied(condition.this) or condition
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def _denied(condition: exp.Expr) -> exp.Expr | None:
    """What `not` of a condition says without `not`; None if it cannot be said so."""
    condition = condition.unnest()
    if isinstance(condition, exp.Not):
        inner: exp.Expr = condition.this.unnest()
        return inner
    kind = _OPPOSITES.get(type(condition))
    if kind is not None and isinstance(condition, exp.Connector):
        sides = [_denied(each) or _over(exp.Not, condition, this=each) for each in (condition.left, condition.right)]
        return _over(kind, condition, this=sides[0], expression=sides[1])
    return _over(kind, condition, **condition.args) if kind is not None else None


def _over(kind: type[exp.Expr], instead_of: exp.Expr, **operands: exp.Expr) -> exp.Expr:
    """A condition over operands that stay where they are in the tree, so that their columns can still be traced."""
    made = kind()
    made.args.update(operands)
    made.parent = instead_of.parent
    return made


def filters(scope: Scope) -> Iterator[exp.Expr]:
    """Yield the conditions that every row of a select must meet, apart from those of its joins."""
    for name in ("where", "having", "qualify"):
        clause = scope.expression.args.get(name)
        yield from conjuncts(clause.this) if clause is not None else ()


def matches(scope: Scope) -> Iterator[exp.Expr]:
    """Yield the conditions by which the joins of a select find rows."""
    for join in scope.expression.args.get("joins") or ():
        if (on := join.args.get("on")) is not None:
            yield from conjuncts(on)


def equalities(scope: Scope) -> Iterator[exp.EQ | exp.NullSafeEQ]:
    """Yield the equalities among the conditions of a select and of its joins."""
    conditions = (*filters(scope), *matches(scope))
    yield from (each for each in conditions if isinstance(each, (exp.EQ, exp.NullSafeEQ)))


def looked_into(scope: Scope) -> Iterator[Scope]:
    """Yield the subqueries that are computed for each row of a select: in its expressions, or behind `lateral`."""
    yield from scope.subquery_scopes
    for each in scope.udtf_scopes:
        yield from each.subquery_scopes


def united_with(scopes: list[Scope], scope: Scope) -> list[Scope]:
    """Return a select and those that `union all` puts its rows together with."""
    for union in scopes:
        found = [*branches(union)]
        if scope in found and isinstance(union.expression, exp.Union):
            return found
    return [scope]


def branches(scope: Scope) -> Iterator[Scope]:
    """Yield the selects that a set operation puts together."""
    for each in scope.set_operation_scopes or ():
        yield from branches(each) if each.set_operation_scopes else (each,)


def groups(scope: Scope) -> bool:
    """Return whether a select makes one row of several."""
    select = scope.expression
    return bool(select.args.get("distinct") or select.args.get("group") or next(aggregates(scope), None))


def group_keys(scope: Scope) -> list[exp.Expr]:
    """Return what a select groups by: `distinct` by all it selects, `group by all` by what is no aggregate of it.

    A position stands for its column.
    """
    select = scope.expression
    if not isinstance(select, exp.Select):
        return []
    if select.args.get("distinct"):
        return [each.unalias() for each in select.selects]
    group = select.args.get("group")
    if group and group.args.get("all"):
        return [each.unalias() for each in select.selects if not each.find(exp.AggFunc)]
    keys = [*group.expressions] if group else []
    for part in ("rollup", "cube", "grouping_sets"):
        for each in (group.args.get(part) or ()) if group else ():
            keys.extend(each.expressions)
    return [_key(key, select) for key in keys]


def _key(key: exp.Expr, select: exp.Select) -> exp.Expr:
    if isinstance(key, exp.Literal) and not key.is_string and int(key.this) <= len(select.selects):
        return select.selects[int(key.this) - 1].unalias()
    return key


def find_all(scope: Scope, *kinds: type[E]) -> Iterator[E]:
    """Yield the nodes of some kinds in a select, outer ones first, without those of the selects in it."""
    return (node for node in _nodes(scope) if isinstance(node, kinds))


@lru_cache(maxsize=1024)
def _nodes(scope: Scope) -> tuple[exp.Expr, ...]:
    """All nodes of a scope: many rules look for theirs."""
    return tuple(scope.find_all(exp.Expr))


def aggregates(scope: Scope) -> Iterator[exp.AggFunc]:
    """Yield the aggregates of a select, but for those over windows."""
    for call in find_all(scope, exp.AggFunc):
        above = call.parent
        while isinstance(above, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
            above = above.parent
        is_inside = call.find_ancestor(exp.AggFunc) is not None
        if not isinstance(above, exp.Window) and not is_inside:
            yield call


def ordered_by(call: exp.AggFunc) -> exp.Expr | None:
    """Return the value whose least or greatest an aggregate looks for."""
    picked: exp.Expr | None = call.args.get("expression" if isinstance(call, (exp.ArgMax, exp.ArgMin)) else "this")
    return picked


def keys_and_order(scope: Scope, window: exp.Window) -> tuple[list[exp.Expr], list[exp.Ordered]]:
    """Return what a window divides and orders its rows by; a named one as it is declared."""
    found: exp.Expr = window
    if name := window.args.get("alias"):
        declared = scope.expression.args.get("windows") or ()
        found = next((each for each in declared if each.name.lower() == name.name.lower()), window)
    order = found.args.get("order")
    return [*(found.args.get("partition_by") or ())], [*order.expressions] if order is not None else []


_OF_ALL = (exp.Lead, exp.Ntile, exp.PercentRank, exp.CumeDist)
"""Functions that need rows which come after the one at which the window is."""


def looks_ahead(window: exp.Window) -> bool:
    """Return whether a window has rows in view that come after the row it stands at."""
    spec = window.args.get("spec")
    return isinstance(_call(window), _OF_ALL) or (spec is not None and spec.text("end_side").upper() == "FOLLOWING")


def starts_late(window: exp.Window) -> bool:
    """Return whether a window sees some of the rows before the one it stands at, other than just the last of them."""
    spec, call = window.args.get("spec"), _call(window)
    if isinstance(call, exp.Lag):
        offset = call.args.get("offset")
        return offset is not None and offset.name != "1"
    if spec is None or spec.text("start_side").upper() != "PRECEDING" or spec.text("start").upper() == "UNBOUNDED":
        return False
    is_last = spec.text("start") == "1" and spec.text("end") == "1" and spec.text("end_side").upper() == "PRECEDING"
    return not (is_last and spec.text("kind").upper() == "ROWS")


def _call(window: exp.Window) -> exp.Expr:
    call: exp.Expr = window.this
    return call.this if isinstance(call, (exp.IgnoreNulls, exp.RespectNulls)) else call


_NUMBERS = (exp.RowNumber, exp.Rank, exp.DenseRank)


def is_number(window: exp.Window) -> bool:
    """Return whether a window numbers its rows."""
    return isinstance(window.this, _NUMBERS)


def keeps_first(comparison: exp.Expr) -> bool:
    """Return whether a condition on a number holds for the first row of all."""
    match comparison:
        case exp.EQ(this=exp.Literal(name=number)) | exp.EQ(expression=exp.Literal(name=number)):
            return number == "1"
        case exp.LT(expression=exp.Literal(name=number)):
            return int(number) > 1
        case exp.LTE(expression=exp.Literal(name=number)):
            return int(number) >= 1
    return False


def keeps_one(comparison: exp.Expr) -> bool:
    """Return whether a condition on a number holds for the first row of all and for no other."""
    match comparison:
        case exp.LT(expression=exp.Literal(name=number)):
            return number == "2"
        case exp.LTE(expression=exp.Literal(name=number)):
            return number == "1"
    return keeps_first(comparison)
