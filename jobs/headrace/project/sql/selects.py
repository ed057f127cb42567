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


def looks_ahead(window: exp.Window) -> bool:
    """Return whether a window has rows in view that come after the row it stands at."""
    spec = window.args.get("spec")
    call = window.this.this if isinstance(window.this, (exp.IgnoreNulls, exp.RespectNulls)) else window.this
    return isinstance(call, exp.Lead) or (spec is not None and spec.text("end_side").upper() == "FOLLOWING")
