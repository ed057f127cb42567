"""What tells the rows of a relation apart: sets of its columns, of whose values there is at most one row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.flows.flow import Flow
from headrace.project.flows.joins import FlowJoin, joins_of
from headrace.project.model import Model
from headrace.project.sql.scopes import table_name
from headrace.project.sql.selects import aggregates, filters, group_keys, keeps_one, keys_and_order
from headrace.project.sql.tracing import Made

RowKey = frozenset[str]


class RowKeys:
    """Answers for the texts of one project; a key that is not seen here only makes a relation less certain."""

    def __init__(self, models: Mapping[str, Model], flows: Mapping[str, Flow]) -> None:
        self._models = models
        self._flows = flows

    def finds_one(self, join: FlowJoin, alias: str) -> bool:
        """Return whether a row of the one side finds at most one of `alias`, or that is uncertain."""
        if join.join.method.lower() == "natural":
            return True
        named = {each.name.lower() for each in join.join.args.get("using") or ()}
        owned = {each.name.lower() for each in join.columns_of(alias)}
        return any(key <= named | owned for key in self.of_alias(join.flow, join.scope, alias))

    def of_alias(self, flow: Flow, scope: Scope, alias: str) -> list[RowKey]:
        """Return the keys of one relation of a select."""
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            return self._of_scope(flow, source)
        return self._of_table(table_name(source)) if isinstance(source, exp.Table) else []

    def _of_table(self, table: str) -> list[RowKey]:
        model = self._models.get(table)
        if model is None:
            return []
        if model.materialized == "view":
            flow = self._flows[table]
            return self._of_scope(flow, flow.tracing.scopes[-1]) if flow.tracing.scopes else []
        key = model.unique_key or model.once_per
        return [frozenset(map(str.lower, key))] if key else []

    def _of_scope(self, flow: Flow, scope: Scope) -> list[RowKey]:
        select = scope.expression
        if not isinstance(select, exp.Select):
            return []
        if select.args.get("distinct"):
            return [frozenset(map(str.lower, select.named_selects))]
        if select.args.get("group") or next(aggregates(scope), None):
            return [*self._named(flow, scope, [group_keys(scope)])]
        picked = self._named(flow, scope, self._picked_by(flow, scope))
        return [*picked, *self._kept(flow, scope)]

    def _named(self, flow: Flow, scope: Scope, keys: Iterable[Sequence[exp.Expr]]) -> Iterator[RowKey]:
        """Yield those keys whose values are all among the columns of a select, by the names of these."""
        made = [(each.alias_or_name.lower(), {*flow.tracing.ends(each)}) for each in _columns(scope)]
        for key in keys:
            ends = [{*flow.tracing.ends(each)} for each in key]
            names = [next((name for name, of in made if of and of == wanted), None) for wanted in ends]
            if all(names):
                yield frozenset(name for name in names if name)

    def _picked_by(self, flow: Flow, scope: Scope) -> Iterator[list[exp.Expr]]:
        """Yield what the windows divide by of whose rows a select keeps the first."""
        for condition in filters(scope):
            if keeps_one(condition):
                ends = (end for side in condition.iter_expressions() for end in flow.tracing.ends(side))
                windows = (end.expression for end in ends if isinstance(end, Made))
                yield from (
                    keys_and_order(flow.tracing.scope_of(each) or scope, each)[0]
                    for each in windows
                    if isinstance(each, exp.Window) and isinstance(each.this, exp.RowNumber)
                )

    def _kept(self, flow: Flow, scope: Scope) -> Iterator[RowKey]:
        """Yield the keys of the one relation whose rows a select returns, each once at most."""
        if any(each.find(exp.UDTF) for each in _columns(scope)) or scope.expression.args.get("laterals"):
            return
        others = {join.right for join in joins_of(flow, scope) if self._keeps_once(join)}
        remaining = [alias for alias, _ in scope.references if alias not in others]
        if len(remaining) == 1:
            yield from self._renamed(flow, scope, remaining[0])

    def _keeps_once(self, join: FlowJoin) -> bool:
        """Return whether a join gives no row twice."""
        return join.side in ("semi", "anti") or (join.side in ("inner", "left") and self.finds_one(join, join.right))

    def _renamed(self, flow: Flow, scope: Scope, alias: str) -> Iterator[RowKey]:
        keys = [key - _fixed(scope) for key in self.of_alias(flow, scope, alias)]
        if any(isinstance(each, exp.Star) for each in _columns(scope)):
            yield from keys
            return
        columns = [(each.alias_or_name.lower(), each.unalias()) for each in _columns(scope)]
        names = {column.name.lower(): name for name, column in columns if isinstance(column, exp.Column)}
        yield from (frozenset(names[each] for each in key) for key in keys if key <= names.keys())


def _columns(scope: Scope) -> list[exp.Expr]:
    return scope.expression.selects if isinstance(scope.expression, exp.Select) else []


def _fixed(scope: Scope) -> RowKey:
    """The columns of which a select takes one value."""
    equal = (each for each in filters(scope) if isinstance(each, exp.EQ))
    sides = (pair for each in equal for pair in ((each.left, each.right), (each.right, each.left)))
    return frozenset(
        one.name.lower() for one, other in sides if isinstance(one, exp.Column) and not other.find(exp.Column)
    )
